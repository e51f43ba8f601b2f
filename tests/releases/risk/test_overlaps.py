"""Overlapping labels of local recodings are counted as a look at every pair of classes counts them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.errors import BadInput
from kpareto.fronts.problem import problem
from kpareto.releases.risk.attacks import attack, count_overlapping
from kpareto.releases.risk.composition import composition
from kpareto.releases.warnings import Context, remarks
from kpareto.searches.local.problem import LocalWish
from kpareto.searches.local.search import Effort, search
from kpareto.searches.local.strict import strict
from kpareto.searches.run import Plan, run_plan
from kpareto.tables.adult import adult_table
from kpareto.tables.partition import Partition
from kpareto.tables.table import sample_rows
from tests.twins.releases import chosen, chosen_locally, uneven_people
from tests.twins.strategies import Case, cases


@given(seed=st.integers(0, 10_000), classes=st.integers(1, 70), columns=st.integers(1, 4))
@settings(max_examples=100, deadline=None)
def test_overlaps_as_by_every_pair(seed: int, classes: int, columns: int) -> None:
    """Random boxes with random rows in them, some suppressed: all six numbers as a slow look at sets gives them."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 6, (classes, columns))
    last = first + rng.integers(0, 4, (classes, columns))
    owner = np.concatenate((np.arange(classes), rng.integers(0, classes, classes), [-1, -1]))
    codes = np.where(owner[:, None] >= 0, rng.integers(first[owner], last[owner] + 1), 0)
    weights = rng.integers(1, 4, len(owner))
    counted = count_overlapping(codes, weights, owner, first, last)

    def within(a: int, b: int) -> bool:
        return bool((first[a] <= first[b]).all() and (last[b] <= last[a]).all())

    def meeting(a: int, b: int) -> bool:
        return bool((first[a] <= last[b]).all() and (first[b] <= last[a]).all())

    others = {a: [b for b in range(classes) if b != a] for a in range(classes)}
    several, holding, narrowed = 0, 0, 0
    for code, weight, own in zip(codes, weights.tolist(), owner.tolist(), strict=True):
        if own < 0:
            continue
        fitting = [b for b in range(classes) if (first[b] <= code).all() and (code <= last[b]).all()]
        several += weight * (len(fitting) > 1)
        if any(within(own, b) for b in others[own]):
            holding += weight
            narrowed += weight * (not any(b != own and within(own, b) for b in fitting))
    assert counted.classes == classes
    assert counted.overlapping_classes == sum(any(meeting(a, b) for b in others[a]) for a in others)
    assert counted.all_rows == weights[owner >= 0].sum()
    assert (counted.several_rows, counted.holding_rows, counted.narrowed_rows) == (several, holding, narrowed)
    assert counted.found == (holding > 0)


