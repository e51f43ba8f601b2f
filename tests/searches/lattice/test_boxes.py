"""The box archive: what it keeps, how many, in which order, and how well it stands for a front."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.errors import BadJob
from kpareto.fronts.numbers import Numbers
from kpareto.fronts.problem import problem
from kpareto.searches.lattice.boxes import BoxArchive, Brackets, Grid, SteadyArchive, coverage, grid_for
from kpareto.tables.adult import adult_table
from kpareto.tables.partition import Suppression

Vectors = list[tuple[float, ...]]


def grid(*epsilons: float, brackets: Brackets = "ceiling") -> Grid:
    """A grid over qualities, higher being better."""
    return Grid(epsilons, (True,) * len(epsilons), (0.0,) * len(epsilons), brackets)


def numbers_of(vectors: Vectors) -> Numbers:
    """Qualities as numbers; keys are exact because the tests use quarters, tenths at most."""
    values = np.array(vectors, dtype=np.float64)
    keys = -np.rint(values * 100).astype(np.int64)
    count = np.arange(len(vectors))
    return Numbers(count, count, values, keys, np.ones(len(vectors), dtype=np.bool_), count * 0)


def archived(archive: BoxArchive, vectors: Vectors) -> BoxArchive:
    """The archive after the vectors were offered; the genome is the vector in hundredths."""
    if vectors:
        numbers = numbers_of(vectors)
        archive.offer(-numbers.keys, numbers)
    return archive


def members(archive: BoxArchive) -> set[tuple[int, ...]]:
    """What the archive holds, in hundredths."""
    return {tuple(row) for row in archive.genomes.tolist()}


def test_oracle_o12() -> None:
    """O12, by the floor: first come stays, an incomparable vector is lost to a higher box, theorem 2 is one short."""
    floor = grid(1, 1, brackets="floor")
    assert members(archived(BoxArchive(floor), [(1.2, 1.8), (1.8, 1.2)])) == {(120, 180)}
    assert members(archived(BoxArchive(floor), [(1.8, 1.2), (1.2, 1.8)])) == {(180, 120)}
    assert members(archived(BoxArchive(floor), [(1.9, 1.95), (2.0, 1.9)])) == {(200, 190)}
    two: Vectors = [(1.0, 0.5), (0.5, 1.0)]
    assert len(archived(BoxArchive(floor), two)) == 2
    assert floor.size_bound(np.array(two)) == 2  # the paper's bound is 1


def test_by_the_ceiling_theorem_2_holds() -> None:
    """The two vectors that pass the paper's bound by the floor share a box by the ceiling, which is the default."""
    assert grid(1, 1).brackets == "ceiling"
    assert len(archived(BoxArchive(grid(1, 1)), [(1.0, 0.5), (0.5, 1.0)])) == 1
    assert grid(2, 2).boxes(np.array([[2.0, 2.25], [0.25, 4.0]])).tolist() == [[1, 2], [1, 2]]


@given(data=st.data(), width=st.integers(2, 3))
@settings(max_examples=300)
def test_theorem_2_as_printed(data: st.DataObject, width: int) -> None:
    """By the ceiling an archive of positive qualities never passes the product of ⌈K / ε⌉ without the largest."""
    epsilons = data.draw(st.tuples(*[st.sampled_from([0.5, 1.0, 1.5, 4.0])] * width))
    vectors = data.draw(
        st.lists(st.tuples(*[st.integers(1, 24).map(lambda n: n / 4)] * width), min_size=1, max_size=25)
    )
    highest = [max(vector[place] for vector in vectors) for place in range(width)]
    boxes = sorted(math.ceil(high / wide) for high, wide in zip(highest, epsilons, strict=True))
    assert len(archived(BoxArchive(grid(*epsilons)), vectors)) <= math.prod(boxes[:-1])


def test_a_refused_offer_is_counted() -> None:
    """The archive says how often a box was taken although nothing dominated the offer."""
    assert archived(BoxArchive(grid(1, 1)), [(1.2, 1.8), (1.8, 1.2), (1.1, 1.1)]).refused == 1


@st.composite
def offers(draw: st.DrawFn) -> tuple[Grid, Vectors]:
    """A grid and vectors in quarters."""
    width = draw(st.integers(1, 3))
    epsilons = draw(st.tuples(*[st.sampled_from([0.25, 0.5, 1.0, 1.5, 4.0])] * width))
    vector = st.tuples(*[st.integers(0, 24).map(lambda n: n / 4)] * width)
    return grid(*epsilons, brackets=draw(st.sampled_from(["ceiling", "floor"]))), draw(
        st.lists(vector, min_size=1, max_size=25)
    )


