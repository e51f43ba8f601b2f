"""The exact search, driven: to its end, or as far as its time goes.

Out of time, its answer is the front so far with a proven floor for every point: what no recoding can beat at its k. The
lattice was then too large, so the last part of the time goes to a heuristic search, which may find better points; the
floors stay.

A floor is a proof that does not visit the recodings. Columns are dealt into groups. A recoding with k rows in every
class has at least k rows in every class of each group by itself, with no more rows suppressed; so it loses in that
group at least what the best levels of the group lose that reach k there. What the groups lose at the least adds up.

The first group are the columns that a search fixes first. Combinations of their levels below which everything is
settled are left out of it, so that the floor rises as the search goes on: what is settled is known already.

Small spaces of cuts are counted to the end too, so that heuristic searches can be judged. A recoding has a number: its
digits are the genes of free columns (0 or 1) and the cuts of trees, from the coarsest to the finest. Blocks of
neighbouring numbers agree in their first digits, so that the first recoding of a block is its coarsest and the last one
its finest. Where the measures promise how they move when classes merge, these two bound what all others of the block
can have; a block that a known point beats, or whose coarsest recoding misses a limit, is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from kpareto.errors import BadJob, Remedy
from kpareto.fronts.count_lattice import Wanted, lattice_of
from kpareto.fronts.count_lattice import count_lattice as count_nodes
from kpareto.fronts.dominance import Ties, non_dominated
from kpareto.fronts.front import Front, make_front
from kpareto.fronts.numbers import Numbers, Provenance, join, spell_count
from kpareto.fronts.problem import Problem
from kpareto.fronts.subtree_bounds import allowed_rows
from kpareto.interrupts import OutOfTime, TimeLimit, halted_too, pause
from kpareto.kernels.compiling import working
from kpareto.kernels.words import K
from kpareto.measures.measure import Floor, Measure, floor_of
from kpareto.measures.sizes import is_smallest_class
from kpareto.searches import MOST_THREADS, count, one_of, setting
from kpareto.searches.driver import Arrays, Ending, Kept, Tell, job_print
from kpareto.searches.lattice.boxes import grid_for
from kpareto.searches.lattice.climbing import front_of_all, lattice_starts, reach_good_nodes
from kpareto.searches.lattice.exact import (
    CLOUD,
    State,
    count_lattice,
    find_way,
    merge_part,
    nothing_counted,
    settled_parts,
)
from kpareto.searches.lattice.pbg_ea import PbgEa
from kpareto.searches.proposals import Proposals, numbers_arrays, numbers_from
from kpareto.tables.cuts import Cuts, tree_cuts
from kpareto.tables.lattice import Lattice
from kpareto.tables.partition import Suppression
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table, merge_classes

EXACT_SHARE = 0.6  # of the time, before heuristic searches look on
PROVING = 0.4  # of the rest at the most, to count what floors are made of
NEIGHBOURS = 0.6  # of what is left then, to look among the neighbours of what is known
MOST_NODES = 2**62  # nodes are numbered by 64 bits
LONG = 2_000  # populations, where it does not run out of time before
POPULATION = 100  # the paper's 25 are for lattices of some thousand nodes
MOST_CUTS = 2**22  # recodings of a space of cuts that is small
BLOCK = 256  # of them that are bounded together
TOGETHER = 32  # blocks that are judged by the same known points
GROUP = 1_500  # combinations of levels in a group at the most
NEVER = np.iinfo(np.int64).max  # no levels of a group reach such a k


def exact_front(problem: Problem, ties: Ties = "all", threads: int | None = None) -> Front:
    """Every trade-off in the lattice; ``run_plan`` does the same with progress, stopping and a checkpoint."""
    began, state = working(), nothing_counted(problem)
    for now in count_lattice(problem, ties, threads, state):
        state = now
    return front_of(problem, state, ties, working() - began, done=True)


def front_of(problem: Problem, state: State, ties: Ties, seconds: float, *, done: bool) -> Front:
    """The front of a state: complete where the search is done, or was stopped after its last part."""
    lattice = Lattice(problem.table.hierarchies)
    complete = done or state.settled >= lattice.size
    note = "" if complete else f"stopped after {state.settled:,} of {lattice.size:,} nodes; other points may exist"
    details = {"settled": state.settled}
    provenance = Provenance(
        "exact", state.counted, complete, None, seconds, note, details, not complete, points="exact"
    )
    genomes = lattice.levels(state.best.which)
    best = replace(state.best, which=np.arange(len(genomes)))
    return replace(make_front(problem, lattice, genomes, best, provenance, ties), cloud=state.cloud)


@dataclass(eq=False)
class Exact:
    """The exact search over the lattice, driven part by part."""

    problem: Problem
    ties: Ties = setting(
        "all", one_of("all", "one"), "recodings with equal numbers: all are points, or the first alone"
    )
    threads: int | None = setting(None, count(1, MOST_THREADS), "how many count at once", "one per core")
    limit: TimeLimit = field(default_factory=TimeLimit)
    seed: int = 1  # of the heuristic search that looks on where the time was too short
    began: float = field(default_factory=working)
    _reached: Numbers | None = None  # neighbours of what was known that are good
    _others: Front | None = None  # what the heuristic search has found
    _floors: Floors | None = None  # what no recoding can beat, as far as there was time to prove it

    @property
    def lattice(self) -> Lattice:
        """The recodings."""
        return Lattice(self.problem.table.hierarchies)

    @property
    def total(self) -> int:
        """The nodes of the lattice."""
        return self.lattice.size

    def fingerprint(self) -> str:
        """The job and how ties are kept; threads and time change nothing."""
        return job_print(self.problem, self.lattice, "exact", self.ties)

    def go(self, known: Arrays | None, tell: Tell, kept: Kept[State]) -> Front:
        """Count the lattice, part by part."""
        self._check_size()
        state = nothing_counted(self.problem) if known is None else state_from(known)
        until = self.limit.part(EXACT_SHARE)
        if self.total < MOST_NODES:
            with until.watching(), suppress(OutOfTime):  # of its part; the time of all is looked at below
                limited = None if until.seconds is None else until
                for now in count_lattice(self.problem, self.ties, self.threads, state, limited):
                    state = now
                    kept.take(now)
                    tell(now.settled, lambda: state.best)  # noqa: B023 (used at once)
                pause()  # halted, not done
        if self.limit.seconds is None or state.settled >= self.total:
            return front_of(self.problem, state, self.ties, working() - self.began, done=True)
        kept.now = state
        self._floors = self._prove(self.limit.part(PROVING))
        self._look_on(state, tell)
        raise OutOfTime

    def _check_size(self) -> None:
        if self.total >= MOST_NODES and self.limit.seconds is None:
            raise BadJob(
                f"The lattice has {spell_count(self.total)} nodes, too many to number.",
                remedy=Remedy("set-time", "Give the search a time (search.seconds = 60), or fewer columns or levels."),
            )

    def _look_on(self, state: State, tell: Tell) -> None:
        """Let heuristic searches have the rest of the time: better neighbours of what is known, then a genetic one."""
        met = [part for part in (state.best, state.reached) if part is not None and len(part.which)]
        if met:
            tell(state.settled, lambda: state.best)  # which ends it where the time is up
        if self.total < MOST_NODES:
            known, some = front_of_all(met, len(self.problem.objectives)), self.limit.part(NEIGHBOURS)
            with some.watching():
                more = reach_good_nodes(self.problem, self.lattice, known, limit=some)
            self._reached = more.take(np.flatnonzero(more.feasible))
            if len(self._reached.which):
                tell(state.settled, lambda: more)
        search = PbgEa(grid_for(self.problem, None), population=POPULATION, iterations=LONG)
        course = Proposals(self.problem, self.lattice, search, None, self.seed)
        until, standing = self.limit.part(0.9), Kept[Any](None, "", lambda _: None)
        try:
            with until.watching():
                self._others = course.go(None, lambda _, met: tell(state.settled, met), standing)
        except OutOfTime:
            self._others = course.front_so_far(standing.now, Ending("its time was up", stopped=False))

    def _prove(self, limit: TimeLimit) -> Floors | None:
        """What no recoding can beat, as far as there is time to count it."""
        with limit.watching():
            return make_floors(self.problem, find_way(self.problem).fixed if self.total < MOST_NODES else ())

    def pack(self, standing: State) -> Arrays:
        """The front so far and how much of the lattice is settled."""
        return pack_state(standing)

    def front_so_far(self, standing: State | None, ending: Ending) -> Front:
        """The front so far, not complete; with floors where the time was up."""
        state = nothing_counted(self.problem) if standing is None else standing
        seconds = working() - self.began
        if ending.stopped:
            known = [part for part in (state.best, state.reached) if part is not None]
            best = front_of_all(known, len(self.problem.objectives)) if state.done == 0 else state.best
            return front_of(self.problem, replace(state, best=best), self.ties, seconds, done=False)
        genomes, numbers = self._all_met(state)
        details: dict[str, Any] = {"settled": state.settled}
        looked_on = ""
        if self._others is not None:
            details["then"] = {
                "method": self._others.provenance.method,
                "evaluated": self._others.provenance.evaluated,
            }
            looked_on = f", and {self._others.provenance.method} looked on"
        evaluated = state.counted + (0 if self._others is None else self._others.provenance.evaluated)
        note = f"{ending.note} after {state.settled:,} of {spell_count(self.total)} nodes were settled{looked_on}"
        provenance = Provenance("exact", evaluated, False, self.seed, seconds, note, details, points="counted")
        front = make_front(self.problem, self.lattice, genomes, numbers, provenance, self.ties)
        return self._with_floors(replace(front, cloud=state.cloud), state)

    def _all_met(self, state: State) -> tuple[np.ndarray, Numbers]:
        """The genomes of nodes that were met in any way and may be on the front, each once, and their numbers."""
        lattice = self.lattice
        nodes = (state.best, state.reached, self._reached)
        parts = [_best_of(part) for part in nodes if part is not None and len(part.which)]
        genomes = [lattice.levels(part.which) for part in parts]
        if self._others is not None:
            parts.append(self._others.numbers)
            genomes.append(self._others.genomes)
        numbers = join(parts, len(self.problem.objectives))
        levels = np.concatenate([np.zeros((0, len(lattice.genes)), dtype=np.int64), *genomes])
        rows = np.column_stack((levels, numbers.thresholds, numbers.keys))
        _, first = np.unique(rows, axis=0, return_index=True)
        return levels[first], replace(numbers.take(first), which=np.arange(len(first)))

    def _with_floors(self, front: Front, state: State) -> Front:
        """The front with what no recoding can beat at each point's k, where that is known."""
        numbered = self.total < MOST_NODES
        way = find_way(self.problem)
        floors = self._floors or self._prove(self.limit)
        if len(front) == 0:
            return front
        if floors is None:
            note = f"{front.provenance.note}; nothing is proven of what it missed"
            return replace(front, provenance=replace(front.provenance, note=note))
        whole = numbered and way.fixed and floors.groups[0].columns == tuple(way.fixed)
        settled = settled_parts(self.problem, way, state.done) if whole else None
        least = floors.at(front.numbers, settled)
        gaps = [
            (value - floor) / value
            for value, floor in zip(front.numbers.values.ravel().tolist(), least.ravel().tolist(), strict=True)
            if math.isfinite(floor) and value > 0
        ]
        details = {**front.provenance.details, "largest_gap": max(gaps, default=0.0)}
        note = f"{front.provenance.note}; at its k no recoding loses less than each point's floor"
        return replace(front, floors=least, provenance=replace(front.provenance, details=details, note=note))


