"""The ledger of a table: what differentially private runs have spent of its epsilon and delta.

``budget.json`` lies beside the source table, with the people who hold it, not beside a release. Epsilons and deltas add
up over runs (Dwork and Roth 2014, theorem 3.16). A run is entered **before** it looks at the rows: when it fails
afterwards its budget is gone, because what it did may have been seen. Amounts are written as exact fractions or
decimals, so that three times 0.1 is 0.3.

A ledger knows its table by where it lies, links followed, and by its bytes; a table in a database by its address. Where
the ledgers of a person lie is noted in the data folder of that person, so that a link or a copy of a table elsewhere
spends from the same ledger. A copy that was changed is another table to it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from kpareto.atomic import write_whole
from kpareto.engines import address_of, file_of
from kpareto.engines.duckdb.files import file_digest
from kpareto.engines.read import fingerprint
from kpareto.errors import BadInput, KparetoError, Unsafe
from kpareto.releases.private.delta import Real, read_positive

FORMAT = "kpareto budget 1"
LEDGER = "budget.json"
ROWS = "rows"  # whose epsilon and delta are counted, where it is not persons
# How many rows a table has is not told here, so these stand for what nobody could call private: at this epsilon two
# neighbours may differ by a factor of 500 million, and at this delta one of ten thousand people may be shown as she is.
MOST_EPSILON, MOST_DELTA = Fraction(20), Fraction(1, 10_000)


@dataclass(frozen=True)
class Spent:
    """What one run has spent."""

    epsilon: Fraction
    delta: Fraction
    purpose: str  # what the run was for, in words
    when: str  # ISO 8601, UTC
    unit: str = ROWS  # whose epsilon and delta these are: rows, or persons and by which columns


@dataclass(frozen=True)
class Ledger:
    """The total that was declared for a table, and the runs so far."""

    epsilon: Fraction
    delta: Fraction
    runs: tuple[Spent, ...] = ()
    tables: tuple[str, ...] = ()  # what it is known by; none: every table of the folder

    def binds(self, tables: Sequence[str]) -> bool:
        """Whether it is the ledger of a table that is known by these names."""
        return not self.tables or not tables or any(_same(one, other) for one in self.tables for other in tables)

    @property
    def left(self) -> tuple[Fraction, Fraction]:
        """Epsilon and delta that are left."""
        return (
            self.epsilon - sum((run.epsilon for run in self.runs), Fraction(0)),
            self.delta - sum((run.delta for run in self.runs), Fraction(0)),
        )


def read_ledger(path: str | os.PathLike[str], tables: Sequence[str] = ()) -> Ledger | None:
    """The ledger of a table in a file; None where there is none yet. A file that is none is an error, not a new one."""
    return next((ledger for ledger in _read_ledgers(path) if ledger.binds(tables)), None)


def _read_ledgers(path: str | os.PathLike[str]) -> list[Ledger]:
    """All ledgers of a file: the first stands in it as a whole, those of further tables of the folder below."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"Cannot read the budget {str(path)!r}: {error}. Mend the file; no run was made.") from error
    try:
        content = json.loads(text)
        if content["format"] != FORMAT:
            raise ValueError(f"its format is {content['format']!r}")
        return [_ledger_from(part) for part in (content, *content.get("others", ()))]
    except KparetoError:
        raise
    except (ValueError, KeyError, TypeError, ZeroDivisionError) as error:
        raise BadInput(
            f"The file {str(path)!r} is no budget that kpareto wrote ({error}). Restore it from a backup; "
            "no run was made."
        ) from error


def _ledger_from(part: Mapping[str, Any]) -> Ledger:
    runs = tuple(
        Spent(
            _amount(run["epsilon"]),
            _amount(run["delta"]),
            str(run["purpose"]),
            str(run["when"]),
            str(run.get("unit", ROWS)),
        )
        for run in part["runs"]
    )
    total, tables = part["total"], tuple(str(name) for name in part.get("tables", ()))
    return Ledger(_amount(total["epsilon"]), _amount(total["delta"]), runs, tables)


def _amount(text: str) -> Fraction:
    amount = Fraction(text)
    if not isinstance(text, str) or amount < 0:
        raise ValueError(f"{text!r} is no amount")
    return amount


