"""Counting questions put to the program that holds the rows, beyond the one roll-up of the door.

Whatever holds the rows is seen as one view for DuckDB, with columns c0, c1, … in the order of the table. Text is
trimmed as the door trims it, so that counts agree with the Table that will be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from kpareto.engines import open_source
from kpareto.engines.duckdb.connect import NESTED
from kpareto.engines.source import View
from kpareto.engines.values import blank, encode, numpy_of
from kpareto.tables.schema import Schema
from kpareto.tables.table import UniqueRows, number_rows

if TYPE_CHECKING:
    import pyarrow as pa

PAIRS = 66  # pairs of columns that are counted unless told otherwise: all pairs of twelve columns


@contextmanager
def open_view(source: object, encoding: str = "utf-8") -> Iterator[View]:
    """The source as rows that answer queries."""
    with open_source(source, encoding) as rows:
        yield rows.view()


@dataclass(frozen=True, eq=False)
class CodedRows:
    """The distinct rows over some columns as codes, rolled up by the engine."""

    columns: tuple[str, ...]
    codes: np.ndarray  # (distinct, columns) int64
    weights: np.ndarray  # (distinct,) int64, rows, none zero

    def unique(self, columns: Sequence[int]) -> UniqueRows:
        """Rows that are alone with their values of some of these columns, by place."""
        return self.count(columns)[0]

    def count(self, columns: Sequence[int]) -> tuple[UniqueRows, np.ndarray]:
        """The same, and per distinct row how many rows have its values of these columns: (distinct,) int64."""
        group, first = number_rows(self.codes[:, list(columns)])
        counts = np.bincount(group, self.weights, len(first)).astype(np.int64)
        names = tuple(self.columns[column] for column in columns)
        return UniqueRows(names, int(counts.sum()), int((counts == 1).sum()), len(first)), counts[group]


def choose_pairs(distinct: Sequence[int], most: int) -> tuple[list[tuple[int, int]], int]:
    """Pairs of columns to count, by place, and how many are left: over budget, columns with few values go first."""
    rising = sorted(range(len(distinct)), key=lambda index: (-distinct[index], index))
    chosen = sorted(combinations(range(len(rising)), 2), key=lambda pair: (pair[1], pair[0]))
    places = [(rising[one], rising[two]) for one, two in chosen[: max(most, 0)]]
    return [(min(pair), max(pair)) for pair in places], len(chosen) - len(places)


def rank_unique(counted: Iterable[UniqueRows]) -> tuple[UniqueRows, ...]:
    """Those that single out most rows first."""
    return tuple(sorted(counted, key=lambda rows: (-rows.unique, -rows.groups, rows.columns)))


def code_rows(rows: View, columns: Sequence[int]) -> CodedRows:
    """Roll the rows up over some columns, by one GROUP BY."""
    cells = ", ".join(f"c{column}" for column in columns)
    answer = rows.ask(f"SELECT {cells}, count(*) AS n FROM {rows.table} GROUP BY ALL").to_arrow_table()
    codes = np.empty((answer.num_rows, len(columns)), dtype=np.int64)
    for index, column in enumerate(columns):
        codes[:, index], _ = _code_column(answer.column(index), rows.columns[column])
    names = tuple(rows.columns[column] for column in columns)
    return CodedRows(names, codes, numpy_of(answer.column(len(columns)).combine_chunks()).astype(np.int64))


def _code_column(values: pa.ChunkedArray, name: str) -> tuple[np.ndarray, pa.Array]:
    """A column as codes, the same for the same text, with one for no value, and the text of each code but the last."""
    coded = encode(values, name)
    texts = coded.texts.dictionary_encode("encode")  # texts may repeat, now that blanks are gone
    same = np.append(numpy_of(texts.indices), numpy_of(texts.indices).max(initial=-1) + 1)
    if coded.texts.null_count:
        same[-1] = numpy_of(texts.indices)[int(np.argmax(numpy_of(coded.texts.is_null())))]
    return same[coded.codes], texts.dictionary


@dataclass(frozen=True, eq=False)
class KeptRows:
    """All rows as codes, so that what any choice of columns means for them is counted without asking again."""

    coded: CodedRows
    lacking: np.ndarray  # (rows, columns) bool, where there is no value

    def places(self, names: Sequence[str]) -> list[int]:
        """Where columns stand; those that the table does not have are left out."""
        return [self.coded.columns.index(name) for name in names if name in self.coded.columns]


def keep_rows(rows: View, marks: Sequence[str]) -> KeptRows:
    """Fetch all columns whose values have a text, by one query; ``marks`` are texts that stand for no value."""
    plain = [place for place, kind in enumerate(rows.kinds) if not NESTED.search(kind)]
    cells = ", ".join(f"c{place}" for place in plain)
    answer = rows.ask(f"SELECT {cells} FROM {rows.table}").to_arrow_table()
    codes = np.empty((answer.num_rows, len(plain)), dtype=np.int32)
    lacking = np.empty(codes.shape, dtype=np.bool_)
    for index, place in enumerate(plain):
        codes[:, index], texts = _code_column(answer.column(index), rows.columns[place])
        known = blank(texts, marks) if rows.kinds[place] == "VARCHAR" else texts
        lacking[:, index] = np.append(numpy_of(known.is_null()).astype(np.bool_), True)[codes[:, index]]
    names = tuple(rows.columns[place] for place in plain)
    return KeptRows(CodedRows(names, codes, np.ones(len(codes), dtype=np.int64)), lacking)


def unique_rows(source: object, columns: Sequence[str] | None = None, encoding: str = "utf-8") -> UniqueRows:
    """Rows of any source that are alone with their values of all columns, or of those given (warning W1)."""
    with open_source(source, encoding) as rows:
        wanted = tuple(rows.columns if columns is None else columns)
        Schema(quasi=wanted).check(rows.columns)
        return rows.unique(wanted)
