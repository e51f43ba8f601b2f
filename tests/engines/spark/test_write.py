"""Releases by Spark: the same rows as DuckDB's, verified there, whole or not at all."""

from __future__ import annotations

import doctest
import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kpareto.engines.read import read
from kpareto.engines.spark import write as spark_write
from kpareto.engines.spark.connect import SparkTable, attend
from kpareto.engines.spark.hidden import Catalogued, Folder, folder_of, mark, writer_is_gone
from kpareto.engines.spark.write import SPARK, Views
from kpareto.errors import BadInput, BadJob, BadTable, Unsafe
from kpareto.faces import cli
from kpareto.releases.choice import Choice
from kpareto.releases.recoded_rows import Handling, share_out
from kpareto.releases.release import release
from kpareto.releases.risk import disclosing_columns
from kpareto.tables.partition import Suppression
from kpareto.tables.recoding import node
from kpareto.tables.schema import Schema
from kpareto.verifier import verify
from tests.twins.releases import chosen, chosen_locally, people, people_columns, uneven_people
from tests.twins.sparks import made, to_spark

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
    """The same rows as DuckDB writes, counted by Spark; our own verifier agrees with the certificate."""
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


def test_a_local_recoding_is_joined_with_its_classes(spark: SparkSession, tmp_path: Path) -> None:
    """Rows that are divided between classes are numbered by Spark; the same rows come out as of DuckDB."""
    target, crowd = tmp_path / "safe.parquet", to_spark(spark, uneven_people())
    choice = chosen_locally(crowd)
    assert share_out(choice, choice.partition()).divided
    done = release(choice, crowd, target)
    assert done.verified.numbers["k"] >= 4
    assert verify(target, done.certificate).rows == uneven_people().num_rows
    expected = release(chosen_locally(uneven_people()), uneven_people())
    assert multiset(pq.read_table(target)) == multiset(expected.data)


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
    honest = spark_write.put_rows

    def lying(views: Views, query: str, part: str, form: str) -> DataFrame:
        row = spark.sql("SELECT '20-29' AS age, 'X' AS sex, 'flu' AS illness, 'n' AS note")
        return honest(views, query, part, form).limit(119).localCheckpoint().unionByName(row)

    monkeypatch.setattr(spark_write, "put_rows", lying)
    place: Any = tmp_path / "safe.parquet" if target == "folder" else "safe_people"
    with pytest.raises(Unsafe, match=r"k"):
        release(chosen(crowd), crowd, place)
    assert names(tmp_path) == []
    assert not spark.catalog.listTables()
    assert names(warehouse(spark)) == []


def look_at_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns that fail or take long are not asked what they tell before they are written."""
    monkeypatch.setattr(disclosing_columns, "_fetch_sample", lambda *_: None)


def test_a_failing_write_leaves_nothing(
    spark: SparkSession, crowd: DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task that fails in the middle: one sentence, and neither folder nor table nor hidden parts."""
    look_at_nothing(monkeypatch)
    choice = chosen(crowd)
    torn = crowd.selectExpr(
        "name", "age", "sex", "illness", "if(age = 58, CAST(raise_error('the tape is torn') AS INT), age) AS note"
    )
    for place in (tmp_path / "safe.parquet", "safe_people"):
        with pytest.raises(BadTable, match=r"^The release could not be written by Spark.*the tape is torn"):
            release(choice, torn, place, handling=Handling(declared=("note",)))
    assert names(tmp_path) == []
    assert not spark.catalog.listTables()
    assert names(warehouse(spark)) == []


JOB = f"""
[data]
source = "spark://local[2]"
table = "(SELECT name, age, sex, illness, reflect('java.lang.Thread', 'sleep', 30000L) IS NULL AS note FROM crowd)"
{people_columns(10, 20)}
[columns.note]
role = "plain"
[release]
choose = "k=10"
target = "safe.parquet"
"""


def jobs_at_the_end(spark: SparkSession) -> list[int]:
    """Jobs still at work; a cancelled one ends when its tasks have heard of it, so they are given some minutes."""
    tracker = spark.sparkContext.statusTracker()
    until = time.monotonic() + 240
    while tracker.getActiveJobsIds() and time.monotonic() < until:
        time.sleep(0.1)
    return list(tracker.getActiveJobsIds())


