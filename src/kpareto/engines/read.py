"""The door: any dataframe, file or engine table -> Table.

One GROUP BY, run by the program that holds the rows, gives the distinct rows and how often each occurs; only those
come into memory here.

A ``Wish`` says what a table is to be made of, what becomes of rows without a value, and through which hierarchies it is
seen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from kpareto.engines import file_of, form_of, open_source
from kpareto.engines.admission import (
    VALUE,
    WORTH_SAYING,
    Admission,
    Coarsen,
    Need,
    TooMany,
    allowed_bytes,
    need_of,
    size_text,
    table_bytes,
)
from kpareto.engines.distinct import Distinct, Numbered, number_values
from kpareto.engines.duckdb.connect import no_room
from kpareto.engines.duckdb.files import file_digest
from kpareto.engines.form import Missing
from kpareto.engines.source import Source
from kpareto.engines.values import (
    Coded,
    Dictionary,
    Rolled,
    Spelled,
    arrange,
    arrow_places,
    arrow_texts,
    blank,
    numpy_of,
)
from kpareto.errors import BadHierarchy, BadJob, BadSchema, BadTable, Progress, shorten
from kpareto.tables.coarse import check_first, coarsen_table
from kpareto.tables.hierarchies import load
from kpareto.tables.hierarchies.loading import place_missing
from kpareto.tables.hierarchy import MISSING, Hierarchy, flat
from kpareto.tables.schema import Schema
from kpareto.tables.spelling import NO_VALUE, say_spellings
from kpareto.tables.table import (
    Domain,
    Population,
    Sample,
    Table,
    check_places,
    distinct_rows,
    hierarchies_by_name,
    make_table,
)

if TYPE_CHECKING:
    import pyarrow as pa


POLICIES: tuple[Missing, ...] = ("drop", "category", "error")
MOST_COMPARED = 100_000  # values of a quasi-identifier of which spellings are compared
MOST_DROPPED = 0.05  # share of the rows that may vanish for a missing value without anybody having said so


@dataclass(frozen=True, eq=False)
class Wish:
    """What a table is to be made of, and how."""

    schema: Schema
    missing: Missing | None  # None: drop where that costs few rows, else category
    missing_values: Sequence[object]
    hierarchies: Mapping[str, object] | Sequence[Hierarchy] | None
    domain: Domain
    # Column -> values that should have a place in its hierarchy although no row has them: those of a population.
    further: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.schema, Schema):
            raise BadSchema(
                f"The schema is a {type(self.schema).__name__}. Give a kpareto.Schema, such as "
                'kpareto.Schema(quasi=["age", "zip"], sensitive=["diagnosis"]), or kpareto.inspect(source).schema.'
            )
        if not isinstance(self.hierarchies, Mapping | Sequence | None) or isinstance(self.hierarchies, str):
            raise BadHierarchy(
                f"hierarchies is {self.hierarchies!r:.60}. Give a dict from columns to hierarchies, such as "
                '{"age": {"intervals": [5, 10]}}.'
            )
        if self.missing is not None and self.missing not in POLICIES:
            known = ", ".join(POLICIES)
            raise BadJob(f"Missing values can be treated by {known}, not {self.missing!r}. Take one of these.")
        if self.domain not in ("observed", "declared"):
            raise BadJob(f"The domain is {self.domain!r}. Take 'observed' or 'declared'.")

    @property
    def named(self) -> tuple[str, ...]:
        """The columns that a hierarchy is given for."""
        return tuple(form.name if isinstance(form, Hierarchy) else str(form) for form in self.hierarchies or ())

    @property
    def wanted(self) -> tuple[str, ...]:
        """The columns that are read; the quasi-identifiers come first."""
        return self.schema.counted

    @property
    def marks(self) -> tuple[object, ...]:
        """The texts that stand for no value."""
        return (self.missing_values,) if isinstance(self.missing_values, str) else (*self.missing_values,)

    def blank(self, texts: pa.Array) -> pa.Array:
        """The texts, null where they stand for no value."""
        marks = [*self.marks]
        return blank(texts, [*marks, MISSING] if self.missing in ("category", None) else marks)  # as a release has it

    def settled(self, complete: int, rows: int) -> Wish:
        """The wish with a policy, where none was named: no more than a small share of the rows vanishes unasked."""
        if self.missing is not None:
            return self
        return replace(self, missing="drop" if rows - complete <= MOST_DROPPED * rows else "category")

    def words(self, dropped: int, rows: int) -> tuple[str, ...]:
        """What became of rows with a missing value, in a sentence; ``dropped``: rows without a value somewhere."""
        if not dropped:
            return ()
        share = f"{dropped:,} of {rows:,} rows ({dropped / rows:.1%}) have a missing value"
        if self.missing == "drop":
            return (f"{share} and are left out; the setting missing can keep them as a category.",)
        return (f"{share}, which counts as a value of its own; the setting missing can drop them.",)

    def spelling_words(self, values: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
        """What became of values that differ in spelling only, a sentence for each column that has some."""
        schema = self.schema
        one = 'they count as the same. With spellings = "exact" under [data], or in the Schema, they are told apart.'
        whose = one if schema.spellings == "fold" else "they count as different ones, as was asked for."
        sentences = [
            say_spellings(name, values[name], whose) for name in dict.fromkeys((*schema.sensitive, *schema.persons))
        ]
        other = "recodings take them as different values. Mend them where they mean the same."
        sentences += [say_spellings(n, values[n], other) for n in schema.quasi if len(values[n]) <= MOST_COMPARED]
        return tuple(filter(None, sentences))

    def check_missing(self, lost: Mapping[str, int], rows: int, left: int) -> None:
        """Raise where values are missing (rows per column) and may not be, or where no row is left."""
        if self.missing == "error" and any(lost.values()):
            named = [f"{name!r} ({count:,} of {rows:,} rows)" for name, count in lost.items() if count]
            raise BadTable(
                f"Values are missing in {shorten(named)}. Give missing='drop' to leave these rows out, or "
                "missing='category' to keep them as a value of their own."
            )
        if not left:
            worst = max(lost, key=lambda name: lost[name])
            raise BadTable(
                f"No row is left: each of the {rows:,} rows has a missing value, {lost[worst]:,} of them in {worst!r}. "
                "Give missing='category' to keep them, or leave that column out of the schema."
            )


def load_hierarchies(
    table: Table, forms: Mapping[str, object] | Sequence[Hierarchy], further: Mapping[str, Sequence[str]] | None = None
) -> dict[str, Hierarchy]:
    """Hierarchies by column; rules, files and frames are made into one with the values of the column.

    ``further`` values of a column get a place too, where a rule or the lack of one decides which values there are.
    """
    named = forms if isinstance(forms, Mapping) else {hierarchy.name: hierarchy for hierarchy in forms}
    more = {name: values for name, values in (further or {}).items() if name in table.schema.quasi}
    hierarchies = {}
    for name in [*named, *(name for name in more if name not in named)]:
        form = named.get(name)
        if isinstance(form, Hierarchy):
            known = name in table.schema.quasi  # else the table itself says so in a sentence
            leaves = table.hierarchies[table.column(name)].leaves if known else ()
            hierarchies[name] = place_missing(form, leaves)
            continue
        column = table.column(name)
        rows = dict(zip(table.hierarchies[column].leaves, table.leaf_rows[column].tolist(), strict=True))
        if form is None:
            hierarchies[name] = flat_of(name, arrange(arrow_texts([*rows, *more[name]])))
        else:
            hierarchies[name] = _load_wider(name, form, rows, more.get(name, ()))
    return hierarchies


def _load_wider(name: str, form: object, rows: Mapping[str, int], further: Sequence[str]) -> Hierarchy:
    """A hierarchy of a column's values, and of further ones where it is a rule that can place them."""
    hierarchy = load(name, form, rows)
    by_rule = hierarchy.rule is not None or (isinstance(form, Mapping) and "flat" in form)  # flat takes any value
    if not by_rule or not len(further) or bool((hierarchy.locate(further) >= 0).all()):
        return hierarchy
    try:
        return load(name, form, dict.fromkeys(further, 0) | dict(rows))
    except BadHierarchy:
        return hierarchy  # the sentence about the population names the values that have no place


