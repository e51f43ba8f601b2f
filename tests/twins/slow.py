"""Slow twins: classes, suppression and every measure again, from raw rows, in dicts, tuples and fractions.

Nothing here uses code of the package; a hierarchy is a list of levels (lists of groups), a cut a list of groups.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Protocol

Value = Fraction | float
INF = float("inf")


class RawRow(Protocol):
    """A row as it was given."""

    @property
    def leaves(self) -> tuple[int, ...]:
        """Leaf of each quasi-identifier."""

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Sensitive values."""

    @property
    def target(self) -> tuple[str, ...]:
        """Target values."""

    @property
    def person(self) -> str | None:
        """Whose row it is."""


@dataclass(frozen=True)
class Column:
    """What a twin knows about a quasi-identifier."""

    levels: list[list[int]]
    spans: list[tuple[Fraction, Fraction]] | None  # None: loss by leaves


@dataclass(frozen=True)
class World:
    """The raw table."""

    rows: list[RawRow]
    columns: list[Column]
    domain: str

    @property
    def people(self) -> int:
        """Persons, or rows."""
        return size(self.rows)


@dataclass(frozen=True)
class Group:
    """One class: its rows, whether their cells are kept, whether they can be seen."""

    key: tuple[int, ...] | None  # None: masked
    rows: list[RawRow]
    kept: bool
    seen: bool


@dataclass(frozen=True)
class Release:
    """What a recoding and a suppression make of a table."""

    world: World
    cuts: list[list[int]]
    groups: list[Group]
    feasible: bool

    @property
    def seen(self) -> list[Group]:
        """Visible classes."""
        return [g for g in self.groups if g.seen]

    @property
    def kept(self) -> list[Group]:
        """Classes with their cells."""
        return [g for g in self.groups if g.kept]

    @property
    def lost(self) -> list[RawRow]:
        """Rows without their cells."""
        return [row for g in self.groups if not g.kept for row in g.rows]


NOTHING = "(missing)"  # no value, or no id


def size(rows: Sequence[RawRow]) -> int:
    """Distinct persons where there are any, else rows; a row without an id is nobody's."""
    return len(rows) if rows[0].person is None else len({plain(str(row.person)) for row in rows} - {NOTHING})


def plain(value: str) -> str:
    """A value in the one spelling that counts."""
    return value.strip().lower()


def values_of(rows: Sequence[RawRow], column: int, known: bool = False) -> list[set[str]]:
    """Of every person, or row, the values; ``known``: but the missing one, and nobody who has no other."""
    held: dict[object, set[str]] = {}
    for place, row in enumerate(rows):
        if row.person != NOTHING:
            who = place if row.person is None else plain(row.person)
            held.setdefault(who, set()).add(plain(row.sensitive[column]))
    sets = [values - {NOTHING} if known else values for values in held.values()]
    return [values for values in sets if values]


def fewest(rows: Sequence[RawRow], column: int) -> int:
    """The fewest values of which everybody has one, all combinations tried; 0 for nobody."""
    sets = values_of(rows, column, known=True)
    every = sorted(set().union(*sets))
    return next(n for n in range(len(every) + 1) for some in combinations(every, n) if all({*some} & s for s in sets))


def uneven(rows: Sequence[RawRow], column: int) -> list[int]:
    """One value for everybody, as unevenly as the numbers of those who have each value allow, falling."""
    sets = values_of(rows, column, known=True)
    left, given = len(sets), []
    for number in sorted(Counter(value for values in sets for value in values).values(), reverse=True):
        given.append(min(number, left))
        left -= given[-1]
    return [number for number in given if number]


