"""A chosen recoding: with the table it was found on, and as a file by which other tables can be recoded."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, cast

import numpy as np

from kpareto._version import __version__
from kpareto.atomic import write_whole
from kpareto.engines.form import Missing
from kpareto.engines.read import Wish, read_merged
from kpareto.errors import BadInput, BadJob, KparetoError
from kpareto.fronts.numbers import ProvenGap
from kpareto.fronts.problem import settled_rule, stricter
from kpareto.measures.cells import cell_loss, lm
from kpareto.measures.population import refuse_local
from kpareto.measures.sensitive import distinct_l
from kpareto.strict import (
    FileKind,
    Misfit,
    Shape,
    anything,
    check_shape,
    either,
    entry,
    list_of,
    map_of,
    maybe,
    number,
    read_json,
    record,
    text,
    truth,
    whole,
    word,
)
from kpareto.tables.boxes import Question, questions_data, questions_from
from kpareto.tables.coarse import declare, declared_recoding
from kpareto.tables.hierarchy import Hierarchy, make_tree, runs_of
from kpareto.tables.partition import EARLIER, RULES, Partition, Suppression, partition
from kpareto.tables.recoding import Recoding
from kpareto.tables.schema import Schema
from kpareto.tables.table import Domain, Sample, Table, make_table

FORMAT = 1


@dataclass(frozen=True)
class SampleApplied:
    """What a recoding is on the sample that it was chosen on, and what it is on all rows (IY-14)."""

    sample: Sample
    numbers: Mapping[str, tuple[float, float]]  # measure -> on the sample, on all rows

    def sentence(self) -> str:
        """The degradation for a person."""
        pairs = [
            f"{name} {here:.1%} and {there:.1%}" if name == "suppressed" else f"{name} {here:.4g} and {there:.4g}"
            for name, (here, there) in self.numbers.items()
        ]
        return f"Chosen on {self.sample.words()}; on the sample and on all rows: {', '.join(pairs)}."


@dataclass(frozen=True, eq=False, repr=False)
class Choice:
    """A recoding of a table that a person chose, and how classes are suppressed under it."""

    table: Table
    recoding: Recoding
    suppression: Suppression = field(default_factory=lambda: Suppression("none"))
    limits: Mapping[str, float] = field(default_factory=dict)  # measure -> at least, or at most
    # column -> text -> leaf: where values go that the hierarchy does not know
    unseen: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    named: tuple[tuple[str, ...], ...] | None = None  # the label of each group, where not the recoding's own
    applied: SampleApplied | None = None  # where it was chosen on a sample, and is now one of all rows
    bound: ProvenGap | None = None  # what any local recoding loses at least, where that is known

    def __post_init__(self) -> None:
        if self.recoding.boxes is not None:
            refuse_local(self.table)
        for spec, limit in self.limits.items():
            plain = isinstance(limit, int | float | np.number) and not isinstance(limit, bool)
            if not plain or math.isnan(limit):
                raise BadJob(f"The limit on {spec!r} is {limit!r}. Give a number, or leave the limit out.")

    def __repr__(self) -> str:
        """Never the values themselves: a notebook prints this."""
        limits = "".join(f", {name} = {limit:g}" for name, limit in self.limits.items())
        return f"Choice({self.recoding!r} of {self.table.rows:,} rows, {self.suppression.rule}{limits})"

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
    form: Mapping[str, Any] = field(default_factory=dict)  # of its file, as Form.to_dict has it
    missing_values: Sequence[str] | None = None  # the texts that stood for no value; None where that was not kept


def as_choice(point: object, limits: Mapping[str, float] | None = None) -> Choice:
    """A Choice from one, or from a point of a front: anything with a table, a recoding and a suppression.

    A point of the rule as-needed has thresholds of its own. One that was found on a sample says nothing about the size
    of classes of all rows: there a limit takes its place.
    """
    choice = point
    if not isinstance(choice, Choice):
        missing = [name for name in ("table", "recoding") if not hasattr(point, name)]
        if missing:
            raise BadJob(f"A choice needs a table and a recoding; {type(point).__name__} has no {missing[0]}.")
        suppression = cast(Suppression | None, getattr(point, "suppression", None)) or Suppression("none")
        if suppression.thresholds and cast(Table, point.table).sample is not None:  # type: ignore[attr-defined]
            asked = {name: (limits or {}).get(name, value) for name, value in suppression.thresholds}
            suppression = settled_rule(asked, suppression.limit, suppression.rows)
        limits_of_point = cast(Mapping[str, float], getattr(point, "limits", None) or {})
        choice = Choice(cast(Table, point.table), cast(Recoding, point.recoding), suppression, limits_of_point)  # type: ignore[attr-defined]
        choice = replace(choice, bound=cast(ProvenGap | None, getattr(point, "bound", None)))
    # What is released and stored is told by the hierarchies that were declared, however coarse the rows came in.
    choice = replace(choice, table=declare(choice.table), recoding=declared_recoding(choice.recoding))
    if limits is None:
        return choice
    limited = replace(choice, limits=stricter(replace(choice, limits=limits).limits, choice.limits))
    return replace(limited, suppression=_as_asked(limited))


def _as_asked(choice: Choice) -> Suppression:
    """The suppression with thresholds as they were asked for, where that suppresses the same rows.

    A point for k = 20 may have no class below 21; what it promises of other rows is 20.
    """
    rule = choice.suppression
    asked = {name: choice.limits.get(name, value) for name, value in rule.thresholds}
    if asked == dict(rule.thresholds):
        return rule
    relaxed = settled_rule(asked, rule.limit, rule.rows)
    same = replace(choice, suppression=relaxed).partition().suppressed_rows == choice.partition().suppressed_rows
    return relaxed if same and len(rule.fails) == len(rule.thresholds) else rule


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
        "spans": _number_texts(hierarchy.spans),
        "edges": _number_texts(hierarchy.edges),
        **{name: getattr(hierarchy, name) for name in _AS_THEY_ARE},
        **({} if hierarchy.rule is None else {"rule": dict(hierarchy.rule)}),
    }


def _number_texts(numbers: np.ndarray | None) -> list[Any] | None:
    """Numbers as texts that give them back, infinite ones too."""
    if numbers is None:
        return None
    return [_number_texts(row) if row.ndim else repr(float(row)) for row in numbers]


def hierarchy_from(name: str, data: Mapping[str, Any]) -> Hierarchy:
    """The hierarchy of plain data."""
    count = len(data["leaves"])
    cuts = [cut_of(firsts, count) for firsts in data["levels"]]
    if [len(labels) for labels in data["labels"]] != [len(firsts) for firsts in data["levels"]]:
        raise ValueError("the groups of a level have more or fewer labels than they are")
    if len(set(data["leaves"])) < count or any(not first <= last < count for first, last, _ in data["tree"]):
        raise ValueError("a leaf stands twice, or the tree has other leaves")
    return Hierarchy(
        name,
        tuple(data["leaves"]),
        np.array(cuts, dtype=np.int32),
        tuple(tuple(labels) for labels in data["labels"]),
        make_tree([(int(first), int(last), str(label)) for first, last, label in data["tree"]]),
        spans=None if data["spans"] is None else np.array(data["spans"], dtype=np.float64).reshape(count, 2),
        edges=None if data["edges"] is None else np.array(data["edges"], dtype=np.float64),
        rule=data.get("rule"),
        **{name: data[name] for name in _AS_THEY_ARE},
    )


def cut_of(firsts: Sequence[int], leaves: int) -> np.ndarray:
    """The cut whose groups begin at these leaves: (leaves,) int32."""
    if list(firsts[:1]) != [0] or (np.diff(firsts) <= 0).any() or firsts[-1] >= leaves:
        raise ValueError(f"the groups of {leaves:,} leaves do not begin at the first leaf and rise")
    begins = np.zeros(leaves, dtype=np.int32)
    begins[list(firsts)] = 1
    return (np.cumsum(begins) - 1).astype(np.int32)


def hierarchy_digest(hierarchy: Hierarchy) -> str:
    """SHA-256 of a hierarchy's plain data."""
    return _data_digest(hierarchy_data(hierarchy))


