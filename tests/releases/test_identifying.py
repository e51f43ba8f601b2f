"""Names do not leave for want of a word about them: what looks like a direct identifier must be declared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

import kpareto
from kpareto.errors import BadSchema
from kpareto.jobs.parse import parse_job
from kpareto.jobs.release import release_job
from kpareto.releases import release as release_room
from kpareto.releases.release import Handling, release
from kpareto.tables.adult import adult
from kpareto.tables.proposals import ColumnFacts, why_direct
from tests.twins.releases import people, people_columns

kp: Any = kpareto  # people at a prompt write lists where types say tuples
QUASI = ["age", "sex"]


def point(rows: object, **more: list[str]) -> Any:
    """A point of the front of the people, with these roles too."""
    return kp.front(kp.read(rows, kp.Schema(QUASI, ["illness"], **more))).choose(k=5)


def test_a_name_without_a_role_is_refused(tmp_path: Path) -> None:
    """Nothing is written, and the sentence says which column, why, and what to do; so in one call."""
    rows, out = people(), tmp_path / "out.csv"
    said = r"^Column 'name' \(named like a name\) has no role and looks like a direct "
    with pytest.raises(BadSchema, match=said) as told:
        release(point(rows), rows, out, warnings=())
    assert "identifier=['name'] keeps it out and plain=['name'] lets it leave" in str(told.value)
    assert 'role = "identifier" or "plain" under [columns."name"]' in str(told.value)
    assert not list(tmp_path.iterdir())
    with pytest.raises(BadSchema, match="'name'"):
        kp.anonymize(rows, QUASI, ["illness"], k=5)


@pytest.mark.parametrize(
    ("roles", "handling", "leaves"),
    [
        ({"identifier": ["name"]}, Handling(), False),
        ({"plain": ["name"]}, Handling(), True),
        ({}, Handling(left_out=("name",)), False),
        ({}, Handling(tied={"name": "age"}), True),
        ({}, Handling(declared=("name",)), True),
    ],
)
def test_a_name_that_was_declared_is_released_or_left_out(
    roles: dict[str, list[str]], handling: Handling, leaves: bool
) -> None:
    """Whatever was said of it counts, and a harmless column beside it leaves as ever."""
    rows = people()
    done = release(point(rows, **roles), rows, handling=handling, warnings=())
    assert ("name" in done.data.column_names) is leaves
    assert "note" in done.data.column_names


def test_a_job_is_refused_alike(tmp_path: Path) -> None:
    """A name that the job does not list stays at home; one that it lists as plain leaves."""
    pyarrow.csv.write_csv(people(), tmp_path / "in.csv")
    listed = people_columns(10)
    start = listed.index("[columns.name]")
    ends = '[limits]\nk = 5\n[release]\nchoose = "k=5"\ntarget = "out.csv"\n'
    job = f'[data]\nsource = "in.csv"\n{listed[:start]}{ends}'
    with pytest.raises(BadSchema, match="Column 'name'"):
        release_job(parse_job(job, tmp_path))
    assert not (tmp_path / "out.csv").exists()
    release_job(parse_job(f'{job}[columns.name]\nrole = "plain"\n', tmp_path))
    assert (tmp_path / "out.csv").read_text(encoding="utf-8").startswith("name,age,sex,illness,note\n")


def test_one_call_takes_the_word_too() -> None:
    """``plain`` lets it leave as it is."""
    done = kp.anonymize(people(), QUASI, ["illness"], k=5, plain="name")
    assert set(done.data["name"].to_pylist()) == set(people()["name"].to_pylist())


def test_a_column_is_plain_or_something_else() -> None:
    """Not both."""
    with pytest.raises(BadSchema, match="Column 'age' is both quasi-identifier and plain"):
        kp.Schema(["age"], plain=["age"])


def facts(name: str, kind: Any, distinct: int, unique: int, longest: int = 9) -> ColumnFacts:
    """A column of a thousand rows."""
    return ColumnFacts(name, kind, 1000, 0, distinct, distinct, unique, longest)


@pytest.mark.parametrize(
    ("column", "direct"),
    [
        (facts("phone", "text", 990, 980), True),
        (facts("Telefon", "whole number", 990, 980), True),
        (facts("patient_id", "whole number", 1000, 1000), True),
        (facts("remark", "text", 108, 122), True),
        (facts("remark", "text", 12, 0), False),
        (facts("x", "text", 900, 850, longest=80), True),  # free text
        (facts("x", "text", 1000, 1000), True),  # a key
        (facts("x", "whole number", 1000, 1000), True),
        (facts("number", "text", 200, 110), False),
        (facts("weight", "number", 403, 377), False),
        (facts("fnlwgt", "whole number", 660, 460), False),
        (facts("score", "number", 1000, 1000), True),
        (facts("score", "number", 990, 980), False),
        (facts("seen", "date", 1000, 1000), True),
        (facts("seen", "date", 990, 980), False),
        (replace(facts("seen", "date", 300, 10), form="moments"), True),
        (replace(facts("x", "text", 100, 0), form="e-mail addresses"), True),
        (facts("x", "nested", 0, 0), False),
        (facts("email", "empty", 0, 0), False),
    ],
    ids=lambda each: f"{each.name}-{each.kind}-{each.distinct}" if isinstance(each, ColumnFacts) else "",
)
def test_what_looks_like_a_direct_identifier(column: ColumnFacts, direct: bool) -> None:
    """Names and contacts, by word or form, free text, moments, and what is different in every row."""
    assert (why_direct(column) is not None) is direct


@pytest.mark.parametrize("sample", [release_room.SAMPLE, 200])
def test_the_columns_of_adult_pass(sample: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """No column of it is a direct identifier, also where only some rows are looked at first."""
    monkeypatch.setattr(release_room, "SAMPLE", sample)
    rows = adult().slice(0, 3000)
    table = kp.read(rows, kp.Schema(["sex"]))
    assert kp.release(kp.front(table).choose(k=5), rows, warnings=()).data.num_columns == rows.num_columns


def test_lists_and_bytes_leave_as_they_are() -> None:
    """What has no text of its own is not taken for one."""
    cells = {"b": [bytes([255, row]) for row in range(60)], "l": [[row] for row in range(60)]}
    rows = pa.table({"q": ["a", "b"] * 30, **cells, "s": [{"a": row} for row in range(60)]})
    done = kp.release(kp.front(kp.read(rows, kp.Schema(["q"]))).choose(k=5), rows, warnings=())
    assert done.data.column_names == rows.column_names


@pytest.mark.parametrize("kind", [pa.int64(), pa.decimal128(20, 0), pa.string()])
def test_a_key_is_refused_whatever_its_type(kind: pa.DataType) -> None:
    """What has a text is looked at, not only what the verifier spells as we do."""
    rows = pa.table({"q": ["a", "b"] * 30, "x": pa.array(range(60)).cast(kind)})
    with pytest.raises(BadSchema, match=r"^Column 'x' \(100% of the rows have a value of their own\)"):
        kp.release(kp.front(kp.read(rows, kp.Schema(["q"]))).choose(k=5), rows, warnings=())


@pytest.mark.parametrize("sample", [release_room.SAMPLE, 400])
def test_marks_for_no_value_hide_no_key(sample: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question mark that stands in many rows is no value that repeats, however many rows are looked at first."""
    monkeypatch.setattr(release_room, "SAMPLE", sample)
    rows = people(15)
    cells = ["?" if row % 3 else f"t{row}" for row in range(rows.num_rows)]
    key = rows.append_column("x", [cells])
    with pytest.raises(BadSchema, match="'x'"):
        release(point(key, identifier=["name"]), key, warnings=())


def test_a_sample_alone_convicts_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that are all different among a few rows repeat in all of them; those of a key do not."""
    monkeypatch.setattr(release_room, "SAMPLE", 60)
    rows = people(30)
    few = rows.append_column("town", [[f"t{row // 4}" for row in range(rows.num_rows)]])
    choice = point(few, identifier=["name"])
    assert "town" in release(choice, few, warnings=()).data.column_names
    key = rows.append_column("x", [[f"t{row}" for row in range(rows.num_rows)]])
    with pytest.raises(BadSchema, match=r"^Column 'x' \(100% of the rows have a value of their own\)"):
        release(point(key, identifier=["name"]), key, warnings=())
