"""The front of local recodings: every k that was asked for, searched from the largest down, as the driver drives it.

Beside k one more privacy objective may be swept (l, t, …): each of its levels is a limit that every class keeps, and is
searched for every k. Classes for a larger k or a stricter level keep smaller ones too, so each search starts from the
best that is known, and the loss never rises as less is asked for. A checkpoint keeps the searches that are done.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kpareto.errors import BadJob, Stopped, Unsafe, shorten
from kpareto.fronts.front import Front, make_front
from kpareto.fronts.numbers import Numbers, Provenance, ProvenGap
from kpareto.fronts.problem import Problem
from kpareto.measures.cells import CellLoss
from kpareto.measures.measure import Measure, Model, is_privacy
from kpareto.measures.reading import CLASS_SIZE
from kpareto.searches.checkpoint import Arrays, Kept, job_print
from kpareto.searches.driver import Ending, Tell
from kpareto.searches.local import LocalSettings
from kpareto.searches.local.bound import lower_bound
from kpareto.searches.local.problem import LocalProblem, LocalWish, make_problem, with_k
from kpareto.searches.local.recoding import LocalClasses, read_classes, to_boxes
from kpareto.searches.local.search import Effort
from kpareto.searches.local.strict import strict_recoding
from kpareto.searches.local.sweep import preset_ks, search_k
from kpareto.searches.possible import check_possible
from kpareto.tables.boxes import Question, questions_data, questions_from
from kpareto.tables.local_space import LocalSpace, make_local_space

PARTS = 100  # of a step, for who watches
SEARCHED = 0.75  # of the time of a step; the bound has the rest
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
    least: float  # what any recoding loses at least, NaN where nobody asked
    root: Question | int | None = None


@dataclass(eq=False)
class LocalDriven:
    """All local recodings of a job, driven step by step."""

    problem: Problem
    settings: LocalSettings
    seed: int = 1
    began: float = field(default_factory=time.perf_counter)
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

    @property
    def total(self) -> int:
        """Parts of all steps."""
        return PARTS * len(self.steps)

    def fingerprint(self) -> str:
        """The job, the settings that decide what is found, and the seed; threads change nothing."""
        decisive = {name: value for name, value in vars(self.settings).items() if name != "threads"}
        return job_print(self.problem, LocalSpace(self.problem.table.hierarchies), "local", decisive, self.seed)

    # -- searching ---------------------------------------------------------------------------------------------------

    def go(self, known: Arrays | None, tell: Tell, kept: Kept[tuple[Searched, ...]]) -> Front:
        """Search every step that is not done yet; a k that no table of this size has is told first."""
        check_possible(self.problem, {"k": self.ks[0]})
        done = list(() if known is None else self._unpack(known))
        missed: dict[float, str] = {}  # levels that even the whole table as one class misses
        for place, step in enumerate(self.steps):
            if step.level in missed or any(each.step == step for each in done):
                continue
            try:
                ready = self._ready(step)
            except Unsafe as error:
                if step.level is None:
                    raise
                missed[step.level] = str(error)
                continue
            done.append(self._search(ready, step, done, _Listener(tell, place, lambda: self._count_done(done))))
            kept.take(tuple(done))
            tell(PARTS * (place + 1), lambda: self._count_done(done))
        return self._front(done)

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

    def _search(self, ready: LocalProblem, step: Step, done: list[Searched], listener: _Listener) -> Searched:
        left = None
        if self.settings.seconds is not None:
            remaining = self.settings.seconds - (time.perf_counter() - self.began)
            left = max(remaining, 0.0) / (len(self.steps) - len(done))
        walks = self.settings.walks
        effort = Effort(
            self.seed,
            self.settings.turns,
            left if left is None or not walks else SEARCHED * left,
            self.settings.threads,
        )
        root: Question | int | None = None
        if self.settings.strict:
            grown = strict_recoding(ready, self.seed, progress=listener)
            classes, root = grown.classes, grown.root
        else:
            starts = [earlier.classes for earlier in done if _keeps(earlier.step, step, self.second)]
            classes = search_k(ready, effort, starts, listener)
        listener.end()
        least = math.nan
        if walks:
            share = None if left is None else (1 - SEARCHED) * left
            least = lower_bound(ready, classes, walks, share, listener).value
            listener.end()
        return Searched(step, classes, least, root)

    # -- what is known -----------------------------------------------------------------------------------------------

    def front_so_far(self, standing: tuple[Searched, ...] | None, ending: Ending) -> Front:
        """The front of the steps that are done."""
        return self._front(list(standing or ()), stopped=ending.stopped)

    def pack(self, standing: tuple[Searched, ...]) -> Arrays:
        """The classes of the steps that are done."""
        arrays = {"least": np.array([each.least for each in standing])}
        arrays["steps"] = np.array([self.steps.index(each.step) for each in standing], dtype=np.int64)
        for place, each in enumerate(standing):
            parts = {"order": each.classes.order, "cuts": each.classes.cuts, "dropped": each.classes.dropped}
            if each.root is not None:
                words = json.dumps(questions_data(each.root)).encode()
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
            done.append(Searched(self.steps[number], classes, float(arrays["least"][place]), root))
        return done

    def _space(self, done: list[Searched]) -> LocalSpace:
        if not done:
            return LocalSpace(self.problem.table.hierarchies)
        recodings = [read_classes(self._ready(each.step), each.classes) for each in done]
        return make_local_space(self.problem.table, *to_boxes(recodings, [each.root for each in done]))

    def _count_done(self, done: list[Searched]) -> Numbers:
        """The numbers of the steps that are done, for who watches; counted once per step."""
        if self._seen is None or self._seen[0] != len(done):
            self._seen = len(done), self._count(self._space(done))
        return self._seen[1]

    def _count(self, space: LocalSpace) -> Numbers:
        return self.problem.evaluate(space, np.arange(space.size, dtype=np.int64)[:, None])

    def _front(self, done: list[Searched], *, stopped: bool = False) -> Front:
        space = self._space(done)
        gaps = [self._gap(each, space, place) for place, each in enumerate(done)]
        details = {
            "bounds": [None if gap is None else gap.to_dict() for gap in gaps],
            "searched": [self._asked(each.step) for each in done],
            "settings": dict(vars(self.settings)),
        }
        seconds = time.perf_counter() - self.began
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
    losses = [measure for measure in problem.objectives if isinstance(measure, CellLoss)]
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
    ks = sorted({round(each["k"]) for each in front.provenance.details["searched"]})
    begin = "stopped by the user" if stopped else "a heuristic search"
    begin += f" for k = {shorten([f'{k:,}' for k in ks], KS_SHOWN)}" if ks and not stopped else ""
    gaps = [gap for point in front if (gap := point.bound) is not None and not math.isinf(gap.gap)]
    if not gaps:
        return f"{begin}, and no bound was asked for" if not stopped else begin
    worst = max(gaps, key=lambda gap: gap.gap)
    shown = next((gap for gap in gaps if gap.at == {"k": 5.0}), worst)
    rest = "" if shown.percent == worst.percent else f", {worst.percent} at the most"
    return f"{begin}; {shown.sentence()}{rest}"
