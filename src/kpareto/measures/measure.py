"""The Measure seam: one number about a partition, and the table of names.

A measure says in which direction it is better, in which unit it counts, and how it moves when classes merge. The trend
is a promise that exact searches rely on; ``kpareto.testing`` checks it on random tables. It may also say what it speaks
of (``aspect``), what its maker was given (``parameters``), and how the compiled kernels count it (``reading``); who
needs to know asks for these, so that no other room has to list names of measures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, Protocol, TypeVar, runtime_checkable

import numpy as np

from kpareto.errors import BadJob, did_you_mean
from kpareto.measures.reading import ClassNumber, Reacher, Reader, TargetTerm
from kpareto.tables.partition import RULES, Partition, Rule
from kpareto.tables.table import Table

Better = Literal["lower", "higher"]
Trend = Literal["rises", "falls", "either"]  # as classes merge: never falls, never rises, no promise


@runtime_checkable
class Measure(Protocol):
    """One number about a partition; whatever has these attributes and takes a Partition may be an objective.

    Attributes
    ----------
    name : str
        A column header and a word on the command line.
    better : {'lower', 'higher'}
        Which direction is better.
    unit : str
        What the number counts, in words.
    trend : mapping
        How the number moves when classes merge, per suppression rule.

    Examples
    --------
    >>> import kpareto as kp
    >>> k = kp.make("k")
    >>> isinstance(k, kp.Measure), k.better
    (True, 'higher')
    """

    @property
    def name(self) -> str:
        """A column header and a word on the command line."""

    @property
    def better(self) -> Better:
        """Which direction is better."""

    @property
    def unit(self) -> str:
        """What the number counts, in words."""

    @property
    def trend(self) -> Mapping[Rule, Trend]:
        """How the number moves when classes merge, per suppression rule."""

    def __call__(self, partition: Partition) -> float:
        """The number."""


@dataclass(frozen=True)
class Aspect:
    """What a measure speaks of: all that pictures, reports, warnings and certificates need to know of it."""

    side: Literal["privacy", "information"] = "information"
    logarithmic: bool = False  # its steps are factors, not differences
    column: Literal["sensitive", "target"] | None = None  # the kind of column it depends on, besides the recoding
    relative: bool = False  # compares classes with a reference, the parameter of that name: the table, or the release
    shown: bool = False  # a whole number that stands in the release for everyone to count
    recounted: bool = False  # the verifier works it out again, from a release alone or with its whole certificate
    population: bool = False  # needs to know the population that the table was drawn from
    weighted: bool = False  # goes by the weights that the schema has for columns
    in_rows: str = ""  # a share of all rows, which files of fronts also give as a number of rows under this name


INFORMATION = Aspect()
PRIVACY = Aspect("privacy")


def no_exact_value(_: Partition) -> Fraction | None:
    """What a measure answers whose values are not ratios of whole numbers."""
    return None


@dataclass(frozen=True)
class Floor:
    """How little a loss can be by what each column loses by itself: whole numbers that add up, and what a sum means."""

    of_column: Callable[[Table, int, np.ndarray], int]  # table, column, groups of its leaves -> with no row suppressed
    value: Callable[[Table, np.ndarray], np.ndarray]  # sums over columns -> the loss, rounded down


@dataclass(frozen=True)
class Number:
    """A measure made of a function: the form of most built-in measures.

    ``exact`` gives the same number as a fraction, so that front membership can be decided without rounding; it answers
    None where there is none (an irrational or infinite value).
    """

    name: str
    better: Better
    unit: str
    trend: Mapping[Rule, Trend] = field(hash=False)
    function: Callable[[Partition], float | Fraction]  # the exact one where there is one: its number is the nearest
    exact: Callable[[Partition], Fraction | None] = no_exact_value
    aspect: Aspect = INFORMATION
    # What its maker was given beside defaults; None: not in the table.
    parameters: Mapping[str, object] | None = field(default=None, hash=False)
    reading: Reader | None = None  # how the kernels count it; None: it needs a Partition
    term: TargetTerm | None = None  # how the compiled searches for one number minimize it
    by_cells: Measure | None = field(default=None, compare=False)  # a loss of cells, for a search that needs one
    parts: tuple[tuple[Measure, float], ...] = ()  # of a weighted sum: its measures and their weights
    floor: Floor | None = field(default=None, compare=False)  # None: columns by themselves tell nothing of it

    def __call__(self, partition: Partition) -> float:
        """The number."""
        return float(self.function(partition))


@dataclass(frozen=True)
class Model:
    """A privacy model: a measure that can also say which classes fail a threshold.

    ``by_class`` gives one number per class; the measure is the worst of them over the visible classes.
    """

    name: str
    better: Better
    unit: str
    trend: Mapping[Rule, Trend] = field(hash=False)
    by_class: Callable[[Partition], np.ndarray]  # partition -> (classes,) float64
    exact: Callable[[Partition], Fraction | None] = no_exact_value
    aspect: Aspect = PRIVACY
    # What its maker was given beside defaults; None: not in the table.
    parameters: Mapping[str, object] | None = field(default=None, hash=False)
    reading: Reader | None = None  # how the kernels count it; None: it needs a Partition
    judged: ClassNumber | None = None  # how the kernels judge a single class by it
    reach: Reacher | None = field(default=None, compare=False)  # the best that a table allows; None: nobody knows

    def __call__(self, partition: Partition) -> float:
        """The worst visible class."""
        if partition.empty:
            return float("inf") if self.better == "higher" else 0.0
        values = self.by_class(partition)[partition.visible]
        return float(values.min() if self.better == "higher" else values.max())

    def fails(self, threshold: float) -> Callable[[Partition], np.ndarray]:
        """A class-wise rule for the suppression rule as-needed: which classes are worse than the threshold."""
        return lambda partition: ~meets(self.better, self.by_class(partition), threshold)


def meets(better: Better, values: np.ndarray | float, limit: float) -> np.ndarray:
    """Which values are at least the limit, or at most, with a hair of slack: 1/3 must not miss its own limit.

    The kernels have a twin of it, ``kernels.histograms.is_worse``.
    """
    slack = 1e-12 * max(1.0, abs(limit))
    reached = np.asarray(values)
    return np.asarray(reached >= limit - slack if better == "higher" else reached <= limit + slack)


def trends(none: Trend, below_k: Trend = "either", cap_max_k: Trend = "either") -> dict[Rule, Trend]:
    """A trend per suppression rule; as-needed compares unequal thresholds, so it never promises anything."""
    return dict(zip(RULES, (none, below_k, cap_max_k, "either"), strict=True))


def exact(measure: Measure, partition: Partition) -> Fraction | None:
    """The measure's value as a fraction where it can give one; a user's measure need not know how."""
    function = getattr(measure, "exact", no_exact_value)
    return function(partition)


def aspect_of(measure: Measure) -> Aspect:
    """What a measure speaks of; one that does not say it speaks of information."""
    aspect = getattr(measure, "aspect", INFORMATION)
    return aspect if isinstance(aspect, Aspect) else INFORMATION


def is_privacy(measure: Measure) -> bool:
    """Whether a measure speaks of protection rather than of information."""
    return aspect_of(measure).side == "privacy"


def stands_alone(model: Model) -> bool:
    """Whether the number of a class stays as it is when others go; one with the release as its reference does not."""
    return (model.parameters or {}).get("reference") != "release"


def reading_of(measure: Measure) -> Reader | None:
    """How the kernels count a measure, or None."""
    reader: Reader | None = getattr(measure, "reading", None)
    return reader


def parameters_of(measure: Measure) -> Mapping[str, object] | None:
    """What the maker of a measure was given beside defaults; None for one that is not in the table of names."""
    parameters: Mapping[str, object] | None = getattr(measure, "parameters", None)
    return parameters


def floor_of(measure: Measure) -> Floor | None:
    """How little a measure can be by what each column loses by itself, or None."""
    floor: Floor | None = getattr(measure, "floor", None)
    return floor


def short_name(name: str) -> str:
    """The word before the parameters: t(column=diagnosis) -> t."""
    return name.strip().partition("(")[0]


def drop_unset(**parameters: object) -> dict[str, object]:
    """The parameters that are not left at None."""
    return {key: value for key, value in parameters.items() if value is not None}


def spell(name: str, **parameters: object) -> str:
    """A measure's full name, which ``make`` reads back: ``spell("t", column="diagnosis")`` is t(column=diagnosis)."""
    inside = ", ".join(f"{key}={value}" for key, value in drop_unset(**parameters).items())
    return f"{name}({inside})" if inside else name


