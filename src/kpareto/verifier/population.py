"""Check a release against the population: who could be meant by each class, counted from the population's own rows.

The certificate says in its confidential part how each value of the population is shown. With that and the rows of the
population, plain dicts count how many people each released class could mean; nothing is taken from what made the
release. A row that shows nothing but stars could mean anybody.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from kpareto.engines import open_source
from kpareto.errors import BadInput, Unsafe
from kpareto.verifier.cells import NOTHING
from kpareto.verifier.counting import STAR, Class, Labels

Cells = Iterable[tuple[Sequence[str | None], int]]  # the value of each quasi-identifier, and how many people have them


def read_cells(
    source: object, columns: Sequence[str], encoding: str = "utf-8"
) -> Iterator[tuple[list[str | None], int]]:
    """The rows of a population where it lies: the values of the columns, and how many people have them."""
    with open_source(source, encoding) as rows:
        missing = [name for name in columns if name not in rows.columns]
        if missing:
            raise BadInput(f"The population has no column {missing[0]!r}. Give the one that the release was made with.")
        rolled = rows.distinct(tuple(columns)).fetch()
    texts = [[*column.texts.to_pylist(), None] for column in rolled.columns]
    codes = [column.codes.tolist() for column in rolled.columns]
    for row, times in zip(zip(*codes, strict=True), rolled.weights.tolist(), strict=True):
        yield [texts[index][code] for index, code in enumerate(row)], times


def count_people(cells: Cells, record: Mapping[str, Any], quasi: Sequence[str]) -> Counter[Labels]:
    """How many people of the population each combination of labels could mean; ``record`` is in the certificate."""
    labels, blanks = record["labels"], {None, *record["missing_values"]}
    people: Counter[Labels] = Counter()
    rows: Counter[tuple[str, ...]] = Counter()
    for values, times in cells:
        if any(value in blanks for value in values):
            if record["missing"] == "drop":
                continue
            values = [NOTHING if value in blanks else value for value in values]
        for name, value in zip(quasi, values, strict=True):
            if value not in labels[name]:
                raise BadInput(
                    f"The population has the value {value!r} in {name!r}, and the certificate does not say how it is "
                    "shown. Give the very population that the release was checked with."
                )
        shown = dict(zip(quasi, map(str, values), strict=True))
        people[tuple(labels[name][value] for name, value in shown.items())] += times
        rows[tuple(shown[name] for name in sorted(shown))] += times
    if record["rows"] != people.total():
        raise Unsafe(f"The population has {people.total():,} people, and the certificate says {record['rows']:,}.")
    if "content_sha256" in record and record["content_sha256"] != _digest(rows):
        raise Unsafe("The population is not the one that the release was checked with: its rows are others.")
    return people


def _digest(rows: Counter[tuple[str, ...]]) -> str:
    """SHA-256 of the distinct rows in order, each as JSON: its values by name of column, how many people have them."""
    digest = hashlib.sha256()
    for row in sorted([*values, times] for values, times in rows.items()):
        digest.update(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    return digest.hexdigest()


def pair_classes(classes: Mapping[Labels, Class], people: Counter[Labels]) -> dict[Labels, tuple[int, int]]:
    """Each class of the release and of the population: released rows, and people who could be meant."""
    pairs = {labels: (0, count) for labels, count in people.items()}
    for labels, class_ in classes.items():
        behind = people.total() if set(labels) == {STAR} else people[labels]
        if behind < class_.rows:
            raise Unsafe(
                f"The class ({', '.join(labels)}) has {class_.rows:,} rows, and {behind:,} people of the population "
                "look like that. Give the population that the rows come from."
            )
        pairs[labels] = (class_.rows, behind)
    return pairs


def _share_recognised(pairs: list[tuple[int, int]]) -> float:
    rows = sum(released for released, _ in pairs)
    return float(sum(Fraction(released, people) for released, people in pairs if released) / rows)


PEOPLE_HIGHER = {"k-map", "presence-min"}  # where more is safer
# One number about each class: from its released rows, and the people who look like it. The worst one counts.
BY_CLASS: dict[str, Callable[[int, int], float]] = {
    "k-map": lambda _, people: float(people),
    "journalist-risk": lambda _, people: 1 / people,
    "presence-max": lambda released, people: released / people,
    "presence-min": lambda released, people: released / people,
}
OVER_ALL: dict[str, Callable[[list[tuple[int, int]]], float]] = {
    "marketer-risk": _share_recognised,
    "population-uniques": lambda pairs: float(sum(released for released, people in pairs if people == 1)),
}
PEOPLE = {*BY_CLASS, *OVER_ALL}


def by_people(measure: str, pairs: Mapping[Labels, tuple[int, int]]) -> dict[Labels, float]:
    """One number per class; those of which nothing is released count for the least presence alone."""
    if measure in OVER_ALL:
        return dict.fromkeys(pairs, OVER_ALL[measure](list(pairs.values())))
    shown = {labels: pair for labels, pair in pairs.items() if pair[0] or measure == "presence-min"}
    return {labels: BY_CLASS[measure](*pair) for labels, pair in shown.items()}