def _data_digest(data: Mapping[str, Any]) -> str:
    """SHA-256 of all that a recoding file says: a limit that slipped must not let rows out."""
    return hashlib.sha256(canonical(data).encode("utf-8", "surrogatepass")).hexdigest()  # half a letter fits no digest


@dataclass(frozen=True, eq=False)
class StoredClasses:
    """The classes of a local recoding in which no two labels overlap, and the questions that lead to them."""

    first: np.ndarray  # (classes, columns) int32, first leaf of the label
    last: np.ndarray  # (classes, columns) int32, last leaf of the label
    root: Question | int

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {"first": self.first.tolist(), "last": self.last.tolist(), "questions": questions_data(self.root)}


@dataclass(frozen=True, eq=False)
class Stored:
    """A recoding that other tables can be recoded by: self-contained, and with the loss it had where it was found."""

    schema: Schema
    recoding: Recoding
    suppression: Suppression  # rule, limit, k, rows and thresholds, not the functions made of these
    limits: Mapping[str, float]
    domain: Domain
    observed: tuple[np.ndarray, ...]  # per column (leaves,) bool: the leaves of the fitting table, for its bounds L, U
    missing: str
    fit: Mapping[str, float]  # rows, suppressed, k, lm, glm on the fitting table
    origin: Origin | None = None  # None: not known, as in files of earlier versions
    local: bool = False  # labels differ from class to class; the cuts only hold them
    classes: StoredClasses | None = None  # of a local recoding that can be used again

    def text(self) -> str:
        """The recoding file."""
        schema = self.schema
        data = {
            "kpareto recoding": FORMAT,
            "version": __version__,
            "schema": {
                **{role: list(getattr(schema, role)) for role in ("quasi", "sensitive", "target", "identifier")},
                "person": schema.person,
                "weights": dict(schema.weights),
                **({} if schema.spellings == "fold" else {"spellings": schema.spellings}),
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
                **{word: getattr(self.suppression, word) for word in ("rule", "limit", "k", "rows")},
                "thresholds": dict(self.suppression.thresholds),
            },
            "limits": dict(self.limits),
            "domain": self.domain,
            "missing": self.missing,
            "fit": dict(self.fit),
            "source": None if self.origin is None else {**vars(self.origin), "columns": dict(self.origin.columns)},
            **({"local": {} if self.classes is None else self.classes.to_dict()} if self.local else {}),
        }
        return legible({**data, "sha256": _data_digest(data)})

    def write(self, target: str | PathLike[str]) -> None:
        """Write the recoding file for its owner alone, whole or not at all."""
        write_whole(target, self.text(), private=True)

    @property
    def ruler(self) -> Table:
        """A table with the leaves of the fitting table, to measure losses of other tables by the same bounds."""
        most = max(int(mask.sum()) for mask in self.observed)
        codes = np.stack([np.resize(np.flatnonzero(mask), most) for mask in self.observed], axis=1).astype(np.int32)
        plain = Schema(self.schema.quasi)
        table = make_table(plain, self.recoding.hierarchies, codes, np.ones(len(codes), dtype=np.int64), {})
        return replace(table, domain=self.domain)

    def loss(
        self,
        classes: Partition,
        stars: Mapping[str, int] | None = None,
        moved: Mapping[str, np.ndarray] | None = None,
    ) -> dict[str, float]:
        """LM and GLM of a partition by this recoding, denominators frozen.

        ``stars``: groups of unseen values; ``moved``: where each group was in the fitting table, -1 for new groups,
        which are taken to hide as much as the widest known one.
        """
        ruler, total = self.ruler, 0.0
        kept = ~classes.suppressed
        for column, name in enumerate(self.schema.quasi):
            shown = classes.recoding if classes.recoding.boxes is not None else self.recoding
            numerators, denominator = cell_loss(ruler, column, *shown.runs(column))
            share = numerators / denominator
            if name in (moved or {}):
                share = np.append(share, share.max())[(moved or {})[name]]
            if name in (stars or {}):
                share = np.append(share, 1.0)  # a cell of which nothing is told
            total += float(classes.rows[kept] @ share[classes.groups[kept, column]]) + classes.suppressed_rows
        return {"lm": total / (classes.table.rows * len(self.schema.quasi)), "glm": total}