def spend(
    path: str | os.PathLike[str],
    epsilon: Real,
    delta: Real,
    purpose: str,
    total: tuple[Real, Real] | None = None,
    tables: Sequence[str] = (),
    unit: str = ROWS,
) -> Ledger:
    """Enter a run before it begins; raise where the declared total would be exceeded.

    ``total`` (epsilon, delta) is declared by the first run and stays; a later run may repeat it, but not change it.
    ``tables``: what the table is known by. ``unit``: whose epsilon and delta these are; those of others do not add up.
    """
    run = Spent(
        read_positive("Epsilon", epsilon),
        read_positive("Delta", delta),
        purpose,
        datetime.now(UTC).isoformat(timespec="seconds"),
        unit,
    )
    declared = None if total is None else (read_positive("Epsilon", total[0]), read_positive("Delta", total[1]))
    with _alone(Path(path)):
        ledgers = _read_ledgers(path)
        place = next((place for place, ledger in enumerate(ledgers) if ledger.binds(tables)), len(ledgers))
        ledger = _open(path, ledgers[place] if place < len(ledgers) else None, declared)
        left = ledger.left
        if other := next((each.unit for each in ledger.runs if each.unit != unit), None):
            raise BadInput(
                f"The runs in the budget {str(path)!r} protect {other}, and this one would protect {unit}: what they "
                "spend does not add up. Nothing was released. Tell persons apart as the earlier runs did."
            )
        if run.epsilon > left[0] or run.delta > left[1]:
            raise Unsafe(
                f"The run asks for epsilon {float(run.epsilon):g} and delta {float(run.delta):g}, and of the budget "
                f"{str(path)!r} epsilon {float(left[0]):g} and delta {float(left[1]):g} are left. Nothing was released."
            )
        known = ledger.tables if ledgers and not ledger.tables else tuple(dict.fromkeys((*ledger.tables, *tables)))
        after = replace(ledger, runs=(*ledger.runs, run), tables=known)
        ledgers[place : place + 1] = [after]
        data = {"format": FORMAT, **_ledger_data(ledgers[0])}
        if len(ledgers) > 1:
            data["others"] = [_ledger_data(other) for other in ledgers[1:]]
        write_whole(path, json.dumps(data, indent=2) + "\n")
        return after


def _open(path: str | os.PathLike[str], ledger: Ledger | None, declared: tuple[Fraction, Fraction] | None) -> Ledger:
    if ledger is None:
        if declared is None:
            raise BadInput(
                f"There is no budget {str(path)!r} of this table yet. Declare the total epsilon and delta this table "
                "may ever spend."
            )
        if declared[0] > MOST_EPSILON or declared[1] > MOST_DELTA:
            raise BadInput(
                f"The total is epsilon {float(declared[0]):g} and delta {float(declared[1]):g}. One above epsilon "
                f"{float(MOST_EPSILON):g} or delta {float(MOST_DELTA):g} promises next to nothing and is refused: give "
                "an epsilon of a few units, and a delta far below 1 over the number of people."
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
        | ({} if run.unit == ROWS else {"unit": run.unit})
        for run in ledger.runs
    ]
    data: dict[str, object] = {"total": {"epsilon": str(ledger.epsilon), "delta": str(ledger.delta)}, "runs": runs}
    return data | ({"tables": list(ledger.tables)} if ledger.tables else {})


# -- which ledger is that of a table ---------------------------------------------------------------------------------


def names_of(source: object) -> tuple[str, ...]:
    """What a table is known by: its place, links followed, and the digest of its bytes; in a database its address."""
    file = file_of(source)
    if file is not None:
        return (str(file.resolve()), f"sha256:{file_digest(file)}")
    return (address_of(source) or f"sha256:{fingerprint(source)}",)


def _same(one: str, other: str) -> bool:
    """Whether two names are of one table: the same text, or two paths of one file, such as hard links."""
    if one == other:
        return True
    paths = Path(one), Path(other)
    with suppress(OSError):
        return all(path.is_absolute() for path in paths) and paths[0].samefile(paths[1])
    return False


def find_ledger(home: Path | None, source: object) -> tuple[Path | None, tuple[str, ...]]:
    """The file of the ledger of a table, and what the table is known by; ``home`` is where a new one would lie."""
    new_file, tables = None if home is None else home / LEDGER, names_of(source)
    for file in dict.fromkeys((*([] if new_file is None else [new_file]), *_list_ledgers())):
        with suppress(BadInput) if file != new_file else nullcontext():  # another table's, perhaps of somebody else
            if any(ledger.binds(tables) and (ledger.tables or file == new_file) for ledger in _read_ledgers(file)):
                return file, tables
    return new_file, tables


def has_ledger(source: object) -> bool:
    """Whether a file or a table of a database has a budget; bytes are looked at only where there are ledgers at all."""
    file = file_of(source)
    if file is None and address_of(source) is None:
        return False
    home = None if file is None else file.resolve().parent
    with suppress(BadInput):  # a file of that name that is another program's is none
        if any(ledger.is_file() for ledger in (*_list_ledgers(), *([] if home is None else [home / LEDGER]))):
            ledger, tables = find_ledger(home, source)
            return ledger is not None and read_ledger(ledger, tables) is not None
    return False


def _notes() -> Path:
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return data / "kpareto" / "budgets.json"


def _list_ledgers() -> list[Path]:
    """Where the ledgers of this person lie."""
    try:
        return [Path(name) for name in json.loads(_notes().read_text(encoding="utf-8"))["ledgers"]]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"The list of budgets {str(_notes())!r} cannot be read ({error}). Mend or remove it.") from error


def note_ledger(path: Path) -> None:
    """Note where a ledger lies, so that links and copies of its table are known elsewhere."""
    notes, ledger = _notes(), str(path.resolve())
    try:
        notes.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _alone(notes):
            noted = list(map(str, _list_ledgers()))
            if ledger not in noted:
                write_whole(notes, json.dumps({"ledgers": [*noted, ledger]}, indent=2) + "\n", private=True)
    except OSError as error:
        raise BadInput(
            f"The list of budgets {str(notes)!r} cannot be written ({error.strerror or error}), so a copy of the table "
            "would have a budget of its own. Set XDG_DATA_HOME to a folder of yours."
        ) from error


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
