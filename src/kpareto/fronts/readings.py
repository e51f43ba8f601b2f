"""Translate measures for the compiled kernels: what they must count, and how each measure is read off it.

How a single measure is counted is known by the measure itself (``measures/reading.py``); here the questions of several
are put together.
"""

from __future__ import annotations

from dataclasses import dataclass

from kpareto.fronts.count_lattice import Wanted
from kpareto.fronts.packed_values import HistLimit, HistNumber
from kpareto.measures.measure import Measure, Model, reading_of
from kpareto.measures.reading import CLASS_SIZE, Questions, Reading
from kpareto.measures.sizes import is_smallest_class
from kpareto.tables.partition import Suppression
from kpareto.tables.table import Table


@dataclass(frozen=True, eq=False)
class Translation:
    """Measures translated: what the kernels must count, and how to read each measure off it."""

    wanted: Wanted
    readings: tuple[Reading, ...]


def translate(
    table: Table, measures: tuple[Measure, ...], suppression: Suppression, limits: tuple[HistLimit, ...] = ()
) -> Translation | None:
    """The measures as kernel statistics, or None where one of them needs a Partition of its own."""
    questions = Questions(table)
    readings = []
    for measure in measures:
        reader = reading_of(measure)
        reading = None if reader is None else reader(questions)
        if reading is None:
            return None
        readings.append(reading)
    axes = []
    for model in suppression.graded:
        judged = model.judged if isinstance(model, Model) else None
        if judged is None:
            return None
        axes.append(tuple(questions.places(judged.kind, judged.columns(table), judged.parameter)))
    numbers = tuple(HistNumber(*number) for number in questions.numbers)
    losses = tuple(questions.losses)
    wanted = Wanted(suppression, losses, numbers, limits, questions.sizes, questions.risky_below, tuple(axes))
    return Translation(wanted, tuple(readings))


def class_limits(table: Table, measure: Measure, threshold: float) -> list[HistLimit] | None:
    """How the kernels judge each class by a limit, or None where they cannot."""
    if sizes := size_limit(measure, threshold):
        return sizes
    judged = measure.judged if isinstance(measure, Model) else None
    if judged is None:
        return None
    columns = judged.columns(table)
    return [HistLimit(judged.kind, threshold, counts, judged.parameter) for counts in columns] or [
        HistLimit(judged.kind, threshold)
    ]


def size_limit(measure: Measure, threshold: float) -> list[HistLimit]:
    """A limit on the smallest class, by k or by its risk, as one on class sizes; none for other measures."""
    if not is_smallest_class(measure):
        return []
    return [
        HistLimit(CLASS_SIZE, threshold if measure.better == "higher" else min(1 / max(threshold, 1e-300), 2.0**62))
    ]
