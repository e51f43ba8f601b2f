"""The way out: the rows of a source as a chosen recoding shows them, as one query for the engine that holds them.

Each column with a role is joined with a small table *value -> text and group*, and the groups with a small table of
the suppressed classes; rows that find a partner there are left out or masked. Where that is faster, whole rows of
quasi-identifiers are looked up instead. No row passes through Python.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kpareto.engines.form import TextForm
from kpareto.engines.source import Outgoing, Source
from kpareto.engines.sql import FORMULA_STARTS, NUMBER
from kpareto.engines.values import arrow_places, arrow_texts, blank
from kpareto.errors import BadJob, did_you_mean, shorten
from kpareto.releases.choice import Choice
from kpareto.releases.labels import shown_labels
from kpareto.releases.settings import SHOWN, WAYS, Shown
from kpareto.tables.boxes import leading
from kpareto.tables.hierarchy import MISSING, STAR
from kpareto.tables.partition import Partition, classes
from kpareto.tables.schema import Schema, check_release_names
from kpareto.tables.spelling import NO_VALUE, fold_spelling, locate_spelled
from kpareto.tables.table import number_rows, table_digest

if TYPE_CHECKING:
    import pyarrow as pa

QUASI = "quasi-identifier"


@dataclass(frozen=True)
class Handling:
    """How the rows of a source are read, and how they are written.

    The person column is never released.

    Parameters
    ----------
    identifiers : {'drop', 'token'}, optional
        Dropped, or each replaced by a random token, new for every row, so that not even the rows of one person can be
        linked by it.
    order : {'shuffled', 'kept'}, optional
        Rows are sorted by a hash of what is released and of the seed, so the order depends on nothing else; ``kept``
        keeps the order of the source, which may tell who is who.
    seed : int, optional
        Of that hash.
    shown : mapping of str to {'label', 'midpoint', 'median'}, optional
        Per column its labels, the midpoint of declared borders, or the median of the rows in the group (which tells
        about them, W8).
    formulas : {'report', 'neutralise'}, optional
        Cells that a spreadsheet would run are counted, or written behind an apostrophe.
    missing_values : sequence, optional
        What stands for no value.
    left_out : sequence of str, optional
        Columns of the source that are not released.
    tied : mapping of str to str, optional
        Plain column -> the quasi-identifier whose groups it shows.
    declared : sequence of str, optional
        Plain columns that may tell what others hide: whoever released them knows.
    token_seed : int, optional
        For tests alone: tokens anyone can make again.
    form : TextForm, optional
        How text is written, where not as the source is.

    Raises
    ------
    BadInput
        If a word is not one of those above.

    Examples
    --------
    >>> import kpareto as kp
    >>> kp.Handling(identifiers="token", shown={"age": "median"}).medians
    ('age',)
    """

    identifiers: Literal["drop", "token"] = "drop"
    order: Literal["shuffled", "kept"] = "shuffled"
    seed: int = 0
    shown: Mapping[str, Shown] = field(default_factory=dict)
    formulas: Literal["report", "neutralise"] = "report"
    missing_values: Sequence[object] = NO_VALUE
    left_out: Sequence[str] = ()
    tied: Mapping[str, str] = field(default_factory=dict)
    declared: Sequence[str] = ()
    token_seed: int | None = None
    form: TextForm = field(default_factory=TextForm)

    def __post_init__(self) -> None:
        for name, known in WAYS.items():
            if getattr(self, name) not in known:
                raise BadJob(f"{name} is {getattr(self, name)!r}. Write {' or '.join(map(repr, known))}.")
        for column, shown in self.shown.items():
            if shown not in SHOWN:
                raise BadJob(f"Column {column!r} is to show {shown!r}. Write 'label', 'midpoint' or 'median'.")

    @property
    def medians(self) -> tuple[str, ...]:
        """The columns that show values of actual rows (W8)."""
        return tuple(name for name, shown in self.shown.items() if shown == "median")


def reading_as(marks: Sequence[object] | None) -> Handling:
    """How rows are handled unless told: what stood for no value when the table was read does so still."""
    return Handling() if marks is None else Handling(missing_values=tuple(marks))


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

    rows: Source
    outs: tuple[Out, ...]
    tables: str  # FROM …: the rows joined with the small tables, those that stay
    numbered: str  # the same, with the place of each row in the source as rid
    labels: Mapping[str, tuple[str, ...]]
    handling: Handling
    person: str | None = None  # what tells persons apart, over the joined tables; null in rows that are nobody's
    ids: tuple[str, ...] = ()  # the texts of their ids as the rows have them
    whole: bool = False  # whether the quasi-identifiers of a row are looked up together, in one table d

    @property
    def roles(self) -> dict[str, str]:
        """Released column -> role, in order."""
        return {out.name: out.role for out in self.outs}

    @property
    def tied(self) -> dict[str, str]:
        """The released columns that show the groups of another one."""
        names = set(self.roles)
        return {name: other for name, other in self.handling.tied.items() if name in names}

    def tie(self, ties: Mapping[str, str]) -> Recoded:
        """The rows with further plain columns that show the groups of a quasi-identifier."""
        sql, outs = self.rows.layout().sql, {out.name: out for out in self.outs}

        def shown(out: Out) -> Out:
            if out.name not in ties:
                return out
            other = outs[ties[out.name]]
            value = other.value if other.text else sql.text(other.value)
            return replace(other, name=out.name, role="plain", value=value, text=True, touched=True)

        handling = replace(self.handling, tied={**self.handling.tied, **ties})
        return replace(self, outs=tuple(map(shown, self.outs)), handling=handling)

    def group(self, name: str) -> str:
        """What tells the groups of a quasi-identifier apart, over the joined tables."""
        if self.whole:
            return f"d.w{self.rows.columns.index(name)}"
        shown = next(out.value for out in self.outs if out.name == name)
        return shown if shown.startswith("z.") else f"m{self.rows.columns.index(name)}.g"

    @property
    def own(self) -> list[int]:
        """Places of the released columns that hold what the rows have; tokens are made last."""
        return [place for place, out in enumerate(self.outs) if out.role != "identifier"]

    def inner(self, numbered: bool = False) -> str:
        """The released rows without order and tokens, as o0, o1, …"""
        listed = ", ".join(f"{self.outs[place].value} AS o{place}" for place in self.own)
        listed += ", d.h AS h" * self.whole
        return f"SELECT {listed}, t.rid {self.numbered}" if numbered else f"SELECT {listed} {self.tables}"

    def formulas(self, written: str | None = None) -> dict[str, int]:
        """Per column the cells that a spreadsheet would run; only columns that may have any are looked at.

        ``written`` stands after FROM and gives the released rows under their names, which saves recoding them again.
        """
        suspects = [place for place in self.own if self.outs[place].suspect]
        if not suspects:
            return {}
        sql = self.rows.layout().sql
        if written is None or self.handling.formulas == "neutralise":  # an apostrophe hides what was there
            cells, rows = [f"o{place}" for place in suspects], f"({self.inner()}) AS i"
        else:
            cells, rows = [sql.quote(self.outs[place].name) for place in suspects], written
        counts = ", ".join(f"count(CASE WHEN {sql.runs(cell)} THEN 1 END)" for cell in cells)
        answer = self.rows.ask(f"SELECT {counts} FROM {rows}")
        numbers = [int(answer.column(at)[0].as_py()) for at in range(len(suspects))]
        return {self.outs[place].name: n for place, n in zip(suspects, numbers, strict=True) if n}

    def query(self, with_positions: bool = False) -> str:
        """The released rows in their order, under their names."""
        sql, how = self.rows.layout().sql, self.handling
        cells = [f"o{place}" for place in self.own]
        if how.order == "kept":
            ordered = f"SELECT {', '.join([*cells, 'rid'])} FROM ({self.inner(numbered=True)}) AS i ORDER BY rid"
        else:
            sorting = [p for p in self.own if not (self.whole and self.outs[p].value.endswith(f"d.w{p}"))]
            key = [f"o{p}" if self.outs[p].named else sql.key(f"o{p}") for p in sorting]
            key = ["h", *key] if self.whole else key
            few = all(self.outs[place].role != "plain" for place in self.own) and not with_positions
            taken = [*cells, "rid"] if with_positions else cells
            ordered = sql.shuffled(self.inner(with_positions), taken, key, how.seed, few)
        secret = secrets.token_hex(32) if how.token_seed is None else f"seed {how.token_seed}"
        shown = []
        for place, out in enumerate(self.outs):
            # As plain text at last: a type of its own would bring the words of suppressed rows along.
            value = self._neutral(sql.text(f"o{place}") if out.text else f"o{place}", out)
            if out.role == "identifier":
                value = sql.token(f"{secret} {place} ")
            shown.append(f"{value} AS {sql.quote(out.name)}")
        free = "rid".join(out.name for out in self.outs) + "rid"  # longer than every name, so none of them
        positions = [f"rid - 1 AS {sql.quote(free)}"] if with_positions else []
        return f"SELECT {', '.join([*shown, *positions])} FROM ({ordered}) AS i"

    def persons(self) -> Iterator[tuple[list[Any], list[Any], list[Any], int]] | None:
        """Who has what: quasi-identifiers and sensitive values as they are written, ids, rows; None without persons.

        The engine counts them in the very rows that are written, where alone the persons are still to be seen.
        """
        if self.person is None:
            return None
        sql = self.rows.layout().sql
        quasi, values = ([out for out in self.outs if out.role == role] for role in (QUASI, "sensitive"))
        cells = [self._neutral(sql.text(out.value) if out.text else out.value, out) for out in (*quasi, *values)]
        listed = ", ".join(f"{cell} AS l{place}" for place, cell in enumerate((*cells, *self.ids)))
        keys = ", ".join(f"l{place}" for place in range(len(cells) + len(self.ids)))
        answer = self.rows.ask(f"SELECT {keys}, count(*) FROM (SELECT {listed} {self.tables}) AS i GROUP BY {keys}")
        ends = len(quasi), len(cells), len(cells) + len(self.ids)
        rows = zip(*(column.to_pylist() for column in answer.columns), strict=True)
        return (([*r[: ends[0]]], [*r[ends[0] : ends[1]]], [*r[ends[1] : ends[2]]], int(r[-1])) for r in rows)

    def outgoing(self) -> Outgoing:
        """What the engine is told to write."""
        return Outgoing(
            query=self.query(),
            located=self.query(with_positions=True),
            touched={out.name: out.touched for out in self.outs},
            kept=self.handling.order == "kept",
            tokens=any(out.role == "identifier" for out in self.outs),
            form=self.handling.form,
        )

    def _neutral(self, value: str, out: Out) -> str:
        if self.handling.formulas == "report" or not out.suspect:
            return value
        sql = self.rows.layout().sql
        text = sql.text(value)
        return f"CASE WHEN {sql.runs(text)} THEN concat({sql.literal(chr(39))}, {text}) ELSE {text} END"


def runs(word: str) -> bool:
    """Whether a spreadsheet would run this text."""
    return word.startswith(FORMULA_STARTS) and not re.search(NUMBER, word)


def recode(rows: Source, choice: Choice, partition: Partition, handling: Handling, plain: bool) -> Recoded:
    """The rows of a source as the choice shows them; ``plain`` writes every column with a role as text (CSV)."""
    schema, table, layout = choice.table.schema, choice.table, rows.layout()
    schema.check(rows.columns)
    check_release_names(rows.columns)
    labels = shown_labels(choice, partition, handling.shown)
    maps = {name: _map(rows, choice, name, labels.get(name), handling) for name in schema.counted}
    row_join = join_rows(rows, choice, partition, {name: (maps[name].small, labels[name]) for name in schema.quasi})
    masked = bool((partition.suppressed & partition.visible).any())
    local = choice.recoding.boxes is not None
    joins, kept = _join_columns(rows, choice, maps, [] if row_join is None else [*labels])
    if row_join is not None:
        joins.insert(0, row_join)
    elif partition.suppressed.any() and not local:
        joins.append(_class_join(rows, choice, partition))
        kept += [] if masked else ["x.g0 IS NULL"]  # a key, so that every engine sees an anti-join
    outs = []

    def shown_group(name: str, text: bool) -> Out:
        """A quasi-identifier as the recoding shows it; ``text``: as text, whatever it shows."""
        if local:
            return _local_out(name, f"z.w{table.column(name)}", labels[name])
        shown = handling.shown.get(name, "label")
        out = _out(rows, rows.columns.index(name), QUASI, (maps[name], masked, text, shown))
        if row_join is None:
            return out
        index = rows.columns.index(name)
        return replace(out, value=out.value.replace(f"m{index}.w", f"d.w{index}").replace("x.lost", "d.lost"))

    for index, name in enumerate(rows.columns):
        role = schema.role(name)
        if name in schema.persons or (role == "identifier" and handling.identifiers == "drop"):
            continue
        if role in ("plain", "identifier") and name in handling.left_out:
            continue
        if role == "plain" and name in handling.tied:
            other = _tied_to(name, handling.tied[name], schema)
            outs.append(replace(shown_group(other, text=True), name=name, role="plain", touched=True))
            continue
        if role == QUASI:
            outs.append(shown_group(name, text=plain))
        else:
            outs.append(_out(rows, index, role, (maps.get(name, _Spelled()), masked, plain, "label")))
    if local:
        return _recode_local(rows, choice, partition, handling, (outs, labels, joins, kept))
    joined = f"{' '.join(joins)} WHERE {' AND '.join(kept or ['true'])}"
    numbered = f"FROM (SELECT *, {layout.sql.number} AS rid FROM {layout.table}) AS t {joined}"
    places = [rows.columns.index(name) for name in schema.persons]
    ids, tables = tuple(f"m{place}.w" for place in places), f"FROM {layout.table} {joined}"
    person = _tell_apart([f"m{place}.p" for place in places]) if places else None
    return Recoded(rows, tuple(outs), tables, numbered, labels, handling, person, ids, row_join is not None)


def _tell_apart(parts: Sequence[str]) -> str:
    """What tells persons apart by one or more columns; null where one of them has no value."""
    if len(parts) == 1:
        return parts[0]
    lacking = " OR ".join(f"{part} IS NULL" for part in parts)
    joined = ", chr(9), ".join(parts)  # what no folded text has
    return f"CASE WHEN {lacking} THEN NULL ELSE concat({joined}) END"


def _join_columns(
    rows: Source, choice: Choice, maps: Mapping[str, _Spelled], others: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Register the small table of each column but ``others``: how they are joined, and which rows stay."""
    layout, schema = rows.layout(), choice.table.schema
    joins, kept = [], []
    for name in schema.counted:
        if name in others:
            continue
        index, small = rows.columns.index(name), maps[name].small
        rows.register(f"m{index}", small.drop_columns("leaf") if name in schema.quasi else small)
        joins.append(f"LEFT JOIN m{index} ON {layout.sql.same(layout.keys[index], f'm{index}.v')}")
        if name in schema.quasi:
            kept.append(f"m{index}.g >= 0")  # no value, or one without a place
        elif choice.table.missing != "category":
            kept.append(f"m{index}.w IS NOT NULL")
    return joins, kept


