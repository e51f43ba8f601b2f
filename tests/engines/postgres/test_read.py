"""A table in PostgreSQL gives the same rows as every other door, and a database that says no is a sentence."""

from __future__ import annotations

import datetime as dt
import decimal
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kpareto
from kpareto.engines import open_source
from kpareto.engines.duckdb.connect import HELD
from kpareto.engines.form import Missing
from kpareto.engines.postgres.connect import Postgres, bare, hide_password, pieces
from kpareto.engines.postgres.read import PostgresSource
from kpareto.engines.read import POLICIES, fingerprint, read
from kpareto.engines.unique_rows import unique_rows
from kpareto.errors import BadInput, BadJob, BadTable, MissingExtra
from kpareto.faces import cli
from kpareto.jobs.front import search_job
from kpareto.jobs.inspect import inspect
from kpareto.jobs.parse import parse_job
from kpareto.jobs.release import release_job
from kpareto.tables.adult import adult
from kpareto.tables.schema import Schema
from kpareto.verifier import verify
from tests.twins.doors import Sheet, arrow, bits, front_bits, sheets
from tests.twins.postgres_server import PASSWORD, Server, put

pytestmark = pytest.mark.xdist_group("postgres")  # one server serves them all

TYPES = {str: "text", int: "bigint", float: "float8", bool: "boolean", dt.date: "date", dt.datetime: "timestamp"}


@pytest.fixture(scope="module")
def base(server: Server) -> Iterator[str]:
    """The address of a database for all tests of this file."""
    with server.database() as url:
        yield url


def stored(url: str, sheet: Sheet) -> Postgres:
    """The sheet as a table."""
    kinds = {}
    for name, values in sheet.columns.items():
        found = {type(value) for value in values if value is not None}
        kinds[name] = TYPES[found.pop()] if found else "text"
    return put(url, "sheet", kinds, sheet.rows)


@settings(max_examples=15)
@given(sheets(), st.sampled_from(POLICIES))
def test_any_sheet_gives_the_same_bits(base: str, made: tuple[Sheet, Schema], missing: Missing) -> None:
    """Rows of any kind, with nulls, blanks, quotes and line ends, give the Table that pyarrow gives."""
    sheet, schema = made

    def answer(source: object) -> list[object]:
        try:
            return bits(read(source, schema, missing))
        except BadTable as error:  # no row is left, say
            return [str(error)]

    assert answer(stored(base, sheet)) == answer(arrow(sheet))


ZONE = dt.timezone(dt.timedelta(hours=5, minutes=30))
MADE: dict[str, tuple[str, pa.DataType, list[object]]] = {
    "word": ("text", pa.string(), ["é", "e\u0301", "", None, " 中 ", "x,\r\n\"y\"", "\\.", "NULL"]),
    "short": ("char(6)", pa.string(), ["a", "b", "", None, "a", "ü", "\\N", "?"]),
    "price": ("numeric(12,3)", pa.decimal128(12, 3), [decimal.Decimal(v) for v in ("1.500", "2", "-0.001", "0", "7", "1e6", "3.1", "9")]),
    "single": ("real", pa.float32(), [0.1, 1e-7, 1e16, float("nan"), None, 39.0, 16777216.0, float("inf")]),
    "double": ("double precision", pa.float64(), [0.1, 1e-7, 1e16, float("nan"), None, -0.0, 1e15, 5e-324]),
    "flag": ("boolean", pa.bool_(), [True, False, None, True, False, True, True, False]),
    "day": ("date", pa.date32(), [dt.date(1900, 2, 28), dt.date(2024, 2, 29), None, *[dt.date(1, 1, 1)] * 5]),
    "moment": ("timestamp", pa.timestamp("us"), [dt.datetime(2024, 1, 31), dt.datetime(2024, 1, 31, 12, 30, 0, 500_000), None, *[dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)] * 5]),  # noqa: DTZ001
    "zoned": ("timestamptz", pa.timestamp("us", "UTC"), [dt.datetime(2024, 1, 31, tzinfo=dt.UTC), dt.datetime(2024, 1, 31, 3, tzinfo=ZONE), None, *[dt.datetime(1950, 1, 1, tzinfo=ZONE)] * 5]),
    "clock": ("time", pa.time64("us"), [dt.time(12, 30), dt.time(12, 30, 0, 250_000), None, *[dt.time(0)] * 5]),
    "small": ("smallint", pa.int16(), [1, 2, None, -32768, 5, 6, 7, 8]),
    "huge": ("numeric(30,0)", pa.decimal128(30, 0), [decimal.Decimal(10) ** 25, None, *[decimal.Decimal(3)] * 6]),
    "odd \"name\" %s": ("varchar(9)", pa.string(), ["x", "y", None, "x", "x", "x", "x", "😀"]),
}  # fmt: skip
MADE_ROWS = list(zip(*(values for _, _, values in MADE.values()), strict=True))


