"""What all tests share: the rings, Hypothesis profiles, so that a busy machine fails no test, and a tiny table."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from tests.rings import RINGS, ring_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kpareto.tables.table import Table
    from tests.twins.postgres_server import Server

# No deadline: the first call of a compiled loop takes seconds, and test machines are shared. The same examples every
# time: a change is refused for what it does, not by chance; new ones are for nights (profile "random", make fuzz).
settings.register_profile(
    "house", deadline=None, print_blob=True, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("random", settings.get_profile("house"), derandomize=False)
settings.register_profile("quick", settings.get_profile("house"), max_examples=20)  # make quick
settings.load_profile("house")

# A shell starts what it runs behind ``&`` with Ctrl-C and Ctrl-\\ ignored, nohup with a closed terminal ignored, and
# every process started from there inherits that: tests of Ctrl-C would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)
for name in {"SIGHUP", "SIGQUIT"} & set(dir(signal)):
    signal.signal(getattr(signal, name), signal.SIG_DFL)


_numbers = count()


@pytest.fixture(autouse=True)
def ctrl_c() -> None:
    """Ctrl-C is Python's in every test: Spark puts its own in the place when a session begins, for the whole process."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def own_data_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test has a data folder of its own, in which nobody has noted a budget yet."""
    own = tmp_path_factory.getbasetemp() / f"data-{os.getpid()}-{next(_numbers)}"
    monkeypatch.setenv("XDG_DATA_HOME", str(own))


@pytest.fixture(autouse=True, scope="session")
def no_beat() -> Iterator[None]:
    """Reports come from the search alone, in fixtures of modules too: those by the clock come by chance.

    Tests of these set it themselves.
    """
    from kpareto import interrupts

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interrupts, "BEAT", 3600.0)
        yield


@pytest.fixture(autouse=True)
def accepted_dangers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests release tiny tables for other reasons: every danger is accepted by name, but in those marked ``dangers``."""
    if request.node.get_closest_marker("dangers") is not None:
        return
    from kpareto.releases import release, settings

    read = settings.read_accepted
    monkeypatch.setattr(release, "read_accepted", lambda words: (*read(words), *settings.DANGERS))


@pytest.fixture
def tiny() -> Table:
    """PO's Table 1 in spirit: six rows, two quasi-identifiers, a sensitive column."""
    from kpareto.tables.hierarchy import flat, from_levels
    from kpareto.tables.schema import Schema
    from kpareto.tables.table import make_table

    schema = Schema(("zip", "sex"), sensitive=("disease",))
    zips = from_levels(
        "zip", [["13053", "1305*", "*"], ["13058", "1305*", "*"], ["13063", "1306*", "*"], ["13067", "1306*", "*"]]
    )
    sexes = flat("sex", ["F", "M"])
    codes = np.array([[0, 0], [0, 0], [1, 0], [2, 1], [3, 1], [3, 1]], dtype=np.int32)
    disease = (("flu", "hepatitis"), np.array([0, 1, 0, 1, 1, 0]), None)
    return make_table(schema, (zips, sexes), codes, np.ones(6, dtype=np.int64), {"disease": disease})


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local Spark, one for all tests of a process."""
    from tests.twins.sparks import java, local_session

    java()
    session = local_session(str(tmp_path_factory.mktemp("warehouse")))
    yield session
    session.stop()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A PostgreSQL of our own, one for all tests of a process."""
    from tests.twins.postgres_server import running

    with running() as started:
        yield started


class AtOnce:
    """Writes what failed when it fails: a log that is cut off has it too, and when it was."""

    def __init__(self, terminal: Any) -> None:
        self.terminal = terminal
        self.began = time.monotonic()

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One test's setup, call or end, as the process that runs it tells the one that writes."""
        if report.failed:
            self.terminal.write_line("")
            minutes = (time.monotonic() - self.began) / 60
            self.terminal.write_line(f"{report.nodeid} failed in minute {minutes:.0f}, after {report.duration:.0f} s:")
            self.terminal.write_line(report.longreprtext[-4000:])


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Name the rings; what fails is told at once by the process that writes."""
    for ring, what in RINGS.items():
        config.addinivalue_line("markers", f"{ring}: {what}")
    config.addinivalue_line("markers", "dangers: nothing is accepted for the test, so a danger stops its releases")
    terminal = config.pluginmanager.getplugin("terminalreporter")
    if terminal is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(AtOnce(terminal), "at-once")


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    """Put a test into its ring; ``make quick`` takes few examples of each, also where a test asks for many."""
    item.add_marker(ring_of(item.nodeid, getattr(item, "fixturenames", ())))
    own: settings | None = getattr(getattr(item, "obj", None), "_hypothesis_internal_use_settings", None)
    most = settings().max_examples
    if own is not None and settings.get_current_profile_name() == "quick" and own.max_examples > most:
        named: Any = item
        named.obj._hypothesis_internal_use_settings = settings(own, max_examples=most)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep groups of tests in one process under ``--dist loadgroup``.

    xdist reads the group behind the name of a test; where it writes it (xdist 3.8), pytest 9.2 does not look.
    """
    if not getattr(config.option, "loadgroup", False):
        return
    for item in items:
        mark = item.get_closest_marker("xdist_group")
        if mark is not None and not item.nodeid.endswith(f"@{mark.args[0]}"):
            named: Any = item
            named._id = type(named._id).parse(f"{item.nodeid}@{mark.args[0]}")
