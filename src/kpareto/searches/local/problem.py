"""What a local search walks on: pieces of rows that look alike to it, what labels lose, and what classes must keep.

A local recoding acts on rows, not on distinct rows: of seven equal rows three may go into one class and four into
another. Where a limit speaks of sensitive values, rows with equal quasi-identifiers still differ by those values. So
the search deals in *pieces*: a distinct row together with one combination of the limited sensitive values, in so many
*copies* of one row each. Two cases need a piece whose copy has several rows, which stay together:

* A table knows how often each sensitive value occurs in a distinct row, column by column, not which values occur
  together. Where two limited columns both vary within a distinct row, that row cannot be divided: one copy.
* In very large tables a distinct row with far more rows than any class needs keeps most of them in one bundle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from kpareto.errors import BadJob, Unsafe
from kpareto.kernels.local.classes import Labels, Limits, Pieces, run_holds
from kpareto.measures.cells import CellLoss, lm
from kpareto.measures.measure import Model, make
from kpareto.measures.population import refuse_local
from kpareto.measures.reading import CLASS_SIZE
from kpareto.tables.table import Counts, Table

LEAVES = 6_000  # of one column: its square of losses takes 2 x 8 x LEAVES ** 2 bytes, half a gigabyte
LARGEST = 2**59  # all rows lost twice must stay below 2 ** 62
ENTRIES = 2_000_000  # copies from which on equal rows are bundled
DEAR = 8  # times all cells: what a label above the highest level of its column costs a row
SPARE = 8  # times k: as many rows of a bundled distinct row stay single


@dataclass(frozen=True)
class LocalWish:
    """What every class must keep, what is lost by a label, and which labels there are."""

    k: int
    limits: Mapping[str, float] = field(default_factory=dict)  # further limits per class, such as {"l": 3, "t": 0.2}
    loss: CellLoss = field(default_factory=lm)
    intervals: bool = False  # ordered columns may show any interval of their leaves, not only nodes of their tree
    suppression: float = 0.0  # the share of the rows that may be suppressed, at the loss of all their cells
    every_column: bool = False  # pieces know each sensitive and target column, so that whoever releases them can too

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or self.k != int(self.k) or self.k < 1:
            raise BadJob(f"Local recoding needs a whole k of at least 1, and k is {self.k!r}.")
        if not 0 <= self.suppression <= 1:
            raise BadJob(f"The share of rows to suppress is {self.suppression!r}. Give a number from 0 to 1.")


@dataclass(frozen=True, eq=False)
class LocalProblem:
    """A table made ready for the loops: everything in it is an array or a record of arrays."""

    table: Table
    wish: LocalWish
    labels: Labels
    pieces: Pieces
    limits: Limits
    copies: np.ndarray  # (pieces,) int64
    row: np.ndarray  # (pieces,) int64, the distinct row
    value: np.ndarray  # (pieces,) int64, the code of the one known column that varies in the row, -1 where none does
    leaves: tuple[np.ndarray, ...]  # per column, the leaf of each code: (codes,) int64
    unit: Fraction  # what one whole number of ``labels.losses`` counts in the loss

    @property
    def dear(self) -> int:
        """What a label costs at the least that no class may show; more than all cells, so that no other row pays it."""
        return DEAR * self.labels.lost + 1

    @property
    def allowed(self) -> int:
        """Rows that may be suppressed."""
        return int(self.table.rows * self.wish.suppression + 1e-9)


def check_wish(table: Table, wish: LocalWish) -> None:
    """Raise where local recoding does not know what the table or a limit asks of it."""
    if table.persons is not None:
        raise BadJob("Local recoding counts rows, and this table tells persons apart. Take a recoding from the front.")
    refuse_local(table)
    for column, hierarchy in enumerate(table.hierarchies):
        count = len(np.unique(table.codes[:, column]))
        if count > LEAVES:
            raise BadJob(
                f"The column {hierarchy.name!r} has {count:,} values, more than the {LEAVES:,} that local "
                "recoding looks at. Read it by the groups of a higher level of its hierarchy."
            )
    _limits(table, wish)


def make_problem(table: Table, wish: LocalWish) -> LocalProblem:
    """Make a table ready; raise where no recoding of it can keep the wish."""
    check_wish(table, wish)
    if wish.k > table.rows:
        raise Unsafe(f"k = {wish.k:,} cannot be reached: the table has only {table.rows:,} rows. Ask for a smaller k.")
    labels, leaves, codes, unit = _labels(table, wish)
    columns, limits = _limits(table, wish)
    pieces = _bundle(_pieces(table, codes, columns), table.rows, wish.k)
    problem = LocalProblem(
        table, wish, labels, pieces.record, limits, pieces.copies, pieces.row, pieces.value, leaves, unit
    )
    everything = np.repeat(np.arange(len(pieces.copies), dtype=np.int32), pieces.copies)
    if not run_holds(
        everything, 0, len(everything), pieces.record, limits, np.zeros(len(limits.totals), dtype=np.int64)
    ):
        words = ", ".join(f"{name} = {bound:g}" for name, bound in wish.limits.items())
        raise Unsafe(f"The limits {words} are missed even by the whole table as one class. Ask for less.")
    return problem


def with_k(problem: LocalProblem, k: int) -> LocalProblem:
    """The same problem for another k, no larger than the one it was made for."""
    wish = replace(problem.wish, k=k)
    return replace(problem, wish=wish, limits=problem.limits._replace(k=int(k), reach=_reach(wish)))


def _labels(table: Table, wish: LocalWish) -> tuple[Labels, tuple[np.ndarray, ...], np.ndarray, Fraction]:
    """The losses of all labels, per column the leaves that occur, the codes among these, and the unit of losses."""
    codes = np.empty(table.codes.shape, dtype=np.int32)
    losses, names, width, free, leaves, barred = [], [], [], [], [], []
    for column, hierarchy in enumerate(table.hierarchies):
        present, codes[:, column] = np.unique(table.codes[:, column], return_inverse=True)
        free.append(wish.intervals and hierarchy.ordered)
        first, last = _runs(table, column, present, free[-1])
        runs = wish.loss.run_table(table, column)
        top = hierarchy.groups[hierarchy.top]
        barred.append((top[first] != top[last]).ravel())
        losses.append(runs[first, last].ravel())
        names.append((first * len(hierarchy.leaves) + last).ravel())
        width.append(len(present))
        leaves.append(present.astype(np.int64))
    lost = sum(wish.loss.suppressed(table, column) for column in range(len(width)))
    # Whole numbers too large for sums over all rows are halved until they fit: the search then sees them rounded.
    above = np.concatenate(barred)
    largest = lost * (2 * DEAR * len(width) if above.any() else 1)
    halved = max(0, (table.rows * largest).bit_length() - LARGEST.bit_length() + 1)
    squares = np.array(width, dtype=np.int64) ** 2
    record = Labels(
        np.where(above, DEAR * (lost >> halved) + 1, np.concatenate(losses) >> halved),
        np.concatenate(names).astype(np.int64),
        np.concatenate(([0], np.cumsum(squares)[:-1])).astype(np.int64),
        np.array(width, dtype=np.int64),
        np.array(free, dtype=np.bool_),
        lost >> halved,
    )
    return record, tuple(leaves), codes, wish.loss.scale(table) * 2**halved


def _runs(table: Table, column: int, present: np.ndarray, free: bool) -> tuple[np.ndarray, np.ndarray]:
    """The label of each pair of leaves that occur, as its first and last leaf: (codes, codes) int64 each."""
    low, high = np.minimum.outer(present, present), np.maximum.outer(present, present)
    if free:
        return low, high
    tree = table.hierarchies[column].tree
    first, last = np.empty(low.shape, dtype=np.int64), np.empty(low.shape, dtype=np.int64)
    starts = np.searchsorted(present, tree.first, side="left")
    stops = np.searchsorted(present, tree.last, side="right")
    for node in range(len(tree.labels)):  # in preorder, so that a child writes over its parent
        inside = slice(int(starts[node]), int(stops[node]))
        first[inside, inside], last[inside, inside] = tree.first[node], tree.last[node]
    return first, last


def _limits(table: Table, wish: LocalWish) -> tuple[list[Counts], Limits]:
    """The columns that pieces must know, and the limits in the words of the loops."""
    columns: list[Counts] = []
    kinds: list[tuple[int, float, float, Counts]] = []
    for name, bound in wish.limits.items():
        measure = make(name)
        if measure.name == "k":
            raise BadJob("Give k as the k of the wish, not among its limits.")
        judged = measure.judged if isinstance(measure, Model) else None
        if judged is None or judged.kind == CLASS_SIZE or judged.of == "population":
            raise BadJob(
                f"The limit {name!r} cannot be kept by a local search. It knows l, entropy-l, recursive-l, t, alpha, "
                "beta and enhanced-beta."
            )
        if measure.trend["none"] != ("rises" if measure.better == "higher" else "falls"):
            raise BadJob(
                f"The limit {name!r} may be missed by two classes together that both keep it, so a local search "
                "cannot rely on it. Take another limit."
            )
        for counts in judged.columns(table):
            if not any(counts is known for known in columns):
                columns.append(counts)
            kinds.append((judged.kind, judged.parameter, float(bound), counts))
    others = (*table.sensitive, *table.targets) if wish.every_column else ()
    columns += [counts for counts in others if not any(counts is known for known in columns)]
    start = np.concatenate(([0], np.cumsum([len(c.values) for c in columns]))).astype(np.int64)
    place = {id(counts): (int(start[i]), int(start[i + 1])) for i, counts in enumerate(columns)}
    return columns, Limits(
        int(wish.k),
        np.array([kind for kind, _, _, _ in kinds], dtype=np.int64),
        np.array([number for _, number, _, _ in kinds], dtype=np.float64),
        np.array([bound for _, _, bound, _ in kinds], dtype=np.float64),
        np.array([place[id(counts)] for _, _, _, counts in kinds], dtype=np.int64).reshape(-1, 2),
        np.concatenate([c.totals for c in columns] or [np.empty(0)]).astype(np.int64),
        table.rows,
        _reach(wish),
    )


def _reach(wish: LocalWish) -> int:
    """Rows within which a class is looked for: many times what k and the limits ask for at least."""
    return 16 * max(int(wish.k), 8)


@dataclass(frozen=True, eq=False)
class _Divided:
    """The pieces of a table as the loops have them, and what else is known of each."""

    record: Pieces
    copies: np.ndarray  # (pieces,) int64
    row: np.ndarray  # (pieces,) int64
    value: np.ndarray  # (pieces,) int64


def _pieces(table: Table, codes: np.ndarray, columns: Sequence[Counts]) -> _Divided:
    """The distinct rows, each divided by the values of the known column that varies in it."""
    if not columns:
        count, nothing = table.distinct, np.empty(0, dtype=np.int64)
        start, ones = np.zeros(count + 1, dtype=np.int64), np.ones(count, dtype=np.int64)
        record = Pieces(np.ascontiguousarray(codes), ones, start, nothing.astype(np.int32), nothing)
        return _Divided(record, table.weights.astype(np.int64), np.arange(count), np.full(count, -1))
    varies = np.stack([np.diff(counts.start) > 1 for counts in columns])  # (columns, distinct) bool
    whole = varies.sum(axis=0) > 1  # which values occur together is not known
    # The column by whose entries a row is divided; where none varies, any column has the one entry it needs.
    leading = np.where(whole, -1, np.argmax(varies, axis=0))
    entries = np.stack([np.diff(counts.start) for counts in columns])  # (columns, distinct)
    pieces_of = np.where(whole, 1, entries[leading, np.arange(table.distinct)])
    row = np.repeat(np.arange(table.distinct), pieces_of)
    within = np.arange(len(row)) - np.repeat(np.cumsum(pieces_of) - pieces_of, pieces_of)
    copies, size = np.ones(len(row), dtype=np.int64), np.where(whole, table.weights, 1)[row]
    value = np.full(len(row), -1, dtype=np.int64)
    divided = varies.sum(axis=0) > 0
    for place, counts in enumerate(columns):
        led = np.flatnonzero(leading[row] == place)
        at = counts.start[row[led]] + within[led]
        copies[led] = counts.count[at]
        value[led] = np.where(divided[row[led]], counts.code[at], -1)
    begin, values, rows = _listed_values(columns, entries, leading, row, within)
    record = Pieces(np.ascontiguousarray(codes[row]), size.astype(np.int64), begin, values, rows)
    return _Divided(record, copies, row, value)


def _listed_values(
    columns: Sequence[Counts], entries: np.ndarray, leading: np.ndarray, row: np.ndarray, within: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What each piece has of each known column, its leading one first: where its list begins, values, rows of a copy.

    entries: (columns, distinct); leading: (distinct,), -1 where a row is one piece with all its values; row, within:
    (pieces,), the row of a piece and its place among the pieces of that row.
    """
    lead = leading[row]
    counts = np.where(lead < 0, entries.sum(axis=0)[row], len(columns))
    begin = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    values, rows = np.zeros(int(begin[-1]), dtype=np.int32), np.ones(int(begin[-1]), dtype=np.int64)
    offset, ahead = 0, np.zeros(entries.shape[1], dtype=np.int64)
    for place, column in enumerate(columns):
        single = np.flatnonzero(lead >= 0)
        first = column.start[row[single]] + np.where(lead[single] == place, within[single], 0)
        shift = np.where(lead[single] == place, 0, np.where(place < lead[single], place + 1, place))
        values[begin[single] + shift] = offset + column.code[first]
        several = np.flatnonzero(lead < 0)
        amounts = entries[place, row[several]]
        inside = np.arange(int(amounts.sum())) - np.repeat(np.cumsum(amounts) - amounts, amounts)
        at = np.repeat(begin[several] + ahead[row[several]], amounts) + inside
        source = np.repeat(column.start[row[several]], amounts) + inside
        values[at], rows[at] = offset + column.code[source], column.count[source]
        offset, ahead = offset + len(column.values), ahead + entries[place]
    return begin, values, rows


