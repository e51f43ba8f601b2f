"""The whole private job on neighbours of every kind: nothing but the rows that are drawn depends on the rows.

A table and the same table with one row more are written to files, both go through the job, and what reaches the
mechanism is compared exactly: the domain, the scores, and the chance of everything that a release can show.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kpareto.errors import BadJob, Unsafe
from kpareto.jobs import private
from kpareto.jobs.parse import load_job
from kpareto.jobs.private import PrivateWish, privatize
from kpareto.releases.private.private_release import (
    Draws,
    PrivatePlan,
    PrivateRelease,
    draws_for_tests,
    release_private,
)
from kpareto.releases.private.scores import SCORES, make_score, score_nodes
from kpareto.tables.hierarchy import MISSING
from kpareto.tables.table import Table
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


def run(job: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Table | None, str]:
    """What the mechanism was given (None: no row), and what became of the job: a release, or why there is none."""
    seen: list[Table] = []

    def record(table: Table, plan: PrivatePlan, score: str, draws: Draws) -> PrivateRelease:
        seen.append(table)
        return release_private(table, plan, score, draws)

    with monkeypatch.context() as patch:
        patch.setattr(private, "release_private", record)
        patch.setattr(private, "make_plan", lambda *_: PLAN)
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
