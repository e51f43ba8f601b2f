"""The whole private job on neighbours of every kind: nothing but the rows that are drawn depends on the rows.

A table and the same table with one row more are written to files, both go through the job, and what reaches the
mechanism is compared exactly: the domain, the scores, and the chance of everything that a release can show.
"""

from __future__ import annotations

import gzip
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations, product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kpareto.errors import BadJob, Unsafe
from kpareto.jobs import private
from kpareto.jobs.parse import load_job
from kpareto.jobs.private import PrivateWish, privatize
from kpareto.releases.private.delta import delta
from kpareto.releases.private.private_release import (
    Draws,
    PrivatePlan,
    PrivateRelease,
    bound_persons,
    draws_for_tests,
    release_private,
)
from kpareto.releases.private.scores import SCORES, make_score, score_nodes
from kpareto.tables.hierarchy import MISSING, from_levels
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table, make_table
from tests.releases.private.test_release import given_away, outcomes, small_plan

pytest.importorskip("opendp")

JOB = """
[data]
source = "{source}"
{more}
[columns.size]
role = "quasi-identifier"
hierarchy = {{intervals = [2], from = 0, to = 3}}
[columns.town]
role = "quasi-identifier"
hierarchy = "town.csv"
[release]
target = "out.csv"
"""
Row = tuple[str, str]
BASES: dict[str, list[Row]] = {
    "nobody": [],
    "few": [("0", "A"), ("0", "A"), ("1", "A"), ("3", "B")],
}
NEIGHBOURS: dict[str, Row] = {
    "a duplicate": ("0", "A"),
    "a new combination": ("2", "B"),
    "a value that nobody has": ("2", "C"),
    "a missing value": ("1", "NA"),
    "an empty text": ("1", ""),
    "a blank": (" ", "A"),
    "nothing at all": ("", ""),
    "a question mark": ("?", "A"),
    "the word for a missing value": (MISSING, "A"),
    "a town outside the domain": ("1", "Elsewhere"),
    "a number outside the domain": ("99", "A"),
    "no number": ("many", "A"),
    "a number written otherwise": ("1.0", "A"),
    "a number like a code": ("01", "A"),
    "a date": ("2024-01-31", "A"),
    "the names again": ("size", "town"),
    "signs of the file": ('1;"2"', "A,\nB"),
    "a long text": ("1", "A" * 5_000),
}
WISH = PrivateWish("1", "1e-6", ("20", "1e-4"))  # the same table in several settings has one budget
PLAN = small_plan(2, search=Fraction(1, 2), shown=Fraction(1))


@dataclass(frozen=True)
class Setting:
    """How the rows lie in a file, and what the job says of missing values."""

    ending: str
    more: str = ""
    separator: str = ","


SETTINGS = {
    "dropped": Setting(".csv"),
    "a category": Setting(".csv", 'missing = "category"'),
    "marks of its own": Setting(".tsv", 'missing = "category"\nmissing_values = ["NA", "many"]', "\t"),
    "packed": Setting(".csv.gz", 'missing = "drop"\nmissing_values = ["NA", ""]'),
    "Parquet": Setting(".parquet", 'missing = "category"'),
}


def write(rows: list[Row], setting: Setting, folder: Path) -> Path:
    """A job with these rows."""
    folder.mkdir()
    source = folder / f"people{setting.ending}"
    if setting.ending == ".parquet":
        table = pa.table(
            {name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate(("size", "town"))}
        )
        pq.write_table(table.set_column(0, "size", pa.array([row[0] or None for row in rows], pa.string())), source)
    else:
        cells = [["size", "town"], *rows]
        lines = [setting.separator.join('"' + cell.replace('"', '""') + '"' for cell in row) + "\n" for row in cells]
        text = "".join(lines).encode()
        source.write_bytes(gzip.compress(text) if setting.ending.endswith(".gz") else text)
    (folder / "town.csv").write_text("A;*\nB;*\nC;*\n")
    job = folder / "job.toml"
    job.write_text(JOB.format(source=source.name, more=setting.more))
    return job


