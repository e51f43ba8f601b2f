"""Releases: what is written, what is refused, and that nothing else happens."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Literal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kpareto.engines.duckdb import read as duck_read
from kpareto.engines.duckdb import write as duck_write
from kpareto.engines.duckdb.write import Part
from kpareto.engines.read import read
from kpareto.errors import BadInput, BadJob, BadSchema, BadTable, Unsafe
from kpareto.fronts.problem import Problem
from kpareto.jobs.anonymize import anonymize
from kpareto.measures import make
from kpareto.releases.choice import Choice
from kpareto.releases.recoded_rows import Handling
from kpareto.releases.release import release, settle
from kpareto.searches.run import run_plan
from kpareto.tables.hierarchy import from_levels
from kpareto.tables.partition import Suppression
from kpareto.tables.recoding import Recoding, node
from kpareto.tables.schema import Schema
from kpareto.verifier import verify
from tests.twins.releases import SCHEMA, as_rows, chosen, given_as, hierarchies, people, rows_of
from tests.twins.strategies import cases, recodings, suppressions

LOOSE = {
    "k": 0, "l": 0, "entropy-l": 0, "alpha": 1, "t": 1, "t(distance=ordered)": 1, "recursive-l": np.inf, "beta": np.inf,
    "recursive-l(l=3)": np.inf, "enhanced-beta": np.inf, "delta": np.inf, "delta(absent=infinite)": np.inf,
    "beta(reference=release)": np.inf, "risk-max": 1, "risk-mean": 1, "alpha(column=s0)": 1,
}  # fmt: skip


def cells(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file, by Python's own reader."""
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_release_verifies_with_the_numbers_of_its_partition(data: st.DataObject) -> None:
    """Any recoding of any table, written and read back, verifies, and every number is the partition's.

    Where persons are told apart, the release itself was counted by persons, and what is read back by rows.
    """
    case = data.draw(cases(most_columns=2, gaps=data.draw(st.booleans())))
    kind = data.draw(st.sampled_from(["csv", "parquet", "pandas", "polars", "pyarrow"]))
    out = data.draw(st.sampled_from(["out.csv", "out.parquet", None]))
    choice = Choice(case.table, data.draw(recodings(case.table)), data.draw(suppressions()), LOOSE)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = given_as(rows_of(case), kind, folder)
        try:
            partition, _ = settle(choice)
        except Unsafe:
            with pytest.raises(Unsafe, match="rows would"):
                release(choice, source, folder / "out.csv")
            assert not (folder / "out.csv").exists()
            return
        found = release(choice, source, None if out is None else folder / out)
        verified = found.verified
        if out is not None:
            found.certificate.write(folder / "c.json")
            verified = verify(folder / out, folder / "c.json")
            assert verify(folder / out, {"public": found.certificate.public}).rows == verified.rows
        written = as_rows(folder / out if out else found.data)
    gone = int(partition.rows[~partition.visible].sum())
    assert verified.rows == written.num_rows == len(case.rows) - gone
    assert verified.classes == int(partition.visible.sum())
    for spec in LOOSE:
        ours, name, numbers = make(spec)(partition), spec, verified.numbers
        if case.table.persons is not None:
            word, _, inside = spec.removesuffix(")").partition("(")
            name = f"{word}({', '.join(sorted([*filter(None, [inside]), 'counts=persons']))})"
            numbers = found.verified.numbers
            if spec in verified.numbers and "reference" not in spec:
                assert verified.numbers[spec] == pytest.approx(make(spec)(partition.by_rows), rel=1e-9, abs=1e-9), spec
        assert numbers[name] == pytest.approx(ours, rel=1e-9, abs=1e-9), spec
    wanted = [name for name in rows_of(case).column_names if name != "person"]
    assert written.column_names == wanted