def flat_of(name: str, dictionary: Dictionary) -> Hierarchy:
    """The hierarchy of a column that was just read: its values, and all of them as one group."""
    plain = flat(name, dictionary.values)
    if dictionary.kind == "text":
        return plain
    spans = None if dictionary.sizes is None else np.column_stack((dictionary.sizes, dictionary.sizes))
    return replace(plain, ordered=True, spans=spans, dates=dictionary.kind == "date")


SAMPLE = 200_000  # rows that are drawn where the distinct rows need too much memory
MOST_SPELLED = 1_000_000  # values of a column that are kept in memory for the way out


def read(  # noqa: PLR0913 (each is a word of the job file too)
    source: object,
    schema: Schema,
    missing: Missing | None = None,
    missing_values: Sequence[object] = NO_VALUE,
    hierarchies: Mapping[str, object] | Sequence[Hierarchy] | None = None,
    domain: Domain = "observed",
    encoding: str = "utf-8",
    *,
    memory: str | int | None = None,
    too_many: TooMany = "error",
    first: Mapping[str, int] | None = None,
    coarsen: Coarsen = "needed",
    sample: int | None = None,
    seed: int = 1,
    population: object = None,
    progress: Progress | None = None,
) -> Table:
    """Roll a table up to its distinct rows.

    Only the columns with a role are read, and of those no more than the distinct combinations come into memory. Those
    are counted first. Numbers and dates have no order where a missing value stands among them.

    Parameters
    ----------
    source : object
        A pandas or polars frame (lazy ones too), a pyarrow table, a DuckDB relation, the path of a file (CSV, TSV, JSON
        lines, Parquet, workbooks, Stata, SPSS, SAS; packed too) or of a folder of Parquet parts, or a ``DataFile``,
        which says more of its form; a ``Postgres``, a ``SparkTable`` or a frame of Spark.
    schema : Schema
        The role of each column.
    missing : {'drop', 'category', 'error'}, optional
        What becomes of rows with no value in a column that is read: ``drop`` leaves them out and counts them,
        ``category`` gives them a value of their own, ``(missing)``, the last of its column, ``error`` raises. Without a
        word they are dropped up to 5 % of the rows, and are a category where they are more; the table's remarks say so.
    missing_values : sequence, optional
        What stands for no value.
    hierarchies : mapping of str to object or sequence of Hierarchy, optional
        Per quasi-identifier whatever ``load`` takes; a column without one is shown or hidden as a whole.
    domain : {'observed', 'declared'}, optional
        Which leaves the loss counts: those of the rows, or all of the hierarchy.
    encoding : str, optional
        Of a file of text.
    memory : str or int, optional
        What the distinct rows may need, such as "2 GB"; half of what is free unless given.
    too_many : {'error', 'coarsen', 'sample'}, optional
        What happens where they need more: ``coarsen`` reads each column in ``first`` from that level of its hierarchy
        on, ``sample`` reads some rows only.
    first : mapping of str to int, optional
        Column -> the level from which it is read.
    coarsen : {'needed', 'always'}, optional
        Whether to read from those levels in any case.
    sample : int, optional
        How many rows are drawn with ``too_many="sample"``, whether or not all would fit; unless given, 200,000 where
        they do not.
    seed : int, optional
        By which they are drawn.
    population : object, optional
        What the rows were drawn from: a source like the first one with the same quasi-identifiers, or a ``Population``
        (a table, or the share that was sampled).
    progress : callable, optional
        Called with what is done of how much; 0 of 0 where the program that counts does not say.

    Returns
    -------
    Table
        The distinct rows with their weights.

    Raises
    ------
    BadInput
        If the source cannot be read, lacks a column, has no rows, needs more memory than it may, or has a value that
        its hierarchy does not know.

    Examples
    --------
    >>> import kpareto as kp
    >>> schema = kp.Schema(quasi=["age", "sex"], sensitive=["occupation"])
    >>> kp.read(kp.adult(), schema, hierarchies={"age": {"intervals": [10, 20]}})
    Table(32,561 rows, 144 distinct, by age, sex)
    """
    wish = Wish(schema, missing, missing_values, hierarchies, domain)
    admission = Admission(memory, too_many, first or {}, coarsen, sample, seed)
    known = None if population is None else read_population(population, wish, admission, encoding)
    table = read_drawn(source, wish, admission, known, encoding, progress)
    return replace(table, bare=tuple(name for name in schema.quasi if name not in wish.named))


