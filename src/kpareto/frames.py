"""The door: any dataframe, file or engine table -> Table.

One GROUP BY, run by the program that holds the rows, gives the distinct rows and how often each occurs; only those
come into memory here. DuckDB rolls up files, pyarrow tables and its own relations; narwhals asks every other frame
(pandas, polars, and later Spark and databases) the same question in its own language.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from kpareto.admission import WORTH_SAYING, Admission, Coarsen, Need, TooMany, need_of
from kpareto.builders import load
from kpareto.coarse import check_first, coarsened
from kpareto.delimited import Csv
from kpareto.errors import BadJob, BadTable, shorten
from kpareto.files import Engine, Report, engine, file_digest, no_room
from kpareto.grouped import Held, Numbered, held, numbered
from kpareto.hierarchy import Hierarchy, flat
from kpareto.memory import VALUE, allowed, size_text, table_bytes
from kpareto.postgres import Postgres
from kpareto.schema import Schema
from kpareto.sources import opened
from kpareto.spark import SparkTable, is_frame
from kpareto.table import Domain, Sample, Table, check_places, distinct_rows, hierarchies_by_name, make_table
from kpareto.texts import Coded, Dictionary, Rolled, Spelled, arrange, arrow_places, arrow_texts, numpy_of, object_text

if TYPE_CHECKING:
    import pyarrow as pa

Missing = Literal["drop", "category", "error"]
POLICIES: tuple[Missing, ...] = ("drop", "category", "error")
MOST_SPELLED = 1_000_000  # values of a column that are kept in memory for the way out
MISSING = "(missing)"  # the leaf of missing values under the policy category


def read(  # noqa: PLR0913 (each is a word of the job file too)
    source: object,
    schema: Schema,
    missing: Missing = "drop",
    missing_values: Sequence[object] = ("?", ""),
    hierarchies: Mapping[str, object] | Sequence[Hierarchy] | None = None,
    domain: Domain = "observed",
    encoding: str = "utf-8",
    *,
    memory: str | int | None = None,
    too_many: TooMany = "error",
    first: Mapping[str, int] | None = None,
    coarsen: Coarsen = "needed",
    sample: int = 200_000,
    seed: int = 1,
    progress: Report | None = None,
) -> Table:
    """Roll a table up to its distinct rows.

    ``source`` is a pandas or polars frame (lazy ones too), a pyarrow table, a DuckDB relation, the path of a CSV, TSV
    (.gz too) or Parquet file or of a folder of Parquet parts, or a ``Csv``. ``missing`` says what becomes of rows
    with no value, or one of ``missing_values``, in a column that is read: ``drop`` leaves them out and counts them,
    ``category`` gives them a value of their own, ``(missing)``, the last of its column, ``error`` raises. Only the
    columns with a role are read, and of those no more than the distinct combinations come into memory.

    Those are counted first. Where they need more than ``memory`` ("2 GB"; half of what is free unless given),
    ``too_many`` decides: ``error``; ``coarsen``, which reads each column in ``first`` from that level of its hierarchy
    on (``coarsen="always"`` does so in any case); or ``sample``, which reads so many rows drawn by ``seed``.
    ``progress`` is called with what is done of how much; 0 of 0 where the program that counts does not say.
    """
    if missing not in POLICIES:
        raise BadJob(f"Missing values can be treated by {', '.join(POLICIES)}, not {missing!r}. Take one of these.")
    if domain not in ("observed", "declared"):
        raise BadJob(f"The domain is {domain!r}. Take 'observed' or 'declared'.")
    admission = Admission(memory, too_many, first or {}, coarsen, sample, seed)
    admission.check(schema)
    wish = Wish(schema, missing, missing_values, hierarchies, domain)
    with _counted(source, wish, encoding, admission, progress) as (found, start):
        need = need_of(found, schema, admission)
        said = (need.words(),) if need.bytes() > WORTH_SAYING else ()
        if admission.coarsen == "needed" and need.fits:
            return replace(_whole(found, wish, remote(source)), remarks=said)
        if admission.coarsen == "needed" and admission.too_many == "error":
            raise need.refusal()
        if need.values and VALUE * sum(need.values) > need.memory:
            raise need.too_many_values()
        return _narrowed(numbered(start(), found, wish.blank, progress), wish, admission, need)


@dataclass(frozen=True, eq=False)
class Wish:
    """What a table is to be made of, and how."""

    schema: Schema
    missing: Missing
    missing_values: Sequence[object]
    hierarchies: Mapping[str, object] | Sequence[Hierarchy] | None
    domain: Domain

    @property
    def wanted(self) -> tuple[str, ...]:
        """The columns that are read; the quasi-identifiers come first."""
        person = () if self.schema.person is None else (self.schema.person,)
        return tuple(dict.fromkeys((*self.schema.quasi, *self.schema.sensitive, *self.schema.target, *person)))

    def blank(self, texts: pa.Array) -> pa.Array:
        """The texts, null where they stand for no value."""
        import pyarrow as pa
        import pyarrow.compute as pc

        given = (self.missing_values,) if isinstance(self.missing_values, str) else self.missing_values
        marks = [object_text(value, "missing_values") for value in given]
        if self.missing == "category":
            marks.append(MISSING)  # a release read again has it as text
        return pc.if_else(pc.is_in(texts, value_set=arrow_texts(marks)), pa.nulls(len(texts), texts.type), texts)

    def check_missing(self, lost: Mapping[str, int], rows: int, left: int) -> None:
        """Raise where values are missing (rows per column) and may not be, or where no row is left."""
        if self.missing == "error" and any(lost.values()):
            named = [f"{name!r} ({count:,} of {rows:,} rows)" for name, count in lost.items() if count]
            raise BadTable(
                f"Values are missing in {shorten(named)}. Give missing='drop' to leave these rows out, or "
                "missing='category' to keep them as a value of their own."
            )
        if not left:
            worst = max(lost, key=lambda name: lost[name])
            raise BadTable(
                f"No row is left: each of the {rows:,} rows has a missing value, {lost[worst]:,} of them in {worst!r}. "
                "Give missing='category' to keep them, or leave that column out of the schema."
            )


@contextmanager
def _counted(
    source: object, wish: Wish, encoding: str, admission: Admission, progress: Report | None, empty: bool = False
) -> Iterator[tuple[Held, Callable[[], Engine]]]:
    """The distinct rows of a source, counted, and an engine of our own that can hold them."""
    memory = allowed(admission.memory)
    with opened(source, encoding, memory) as rows, ExitStack() as stack:
        wish.schema.check(rows.columns)
        own: list[Engine] = [rows.engine] if hasattr(rows, "engine") else []

        def start() -> Engine:
            if not own:
                own.append(stack.enter_context(engine(memory)))
            return own[0]

        try:
            found = held(rows, wish.wanted, start, progress)
            if not found.distinct and not empty:
                named = shorten(rows.columns)
                raise BadTable(f"The table has no rows, only the columns {named}. Give at least one row.")
            yield found, start
        except Exception as error:
            if type(error).__name__ == "OutOfMemoryException":  # the engine's, which need not be loaded
                raise no_room("the table", error) from error
            raise


def remote(source: object) -> bool:
    """Whether the rows are in a database or a cluster, where each question costs a scan of the table."""
    return isinstance(source, Postgres | SparkTable) or is_frame(source)


def _whole(found: Held, wish: Wish, sign: bool = False) -> Table:
    """All distinct rows as they are; ``sign`` keeps their fingerprint."""
    rolled = found.fetch()
    digest = _digest(wish, *_sorted(rolled, wish.wanted)) if sign else None
    columns = {
        name: replace(column, texts=wish.blank(column.texts))
        for name, column in zip(wish.wanted, rolled.columns, strict=True)
    }
    table = replace(_table(wish, columns, rolled.weights), spelled=_spelled(columns), digest=digest)
    if wish.hierarchies is None:
        return replace(table, domain=wish.domain)
    return table.bind(loaded(table, wish.hierarchies), wish.domain)


def _spelled(columns: Mapping[str, Coded]) -> dict[str, Spelled]:
    """The engine's own values of each column, for the way out; a column with a value per row is asked for again."""
    return {n: c.spelled for n, c in columns.items() if c.spelled is not None and len(c.spelled.raw) <= MOST_SPELLED}


