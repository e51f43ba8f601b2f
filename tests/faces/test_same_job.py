"""One job through the command line, Python and the page: the same front and the same release, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import kpareto as kp
from kpareto.faces.cli import main
from kpareto.faces.report import write_report
from kpareto.faces.web.release import check, release_point
from kpareto.faces.web.search import Searching
from kpareto.faces.web.session import Session, Sessions
from kpareto.fronts.choose import choose_point
from kpareto.fronts.front import Front
from kpareto.fronts.use import use_of_marks
from kpareto.jobs.front import search_job
from kpareto.jobs.parse import load_job
from kpareto.jobs.release import release_job
from kpareto.searches import names
from tests.engines.test_admission import people
from tests.twins.page import write_people

PAPERS = ("out.csv", "out.certificate.json", "out.certificate.public.json", "out.recoding.json")
PEOPLE = """
[data]
source = "people.csv"
[columns.age]
role = "quasi-identifier"
hierarchy = {intervals = [5, 10, 20], from = 0}
[columns.town]
role = "quasi-identifier"
hierarchy = {flat = true}
[columns.sex]
role = "quasi-identifier"
[columns.illness]
role = "sensitive"
"""
ONE_LOSS = """
[suppression]
rule = "as-needed"
limit = 0.05
[search]
method = "METHOD"
space = "cuts"
objectives = ["lm"]
seed = 3
[limits]
k = 5
"""
EXACT = """
[suppression]
limit = 0.05
[search]
method = "exact"
objectives = ["k", "lm", "l"]
[release]
choose = "k=4, l=2"
target = "out.csv"
"""
BRED = """
[suppression]
limit = 0.05
[search]
method = "METHOD"
space = "order"
objectives = ["k", "lm"]
seed = 3
"""
SAMPLED = """
[data]
source = "people.parquet"
missing = "drop"
memory = "1 MB"
too_many = "sample"
sample = 400
seed = 3
[columns.age]
role = "quasi-identifier"
hierarchy = {intervals = [10, 20], from = 0}
[columns.zip]
role = "quasi-identifier"
hierarchy = {prefix = [4, 3]}
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
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to stand in, with two tables."""
    write_people(tmp_path / "people.csv")
    pq.write_table(people(), tmp_path / "people.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(front: Front | Mapping[str, Any]) -> str:
    """The JSON of a front; the seconds it took are all that may differ."""
    data = json.loads(json.dumps(front.to_dict() if isinstance(front, Front) else front))
    del data["search"]["seconds"]
    return json.dumps(data, sort_keys=True)


def by_command(text: str) -> str:
    """The front that ``kpareto front --json`` writes; the use of its marks, measured by the command, is compared here."""
    Path("job.toml").write_text(text)
    assert main(["front", "job.toml", "-q", "--json", "front.json"]) == 0
    data = json.loads(Path("front.json").read_text())
    uses = {mark["id"]: mark.pop("use") for mark in data["marks"] if "use" in mark}
    own = use_of_marks(search_job(load_job("job.toml")))
    assert uses == json.loads(json.dumps({place: use.to_dict() for place, use in own.items()}), object_hook=_by_place)
    return told(data)


def _by_place(data: dict[str, Any]) -> dict[Any, Any]:
    return {int(key) if key.isdecimal() else key: value for key, value in data.items()}


def on_page(text: str, folder: Path) -> tuple[Session, Searching]:
    """The job loaded into a page, and its search when it is done."""
    session = Sessions(folder, folder / "temporary").make()
    session.open_job(text, "job.toml")
    search = Searching(session.job, session.own / "checkpoint.npz")
    search.start()
    search.wait(300)
    assert search.phase == "done", search.sentence
    return session, search


def by_page(text: str, folder: Path) -> str:
    """The front that the page draws."""
    front = on_page(text, folder)[1].front
    assert front is not None
    return told(front)


@pytest.mark.parametrize("method", ["genitor", "improve", "recut"])
def test_one_loss_goes_the_compiled_way_everywhere(method: str, folder: Path) -> None:
    """One loss under a given k: compiled, with its proven bound, whoever asks."""
    text = PEOPLE + ONE_LOSS.replace("METHOD", method)
    first = by_command(text)
    assert "lower_bound" in json.loads(first)["search"]["details"]
    assert told(search_job(load_job("job.toml"))) == first
    table, limits = load_job("job.toml").table(), {"k": 5}
    assert told(kp.front(table, None, ["lm"], kp.constrained(limits, 0.05), limits, method, 3)) == first
    assert by_page(text, folder) == first


@pytest.mark.parametrize("method", ["nsga2", "genitor", "improve"])
def test_without_a_budget_one_place_says_how_long(method: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default budget has one meaning: changed there, every face stops at it; else each search ends by itself."""
    text = PEOPLE + BRED.replace("METHOD", method)
    mine = tuple(replace(each, default=1_500) if each.name == "budget" else each for each in names.OPTIONS[method])
    monkeypatch.setitem(names.OPTIONS, method, mine)
    first = by_command(text)
    assert json.loads(first)["search"]["evaluated"] <= 1_500
    assert "the budget of 1,500 evaluations is spent" in first
    assert told(search_job(load_job("job.toml"))) == first
    assert by_page(text, folder) == first
    own = make_front_in_python(method)
    assert own.provenance.note == "the budget of 1,500 evaluations is spent"


