"""Recodings by cuts counted one by one, against the recoded rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.fronts.count_cuts import CutCounter
from kpareto.fronts.count_lattice import Wanted
from kpareto.kernels.cuts.count import PersonRoom, Persons, count_persons, cut_classes, split_classes, take_leads_apart
from kpareto.kernels.cuts.score import narrow_room, part_room, roll_up_parts
from kpareto.kernels.records import Classes, Hiding
from kpareto.tables.partition import Suppression
from tests.twins.strategies import Case, cases, recodings


@settings(max_examples=40)
@given(case=cases(persons=False), data=st.data(), wanted=st.booleans())
def test_classes_by_parts_are_the_classes(case: Case, data: st.DataObject, wanted: bool) -> None:
    """Slots by product or numbered: rows per class, a row of each, and on request the class of every row."""
    table, recoding = case.table, data.draw(recodings(case.table))
    counter = CutCounter(table, Wanted(Suppression("none")))
    groups, rows = np.concatenate(recoding.cuts), counter.parts
    room = part_room(rows, int(counter.leaf_at[-1]))
    recoded = [tuple(int(cut[row[c]]) for c, cut in enumerate(recoding.cuts)) for row in table.codes]
    slow: dict[tuple[int, ...], int] = {}
    for key, weight in zip(recoded, table.weights.tolist(), strict=True):
        slow[key] = slow.get(key, 0) + weight
    count = cut_classes(groups, counter.leaf_at, rows, narrow_room(room, table.distinct), wanted)
    found = {
        recoded[first]: size for first, size in zip(room.firsts[:count], room.counts[:count].tolist(), strict=True)
    }
    assert count == len(slow)
    assert found == slow
    assert (room.table == -1).all()
    if wanted:
        assert [recoded[room.firsts[member]] for member in room.members[: table.distinct]] == recoded


@settings(max_examples=40)
@given(case=cases(persons=False), data=st.data())
def test_parts_rolled_up_count_alike(case: Case, data: st.DataObject) -> None:
    """Rows merged by a cut have the same classes under the same cut."""
    table, recoding = case.table, data.draw(recodings(case.table))
    counter = CutCounter(table, Wanted(Suppression("none")))
    groups, rows = np.concatenate(recoding.cuts), counter.parts
    room = part_room(rows, int(counter.leaf_at[-1]))
    fewer = roll_up_parts(groups, counter.leaf_at, rows, room)
    sizes = []
    for each in (rows, fewer):
        count = cut_classes(groups, counter.leaf_at, each, room, False)
        sizes.append(sorted(room.counts[:count].tolist()))
    assert sizes[0] == sizes[1]
    assert sorted(fewer.weights.tolist()) == sizes[0]


@given(
    classes=st.lists(st.tuples(st.integers(1, 6), st.booleans()), min_size=1, max_size=10),
    threshold=st.integers(0, 5),
    marked=st.booleans(),
)
def test_visible_classes_come_first(classes: list[tuple[int, bool]], threshold: int, marked: bool) -> None:
    """Small and failing classes are listed apart with their rows; the others keep their order and histograms."""
    sizes, failing = (np.array(column) for column in zip(*classes, strict=True))
    count = len(classes)
    away = (sizes < threshold) | (failing & marked)
    counts, hists = sizes.copy(), (10 * sizes)[None, :].copy()
    hidden, shown = np.zeros((2, count + 1), dtype=np.int64), np.zeros(count + 1, dtype=np.int64)
    left, lost = split_classes(
        Classes(counts, counts, hists[:0], hists, count, 16), Hiding(threshold, failing, marked), None, hidden, shown
    )
    assert (left, lost) == ((~away).sum(), sizes[away].sum())
    assert counts[:left].tolist() == sizes[~away].tolist()
    assert hists[0, :left].tolist() == (10 * sizes[~away]).tolist()
    assert hidden[:, : count - left].tolist() == [np.flatnonzero(away).tolist(), sizes[away].tolist()]


@given(rows=st.lists(st.tuples(st.integers(0, 3), st.lists(st.integers(0, 5), min_size=1, max_size=4)), min_size=1))
def test_persons_count_once_per_class(rows: list[tuple[int, list[int]]]) -> None:
    """Distinct persons of each class, twice in a row with the same stamps."""
    seen = sorted({owner for owner, _ in rows})
    members = np.array([seen.index(owner) for owner, _ in rows], dtype=np.int32)
    starts = np.concatenate(([0], np.cumsum([len(codes) for _, codes in rows]))).astype(np.int64)
    persons = Persons(starts, np.array([code for _, codes in rows for code in codes], dtype=np.int64), 6)
    room = PersonRoom(*(np.zeros(size, dtype=np.int64) for size in (6, len(rows) + 1, len(rows))))
    slow = [len({code for owner, codes in rows if owner == each for code in codes}) for each in seen]
    stamp = 0
    for _ in range(2):
        sizes = np.zeros(len(rows), dtype=np.int64)
        stamp = count_persons(members, len(seen), persons, stamp, room, sizes)
        assert sizes[: len(seen)].tolist() == slow


@given(classes=st.lists(st.tuples(st.integers(1, 2**16 - 1), st.integers(0, 2**48 - 1)), min_size=1, max_size=5))
def test_leads_carry_rows_and_a_word(classes: list[tuple[int, int]]) -> None:
    """Rows above a histogram word of 48 bits come apart again, up to the most a lane holds."""
    rows, words = (np.array(column, dtype=np.int64) for column in zip(*classes, strict=True))
    counts = (rows << 48) + words  # the highest bit may be set: a negative number
    hist = np.zeros(len(classes), dtype=np.int64)
    take_leads_apart(counts, hist, len(classes), 48, 16)
    assert list(zip(counts.tolist(), hist.tolist(), strict=True)) == classes