def releases(
    world: World,
    cuts: list[list[int]],
    rule: str,
    limit: float,
    k: int | None,
    style: str,
    fails: list[tuple[str, int]],
) -> list[Release]:
    """All releases of a suppression rule; fails lists ("size", least) and ("values", least) for as-needed."""
    by_key: dict[tuple[int, ...], list[RawRow]] = {}
    for row in world.rows:
        by_key.setdefault(tuple(cut[leaf] for cut, leaf in zip(cuts, row.leaves, strict=True)), []).append(row)
    whole = sorted(by_key.items())
    count = len(world.rows)
    allowed = int(limit) if limit >= 1 else math.floor(Fraction(str(limit)) * count)

    def bad(rows: list[RawRow]) -> bool:
        return any(size(rows) < least if what == "size" else fewest(rows, 0) < least for what, least in fails)

    def made(failing: Callable[[list[RawRow]], bool], feasible: bool = True) -> Release:
        kept = [Group(key, rows, kept=True, seen=True) for key, rows in whole if not failing(rows)]
        gone = [row for _, rows in whole if failing(rows) for row in rows]
        dropped = [Group(key, rows, kept=False, seen=False) for key, rows in whole if failing(rows)]
        if style == "mask" and gone:
            if rule == "below-k":
                safe = size(gone) >= (k or 1)
            else:
                safe = bool(kept) and size(gone) >= min(size(g.rows) for g in kept)
            if rule == "as-needed":
                safe = safe and not bad(gone)
            if safe:
                return Release(world, cuts, [*kept, Group(None, gone, kept=False, seen=True)], feasible)
        order = {key: place for place, (key, _) in enumerate(whole)}
        return Release(world, cuts, sorted([*kept, *dropped], key=lambda g: order[g.key or ()]), feasible)

    if rule == "none":
        return [made(lambda rows: False)]
    if rule == "below-k":
        lost = sum(len(rows) for _, rows in whole if size(rows) < (k or 1))
        return [made(lambda rows: size(rows) < (k or 1), feasible=limit == 0 or lost <= allowed)]
    if rule == "as-needed" and sum(len(rows) for _, rows in whole if bad(rows)) > allowed:
        return [made(bad, feasible=False)]

    def lacking(rows: list[RawRow], z: int) -> bool:
        return size(rows) < z or (rule == "as-needed" and bad(rows))

    # every k' such that the classes that lack it hold at most `allowed` rows; attained ones only
    attained = sorted({size(rows) for _, rows in whole if not lacking(rows, 0)})
    cost = {z: sum(len(rows) for _, rows in whole if lacking(rows, z)) for z in attained}
    possible = [made(lambda rows, z=z: lacking(rows, z)) for z in attained if cost[z] <= allowed]  # type: ignore[misc]
    if count <= allowed:
        possible.append(made(lambda rows: True))
    return possible if rule == "as-needed" else possible[-1:]


# --- privacy by class size ---------------------------------------------------------------------------------------------


def k(release: Release) -> Value:
    """Smallest visible class."""
    return min((Fraction(size(g.rows)) for g in release.seen), default=INF)


def _risks(release: Release) -> list[Fraction]:
    return [Fraction(1, size(g.rows)) for g in release.seen for _ in range(size(g.rows))]


def risk_max(release: Release) -> Value:
    """Largest risk of a row or person; that of nobody is 1."""
    return max((Fraction(1, max(size(g.rows), 1)) for g in release.seen), default=Fraction(0))


def risk_mean(release: Release) -> Value:
    """Mean risk of a row or person."""
    risks = _risks(release)
    return sum(risks, Fraction(0)) / len(risks) if risks else Fraction(0)


def risk_share(release: Release, threshold: Fraction) -> Value:
    """Share of rows or persons above a risk."""
    risks = _risks(release)
    return Fraction(sum(risk > threshold for risk in risks), len(risks)) if risks else Fraction(0)


def uniques(release: Release) -> Value:
    """Rows or persons alone in their class."""
    return Fraction(sum(risk == 1 for risk in _risks(release)))


def suppressed(release: Release) -> Value:
    """Rows without cells."""
    return Fraction(len(release.lost))


def classes(release: Release) -> Value:
    """Classes with cells."""
    return Fraction(len(release.kept))


# --- privacy by sensitive values ---------------------------------------------------------------------------------------


