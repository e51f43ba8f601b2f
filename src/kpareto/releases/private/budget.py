"""The ledger of a table: what differentially private runs have spent of its epsilon and delta.

``budget.json`` lies beside the source table, with the people who hold it, not beside a release. Epsilons and deltas add
up over runs (Dwork and Roth 2014, theorem 3.16). A run is entered **before** it looks at the rows: when it fails
afterwards its budget is gone, because what it did may have been seen. Amounts are written as exact fractions or
decimals, so that three times 0.1 is 0.3.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from kpareto.atomic import write_whole
from kpareto.errors import BadInput, Unsafe
from kpareto.releases.private.delta import Real, read_positive

FORMAT = "kpareto budget 1"


@dataclass(frozen=True)
class Spent:
    """What one run has spent."""

    epsilon: Fraction
    delta: Fraction
    purpose: str  # what the run was for, in words
    when: str  # ISO 8601, UTC


@dataclass(frozen=True)
class Ledger:
    """The total that was declared for a table, and the runs so far."""

    epsilon: Fraction
    delta: Fraction
    runs: tuple[Spent, ...] = ()

    @property
    def left(self) -> tuple[Fraction, Fraction]:
        """Epsilon and delta that are left."""
        return (
            self.epsilon - sum((run.epsilon for run in self.runs), Fraction(0)),
            self.delta - sum((run.delta for run in self.runs), Fraction(0)),
        )


def read_ledger(path: str | os.PathLike[str]) -> Ledger | None:
    """The ledger of a file; None where there is none yet. A file that is no ledger is an error, never a new one."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"Cannot read the budget {str(path)!r}: {error}. Mend the file; no run was made.") from error
    try:
        content = json.loads(text)
        if content["format"] != FORMAT:
            raise ValueError(f"its format is {content['format']!r}")
        runs = tuple(
            Spent(_amount(run["epsilon"]), _amount(run["delta"]), str(run["purpose"]), str(run["when"]))
            for run in content["runs"]
        )
        return Ledger(_amount(content["total"]["epsilon"]), _amount(content["total"]["delta"]), runs)
    except (ValueError, KeyError, TypeError, ZeroDivisionError) as error:
        raise BadInput(
            f"The file {str(path)!r} is no budget that kpareto wrote ({error}). Restore it from a backup; "
            "no run was made."
        ) from error


def _amount(text: str) -> Fraction:
    amount = Fraction(text)
    if not isinstance(text, str) or amount < 0:
        raise ValueError(f"{text!r} is no amount")
    return amount


def spend(
    path: str | os.PathLike[str], epsilon: Real, delta: Real, purpose: str, total: tuple[Real, Real] | None = None
) -> Ledger:
    """Enter a run before it begins; raise where the declared total would be exceeded.

    ``total`` (epsilon, delta) is declared by the first run and stays; a later run may repeat it, but not change it.
    """
    run = Spent(
        read_positive("Epsilon", epsilon),
        read_positive("Delta", delta),
        purpose,
        datetime.now(UTC).isoformat(timespec="seconds"),
    )
    declared = None if total is None else (read_positive("Epsilon", total[0]), read_positive("Delta", total[1]))
    with _alone(Path(path)):
        ledger = _open(path, declared)
        left = ledger.left
        if run.epsilon > left[0] or run.delta > left[1]:
            raise Unsafe(
                f"The run asks for epsilon {float(run.epsilon):g} and delta {float(run.delta):g}, and of the budget "
                f"{str(path)!r} epsilon {float(left[0]):g} and delta {float(left[1]):g} are left. Nothing was released."
            )
        after = Ledger(ledger.epsilon, ledger.delta, (*ledger.runs, run))
        write_whole(path, json.dumps(_ledger_data(after), indent=2) + "\n")
        return after


def _open(path: str | os.PathLike[str], declared: tuple[Fraction, Fraction] | None) -> Ledger:
    ledger = read_ledger(path)
    if ledger is None:
        if declared is None:
            raise BadInput(
                f"There is no budget {str(path)!r} yet. Declare the total epsilon and delta this table may ever spend."
            )
        return Ledger(*declared)
    if declared is not None and declared != (ledger.epsilon, ledger.delta):
        raise BadInput(
            f"The budget {str(path)!r} was declared as epsilon {float(ledger.epsilon):g} and delta "
            f"{float(ledger.delta):g}, and a total of {float(declared[0]):g} and {float(declared[1]):g} is given. "
            "A total that grows with the runs protects nobody: give the declared one."
        )
    return ledger


def _ledger_data(ledger: Ledger) -> dict[str, object]:
    runs = [
        {"epsilon": str(run.epsilon), "delta": str(run.delta), "purpose": run.purpose, "when": run.when}
        for run in ledger.runs
    ]
    return {"format": FORMAT, "total": {"epsilon": str(ledger.epsilon), "delta": str(ledger.delta)}, "runs": runs}


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Nobody else enters a run meanwhile: two runs that each fit might not fit together."""
    ledger = path.absolute()
    if not ledger.parent.is_dir():
        raise BadInput(f"Cannot write {str(path)!r}: there is no folder {str(ledger.parent)!r}. Make it first.")
    lock = ledger.with_name(f".{ledger.name}.lock")
    try:
        import fcntl
    except ImportError:  # no such locks on this system: a file that must not be there yet
        with _exclusive(lock):
            yield
        return
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _exclusive(lock: Path) -> Iterator[None]:
    try:
        os.close(os.open(lock, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError as error:
        raise BadInput(f"Another run is writing the budget. When none is, remove {str(lock)!r}.") from error
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
