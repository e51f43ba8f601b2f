"""The point that a choice means, searched for where the front has not been: for releases, reports and the page."""

from __future__ import annotations

from kpareto.errors import Progress
from kpareto.fronts.choose import choose_point, read_wish
from kpareto.fronts.front import Front, Point
from kpareto.fronts.picture import RECOMMENDED
from kpareto.fronts.problem import Problem
from kpareto.searches.local.further import is_searched, search_further
from kpareto.searches.possible import check_possible


def chosen_point(front: Front, words: str | None = None, report: Progress | None = None) -> Point:
    """The point that words name, of the front searched for what they ask for (``search_for_choice``)."""
    return choose_point(search_for_choice(front, words, report), words)


def search_for_choice(front: Front, words: str | None = None, report: Progress | None = None) -> Front:
    """The front with what a choice asks for: a local one is searched for a k that it has not been searched for."""
    if len(front) == 0:
        return front
    said = words or RECOMMENDED
    check_choice(front.problem, said)
    return search_further(front, read_wish(said).models(), report=report)


def is_searched_for(front: Front, words: str | None = None) -> bool:
    """Whether the front has been searched for what a choice asks for."""
    return is_searched(front, read_wish(words or RECOMMENDED).models())


def check_choice(problem: Problem, words: str) -> None:
    """Raise where a choice asks for what no recoding of the table can have."""
    check_possible(problem, read_wish(words).models())