def store(point: object, limits: Mapping[str, float] | None = None, origin: Origin | None = None) -> Stored:
    """The recoding of a choice, ready to be written and applied to other tables.

    Parameters
    ----------
    point : Choice or Point
        What was chosen.
    limits : mapping of str to float, optional
        Measures with the least or most they may be, which other tables must meet too.
    origin : Origin, optional
        That of the release; without it no column beside those with a role is known.

    Returns
    -------
    Stored
        What ``apply`` takes.

    Raises
    ------
    BadInput
        If it is no choice.

    Examples
    --------
    >>> import kpareto as kp
    >>> point = kp.front(kp.adult_table(), suppression=0.01).choose(k=5)
    >>> int(kp.store(point).fit["k"])
    5
    """
    choice = as_choice(point, limits)
    table, classes = choice.table, choice.partition()
    boxes = choice.recoding.boxes
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
        boxes is not None,
        None if boxes is None or boxes.root is None else StoredClasses(boxes.first, boxes.last, boxes.root),
    )
    k = int(classes.sizes[classes.visible].min()) if not classes.empty else 0
    fit = {"rows": table.rows, "suppressed": classes.suppressed_rows, "k": k, **stored.loss(classes)}
    return replace(stored, fit=fit)


def read_stored(source: str | PathLike[str] | Stored) -> Stored:
    """A recoding file read back; one that was changed by hand so that it no longer fits is a sentence."""
    if isinstance(source, Stored):
        return source
    shown = repr(str(source))
    data = read_json(source, RECODING, anything)
    if not isinstance(data, dict) or data.get("kpareto recoding") != FORMAT:
        raise BadInput(f"{shown} is not a recoding file of kpareto. Give one that was written with a release.")
    try:
        stored = _read_stored(check_shape(data, RECODING, STORED, source))
    except KparetoError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise RECODING.bad(source, f"is damaged: its parts do not fit each other ({error!r:.80})") from error
    # Files of earlier versions have none. Against a forger only a signature helps; this is for slips and bad disks.
    if data.pop("sha256", None) not in (None, _data_digest(data)):
        raise RECODING.bad(source, "was changed: its SHA-256 does not fit its limits, its cuts or what else it says")
    return stored


