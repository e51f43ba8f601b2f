"""The Search seam: a way through a box of small whole numbers. One file per search.

A search yields genomes and is sent their numbers. It neither counts evaluations nor keeps the best: the budget, the
memo, the archive, progress, cancelling and checkpoints live once, in driver.py. A search whose paper says what it
reports (POkA's bases, PBG-EA's archive) returns that as its OwnSet; for the others the best of all is taken.

What may be set of a search is said where its dataclass declares it, with ``setting``: the default, what may stand there
and what it means. Jobs, the page and the documentation read it from there.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Protocol

import numpy as np

from kpareto.fronts.numbers import Numbers
from kpareto.strict import Shape, Value, describe, list_of, number, whole, word
from kpareto.tables.lattice import Space

# What a search yields and is sent: genomes (n, genes) int64 -> Numbers with one row per genome, in their order.
Moves = Generator[np.ndarray, Numbers, None]


@dataclass(frozen=True, eq=False)
class OwnSet:
    """What a search itself reports: some of the recodings it has proposed, perhaps dominated ones among them."""

    genomes: np.ndarray  # (n, genes) int64
    kind: Literal["report", "archive"]


# Stopped is thrown into a search that may go no further: it returns its set so far, or lets it pass.
ReportingMoves = Generator[np.ndarray, Numbers, OwnSet | None]


class Search(Protocol):
    """A way through a space."""

    @property
    def name(self) -> str:
        """The word for it in jobs, reports and on the command line."""

    def moves(self, space: Space, rng: np.random.Generator) -> ReportingMoves:
        """Propose genomes, receive their numbers; return when done, with the set to report if there is one."""


# -- what may be set ---------------------------------------------------------------------------------------------------

MOST_EVALUATIONS = 10**12
MOST_GENOMES = 1_000_000  # of a population: each is an array
MOST_THREADS = 1_024


@dataclass(frozen=True)
class Option:
    """A key of ``[search]`` that a search takes."""

    name: str
    takes: Value
    default: Any  # None: as ``unset`` says
    meaning: str
    unset: str = ""  # what happens where the default is None

    def check(self, value: object, where: str) -> None:
        """Raise unless the value may stand there; ``where`` is the key as the user wrote it."""
        if not (value is None and self.default is None):
            self.takes.read(value, where)


def setting(default: Any, takes: Value, meaning: str, unset: str = "") -> Any:
    """A field of a search's dataclass that a job may set; ``unset`` says what happens where the default is None."""
    return field(default=default, metadata={"takes": takes, "meaning": meaning, "unset": unset})


def options_of(search: Any) -> tuple[Option, ...]:
    """The settings that a dataclass declares, with its defaults, or with the values of one that was made."""
    return tuple(
        Option(declared.name, default=getattr(search, declared.name, None), **declared.metadata)
        for declared in fields(search)
        if "takes" in declared.metadata
    )


def count(least: int, most: int, even: bool = False) -> Value:
    """A whole number between two bounds."""

    def fits(value: Any) -> bool:
        return whole(least, most).fits(value) and not (even and value % 2)

    return Value(f"{'an even' if even else 'a whole'} number of at least {least:,} and at most {most:,}", fits)


def share(below_one: bool = False) -> Value:
    """A chance: from 0 to 1, or to below 1."""
    words = f"a share from 0 to {'below ' if below_one else ''}1"
    return describe(words, number(0, math.nextafter(1, 0) if below_one else 1))


def one_of(*known: str) -> Value:
    """One of some words."""
    return describe(f"one of: {', '.join(known)}", word(*known))


def above_zero(words: str = "a number above 0", most: float = math.inf) -> Value:
    """A number above 0."""
    return describe(words, number(math.nextafter(0, 1), most))


def several(item: Shape, words: str) -> Value:
    """A list of what another shape takes, at least one."""
    return describe(words, list_of(item, least=1))
