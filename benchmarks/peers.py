"""What others lose by local recoding on the same tables: figures that were measured once, and Mondrian as published.

ARX's figures are those of its iterative local recoding (version 3.9, nothing suppressed), run on Adult with our
hierarchies and with its own example hierarchies, on FARS and, not at all, on Census-Income. A package that recodes
locally in Python, lighthouse, was run on Adult with ARX's hierarchies and left out about 290 rows.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kpareto.searches.local.problem import LocalWish, make_problem
from kpareto.tables.table import Table

KS = (2, 5, 10, 25, 50, 100)
Figures = Mapping[int, float]  # LM by k


def _figures(*losses: float) -> dict[int, float]:
    return dict(zip(KS, losses, strict=True))


ARX_ADULT = _figures(0.0116, 0.0297, 0.0457, 0.0719, 0.0984, 0.1294)
ARX_EXAMPLE = _figures(0.0128, 0.0311, 0.0469, 0.0738, 0.1010, 0.1349)
LIGHTHOUSE_EXAMPLE = {2: 0.033, 5: 0.074, 10: 0.110, 50: 0.237}
# On the real FARS: ARX and our relaxed Mondrian. Our lookalike has other rows, so only their ratio can be compared.
ARX_FARS = _figures(0.0034, 0.0100, 0.0172, 0.0303, 0.0448, 0.0658)
MONDRIAN_FARS = _figures(0.0036, 0.0106, 0.0185, 0.0338, 0.0514, 0.0769)


def publish_mondrian(table: Table, k: int) -> float:
    """The LM of Mondrian as published (LeFevre et al. 2006, strict): the widest column is cut at its median.

    The paper shows ranges; here, as in every tool with hierarchies, a class shows the smallest node that holds it.
    """
    problem = make_problem(table, LocalWish(k))
    codes, labels = problem.pieces.codes, problem.labels
    weights = problem.copies * problem.pieces.size
    spans = np.maximum(labels.width - 1, 1)
    waiting, lost = [np.arange(len(codes))], 0
    while waiting:
        inside = waiting.pop()
        own = codes[inside]
        low, high = own.min(axis=0), own.max(axis=0)
        for column in np.argsort(-(high - low) / spans, kind="stable").tolist():
            left = own[:, column] <= _median(own[:, column], weights[inside])
            rows = int(weights[inside][left].sum())
            if min(rows, int(weights[inside].sum()) - rows) >= k:
                waiting += [inside[left], inside[~left]]
                break
        else:
            cells = labels.losses[labels.base + labels.width * low + high]
            lost += int(cells.sum()) * int(weights[inside].sum())
    return float(lost * problem.unit)


def _median(values: np.ndarray, weights: np.ndarray) -> int:
    """The value at which half the rows are reached."""
    rows = np.cumsum(np.bincount(values, weights=weights))
    return int(np.searchsorted(rows, rows[-1] / 2))
