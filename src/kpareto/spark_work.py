"""Work that Spark does for us: in a session, watched while it runs, cancelled with us, and explained when it fails.

A cluster that has lost all its executors waits for new ones for ever; here the work is given up after a while.
"""

from __future__ import annotations

import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from kpareto.errors import BadInput, BadJob, BadTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Answer = TypeVar("Answer")
PATIENCE = "spark.kpareto.patience"  # a setting of the session: how long to wait for executors when all are lost
LONGEST = 120.0  # seconds, where the session does not say
BEAT = 0.05  # seconds between looks at the work, growing to a second
_SERVED: set[str] = set()  # applications that had executors
_KEPT: list[list[SparkSession]] = []  # per block that keeps them, the sessions it started

# A session of our own is quiet, shows nothing to the network in local mode, and writes times in UTC.
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
}


@contextmanager
def session(master: str | None) -> Iterator[SparkSession]:
    """The session of this program, or one of our own."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise BadInput("Spark is not installed. Install it with: pip install 'kpareto[spark]'.") from error
    running = SparkSession.getActiveSession()
    if running is not None:
        own = running.sparkContext.master
        if master not in (None, own):
            raise BadJob(f"A Spark session on {own!r} runs in this program, not on {master!r}. Stop it, or use it.")
        yield running
        return
    started = _started(master)
    if _KEPT:
        _KEPT[-1].append(started)
        yield started
        return
    try:
        yield started
    finally:
        _stop(started)


@contextmanager
def kept() -> Iterator[None]:
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


def _started(master: str | None) -> SparkSession:
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


def attended(session: SparkSession, work: Callable[[], Answer]) -> Answer:
    """The answer of some work in Spark; when the program is interrupted, or the cluster is lost, the work is cancelled.

    The work runs in a thread of its own, so that this one can look after it, and has ended when this returns.
    """
    if ".connect" in type(session).__module__:
        return work()
    context, group = session.sparkContext, f"kpareto-{secrets.token_hex(8)}"
    answers: list[Answer] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            context.setJobGroup(group, "kpareto", interruptOnCancel=True)
            answers.append(work())
        except BaseException as error:  # noqa: BLE001 (raised again by the one who waits)
            errors.append(error)

    worker = threading.Thread(target=run, name=group, daemon=True)
    worker.start()
    try:
        _watch(session, worker)
    except BaseException:
        with suppress(Exception):  # a session that is gone has no jobs
            context.cancelJobGroup(group)
        worker.join(60)
        raise
    if errors:
        raise errors[0]
    return answers[0]


def _watch(session: SparkSession, worker: threading.Thread) -> None:
    """Wait for the worker; raise when the cluster has had executors and has had none for too long."""
    context = session.sparkContext
    alone = str(context.master).partition("[")[0] == "local"
    patience = LONGEST if alone else _seconds(session)
    application, beat, last = str(context.applicationId), BEAT, time.monotonic()
    while worker.is_alive():
        worker.join(beat)
        beat = min(beat * 1.5, 1.0)
        if alone:
            continue
        with suppress(Exception):  # the work itself says what is wrong with the session
            executors = context._jsc.sc().getExecutorMemoryStatus().size() - 1  # the driver is counted, too
            if executors > 0:
                _SERVED.add(application)
            if executors > 0 or application not in _SERVED:  # the first may be long in coming
                last = time.monotonic()
        if time.monotonic() - last > patience:
            raise BadTable(f"The cluster lost all its executors: {_LOST}")


def _seconds(session: SparkSession) -> float:
    given = session.conf.get(PATIENCE, str(LONGEST)) or ""
    try:
        return float(given.removesuffix("s"))
    except ValueError:
        raise BadInput(f"{PATIENCE} is {given!r}. Give seconds, such as 120.") from None


@contextmanager
def spelled_out(what: str) -> Iterator[None]:
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
    told = str(error)
    for sign, sentence in _SIGNS.items():
        if sign in told:
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
    told = [line for line in lines if line and not line.startswith("An error occurred while calling")]
    return (told[0] if told else type(error).__name__).strip(".: ")


def _java_error() -> type[Any]:
    from py4j.protocol import Py4JError

    return Py4JError
