"""How anonymous a table is as it stands: against counting by hand, and against the measures and risks themselves."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kpareto as kp
from kpareto.errors import BadJob, BadSchema
from kpareto.releases.risk import pycanon

PEOPLE = pd.DataFrame(
    {
        "age": [34, 34, 34, 51, 51, 88],
        "zip": ["10", "10", "10", "10", "20", "20"],
        "sex": ["f", "f", "m", "m", "m", "m"],
        "ill": ["flu", "flu", "flu", "hiv", "flu", "hiv"],
    }
)


def by_hand(frame: pd.DataFrame, columns: list[str]) -> int:
    """Rows that are alone with their values, by pandas."""
    return int((frame.groupby(columns, dropna=False)[columns[0]].transform("size") == 1).sum())


@given(st.integers(0, 2**32 - 1))
def test_what_singles_people_out_is_what_pandas_counts(seed: int) -> None:
    """Columns, pairs, all but one and all together single out the rows that a GROUP BY finds alone."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {name: rng.integers(0, most, 40).astype(str) for name, most in zip("abc", (3, 6, 30), strict=True)}
    )
    answer = kp.measure(frame, ["a", "b", "c"])
    assert answer.unique.unique == by_hand(frame, ["a", "b", "c"])
    assert {each.columns[0]: each.unique for each in answer.columns} == {c: by_hand(frame, [c]) for c in "abc"}
    pairs = {each.columns: each.unique for each in answer.pairs}
    assert pairs == {pair: by_hand(frame, list(pair)) for pair in combinations("abc", 2)}
    assert answer.without == {c: by_hand(frame, [o for o in "abc" if o != c]) for c in "abc"}
    assert answer.k == frame.groupby(list("abc")).size().min()
    assert [each.unique for each in answer.pairs] == sorted(pairs.values(), reverse=True)


def test_numbers_are_those_of_the_measures() -> None:
    """The numbers of a sensitive column are the same that pyCANON's functions give one by one."""
    answer = kp.measure(PEOPLE, ["zip", "sex"], "ill")
    (ill,) = answer.sensitive
    assert ill.numbers["l"] == pycanon.l_diversity(PEOPLE, ["zip", "sex"], "ill")
    assert ill.numbers["t"] == pycanon.t_closeness(PEOPLE, ["zip", "sex"], "ill")
    assert ill.numbers["alpha"] == pycanon.alpha_k_anonymity(PEOPLE, ["zip", "sex"], "ill")[0]
    assert ill.numbers["beta"] == pycanon.basic_beta_likeness(PEOPLE, ["zip", "sex"], "ill")
    assert ill.numbers["delta"] == pycanon.delta_disclosure(PEOPLE, ["zip", "sex"], "ill")
    assert answer.risks.prosecutor.highest == 1 / answer.k


def test_rows_most_at_risk_come_first() -> None:
    """A row that one column singles out stands before one that needs a pair, and each says by what it is alone."""
    answer = kp.measure(PEOPLE, ["age", "zip", "sex"], rows=3)
    assert [each.size for each in answer.riskiest] == [1, 1, 1]
    assert answer.riskiest[0].values == {"age": "88", "zip": "20", "sex": "m"}
    assert answer.riskiest[0].alone_by[0] == ("age",)
    assert all("age" not in columns for columns in answer.riskiest[0].alone_by[1:])
    assert len(kp.measure(PEOPLE, ["age"], rows=0).riskiest) == 0


def test_rows_are_in_the_bands_of_their_class() -> None:
    """The rows by class size add up to the table."""
    answer = kp.measure(PEOPLE, ["age", "sex"])
    assert sum(each.rows for each in answer.bands) == 6
    assert [(each.words, each.rows) for each in answer.bands[:2]] == [("1", 2), ("2", 4)]
    assert answer.bands[-1].words == "20 or more"


def test_missing_values_are_values_of_their_own() -> None:
    """Nothing is dropped: a row without a value is counted with the others that have none."""
    frame = PEOPLE.assign(zip=pd.Series(["10", None, None, None, "20", None]))
    answer = kp.measure(frame, ["zip"])
    assert (answer.rows, answer.k, answer.unique.unique) == (6, 1, 2)


def test_a_population_gives_the_other_risks() -> None:
    """A table of everybody, a share and a number of people each make journalist and marketer known."""
    everybody = pd.concat([PEOPLE] * 4)
    table = kp.measure(PEOPLE, ["age", "sex"], population=everybody)
    assert table.risks.journalist.highest == 1 / 4
    assert table.riskiest[0].people == 4
    share, number = kp.measure(PEOPLE, ["age"], population=0.25), kp.measure(PEOPLE, ["age"], population=24)
    assert share.risks.marketer.mean == number.risks.marketer.mean
    assert kp.measure(PEOPLE, ["age"]).risks.journalist.mean is None


def test_persons_are_counted_where_they_are_told_apart() -> None:
    """With a person column k counts persons, although each has several rows."""
    visits = pd.concat([PEOPLE.assign(id=range(6))] * 3)
    assert kp.measure(visits, ["age"]).k == 3
    answer = kp.measure(visits, ["age"], person="id")
    assert (answer.k, answer.persons) == (1, 6)


def test_what_is_printed_holds_no_value() -> None:
    """The repr of the answer and of a risky row show counts, never a value; the summary names columns alone."""
    answer = kp.measure(PEOPLE, ["age", "zip"], ["ill"])
    for text in (repr(answer), repr(answer.riskiest), answer.summary()):
        assert "88" not in text
        assert "hiv" not in text
    assert len(repr(answer)) < 100


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ({"quasi": {"age": 1}}, BadSchema, "{'age': 1} are no names of columns."),
        ({"quasi": 3}, BadSchema, "3 are no names of columns. Give a list"),
        ({"quasi": ["age", 3]}, BadSchema, "3 is no name of a column."),
        ({"quasi": []}, BadSchema, "No column is a quasi-identifier"),
        ({"quasi": ["agee"]}, BadSchema, "Did you mean 'age'?"),
        ({"quasi": "age", "rows": -1}, BadJob, "rows is -1. Give a whole number of at least 0."),
        ({"quasi": "age", "population": 3}, BadJob, "population is 3, and the table has 6 rows"),
    ],
)
def test_wrong_wishes_are_sentences(wrong: dict[str, object], error: type[Exception], words: str) -> None:
    """What cannot be is said in a sentence of ours."""
    with pytest.raises(error, match=words.replace("{", r"\{").replace("?", r"\?")):
        kp.measure(PEOPLE, **wrong)  # type: ignore[arg-type]  # that is the point
