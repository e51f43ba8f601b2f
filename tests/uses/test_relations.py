"""Relations between columns: mutual information as a slow twin has it, and no more than chance where there is none."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from kpareto.engines.read import read
from kpareto.measures.use import fit_view, view_original, view_release
from kpareto.tables.hierarchy import flat
from kpareto.tables.partition import Partition, classes
from kpareto.tables.recoding import bottom, top
from kpareto.tables.schema import Schema
from kpareto.tables.table import make_table
from kpareto.uses.relations import Relations, group_columns, group_view, relate
from tests.twins.use import levels_choice, local_choice, plain_rows, related_rows, related_table, slow_information


def relations_of(partition: Partition) -> Relations:
    """What is left of the relations of a release."""
    whole = view_original(partition.table)
    columns = group_columns(whole)
    fitted = fit_view(view_release(partition), whole)
    return relate(group_view(whole, columns), group_view(fitted, columns), columns)


def test_a_table_that_is_shown_as_it_is_keeps_all() -> None:
    """Every share is 1."""
    table = related_table()
    kept = relations_of(classes(table, bottom(table.hierarchies)))
    assert kept.kept == pytest.approx(1, abs=1e-12)
    assert {pair.columns for pair in kept.pairs} >= {
        ("age", "town"),
        ("age", "ill"),
        ("town", "sex"),
        ("age", "income"),
    }
    assert all(pair.share == pytest.approx(1, abs=1e-12) for pair in kept.pairs)


def test_a_table_that_is_hidden_keeps_nothing() -> None:
    """Every share is 0, those with columns that are not recoded too."""
    table = related_table()
    kept = relations_of(classes(table, top(table.hierarchies)))
    assert kept.kept == 0
    assert all(pair.share == 0 for pair in kept.pairs)


def test_information_is_that_of_the_slow_twin() -> None:
    """Values by their groups, counted row by row, give the same corrected number; whole levels tell labels apart."""
    rows = related_rows()
    table = related_table(rows)
    whole = view_original(table)
    columns = group_columns(whole)
    original = group_view(whole, columns)
    leaves = {h.name: h.index for h in table.hierarchies}

    def grouped(row: dict[str, str], name: str) -> int:
        return int(columns[name].group[leaves[name][row[name]]])

    for one, two in (("age", "town"), ("age", "sex"), ("town", "sex")):
        pairs = [(grouped(row, one), grouped(row, two)) for row in plain_rows(rows)]
        assert original.information(one, two) == pytest.approx(slow_information(pairs), rel=1e-9)
    sides = group_view(view_release(levels_choice(table, (0, 1, 0)).partition()), columns)
    halves = [(row["town"] in ("Ulm", "Aalen"), row["sex"]) for row in plain_rows(rows)]
    assert sides.information("town", "sex") == pytest.approx(slow_information(halves), rel=1e-6)


def test_whole_levels_lose_and_classes_keep() -> None:
    """Ages in decades keep less than ages, more than none; labels by class keep most."""
    table = related_table()
    decades = relations_of(levels_choice(table, (2, 1, 0)).partition())
    by_class = relations_of(local_choice(table).partition())
    assert decades.kept is not None
    assert by_class.kept is not None
    assert 0.2 < decades.kept < by_class.kept <= 1
    assert [pair.share for pair in decades.pairs] == sorted(pair.share for pair in decades.pairs)


def test_what_chance_makes_is_no_relation() -> None:
    """Of columns drawn apart hardly any pair is called related, and corrected numbers lie around 0."""
    random = np.random.default_rng(3)
    numbers, unrelated = [], 0
    for _ in range(40):
        hierarchies = tuple(flat(name, list("12345678")) for name in "ab")
        codes = random.integers(0, 8, (500, 2))
        whole = view_original(make_table(Schema(("a", "b")), hierarchies, codes, np.ones(500, dtype=np.int64), {}))
        columns = group_columns(whole)
        side = group_view(whole, columns)
        numbers.append(side.information("a", "b"))
        unrelated += relate(side, side, columns).unrelated
    assert abs(np.mean(numbers)) < 0.1 * 7 * 7 / 1000
    assert unrelated >= 38


def test_groups_are_neighbours_with_enough_rows() -> None:
    """Rare values are joined with the next ones until a group has its share; a column of one value is one group."""
    names = ["a"] * 50 + ["b"] * 3 + ["c"] * 60 + ["d"] * 2
    table = read(pa.table({"x": names, "y": ["1"] * len(names)}), Schema(("x", "y")), "drop")
    columns = group_columns(view_original(table))
    assert columns["x"].group.tolist() == [0, 1, 1, 1]
    assert columns["y"].groups == 1