def _bundle(divided: _Divided, rows: int, k: int) -> _Divided:
    """In a very large table, pieces of far more copies than any class needs keep most of them in one bundle."""
    record, copies = divided.record, divided.copies
    heavy = np.flatnonzero((copies > 2 * SPARE * k) & (record.size == 1)) if rows > ENTRIES else np.empty(0, np.int64)
    if len(heavy) == 0:
        return divided
    bundled = copies[heavy] - SPARE * k
    entries = np.diff(record.start)[heavy]
    start = np.concatenate((record.start, record.start[-1] + np.cumsum(entries)))
    places = np.repeat(record.start[heavy] - start[-len(heavy) - 1 : -1], entries) + np.arange(
        int(record.start[-1]), int(start[-1])
    )
    single = copies.copy()
    single[heavy] = SPARE * k
    wider = Pieces(
        np.ascontiguousarray(np.concatenate((record.codes, record.codes[heavy]))),
        np.concatenate((record.size, bundled)),
        start,
        np.concatenate((record.value, record.value[places])),
        np.concatenate((record.rows, np.repeat(bundled, entries))),
    )
    return _Divided(
        wider,
        np.concatenate((single, np.ones(len(heavy), dtype=np.int64))),
        np.concatenate((divided.row, divided.row[heavy])),
        np.concatenate((divided.value, divided.value[heavy])),
    )
