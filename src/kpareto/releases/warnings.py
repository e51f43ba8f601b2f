"""What an honest tool tells its user about a release: the warnings W1 to W20 of docs/risk.md, as data, with numbers.

A remark is shown, printed in the report and kept in the certificate. ``remarks`` looks at everything that is known
about a release candidate (``Context``) and answers those that apply, in order. ``warnings_for`` knows a choice that is
released, ``complete_warnings`` adds what no release goes without; in which order a person reads them, and how Python
tells them, stands at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args
from warnings import warn

import numpy as np

from kpareto.errors import ReleaseWarning, Remedy, Unsafe, shorten
from kpareto.fronts.choose import SaferPoint, find_safer
from kpareto.fronts.front import Point
from kpareto.fronts.numbers import spell_count
from kpareto.fronts.problem import stricter
from kpareto.measures import make
from kpareto.measures.measure import Model
from kpareto.measures.use import is_judged, yardstick
from kpareto.releases.certificate import Warned
from kpareto.releases.choice import Choice
from kpareto.releases.labels import compose, has_row_borders
from kpareto.releases.recoded_rows import Handling
from kpareto.releases.risk.attacks import classes_have, downcoding, find_missing, homogeneity, minimality, overlaps
from kpareto.releases.risk.composition import Composition
from kpareto.releases.risk.disclosing_columns import DisclosingColumn
from kpareto.releases.risk.risk import bias_tables
from kpareto.tables.hierarchy import MISSING
from kpareto.tables.partition import Partition, Suppression
from kpareto.tables.proposals import NEARLY_UNIQUE
from kpareto.tables.spelling import are, percent, several
from kpareto.tables.table import Population, UniqueRows

Severity = Literal["note", "caution", "danger"]
GRAVEST = tuple(reversed(get_args(Severity)))  # danger, caution, note
Number = int | float | str | None
MOST_LEFT_OUT = 0.2  # share of the rows that may be left out for missing values before it is a danger
GRAVE = 0.05  # share of the rows concerned from which a warning is a danger
LITTLE = 0.8  # of the error that the column totals alone have: from here on a release adds little to them
GOOD = 0.05  # error of counts below which nobody needs more
PROFILE = 3  # groups named among the suppressed


@dataclass(frozen=True)
class SearchFacts:
    """How the recoding was found."""

    method: str
    complete: bool  # the search proves that no better recoding is missing
    evaluated: int
    size: int | None = None  # of the space, where it is known
    gap: float | None = None  # proven bound on the loss above the best possible, as a share; None: unknown
    proof: str = ""  # the same in words that say which recodings it speaks of


@dataclass(frozen=True, eq=False)
class Context:
    """What is known about a release candidate; only the partition is needed."""

    partition: Partition
    limits: Mapping[str, float] = field(default_factory=dict)  # as in the job: {"k": 5, "l": 2}
    suppression: Suppression | None = None
    unique: UniqueRows | None = None  # over all released columns together
    population: Population | None = None
    search: SearchFacts | None = None  # None: the recoding was fixed beforehand, nothing was optimized
    safer: SaferPoint | None = None  # of the same front, at nearly the same detail
    earlier: tuple[Composition, ...] = ()  # intersection tests with releases registered before
    representatives: tuple[str, ...] = ()  # columns shown by values of actual rows, such as medians
    tied: tuple[str, ...] = ()  # plain columns that show the groups of a quasi-identifier
    kept_order: bool = False  # the rows are written in the order of the input
    certificate: bool = False  # one is written
    differentially_private: bool = False  # made by a mechanism that is, never by a search
    written: tuple[Remark, ...] = ()  # what only the written rows told, such as W17


@dataclass(frozen=True)
class Remark:
    """One warning: which, how serious, a sentence or two for a data steward, and the numbers in it."""

    id: str
    severity: Severity
    text: str
    numbers: Mapping[str, Number]
    remedy: Remedy | None = None  # what to do, which ends the text

    def to_dict(self) -> dict[str, object]:
        """The warning as plain data."""
        return {"id": self.id, "severity": self.severity, "text": self.text, "numbers": dict(self.numbers)}


def _advise(name: str, severity: Severity, text: str, numbers: Mapping[str, Number], remedy: Remedy) -> Remark:
    """A warning that ends with what to do."""
    return Remark(name, severity, f"{text} {remedy.text}", numbers, remedy)


def remarks(context: Context) -> list[Remark]:
    """Every warning that applies, in the order of their numbers, those of the written rows last.

    Parameters
    ----------
    context : Context
        What is known about a release candidate; only its partition is needed.

    Returns
    -------
    list of Remark
        Each with its ``id``, ``severity``, ``text`` and ``numbers``.

    Examples
    --------
    >>> import kpareto as kp
    >>> from kpareto.releases.warnings import Context
    >>> point = kp.front(kp.adult_table(), suppression=0.01).choose(k=5)
    >>> [warning.id for warning in kp.remarks(Context(point.partition, {"k": 5}, point.suppression))]
    ['W1', 'W2', 'W3', 'W6', 'W7', 'W11', 'W15']
    """
    return [*(remark for warn in _WARNINGS if (remark := warn(context)) is not None), *context.written]


def remarks_on_handling(context: Context) -> list[Remark]:
    """The warnings that how the rows are written calls for, whatever else is known."""
    medians = _w8(context) if context.representatives else None
    return [remark for remark in (medians, _w19(context)) if remark is not None]


def _smallest(partition: Partition) -> int:
    return int(partition.sizes[partition.visible].min())


def _severity(rows: int, of: int) -> Severity:
    """How serious a warning is, by the share of the rows that it concerns."""
    if not rows:
        return "note"
    return "danger" if rows >= GRAVE * of else "caution"


def _w1(context: Context) -> Remark | None:
    partition = context.partition
    if partition.empty:
        return None
    quasi = partition.table.schema.quasi
    limit = (
        f"k-anonymity hinders linking by the {several(len(quasi), 'declared quasi-identifier')} only "
        f"({shorten(quasi, 10)}), here with k = {_smallest(partition)}."
    )
    numbers: dict[str, Number] = {"quasi_identifiers": len(quasi), "k": _smallest(partition), "unique_rows": None}
    if context.unique is None:
        alone = "How many rows are unique on all released columns together was not counted yet; a release counts them."
        text = f"{limit} {alone}"
        return Remark("W1", "caution", text, numbers)
    unique = context.unique
    numbers |= {"unique_rows": unique.unique, "rows": unique.rows, "columns": len(unique.columns)}
    sentence, remedy = _say_unique(context, unique)
    text = f"{limit} {sentence} {remedy.text if remedy else ''}".rstrip()
    severity = _severity(unique.unique, unique.rows)
    # Where l is kept the values of a class differ, so that groups and a sensitive value single out rows by design.
    if severity == "danger" and not _known_columns(context, unique) and not _pointing_columns(context):
        severity = "caution"
    return Remark("W1", severity, text, numbers, remedy)


def _known_columns(context: Context, unique: UniqueRows) -> list[str]:
    """The released columns that somebody outside may know, beside the quasi-identifiers and those that show these."""
    schema = context.partition.table.schema
    return [name for name in unique.columns if name not in (*schema.quasi, *context.tied, *schema.sensitive)]


def _pointing_columns(context: Context) -> list[str]:
    """The sensitive columns whose values hardly repeat, so that each points at a person."""
    return [
        counts.name
        for counts in context.partition.table.sensitive
        if int(np.count_nonzero(counts.totals == 1)) >= NEARLY_UNIQUE * int(counts.totals.sum())
    ]


def _say_unique(context: Context, unique: UniqueRows) -> tuple[str, Remedy | None]:
    """How many rows all released columns single out, by which, and what to do about it."""
    schema = context.partition.table.schema
    others = [name for name in unique.columns if name not in schema.quasi and name not in context.tied]
    together = f"On all {len(unique.columns)} released columns together"
    if not unique.unique:
        begin = together if others else "No other column is released, and"
        return f"{begin} none of {unique.rows:,} rows is unique.", None
    text = f"{together} {unique.unique:,} of {unique.rows:,} rows ({percent(unique.share)}) {are(unique.unique)} unique"
    if not others:
        return f"{text}.", None
    text += f": whoever knows the other columns, which leave as they are ({shorten(others, 10)}), can single them out."
    plain = [name for name in _known_columns(context, unique) if name not in schema.target]
    if not plain:
        if pointing := _pointing_columns(context):
            advice = f"Put the values of {shorten(pointing, 10)} in groups, which need not be those of the search."
            return text, Remedy("group-values", advice)
        role = "a quasi-identifier of it" if len(others) == 1 else "quasi-identifiers of them"
        return text, Remedy("leave-out", f"If somebody outside may know {shorten(others, 10)}, make {role}.")
    return text, Remedy(
        "leave-out",
        f"Leave {shorten(plain, 10)} out by role = 'identifier', or make quasi-identifiers of those that somebody "
        "outside may know.",
    )


def _w2(context: Context) -> Remark | None:
    partition = context.partition
    models = (make(spec) for spec in context.limits)
    modelled = any(isinstance(model, Model) and model.aspect.column == "sensitive" for model in models)
    if partition.empty or modelled or not partition.table.sensitive:
        return None
    verdicts = [homogeneity(partition, counts.name) for counts in partition.table.sensitive]
    worst = max(verdicts, key=lambda each: (each.rows, each.certain_rows))
    head = f"No limit protects the sensitive columns ({shorten([each.column for each in verdicts])})."
    text = (
        f"{head} In {worst.column!r} {classes_have(worst.classes, worst.rows, worst.unit)} one value at "
        f"{worst.share:.0%} or more, and {classes_have(worst.certain_classes, worst.certain_rows, worst.unit)} one "
        "value only: finding the class is knowing the value."
    )
    remedy = Remedy("limit-values", "Add a limit such as l = 2 under [limits] in the job.")
    if not worst.rows:
        text = f"{head} In no class does one value have {worst.share:.0%} or more;"
        remedy = Remedy("limit-values", "a limit such as l = 2 under [limits] in the job would keep it so.")
    numbers: dict[str, Number] = {
        "column": worst.column,
        "likely_classes": worst.classes,
        "likely_rows": worst.rows,
        "certain_classes": worst.certain_classes,
        "certain_rows": worst.certain_rows,
    }
    return Remark("W2", _severity(worst.rows, worst.all_rows), f"{text} {remedy.text}", numbers, remedy)


def _w3(context: Context) -> Remark | None:
    partition = context.partition
    if partition.empty:
        return None
    persons = partition.table.persons
    if persons is None:
        text = (
            f"No person id is declared, so k = {_smallest(partition)} counts rows. A person with several rows may fill "
            "a class alone. If somebody can have more than one row,"
        )
        if context.differentially_private:  # which takes no person
            text += " keep one row of each in the table before it is released."
            return Remark("W3", "caution", text, {"k_rows": _smallest(partition)})
        remedy = Remedy(
            "name-person",
            'say which column tells persons apart: person = "…" under [data] in the job, or Schema(person="…") in '
            "Python.",
        )
        return Remark("W3", "caution", f"{text} {remedy.text}", {"k_rows": _smallest(partition)}, remedy)
    people, nobodys = int(np.count_nonzero(persons.totals)), partition.table.nobodys
    if people == partition.table.rows:
        return None
    rows = int(partition.rows[partition.visible].min())
    text = (
        f"{partition.table.rows - nobodys:,} rows belong to {people:,} persons. Classes count persons: the smallest "
        f"has {_smallest(partition)} persons, where counting rows would claim {rows}."
    )
    numbers: dict[str, Number] = {"k_persons": _smallest(partition), "k_rows": rows, "persons": people}
    if nobodys:
        text += f" Rows without an id belong to nobody and protect nobody: {nobodys:,} of {partition.table.rows:,}."
        text += " Fill in their ids, or take them out of the table."
        numbers["nobodys"] = nobodys
    return Remark("W3", "caution" if nobodys else "note", text, numbers)


def _w4(context: Context) -> Remark | None:
    partition = context.partition
    if context.search is None or partition.empty:
        return None
    asked = {} if context.suppression is None else dict(context.suppression.thresholds)
    limits = {"k": _smallest(partition), **stricter(context.limits, asked)}
    verdict = downcoding(partition, limits, context.suppression)
    if not verdict.hierarchical:
        return None
    if verdict.excluded_rows:
        text = (
            "The release shows as much detail as its limits allow, and whoever knows that can rule out finer values "
            f"(minimality, downcoding): for {verdict.excluded_rows:,} of {several(verdict.all_rows, 'row')}."
        )
    else:
        text = f"How fine the release is rules out no finer value for any of its {several(verdict.all_rows, 'row')}"
        text += f": {shorten(verdict.finer)} could be a step finer." if verdict.finer else "."
    numbers: dict[str, Number] = {"excluded_rows": verdict.excluded_rows, "rows": verdict.all_rows}
    shaped = minimality(partition, limits, context.suppression)
    if shaped.classes:
        text += f" {shaped.rows:,} rows were generalized for their sensitive values alone."
        numbers["minimality_rows"] = shaped.rows
    if shaped.missing_classes:
        text += f" {shaped.missing_rows:,} rows were left out for their sensitive values alone."
        numbers["missing_rows"] = shaped.missing_rows
    if not verdict.excluded_rows and not shaped.found:
        return Remark("W4", "note", text, numbers)
    remedy = Remedy(
        "recode-beforehand",
        "A recoding that was fixed before anybody looked at these rows avoids this: kpareto apply.",
    )
    return _advise("W4", "caution", text, numbers, remedy)


def _w5(context: Context) -> Remark | None:
    if not context.earlier:
        return None
    worst = max(context.earlier, key=lambda each: (each.small + each.revealed, each.small))
    count = len(context.earlier)
    text = (
        f"{count} earlier release{'s' if count > 1 else ''} of these people {'are' if count > 1 else 'is'} registered. "
        f"{worst.meaning}"
    )
    numbers: dict[str, Number] = {
        "earlier": count,
        "small_classes": worst.small_classes,
        "small": worst.small,
        "alone": worst.alone,
        "revealed": worst.revealed,
        "k": worst.k,
    }
    if not worst.found:
        return Remark("W5", "note", text, numbers)
    return _advise("W5", "danger", text, numbers, Remedy("recode-alike", "Recode these rows as before: kpareto apply."))


def _w6(context: Context) -> Remark | None:
    if context.partition.empty or context.differentially_private:  # what is known of a population plays no part there
        return None
    if context.population is not None and context.population.known:
        return None
    once = " and nobody has two rows" if context.partition.table.persons is None else ""
    text = (
        "Whether the table is a sample or a census is not declared, so journalist and marketer risk are not "
        f"estimable. If everybody is in it{once}, the highest risk is 1/{_smallest(context.partition)}."
    )
    remedy = Remedy(
        "tell-population",
        "Say so under [population] in the job, or by population= in Python: the share sampled (1 for a census), or a "
        "table of all.",
    )
    return Remark("W6", "caution", f"{text} {remedy.text}", {"k": _smallest(context.partition)}, remedy)


def _w7(context: Context) -> Remark | None:
    partition = context.partition
    lost, rows = partition.suppressed_rows, partition.table.rows
    if not lost:
        return None
    groups = [
        (row.suppressed, row.rows, f"{table.by} {row.group!r} ({row.suppressed_rows:,} of {row.rows:,})")
        for table in bias_tables(partition)
        for row in table.rows
        if row.suppressed > lost / rows
    ]
    groups.sort(key=lambda each: (-each[0], -each[1], each[2]))
    text = f"{lost:,} of {rows:,} rows ({percent(lost / rows)}) are suppressed"
    if context.suppression is not None and context.suppression.missed and partition.recoding.boxes is None:
        text += f", as their classes miss {context.suppression.missed}"
    text += f", most of all {shorten([each[2] for each in groups[:PROFILE]])}." if groups else ", in all groups alike."
    numbers: dict[str, Number] = {"suppressed": lost, "share": lost / rows, "masked": 0}
    severity: Severity = "caution"
    if bool((partition.suppressed & partition.visible).any()):
        masked = int(partition.sizes[partition.suppressed & partition.visible].sum())
        numbers["masked"] = masked
        text += f" They are masked and form a visible class of {masked:,}."
    text += _say_missing(context, numbers)
    if not partition.empty and lost < _smallest(partition):
        text += f" Their number is itself below k = {_smallest(partition)}: do not publish it."
        numbers["below_k"] = _smallest(partition)
    smaller = "make the limit under [suppression] in the job smaller, and search again."
    remedy = Remedy("keep-rows", f"If they must stay, {smaller}")
    return _advise("W7", severity, text, numbers, remedy)


def _say_missing(context: Context, numbers: dict[str, Number]) -> str:
    """That classes large enough for k are missing, which tells that they failed another limit."""
    partition = context.partition
    asked = {} if context.suppression is None else dict(context.suppression.thresholds)
    limits = {"k": 1.0 if partition.empty else float(_smallest(partition)), **stricter(context.limits, asked)}
    whole, gone = find_missing(partition, limits["k"])
    if not gone.any():
        return ""
    rows, count = int(whole.rows[gone].sum()), int(gone.sum())
    numbers |= {"missing_classes": count, "missing_rows": rows}
    others = ", ".join(f"{name} = {limit:g}" for name, limit in limits.items() if name != "k")
    failed = f"({others})" if others else "or rule besides k"
    return (
        f" {several(count, 'class', 'classes')} of them ({several(rows, 'row')}) {are(count)} large enough for "
        f"k = {limits['k']:g}: a class missing from the release has failed another limit {failed}, and whoever knows "
        "that somebody is in it learns that."
    )


def count_told(partition: Partition) -> int:
    """Rows whose quasi-identifiers are known but for which row of the class has which.

    In their classes every value stands at an end of a label that is made of its ends, and so is told by it.
    """
    table, recoding = partition.table, partition.recoding
    if table.leaf_counts is not None or recoding.levels is not None:
        return 0
    known, by_ends = ~partition.suppressed, np.zeros(len(partition.rows), dtype=np.bool_)
    for column, hierarchy in enumerate(recoding.hierarchies):
        first, last = recoding.runs(column)
        composed = [compose(hierarchy, *run) for run in recoding.pairs(column)]
        ends, group = np.array(composed, dtype=np.bool_), partition.groups[:, column]
        known &= (first[group] == last[group]) | ends[group]
        by_ends |= ends[group] & (first[group] < last[group])
        label, code = group[partition.members], table.codes[:, column]
        known[partition.members[(code != first[label]) & (code != last[label])]] = False
    return int(partition.rows[known & by_ends & (partition.groups[:, 0] >= 0)].sum())


def _w8(context: Context) -> Remark | None:
    recoding = context.partition.recoding
    shown = list(context.representatives)
    for column, hierarchy in enumerate(recoding.hierarchies):
        composed = any(compose(hierarchy, *run) for run in recoding.pairs(column)) and recoding.levels is None
        revealing = composed and bool(context.partition.table.observed[column].all())
        # Where rows are suppressed such cells are numbered, and tell nothing.
        cells = has_row_borders(hierarchy) and len(recoding.runs(column)[0]) > 1
        revealing = revealing or (cells and not context.partition.suppressed.any())
        if revealing and hierarchy.name not in shown:
            shown.append(hierarchy.name)
    known_rows = count_told(context.partition)
    if known_rows and not shown:
        shown = [hierarchy.name for hierarchy in recoding.hierarchies]
    if not shown:
        return None
    text = (
        f"The groups of {len(shown)} column{'s' if len(shown) > 1 else ''} ({shorten(shown)}) are named by values of "
        "actual rows, such as the smallest and the largest: these values are revealed."
    )
    numbers: dict[str, Number] = {"columns": len(shown)}
    fixed = "Declare borders that do not depend on the rows: hierarchy = {intervals = [5, 10], from = 0}, say."
    if not known_rows:
        return _advise("W8", "caution", text, numbers, Remedy("fix-borders", fixed))
    rows = int(context.partition.rows[~context.partition.suppressed].sum())
    text += (
        f" In {known_rows:,} of {several(rows, 'row')} the borders give every quasi-identifier away, only not which "
        "row of the class has which: that hides hardly anything. Ask for a larger k, or for labels of the hierarchies "
        "(intervals = false)."
    )
    return _advise("W8", "danger", text, numbers | {"told": known_rows, "rows": rows}, Remedy("fix-borders", fixed))


def _w9(context: Context) -> Remark | None:
    table = context.partition.table
    if table.domain != "declared":
        return None
    columns = []
    for hierarchy, there in zip(table.hierarchies, table.observed, strict=True):
        empty = int((~there).sum())
        if empty and hierarchy.loss == "leaves":
            used = np.flatnonzero(there)
            least = (int(used[-1]) - int(used[0])) / (len(there) - 1)
            columns.append((least, hierarchy.name, empty, len(there)))
    if not columns:
        return None
    least, name, empty, count = min(columns)
    text = (
        f"The loss counts declared values that no row has, in {len(columns)} column{'s' if len(columns) > 1 else ''}: "
        f"{empty} of the {count} values of {name!r} are empty, so hiding all that occurs there may cost as little as "
        f"{least:.3f} instead of 1."
    )
    numbers: dict[str, Number] = {"columns": len(columns), "empty": empty, "leaves": count, "least": least}
    remedy = Remedy("observe-values", 'Write domain = "observed" under [data], unless you replicate a paper.')
    return _advise("W9", "caution", text, numbers, remedy)


def _w10(context: Context) -> Remark | None:
    built = [h.name for h in context.partition.table.hierarchies if h.data_dependent]
    if not built:
        return None
    text = (
        f"{len(built)} of {len(context.partition.table.hierarchies)} hierarchies were built from the rows themselves "
        f"({shorten(built)}): their labels tell about the distribution, and another extract will have other labels."
    )
    fixed = "Use fixed borders for data that is released again: hierarchy = {intervals = [5, 10], from = 0}, say."
    return _advise("W10", "caution", text, {"columns": len(built)}, Remedy("fix-borders", fixed))


def _w11(context: Context) -> Remark | None:
    table = context.partition.table
    read = table.rows + table.dropped
    if table.dropped:
        text = (
            f"{table.dropped:,} of {read:,} rows ({percent(table.dropped / read)}) have a missing value and were left "
            f"out (policy {table.missing!r}): the release describes complete rows only."
        )
        severity: Severity = "danger" if table.dropped >= MOST_LEFT_OUT * read else "caution"
        remedy = Remedy("treat-missing", 'To keep them, write missing = "category" under [data] in the job.')
        return _advise("W11", severity, text, {"dropped": table.dropped, "rows": read}, remedy)
    rows_without = {
        h.name: int(r[h.index[MISSING]])
        for h, r in zip(table.hierarchies, table.leaf_rows, strict=True)
        if MISSING in h.index
    }
    missing = {name: count for name, count in rows_without.items() if count}
    if not missing:
        return None
    worst = max(missing, key=lambda name: missing[name])
    text = (
        f"Missing values are a category of their own in {len(missing)} column{'s' if len(missing) > 1 else ''}, most "
        f"in {worst!r} ({missing[worst]:,} of {read:,} rows): a missing value is treated as something others may know."
    )
    numbers: dict[str, Number] = {"columns": len(missing), "missing": missing[worst], "rows": read}
    remedy = Remedy("treat-missing", 'To leave such rows out, write missing = "drop" under [data] in the job.')
    return _advise("W11", "note", text, numbers, remedy)


def _w12(context: Context) -> Remark | None:
    partition = context.partition
    both = [name for name in partition.table.schema.target if name in partition.table.schema.sensitive]
    if not both or partition.empty:
        return None
    verdict = homogeneity(partition, both[0])
    text = (
        f"The target column {both[0]!r} is also sensitive: the better the release predicts it, the more it gives "
        f"away. {verdict.rows:,} of {several(verdict.all_rows, verdict.unit)} are in classes where one value has "
        f"{verdict.share:.0%} or more."
    )
    grave = _severity(verdict.rows, verdict.all_rows) == "danger"
    numbers: dict[str, Number] = {"likely_rows": verdict.rows, "rows": verdict.all_rows}
    remedy = Remedy("limit-values", "Set a limit on it, such as l = 2 under [limits] in the job.")
    return _advise("W12", "danger" if grave else "caution", text, numbers, remedy)


def _w13(context: Context) -> Remark | None:
    partition = context.partition
    if not context.certificate or partition.empty:
        return None
    k = _smallest(partition)
    small = 0 < partition.suppressed_rows < k
    text = (
        f"Publish the public part of the certificate only: it holds no count below k = {k}. The full certificate is "
        f"confidential, because its counts tell of single rows"
        f"{f' ({partition.suppressed_rows} suppressed rows among them)' if small else ''}."
    )
    return Remark("W13", "note", text, {"k": k, "suppressed": partition.suppressed_rows})


def _w14(context: Context) -> Remark | None:
    search = context.search
    if search is None or search.complete:
        return None
    tried = f"{search.evaluated:,}" + (f" of {spell_count(search.size)}" if search.size is not None else "")
    known = "how much better the best possible one could be is unknown"
    if search.gap is not None:
        known = search.proof or f"the best possible one loses at most {percent(search.gap)} less"
    # An exact search is none, but its time was up or somebody stopped it.
    how = "ended before it was done and" if search.method == "exact" else "is a heuristic that"
    unit = "recoding" if tried == "1" else "recodings"
    text = f"{search.method!r} {how} looked at {tried} {unit}: {known}."
    numbers: dict[str, Number] = {"evaluated": search.evaluated, "size": search.size, "gap": search.gap}
    remedy = Remedy("search-longer", 'Give it more time under [search] in the job, or take method = "exact".')
    if search.method == "exact" or search.size is None:  # nothing counts all recodings class by class
        remedy = Remedy("search-longer", "Give it more time: seconds under [search] in the job.")
    return _advise("W14", "caution", text, numbers, remedy)


def _w15(context: Context) -> Remark | None:
    partition = context.partition
    if context.differentially_private or partition.empty:
        return None
    chosen = "was chosen by looking at the rows" if context.search is not None else "is not randomized"
    text = (
        f"The release is not differentially private: it {chosen}, whatever its k ({_smallest(partition)} here), so no "
        "epsilon can be stated."
    )
    remedy = Remedy("go-private", "Where one is asked for, release rows with kpareto private.")
    return _advise("W15", "note", text, {"k": _smallest(partition)}, remedy)


def _w16(context: Context) -> Remark | None:
    if context.safer is None:
        return None
    chosen, other = context.safer.own, context.safer.other
    numbers: dict[str, Number] = {"point": other.id, "k": chosen.k, "other_k": other.k, "kept": chosen.kept}
    numbers |= {"other_kept": other.kept, "suppressed": chosen.suppressed, "other_suppressed": other.suppressed}
    return Remark("W16", "note", context.safer.sentence(), numbers, Remedy("choose-point", context.safer.advice))


def _w18(context: Context) -> Remark | None:
    if context.partition.recoding.boxes is None or context.partition.empty:
        return None
    counted = overlaps(context.partition)
    text = f"Labels differ from class to class (local recoding). {counted.meaning}"
    if counted.disjoint:
        return Remark("W18", "note", text, dict(vars(counted)))
    advice = "Ask for strict = true under [search] if labels must not overlap; it keeps less detail."
    return _advise("W18", "caution", text, dict(vars(counted)), Remedy("avoid-overlaps", advice))


def _w19(context: Context) -> Remark | None:
    if not context.kept_order:
        return None
    text = "The rows are in the order of the input, which may tell who is who."
    remedy = Remedy("shuffle-rows", 'Take order = "kept" out of [release] in the job, and they are shuffled.')
    return _advise("W19", "caution", text, {}, remedy)


def _w20(context: Context) -> Remark | None:
    partition = context.partition
    if partition.empty or context.differentially_private or not is_judged(partition.table):
        return None
    stick = yardstick(partition.table)
    error, control = float(stick.errors(partition).mean()), float(stick.control.mean())
    if error < LITTLE * control or error < GOOD:
        return None
    text = (
        "The release tells an analyst little more than the totals of its columns: counts over two and three columns "
        f"are off by {error:.0%} on average with labels fitted to these totals, and by {control:.0%} with the totals "
        "alone."
    )
    finer = "Recode class by class (--model local)" if partition.recoding.boxes is None else "Choose a smaller k"
    remedy = Remedy("recode-by-class", f"{finer}, or publish the totals of the columns (one-way counts) alone.")
    return _advise("W20", "caution", text, {"error": error, "control": control, "counts": len(stick.queries)}, remedy)


_WARNINGS: tuple[Callable[[Context], Remark | None], ...] = (
    *(_w1, _w2, _w3, _w4, _w5, _w6, _w7, _w8),
    *(_w9, _w10, _w11, _w12, _w13, _w14, _w15, _w16, _w18, _w19, _w20),
)


def warnings_for(
    chosen: Point | Choice,
    handling: Handling,
    limits: Mapping[str, float],
    unique: UniqueRows | None,
    partition: Partition | None = None,
    search: SearchFacts | None = None,
    private: bool = False,
) -> list[Remark]:
    """The warnings that apply to what is about to be released; ``partition``: of all rows, if not its own.

    ``private``: it was made by a differentially private mechanism.

    W17, which is found in the written rows, is not among them. A point tells how it was found, of a Choice ``search``.
    """
    safer = None
    if isinstance(chosen, Point):
        search, safer = search_facts(chosen), find_safer(chosen)
    of_point = chosen.partition if isinstance(chosen, Point) else None
    classes = partition or of_point or chosen.partition()  # type: ignore[operator]  # a Choice's is a method
    return remarks(
        Context(
            classes,
            limits,
            chosen.suppression,
            unique,
            search=search,
            safer=safer,
            representatives=handling.medians,
            tied=tuple(handling.tied),
            kept_order=handling.order == "kept",
            certificate=True,
            population=chosen.table.population,
            differentially_private=private,
        )
    )


def complete_warnings(
    warnings: Sequence[Remark | Warned],
    handling: Handling,
    partition: Partition,
    disclosing: Sequence[DisclosingColumn],
) -> tuple[Remark, ...]:
    """The warnings with those that no release goes without, whoever gave them: of its handling, and W17 at the end."""
    complete = [each if isinstance(each, Remark) else Remark(each[0], "caution", each[1], {}) for each in warnings]
    known = {each.id for each in complete}
    context = Context(partition, representatives=handling.medians, kept_order=handling.order == "kept")
    complete += [each for each in remarks_on_handling(context) if each.id not in known]
    disclosure = warn_of_disclosing(disclosing, partition)
    return (*complete, *([] if disclosure is None else [disclosure]))


def warn_of_disclosing(disclosing: Sequence[DisclosingColumn], partition: Partition) -> Remark | None:
    """W17: columns tell what generalized ones hide. Found in the rows that are written, so it comes last."""
    if not disclosing or partition.empty:
        return None
    worst = max(disclosing, key=lambda each: (each.grave, not each.declared, each.below))
    others = [" and ".join(each.columns) for each in disclosing if each is not worst]
    text = worst.sentence(int(partition.sizes[partition.visible].min()))
    text += f" The same holds for {shorten(others)}." if others else ""
    remedy = None
    if not worst.declared:
        schema = partition.table.schema
        leave = "make it an identifier to leave it out, or a quasi-identifier."
        tie = (
            f'In the job, give the column tie = "{worst.tells}" to show it in the same groups, make it an identifier '
            "to leave it out or a quasi-identifier, or write declared = true if nobody outside can know it."
        )
        named = any(name in (*schema.sensitive, *schema.target) for name in worst.columns)
        remedy = Remedy("tie-column", f"In the job or the call, {leave}" if named else tie)
    text += " The job declares that this is known." if remedy is None else f" {remedy.text}"
    numbers: dict[str, Number] = {
        "columns": len(disclosing),
        "k": worst.k,
        "below": worst.below,
        "told": worst.told.told,
    }
    return Remark("W17", "danger" if worst.grave else "caution", text, numbers, remedy)


def refuse_dangers(warnings: Sequence[Remark], accepted: Sequence[str]) -> tuple[str, ...]:
    """The dangers of a release, each of them accepted by name; one that is not stops it."""
    dangers = [each for each in warnings if each.severity == "danger"]
    names = tuple(each.id for each in dangers)
    left = [each for each in dangers if each.id not in accepted]
    if not left:
        return names
    several, text = len(left) > 1, " ".join(f"{each.id}: {each.text}" for each in left)
    option, listed = ",".join(each.id for each in left), ", ".join(f'"{each.id}"' for each in left)
    raise Unsafe(
        f"Nothing was released: {'dangers' if several else 'a danger'} that nobody has accepted stand"
        f"{'' if several else 's'} against it. {text}",
        remedy=Remedy(
            "accept-danger",
            f"Mend {'them' if several else 'it'}, or accept by name: --accept {option}, accept = [{listed}] under "
            f"[release] in the job, or accept=[{listed}] in Python.",
        ),
    )


def search_facts(point: Point) -> SearchFacts:
    """How a point was found, and how far it is from the best where that is proven."""
    front, provenance = point.front, point.front.provenance
    # A space of local recodings is what was found: looking at all of it says nothing.
    size = None if front.space.kind == "local" else front.space.size
    facts = SearchFacts(provenance.method, provenance.complete, provenance.evaluated, size)
    if point.bound is not None and not math.isinf(point.bound.gap):
        return replace(facts, gap=_round_up(point.bound.gap), proof=point.bound.sentence())
    if provenance.complete:
        return facts
    low, gap = (provenance.details.get(name) for name in ("lower_bound", "gap"))  # of a search for one loss
    if isinstance(low, float) and isinstance(gap, float) and low > 0 and gap >= 0:  # a bound of nothing proves nothing
        gap = _round_up(gap)
        return replace(facts, gap=gap, proof=f"the best possible one of its kind loses at most {percent(gap)} less")
    if front.floors is None:
        return facts
    numbers = zip(front.names, point.values.values(), front.floors[point.id].tolist(), strict=True)
    gaps = {name: _round_up(value / floor - 1) for name, value, floor in numbers if floor > 0}  # nan is not
    if not gaps:
        return facts
    above = " and ".join(f"its {name} is at most {100 * gap:g} %" for name, gap in gaps.items())
    proof = f"{above} above the least that any recoding by whole levels with its k could have"
    return replace(facts, gap=max(gaps.values()), proof=proof)


def _round_up(gap: float) -> float:
    """A gap as a sentence has it, which anybody may read: to a tenth of a percent, never rounded down."""
    return math.ceil(1000 * gap - 1e-9) / 1000


def rank_remarks(warnings: Sequence[Remark]) -> list[Remark]:
    """The gravest first; equally grave ones as they stand."""
    return sorted(warnings, key=lambda each: GRAVEST.index(each.severity))


def count_remarks(warnings: Sequence[Remark]) -> str:
    """How many there are of each kind: ``1 danger, 3 cautions, 2 notes``."""
    numbers = {word: sum(each.severity == word for each in warnings) for word in GRAVEST}
    return ", ".join(f"{number} {word}{'s' * (number > 1)}" for word, number in numbers.items() if number)


def tell_once(warnings: Sequence[Remark], level: int = 3) -> None:
    """Warn the caller of a Python function once: dangers in full, of the others how many there are and which."""
    if not warnings:
        return
    ranked = rank_remarks(warnings)
    others = ", ".join(each.id for each in ranked if each.severity != "danger")
    sentences = [f"{each.id} (danger): {each.text}" for each in ranked if each.severity == "danger"]
    sentences += [f"The others are {others}." if sentences else f"They are {others}."] if others else []
    warn(
        ReleaseWarning(f"{count_remarks(warnings)}: see warnings of the result. {' '.join(sentences)}"),
        stacklevel=level,
    )