def test_columns_keep_their_order_and_the_identifier_is_gone(tmp_path: Path) -> None:
    """No index, no identifier, no further column; labels for values; the plain column as it was."""
    rows = people()
    found = release(chosen(rows), rows, tmp_path / "out.csv")
    written = cells(tmp_path / "out.csv")
    assert list(written[0]) == ["age", "sex", "illness", "note"]
    assert Counter(row["age"] for row in written) == {"20-29": 30, "30-39": 30, "40-49": 30, "50-59": 30}
    assert Counter(row["note"] for row in written) == Counter(rows["note"].to_pylist())
    assert (found.rows, found.suppressed, found.path) == (120, 0, tmp_path / "out.csv")


@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas", "polars", "pyarrow"])
def test_every_door_gives_the_same_file(tmp_path: Path, kind: str) -> None:
    """The bytes written do not depend on the program that held the rows, nor on their order."""
    rows = people()
    choice = chosen(rows)
    release(choice, rows, tmp_path / "one.csv")
    turned = rows.take(pa.array(np.random.default_rng(5).permutation(rows.num_rows)))
    release(choice, given_as(turned, kind, tmp_path), tmp_path / "two.csv")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


def test_rows_are_shuffled_by_the_seed_or_kept_with_a_warning(tmp_path: Path) -> None:
    """Another seed gives another order of the same rows; kept order is the input's and is warned about."""
    rows = people()
    choice = chosen(rows)
    orders = {}
    for seed in (0, 1):
        release(choice, rows, tmp_path / "out.csv", handling=Handling(seed=seed))
        orders[seed] = [row["note"] for row in cells(tmp_path / "out.csv")]
    kept = release(choice, rows, tmp_path / "out.csv", handling=Handling(order="kept"))
    assert [row["note"] for row in cells(tmp_path / "out.csv")] == rows["note"].to_pylist()
    assert orders[0] != orders[1] != rows["note"].to_pylist()
    assert sorted(orders[0]) == sorted(orders[1])
    by_id = {each.id: each for each in kept.warnings}
    assert by_id["W19"].text.startswith("The rows are in the order of the input, which may tell who is who. Take order")
    assert list(by_id)[-2:] == ["W19", "W17"]  # the plain column tells what the release hides
    assert kept.certificate.public["handling"]["order"] == "kept"


def test_identifiers_become_tokens_that_nobody_can_link(tmp_path: Path) -> None:
    """Tokens are new for every row and every release, unless seeded for a test."""
    rows = people(1)
    doubled = pa.concat_tables([rows, rows])  # each name twice
    choice = chosen(doubled)
    seen = []
    for handling in (
        Handling("token"),
        Handling("token"),
        Handling("token", token_seed=3),
        Handling("token", token_seed=3),
    ):
        release(choice, doubled, tmp_path / "out.csv", handling=handling)
        seen.append([row["name"] for row in cells(tmp_path / "out.csv")])
    for tokens in seen:
        assert len(set(tokens)) == len(tokens) == 80
        assert {len(token) for token in tokens} == {32}
    assert not set(seen[0]) & set(seen[1])
    assert seen[2] == seen[3]
    assert list(cells(tmp_path / "out.csv")[0]) == rows.column_names


def test_the_person_is_never_released(tmp_path: Path) -> None:
    """A person column goes even where identifiers become tokens, and k counts persons in the certificate."""
    rows = people()
    schema = Schema(("age", "sex"), identifier=("name",), person="name")
    table = read(rows, schema, hierarchies=hierarchies())
    found = release(
        Choice(table, node(table.hierarchies, (1, 0)), limits={"k": 15}),
        rows, tmp_path / "out.csv", handling=Handling("token"),
    )  # fmt: skip
    assert list(cells(tmp_path / "out.csv")[0]) == ["age", "sex", "illness", "note"]
    assert found.verified.unchecked == ()
    assert found.verified.numbers == {"k(counts=persons)": 15, "k": 15}
    assert verify(tmp_path / "out.csv", found.certificate).unchecked == ("k(counts=persons)",)
    both = [(claim["with"], claim["value"]) for claim in found.certificate.public["claims"]]
    assert both == [({"counts": "persons"}, 15), ({}, 15)]


