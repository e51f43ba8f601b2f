"""Answer: one recoding that meets the limits, for searches that look for no more."""

from __future__ import annotations

from dataclasses import dataclass

from kpareto.tables.partition import Partition
from kpareto.tables.recoding import Recoding


@dataclass(frozen=True, eq=False)
class Answer:
    """One recoding that meets the limits, and what its search does not promise."""

    method: str
    recoding: Recoding
    partition: Partition
    values: dict[str, float]  # the objectives of the problem
    evaluated: int  # recodings counted
    promise: str
