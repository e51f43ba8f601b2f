"""The way in of tables larger than memory: counted first, told, spilled, refused, made coarser or drawn from."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.engines import admission as mem
from kpareto.engines.distinct import Draw, text_keys, ticking
from kpareto.engines.duckdb.connect import FOLDER, HELD, LEAST, carry_out, engine, hold
from kpareto.engines.duckdb.files import hold_file, scan
from kpareto.engines.form import DataFile
from kpareto.engines.read import fingerprint, read
from kpareto.errors import BadJob, BadTable
from kpareto.faces.cli.releases import show_release
from kpareto.faces.report.words import proof
from kpareto.fronts.front import front_sentence, load_front
from kpareto.jobs.front import front
from kpareto.jobs.parse import load_job, parse_job
from kpareto.releases.release import release
from kpareto.tables.partition import classes
from kpareto.tables.recoding import node
from kpareto.tables.schema import Schema
from kpareto.tables.table import Sample, Table
from kpareto.verifier import verify
from tests.twins.postgres_server import Server, put
from tests.twins.sparks import to_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """The estimate counts threads, so that equal tables need more on larger machines."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)


# -- sizes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "count"),
    [
        ("500 MB", 500_000_000),
        ("2 GiB", 2 << 30),
        ("1.5gb", 1_500_000_000),
        (" 64MiB ", 64 << 20),
        ("1,000,000 KB", 10**9),
        (3_000_000, 3_000_000),
    ],
)
def test_sizes_are_read(size: str | int, count: int) -> None:
    """Decimal and binary units, with or without a blank, in any case."""
    assert mem.size_bytes(size) == count
    assert mem.allowed_bytes(size) == count


@pytest.mark.parametrize("size", ["", "lots", "5", "5 apples", "-3 MB", "MB", 5.0, True, "12 XB"])
def test_nonsense_is_a_sentence(size: Any) -> None:
    """What stands there, and what may."""
    with pytest.raises(BadJob, match=r'The memory is .*\. Write it as "500 MB" or "2 GiB"'):
        mem.size_bytes(size)
    with pytest.raises(BadJob, match=r"less than 1\.0 MB is of no use"):
        mem.size_bytes("20 KB")


@pytest.mark.parametrize(("size", "text"), [(310e6, "310 MB"), (1.24e9, "1.2 GB"), (2e12, "2.0 TB"), (999, "999 B")])
def test_sizes_are_told(size: float, text: str) -> None:
    """Two digits are enough."""
    assert mem.size_text(size) == text


def test_half_of_what_is_free_is_taken(tmp_path: Path) -> None:
    """The least of what the system and each control group above the process leave."""
    assert 0 < mem.allowed_bytes(None) <= mem._system_free()
    membership, root = tmp_path / "cgroup", tmp_path / "sys"
    inner = root / "a" / "b"
    inner.mkdir(parents=True)
    membership.write_text("0::/a/b\n")
    for folder, limit, used in ((inner, "max", 5), (root / "a", "3000", 1000)):
        (folder / "memory.max").write_text(f"{limit}\n")
        (folder / "memory.current").write_text(f"{used}\n")
        (folder / "memory.stat").write_text("anon 1\ninactive_file 250\n")
    assert mem._container_free(membership, root) == [2250]
    old = root / "memory" / "box"
    old.mkdir(parents=True)
    membership.write_text("4:cpu:/x\n7:memory:/box\n")
    for name, text in (("limit_in_bytes", "900"), ("usage_in_bytes", "1000")):
        (old / f"memory.{name}").write_text(text)
    (old / "memory.stat").write_text("")
    assert mem._container_free(membership, root) == [0]
    assert mem._container_free(tmp_path / "none", root) == []


# -- the estimate --------------------------------------------------------------------------------------------------

MEASURED = """
import json, os, sys
os.cpu_count = lambda: 2  # the estimate counts threads
import numpy as np, pyarrow as pa
from kpareto.tables.adult import adult_table
from kpareto.engines.read import read
from kpareto.jobs.front import front
from kpareto.tables.schema import Schema

front(adult_table(), objectives=("k", "l", "glm"))  # everything is loaded and compiled
def number(key):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(key))
with open("/proc/self/clear_refs", "w") as peak:
    peak.write("5")
before = number("VmRSS")
schema = Schema(quasi=("a", "b", "c"), sensitive=("s",))
table = read(sys.argv[1], schema, memory="100 GB")
front(table, objectives=("k", "l", "glm"))
print(json.dumps([table.distinct, table.remarks[0], number("VmHWM") - before]))
"""


