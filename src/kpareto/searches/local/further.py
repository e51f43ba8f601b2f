"""A k that a local front was not searched for, searched when somebody asks for it.

A local search looks for some k, by default those in common use; a k between them would get the next larger one's
recoding, and so lose more than it must. Here the same search, with the settings and the seed that the front says of
itself, is run for what is asked alone, and its recodings join those of the front: the best for that k is then the one
that a job for that k would find, or one of a larger k that loses less still.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kpareto.errors import Interrupted, Progress
from kpareto.fronts.front import Front, make_front
from kpareto.measures.measure import make
from kpareto.searches.driver import drive
from kpareto.searches.local import LocalSettings
from kpareto.searches.local.driven import LocalDriven, tell_proof
from kpareto.searches.names import read_options
from kpareto.tables.local_space import LocalSpace, join_spaces


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
    known = [each.level for each in whole.steps]
    ks = whole.ks
    if asked.get("k", 0.0) >= 1:
        ks = LocalDriven(front.problem, replace(settings, ks=[math.ceil(asked["k"] - 1e-9)]), seed).ks
    elif level is None:
        return None
    searched = [_key(each) for each in details.get("searched", ())]
    wanted = [{"k": float(k)} for k in ks]
    if level is not None and whole.second is not None:
        wanted += [{"k": float(k), whole.second.name: level} for k in ks]
    missing = {each["k"] for each in wanted if _key(each) not in searched}
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
