"""GENITOR: one child at a time, which takes the place of the worst if it is better (Iyengar 2002; Lunacek et al. 2006).

``genitor`` runs the whole loop compiled, for the losses that ``Score`` knows. ``Genitor`` is the same search behind the
seam, for any measure and any limit.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from kpareto.errors import BadJob
from kpareto.interrupts import OutOfTime, Portions, is_stopped, is_timed
from kpareto.kernels.compiling import working
from kpareto.kernels.words import INFEASIBLE
from kpareto.searches import MOST_GENOMES, Moves, count, one_of, setting, share
from kpareto.searches.cuts.variation import (
    OPERATORS,
    REPAIRS,
    STARTS,
    Crossover,
    Repair,
    Start,
    cross,
    first_genomes,
    immigrate,
    mutate,
    stream,
)
from kpareto.strict import number, truth
from kpareto.tables.cuts import Cuts
from kpareto.tables.lattice import Space

if TYPE_CHECKING:
    from kpareto.searches.cuts.score import Score

CHUNK = 500  # children per call of the compiled loop; states are saved between chunks


@dataclass(frozen=True)
class Settings:
    """How GENITOR breeds. ``iyengar`` and ``lunacek`` below are the papers' settings."""

    population: int = setting(1000, count(2, MOST_GENOMES), "recodings in the population")
    crossover: Crossover = setting("hybrid", one_of(*OPERATORS), "how two parents make a child")
    points: int = setting(2, count(1, 2), "places where parents are cut, of new and hybrid")
    bias: float = setting(1.5, number(1, 2), "the best is so many times as likely a parent as the median")
    mutation: float = setting(0.002, share(below_one=True), "chance of each border to flip")  # then repair (IY-9)
    immigrants: float = setting(0.0, share(below_one=True), "chance of a child to be crossed with a fresh one")  # LU-5
    duplicates: bool = setting(False, truth, "whether the population may hold a recoding twice")
    start: Start = setting("spread", one_of(*STARTS), "how the first recodings are drawn; uniform has the coarsest")
    repair: Repair = setting("nearest", one_of(*REPAIRS), "how a broken child becomes a recoding")
    count_refused: bool = setting(False, truth, "whether a refused duplicate uses up an evaluation")


def iyengar() -> Settings:
    """Iyengar's settings (IY-9): 5,000 genomes, TRAD, 0.002 per bit; his 500,000 iterations are the budget."""
    return Settings(population=5000, crossover="trad", mutation=0.002, duplicates=True, start="spread")


def lunacek(population: int = 200, crossover: Crossover = "new", duplicates: bool = False) -> Settings:
    """Lunacek's settings (LU-3 … LU-7): either crossover, an immigrant for one child in ten; 30,000 evaluations."""
    return Settings(population, crossover, 2, 1.5, 0.0, 0.1, duplicates, "random")


def imply_borders(population: int = 200, crossover: Crossover = "new", duplicates: bool = False) -> Settings:
    """The reading of Lunacek's paper in which NEW beats TRAD (readings.md#lu-implied).

    Borders that others imply are drawn in the first genomes and by the repair, half of NEW's children are crossed with
    fresh ones and none of TRAD's, no bit is flipped, and refused children are counted.
    """
    fresh = 0.0 if crossover == "trad" else 0.5
    return Settings(population, crossover, 2, 1.5, 0.0, fresh, duplicates, "implied", "implied", count_refused=True)


@dataclass(frozen=True, eq=False)
class Result:
    """What a compiled search found, and the state to go on from."""

    genome: np.ndarray  # (genes,) int64, the best
    value: float  # its score, infinite where nothing feasible was met
    evaluations: int  # as the papers count: a genome that the population holds is not evaluated again
    distinct: int  # genomes really scored
    trace: np.ndarray  # (points, 3) float64: evaluations, best value so far, distinct genomes so far
    population: np.ndarray  # (size, genes) int64, best first
    values: np.ndarray  # (size,) float64, their scores
    state: dict[str, np.ndarray] = field(repr=False)  # arrays that continue the run bit by bit (numpy.savez takes them)
    converged: bool = False  # nothing new was bred any more


Progress = Callable[[int, float], bool]  # evaluations so far, best value -> False to stop
Keep = Callable[[Callable[[], Result]], None]  # given a function that tells where the search stands, good for later


