"""The way out: the rows of a source, recoded by the engine that holds them.

Files and pyarrow tables are recoded by DuckDB where they lie; dataframes are handed to it through Arrow, and their
untouched columns are taken from the frame itself, so that they keep their types. Each column with a role is joined
with a small table *value -> text and group*, and the groups with a small table *class -> kept or suppressed*. No row
passes through Python.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from kpareto import sources
from kpareto.delimited import Csv
from kpareto.errors import BadJob, BadSchema, BadTable
from kpareto.files import Engine, asked, engine, literal, scan
from kpareto.frames import MISSING
from kpareto.partition import Partition, classes
from kpareto.stored import Choice
from kpareto.texts import arrow_places, arrow_texts, object_text, texts

if TYPE_CHECKING:
    import pyarrow as pa

Shown = Literal["label", "midpoint", "median"]
STAR = "*"
FORMULA = r"^[=+\-@\t\r]"  # what a spreadsheet would run
NUMBER = r"^[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]+)?\s?%?$"  # a negative number is none
NATIVE = ("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "DATE")


@dataclass(frozen=True)
class Handling:
    """How the rows of a source are read, and how they are written.

    ``identifiers``: dropped, or each replaced by a random token, new for every row, so that not even the rows of one
    person can be linked by it. The person column is never released. ``order``: rows are sorted by a hash of what is
    released and of the seed, so the order depends on nothing else; ``kept`` keeps the order of the source, which may
    tell who is who. ``shown``: per column its labels, the midpoint of declared borders, or the median of the rows in
    the group (which tells about them, W8). ``formulas``: cells that a spreadsheet would run are counted, or written
    behind an apostrophe.
    """

    identifiers: Literal["drop", "token"] = "drop"
    order: Literal["shuffled", "kept"] = "shuffled"
    seed: int = 0
    shown: Mapping[str, Shown] = field(default_factory=dict)
    formulas: Literal["report", "neutralise"] = "report"
    missing_values: Sequence[object] = ("?", "")
    left_out: Sequence[str] = ()  # columns of the source that are not released
    token_seed: int | None = None  # for tests alone: tokens anyone can make again

    def __post_init__(self) -> None:
        for name, known in (
            ("identifiers", ("drop", "token")),
            ("order", ("shuffled", "kept")),
            ("formulas", ("report", "neutralise")),
        ):
            if getattr(self, name) not in known:
                raise BadJob(f"{name} is {getattr(self, name)!r}. Write {' or '.join(map(repr, known))}.")
        for column, shown in self.shown.items():
            if shown not in ("label", "midpoint", "median"):
                raise BadJob(f"Column {column!r} is to show {shown!r}. Write 'label', 'midpoint' or 'median'.")


@dataclass(frozen=True, eq=False)
class Rows:
    """A source as DuckDB sees it."""

    engine: Engine
    table: str  # what stands after FROM and gives c0, c1, …
    columns: tuple[str, ...]
    kinds: tuple[str, ...]  # DuckDB's types
    count: int
    program: str  # which program holds the rows
    frame: Any = None  # the dataframe itself, where the source is one

    def ask(self, query: str) -> pa.Table:
        """The answer to a query."""
        return self.engine.connection.sql(query).to_arrow_table()


@contextmanager
def opened_rows(source: object, encoding: str = "utf-8") -> Iterator[Rows]:
    """The rows of any source that ``read`` takes."""
    with engine() as started:
        started.connection.execute("SET preserve_insertion_order = true")
        # The small tables are joined one after the other; left to itself the engine multiplies them with each other.
        started.connection.execute("SET disabled_optimizers = 'join_order'")
        if isinstance(source, str | PathLike):
            source = Csv(Path(fspath(source)), encoding) if encoding != "utf-8" else Path(fspath(source))
        if isinstance(source, Csv | Path):
            file = scan(source, started)

            def probe(rows: str) -> Rows:
                return _rows(started, rows, file.columns, "DuckDB")

            yield asked(file, started, probe)
            return
        home = type(source).__module__.partition(".")[0]
        frame = None
        if home in ("duckdb", "_duckdb"):
            source = cast(Any, source).to_arrow_table()
        elif home != "pyarrow":
            frame, source = _arrow_of(source)
        with sources.opened(source) as arrow:
            table = cast(Any, arrow).table
            # Arrow's own names may repeat or differ in case only, which SQL does not tell apart.
            own = table.rename_columns([f"c{place}" for place in range(table.num_columns)])
            started.connection.register("kpareto_rows", _legible(own))
            program = "DuckDB" if frame is None else type(frame).__module__.partition(".")[0]
            found = _rows(started, "kpareto_rows", tuple(table.column_names), program)
            yield Rows(**{**vars(found), "frame": frame})


def _rows(started: Engine, rows: str, columns: tuple[str, ...], program: str) -> Rows:
    """Look at all cells once, so that a damaged file is a sentence before anything is written."""
    own = [f"c{place}" for place in range(len(columns))]
    table = f"{rows} AS t({', '.join(own)})"
    kinds = tuple(str(kind) for kind in started.connection.sql(f"SELECT * FROM {table}").types)
    counted = started.connection.sql(f"SELECT count(*), {', '.join(f'count({c})' for c in own)} FROM {table}")
    return Rows(started, table, columns, kinds, int(counted.fetchall()[0][0]), program)


def _legible(table: pa.Table) -> pa.Table:
    """The table in types DuckDB knows."""
    import pyarrow as pa
    import pyarrow.types as is_

    for place, kind in enumerate(table.schema.types):
        if is_.is_float16(kind) or is_.is_decimal256(kind) or is_.is_null(kind):
            other = pa.float32() if is_.is_float16(kind) else pa.string()
            table = table.set_column(place, table.schema.names[place], table.column(place).cast(other))
    return table


def _arrow_of(source: object) -> tuple[Any, pa.Table]:
    """A dataframe in memory, and its columns as Arrow has them; columns of Python objects become text."""
    import narwhals.stable.v2 as nw
    import pyarrow as pa

    with sources.opened(source) as found:
        frame = cast(Any, found).frame
    if isinstance(found, sources.PandasSource):
        arrays = [_pandas_column(frame.iloc[:, place], name) for place, name in enumerate(found.columns)]
        return frame, pa.table(arrays, names=list(found.columns))
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    return nw.to_native(frame), frame.to_arrow()


def _pandas_column(column: Any, name: str) -> pa.ChunkedArray:
    import pandas as pd
    import pyarrow as pa

    bare = column.dtype == object or getattr(column.dtype, "storage", "") == "python"
    if bare or isinstance(column.dtype, pd.CategoricalDtype):
        codes, words = sources._numbered(column.reset_index(drop=True), name)
        whole = pa.concat_arrays([words, pa.nulls(1, words.type)])
        return pa.chunked_array([whole.take(arrow_places(codes % len(whole)))])
    found = pa.array(column, from_pandas=True)
    return found if isinstance(found, pa.ChunkedArray) else pa.chunked_array([found])


@dataclass(frozen=True, eq=False)
class Out:
    """One released column."""

    name: str
    role: str
    value: str  # SQL over the joined tables
    text: bool  # the value is text
    touched: bool  # it differs from what the source has


@dataclass(frozen=True, eq=False)
class Recoded:
    """The released rows as a query."""

    rows: Rows
    outs: tuple[Out, ...]
    inner: str  # SELECT o0, o1, …, rid: the released rows without order and tokens
    labels: Mapping[str, tuple[str, ...]]
    handling: Handling

    @property
    def roles(self) -> dict[str, str]:
        """Released column -> role, in order."""
        return {out.name: out.role for out in self.outs}

    def survey(self) -> tuple[int, dict[str, int]]:
        """How many rows are released, and per column the cells that a spreadsheet would run."""
        texts_at = [place for place, out in enumerate(self.outs) if out.text and out.role != "identifier"]
        counts = [f"count(*) FILTER (WHERE {_runs(f'o{place}')})" for place in texts_at]
        found = self.rows.ask(f"SELECT {', '.join(['count(*)', *counts])} FROM ({self.inner})").to_pylist()[0].values()
        rows, *cells = (int(number) for number in found)
        return rows, {self.outs[place].name: n for place, n in zip(texts_at, cells, strict=True) if n}

    def query(self, with_positions: bool = False) -> str:
        """The released rows in their order, under their names."""
        own = [f"o{place}" for place, out in enumerate(self.outs) if out.role != "identifier"]
        order = "rid"
        if self.handling.order == "shuffled":
            cells = ", ".join(f"coalesce({name}::VARCHAR, chr(1))" for name in own)
            order = f"md5(concat_ws(chr(31), {literal(str(self.handling.seed))}, {cells})), {', '.join(own)}"
        key = secrets.token_hex(32) if self.handling.token_seed is None else f"seed {self.handling.token_seed}"
        shown = []
        for place, out in enumerate(self.outs):
            value = self._neutral(f"o{place}", out)
            if out.role == "identifier":
                salt = literal(f"{key} {place} ")
                value = f"substr(sha256({salt} || row_number() OVER (ORDER BY {order})), 1, 32)"
            shown.append(f"{value} AS {quoted(out.name)}")
        positions = [f"rid - 1 AS {quoted(chr(0) + 'rid')}"] if with_positions else []
        return f"SELECT {', '.join([*shown, *positions])} FROM ({self.inner}) ORDER BY {order}"

    def _neutral(self, value: str, out: Out) -> str:
        if self.handling.formulas == "report" or not out.text:
            return value
        return f"CASE WHEN {_runs(value)} THEN '''' || {value} ELSE {value} END"


def _runs(value: str) -> str:
    return f"(regexp_matches({value}, {literal(FORMULA)}) AND NOT regexp_matches({value}, {literal(NUMBER)}))"


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def recode(rows: Rows, choice: Choice, partition: Partition, handling: Handling, plain: bool) -> Recoded:
    """The rows of a source as the choice shows them; ``plain`` writes every column with a role as text (CSV)."""
    schema, table = choice.table.schema, choice.table
    schema.check(rows.columns)
    _check_names(rows.columns)
    labels = shown_labels(choice, handling)
    person = () if schema.person is None else (schema.person,)
    used = dict.fromkeys((*schema.quasi, *schema.sensitive, *schema.target, *person))
    joins, kept = [], []
    same: set[str] = set()
    for name in used:
        place = rows.columns.index(name)
        if _mapped(rows, choice, name, labels.get(name), handling):
            same.add(name)
        joins.append(f"LEFT JOIN m{place} ON {_raw(rows, place)} IS NOT DISTINCT FROM m{place}.v")
        if table.missing != "category":
            kept.append(f"m{place}.w IS NOT NULL")
    joins.append(_class_join(rows, choice, partition))
    masked = bool((partition.suppressed & partition.visible).any())
    kept.append("x.lost IS NOT NULL" if masked else "NOT x.lost")
    outs = []
    for place, name in enumerate(rows.columns):
        role = schema.role(name)
        if name == schema.person or (role == "identifier" and handling.identifiers == "drop"):
            continue
        if role == "plain" and name in handling.left_out:
            continue
        outs.append(_out(rows, place, role, (name in same, masked, plain, handling.shown.get(name, "label"))))
    listed = ", ".join(f"{out.value} AS o{place}" for place, out in enumerate(outs))
    numbered = f"(SELECT *, row_number() OVER () AS rid FROM {rows.table}) AS t"
    inner = f"SELECT {listed}, t.rid FROM {numbered} {' '.join(joins)} WHERE {' AND '.join(kept)}"
    return Recoded(rows, tuple(outs), inner, labels, handling)


def _check_names(columns: Sequence[str]) -> None:
    seen: dict[str, str] = {}
    for name in columns:
        if not name:
            raise BadSchema("A column of the source has no name. Give it one.")
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise BadSchema(f"Columns {other!r} and {name!r} differ in case only. Rename one of them.")


def _out(rows: Rows, place: int, role: str, told: tuple[bool, bool, bool, Shown]) -> Out:
    same, masked, plain, shown = told
    name, kind = rows.columns[place], rows.kinds[place]
    text = kind == "VARCHAR"
    if role == "identifier":
        return Out(name, role, "''", True, True)
    if role == "plain":
        return Out(name, role, f"t.c{place}", text, False)
    if role != "quasi-identifier":
        # A kind that our verifier spells as we do keeps its type; a column of text gets its blanks trimmed.
        native = not plain and (kind in NATIVE or kind == "DOUBLE")
        return Out(name, role, f"t.c{place}" if native else f"m{place}.w", not native, text)
    if masked:
        return Out(name, role, f"CASE WHEN x.lost THEN '{STAR}' ELSE m{place}.w END", True, True)
    if same and not plain and shown == "label" and kind in NATIVE:
        return Out(name, role, f"t.c{place}", False, False)
    if shown != "label" and not plain:
        return Out(name, role, f"m{place}.w::DOUBLE", False, True)
    return Out(name, role, f"m{place}.w", True, True)


def _raw(rows: Rows, place: int) -> str:
    kind = rows.kinds[place]
    odd = kind.startswith("ENUM") or kind in ("HUGEINT", "UHUGEINT", "BIGNUM", "VARINT", "UUID", "BIT")
    return f"t.c{place}::VARCHAR" if odd or kind == "TIME WITH TIME ZONE" else f"t.c{place}"


def _mapped(rows: Rows, choice: Choice, name: str, labels: tuple[str, ...] | None, handling: Handling) -> bool:
    """Register the table value -> text (and group) of one column; whether every text is the value itself."""
    import pyarrow as pa
    import pyarrow.compute as pc

    place = rows.columns.index(name)
    answer = rows.ask(f"SELECT DISTINCT {_raw(rows, place)} AS v FROM (SELECT * FROM {rows.table}) AS t").column(0)
    values = pa.concat_arrays(answer.chunks) if answer.num_chunks else pa.array([], answer.type)
    words = texts(values, name)
    marks = [object_text(value, "missing_values") for value in handling.missing_values]
    words = pc.if_else(pc.is_in(words, value_set=arrow_texts(marks)), pa.nulls(len(words), words.type), words)
    if choice.table.missing == "category":
        words = pc.fill_null(words, MISSING)
    columns = {"v": values, "w": words}
    same = False
    if labels is not None:
        column = choice.table.column(name)
        groups = _groups(choice, column, words.to_pylist())
        columns["w"] = arrow_texts([None if group < 0 else labels[group] for group in groups.tolist()])
        columns["g"] = arrow_places(groups)
        same = bool(pc.all(pc.equal(columns["w"], words)).as_py())
    rows.engine.connection.register(f"m{place}", pa.table(columns))
    return same


def _groups(choice: Choice, column: int, words: list[str | None]) -> np.ndarray:
    """The group of each text, -1 for a missing value and for one that has no place: (texts,) int64."""
    hierarchy, name = choice.recoding.hierarchies[column], choice.table.schema.quasi[column]
    known = [word for word in words if word is not None]
    placed = choice.unseen.get(name, {})
    leaves = hierarchy.locate(known).astype(np.int64)
    for at in np.flatnonzero(leaves < 0).tolist():
        leaves[at] = placed.get(known[at], -1)
    # A value without a place may stand in rows that are left out anyway, for a missing value in another column;
    # if not, its rows fit no class, and the rows to be released do not add up.
    groups = np.full(len(words), -1, dtype=np.int64)
    found = np.where(leaves < 0, -1, choice.recoding.cuts[column][leaves])
    groups[[at for at, word in enumerate(words) if word is not None]] = found
    return groups


def _class_join(rows: Rows, choice: Choice, partition: Partition) -> str:
    """Register the table class -> suppressed, and say how it is joined."""
    import pyarrow as pa

    whole = classes(choice.table, choice.recoding)
    lost = np.zeros(len(whole.rows), dtype=np.bool_)
    lost[whole.members] = partition.suppressed[partition.members]
    columns = {f"g{column}": arrow_places(whole.groups[:, column]) for column in range(whole.groups.shape[1])}
    rows.engine.connection.register("x", pa.table({**columns, "lost": pa.array(lost.tolist())}))
    places = [rows.columns.index(name) for name in choice.table.schema.quasi]
    return "LEFT JOIN x ON " + " AND ".join(f"x.g{column} = m{place}.g" for column, place in enumerate(places))


def shown_labels(choice: Choice, handling: Handling) -> dict[str, tuple[str, ...]]:
    """What stands in a cell of each group, per quasi-identifier; different groups never look alike."""
    for name in handling.shown:
        choice.table.column(name)
    found = {}
    for column, name in enumerate(choice.table.schema.quasi):
        shown = handling.shown.get(name, "label")
        labels = choice.labels[column] if shown == "label" else _numbers(choice, column, shown)
        twice = {label for label in labels if labels.count(label) > 1}
        if twice:
            runs = np.flatnonzero(np.diff(choice.recoding.cuts[column], prepend=-1)).tolist()
            leaves = choice.recoding.hierarchies[column].leaves
            labels = tuple(
                f"{label} ({leaves[first]} …)" if label in twice else label
                for label, first in zip(labels, runs, strict=True)
            )
        found[name] = labels
    return found


def _numbers(choice: Choice, column: int, shown: Shown) -> tuple[str, ...]:
    """A number for each group of a column: the middle of its declared borders, or the median of its rows."""
    hierarchy, cut = choice.recoding.hierarchies[column], choice.recoding.cuts[column]
    if hierarchy.spans is None or hierarchy.dates:
        raise BadTable(
            f"Column {hierarchy.name!r} cannot show a {shown}: its values are not numbers. Show its labels instead."
        )
    found = []
    for group in range(int(cut[-1]) + 1):
        leaves = np.flatnonzero(cut == group)
        spans = hierarchy.spans[leaves]
        if shown == "midpoint":
            number = (float(spans[:, 0].min()) + float(spans[:, 1].max())) / 2
            if hierarchy.edges is not None:
                number = (float(hierarchy.edges[leaves[0]]) + float(hierarchy.edges[leaves[-1] + 1])) / 2
        else:
            number = _median(spans.mean(axis=1), choice.table.leaf_rows[column][leaves])
        if not np.isfinite(number):
            raise BadTable(f"A group of {hierarchy.name!r} has no middle: a border is infinite. Show its labels.")
        found.append(str(int(number)) if number.is_integer() else repr(number))
    return tuple(found)


def _median(numbers: np.ndarray, rows: np.ndarray) -> float:
    """The lower median of weighted numbers; of the numbers alone where no row has any."""
    weights = rows if rows.sum() else np.ones_like(rows)
    order = np.argsort(numbers, kind="stable")
    passed = np.cumsum(weights[order])
    return float(numbers[order][np.searchsorted(passed, (passed[-1] + 1) // 2)])
