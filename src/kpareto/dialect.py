"""How an engine spells what the way out asks of it. The words here are DuckDB's; another engine overrides some.

The released rows are one query (``recoded``), put together from these pieces. Nothing else of it differs between
engines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

# What a spreadsheet would run; a negative number is none.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
NUMBER = r"^[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]+)?\s?%?$"


def literal(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


@dataclass(frozen=True)
class Dialect:
    """DuckDB's way of writing the pieces."""

    large: bool = False  # so many rows that their order goes by the engine's own hash, which a new version may change

    number: ClassVar[str] = "row_number() OVER ()"  # a number of its own for each row, whatever it is

    def quoted(self, name: str) -> str:
        """The name of a column."""
        return '"' + name.replace('"', '""') + '"'

    def literal(self, text: str) -> str:
        """A text."""
        return literal(text)

    def same(self, left: str, right: str) -> str:
        """Whether two values are equal, where no value equals no value."""
        return f"{left} IS NOT DISTINCT FROM {right}"

    def text(self, value: str) -> str:
        """A value as text."""
        return f"{value}::VARCHAR"

    def key(self, value: str) -> str:
        """A value as the order of the rows depends on it: as text, so that it is the same from every source."""
        return value if self.large else self.text(value)

    def real(self, value: str) -> str:
        """A text as a number."""
        return f"{value}::DOUBLE"

    def token(self, salt: str) -> str:
        """32 hexadecimal digits, different for each row."""
        return f"substr(sha256({self.literal(salt)} || {self.number}), 1, 32)"

    def runs(self, value: str) -> str:
        """Whether a spreadsheet would run this text."""
        starts = ", ".join(f"chr({ord(start)})" for start in FORMULA_STARTS)
        return f"(substr({value}, 1, 1) IN ({starts}) AND NOT {self.matches(value, NUMBER)})"

    def matches(self, value: str, pattern: str) -> str:
        """Whether a regular expression is found in a text."""
        return f"regexp_matches({value}, {self.literal(pattern)})"

    def shuffled(self, rows: str, cells: Sequence[str], key: Sequence[str], seed: int, few: bool) -> str:
        """The rows (a query) in an order that depends on their cells and the seed alone.

        ``key`` are the cells as the order depends on them. Where ``few`` rows are different, those are sorted and then
        written out as often as they occur: sorting ten million rows costs more than everything else together.
        """
        listed = ", ".join(cells)
        order = f"hash({literal(str(seed))}, {', '.join(key)})"
        if few or not self.large:
            told = ", ".join(f"coalesce({each}::VARCHAR, chr(1))" for each in key)
            order = f"md5(concat_ws(chr(31), {literal(str(seed))}, {told}))"
        if not few:
            return f"SELECT {listed} FROM ({rows}) ORDER BY {order}"
        counted = f"SELECT {listed}, count(*) AS n FROM ({rows}) GROUP BY ALL"
        sorted_ = f"SELECT * FROM ({counted}) ORDER BY {order}"
        return f"SELECT {listed} FROM (SELECT {listed}, unnest(range(n)) FROM ({sorted_}))"
