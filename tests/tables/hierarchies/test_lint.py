"""Lint: each oddity of a hierarchy is found, told in a sentence with what to do, and sound ones pass."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpareto.tables.adult import adult_table
from kpareto.tables.hierarchies import Values, from_rows, intervals, load, tree
from kpareto.tables.hierarchies.lint import Finding, lint
from kpareto.tables.hierarchy import Hierarchy
from tests.twins.strategies import hierarchies

SOUND = [["a", "A", "*"], ["b", "A", "*"], ["c", "C", "*"], ["d", "C", "*"]]


def told(findings: list[Finding], kind: str) -> list[tuple[int | None, str]]:
    """Level and sentence of the findings of one kind."""
    return [(finding.level, finding.text) for finding in findings if finding.kind == kind]


def test_sound_hierarchies_pass() -> None:
    """Nothing is said about a balanced hierarchy whose values all occur."""
    assert lint(from_rows("x", SOUND), ["a", "b", "c", "d"]) == []
    assert lint(SOUND) == []


@pytest.mark.parametrize(
    ("rows", "values", "kind", "level", "sentence"),
    [
        (
            [[row[0], row[0], *row[1:]] for row in SOUND],
            None,
            "useless-level",
            1,
            (
                "Level 1 of 'x' merges nothing: its groups are those of level 0. Remove it; every search then has fewer "
                "nodes to look at."
            ),
        ),
        (
            SOUND,
            {"a": 3, "c": 2, "d": 1},
            "phantom-leaves",
            0,
            (
                "1 of 4 values of the hierarchy of 'x' occur in no row: 'b'. Remove them, or keep domain = 'observed', so "
                "that they do not make losses look smaller."
            ),
        ),
        (
            SOUND,
            ["a", "c"],
            "idle-level",
            1,
            (
                "Level 1 of 'x' merges only values that occur in no row: the rows show 2 groups on levels 0 and 1. Remove "
                "it for this table."
            ),
        ),
        (
            SOUND,
            ["a", "b", "c", "d", "e"],
            "lost-values",
            None,
            "The hierarchy of 'x' has no place for 1 of the values: 'e'. Add them.",
        ),
        (
            [*SOUND[:3], ["d", "D", "*"]],
            None,
            "single-child",
            1,
            (
                "Groups of 'x' that hold only one group of the level below: 'C' on level 1, 'D' on level 1. Join each "
                "with a neighbour, or accept that this step does not protect them further."
            ),
        ),
        (
            [*SOUND, ["e", "E", "*"], ["f", "E", "*"]],
            {"a": 50, "b": 45, "c": 1, "d": 1, "e": 1, "f": 1},
            "unbalanced-level",
            1,
            (
                "On level 1 of 'x' the group 'A' has 96% of the rows, the other 2 groups have the rest. Split the large "
                "group or join the small ones."
            ),
        ),
        (
            [["a", "G", "g", "*"], ["b", "G", "g", "*"], ["c", "H", "G", "*"], ["d", "H", "G", "*"]],
            None,
            "label-twice",
            2,
            (
                "The label 'G' of 'x' stands for different groups on levels 1 and 2: one with 'a' to 'b', one with 'c' to "
                "'d'. Rename one, so that readers of a release can tell them apart."
            ),
        ),
        (
            [row[:2] for row in SOUND],
            None,
            "no-top",
            None,
            (
                "The last level of 'x' has 2 groups (A, C): the top is not reached. Add a last level with one group, such "
                "as '*'."
            ),
        ),
    ],
)
def test_each_oddity_is_found(
    rows: list[list[str]], values: Values | None, kind: str, level: int | None, sentence: str
) -> None:
    """Each oddity has its kind, its level and a sentence that says what to do."""
    found = lint(rows, values, "x")
    assert told(found, kind) == [(level, sentence)]


def test_one_name_for_two_groups_of_a_level_is_found() -> None:
    """In a tree two groups of one level may have the same name; readers could not tell them apart."""
    branch = {"label": "other", "children": [{"label": "a"}, {"label": "b"}]}
    second = {"label": "other", "children": [{"label": "c"}, {"label": "d"}]}
    ((level, text),) = told(lint(tree("x", {"label": "*", "children": [branch, second]})), "label-twice")
    assert level == 1
    assert "stands for different groups twice on level 1" in text


def test_without_counts_values_are_weighed_equally() -> None:
    """Balance is a matter of values where no rows are known."""
    values = [str(number) for number in range(100)]
    assert told(lint(load("x", {"bounds": [[1, 2]]}, values)), "unbalanced-level")
    assert not told(lint(intervals("x", values, [10])), "unbalanced-level")


def test_numbers_are_found_however_they_are_written() -> None:
    """39.0 is the leaf 39, so it is neither lost nor a phantom."""
    assert lint(intervals("x", ["38", "39"], [5]), ["38.0", "39"]) == lint(intervals("x", ["38", "39"], [5]))


def test_adult_has_known_oddities() -> None:
    """The default ages list two that nobody has, and most people come from one country."""
    table = adult_table()
    found = {
        h.name: {finding.kind for finding in lint(h, dict(zip(h.leaves, rows.tolist(), strict=True)))}
        for h, rows in zip(table.hierarchies, table.leaf_rows, strict=True)
    }
    assert found["age"] == {"single-child", "phantom-leaves"}
    assert found["native-country"] == {"single-child", "unbalanced-level"}
    assert found["sex"] == set()


@given(hierarchy=hierarchies(), data=st.data())
def test_lint_is_right_about_levels(hierarchy: Hierarchy, data: st.DataObject) -> None:
    """A level is called useless or idle exactly when it shows as many groups as the one below."""
    values = data.draw(st.lists(st.sampled_from(hierarchy.leaves), min_size=1, unique=True))
    found = lint(hierarchy, values)
    place = [hierarchy.index[value] for value in values]
    for level in range(1, hierarchy.height + 1):
        kinds = {finding.kind for finding in found if finding.level == level}
        useless = len(hierarchy.labels[level]) == len(hierarchy.labels[level - 1])
        idle = len(set(hierarchy.groups[level, place])) == len(set(hierarchy.groups[level - 1, place]))
        assert ("useless-level" in kinds) == useless
        assert ("idle-level" in kinds) == (idle and not useless)
    phantoms = told(found, "phantom-leaves")
    assert bool(phantoms) == (len(values) < len(hierarchy.leaves))