@pytest.mark.parametrize("missing", POLICIES[:2])
def test_every_type_gives_the_same_bits(base: str, missing: Missing) -> None:
    """Unicode, nulls, empty texts, decimals, dates, moments with and without zone, booleans and floats."""
    database = put(base, "made", {n: kind for n, (kind, _, _) in MADE.items()}, MADE_ROWS)
    table = pa.table({name: pa.array(values, kind) for name, (_, kind, values) in MADE.items()})
    names = list(MADE)
    schema = Schema(tuple(names[:8]), sensitive=tuple(names[8:10]), target=tuple(names[10:12]), person=names[12])
    doors = [table, duckdb.connect().from_arrow(table), table.to_pandas(types_mapper=pd.ArrowDtype)]
    if missing == "drop":  # in no row do all columns have a value
        schema = Schema(("word", "price", "small"), sensitive=("short",))
    wanted = [bits(read(door, schema, missing)) for door in doors]
    assert wanted[0] == wanted[1] == wanted[2]
    assert bits(read(database, schema, missing)) == wanted[0]


def test_settings_of_the_server_change_nothing(server: Server, base: str) -> None:
    """A database set up for another country gives the same texts."""
    columns = {"z": "timestamptz", "d": "date", "f": "float8"}
    rows = [[dt.datetime(2024, 1, 31, 3, tzinfo=ZONE), dt.date(2024, 1, 31), 0.1 + 0.2]]
    with server.database() as url:
        before = fingerprint(put(url, "there", columns, rows))
        name = url.partition("@/")[2].partition("?")[0]
        for setting in ("TimeZone = 'Asia/Kolkata'", "DateStyle = 'German, DMY'", "extra_float_digits = -5"):
            server.ask(url, f"ALTER DATABASE {name} SET {setting}")
        assert server.ask(url, "SELECT d::text FROM there") == [("31.01.2024",)]
        assert fingerprint(Postgres(url, "there")) == before


def test_enums_domains_uuids_and_views(base: str, server: Server) -> None:
    """Types made of others, views, partitions, and a table in another schema."""
    server.ask(base, "CREATE TYPE mood AS ENUM ('sad', 'ok')")
    server.ask(base, "CREATE DOMAIN age AS integer CHECK (VALUE >= 0)")
    server.ask(base, "CREATE DOMAIN old AS age")
    server.ask(base, 'CREATE SCHEMA "Other.One"')
    server.ask(base, 'CREATE TABLE "Other.One".people (m mood, o old, u uuid, n numeric) PARTITION BY LIST (m)')
    server.ask(base, 'CREATE TABLE "Other.One".part PARTITION OF "Other.One".people DEFAULT')
    key = uuid.UUID(int=5)
    server.ask(
        base, 'INSERT INTO "Other.One".people VALUES (%s, 7, %s, 1.10), (NULL, NULL, NULL, %s)', ["ok", key, "NaN"]
    )
    server.ask(base, 'CREATE VIEW seen AS SELECT m, o, u, n FROM "Other.One".people')
    schema = Schema(("m", "o", "u", "n"))
    wanted = bits(read(pd.DataFrame({"m": ["ok", None], "o": ["7", None], "u": [str(key), None], "n": [1.1, None]}), schema, "category"))  # fmt: skip
    for name in ('"Other.One".people', "seen", "public.seen"):
        assert bits(read(Postgres(base, name), schema, "category")) == wanted


