"""Rows by the size of their class, before and after, as one picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kpareto.fronts.picture import CALM, LINE, new_axes
from kpareto.releases.risk.anonymity import count_bands
from kpareto.tables.partition import Partition, classes
from kpareto.tables.recoding import bottom

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_sizes(partition: Partition) -> Figure:
    """Bars of the rows in small and large classes, of the table as it was and of the release."""
    table = partition.table
    before = count_bands(classes(table, bottom(table.hierarchies)))
    after = count_bands(partition)
    middles = np.arange(len(before))
    lost = f", {partition.suppressed_rows:,} suppressed" if partition.suppressed_rows else ""
    with new_axes(f"{table.rows:,} rows by the size of their class{lost}", 4.2) as axes:
        for shift, bands, colour, label in ((-0.2, before, CALM, "the table"), (0.2, after, LINE, "the release")):
            axes.bar(middles + shift, [100 * band.rows / table.rows for band in bands], 0.4, color=colour, label=label)
        axes.set_xticks(middles.tolist(), [band.words for band in before])
        axes.set_xlabel(f"{'persons' if table.persons is not None else 'rows'} that look alike")
        axes.set_ylabel("percent of all rows")
        axes.legend(frameon=False)
    figure: Figure = axes.figure
    return figure
