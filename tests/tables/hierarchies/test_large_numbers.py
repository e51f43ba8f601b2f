"""Whole numbers that a float cannot tell from their neighbours."""

from __future__ import annotations

import pytest

from kpareto.errors import BadHierarchy
from kpareto.tables.hierarchies import intervals, quantiles


@pytest.mark.parametrize(
    "build", [lambda values: intervals("id", values, [5]), lambda values: quantiles("id", values, 2)]
)
def test_codes_of_many_digits_get_no_intervals(build: object) -> None:
    """An interval that does not hold its values is worse than none."""
    assert callable(build)
    with pytest.raises(BadHierarchy, match="need numbers below 9,007,199,254,740,992, and 3 of its values are not"):
        build(["9007199254740992", "9007199254740993", "9007199254740994"])
    assert build(["9007199254740990", "9007199254740991", "1e300"]).leaves[-1] == "1e300"


@pytest.mark.parametrize("value", [2**31 + 20, 2**40 + 1, 2**53 - 3])
@pytest.mark.parametrize("width", [2, 5, 1000])
def test_intervals_hold_their_values(value: int, width: int) -> None:
    """Large whole numbers are not rounded into the next interval."""
    made = intervals("n", [str(value + step) for step in range(3)], [width], 1)
    for leaf, group in zip(made.leaves, made.groups[1], strict=True):
        low, _, high = made.labels[1][group].partition("-")
        if low != "*":
            assert int(low) <= int(leaf) <= int(high or low)


def test_intervals_of_fractions_hold_their_values() -> None:
    """A number just below a border stays below it, also far from the origin; 0.3 is on the border of tenths."""
    made = intervals("n", ["3000000000.05", "3000000000.25", "3000000000.75"], [0.5])
    assert made.groups[1].tolist() == [0, 0, 1]
    assert intervals("n", ["0.1", "0.2", "0.3", "0.35"], [0.1]).groups[1].tolist() == [0, 1, 2, 2]