# name -> a function that makes the measure from keyword parameters given on the command line or in a job
MAKERS: dict[str, Callable[..., Measure]] = {}
Maker = TypeVar("Maker", bound=Callable[..., Measure])


def named(name: str) -> Callable[[Maker], Maker]:
    """Enter a measure's maker in the table of names."""

    def enter(maker: Maker) -> Maker:
        MAKERS[name] = maker
        return maker

    return enter


def read_spec(spec: str) -> tuple[str, dict[str, object]]:
    """A measure's full name taken apart: ``t(column=diagnosis)`` -> ("t", {"column": "diagnosis"}).

    Numbers are read as numbers, but the name of a column or value stays text although it may look like one.
    """
    name, _, inside = spec.strip().removesuffix(")").partition("(")
    parameters: dict[str, object] = {}
    for part in filter(None, (piece.strip() for piece in inside.split(","))):
        key, equals, value = part.partition("=")
        if not equals:
            raise BadJob(f"The measure {spec!r} has a parameter {part!r} without a value. Write {part}=value.")
        key, value = key.strip(), value.strip()
        parameters[key] = value if key in ("column", "by", "value") else _read_number(value)
    return name, parameters


def _read_number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def read_sum(text: str) -> dict[str, float]:
    """Weighted names, as in ``age*3 + zip``: {"age": 3.0, "zip": 1.0}."""
    weights: dict[str, float] = {}
    for part in text.split("+"):
        word, _, weight = (piece.strip() for piece in part.partition("*"))
        number = _read_number(weight or "1")
        if isinstance(number, str) or not word:
            raise BadJob(f"The sum {text!r} has the part {part.strip()!r}. Write name*number + name*number.")
        weights[word] = number
    return weights


