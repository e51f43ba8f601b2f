"""Rounded numbers, and ranges of the alphabet."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpareto.errors import BadHierarchy
from kpareto.tables.hierarchies import alphabet, load, round_numbers

TOWNS = {"Aachen": 10, "bonn": 30, "Berlin": 20, "Jena": 25, "Kiel": 25, "Trier": 40, "Ulm": 50}


def labels_of(hierarchy: object, leaf: str) -> list[str]:
    """The label of a leaf on every level."""
    place = hierarchy.index[leaf]  # type: ignore[attr-defined]  # a Hierarchy
    groups, labels = hierarchy.groups, hierarchy.labels  # type: ignore[attr-defined]  # as above
    return [labels[level][groups[level][place]] for level in range(len(labels))]


def test_numbers_are_rounded_step_by_step() -> None:
    """Each level is rounded from what the level below shows, halves up, and says that it is rounded."""
    hierarchy = round_numbers("age", ["13", "42", "43", "47", "48"], [5, 10])
    assert labels_of(hierarchy, "43") == ["43", "about 45", "about 50", "*"]
    assert labels_of(hierarchy, "42") == ["42", "about 40", "about 40", "*"]
    assert labels_of(hierarchy, "13") == ["13", "about 15", "about 20", "*"]
    assert load("age", {"round": [5, 10]}, ["13", "43"]).rule == {"round": [5.0, 10.0]}


@given(
    st.lists(st.integers(-500, 500), min_size=2, max_size=40, unique=True),
    st.lists(st.sampled_from([1, 2, 5, 7, 10, 25, 100]), min_size=1, max_size=3, unique=True).map(sorted),
)
def test_rounding_agrees_with_school(values: list[int], steps: list[int]) -> None:
    """The slow twin rounds by hand; whatever the steps, the levels nest."""
    hierarchy = round_numbers("x", [str(value) for value in values], steps)
    for value in values:
        shown, expected = float(value), [str(value)]
        for step in steps:
            shown = math.floor(shown / step + 0.5) * step
            expected.append(f"about {shown:g}".replace("-0", "0") if shown == 0 else f"about {shown:g}")
        got = labels_of(hierarchy, str(value))
        assert got[: len(expected)] == expected or got[: len(expected) - 1] == expected[:-1]  # the top is a star
    for fine, coarse in pairwise(hierarchy.groups.tolist()):
        assert len(set(zip(fine, coarse, strict=True))) == len(set(fine))


def test_letters_fall_into_ranges_with_about_equally_many_rows() -> None:
    """Upper and lower case are one letter; a range is called by its first and last letter that occurs."""
    hierarchy = alphabet("town", TOWNS, [4, 2])
    assert labels_of(hierarchy, "bonn") == ["bonn", "A-B", "A-K", "*"]
    assert labels_of(hierarchy, "Kiel") == ["Kiel", "J-K", "A-K", "*"]
    assert labels_of(hierarchy, "Ulm") == ["Ulm", "U", "T-U", "*"]
    assert hierarchy.data_dependent
    assert load("town", {"alphabet": [4, 2]}, TOWNS).labels == hierarchy.labels


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ({"round": []}, "Give steps above 0"),
        ({"round": [0]}, "Give steps above 0"),
        ({"round": [10, 5]}, "Give the finest step first"),
        ({"alphabet": [8, 3]}, "each a divisor"),
        ({"alphabet": [1]}, "at least 2"),
        ({"alphabet": []}, "at least 2"),
        ({"alphabet": ["a"]}, "takes whole numbers"),
    ],
)
def test_wrong_rules_are_one_sentence(rule: dict[str, object], sentence: str) -> None:
    """What is wrong, what was given, what to do."""
    with pytest.raises(BadHierarchy, match=sentence):
        load("x", rule, ["1", "2", "3"])


def test_rounding_needs_numbers() -> None:
    """A text among them is named."""
    with pytest.raises(BadHierarchy, match="'x' is not one"):
        round_numbers("age", ["1", "x"], [5])
