"""Rows that Spark holds: the same Table and the same front as from any other place, and sentences for what goes wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pyarrow as pa
import pytest

from kpareto.engines import open_source
from kpareto.engines.read import fingerprint, read
from kpareto.engines.spark.connect import SparkTable, first_line, why
from kpareto.engines.spark.read import SparkSource
from kpareto.engines.unique_rows import unique_rows
from kpareto.engines.values import Rolled
from kpareto.errors import BadInput, BadJob, BadTable
from kpareto.faces.cli.fronts import protect
from kpareto.fronts.problem import problem
from kpareto.jobs.inspect import inspect
from kpareto.jobs.parse import parse_job
from kpareto.searches.run import run_plan
from kpareto.tables.adult import adult, adult_hierarchies, adult_schema
from kpareto.tables.schema import Schema
from tests.twins.doors import bits, front_bits
from tests.twins.sparks import made, to_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# One Spark for all tests of this kind, also where pytest runs in several processes.
pytestmark = pytest.mark.xdist_group("spark")


def test_a_made_table_is_the_same_through_spark_bit_for_bit(spark: SparkSession) -> None:
    """Unicode, gaps, decimals, dates, moments with and without a zone, floats: one Table, whatever the session's zone."""
    rows = made()
    frame = to_spark(spark, rows)
    for few in (("text", "float", "day"), ("moment", "clock", "decimal")):
        schema = Schema(quasi=few, sensitive=("flag",))
        assert bits(read(frame, schema)) == bits(read(rows, schema))
        assert front_bits(read(frame, schema, "category")) == front_bits(read(rows, schema, "category"))
    schema = Schema(quasi=tuple(rows.column_names))
    assert bits(read(frame, schema, "category")) == bits(read(rows, schema, "category"))
    assert fingerprint(frame) == fingerprint(rows)


def test_adult_has_the_same_front_through_spark(spark: SparkSession, tmp_path: Path) -> None:
    """The front of Adult out of Spark is that of Adult out of DuckDB, to the last bit."""
    schema = adult_schema("default", target="salary-class", sensitive="occupation")
    ways = {name: hierarchy for name, hierarchy in adult_hierarchies("default").items() if name in schema.quasi}
    fronts = []
    to_spark(spark, adult()).write.parquet(str(tmp_path / "adult"))
    for source in (adult(), spark.read.parquet(str(tmp_path / "adult")), tmp_path / "adult"):
        table = read(source, schema, "drop", hierarchies=ways)
        found = run_plan(problem(table, ["k", "l", "glm"], 0.01))
        told = found.to_dict()
        fronts.append((bits(table), found.numbers.keys.tobytes(), told["points"]))
    assert fronts[0] == fronts[1] == fronts[2]


def test_distinct_rows_are_counted_before_they_are_fetched(spark: SparkSession) -> None:
    """The count is exact, the table is read once for count and roll-up, and nothing stays cached."""
    from pyspark.sql.functions import udf

    looked = spark.sparkContext.accumulator(0)

    @udf("bigint", useArrow=False)
    def watched(value: int) -> int:
        looked.add(1)
        return value

    frame = spark.range(100, numPartitions=2).selectExpr("id % 7 AS a", "id % 2 AS b")
    frame = frame.withColumn("a", watched.asNondeterministic()("a"))
    with open_source(frame) as source:
        found = source.distinct(["a", "b"])
        assert found.distinct == 14
        rolled = found.fetch()
        assert (len(rolled.weights), int(rolled.weights.sum())) == (14, 100)
        assert looked.value == 100
    assert not cast(SparkSource, source).kept
    assert spark._jsparkSession.sharedState().cacheManager().isEmpty()


