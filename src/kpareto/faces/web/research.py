"""What the page shows under Research: how a run was made and how it came along, and searches side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kpareto.errors import BadJob
from kpareto.faces.web.page_questions import Answer, Question
from kpareto.faces.web.session import Session
from kpareto.faces.web.turns import Work
from kpareto.fronts.choose import read_wish
from kpareto.fronts.front import Front
from kpareto.interrupts import Hearing, hearing
from kpareto.jobs.front import plan_of
from kpareto.searches.compare import SearchTrials, compare_searches, read_search
from kpareto.searches.defects import say_defects
from kpareto.searches.lattice.boxes import grid_for
from kpareto.searches.names import OPTIONS

MOST_SEARCHES, MOST_SEEDS = 8, 100
# What the papers call the ways to cross two parents (readings.md#lu-3).
OPERATORS = {"trad": "TRAD", "new": "NEW", "hybrid": "NEW, and between columns", "one-point": "one-point crossover"}


def research(session: Session, _: Question) -> Answer:
    """How the search was made whose front is explored, and how it came along."""
    return {"run": None if session.search is None else _run(session.front())}


def _run(front: Front) -> dict[str, Any]:
    """The settings of the search that made a front, the least loss while it went on, and the archive of PBG-EA."""
    origin = front.provenance
    meanings = {option.name: option.meaning for option in OPTIONS.get(origin.method, ())}
    settings = [
        {"name": name, "value": _words(name, value), "meaning": meanings.get(name, "")}
        for name, value in origin.options.items()
    ]
    trace = [point[:2] for point in origin.details.get("trace", ())]
    return {
        "method": origin.method,
        "seed": origin.seed,
        "evaluated": origin.evaluated,
        "settings": settings,
        "goal": origin.details.get("goal", ""),
        "curve": [[done, least, least, least] for done, least in trace if least < float("inf")],
        "exact": say_defects(exact) if (exact := origin.details.get("exact")) else [],
        "archive": _archive(front) if origin.points == "archive" else None,
    }


def _words(name: str, value: object) -> str:
    """A setting as text; an operator with the name that the papers have for it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name == "crossover" and value in OPERATORS:
        return f"{value} ({OPERATORS[str(value)]})"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {part}" for key, part in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else f"{value}"


def _archive(front: Front) -> dict[str, Any]:
    """The boxes that are held, the best of the first objective first, and how wide boxes are."""
    options = front.provenance.options
    grid = options.get("grid")
    chosen = grid_for(
        front.problem, grid if isinstance(grid, list | tuple) else None, options.get("brackets", "ceiling")
    )
    values = front.numbers.values
    boxes = chosen.boxes(values)
    order = sorted(range(len(values)), key=lambda place: tuple((-boxes[place]).tolist()))
    return {
        "names": list(front.names),
        "widths": list(chosen.epsilons),
        "brackets": chosen.brackets,
        "most": chosen.size_bound(values),
        "members": [{"box": boxes[place].tolist(), "values": values[place].tolist()} for place in order],
    }


def compare(session: Session, question: Question, piece: Work) -> Answer:
    """Run the searches that are named, each with so many seeds, and tell them apart; long work that can be stopped.

    The rows are those that the last search has read, where the job is the same.
    """
    names, seeds = question.get("searches"), question.get("seeds", 5)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise BadJob(f"The searches to compare are {names!r}. Give a list of names, such as nsga2 and flip.")
    searches = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    if not 2 <= len(searches) <= MOST_SEARCHES:
        raise BadJob(f"{len(searches)} searches are to be compared. Give 2 to {MOST_SEARCHES}, each on a line.")
    if isinstance(seeds, bool) or not isinstance(seeds, int) or not 1 <= seeds <= MOST_SEEDS:
        raise BadJob(f"Each search is to run with {seeds!r} seeds. Give a whole number from 1 to {MOST_SEEDS}.")
    job = session.job
    plan = plan_of(job)
    for words in searches:
        read_search(words, plan)  # a wrong one is a sentence before the table is read
    with hearing(Hearing(stopped=piece.stopped)):
        asked = job.problem() if session.search is None or session.stale else session.front().problem
        k = read_wish(job.choose).models().get("k") if job.choose else None
        return trials_view(compare_searches(asked, searches, seeds, k, plan, piece))


def trials_view(trials: SearchTrials) -> dict[str, Any]:
    """The tables and sentences that ``kpareto compare`` prints, and the numbers of its picture."""
    return {
        "goal": trials.goal.words,
        "tables": [{"heads": heads, "rows": rows} for heads, rows in (trials.table(), trials.test_table())],
        "sentences": trials.sentences(),
        "curves": [{"name": arm.name, "points": arm.drawn().T.tolist()} for arm in trials.arms],
    }
