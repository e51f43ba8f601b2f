"""Work that Spark does for us: in a session, watched while it runs, cancelled with us, and explained when it fails.

A cluster that has lost all its executors waits for new ones for ever; here the work is given up after a while.
"""

from __future__ import annotations

import re
import secrets
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from kpareto.atomic import reason
from kpareto.errors import BadInput, BadJob, BadTable, Progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEME = "spark://"
REMOTE = "sc://"  # a server of Spark Connect
MASTERS = re.compile(r"^(local(\[.*\])?|local-cluster\[.*\]|yarn|k8s://.*)$")
Answer = TypeVar("Answer")
PATIENCE = "spark.kpareto.patience"  # a setting of the session: how long to wait for executors when all are lost
LONGEST = 120.0  # seconds, where the session does not say
LAST_WORDS = 60.0  # seconds that cancelled work may take to end
BEAT = 0.05  # seconds between looks at the work, growing to a second
TICK = 0.05  # seconds between two reports of what was seen
_SERVED: set[str] = set()  # applications that had executors
_KEPT: list[list[SparkSession]] = []  # per block that keeps them, the sessions it started

# A session of our own is quiet, shows nothing to the network in local mode, and writes times in UTC.
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
}


@dataclass(frozen=True)
class SparkTable:
    """A table by its name in Spark, and the cluster that opens it.

    Parameters
    ----------
    address : str
        ``spark://HOST:PORT`` for a standalone cluster, ``spark://local[2]`` for two threads here, ``spark://yarn`` and
        the like for other managers, or ``spark://`` for what Spark's own settings say. ``sc://HOST:15002`` is a server
        of Spark Connect.
    table : str
        Whatever stands after FROM in Spark: ``people``, ``catalog.schema.people`` or ``parquet.`/data/people```.

    Examples
    --------
    >>> import kpareto as kp
    >>> kp.SparkTable("spark://local[2]", "people").master
    'local[2]'
    """

    address: str
    table: str

    def __repr__(self) -> str:
        return f"SparkTable({self.address.partition('/;')[0]!r}, {self.table!r})"  # a token may follow

    @property
    def home(self) -> str:
        """The table by its cluster and name, without a token."""
        return f"{self.address.partition('/;')[0]} {self.table}"

    @property
    def master(self) -> str | None:
        """The address as Spark writes it; None where Spark's own settings decide."""
        if self.address.startswith(REMOTE):
            return self.address
        rest = self.address.removeprefix(SCHEME)
        if not rest:
            return None
        if MASTERS.match(rest):
            return rest
        if not re.fullmatch(r"[^\s:/,]+:\d+(,[^\s:/,]+:\d+)*", rest):
            raise BadJob(
                f"{self.address!r} is no Spark cluster. Write spark://HOST:7077 for a standalone cluster, "
                "spark://local[2] for two threads on this machine, spark:// for what Spark's settings say, or "
                "sc://HOST:15002 for a server of Spark Connect."
            )
        return self.address


def is_frame(frame: object) -> bool:
    """Whether this is a frame of Spark, without loading Spark."""
    home, _, rest = type(frame).__module__.partition(".")
    return home == "pyspark" and rest.startswith("sql") and type(frame).__name__ == "DataFrame"


def is_remote(thing: object) -> bool:
    """Whether a session or a frame is one of Spark Connect: no driver of Java is in this program then."""
    return ".connect" in type(thing).__module__