def read_population(population: object, wish: Wish, admission: Admission, encoding: str = "utf-8") -> Population:
    """What a table was drawn from: rolled up once, by the quasi-identifiers alone."""
    if isinstance(population, Population):
        return population
    if isinstance(population, Table):
        return Population(table=population)
    plain = Wish(Schema(wish.schema.quasi), wish.missing or "drop", wish.missing_values, None, wish.domain)
    return Population(table=read_wish(population, plain, Admission(admission.memory), encoding))


def read_drawn(
    source: object,
    wish: Wish,
    admission: Admission,
    population: Population | None,
    encoding: str = "utf-8",
    progress: Progress | None = None,
) -> Table:
    """A table that knows its population; hierarchies made by rules get a place for values that only that one has."""
    if population is None:
        return read_wish(source, wish, admission, encoding, progress)
    everybody = population.table
    further = {} if everybody is None else {hierarchy.name: hierarchy.leaves for hierarchy in everybody.hierarchies}
    return read_wish(source, replace(wish, further=further), admission, encoding, progress).drawn_from(population)


def read_wish(
    source: object, wish: Wish, admission: Admission, encoding: str = "utf-8", progress: Progress | None = None
) -> Table:
    """Roll a table up to its distinct rows; what ``read`` is told word by word stands in two records here."""
    table, columns = _read(source, wish, admission, encoding, progress)
    form = None if file_of(source) is None else form_of(source, encoding)
    return replace(table, columns=columns, form=form, missing_values=wish.marks)


