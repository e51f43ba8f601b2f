"""The way out of DuckDB: how it spells the query, and files that come into place when they are whole.

Files and folders of Parquet parts are written beside their target; frames are tried out in a file of the engine's own
folder. Other engines that write files put them into a ``Part``, too.
"""

from __future__ import annotations

import csv
import gzip
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, cast

from kpareto.atomic import check_target, reason, whole, whole_folder
from kpareto.engines.duckdb.connect import NESTED, WRITTEN, Engine, carry_out, escape_glob
from kpareto.engines.duckdb.files import iso_date, point_number, write_workbook
from kpareto.engines.form import Form, TextForm
from kpareto.engines.source import FORMATS, Outgoing, SourceLayout, Target, Written, ending_of, format_of
from kpareto.engines.sql import Shuffled, Sql, join_texts, literal, quote
from kpareto.errors import BadInput, BadJob, MissingExtra
from kpareto.tables.spelling import EXACT
from kpareto.tables.table import UniqueRows

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

if TYPE_CHECKING:
    import pyarrow as pa

PLAIN_TEXT = TextForm(",", "utf-8", ".")
# Kinds that the verifier spells as we do, so that columns may keep them.
NATIVE = ("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "DATE")
LARGE = 1_000_000  # rows whose order goes by the engine's own hash: a tenth of the time
MOST_NAMED = 10_000  # texts of a column that become a type of their own: one or two bytes a cell
PART_BYTES = "256MB"  # of one file in a folder of parts, about
COMPARED = 2_000_000  # rows up to which unique rows are told apart by their cells; above by a hash of 64 bits


def duck_sql(large: bool = False) -> Sql:
    """DuckDB's way of writing the pieces.

    The order of a ``large`` number of rows goes by the engine's own hash, which a new version may change.
    """

    def text(value: str) -> str:
        return f"{value}::VARCHAR"

    return Sql(
        text=text,
        real=lambda value: f"{value}::DOUBLE",
        token=lambda salt: f"substr(sha256({literal(salt)} || row_number() OVER ()), 1, 32)",
        matches=lambda value, pattern: f"regexp_matches({value}, {literal(pattern)})",
        shuffled=_shuffle(large),
        key=(lambda value: value) if large else text,
        hashed=(lambda cells: f"hash({', '.join(cells)})") if large else None,
    )


def _shuffle(large: bool) -> Shuffled:
    def shuffle(rows: str, cells: Sequence[str], key: Sequence[str], seed: int, few: bool) -> str:
        """Where ``few`` rows are different, those are sorted and then written out as often as they occur.

        Sorting ten million rows costs more than everything else together.
        """
        listed = ", ".join(cells)
        order = f"hash({literal(str(seed))}, {', '.join(key)})"
        if few or not large:
            order = f"md5({join_texts(literal(str(seed)), (f'{cell}::VARCHAR' for cell in key))})"
        if not few:
            return f"SELECT {listed} FROM ({rows}) ORDER BY {order}"
        counted = f"SELECT {listed}, count(*) AS n FROM ({rows}) GROUP BY ALL"
        sorted_ = f"SELECT * FROM ({counted}) ORDER BY {order}"
        return f"SELECT {listed} FROM (SELECT {listed}, unnest(range(n)) FROM ({sorted_}))"

    return shuffle


def lay_out(engine: Engine, table: str, kinds: Sequence[str], large: bool, raw: Collection[int] = ()) -> SourceLayout:
    """What stands after FROM, with DuckDB's types of its columns, as the way out sees it.

    Of the columns in ``raw`` the table also has what stood there before their form was applied, as r0, …
    """
    connection = engine.connection

    def cell(index: int) -> str:
        """A text of few different values is put in order as a number: of ten million rows that saves a second."""
        if index in raw:
            return f"t.r{index}"
        if not large or kinds[index] != "VARCHAR":
            return f"t.c{index}"
        query = f"SELECT DISTINCT t.c{index} FROM {table} LIMIT {MOST_NAMED + 2}"
        words = sorted(word for (word,) in connection.sql(query).fetchall() if word is not None)
        if not 0 < len(words) <= MOST_NAMED:
            return f"t.c{index}"
        _name(engine, f"p{index}_w", words)
        return f"t.c{index}::p{index}_w"

    return SourceLayout(
        sql=duck_sql(large),
        table=table,
        # Columns whose kind Arrow lacks are compared by their texts.
        keys=tuple(
            f"t.c{index}::VARCHAR" if kind.startswith("ENUM") or WRITTEN.search(kind) else f"t.c{index}"
            for index, kind in enumerate(kinds)
        ),
        textual=tuple(kind == "VARCHAR" or kind.startswith("ENUM") for kind in kinds),
        native=tuple(kind in NATIVE or kind == "DOUBLE" for kind in kinds),
        discrete=tuple(kind in NATIVE for kind in kinds),
        nested=[index for index, kind in enumerate(kinds) if NESTED.search(kind)],
        cell=cell,
    )


def _name(engine: Engine, kind: str, words: list[str]) -> None:
    """Make texts a type of their own."""
    engine.connection.execute(f"CREATE TYPE {kind} AS ENUM ({', '.join(map(literal, words))})")


def register_table(engine: Engine, name: str, table: pa.Table) -> None:
    """Keep a small table, its texts ``w`` as a type of their own: sorting and writing that costs a tenth."""
    import pyarrow.compute as pc

    connection = engine.connection
    connection.register(f"{name}_arrow", table)
    listed = []
    for column in table.column_names:
        # In order, so that the type is the same whichever value came first.
        words = sorted(pc.unique(table.column(column)).drop_null().to_pylist()) if column == "w" else []
        if words and len(words) <= MOST_NAMED:
            _name(engine, f"{name}_w", words)
            listed.append(f"w::{name}_w AS w")
        else:
            listed.append(column)
    connection.execute(f"CREATE TEMP TABLE {name} AS SELECT {', '.join(listed)} FROM {name}_arrow")
    connection.unregister(f"{name}_arrow")


# -- files -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """A file, or a folder of Parquet parts, while it is written."""

    written: Path  # where
    path: Path | None  # what it becomes; None where the rows are handed over in memory
    format: str  # csv, parquet, parquet parts, workbook, statistics, frame
    text: TextForm = PLAIN_TEXT  # of csv
    draft: Path | None = None  # the same as the engine writes it: in UTF-8, or as Parquet where others write it
    typed: bool = False  # Parquet of a text file, whose columns have types now

    @property
    def packed(self) -> bool:
        """Whether a text is packed by gzip."""
        return self.path is not None and self.path.name.lower().endswith(".gz")

    @property
    def rows(self) -> str:
        """What stands after FROM in DuckDB and gives the written rows."""
        file = self.draft or self.written
        where = literal(escape_glob(file) + ("/*.parquet" if self.format == "parquet parts" else ""))
        if self.format != "csv":  # what looks for texts in it finds texts
            return (
                f"(SELECT COLUMNS(*)::VARCHAR FROM read_parquet({where}))" if self.typed else f"read_parquet({where})"
            )
        # As it was written: what DuckDB would guess from a column of semicolons is another separator.
        form = f"""header = true, all_varchar = true, quote = '"', escape = '"', delim = {literal(self.separator)}"""
        form += f", compression = '{'gzip' if self.packed else 'none'}'"
        # By the names as they stand there: DuckDB would take the blanks around a name away.
        with _open_text(file, self.packed, "rt", "utf-8") as lines:
            header = next(csv.reader(lines, delimiter=self.separator, strict=True), [])
        names = f", names = [{', '.join(map(literal, header))}]" if header else ""
        rows = f"read_csv({where}, {form}{names})"
        if self.text.decimal != ",":
            return rows
        cells = [f"{point_number(quote(name), Form(decimal=','))} AS {quote(name)}" for name in header]
        return f"(SELECT {', '.join(cells)} FROM {rows})"

    @property
    def separator(self) -> str:
        """What stands between the cells of a text."""
        return self.text.separator or ","


@contextmanager
def hidden_part(engine: Engine, target: Target, text: TextForm = PLAIN_TEXT) -> Iterator[Part]:
    """The file or folder of a target, which gets its name when the block ends well; None is a file of our own."""
    if target is None:
        yield Part(engine.folder / "release.parquet", None, "frame")
    elif str(target).endswith("/"):
        with whole_folder(Path(target)) as folder:
            yield Part(folder, Path(target).absolute(), "parquet parts")
    else:
        path = check_target(target)
        kind = format_of(path)
        with whole(path) as file:
            draft = None
            if kind in ("workbook", "statistics"):
                draft = engine.folder / "release.parquet"
            elif kind == "csv" and text.encoding != "utf-8":
                draft = engine.folder / "release.csv"
            yield Part(file, path, kind, text, draft)


def written_part(engine: Engine, part: Part, data: Callable[[], Any]) -> Written:
    """A part that was written; ``data`` gives the rows themselves where there is no target."""
    return Written(
        kind="file",
        where=part.written,
        format=part.format,
        shown=str(part.path or "the release"),
        unique=lambda columns: count_unique(engine.connection, part.rows, columns),
        data=data if part.path is None else lambda: None,
        path=part.path,
        part=None if part.path is None else part.written,  # nobody keeps the file of a frame
        rows=part.rows,
        form=part.text.to_dict() if part.format == "csv" else {},
    )


@contextmanager
def write_rows(
    engine: Engine, rows: Outgoing, target: Target, data: Callable[[], Any], source: Form | None = None
) -> Iterator[Written]:
    """Have DuckDB write the rows it recodes; ``source`` is the form of the text file they come from, if from one."""
    known = source or Form()
    text = PLAIN_TEXT
    if target is not None and FORMATS.get(ending_of(target)) == "csv":
        text = rows.form.settled(known, ending_of(target))
    with hidden_part(engine, target, text) as part:
        query = rows.query
        if part.format == "csv":
            query = spell_text(rows, known, text)
        elif source is not None and part.path is not None and not rows.tokens:
            query, part = spell_typed(engine, rows, source), replace(part, typed=True)
        copy_rows(engine, query, part)
        yield written_part(engine, part, data)


def copy_rows(engine: Engine, query: str, part: Part) -> None:
    """One COPY of the engine; what goes wrong is a sentence."""
    import duckdb

    packed = ", COMPRESSION gzip" if part.packed else ""
    form = f"FORMAT csv, HEADER true, DELIMITER {literal(part.separator)}{packed}" if part.format == "csv" else (
        "FORMAT parquet"
    )  # fmt: skip
    pieces = f", FILE_SIZE_BYTES '{PART_BYTES}', OVERWRITE_OR_IGNORE true"  # the folder is there already
    form += pieces if part.format == "parquet parts" else ", USE_TMP_FILE false"
    copy = f"COPY ({query}) TO {literal(str(part.draft or part.written))} ({form})"
    try:
        carry_out(engine.connection, copy, engine.report, again=part.format != "parquet parts")  # parts would stay
    except duckdb.OutOfMemoryException as error:
        raise BadInput(
            'The rows cannot be put in order within the memory allowed. Give more, such as memory = "2 GB"; '
            "nothing was released."
        ) from error
    except duckdb.Error as error:
        why = "no space is left" if "No space left" in str(error) else reason(error)
        raise BadInput(f"The release could not be written: {why}. Nothing was released.") from error
    if part.draft is not None and part.format == "workbook":
        write_workbook(part.draft, part.written)
    elif part.draft is not None and part.path is not None and part.format == "statistics":
        write_statistics(part.draft, part.written, ending_of(part.path))
    elif part.draft is not None:
        _encode(part.draft, part)


def _open_text(file: Path, packed: bool, mode: Literal["rt", "wt"], encoding: str) -> IO[str]:
    """A text to read or to write, line ends as they are."""
    if packed:
        return cast(IO[str], gzip.open(file, mode, encoding=encoding, newline=""))
    return cast(IO[str], file.open(mode, encoding=encoding, newline=""))


def _encode(draft: Path, part: Part) -> None:
    """The release in the encoding that it is to have; a character that it lacks is a sentence."""
    name = part.text.encoding or "utf-8"
    try:
        with (
            _open_text(draft, part.packed, "rt", "utf-8") as text,
            _open_text(part.written, part.packed, "wt", name) as copy,
        ):
            shutil.copyfileobj(text, copy, 1 << 20)
    except UnicodeEncodeError as error:
        lacking = error.object[error.start]
        raise BadJob(
            f"The release has the character {lacking!r}, which the encoding {name} of its source lacks. "
            'Write encoding = "utf-8" under [release]. Nothing was released.'
        ) from None


def count_unique(connection: duckdb.DuckDBPyConnection, rows: str, columns: Sequence[str]) -> UniqueRows:
    """Rows of a written table that are alone with their cells."""
    names = ", ".join(map(quote, columns))
    total = int(connection.sql(f"SELECT count(*) FROM {rows}").fetchall()[0][0])
    query = f"SELECT count(*) AS n FROM {rows} GROUP BY {names if total <= COMPARED else f'hash({names})'}"
    groups, unique = connection.sql(f"SELECT count(*), count(*) FILTER (n = 1) FROM ({query})").fetchall()[0]
    return UniqueRows(tuple(columns), total, int(unique), int(groups))


# How released cells are spelled in a file: a decimal comma where the source has one, types where Parquet has them.
#
# Dates of columns that nothing was done to stay as the text of the source has them, and are dates in Parquet and in
# sheets.

POINTED = r"[+-]?[0-9]+\.[0-9]+([eE][+-]?[0-9]+)?"
WHOLE = "0|-?[1-9][0-9]{0,14}"  # as a float holds it, and as it is written back
FRACTION = r"-?(0|[1-9][0-9]*)\.[0-9]*[1-9]"
DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"


def spell_text(rows: Outgoing, source: Form, text: TextForm) -> str:
    """The query for the released rows, numbers with the decimal sign that the text is to have.

    Columns that nothing was done to have the sign of the source already.
    """
    if text.decimal == source.decimal == ".":
        return rows.query
    listed = []
    for name, touched in rows.touched.items():
        cell = quote(name)
        if not touched and source.decimal == text.decimal:
            listed.append(cell)
            continue
        value = cell if touched else point_number(cell, source)
        if text.decimal == ",":
            written = f"({value})::VARCHAR"
            value = (
                f"CASE WHEN regexp_full_match({written}, {literal(POINTED)}) THEN replace({written}, '.', ',') "
                f"ELSE {written} END"
            )
        listed.append(f"{value} AS {cell}")
    return f"SELECT {', '.join(listed)} FROM ({rows.query}) AS i"


def spell_typed(engine: Engine, rows: Outgoing, source: Form) -> str:
    """The query for the released rows of a text file, each column in the type that all its texts can be read back from.

    A column with a role keeps its texts unless every one is spelled as the type would spell it, so that the verifier
    counts the same classes; of plain ones an empty cell is no value.
    """
    cells = {name: quote(name) if touched else _plain_cell(name, source) for name, touched in rows.touched.items()}
    asked = []
    for name, touched in rows.touched.items():
        cell, empty = f"({cells[name]})::VARCHAR", "" if touched else f" OR {quote(name)} = ''"
        whole = f"regexp_full_match({cell}, {literal(WHOLE)})"
        broken = f"regexp_full_match({cell}, {literal(FRACTION)}) AND TRY_CAST({cell} AS DOUBLE)::VARCHAR = {cell}"
        day = f"regexp_full_match({cell}, {literal(DAY)}) AND TRY_CAST({cell} AS DATE) IS NOT NULL"
        asked += [f"bool_and(coalesce({test}, true){empty})" for test in (whole, f"({whole} OR {broken})", f"({day})")]
        asked.append(f"count(nullif({cell}, ''))")
    answer = engine.connection.sql(f"SELECT {', '.join(asked)} FROM ({rows.query}) AS i").fetchall()[0]
    types = _types(list(rows.touched), answer)
    listed = []
    for name in rows.touched:
        cell = f"({cells[name]})::VARCHAR"
        kind = types.get(name)
        listed.append(quote(name) if kind is None else f"nullif({cell}, '')::{kind} AS {quote(name)}")
    return f"SELECT {', '.join(listed)} FROM ({rows.query}) AS i"


def _plain_cell(name: str, source: Form) -> str:
    """A cell that nothing was done to, with its number or date as everywhere else in here."""
    return iso_date(quote(name), source.dates[name]) if name in source.dates else point_number(quote(name), source)


def _types(names: list[str], answer: tuple[object, ...]) -> Mapping[str, str]:
    types = {}
    for index, name in enumerate(names):
        whole, number, day, present = answer[4 * index : 4 * index + 4]
        fitting = [kind for kind, fits in (("BIGINT", whole), ("DOUBLE", number), ("DATE", day)) if fits]
        if present and fitting:
            types[name] = fitting[0]
    return types


# A release as a file of Stata or SPSS: numbers and days in the types they have, all else as text.

STATA, SPSS = ".dta", ".sav"
MOST_BYTES = {STATA: 2045, SPSS: 32767}  # of a text
# Equal rows give equal bytes, so a file says no time of its own: where its time stands, and what stands there instead.
STATA_TIME, SPSS_TIME = (b"<timestamp>\x11", b"01 Jan 1980 00:00"), (92, b"01 Jan 8000:00:00")


def write_statistics(rows: Path, target: Path, ending: str) -> None:
    """Write the rows of a Parquet file for Stata or SPSS, as the ending says."""
    import pyarrow.parquet as pq

    try:
        import pandas as pd
        import pyreadstat
    except ImportError as error:
        raise MissingExtra(
            "Files of Stata and SPSS are written by pyreadstat. Install it: pip install 'kpareto[files]'."
        ) from error
    table = pq.read_table(rows)
    frame = pd.DataFrame({name: _column(table.column(name), name, ending) for name in table.column_names})
    write = pyreadstat.write_dta if ending == STATA else pyreadstat.write_sav
    try:
        write(frame, str(target))
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ValueError) as error:
        program = "Stata" if ending == STATA else "SPSS"
        raise BadJob(
            f"The release does not fit into a file of {program} ({str(error).partition(chr(10))[0]}). Give a target "
            "that ends in .parquet or .csv. Nothing was released."
        ) from error
    _forget_time(target, ending)


