"""The sentences of a report: what was done, what the search proves, whose ideas they are."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kpareto._version import __version__
from kpareto.errors import shorten
from kpareto.faces.report.report import RELEASED, ColumnPart, Method, RiskSide, Summary
from kpareto.fronts.front import Front, Point
from kpareto.measures.measure import MAKERS, Measure, parameters_of, short_name
from kpareto.tables import spelling
from kpareto.tables.recoding import HIDDEN
from kpareto.tables.spelling import are, several

PAPERS = (
    "V. S. Iyengar. Transforming data to satisfy privacy constraints. KDD 2002, pages 279–288.",
    "M. Lunacek, D. Whitley, I. Ray. A crossover operator for the k-anonymity problem. GECCO 2006, pages 1713–1720.",
    (
        "R. Dewri, D. Whitley, I. Ray, I. Ray. A multi-objective approach to data sharing with privacy constraints and "
        "preference based objectives. GECCO 2009, pages 1499–1506."
    ),
    (
        "R. Dewri, I. Ray, I. Ray, D. Whitley. POkA: identifying Pareto-optimal k-anonymous nodes in a domain "
        "hierarchy lattice. CIKM 2009, pages 1037–1046."
    ),
    (
        "R. Dewri, I. Ray, I. Ray, D. Whitley. On the identification of property based generalizations in microdata "
        "anonymization. DBSec 2010, LNCS 6166, pages 81–96."
    ),
)
RULES: Mapping[str, str] = {
    "none": "No row is suppressed.",
    "below-k": "Every class with fewer than k is suppressed.",
    "cap-max-k": "The smallest classes are suppressed as long as the limit allows, which gives each recoding its k.",
    "as-needed": "Every class that misses a limit is suppressed, and no other.",
}
ATTACKERS: Mapping[str, str] = {
    "prosecutor": "knows that a certain person is in the table",
    "journalist": "looks for anybody, and does not know who is in the table",
    "marketer": "wants to recognise as many people as possible",
}


def notice(confidential: bool, least: int) -> tuple[str, str]:
    """For whom a report is, and what it holds therefore."""
    if confidential:
        what = "This report holds original rows and counts that tell about single people. Keep it with the data."
        return "Confidential.", what
    if least == 1:
        return "Public report.", "It holds no original row. With k = 1 no count is too small to be shown."
    return "Public report.", (
        f"It holds no original row and no count of rows from 1 to {least - 1:,}: smaller numbers are left out, "
        "rounded or taken together. The confidential report has them."
    )


def sample_title(confidential: bool) -> str:
    """What the rows that a report shows are called."""
    return "Rows before and after" if confidential else "Rows of the release"


def percent(share: float | None) -> str:
    """A share for people, or that nobody can tell it."""
    return "not estimable" if share is None else spelling.percent(share)


def chance(share: float | None, side: RiskSide) -> str:
    """A risk for people, or that it is not for the public."""
    return percent(share) if side.shown else "not shown"


def count(value: int | None, least: int) -> str:
    """A count of rows, or that it is below what may be shown."""
    return f"fewer than {least}" if value is None else f"{value:,}"


def at_risk(value: int | None) -> str:
    """A count that is left out for its size, or because another could be had from it by subtraction."""
    return "not shown" if value is None else f"{value:,}"


def meaning(measure: Measure) -> str:
    """What a measure counts: the first sentence about it, without references; of a user's own measure its unit."""
    maker = None if parameters_of(measure) is None else MAKERS.get(short_name(measure.name))
    docstring = (None if maker is None else maker.__doc__) or ""
    first = docstring.strip().partition("\n\n")[0].replace("\n", " ")
    bare = re.sub(r"\s*\([^()]*\)\.?$", "", " ".join(first.split())).rstrip(".")
    return bare[:1].lower() + bare[1:] or measure.unit


def say_k(summary: Summary) -> str:
    """How many look alike."""
    columns = several(len(summary.quasi), "declared quasi-identifier")
    others = several(summary.k - 1, "other " + ("person" if summary.unit == "persons" else "row"))
    if summary.k == 1:
        return f"Some rows of this release are alone in the {columns}: k = 1, which protects nobody from being found."
    return (
        f"Every {'person' if summary.unit == 'persons' else 'row'} in this release looks like at least {others} in the "
        f"{columns} ({shorten(summary.quasi, 12)}): k = {summary.k:,}."
    )