def _read(
    source: object, wish: Wish, admission: Admission, encoding: str, progress: Progress | None
) -> tuple[Table, tuple[str, ...]]:
    """The table of a source, and all columns that are there."""
    admission.check(wish.schema)
    with _count_distinct(source, wish, encoding, admission, progress) as (distinct, rows):
        need = need_of(distinct, wish.schema, admission)
        remarks = (need.words(),) if need.bytes() > WORTH_SAYING else ()
        if admission.coarsen == "needed" and need.fits and not admission.draws(need.rows):
            table = _whole(distinct, wish, sign=rows.costly)
            return replace(table, remarks=(*remarks, *table.remarks)), rows.columns
        if admission.coarsen == "needed" and admission.too_many == "error":
            raise need.refusal()
        if need.values and VALUE * sum(need.values) > need.memory:
            raise need.too_many_values()
        numbers = number_values(rows.engine(), distinct, wish.blank, progress)
        return _narrow(numbers, wish, admission, need), rows.columns


def read_placed(source: object, wish: Wish, admission: Admission, encoding: str = "utf-8") -> Table:
    """The rows that have a place in hierarchies which were made without them; all others are left out, uncounted.

    What becomes of a row depends on that row alone, and so does nothing else: a differentially private release rests
    on that. With ``category`` every hierarchy has a place for missing values, whether or not there are any.
    """
    by_name = hierarchies_by_name(wish.hierarchies or {}, wish.schema)
    keep_missing = wish.missing == "category"
    with _count_distinct(source, wish, encoding, admission, None) as (distinct, _):
        need = need_of(distinct, wish.schema, admission)
        if not need.fits:
            raise need.refusal()
        rolled = distinct.fetch()
    codes = np.empty((len(rolled.weights), len(wish.schema.quasi)), dtype=np.int32)
    hierarchies = []
    for index, (column, name) in enumerate(zip(rolled.columns, wish.schema.quasi, strict=False)):
        hierarchy = by_name[name].renamed(name)
        hierarchies.append(place_missing(hierarchy, [MISSING]) if keep_missing else hierarchy)
        words = [*wish.blank(column.texts).to_pylist(), None]  # the last entry is for code -1, no value
        places = hierarchy.locate(["" if word is None else word for word in words])
        places[[word is None for word in words]] = hierarchies[index].index[MISSING] if keep_missing else -1
        codes[:, index] = places[column.codes]
    keep = (codes >= 0).all(axis=1)
    people = {}
    for name, column in zip(wish.wanted, rolled.columns, strict=True):
        if name in wish.schema.persons:  # by their texts alone: what other ids look like must not matter
            ids = [MISSING if text is None else text for text in (*wish.blank(column.texts).to_pylist(), None)]
            people[name] = (tuple(ids), np.where(column.codes < 0, len(ids) - 1, column.codes)[keep], None)
    table = make_table(wish.schema, tuple(hierarchies), codes[keep], rolled.weights[keep], people)
    return replace(table, domain=wish.domain, missing=wish.missing or "drop")


