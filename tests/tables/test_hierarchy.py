"""Hierarchy: levels are nested cuts, the tree holds their groups, and bad ones are refused with a sentence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpareto.errors import BadHierarchy
from kpareto.tables.hierarchy import (
    Hierarchy,
    bits_cut,
    cut_bits,
    flat,
    from_levels,
    levels_tree,
    make_tree,
    runs_of,
    tree_levels,
)
from tests.twins.strategies import hierarchies


@st.composite
def lines(draw: st.DrawFn, most_leaves: int = 12) -> list[list[str]]:
    """Lines of labels of a nested hierarchy, in tree order: leaf, level 1, …, top."""
    count = draw(st.integers(1, most_leaves))
    bits = np.ones(count - 1, dtype=np.int64)
    columns = [[f"v{position}" for position in range(count)]]
    for level in range(1, draw(st.integers(1, 4)) + 1):
        kept = draw(st.lists(st.booleans(), min_size=count - 1, max_size=count - 1))
        bits = bits * np.array(kept, dtype=np.int64)
        columns.append([f"L{level}g{group}" for group in bits_cut(bits).tolist()])
    columns.append(["*"] * count)
    return [list(row) for row in zip(*columns, strict=True)]


def check_hierarchy(hierarchy: Hierarchy) -> None:
    """Every level is a cut that covers each leaf once, levels are nested, and the tree has just their groups."""
    count = len(hierarchy.leaves)
    wider: list[set[int]] | None = None
    runs = set()
    for level in range(hierarchy.height, -1, -1):
        groups = [set(range(first, last + 1)) for first, last in runs_of(hierarchy.groups[level])]
        runs |= set(runs_of(hierarchy.groups[level]))
        assert sorted(leaf for group in groups for leaf in group) == list(range(count))
        assert len(groups) == len(hierarchy.labels[level])
        assert wider is None or all(any(group <= whole for whole in wider) for group in groups)
        wider = groups
    assert wider == [{leaf} for leaf in range(count)]
    assert not hierarchy.groups[-1].any()
    tree = hierarchy.tree
    assert set(tree.runs) == runs
    assert len(tree.labels) == len(runs)
    for node, parent in enumerate(tree.parent.tolist()):
        if parent < 0:
            assert node == 0
            continue
        around = [
            (last - first, (first, last))
            for first, last in runs
            if first <= tree.first[node] and tree.last[node] <= last
        ]
        smallest_but_itself = sorted(around)[1][1]
        assert (int(tree.first[parent]), int(tree.last[parent])) == smallest_but_itself


@given(rows=lines(), random=st.randoms(use_true_random=False))
def test_shuffled_lines_give_nested_levels(rows: list[list[str]], random: object) -> None:
    """Whatever the order of the lines, the levels are nested cuts and each leaf keeps its labels."""
    random.shuffle(rows)  # type: ignore[attr-defined]
    hierarchy = from_levels("x", rows)
    check_hierarchy(hierarchy)
    assert sorted(hierarchy.leaves) == sorted(row[0] for row in rows)
    assert all(len(set(labels)) == len(labels) for labels in hierarchy.labels)
    order = hierarchy.layout.order or range(len(rows))
    for row, leaf in zip(rows, order, strict=True):
        shown = [hierarchy.labels[level][hierarchy.groups[level, leaf]] for level in range(hierarchy.height + 1)]
        assert shown == row


@given(rows=lines())
def test_lines_in_tree_order_stay_in_order(rows: list[list[str]]) -> None:
    """Lines whose groups stand together are not moved."""
    hierarchy = from_levels("x", rows)
    assert list(hierarchy.leaves) == [row[0] for row in rows]
    assert hierarchy.layout.order is None


@given(hierarchy=hierarchies(most_leaves=9))
def test_levels_of_a_tree_are_nested_cuts(hierarchy: Hierarchy) -> None:
    """The levels by height of any tree form a hierarchy with the same tree, none of them useless."""
    tree = hierarchy.tree
    groups, labels = tree_levels(tree, len(hierarchy.leaves))
    made = Hierarchy("x", hierarchy.leaves, groups, labels, tree)
    if len(hierarchy.leaves) > 1:
        check_hierarchy(made)
    again = levels_tree(groups, labels)
    assert (again.first.tolist(), again.last.tolist()) == (tree.first.tolist(), tree.last.tolist())
    assert (again.parent.tolist(), again.labels) == (tree.parent.tolist(), tree.labels)
    assert all((groups[level] != groups[level - 1]).any() for level in range(1, len(groups)))


def slow_levels_tree(groups: np.ndarray, labels: tuple[tuple[str, ...], ...]) -> list[tuple[int, int, str]]:
    """The slow twin of levels_tree: the distinct runs with the label of the lowest level, in preorder."""
    found: dict[tuple[int, int], str] = {}
    for level, cut in enumerate(groups):
        for group, run in enumerate(runs_of(cut)):
            found.setdefault(run, labels[level][group])
    return sorted(((first, last, label) for (first, last), label in found.items()), key=lambda n: (n[0], -n[1]))


@given(hierarchy=hierarchies(most_leaves=9))
def test_the_quick_tree_is_the_slow_one(hierarchy: Hierarchy) -> None:
    """Trees made level by level equal those made run by run."""
    quick = levels_tree(hierarchy.groups, hierarchy.labels)
    slow = slow_levels_tree(hierarchy.groups, hierarchy.labels)
    assert list(zip(quick.first.tolist(), quick.last.tolist(), quick.labels, strict=True)) == slow
    assert make_tree(slow).parent.tolist() == quick.parent.tolist()


@given(hierarchy=hierarchies(most_leaves=7))
def test_cuts_of_a_tree_are_counted(hierarchy: Hierarchy) -> None:
    """The number of cuts by the product rule is the number of bit strings whose groups are tree nodes."""
    count = len(hierarchy.leaves) - 1
    valid = 0
    for number in range(2**count):
        bits = np.array([number >> position & 1 for position in range(count)], dtype=np.uint8)
        cut = bits_cut(bits)
        assert (cut_bits(cut) == bits).all()
        valid += hierarchy.is_tree_cut(cut)
    assert hierarchy.tree.cuts() == valid


def test_uneven_trees_stand_still() -> None:
    """On each level a short branch shows its highest ancestor that is not higher than the level."""
    tree = make_tree([(0, 3, "*"), (0, 2, "ABC"), (0, 1, "AB"), *((i, i, name) for i, name in enumerate("abcd"))])
    _, labels = tree_levels(tree, 4)
    assert labels == (("a", "b", "c", "d"), ("AB", "c", "d"), ("ABC", "d"), ("*",))


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([], "The hierarchy of 'x' is empty. Give one line per value."),
        ([["a", "*"], ["b", "B", "*"]], r"Line 2 of the hierarchy of 'x' has 3 entries where the first line has 2"),
        ([["a", "*"], ["b", "*"], ["a", "*"]], r"lists the value 'a' twice \(lines 1 and 3\). Keep one line"),
        ([["a", "A"], ["b", "B"]], r"The last level of the hierarchy of 'x' has 2 groups \(A, B\). Add a last level"),
        (
            [["a", "G", "P", "*"], ["b", "H", "P", "*"], ["c", "G", "Q", "*"]],
            r"not nested: 'a' and 'c' are both 'G' at level 1, but 'P' and 'Q' at level 2 \(lines 1 and 3\)",
        ),
    ],
)
def test_bad_lines_are_named(rows: list[list[str]], sentence: str) -> None:
    """Empty, ragged, repeated, topless and crossing lines each get their own sentence."""
    with pytest.raises(BadHierarchy, match=sentence):
        from_levels("x", rows)


def make(leaves: str, *cuts: list[int], loss: str = "leaves") -> Hierarchy:
    """A hierarchy straight from cuts, for checks that no builder lets through."""
    groups = np.array(cuts, dtype=np.int32)
    labels = tuple(tuple(str(group) for group in range(int(cut.max()) + 1)) for cut in groups)
    tree = make_tree([(0, len(leaves) - 1, "*")])
    return Hierarchy("x", tuple(leaves), groups, labels, tree, loss=loss)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("leaves", "cuts", "loss", "sentence"),
    [
        ("aba", [[0, 1, 2], [0, 0, 0]], "leaves", "lists the value 'a' twice"),
        ("abc", [[0, 1, 2], [0, 1, 0], [0, 0, 0]], "leaves", "groups that are not runs of neighbouring values"),
        ("abc", [[0, 0, 1], [0, 0, 0]], "leaves", "Level 0 of the hierarchy of 'x' must keep every value apart"),
        ("abc", [[0, 1, 2], [0, 0, 1]], "leaves", r"has 2 groups \(a, b, c …\). Add a last level with one group"),
        (
            "abcd",
            [[0, 1, 2, 3], [0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 0, 0]],
            "leaves",
            "'a' and 'b' are together at level 1 and apart at level 2",
        ),
        ("abc", [[0, 1], [0, 0]], "leaves", "has levels of different lengths"),
        ("abc", [[0, 1, 2], [0, 0, 0]], "distance", "counts loss by distance but has no numbers"),
    ],
)
def test_bad_levels_are_refused(leaves: str, cuts: list[list[int]], loss: str, sentence: str) -> None:
    """The object itself checks what builders should have made sure of."""
    with pytest.raises(BadHierarchy, match=sentence):
        make(leaves, *cuts, loss=loss)


def test_no_leaves_are_refused() -> None:
    """A hierarchy has at least one value."""
    with pytest.raises(BadHierarchy, match="has no values"):
        Hierarchy("x", (), np.zeros((1, 0), dtype=np.int32), ((),), make_tree([]))


def test_flat_has_two_levels() -> None:
    """The least hierarchy keeps the leaves or joins them all, also when there is one leaf."""
    check_hierarchy(flat("x", ["b", "a"]))
    assert flat("x", ["b", "a"]).labels == (("b", "a"), ("*",))
    assert flat("x", ["b"]).height == 1


def test_many_leaves_take_no_square_time() -> None:
    """Lines of a hundred thousand leaves become a hierarchy in time that grows with their number, not its square."""
    count = 100_000
    hierarchy = from_levels("x", [(str(i), str(i // 10), str(i // 1000), "*") for i in range(count - 1, -1, -1)])
    assert [len(labels) for labels in hierarchy.labels] == [count, count // 10, count // 1000, 1]
    assert len(hierarchy.tree.labels) == count + count // 10 + count // 1000 + 1
