"""Files that are read back: damaged they are answered by a sentence, and a stopped search goes on to the same end."""

from __future__ import annotations

import json
import random
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pandas as pd

import kpareto as kp
from kpareto.fronts.front import load_front
from kpareto.releases.choice import read_stored
from kpareto.releases.signing import load_key, new_key
from kpareto.searches.driver import read_checkpoint
from kpareto.strict import FileKind
from kpareto.verifier import parts
from kpareto.verifier.signatures import trusted_bytes
from kpareto.verifier.trust import read_lines
from tests.fuzz.damage import damage_json, damaged_bytes
from tests.fuzz.face import Refused, command, demand, note, plain_words
from tests.fuzz.forked import fork
from tests.fuzz.keeping import copy_kept, keep
from tests.fuzz.kinds import Case, Kind
from tests.fuzz.kinds.commands import BASE, LONGEST, timed, write_people

PAPER = FileKind("The paper", "Take it as it was written.")
WAIT = 240  # seconds for a process on a busy machine

# -- damaged files -------------------------------------------------------------------------------------------------


FILES = ["front", "recoding", "certificate", "checkpoint", "job", "hierarchy", "tree", "data", "parquet"]
LONG = ("--set", "search.method=nsga2", "--set", "search.space=cuts", "--set", "search.budget=20000")


def vary_file(chance: random.Random, case: Case) -> Case:
    """A file that is read back, to be damaged."""
    return {**case, "file": chance.choice([*FILES[:4], *FILES]), "damage": chance.getrandbits(32)}


def write_files(case: Case, folder: Path) -> None:
    """A job with everything that it leaves: a release with its papers, a front, the checkpoint of a stopped search."""
    write_people(folder, random.Random(case["inner"]))
    demand(command(folder, "release", "job.toml", "-q").status == 0, "the base job", "it is refused")
    command(folder, "front", "job.toml", "-q", "--json", "front.json")
    for share in range(1, 9):  # Ctrl-C until one comes between the first recoding and the last
        interrupted(folder, "front", "job.toml", "-q", *LONG, after=0.08 * share)
        if (folder / "job.checkpoint.npz").exists():
            return
    (folder / "job.checkpoint.npz").write_bytes(b"PK\x05\x06" + bytes(18))  # an archive of nothing


def check_damaged(case: Case, folder: Path) -> None:
    """Every file that is read back may be damaged: a sentence, never a traceback."""
    chance, kind = random.Random(case["damage"]), case["file"]
    _, kept = keep("damaged", {"inner": case["inner"]}, write_files)
    copy_kept(kept, folder)
    if kind == "front":
        damage_json(chance, folder / "front.json")
        command(folder, "report", "front.json", "-q", "-o", "report.html")
    elif kind == "recoding":
        damage_json(chance, folder / "out.recoding.json")
        command(folder, "apply", "out.recoding.json", "people.csv", "--target", "new.csv", "-q")
    elif kind == "certificate":
        damage_json(chance, folder / "out.certificate.json")
        command(folder, "verify", "out.csv", "out.certificate.json")
    elif kind == "checkpoint":
        _damage_checkpoint(chance, folder)
    else:
        _damage_input(chance, kind, folder)


def _damage_checkpoint(chance: random.Random, folder: Path) -> None:
    place = folder / "job.checkpoint.npz"
    new, _ = damaged_bytes(chance, place.read_bytes())
    place.write_bytes(new)
    command(folder, "front", "job.toml", "-q", *LONG, "--resume")


def tree_of_ages() -> Case:
    """A hierarchy as JSON."""
    leaves = [{"label": str(n)} for n in range(20, 60)]
    return {"kind": "tree", "tree": {"label": "*", "children": [{"label": "a", "children": leaves[:9]}, *leaves[9:]]}}


