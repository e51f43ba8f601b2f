"""Other faces and engines: the page's API, PostgreSQL and Spark, judged as the library is."""

from __future__ import annotations

import atexit
import json
import random
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import kpareto as kp
from tests.fuzz import oracle
from tests.fuzz.face import Refused, demand, plain_words, schema
from tests.fuzz.kinds import Case, Kind
from tests.fuzz.kinds.commands import check_secrets, check_written, make_way
from tests.fuzz.kinds.fronts import says_none
from tests.fuzz.oracle.files import groups_of, read_rows
from tests.fuzz.sources import write_job
from tests.fuzz.worlds import QUASI, kept_rows, make_world, of_role, place_of

# -- the page ------------------------------------------------------------------------------------------------------


def make_page(chance: random.Random) -> Case:
    """A job for the page, and questions it would never ask."""
    case = make_way(chance)
    case["space"], case["door"], case["target"] = "lattice", "csv", "out.csv"
    return case


def check_page(case: Case, folder: Path) -> None:
    """The page opens the job, searches and releases; limits hold in the file it hands out, strangers' words are refused."""
    from tests.twins.page import TOKEN, running

    work, temporary = folder / "work", folder / "temporary"
    work.mkdir()
    temporary.mkdir()
    write_job(case, work, "csv", release={"choose": case["choose"], "target": case["target"]})
    with running(work, temporary) as page:
        page.client.get(f"/?token={TOKEN}")
        session = f"/api/sessions/{page.client.post('/api/sessions').json()['id']}"

        def ask(method: str, path: str, body: Any = None) -> Any:
            answer = page.client.request(method, f"{session}{path}", json=body if body is not None else {})
            demand(
                answer.status_code != 500,
                "the page stumbles",
                f"{method} {path.split('?', maxsplit=1)[0]}: {answer.text[:200]}",
            )
            return answer

        _hostile_questions(random.Random(case["inner"]), ask)
        opened = ask("POST", "/open", {"name": "job.toml"})
        if opened.status_code != 200:
            raise Refused(opened.text)
        started = ask("POST", "/search")
        if started.status_code != 200:
            raise Refused(started.text)
        last = page.client.get(f"{session}/events").text.strip().split("\n\n")[-1]
        if json.loads(last.partition("data: ")[2])["phase"] != "done":
            raise Refused(last)
        points = ask("GET", "/front").json().get("values")
        if not points:
            raise Refused("no points")
        answer = ask(
            "POST", "/release", {"point": random.Random(case["inner"]).randrange(len(points)), "target": "out.csv"}
        )
        if answer.status_code != 200:
            raise Refused(answer.text)
        (folder / "out.csv").write_bytes(page.client.get(f"{session}/files/out.csv").content)
    check_written(case, folder / "out.csv", folder)
    check_secrets(case, folder / "out.csv", [])


def _hostile_questions(chance: random.Random, ask: Callable[..., Any]) -> None:
    values: list[Any] = ["", "../secret", "x" * 5000, None, -1, 1e300, [], {}, "\u0000", "nope.csv", True]
    paths = [("POST", "/open"), ("PUT", "/job"), ("POST", "/job/save"), ("POST", "/hierarchy"), ("POST", "/release"), ("POST", "/prefer"),
             ("PUT", "/view"), ("POST", "/verify"), ("GET", "/front"), ("GET", "/points/x"), ("GET", "/points/-1"), ("GET", "/compare?a=x&b=9"),
             ("GET", "/hierarchy?column=nope"), ("GET", "/files/..%2fx"), ("GET", "/pair?x=k&y=nope"), ("POST", "/points/99/check")]  # fmt: skip
    for _ in range(4):
        method, path = chance.choice(paths)
        words = chance.sample(["name", "encoding", "column", "action", "point", "target", "k", "search", "columns"], 3)
        answer = ask(method, path, {word: chance.choice(values) for word in words})
        demand(
            answer.status_code >= 400 or path in ("/view", "/job", "/prefer"),
            "the page believes anything",
            f"{method} {path}: {answer.status_code}",
        )


# -- databases and clusters ----------------------------------------------------------------------------------------