def _local_out(name: str, value: str, labels: tuple[str, ...]) -> Out:
    """A quasi-identifier whose labels come from the table of classes."""
    return Out(name, QUASI, value, True, True, any(map(runs, labels)))


def _recode_local(
    rows: Source,
    choice: Choice,
    partition: Partition,
    handling: Handling,
    parts: tuple[list[Out], dict[str, tuple[str, ...]], list[str], list[str]],
) -> Recoded:
    """The rows as each class shows them: numbered where a key is divided, then joined with their classes."""
    (outs, labels, joins, kept), layout, schema = parts, rows.layout(), choice.table.schema
    counted = [rows.columns.index(name) for name in schema.counted if name not in labels]
    others = [out.value for out in outs if out.role != "identifier" and not out.value.startswith("z.")]
    joined = join_classes(rows, choice, partition, labels, others)
    where = f"{' '.join((*joins, *joined.joins))} WHERE {' AND '.join(kept)}"

    def tables(numbered: bool) -> str:
        source = f"(SELECT *, {layout.sql.number} AS rid FROM {layout.table}) AS t" if numbered else layout.table
        if not joined.more:
            return f"FROM {source} {where}"
        listed = ", ".join(("t.*", *(f"m{place}.w AS w{place}" for place in counted), *joined.more))
        return f"FROM (SELECT {listed} FROM {source} {where}) AS t {' '.join(joined.after)}"

    if joined.more:  # the small tables of the columns are inside by then
        within = {f"m{place}.w": f"t.w{place}" for place in counted}
        outs = [replace(out, value=within.get(out.value, out.value)) for out in outs]
    return Recoded(rows, tuple(outs), tables(False), tables(True), labels, handling)