def _damage_input(chance: random.Random, kind: str, folder: Path) -> None:
    text = BASE
    name = {
        "job": "job.toml",
        "hierarchy": "ages.csv",
        "tree": "ages.json",
        "data": "people.csv",
        "parquet": "people.parquet",
    }[kind]
    if kind == "hierarchy":
        (folder / name).write_text("".join(f"{n};{n // 10 * 10};*\n" for n in range(20, 60)), encoding="utf-8")
    elif kind == "tree":
        (folder / name).write_text(json.dumps(tree_of_ages()), encoding="utf-8")
    elif kind == "parquet":
        pd.read_csv(folder / "people.csv", dtype=str).to_parquet(folder / name)
        text = text.replace("people.csv", name)
    if kind in ("hierarchy", "tree"):
        text = text.replace("{intervals = [5, 10, 20], from = 0}", f'"{name}"')
    (folder / "job.toml").write_text(text, encoding="utf-8")
    if kind == "tree":
        damage_json(chance, folder / name)
    else:
        new, _ = damaged_bytes(chance, (folder / name).read_bytes())
        (folder / name).write_bytes(new)
    with timed(LONGEST, f"a hang by a damaged {kind}"):
        command(folder, chance.choice(["front", "release"]), "job.toml", "-q")


# -- parsers -------------------------------------------------------------------------------------------------------

READERS: dict[str, tuple[str, Callable[[Path, kp.Problem], object]]] = {  # a file, and who reads it back
    "front": ("front.json", load_front),
    "recoding": ("out.recoding.json", lambda file, _: read_stored(file)),
    "certificate": ("out.certificate.json", lambda file, _: parts(file)),
    "public certificate": ("out.certificate.public.json", lambda file, _: parts(file)),
    "checkpoint": ("job.checkpoint.npz", lambda file, _: read_checkpoint(file, "another job")),
    "job": ("job.toml", lambda file, _: kp.load_job(file)),
    "tree": ("ages.json", lambda file, _: kp.load("age", file)),
    "lines": ("ages.csv", lambda file, _: kp.load("age", file)),
    "key": ("release.key", lambda file, _: load_key(file)),
    "keys": ("release.key.pub", lambda file, _: read_lines(file)),
    "signature": ("out.recoding.json.sig", lambda file, _: trusted_bytes(_paper(file), _keys(file), PAPER)),
}


def _paper(signature: Path) -> Path:
    return signature.with_suffix("")


def _keys(signature: Path) -> Path:
    return signature.with_name("release.key.pub")


def write_readable(case: Case, folder: Path) -> kp.Problem:
    """Every kind of file that is read back, and the problem they belong to."""
    write_files(case, folder)
    (folder / "ages.csv").write_text("".join(f"{n};{n // 10 * 10};*\n" for n in range(20, 60)), encoding="utf-8")
    (folder / "ages.json").write_text(json.dumps(tree_of_ages()), encoding="utf-8")
    new_key(folder / "release.key")
    signed = command(folder, "release", "job.toml", "-q", "--sign", "release.key", "--overwrite")
    demand(signed.status == 0, "the base job", signed.err)
    return kp.load_job(folder / "job.toml").problem()


def vary_parser(chance: random.Random, case: Case) -> Case:
    """A file, and its damage."""
    return {**case, "file": chance.choice(list(READERS)), "damage": chance.getrandbits(32)}


def check_parser(case: Case, folder: Path) -> None:
    """The strict reader answers a damaged file with a sentence, or finds nothing wrong in it."""
    problem, kept = keep("parsers", {"inner": case["inner"]}, write_readable)
    chance = random.Random(case["damage"])
    name, reader = READERS[case["file"]]
    place = kept / name
    raw, mode = place.read_bytes(), place.stat().st_mode
    try:
        what = damage_json(chance, place) if name.endswith(".json") else _damage_bytes(chance, place, raw)
        with plain_words(f"a damaged {case['file']}"), timed(LONGEST, f"a hang by a damaged {case['file']}"):
            reader(place, problem)
    except kp.KparetoError as error:
        fine = "\n" not in str(error) and str(error).endswith((".", ")", "FILE", "pub", name))
        demand(fine, f"no sentence about a damaged {case['file']}", f"{what}: {str(error)[:300]!r}")
    finally:
        place.write_bytes(raw)
        place.chmod(mode)