def test_suppressed_rows_are_masked_where_that_is_safe(tmp_path: Path) -> None:
    """A masked class as large as the others is starred and kept; a smaller one is dropped, and that is said."""
    rows = people()
    table = read(rows, Schema(("age", "sex"), identifier=("name",)), hierarchies=hierarchies())
    recoding = node(table.hierarchies, (1, 0))
    lost = Suppression("as-needed", 0.9, rows="mask", fails=(lambda p: p.groups[:, 0] == 0,))
    found = release(Choice(table, recoding, lost, {"k": 15}), rows, tmp_path / "out.csv")
    assert Counter((row["age"], row["sex"]) for row in cells(tmp_path / "out.csv"))[("*", "*")] == 30
    assert found.certificate.public["suppression"]["masked"] == 30
    assert found.rows == 120
    few = pa.concat_tables([rows, rows.slice(0, 1)])
    table = read(few, Schema(("age", "sex"), identifier=("name",)), hierarchies=hierarchies())
    small = Choice(table, node(table.hierarchies, (0, 0)), Suppression("below-k", k=4, rows="mask"))
    with pytest.raises(Unsafe, match="Every one of the 121 rows would be suppressed"):
        release(replace(small, suppression=Suppression("below-k", k=9)), few, tmp_path / "out.csv")
    third = Choice(table, node(table.hierarchies, (0, 0)), Suppression("below-k", k=3, rows="mask"), {"k": 3})
    assert release(third, few, tmp_path / "out.csv").suppressed == 0


def test_masked_rows_that_fail_a_limit_are_dropped_and_that_is_said(tmp_path: Path) -> None:
    """The class of masked rows must meet the other limits too (readings.md#masked-rows), else it goes."""
    rows = pa.table({"age": ["20"] * 4 + ["21"] * 4 + ["30", "31"] * 2, "illness": [*"abab", *"abab", *"cccc"]})
    ages = {"age": hierarchies()["age"]}
    table = read(rows, Schema(("age",), sensitive=("illness",)), hierarchies=ages)
    choice = Choice(table, node(table.hierarchies, (0,)), Suppression("below-k", k=4, rows="mask"), {"k": 4, "l": 2})
    found = release(choice, rows, tmp_path / "out.csv")
    assert found.remarks == ("4 suppressed rows were dropped, not masked: as a class they would not meet l.",)
    assert (found.rows, found.certificate.public["suppression"]["rows"]) == (8, "drop")


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"k": 16}, r"k is 15 in the class \(20-29, F\), and at least 16 is asked. Nothing was released"),
        ({"l": 4}, r"l is 3 in the class .*, and at least 4 is asked"),
        ({"t": 0.01}, r"t is 0.1 in the class .*, and at most 0.01 is asked"),
        ({"alpha": 0.3}, r"alpha is 0.4 in the class .*, and at most 0.3"),
        ({"lm": 0.01}, r"lm is 0.\d+, and at most 0.01 is asked"),
        ({"kk": 2}, "No measure 'kk'"),
    ],
)
def test_a_limit_that_is_not_met_refuses(tmp_path: Path, limits: dict[str, float], words: str) -> None:
    """Nothing is written where a limit fails, and an older release stays."""
    rows = people()
    (tmp_path / "out.csv").write_text("old")
    with pytest.raises((Unsafe, BadJob), match=words):
        release(chosen(rows), rows, tmp_path / "out.csv", limits=limits)
    assert [file.name for file in tmp_path.iterdir()] == ["out.csv"]
    assert (tmp_path / "out.csv").read_text() == "old"


