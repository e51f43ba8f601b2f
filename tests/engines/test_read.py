"""The door: the same Table whichever way the rows come in, and one sentence for rows that cannot be used."""

from __future__ import annotations

import decimal
import doctest
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.engines.form import Missing
from kpareto.engines.frames import number_duplicates
from kpareto.engines.read import fingerprint, read
from kpareto.errors import BadHierarchy, BadInput, BadJob, BadSchema, BadTable
from kpareto.jobs.inspect import inspect
from kpareto.tables.hierarchy import from_levels
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table
from tests.twins.doors import DOORS, Sheet, arrow, bits, every_counts, sheets, told, twin

AGE = Schema(quasi=("age",))


def through(door: str, sheet: Sheet, schema: Schema, missing: Missing) -> Table | str:
    """The Table that comes through a door, or the sentence that comes instead."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return read(DOORS[door](sheet, Path(folder)), schema, missing)
        except BadTable as error:
            return str(error)


@settings(max_examples=20, deadline=None)
@given(given_sheet=sheets(), missing=st.sampled_from(["drop", "category"]))
def test_every_door_gives_the_same_table(given_sheet: tuple[Sheet, Schema], missing: Missing) -> None:
    """Pandas, polars, pyarrow, DuckDB, CSV and Parquet give one Table, bit for bit, and it is the slow twin's."""
    sheet, schema = given_sheet
    expected = twin(sheet, schema, missing)
    tables = {door: through(door, sheet, schema, missing) for door in DOORS}
    for door, table in tables.items():
        if isinstance(table, str):
            assert table.startswith("No row is left: each of the")
            assert not expected.rows, door
        else:
            assert told(table) == expected, door
            first = tables["pyarrow"]
            assert isinstance(first, Table)
            assert bits(table) == bits(first), door


@settings(max_examples=50, deadline=None)
@given(given_sheet=sheets(), missing=st.sampled_from(["drop", "category"]), data=st.data())
def test_row_order_changes_nothing(given_sheet: tuple[Sheet, Schema], missing: Missing, data: st.DataObject) -> None:
    """The same rows in another order give the same Table, and the same fingerprint."""
    sheet, schema = given_sheet
    other = sheet.shuffled(data.draw(st.permutations(range(len(sheet.rows)))))
    for door in ("polars", "pandas objects"):
        one, two = through(door, sheet, schema, missing), through(door, other, schema, missing)
        if isinstance(one, Table) and isinstance(two, Table):
            assert bits(one) == bits(two)
        else:
            assert one == two
    assert fingerprint(pl.DataFrame(arrow(sheet))) == fingerprint(pl.DataFrame(arrow(other)))


@settings(max_examples=100, deadline=None)
@given(given_sheet=sheets(), missing=st.sampled_from(["drop", "category"]))
def test_every_row_is_counted_once(given_sheet: tuple[Sheet, Schema], missing: Missing) -> None:
    """Weights and counts sum to the rows less those dropped; distinct rows rise; no count and no value is idle."""
    sheet, schema = given_sheet
    table = through("polars", sheet, schema, missing)
    if isinstance(table, str):
        return
    assert table.rows == len(sheet.rows) - table.dropped
    assert table.weights.min() > 0
    codes = table.codes.tolist()
    assert codes == sorted(codes)
    assert all(mask.all() for mask in table.observed)
    for counts in every_counts(table):
        assert counts.count.min(initial=1) > 0
        idle = table.nobodys if counts is table.persons else 0  # rows without an id belong to nobody
        here = np.bincount(counts.row, counts.count, minlength=len(table.weights))
        assert here.sum() == table.rows - idle
        assert (here == table.weights).all() if idle == 0 else (here <= table.weights).all()
        assert (counts.totals > 0).all()


@settings(max_examples=20, deadline=None)
@given(given_sheet=sheets())
def test_fingerprints_know_content_alone(given_sheet: tuple[Sheet, Schema]) -> None:
    """A frame has the same fingerprint in every library, and another one when a row is gone."""
    sheet, _ = given_sheet
    frames = ("pyarrow", "pandas", "pandas objects", "pandas with an index", "polars", "polars lazy", "DuckDB")
    assert len({fingerprint(DOORS[door](sheet, Path())) for door in frames}) == 1
    shorter = sheet.shuffled(range(len(sheet.rows) - 1))
    assert fingerprint(pl.DataFrame(arrow(shorter))) != fingerprint(pl.DataFrame(arrow(sheet)))