def value_shares(rows: Sequence[RawRow], column: int) -> dict[str, Fraction]:
    """The share of persons, or rows, that have each value."""
    sets = values_of(rows, column)
    counted = Counter(value for values in sets for value in values)
    return {value: Fraction(number, len(sets)) for value, number in counted.items()}


def even_shares(rows: Sequence[RawRow], column: int) -> dict[str, Fraction]:
    """Everybody spread evenly over their values."""
    sets = values_of(rows, column)
    shares: dict[str, Fraction] = {}
    for values in sets:
        for value in values:
            shares[value] = shares.get(value, Fraction(0)) + Fraction(1, len(values) * len(sets))
    return shares


def _of_reference(release: Release, reference: str) -> list[RawRow]:
    return release.world.rows if reference == "table" else [row for g in release.seen for row in g.rows]


def _reference(release: Release, column: int, reference: str) -> dict[str, Fraction]:
    return value_shares(_of_reference(release, reference), column)


def _reference_spread(release: Release, column: int, reference: str) -> dict[str, Fraction]:
    return even_shares(_of_reference(release, reference), column)


def distinct_l(release: Release, column: int = 0) -> Value:
    """Fewest values that touch everybody."""
    return min((Fraction(fewest(g.rows, column)) for g in release.seen), default=INF)


def entropy_l(release: Release, column: int = 0) -> Value:
    """Least effective number of values: Π p^(−p); none is none."""
    numbers: list[Value] = []
    for g in release.seen:
        given = uneven(g.rows, column)
        numbers.append(math.prod((n / sum(given)) ** -(n / sum(given)) for n in given) if given else 0.0)
    return min(numbers, default=INF)


def recursive_l(release: Release, l: int, column: int = 0) -> Value:
    """Least c."""
    found: list[Value] = []
    for g in release.seen:
        falling = uneven(g.rows, column)
        tail = sum(falling[l - 1 :])
        found.append(Fraction(falling[0], tail) if tail else INF)
    return max(found, default=Fraction(0))


def alpha(release: Release, column: int = 0, value: str | None = None) -> Value:
    """Largest share of a value; of nobody 1."""
    shares = [value_shares(g.rows, column) for g in release.seen]
    if value is not None:
        return max((s.get(value, Fraction(0)) if s else Fraction(1) for s in shares), default=Fraction(0))
    return max((max(s.values(), default=Fraction(1)) for s in shares), default=Fraction(0))


def t_equal(release: Release, column: int = 0, reference: str = "table") -> Value:
    """Half the sum of absolute differences."""
    q = _reference_spread(release, column, reference) if release.seen else {}
    found = []
    for g in release.seen:
        p = even_shares(g.rows, column)
        if not p:
            return Fraction(1)
        found.append(sum((abs(p.get(v, Fraction(0)) - q.get(v, Fraction(0))) for v in {*p, *q}), Fraction(0)) / 2)
    return max(found, default=Fraction(0))


def t_ordered(release: Release, values: Sequence[str], column: int = 0, reference: str = "table") -> Value:
    """Running sums, over the given order of values."""
    q = _reference_spread(release, column, reference) if release.seen else {}
    worst = Fraction(0)
    for g in release.seen:
        p = even_shares(g.rows, column)
        if not p:
            return Fraction(1)
        running, total = Fraction(0), Fraction(0)
        for value in values:
            running += p.get(value, Fraction(0)) - q.get(value, Fraction(0))
            total += abs(running)
        worst = max(worst, total / max(len(values) - 1, 1))
    return worst