@contextmanager
def _count_distinct(
    source: object, wish: Wish, encoding: str, admission: Admission, progress: Progress | None, empty: bool = False
) -> Iterator[tuple[Distinct, Source]]:
    """The distinct rows of a source, counted, and the source."""
    with open_source(source, encoding, allowed_bytes(admission.memory)) as rows:
        wish.schema.check(rows.columns)
        try:
            distinct = rows.distinct(wish.wanted, progress)
            if not distinct.distinct and not empty:
                named = shorten(rows.columns)
                raise BadTable(f"The table has no rows, only the columns {named}. Give at least one row.")
            yield distinct, rows
        except Exception as error:
            if type(error).__name__ == "OutOfMemoryException":  # the engine's, which need not be loaded
                raise no_room("the table", error) from error
            raise


def _whole(distinct: Distinct, wish: Wish, sign: bool) -> Table:
    """All distinct rows as they are; ``sign`` keeps their fingerprint."""
    rolled = distinct.fetch()
    digest = _digest(wish, *_sort(rolled, wish.wanted)) if sign else None
    columns = {
        name: replace(column, texts=wish.blank(column.texts))
        for name, column in zip(wish.wanted, rolled.columns, strict=True)
    }
    table = replace(_table(wish, columns, rolled.weights), spelled=_spell_values(columns), digest=digest)
    if wish.hierarchies is None and not wish.further:
        return replace(table, domain=wish.domain)
    return table.bind(load_hierarchies(table, wish.hierarchies or {}, wish.further), wish.domain)


def _spell_values(columns: Mapping[str, Coded]) -> dict[str, Spelled]:
    """The engine's own values of each column, for the way out; a column with a value per row is asked for again."""
    return {n: c.spelled for n, c in columns.items() if c.spelled is not None and len(c.spelled.raw) <= MOST_SPELLED}


def _table(wish: Wish, columns: Mapping[str, Coded], weights: np.ndarray) -> Table:
    schema = wish.schema
    absent = {name: _absent(column) for name, column in columns.items()}
    rows = int(weights.sum())
    keep = ~np.logical_or.reduce(list(absent.values()))
    lacking = int(weights[~keep].sum())
    wish = wish.settled(rows - lacking, rows)
    if wish.missing != "drop":
        keep = np.ones(len(weights), dtype=np.bool_)
    wish.check_missing({name: int(weights[mask].sum()) for name, mask in absent.items()}, rows, int(keep.sum()))
    dictionaries = {name: _dictionary(column, keep) for name, column in columns.items()}
    hierarchies = tuple(flat_of(name, dictionaries[name]) for name in schema.quasi)
    codes = np.column_stack([dictionaries[name].codes for name in schema.quasi])
    extras = {
        name: (dictionary.values, dictionary.codes, dictionary.numbers)
        for name, dictionary in dictionaries.items()
        if name not in schema.quasi
    }
    table = make_table(schema, hierarchies, codes, weights[keep], extras)
    remarks = wish.words(lacking, rows) + wish.spelling_words({n: d.values for n, d in dictionaries.items()})
    return replace(table, dropped=rows - table.rows, missing=wish.missing or "drop", remarks=remarks)


