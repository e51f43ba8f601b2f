"""Columns that tell what a generalized one hides, by any arithmetic, under any role; and those that tell nothing."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest

import kpareto as kp
from kpareto.releases.risk import disclosing_columns
from kpareto.releases.risk.disclosing_columns import (
    MOSTLY,
    Hidden,
    count_mostly,
    count_narrowed,
    count_told,
    in_order,
    order_told,
)

pytestmark = pytest.mark.dangers
ROWS = 1500
CHANCE = random.Random(5)
AGE = [CHANCE.randint(20, 59) for _ in range(ROWS)]
DAYS = [int(age * 365.25) + CHANCE.randint(0, 364) for age in AGE]
DRAWN = [CHANCE.randint(0, 99) for _ in range(ROWS)]
OTHER = [CHANCE.randint(0, 50) for _ in range(ROWS)]
SEEN = [date(2000, 1, 1) + timedelta(days=37 * row % 1400) for row in range(ROWS)]
BORN = [date(2024, 1, 1) - timedelta(days=days) for days in DAYS]
HIERARCHIES = {"age": {"intervals": [10, 20], "from": 0}, "zip": {"prefix": [4]}}

TELLING: Mapping[str, Mapping[str, Sequence[object]]] = {
    "year of birth": {"x": [2024 - age for age in AGE]},
    "in days": {"x": DAYS},
    "with decimals": {"x": [round(age + CHANCE.random() * 0.99, 3) for age in AGE]},
    "its logarithm": {"x": [round(math.log(days), 6) for days in DAYS]},
    "a date of birth": {"x": [f"{day:%d.%m.%Y}" for day in BORN]},
    "a code that begins with it": {"x": [f"{age}{CHANCE.randint(0, 99999):05d}X" for age in AGE]},
    "a code that ends with it": {"x": [f"{CHANCE.randint(0, 99999):05d}K{age}" for age in AGE]},
    "with a little noise": {"x": [round(age + CHANCE.gauss(0, 0.8), 2) for age in AGE]},
    "with noise of a year": {"x": [round(age + CHANCE.gauss(0, 1.0), 2) for age in AGE]},
    "a band of two years": {"x": [f"{age // 2 * 2}-{age // 2 * 2 + 1}" for age in AGE]},
    "a code of a band": {"x": ["QWERTZUIOPASDFGHJKLY"[age // 2 * 7 % 20] for age in AGE]},
    "a band of five years": {"x": [f"{age // 5 * 5}-{age // 5 * 5 + 4}" for age in AGE]},
    "with noise in whole years": {"x": [age + CHANCE.choice([-1, 0, 0, 0, 1]) for age in AGE]},
    "a copy of three in four rows": {"x": [age if CHANCE.random() < 0.75 else CHANCE.choice(AGE) for age in AGE]},
    "a copy with slips": {"x": [f"{age}" if CHANCE.random() < 0.85 else f"{age}"[::-1] for age in AGE]},
    "in nine of ten rows": {"x": [None if CHANCE.random() < 0.1 else float(days) for days in DAYS]},
    "a sum": {"x": DRAWN, "y": [a + b for a, b in zip(AGE, DRAWN, strict=True)]},
    "a difference": {"x": DRAWN, "y": [b - a for a, b in zip(AGE, DRAWN, strict=True)]},
    "a product": {"x": [b + 1 for b in DRAWN], "y": [a * (b + 1) for a, b in zip(AGE, DRAWN, strict=True)]},
    "a quotient": {"x": [b + 1 for b in DRAWN], "y": [round(a / (b + 1), 6) for a, b in zip(AGE, DRAWN, strict=True)]},
    "three columns": {
        "w": DRAWN,
        "x": OTHER,
        "y": [a + b - 3 * c for a, b, c in zip(AGE, DRAWN, OTHER, strict=True)],
    },
    "a visit and the age then": {
        "x": [day.isoformat() for day in SEEN],
        "y": [int((seen - born).days / 365.25) for seen, born in zip(SEEN, BORN, strict=True)],
    },
}
SILENT: Mapping[str, Mapping[str, Sequence[object]]] = {
    "a number by chance": {"x": [CHANCE.randint(0, 10**6) for _ in AGE]},
    "two numbers by chance": {"x": DRAWN, "y": OTHER},
    "something that goes with age": {"x": [round(100 * age + CHANCE.gauss(0, 600)) for age in AGE]},
    "a copy of some rows": {"x": [age if CHANCE.random() < 0.2 else CHANCE.choice(AGE) for age in AGE]},
    "what many of an age have": {"x": [CHANCE.choice(["a", "b", "c", f"d{age // 5}"]) for age in AGE]},
    "the same everywhere": {"x": [1] * ROWS},
}


def people(more: Mapping[str, Sequence[object]], ordered: bool = False) -> pd.DataFrame:
    """A table with some columns beside age."""
    ill = [CHANCE.choice(["flu", "cold", "gout"]) for _ in AGE]
    frame = pd.DataFrame({"age": AGE, "zip": [f"0213{row * 7 % 10}" for row in range(ROWS)], "ill": ill, **more})
    return frame.sort_values("age") if ordered else frame


def anonymized(frame: pd.DataFrame, **more: object) -> kp.Anonymized:
    """Age in steps of ten or twenty years."""
    return kp.anonymize(frame, ["age", "zip"], k=20, hierarchies=HIERARCHIES, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", TELLING)
def test_what_tells_stops_a_release(kind: str) -> None:
    """Columns that were meant to leave as they are, and tell the age, are a danger that names them."""
    more = TELLING[kind]
    with pytest.raises(kp.Unsafe, match=r"W17: .*hides") as caught:
        anonymized(people(more), sensitive_attributes=["ill"], plain=list(more), accept=["W1", "W2"])
    assert all(repr(name) in str(caught.value) for name in more)
    assert "--accept W17" in str(caught.value)


@pytest.mark.parametrize("kind", [kind for kind in TELLING if kind != "a code that begins with it"])  # an identifier
def test_what_tells_is_tied_where_nobody_decided(kind: str) -> None:
    """Without a word about it a column that tells shows the groups of the age, and that is said."""
    more = TELLING[kind]
    done = anonymized(people(more), sensitive_attributes=["ill"], accept=["W1", "W2"])
    tied = [name for name in more if (done.data[name] == done.data["age"]).all()]
    assert len(tied) == 1
    assert any(f"Column '{tied[0]}' tells what 'age' hides" in remark for remark in done.release.remarks)
    assert "W17" not in [each.id for each in done.warnings]


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("kind", SILENT)
def test_what_tells_nothing_is_let_alone(kind: str, ordered: bool) -> None:
    """Chance and mere likelihood are no disclosure, also where the rows of the source are in the order of age."""
    more = SILENT[kind]
    done = anonymized(people(more, ordered), sensitive_attributes=["ill"], plain=list(more), accept=["W1", "W2"])
    assert done.release.disclosing_columns == ()


def test_a_sensitive_column_is_asked() -> None:
    """A birth year that is called sensitive tells the age all the same; a tie is not offered for it."""
    frame = people({"byear": [2024 - age for age in AGE]})
    with pytest.raises(kp.Unsafe, match="W17: 'byear' tells what 'age' hides in every row") as caught:
        anonymized(frame, sensitive_attributes=["ill", "byear"], accept=["W1", "W2"])
    assert "tie =" not in str(caught.value)


def test_the_last_of_many_columns_is_asked() -> None:
    """However many columns come before it."""
    noise = {f"f{place:02d}": [CHANCE.randint(0, 9) for _ in AGE] for place in range(40)}
    more = {**noise, "byear": [2024 - age for age in AGE]}
    with pytest.raises(kp.Unsafe, match="W17: 'byear' tells what 'age' hides"):
        anonymized(people(more), plain=list(more), accept=["W1", "W2"])


def test_pairs_that_are_left_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are too many pairs to count, the release says how many were not asked."""
    monkeypatch.setattr(disclosing_columns, "PAIR_ROWS", 3 * ROWS)
    more = {f"f{place}": [CHANCE.choice("abc") for _ in AGE] for place in range(5)}
    done = anonymized(people(more), plain=list(more), accept=["W1"])
    # 6 columns with ill, so 15 pairs, of which 3 rounds of all rows are shared by what is hidden
    left = [each for each in done.release.remarks if "pairs of columns were not asked" in each]
    assert len(left) == 1


