"""Choosing a point by words (k=5, id=17, prefer: lm=0.2) or without any, and the points that a person looks at first.

Whoever takes a choice from a person reads it here: job files, the command line, the page and reports.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from kpareto.errors import BadJob, Unsafe, did_you_mean
from kpareto.measures.measure import Measure, Model, aspect_of, make
from kpareto.measures.sizes import is_smallest_class, k

if TYPE_CHECKING:
    from kpareto.fronts.front import Front, Point

Kind = Literal["recommended", "knee", "id", "limits", "prefer"]
DEFAULT_K = 5  # where nothing is said about k: a highest risk of one in five
PRESETS = (3, 5, 11, 20)  # class sizes in use: hospitals and statistical offices 3 and 5, CMS 11, Health Canada 0.09
RECOMMENDED = "recommended"  # the word for the recommended point, and its mark


@dataclass(frozen=True)
class ChoiceWords:
    """The words of a choice, taken apart."""

    kind: Kind
    numbers: dict[str, float] = field(default_factory=dict)  # measure -> what it shall be; id -> the point

    def models(self) -> dict[str, float]:
        """What the words ask of privacy models: a release by them must meet it.

        Under ``prefer:`` only measures that are better higher are asked for; the others are wishes, not limits.
        """
        asked = {}
        for name, value in self.numbers.items() if self.kind in ("limits", "prefer") else ():
            measure = make(name)
            if isinstance(measure, Model) and (self.kind == "limits" or measure.better == "higher"):
                asked[name] = value
        return asked


def read_wish(words: str) -> ChoiceWords:
    """A choice from its words: ``k=5, l=2``, ``recommended``, ``knee``, ``id=17``, ``prefer: nwp=0.2, necd=0.1``."""
    said = words.strip()
    if said == RECOMMENDED:
        return ChoiceWords("recommended")
    if said == "knee":
        return ChoiceWords("knee")
    numbers: dict[str, float] = {}
    for part in _parts(said.removeprefix("prefer:")):
        name, equals, value = part.rpartition("=")
        try:
            numbers[name.strip()] = float(value)
        except ValueError:
            equals = ""
        if not equals or not name.strip():
            raise BadJob(
                f"The choice {words!r} is not understood. Write k=5, recommended, id=17, or prefer: nwp=0.2, necd=0.1."
            )
    if said.startswith("prefer:"):
        return ChoiceWords("prefer", numbers)
    return ChoiceWords("id" if set(numbers) == {"id"} else "limits", numbers)


def check_wish(words: str, measures: Collection[str]) -> None:
    """Raise where a choice is not understood, or names what is neither an objective nor a limit: before a search."""
    wish = read_wish(words)
    for name in wish.numbers if wish.kind in ("limits", "prefer") else ():
        if make(name).name not in measures:
            raise BadJob(
                f"The choice {words!r} names {name!r}, which is neither an objective nor a limit of the job. "
                f"{did_you_mean(name, measures)}There are: {', '.join(measures)}."
            )


def _parts(said: str) -> list[str]:
    """The words between commas; a comma inside the brackets of a measure's name parts nothing."""
    parts, depth = [""], 0
    for letter in said:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def choose_point(front: Front, words: str | None = None) -> Point:
    """The point that words name; without words the recommended one."""
    if len(front) == 0:
        raise Unsafe("No recoding meets the limits, so there is none to choose. Relax them, or allow more suppression.")
    wish = read_wish(words or RECOMMENDED)
    if wish.kind == "recommended":
        return front.recommendation.point
    if wish.kind == "knee":
        return front.knee()
    if wish.kind == "id":
        place = wish.numbers["id"]
        if not 0 <= place < len(front) or place != int(place):
            raise BadJob(f"No point {place:g} on this front. Its points are 0 to {len(front) - 1}.")
        return front[int(place)]
    asked = dict(wish.numbers)
    for measure, limit in front.problem.limits:  # met by every point already
        if measure.name in asked and measure.name not in front.names:
            wanted = asked[measure.name]
            if wanted <= limit if measure.better == "higher" else wanted >= limit:
                del asked[measure.name]
    if not asked:
        return front.choose_least()
    return front.prefer(**asked) if wish.kind == "prefer" else front.choose(asked)


@dataclass(frozen=True)
class WishMet:
    """One wish and what became of it."""

    name: str
    wished: float
    reached: float
    better: str  # higher, lower

    @property
    def short(self) -> float:
        """How far the wish is missed, in its own unit; 0 where it is met."""
        return max(self.wished - self.reached if self.better == "higher" else self.reached - self.wished, 0.0)

    def words(self) -> str:
        """For people."""
        fate = f"missed by {self.short:,.6g}" if self.short > 0 else "met"
        return f"{self.name} = {self.reached:,.6g} (wished for {self.wished:,.6g}, {fate})"


