"""Releases by Spark: the same rows as DuckDB's, verified there, whole or not at all."""

from __future__ import annotations

import doctest
import os
import signal
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kpareto import cli
from kpareto.errors import BadInput, BadJob, BadTable, Unsafe
from kpareto.frames import read
from kpareto.partition import Suppression
from kpareto.recoded import Handling
from kpareto.recoding import node
from kpareto.release import release
from kpareto.schema import Schema
from kpareto.spark import SparkTable
from kpareto.spark_folder import Catalogued, Folder, folder_of, mark, writer_is_gone
from kpareto.spark_out import SparkDialect, SparkPlace
from kpareto.stored import Choice
from kpareto.verify import verify
from tests.releases import chosen, people
from tests.sparks import made, to_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.xdist_group("spark")

TOKENS = Handling(identifiers="token")


@pytest.fixture(scope="module")
def crowd(spark: SparkSession) -> DataFrame:
    """The people of the other tests, in Spark."""
    return to_spark(spark, people()).cache()


def names(folder: Path) -> list[str]:
    """What is in a folder, hidden or not."""
    return sorted(path.name for path in folder.iterdir())


def warehouse(spark: SparkSession) -> Path:
    """Where the tables of the catalog are."""
    return Path(str(spark.conf.get("spark.sql.warehouse.dir")).removeprefix("file:"))


def multiset(rows: Any) -> Counter[str]:
    """Released rows, in any order; engines differ in which of two equal zeros they keep."""
    table = rows if isinstance(rows, pa.Table) else rows.toArrow()

    def cell(value: object) -> object:
        return value + 0.0 if isinstance(value, float) else value

    return Counter(repr([(name, cell(row[name])) for name in sorted(row)]) for row in table.to_pylist())


def test_a_folder_of_parts_is_what_duckdb_releases(spark: SparkSession, crowd: DataFrame, tmp_path: Path) -> None:
    """The same rows as DuckDB writes, counted by Spark; the verifier of this house agrees with the certificate."""
    target = tmp_path / "safe.parquet"
    done = release(chosen(crowd), crowd, target)
    assert (done.path, done.data, done.verified.numbers["k"]) == (target, None, 15)
    assert done.certificate.public["engine"] == done.certificate.public["counted_by"] == f"Spark {spark.version}"
    assert verify(target, done.certificate).rows == 120
    expected = release(chosen(people()), people())
    assert multiset(pq.read_table(target)) == multiset(expected.data)
    assert names(tmp_path) == ["safe.parquet"]
    assert not spark.catalog.listTables()  # none of our views is left
    with pytest.raises(BadInput, match=r"^Cannot write '.*safe.parquet': it is there already. Remove it"):
        release(chosen(crowd), crowd, target)


def test_a_made_table_is_released_as_by_duckdb(spark: SparkSession) -> None:
    """Every kind of value finds its text and its group: the same rows, masked and suppressed alike."""
    rows = made()
    frame = to_spark(spark, rows)
    quasi = ("text", "decimal", "day", "moment", "clock", "single", "small")
    released = []
    for source in (rows, frame):
        table = read(source, Schema(quasi=quasi, sensitive=("flag", "float")), "category")
        choice = Choice(
            table, node(table.hierarchies, (0, 1, 1, 0, 1, 1, 0)), Suppression("below-k", 0.9, 2, "mask"), {}
        )
        how = Handling(left_out=("large", "dotted.name `x`"), formulas="neutralise")
        done = release(choice, source, handling=how)
        released.append((multiset(done.data), done.certificate.public["claims"], done.formulas, done.suppressed))
    assert released[0] == released[1]
    assert 0 < done.suppressed < 60


def test_a_frame_has_tokens_that_stay(spark: SparkSession, crowd: DataFrame) -> None:
    """Without a target the answer is a frame; each row has a token of its own, the same whenever it is asked."""
    done = release(chosen(crowd), crowd, handling=TOKENS)
    first, second = done.data.toArrow(), done.data.toArrow()
    assert first.equals(second)
    tokens = first.column("name").to_pylist()
    assert len(set(tokens)) == 120
    assert all(len(token) == 32 and int(token, 16) >= 0 for token in tokens)
    assert done.certificate.public["release"]["format"] == "frame"
    other = release(chosen(crowd), crowd, handling=TOKENS)
    assert not set(tokens) & set(other.data.toArrow().column("name").to_pylist())


