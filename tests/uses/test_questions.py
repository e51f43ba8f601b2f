"""The analyst's own questions: tables and means as a person counts them, and questions that cannot be answered."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest

from kpareto.errors import BadJob
from kpareto.measures.use import fit_view, view_control, view_original, view_release
from kpareto.tables.partition import classes
from kpareto.tables.recoding import bottom, top
from kpareto.uses.questions import Answered, UseQuestion, answer, check_question, cross, read_questions
from tests.twins.use import levels_choice, plain_rows, related_rows, related_table


def answered(asked: UseQuestion, levels: tuple[int, int, int]) -> Answered:
    """How far off a question is under these levels."""
    table = related_table()
    check_question(table, asked)
    whole = view_original(table)
    evenly = view_release(levels_choice(table, levels).partition())
    return answer(table, asked, whole, (evenly, fit_view(evenly, whole), view_control(whole)))


@pytest.mark.parametrize("names", [("town",), ("town", "sex"), ("town", "ill"), ("sex", "town", "ill")])
def test_tables_are_counted_as_they_are(names: tuple[str, ...]) -> None:
    """Every cell of the original, columns that are not recoded among them."""
    table, rows = related_table(), plain_rows(related_rows())
    counts = Counter(tuple(row[name] for name in names) for row in rows)
    values = {h.name: h.leaves for h in table.hierarchies} | {c.name: c.values for c in table.sensitive}
    for view in (view_original(table), view_release(classes(table, bottom(table.hierarchies)))):
        cells = cross(view, names)
        for place, number in np.ndenumerate(cells):
            key = tuple(values[name][at] for name, at in zip(names, place, strict=True))
            assert number == pytest.approx(counts[key], abs=1e-9)


def test_a_table_is_off_by_the_rows_in_a_wrong_cell() -> None:
    """Towns by halves of the country, fitted: each row of a half is spread as the towns are frequent."""
    rows = plain_rows(related_rows())
    own, towns = Counter((row["town"], row["sex"]) for row in rows), Counter(row["town"] for row in rows)
    south = {"Ulm", "Aalen"}
    halves = Counter((row["town"] in south, row["sex"]) for row in rows)
    sizes = Counter(row["town"] in south for row in rows)
    guess = {(t, s): halves[t in south, s] * towns[t] / sizes[t in south] for t in towns for s in "fm"}
    wrong = sum(abs(guess[key] - own[key]) for key in guess) / 2 / len(rows)
    found = answered(UseQuestion(("town", "sex")), (0, 1, 0))
    assert found.error == pytest.approx(wrong, rel=1e-9)
    assert found.error < found.evenly
    assert found.error < found.control
    assert found.cells == len(own)


def test_means_are_off_by_their_mean_difference() -> None:
    """Income by town: as it is nothing is off; hidden, every town has the mean of all, as the control has."""
    rows = plain_rows(related_rows())
    incomes = defaultdict(list)
    for row in rows:
        incomes[row["town"]].append(float(row["income"]))
    overall = float(np.mean([float(row["income"]) for row in rows]))
    asked = UseQuestion(("town",), "income")
    shown, hidden = answered(asked, (0, 0, 0)), answered(asked, (0, 2, 0))
    wrong = sum(abs(np.mean(own) - overall) * len(own) for own in incomes.values()) / len(rows)
    assert (shown.error, shown.evenly) == pytest.approx((0, 0), abs=1e-9)
    assert hidden.error == pytest.approx(wrong, rel=1e-9)
    assert hidden.control == pytest.approx(wrong, rel=1e-9)
    assert hidden.overall == pytest.approx(overall)


def test_a_mean_of_a_quasi_identifier() -> None:
    """Ages in decades, spread evenly over those that occur, have a mean near the true one."""
    found = answered(UseQuestion(("sex",), "age"), (2, 0, 0))
    assert 0 < found.error < 1
    assert found.control > found.error


def test_hidden_is_the_control() -> None:
    """With every label hidden and fitted, a table is what the column totals give."""
    table = related_table()
    whole, hidden = view_original(table), view_release(classes(table, top(table.hierarchies)))
    found = answer(table, UseQuestion(("town", "sex")), whole, (hidden, fit_view(hidden, whole), view_control(whole)))
    assert found.error == pytest.approx(found.control, abs=1e-12)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (UseQuestion(("town", "twon")), "No quasi-identifier, sensitive or target column 'twon'. Did you mean"),
        (UseQuestion(("town", "town")), "names a column twice"),
        (UseQuestion(("ill", "income")), "two columns that no recoding touches"),
        (UseQuestion(("sex",), "ill"), "The values of 'ill' are not numbers"),
        (UseQuestion(("sex",), "town"), "The values of 'town' are not numbers"),
    ],
)
def test_a_question_without_an_answer_is_a_sentence(asked: UseQuestion, sentence: str) -> None:
    """Columns that are not there, twice, without numbers, or not counted together."""
    with pytest.raises(BadJob, match=sentence):
        check_question(related_table(), asked)


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        ({"tables": ["age"]}, "A table is asked for by 'age'"),
        ({"tables": [[]]}, "A table is asked for by"),
        ({"tables": [[1]]}, "A table is asked for by"),
        ({"means": ["age"]}, "A mean is asked for by 'age'"),
        ({"means": [{"of": "age"}]}, "A mean is asked for by"),
        ({"means": [{"of": "age", "by": "sex"}]}, "A mean is asked for by"),
        ({"means": [{"of": "age", "by": ["sex"], "in": 1}]}, "A mean is asked for by"),
    ],
)
def test_a_question_that_is_none_is_a_sentence(wish: dict[str, Any], sentence: str) -> None:
    """Words that are no list of columns, and means without a column or a group."""
    with pytest.raises(BadJob, match=sentence):
        read_questions(**wish)
