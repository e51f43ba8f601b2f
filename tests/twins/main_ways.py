"""The main ways through the package in one process, for a Python with other versions of what it stands on.

``python -m tests.twins.main_ways FOLDER``: frames, files, a search that goes on, release, verify, apply, report, private,
a pipeline, a picture, signatures and the page's answers, each on a small table. It raises where one of them fails.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet

import kpareto as kp
from kpareto.errors import Interrupted, Stopped
from kpareto.faces.cli import main
from kpareto.jobs.front import search_job
from kpareto.jobs.parse import load_job
from kpareto.sklearn import Anonymizer

PRIVATE = """
[data]
source = "people.csv"
[columns.age]
role = "quasi-identifier"
hierarchy = {intervals = [20, 60], from = 20, to = 80}
[columns.town]
role = "quasi-identifier"
hierarchy = "town.csv"
[columns.sex]
role = "identifier"
[columns.ill]
role = "identifier"
[release]
target = "private.csv"
"""
QUASI = ["age", "sex", "town"]
JOB = """
[data]
source = "{source}"
[columns.age]
role = "quasi-identifier"
hierarchy = {{intervals = [10, 40], from = 0}}
[columns.sex]
role = "quasi-identifier"
[columns.town]
role = "quasi-identifier"
[columns.ill]
role = "sensitive"
[suppression]
limit = 0.05
[limits]
k = 5
[release]
choose = "k=5"
target = "{target}"
"""


def people(rows: int = 600) -> dict[str, list[Any]]:
    """A small table, equal on every run."""
    chance = random.Random(3)
    return {
        "age": [chance.randrange(20, 80) for _ in range(rows)],
        "sex": [chance.choice("fm") for _ in range(rows)],
        "town": [chance.choice(["Ulm", "Bonn", "Kiel"]) for _ in range(rows)],
        "ill": [chance.choice(["flu", "gout", "none"]) for _ in range(rows)],
    }


def run(*words: str) -> None:
    """A command that must succeed."""
    if main([*words]) != 0:
        raise SystemExit(f"kpareto {' '.join(words)} failed.")


def frames() -> None:
    """Every kind of frame comes back as what it was, in one call and from a pipeline."""
    cells = people()
    for frame in (pd.DataFrame(cells), pl.DataFrame(cells), pa.table(cells)):
        result = kp.anonymize(frame, QUASI, ["ill"], k=5)
        if type(result.data) is not type(frame):
            raise SystemExit(f"A {type(frame)} came back as a {type(result.data)}.")
    Anonymizer(k=5).fit(pd.DataFrame(cells)[QUASI]).transform(pd.DataFrame(cells)[QUASI])
    kp.inspect(pd.DataFrame(cells))


def files(folder: Path) -> None:
    """Each kind of file is read, released as its own kind, and verified."""
    frame = pd.DataFrame(people())
    frame.to_csv(folder / "people.csv", index=False)
    pyarrow.parquet.write_table(pa.table(people()), folder / "people.parquet")
    frame.to_excel(folder / "people.xlsx", index=False)
    frame.to_stata(folder / "people.dta", write_index=False)
    for source in ("people.csv", "people.parquet", "people.xlsx", "people.dta"):
        job, target = folder / f"{source}.toml", f"{Path(source).suffix[1:]}-{source}"
        job.write_text(JOB.format(source=source, target=target), encoding="utf-8")
        run("inspect", str(folder / source), "-q")
        run("release", str(job), "-q")
        written = folder / target
        run("verify", str(written), str(written.with_name(f"{written.stem}.certificate.json")))


def documents(folder: Path) -> None:
    """A front as a picture, a report in every form, the recoding on new rows, a signed release."""
    job = str(folder / "people.csv.toml")
    run("front", job, "-q", "--picture", str(folder / "front.svg"), "--json", str(folder / "front.json"))
    for ending in ("html", "md", "json"):
        run("report", job, "-q", "-o", str(folder / f"report.{ending}"))
    run("apply", str(folder / "csv-people.recoding.json"), str(folder / "people.csv"), "-q",
        "--target", str(folder / "again.csv"))  # fmt: skip
    run("key", "new", str(folder / "own"))
    run("release", job, "-q", "--sign", str(folder / "own"), "--target", str(folder / "signed.csv"))
    certificate = str(folder / "signed.certificate.public.json")
    run("verify", str(folder / "signed.csv"), certificate, "--trust", str(folder / "own.pub"))


def going_on(folder: Path) -> None:
    """A search that is stopped writes where it was, and goes on to the front of one that was left alone."""
    changes = ['search.method="nsga2"', "search.budget=300", "search.population=20", 'search.space="cuts"']
    job, kept = load_job(str(folder / "people.csv.toml"), changes), folder / "kept.npz"

    def stop(_done: int, total: int) -> None:
        if total:  # not while the search makes itself ready
            raise Stopped

    try:
        search_job(job, report=stop, checkpoint=kept)
    except Interrupted:
        if search_job(job, checkpoint=kept).to_dict()["points"] == search_job(job).to_dict()["points"]:
            return
    raise SystemExit("A search did not go on where it was stopped.")


def private(folder: Path) -> None:
    """A release with differential privacy, by hierarchies that nobody read from the rows."""
    towns = "\n".join(f"{town};*" for town in ("Ulm", "Bonn", "Kiel"))
    (folder / "town.csv").write_text(f"{towns}\n", encoding="utf-8")
    (folder / "private.toml").write_text(PRIVATE, encoding="utf-8")
    run("private", str(folder / "private.toml"), "-q", "--epsilon", "1", "--delta", "1e-5", "--total", "4", "1e-4")


if __name__ == "__main__":
    place = Path(sys.argv[1])
    frames()
    files(place)
    documents(place)
    going_on(place)
    private(place)