def test_letters_that_a_database_takes_for_one(server: Server, base: str) -> None:
    """Values that differ in one byte are two values, whatever the database thinks of them."""
    server.ask(base, "CREATE EXTENSION IF NOT EXISTS citext")
    server.ask(base, "CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level1', deterministic = false)")
    server.ask(base, "CREATE TABLE blurred (a citext, b text COLLATE blind)")
    server.ask(base, "INSERT INTO blurred VALUES ('X', 'é'), ('x', 'E')")
    assert server.ask(base, "SELECT count(DISTINCT a), count(DISTINCT b) FROM blurred") == [(1, 1)]
    table = pa.table({"a": ["X", "x"], "b": ["é", "E"]})
    assert bits(read(Postgres(base, "blurred"), Schema(("a", "b")))) == bits(read(table, Schema(("a", "b"))))
    assert unique_rows(Postgres(base, "blurred")) == unique_rows(table)


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_other_encodings(server: Server, encoding: str) -> None:
    """A database in another encoding gives the same texts; one that knows none, what it was given."""
    with server.database(encoding) as url:
        database = put(url, "people", {"a": "text"}, [["Müller"], ["Muller"]])
        wanted = pa.table({"a": ["Müller", "Muller"]})
        assert bits(read(database, Schema(("a",)))) == bits(read(wanted, Schema(("a",))))
        if encoding == "SQL_ASCII":
            server.ask(url, r"INSERT INTO people VALUES (E'M\xfcller')")
            with pytest.raises(BadTable, match="holds text that is not Unicode"):
                read(database, Schema(("a",)))


def test_adult_through_the_database(base: str) -> None:
    """The 30,162 complete rows of Adult give the same Table from PostgreSQL."""
    rows = adult("train")
    names = rows.column_names
    kinds = {name: "text" if pa.types.is_string(rows.schema.field(name).type) else "integer" for name in names}
    database = put(base, "adult", kinds, list(zip(*(column.to_pylist() for column in rows.columns), strict=True)))
    schema = Schema(("age", "workclass", "education", "sex", "native-country"), sensitive=("occupation",))
    assert bits(read(database, schema)) == bits(read(rows, schema))
    assert front_bits(read(database, schema)) == front_bits(read(rows, schema))
    assert fingerprint(database) == fingerprint(rows)


def test_the_made_table_has_the_same_front(base: str) -> None:
    """Unicode, gaps, decimals and dates: one front, out of the database and out of memory."""
    database = put(base, "made", {n: kind for n, (kind, _, _) in MADE.items()}, MADE_ROWS)
    table = pa.table({name: pa.array(values, kind) for name, (_, kind, values) in MADE.items()})
    schema = Schema(("word", "price", "day", "flag"))
    assert front_bits(read(database, schema, "category")) == front_bits(read(table, schema, "category"))


