"""Levels that a column may be released at: every search stays within them, and the exact ones miss nothing there."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pytest

import kpareto as kp
from kpareto.errors import BadJob, BadSchema, Unsafe
from kpareto.fronts.front import Front, Point
from kpareto.fronts.problem import Problem
from kpareto.searches import compiled
from kpareto.searches.exact_front import NumberedCuts
from kpareto.searches.lattice import mondrian
from kpareto.searches.lattice.mondrian import MondrianRecoding
from kpareto.searches.run import Plan, run_plan
from kpareto.tables.coarse import declared_recoding
from kpareto.tables.cuts import Cuts, make_space
from kpareto.tables.lattice import Kind, Lattice
from kpareto.tables.table import Population, Table

LEVELS = {"age": (1, 2), "zip": (0, 1)}
CASES: list[tuple[list[str], float, dict[str, float]]] = [
    (["k", "glm"], 0.1, {}),
    (["k", "lm"], 0.0, {"l": 2}),
    (["k", "l", "nwp"], 0.1, {}),
]


def made_table(
    levels: Mapping[str, tuple[int, int]] | None = None, weights: Mapping[str, float] | None = None
) -> Table:
    """Ages in order (8 values, 4 levels), zips by a tree (6 values, 3 levels) and an illness."""
    rng = np.random.default_rng(3)
    ages, zips, ills = rng.integers(20, 28, 60), rng.integers(0, 6, 60), rng.choice(list("abc"), 60)
    rows = {"age": [*map(str, ages), "20", "27"], "zip": [*map(str, zips), "0", "5"], "ill": [*ills, "a", "b"]}
    schema = kp.Schema(("age", "zip"), ("ill",), levels=levels or {}, weights=weights or {})
    table = kp.read(pa.table(rows), schema)
    age = kp.load("age", {"intervals": [2, 4], "from": 20}, [str(age) for age in range(20, 28)])
    lines = [[str(code), f"half {code // 3}", "*"] for code in range(6)]
    return table.bind({"age": age, "zip": kp.load("zip", lines)})


def allowed(table: Table, cuts: np.ndarray) -> np.ndarray:
    """Which recodings, by their cuts side by side, lie between the two levels of each column."""
    fits, start = np.ones(len(cuts), dtype=np.bool_), 0
    for hierarchy in table.hierarchies:
        least, most = LEVELS[hierarchy.name]
        borders = np.diff(cuts[:, start : start + len(hierarchy.leaves)], axis=1)
        start += len(hierarchy.leaves)
        fits &= (borders <= np.diff(hierarchy.groups[least])).all(axis=1)
        fits &= (borders >= np.diff(hierarchy.groups[most])).all(axis=1)
    return fits


def brute_force(asked: Problem, kind: Kind) -> set[tuple[float, ...]]:
    """The numbers of all allowed recodings of a space that no other beats, counted without any limit on levels."""
    if kind == "lattice":
        space, genomes = make_space(kind, asked.table), np.array(list(itertools.product(range(4), range(3))))
    else:
        space = make_space(kind, asked.table)
        assert isinstance(space, Cuts)
        genomes = NumberedCuts(space).genomes(np.arange(space.size))
    numbers = asked.evaluate(space, genomes[allowed(asked.table, space.cuts(genomes))])
    costs = np.round(-numbers.values[numbers.feasible] * asked.better, 9)
    return {tuple(each) for each in costs.tolist() if not ((costs <= each).all(1) & (costs < each).any(1)).any()}


def numbers_of(front: Front) -> set[tuple[float, ...]]:
    """The numbers of a front, lower is better."""
    return {tuple(each) for each in np.round(-front.numbers.values * front.problem.better, 9).tolist()}


def keeps_levels(front: Front) -> bool:
    """Whether every group of every point lies between the two levels of its column."""
    whole = made_table()
    for point in front:
        recoding = declared_recoding(point.recoding)
        for column, hierarchy in enumerate(whole.hierarchies):
            least, most = (hierarchy.groups[level] for level in LEVELS[hierarchy.name])
            first, last = recoding.runs(column)
            inside = (most[first] == most[last]).all()
            begins = (np.append(-1, least)[first] != least[first]).all()
            ends = (np.append(least, -1)[last + 1] != least[last]).all()
            if not (inside and begins and ends):
                return False
    return True


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", ["lattice", "cuts", "order"])
def test_exact_within_levels_is_brute_force(kind: Kind, case: tuple[list[str], float, dict[str, float]]) -> None:
    """The exact front with levels is the front of all recodings within them, whatever is suppressed."""
    objectives, limit, limits = case
    front = run_plan(kp.problem(made_table(LEVELS), objectives, limit, limits), Plan("exact", kind))
    assert front.provenance.complete
    assert numbers_of(front) == brute_force(kp.problem(made_table(), objectives, limit, limits), kind)
    assert keeps_levels(front)
    assert not keeps_levels(run_plan(kp.problem(made_table(), objectives, limit, limits), Plan("exact", kind)))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", ["lattice", "cuts", "order"])
def test_exact_with_weights_is_brute_force(kind: Kind, case: tuple[list[str], float, dict[str, float]]) -> None:
    """The exact front of the weighted loss is that of all recodings, each cell times the weight of its column."""
    weights, (objectives, limit, limits) = {"age": 3.0, "zip": 0.5}, case
    plain = made_table()
    front = run_plan(
        kp.problem(made_table(LEVELS, weights), [*objectives[:-1], "nwp"], limit, limits), Plan("exact", kind)
    )
    asked = kp.problem(plain, [*objectives[:-1], "nwp(weights=age*3 + zip*0.5)"], limit, limits)
    assert numbers_of(front) == brute_force(asked, kind)
    for point in front:
        assert point.values["nwp"] == pytest.approx(slow_nwp(point, weights), abs=1e-12)


def slow_nwp(point: Point, weights: Mapping[str, float]) -> float:
    """The mean over rows of what each cell loses, times the weight of its column, by the words of the definition."""
    recoding, classes, whole = declared_recoding(point.recoding), point.partition, made_table()
    total = 0.0
    for column, hierarchy in enumerate(whole.hierarchies):
        first, last = recoding.runs(column)
        lost = (last - first) / (len(hierarchy.leaves) - 1)
        for groups, rows, gone in zip(classes.groups, classes.rows, classes.suppressed, strict=True):
            total += weights[hierarchy.name] * rows * (1.0 if gone else lost[groups[column]])
    return float(total / sum(weights.values()) / whole.rows)


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        ("poka", "lattice"),
        ("pbg-ea", "lattice"),
        ("genitor", "cuts"),
        ("genitor-lunacek", "order"),
        ("recut", "cuts"),
        ("improve", "cuts"),
        ("nsga2", "cuts"),
        ("nsga2", "order"),
        ("flip", "cuts"),
        ("improve", "order"),
    ],
)
def test_heuristics_stay_within_levels(method: str, kind: Kind) -> None:
    """What a search finds lies within the levels, so none of it is better than the best recodings there."""
    objectives = ["lm"] if method.startswith(("genitor", "improve", "recut")) else ["k", "lm"]
    limits = {"k": 4.0} if objectives == ["lm"] else {}
    asked = kp.problem(made_table(LEVELS), objectives, 0.1, limits)
    front = run_plan(asked, Plan(method, kind, 600))
    assert keeps_levels(front)
    best = np.array(list(brute_force(kp.problem(made_table(), objectives, 0.1, limits), kind)))
    assert all((best <= each).all(axis=1).any() for each in numbers_of(front))
    assert len(front) >= 1


@pytest.mark.parametrize("method", ["datafly", "samarati"])
def test_greedy_searches_stay_within_levels(method: str) -> None:
    """Datafly and Samarati climb from the least levels to the highest ones, and no further."""
    front = run_plan(kp.problem(made_table(LEVELS), ["k", "lm"], 0.1, {"k": 4}), Plan(method))
    assert len(front) >= 1
    assert keeps_levels(front)
    with pytest.raises(Unsafe):
        kp.front(made_table({"age": (0, 0), "zip": (0, 0)}), method=method, limits={"k": 4})


@pytest.mark.parametrize("limit", [0.0, 0.1, 0.999])
@pytest.mark.parametrize("method", ["recut", "genitor"])
@pytest.mark.parametrize("kind", ["cuts", "order"])
def test_one_loss_within_levels_has_its_bound(
    kind: Kind, method: str, limit: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recutting finds the least loss within the levels; no bound is above it, however it is proven."""
    (best,) = brute_force(kp.problem(made_table(), ["lm"], limit, {"k": 4}), kind)
    asked = kp.problem(made_table(LEVELS), ["lm"], limit, {"k": 4})
    proven = run_plan(asked, Plan(method, kind, 400))
    assert keeps_levels(proven)
    assert method == "genitor" or numbers_of(proven) == {best}
    assert 0 < proven.provenance.details["lower_bound"] <= best[0] + 1e-9
    assert proven.provenance.complete == (limit == 0 and numbers_of(proven) == {best})
    monkeypatch.setattr(compiled, "SMALL", 0)
    weaker = run_plan(asked, Plan(method, kind, 400)).provenance.details
    assert "decomposition" in weaker["bound_by"]
    assert 0 < weaker["lower_bound"] <= best[0] + 1e-9