def t_hierarchical(release: Release, values: Sequence[str], levels: list[list[int]], column: int = 0) -> Value:
    """Li et al.'s own algorithm: what children have too much and too little meets at their parent."""
    q = _reference_spread(release, column, "table") if release.seen else {}
    height = len(levels) - 1
    worst = Fraction(0)
    for g in release.seen:
        p = even_shares(g.rows, column)
        if not p:
            return Fraction(1)
        extra: dict[int, Fraction] = {
            place: p.get(v, Fraction(0)) - q.get(v, Fraction(0)) for place, v in enumerate(values)
        }
        cost = Fraction(0)
        for level in range(1, height + 1):
            children: dict[int, list[Fraction]] = {}
            parent_of = dict(zip(levels[level - 1], levels[level], strict=True))
            for child, amount in extra.items():
                children.setdefault(parent_of[child], []).append(amount)
            for amounts in children.values():
                above = sum((a for a in amounts if a > 0), Fraction(0))
                below = -sum((a for a in amounts if a < 0), Fraction(0))
                cost += Fraction(level, height) * min(above, below)
            extra = {parent: sum(amounts, Fraction(0)) for parent, amounts in children.items()}
        worst = max(worst, cost)
    return worst


def beta(release: Release, column: int = 0, reference: str = "table") -> Value:
    """Largest relative gain."""
    q = _reference(release, column, reference) if release.seen else {}
    if any(not value_shares(g.rows, column) for g in release.seen):
        return INF
    gains = [(p - q[v]) / q[v] for g in release.seen for v, p in value_shares(g.rows, column).items()]
    return max(gains, default=Fraction(0))


def enhanced_beta(release: Release, column: int = 0) -> Value:
    """Largest relative gain, infinite if one passes −ln q."""
    q = _reference(release, column, "table") if release.seen else {}
    if any(not value_shares(g.rows, column) for g in release.seen):
        return INF
    gains: list[Value] = [Fraction(0)] if not release.seen else []
    for g in release.seen:
        for v, p in value_shares(g.rows, column).items():
            gain = (p - q[v]) / q[v]  # of persons all may be below 0: in the table they have several values each
            gains.append(INF if float(gain) > -math.log(q[v]) + 1e-9 else gain)
    return max(gains)


def delta(release: Release, column: int = 0, absent: str = "ignored") -> Value:
    """Largest log ratio."""
    q = _reference(release, column, "table") if release.seen else {}
    if any(not value_shares(g.rows, column) for g in release.seen):
        return INF
    worst = 0.0
    for g in release.seen:
        p = value_shares(g.rows, column)
        for v, share in q.items():
            if v in p:
                worst = max(worst, abs(math.log(p[v] / share)))
            elif absent == "infinite":
                return INF
    return worst


# --- loss by cells -----------------------------------------------------------------------------------------------------


def _cells(release: Release, column: int) -> Callable[[int], Fraction]:
    """The loss of a kept cell of one column, from the leaf it hides."""
    world, cut = release.world, release.cuts[column]
    spans = world.columns[column].spans
    there = {row.leaves[column] for row in world.rows}
    counted = sorted(there) if world.domain == "observed" else list(range(len(cut)))

    def loss(leaf: int) -> Fraction:
        together = [other for other in counted if cut[other] == cut[leaf]]
        if spans is None:
            return Fraction(len(together) - 1, len(counted) - 1) if len(counted) > 1 else Fraction(0)
        length = max(spans[i][1] for i in counted) - min(spans[i][0] for i in counted)
        own = max(spans[i][1] for i in together) - min(spans[i][0] for i in together)
        return own / length if length else Fraction(0)

    return loss


def column_losses(release: Release) -> list[Fraction]:
    """Sum of cell losses of each column."""
    sums = []
    for column in range(len(release.cuts)):
        loss = _cells(release, column)
        kept = [loss(row.leaves[column]) for g in release.kept for row in g.rows]
        sums.append(sum(kept, Fraction(0)) + len(release.lost))
    return sums


def glm(release: Release) -> Value:
    """Sum over cells."""
    return sum(column_losses(release), Fraction(0))


def lm(release: Release) -> Value:
    """Mean over cells."""
    return glm(release) / (len(release.world.rows) * len(release.cuts))


