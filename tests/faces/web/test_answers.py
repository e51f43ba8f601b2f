"""What Explore and Data ask of the server: distributions, models, rows, hierarchies that are brought, built and undone."""

from __future__ import annotations

import base64
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kpareto as kp
from kpareto.engines.unique_rows import open_view
from kpareto.errors import BadHierarchy, Stopped
from kpareto.faces.web import explore
from kpareto.faces.web import session as web_session
from kpareto.faces.web.explore import (
    add_axis,
    at_risk_view,
    axes_view,
    compare_view,
    contingency_view,
    distribution_view,
    front_view,
)
from kpareto.faces.web.hierarchies import edit
from kpareto.faces.web.search import ModelRun
from kpareto.faces.web.turns import Work
from kpareto.fronts.front import Front
from kpareto.fronts.problem import problem
from kpareto.measures.use import control_of
from kpareto.searches.exact_front import exact_front
from kpareto.tables.adult import adult_table
from kpareto.tables.hierarchies import load
from kpareto.tables.hierarchy import from_levels
from kpareto.uses import models_in_use
from tests.faces.web.test_api import searched
from tests.twins.page import Page, write_people, write_towns, write_visits


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with a table, a hierarchy for it, and a table with gaps."""
    place = tmp_path_factory.mktemp("work")
    write_people(place / "people.csv")
    write_towns(place / "towns.csv")
    lines = [f"{20 + row % 50},{'' if row % 4 == 0 else 'Ulm'},{row % 7}" for row in range(400)]
    (place / "gaps.csv").write_text("age,town,visits\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def adult() -> Front:
    """A front with points that suppress rows and points that do not."""
    return exact_front(problem(adult_table("default", sensitive="occupation"), ["k", "glm"], 0.01))


def opened(page: Page, session: str, name: str = "people.csv") -> dict[str, Any]:
    """The state after opening a table, with town as a quasi-identifier."""
    state: dict[str, Any] = page.client.post(f"{session}/open", json={"name": name}).json()
    draft = state["draft"]
    draft["columns"]["town"] = {"role": "quasi-identifier"}
    answer = page.client.put(f"{session}/job", json=draft)
    assert answer.status_code == 200, answer.text
    return state


# -- explore -----------------------------------------------------------------------------------------------------


def test_losses_are_told_as_detail_kept(adult: Front) -> None:
    """Plain labels beside the names of formulas, the loss that is 0 % kept, and which point is recommended."""
    view = front_view(adult)
    k, glm = view["objectives"]
    assert (k["label"], k["reading"]) == ("rows that look alike, at least", "count")
    assert (glm["label"], glm["reading"], glm["most"]) == ("detail kept", "kept", 30162 * 8)
    assert view["recommended"] == adult.choose(k=5).id
    assert {"id": view["recommended"], "label": "recommended, k ≥ 5"} in view["marks"]
    told = {each["label"]: each["words"] for each in view["advice"]}
    assert told["recommended"].startswith(f"Recommended: point {view['recommended']}, the least loss with k ≥ 5")
    assert told["k ≥ 5"].startswith("From k ≥ 5 to k ≥ 11: ")
    assert "knee" not in str(view)


def test_the_page_knows_measures_by_the_server(page: Page) -> None:
    """Words, what they need, and which are offered; no list of them stands in a script."""
    measures = page.client.get("/api/about").json()["measures"]
    by_name = {each["name"]: each for each in measures}
    assert by_name["l"]["column"] == "sensitive"
    assert by_name["cm"]["column"] == "target"
    assert by_name["k-map"]["population"]
    assert by_name["glm"]["words"] == "information lost, summed over cells"
    assert [each["name"] for each in measures if each["usual"]][:3] == ["k", "glm", "lm"]
    script = page.client.get("/static/search.js").text
    assert "information lost, summed over cells" not in script


def test_every_point_is_in_the_file(page: Page, session: str) -> None:
    """All points with their numbers and the level of each column."""
    searched(page, session)
    front = page.client.get(f"{session}/front").json()
    rows = page.client.get(f"{session}/rows-of-front").json()
    assert len(rows["points"]) == len(front["values"])
    assert rows["columns"][:3] == ["id", "k", "glm"]
    assert [row[1:3] for row in rows["points"]] == front["values"]
    assert {"age", "sex"} <= set(rows["columns"])


def test_an_axis_shows_what_is_no_objective(page: Page, session: str) -> None:
    """Counts off by, taken of every point: the numbers of the measure, with the line of the column totals; kept later."""
    searched(page, session)
    front = page.client.get(f"{session}/front").json()
    assert front["axes"] == []
    assert [each["name"] for each in front["offered"]] == ["count-error", "relations"]
    answer = page.client.post(f"{session}/front/axes", json={"measure": "count-error"}).json()
    (axis,) = answer["axes"]
    assert len(axis["values"]) == len(front["values"])
    assert (axis["low"], axis["high"]) == (min(axis["values"]), max(axis["values"]))
    assert axis["control"] > axis["low"]
    assert [each["name"] for each in answer["offered"]] == ["relations"]
    page.client.post(f"{session}/front/axes", json={"measure": "relations"})
    again = page.client.get(f"{session}/front").json()
    assert [each["name"] for each in again["axes"]] == ["count-error", "relations"]
    assert [each["name"] for each in again["objectives"]] == ["k", "glm"]
    ids = page.client.get(f"{session}/pair?x=relations&y=count-error").json()["ids"]
    lost, off = (each["values"] for each in reversed(again["axes"]))
    assert ids
    for place in ids:
        assert not any(
            lost[other] <= lost[place]
            and off[other] <= off[place]
            and (lost[other], off[other]) != (lost[place], off[place])
            for other in range(len(off))
        )
    for wrong in ("k-map", "", 3):
        refused = page.client.post(f"{session}/front/axes", json={"measure": wrong})
        assert (refused.status_code, "is not offered for an axis" in refused.json()["error"]) == (400, True)


def test_an_axis_that_cannot_be_judged_is_refused() -> None:
    """One column counts nothing over two; labels that differ by class have no relations of whole columns."""
    alone = kp.front(kp.read(pd.DataFrame({"age": list(range(20, 60)) * 2}), kp.Schema(quasi=("age",))))
    with pytest.raises(kp.BadInput, match="Too few rows, or too few columns"):
        add_axis(alone, "count-error", Work())
    rows = kp.adult().slice(0, 500).select(["age", "sex", "race"])
    local = kp.front(kp.read(rows, kp.Schema(quasi=("age", "sex", "race"))), method="local")
    assert [each["name"] for each in axes_view(local, local)["offered"]] == ["count-error"]
    wider = add_axis(local, "count-error", Work())
    (axis,) = axes_view(local, wider)["axes"]
    assert axis["values"] == [point.measure(kp.make("count-error")) for point in local]
    assert axis["control"] == control_of(local.problem.table, "count-error")
    assert add_axis(wider, "count-error", Work()) is wider
    stopped = Work()
    stopped.stopped.set()
    with pytest.raises(Stopped):
        add_axis(local, "count-error", stopped)


def test_a_distribution_keeps_its_rows(adult: Front) -> None:
    """Before are all rows, after the released ones, spread over the values of their group."""
    for place in (0, 5, len(adult) - 1):
        point = adult[place]
        for name in point.table.schema.quasi:
            view = distribution_view(point, name)
            assert sum(view["before"]) == 30162
            assert sum(view["after"]) == pytest.approx(30162 - point.partition.suppressed_rows, rel=1e-6)
            assert 0 <= view["moved"] <= 1
            assert len(view["labels"]) == len(view["before"]) == len(view["after"]) <= 60
    assert distribution_view(adult[0], "sex")["moved"] == 0  # nothing recoded, nothing moved


def test_two_columns_together_agree_with_a_slow_count(adult: Front) -> None:
    """The tables hold all rows, and Cramér's V is that of the textbook."""
    point = adult[4]
    view = contingency_view(point, "sex", "race")
    table, partition = point.table, point.partition
    sex, race = table.column("sex"), table.column("race")
    counts = np.zeros((2, 5))
    for row, weight in zip(table.codes.tolist(), table.weights.tolist(), strict=True):
        counts[row[sex], row[race]] += weight
    assert view["before"]["counts"] == counts.astype(int).tolist()
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / counts.sum()
    chi = ((counts - expected) ** 2 / expected).sum()
    assert view["before"]["cramer"] == pytest.approx((chi / counts.sum()) ** 0.5)
    released = sum(map(sum, view["after"]["counts"]))
    assert released == 30162 - partition.suppressed_rows
    mixed = contingency_view(point, "age", "occupation")
    assert sum(map(sum, mixed["before"]["counts"])) == 30162
    assert len(mixed["before"]["rows"]) <= 12
    assert contingency_view(adult[len(adult) - 1], "sex", "race")["after"]["cramer"] is None


