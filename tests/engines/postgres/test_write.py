"""Releases inside PostgreSQL: one transaction that leaves a verified table, or nothing at all."""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psycopg
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kpareto.engines import distinct
from kpareto.engines.postgres import read as postgres_read
from kpareto.engines.postgres import write as postgres_write
from kpareto.engines.postgres.connect import LOST, Postgres
from kpareto.engines.postgres.read import PostgresSource
from kpareto.engines.postgres.write import LARGE
from kpareto.engines.read import read
from kpareto.errors import BadInput, BadJob, BadTable, Unsafe
from kpareto.faces import cli
from kpareto.jobs.parse import load_job
from kpareto.releases.apply import apply
from kpareto.releases.choice import Choice, store
from kpareto.releases.recoded_rows import Handling, share_out
from kpareto.releases.release import Release, release, settle
from kpareto.tables.partition import Suppression
from kpareto.tables.recoding import node
from kpareto.tables.schema import Schema
from kpareto.verifier import verify
from tests.releases.test_release import LOOSE, cells
from tests.twins.postgres_server import PASSWORD, Server, put
from tests.twins.releases import as_rows, chosen, chosen_locally, people, people_columns, rows_of, uneven_people
from tests.twins.strategies import Case, cases, recodings, suppressions

pytestmark = pytest.mark.xdist_group("postgres")  # one server serves them all

PEOPLE = {"name": "text", "age": "integer", "sex": "text", "illness": "text", "note": "text"}