def test_a_table_of_the_catalog(spark: SparkSession, crowd: DataFrame) -> None:
    """A table appears under its name when it is verified, and is never overwritten."""
    done = release(chosen(crowd), crowd, "safe_people")
    assert done.certificate.public["release"]["format"] == "table"
    assert verify(spark.table("safe_people"), done.certificate).rows == 120
    with pytest.raises(Unsafe, match=r"^The release has 119 rows, and the certificate says 120"):
        verify(spark.table("safe_people").limit(119), done.certificate)
    with pytest.raises(Unsafe, match=r"^The release has the columns age, sex, illness; the certificate says"):
        verify(spark.table("safe_people").drop("note"), done.certificate)
    assert multiset(spark.table("safe_people")) == multiset(release(chosen(people()), people()).data)
    assert [table.name for table in spark.catalog.listTables()] == ["safe_people"]
    with pytest.raises(BadInput, match=r"^Cannot write the table 'default.safe_people': it is there already. Drop it"):
        release(chosen(crowd), crowd, SparkTable("spark://", "default.safe_people"))  # type: ignore[arg-type]
    spark.sql("DROP TABLE safe_people")


@pytest.mark.parametrize("target", ["folder", "table"])
def test_a_planted_violation_is_found(
    spark: SparkSession, crowd: DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    """Spark writes one row with a label that nobody chose; the count finds it, and nothing is left."""
    honest = SparkPlace.write

    def lying(self: SparkPlace, recoded: Any) -> None:
        honest(self, recoded)
        row = spark.sql("SELECT '20-29' AS age, 'X' AS sex, 'flu' AS illness, 'n' AS note")
        kept = self._written().limit(119).localCheckpoint()
        self.made = kept.unionByName(row)

    monkeypatch.setattr(SparkPlace, "write", lying)
    place: Any = tmp_path / "safe.parquet" if target == "folder" else "safe_people"
    with pytest.raises(Unsafe, match=r"k"):
        release(chosen(crowd), crowd, place)
    assert names(tmp_path) == []
    assert not spark.catalog.listTables()
    assert names(warehouse(spark)) == []


def test_a_failing_write_leaves_nothing(spark: SparkSession, crowd: DataFrame, tmp_path: Path) -> None:
    """A task that fails in the middle: one sentence, and neither folder nor table nor hidden parts."""
    choice = chosen(crowd)
    torn = crowd.selectExpr(
        "name", "age", "sex", "illness", "if(age = 58, CAST(raise_error('the tape is torn') AS INT), age) AS note"
    )
    for place in (tmp_path / "safe.parquet", "safe_people"):
        with pytest.raises(BadTable, match=r"^The release could not be written by Spark.*the tape is torn"):
            release(choice, torn, place)
    assert names(tmp_path) == []
    assert not spark.catalog.listTables()
    assert names(warehouse(spark)) == []


JOB = """
[data]
source = "spark://local[2]"
table = "(SELECT name, age, sex, illness, reflect('java.lang.Thread', 'sleep', 30000L) IS NULL AS note FROM crowd)"
[columns.age]
role = "quasi-identifier"
hierarchy = {intervals = [10, 20], from = 20}
[columns.sex]
role = "quasi-identifier"
[columns.illness]
role = "sensitive"
[columns.name]
role = "identifier"
[release]
choose = "k=10"
target = "safe.parquet"
"""


def test_an_interrupt_cancels_the_job_and_leaves_nothing(
    spark: SparkSession, crowd: DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while Spark writes for ``kpareto release``: status 130, the job is cancelled, and no part is left."""
    crowd.createOrReplaceTempView("crowd")
    (tmp_path / "job.toml").write_text(JOB)
    tracker = spark.sparkContext.statusTracker()
    honest = SparkPlace.write

    def at_work() -> bool:
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        return any(stage.numActiveTasks for stage in stages if stage)

    def interrupted(self: SparkPlace, recoded: Any) -> None:
        def strike() -> None:
            while not at_work():
                threading.Event().wait(0.05)
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=strike).start()
        honest(self, recoded)

    monkeypatch.setattr(SparkPlace, "write", interrupted)
    try:
        assert cli.main(["release", str(tmp_path / "job.toml"), "--quiet"]) == 130
    finally:
        spark.catalog.dropTempView("crowd")
    assert names(tmp_path) == ["job.toml"]
    assert tracker.getActiveJobsIds() == []


def test_what_killed_programs_left_is_swept(spark: SparkSession, crowd: DataFrame, tmp_path: Path) -> None:
    """Parts of dead processes go; those of living ones, of other targets and of other machines stay."""
    dead = f"{mark().split('_')[0]}_{2**22 + 1}_0123abcd"  # above what the kernel gives to processes
    assert writer_is_gone(dead, 0)
    assert not writer_is_gone(mark(), 1e9)
    assert not writer_is_gone("somebody", 1e9)
    assert not writer_is_gone("00000000_1_0123abcd", 3600)
    assert writer_is_gone("00000000_1_0123abcd", 30 * 86_400)
    for name in (f".safe.parquet.{dead}.part", f".safe.parquet.{mark()}.part", f".other.{dead}.part"):
        (tmp_path / name).mkdir()
    release(chosen(crowd), crowd, tmp_path / "safe.parquet")
    left = names(tmp_path)
    assert len(left) == 3
    assert f".safe.parquet.{dead}.part" not in left
    spark.sql(f"CREATE TABLE safe_people_kpareto_{dead} USING parquet AS SELECT 1 AS a")
    Catalogued(spark, "safe_people").sweep()
    assert not spark.catalog.listTables()


def test_folders_of_other_file_systems(spark: SparkSession, tmp_path: Path) -> None:
    """What is not on this machine goes through Hadoop; here that is shown with a name Hadoop alone understands."""

    class Far(Folder):
        @property
        def local(self) -> None:
            return None

    folder = Far(spark, f"file:{tmp_path}/a b/safe")
    (tmp_path / "a b").mkdir()
    part = Far(spark, folder.hidden().address)
    spark.range(3).write.parquet(part.written)
    assert part.exists()
    assert not folder.exists()
    part.rename(folder)
    assert spark.read.parquet(folder.written).count() == 3
    with pytest.raises(BadInput, match="it is there already"):
        folder.check("x")
    folder.delete()
    assert not folder.exists()
    assert folder_of(spark, str(tmp_path / "a b")).local == tmp_path / "a b"
    assert folder_of(spark, f"file://{tmp_path}/x").local == tmp_path / "x"


def test_wrong_wishes_are_sentences(crowd: DataFrame, tmp_path: Path) -> None:
    """The order of rows, CSV, and folders that are not there."""
    with pytest.raises(BadJob, match=r"Spark does not promise to keep the order of rows. Write order = 'shuffled'"):
        release(chosen(crowd), crowd, handling=Handling(order="kept"))
    with pytest.raises(BadJob, match=r"Spark writes folders of Parquet parts, not 'safe.csv'"):
        release(chosen(crowd), crowd, "safe.csv")
    with pytest.raises(BadInput, match=r"there is no folder '.*nowhere'. Make it first"):
        release(chosen(crowd), crowd, tmp_path / "nowhere" / "safe.parquet")
    with pytest.raises(BadInput, match=r"A list is no release. Give a file, a folder, a table or a frame of Spark"):
        verify([], release(chosen(people()), people()).certificate)  # type: ignore[arg-type]
    with pytest.raises(BadJob, match="Spark cannot write to a int"):
        release(chosen(crowd), crowd, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "plain", "it's", "back\\slash", "日本", "a\nb", '"', "%_", "$x", "{}"])
def test_texts_survive_queries(spark: SparkSession, text: str) -> None:
    """A literal is the text it was made of, whatever stands in it."""
    assert spark.sql(f"SELECT {SparkDialect().literal(text)} AS x").collect()[0][0] == text


@pytest.mark.parametrize("few", [False, True])
def test_order_depends_on_the_rows_and_the_seed_alone(
    spark: SparkSession, crowd: DataFrame, monkeypatch: pytest.MonkeyPatch, few: bool
) -> None:
    """The same rows in other partitions come out in the same order; another seed gives another; none is lost."""
    monkeypatch.setattr("kpareto.spark_out.AT_ONCE", 2)  # each sex has each age three times

    def order(frame: DataFrame, seed: int) -> list[tuple[object, ...]]:
        rows = "SELECT age AS o0, nullif(sex, 'F') AS o1 FROM {frame}"
        query = SparkDialect().shuffled(rows, ["o0", "o1"], ["o0", "o1"], seed, few)
        return [tuple(row) for row in spark.sql(query, frame=frame).collect()]

    first = order(crowd, 1)
    assert first == order(crowd.repartition(5, "age"), 1)
    assert first != order(crowd, 2)
    expected = [(row.age, None if row.sex == "F" else row.sex) for row in crowd.collect()]
    assert Counter(first) == Counter(expected)


def test_the_code_on_the_page_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example of docs/spark.md prints what the page says, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).parents[1] / "docs" / "spark.md"
    found = doctest.testfile(str(page), module_relative=False, encoding="utf-8", optionflags=doctest.ELLIPSIS)
    assert (found.failed, names(tmp_path)) == (0, ["people-safe.parquet"])