def _read_stored(data: Mapping[str, Any]) -> Stored:
    schema = Schema(**data["schema"])
    columns = [data["columns"][name] for name in schema.quasi]
    hierarchies, cuts, observed = [], [], []
    for name, column in zip(schema.quasi, columns, strict=True):
        hierarchy, level = hierarchy_from(name, column["hierarchy"]), column["level"]
        if hierarchy_digest(hierarchy) != column["sha256"]:
            raise BadInput(
                f"The hierarchy of {hierarchy.name!r} in the recoding file was changed: its SHA-256 does not fit. "
                "Take the file as it was written."
            )
        cut = cut_of(column["cut"], len(hierarchy.leaves))
        if level is not None and (level > hierarchy.height or (hierarchy.groups[level] != cut).any()):
            raise ValueError("a cut is not that of its level")
        there = np.zeros(len(hierarchy.leaves), dtype=np.bool_)
        there[column["observed"]] = True
        hierarchies.append(hierarchy)
        cuts.append(cut)
        observed.append(there)
    levels = [column["level"] for column in columns]
    recoding = Recoding(tuple(hierarchies), tuple(cuts), None if None in levels else tuple(levels))
    suppression = data["suppression"]
    return Stored(
        schema,
        recoding,
        Suppression(
            suppression["rule"],
            _stored_limit(suppression["limit"]),
            suppression["k"],
            suppression["rows"],
            by_size=False,
            thresholds=tuple(suppression.get("thresholds", {}).items()),
        ),
        data["limits"],
        data["domain"],
        tuple(observed),
        data["missing"],
        data["fit"],
        Origin(**data["source"]) if data.get("source") else None,
        "local" in data,
        _stored_classes(data["local"], hierarchies) if data.get("local") else None,
    )


def _stored_classes(data: Mapping[str, Any], hierarchies: Sequence[Hierarchy]) -> StoredClasses:
    first, last = (np.array(data[name], dtype=np.int32) for name in ("first", "last"))
    leaves = np.array([len(hierarchy.leaves) for hierarchy in hierarchies])
    if first.shape != last.shape or first.shape[1:] != leaves.shape or (first > last).any() or (last >= leaves).any():
        raise ValueError("the labels of the classes are no runs of leaves")
    return StoredClasses(first, last, questions_from(data["questions"], len(leaves), len(first)))


def _stored_limit(limit: float) -> float:
    """The limit of a recoding file: earlier versions wrote rows with a point, and no version a share of 1 or more."""
    return int(limit) if isinstance(limit, float) and limit.is_integer() and limit >= 1 else limit


