"""Apply a stored recoding to new rows: suppression, k and loss are worked out anew there (Iyengar 2002; IY-13).

Loss is measured by the bounds of the table the recoding was found on, so that it can be compared; when it drifts
further than the tolerance, there is an alarm.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Literal, cast

import numpy as np

from kpareto.engines import form_of, in_form, open_source
from kpareto.engines.form import Form, Missing, form_from
from kpareto.engines.read import read
from kpareto.engines.source import ending_of
from kpareto.errors import BadHierarchy, BadInput, BadJob, BadTable, Unsafe, shorten
from kpareto.fronts.problem import settled_rule, stricter
from kpareto.measures import make
from kpareto.measures.measure import Model
from kpareto.releases.choice import Choice, Stored, StoredClasses, read_stored
from kpareto.releases.labels import shown_labels
from kpareto.releases.recoded_rows import Handling, reading_as
from kpareto.releases.release import Documents, Release, refuse_replacing, release, settle
from kpareto.releases.warnings import Remark, tell_once, warnings_for
from kpareto.tables.boxes import LabelBoxes, answer, make_boxes
from kpareto.tables.hierarchies.loading import place_by_rule, widen_by_rule
from kpareto.tables.hierarchy import STAR, Hierarchy, levels_tree
from kpareto.tables.partition import UNLIMITED, Partition, Suppression
from kpareto.tables.recoding import Recoding, local
from kpareto.tables.table import Table, UniqueRows

Unseen = Literal["error", "nearest", "star"]
NewColumns = Literal["error", "drop", "keep"]
EXTENDING = {"intervals", "dates", "prefix", "mask", "known"}  # rules that have a group for any value of their kind
FEW = 100  # values of a column whose values may be named in a sentence
TOLERANCE = 0.05  # of a cell, on average


@dataclass(frozen=True, eq=False, repr=False)
class Applied:
    """What became of new rows under a stored recoding."""

    release: Release
    fit: Mapping[str, float]  # rows, suppressed, k, lm, glm where the recoding was found
    batch: Mapping[str, float]  # the same for the new rows
    k: int  # of the new rows alone
    k_union: int | None  # of the new rows and the earlier releases together; None where nobody can count persons there
    unseen: Mapping[str, tuple[str, ...]]  # column -> values the hierarchy does not know
    alarms: tuple[str, ...]
    remarks: tuple[str, ...] = ()  # about columns that are new or missing, and rows that were released before

    @property
    def warnings(self) -> tuple[Remark, ...]:
        """What must be known of the release: W1 to W20, as for every other."""
        return self.release.warnings

    def __repr__(self) -> str:
        """Short, and without a value of any row: a notebook prints this."""
        lost, alarms = f"{self.release.suppressed:,} suppressed", f", {len(self.alarms)} alarms" if self.alarms else ""
        return f"Applied({self.release.rows:,} rows, k = {self.k}, {lost}{alarms})"


def apply(  # noqa: PLR0913 (keywords, each a choice of its own)
    stored: str | PathLike[str] | Stored,
    source: object,
    target: str | PathLike[str] | None = None,
    *,
    unseen: Unseen = "error",
    earlier: Sequence[object] = (),
    tolerance: float = TOLERANCE,
    handling: Handling | None = None,
    new_columns: NewColumns = "error",
    encoding: str | None = None,
    papers: Documents | None = None,
    accept: Iterable[str] = (),
) -> Applied:
    """Recode new rows by a stored recoding, and write them as ``release`` does.

    Classes that do not meet the stored limits and thresholds (without any, the k of the fitting table) are suppressed.

    Parameters
    ----------
    stored : str, path or Stored
        The recoding, or its file.
    source : object
        The new rows, as ``read`` takes them.
    target : str or path, optional
        As for ``release``.
    unseen : {'error', 'nearest', 'star'}, optional
        What becomes of a value that the hierarchy does not know: with ``nearest`` a number goes to the nearest leaf,
        with ``star`` the cell becomes ``*``.
    earlier : sequence, optional
        Releases of earlier rows by the same recoding.
    tolerance : float, optional
        How much more than the fitting table the new rows may lose, as a share of a cell, before it is an alarm.
    handling : Handling, optional
        How rows are read and written.
    new_columns : {'error', 'drop', 'keep'}, optional
        What becomes of a column that the fitting table did not have.
    encoding : str, optional
        Of a file of text; that of the fitting table unless told.
    papers : callable, optional
        Makes the files that come into place with the release, or not at all.
    accept : iterable of str, optional
        Dangers that do not stop it, as for ``release``.

    Returns
    -------
    Applied
        The release, its loss beside that of the fitting table, and the ``warnings``, which are told once by Python's
        own ``warnings.warn``.

    Raises
    ------
    Unsafe
        If the rows as written do not meet the limits, or a danger is not accepted; nothing is left then.
    BadInput
        If the rows do not fit the recoding, or have values or columns that it does not know.

    Examples
    --------
    >>> import kpareto as kp
    >>> rows = kp.adult("all").select(["age", "sex"])
    >>> table = kp.read(rows, kp.Schema(["age", "sex"]), hierarchies={"age": {"intervals": [10, 20]}})
    >>> stored = kp.store(kp.front(table, suppression=0.01).choose(k=20))
    >>> kp.apply(stored, kp.adult("test").select(["age", "sex"])).k >= 20
    True
    """
    if new_columns not in ("error", "drop", "keep"):
        raise BadJob(f"New columns can be treated by error, drop or keep, not {new_columns!r}. Take one of these.")
    if unseen not in ("error", "nearest", "star"):
        raise BadJob(f"Unseen values can be treated by error, nearest or star, not {unseen!r}. Take one of these.")
    recipe = read_stored(stored)
    how = handling or reading_as(None if recipe.origin is None else recipe.origin.missing_values)
    if recipe.local:
        check_local(recipe, unseen)
    source = in_form(source, _form(recipe, encoding))
    kept, dropped, remarks = _new_columns(recipe, source, new_columns)
    recipe = replace(recipe, schema=replace(recipe.schema, plain=tuple(kept)))
    how = replace(how, left_out=(*how.left_out, *dropped))
    for other in earlier:
        refuse_replacing(target, other, "the earlier one")
    choice, strange, stars, moved = fit_choice(recipe, source, unseen, how)
    # Counted before anything is written: an earlier release that cannot be read leaves nothing behind.
    written = _written_form(source, target, how)
    partition, _ = settle(choice)
    union, unknown_union = _union(choice, partition, [in_form(each, written) for each in earlier], how)
    remarks += unknown_union

    def warn(unique: UniqueRows, handled: Handling) -> list[Remark]:
        return warnings_for(choice, handled, choice.limits, unique, partition)

    done = release(choice, source, target, handling=how, papers=papers, warnings=warn, accept=accept)
    partition = done.partition
    loss = recipe.loss(partition, stars, moved)
    k = int(partition.sizes[partition.visible].min())
    batch = {"rows": partition.table.rows, "suppressed": partition.suppressed_rows, "k": k, **loss}
    alarms = _alarms(recipe, batch, tolerance)
    remarks += _same_rows(recipe, done)
    tell_once(done.warnings)
    return Applied(done, recipe.fit, batch, k, union, strange, alarms, tuple(remarks))


def _form(stored: Stored, encoding: str | None) -> Form:
    """How new rows are read: as the fitting table was, in another encoding where that is told."""
    origin = stored.origin
    form = form_from({} if origin is None else {"encoding": origin.encoding, **origin.form})
    return form if encoding is None else replace(form, encoding=encoding)


def _new_columns(stored: Stored, source: object, how: NewColumns) -> tuple[list[str], list[str], list[str]]:
    """Which columns leave as they are, which are dropped, and what is said; one that nobody knows must not slip out."""
    known = stored.schema.named
    with open_source(source) as rows:
        columns = list(rows.columns)
    lacking = [name for name in known if name not in columns]
    if lacking:
        raise BadInput(
            f"The new rows have no column {', '.join(map(repr, lacking))}, which the recoding needs. "
            f"They have: {shorten(columns)}. Name the columns as in the fitting table."
        )
    plain = [] if stored.origin is None else [name for name in stored.origin.columns if name not in known]
    new = [name for name in columns if name not in known and name not in plain]
    remarks = [f"The new rows lack columns of the fitting table: {', '.join(gone)}."
               for gone in [[name for name in plain if name not in columns]] if gone]  # fmt: skip
    if new and how == "error":
        why = "which the fitting table did not have, or showed in the groups of another column"
        if stored.origin is None:
            why = "and the recoding file does not say which columns without a role the fitting table had"
        raise BadInput(
            f"The new rows have the column{'s' * (len(new) > 1)} {', '.join(map(repr, new))}, {why}: "
            "they would be released in clear. Give new_columns='drop' (--new-columns drop) to leave them out, or "
            "'keep' to release them as they are."
        )
    if new and how == "drop":
        remarks.append(f"New columns were left out: {', '.join(new)}.")
    dropped = new if how == "drop" else []
    return [name for name in columns if name not in known and name not in dropped], dropped, remarks


def _same_rows(stored: Stored, done: Release) -> list[str]:
    if stored.origin is None or done.origin is None or done.origin.sha256 != stored.origin.sha256:
        return []
    sentence = "These are the rows of the fitting table. Where it was released already, whoever has both releases can "
    return [sentence + "compare them row by row: keep one of them."]


def fit_choice(
    stored: Stored, source: object, unseen: Unseen, how: Handling
) -> tuple[Choice, dict[str, tuple[str, ...]], dict[str, int], dict[str, np.ndarray]]:
    """The choice for new rows, the values unseen before, per column with starred values their group, and per column
    whose rule was followed to new values the group that each was before."""
    raw = read(source, stored.schema, cast(Missing, stored.missing), how.missing_values)
    hierarchies, cuts, labels, codes = [], [], list(stored.recoding.labels), np.empty_like(raw.codes)
    placed: dict[str, dict[str, int]] = {}
    ruled: dict[str, dict[str, int]] = {}  # values that the rule of the hierarchy has a group for
    thresholds = dict(stored.suppression.thresholds)
    limits = stricter(stored.limits, thresholds) or {"k": max(int(stored.fit["k"]), 1)}
    stars: dict[str, int] = {}
    moved: dict[str, np.ndarray] = {}
    for column, hierarchy in enumerate(stored.recoding.hierarchies):
        values, cut = raw.hierarchies[column].leaves, stored.recoding.cuts[column]
        leaf = hierarchy.locate(values).astype(np.int64)
        present = raw.leaf_rows[column] > 0
        lost = np.flatnonzero((leaf < 0) & present).tolist()
        level = None if stored.recoding.levels is None else stored.recoding.levels[column]
        # The labels of a local recoding are finer than its cuts, so no rule can say that they hold a new value.
        strange = [] if stored.local else [values[at] for at in lost]
        ruled[hierarchy.name] = place_by_rule(hierarchy, cut, level, strange) if strange else {}
        for at in lost:
            leaf[at] = ruled[hierarchy.name].get(values[at], -1)
        lost = [at for at in lost if leaf[at] < 0]
        # All new values together, those with a group of their own rule too: the wider hierarchy must place each.
        wide = _extend(hierarchy, level, strange) if lost else None
        if wide is not None and level is not None:  # next month's dates: the rule has a group for them, not seen so far
            old = {label: group for group, label in enumerate(hierarchy.labels[level])}
            moved[hierarchy.name] = np.array([old.get(label, -1) for label in wide.labels[level]], dtype=np.int64)
            hierarchy, cut, ruled[hierarchy.name] = wide, wide.groups[level], {}
            labels[column] = wide.labels[level]
            leaf = wide.locate(values).astype(np.int64)
            lost = np.flatnonzero((leaf < 0) & present).tolist()
        if lost:
            names = [values[at] for at in lost]
            if unseen == "nearest":
                leaf[lost] = _nearest(hierarchy, names)
            elif unseen == "star":
                hierarchy, cut = _add_star(hierarchy, cut, joins=labels[column] == (STAR,))
                leaf[lost] = len(hierarchy.leaves) - 1
                if cut[-1] == len(labels[column]):
                    stars[hierarchy.name] = int(cut[-1])
                    labels[column] = (*labels[column], _star(labels[column]))
            else:
                rows = [int(raw.leaf_rows[column][at]) for at in lost]
                _complain(hierarchy, names, rows, limits.get("k", stored.fit["k"]))
            placed[hierarchy.name] = {values[at]: int(leaf[at]) for at in lost}
        hierarchies.append(hierarchy)
        cuts.append(cut)
        codes[:, column] = leaf[raw.codes[:, column]]
    table = raw.roll_up(codes, tuple(hierarchies), stored.domain)
    recoding = Recoding(tuple(hierarchies), tuple(cuts), None if placed else stored.recoding.levels)
    known = {name: {**places, **placed.get(name, {})} for name, places in ruled.items()}
    if stored.classes is not None:
        recoding = local(place_in_classes(stored.classes, table))
        return Choice(table, recoding, _suppression(stored, limits), limits, known), _names(placed), {}, {}
    choice = Choice(table, recoding, _suppression(stored, limits), limits, known, tuple(labels))
    return choice, _names(placed), stars, moved


def _names(placed: Mapping[str, Mapping[str, int]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(places) for name, places in placed.items()}


def check_local(stored: Stored, unseen: Unseen) -> None:
    """Raise where a local recoding says nothing of new rows, or cannot do what is wished for unseen values."""
    if stored.classes is None:
        raise BadInput(
            "This recoding is local with labels that overlap: it says which rows of its own table are together, and "
            "nothing of new rows. Search one that divides the space instead (strict = true under [search]), or one by "
            "levels or cuts."
        )
    if unseen == "star":
        raise BadJob(
            "A local recoding shows a class by its labels, so no single cell can be shown as '*'. "
            "Give unseen='nearest' for numbers, or leave rows with unseen values out."
        )


def place_in_classes(stored: StoredClasses, table: Table) -> LabelBoxes:
    """The classes that new rows fall into by the stored questions; a row outside the labels of its class has none."""
    owner = answer(stored.root, table.codes)
    inside = (stored.first[owner] <= table.codes).all(axis=1) & (table.codes <= stored.last[owner]).all(axis=1)
    inside &= owner >= 0  # the others are suppressed
    if not inside.any():
        raise Unsafe("No new row lies within the labels of its class, so every one would be left out. Search again.")
    used, numbers = np.unique(owner[inside], return_inverse=True)
    members = np.full(len(owner), -1, dtype=np.int64)
    members[inside] = numbers
    return make_boxes(table, members, stored.first[used], stored.last[used])


def _suppression(stored: Stored, limits: Mapping[str, float]) -> Suppression:
    """Every class that fails a limit goes, whatever that costs; the cost is reported, and an alarm if too high."""
    judged = {spec: limit for spec, limit in limits.items() if isinstance(make(spec), Model)}
    return settled_rule(judged, UNLIMITED, stored.suppression.rows)


def _complain(hierarchy: Hierarchy, values: Sequence[str], rows: Sequence[int], k: float) -> None:
    """Raise, naming a few values; none that few rows have, and none of a column that may single out a person."""
    named = [f"{value!r} ({count:,} rows)" for value, count in zip(values, rows, strict=True) if count >= max(k, 2)]
    if hierarchy.dates or len(hierarchy.leaves) > FEW:
        named = []
    shown = f": {', '.join(named[:3])}" + (" …" if len(named) > 3 or len(named) < len(values) else "") if named else ""
    raise BadHierarchy(
        f"The new rows have {len(values):,} value{'s' * (len(values) > 1)} in {hierarchy.name!r} ({sum(rows):,} "
        f"row{'s' * (sum(rows) > 1)}) that the recoding does not know{shown}. "
        "Give unseen='star' to show '*' for them, or unseen='nearest' for numbers."
    )


def _nearest(hierarchy: Hierarchy, values: Sequence[str]) -> list[int]:
    """The leaf with the number nearest to each value."""
    if hierarchy.spans is None or hierarchy.dates:
        raise BadHierarchy(
            f"Column {hierarchy.name!r} is not made of numbers, so nothing is nearest to a new value. "
            "Give unseen='star' to show '*' for such values."
        )
    leaves = []
    for value in values:
        try:
            number = float(value)
        except ValueError:
            raise BadTable(f"A new value in {hierarchy.name!r} is not a number, so no leaf is nearest to it.") from None
        low, high = hierarchy.spans[:, 0], hierarchy.spans[:, 1]
        leaves.append(int(np.argmin(np.maximum(np.maximum(low - number, number - high), 0))))
    return leaves


def _extend(hierarchy: Hierarchy, level: int | None, values: Sequence[str]) -> Hierarchy | None:
    """The hierarchy with places for new values, where its rule makes them without looking at the other rows."""
    if not values or level is None or hierarchy.rule is None or hierarchy.data_dependent:
        return None
    if not EXTENDING & set(hierarchy.rule):
        return None
    wide = widen_by_rule(hierarchy, values)
    return None if wide is None or (level == hierarchy.height and wide.height != level) else wide


def _add_star(hierarchy: Hierarchy, cut: np.ndarray, *, joins: bool) -> tuple[Hierarchy, np.ndarray]:
    """The hierarchy with one more leaf, of which nothing is told, and the cut that keeps it apart.

    Where the column is ``*`` as a whole the new leaf joins it; a single group with a name would be a false value.
    """
    groups = np.concatenate((hierarchy.groups, hierarchy.groups[:, -1:] + 1), axis=1).astype(np.int32)
    groups[-1] = 0
    labels = (*((*row, _star(row)) for row in hierarchy.labels[:-1]), hierarchy.labels[-1])
    if len(hierarchy.labels) == 1:  # one leaf, which was the top as well
        groups = np.array([[0, 1], [0, 0]], dtype=np.int32)
        labels = ((*hierarchy.labels[0], _star(hierarchy.labels[0])), (STAR,))
    wider = replace(
        hierarchy,
        leaves=labels[0],
        groups=groups,
        labels=labels,
        tree=levels_tree(groups, labels),
        spans=None,
        edges=None,
        loss="leaves",
    )
    return wider, np.append(cut, cut[-1] + int(not joins)).astype(np.int32)


def _star(taken: Sequence[str]) -> str:
    star = STAR
    while star in taken:
        star += STAR
    return star


def _written_form(source: object, target: str | PathLike[str] | None, how: Handling) -> Form:
    """How earlier releases by the same recoding are read: as this one is written, or would be as text."""
    text = how.form.settled(form_of(source), ending_of(target or ".csv"))
    return Form(text.encoding or "utf-8", decimal=text.decimal or ".")


def _union(
    choice: Choice, partition: Partition, earlier: Sequence[object], how: Handling
) -> tuple[int | None, list[str]]:
    """The smallest class among the new rows and the earlier releases, counted by their labels.

    Earlier releases do not tell persons apart, so with persons it is not known once there is one.
    """
    names = choice.table.schema.quasi
    labels = list(shown_labels(choice, partition, how.shown).values())
    sizes: Counter[tuple[str, ...]] = Counter()
    for groups, size in zip(
        partition.groups[partition.visible].tolist(), partition.sizes[partition.visible].tolist(), strict=True
    ):
        sizes[tuple(STAR if group < 0 else labels[column][group] for column, group in enumerate(groups))] += size
    for other in earlier:
        with open_source(other) as rows:
            lacking = [name for name in names if name not in rows.columns]
            if lacking:
                raise BadTable(f"An earlier release has no column {lacking[0]!r}. Give releases of the same recoding.")
            rolled = rows.distinct(names).fetch()
        columns = [np.append(np.array(c.texts.to_pylist(), dtype=object), "")[c.codes] for c in rolled.columns]
        for row, weight in zip(zip(*columns, strict=True), rolled.weights.tolist(), strict=True):
            sizes[tuple(row)] += weight
    if earlier and choice.table.persons is not None:
        return None, ["Earlier releases do not tell persons apart, so k of all releases together is not known."]
    return min(sizes.values()), []


def _alarms(stored: Stored, batch: Mapping[str, float], tolerance: float) -> tuple[str, ...]:
    fit, alarms = stored.fit, []
    drift = batch["lm"] - fit["lm"]
    if abs(drift) > tolerance:
        alarms.append(
            f"The loss drifts: LM is {batch['lm']:.4f} on the new rows and was {fit['lm']:.4f} where the recoding was "
            f"found, {abs(drift):.4f} {'more' if drift > 0 else 'less'} with a tolerance of {tolerance:g}. "
            "Search again on the new rows."
        )
    allowed = stored.suppression.allowed(int(batch["rows"]))
    if stored.suppression.rule != "below-k" and batch["suppressed"] > allowed:
        alarms.append(
            f"{int(batch['suppressed']):,} of {int(batch['rows']):,} new rows are suppressed, and the limit is "
            f"{allowed:,}. Search again on the new rows."
        )
    return tuple(alarms)