def _absent(column: Coded) -> np.ndarray:
    """Which rolled-up rows have no value: (rows,) bool."""
    nulls = np.append(numpy_of(column.texts.is_null()).astype(np.bool_), True)
    return nulls[column.codes]


def _dictionary(column: Coded, keep: np.ndarray) -> Dictionary:
    """The values of the kept rows in order, missing ones last, with a code per kept row."""
    codes = column.codes[keep]
    used = np.flatnonzero(np.bincount(codes + 1, minlength=len(column.texts) + 1)[1:])
    dictionary = arrange(column.texts.take(arrow_places(used)))
    rank = np.full(len(column.texts) + 1, -1, dtype=np.int32)  # the last entry is for code -1, no value
    rank[used] = dictionary.codes
    kept = rank[codes]
    if (kept >= 0).all():
        return replace(dictionary, codes=kept)
    kept[kept < 0] = len(dictionary.values)
    return Dictionary((*dictionary.values, MISSING), kept, "text", None)


# -- tables larger than memory -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of numbered rows: what their values are called, and where each value stands."""

    hierarchies: tuple[Hierarchy, ...]  # of the quasi-identifiers, as declared
    leaf_rows: tuple[np.ndarray, ...]  # per quasi-identifier (leaves,) int64
    places: tuple[np.ndarray, ...]  # per column (values + 1,) int64: value -> leaf, or code; no value is the last
    extras: Mapping[str, Dictionary]


def _profile(numbers: Numbered, wish: Wish) -> Columns:
    """Bind the values of each column, without looking at the rows again."""
    drop = wish.missing == "drop"
    forms = hierarchies_by_name(wish.hierarchies or {}, wish.schema)
    hierarchies, leaf_rows, places = [], [], []
    extras: dict[str, Dictionary] = {}
    for index, name in enumerate(wish.wanted):
        dictionary, code_of, rows = _list_values(numbers, index, drop)
        if name in wish.schema.quasi:
            counted = np.bincount(dictionary.codes, weights=rows, minlength=len(dictionary.values)).astype(np.int64)
            form = forms.get(name)
            if form is not None and not isinstance(form, Hierarchy):
                form = load(name, form, dict(zip(dictionary.values, counted.tolist(), strict=True)))
            hierarchy = flat_of(name, dictionary) if form is None else form.renamed(name)
            leaf = hierarchy.locate(dictionary.values).astype(np.int64)
            check_places(hierarchy, dictionary.values, counted, leaf)
            code_of = np.where(code_of < 0, -1, leaf[code_of])
            hierarchies.append(hierarchy)
            leaf_rows.append(np.bincount(leaf, weights=counted, minlength=len(hierarchy.leaves)).astype(np.int64))
        else:
            extras[name] = dictionary
        places.append(code_of)
    return Columns(tuple(hierarchies), tuple(leaf_rows), tuple(places), extras)


def _list_values(numbers: Numbered, index: int, whole: bool) -> tuple[Dictionary, np.ndarray, np.ndarray]:
    """The values of a column, the place of each of the engine's numbers among them, and the rows with each."""
    coded, rows = numbers.values(index, whole)
    dictionary = _dictionary(coded, np.ones(len(rows), dtype=np.bool_))
    code_of = np.full(len(numbers.texts[index]) + 1, -1, dtype=np.int64)
    code_of[coded.codes] = dictionary.codes
    return dictionary, code_of, rows


def _settle(numbers: Numbered, wish: Wish) -> tuple[Wish, int]:
    """The wish with what becomes of missing values, and how many rows that leaves."""
    complete = numbers.complete_rows()
    settled = wish.settled(complete, numbers.rows)
    left = complete if settled.missing == "drop" else numbers.rows
    settled.check_missing(dict(zip(wish.wanted, numbers.lost, strict=True)), numbers.rows, left)
    return settled, left


