"""Problem: a table, what is to be optimized, what is limited, how rows are suppressed -> numbers for recodings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kpareto import measures as _measures  # noqa: F401  (fills the table of names)
from kpareto.batch import CutCounter, fits_batch
from kpareto.compiled import Translation, columns_meant, model_kind, real_keys, translate
from kpareto.errors import BadJob
from kpareto.measure import Measure, Model, exact, make, parameters_of
from kpareto.partition import Partition, Suppression, partition, partitions
from kpareto.recoding import Recoding
from kpareto.rollup import Counted, HistLimit, count_parts, fits
from kpareto.space import Lattice, Space
from kpareto.table import Table

EMPTY = 2**62  # the k of a release without rows


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers about many recodings, one row each; cap-threshold gives a recoding several rows."""

    which: np.ndarray  # (n,) int64, node number, or place among the genomes given
    thresholds: np.ndarray  # (n,) int64, classes smaller than this are suppressed (0 under none and constraint)
    values: np.ndarray  # (n, objectives) float64, each in its own unit
    keys: np.ndarray  # (n, objectives) int64, lower is better, compared exactly
    feasible: np.ndarray  # (n,) bool, limits met and something is released
    suppressed: np.ndarray  # (n,) int64, rows

    def take(self, chosen: np.ndarray) -> Numbers:
        """Some of the rows."""
        return Numbers(
            self.which[chosen],
            self.thresholds[chosen],
            self.values[chosen],
            self.keys[chosen],
            self.feasible[chosen],
            self.suppressed[chosen],
        )


def join(parts: Sequence[Numbers], objectives: int) -> Numbers:
    """Rows of several parts, one after the other."""
    if not parts:
        none = np.zeros(0, dtype=np.int64)
        table = np.zeros((0, objectives))
        return Numbers(none, none, table, table.astype(np.int64), none.astype(np.bool_), none)
    return Numbers(
        np.concatenate([part.which for part in parts]),
        np.concatenate([part.thresholds for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.feasible for part in parts]),
        np.concatenate([part.suppressed for part in parts]),
    )


