"""Measures from their definitions: fractions where the number is a ratio, floats where it has a logarithm."""

from __future__ import annotations

import itertools
import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

from tests.fuzz.oracle.sheets import INFINITE, SLACK, Class, Number, Parted, size_of


def meets(spec: str, value: Number, limit: float) -> bool:
    """Whether a number is within its limit."""
    slack = SLACK * max(1.0, abs(limit))
    return value >= limit - slack if HIGHER[spelled(spec)[0]] else value <= limit + slack


def spelled(spec: str) -> tuple[str, dict[str, str]]:
    """A measure's name and parameters: t(distance=ordered) -> t, {distance: ordered}."""
    name, _, inside = spec.removesuffix(")").partition("(")
    pairs = [part.partition("=") for part in inside.split(",") if part.strip()]
    return name.strip(), {key.strip(): value.strip() for key, _, value in pairs}


# -- privacy by class: one number per class ----------------------------------------------------------------------

Given = Mapping[str, str]


def _columns(p: Parted, given: Given) -> list[tuple[str, ...]]:
    return [p.sheet.sensitive[given["column"]]] if "column" in given else list(p.sheet.sensitive.values())


NOTHING = "(missing)"


def spell(value: str) -> str:
    """A value as it counts, whatever its case and blanks and however a number is written."""
    plain = " ".join(unicodedata.normalize("NFKC", value).casefold().split())
    return str(Fraction(plain)) if plain and all(c in "0123456789.+-" for c in plain) and _is_real(plain) else plain


