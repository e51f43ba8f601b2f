"""The distinct rows before they come into memory: counted first, then fetched, merged into groups, or drawn from.

An engine of our own holds them in a table of its own, which goes to its private folder where memory is short.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kpareto.engines.duckdb.connect import HELD, TICK, Engine, carry_out, hold
from kpareto.engines.sql import literal
from kpareto.engines.values import Coded, Rolled, arrow_places, encode, numpy_of, roll, take_texts
from kpareto.errors import Progress

if TYPE_CHECKING:
    import pyarrow as pa

NUMBERED = "kpareto_numbered"  # the engine's table of the same rows, each value by its number: t0, t1, …, weight
BATCH = 100_000  # rows that are looked at together
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # splitmix64 (Steele et al. 2014)


@dataclass(frozen=True, eq=False)
class Distinct:
    """The distinct rows of a source, counted; not yet fetched where that can be helped."""

    wanted: tuple[str, ...]
    distinct: int
    rows: int | None  # None: not known before they are fetched
    values: tuple[int, ...]  # about how many different values each column has; empty where nobody knows
    fetch: Callable[[], Rolled]
    give: Callable[[Engine], Mapping[int, pa.Array]]  # put them into an engine's HELD; texts of columns of numbers


def in_memory(wanted: Sequence[str], rolled: Rolled) -> Distinct:
    """Distinct rows that a library has in memory anyway."""
    values = tuple(len(column.texts) for column in rolled.columns)
    rows = int(rolled.weights.sum())
    return Distinct(
        tuple(wanted), len(rolled.weights), rows, values, lambda: rolled, lambda engine: _show(engine, rolled)
    )


def in_engine(wanted: Sequence[str], engine: Engine) -> Distinct:
    """Distinct rows that an engine of our own has in its table HELD."""
    about = ", ".join(f"approx_count_distinct(v{index})" for index in range(len(wanted)))
    asked = engine.connection.execute(f"SELECT count(*), coalesce(sum(weight), 0)::BIGINT, {about} FROM {HELD}")
    distinct, rows, *values = (int(number) for number in asked.fetchall()[0])

    def fetch() -> Rolled:
        return roll(engine.connection.sql(f"SELECT * FROM {HELD}").to_arrow_table(), wanted)

    return Distinct(tuple(wanted), distinct, rows, tuple(values), fetch, lambda _: {})


def in_file(wanted: Sequence[str], target: Path, report: Progress | None) -> Distinct:
    """Distinct rows that a library wrote to a Parquet file of ours."""
    import pyarrow.parquet as pq

    count = int(pq.read_metadata(target).num_rows)

    def give(engine: Engine) -> Mapping[int, pa.Array]:
        listed = ", ".join(f"c{index} AS v{index}" for index in range(len(wanted)))
        hold(engine, f"SELECT {listed}, weight::BIGINT AS weight FROM read_parquet({literal(str(target))})", report)
        return {}

    return Distinct(tuple(wanted), count, None, (), lambda: roll(pq.read_table(target), wanted), give)


def elsewhere(
    wanted: Sequence[str],
    count: int,
    fetch: Callable[[], Rolled],
    pieces: Callable[[], Iterable[Rolled]],
    report: Progress | None,
) -> Distinct:
    """Distinct rows that wait in a database or a cluster; ``pieces`` hands them over a part at a time."""

    def fetch_and_tick() -> Rolled:
        with ticking(report):
            return fetch()

    def give(engine: Engine) -> Mapping[int, pa.Array]:
        listed = ", ".join(f"v{index} VARCHAR" for index in range(len(wanted)))
        engine.connection.execute(f"CREATE OR REPLACE TEMP TABLE {HELD} ({listed}, weight BIGINT)")
        with ticking(report):
            for piece in pieces():
                cells = [take_texts(column.texts, column.codes) for column in piece.columns]
                engine.connection.register("kpareto_piece", _name(cells, piece.weights))
                engine.connection.execute(f"INSERT INTO {HELD} SELECT * FROM kpareto_piece")
                engine.connection.unregister("kpareto_piece")
        return {}

    return Distinct(tuple(wanted), count, None, (), fetch_and_tick, give)


def _name(columns: Sequence[pa.Array], weights: np.ndarray) -> pa.Table:
    import pyarrow as pa

    names = [*(f"v{index}" for index in range(len(columns))), "weight"]
    return pa.table([*columns, arrow_places(weights)], names=names)


def _show(engine: Engine, rolled: Rolled) -> Mapping[int, pa.Array]:
    """Rows that are in memory anyway: the engine sees their numbers where they lie."""
    table = _name([arrow_places(column.codes) for column in rolled.columns], rolled.weights)
    engine.connection.register("kpareto_given", table)
    engine.connection.execute(f"CREATE OR REPLACE TEMP VIEW {HELD} AS SELECT * FROM kpareto_given")
    return {index: column.texts for index, column in enumerate(rolled.columns)}


@contextmanager
def ticking(report: Progress | None) -> Iterator[None]:
    """Tell that time passes (0 of 0) while another program works, which does not say how far it is."""
    if report is None:
        yield
        return
    done = threading.Event()

    def tick() -> None:
        while not done.wait(TICK):
            report(0, 0)

    thread = threading.Thread(target=tick, name="kpareto-clock", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


# -- by numbers --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Numbered:
    """The distinct rows by the texts of their values, in the engine: equal texts are one value, however spelled."""

    engine: Engine
    texts: tuple[pa.Array, ...]  # per column (values,) large_string, each once; number -1 is no value
    rows: int
    distinct: int
    lost: tuple[int, ...]  # rows without a value, per column
    report: Progress | None = field(default=None, repr=False)

    def _complete(self, whole: bool) -> str:
        """Which rows have a value in every column; ``whole``: those without one are left out."""
        absent = [f"t{index} >= 0" for index, lost in enumerate(self.lost) if lost] if whole else []
        return f"WHERE {' AND '.join(absent)}" if absent else ""

    def values(self, index: int, whole: bool) -> tuple[Coded, np.ndarray]:
        """The values of a column that occur, no value too, and in how many rows: (values,) int64."""
        query = f"SELECT t{index}, sum(weight)::BIGINT FROM {NUMBERED} {self._complete(whole)} GROUP BY 1 ORDER BY 1"
        codes, rows = _integers(self.engine.connection.sql(query).to_arrow_table())
        return Coded(self.texts[index], codes), rows

    def complete_rows(self) -> int:
        """Rows with a value in every column."""
        query = f"SELECT coalesce(sum(weight), 0)::BIGINT FROM {NUMBERED} {self._complete(True)}"
        return int(self.engine.connection.execute(query).fetchall()[0][0])

    def merge(self, groups: Sequence[np.ndarray], whole: bool) -> tuple[int, Callable[[], tuple[np.ndarray, ...]]]:
        """The rows after values were merged into groups, counted before they are fetched.

        ``groups`` has per column the group of each value and, last, of no value. The answer is the groups of each
        column and the weights: (rows,) int64 each.
        """
        import pyarrow as pa

        shown, joins = [], []
        for index, group in enumerate(groups):
            table = pa.table({"t": arrow_places(np.append(np.arange(len(group) - 1), -1)), "g": arrow_places(group)})
            self.engine.connection.register(f"kpareto_g{index}", table)
            joins.append(f"JOIN kpareto_g{index} ON t{index} = kpareto_g{index}.t")
            shown.append(f"kpareto_g{index}.g AS g{index}")
        query = (
            f"SELECT {', '.join(shown)}, sum(weight)::BIGINT AS weight FROM {NUMBERED} {' '.join(joins)} "
            f"{self._complete(whole)} GROUP BY ALL"
        )
        connection = self.engine.connection
        carry_out(connection, f"CREATE OR REPLACE TEMP TABLE kpareto_merged AS {query}", self.report)
        count = int(connection.execute("SELECT count(*) FROM kpareto_merged").fetchall()[0][0])
        return count, lambda: _integers(connection.sql("SELECT * FROM kpareto_merged").to_arrow_table())

    def sorted_rows(self) -> Iterator[np.ndarray]:
        """The groups of the merged rows in order, in batches: (rows, columns) int64."""
        listed = ", ".join(f"g{index}" for index in range(len(self.texts)))
        for batch in self._batches(f"SELECT {listed} FROM kpareto_merged ORDER BY {listed}"):
            yield np.stack(batch, axis=1)

    def sorted_weights(self) -> Iterator[np.ndarray]:
        """How many rows each of them stands for: (rows,) int64."""
        listed = ", ".join(f"g{index}" for index in range(len(self.texts)))
        for batch in self._batches(f"SELECT weight FROM kpareto_merged ORDER BY {listed}"):
            yield batch[0]

    def _batches(self, query: str) -> Iterator[tuple[np.ndarray, ...]]:
        import pyarrow as pa

        for batch in self.engine.connection.sql(query).to_arrow_reader(BATCH):
            yield _integers(pa.Table.from_batches([batch]))

    def draw(self, rows: int, seed: int, whole: bool) -> tuple[np.ndarray, ...]:
        """So many rows without replacement: the numbers of each column, and how often each was drawn.

        Every row has a random number of its own, made of the seed, its texts and its place among equal rows; the
        smallest are drawn. So neither the order of rows nor the engine nor the threads matter.
        """
        draw = Draw(rows, seed, [text_keys(texts) for texts in self.texts])
        listed = ", ".join(f"t{index}" for index in range(len(self.texts)))
        query = f"SELECT {listed}, weight FROM {NUMBERED} {self._complete(whole)}"
        done = 0
        for *codes, weights in self._batches(query):
            draw.add(np.stack(codes, axis=1), weights)
            done += len(weights)
            if self.report is not None:
                self.report(100 * done // max(self.distinct, 1), 100)
        return draw.rows_drawn()


def number_values(
    engine: Engine, distinct_rows: Distinct, blank: Callable[[pa.Array], pa.Array], report: Progress | None = None
) -> Numbered:
    """Number the values of each column by their texts; ``blank`` takes away the texts that stand for no value."""
    import pyarrow as pa

    named = distinct_rows.give(engine)
    connection = engine.connection
    # The small tables are joined one after the other; left to itself the engine multiplies them with each other.
    connection.execute("SET disabled_optimizers = 'join_order'")
    texts, joins = [], []
    for index, name in enumerate(distinct_rows.wanted):
        raw = connection.sql(f"SELECT DISTINCT v{index} AS v FROM {HELD}").to_arrow_table().column(0)
        if index in named:
            words = take_texts(named[index], numpy_of(raw.combine_chunks()).astype(np.int64))
        else:
            coded = encode(raw, name)
            words = take_texts(coded.texts, coded.codes)
        encoded = blank(words).dictionary_encode()
        texts.append(encoded.dictionary)
        codes = numpy_of(encoded.indices.fill_null(-1)).astype(np.int64)
        connection.register(f"kpareto_m{index}", pa.table({"v": raw, "t": arrow_places(codes)}))
        joins.append(f"JOIN kpareto_m{index} ON v{index} IS NOT DISTINCT FROM kpareto_m{index}.v")
    listed = ", ".join(f"kpareto_m{index}.t AS t{index}" for index in range(len(distinct_rows.wanted)))
    query = f"SELECT {listed}, sum(weight)::BIGINT AS weight FROM {HELD} {' '.join(joins)} GROUP BY ALL"
    carry_out(connection, f"CREATE OR REPLACE TEMP TABLE {NUMBERED} AS {query}", report)
    lost = ", ".join(
        f"coalesce(sum(weight) FILTER (WHERE t{index} < 0), 0)::BIGINT" for index in range(len(distinct_rows.wanted))
    )
    answer = connection.execute(f"SELECT count(*), coalesce(sum(weight), 0)::BIGINT, {lost} FROM {NUMBERED}").fetchall()
    distinct, rows, *absent = (int(number) for number in answer[0])
    return Numbered(engine, tuple(texts), rows, distinct, tuple(absent), report)


def _integers(answer: pa.Table) -> tuple[np.ndarray, ...]:
    return tuple(numpy_of(column.combine_chunks()).astype(np.int64) for column in answer.columns)


# -- drawing -----------------------------------------------------------------------------------------------------


def text_keys(texts: pa.Array) -> np.ndarray:
    """A number for each text, and one for no text at the end: (texts + 1,) uint64."""
    digests = [hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts.to_pylist()]
    return np.append(np.frombuffer(b"".join(digests), dtype="<u8"), np.uint64(0))


def scramble(numbers: np.ndarray) -> np.ndarray:
    """The last steps of splitmix64: every bit of the answer depends on every bit given."""
    mixed = numbers.astype(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


class Draw:
    """The rows with the smallest random numbers, of batches in any order."""

    def __init__(self, rows: int, seed: int, keys: Sequence[np.ndarray]) -> None:
        self.rows, self.keys = rows, keys
        self.start = scramble(np.array([seed], dtype=np.int64).view(np.uint64) + GOLDEN)[0]
        self.bound = np.uint64(2**64 - 1)  # no row above it can still be drawn
        self.numbers: list[np.ndarray] = []  # (n,) uint64
        self.codes: list[np.ndarray] = []  # (n, columns) int64
        self.waiting = 0

    def add(self, codes: np.ndarray, weights: np.ndarray) -> None:
        """Distinct rows (n, columns), each of so many rows (n,)."""
        key = np.full(len(codes), self.start, dtype=np.uint64)
        for index, keys in enumerate(self.keys):
            key = scramble((key ^ keys[codes[:, index]]) + GOLDEN)  # -1 is the last
        end = np.cumsum(weights)
        for first in range(0, int(end[-1]) if len(end) else 0, BATCH):
            numbers = np.arange(first, min(first + BATCH, int(end[-1])))
            row = np.searchsorted(end, numbers, side="right")
            copy = (numbers - (end[row] - weights[row])).astype(np.uint64)
            number = scramble(key[row] + (copy + np.uint64(1)) * GOLDEN)
            low = number <= self.bound
            self.numbers.append(number[low])
            self.codes.append(codes[row[low]])
            self.waiting += int(low.sum())
            if self.waiting > 2 * self.rows + BATCH:
                self._settle()

    def _settle(self) -> None:
        if not self.numbers:
            return
        numbers, codes = np.concatenate(self.numbers), np.concatenate(self.codes)
        kept = np.lexsort((*codes.T[::-1], numbers))[: self.rows]
        self.numbers, self.codes, self.waiting = [numbers[kept]], [codes[kept]], len(kept)
        if len(kept) == self.rows:
            self.bound = numbers[kept[-1]]

    def rows_drawn(self) -> tuple[np.ndarray, ...]:
        """The numbers of each column of the distinct rows that were drawn, and how often each was."""
        self._settle()
        codes = self.codes[0] if self.codes else np.zeros((0, len(self.keys)), dtype=np.int64)
        distinct, counts = np.unique(codes, axis=0, return_counts=True)
        return (*distinct.T, counts.astype(np.int64))