def test_fingerprints_of_some_columns() -> None:
    """Given columns alone are looked at, so one without texts is no hindrance; names and gaps count."""
    frame = pl.DataFrame({"age": [1, None], "bag": [[1], [2]]})
    assert fingerprint(frame, ["age"]) == fingerprint(frame.select("age"))
    assert fingerprint(frame, ["age"]) != fingerprint(frame.select(pl.col("age").alias("years")))
    assert fingerprint(frame, ["age"]) != fingerprint(frame.select(pl.col("age").fill_null(0)))
    with pytest.raises(BadTable, match="Column 'bag' holds values of type list"):
        fingerprint(frame)
    with pytest.raises(BadSchema, match=r"No column 'agee' in the table. Did you mean 'age'"):
        fingerprint(frame, ["agee"])


def test_what_is_read_is_what_is_told() -> None:
    """Codes, weights, persons, numbers and spans of a small table, by hand."""
    frame = pl.DataFrame(
        {
            "age": [50, 39, 39, 39, None],
            "zip": ["02139", "10001", "10001", "02139", "10001"],
            "income": [10.5, 9.0, 100.0, 9.0, 1.0],
            "patient": [7, 8, 8, 9, 7],
            "note": [[1], [2], [3], [4], [5]],
        }
    )
    schema = Schema(quasi=("age", "zip"), sensitive="income", target="income", person="patient")  # type: ignore[arg-type]
    table = read(frame, schema, "drop")
    assert (table.rows, table.distinct, table.dropped, table.missing, table.domain) == (4, 3, 1, "drop", "observed")
    assert [h.leaves for h in table.hierarchies] == [("39", "50"), ("02139", "10001")]
    assert table.codes.tolist() == [[0, 0], [0, 1], [1, 0]]
    assert table.weights.tolist() == [1, 2, 1]
    age, zipcode = table.hierarchies
    assert age.spans is not None
    assert (age.ordered, age.spans.tolist(), zipcode.ordered, zipcode.spans) == (
        True,
        [[39, 39], [50, 50]],
        False,
        None,
    )
    income = table.sensitive[0]
    assert income.values == ("9", "10.5", "100")
    assert income.numbers is not None
    assert income.numbers.tolist() == [9, 10.5, 100]
    assert (income.start.tolist(), income.code.tolist()) == ([0, 1, 3, 4], [0, 0, 2, 1])
    assert table.targets[0].values == income.values
    assert table.persons is not None
    assert (table.persons.values, table.persons.code.tolist(), table.persons.count.tolist()) == (
        ("7", "8", "9"),
        [2, 1, 0],
        [1, 2, 1],
    )


def test_dates_are_ordered() -> None:
    """A column of dates stands in time and its spans count days."""
    table = read(pl.DataFrame({"age": ["2024-02-01", "2024-01-31"]}), AGE)
    (hierarchy,) = table.hierarchies
    assert hierarchy.leaves == ("2024-01-31", "2024-02-01")
    assert (hierarchy.ordered, hierarchy.dates) == (True, True)
    assert hierarchy.spans is not None
    assert hierarchy.spans[:, 0].tolist() == [19753, 19754]


NOTHING = [None, np.nan, pd.NA, pd.NaT, "", "?", " ? ", float("nan"), decimal.Decimal("NaN")]


@pytest.mark.parametrize("nothing", NOTHING, ids=repr)
def test_all_that_stands_for_no_value(nothing: object) -> None:
    """None, NaN, NaT, NA, the empty text and the given marks are missing alike."""
    frame = pd.DataFrame({"age": pd.Series(["39", nothing, "39"], dtype=object)})
    dropped = read(frame, AGE, "drop")
    assert (dropped.hierarchies[0].leaves, dropped.rows, dropped.dropped) == (("39",), 2, 1)
    kept = read(frame, AGE, missing="category")
    assert (kept.hierarchies[0].leaves, kept.weights.tolist()) == (("39", "(missing)"), [2, 1])
    assert (kept.dropped, kept.missing, kept.hierarchies[0].spans) == (0, "category", None)


