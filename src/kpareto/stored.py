"""A chosen recoding: with the table it was found on, and as a file by which other tables can be recoded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np

from kpareto._version import __version__
from kpareto.coarse import declared, declared_recoding
from kpareto.errors import BadInput, BadJob
from kpareto.hierarchy import Hierarchy, make_tree, runs_of
from kpareto.loss import cell_loss
from kpareto.partition import Partition, Rule, Suppression, partition
from kpareto.recoding import Recoding
from kpareto.schema import Schema
from kpareto.table import Domain, Sample, Table, make_table
from kpareto.whole import write_whole

FORMAT = 1


@dataclass(frozen=True)
class Applied:
    """What a recoding is on the sample that it was chosen on, and what it is on all rows (SPEC IY-14)."""

    sample: Sample
    numbers: Mapping[str, tuple[float, float]]  # measure -> on the sample, on all rows

    def sentence(self) -> str:
        """The degradation for a person."""
        told = [
            f"{name} {here:.1%} and {there:.1%}" if name == "suppressed" else f"{name} {here:.4g} and {there:.4g}"
            for name, (here, there) in self.numbers.items()
        ]
        return f"Chosen on {self.sample.words()}; on the sample and on all rows: {', '.join(told)}."


@dataclass(frozen=True, eq=False)
class Choice:
    """A recoding of a table that a person chose, and how classes are suppressed under it."""

    table: Table
    recoding: Recoding
    suppression: Suppression = field(default_factory=lambda: Suppression("none"))
    limits: Mapping[str, float] = field(default_factory=dict)  # measure -> at least, or at most
    # column -> text -> leaf: where values go that the hierarchy does not know
    unseen: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    named: tuple[tuple[str, ...], ...] | None = None  # the label of each group, where not the recoding's own
    applied: Applied | None = None  # where it was chosen on a sample, and is now one of all rows

    @property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        """The label of each group, per column."""
        return self.recoding.labels if self.named is None else self.named

    def partition(self) -> Partition:
        """The classes of the choice, some of them suppressed."""
        return partition(self.table, self.recoding, self.suppression)


@dataclass(frozen=True)
class Origin:
    """The source that a recoding was released from: all its columns with their roles, how it is read, and its hash."""

    columns: Mapping[str, str]  # column -> role, plain ones too
    encoding: str = "utf-8"
    sha256: str | None = None


def as_choice(given: object, limits: Mapping[str, float] | None = None) -> Choice:
    """A Choice from one, or from a point of a front: anything with a table, a recoding and a suppression.

    A point with a ``threshold`` of its own (rule cap-threshold) suppresses the classes below that.
    """
    found = given
    if not isinstance(found, Choice):
        missing = [name for name in ("table", "recoding") if not hasattr(given, name)]
        if missing:
            raise BadJob(f"A choice needs a table and a recoding; {type(given).__name__} has no {missing[0]}.")
        suppression = cast(Suppression | None, getattr(given, "suppression", None)) or Suppression("none")
        threshold = getattr(given, "threshold", None)
        if suppression.rule == "cap-threshold" and threshold:
            suppression = Suppression("below-k", suppression.limit, int(threshold), suppression.rows)
        own = cast(Mapping[str, float], getattr(given, "limits", None) or {})
        found = Choice(cast(Table, given.table), cast(Recoding, given.recoding), suppression, own)  # type: ignore[attr-defined]
    # What is released and stored is told by the hierarchies that were declared, however coarse the rows came in.
    found = replace(found, table=declared(found.table), recoding=declared_recoding(found.recoding))
    if limits is None:
        return found
    return replace(found, limits={**found.limits, **limits})


def canonical(data: object) -> str:
    """JSON in one spelling only, so that equal content has equal bytes."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def legible(data: object) -> str:
    """JSON for people, also in one spelling only."""
    return json.dumps(data, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def hierarchy_data(hierarchy: Hierarchy) -> dict[str, Any]:
    """A hierarchy as plain data, with all that recoding and loss depend on."""
    tree = hierarchy.tree
    runs = zip(tree.first.tolist(), tree.last.tolist(), tree.labels, strict=True)
    return {
        "leaves": list(hierarchy.leaves),
        "levels": [[first for first, _ in runs_of(cut)] for cut in hierarchy.groups],
        "labels": [list(labels) for labels in hierarchy.labels],
        "tree": [list(run) for run in runs],
        "ordered": hierarchy.ordered,
        "spans": _plain(hierarchy.spans),
        "edges": _plain(hierarchy.edges),
        "closed": hierarchy.closed,
        "loss": hierarchy.loss,
        "data_dependent": hierarchy.data_dependent,
        "dates": hierarchy.dates,
        **({} if hierarchy.rule is None else {"rule": dict(hierarchy.rule)}),
    }


def _plain(numbers: np.ndarray | None) -> list[Any] | None:
    """Numbers as texts that give them back, infinite ones too."""
    if numbers is None:
        return None
    return [_plain(row) if row.ndim else repr(float(row)) for row in numbers]


def hierarchy_from(name: str, data: Mapping[str, Any]) -> Hierarchy:
    """The hierarchy of plain data."""
    count = len(data["leaves"])
    cuts = [cut_of(firsts, count) for firsts in data["levels"]]
    return Hierarchy(
        name,
        tuple(data["leaves"]),
        np.array(cuts, dtype=np.int32),
        tuple(tuple(labels) for labels in data["labels"]),
        make_tree([(int(first), int(last), str(label)) for first, last, label in data["tree"]]),
        ordered=data["ordered"],
        spans=None if data["spans"] is None else np.array(data["spans"], dtype=np.float64).reshape(count, 2),
        edges=None if data["edges"] is None else np.array(data["edges"], dtype=np.float64),
        closed=data["closed"],
        loss=data["loss"],
        data_dependent=data["data_dependent"],
        dates=data["dates"],
        rule=data.get("rule"),
    )


def cut_of(firsts: Sequence[int], leaves: int) -> np.ndarray:
    """The cut whose groups begin at these leaves: (leaves,) int32."""
    begins = np.zeros(leaves, dtype=np.int32)
    begins[list(firsts)] = 1
    return (np.cumsum(begins) - 1).astype(np.int32)


def hierarchy_digest(hierarchy: Hierarchy) -> str:
    """SHA-256 of a hierarchy's plain data."""
    return hashlib.sha256(canonical(hierarchy_data(hierarchy)).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class Stored:
    """A recoding that other tables can be recoded by: self-contained, and with the loss it had where it was found."""

    schema: Schema
    recoding: Recoding
    suppression: Suppression  # rule, limit, k and rows; class-wise limits are in ``limits``
    limits: Mapping[str, float]
    domain: Domain
    observed: tuple[np.ndarray, ...]  # per column (leaves,) bool: the leaves of the fitting table, for its bounds L, U
    missing: str
    fit: Mapping[str, float]  # rows, suppressed, k, lm, glm on the fitting table
    origin: Origin | None = None  # None: not known, as in files of earlier versions

    def text(self) -> str:
        """The recoding file."""
        schema = self.schema
        data = {
            "kpareto recoding": FORMAT,
            "version": __version__,
            "schema": {
                "quasi": list(schema.quasi),
                "sensitive": list(schema.sensitive),
                "target": list(schema.target),
                "identifier": list(schema.identifier),
                "person": schema.person,
                "weights": dict(schema.weights),
            },
            "columns": {
                h.name: {
                    "hierarchy": hierarchy_data(h),
                    "sha256": hierarchy_digest(h),
                    "cut": [first for first, _ in runs_of(cut)],
                    "level": None if self.recoding.levels is None else self.recoding.levels[place],
                    "observed": np.flatnonzero(self.observed[place]).tolist(),
                }
                for place, (h, cut) in enumerate(zip(self.recoding.hierarchies, self.recoding.cuts, strict=True))
            },
            "suppression": {
                "rule": self.suppression.rule,
                "limit": self.suppression.limit,
                "k": self.suppression.k,
                "rows": self.suppression.rows,
            },
            "limits": dict(self.limits),
            "domain": self.domain,
            "missing": self.missing,
            "fit": dict(self.fit),
            "source": None if self.origin is None else {**vars(self.origin), "columns": dict(self.origin.columns)},
        }
        return legible(data)

    def write(self, target: str | PathLike[str]) -> None:
        """Write the recoding file, whole or not at all."""
        write_whole(target, self.text())

    @property
    def ruler(self) -> Table:
        """A table with the leaves of the fitting table, to measure losses of other tables by the same bounds."""
        most = max(int(mask.sum()) for mask in self.observed)
        codes = np.stack([np.resize(np.flatnonzero(mask), most) for mask in self.observed], axis=1).astype(np.int32)
        plain = Schema(self.schema.quasi)
        table = make_table(plain, self.recoding.hierarchies, codes, np.ones(len(codes), dtype=np.int64), {})
        return replace(table, domain=self.domain)

    def loss(self, found: Partition, stars: Mapping[str, int] | None = None) -> dict[str, float]:
        """LM and GLM of a partition by this recoding, denominators frozen; ``stars``: groups of unseen values."""
        ruler, total = self.ruler, 0.0
        kept = ~found.suppressed
        for column, name in enumerate(self.schema.quasi):
            numerators, denominator = cell_loss(ruler, column, self.recoding.cuts[column])
            share = numerators / denominator
            if name in (stars or {}):
                share = np.append(share, 1.0)  # a cell of which nothing is told
            total += float(found.rows[kept] @ share[found.groups[kept, column]]) + found.suppressed_rows
        return {"lm": total / (found.table.rows * len(self.schema.quasi)), "glm": total}


def store(given: object, limits: Mapping[str, float] | None = None, origin: Origin | None = None) -> Stored:
    """The recoding of a choice, ready to be written and applied to other tables.

    ``origin`` is that of the release; without it no column beside those with a role is known.
    """
    choice = as_choice(given, limits)
    table, found = choice.table, choice.partition()
    stored = Stored(
        table.schema,
        choice.recoding,
        choice.suppression,
        choice.limits,
        table.domain,
        table.observed,
        table.missing,
        {},
        origin,
    )
    k = int(found.sizes[found.visible].min()) if not found.empty else 0
    fit = {"rows": table.rows, "suppressed": found.suppressed_rows, "k": k, **stored.loss(found)}
    return replace(stored, fit=fit)


def read_stored(source: str | PathLike[str] | Stored) -> Stored:
    """A recoding file read back; one that was changed by hand so that it no longer fits is a sentence."""
    if isinstance(source, Stored):
        return source
    shown = repr(str(source))
    try:
        data = json.loads(Path(source).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"The recoding {shown} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise BadInput(f"The recoding {shown} is not JSON ({error}).") from error
    if not isinstance(data, dict) or data.get("kpareto recoding") != FORMAT:
        raise BadInput(f"{shown} is not a recoding file of kpareto. Give one that was written with a release.")
    try:
        return _stored(data)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise BadInput(f"The recoding {shown} is not whole: {error!r}. Write it again.") from error


def _stored(data: Mapping[str, Any]) -> Stored:
    schema = Schema(**data["schema"])
    columns = [data["columns"][name] for name in schema.quasi]
    hierarchies = tuple(hierarchy_from(n, c["hierarchy"]) for n, c in zip(schema.quasi, columns, strict=True))
    for hierarchy, column in zip(hierarchies, columns, strict=True):
        if hierarchy_digest(hierarchy) != column["sha256"]:
            raise BadInput(
                f"The hierarchy of {hierarchy.name!r} in the recoding file was changed: its SHA-256 does not fit. "
                "Take the file as it was written."
            )
    levels = [column["level"] for column in columns]
    cuts = tuple(cut_of(column["cut"], len(h.leaves)) for h, column in zip(hierarchies, columns, strict=True))
    recoding = Recoding(hierarchies, cuts, None if None in levels else tuple(levels))
    told = data["suppression"]
    # What the rule constraint suppresses is said by the limits, which are kept by name.
    rule: Rule = "none" if told["rule"] == "constraint" else told["rule"]
    observed = []
    for hierarchy, column in zip(hierarchies, columns, strict=True):
        mask = np.zeros(len(hierarchy.leaves), dtype=np.bool_)
        mask[column["observed"]] = True
        observed.append(mask)
    return Stored(
        schema,
        recoding,
        Suppression(rule, told["limit"], told["k"], told["rows"]),
        data["limits"],
        data["domain"],
        tuple(observed),
        data["missing"],
        data["fit"],
        Origin(**data["source"]) if data.get("source") else None,
    )
