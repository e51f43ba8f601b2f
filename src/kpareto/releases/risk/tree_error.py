"""How well a decision tree learns the target from recoded rows, against the rows as they were (IY-12).

The tree is scikit-learn's with the entropy criterion, and its pruning is chosen inside the cross-validation. It is not
C4.5: splits are binary, categories are taken in leaf order, and pruning is by cost-complexity, so errors differ by a
fraction of a percent from those printed by Iyengar (2002).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from kpareto.errors import BadJob, MissingExtra, Progress
from kpareto.tables.partition import Partition
from kpareto.tables.table import Table

FOLDS = 10
PRUNINGS = (0.0, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3)


@dataclass(frozen=True)
class TreeError:
    """Cross-validated errors of one tree on the original and on the recoded rows, over the same folds."""

    target: str
    original: float  # share of rows told wrong
    recoded: float
    baseline: float  # always telling the most common value
    spread: float  # standard error of the difference over the folds
    folds: int
    seed: int

    def sentence(self) -> str:
        """The errors for a report."""
        return (
            f"A decision tree told {self.target!r} wrong in {self.recoded:.1%} of the recoded rows and in "
            f"{self.original:.1%} of the original rows (± {self.spread:.1%} between the two, {self.folds} folds); "
            f"the most common value alone would be wrong in {self.baseline:.1%}."
        )


def tree_error(
    partition: Partition,
    target: str | None = None,
    folds: int = FOLDS,
    seed: int = 1,
    report: Progress | None = None,
) -> TreeError:
    """The error of a decision tree on the rows of a partition and on the same rows before recoding.

    Suppressed rows stay in as rows that show nothing, as in the paper: dropping them would flatter the recoding.
    ``report`` is told how many trees are grown, and may raise Stopped.
    """
    return tree_errors([partition], target, folds, seed, report=report)[0]


def tree_errors(
    partitions: Sequence[Partition],
    target: str | None = None,
    folds: int = FOLDS,
    seed: int = 1,
    threads: int = 1,
    report: Progress | None = None,
) -> list[TreeError]:
    """The errors on several partitions of one table; the trees of the original rows are grown once."""
    table = partitions[0].table
    counts = table.counts(target, "target")
    if folds < 3:
        raise BadJob(f"A pruned tree needs at least 3 folds (to learn, to prune, to test), and {folds} were asked for.")
    if table.rows < folds:
        raise BadJob(
            f"The table has {table.rows:,} rows, which do not fill {folds} folds. Give more rows, or fewer folds."
        )
    if len(counts.values) < 2:
        raise BadJob(f"The target {counts.name!r} has one value only, so there is nothing to learn.")
    by_fold = _folds(counts.count, folds, np.random.default_rng(seed))
    labels = counts.code.astype(np.int64)
    shown = [table.codes]
    for partition in partitions:
        groups = partition.groups[partition.members]
        shown.append(np.where(partition.suppressed[partition.members][:, None], -1, groups))
    trees, grown = len(shown) * folds * (len(PRUNINGS) + 1), itertools.count(1)

    def tell() -> None:
        if report is not None:
            report(next(grown), trees)

    with ThreadPoolExecutor(threads) as pool:
        before, *after = pool.map(lambda cells: _errors(cells[counts.row], labels, by_fold, seed, tell), shown)
    rows = by_fold.sum(axis=0)
    return [
        TreeError(
            counts.name,
            float(before.sum() / table.rows),
            float(wrong.sum() / table.rows),
            baseline(table, target),
            float(((wrong - before) / rows).std(ddof=1) / np.sqrt(folds)),
            folds,
            seed,
        )
        for wrong in after
    ]


def baseline(table: Table, target: str | None = None) -> float:
    """The error of always telling the most common value."""
    totals = table.counts(target, "target").totals
    return float(1 - totals.max() / totals.sum())


def _folds(counts: np.ndarray, folds: int, rng: np.random.Generator) -> np.ndarray:
    """Every row goes into one fold: rows of each entry (distinct row and value) per fold, (entries, folds) int64."""
    entry = np.repeat(np.arange(len(counts)), counts)
    fold = rng.permutation(np.arange(len(entry)) % folds)
    spread = np.zeros((len(counts), folds), dtype=np.int64)
    np.add.at(spread, (entry, fold), 1)
    return spread


def _errors(
    features: np.ndarray, labels: np.ndarray, by_fold: np.ndarray, seed: int, tell: Callable[[], None]
) -> np.ndarray:
    """Rows told wrong in each fold by a tree grown on the others: (folds,) float64."""
    cells, cell_of_row = np.unique(np.column_stack((features, labels)), axis=0, return_inverse=True)
    rows = np.zeros((len(cells), by_fold.shape[1]), dtype=np.int64)
    np.add.at(rows, cell_of_row.ravel(), by_fold)
    wrong = np.zeros(by_fold.shape[1])
    for fold in range(by_fold.shape[1]):
        training = rows.sum(axis=1) - rows[:, fold]
        inner = rows[:, (fold + 1) % by_fold.shape[1]]
        tried = {}
        for alpha in PRUNINGS:
            tried[alpha] = (_wrong(cells, training - inner, inner, alpha, seed), -alpha)
            tell()
        pruning = min(PRUNINGS, key=tried.__getitem__)
        wrong[fold] = _wrong(cells, training, rows[:, fold], pruning, seed)
        tell()
    return wrong


def _wrong(cells: np.ndarray, training: np.ndarray, held_out: np.ndarray, pruning: float, seed: int) -> float:
    """Rows of the held-out part that a tree grown on the training part tells wrong."""
    try:
        from sklearn.tree import DecisionTreeClassifier
    except ImportError as error:
        raise MissingExtra(
            "Decision trees need scikit-learn, which is not installed. Install it with: pip install 'kpareto[ml]'."
        ) from error
    grown = training > 0
    tree = DecisionTreeClassifier(criterion="entropy", ccp_alpha=pruning, random_state=seed)
    tree.fit(cells[grown, :-1], cells[grown, -1], sample_weight=training[grown])
    asked = held_out > 0
    if not asked.any():
        return 0.0
    predicted = tree.predict(cells[asked, :-1])
    return float(held_out[asked][predicted != cells[asked, -1]].sum())
