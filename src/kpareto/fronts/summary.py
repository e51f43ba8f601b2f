"""A front in words: what it is, what it proves, and the points that a person looks at first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kpareto.fronts.choose import marks_of
from kpareto.fronts.notebook import spell_count
from kpareto.fronts.provenance import SETS
from kpareto.measures.cells import lm
from kpareto.tables.level_words import recoding_words

if TYPE_CHECKING:
    from kpareto.fronts.front import Front, Point


def front_sentence(front: Front) -> str:
    """What the front is and what it proves, in a sentence or two."""
    provenance, size = front.provenance, spell_count(front.space.size)
    words = f"{len(front):,} points" + (f" ({front.vectors:,} different)" if front.vectors != len(front) else "")
    counted = f"{provenance.evaluated:,} counted in {provenance.seconds:.2f} s"
    text = f"{words} of {size} recodings; {counted}."
    if len(front) == 0:
        which = "No recoding" if provenance.complete else "No recoding that was counted"
        text = f"{which} of {size} meets the limits; {counted}."
    sample = front.problem.table.sample
    if sample is not None:
        text += f" Found on {sample.words()}: the numbers are those of the sample."
    told = f" The points are {SETS[provenance.points]}." if provenance.points in ("report", "archive") else ""
    return f"{text} {front.proof[0].upper()}{front.proof[1:]}.{told}"


def kept_percent(point: Point) -> float:
    """Percent of the detail of all cells that a point keeps: 100 where nothing is generalized or suppressed."""
    values, table = point.values, point.front.problem.table
    if "glm" in values:  # the sum that LM is the mean of; a partition takes longer
        return 100 * (1 - values["glm"] / (table.rows * len(table.schema.quasi)))
    return 100 * (1 - (values["lm"] if "lm" in values else lm()(point.partition)))


def point_sentence(point: Point) -> str:
    """A point in words: its numbers, what it keeps, and how each column is shown."""
    numbers = ", ".join(f"{name} = {value:,.6g}" for name, value in point.values.items())
    lost = point.partition.suppressed_rows
    left_out = f", {lost:,} rows suppressed" if lost else ""
    return f"{numbers}: {kept_percent(point):.1f} % of the detail kept{left_out}; {recoding_words(point.recoding)}"


def summarize(front: Front) -> str:
    """The front, its marked points and what is to be known of the rows, a line each."""
    lines = [front_sentence(front)]
    for place, marks in sorted(marks_of(front).items()):
        lines.append(f"{', '.join(marks)} (point {place}): {point_sentence(front[place])}.")
    return "\n".join([*lines, *front.problem.table.remarks, *front.problem.remarks])