def test_rows_come_in_pieces(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pieces hold every distinct row once."""
    monkeypatch.setattr("kpareto.engines.spark.read.PIECE", 10)
    frame = to_spark(spark, made())
    wanted = ["text", "float"]
    with open_source(frame) as source:
        whole = source.distinct(wanted).fetch()
        pieces = list(cast(SparkSource, source)._pieces(wanted))
    assert len(pieces) == -(-len(whole.weights) // 10)

    def rows(found: Rolled) -> list[tuple[object, ...]]:
        columns = [[None if at < 0 else c.texts[at].as_py() for at in c.codes.tolist()] for c in found.columns]
        return list(zip(*columns, found.weights.tolist(), strict=True))

    assert Counter(rows(whole)) == Counter(row for piece in pieces for row in rows(piece))


def test_equal_texts_are_equal_letter_by_letter(spark: SparkSession) -> None:
    """A collation that ignores case merges nothing here, and a column without a type has no value."""
    frame = spark.sql("SELECT x COLLATE UTF8_LCASE AS x, NULL AS gap FROM VALUES ('a'), ('A'), ('b') AS t(x)")
    table = read(frame, Schema(quasi=("x", "gap")), "category")
    assert table.hierarchies[0].leaves == ("A", "a", "b")
    assert table.hierarchies[1].leaves == ("(missing)",)


def test_columns_go_by_position(spark: SparkSession) -> None:
    """Names with dots, backticks and spaces are read like any other."""
    rows = pa.table({"a.b": ["x", "y"], "c`d": [1, 2], "": ["p", "q"], "a": ["m", "n"]})
    table = read(to_spark(spark, rows), Schema(quasi=("a.b", "c`d", "a")))
    assert [h.leaves for h in table.hierarchies] == [("x", "y"), ("1", "2"), ("m", "n")]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("array(1)", "array<int>"),
        ("named_struct('a', 1)", "struct<a:int>"),
        ("map('a', 1)", "map<string,int>"),
        ("X'00'", "binary"),
        ("INTERVAL '1' DAY", "interval day"),
        ("parse_json('1')", "variant"),
    ],
)
def test_values_without_a_text_are_refused(spark: SparkSession, value: str, kind: str) -> None:
    """Nested and binary values cannot be generalized, and the sentence names the column and its type."""
    with pytest.raises(BadTable, match=rf"^Column 'x' holds values of type {kind}.*, which cannot be generalized"):
        read(spark.sql(f"SELECT {value} AS x"), Schema(quasi=("x",)))


def test_a_table_by_its_name(spark: SparkSession, tmp_path: Path) -> None:
    """A table of the session and a folder of Parquet are read by what stands after FROM in Spark."""
    frame = to_spark(spark, pa.table({"age": [1, 2, 2]}))
    frame.createOrReplaceTempView("people")
    frame.write.parquet(str(tmp_path / "people"))
    for name in ("people", f"parquet.`{tmp_path / 'people'}`"):
        for address in ("spark://local[2]", "spark://"):
            assert read(SparkTable(address, name), Schema(quasi=("age",))).weights.tolist() == [1, 2]
    assert spark.range(3).count() == 3  # the session of the program goes on
    spark.catalog.dropTempView("people")
    with pytest.raises(BadTable, match=r"^The table 'people' cannot be read by Spark: \[TABLE_OR_VIEW_NOT_FOUND\]"):
        read(SparkTable("spark://", "people"), Schema(quasi=("age",)))
    with pytest.raises(BadJob, match=r"A Spark session on 'local\[2\]' runs in this program, not on 'spark://a:7077'"):
        read(SparkTable("spark://a:7077", "people"), Schema(quasi=("age",)))


def test_a_job_names_a_table_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    """A job file reads a folder of Parquet through Spark, and asks for the table where none is named."""
    to_spark(spark, pa.table({"age": ["1", "2", "2"], "sex": ["f", "m", "m"]})).write.parquet(str(tmp_path / "p"))
    text = """
[data]
source = "spark://local[2]"
table = "parquet.`{folder}`"
[columns.age]
role = "quasi-identifier"
[columns.sex]
role = "quasi-identifier"
"""
    job = parse_job(text.format(folder=tmp_path / "p"), tmp_path)
    assert job.table().weights.tolist() == [1, 2]
    protect(job, "adult", str(tmp_path / "out.json"))
    with pytest.raises(BadJob, match=r'no table is named. Add table = "people" under \[data\]'):
        parse_job('[data]\nsource = "spark://"', tmp_path).rows_source()
    with pytest.raises(BadTable, match=r"'spark://a:1' is a Spark cluster. Say which table: kpareto.SparkTable"):
        read("spark://a:1", Schema(quasi=("age",)))


def test_a_population_in_spark(spark: SparkSession) -> None:
    """People of a frame of Spark, rolled up there, are behind the classes as those of an Arrow table are."""
    people = pa.table({"age": [str(20 + n % 11) for n in range(300)], "sex": ["fmx"[n % 3] for n in range(300)]})
    sample = people.filter(pa.array([n % 4 == 0 and n % 3 < 2 for n in range(300)]))
    schema, forms = Schema(("age", "sex")), {"age": {"intervals": [5, 10], "from": 20}}
    answers = []
    for source in (people, to_spark(spark, people)):
        table = read(sample, schema, hierarchies=forms, population=source)
        assert table.population is not None
        assert table.population.table is not None
        front = run_plan(problem(table, ["k-map", "presence-max", "lm"]))
        answers.append((bits(table), bits(table.population.table), front.numbers.values.tolist()))
    assert answers[0] == answers[1]
    assert "x" in table.hierarchies[1].leaves  # which only the population has


def test_unique_rows_are_counted_by_spark(spark: SparkSession) -> None:
    """Rows that are alone, as DuckDB counts them: blanks around texts and kinds of not-a-number make no difference."""
    rows = pa.table({"t": ["a", " a\t", "b", None, None], "x": [1.0, 1.0, float("nan"), None, float("nan")]})
    frame = to_spark(spark, rows)
    for names in (None, ["t"], ["x"]):
        assert unique_rows(frame, names) == unique_rows(rows, names)
    assert inspect(frame).to_dict() == inspect(rows).to_dict()


@pytest.mark.parametrize(
    ("address", "master"),
    [
        ("spark://", None),
        ("spark://local", "local"),
        ("spark://local[*]", "local[*]"),
        ("spark://yarn", "yarn"),
        ("spark://k8s://https://host:443", "k8s://https://host:443"),
        ("spark://a:7077,b:7077", "spark://a:7077,b:7077"),
    ],
)
def test_addresses(address: str, master: str | None) -> None:
    """What stands behind spark:// is the cluster."""
    assert SparkTable(address, "t").master == master


def test_a_wrong_address_is_a_sentence() -> None:
    """A host without a port is none."""
    with pytest.raises(BadJob, match=r"'spark://host' is no Spark cluster. Write spark://HOST:7077"):
        assert SparkTable("spark://host", "t").master


def test_failures_of_spark_say_what_to_do(spark: SparkSession) -> None:
    """Errors of the query name it; errors of the cluster say what to look after."""
    wrong = spark.sql("SELECT raise_error('the tape is torn') AS x FROM range(3)")
    with pytest.raises(BadTable, match=r"^The distinct rows cannot be counted by Spark: .*the tape is torn"):
        read(wrong, Schema(quasi=("x",)))
    assert why(ConnectionRefusedError()).startswith("Spark's driver is gone. Raise spark.driver.memory")
    assert "Raise spark.executor.memory" in why(RuntimeError("x\njava.lang.OutOfMemoryError: Java heap space"))
    assert "fewer columns" in why(RuntimeError("... is bigger than spark.driver.maxResultSize 1024.0 MiB"))
    assert first_line(RuntimeError("An error occurred while calling o1.x\n: java.io.IOException: torn.\n\tat")) == (
        "java.io.IOException: torn"
    )


def test_without_spark_or_java_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is missing, and how to install it."""
    (tmp_path / "job.toml").write_text(
        '[data]\nsource = "spark://local[2]"\ntable = "people"\n[columns.age]\nrole = "quasi-identifier"\n'
    )
    command = [sys.executable, "-W", "ignore", "-m", "kpareto", "front", str(tmp_path / "job.toml")]
    surroundings = {**os.environ, "JAVA_HOME": str(tmp_path)}
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 2
    told = done.stderr.splitlines()[-1]
    assert told.startswith("Spark does not start on 'local[2]' (")
    assert "It needs Java 17 or newer (on Debian: apt-get install default-jre-headless)" in told
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(BadInput, match=r"^Spark is not installed. Install it with: pip install 'kpareto\[spark\]'."):
        read(SparkTable("spark://", "people"), Schema(quasi=("age",)))
