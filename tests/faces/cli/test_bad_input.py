"""Bad input, as users bring it to ``kpareto.read``: each kind gets one sentence, and odd but good tables are read."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from kpareto.engines.read import read
from kpareto.errors import BadHierarchy, BadSchema, BadTable
from kpareto.fronts.count_lattice import Wanted, count_lattice, fits
from kpareto.kernels.words import CLASSES, K
from kpareto.measures.cells import glm
from kpareto.measures.sizes import k
from kpareto.tables.hierarchies import load
from kpareto.tables.partition import Suppression, partition
from kpareto.tables.recoding import node
from kpareto.tables.schema import Schema

PEOPLE = {"age": ["34", "35", "34"], "zip": ["10", "20", "10"], "job": ["cook", "clerk", "cook"]}


def people(**more: list[object]) -> pa.Table:
    """A small good table, with columns replaced or added."""
    return pa.table({**PEOPLE, **more})


def file(folder: Path, data: bytes, name: str = "people.csv") -> Path:
    """A file with these bytes."""
    path = folder / name
    path.write_bytes(data)
    return path


# --- columns and roles ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["quasi", "sensitive", "target", "identifier", "person"])
def test_a_missing_column_gets_a_suggestion(role: str) -> None:
    """Whatever its role, a column that is not there is named, with the nearest one and all there are."""
    roles: dict[str, object] = {"quasi": ("age",), role: ("age", "zpi") if role == "quasi" else "zpi"}
    with pytest.raises(
        BadSchema, match=r"^No column 'zpi' in the table\. Did you mean 'zip'\? It has: age, zip, job\.$"
    ):
        read(people(), Schema(**roles))  # type: ignore[arg-type]  # roles by name


def test_a_missing_column_like_no_other_gets_no_suggestion() -> None:
    """Where nothing is near, nothing is guessed."""
    with pytest.raises(BadSchema, match=r"^No column 'income' in the table\. It has: age, zip, job\.$"):
        read(people(), Schema(("income",)))


@pytest.mark.parametrize(
    ("roles", "sentence"),
    [
        ({"quasi": ("age", "zip"), "sensitive": "age"}, "Column 'age' is both quasi-identifier and sensitive."),
        ({"quasi": ("age",), "target": "age"}, "Column 'age' is both quasi-identifier and target."),
        ({"quasi": ("age",), "identifier": "age"}, "Column 'age' is both identifier and quasi-identifier."),
        ({"quasi": ("age", "age")}, "Column 'age' is named twice as quasi-identifier. Name it once."),
        (
            {"quasi": ("age",), "person": "age"},
            "Column 'age' tells persons apart and also has the role quasi-identifier.",
        ),
        ({"quasi": ()}, "No column is a quasi-identifier. Name at least one column"),
    ],
)
def test_roles_that_contradict_each_other(roles: Mapping[str, object], sentence: str) -> None:
    """A column in two roles, a column twice, and a schema without a quasi-identifier are told apart."""
    with pytest.raises(BadSchema, match=f"^{re.escape(sentence)}"):
        Schema(**roles)  # type: ignore[arg-type]  # roles by name


def test_two_columns_of_one_name() -> None:
    """A frame in which a name says nothing is refused."""
    twice = pa.table([pa.array(["1"]), pa.array(["2"])], names=["age", "age"])
    with pytest.raises(BadSchema, match="two columns named 'age'"):
        read(twice, Schema(("age",)))


# --- rows -----------------------------------------------------------------------------------------------------------


def test_an_empty_table(tmp_path: Path) -> None:
    """No rows, in memory or in a file, is said as such."""
    sentence = r"^The table has no rows, only the columns age, zip, job\. Give at least one row\.$"
    with pytest.raises(BadTable, match=sentence):
        read(people().slice(0, 0), Schema(("age",)))
    with pytest.raises(BadTable, match=sentence):
        read(file(tmp_path, b"age,zip,job\n"), Schema(("age",)))
    with pytest.raises(BadTable, match=r"is empty\. Give a file with a line of column names"):
        read(file(tmp_path, b""), Schema(("age",)))


def test_a_table_of_missing_values_only() -> None:
    """When every row is left out, the sentence says why and what to do."""
    with pytest.raises(
        BadTable, match=r"^No row is left: each of the 3 rows has a missing value, 3 of them in 'age'\."
    ):
        read(people(age=["?", "", None]), Schema(("age", "zip")), "drop")


def test_missing_values_under_the_policy_error() -> None:
    """The columns and how many rows each lacks are named."""
    with pytest.raises(BadTable, match=r"^Values are missing in 'age' \(2 of 3 rows\), 'job' \(1 of 3 rows\)\."):
        read(people(age=["1", None, "?"], job=["a", "", "b"]), Schema(("age",), sensitive=("job",)), missing="error")


def test_one_row() -> None:
    """One row is a table: one class of one, whatever the recoding."""
    table = read(people().slice(0, 1), Schema(("age", "zip"), sensitive=("job",)))
    assert (table.rows, table.distinct) == (1, 1)
    made = partition(table, node(table.hierarchies, [0, 1]))
    assert (k()(made), glm()(made)) == (1, 0.0)  # a column with one value has nothing to lose


def test_a_column_of_one_value() -> None:
    """A column that never varies is read, splits nothing and loses nothing."""
    table = read(people(zip=["10"] * 3), Schema(("age", "zip")))
    assert table.hierarchies[1].leaves == ("10",)
    low, high = (partition(table, node(table.hierarchies, [0, level])) for level in (0, 1))
    assert low.rows.tolist() == high.rows.tolist() == [2, 1]
    assert glm()(low) == glm()(high) == 0.0


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_none_and_nan_are_missing(library: str) -> None:
    """None and NaN count as missing whichever library holds them, and never become the text nan."""
    values = [1.5, None, math.nan, 2.0]
    sources: dict[str, object] = {
        "pandas": pd.DataFrame({"age": values}),
        "polars": pl.DataFrame({"age": values}, strict=False),
        "pyarrow": pa.table({"age": values}),
    }
    table = read(sources[library], Schema(("age",)), "drop")
    assert (table.hierarchies[0].leaves, table.rows, table.dropped) == (("1.5", "2"), 2, 2)
    kept = read(sources[library], Schema(("age",)), missing="category")
    assert kept.hierarchies[0].leaves[-1] == "(missing)"
    assert kept.rows == 4


def test_mixed_types_in_one_column() -> None:
    """Numbers and texts beside each other are compared as texts; the number 34 and the text 34 are one value."""
    table = read(pd.DataFrame({"age": [34, "34", 34.0, "old", None, True]}), Schema(("age",)), "drop")
    rows = dict(zip(table.hierarchies[0].leaves, table.leaf_rows[0].tolist(), strict=True))
    assert rows["34"] == 3
    assert rows["old"] == 1
    assert (table.rows, table.dropped) == (5, 1)


def test_cells_that_are_no_values() -> None:
    """A list in a cell is refused with the column's name."""
    with pytest.raises(BadTable, match="'tags'"):
        read(pa.table({"tags": [["a"], ["b"]]}), Schema(("tags",)))
    with pytest.raises(BadTable, match="'tags'"):
        read(pd.DataFrame({"tags": [{"a": 1}, {"b": 2}]}), Schema(("tags",)))


