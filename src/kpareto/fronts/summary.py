"""A front in words: what it is, what it proves, and the points that a person looks at first."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kpareto.fronts.choose import PRESETS, RECOMMENDED, marked_points, marks_of
from kpareto.fronts.notebook import spell_count
from kpareto.fronts.provenance import SETS
from kpareto.measures.cells import lm
from kpareto.tables.recoding import recoding_words
from kpareto.tables.spelling import several

if TYPE_CHECKING:
    from kpareto.fronts.front import Front, Point

ITSELF = "the recommended point"  # what it is called in a sentence, where it is none of the class sizes in common use


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


@dataclass(frozen=True, eq=False)
class Mark:
    """A point to look at first: why it is recommended, or what the next class size in common use would cost."""

    label: str
    point: Point
    words: str  # a sentence; empty where there is no next one
    beyond: Point | None = None  # the next one, of which the sentence speaks too

    def to_dict(self) -> dict[str, Any]:
        """The mark as the front's JSON has it."""
        return {
            "label": self.label,
            "id": self.point.id,
            "kept": round(kept_percent(self.point), 2),
            "words": self.words,
        }


def mark_points(front: Front) -> list[Mark]:
    """The marked points, the recommended one first, each with its sentence."""
    if len(front) == 0:
        return []
    (_, best), *sizes = marked_points(front)
    aside = "k" in front.names and best.id not in {point.id for _, point in sizes}
    steps = sorted([(ITSELF, best), *sizes], key=lambda step: step[1].values["k"]) if aside else sizes
    told: dict[str, tuple[str, Point | None]] = {}
    for (name, here), (further, there) in pairwise(steps):
        told[name] = f"From {name} to {further}: {cost_words(here, there)}.", there
    missing = _first_missing(front)
    if missing is not None and steps and steps[-1][0] != ITSELF:
        told[steps[-1][0]] = f"No point reaches k ≥ {missing}.", None
    cost, beyond = told.get(ITSELF, ("", None))
    why = f"Recommended: point {best.id}, {front.recommendation.why}. {cost}".rstrip()
    marks = (Mark(label, point, *told.get(label, ("", None))) for label, point in sizes)
    return [Mark(RECOMMENDED, best, why, beyond), *marks]


def _first_missing(front: Front) -> int | None:
    """The first class size in common use that no point of a front with k reaches."""
    return next((size for size in PRESETS if "k" in front.names and len(front.meeting({"k": size})) == 0), None)


def cost_words(here: Point, there: Point) -> str:
    """What it costs to take another point with a larger k, in points of detail and in rows."""
    if here.id == there.id:
        return "no cost, the same recoding already gives it"
    less = round(kept_percent(here), 1) - round(kept_percent(there), 1)  # as the table shows them
    detail = f"{abs(less):.1f} points of detail {'less' if less > 0 else 'more'}"
    detail = "hardly any detail less" if abs(less) < 0.05 else detail
    suppressed = here.front.numbers.suppressed
    more = int(suppressed[there.id]) - int(suppressed[here.id])
    kind = "fewer" if more < 0 else "more"
    return f"{detail}, and {several(abs(more), f'{kind} row') if more else 'no more rows'} suppressed"


def summarize(front: Front) -> str:
    """The front, its marked points, what they cost, and what is to be known of the rows, a line each."""
    lines = [front_sentence(front)]
    for place, marks in sorted(marks_of(front).items()):
        lines.append(f"{', '.join(marks)} (point {place}): {point_sentence(front[place])}.")
    lines += [mark.words for mark in mark_points(front) if mark.words]
    return "\n".join([*lines, *front.problem.table.remarks, *front.problem.remarks])