def test_the_smallest_classes_and_what_gives_them_away(adult: Front) -> None:
    """The smallest class is k; without a column classes only grow, and the parts of the risk are shares."""
    point = adult[4]
    view = at_risk_view(point)
    assert view["least"] == view["classes"][0]["size"] == 5
    assert [each["size"] for each in view["classes"]] == sorted(each["size"] for each in view["classes"])
    assert [each["name"] for each in view["without"]] == list(point.table.schema.quasi)
    assert all(each["k"] >= 5 and 0 <= each["part"] < 1 for each in view["without"])


def test_who_gains_is_told_in_the_order_of_ages(adult: Front) -> None:
    """72 single years are told by groups of a level, from young to old; other groups by size."""
    ages = compare_view(adult, 4, 12, "age", "class-size")
    assert 1 < len(ages["groups"]) <= 40
    assert ages["level"] >= 1
    assert sum(each["rows"] for each in ages["groups"]) == 30162
    starts = [int(each["group"].rstrip("+").split("-")[0]) for each in ages["groups"]]
    assert starts == sorted(starts)
    races = [each["rows"] for each in compare_view(adult, 4, 12, "race", "class-size")["groups"]]
    assert races == sorted(races, reverse=True)


def test_the_question_has_both_numbers_of_use(page: Page, session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is searched: those of the job as it stands; none where class by class is refused."""
    monkeypatch.setattr(models_in_use, "SECONDS", 600.0)
    draft = page.client.post(f"{session}/open", json={"name": "people.csv"}).json()["draft"]
    draft["limits"] = {"k": 3}
    draft = page.client.put(f"{session}/job", json=draft).json()["draft"]
    use = page.client.post(f"{session}/models/use").json()["use"]
    assert use["k"] == 3
    assert use["sentence"].startswith(f"Measured on all {use['of']:,} rows at k = 3: counts over two and three columns")
    assert 0 <= use["local"] <= use["whole"]
    draft["limits"] = {"k": 3, "risk-mean": 0.4}
    assert page.client.put(f"{session}/job", json=draft).status_code == 200
    assert page.client.post(f"{session}/models/use").json() == {"use": None}


def test_models_are_compared_as_a_run(page: Page, session: str) -> None:
    """It starts, is seen at work, ends with a curve per model; a second one waits for the first."""
    searched(page, session)
    assert page.client.get(f"{session}/models").json() == {"run": None}
    wrong = page.client.post(f"{session}/models", json={"seconds": 0})
    assert wrong.status_code == 400
    assert "from 1 to 600" in wrong.json()["error"]
    run = page.client.post(f"{session}/models", json={"seconds": 20, "models": ["lattice", "cuts"]}).json()["run"]
    assert run["phase"] == "running"
    assert [each["name"] for each in run["models"]] == ["lattice", "cuts"]
    began = time.monotonic()
    while run["phase"] == "running" and time.monotonic() - began < 600:
        time.sleep(0.2)
        run = page.client.get(f"{session}/models").json()["run"]
    assert run["phase"] == "done", run["sentence"]
    lattice, cuts = run["curves"]
    assert lattice["proven"]
    by_k = {point["k"]: point["kept"] for point in cuts["points"]}
    assert all(by_k[point["k"]] >= point["kept"] - 1e-9 for point in lattice["points"])


def test_a_comparison_of_models_can_be_stopped(adult: Front) -> None:
    """Long before its time is over, with a sentence and without curves."""
    run = ModelRun(adult, ("lattice", "cuts", "local"), 600.0)
    run.start()
    run.cancel()
    run.wait(600)
    assert run.phase == "stopped"
    assert run.status()["curves"] is None
    assert "Stopped" in run.sentence


def test_research_tells_the_run_and_compares_searches(page: Page, session: str) -> None:
    """Settings, convergence and archive of a run of PBG-EA; two searches with their curves; wrong wishes are sentences."""
    assert page.client.get(f"{session}/research").json() == {"run": None}
    search = {"method": "pbg-ea", "space": "lattice", "objectives": ["k", "lm"], "iterations": 4}
    searched(page, session, {"search": search, "suppression": {"rule": "cap-max-k", "limit": 0.01}})
    run = page.client.get(f"{session}/research").json()["run"]
    settings = {each["name"]: each for each in run["settings"]}
    assert settings["iterations"]["value"] == "4"
    assert settings["brackets"]["value"] == "ceiling"
    assert run["goal"] == "least lm at k ≥ 5"
    assert run["curve"][-1][0] == run["evaluated"]
    members = run["archive"]["members"]
    assert 0 < len(members) <= run["archive"]["most"]
    assert len({tuple(each["box"]) for each in members}) == len(members)
    asked = {"searches": ["pbg-ea", " pbg-ea:iterations=2 ", ""], "seeds": 2}
    trials = page.client.post(f"{session}/research/compare", json=asked).json()
    assert [curve["name"] for curve in trials["curves"]] == ["pbg-ea", "pbg-ea:iterations=2"]
    assert all(low <= middle <= high for curve in trials["curves"] for _, low, middle, high in curve["points"])
    assert [len(each["rows"]) for each in trials["tables"]] == [2, 2]
    for wrong, words in (
        ({"searches": ["exact"]}, "1 searches are to be compared. Give 2 to 8"),
        ({"searches": "exact"}, "Give a list of names"),
        ({"searches": ["exact", "pbg"], "seeds": 2}, "No search 'pbg'"),
        ({"searches": ["exact", "poka"], "seeds": 0}, "with 0 seeds. Give a whole number from 1 to 100"),
    ):
        answer = page.client.post(f"{session}/research/compare", json=wrong)
        assert answer.status_code == 400
        assert words in answer.json()["error"]


# -- data --------------------------------------------------------------------------------------------------------


def test_the_first_rows_are_shown(page: Page, session: str) -> None:
    """As they stand in the file, by leafing through it."""
    opened(page, session)
    first = page.client.get(f"{session}/table/rows").json()
    lines = (page.folder / "people.csv").read_text(encoding="utf-8").splitlines()
    assert first["columns"] == ["age", "town", "sex", "illness"]
    assert first["total"] == 400
    assert [",".join(row) for row in first["rows"]] == lines[1:21]
    later = page.client.get(f"{session}/table/rows?start=390&count=20").json()
    assert [",".join(row) for row in later["rows"]] == lines[391:]
    assert page.client.get(f"{session}/table/rows?start=x").status_code == 400
    assert page.client.get(f"{session}/table/rows?count=100000").status_code == 400


def test_a_column_is_shown_by_its_values(page: Page, session: str) -> None:
    """Numbers in bars of rising order, texts by value; all rows are told."""
    opened(page, session)
    ages = page.client.get(f"{session}/table/column?column=age").json()
    assert sum(rows for _, rows in ages["bars"]) == 400
    assert ages["bars"][0][0] == "20 to below 22"
    towns = page.client.get(f"{session}/table/column?column=town").json()
    assert [label for label, _ in towns["bars"]] == ["Bonn", "Jena", "Kiel", "Trier", "Ulm"]
    unknown = page.client.get(f"{session}/table/column?column=twon")
    assert unknown.status_code == 400
    assert "town" in unknown.json()["error"]


def test_a_file_is_read_otherwise(page: Page, session: str) -> None:
    """The form that was found out can be told; what cannot be read leaves everything as it was."""
    (page.folder / "form.csv").write_bytes(("age;weight\r\n" + "40;71,5\r\n41;72,5\r\n" * 50).encode())
    state = page.client.post(f"{session}/open", json={"name": "form.csv"}).json()
    assert (state["draft"]["data"]["separator"], state["draft"]["data"]["decimal"]) == (";", ",")
    facts = page.client.get(f"{session}/table/facts").json()
    assert "separator" in facts["form_keys"]
    assert any("semicolon" in sentence for sentence in facts["remarks"])
    state = page.client.post(f"{session}/table/form", json={"decimal": "."}).json()
    assert "decimal" not in state["draft"]["data"]
    assert page.client.get(f"{session}/table/rows").json()["rows"][0] == ["40", "71,5"]
    wrong = page.client.post(f"{session}/table/form", json={"encoding": "klingon"})
    assert wrong.status_code == 400
    assert page.client.get(f"{session}/table/rows").json()["total"] == 100


def test_the_headline_follows_the_roles(page: Page, session: str) -> None:
    """Uniqueness is that of the quasi-identifiers there are now; what becomes of rows with gaps is told beforehand."""
    state = opened(page, session, "gaps.csv")
    facts = page.client.get(f"{session}/table/facts").json()
    assert facts["lacking"] == 100
    assert facts["policy"] == "category"
    draft = state["draft"]
    draft["columns"]["town"] = {"role": "quasi-identifier"}
    assert "missing" not in draft["data"]  # left open, so that it follows the roles
    current = page.client.get(session).json()["draft"]
    assert page.client.put(f"{session}/job", json={**draft, "revision": current.get("revision")}).status_code == 200
    facts = page.client.get(f"{session}/table/facts").json()
    assert (facts["named"], facts["policy"]) == (None, "category")  # 25 % is more than kpareto drops unasked
    columns = facts["columns"]
    draft["columns"]["town"] = {"role": "plain"}
    draft["data"]["missing"] = "drop"
    current = page.client.get(session).json()["draft"]
    assert page.client.put(f"{session}/job", json={**draft, "revision": current.get("revision")}).status_code == 200
    after = page.client.get(f"{session}/table/facts").json()
    assert after["columns"] == [name for name in columns if name != "town"]
    assert after["lacking"] == 0


def test_sentences_of_the_headline_follow_the_job(page: Page, session: str) -> None:
    """Who is left out and what no limit is about are told of the job as it stands, not of the first proposal."""
    write_visits(page.folder / "visits.csv")
    draft = page.client.post(f"{session}/open", json={"name": "visits.csv"}).json()["draft"]
    draft["columns"]["visit"] = {"role": "decide"}
    draft = page.client.put(f"{session}/job", json=draft).json()["draft"]
    told = page.client.get(f"{session}/table/facts").json()["remarks"]
    assert [each for each in told if "until you decide: visit" in each]
    draft["columns"]["visit"], draft["limits"] = {"role": "sensitive"}, {"k": 5, "l(column=illness)": 2}
    draft["columns"]["illness"] = {"role": "sensitive"}
    assert page.client.put(f"{session}/job", json=draft).status_code == 200
    told = page.client.get(f"{session}/table/facts").json()["remarks"]
    assert not [each for each in told if "until you decide" in each]
    assert [each for each in told if each.startswith("Nothing limits what a class tells of visit:")]
    draft = {**page.client.get(session).json()["draft"], "limits": {"k": 5, "l": 2}}
    assert page.client.put(f"{session}/job", json=draft).status_code == 200
    assert not [each for each in page.client.get(f"{session}/table/facts").json()["remarks"] if "Nothing" in each]


def test_a_quasi_identifier_without_a_hierarchy_shows_the_one_it_will_get(page: Page, session: str) -> None:
    """Every column has a fitting hierarchy ready; a job that names none gets the same, on the page and in the search."""
    write_visits(page.folder / "visits.csv")
    state = page.client.post(f"{session}/open", json={"name": "visits.csv"}).json()
    suits = {each["name"]: each["suits"] for each in state["profile"]["columns"]}
    assert suits["visit"] == {"intervals": [2, 4], "from": 0}
    draft = {**state["draft"], "columns": {**state["draft"]["columns"], "visit": {"role": "quasi-identifier"}}}
    assert page.client.put(f"{session}/job", json=draft).status_code == 200
    view = page.client.get(f"{session}/hierarchy?column=visit").json()
    assert [level["count"] for level in view["levels"]] == [7, 4, 2, 1]


def test_a_change_of_roles_reads_no_file(page: Page, session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All cells are read once: roles change without a query, a changed file is read when that is asked."""
    lines = [f"{20 + row % 50},{('', '?', 'Ulm', 'Bonn ')[row % 4]},{row % 7}.5" for row in range(400)]
    (page.folder / "roles.csv").write_text("age,town,visits\n" + "\n".join(lines) + "\n", encoding="utf-8")
    opened(page, session, "roles.csv")
    openings: list[object] = []

    def counting(*arguments: Any) -> Any:
        """A table that is opened, and counted."""
        openings.append(arguments)
        return open_view(*arguments)

    for module in (web_session, explore):
        monkeypatch.setattr(module, "open_view", counting)

    def facts_of(town: str) -> dict[str, Any]:
        """The facts with another role of the town."""
        draft = page.client.get(session).json()["draft"]
        draft["columns"]["town"] = {"role": town}
        assert page.client.put(f"{session}/job", json=draft).status_code == 200
        facts: dict[str, Any] = page.client.get(f"{session}/table/facts").json()
        return facts

    roles = ("quasi-identifier", "plain", "sensitive")
    kept = [facts_of(role) for role in roles]
    assert len(openings) == 1
    assert [each["lacking"] for each in kept] == [200, 0, 200]
    monkeypatch.setattr(web_session, "CELLS", 1)
    assert [facts_of(role) for role in roles] == kept
    assert len(openings) == 4
    monkeypatch.undo()
    (page.folder / "roles.csv").write_text("age,town,visits\n" + "\n".join(lines[:300]) + "\n", encoding="utf-8")
    assert facts_of("plain")["rows"] == 400  # the rows that were read, until somebody asks for the new ones
    assert page.client.post(f"{session}/table/look", json={}).status_code == 200
    assert facts_of("plain")["rows"] == 300


def test_a_hierarchy_is_built_with_a_preview(page: Page, session: str) -> None:
    """A preview changes nothing; using it does, and undo, redo and reset go through the steps."""
    opened(page, session)
    before = page.client.get(session).json()["draft"]["columns"]["age"].get("hierarchy")
    rule = {"column": "age", "rule": {"intervals": [10, 20], "from": 0}}
    seen = page.client.post(f"{session}/hierarchy/preview", json=rule).json()
    assert [level["count"] for level in seen["levels"]][1:] == [6, 3, 1]
    assert page.client.get(session).json()["draft"]["columns"]["age"].get("hierarchy") == before
    used = page.client.post(f"{session}/hierarchy/use", json=rule).json()
    assert used["draft"]["columns"]["age"]["hierarchy"] == rule["rule"]
    assert used["view"]["can"] == {"undo": True, "redo": False, "reset": True}
    other = {"column": "age", "rule": {"round": [5]}}
    page.client.post(f"{session}/hierarchy/use", json=other)

    def step(action: str) -> Any:
        answer = page.client.post(f"{session}/hierarchy/step", json={"column": "age", "action": action})
        assert answer.status_code == 200, answer.text
        return answer.json()["draft"]["columns"]["age"].get("hierarchy")

    assert step("undo") == rule["rule"]
    assert step("undo") == before
    assert page.client.post(f"{session}/hierarchy/step", json={"column": "age", "action": "undo"}).status_code == 400
    assert step("redo") == rule["rule"]
    assert step("reset") == before
    assert step("undo") == rule["rule"]
    wrong = page.client.post(f"{session}/hierarchy/preview", json={"column": "age", "rule": {"intervals": [5, 7]}})
    assert "not nested" in wrong.json()["error"]


def test_a_hierarchy_is_brought_from_a_file(page: Page, session: str, tmp_path: Path) -> None:
    """One of the folder, or one that is dropped, in Latin-1 too; what has no place for a value is refused."""
    opened(page, session)
    assert "towns.csv" in page.client.get(f"{session}/hierarchy/files").json()["files"]
    used = page.client.post(f"{session}/hierarchy/use", json={"column": "town", "file": "towns.csv"}).json()
    assert used["draft"]["columns"]["town"]["hierarchy"] == "towns.csv"
    assert [level["count"] for level in used["view"]["levels"]] == [5, 4, 1]
    text = (page.folder / "towns.csv").read_bytes().replace(b"south", b"S\xfcd")
    form = {"column": "town", "content": base64.b64encode(text).decode()}
    answer = page.client.post(f"{session}/hierarchy/use", json=form)
    assert answer.status_code == 200, answer.text
    assert answer.json()["view"]["edited"]
    utf = {"column": "town", "content": base64.b64encode(text.decode("latin-1").encode()).decode()}
    taken = page.client.post(f"{session}/hierarchy/use", json=utf).json()
    assert "Süd" in [group[2] for group in taken["view"]["levels"][1]["groups"]]
    exported = page.client.get(f"{session}/hierarchy/file?column=town").json()
    assert exported["name"] == "town.csv"
    assert load("town", exported["text"]).labels[1] == load("town", text.decode("latin-1")).labels[1]
    short = {"column": "town", "content": base64.b64encode(b"Bonn;west\n").decode()}
    assert "Kiel" in page.client.post(f"{session}/hierarchy/use", json=short).json()["error"]
    for form in ({"file": "../secret.csv"}, {"file": "none.csv"}, {"content": "%"}, {"content": ""}, {}):
        answer = page.client.post(f"{session}/hierarchy/use", json={"column": "town", **form})
        assert answer.status_code == 400, form


def test_a_hierarchy_is_copied_from_another_column(page: Page, session: str) -> None:
    """Where the other has a place for every value; else a sentence names one that is missing."""
    opened(page, session)
    copied = page.client.post(f"{session}/hierarchy/use", json={"column": "age", "copy": "town"})
    assert copied.status_code == 400
    itself = page.client.post(f"{session}/hierarchy/use", json={"column": "age", "copy": "age"}).json()
    assert itself["view"]["edited"]


def test_values_are_merged_again_and_again() -> None:
    """A second merge on the values goes into the level that the first one made."""
    hierarchy = from_levels("town", [[town, "*"] for town in ("Bonn", "Jena", "Kiel", "Trier", "Ulm")])
    once = edit(hierarchy, "merge", {"level": 0, "groups": [0, 3], "label": "west"})
    places = [once.leaves.index(town) for town in ("Jena", "Kiel")]
    twice = edit(once, "merge", {"level": 0, "groups": places, "label": "north"})
    assert twice.height == once.height == 2
    assert set(twice.labels[1]) == {"west", "north", "Ulm"}


def test_numbers_are_merged_without_a_gap() -> None:
    """0 and 9 are not put together over what lies between them."""
    hierarchy = load("x", {"flat": True}, [str(number) for number in range(10)])
    with pytest.raises(BadHierarchy, match="'1' lies between"):
        edit(hierarchy, "merge", {"level": 0, "groups": [0, 9], "label": "ends"})
    merged = edit(hierarchy, "merge", {"level": 0, "groups": list(range(5)), "label": "0-4"})
    assert "0-4" in merged.labels[1]


def test_saving_a_job_asks_before_it_writes_over_one(page: Page, session: str) -> None:
    """The file that is there stays as it is until somebody says so."""
    opened(page, session)
    place = page.folder / "mine.toml"
    place.write_text("# precious\n", encoding="utf-8")
    answer = page.client.post(f"{session}/job/save", json={"name": "mine.toml"}).json()
    assert answer["exists"] == ["mine.toml"]
    assert place.read_text(encoding="utf-8") == "# precious\n"
    answer = page.client.post(f"{session}/job/save", json={"name": "mine.toml", "overwrite": True}).json()
    assert "mine.toml" in answer["files"]
    assert "precious" not in place.read_text(encoding="utf-8")
    place.unlink()


def test_roles_have_reasons_and_dates_their_order(page: Page, session: str) -> None:
    """An injury is health, a yes or no about a hospital is no place, and days of birth are grouped by rising years (C13)."""
    lines = ["age,injury_severity,taken_to_hospital,born"]
    for row in range(300):
        born = f"{1 + row % 28:02}.{1 + row % 12:02}.{1930 + row * 7 % 75}"
        lines.append(f"{16 + row % 70},{('none', 'minor', 'serious')[row % 3]},{('yes', 'no')[row % 2]},{born}")
    (page.folder / "crashes.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    state = page.client.post(f"{session}/open", json={"name": "crashes.csv"}).json()
    columns = {column["name"]: column for column in state["profile"]["columns"]}
    assert (columns["injury_severity"]["role"], columns["injury_severity"]["why"]) == (
        "sensitive",
        "named like health data",
    )
    assert columns["taken_to_hospital"]["why"] == "tells yes or no about a place"
    levels = page.client.get(f"{session}/hierarchy?column=born").json()["levels"]
    shown = [[group[2] for group in level["groups"]] for level in levels[:-1]]
    assert [str(year) for year in range(1930, 2005)] in shown
    assert all(labels == sorted(labels) and not any("*" in label for label in labels) for labels in shown)


def test_the_table_is_measured_as_it_is(page: Page, session: str) -> None:
    """The numbers are those of the library by the job's roles, and no value of a row is among them."""
    opened(page, session)
    state = page.client.get(session).json()
    roles = {name: column["role"] for name, column in state["draft"]["columns"].items()}
    quasi = [name for name, role in roles.items() if role == "quasi-identifier"]
    sensitive = [name for name, role in roles.items() if role == "sensitive"]
    told = page.client.post(f"{session}/table/measure", json={}).json()
    expected = kp.measure(page.folder / str(state["draft"]["data"]["source"]), quasi, sensitive)
    assert (told["k"], told["unique"]) == (expected.k, expected.unique.to_dict())
    assert told["sentences"] == expected.sentences()
    assert "riskiest" not in told
    draft = state["draft"] | {"columns": {name: {"role": "plain"} for name in roles}}
    page.client.put(f"{session}/job", json=draft)
    refused = page.client.post(f"{session}/table/measure", json={})
    assert (refused.status_code, "quasi-identifier" in refused.json()["error"]) == (400, True)
