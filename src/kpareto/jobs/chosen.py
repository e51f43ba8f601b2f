"""The point that a choice means, searched for where the front has not been: for releases, reports and the page."""

from __future__ import annotations

from collections.abc import Mapping

from kpareto.errors import Progress
from kpareto.fronts.choose import choose_point, default_words, read_wish
from kpareto.fronts.front import Front, Point
from kpareto.searches.local.further import is_searched, search_further


def chosen_point(front: Front, words: str | None = None, report: Progress | None = None) -> Point:
    """The point that words name, of the front searched for what they ask for (``search_for_choice``)."""
    return choose_point(search_for_choice(front, words, report), words)


def search_for_choice(front: Front, words: str | None = None, report: Progress | None = None) -> Front:
    """The front with what a choice asks for: a local one is searched for a k that it has not been searched for."""
    return search_further(front, limits_in(front, words), report=report)


def is_searched_for(front: Front, words: str | None = None) -> bool:
    """Whether the front has been searched for what a choice asks for."""
    return is_searched(front, limits_in(front, words))


def limits_in(front: Front, words: str | None) -> Mapping[str, float]:
    """What a choice asks of measures by name; nothing where it names a point."""
    wish = read_wish(words or default_words(front))
    return wish.numbers if wish.kind in ("limits", "prefer") else {}