def test_the_file_as_written_is_counted_before_it_is_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the written rows were wrong, whatever the reason, the independent count stops them."""

    def wrong(engine: object, query: str, part: Part) -> None:
        part.written.write_text("age,sex,illness,note\n20-29,F,flu,x\n" + "20-29,M,flu,x\n" * 119)

    monkeypatch.setattr(duck_write, "copy_rows", wrong)
    rows = people()
    with pytest.raises(Unsafe, match=r"The class \(20-29, F\) has k = 1, and the limit is 5"):
        release(chosen(rows), rows, tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


def test_too_many_suppressed_rows_refuse() -> None:
    """A recoding that is not feasible under its own rule is not released."""
    rows = people()
    lost = Suppression("as-needed", 0.1, fails=(lambda p: p.groups[:, 0] == 0,))
    with pytest.raises(Unsafe, match="30 of 120 rows would have to be suppressed, and at most 12 may be"):
        release(replace(chosen(rows), suppression=lost), rows)


def test_a_point_of_a_front_is_a_choice() -> None:
    """Anything with a table, a recoding and a suppression will do; a threshold of its own is kept to."""
    rows = people()
    choice = chosen(rows)
    point = SimpleNamespace(
        table=choice.table, recoding=choice.recoding, suppression=Suppression("as-needed", 0.5), threshold=10
    )
    found = release(point, rows, limits={"k": 10})
    assert (found.partition.rule, found.rows) == ("as-needed", 120)
    with pytest.raises(BadJob, match="A choice needs a table and a recoding; int has no table"):
        release(7, rows)


def test_frames_come_back_as_they_were() -> None:
    """The frame's own type, its plain columns with their types, a fresh index, no row more."""
    frame = people().to_pandas()
    frame["when"] = pd.Timestamp("2024-05-01 12:30", tz="UTC")
    frame["kind"] = pd.Categorical(["a", "b"] * 60)
    frame["mixed"] = [1, "x"] * 60
    frame = frame.set_index(pd.Index([7] * 120, name="row"))
    found = release(chosen(frame), frame).data
    assert isinstance(found, pd.DataFrame)
    assert list(found.index) == list(range(120))
    assert list(found.columns) == ["age", "sex", "illness", "note", "when", "kind", "mixed"]
    assert found["kind"].dtype == "category"
    assert str(found["when"].dtype) == str(frame["when"].dtype)
    assert sorted(map(str, found["mixed"])) == sorted(map(str, frame["mixed"]))
    bottom = release(chosen(frame, (0, 1), {"k": 3}), frame).data
    assert bottom["age"].dtype == frame["age"].dtype  # nothing was generalized there
    lazy = release(chosen(people()), pl.from_arrow(people()).lazy()).data  # type: ignore[union-attr]
    assert isinstance(lazy, pl.DataFrame)
    own = duckdb.connect()
    back = release(chosen(people()), own.from_arrow(people())).data
    assert isinstance(back, duckdb.DuckDBPyRelation)
    assert back.join(own.sql("SELECT 1 AS one"), "one = 1").aggregate("count(*)").fetchall() == [(120,)]
    lone = duckdb.connect(config={"python_enable_replacements": False}).sql("SELECT * FROM range(20) AS t(age)")
    assert len(anonymize(lone, ["age"], k=5).data.fetchall()) == 20


def test_cells_without_a_text_pass_through(tmp_path: Path) -> None:
    """A plain column of lists is none of our business."""
    rows = people().append_column("list", pa.array([[1, 2]] * 120))
    found = release(chosen(people()), rows).data
    assert found["list"].to_pylist() == [[1, 2]] * 120
    release(chosen(people()), rows, tmp_path / "out.csv")
    assert cells(tmp_path / "out.csv")[0]["list"] == "[1, 2]"


def test_a_chosen_point_of_a_real_front_is_released(tmp_path: Path) -> None:
    """From a table over its exact front to a verified file; every point verifies with its own k."""
    rows = people()
    table = read(rows, SCHEMA, hierarchies=hierarchies())
    problem = Problem(table, (make("k"), make("glm")), Suppression("as-needed", 0.5))
    front = run_plan(problem)
    for point in front:
        found = release(point, rows, tmp_path / "out.csv", limits={"k": point.values["k"]})
        assert found.verified.numbers["k"] == point.values["k"]
        assert found.partition.suppressed_rows == point.partition.suppressed_rows
    assert len(front) > 1