def _best_of(part: Numbers) -> Numbers:
    """The feasible rows that no other of them beats: millions may have been met, and no other can be a point."""
    feasible = np.flatnonzero(part.feasible)
    return part.take(feasible[non_dominated(part.keys[feasible])])


def pack_state(state: State) -> Arrays:
    """Where a search stands, as a checkpoint holds it: the front so far and how much is settled."""
    counts = np.array([state.done, state.counted, state.settled], dtype=np.int64)
    return {"counts": counts, "cloud": state.cloud, **numbers_arrays(state.best)}


def state_from(arrays: Arrays) -> State:
    """The state that a checkpoint holds."""
    done, counted, settled = (int(n) for n in arrays["counts"])
    return State(done, counted, settled, numbers_from(arrays), arrays["cloud"])


# -- small spaces of cuts ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class NumberedCuts:
    """The recodings of a space by their numbers, from 0 on; the digits of the last column move fastest."""

    space: Cuts

    @cached_property
    def digits(self) -> tuple[np.ndarray, ...]:
        """What each digit stands for, side by side the genome: (values, genes of the digit) uint8."""
        bit = np.array([[0], [1]], dtype=np.uint8)
        columns = zip(self.space.hierarchies, self.space.free, self.space.gaps, strict=True)
        return tuple(
            digit
            for h, free, gaps in columns
            for digit in ([bit] * len(gaps) if free else [tree_cuts(h.tree, root) for root in h.roots])
        )

    @cached_property
    def block(self) -> int:
        """How many recodings agree in all but the last digits; one where the last digit alone has more than BLOCK."""
        size = 1
        for digit in reversed(self.digits):
            if size * len(digit) > BLOCK:
                break
            size *= len(digit)
        return size

    def genomes(self, numbers: np.ndarray) -> np.ndarray:
        """The genomes of some recodings: (n, genes) int64."""
        parts, rest = [np.zeros((len(numbers), 0), dtype=np.uint8)], np.asarray(numbers, dtype=np.int64)
        for digit in reversed(self.digits):
            parts.append(digit[rest % len(digit)])
            rest = rest // len(digit)
        return np.hstack(parts[::-1]).astype(np.int64)


