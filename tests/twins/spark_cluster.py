"""A standalone Spark cluster on loopback for tests: a master and workers, each a process that can be killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

PATIENCE = 600  # seconds; test machines are busy
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"


@dataclass
class Cluster:
    """The processes of a cluster, and the address of its master."""

    folder: Path
    address: str = ""
    master: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def executors(self, worker: int) -> list[int]:
        """The executors of a worker: the processes it started."""
        return children(self.workers[worker].pid)

    def kill_worker(self, worker: int) -> None:
        """A machine is gone at once, with all that runs on it."""
        gone = [self.workers[worker].pid, *self.executors(worker)]
        for process in gone:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.workers[worker].wait(240)

    def kill_master(self) -> None:
        """The master is gone at once."""
        if self.master is not None:
            self.master.kill()
            self.master.wait(240)

    def start(self, name: str, *command: str) -> subprocess.Popen[bytes]:
        """Start a part of the cluster; what it says goes to a file."""
        import pyspark

        home = Path(pyspark.__file__).parent
        quick = (
            "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dspark.worker.cleanup.enabled=false -Dspark.worker.timeout=600"
        )
        surroundings = {
            **os.environ,
            "SPARK_HOME": str(home),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": quick,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_WORKER_DIR": str(self.folder / "work"),
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
        }
        with (self.folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [str(home / "bin" / "spark-class"), *command],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=surroundings,
                cwd=self.folder,
            )

    def said(self, name: str, pattern: str) -> str:
        """Wait for a line in the log of a part."""
        log = self.folder / f"{name}.log"
        ends = time.monotonic() + PATIENCE
        while time.monotonic() < ends:
            found = re.search(pattern, log.read_text(errors="replace"))
            if found:
                return found[found.re.groups]
            time.sleep(0.1)
        raise TimeoutError(f"{name} did not say {pattern!r}: {log.read_text(errors='replace')[-2000:]}")

    def close(self) -> None:
        """End every process."""
        for process in [*self.workers, *([self.master] if self.master else [])]:
            for number in [*children(process.pid), process.pid]:
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            process.wait(240)


def children(parent: int) -> list[int]:
    """The processes that a process started and that are still there."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            told = place.read_text().rpartition(")")[2].split()  # the name before it may hold anything
            if int(told[1]) == parent and told[0] != "Z":
                found.append(int(place.parent.name))
    return found


@contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A master and its workers, with one core each; gone at the end, whatever happened."""
    made = Cluster(folder)
    loopback = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    try:
        made.master = made.start("master", MASTER, *loopback)
        made.address = made.said("master", r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")
        for number in range(workers):
            one = made.start(f"worker{number}", WORKER, *loopback, "-c", "1", "-m", "600m", made.address)
            made.workers.append(one)
        for number in range(workers):
            made.said(f"worker{number}", r"(Successfully registered with master)")
        yield made
    finally:
        made.close()