def nwp(release: Release, weights: Sequence[Fraction]) -> Value:
    """Weighted mean."""
    parts = zip(weights, column_losses(release), strict=True)
    return sum((w * loss for w, loss in parts), Fraction(0)) / sum(weights) / len(release.world.rows)


def precision_loss(release: Release) -> Value:
    """Mean of level over height."""
    total = Fraction(0)
    for column, cut in enumerate(release.cuts):
        levels = release.world.columns[column].levels
        for g in release.kept:
            for row in g.rows:
                together = [i for i, group in enumerate(cut) if group == cut[row.leaves[column]]]
                level = next(h for h, groups in enumerate(levels) if len({groups[i] for i in together}) == 1)
                total += Fraction(level, max(len(levels) - 1, 1))
        total += len(release.lost)
    return total / (len(release.world.rows) * len(release.cuts))


def entropy(release: Release) -> Value:
    """Bits to guess, added over cells."""
    total = 0.0
    for column, cut in enumerate(release.cuts):
        counted = Counter(row.leaves[column] for row in release.world.rows)
        for g in release.kept:
            for row in g.rows:
                together = [n for leaf, n in counted.items() if cut[leaf] == cut[row.leaves[column]]]
                total -= sum(n / sum(together) * math.log2(n / sum(together)) for n in together)
        total += len(release.lost) * math.log2(len(counted))
    return total


def dcn(release: Release) -> Value:
    """Squares of classes, and everything for a lost row."""
    return Fraction(sum(len(g.rows) ** 2 for g in release.kept) + len(release.world.rows) * len(release.lost))


def arx_loss(release: Release) -> Value:
    """ARX's loss: each column's mean share of its domain, put together by the geometric mean of one plus it."""
    product, rows = 1.0, len(release.world.rows)
    for column, cut in enumerate(release.cuts):
        own = 0.0
        for g in release.kept:
            for row in g.rows:
                own += (list(cut).count(cut[row.leaves[column]]) - 1) / max(len(cut) - 1, 1)
        own += len(release.lost) if len(cut) > 1 else 0
        product *= (1 + own / rows) ** (1 / len(release.cuts))
    return product - 1


def aecs(release: Release) -> Value:
    """All rows over the kept classes and one for the lost rows."""
    return Fraction(len(release.world.rows), len(release.kept) + (1 if release.lost else 0))


def arx_precision(release: Release, levels: Sequence[int]) -> Value:
    """ARX's precision of a node: level over height in every cell of a kept row, one in every lost cell."""
    total = Fraction(0)
    for column, level in enumerate(levels):
        height = len(release.world.columns[column].levels) - 1
        for g in release.groups:
            for _ in g.rows:
                total += (Fraction(level, height) if height else Fraction(0)) if g.kept else 1
    return total / (len(release.world.rows) * len(release.cuts))


def nonuniform_entropy(release: Release) -> Value:
    """ARX's bits: of each value in its group, over all rows, and of each lost row's label among the lost rows."""
    total = 0.0
    for column, cut in enumerate(release.cuts):
        for row in release.world.rows:
            alike = [other for other in release.world.rows if cut[other.leaves[column]] == cut[row.leaves[column]]]
            same = [other for other in alike if other.leaves[column] == row.leaves[column]]
            total -= math.log2(len(same) / len(alike))
        for row in release.lost:
            alike = [other for other in release.lost if cut[other.leaves[column]] == cut[row.leaves[column]]]
            total -= math.log2(len(alike) / len(release.lost))
    return total


def average_class_size(release: Release) -> Value:
    """Kept rows per class."""
    if not release.kept:
        return Fraction(len(release.world.rows))
    return Fraction(sum(len(g.rows) for g in release.kept), len(release.kept))


# --- loss by use -------------------------------------------------------------------------------------------------------


def cm_rows(release: Release) -> Value:
    """Rows lost or not of the majority."""
    wrong = sum(len(g.rows) - max(Counter(row.target[0] for row in g.rows).values()) for g in release.kept)
    return Fraction(wrong + len(release.lost))


