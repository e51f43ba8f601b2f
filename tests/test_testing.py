"""The checks of measures: every built-in measure passes, and planted lies are caught."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from kpareto import testing
from kpareto.measures import MAKERS, make
from kpareto.measures.measure import Measure, Model, Number, Trend, trends
from kpareto.tables.partition import Partition, Rule, classes
from kpareto.tables.table import Table

EXTRA = (
    "t(distance=ordered)",
    "t(reference=release)",
    "beta(reference=release)",
    "recursive-l(l=3)",
    "alpha(value=a)",
    "delta(absent=infinite)",
    "risk-share(threshold=0.34)",
    "average-class-size(k=2)",
    "reg-variance(centre=global)",
    "bias(by=sensitive, of=loss)",
    "bias(by=q0, of=suppressed, gap=ratio)",
)
NEEDS = {"bias": "bias(by=q0)", "multi-target": "multi-target(of=cm*2 + lm)"}


@pytest.mark.parametrize("spec", [*(NEEDS.get(name, name) for name in sorted(MAKERS)), *EXTRA])
def test_every_measure_passes(spec: str) -> None:
    """Each measure of the table of names keeps all its promises, the trend among them."""
    testing.check_measure(make(spec), rounds=150)


# What someone might believe: (measure, rule, trend), each of them false.
LIES: list[tuple[str, Rule, Trend]] = [
    ("k", "below-k", "rises"),
    ("k", "as-needed", "rises"),
    ("risk-mean", "cap-max-k", "falls"),
    ("suppressed", "cap-max-k", "falls"),
    ("classes", "below-k", "falls"),
    ("l", "cap-max-k", "rises"),
    ("l", "below-k", "rises"),
    ("entropy-l", "cap-max-k", "rises"),
    ("t", "cap-max-k", "falls"),
    ("alpha", "below-k", "falls"),
    ("delta", "none", "falls"),
    ("glm", "cap-max-k", "rises"),
    ("lm", "below-k", "rises"),
    ("lm", "below-k", "falls"),
    ("lm", "none", "falls"),
    ("dcn", "cap-max-k", "rises"),
    ("cm", "cap-max-k", "rises"),
    ("cm", "below-k", "falls"),
    ("cost-cm", "below-k", "rises"),
    ("necd", "none", "rises"),
    ("necd", "none", "falls"),
    ("bias(by=q0)", "none", "falls"),
]


@pytest.mark.parametrize(("spec", "rule", "trend"), LIES)
def test_a_wrong_trend_is_caught(spec: str, rule: Rule, trend: Trend) -> None:
    """A measure that promises what it does not keep fails, with any of three seeds."""
    measure = make(spec)
    assert isinstance(measure, Number | Model) or hasattr(measure, "column")
    lying = replace(measure, trend={**trends("either"), rule: trend})  # type: ignore[type-var]
    for seed in range(3):
        with pytest.raises(
            AssertionError, match=f"promises that it {trend} as classes merge under {rule}, but goes from"
        ):
            testing.check_trend(lying, seed=seed)


def first_class(partition: Partition) -> float:
    """Depends on the order of the classes."""
    return float(partition.rows[0])


def spoiling(partition: Partition) -> float:
    """Changes what it was given."""
    partition.rows[0] += 1
    return 1.0


@dataclass
class Moody:
    """Gives another number each time."""

    calls: int = 0

    def __call__(self, partition: Partition) -> float:
        """The number."""
        self.calls += 1
        return float(self.calls)


@pytest.mark.parametrize(
    ("function", "complaint"),
    [
        (first_class, "with the columns reversed"),
        (spoiling, "the measure changes the partition it was given"),
        (Moody(), "a second call gives another number"),
        (lambda partition: float("nan"), "the value nan is no number"),
    ],
)
def test_bad_functions_are_caught(function: Callable[[Partition], float], complaint: str) -> None:
    """A measure must be a function of the partition and nothing else."""
    with pytest.raises(AssertionError, match=complaint):
        testing.check_measure(Number("mine", "lower", "things", trends("either"), function))


def test_a_wrong_exact_value_is_caught() -> None:
    """A fraction that is not the value fails."""
    wrong = Number("mine", "lower", "x", trends("either"), lambda p: 1.0, lambda p: Fraction(2))
    with pytest.raises(AssertionError, match=r"the exact value 2 is not the value 1\.0"):
        testing.check_measure(wrong)


def test_bad_models_are_caught() -> None:
    """A model whose classes and value do not fit together, or that gives too few numbers, fails."""

    @dataclass(frozen=True)
    class Best(Model):
        """The best class instead of the worst."""

        def __call__(self, partition: Partition) -> float:
            """The number."""
            return float(partition.sizes.max())

    told = ("mine", "higher", "rows", trends("either"))
    with pytest.raises(AssertionError, match="its worst class"):
        testing.check_measure(Best(*told, by_class=lambda p: p.sizes.astype(np.float64)))  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match=r"by_class gives \(1,\), not one number per class"):
        testing.check_model(Model(*told, by_class=lambda p: np.ones(1)))  # type: ignore[arg-type]

    class Strict(Model):
        """Fails the classes that just meet the threshold."""

        def fails(self, threshold: float) -> Callable[[Partition], np.ndarray]:
            """Which classes are not better than the threshold."""
            return lambda partition: partition.sizes <= threshold

    with pytest.raises(AssertionError, match="a class fails the threshold"):
        testing.check_measure(Strict(*told, by_class=lambda p: p.sizes.astype(np.float64)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"name": ""}, "A measure needs a name"),
        ({"better": "more"}, "better is 'more', not 'lower' or 'higher'"),
        ({"unit": ""}, "say in unit what the number counts"),
        ({"trend": {"none": "rises"}}, "trend is not rises, falls or either for below-k, cap-max-k"),
        ({"trend": {**trends("either"), "as-needed": "rises"}}, "its trend must be 'either'"),
    ],
)
def test_bad_descriptions_are_caught(change: dict[str, object], complaint: str) -> None:
    """Name, direction, unit and trend are checked before anything is computed."""
    good = Number("mine", "lower", "x", trends("either"), lambda p: 1.0)
    testing.check_description(good)
    with pytest.raises(AssertionError, match=complaint):
        testing.check_description(replace(good, **change))  # type: ignore[arg-type]


def test_a_user_may_bring_tables() -> None:
    """A measure that needs other columns is checked on tables with those columns."""
    asked = 0

    def tables(rng: np.random.Generator) -> Table:
        nonlocal asked
        asked += 1
        return testing.random_table(rng)

    testing.check_measure(make("k"), rounds=6, tables=tables)
    assert asked > 6


def test_trials_are_the_same_for_the_same_seed() -> None:
    """A complaint names the round and the seed, which are enough to see it again."""
    one, two = (list(testing.trials(3, seed=7, tables=testing.random_table))[2] for _ in range(2))
    assert str(one) == "round 2 of seed 7"
    assert np.array_equal(one.table.codes, two.table.codes)
    assert np.array_equal(classes(one.table, one.wide).rows, classes(two.table, two.wide).rows)


def test_protocol_is_enough() -> None:
    """A class of a user's own, without our dataclasses, is a Measure."""

    class Rows:
        """Kept rows."""

        name = "kept-rows"
        better = "higher"
        unit = "rows"
        trend = trends("rises", below_k="rises")

        def __call__(self, partition: Partition) -> float:
            """The number."""
            return float(partition.table.rows - partition.suppressed_rows)

    mine: Measure = Rows()  # type: ignore[assignment]
    testing.check_measure(mine)