def test_representative_numbers_on_request(tmp_path: Path) -> None:
    """Midpoints of declared borders, or medians with warning W8; text has neither."""
    rows = people()
    ages = from_levels("age", [(str(a), f"{a // 10 * 10}-{a // 10 * 10 + 9}", "*") for a in range(20, 60)])
    numbers = np.stack([np.arange(20, 60)] * 2, axis=1).astype(float)
    table = read(
        rows, SCHEMA, hierarchies={"age": replace(ages, spans=numbers, ordered=True), "sex": hierarchies()["sex"]}
    )
    choice = Choice(table, node(table.hierarchies, (1, 0)), limits={"k": 5})
    release(choice, rows, tmp_path / "out.csv", handling=Handling(shown={"age": "midpoint"}))
    assert {row["age"] for row in cells(tmp_path / "out.csv")} == {"24.5", "34.5", "44.5", "54.5"}
    found = release(choice, rows, tmp_path / "out.parquet", handling=Handling(shown={"age": "median"}))
    assert set(pq.read_table(tmp_path / "out.parquet")["age"].to_pylist()) == {24.0, 34.0, 44.0, 54.0}
    assert [each.id for each in found.warnings].count("W8") == 1
    with pytest.raises(BadTable, match="Column 'sex' cannot show a midpoint: its values are not numbers"):
        release(choice, rows, handling=Handling(shown={"sex": "midpoint"}))


def test_formula_cells_are_counted_and_neutralised(tmp_path: Path) -> None:
    """Cells that a spreadsheet would run are named with their number; negative numbers are none."""
    rows = people().to_pandas()
    rows["note"] = ["=1+1", "+cmd", "-5", "@sum", "-5.5e3", "plain", "-x", "a=b"] * 15
    choice = chosen(rows)
    found = release(choice, rows, tmp_path / "out.csv")
    assert found.formulas == {"note": 60}
    assert "60 cells of 'note' begin with = + - or @ and would be run by a spreadsheet" in found.remarks[0]
    found = release(choice, rows, tmp_path / "out.csv", handling=Handling(formulas="neutralise"))
    written = Counter(row["note"] for row in cells(tmp_path / "out.csv"))
    assert set(written) == {"'=1+1", "'+cmd", "-5", "'@sum", "-5.5e3", "plain", "'-x", "a=b"}
    assert found.formulas == {"note": 60}


def test_labels_that_begin_like_formulas_verify_when_neutralised(tmp_path: Path) -> None:
    """A label is neutralised in the certificate as it is in the file."""
    rows = pa.table({"q": ["=a", "=b"] * 5, "s": ["x", "-y"] * 5})
    table = read(rows, Schema(("q",), sensitive=("s",)))
    choice = Choice(table, node(table.hierarchies, (0,)), limits={"k": 5, "t": 1})
    found = release(choice, rows, tmp_path / "out.csv", handling=Handling(formulas="neutralise"))
    assert found.certificate.public["recoding"]["q"]["labels"] == ["'=a", "'=b"]


def test_groups_with_one_name_are_told_apart(tmp_path: Path) -> None:
    """Two groups that a hierarchy calls alike get different labels, so no classes merge unseen."""
    tree = from_levels("q", [("a", "x", "*"), ("b", "x", "*"), ("x", "y", "*"), ("z", "y", "*")])
    rows = pa.table({"q": ["a", "b", "x", "z"] * 3})
    table = read(rows, Schema(("q",)), hierarchies={"q": tree})
    recoding = Recoding(table.hierarchies, (np.array([0, 0, 1, 2], dtype=np.int32),))
    release(Choice(table, recoding), rows, tmp_path / "out.csv")
    assert Counter(row["q"] for row in cells(tmp_path / "out.csv")) == {"x (1)": 6, "x (2)": 3, "z": 3}


