"""Rows by the size of their class, before and after, as one picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kpareto.errors import MissingExtra
from kpareto.fronts.picture import CALM, INK, LINE
from kpareto.releases.risk.anonymity import count_bands
from kpareto.tables.partition import Partition, classes
from kpareto.tables.recoding import bottom

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_sizes(partition: Partition) -> Figure:
    """Bars of the rows in small and large classes, of the table as it was and of the release."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra(
            "Drawing needs matplotlib, which is not installed. Install it with: pip install 'kpareto[plots]'."
        ) from error
    table = partition.table
    before = count_bands(classes(table, bottom(table.hierarchies)))
    after = count_bands(partition)
    places = np.arange(len(before))
    with rc_context({"font.size": 10, "axes.edgecolor": INK, "text.color": INK, "axes.labelcolor": INK}):
        figure = Figure(figsize=(8.6, 4.2), layout="constrained")
        axes = figure.subplots()
        for shift, bands, colour, label in ((-0.2, before, CALM, "the table"), (0.2, after, LINE, "the release")):
            axes.bar(places + shift, [100 * band.rows / table.rows for band in bands], 0.4, color=colour, label=label)
        axes.set_xticks(places.tolist(), [band.words for band in before])
        axes.set_xlabel(f"{'persons' if table.persons is not None else 'rows'} that look alike")
        axes.set_ylabel("percent of all rows")
        lost = f", {partition.suppressed_rows:,} suppressed" if partition.suppressed_rows else ""
        axes.set_title(f"{table.rows:,} rows by the size of their class{lost}", fontsize=11, loc="left")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
    return figure