def _is_real(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _sets(p: Parted, values: Sequence[str], rows: Sequence[int], known: bool = False) -> list[set[str]]:
    """Of each person, or row, the values; ``known``: without missing ones, and those who have no other."""
    held: dict[object, set[str]] = {}
    for row in rows:
        held.setdefault(row if p.sheet.persons is None else p.sheet.persons[row], set()).add(spell(values[row]))
    sets = [some - {NOTHING} if known else some for some in held.values()]
    return [some for some in sets if some]


def _shares(p: Parted, values: Sequence[str], rows: Sequence[int]) -> dict[str, Fraction]:
    sets = _sets(p, values, rows)
    return {v: Fraction(sum(v in some for some in sets), len(sets)) for v in set().union(*sets)}


def _spread(p: Parted, values: Sequence[str], rows: Sequence[int]) -> dict[str, Fraction]:
    sets = _sets(p, values, rows)
    return {v: sum((Fraction(v in s, len(s) * len(sets)) for s in sets), Fraction(0)) for v in set().union(*sets)}


def _rows_of_reference(p: Parted, given: Given) -> list[int]:
    return list(range(p.count)) if given.get("reference", "table") == "table" else [r for c in p.seen for r in c.rows]


def _fewest(sets: Sequence[set[str]]) -> int:
    """The fewest values of which everybody has one; what somebody has alone is taken, the rest tried out up to 6."""
    alone = {value for some in sets if len(some) == 1 for value in some}
    rest = [some for some in sets if not some & alone]
    every = sorted(set().union(*rest))
    tried = (n for n in range(6) for c in itertools.combinations(every, n) if all({*c} & some for some in rest))
    return len(alone) + next(tried, 6)


def _uneven(p: Parted, values: Sequence[str], rows: Sequence[int]) -> list[int]:
    sets = _sets(p, values, rows, known=True)
    counts, left = [], len(sets)
    for count in sorted(Counter(v for some in sets for v in some).values(), reverse=True):
        counts.append(min(count, left))
        left -= counts[-1]
    return [count for count in counts if count]


def _l(p: Parted, c: Class, given: Given) -> Number:
    return Fraction(min(_fewest(_sets(p, values, c.rows, known=True)) for values in _columns(p, given)))


def _entropy_l(p: Parted, c: Class, given: Given) -> Number:
    worst = math.inf
    for values in _columns(p, given):
        counts = _uneven(p, values, c.rows)
        worst = min(worst, math.exp(-sum(n / sum(counts) * math.log(n / sum(counts)) for n in counts)) if counts else 0)
    return worst


def _recursive_l(p: Parted, c: Class, given: Given) -> Number:
    rank, worst = int(given.get("l", "2")), Fraction(0)
    for values in _columns(p, given):
        counts = _uneven(p, values, c.rows)
        if len(counts) < rank:
            return INFINITE
        worst = max(worst, Fraction(counts[0], sum(counts[rank - 1 :])))
    return worst


def _alpha(p: Parted, c: Class, given: Given) -> Number:
    return max(max(_shares(p, values, c.rows).values()) for values in _columns(p, given))


def in_order(values: Sequence[str]) -> list[str]:
    """Distinct values by size where all are numbers, else by code points; the mark for missing ones last."""
    distinct = set(values)
    if all(is_number(value) for value in distinct):
        return sorted(distinct, key=float)
    return sorted(distinct, key=lambda value: (value == "(missing)", value))


def is_number(text: str) -> bool:
    """Whether a text is a number; digits behind a leading zero are a code."""
    try:
        number = float(text)
    except ValueError:
        return False
    digits = text.lstrip("+-")
    return (
        math.isfinite(number) and not (len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()) and "_" not in text
    )


def _t(p: Parted, c: Class, given: Given) -> Number:
    worst = Fraction(0)
    for values in _columns(p, given):
        mine, all_ = _spread(p, values, c.rows), _spread(p, values, _rows_of_reference(p, given))
        order = list(dict.fromkeys(map(spell, in_order(values))))
        gaps = [mine.get(value, Fraction(0)) - all_.get(value, Fraction(0)) for value in order]
        if given.get("distance", "equal") == "equal":
            found = sum((abs(gap) for gap in gaps), Fraction(0)) / 2
        elif len(order) == 1:
            found = Fraction(0)
        else:
            found = sum((abs(x) for x in itertools.accumulate(gaps)), Fraction(0)) / (len(order) - 1)
        worst = max(worst, found)
    return worst


def _gains(p: Parted, c: Class, given: Given) -> Iterator[tuple[Fraction, Fraction]]:
    for values in _columns(p, given):
        all_ = _shares(p, values, _rows_of_reference(p, given))
        for value, share in _shares(p, values, c.rows).items():
            yield share, all_[value]


def _beta(p: Parted, c: Class, given: Given) -> Number:
    return max(((mine - all_) / all_ for mine, all_ in _gains(p, c, given)), default=Fraction(0))


def _enhanced_beta(p: Parted, c: Class, given: Given) -> Number:
    gains = [((mine - all_) / all_, all_) for mine, all_ in _gains(p, c, given)]
    if any(gain > -math.log(all_) + SLACK for gain, all_ in gains):
        return INFINITE
    return max((gain for gain, _ in gains), default=Fraction(0))


def _delta(p: Parted, c: Class, given: Given) -> Number:
    return max(abs(math.log(mine / all_)) for mine, all_ in _gains(p, c, given))


BY_CLASS: dict[str, Callable[[Parted, Class, Given], Number]] = {
    "k": lambda p, c, given: Fraction(c.size),
    "risk-max": lambda p, c, given: Fraction(1, c.size),
    "l": _l,
    "entropy-l": _entropy_l,
    "recursive-l": _recursive_l,
    "alpha": _alpha,
    "t": _t,
    "beta": _beta,
    "enhanced-beta": _enhanced_beta,
    "delta": _delta,
}

# -- losses and other numbers of the whole ------------------------------------------------------------------------


def _members(p: Parted, column: int) -> dict[str, set[str]]:
    """Group -> the leaves in it that count."""
    found: dict[str, set[str]] = {}
    for leaf in p.sheet.leaves(column):
        found.setdefault(p.recoding[column][leaf], set()).add(leaf)
    return found


def cell_losses(p: Parted, column: int) -> dict[str, Fraction]:
    """Leaf -> the loss of a kept cell."""
    every = len(p.sheet.leaves(column))
    groups = _members(p, column)
    return {
        leaf: Fraction(len(group) - 1, every - 1) if every > 1 else Fraction(0)
        for group in groups.values()
        for leaf in group
    }


def _row_losses(p: Parted) -> list[list[Fraction]]:
    """Row -> loss of each cell."""
    lost, columns = set(p.lost), range(len(p.recoding))
    losses = [cell_losses(p, column) for column in columns]
    return [
        [Fraction(1) if place in lost else losses[column][row[column]] for column in columns]
        for place, row in enumerate(p.sheet.quasi)
    ]


def _glm(p: Parted, given: Given) -> Number:
    return sum((sum(row, Fraction(0)) for row in _row_losses(p)), Fraction(0))


def _lm(p: Parted, given: Given) -> Number:
    return Fraction(_glm(p, given)) / (p.count * len(p.recoding))


def _nwp(p: Parted, given: Given) -> Number:
    weights = [Fraction(str(w)) for w in p.sheet.weights or (1,) * len(p.recoding)]
    total = sum((sum(w * x for w, x in zip(weights, row, strict=True)) for row in _row_losses(p)), Fraction(0))
    return Fraction(total) / (sum(weights) * p.count)


def _precision_loss(p: Parted, given: Given) -> Number:
    lost, total = set(p.lost), Fraction(0)
    for column, step in enumerate(p.recoding):
        steps = p.sheet.steps[column]
        height = len(steps) - 1
        depth: dict[str, Fraction] = {}
        for group in set(step.values()):
            leaves = [leaf for leaf in step if step[leaf] == group]
            level = next(n for n, one in enumerate(steps) if len({one[leaf] for leaf in leaves}) == 1)
            depth[group] = Fraction(level, height) if height else Fraction(0)
        total += sum(
            Fraction(1) if place in lost else depth[step[row[column]]] for place, row in enumerate(p.sheet.quasi)
        )
    return total / (p.count * len(p.recoding))


def _entropy(p: Parted, given: Given) -> Number:
    lost, bits = set(p.lost), 0.0
    for column, step in enumerate(p.recoding):
        every = Counter(row[column] for row in p.sheet.quasi)
        groups: dict[str, Counter[str]] = {}
        for leaf, count in every.items():
            groups.setdefault(step[leaf], Counter())[leaf] = count
        guess = {name: _bits(counts) for name, counts in groups.items()}
        worst = math.log2(len(every))
        bits += sum(worst if place in lost else guess[step[row[column]]] for place, row in enumerate(p.sheet.quasi))
    return bits


def _bits(counts: Counter[str]) -> float:
    total = sum(counts.values())
    return -sum(n / total * math.log2(n / total) for n in counts.values())


def _dcn(p: Parted, given: Given) -> Number:
    return Fraction(sum(len(c.rows) ** 2 for c in p.kept) + p.count * len(p.lost))


def _cm_rows(p: Parted, given: Given) -> Number:
    target = p.sheet.target or ()
    wrong = sum(len(c.rows) - max(Counter(target[row] for row in c.rows).values()) for c in p.kept)
    return Fraction(wrong + len(p.lost))


def _average(p: Parted, given: Given) -> Number:
    if not p.kept:
        return Fraction(p.count)
    return Fraction(sum(len(c.rows) for c in p.kept), len(p.kept)) / Fraction(given.get("k", "1"))


def _risk_mean(p: Parted, given: Given) -> Number:
    return Fraction(len(p.seen), sum(c.size for c in p.seen))


def _risk_share(p: Parted, given: Given) -> Number:
    threshold = Fraction(given.get("threshold", "0.2"))
    above = sum(c.size for c in p.seen if Fraction(1, c.size) > threshold)
    return Fraction(above, sum(c.size for c in p.seen))


def _necd(p: Parted, given: Given) -> Number:
    sizes = [c.size for c in p.seen]
    every = size_of(p.sheet, range(p.count))
    return Fraction(max(sizes) - min(sizes), every - 1) if every > 1 else Fraction(0)


OF_WHOLE: dict[str, Callable[[Parted, Given], Number]] = {
    "glm": _glm,
    "lm": _lm,
    "nwp": _nwp,
    "precision-loss": _precision_loss,
    "entropy": _entropy,
    "dcn": _dcn,
    "cm-rows": _cm_rows,
    "cm": lambda p, given: Fraction(_cm_rows(p, given)) / p.count,
    "average-class-size": _average,
    "risk-mean": _risk_mean,
    "risk-share": _risk_share,
    "uniques": lambda p, given: Fraction(sum(c.size == 1 for c in p.seen)),
    "suppressed": lambda p, given: Fraction(len(p.lost)),
    "classes": lambda p, given: Fraction(len(p.kept)),
    "necd": _necd,
}
_BETTER_HIGHER = ("k", "l", "entropy-l", "classes")
HIGHER = {name: name in _BETTER_HIGHER for name in (*BY_CLASS, *OF_WHOLE)}


def number(p: Parted, spec: str) -> Number:
    """One measure of what an onlooker sees and what was lost; some class must be seen."""
    name, given = spelled(spec)
    if name in OF_WHOLE:
        return OF_WHOLE[name](p, given)
    values = [BY_CLASS[name](p, c, given) for c in p.seen]
    return min(values) if HIGHER[name] else max(values)