@pytest.fixture
def base(server: Server) -> Iterator[str]:
    """The address of a fresh database."""
    with server.database() as url:
        yield url


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows of an Arrow table."""
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def stored(url: str, times: int = 3) -> Postgres:
    """The people as a table."""
    return put(url, "people", PEOPLE, rows(people(times)))


def tables(server: Server, url: str) -> set[str]:
    """All tables of a database, temporary ones of every session too."""
    found = server.ask(url, "SELECT relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace "
                            "WHERE relkind = 'r' AND nspname !~ '^(pg_catalog|pg_toast|information_schema)'")  # fmt: skip
    return {name for (name,) in found}


def test_a_table_becomes_a_table(server: Server, base: str) -> None:
    """The same rows as a file would have, identifiers as tokens, types kept where nothing was recoded."""
    database = stored(base)
    choice = chosen(database)
    found = release(choice, database, "people_anon", handling=Handling(identifiers="token"))
    public = found.certificate.public
    assert public["engine"] == public["counted_by"]
    assert public["engine"].startswith("PostgreSQL 1")
    assert (public["release"]["format"], public["release"]["sha256"]) == ("table", None)
    assert found.path is None
    assert found.data is None
    written = server.ask(base, "SELECT name, age, sex, illness, note FROM people_anon")
    with tempfile.TemporaryDirectory() as name:
        release(chosen(people()), people(), Path(name) / "out.csv")
        wanted = [tuple(row.values()) for row in cells(Path(name) / "out.csv")]
    assert Counter(row[1:] for row in written) == Counter(wanted)
    tokens = [row[0] for row in written]
    assert len(set(tokens)) == 120
    assert {len(token) for token in tokens} == {32}
    assert verify(Postgres(base, "people_anon"), found.certificate) == found.verified
    assert tables(server, base) == {"people", "people_anon"}
    dropped = release(choice, database, 'public."odd name %s"')
    assert list(dropped.certificate.public["release"]["columns"]) == ["age", "sex", "illness", "note"]
    assert verify(Postgres(base, '"odd name %s"'), dropped.certificate).rows == 120


def test_a_local_recoding_is_joined_with_its_classes(server: Server, base: str) -> None:
    """Rows that are divided between classes are numbered in the database; the same rows come out as of DuckDB."""
    source = put(base, "people", PEOPLE, rows(uneven_people()))
    choice = chosen_locally(source)
    assert share_out(choice, choice.partition()).divided
    done = release(choice, source, "safe")
    assert done.verified.numbers["k"] >= 4
    assert verify(Postgres(base, "safe"), done.certificate).rows == uneven_people().num_rows
    expected = release(chosen_locally(uneven_people()), uneven_people())
    found = server.ask(base, "SELECT age, sex, illness, note FROM safe")
    assert Counter(map(tuple, found)) == Counter(rows(expected.data))


def test_types_stay_where_nothing_was_recoded(server: Server, base: str) -> None:
    """Columns without a role keep any type; numbers and days stay such; other sensitive values become texts."""
    server.ask(base, "CREATE TABLE people AS SELECT 20 + n % 4 AS age, 'F' AS sex, (n % 3)::numeric(9, 2) / 2 AS illness, 'x' AS name, "
                     "'{\"a\": 1}'::json AS note, point(1, n % 5) AS spot, NULL::interval AS wait FROM generate_series(1, 60) n")  # fmt: skip
    database = Postgres(base, "people")
    found = release(chosen(database, (0, 0)), database, "people_anon")
    kinds = server.ask(base, "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
                             "WHERE attrelid = 'people_anon'::regclass AND attnum > 0 ORDER BY attnum")  # fmt: skip
    assert kinds == [("age", "integer"), ("sex", "text"), ("illness", "numeric"), ("note", "json"), ("spot", "point"), ("wait", "interval")]  # fmt: skip
    assert found.verified.numbers["l(column=illness)"] == 3
    assert release(chosen(database, (0, 0)), database).data.num_rows == 60


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(case=cases(most_columns=2), data=st.data())
def test_any_release_verifies(server: Server, case: Case, data: st.DataObject) -> None:
    """Any recoding of any table, with any suppression, has the classes and numbers that a file has."""
    choice = Choice(case.table, data.draw(recodings(case.table)), data.draw(suppressions()), LOOSE)
    table = rows_of(case)
    url = server.url()
    large = data.draw(st.sampled_from([0, LARGE]))  # either way of looking values up, and either order
    database = put(url, "case", dict.fromkeys(table.column_names, "text"), rows(table))
    server.ask(url, "DROP TABLE IF EXISTS out")
    target = data.draw(st.sampled_from(["out", "out.csv", None]))
    with tempfile.TemporaryDirectory() as name, patch.object(postgres_read, "LARGE", large):
        place = str(Path(name) / "out.csv") if target == "out.csv" else target
        try:
            settle(choice)
        except Unsafe:
            with pytest.raises(Unsafe):
                release(choice, database, place)
            assert server.ask(url, "SELECT to_regclass('out')") == [(None,)]
            return
        found, wanted = release(choice, database, place), release(choice, table)
        assert found.verified == replace(wanted.verified, unchecked=found.verified.unchecked)
        if target == "out.csv":
            written = as_rows(Path(name) / "out.csv").num_rows
            again = verify(Path(name) / "out.csv", found.certificate)
            assert again.files == ("out.csv",)
            assert again.numbers.items() <= found.verified.numbers.items()
        elif target is None:
            written = found.data.num_rows
            assert Counter(rows(found.data)) == Counter(rows(wanted.data))
        else:
            written = int(server.ask(url, "SELECT count(*) FROM out")[0][0])
            assert Counter(server.ask(url, "SELECT * FROM out")) == Counter(rows(wanted.data))
            assert verify(Postgres(url, "out"), {"public": found.certificate.public}).rows == written
    assert written == found.rows


@pytest.mark.parametrize("large", [0, LARGE])
def test_order_depends_on_cells_and_seed_alone(
    server: Server, base: str, tmp_path: Path, large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows stored in another order give the same file, and another seed another one.

    Few rows come in the order that every other program gives them; many in that of the database's own hash.
    """
    monkeypatch.setattr(postgres_read, "LARGE", large)
    database = stored(base)
    server.ask(base, "CREATE TABLE turned AS SELECT * FROM people ORDER BY md5(name)")
    choice = chosen(database)
    texts = []
    for table, seed in (("people", 0), ("turned", 0), ("people", 1)):
        release(choice, Postgres(base, table), tmp_path / "out.csv", handling=Handling(seed=seed))
        texts.append((tmp_path / "out.csv").read_text())
    assert texts[0] == texts[1] != texts[2]
    release(chosen(people()), people(), tmp_path / "out.csv")
    assert ((tmp_path / "out.csv").read_text() == texts[0]) is (large == LARGE)
    for text in ((tmp_path / "out.csv").read_text(), texts[2]):
        assert Counter(text.splitlines()) == Counter(texts[0].splitlines())


