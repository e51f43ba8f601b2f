"""Measures that know how they are counted: the same numbers through the kernels and through partitions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.fronts.problem import Problem, problem
from kpareto.kernels.histograms import is_worse
from kpareto.kernels.words import ALPHA, CLASSES, DISTINCT, SQUARES, SUPPRESSED
from kpareto.measures.measure import Aspect, Better, Model, Number, is_privacy, make, meets, trends
from kpareto.measures.reading import ClassNumber, Questions, Reading, real, whole
from kpareto.tables.lattice import Lattice
from kpareto.tables.partition import Partition, Suppression
from tests.fronts.test_problem import by_partitions
from tests.tables.test_partition import table_of_sizes
from tests.twins.strategies import Case, cases


def class_mean(partition: Partition) -> float:
    """A user's own number: the rows that share a class with a kept row, on average."""
    kept = partition.rows[~partition.suppressed]
    return float((kept @ kept) / max(int(kept.sum()), 1))


def read_class_mean(ask: Questions) -> Reading:
    """The same number off the kernels' statistics."""
    rows, squares, lost = ask.table.rows, ask.ints(SQUARES), ask.ints(SUPPRESSED)
    return real(lambda c: squares(c) / np.maximum(rows - lost(c), 1))


OWN = Number("class-mean", "lower", "rows", trends("either"), class_mean, reading=read_class_mean)
SPLIT = Number(
    "split", "higher", "classes", trends("falls"), lambda p: float(p.classes),
    reading=lambda ask: whole(ask.ints(CLASSES), higher=True),
)  # fmt: skip


@settings(max_examples=40)
@given(case=cases(persons=False), data=st.data())
def test_a_users_measure_is_compiled_by_the_same_door(case: Case, data: st.DataObject) -> None:
    """With a reading it gives the numbers that it gives by partition, and the same order of recodings."""
    rules = (Suppression("none"), Suppression("cap-max-k", 2), Suppression("below-k", k=2))
    rule = data.draw(st.sampled_from(rules))
    judged = problem(case.table, ["k", OWN, SPLIT], rule)
    assert judged.translation is not None
    lattice = Lattice(case.table.hierarchies)
    genomes = lattice.levels(np.arange(lattice.size))
    compiled, slow = judged.evaluate(lattice, genomes), by_partitions(judged)
    released = compiled.feasible
    assert released.tolist() == slow.feasible.tolist()
    assert np.allclose(compiled.values[released], slow.values[released], rtol=1e-12)
    for column in range(3):
        places = [np.unique(numbers.keys[released, column], return_inverse=True)[1] for numbers in (compiled, slow)]
        assert places[0].tolist() == places[1].tolist()


@settings(max_examples=40)
@given(case=cases(persons=False), limit=st.sampled_from([0.4, 0.5, 2 / 3, 1.0]))
def test_a_users_model_judges_classes_in_the_kernels(case: Case, limit: float) -> None:
    """With a class number of the kernels it suppresses the classes that it suppresses by partition."""
    known = make("alpha(column=s0)")
    assert isinstance(known, Model)
    own = replace(known, name="most-common", parameters=None, judged=ClassNumber(ALPHA, column="s0"))
    rule = Suppression("as-needed", 0.5, fails=(own.fails(limit),))
    judged = Problem(case.table, (make("lm"),), rule, ((own, limit),))
    assert judged.translation is not None
    lattice = Lattice(case.table.hierarchies)
    compiled, slow = judged.evaluate(lattice, lattice.levels(np.arange(lattice.size))), by_partitions(judged)
    assert compiled.suppressed.tolist() == slow.suppressed.tolist()
    bare = replace(judged, limits=((replace(own, judged=None), limit),))
    assert bare.translation is None


def test_a_measure_without_a_reading_goes_by_partition() -> None:
    """Nothing is guessed from a name: a user's k is not ours."""
    named_k = Number("k", "higher", "rows", trends("either"), lambda partition: 7.0)
    assert problem(table_of_sizes([1, 2]), [named_k]).translation is None
    assert not is_privacy(named_k)
    assert is_privacy(replace(named_k, aspect=Aspect("privacy")))


@given(
    limit=st.floats(-1e6, 1e6) | st.sampled_from([1 / 3, 0.1, 5.0, 1e9]),
    off=st.floats(-1, 1) | st.sampled_from([0.0, 1e-13, -1e-13, 1e-11, -1e-11]),
    better=st.sampled_from(["lower", "higher"]),
)
def test_limits_are_met_alike_in_the_kernels(limit: float, off: float, better: Better) -> None:
    """The compiled twin says of every number what ``meets`` says."""
    kind = DISTINCT if better == "higher" else ALPHA
    assert bool(meets(better, limit + off, limit)) == (not is_worse(kind, limit + off, limit))


@pytest.mark.parametrize(("value", "limit"), [(1 / 3, 0.3333333333333), (0.1 + 0.2, 0.3), (5 * (1 + 1e-13), 5.0)])
def test_a_value_does_not_miss_its_own_limit(value: float, limit: float) -> None:
    """Rounding in the last digits decides nothing, whichever side is better."""
    assert meets("higher", value, limit)
    assert meets("lower", value, limit)
    assert not meets("lower", value + 1e-9, limit)