def run(job: Path, monkeypatch: pytest.MonkeyPatch, plan: PrivatePlan = PLAN) -> tuple[Table | None, str]:
    """What the mechanism was given (None: no row), and what became of the job: a release, or why there is none."""
    seen: list[Table] = []

    def record(table: Table, planned: PrivatePlan, score: str, draws: Draws) -> PrivateRelease:
        seen.append(table)
        return release_private(table, planned, score, draws)

    with monkeypatch.context() as patch:
        patch.setattr(private, "release_private", record)
        patch.setattr(private, "make_plan", lambda *_, **__: plan)
        try:
            privatize(load_job(job), WISH, draws=draws_for_tests(1))
            said = "released"
        except Unsafe as error:
            said = str(error)
    return (seen[0] if seen else None), said


Pair = tuple[Table | None, Table | None]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str, str], Pair]:
    """Every table of the job with its neighbour, by setting, base and kind; each job runs once."""
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("home")))
    monkeypatch.setattr("warnings.showwarning", lambda *_, **__: None)
    sentences = set()
    every = {}
    for name, setting in SETTINGS.items():
        folder = tmp_path_factory.mktemp("neighbours")
        for base, rows in BASES.items():
            alone, said = run(write(rows, setting, folder / base), monkeypatch)
            sentences.add(said)
            for number, (kind, row) in enumerate(NEIGHBOURS.items()):
                more, said = run(write([*rows, row], setting, folder / f"{base}-{number}"), monkeypatch)
                sentences.add(said)
                every[name, base, kind] = (alone, more)
                assert (alone is None) == (not rows), "the rows never reached the mechanism"
    monkeypatch.undo()
    assert len(sentences - {"released"}) == 1  # one sentence, whatever the reason
    return every


def rows_of(table: Table | None) -> dict[tuple[int, ...], int]:
    """How many rows stand at each combination of leaves."""
    return {} if table is None else dict(zip(map(tuple, table.codes.tolist()), table.weights.tolist(), strict=True))


def law_of(table: Table | None, score: str) -> dict[tuple[object, ...], float]:
    """The chance of everything that can be seen; of a release without rows nothing is, not even its recoding."""
    law: dict[tuple[object, ...], float] = {}
    for outcome, chance in ({(0,): 1.0} if table is None else outcomes(table, PLAN, score=score)).items():
        key = outcome if len(outcome) > 1 else ()
        law[key] = law.get(key, 0.0) + chance
    return law


@pytest.mark.parametrize("setting", SETTINGS)
def test_one_row_more_moves_one_row_and_nothing_else(setting: str, pairs: dict[tuple[str, str, str], Pair]) -> None:
    """Domain, leaves and groups are those that were declared; at most one row is more, and none is another."""
    domains, moved = set(), 0
    for (name, _, kind), (one, other) in pairs.items():
        if name != setting:
            continue
        for table in (one, other):
            if table is not None:
                domains.add(tuple((h.leaves, h.labels, h.groups.tobytes()) for h in table.hierarchies))
        before, after = rows_of(one), rows_of(other)
        differences = [after.get(key, 0) - before.get(key, 0) for key in before.keys() | after.keys()]
        assert sorted(set(differences) - {0}) in ([], [1]), kind
        assert sum(differences) <= 1, kind
        moved += sum(differences)
    assert [domain[1][0] for domain in domains] == [
        ("A", "B", "C", MISSING)[: 3 + ("category" in SETTINGS[setting].more)]
    ]
    assert moved >= len(BASES) * 4  # a duplicate, a new combination, a value that nobody has, a number otherwise


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("score", SCORES)
def test_no_neighbour_is_told_apart_by_more_than_epsilon_and_delta(
    score: str, setting: str, pairs: dict[tuple[str, str, str], Pair]
) -> None:
    """Scores move by their sensitivity at most, and the chances of all outcomes stay within e^epsilon and delta."""
    for (name, _, kind), (one, other) in pairs.items():
        if name != setting:
            continue
        if one is not None and other is not None:
            made = make_score(score, one.hierarchies, PLAN.beta, PLAN.k)
            moves = score_nodes(other, made) - score_nodes(one, made)
            assert np.abs(moves).max() <= made.sensitivity, kind
            assert moves.min() >= 0 or not made.monotone, kind
        away = given_away(law_of(one, score), law_of(other, score), float(PLAN.epsilon))
        assert away <= float(PLAN.reached) + 1e-12, kind