def on_all_rows(
    choice: Choice, source: object, encoding: str, missing_values: Sequence[object], memory: str | int | None = None
) -> tuple[Choice, SampleApplied | None]:
    """The chosen recoding of all rows of the source, and what that cost; a choice on all rows is left as it is.

    The rows are rolled up to the groups that were chosen, so only as many as there are classes come into memory.
    """
    table = choice.table
    if table.sample is None:
        return choice, choice.applied
    if choice.recoding.boxes is not None:
        raise BadJob(
            f"A local recoding is one of the rows it was found on, and these are {table.sample.words()}. "
            "Read all rows, or take a recoding by levels or cuts (--model cuts)."
        )
    wish = Wish(table.schema, cast(Missing, table.missing), missing_values, table.hierarchies, table.domain)
    whole = read_merged(source, wish, choice.recoding.cuts, encoding, memory)
    if table.population is not None:
        whole = whole.drawn_from(table.population)
    recoding = Recoding(whole.hierarchies, choice.recoding.cuts, choice.recoding.levels)
    applied = replace(choice, table=whole, recoding=recoding)
    cost = SampleApplied(table.sample, _compare(choice.partition(), applied.partition()))
    return replace(applied, applied=cost), cost


def _compare(here: Partition, there: Partition) -> dict[str, tuple[float, float]]:
    """The numbers of both."""

    def smallest(partition: Partition) -> float:
        return float(partition.sizes[partition.visible].min()) if partition.visible.any() else 0.0

    numbers = {"k": (smallest(here), smallest(there))}
    for counts in here.table.sensitive:
        model = distinct_l(counts.name)
        numbers[f"l({counts.name})"] = (model(here), model(there))
    numbers["suppressed"] = (here.suppressed_rows / here.table.rows, there.suppressed_rows / there.table.rows)
    loss = lm()
    numbers["lm"] = (loss(here), loss(there))
    return numbers


# -- what may stand in a recoding file, node by node -------------------------------------------------------------------


RECODING = FileKind("The recoding", "Take the file as it was written with its release, or write it again.")
_LEAF = whole(0, 2**31 - 2)


def _spelled_number(value: object, place: str) -> None:
    """A number as a text that gives it back, infinite ones too."""
    text(value, place)
    try:
        same = float(str(value)) == float(str(value))  # only what is no number differs from itself
    except ValueError:
        same = False
    if not same:
        raise Misfit(place, value, "a number as a text")


_LABELS = list_of(list_of(_LEAF, 1), 1)
_AS_THEY_ARE: Mapping[str, Shape] = {  # fields of a hierarchy
    "ordered": truth,
    "closed": word("left", "right"),
    "loss": word("leaves", "distance"),
    "data_dependent": truth,
    "dates": truth,
}
_HIERARCHY: Shape = record(
    {
        "leaves": list_of(text, 1),
        "levels": list_of(list_of(_LEAF, 1), 1),
        "labels": list_of(list_of(text, 1), 1),
        "tree": list_of(entry(_LEAF, _LEAF, text), 1),
        **_AS_THEY_ARE,
        "spans": maybe(list_of(list_of(_spelled_number, 2, 2))),
        "edges": maybe(list_of(_spelled_number)),
    },
    {"rule": map_of(anything)},
)

STORED: Shape = record(
    {
        "kpareto recoding": whole(),
        "schema": record(
            {"quasi": list_of(text, 1)},
            {
                "sensitive": list_of(text),
                "target": list_of(text),
                "identifier": list_of(text),
                "person": maybe(text),
                "weights": map_of(number(0)),
            },
        ),
        "columns": map_of(
            record(
                {
                    "hierarchy": _HIERARCHY,
                    "sha256": text,
                    "cut": list_of(_LEAF, 1),
                    "level": maybe(whole(0, 10**6)),
                    "observed": list_of(_LEAF, 1),
                }
            )
        ),
        "suppression": record(
            {"rule": word(*RULES, *EARLIER), "limit": number(0), "k": maybe(whole()), "rows": word("drop", "mask")},
            {"thresholds": map_of(number())},
        ),
        "limits": map_of(number()),
        "domain": word("observed", "declared"),
        "missing": text,
        "fit": map_of(number()),
    },
    {
        "sha256": text,
        "source": maybe(
            record(
                {"columns": map_of(text)},
                {
                    "encoding": text,
                    "sha256": maybe(text),
                    "form": map_of(anything),
                    "missing_values": maybe(list_of(text)),
                },
            ),
        ),
        "local": record({}, {"first": _LABELS, "last": _LABELS, "questions": either(_LEAF, list_of(anything, 3, 3))}),
    },
)