def test_sources_that_are_no_tables() -> None:
    """What is neither a file nor a frame is named by its type."""
    for source in (42, None, [1, 2]):
        with pytest.raises(BadTable, match=r"pandas"):
            read(source, Schema(("age",)))


# --- files ----------------------------------------------------------------------------------------------------------


def test_a_csv_that_is_not_utf_8(tmp_path: Path) -> None:
    """The first bad byte is located; naming the encoding reads the file."""
    path = file(tmp_path, "name,age\nJürgen,34\n".encode("latin-1"))
    with pytest.raises(BadTable, match=r"is not UTF-8: byte 0xfc at offset 10 \(line 2\)"):
        read(path, Schema(("name",)))
    assert read(path, Schema(("name",)), encoding="latin-1").hierarchies[0].leaves == ("Jürgen",)


@pytest.mark.parametrize("line", [b"35\n", b"35,20,30\n"])
def test_a_ragged_csv(tmp_path: Path, line: bytes) -> None:
    """A line with too few or too many cells is named by its number."""
    cells = line.count(b",") + 1
    path = file(tmp_path, b"age,zip\n34,10\n" + line + b"36,30\n")
    with pytest.raises(BadTable, match=rf"^Line 3 of '.*people\.csv' has {cells} cell"):
        read(path, Schema(("age",)))


# --- hierarchies ----------------------------------------------------------------------------------------------------