@dataclass(frozen=True)
class _Spelled:
    """What the small table of a column says of its texts."""

    small: Any = None  # pa.Table of v, the value, and w, its text; of a quasi-identifier also its group g and its leaf
    same: bool = False  # every text is the value itself
    suspect: bool = False  # a spreadsheet would run some of them


def _tied_to(name: str, other: str, schema: Schema) -> str:
    """The quasi-identifier whose groups a plain column shows, so that it tells nothing that this does not."""
    if other not in schema.quasi:
        raise BadJob(
            f"Column {name!r} is tied to {other!r}, which is no quasi-identifier. {did_you_mean(other, schema.quasi)}"
            f"Take one of: {shorten(schema.quasi)}."
        )
    return other


def _out(rows: Source, index: int, role: str, facts: tuple[_Spelled, bool, bool, Shown]) -> Out:
    (mapping, masked, plain, shown), name, layout = facts, rows.columns[index], rows.layout()
    text = layout.textual[index]
    if role == "identifier":
        return Out(name, role, "''", True, True)
    if role == "plain":
        return Out(name, role, layout.cell(index), text, False, text)
    if role != "quasi-identifier":
        # A kind that our verifier spells as we do keeps its type; a column of text gets its blanks trimmed.
        if not plain and layout.native[index]:
            return Out(name, role, f"t.c{index}", False, text)
        return Out(name, role, f"m{index}.w", True, text, mapping.suspect)
    if masked:
        starred = f"CASE WHEN x.lost THEN '{STAR}' ELSE {layout.sql.text(f'm{index}.w')} END"
        return Out(name, role, starred, True, True, mapping.suspect)
    if mapping.same and not plain and shown == "label" and layout.discrete[index]:
        return Out(name, role, f"t.c{index}", False, False)
    if shown != "label" and not plain:
        return Out(name, role, layout.sql.real(layout.sql.text(f"m{index}.w")), False, True)
    return Out(name, role, f"m{index}.w", True, True, mapping.suspect)