def test_floors_within_levels_hold() -> None:
    """Out of time, what no recoding can beat is not above what the best recoding within the levels has."""
    from kpareto.searches.exact_front import make_floors

    asked = kp.problem(made_table(LEVELS), ["k", "lm"], 0.1)
    best = run_plan(asked)
    floors = make_floors(asked, ())
    assert floors is not None
    assert (floors.at(best.numbers)[:, 1] <= best.numbers.values[:, 1] + 1e-12).all()
    plain = make_floors(kp.problem(made_table(), ["k", "lm"], 0.1), ())
    assert plain is not None
    assert (floors.at(best.numbers)[:, 1] >= plain.at(best.numbers)[:, 1] - 1e-12).all()


def test_population_within_levels() -> None:
    """The rows of the population are merged like those of the table, so k-map counts the same people."""
    whole, limited = (table.drawn_from(Population(table=made_table())) for table in (made_table(), made_table(LEVELS)))
    front = kp.front(limited, objectives=["k-map", "lm"])
    assert numbers_of(front) == brute_force(kp.problem(whole, ["k-map", "lm"]), "lattice")


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ({"age": [1, 4]}, r"has the levels 0 to 3"),
        ({"age": [2, 1]}, r"least level first"),
        ({"age": [-1, 1]}, r"least level first"),
        ({"age": [0.5, 1]}, r"two whole numbers"),
        ({"age": [1]}, r"two whole numbers"),
        ({"age": True}, r"two whole numbers"),
        ({"ill": [0, 1]}, r"not a quasi-identifier"),
    ],
)
def test_levels_that_make_no_sense(levels: dict[str, object], words: str) -> None:
    """Levels outside the hierarchy, reversed, not whole, or of another column are a sentence."""
    with pytest.raises(BadSchema, match=words):
        kp.problem(made_table(levels))  # type: ignore[arg-type]  # on purpose


