"""Look at a table before anything is decided: profile its columns, propose roles and hierarchies, write a job.

All counting is done by the engine that holds the rows: one GROUP BY per column and per pair of likely
quasi-identifiers. Nothing here is a decision: a person who knows the data must read the proposal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import PurePath

from kpareto.errors import BadTable
from kpareto.files import literal
from kpareto.proposals import Facts, Kind, Proposal, propose, settle
from kpareto.queries import CodedRows, Rows, UniqueRows, asked, coded_rows
from kpareto.schema import Role

MARKS = ("?", "", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "-", ".")
PAIRS = 66  # pairs of columns that are counted unless told otherwise: all pairs of twelve columns
K = 5
LEAST = 2  # rows that a class needs to hide anybody
LIKELY = 0.8  # a sensitive value with a larger share makes a limit on it dear
EXACT_WORK = 5e9  # nodes × distinct rows up to which the exact search is proposed: some seconds
BUDGET_WORK = 2e10  # evaluations × distinct rows proposed for a genetic search

# As DuckDB writes regular expressions. Leading zeros make a code; inf is no number that intervals can hold.
_NUMBER = r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
_WHOLE = r"[+-]?(0|[1-9][0-9]{0,14})"
_DATE = r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?Z?)?"
_OTHER_DATE = r"[0-9]{2}[./-][0-9]{2}[./-][0-9]{4}"
_YES_NO = ("yes", "no", "true", "false", "y", "n", "t", "f", "ja", "nein", "oui", "non", "si", "sì", "sí", "sim", "nee")
_NESTED = re.compile(r"\]$|^(STRUCT|MAP|UNION|BLOB|INTERVAL|GEOMETRY|VARIANT)\b")
_INTEGERS = re.compile(r"^U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?$")


@dataclass(frozen=True)
class ColumnProfile:
    """One column: what was counted, and what is proposed."""

    facts: Facts
    proposal: Proposal

    def to_dict(self) -> dict[str, object]:
        """The same as plain data."""
        facts = {**vars(self.facts), "common": list(self.facts.common), "marks": list(self.facts.marks)}
        rule = self.proposal.hierarchy
        proposal = {**vars(self.proposal), "hierarchy": None if rule is None else dict(rule)}
        return {**facts, "unique_share": self.facts.unique_share, **proposal}


@dataclass(frozen=True)
class Profile:
    """What is known about a table after one look."""

    total: int  # rows
    columns: tuple[ColumnProfile, ...]
    pairs: tuple[UniqueRows, ...]  # of likely quasi-identifiers, those that single out most rows first
    pairs_left: int  # not counted, to keep within the budget
    quasi: UniqueRows  # on all proposed quasi-identifiers together
    complete: int  # rows with a value in every column that is read
    encoding: str = "utf-8"

    def names(self, role: Role) -> tuple[str, ...]:
        """The columns with a proposed role."""
        return tuple(each.facts.name for each in self.columns if each.proposal.role == role)

    @property
    def person(self) -> str | None:
        """The column proposed to tell persons apart."""
        return next((each.facts.name for each in self.columns if each.proposal.person), None)

    @property
    def missing(self) -> str:
        """The proposed policy: missing values become a category only where dropping would cost most rows."""
        if 2 * self.complete >= self.total:
            return "drop"
        kinds = {"whole number", "number", "date"}
        read = [each.facts for each in self.columns if each.proposal.role == "quasi-identifier"]
        return "drop" if any(each.missing and each.kind in kinds for each in read) else "category"

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

    def to_dict(self) -> dict[str, object]:
        """The same as plain data."""
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
        }


def inspect(source: object, pairs: int = PAIRS, encoding: str = "utf-8") -> Profile:
    """Profile a table from any source that ``read`` takes; at most so many pairs of columns are counted."""
    with asked(source, encoding) as rows:
        (count,) = rows.one(f"SELECT count(*) FROM {rows.view}")
        if not count:
            raise BadTable("The table has no rows. Give at least one row.")
        if len(set(rows.columns)) < len(rows.columns):
            twice = next(name for name in rows.columns if rows.columns.count(name) > 1)
            raise BadTable(f"The table has two columns named {twice!r}. Rename one of them.")
        facts = [_facts(rows, place, int(count)) for place in range(len(rows.columns))]
        proposals = settle(facts, [propose(each) for each in facts])
        likely = [place for place, each in enumerate(proposals) if each.role == "quasi-identifier"]
        if not likely:
            raise BadTable("No column of the table can be generalized: all are empty or nested. Give another table.")
        coded = coded_rows(rows, likely)
        counted, left = _pairs(coded, [facts[place].distinct for place in likely], pairs)
        proposals = _twins(facts, proposals, counted)
        read = [p for p, each in enumerate(proposals) if each.role in ("quasi-identifier", "sensitive") or each.person]
        present = " AND ".join(f"NOT ({_absent(rows, place, facts[place].marks)})" for place in read)
        (complete,) = rows.one(f"SELECT count(*) FROM {rows.view} WHERE {present}")
        return Profile(
            int(count),
            tuple(ColumnProfile(*each) for each in zip(facts, proposals, strict=True)),
            counted,
            left,
            coded.unique(range(len(likely))),
            int(complete),
            encoding,
        )


def _absent(rows: Rows, column: int, marks: Sequence[str]) -> str:
    """Where a column has no value."""
    cell = rows.cell(column)
    listed = f" OR {cell} IN ({', '.join(map(literal, marks))})" if marks and rows.kinds[column] == "VARCHAR" else ""
    return f"{cell} IS NULL{listed}"


def _facts(rows: Rows, column: int, count: int) -> Facts:
    """Count one column, over its distinct values."""
    name, engine_kind = rows.columns[column], rows.kinds[column]
    if _NESTED.search(engine_kind):
        return Facts(name, "nested", count, 0, 0, 0, 0)
    marks = f"coalesce(v IN ({', '.join(map(literal, MARKS))}), false)" if engine_kind == "VARCHAR" else "false"
    yes_no = ", ".join(map(literal, _YES_NO))
    found = rows.one(
        f"WITH g AS MATERIALIZED ({rows.values(column)}), "
        # NA is Namibia in a column of short codes.
        f"s AS (SELECT max(length(v)) <= 3 AND NOT bool_and({marks} OR {_all(_NUMBER)}) AS codes FROM g), "
        f"k AS (SELECT v, n, v IS NULL OR ({marks} AND (v IN ('?', '') OR NOT coalesce(codes, false))) AS gone "
        "FROM g, s), h AS (SELECT v, n FROM k WHERE NOT gone), "
        "x AS (SELECT TRY_CAST(v AS DOUBLE) AS x, n FROM h), c AS (SELECT x, sum(n) OVER (ORDER BY x) / "
        "sum(n) OVER () AS upto FROM x WHERE x IS NOT NULL) "
        "SELECT count(*), count(*) FILTER (n = 1), coalesce(sum(n), 0), max(length(v)), min(length(v)), "
        f"bool_and({_all(_WHOLE)}), bool_and({_all(_NUMBER)}), bool_and({_all(_DATE)} AND TRY_CAST(v[1:10] AS DATE) "
        f"IS NOT NULL), bool_and({_all(_OTHER_DATE)}), bool_and(lower(v) IN ({yes_no})), "
        f"bool_and(NOT contains(v, ' ')) AND avg(CASE WHEN regexp_matches(v, '[0-9]') THEN 1 ELSE 0 END) > 0.5, "
        "(SELECT count(*) FROM g), (SELECT list(v ORDER BY v) FROM k WHERE gone AND v IS NOT NULL), "
        "(SELECT list(v) FROM (SELECT v FROM h ORDER BY n DESC, v LIMIT 3)), max(n), "
        "(SELECT [min(x) FILTER (upto >= 0.01), min(x) FILTER (upto >= 0.99), min(x)] FROM c) FROM h"
    )
    distinct, unique, have, longest, shortest, *every, coded, groups, gone, common, most, numbers = found
    kind = _kind(engine_kind, bool(distinct), tuple(every))
    low, high, least = numbers if kind in ("whole number", "number") else (None, None, None)
    return Facts(
        name,
        kind,
        count,
        count - int(have),
        int(distinct),
        int(groups),
        int(unique),
        int(longest or 0),
        int(shortest or 0),
        bool(coded),
        low,
        high,
        least,
        tuple(common or ()),
        int(most or 0),
        tuple(gone or ()),
    )


def _all(pattern: str) -> str:
    return f"regexp_full_match(v, {literal(pattern)})"


def _kind(engine_kind: str, any_value: bool, every: tuple[bool | None, ...]) -> Kind:
    """What a column holds, by the engine's type, or by what every text of it is."""
    whole, numeric, date, other, yes = (bool(each) for each in every)
    if not any_value:
        return "empty"
    if engine_kind == "BOOLEAN":
        return "yes/no"
    if _INTEGERS.match(engine_kind):
        return "whole number"
    if engine_kind in ("DATE",) or engine_kind.startswith("TIMESTAMP"):
        return "date"
    if engine_kind in ("DOUBLE", "FLOAT") or engine_kind.startswith("DECIMAL"):
        return "number"
    kinds: Mapping[Kind, bool] = {
        "yes/no": yes,
        "whole number": whole,
        "number": numeric,
        "date": date,
        "other date": other,
    }
    return next((kind for kind, is_it in kinds.items() if is_it), "text")