def _narrow(numbers: Numbered, wish: Wish, admission: Admission, need: Need) -> Table:
    """Fewer rows than there are: coarser ones, or a sample of them."""
    wish, left = _settle(numbers, wish)
    columns = _profile(numbers, wish)
    first = {name: level for name, level in admission.first.items() if level}
    for name, level in first.items():
        check_first(columns.hierarchies[wish.schema.quasi.index(name)], level)
    size = replace(need, rows=numbers.rows).words()
    if admission.draws(None) or (admission.too_many == "sample" and not need.fits):
        table, words = _sample(numbers, wish, columns, admission, need)
        first = first if admission.coarsen == "always" else {}
    else:
        cuts = [columns.hierarchies[index].groups[first.get(name, 0)] for index, name in enumerate(wish.schema.quasi)]
        count, fetch = _merge(numbers, wish, columns, cuts)
        coarser = replace(need, distinct=count, rows=numbers.rows)
        if not coarser.fits:
            levels = ", ".join(f"{name} at level {level}" for name, level in first.items())
            raise coarser.refusal(f" even with {levels}")
        table = fetch()
        words = f"Read coarser: {coarser.words()}"
    for name, level in first.items():
        height = columns.hierarchies[wish.schema.quasi.index(name)].height
        words += f" {name!r} begins at level {level} of {height}."
    values = {h.name: h.leaves for h in columns.hierarchies} | {n: d.values for n, d in columns.extras.items()}
    spelled = wish.spelling_words(values)
    remarks = (size, words, *wish.words(numbers.rows - numbers.complete_rows(), numbers.rows), *spelled)
    policy = wish.missing or "drop"
    table = replace(table, dropped=numbers.rows - left, missing=policy, domain=wish.domain, remarks=remarks)
    return coarsen_table(table, first) if first else replace(table, leaf_counts=None)


def read_merged(
    source: object, wish: Wish, cuts: Sequence[np.ndarray], encoding: str = "utf-8", memory: str | int | None = None
) -> Table:
    """All rows of a source merged by cuts of their hierarchies: each stands at the first leaf of its groups.

    The engine merges them, so no more rows come into memory than the cuts have classes.
    """
    with _count_distinct(source, wish, encoding, Admission(memory), None) as (distinct, rows):
        numbers = number_values(rows.engine(), distinct, wish.blank)
        wish, left = _settle(numbers, wish)
        _, fetch = _merge(numbers, wish, _profile(numbers, wish), cuts)
        return replace(fetch(), dropped=numbers.rows - left, missing=wish.missing or "drop", domain=wish.domain)


def _merge(
    numbers: Numbered, wish: Wish, columns: Columns, cuts: Sequence[np.ndarray]
) -> tuple[int, Callable[[], Table]]:
    """The rows merged by cuts of the columns, counted, and how to fetch them: each at the first leaf of its groups."""
    groups = list(columns.places)
    for column, cut in enumerate(cuts):
        start = np.flatnonzero(np.diff(cut, prepend=-1))
        groups[column] = np.where(groups[column] < 0, -1, start[cut[groups[column]]])
    count, fetch = numbers.merge(groups, wish.missing == "drop")

    def fetch_table() -> Table:
        return replace(_coded_table(wish, columns, fetch()), leaf_counts=columns.leaf_rows)

    return count, fetch_table


def _sample(numbers: Numbered, wish: Wish, columns: Columns, admission: Admission, need: Need) -> tuple[Table, str]:
    """So many rows, drawn."""
    drop = wish.missing == "drop"
    left = numbers.complete_rows() if drop else numbers.rows
    rows = min(admission.sample or SAMPLE, left)
    if need.bytes(rows) > need.memory:
        raise BadTable(
            f"A sample of {rows:,} rows needs up to {size_text(need.bytes(rows))}, and {size_text(need.memory)} may be "
            f"used. Give a smaller one, such as sample = {round_down(need.most())}, or more memory."
        )
    *codes, weights = numbers.draw(rows, admission.seed, drop)
    table = _coded_table(wish, columns, (*(p[c] for p, c in zip(columns.places, codes, strict=True)), weights))
    taken = Sample(rows, left, admission.seed)
    words = f"Read {taken.words()} (seed {taken.seed}), {table.distinct:,} of them distinct."
    return replace(table, sample=taken), words


