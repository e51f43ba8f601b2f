"""The distinct rows before they come into memory: counted first, then fetched, merged into groups, or drawn from.

An engine of our own holds them in a table of its own, which goes to its private folder where memory is short.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kpareto.files import HELD, TICK, Engine, Report, carried_out, hold, literal, rolled
from kpareto.sources import FrameSource, Source
from kpareto.texts import Coded, Rolled, arrow_places, encode, numpy_of

if TYPE_CHECKING:
    import pyarrow as pa

NUMBERED = "kpareto_numbered"  # the engine's table of the same rows, each value by its number: t0, t1, …, weight
BATCH = 100_000  # rows that are looked at together
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # splitmix64 (Steele et al. 2014)


@dataclass(frozen=True, eq=False)
class Held:
    """The distinct rows of a source, counted; not yet fetched where that can be helped."""

    wanted: tuple[str, ...]
    distinct: int
    rows: int | None  # None: not known before they are fetched
    values: tuple[int, ...]  # about how many different values each column has; empty where nobody knows
    fetch: Callable[[], Rolled]
    give: Callable[[Engine], Mapping[int, pa.Array]]  # put them into an engine's HELD; texts of columns of numbers


def held(source: Source, wanted: Sequence[str], start: Callable[[], Engine], report: Report | None = None) -> Held:
    """Ask a source for its distinct rows, and count them before they are fetched; ``start`` gives our engine."""
    columns = tuple(wanted)
    if hasattr(source, "hold"):  # files, pyarrow tables and relations
        source.hold(columns, report)
        return _in_engine(start(), columns)
    with ticking(report):
        if isinstance(source, FrameSource) and source.lazy:
            target = start().folder / "groups.parquet"
            source.write(columns, target)
            return _in_file(columns, target, report)
        if hasattr(source, "distinct"):
            count = int(source.distinct(columns))
            give = _streamed(source, columns, report)
            return Held(columns, count, None, (), lambda: _ticked(source, columns, report), give)
        found = source.roll_up(columns)
    values = tuple(len(column.texts) for column in found.columns)
    return Held(
        columns, len(found.weights), int(found.weights.sum()), values, lambda: found, lambda own: _given(own, found)
    )


def _in_engine(engine: Engine, wanted: tuple[str, ...]) -> Held:
    about = ", ".join(f"approx_count_distinct(v{place})" for place in range(len(wanted)))
    asked = engine.connection.execute(f"SELECT count(*), coalesce(sum(weight), 0)::BIGINT, {about} FROM {HELD}")
    distinct, rows, *values = (int(number) for number in asked.fetchall()[0])

    def fetch() -> Rolled:
        return rolled(engine.connection.sql(f"SELECT * FROM {HELD}").to_arrow_table(), wanted)

    return Held(wanted, distinct, rows, tuple(values), fetch, lambda _: {})


def _in_file(wanted: tuple[str, ...], target: Path, report: Report | None) -> Held:
    """Distinct rows that a library wrote to a Parquet file of ours."""
    import pyarrow.parquet as pq

    count = int(pq.read_metadata(target).num_rows)

    def give(engine: Engine) -> Mapping[int, pa.Array]:
        listed = ", ".join(f"c{place} AS v{place}" for place in range(len(wanted)))
        hold(engine, f"SELECT {listed}, weight::BIGINT AS weight FROM read_parquet({literal(str(target))})", report)
        return {}

    return Held(wanted, count, None, (), lambda: rolled(pq.read_table(target), wanted), give)


def _ticked(source: Source, wanted: tuple[str, ...], report: Report | None) -> Rolled:
    with ticking(report):
        return source.roll_up(wanted)


def _streamed(
    source: Source, wanted: tuple[str, ...], report: Report | None
) -> Callable[[Engine], Mapping[int, pa.Array]]:
    """Pass the rows on batch by batch where the source can (``batches`` gives Rolled pieces), else all at once."""

    def give(engine: Engine) -> Mapping[int, pa.Array]:
        if not hasattr(source, "batches"):
            return _given(engine, _ticked(source, wanted, report))
        listed = ", ".join(f"v{place} VARCHAR" for place in range(len(wanted)))
        engine.connection.execute(f"CREATE OR REPLACE TEMP TABLE {HELD} ({listed}, weight BIGINT)")
        with ticking(report):
            for piece in source.batches(wanted):
                engine.connection.register("kpareto_piece", _as_texts(piece))
                engine.connection.execute(f"INSERT INTO {HELD} SELECT * FROM kpareto_piece")
                engine.connection.unregister("kpareto_piece")
        return {}

    return give


def _as_texts(piece: Rolled) -> pa.Table:
    import pyarrow as pa

    columns = []
    for each in piece.columns:
        whole = pa.concat_arrays([each.texts, pa.nulls(1, each.texts.type)])
        columns.append(whole.take(arrow_places(each.codes % len(whole))))  # -1 is the last
    return pa.table(
        [*columns, arrow_places(piece.weights)], names=[*(f"v{place}" for place in range(len(columns))), "weight"]
    )


def _given(engine: Engine, found: Rolled) -> Mapping[int, pa.Array]:
    """Rows that are in memory anyway: the engine sees their numbers where they lie."""
    import pyarrow as pa

    names = [*(f"v{place}" for place in range(len(found.columns))), "weight"]
    table = pa.table([*(arrow_places(each.codes) for each in found.columns), arrow_places(found.weights)], names=names)
    engine.connection.register("kpareto_given", table)
    engine.connection.execute(f"CREATE OR REPLACE TEMP VIEW {HELD} AS SELECT * FROM kpareto_given")
    return {place: each.texts for place, each in enumerate(found.columns)}


@contextmanager
def ticking(report: Report | None) -> Iterator[None]:
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
    report: Report | None = field(default=None, repr=False)

    def _complete(self, whole: bool) -> str:
        """Which rows have a value in every column; ``whole``: those without one are left out."""
        absent = [f"t{place} >= 0" for place, lost in enumerate(self.lost) if lost] if whole else []
        return f"WHERE {' AND '.join(absent)}" if absent else ""

    def values(self, place: int, whole: bool) -> tuple[Coded, np.ndarray]:
        """The values of a column that occur, no value too, and in how many rows: (values,) int64."""
        query = f"SELECT t{place}, sum(weight)::BIGINT FROM {NUMBERED} {self._complete(whole)} GROUP BY 1 ORDER BY 1"
        codes, rows = _integers(self.engine.connection.sql(query).to_arrow_table())
        return Coded(self.texts[place], codes), rows

    def complete_rows(self) -> int:
        """Rows with a value in every column."""
        query = f"SELECT coalesce(sum(weight), 0)::BIGINT FROM {NUMBERED} {self._complete(True)}"
        return int(self.engine.connection.execute(query).fetchall()[0][0])

    def merged(self, groups: Sequence[np.ndarray], whole: bool) -> tuple[int, Callable[[], tuple[np.ndarray, ...]]]:
        """The rows after values were merged into groups, counted before they are fetched.

        ``groups`` has per column the group of each value and, last, of no value. The answer is the groups of each
        column and the weights: (rows,) int64 each.
        """
        import pyarrow as pa

        shown, joins = [], []
        for place, group in enumerate(groups):
            table = pa.table({"t": arrow_places(np.append(np.arange(len(group) - 1), -1)), "g": arrow_places(group)})
            self.engine.connection.register(f"kpareto_g{place}", table)
            joins.append(f"JOIN kpareto_g{place} ON t{place} = kpareto_g{place}.t")
            shown.append(f"kpareto_g{place}.g AS g{place}")
        query = (
            f"SELECT {', '.join(shown)}, sum(weight)::BIGINT AS weight FROM {NUMBERED} {' '.join(joins)} "
            f"{self._complete(whole)} GROUP BY ALL"
        )
        connection = self.engine.connection
        carried_out(connection, f"CREATE OR REPLACE TEMP TABLE kpareto_merged AS {query}", self.report)
        count = int(connection.execute("SELECT count(*) FROM kpareto_merged").fetchall()[0][0])
        return count, lambda: _integers(connection.sql("SELECT * FROM kpareto_merged").to_arrow_table())

    def sorted_rows(self) -> Iterator[np.ndarray]:
        """The groups of the merged rows in order, in batches: (rows, columns) int64."""
        listed = ", ".join(f"g{place}" for place in range(len(self.texts)))
        for batch in self._batches(f"SELECT {listed} FROM kpareto_merged ORDER BY {listed}"):
            yield np.stack(batch, axis=1)

    def sorted_weights(self) -> Iterator[np.ndarray]:
        """How many rows each of them stands for: (rows,) int64."""
        listed = ", ".join(f"g{place}" for place in range(len(self.texts)))
        for batch in self._batches(f"SELECT weight FROM kpareto_merged ORDER BY {listed}"):
            yield batch[0]

    def _batches(self, query: str) -> Iterator[tuple[np.ndarray, ...]]:
        import pyarrow as pa

        for batch in self.engine.connection.sql(query).to_arrow_reader(BATCH):
            yield _integers(pa.Table.from_batches([batch]))

    def drawn(self, rows: int, seed: int, whole: bool) -> tuple[np.ndarray, ...]:
        """So many rows without replacement: the numbers of each column, and how often each was drawn.

        Every row has a random number of its own, made of the seed, its texts and its place among equal rows; the
        smallest are drawn. So neither the order of rows nor the engine nor the threads matter.
        """
        draw = Draw(rows, seed, [text_keys(texts) for texts in self.texts])
        listed = ", ".join(f"t{place}" for place in range(len(self.texts)))
        query = f"SELECT {listed}, weight FROM {NUMBERED} {self._complete(whole)}"
        done = 0
        for *codes, weights in self._batches(query):
            draw.add(np.stack(codes, axis=1), weights)
            done += len(weights)
            if self.report is not None:
                self.report(100 * done // max(self.distinct, 1), 100)
        return draw.rows_drawn()


def numbered(
    engine: Engine, found: Held, blank: Callable[[pa.Array], pa.Array], report: Report | None = None
) -> Numbered:
    """Number the values of each column by their texts; ``blank`` takes away the texts that stand for no value."""
    import pyarrow as pa

    named = found.give(engine)
    connection = engine.connection
    # The small tables are joined one after the other; left to itself the engine multiplies them with each other.
    connection.execute("SET disabled_optimizers = 'join_order'")
    texts, joins = [], []
    for place, name in enumerate(found.wanted):
        raw = connection.sql(f"SELECT DISTINCT v{place} AS v FROM {HELD}").to_arrow_table().column(0)
        if place in named:
            whole = pa.concat_arrays([named[place], pa.nulls(1, named[place].type)])
            words = whole.take(arrow_places(numpy_of(raw.combine_chunks()).astype(np.int64) % len(whole)))
        else:
            coded = encode(raw, name)
            whole = pa.concat_arrays([coded.texts, pa.nulls(1, coded.texts.type)])
            words = whole.take(arrow_places(coded.codes % len(whole)))
        encoded = blank(words).dictionary_encode()
        texts.append(encoded.dictionary)
        codes = numpy_of(encoded.indices.fill_null(-1)).astype(np.int64)
        connection.register(f"kpareto_m{place}", pa.table({"v": raw, "t": arrow_places(codes)}))
        joins.append(f"JOIN kpareto_m{place} ON v{place} IS NOT DISTINCT FROM kpareto_m{place}.v")
    listed = ", ".join(f"kpareto_m{place}.t AS t{place}" for place in range(len(found.wanted)))
    query = f"SELECT {listed}, sum(weight)::BIGINT AS weight FROM {HELD} {' '.join(joins)} GROUP BY ALL"
    carried_out(connection, f"CREATE OR REPLACE TEMP TABLE {NUMBERED} AS {query}", report)
    lost = ", ".join(
        f"coalesce(sum(weight) FILTER (WHERE t{place} < 0), 0)::BIGINT" for place in range(len(found.wanted))
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
        for place, keys in enumerate(self.keys):
            key = scramble((key ^ keys[codes[:, place]]) + GOLDEN)  # -1 is the last
        end = np.cumsum(weights)
        for first in range(0, int(end[-1]) if len(end) else 0, BATCH):
            each = np.arange(first, min(first + BATCH, int(end[-1])))
            row = np.searchsorted(end, each, side="right")
            copy = (each - (end[row] - weights[row])).astype(np.uint64)
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
