"""What a public report may show: what the released file shows anyway, and counts of rows of at least k.

A number below k is left out, and so is every number from which it could be had by subtraction: groups of people with
small counts are taken together. Where the number of suppressed rows itself is small, nothing is shown that counts them:
the number of rows read, the risk before, the losses and the other points of the front are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10

from kpareto.faces.report.report import Count, ProfileRow
from kpareto.tables.partition import Partition

OTHERS = "other groups together"
DIGITS = 2  # of a loss that would tell a small number of rows


@dataclass(frozen=True)
class Discretion:
    """For whom a report is, and the least count that everybody may see."""

    least: int
    confidential: bool

    def hides(self, count: int) -> bool:
        """Whether a count of rows is too small to be shown."""
        return not self.confidential and 0 < count < self.least

    def count(self, count: int) -> Count:
        """The count, or None where it is too small."""
        return None if self.hides(count) else count

    def counts(self, counts: Sequence[int], total: int) -> list[Count]:
        """Nested counts of one whole; one that differs too little from a shown one, or from all, is left out too."""
        shown: list[int] = [total]
        answer: list[Count] = []
        for count in counts:
            small = self.hides(count) or any(self.hides(abs(count - other)) for other in shown)
            answer.append(None if small else count)
            if not small:
                shown.append(count)
        return answer

    def veils(self, partition: Partition) -> bool:
        """Whether nothing may be shown that counts the suppressed rows, for they are too few."""
        return self.hides(partition.suppressed_rows)

    def groups(self, rows: Sequence[ProfileRow]) -> tuple[tuple[ProfileRow, ...], int]:
        """Groups of people with small counts taken together, and how many were; nothing where that does not help."""
        if self.confidential:
            return tuple(rows), 0
        small = [row for row in rows if self._tells(row)]
        kept = [row for row in rows if not self._tells(row)]
        # One group alone could be had by subtraction from all, and a small sum is no better than its parts.
        while small and (len(small) == 1 or self._tells(_together(small))):
            if not kept:
                return (), len(rows)
            small.append(kept.pop())
        if not small:
            return tuple(kept), 0
        if not kept:
            return (), len(rows)
        return (*kept, _together(small)), len(small)

    def _tells(self, row: ProfileRow) -> bool:
        gone = row.rows == row.suppressed  # the public must not read a value that only suppressed rows have
        return gone or self.hides(row.rows) or self.hides(row.suppressed) or self.hides(row.rows - row.suppressed)


def _together(rows: Sequence[ProfileRow]) -> ProfileRow:
    count = sum(row.rows for row in rows)
    lost = sum(row.suppressed for row in rows)
    loss = sum(row.loss * row.rows for row in rows) / count
    return ProfileRow(OTHERS, count, lost, lost / count, loss)


def round_number(value: float) -> float:
    """A number to two digits."""
    if value == 0 or value != value or abs(value) == float("inf"):
        return value
    return round(value, DIGITS - 1 - floor(log10(abs(value))))
