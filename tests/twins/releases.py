"""Small tables as rows, and releases of them, for the tests of the way out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from kpareto.engines.read import read
from kpareto.releases.choice import Choice
from kpareto.searches.local.problem import LocalWish, make_problem
from kpareto.searches.local.recoding import read_classes, to_boxes
from kpareto.searches.local.search import Effort, search_classes
from kpareto.searches.local.strict import strict_recoding
from kpareto.tables.hierarchy import Hierarchy, from_levels
from kpareto.tables.partition import Suppression
from kpareto.tables.recoding import local, node
from kpareto.tables.schema import Schema
from kpareto.verifier import digest_of
from tests.twins.strategies import Case

AGES = from_levels("age", [(str(age), f"{age // 10 * 10}-{age // 10 * 10 + 9}", "*") for age in range(20, 60)])
SEXES = from_levels("sex", [("F", "*"), ("M", "*")])
SCHEMA = Schema(quasi=("age", "sex"), sensitive=("illness",), identifier=("name",), plain=("note",))


def people_columns(*steps: int) -> str:
    """The columns of the people in a job file, ages in intervals of so many years."""
    return f"""
[columns.age]
role = "quasi-identifier"
hierarchy = {{intervals = {list(steps)}, from = 20}}
[columns.sex]
role = "quasi-identifier"
[columns.illness]
role = "sensitive"
[columns.name]
role = "identifier"
"""


def seal(certificate: dict[str, Any]) -> None:
    """Make the digests of a certificate anew, as a liar would."""
    confidential = certificate["confidential"]
    confidential["public_sha256"] = digest_of(certificate["public"])
    confidential["sha256"] = digest_of({key: part for key, part in confidential.items() if key != "sha256"})


def people(times: int = 3) -> pa.Table:
    """Forty persons per time: each decade of age and each sex ten times, all illnesses in each class."""
    rows = [(f"n{time}-{age}-{sex}", age, sex, ("flu", "cold", "gout")[age % 3], f"note {age}")
            for time in range(times) for age in range(20, 60, 2) for sex in "FM"]  # fmt: skip
    names = ("name", "age", "sex", "illness", "note")
    return pa.table({name: list(cells) for name, cells in zip(names, zip(*rows, strict=True), strict=True)})


def uneven_people(times: int = 1) -> pa.Table:
    """People of whom one age in each decade is rarer: at k = 4 · times it takes rows of another age to its class."""
    more = people(2 * times)
    rare = [age % 10 == 2 for age in more["age"].to_pylist()]
    return pa.concat_tables([people(3 * times), more.filter(pa.array([not each for each in rare]))])


def hierarchies() -> dict[str, Hierarchy]:
    """The hierarchies of the people."""
    return {"age": AGES, "sex": SEXES}


def chosen(rows: object, levels: tuple[int, int] = (1, 0), limits: Mapping[str, float] | None = None) -> Choice:
    """The recoding by decades of a table of people."""
    table = read(rows, SCHEMA, "drop", hierarchies=hierarchies())
    return Choice(table, node(table.hierarchies, levels), Suppression("none"), limits or {"k": 5})


def chosen_locally(rows: object, k: int = 4, strict: bool = False) -> Choice:
    """A local recoding of a table of people; equal rows are divided between classes unless it is strict."""
    table = read(rows, SCHEMA, "drop", hierarchies=hierarchies())
    problem = make_problem(table, LocalWish(k, every_column=True))
    if strict:
        grown = strict_recoding(problem)
        _, boxes = to_boxes([grown.recoding], [grown.root])
    else:
        _, boxes = to_boxes([read_classes(problem, search_classes(problem, Effort(turns=1)))])
    return Choice(table, local(boxes[0]), Suppression("none"), {"k": k})


def rows_of(case: Case) -> pa.Table:
    """The raw rows of a drawn case, with a plain column beside them."""
    table = case.table
    columns: dict[str, list[str]] = {}
    for place, hierarchy in enumerate(table.hierarchies):
        columns[hierarchy.name] = [hierarchy.leaves[row.leaves[place]] for row in case.rows]
    for place, counts in enumerate(table.sensitive):
        columns[counts.name] = [row.sensitive[place] for row in case.rows]
    for place, counts in enumerate(table.targets):
        columns[counts.name] = [row.target[place] for row in case.rows]
    if table.schema.person is not None:
        columns["person"] = [str(row.person) for row in case.rows]
    columns["plain"] = [f"row {place}" for place in range(len(case.rows))]
    return pa.table(columns)


def given_as(rows: pa.Table, kind: str, folder: Path) -> Any:
    """The rows as a frame or a file of some kind."""
    if kind == "csv":
        pyarrow.csv.write_csv(rows, folder / "in.csv")
        return folder / "in.csv"
    if kind == "parquet":
        pq.write_table(rows, folder / "in.parquet")
        return folder / "in.parquet"
    return {"pandas": rows.to_pandas, "polars": lambda: pl.from_arrow(rows), "pyarrow": lambda: rows}[kind]()


def as_rows(data: Any) -> pa.Table:
    """A released frame or file as Arrow has it."""
    if isinstance(data, Path):
        if data.suffix == ".csv":
            text = pyarrow.csv.ConvertOptions(column_types={}, strings_can_be_null=False)
            return pyarrow.csv.read_csv(data, convert_options=text)
        return pq.read_table(data)
    if isinstance(data, pd.DataFrame):
        return pa.Table.from_pandas(data, preserve_index=False)
    return data.to_arrow() if isinstance(data, pl.DataFrame) else data
