"""The front of local recodings: every k that was asked for, searched from the largest down, as the driver drives it.

Beside k one more privacy objective may be swept (l, t, …): each of its levels is a limit that every class keeps, and is
searched for every k. Classes for a larger k or a stricter level keep smaller ones too, so each search starts from the
best that is known, and the loss never rises as less is asked for. A checkpoint keeps the searches that are done.

The answers come first and their bounds last. Where the time is limited, what is asked for most is searched first, and
what there was no time for is left out.

A k that a front was not searched for is searched when somebody asks for it: a k between those would get the next larger
one's recoding, and so lose more than it must. ``search_further`` runs the same search, with the settings and the seed
that the front says of itself, for what is asked alone, and its recodings join those of the front: the best for that k
is then the one that a job for that k would find, or one of a larger k that loses less still.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kpareto.errors import BadJob, Interrupted, Progress, Stopped, Unsafe, shorten
from kpareto.fronts.front import Front, make_front
from kpareto.fronts.numbers import Numbers, Provenance, ProvenGap
from kpareto.fronts.problem import Problem
from kpareto.interrupts import TimeLimit
from kpareto.kernels.compiling import working
from kpareto.measures.cells import CellLoss
from kpareto.measures.measure import Measure, Model, is_privacy, make
from kpareto.measures.reading import CLASS_SIZE
from kpareto.searches.driver import Arrays, Ending, Kept, Tell, drive, job_print
from kpareto.searches.forecast import check_possible
from kpareto.searches.local import LocalSettings
from kpareto.searches.local.bound import lower_bound
from kpareto.searches.local.problem import LocalProblem, LocalWish, make_problem, with_k
from kpareto.searches.local.recoding import LocalClasses, LocalRecoding, read_classes, to_boxes
from kpareto.searches.local.search import Effort
from kpareto.searches.local.strict import strict_recoding
from kpareto.searches.local.sweep import preset_ks, search_k
from kpareto.searches.names import read_options
from kpareto.tables.boxes import Question, questions_data, questions_from
from kpareto.tables.local_space import LocalSpace, join_spaces, make_local_space

PARTS = 100  # of a step, for who watches
SEARCHED = 0.75  # of the time; the bounds have the rest
FINISH = 5  # times what reading the classes of a step takes: counting its recoding, at the end
ASKED_MOST = (5, 10, 3, 2, 20, 50, 100)
LARGE = 200_000  # distinct rows from which on one walk is the bound, unless more is asked for
QUICK = 30.0  # seconds for it, for each k
PROOF = 10  # walks where a proof is asked for
KS_SHOWN = 20  # k that are told one by one
HIGHER, LOWER = (2.0, 3.0, 4.0, 5.0), (0.5, 0.4, 0.3, 0.2, 0.1)  # levels of a second privacy objective


@dataclass(frozen=True)
class Step:
    """One search: what every class must keep."""

    k: int
    level: float | None = None  # of the second privacy objective


@dataclass(frozen=True, eq=False)
class Searched:
    """A step that is done."""

    step: Step
    classes: LocalClasses
    recoding: LocalRecoding
    least: float = math.nan  # what any recoding loses at least, NaN where nobody asked or has worked it out yet
    root: Question | int | None = None


@dataclass(eq=False)
class LocalDriven:
    """All local recodings of a job, driven step by step."""

    problem: Problem
    settings: LocalSettings
    seed: int = 1
    limit: TimeLimit | None = None  # None: as the settings say, from now on
    began: float = field(default_factory=working)
    _reading: float = 0.0  # seconds that reading the classes of a step took, at the most
    _late: bool = False  # something was left out, because the time was up
    _problems: dict[tuple[tuple[str, float], ...], LocalProblem] = field(default_factory=dict, repr=False)
    _seen: tuple[int, Numbers] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.loss, self.second = _objectives(self.problem)
        self.ks = _class_sizes(self.problem, self.settings.ks)
        levels: list[float | None] = [None]
        if self.second is not None:
            higher = self.second.better == "higher"
            chosen = sorted(set(self.settings.levels or (HIGHER if higher else LOWER)), reverse=higher)
            levels = [*chosen, None]  # from the strictest on
        elif self.settings.levels is not None:
            raise BadJob(
                "search.levels are values of a second privacy objective, and there is none beside k. "
                "Add one to the objectives, such as l or t, or take levels out."
            )
        self.steps = [Step(k, level) for level in levels for k in self.ks]
        self.until = self.limit or TimeLimit(self.settings.seconds, working)
        self.threads = self.settings.threads or os.cpu_count() or 1

    @property
    def total(self) -> int:
        """Parts of all steps, and of the bounds of all."""
        return PARTS * len(self.steps) * (2 if self.walks else 1)

    @property
    def is_quick(self) -> bool:
        """Whether the bound is a quick one."""
        return self.problem.table.distinct > LARGE and not self.settings.prove and self.settings.walks > 1

    @property
    def walks(self) -> int:
        """Walks for each bound, at the most."""
        walks = self.settings.walks
        return max(walks, PROOF) if self.settings.prove else 1 if self.is_quick else walks

    def fingerprint(self) -> str:
        """The job, the settings that decide what is found, and the seed; threads change nothing."""
        decisive = {name: value for name, value in self._settings.items() if name != "threads"}
        return job_print(self.problem, LocalSpace(self.problem.table.hierarchies), "local", decisive, self.seed)

    @property
    def _settings(self) -> dict[str, Any]:
        """The settings by name; a proof that nobody asked for is not named, as it never was."""
        return {name: value for name, value in vars(self.settings).items() if name != "prove" or value}

    # -- searching ---------------------------------------------------------------------------------------------------

    def go(self, known: Arrays | None, tell: Tell, kept: Kept[tuple[Searched, ...]]) -> Front:
        """Search every step that is not done yet, then prove; a k that no table of this size has is told first."""
        check_possible(self.problem, {"k": self.ks[0]})
        done = list(() if known is None else self._unpack(known))
        beyond: Unsafe | None = None
        missed: dict[float, str] = {}  # levels that even the whole table as one class misses
        for place, step in enumerate(self._in_order()):
            if step.level in missed or any(entry.step == step for entry in done):
                continue
            left = self._time_left(done, SEARCHED)
            if done and left <= 0:
                self._late = True
                break
            try:
                ready = self._ready(step)
            except Unsafe as error:
                if step.level is None:
                    raise
                missed[step.level] = str(error)
                continue
            listener = _Listener(tell, place, lambda: self._count_done(done))
            try:
                done.append(self._search(ready, step, done, listener, left / (len(self.steps) - place)))
            except Unsafe as error:  # too large a k within the highest levels
                beyond = error
                continue
            kept.take(tuple(done))
            tell(PARTS * (place + 1), lambda: self._count_done(done))
        if beyond is not None and not done:
            raise beyond
        if self.walks:
            self._prove(done, tell, kept)
        return self._front(done)

    def _in_order(self) -> list[Step]:
        """The steps from the largest k down; where the time is limited, what is asked for most first."""
        if self.until.seconds is None:
            return self.steps
        rare = len(ASKED_MOST)
        return sorted(self.steps, key=lambda step: ASKED_MOST.index(step.k) if step.k in ASKED_MOST else rare)

    def _time_left(self, done: Sequence[Searched], share: float = 1.0) -> float:
        """Seconds that are left of a share of the time, when what is done has been counted at the end."""
        if self.until.seconds is None:
            return math.inf
        spare = (1 - share) * self.until.seconds if self.walks else 0.0
        return self.until.left - spare - self._reading * FINISH * len(done)

    def _ready(self, step: Step) -> LocalProblem:
        """The table made ready for one step; for the largest k first, because pieces depend on it."""
        table, allowed = self.problem.table, self.problem.suppression.allowed(self.problem.table.rows)
        limits = {measure.name: limit for measure, limit in self.problem.limits if measure.name != "k"}
        if self.second is not None and step.level is not None:
            name = self.second.name
            tighter = max if self.second.better == "higher" else min
            limits[name] = tighter(limits.get(name, step.level), step.level)
        wish = LocalWish(self.ks[0], limits, self.loss, self.settings.intervals, min(allowed / table.rows, 1.0), True)
        key = tuple(sorted(limits.items()))
        if key not in self._problems:
            self._problems[key] = make_problem(table, wish)
        return with_k(self._problems[key], step.k)

    def _search(
        self, ready: LocalProblem, step: Step, done: list[Searched], listener: _Listener, left: float
    ) -> Searched:
        seconds = None if math.isinf(left) else max(left, 0.0)
        root: Question | int | None = None
        if self.settings.strict:
            grown = strict_recoding(ready, self.seed, progress=listener, seconds=seconds)
            classes, root = grown.classes, grown.root
        else:
            effort = Effort(self.seed, self.settings.turns, seconds, self.threads)
            starts = [earlier.classes for earlier in done if _keeps(earlier.step, step, self.second)]
            classes = search_k(ready, effort, starts, listener)
        listener.end()
        began = working()
        recoding = read_classes(ready, classes)
        self._reading = max(self._reading, working() - began)
        return Searched(step, classes, recoding, root=root)

    def _prove(self, done: list[Searched], tell: Tell, kept: Kept[tuple[Searched, ...]]) -> None:
        """Work out the bound of every step that has none; where no time is left for it, it is 0."""
        for place, entry in enumerate(done):
            if not math.isnan(entry.least):
                continue
            listener = _Listener(tell, len(self.steps) + place, lambda: self._count_done(done))
            left = min(self._time_left(done) / (len(done) - place), QUICK if self.is_quick else math.inf)
            least = 0.0
            if left > 0:
                share = None if math.isinf(left) else left
                ready = self._ready(entry.step)
                least = lower_bound(ready, entry.classes, self.walks, share, listener, self.threads).value
            listener.end()
            done[place] = replace(entry, least=least)
            kept.take(tuple(done))
            tell(PARTS * (len(self.steps) + place + 1), lambda: self._count_done(done))

    # -- what is known -----------------------------------------------------------------------------------------------

    def front_so_far(self, standing: tuple[Searched, ...] | None, ending: Ending) -> Front:
        """The front of the steps that are done."""
        return self._front(list(standing or ()), stopped=ending.stopped)

    def pack(self, standing: tuple[Searched, ...]) -> Arrays:
        """The classes of the steps that are done."""
        arrays = {"least": np.array([entry.least for entry in standing])}
        arrays["steps"] = np.array([self.steps.index(entry.step) for entry in standing], dtype=np.int64)
        for place, entry in enumerate(standing):
            parts = {"order": entry.classes.order, "cuts": entry.classes.cuts, "dropped": entry.classes.dropped}
            if entry.root is not None:
                words = json.dumps(questions_data(entry.root)).encode()
                parts["root"] = np.frombuffer(words, dtype=np.uint8)
            arrays |= {f"{name}{place}": array for name, array in parts.items()}
        return arrays

    def _unpack(self, arrays: Arrays) -> list[Searched]:
        done = []
        for place, number in enumerate(arrays["steps"].tolist()):
            classes = LocalClasses(*(arrays[f"{name}{place}"] for name in ("order", "cuts", "dropped")))
            root = None
            if f"root{place}" in arrays:
                words = json.loads(arrays[f"root{place}"].tobytes().decode())
                root = questions_from(words, len(self.problem.table.hierarchies), len(classes.cuts) - 1)
            step = self.steps[number]
            recoding = read_classes(self._ready(step), classes)
            done.append(Searched(step, classes, recoding, float(arrays["least"][place]), root))
        return done

    def _space(self, done: list[Searched]) -> LocalSpace:
        if not done:
            return LocalSpace(self.problem.table.hierarchies)
        boxes = to_boxes([entry.recoding for entry in done], [entry.root for entry in done])
        return make_local_space(self.problem.table, *boxes)

    def _count_done(self, done: list[Searched]) -> Numbers:
        """The numbers of the steps that are done, for who watches; counted once per step."""
        if self._seen is None or self._seen[0] != len(done):
            self._seen = len(done), self._count(self._space(done))
        return self._seen[1]

    def _count(self, space: LocalSpace) -> Numbers:
        return self.problem.evaluate(space, np.arange(space.size, dtype=np.int64)[:, None])

    def _front(self, done: list[Searched], *, stopped: bool = False) -> Front:
        space = self._space(done)
        gaps = [self._gap(entry, space, place) for place, entry in enumerate(done)]
        details = {
            "bounds": [None if gap is None else gap.to_dict() for gap in gaps],
            "searched": [self._asked(entry.step) for entry in done],
            "settings": self._settings,
            **({"quick": True} if self.is_quick else {}),
            **({"late": True} if self._late else {}),
        }
        seconds = working() - self.began
        provenance = Provenance("local", len(done), False, self.seed, seconds, "", details, stopped=stopped)
        genomes = np.arange(space.size, dtype=np.int64)[:, None]
        return tell_proof(make_front(self.problem, space, genomes, self._count(space), provenance, "one"))

    def _asked(self, step: Step) -> dict[str, float]:
        """What a step asks of every class, by the names of measures."""
        at = {"k": float(step.k)}
        if self.second is not None and step.level is not None:
            at[self.second.name] = step.level
        return at

    def _gap(self, each: Searched, space: LocalSpace, place: int) -> ProvenGap | None:
        if math.isnan(each.least):
            return None
        reached = self.loss(self.problem.partition(space.recodings[place]))
        return ProvenGap(self.loss.name, self._asked(each.step), each.least, reached)


class _Listener:
    """What a search tells of its progress, as parts of one step; who raises Stopped is heard at the next pause."""

    def __init__(self, tell: Tell, place: int, met: Callable[[], Numbers]) -> None:
        self.tell, self.place, self.met = tell, place, met
        self.stopped: Stopped | None = None

    def __call__(self, done: int, steps: int) -> bool:
        part = min(PARTS - 1, PARTS * done // max(steps, 1))
        try:
            self.tell(PARTS * self.place + part, self.met)
        except Stopped as error:
            self.stopped = error
        return self.stopped is None

    def end(self) -> None:
        """Raise what was raised meanwhile."""
        if self.stopped is not None:
            raise self.stopped


def _objectives(problem: Problem) -> tuple[CellLoss, Measure | None]:
    """The loss to minimize, and the privacy objective beside k; raise where a local search cannot have them."""
    cells = [getattr(measure, "by_cells", None) or measure for measure in problem.objectives]
    losses = [measure for measure in cells if isinstance(measure, CellLoss)]
    if not losses:
        raise BadJob(
            "A local search minimizes a loss that adds up over cells, and no objective is one. "
            "Add lm, glm, nwp, precision-loss or entropy to the objectives."
        )
    private = [measure for measure in problem.objectives if is_privacy(measure) and measure.name != "k"]
    swept = [m for m in private if isinstance(m, Model) and m.judged is not None and m.judged.kind != CLASS_SIZE]
    if len(private) > 1 or len(swept) < len(private):
        raise BadJob(
            f"A local search takes k and one more privacy objective (l, entropy-l, recursive-l, t, alpha, beta), and "
            f"the objectives are {', '.join(m.name for m in problem.objectives)}. Take the others out."
        )
    return losses[0], next(iter(swept), None)


def _class_sizes(problem: Problem, wanted: Sequence[int] | None) -> list[int]:
    """The k to search for, falling: those that were asked for, none below a limit on k."""
    limit = max((math.ceil(bound) for measure, bound in problem.limits if measure.name == "k"), default=0)
    least = max(limit, problem.suppression.k or 0)
    listed = preset_ks(problem.table.rows) if wanted is None else tuple(wanted)
    if "k" not in (measure.name for measure in problem.objectives) and wanted is None:
        listed = ()
    ks = {k for k in listed if k >= least} | ({least} if least else set())
    if not ks:
        raise BadJob(
            "A local search needs to know which k to search for. Make k an objective, or set k under [limits]."
        )
    return sorted(ks, reverse=True)


def _keeps(earlier: Step, step: Step, second: Measure | None) -> bool:
    """Whether classes of an earlier step keep what this one asks for."""
    if earlier.k < step.k:
        return False
    if step.level is None or second is None:
        return True
    if earlier.level is None:
        return False
    return earlier.level >= step.level if second.better == "higher" else earlier.level <= step.level


def tell_proof(front: Front) -> Front:
    """A local front with a note on the k that were searched, and on how far its points are from their bounds."""
    provenance = front.provenance
    return replace(front, provenance=replace(provenance, note=_note(front, provenance.stopped)))


def _note(front: Front, stopped: bool) -> str:
    """What was searched for and what is proven of a local front."""
    ks = sorted({round(entry["k"]) for entry in front.provenance.details["searched"]})
    begin = "stopped by the user" if stopped else "a heuristic search"
    details = front.provenance.details
    if details.get("late"):
        begin = f"the {details['settings']['seconds']:g} seconds were up after {begin}"
    begin += f" for k = {shorten([f'{k:,}' for k in ks], KS_SHOWN)}" if ks and not stopped else ""
    gaps = [gap for point in front if (gap := point.bound) is not None and not math.isinf(gap.gap)]
    if not gaps and not stopped:
        asked = any(point.bound is not None for point in front)
        return f"{begin}, and {'no bound above 0 was proven' if asked else 'no bound was asked for'}"
    if not gaps:
        return begin
    worst = max(gaps, key=lambda gap: gap.gap)
    shown = next((gap for gap in gaps if gap.at == {"k": 5.0}), worst)
    rest = "" if shown.percent == worst.percent else f", and at no k more than {worst.percent} above"
    quick = " (a quick bound; a longer proof, search.prove = true, may say more)" if details.get("quick") else ""
    return f"{begin}; {shown.sentence()}{rest}{quick}"


def search_further(
    front: Front, limits: Mapping[str, float] | None = None, /, report: Progress | None = None, **named: float
) -> Front:
    """A local front searched for one more k; the same front where it has been already.

    Fronts of other searches are given back as they are: the exact one has every k, and other searches are not for one
    k.

    Parameters
    ----------
    front : Front
        The front of a local search.
    limits : mapping of str to float, optional
        What is asked for: k, and beside it the second privacy objective of the front at a level of its own.
    report : callable, optional
        Called with what is done of how much.
    **named : float
        The same as keywords: ``k=7, t=0.25``.

    Returns
    -------
    Front
        The front with what was found for that k.

    Raises
    ------
    BadInput
        If a measure is not known.
    Interrupted
        If the user stopped it before that k was searched.

    Examples
    --------
    >>> import kpareto as kp
    >>> front = kp.front(kp.adult_table(), objectives=["k", "lm"])
    >>> kp.search_further(front, k=7) is front
    True
    """
    asked = {**(limits or {}), **named}
    course = further_search(front, asked)
    if course is None or not isinstance(front.space, LocalSpace):
        return front
    other = drive(course, report)
    if other.provenance.stopped or not isinstance(other.space, LocalSpace):
        raise Interrupted(f"Stopped before k = {course.ks[0]:,} was searched, so nothing was written.")
    return _join(front, front.space, other, other.space)


def is_searched(front: Front, limits: Mapping[str, float]) -> bool:
    """Whether a front has been searched for what limits ask for, so that its best point for them is the search's."""
    return further_search(front, limits) is None


