"""How much information is lost at the same epsilon, with the whole lattice at once and with a walk of several steps.

For public tables alone: the losses tell about the rows, and no epsilon covers them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from statistics import median

import numpy as np

from kpareto.errors import BadInput
from kpareto.releases.private.private_release import PrivatePlan, PrivateRelease, show
from kpareto.releases.private.scores import PrivateScore, choose_node, make_score, noisy_maximum, score_nodes
from kpareto.tables.lattice import Lattice
from kpareto.tables.table import Table


@dataclass(frozen=True)
class ChoiceComparison:
    """Losses of runs: the share of the information in the rows drawn that the release does not show (LM)."""

    plan: PrivatePlan
    whole: tuple[float, ...]
    stepwise: tuple[float, ...]
    best: float  # of the node with the highest score, chosen without noise

    @property
    def medians(self) -> tuple[float, float]:
        """Whole lattice, step by step."""
        return median(self.whole), median(self.stepwise)


def compare(
    table: Table, plan: PrivatePlan, score_name: str = "granularity", runs: int = 200, steps: int = 100
) -> ChoiceComparison:
    """So many runs of both ways of choosing, each shown with fresh draws."""
    if runs < 1:
        raise BadInput(f"The comparison has {runs} runs. Give at least 1.")
    lattice = Lattice(table.hierarchies)
    score = make_score(score_name, table.hierarchies, plan.beta, plan.k)
    scores = score_nodes(table, score)

    def loss(number: int) -> float:
        recoding = lattice.decode(lattice.levels(np.array([number]))[0])
        return release_loss(show(table, recoding, plan, score.name), table.rows)

    def losses(choose: Callable[[], int]) -> tuple[float, ...]:
        return tuple(loss(choose()) for _ in range(runs))

    return ChoiceComparison(
        plan,
        losses(lambda: choose_node(scores, plan.epsilon_search, score)),
        losses(lambda: walk_nodes(lattice, scores, plan.epsilon_search, score, steps)),
        loss(int(np.argmax(scores))),
    )


def release_loss(release: PrivateRelease, rows: int) -> float:
    """LM of a release, against beta times the rows: a row that was drawn and dropped loses all, and so on average
    the loss is that of the rows drawn (their exact number is not part of a release)."""
    kept = Fraction(0)
    for column, cut in enumerate(release.recoding.cuts):
        leaves = np.bincount(cut)
        whole = max(len(cut) - 1, 1)
        worth = whole - (leaves - 1)
        kept += Fraction(int(worth[release.groups[:, column]] @ release.counts), whole)
    return 1 - float(kept / (release.plan.beta * rows * len(release.recoding.cuts)))


def walk_nodes(lattice: Lattice, scores: np.ndarray, epsilon: Fraction, score: PrivateScore, steps: int) -> int:
    """A node chosen by SafePub's walk from the top (Bild, Kuhn and Prasser 2018), each step with its part of epsilon.

    In every step the nodes just below the current one become candidates, and the next current one is picked among the
    candidates not taken yet. Last, one of the nodes taken is picked, with a part of epsilon like every step: taking the
    best of them by its true score would be one more look at the rows, and nobody would have paid for it.
    """
    if steps < 0:
        raise BadInput(f"The walk has {steps} steps. Give a whole number of at least 0.")
    part = epsilon / (steps + 1)
    measurement = noisy_maximum(part, score.sensitivity, score.monotone)
    current = lattice.size - 1
    taken = [current]
    waiting: dict[int, None] = {}  # candidates not taken yet, in the order they were found
    for _ in range(steps):
        waiting.update(dict.fromkeys(node for node in _just_below(lattice, current) if node not in taken))
        if not waiting:
            break
        places = list(waiting)
        current = places[int(measurement([int(scores[node]) for node in places]))]
        del waiting[current]
        taken.append(current)
    return taken[int(measurement([int(scores[node]) for node in taken]))]


def _just_below(lattice: Lattice, node: int) -> list[int]:
    """Nodes with one column one level lower."""
    levels = lattice.levels(np.array([node]))[0].tolist()
    return [node - stride for stride, level in zip(lattice.strides, levels, strict=True) if level > 0]