def test_counting_knows_chance() -> None:
    """A cell of a few rows proves nothing, one of many does; a group that tells it anyway leaves nothing to tell."""
    value = np.arange(400) % 4
    hidden = Hidden(np.zeros(400, dtype=np.int64), value, np.full(400, np.nan))
    assert count_told(value, hidden).exact
    assert count_told(np.arange(400), hidden).told == 0
    assert count_told(value, Hidden(value, value, hidden.number)).told == 0


def test_columns_of_honest_people_are_no_copies() -> None:
    """In Adult no column tells another one in most rows, but for education and its number."""
    rows = kp.adult().slice(0, 20_000).to_pandas()
    rows = rows[rows["workclass"] != "?"]  # who has no answer to one has none to the other
    names = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship"]
    names += ["race", "sex", "hours-per-week", "native-country", "salary-class"]
    codes = {name: np.unique(rows[name].astype(str), return_inverse=True)[1] for name in names}
    numbers = {name: pd.to_numeric(rows[name], errors="coerce").to_numpy(dtype=np.float64) for name in names}
    whole = np.zeros(len(rows), dtype=np.int64)
    told = set()
    for hidden in names:
        there = Hidden(whole, codes[hidden], numbers[hidden])
        for name in names:
            each = [count_mostly(codes[name], there), count_narrowed(codes[name], there)]
            each += [order_told(in_order(numbers[name]), there, MOSTLY)] if there.numeric else []
            if name != hidden and max(one.share for one in each) > 0.05:
                told.add((name, hidden))
    assert told == {("education", "education-num"), ("education-num", "education")}


def test_equal_keys_keep_no_order_of_the_source() -> None:
    """A column with one value tells nothing, though the rows of the source are sorted by what is hidden."""
    value = np.repeat(np.arange(20), 50)
    hidden = Hidden(np.zeros(1000, dtype=np.int64), value, value.astype(np.float64))
    assert order_told(in_order(np.zeros(1000)), hidden).told == 0
    assert order_told(in_order(value + np.linspace(0, 0.5, 1000)), hidden).told == 1000
