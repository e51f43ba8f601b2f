"""The way out: the rows of a source as a chosen recoding shows them, as one query for the engine that holds them.

Each column with a role is joined with a small table *value -> text and group*, and the groups with a small table of
the suppressed classes; rows that find a partner there are left out or masked. No row passes through Python.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from kpareto.dialect import FORMULA_STARTS, NUMBER
from kpareto.errors import BadJob, BadSchema, BadTable
from kpareto.frames import MISSING
from kpareto.held import Rows
from kpareto.partition import Partition, classes
from kpareto.stored import Choice
from kpareto.texts import arrow_places, arrow_texts, object_text

Shown = Literal["label", "midpoint", "median"]
STAR = "*"


@dataclass(frozen=True)
class Handling:
    """How the rows of a source are read, and how they are written.

    ``identifiers``: dropped, or each replaced by a random token, new for every row, so that not even the rows of one
    person can be linked by it. The person column is never released. ``order``: rows are sorted by a hash of what is
    released and of the seed, so the order depends on nothing else; ``kept`` keeps the order of the source, which may
    tell who is who. ``shown``: per column its labels, the midpoint of declared borders, or the median of the rows in
    the group (which tells about them, W8). ``formulas``: cells that a spreadsheet would run are counted, or written
    behind an apostrophe.
    """

    identifiers: Literal["drop", "token"] = "drop"
    order: Literal["shuffled", "kept"] = "shuffled"
    seed: int = 0
    shown: Mapping[str, Shown] = field(default_factory=dict)
    formulas: Literal["report", "neutralise"] = "report"
    missing_values: Sequence[object] = ("?", "")
    left_out: Sequence[str] = ()  # columns of the source that are not released
    token_seed: int | None = None  # for tests alone: tokens anyone can make again

    def __post_init__(self) -> None:
        for name, known in (
            ("identifiers", ("drop", "token")),
            ("order", ("shuffled", "kept")),
            ("formulas", ("report", "neutralise")),
        ):
            if getattr(self, name) not in known:
                raise BadJob(f"{name} is {getattr(self, name)!r}. Write {' or '.join(map(repr, known))}.")
        for column, shown in self.shown.items():
            if shown not in ("label", "midpoint", "median"):
                raise BadJob(f"Column {column!r} is to show {shown!r}. Write 'label', 'midpoint' or 'median'.")


@dataclass(frozen=True, eq=False)
class Out:
    """One released column."""

    name: str
    role: str
    value: str  # SQL over the joined tables
    text: bool  # the value is text
    touched: bool  # it differs from what the source has
    suspect: bool = False  # a spreadsheet may run some of its cells

    @property
    def named(self) -> bool:
        """Whether its values are the texts of a small table."""
        return self.value.endswith(".w")


@dataclass(frozen=True, eq=False)
class Recoded:
    """The released rows as a query."""

    rows: Rows
    outs: tuple[Out, ...]
    tables: str  # FROM …: the rows joined with the small tables, those that stay
    numbered: str  # the same, with the place of each row in the source as rid
    labels: Mapping[str, tuple[str, ...]]
    handling: Handling

    @property
    def roles(self) -> dict[str, str]:
        """Released column -> role, in order."""
        return {out.name: out.role for out in self.outs}

    @property
    def own(self) -> list[int]:
        """Places of the released columns that hold what the rows have; tokens are made last."""
        return [place for place, out in enumerate(self.outs) if out.role != "identifier"]

    def inner(self, numbered: bool = False) -> str:
        """The released rows without order and tokens, as o0, o1, …"""
        listed = ", ".join(f"{self.outs[place].value} AS o{place}" for place in self.own)
        return f"SELECT {listed}, t.rid {self.numbered}" if numbered else f"SELECT {listed} {self.tables}"

    def formulas(self, written: str | None = None) -> dict[str, int]:
        """Per column the cells that a spreadsheet would run; only columns that may have any are looked at.

        ``written`` stands after FROM and gives the released rows under their names, which saves recoding them again.
        """
        suspects = [place for place in self.own if self.outs[place].suspect]
        if not suspects:
            return {}
        dialect = self.rows.dialect
        if written is None or self.handling.formulas == "neutralise":  # an apostrophe hides what was there
            cells, rows = [f"o{place}" for place in suspects], f"({self.inner()}) AS i"
        else:
            cells, rows = [dialect.quoted(self.outs[place].name) for place in suspects], written
        counts = ", ".join(f"count(CASE WHEN {dialect.runs(cell)} THEN 1 END)" for cell in cells)
        found = self.rows.ask(f"SELECT {counts} FROM {rows}")
        numbers = [int(found.column(at)[0].as_py()) for at in range(len(suspects))]
        return {self.outs[place].name: n for place, n in zip(suspects, numbers, strict=True) if n}

    def query(self, with_positions: bool = False) -> str:
        """The released rows in their order, under their names."""
        dialect, how = self.rows.dialect, self.handling
        cells = [f"o{place}" for place in self.own]
        if how.order == "kept":
            ordered = f"SELECT {', '.join([*cells, 'rid'])} FROM ({self.inner(numbered=True)}) AS i ORDER BY rid"
        else:
            key = [f"o{p}" if self.outs[p].named else dialect.key(f"o{p}") for p in self.own]
            few = all(self.outs[place].role != "plain" for place in self.own) and not with_positions
            taken = [*cells, "rid"] if with_positions else cells
            ordered = dialect.shuffled(self.inner(with_positions), taken, key, how.seed, few)
        secret = secrets.token_hex(32) if how.token_seed is None else f"seed {how.token_seed}"
        shown = []
        for place, out in enumerate(self.outs):
            value = self._neutral(f"o{place}", out)
            if out.role == "identifier":
                value = dialect.token(f"{secret} {place} ")
            shown.append(f"{value} AS {dialect.quoted(out.name)}")
        positions = [f"rid - 1 AS {dialect.quoted(chr(0) + 'rid')}"] if with_positions else []
        return f"SELECT {', '.join([*shown, *positions])} FROM ({ordered}) AS i"

    def _neutral(self, value: str, out: Out) -> str:
        if self.handling.formulas == "report" or not out.suspect:
            return value
        dialect = self.rows.dialect
        text = dialect.text(value)
        return f"CASE WHEN {dialect.runs(text)} THEN concat({dialect.literal(chr(39))}, {text}) ELSE {text} END"


def runs(word: str) -> bool:
    """Whether a spreadsheet would run this text."""
    return word.startswith(FORMULA_STARTS) and not re.search(NUMBER, word)


def recode(rows: Rows, choice: Choice, partition: Partition, handling: Handling, plain: bool) -> Recoded:
    """The rows of a source as the choice shows them; ``plain`` writes every column with a role as text (CSV)."""
    schema, table = choice.table.schema, choice.table
    schema.check(rows.columns)
    _check_names(rows.columns)
    labels = shown_labels(choice, handling)
    person = () if schema.person is None else (schema.person,)
    used = dict.fromkeys((*schema.quasi, *schema.sensitive, *schema.target, *person))
    joins, kept = [], []
    told: dict[str, _Told] = {}
    for name in used:
        place = rows.columns.index(name)
        told[name] = _mapped(rows, choice, name, labels.get(name), handling)
        joins.append(f"LEFT JOIN m{place} ON {rows.dialect.same(rows.keys[place], f'm{place}.v')}")
        if name in labels:
            kept.append(f"m{place}.g >= 0")  # no value, or one without a place
        elif table.missing != "category":
            kept.append(f"m{place}.w IS NOT NULL")
    masked = bool((partition.suppressed & partition.visible).any())
    if partition.suppressed.any():
        joins.append(_class_join(rows, choice, partition))
        kept += [] if masked else ["x.g0 IS NULL"]  # a key, so that every engine sees an anti-join
    outs = []
    for place, name in enumerate(rows.columns):
        role = schema.role(name)
        if name == schema.person or (role == "identifier" and handling.identifiers == "drop"):
            continue
        if role == "plain" and name in handling.left_out:
            continue
        shown = handling.shown.get(name, "label")
        outs.append(_out(rows, place, role, (told.get(name, _Told()), masked, plain, shown)))
    joined = f"{' '.join(joins)} WHERE {' AND '.join(kept)}"
    numbered = f"FROM (SELECT *, {rows.dialect.number} AS rid FROM {rows.table}) AS t {joined}"
    return Recoded(rows, tuple(outs), f"FROM {rows.table} {joined}", numbered, labels, handling)


def _check_names(columns: Sequence[str]) -> None:
    seen: dict[str, str] = {}
    for name in columns:
        if not name:
            raise BadSchema("A column of the source has no name. Give it one.")
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise BadSchema(f"Columns {other!r} and {name!r} differ in case only. Rename one of them.")


@dataclass(frozen=True)
class _Told:
    """What the small table of a column says of its texts."""

    same: bool = False  # every text is the value itself
    suspect: bool = False  # a spreadsheet would run some of them


def _out(rows: Rows, place: int, role: str, told: tuple[_Told, bool, bool, Shown]) -> Out:
    (found, masked, plain, shown), name = told, rows.columns[place]
    text = rows.textual[place]
    if role == "identifier":
        return Out(name, role, "''", True, True)
    if role == "plain":
        return Out(name, role, rows.cell(place), text, False, text)
    if role != "quasi-identifier":
        # A kind that our verifier spells as we do keeps its type; a column of text gets its blanks trimmed.
        if not plain and rows.native[place]:
            return Out(name, role, f"t.c{place}", False, text)
        return Out(name, role, f"m{place}.w", True, text, found.suspect)
    if masked:
        starred = f"CASE WHEN x.lost THEN '{STAR}' ELSE {rows.dialect.text(f'm{place}.w')} END"
        return Out(name, role, starred, True, True, found.suspect)
    if found.same and not plain and shown == "label" and rows.discrete[place]:
        return Out(name, role, f"t.c{place}", False, False)
    if shown != "label" and not plain:
        return Out(name, role, rows.dialect.real(rows.dialect.text(f"m{place}.w")), False, True)
    return Out(name, role, f"m{place}.w", True, True, found.suspect)


def _mapped(rows: Rows, choice: Choice, name: str, labels: tuple[str, ...] | None, handling: Handling) -> _Told:
    """Register the table value -> text (and group) of one column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    place = rows.columns.index(name)
    found = rows.spelled(place)
    marks = [object_text(value, "missing_values") for value in handling.missing_values]
    gone = pc.is_in(found.texts, value_set=arrow_texts(marks))
    words = pc.if_else(gone, pa.nulls(len(found.texts), found.texts.type), found.texts)
    if choice.table.missing == "category":
        words = pc.fill_null(words, MISSING)
    columns = {"v": found.raw, "w": words}
    same = False
    if labels is not None:
        column = choice.table.column(name)
        groups = _groups(choice, column, words.to_pylist())
        columns["w"] = arrow_texts([None if group < 0 else labels[group] for group in groups.tolist()])
        columns["g"] = arrow_places(groups)
        same = bool(pc.all(pc.equal(columns["w"], words)).as_py())
    rows.register(f"m{place}", pa.table(columns))
    suspect = any(word is not None and runs(word) for word in pc.unique(columns["w"]).to_pylist())
    return _Told(same, suspect)


