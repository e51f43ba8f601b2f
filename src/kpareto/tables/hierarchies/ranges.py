"""Hierarchies of rounded numbers and of ranges of the alphabet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from kpareto.errors import BadHierarchy
from kpareto.tables.hierarchies.numbers import numeric
from kpareto.tables.hierarchies.values import (
    Values,
    check_parts,
    sorted_numbers,
    stack_levels,
    starts_of,
    text_of,
    texts_of,
)
from kpareto.tables.hierarchy import Hierarchy


def round_numbers(name: str, values: Values | None, steps: Sequence[float]) -> Hierarchy:
    """Numbers rounded to multiples of each step in turn, halves up: 43 -> about 45 -> about 50 -> * for steps=[5, 10].

    What a level shows is rounded from what the level below shows; so values that are together stay together.
    """
    leaves, numbers = sorted_numbers(name, values, "rounded numbers")
    if not len(steps) or any(not 0 < step < float("inf") for step in steps):
        raise BadHierarchy(
            f"The numbers of {name!r} are rounded to {list(steps)!r}. Give steps above 0, such as [5, 10]."
        )
    if any(later <= step for step, later in pairwise(steps)):
        raise BadHierarchy(f"The numbers of {name!r} are rounded to {list(steps)!r}. Give the finest step first.")
    levels, shown = [], numbers
    for step in steps:
        shown = np.round(np.floor(np.round(shown / step, 9) + 0.5) * step, 9)  # (values,) float64
        middles = shown[starts_of(shown)].tolist()
        levels.append((shown, [f"about {text_of(middle + 0.0)}" for middle in middles]))
    rule = {"round": [float(step) for step in steps]}
    return replace(numeric(stack_levels(name, leaves, levels), numbers), rule=rule)


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
    begin = np.array([place for place, letter in enumerate(letters) if not place or letters[place - 1] != letter])
    counts = np.add.reduceat(np.maximum(rows, 0).astype(np.float64), begin)
    middle = (np.cumsum(counts) - counts / 2) / max(counts.sum(), 1.0)
    part = np.minimum((middle * parts[0]).astype(np.int64), parts[0] - 1)  # (letters,) rising
    owner = np.repeat(np.arange(len(begin)), np.diff(np.append(begin, len(texts))))  # letter of each text
    levels, groups = [], len(texts)
    for count in parts:
        key = (part // (parts[0] // count))[owner]
        first = starts_of(key)
        if 1 < len(first) < groups:  # a level that merges nothing is left out
            groups = len(first)
            last = np.append(first[1:], len(texts)) - 1
            levels.append((key, [_range(letters[a], letters[b]) for a, b in zip(first, last, strict=True)]))
    return replace(stack_levels(name, texts, levels), data_dependent=True)


def _initial(text: str) -> str:
    return text[:1].upper()


def _range(first: str, last: str) -> str:
    return first if first == last else f"{first}-{last}"