def _pairs(coded: CodedRows, distinct: Sequence[int], most: int) -> tuple[tuple[UniqueRows, ...], int]:
    """Rows unique on each pair of likely quasi-identifiers; over budget those with few values are left out."""
    rising = sorted(range(len(distinct)), key=lambda place: (-distinct[place], place))
    chosen = sorted(combinations(range(len(rising)), 2), key=lambda pair: (pair[1], pair[0]))
    kept = [sorted((rising[one], rising[two])) for one, two in chosen[: max(most, 0)]]
    counted = [coded.unique(pair) for pair in kept]
    counted.sort(key=lambda each: (-each.unique, -each.groups, each.columns))
    return tuple(counted), len(chosen) - len(kept)


def _twins(facts: Sequence[Facts], proposals: Sequence[Proposal], pairs: Sequence[UniqueRows]) -> list[Proposal]:
    """The proposals with a note on columns that say the same: generalizing one and not the other is in vain."""
    place = {each.name: number for number, each in enumerate(facts)}
    made = list(proposals)
    for pair in pairs:
        one, two = (place[name] for name in pair.columns)
        if facts[one].groups == facts[two].groups == pair.groups > 3:
            for this, other in ((one, two), (two, one)):
                said = f"Says the same as {facts[other].name!r}: keep one of them."
                made[this] = replace(made[this], note=f"{made[this].note} {said}".strip())
    return made


