"""Partial nodes refined by one column, against sorted tuples."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kpareto.kernels.lattice.branching import Pairs, find_dominating, grow_rows, merged_sizes, refined_ids, sort_pairs

rows_drawn = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(1, 5)), min_size=1, max_size=20)


@given(rows=rows_drawn, borders=st.lists(st.integers(0, 1), min_size=3, max_size=3))
def test_one_more_column_refines_the_classes(rows: list[tuple[int, int, int]], borders: list[int]) -> None:
    """Pairs of class and leaf hold their rows; grouped by a cut they are the refined classes, with sizes and members."""
    count = len(rows)
    seen = sorted({owner for owner, _, _ in rows})
    ids = np.array([seen.index(owner) for owner, _, _ in rows], dtype=np.int32)
    codes = np.array([leaf for _, leaf, _ in rows], dtype=np.int32)
    weights = np.array([weight for _, _, weight in rows], dtype=np.int64)
    cut = np.cumsum([0, *borders]).astype(np.int32)
    order = np.argsort(codes, kind="stable").astype(np.int32)
    ranked, place = np.zeros(count, dtype=np.int32), np.zeros(count + 1, dtype=np.int64)
    pairs = Pairs(np.zeros(count, dtype=np.int32), np.zeros(count, dtype=np.int32), np.zeros(count, dtype=np.int64))
    size = sort_pairs(ids, len(seen), order, codes, weights, place, ranked, pairs)
    slow: dict[tuple[int, int], int] = {}
    refined: dict[tuple[int, int], int] = {}
    for owner, leaf, weight in zip(ids.tolist(), codes.tolist(), weights.tolist(), strict=True):
        slow[owner, leaf] = slow.get((owner, leaf), 0) + weight
        refined[owner, int(cut[leaf])] = refined.get((owner, int(cut[leaf])), 0) + weight
    told = zip(*(array[:size].tolist() for array in pairs), strict=True)
    assert list(told) == [(*pair, slow[pair]) for pair in sorted(slow)]
    counts, out = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int32)
    assert merged_sizes(pairs, size, cut, counts) == refined_ids(ids, codes, ranked, cut, out) == len(refined)
    assert counts[: len(refined)].tolist() == [refined[key] for key in sorted(refined)]
    numbers = {key: number for number, key in enumerate(sorted(refined))}
    assert out.tolist() == [numbers[int(i), int(cut[leaf])] for i, leaf in zip(ids, codes, strict=True)]


@given(
    front=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=6),
    bound=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    data=st.data(),
)
def test_a_bound_is_beaten_by_a_dominating_point(
    front: list[tuple[int, int]], bound: tuple[int, int], data: st.DataObject
) -> None:
    """Wherever the search starts, it ends at a point that is nowhere worse and somewhere better, if there is one."""
    last = data.draw(st.integers(0, len(front) - 1))
    beats = [all(a <= b for a, b in zip(point, bound, strict=True)) and point != bound for point in front]
    place = find_dominating(np.array(bound), np.array(front), last)
    assert beats[place] if any(beats) else place == -1


def test_rows_move_into_a_larger_array() -> None:
    """The rows used so far are the first of the larger array."""
    rows = np.arange(12).reshape(4, 3)
    larger = grow_rows(rows, 3)
    assert larger.shape == (64, 3)
    assert larger[:3].tolist() == rows[:3].tolist()
    assert not larger[3:].any()