@dataclass(frozen=True)
class WishAnswer:
    """The point that comes nearest to wishes, and how far each is met; without a point, why there is none."""

    wished: dict[str, float]
    id: int | None
    wishes: tuple[WishMet, ...] = ()
    why: str = ""

    def words(self) -> str:
        """A sentence."""
        if self.id is None:
            return f"No answer: {self.why}"
        return f"Answer: point {self.id}, " + ", ".join(wish.words() for wish in self.wishes) + "."

    def as_data(self) -> dict[str, object]:
        """Numbers, texts, lists and dicts only."""
        told = {"reached": {w.name: w.reached for w in self.wishes}, "short": {w.name: w.short for w in self.wishes}}
        return {"wished": dict(self.wished), "answer": self.id, **(told if self.id is not None else {"why": self.why})}


def answer_wishes(front: Front, wished: Mapping[str, float]) -> WishAnswer:
    """The answer to wishes by the achievement function (GE-4), and how far each wish is met.

    What is better higher, such as k, must be reached; the point nearest to the wished losses is taken of those.
    """
    try:
        point = front.prefer(**wished)
    except Unsafe as error:
        return WishAnswer(dict(wished), None, why=str(error))
    better = {measure.name: measure.better for measure in front.problem.objectives}
    told = (WishMet(name, float(wish), point.values[name], better[name]) for name, wish in wished.items())
    return WishAnswer(dict(wished), point.id, tuple(told))


@dataclass(frozen=True, eq=False)
class Recommendation:
    """The point for somebody who says nothing, and why it is that one, as half a sentence."""

    point: Point
    why: str


def recommend(front: Front) -> Recommendation:
    """The point of least loss that meets the limits, and k ≥ 5 where no limit says how well a row may be recognised.

    Every point of a front meets its limits, so with one on k, on the highest risk or against the population it is the
    point of least loss. Limits on other things, such as l, leave k open, and so does a job without limits: then k ≥ 5
    is asked for as well, also where k is no objective. Where no point reaches it, it is the one with the largest k.
    """
    met = ", ".join(_spell_limit(measure, limit) for measure, limit in front.problem.limits)
    if any(is_smallest_class(m) or aspect_of(m).population for m, _ in front.problem.limits):
        return Recommendation(front.choose_least(), f"the least loss that meets the limits ({met})")
    point, size = _usual_point(front)
    if size < DEFAULT_K:
        return Recommendation(point, f"the largest k there is ({size:,.0f}), as no point reaches k ≥ {DEFAULT_K}")
    least = f"the least loss that meets the limits ({met}) and" if met else "the least loss with"
    return Recommendation(point, f"{least} k ≥ {DEFAULT_K}, which is usual where nothing is said about k")


def _usual_point(front: Front) -> tuple[Point, float]:
    """The point of least loss with the usual k, or else with the largest there is, and its k."""
    for column, measure in enumerate(front.problem.objectives):
        if is_smallest_class(measure):  # k, or one divided by it
            values, higher = front.numbers.values[:, column], measure.better == "higher"
            usual = float(DEFAULT_K if higher else 1 / DEFAULT_K)
            reached = len(front.meeting({measure.name: usual})) > 0
            point = front.choose({measure.name: usual if reached else float(values.max() if higher else values.min())})
            value = point.values[measure.name]
            return point, value if higher else round(1 / value)
    best, most = front[0], -1.0
    for place in front.by_loss().tolist():
        size = k()(front[place].partition)
        if size > most:
            best, most = front[place], size
        if size >= DEFAULT_K:
            break
    return best, most


def _spell_limit(measure: Measure, limit: float) -> str:
    return f"{measure.name} {'≥' if measure.better == 'higher' else '≤'} {limit:g}"


def least_k(front: Front) -> int:
    """The k that the limits ask of every point; 1 where they ask for none."""
    asked = [limit if m.better == "higher" else 1 / limit for m, limit in front.problem.limits if is_smallest_class(m)]
    return int(np.ceil(np.round(max(asked, default=1.0), 9)))


def marked_points(front: Front) -> list[tuple[str, Point]]:
    """The points to look at first, each with its mark: the recommended one, and class sizes in common use by rising k.

    A size below the one that the limits ask for is no mark, as the front knows nothing of it; the one asked for is.
    """
    if len(front) == 0:
        return []
    asked, best = least_k(front), front.recommendation.point
    sizes = {size: point for size, point in front.presets().items() if size > asked}
    if asked > 1 and "k" in front.names:
        sizes = {asked: best, **sizes}
    return [(RECOMMENDED, best), *((f"k ≥ {size:,}", point) for size, point in sizes.items())]


def marks_of(front: Front) -> dict[int, tuple[str, ...]]:
    """The same by the point's id: all marks of a point together."""
    marks: dict[int, tuple[str, ...]] = {}
    for mark, point in marked_points(front):
        marks[point.id] = (*marks.get(point.id, ()), mark)
    return marks


def placed_marks(front: Front, across: str, up: str) -> list[tuple[str, float, float]]:
    """The marks of a picture over two objectives, those on one place together: label, x, y."""
    places: dict[tuple[float, float], list[str]] = {}
    for mark, point in marked_points(front):
        places.setdefault((point.values[across], point.values[up]), []).append(mark)
    return [(", ".join(marks), x, y) for (x, y), marks in places.items()]
