"""How engines spell what the way out asks of them: one record of strings and functions per engine.

The released rows are one query (``releases.recoded_rows``), put together from these pieces. Nothing else of it differs
between engines. The defaults here are DuckDB's words, most of which are everybody's; an engine names those it spells
otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

# What a spreadsheet would run; a negative number is none.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
NUMBER = r"^[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]+)?\s?%?$"

Shuffled = Callable[[str, Sequence[str], Sequence[str], int, bool], str]


def literal(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def quote(name: str) -> str:
    """The name of a column as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def join_texts(start: str, texts: Iterable[str]) -> str:
    """One text of a start (as SQL writes it) and of texts, which others hardly have; NULL is no empty text."""
    cells = ", ".join(f"coalesce({text}, chr(1))" for text in texts)
    return f"concat_ws(chr(31), {start}, {cells})"


@dataclass(frozen=True)
class Sql:
    """How one engine writes the pieces of a query."""

    text: Callable[[str], str]  # a value -> the same as text
    real: Callable[[str], str]  # a text -> the same as a number
    token: Callable[[str], str]  # a salt -> 32 hexadecimal digits, different for each row
    matches: Callable[[str, str], str]  # a text and a regular expression -> whether it is found there
    # The rows (a query), their cells, the cells as the order depends on them, a seed, and whether few rows are
    # different -> the rows in an order that depends on their cells and the seed alone.
    shuffled: Shuffled
    key: Callable[[str], str]  # a value -> as the order of the rows depends on it: the same from every source
    same: Callable[[str, str], str] = lambda left, right: f"{left} IS NOT DISTINCT FROM {right}"  # NULL equals NULL
    literal: Callable[[str], str] = literal
    quote: Callable[[str], str] = quote
    number: str = "row_number() OVER ()"  # a number of its own for each row, whatever it is
    first: Callable[[str], str] | None = None  # a text -> the number of its first letter, where that is quick
    hashed: Callable[[Sequence[str]], str] | None = None  # cells -> the engine's own hash, where it is to be used

    def runs(self, value: str) -> str:
        """Whether a spreadsheet would run this text."""
        starts = [ord(start) for start in FORMULA_STARTS]
        begins = f"substr({value}, 1, 1) IN ({', '.join(f'chr({start})' for start in starts)})"
        if self.first is not None:
            begins = f"{self.first(value)} IN ({', '.join(map(str, starts))})"
        return f"({begins} AND NOT {self.matches(value, NUMBER)})"

    def secret_order(self, cells: Sequence[str], secret: str) -> str:
        """An order of rows by these cells that only who knows the secret can repeat; any order where there are none."""
        return f"md5({join_texts(self.literal(secret), map(self.text, cells))})" if cells else self.literal("")

    def drawn(self, cells: Sequence[str], few: int, rows: int) -> str:
        """Whether a row belongs to about so few of all rows, which its cells alone decide."""
        most = max(1, 65536 * few // rows)
        if self.hashed is not None:
            return f"({self.hashed(cells)} & 65535) < {most}"
        return f"substr({self.secret_order(cells, 'sample')}, 1, 4) < '{most:04x}'"