def _map(rows: Source, choice: Choice, name: str, labels: tuple[str, ...] | None, handling: Handling) -> _Spelled:
    """The table value -> text (and group) of one column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    place = rows.columns.index(name)
    spelling = rows.spelled(place, choice.table.spelled.get(name))
    words = blank(spelling.texts, handling.missing_values)
    if choice.table.missing == "category":
        words = pc.fill_null(words, MISSING)
    columns = {"v": spelling.raw, "w": words}
    same = False
    if labels is not None and choice.recoding.boxes is not None:
        leaves, groups = _groups(choice, choice.table.column(name), words.to_pylist())
        fields = {"v": spelling.raw, "g": arrow_places(groups), "leaf": arrow_places(leaves)}
        return _Spelled(pa.table(fields))
    if labels is not None:
        column = choice.table.column(name)
        leaves, groups = _groups(choice, column, words.to_pylist())
        columns["w"] = arrow_texts([None if group < 0 else labels[group] for group in groups.tolist()])
        columns |= {"g": arrow_places(groups), "leaf": arrow_places(leaves)}
        same = bool(pc.all(pc.equal(columns["w"], words)).as_py())
    schema = choice.table.schema
    counted = next((each for each in (*choice.table.sensitive, *choice.table.targets) if each.name == name), None)
    if counted is not None and choice.recoding.boxes is not None:  # rows are divided by what the table counts
        # A text that is none of them is that of a row without a value, which is left out.
        places = locate_spelled((word or "" for word in words.to_pylist()), counted.values)
        texts = [counted.values[place] if place >= 0 else None for place in places.tolist()]
        columns["s"] = arrow_texts(texts)
    if name in schema.persons:
        fold = fold_spelling if schema.spellings == "fold" else str
        texts = [None if word in (None, MISSING) else fold(word) or None for word in words.to_pylist()]
        columns["p"] = arrow_texts(texts)
    suspect = any(word is not None and runs(word) for word in pc.unique(columns["w"]).to_pylist())
    return _Spelled(pa.table(columns), same, suspect)


def _groups(choice: Choice, column: int, words: list[str | None]) -> tuple[np.ndarray, np.ndarray]:
    """The leaf and the group of each text, -1 for a missing value and for one that has no place: (texts,) int64."""
    hierarchy, name = choice.recoding.hierarchies[column], choice.table.schema.quasi[column]
    known = [word for word in words if word is not None]
    placed = choice.unseen.get(name, {})
    leaves = hierarchy.locate(known).astype(np.int64)
    for at in np.flatnonzero(leaves < 0).tolist():
        leaves[at] = placed.get(known[at], -1)
    # A value without a place may stand in rows that are left out anyway, for a missing value in another column;
    # if not, its rows are left out too, and the rows to be released do not add up.
    groups = np.full(len(words), -1, dtype=np.int64)
    cut = choice.recoding.cuts[column] if choice.recoding.boxes is None else _codes(choice, column)
    present = [at for at, word in enumerate(words) if word is not None]
    places = np.full(len(words), -1, dtype=np.int64)
    groups[present] = np.where(leaves < 0, -1, cut[leaves])
    places[present] = leaves
    return places, groups


def _codes(choice: Choice, column: int) -> np.ndarray:
    """The code that each leaf has in the table, which is its own unless rows came in by whole groups: (leaves,) int64.

    Such a row stands at the first leaf of its group, so that is the last code at or before the leaf.
    """
    codes = np.unique(choice.table.codes[:, column])
    leaves = np.arange(len(choice.recoding.hierarchies[column].leaves))
    return codes[np.maximum(np.searchsorted(codes, leaves, side="right") - 1, 0)].astype(np.int64)


def _class_join(rows: Source, choice: Choice, partition: Partition) -> str:
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


# -- the two ways out by one join --------------------------------------------------------------------------------------
#
# **By class**, for a local recoding: each row finds its class, and its class finds its labels, in the same single
# query. A row's distinct key (the leaves of its quasi-identifiers) is joined with a small table that knows its number.
# Where all rows of a key are in one class, that is all. Where they are not, the rows of the key are numbered, those of
# one value of the varying column by themselves, and a table of borders says which numbers belong to which class. Which
# of equal rows gets which number is decided by a hash of what else is released of it and of a secret: it is the same at
# every run, it tells nothing of the order of the source, and nobody who lacks the table can repeat it. Rows of no class
# are left out.
#
# **By row**: all quasi-identifiers of a row are looked up together, in a table of the distinct rows. A join per column
# passes every row on so many times; where the distinct rows are few, one table of them knows what each shows, and rows
# that are left out are not in it. It also has a hash of what a row shows, so that the order of the rows, which depends
# on released cells alone, need not look at these cells again.

MOST = 200_000  # distinct rows that are sent over; above, a join per column sends less


@dataclass(frozen=True, eq=False)
class Shares:
    """Which rows of each distinct key belong to which class, as consecutive numbers."""

    key: np.ndarray  # (shares,) int64, the distinct row
    column: np.ndarray  # (shares,) int64, which further column is told apart, -1: none
    value: np.ndarray  # (shares,) int64, its code, -1: none
    low: np.ndarray  # (shares,) int64, rows before this share
    high: np.ndarray  # (shares,) int64
    owner: np.ndarray  # (shares,) int64, the class of the partition

    @property
    def divided(self) -> bool:
        """Whether some key has more than one class."""
        return len(np.unique(self.key)) < len(self.key)


def share_out(choice: Choice, partition: Partition) -> Shares:
    """The shares of a partition by boxes, equal neighbours as one."""
    items = partition.table
    key, _ = number_rows(items.codes)
    owner = partition.members
    lead = leading(choice.table)[key]
    whole = np.bincount(key) == 1  # a key of one item needs no value, and may have several
    lead = np.where(whole[key] | (lead < 0), -1, lead)
    value = np.full(len(key), -1, dtype=np.int64)
    for place, counts in enumerate((*items.sensitive, *items.targets)):
        of_column = lead == place
        value[of_column] = counts.code[counts.start[:-1][of_column]]
    ranked = np.lexsort((owner, value, key))
    key, lead, value, owner = key[ranked], lead[ranked], value[ranked], owner[ranked]
    weight = items.weights[ranked]
    fresh = np.concatenate(([True], (np.diff(key) != 0) | (np.diff(value) != 0)))
    begin = np.flatnonzero(fresh | np.concatenate(([True], np.diff(owner) != 0)))
    rows = np.add.reduceat(weight, begin)
    total = np.cumsum(rows)
    base = np.maximum.accumulate(np.where(fresh[begin], total - rows, 0))
    return Shares(key[begin], lead[begin], value[begin], total - rows - base, total - base, owner[begin])


@dataclass(frozen=True)
class ClassJoin:
    """The pieces of the query: what numbers the rows, and what joins them with their classes."""

    joins: tuple[str, ...]  # to the rows and the small tables of the columns
    more: tuple[str, ...]  # further cells of the rows, as SELECT has them; none where no key is divided
    after: tuple[str, ...]  # joins to the rows as they are then


def join_classes(
    rows: Source, choice: Choice, partition: Partition, labels: Mapping[str, tuple[str, ...]], others: Sequence[str]
) -> ClassJoin:
    """Register the small tables, and say how they are joined; ``others`` are the cells that tell equal rows apart."""
    import pyarrow as pa

    sql, schema = rows.layout().sql, choice.table.schema
    shares = share_out(choice, partition)
    kept = partition.visible[shares.owner]
    keys, at = np.unique(shares.key[kept], return_index=True)
    codes = choice.table.codes[keys]
    places = [rows.columns.index(name) for name in schema.quasi]
    fields = {"r": arrow_places(keys), **{f"g{c}": arrow_places(codes[:, c]) for c in range(len(places))}}
    on_key = " AND ".join(f"d.g{column} = m{place}.g" for column, place in enumerate(places))
    _register_labels(rows, partition, labels)
    if not shares.divided:
        rows.register("d", pa.table({**fields, "c": arrow_places(shares.owner[kept][at])}))
        return ClassJoin((f"JOIN d ON {on_key}", "JOIN z ON z.c = d.c"), (), ())
    columns = [counts.name for counts in (*choice.table.sensitive, *choice.table.targets)]
    rows.register("d", pa.table({**fields, "pick": arrow_places(shares.column[kept][at])}))
    cases = "".join(
        f" WHEN {number} THEN {sql.text(f'm{rows.columns.index(name)}.s')}"
        for number, name in enumerate(columns)
        if (shares.column == number).any()
    )
    picked = f"CASE d.pick{cases} ELSE '' END" if cases else "''"
    _register_shares(rows, choice, shares, kept)
    order = sql.secret_order(others, _secret(choice))
    numbered = f"row_number() OVER (PARTITION BY d.r, {picked} ORDER BY {order}) AS n"
    between = "y.r = t.r AND y.s = t.s AND t.n > y.low AND t.n <= y.high"
    return ClassJoin(
        (f"JOIN d ON {on_key}",),
        ("d.r AS r", f"{picked} AS s", numbered),
        (f"JOIN y ON {between}", "JOIN z ON z.c = y.c"),
    )


def _register_labels(rows: Source, partition: Partition, labels: Mapping[str, tuple[str, ...]]) -> None:
    """What each class shows, column by column; a class of masked rows shows stars."""
    import pyarrow as pa

    shown = np.flatnonzero(partition.visible)
    texts = {}
    for column, words in enumerate(labels.values()):
        groups = partition.groups[shown, column].tolist()
        texts[f"w{column}"] = arrow_texts([STAR if group < 0 else words[group] for group in groups])
    rows.register("z", pa.table({"c": arrow_places(shown), **texts}))


def _register_shares(rows: Source, choice: Choice, shares: Shares, kept: np.ndarray) -> None:
    import pyarrow as pa

    values = [counts.values for counts in (*choice.table.sensitive, *choice.table.targets)]
    pairs = zip(shares.column[kept].tolist(), shares.value[kept].tolist(), strict=True)
    texts = arrow_texts(["" if column < 0 else values[column][code] for column, code in pairs])
    numbers = {"r": shares.key, "low": shares.low, "high": shares.high, "c": shares.owner}
    rows.register("y", pa.table({**{n: arrow_places(array[kept]) for n, array in numbers.items()}, "s": texts}))


def _secret(choice: Choice) -> str:
    """What decides which of equal rows goes where: the same for the same table, unknown to who lacks it."""
    return hashlib.sha256(f"kpareto shares {table_digest(choice.table)}".encode()).hexdigest()


def join_rows(
    rows: Source, choice: Choice, partition: Partition, maps: Mapping[str, tuple[pa.Table, tuple[str, ...]]]
) -> str | None:
    """Register the distinct rows as ``d``, and say how they are joined; None where columns must be joined one by one.

    ``maps`` has per quasi-identifier its small table (value v, leaf) and its labels. ``d`` has per column of the source
    v and w, the value and what is shown, h, a hash of all that is shown, and where rows are masked whether they are.
    """
    import pyarrow as pa

    layout, table = rows.layout(), choice.table
    if not layout.whole_rows or choice.recoding.boxes is not None or len(table.weights) > MOST:
        return None
    values = [_value_of_leaf(choice, column, small) for column, (small, _) in enumerate(maps.values())]
    if any(value is None for value in values):
        return None
    together = classes(table, choice.recoding)
    lost = np.zeros(len(together.rows), dtype=np.bool_)  # (classes,)
    lost[together.members] = partition.suppressed[partition.members]
    gone = lost[together.members]  # (distinct,)
    masked = bool((partition.suppressed & partition.visible).any())
    at = np.arange(len(gone)) if masked else np.flatnonzero(~gone)
    fields, shown, joined = {}, [], []
    for column, (name, (small, labels)) in enumerate(maps.items()):
        place, leaves = rows.columns.index(name), table.codes[at, column]
        fields[f"v{place}"] = small.column("v").take(arrow_places(np.asarray(values[column])[leaves]))
        texts = arrow_texts(labels)
        fields[f"w{place}"] = texts.take(arrow_places(choice.recoding.cuts[column][leaves]))
        shown.append(texts.take(arrow_places(together.groups[:, column])).to_pylist())
        joined.append(layout.sql.same(layout.keys[place], f"d.v{place}"))
    stars = (STAR,) * len(shown)
    cells = zip(zip(*shown, strict=True), lost.tolist(), strict=True)
    hashes = arrow_texts([_short_hash(stars if star else each) for each, star in cells])
    more = {"lost": pa.array(gone[at].tolist(), pa.bool_())} if masked else {}
    rows.register("d", pa.table({**fields, "h": hashes.take(arrow_places(together.members[at])), **more}))
    return f"JOIN d ON {' AND '.join(joined)}"


def _short_hash(cells: tuple[str, ...]) -> str:
    """Sixteen digits that differ where cells do."""
    return hashlib.blake2b("\x1f".join(cells).encode(), digest_size=8).hexdigest()


def _value_of_leaf(choice: Choice, column: int, small: pa.Table) -> np.ndarray | None:
    """Where in the small table the value of each leaf stands: (leaves,) int64; None unless each has one, and all occur.

    Two spellings of a leaf, or a value that the table does not have (it was read coarser, say), need the way by
    columns.
    """
    hierarchy = choice.recoding.hierarchies[column]
    if hierarchy.leaves != choice.table.hierarchies[column].leaves:
        return None
    leaf = small.column("leaf").to_numpy()
    known = np.flatnonzero(leaf >= 0)
    if not np.array_equal(np.sort(leaf[known]), np.unique(choice.table.codes[:, column])):
        return None
    values = np.full(len(hierarchy.leaves), -1, dtype=np.int64)
    values[leaf[known]] = known
    return values
