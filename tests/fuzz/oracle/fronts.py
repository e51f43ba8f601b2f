"""Classes, the four suppression rules, dominance, and fronts by trying everything."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tests.fuzz.oracle.numbers import BY_CLASS, HIGHER, meets, number, spelled
from tests.fuzz.oracle.sheets import Class, Levels, Number, Parted, Rule, Sheet, Step, size_of


def node(sheet: Sheet, levels: Levels) -> tuple[Step, ...]:
    """The recoding of a node."""
    return tuple(steps[level] for steps, level in zip(sheet.steps, levels, strict=True))


def classes(sheet: Sheet, recoding: Sequence[Step]) -> list[Class]:
    """The equivalence classes."""
    members: dict[tuple[str, ...], list[int]] = {}
    for place, row in enumerate(sheet.quasi):
        members.setdefault(tuple(step[leaf] for step, leaf in zip(recoding, row, strict=True)), []).append(place)
    return [Class(key, tuple(rows), size_of(sheet, rows)) for key, rows in members.items()]


def parted(sheet: Sheet, recoding: tuple[Step, ...], rule: Rule, levels: Levels | None = None) -> list[Parted]:
    """What a suppression rule makes of a recoding: one, or under as-needed several."""
    whole = Parted(sheet, recoding, tuple(classes(sheet, recoding)), True, levels)
    allowed, total = rule.allowed(whole.count), whole.count
    if rule.name == "none":
        return [whole]
    if rule.name == "below-k":
        lost = sum(len(c.rows) for c in whole.classes if c.size < rule.k)
        return [_suppressed(whole, lambda c: c.size < rule.k, rule, not rule.limit or lost <= allowed)]
    if rule.name == "as-needed":
        return _as_needed(whole, rule, allowed)
    sizes = sorted({c.size for c in whole.classes})
    ways = [size for size in sizes if sum(len(c.rows) for c in whole.classes if c.size < size) <= allowed]
    if total <= allowed:
        ways.append(max(c.size for c in whole.classes) + 1)
    return [_suppressed(whole, lambda c: c.size < ways[-1], rule, True)]


STEP = Fraction(1, 100)  # thresholds of numbers on a scale are whole numbers of these
SIZES = ("k", "risk-max", "risk-mean", "risk-share", "uniques")  # objectives that get better as small classes go


def _as_needed(whole: Parted, rule: Rule, allowed: int) -> list[Parted]:
    """Every set of classes that miss a limit, or one of a combination of thresholds, of no more rows than allowed."""
    failing = {c.key for c in whole.classes if fails(whole, c, rule.limits)}

    def rows(keys: set[tuple[str, ...]]) -> int:
        return sum(len(c.rows) for c in whole.classes if c.key in keys)

    if rows(failing) > allowed:
        return [_suppressed(whole, lambda c: c.key in failing, rule, False)]
    left = [c for c in whole.classes if c.key not in failing]
    ranks: list[dict[tuple[str, ...], Number]] = []
    for spec in rule.objectives:
        if is_graded(spec):
            own = {c.key: BY_CLASS[spelled(spec)[0]](whole, c, spelled(spec)[1]) for c in left}
            ranks.append({key: on_grid(spec, value) for key, value in own.items()})
    if any(spelled(spec)[0] in SIZES for spec in rule.objectives):
        ranks.append({c.key: Fraction(-c.size) for c in left})
    met: set[frozenset[tuple[str, ...]]] = set()
    for thresholds in itertools.product(*(sorted(set(own.values())) for own in ranks)):
        worse = {c.key for c in left if any(own[c.key] > most for own, most in zip(ranks, thresholds, strict=True))}
        if rows(failing | worse) <= allowed and len(failing | worse) < len(whole.classes):
            met.add(frozenset(failing | worse))
    return [_suppressed(whole, lambda c, gone=gone: c.key in gone, rule, True) for gone in sorted(met, key=sorted)]  # type: ignore[misc]


def is_graded(spec: str) -> bool:
    """Whether the rule as-needed takes thresholds of a measure besides k."""
    return spelled(spec)[0] in BY_CLASS and spelled(spec)[0] not in SIZES


def on_grid(spec: str, value: Number) -> Number:
    """A number in steps of the grid, to the safe side; higher is worse."""
    worse = -value if HIGHER[spelled(spec)[0]] else value
    if isinstance(worse, Fraction):
        return Fraction(math.ceil(worse / STEP))
    return worse if math.isinf(worse) else Fraction(math.ceil(float(f"{worse * 100:.11e}") - 1e-10))


def _suppressed(whole: Parted, failing: Callable[[Class], bool], rule: Rule, feasible: bool) -> Parted:
    kept = [c for c in whole.classes if not failing(c)]
    lost = [c for c in whole.classes if failing(c)]
    dropped = (*kept, *(replace(c, lost=True, seen=False) for c in lost))
    if rule.mask and lost:
        rows = tuple(row for c in lost for row in c.rows)
        stars = Class(("*",) * len(whole.recoding), rows, size_of(whole.sheet, rows), lost=True)
        masked = replace(whole, classes=(*kept, stars), feasible=feasible)
        least = min((c.size for c in kept), default=stars.size + 1)
        if rule.name == "below-k":
            least = rule.k
        fine = stars.size >= least
        if rule.name == "as-needed":
            bare = replace(masked, classes=tuple(kept))
            fine |= not any(spelled(spec)[0] in SIZES for spec in rule.objectives)
            fine &= not fails(masked, stars, rule.limits)
            for spec in filter(is_graded, rule.objectives):
                fine &= bool(kept) and on_grid(spec, number(masked, spec)) <= on_grid(spec, number(bare, spec))
        if fine:
            return masked
    return replace(whole, classes=dropped, feasible=feasible)


def fails(whole: Parted, one: Class, limits: Mapping[str, float]) -> bool:
    """Whether one class misses a limit on a privacy model."""
    return any(
        not meets(spec, BY_CLASS[spelled(spec)[0]](whole, one, spelled(spec)[1]), limit)
        for spec, limit in limits.items()
    )


# -- fronts -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Candidate:
    """One admissible release and its numbers."""

    parted: Parted
    values: tuple[Number, ...]


def candidates(sheet: Sheet, objectives: Sequence[str], rule: Rule, limits: Mapping[str, float],
               recodings: Sequence[tuple[Levels | None, tuple[Step, ...]]] | None = None) -> list[Candidate]:  # fmt: skip
    """Every release that counts: some row is left, and every limit is met."""
    listed = [(levels, node(sheet, levels)) for levels in sheet.nodes] if recodings is None else recodings
    found = []
    for levels, recoding in listed:
        for p in parted(sheet, recoding, rule, levels):
            if not p.seen or not p.feasible:
                continue
            if rule.name != "as-needed" and not all(meets(s, number(p, s), limit) for s, limit in limits.items()):
                continue
            found.append(Candidate(p, tuple(number(p, spec) for spec in objectives)))
    return found


def gains(values: Sequence[Number], objectives: Sequence[str], grid: bool = False) -> tuple[Number, ...]:
    """The numbers turned so that more is better; those that are no ratios to twelve digits, as rounding differs.

    grid: what thresholds are taken of is compared on their grid.
    """
    turned = (
        -on_grid(s, v) if grid and is_graded(s) else v if HIGHER[spelled(s)[0]] else -v
        for v, s in zip(values, objectives, strict=True)
    )
    return tuple(v if isinstance(v, Fraction) or math.isinf(v) else float(f"{v:.11e}") for v in turned)


def dominates(one: Sequence[Number], other: Sequence[Number]) -> bool:
    """Whether one is nowhere worse and somewhere better; more is better."""
    return all(a >= b for a, b in zip(one, other, strict=True)) and tuple(one) != tuple(other)


def best(found: Sequence[Candidate], objectives: Sequence[str], rule: Rule) -> list[Candidate]:
    """Those that none beats; equal ones all stay."""
    keys = [gains(c.values, objectives, rule.name == "as-needed") for c in found]
    distinct = set(keys)
    beaten = {key for key in distinct if any(dominates(other, key) for other in distinct)}
    return [c for c, key in zip(found, keys, strict=True) if key not in beaten]


def cuts(steps: Sequence[Step]) -> list[Step]:
    """Every cut through the tree of a hierarchy: each group stays whole or falls apart into those below."""

    def ways(level: int, leaves: tuple[str, ...]) -> list[dict[str, str]]:
        whole = dict.fromkeys(leaves, f"{level}:{leaves[0]}")
        if len(leaves) == 1:
            return [{leaves[0]: f"0:{leaves[0]}"}]
        below = level
        while len(parts := _apart(steps[below], leaves)) == 1:
            below -= 1
        each = [ways(below, part) for part in parts]
        split = [{k: v for way in pick for k, v in way.items()} for pick in itertools.product(*each)]
        return [whole, *split]

    return list(ways(len(steps) - 1, tuple(steps[0])))


def runs(leaves: Sequence[str]) -> list[Step]:
    """Every way to divide an ordered column into runs of neighbours."""
    ways: list[Step] = []
    for borders in itertools.product((0, 1), repeat=len(leaves) - 1):
        starts = [0, *itertools.accumulate(borders)]
        ways.append({leaf: str(start) for leaf, start in zip(leaves, starts, strict=True)})
    return ways


def _apart(step: Step, leaves: Sequence[str]) -> list[tuple[str, ...]]:
    parts: dict[str, list[str]] = {}
    for leaf in leaves:
        parts.setdefault(step[leaf], []).append(leaf)
    return [tuple(part) for part in parts.values()]
