"""Spark Connect: a server in a process of its own; frames and tables are read, released and verified through it."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from kpareto.engines.read import read
from kpareto.engines.spark.connect import SparkTable, attend, session
from kpareto.engines.spark.hidden import Catalogued, folder_of
from kpareto.errors import BadInput, BadJob
from kpareto.faces import cli
from kpareto.releases.recoded_rows import Handling
from kpareto.releases.release import release
from kpareto.tables.schema import Schema
from kpareto.verifier import verify
from tests.engines.spark.test_write import multiset, names
from tests.twins.releases import chosen, chosen_locally, people, uneven_people
from tests.twins.sparks import QUICK, java, job_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.xdist_group("spark-connect"), pytest.mark.timeout(900)]

# The plugin is what a server of Spark Connect is: any driver serves when it is loaded.
SERVER = """
import sys, threading
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[2]").config("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin")
for setting in sys.argv[1:]:
    builder = builder.config(*setting.split("=", 1))
builder.getOrCreate()
print("ready", flush=True)
sys.stdin.read()  # until the tests are over
"""


def free_port() -> int:
    """A port that nobody listens on, outside the range from which the system gives ports to whoever asks for any."""
    chance = random.SystemRandom()
    while True:
        port = chance.randrange(20_000, 30_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server of our own."""
    java()
    port, folder = free_port(), tmp_path_factory.mktemp("connect")
    settings = {
        **QUICK,
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-c", SERVER, *(f"{name}={value}" for name, value in settings.items())],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=surroundings, cwd=folder,
        )  # fmt: skip
    assert server.stdin is not None
    assert server.stdout is not None
    assert server.stdout.readline().strip() == b"ready", (folder / "log").read_text(errors="replace")[-2000:]
    yield f"sc://127.0.0.1:{port}"
    server.stdin.close()
    server.stdout.close()
    server.wait(240)


@pytest.fixture(scope="module")
def remote(address: str) -> Iterator[SparkSession]:
    """A session of that server."""
    with session(address) as started:
        yield started


@pytest.fixture(scope="module")
def crowd(remote: SparkSession) -> DataFrame:
    """The people of the other tests, on the server."""
    return remote.createDataFrame(people())


def test_a_frame_is_read_and_released_into_a_folder(remote: SparkSession, crowd: DataFrame, tmp_path: Path) -> None:
    """The same rows as DuckDB writes, in a folder that both sides see; nothing else is left there or in the session."""
    target = tmp_path / "safe.parquet"
    done = release(chosen(crowd), crowd, target)
    assert (done.path, done.verified.numbers["k"]) == (target, 15)
    assert done.certificate.public["engine"] == f"Spark {remote.version}"
    assert verify(target, done.certificate).rows == 120
    assert multiset(pq.read_table(target)) == multiset(release(chosen(people()), people()).data)
    assert names(tmp_path) == ["safe.parquet"]
    assert not [table for table in remote.catalog.listTables() if table.name.startswith("kpareto")]
    with pytest.raises(BadInput, match=r"^Cannot write '.*safe.parquet': it is there already. Remove it"):
        release(chosen(crowd), crowd, target)


def test_a_frame_of_tokens_stays_the_same(crowd: DataFrame) -> None:
    """Without a target a frame comes back; tokens that were made once are kept by the server."""
    done = release(chosen(crowd), crowd, handling=Handling(identifiers="token"))
    assert done.data is not None
    assert multiset(done.data) == multiset(done.data)
    assert done.verified.numbers["k"] == 15


def test_a_local_recoding_is_joined_on_the_server(remote: SparkSession, tmp_path: Path) -> None:
    """Rows that are divided between classes are numbered there too."""
    crowd = remote.createDataFrame(uneven_people())
    target = tmp_path / "safe.parquet"
    done = release(chosen_locally(crowd), crowd, target)
    assert verify(target, done.certificate).rows == uneven_people().num_rows


