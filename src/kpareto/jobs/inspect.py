"""Look at a table before anything is decided: profile its columns, propose roles and hierarchies, write a job.

All counting is done by the engine that holds the rows: one GROUP BY per column and per pair of likely
quasi-identifiers. Nothing here is a decision: a person who knows the data must read the proposal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any, Literal

from kpareto.engines import file_of
from kpareto.engines.facts import count_columns
from kpareto.engines.form import Form, release_ending
from kpareto.engines.read import MOST_DROPPED
from kpareto.engines.recognise import check_names, open_recognised
from kpareto.engines.source import View
from kpareto.engines.unique_rows import PAIRS, choose_pairs, code_rows, rank_unique
from kpareto.errors import BadTable, shorten
from kpareto.fronts.front import DEFAULT_K
from kpareto.fronts.markup import plain_table, safe, tag
from kpareto.jobs.job import Job, say_undecided
from kpareto.jobs.parse import default_rule, parse_job
from kpareto.jobs.proposals import SearchTask, propose_known, propose_search
from kpareto.strict import toml_key, toml_lines, toml_value
from kpareto.tables.proposals import ColumnFacts, Proposal, Rule, propose, quasi, settle
from kpareto.tables.schema import Role, Schema, check_release_names, refuse_duplicates
from kpareto.tables.spelling import MARKS, NO_VALUE, several
from kpareto.tables.table import UniqueRows
from kpareto.tables.vocabulary import identifier_kinds, topic_of

LEAST = 2  # rows that a class needs to hide anybody
WHY_RULE = "at every k just the rows that it needs: classes that are smaller, or that miss another limit"
LIKELY = 0.8  # a sensitive value with a larger share makes a limit on it dear
MANY = 12  # quasi-identifiers, above which little is left of each

PROPOSED = "# A proposal, made by looking at names and counts. Read it before you run it: only you know what others"


@dataclass(frozen=True)
class ColumnProfile:
    """One column: what was counted, and what is proposed."""

    facts: ColumnFacts
    proposal: Proposal
    suits: Rule | None = None  # the hierarchy that it would get as a quasi-identifier

    def to_dict(self) -> dict[str, object]:
        """What was counted and what is proposed for the column, as plain data."""
        facts = {**vars(self.facts), "common": list(self.facts.common), "marks": list(self.facts.marks)}
        rule = self.proposal.hierarchy
        proposal = {**vars(self.proposal), "hierarchy": None if rule is None else dict(rule)}
        suits = None if self.suits is None else dict(self.suits)
        kinds = list(identifier_kinds(self.facts.name, self.facts.form))  # of Safe Harbor, by the letters of the law
        return {**facts, "unique_share": self.facts.unique_share, **proposal, "suits": suits, "safe_harbor": kinds}


@dataclass(frozen=True, repr=False)
class Profile:
    """What is known about a table after one look.

    Attributes
    ----------
    total : int
        Rows.
    columns : tuple of ColumnProfile
        Per column its facts and the role that is proposed.
    pairs : tuple of UniqueRows
        Of likely quasi-identifiers, those that single out most rows first.
    pairs_left : int
        Pairs that were not counted, to keep within the budget.
    quasi : UniqueRows
        On all proposed quasi-identifiers together.
    complete : int
        Rows with a value in every column that is read.
    values : mapping of str to int
        Distinct values of each column that is read, in the rows that the proposed job uses.
    form : Form
        How its file is read.
    remarks : tuple of str
        About the form of the file.
    source : object
        The table that was looked at.

    Examples
    --------
    >>> import kpareto as kp
    >>> profile = kp.inspect(kp.adult().select(["age", "sex", "race"]))
    >>> profile.schema.quasi
    ('age', 'sex', 'race')
    """

    total: int
    columns: tuple[ColumnProfile, ...]
    pairs: tuple[UniqueRows, ...]
    pairs_left: int
    quasi: UniqueRows
    complete: int
    values: Mapping[str, int]
    form: Form = field(default_factory=Form)
    remarks: tuple[str, ...] = ()
    source: object = field(default=None, compare=False)

    def __repr__(self) -> str:
        """Short, and without a value of any row: a notebook prints this."""
        quasi, sensitive = (len(self.names(role)) for role in ("quasi-identifier", "sensitive"))
        size = f"{several(self.total, 'row')}, {several(len(self.columns), 'column')}"
        return f"Profile({size}: {several(quasi, 'quasi-identifier')}, {sensitive} sensitive)"

    def _repr_html_(self) -> str:
        """What a notebook shows: the table of columns, and what a person must hear."""
        rows = self.rows()
        heard = tag("ul", [tag("li", sentence) for sentence in self.sentences()])
        return safe([tag("p", tag("b", repr(self))), plain_table(rows, len(rows)), heard])

    def summary(self) -> str:
        """The proposed role of each column, and why, a line each."""
        lines = (f"{row['column']}: {row['role']} ({row['why'].rstrip('.')})." for row in self.rows())
        return "\n".join([repr(self), *lines, *self.sentences()])

    @property
    def schema(self) -> Schema:
        """The proposed roles, for ``read``; columns to decide about are identifiers, which are left out."""
        out = (*self.names("identifier"), *self.names("decide"))
        quasi, sensitive, plain = (self.names(role) for role in ("quasi-identifier", "sensitive", "plain"))
        return Schema(quasi, sensitive, (), out, self.person, plain=plain)

    @property
    def hierarchies(self) -> dict[str, object]:
        """The proposed hierarchies, for ``read``."""
        proposals = {each.facts.name: each.proposal for each in self.columns}
        return {name: dict(proposals[name].hierarchy or {"flat": True}) for name in self.names("quasi-identifier")}

    @property
    def job(self) -> Job:
        """The proposed job on the table that was looked at, for ``front`` and on; ``job_text`` writes it as a file."""
        file = file_of(self.source)
        job = parse_job(job_text(self, "table.csv" if file is None else str(file)), Path(), "the proposed job")
        return replace(job, frame=self.source) if file is None else job

    def names(self, role: Role | Literal["decide"]) -> tuple[str, ...]:
        """The columns with a proposed role, or with none yet."""
        return tuple(each.facts.name for each in self.columns if each.proposal.role == role)

    @property
    def person(self) -> str | None:
        """The column proposed to tell persons apart."""
        return next((each.facts.name for each in self.columns if each.proposal.person), None)

    @property
    def missing(self) -> str:
        """The proposed policy: rows without a value are dropped where they are few, and else have one of their own."""
        return "drop" if self.total - self.complete <= MOST_DROPPED * self.total else "category"

    @property
    def usable(self) -> int:
        """Rows that the proposed job reads."""
        return self.complete if self.missing == "drop" else self.total

    @property
    def k(self) -> int:
        """The proposed k: the usual one, or as many rows or persons as there are."""
        return min(DEFAULT_K, self.usable, *([] if self.person is None else [self.values[self.person]]))

    @property
    def task(self) -> SearchTask:
        """What a search of the proposed lattice has to do."""
        return SearchTask(
            self.size,
            self.usable,
            min(self.quasi.groups, self.usable),
            tuple(self.values[name] for name in self.names("quasi-identifier")),
            persons=self.person is not None,
            sensitive=bool(self.names("sensitive")),
        )

    @property
    def size(self) -> int:
        """Nodes of the lattice of the proposed hierarchies, at most."""
        total = 1
        for each in self.columns:
            total *= each.proposal.levels
        return total

    def rows(self) -> list[dict[str, str]]:
        """One row per column, for a table on a terminal."""
        return [
            {
                "column": each.facts.name,
                "kind": each.facts.kind,
                "distinct": f"{each.facts.distinct:,}",
                "missing": f"{each.facts.missing:,}",
                "unique": f"{each.facts.unique_share:.1%}",
                "role": each.proposal.role,
                "hierarchy": "" if each.proposal.hierarchy is None else toml_value(each.proposal.hierarchy),
                "why": f"{each.proposal.why}. {each.proposal.note}".strip(),
            }
            for each in self.columns
        ]

    def sentences(self) -> list[str]:
        """What a person must hear of the table as a whole, beside the rows about its columns."""
        lines = [*self.form.sentences(), *self.remarks, *say_undecided(self.names("decide")), *_say_unlimited(self)]
        return [*lines, *_say_many(self)]

    def to_dict(self) -> dict[str, object]:
        """The profile of the table and of its columns as plain data."""
        return {
            "rows": self.total,
            "columns": [each.to_dict() for each in self.columns],
            "pairs": [each.to_dict() for each in self.pairs],
            "pairs_left": self.pairs_left,
            "quasi": self.quasi.to_dict(),
            "complete": self.complete,
            "missing": self.missing,
            "person": self.person,
            "lattice": self.size,
            "form": self.form.to_dict(),
        }


def inspect(
    source: object, pairs: int = PAIRS, encoding: str = "utf-8", form: Mapping[str, Any] | None = None
) -> Profile:
    """Profile a table: what each column holds, and the job that is proposed for it.

    Parameters
    ----------
    source : object
        Whatever ``read`` takes.
    pairs : int, optional
        The most pairs of columns that are counted.
    encoding : str, optional
        Of a file of text.
    form : mapping, optional
        Keys of the form of a file that are not to be recognised, such as ``{"sheet": "People"}``.

    Returns
    -------
    Profile
        Roles, hierarchies and a job, each proposed.

    Raises
    ------
    BadInput
        If the table cannot be read, has no rows, or no column that can be generalized.

    Examples
    --------
    >>> import kpareto as kp
    >>> kp.inspect(kp.adult().select(["age", "sex", "race", "occupation"]))
    Profile(32,561 rows, 4 columns: 4 quasi-identifiers, 0 sensitive)
    """
    with open_recognised(source, encoding, MARKS, form) as (recognised, rows):
        (count,) = rows.one(f"SELECT count(*) FROM {rows.table}")
        if not count:
            raise BadTable("The table has no rows. Give at least one row.")
        refuse_duplicates(rows.columns)
        check_release_names(rows.columns)
        labels = recognised.labels
        facts = [replace(each, label=labels.get(each.name, "")) for each in count_columns(rows, int(count))]
        if recognised.form.header is None and not recognised.named:
            check_names(rows)
        settled = settle(facts, [propose(each) for each in facts])
        suited = propose_known(rows, facts, [_as_quasi(*each) for each in zip(facts, settled, strict=True)])
        proposals = [s if p.role == s.role else p for s, p in zip(suited, settled, strict=True)]
        likely = [place for place, each in enumerate(proposals) if each.role == "quasi-identifier"]
        if not likely:
            raise BadTable("No column of the table can be generalized: all are empty or nested. Give another table.")
        coded = code_rows(rows, likely)
        chosen, left = choose_pairs([facts[place].distinct for place in likely], pairs)
        counted = rank_unique(coded.unique(pair) for pair in chosen)
        proposals = _twins(facts, proposals, counted)
        read = [p for p, each in enumerate(proposals) if each.role in ("quasi-identifier", "sensitive") or each.person]
        present = " AND ".join(f"NOT ({rows.lacks(place, facts[place].marks)})" for place in read)
        (complete,) = rows.one(f"SELECT count(*) FROM {rows.table} WHERE {present}")
        profile = Profile(
            int(count),
            tuple(ColumnProfile(f, p, s.hierarchy) for f, p, s in zip(facts, proposals, suited, strict=True)),
            counted,
            left,
            coded.unique(range(len(likely))),
            int(complete),
            {facts[place].name: facts[place].distinct for place in read},
            recognised.form,
            recognised.remarks,
            source,
        )
        return replace(profile, values=_count_values(rows, profile, read, present))


def _as_quasi(facts: ColumnFacts, proposal: Proposal) -> Proposal:
    """The proposal of a column that is a quasi-identifier, or is made one."""
    return proposal if proposal.role == "quasi-identifier" else quasi(facts, proposal.why, topic_of(facts.name))


def _count_values(rows: View, profile: Profile, read: Sequence[int], present: str) -> dict[str, int]:
    """The values of each column that is read, in the rows that are not dropped; no value may count as one."""
    facts = [profile.columns[place].facts for place in read]
    if profile.missing != "drop" or profile.complete == profile.total:
        return {each.name: each.distinct + (each.missing > 0) for each in facts}
    counts = ", ".join(f"count(DISTINCT {rows.cell(place)})" for place in read)
    distinct_counts = rows.one(f"SELECT {counts} FROM {rows.table} WHERE {present}")
    return {each.name: int(count) for each, count in zip(facts, distinct_counts, strict=True)}


def _twins(facts: Sequence[ColumnFacts], proposals: Sequence[Proposal], pairs: Sequence[UniqueRows]) -> list[Proposal]:
    """The proposals with a note on columns that say the same: generalizing one and not the other is in vain."""
    place = {each.name: number for number, each in enumerate(facts)}
    new_proposals = list(proposals)
    for pair in pairs:
        one, two = (place[name] for name in pair.columns)
        if facts[one].groups == facts[two].groups == pair.groups > 3:
            for this, other in ((one, two), (two, one)):
                note = f"Says the same as {facts[other].name!r}: keep one of them."
                new_proposals[this] = replace(new_proposals[this], note=f"{new_proposals[this].note} {note}".strip())
    return new_proposals


SAME_WAY = "Will rows that come later have to be recoded in the same way?"  # the one question that chooses a model


def job_text(profile: Profile, source_name: str, table: str | None = None) -> str:
    """A job file for the table, with a comment for every proposal; it runs as it is and holds no value of a row.

    ``table`` is its name where the source is a database.
    """
    k = profile.k
    if k < LEAST:
        few = "person" if profile.usable >= LEAST else "row"
        raise BadTable(
            f"Only {k} {few}{'s' * (k != 1)} of the table can be used, so nothing can be released: nobody "
            f"hides in a class of one {few}. Give a table with more {few}s."
        )
    marks = sorted(set(NO_VALUE).union(*(each.facts.marks for each in profile.columns)))
    together = f"the {several(len(profile.quasi.columns), 'proposed quasi-identifier')} together"
    lines = [
        PROPOSED,
        "# may know about the people in this table. Columns that are not listed leave as they are; what looks like a",
        '# direct identifier, or is new, needs a role first. Those with role = "decide" are left out until you decide.',
        f"# {profile.quasi.unique:,} of {profile.total:,} rows ({profile.quasi.share:.1%}) are unique on {together}.",
        "",
        "[data]",
        f"source = {toml_value(source_name)}",
        *([] if table is None else [f"table = {toml_value(table)}"]),
        f"missing = {toml_value(profile.missing)}  # {profile.total - profile.complete:,} rows lack a value here",
        f"missing_values = {toml_value(marks)}",
    ]
    lines += toml_lines(profile.form.to_dict())
    if profile.person is not None:
        lines.append(f"person = {toml_value(profile.person)}  # its values repeat: classes count persons, not rows")
    for each in profile.columns:
        lines += _column_lines(each)
    diversity = _diversity_lines(profile)
    lines += ["", "[suppression]", f"rule = {toml_value(default_rule())}  # {WHY_RULE}"]
    lines += ["limit = 0.01  # at most this share of the rows is suppressed"]
    lines += ["", *_search_lines(profile), "", "[limits]", f"k = {k}", *diversity]
    stem = PurePath(source_name).name.split(".")[0] or "table"
    target = (
        f"{stem}-anon{release_ending(source_name)}" if table is None else f"{table}_anon".replace('"_anon', '_anon"')
    )
    lines += ["", "[release]", f'choose = "k={k}"', f"target = {toml_value(target)}", ""]
    return "\n".join(lines)


def _column_lines(each: ColumnProfile) -> list[str]:
    facts, proposal = each.facts, each.proposal
    counts = f"{facts.kind}, {facts.distinct:,} values, {facts.missing:,} missing; {proposal.why}"
    lines = ["", f"# {counts}", *([f"# {proposal.note}"] if proposal.note else [])]
    lines = [re.sub(r"[\x00-\x1f\x7f]", " ", line) for line in lines]
    lines += [f"[columns.{toml_key(facts.name)}]", f"role = {toml_value(proposal.role)}"]
    if proposal.hierarchy is not None:
        lines.append(f"hierarchy = {toml_value(proposal.hierarchy)}")
    return lines


def _say_unlimited(profile: Profile) -> list[str]:
    """Which sensitive columns get no limit, and why, where that is decided."""
    names = [each.name for each in _sensitive_facts(profile) if not _is_mixed(profile, each)]
    if not names:
        return []
    why = f"one value has more than {LIKELY:.0%} of its rows, so that a limit would cost much"
    learn = "whoever finds the class is likely to know the value"
    do = "Set a limit, such as l = 2 under [limits] in the job, or accept that: a release may stop for it (W2)."
    return [f"No limit is proposed on {shorten(names)}: {why}; {learn}. {do}"]


def _say_many(profile: Profile) -> list[str]:
    """That many quasi-identifiers leave little of each, and what to do about it."""
    many = len(profile.names("quasi-identifier"))
    if many <= MANY:
        return []
    sentence = (
        f"{many} quasi-identifiers are proposed. The more there are, the coarser each of them becomes: give those that "
        "nobody outside can know the role plain; those that nobody needs are left out by the role identifier."
    )
    return [sentence]


def _sensitive_facts(profile: Profile) -> list[ColumnFacts]:
    return [each.facts for each in profile.columns if each.proposal.role == "sensitive"]


def _is_mixed(profile: Profile, facts: ColumnFacts) -> bool:
    """Whether the values of a sensitive column differ so much that a limit on them is proposed."""
    return facts.most <= LIKELY * (facts.rows - facts.missing) and profile.values[facts.name] > 1


def _diversity_lines(profile: Profile) -> list[str]:
    """Two values per class for sensitive columns; none for those in which one value is nearly all there is."""
    sensitive = _sensitive_facts(profile)
    mixed = [each.name for each in sensitive if _is_mixed(profile, each)]
    if sensitive and len(mixed) == len(sensitive):
        return ["l = 2  # at least two values of each sensitive column in every class"]
    spelled = [name for name in mixed if re.fullmatch(r"[A-Za-z_][\w -]*", name) and name.strip() == name]
    lines = [f"{toml_value(f'l(column={name})')} = 2  # at least two values in every class" for name in spelled]
    for each in sensitive:
        if each.name not in mixed:
            shown = re.sub(r"[\x00-\x1f\x7f]", " ", each.name)
            lines.append(f"# no limit on {shown}: one value has more than {LIKELY:.0%} of its rows")
    return lines


def _search_lines(profile: Profile) -> list[str]:
    proposal = propose_search(profile.task)
    comment = f"# {profile.size:,} nodes in the lattice: {proposal.why}"
    asked = [f"# {SAME_WAY} If not, try: kpareto front JOB --model local"] if may_ask_model(profile) else []
    settings = {"method": proposal.method, "space": proposal.space, **proposal.settings}
    return ["[search]", comment, *asked, *toml_lines({**settings, "objectives": ["k", "glm"], "seed": 1})]


def may_ask_model(profile: Profile) -> bool:
    """Whether class by class is an answer: there are two quasi-identifiers at least, and no persons to tell apart."""
    return profile.person is None and len(profile.names("quasi-identifier")) > 1