def make_engine(chance: random.Random) -> Case:
    """A small world; names and words as odd as anywhere."""
    case = make_world(chance, persons=0.3)
    case["limits"] = {"k": chance.choice([2, 3])}
    return case


def _judge(case: Case, folder: Path, rows: Any, target: str) -> None:
    """Read from an engine, release into a file, count there."""
    if not kept_rows(case):
        raise Refused("no rows")
    forms = {c["name"]: f["lines"] if "lines" in f else {"kind": "tree", "tree": f["tree"]} if "tree" in f else f
             for c in case["columns"] if (f := c.get("hierarchy"))}  # fmt: skip
    with plain_words("read"):
        table = kp.read(rows, schema(case), missing=case["missing"], hierarchies=forms, domain=case["domain"])
    demand(table.rows == len(kept_rows(case)), "rows read", f"{table.rows} instead of {len(kept_rows(case))}")
    try:
        with plain_words("front"):
            front = kp.front(table, objectives=["k", "lm"], limits=case["limits"], suppression=0.2)
    except kp.KparetoError as error:
        demand(says_none(str(error)), "front refuses", str(error))
        raise Refused(str(error)) from error
    with plain_words("release"):
        done = kp.release(front[0], rows, f"{folder}/{target}", limits=case["limits"])
    released = read_rows(folder / target)
    demand(len(released) == done.rows, "rows released", f"{len(released)} instead of {done.rows}")
    person = {row[place_of(case, "row")]: row for row in case["rows"]}
    names = of_role(case, "person")
    sizes = [len({person[r["row"]][place_of(case, names[0])] if names else r["row"] for r in members})
             for members in groups_of(released, of_role(case, QUASI)).values()]  # fmt: skip
    demand(oracle.meets("k", min(sizes), case["limits"]["k"]), "a limit is broken", f"k is {min(sizes)}")
    check_written({**case, "space": "lattice"}, folder / target, folder)


@cache
def _server() -> Any:
    from tests.twins.postgres_server import running

    open_until_exit = ExitStack()
    server = open_until_exit.enter_context(running())
    atexit.register(open_until_exit.close)  # after its folder is known to Python, whose own cleaning goes backwards
    return server


def check_postgresql(case: Case, folder: Path) -> None:
    """A table of a database gives the release that a file gives."""
    import psycopg

    if shutil.which("postgres") is None and not list(Path("/usr/lib/postgresql").glob("*/bin/postgres")):
        raise Refused("no PostgreSQL here")
    server = _server()
    quoted = ['"{}"'.format(column["name"].replace('"', '""')) for column in case["columns"]]
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS fuzzed")
        connection.execute(f"CREATE TABLE fuzzed ({', '.join(f'{name} text' for name in quoted)})")
        with connection.cursor() as cursor:
            marks = ", ".join(["%s"] * len(quoted))
            cursor.executemany(f"INSERT INTO fuzzed VALUES ({marks})", [tuple(row) for row in case["rows"]])
    _judge(case, folder, kp.Postgres(server.url(), "fuzzed"), "out.csv")


@cache
def _spark(folder: str) -> Any:
    from tests.twins.sparks import local_session

    return local_session(folder)


def check_spark(case: Case, folder: Path) -> None:
    """A frame of Spark gives the release that a file gives."""
    if shutil.which("java") is None:
        raise Refused("no Java here")
    import tempfile

    session = _spark(str(Path(tempfile.gettempdir()) / "fuzz-spark"))
    texts = [{c["name"]: cell for c, cell in zip(case["columns"], row, strict=True)} for row in case["rows"]]
    names = ", ".join("`{}` string".format(c["name"].replace("`", "``")) for c in case["columns"])
    rows = [tuple(row[c["name"]] for c in case["columns"]) for row in texts]
    try:
        frame = session.createDataFrame(rows, names)
    except Exception as error:
        raise Refused(f"Spark does not take it: {error}") from error
    _judge(case, folder, frame, "out/")


KINDS = [
    Kind("page", "the page's API: the same releases, strangers refused", make_page, check_page, 15),
    Kind("postgresql", "rows in a database, released and counted", make_engine, check_postgresql, 6, asked=True),
    Kind("spark", "rows in Spark, released and counted", make_engine, check_spark, 60, asked=True),
]
