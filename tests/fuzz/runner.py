"""Run cases, each from (seed, kind, number) alone; cut failures down; tell what was tried."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import kpareto as kp
from tests.fuzz.face import SEEN, Refused, Wrong, place_of
from tests.fuzz.kinds import Case, Kind

SHRINK_SECONDS = 10.0  # at the most, and once for each way to fail


@dataclass(frozen=True)
class Failure:
    """A case that failed, cut down, and how to see it again."""

    kind: str
    number: int
    seed: int
    name: str
    sentence: str
    case: Case

    @property
    def repeat(self) -> str:
        """The command that repeats it."""
        return f"python -m tests.fuzz --only {self.kind} --seed {self.seed} --case {self.number}"


@dataclass
class Tally:
    """What became of the cases of one kind."""

    kind: Kind
    tried: int = 0
    refused: int = 0  # by a sentence, as it may be
    reasons: Counter[str] = field(default_factory=Counter)  # why cases were refused, by the first words
    seconds: float = 0.0
    failures: list[Failure] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)  # how often a signal hit while a command worked, and such


def make_case(kind: Kind, seed: int, number: int) -> Case:
    """The case with a number, from nothing else than its three words."""
    chance = random.Random(f"{seed}/{kind.name}/{number}")
    if kind.vary is None:
        return kind.make(chance)
    return kind.vary(chance, kind.make(random.Random(f"{seed}/{kind.name}/of/{number // kind.together}")))


def try_case(kind: Kind, case: Case) -> Wrong | Refused | None:
    """What is wrong with a case, in a folder of its own that is gone afterwards."""
    SEEN.clear()
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kind.check(json.loads(json.dumps(case)), folder)
    except Wrong as wrong:
        return wrong
    except (Refused, kp.KparetoError) as refused:
        return SEEN[0] if SEEN else Refused(str(refused))
    except Exception as error:  # noqa: BLE001 (a fault of the package or of the fuzzer; both must be seen)
        return Wrong(f"unforeseen {type(error).__name__}", place_of(error))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return SEEN[0] if SEEN else None


def shrunk(kind: Kind, case: Case, name: str) -> Case:
    """The case with as few rows as still fail in the same way."""
    rows, end = case.get("rows"), time.monotonic() + SHRINK_SECONDS
    if not isinstance(rows, list) or kind.cost > 10:
        return case
    step = max(1, len(rows) // 2)
    while step >= 1 and time.monotonic() < end:
        start = 0
        while start < len(case["rows"]) and time.monotonic() < end:
            fewer = {**case, "rows": case["rows"][:start] + case["rows"][start + step :]}
            found = try_case(kind, fewer) if fewer["rows"] else None
            if isinstance(found, Wrong) and found.name == name:
                case = fewer
            else:
                start += step
        step //= 2
    return case


def run_case(kind: Kind, seed: int, number: int, seen: set[str] | None = None) -> Failure | Refused | None:
    """One case from the start to a failure that can be read; one of a name that was seen (or with None) is not cut down."""
    case = make_case(kind, seed, number)
    found = try_case(kind, case)
    if not isinstance(found, Wrong):
        return found
    small = case if seen is None or found.name in seen else shrunk(kind, case, found.name)
    if small is not case:
        again = try_case(kind, small)
        found = again if isinstance(again, Wrong) else found
    return Failure(kind.name, number, seed, found.name, found.sentence, small)


def shares(kinds: Iterable[Kind], cases: int) -> Iterator[tuple[Kind, int]]:
    """How many cases each kind gets: the dearer, the fewer."""
    listed = list(kinds)
    whole = sum(1 / kind.cost for kind in listed)
    for kind in listed:
        yield kind, max(1, round(cases / kind.cost / whole))


def report(tallies: Iterable[Tally], known: dict[str, str]) -> str:
    """The table of what was tried, in Markdown."""
    lines = [
        "| kind | what must hold | cases | refused by a sentence | failures | seconds |",
        "|---|---|---|---|---|---|",
    ]
    listed = list(tallies)
    lines += [
        f"| {tally.kind.name} | {tally.kind.what} | {tally.tried:,} | {tally.refused:,} | {len(tally.failures):,} "
        f"| {tally.seconds:.0f} |"
        for tally in listed
    ]
    failures = [failure for tally in listed for failure in tally.failures]
    lines.append(f"| all | | {sum(t.tried for t in listed):,} | {sum(t.refused for t in listed):,} | {len(failures):,} "
                 f"| {sum(t.seconds for t in listed):.0f} |")  # fmt: skip
    groups: dict[tuple[str, str], list[Failure]] = {}
    for failure in failures:
        groups.setdefault((failure.kind, failure.name), []).append(failure)
    for tally in listed:
        if tally.refused * 2 > tally.tried:  # a kind that is mostly refused tries little: somebody should look
            lines += ["", f"* {tally.kind.name}: mostly refused: {tally.reasons.most_common(3)}"]
        lines += [f"* {tally.kind.name}: {what}: {count:,} times." for what, count in sorted(tally.notes.items())]
    for (kind, name), group in sorted(groups.items()):
        label = known.get(name, "")
        lines += ["", f"* {kind}: {name}{f' ({label})' if label else ''}: {len(group)} of the cases.", f"  {group[0].sentence[:400]}",
                  f"  Repeat: {group[0].repeat}"]  # fmt: skip
    return "\n".join(lines)


def as_data(tallies: Iterable[Tally], seed: int) -> dict[str, Any]:
    """The same for machines."""
    return {
        "seed": seed,
        "kinds": [
            {"kind": t.kind.name, "cases": t.tried, "refused": t.refused, "seconds": round(t.seconds, 1), "reasons": dict(t.reasons.most_common(20)), "notes": dict(t.notes),
             "failures": [{"name": f.name, "sentence": f.sentence, "repeat": f.repeat, "case": f.case} for f in t.failures]}
            for t in tallies
        ],
    }  # fmt: skip