@pytest.mark.parametrize("name", ["people.json", "people.csv", "people.xlsx"])
def test_files_whose_rows_decide_what_a_cell_is_are_refused(name: str, tmp_path: Path) -> None:
    """In JSON and in a workbook one text makes texts of a column of numbers, so such files are refused."""
    job = write(BASES["few"], SETTINGS["dropped"], tmp_path / "job")
    place = job.with_name(name)
    if name.endswith(".xlsx"):
        import xlsxwriter

        with xlsxwriter.Workbook(str(place)) as book:
            book.add_worksheet().write_row(0, 0, ["size", "town"])
    else:
        place.write_text('[{"size": 1, "town": "A"}, {"size": 2, "town": "B"}]')
    with pytest.raises(BadJob, match="one row may change what the others are"):
        privatize(load_job(job, [f"data.source={name}"]), PrivateWish("1", "1e-6", ("1", "1e-6")))
    assert not job.with_name("budget.json").exists()


# -- one person more, with all rows ----------------------------------------------------------------------------------

MOST = 2  # rows of a person
BY_PERSON = PrivatePlan(
    Fraction(3, 2), Fraction(1, 2), Fraction(1, 2), Fraction(1), Fraction(1, 4), 3,
    reached=2 * Fraction(math.exp(0.5)) * delta(3, Fraction(1, 4), Fraction(1, 2)), rows_per_person=MOST,
)  # fmt: skip
Rows = list[tuple[str, str, str]]  # size, town, id
CROWD: Rows = [("0", "A", "7"), ("0", "A", "7"), ("1", "A", "7"), ("0", "A", "anna"), ("3", "B", "b"), ("2", "B", "b")]
NEWCOMERS: dict[str, Rows] = {
    "one row": [("0", "A", "8")],
    "three equal rows": [("0", "A", "8")] * 3,
    "four rows that differ": [("0", "A", "8"), ("1", "A", "8"), ("3", "B", "8"), ("2", "C", "8")],
    "a word among numbers": [("0", "A", "zoe"), ("1", "B", "zoe"), ("1", "B", " ZOE ")],
    "spellings of one number": [("0", "A", "9"), ("0", "A", "09"), ("0", "B", "9.0")],
    "no place for some rows": [("99", "A", "8"), ("0", "Elsewhere", "8"), ("0", "A", "8"), ("", "A", "8")],
    "no place for any row": [("99", "A", "8"), ("lots", "A", "8")],
    "no id": [("0", "A", ""), ("0", "A", "\u00a0"), ("1", "A", " ")],
    "the word for a missing id": [("0", "A", MISSING), ("0", "A", MISSING)],
    "a long id": [("0", "A", "8" * 5_000)] * 3,
}


def write_persons(rows: Rows, setting: Setting, folder: Path) -> Path:
    """A job with these rows, whose persons are told apart by an id."""
    job = write([row[:2] for row in rows], setting, folder)
    source = next(folder.glob("people*"))
    if setting.ending == ".parquet":
        pq.write_table(
            pq.read_table(source).append_column("id", pa.array([row[2] for row in rows], pa.string())), source
        )
    else:
        lines = [("size", "town", "id"), *rows]
        source.write_text("".join(setting.separator.join(f'"{cell}"' for cell in row) + "\n" for row in lines))
    text = job.read_text().replace("[columns.size]", 'person = "id"\n[columns.size]')
    job.write_text(f"{text}rows_per_person = {MOST}\n")
    return job


def held_by(table: Table | None) -> dict[tuple[tuple[tuple[int, ...], int], ...], int]:
    """How many persons have which rows, so many of each."""
    if table is None:
        return {}
    people = table.persons
    assert people is not None
    rows: dict[int, list[tuple[tuple[int, ...], int]]] = {}
    for place, person, count in zip(people.row.tolist(), people.code.tolist(), people.count.tolist(), strict=True):
        rows.setdefault(person, []).append((tuple(table.codes[place].tolist()), count))
    return Counter(tuple(sorted(held)) for held in rows.values())