def spell_sum(weights: Mapping[str, float]) -> str:
    """Weighted names as text, which ``read_sum`` reads back."""
    numbers = {word: np.format_float_positional(weight, trim="-") for word, weight in weights.items()}
    return " + ".join(f"{word}*{number}" for word, number in numbers.items())


def make(spec: str) -> Measure:
    """A measure by its name.

    Parameters
    ----------
    spec : str
        The name, with parameters in brackets where it takes some: ``l``, ``t(column=diagnosis)``.

    Returns
    -------
    Measure
        What counts the number of a partition.

    Raises
    ------
    BadInput
        If there is no such measure, or it takes no such parameters.

    Examples
    --------
    >>> import kpareto as kp
    >>> kp.make("t(column=occupation)").unit
    'distance from 0 to 1'
    """
    name, parameters = read_spec(spec)
    maker = MAKERS.get(name)
    if maker is None:
        raise BadJob(f"No measure {name!r}. {did_you_mean(name, MAKERS)}The measures are: {', '.join(sorted(MAKERS))}.")
    for key, value in parameters.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise BadJob(f"The measure {name!r} has {key} = {value!r}. Give a finite number.")
    try:
        return maker(**parameters)
    except TypeError as error:
        names = ", ".join(parameters) or "no parameters"
        raise BadJob(f"The measure {name!r} cannot be made with {names}: {error}.") from error
