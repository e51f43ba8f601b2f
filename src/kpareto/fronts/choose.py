"""Choosing a point by words (k=5, id=17, prefer: lm=0.2) or without any.

Whoever takes a choice from a person reads it here: job files, the command line, the page and reports.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

from kpareto.errors import BadJob, Unsafe, did_you_mean
from kpareto.fronts.front import Front, Point
from kpareto.fronts.picture import RECOMMENDED
from kpareto.measures.measure import Model, make

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