@given(case=cases(persons=False, most_rows=30), k=st.integers(2, 3), intervals=st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_strict_recoding_overlaps_nowhere(case: Case, k: int, intervals: bool) -> None:
    """The tree of questions leaves no two labels with a cell in common; the search may, and says so."""
    if k > case.table.rows:
        return
    wish = LocalWish(k, intervals=intervals)
    for recoding, apart in (
        (strict(case.table, wish, trees=2).recoding, True),
        (search(case.table, wish, Effort(turns=2)), False),
    ):
        codes = case.table.codes[recoding.item_row]
        counted = count_overlapping(codes, recoding.item_rows, recoding.item_class, recoding.first, recoding.last)
        assert counted.disjoint or not apart
        assert ("nothing to combine" in counted.meaning) == counted.disjoint
        assert counted.several_rows >= 0
        assert counted.all_rows == case.table.rows


def test_labels_need_the_columns_of_the_rows() -> None:
    """Boxes of two columns over rows of one are refused with a sentence."""
    ones = np.ones(1, dtype=np.int64)
    with pytest.raises(BadInput, match="same columns"):
        count_overlapping(np.zeros((1, 1)), ones, 0 * ones, np.zeros((1, 2)), np.zeros((1, 2)))


def local_point(k: int = 3) -> Partition:
    """A local recoding of a small part of Adult, as its front has it."""
    table = sample_rows(adult_table(), 300, 1)
    found = run_plan(problem(table, ["k", "lm"]), Plan("local", "local", options={"ks": [k], "walks": 1, "turns": 2}))
    return found[0].partition


def test_every_attack_runs_on_a_local_release() -> None:
    """Homogeneity, minimality, downcoding, deFinetti and overlaps have numbers, and W18 says those of overlaps."""
    release = local_point()
    tests = attack(release, {"k": 3, "l": 1})
    assert tests.overlaps is not None
    assert tests.overlaps.all_rows == 300
    assert tests.overlaps.classes == release.classes
    assert 0 < tests.downcoding.small_rows <= tests.downcoding.rows <= 300
    assert tests.overlaps.meaning in tests.sentences()
    assert tests.to_dict()["overlaps"] == tests.overlaps.to_dict()
    said = {remark.id: remark for remark in remarks(Context(release, {"k": 3}))}["W18"]
    assert said.numbers["overlapping_classes"] == tests.overlaps.overlapping_classes
    assert tests.overlaps.meaning in said.text


def test_downcoding_divides_classes_one_by_one() -> None:
    """A class is stuck where one of its columns, a step finer, has a part below k, by a slow look at every class."""
    release = local_point()
    boxes = release.recoding.boxes
    assert boxes is not None
    stuck, open_columns = set(), set()
    for number in range(release.classes):
        inside = np.flatnonzero(release.members == number)
        for column, hierarchy in enumerate(release.recoding.hierarchies):
            first, last = int(boxes.first[number, column]), int(boxes.last[number, column])
            if first == last:
                continue
            tree = hierarchy.tree
            parts = [
                sum(
                    int(release.table.weights[i])
                    for i in inside
                    if tree.first[child] <= release.table.codes[i, column] <= tree.last[child]
                )
                for child in tree.children[tree.runs[first, last]]
            ]
            parts = [part for part in parts if part]
            if min(parts) < 3:
                stuck.add(number)
            elif len(parts) > 1:
                open_columns.add(hierarchy.name)
    counted = attack(release, {"k": 3}).downcoding
    assert counted.rows == sum(int(release.rows[number]) for number in stuck)
    assert set(counted.finer) == open_columns
    assert counted.hierarchical


def test_composition_with_an_earlier_local_release_finds_each_row_by_its_labels() -> None:
    """Labels that do not overlap say in which class a row was: the same intersections as a look at every class gives."""
    rows = uneven_people()
    now, earlier = chosen(rows, (0, 1)).partition(), chosen_locally(rows, strict=True).partition()
    boxes = earlier.recoding.boxes
    assert boxes is not None
    shared: Counter[tuple[int, int]] = Counter()
    for row, codes in enumerate(now.table.codes.tolist()):
        inside = [
            number
            for number in range(len(boxes.first))
            if all(low <= code <= high for low, code, high in zip(boxes.first[number], codes, boxes.last[number]))  # noqa: B905 (of one length)
        ]
        assert len(inside) == 1
        shared[int(now.members[row]), inside[0]] += int(now.table.weights[row])
    k = max(shared.values())
    told = composition(now, earlier, k)
    assert (told.by, told.classes, told.matched) == ("labels", len(shared), now.table.rows)
    assert told.small == sum(count for count in shared.values() if count < k) > 0
    assert told.small_classes == sum(count < k for count in shared.values())


def test_composition_with_overlapping_labels_is_refused() -> None:
    """Where a row fits two classes of the earlier release nobody knows which one it was in, and the sentence says so."""
    rows = uneven_people()
    earlier = chosen_locally(rows).partition()
    with pytest.raises(BadInput, match="Labels of the earlier release overlap, so it is not known in which"):
        composition(chosen(rows).partition(), earlier, 2)
    assert composition(earlier, earlier, 2).by == "rows"
