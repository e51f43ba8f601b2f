"""A fourth engine in one file: tables of SQLite, read, searched and released through the same door as all others.

It does what CONTRIBUTING.md says of a new engine, in the smallest way: rows are rolled up by SQLite, recoded by one
query there, and written as a CSV file or handed over as Arrow.
"""

from __future__ import annotations

import csv
import hashlib
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kpareto as kp
from kpareto import engines
from kpareto.engines import Entry
from kpareto.engines.distinct import Distinct, in_memory
from kpareto.engines.duckdb.connect import Engine
from kpareto.engines.duckdb.read import arrow_view
from kpareto.engines.duckdb.write import hidden_part, written_part
from kpareto.engines.source import Opening, Outgoing, Source, SourceLayout, Target, View, Written
from kpareto.engines.sql import Sql, literal, quote
from kpareto.engines.unique_rows import unique_rows
from kpareto.engines.values import Spelled, roll, spell
from kpareto.errors import BadTable, Progress, Unsafe
from kpareto.jobs.parse import parse_job
from kpareto.tables.table import UniqueRows
from tests.twins.releases import SCHEMA, chosen, hierarchies, people

# -- connect -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SqliteTable:
    """A table in a file of SQLite."""

    address: str  # sqlite:///path
    table: str


def connect(source: SqliteTable) -> sqlite3.Connection:
    """The database, with the functions that SQLite lacks and a query of ours needs."""
    path = source.address.removeprefix("sqlite://")
    if not Path(path).exists():
        raise BadTable(f"There is no database {path!r}. Check the name and the folder.")
    link = sqlite3.connect(path)

    def told(*cells: object) -> str:
        return "\x1f".join(str(cell) for cell in cells if cell is not None)

    def matches(pattern: str, text: str) -> bool:
        return re.search(pattern, text) is not None

    link.create_function("chr", 1, chr)
    link.create_function("md5", -1, lambda *cells: hashlib.md5(told(*cells).encode()).hexdigest())
    link.create_function("sha256", 1, lambda text: hashlib.sha256(text.encode()).hexdigest())
    link.create_function("regexp", 2, matches)
    return link


# -- write -------------------------------------------------------------------------------------------------------


def text(value: str) -> str:
    """A value as text."""
    return f"CAST({value} AS TEXT)"


def shuffled(rows: str, cells: Sequence[str], key: Sequence[str], seed: int, few: bool) -> str:
    """The rows by a hash of their cells and the seed; that few are different is no reason to count them first."""
    told = ", ".join(f"coalesce({text(each)}, chr(1))" for each in key)
    return f"SELECT {', '.join(cells)} FROM ({rows}) ORDER BY md5({literal(str(seed))}, {told})"


SQLITE = Sql(
    text=text,
    real=lambda value: f"CAST({value} AS REAL)",
    token=lambda salt: f"substr(sha256({literal(salt)} || row_number() OVER ()), 1, 32)",
    matches=lambda value, pattern: f"{value} REGEXP {literal(pattern)}",
    shuffled=shuffled,
    key=text,
    same=lambda left, right: f"{left} IS {right}",
)


# -- read --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SqliteSource:
    """A table, rolled up and recoded by SQLite."""

    link: sqlite3.Connection
    name: str
    engine: Callable[[], Engine]
    costly: ClassVar[bool] = False
    program: ClassVar[str] = f"SQLite {sqlite3.sqlite_version}"

    @cached_property
    def _kinds(self) -> dict[str, str]:
        return {name: kind for _, name, kind, *_ in self.link.execute(f"PRAGMA table_info({quote(self.name)})")}

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(self._kinds)

    def distinct(self, wanted: Sequence[str], report: Progress | None = None) -> Distinct:
        """One GROUP BY of SQLite."""
        cells = ", ".join(map(quote, wanted))
        answer = self.ask(f"SELECT {cells}, count(*) AS weight FROM {quote(self.name)} GROUP BY {cells}")
        return in_memory(wanted, roll(answer, wanted))

    def unique(self, wanted: Sequence[str]) -> UniqueRows:
        """One GROUP BY over the view."""
        return self.view().unique(wanted)

    def view(self) -> View:
        """All rows, fetched."""
        return arrow_view(self.ask(f"SELECT * FROM {quote(self.name)}"), self.engine())

    def layout(self) -> SourceLayout:
        """Columns c0, c1, … of one table."""
        named = ", ".join(f"{quote(name)} AS c{place}" for place, name in enumerate(self.columns))
        whole = tuple(kind == "INTEGER" for kind in self._kinds.values())
        return SourceLayout(
            sql=SQLITE,
            table=f"(SELECT {named} FROM {quote(self.name)}) AS t",
            keys=tuple(f"t.c{place}" for place in range(len(self.columns))),
            textual=tuple(kind == "TEXT" for kind in self._kinds.values()),
            native=whole,
            discrete=whole,
        )

    def count(self) -> int:
        """All rows."""
        return int(self.link.execute(f"SELECT count(*) FROM {quote(self.name)}").fetchone()[0])

    def ask(self, query: str) -> pa.Table:
        """The answer to a query."""
        cursor = self.link.execute(query)
        names = [name for name, *_ in cursor.description]
        rows = cursor.fetchall()
        return pa.table([pa.array([row[place] for row in rows]) for place in range(len(names))], names=names)

    def spelled(self, index: int, known: Spelled | None) -> Spelled:
        """Asked for anew; a larger engine would take those it knows."""
        name = self.columns[index]
        return spell(self.ask(f"SELECT DISTINCT {quote(name)} FROM {quote(self.name)}").column(0), name).with_none()

    def register(self, name: str, table: pa.Table) -> None:
        """A temporary table, gone with the connection."""
        self.link.execute(f"CREATE TEMP TABLE {name} ({', '.join(table.column_names)})")
        marks = ", ".join("?" * table.num_columns)
        cells = zip(*(column.to_pylist() for column in table.columns), strict=True)
        self.link.executemany(f"INSERT INTO {name} VALUES ({marks})", cells)

    @contextmanager
    def write(self, rows: Outgoing, target: Target) -> Iterator[Written]:
        """A CSV file, or an Arrow table where there is no target."""
        with hidden_part(self.engine(), target) as part:
            answer = self.ask(rows.query)
            if part.format == "csv":
                with part.written.open("w", encoding="utf-8", newline="") as stream:
                    writer = csv.writer(stream, lineterminator="\n")
                    writer.writerows([answer.column_names, *zip(*(c.to_pylist() for c in answer.columns), strict=True)])
            else:
                pq.write_table(answer, part.written)
            # SQLite does not see the file, so it is not told where the rows are.
            written = written_part(self.engine(), part, lambda: answer)
            yield Written(written.kind, written.where, written.format, written.shown, written.unique, written.data,
                          written.path, written.part)  # fmt: skip


