"""The package as the fuzzer uses it: public names, the command line in this process and as processes of their own."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tomllib
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import kpareto as kp
from tests.fuzz.known import KNOWN
from tests.fuzz.oracle import Step
from tests.fuzz.sources import hierarchy_input
from tests.fuzz.worlds import IDENTIFIER, PERSON, PLAIN, QUASI, SENSITIVE, TARGET, World, of_role

ROOT = Path(__file__).resolve().parents[2]


class Wrong(Exception):
    """The package did what it must not: a short name of the failure, and a sentence."""

    def __init__(self, name: str, sentence: str) -> None:
        super().__init__(f"{name}: {sentence}")
        self.name, self.sentence = name, sentence


class Refused(Exception):
    """The case could not be tried: the package refused it with a sentence, as it may."""


NOTES: Counter[str] = Counter()  # what became of cases that depends on the moment, such as a signal that hit


def note(what: str, happened: bool) -> None:
    """Count something for the table of what was tried."""
    NOTES[what] += happened


SEEN: list[Wrong] = []  # failures of the case at hand that are known; they must not hide others


def demand(condition: object, name: str, sentence: str) -> None:
    """Raise Wrong unless the condition holds; a failure that is known is remembered, and the case goes on."""
    if condition:
        return
    if name in KNOWN:
        SEEN.append(Wrong(name, sentence))
    else:
        raise Wrong(name, sentence)


@contextlib.contextmanager
def plain_words(doing: str) -> Iterator[None]:
    """A sentence of the package ends the case as refused; anything else that is raised is a failure."""
    try:
        yield
    except (kp.KparetoError, Wrong, Refused):
        raise
    except Exception as error:
        raise Wrong(f"traceback in {doing}: {type(error).__name__} {where(error)}", place_of(error)) from error


def place_of(error: BaseException) -> str:
    """What was raised, and the last line of the package that it came through."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "kpareto" in frame.filename]
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}{where}"


def where(error: BaseException) -> str:
    """The last function of the package that an error came through; lines move, names less."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "src/kpareto" in frame.filename]
    return f"at {Path(frames[-1].filename).stem}.{frames[-1].name}" if frames else "outside"


# -- the library ---------------------------------------------------------------------------------------------------


def schema(world: World) -> kp.Schema:
    """The roles of a world."""
    person = of_role(world, PERSON)
    weights = {c["name"]: float(c["weight"]) for c in world["columns"] if c.get("weight")}
    return kp.Schema(
        quasi=tuple(of_role(world, QUASI)), sensitive=tuple(of_role(world, SENSITIVE)), target=tuple(of_role(world, TARGET)),
        identifier=tuple(of_role(world, IDENTIFIER)), person=person[0] if person else None, weights=weights,
        plain=tuple(of_role(world, PLAIN)),
    )  # fmt: skip


def read(world: World, rows: Any, folder: Path) -> kp.Table:
    """The table of a world from its rows."""
    forms = {c["name"]: hierarchy_input(c["hierarchy"], folder, f"column{n}")
             for n, c in enumerate(world["columns"]) if c.get("hierarchy")}  # fmt: skip
    with plain_words("read"):
        return kp.read(rows, schema(world), missing=world["missing"], hierarchies=forms, domain=world["domain"])


def suppression(world: World) -> kp.Suppression:
    """The suppression rule of a world."""
    rule, limits = world["rule"], world.get("limits", {})
    rows: Literal["mask", "drop"] = "mask" if rule["mask"] else "drop"
    return kp.Suppression(rule["name"], rule["limit"], int(limits["k"]) if rule["name"] == "below-k" else None, rows)


def steps_of(table: kp.Table) -> dict[str, list[Step]]:
    """The steps of every hierarchy of a table, for columns whose groups are made from the rows."""
    return {
        h.name: [dict(zip(h.leaves, map(str, groups.tolist()), strict=True)) for groups in h.groups]
        for h in table.hierarchies
    }


# -- the command line ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Said:
    """What a command answered."""

    status: int
    out: str
    err: str


@cache
def main() -> Callable[[Sequence[str]], int]:
    """The function behind the command, wherever pyproject.toml says it is."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    module, _, name = scripts["kpareto"].partition(":")
    found: Callable[[Sequence[str]], int] = getattr(import_module(module), name)
    return found


def command(folder: Path, *words: str) -> Said:
    """Run one command inside this process; what would be a traceback is Wrong."""
    before, out, err = Path.cwd(), io.StringIO(), io.StringIO()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main()(list(words))
    except SystemExit as leave:
        status = leave.code if isinstance(leave.code, int) else 1
    except KeyboardInterrupt:
        raise  # somebody stops the fuzzer
    except BaseException as error:
        raise Wrong(
            f"traceback in {words[0]}: {type(error).__name__} {where(error)}",
            f"{' '.join(words)[:300]} -> {place_of(error)}",
        ) from error
    finally:
        os.chdir(before)
    said = Said(status, out.getvalue(), err.getvalue())
    demand("Traceback" not in said.err, f"traceback printed by {words[0]}", said.err[-300:])
    demand(
        status in (0, 2, 3, 130),
        f"status of {words[0]}",
        f"{' '.join(words)[:300]} ended with {status}: {said.err[-200:]}",
    )
    sentence = said.err.strip()
    if status in (2, 3):
        demand(sentence and "\n" not in sentence, f"sentence of {words[0]}", f"status {status} with {sentence[:300]!r}")
    return said


def process(folder: Path, *words: str, before: str = "") -> subprocess.Popen[str]:
    """The same command as a process of its own, in a session of its own; ``before`` is Python that runs first."""
    source = (
        f"import sys\n{before}\nfrom {main().__module__} import {main().__name__} as main\nsys.exit(main(sys.argv[1:]))"
    )
    environment: Mapping[str, str] = {
        **os.environ,
        "PYTHONPATH": f"{Path(kp.__file__).parents[1]}",
        "PYTHONUNBUFFERED": "1",
    }
    return subprocess.Popen(
        [sys.executable, "-c", source, *words],
        cwd=folder, env=environment, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