def _damage_bytes(chance: random.Random, place: Path, raw: bytes) -> str:
    new, what = damaged_bytes(chance, raw)
    place.write_bytes(new)
    return what


# -- resuming ------------------------------------------------------------------------------------------------------


def interrupted(folder: Path, *words: str, after: float) -> int:
    """The status of a command that gets Ctrl-C after some seconds.

    It is a process of its own: Ctrl-C in the middle of compiled code can spoil or end the process it comes to.
    """
    running = fork(folder, *words)
    with suppress(subprocess.TimeoutExpired):
        running.wait(after)
    at_work = running.send(signal.SIGINT)
    err = running.end(WAIT)
    status = running.returncode or 0
    note("stopped at work", at_work and status != 0)
    demand("Traceback" not in err or "kpareto/faces" not in err, "traceback at Ctrl-C", err[-1800:])
    demand(status >= 0, "a crash at Ctrl-C", f"signal {-status}: {err[-300:]}")
    demand(status in (0, 1, 2, 130), "status at Ctrl-C", f"{status}: {err[-300:]}")
    return status


def make_resume(chance: random.Random) -> Case:
    """A search that is stopped at some moment, and goes on, sometimes after the job was changed."""
    return {"method": chance.choice(["exact", "exact", "nsga2", "pbg-ea", "genitor", "improve"]), "inner": chance.getrandbits(32),
            "after": chance.uniform(0.0, 0.5), "seed": chance.randrange(9),
            "change": chance.choice([None, None, "columns.age.weight=9", "suppression.limit=0.3", "limits.k=3"])}  # fmt: skip


def check_resume(case: Case, folder: Path) -> None:
    """Stopped and resumed, a search ends with the front of one that was left alone; of another job never."""
    write_people(folder, random.Random(case["inner"]), 60)
    single = case["method"] in ("genitor", "improve")
    space = "lattice" if case["method"] in ("exact", "pbg-ea") else "cuts"
    objectives = '["nwp"]' if single else '["k", "nwp"]'
    settings = [f"search.objectives={objectives}", f"search.method={case['method']}", f"search.space={space}"]
    settings += [] if case["method"] == "exact" else [f"search.seed={case['seed']}", "search.budget=3000"]
    if single:
        job = (folder / "job.toml").read_text(encoding="utf-8").replace("limit = 0.1", 'rule = "below-k"')
        (folder / "job.toml").write_text(f"{job}[limits]\nk = 3\n", encoding="utf-8")
    words = [word for setting in settings for word in ("--set", setting)]
    stopped = interrupted(folder, "front", "job.toml", "-q", *words, after=case["after"])
    change = "limits.k=4" if single and case["change"] == "suppression.limit=0.3" else case["change"]
    more = ["--set", change] if change else []
    resume = ["--resume"] if (folder / "job.checkpoint.npz").exists() else []
    again = command(folder, "front", "job.toml", "-q", *words, *more, *resume, "--json", "again.json")
    if again.status != 0:
        demand(change and resume, "resume is refused", again.err)
        raise Refused(again.err)
    (folder / "job.checkpoint.npz").unlink(missing_ok=True)
    alone = command(folder, "front", "job.toml", "-q", *words, *more, "--json", "alone.json")
    demand(alone.status == 0, "a front is refused", alone.err)
    fronts = [
        json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))["points"] for name in ("again", "alone")
    ]
    demand(
        fronts[0] == fronts[1],
        f"a resumed front is another{' after a change' if change else ''}",
        f"stopped with {stopped}; {len(fronts[0])} and {len(fronts[1])} points",
    )


KINDS = [
    Kind(
        "damaged",
        "every file that is read back may be damaged",
        lambda c: {"inner": c.getrandbits(32)},
        check_damaged,
        vary=vary_file,
        together=60,
    ),
    Kind(
        "parsers",
        "the strict reader of every such file: a sentence",
        lambda c: {"inner": c.getrandbits(32)},
        check_parser,
        vary=vary_parser,
        together=600,
    ),
    Kind("resume", "stopped and resumed ends as left alone", make_resume, check_resume, 14),
]
