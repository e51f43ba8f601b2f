"""The scikit-learn transformer: the library's own checks, and that k holds on the fitted rows."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

if TYPE_CHECKING:
    from kpareto.sklearn import Anonymizer


def anonymizer(**words: Any) -> Anonymizer:
    """The transformer, loaded when it is asked for: scikit-learn takes its time."""
    from kpareto.sklearn import Anonymizer

    return Anonymizer(**words)


def people(rows: int = 60) -> pd.DataFrame:
    """People of all ages in two towns."""
    ages = [20 + (7 * row) % 50 for row in range(rows)]
    return pd.DataFrame(
        {"age": ages, "town": ["Ulm", "Bonn"] * (rows // 2), "note": [f"n{row}" for row in range(rows)]}
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")  # array API is asked for by a variable only
def test_the_checks_of_scikit_learn() -> None:
    """Every check that scikit-learn has for transformers passes."""
    from sklearn.utils.estimator_checks import check_estimator

    checks = check_estimator(anonymizer(k=2, output="numbers"), on_fail=None)
    assert len(checks) > 40
    assert [(each["check_name"], repr(each["exception"])) for each in checks if each["status"] == "failed"] == []


def test_k_holds_on_the_fitted_rows() -> None:
    """Labels of frames, in their own order and index; no row is lost, other columns stay as they are."""
    rows = people()
    rows.index = pd.Index(range(100, 160))
    fitted = anonymizer(k=6, quasi_identifiers=["age", "town"]).fit(rows)
    shown = fitted.transform(rows)
    assert shown.groupby(["age", "town"]).size().min() == fitted.k_ >= 6
    assert list(shown.index) == list(rows.index)
    assert list(shown["note"]) == list(rows["note"])
    assert 0 < fitted.kept_ < 100
    assert "age" in fitted.remarks_[-1]
    pairs = zip(rows["age"], shown["age"], strict=True)
    assert all(low <= age <= high for age, label in pairs for low, high in [map(int, label.split("-"))])


def test_frames_and_arrays_come_back_as_what_they_were() -> None:
    """Polars gives polars, an array an array; the names are those that came in."""
    rows = people().drop(columns="note")
    polars = pl.from_pandas(rows)
    fitted = anonymizer(k=3).fit(polars)
    assert isinstance(fitted.transform(polars), pl.DataFrame)
    assert list(fitted.get_feature_names_out()) == ["age", "town"]
    array = anonymizer(k=3).fit_transform(rows.to_numpy())
    assert array.shape == (60, 2)
    assert array.dtype == object


def test_new_values_are_starred_numbered_or_refused() -> None:
    """A town that no fitted row has is a star, or no number; numbers find their interval; error is a ValueError."""
    rows, new = people().drop(columns="note"), pd.DataFrame({"age": [21, 300], "town": ["Ulm", "Rom"]})
    starred = anonymizer(k=3).fit(rows).transform(new)
    assert starred["town"].tolist() == ["Ulm", "*"]
    numbers = anonymizer(k=3, output="numbers").fit(rows).transform(new)
    assert np.isnan(numbers["town"].tolist()[1])
    assert numbers["age"].dtype == np.float64
    with pytest.raises(ValueError, match="that the recoding does not know"):
        anonymizer(k=3, unseen="error").fit(rows).transform(new)


def test_shares_give_each_value_its_part_of_a_group() -> None:
    """A column for each fitted value; a group that nobody knows is any value."""
    rows = pd.DataFrame({"age": [21, 22, 31, 32], "note": [1, 2, 3, 4]})
    wish = {"k": 2, "quasi_identifiers": ["age"], "hierarchies": {"age": {"intervals": [10]}}}
    made = anonymizer(**wish, output="shares").fit(rows)
    shares = made.transform(pd.DataFrame({"age": [21, 32, 77], "note": [1, 2, 3]}))
    assert list(shares.columns) == list(made.get_feature_names_out()) == [*(f"age={a}" for a in rows["age"]), "note"]
    assert shares.to_numpy().tolist() == [[0.5, 0.5, 0, 0, 1], [0, 0, 0.5, 0.5, 2], [0.25] * 4 + [3]]


def test_it_stands_in_a_pipeline_and_is_kept() -> None:
    """A model learns from the numbers, and a pickled pipeline answers alike."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    rows = people(200).drop(columns="note")
    target = rows["age"] > 45
    pipeline = make_pipeline(anonymizer(k=5, output="numbers"), LogisticRegression()).fit(rows, target)
    assert pipeline.score(rows, target) > 0.8
    again = pickle.loads(pickle.dumps(pipeline))
    assert (again.predict(rows) == pipeline.predict(rows)).all()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"k": 0}, "k is 0. Give a whole number"),
        ({"k": 100}, "k = 100 needs as many rows, and n_samples = 60"),
        ({"output": "text"}, "output is 'text'. Give one of: labels, numbers."),
        ({"unseen": "drop"}, "unseen is 'drop'. Give one of"),
        ({"quasi_identifiers": ["agee"]}, "No column 'agee' in the table. Did you mean 'age'"),
        ({"hierarchies": {"agee": {"flat": True}}}, "No quasi-identifier 'agee'"),
    ],
)
def test_wrong_parameters_are_value_errors(words: dict[str, Any], sentence: str) -> None:
    """Parameters are checked when fitted, as scikit-learn has it, with our sentences."""
    with pytest.raises(ValueError, match=sentence.replace("?", r"\?")):
        anonymizer(**words).fit(people())
