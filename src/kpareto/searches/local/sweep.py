"""All k at once: the curve of local recodings, each search warm from the next larger k.

Classes for a larger k are classes for every smaller k too. So the sweep goes from the largest k down, every search
starts from the better of its own quick start and what the larger k has, and the loss never rises as k falls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kpareto.errors import BadJob, Unsafe
from kpareto.kernels.compiling import working
from kpareto.searches.local.bound import LocalBound, lower_bound
from kpareto.searches.local.problem import LocalProblem, LocalWish, make_problem, with_k
from kpareto.searches.local.recoding import LocalClasses, LocalRecoding, read_classes
from kpareto.searches.local.search import Effort, Progress, Workers, first_classes, search_classes
from kpareto.tables.table import Table

PRESETS = (2, 3, 4, 5, 7, 10, 11, 15, 20, 25, 50, 75, 100, 150, 200, 250, 500, 750, 1000)


@dataclass(frozen=True, eq=False)
class CurvePoint:
    """One k of the curve."""

    k: int  # the k that was asked for
    recoding: LocalRecoding
    bound: LocalBound | None
    classes: LocalClasses

    @property
    def gap(self) -> float | None:
        """How far the loss is above what any recoding could reach, as a share; None where no bound was asked for."""
        return None if self.bound is None else self.bound.gap(self.recoding.loss)


def preset_ks(rows: int) -> tuple[int, ...]:
    """The usual k that a table of so many rows has at least four classes for; 2 in any case."""
    return tuple(k for k in PRESETS if 4 * k <= rows) or (min(2, rows),)


def sweep(
    table: Table,
    wish: LocalWish,
    ks: Sequence[int] | None = None,
    effort: Effort | None = None,
    walks: int = 0,
    progress: Progress | None = None,
) -> list[CurvePoint]:
    """A local recoding for each k, from the smallest k to the largest; ``wish.k`` is not looked at.

    walks: walks over all boxes for the lower bound of each k, 0 for no bound. Stopped, it gives the k it has come to.
    """
    wanted = sorted(set(preset_ks(table.rows) if ks is None else ks), reverse=True)
    if not wanted:
        raise BadJob("A sweep needs at least one k. Give a list such as [2, 5, 10].")
    problem = make_problem(table, replace(wish, k=wanted[0]))
    effort, stop = effort or Effort(), False
    points: list[CurvePoint] = []

    def tell(done: int, total: int) -> bool:
        nonlocal stop
        stop = progress is not None and not progress(len(points) * total + done, len(wanted) * total)
        return not stop

    larger: LocalClasses | None = None
    for k in wanted:
        problem = with_k(problem, k)
        try:
            larger = search_k(problem, effort, [] if larger is None else [larger], tell)
        except Unsafe:  # too large within the highest levels
            continue
        bound = lower_bound(problem, larger, walks, effort.seconds, tell) if walks and not stop else None
        points.append(CurvePoint(k, read_classes(problem, larger), bound, larger))
        if stop:
            break
    return points[::-1]


def search_k(problem: LocalProblem, effort: Effort, starts: Sequence[LocalClasses], progress: Progress) -> LocalClasses:
    """The classes for one k: the search from the best of its own quick start and what others give it."""
    workers = Workers(effort.threads, effort.seconds, progress)
    quick = first_classes(problem, effort, workers)
    start = min((quick, *starts), key=lambda classes: classes.loss(problem))
    if effort.seconds is not None:
        effort = replace(effort, seconds=max(0.0, effort.seconds - (working() - workers.began)))
    both = (search_classes(problem, effort, start, progress), start)
    return min(both, key=lambda classes: classes.loss(problem)).within_levels(problem)
