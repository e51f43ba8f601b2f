"""Rows in runs: classes, unions of cuts and rolled-up rows, against the recoded rows themselves."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.fronts.count_cuts import CutCounter
from kpareto.fronts.count_lattice import Wanted
from kpareto.kernels.cuts.runs import roll_up_runs, run_classes, run_room, union_cut
from kpareto.tables.partition import Suppression
from kpareto.tables.recoding import Recoding
from tests.twins.strategies import Case, cases, recodings


def side_by_side(recoding: Recoding) -> np.ndarray:
    """The cuts of all columns, one after the other."""
    return np.concatenate(recoding.cuts)


@settings(max_examples=40)
@given(case=cases(persons=False), data=st.data(), places=st.sampled_from([1, 10**6]))
def test_classes_by_runs_are_the_classes(case: Case, data: st.DataObject, places: int) -> None:
    """Groups addressed by themselves or numbered: the classes of the recoded rows, and the room left empty."""
    table = case.table
    counter = CutCounter(table, Wanted(Suppression("none")))
    room = run_room(counter.leaf_at, counter.rows, places)
    for _ in range(2):
        recoding = data.draw(recodings(table))
        size, _ = run_classes(side_by_side(recoding), counter.leaf_at, counter.rows, room, True)
        recoded = np.stack([cut[table.codes[counter.order, c]] for c, cut in enumerate(recoding.cuts)], axis=1)
        _, twin = np.unique(recoded, axis=0, return_inverse=True)
        firsts, members, counts = room.firsts[:size], room.members, room.counts[:size]
        assert len(set(zip(members.tolist(), twin.ravel().tolist(), strict=True))) == size == twin.max() + 1
        assert members[firsts].tolist() == list(range(size))
        assert counts.tolist() == np.bincount(members, weights=table.weights[counter.order]).tolist()
        for used, empty in ((room.slots, 0), (room.heads, -1), (room.table, -1)):
            assert (used == empty).all()


@settings(max_examples=40)
@given(case=cases(persons=False), data=st.data())
def test_rolled_up_rows_count_alike(case: Case, data: st.DataObject) -> None:
    """After rows were merged by the union of some cuts, each of these has the class sizes it had before."""
    table = case.table
    counter = CutCounter(table, Wanted(Suppression("none")))
    chosen = [side_by_side(data.draw(recodings(table))) for _ in range(data.draw(st.integers(1, 3)))]
    union = np.zeros(int(counter.leaf_at[-1]), dtype=np.int32)
    union_cut(np.stack(chosen), counter.leaf_at, union)
    for c, hierarchy in enumerate(table.hierarchies):
        at = int(counter.leaf_at[c])
        for leaf in range(1, len(hierarchy.leaves)):
            parted = any(cut[at + leaf] != cut[at + leaf - 1] for cut in chosen)
            assert union[at + leaf] == union[at + leaf - 1] + parted
    room = run_room(counter.leaf_at, counter.rows, 10**6)
    fewer = roll_up_runs(union, counter.leaf_at, counter.rows, room)
    assert len(fewer.inner) <= table.distinct
    assert fewer.leads.sum() == table.rows
    for cut in chosen:
        sizes = []
        for rows in (counter.rows, fewer):
            size, _ = run_classes(cut, counter.leaf_at, rows, room, False)
            sizes.append(sorted(room.counts[:size].tolist()))
        assert sizes[0] == sizes[1]
