"""In which order the columns of a lattice are walked, and how much may be held on the way."""

from __future__ import annotations

from kpareto.tables.table import Table

MOST_WORDS = 200_000_000  # packed words of classes that may be held at once, about 1.6 GB


def walk_order(table: Table) -> list[int]:
    """Columns with few levels first; last a column with many levels whose leaves hardly split the table.

    The innermost column is never rotated and its leaf level is visited in every table above it, so a column that is
    nearly constant (native-country in Adult) belongs there. Within a few percent of the best order on Adult.
    """
    heights = [h.height for h in table.hierarchies]
    order = sorted(range(len(heights)), key=lambda c: (heights[c], len(table.hierarchies[c].leaves)))
    tall = [c for c in order if 2 * heights[c] >= max(heights)]
    spread = {c: float(((table.leaf_rows[c] / table.rows) ** 2).sum()) for c in tall}
    last = max(tall, key=lambda c: spread[c])
    return [c for c in order if c != last] + [last]