Kept = tuple[tuple[tuple[int, ...], int], ...]


def kept_law(held: Mapping[tuple[tuple[tuple[int, ...], int], ...], int]) -> dict[Kept, Fraction]:
    """The chance of every table that is left when so many rows of each person are kept, all choices equally likely."""
    law: dict[Kept, Fraction] = {(): Fraction(1)}
    for rows in Counter(held).elements():
        each = [row for row, count in rows for _ in range(count)]
        choices = list(combinations(each, min(MOST, len(each))))
        after: dict[Kept, Fraction] = {}
        for (kept, chance), choice in product(law.items(), choices):
            key = tuple(sorted((Counter(dict(kept)) + Counter(choice)).items()))
            after[key] = after.get(key, Fraction(0)) + chance / len(choices)
        law = after
    return law


def law_of_persons(table: Table | None, score: str) -> dict[tuple[object, ...], float]:
    """The chance of everything that can be seen, whichever rows of each person are kept."""
    law: dict[tuple[object, ...], float] = {}
    for kept, chance in ({} if table is None else kept_law(held_by(table))).items():
        assert table is not None
        codes = np.array([row for row, _ in kept], dtype=np.int32)
        bounded = make_table(Schema(table.schema.quasi), table.hierarchies, codes, np.array([n for _, n in kept]), {})
        for outcome, likely in outcomes(bounded, BY_PERSON, score=score).items():
            key = outcome if len(outcome) > 1 else ()
            law[key] = law.get(key, 0.0) + float(chance) * likely
    return law


def test_which_rows_of_a_person_are_kept_is_drawn_among_them_alone() -> None:
    """Over all orders of the random words, the real choice has the law of independent choices by person."""
    rows = [((0, 0), 0), ((0, 0), 0), ((1, 0), 0), ((1, 0), 1), ((1, 1), 1), ((0, 1), 1), ((1, 1), 2)]
    trees = (from_levels("size", [("x", "*"), ("y", "*")]), from_levels("town", [("u", "*"), ("v", "*")]))
    codes, ids = np.array([row for row, _ in rows], dtype=np.int32), np.array([person for _, person in rows])
    people = {"id": (("a", "b", "c"), ids, None)}
    table = make_table(Schema(("size", "town"), person="id"), trees, codes, np.ones(len(rows), np.int64), people)
    seen: dict[Kept, int] = {}
    for words in permutations(range(len(rows))):

        def same_bytes(_: int, words: tuple[int, ...] = words) -> bytes:
            return np.array(words, "<u8").tobytes()

        left = bound_persons(table, MOST, Draws(same_bytes, secret=False))
        key = tuple(sorted(rows_of(left).items()))
        seen[key] = seen.get(key, 0) + 1
    assert {key: Fraction(n, math.factorial(len(rows))) for key, n in seen.items()} == kept_law(held_by(table))


@pytest.mark.parametrize("setting", ["a category", "Parquet", "marks of its own"])
def test_one_person_more_moves_that_person_and_nothing_else(
    setting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the whole job everybody else keeps all rows, and chances stay within a person's epsilon and delta."""
    monkeypatch.setattr("warnings.showwarning", lambda *_, **__: None)
    alone, _ = run(write_persons(CROWD, SETTINGS[setting], tmp_path / "alone"), monkeypatch, BY_PERSON)
    assert sum(held_by(alone).values()) == 3
    scores = ("granularity", "class-count", "discernibility")
    before = {score: law_of_persons(alone, score) for score in scores}
    for number, (kind, rows) in enumerate(NEWCOMERS.items()):
        more, _ = run(write_persons([*CROWD, *rows], SETTINGS[setting], tmp_path / f"{number}"), monkeypatch, BY_PERSON)
        come = Counter(held_by(more))
        come.subtract(held_by(alone))
        assert sorted(set(come.values()) - {0}) in ([], [1]), kind
        assert sum(come.values()) == (0 if kind.startswith(("no place for any", "no id", "the word")) else 1), kind
        for score in scores:
            away = given_away(before[score], law_of_persons(more, score), float(BY_PERSON.epsilon))
            assert away <= float(BY_PERSON.reached) + 1e-12, (kind, score)
