"""The two ways out by one join: by the class of a row, and by the row as a whole.

**By class**, for a local recoding: each row finds its class, and its class finds its labels, in the same single query.
A row's distinct key (the leaves of its quasi-identifiers) is joined with a small table that knows its number. Where all
rows of a key are in one class, that is all. Where they are not, the rows of the key are numbered, those of one value of
the varying column by themselves, and a table of borders says which numbers belong to which class. Which of equal rows
gets which number is decided by a hash of what else is released of it and of a secret: it is the same at every run, it
tells nothing of the order of the source, and nobody who lacks the table can repeat it. Rows of no class are left out.

**By row**: all quasi-identifiers of a row are looked up together, in a table of the distinct rows. A join per column
passes every row on so many times; where the distinct rows are few, one table of them knows what each shows, and rows
that are left out are not in it. It also has a hash of what a row shows, so that the order of the rows, which depends
on released cells alone, need not look at these cells again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kpareto.engines.source import Source
from kpareto.engines.values import arrow_places, arrow_texts
from kpareto.releases.choice import Choice
from kpareto.tables.boxes import leading
from kpareto.tables.hierarchy import STAR
from kpareto.tables.partition import Partition, classes
from kpareto.tables.table import number_rows, table_digest

if TYPE_CHECKING:
    import pyarrow as pa

MOST = 200_000  # distinct rows that are sent over; above, a join per column sends less


@dataclass(frozen=True, eq=False)
class Shares:
    """Which rows of each distinct key belong to which class, as consecutive numbers."""

    key: np.ndarray  # (shares,) int64, the distinct row
    column: np.ndarray  # (shares,) int64, which further column is told apart, -1: none
    value: np.ndarray  # (shares,) int64, its code, -1: none
    low: np.ndarray  # (shares,) int64, rows before this share
    high: np.ndarray  # (shares,) int64
    owner: np.ndarray  # (shares,) int64, the class of the partition

    @property
    def divided(self) -> bool:
        """Whether some key has more than one class."""
        return len(np.unique(self.key)) < len(self.key)


def share_out(choice: Choice, partition: Partition) -> Shares:
    """The shares of a partition by boxes, equal neighbours as one."""
    items = partition.table
    key, _ = number_rows(items.codes)
    owner = partition.members
    lead = leading(choice.table)[key]
    whole = np.bincount(key) == 1  # a key of one item needs no value, and may have several
    lead = np.where(whole[key] | (lead < 0), -1, lead)
    value = np.full(len(key), -1, dtype=np.int64)
    for place, counts in enumerate((*items.sensitive, *items.targets)):
        own = lead == place
        value[own] = counts.code[counts.start[:-1][own]]
    ranked = np.lexsort((owner, value, key))
    key, lead, value, owner = key[ranked], lead[ranked], value[ranked], owner[ranked]
    weight = items.weights[ranked]
    fresh = np.concatenate(([True], (np.diff(key) != 0) | (np.diff(value) != 0)))
    begin = np.flatnonzero(fresh | np.concatenate(([True], np.diff(owner) != 0)))
    rows = np.add.reduceat(weight, begin)
    total = np.cumsum(rows)
    base = np.maximum.accumulate(np.where(fresh[begin], total - rows, 0))
    return Shares(key[begin], lead[begin], value[begin], total - rows - base, total - base, owner[begin])


@dataclass(frozen=True)
class ClassJoin:
    """The pieces of the query: what numbers the rows, and what joins them with their classes."""

    joins: tuple[str, ...]  # to the rows and the small tables of the columns
    more: tuple[str, ...]  # further cells of the rows, as SELECT has them; none where no key is divided
    after: tuple[str, ...]  # joins to the rows as they are then


def join_classes(
    rows: Source, choice: Choice, partition: Partition, labels: Mapping[str, tuple[str, ...]], others: Sequence[str]
) -> ClassJoin:
    """Register the small tables, and say how they are joined; ``others`` are the cells that tell equal rows apart."""
    import pyarrow as pa

    sql, schema = rows.layout().sql, choice.table.schema
    shares = share_out(choice, partition)
    kept = partition.visible[shares.owner]
    keys, at = np.unique(shares.key[kept], return_index=True)
    codes = choice.table.codes[keys]
    places = [rows.columns.index(name) for name in schema.quasi]
    fields = {"r": arrow_places(keys), **{f"g{c}": arrow_places(codes[:, c]) for c in range(len(places))}}
    on_key = " AND ".join(f"d.g{column} = m{place}.g" for column, place in enumerate(places))
    _register_labels(rows, partition, labels)
    if not shares.divided:
        rows.register("d", pa.table({**fields, "c": arrow_places(shares.owner[kept][at])}))
        return ClassJoin((f"JOIN d ON {on_key}", "JOIN z ON z.c = d.c"), (), ())
    columns = [counts.name for counts in (*choice.table.sensitive, *choice.table.targets)]
    rows.register("d", pa.table({**fields, "pick": arrow_places(shares.column[kept][at])}))
    cases = "".join(
        f" WHEN {number} THEN {sql.text(f'm{rows.columns.index(name)}.s')}"
        for number, name in enumerate(columns)
        if (shares.column == number).any()
    )
    picked = f"CASE d.pick{cases} ELSE '' END" if cases else "''"
    _register_shares(rows, choice, shares, kept)
    order = sql.secret_order(others, _secret(choice))
    numbered = f"row_number() OVER (PARTITION BY d.r, {picked} ORDER BY {order}) AS n"
    between = "y.r = t.r AND y.s = t.s AND t.n > y.low AND t.n <= y.high"
    return ClassJoin(
        (f"JOIN d ON {on_key}",),
        ("d.r AS r", f"{picked} AS s", numbered),
        (f"JOIN y ON {between}", "JOIN z ON z.c = y.c"),
    )


def _register_labels(rows: Source, partition: Partition, labels: Mapping[str, tuple[str, ...]]) -> None:
    """What each class shows, column by column; a class of masked rows shows stars."""
    import pyarrow as pa

    shown = np.flatnonzero(partition.visible)
    texts = {}
    for column, own in enumerate(labels.values()):
        groups = partition.groups[shown, column].tolist()
        texts[f"w{column}"] = arrow_texts([STAR if group < 0 else own[group] for group in groups])
    rows.register("z", pa.table({"c": arrow_places(shown), **texts}))


def _register_shares(rows: Source, choice: Choice, shares: Shares, kept: np.ndarray) -> None:
    import pyarrow as pa

    values = [counts.values for counts in (*choice.table.sensitive, *choice.table.targets)]
    pairs = zip(shares.column[kept].tolist(), shares.value[kept].tolist(), strict=True)
    texts = arrow_texts(["" if column < 0 else values[column][code] for column, code in pairs])
    numbers = {"r": shares.key, "low": shares.low, "high": shares.high, "c": shares.owner}
    rows.register("y", pa.table({**{n: arrow_places(array[kept]) for n, array in numbers.items()}, "s": texts}))


def _secret(choice: Choice) -> str:
    """What decides which of equal rows goes where: the same for the same table, unknown to who lacks it."""
    return hashlib.sha256(f"kpareto shares {table_digest(choice.table)}".encode()).hexdigest()


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