def test_a_space_of_other_levels_is_refused() -> None:
    """A space made of the whole hierarchies does not fit a problem with levels, and is a sentence, not wrong numbers."""
    asked = kp.problem(made_table(LEVELS), ["k", "lm"])
    with pytest.raises(BadJob, match="other levels"):
        asked.evaluate(Lattice(made_table().hierarchies), np.array([[0, 0]]))


@pytest.mark.parametrize("intervals", [False, True])
def test_local_recoding_stays_within_levels(intervals: bool) -> None:
    """Every label of every class lies within the levels; the best node within them loses no less, the bound no more."""
    asked = kp.problem(made_table(LEVELS), ["k", "lm"], 0.1)
    front = run_plan(asked, Plan("local", "local", options={"ks": [2, 4], "intervals": intervals}))
    assert keeps_levels(front)
    nodes = kp.front(made_table(LEVELS), objectives=["k", "lm"], suppression=0.1)
    for point in front:
        rows = point.partition.rows[~point.partition.suppressed]
        assert rows.min() >= point.values["k"]
        assert point.values["lm"] <= nodes.choose(k=int(point.values["k"])).values["lm"] + 1e-12
        assert point.bound is not None
        assert point.bound.least <= point.values["lm"] + 1e-12
    assert not keeps_levels(run_plan(kp.problem(made_table(), ["k", "lm"], 0.1), Plan("local", "local")))


