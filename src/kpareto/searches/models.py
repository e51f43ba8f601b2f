"""Search a table by several models and put them side by side: exact lattice, best cuts, local recoding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kpareto.errors import BadJob, Interrupted, Progress, Stopped, Unsafe
from kpareto.fronts.front import Front, make_front
from kpareto.fronts.models import ModelCurve, ModelCurves, ModelPoint, read_models
from kpareto.fronts.problem import Problem, problem
from kpareto.interrupts import pause
from kpareto.kernels.compiling import working
from kpareto.measures.measure import Model
from kpareto.searches.forecast import check_possible
from kpareto.searches.local.bound import LocalBound, lower_bound
from kpareto.searches.local.problem import LocalWish, make_problem, with_k
from kpareto.searches.local.search import Effort
from kpareto.searches.local.strict import strict
from kpareto.searches.local.sweep import CurvePoint, sweep
from kpareto.searches.run import Plan, run_plan
from kpareto.tables.cuts import Cuts, make_cuts, make_order
from kpareto.tables.table import Table

KS = (2, 3, 5, 10, 25, 50, 100)
WALKS = 3  # of the bound of local recoding: the first few tell most
SHARES = {
    "lattice": 0.2,
    "cuts": 0.4,
    "strict": 0.3,
    "local": 1.0,
}  # of the time that is left when a model's turn comes
LEAST = 0.1  # seconds that every k has
STAGES = 2  # of the local search of one k, each with its own time: the search, the bound
FREE_WALKS = 1  # of the bound of cuts over intervals, which has more boxes
STOPPED = "Stopped before the models were compared, so nothing was written."


@dataclass(eq=False)
class _Clock:
    """When a stretch of work shall end, and who else wants it to."""

    seconds: float | None
    report: Progress | None
    done: int
    total: int

    def __post_init__(self) -> None:
        self.began, self.stopped = working(), False

    @property
    def late(self) -> bool:
        """Whether its time is over."""
        return self.seconds is not None and working() - self.began > self.seconds

    def share(self, parts: int) -> float | None:
        """The seconds of each of so many parts that are left to do."""
        if self.seconds is None:
            return None
        return max(LEAST, (self.seconds - (working() - self.began)) / parts)

    def tell(self, _done: int, _total: int) -> None:
        """What a search reports to: whoever listens may stop it here."""
        if self.report is not None:
            self.report(self.done, self.total)

    def run(self, wanted: Problem, plan: Plan | None = None) -> Front:
        """The front of a search in the time of the clock; stopped by anybody, there is none."""
        chosen = plan or Plan()
        if self.seconds is not None:
            chosen = replace(chosen, options={**chosen.options, "seconds": self.share(1)})
        front = run_plan(wanted, chosen, self.tell)
        if front.provenance.stopped:
            raise Interrupted(STOPPED)
        return front

    def go_on(self, _done: int, _total: int) -> bool:
        """What a local search asks: whether anybody but the clock wants it to end, which it keeps itself."""
        try:
            if self.report is not None:
                self.report(self.done, self.total)
        except Stopped:
            self.stopped = True
        return not self.stopped

    def ask(self, done: int, total: int) -> bool:
        """The same where the clock counts too."""
        return self.go_on(done, total) and not self.late

    def check(self) -> None:
        """Raise where somebody wanted it to end."""
        if self.stopped:
            raise Interrupted(STOPPED)


def compare_models(
    asked: Problem,
    models: str | Sequence[str] = ("lattice", "cuts", "local"),
    ks: Sequence[int] | None = None,
    seconds: float | None = None,
    seed: int = 1,
    report: Progress | None = None,
    own: Plan | None = None,
) -> ModelCurves:
    """What each model keeps of a problem's table at some k, with its leave to suppress and its limits per class.

    The loss is LM, whatever the objectives are.

    Parameters
    ----------
    asked : Problem
        The table, the rows that may be suppressed, and the limits per class.
    models : str or sequence of str, optional
        Which of lattice, cuts, local and strict are compared.
    ks : sequence of int, optional
        The k at which they are compared; those in common use unless given.
    seconds : float, optional
        Time of work that all may take together, without compiling. In little time the curves of cuts and local are
        lower and their bounds weaker, and the lattice may not be proven; each says so.
    seed : int, optional
        Decides every random choice.
    report : callable, optional
        Called with what is done of how much.
    own : Plan, optional
        The search of the job: its model walks here what it walks there (the space ``order``, local intervals).

    Returns
    -------
    ModelCurves
        A curve per model.

    Raises
    ------
    BadInput
        If a model is not known, a k is not from 1 to the number of rows, or a limit is not on classes.
    Interrupted
        If the user stopped it.

    Examples
    --------
    >>> import kpareto as kp
    >>> asked = kp.problem(kp.adult_table(), ["k", "lm"], suppression=0.01)
    >>> kp.compare_models(asked, "lattice", ks=[5, 10])
    ModelCurves(kept at k = 5: lattice 73.4 %; k up to 10)

    All three models, for a minute::

        print(kp.compare_models(asked, seconds=60).summary())
    """
    check_possible(asked)
    names = read_models(models)
    table = asked.table
    wanted = tuple(sorted({int(k) for k in ks})) if ks is not None else usual_ks(asked, own)
    if not wanted or wanted[0] < 1 or wanted[-1] > table.rows:
        raise BadJob(f"The k to compare are {list(wanted)!r}. Give whole numbers from 1 to {table.rows:,}.")
    began, curves = working(), []
    allowed = 0 if asked.suppression.rule == "none" else min(asked.suppression.allowed(table.rows), table.rows - 1)
    limits = {measure.name: limit for measure, limit in asked.limits if measure.name != "k"}
    for measure, _ in asked.limits:
        if not isinstance(measure, Model):
            raise BadJob(f"Models are compared under limits on classes, and {measure.name!r} is none. Take it out.")
    wish = _Wish(asked, allowed, limits, wanted, seed, *_freedom(table, own))
    freer: dict[str, ModelCurve] = {}  # model -> a curve whose bounds hold for it too
    for place, name in enumerate(names):
        pause()
        left = None if seconds is None else max(0.0, seconds - (working() - began)) * SHARES[name]
        clock = _Clock(left, report, place, len(names))
        if name == "local":
            local, of_cuts = _local(wish, clock, "cuts" in names)
            freer = {"lattice": local, "strict": local} | ({} if of_cuts is None else {"cuts": of_cuts})
            curves.append(local)
        else:
            curves.append(_SEARCHES[name](wish, clock))
    by_name = {curve.name: curve for curve in curves}
    if "lattice" in by_name:
        curves = [_with_nodes(c, by_name["lattice"]) if c.name == "cuts" else c for c in curves]
    curves = [c if c.proven or c.name not in freer else c.bounded_by(freer[c.name]) for c in curves]
    apart = wish.apart() if {"cuts", "local"} <= set(names) else ()
    return ModelCurves(table.rows, table.schema.quasi, allowed, wanted, tuple(curves), apart)


def usual_ks(asked: Problem, own: Plan | None = None, chosen: Sequence[float] = ()) -> tuple[int, ...]:
    """The k to compare where nobody lists any, rising: the job's own, or those in common use, and none left out of it.

    Its own are those that its local search is for, its limit on k, and those that it has ``chosen``.
    """
    rows = asked.table.rows
    listed = own.settings["ks"] if own is not None and own.method == "local" else None
    ks = set(listed or [k for k in KS if 4 * k <= rows] or [min(2, rows)])
    limits = [limit for measure, limit in asked.limits if measure.name == "k"]
    return tuple(sorted(ks | {math.ceil(k - 1e-9) for k in (*limits, *chosen) if k >= 1}))


def _freedom(table: Table, own: Plan | None) -> tuple[Cuts, bool]:
    """The space of cuts, and whether local recoding may show any interval: as the job's own search has it."""
    if own is None:
        return make_cuts(table.hierarchies), False
    if isinstance(own.space, Cuts):
        return own.space, False
    space = make_order(table.hierarchies) if own.space == "order" else make_cuts(table.hierarchies)
    return space, own.method == "local" and bool(own.settings["intervals"])