def _improves(measure: Measure) -> bool | None:
    """Whether a measure never gets worse when classes merge (True), never better (False), or promises nothing."""
    trend = measure.trend.get("none", "either")
    return None if trend == "either" else (trend == "rises") == (measure.better == "higher")


@dataclass(eq=False)
class ExactCuts:
    """The exact search over a small space of cuts, driven block by block."""

    problem: Problem
    space: Cuts
    ties: Ties = "all"
    threads: int | None = None
    seed: int = 1
    began: float = field(default_factory=working)

    @property
    def total(self) -> int:
        """The recodings of the space."""
        return self.space.size

    @cached_property
    def numbered(self) -> NumberedCuts:
        """Its recodings by number."""
        return NumberedCuts(self.space)

    def fingerprint(self) -> str:
        """The job and how ties are kept; threads change nothing."""
        return job_print(self.problem, self.space, "exact", self.ties)

    def go(self, known: Arrays | None, tell: Tell, kept: Kept[State]) -> Front:
        """Count all blocks that are not proven to hold nothing."""
        if self.total > MOST_CUTS:
            remedy = Remedy(
                "choose-search", "Take another search for them, such as nsga2 or improve, or fewer columns or values."
            )
            raise BadJob(
                f"The space {self.space.kind!r} has {spell_count(self.total)} recodings here, and the exact search "
                f"counts up to {MOST_CUTS:,} of such a space.",
                remedy=remedy,
            )
        state = nothing_counted(self.problem) if known is None else state_from(known)
        for now in self._states(state):
            state = now
            kept.take(now)
            tell(now.settled, lambda: state.best)  # noqa: B023 (used at once)
        return self._front(state)

    def _states(self, state: State) -> Iterator[State]:
        size, share = self.numbered.block, min(1.0, CLOUD / self.total)
        bar = self._first_keys()
        for start in range(state.done * size, self.total, size * TOGETHER):
            firsts = np.arange(start, min(start + size * TOGETHER, self.total), size, dtype=np.int64)
            open_blocks = firsts[~self._beaten(firsts, np.concatenate((bar, state.best.keys)))]
            numbers = (open_blocks[:, None] + np.arange(size)).ravel()
            part = self.problem.evaluate(self.space, self.numbered.genomes(numbers), self.threads)
            merged = merge_part(state, replace(part, which=numbers[part.which]), len(numbers), self.ties, share)
            state = replace(merged, done=state.done + len(firsts), settled=state.settled + size * len(firsts))
            yield state

    def _first_keys(self) -> np.ndarray:
        """The keys of some good recodings, which many blocks can be judged by from the beginning: (n, objectives)."""
        if None in self._trends:
            return np.zeros((0, len(self.problem.objectives)), dtype=np.int64)
        numbers = self.problem.evaluate(self.space, lattice_starts(self.problem, self.space, threads=self.threads))
        return numbers.keys[numbers.feasible]

    @cached_property
    def _trends(self) -> list[bool | None]:
        """What each objective promises, where nothing is suppressed; nothing where keys are no whole numbers."""
        counted = self.problem.is_compiled and self.problem.suppression.rule == "none"
        return [_improves(measure) if counted else None for measure in self.problem.objectives]

    @cached_property
    def _can_limit(self) -> bool:
        """Whether no recoding meets the limits whose coarser ones miss them."""
        limits = self.problem.limits
        return self.problem.suppression.rule == "none" and bool(limits) and all(_improves(m) for m, _ in limits)

    def _beaten(self, firsts: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Which blocks, by their first numbers, hold nothing that is not beaten: (blocks,) bool."""
        beaten = np.zeros(len(firsts), dtype=np.bool_)
        if None in self._trends and not self._can_limit:
            return beaten
        both = self.numbered.genomes(np.concatenate((firsts, firsts + self.numbered.block - 1)))
        numbers = self.problem.evaluate(self.space, both, self.threads)
        if None not in self._trends:
            coarse, fine = numbers.keys[: len(firsts)], numbers.keys[len(firsts) :]
            for place, bound in enumerate(np.where(np.array(self._trends, dtype=np.bool_), coarse, fine)):
                beaten[place] = bool(((known <= bound).all(axis=1) & (known < bound).any(axis=1)).any())
        return beaten | ~numbers.feasible[: len(firsts)] if self._can_limit else beaten

    def pack(self, standing: State) -> Arrays:
        """The front so far and how many blocks are settled."""
        return pack_state(standing)

    def front_so_far(self, standing: State | None, ending: Ending) -> Front:
        """The front of what was counted until then."""
        return self._front(nothing_counted(self.problem) if standing is None else standing, ending)

    def _front(self, state: State, ending: Ending | None = None) -> Front:
        complete = state.settled >= self.total
        note = ""
        if not complete and ending is not None:
            note = f"{ending.note} after {state.settled:,} of {self.total:,} recodings were settled"
        provenance = Provenance(
            "exact", state.counted, complete, self.seed, working() - self.began, note, {"settled": state.settled},
            stopped=not complete and ending is not None and ending.stopped, points="exact" if complete else "counted",
        )  # fmt: skip
        genomes = self.numbered.genomes(state.best.which)
        best = replace(state.best, which=np.arange(len(genomes)))
        return replace(make_front(self.problem, self.space, genomes, best, provenance, self.ties), cloud=state.cloud)


# -- floors ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Group:
    """Some columns by themselves: what each combination of their levels reaches and loses."""

    columns: tuple[int, ...]
    ks: np.ndarray  # (combinations,) int64, first column slowest, the largest k of each
    losses: np.ndarray  # (losses, combinations) int64, what each loses without suppression

    def least(self, loss: int, ks: np.ndarray, settled: np.ndarray | None = None) -> np.ndarray:
        """The least loss with at least each k: (n,) int64; NEVER where none has it. Settled ones do not count."""
        open_places = np.arange(len(self.ks)) if settled is None else np.flatnonzero(~settled)
        rising = open_places[np.argsort(self.ks[open_places], kind="stable")]
        least = np.minimum.accumulate(self.losses[loss][rising][::-1])[::-1]
        place = np.searchsorted(self.ks[rising], ks, side="left")
        return np.append(least, NEVER)[place]


@dataclass(frozen=True, eq=False)
class Floors:
    """Groups of columns, the first one that a search fixes."""

    problem: Problem
    objectives: tuple[int, ...]  # which objectives are losses that have a floor
    groups: tuple[Group, ...]

    def at(self, points: Numbers, settled: np.ndarray | None = None) -> np.ndarray:
        """What each objective of each point is at the least at its k, nan where nothing is known: (n, objectives).

        settled: (combinations of the first group,) bool, those below which every recoding was counted or beaten.
        """
        values = np.full(points.values.shape, np.nan)
        ks = self._ks(points)
        for loss, objective in enumerate(self.objectives):
            known = _best_at(ks, points.values[:, objective])
            floor = np.zeros(len(ks), dtype=np.float64)
            for place, group in enumerate(self.groups):
                least = group.least(loss, ks, settled if place == 0 else None)
                floor += np.where(least == NEVER, np.inf, least)
            least_value = _floor(self.problem, objective).value(self.problem.table, floor)
            values[:, objective] = np.where(least_value < known, least_value * (1 - 1e-12), known)
        return values

    def _ks(self, points: Numbers) -> np.ndarray:
        """The k that a recoding must have to stand beside each point: its own, or the least that a limit asks."""
        for place, measure in enumerate(self.problem.objectives):
            if is_smallest_class(measure):  # by values: keys of partitions are other numbers than those of the loops
                numbers = points.values[:, place]
                sizes = numbers if measure.better == "higher" else 1 / np.maximum(numbers, 1e-300)
                ks: np.ndarray = np.rint(np.minimum(sizes, self.problem.table.rows + 1)).astype(np.int64)
                return ks
        asked = [threshold for measure, threshold in self.problem.limits if measure.name == "k"]
        return np.full(len(points.which), int(np.ceil(max(asked, default=0.0) - 1e-9)), dtype=np.int64)


def _best_at(ks: np.ndarray, losses: np.ndarray) -> np.ndarray:
    """The least of the losses at the same k or a larger one, for each point."""
    order = np.lexsort((losses, -ks))
    best = np.minimum.accumulate(losses[order])
    last = np.searchsorted(-ks[order], -ks, side="right") - 1
    least: np.ndarray = best[last]
    return least


def losses_with_floors(problem: Problem) -> tuple[int, ...]:
    """Which objectives have a floor: losses that add up over columns, unless the rule may suppress anything."""
    losses = (place for place, measure in enumerate(problem.objectives) if floor_of(measure) is not None)
    return () if problem.suppression.rule == "below-k" else tuple(losses)


def _floor(problem: Problem, objective: int) -> Floor:
    """How little an objective can be by what each column loses."""
    floor = floor_of(problem.objectives[objective])
    if floor is None:
        raise TypeError("only losses that add up over columns have floors")
    return floor


def make_floors(problem: Problem, fixed: Sequence[int]) -> Floors | None:
    """The floors of a problem whose search fixes these columns first; None where its rule or losses have none.

    Columns of groups that there was no time for count one by one: what they lose together is more, not less. Where
    persons are told apart, k of them in a class are at least k rows, so the floors by rows hold.
    """
    objectives = losses_with_floors(problem)
    if not objectives:
        return None
    groups = [tuple(fixed)] if fixed else []
    groups += _deal(problem.table, [c for c in range(len(problem.table.hierarchies)) if c not in fixed])
    counted: list[Group] = []
    for columns in groups:
        try:
            counted.append(_count(problem, objectives, columns))
        except OutOfTime:
            counted += [_count(problem, objectives, (column,)) for column in columns]
    return Floors(problem, objectives, tuple(counted))


def _deal(table: Table, columns: Sequence[int]) -> list[tuple[int, ...]]:
    """Columns with many values together, as they tell rows apart best; few enough levels to count them all."""
    dealt: list[tuple[int, ...]] = []
    group: tuple[int, ...] = ()
    size = 1
    for column in sorted(columns, key=lambda c: -len(table.occurring[c])):
        levels = table.hierarchies[column].top + 1
        if group and size * levels > GROUP:
            dealt.append(group)
            group, size = (), 1
        group, size = (*group, column), size * levels
    return [*dealt, group] if group else dealt


def _count(problem: Problem, objectives: Sequence[int], columns: tuple[int, ...]) -> Group:
    """The combinations of levels of some columns, unless the time is up; a single one is counted at once."""
    table, halt = problem.table, None
    if len(columns) > 1:
        pause()
        halt = halted_too(np.zeros(1, dtype=np.int64))
    few = project(table, columns)
    rule = Suppression("cap-max-k", int(min(allowed_rows(problem), table.rows)))
    counted = count_nodes(few, Wanted(rule), halt=halt)
    levels = lattice_of(few).levels(counted.nodes)
    losses = np.zeros((len(objectives), len(counted.nodes)), dtype=np.int64)
    for place, objective in enumerate(objectives):
        least = _floor(problem, objective)
        for position, column in enumerate(columns):
            by_level = [least.of_column(table, column, cut) for cut in table.hierarchies[column].shown]
            losses[place] += np.array(by_level, dtype=np.int64)[levels[:, position]]
    return Group(columns, counted.ints[:, K], losses)


def project(table: Table, columns: Sequence[int]) -> Table:
    """The rows by some quasi-identifiers alone; those of a single one are known without looking at the rows."""
    names = tuple(table.schema.quasi[column] for column in columns)
    hierarchies = tuple(table.hierarchies[c] for c in columns)
    if len(columns) == 1:
        rows = table.leaf_rows[columns[0]]
        leaves = np.flatnonzero(rows).astype(table.codes.dtype)
        return Table(Schema(names), hierarchies, leaves[:, None], rows[leaves])
    codes = table.codes[:, list(columns)]
    groups, rows = merge_classes(codes, table.weights[:, None])
    return Table(Schema(names), hierarchies, groups, rows[:, 0])
