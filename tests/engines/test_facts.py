"""All columns of a table are counted together: the answers are those of counting each by itself, and those of hand."""

from __future__ import annotations

import random
from datetime import date
from typing import Any

import pyarrow as pa
import pytest

from kpareto.engines import facts
from kpareto.engines.facts import count_columns
from kpareto.engines.source import View
from kpareto.engines.unique_rows import keep_rows, open_view
from kpareto.tables.proposals import ColumnFacts

TEXTS = [None, "", "?", "NA", " NA ", "k.A.", "1", "01", "1.5", "-3", "1e5", "2020-01-01", "2020-02-30", "01.02.2020"]
TEXTS += ["yes", "no", "a b", "x1", "é", "1,5", "-", "2020-01-01T10:00", "inf", "nan"]


def mixed(seed: int) -> pa.Table:
    """Columns of a few texts each, of every other kind, one without any value and one that is nested."""
    rng = random.Random(seed)
    rows = rng.randint(1, 40)
    drawn = [rng.sample(TEXTS, rng.randint(1, 5)) for _ in range(6)]
    columns = {f"text{i}": pa.array([rng.choice(few) for _ in range(rows)], pa.string()) for i, few in enumerate(drawn)}
    others: dict[str, tuple[list[object], pa.DataType]] = {
        "whole": ([None, 1, 2, 300], pa.int64()),
        "real": ([None, 1.0, 2.5, float("nan")], pa.float64()),
        "empty": ([None], pa.string()),
        "truth": ([True, False, None], pa.bool_()),
        "day": ([None, date(1970, 1, 2), date(2024, 10, 4)], pa.date32()),
        "nested": ([[1], None], pa.list_(pa.int64())),
    }
    for name, (values, kind) in others.items():
        columns[name] = pa.array([rng.choice(values) for _ in range(rows)], kind)
    return pa.table(columns)


@pytest.mark.parametrize("seed", range(8))
def test_columns_together_are_as_columns_alone(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One query for all columns, a query for each and a table of the one column say the same."""
    table = mixed(seed)
    with open_view(table) as rows:
        together = count_columns(rows, table.num_rows)
        monkeypatch.setattr(facts, "CELLS", 1)
        assert count_columns(rows, table.num_rows) == together
    for place, name in enumerate(table.column_names):
        with open_view(table.select([name])) as rows:
            assert count_columns(rows, table.num_rows) == [together[place]]


@pytest.mark.parametrize("seed", range(8))
def test_kept_rows_answer_as_the_engine_does(seed: int) -> None:
    """Rows that are alone and rows that lack a value, of any columns, from codes and from the engine."""
    table, rng = mixed(seed), random.Random(seed)
    with open_view(table) as rows:
        kept = keep_rows(rows, ("?", "NA"))
        assert kept.coded.columns == tuple(name for name in table.column_names if name != "nested")
        for _ in range(8):
            names = rng.sample(kept.coded.columns, rng.randint(1, 4))
            places = [rows.columns.index(name) for name in names]
            assert kept.coded.unique(kept.places([*names, "nested"])) == rows.unique(names)
            lacks = " OR ".join(rows.lacks(place, ("?", "NA")) for place in places)
            (lacking,) = rows.one(f"SELECT count(*) FILTER ({lacks}) FROM {rows.table}")
            assert int(kept.lacking[:, kept.places(names)].any(axis=1).sum()) == lacking


def test_what_is_counted() -> None:
    """Missing values, marks, kinds, the ends of numbers and the months of dates, as a hand counts them."""
    table = pa.table(
        {
            "age": ["34", "34", " 51", "k.A.", None],
            "day": ["2020-01-31", "2020-02-01", "2020-02-01", "2021-02-01", "NA"],
            "void": pa.array([None] * 5, pa.string()),
        }
    )
    with open_view(table) as rows:
        age, day, void = count_columns(rows, 5)
    assert age == ColumnFacts(
        *("age", "whole number", 5, 2, 2, 4, 1, 2, 2, True),
        *(34.0, 51.0, 34.0, ("34", "51"), 2, ("k.A.",), 2, ()),
    )
    assert (day.kind, day.missing, day.common, day.units) == (
        "date",
        1,
        ("2020-02-01", "2020-01-31", "2021-02-01"),
        (3, 2, 2, 1),
    )
    assert (void.kind, void.missing, void.distinct, void.groups) == ("empty", 5, 0, 1)


def test_many_columns_take_few_queries() -> None:
    """Forty columns are three questions to the engine, one of them about dates, one about forms of values."""
    table = pa.table({f"c{place}": ["2020-01-01", "2021-01-01"] for place in range(40)})
    asked: list[str] = []
    with open_view(table) as rows:

        def ask(query: str) -> Any:
            asked.append(query)
            return rows.ask(query)

        assert len(count_columns(View(rows.columns, rows.kinds, rows.table, ask), 2)) == 40
    assert len(asked) == 3