def make_front_in_python(method: str) -> Front:
    """The front of the same table by ``kpareto.front``."""
    return kp.front(load_job("job.toml").table(), objectives=["k", "lm"], suppression=0.05, method=method, seed=3)


def test_nsga2_without_a_budget_ends_as_its_paper_says(folder: Path) -> None:
    """Five hundred generations on the command line, in Python and on the page."""
    text = PEOPLE + BRED.replace("METHOD", "nsga2").replace(
        'objectives = ["k", "lm"]', 'objectives = ["k", "lm"]\npopulation = 20'
    )
    first = by_command(text)
    assert "note" not in json.loads(first)["search"]
    assert told(search_job(load_job("job.toml"))) == first
    assert by_page(text, folder) == first


def released(text: str, folder: Path) -> list[dict[str, bytes]]:
    """The released rows and papers: by the command line, by Python, by the page."""
    Path("job.toml").write_text(text)
    assert main(["release", "job.toml", "-q"]) == 0
    own = folder / "own"
    own.mkdir()
    release_job(load_job("job.toml"), place=own / "out.csv")
    session, search = on_page(text, folder)
    assert search.front is not None
    place = choose_point(search.front, session.job.choose).id
    checked = check(session.job, search.front, place, {})
    done = release_point(session.job, search.front, place, session.outbox / "out.csv")
    assert checked["met"]
    assert checked["warnings"] == done["warnings"]
    return [{name: (where / name).read_bytes() for name in PAPERS} for where in (folder, own, session.outbox)]


def test_an_exact_front_and_its_release(folder: Path) -> None:
    """Every byte of the front, the released rows, both certificates and the recoding."""
    text = PEOPLE + EXACT
    first = by_command(text)
    assert json.loads(first)["search"]["complete"]
    assert told(search_job(load_job("job.toml"))) == first
    table = load_job("job.toml").table()
    assert told(kp.front(table, objectives=["k", "lm", "l"], suppression=0.05)) == first
    assert by_page(text, folder) == first
    command, python, page = released(text, folder)
    assert python == command
    assert page == command


def test_a_sampled_release_is_judged_on_all_rows(folder: Path) -> None:
    """Chosen on a sample: limits and warnings are of all rows through every door, and so are the bytes."""
    command, python, page = released(SAMPLED, folder)
    certificate = json.loads(command["out.certificate.json"])
    assert certificate["confidential"]["input"]["rows"] == 3_000
    warnings = dict(certificate["confidential"]["warnings"])
    assert {"W1", "W15"} <= set(warnings)
    assert "of 2,784 rows" in warnings["W1"]  # those without a missing value, not the 400 of the sample
    assert python == command
    assert page == command


def test_a_sampled_release_is_reported_on(folder: Path) -> None:
    """A report takes the release that is at hand, though the search saw some of its rows only."""
    Path("job.toml").write_text(SAMPLED)
    done = release_job(load_job("job.toml"))
    written = write_report("job.toml", "report.html", point=done.point, release=done)
    assert "a sample of 400 of 2,784 rows" in written.read_text()