def test_marks_of_missing_values_are_the_users() -> None:
    """Other marks can be given, as text or number, and then '?' and the empty text are values."""
    frame = pl.DataFrame({"age": ["999", "?", "", "1", None]})
    table = read(frame, AGE, "drop", (999,))
    assert (table.hierarchies[0].leaves, table.dropped) == (("", "1", "?"), 2)
    assert read(frame, AGE, "drop", "1").dropped == 2
    assert read(pl.DataFrame({"age": [999.0, 1.0]}), AGE, "drop", ("999",)).dropped == 1


def test_a_missing_value_anywhere_drops_the_row() -> None:
    """Quasi-identifiers, sensitive, target and person columns count; a value seen in dropped rows only is no leaf."""
    frame = pl.DataFrame(
        {"q": ["a", "b", "c", "d"], "s": ["x", None, "x", "x"], "t": ["y", "y", None, "y"], "p": [1, 1, 1, None]}
    )
    table = read(frame, Schema(quasi=("q",), sensitive=("s",), target=("t",), person="p"), "drop")
    assert (table.hierarchies[0].leaves, table.dropped) == (("a",), 3)
    assert read(frame, Schema(quasi=("q",))).dropped == 0
    kept = read(frame, Schema(quasi=("q",), sensitive=("s",), person="p"), missing="category")
    assert kept.sensitive[0].values == ("x", "(missing)")
    assert kept.persons is not None
    assert kept.persons.values == ("1",)
    assert kept.nobodys == 1


def test_a_value_called_missing_is_missing() -> None:
    """A release with '(missing)' in it, read again, has one such value and not two."""
    table = read(pl.DataFrame({"age": ["(missing)", None, "1"]}), AGE, missing="category")
    assert (table.hierarchies[0].leaves, table.weights.tolist()) == (("1", "(missing)"), [1, 2])


def test_hierarchies_and_domain_are_bound() -> None:
    """Hierarchies given at the door are those of the Table; a value without a place is named."""
    given_one = from_levels("age", [("1", "low", "*"), ("2", "low", "*"), ("3", "high", "*")])
    table = read(pl.DataFrame({"age": [3, 1, 1]}), AGE, hierarchies=[given_one], domain="declared")
    assert (table.hierarchies[0].leaves, table.codes.tolist(), table.domain) == (
        ("1", "2", "3"),
        [[0], [2]],
        "declared",
    )
    assert read(pl.DataFrame({"age": [1]}), AGE, domain="declared").domain == "declared"
    with pytest.raises(BadHierarchy, match="has no place for 1 value of the table: '4'"):
        read(pl.DataFrame({"age": [4]}), AGE, hierarchies={"age": given_one})


TWICE: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame([[1, "x", 3], [4, "y", 6]], columns=["age", "age_2", "age"]),
    "pyarrow": lambda: pa.table([[1, 4], ["x", "y"], [3, 6]], names=["age", "age_2", "age"]),
    "duckdb": lambda: duckdb.sql(
        "SELECT a AS age, b AS age_2, c AS age FROM (VALUES (1, 'x', 3), (4, 'y', 6)) AS t(a, b, c)"
    ),
}


@pytest.mark.parametrize("library", TWICE)
def test_columns_of_one_name_are_told_apart_on_request(library: str) -> None:
    """The second of a name gets a number that no other has; the frame that was given stays as it was."""
    frame: Any = TWICE[library]()
    with pytest.raises(BadSchema, match=r"two columns named 'age'.*kpareto.number_duplicates\(frame\)"):
        read(frame, AGE)
    numbered = number_duplicates(frame)
    assert type(numbered) is type(frame)
    assert [each.facts.name for each in inspect(numbered).columns] == ["age", "age_2", "age_3"]
    table = read(numbered, Schema(quasi=("age", "age_3")))
    assert [h.leaves for h in table.hierarchies] == [("1", "4"), ("3", "6")]
    with pytest.raises(BadSchema):
        read(frame, AGE)