def test_the_input_is_never_overwritten(tmp_path: Path) -> None:
    """Not by its own name, nor through a link, nor as a part of its folder."""
    source = given_as(people(), "csv", tmp_path)
    choice = chosen(source)
    before = source.read_bytes()
    (tmp_path / "link.csv").symlink_to(source)
    os.link(source, tmp_path / "hard.csv")
    for target in (source, tmp_path / "link.csv", tmp_path / "hard.csv"):
        with pytest.raises(BadInput, match="The release would overwrite its own input"):
            release(choice, source, target)
    assert source.read_bytes() == before
    (tmp_path / "parts").mkdir()
    pq.write_table(people(), tmp_path / "parts" / "a.parquet")
    with pytest.raises(BadInput, match="overwrite its own input"):
        release(choice, tmp_path / "parts", tmp_path / "parts" / "b.parquet")


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("no/such/folder/out.csv", "there is no folder '.*/no/such/folder'. Make it first"),
        ("folder", "it is a folder. Give the name of a file in it"),
        ("frozen.csv", "the file is read-only. Make it writable, or give another name"),
        ("out.ods", "A release is written as .csv, .tsv, .parquet, .xlsx, .dta or .sav, not as 'out.ods'"),
        ("/dev/full", "it is not a plain file"),
        ("/proc/out.csv", "Cannot write '/proc/out.csv'"),
    ],
)
def test_targets_that_cannot_be_written(tmp_path: Path, target: str, words: str) -> None:
    """Each is one sentence, and nothing is left behind."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "frozen.csv").write_text("old")
    (tmp_path / "frozen.csv").chmod(0o444)
    before = sorted(file.name for file in tmp_path.iterdir())
    with pytest.raises(BadInput, match=words):
        release(chosen(people()), people(), tmp_path / target)
    assert sorted(file.name for file in tmp_path.iterdir()) == before


FULL = """
import resource, signal, sys
from kpareto.errors import BadInput
from kpareto.releases.release import release
from tests.twins.releases import chosen, people
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
rows = people(200)
choice = chosen(rows)
resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
try:
    release(choice, rows, sys.argv[1])
except BadInput as error:
    print(error)
"""


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_a_disk_that_fills_up_loses_nothing(tmp_path: Path, name: str) -> None:
    """When no more can be written, the old release stays, no part is left, and there is one sentence."""
    target = tmp_path / name
    target.write_text("old")
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(target)], capture_output=True, text=True, check=True, timeout=120
    )
    assert "could not be written" in done.stdout
    assert "Nothing was released." in done.stdout
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert target.read_text() == "old"


def test_zero_is_zero_whatever_its_sign(tmp_path: Path) -> None:
    """A file with 0.0 and -0.0, which Arrow tells apart and the engine does not: each row is released once."""
    source = tmp_path / "zeros.parquet"
    pq.write_table(pa.table({"x": [0.0, -0.0, 1.5] * 8, "y": ["a", "b"] * 12, "z": ["u"] * 24}), source)
    table = read(source, Schema(quasi=("x", "y"), sensitive=("z",)))
    done = release(Choice(table, node(table.hierarchies, (0, 0)), limits={"k": 4}), source, tmp_path / "out.csv")
    assert (done.rows, done.verified.classes) == (24, 4)


def test_a_table_larger_than_memory_is_released_within_it(tmp_path: Path) -> None:
    """Some 590 MB of rows through an engine that may use 500 MB: every row is there."""
    source = tmp_path / "wide.parquet"
    words = ", ".join(f"md5(concat('{letter}', i)) AS {letter}" for letter in "abcdefgh")
    with duckdb.connect() as made:
        made.execute(f"COPY (SELECT i % 40 + 20 AS age, {words} FROM range(1_500_000) AS r(i)) TO '{source}'")
    program = f"""
import resource, sys
from kpareto.engines.read import read
from kpareto.tables.recoding import node
from kpareto.releases.release import release
from kpareto.tables.schema import Schema
from kpareto.releases.choice import Choice
from tests.twins.releases import AGES
table = read({str(source)!r}, Schema(quasi=("age",), plain=tuple("abcdefgh")), hierarchies={{"age": AGES}}, memory="128 MB")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
release(Choice(table, node(table.hierarchies, (1,)), limits={{"k": 5}}), {str(source)!r}, sys.argv[1], memory="128 MB", accept=["W1"])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    out = [sys.executable, "-c", program, str(tmp_path / "limited.parquet")]
    more = int(subprocess.run(out, capture_output=True, text=True, check=True, timeout=240).stdout) / 1000
    assert more < 650  # MB; 500 are the least it takes, and what writes Parquet holds some of its own beyond that
    decade = "concat(age // 10 * 10, '-', age // 10 * 10 + 9)"
    with duckdb.connect() as asked:
        sums = [asked.sql(f"SELECT count(*), sum(hash({age}, a, b, c, d, e, f, g, h)) FROM '{file}'").fetchall()
                for age, file in ((decade, source), ("age", tmp_path / "limited.parquet"))]  # fmt: skip
    assert sums[0] == sums[1]


