"""How well a column is still predicted: cross-validated ridge regression on the original, the release and the control.

The model is linear in the shares of grouped values (``relations``), with a small penalty; for a column of classes one
regression per value ranks the rows, and the area under the ROC curve (AUC) judges the ranking, for a number R² judges
the estimate. All that a fold's regression needs are tables of two columns, so no row is ever spread out, and no package
beside numpy is needed (decision 0036).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kpareto.measures.use import LabelView, numbers_of
from kpareto.tables.hierarchy import MISSING
from kpareto.tables.table import Counts
from kpareto.uses.relations import Grouped

FOLDS = 3
PENALTY = 1.0  # in rows: what a coefficient must explain
MOST_CLASSES = 10  # a column of numbers with more values is estimated, one of others is judged by its most frequent


@dataclass(frozen=True)
class Prediction:
    """How well a column is predicted from the quasi-identifiers; None where no fold has two values to tell apart."""

    column: str
    measure: str  # auc, r2
    release: float | None
    original: float | None
    control: float | None

    def to_dict(self) -> dict[str, object]:
        """As plain data."""
        return {key: value for key, value in vars(self).items() if key != "column"}


def predict(original: Grouped, release: Grouped, control: Grouped, name: str, seed: int) -> Prediction:
    """How well a column is predicted on each of them, in the same folds as far as rows are known."""
    whole = original.view.counts(name).without(MISSING)
    split = _split(whole.count, seed)
    numbers = numbers_of(whole)
    by_number = numbers is not None and int(np.count_nonzero(whole.totals)) > MOST_CLASSES
    targets = _answers(whole, numbers if by_number else None)
    values = {}
    for word, side in (("release", release), ("original", original), ("control", control)):
        counts = side.view.counts(name).without(MISSING)
        folds = _same_folds(whole, split, side.view, counts, seed)
        values[word] = _validate(side, counts, folds, targets, by_number)
    return Prediction(name, "r2" if by_number else "auc", **values)


def _split(count: np.ndarray, seed: int) -> np.ndarray:
    """The rows of each entry divided over the folds at random: (entries, folds) int64."""
    return np.random.default_rng(seed).multinomial(count.astype(np.int64), [1 / FOLDS] * FOLDS)


def _same_folds(whole: Counts, split: np.ndarray, view: LabelView, counts: Counts, seed: int) -> np.ndarray:
    """The folds of the original's rows in a view; of a file, where nobody can match rows, folds drawn alike."""
    if view.members is None:
        return _split(counts.count, seed)
    values = len(counts.values)
    row = view.members[whole.row]
    kept = row >= 0
    place = np.searchsorted(counts.row * values + counts.code, row[kept] * values + whole.code[kept])
    return np.stack([np.bincount(place, part[kept], len(counts.code)) for part in split.T], axis=1)


def _answers(counts: Counts, numbers: np.ndarray | None) -> np.ndarray:
    """What each value is to a regression: its number, or 1 in the column of its class: (values, columns) float64."""
    if numbers is not None:
        return np.asarray(numbers - numbers @ counts.totals / counts.totals.sum(), dtype=np.float64)[:, None]
    frequent = np.argsort(-counts.totals, kind="stable")[:MOST_CLASSES]
    frequent = frequent[counts.totals[frequent] > 0]
    if len(frequent) == 2:
        frequent = frequent[1:]  # two classes are one question
    answers = np.zeros((len(counts.values), len(frequent)))
    answers[frequent, np.arange(len(frequent))] = 1
    return answers


def _validate(side: Grouped, counts: Counts, folds: np.ndarray, targets: np.ndarray, by_number: bool) -> float | None:
    """The mean over folds of how well a model of the other folds does on each that can be judged."""
    sums = [_sums(side, counts, fold, targets) for fold in folds.T]
    scores = []
    for at, fold in enumerate(folds.T):
        others = [own for place, own in enumerate(sums) if place != at]
        gram, right = (np.sum([own[part] for own in others], axis=0) for part in (0, 1))
        penalty = np.full(len(gram), PENALTY)
        penalty[0] = 1e-9  # the mean is free
        inside = np.flatnonzero(fold)
        guess = _guess(side, np.linalg.solve(gram + np.diag(penalty), right))[counts.row[inside]]
        truth, rows = targets[counts.code[inside]], fold[inside]
        score = _r_squared(guess[:, 0], truth[:, 0], rows) if by_number else _auc(guess, truth, rows)
        scores += [] if score is None else [score]
    return float(np.mean(scores)) if scores else None


def _sums(side: Grouped, counts: Counts, fold: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Products of all features, the constant first, with each other and with the targets, over the rows of a fold."""
    names = side.view.names
    inside = np.flatnonzero(fold)
    entries, answers = counts.row[inside], fold[inside, None] * targets[counts.code[inside]]
    rows = np.bincount(entries, fold[inside], len(side.view.weights))
    begin = np.cumsum([1, *(side.shares[name].shape[1] for name in names)])
    gram, right = np.zeros((begin[-1], begin[-1])), np.zeros((begin[-1], targets.shape[1]))
    gram[0, 0], right[0] = rows.sum(), answers.sum(axis=0)
    for a, name in enumerate(names):
        here, shares, codes = slice(begin[a], begin[a + 1]), side.shares[name], side.codes[name]
        shown = np.bincount(codes, rows, len(shares))
        gram[here, here] = shares.T @ (shown[:, None] * shares)
        gram[0, here] = gram[here, 0] = shown @ shares
        by_label = [np.bincount(codes[entries], part, len(shares)) for part in answers.T]
        right[here] = shares.T @ np.stack(by_label, axis=1)
        for b in range(a):
            there = slice(begin[b], begin[b + 1])
            gram[here, there] = side.table(name, names[b], rows)
            gram[there, here] = gram[here, there].T
    return gram, right


def _guess(side: Grouped, model: np.ndarray) -> np.ndarray:
    """What the model says of each row of a view: (rows, targets) float64."""
    guess, begin = np.tile(model[0], (len(side.view.weights), 1)), 1
    for name in side.view.names:
        shares = side.shares[name]
        guess += (shares @ model[begin : begin + shares.shape[1]])[side.codes[name]]
        begin += shares.shape[1]
    return guess


def _r_squared(guess: np.ndarray, truth: np.ndarray, rows: np.ndarray) -> float | None:
    """R²: the share of the variance that is explained, below 0 where the mean would do better."""
    if not rows.sum():
        return None
    spread = rows @ (truth - rows @ truth / rows.sum()) ** 2
    return float(1 - rows @ (truth - guess) ** 2 / spread) if spread > 0 else None


def _auc(guess: np.ndarray, truth: np.ndarray, rows: np.ndarray) -> float | None:
    """AUC, for several classes the mean of each against all others, weighted by its rows."""
    areas, weights = [], []
    for score, own in zip(guess.T, truth.T, strict=True):
        _, place = np.unique(np.round(score, 9), return_inverse=True)  # equal rows have equal scores but for rounding
        inside = np.bincount(place, rows * own)
        outside = np.bincount(place, rows * (1 - own))
        if inside.sum() and outside.sum():
            below = np.cumsum(outside) - outside / 2
            areas.append(float(inside @ below / (inside.sum() * outside.sum())))
            weights.append(float(inside.sum()))
    return float(np.average(areas, weights=weights)) if areas else None
