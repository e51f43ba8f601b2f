"""Limits that nothing can meet, or that everything meets, are slips: each is refused with a sentence."""

from __future__ import annotations

from collections.abc import Mapping

from kpareto.errors import BadJob
from kpareto.jobs.checks import Check
from kpareto.measures.measure import MAKERS, aspect_of, make, read_spec
from kpareto.measures.plain import plain_of

MOST_RECODINGS = 10**10  # a budget beyond this would last for years


def check_limits(check: Check, limits: Mapping[str, float]) -> None:
    """Raise where a limit is negative, a part of a whole number, or beyond the share that there can be."""
    for spec, limit in limits.items():
        check.one_of(read_spec(spec)[0], f"limits.{spec}", tuple(MAKERS))
        measure = make(spec)
        place = f"{check.name}: limits.{spec} is {limit!r}"
        if limit < 0:
            raise BadJob(f"{place}, and no {measure.name} is below 0. Give a positive number.")
        if aspect_of(measure).shown and (limit < 1 or limit != int(limit)):
            raise BadJob(f"{place}. It counts {measure.unit}: give a whole number of at least 1.")
        if plain_of(measure).reading == "share" and limit > 1:
            raise BadJob(f"{place}. It is a share: give a number from 0 to 1, such as 0.2 for 20 percent.")


def check_budget(check: Check, budget: int | None) -> None:
    """Raise where more recodings are asked for than anybody can wait for."""
    if budget is not None and budget > MOST_RECODINGS:
        raise BadJob(
            f"{check.name}: search.budget is {budget:,} recodings, which would last for years. Give at most "
            f"{MOST_RECODINGS:,}; a search can be stopped and go on."
        )
