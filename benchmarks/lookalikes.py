"""Tables that look like FARS and Census-Income, drawn by a seed, where the real ones cannot be shipped.

They have the rows, the columns, the numbers of values, the skew and the dependences that matter here: a few values
hold most rows, one column decides much of the next ("not in universe" for children), and rare rows are rare in several
columns at once. How they were set: relaxed Mondrian loses about as much on them as on the real tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kpareto.tables.hierarchies import intervals
from kpareto.tables.hierarchy import STAR, Hierarchy, from_levels
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table, make_table

FARS_ROWS, CENSUS_ROWS = 100_968, 190_561


def fars_like(rows: int = FARS_ROWS) -> Table:
    """Persons in fatal crashes: six columns, about 100,000 rows."""
    rng = np.random.default_rng(1)
    years = np.arange(100)
    peak = np.exp(-(((years - 20) / 6.0) ** 2)) + 0.55 * np.exp(-years / 45.0) + 0.02
    age = _draw(rng, peak[None], _zeros(rows))
    young, old = age < 36, age >= 60
    stage = np.where(young, 0, np.where(old, 2, 1))
    sex = _draw(rng, np.array([[0.68, 0.32], [0.66, 0.34], [0.56, 0.44]]), stage)
    state = _draw(rng, _skew(51, 1.5)[None], _zeros(rows))
    died = _draw(rng, np.array([[0.63, 0.37], [0.57, 0.43], [0.38, 0.62]]), stage)
    # Race and month are known of those who died alone, as in the table itself.
    race = _draw(rng, np.stack((_only_first(20), _skew(20, 2.8), _skew(20, 2.0, 1))), died * (1 + (state % 5 == 0)))
    month = _draw(rng, np.stack((_only_first(13), np.append(0.0, np.ones(12)))), died)
    columns = [
        (intervals("age", [str(year) for year in years], [5, 10, 20]), age),
        (_nest("sex", 2), sex),
        (_nest("state", 51, 6, 18), state),
        (_nest("death-month", 13, 3), month),
        (_nest("race", 20, 5), race),
        (_nest("injury", 8, 4), _draw(rng, np.stack((_skew(8, 1.6), _mostly(8, 7, 1.0))), died)),
    ]
    return _table(columns)


def census_like(rows: int = CENSUS_ROWS) -> Table:
    """A labour survey: twenty columns, about 190,000 rows, children and pensioners outside most of them."""
    rng = np.random.default_rng(2)
    years = np.arange(91)
    age = _draw(rng, (1.4 - years / 80.0 + 0.3 * np.exp(-(((years - 35) / 12.0) ** 2)))[None].clip(0.05), _zeros(rows))
    # Life: 0 child, 1 in work, 2 out of work, 3 pensioner.
    chance = np.stack(
        (
            np.where(years < 16, 1.0, 0.0),
            np.where(years < 16, 0.0, np.clip(0.85 - np.abs(years - 40) / 60.0, 0.03, 1.0)),
            np.where(years < 16, 0.0, 0.25),
            np.where(years < 55, 0.0, (years - 54) / 20.0),
        ),
        axis=1,
    )
    life = _draw(rng, chance, age)
    band = np.minimum(age // 15, 5)  # six bands of age
    schooling = _draw(rng, _by(6, lambda b: _only_first(17) if b == 0 else _skew(17, 1.5, 2 * b)), band)
    school = schooling // 6
    worker = _draw(rng, _by(4, lambda s: _skew(9, 1.7, 1) if s == 1 else _mostly(9, 0, 0.94)), life)
    industry = _draw(rng, _by(9, lambda w: _only_first(52) if w == 0 else _skew(52, 1.2, 5 * w)), worker)
    trade = np.where(industry == 0, 0, 1 + industry // 9)
    occupation = _draw(rng, _by(8, lambda t: _only_first(47) if t == 0 else _skew(47, 1.8, 6 * t)), trade)
    sex = _draw(rng, _by(7, lambda t: np.array([0.2 + 0.1 * t, 0.8 - 0.1 * t])), np.minimum(trade, 6))
    married = _draw(rng, _by(6, lambda b: _mostly(7, 0, 0.99) if b == 0 else _skew(7, 1.5, min(b, 2))), band)
    origin = _draw(rng, _mostly(5, 0, 0.93)[None], _zeros(rows))
    race = _draw(rng, _by(5, lambda o: _mostly(5, min(o, 2), 0.85)), origin)
    hispanic = _draw(rng, _by(5, lambda o: _mostly(10, 0, 0.93) if o == 0 else _skew(10, 0.9)), origin)
    moved = _draw(rng, np.array([[0.82, 0.08, 0.10]]), _zeros(rows))
    home = _draw(rng, _by(28, lambda p: _skew(38, 2.2, 5 * (p // 7) + 3 * (p % 7))), np.minimum(life, 3) * 7 + married)
    columns = [
        (intervals("age", [str(year) for year in years], [5, 10, 20]), age),
        (_nest("class-of-worker", 9, 3), worker),
        (_nest("industry", 52, 4, 12), industry),
        (_nest("occupation", 47, 4, 16), occupation),
        (_nest("education", 17, 4), schooling),
        (_nest("enrolled", 3), _draw(rng, _by(6, lambda b: _mostly(3, 0, 0.6 if b == 1 else 0.99)), band)),
        (_nest("marital-status", 7, 3), married),
        (_nest("race", 5), race),
        (_nest("hispanic-origin", 10, 5), hispanic),
        (_nest("sex", 2), sex),
        (_nest("union", 3), _draw(rng, _by(4, lambda s: _mostly(3, 0, 0.82 if s == 1 else 0.999)), life)),
        (_nest("reason-unemployed", 6), _draw(rng, _by(4, lambda s: _mostly(6, 0, 0.9 if s == 2 else 0.99)), life)),
        (_nest("full-or-part-time", 8, 4), _draw(rng, _by(4, lambda s: _skew(8, 2.6, 2 * s)), life)),
        (_nest("tax-filer", 6, 3), _draw(rng, _by(7, lambda m: _mostly(6, m % 6, 0.85)), married)),
        (
            _nest("state-before", 51, 6, 18),
            _draw(rng, _by(3, lambda m: _skew(51, 0.9) if m == 1 else _mostly(51, 0, 0.999)), moved),
        ),
        (_nest("household", 38, 5, 20), home),
        (_nest("migration", 10, 5), _draw(rng, _by(3, lambda m: _mostly(10, 3 * m, 0.9)), moved)),
        (_nest("lived-here", 3), moved),
        (_nest("citizenship", 5), _draw(rng, _by(5, lambda o: _mostly(5, o, 0.96)), origin)),
        (_nest("schooling-of-parents", 3), _draw(rng, _by(3, lambda e: _mostly(3, e, 0.9)), school)),
    ]
    return _table(columns)


def _table(columns: Sequence[tuple[Hierarchy, np.ndarray]]) -> Table:
    """The table of columns that hold leaf numbers, each with its hierarchy."""
    hierarchies = tuple(hierarchy for hierarchy, _ in columns)
    codes = np.stack([codes for _, codes in columns], axis=1).astype(np.int32)
    return make_table(Schema(tuple(h.name for h in hierarchies)), hierarchies, codes, np.ones(len(codes)), {})


def _nest(name: str, count: int, *widths: int) -> Hierarchy:
    """Values 0 … count − 1 in groups of each width, the next a multiple of the one before, and all together."""
    rows = [
        (f"{name} {value}", *(f"{name} {value // w * w}–{min(value // w * w + w, count) - 1}" for w in widths), STAR)
        for value in range(count)
    ]
    return from_levels(name, rows)


def _draw(rng: np.random.Generator, weights: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """A value per row, by the weights of its kind; weights: (kinds, values), kind: (rows,); (rows,) int64."""
    luck, drawn = rng.random(len(kind)), np.empty(len(kind), dtype=np.int64)
    for which, share in enumerate(weights / weights.sum(axis=1, keepdims=True)):
        inside = kind == which
        drawn[inside] = np.searchsorted(np.cumsum(share)[:-1], luck[inside], side="right")
    return drawn


def _by(kinds: int, weights: Callable[[int], np.ndarray]) -> np.ndarray:
    """The weights of each kind: (kinds, values)."""
    return np.stack([weights(kind) for kind in range(kinds)])


def _skew(count: int, slope: float, first: int = 0) -> np.ndarray:
    """Weights that fall with the rank to the power of slope; ``first`` is the most frequent value."""
    return np.roll(1.0 / np.arange(1, count + 1) ** slope, first)


def _mostly(count: int, value: int, share: float) -> np.ndarray:
    """One value with this share, the others skewed."""
    weights = _skew(count, 1.0)
    weights[value] = 0.0
    weights *= (1.0 - share) / weights.sum()
    weights[value] = share
    return weights


def _only_first(count: int) -> np.ndarray:
    """The first value and no other."""
    return _mostly(count, 0, 1.0)


def _zeros(rows: int) -> np.ndarray:
    """Every row of one kind."""
    return np.zeros(rows, dtype=np.int64)
