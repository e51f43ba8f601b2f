"""Re-identification risk: known answers, a population table, estimators on simulated samples, the bias table."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.engines.unique_rows import unique_rows
from kpareto.errors import BadInput, BadJob, BadSchema, BadTable
from kpareto.measures import make
from kpareto.measures.population import (
    estimate_uniques,
    expected_risk,
    people_behind,
    pitman,
    snb,
    zayatz,
)
from kpareto.releases.risk.risk import (
    PRESETS,
    THRESHOLDS,
    bias_table,
    bias_tables,
    raw_risks,
    risk_change,
    risks,
    threshold,
)
from kpareto.tables.adult import adult, adult_table
from kpareto.tables.partition import Suppression, classes, partition
from kpareto.tables.recoding import bottom, node
from kpareto.tables.table import Population
from tests.measures.test_measure import rows_in_classes
from tests.measures.test_sensitive import table_of_values
from tests.tables.test_partition import table_of_sizes
from tests.twins.strategies import Pair, pairs


def test_prosecutor_of_known_classes() -> None:
    """Classes of 2, 5 and 13: highest 1/2, mean 3/20, and a class of 5 is not above 1/5."""
    found = risks(rows_in_classes([2, 5, 13])).prosecutor
    assert found.highest == 0.5
    assert found.mean == pytest.approx(3 / 20)
    assert [(each.rows, each.share) for each in found.above] == [(2, 0.1), (2, 0.1), (7, 0.35), (20, 1.0)]
    assert [each.threshold for each in found.above] == [float(t) for t in THRESHOLDS]


@settings(max_examples=100)
@given(pair=pairs())
def test_prosecutor_agrees_with_the_measures(pair: Pair) -> None:
    """Highest, mean and shares are those of the measures risk-max, risk-mean and risk-share, under every rule."""
    made = pair.partition
    found = risks(made).prosecutor
    assert found.highest == pytest.approx(make("risk-max")(made))
    assert found.mean == pytest.approx(make("risk-mean")(made))
    for each in (found.above[1], found.above[3]):  # 1/3 and 1/11 have no exact decimals, so only ours are exact
        assert each.share == pytest.approx(make(f"risk-share(threshold={each.threshold!r})")(made))


def test_without_a_population_the_others_are_not_estimable() -> None:
    """Journalist and marketer risk have no numbers and say why."""
    found = risks(rows_in_classes([2, 3]))
    assert not found.journalist.known
    assert found.marketer.mean is None
    assert "not estimable" in found.journalist.basis
    assert found.uniques is None


def test_a_census_has_the_prosecutors_risk() -> None:
    """With a sampling fraction of 1 the journalist knows what the prosecutor knows, and the marketer gets the mean."""
    found = risks(rows_in_classes([1, 2, 7]), Population(fraction=1))
    assert found.journalist.highest == pytest.approx(1.0)
    assert found.journalist.mean == pytest.approx(3 / 10)
    assert found.marketer.mean == pytest.approx(3 / 10)
    assert [each.rows for each in found.journalist.above] == [each.rows for each in found.prosecutor.above]
    assert "census" in found.journalist.basis


def test_a_population_table_gives_k_map() -> None:
    """Classes of 1 and 2 that have 4 and 20 rows in the population: highest 1/4, marketer (1/4 + 2/20) / 3."""
    sample = rows_in_classes([1, 2])
    whole = table_of_sizes([4, 20])
    paired = replace(sample, table=sample.table.drawn_from(Population(table=whole)))
    assert people_behind(paired)[0].tolist() == [4, 20]
    found = risks(sample, Population(table=whole))
    assert found.journalist.highest == 0.25
    assert found.marketer.mean == pytest.approx((1 / 4 + 2 / 20) / 3)
    assert found.journalist.above[1].rows == 1
    assert found.prosecutor.highest == 1.0


def test_a_population_must_contain_the_table() -> None:
    """A class that is larger in the sample than in the population is named."""
    with pytest.raises(BadTable, match=r"population has 1 rows of \(1\) and the table has 2"):
        risks(rows_in_classes([1, 2]), Population(table=table_of_sizes([4, 1])))


def test_masked_rows_may_be_anybody() -> None:
    """The class of masked rows is matched by the whole population."""
    table = table_of_sizes([1, 1, 2]).drawn_from(Population(table=table_of_sizes([3, 4, 5])))
    made = partition(table, bottom(table.hierarchies), Suppression("below-k", k=2, rows="mask"))
    assert people_behind(made)[0].tolist() == [5, 12]


@pytest.mark.parametrize("fraction", [0, -0.1, 1.5, float("nan")])
def test_wrong_fractions_are_refused(fraction: float) -> None:
    """A sampling fraction is above 0 and at most 1."""
    with pytest.raises(BadInput, match="sampling fraction is"):
        Population(fraction=fraction)


def test_one_kind_of_knowledge_is_enough() -> None:
    """A table and a fraction together contradict each other."""
    with pytest.raises(BadInput, match="Give the one you trust more"):
        Population(0.1, table_of_sizes([1]))


def slow_expected_risk(f: int, p: float) -> float:
    """E[1/F | f], term by term of the negative binomial distribution."""
    chance, total = p**f, 0.0
    for extra in range(40_000):
        total += chance / (f + extra)
        chance *= (f + extra) * (1 - p) / (extra + 1)
    return total


@settings(max_examples=60, deadline=None)
@given(f=st.integers(1, 90), p=st.floats(0.02, 1.0))
def test_expected_risk_is_the_sum_it_stands_for(f: int, p: float) -> None:
    """Series and recurrence agree with the plain sum (Benedetti and Franconi)."""
    assert expected_risk(np.array([f]), p)[0] == pytest.approx(slow_expected_risk(f, p), rel=1e-8)


def test_expected_risk_falls_smoothly_with_size() -> None:
    """Small fractions and large classes give positive numbers that fall, also where the two formulas meet."""
    for p in (1e-6, 0.01, 0.3, 0.499, 0.5, 0.9, 1.0):
        each = expected_risk(np.arange(1, 500), p)
        assert (each > 0).all()
        assert (np.diff(each) < 0).all()
        assert each[0] <= 1.0


def simulated(fraction: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Class sizes in a sample, and in the population for each of them, drawn from skewed classes."""
    rng = np.random.default_rng(seed)
    population = np.repeat(np.arange(40_000), rng.geometric(0.25, 40_000))
    there = np.bincount(population)
    sample = np.bincount(population[rng.random(len(population)) < fraction], minlength=len(there))
    return sample[sample > 0], there[sample > 0]