@pytest.fixture(scope="module")
def near_unique(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A million rows, nearly all of them different, as Parquet."""
    rng = np.random.default_rng(5)
    rows = 1_000_000
    path = tmp_path_factory.mktemp("near") / "near.parquet"
    columns = {name: rng.integers(size, size=rows) for name, size in (("a", 90), ("b", 400), ("c", 2000))}
    pq.write_table(pa.table({**columns, "s": rng.integers(8, size=rows)}), path)
    return path


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak can be asked for on Linux alone")
def test_the_estimate_is_within_a_factor_of_two(near_unique: Path) -> None:
    """What was said before the rows were fetched, beside what reading and searching really took."""
    answer = subprocess.run(
        [sys.executable, "-c", MEASURED, str(near_unique)], capture_output=True, text=True, check=True
    )
    distinct, remark, taken = json.loads(answer.stdout)
    with engine() as own:
        hold_file(scan(DataFile(near_unique), own), own, ("a", "b", "c", "s"))
        held = own.connection.execute(f"SELECT count(*) FROM {HELD}").fetchall()[0][0]
    told = mem.table_bytes(held, 4, [8], 90 + 400 + 2000 + 8)
    assert distinct > 900_000
    assert remark.startswith(f"{held:,} distinct rows of 1,000,000; about ")
    assert told / 2 < taken < told * 2


def test_more_columns_values_and_rows_take_more() -> None:
    """The estimate rises with all it is made of, and says how many rows fit."""
    assert mem.table_bytes(10, 5) < mem.table_bytes(20, 5) < mem.table_bytes(20, 6) < mem.table_bytes(20, 6, [30])
    assert mem.table_bytes(20, 5) + 300 * 7 == mem.table_bytes(20, 5, values=7)
    fits = mem.most_distinct(10**9, 5, [4])
    assert mem.table_bytes(fits, 5, [4]) <= 10**9 < mem.table_bytes(fits + 2, 5, [4])


# -- spilling ------------------------------------------------------------------------------------------------------


def test_a_table_larger_than_memory_is_grouped_on_disk(tmp_path: Path) -> None:
    """Groups of several times the memory allowed are the groups that all memory gives, and the folder goes."""
    rng = np.random.default_rng(3)
    rows = 2_400_000
    numbers = rng.integers(10**12, size=rows)
    numbers[: rows // 3] = numbers[rows // 3 : 2 * (rows // 3)]
    path = tmp_path / "wide.parquet"
    words = pa.array(np.char.add("a text that is long enough not to be kept in place ", numbers.astype(str)))
    pq.write_table(pa.table({"a": words, "b": pa.array(numbers)}), path)
    assert words.nbytes > LEAST
    answers, spilled = [], 0
    for limit in (1_000_000, None):
        with engine(limit) as own:
            hold_file(scan(DataFile(path), own), own, ("a", "b"))
            asked = own.connection.execute(
                f"SELECT count(*), sum(weight), bit_xor(hash(v0, v1, weight)), sum(v1) FROM {HELD}"
            )
            answers.append(asked.fetchall())
            found = own.connection.execute("SELECT coalesce(sum(size), 0) FROM duckdb_temporary_files()").fetchall()
            spilled = max(spilled, int(found[0][0]))
            folder = own.folder
        assert not folder.exists()
    assert answers[0] == answers[1]
    assert spilled > 0


class Crowded:
    """A connection in which a query has room for so many threads, and in which what happens is written down."""

    def __init__(self, room: int, reason: str = "could not allocate block of size 256.0 KiB") -> None:
        self.own = duckdb.connect(":memory:", config={"threads": 4})
        self.room, self.reason = room, reason
        self.threads: list[int] = []  # of each try
        self.told: list[int] = []

    def count(self) -> int:
        """How many threads may work now."""
        return int(self.own.execute("SELECT current_setting('threads')").fetchall()[0][0])

    def execute(self, query: str) -> duckdb.DuckDBPyConnection:
        """Run a query, unless there is too little room for it."""
        if query.startswith("CREATE"):
            self.threads.append(self.count())
            if self.threads[-1] > self.room:
                raise duckdb.OutOfMemoryException(self.reason)
        return self.own.execute(query)

    def hold(self, again: bool = True) -> None:
        """Make a table of one row."""
        query = "CREATE TABLE t AS SELECT 7 AS a"
        carry_out(cast(Any, self), query, lambda done, _: self.told.append(done), again=again)


def test_where_threads_have_too_little_memory_one_alone_tries_again() -> None:
    """Once, and only where it can help; afterwards all threads work again, whether it helped or not."""
    crowded = Crowded(room=1)
    crowded.hold()
    assert crowded.threads == [4, 1]
    assert crowded.own.execute("FROM t").fetchall() == [(7,)]
    assert crowded.told[-1] == 100
    assert crowded.count() == 4
    for room, reason, threads in ((0, "no", [4, 1]), (1, "No space left on disk", [4]), (4, "", [4])):
        other = Crowded(room, reason)
        with nullcontext() if room == 4 else pytest.raises(duckdb.OutOfMemoryException):
            other.hold()
        assert (other.threads, other.count()) == (threads, 4)
    untidy = Crowded(room=1)
    with pytest.raises(duckdb.OutOfMemoryException):
        untidy.hold(again=False)
    assert untidy.threads == [4]


# -- too many distinct rows ------------------------------------------------------------------------------------------

SCHEMA = Schema(quasi=("a", "b", "c"), sensitive=("s",))
RULES: dict[str, Any] = {
    "a": {"intervals": [30], "from": 0},
    "b": {"intervals": [100], "from": 0},
    "c": {"intervals": [500], "from": 0},
}
FIRST = {"a": 1, "b": 1, "c": 1}

NARROW = """
import json, os, sys
os.cpu_count = lambda: 2
from kpareto.errors import BadTable
from kpareto.engines.read import read
from kpareto.tables.schema import Schema
import duckdb, numba, pyarrow.compute, pyarrow.parquet
def number(key):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(key))
before = number("VmRSS")
try:
    table = read(sys.argv[1], Schema(quasi=("a", "b", "c"), sensitive=("s",)), **json.loads(sys.argv[2]))
    answer = [table.rows, table.distinct, *table.remarks]