def round_down(count: int) -> int:
    """A number with one digit that is not 0."""
    return count // 10 ** (len(str(count)) - 1) * 10 ** (len(str(count)) - 1)


def _coded_table(wish: Wish, columns: Columns, rows: Sequence[np.ndarray]) -> Table:
    """A table of leaves and codes per column, and weights."""
    *codes, weights = rows
    quasi = len(wish.schema.quasi)
    extras = {
        name: (dictionary.values, code, dictionary.numbers)
        for (name, dictionary), code in zip(columns.extras.items(), codes[quasi:], strict=True)
    }
    return make_table(wish.schema, columns.hierarchies, np.column_stack(codes[:quasi]), weights, extras)


def fingerprint(source: object, columns: Sequence[str] | None = None) -> str:
    """SHA-256 of a source, for certificates: of the bytes of a file, of the content of anything else.

    The content is what the texts of the columns say, in any order of rows, so a frame and its copy in another library
    have the same fingerprint.

    Parameters
    ----------
    source : object
        Whatever ``read`` takes.
    columns : sequence of str, optional
        The columns that count; all unless given. A file always counts whole.

    Returns
    -------
    str
        64 hexadecimal digits.

    Raises
    ------
    BadInput
        If the source cannot be read.

    Examples
    --------
    >>> import kpareto as kp
    >>> rows = kp.adult().slice(0, 10)
    >>> kp.fingerprint(rows) == kp.fingerprint(rows.to_pandas())
    True
    """
    file = file_of(source)
    if file is not None:
        return file_digest(file)
    if columns is None:
        with open_source(source) as rows:
            columns = rows.columns
    wanted = tuple(columns)
    wish = Wish(Schema(quasi=wanted), "category", (), None, "observed")
    with _count_distinct(source, wish, "utf-8", Admission(), None, empty=True) as (distinct, rows):
        if table_bytes(distinct.distinct, len(wanted)) <= allowed_bytes(None):
            return _digest(wish, *_sort(distinct.fetch(), wanted))
        return _digest(wish, *_stream(number_values(rows.engine(), distinct, lambda texts: texts), wanted))


Ordered = tuple[list[tuple[str, ...]], Callable[[], Iterator[np.ndarray]], Callable[[], Iterator[np.ndarray]]]


def _digest(
    wish: Wish,
    values: Sequence[tuple[str, ...]],
    codes: Callable[[], Iterator[np.ndarray]],
    weights: Callable[[], Iterator[np.ndarray]],
) -> str:
    """The hash of the values of each column, of the sorted distinct rows, and of how often each occurs."""
    whole = hashlib.sha256(b"kpareto table 1")
    for pair in zip(wish.wanted, values, strict=True):
        whole.update(repr(pair).encode())
    for part in (codes, weights):
        for piece in part():
            whole.update(piece.astype("<i8").tobytes())
    return whole.hexdigest()


def _sort(rolled: Rolled, wanted: Sequence[str]) -> Ordered:
    """Distinct rows in memory, in order."""
    every = np.ones(len(rolled.weights), dtype=np.bool_)
    named = [_dictionary(column, every) for column in rolled.columns]
    codes = np.empty((len(rolled.weights), len(wanted)), dtype=np.int64)
    for index, dictionary in enumerate(named):
        codes[:, index] = dictionary.codes
    order, start = distinct_rows(codes)
    merged = np.add.reduceat(rolled.weights[order], start) if len(start) else rolled.weights
    return [dictionary.values for dictionary in named], lambda: iter([codes[order[start]]]), lambda: iter([merged])


def _stream(numbers: Numbered, wanted: Sequence[str]) -> Ordered:
    """Distinct rows that do not fit into memory, in order: the engine sorts them, and they pass in batches."""
    named, places = [], []
    for index in range(len(wanted)):
        dictionary, code_of, _ = _list_values(numbers, index, whole=False)
        named.append(dictionary.values)
        places.append(code_of)
    numbers.merge(places, whole=False)
    return named, numbers.sorted_rows, numbers.sorted_weights
