"""Models: the same numbers as regressions on rows that are spread out, and as AUC counted pair by pair."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from kpareto.engines.read import read
from kpareto.measures.use import LabelView, fit_view, view_control, view_original, view_release
from kpareto.tables.partition import classes
from kpareto.tables.recoding import bottom, top
from kpareto.tables.schema import Schema
from kpareto.uses import predictions
from kpareto.uses.predictions import Prediction, predict
from kpareto.uses.relations import Grouped, group_columns, group_view
from tests.twins.use import HIERARCHIES, levels_choice, local_choice, related_rows, related_table


def sides_of(view: LabelView, original: LabelView) -> tuple[Grouped, Grouped, Grouped]:
    """Original, release and control in groups."""
    columns = group_columns(original)
    fitted, control = fit_view(view, original), view_control(original)
    return group_view(original, columns), group_view(fitted, columns), group_view(control, columns)


def slow_prediction(side: Grouped, name: str, folds: np.ndarray, targets: np.ndarray, by_number: bool) -> float:
    """The same model on one line per row of the table, features spread out, judged pair by pair or by squares."""
    counts = side.view.counts(name)
    names = side.view.names
    features = np.concatenate([side.shares[n][side.codes[n]][counts.row] for n in names], axis=1)
    features = np.column_stack((np.ones(len(features)), features))
    penalty = np.diag([1e-9] + [predictions.PENALTY] * (features.shape[1] - 1))
    scores = []
    for fold in range(folds.shape[1]):
        rest = folds.sum(axis=1) - folds[:, fold]
        answers = targets[counts.code]
        model = np.linalg.solve(
            features.T @ (rest[:, None] * features) + penalty, features.T @ (rest[:, None] * answers)
        )
        guess, own = features @ model, folds[:, fold]
        if by_number:
            mean = own @ answers[:, 0] / own.sum()
            scores.append(1 - own @ (answers - guess)[:, 0] ** 2 / (own @ (answers[:, 0] - mean) ** 2))
            continue
        areas, weights = [], []
        for at in range(targets.shape[1]):
            won = total = 0.0
            for i, j in product(np.flatnonzero(own * answers[:, at]), np.flatnonzero(own * (1 - answers[:, at]))):
                pairs, ahead = own[i] * own[j], round(guess[i, at], 9) - round(guess[j, at], 9)
                total += pairs
                won += pairs * (1 if ahead > 1e-12 else 0.5 if abs(ahead) <= 1e-12 else 0)
            areas.append(won / total)
            weights.append(float(own @ answers[:, at]))
        scores.append(np.average(areas, weights=weights))
    return float(np.mean(scores))


@pytest.mark.parametrize("name", ["ill", "income"])
def test_models_are_those_of_the_slow_twin(name: str) -> None:
    """AUC over three classes and R² of a number, from tables of two columns, equal those from rows spread out."""
    table = related_table(related_rows(150))
    original = view_original(table)
    sides = sides_of(view_release(levels_choice(table, (1, 1, 0)).partition()), original)
    answer = predict(*sides, name, seed=4)
    by_number = answer.measure == "r2"
    assert by_number == (name == "income")
    counts = original.counts(name)
    split = predictions._split(counts.count, 4)
    targets = predictions._answers(counts, counts.numbers if by_number else None)
    for side, value in zip(sides, (answer.original, answer.release, answer.control), strict=True):
        own = side.view.counts(name)
        folds = predictions._same_folds(counts, split, side.view, own, 4)
        assert folds.sum(axis=1).tolist() == own.count.tolist()
        assert value == pytest.approx(slow_prediction(side, name, folds, targets, by_number), abs=1e-6)


def numbers(answer: Prediction) -> tuple[float, float, float]:
    """Release, original, control."""
    release, original, control = (
        value for value in (answer.release, answer.original, answer.control) if value is not None
    )
    return release, original, control


def test_shown_as_it_is_predicts_like_the_original_and_hidden_like_the_control() -> None:
    """The two ends of the scale, for classes and for a number."""
    table = related_table()
    original = view_original(table)
    for name in ("ill", "income"):
        shown = predict(*sides_of(view_release(classes(table, bottom(table.hierarchies))), original), name, 1)
        hidden = predict(*sides_of(view_release(classes(table, top(table.hierarchies))), original), name, 1)
        shown_release, shown_original, _ = numbers(shown)
        hidden_release, hidden_original, hidden_control = numbers(hidden)
        assert shown_release == pytest.approx(shown_original, abs=1e-9)
        assert hidden_release == pytest.approx(hidden_control, abs=1e-9)
        assert shown_original == hidden_original > hidden_control + 0.1
    assert hidden_control <= 0


def test_labels_by_class_predict_better_than_hidden_columns() -> None:
    """A release by classes lies between original and control."""
    table = related_table()
    sides = sides_of(view_release(local_choice(table).partition()), view_original(table))
    release, original, control = numbers(predict(*sides, "income", 1))
    assert control < 0.1 < release
    assert release <= original + 0.05


def test_two_classes_are_one_question_and_a_missing_value_is_none() -> None:
    """Of sex and no value, what is ranked is one against the other."""
    rows = related_rows()
    sexes = [None if at % 7 == 0 else cell for at, cell in enumerate(rows["sex"].to_pylist())]
    rows = rows.set_column(rows.column_names.index("sex"), "sex", [sexes])
    schema = Schema(("age", "town"), sensitive=("sex",))
    plain = {name: hierarchy for name, hierarchy in HIERARCHIES.items() if name != "sex"}
    table = read(rows, schema, "category", hierarchies=plain)
    assert "(missing)" in table.sensitive[0].values
    original = view_original(table)
    answer = predict(*sides_of(view_release(classes(table, bottom(table.hierarchies))), original), "sex", 1)
    assert answer.measure == "auc"
    assert 0.5 < numbers(answer)[1] < 0.9
    assert answer.control == pytest.approx(0.5)