def _groups(choice: Choice, column: int, words: list[str | None]) -> np.ndarray:
    """The group of each text, -1 for a missing value and for one that has no place: (texts,) int64."""
    hierarchy, name = choice.recoding.hierarchies[column], choice.table.schema.quasi[column]
    known = [word for word in words if word is not None]
    placed = choice.unseen.get(name, {})
    leaves = hierarchy.locate(known).astype(np.int64)
    for at in np.flatnonzero(leaves < 0).tolist():
        leaves[at] = placed.get(known[at], -1)
    # A value without a place may stand in rows that are left out anyway, for a missing value in another column;
    # if not, its rows are left out too, and the rows to be released do not add up.
    groups = np.full(len(words), -1, dtype=np.int64)
    found = np.where(leaves < 0, -1, choice.recoding.cuts[column][leaves])
    groups[[at for at, word in enumerate(words) if word is not None]] = found
    return groups


def _class_join(rows: Rows, choice: Choice, partition: Partition) -> str:
    """Register the suppressed classes, and say how they are joined: rows that find none of them stay."""
    import pyarrow as pa

    whole = classes(choice.table, choice.recoding)
    lost = np.zeros(len(whole.rows), dtype=np.bool_)
    lost[whole.members] = partition.suppressed[partition.members]
    gone = whole.groups[lost]
    columns = {f"g{column}": arrow_places(gone[:, column]) for column in range(gone.shape[1])}
    rows.register("x", pa.table({**columns, "lost": pa.array([True] * len(gone), pa.bool_())}))
    places = [rows.columns.index(name) for name in choice.table.schema.quasi]
    return "LEFT JOIN x ON " + " AND ".join(f"x.g{column} = m{place}.g" for column, place in enumerate(places))


