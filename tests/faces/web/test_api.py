"""The page's guards and answers, asked as a program would ask them."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from kpareto.errors import BadHierarchy, BadInput, BadJob
from kpareto.faces import cli
from kpareto.faces.report import find, html, report_of
from kpareto.faces.web.drafts import draft_job, draft_text, load_draft
from kpareto.faces.web.files import inside, plain_name
from kpareto.faces.web.guard import Keys, allowed_hosts, is_loopback, make_keys
from kpareto.faces.web.hierarchies import edit, hierarchy_view
from kpareto.faces.web.search import Searching
from kpareto.jobs.front import front
from kpareto.jobs.parse import load_job
from kpareto.tables.adult import adult_table
from kpareto.tables.hierarchy import from_levels
from kpareto.verifier import verify
from tests.twins.page import TOKEN, Page, running, until, write_people
from tests.twins.window import count_slowly


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with one table, a broken one, and ways out of it."""
    place = tmp_path_factory.mktemp("work")
    write_people(place / "people.csv")
    (place / "broken.csv").write_bytes(b"a,b\n1,2\n3\n\xff\xfe,4,5,6\n")
    (place / "job.toml").write_text('[data]\nsource = "../secret.csv"\n', encoding="utf-8")
    (place.parent / "secret.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    (place / "way-out.csv").symlink_to(place.parent / "secret.csv")
    return place


def searched(page: Page, session: str, changes: dict[str, Any] | None = None) -> dict[str, Any]:
    """Open the small table, search, and wait for the front."""
    draft = page.client.post(f"{session}/open", json={"name": "people.csv"}).json()["draft"]
    for part, values in (changes or {}).items():
        draft[part] = values if part == "limits" else {**draft[part], **values}
    assert page.client.put(f"{session}/job", json=draft).status_code == 200
    page.client.post(f"{session}/search", json={})
    last = page.client.get(f"{session}/events").text.strip().split("\n\n")[-1]
    found: dict[str, Any] = json.loads(last.partition("data: ")[2])
    return found


# -- who may speak -----------------------------------------------------------------------------------------------


def test_without_the_key_nothing_is_told(page: Page) -> None:
    """Neither the page nor the API answers a stranger."""
    with httpx.Client(base_url=page.origin, headers={"origin": page.origin}, timeout=240) as stranger:
        assert stranger.get("/").status_code == 401
        assert stranger.get("/?token=wrong").status_code == 401
        assert stranger.get("/static/main.js").status_code == 401
        answer = stranger.post("/api/sessions")
        assert answer.status_code == 401
        assert "Open the link" in answer.json()["error"]


def test_the_token_becomes_a_strict_cookie(page: Page) -> None:
    """The link gives a cookie that scripts cannot read and other sites cannot send; it is not the token itself."""
    with httpx.Client(base_url=page.origin, timeout=240) as visitor:
        cookie = visitor.get(f"/?token={TOKEN}").headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert TOKEN not in cookie
        assert visitor.get("/").status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil:{port}", ""]
)
def test_a_foreign_host_is_refused(page: Page, host: str) -> None:
    """A name that points at this machine from elsewhere (DNS rebinding) gets no answer, with the right cookie too."""
    answer = page.client.get("/api/about", headers={"host": host.format(port=page.port)})
    assert answer.status_code in (400, 403)  # 400: the server itself refuses an empty name
    if answer.status_code == 403:
        assert "does not answer to the name" in answer.text


def test_our_own_names_are_answered(page: Page) -> None:
    """Localhost and the loopback address are both ours."""
    for host in (f"127.0.0.1:{page.port}", f"localhost:{page.port}"):
        answer = page.client.get("/api/about", headers={"host": host, "origin": f"http://{host}"})
        assert answer.status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1"])
def test_a_foreign_origin_is_refused(page: Page, origin: str) -> None:
    """A page of another site may neither read nor change anything."""
    assert page.client.get("/api/about", headers={"origin": origin}).status_code == 403
    assert page.client.post("/api/sessions", headers={"origin": origin}).status_code == 403