except BadTable as error:
    answer = str(error)
print(json.dumps([answer, number("VmHWM") - before]))
"""


def test_a_sample_that_is_told_is_drawn_though_all_rows_fit() -> None:
    """So many rows, by the seed, and all of them where there are no more; without a number memory decides."""
    whole = read(people(), PEOPLE, hierarchies=LEVELS)
    some = read(people(), PEOPLE, hierarchies=LEVELS, too_many="sample", sample=500, seed=7)
    again = read(people(), PEOPLE, hierarchies=LEVELS, memory="1 MB", too_many="sample", sample=500, seed=7)
    assert (some.rows, some.sample) == (500, Sample(500, whole.rows, 7))
    assert some.codes.tobytes() == again.codes.tobytes()
    for told in (None, whole.rows):
        every = read(people(), PEOPLE, hierarchies=LEVELS, too_many="sample", sample=told)
        assert (every.rows, every.sample) == (whole.rows, None)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak can be asked for on Linux alone")
@pytest.mark.parametrize("policy", ["error", "coarsen", "sample"])
def test_near_unique_rows_never_crash(near_unique: Path, policy: str) -> None:
    """A million distinct rows in 50 MB: a sentence, a coarser table, or a sample; never the rows themselves."""
    asked = {"memory": "50 MB", "too_many": policy, "hierarchies": RULES, "first": FIRST, "sample": 9000}
    answer = subprocess.run(
        [sys.executable, "-c", NARROW, str(near_unique), json.dumps(asked)], capture_output=True, text=True, check=True
    )
    found, taken = json.loads(answer.stdout)
    assert taken < 300_000_000  # all rows take more than 360 MB
    if policy == "error":
        assert found.startswith("The table has 99")
        assert "distinct rows (of 1,000,000), which need about " in found
        assert "and 50 MB may be used. The columns with most values are c (" in found
        assert 'too_many = "coarsen"' in found
        assert 'too_many = "sample"' in found
    elif policy == "coarsen":
        assert found[:2] == [1_000_000, 3 * 4 * 4]
        assert "'c' begins at level 1 of 2." in found[3]
    else:
        assert found[0] == 9000
        assert found[3].startswith("Read a sample of 9,000 of 1,000,000 rows (seed 1), ")


def test_what_cannot_be_helped_is_a_sentence(near_unique: Path) -> None:
    """Too many even when coarser, a sample that does not fit, and a column of names."""
    with pytest.raises(BadTable, match=r"distinct rows \(of 1,000,000\) even with a at level 1, which need about"):
        read(near_unique, SCHEMA, hierarchies=RULES, memory="64 MB", too_many="coarsen", first={"a": 1})
    with pytest.raises(BadTable, match=r"A sample of 200,000 rows needs up to .* MB.* such as sample = [1-9]0+, or"):
        read(near_unique, SCHEMA, memory="64 MB", too_many="sample")
    names = pa.table({"name": [f"n{i}" for i in range(20_000)]})
    with pytest.raises(BadTable, match=r"Column 'name' has about [0-9,]+ different values, which alone do not fit"):
        read(names, Schema(quasi=("name",)), memory="2 MB", too_many="sample", sample=10)
    with pytest.raises(BadJob, match=r"too_many is 'samples'. Did you mean 'sample'\?"):
        read(names, Schema(quasi=("name",)), too_many="samples")  # type: ignore[arg-type]
    with pytest.raises(BadJob, match=r"sample is 0. Give a whole number of at least 1."):
        read(names, Schema(quasi=("name",)), sample=0)


# -- samples -------------------------------------------------------------------------------------------------------


def people(rows: int = 3000) -> pa.Table:
    """Rows with blanks, missing values, numbers and repeats."""
    rng = np.random.default_rng(11)
    sex = rng.choice(np.array(["f", "m", " m", "?"], dtype=object), size=rows, p=[0.5, 0.4, 0.05, 0.05])
    return pa.table(
        {
            "age": pa.array(rng.integers(20, 60, size=rows), mask=rng.random(rows) < 0.03),
            "zip": pa.array([f"{n:05d}" for n in rng.integers(120, size=rows)]),
            "sex": pa.array(sex.tolist()),
            "ill": pa.array(rng.choice(["flu", "cold", "gout"], size=rows).tolist()),
        }
    )


PEOPLE = Schema(quasi=("age", "zip", "sex"), sensitive=("ill",))
LEVELS: dict[str, Any] = {"age": {"intervals": [10, 20], "from": 0}, "zip": {"prefix": [4, 3]}}


def drawn(source: object, seed: int = 1, rows: int = 500) -> Table:
    """A sample of so many rows, drawn because all of them do not fit."""
    return read(source, PEOPLE, hierarchies=LEVELS, memory="1 MB", too_many="sample", sample=rows, seed=seed)


def same(one: Table, other: Table) -> bool:
    """Whether two tables hold the same rows."""
    return (
        np.array_equal(one.codes, other.codes)
        and np.array_equal(one.weights, other.weights)
        and one.sample == other.sample
        and one.dropped == other.dropped
        and all(
            a.values == b.values and np.array_equal(a.code, b.code) and np.array_equal(a.count, b.count)
            for a, b in zip(one.sensitive, other.sensitive, strict=True)
        )
    )


def test_a_sample_depends_on_nothing_but_rows_and_seed(tmp_path: Path) -> None:
    """Every engine and every order of rows give the same sample; another seed gives another."""
    rows = people()
    first = drawn(rows)
    assert (first.rows, first.dropped) == (500, read(rows, PEOPLE).dropped)
    assert first.sample is not None
    assert first.sample.of == read(rows, PEOPLE).rows
    pq.write_table(rows, tmp_path / "people.parquet")
    pyarrow.csv.write_csv(rows, tmp_path / "people.csv")
    order = np.random.default_rng(1).permutation(rows.num_rows)
    frame = pl.from_arrow(rows)
    assert isinstance(frame, pl.DataFrame)
    for source in (
        rows.take(pa.array(order)),
        tmp_path / "people.parquet",
        tmp_path / "people.csv",
        rows.to_pandas(),
        frame,
        frame.lazy(),
        duckdb.arrow(rows),
    ):
        assert same(drawn(source), first), type(source)
    assert not same(drawn(rows, seed=2), first)
    kept: dict[str, Any] = {"missing": "category", "memory": "1 MB", "too_many": "sample", "sample": 100}
    assert same(read(rows, PEOPLE, **kept), read(frame.lazy().reverse(), PEOPLE, **kept))


def many_doors(rows: pa.Table, seen: list[object]) -> None:
    """Each source gives the sample, the coarse table and the fingerprint that pyarrow gives."""
    known = read(rows, PEOPLE, hierarchies=LEVELS, first={"zip": 2}, coarsen="always")
    for source in seen:
        assert same(drawn(source), drawn(rows)), type(source)
        found = read(source, PEOPLE, hierarchies=LEVELS, memory="1 MB", too_many="coarsen", first={"zip": 2, "age": 1})
        assert found.hierarchies[1].first == 2
        always = read(source, PEOPLE, hierarchies=LEVELS, first={"zip": 2}, coarsen="always")
        assert same(always, known), type(source)
        point = front(drawn(source), suppression=0.05).choose(k=5)
        assert release(point, rows).data.equals(release(front(drawn(rows), suppression=0.05).choose(k=5), rows).data)


def test_spark_gives_the_same_sample(spark: SparkSession) -> None:
    """Spark passes its distinct rows on in pieces."""
    many_doors(people(), [to_spark(spark, people())])


def test_postgresql_gives_the_same_sample(server: Server) -> None:
    """So does PostgreSQL."""
    rows = people()
    kinds = {"age": "integer", "zip": "text", "sex": "text", "ill": "text"}
    with server.database() as url:
        many_doors(rows, [put(url, "people", kinds, [tuple(row.values()) for row in rows.to_pylist()])])


@pytest.mark.parametrize("missing", [False, True])
def test_a_fingerprint_needs_no_memory(monkeypatch: pytest.MonkeyPatch, missing: bool) -> None:
    """Sorted by the engine and passed in batches, rows have the hash that they have in memory."""
    rows = people() if missing else people().drop_columns(["age", "sex"])
    known = fingerprint(rows)
    assert fingerprint(rows.to_pandas()) == known
    monkeypatch.setattr("kpareto.engines.read.allowed_bytes", lambda _: 1)
    monkeypatch.setattr("kpareto.engines.distinct.BATCH", 100)
    frame = pl.from_arrow(rows)
    assert isinstance(frame, pl.DataFrame)
    for source in (rows, frame.reverse(), frame.lazy()):
        assert fingerprint(source) == known
    assert fingerprint(rows.slice(1)) != known
    assert fingerprint(rows.slice(0, 0)) == fingerprint(frame.clear())


def test_a_sample_is_part_of_the_table() -> None:
    """No row is drawn more often than it is there; all values of the table are leaves; a larger one holds it."""
    whole, small, larger = read(people(), PEOPLE, hierarchies=LEVELS), drawn(people()), drawn(people(), rows=900)
    assert [h.leaves for h in small.hierarchies] == [h.leaves for h in whole.hierarchies]
    for table, below in ((small, larger), (larger, whole)):
        there = {tuple(row): count for row, count in zip(below.codes.tolist(), below.weights.tolist(), strict=True)}
        for row, count in zip(table.codes.tolist(), table.weights.tolist(), strict=True):
            assert count <= there[tuple(row)]


@settings(max_examples=30)
@given(data=st.data(), rows=st.integers(1, 12), seed=st.integers(0, 5))
def test_drawing_is_by_the_smallest_numbers(data: st.DataObject, rows: int, seed: int) -> None:
    """A slow twin that sorts all rows by their numbers draws the same, in any batches."""
    count = data.draw(st.integers(1, 6))
    codes = np.array(data.draw(st.lists(st.tuples(st.integers(-1, 2), st.integers(0, 1)), min_size=count, max_size=count,
                                         unique=True)), dtype=np.int64)  # fmt: skip
    weights = np.array(data.draw(st.lists(st.integers(1, 4), min_size=count, max_size=count)), dtype=np.int64)
    keys = [text_keys(pa.array(["x", "y", "z"])), text_keys(pa.array(["no", "yes"]))]
    one = Draw(rows, seed, keys)
    one.add(codes, weights)
    twin = sorted(
        (_number(seed, [int(keys[c][code]) for c, code in enumerate(row)], copy), tuple(row))
        for row, weight in zip(codes.tolist(), weights.tolist(), strict=True)
        for copy in range(weight)
    )[:rows]
    split = data.draw(st.integers(0, count))
    other = Draw(rows, seed, keys)
    other.add(codes[split:], weights[split:])
    other.add(codes[:split], weights[:split])
    for draw in (one, other):
        *columns, counts = draw.rows_drawn()
        got = [tuple(int(c[i]) for c in columns) for i in range(len(counts)) for _ in range(int(counts[i]))]
        assert sorted(got) == sorted(row for _, row in twin)


def _number(seed: int, keys: list[int], copy: int) -> int:
    """Splitmix64 in Python's whole numbers."""
    mask, golden = 2**64 - 1, 0x9E3779B97F4A7C15

    def scramble(x: int) -> int:
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & mask
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB & mask
        return x ^ (x >> 31)

    key = scramble(seed + golden & mask)
    for each in keys:
        key = scramble((key ^ each) + golden & mask)
    return scramble(key + (copy + 1) * golden & mask)


