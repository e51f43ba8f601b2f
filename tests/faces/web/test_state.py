"""What was done on the page is not lost: late changes, changed hierarchies, runs that outlive the server."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path
from typing import Any

import httpx
import pytest

from kpareto.errors import BadInput
from kpareto.faces.web.runs import KeptRuns, runs_folder
from kpareto.fronts.front import brief_front, load_front
from kpareto.fronts.problem import problem
from kpareto.jobs.front import read_kept
from kpareto.searches.run import Plan, run_plan
from kpareto.tables.adult import adult_table
from tests.twins.page import Page, serving_people
from tests.twins.window import count_slowly


def opened(page: Page, session: str, name: str = "people.csv") -> dict[str, Any]:
    """The draft of a table, with town as a quasi-identifier."""
    draft: dict[str, Any] = page.client.post(f"{session}/open", json={"name": name}).json()["draft"]
    if name == "people.csv":
        draft["columns"]["town"] = {"role": "quasi-identifier", "hierarchy": {"flat": True}}
        draft = page.client.put(f"{session}/job", json=draft).json()["draft"]
    return draft


def search(page: Page, session: str) -> dict[str, Any]:
    """Search, wait for the end, and tell the state."""
    assert page.client.post(f"{session}/search", json={}).status_code == 200
    page.client.get(f"{session}/events")
    state: dict[str, Any] = page.client.get(session).json()
    return state


def merge(page: Page, session: str, label: str, groups: tuple[int, int] = (0, 3), level: int = 0) -> dict[str, Any]:
    """Merge two towns."""
    wish = {"column": "town", "action": "merge", "level": level, "groups": list(groups), "label": label}
    answer: dict[str, Any] = page.client.post(f"{session}/hierarchy", json=wish).json()
    return answer


# -- one job, several tabs -----------------------------------------------------------------------------------------


def test_a_late_change_is_refused(page: Page, session: str) -> None:
    """Of two tabs that change one job, the second is told that it came late, and loses nothing of the first."""
    draft = opened(page, session)
    first = {**draft, "limits": {"k": 3}}
    second = {**draft, "limits": {"k": 7}}
    assert page.client.put(f"{session}/job", json=first).status_code == 200
    late = page.client.put(f"{session}/job", json=second)
    assert late.status_code == 409
    assert late.json()["late"]
    assert "changed elsewhere" in late.json()["error"]
    now = page.client.get(session).json()["draft"]
    assert now["limits"] == {"k": 3}
    assert page.client.put(f"{session}/job", json={**now, "limits": {"k": 7}}).status_code == 200


def test_a_job_without_its_revision_is_refused(page: Page, session: str) -> None:
    """Who does not say which job was changed may not change it."""
    draft = opened(page, session)
    del draft["revision"]
    assert page.client.put(f"{session}/job", json=draft).status_code == 409


def test_roles_of_another_table_are_refused(page: Page, session: str) -> None:
    """A tab that still shows another table cannot make an identifier plain."""
    old = opened(page, session)
    new = opened(page, session, "visits.csv")
    assert new["columns"]["patient"]["role"] == "identifier"
    assert page.client.put(f"{session}/job", json=old).status_code == 409
    forged = page.client.put(f"{session}/job", json={**old, "revision": new["revision"]})
    assert forged.status_code == 400
    assert "The table has no column 'age'" in forged.json()["error"]
    assert page.client.get(session).json()["draft"] == new


def test_a_job_file_for_another_table_is_refused(page: Page, session: str) -> None:
    """A job that gives roles to columns the table does not have is told when it is opened."""
    text = '[data]\nsource = "people.csv"\n[columns.aeg]\nrole = "quasi-identifier"\n'
    (page.folder / "wrong.toml").write_text(text, encoding="utf-8")
    answer = page.client.post(f"{session}/open", json={"name": "wrong.toml"})
    assert answer.status_code == 400
    assert "Did you mean 'age'" in answer.json()["error"]


def test_an_edit_of_an_older_hierarchy_is_refused(page: Page, session: str) -> None:
    """An edit that names the revision it saw does not fall on groups that were changed meanwhile."""
    draft = opened(page, session)
    told = merge(page, session, "west")
    assert told["draft"]["revision"] > draft["revision"]
    wish = {
        "column": "town",
        "action": "merge",
        "level": 0,
        "groups": [0, 1],
        "label": "x",
        "revision": draft["revision"],
    }
    assert page.client.post(f"{session}/hierarchy", json=wish).status_code == 409


def test_the_pulse_tells_what_changed(page: Page, session: str) -> None:
    """The short answer that tabs ask for every second shows a change of the job and a search."""
    assert page.client.get(f"{session}/pulse").json() == {
        "revision": 0, "search": None, "phase": None, "run": None, "changed": False, "works": {},
    }  # fmt: skip
    draft = opened(page, session)
    assert page.client.get(f"{session}/pulse").json()["revision"] == draft["revision"]
    state = search(page, session)
    told = page.client.get(f"{session}/pulse").json()
    assert told["phase"] == "done"
    assert told["run"] == state["run"]["id"]


# -- staleness -----------------------------------------------------------------------------------------------------


def test_every_edit_of_a_hierarchy_counts_as_a_change(page: Page, session: str) -> None:
    """A second edit of the same column makes the front stale too, and going back makes it fresh again."""
    opened(page, session)
    merge(page, session, "west")
    fresh = search(page, session)
    assert not fresh["stale"]
    wish = {"column": "town", "action": "rename", "level": 1, "groups": [0], "label": "South2"}
    told = page.client.post(f"{session}/hierarchy", json=wish).json()
    assert told["stale"]
    assert page.client.get(session).json()["stale"]
    back = {**fresh["draft"], "revision": told["draft"]["revision"]}
    assert not page.client.put(f"{session}/job", json=back).json()["stale"]


def test_a_hierarchy_file_that_changes_counts_as_a_change(page: Page, session: str) -> None:
    """What a hierarchy of the folder holds decides, not how it is called."""
    rows = "Bonn;west;*\nJena;east;*\nKiel;north;*\nTrier;west;*\nUlm;south;*\n"
    (page.folder / "towns.csv").write_text(rows, encoding="utf-8")
    draft = opened(page, session)
    draft["columns"]["town"] = {"role": "quasi-identifier", "hierarchy": "towns.csv"}
    assert page.client.put(f"{session}/job", json=draft).status_code == 200
    assert not search(page, session)["stale"]
    (page.folder / "towns.csv").write_text(rows.replace("Jena;east", "Jena;west"), encoding="utf-8")
    assert page.client.get(session).json()["stale"]


def test_another_name_of_the_release_is_no_change(page: Page, session: str) -> None:
    """Where the release goes does not make a front old."""
    opened(page, session)
    draft = search(page, session)["draft"]
    draft["release"]["target"] = "elsewhere.csv"
    assert not page.client.put(f"{session}/job", json=draft).json()["stale"]


# -- runs ----------------------------------------------------------------------------------------------------------


def test_a_search_that_cannot_start_leaves_the_front(page: Page, session: str) -> None:
    """A search that fails at once tells why, and the front before can still be explored and released."""
    opened(page, session)
    before = search(page, session)
    draft = before["draft"]
    draft["limits"] = {"k": 100_000}
    assert page.client.put(f"{session}/job", json=draft).status_code == 200
    after = search(page, session)
    assert after["search"]["phase"] == "failed"
    assert after["run"]["id"] == before["run"]["id"]
    assert after["stale"]
    assert page.client.get(f"{session}/front").status_code == 200
    assert page.client.post(f"{session}/release", json={"point": 0, "target": "x.csv"}).status_code == 200


def test_runs_are_listed_renamed_compared_and_deleted(page: Page, session: str) -> None:
    """Two searches are two runs with their numbers; one gets a name, the other goes."""
    opened(page, session)
    first = search(page, session)
    draft = {**first["draft"], "limits": {"k": 5}}
    assert page.client.put(f"{session}/job", json=draft).status_code == 200
    second = search(page, session)
    ids = [first["run"]["id"], second["run"]["id"]]
    lines = {line["id"]: line for line in page.client.get(f"{session}/runs").json()["runs"]}
    assert set(ids) <= set(lines)
    assert lines[ids[1]]["explored"]
    assert not lines[ids[0]]["explored"]
    assert lines[ids[1]]["limits"] == {"k": 5}
    front = page.client.get(f"{session}/front").json()
    points = page.client.get(f"{session}/runs/{ids[1]}/points").json()
    assert points["values"] == front["values"]
    assert [each["name"] for each in points["objectives"]] == ["k", "glm"]
    named = page.client.put(f"{session}/runs/{ids[0]}", json={"name": "  without   limits "}).json()
    assert named["name"] == "without limits"
    assert page.client.put(f"{session}/runs/{ids[0]}", json={"name": " "}).status_code == 400
    assert page.client.delete(f"{session}/runs/{ids[0]}").status_code == 200
    assert ids[0] not in {line["id"] for line in page.client.get(f"{session}/runs").json()["runs"]}
    assert page.client.delete(f"{session}/runs/{ids[0]}").status_code == 400
    assert page.client.get(f"{session}/runs/..%2F..%2Fx/points").status_code in (400, 404)


def test_an_older_run_is_opened_with_its_job_and_its_hierarchies(page: Page, session: str) -> None:
    """A run comes back as it was: limits, edited groups, front, cloud; and is not stale."""
    opened(page, session)
    merge(page, session, "west")
    first = search(page, session)
    front = page.client.get(f"{session}/front").json()
    merge(page, session, "all else", (1, 2), 1)
    draft = {**page.client.get(session).json()["draft"], "limits": {"k": 9}}
    assert page.client.put(f"{session}/job", json=draft).status_code == 200
    search(page, session)
    state = page.client.post(f"{session}/runs/{first['run']['id']}/open", json={}).json()
    assert state["run"]["id"] == first["run"]["id"]
    assert not state["stale"]
    assert state["draft"]["limits"] == first["draft"]["limits"]
    again = page.client.get(f"{session}/front").json()
    assert again["values"] == front["values"]
    assert again["cloud"] == front["cloud"]
    labels = [group[2] for group in page.client.get(f"{session}/hierarchy?column=town").json()["levels"][1]["groups"]]
    assert "west" in labels
    assert "all else" not in labels


def test_runs_are_for_their_owner_alone(page: Page, session: str) -> None:
    """What is kept can be read by nobody else on the machine."""
    opened(page, session)
    run = search(page, session)["run"]["id"]
    folder = page.folder / ".kpareto" / "runs" / run
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    kept = "".join(file.read_text(errors="replace") for file in folder.iterdir())
    assert session.rsplit("/", 1)[-1] not in kept  # the id of a session is a key


def test_runs_of_an_uploaded_table_are_seen_by_those_who_have_it(page: Page, session: str) -> None:
    """The run over a dropped file is listed for its session and for whoever drops the same file, and for nobody else."""
    content = (page.folder / "people.csv").read_bytes()
    sent = {"x-name": "own.csv"}
    assert page.client.put(f"{session}/upload/data", content=content, headers=sent).status_code == 200
    run = search(page, session)["run"]["id"]
    other = page.new_session()
    assert run not in {line["id"] for line in page.client.get(f"{other}/runs").json()["runs"]}
    assert page.client.get(f"{other}/runs/{run}/points").status_code == 400
    page.client.put(f"{other}/upload/data", content=content, headers=sent)
    assert run in {line["id"] for line in page.client.get(f"{other}/runs").json()["runs"]}
    assert page.client.post(f"{other}/runs/{run}/open", json={}).json()["run"]["id"] == run
    assert page.client.get(f"{other}/front").status_code == 200
    page.client.post(f"{session}/open", json={"name": "visits.csv"})
    assert "Drop it again" in page.client.post(f"{session}/runs/{run}/open", json={}).json()["error"]


def test_a_restart_loses_nothing(tmp_path: Path) -> None:
    """A new server over the same folder takes up the job, its edits, its view and its front for the old session."""
    with serving_people(tmp_path, "one") as first:
        session = first.new_session()
        opened(first, session)
        merge(first, session, "west")
        before = search(first, session)
        front = first.client.get(f"{session}/front").json()
        first.client.put(f"{session}/view", json={"x": "glm"})
        edited = merge(first, session, "all else", (1, 2), 1)["draft"]
    shutil.rmtree(tmp_path / "one")
    with serving_people(tmp_path, "two") as second:
        after = second.client.get(session).json()
        assert {**after["draft"], "revision": 0} == {**edited, "revision": 0}
        assert after["draft"]["revision"] > edited["revision"]  # a tab that slept meanwhile is late, not right
        assert after["view"] == {"x": "glm"}
        assert after["run"] == before["run"]
        assert after["stale"]
        assert second.client.get(f"{session}/front").json()["values"] == front["values"]
        labels = [g[2] for g in second.client.get(f"{session}/hierarchy?column=town").json()["levels"][1]["groups"]]
        assert "all else" in labels
        checked = second.client.post(f"{session}/points/0/check", json={})
        assert checked.status_code == 200


def add_ward(place: Path) -> None:
    """One column more in a table."""
    first, *others = place.read_text(encoding="utf-8").splitlines()
    place.write_text("\n".join([f"{first},ward", *(f"{line},west" for line in others)]) + "\n", encoding="utf-8")


NEW = (
    "The table has a column 'ward' that it had not when the front was searched. Give it a role on the Data step if it "
    "is not to leave as it is, and search again."
)


OTHER = (
    "'people.csv' has changed on disk since its rows were read, and the two are never mixed. Read the file again and "
    "search again, or put the old file back."
)


def release(page: Page, session: str) -> httpx.Response:
    """Release the first point."""
    return page.client.post(f"{session}/release", json={"point": 0, "target": "out.csv"})


def test_a_column_that_is_new_since_a_run_is_refused(tmp_path: Path) -> None:
    """A kept run over a table that has got a column is not gone on with, as on the command line; a new search is."""
    with serving_people(tmp_path, "one") as first:
        session = first.new_session()
        opened(first, session)
        search(first, session)
    add_ward(tmp_path / "work" / "people.csv")
    with serving_people(tmp_path, "two") as second:
        assert second.client.get(session).json()["profile"] is None  # a large table would keep everybody waiting
        state = second.client.post(f"{session}/table/look", json={}).json()
        assert "was read again: 400 rows. It has 'ward' now" in state["words"]
        assert "ward" in [column["name"] for column in state["profile"]["columns"]]
        for answer in (second.client.get(f"{session}/front"), release(second, session)):
            assert (answer.status_code, answer.json()["error"]) == (400, NEW)
        search(second, session)
        assert release(second, session).status_code == 200
        head = second.client.get(f"{session}/files/out.csv").text.partition("\n")[0]
        assert head.strip() == "age,town,sex,illness,ward"


def test_a_column_that_is_new_since_the_search_is_refused(tmp_path: Path) -> None:
    """The front is still in memory when its file gets a column: nothing leaves, and the run opens with the column."""
    with serving_people(tmp_path) as page:
        session = page.new_session()
        opened(page, session)
        run = search(page, session)["run"]["id"]
        assert page.client.post(f"{session}/points/0/check", json={}).status_code == 200
        add_ward(page.folder / "people.csv")
        for answer in (page.client.post(f"{session}/points/0/check", json={}), release(page, session)):
            assert (answer.status_code, answer.json()["error"]) == (400, OTHER)
        assert page.client.get(f"{session}/files/out.csv").status_code == 400
        state = page.client.post(f"{session}/runs/{run}/open", json={}).json()
        assert "ward" in [column["name"] for column in state["profile"]["columns"]]
        draft = state["draft"]
        draft["columns"]["ward"] = {"role": "identifier"}
        assert page.client.put(f"{session}/job", json=draft).status_code == 200
        search(page, session)
        assert release(page, session).status_code == 200
        head = page.client.get(f"{session}/files/out.csv").text.partition("\n")[0]
        assert head.strip() == "age,town,sex,illness"


def test_two_states_of_a_file_are_never_mixed(tmp_path: Path) -> None:
    """After a change of the file the front of before is explored, and nothing else is done until it is read again."""
    with serving_people(tmp_path) as page:
        session = page.new_session()
        opened(page, session)
        before = search(page, session)
        facts = page.client.get(f"{session}/table/facts").json()
        file = page.folder / "people.csv"
        old = file.read_text(encoding="utf-8")
        assert not page.client.get(f"{session}/pulse").json()["changed"]
        file.write_text(old.replace("town", "city") + "33,Ulm,F,flu\n", encoding="utf-8")
        assert page.client.get(f"{session}/pulse").json()["changed"]
        assert page.client.get(f"{session}/front").status_code == 200
        assert page.client.get(f"{session}/table/facts").json() == facts
        refused = [page.client.get(f"{session}/table/rows"), page.client.get(f"{session}/table/column?column=age")]
        refused += [release(page, session), page.client.post(f"{session}/table/measure", json={})]
        assert {(answer.status_code, answer.json()["error"]) for answer in refused} == {(400, OTHER)}
        assert search(page, session)["search"]["sentence"] == OTHER
        state = page.client.post(f"{session}/table/look", json={}).json()
        said = "people.csv has changed on disk and was read again: 401 rows. It no longer has 'town'. It has 'city' now"
        assert said in state["words"]
        assert state["draft"]["columns"]["age"] == before["draft"]["columns"]["age"]
        assert "town" not in state["draft"]["columns"]
        assert state["stale"]
        assert release(page, session).json()["error"] == OTHER  # the front is still that of the old rows
        search(page, session)
        assert release(page, session).status_code == 200


def test_the_old_file_put_back_is_the_one_that_was_read(tmp_path: Path) -> None:
    """A file that was moved away and comes back as it was needs no second look."""
    with serving_people(tmp_path) as page:
        session = page.new_session()
        opened(page, session)
        file = page.folder / "people.csv"
        away = file.rename(page.folder / "away.bin")
        assert page.client.get(f"{session}/pulse").json()["changed"]
        away.rename(file)
        assert not page.client.get(f"{session}/pulse").json()["changed"]
        assert page.client.get(f"{session}/table/rows").status_code == 200


def test_a_settings_column_that_is_gone_takes_its_setting_along(tmp_path: Path) -> None:
    """A limit on a column that the file no longer has is proposed anew, and the roles stay."""
    with serving_people(tmp_path) as page:
        session = page.new_session()
        draft = opened(page, session)
        draft["limits"] = {"k": 3, "l(column=illness)": 2}
        assert page.client.put(f"{session}/job", json=draft).status_code == 200
        file = page.folder / "people.csv"
        file.write_text(file.read_text(encoding="utf-8").replace("illness", "finding"), encoding="utf-8")
        state = page.client.post(f"{session}/table/look", json={}).json()
        assert "illness" not in str(state["draft"])
        said = "It no longer has 'illness'. Parts of the job that named such a column are proposed anew: limits."
        assert said in state["words"]
        assert state["draft"]["columns"]["age"] == draft["columns"]["age"]
        assert page.client.get(f"{session}/table/facts").status_code == 200


def test_runs_have_notes(page: Page, session: str) -> None:
    """A note is kept beside the name, survives a search that goes on, and neither undoes the other."""
    opened(page, session)
    run = search(page, session)["run"]["id"]
    noted = page.client.put(f"{session}/runs/{run}", json={"note": " for the board\n"}).json()
    assert noted["note"] == "for the board"
    named = page.client.put(f"{session}/runs/{run}", json={"name": "first"}).json()
    assert (named["name"], named["note"]) == ("first", "for the board")
    assert page.client.put(f"{session}/runs/{run}", json={"note": "x" * 501}).status_code == 400
    page.client.post(f"{session}/runs/{run}/open", json={})
    lines = page.client.get(f"{session}/runs").json()["runs"]
    assert [(line["name"], line["note"]) for line in lines if line["id"] == run] == [("first", "for the board")]


def test_two_tables_do_not_disturb_each_other(page: Page) -> None:
    """Two sessions have two tables; each is in the list of those who know it, and in nobody else's."""
    one, two = page.new_session(), page.new_session()
    ids = [path.rsplit("/", 1)[-1] for path in (one, two)]
    opened(page, one)
    assert page.client.post(f"{two}/open", json={"name": "visits.csv"}).status_code == 200
    lines = page.client.post("/api/tables", json={"ids": [*ids, "unknown"]}).json()["tables"]
    assert [(line["id"], line["source"], line["open"]) for line in lines] == [
        (ids[0], "people.csv", True),
        (ids[1], "visits.csv", True),
    ]
    assert page.client.post("/api/tables", json={"ids": ids[1:]}).json()["tables"] == lines[1:]
    assert page.client.post("/api/tables", json={}).json()["tables"] == []