def test_unique_rows_and_profiles(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows alone with their values are counted in the database; a profile finds what it finds in a frame."""
    database = put(base, "made", {n: kind for n, (kind, _, _) in MADE.items()}, MADE_ROWS)
    table = pa.table({name: pa.array(values, kind) for name, (_, kind, values) in MADE.items()})
    for names in (["single"], ["double"], ["word", "flag"], ["price", "day"], list(MADE)):
        assert unique_rows(database, names) == unique_rows(table, names)
    few = ["word", "price", "flag", "day", "small"]
    put(base, "few", {name: MADE[name][0] for name in few} | {"raw": "bytea"}, [(*(r[list(MADE).index(n)] for n in few), b"x") for r in MADE_ROWS])  # fmt: skip
    told = [each.to_dict() for each in inspect(Postgres(base, "few")).columns]
    assert [each["kind"] for each in told[:5]] == [
        each.to_dict()["kind"] for each in inspect(table.select(few)).columns
    ]
    monkeypatch.setattr("kpareto.engines.postgres.read.MOST_CELLS", 40)
    with pytest.raises(BadTable, match=r"'few' has 8 rows, too many to look at here\. Make a view of a sample"):
        inspect(Postgres(base, "few"))
    assert told[5]["role"] == "identifier"  # what nobody can read is not released


def test_distinct_rows_are_counted_before_they_are_fetched(server: Server, base: str) -> None:
    """The count is known first, whether or not the database may keep the rows, and nothing stays behind."""
    put(base, "few", {"a": "int", "b": "text"}, [[1, "x"], [1, "x"], [2, None], [2, ""]])
    for suffix in ("", "&options=-c%20default_transaction_read_only%3Don"):
        with open_source(Postgres(base + suffix, "few")) as rows:
            both = rows.distinct(["a", "b"])
            assert both.distinct == 3
            assert bool(cast(PostgresSource, rows).kept) == (not suffix)
            one = rows.distinct(["a"])
            assert one.distinct == 2
            assert sorted(one.fetch().weights.tolist()) == [2, 2]
            assert sorted(both.fetch().weights.tolist()) == [1, 1, 2]
            both.give(rows.engine())
            held = rows.engine().connection.execute(f"SELECT v0, v1, weight FROM {HELD} ORDER BY weight DESC, v1")
            assert held.fetchall() == [("1", "x", 2), ("2", "", 1), ("2", None, 1)]
        assert server.ask(base, "SELECT count(*) FROM pg_class WHERE relname LIKE 'kpareto%'") == [(0,)]


def test_long_answers_come_in_pieces(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces end between rows, wherever line ends stand inside values."""
    monkeypatch.setattr("kpareto.engines.postgres.connect.PIECE", 40)
    values = [f'a\n{n}\r\n"b' for n in range(50)]
    database = put(base, "long", {"a": "text"}, [[value] for value in values])
    assert bits(read(database, Schema(("a",)))) == bits(read(pa.table({"a": values}), Schema(("a",))))
    with open_source(database) as rows:
        own = cast(PostgresSource, rows)
        assert len(list(pieces(own.link, own._query(["a"]), 2))) > 10


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        ("bytea", "'x'", "bytea"),
        ("json", "'{}'", "json"),
        ("integer[]", "'{1}'", r"integer\[\]"),
        ("interval", "'1 day'", "interval"),
        ("int4range", "'[1,2)'", "int4range"),
        ("point", "'(1,2)'", "point"),
        ("money", "1", "money"),
        ("pair", "ROW(1, 2)::pair", "pair"),
    ],
)
def test_types_without_text(base: str, server: Server, kind: str, value: str, shown: str) -> None:
    """A column whose values cannot be generalized is named with its type, unless nobody asks for it."""
    server.ask(base, "DROP TABLE IF EXISTS typed; DROP TYPE IF EXISTS pair; CREATE TYPE pair AS (a int, b int)")
    server.ask(base, f"CREATE TABLE typed AS SELECT 1 AS a, {value}::{kind} AS bad")
    with pytest.raises(BadTable, match=f"Column 'bad' holds values of type {shown}, which cannot be generalized"):
        read(Postgres(base, "typed"), Schema(("a", "bad")))
    assert read(Postgres(base, "typed"), Schema(("a",))).rows == 1


@pytest.mark.parametrize(("kind", "value"), [("date", "infinity"), ("timestamp", "-infinity"), ("date", "0044-03-15 BC"), ("timestamptz", "12345-01-01 00:00:00+00")])  # fmt: skip
def test_days_that_are_none(base: str, server: Server, kind: str, value: str) -> None:
    """Dates beyond the calendar of other programs are a sentence."""
    server.ask(base, "DROP TABLE IF EXISTS days")
    server.ask(base, f"CREATE TABLE days AS SELECT '{value}'::{kind} AS day")
    with pytest.raises(BadTable, match=f"Column 'day' holds '{value[:10]}.*', which is no day of the years 1 to 9999"):
        read(Postgres(base, "days"), Schema(("day",)))