GOOD = {"age": load("age", [["34", "30-39", "*"], ["35", "30-39", "*"]])}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("34;30-39;*\n34;30-39;*\n", "lists the value '34' twice (lines 1 and 2). Keep one line for it."),
        ("34;a;x;*\n35;a;y;*\n", "is not nested: '34' and '35' are both 'a' at level 1, but 'x' and 'y' at level 2"),
        ("34;a;*\n35;*\n", "has 2 entries where the first line has 3"),
        ("34;a\n35;b\n", "The last level of the hierarchy of 'age' has 2 groups"),
        ("", "is empty"),
    ],
)
def test_bad_hierarchies(tmp_path: Path, text: str, sentence: str) -> None:
    """A value twice, levels that do not nest, ragged lines, no top and no lines are told apart."""
    with pytest.raises(BadHierarchy, match=re.escape(sentence)):
        load("age", file(tmp_path, text.encode(), "age.csv"))


def test_a_hierarchy_in_another_encoding(tmp_path: Path) -> None:
    """The bad byte and its line are named."""
    path = file(tmp_path, "Köln;*\nBonn;*\n".encode("latin-1"), "city.csv")
    with pytest.raises(BadHierarchy, match=r"is not UTF-8: byte 0xf6 in line 1\."):
        load("city", path)


def test_a_hierarchy_without_a_value_of_the_table() -> None:
    """Values without a place are named with their rows, the most frequent first."""
    table = people(age=["36", "37", "36"])
    sentence = (
        "The hierarchy of 'age' has no place for 2 values of the table: '36' (2 rows), '37' (1 row). "
        "Add them to the hierarchy."
    )
    with pytest.raises(BadHierarchy, match=f"^{re.escape(sentence)}$"):
        read(table, Schema(("age",)), hierarchies=GOOD)


def test_a_hierarchy_for_no_quasi_identifier() -> None:
    """A hierarchy whose name is misspelled does not vanish silently."""
    with pytest.raises(BadHierarchy, match=r"^A hierarchy is given for 'age', which is not a quasi-identifier\."):
        read(people(), Schema(("zip",)), hierarchies=GOOD)


# --- size -----------------------------------------------------------------------------------------------------------


def wide(columns: int, values: int, rows: int) -> pa.Table:
    """Random columns c0, c1, … of this many values."""
    rng = np.random.default_rng(1)
    return pa.table({f"c{i}": rng.integers(values, size=rows) for i in range(columns)})


def test_three_hundred_columns() -> None:
    """A table of 300 quasi-identifiers is read and counted; a misspelled one is not listed in full."""
    source = wide(300, 3, 50)
    table = read(source, Schema(tuple(source.column_names)))
    assert (table.rows, table.codes.shape[1]) == (50, 300)
    top = partition(table, node(table.hierarchies, [1] * 300))
    assert k()(top) == 50
    with pytest.raises(BadSchema, match=r"It has: c0, c1, .*, c7 and 292 more\.$"):
        read(source, Schema(("zip",)))


def test_products_beyond_64_bits() -> None:
    """Twelve columns of 200 values have 2^91 combinations: rows are told apart all the same, exactly."""
    source = wide(12, 200, 2_000)
    doubled = pa.concat_tables([source, source])
    table = read(doubled, Schema(tuple(source.column_names)))
    expected = {tuple(map(str, row.values())) for row in source.to_pylist()}
    leaves = [h.leaves for h in table.hierarchies]
    found = {tuple(leaves[c][code] for c, code in enumerate(row)) for row in table.codes.tolist()}
    assert found == expected
    assert set(table.weights.tolist()) == {2}
    assert math.prod(len(h.leaves) for h in table.hierarchies) > 2**64
    assert fits(table, Wanted(Suppression("none")))  # the keys of the roll-up take two words, and are not mixed up
    nodes = count_lattice(table, Wanted(Suppression("none"), sizes=True), threads=1)
    assert (nodes.ints[0, K], nodes.ints[0, CLASSES]) == (2, 2_000)
    made = partition(table, node(table.hierarchies, [0] * 12))
    assert (k()(made), made.classes) == (2, 2_000)


def test_a_million_values_in_one_column() -> None:
    """A quasi-identifier with a million distinct values is slow for nobody and wrong for nobody."""
    count = 1_000_000
    source = pa.table({"id": np.arange(count), "sex": np.arange(count) % 2})
    table = read(source, Schema(("id", "sex")))
    assert (table.rows, table.distinct, len(table.hierarchies[0].leaves)) == (count, count, count)
    made = partition(table, node(table.hierarchies, [1, 0]), Suppression("cap-max-k", 0.01))
    assert (k()(made), made.suppressed_rows, made.classes) == (count // 2, 0, 2)
    assert glm()(made) == pytest.approx(count)
