"""Problem: a table, what is to be optimized, what is limited, how rows are suppressed -> numbers for recodings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from kpareto import measures as _measures  # noqa: F401  (fills the table of names)
from kpareto._version import __version__
from kpareto.errors import BadJob, shorten
from kpareto.fronts.count_lattice import CountedNodes, Wanted, can_count_whole, count_parts, fits_batch
from kpareto.fronts.numbers import EMPTY, Numbers, join
from kpareto.fronts.packed_values import HistLimit, HistNumber
from kpareto.interrupts import halted_too, pause
from kpareto.kernels.compiling import SOURCES
from kpareto.kernels.words import CHUNK, JOURNALIST
from kpareto.measures.measure import Measure, Model, aspect_of, exact, is_privacy, make, meets, reading_of, stands_alone
from kpareto.measures.population import is_estimated, least_size
from kpareto.measures.reading import CLASS_SIZE, Questions, Reading, real_keys
from kpareto.measures.sizes import is_smallest_class
from kpareto.tables.coarse import limit_levels
from kpareto.tables.fingerprint import fingerprint
from kpareto.tables.lattice import Kind, Lattice, Space
from kpareto.tables.partition import Partition, Suppression, partition, partitions, rank_numbers
from kpareto.tables.recoding import Recoding
from kpareto.tables.table import Table

if TYPE_CHECKING:
    from kpareto.fronts.count_cuts import CutCounter

MOST_CELLS = 2**26  # leaves of cuts that are held at once
MOST_KEPT = 500_000  # rows of numbers, some 30 MB, that are kept when a whole lattice was counted


@dataclass(frozen=True, eq=False)
class Translation:
    """Measures translated: what the kernels must count, and how to read each measure off it."""

    wanted: Wanted
    readings: tuple[Reading, ...]

    @property
    def by_levels(self) -> bool:
        """Whether a measure is looked up by levels."""
        return any(reading.by_levels for reading in self.readings)


def translate(
    table: Table, measures: tuple[Measure, ...], suppression: Suppression, limits: tuple[HistLimit, ...] = ()
) -> Translation | None:
    """The measures as kernel statistics, or None where one of them needs a Partition of its own."""
    if table.nobodys:
        return None  # a class may have rows and no person
    questions = Questions(table, masked=suppression.rows == "mask" and suppression.rule != "none")
    readings = []
    for measure in measures:
        reader = reading_of(measure)
        reading = None if reader is None else reader(questions)
        if reading is None:
            return None
        readings.append(reading)
    axes = []
    for model in suppression.graded:
        judged = model.judged if isinstance(model, Model) else None
        if judged is None or not isinstance(model, Model) or not judged.is_counted(table):
            return None
        if judged.kind == JOURNALIST and is_estimated(model, table):
            return None  # estimated, so there is no column of people to go by
        axes.append(tuple(questions.places(judged.kind, judged.columns(table), judged.parameter)))
    numbers = tuple(
        HistNumber(kind, counts, parameter, counts.held is not None, worths)
        for kind, counts, parameter, worths in questions.numbers
    )
    losses = tuple(questions.losses)
    wanted = Wanted(suppression, losses, numbers, limits, questions.sizes, questions.risky_below, tuple(axes))
    return Translation(wanted, tuple(readings))


def class_limits(table: Table, measure: Measure, threshold: float) -> list[HistLimit] | None:
    """How the kernels judge each class by a limit, or None where they cannot."""
    if is_smallest_class(measure):  # k, or its risk, as a limit on class sizes
        least = threshold if measure.better == "higher" else min(1 / max(threshold, 1e-300), 2.0**62)
        return [HistLimit(CLASS_SIZE, least)]
    judged = measure.judged if isinstance(measure, Model) else None
    if judged is None or not judged.is_counted(table):
        return None
    if judged.kind == JOURNALIST and (rows := least_size(table, threshold)) is not None:
        return [HistLimit(CLASS_SIZE, float(rows))]  # estimated by the size of the class alone
    columns = judged.columns(table)
    limits = [HistLimit(judged.kind, threshold, c, judged.parameter, c.held is not None) for c in columns]
    return limits or [HistLimit(judged.kind, threshold)]


@dataclass(frozen=True, eq=False)
class Problem:
    """What is counted, optimized and limited; ``problem`` makes one from words.

    Parameters
    ----------
    table : Table
        The rows; where their schema allows some levels alone, the problem has them by these.
    objectives : tuple of Measure
        What is to be as good as possible, each named once.
    suppression : Suppression
        Which classes may be suppressed. Under the rule as-needed thresholds are taken of every privacy model among the
        objectives.
    limits : tuple of (Measure, float), optional
        Thresholds on measures: at least for measures that are better higher, else at most. Under the rule as-needed
        those on privacy models decide which classes are suppressed; the others, and all under the other rules, only say
        which recodings count.

    Raises
    ------
    BadInput
        If there is no objective, one is named twice, or one is no measure.

    Examples
    --------
    >>> import kpareto as kp
    >>> asked = kp.Problem(kp.adult_table(), (kp.make("k"), kp.make("lm")), kp.Suppression(limit=0.01))
    >>> [measure.name for measure in asked.objectives]
    ['k', 'lm']
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
                    "'higher'), unit, trend and a call that takes a Partition (kpareto.measures.Number makes one)."
                )
        names = [measure.name for measure in self.objectives]
        if not names:
            raise BadJob("No objective is given. Name at least one measure, such as k or glm.")
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise BadJob(f"The objective {twice!r} is named twice. Name it once.")
        object.__setattr__(self, "table", limit_levels(self.table))
        object.__setattr__(self, "suppression", self._completed())

    def _completed(self) -> Suppression:
        """The suppression with what objectives and limits ask of it, where it leaves that open (rule as-needed)."""
        rule = self.suppression
        if rule.rule != "as-needed" or rule.by_size is not None:
            return rule
        fails = rule.fails or tuple(model.fails(threshold) for model, threshold in self.class_limits)
        graded = tuple(
            m for m in self.objectives if isinstance(m, Model) and stands_alone(m) and not is_smallest_class(m)
        )
        # A number of all classes together, such as the mean risk, falls as small classes go.
        by_size = any(is_privacy(m) for m in self.objectives if m not in graded)
        return replace(rule, fails=fails, graded=graded, by_size=by_size)

    @cached_property
    def graded(self) -> tuple[Model, ...]:
        """The objectives besides k that thresholds are taken of, under the rule as-needed."""
        return tuple(m for m in self.objectives if isinstance(m, Model) and m in self.suppression.graded)

    @cached_property
    def class_limits(self) -> tuple[tuple[Model, float], ...]:
        """The limits by which single classes are judged, under the rule as-needed."""
        judging = self.suppression.rule == "as-needed"
        return tuple((m, threshold) for m, threshold in self.limits if judging and isinstance(m, Model))

    @cached_property
    def whole_limits(self) -> tuple[tuple[Measure, float], ...]:
        """The limits that a recoding as a whole must meet; the others are met where every class meets them."""
        judged = [measure for measure, _ in self.class_limits if stands_alone(measure)]
        return tuple((measure, threshold) for measure, threshold in self.limits if measure not in judged)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of all that decides the numbers of a recoding: rows, hierarchies, measures, limits, versions."""
        return fingerprint(__version__, np.__version__, SOURCES, self)

    @property
    def better(self) -> np.ndarray:
        """+1 where higher is better, -1 where lower is: (objectives,) int64."""
        return np.array([1 if m.better == "higher" else -1 for m in self.objectives], dtype=np.int64)

    @cached_property
    def _watched(self) -> tuple[Measure, ...]:
        """The objectives, then the measures that are limited as a whole."""
        return (*self.objectives, *(measure for measure, _ in self.whole_limits))

    @cached_property
    def translation(self) -> Translation | None:
        """How the compiled kernels count this, or None where they cannot."""
        judged: list[HistLimit] = []
        for measure, threshold in self.class_limits:
            limits = class_limits(self.table, measure, threshold)
            if limits is None:
                return None
            judged += limits
        if len(self.suppression.fails) != len(self.class_limits):
            return None  # a user's own class-wise rule
        return translate(self.table, self._watched, self.suppression, tuple(judged))

    @property
    def is_compiled(self) -> bool:
        """Whether the kernels count single recodings; else partitions are, and keys compare only with one another."""
        translation = self.translation
        return translation is not None and fits_batch(self.table, translation.wanted)

    @property
    def counted_in_python(self) -> str:
        """Why each recoding is counted by itself in plain Python, for a sentence; empty where compiled loops count."""
        if self.is_compiled or self.is_walked:
            return ""
        if self.table.nobodys:
            return "the table has rows without an id, which the compiled loops do not know"
        if names := self._without_loops(self.table):
            which = f"{shorten(names)} {'has' if len(names) == 1 else 'have'} no compiled form"
            if self.table.persons is None or self._without_loops(replace(self.table, persons=None)) == names:
                return which
            return f"persons are told apart, and {which} that counts them"
        if self.translation is None:
            return "a rule of your own by which classes are suppressed has no compiled form"
        if not self.translation.wanted.values.people:
            return "the loops cannot hold so many distinct rows with so many values"
        if self.table.persons is not None:
            return "persons are told apart, and numbers of a population have no compiled form that counts them"
        if self.suppression.rows == "mask":
            return "suppressed rows stay masked, and numbers of a population have no compiled form that counts them"
        return "the loops cannot hold this population"

    def why_in_python(self, kind: Kind) -> str:
        """The same for a space: what looks at levels has no compiled form where recodings have none."""
        if kind == "lattice" or self.counted_in_python or self.translation is None or not self.translation.by_levels:
            return self.counted_in_python
        rule = replace(self.suppression, graded=())
        read = [(measure.name, translate(self.table, (measure,), rule)) for measure in self._watched]
        names = shorten([name for name, reading in read if reading is not None and reading.by_levels])
        return f"{names} looks at levels and has no compiled form over other recodings"

    def _without_loops(self, table: Table) -> list[str]:
        """The measures, limits and thresholds that the loops cannot count on a table, by name."""
        rule = replace(self.suppression, graded=())
        names = [m.name for m in self._watched if translate(table, (m,), rule) is None]
        names += [m.name for m, threshold in self.class_limits if class_limits(table, m, threshold) is None]
        names += [m.name for m in self.graded if translate(table, (), replace(rule, graded=(m,))) is None]
        return list(dict.fromkeys(names))

    # -- reading numbers ---------------------------------------------------------------------------------------------

    def read(self, translation: Translation, counted: CountedNodes, genomes: np.ndarray | None = None) -> Numbers:
        """The numbers of counted nodes; ``genomes`` are those that were counted, unless they go by node numbers."""
        if translation.by_levels:
            nodes = counted.nodes
            levels = Lattice(self.table.hierarchies).levels(nodes) if genomes is None else genomes[nodes]
            counted = replace(counted, levels=levels)
        values = np.stack([reading.value(counted) for reading in translation.readings], axis=1).astype(np.float64)
        keys = np.stack([reading.key(counted) for reading in translation.readings], axis=1).astype(np.int64)
        count = len(self.objectives)
        self._grid(values, keys)
        suppressed = counted.ints[:, 1]
        released = (counted.ints[:, 0] < EMPTY) & (suppressed < self.table.rows)  # nothing but stars is no release
        feasible = released & self._meets(values[:, count:])
        rule = self.suppression.rule
        if rule == "as-needed" or (rule == "below-k" and self.suppression.limit):
            feasible &= suppressed <= self.suppression.allowed(self.table.rows)
        return Numbers(counted.nodes, counted.thresholds, values[:, :count], keys[:, :count], feasible, suppressed)

    def _grid(self, values: np.ndarray, keys: np.ndarray) -> None:
        """Let graded numbers be compared on the grid on which their thresholds lie; keys: (n, objectives …) int64."""
        for column, measure in enumerate(self.objectives):
            if isinstance(measure, Model) and measure in self.graded and self.suppression.step > 0:
                keys[:, column] = real_keys(rank_numbers(measure, values[:, column], self.suppression.step))

    def _meets(self, values: np.ndarray) -> np.ndarray:
        """Which rows of limited values (n, limits) meet all limits."""
        met = np.ones(len(values), dtype=np.bool_)
        for column, (measure, threshold) in enumerate(self.whole_limits):
            met &= meets(measure.better, values[:, column], threshold)
        return met

    def by_partitions(self, numbered_partitions: Sequence[tuple[int, Partition]]) -> Numbers:
        """The numbers of recodings from their partitions, for measures the kernels do not know."""
        watched, count = self._watched, len(self.objectives)
        values = np.array([[m(p) for m in watched] for _, p in numbered_partitions], dtype=np.float64).reshape(
            -1, len(watched)
        )
        for column, measure in enumerate(watched):
            if np.isnan(values[:, column]).any():
                raise BadJob(f"The measure {measure.name!r} gave no number (NaN) for a recoding. Mend its function.")
        keys = np.zeros((len(numbered_partitions), count), dtype=np.int64)
        for column, measure in enumerate(self.objectives):
            exacts = [exact(measure, p) for _, p in numbered_partitions]
            reals = [v if e is None else float(e) for e, v in zip(exacts, values[:, column].tolist(), strict=True)]
            keys[:, column] = real_keys(np.array(reals, dtype=np.float64), measure.better == "higher")
        self._grid(values, keys)
        suppressed = np.array([p.suppressed_rows for _, p in numbered_partitions], dtype=np.int64)
        feasible = np.array([p.feasible and not p.empty for _, p in numbered_partitions], dtype=np.bool_)
        released = feasible & (suppressed < self.table.rows)
        return Numbers(
            np.array([which for which, _ in numbered_partitions], dtype=np.int64),
            np.array([self._threshold(p) for _, p in numbered_partitions], dtype=np.int64),
            values[:, :count],
            keys,
            released & self._meets(values[:, count:]),
            suppressed,
        )

    # -- counting ----------------------------------------------------------------------------------------------------

    def whole_lattice(
        self, threads: int | None = None, done: int = 0, halt: np.ndarray | None = None
    ) -> Iterator[Numbers]:
        """The numbers of every node, part by part, in a fixed order; the first ``done`` parts are left out.

        A 1 that another thread writes into ``halt`` ends it before its time. Few numbers are kept for ``every_node``.
        """
        parts: list[Numbers] = []
        ending, rows = halted_too(np.zeros(1, dtype=np.int64) if halt is None else halt), 0
        for part in self._parts(threads, done, ending):
            rows += len(part.which)
            if done == 0 and rows <= MOST_KEPT:
                parts.append(part)
            yield part
        if done == 0 and rows <= MOST_KEPT and not ending[0]:
            vars(self).setdefault("every_node", join(parts, len(self.objectives)))

    @cached_property
    def every_node(self) -> Numbers:
        """The numbers of every node, in any order; counted once more where they were not kept."""
        return join(list(self.whole_lattice()), len(self.objectives))

    def _parts(self, threads: int | None, done: int, ending: np.ndarray) -> Iterator[Numbers]:
        """The parts of the whole lattice but the first ones, until they end or are ended."""
        lattice = Lattice(self.table.hierarchies)
        translation = self.translation
        if translation is not None and self.is_walked:
            for counted in count_parts(self.table, translation.wanted, threads, done, ending):
                yield self.read(translation, counted)
            pause()
            return
        step = 1024
        for start in range(done * step, lattice.size, step):
            if ending[0]:
                pause()
                return
            nodes = np.arange(start, min(start + step, lattice.size), dtype=np.int64)
            numbers = self.evaluate(lattice, lattice.levels(nodes), threads)
            yield replace(numbers, which=nodes[numbers.which])

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a person should know of the question itself, in sentences."""
        schema, measures = self.table.schema, (*self.objectives, *(measure for measure, _ in self.limits))
        heavy = [name for name in schema.quasi if schema.weight(name) != 1]
        if not heavy or any(aspect_of(measure).weighted for measure in measures):
            return ()
        names = ", ".join(measure.name for measure in self.objectives)
        return (f"The weights of {shorten(heavy)} change nothing: none of {names} goes by weights. Take nwp instead.",)

    @property
    def is_walked(self) -> bool:
        """Whether the whole lattice can be counted by roll-up."""
        return self.translation is not None and can_count_whole(self.table, self.translation.wanted)

    def evaluate(self, space: Space, genomes: np.ndarray, threads: int | None = None) -> Numbers:
        """The numbers of some genomes of a space; ``which`` is the place among the genomes."""
        if [(h.first, h.top) for h in space.hierarchies] != [(h.first, h.top) for h in self.table.hierarchies]:
            raise BadJob(
                "The space has other levels than the problem allows. Make it of the hierarchies of problem.table."
            )
        translation = self.translation
        # The loops count cuts; classes with labels of their own are few, and counted one by one.
        known = translation is not None and (space.kind == "lattice" or not translation.by_levels)
        if space.kind != "local" and translation is not None and known and self.is_compiled:
            # Cuts are as long as the hierarchies declare leaves, so of wide ones few are held at a time.
            step = max(1, MOST_CELLS // sum(len(h.leaves) for h in space.hierarchies) // CHUNK) * CHUNK
            parts = []
            for start in range(0, max(len(genomes), 1), step):
                counted = self._counter.count(space.cuts(genomes[start : start + step]), threads)
                parts.append(self.read(translation, replace(counted, nodes=counted.nodes + start), genomes))
            return parts[0] if len(parts) == 1 else join(parts, len(self.objectives))
        numbered_partitions: list[tuple[int, Partition]] = []
        for at, genome in enumerate(genomes):
            pause()
            numbered_partitions += [(at, p) for p in partitions(self.table, space.decode(genome), self.suppression)]
        return self.by_partitions(numbered_partitions)

    @cached_property
    def _counter(self) -> CutCounter:
        from kpareto.fronts.count_cuts import CutCounter  # with loops that counting a whole lattice does not need

        translation = self.translation
        if translation is None:
            raise TypeError("the kernels do not know these measures")
        return CutCounter(self.table, translation.wanted)

    def settle(self, threshold: int, values: Mapping[str, float]) -> Suppression:
        """The suppression behind one row of numbers, given its threshold of k and its objectives by name.

        Under the rule as-needed these are the thresholds: each is met exactly by the worst class that is left.
        """
        rule = self.suppression
        if rule.rule != "as-needed" or rule.thresholds:
            return rule
        # A number without bound is a threshold that no class misses.
        columns = {measure.name: column for column, measure in enumerate(self.objectives)}
        numbers = {m.name: values[m.name] for m in self.graded if math.isfinite(values[m.name])}
        graded = {name: float(self.on_grid(columns[name], np.array([number]))[0]) for name, number in numbers.items()}
        limits = {m.name: limit for m, limit in self.class_limits}
        least = 0 if self.table.nobodys else 1  # which every class has: one of nobody's rows alone has no person
        sizes = {"k": float(threshold)} if rule.by_size and threshold > least else {}
        thresholds = stricter({**graded, **sizes}, limits)
        others = rule.fails if len(rule.fails) != len(self.class_limits) else ()  # a user's own class-wise rules
        known = (*self.objectives, *(measure for measure, _ in self.class_limits))
        settled = settled_rule(thresholds, rule.limit, rule.rows, known)
        return replace(settled, fails=(*settled.fails, *others))

    def on_grid(self, column: int, values: np.ndarray) -> np.ndarray:
        """Values of an objective as the thresholds that they meet: nobody asks for t = 0.183742; (n,) float64."""
        measure, step = self.objectives[column], self.suppression.step
        if step == 0 or not isinstance(measure, Model) or measure not in self.graded:
            return values
        sign = -1 if measure.better == "higher" else 1
        return np.asarray(np.round(rank_numbers(measure, values, step) * step * sign, 12))

    def partition(self, recoding: Recoding) -> Partition:
        """The partition of a recoding; under the rule as-needed the one that suppresses least."""
        return partition(self.table, recoding, self.suppression)

    def _threshold(self, partition: Partition) -> int:
        """The class size from which on classes are kept."""
        rule = self.suppression
        if rule.rule in ("none", "below-k"):
            return rule.k or 0
        if rule.rule == "as-needed" and not rule.by_size:
            sizes = [
                limit if m.better == "higher" else 1 / limit for m, limit in self.class_limits if is_smallest_class(m)
            ]
            return max([1, *(math.ceil(size - 1e-9) for size in sizes)])
        kept = partition.sizes[~partition.suppressed]
        return int(kept.min()) if len(kept) else 0


def problem(
    table: Table,
    objectives: Sequence[str | Measure] | str | Measure = ("k", "glm"),
    suppression: Suppression | float = 0.0,
    limits: Mapping[str, float] | Mapping[str | Measure, float] | None = None,
) -> Problem:
    """A Problem from words.

    Parameters
    ----------
    table : Table
        The rows.
    objectives : str, Measure or sequence of these, optional
        What is to be as good as possible; measures by name, as ``make`` takes them.
    suppression : Suppression or float, optional
        A rule, or a bare number, which means as-needed with that limit.
    limits : mapping of str or Measure to float, optional
        Thresholds on measures, such as ``{"k": 5}``.

    Returns
    -------
    Problem
        What ``run`` and ``compare_models`` take.

    Raises
    ------
    BadInput
        If a measure is not known, or a limit is no number.

    Examples
    --------
    >>> import kpareto as kp
    >>> asked = kp.problem(kp.adult_table(), ["k", "lm"], suppression=0.01, limits={"l": 2})
    >>> asked.suppression.rule, asked.suppression.limit
    ('as-needed', 0.01)
    """
    chosen = tuple(make(m) if isinstance(m, str) else m for m in _list_objectives(objectives))
    if not isinstance(limits, Mapping | None):
        raise BadJob(f'limits is {limits!r:.60}. Give a dict such as {{"k": 5}}.')
    rule = suppression if isinstance(suppression, Suppression) else Suppression(limit=suppression)
    pairs = tuple((_measure_of(named), _finite(named, threshold)) for named, threshold in (limits or {}).items())
    return Problem(table, chosen, rule, pairs)


def _list_objectives(objectives: object) -> Sequence[str | Measure]:
    """Objectives as a list; a single one may stand by itself."""
    if isinstance(objectives, str | Measure):
        return [objectives]
    wrong = not isinstance(objectives, Sequence) or [m for m in objectives if not isinstance(m, str | Measure)]
    if wrong or not isinstance(objectives, Sequence):
        raise BadJob(f'objectives is {objectives!r:.60}. Give a list of measures, such as ["k", "lm"].')
    return objectives


def constrained(
    limits: Mapping[str, float] | Mapping[str | Measure, float], limit: float = 0.0, rows: str = "drop"
) -> Suppression:
    """The rule as-needed made of limits on privacy models: classes that miss one go, under every threshold.

    Parameters
    ----------
    limits : mapping of str or Measure to float
        Privacy models, such as ``{"k": 5, "l": 2}``.
    limit : float or int, optional
        The most rows that may be suppressed: a share of them, or a number.
    rows : {'drop', 'mask'}, optional
        What becomes of suppressed rows.

    Returns
    -------
    Suppression
        For ``front``, ``problem`` and the like.

    Raises
    ------
    BadInput
        If a limit is on something else than a privacy model.

    Examples
    --------
    >>> import kpareto as kp
    >>> kp.constrained({"k": 5, "l": 2}, limit=0.05).rule
    'as-needed'
    """
    return replace(settled_rule(limits, limit, rows), by_size=None, thresholds=())


def settled_rule(
    thresholds: Mapping[str, float] | Mapping[str | Measure, float],
    limit: float = 0.0,
    rows: str = "drop",
    known: Iterable[Measure] = (),
) -> Suppression:
    """The rule as-needed with its thresholds: classes that miss one of them are suppressed, and no others.

    ``known`` are measures that are meant by their names, such as one with a hierarchy, which no name can hold.
    """
    fails, by_name = [], {measure.name: measure for measure in known}
    for named, threshold in thresholds.items():
        model = by_name.get(named) if isinstance(named, str) else named
        model = model or _measure_of(named)
        if not isinstance(model, Model):
            raise BadJob(
                f"{model.name!r} is not a number about a class, so it cannot decide which classes are suppressed."
            )
        fails.append(model.fails(_finite(named, threshold)))
    shown: Literal["drop", "mask"] = "mask" if rows == "mask" else "drop"
    used = tuple((named if isinstance(named, str) else named.name, number) for named, number in thresholds.items())
    return Suppression(limit=limit, rows=shown, fails=tuple(fails), by_size=False, thresholds=used)


def _measure_of(named: str | Measure) -> Measure:
    return make(named) if isinstance(named, str) else named


def stricter(limits: Mapping[str, float], others: Mapping[str, float]) -> dict[str, float]:
    """Both limits in one; where both name a measure, the one that allows less: no limit makes another weaker."""
    both = {**others, **limits}
    for spec in set(limits) & set(others):
        strict = max if make(spec).better == "higher" else min
        both[spec] = strict(limits[spec], others[spec])
    return both


def _finite(named: str | Measure, threshold: float) -> float:
    if isinstance(threshold, bool) or not math.isfinite(threshold):
        name = named if isinstance(named, str) else named.name
        raise BadJob(f"The limit on {name!r} is {threshold!r}. Give a finite number.")
    return float(threshold)
