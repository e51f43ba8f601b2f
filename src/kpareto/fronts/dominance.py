"""Dominance, decided on whole-number keys: no rounding can add a point to a front or drop one."""

from __future__ import annotations

from typing import Literal

import numpy as np

from kpareto.kernels.dominance import pareto

Ties = Literal["all", "one"]


def non_dominated(keys: np.ndarray, ties: Ties = "all") -> np.ndarray:
    """The rows of keys (n, objectives) int64, lower being better, that no other row dominates: places, rising.

    ``ties="all"`` keeps every row of a vector that occurs several times, ``"one"`` the first.
    """
    if len(keys) == 0:
        return np.zeros(0, dtype=np.int64)
    order = np.lexsort(keys.T[::-1])  # by the first column, then the second …; stable, so first places come first
    ranked = keys[order]
    fresh = np.concatenate(([True], (ranked[1:] != ranked[:-1]).any(axis=1)))
    vectors = ranked[fresh]
    kept = _staircase(vectors) if keys.shape[1] <= 2 else pareto(np.ascontiguousarray(vectors))
    if ties == "one":
        return np.sort(order[fresh][kept])
    return np.sort(order[kept[np.cumsum(fresh) - 1]])


def _staircase(vectors: np.ndarray) -> np.ndarray:
    """Non-dominated rows of distinct vectors in lexicographic order, for one or two objectives."""
    if vectors.shape[1] == 1:
        return np.arange(len(vectors)) == 0
    least = np.minimum.accumulate(vectors[:, 1])
    return np.concatenate(([True], vectors[1:, 1] < least[:-1]))


def hypervolume(costs: np.ndarray, reference: np.ndarray) -> float:
    """The volume dominated by costs (points, objectives), lower being better, up to the reference point.

    Exact, by slicing along the last objective; meant for fronts of up to a few thousand points and few objectives.
    """
    inside = costs[(costs < reference).all(axis=1)]
    if len(inside) == 0:
        return 0.0
    if inside.shape[1] == 1:
        return float(reference[0] - inside.min())
    if inside.shape[1] == 2:
        ranked = inside[np.lexsort((inside[:, 1], inside[:, 0]))]
        heights = np.minimum.accumulate(ranked[:, 1])
        widths = np.diff(np.append(ranked[:, 0], reference[0]))
        return float((widths * (reference[1] - heights)).sum())
    ranked = inside[np.argsort(inside[:, -1], kind="stable")]
    steps = np.diff(np.append(ranked[:, -1], reference[-1]))
    return float(
        sum(step * hypervolume(ranked[: i + 1, :-1], reference[:-1]) for i, step in enumerate(steps.tolist()) if step)
    )