@pytest.mark.parametrize("fraction", [0.3, 0.5, 0.8])
def test_individual_risk_is_near_the_truth_in_a_simulation(fraction: float) -> None:
    """Mean 1/F over the rows is estimated within 25 percent where classes are many and skewed."""
    sample, there = simulated(fraction, 1)
    truth = (sample / there).sum() / sample.sum()
    assert sample @ expected_risk(sample, fraction) / sample.sum() == pytest.approx(truth, rel=0.25)


def restaurant(rows: int, theta: float, alpha: float, seed: int) -> np.ndarray:
    """The class of each row, drawn by Pitman's formula."""
    rng = np.random.default_rng(seed)
    sizes: list[int] = []
    owner = np.empty(rows, dtype=np.int64)
    for row in range(rows):
        if rng.random() < (theta + alpha * len(sizes)) / (theta + row):
            owner[row] = len(sizes)
            sizes.append(1)
            continue
        while True:  # an old class with chance size − alpha: take a random row's class, sometimes refuse it
            place = int(owner[rng.integers(row)])
            if rng.random() < (sizes[place] - alpha) / sizes[place]:
                break
        owner[row] = place
        sizes[place] += 1
    return owner


def test_pitman_finds_the_uniques_of_its_own_kind() -> None:
    """A sample of 5 percent of a population by Pitman's formula gives its unique persons within 20 percent."""
    owner = restaurant(60_000, 50.0, 0.5, 7)
    truth = int((np.bincount(owner) == 1).sum())
    taken = np.random.default_rng(3).random(len(owner)) < 0.05
    found = pitman(np.array(list(Counter(owner[taken].tolist()).values())), 0.05)
    assert found.population_uniques == pytest.approx(truth, rel=0.2)
    assert found.share == pytest.approx(found.population_uniques / found.population)