def say_risk(highest: tuple[float | None, float | None]) -> str:
    """The highest risk before and after, as far as it is known."""
    before, after = highest
    if after is None:
        return ""
    falls = "is" if before is None else f"falls from {percent(before)} to"
    return f"The highest chance to recognise a person by the quasi-identifiers {falls} {percent(after)}."


def say_suppressed(summary: Summary, least: int) -> str:
    """How many rows are gone."""
    done = "masked" if summary.masked else "suppressed"
    if summary.rows_in is None:
        return (
            f"{several(summary.rows_out, 'row')} {are(summary.rows_out)} released; fewer than {least} rows are {done}."
        )
    if not summary.suppressed:
        return f"All {summary.rows_in:,} rows are released; none is suppressed."
    share = percent(summary.suppressed / summary.rows_in)
    return f"{summary.suppressed:,} of {summary.rows_in:,} rows ({share}) {are(summary.suppressed)} {done}."


def say_loss(summary: Summary, columns: Sequence[ColumnPart]) -> str:
    """What is left of the detail on average, never without the columns that are hidden."""
    if summary.loss is None:
        return ""
    of = " of the released rows" if summary.rows_in is None else ""
    hidden = [column.name for column in columns if column.words == HIDDEN]
    rest = f"; hidden: {shorten(hidden, 12)}" if hidden else "; no column is hidden"
    kept = percent(1 - summary.loss)
    return f"On average the quasi-identifiers keep {kept} of their detail (one minus the mean loss LM{of}){rest}."


def proof(front: Front) -> str:
    """What the search proves, and what it does not."""
    names = " and ".join([", ".join(front.names[:-1]), front.names[-1]]) if len(front.names) > 1 else front.names[0]
    # The size of a space of cuts tells how many values occur in a column, so it is not said.
    many = several(front.space.size, "recoding") if front.space.kind == "lattice" else "the recodings"
    space = f"{many} of the space {front.space.kind!r}"
    sample = front.problem.table.sample
    if sample is not None:
        return f"The search saw {sample.words()}; what follows is true of these. {_tell_proof(front, names, space)}"
    return _tell_proof(front, names, space)


def _tell_proof(front: Front, names: str, space: str) -> str:
    provenance = front.provenance
    if provenance.complete:
        counted = "All of them were counted one by one."
        if provenance.evaluated < front.space.size:
            counted = (
                f"{provenance.evaluated:,} were counted one by one; bounds prove that each of the others is beaten."
            )
        return (
            f"The search is complete: among all {space} no trade-off of {names} is missing, so no recoding there is "
            "better than the chosen one in one of them without being worse in another. " + counted
        )
    if front.space.kind == "local":
        return (
            f"The search is a heuristic over local recodings: the chosen one meets its limits, and no other that was "
            f"found is better in all of {names}, but a better one may exist. Warning W14 says what is proven about it."
        )
    why = f" ({provenance.note})" if provenance.note else ""
    unknown = ", and how much better it would be is not known" if front.floors is None else ""
    return (
        f"The search is not complete{why}: the method {provenance.method!r} counted {provenance.evaluated:,} of "
        f"{space}. The chosen recoding meets its limits all the same, but a better trade-off of {names} may "
        f"exist{unknown}."
    )