@contextmanager
def session(master: str | None) -> Iterator[SparkSession]:
    """The session of this program, or one of our own."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise BadInput("Spark is not installed. Install it with: pip install 'kpareto[spark]'.") from error
    running = None if master is not None and master.startswith(REMOTE) else SparkSession.getActiveSession()
    if running is not None and not is_remote(running):
        current = running.sparkContext.master
        if master not in (None, current):
            raise BadJob(f"A Spark session on {current!r} runs in this program, not on {master!r}. Stop it, or use it.")
    if running is not None:
        yield running
        return
    started = _dial(master) if master is not None and master.startswith(REMOTE) else _start(master)
    if _KEPT:
        _KEPT[-1].append(started)
        yield started
        return
    try:
        yield started
    finally:
        _stop(started)


@contextmanager
def keep_session() -> Iterator[None]:
    """Within the block a session of our own is started once, for all that is asked of it; at the end it is stopped."""
    _KEPT.append([])
    try:
        yield
    finally:
        for started in _KEPT.pop():
            _stop(started)


def _stop(started: SparkSession) -> None:
    with suppress(Exception):  # one that is gone is stopped
        started.stop()


def _start(master: str | None) -> SparkSession:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("kpareto")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    if master is not None:
        builder = builder.master(master)
    if master is not None and master.startswith("local"):
        builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
    interrupted = signal.getsignal(signal.SIGINT)
    try:
        return builder.getOrCreate()
    except (PySparkException, OSError, _java_error()) as error:
        raise BadInput(
            f"Spark does not start on {master or 'the cluster of its settings'!r} ({first_line(error)}). It needs "
            "Java 17 or newer (on Debian: apt-get install default-jre-headless) and a cluster that answers."
        ) from error
    finally:
        # Spark answers Ctrl-C with a call to the session, also when that is long stopped; we cancel our work ourselves.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, interrupted)


def _dial(address: str) -> SparkSession:
    """A session of a server of Spark Connect."""
    server = address.removeprefix(REMOTE).partition("/")[0]
    host, _, port = server.partition(":")
    if not host or (port and not port.isdecimal()):
        raise BadJob(f"{REMOTE}{server} is no server of Spark Connect. Write sc://HOST:15002.")
    try:
        from pyspark.sql.connect.session import SparkSession as Remote
    except ImportError as error:  # PySparkImportError is one, too
        raise BadInput("Spark Connect is not installed. Install it with: pip install 'kpareto[spark]'.") from error
    try:  # asked first, because Spark would try for many minutes
        socket.create_connection((host, int(port or 15002)), timeout=10).close()
    except OSError as error:
        raise BadInput(
            f"No server of Spark Connect answers at {server} ({reason(error)}). See that it is up."
        ) from error
    with explain_errors(f"The server of Spark Connect at {server} gives no session"):
        started: SparkSession = Remote.builder.config("spark.remote", address).create()  # type: ignore[assignment]
        started.conf.set("spark.sql.session.timeZone", SETTINGS["spark.sql.session.timeZone"])
    return started


@dataclass
class _Seen:
    """What is known of work while it runs: written by the thread that looks, read by the one that waits."""

    done: int = 0  # tasks
    tasks: int = 0  # of the stages that Spark has planned so far
    lost: bool = False  # all executors, for too long


def attend(session: SparkSession, work: Callable[[], Answer], report: Progress | None = None) -> Answer:
    """The answer of some work in Spark; when the program is interrupted, or the cluster is lost, the work is cancelled.

    ``report`` is told how many tasks are done; whatever it raises cancels the work, too. The work runs in a thread of
    its own, and so does who looks after it: Ctrl-C in the middle of a question to Spark closes the connections of all
    threads that ask nothing just then, and work that goes on over another connection has lost its group. So this
    thread asks nothing, and the work has ended when it returns.
    """
    group = f"kpareto-{secrets.token_hex(8)}"
    answers: list[Answer] = []
    errors: list[BaseException] = []
    over = threading.Event()  # not is_alive(): Python holds a thread for ended when Ctrl-C comes while it is joined
    seen = _Seen()

    def run() -> None:
        try:
            if is_remote(session):
                session.addTag(group)
            else:
                session.sparkContext.setJobGroup(group, "kpareto", interruptOnCancel=True)
            answers.append(work())
        except BaseException as error:  # noqa: BLE001 (raised again by the one who waits)
            errors.append(error)
        finally:
            over.set()

    patience = _seconds(session)
    try:
        threading.Thread(target=run, name=group, daemon=True).start()
        if not is_remote(session):  # a server looks after its executors, and tells nobody of its tasks
            threading.Thread(target=_look, args=(session, group, seen, patience, over), daemon=True).start()
        while not over.wait(TICK):
            if report is not None:
                report(seen.done, seen.tasks)
            if seen.lost:
                raise BadTable(f"The cluster lost all its executors: {_LOST}")
    except BaseException:
        until = time.monotonic() + LAST_WORDS
        _cancel(session, group)
        while not over.wait(0.5) and time.monotonic() < until:
            _cancel(session, group)  # again: a job may not have begun the first time
        raise
    if errors:
        raise errors[0]
    return answers[0]


def _cancel(session: SparkSession, group: str) -> None:
    """End the jobs of a group, those too that Spark begins after its work has failed, where Spark can do that."""
    with suppress(Exception):  # a session that is gone has no jobs
        if is_remote(session):
            session.interruptTag(group)
            return
        try:
            session.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(group)
        except Exception:  # noqa: BLE001 (before Spark 4 there is no such thing, and Java's errors have no common class)
            session.sparkContext.cancelJobGroup(group)


def _look(session: SparkSession, group: str, seen: _Seen, patience: float, over: threading.Event) -> None:
    """Count the tasks, and see whether a cluster that has had executors has had none for too long."""
    context = session.sparkContext
    alone = _is_alone(session)
    beat, last = BEAT, time.monotonic()
    while not over.wait(beat):
        beat = min(beat * 1.5, 1.0)
        with suppress(Exception):  # the work itself says what is wrong with the session
            seen.done, seen.tasks = _count_tasks(session, group)
            if alone:
                continue
            application = str(context.applicationId)
            executors = context._jsc.sc().getExecutorMemoryStatus().size() - 1  # the driver is counted, too
            if executors > 0:
                _SERVED.add(application)
            if executors > 0 or application not in _SERVED:  # the first may be long in coming
                last = time.monotonic()
        seen.lost = not alone and time.monotonic() - last > patience


def _is_alone(session: SparkSession) -> bool:
    """Whether its executor is the driver itself."""
    return str(session.sparkContext.master).partition("[")[0] == "local"


def _count_tasks(session: SparkSession, group: str) -> tuple[int, int]:
    """Tasks that are done and all tasks, of the stages that Spark has planned so far."""
    tracker = session.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = {stage for job in jobs if job is not None for stage in job.stageIds}
    known = [info for info in map(tracker.getStageInfo, stages) if info is not None]
    return sum(info.numCompletedTasks for info in known), sum(info.numTasks for info in known)


def _seconds(session: SparkSession) -> float:
    """How long to wait for executors when all are lost."""
    if is_remote(session) or _is_alone(session):
        return LONGEST
    patience = session.conf.get(PATIENCE, str(LONGEST)) or ""
    try:
        return float(patience.removesuffix("s"))
    except ValueError:
        raise BadInput(f"{PATIENCE} is {patience!r}. Give seconds, such as 120.") from None


@contextmanager
def explain_errors(what: str) -> Iterator[None]:
    """Errors of Spark as one sentence that says what to do."""
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, _java_error(), ConnectionError, EOFError) as error:
        raise BadTable(f"{what}: {why(error)}") from error


def why(error: BaseException) -> str:
    """What went wrong in Spark, in words, and what to do about it."""
    from py4j.protocol import Py4JNetworkError

    if isinstance(error, Py4JNetworkError | ConnectionError | EOFError):
        return _GONE
    message = str(error)
    for sign, sentence in _SIGNS.items():
        if sign in message:
            return sentence
    return f"{first_line(error)}. See the log of Spark for more."


_LOST = "no executor is left to do the work. See that the master and the workers are up, and try again."
_GONE = "Spark's driver is gone. Raise spark.driver.memory if it ran out of it, start a new session, and try again."
_STOPPED = "the Spark session was stopped. See that the cluster is up, start a new session, and try again."
# What Spark's own messages say when something other than the query is wrong; the first that is found decides.
_SIGNS = {
    "spark.driver.maxResultSize": "the distinct rows are more than the driver may fetch. Give fewer columns a role, or "
    "raise spark.driver.maxResultSize and spark.driver.memory.",
    "No space left on device": "no space is left on a machine of the cluster. Make room there, and try again.",
    "java.lang.OutOfMemoryError": "a machine ran out of memory. Raise spark.executor.memory (in local mode "
    "spark.driver.memory), and try again.",
    "ExecutorLostFailure": _LOST,
    "Master removed our application": _LOST,
    "All masters are unresponsive": "the master of the cluster does not answer. See that it is up, and try again.",
    "SparkContext was shut down": _STOPPED,
    "stopped SparkContext": _STOPPED,
    "cancelled": "the job was cancelled. Start it again.",
}


def first_line(error: BaseException) -> str:
    """The first line of an error that says something."""
    lines = [line.strip() for line in str(error).splitlines()]
    useful = [line for line in lines if line and not line.startswith("An error occurred while calling")]
    return (useful[0] if useful else type(error).__name__).strip(".: ")


def _java_error() -> type[Any]:
    from py4j.protocol import Py4JError

    return Py4JError