@dataclass(frozen=True, eq=False)
class _Wish:
    """What every model is asked for."""

    asked: Problem
    allowed: int  # rows that may be suppressed
    limits: dict[str, float]  # per class, beside k
    ks: tuple[int, ...]
    seed: int
    space: Cuts  # that cuts are searched in
    intervals: bool  # local recoding may show any interval of an ordered column

    @property
    def local(self) -> LocalWish:
        """The same for a local recoding."""
        share = self.allowed / self.asked.table.rows
        return LocalWish(self.ks[0], dict(self.limits), intervals=self.intervals, suppression=share)

    def apart(self, intervals: bool | None = None) -> tuple[str, ...]:
        """Columns in which cuts may show what local recoding may not: groups of neighbours that no label stands for.

        Only where there are none is every recoding by cuts a local one, so that what bounds these bounds cuts. Of two
        values every group is a label; of three or more no tree has all.
        """
        shown = self.intervals if intervals is None else intervals
        return tuple(
            h.name
            for h, free in zip(self.space.hierarchies, self.space.free, strict=True)
            if free and len(h.leaves) > 2 and not (shown and h.ordered)
        )


def _lattice(wish: _Wish, clock: _Clock) -> ModelCurve:
    """The exact front of k and LM, read off at each k."""
    began, table = working(), wish.asked.table
    front = clock.run(problem(table, ["k", "lm"], wish.allowed, wish.limits))
    return ModelCurve("lattice", tuple(_read_off(front, wish.ks)), front.provenance.complete, working() - began)


