"""Faults from outside: kills, full disks, several writers, rows that change under our hands, limits that are no numbers."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import kpareto as kp
from tests.fuzz import oracle
from tests.fuzz.face import Refused, Wrong, command, demand, note, plain_words
from tests.fuzz.forked import fork
from tests.fuzz.keeping import keep
from tests.fuzz.kinds import Case, Kind
from tests.fuzz.kinds.commands import BASE, write_people
from tests.fuzz.kinds.fronts import find_front, make_aimed, read_once, table_of
from tests.fuzz.kinds.readback import WAIT
from tests.fuzz.oracle.files import groups_of, read_rows
from tests.fuzz.sources import source
from tests.fuzz.worlds import PERSON, QUASI, SENSITIVE, of_role, place_of


def whole_set(folder: Path, name: str) -> str | None:
    """What is wrong with a release and its papers that lie in a folder; None where all belong together."""
    stem = name.rstrip("/").split(".")[0]
    target = folder / name
    papers = [folder / f"{stem}.{paper}.json" for paper in ("certificate", "certificate.public", "recoding")]
    lacking = [paper.name for paper in papers if not paper.exists()]
    if lacking:
        return f"{lacking} not there"
    for paper in papers[:2]:
        with suppress(Wrong):
            said = command(folder, "verify", target.name, paper.name)
            if said.status != 0:
                return f"{paper.name}: {said.err.strip()}"
    labels = json.loads(papers[0].read_text(encoding="utf-8"))["public"]["recoding"]
    levels = {column: part.get("level") for column, part in labels.items()}
    stored = json.loads(papers[2].read_text(encoding="utf-8"))
    told = json.dumps(stored, sort_keys=True)
    fit = (
        stored.get("recoding", stored).get("levels", levels)
        if isinstance(stored.get("recoding", stored), dict)
        else levels
    )
    if isinstance(fit, dict) and {k: v for k, v in fit.items() if k in levels} != levels:
        return f"the recoding is of another release: {told[:120]}"
    return None


# -- kills ---------------------------------------------------------------------------------------------------------


def make_kill(chance: random.Random) -> Case:
    """A release that is ended from outside at some moment; sometimes an old one lies there already."""
    return {"share": chance.random(), "signal": chance.choice(["SIGKILL", "SIGTERM", "SIGINT"]), "rows": None,
            "target": chance.choice(["out.csv", "out.parquet", "out/"]), "old": chance.random() < 0.5, "inner": chance.getrandbits(32)}  # fmt: skip


def check_kill(case: Case, folder: Path) -> None:
    """The target is absent, the old one, or whole with its papers; Ctrl-C ends with 130 and no traceback."""
    write_people(folder, random.Random(case["inner"]), 4000)
    (folder / "job.toml").write_text(BASE.replace("out.csv", case["target"]), encoding="utf-8")
    target = folder / case["target"]
    old = case["old"] and case["target"] != "out/"
    if old:
        demand(command(folder, "release", "job.toml", "-q").status == 0, "the base job", "it is refused")
    before = target.read_bytes() if old else None
    began = time.monotonic()
    alone = Path(tempfile.mkdtemp(dir=folder, prefix="job-alone"))
    shutil.copytree(folder, alone, dirs_exist_ok=True, ignore=shutil.ignore_patterns("job-alone*", "out*"))
    fork(alone, "release", "job.toml", "-q").end(WAIT)  # how long it takes at this moment
    long = time.monotonic() - began
    shutil.rmtree(alone)
    running = fork(folder, "release", "job.toml", "-q", "--overwrite", *(["--choose", "k=20"] if old else []))
    with suppress(subprocess.TimeoutExpired):
        running.wait(case["share"] * long)
    at_work = running.send(getattr(signal, case["signal"]))
    err = running.end(WAIT)
    note("hit while working", at_work and running.returncode != 0)
    if case["signal"] == "SIGINT" and running.returncode != 0:
        # Before our own code runs, Python itself answers Ctrl-C.
        demand("Traceback" not in err or "kpareto/faces" not in err, "traceback at Ctrl-C", err[-400:])
    if not target.exists():
        demand(before is None, "the old release is gone", f"after {case['signal']}")
    elif before is not None and target.read_bytes() == before:
        pass
    else:
        wrong = whole_set(folder, case["target"])
        demand(wrong is None, "a release without its own papers after a kill", f"{case['signal']}: {wrong}")
    if case["target"] != "out/" or not target.exists():
        again = command(folder, "release", "job.toml", "-q", "--overwrite")
        demand(again.status == 0, "the next run", again.err)
        left = [p.name for p in folder.iterdir() if not p.name.startswith(("out", "people", "job"))]
        demand(not left, "parts are left behind", f"{left}")


# -- several writers -----------------------------------------------------------------------------------------------


def check_writers(case: Case, folder: Path) -> None:
    """Three releases to one target at once: what lies there in the end belongs together."""
    write_people(folder, random.Random(case["inner"]), 400)
    writers = [fork(folder, "release", "job.toml", "-q", "--overwrite", "--choose", f"k={k}") for k in (2, 5, 20)]
    said = [running.end(WAIT) for running in writers]
    states = [running.returncode for running in writers]
    demand(
        all(state in (0, 2, 3) for state in states),
        "status of a writer",
        f"{states}: {[err[-200:] for err in said]}",
    )
    demand(0 in states, "no writer wins", f"{states}: {[err[-200:] for err in said]}")
    wrong = whole_set(folder, "out.csv")
    demand(wrong is None, "papers of several writers are mixed", f"{states}: {wrong}")
    papers = {n: (folder / f"out.{n}.json").read_text(encoding="utf-8") for n in ("certificate", "recoding")}
    alone = Path(tempfile.mkdtemp(dir=folder))
    for name in ("people.csv", "job.toml"):
        (alone / name).write_bytes((folder / name).read_bytes())
    pairs = []
    for k in (2, 5, 20):
        demand(
            command(alone, "release", "job.toml", "-q", "--overwrite", "--choose", f"k={k}").status == 0,
            "the base job",
            "it is refused",
        )
        pairs.append({n: (alone / f"out.{n}.json").read_text(encoding="utf-8") for n in papers})
    demand(
        papers in pairs, "papers of several writers are mixed", f"{states}: certificate and recoding are of two runs"
    )


# -- full disks ----------------------------------------------------------------------------------------------------


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[Path]:
    """A disk of some bytes; Refused where none can be mounted."""
    place = folder / "disk"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], capture_output=True, check=False
    )
    if done.returncode:
        raise Refused("no small disk can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def check_disk(case: Case, folder: Path) -> None:
    """On a full disk there is a sentence, and no release without its own papers."""
    write_people(folder, random.Random(case["inner"]), 300)
    (folder / "job.toml").write_text(BASE.replace("out.csv", "disk/out.csv"), encoding="utf-8")
    with small_disk(folder, case["size"]) as disk:
        said = command(folder, "release", "job.toml", "-q")
        if said.status == 0:
            demand((disk / "out.recoding.json").exists(), "papers", "status 0 without a recoding")
        else:
            left = sorted(place.name for place in disk.iterdir())
            demand(not left, "a full disk leaves parts of a release", f"{left}: {said.err.strip()}")


def check_blocked(case: Case, folder: Path) -> None:
    """A paper that cannot be written leaves no release."""
    write_people(folder, random.Random(case["inner"]), 60)
    (folder / case["paper"]).mkdir()
    said = command(folder, "release", "job.toml", "-q")
    demand(said.status == 2, "a blocked paper", f"status {said.status}")
    demand(not (folder / "out.csv").exists(), "a release without its papers", said.err.strip())


# -- rows that change ----------------------------------------------------------------------------------------------


def make_swapped(chance: random.Random) -> Case:
    """A table whose file is another one when it is released: a value or a person here and there."""
    case = make_aimed(chance)
    while not of_role(case, PERSON):
        case = make_aimed(chance)
    case["limits"] = {"k": 2} | ({"l": 2} if of_role(case, SENSITIVE) and chance.random() < 0.5 else {})
    case["what"] = chance.choice(["persons", "sensitive", "quasi"])
    return case


def check_swapped(case: Case, folder: Path) -> None:
    """The release of a changed file is refused, or holds its limits by the rows it was made of."""
    rows = source(case, "csv", folder)
    table = table_of(case, rows, folder)
    front = find_front(case, table)
    role = {"persons": PERSON, "sensitive": SENSITIVE, "quasi": QUASI}[case["what"]]
    names = of_role(case, role)
    if not names:
        raise Refused("no such column")
    place = place_of(case, names[0])
    one = next(row[place] for row in case["rows"] if row[place] is not None)
    changed = {
        **case,
        "rows": [
            [one if n == place and cell is not None else cell for n, cell in enumerate(row)] for row in case["rows"]
        ],
    }
    source(changed, "csv", folder)
    try:
        with plain_words("release"):
            kp.release(front[0], rows, folder / "out.csv", limits=case["limits"])
    except kp.KparetoError as error:
        raise Refused(str(error)) from error
    person, at = place_of(case, of_role(case, PERSON)[0]), place_of(case, "row")
    who = {row[at]: row[person] for row in changed["rows"]}
    classes = groups_of(read_rows(folder / "out.csv"), of_role(case, QUASI)).values()
    k = min(len({who[row["row"]] for row in members}) for members in classes)
    demand(
        k >= case["limits"]["k"],
        "k in persons is claimed without looking",
        f"k is {k} where {case['limits']['k']} is asked",
    )
    for name in of_role(case, SENSITIVE):
        fewest = min(len({row[name] for row in members}) for members in classes)
        demand(fewest >= case["limits"].get("l", 0), "a limit is broken", f"l of {name} is {fewest}")


# -- limits that are none ------------------------------------------------------------------------------------------


def make_limits(chance: random.Random) -> Case:
    """A table without limits."""
    case = make_aimed(chance)
    case["rule"] = {"name": "cap-max-k", "limit": 0.1, "mask": False}
    case["limits"] = {}
    return case


def vary_limit(chance: random.Random, case: Case) -> Case:
    """A limit that is not a number, infinite, negative or of a wrong kind."""
    specs = ["k", "lm", "risk-mean", *(["l", "t", "alpha", "beta"] if of_role(case, SENSITIVE) else [])]
    values = ["nan", "inf", "-inf", "None", "'5'", "True", "[]", "1e400"]
    return {**case, "spec": chance.choice(specs), "value": chance.choice(values)}


def check_limits(case: Case, folder: Path) -> None:
    """No release where a limit says nothing; a sentence."""
    rows = source(case, "arrow", folder)
    base = {name: part for name, part in case.items() if name not in ("spec", "value")}
    front, _ = keep("limits", base, lambda world, _: find_front(world, read_once(world)[0]))
    value: Any = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf"), "1e400": float("1e400"), "None": None, "'5'": "5",
             "True": True, "[]": []}[case["value"]]  # fmt: skip
    try:
        with plain_words("release with a bad limit"):
            kp.release(front[0], rows, folder / "out.csv", limits={case["spec"]: value})
    except Wrong as wrong:
        demand(False, "a limit that is no number: traceback", wrong.sentence)
        return
    except kp.KparetoError:
        demand(not (folder / "out.csv").exists(), "refused and written", f"{case['spec']} = {case['value']}")
        return
    harmless = case["value"] in ("-inf", "inf", "1e400") and oracle.meets(case["spec"], 1.0, float(value))
    demand(
        harmless or case["value"] in ("True", "'5'"),
        "a limit that is no number is ignored",
        f"{case['spec']} = {case['value']}",
    )


KINDS = [
    Kind("kills", "after a kill the target is absent, old or whole", make_kill, check_kill, 60),
    Kind(
        "writers",
        "three writers at once leave one whole release",
        lambda c: {"inner": c.getrandbits(32)},
        check_writers,
        120,
    ),
    Kind(
        "disk",
        "a full disk leaves no half release",
        lambda c: {
            "size": c.choice([4096, 8192, 12288, 16384, 20480, 28672, 36864, 1 << 20]),
            "inner": c.getrandbits(32),
        },
        check_disk,
        6,
    ),
    Kind(
        "blocked",
        "a paper that cannot be written leaves no release",
        lambda c: {
            "inner": c.getrandbits(32),
            "paper": c.choice(["out.certificate.json", "out.certificate.public.json", "out.recoding.json"]),
        },
        check_blocked,
        6,
    ),
    Kind("swapped", "rows that change between read and release", make_swapped, check_swapped, 3),
    Kind("limits", "a limit that is no number is refused", make_limits, check_limits, vary=vary_limit, together=20),
]