def loaded(table: Table, given: Mapping[str, object] | Sequence[Hierarchy]) -> dict[str, Hierarchy]:
    """Hierarchies by column; rules, files and frames are made into one with the values of the column."""
    named = given if isinstance(given, Mapping) else {each.name: each for each in given}
    found = {}
    for name, form in named.items():
        if isinstance(form, Hierarchy):
            found[name] = form
        else:
            column = table.column(name)
            rows = dict(zip(table.hierarchies[column].leaves, table.leaf_rows[column].tolist(), strict=True))
            found[name] = load(name, form, rows)
    return found


def _table(wish: Wish, columns: Mapping[str, Coded], weights: np.ndarray) -> Table:
    schema = wish.schema
    absent = {name: _absent(column) for name, column in columns.items()}
    rows = int(weights.sum())
    keep = np.ones(len(weights), dtype=np.bool_)
    if wish.missing == "drop":
        keep = ~np.logical_or.reduce(list(absent.values()))
    wish.check_missing({name: int(weights[mask].sum()) for name, mask in absent.items()}, rows, int(keep.sum()))
    found = {name: _dictionary(column, keep) for name, column in columns.items()}
    hierarchies = tuple(_flat(name, found[name]) for name in schema.quasi)
    codes = np.column_stack([found[name].codes for name in schema.quasi])
    extras = {name: (each.values, each.codes, each.numbers) for name, each in found.items() if name not in schema.quasi}
    table = make_table(schema, hierarchies, codes, weights[keep], extras)
    return replace(table, dropped=rows - table.rows, missing=wish.missing)