def test_a_closed_table_is_kept_and_comes_back(page: Page, session: str) -> None:
    """Closing stops and frees, the address goes on working, and only who asks for the table again opens it."""
    name = session.rsplit("/", 1)[-1]
    draft = opened(page, session)
    assert page.client.delete(session).status_code == 200
    told = page.client.get(f"{session}/pulse")
    assert (told.status_code, told.json()["closed"]) == (410, True)
    assert told.json()["error"].startswith("people.csv was closed: you closed it")
    (line,) = page.client.post("/api/tables", json={"ids": [name]}).json()["tables"]
    assert (line["source"], line["open"]) == ("people.csv", False)
    assert {**page.client.get(session).json()["draft"], "revision": 0} == {**draft, "revision": 0}
    assert page.client.get(f"{session}/pulse").status_code == 200


def test_the_table_unused_longest_makes_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the most, the one that nobody used is closed with its job, unless it is at work; a pulse is no use."""
    monkeypatch.setattr("kpareto.faces.web.session.MOST", 3)
    with serving_people(tmp_path) as page:
        first, second, third = (page.new_session() for _ in range(3))
        for each in (first, second, third):
            opened(page, each)
        count_slowly(monkeypatch)
        draft = page.client.get(first).json()["draft"]
        bred = {"method": "nsga2", "space": "cuts", "budget": 100_000, "seed": 1, "objectives": ["k", "glm"]}
        page.client.put(f"{first}/job", json={**draft, "search": bred})
        page.client.post(f"{first}/search", json={})
        page.client.get(f"{third}/table/facts")
        page.client.get(f"{second}/pulse")
        page.new_session()  # second was used before third
        assert page.client.get(f"{second}/pulse").json()["closed"]
        assert "at most 3 tables" in page.client.get(f"{second}/pulse").json()["error"]
        assert page.client.get(f"{third}/pulse").status_code == 200
        assert page.client.get(second).json()["draft"]["data"]["source"] == "people.csv"
        assert page.client.get(f"{third}/pulse").json()["closed"]  # in its turn
        assert page.client.get(f"{first}/pulse").status_code == 200  # it is at work
        page.client.delete(f"{first}/search")


def test_a_dropped_table_that_was_closed_comes_back_with_its_file(page: Page, session: str) -> None:
    """The rows of a dropped file go when it is closed; dropped again, its job is there as it was."""
    content, sent = (page.folder / "people.csv").read_bytes(), {"x-name": "own.csv"}
    draft = page.client.put(f"{session}/upload/data", content=content, headers=sent).json()["draft"]
    draft["columns"]["sex"] = {"role": "plain"}
    assert page.client.put(f"{session}/job", json=draft).status_code == 200
    assert page.client.delete(session).status_code == 200
    assert "drop the file again" in page.client.get(f"{session}/pulse").json()["error"]
    assert page.client.get(session).json()["draft"] is None
    again = page.client.put(f"{session}/upload/data", content=content, headers=sent).json()["draft"]
    assert again["columns"]["sex"] == {"role": "plain"}


def test_a_search_that_was_cut_short_goes_on(tmp_path: Path) -> None:
    """The run of a server that was killed in the middle is listed as such, and goes on from its checkpoint."""
    with serving_people(tmp_path, "one") as first:
        session = first.new_session()
        opened(first, session)
        run = search(first, session)["run"]["id"]
    record = tmp_path / "work" / ".kpareto" / "runs" / run / "run.json"
    data = json.loads(record.read_text(encoding="utf-8"))
    record.write_text(json.dumps({**data, "phase": "running"}), encoding="utf-8")  # as a kill leaves it
    with serving_people(tmp_path, "two") as second:
        state = second.client.get(session).json()
        assert state["search"]["phase"] == "stopped"
        assert "The server ended while this search ran" in state["search"]["sentence"]
        second.client.post(f"{session}/search", json={"resume": True})
        second.client.get(f"{session}/events")
        assert second.client.get(session).json()["search"]["phase"] == "done"


def test_a_run_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    """Earlier versions wrote a front and its columns as one: it is listed, opened and released as before."""
    with serving_people(tmp_path, "one") as first:
        session = first.new_session()
        opened(first, session)
        run = search(first, session)["run"]["id"]
        points = first.client.get(f"{session}/runs/{run}/points").json()
        front = first.client.get(f"{session}/front").json()
    file = tmp_path / "work" / ".kpareto" / "runs" / run / "front.json"
    kept = read_kept(file)
    assert kept is not None
    assert kept["columns"] == ["age", "town", "sex", "illness"]
    file.write_text(json.dumps({"columns": kept["columns"], **kept["front"]}), encoding="utf-8")
    assert read_kept(file) is None
    with serving_people(tmp_path, "two") as second:
        assert second.client.get(session).json()["run"]["id"] == run
        assert second.client.get(f"{session}/runs/{run}/points").json() == points
        assert second.client.get(f"{session}/front").json()["values"] == front["values"]
        assert release(second, session).status_code == 200
        add_ward(second.folder / "people.csv")
        assert second.client.post(f"{session}/runs/{run}/open", json={}).status_code == 200
        assert second.client.get(f"{session}/front").json()["error"] == NEW


def test_a_damaged_run_is_a_sentence(tmp_path: Path) -> None:
    """A record that was edited by hand is refused in words, and the list goes on without it."""
    kept = KeptRuns(tmp_path)
    folder = kept.folder("0123456789abcdef")
    folder.mkdir(parents=True)
    (folder / "run.json").write_text('{"id": 3}', encoding="utf-8")
    with pytest.raises(BadInput, match="The kept run"):
        kept.get("0123456789abcdef")
    assert kept.all() == []
    with pytest.raises(BadInput, match="There is no run"):
        kept.folder("../elsewhere")


def test_a_folder_that_cannot_be_written_has_its_runs_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs over a closed folder go into the user's data folder, one place per folder."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr("os.access", lambda *_: False)
    one, two = runs_folder(tmp_path / "a"), runs_folder(tmp_path / "b")
    assert one.parent == tmp_path / "data" / "kpareto"
    assert one != two


@pytest.mark.parametrize(("method", "space"), [("exact", "lattice"), ("nsga2", "cuts")])
def test_a_brief_front_comes_back_whole(method: str, space: str) -> None:
    """What is kept of a front is enough to have it again, point by point."""
    chosen = problem(adult_table(), ["k", "glm"], 0.01)
    budget = None if method == "exact" else 300
    front = run_plan(chosen, Plan(method, "lattice" if space == "lattice" else "cuts", budget))
    again = load_front(json.loads(json.dumps(brief_front(front))), chosen)
    assert (again.numbers.values == front.numbers.values).all()
    assert (again.genomes == front.genomes).all()
    assert again.provenance.complete == front.provenance.complete


def test_what_is_kept_is_closed_from_the_top_and_no_link_is_followed(page: Page, session: str, tmp_path: Path) -> None:
    """Folders are for their owner alone, also one that an earlier version left open; a link leads nowhere."""
    opened(page, session)
    top = page.folder / ".kpareto"
    top.chmod(0o755)
    search(page, session)
    folders = [top, *(place for place in top.rglob("*") if place.is_dir())]
    assert {stat.S_IMODE(place.stat().st_mode) for place in folders} == {0o700}
    files = [file for file in top.rglob("*") if file.is_file()]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    (tmp_path / "work").mkdir()
    (tmp_path / "theirs" / "runs").mkdir(parents=True)
    (tmp_path / "work" / ".kpareto").symlink_to(tmp_path / "theirs")
    kept = KeptRuns(tmp_path / "work")
    with pytest.raises(BadInput, match=r"\.kpareto' is a link or no folder"):
        kept.checkpoint("0123456789abcdef")
    with pytest.raises(BadInput, match="is a link"):
        kept.own_desk("somebody")
    assert kept.desk_record("somebody") is None
    assert list((tmp_path / "theirs" / "runs").iterdir()) == []
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".kpareto").mkdir()
    (tmp_path / "other" / ".kpareto" / "runs").symlink_to(tmp_path / "theirs")
    with pytest.raises(BadInput, match="runs' is a link"):
        KeptRuns(tmp_path / "other").checkpoint("0123456789abcdef")