def toml_value(value: object) -> str:
    """A value as TOML writes it inline."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_key(str(key))} = {toml_value(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(each) for each in value) + "]"
    return str(value)


def toml_key(name: str) -> str:
    """A key as TOML writes it."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_value(name)


def job_text(profile: Profile, source_name: str, table: str | None = None) -> str:
    """A job file for the table, with a comment for every proposal; it runs as it is and holds no value of a row.

    ``table`` is its name where the source is a database.
    """
    usable = profile.complete if profile.missing == "drop" else profile.total
    if usable < LEAST:
        raise BadTable(
            f"Only {usable} row{'s' * (usable != 1)} of the table can be used, so nothing can be released: nobody "
            "hides in a class of one row. Give a table with more rows."
        )
    k = min(K, usable)
    marks = sorted({"?", ""}.union(*(each.facts.marks for each in profile.columns)))
    together = f"the {len(profile.quasi.columns)} proposed quasi-identifiers together"
    lines = [
        "# A proposal, made by looking at names and counts. Read it before you run it: only you know what others",
        "# may know about the people in this table. Columns that are not listed are released as they are.",
        f"# {profile.quasi.unique:,} of {profile.total:,} rows ({profile.quasi.share:.1%}) are unique on {together}.",
        "",
        "[data]",
        f"source = {toml_value(source_name)}",
        *([] if table is None else [f"table = {toml_value(table)}"]),
        f"missing = {toml_value(profile.missing)}  # {profile.total - profile.complete:,} rows lack a value here",
        f"missing_values = {toml_value(marks)}",
    ]
    if profile.encoding != "utf-8":
        lines.append(f"encoding = {toml_value(profile.encoding)}")
    if profile.person is not None:
        lines.append(f"person = {toml_value(profile.person)}  # its values repeat: classes count persons, not rows")
    for each in profile.columns:
        lines += _column_lines(each)
    lines += ["", "[suppression]", 'rule = "cap-max-k"', "limit = 0.01  # at most this share of the rows is suppressed"]
    lines += ["", *_search_lines(profile), "", "[limits]", f"k = {k}"]
    lines += _diversity_lines([each.facts for each in profile.columns if each.proposal.role == "sensitive"])
    stem = PurePath(source_name).name.split(".")[0] or "table"
    target = f"{stem}-anon.csv" if table is None else f"{table}_anon".replace('"_anon', '_anon"')
    lines += ["", "[release]", f'choose = "k={k}"', f"target = {toml_value(target)}", ""]
    return "\n".join(lines)


def _column_lines(each: ColumnProfile) -> list[str]:
    facts, proposal = each.facts, each.proposal
    said = f"{facts.kind}, {facts.distinct:,} values, {facts.missing:,} missing; {proposal.why}"
    lines = ["", f"# {said}", *([f"# {proposal.note}"] if proposal.note else [])]
    lines = [re.sub(r"[\x00-\x1f\x7f]", " ", line) for line in lines]
    lines += [f"[columns.{toml_key(facts.name)}]", f"role = {toml_value(proposal.role)}"]
    if proposal.hierarchy is not None:
        lines.append(f"hierarchy = {toml_value(proposal.hierarchy)}")
    return lines


def _diversity_lines(sensitive: Sequence[Facts]) -> list[str]:
    """Two values per class for sensitive columns; none for those in which one value is nearly all there is."""
    mixed = [each.name for each in sensitive if each.most <= LIKELY * (each.rows - each.missing)]
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
    work = profile.size * profile.quasi.groups
    nodes = f"{profile.size:,} nodes in the lattice"
    if work <= EXACT_WORK:
        lines = ['method = "exact"', 'space = "lattice"']
        comment = f"# {nodes}: few enough to try all."
    else:
        budget = int(min(max(BUDGET_WORK / profile.quasi.groups, 500), 20_000))
        lines = ['method = "nsga2"', 'space = "lattice"', f"budget = {budget}"]
        comment = f'# {nodes}: too many to try all in a minute. Write method = "exact" if you can wait.'
    return ["[search]", comment, *lines, 'objectives = ["k", "glm"]', "seed = 1"]