def test_drawing_is_fair() -> None:
    """Over many seeds each of four rows, equal ones too, is drawn about as often as the others."""
    keys = [text_keys(pa.array(["a", "b"]))]
    hits = np.zeros(2)
    for seed in range(2000):
        draw = Draw(1, seed, keys)
        draw.add(np.array([[0], [1]]), np.array([3, 1]))
        hits[int(draw.rows_drawn()[0][0])] += 1
    assert abs(hits[0] - 1500) < 60  # three standard deviations


def test_a_front_of_a_sample_says_so() -> None:
    """In its sentence, its JSON and its page; it is complete of the sample alone."""
    found = front(drawn(people()), objectives=("k", "glm"))
    told = found.to_dict()["search"]
    assert told["complete"]
    assert told["sample"] == {"rows": 500, "of": read(people(), PEOPLE).rows, "seed": 1}
    assert "Found on a sample of 500 of 3,000 rows: the numbers are those of the sample." in front_sentence(found)
    assert "Complete of the sample: no trade-off by whole levels is missing." in front_sentence(found)
    assert "found on a sample of 500 of 3,000 rows" in found._repr_html_()
    assert proof(found).startswith("The search saw a sample of 500 of 3,000 rows; what follows is true of these. The ")
    assert proof(front(read(people(), PEOPLE))).startswith("The search is complete")
    assert "sample" not in front(read(people(), PEOPLE)).to_dict()["search"]
    assert len(load_front(found.to_dict(), found.problem)) == len(found)


