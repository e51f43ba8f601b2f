"""How many rows of a table are alone with their values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class UniqueRows:
    """How many rows no other row equals, over some columns."""

    columns: tuple[str, ...]
    rows: int
    unique: int
    groups: int  # distinct rows

    @property
    def share(self) -> float:
        """Of all rows."""
        return self.unique / self.rows if self.rows else 0.0

    def to_dict(self) -> dict[str, object]:
        """The counts as plain data."""
        return {**vars(self), "columns": list(self.columns), "share": self.share}
