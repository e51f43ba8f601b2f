"""How anonymous a table is as it stands, under pyCANON's function names: a frame or file in, a number out.

Rows are counted as they are; missing values are a value of their own. With several sensitive columns the worst counts;
``gen=False`` adds the other sensitive columns to the quasi-identifiers before looking at each, as in pyCANON.
Where our answers differ from pyCANON's, docs/measures.md says why.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from kpareto.engines.read import read
from kpareto.measures import sensitive as diversity
from kpareto.measures import sizes as privacy
from kpareto.measures.measure import Model
from kpareto.tables.partition import Partition, classes
from kpareto.tables.recoding import bottom
from kpareto.tables.schema import Schema

Names = str | Iterable[str]


def _list(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(str(name) for name in names)


def _classes(data: object, quasi: Names, sensitive: Names = ()) -> Partition:
    """The classes of a table as it stands."""
    table = read(data, Schema(_list(quasi), sensitive=_list(sensitive)), missing="category", missing_values=())
    return classes(table, bottom(table.hierarchies))


def _each(data: object, quasi: Names, sensitive: Names, gen: bool) -> list[Partition]:
    """One partition with all sensitive columns, or one per column with the others as quasi-identifiers."""
    columns = _list(sensitive)
    if gen:
        return [_classes(data, quasi, columns)]
    return [_classes(data, (*_list(quasi), *(o for o in columns if o != column)), column) for column in columns]


def _worst(measure: Callable[[Partition], float], partitions: list[Partition], highest: bool) -> float:
    values = [measure(partition) for partition in partitions]
    return max(values) if highest else min(values)


def k_anonymity(data: object, quasi_ident: Names) -> int:
    """The size of the smallest class."""
    return int(privacy.k()(_classes(data, quasi_ident)))


def alpha_k_anonymity(data: object, quasi_ident: Names, sens_att: Names, gen: bool = True) -> tuple[float, int]:
    """The largest share of a sensitive value in a class, and k."""
    alpha = _worst(diversity.alpha(), _each(data, quasi_ident, sens_att, gen), highest=True)
    return alpha, k_anonymity(data, quasi_ident)


def l_diversity(data: object, quasi_ident: Names, sens_att: Names, gen: bool = True) -> int:
    """The fewest distinct sensitive values in a class."""
    return int(_worst(diversity.distinct_l(), _each(data, quasi_ident, sens_att, gen), highest=False))


def entropy_l_diversity(data: object, quasi_ident: Names, sens_att: Names, gen: bool = True) -> int:
    """The largest whole l of entropy l-diversity."""
    effective = _worst(diversity.entropy_l(), _each(data, quasi_ident, sens_att, gen), highest=False)
    return math.floor(effective + 1e-9)  # exp(ln 2) must count as 2


def recursive_c_l_diversity(data: object, quasi_ident: Names, sens_att: Names, gen: bool = True) -> tuple[float, int]:
    """The least whole c of recursive (c,l)-diversity for the l of distinct l-diversity, and l; no c where l is 1."""
    l = l_diversity(data, quasi_ident, sens_att)
    if l < 2:
        return math.nan, l
    ratio = _worst(diversity.recursive_l(l), _each(data, quasi_ident, sens_att, gen), highest=True)
    return (math.inf if math.isinf(ratio) else float(math.floor(ratio + 1e-9) + 1)), l


def t_closeness(data: object, quasi_ident: Names, sens_att: Names, gen: bool = True) -> float:
    """The largest distance of a class from the table: ordered for numbers, equal for anything else."""

    def distance(partition: Partition) -> float:
        return max(closeness_of(partition, counts.name)(partition) for counts in partition.table.sensitive)

    return _worst(distance, _each(data, quasi_ident, sens_att, gen), highest=True)


def closeness_of(partition: Partition, column: str) -> Model:
    """The measure t of a sensitive column: numbers are as far apart as they are, other values all alike."""
    numeric = partition.table.counts(column, "sensitive").numbers is not None
    return diversity.t(column, distance="ordered" if numeric else "equal")


def basic_beta_likeness(data: object, quasi_ident: Names, sens_att: Names, gen: bool = True) -> float:
    """The largest relative gain of a sensitive value in a class."""
    return _worst(diversity.beta(), _each(data, quasi_ident, sens_att, gen), highest=True)


def enhanced_beta_likeness(data: object, quasi_ident: Names, sens_att: Names, gen: bool = True) -> float:
    """The least β of enhanced β-likeness, infinite where none holds."""
    return _worst(diversity.enhanced_beta(), _each(data, quasi_ident, sens_att, gen), highest=True)


def delta_disclosure(data: object, quasi_ident: Names, sens_att: Names, gen: bool = True) -> float:
    """The largest |ln(p / q)| of a sensitive value that a class has."""
    return _worst(diversity.delta(), _each(data, quasi_ident, sens_att, gen), highest=True)