def test_a_choice_on_a_sample_is_released_on_all_rows(tmp_path: Path) -> None:
    """All rows are recoded, every limit holds on them, and what the sample cost is told."""
    rows = people()
    point = front(drawn(rows), objectives=("k", "l", "glm"), suppression=0.05).choose(k=5)
    done = release(point, rows, tmp_path / "out.csv", limits={"k": 5})
    whole = read(rows, PEOPLE, hierarchies=LEVELS)
    assert done.rows + done.suppressed == whole.rows
    checked = verify(tmp_path / "out.csv", done.certificate)
    assert checked.numbers["k"] >= 5
    assert done.certificate.confidential["input"]["rows"] == rows.num_rows
    told = next(remark for remark in done.remarks if remark.startswith("Chosen on a sample"))
    assert told.startswith("Chosen on a sample of 500 of 3,000 rows; on the sample and on all rows: k ")
    for name in ("l(ill)", "suppressed", "lm"):
        assert f", {name} " in told
    levels = point.recoding.levels
    assert done.choice is not None
    assert done.choice.recoding.levels == levels
    assert levels is not None
    groups = classes(whole, node(whole.hierarchies, list(levels)))
    values = np.diff(groups.counts(whole.sensitive[0]).start)
    missing = (groups.sizes < 5) | (values < point.values["l"])
    assert int(groups.rows[missing].sum()) == done.suppressed


