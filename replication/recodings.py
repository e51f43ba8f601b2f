"""Adult as Iyengar has it: 157 borders, recodings by GENITOR and by recutting, and the recoding he prints."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from kpareto.engines.read import read
from kpareto.measures import make
from kpareto.searches.cuts.genitor import genitor, iyengar
from kpareto.searches.cuts.recut import recut_columns
from kpareto.searches.cuts.score import Score
from kpareto.tables.adult import adult, adult_hierarchies, adult_schema
from kpareto.tables.cuts import Cuts, make_cuts
from kpareto.tables.partition import Suppression, partition
from kpareto.tables.recoding import Recoding
from kpareto.tables.table import Table

SEED = 1


@dataclass(frozen=True, eq=False)
class Bred:
    """What GENITOR alone found, and how it went."""

    value: float
    distinct: int
    trace: np.ndarray  # (points, 3) float64: evaluations, best value so far, distinct genomes so far
    seconds: float  # processor time of its thread
    cm: float  # both numbers of its own recoding, whichever was minimized
    lm: float


@dataclass(frozen=True, eq=False)
class Solution:
    """The best recoding found for one k and one loss, by GENITOR or by recutting, with both numbers."""

    loss: str
    k: int
    genome: np.ndarray
    cm: float
    lm: float
    suppressed: int
    smallest: int
    bred: Bred | None = None
    recut: float = float("nan")  # what recutting alone reached
    seconds: float = 0.0  # processor time of recutting

    @property
    def value(self) -> float:
        """What was minimized."""
        return self.cm if self.loss == "cm" else self.lm

    @property
    def by_genitor(self) -> float:
        """What GENITOR alone reached."""
        return float("nan") if self.bred is None else self.bred.value

    def numbers(self) -> dict[str, object]:
        """For the page's JSON."""
        bred = {} if self.bred is None else {"genitor": self.bred.value, "genitor distinct": self.bred.distinct,
                                             "genitor seconds": round(self.bred.seconds, 2)}  # fmt: skip
        return {"cm": self.cm, "lm": self.lm, "suppressed": self.suppressed, "smallest": self.smallest, **bred,
                "recutting": self.recut, "recutting seconds": round(self.seconds, 2),
                "genome": "".join(map(str, self.genome.tolist()))}  # fmt: skip


Solutions = dict[tuple[str, int], Solution]


def ks_of(solutions: Solutions) -> list[int]:
    """The k that were searched for."""
    return sorted({k for _, k in solutions})


@dataclass(frozen=True, eq=False)
class RecodingLab:
    """A table and its space."""

    table: Table
    space: Cuts
    patience: int = 60  # of recutting

    def score(self, loss: str, k: int) -> Score:
        """What is minimized."""
        return Score(self.table, self.space, {loss: 1.0}, k)

    def judged(self, loss: str, k: int, genome: np.ndarray) -> Solution:
        """Both numbers of a recoding, whichever was minimized (IY-11)."""
        classes = partition(self.table, self.space.decode(genome), Suppression("below-k", k=k))
        kept = classes.sizes[~classes.suppressed]
        both = float(make("cm")(classes)), float(make("lm")(classes))
        smallest = int(kept.min()) if len(kept) else 0
        return Solution(loss, k, genome, *both, classes.suppressed_rows, smallest)

    def solve(self, loss: str, k: int, sizes: tuple[int, int]) -> Solution:
        """GENITOR as printed with a population and a number of evaluations, and recutting; the better of the two."""
        score, began = self.score(loss, k), time.thread_time()
        run = genitor(score, sizes[1], SEED, replace(iyengar(), population=sizes[0]))
        seconds, own = time.thread_time() - began, self.judged(loss, k, run.genome)
        bred = Bred(run.value, run.distinct, run.trace, seconds, own.cm, own.lm)
        recut = self.recut(loss, k)
        if recut.recut <= bred.value:
            return replace(recut, bred=bred)
        return replace(self.judged(loss, k, run.genome), bred=bred, recut=recut.recut, seconds=recut.seconds)

    def with_education(self, solution: Solution, after: tuple[int, ...]) -> float:
        """The least loss found where education may be cut after these ranks only."""
        ends = {"education": np.array(after) - 1}
        other = replace(self, space=make_cuts(self.table.hierarchies, ends))
        return other.recut(solution.loss, solution.k).value

    def recut(self, loss: str, k: int, start: np.ndarray | None = None) -> Solution:
        """Columns recut one at a time, from random recodings and from ``start``."""
        began = time.thread_time()
        answer = recut_columns(
            self.score(loss, k), SEED, None if start is None else start[None, :], patience=self.patience
        )
        seconds = time.thread_time() - began
        return replace(self.judged(loss, k, answer.genome), recut=answer.value, seconds=seconds)


def printed_solution(space: Cuts) -> np.ndarray:
    """The recoding printed for k = 250 under CM: age at 39, education after ranks 4 and 7, three marital states."""
    cuts = []
    for hierarchy in space.hierarchies:
        cut = np.zeros(len(hierarchy.leaves), dtype=np.int32)
        if hierarchy.name == "age":
            cut = (np.array([int(leaf) for leaf in hierarchy.leaves]) > 39).astype(np.int32)
        elif hierarchy.name == "education":
            cut = np.searchsorted([4, 7], np.arange(1, 17), side="left").astype(np.int32)
        elif hierarchy.name == "marital-status":
            cut = hierarchy.groups[hierarchy.height - 1]
        cuts.append(cut)
    return space.encode(Recoding(space.hierarchies, tuple(cuts)))


def test_lab(lab: RecodingLab) -> RecodingLab:
    """adult.test in the same space; ages 87 and 89, which adult.data lacks, go to the nearest it has."""
    rows = adult("test")
    ages = rows["age"].to_numpy().copy()
    ages[ages == 87], ages[ages == 89] = 88, 90
    rows = rows.set_column(rows.column_names.index("age"), "age", pa.array(ages))
    table = read(
        rows, adult_schema("iyengar_157"), "drop", hierarchies=adult_hierarchies("iyengar_157"), domain="declared"
    )
    return replace(lab, table=table, space=replace(lab.space, hierarchies=table.hierarchies))
