"""How much may come in: the memory that is allowed, what a table will take, and what is done where it needs more."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from kpareto.engines.distinct import Distinct
from kpareto.errors import BadJob, BadTable, did_you_mean, shorten
from kpareto.tables.lattice import MOST_WORDS
from kpareto.tables.schema import Schema, check_quasi

TooMany = Literal["error", "coarsen", "sample"]
Coarsen = Literal["needed", "always"]
WORTH_SAYING = 100_000_000  # bytes; nobody wants to hear what a small table takes
UNITS = {
    "B": 1,
    **{f"{letter}B": 1000**power for power, letter in enumerate("KMGT", 1)},
    **{f"{letter}IB": 1024**power for power, letter in enumerate("KMGT", 1)},
}
UNKNOWN = 4 << 30  # taken for free where the system does not say
LEAST = 1_000_000  # bytes; whoever gives less has mistaken the unit
# Bytes per distinct row while a table is made, at the worst moment: keys, order and groups of the rows; a column's
# value, code and rank; the sorting of a sensitive or target column. And bytes of a value: its text, twice, and a place.
ROW, CELL, COUNT, VALUE = 100, 28, 60, 300
KEPT = 0.6  # the part of that which is still there when the search begins
UNKNOWN_VALUES = 16  # taken for the values of a sensitive or target column where nobody knows


@dataclass(frozen=True)
class Admission:
    """What may come in.

    ``memory`` is the most that may be used ("2 GB"; half of what is free unless given). Where the distinct rows need
    more, ``too_many`` decides: an error; ``coarsen``, which reads each column named in ``first`` by the groups of that
    level of its hierarchy; or ``sample``, which reads some rows, drawn by ``seed``: 200,000, or as many as are told,
    and these in any case. ``coarsen="always"`` reads by the first levels in any case.
    """

    memory: str | int | None = None
    too_many: TooMany = "error"
    first: Mapping[str, int] = field(default_factory=dict)
    coarsen: Coarsen = "needed"
    sample: int | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        for name, known in (("too_many", get_args(TooMany)), ("coarsen", get_args(Coarsen))):
            value = getattr(self, name)
            if value not in known:
                near = did_you_mean(value, known) if isinstance(value, str) else ""
                raise BadJob(f"{name} is {value!r}. {near}Take one of: {', '.join(known)}.")
        for name, level in self.first.items():
            if isinstance(level, bool) or not isinstance(level, int) or level < 0:
                raise BadJob(f"The first level of {name!r} is {level!r}. Give a whole number of at least 0.")
        if (self.too_many == "coarsen" or self.coarsen == "always") and not any(self.first.values()):
            raise BadJob(
                "To read coarser, a first level is needed. Give first = 2, say, under [columns.NAME] in the job, or "
                "first={'zip': 2} in Python."
            )
        for name, least in (("sample", 1), ("seed", 0)):
            value = getattr(self, name)
            if value is None and name == "sample":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise BadJob(f"{name} is {value!r}. Give a whole number of at least {least}.")
        if self.memory is not None:
            allowed_bytes(self.memory)

    def draws(self, rows: int | None) -> bool:
        """Whether a sample is drawn of so many rows although all would fit: its size is told, and there are more."""
        return self.too_many == "sample" and self.sample is not None and (rows is None or rows > self.sample)

    def check(self, schema: Schema) -> None:
        """Raise where a first level is given for a column that has none."""
        check_quasi(self.first, schema.quasi, "A first level is given for", BadJob)


@dataclass(frozen=True)
class Need:
    """How much memory distinct rows need, and how much there is."""

    distinct: int
    rows: int | None
    columns: tuple[str, ...]
    values: tuple[int, ...]  # per column, about; empty where nobody knows
    quasi: int
    memory: int

    @property
    def counts(self) -> list[int]:
        """The values of each column that is no quasi-identifier."""
        return list(self.values[self.quasi :]) or [UNKNOWN_VALUES] * (len(self.columns) - self.quasi)

    def bytes(self, distinct: int | None = None) -> int:
        """About the memory that these rows need, or so many distinct ones of them."""
        count = self.distinct if distinct is None else distinct
        return table_bytes(count, len(self.columns), self.counts, sum(self.values))

    @property
    def fits(self) -> bool:
        """Whether they may come in."""
        return self.bytes() <= self.memory

    def most(self) -> int:
        """How many distinct rows would fit."""
        return most_distinct(max(self.memory - VALUE * sum(self.values), 1), len(self.columns), self.counts)

    def words(self) -> str:
        """For a person: ``1,204,000 distinct rows of 10,000,000; about 310 MB.``."""
        of = "" if self.rows is None else f" of {self.rows:,}"
        return f"{self.distinct:,} distinct rows{of}; about {size_text(self.bytes())}."

    def refusal(self, tried: str = "") -> BadTable:
        """Why they may not, and what to do."""
        ranked = sorted(zip(self.values, self.columns, strict=False), reverse=True)
        most = shorten([f"{name} ({count:,})" for count, name in ranked], 4)
        of = "" if self.rows is None else f" (of {self.rows:,})"
        return BadTable(
            f"The table has {self.distinct:,} distinct rows{of}{tried}, which need about {size_text(self.bytes())}, "
            f"and {size_text(self.memory)} may be used. "
            + (f"The columns with most values are {most}. " if ranked else "")
            + 'Allow more memory, give fewer columns a role, read coarser (too_many = "coarsen" and a first level for '
            'these columns), or search on a sample (too_many = "sample").'
        )

    def too_many_values(self) -> BadTable:
        """A column of names, say, of which not even the values fit."""
        count, name = max(zip(self.values, self.columns, strict=True))
        return BadTable(
            f"Column {name!r} has about {count:,} different values, which alone do not fit into the "
            f"{size_text(self.memory)} that may be used. Give it no role, or allow more memory."
        )


def need_of(rows: Distinct, schema: Schema, admission: Admission) -> Need:
    """What the distinct rows of a source need."""
    memory = allowed_bytes(admission.memory)
    return Need(rows.distinct, rows.rows, rows.wanted, rows.values, len(schema.quasi), memory)


# -- memory ------------------------------------------------------------------------------------------------------


def size_bytes(size: str | int) -> int:
    """``"500 MB"``, ``"2 GiB"`` or a number of bytes, in bytes."""
    if isinstance(size, int) and not isinstance(size, bool):
        amount = float(size)
    else:
        parts = (
            re.fullmatch(r"\s*([0-9][0-9_,]*(?:\.[0-9]+)?)\s*([A-Za-z]+)\s*", size) if isinstance(size, str) else None
        )
        unit = None if parts is None else UNITS.get(parts[2].upper())
        if parts is None or unit is None:
            raise BadJob(f'The memory is {size!r}. Write it as "500 MB" or "2 GiB" (B, KB, MB, GB, TB, KiB, MiB, …).')
        amount = float(re.sub("[_,]", "", parts[1])) * unit
    if amount < LEAST:
        raise BadJob(f"The memory is {size!r}, and less than {size_text(LEAST)} is of no use. Give more.")
    return int(amount)


def size_text(size: float) -> str:
    """Bytes for a sentence: ``310 MB``, ``1.2 GB``."""
    for unit in ("TB", "GB", "MB", "KB"):
        if size >= UNITS[unit]:
            number = size / UNITS[unit]
            return f"{number:.1f} {unit}" if number < 10 else f"{number:,.0f} {unit}"
    return f"{size:.0f} B"


def allowed_bytes(memory: str | int | None) -> int:
    """The bytes that may be used: as given, or half of what the machine has free."""
    return free_bytes() // 2 if memory is None else size_bytes(memory)


def free_bytes() -> int:
    """The memory that is free for this process: what the system has left, or its container."""
    return min([_system_free(), *_container_free(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))])


def _system_free() -> int:
    with suppress(OSError, ValueError, AttributeError, IndexError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    with suppress(OSError, ValueError, AttributeError):  # neither Windows nor every Unix has these
        return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")) // 2
    return UNKNOWN


def _container_free(membership: Path, root: Path) -> list[int]:
    """What is left of each limit that a control group, or one above it, sets on this process (both versions)."""
    free = []
    with suppress(OSError, ValueError):
        for line in membership.read_text(encoding="utf-8").splitlines():
            _, kinds, path = line.split(":", 2)
            if kinds and "memory" not in kinds.split(","):
                continue
            top = root / "memory" if kinds else root
            most, used = (
                ("memory.limit_in_bytes", "memory.usage_in_bytes") if kinds else ("memory.max", "memory.current")
            )
            folder = top / path.lstrip("/")
            for here in (folder, *folder.parents):
                if here != top and top not in here.parents:
                    break
                free += _free_bytes(here, most, used)
    return free


def _free_bytes(group: Path, most: str, used: str) -> list[int]:
    with suppress(OSError, ValueError):
        limit = int((group / most).read_text(encoding="ascii"))  # "max" is no number: no limit
        usage = int((group / used).read_text(encoding="ascii"))
        cached = 0
        for line in (group / "memory.stat").read_text(encoding="ascii").splitlines():
            if line.startswith("inactive_file "):  # pages of files, given back when they are needed
                cached = int(line.split()[1])
        return [max(limit - usage + cached, 0)]
    return []


def table_bytes(distinct: int, columns: int, counts: Sequence[int] = (), values: int = 0) -> int:
    """About the most memory that a table of so many distinct rows takes, from fetching it to its exact front.

    ``columns`` are all that are fetched; ``counts`` has the number of values of each that is no quasi-identifier;
    ``values`` are those of all columns together. The program and its libraries, about 200 MB, come on top.

    The roll-up (fronts.count_lattice, kernels.lattice) holds class tables of 16 bytes a row, 8 for each set and 8 for
    each four values of the histograms: two of the whole table, four on the way to a prefix of two levels, four waiting,
    and one per further column and thread.
    """
    read_bytes = distinct * (ROW + CELL * columns + COUNT * len(counts))
    quasi = columns - len(counts)
    # A set of bits, and lanes of 16 bits: those of 8 bits, in which counting begins, and those of 32, in which it ends
    # with far fewer classes, take less.
    words = sum((count + 3) // 4 + -(-count // 64) for count in counts)
    widest = sum((count + 1) // 2 + -(-count // 64) for count in counts)
    if distinct * widest * (quasi + 1) > MOST_WORDS:  # then histograms are not held
        words = 0
    tables = 10 + (os.cpu_count() or 1) * max(quasi - 2, 1)
    return max(read_bytes, int(KEPT * read_bytes) + distinct * (24 + (16 + 8 * words) * tables)) + VALUE * values


def most_distinct(memory: int, columns: int, counts: Sequence[int] = ()) -> int:
    """How many distinct rows fit into so much memory."""
    return max(memory // table_bytes(1, columns, counts), 1)