def test_zayatz_finds_the_uniques_of_a_large_sample() -> None:
    """With four fifths of the population at hand the unique persons are found within 25 percent."""
    sample, there = simulated(0.8, 2)
    found = zayatz(sample, 0.8)
    truth = int((there == 1).sum()) / 0.8  # the sample shows four fifths of them
    assert found.population_uniques == pytest.approx(truth, rel=0.25)
    assert found.chance == pytest.approx(int((there[sample == 1] == 1).sum()) / int((sample == 1).sum()), rel=0.25)


def test_a_census_has_its_own_uniques() -> None:
    """With a fraction of 1 every unique row is unique in the population; without unique rows nobody is."""
    found = zayatz(np.array([1, 1, 3]), 1.0)
    assert found.chance == 1.0
    assert found.population_uniques == pytest.approx(2.0)
    assert zayatz(np.array([2, 3]), 0.5).population_uniques == 0.0
    assert pitman(np.array([2, 3]), 0.05).population_uniques == 0.0


def test_the_estimator_goes_by_the_fraction() -> None:
    """Pitman's up to a tenth, above it the smaller of Zayatz's and the slide negative binomial; or the one asked for."""
    sizes = np.array([1, 1, 1, 2, 5])
    assert estimate_uniques(sizes, 0.1).estimator == "pitman"
    both = (zayatz(sizes, 0.2), snb(sizes, 0.2))
    assert estimate_uniques(sizes, 0.2) == min(both, key=lambda estimate: estimate.population_uniques)
    assert estimate_uniques(sizes, 0.2, "pitman").estimator == "pitman"
    assert estimate_uniques(sizes, 0.05, "snb").estimator == "snb"


def slide_sizes(rng: np.random.Generator, classes: int, a: float, b: float) -> np.ndarray:
    """Population classes of the slide negative binomial model."""
    return 1 + rng.negative_binomial(a, b, classes)


@pytest.mark.parametrize(("a", "b", "fraction"), [(0.5, 0.2, 0.3), (2.0, 0.5, 0.2), (1.0, 0.7, 0.5)])
def test_the_slide_negative_binomial_finds_its_own_uniques(a: float, b: float, fraction: float) -> None:
    """On populations of its own model it is right on average."""
    rng = np.random.default_rng(3)
    ratios = []
    for _ in range(6):
        population = slide_sizes(rng, 5_000, a, b)
        sample = rng.binomial(population, fraction)
        estimate = snb(sample[sample > 0], fraction)
        truth = int((population == 1).sum())
        ratios.append(estimate.population_uniques / truth)
    assert np.mean(ratios) == pytest.approx(1, abs=0.2)


def test_in_a_census_everything_is_counted() -> None:
    """At a fraction of 1 the table is the population: uniques, journalist and marketer are what the classes say."""
    found = risks(rows_in_classes([1, 1, 2, 7]), Population(fraction=1))
    assert found.uniques is not None
    assert (found.uniques.estimator, found.uniques.population_uniques, found.uniques.chance) == ("counted", 2.0, 1.0)
    assert not found.journalist.estimated
    assert found.journalist.expected is None
    table = rows_in_classes([1, 1, 2, 7]).table.drawn_from(Population(fraction=1))
    made = partition(table, bottom(table.hierarchies), Suppression("none"))
    numbers = {name: make(name)(made) for name in ("journalist-risk", "marketer-risk", "population-uniques")}
    assert numbers == {"journalist-risk": 1.0, "marketer-risk": 4 / 11, "population-uniques": 2.0}


def test_with_a_share_the_numbers_are_upper_ends() -> None:
    """Nobody is said to be safer than the rows alone show, and the expectation of a model stands beside it."""
    made = rows_in_classes([3, 5, 40])
    found = risks(made, Population(fraction=0.05))
    assert found.journalist.highest == 1 / 3
    assert found.journalist.estimated
    assert found.marketer.mean is not None
    assert found.marketer.expected is not None
    assert found.marketer.expected < found.marketer.mean <= 3 / 48
    assert "estimated, not counted" in found.marketer.basis