def statement(point: Point, columns: Sequence[ColumnPart]) -> tuple[str, ...]:
    """How the release was made, in a paragraph of sentences."""
    problem = point.front.problem
    objectives = ", ".join(f"{m.name} ({m.better} is better)" for m in problem.objectives)
    limits = ", ".join(f"{m.name} {'≥' if m.better == 'higher' else '≤'} {t:g}" for m, t in problem.limits)
    kind, whom = "cuts of hierarchies", "the same for every row (global recoding)"
    if point.recoding.levels is not None:
        kind = "whole levels of fixed hierarchies"
    elif point.recoding.boxes is not None:
        kind, whom = "labels of their hierarchies", "which differ from class to class (local recoding)"
    shown = sum(1 for column in columns if column.kept)
    hidden = sum(1 for column in columns if column.hidden and not column.kept)
    between = len(columns) - shown - hidden
    rule = point.suppression
    suppressed = (
        f"Every class that misses {rule.missed} is suppressed, and no other." if rule.missed else RULES[rule.rule]
    )
    if point.recoding.boxes is not None and rule.rule == "as-needed":
        suppressed = "Rows that the search has put into no class are left out."
    allowed = rule.allowed(problem.table.rows)
    cap = "" if rule.rule in ("none", "below-k") else f" At most {rule.limit * 100:g}% of the rows may be suppressed."
    if rule.limit >= 1 and cap:
        cap = f" At most {several(allowed, 'row')} may be suppressed."
    return (
        (
            f"The values of {several(len(columns), 'quasi-identifier')} are generalized by {kind}, {whom}: "
            f"{shown} of them {'keeps its' if shown == 1 else 'keep their'} values, "
            f"{between} {are(between)} generalized, {hidden} {are(hidden)} hidden."
        ),
        f"Rows that look alike on all of them form an equivalence class. {suppressed}{cap}",
        f"The recoding was searched for with the objectives {objectives}"
        + (f" and the limits {limits}." if limits else "; no further limits were set."),
        "No value is invented, exchanged or perturbed: what the release says of a row is true.",
    )


def _settings_words(options: Mapping[str, Any]) -> str:
    """The settings of a search, those by default too."""
    words = {name: str(value).lower() if isinstance(value, bool) else f"{value}" for name, value in options.items()}
    return "; ".join(f"{name} = {value}" for name, value in words.items()) or "none"


def method(
    point: Point, columns: Sequence[ColumnPart], summary: Summary, certificate: Mapping[str, Any] | None, secret: bool
) -> Method:
    """The method statement with parameters, versions and hashes."""
    front = point.front
    problem, provenance, table = front.problem, front.provenance, front.problem.table
    rule = problem.suppression
    parameters = [
        ("objectives", ", ".join(front.names)),
        ("limits", ", ".join(f"{m.name} = {t:g}" for m, t in problem.limits) or "none"),
        ("suppression rule", rule.rule),
        ("suppression limit", f"{rule.limit:g}" + (" (share of the rows)" if rule.limit < 1 else " rows")),
        ("suppressed rows are", "masked" if summary.masked else "dropped"),
        ("space", front.space.kind + (f", {front.space.size:,} recodings" if front.space.kind == "lattice" else "")),
        ("method", provenance.method),
        ("recodings counted", f"{provenance.evaluated:,}"),
        ("seed", "none: the search uses no chance" if provenance.seed is None else str(provenance.seed)),
        ("settings of the search", _settings_words(provenance.options)),
        ("point of the front", str(point.id)),
        ("missing values", table.missing),
        ("loss denominators", f"{table.domain} values"),
    ]
    weights = {name: weight for name, weight in table.schema.weights.items() if weight != 1}
    if weights:
        parameters.append(("weights", ", ".join(f"{name} {weight:g}" for name, weight in weights.items())))
    if table.schema.levels:
        pairs = (f"{name} {least} to {most}" for name, (least, most) in table.schema.levels.items())
        parameters.append(("levels allowed", ", ".join(pairs)))
    versions = [("kpareto", __version__), ("Python", platform.python_version()), ("numpy", np.__version__)]
    hashes: list[tuple[str, str]] = []
    open_part = (certificate or {}).get("public") or {}
    closed = (certificate or {}).get("confidential") or {}
    if open_part:
        parameters += [
            (f"release: {key}", _spell_setting(value)) for key, value in sorted(open_part.get("handling", {}).items())
        ]
        hashes.append((RELEASED, str(open_part.get("release", {}).get("sha256") or "no file was written")))
        versions.append(("engine of the rows", str(open_part.get("engine", ""))))
    if closed and secret:
        hashes.append(("public part of the certificate", str(closed.get("public_sha256"))))
        hashes.append(("input", str(closed.get("input", {}).get("sha256"))))
    guarded = [column for column in columns if not secret and column.withheld]
    hashes += [(f"hierarchy of {c.name}", c.digest) for c in columns if c not in guarded]
    return Method(statement(point, columns), proof(front), PAPERS, tuple(parameters), tuple(versions), tuple(hashes))


def _spell_setting(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {item}" for key, item in value.items()) or "none"
    return str(value)
