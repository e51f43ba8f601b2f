"""The box archive of PBG-EA: one recoding per box of a grid over the objectives (Dewri et al., DBSEC 2010).

Objectives are turned into qualities, higher being better, and a quality is cut into boxes of width epsilon. One box
dominates another if it is at least as high everywhere and they differ; inside a box vectors are compared plainly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from kpareto.errors import BadJob
from kpareto.fronts.numbers import Numbers
from kpareto.tables.partition import Suppression, classes, suppress
from kpareto.tables.recoding import top

if TYPE_CHECKING:
    from kpareto.fronts.problem import Problem

SLACK = 1e-9  # of a box: values are rounded numbers, and one that lies on a border must fall into the same box always
Brackets = Literal["ceiling", "floor"]


@dataclass(frozen=True)
class Grid:
    """Boxes over qualities: quality = worst − value where lower is better, else the value (readings.md#pb-readings)."""

    epsilons: tuple[float, ...]  # width of the boxes, per objective
    higher: tuple[bool, ...]  # whether higher values are better
    worst: tuple[float, ...]  # what a loss is subtracted from; 0 where higher is better
    # The paper prints plain brackets around I / ε. With the ceiling its Theorem 2 holds, with the floor it does not.
    brackets: Brackets = "ceiling"

    def __post_init__(self) -> None:
        if not len(self.epsilons) == len(self.higher) == len(self.worst):
            raise BadJob(f"A grid over {len(self.higher)} objectives needs as many epsilons, not {len(self.epsilons)}.")
        for epsilon in self.epsilons:
            if not (math.isfinite(epsilon) and epsilon > 0):
                raise BadJob(f"A box of the archive is {epsilon!r} wide. Give epsilons above 0.")

    def qualities(self, values: np.ndarray) -> np.ndarray:
        """Values (n, objectives) in their own units -> qualities, higher being better."""
        return np.where(self.higher, values, np.array(self.worst) - values)

    def boxes(self, values: np.ndarray) -> np.ndarray:
        """The box of each row of values: (n, objectives) int64 (PB-4)."""
        places = self.qualities(values) / np.array(self.epsilons)
        rounded = np.ceil(places - SLACK) if self.brackets == "ceiling" else np.floor(places + SLACK)
        return np.asarray(rounded, dtype=np.int64)

    def size_bound(self, values: np.ndarray) -> int:
        """The most members an archive of these values can have: theorem 2, for either bracket.

        Quality i takes at most b = highest box − lowest box + 1 boxes. Two members that agree in all boxes but one
        would be comparable, so any objective can be left out of the product, the one with most boxes included.
        The paper multiplies ⌈K / ε⌉, the boxes above 0: by the floor that is one box too few (PB-e1).
        """
        if len(values) == 0:
            return 0
        boxes = self.boxes(values)
        counts = sorted((boxes.max(axis=0) - boxes.min(axis=0) + 1).tolist())
        return math.prod(counts[:-1])


def grid_for(problem: Problem, epsilons: Sequence[float] | None = None, brackets: Brackets = "ceiling") -> Grid:
    """The grid over a problem's objectives.

    A loss is counted down from its value when every row is suppressed. Where no epsilon is given, a box is one unit
    wide, or one row's share (1 / rows) for losses that never pass 1.
    """
    table = problem.table
    everything = classes(table, top(table.hierarchies))
    gone = suppress(everything, np.ones(len(everything.rows), dtype=np.bool_), Suppression("none"), feasible=True)
    higher = tuple(measure.better == "higher" for measure in problem.objectives)
    lost = [0.0 if up else float(m(gone)) for m, up in zip(problem.objectives, higher, strict=True)]
    worst = tuple(number if math.isfinite(number) else 0.0 for number in lost)
    plain = tuple(1.0 if up or number > 1 else 1.0 / table.rows for up, number in zip(higher, worst, strict=True))
    return Grid(plain if epsilons is None else tuple(float(e) for e in epsilons), higher, worst, brackets)


@dataclass
class BoxArchive:
    """Algorithm 1 (PB-5): first come stays. What is kept depends on the order of arrival (O12).

    Every member is non-dominated among all that was offered (theorem 1), but non-dominated ones may be missing.
    """

    grid: Grid
    genomes: np.ndarray = field(init=False)  # (members, genes) int64
    boxes: np.ndarray = field(init=False)  # (members, objectives) int64, higher is better
    keys: np.ndarray = field(init=False)  # (members, objectives) int64, lower is better
    refused: int = 0  # offers that no member dominated and that were refused all the same: the box was taken

    def __post_init__(self) -> None:
        width = len(self.grid.epsilons)
        self.genomes = np.zeros((0, 0), dtype=np.int64)
        self.boxes = np.zeros((0, width), dtype=np.int64)
        self.keys = np.zeros((0, width), dtype=np.int64)

    def __len__(self) -> int:
        return len(self.boxes)

    def offer(self, genomes: np.ndarray, numbers: Numbers) -> None:
        """Offer recodings one after the other; those that miss a limit are passed over."""
        boxes = self.grid.boxes(numbers.values)
        for place in np.flatnonzero(numbers.feasible).tolist():
            self.offer_one(genomes[place], boxes[place], numbers.keys[place])

    def offer_one(self, genome: np.ndarray, box: np.ndarray, key: np.ndarray) -> bool:
        """Whether the recoding was taken."""
        above = (self.boxes >= box).all(axis=1)
        below = (self.boxes <= box).all(axis=1)
        same = above & below
        if (above & ~same).any():
            return False  # then nothing below it is left either
        leaving = below & ~same
        if same.any():
            if not self._displaces(genome, key, int(np.argmax(same))):
                return False
            leaving |= same
        kept = ~leaving
        if len(self.genomes) == 0:
            self.genomes = self.genomes.reshape(0, len(genome))
        self.genomes = np.concatenate((self.genomes[kept], genome[None, :]))
        self.boxes = np.concatenate((self.boxes[kept], box[None, :]))
        self.keys = np.concatenate((self.keys[kept], key[None, :]))
        return True

    def _displaces(self, genome: np.ndarray, key: np.ndarray, place: int) -> bool:  # noqa: ARG002  (SteadyArchive does)
        """Whether an offer takes the place of the member of its box."""
        member = self.keys[place]
        if bool((key <= member).all() and (key < member).any()):
            return True
        self.refused += int(not bool((member <= key).all()))
        return False


@dataclass
class SteadyArchive(BoxArchive):
    """An archive whose members do not depend on the order of arrival.

    In a box it keeps the vector that comes first lexicographically (best in the first objective, then in the second
    …), and of equal vectors the genome that does. Such a vector is non-dominated in its box, so theorem 1 holds too.
    """

    def _displaces(self, genome: np.ndarray, key: np.ndarray, place: int) -> bool:
        mine = (*key.tolist(), *genome.tolist())
        return mine < (*self.keys[place].tolist(), *self.genomes[place].tolist())


@dataclass(frozen=True)
class Coverage:
    """How well an archive stands for the true front (PB-8)."""

    distance_sum: float  # CE as printed: distances to the nearest true point, added up
    distance_mean: float  # CE as the printed numbers look
    ratio: float  # RR: true boxes that hold a member
    true_boxes: int
    merged: int  # true points that share a box with another


def coverage(grid: Grid, values: np.ndarray, true: np.ndarray) -> Coverage:
    """CE and RR of the values found (members, objectives) against the true front's (points, objectives)."""
    largest = grid.qualities(true).max(axis=0)
    unit = np.where(largest == 0, 1.0, largest)
    gaps = (grid.qualities(values) / unit)[:, None, :] - (grid.qualities(true) / unit)[None, :, :]
    nearest = np.sqrt((gaps**2).sum(axis=2)).min(axis=1) if len(values) else np.zeros(0)
    distinct = np.unique(grid.boxes(true), axis=0)
    above = (distinct[None, :, :] >= distinct[:, None, :]).all(axis=2) & ~np.eye(len(distinct), dtype=np.bool_)
    wanted = {tuple(box) for box in distinct[~above.any(axis=1)].tolist()}
    have = {tuple(box) for box in grid.boxes(values).tolist()}
    total = float(nearest.sum())
    mean = total / len(values) if len(values) else 0.0
    return Coverage(total, mean, len(wanted & have) / len(wanted), len(wanted), len(true) - len(distinct))