def _read_off(front: Front, ks: Sequence[int]) -> list[ModelPoint]:
    """The least loss of a front for each k."""
    points, rows = [], front.problem.table.rows
    least = front.numbers.values[:, front.names.index("lm")]
    sizes = front.numbers.values[:, front.names.index("k")] if "k" in front.names else None
    proven = front.provenance.complete
    for k in ks:
        fitting = [place for place in range(len(front)) if sizes is None or sizes[place] >= k]
        if not fitting:
            continue
        best = min(fitting, key=lambda place: float(least[place]))
        loss, partition = float(least[best]), front[best].partition
        reached = int(partition.sizes[partition.visible].min()) if not partition.empty else rows
        points.append(ModelPoint(k, reached, loss, loss if proven else None, int(partition.suppressed_rows)))
    return points


def _cuts(wish: _Wish, clock: _Clock) -> ModelCurve:
    """Recutting for each k, with the bound that it proves; with further limits beside k, flipping too."""
    began, points, proven = working(), [], True
    for number, k in enumerate(wish.ks):
        pause()
        left = clock.share(len(wish.ks) - number)
        limits = {"k": float(k), **wish.limits}
        tried = [limits] if not wish.limits else [{"k": float(k)}, limits]
        limited = problem(wish.asked.table, ["lm"], wish.allowed, limits)
        met, bounds = [], []
        for asked_limits in tried:
            share = None if left is None else left / len(tried)
            asked = problem(wish.asked.table, ["lm"], wish.allowed, asked_limits)
            budget = 2_000 if len(asked_limits) > 1 else None  # flip ends late where limits keep it from being compiled
            try:
                front = replace(clock, seconds=share).run(asked, Plan("improve", wish.space, budget, wish.seed))
            except Unsafe:
                proven = False
                continue
            # What is found under k alone may keep the other limits too; what bounds it bounds those that keep them.
            met += _read_off(front if asked_limits is limits else _under(front, limited), [k])
            least = front.provenance.details.get("lower_bound")
            bounds += [] if least is None else [float(least)]
            proven = proven and front.provenance.complete
        if met:
            best = min(met, key=lambda point: point.loss)
            points.append(replace(best, least=min(max(bounds), best.loss) if bounds else None))
    kept = _with_larger(points, wish.ks)
    return ModelCurve("cuts", kept, proven and bool(points) and not wish.limits, working() - began)


