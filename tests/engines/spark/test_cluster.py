"""A standalone cluster on loopback: a job by the command line, a worker lost in mid-release, and the whole cluster lost."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kpareto.verifier import verify
from tests.twins.releases import people
from tests.twins.spark_cluster import Cluster, cluster
from tests.twins.sparks import QUICK, java, job_text

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(900)]

PATIENCE = 400  # seconds for what takes twenty on an idle machine

# Releases slow rows again and again, to the folders it is told, and says when Spark is at work on them.
DRIVER = """
import sys, threading, time
from pyspark.sql import SparkSession
from kpareto.errors import KparetoError
from kpareto.releases.recoded_rows import Handling
from kpareto.releases.release import release
from kpareto.engines.spark import write as spark_write
from tests.twins.releases import chosen

session = SparkSession.builder.master(sys.argv[1]).getOrCreate()
frame = session.read.parquet(sys.argv[2]).repartition(8, "name").localCheckpoint()
asleep = "reflect('java.lang.Thread', 'sleep', 100L) IS NULL AS note"
slow = session.read.parquet(sys.argv[2]).repartition(8, "name").selectExpr("name", "age", "sex", "illness", asleep)
choice = chosen(frame)
tracker = session.sparkContext.statusTracker()
honest = spark_write.put_rows
while session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 3:  # the driver, and one for each worker
    time.sleep(0.1)

def busy():
    while True:
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        if any(stage.numActiveTasks for stage in stages if stage):
            print("busy", flush=True)
            return
        time.sleep(0.05)

def watched(*work):
    threading.Thread(target=busy, daemon=True).start()
    return honest(*work)

spark_write.put_rows = watched
print("ready", flush=True)
for line in sys.stdin:
    try:
        done = release(choice, slow, line.strip(), handling=Handling(declared=("note",)))
        done.certificate.write(line.strip() + ".json")
        print("released", done.rows, flush=True)
    except KparetoError as error:
        print("refused", error, flush=True)
session.stop()
"""


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers."""
    java()
    with cluster(tmp_path_factory.mktemp("cluster")) as made:
        yield made


@pytest.fixture(scope="module")
def surroundings(machines: Cluster) -> dict[str, str]:
    """Settings for sessions that other programs start: small, and quick to give up."""
    settings = {
        **QUICK,
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": QUICK["spark.driver.extraJavaOptions"],
        "spark.task.maxFailures": "3",
        "spark.kpareto.patience": "30",
    }
    lines = [f"{name} {value}" for name, value in settings.items()]
    (machines.folder / "spark-defaults.conf").write_text("\n".join(lines))
    pq.write_table(people(), machines.folder / "people")
    root = str(Path(__file__).parents[3])
    return {**os.environ, "SPARK_CONF_DIR": str(machines.folder), "PYTHONPATH": root, "PYTHONWARNINGS": "ignore"}


def names(folder: Path) -> list[str]:
    """What is in a folder, hidden or not."""
    return sorted(path.name for path in folder.iterdir())


def test_a_job_runs_on_the_cluster(machines: Cluster, surroundings: dict[str, str], tmp_path: Path) -> None:
    """``kpareto release`` starts one session of its own, leaves a verified folder with its papers, and ends."""
    (tmp_path / "job.toml").write_text(job_text(machines.address, machines.folder, "safe.parquet"))
    command = [sys.executable, "-m", "kpareto", "release", str(tmp_path / "job.toml")]
    done = subprocess.run(
        command, env=surroundings, cwd=tmp_path, timeout=PATIENCE, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert verify(tmp_path / "safe.parquet", tmp_path / "safe.certificate.json").numbers["k"] >= 10
    assert len(set(pq.read_table(tmp_path / "safe.parquet").column("name").to_pylist())) == 120
    assert [name for name in names(tmp_path) if name.startswith(".")] == []
    machines.said("master", "(Received unregister request)")
    log = (machines.folder / "master.log").read_text()
    assert (log.count("Registered app"), log.count("Received unregister request")) == (1, 1)  # one session, stopped


def test_workers_are_lost_in_mid_release(machines: Cluster, surroundings: dict[str, str], tmp_path: Path) -> None:
    """Without one worker the other does its work; without any, one sentence, and nothing is left."""
    with (machines.folder / "driver.log").open("wb") as log:
        driver = subprocess.Popen(
            [sys.executable, "-c", DRIVER, machines.address, str(machines.folder / "people")],
            env=surroundings,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    guard = threading.Timer(PATIENCE, driver.kill)
    guard.start()
    try:
        assert driver.stdin is not None
        assert driver.stdout is not None

        def said() -> str:
            assert driver.stdout is not None
            return driver.stdout.readline().strip()

        def asked(name: str) -> None:
            assert driver.stdin is not None
            driver.stdin.write(f"{tmp_path / name}\n")
            driver.stdin.flush()

        assert said() == "ready", (machines.folder / "driver.log").read_text()[-3000:]
        asked("first")
        assert said() == "busy"
        machines.kill_worker(0)
        assert said() == "released 120"
        assert verify(tmp_path / "first", tmp_path / "first.json").rows == 120
        assert names(tmp_path) == ["first", "first.json"]
        asked("second")
        assert said() == "busy"
        machines.kill_worker(1)
        machines.kill_master()
        told = said()
        assert told.startswith("refused The cluster lost all its executors: no executor is left to do the work.")
        assert "See that the master and the workers are up, and try again" in told
        assert names(tmp_path) == ["first", "first.json"]
        driver.stdin.close()
        assert driver.wait(PATIENCE) == 0
    finally:
        guard.cancel()
        driver.kill()
        driver.wait(30)
        for stream in (driver.stdin, driver.stdout):
            if stream is not None:
                stream.close()
