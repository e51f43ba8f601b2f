"""Many runs of PBG-EA on counted lattices: how much of the true set their archives hold, for many hierarchies."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np

from kpareto.fronts.numbers import Numbers
from kpareto.searches.defects import drive
from kpareto.searches.lattice.boxes import BoxArchive, Brackets, Coverage, coverage, grid_for
from kpareto.searches.lattice.pbg_ea import PbgEa
from replication.families import Member, member_counted
from replication.lattices import CountedLattice
from replication.page import Page, Sheet


@dataclass(frozen=True)
class Runs:
    """Several runs of PBG-EA with one grid."""

    seen: tuple[Coverage, ...]
    nodes: tuple[int, ...]
    first: np.ndarray  # (members, objectives) float64, values of the first run's archive

    def mean(self, what: str) -> float:
        """The mean of a number of the coverage over the runs."""
        return float(np.mean([getattr(each, what) for each in self.seen]))

    def told(self) -> str:
        """The representation ratio with the standard error of its mean."""
        return f"{self.mean('ratio'):.3f} ± {math.sqrt(self.variance / len(self.seen)):.3f}"

    def errors(self) -> str:
        """The convergence error as a mean over the archive, and as the sum that the paper defines."""
        return f"{self.mean('distance_mean'):.1e} (sum {self.mean('distance_sum'):.1e})"

    @property
    def ratios(self) -> np.ndarray:
        """The representation ratio of each run: (runs,) float64."""
        return np.array([each.ratio for each in self.seen])

    @property
    def variance(self) -> float:
        """The variance of the representation ratio over the runs."""
        return float(np.var(self.ratios, ddof=1))

    @property
    def evaluated(self) -> float:
        """Distinct nodes per run, on average."""
        return float(np.mean(self.nodes))

    def numbers(self) -> dict[str, object]:
        """For the page's JSON."""
        return {
            "ratio": [each.ratio for each in self.seen],
            "ratio variance": self.variance,
            "distance sum": [each.distance_sum for each in self.seen],
            "distance mean": [each.distance_mean for each in self.seen],
            "nodes": list(self.nodes),
            "true boxes": self.seen[0].true_boxes,
            "points that share a box": self.seen[0].merged,
        }


def several(
    counted: CountedLattice, epsilons: tuple[float, ...] | None, runs: int, brackets: Brackets = "ceiling"
) -> Runs:
    """So many runs of PBG-EA on counted numbers, seeds from 0 on."""
    grid = grid_for(counted.problem, epsilons, brackets)
    true = counted.numbers.values[counted.best]
    seen, nodes, first = [], [], np.zeros((0, 0))
    for seed in range(runs):
        asked: list[int] = []
        steps = PbgEa(grid).archives(counted.lattice, np.random.default_rng(seed))
        archive = drive(_watch(steps, asked), counted.lattice, counted.numbers)
        values = counted.numbers.values[counted.lattice.numbers(archive.genomes)]
        first = values if seed == 0 else first
        seen.append(coverage(grid, values, true))
        nodes.append(sum(asked))
    return Runs(tuple(seen), tuple(nodes), first)


def _watch(
    steps: Generator[np.ndarray, Numbers, BoxArchive], asked: list[int]
) -> Generator[np.ndarray, Numbers, BoxArchive]:
    """The steps of a search, with how many new nodes they ask for written down."""
    try:
        genomes = next(steps)
        while True:
            asked.append(len(genomes))
            genomes = steps.send((yield genomes))
    except StopIteration as end:
        archive: BoxArchive = end.value
        return archive


def compare_family(paper: Page, members: Sequence[Member], runs: int) -> None:
    """RR and nodes over plausible hierarchies, as ranges: k and GLM, with the plain grid and with those of Table 2."""
    grids: dict[str, tuple[float, ...] | None] = {"RR / nodes": None, "(5, 100)": (5, 100), "(10, 1000)": (10, 1000),
                                                  "(50, 10000)": (50, 10000)}  # fmt: skip
    with paper.timed("a family of hierarchies", detail=f"{len(members)} × {len(grids)} × {runs} runs"):
        told = {
            member: [several(member_counted(member, ("k", "glm")), grid, runs) for grid in grids.values()]
            for member in members
        }
    rows: list[tuple[str, ...]] = [
        (
            member.name,
            f"{by[0].mean('ratio'):.3f} / {by[0].evaluated:.0f}",
            *(f"{run.mean('ratio'):.3f}" for run in by[1:]),
        )
        for member, by in told.items()
    ]
    ratios = [[by[place].mean("ratio") for by in told.values()] for place in range(len(grids))]
    nodes = [by[0].evaluated for by in told.values()]
    low_high = [f"{min(values):.3f} … {max(values):.3f}" for values in ratios]
    rows.append(("range", f"{low_high[0]} / {min(nodes):.0f} … {max(nodes):.0f}", *low_high[1:]))
    rows.append(("printed", "0.94 / 916", "0.95", "0.98", "1.0"))
    columns = ("hierarchies", "RR / nodes", *(f"RR, grid {name}" for name in list(grids)[1:]))
    paper.sheets.append(Sheet(f"A family of plausible hierarchies: k and GLM, {runs} runs each", columns, tuple(rows)))
