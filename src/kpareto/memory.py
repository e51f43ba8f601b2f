"""Memory: how much of it may be used, how much a table will take, and how such sizes are written."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from kpareto.errors import BadJob

UNITS = {
    "B": 1,
    **{f"{letter}B": 1000**power for power, letter in enumerate("KMGT", 1)},
    **{f"{letter}IB": 1024**power for power, letter in enumerate("KMGT", 1)},
}
UNKNOWN = 4 << 30  # taken for free where the system does not say
LEAST = 1_000_000  # less is a slip of the pen
# Bytes per distinct row while a table is made, at the worst moment: keys, order and groups of the rows; a column's
# value, code and rank; the sorting of a sensitive or target column. And bytes of a value: its text, twice, and a place.
ROW, CELL, COUNT, VALUE = 100, 28, 60, 300
KEPT = 0.6  # the part of that which is still there when the search begins
UNKNOWN_VALUES = 16  # taken for the values of a sensitive or target column where nobody knows
MOST_CELLS = 400_000_000  # histogram entries that the roll-up may hold at once (rollup.MOST_CELLS), 4 bytes each


def size_bytes(size: str | int) -> int:
    """``"500 MB"``, ``"2 GiB"`` or a number of bytes, in bytes."""
    if isinstance(size, int) and not isinstance(size, bool):
        found = float(size)
    else:
        parts = (
            re.fullmatch(r"\s*([0-9][0-9_,]*(?:\.[0-9]+)?)\s*([A-Za-z]+)\s*", size) if isinstance(size, str) else None
        )
        unit = None if parts is None else UNITS.get(parts[2].upper())
        if parts is None or unit is None:
            raise BadJob(f'The memory is {size!r}. Write it as "500 MB" or "2 GiB" (B, KB, MB, GB, TB, KiB, MiB, …).')
        found = float(re.sub("[_,]", "", parts[1])) * unit
    if found < LEAST:
        raise BadJob(f"The memory is {size!r}, and less than {size_text(LEAST)} is of no use. Give more.")
    return int(found)


def size_text(size: float) -> str:
    """Bytes for a sentence: ``310 MB``, ``1.2 GB``."""
    for unit in ("TB", "GB", "MB", "KB"):
        if size >= UNITS[unit]:
            number = size / UNITS[unit]
            return f"{number:.1f} {unit}" if number < 10 else f"{number:,.0f} {unit}"
    return f"{size:.0f} B"


def allowed(memory: str | int | None) -> int:
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
    found = []
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
                found += _left(here, most, used)
    return found


def _left(group: Path, most: str, used: str) -> list[int]:
    with suppress(OSError, ValueError):
        limit = int((group / most).read_text(encoding="ascii"))  # "max" is no number: no limit
        held = int((group / used).read_text(encoding="ascii"))
        cached = 0
        for line in (group / "memory.stat").read_text(encoding="ascii").splitlines():
            if line.startswith("inactive_file "):  # pages of files, given back when they are needed
                cached = int(line.split()[1])
        return [max(limit - held + cached, 0)]
    return []


def table_bytes(distinct: int, columns: int, counts: Sequence[int] = (), values: int = 0) -> int:
    """About the most memory that a table of so many distinct rows takes, from fetching it to its exact front.

    ``columns`` are all that are fetched; ``counts`` has the number of values of each that is no quasi-identifier;
    ``values`` are those of all columns together. The program and its libraries, about 200 MB, come on top.

    The roll-up holds class tables of 16 bytes a row and 8 for each two values of the histograms (rollup, kernels.walk):
    two of the whole table, four on the way to a prefix of two levels, four waiting, and one per further column and
    thread.
    """
    made = distinct * (ROW + CELL * columns + COUNT * len(counts))
    quasi = columns - len(counts)
    words = sum((count + 1) // 2 for count in counts)
    if distinct * 2 * words * (quasi + 1) > MOST_CELLS:  # then histograms are not held
        words = 0
    tables = 10 + (os.cpu_count() or 1) * max(quasi - 2, 1)
    return max(made, int(KEPT * made) + distinct * (24 + (16 + 8 * words) * tables)) + VALUE * values


def most_distinct(memory: int, columns: int, counts: Sequence[int] = ()) -> int:
    """How many distinct rows fit into so much memory."""
    return max(memory // table_bytes(1, columns, counts), 1)