@pytest.mark.parametrize("large", [0, LARGE])
def test_masked_rows_nulls_and_missing_values(
    server: Server, base: str, large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NULL finds its partner in a join by hashing; masked rows are stars; missing ones go or are a value."""
    monkeypatch.setattr(postgres_read, "LARGE", large)
    table = people()
    ages = [None if place % 10 == 0 else age for place, age in enumerate(table["age"].to_pylist())]
    table = table.set_column(1, "age", pa.array(ages, pa.int64()))
    database = put(base, "people", PEOPLE, rows(table))
    wanted = release(chosen(table), table)
    found = release(chosen(database), database, "dropped")
    assert found.verified == wanted.verified
    assert found.rows == 108
    lone = pa.concat_tables([people(), people(1).slice(0, 30)])
    few = put(base, "few", PEOPLE, rows(lone))
    limited = Suppression("below-k", 0.9, 4, "mask")
    wanted = release(replace(chosen(lone, (0, 0), {"k": 4}), suppression=limited), lone)
    assert (wanted.suppressed, wanted.rows) == (30, 150)
    found = release(replace(chosen(few, (0, 0), {"k": 4}), suppression=limited), few, "masked")
    assert found.verified == wanted.verified
    assert Counter(server.ask(base, "SELECT * FROM masked")) == Counter(rows(wanted.data))


ODD = ("a", "b", 'c "d" e', "back\\slash", "O'Neil", "{x,y}", "NULL", "", "Größe", "line\nbreak", "a\x1fb", "b\x1fa")


def test_rows_are_looked_up_whatever_they_hold(server: Server, base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Quotes, braces, empty texts and no value find their labels; no value stands in a statement that may be logged."""
    monkeypatch.setattr(postgres_read, "LARGE", 0)
    cells = [[first, second, first] for first in (*ODD, None) for second in ODD for _ in range(2)]
    database = put(base, "odd", dict.fromkeys(("one", "two", "three"), "text"), cells)
    table = pa.table({name: [row[at] for row in cells] for at, name in enumerate(("one", "two", "three"))})
    schema = Schema(quasi=("one", "two"), sensitive=("three",))

    def choose(source: object) -> Choice:
        read_rows = read(source, schema, "category", missing_values=())
        return Choice(read_rows, node(read_rows.hierarchies, (0, 1)), Suppression("none"), {"k": 2})

    asked: list[str] = []
    honest = postgres_write.fill_table

    def listen(link: psycopg.Connection[Any], query: str, target: Postgres) -> None:
        asked.append(query)
        honest(link, query, target)

    monkeypatch.setattr(postgres_write, "fill_table", listen)
    how = Handling(missing_values=())
    wanted = release(choose(table), table, handling=how)
    assert release(choose(database), database, "out", handling=how).verified == wanted.verified
    assert Counter(server.ask(base, "SELECT * FROM out")) == Counter(rows(wanted.data))
    assert "JOIN d ON" in asked[0]
    assert "Neil" not in asked[0]


@pytest.mark.parametrize(
    ("target", "error", "says"),
    [
        ("people", BadInput, "would overwrite its own input"),
        ("public.people", BadInput, "would overwrite its own input"),
        ("taken", BadInput, "has a table 'taken' already"),
        ("absent.people", BadInput, 'schema "absent" does not exist'),
        ("x" * 64, BadInput, "longer than the 63 bytes"),
        ("a.b.c", BadTable, "is no name of a table"),
        ("out.parquet", BadJob, "into a table or a .csv file"),
        ("parts/", BadJob, "into a table or a .csv file"),
        ("absent/out.csv", BadInput, "there is no folder"),
    ],
)
def test_targets_that_cannot_be(server: Server, base: str, target: str, error: type[Exception], says: str) -> None:
    """A target that is there already, is the source or cannot be made is a sentence, and nothing is left."""
    server.ask(base, "CREATE TABLE taken (a int)")
    database = stored(base)
    with pytest.raises(error, match=says):
        release(chosen(database), database, target)
    assert tables(server, base) == {"people", "taken"}


def test_targets_named_like_our_small_tables(server: Server, base: str) -> None:
    """The temporary tables of the release are called m1 and x; so may the source and the target be."""
    server.ask(base, "CREATE TABLE m1 AS SELECT 1 AS a")
    database = stored(base)
    server.ask(base, "ALTER TABLE m1 RENAME TO m2; ALTER TABLE people RENAME TO m1")
    choice = chosen(Postgres(base, "m1"))
    assert release(choice, Postgres(base, "m1"), "x").rows == 120
    assert server.ask(base, "SELECT count(*) FROM x") == [(120,)]
    assert database.table == '"people"'


def test_unsafe_rows_leave_nothing(server: Server, base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table as the database wrote it is counted; one row too few in a class, and it never was."""
    database = stored(base)
    choice = chosen(database, limits={"k": 15})
    real = postgres_write.fill_table

    def careless(link: psycopg.Connection[Any], query: str, target: Postgres) -> None:
        real(link, query, target)
        other = "CASE WHEN age = '20-29' THEN '30-39' ELSE '20-29' END"
        link.execute(f"UPDATE {target.table} SET age = {other} WHERE ctid = '(0,1)'")

    monkeypatch.setattr(postgres_write, "fill_table", careless)
    with pytest.raises(Unsafe, match="k = 14"):
        release(choice, database, "people_anon")
    assert tables(server, base) == {"people"}


def test_a_changed_table_no_longer_verifies(server: Server, base: str) -> None:
    """Somebody who changes a released table is found out by the next count."""
    database = stored(base)
    found = release(chosen(database), database, "people_anon")
    server.ask(base, "DELETE FROM people_anon WHERE ctid = '(0,1)'")
    with pytest.raises(Unsafe, match="119 rows, and the certificate says 120"):
        verify(Postgres(base, "people_anon"), found.certificate)
    server.ask(base, "ALTER TABLE people_anon RENAME COLUMN note TO remark")
    with pytest.raises(Unsafe, match="has the columns"):
        verify(Postgres(base, "people_anon"), found.certificate)
    with pytest.raises(BadTable, match="Did you mean 'people_anon'"):
        verify(Postgres(base, "people_anom"), found.certificate)


def test_a_table_that_changed_since_it_was_read(server: Server, base: str) -> None:
    """Rows that came after the table was read are noticed, and nothing is left."""
    database = stored(base)
    choice = chosen(database)
    server.ask(base, "UPDATE people SET age = 77 WHERE name = 'n0-20-F'")
    with pytest.raises(BadTable, match="119 rows to release where the chosen table gives 120"):
        release(choice, database, "people_anon")
    server.ask(base, "DELETE FROM people WHERE age = 77")
    with pytest.raises(BadTable, match="The source has 119 rows"):
        release(choice, database, "people_anon")
    assert tables(server, base) == {"people"}


def test_rights(server: Server, base: str) -> None:
    """Who may not make tables is told so; who may not even make temporary ones, too; reading alone needs neither."""
    database = stored(base)
    choice = chosen(database)
    careful = Postgres(base.replace("postgres@", f"careful:{PASSWORD}@", 1), "people")
    name = base.partition("@/")[2].partition("?")[0]
    server.ask(
        base,
        f"GRANT SELECT ON people TO careful; REVOKE CREATE ON SCHEMA public FROM PUBLIC; GRANT ALL ON DATABASE {name} TO careful",
    )
    with pytest.raises(BadInput, match="permission denied for schema public") as told:
        release(choice, careful, "people_anon")
    server.ask(base, f"REVOKE ALL ON DATABASE {name} FROM careful, PUBLIC; GRANT CONNECT ON DATABASE {name} TO careful")
    with pytest.raises(BadInput, match="permission denied to create temporary tables") as again:
        release(choice, careful, "people_anon")
    assert chosen(careful).table.rows == 120
    assert PASSWORD not in f"{told.value}{again.value}"
    assert tables(server, base) == {"people"}
    server.ask(base, "REVOKE SELECT ON people FROM careful")


def slowed(server: Server, base: str) -> Postgres:
    """The people as a view that takes a minute to write out, so that there is a middle to be cut off in."""
    stored(base)
    lag = "SELECT length(v) FROM pg_sleep(CASE WHEN current_query() LIKE 'CREATE TABLE%' THEN 0.5 ELSE 0 END)"
    server.ask(base, f"CREATE FUNCTION public.lag(v text) RETURNS int LANGUAGE sql VOLATILE AS $${lag}$$")
    server.ask(base, "CREATE VIEW slow AS SELECT name, age, sex, illness, lag(note) AS note FROM people")
    return Postgres(base, "slow")


def during(server: Server, base: str, busy: Callable[[], bool]) -> int:
    """Wait until some session makes a table; the number of its process. ``busy`` tells whether it may still come."""
    query = "SELECT pid FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'CREATE TABLE%'"
    while not (found := server.ask(base, query)):
        assert busy(), "the release ended before anybody saw it"
        time.sleep(0.02)
    return int(found[0][0])


def test_a_cut_connection_leaves_nothing(server: Server, base: str) -> None:
    """The session ended by somebody else in the middle of the release: one sentence, no table."""
    database = slowed(server, base)
    choice = chosen(Postgres(base, "people"))
    with ThreadPoolExecutor(1) as other:
        done = other.submit(release, choice, database, "people_anon")
        server.ask(base, "SELECT pg_terminate_backend(%s)", [during(server, base, lambda: not done.done())])
        with pytest.raises(BadInput) as told:
            done.result()
    assert str(told.value) == LOST
    assert tables(server, base) == {"people"}
    assert release(choice, Postgres(base, "people"), "people_anon").rows == 120


def test_a_connection_cut_at_the_last_moment(server: Server, base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lost before the commit, nothing was written; lost in the commit, nobody knows, and the sentence says so."""
    database = stored(base)
    module = sys.modules["kpareto.releases.release"]
    fill, check = postgres_write.fill_table, module.check
    pids: list[int] = []

    def remembered(link: psycopg.Connection[Any], query: str, target: Postgres) -> None:
        pids.append(link.info.backend_pid)
        fill(link, query, target)

    def cut(*counted: Any) -> Any:
        server.ask(base, "SELECT pg_terminate_backend(%s)", pids)
        return check(*counted)

    choice, commit = chosen(database), psycopg.Connection.commit
    with monkeypatch.context() as patch:
        patch.setattr(postgres_write, "fill_table", remembered)
        patch.setattr(module, "check", cut)
        with pytest.raises(BadInput) as told:
            release(choice, database, "people_anon")
    assert str(told.value) == LOST
    assert tables(server, base) == {"people"}

    def cut_after(link: psycopg.Connection[Any]) -> None:
        commit(link)
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    with monkeypatch.context() as patch:
        patch.setattr(psycopg.Connection, "commit", cut_after)
        patch.setattr(module, "_digest", lambda *_: "")  # which has a transaction of its own
        with pytest.raises(BadInput, match="look whether it is there: if so it is whole"):
            release(choice, database, "people_anon")
    assert tables(server, base) == {"people", "people_anon"}


def test_stored_recodings_are_applied_to_tables(server: Server, base: str, tmp_path: Path) -> None:
    """New rows in the database are recoded as the old ones were, into a table of their own."""
    database = stored(base)
    choice = chosen(database)
    first = release(choice, database, "people_anon")
    store(choice, {"k": 5}, first.origin).write(tmp_path / "recoding.json")
    server.ask(base, "CREATE TABLE later AS SELECT * FROM people WHERE age < 50")
    found = apply(tmp_path / "recoding.json", Postgres(base, "later"), "later_anon")
    assert found.release.rows == 90
    assert server.ask(base, "SELECT DISTINCT age FROM later_anon ORDER BY 1") == [("20-29",), ("30-39",), ("40-49",)]


CHILD = """
import sys
from kpareto.faces import cli
sys.exit(cli.main(sys.argv[1:]))
"""
JOB = """
[data]
source = "{url}"
table = "{table}"
{columns}[limits]
k = 5
[release]
choose = "k=5"
target = "public.people_anon"
"""


def job(folder: Path, url: str, table: str = "people") -> Path:
    """A job that releases the people into a table."""
    place = folder / "job.toml"
    place.write_text(JOB.format(url=url, table=table, columns=people_columns(10)))
    return place


@contextmanager
def releasing(folder: Path, base: str) -> Iterator[subprocess.Popen[str]]:
    """The command that releases the slow view, in a process of its own."""
    command = [sys.executable, "-c", CHILD, "release", "-q", str(job(folder, base, "slow"))]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            child.kill()  # does nothing where it has ended


def test_from_job_to_verified_table(
    server: Server, base: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commands release and verify do all of it, and nothing they print or write has the password."""
    stored(base)
    server.ask(base, "GRANT ALL ON SCHEMA public TO careful; GRANT SELECT ON people TO careful")
    url = base.replace("postgres@", f"careful:{PASSWORD}@", 1)
    place = job(tmp_path, url)
    assert cli.main(["release", str(place), "--json", str(tmp_path / "out.json")]) == 0
    said = capsys.readouterr()
    assert "Released 120 rows in" in said.out
    assert "to public.people_anon; verified: k = " in said.out
    paper = tmp_path / "public.people_anon.certificate.json"
    assert json.loads(paper.read_text())["public"]["counted_by"].startswith("PostgreSQL")
    assert json.loads((tmp_path / "out.json").read_text())["files"]["release"] == "public.people_anon"
    assert cli.main(["verify", url, str(paper), "--table", "people_anon"]) == 0
    again = capsys.readouterr()
    assert again.out.startswith("people_anon holds what its certificate claims: 120 rows in")
    assert cli.main(["release", "-q", str(place)]) == 2
    twice = capsys.readouterr()
    assert "has a table 'public.people_anon' already" in twice.err
    assert cli.main(["release", "-q", str(place), "--target", "other"]) == 0
    assert cli.main(["release", "-q", str(place), "--target", str(tmp_path / "out.csv")]) == 0
    assert cli.main(["verify", str(tmp_path / "out.csv"), str(tmp_path / "out.certificate.json")]) == 0
    assert cli.main(["verify", url, str(paper)]) == 2
    assert cli.main(["verify", str(tmp_path / "out.csv"), str(paper), "--table", "x"]) == 2
    rest = capsys.readouterr()
    assert "Say which one with --table NAME" in rest.err
    assert "There is a table 'x' in databases alone" in rest.err
    files = [file.read_text() for file in tmp_path.iterdir() if file != place]
    for text in (said, again, twice, rest, *files):
        assert PASSWORD not in str(text)
    assert tables(server, base) == {"people", "people_anon", "other"}
    server.ask(base, "DROP OWNED BY careful")


def test_from_a_table_to_a_job_and_to_new_rows(
    server: Server, base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Inspect writes a job that runs, without the password; apply recodes another table of the database."""
    stored(base)
    monkeypatch.chdir(tmp_path)
    url = base.replace("postgres@", f"postgres:{PASSWORD}@", 1)
    assert cli.main(["inspect", url, "--table", "people", "-o", "job.toml", "-q"]) == 0
    written = load_job("job.toml")
    assert (written.source, written.table_name, written.target) == (base, "people", "people_anon")
    assert cli.main(["release", "job.toml", "-q"]) == 0
    server.ask(base, "CREATE TABLE later AS SELECT * FROM people ORDER BY name LIMIT 60")
    recoding = "people_anon.recoding.json"
    assert cli.main(["apply", recoding, url, "--table", "later", "--target", "later_anon", "-q"]) == 0
    assert "to later_anon; k = " in capsys.readouterr().out
    assert verify(Postgres(base, "later_anon"), tmp_path / "later_anon.certificate.json").rows <= 60
    assert cli.main(["apply", recoding, url, "--table", "later", "-q"]) == 0
    assert verify(tmp_path / "later-recoded.csv", tmp_path / "later-recoded.certificate.json").rows <= 60
    assert tables(server, base) == {"people", "people_anon", "later", "later_anon"}
    capsys.readouterr()
    for command in (["inspect", url], ["front", url], ["apply", recoding, url], ["verify", url, "x"], ["report", url]):
        assert cli.main(command) == 2
        assert "--table NAME" in (said := capsys.readouterr().err)
        assert PASSWORD not in said
    for file in tmp_path.iterdir():
        assert PASSWORD not in file.read_text()


def test_ctrl_c_cancels_the_query_and_leaves_nothing(server: Server, base: str, tmp_path: Path) -> None:
    """Status 130, the query is no longer running on the server, and no table is there."""
    slowed(server, base)
    with releasing(tmp_path, base) as child:
        busy = during(server, base, lambda: child.poll() is None)
        os.kill(child.pid, signal.SIGINT)
        _, told = child.communicate(timeout=240)
    assert child.returncode == 130, told
    assert "Traceback" not in told
    left = server.ask(base, "SELECT count(*) FROM pg_stat_activity WHERE pid = %s AND state = 'active'", [busy])
    assert left == [(0,)]
    assert tables(server, base) == {"people"}
    assert {file.name for file in tmp_path.iterdir()} == {"job.toml", "job.front.json"}  # the front is kept


def test_ctrl_c_while_rows_are_read(server: Server, base: str, tmp_path: Path) -> None:
    """Status 130 and one sentence while the database counts for us, and it stops counting."""
    stored(base)
    server.ask(base, "CREATE VIEW slow AS SELECT people.* FROM people, pg_sleep(600)")
    asleep = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    with releasing(tmp_path, base) as child:
        while not server.ask(base, asleep):
            assert child.poll() is None, "the command ended before anybody saw it"
            time.sleep(0.05)
        os.kill(child.pid, signal.SIGINT)
        _, told = child.communicate(timeout=240)
    assert (child.returncode, told.count("\n")) == (130, 1), told
    assert server.ask(base, asleep) == []
    assert [file.name for file in tmp_path.iterdir()] == ["job.toml"]


def test_a_killed_server_leaves_nothing(tmp_path: Path) -> None:
    """Power cut in the middle of the release: one sentence, and no table when the server is back."""
    from tests.twins.postgres_server import running

    with running() as server:
        base = server.url()
        slowed(server, base)
        server.ask(base, "CHECKPOINT")  # fsync is off: what is not written may be gone after a kill
        with releasing(tmp_path, base) as child:
            during(server, base, lambda: child.poll() is None)
            server.kill()
            _, told = child.communicate(timeout=240)
        assert (child.returncode, told) == (2, LOST + "\n")
        server.start()
        assert tables(server, base) == {"people"}
        assert {file.name for file in tmp_path.iterdir()} == {"job.toml", "job.front.json"}  # the front is kept
        done: Release = release(chosen(Postgres(base, "people")), Postgres(base, "people"), "people_anon")
        assert done.rows == 120


def test_joins_are_by_hashing(server: Server, base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row looks its values up in small hashed tables; anything else would never end on a large table."""
    database = stored(base)
    plans: list[str] = []
    real = postgres_write.fill_table

    def explained(link: psycopg.Connection[Any], query: str, target: Postgres) -> None:
        found = link.execute(f"EXPLAIN {query}").fetchall()
        plans.append("\n".join(line for (line,) in found))
        real(link, query, target)

    monkeypatch.setattr(postgres_write, "fill_table", explained)
    choice = chosen(database)
    lost = Suppression("as-needed", 0.5, fails=(lambda found: found.groups[:, 0] == 0,))
    release(choice, database, "people_anon")
    release(replace(choice, suppression=lost), database, "people_fewer")
    for plan, joins in zip(plans, (3, 4), strict=True):
        assert len(re.findall(r"Hash (?:\w+ )?Join", plan)) == joins
        assert "Nested Loop" not in plan
        assert "Merge" not in plan
    assert re.search("Hash (Right )?Anti Join", plans[1])
    monkeypatch.setattr(postgres_read, "LARGE", 0)
    release(replace(choice, suppression=lost), database, "people_at_once")
    assert len(re.findall(r"Hash (?:\w+ )?Join", plans[2])) == 2  # all quasi-identifiers at once, and the illness
    assert Counter(server.ask(base, "SELECT * FROM people_at_once")) == Counter(
        server.ask(base, "SELECT * FROM people_fewer")
    )


def test_time_passes_while_a_table_is_written(server: Server, base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database does not say how far it is, so the one who waits is told that it is at work: 0 of 0."""
    database, real = stored(base), postgres_write.fill_table

    def slowly(link: psycopg.Connection[Any], query: str, target: Postgres) -> None:
        link.execute("SELECT pg_sleep(0.2)")
        real(link, query, target)

    monkeypatch.setattr(postgres_write, "fill_table", slowly)
    monkeypatch.setattr(distinct, "TICK", 0.01)
    told: list[tuple[int, int]] = []
    release(chosen(database), database, "people_anon", progress=lambda *each: told.append(each))
    assert told
    assert set(told) == {(0, 0)}


def test_a_value_for_no_value_is_never_one_of_the_values() -> None:
    """What stands for NULL in the joins is drawn anew for every release."""
    made = [PostgresSource(*[None] * 5).nothing for _ in range(2)]  # type: ignore[arg-type]
    assert made[0] != made[1]
    assert min(map(len, made)) > 32


PAGE = Path(__file__).parents[3] / "docs" / "postgresql.md"
ADDRESS = "postgresql://steward@db.example/clinic"


def test_the_page_is_true(
    server: Server, base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every example of docs/postgresql.md prints what the page says, and so do its commands with its job."""
    stored(base)
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    assert text.count(ADDRESS) == 5
    text = text.replace(ADDRESS, base)
    examples = doctest.DocTestParser().get_doctest(text, {}, "postgresql.md", str(PAGE), 0)
    assert len(examples.examples) > 8
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples).failed == 0
    Path("job.toml").write_text(re.findall(r"```toml\n(.*?)```", text, re.DOTALL)[0])
    capsys.readouterr()
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for command, wanted in re.findall(r"^\$ kpareto (.*)\n((?:[^$].*\n)*)", block, re.MULTILINE):
            assert cli.main(shlex.split(command)) == 0
            assert capsys.readouterr().out.startswith(wanted.partition("...")[0]), command