@dataclass(frozen=True, eq=False)
class Problem:
    """What is counted, optimized and limited.

    ``limits`` are thresholds on measures: at least for measures that are better higher, else at most. Under the rule
    constraint they decide which classes are suppressed, so they must be privacy models; under the other rules they
    only say which recodings count.
    """

    table: Table
    objectives: tuple[Measure, ...]
    suppression: Suppression
    limits: tuple[tuple[Measure, float], ...] = ()

    def __post_init__(self) -> None:
        for measure in self.objectives:
            if not isinstance(measure, Measure) or measure.better not in ("lower", "higher"):
                raise BadJob(
                    f"{measure!r} is no measure. Give a name such as 'glm', or an object with name, better ('lower' or "
                    "'higher'), unit, trend and a call that takes a Partition (kpareto.measure.Number makes one)."
                )
        names = [measure.name for measure in self.objectives]
        if not names:
            raise BadJob("No objective is given. Name at least one measure, such as k or glm.")
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise BadJob(f"The objective {twice!r} is named twice. Name it once.")
        if self.suppression.rule == "constraint":
            for measure, _ in self.limits:
                if not isinstance(measure, Model):
                    raise BadJob(
                        f"Under the rule constraint each class must pass every limit, and {measure.name!r} is not a "
                        "number about a class. Limit it under another rule, or take a privacy model such as k or l."
                    )

    @property
    def class_wise(self) -> bool:
        """Whether the limits decide class by class what is suppressed."""
        return self.suppression.rule == "constraint"

    @property
    def better(self) -> np.ndarray:
        """+1 where higher is better, -1 where lower is: (objectives,) int64."""
        return np.array([1 if m.better == "higher" else -1 for m in self.objectives], dtype=np.int64)

    @cached_property
    def _watched(self) -> tuple[Measure, ...]:
        """The objectives, then the limited measures (not needed where classes were judged one by one)."""
        return (*self.objectives, *(() if self.class_wise else (measure for measure, _ in self.limits)))

    @cached_property
    def translation(self) -> Translation | None:
        """How the compiled kernels count this, or None where they cannot."""
        class_limits: list[HistLimit] = []
        for measure, threshold in self.limits if self.class_wise else ():
            known = parameters_of(measure)
            if known is None:
                return None
            name, parameters = known
            if name == "k":
                class_limits.append(HistLimit(-1, threshold))
                continue
            kind = model_kind(name, parameters)
            if kind is None:
                return None
            columns = columns_meant(self.table, parameters)
            class_limits += [HistLimit(kind[0], threshold, counts, kind[1]) for counts in columns]
        if self.class_wise and len(self.suppression.fails) != len(self.limits):
            return None  # a user's own class-wise rule
        return translate(self.table, self._watched, self.suppression, tuple(class_limits))

    # -- reading numbers ---------------------------------------------------------------------------------------------

    def read(self, translation: Translation, counted: Counted) -> Numbers:
        """The numbers of counted nodes."""
        values = np.stack([reading.value(counted) for reading in translation.readings], axis=1).astype(np.float64)
        keys = np.stack([reading.key(counted) for reading in translation.readings], axis=1).astype(np.int64)
        count = len(self.objectives)
        released = counted.ints[:, 0] < EMPTY
        feasible = released & self._meets(values[:, count:])
        suppressed = counted.ints[:, 1]
        if self.class_wise:
            feasible &= suppressed <= self.suppression.allowed(self.table.rows)
        return Numbers(counted.nodes, counted.thresholds, values[:, :count], keys[:, :count], feasible, suppressed)

    def _meets(self, values: np.ndarray) -> np.ndarray:
        """Which rows of limited values (n, limits) meet all limits."""
        met = np.ones(len(values), dtype=np.bool_)
        for place, (measure, threshold) in enumerate(() if self.class_wise else self.limits):
            slack = 1e-12 * max(1.0, abs(threshold))
            if measure.better == "higher":
                met &= values[:, place] >= threshold - slack
            else:
                met &= values[:, place] <= threshold + slack
        return met

    def by_partitions(self, made: Sequence[tuple[int, Partition]]) -> Numbers:
        """The same numbers from partitions, for measures the kernels do not know."""
        watched, count = self._watched, len(self.objectives)
        values = np.array([[m(p) for m in watched] for _, p in made], dtype=np.float64).reshape(-1, len(watched))
        for place, measure in enumerate(watched):
            if np.isnan(values[:, place]).any():
                raise BadJob(f"The measure {measure.name!r} gave no number (NaN) for a recoding. Mend its function.")
        keys = np.zeros((len(made), count), dtype=np.int64)
        for place, measure in enumerate(self.objectives):
            exacts = [exact(measure, p) for _, p in made]
            reals = [v if e is None else float(e) for e, v in zip(exacts, values[:, place].tolist(), strict=True)]
            keys[:, place] = real_keys(np.array(reals, dtype=np.float64), measure.better == "higher")
        released = np.array([p.feasible and not p.empty for _, p in made], dtype=np.bool_)
        return Numbers(
            np.array([which for which, _ in made], dtype=np.int64),
            np.array([_threshold(p) for _, p in made], dtype=np.int64),
            values[:, :count],
            keys,
            released & self._meets(values[:, count:]),
            np.array([p.suppressed_rows for _, p in made], dtype=np.int64),
        )

    # -- counting ----------------------------------------------------------------------------------------------------

    def whole_lattice(self, threads: int | None = None) -> Iterator[Numbers]:
        """The numbers of every node, part by part, in a fixed order."""
        lattice = Lattice(self.table.hierarchies)
        translation = self.translation
        if translation is not None and fits(self.table, translation.wanted):
            for counted in count_parts(self.table, translation.wanted, threads):
                yield self.read(translation, counted)
            return
        step = 1024
        for start in range(0, lattice.size, step):
            nodes = np.arange(start, min(start + step, lattice.size), dtype=np.int64)
            numbers = self.evaluate(lattice, lattice.levels(nodes), threads)
            yield replace(numbers, which=nodes[numbers.which])

    def evaluate(self, space: Space, genomes: np.ndarray, threads: int | None = None) -> Numbers:
        """The numbers of some genomes of a space; ``which`` is the place among the genomes."""
        translation = self.translation
        if translation is not None and fits_batch(self.table, translation.wanted):
            counted = self._counter.count(space.cuts(genomes), threads)
            return self.read(translation, counted)
        made: list[tuple[int, Partition]] = []
        for place, genome in enumerate(genomes):
            made += [(place, p) for p in partitions(self.table, space.decode(genome), self.suppression)]
        return self.by_partitions(made)

    @cached_property
    def _counter(self) -> CutCounter:
        translation = self.translation
        if translation is None:
            raise TypeError("the kernels do not know these measures")
        return CutCounter(self.table, translation.wanted)

    def partition(self, recoding: Recoding, threshold: int = 0) -> Partition:
        """The partition behind one row of numbers, with the suppression threshold it was counted with."""
        if self.suppression.rule == "cap-threshold":
            return partition(
                self.table, recoding, Suppression("below-k", k=max(threshold, 1), rows=self.suppression.rows)
            )
        return partition(self.table, recoding, self.suppression)


def _threshold(made: Partition) -> int:
    """The class size from which on classes are kept."""
    kept = made.sizes[~made.suppressed]
    return int(kept.min()) if len(kept) and made.rule in ("below-k", "cap-max-k", "cap-threshold") else 0


def problem(
    table: Table,
    objectives: Sequence[str | Measure] = ("k", "glm"),
    suppression: Suppression | float = 0.0,
    limits: Mapping[str, float] | None = None,
) -> Problem:
    """A Problem from words: measures by name, a bare number meaning cap-max-k with that limit.

    Under the rule constraint the class-wise rules are made from the limits.
    """
    chosen = tuple(make(m) if isinstance(m, str) else m for m in objectives)
    rule = suppression if isinstance(suppression, Suppression) else Suppression("cap-max-k", suppression)
    pairs = tuple((make(name), _finite(name, threshold)) for name, threshold in (limits or {}).items())
    if rule.rule == "constraint" and not rule.fails:
        raise BadJob("The rule constraint needs at least one limit, such as k = 5. Give limits.")
    return Problem(table, chosen, rule, pairs)


def constrained(limits: Mapping[str, float], limit: float = 0.0, rows: str = "drop") -> Suppression:
    """The suppression rule constraint made of limits on privacy models by name: classes that miss one go."""
    fails = []
    for name, threshold in limits.items():
        model = make(name)
        if not isinstance(model, Model):
            raise BadJob(f"{name!r} is not a number about a class, so it cannot decide which classes are suppressed.")
        fails.append(model.fails(_finite(name, threshold)))
    return Suppression("constraint", limit, rows="mask" if rows == "mask" else "drop", fails=tuple(fails))


def _finite(name: str, threshold: float) -> float:
    if isinstance(threshold, bool) or not math.isfinite(threshold):
        raise BadJob(f"The limit on {name!r} is {threshold!r}. Give a finite number.")
    return float(threshold)
