"""Projects of ARX on the page: dropped or from the folder they become table, roles, hierarchies and limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kpareto.jobs.arx.project import look_at
from kpareto.jobs.parse import load_job
from tests.jobs.test_arx import ILL, PLACE, ROWS, SEX, Made
from tests.twins.page import Page


def send(page: Page, session: str, project: Path) -> Any:
    """Drop a project on the page."""
    headers = {"x-name": project.name}
    return page.client.put(f"{session}/upload/data", content=project.read_bytes(), headers=headers)


def search(page: Page, session: str) -> Any:
    """The front of a session, searched as its job says."""
    page.client.post(f"{session}/search", json={})
    page.client.get(f"{session}/events")
    return page.client.get(f"{session}/front").json()


def test_a_dropped_project_is_searched_and_released(page: Page, session: str, tmp_path: Path) -> None:
    """Roles, hierarchies, limits and the remarks are those of inspect, and the point that ARX asks for is released."""
    project = Made(settings="<snapshotSizeDataset>0.2</snapshotSizeDataset>").write(tmp_path)
    state = send(page, session, project).json()
    draft = state["draft"]
    assert state["uploaded"]
    assert draft["data"]["source"] == "small.csv"
    assert {name: column["role"] for name, column in draft["columns"].items()} == {
        SEX: "quasi-identifier", PLACE: "quasi-identifier", ILL: "sensitive", "id": "identifier",
    }  # fmt: skip
    assert draft["limits"] == {"k": 2}
    assert draft["release"]["choose"] == "k=2"
    view = page.client.get(f"{session}/hierarchy", params={"column": PLACE}).json()
    assert [level["count"] for level in view["levels"]] == [3, 2, 1]
    told = page.client.get(f"{session}/table/facts").json()["remarks"]
    sentences = look_at(project).sentences()
    assert told[: len(sentences)] == sentences
    assert any("snapshotSizeDataset" in each for each in told)
    front = search(page, session)
    place = front["recommended"]
    done = page.client.post(f"{session}/release", json={"point": place, "accept": ["W1", "W2"]}).json()
    assert page.client.get(f"{session}/files/{done['files']['release']}").text.startswith(f"{SEX};")


def test_a_project_of_the_folder_becomes_a_job_to_save(page: Page, session: str) -> None:
    """It is listed, opened without writing beside it, and saved as a job with its hierarchies, which runs."""
    Made().write(page.folder, "own.deid")
    files = {each["name"]: each["kind"] for each in page.client.get("/api/about").json()["files"]}
    assert files["own.deid"] == "project"
    before = sorted(page.folder.glob("[!.]*"))
    state = page.client.post(f"{session}/open", json={"name": "own.deid"}).json()
    assert state["draft"]["data"]["source"] == "own.csv"
    assert sorted(page.folder.glob("[!.]*")) == before
    saved = page.client.post(f"{session}/job/save", json={"name": "own.toml"}).json()
    assert len(saved["files"]) == 3
    (page.folder / "own.csv").write_text(Made().lines([(SEX, PLACE, ILL, "id"), *ROWS]), encoding="utf-8")
    assert load_job(page.folder / "own.toml").problem().table.rows == len(ROWS)


def test_the_research_subset_comes_with_its_population(page: Page, session: str, tmp_path: Path) -> None:
    """The rows are those of the subset, and everybody lies beside them, for a search by the population."""
    project = Made(subset=ROWS[:12], criteria=["(2)-map"]).write(tmp_path, "part.deid")
    draft = send(page, session, project).json()["draft"]
    assert draft["population"]["source"] == "part-population.csv"
    assert draft["limits"] == {"k-map": 2}
    assert search(page, session)["rows"] == 12


def test_another_project_takes_the_place_of_the_first(page: Page, session: str, tmp_path: Path) -> None:
    """Its table, population and remarks go; a table that is opened then has no remarks of a project."""
    send(page, session, Made(subset=ROWS[:12]).write(tmp_path, "first.deid"))
    assert send(page, session, Made().write(tmp_path, "second.deid")).json()["draft"]["population"] == {}
    page.client.post(f"{session}/open", json={"name": "people.csv"})
    told = page.client.get(f"{session}/table/facts").json()["remarks"]
    assert not any("ARX" in each for each in told)


HOSTILE = {
    "bomb": ({"input/hierarchies/x.csv": b"0;" * (2 << 20)}, "packed more than 200 times"),
    "entities": ({"project.xml": '<!DOCTYPE a [<!ENTITY b "c">]><project>&b;</project>'}, "document type or entities"),
    "path": ({"../../out.csv": "x"}, "leads out of its folder"),
    "missing": ({"input/config.xml": None}, "has no part 'input/config.xml'"),
}


@pytest.mark.parametrize(("parts", "said"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_project_is_one_sentence(
    page: Page, session: str, tmp_path: Path, parts: dict[str, Any], said: str
) -> None:
    """It is refused as inspect refuses it, without a path of the server; the table that was open stays, nothing else."""
    page.client.post(f"{session}/open", json={"name": "people.csv"})
    before, lying = page.client.get(session).json(), sorted(page.folder.glob("[!.]*"))
    answer = send(page, session, Made(parts=parts).write(tmp_path, "bad.deid"))
    assert answer.status_code == 400
    assert said in answer.json()["error"]
    assert "'bad.deid'" in answer.json()["error"]
    assert page.client.get(session).json() == before
    assert sorted(page.folder.glob("[!.]*")) == lying
    assert not list(page.temporary.rglob("bad*"))


def test_what_is_no_project_is_said(page: Page, session: str) -> None:
    """A file of another kind that is only called so is a sentence too."""
    answer = page.client.put(f"{session}/upload/data", content=b"age,sex\n1,f\n", headers={"x-name": "x.DEID"})
    assert answer.status_code == 400
    assert "no zip, as projects of ARX are" in answer.json()["error"]
