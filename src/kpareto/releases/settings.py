"""What a release may be asked for, in words: known to jobs before anything of a release is loaded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from kpareto.errors import BadJob, did_you_mean

DANGERS = ("W1", "W2", "W5", "W8", "W11", "W12", "W17")  # those that can be dangers, and so stop a release
Shown = Literal["label", "midpoint", "median"]
SHOWN: tuple[Shown, ...] = ("label", "midpoint", "median")
WAYS = {  # setting of a Handling -> what it may be, the usual one first
    "identifiers": ("drop", "token"),
    "order": ("shuffled", "kept"),
    "formulas": ("report", "neutralise"),
}


def read_accepted(words: object, where: str = "accept") -> tuple[str, ...]:
    """The dangers that somebody accepts by name, each of them one that there can be."""
    if isinstance(words, str) or not isinstance(words, Iterable):
        raise BadJob(f'is {words!r}. Give a list of warnings, such as ["W1", "W17"].', where=where)
    names = tuple(dict.fromkeys(str(word).upper() for word in words))
    for name in names:
        if name not in DANGERS:
            near = did_you_mean(name, DANGERS)
            raise BadJob(f"has {name!r}, which is never a danger. {near}Take of: {', '.join(DANGERS)}.", where=where)
    return names