def test_names_that_are_numbers_are_told_apart() -> None:
    """A pandas frame may call its columns 1 and "1", which are one name in a file."""
    frame = pd.DataFrame([[1, 2]], columns=[1, "1"])
    assert number_duplicates(frame).columns.tolist() == ["1", "1_2"]
    with pytest.raises(BadTable, match=r"Columns of polars.*cannot be numbered. Give a pandas frame, a pyarrow table"):
        number_duplicates(pl.DataFrame({"age": [1]}))


BAD: list[tuple[Callable[[], object], type[BadInput], str]] = [
    (lambda: [1, 2], BadTable, "Cannot read a table from builtins.list. Give a pandas or polars frame, a pyarrow"),
    (lambda: None, BadTable, "Cannot read a table from builtins.NoneType."),
    (lambda: pd.Series([1]), BadTable, "Cannot read a table from pandas"),
    (lambda: pl.Series([1]), BadTable, "Cannot read a table from polars"),
    (lambda: pa.array([1]), BadTable, "Cannot read a table from pyarrow"),
    (duckdb.connect, BadTable, "Cannot read a table from _duckdb.DuckDBPyConnection."),
    (lambda: pl.DataFrame({"agee": [1]}), BadSchema, "No column 'age' in the table. Did you mean 'agee'?"),
    (lambda: pd.DataFrame([[1, 2]], columns=["age", "age"]), BadSchema, "The table has two columns named 'age'."),
    (lambda: pa.table([[1], [2]], names=["age", "age"]), BadSchema, "The table has two columns named 'age'."),
    (lambda: duckdb.sql("SELECT 1 AS age, 2 AS age"), BadSchema, "The table has two columns named 'age'."),
    (lambda: pd.DataFrame([[1, 2]], columns=[1, "1"]), BadSchema, "The table has two columns named '1'."),
    (lambda: pl.DataFrame({"age": []}), BadTable, "The table has no rows, only the columns age. Give at least one"),
    (lambda: pl.LazyFrame({"age": pl.Series([], dtype=pl.Int64)}), BadTable, "The table has no rows"),
    (lambda: pd.DataFrame({"age": pd.Series([], dtype=object)}), BadTable, "The table has no rows"),
    (lambda: pa.table({"age": pa.array([], pa.string())}), BadTable, "The table has no rows"),
    (lambda: pl.DataFrame({"age": [None, "?"]}), BadTable,
     "No row is left: each of the 2 rows has a missing value, 2 of them in 'age'. Give missing='category' to keep"),
    (lambda: pd.DataFrame({"age": [[1], [2]]}), BadTable, "Column 'age' holds values of type list, which cannot be"),
    (lambda: pd.DataFrame({"age": [b"x", 1]}), BadTable, "Column 'age' holds values of type bytes"),
    (lambda: pd.DataFrame({"age": [1j]}), BadTable, "Column 'age' holds values of type complex"),
    (lambda: pd.DataFrame({"age": pd.to_timedelta([1])}), BadTable, "Column 'age' holds values of type duration"),
    (lambda: pl.DataFrame({"age": [[1]]}), BadTable, "Column 'age' holds values of type list(int64)"),
    (lambda: pl.LazyFrame({"age": [{"x": 1}]}), BadTable, "Column 'age' holds values of type struct"),
    (lambda: pl.DataFrame({"age": [b"x"]}), BadTable, "Column 'age' holds values of type binary"),
    (lambda: pl.DataFrame({"age": pl.Series([object()], dtype=pl.Object)}), BadTable, "Column 'age' holds values of"),
    (lambda: pa.table({"age": [[1]]}), BadTable, "Column 'age' holds values of type bigint[]"),
    (lambda: pa.table({"age": [{"x": 1}]}), BadTable, "Column 'age' holds values of type struct"),
    (lambda: duckdb.sql("SELECT INTERVAL 1 DAY AS age"), BadTable, "Column 'age' holds values of type interval"),
    (lambda: pd.DataFrame({"age": pd.Series(["\ud800"], dtype=object)}), BadTable,
     "Column 'age' holds text that is not Unicode ('\\ud800'). Decode it again with its encoding."),
]  # fmt: skip