def _column(values: pa.ChunkedArray, name: str, ending: str) -> Any:
    """A column as pyreadstat takes it; a text that is missing is an empty one there."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type
    if pa.types.is_dictionary(kind):
        values = values.cast(kind.value_type)
        kind = values.type
    if values.null_count == len(values):
        return pd.Series([float("nan")] * len(values), dtype="float64")
    if pa.types.is_integer(kind):
        largest = max(abs(int(end.as_py())) for end in pc.min_max(values).values())
        if largest < EXACT:  # both programs know reals alone
            return values.cast(pa.float64()).to_pandas()
    elif pa.types.is_floating(kind):
        return values.cast(pa.float64()).to_pandas()
    elif pa.types.is_date(kind) or pa.types.is_time(kind) or (pa.types.is_timestamp(kind) and kind.tz is None):
        return pd.Series(values.to_pylist(), dtype="object")
    elif pa.types.is_boolean(kind):
        values = pc.if_else(values, "true", "false")
    texts = values.cast(pa.large_string())
    longest = pc.max(pc.binary_length(texts)).as_py()
    if longest > MOST_BYTES[ending]:
        raise BadJob(
            f"Column {name!r} has a text of {longest:,} bytes, and a file that ends in {ending} takes "
            f"{MOST_BYTES[ending]:,}. Give a target that ends in .parquet or .csv. Nothing was released."
        )
    return pd.Series(pc.fill_null(texts, "").to_pylist(), dtype="object")


def _forget_time(target: Path, ending: str) -> None:
    with target.open("r+b") as file:
        if ending == STATA:
            mark, instead = STATA_TIME
            at = file.read(4096).index(mark) + len(mark)
        else:
            at, instead = SPSS_TIME
        file.seek(at)
        file.write(instead)
