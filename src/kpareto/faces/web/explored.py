"""The front that a session explores, and the points of it that the page names."""

from __future__ import annotations

from kpareto.errors import BadInput, BadJob
from kpareto.faces.web.searching import Searching
from kpareto.faces.web.sessions import Session
from kpareto.fronts.front import Front


def front_of(session: Session) -> Front:
    """The front that is explored, read from its run where it is not in memory."""
    front = None if session.search is None else session.search.load()
    if front is None:
        last = session.attempt
        if last is not None and last.phase == "failed" and last.sentence:
            raise BadJob(f"The search has found no point yet. {last.sentence}")
        raise BadJob("There is no front yet. Start a search first.")
    return front


def place_of(place: object) -> int:
    """A point by its number."""
    try:
        return int(str(place))
    except ValueError:
        raise BadInput(f"{place!r} is no number of a point.") from None


def searched_of(session: Session) -> Searching:
    """The search whose front is explored."""
    if session.search is None:
        raise BadJob("There is no front yet. Start a search first.")
    return session.search