@pytest.mark.parametrize(("make", "kind", "message"), BAD, ids=[f"{i}" for i in range(len(BAD))])
def test_bad_tables_get_a_sentence(make: Callable[[], object], kind: type[BadInput], message: str) -> None:
    """What cannot be read is an error of ours that says what is wrong, what was given and what to do."""
    with pytest.raises(kind) as caught:
        read(make(), AGE, "drop")
    assert str(caught.value).startswith(message)


def test_bad_arguments_get_a_sentence() -> None:
    """An unknown policy or domain is refused, and missing values can be an error with columns and counts."""
    frame = pl.DataFrame({"age": [1, None, None], "sex": ["f", "?", "m"]})
    with pytest.raises(BadJob, match="Missing values can be treated by drop, category, error, not 'ignore'"):
        read(frame, AGE, missing="ignore")  # type: ignore[arg-type]
    with pytest.raises(BadJob, match=r"The domain is 'all'. Take 'observed' or 'declared'"):
        read(frame, AGE, domain="all")  # type: ignore[arg-type]
    with pytest.raises(BadTable) as caught:
        read(frame, Schema(quasi=("age", "sex")), missing="error")
    assert str(caught.value) == (
        "Values are missing in 'age' (2 of 3 rows), 'sex' (1 of 3 rows). Give missing='drop' to leave these rows out, "
        "or missing='category' to keep them as a value of their own."
    )
    assert read(frame[:1], AGE, missing="error").missing == "error"


def leaves_of(source: object) -> Sequence[str]:
    """The values of the column age."""
    return read(source, AGE, "drop").hierarchies[0].leaves


UNUSUAL: list[tuple[Callable[[], object], tuple[str, ...]]] = [
    (lambda: pd.DataFrame({"age": pd.Series([1, "1", 1.0, True, "x", None], dtype=object)}), ("1", "true", "x")),
    (
        lambda: pd.DataFrame({"age": pd.Series([True, 1, False, 0, 0.5], dtype=object)}),
        ("0", "0.5", "1", "false", "true"),
    ),
    (lambda: pd.DataFrame({"age": pd.Categorical([1, "x", None, 2.5])}), ("1", "2.5", "x")),
    (lambda: pd.DataFrame({"age": pd.cut([1, 5, 9], [0, 5, 10])}), ("(0, 5]", "(5, 10]")),
    (lambda: pd.DataFrame({"age": pd.arrays.SparseArray([0, 0, 1])}), ("0", "1")),
    (lambda: pd.DataFrame({"age": pd.array([1, None], dtype="Int64")}), ("1",)),
    (lambda: pd.DataFrame({"age": np.array([0.5, 1], dtype="float16")}), ("0.5", "1")),
    (lambda: pd.DataFrame({"age": pd.array(["a", None], dtype=pd.StringDtype("python"))}), ("a",)),
    (lambda: pd.DataFrame([[1, 2]], columns=["age", 7]), ("1",)),
    (lambda: pl.DataFrame({"age": pl.Series([2**100], dtype=pl.Int128)}), (str(2**100),)),
    (lambda: pl.DataFrame({"age": pl.Series(["z", "b"], dtype=pl.Enum(["z", "b"]))}), ("b", "z")),
    (lambda: pl.DataFrame({"age": [float("nan"), None, 1.0]}), ("1",)),
    (lambda: pa.table({"age": pa.array([decimal.Decimal("1.50"), None], pa.decimal256(60, 2))}), ("1.5",)),
    (lambda: pa.table({"age": pa.array(np.array([0.5], dtype="float16"))}), ("0.5",)),
    (lambda: pa.record_batch({"age": [1]}), ("1",)),
    (lambda: nw.from_native(pl.DataFrame({"age": [1]})), ("1",)),
    (lambda: duckdb.sql("SELECT 170141183460469231731687303715884105727 AS age"), (str(2**127 - 1),)),
    (lambda: duckdb.sql("SELECT 'x'::ENUM('y', 'x') AS age"), ("x",)),
]


@pytest.mark.parametrize(("make", "expected"), UNUSUAL, ids=[f"{i}" for i in range(len(UNUSUAL))])
def test_unusual_types(make: Callable[[], object], expected: tuple[str, ...]) -> None:
    """Columns of mixed objects, categories and the rarer types of each library have well-defined texts."""
    assert leaves_of(make()) == expected