def _absent(column: Coded) -> np.ndarray:
    """Which rolled-up rows have no value: (rows,) bool."""
    nulls = np.append(numpy_of(column.texts.is_null()).astype(np.bool_), True)
    return nulls[column.codes]


def _dictionary(column: Coded, keep: np.ndarray) -> Dictionary:
    """The values of the kept rows in order, missing ones last, with a code per kept row."""
    codes = column.codes[keep]
    used = np.flatnonzero(np.bincount(codes + 1, minlength=len(column.texts) + 1)[1:])
    found = arrange(column.texts.take(arrow_places(used)))
    rank = np.full(len(column.texts) + 1, -1, dtype=np.int32)  # the last entry is for code -1, no value
    rank[used] = found.codes
    own = rank[codes]
    if (own >= 0).all():
        return replace(found, codes=own)
    own[own < 0] = len(found.values)
    return Dictionary((*found.values, MISSING), own, "text", None)


def _flat(name: str, found: Dictionary) -> Hierarchy:
    """The hierarchy of a column that was just read: its values, and all of them as one group."""
    plain = flat(name, found.values)
    if found.kind == "text":
        return plain
    spans = None if found.sizes is None else np.column_stack((found.sizes, found.sizes))
    return replace(plain, ordered=True, spans=spans, dates=found.kind == "date")


# -- tables larger than memory -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of numbered rows: what their values are called, and where each value stands."""

    hierarchies: tuple[Hierarchy, ...]  # of the quasi-identifiers, as declared
    leaf_rows: tuple[np.ndarray, ...]  # per quasi-identifier (leaves,) int64
    places: tuple[np.ndarray, ...]  # per column (values + 1,) int64: value -> leaf, or code; no value is the last
    extras: Mapping[str, Dictionary]


def _profiled(numbers: Numbered, wish: Wish) -> Columns:
    """Bind the values of each column, without looking at the rows again."""
    drop = wish.missing == "drop"
    given = hierarchies_by_name(wish.hierarchies or {}, wish.schema)
    hierarchies, leaf_rows, places = [], [], []
    extras: dict[str, Dictionary] = {}
    for place, name in enumerate(wish.wanted):
        coded, rows = numbers.values(place, drop)
        found = _dictionary(coded, np.ones(len(rows), dtype=np.bool_))
        own = np.full(len(numbers.texts[place]) + 1, -1, dtype=np.int64)
        own[coded.codes] = found.codes
        if name in wish.schema.quasi:
            counted = np.bincount(found.codes, weights=rows, minlength=len(found.values)).astype(np.int64)
            form = given.get(name)
            if form is not None and not isinstance(form, Hierarchy):
                form = load(name, form, dict(zip(found.values, counted.tolist(), strict=True)))
            hierarchy = _flat(name, found) if form is None else form.renamed(name)
            leaf = hierarchy.locate(found.values).astype(np.int64)
            check_places(hierarchy, found.values, counted, leaf)
            own = np.where(own < 0, -1, leaf[own])
            hierarchies.append(hierarchy)
            leaf_rows.append(np.bincount(leaf, weights=counted, minlength=len(hierarchy.leaves)).astype(np.int64))
        else:
            extras[name] = found
        places.append(own)
    return Columns(tuple(hierarchies), tuple(leaf_rows), tuple(places), extras)


