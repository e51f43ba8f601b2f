"""Columns of mixed levels: every label finds its leaves, the common level is the finest, rows are spread whole."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.errors import BadInput, BadTable
from kpareto.releases.spread import align_levels
from kpareto.tables.adult import adult_hierarchies
from kpareto.tables.hierarchies import cells, dates, intervals, order

AGES = intervals("age", [str(year) for year in range(20, 40)], [5, 10])
KINDS = {
    "numbers": AGES,
    "order": order("rank", ["low", "middle", "high", "top"]),
    "dates": dates("born", ["2001-01-03", "2001-02-03", "2001-05-09", "2003-12-31"]),
    "cells": cells("pay", [0, 10, 20, 40]),
    "tree": adult_hierarchies()["native-country"],
}


@given(kind=st.sampled_from(sorted(KINDS)), data=st.data())
@settings(max_examples=200, deadline=None)
def test_every_label_finds_its_leaves(kind: str, data: st.DataObject) -> None:
    """Any run that a release may show, of any kind of hierarchy, is read back, and the level holds all of them."""
    hierarchy = KINDS[kind]
    runs = sorted(hierarchy.tree.runs)
    if hierarchy.ordered:
        runs += [(a, b) for a in range(len(hierarchy.leaves)) for b in range(a, len(hierarchy.leaves))]
    chosen = data.draw(st.lists(st.sampled_from(runs), min_size=1, max_size=6))
    labels = [hierarchy.group_label(*run) for run in chosen]
    column = align_levels({"c": labels}, "c", hierarchy)
    found = [(int(column.first[code]), int(column.last[code])) for code in column.codes]
    assert [hierarchy.group_label(*run) for run in found] == labels
    groups = hierarchy.groups
    fits = [all(groups[level][a] == groups[level][b] for a, b in found) for level in range(len(groups))]
    assert column.level == fits.index(True)
    assert len(column.show()) == len(labels)
    for level in range(len(groups)):
        spread = column.spread(level)
        assert sum(spread.values()) == pytest.approx(len(labels))
        if level >= column.level:
            shown = column.show(level)
            assert all(rows == pytest.approx(shown.count(name)) for name, rows in spread.items())
    assert sum(column.count().values()) == len(labels)


@pytest.mark.parametrize("make_frame", [pd.DataFrame, pl.DataFrame])
def test_any_frame_will_do(make_frame: type) -> None:
    """Frames of pandas and polars answer as lists do, whole numbers among them."""
    column = align_levels(make_frame({"age": ["20", "25-29", "*"]}), "age", AGES)
    assert column.level == AGES.height
    assert column.midpoints().tolist() == [20.0, 27.0, 29.5]
    assert align_levels(make_frame({"age": [20, 31]}), "age", AGES).show() == ["20", "31"]


def test_rows_are_spread_by_what_is_known() -> None:
    """A public table's counts decide how a label is divided; where it has none of the values, all count alike."""
    column = align_levels({"age": ["20-24", "30-34"]}, "age", AGES)
    spread = column.spread(values={"20": 3, "24": 1})
    assert (spread["20"], spread["24"], spread["22"]) == (0.75, 0.25, 0.0)
    assert [spread[str(year)] for year in range(30, 35)] == pytest.approx([0.2] * 5)
    assert np.isclose(sum(spread.values()), 2)


def test_what_cannot_be_aligned_is_a_sentence() -> None:
    """Unknown labels, columns, levels and frames, an empty column, and midpoints of words."""
    with pytest.raises(BadTable, match="does not know 1 of the labels"):
        align_levels({"age": ["20", "old"]}, "age", AGES)
    frames: list[object] = [{"sex": []}, pl.DataFrame({"sex": [1]})]
    for frame in frames:
        with pytest.raises(BadTable, match="There is no column 'age'"):
            align_levels(frame, "age", AGES)
    with pytest.raises(BadTable, match="no data frame"):
        align_levels(3, "age", AGES)
    with pytest.raises(BadTable, match="no rows"):
        align_levels({"age": []}, "age", AGES)
    column = align_levels({"age": ["20-24"]}, "age", AGES)
    with pytest.raises(BadInput, match="from 1 to 3"):
        column.show(0)
    with pytest.raises(BadInput, match="levels 0 to 3"):
        column.spread(4)
    with pytest.raises(BadTable, match="not numbers"):
        align_levels({"c": ["Cuba"]}, "c", KINDS["tree"]).midpoints()