def test_a_relation_keeps_its_connection_clean() -> None:
    """Reading a relation leaves no table or view behind, and names that differ by case are told apart."""
    connection = duckdb.connect()
    relation = connection.sql('SELECT 1 AS "age", 2 AS "AGE", 3 AS "x""; DROP TABLE y; --"')
    assert leaves_of(relation) == ("1",)
    assert read(relation, Schema(quasi=("AGE", 'x"; DROP TABLE y; --'))).hierarchies[0].leaves == ("2",)
    assert connection.sql("SELECT count(*) FROM duckdb_views() WHERE NOT internal").fetchall() == [(0,)]


def test_one_row_and_one_value() -> None:
    """A single row, and a column of equal values, are tables like any other."""
    table = read(pl.DataFrame({"age": [39]}), AGE)
    assert (table.rows, table.hierarchies[0].leaves) == (1, ("39",))
    table = read(pl.DataFrame({"age": [39] * 5}), AGE)
    assert (table.distinct, table.weights.tolist()) == (1, [5])


def test_many_columns() -> None:
    """Three hundred quasi-identifiers, whose product passes 64 bits many times, are rolled up."""
    rng = np.random.default_rng(1)
    columns = {f"c{place}": rng.integers(0, 1000, 50) for place in range(300)}
    frame = pl.DataFrame(columns)
    table = read(pl.concat([frame, frame]), Schema(quasi=tuple(columns)))
    assert (table.distinct, table.rows, set(table.weights.tolist())) == (50, 100, {2})


def test_a_million_distinct_values() -> None:
    """A quasi-identifier with a million values is read."""
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"age": rng.permutation(1_000_000), "name": [f"p{i}" for i in range(1_000_000)]})
    table = read(frame, Schema(quasi=("age", "name")))
    assert table.distinct == 1_000_000
    assert table.hierarchies[0].leaves[:3] == ("0", "1", "2")


def test_reading_a_file_loads_no_frame_library(tmp_path: Path) -> None:
    """A cold start with a file waits for neither pandas nor polars; importing the door waits for no engine."""
    path = tmp_path / "x.csv"
    path.write_text("age,pay\n39,1.5\n?,2\n", encoding="utf-8")
    code = (
        "import sys; from kpareto.engines.read import read; from kpareto.tables.schema import Schema\n"
        "assert not {'duckdb', 'pyarrow', 'narwhals', 'pandas', 'polars'} & set(sys.modules)\n"
        f"print(read({str(path)!r}, Schema(quasi=['age'], sensitive=['pay'])).rows)\n"
        "assert not {'narwhals', 'pandas', 'polars'} & set(sys.modules)\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (answer.stdout, answer.stderr) == ("2\n", "")


def test_the_page_on_reading_is_true() -> None:
    """Every example on the page gives what it says."""
    page = Path(__file__).parents[2] / "docs" / "reading.md"
    result = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert result.attempted > 20
    assert result.failed == 0


@pytest.mark.parametrize(("lacking", "policy"), [(5, "drop"), (6, "category")])
def test_no_more_than_a_small_share_of_the_rows_vanishes_unasked(lacking: int, policy: str) -> None:
    """Up to 5 % of the rows are dropped without a word from the user, more are kept; either way it is said."""
    frame = pl.DataFrame({"age": [None] * lacking + ["30"] * (100 - lacking)})
    table = read(frame, AGE)
    assert (table.missing, table.dropped) == (policy, lacking if policy == "drop" else 0)
    assert f"{lacking} of 100 rows" in table.remarks[-1]
    assert read(frame, AGE, "drop").dropped == lacking


def test_missing_numbers_have_groups_of_their_own() -> None:
    """Intervals have no place for no value, so it stands beside them on every level but the last."""
    frame = pl.DataFrame({"age": ["", "31", "34", "47", ""]})
    table = read(frame, AGE, "category", hierarchies={"age": {"intervals": [5, 20], "from": 0}})
    hierarchy = table.hierarchies[0]
    assert hierarchy.leaves == ("31", "34", "47", "(missing)")
    assert hierarchy.labels[1:] == (("30-34", "45-49", "(missing)"), ("20-39", "40-59", "(missing)"), ("*",))