def test_a_table_of_the_catalog(remote: SparkSession, crowd: DataFrame) -> None:
    """A table is written under a hidden name and gets its own when it is whole; it is never overwritten."""
    done = release(chosen(crowd), crowd, "safe_people")
    assert done.verified.numbers["k"] == 15
    assert remote.table("safe_people").count() == 120
    assert [row.tableName for row in remote.sql("SHOW TABLES").collect()] == ["safe_people"]
    with pytest.raises(BadInput, match=r"^Cannot write the table 'safe_people': it is there already"):
        release(chosen(crowd), crowd, "safe_people")
    remote.sql("DROP TABLE safe_people")


def test_a_job_by_the_command_line(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job names the server; front and release run there, and the verifier agrees."""
    pq.write_table(people(), tmp_path / "people")
    monkeypatch.chdir(tmp_path)
    target = tmp_path / "safe.parquet"
    (tmp_path / "job.toml").write_text(job_text(address, tmp_path, str(target)))
    assert cli.main(["front", "job.toml", "--quiet"]) == 0
    assert cli.main(["release", "job.toml", "--quiet"]) == 0
    assert cli.main(["verify", str(target), str(tmp_path / "safe.certificate.json")]) == 0


def test_a_table_by_its_address(address: str, tmp_path: Path) -> None:
    """The same table as from the file."""
    pq.write_table(people(), tmp_path / "people")
    schema = Schema(quasi=("age", "sex"), sensitive=("illness",))
    there = read(SparkTable(address, f"parquet.`{tmp_path}/people`"), schema)
    assert (there.rows, there.distinct) == (read(people(), schema).rows, read(people(), schema).distinct)


def test_an_interrupt_ends_the_work_on_the_server(remote: SparkSession) -> None:
    """Ctrl-C while the server works: its work is cancelled, and the next question is answered."""
    slow = remote.range(0, 4, 1, 4).selectExpr("reflect('java.lang.Thread', 'sleep', 1200000L * (id + 1)) AS a")
    began = time.monotonic()
    strike = threading.Timer(2, lambda: os.kill(os.getpid(), signal.SIGINT))
    strike.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            attend(remote, slow.collect)
    finally:
        strike.cancel()  # work that failed early must not let Ctrl-C reach the next test
    assert time.monotonic() - began < 600  # not the twenty minutes that the first row would take
    assert remote.range(3).count() == 3


def test_folders_that_the_server_does_not_see(remote: SparkSession, tmp_path: Path) -> None:
    """A place that only one side sees cannot be hidden and renamed: a sentence."""
    with pytest.raises(
        BadInput, match=r"^Through Spark Connect only folders that this machine sees are written, not 's3"
    ):
        folder_of(remote, "s3://bucket/safe.parquet")

    class Blind:
        """A session of a server elsewhere, which finds nothing here."""

        __module__ = "pyspark.sql.connect.session"

        def __getattr__(self, name: str) -> object:
            raise OSError(name)

    with pytest.raises(BadInput, match=r"^The server of Spark Connect does not see '.*'. Give a table of its catalog"):
        folder_of(Blind(), str(tmp_path / "safe.parquet"))  # type: ignore[arg-type]
    assert names(tmp_path) == []


def test_servers_that_do_not_answer() -> None:
    """No server, and an address that is none: one sentence each, at once."""
    with (
        pytest.raises(BadInput, match=r"^No server of Spark Connect answers at 127.0.0.1:\d+ "),
        session(f"sc://127.0.0.1:{free_port()}"),
    ):
        pass
    with pytest.raises(BadJob, match=r"is no server of Spark Connect. Write sc://HOST:15002.$"), session("sc://:x"):
        pass
    assert "secret" not in repr(SparkTable("sc://host:15002/;token=secret", "people"))


@pytest.mark.parametrize(
    ("name", "parts"),
    [("people", ["people"]), ("a.b.people", ["a", "b", "people"]), ("`a.b`.`x``y`", ["a.b", "x`y"])],
)
def test_names_of_tables(name: str, parts: list[str]) -> None:
    """Dots part names, backquotes keep them together."""
    assert Catalogued(None, name).parts == parts  # type: ignore[arg-type]


def test_names_that_are_none() -> None:
    """A name with a blank needs backquotes: a sentence."""
    with pytest.raises(BadInput, match=r"^'my people' is no name of a table. Write people or schema.people"):
        Catalogued(None, "my people").quoted  # type: ignore[arg-type]  # noqa: B018 (asking is what fails)
