"""Compiled counting of many recodings by cuts, against partitions made one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.fronts import count_cuts as batch
from kpareto.fronts.count_cuts import CutCounter, count_cuts
from kpareto.fronts.count_lattice import Wanted, fits_batch
from kpareto.kernels.words import CLASSES, INTS, LARGEST, RISKY, SQUARES, SUPPRESSED, UNIQUES, K
from kpareto.measures.cells import dcn
from kpareto.measures.sizes import k
from kpareto.tables.partition import Rule, partitions
from kpareto.tables.recoding import Recoding
from tests.fronts.test_count_lattice import LOSSES, drawn_suppression, expected_reals, hist_numbers
from tests.twins.strategies import Case, cases, recodings

RULES_BY_CUTS: list[Rule] = ["none", "below-k", "cap-max-k", "as-needed"]


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
    made_of_all = [
        (at, made) for at, recoding in enumerate(chosen) for made in partitions(table, recoding, suppression)
    ]
    assert counted.nodes.tolist() == [at for at, _ in made_of_all]
    for at, (_, made) in enumerate(made_of_all):
        ints = counted.ints[at]
        sizes, rows = made.sizes[made.visible], made.rows[made.visible]
        assert ints[SUPPRESSED] == made.suppressed_rows
        assert ints[CLASSES] == made.classes
        assert ints[SQUARES] + table.rows * made.suppressed_rows == dcn()(made)
        assert ints[UNIQUES] == rows[sizes == 1].sum()
        assert ints[RISKY] == rows[sizes < 3].sum()
        for b, loss in enumerate(LOSSES):
            assert np.isclose(float(ints[INTS + b] * loss.scale(table)), loss(made), rtol=1e-9)
        if not made.empty:
            assert ints[K] == k()(made)
            assert ints[LARGEST] == sizes.max()
            assert np.allclose(counted.reals[at], expected_reals(made), rtol=1e-9, atol=1e-12)


@settings(max_examples=30)
@given(case=cases(most_columns=3), data=st.data(), run_cost=st.sampled_from([-(10**6), 0, 10**6]))
def test_parts_and_threads_and_company_change_nothing(case: Case, data: st.DataObject, run_cost: int) -> None:
    """Columns in one part or the other, one thread or two, rows rolled up for many or not: the same numbers."""
    suppression, limits = drawn_suppression(data, case.table, RULES_BY_CUTS)
    few = data.draw(st.booleans())  # the target alone has room for the rows beside it
    numbers = hist_numbers(case.table)[-1:] if few and suppression.rule != "as-needed" else hist_numbers(case.table)
    wanted = Wanted(suppression, LOSSES, numbers, limits, sizes=True, risky_below=3)
    cuts = np.stack([_side_by_side(data.draw(recodings(case.table))) for _ in range(3)])
    first = CutCounter(case.table, wanted).count(cuts, threads=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "RUN_COST", run_cost)
        many = CutCounter(case.table, wanted).count(np.concatenate([cuts] * 20), threads=2)
    assert np.concatenate([first.ints] * 20).tobytes() == many.ints.tobytes()
    assert np.concatenate([first.reals] * 20).tobytes() == many.reals.tobytes()