def genitor(  # noqa: PLR0913 (keywords, each a choice of its own)
    score: Score,
    budget: int,
    seed: int = 1,
    settings: Settings | None = None,
    seeds: np.ndarray | None = None,
    resume: dict[str, np.ndarray] | None = None,
    progress: Progress | None = None,
    keep: Keep | None = None,
) -> Result:
    """Minimize a score over the genomes of its space within a budget of evaluations.

    ``seeds`` are genomes (n, genes) to begin with, such as the embedded lattice front. ``resume`` is the state of an
    interrupted run with the same score, seed, settings and budget; the result is then that of a run never interrupted.
    ``keep`` is called before each chunk of children. Out of time within the first population, what was scored of it is
    the result, and there is no state to go on from.
    """
    from kpareto.kernels.cuts.genitor import Breeding, GenomePopulation, MemoRoom, genitor_steps  # no job but its own

    chosen = settings or Settings()
    if budget < 1:
        raise BadJob(f"The budget is {budget} evaluations. Give at least 1.")
    state = _begin(score, chosen, seed, seeds) if resume is None else {k: v.copy() for k, v in resume.items()}
    portions = Portions(clock=working)
    if resume is None and is_stopped():
        return replace(_result(score, state, budget), state={})
    space = score.space
    breeding = Breeding(
        OPERATORS[chosen.crossover], chosen.points, float(chosen.bias), float(chosen.immigrants),
        float(chosen.mutation), chosen.duplicates, REPAIRS[chosen.repair], STARTS[chosen.start], chosen.count_refused,
    )  # fmt: skip
    trace = [] if len(state["trace"]) == 0 else [state["trace"]]
    patience = 50 * chosen.population + 10_000  # children in a row that the population already holds

    def stand() -> Result:
        # Copies: the next chunk is bred in the arrays themselves.
        now = {name: array.copy() for name, array in state.items()}
        return _result(score, now | {"trace": np.concatenate(trace) if trace else np.zeros((0, 3))}, patience)

    while int(state["tallies"][1]) < budget and int(state["tallies"][3]) < patience:
        if keep is not None:
            keep(stand)
        _grow(state)
        population = GenomePopulation(state["population"], state["scores"], state["ranks"], state["places"])
        memo = MemoRoom(state["packed"], state["known"], state["inside"], state["table"], state["tallies"])
        with suppress(OutOfTime):  # where the time is limited, fewer at a time
            for portion in portions.of(CHUNK) if is_timed() else [slice(0, CHUNK)]:
                genitor_steps(
                    min(portion.stop, CHUNK) - portion.start, budget, population, memo, state["stream"], breeding,
                    space.gene_places, space.trees, score.scoring,
                )  # fmt: skip
        best = float(score.value(state["scores"][state["ranks"][:1]])[0])
        done = int(state["tallies"][1])
        trace.append(np.array([[done, best, int(state["tallies"][0])]], dtype=np.float64))
        if (progress is not None and not progress(done, best)) or is_stopped():
            break
    state["trace"] = np.concatenate(trace) if trace else np.zeros((0, 3))
    return _result(score, state, patience)


def _result(score: Score, state: dict[str, np.ndarray], patience: int) -> Result:
    order = state["ranks"]
    values = score.value(state["scores"][order])
    return Result(
        state["population"][order[0]].astype(np.int64),
        float(values[0]),
        int(state["tallies"][1]),
        int(state["tallies"][0]),
        state["trace"],
        state["population"][order].astype(np.int64),
        values,
        state,
        int(state["tallies"][3]) >= patience,
    )


