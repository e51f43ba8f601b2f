"""The promise of a front: for every k, and every combination with l, t and alpha, what a search for these alone gives.

The twin here is made of dictionaries: every recoding, the classes of raw rows, and for given thresholds exactly the
classes that miss one of them suppressed. It shares nothing with partitions, kernels and searches but the numbers of the
hierarchies.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.lookalikes import census_like, fars_like
from kpareto.faces.web.drafts import adult_draft
from kpareto.fronts.front import Front, make_front
from kpareto.fronts.numbers import Numbers, Provenance, join
from kpareto.fronts.problem import problem
from kpareto.jobs.front import front
from kpareto.jobs.inspect import inspect
from kpareto.jobs.parse import parse_job
from kpareto.measures.cells import glm
from kpareto.measures.measure import make
from kpareto.searches.exact_front import exact_front
from kpareto.tables.adult import adult, adult_table
from kpareto.tables.cuts import make_cuts
from kpareto.tables.hierarchy import flat
from kpareto.tables.lattice import Lattice, Space
from kpareto.tables.partition import Suppression, partition, partitions
from kpareto.tables.recoding import Recoding
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table, make_table
from tests.twins import slow
from tests.twins.strategies import Case, Row, cases, table_of

STEP = Fraction(1, 100)
Limits = Mapping[str, Fraction]


@dataclass(frozen=True)
class Alone:
    """One class of a recoding: its rows, what is lost by it kept and suppressed, and its numbers."""

    rows: int
    kept: Fraction
    lost: Fraction
    numbers: Mapping[str, Fraction]

    def misses(self, limits: Limits) -> bool:
        """Whether it misses a limit: k and l are at least, t and alpha at most."""
        return any(
            self.numbers[name] < limit if name in ("k", "l") else self.numbers[name] > limit
            for name, limit in limits.items()
        )


def classes_of(case: Case, recoding: Recoding) -> list[Alone]:
    """The classes of a recoding from the raw rows, numbers by persons where these are told apart; losses are GLM."""
    groups: dict[tuple[int, ...], list[Row]] = {}
    for row in case.rows:
        key = tuple(int(cut[leaf]) for cut, leaf in zip(recoding.cuts, row.leaves, strict=True))
        groups.setdefault(key, []).append(row)
    q = slow.even_shares(case.rows, 0)
    made = []
    for key, rows in groups.items():
        p = slow.even_shares(rows, 0)
        numbers = {
            "k": Fraction(slow.size(rows)),
            "l": Fraction(slow.fewest(rows, 0)),
            "t": sum((abs(p.get(value, Fraction(0)) - share) for value, share in q.items()), Fraction(0)) / 2,
            "alpha": max(slow.value_shares(rows, 0).values()),
        }
        kept = sum((cell_loss(case, recoding, column, group) for column, group in enumerate(key)), Fraction(0))
        whole = Fraction(len(case.table.hierarchies))
        made.append(Alone(len(rows), len(rows) * kept, len(rows) * whole, numbers))
    return made


def cell_loss(case: Case, recoding: Recoding, column: int, group: int) -> Fraction:
    """What one cell loses, as the measure has it for this group alone."""
    table, measure = case.table, glm()
    numerators = measure.table_of(table, column, recoding.cuts[column])
    return Fraction(int(numerators[group]), int(measure.suppressed(table, column)))


def least_loss(recodings: Sequence[list[Alone]], limits: Limits, allowed: int) -> Fraction | None:
    """The least loss over all recodings in which exactly the classes that miss a limit are suppressed."""
    best: Fraction | None = None
    for classes in recodings:
        gone = [each for each in classes if each.misses(limits)]
        if sum(each.rows for each in gone) > allowed or len(gone) == len(classes):
            continue
        loss = sum((each.lost if each in gone else each.kept for each in classes), Fraction(0))
        best = loss if best is None else min(best, loss)
    return best


def wishes(recodings: Sequence[list[Alone]], names: Sequence[str], most: int) -> Iterator[dict[str, Fraction]]:
    """Combinations of limits that somebody might ask for: every value that a class has, on the grid."""
    values = []
    for name in names:
        own = {each.numbers[name] for classes in recodings for each in classes}
        if name in ("t", "alpha"):
            own = {math.ceil(value / STEP) * STEP for value in own}
        values.append(sorted(own))
    every = list(itertools.product(*values))
    for some in every[:: max(1, len(every) // most)]:
        yield dict(zip(names, some, strict=True))


def best_of(front: Front, limits: Limits) -> float | None:
    """The least GLM of the points that meet some limits; those that are no objectives are met by all."""
    places = front.meeting({name: float(limit) for name, limit in limits.items() if name in front.names})
    return float(front.numbers.values[places, front.names.index("glm")].min()) if len(places) else None


def every_recoding(space: Space) -> np.ndarray:
    """Every genome of a small space, those of cuts that are valid alone: (n, genes) int64."""
    genomes = np.array(list(itertools.product(*(range(int(n)) for n in space.genes))), dtype=np.int64)
    return genomes[space.valid(genomes)] if hasattr(space, "valid") else genomes


def check_promise(case: Case, front: Front, recodings: Sequence[list[Alone]], own: Limits, allowed: int) -> None:
    """For every combination of limits the front has what the twin finds, and no point of it is better than that."""
    names = [name for name in front.names if name != "glm"]
    for wish in wishes(recodings, names, 400):
        asked = dict(own)
        for name, limit in wish.items():
            strict = max if name in ("k", "l") else min
            asked[name] = strict(limit, own[name]) if name in own else limit
        twin, ours = least_loss(recodings, asked, allowed), best_of(front, asked)
        assert (twin is None) == (ours is None), (case, asked)
        if twin is not None and ours is not None:
            assert ours == pytest.approx(float(twin), rel=1e-9, abs=1e-9), (case, asked)


OBJECTIVES = (
    ["k", "glm"],
    ["l", "glm"],
    ["k", "l", "glm"],
    ["k", "t", "glm"],
    ["alpha", "glm"],
    ["k", "l", "t", "alpha", "glm"],
)


@settings(max_examples=60)
@given(
    case=cases(most_columns=2, most_leaves=4, most_rows=14),
    limit=st.sampled_from([0.0, 1, 2, 3, 5, 0.3]),
    objectives=st.sampled_from(OBJECTIVES),
    own=st.sampled_from([{}, {"k": 2}, {"l": 2}, {"k": 3, "l": 2}, {"t": 0.3}]),
)
def test_a_front_has_what_a_search_for_every_wish_alone_finds(
    case: Case, limit: float, objectives: list[str], own: dict[str, float]
) -> None:
    """Every k, and every combination with l, t and alpha: nothing better is missing, and nothing is made up."""
    made = problem(case.table, objectives, limit, own)
    lattice = Lattice(case.table.hierarchies)
    recodings = [classes_of(case, lattice.decode(genome)) for genome in every_recoding(lattice)]
    exact = {name: Fraction(str(value)) for name, value in own.items()}
    check_promise(case, exact_front(made), recodings, exact, made.suppression.allowed(case.table.rows))


@settings(max_examples=40)
@given(
    case=cases(most_columns=2, most_leaves=4, most_rows=12),
    limit=st.sampled_from([0.0, 1, 3, 0.3]),
    objectives=st.sampled_from(OBJECTIVES),
    own=st.sampled_from([{}, {"k": 2}, {"l": 2}]),
)
def test_what_is_counted_of_cuts_has_every_threshold(
    case: Case, limit: float, objectives: list[str], own: dict[str, float]
) -> None:
    """Recodings by cuts give all their points to a front: of all of them together none is missing."""
    made = problem(case.table, objectives, limit, own)
    space = make_cuts(case.table.hierarchies)
    genomes = every_recoding(space)
    front = make_front(made, space, genomes, made.evaluate(space, genomes), Provenance("all", len(genomes), True))
    recodings = [classes_of(case, space.decode(genome)) for genome in genomes]
    exact = {name: Fraction(str(value)) for name, value in own.items()}
    check_promise(case, front, recodings, exact, made.suppression.allowed(case.table.rows))


STYLED = {
    "limit": st.sampled_from([0.0, 2, 4, 0.4]),
    "objectives": st.sampled_from(OBJECTIVES),
    "own": st.sampled_from([{}, {"k": 2}, {"l": 2}]),
    "style": st.sampled_from(["drop", "mask"]),
}


@settings(max_examples=40)
@given(case=cases(most_columns=2, most_leaves=4, most_rows=14), **STYLED)
def test_the_kernels_and_the_partitions_have_the_same_rows(
    case: Case, limit: float, objectives: list[str], own: dict[str, float], style: str
) -> None:
    """Whichever way a node is counted, its thresholds, numbers and suppressed rows are the same."""
    rule = Suppression("as-needed", limit, rows="mask" if style == "mask" else "drop")
    made = problem(case.table, objectives, rule, own)
    lattice = Lattice(case.table.hierarchies)
    genomes = every_recoding(lattice)
    decoded = [(place, lattice.decode(genome)) for place, genome in enumerate(genomes)]
    twin = made.by_partitions([(n, p) for n, coded in decoded for p in partitions(case.table, coded, made.suppression)])
    for fast in (made.evaluate(lattice, genomes), join(list(made.whole_lattice()), len(objectives))):
        assert feasible_rows(fast) == feasible_rows(twin)


def feasible_rows(numbers: Numbers) -> list[tuple[int, tuple[float, ...], int]]:
    """The rows that meet the limits, in an order of their own."""
    rows = numbers.take(np.flatnonzero(numbers.feasible))
    return sorted(
        (int(w), tuple(round(float(x), 9) for x in v), int(s))
        for w, v, s in zip(rows.which, rows.values, rows.suppressed, strict=True)
    )


@settings(max_examples=40)
@given(case=cases(most_columns=2, most_leaves=4, most_rows=14), **STYLED)
def test_a_point_has_the_numbers_of_its_partition(
    case: Case, limit: float, objectives: list[str], own: dict[str, float], style: str
) -> None:
    """The thresholds that a point names suppress the very rows it was counted with."""
    rule = Suppression("as-needed", limit, rows="mask" if style == "mask" else "drop")
    front = exact_front(problem(case.table, objectives, rule, own))
    for point in front:
        for name, value in point.values.items():
            measure = next(m for m in front.problem.objectives if m.name == name)
            assert measure(point.partition) == pytest.approx(value, rel=1e-9, abs=1e-9)
        assert point.partition.suppressed_rows == front.numbers.suppressed[point.id]
        again = partition(case.table, point.recoding, point.suppression)
        assert again.suppressed_rows == point.partition.suppressed_rows


def test_a_class_of_nobodys_rows_alone_goes_where_k_is_one() -> None:
    """Rows without an id have no person: a point with k = 1 suppresses them, and its partition has that k."""
    rows = [Row((leaf,), ("a",), ("no",), person) for leaf, person in ((0, "(missing)"), (1, "p0"))]
    table = table_of(rows, [flat("q0", ["x", "y"])], numeric=False, domain="observed")
    asked = problem(table, ["k", "glm"], 1)
    front = exact_front(asked)
    assert [point.values["k"] for point in front] == [make("k")(point.partition) for point in front] == [0, 1]
    assert front.choose(k=1).partition.suppressed_rows == 1
    assert asked.counted_in_python == "the table has rows without an id, which the compiled loops do not know"


KS = (2, 3, 5, 11, 20, 50, 100, 500)


@pytest.mark.parametrize("name", ["adult", "fars", "census"])
@pytest.mark.parametrize("limits", [{}, {"l": 2.0}], ids=["k alone", "with l"])
def test_the_front_is_the_job_for_every_k(name: str, limits: dict[str, float]) -> None:
    """One front has, at each k in use, the loss that a search with this k as its limit finds: what ARX answers there."""
    table = {"adult": adult_table, "fars": small_fars, "census": small_census}[name]()
    front = exact_front(problem(table, ["k", "glm"], 0.02, limits))
    for k in KS:
        alone = exact_front(problem(table, ["glm"], 0.02, {"k": float(k), **limits}))
        met = front.meeting({"k": k})
        assert (len(met) > 0) == (len(alone) > 0), k
        if len(met):
            chosen = front.choose(k=k)
            assert chosen.values["glm"] == alone[0].values["glm"], k
            assert chosen.partition.suppressed_rows <= 0.02 * table.rows
            assert chosen.threshold >= k


def small_fars() -> Table:
    """Persons in crashes, 20,000 rows; the last column is what nobody should learn."""
    return last_is_sensitive(fars_like(20_000), 6)


def small_census() -> Table:
    """A labour survey, 20,000 rows of seven columns; the last one is what nobody should learn."""
    return last_is_sensitive(census_like(20_000), 7)


def last_is_sensitive(table: Table, columns: int) -> Table:
    """The first columns of a table, the last of them sensitive."""
    hierarchies, codes = table.hierarchies[: columns - 1], table.codes[:, : columns - 1]
    hidden = table.hierarchies[columns - 1]
    schema = Schema(tuple(h.name for h in hierarchies), sensitive=(hidden.name,))
    values = {hidden.name: (hidden.leaves, table.codes[:, columns - 1], None)}
    return make_table(schema, hierarchies, codes, table.weights, values)


def test_points_of_a_slice_keep_the_thresholds_of_the_whole() -> None:
    """A front of k and loss that was cut out of one with l too suppresses what the whole one does."""
    front = exact_front(problem(adult_table(sensitive="occupation"), ["k", "l", "lm"], 0.01))
    part = front.slice("k", "lm")
    for point in part:
        assert point.partition.suppressed_rows == part.numbers.suppressed[point.id]
        assert "l" in dict(point.suppression.thresholds)


def test_between_the_ks_of_a_job_nothing_is_hidden() -> None:
    """A job with k = 5 shows at k = 11 what the same job with k = 11 shows there."""
    table = adult_table()
    for k in (11, 20, 50):
        five, own = (exact_front(problem(table, ["k", "lm"], 0.01, {"k": float(least)})) for least in (5, k))
        assert five.choose(k=k).values == own.choose(k=k).values
        assert five.choose(k=k).recoding.levels == own.choose(k=k).recoding.levels


def test_a_front_says_in_which_steps_numbers_on_a_scale_are_taken() -> None:
    """Whole numbers have no steps, t has, and with a step of 0 every value is a threshold."""
    table = small_fars()
    fronts = {
        name: exact_front(problem(table, ["k", name, "lm"], Suppression("as-needed", 0.01, step=step), {"k": 50}))
        for name, step in (("l", 0.01), ("t", 0.01), ("alpha", 0.0))
    }
    assert fronts["l"].proof == fronts["alpha"].proof == "complete: no trade-off by whole levels is missing"
    assert fronts["t"].proof.endswith("is missing, t taken in steps of 0.01")
    thresholds = [dict(point.suppression.thresholds)["t"] for point in fronts["t"]]
    assert all(float(f"{threshold:.2f}") == threshold for threshold in thresholds)
    assert len(set(thresholds)) > 2


def test_a_bare_number_means_one_thing_in_every_function() -> None:
    """front(), problem(), a job without a rule, what inspect writes and the page's own proposal: one rule."""
    table = adult_table()
    asked = problem(table, ["k", "glm"], 0.01)
    assert front(table, objectives=["k", "glm"], suppression=0.01).numbers.keys.tolist() == (
        exact_front(asked).numbers.keys.tolist()
    )
    proposed = inspect(adult().slice(0, 300))
    rules = {
        asked.suppression.rule,
        parse_job('[data]\nsource = "adult"\n', Path()).suppression().rule,
        proposed.job.rule,
        adult_draft(proposed)["suppression"]["rule"],
    }
    assert rules == {"as-needed"}
