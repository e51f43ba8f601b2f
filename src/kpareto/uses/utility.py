"""utility: what an analyst still gets from a release, or from a choice before anything is released."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np

from kpareto.errors import BadJob, BadTable, Unsafe
from kpareto.measures.use import (
    LEAST_ROWS,
    SEED,
    Errors,
    LabelView,
    count_errors,
    draw_queries,
    fit_view,
    further_counts,
    summarize,
    view_control,
    view_original,
    view_release,
)
from kpareto.releases.labels import has_counts
from kpareto.releases.release import Release
from kpareto.tables.hierarchy import MISSING
from kpareto.tables.partition import Partition
from kpareto.tables.spelling import percent
from kpareto.tables.table import Table
from kpareto.uses.predictions import Prediction, predict
from kpareto.uses.questions import Answered, UseQuestion, answer, check_question, read_questions
from kpareto.uses.relations import Relations, group_columns, group_view, relate
from kpareto.uses.released import is_release, read_released

SCHEMA = "kpareto-utility-1"
WORST = 3  # pairs of columns that are named


@dataclass(frozen=True)
class CountErrors:
    """How far off random counts are, over several columns and over one; None where none had enough rows.

    ``error`` is with labels fitted to the totals of their columns, ``evenly`` with labels spread evenly.
    """

    queries: int
    error: Errors | None
    evenly: Errors | None
    control: Errors | None
    single: Errors | None  # over one column, labels spread evenly: fitted, the totals themselves are right
    singles: int = 0

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {word: value.to_dict() if isinstance(value, Errors) else value for word, value in vars(self).items()}


@dataclass(frozen=True, repr=False)
class Utility:
    """What an analyst still gets from a release; what ``utility`` answers.

    Attributes
    ----------
    rows, released : int
        Of the original, and of the release.
    counts : CountErrors
        How far off random counts are.
    relations : Relations
        What is left of the mutual information of every two columns.
    models : tuple of Prediction
        How well each target (else sensitive) column is predicted.
    tables, means : tuple of Answered
        The questions that were asked.
    seed : int
        Of the random counts and of the folds.
    remarks : tuple of str
        What a person should know of how it was measured.

    Examples
    --------
    >>> import kpareto as kp
    >>> point = kp.front(kp.adult_table(), suppression=0.01).choose(k=5)
    >>> answer = kp.utility(point)
    >>> answer.counts.error.mean < answer.counts.control.mean
    True
    """

    rows: int
    released: int
    counts: CountErrors
    relations: Relations
    models: tuple[Prediction, ...]
    tables: tuple[Answered, ...] = ()
    means: tuple[Answered, ...] = ()
    seed: int = SEED
    remarks: tuple[str, ...] = field(default=())

    def __repr__(self) -> str:
        """Short, and without a value of any row: a notebook prints this."""
        return f"Utility({self.released:,} of {self.rows:,} rows: {self.sentences()[0]})"

    def sentences(self) -> list[str]:
        """What a person should know first."""
        return [*self._say_counts(), *self._say_relations(), *map(say_model, self.models), *self._say_answers()]

    def _say_counts(self) -> list[str]:
        counts = self.counts
        if counts.error is None or counts.evenly is None or counts.control is None:
            return ["No random count over two or three columns had enough rows to be judged."]
        off = [percent(each.mean) for each in (counts.error, counts.evenly, counts.control)]
        fitted = f"Counts over two and three columns are off by {off[0]} on average with labels fitted to column totals"
        return [f"{fitted}, by {off[1]} with labels spread evenly; with the column totals alone by {off[2]}."]

    def _say_relations(self) -> list[str]:
        kept, pairs = self.relations.kept, self.relations.pairs
        if kept is None:
            return ["No two columns are related by more than chance."]
        worst = ", ".join(f"{' and '.join(pair.columns)} ({percent(pair.share)})" for pair in pairs[:WORST])
        return [f"{percent(kept)} of the relations between columns is left, least between {worst}."]

    def _say_answers(self) -> list[str]:
        tables = [
            f"Table {each.asked.words}: {percent(each.error)} of the rows stand in a wrong cell (evenly "
            f"{percent(each.evenly)}, column totals alone {percent(each.control)})."
            for each in self.tables
        ]
        means = [
            f"{each.asked.words.capitalize()}: off by {each.error:.3g} on average (evenly {each.evenly:.3g}, column "
            f"totals alone {each.control:.3g}); the mean of all rows is {each.overall:.4g}."
            for each in self.means
        ]
        return [*tables, *means]

    def summary(self) -> str:
        """The sentences as a text."""
        return "\n".join(self.sentences())

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "schema": SCHEMA,
            "rows": self.rows,
            "released": self.released,
            "seed": self.seed,
            "counts": self.counts.to_dict(),
            "relations": {
                "kept": self.relations.kept,
                "pairs": [[*pair.columns, pair.share] for pair in self.relations.pairs],
                "unrelated": self.relations.unrelated,
            },
            "models": {model.column: model.to_dict() for model in self.models},
            "tables": [each.to_dict() for each in self.tables],
            "means": [each.to_dict() for each in self.means],
            "remarks": list(self.remarks),
        }


def say_model(model: Prediction) -> str:
    """How well a column is predicted from each side, and from which of them nothing can be said."""
    sides = {"release": model.release, "original": model.original, "column totals": model.control}
    shares = _list_up([f"{value:.3f} from the {side}" for side, value in sides.items() if value is not None])
    silent = _list_up([f"the {side}" for side, value in sides.items() if value is None])
    measure = "an AUC" if model.measure == "auc" else "an R²"
    why = f"from {silent} nothing can be said, for no fold has two values to tell apart"
    if not shares:
        return f"How well {model.column!r} is predicted: {why}."
    return f"{model.column!r} is predicted with {measure} of {shares}{f'; {why}' if silent else ''}."


def _list_up(words: Sequence[str]) -> str:
    """One, two and three as words; empty where there are none."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def utility(
    release: object,
    original: object = None,
    *,
    tables: Iterable[Sequence[str]] = (),
    means: Iterable[Mapping[str, Any]] = (),
    seed: int = SEED,
    recoding: str | PathLike[str] | None = None,
) -> Utility:
    """What an analyst still gets from a release: counts, relations between columns, models, own questions.

    Parameters
    ----------
    release : Point, Choice, Release, Partition, str or path
        A point of a front or what became of it, before or after it is released; or a released file with its
        certificate beside it.
    original : object, optional
        The table that a file was released from, as ``read`` takes it.
    tables : iterable of sequence of str, optional
        Tables that the analyst makes, each by the names of its columns, such as ``[["age", "sex"]]``.
    means : iterable of mapping, optional
        Means that the analyst takes, such as ``[{"of": "income", "by": ["region"]}]``.
    seed : int, optional
        Of the random counts and of the folds.
    recoding : str or path, optional
        The recoding file of a release, where it does not lie beside it.

    Returns
    -------
    Utility
        Each number beside that of the control, who has the totals of every column and nothing else.

    Raises
    ------
    BadInput
        If the release is not one of this original, a column is missing, or there are too few rows.

    Examples
    --------
    >>> import kpareto as kp
    >>> point = kp.front(kp.adult_table(), suppression=0.01).choose(k=5)
    >>> answer = kp.utility(point, tables=[["sex", "race"]])
    >>> answer.tables[0].cells
    10
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise BadJob(f"seed is {seed!r}. Give a whole number of at least 0.")
    asked = read_questions(tables, means)
    table, view = open_release(release, original, recoding)
    return measure_use(table, view, asked, int(seed))


def open_release(
    release: object, original: object, recoding: str | PathLike[str] | None, plain: int = 0
) -> tuple[Table, LabelView]:
    """The table behind a point, a choice or a released file, and what that shows; so many plain columns of a file."""
    if is_release(release):
        if original is None:
            raise BadJob("A released file is compared with its original. Give it: original= (--original TABLE).")
        return read_released(release, original, recoding, plain)
    if original is not None or recoding is not None:
        raise BadJob("A point or a choice knows its table. Leave original and recoding out.")
    partition = _partition_of(release)
    counted = isinstance(release, Release) and has_counts(release.certificate.public)
    return partition.table, replace(view_release(partition), counted=counted)


def _partition_of(chosen: object) -> Partition:
    """The classes of a point, a choice or a release at hand."""
    classes = chosen if isinstance(chosen, Partition) else getattr(chosen, "partition", None)
    classes = classes() if callable(classes) else classes
    if not isinstance(classes, Partition):
        raise BadJob(f"{type(chosen).__name__} is no release. Give a point of a front, a choice, or a released file.")
    return classes


def measure_use(table: Table, evenly: LabelView, asked: Sequence[UseQuestion], seed: int) -> Utility:
    """The same of a table and a view of its release, labels spread evenly."""
    if table.rows < LEAST_ROWS:
        raise BadTable(
            f"The original has {table.rows:,} rows. Errors of counts say something from {LEAST_ROWS} rows on."
        )
    if not evenly.rows:
        raise Unsafe("Every row is suppressed, so there is nothing to use. Choose another point.")
    for question in asked:
        check_question(table, question)
    targets, remarks = _choose_targets(table)
    original = view_original(table)
    fitted, control = fit_view(evenly, original), view_control(original)
    columns = group_columns(original)
    sides = [group_view(view, columns) for view in (original, fitted, control)]
    answers = [answer(table, question, original, (evenly, fitted, control)) for question in asked]
    return Utility(
        table.rows,
        round(evenly.rows),
        _count(table, original, (evenly, fitted, control), seed),
        relate(sides[0], sides[1], columns),
        tuple(predict(sides[0], sides[1], sides[2], name, seed) for name in targets),
        tuple(each for each in answers if each.asked.of is None),
        tuple(each for each in answers if each.asked.of is not None),
        seed,
        (*_tell_reading(table), *remarks),
    )


def _choose_targets(table: Table) -> tuple[list[str], list[str]]:
    """The columns that are predicted: the targets, else the sensitive ones that have two values at least."""
    values = {counts.name: np.count_nonzero(counts.without(MISSING).totals) for counts in further_counts(table)}
    for name in table.schema.target:
        if values[name] < 2:
            raise BadTable(f"The target {name!r} has one value only, so nothing can be predicted. Give another target.")
    names = table.schema.target or table.schema.sensitive
    alone = [f"{name!r} has one value only, and nothing of it is predicted." for name in names if values[name] < 2]
    return [name for name in names if values[name] > 1], alone


def _tell_reading(table: Table) -> list[str]:
    """What of the source the answer knows nothing of."""
    sentences = [] if table.sample is None else [f"Measured on {table.sample.words()}."]
    coarse = table.leaf_counts is not None or any(hierarchy.coarse for hierarchy in table.hierarchies)
    return sentences + ["Columns that came in coarser than their values are measured by groups."] * coarse


def _count(table: Table, original: LabelView, views: Sequence[LabelView], seed: int) -> CountErrors:
    queries, counted = draw_queries(table, original, seed)
    single = np.array([len(query) == 1 for query in queries], dtype=np.bool_)
    errors = count_errors(original, views, queries, counted)
    evenly, fitted, control = (summarize(line[~single]) for line in errors)
    return CountErrors(int((~single).sum()), fitted, evenly, control, summarize(errors[0][single]), int(single.sum()))