def cost_cm(release: Release, costs: dict[tuple[str, str], Fraction]) -> Value:
    """Mean cost of telling the majority; the cheapest of several majorities."""
    parts = [[row.target[0] for row in g.rows] for g in release.kept]
    parts += [[row.target[0] for row in release.lost]] if release.lost else []
    total = Fraction(0)
    for part in parts:
        counted = Counter(part)
        majorities = [v for v, n in counted.items() if n == max(counted.values())]
        total += min(sum((costs[true, told] for true in part), Fraction(0)) for told in majorities)
    return total / len(release.world.rows)


def _mean(numbers: Sequence[Fraction]) -> Fraction:
    return sum(numbers, Fraction(0)) / len(numbers)


def _median(numbers: Sequence[Fraction]) -> Fraction:
    return sorted(numbers)[(len(numbers) - 1) // 2]


def reg(release: Release, kind: str, centre: str = "group") -> Value:
    """Dispersion within groups over dispersion of all."""
    middle = _mean if kind == "variance" else _median

    def spread(numbers: Sequence[Fraction], around: Fraction) -> Fraction:
        gaps = [abs(number - around) for number in numbers]
        return sum((gap * gap if kind == "variance" else gap for gap in gaps), Fraction(0))

    everything = [Fraction(row.target[0]) for row in release.world.rows]
    parts = [[Fraction(row.target[0]) for row in g.rows] for g in release.kept]
    total = sum((spread(part, middle(part)) for part in parts), Fraction(0))
    lost = [Fraction(row.target[0]) for row in release.lost]
    if lost:
        total += spread(lost, middle(lost) if centre == "group" else middle(everything))
    whole = spread(everything, middle(everything))
    return total / whole if whole else Fraction(0)


# --- bias and property vectors -----------------------------------------------------------------------------------------


def necd(release: Release) -> Value:
    """Largest minus smallest class."""
    sizes = [size(g.rows) for g in release.seen]
    if not sizes or release.world.people == 1:
        return Fraction(0)
    return Fraction(max(sizes) - min(sizes), release.world.people - 1)


def rows_of(release: Release, name: str) -> list[tuple[RawRow, Fraction]]:
    """Each row with its property."""
    pairs: list[tuple[RawRow, Fraction]] = []
    for g in release.groups:
        for row in g.rows:
            sets = values_of(g.rows, 0)
            same = sum(plain(row.sensitive[0]) in values for values in sets)
            kept = [_cells(release, c)(row.leaves[c]) for c in range(len(release.cuts))]
            value = {
                "class-size": Fraction(size(g.rows)),
                "own-value-count": Fraction(same),
                "breach-probability": Fraction(1, max(size(g.rows), 1)),
                "own-value-probability": Fraction(same, max(len(sets), 1)),
            }.get(name, _mean(kept))
            if name == "row-loss":
                value = value if g.kept else Fraction(1)
            elif not g.seen:
                value = Fraction(0)
            pairs.append((row, value))
    return pairs


def bias(release: Release, group: Callable[[RawRow], object], of: str, ratio: bool) -> Value:
    """Gap between the means of groups."""
    name = {"protection": "breach-probability", "loss": "row-loss"}.get(of)
    by_group: dict[object, list[Fraction]] = {}
    lost = {id(row) for row in release.lost}
    pairs = rows_of(release, name) if name else [(row, Fraction(0)) for g in release.groups for row in g.rows]
    for row, value in pairs:
        value = 1 - value if of == "protection" else value
        by_group.setdefault(group(row), []).append(Fraction(id(row) in lost) if of == "suppressed" else value)
    means = [_mean(values) for values in by_group.values()]
    if ratio:
        return 1 - min(means) / max(means) if max(means) else Fraction(0)
    return max(means) - min(means)


def is_cut(cut: Sequence[int]) -> bool:
    """Whether groups start at 0 and rise by at most one."""
    return cut[0] == 0 and all(b - a in (0, 1) for a, b in pairwise(cut))