def further_search(front: Front, limits: Mapping[str, float]) -> LocalDriven | None:
    """The search for what a local front has not been searched for yet; None where there is nothing to search."""
    details = front.provenance.details
    if front.space.kind != "local" or "k" not in front.names:
        return None
    settings = LocalSettings(**read_options("local", details.get("settings", {})))
    seed = 1 if front.provenance.seed is None else front.provenance.seed
    whole = LocalDriven(front.problem, settings, seed)
    asked = {make(name).name: float(limit) for name, limit in limits.items()}
    level = asked.get(whole.second.name) if whole.second is not None else None
    if level is not None and level <= 0:
        level = None  # met by every recoding, or by none
    known = [entry.level for entry in whole.steps]
    ks = whole.ks
    if asked.get("k", 0.0) >= 1:
        ks = LocalDriven(front.problem, replace(settings, ks=[math.ceil(asked["k"] - 1e-9)]), seed).ks
    elif level is None:
        return None
    searched = [_key(entry) for entry in details.get("searched", ())]
    wanted = [{"k": float(k)} for k in ks]
    if level is not None and whole.second is not None:
        wanted += [{"k": float(k), whole.second.name: level} for k in ks]
    missing = {entry["k"] for entry in wanted if _key(entry) not in searched}
    if not missing:
        return None
    levels = settings.levels if level is None or level in known else [level]
    return LocalDriven(front.problem, replace(settings, ks=sorted(map(int, missing)), levels=levels), seed)


def _key(asked: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    return tuple(sorted((name, float(limit)) for name, limit in asked.items()))


def _join(front: Front, space: LocalSpace, other: Front, more: LocalSpace) -> Front:
    """The points of two local fronts of one problem as one front."""
    problem, old, new = front.problem, front.provenance, other.provenance
    both = join_spaces(problem.table, space, more)
    genomes = np.concatenate((front.genomes, other.genomes + space.size))
    unknown: dict[str, list[Any]] = {"bounds": [None] * space.size, "searched": []}  # of a front without these
    listed = {name: [*old.details.get(name, nothing), *new.details[name]] for name, nothing in unknown.items()}
    provenance = replace(
        old,
        evaluated=old.evaluated + new.evaluated,
        seconds=old.seconds + new.seconds,
        details={**old.details, **listed},
    )
    return tell_proof(make_front(problem, both, genomes, problem.evaluate(both, genomes), provenance, "one"))
