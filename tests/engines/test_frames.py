"""Frames in memory come in and go out by the same texts."""

from __future__ import annotations

import decimal
import warnings

import pandas as pd
import pyarrow as pa
import pytest

import kpareto as kp
from kpareto.engines import open_source


def test_long_decimals_go_out_as_they_came_in() -> None:
    """Decimals of 256 bits, which DuckDB does not know, have one text on the way in, out and in questions: 1.50 is 1.5."""
    numbers = [decimal.Decimal(text) for text in ("1.50", "2.00", "2.25")] * 4
    rows = pa.table({"size": pa.array(numbers, pa.decimal256(50, 2)), "kind": ["a", "b"] * 6})
    table = kp.read(rows, kp.Schema(quasi=("size",)))
    assert table.hierarchies[0].leaves == ("1.5", "2", "2.25")
    point = kp.front(table, objectives=["k", "lm"]).choose(k=4)
    done = kp.release(point, rows)
    assert sorted(set(done.data.column("size").to_pylist())) == ["1.5", "2", "2.25"]
    with open_source(rows) as source:
        view = source.view()
        assert sorted(view.ask(f"SELECT DISTINCT c0 FROM {view.table}").fetchall()) == [("1.5",), ("2",), ("2.25",)]


def test_a_source_is_read_and_written_in_one_opening() -> None:
    """Counting, looking and recoding do not get in each other's way."""
    rows = pa.table({"a": ["x", "y", "x"], "b": [1, 2, 3]})
    with open_source(rows) as source:
        assert source.view().unique(("a",)).unique == 1
        assert source.distinct(("a",)).fetch().weights.sum() == 3
        assert source.count() == 3
        assert source.ask(f"SELECT sum(c1) AS n FROM {source.layout().table}").to_pylist() == [{"n": 6}]
        assert source.distinct(("b", "a")).distinct == 3
        assert source.unique(("a", "b")).groups == 3


def test_many_columns_of_pandas_come_in_without_a_word() -> None:
    """Pandas warns where more than a hundred columns are put together; what it says is not the user's affair."""
    frame = pd.DataFrame({f"c{place}": [place, "x", "x"] for place in range(130)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with open_source(frame) as source:
            assert source.distinct([f"c{place}" for place in range(130)]).distinct == 2


@pytest.mark.parametrize("thing", [pa.schema([("a", pa.int64())]), 3, [1, 2]])
def test_what_holds_no_table_is_a_sentence(thing: object) -> None:
    """Neither a schema nor a list can be read."""
    with pytest.raises(kp.BadInput, match="Cannot read a table from"), open_source(thing):
        pass
