"""A Spark session for tests, and a made table with all that is hard: unicode, gaps, decimals, dates, moments, floats."""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tests.twins.releases import people_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Small, quick, on loopback alone.
QUICK = {
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "3",
    "spark.default.parallelism": "2",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # a short life is not worth optimising
    "spark.python.authenticate.socketTimeout": "240s",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",  # what goes wrong is what the tests are about
}
D = decimal.Decimal
MOMENTS = [0, 1_706_702_400_000_000, 1, None, -1, 1_706_702_400_123_456]


def java() -> None:
    """Skip where there is no Java, or fail where continuous integration promised to bring everything."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        reason = "There is no Java. Install it with: apt-get install -y openjdk-17-jre-headless"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)


def local_session(folder: str) -> SparkSession:
    """Two threads in this process's own JVM; the zone is far from where anybody computes."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("kpareto tests")
    builder = builder.config("spark.sql.session.timeZone", "Asia/Kathmandu")
    for name, value in {**QUICK, "spark.sql.warehouse.dir": folder}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def made() -> pa.Table:
    """Sixty rows of every kind of value; each column has its gaps in other rows."""

    def cycled(values: list[Any], kind: pa.DataType) -> pa.Array:
        return pa.array(list(itertools.islice(itertools.cycle(values), 60)), kind)

    return pa.table(
        {
            "text": cycled(["Zoë", "日本", "", None, " a ", "a", "A", "o\u0308", "ö", "'; --", "x\ty"], pa.string()),
            "decimal": cycled([D("1.50"), D("2"), D("-0.10"), None, D("123456789012.34")], pa.decimal128(20, 2)),
            "day": cycled([dt.date(2024, 1, 31), dt.date(1900, 1, 1), None, dt.date(1582, 10, 4)], pa.date32()),
            "moment": cycled(MOMENTS, pa.timestamp("us", "UTC")),
            "clock": cycled(MOMENTS[::-1], pa.timestamp("us")),
            "flag": cycled([True, False, None], pa.bool_()),
            "float": cycled([0.1, 1e16, 1e-7, float("nan"), -0.0, 0.0, None, 39.0], pa.float64()),
            "single": cycled([0.1, 1e16, 1e-7, float("nan"), -0.0, 2.5], pa.float32()),
            "small": cycled([1, -2, None, 120], pa.int8()),
            "large": cycled([2**62, 7, -(2**63), None], pa.int64()),
            "dotted.name `x`": cycled(["plain", None, '"quoted"'], pa.string()),
        }
    )


def to_spark(session: SparkSession, rows: pa.Table, parts: int = 3) -> DataFrame:
    """The rows as a frame of Spark in several partitions; moments without a zone stay without one."""
    kept = session.conf.get("spark.sql.timestampType")
    session.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    zoned = [place for place, kind in enumerate(rows.schema.types) if pa.types.is_timestamp(kind) and kind.tz]
    try:
        frame = session.createDataFrame(rows)
    finally:
        session.conf.set("spark.sql.timestampType", str(kept))
    assert all(frame.dtypes[place][1] == "timestamp" for place in zoned)
    return frame.repartition(parts)


JOB = """
[data]
source = "{address}"
table = "parquet.`{folder}/people`"
{columns}
[limits]
k = 10
[release]
choose = "k=10"
target = "{target}"
identifiers = "token"
"""


def job_text(address: str, folder: Path, target: str) -> str:
    """The job of people in a folder, released with tokens: for whoever opens a table by its address."""
    return JOB.format(address=address, folder=folder, target=target, columns=people_columns(10, 20))
