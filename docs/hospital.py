"""Make the tables of the tutorial: discharges of a hospital, as a German spreadsheet program exports them.

``python hospital.py`` writes discharges-2024.csv and discharges-2025-01.csv into the folder it is called in.
No line of them is about a real person: every value is drawn by a seed, so everybody gets the same bytes.
"""

from __future__ import annotations

import random
from datetime import date, timedelta
from pathlib import Path

COLUMNS = "Fallnummer;Name;Geburtsdatum;Geschlecht;PLZ;Aufnahme;Gewicht;Versicherung;Diagnose"
NAMES = ("Müller", "Schröder", "Weiß", "Jäger", "König", "Groß", "Schäfer", "Böhm", "Klein", "Wolf")
ILLNESSES = {"I10": 30, "E11.9": 22, "J44.1": 14, "S72.0": 11, "K35.8": 9, "C50.9": 6, "F32.1": 5, "": 3}
INSURERS = {"AOK": 38, "TK": 27, "Barmer": 20, "privat": 12, "k.A.": 3}
TOWNS = {"201": 40, "203": 30, "210": 20, "228": 10}


def draw(rng: random.Random, weights: dict[str, int]) -> str:
    """One of the keys, the likelier the larger its weight."""
    return rng.choices(list(weights), list(weights.values()))[0]


def row(rng: random.Random, number: int, first: date, days: int) -> str:
    """One discharge: a case number, a person, and what a hospital knows of them."""
    admitted = first + timedelta(days=int(days * rng.random()))
    born = admitted - timedelta(days=int(365.25 * (18 + 72 * rng.random() ** 0.6)))
    woman = rng.random() < 0.53
    weight = f"{48 + 55 * rng.random() + 8 * (not woman):.1f}".replace(".", ",")
    postcode = draw(rng, TOWNS) + f"{int(12 * rng.random()):02d}"
    cells = (
        f"F{number:06d}",
        f"{rng.choice(NAMES)}-{rng.choice(NAMES)}",
        f"{born:%d.%m.%Y}",
        "weiblich" if woman else "männlich",
        postcode,
        f"{admitted:%d.%m.%Y}",
        weight,
        draw(rng, INSURERS),
        draw(rng, ILLNESSES),
    )
    return ";".join(cells)


def write(target: Path, rows: int, first: date, days: int, seed: int = 1) -> Path:
    """A table with a title above its names, in latin-1, with semicolons, decimal commas and Windows' line ends."""
    rng = random.Random(seed)
    title = f"Klinik am Fluß - Entlassungen ab {first:%d.%m.%Y};;;;;;;;"
    lines = [title, COLUMNS, *(row(rng, number, first, days) for number in range(1, rows + 1))]
    target.write_bytes("".join(f"{line}\r\n" for line in lines).encode("latin-1"))
    return target


def main() -> None:
    """The year that is released first, and the month that comes after it."""
    write(Path("discharges-2024.csv"), rows=12000, first=date(2024, 1, 1), days=366)
    write(Path("discharges-2025-01.csv"), rows=900, first=date(2025, 1, 1), days=31, seed=2)


if __name__ == "__main__":
    main()