def test_local_recoding_leaves_out_a_k_beyond_the_levels() -> None:
    """A k that no group of the highest levels holds has no point; where no k has one, that is a sentence."""
    asked = kp.problem(made_table({"age": (0, 1), "zip": (0, 1)}), ["k", "lm"])
    smallest = min(part.partition.rows.min() for part in kp.front(made_table({"age": (1, 1), "zip": (1, 1)})))
    front = run_plan(asked, Plan("local", "local", options={"ks": [2, int(smallest), int(smallest) + 1]}))
    assert max(point.values["k"] for point in front) == smallest
    with pytest.raises(Unsafe, match="highest levels"):
        run_plan(asked, Plan("local", "local", options={"ks": [int(smallest) + 1]}))


def rows_of_small_cells(table: Table, k: int) -> int:
    """How many rows lie in a combination of groups of the highest levels that has fewer than k rows."""
    groups = [h.groups[h.top][table.codes[:, column]] for column, h in enumerate(table.hierarchies)]
    _, cell = np.unique(np.stack(groups, axis=1), axis=0, return_inverse=True)
    sizes = np.bincount(cell, weights=table.weights)
    return int(sizes[sizes < k].sum())


NARROW = {"age": (0, 1), "zip": (0, 0)}


@pytest.mark.parametrize("k", [2, 3])
def test_strict_recoding_stays_within_levels(k: int) -> None:
    """No label holds two groups of a highest level; the rows that then have no class are suppressed, and no others."""
    table = kp.problem(made_table(NARROW)).table
    small = rows_of_small_cells(table, k)
    assert 0 < small < table.rows
    plan = Plan("local", "local", options={"ks": [k], "strict": True})
    (point,) = run_plan(kp.problem(table, ["k", "lm"], small), plan)
    assert point.partition.suppressed_rows == small
    assert point.values["k"] >= k
    top = table.hierarchies[0].groups[1]
    for first, last in zip(*declared_recoding(point.recoding).runs(0), strict=True):
        assert top[first] == top[last]
    assert all((first == last).all() for first, last in [declared_recoding(point.recoding).runs(1)])
    with pytest.raises(Unsafe, match="within the highest levels"):
        run_plan(kp.problem(table, ["k", "lm"], small - 1), plan)
    wide = run_plan(kp.problem(made_table(LEVELS), ["k", "lm"]), plan)
    assert keeps_levels(wide)
    assert wide[0].partition.suppressed_rows == 0


@pytest.mark.parametrize("divide", [mondrian.strict, mondrian.relaxed])
def test_mondrian_stays_within_levels(divide: Callable[[Table, int, int], MondrianRecoding]) -> None:
    """The same of Mondrian; its loss counts a suppressed row as all of its cells."""
    table = kp.problem(made_table(NARROW)).table
    small = rows_of_small_cells(table, 2)
    found = divide(table, 2, small)
    assert (found.suppressed, found.sizes.sum()) == (small, table.rows - small)
    assert found.k >= 2
    for column, hierarchy in enumerate(table.hierarchies):
        first, last = (ends[found.nodes[:, column]] for ends in (hierarchy.tree.first, hierarchy.tree.last))
        top = hierarchy.groups[hierarchy.top]
        assert (top[first] == top[last]).all()
        shown = table.codes[found.item_row, column]
        assert ((first[found.item_class] <= shown) & (shown <= last[found.item_class])).all()
    assert found.lm >= small / table.rows
    with pytest.raises(Unsafe, match="within the highest levels"):
        divide(table, 2, small - 1)
    assert [point.asked for point in mondrian.curve(table, (2, 200), small)] == [2]