def test_before_and_after_on_adult() -> None:
    """The raw table has 8,841 unique rows; a release with k = 2 has none, and plain data to write."""
    table = adult_table()
    assert raw_risks(table).unique_rows == 8841
    made = partition(table, node(table.hierarchies, [3, 1, 2, 1, 1, 0, 2, 1]), Suppression("cap-max-k", 0.01))
    found = risk_change(made, Population(fraction=0.05)).to_dict()
    before, after = found["before"], found["after"]
    assert isinstance(before, dict)
    assert isinstance(after, dict)
    assert before["prosecutor"]["highest"] == 1.0
    assert after["prosecutor"]["highest"] == 0.5
    assert after["journalist"]["mean"] < before["journalist"]["mean"]


def test_an_empty_release_has_no_risk() -> None:
    """Where everything is suppressed nobody is recognised."""
    table = table_of_sizes([1, 2])
    made = partition(table, bottom(table.hierarchies), Suppression("below-k", k=9))
    found = risks(made, Population(fraction=0.5))
    assert (found.prosecutor.highest, found.journalist.mean, found.uniques) == (0.0, 0.0, None)


def test_presets_by_name() -> None:
    """The 0.09 of EMA is a class of 11; an unknown name gets its sentence."""
    assert threshold("ema-0070") == Fraction(1, 11)
    assert set(PRESETS.values()) == set(THRESHOLDS)
    with pytest.raises(BadJob, match=r"No risk preset 'ema'.*presets are: statistics-3"):
        threshold("ema")
    with pytest.raises(BadJob, match="risk threshold is 2"):
        risks(rows_in_classes([1]), thresholds=[2.0])


def test_bias_table_names_who_disappears() -> None:
    """The one row of value a is suppressed, the rows of b are not: a stands first with everything lost."""
    table = table_of_values(["a", "bbb"])
    made = partition(table, bottom(table.hierarchies), Suppression("below-k", k=2))
    found = bias_table(made, "s0")
    assert [(row.group, row.suppressed_rows, row.suppressed, row.loss) for row in found.rows] == [
        ("a", 1, 1.0, 1.0),
        ("b", 0, 0.0, 0.0),
    ]
    assert (found.suppressed_gap, found.loss_gap) == (1.0, 1.0)
    assert [table.by for table in bias_tables(made)] == ["x", "s0"]
    assert found.to_dict()["by"] == "s0"


def test_unique_on_all_columns_through_every_kind_of_source(tmp_path: Path) -> None:
    """Rows alone with all their values are counted alike in frames and files; blanks around text do not matter."""
    frame = pd.DataFrame({"a": ["x", "x ", "y", None], "b": [1, 1, 2, 2]})
    file = tmp_path / "x.csv"
    frame.to_csv(file, index=False)
    for source in (frame, pl.DataFrame(frame), pl.LazyFrame(frame), pa.Table.from_pandas(frame), file):
        found = unique_rows(source)
        assert (found.rows, found.unique, found.groups, found.share) == (4, 2, 3, 0.5)
    assert unique_rows(frame, ["b"]).unique == 0
    with pytest.raises(BadSchema, match="No column 'c'"):
        unique_rows(frame, ["c"])


def test_a_file_the_engine_stumbles_over_is_counted_or_explained(tmp_path: Path) -> None:
    """A ragged line is named, as the door names it."""
    file = tmp_path / "x.csv"
    file.write_text("a,b\n1,2\n1,2,3\n")
    with pytest.raises(BadTable, match=r"x\.csv"):
        unique_rows(file)


def test_objects_of_several_types_are_counted_by_their_text() -> None:
    """A pandas column of mixed objects is no obstacle."""
    assert unique_rows(pd.DataFrame({"a": [1, "x", "x", None]})).unique == 2


def test_adult_is_nearly_unique_on_all_columns() -> None:
    """Nearly every row of Adult is unique on its 15 columns together, although nobody is on sex."""
    found = unique_rows(adult())
    assert found.rows == 32_561
    assert found.share > 0.99
    assert unique_rows(adult(), ["sex"]).unique == 0


def test_classes_are_the_partition_of_the_raw_table() -> None:
    """Raw risks are those of the classes at the bottom."""
    table = table_of_sizes([1, 4])
    assert raw_risks(table) == risks(classes(table, bottom(table.hierarchies)))
