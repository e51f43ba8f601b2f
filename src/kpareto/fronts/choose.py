"""Choosing a point by words (k=5, id=17, prefer: lm=0.2) or without any.

Whoever takes a choice from a person reads it here: job files, the command line, the page and reports.

A point of the same front that is clearly safer than a chosen one and keeps nearly the same detail is told, too. Two
points are weighed by what a person weighs: the highest risk, 1/k, the detail that is kept, and the rows that are
suppressed. Points that no limit in common use tells apart any more are left in peace.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from kpareto.errors import BadJob, Unsafe, did_you_mean
from kpareto.fronts.dominance import achievement
from kpareto.fronts.front import DEFAULT_K, PRESETS, Front, Point, kept_percent, more_rows
from kpareto.fronts.numbers import Numbers
from kpareto.fronts.picture import RECOMMENDED
from kpareto.fronts.problem import Problem
from kpareto.measures.cells import tells_detail
from kpareto.measures.measure import Model, is_privacy, make

MOST_STEPS = 100  # of a path that are kept
Kind = Literal["recommended", "knee", "id", "limits", "prefer"]


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
    choice = words.strip()
    if choice == RECOMMENDED:
        return ChoiceWords("recommended")
    if choice == "knee":
        return ChoiceWords("knee")
    numbers: dict[str, float] = {}
    for part in _parts(choice.removeprefix("prefer:")):
        name, equals, value = part.rpartition("=")
        try:
            numbers[name.strip()] = float(value)
        except ValueError:
            equals = ""
        if not equals or not name.strip():
            raise BadJob(
                f"The choice {words!r} is not understood. Write k=5, recommended, id=17, or prefer: nwp=0.2, necd=0.1."
            )
    if choice.startswith("prefer:"):
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


def _parts(choice: str) -> list[str]:
    """The words between commas; a comma inside the brackets of a measure's name parts nothing."""
    parts, depth = [""], 0
    for letter in choice:
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
        number = wish.numbers["id"]
        if not 0 <= number < len(front) or number != int(number):
            raise BadJob(f"No point {number:g} on this front. Its points are 0 to {len(front) - 1}.")
        return front[int(number)]
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
        if self.id is None:
            return {"wished": dict(self.wished), "answer": None, "why": self.why}
        reached, short = ({w.name: getattr(w, name) for w in self.wishes} for name in ("reached", "short"))
        return {"wished": dict(self.wished), "answer": self.id, "reached": reached, "short": short}


def answer_wishes(front: Front, wished: Mapping[str, float]) -> WishAnswer:
    """The answer to wishes by the achievement function (GE-4), and how far each wish is met.

    What is better higher, such as k, must be reached; the point nearest to the wished losses is taken of those.
    """
    try:
        point = front.prefer(**wished)
    except Unsafe as error:
        return WishAnswer(dict(wished), None, why=str(error))
    better = {measure.name: measure.better for measure in front.problem.objectives}
    answers = (WishMet(name, float(wish), point.values[name], better[name]) for name, wish in wished.items())
    return WishAnswer(dict(wished), point.id, tuple(answers))


# -- how good a whole run is ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Goal:
    """The one number that runs are compared by, lower being better."""

    words: str
    loss: int  # place of the loss among the objectives
    k: float | None = None  # that a recoding must have, where k is an objective
    size: int = 0  # the place of k
    wish: tuple[tuple[int, ...], tuple[float, ...]] | None = None  # places and wished values of losses

    def each(self, numbers: Numbers) -> np.ndarray:
        """The number of every recoding, infinite where it misses a limit or the k: (n,) float64."""
        values = numbers.values
        fits = numbers.feasible if self.k is None else numbers.feasible & (values[:, self.size] >= self.k)
        losses = values[:, self.loss] if self.wish is None else achievement(values[:, self.wish[0]], self.wish[1])
        return np.where(fits, losses, np.inf)

    def of(self, numbers: Numbers) -> float:
        """The least among some recodings; infinite where none of them meets the limits and the k."""
        return float(self.each(numbers).min(initial=math.inf))

    def path(self, numbers: Numbers) -> list[list[float]]:
        """Recodings in the order they were counted: [how many until then, the least until then] where it falls."""
        least = np.minimum.accumulate(self.each(numbers))
        steps = np.flatnonzero(least < np.concatenate(([np.inf], least[:-1])))
        shown = steps[np.unique(np.linspace(0, len(steps) - 1, min(len(steps), MOST_STEPS)).astype(np.int64))]
        falls = [[int(place) + 1, float(least[place])] for place in shown.tolist()]
        return [*falls, [len(least), float(least[-1])]] if falls and falls[-1][0] < len(least) else falls


