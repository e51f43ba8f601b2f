"""The warnings of one release through every way out: terminal, JSON, page, report, certificate and Python agree."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, fields
from pathlib import Path

import pytest

import kpareto as kp
from kpareto.faces.cli import main
from kpareto.faces.report import find, report_of
from kpareto.fronts.choose import choose_point
from kpareto.jobs.front import search_job
from kpareto.jobs.parse import load_job
from kpareto.jobs.release import check_release, handling_of, release_job
from kpareto.verifier import digest_of, verify
from tests.twins.page import running, write_people

JOB = """
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
[columns.years]
YEARS
[suppression]
limit = 0.05
ROWS
[limits]
k = 5
[release]
choose = "k=5"
target = "out.csv"
RELEASE
"""


@dataclass(frozen=True)
class Way:
    """How rows are handled, in the words of a job, and the warning that this alone brings."""

    years: str = 'role = "identifier"'  # of a column that says the same as age
    rows: str = ""
    release: str = ""
    id: str | None = None
    severity: str = "caution"

    def write(self, place: Path) -> Path:
        """The job in a file."""
        text = JOB.replace("YEARS", self.years).replace("ROWS", self.rows).replace("RELEASE", self.release)
        place.write_text(text, encoding="utf-8")
        return place


WAYS = {
    "usual": Way(),
    "order": Way(release='order = "kept"', id="W19"),
    "shown": Way(release='representative = {age = "median"}', id="W8"),
    "plain": Way(years='role = "plain"', id="W17", severity="danger"),
    "declared": Way(years='role = "plain"\ndeclared = true', id="W17"),
    "tied": Way(years='tie = "age"'),
    "masked": Way(rows='rows = "mask"'),
    "identifiers": Way(release='identifiers = "token"'),
    "formulas": Way(release='formulas = "neutralise"'),
    "several": Way(years='role = "plain"', release='order = "kept"\nrepresentative = {age = "median"}', id="W19"),
}
# They say how rows are read, and what is left out of a release; no warning is about them.
READING = {"seed", "token_seed", "missing_values", "left_out", "form"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to stand in, with a table in which years say the same as age."""
    lines = write_people(tmp_path / "people.csv").read_text(encoding="utf-8").splitlines()
    rows = [f"{lines[0]},years", *(f"{line},{line.partition(',')[0]}" for line in lines[1:])]
    (tmp_path / "people.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed_ids(text: str) -> list[str]:
    """The numbers of the warnings that a terminal shows."""
    return re.findall(r"^(W\S+) \((?:note|caution|danger)\):", text, flags=re.MULTILINE)


def ids_on_page(folder: Path) -> list[list[str]]:
    """The warnings that the page shows before a release of the job's own point, and after it."""
    (folder / "temporary").mkdir()
    with running(folder, folder / "temporary") as page:
        page.open_door()
        session = page.new_session()
        assert page.client.post(f"{session}/open", json={"name": "job.toml"}).status_code == 200
        page.client.post(f"{session}/search", json={})
        page.client.get(f"{session}/events")
        job = load_job("job.toml")
        place = choose_point(search_job(job), job.choose).id
        answers = [
            page.client.post(f"{session}/points/{place}/check", json={}).json(),
            page.client.post(f"{session}/release", json={"point": place, "target": "out.csv"}).json(),
        ]
    return [[each["id"] for each in answer["warnings"]] for answer in answers]


@pytest.mark.parametrize("name", WAYS)
def test_every_way_out_has_the_same_warnings(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever looks at a release is warned of the same, however its rows were handled."""
    way = WAYS[name]
    file = way.write(folder / "job.toml")
    assert main(["release", "job.toml", "-q", "--json", "answer.json"]) == 0
    terminal = printed_ids(capsys.readouterr().out)
    certificate = json.loads((folder / "out.certificate.json").read_text(encoding="utf-8"))
    public = json.loads((folder / "out.certificate.public.json").read_text(encoding="utf-8"))["public"]
    finding = find(file)
    done = release_job(finding.job, finding.point.front, folder / "again.csv")
    expected = {each.id for each in done.warnings}
    ways_out = {
        "terminal": terminal,
        "JSON": [each["id"] for each in json.loads((folder / "answer.json").read_text())["warnings"]],
        "public certificate": public["warnings"],
        "confidential certificate": [number for number, _ in certificate["confidential"]["warnings"]],
        "Python's trial": [each.id for each in check_release(finding.job, finding.point).warnings],
        "Python's sentences": printed_ids(done.summary()),
    }
    ways_out["the page's trial"], ways_out["the page"] = ids_on_page(folder)
    for kind, secret in (("public", False), ("confidential", True)):
        for at_hand in (done, None):  # without one, what lies where the job writes is looked at
            report = report_of(finding, at_hand, confidential=secret)
            ways_out[f"{kind} report of {at_hand}"] = [alert.id for alert in report.warnings]
    assert {out: set(ids) for out, ids in ways_out.items()} == dict.fromkeys(ways_out, expected)
    assert all(len(ids) == len(expected) for ids in ways_out.values())
    if way.id is not None:
        assert [each.severity for each in done.warnings if each.id == way.id] == [way.severity]


def test_a_handling_alone_brings_its_warning(folder: Path) -> None:
    """Beside the usual release each handling has the one warning of its own, and no other."""
    ids = {}
    for name in ("usual", "order", "shown", "plain", "declared"):
        job = load_job(WAYS[name].write(folder / "job.toml"))
        ids[name] = {each.id for each in release_job(job, None, folder / f"{name}.csv").warnings}
    usual = ids.pop("usual")
    assert {name: there - usual for name, there in ids.items()} == {name: {WAYS[name].id} for name in ids}


def test_no_handling_is_forgotten() -> None:
    """Whatever a handling can say is tried above, or is about reading."""
    assert {field.name for field in fields(kp.Handling)} <= set(WAYS) | READING


@pytest.mark.parametrize("name", ["order", "shown", "several"])
def test_warnings_that_are_given_are_completed(name: str, folder: Path) -> None:
    """Who gives a release its warnings cannot leave out those of its handling."""
    job = load_job(WAYS[name].write(folder / "job.toml"))
    point = choose_point(search_job(job), job.choose)
    done = kp.release(point, "people.csv", handling=handling_of(job), warnings=[("W9", "Mind the gap.")])
    own = {"order": ["W19"], "shown": ["W8"], "several": ["W8", "W19", "W17"]}[name]
    assert [each.id for each in done.warnings if each.id == "W9" or each.id in own] == ["W9", *own]
    assert done.certificate.public["warnings"] == [each.id for each in done.warnings]


def test_a_certificate_of_an_earlier_version_is_read(folder: Path) -> None:
    """W19 was called W-order: such a certificate is verified, and its release is reported on with the number of now."""
    file = WAYS["order"].write(folder / "job.toml")
    finding = find(file)
    release_job(finding.job, finding.point.front)
    paper = folder / "out.certificate.json"
    certificate = json.loads(paper.read_text(encoding="utf-8"))
    public, confidential = certificate["public"], certificate["confidential"]
    public["warnings"] = ["W-order" if number == "W19" else number for number in public["warnings"]]
    confidential["warnings"] = [["W-order" if n == "W19" else n, text] for n, text in confidential["warnings"]]
    confidential["public_sha256"] = digest_of(public)
    del confidential["sha256"]
    confidential["sha256"] = digest_of(confidential)
    paper.write_text(json.dumps(certificate), encoding="utf-8")
    assert verify(folder / "out.csv", paper).numbers["k"] >= 5
    WAYS["usual"].write(file)  # the order that counts is the certified one
    assert [alert.id for alert in report_of(find(file), confidential=True).warnings].count("W19") == 1
