"""The Measure seam: names, parameters, thresholds, exact values."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from kpareto.errors import BadJob
from kpareto.measures import MAKERS, make
from kpareto.measures import sizes as privacy
from kpareto.measures.measure import Measure, Model, Number, exact, spell, trends
from kpareto.tables.partition import RULES, Partition, Suppression, classes, partition
from kpareto.tables.recoding import bottom
from tests.tables.test_partition import table_of_sizes

# A call for every maker that needs an argument.
NEEDS = {"bias": "bias(by=x)", "multi-target": "multi-target(of=lm*2 + dcn)"}


def rows_in_classes(sizes: list[int]) -> Partition:
    """A partition with classes of the given sizes."""
    table = table_of_sizes(sizes)
    return classes(table, bottom(table.hierarchies))


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_every_name_makes_a_measure(name: str) -> None:
    """Each row of the table of names gives a measure with a direction, a unit and a trend for every rule."""
    measure = make(NEEDS.get(name, name))
    assert isinstance(measure, Measure)
    assert measure.better in ("lower", "higher")
    assert measure.unit
    assert set(measure.trend) == set(RULES)
    assert set(measure.trend.values()) <= {"rises", "falls", "either"}
    assert measure.trend["as-needed"] == "either"


@pytest.mark.parametrize(
    "spec",
    [
        *sorted(NEEDS.get(name, name) for name in MAKERS if name != "reg"),
        "t(column=diagnosis, distance=ordered, reference=release)",
        "recursive-l(l=3, column=diagnosis)",
        "alpha(value=flu)",
        "alpha(value=3)",
        "risk-share(threshold=0.09)",
        "average-class-size(k=5)",
        "average-class-size(k=2.5)",
        "bias(by=sex, of=loss, gap=ratio)",
        "reg-deviation(column=pay, centre=global)",
        "delta(absent=infinite)",
        "nwp(weights=age*3 + zip*0.5)",
        "cost-cm(costs=>50K/<=50K*5, column=pay)",
    ],
)
def test_a_measures_name_makes_it_again(spec: str) -> None:
    """The name of a measure is its full spelling, so a report can be read back."""
    assert make(make(spec).name).name == make(spec).name


def test_names_say_what_is_not_the_default() -> None:
    """Defaults are left out of the name, other parameters are in it."""
    assert make("t(distance=equal)").name == "t"
    assert make(" t( column = flu ) ").name == "t(column=flu)"
    assert make("reg").name == "reg-variance"
    assert make("reg(dispersion=deviation)").name == "reg-deviation"
    assert spell("x") == "x"
    assert spell("x", a=1, b=None, c="y") == "x(a=1, c=y)"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "entropy_l",
            "No measure 'entropy_l'. Did you mean 'entropy-l'? The measures are: aecs, alpha, arx-loss, average-class-size",
        ),
        ("t(ordered)", "has a parameter 'ordered' without a value. Write ordered=value."),
        ("k(of=3)", "The measure 'k' cannot be made with of: "),
        ("bias", "The measure 'bias' cannot be made with no parameters: "),
        ("t(distance=far)", "The distance 'far' of t is not known. Write equal, ordered or hierarchical."),
        ("t(distance=hierarchical, hierarchy=x)", "Leave it out: the one that the sensitive column has in the job"),
        ("t(distance=ordered, hierarchy=x)", "Leave it out: the one that the sensitive column has in the job"),
        ("nwp(weights=age*x)", "The sum 'age*x' has the part 'age*x'. Write name*number + name*number."),
        ("nwp(weights=age + )", "has the part ''. Write name*number + name*number."),
        ("nwp(weights=3)", "cannot be made with weights"),
        ("cost-cm(costs=a*2)", "cost-cm has the cost 'a'. Write true/predicted*cost."),
        ("t(reference=world)", "The reference 'world' is not known. Write 'table' or 'release'."),
        ("recursive-l(l=1)", "recursive-l has l = 1.0. Give a whole number of at least 2."),
        ("risk-share(threshold=5)", "The threshold of risk-share is 5.0. Give a probability from 0 to 1."),
        ("average-class-size(k=0)", "average-class-size has k = 0.0. Give a number of at least 1."),
        ("delta(absent=no)", "delta has absent = 'no'. Write 'ignored' or 'infinite'."),
        ("reg(dispersion=wide)", "reg has dispersion = 'wide'. Write 'variance' or 'deviation'."),
        ("reg-variance(centre=here)", "reg-variance has centre = 'here'. Write 'group' or 'global'."),
        ("bias(by=sex, gap=wide)", "The gap of bias is 'wide'. Write 'difference' or 'ratio'."),
        ("bias(by=sex, of=money)", "Bias can be measured in protection, loss or suppressed, not in 'money'."),
        ("multi-target(of=cm*x)", "The sum 'cm*x' has the part 'cm*x'. Write name*number + name*number."),
        ("multi-target(of=cm*0)", "Give each measure a weight of at least 0, not all 0."),
        ("multi-target(of=k*1)", "multi-target adds up losses, and 'k' is better when higher. Leave it out."),
    ],
)
def test_bad_specs_are_explained(spec: str, message: str) -> None:
    """A misspelled measure or parameter gets one sentence that says what to do."""
    with pytest.raises(BadJob) as error:
        make(spec)
    assert message in str(error.value)


def test_a_model_says_which_classes_fail() -> None:
    """fails(threshold) marks classes below a threshold of k, above one of risk, and not those that meet it."""
    made = rows_in_classes([2, 3, 5])
    assert privacy.k().fails(3)(made).tolist() == [True, False, False]
    assert privacy.risk_max().fails(1 / 3)(made).tolist() == [True, False, False]
    assert privacy.risk_max().fails(0.2)(made).tolist() == [True, True, False]


def test_a_model_is_its_worst_visible_class() -> None:
    """Dropped classes do not count; of an empty release the model is perfect."""
    table = table_of_sizes([1, 3])
    dropped = partition(table, bottom(table.hierarchies), Suppression("below-k", k=2))
    assert privacy.k()(dropped) == 3.0
    empty = partition(table, bottom(table.hierarchies), Suppression("below-k", k=9))
    assert empty.empty
    assert privacy.k()(empty) == float("inf")
    assert privacy.risk_max()(empty) == 0.0
    assert privacy.k().exact(empty) is None
    assert privacy.risk_max().exact(empty) == 0


def test_exact_is_none_where_a_measure_knows_no_fraction() -> None:
    """A measure of a user's own needs no fractions; built-in ones give them where they can."""
    made = rows_in_classes([2, 3])

    class Plain:
        """A user's measure, without exact."""

        name = "plain"
        better = "lower"
        unit = "things"
        trend = trends("either")

        def __call__(self, partition: Partition) -> float:
            """The number."""
            return float(len(partition.rows))

    assert exact(Plain(), made) is None  # type: ignore[arg-type]
    assert exact(Number("n", "lower", "x", trends("either"), lambda p: 1.0), made) is None
    assert exact(Model("m", "lower", "x", trends("either"), lambda p: np.ones(2)), made) is None
    assert exact(make("risk-mean"), made) == Fraction(2, 5)
