"""The analyst's own questions: tables of some columns and means by groups, each with how far off its answer is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kpareto.errors import BadJob, did_you_mean, shorten
from kpareto.measures.use import LabelView, further_counts, numbers_of
from kpareto.tables.hierarchy import MISSING
from kpareto.tables.table import Table

MOST_CELLS = 1_000_000  # of a table that is asked for
MOST_VALUES = 2_000  # of a column in it
AT_ONCE = 4_000_000  # numbers that are spread out at a time


@dataclass(frozen=True)
class UseQuestion:
    """One question: a table of these columns, or where ``of`` is named its mean for each of their combinations."""

    by: tuple[str, ...]
    of: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that it needs."""
        return self.by if self.of is None else (*self.by, self.of)

    @property
    def words(self) -> str:
        """The question, for a line."""
        return " × ".join(self.by) if self.of is None else f"mean of {self.of} by {', '.join(self.by)}"


@dataclass(frozen=True)
class Answered:
    """How far off the answer to a question is.

    Of a table, the share of the rows that stand in a wrong cell; of means, the mean difference over all rows, in the
    unit of the column.
    """

    asked: UseQuestion
    cells: int  # that have rows
    error: float  # labels fitted to the column totals
    evenly: float
    control: float
    overall: float | None = None  # of means: that of all rows

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        own = {"of": self.asked.of, "by": list(self.asked.by)} if self.asked.of else {"columns": list(self.asked.by)}
        numbers = {"cells": self.cells, "error": self.error, "evenly": self.evenly, "control": self.control}
        return {**own, **numbers, **({"overall": self.overall} if self.asked.of else {})}


def read_questions(tables: Iterable[Sequence[str]] = (), means: Iterable[Mapping[str, Any]] = ()) -> list[UseQuestion]:
    """The questions of an analyst; each mistake is a sentence."""
    asked = []
    for names in tables:
        if isinstance(names, str) or not names or not all(isinstance(name, str) for name in names):
            raise BadJob(f"A table is asked for by {names!r}. Give the names of its columns, such as ['age', 'sex'].")
        asked.append(UseQuestion(tuple(names)))
    for wish in means:
        by = wish.get("by") if isinstance(wish, Mapping) and set(wish) == {"of", "by"} else None
        if not by or isinstance(by, str) or not all(isinstance(name, str) for name in (wish["of"], *by)):
            raise BadJob(f"A mean is asked for by {wish!r}. Write it as {{of = 'income', by = ['region']}}.")
        asked.append(UseQuestion(tuple(by), wish["of"]))
    return asked


def check_question(table: Table, asked: UseQuestion) -> None:
    """Raise where a question cannot be answered from the columns that have a role."""
    further = {counts.name: counts for counts in further_counts(table)}
    known = (*table.schema.quasi, *further)
    for name in asked.columns:
        if name not in known:
            near = did_you_mean(name, known)
            raise BadJob(
                f"No quasi-identifier, sensitive or target column {name!r}. {near}There are: {shorten(known)}."
            )
    if len(set(asked.columns)) < len(asked.columns):
        raise BadJob(f"The question {asked.words!r} names a column twice. Name each once.")
    if sum(name in further for name in asked.columns) > 1:
        raise BadJob(
            f"The question {asked.words!r} has two columns that no recoding touches. Take one sensitive or target "
            "column at most."
        )
    if asked.of is not None and values_of(table, asked.of) is None:
        raise BadJob(f"The values of {asked.of!r} are not numbers, so they have no mean. Ask for a table instead.")
    leaves = {hierarchy.name: len(hierarchy.leaves) for hierarchy in table.hierarchies}
    sizes = [leaves.get(name) or len(further[name].values) for name in asked.columns]
    if math.prod(sizes) > MOST_CELLS or max(sizes) > MOST_VALUES:
        raise BadJob(
            f"The question {asked.words!r} has {math.prod(sizes):,} cells. Ask for at most {MOST_CELLS:,}, of columns "
            f"with at most {MOST_VALUES:,} values."
        )


def values_of(table: Table, name: str) -> np.ndarray | None:
    """The number of each value of a column, not a number where it is missing; None where others are no numbers."""
    for counts in further_counts(table):
        if counts.name == name:
            known = counts.without(MISSING)
            numbers = numbers_of(known)
            lacking = len(counts.values) - len(known.values)
            return None if numbers is None or not len(numbers) else np.append(numbers, [np.nan] * lacking)
    hierarchy = table.hierarchies[table.column(name)]
    if hierarchy.spans is not None and not hierarchy.dates:
        return np.asarray(hierarchy.spans.mean(axis=1))
    try:
        return np.array([np.nan if leaf == MISSING else float(leaf) for leaf in hierarchy.leaves])
    except ValueError:
        return None


def cross(view: LabelView, names: Sequence[str]) -> np.ndarray:
    """The rows with each combination of values, as the labels have it, in an array with one axis per column."""
    codes, spreads, weights = view.take(names)
    shares = [spread.shares(np.arange(spread.values), spread.values) for spread in spreads]
    sizes = [spread.values for spread in spreads]
    table = np.zeros((math.prod(sizes[:-1]), sizes[-1]))
    step = max(1, AT_ONCE // max(sizes[-1], len(table)))
    for begin in range(0, len(weights), step):
        lines = slice(begin, begin + step)
        left = weights[lines, None]
        for code, share in zip(codes[:-1], shares[:-1], strict=True):
            left = (left[:, :, None] * share[code[lines]][:, None, :]).reshape(len(left), -1)
        table += left.T @ shares[-1][codes[-1][lines]]
    return table.reshape(sizes)


def answer(table: Table, asked: UseQuestion, original: LabelView, views: Sequence[LabelView]) -> Answered:
    """How far off a question is on each view: evenly spread, fitted, control."""
    true = cross(original, asked.columns)
    guesses = [cross(view, asked.columns) * (original.rows / view.rows) for view in views]
    if asked.of is None:
        wrong = [float(np.abs(guess - true).sum() / 2 / original.rows) for guess in guesses]
        return Answered(asked, int((true > 0).sum()), wrong[1], wrong[0], wrong[2])
    numbers = values_of(table, asked.of)
    known = ~np.isnan(numbers)  # type: ignore[arg-type]  # checked before
    values = numbers[known]  # type: ignore[index]  # checked before
    rows = true[..., known].sum(axis=-1)
    means = _means(true[..., known], values)
    some = rows > 0
    wrong = [
        float(np.average(np.abs(_means(g[..., known], values) - means)[some], weights=rows[some])) for g in guesses
    ]
    overall = float(np.average(means[some], weights=rows[some]))
    return Answered(asked, int(some.sum()), wrong[1], wrong[0], wrong[2], overall)


def _means(table: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The mean of each cell; where the rows have none of it, that of all rows."""
    rows, sums = table.sum(axis=-1), table @ values
    overall = sums.sum() / rows.sum() if rows.sum() else 0.0
    return np.divide(sums, rows, out=np.full(rows.shape, overall), where=rows > 0)