def shown_labels(choice: Choice, handling: Handling) -> dict[str, tuple[str, ...]]:
    """What stands in a cell of each group, per quasi-identifier; different groups never look alike."""
    for name in handling.shown:
        choice.table.column(name)
    found = {}
    for column, name in enumerate(choice.table.schema.quasi):
        shown = handling.shown.get(name, "label")
        labels = choice.labels[column] if shown == "label" else _numbers(choice, column, shown)
        twice = {label for label in labels if labels.count(label) > 1}
        if twice:
            runs = np.flatnonzero(np.diff(choice.recoding.cuts[column], prepend=-1)).tolist()
            leaves = choice.recoding.hierarchies[column].leaves
            labels = tuple(
                f"{label} ({leaves[first]} …)" if label in twice else label
                for label, first in zip(labels, runs, strict=True)
            )
        found[name] = labels
    return found


def _numbers(choice: Choice, column: int, shown: Shown) -> tuple[str, ...]:
    """A number for each group of a column: the middle of its declared borders, or the median of its rows."""
    hierarchy, cut = choice.recoding.hierarchies[column], choice.recoding.cuts[column]
    if hierarchy.spans is None or hierarchy.dates:
        raise BadTable(
            f"Column {hierarchy.name!r} cannot show a {shown}: its values are not numbers. Show its labels instead."
        )
    found = []
    for group in range(int(cut[-1]) + 1):
        leaves = np.flatnonzero(cut == group)
        spans = hierarchy.spans[leaves]
        if shown == "midpoint":
            number = (float(spans[:, 0].min()) + float(spans[:, 1].max())) / 2
            if hierarchy.edges is not None:
                number = (float(hierarchy.edges[leaves[0]]) + float(hierarchy.edges[leaves[-1] + 1])) / 2
        else:
            number = _median(spans.mean(axis=1), choice.table.leaf_rows[column][leaves])
        if not np.isfinite(number):
            raise BadTable(f"A group of {hierarchy.name!r} has no middle: a border is infinite. Show its labels.")
        found.append(str(int(number)) if number.is_integer() else repr(number))
    return tuple(found)


def _median(numbers: np.ndarray, rows: np.ndarray) -> float:
    """The lower median of weighted numbers; of the numbers alone where no row has any."""
    weights = rows if rows.sum() else np.ones_like(rows)
    order = np.argsort(numbers, kind="stable")
    passed = np.cumsum(weights[order])
    return float(numbers[order][np.searchsorted(passed, (passed[-1] + 1) // 2)])