def test_what_can_be_wrong(base: str, server: Server) -> None:
    """Each thing that a database can refuse is one sentence that says what to do, without the password."""
    put(base, "people", {"age": "int", "sex": "text"}, [[1, "f"]])
    server.ask(base, "CREATE SCHEMA closed; CREATE TABLE closed.people (age int); CREATE SEQUENCE numbers")
    careful = base.replace("postgres@", f"careful:{PASSWORD}@", 1)
    wrong = base.replace("postgres@", "careful:wrong@", 1)
    schema = Schema(("age",))
    for database, says in (
        (Postgres(base, "peple"), "has no table 'peple'. Did you mean 'people'"),
        (Postgres(base, "public.peple"), "Did you mean 'public.people'"),
        (Postgres(base, "People"), "Did you mean 'people'"),
        (Postgres(base, "numbers"), "is no table or view"),
        (Postgres(server.url("absent"), "people"), 'database "absent" does not exist'),
        (Postgres(server.url("template1"), "people"), "has no tables"),
        (Postgres(wrong, "people"), "does not let this user in"),
        (Postgres(base.replace("postgres@", "careful@", 1), "people"), "no password supplied"),
        (Postgres(careful, "people"), "The database does not allow it: permission denied for table people"),
        (Postgres(careful, "closed.people"), "permission denied for schema closed"),
        (Postgres("postgresql://me:secret@127.0.0.1:1/x", "people"), "No database answers at postgresql://me:***@"),
        (Postgres("postgresql://me:secret@127.0.0.1:1/x?bad=1", "people"), "cannot be understood"),
    ):
        with pytest.raises(BadInput) as told:
            read(database, schema)
        assert says in str(told.value)
        for secret in (PASSWORD, "wrong@", "secret"):
            assert secret not in str(told.value) + repr(told.value) + repr(database)
    with pytest.raises(kpareto.BadInput, match=r"'agee'.*Did you mean 'age'"):
        read(Postgres(base, "people"), Schema(("agee",)))


def test_odd_addresses_and_names() -> None:
    """What is no address or no name is refused before anybody is asked, and no password is shown."""
    for url, table, says in (
        ("mysql://me:secret@x/y", "people", "no address of a PostgreSQL database"),
        ("postgresql://me:sec@ret@x/y", "people", "%40"),
        ("postgresql://me:sec/ret@x/y", "people", "%2F"),
        ("postgresql://me:secret@x/y", "a.b.c", "is no name of a table"),
        ("postgresql://me:secret@x/y", "", "is no name of a table"),
        ("postgresql://me:secret@x/y", 'a"b', "is no name of a table"),
    ):
        with pytest.raises(BadTable) as told:
            Postgres(url, table)
        assert says in str(told.value)
        assert "sec" not in str(told.value)
    assert Postgres("postgres://x", 'a."b.""c"').path == ("a", 'b."c')
    assert hide_password("postgresql://x/y?password=a%20b&user=me") == "postgresql://x/y?password=***&user=me"
    assert bare("postgresql://x/y?password=a%20b&user=me") == "postgresql://x/y?user=me"
    assert bare("postgresql://me:secret@x/y?user=me&password=a") == "postgresql://me@x/y?user=me"
    assert bare("postgresql://me@x/y") == "postgresql://me@x/y"
    for source in ("postgresql://me:secret@x/y", "mysql://me:secret@x/y"):
        with pytest.raises(BadTable, match=r"me:\*\*\*@x/y"):
            read(source, Schema(("a",)))


