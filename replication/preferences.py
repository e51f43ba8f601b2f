"""Adult as Dewri and others have it in 2009: 105 borders, NSGA-II with a preference, and the answers of its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kpareto.fronts.dominance import achievement, prefer, preference_deviation
from kpareto.fronts.problem import Problem
from kpareto.measures.cells import nwp
from kpareto.measures.measure import Measure, make
from kpareto.searches.cuts.nsga2 import Nsga2, Preference, Ranked
from kpareto.searches.proposals import Memo
from kpareto.tables.cuts import Cuts
from kpareto.tables.hierarchy import flat
from kpareto.tables.partition import Suppression
from kpareto.tables.table import Table
from replication.page import each

EVALUATIONS = 50_000  # as printed
MUTATION = 0.001  # a flip in every tenth genome of 105 bits
BORDERS = {"age": 19, "workclass": 6, "education": 15, "marital-status": 6, "occupation": 13, "race": 4, "sex": 1,
           "native-country": 40, "salary-class": 1}  # fmt: skip


@dataclass(frozen=True)
class Task:
    """One run."""

    k: int = 5
    point: tuple[float, float] = (0.2, 1.0)
    weights: str = "wv1"
    population: int = 100
    evaluations: int = EVALUATIONS
    seed: int = 1
    seeded: bool = True  # the recoding that generalizes everything is in the first population


@dataclass(frozen=True)
class Outcome:
    """The answer of one run and the set it was chosen from."""

    task: Task
    values: np.ndarray  # (feasible members, 3) float64: k, NWP, NECD; distinct genomes
    answer: int  # place of the answer among them, -1 where none is feasible
    unique: bool  # whether it is the only one with the least achievement
    groups: Mapping[str, int]
    cut: np.ndarray  # (20,) int32, groups of the age cells
    counted: int  # distinct recodings
    copies: int  # members of the last population that another one equals

    @property
    def k(self) -> float:
        """The k of the answer."""
        return float(self.values[self.answer, 0])

    @property
    def losses(self) -> np.ndarray:
        """NWP and NECD of the answer."""
        return self.values[self.answer, 1:]

    @property
    def deviation(self) -> float:
        """How far the answer is from the preference, on the whole (GE-7)."""
        return float(preference_deviation(self.losses, self.task.point))

    @property
    def vectors(self) -> int:
        """How many different trade-offs the feasible members have."""
        return len(np.unique(np.round(self.values, 12), axis=0))

    def undominated(self) -> bool:
        """Whether no feasible member has less of one loss and no more of the other."""
        other, mine = self.values[:, 1:], self.losses
        return not bool(((other <= mine).all(axis=1) & (other < mine).any(axis=1)).any())

    def numbers(self) -> dict[str, object]:
        """For the page's JSON."""
        return {
            "task": vars(self.task), "k": self.k, "nwp": self.losses[0], "necd": self.losses[1],
            "deviation": self.deviation, "feasible": len(self.values), "vectors": self.vectors, "unique": self.unique,
            "groups": dict(self.groups), "counted": self.counted, "copies": self.copies,
        }  # fmt: skip


def move_country(table: Table) -> Table:
    """The table with the United States in the middle of the order of countries instead of at its end.

    The paper does not print its order. With most rows at an end, one cut after it makes two groups out of anything.
    """
    column = table.column("native-country")
    plain = table.hierarchies[column]
    first, *others = plain.leaves
    half = len(others) // 2
    order = [*others[:half], first, *others[half:]]
    moved = replace(flat("native-country", order), ordered=True, loss=plain.loss)
    return table.bind({"native-country": moved})


def weight_vectors() -> dict[str, Mapping[str, float] | None]:
    """Our five weight vectors; the paper's own are only in a figure (readings.md#weight-vectors)."""

    def rest(**chosen: float) -> dict[str, float]:
        named = {name.replace("_", "-"): weight for name, weight in chosen.items()}
        left = (1 - sum(named.values())) / (len(BORDERS) - len(named))
        return {name: named.get(name, left) for name in BORDERS}

    total = sum(BORDERS.values())
    return {
        "wv1": None,
        "wv2": {name: borders / total for name, borders in BORDERS.items()},
        "wv3": rest(age=0.4, education=0.3),
        "wv4": rest(occupation=0.3, salary_class=0.3),
        "wv5": rest(native_country=0.5),
    }


@dataclass(frozen=True, eq=False)
class Lab:
    """The table and space all runs share."""

    table: Table
    space: Cuts
    vectors: Mapping[str, Mapping[str, float] | None]
    done: dict[Task, Outcome] = field(default_factory=dict)  # runs made so far: some serve two figures

    def runs(self, tasks: Sequence[Task]) -> list[Outcome]:
        """The outcomes of some tasks, each run once."""
        new = [task for task in dict.fromkeys(tasks) if task not in self.done]
        self.done.update(zip(new, each(self.run, new), strict=True))
        return [self.done[task] for task in tasks]

    def problem(self, weights: str) -> Problem:
        """k, NWP with these weights, NECD; nothing is suppressed."""
        losses: tuple[Measure, ...] = (make("k"), nwp(self.vectors[weights]), make("necd"))
        return Problem(self.table, losses, Suppression("none"))

    def run(self, task: Task) -> Outcome:
        """NSGA-II as printed, generation by generation, and its answer."""
        judged = self.problem(task.weights)
        nothing = np.zeros((1, len(self.space.genes)), dtype=np.int64)
        search = Nsga2(
            population=task.population,
            preference=Preference(task.point, task.k),
            seeds=nothing if task.seeded else None,
            generations=task.evaluations // task.population - 1,
            mutation=MUTATION,
        )
        memo, last = Memo(judged, self.space), None
        rng = np.random.default_rng(task.seed)
        genomes = self._first(search, rng)
        for _ in range(task.evaluations // task.population):
            fresh = memo.missing(genomes)
            if len(fresh):
                memo.add(fresh, judged.evaluate(self.space, fresh, 1))
            members = search.members(genomes, memo.numbers(genomes))
            last = search.survivors(members if last is None else last.members.join(members))
            genomes = search.breed(self.space, last, rng)
        if last is None:
            raise TypeError("a run has at least one generation")
        return self._outcome(task, memo, last)

    def _first(self, search: Nsga2, rng: np.random.Generator) -> np.ndarray:
        return next(search.moves(self.space, rng))

    def _outcome(self, task: Task, memo: Memo, last: Ranked) -> Outcome:
        genomes = np.unique(last.members.genomes, axis=0)
        copies = len(last.members.genomes) - len(genomes)
        values = memo.numbers(genomes).values
        fits = values[:, 0] >= task.k
        genomes, values = genomes[fits], values[fits]
        if len(values) == 0:
            return Outcome(task, values, -1, False, {}, np.zeros(20, dtype=np.int32), len(memo), copies)
        chosen = prefer(values[:, 1:], task.point)
        reached = achievement(values[:, 1:], task.point)
        unique = int((reached <= reached[chosen] + 1e-12).sum()) == 1
        cut = self.space.decode(genomes[chosen]).cuts[self.table.column("age")]
        return Outcome(task, values, chosen, unique, groups_of(self.space, genomes[chosen]), cut, len(memo), copies)


def groups_of(space: Cuts, genome: np.ndarray) -> Mapping[str, int]:
    """Groups per column of one genome (GE-8)."""
    cuts = space.decode(genome).cuts
    return {hierarchy.name: int(cut[-1]) + 1 for hierarchy, cut in zip(space.hierarchies, cuts, strict=True)}
