"""A search under way, as its driver sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kpareto.fronts.front import Front
from kpareto.fronts.numbers import Numbers
from kpareto.searches.checkpoint import Arrays, Kept, Standing

Watch = Callable[[Numbers], None]  # told the numbers of recodings as they are met: of some, or of the best so far
Tell = Callable[[int, Callable[[], Numbers]], None]  # what is done, and what was met; raises Stopped to end the search


@dataclass(frozen=True)
class Ending:
    """Why a search ended before it was done."""

    note: str = "stopped by the user"
    stopped: bool = True  # by the user, who has not asked for an answer


class Course(Protocol[Standing]):
    """A search under way, as the driver sees it."""

    @property
    def total(self) -> int:
        """Steps in all, 0 where nobody knows."""

    def fingerprint(self) -> str:
        """What decides its course; a checkpoint of another one is refused."""

    def go(self, known: Arrays | None, tell: Tell, kept: Kept[Standing]) -> Front:
        """From the beginning, or on from what a checkpoint has, to the end; each step is told and kept."""

    def pack(self, standing: Standing) -> Arrays | None:
        """Where it stands, as a checkpoint holds it; None while the checkpoint that is there knows more."""

    def front_so_far(self, standing: Standing | None, ending: Ending) -> Front:
        """What is known where it was ended."""
