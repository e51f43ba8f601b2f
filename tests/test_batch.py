"""Compiled counting of many recodings by cuts, against partitions made one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto import batch, kernels
from kpareto.batch import CutCounter, count_cuts, fits_batch
from kpareto.loss import dcn
from kpareto.partition import Rule, Suppression, partition
from kpareto.privacy import k
from kpareto.recoding import Recoding
from kpareto.rollup import Wanted
from tests.strategies import Case, cases, recodings
from tests.test_rollup import LOSSES, drawn_suppression, expected_reals, hist_numbers

RULES_BY_CUTS: list[Rule] = ["none", "below-k", "cap-max-k", "constraint"]


def _side_by_side(recoding: Recoding) -> np.ndarray:
    return np.concatenate(recoding.cuts)


@settings(max_examples=120)
@given(case=cases(), data=st.data())
def test_cuts_equal_partitions(case: Case, data: st.DataObject) -> None:
    """Every recoding, under every rule, with and without persons, has the numbers of its partition."""
    table = case.table
    suppression, limits = drawn_suppression(data, table, RULES_BY_CUTS)
    wanted = Wanted(suppression, LOSSES, hist_numbers(table), limits, sizes=True, risky_below=3)
    assert fits_batch(table, wanted)
    chosen = data.draw(st.lists(recodings(table), min_size=1, max_size=6))
    counted = count_cuts(table, wanted, np.stack([_side_by_side(r) for r in chosen]), threads=1)
    for at, recoding in enumerate(chosen):
        made = partition(table, recoding, suppression)
        ints = counted.ints[at]
        sizes, rows = made.sizes[made.visible], made.rows[made.visible]
        assert ints[kernels.SUPPRESSED] == made.suppressed_rows
        assert ints[kernels.CLASSES] == made.classes
        assert ints[kernels.SQUARES] + table.rows * made.suppressed_rows == dcn()(made)
        assert ints[kernels.UNIQUES] == rows[sizes == 1].sum()
        assert ints[kernels.RISKY] == rows[sizes < 3].sum()
        for b, loss in enumerate(LOSSES):
            assert np.isclose(float(ints[kernels.INTS + b] * loss.scale(table)), loss(made), rtol=1e-9)
        if not made.empty:
            assert ints[kernels.K] == k()(made)
            assert ints[kernels.LARGEST] == sizes.max()
            assert np.allclose(counted.reals[at], expected_reals(made), rtol=1e-9, atol=1e-12)


@settings(max_examples=30)
@given(case=cases(most_columns=3), data=st.data(), run_cost=st.sampled_from([-(10**6), 0, 10**6]))
def test_parts_and_threads_and_company_change_nothing(case: Case, data: st.DataObject, run_cost: int) -> None:
    """Columns in one part or the other, one thread or two, rows rolled up for many or not: the same numbers."""
    suppression, limits = drawn_suppression(data, case.table, RULES_BY_CUTS)
    few = data.draw(st.booleans())  # the target alone has room for the rows beside it
    numbers = hist_numbers(case.table)[-1:] if few and suppression.rule != "constraint" else hist_numbers(case.table)
    wanted = Wanted(suppression, LOSSES, numbers, limits, sizes=True, risky_below=3)
    cuts = np.stack([_side_by_side(data.draw(recodings(case.table))) for _ in range(3)])
    first = CutCounter(case.table, wanted).count(cuts, threads=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "RUN_COST", run_cost)
        many = CutCounter(case.table, wanted).count(np.concatenate([cuts] * 20), threads=2)
    assert np.concatenate([first.ints] * 20).tobytes() == many.ints.tobytes()
    assert np.concatenate([first.reals] * 20).tobytes() == many.reals.tobytes()


@settings(max_examples=40)
@given(case=cases(persons=False), data=st.data(), places=st.sampled_from([1, 10**6]))
def test_classes_by_runs_are_the_classes(case: Case, data: st.DataObject, places: int) -> None:
    """Groups addressed by themselves or numbered: the classes of the recoded rows, and the room left empty."""
    table = case.table
    counter = CutCounter(table, Wanted(Suppression("none")))
    columns, view, _ = counter.rows_in_runs
    room = kernels.run_room(counter.leaf_at, columns, view, places)
    for _ in range(2):
        recoding = data.draw(recodings(table))
        size, _ = kernels.run_classes(_side_by_side(recoding), counter.leaf_at, columns, view, room, True)
        recoded = np.stack([cut[table.codes[counter.order, c]] for c, cut in enumerate(recoding.cuts)], axis=1)
        _, twin = np.unique(recoded, axis=0, return_inverse=True)
        firsts, members, counts = room[3][:size], room[4], room[7][:size]
        assert len(set(zip(members.tolist(), twin.ravel().tolist(), strict=True))) == size == twin.max() + 1
        assert members[firsts].tolist() == list(range(size))
        assert counts.tolist() == np.bincount(members, weights=table.weights[counter.order]).tolist()
        for used, empty in zip(room[:3], (0, -1, -1), strict=True):
            assert (used == empty).all()


@given(
    keys=st.lists(st.integers(0, 2**60), min_size=1, max_size=40),
    small=st.booleans(),
)
def test_dense_ids_number_keys_in_order_of_appearance(keys: list[int], small: bool) -> None:
    """Direct and hashed tables number distinct keys alike, and leave the table empty."""
    given_keys = np.array([key % 50 if small else key for key in keys], dtype=np.int64)
    table = np.full(128, -1, dtype=np.int32)
    firsts, ids = np.zeros(len(keys), dtype=np.int64), np.zeros(len(keys), dtype=np.int32)
    radix = 50 if small else 2**61
    found = kernels.dense_ids(given_keys, len(keys), radix, table, firsts, ids)
    numbers: dict[int, int] = {}
    wanted = [numbers.setdefault(int(key), len(numbers)) for key in given_keys]
    assert (found, ids.tolist()) == (len(numbers), wanted)
    assert (table == -1).all()
