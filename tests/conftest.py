"""What all tests share: one Hypothesis profile, so that a busy machine fails no test, and a tiny table."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from kpareto.hierarchy import flat, from_levels
from kpareto.schema import Schema
from kpareto.table import Table, make_table
from tests.postgres_server import Server, running
from tests.sparks import java, local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# No deadline: the first call of a compiled loop takes seconds, and test machines are shared.
settings.register_profile("house", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")


@pytest.fixture
def tiny() -> Table:
    """PO's Table 1 in spirit: six rows, two quasi-identifiers, a sensitive column."""
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
    java()
    interrupted = signal.getsignal(signal.SIGINT)
    session = local_session(str(tmp_path_factory.mktemp("warehouse")))
    yield session
    session.stop()
    signal.signal(signal.SIGINT, interrupted)  # Spark's own asks the session


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A PostgreSQL of our own, one for all tests of a process."""
    with running() as started:
        yield started


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