# -- job file and command line ---------------------------------------------------------------------------------------

JOB = """
[data]
source = "people.parquet"
memory = "1 MB"
too_many = "{policy}"
sample = 400
seed = 3
[columns.age]
role = "quasi-identifier"
hierarchy = {{intervals = [10, 20], from = 0}}
first = 1
[columns.zip]
role = "quasi-identifier"
hierarchy = {{prefix = [4, 3]}}
first = 1
[columns.sex]
role = "quasi-identifier"
[columns.ill]
role = "sensitive"
[suppression]
limit = 0.05
[release]
choose = "k=3"
target = "out.csv"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the rows of a job."""
    pq.write_table(people(), tmp_path / "people.parquet")
    return tmp_path


def test_a_job_offers_all_of_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Keys of [data] and of columns, changed by --set as any other; what was done is told and released."""
    place = folder / "job.toml"
    place.write_text(JOB.format(policy="sample"))
    sampled = ["columns.age.first=", "columns.zip.first="]  # what stands for the other policy is taken out
    coarser = ["data.too_many=coarsen", "data.sample=", "data.seed="]
    table = load_job(place, sampled).table()
    assert table.sample is not None
    assert (table.sample.rows, table.sample.seed) == (400, 3)
    coarse = load_job(place, coarser).table()
    assert [h.first for h in coarse.hierarchies] == [1, 1, 0]
    # A sample that is given is drawn, whatever room there is.
    assert load_job(place, [*sampled, "data.memory='1 GB'"]).table().rows == 400
    done = show_release(str(place), changes=sampled)
    told = capsys.readouterr()
    assert "Read a sample of 400 of 3,000 rows (seed 3)" in told.err
    assert "Note: Chosen on a sample of 400 of 3,000 rows" in told.out
    assert done.verified.numbers["k"] >= 3
    show_release(str(place), changes=[*coarser, "release.target=coarse.csv"])
    assert "'zip' begins at level 1 of 3." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("memory = 5.5", r"the job, \[data\]: The memory is 5.5. Write it as"),
        ('too_many = "crash"', r"the job, \[data\]: too_many is 'crash'"),
        ('too_many = "sample"\nsample = true', r"\[data\]: sample is True. Give a whole number"),
        ('coarsen = "always"', r"\[data\]: To read coarser, a first level is needed"),
        ('memori = "1 GB"', r"data.memori is not known. Did you mean 'memory'\?"),
        ("[columns.age]\nfirst = -1", r"columns.age.first is -1. Give a whole number of at least 0."),
    ],
)
def test_mistakes_in_a_job_are_sentences(change: str, message: str) -> None:
    """Each names the place, what stands there and what may."""
    with pytest.raises(BadJob, match=message):
        parse_job(f'[data]\nsource = "x.csv"\n{change}\n', Path())


# -- waiting and stopping --------------------------------------------------------------------------------------------


def test_progress_is_told(near_unique: Path) -> None:
    """Percent of the query, ending with all of it; ticks where the program that counts does not say."""
    seen: list[tuple[int, int]] = []
    read(near_unique, SCHEMA, memory="100 GB", progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (100, 100)
    assert all(0 <= done <= total == 100 for done, total in seen)
    ticks: list[tuple[int, int]] = []
    with ticking(lambda done, total: ticks.append((done, total))):
        while not ticks:
            time.sleep(0.01)
    assert set(ticks) == {(0, 0)}


def test_a_report_can_stop_the_query(near_unique: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What it raises comes out at once, and the private folder is gone."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("kpareto.engines.duckdb.connect.TICK", 0.001)

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read(near_unique, SCHEMA, progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_a_stopped_query_does_not_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine gives up what it was doing, and takes the next question."""
    monkeypatch.setattr("kpareto.engines.duckdb.connect.TICK", 0.001)

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with engine() as own:
        query = "SELECT i % 1000000 AS v0, count(*) AS weight FROM range(30000000) AS t(i) GROUP BY ALL"
        with pytest.raises(KeyboardInterrupt):
            hold(own, query, stop)
        made = own.connection.execute(f"SELECT count(*) FROM duckdb_tables() WHERE table_name = '{HELD}'").fetchall()
        assert made == [(0,)]


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_ctrl_c_during_the_group_by_leaves_nothing(tmp_path: Path) -> None:
    """Exit status 130, one line, no folder with copies of rows."""
    rng = np.random.default_rng(9)
    rows = pa.table({name: rng.integers(10**6, size=1_500_000) for name in "abcd"})
    for part in range(8):  # the same rows again, so the file is read for long
        (tmp_path / "parts").mkdir(exist_ok=True)
        pq.write_table(rows, tmp_path / "parts" / f"{part}.parquet")
    columns = "".join(f'[columns.{name}]\nrole = "quasi-identifier"\n' for name in "abcd")
    (tmp_path / "job.toml").write_text(f'[data]\nsource = "parts"\nmemory = "64 MB"\n{columns}')
    private = tmp_path / "private"
    private.mkdir()
    running = subprocess.Popen(
        [sys.executable, "-m", "kpareto", "front", str(tmp_path / "job.toml")],
        env={**os.environ, "TMPDIR": str(private)}, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    until = time.monotonic() + 240
    while not any(each.stat().st_size for each in private.glob(f"{FOLDER}*/*") if each.is_file()):
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < until
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=240)
    assert running.returncode == 130
    assert said.strip() == "Interrupted."
    assert list(private.iterdir()) == []
