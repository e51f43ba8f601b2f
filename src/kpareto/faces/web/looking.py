"""A look at the rows before anything is decided: the first of them, what a column holds, what the roles mean."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kpareto.engines.unique_rows import open_view
from kpareto.engines.wishes import MOST_DROPPED
from kpareto.errors import BadInput, BadJob, did_you_mean
from kpareto.jobs.job import Job
from kpareto.releases.risk.anonymity import measure
from kpareto.tables.hierarchies import numbers_of
from kpareto.tables.proposals import round_width

ROWS = 20  # shown at once
BARS = 30  # of a distribution
MOST_LETTERS = 200  # of a cell that is shown


def rows_view(job: Job, start: int, count: int = ROWS) -> dict[str, Any]:
    """Some rows as they stand in the table, cell by cell."""
    if start < 0 or not 1 <= count <= 200:
        raise BadInput(f"Rows {start} to {start + count} cannot be shown. Ask for at most 200 from row 0 on.")
    with open_view(job.rows_source(), job.encoding) as rows:
        (total,) = rows.one(f"SELECT count(*) FROM {rows.table}")
        cells = ", ".join(f"c{place}::VARCHAR" for place in range(len(rows.columns)))
        answer = rows.ask(f"SELECT {cells} FROM {rows.table} LIMIT {count} OFFSET {start}").fetchall()
        shown = [[None if cell is None else str(cell)[:MOST_LETTERS] for cell in row] for row in answer]
        return {"columns": list(rows.columns), "kinds": list(rows.kinds), "start": start, "total": total, "rows": shown}


def column_view(job: Job, name: str) -> dict[str, Any]:
    """What a column holds: bars of numbers in rising order, or its commonest values."""
    with open_view(job.rows_source(), job.encoding) as rows:
        if name not in rows.columns:
            raise BadInput(f"The table has no column {name!r}. {did_you_mean(name, rows.columns)}".rstrip())
        column = rows.columns.index(name)
        counts = dict(rows.ask(rows.values(column)).fetchall())
    marks = {None, *job.missing_values}
    missing = sum(n for value, n in counts.items() if value in marks)
    present = {str(value): int(n) for value, n in counts.items() if value not in marks}
    numbers = numbers_of(list(present)) if present else None
    if numbers is not None and len(present) > BARS:
        bars, ordered = _bins(numbers, np.array(list(present.values()))), True
    elif numbers is not None or len(present) <= BARS:
        order = np.argsort(numbers, kind="stable") if numbers is not None else np.argsort(list(present))
        pairs = list(present.items())
        bars, ordered = [[*pairs[place]] for place in order.tolist()], True
    else:
        ranked = sorted(present.items(), key=lambda pair: (-pair[1], pair[0]))
        bars, ordered = [[*pair] for pair in ranked[:BARS]], False
    shown = sum(int(rows_of) for _, rows_of in bars)
    total = sum(present.values())
    return {
        "name": name,
        "distinct": len(present),
        "missing": int(missing),
        "bars": bars,
        "ordered": ordered,
        "others": int(total - shown),
        "rows": int(total + missing),
    }


def _bins(numbers: np.ndarray, counts: np.ndarray) -> list[list[Any]]:
    """Bars of equal width with round borders."""
    low, high = float(numbers.min()), float(numbers.max())
    width = round_width((high - low) / BARS)
    first = math.floor(low / width)
    place = np.floor(numbers / width).astype(np.int64) - first
    sums = np.bincount(place, weights=counts)
    edges = [float(f"{(first + at) * width:.12g}") for at in range(len(sums) + 1)]
    return [[f"{edges[at]:g} to below {edges[at + 1]:g}", int(rows)] for at, rows in enumerate(sums)]


def role_facts(job: Job) -> dict[str, Any]:
    """What the roles mean for the rows: how many are alone, how many lack a value and what becomes of those."""
    schema = job.schema()
    wanted = list(schema.counted)
    with open_view(job.rows_source(), job.encoding) as rows:
        known = [rows.columns.index(name) for name in wanted if name in rows.columns]
        (total,) = rows.one(f"SELECT count(*) FROM {rows.table}")
        present = " AND ".join(f"NOT ({rows.lacks(place, job.missing_values)})" for place in known) or "true"
        (complete,) = rows.one(f"SELECT count(*) FROM {rows.table} WHERE {present}")
        quasi = [name for name in schema.quasi if name in rows.columns]
        unique = rows.unique(quasi) if quasi else None
    lacking = int(total) - int(complete)
    policy = job.missing or ("drop" if job.embedded or lacking <= MOST_DROPPED * total else "category")
    return {
        "rows": int(total),
        "columns": quasi,
        "unique": None if unique is None else unique.unique,
        "groups": None if unique is None else unique.groups,
        "lacking": lacking,
        "named": job.missing,
        "policy": policy,
        "dropped": lacking if policy == "drop" else 0,
    }


def measure_view(job: Job) -> dict[str, Any]:
    """How anonymous the table is as it stands, by the job's roles, in sentences and numbers; no value of any row."""
    schema = job.schema()
    if not schema.quasi:
        raise BadJob("No column is a quasi-identifier, so nobody can be told apart by one. Give one column that role.")
    source = job.rows_source()
    measured = measure(source, schema.quasi, schema.sensitive, person=schema.person, rows=0, encoding=job.encoding)
    told = measured.to_dict()
    return {
        "sentences": measured.sentences(),
        **{name: told[name] for name in ("rows", "k", "unique", "classes", "columns")},
    }