def test_an_interrupt_cancels_the_job_and_leaves_nothing(
    spark: SparkSession, crowd: DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while Spark writes for ``kpareto release``: status 130, the job is cancelled, and no part is left."""
    look_at_nothing(monkeypatch)
    crowd.createOrReplaceTempView("crowd")
    (tmp_path / "job.toml").write_text(JOB)
    tracker = spark.sparkContext.statusTracker()
    honest = spark_write.put_rows
    over = threading.Event()

    def at_work() -> bool:
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        return any(stage.numActiveTasks for stage in stages if stage)

    def interrupted(views: Views, query: str, part: str, form: str) -> DataFrame:
        def strike() -> None:
            while not (over.is_set() or at_work()):
                over.wait(0.05)
            if not over.is_set():  # a command that failed early must not let Ctrl-C reach the next test
                os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=strike, daemon=True).start()
        return honest(views, query, part, form)

    monkeypatch.setattr(spark_write, "put_rows", interrupted)
    try:
        assert cli.main(["release", str(tmp_path / "job.toml"), "--quiet"]) == 130
    finally:
        over.set()
        spark.catalog.dropTempView("crowd")
    assert names(tmp_path) == ["job.front.json", "job.toml"]  # the front is kept
    assert jobs_at_the_end(spark) == []


def test_an_interrupt_while_spark_reads(spark: SparkSession, crowd: DataFrame, tmp_path: Path) -> None:
    """Ctrl-C while Spark counts rows for ``kpareto front``: status 130, and its job is cancelled."""
    slow = crowd.mapInArrow(_wait_for_each_batch, crowd.schema)
    slow.createOrReplaceTempView("crowd")
    (tmp_path / "job.toml").write_text(JOB)
    tracker = spark.sparkContext.statusTracker()

    over = threading.Event()

    def strike() -> None:
        while not (over.is_set() or tracker.getActiveJobsIds()):
            over.wait(0.05)
        if not over.is_set():
            os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=strike, daemon=True).start()
    try:
        assert cli.main(["front", str(tmp_path / "job.toml"), "--quiet"]) == 130
    finally:
        over.set()
        spark.catalog.dropTempView("crowd")
    assert names(tmp_path) == ["job.toml"]
    assert jobs_at_the_end(spark) == []


def _wait_for_each_batch(batches: Any) -> Any:
    """Rows that are long in coming; the function is sent to other processes, with its own import."""
    import time as clock

    for batch in batches:
        clock.sleep(5)
        yield batch


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
    part = Far(spark, folder.hiding_place().address)
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
    assert spark.sql(f"SELECT {SPARK.literal(text)} AS x").collect()[0][0] == text


@pytest.mark.parametrize("few", [False, True])
def test_order_depends_on_the_rows_and_the_seed_alone(
    spark: SparkSession, crowd: DataFrame, monkeypatch: pytest.MonkeyPatch, few: bool
) -> None:
    """The same rows in other partitions come out in the same order; another seed gives another; none is lost."""
    monkeypatch.setattr("kpareto.engines.spark.write.AT_ONCE", 2)  # each sex has each age three times

    def order(frame: DataFrame, seed: int) -> list[tuple[object, ...]]:
        rows = "SELECT age AS o0, nullif(sex, 'F') AS o1 FROM {frame}"
        query = SPARK.shuffled(rows, ["o0", "o1"], ["o0", "o1"], seed, few)
        return [tuple(row) for row in spark.sql(query, frame=frame).collect()]

    first = order(crowd, 1)
    assert first == order(crowd.repartition(5, "age"), 1)
    assert first != order(crowd, 2)
    expected = [(row.age, None if row.sex == "F" else row.sex) for row in crowd.collect()]
    assert Counter(first) == Counter(expected)


def test_the_code_on_the_page_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example of docs/spark.md prints what the page says, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).parents[3] / "docs" / "spark.md"
    found = doctest.testfile(str(page), module_relative=False, encoding="utf-8", optionflags=doctest.ELLIPSIS)
    assert (found.failed, names(tmp_path)) == (0, ["people-safe.parquet"])


def test_progress_by_the_tasks_that_are_done(spark: SparkSession) -> None:
    """Spark's status tracker says how many tasks of how many are done; a report that raises cancels the work."""
    slow = spark.range(0, 4, 1, 4).selectExpr("reflect('java.lang.Thread', 'sleep', 300L * (id + 1)) AS a")
    told: list[tuple[int, int]] = []
    some_done = threading.Event()

    def report(done: int, total: int) -> None:
        told.append((done, total))
        if done:
            some_done.set()

    def collect() -> list[Any]:
        rows = slow.collect()
        assert some_done.wait(60)  # whoever counts tasks may have had no turn while they ran
        return rows

    assert len(attend(spark, collect, report)) == 4
    assert max(total for _, total in told) == 4
    assert all(done <= total for done, total in told)

    endless = spark.range(0, 2, 1, 2).selectExpr("reflect('java.lang.Thread', 'sleep', 1200000L * (id + 1)) AS a")

    def begin_late() -> object:
        time.sleep(1)
        return endless.collect()

    for work, begun in ((endless.collect, True), (begin_late, False)):

        def stop(done: int, total: int, begun: bool = begun) -> None:
            if total or not begun:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            attend(spark, work, stop)
        assert jobs_at_the_end(spark) == []
    assert spark.range(3).count() == 3


def test_ctrl_c_leaves_the_connections_of_others_alone(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that Ctrl-C reaches asks Spark nothing meanwhile, and returns only when the work has ended.

    Otherwise Py4J closes the connection of a worker between two questions, whose next job is in no group any more.
    """
    from py4j.java_gateway import GatewayClient

    asked: list[threading.Thread] = []
    honest = GatewayClient.send_command
    late, ended = threading.Event(), threading.Event()

    def listed(client: Any, *words: Any, **more: Any) -> Any:
        if not late.is_set():
            asked.append(threading.current_thread())
        return honest(client, *words, **more)

    def work() -> None:
        first = len(asked)
        while len(asked) < first + 20:  # questions of whoever looks after the work
            time.sleep(0.01)
        late.set()
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
        ended.set()

    endless = spark.range(0, 2, 1, 2).selectExpr("reflect('java.lang.Thread', 'sleep', 1200000L * (id + 1)) AS a")

    def work_on() -> object:
        work()
        return endless.collect()

    with monkeypatch.context() as patch:
        patch.setattr(GatewayClient, "send_command", listed)
        with pytest.raises(KeyboardInterrupt):
            attend(spark, work_on, lambda *_: None)
    assert ended.is_set()
    assert len(asked) >= 20
    begun = next(place for place, each in enumerate(asked) if each is not threading.main_thread())
    assert threading.main_thread() not in asked[begun:]
    assert jobs_at_the_end(spark) == []
