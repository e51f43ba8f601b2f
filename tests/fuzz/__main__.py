"""``python -m tests.fuzz --cases 1000 --seed 1``: run the fuzzer and print what was tried."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path

from kpareto.releases import release
from kpareto.releases.settings import DANGERS
from tests.fuzz.face import NOTES, Refused
from tests.fuzz.kinds import Kind
from tests.fuzz.known import KNOWN
from tests.fuzz.registry import KINDS
from tests.fuzz.runner import Failure, Tally, as_data, report, run_case, shares

PART = 60  # cases of one kind that a process takes at a time


def arguments() -> argparse.Namespace:
    """What the command was told."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="cases in all; dear kinds get fewer of them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--only", action="append", type=chosen_kind, metavar="KIND[:CASES]", help=f"of: {', '.join(KINDS)}"
    )
    parser.add_argument("--start", type=int, default=0, help="the number of the first case, to go on with a run")
    parser.add_argument("--case", type=int, help="one case alone, by its number")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--json", type=Path, help="where the table goes as JSON")
    parser.add_argument("--seconds", type=float, help="no new cases after so many seconds")
    parser.add_argument("--no-shrink", action="store_true", help="leave failing cases as large as they are")
    return parser.parse_args()


def chosen_kind(word: str) -> tuple[Kind, int | None]:
    """A kind, and how many cases of it where that is said."""
    name, _, count = word.partition(":")
    if name not in KINDS or (count and not count.isdecimal()):
        raise argparse.ArgumentTypeError(f"{word!r} is no kind, or has no number of cases after its colon")
    return KINDS[name], int(count) if count else None


def part(name: str, seed: int, numbers: list[int], shrink: bool) -> Tally:
    """Some cases of one kind."""
    kind = KINDS[name]
    tally = Tally(kind)
    began = time.perf_counter()
    NOTES.clear()
    for number in numbers:
        found = run_case(kind, seed, number, {f.name for f in tally.failures} if shrink else None)
        tally.tried += 1
        if isinstance(found, Refused):
            tally.refused += 1
            tally.reasons[str(found)[:90]] += 1
        if isinstance(found, Failure):
            tally.failures.append(found)
    tally.seconds = time.perf_counter() - began
    tally.notes.update(NOTES)
    return tally


def show(failure: Failure) -> None:
    """A failing case as a person can read and repeat it."""
    label = KNOWN.get(failure.name)
    sys.stderr.write(
        f"{failure.kind} {failure.number}: {failure.name}{f' ({label})' if label else ''}\n  {failure.sentence[:600]}\n"
    )
    if label is None:
        sys.stderr.write(f"  {json.dumps(failure.case, ensure_ascii=False)[:3000]}\n")
    sys.stderr.write(f"  Repeat: {failure.repeat}\n")


def until_stopped(parts: Iterable[Tally]) -> Iterator[Tally]:
    """The parts that were done before Ctrl-C: a run that is stopped still tells what it has tried."""
    with suppress(KeyboardInterrupt):
        yield from parts


def main() -> int:
    """Run, print the table, and tell by the status whether anything new failed."""
    given = arguments()
    for number in (signal.SIGINT, signal.SIGTERM):  # in the background a shell has them ignored
        signal.signal(number, signal.default_int_handler)
    said: list[tuple[Kind, int | None]] = given.only or [(kind, None) for kind in KINDS.values() if not kind.asked]
    chosen, counts = [kind for kind, _ in said], {kind.name: count for kind, count in said}
    tallies = {kind.name: Tally(kind) for kind in chosen}
    work = [(kind.name, list(range(start, min(start + PART, given.start + count))))
            for kind, share in shares(chosen, given.cases) for count in [share if counts[kind.name] is None else counts[kind.name]]
            for start in range(given.start, given.start + count, PART)]  # fmt: skip
    work.sort(key=lambda task: task[1][0])  # a part of each kind in turn, so that a run cut short has tried all
    if given.case is not None:
        work = [(kind.name, [given.case]) for kind in chosen]
    pool = ProcessPoolExecutor(given.jobs) if given.jobs > 1 else None
    jobs = [(name, given.seed, numbers, not given.no_shrink) for name, numbers in work]
    done = pool.map(part, *zip(*jobs, strict=True)) if pool else (part(*job) for job in jobs)
    began = time.monotonic()
    for found in until_stopped(done):
        tally = tallies[found.kind.name]
        tally.tried, tally.refused = tally.tried + found.tried, tally.refused + found.refused
        tally.seconds += found.seconds
        tally.reasons.update(found.reasons)
        tally.notes.update(found.notes)
        for failure in found.failures:
            tally.failures.append(failure)
            show(failure)
        if given.seconds is not None and time.monotonic() - began > given.seconds:
            break
    if pool:
        pool.shutdown(cancel_futures=True)
    sys.stdout.write(report(tallies.values(), KNOWN) + "\n")
    if given.json:
        given.json.write_text(
            json.dumps(as_data(tallies.values(), given.seed), indent=1, ensure_ascii=False), encoding="utf-8"
        )
    return 1 if any(f.name not in KNOWN for t in tallies.values() for f in t.failures) else 0


def accept_dangers() -> None:
    """Tables of a few rows are full of dangers; what is tried here is whether releases are right."""
    vars(release)["read_accepted"] = lambda _words: DANGERS


if __name__ == "__main__":
    accept_dangers()
    sys.exit(main())