def _begin(score: Score, settings: Settings, seed: int, seeds: np.ndarray | None) -> dict[str, np.ndarray]:
    """The first population, scored and ranked, and an empty memo that knows it."""
    space = score.space
    rng = np.random.default_rng(seed)
    genomes = first_genomes(space, settings.population, rng, settings.start, () if seeds is None else seeds)
    population = np.ascontiguousarray(genomes, dtype=np.uint8)
    size, genes = population.shape
    scores, scored = np.full(size, INFEASIBLE, dtype=np.float64), 0
    with suppress(OutOfTime):
        for portion in Portions(clock=working).of(size) if is_timed() else [slice(0, size)]:
            scores[portion] = score.raw(population[portion])
            scored = min(portion.stop, size)
    words = -(-max(genes, 1) // 64)
    padded = np.zeros((size, 64 * words), dtype=np.uint8)
    padded[:, :genes] = population
    packed = np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
    table = np.full(_room(2 * size), -1, dtype=np.int32)
    _rebuild(packed, size, table)
    return {
        "population": population,
        "scores": scores,
        "ranks": np.argsort(scores, kind="stable").astype(np.int64),
        "places": np.arange(size, dtype=np.int64),
        "packed": packed,
        "known": scores.copy(),
        "inside": np.ones(size, dtype=np.int32),
        "table": table,
        "tallies": np.array([size, scored, 0, 0], dtype=np.int64),
        "stream": stream(rng),
        "trace": np.zeros((0, 3)),
    }


def _room(entries: int) -> int:
    return 1 << max(10, (2 * entries).bit_length())


def _grow(state: dict[str, np.ndarray]) -> None:
    """Room in the memo for another chunk."""
    used = int(state["tallies"][0])
    if used + CHUNK <= len(state["known"]):
        return
    size = 2 * (used + CHUNK)
    for name in ("packed", "known", "inside"):
        old = state[name]
        state[name] = np.zeros((size, *old.shape[1:]), dtype=old.dtype)
        state[name][:used] = old[:used]
    state["table"] = np.full(_room(size), -1, dtype=np.int32)
    _rebuild(state["packed"], used, state["table"])


def _rebuild(packed: np.ndarray, used: int, table: np.ndarray) -> None:
    from kpareto.kernels.cuts.genitor import memo_rebuild

    memo_rebuild(packed, used, table)


@dataclass(frozen=True)
class Genitor:
    """GENITOR behind the seam: minimizes one objective of any problem, ties by the others; infeasible genomes are last.

    It wants a k that is given (the rule below-k, or a limit): with k among the objectives take nsga2 or flip.
    Children are bred ``together`` from one population and inserted one after the other; 1 is the paper's order.
    """

    settings: Settings = field(default_factory=Settings)
    seeds: np.ndarray | None = None  # (n, genes) genomes to begin with
    together: int = 8
    objective: int = 0  # the place of the objective to be minimized
    name: str = "genitor"

    def moves(self, space: Space, rng: np.random.Generator) -> Moves:
        """Propose the first population, then children until 50 populations of them have changed nothing."""
        if not isinstance(space, Cuts):
            raise BadJob(
                "GENITOR breeds cuts. Take the space 'cuts' or 'order', or the search 'exact' for the lattice."
            )
        chosen = self.settings
        genomes = first_genomes(space, chosen.population, rng, chosen.start, () if self.seeds is None else self.seeds)
        numbers = yield genomes
        ranked = sorted(
            (self._merit(bool(f), int(s), key), i)
            for i, (f, s, key) in enumerate(
                zip(numbers.feasible, numbers.suppressed, numbers.keys.tolist(), strict=True)
            )
        )
        population = [(merit, genomes[i]) for merit, i in ranked]
        members = {genome.tobytes() for _, genome in population}
        idle = 0
        while idle < 50 * chosen.population:
            children = self._children(space, population, rng)
            fresh = [c for c in children if chosen.duplicates or c.tobytes() not in members]
            if not fresh:
                fresh = list(immigrate(space, children, rng, 1.0, chosen.start))
            batch = np.array(fresh, dtype=np.int64)
            numbers = yield batch
            idle += len(batch)
            for child, f, s, key in zip(
                batch, numbers.feasible, numbers.suppressed, numbers.keys.tolist(), strict=True
            ):
                merit = self._merit(bool(f), int(s), key)
                if merit >= population[-1][0] or (not chosen.duplicates and child.tobytes() in members):
                    continue
                members.discard(population.pop()[1].tobytes())
                members.add(child.tobytes())
                idle = 0
                bisect.insort(population, (merit, child), key=lambda member: member[0])

    def _merit(self, feasible: bool, suppressed: int, keys: list[int]) -> tuple[int, ...]:
        """Lower is better: feasible ones first and by their keys, the others by the rows they suppress."""
        ordered = (keys[self.objective], *keys[: self.objective], *keys[self.objective + 1 :])
        return (0, *ordered) if feasible else (1, suppressed, *ordered)

    def _children(
        self, space: Cuts, population: list[tuple[tuple[int, ...], np.ndarray]], rng: np.random.Generator
    ) -> np.ndarray:
        """Children of parents chosen by rank (LU-6: up to ten pairs where the parents share no safe cut)."""
        chosen, size = self.settings, len(population)
        children = np.zeros((self.together, len(space.genes)), dtype=np.int64)
        waiting = np.arange(self.together)
        for _ in range(10):
            one, two = (_ranks(size, chosen.bias, rng.random(len(waiting))) for _ in range(2))
            ones = np.array([population[i][1] for i in one])
            twos = np.array([population[i][1] for i in two])
            children[waiting], has_child = cross(space, ones, twos, rng, chosen.crossover, chosen.points, chosen.repair)
            waiting = waiting[~has_child]
            if len(waiting) == 0:
                break
        if len(waiting):
            children[waiting] = immigrate(space, children[waiting], rng, 1.0, chosen.start)
        if chosen.immigrants:
            children = immigrate(space, children, rng, chosen.immigrants, chosen.start)
        return mutate(space, children, rng, chosen.mutation, chosen.repair) if chosen.mutation else children


def _ranks(size: int, bias: float, chance: np.ndarray) -> np.ndarray:
    """Ranks drawn with linear bias (Whitley 1989): (n,) int64."""
    if bias <= 1:
        return (chance * size).astype(np.int64)
    return (size * (bias - np.sqrt(bias * bias - 4 * (bias - 1) * chance)) / (2 * (bias - 1))).astype(np.int64)
