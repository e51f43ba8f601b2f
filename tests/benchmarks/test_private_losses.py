"""The walk that a private choice is compared with: its distribution, and what it loses at the same epsilon."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from benchmarks.private_losses import compare, release_loss, walk_nodes
from kpareto.errors import BadInput
from kpareto.releases.private.private_release import make_plan, show
from kpareto.tables.hierarchy import from_levels
from kpareto.tables.lattice import Lattice
from kpareto.tables.recoding import node
from tests.releases.private.test_private_choice import LEAST, RUNS, alike, chances, plain
from tests.releases.private.test_release import TREES, table_with


def walk_chances(lattice: Lattice, scores: Sequence[int], scale: float, steps: int) -> dict[int, float]:
    """The distribution of the walk, by following every way it can take."""
    result: dict[int, float] = {}

    def below(node: int) -> list[int]:
        levels = lattice.levels(np.array([node]))[0]
        return [node - stride for stride, level in zip(lattice.strides, levels, strict=True) if level]

    def go(taken: list[int], waiting: list[int], left: int, chance: float) -> None:
        fresh = [node for node in below(taken[-1]) if node not in taken and node not in waiting]
        candidates = [*waiting, *fresh]
        if left == 0 or not candidates:
            for node, last in zip(taken, chances([scores[node] for node in taken], scale), strict=True):
                result[node] = result.get(node, 0.0) + chance * last
            return
        for node, next_chance in zip(candidates, chances([scores[n] for n in candidates], scale), strict=True):
            go([*taken, node], [other for other in candidates if other != node], left - 1, chance * next_chance)

    go([lattice.size - 1], [], steps, 1.0)
    return result


def test_the_walk_has_the_distribution_it_should() -> None:
    """Choices of the walk on a lattice of six nodes follow the product of its steps' distributions."""
    trees = (
        from_levels("a", [("x", "xy", "*"), ("y", "xy", "*"), ("z", "z", "*")]),
        from_levels("b", [("u", "*"), ("v", "*")]),
    )
    lattice, scores, steps = Lattice(trees), [9, 7, 8, 3, 5, 0], 3
    seen = Counter(walk_nodes(lattice, np.array(scores), Fraction(4), plain(2, True), steps) for _ in range(RUNS // 6))
    exact = walk_chances(lattice, scores, scale=2.0, steps=steps)  # epsilon 4 in four parts
    assert sum(exact.values()) == pytest.approx(1)
    assert alike(seen, [exact.get(node, 0.0) for node in range(lattice.size)]) > LEAST


def test_a_walk_of_no_steps_is_a_sentence() -> None:
    """Fewer than no steps are refused."""
    with pytest.raises(BadInput, match="The walk has -1 steps"):
        walk_nodes(Lattice(()), np.zeros(1), Fraction(1), plain(1, True), -1)


def test_the_whole_lattice_loses_less_than_a_walk_at_the_same_epsilon() -> None:
    """On a table with one clear best node the whole lattice finds it and a walk of many steps does not."""
    table = table_with((400, 400, 400, 400))
    plan = make_plan("0.3", "1e-4")
    result = compare(table, plan, runs=45, steps=40)
    assert result.medians[0] == pytest.approx(result.best, abs=0.3)  # the best is one draw, with a deviation of 0.045
    assert np.mean(result.stepwise) > np.mean(result.whole) + 0.1
    nothing = show(table_with((1, 1, 1, 1)), node(TREES, [0, 0]), plan, "granularity")
    assert release_loss(nothing, 4) == 1
    with pytest.raises(BadInput, match="The comparison has 0 runs"):
        compare(table, plan, runs=0)
