"""The way out by one join: all quasi-identifiers of a row are looked up together, in a table of the distinct rows.

A join per column passes every row on so many times; where the distinct rows are few, one table of them knows what each
shows, and rows that are left out are not in it. It also has a hash of what a row shows, so that the order of the rows,
which depends on released cells alone, need not look at these cells again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from kpareto.engines.source import Source
from kpareto.engines.values import arrow_places, arrow_texts
from kpareto.releases.choice import Choice
from kpareto.tables.hierarchy import STAR
from kpareto.tables.partition import Partition, classes

if TYPE_CHECKING:
    import pyarrow as pa

MOST = 200_000  # distinct rows that are sent over; above, a join per column sends less


def join_rows(
    rows: Source, choice: Choice, partition: Partition, maps: Mapping[str, tuple[pa.Table, tuple[str, ...]]]
) -> str | None:
    """Register the distinct rows as ``d``, and say how they are joined; None where columns must be joined one by one.

    ``maps`` has per quasi-identifier its small table (value v, leaf) and its labels. ``d`` has per column of the source
    v and w, the value and what is shown, h, a hash of all that is shown, and where rows are masked whether they are.
    """
    import pyarrow as pa

    layout, table = rows.layout(), choice.table
    if not layout.whole_rows or choice.recoding.boxes is not None or len(table.weights) > MOST:
        return None
    values = [_value_of_leaf(choice, column, small) for column, (small, _) in enumerate(maps.values())]
    if any(value is None for value in values):
        return None
    together = classes(table, choice.recoding)
    lost = np.zeros(len(together.rows), dtype=np.bool_)  # (classes,)
    lost[together.members] = partition.suppressed[partition.members]
    gone = lost[together.members]  # (distinct,)
    masked = bool((partition.suppressed & partition.visible).any())
    at = np.arange(len(gone)) if masked else np.flatnonzero(~gone)
    fields, shown, joined = {}, [], []
    for column, (name, (small, labels)) in enumerate(maps.items()):
        place, leaves = rows.columns.index(name), table.codes[at, column]
        fields[f"v{place}"] = small.column("v").take(arrow_places(np.asarray(values[column])[leaves]))
        texts = arrow_texts(labels)
        fields[f"w{place}"] = texts.take(arrow_places(choice.recoding.cuts[column][leaves]))
        shown.append(texts.take(arrow_places(together.groups[:, column])).to_pylist())
        joined.append(layout.sql.same(layout.keys[place], f"d.v{place}"))
    stars = (STAR,) * len(shown)
    cells = zip(zip(*shown, strict=True), lost.tolist(), strict=True)
    hashes = arrow_texts([_short_hash(stars if star else each) for each, star in cells])
    more = {"lost": pa.array(gone[at].tolist(), pa.bool_())} if masked else {}
    rows.register("d", pa.table({**fields, "h": hashes.take(arrow_places(together.members[at])), **more}))
    return f"JOIN d ON {' AND '.join(joined)}"


def _short_hash(cells: tuple[str, ...]) -> str:
    """Sixteen digits that differ where cells do."""
    return hashlib.blake2b("\x1f".join(cells).encode(), digest_size=8).hexdigest()


def _value_of_leaf(choice: Choice, column: int, small: pa.Table) -> np.ndarray | None:
    """Where in the small table the value of each leaf stands: (leaves,) int64; None unless each has one, and all occur.

    Two spellings of a leaf, or a value that the table does not have (it was read coarser, say), need the way by
    columns.
    """
    hierarchy = choice.recoding.hierarchies[column]
    if hierarchy.leaves != choice.table.hierarchies[column].leaves:
        return None
    leaf = small.column("leaf").to_numpy()
    known = np.flatnonzero(leaf >= 0)
    if not np.array_equal(np.sort(leaf[known]), np.unique(choice.table.codes[:, column])):
        return None
    values = np.full(len(hierarchy.leaves), -1, dtype=np.int64)
    values[leaf[known]] = known
    return values
