"""A table as it is born in a spreadsheet: titles above, a line break in a name, decimal commas, dates, 40 columns."""

from __future__ import annotations

import csv
import datetime as dt
import random
from pathlib import Path

TITLE = "Klinik Süd, Auszug"  # a line of its own above the table
LABS = 32  # columns with decimal commas, beside eight others
ROWS = 240
Cell = str | int | dt.date


def messy_rows(rows: int = ROWS, labs: int = LABS) -> list[list[Cell]]:
    """Names first, then the rows; equal on every run."""
    chance = random.Random(11)
    names = ["Patient no.", "sex", "age", "town\n(home)", "admitted", "ward", "illness", "remark"]
    table: list[list[Cell]] = [[*names, *(f"lab {number:02}" for number in range(1, labs + 1))]]
    for row in range(rows):
        day = dt.date(2024, 1, 1) + dt.timedelta(days=chance.randrange(0, 360, 30))
        town = chance.choice(["Köln", "Ulm", "Bonn", "Jena", "Münster"])
        person: list[Cell] = [f"P-{row:05}", chance.choice("FM"), chance.randint(20, 79), town, day]
        person += [chance.choice(["A", "B", "C"]), chance.choice(["flu", "asthma", "gout", "none"])]
        person.append("=1+1" if row == 3 else chance.choice(["ok", "again", "späte Ankunft"]))
        table.append([*person, *(f"{chance.randint(10, 99)},{chance.randint(0, 9)}" for _ in range(labs))])
    return table


def write_workbook(place: Path, rows: int = ROWS, labs: int = LABS) -> Path:
    """The table as a workbook; numbers with a comma are texts in it, as they are after a copy from elsewhere."""
    import xlsxwriter

    with xlsxwriter.Workbook(str(place), {"strings_to_formulas": False}) as book:
        sheet, day = book.add_worksheet("Auszug"), book.add_format({"num_format": "dd.mm.yyyy"})
        sheet.write_string(0, 0, TITLE)
        for down, row in enumerate(messy_rows(rows, labs), start=2):
            for across, cell in enumerate(row):
                if isinstance(cell, dt.date):
                    sheet.write_datetime(down, across, dt.datetime.combine(cell, dt.time()), day)
                else:
                    sheet.write(down, across, cell)
    return place


def write_letters(place: Path, rows: int = ROWS) -> Path:
    """The same as a spreadsheet saves it for older programs: Latin-1, semicolons, days as 31.12.2024."""
    with place.open("w", encoding="latin-1", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow([TITLE])
        writer.writerow([])
        for row in messy_rows(rows):
            writer.writerow([f"{cell:%d.%m.%Y}" if isinstance(cell, dt.date) else cell for cell in row])
    return place