def test_a_change_without_an_origin_is_refused(page: Page) -> None:
    """A form of another site that sends no Origin changes nothing."""
    key = {"x-kpareto-key": page.client.headers["x-kpareto-key"]}
    with httpx.Client(base_url=page.origin, cookies=page.client.cookies, headers=key, timeout=240) as bare:
        assert bare.get("/api/about").status_code == 200
        assert bare.post("/api/sessions").status_code == 403
        assert (
            bare.get("/api/about", headers={"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}).status_code
            == 403
        )


def test_security_headers(page: Page) -> None:
    """Every answer forbids scripts from elsewhere, framing, sniffing and caching."""
    for path in ("/", "/static/main.js", "/api/about", "/nothing"):
        headers = page.client.get(path).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"


def test_a_password_opens_too(tmp_path: Path) -> None:
    """With a password the page asks for it, refuses a wrong one and lets the right one in."""
    (tmp_path / "t").mkdir()
    with running(tmp_path, tmp_path / "t", Keys(None, "correct horse battery")) as page:
        assert 'type="password"' in page.client.get("/").text
        wrong = page.client.post("/login", data={"password": "correct horse"})
        assert wrong.status_code == 401
        assert "The password is wrong" in wrong.text
        assert page.client.post("/login", data={"password": "correct horse battery"}).status_code == 200
        assert page.client.get("/api/about").status_code == 200


def test_keys_by_address() -> None:
    """Loopback gets a random token; any other address demands a key, and a long one."""
    assert make_keys("127.0.0.1", None, None).token != make_keys("127.0.0.1", None, None).token
    with pytest.raises(BadJob, match="open to the network"):
        make_keys("0.0.0.0", None, None)
    with pytest.raises(BadJob, match="has 5 letters"):
        make_keys("0.0.0.0", None, "short")
    with pytest.raises(BadJob, match="stands in a link"):
        make_keys("127.0.0.1", "a token with blanks", None)
    assert make_keys("0.0.0.0", None, "long enough to keep").token is None
    assert [is_loopback(host) for host in ("localhost", "127.8.8.8", "::1", "10.0.0.1", "example.org")] == [
        True,
        True,
        True,
        False,
        False,
    ]


def test_hosts_of_an_open_server() -> None:
    """Open to the network, addresses and the machine's name are ours; other names are not."""
    ours = allowed_hosts("0.0.0.0", 8000)
    assert ours("192.168.1.5:8000")
    assert ours("[fe80::1]:8000")
    assert not ours("evil.example:8000")
    assert not ours("192.168.1.5:80")
    assert allowed_hosts("127.0.0.1", 80)("localhost")


def test_serve_refuses_an_open_door(capsys: pytest.CaptureFixture[str]) -> None:
    """Kpareto serve --host without a key ends with status 2 and one sentence."""
    assert cli.main(["serve", "--host", "0.0.0.0", "--no-browser"]) == 2
    assert "Give --password or --token" in capsys.readouterr().err
    assert cli.main(["serve", "nothing-here.csv", "--no-browser"]) == 2
    assert "no file 'nothing-here.csv'" in capsys.readouterr().err


def test_serve_leaves_nothing_behind(tmp_path: Path) -> None:
    """The command prints its link, and after a polite end its temporary folder is gone."""
    env = {"TMPDIR": str(tmp_path), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-m", "kpareto", "serve", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        link = server.stdout.readline().split()[-1]
        with httpx.Client(timeout=240) as visitor:
            for _ in range(100):
                try:
                    assert visitor.get(link).status_code == 200
                    break
                except httpx.TransportError:
                    time.sleep(0.1)
        assert list(tmp_path.glob("kpareto-web-*"))
        server.terminate()
        assert server.wait(240) == 143
    assert list(tmp_path.glob("kpareto-web-*")) == []


# -- paths and sizes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["../secret.csv", "/etc/passwd", "way-out.csv", "~/x.csv", "a/../../secret.csv", "", "x\0.csv"]
)
def test_no_path_leads_outside(page: Page, session: str, name: str) -> None:
    """Dots, links, absolute paths and homes are refused, whoever asks."""
    answer = page.client.post(f"{session}/open", json={"name": name})
    assert answer.status_code == 400
    assert "working folder" in answer.json()["error"]
    with pytest.raises(BadInput, match="working folder"):
        inside(page.folder, name)


def test_a_job_cannot_read_outside(page: Page, session: str) -> None:
    """A job file that names data or hierarchies elsewhere is refused."""
    assert "not in the working folder" in page.client.post(f"{session}/open", json={"name": "job.toml"}).json()["error"]
    job = '[data]\nsource = "people.csv"\n[columns.age]\nrole = "quasi-identifier"\nhierarchy = '
    for hierarchy in ('"../secret.csv"', '{file = "../secret.csv"}', '"/etc/passwd"'):
        draft = load_draft(job + hierarchy + "\n", "job")
        with pytest.raises(BadInput, match="not in the working folder"):
            draft_job(draft, page.folder, page.folder)


def test_no_file_is_written_outside(page: Page, session: str) -> None:
    """The job is saved under a plain name in the working folder, or not at all."""
    page.client.post(f"{session}/open", json={"name": "people.csv"})
    for name in ("../evil.toml", "/tmp/evil.toml", "a/b.toml"):
        answer = page.client.post(f"{session}/job/save", json={"name": name})
        assert answer.status_code == 400
        assert "no plain file name" in answer.json()["error"]
    assert page.client.get(f"{session}/files/..%2F..%2Fsecret.csv").status_code in (400, 404)
    assert plain_name("../../etc/pass wd<x>.csv", "x") == "pass wd_x_.csv"
    assert plain_name("..", "x") == "x"


def test_hidden_and_foreign_files_are_not_listed(page: Page) -> None:
    """The list shows tables and jobs of the folder, not links out of it."""
    names = [file["name"] for file in page.client.get("/api/about").json()["files"]]
    assert "people.csv" in names
    assert "way-out.csv" not in names


@pytest.mark.parametrize("name", ["iyengar", "lunacek", "gecco09", "poka", "pbg"])
def test_the_papers_are_starting_points(page: Page, session: str, name: str) -> None:
    """The page lists the five papers, and each opens as the job of its example; another name is a sentence."""
    assert name in page.client.get("/api/about").json()["papers"]
    answer = page.client.post(f"{session}/open", json={"name": f"paper:{name}"})
    assert answer.status_code == 200
    method = {"iyengar": "genitor-iyengar", "lunacek": "genitor-lunacek", "gecco09": "nsga2", "poka": "poka-literal"}
    assert answer.json()["draft"]["search"]["method"] == method.get(name, "pbg-ea")
    wrong = page.client.post(f"{session}/open", json={"name": "paper:pokka"})
    assert wrong.status_code == 400
    assert "Did you mean 'poka'" in wrong.json()["error"]


def test_too_large_a_file_is_refused(page: Page, session: str) -> None:
    """A file over the limit is refused by its announced and by its real size, and nothing of it stays."""
    large = b"a,b\n" + b"1,2\n" * 400_000
    answer = page.client.put(f"{session}/upload/data", content=large, headers={"x-name": "large.csv"})
    assert answer.status_code == 413
    assert "larger than 1 MB" in answer.json()["error"]
    chunks = (large[start : start + 65536] for start in range(0, len(large), 65536))
    assert page.client.put(f"{session}/upload/data", content=chunks, headers={"x-name": "l.csv"}).status_code == 413
    assert list(page.temporary.rglob("l*.csv*")) == []


def test_a_broken_file_is_one_sentence(page: Page, session: str) -> None:
    """A file that is no table, an empty one and a wrong job each give the engine's sentence."""
    answer = page.client.post(f"{session}/open", json={"name": "broken.csv"})
    assert answer.status_code == 400
    assert answer.json()["error"].endswith(".")
    assert "Traceback" not in answer.text
    assert "'broken.csv'" in answer.json()["error"]  # without the folders it lies in
    empty = page.client.put(f"{session}/upload/data", content=b"", headers={"x-name": "e.csv"})
    assert "is empty" in empty.json()["error"]
    job = page.client.put(f"{session}/upload/job", content=b"[data\n", headers={"x-name": "x.toml"})
    assert "not valid TOML" in job.json()["error"]
    assert page.client.put(f"{session}/upload/other", content=b"x").status_code == 400
    long = page.client.post(f"{session}/open", json={"name": "x" * 300})
    assert long.status_code == 400
    assert long.json()["error"].startswith("Cannot use 'xxx")
    assert "File name too long" in long.json()["error"]
    gone = page.client.get("/api/sessions/none")
    assert (gone.status_code, gone.json()["error"].startswith("This session is over")) == (410, True)
    assert "no front yet" in page.client.get(f"{session}/front").json()["error"]
    assert page.client.put(f"{session}/view", content=b"no json").status_code == 400


# -- the way through ---------------------------------------------------------------------------------------------


def test_from_upload_to_verified_release(page: Page, session: str, tmp_path: Path) -> None:
    """Upload, roles, search, prefer, look at a point, compare, check, release, download, verify."""
    content = (page.folder / "people.csv").read_bytes()
    state = page.client.put(f"{session}/upload/data", content=content, headers={"x-name": "people%20two.csv"}).json()
    assert state["uploaded"]
    assert [column["name"] for column in state["profile"]["columns"]] == ["age", "town", "sex", "illness"]
    draft = state["draft"]
    draft["columns"]["illness"]["role"] = "sensitive"
    draft["columns"]["town"] = {"role": "quasi-identifier", "hierarchy": {"flat": True}}
    draft["search"]["objectives"] = ["k", "lm", "l"]
    draft["limits"] = {"k": 3}
    assert page.client.put(f"{session}/job", json=draft).status_code == 200
    page.client.post(f"{session}/search", json={})
    page.client.get(f"{session}/events")
    found = page.client.get(f"{session}/front").json()
    assert found["complete"]
    assert found["objectives"][0]["name"] == "k"
    assert min(row[0] for row in found["values"]) >= 3
    best = page.client.post(f"{session}/prefer", json={"k": 5, "lm": 0.1}).json()["id"]
    assert found["values"][best][0] >= 5
    assert page.client.post(f"{session}/prefer", json={"k": 4}).status_code == 200
    assert page.client.post(f"{session}/prefer", json={"k": "many"}).status_code == 400
    point = page.client.get(f"{session}/points/{best}").json()
    assert {column["name"] for column in point["columns"]} == {"age", "town", "sex"}
    assert sum(each["rows"] for each in point["sizes"]) == 400
    other = page.client.get(f"{session}/compare?a=0&b={best}&by=sex").json()
    assert sum(group["rows"] for group in other["groups"]) == 400
    assert page.client.get(f"{session}/pair?x=k&y=lm").json()["ids"]
    checked = page.client.post(f"{session}/points/{best}/check").json()
    assert checked["met"]
    assert {"W1", "W15"} <= {each["id"] for each in checked["warnings"]}
    done = page.client.post(f"{session}/release", json={"point": best, "target": "../out.csv"}).json()
    assert done["files"]["release"] == "out.csv"
    for name in (done["files"]["release"], done["files"]["certificate"]):
        (tmp_path / name).write_bytes(page.client.get(f"{session}/files/{name}").content)
    assert verify(tmp_path / "out.csv", tmp_path / done["files"]["certificate"]).numbers["k"] >= 5
    for kind in ("release", "certificate"):
        sent = (tmp_path / done["files"][kind]).read_bytes()
        page.client.put(f"{session}/upload/{kind}", content=sent, headers={"x-name": done["files"][kind]})
    verdict = page.client.post(f"{session}/verify").json()
    assert verdict["holds"]
    assert "kpareto verify --trust KEY.pub" in verdict["sentence"]
    assert "codebook" not in verdict["sentence"]  # what is only said stands apart
    assert any(each.startswith("codebook") for each in verdict["said"])
    rows = (tmp_path / "out.csv").read_bytes().splitlines(keepends=True)
    page.client.put(f"{session}/upload/release", content=b"".join(rows[:-1]), headers={"x-name": "out.csv"})
    lie = page.client.post(f"{session}/verify").json()
    assert not lie["holds"]
    page.client.put(f"{session}/upload/certificate", content=b"{", headers={"x-name": "c.json"})
    broken = page.client.post(f"{session}/verify").json()["sentence"]
    assert broken.startswith("The certificate 'c.json' is not JSON")  # without a folder of the server
    report = page.client.get(f"{session}/points/{best}/report")
    assert "sandbox" in report.headers["content-security-policy"]
    assert "<h1" in report.text


def test_a_local_recoding_is_looked_at_and_released(page: Page, session: str, tmp_path: Path) -> None:
    """Labels that differ from class to class: every part of the step explore, the reports, release and its proof."""
    found = searched(page, session, {"search": {"method": "local", "space": "local", "ks": [3, 6]}, "limits": {"k": 3}})
    assert found["phase"] == "done"
    front = page.client.get(f"{session}/front").json()
    assert not front["complete"]
    best = min(range(len(front["values"])), key=lambda place: front["values"][place][0])
    point = page.client.get(f"{session}/points/{best}").json()
    rows = 400 - point["suppressed"]
    for column in point["columns"]:
        assert column["by_class"]
        assert sum(code["rows"] for code in column["codes"]) == rows
        shown = [label for band in column["bands"] if band["chosen"] for _, _, label in band["runs"]]
        assert sorted(shown) == sorted(code["label"] for code in column["codes"])
    checked = page.client.post(f"{session}/points/{best}/check").json()
    assert "W18" in {each["id"] for each in checked["warnings"]}
    assert page.client.post(f"{session}/prefer", json={"k": 6}).json()["searched"]
    nearest = page.client.post(f"{session}/prefer", json={"k": 4}).json()
    assert (front["values"][nearest["id"]][0] >= 6, nearest["searched"]) == (True, False)
    further = page.client.post(f"{session}/prefer/search", json={"k": 4}).json()
    front = page.client.get(f"{session}/front").json()
    assert (front["values"][further["id"]][0], further["searched"]) == (4, True)
    assert "a heuristic search for k = 3, 4, 6" in front["sentence"]
    assert page.client.post(f"{session}/prefer/search", json={"k": 4}).json() == further
    assert page.client.post(f"{session}/prefer/search", json={"k": 401}).status_code == 400
    spread = page.client.get(f"{session}/distribution?point={best}&column=age").json()
    assert (sum(spread["before"]), round(sum(spread["after"]))) == (400, rows)
    both = page.client.get(f"{session}/contingency?point={best}&first=age&second=illness").json()
    assert sum(map(sum, both["after"]["counts"])) == rows
    assert page.client.get(f"{session}/at-risk?point={best}").json()["least"] == front["values"][best][0]
    assert page.client.get(f"{session}/rows-of-front").json()["points"]
    assert "<h1" in page.client.get(f"{session}/points/{best}/report").text
    assert page.client.get(f"{session}/compare?a=0&b={len(front['values']) - 1}&by=sex").status_code == 200
    assert page.client.post(f"{session}/points/{best}/check").json()["met"]
    done = page.client.post(f"{session}/release", json={"point": best, "target": "local.csv"}).json()
    for name in done["files"].values():
        (tmp_path / name).write_bytes(page.client.get(f"{session}/files/{name}").content)
    proven = verify(tmp_path / "local.csv", tmp_path / done["files"]["certificate"])
    assert (proven.numbers["k"], proven.rows) == (front["values"][best][0], rows)
    assert "differ from class to class (local recoding)" in (tmp_path / done["files"]["report"]).read_text("utf-8")


@pytest.mark.parametrize("secret", [False, True])
def test_the_report_is_the_one_of_the_command_line(page: Page, session: str, secret: bool) -> None:
    """Attack tests, warnings, the form for regulators: not a letter less than from a job file."""
    searched(page, session, {"suppression": {"limit": 0.1}})
    last = len(page.client.get(f"{session}/front").json()["values"]) - 1
    page.client.post(f"{session}/job/save", json={"name": "reported.toml"})
    finding = find(page.folder / "reported.toml", choose=f"id={last}")
    wanted = html(report_of(finding, confidential=secret)).replace(f"“id={last}”", f"“point {last}”")
    text = page.client.get(f"{session}/points/{last}/report", params={"confidential": int(secret)}).text
    assert "Attack tests on this release" in text
    assert text == wanted


def test_hierarchies_are_edited_and_saved(page: Page, session: str) -> None:
    """Merge, rename, move and split; the job that is saved names the edited file and runs on the command line."""
    state = page.client.post(f"{session}/open", json={"name": "people.csv"}).json()
    draft = state["draft"]
    draft["columns"]["town"] = {"role": "quasi-identifier", "hierarchy": {"flat": True}}
    page.client.put(f"{session}/job", json=draft)
    ask = f"{session}/hierarchy"
    view = page.client.get(f"{ask}?column=town").json()
    assert [group[2] for group in view["levels"][0]["groups"]] == ["Bonn", "Jena", "Kiel", "Trier", "Ulm"]
    merged = page.client.post(
        ask, json={"column": "town", "action": "merge", "level": 0, "groups": [0, 3], "label": "west"}
    ).json()
    assert merged["edited"]
    assert [group[2] for group in merged["levels"][1]["groups"]] == ["west", "Jena", "Kiel", "Ulm"]
    refused = page.client.post(
        ask, json={"column": "town", "action": "rename", "level": 1, "groups": [1], "label": "west"}
    )
    assert "already" in refused.json()["error"]
    saved = page.client.post(f"{session}/job/save", json={"name": "mine.toml"}).json()
    assert saved["files"] == ["mine.toml", "mine-town.csv"]
    assert cli.main(["front", str(page.folder / "mine.toml"), "-q", "--json", str(page.folder / "front.json")]) == 0
    again = page.client.post(f"{session}/open", json={"name": "mine.toml"}).json()
    assert again["draft"]["columns"]["town"]["hierarchy"] == "mine-town.csv"
    assert page.client.get(f"{session}/job/file").headers["content-disposition"].endswith('"people-job.toml"')


def test_edits_of_a_hierarchy() -> None:
    """Each edit does what it says, keeps the levels nested, and says why where it cannot."""
    towns = from_levels("town", [["a", "north", "*"], ["b", "north", "*"], ["c", "south", "*"]])
    assert edit(towns, "rename", {"level": 1, "groups": [0], "label": "N"}).labels[1] == ("N", "south")
    assert edit(towns, "merge", {"level": 1, "groups": [0, 1], "label": "all"}).labels[1] == ("all",)
    assert edit(towns, "split", {"level": 1, "groups": [0]}).labels[1] == ("a", "b", "south")
    assert edit(towns, "move", {"level": 1, "groups": [1], "step": -1}).leaves == ("c", "a", "b")
    assert edit(towns, "add-level", {"level": 1}).height == 3
    assert edit(towns, "remove-level", {"level": 1}).height == 1
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("merge", {"level": 0, "groups": [0, 2], "label": "x"}, "different groups of level 1"),
        ("merge", {"level": 0, "groups": [0], "label": "x"}, "at least two"),
        ("merge", {"level": 2, "groups": [0], "label": "x"}, "at least two"),
        ("rename", {"level": 0, "groups": [0], "label": "x"}, "Level 0 holds the values"),
        ("rename", {"level": 1, "groups": [0], "label": " "}, "needs a name"),
        ("rename", {"level": 1, "groups": [7], "label": "x"}, "numbers from 0 to 1"),
        ("split", {"level": 1, "groups": [1]}, "one group of the level below only"),
        ("split", {"level": 0, "groups": [1]}, "cannot be split"),
        ("split", {"level": 2, "groups": [0]}, "everything can be hidden"),
        ("move", {"level": 0, "groups": [2], "step": -1}, "lies in another group"),
        ("move", {"level": 1, "groups": [0], "step": -1}, "no neighbour"),
        ("remove-level", {"level": 2}, "first and the last level stay"),
        ("rename", {"level": 9}, "no level 9"),
        ("rename", {"level": "1"}, "whole number for 'level'"),
        ("remove-levels", {"level": 1}, "Did you mean 'remove-level'"),
    ]
    for action, given, sentence in cases:
        with pytest.raises(BadHierarchy, match=sentence):
            edit(towns, action, given)
    numbers = from_levels("age", [["1", "*"], ["2", "*"]])
    assert hierarchy_view(numbers, {"1": 3, "2": 4})["levels"][1]["groups"] == [[0, 1, "*", 7]]


def test_a_draft_is_a_job_file() -> None:
    """What the page edits is written as a job that reads back the same, odd column names included."""
    text = '[data]\nsource = "a.csv"\n[columns."a \\"b\\" c"]\nrole = "quasi-identifier"\nhierarchy = {intervals = [5], from = 0}\n[limits]\nk = 3\n'
    draft = load_draft(text, "job")
    assert load_draft(draft_text(draft), "job") == draft


def test_a_wrong_job_leaves_the_old_one(page: Page, session: str) -> None:
    """A draft with an unknown word is refused with the sentence of the job file; the source cannot be changed."""
    draft = page.client.post(f"{session}/open", json={"name": "people.csv"}).json()["draft"]
    wrong = {**draft, "search": {**draft["search"], "method": "exakt"}}
    assert "Did you mean 'exact'" in page.client.put(f"{session}/job", json=wrong).json()["error"]
    moved = {**draft, "data": {**draft["data"], "source": "/etc/passwd"}}
    assert page.client.put(f"{session}/job", json=moved).json()["draft"]["data"]["source"] == "people.csv"
    assert page.client.get(session).json()["draft"] == draft


def test_a_population_from_the_data_step(page: Page, session: str) -> None:
    """A file of the folder is the job's population: k-map is searched for, counted before the release, and saved."""
    lines = (page.folder / "people.csv").read_text(encoding="utf-8").splitlines()
    more = [f"{20 + row % 60},{('Ulm', 'Hof')[row % 2]},{'FM'[row % 3 % 2]},none" for row in range(900)]
    (page.folder / "everybody.csv").write_text("\n".join([*lines, *more, ""]), encoding="utf-8")
    offered = page.client.get("/api/about").json()["people"]
    assert {"k-map", "presence-max", "presence-min"} == set(offered["counted"])
    wanted = {"population": {"source": "everybody.csv"}, "search": {"objectives": ["k-map", "journalist-risk", "lm"]}}
    status = searched(page, session, {**wanted, "limits": {"k-map": 5}})
    assert status["phase"] == "done", status["sentence"]
    assert status["names"] == ["k-map", "journalist-risk", "lm"]
    leaves = page.client.get(f"{session}/hierarchy?column=town").json()["levels"][0]["groups"]
    assert ["Hof", 0] in [group[2:] for group in leaves]  # an edited hierarchy would have a place for it
    values = page.client.get(f"{session}/front").json()["values"]
    point = next(place for place, row in enumerate(values) if row[0] >= 5)
    done = page.client.post(f"{session}/release", json={"point": point, "target": "mapped.csv"}).json()
    public = page.client.get(f"{session}/files/{done['files']['certificate']}").text
    assert "counted against a table of the population" in public
    page.client.post(f"{session}/job/save", json={"name": "mapped.toml"})
    saved = load_job(page.folder / "mapped.toml")
    assert saved.everybody is not None
    assert saved.everybody.source == "everybody.csv"


def test_a_population_that_is_only_a_number(page: Page, session: str) -> None:
    """A share, or a size with a model, is saved as [population], also beside uploaded rows; the old one is replaced."""
    content = (page.folder / "people.csv").read_bytes()
    draft = page.client.put(f"{session}/upload/data", content=content, headers={"x-name": "own.csv"}).json()["draft"]
    for people in ({"sampling": 0.1}, {"size": 8_000_000, "model": "pitman"}, {"source": "people.csv"}, {}):
        answer = page.client.put(f"{session}/job", json={**draft, "population": people})
        draft = answer.json()["draft"]
        assert draft["population"] == people
        text = page.client.get(f"{session}/job/file").text
        assert ("[population]" in text) == bool(people)
        assert all(key in text for key in people)


@pytest.mark.parametrize(
    ("people", "sentence"),
    [
        ({"sampling": 1.5}, "The share of the population is 1.5. Give the share"),
        ({"size": 0}, "The size of the population is 0"),
        ({"sampling": 0.1, "size": 9}, "Give one of them"),
        ({"size": 900, "model": "pitmann"}, "Did you mean 'pitman'"),
        ({"source": "nobody.csv"}, "no file 'nobody.csv' with the population"),
        ({"source": "../secret.csv"}, "not in the working folder"),
        ({"source": "way-out.csv"}, "not in the working folder"),
        ({"source": "postgresql://h/d", "table": "people"}, "in a database, which the page does not read"),
        ({"model": "snb"}, "neither source, sampling nor size"),
    ],
)
def test_a_wrong_population_is_a_sentence(page: Page, session: str, people: dict[str, Any], sentence: str) -> None:
    """What cannot be a population is refused, the job stays, and nothing outside the folder is read."""
    draft = page.client.post(f"{session}/open", json={"name": "people.csv"}).json()["draft"]
    answer = page.client.put(f"{session}/job", json={**draft, "population": people})
    assert answer.status_code == 400
    assert sentence in answer.json()["error"]
    assert page.client.get(session).json()["draft"] == draft


def test_no_recoding_within_the_limits(page: Page, session: str) -> None:
    """Limits that nothing meets end the search with a sentence."""
    status = searched(page, session, {"limits": {"k": 10_000}})
    assert status["phase"] == "failed"
    assert "The limit k = 10,000 cannot be met: the table has 400 rows" in status["sentence"]
    assert "has found no point yet" in page.client.get(f"{session}/front").json()["error"]


def test_stop_and_go_on(page: Page, session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A heuristic search that is stopped keeps its front, and goes on to the end it would have had."""

    def status_of() -> dict[str, Any]:
        status: dict[str, Any] = page.client.get(session).json()["search"]
        return status

    wanted = {"search": {"method": "nsga2", "space": "cuts", "budget": 6000}}
    draft = page.client.post(f"{session}/open", json={"name": "people.csv"}).json()["draft"]
    draft["search"].update(wanted["search"])
    page.client.put(f"{session}/job", json=draft)
    with monkeypatch.context() as slowed:
        count_slowly(slowed, 0.5, 50)
        page.client.post(f"{session}/search", json={})
        until(lambda: status_of()["done"] > 500)
        assert status_of()["values"]
        assert "A search is running" in page.client.post(f"{session}/search", json={}).json()["error"]
        page.client.delete(f"{session}/search")
        until(lambda: "It can go on" in status_of()["sentence"])  # a step that takes long ends behind the scenes
    status = status_of()
    assert status["phase"] == "stopped"
    assert 500 < status["done"] < 6000
    assert not page.client.get(f"{session}/front").json()["complete"]
    assert page.client.post(f"{session}/search", json={"resume": True}).status_code == 200
    page.client.get(f"{session}/events")
    resumed = page.client.get(f"{session}/front").json()["values"]
    other = page.new_session()
    assert searched(page, other, wanted)["phase"] == "done"
    assert page.client.get(f"{other}/front").json()["values"] == resumed


def test_other_encodings(page: Page, session: str) -> None:
    """A table in Latin-1 is recognised, or opened as told, from the folder and uploaded, and the job says it."""
    text = "ort,alter\n" + "".join(f"{ort},{20 + row % 9}\n" for row, ort in enumerate(["Köln", "Ulm", "Düren"] * 20))
    (page.folder / "latin.csv").write_bytes(text.encode("latin-1"))
    state = page.client.post(f"{session}/open", json={"name": "latin.csv"}).json()
    assert state["draft"]["data"]["encoding"] == "cp1252"
    state = page.client.post(f"{session}/open", json={"name": "latin.csv", "encoding": "latin-1"}).json()
    assert state["draft"]["data"]["encoding"] == "latin-1"
    headers = {"x-name": "latin.csv", "x-encoding": "latin-1"}
    state = page.client.put(f"{session}/upload/data", content=text.encode("latin-1"), headers=headers).json()
    assert state["draft"]["data"]["encoding"] == "latin-1"


def test_an_exact_search_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Stopped after its first part and started again, the exact search ends with the whole front and its proof."""
    search = Searching(load_job("adult"), tmp_path / "checkpoint.npz")
    tell = search._report

    def stop_then(done: int, total: int) -> None:
        search.cancel()
        tell(done, total)

    search._report = stop_then  # type: ignore[method-assign]  # Stop is pressed while the first part is told
    search.start()
    search.wait(600)
    assert search.phase == "stopped"
    assert 0 < search.done < search.total
    search._report = tell  # type: ignore[method-assign]
    search.start()
    search.wait(600)
    assert search.phase == "done"
    assert search.front is not None
    assert search.front.provenance.complete
    assert (search.front.numbers.values == front(adult_table(), suppression=0.01).numbers.values).all()


def test_sessions_do_not_meet(page: Page, session: str) -> None:
    """What one session opens the other does not see."""
    other = page.new_session()
    searched(page, session)
    assert page.client.get(other).json()["draft"] is None
    page.client.put(f"{other}/view", json={"tab": "x"})
    assert page.client.get(session).json()["view"] == {}


def test_a_changed_job_makes_the_front_stale(page: Page, session: str) -> None:
    """After a change of the job the page knows that the front is of an older one."""
    searched(page, session)
    state = page.client.get(session).json()
    assert not state["stale"]
    state["draft"]["suppression"]["limit"] = 0.05
    assert page.client.put(f"{session}/job", json=state["draft"]).json()["stale"]
    assert page.client.get(session).json()["stale"]


def test_the_decision_tree_needs_a_target(page: Page, session: str) -> None:
    """Without a target the sentence says so; with one the errors are told."""
    searched(page, session)
    assert "needs a target" in page.client.post(f"{session}/points/0/tree").json()["error"]
    status = searched(page, session, {"columns": {"illness": {"role": "target"}}, "limits": {"k": 5}})
    assert status["phase"] == "done", status
    told = page.client.post(f"{session}/points/0/tree").json()
    assert "A decision tree told 'illness' wrong" in told["sentence"]


def test_cells_that_a_spreadsheet_would_run(page: Page, session: str) -> None:
    """They are counted, or written behind an apostrophe as the page chooses (C17)."""
    rows = "".join(f"{20 + row % 40},{'FM'[row % 2]},{'=1+1' if row % 9 == 0 else 'ok'}\n" for row in range(200))
    content = f"age,sex,remark\n{rows}".encode()
    answer = page.client.put(f"{session}/upload/data", content=content, headers={"x-name": "cells.csv"})
    draft = answer.json()["draft"]
    draft["columns"]["remark"] = {"role": "plain"}
    draft["limits"] = {"k": 5}
    assert page.client.put(f"{session}/job", json=draft).status_code == 200
    page.client.post(f"{session}/search", json={})
    page.client.get(f"{session}/events")
    said = page.client.post(f"{session}/release", json={"point": 0}).json()
    assert any(
        "the setting formulas can have such cells written behind an apostrophe" in remark for remark in said["remarks"]
    )
    assert ",=1+1" in page.client.get(f"{session}/files/release.csv").text
    page.client.post(f"{session}/release", json={"point": 0, "formulas": "neutralise"})
    assert ",'=1+1" in page.client.get(f"{session}/files/release.csv").text
    refused = page.client.post(f"{session}/release", json={"point": 0, "formulas": "run"})
    assert (refused.status_code, "neutralise" in refused.json()["error"]) == (400, True)
    page.client.post(f"{session}/release", json={"point": 0, "counts": True})
    assert '"counts"' in page.client.get(f"{session}/files/release.certificate.public.json").text
    page.client.post(f"{session}/release", json={"point": 0})
    assert '"counts"' not in page.client.get(f"{session}/files/release.certificate.public.json").text
    refused = page.client.post(f"{session}/release", json={"point": 0, "counts": "yes"})
    assert (refused.status_code, "Write true or false" in refused.json()["error"]) == (400, True)


def test_the_door_has_a_style_that_its_policy_allows(page: Page) -> None:
    """Key and password pages look like the page, and nothing but their own style is let in (C15)."""
    with httpx.Client(base_url=page.origin, timeout=240) as stranger:
        answer = stranger.get("/")
    style = answer.text.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert "system-ui" in style
    assert f"style-src 'sha256-{digest}'" in answer.headers["content-security-policy"]
    assert "script-src" not in answer.headers["content-security-policy"]