def test_a_folder_of_parts(tmp_path: Path) -> None:
    """A name with a slash at its end is a folder of Parquet parts: read again as one table, verified, never replaced."""
    rows = people()
    whole = release(chosen(rows), rows, tmp_path / "out.parquet")
    done = release(chosen(rows), rows, f"{tmp_path}/parts/")
    assert done.path == tmp_path / "parts"
    assert done.certificate.public["release"]["format"] == "parquet parts"
    listed = pq.read_table(tmp_path / "parts").to_pylist()
    assert listed == pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert verify(tmp_path / "parts", done.certificate).rows == whole.rows
    with pytest.raises(BadInput, match="it is there already"):
        release(chosen(rows), rows, f"{tmp_path}/parts/")
    with pytest.raises(BadInput, match="there is no folder"):
        release(chosen(rows), rows, f"{tmp_path}/no/parts/")
    part = next((tmp_path / "parts").iterdir())
    part.rename(part.with_name("other.parquet"))
    with pytest.raises(Unsafe, match="is not the one that was certified"):
        verify(tmp_path / "parts", done.certificate)
    (tmp_path / "parts" / "other.parquet").unlink()
    with pytest.raises(Unsafe, match="The release has no rows"):
        verify(tmp_path / "parts", done.certificate)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out.parquet", "parts"]


def test_a_release_of_more_rows_than_a_million_is_the_same_but_for_the_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large tables are put in order by the engine's own hash: another order, the same rows, whatever theirs was."""
    source = given_as(people(), "parquet", tmp_path)
    small = release(chosen(source), source, tmp_path / "small.csv")
    monkeypatch.setattr(duck_read, "LARGE", 10)
    release(chosen(source), source, tmp_path / "large.csv")
    turned = tmp_path / "turned.parquet"
    pq.write_table(pq.read_table(source).take(list(range(119, -1, -1))), turned)
    release(chosen(turned), turned, tmp_path / "again.csv")
    assert (tmp_path / "large.csv").read_bytes() == (tmp_path / "again.csv").read_bytes()
    lines = {name: (tmp_path / f"{name}.csv").read_text().splitlines() for name in ("small", "large")}
    assert lines["small"] != lines["large"]
    assert sorted(lines["small"]) == sorted(lines["large"])
    assert small.rows == 120


