"""Every measure has plain words, and a loss of cells can be told as the share of detail that is kept."""

from __future__ import annotations

import pytest

from kpareto.measures import MAKERS, make
from kpareto.measures.cells import CellLoss
from kpareto.measures.measure import aspect_of
from kpareto.measures.plain import PLAIN, PROMISES, USUAL, USUAL_OF_POPULATION, most_lost, plain_of, promise_of
from kpareto.tables.adult import adult_table
from kpareto.tables.partition import classes
from kpareto.tables.recoding import bottom, top
from tests.measures.test_measure import NEEDS


def test_every_measure_has_plain_words() -> None:
    """None is left out, none is too many, and no two labels of the usual ones but those of losses are alike."""
    assert set(PLAIN) == set(MAKERS)
    assert all(each.label and each.words for each in PLAIN.values())
    labels = [PLAIN[name].label for name in (*USUAL, *USUAL_OF_POPULATION) if PLAIN[name].reading != "kept"]
    assert len(labels) == len(set(labels))


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_a_limit_promises_something_in_a_sentence(name: str) -> None:
    """Of every measure, with its number; a sensitive column is named where there is one only."""
    sentence = promise_of(make(NEEDS.get(name, name)), 0.25, "rows", ["ill"])
    assert sentence.endswith(".")
    assert "{" not in sentence
    if name in PROMISES:
        assert {"25%", "0.25", "1.28", "75%"} & {*sentence.replace(".", " ").split(), *sentence.rstrip(".").split()}
        assert aspect_of(make(NEEDS.get(name, name))).side == "privacy"


def test_a_promise_names_what_it_is_about() -> None:
    """A column or a value that a limit names, all sensitive ones where it names none, and one is not several."""
    assert "different values of each sensitive column" in promise_of(make("l"), 2, "rows", ["ill", "pay"])
    assert "1 different value of pay" in promise_of(make("l(column=pay)"), 1, "rows", ["ill", "pay"])
    assert "share the value 'hiv' of ill" in promise_of(make("alpha(column=ill, value=hiv)"), 0.5, "rows", ["ill"])
    assert promise_of(make("k"), 1, "persons", []).endswith("fewer than 1 person.")


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_what_is_told_as_kept_is_a_loss_of_cells(name: str) -> None:
    """And no other measure is; bits are not, as a suppressed row loses more of them than a hidden one."""
    measure = make(NEEDS.get(name, name))
    assert (plain_of(measure).reading == "kept") == (isinstance(measure, CellLoss) and measure.unit != "bits")


def test_the_usual_ones_of_a_population_are_all_there_are() -> None:
    """They are offered where a population is known, so none of the others may need one."""
    assert set(USUAL_OF_POPULATION) == {n for n in MAKERS if aspect_of(make(NEEDS.get(n, n))).population}


@pytest.mark.parametrize("name", ["glm", "lm", "nwp", "precision-loss"])
def test_nothing_is_kept_where_everything_is_hidden(name: str) -> None:
    """The most that can be lost is what the top of all hierarchies loses."""
    table = adult_table("default")
    hidden = classes(table, top(table.hierarchies))
    measure = make(name)
    most = most_lost(measure, table)
    assert most is not None
    assert measure(hidden) == pytest.approx(most)
    assert measure(classes(table, bottom(table.hierarchies))) == pytest.approx(0)
    assert most_lost(make("k"), table) is None
