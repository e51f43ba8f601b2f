"""What can be told before a search: what no recoding can meet, and about how long an exact search will take.

Some combinations of levels of the first columns are drawn by chance, and the nodes below each of them are settled as
the search itself will do it, with a clock beside. Parts differ by powers of ten, so their mean is good for a sentence
such as "about 20 s" and for no more. Processor time is measured, so that a busy machine promises as an idle one does.

Wishes that no recoding can meet are told from the table alone, each in a sentence before anything is searched. What is
refused is impossible for every recoding, of every model, with every suppression that the rule allows; the argument
stands in ``measures/reach.py``. What is not refused may still be met by none, which only a search can tell.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from warnings import warn

import numpy as np

from kpareto.errors import BadJob, SearchWarning
from kpareto.fronts.count_lattice import Walker
from kpareto.fronts.numbers import spell_count
from kpareto.fronts.problem import Problem
from kpareto.fronts.subtree_bounds import BoundedWalk
from kpareto.interrupts import TimeLimit
from kpareto.measures.measure import Measure, make, meets
from kpareto.searches.lattice.climbing import front_of_all, reach_good_nodes
from kpareto.searches.lattice.exact import BranchTree, find_way
from kpareto.tables.cuts import Cuts, make_space
from kpareto.tables.lattice import Kind, Lattice
from kpareto.tables.spelling import several
from kpareto.tables.table import Table

LOOKED = 16  # nodes whose counting is measured first
QUICK = 2.0  # seconds: a search that takes no longer even at the pace of single nodes needs no forecast
SURELY = 5e-9  # seconds per node and distinct row that a roll-up hardly ever takes
SAMPLE = 24  # parts that are drawn
PARTS = 4_000  # a sampled part has one in so many of the nodes
PATIENCE = 3.0  # seconds that sampling may take, beside the guides


def forecast_seconds(problem: Problem, threads: int | None = None) -> float:
    """About how long the exact search takes; infinite where its nodes cannot even be numbered."""
    lattice = Lattice(problem.table.hierarchies)
    if lattice.size >= 2**62:
        return math.inf
    surely = lattice.size * problem.table.distinct * SURELY / _workers(threads)
    if problem.is_walked and surely <= QUICK:
        return surely  # nothing is measured, because that would load more compiled code than the search needs
    one_by_one = _pace(problem) * lattice.size / _workers(threads)
    way = find_way(problem)
    if one_by_one <= QUICK or not way.fixed:
        return one_by_one
    if way.kind == "leaves":
        return _sample_leaves(problem, lattice, threads)
    return _sample_walks(problem, lattice, pruned=way.kind == "roll-up", threads=threads)


def _pace(problem: Problem, kind: Kind = "lattice") -> float:
    """Seconds per recoding, counted one by one; the first one, which compiles, is not timed."""
    space, random = make_space(kind, problem.table), np.random.default_rng(0)
    if isinstance(space, Cuts):
        drawn = space.sample(LOOKED, random)
    else:
        drawn = random.integers(0, space.genes, size=(LOOKED, len(space.genes)))
    problem.evaluate(space, drawn[:1])
    began = time.process_time()
    if not problem.why_in_python(kind):
        problem.evaluate(space, drawn)
        return (time.process_time() - began) / LOOKED
    counted = 0
    while counted < LOOKED and (not counted or time.process_time() - began < PATIENCE / 3):  # each may take seconds
        problem.evaluate(space, drawn[counted : counted + 1])
        counted += 1
    return (time.process_time() - began) / counted


def say_slow(problem: Problem, method: str = "exact", evaluations: int | None = None, kind: Kind = "lattice") -> str:
    """Why a search counts in plain Python, and what that will take, before it begins; empty where it takes no time."""
    over: Kind = "lattice" if kind == "local" else kind  # classes with labels of their own are counted like nodes
    if not (why := problem.why_in_python(over)):
        return ""
    pace = max(_pace(problem, over), 1e-6)
    nodes = Lattice(problem.table.hierarchies).size if method == "exact" else evaluations
    if nodes is not None and pace * nodes <= QUICK:
        return ""
    rate = f"{1 / pace:,.0f} a second" if pace <= 0.5 else f"one in {pace:,.0f} s" if pace >= 1.5 else "one a second"
    whole = "" if nodes is None else f" All {spell_count(nodes)} will take {spell_seconds(pace * nodes)}."
    return f"{why[0].upper()}{why[1:]}, so each recoding is counted in Python: here about {rate}.{whole}"


def warn_slow(
    problem: Problem, method: str = "exact", evaluations: int | None = None, kind: Kind = "lattice", level: int = 3
) -> None:
    """Warn the caller of a Python function before a search that counts in plain Python."""
    if sentence := say_slow(problem, method, evaluations, kind):
        warn(SearchWarning(sentence), stacklevel=level)


def _workers(threads: int | None) -> int:
    return threads or os.cpu_count() or 1


def _depth(heights: np.ndarray) -> tuple[int, int]:
    """How many columns a sampled part fixes, and how many such parts there are."""
    fixed, count = 0, 1
    while fixed < len(heights) - 1 and count < PARTS:
        count *= int(heights[fixed]) + 1
        fixed += 1
    return fixed, count


def _sample_leaves(problem: Problem, lattice: Lattice, threads: int | None) -> float:
    """Branch and bound by leaves: parts judged by what a short look around has reached."""
    began = time.process_time()
    guides = reach_good_nodes(problem, lattice, sample=64, limit=TimeLimit(PATIENCE))
    looking = time.process_time() - began
    front = front_of_all([guides.take(np.flatnonzero(guides.feasible))], len(problem.objectives)).keys
    tree = BranchTree(problem, ())
    fixed, count = _depth(tree.columns.heights)
    rng, until, took = np.random.default_rng(1), TimeLimit(PATIENCE), []
    with until.watching():
        for _ in range(SAMPLE):
            prefix = rng.integers(0, tree.columns.heights[:fixed] + 1)
            began = time.process_time()
            tree.survivors(prefix, np.ascontiguousarray(front), until.halt)
            took.append(time.process_time() - began)
            if until.is_up:
                break
    # Each sampled part looks at its own prefix again, which the search does once for many: a tenth is a fair share.
    return looking + 0.1 * float(np.median(took)) * count / _workers(threads) + _excess(took, count, threads)


def _excess(took: list[float], count: int, threads: int | None) -> float:
    """What parts take beyond looking at their prefix, all of them."""
    usual = float(np.median(took))
    return float(np.mean([max(0.0, seconds - usual) for seconds in took])) * count / _workers(threads)


def _sample_walks(problem: Problem, lattice: Lattice, *, pruned: bool, threads: int | None) -> float:
    """Roll-up: parts walked from their own class table, judged by a short look around where bounds hold."""
    walk = BoundedWalk(problem) if pruned else None
    walker = walk.walker if walk is not None else make_walker(problem)
    looking, pruning = 0.0, None
    if walk is not None:
        began = time.process_time()
        guides = reach_good_nodes(problem, lattice, sample=64, limit=TimeLimit(PATIENCE))
        looking = time.process_time() - began
        reached = front_of_all([guides.take(np.flatnonzero(guides.feasible))], len(problem.objectives))
        pruning = walk.bounds, walk.bounds.judge(reached)
    heights = walker.columns.heights
    fixed, count = _depth(heights)
    rng, until, took = np.random.default_rng(1), TimeLimit(PATIENCE), []
    with until.watching():
        for _ in range(SAMPLE):
            task = walker.task_at(rng.integers(0, heights[:fixed] + 1))
            began = time.process_time()
            walker.run(task, until.halt, None if pruning is None else (pruning[1], pruning[0].room(task)))
            took.append(time.process_time() - began)
            if until.is_up:
                break
    return looking + float(np.mean(took)) * count / _workers(threads)


def make_walker(problem: Problem) -> Walker:
    """What counts the whole lattice of a problem."""
    if problem.translation is None:
        raise TypeError("find_way told of a walk")
    return Walker(problem.table, problem.translation.wanted)


def spell_seconds(seconds: float) -> str:
    """A time for a sentence, to one digit or two: about 20 s, about 3 minutes, about 2 hours, days or more."""
    if seconds < 90:
        return f"about {max(1, round(seconds, -1 if seconds >= 20 else 0)):.0f} s"
    if seconds < 5_400:
        return f"about {round(seconds / 60):.0f} minutes"
    if seconds < 172_800:
        return f"about {round(seconds / 3600):.0f} hours"
    return "days or more"


DIGITS = 4  # of a number that is told, rounded to the side that is possible
SLACK = 1e-9  # relative, of sums over many rows


def check_possible(problem: Problem, chosen: Mapping[str, float] | None = None) -> None:
    """Raise where a limit, or what is chosen beside the limits, can be met by no recoding of the table.

    What a sample lacks the table may have, so that nothing is refused on one.
    """
    if problem.table.sample is not None:
        return
    spare = spare_rows(problem)
    asked = [("limit", measure, limit) for measure, limit in problem.limits]
    asked += [("choice", make(name), limit) for name, limit in (chosen or {}).items()]
    for word, measure, limit in asked:
        if sentence := say_impossible(problem.table, measure, limit, spare, word):
            raise BadJob(sentence)


def spare_rows(problem: Problem) -> int:
    """The most rows that may be suppressed while one is left."""
    rows, suppression = problem.table.rows, problem.suppression
    if suppression.rule == "none":
        return 0
    most = rows if suppression.rule == "below-k" else suppression.allowed(rows)
    return min(most, rows - 1)


def say_impossible(table: Table, measure: Measure, limit: float, spare: int = 0, word: str = "limit") -> str:
    """Why no recoding meets a limit, and the best value that is possible; nothing where one may."""
    reach = getattr(measure, "reach", None)
    if reach is None or table.rows == 0:
        return ""
    best = reach(table, spare).best
    slack = SLACK * max(1.0, abs(best)) if math.isfinite(best) else 0.0
    if bool(meets(measure.better, best + slack if measure.better == "higher" else best - slack, limit)):
        return ""
    sure = reach(table, 0)  # of the recoding in which every quasi-identifier is hidden
    begin = f"The {word} {measure.name} = {_spell_limit(limit)} cannot be met: {sure.why}"
    if math.isinf(best):
        return f"{begin}, too few for it. Take it out, or ask for less of another kind."
    higher = measure.better == "higher"
    if not sure.reached:
        return f"{begin}, so no {measure.name} above {_spell(best, not higher)} is possible. Ask for less."
    possible = _spell(sure.best, higher)
    if math.isclose(best, sure.best):
        ends = ("largest", "less") if higher else ("least", "more")
        return f"{begin}, so {possible} is the {ends[0]} {measure.name} that is possible. Ask for that or {ends[1]}."
    beyond, more = ("above", "less") if higher else ("below", "more")
    return (
        f"{begin}, so no {measure.name} {beyond} {_spell(best, not higher)} is possible, even without the "
        f"{several(spare, 'row')} that may be suppressed; {possible} is. Ask for that or {more}."
    )


def _spell_limit(limit: float) -> str:
    """A limit as a person wrote it, a whole number in full."""
    return f"{limit:,.0f}" if float(limit).is_integer() else f"{limit:,.6g}"


def _spell(value: float, down: bool) -> str:
    """A number in a few digits, rounded down or up."""
    if float(value).is_integer():
        return f"{value:,.0f}"
    step = 10.0 ** (math.floor(math.log10(abs(value))) - DIGITS + 1)
    rounded = math.floor(value / step + SLACK) if down else math.ceil(value / step - SLACK)
    return f"{rounded * step:,.{DIGITS}g}"