@contextmanager
def open_sqlite(source: SqliteTable, opening: Opening) -> Iterator[Source]:
    """One connection for as long as the source is open."""
    with closing(connect(source)) as link:
        yield SqliteSource(link, source.table, opening.start)


# -- the door ----------------------------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SqliteTable:
    """The people as a table of SQLite, and the engine's row at the door."""
    row = Entry(
        "sqlite",
        lambda source: isinstance(source, SqliteTable),
        lambda: open_sqlite,
        ("sqlite://",),
        SqliteTable,
        "SQLite database",
    )
    monkeypatch.setattr(engines, "ENGINES", (row, *engines.ENGINES))
    with closing(sqlite3.connect(tmp_path / "base.db")) as link, link:
        link.execute("CREATE TABLE people (name TEXT, age INTEGER, sex TEXT, illness TEXT, note TEXT)")
        rows = zip(*(column.to_pylist() for column in people().columns), strict=True)
        link.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", rows)
    return SqliteTable(f"sqlite://{tmp_path}/base.db", "people")


def test_a_fourth_engine_reads(table: SqliteTable) -> None:
    """The same Table, fingerprint, unique rows and profile as the same rows in memory give."""
    here, there = kp.read(table, SCHEMA), kp.read(people(), SCHEMA)
    assert (here.codes.tolist(), here.weights.tolist()) == (there.codes.tolist(), there.weights.tolist())
    assert [h.leaves for h in here.hierarchies] == [h.leaves for h in there.hierarchies]
    assert kp.fingerprint(table) == kp.fingerprint(people())
    assert unique_rows(table, ("age", "sex")) == unique_rows(people(), ("age", "sex"))
    assert kp.inspect(table).rows() == kp.inspect(people()).rows()


def test_a_fourth_engine_may_be_read_coarser(table: SqliteTable) -> None:
    """Rows that would not fit are merged, or drawn from, by the engine beside the source: the same from everywhere."""
    coarse = [
        kp.read(source, SCHEMA, hierarchies=hierarchies(), coarsen="always", first={"age": 1})
        for source in (table, people())
    ]
    assert coarse[0].distinct == 8
    assert coarse[0].codes.tolist() == coarse[1].codes.tolist()
    assert coarse[0].weights.tolist() == coarse[1].weights.tolist() == [15] * 8


def test_a_fourth_engine_releases_what_is_verified(table: SqliteTable, tmp_path: Path) -> None:
    """From the table through its front to a released file, byte for byte that of a file, and its certificate holds."""
    rolled_up = kp.read(table, SCHEMA, hierarchies=hierarchies())
    front = kp.front(rolled_up, objectives=["k", "lm"])
    point = front.choose(k=5)
    done = kp.release(point, table, tmp_path / "out.csv", limits={"k": 5})
    pq.write_table(people(), tmp_path / "people.parquet")
    kp.release(point, tmp_path / "people.parquet", tmp_path / "same.csv", limits={"k": 5})
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "same.csv").read_bytes()
    assert done.certificate.public["engine"] == SqliteSource.program
    assert replace(kp.verify(tmp_path / "out.csv", done.certificate), files=()) == done.verified
    assert done.rows == 120
    handed = kp.release(point, table, handling=kp.Handling(identifiers="token"))
    assert handed.data.num_rows == 120
    assert len(set(handed.data.column("name").to_pylist())) == 120


def test_what_a_fourth_engine_writes_is_counted(table: SqliteTable, tmp_path: Path) -> None:
    """A limit that the rows do not meet leaves nothing behind."""
    with pytest.raises(Unsafe, match="and at least 50 is asked"):
        kp.release(chosen(table), table, tmp_path / "out.csv", limits={"k": 50})
    assert [file.name for file in tmp_path.iterdir()] == ["base.db"]


def test_a_job_may_name_a_table_of_a_fourth_engine(table: SqliteTable, tmp_path: Path) -> None:
    """The address and the table of a job become a source at the door; an address without one is a sentence."""
    text = f'[data]\nsource = "{table.address}"\ntable = "people"\n[columns.age]\nrole = "quasi-identifier"\n'
    job = parse_job(text, tmp_path)
    assert job.in_database
    assert job.rows_source() == table
    assert job.table().rows == 120
    with pytest.raises(BadTable, match=r"is a SQLite database. Say which table: kpareto.SqliteTable\(address"):
        kp.read(table.address, SCHEMA)