def _narrowed(numbers: Numbered, wish: Wish, admission: Admission, need: Need) -> Table:
    """Fewer rows than there are: coarser ones, or a sample of them."""
    left = numbers.complete_rows() if wish.missing == "drop" else numbers.rows
    wish.check_missing(dict(zip(wish.wanted, numbers.lost, strict=True)), numbers.rows, left)
    columns = _profiled(numbers, wish)
    first = {name: level for name, level in admission.first.items() if level}
    for name, level in first.items():
        check_first(columns.hierarchies[wish.schema.quasi.index(name)], level)
    said = replace(need, rows=numbers.rows).words()
    if admission.too_many == "sample" and not need.fits:
        table, words = _sampled(numbers, wish, columns, admission, need)
        first = first if admission.coarsen == "always" else {}
    else:
        cuts = [columns.hierarchies[place].groups[first.get(name, 0)] for place, name in enumerate(wish.schema.quasi)]
        count, fetch = _merged(numbers, wish, columns, cuts)
        coarser = replace(need, distinct=count, rows=numbers.rows)
        if not coarser.fits:
            levels = ", ".join(f"{name} at level {level}" for name, level in first.items())
            raise coarser.refusal(f" even with {levels}")
        table = fetch()
        words = f"Read coarser: {coarser.words()}"
    for name, level in first.items():
        height = columns.hierarchies[wish.schema.quasi.index(name)].height
        words += f" {name!r} begins at level {level} of {height}."
    table = replace(table, dropped=numbers.rows - left, missing=wish.missing, domain=wish.domain, remarks=(said, words))
    return coarsened(table, first) if first else replace(table, leaf_counts=None)


def read_merged(
    source: object, wish: Wish, cuts: Sequence[np.ndarray], encoding: str = "utf-8", memory: str | int | None = None
) -> Table:
    """All rows of a source merged by cuts of their hierarchies: each stands at the first leaf of its groups.

    The engine merges them, so no more rows come into memory than the cuts have classes.
    """
    with _counted(source, wish, encoding, Admission(memory), None) as (found, start):
        numbers = numbered(start(), found, wish.blank)
        left = numbers.complete_rows() if wish.missing == "drop" else numbers.rows
        wish.check_missing(dict(zip(wish.wanted, numbers.lost, strict=True)), numbers.rows, left)
        _, fetch = _merged(numbers, wish, _profiled(numbers, wish), cuts)
        return replace(fetch(), dropped=numbers.rows - left, missing=wish.missing, domain=wish.domain)


def _merged(
    numbers: Numbered, wish: Wish, columns: Columns, cuts: Sequence[np.ndarray]
) -> tuple[int, Callable[[], Table]]:
    """The rows merged by cuts of the columns, counted, and how to fetch them: each at the first leaf of its groups."""
    groups = list(columns.places)
    for column, cut in enumerate(cuts):
        start = np.flatnonzero(np.diff(cut, prepend=-1))
        groups[column] = np.where(groups[column] < 0, -1, start[cut[groups[column]]])
    count, fetch = numbers.merged(groups, wish.missing == "drop")

    def fetched() -> Table:
        return replace(_coded_table(wish, columns, fetch()), leaf_counts=columns.leaf_rows)

    return count, fetched


