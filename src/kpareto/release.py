"""Release a chosen recoding of a table: recode, suppress, write, count again what was written, certify.

Nothing is moved into place before the independent verifier has read the written file and found every limit met there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from kpareto.applied import on_all_rows
from kpareto.certificate import Certificate, Facts, Warned, certify
from kpareto.delimited import Csv
from kpareto.errors import BadInput, BadTable, Unsafe
from kpareto.files import Report
from kpareto.frames import fingerprint, remote
from kpareto.held import opened_rows
from kpareto.measure import Measure, Model
from kpareto.measures import make
from kpareto.memory import allowed
from kpareto.partition import Partition
from kpareto.places import Place, format_of
from kpareto.queries import UniqueRows
from kpareto.recoded import STAR, Handling, Recoded, recode, shown_labels
from kpareto.stored import Choice, Origin, as_choice
from kpareto.table import table_digest
from kpareto.verify import Verified, check

LEAST = 500_000_000  # bytes without which DuckDB cannot sort rows on disk
Warn = Callable[[UniqueRows], Sequence[Warned]]  # from the rows that are alone in what was written


@dataclass(frozen=True, eq=False)
class Release:
    """What leaves the house: the recoded rows, what was suppressed, and the certificate."""

    certificate: Certificate
    partition: Partition
    verified: Verified
    path: Path | None = None  # the written file
    data: Any = None  # the rows, where no target was given: of the frame's own type, else a pyarrow table
    formulas: Mapping[str, int] = field(default_factory=dict)  # column -> cells that a spreadsheet would run
    remarks: tuple[str, ...] = ()  # what had to be done otherwise than asked, and what to look out for
    warnings: tuple[Warned, ...] = ()
    origin: Origin | None = None  # what a stored recoding should know of the source
    choice: Choice | None = None  # what was released, on all rows of the source
    unique: UniqueRows | None = None  # the released rows that no other equals, where warnings asked for them

    @property
    def rows(self) -> int:
        """Released rows."""
        return self.verified.rows

    @property
    def suppressed(self) -> int:
        """Rows that were dropped or masked."""
        return self.partition.suppressed_rows


def release(  # noqa: PLR0913 (keywords, each a choice of its own)
    choice: object,
    source: object,
    target: str | PathLike[str] | None = None,
    *,
    limits: Mapping[str, float] | None = None,
    handling: Handling | None = None,
    warnings: Sequence[Warned] | Warn = (),
    encoding: str = "utf-8",
    memory: str | int | None = None,
    progress: Report | None = None,
) -> Release:
    """Recode the rows of a source as chosen, and write them to the target (or return them).

    ``choice`` is a Choice or a point of a front. The target is a CSV or Parquet file, a folder of Parquet parts (with
    a slash at its end), or a table where the source is one. ``limits`` are measures with the least (k, l) or most
    (t, alpha) they may be; if the rows as written do not meet them, Unsafe is raised and nothing is left.
    ``memory`` ("2 GB"; half of what is free unless given, 500 MB at least) is what our own engine may use before it
    goes to the disk; ``progress`` is called with what is written of how much.
    """
    chosen, how = as_choice(choice, limits), handling or Handling()
    _check_target(target, source)
    chosen, applied = on_all_rows(chosen, source, encoding, how.missing_values, memory)
    found, remarks = settled(chosen)
    remarks += [] if applied is None else [applied.sentence()]
    with opened_rows(source, encoding, chosen.table.spelled, max(allowed(memory), LEAST), progress) as rows:
        _check_rows(chosen, rows.count())
        with rows.place(target) as place:
            recoded = recode(rows, chosen, found, how, plain=place.plain)
            place.write(recoded)
            formulas = recoded.formulas(place.written)
            remarks += [*_formula_remarks(formulas, how), *_plain_remarks(recoded)]
            origin = Origin({n: chosen.table.schema.role(n) for n in rows.columns}, encoding, _digest(source, chosen))
            facts = Facts(
                recoded.roles,
                recoded.labels,
                {"order": how.order, "seed": how.seed, "identifiers": how.identifiers, "shown": dict(how.shown),
                 "formulas": how.formulas},
                rows.program,
                str(origin.sha256),
                [str(value) for value in how.missing_values],
                place.format,
                (),
                remarks,
            )  # fmt: skip
            certificate, verified, warned, alone = _Work(chosen, found, recoded, facts).tried(place, warnings)
            data = place.data(recoded)
    return Release(
        certificate, found, verified, place.path, data, formulas, tuple(remarks), tuple(warned), origin, chosen, alone
    )


@dataclass(frozen=True, eq=False)
class _Work:
    """All that is needed to write a release and to certify it."""

    choice: Choice
    partition: Partition
    recoded: Recoded
    facts: Facts

    def tried(
        self, place: Place, warnings: Sequence[Warned] | Warn
    ) -> tuple[Certificate, Verified, list[Warned], UniqueRows | None]:
        """Count what was written where nobody looks yet, and certify it."""
        counted = place.count({"columns": list(self.facts.roles), "roles": dict(self.facts.roles)})
        expected = self.choice.table.rows - int(self.partition.rows[~self.partition.visible].sum())
        if counted.rows != expected:
            raise BadTable(
                f"The source gives {counted.rows:,} rows to release where the chosen table gives {expected:,}. "
                "Give the very table that the recoding was chosen for, and the same missing values."
            )
        alone = None
        if callable(warnings):
            alone = place.unique([out.name for out in self.recoded.outs if out.role != "identifier"])
            warnings = warnings(alone)
        warned = [*warnings, *_own_warnings(self.recoded.handling)]
        certificate = certify(counted, self.choice, self.partition, replace(self.facts, warnings=warned))
        return certificate, check(counted, certificate, place.shown), warned, alone


def settled(choice: Choice) -> tuple[Partition, list[str]]:
    """The partition that is released, every limit met, and what had to be done otherwise than asked."""
    found = choice.partition()
    models = [(make(spec), spec, limit) for spec, limit in choice.limits.items()]
    remarks = [found.note] if found.note else []
    masked = found.suppressed & found.visible
    if masked.any():
        failing = [spec for model, spec, limit in models if (_failing(model, limit, found) & masked).any()]
        stars = choice.labels
        twin = [all(labels[group] == STAR for labels, group in zip(stars, row, strict=True))
                for row in found.groups[~found.suppressed].tolist()]  # fmt: skip
        if failing or any(twin):
            why = f"as a class they would not meet {failing[0]}" if failing else "a class that is kept looks like them"
            found = replace(choice, suppression=replace(choice.suppression, rows="drop")).partition()
            remarks.append(f"{found.suppressed_rows:,} suppressed rows were dropped, not masked: {why}.")
    if found.empty:
        raise Unsafe(
            f"Every one of the {choice.table.rows:,} rows would be suppressed. "
            "Choose a coarser recoding, or smaller limits; nothing was released."
        )
    if not found.feasible:
        raise Unsafe(
            f"{found.suppressed_rows:,} of {choice.table.rows:,} rows would have to be suppressed, and at most "
            f"{choice.suppression.allowed(choice.table.rows):,} may be. Choose a coarser one."
        )
    for model, spec, limit in models:
        _check_limit(model, spec, limit, found)
    return found, remarks


def _failing(measure: Measure, limit: float, partition: Partition) -> np.ndarray:
    """Which classes are beyond the limit: (classes,) bool."""
    if isinstance(measure, Model):
        return measure.fails(limit)(partition) & partition.visible
    value = measure(partition)
    beyond = value < limit - 1e-12 if measure.better == "higher" else value > limit + 1e-12
    return partition.visible if beyond else np.zeros_like(partition.visible)


def _check_limit(measure: Measure, spec: str, limit: float, partition: Partition) -> None:
    failing = _failing(measure, limit, partition)
    if not failing.any():
        return
    side = "at least" if measure.better == "higher" else "at most"
    value = measure(partition)
    where = ""
    if isinstance(measure, Model):
        first = int(np.flatnonzero(failing)[0])
        value = float(measure.by_class(partition)[first])
        labels = partition.recoding.labels
        cells = [STAR if g < 0 else labels[c][g] for c, g in enumerate(partition.groups[first].tolist())]
        where = f" in the class ({', '.join(cells)})"
    raise Unsafe(f"{spec} is {value:.6g}{where}, and {side} {limit:g} is asked. Nothing was released.")


def _own_warnings(how: Handling) -> list[Warned]:
    found = []
    if how.order == "kept":
        found.append(("W-order", "The rows are in the order of the input, which may tell who is who."))
    medians = [name for name, shown in how.shown.items() if shown == "median"]
    if medians:
        found.append(
            (
                "W8",
                f"The medians shown in {', '.join(medians)} are values of actual rows. Use declared borders instead.",
            )
        )
    return found


def _plain_remarks(recoded: Recoded) -> list[str]:
    """A column that nobody gave a role may hold anything, so it is named before it leaves."""
    names = [out.name for out in recoded.outs if out.role == "plain"]
    return [f"These columns leave as they are: {', '.join(names)}."] if names else []


def _formula_remarks(formulas: Mapping[str, int], how: Handling) -> list[str]:
    done = "were written behind an apostrophe" if how.formulas == "neutralise" else (
        "would be run by a spreadsheet; give formulas='neutralise' to write them behind an apostrophe"
    )  # fmt: skip
    return [f"{count:,} cells of {name!r} begin with = + - or @ and {done}." for name, count in formulas.items()]


def _digest(source: object, choice: Choice) -> str:
    """The hash of the input: of a file's bytes, of a frame's content, of what was rolled up in a database.

    Only columns with a role count where others have no text (lists, bytes), and in a database. Of one that was read
    coarser or by a sample, what is in memory counts: all of it would not fit.
    """
    table = choice.table
    if remote(source):
        return table.digest or table_digest(table)
    with suppress(BadTable):
        return fingerprint(source)
    schema = table.schema
    person = () if schema.person is None else (schema.person,)
    return fingerprint(source, list(dict.fromkeys((*schema.quasi, *schema.sensitive, *schema.target, *person))))


def _check_rows(choice: Choice, count: int) -> None:
    table = choice.table
    if count != table.rows + table.dropped:
        raise BadTable(
            f"The source has {count:,} rows, and the table of the choice was read from {table.rows + table.dropped:,}. "
            "Give the very table that the recoding was chosen for."
        )


def _check_target(target: str | PathLike[str] | None, source: object) -> None:
    if isinstance(source, Csv):
        source = source.path
    if target is None or not isinstance(source, str | PathLike) or "://" in str(source):
        return
    given, place = Path(source).resolve(), Path(target).resolve()
    if given == place or given in place.parents or (place.exists() and given.exists() and given.samefile(place)):
        raise BadInput(f"The release would overwrite its own input {str(source)!r}. Give another target.")


__all__ = ["Choice", "Handling", "Release", "format_of", "release", "settled", "shown_labels"]