def test_without_psycopg(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the driver is missing, the sentence says how to get it."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"pip install 'kpareto\[postgres\]'"):
        read(Postgres("postgresql://x", "people"), Schema(("a",)))


def test_jobs_name_tables(base: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A job with an address and a table searches as one with a file does."""
    rows = [[20 + n % 7, "fm"[n % 2]] for n in range(60)]
    put(base, "jobs", {"age": "int", "sex": "text"}, rows)
    told = f'[data]\nsource = "{base}"\n[columns.age]\nrole = "quasi-identifier"\n[columns.sex]\nrole = "quasi-identifier"\n'
    with pytest.raises(BadJob, match="no table is named"):
        parse_job(told, tmp_path).table()
    (tmp_path / "job.toml").write_text(told.replace("[columns.age]", 'table = "public.jobs"\n[columns.age]'))
    (tmp_path / "file.toml").write_text(told.replace(base, "people.csv"))
    (tmp_path / "people.csv").write_text("age,sex\n" + "".join(f"{age},{sex}\n" for age, sex in rows))
    answers = []
    for name in ("job.toml", "file.toml"):
        assert cli.main(["front", "-q", str(tmp_path / name)]) == 0
        answers.append(capsys.readouterr().out.partition(" counted in ")[0])
    assert answers[0] == answers[1]
    assert "points of 8 recodings" in answers[0]


def test_a_population_in_the_database(base: str, tmp_path: Path) -> None:
    """A job with its population in PostgreSQL is released, and counted, as with the same people in a file."""
    people = [[20 + n % 13, "fmx"[n % 3]] for n in range(400)]
    put(base, "everybody", {"age": "int", "sex": "text"}, people)
    for name, rows in (("everybody.csv", people), ("sample.csv", [row for row in people[::3] if row[1] != "x"])):
        (tmp_path / name).write_text("age,sex\n" + "".join(f"{age},{sex}\n" for age, sex in rows))
    told = """
[data]
source = "sample.csv"
[columns.age]
role = "quasi-identifier"
hierarchy = {intervals = [5, 10], from = 20}
[columns.sex]
role = "quasi-identifier"
[limits]
k-map = 10
[search]
objectives = ["k-map", "presence-max", "lm"]
[release]
choose = "k-map=10"
[population]
"""
    tables, values = [], []
    claims: list[list[dict[str, object]]] = []
    for source in (f'source = "{base}"\ntable = "public.everybody"\n', 'source = "everybody.csv"\n'):
        job = parse_job(told + source, tmp_path)
        table = job.table()
        assert table.population is not None
        assert table.population.table is not None
        tables.append((bits(table), bits(table.population.table)))
        front = search_job(job)
        values.append(front.numbers.values.tolist())
        done = release_job(job, front, tmp_path / f"out-{len(claims)}.csv")
        claims.append(done.certificate.confidential["claims"])
    assert tables[0] == tables[1]
    assert values[0] == values[1]
    assert claims[0] == claims[1]
    assert {claim["measure"] for claim in claims[0] if claim.get("needs") == "population"} == {"k-map"}
    place = Postgres(base, "public.everybody")
    checked = verify(tmp_path / "out-1.csv", done.files["certificate"], population=place)
    assert checked.numbers["k-map"] >= 10


def test_passwords_by_the_ways_of_libpq(
    base: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PGPASSWORD, a password file and a service file are enough."""
    put(base, "open", {"age": "int"}, [[1]])
    server.ask(base, "GRANT SELECT ON open TO careful")
    address = base.replace("postgres@", "careful@", 1)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert read(Postgres(address, "open"), Schema(("age",))).rows == 1
    monkeypatch.delenv("PGPASSWORD")
    secret = tmp_path / "pgpass"
    secret.write_text(f"*:*:*:careful:{PASSWORD}\n")
    secret.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(secret))
    assert read(Postgres(address, "open"), Schema(("age",))).rows == 1
    service = tmp_path / "services"
    name = base.partition("@/")[2].partition("?")[0]
    service.write_text(f"[mine]\nhost={server.folder}\ndbname={name}\nuser=careful\n")
    monkeypatch.setenv("PGSERVICEFILE", str(service))
    assert read(Postgres("postgresql://?service=mine", "open"), Schema(("age",))).rows == 1
