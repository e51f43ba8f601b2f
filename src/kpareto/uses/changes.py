"""Two releases of one table, row by row: who is better off in which, and by how much (PB-1 to PB-3).

Both are made anew from the original by their recoding files; that they suppress the rows they did when they were made
is checked, so that nobody compares releases of other rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from kpareto._version import __version__
from kpareto.engines import in_form
from kpareto.engines.form import Missing, form_from
from kpareto.engines.read import read
from kpareto.errors import BadInput, BadJob, did_you_mean, shorten
from kpareto.fronts.problem import settled_rule
from kpareto.measures.properties import PROPERTIES, Comparison, Property, compare, property_vector
from kpareto.releases.choice import Stored, read_stored
from kpareto.releases.documents import document_files
from kpareto.tables.partition import Partition, partition
from kpareto.tables.recoding import Recoding
from kpareto.tables.table import Table

PLAIN = ("class-size", "breach-probability", "row-loss")
OWN = ("own-value-count", "own-value-probability")


@dataclass(frozen=True)
class Change:
    """How rows fare by one property in the second release compared with the first."""

    comparison: Comparison  # a is the first release, b the second
    worst: tuple[float, float]  # of any row, in either release
    total: tuple[float, float]  # over all rows, S

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        data = asdict(self.comparison)
        groups = [{"group": name, **{k: v for k, v in asdict(each).items() if k not in ("groups", "property")}}
                  for name, each in self.comparison.groups.items()]  # fmt: skip
        return {**data, "better": PROPERTIES[self.comparison.property], "worst": list(self.worst),
                "total": list(self.total), "groups": groups}  # fmt: skip


@dataclass(frozen=True)
class ReleaseChanges:
    """What ``compare_releases`` answers: a change per property.

    Attributes
    ----------
    rows : int
        Of the original.
    k : tuple of int
        The smallest class of either release.
    suppressed : tuple of int
        Rows that either leaves out.
    changes : tuple of Change
        One per property.

    Examples
    --------
    Two files that ``kpareto release`` wrote::

        print(kp.compare_releases("k5.csv", "k11.csv", "people.csv").changes[0].comparison.lose_rows)
    """

    rows: int
    k: tuple[int, int]
    suppressed: tuple[int, int]
    changes: tuple[Change, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        sizes = {"rows": self.rows, "k": list(self.k), "suppressed": list(self.suppressed)}
        return {"kpareto": __version__, **sizes, "properties": [change.to_dict() for change in self.changes]}


def compare_releases(
    first: str | Path,
    second: str | Path,
    original: object,
    by: str | None = None,
    properties: Sequence[str] = (),
) -> ReleaseChanges:
    """Who gains and who loses when the second release is given out instead of the first.

    Parameters
    ----------
    first, second : str or Path
        Released files with their recoding files beside them, or the recoding files.
    original : object
        The table that both were made from, whatever ``read`` takes.
    by : str, optional
        A column by whose values rows are told apart.
    properties : sequence of str, optional
        Of class-size, breach-probability, row-loss, own-value-count and own-value-probability; all that the table has
        unless given.

    Returns
    -------
    ReleaseChanges
        Rows that gain and lose, and by how much, per property.

    Raises
    ------
    BadInput
        If a file is missing, or the releases are not both of this table.

    Examples
    --------
    Two files that ``kpareto release`` wrote::

        kp.compare_releases("k5.csv", "k11.csv", "people.csv", by="sex")
    """
    for name in properties:
        if name not in PROPERTIES:
            raise BadJob(f"No property {name!r}. {did_you_mean(name, PROPERTIES)}There are: {', '.join(PROPERTIES)}.")
    one, two = (read_stored(_recoding_file(Path(file))) for file in (first, second))
    table = _read_original(one, two, original)
    sides = [_made_again(stored, table, Path(file)) for stored, file in ((one, first), (two, second))]
    names = properties or (*PLAIN, *(OWN if len(table.sensitive) == 1 else ()))
    changes = []
    for name in names:
        what = cast(Property, name)
        vectors = [property_vector(side, what) for side in sides]
        comparison = compare(sides[0], sides[1], what, by)
        worst, total = ((v[0], v[1]) for v in ([x.worst() for x in vectors], [x.total() for x in vectors]))
        changes.append(Change(comparison, worst, total))
    k, suppressed = ((v[0], v[1]) for v in ([_smallest(s) for s in sides], [s.suppressed_rows for s in sides]))
    return ReleaseChanges(table.rows, k, suppressed, tuple(changes))


def _smallest(side: Partition) -> int:
    return int(side.sizes[side.visible].min()) if side.visible.any() else 0


def _recoding_file(file: Path) -> Path:
    """The recoding file of a release, or the file itself where it is one."""
    place = file if file.name.endswith(".json") else document_files(file)["recoding"]
    if not place.is_file():
        raise BadInput(f"There is no recoding file {place.name!r} for {file.name!r}. Put it beside the release.")
    return place


def _read_original(one: Stored, two: Stored, original: object) -> Table:
    """The table through the hierarchies of both, which must be the same but for their cuts."""
    if one.schema.quasi != two.schema.quasi or one.missing != two.missing or one.domain != two.domain:
        raise BadInput(
            f"The releases have other quasi-identifiers or were read otherwise: {shorten(one.schema.quasi)}, and "
            f"{shorten(two.schema.quasi)}. Compare two releases of one table."
        )
    for mine, other in zip(one.recoding.hierarchies, two.recoding.hierarchies, strict=True):
        if mine.leaves != other.leaves:
            raise BadInput(f"Column {mine.name!r} has other values in the two releases. Compare two of one table.")
    if one.local or two.local:
        raise BadInput(
            "A local recoding tells each class apart, which its recoding file does not keep. Compare others."
        )
    origin = {} if one.origin is None else {"encoding": one.origin.encoding, **one.origin.form}
    marks = ("?", "") if one.origin is None or one.origin.missing_values is None else one.origin.missing_values
    source = in_form(original, form_from(origin))
    return read(source, one.schema, cast(Missing, one.missing), marks, one.recoding.hierarchies, one.domain)


def _made_again(stored: Stored, table: Table, file: Path) -> Partition:
    """The classes of a release, made anew from the table that it was made from."""
    rule = stored.suppression
    settled = settled_rule(dict(rule.thresholds), rule.limit, rule.rows) if rule.rule == "as-needed" else rule
    side = partition(table, Recoding(table.hierarchies, stored.recoding.cuts), settled)
    same = table.rows == int(stored.fit["rows"]) and side.suppressed_rows == int(stored.fit["suppressed"])
    if not same or (side.visible.any() and _smallest(side) != int(np.round(stored.fit["k"]))):
        raise BadInput(
            f"The original is not what {file.name!r} was made from: it has other rows, or other classes come of it. "
            "Give the table that both releases were made from."
        )
    return side
