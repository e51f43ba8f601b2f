"""Very large tables: search on a seeded sample, apply what was found to all rows, and say what that cost (IY-14)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from kpareto.errors import BadJob
from kpareto.searches.cuts.genitor import Result
from kpareto.searches.cuts.recut import recut_columns
from kpareto.searches.cuts.score import Score
from kpareto.tables.table import Counts, Sample, Table, make_table

Searcher = Callable[[Score], Result]


def sample_rows(table: Table, rows: int, seed: int = 1) -> Table:
    """A table of so many rows drawn without replacement; hierarchies, roles and domain stay.

    Loss denominators that count observed values are those of the sample. A table too large to be read is sampled by
    ``read`` itself (``too_many="sample"``), row by row instead of from the distinct rows.
    """
    if not 1 <= rows <= table.rows:
        raise BadJob(
            f"A sample of {rows:,} rows was asked for, and the table has {table.rows:,}. Give at most as many."
        )
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.permutation(table.rows)[:rows])
    row_of = np.repeat(np.arange(table.distinct), table.weights)

    def draw(counts: Counts) -> tuple[tuple[str, ...], np.ndarray, np.ndarray | None]:
        # Values of one column stand beside rows in any order within a distinct row: the table keeps no more than that.
        return counts.values, np.repeat(counts.code, counts.count)[chosen], counts.numbers

    if table.persons is not None:
        raise BadJob("A sample of rows would tear values from the persons who have them. Draw it where rows are read.")
    extras = {counts.name: draw(counts) for counts in (*table.sensitive, *table.targets)}
    ones = np.ones(rows, dtype=np.int64)
    small_table = make_table(table.schema, table.hierarchies, table.codes[row_of[chosen]], ones, extras)
    kept = Sample(rows, table.rows, seed)
    return replace(small_table, dropped=table.dropped, missing=table.missing, domain=table.domain, sample=kept)


@dataclass(frozen=True)
class Degradation:
    """What searching on a sample cost: all values are of the whole table unless named otherwise."""

    rows: int  # in the sample
    seed: int
    sample_k: int  # k asked for in the sample
    sample_value: float  # of the sample's best recoding, on the sample
    applied: float  # of the same recoding on all rows
    direct: float  # of the best recoding found on all rows
    suppressed: int  # rows of the whole table that the sample's recoding suppresses
    genome: np.ndarray  # (genes,) int64, the sample's best recoding

    @property
    def loss(self) -> float:
        """How much worse the sample's recoding is, as a share of the direct value."""
        return (self.applied - self.direct) / self.direct if self.direct else 0.0

    def sentence(self) -> str:
        """The degradation for a report."""
        return (
            f"Searching on {self.rows:,} rows gave {self.applied:.4f} on all rows, {self.loss:+.1%} against "
            f"{self.direct:.4f} found on all rows; {self.suppressed:,} rows are suppressed."
        )


def compare_with_sample(
    score: Score, rows: int, seed: int = 1, search: Searcher = recut_columns, sample_k: int | None = None
) -> Degradation:
    """Search on a sample and on all rows, and compare both on all rows.

    The sample's k is k times the share of rows drawn (at least 2), unless given: a class of the whole table shrinks by
    that share.
    """
    table = sample_rows(score.table, rows, seed)
    k = sample_k if sample_k is not None else max(2, round(score.k * rows / score.table.rows))
    small = replace(score, table=table, space=replace(score.space, hierarchies=table.hierarchies), k=min(k, score.k))
    sample_result = search(small)
    direct = search(score)
    applied = float(score.values(sample_result.genome[None, :])[0])
    lost = score.partition(sample_result.genome).suppressed_rows
    return Degradation(rows, seed, small.k, sample_result.value, applied, direct.value, lost, sample_result.genome)