def goal_of(asked: Problem, wishes: Mapping[str, float] | None = None, k: float | None = None) -> Goal:
    """The goal of a problem: the achievement of wishes, or the least first loss, at a k where k is an objective."""
    names = [measure.name for measure in asked.objectives]
    if wishes:
        losses = [name for name in wishes if name != "k"]
        places, points = tuple(names.index(n) for n in losses), tuple(float(wishes[n]) for n in losses)
        return Goal(
            f"achievement of the wishes at k ≥ {wishes['k']:g}",
            places[0],
            wishes["k"],
            names.index("k"),
            (places, points),
        )
    loss = next((place for place, measure in enumerate(asked.objectives) if not is_privacy(measure)), None)
    if loss is None or asked.objectives[loss].better == "higher":
        raise BadJob("Searches are compared by a loss, and no objective is one that is better lower. Add lm, say.")
    if "k" not in names:
        return Goal(f"least {names[loss]}", loss)
    least = k or next((limit for measure, limit in asked.limits if measure.name == "k"), DEFAULT_K)
    return Goal(f"least {names[loss]} at k ≥ {least:g}", loss, least, names.index("k"))


SAFER = 0.75  # of the risk is left at the most: from k = 5 at least k = 7, from 11 at least 15
POINTS = 2.0  # percent of all detail that this may cost
SHARE = 0.05  # of the detail that the chosen point keeps, where that is less
ROWS = 0.01  # share of all rows that may be suppressed beside
STEP = 0.02  # share of its range on the front by which another loss may be worse


@dataclass(frozen=True)
class Weighed:
    """What a person weighs in a point."""

    id: int
    k: int
    kept: float  # percent of the detail
    suppressed: int  # rows


@dataclass(frozen=True)
class SaferPoint:
    """A chosen point, the safer one, and the words that choose that."""

    own: Weighed
    other: Weighed
    choose: str

    def sentence(self) -> str:
        """Which of the two is the safer, what it costs, and how to take it."""
        chosen, other = self.own, self.other
        rows = more_rows(other.suppressed - chosen.suppressed)
        return (
            f"Point {other.id} of the front is clearly safer at nearly the same detail: its highest risk is "
            f"{100 / other.k:.1f} % (k = {other.k:,}) instead of {100 / chosen.k:.1f} % (k = {chosen.k:,}), and it "
            f"keeps {other.kept:.1f} % of the detail instead of {chosen.kept:.1f} %, with {rows} suppressed. "
            f"{self.advice}"
        )

    @property
    def advice(self) -> str:
        """How to take it."""
        return f"Choose {self.choose} to take it."


def find_safer(point: Point) -> SaferPoint | None:
    """The safest other point that costs hardly more; None where there is none, or the front tells too little.

    It has at most three quarters of the risk, keeps at most two points of detail less (and no more than a twentieth of
    what is kept), and suppresses at most 1 % more of the rows. No other privacy objective is worse, and another loss by
    at most 2 % of its range. A point that reaches the largest class size in common use has nothing better to be told.
    """
    front = point.front
    is_known = "k" in front.names and any(map(tells_detail, front.problem.objectives))
    if not is_known or not 1 <= point.values["k"] < PRESETS[-1]:
        return None
    sizes, suppressed = front.numbers.values[:, front.names.index("k")], front.numbers.suppressed
    near = (sizes * SAFER >= sizes[point.id]) & np.isfinite(sizes)
    near &= suppressed <= suppressed[point.id] + ROWS * front.problem.table.rows
    near &= _no_worse(point)
    chosen = _weigh(point)
    least = chosen.kept - min(POINTS, SHARE * chosen.kept) - 1e-9  # 82 must not miss 84 less 2
    weighed = [_weigh(front[int(number)]) for number in np.flatnonzero(near)]
    good = [other for other in weighed if other.kept >= least]
    if not good:
        return None
    best = max(good, key=lambda other: (other.k, other.kept, -other.id))
    words = f"k={best.k}" if front.choose(k=best.k).id == best.id else f"id={best.id}"
    return SaferPoint(chosen, best, words)


def _weigh(point: Point) -> Weighed:
    suppressed = int(point.front.numbers.suppressed[point.id])
    return Weighed(point.id, int(point.values["k"]), kept_percent(point), suppressed)


def _no_worse(point: Point) -> np.ndarray:
    """Which points are no worse in the other objectives than k and the detail: (points,) bool."""
    front: Front = point.front
    fine = np.ones(len(front), dtype=np.bool_)
    for column, measure in enumerate(front.problem.objectives):
        if tells_detail(measure):
            continue
        costs, keys = front.costs[:, column], front.numbers.keys[:, column]
        if is_privacy(measure):
            fine &= keys <= keys[point.id]
        else:
            finite = costs[np.isfinite(costs)]
            fine &= costs <= costs[point.id] + STEP * (float(np.ptp(finite)) if len(finite) else 0.0)
    return fine
