"""Hierarchies of text: prefixes and masks of codes, calendar units of dates, ranges of the alphabet."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from typing import Literal, get_args

import numpy as np

from kpareto.errors import BadHierarchy, did_you_mean
from kpareto.tables.hierarchies.values import (
    Values,
    check_parts,
    levels_by_ends,
    stack_levels,
    starts_of,
    text_keys,
    texts_of,
)
from kpareto.tables.hierarchy import STAR, Hierarchy

Side = Literal["left", "right"]
Unit = Literal["day", "month", "quarter", "year", "decade"]
UNITS: tuple[Unit, ...] = get_args(Unit)
DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?", re.ASCII)


def prefixes(name: str, values: Values | None, keep: Sequence[int], side: Side = "right") -> Hierarchy:
    """Codes that agree in their first characters fall together: 02139 -> 021** -> 0**** -> * for keep=[3, 1].

    ``side`` is where the stars stand; with stars on the left the last characters are kept. A code shorter than what
    is kept stays as it is, and stars fill up to the longest code.
    """
    texts = texts_of(name, values)
    wanted = sorted(set(keep), reverse=True)
    if not wanted or not all(isinstance(count, int) and count >= 0 for count in wanted):
        raise BadHierarchy(f"The prefixes of {name!r} keep {list(keep)!r} characters. Give numbers of at least 0.")
    if side not in ("left", "right"):
        raise BadHierarchy(f"The stars of {name!r} are to stand on the {side!r}. Write 'left' or 'right'.")
    turn = -1 if side == "left" else 1
    turned = sorted(text[::turn] for text in texts)
    longest = max(map(len, turned))
    levels = []
    for count in wanted:
        if count >= longest:
            continue  # keeps everything: the same as the leaves
        heads = [text[:count] for text in turned]
        key = text_keys(heads)
        shown = (heads[first] for first in starts_of(key).tolist())
        levels.append((key, [(head + STAR * (longest - count if len(head) == count else 0))[::turn] for head in shown]))
    hierarchy = stack_levels(name, [text[::turn] for text in turned], levels)
    return replace(hierarchy, rule={"prefix": [int(count) for count in wanted], "stars": side})


def masks(name: str, values: Values | None, stars: Sequence[int] | None = None, side: Side = "right") -> Hierarchy:
    """Codes with more and more characters starred: 02139 -> 0213* -> 021** for stars=[1, 2]; one by one by default.

    Codes of different lengths are lined up at their unstarred end, so stars count from the end of the longest.
    """
    texts = texts_of(name, values)
    longest = max(map(len, texts))
    if stars is None:
        stars = range(1, max(longest, 2))
    if len(stars) == 0 or not all(isinstance(count, int) and count >= 1 for count in stars):
        raise BadHierarchy(f"The masks of {name!r} star {list(stars)!r} characters. Give numbers of at least 1.")
    return prefixes(name, texts, [max(longest - count, 0) for count in stars], side)


def dates(name: str, values: Values | None, units: Sequence[str] | None = None) -> Hierarchy:
    """Dates by calendar unit: 2021-03-14 -> 2021-03 -> 2021-Q1 -> 2021 -> 2020s -> *.

    Takes ISO dates and times such as 2021-03-14 or 2021-03-14T09:26:53; times go to their day first, as written.
    """
    texts = texts_of(name, values)
    times = _times(name, texts)
    rising = np.argsort(times, kind="stable")
    leaves, times = [texts[position] for position in rising.tolist()], times[rising]
    months = times.astype("M8[M]").astype(np.int64)
    keys: dict[str, np.ndarray] = {
        "day": times.astype("M8[D]").astype(np.int64),
        "month": months,
        "quarter": months // 3,
        "year": months // 12,
        "decade": (months // 12 + 1970) // 10,
    }
    if units is None:
        units = UNITS if any(len(leaf) > len("2021-03-14") for leaf in leaves) else UNITS[1:]
    for unit in units:
        if unit not in keys:
            raise BadHierarchy(
                f"The dates of {name!r} have no unit {unit!r}. {did_you_mean(unit, UNITS)}Units: {', '.join(UNITS)}."
            )
    levels = []
    for unit in units:
        firsts = keys[unit][starts_of(keys[unit])]
        levels.append((keys[unit], [_UNIT_LABEL[unit](key) for key in firsts.tolist()]))
    days = times.astype("M8[us]").astype(np.int64) / 86_400e6
    hierarchy = stack_levels(name, leaves, levels, f"Give the units from fine to coarse: {', '.join(UNITS)}.")
    return replace(
        hierarchy, ordered=True, spans=np.repeat(days, 2).reshape(-1, 2), dates=True, rule={"dates": list(units)}
    )


_UNIT_LABEL: dict[str, Callable[[int], str]] = {
    "day": lambda day: str(np.datetime64(day, "D")),
    "month": lambda month: f"{month // 12 + 1970:04}-{month % 12 + 1:02}",
    "quarter": lambda quarter: f"{quarter // 4 + 1970:04}-Q{quarter % 4 + 1}",
    "year": lambda year: f"{year + 1970:04}",
    "decade": lambda decade: f"{decade:03}0s",
}


def _times(name: str, texts: Sequence[str]) -> np.ndarray:
    """The dates as numpy times without zone, (texts,) datetime64[us]."""
    matches = DATE.fullmatch
    if all(map(matches, texts)):
        bare = [text if len(text) == len("2021-03-14") else _without_zone(text) for text in texts]
        try:
            return np.array(bare, dtype="M8[us]")
        except ValueError:
            pass  # a month 13 or the like: found below
    wrong = next((text for text in texts if not matches(text) or not _is_date(text)), texts[0])
    raise BadHierarchy(
        f"{wrong!r} in column {name!r} is not an ISO date such as 2021-03-14. "
        "Rewrite the dates as year-month-day, or give a hierarchy file."
    )


def _without_zone(text: str) -> str:
    clock = re.split("[Z+-]", text[11:], maxsplit=1)[0].replace(",", ".")
    return f"{text[:10]}T{clock[:15]}"  # numpy counts microseconds


def _is_date(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def alphabet(name: str, values: Values | None, parts: Sequence[int]) -> Hierarchy:
    """Texts by ranges of first letters, with about equally many rows in each: Bonn -> A-F -> A-M -> * for parts=[4, 2].

    Rows are counted where ``values`` gives them, else values. Upper and lower case are one letter.
    """
    if not parts or min(parts) < 2 or any(fine % coarse or fine == coarse for fine, coarse in pairwise(parts)):
        raise BadHierarchy(
            f"The alphabet of {name!r} is to have {list(parts)!r} ranges. Give numbers of at least 2, each a divisor "
            "of the one before, as in [8, 4, 2]."
        )
    check_parts(name, max(parts))
    texts = sorted(texts_of(name, values), key=lambda text: (_initial(text), text))
    rows = np.array([values[text] for text in texts]) if isinstance(values, Mapping) else np.ones(len(texts))
    letters = [_initial(text) for text in texts]
    begin = np.array([index for index, letter in enumerate(letters) if not index or letters[index - 1] != letter])
    counts = np.add.reduceat(np.maximum(rows, 0).astype(np.float64), begin)
    middle = (np.cumsum(counts) - counts / 2) / max(counts.sum(), 1.0)
    part = np.minimum((middle * parts[0]).astype(np.int64), parts[0] - 1)  # (letters,) rising
    owner = np.repeat(np.arange(len(begin)), np.diff(np.append(begin, len(texts))))  # letter of each text
    levels = levels_by_ends(letters, ((part // (parts[0] // count))[owner] for count in parts))
    return replace(stack_levels(name, texts, levels), data_dependent=True)


def _initial(text: str) -> str:
    return text[:1].upper()