def _sampled(numbers: Numbered, wish: Wish, columns: Columns, admission: Admission, need: Need) -> tuple[Table, str]:
    """So many rows, drawn."""
    drop = wish.missing == "drop"
    left = numbers.complete_rows() if drop else numbers.rows
    rows = min(admission.sample, left)
    if need.bytes(rows) > need.memory:
        raise BadTable(
            f"A sample of {rows:,} rows needs up to {size_text(need.bytes(rows))}, and {size_text(need.memory)} may be "
            f"used. Give a smaller one, such as sample = {round_down(need.most())}, or more memory."
        )
    *codes, weights = numbers.drawn(rows, admission.seed, drop)
    table = _coded_table(wish, columns, (*(p[c] for p, c in zip(columns.places, codes, strict=True)), weights))
    taken = Sample(rows, left, admission.seed)
    words = f"Read {taken.words()} (seed {taken.seed}), {table.distinct:,} of them distinct."
    return replace(table, sample=taken), words


def round_down(count: int) -> int:
    """A number with one digit that is not 0."""
    return count // 10 ** (len(str(count)) - 1) * 10 ** (len(str(count)) - 1)


def _coded_table(wish: Wish, columns: Columns, rows: Sequence[np.ndarray]) -> Table:
    """A table of leaves and codes per column, and weights."""
    *codes, weights = rows
    quasi = len(wish.schema.quasi)
    extras = {
        name: (each.values, code, each.numbers)
        for (name, each), code in zip(columns.extras.items(), codes[quasi:], strict=True)
    }
    return make_table(wish.schema, columns.hierarchies, np.column_stack(codes[:quasi]), weights, extras)


def fingerprint(source: object, columns: Sequence[str] | None = None) -> str:
    """SHA-256 of a source, for certificates: of the bytes of a file, of the content of anything else.

    The content is what the texts of all columns (or those given) say, in any order of rows, so a frame and its copy
    in another library have the same fingerprint.
    """
    if isinstance(source, Csv):
        source = source.path
    if isinstance(source, str | PathLike):
        return file_digest(Path(fspath(source)))
    if columns is None:
        with opened(source) as rows:
            columns = rows.columns
    wanted = tuple(columns)
    wish = Wish(Schema(quasi=wanted), "category", (), None, "observed")
    with _counted(source, wish, "utf-8", Admission(), None, empty=True) as (found, start):
        if table_bytes(found.distinct, len(wanted)) <= allowed(None):
            return _digest(wish, *_sorted(found.fetch(), wanted))
        return _digest(wish, *_streamed(numbered(start(), found, lambda texts: texts), wanted))


Ordered = tuple[list[tuple[str, ...]], Callable[[], Iterator[np.ndarray]], Callable[[], Iterator[np.ndarray]]]


def _digest(
    wish: Wish,
    values: Sequence[tuple[str, ...]],
    codes: Callable[[], Iterator[np.ndarray]],
    weights: Callable[[], Iterator[np.ndarray]],
) -> str:
    """The hash of the values of each column, of the sorted distinct rows, and of how often each occurs."""
    whole = hashlib.sha256(b"kpareto table 1")
    for pair in zip(wish.wanted, values, strict=True):
        whole.update(repr(pair).encode())
    for part in (codes, weights):
        for piece in part():
            whole.update(piece.astype("<i8").tobytes())
    return whole.hexdigest()


def _sorted(found: Rolled, wanted: Sequence[str]) -> Ordered:
    """Distinct rows in memory, in order."""
    every = np.ones(len(found.weights), dtype=np.bool_)
    named = [_dictionary(column, every) for column in found.columns]
    codes = np.empty((len(found.weights), len(wanted)), dtype=np.int64)
    for place, each in enumerate(named):
        codes[:, place] = each.codes
    order, start = distinct_rows(codes)
    merged = np.add.reduceat(found.weights[order], start) if len(start) else found.weights
    return [each.values for each in named], lambda: iter([codes[order[start]]]), lambda: iter([merged])


def _streamed(numbers: Numbered, wanted: Sequence[str]) -> Ordered:
    """The same of rows that do not fit into memory: the engine sorts them, and they pass in batches."""
    named, places = [], []
    for place in range(len(wanted)):
        coded, rows = numbers.values(place, whole=False)
        each = _dictionary(coded, np.ones(len(rows), dtype=np.bool_))
        own = np.full(len(numbers.texts[place]) + 1, -1, dtype=np.int64)
        own[coded.codes] = each.codes
        named.append(each.values)
        places.append(own)
    numbers.merged(places, whole=False)
    return named, numbers.sorted_rows, numbers.sorted_weights