def dominates(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Slow twin: at least as high everywhere and different."""
    return one != other and all(a >= b for a, b in zip(one, other, strict=True))


def slow_archive(boxes_of: Grid, vectors: Vectors) -> Vectors:
    """Slow twin of algorithm 1, with tuples: PB-5 word for word."""
    kept: Vectors = []
    rounded = math.ceil if boxes_of.brackets == "ceiling" else math.floor
    for new in vectors:
        box = {v: tuple(rounded(a / e) for a, e in zip(v, boxes_of.epsilons, strict=True)) for v in [*kept, new]}

        def beats(a: tuple[float, ...], b: tuple[float, ...], box: dict[tuple[float, ...], tuple[int, ...]]) -> bool:
            return dominates(a, b) if box[a] == box[b] else dominates(box[a], box[b])

        kept = [member for member in kept if not beats(new, member, box)]
        if not any(beats(member, new, box) or box[member] == box[new] for member in kept):
            kept.append(new)
    return kept


@given(offered=offers())
@settings(max_examples=300)
def test_the_archive_is_algorithm_1(offered: tuple[Grid, Vectors]) -> None:
    """The archive keeps what the printed algorithm keeps."""
    boxes, vectors = offered
    slow = {tuple(round(a * 100) for a in vector) for vector in slow_archive(boxes, vectors)}
    assert members(archived(BoxArchive(boxes), vectors)) == slow


@given(offered=offers(), steady=st.booleans())
@settings(max_examples=300)
def test_theorem_1(offered: tuple[Grid, Vectors], steady: bool) -> None:
    """No member is dominated by anything that was ever offered, and some member's box is as high as any seen."""
    boxes, vectors = offered
    archive = archived(SteadyArchive(boxes) if steady else BoxArchive(boxes), vectors)
    kept = [tuple(a / 100 for a in member) for member in members(archive)]
    assert not any(dominates(seen, member) for seen in vectors for member in kept)
    seen_boxes = boxes.boxes(np.array(vectors))
    assert all((archive.boxes >= box).all(axis=1).any() for box in seen_boxes)


@given(offered=offers(), steady=st.booleans())
@settings(max_examples=300)
def test_theorem_2_corrected(offered: tuple[Grid, Vectors], steady: bool) -> None:
    """The archive is never larger than the corrected bound."""
    boxes, vectors = offered
    archive = archived(SteadyArchive(boxes) if steady else BoxArchive(boxes), vectors)
    assert 1 <= len(archive) <= boxes.size_bound(np.array(vectors))


@given(offered=offers(), data=st.data())
@settings(max_examples=300)
def test_the_steady_archive_does_not_depend_on_the_order(offered: tuple[Grid, Vectors], data: st.DataObject) -> None:
    """Any order of arrival, with repeats, leaves the same members."""
    boxes, vectors = offered
    shuffled = data.draw(st.permutations(vectors)) + data.draw(st.lists(st.sampled_from(vectors), max_size=5))
    assert members(archived(SteadyArchive(boxes), vectors)) == members(archived(SteadyArchive(boxes), shuffled))


@given(offered=offers(), data=st.data())
@settings(max_examples=200)
def test_offering_again_changes_nothing(offered: tuple[Grid, Vectors], data: st.DataObject) -> None:
    """What was offered before can be offered again without effect: PBG-EA offers only what is new."""
    boxes, vectors = offered
    again = data.draw(st.lists(st.sampled_from(vectors), max_size=10))
    assert members(archived(BoxArchive(boxes), vectors)) == members(archived(BoxArchive(boxes), vectors + again))


def test_coverage_by_hand() -> None:
    """CE adds distances after division by the largest true quality; RR counts non-dominated true boxes."""
    true = np.array([[4.0, 0.0], [2.0, 2.0], [2.5, 1.5], [0.0, 4.0]])
    found = np.array([[4.0, 0.0], [2.0, 1.0]])
    seen = coverage(grid(1, 1), found, true)
    assert seen.distance_sum == pytest.approx(math.hypot(0.125, 0.125))
    assert seen.distance_mean == pytest.approx(seen.distance_sum / 2)
    assert seen.ratio == pytest.approx(1 / 3)
    assert (seen.true_boxes, seen.merged) == (3, 0)
    none = coverage(grid(1, 1), np.zeros((0, 2)), true)
    assert (none.distance_sum, none.distance_mean, none.ratio) == (0.0, 0.0, 0.0)


def test_the_grid_of_a_problem() -> None:
    """Losses count down from everything suppressed, and a box is one unit or one row's share."""
    made = problem(adult_table(target="salary-class"), ["k", "glm", "cm"], Suppression("cap-max-k", 301))
    plain = grid_for(made)
    assert plain.worst == (0.0, 7 * 30162, 1.0)
    assert plain.epsilons == (1.0, 1.0, 1 / 30162)
    assert plain.boxes(np.array([[3.0, 0.5, 0.25]])).tolist() == [[3, 7 * 30162, 22622]]
    floor = grid_for(made, brackets="floor")
    assert floor.boxes(np.array([[3.0, 0.5, 0.25]])).tolist() == [[3, 7 * 30162 - 1, 22621]]


def test_what_a_grid_refuses() -> None:
    """Epsilons must be as many as the objectives and above 0."""
    with pytest.raises(BadJob, match="is 0 wide"):
        grid(0, 1)
    with pytest.raises(BadJob, match="needs as many epsilons, not 1"):
        grid_for(problem(adult_table(), ["k", "glm"]), [5])