def test_a_source_that_vanished_or_changed_is_a_sentence(tmp_path: Path) -> None:
    """A file that is gone, has other rows, or other values cannot be released by this choice."""
    source = given_as(people(), "csv", tmp_path)
    choice = chosen(source)
    source.unlink()
    with pytest.raises(BadTable, match="No file"):
        release(choice, source, tmp_path / "out.csv")
    with pytest.raises(BadTable, match="The source has 40 rows, and the table of the choice was read from 120"):
        release(choice, people(1), tmp_path / "out.csv")
    strange = people().set_column(1, "age", pa.array([99] * 120))
    with pytest.raises(BadTable, match="The source gives 0 rows to release where the chosen table gives 120"):
        release(choice, strange, tmp_path / "out.csv")
    with pytest.raises(BadSchema, match="No column 'age' in the table"):
        release(choice, people().drop_columns(["age"]), tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_names_that_sql_does_not_tell_apart_are_refused() -> None:
    """Columns that differ in case only, or have no name, would be renamed silently."""
    rows = people().append_column("AGE", pa.array([1] * 120))
    with pytest.raises(BadSchema, match="Columns 'age' and 'AGE' differ in case only"):
        release(chosen(people()), rows)
    rows = people().append_column("", pa.array([1] * 120))
    with pytest.raises(BadSchema, match="A column of the source has no name"):
        release(chosen(people()), rows)


def test_missing_values_are_dropped_or_kept_as_a_value(tmp_path: Path) -> None:
    """The policy of the table is the policy of the release."""
    rows = pa.table({"q": ["a", "a", None, "?", "b", "b", " a "], "s": ["x", "y", "x", "y", "x", None, "x"]})
    schema = Schema(("q",), sensitive=("s",))
    table = read(rows, schema, "drop")
    release(Choice(table, node(table.hierarchies, (0,))), rows, tmp_path / "out.csv")
    assert Counter((row["q"], row["s"]) for row in cells(tmp_path / "out.csv")) == {
        ("a", "x"): 2, ("a", "y"): 1, ("b", "x"): 1,
    }  # fmt: skip
    table = read(rows, schema, missing="category")
    for name in ("out.csv", "out.parquet"):
        found = release(Choice(table, node(table.hierarchies, (0,)), limits={"t": 1}), rows, tmp_path / name)
        assert found.rows == 7
    assert Counter(row["q"] for row in cells(tmp_path / "out.csv")) == {"a": 3, "(missing)": 2, "b": 2}


@pytest.mark.parametrize("word", ["identifiers", "order", "formulas"])
def test_words_that_mean_nothing_are_refused(word: str) -> None:
    """Each word of the handling is one of a few."""
    with pytest.raises(BadJob, match=f"{word} is 'x'. Write '"):
        Handling(**{word: "x"})  # type: ignore[arg-type]
    with pytest.raises(BadJob, match="Column 'age' is to show 'mean'"):
        Handling(shown={"age": "mean"})  # type: ignore[dict-item]


def test_names_of_columns_that_a_spreadsheet_would_run_are_told(tmp_path: Path) -> None:
    """Cells can be written behind an apostrophe; a name is how a column is known, so it is told (N14)."""
    rows = pa.table({"q": ["=1+1"] * 4, "=cmd|x": ["a", "b"] * 2, "-5": ["a", "b", "b", "=2"]})
    table = read(rows, Schema(("q",)))
    fates: dict[Literal["neutralise", "report"], str] = {"neutralise": "was written", "report": "would be run by a"}
    for formulas, fate in fates.items():
        done = release(
            Choice(table, node(table.hierarchies, (0,)), limits={"k": 2}), rows, tmp_path / f"{formulas}.csv",
            handling=Handling(formulas=formulas),
        )  # fmt: skip
        told = [remark for remark in done.remarks if remark.startswith("The name of the column")]
        assert len(told) == 1
        assert "'=cmd|x' begins with = + - or @ and would be run by a spreadsheet" in told[0]
        assert any(remark.startswith(f"1 cell of '-5' begins with = + - or @ and {fate}") for remark in done.remarks)


@pytest.mark.parametrize("large", [2**53 + 1, 2**63 - 1, 123_456_789_012_345_677, -(2**53) - 1])
def test_a_run_of_large_numbers_is_named_by_the_numbers_themselves(large: int, tmp_path: Path) -> None:
    """From 2^53 on a float does not hold every whole number, so a label must not go through one (N13)."""
    rows = pa.table({"q": pa.array([10] * 4 + [30] * 4 + [large] * 4)})
    table = read(rows, Schema(("q",)))
    order = [int(leaf) for leaf in table.hierarchies[0].leaves]
    cut = np.array([0, 1, 1] if large > 0 else [0, 0, 1], dtype=np.int32)
    choice = Choice(table, Recoding(table.hierarchies, (cut,)), limits={"k": 4})
    release(choice, rows, tmp_path / "out.csv")
    assert order == sorted(order)
    run = f"30-{large}" if large > 0 else f"{large}-10"
    assert run in (tmp_path / "out.csv").read_text().split()


def test_the_middle_of_large_numbers_is_refused(tmp_path: Path) -> None:
    """A number that would be rounded is not shown in the place of a group."""
    rows = pa.table({"q": pa.array([10] * 4 + [2**60 + 1] * 4)})
    table = read(rows, Schema(("q",)))
    choice = Choice(table, node(table.hierarchies, (0,)), limits={"k": 4})
    with pytest.raises(BadTable, match="too large to be exact"):
        release(choice, rows, tmp_path / "out.csv", handling=Handling(shown={"q": "median"}))
