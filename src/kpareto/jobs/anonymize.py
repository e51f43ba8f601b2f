"""One call from a table to a release: the best full-domain recoding that meets k and l, certified optimal and verified.

Among all nodes of the lattice that meet the limits with few enough suppressed rows the one with the least loss (LM) is
taken, by the exact search. Other models lose less and have no such proof: cuts of the hierarchies, or local recoding,
where labels differ from class to class; what is known of the best is told with them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kpareto.engines.form import Missing
from kpareto.engines.read import load_hierarchies, read
from kpareto.errors import BadHierarchy, BadJob, Unsafe, did_you_mean
from kpareto.fronts.front import DEFAULT_K
from kpareto.fronts.numbers import ProvenGap
from kpareto.fronts.picture import CALM, LINE, new_axes
from kpareto.fronts.problem import problem, settled_rule
from kpareto.jobs.front import say_nearest, search_problem
from kpareto.jobs.proposals import complete_hierarchies
from kpareto.measures.cells import glm, lm
from kpareto.measures.sensitive import distinct_l
from kpareto.measures.sizes import k as k_anonymity
from kpareto.releases.choice import Choice, as_choice
from kpareto.releases.release import Release, release
from kpareto.releases.risk.anonymity import count_bands
from kpareto.releases.warnings import (
    Remark,
    SearchFacts,
    count_remarks,
    rank_remarks,
    search_facts,
    tell_once,
    warnings_for,
)
from kpareto.searches.exact_front import exact_front
from kpareto.searches.forecast import check_possible, warn_slow
from kpareto.searches.names import METHODS, MODELS
from kpareto.searches.run import Plan
from kpareto.strict import read_whole
from kpareto.tables.coarse import declared_recoding, limit_levels
from kpareto.tables.hierarchy import Hierarchy
from kpareto.tables.lattice import Lattice
from kpareto.tables.partition import Partition, Suppression, classes
from kpareto.tables.recoding import bottom, node
from kpareto.tables.schema import Schema, as_names
from kpareto.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Anonymized:
    """The released rows and what is known about them.

    Attributes
    ----------
    data : object
        The rows, of the type that was given; a pyarrow table where a file was.
    levels : tuple of int
        Of the quasi-identifiers, in their order; none unless the model is the lattice.
    numbers : mapping of str to float
        k, l, lm, glm, classes, rows.
    suppressed : int
        Rows.
    verified : bool
        The rows were written and counted again by the independent verifier.
    nodes : int
        Of the lattice, none of which is better; the recodings looked at in another model.
    release : Release
        With the certificate.
    left_out : int
        Rows with a missing value, which are in no class and are not released.
    bound : ProvenGap or None
        How far from the best any local recoding could be, where that is known.

    Examples
    --------
    >>> import kpareto as kp
    >>> people = kp.adult().select(["age", "sex"])
    >>> done = kp.anonymize(people, ["age", "sex"], hierarchies={"age": {"intervals": [5, 10, 20]}}, k=5)
    >>> done.levels, done.data.num_rows
    ((2, 0), 32561)
    """

    data: Any
    levels: tuple[int, ...]
    numbers: Mapping[str, float]
    suppressed: int
    verified: bool
    nodes: int
    release: Release
    left_out: int = 0
    bound: ProvenGap | None = None

    def __repr__(self) -> str:
        """Short, and nothing that is confidential: a notebook prints this."""
        lost = f"{self.suppressed:,} suppressed" + (f", {self.left_out:,} left out" if self.left_out else "")
        warned = f"; {count_remarks(self.warnings)}" if self.warnings else ""
        numbers = ", ".join(f"{name} = {self.numbers[name]:g}" for name in ("k", "l") if name in self.numbers)
        return f"Anonymized({len(self):,} rows, {numbers}, {self.kept:.1f} % of the detail kept, {lost}{warned})"

    def __len__(self) -> int:
        return self.release.rows

    @property
    def kept(self) -> float:
        """Percent of the detail of all cells that is kept: 100 where nothing is generalized or suppressed."""
        return 100 * (1 - self.numbers["lm"])

    @property
    def warnings(self) -> tuple[Remark, ...]:
        """What must be known of the release, the gravest first."""
        return tuple(rank_remarks(self.release.warnings))

    def summary(self) -> str:
        """What was released, how each column is shown, and the warnings."""
        return self.release.summary()

    def plot(self) -> Figure:
        """Rows by the size of their class, in the table and in the release, as a matplotlib figure."""
        return _draw_sizes(self.release.partition)


def anonymize(  # noqa: PLR0913 (what users of other packages write)
    data: object,
    quasi_identifiers: Iterable[str],
    sensitive_attributes: str | Iterable[str] = (),
    identifiers: str | Iterable[str] = (),
    hierarchies: Mapping[str, object] | None = None,
    k: int = DEFAULT_K,
    l: int | None = None,
    suppression_limit: float = 0.0,
    model: str = "lattice",
    missing: Missing | None = None,
    person: str | tuple[str, ...] | None = None,
    plain: str | Iterable[str] = (),
    accept: str | Iterable[str] = (),
    counts: bool = False,
    levels: Mapping[str, tuple[int, int]] | None = None,
) -> Anonymized:
    """The table with the least loss (LM) that has k rows in each class, and l values of each sensitive column.

    Columns that are named nowhere leave as they are, but one that looks like a direct identifier must be declared:
    ``identifiers`` or ``plain``.

    Parameters
    ----------
    data : object
        Whatever ``read`` takes.
    quasi_identifiers : iterable of str
        The columns that others may know of a person.
    sensitive_attributes : str or iterable of str, optional
        Those that they want to learn.
    identifiers : str or iterable of str, optional
        Those that name a person; they are left out.
    hierarchies : mapping of str to object, optional
        Files, Hierarchy objects, rules, lists of rows, frames, or ``{level: labels}``. A column without one gets one by
        its values (``remarks`` of the release say which; ``{"flat": True}`` shows or stars it as a whole).
    k : int, optional
        The least rows of a class.
    l : int, optional
        The least values of each sensitive column in a class.
    suppression_limit : float, optional
        The share of rows that may be dropped, below 1.
    model : {'lattice', 'cuts', 'local'}, optional
        Whole levels (lattice, proven to be the best), cuts of the hierarchies (cuts), or labels that differ from class
        to class (local), which lose least and can be attacked most (docs/local.md).
    missing : {'drop', 'category', 'error'}, optional
        What becomes of rows without a value; without a word they are dropped where they are at most 5 % of the rows,
        and else have a value of their own.
    person : str or tuple of str, optional
        The column that tells persons apart: classes then count them.
    plain : str or iterable of str, optional
        Columns that are meant to leave as they are.
    accept : str or iterable of str, optional
        Warnings such as "W1" that do not stop the release where they are dangers.
    counts : bool, optional
        Whether the public part says how many rows have each value, as for ``release``.
    levels : mapping of str to (int, int), optional
        Quasi-identifier -> the least and the highest level of its hierarchy that may be released.

    Returns
    -------
    Anonymized
        The rows, what is known of them, and the ``warnings``, which are told once by Python's own ``warnings.warn``.

    Raises
    ------
    BadInput
        If the table cannot be read, a column is not there or undeclared, or a number makes no sense.
    Unsafe
        If no recoding meets k and l, or a warning is a danger that is not accepted.

    Examples
    --------
    >>> import kpareto as kp
    >>> people = kp.adult().select(["age", "sex", "occupation"])
    >>> kp.anonymize(people, ["age", "sex"], "occupation", hierarchies={"age": {"intervals": [5, 10, 20]}}, k=5)
    Anonymized(32,561 rows, k = 14, l = 5, 94.0 % of the detail kept, 0 suppressed; ...)
    """
    check_wishes(k, l, suppression_limit)
    if model not in MODELS:
        raise BadJob(f"No model {model!r}. {did_you_mean(model, MODELS)}There are: {', '.join(MODELS)}.")
    quasi, sensitive, left_out = (as_names(each) for each in (quasi_identifiers, sensitive_attributes, identifiers))
    schema = Schema(quasi, sensitive, (), left_out, person, plain=as_names(plain), levels=levels or {})
    if l is not None and not schema.sensitive:
        raise BadJob(f"l is {l}, and no column is sensitive. Give sensitive_attributes, or leave l out.")
    table = _table(data, schema, hierarchies or {}, missing)
    suppression, limits = wishes(k, l, suppression_limit)
    choice, search = _best(table, suppression, limits, model)
    done = release(
        choice,
        data,
        warnings=lambda alone, how: warnings_for(choice, how, limits, alone, search=search),
        accept=as_names(accept),
        counts=counts,
    )
    done = replace(done, remarks=(*table.remarks, *done.remarks))  # what became of rows without a value
    tell_once(done.warnings)
    return Anonymized(
        done.data,
        declared_recoding(choice.recoding).levels or () if model == "lattice" else (),
        _partition_numbers(done.partition),
        done.suppressed,
        done.verified.rows == done.rows,
        search.evaluated,
        done,
        table.dropped,
        choice.bound,
    )


def _best(
    table: Table, suppression: Suppression, limits: Mapping[str, float], model: str
) -> tuple[Choice, SearchFacts]:
    """The recoding with the least LM that a model has within the limits, and how it was found."""
    if model == "lattice":
        recoding, nodes = node(table.hierarchies, optimum(table, suppression, limits)), Lattice(table.hierarchies).size
        return Choice(table, recoding, suppression, limits), SearchFacts("exact", True, nodes, nodes)
    method = {"cuts": "improve", "local": "local"}[model]
    front = search_problem(problem(table, ["lm"], suppression, limits), Plan(method, METHODS[method][0]))
    best = front.choose_least()
    return as_choice(best, limits), search_facts(best)


def check_wishes(k: object, l: object, suppression_limit: object) -> None:
    """Raise unless k, l and the limit make sense."""
    read_whole(k, "k", 1)
    if l is not None:
        read_whole(l, "l", 1)
    limit = suppression_limit
    if isinstance(limit, bool) or not isinstance(limit, int | float | np.number) or not 0 <= float(limit) < math.inf:
        raise BadJob(f"suppression_limit is {limit!r}. Give a share of the rows from 0 to below 1, such as 0.01.")
    if float(limit) >= 1:  # a job counts rows by whole numbers, and other packages count percent here
        raise BadJob(
            f"suppression_limit is {limit}, which could mean rows or percent. It is a share of the rows: "
            f"for {limit} percent write {float(limit) / 100:g}, for {limit} rows divide by the number of rows."
        )


def _table(data: object, schema: Schema, hierarchies: Mapping[str, object], missing: Missing | None) -> Table:
    if not isinstance(hierarchies, Mapping):
        raise BadHierarchy(
            f"hierarchies is {hierarchies!r:.60}. Give a dict from columns to hierarchies, such as "
            '{"age": {"intervals": [5, 10]}}.'
        )
    table = read(data, schema, missing)
    return limit_levels(complete_hierarchies(table.bind(load_hierarchies(table, hierarchies))))


def wishes(k: int, l: int | None, suppression_limit: float) -> tuple[Suppression, dict[str, float]]:
    """The suppression for k and l, and the limits it is made of: classes that miss one go, and no others."""
    limits = {"k": float(k)} | ({} if l is None else {"l": float(l)})
    return settled_rule(limits, float(suppression_limit)), limits


def optimum(table: Table, suppression: Suppression, limits: Mapping[str, float]) -> tuple[int, ...]:
    """The levels of the node with the least LM within the limits, proven; of equal ones one with the finest labels."""
    lm_problem = problem(table, ["lm"], suppression, limits)
    check_possible(lm_problem)
    warn_slow(lm_problem, level=5)
    best = exact_front(lm_problem, "one")
    if len(best) == 0:
        raise Unsafe(say_nearest(lm_problem))
    return finest_levels(table.hierarchies, [int(level) for level in best.genomes[0]])


def finest_levels(hierarchies: Sequence[Hierarchy], levels: Sequence[int]) -> tuple[int, ...]:
    """The same groups by the lowest levels that have them: a date rather than its quarter, where that hides none."""
    finest = []
    for hierarchy, level in zip(hierarchies, levels, strict=True):
        groups = len(hierarchy.labels[level])
        finest.append(next(low for low in range(level + 1) if len(hierarchy.labels[low]) == groups))
    return tuple(finest)


def _partition_numbers(partition: Partition) -> dict[str, float]:
    numbers = {
        "k": k_anonymity()(partition),
        "lm": lm()(partition),
        "glm": glm()(partition),
        "classes": float(partition.classes),
        "rows": float(partition.rows[partition.visible].sum()),
    }
    if partition.table.sensitive:
        numbers["l"] = distinct_l()(partition)
    return numbers


def _draw_sizes(partition: Partition) -> Figure:
    """Bars of the rows in small and large classes, of the table as it was and of the release."""
    table = partition.table
    before = count_bands(classes(table, bottom(table.hierarchies)))
    after = count_bands(partition)
    middles = np.arange(len(before))
    lost = f", {partition.suppressed_rows:,} suppressed" if partition.suppressed_rows else ""
    with new_axes(f"{table.rows:,} rows by the size of their class{lost}", 4.2) as axes:
        for shift, bands, colour, label in ((-0.2, before, CALM, "the table"), (0.2, after, LINE, "the release")):
            axes.bar(middles + shift, [100 * band.rows / table.rows for band in bands], 0.4, color=colour, label=label)
        axes.set_xticks(middles.tolist(), [band.words for band in before])
        axes.set_xlabel(f"{'persons' if table.persons is not None else 'rows'} that look alike")
        axes.set_ylabel("percent of all rows")
        axes.legend(frameon=False)
    figure: Figure = axes.figure
    return figure
