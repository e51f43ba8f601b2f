"""A sample of a table, and what groups show."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.errors import BadJob, BadTable
from kpareto.releases.choice import Choice
from kpareto.releases.labels import shown_labels
from kpareto.releases.settings import Shown
from kpareto.tables.adult import adult_table
from kpareto.tables.cuts import make_cuts, read_genome
from kpareto.tables.recoding import Recoding
from kpareto.tables.table import sample_rows
from tests.twins.strategies import Case, cases


@settings(max_examples=40)
@given(case=cases(), data=st.data())
def test_a_sample_is_part_of_the_table(case: Case, data: st.DataObject) -> None:
    """As many rows as asked, none more often than in the table, values too; persons would lose their values."""
    rows = data.draw(st.integers(1, case.table.rows))
    with pytest.raises(BadJob, match="sample of 99,999 rows was asked for"):
        sample_rows(case.table, 99_999)
    if case.table.persons is not None:
        with pytest.raises(BadJob, match="tear values from the persons"):
            sample_rows(case.table, rows, 3)
        return
    small = sample_rows(case.table, rows, 3)
    assert small.rows == rows
    whole = {tuple(codes): int(w) for codes, w in zip(case.table.codes.tolist(), case.table.weights, strict=True)}
    for codes, weight in zip(small.codes.tolist(), small.weights.tolist(), strict=True):
        assert weight <= whole[tuple(codes)]
    assert small.targets[0].totals.sum() == rows
    assert (small.targets[0].totals <= case.table.targets[0].totals).all()
    again = sample_rows(case.table, rows, 3)
    assert np.array_equal(again.codes, small.codes)


def test_what_a_group_shows() -> None:
    """IY-5: its label, the declared midpoint, or on request the median, which tells about rows (W8)."""
    table = adult_table("iyengar_157")
    space = make_cuts(table.hierarchies)
    genome = np.zeros(157, dtype=np.int64)
    genome[22] = 1  # age up to 39, and above
    recoding = space.decode(genome)
    choice = Choice(table, recoding)

    def show(column: str, shown: Shown) -> tuple[str, ...]:
        return shown_labels(choice, choice.partition(), {column: shown})[column]

    assert show("age", "label") == ("17-39", "40-90")
    assert show("age", "midpoint") == ("28", "65")
    low, high = (float(text) for text in show("age", "median"))
    assert 17 < low < 39 < high < 60
    with pytest.raises(BadTable, match="'sex' cannot show a midpoint: its values are not numbers"):
        show("sex", "midpoint")
    assert isinstance(recoding, Recoding)
    assert len(read_genome("01")) == 2