def _with_larger(points: Sequence[ModelPoint], ks: Sequence[int]) -> tuple[ModelPoint, ...]:
    """The points of a curve with the best that is known for each k: what keeps a larger k keeps a smaller one too."""
    at = {point.k: point for point in points}
    known: list[ModelPoint] = []
    for k in sorted(ks, reverse=True):
        fitting = [point for point in (at.get(k), known[-1] if known else None) if point is not None]
        if fitting:
            best = min(fitting, key=lambda point: point.loss)
            known.append(replace(best, k=k, least=at[k].least if k in at else None))
    return tuple(known[::-1])


def _under(front: Front, limited: Problem) -> Front:
    """The points of a front that was searched under fewer limits, counted anew under all of them."""
    kept = front.provenance
    numbers = limited.evaluate(front.space, front.genomes)
    return make_front(limited, front.space, front.genomes, numbers, replace(kept, complete=False))


def _with_nodes(cuts: ModelCurve, lattice: ModelCurve) -> ModelCurve:
    """The curve of cuts, nowhere below that of the lattice: every node is a recoding by cuts too."""
    points = {point.k: point for point in cuts.points}
    for node in lattice.points:
        cut = points.get(node.k)
        if cut is None or node.loss < cut.loss:
            points[node.k] = replace(node, least=None if cut is None else cut.least)
    return replace(cuts, points=tuple(points[k] for k in sorted(points)))


def _strict(wish: _Wish, clock: _Clock) -> ModelCurve:
    """A tree of questions for each k; nothing is suppressed."""
    began, points = working(), []
    for number, k in enumerate(wish.ks):
        pause()
        timer = replace(clock, seconds=clock.share(len(wish.ks) - number))
        grown = strict(wish.asked.table, replace(wish.local, k=k, suppression=0.0), wish.seed, progress=timer.ask)
        timer.check()
        points.append(ModelPoint(k, grown.recoding.k, grown.recoding.loss, None, 0))
    return ModelCurve("strict", tuple(points), False, working() - began)


def _local(wish: _Wish, clock: _Clock, with_cuts: bool) -> tuple[ModelCurve, ModelCurve | None]:
    """The sweep over all k, with the bound of each; and a curve with bounds that hold for cuts, where there is one."""
    began, table = working(), wish.asked.table
    freed = with_cuts and bool(wish.apart()) and not wish.apart(intervals=True)
    stages = STAGES + 1 if freed else STAGES
    seconds = None if clock.seconds is None else max(LEAST, clock.seconds / len(wish.ks) / stages)
    swept = sweep(table, wish.local, wish.ks, Effort(wish.seed, seconds=seconds), WALKS, clock.go_on)
    clock.check()
    local = _swept_curve(swept, [point.bound for point in swept])
    of_cuts = None if wish.apart() else local
    if freed:
        # The same classes by intervals of any length: every group of neighbours that cuts may show is among them.
        free = make_problem(table, replace(wish.local, k=wish.ks[-1], intervals=True))
        bounds = [lower_bound(with_k(free, p.k), p.classes, FREE_WALKS, seconds, clock.go_on) for p in swept[::-1]]
        clock.check()
        of_cuts = _swept_curve(swept, bounds[::-1])
    return replace(local, seconds=working() - began), of_cuts


def _swept_curve(swept: Sequence[CurvePoint], bounds: Sequence[LocalBound | None]) -> ModelCurve:
    """What a sweep reached, beside some bounds."""
    points = []
    for point, bound in zip(swept, bounds, strict=True):
        least = None if bound is None or math.isclose(bound.value, 0.0) else bound.value
        reached, suppressed = point.recoding.k, point.recoding.suppressed
        points.append(ModelPoint(point.k, reached, point.recoding.loss, least, suppressed))
    return ModelCurve("local", tuple(points), False, 0.0)


_SEARCHES = {"lattice": _lattice, "cuts": _cuts, "strict": _strict}
