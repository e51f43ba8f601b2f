"""A project of ARX as a job: its table and hierarchies in a folder beside the job, its settings in our words.

What has no counterpart is a remark each, which also stands in the job; nothing is left out in silence.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import BinaryIO
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from kpareto.atomic import whole_folder, write_whole
from kpareto.engines.form import check_date_form
from kpareto.errors import BadHierarchy, BadInput, BadJob
from kpareto.fronts.problem import stricter
from kpareto.jobs.job import Job
from kpareto.jobs.parse import check_limits, load_job
from kpareto.jobs.proposals import SearchTask, propose_search
from kpareto.measures.measure import read_spec, spell
from kpareto.strict import toml_key, toml_lines, toml_value
from kpareto.tables.hierarchies import to_text
from kpareto.tables.hierarchy import STAR, Hierarchy, from_levels
from kpareto.tables.partition import UNLIMITED
from kpareto.tables.spelling import several

TABLE, SUBSET = "data/input.csv", "data/input_subset.csv"
ROLES = {"QUASI_IDENTIFYING": "quasi-identifier", "SENSITIVE": "sensitive", "INSENSITIVE": "plain"}
ROLES["IDENTIFYING"] = "identifier"
_CONTROL = r"[\x00-\x1f\x7f-\x9f\u2028\u2029]"  # what could end a comment
EVEN = 0.5  # the weight that ARX gives a column unless told
DATES = {"yyyy": "%Y", "yy": "%y", "MMM": "%b", "MM": "%m", "M": "%m", "dd": "%d", "d": "%d"}
DATES |= {"HH": "%H", "H": "%H", "mm": "%M", "ss": "%S"}
# Settings that are read elsewhere, or only say how ARX shows what it refuses.
OWN = ("suppressTuplesInNonAnonymousOutput", "attributeWeights", "criteria", "metric", "relativeMaxOutliers")


@dataclass(frozen=True)
class ArxColumn:
    """What ARX knows of one column."""

    name: str
    role: str
    hierarchy: Hierarchy | None = None
    levels: tuple[int, int] | None = None  # the least and the highest that ARX may take
    weight: float = EVEN
    date: str = ""  # the form of its dates, where they are not written year-month-day


@dataclass(frozen=True, repr=False)
class ArxProject:
    """A project of ARX: its columns, limits and loss in our words, and what must be said about them."""

    path: Path
    version: str
    separator: str
    table: str  # the part of the zip that has the rows
    population: bool
    columns: tuple[ArxColumn, ...]
    limits: Mapping[str, float]
    loss: str
    suppression: float
    remarks: tuple[str, ...]
    written: Path | None = None  # its job file

    def __repr__(self) -> str:
        """Short, and without a value of any row: a notebook prints this."""
        limits = "".join(f", {name} {limit:g}" for name, limit in self.limits.items())
        return f"ArxProject({self.path.name!r}, {several(len(self.columns), 'column')}{limits})"

    @property
    def job(self) -> Job:
        """The job that was written, for ``front`` and on."""
        if self.written is None:
            raise BadJob(f"The project {self.path.name!r} was only looked at. Read it with read_arx to have a job.")
        return load_job(self.written)

    @property
    def folder(self) -> str:
        """The name of the folder with its table and hierarchies."""
        return self.path.stem.strip(". ") or "project"

    @property
    def choice(self) -> str:
        """Which point of a front ARX's settings ask for: the least loss that meets the limits."""
        return ", ".join(f"{name}={limit!r}" for name, limit in self.limits.items()) or "recommended"

    def to_dict(self) -> dict[str, object]:
        """Columns, limits, loss and remarks as plain data."""
        roles = {each.name: each.role for each in self.columns}
        wishes = {"limits": dict(self.limits), "loss": self.loss, "suppression": self.suppression}
        return {"arx": self.version, "columns": roles, **wishes, "choose": self.choice, "remarks": list(self.remarks)}

    def sentences(self) -> list[str]:
        """What a person must hear: the columns, the limits, the point that ARX would take, and every remark."""
        roles = [each.role for each in self.columns]
        counts = ", ".join(several(roles.count(role), f"{role} column") for role in dict.fromkeys(roles))
        asked = f"the point {self.choice} of the front: the least {self.loss} that meets the limits."
        if not self.limits:
            asked = "nothing that is a limit here, so the recommended point is chosen (k ≥ 5). Give limits yourself."
        return [f"A project of ARX {self.version}: {counts}.", f"ARX's settings ask for {asked}", *self.remarks]


def read_arx(project: str | Path, job: str | Path | None = None) -> ArxProject:
    """A project of ARX (``.deid``) made into a job that runs as it is.

    Parameters
    ----------
    project : str or Path
        The project.
    job : str or Path, optional
        Where the job is written; beside the project as ``project.toml`` unless given. The table and the hierarchies go
        into a folder beside the job that is named after the project.

    Returns
    -------
    ArxProject
        Its ``job``, and ``remarks`` that say what has no counterpart.

    Raises
    ------
    BadInput
        If the project cannot be read, or the job cannot be written.

    Examples
    --------
    Files are written::

        kp.front(kp.read_arx("project.deid").job)
    """
    with open_archive(project) as archive:
        target = archive.path.with_suffix(".toml") if job is None else Path(job)
        return write_project(archive, _read(archive), target)


def look_at(project: str | Path) -> ArxProject:
    """The same without writing anything; it has no job."""
    with open_archive(project) as archive:
        return _read(archive)


# -- privacy and quality models by the texts that ARX writes -----------------------------------------------------------
#
# Where two definitions differ the number is converted, or there is no counterpart; both are said in a sentence.

HAIR = 1e-9  # of a number: what a limit that also admits equality needs to stand for one that does not
NUMBER = r"(\d[\d.]{0,30}(?:[eE]-?\d{1,3})?)"
FACTOR = r"(\d+(?:\.\d+)?(?:E-?\d+)?)"
WHOLE = r"(\d{1,9})"
OF = r" for attribute '(.*)'"
SPELLED = re.compile(r"[A-Za-z_][\w -]*")  # names of columns that a limit can hold


@dataclass(frozen=True)
class ModelContext:
    """What must be known of a project to read its privacy models."""

    sensitive: Sequence[str]
    trees: Sequence[str] = ()  # sensitive columns with a hierarchy
    population: bool = False  # whether the rows of the research subset are known, and those of the table around it


@dataclass(frozen=True)
class ModelLimits:
    """What a privacy model of ARX is here: limits, and what must be said about them."""

    limits: dict[str, float] = field(default_factory=dict)
    remark: str = ""  # where nothing has become of it, or something a little different


def read_model(text: str, context: ModelContext) -> ModelLimits:
    """A privacy model by ARX's text; without limits there is no counterpart, and the remark says why."""
    for pattern, read in _MODELS:
        match = re.fullmatch(pattern, text, re.DOTALL)
        if match is None:
            continue
        try:
            reading = read(context, *match.groups())
            check_limits(reading.limits)
        except (BadJob, ValueError, OverflowError, ZeroDivisionError):
            break
        if reading.limits or not reading.remark:
            return ModelLimits(reading.limits, reading.remark and f"{text!r}: {reading.remark}")
        return ModelLimits({}, f"{text!r} has no counterpart: {reading.remark}")
    return ModelLimits({}, f"{text!r} has no counterpart: kpareto knows no privacy model of that kind")


def _on(
    context: ModelContext, column: str, measure: str, limit: float, remark: str = "", **parameters: object
) -> ModelLimits:
    """A limit on one sensitive column, which needs to be named only where there are several."""
    if column not in context.sensitive:
        return ModelLimits({}, f"{column!r} is no sensitive column of the project")
    several = len(context.sensitive) > 1
    if several and (not SPELLED.fullmatch(column) or column.strip() != column):
        return ModelLimits({}, f"a limit cannot spell the column {column!r}; rename it")
    return ModelLimits({spell(measure, column=column if several else None, **parameters): limit}, remark)


def _same(measure: str, kind: type[float] = float) -> Callable[[ModelContext, str, str], ModelLimits]:
    """A model that has the same definition here, and the same number."""
    return lambda context, number, column: _on(context, column, measure, kind(number))


def _recursive(context: ModelContext, c: str, values: str, column: str) -> ModelLimits:
    remark = f"ARX asks for less than c = {c}, a limit here admits equality, so it is a hair below"
    return _on(context, column, "recursive-l", float(c) * (1 - HAIR), remark, l=int(values))


def _delta(context: ModelContext, delta: str, column: str) -> ModelLimits:
    remark = (
        f"ARX takes logarithms to base 2 and asks for less than {delta}; here they are natural and a limit admits "
        f"equality, so the number is {delta} · ln 2, less a hair"
    )
    return _on(context, column, "delta", float(delta) * math.log(2) * (1 - HAIR), remark)


def _ordered_t(context: ModelContext, t: str, column: str) -> ModelLimits:
    remark = "numbers are in order by size and other values by their text here, in ARX by the data type"
    return _on(context, column, "t", float(t), remark, distance="ordered")


def _hierarchical_t(context: ModelContext, t: str, column: str) -> ModelLimits:
    if column not in context.trees:
        return ModelLimits({}, f"the project has no hierarchy of {column!r}")
    return _on(context, column, "t", float(t), distance="hierarchical")


def _average_risk(_: ModelContext, mean: str, highest: str | None, share: str | None) -> ModelLimits:
    limits = {"risk-mean": float(mean)}
    if highest is not None and share is not None:
        # ARX counts classes of that risk among those at risk, so the border lies below it.
        border = 2 / (2 * math.floor(1 / float(highest) + HAIR) + 1)
        limits[spell("risk-share", threshold=f"{border:.12g}")] = float(share)
    return ModelLimits(limits, WHICH)


def _k_map(context: ModelContext, k: str, estimated: str | None) -> ModelLimits:
    if estimated is not None and estimated != "unknown":
        remark = f"ARX estimates the population and asks for classes of {estimated} rows, which is k = {estimated} here"
        return ModelLimits({"k": int(estimated)}, remark)
    return ModelLimits({"k-map": int(k)}) if context.population and estimated is None else ModelLimits({}, WHO)


def _presence(context: ModelContext, least: str, most: str) -> ModelLimits:
    if not context.population:
        return ModelLimits({}, WHO)
    remark = (
        f"the lower bound {least} is left out, because presence-min here also counts classes of the population "
        "without a released row, which ARX passes over"
    )
    return ModelLimits({"presence-max": float(most)}, remark if float(least) > 0 else "")


def _none(why: str) -> Callable[..., ModelLimits]:
    return lambda *_: ModelLimits({}, why)


WHO = "the project does not say who the population is; give it under [population]"
WHICH = "here it says which recodings count; ARX also suppresses further rows to reach it"
_MODELS: tuple[tuple[str, Callable[..., ModelLimits]], ...] = (
    (rf"{WHOLE}-anonymity", lambda _, k: ModelLimits({"k": int(k)})),
    (rf"distinct-{WHOLE}-diversity{OF}", _same("l", int)),
    (rf"(?:shannon-)?entropy-{NUMBER}-diversity{OF}", _same("entropy-l")),
    (rf"\w+-entropy-.*-diversity{OF}", _none("entropy is counted by Shannon's formula here, not estimated")),
    (rf"recursive-\({NUMBER},{WHOLE}\)-diversity{OF}", _recursive),
    (rf"{NUMBER}-closeness with equal ground-distance{OF}", _same("t")),
    (rf"{NUMBER}-closeness with ordered distance{OF}", _ordered_t),
    (rf"{NUMBER}-closeness with hierarchical (?:ground-)?distance{OF}", _hierarchical_t),
    (rf"{NUMBER}-basic likeness{OF}", _same("beta")),
    (rf"enhanced-{NUMBER}-likeness{OF}", _same("enhanced-beta")),
    (rf"{NUMBER}-disclosure privacy{OF}", _delta),
    (rf"\({NUMBER}(?:, {NUMBER}, {NUMBER})?\)-avg-reidentification-risk", _average_risk),
    (  # a row is unique where its risk is above one half
        rf"\({NUMBER}\)-sample-uniqueness",
        lambda _, share: ModelLimits({"risk-share(threshold=0.5)": float(share)}, WHICH),
    ),
    (rf"\({WHOLE}\)-map(?: estimated as \((\d{{1,9}}|unknown)\)-anonymity \(.*\))?", _k_map),
    (rf"\({NUMBER}, ?{NUMBER}\)-presence", _presence),
    (r"\(.*\)-population-uniqueness \(.*\)", _none("the size of the population is not in a readable part")),
    (r"\(.*\)-DP", _none("kpareto private releases with differential privacy: give it epsilon and delta")),
    (r"\(.*\)-minimum-key-size", _none("keys that single out a row are counted by kpareto measure, no limit")),
    (r"profitability \(.*", _none("the costs and gains of an attacker are not weighed here")),
)

# A part of ARX's text -> our measure, and how the two differ.
_QUALITY = (
    ("loss", "arx-loss", "the geometric mean of the columns; whether ARX takes another is in no readable part"),
    ("discernab", "dcn", ""),
    ("equivalence class size", "aecs", ""),
    ("precision", "precision", ""),
    ("non-uniform entropy", "nonuniform-entropy", ""),
)
PASSING = ("precision", "nonuniform-entropy")  # whose monotonic variants pass over suppressed rows


def read_quality(text: str) -> tuple[str, str]:
    """Our loss for a quality model of ARX, and what differs."""
    for part, name, remark in _QUALITY:
        if part in text.lower():
            factors = re.search(rf"\({FACTOR}/{FACTOR}/{FACTOR}\)", text)
            if factors and (float(factors[2]), float(factors[3])) != (1.0, 1.0):
                remark += (
                    f"; the factors {factors[2]} and {factors[3]} of generalizing and suppressing have no counterpart"
                )
            if name in PASSING and "non-monotonic" not in text.lower():
                remark = "ARX's monotonic variant of it passes over suppressed rows, which count here"
            return name, f"The quality model {text!r} is {name} here{remark and f': {remark}'}"
    return "lm", f"The quality model {text!r} has no counterpart: lm is taken instead"


# -- reading -------------------------------------------------------------------------------------------------------


def _read(archive: Archive) -> ArxProject:
    tree = archive.xml("project.xml", "project")
    separator = tree.findtext("separator") or ""
    separator = separator if len(separator) == 1 else separator.strip()
    if len(separator) != 1 or separator in '"\r\n':
        raise archive.bad(f"has the separator {separator!r} in 'project.xml', and one character belongs there")
    remarks: list[str] = []
    config = archive.xml("input/config.xml", "config")
    table, population = _rows(archive, config, remarks)
    names = _header(archive, table, separator)
    weights = _weights(archive, config)
    columns = _columns(archive, names, separator, remarks)
    columns = [replace(each, weight=weights.get(each.name, EVEN)) for each in columns]
    sensitive = [each for each in columns if each.role == "sensitive"]
    trees = [each.name for each in sensitive if each.hierarchy is not None]
    limits = _limits(config, ModelContext([each.name for each in sensitive], trees, population), remarks)
    columns = _without_trees(columns, limits, remarks)
    loss, remark = read_quality((config.findtext("metric") or "none").strip())
    remarks.append(remark)
    if len({each.weight for each in columns if each.role == "quasi-identifier"}) > 1:
        known = loss in ("arx-loss", "lm")
        loss_words = "so the loss is nwp: lm with weights" if known else f"which have no counterpart under {loss}"
        remarks.append(f"The columns have weights, {loss_words}")
        loss = "nwp" if known else loss
    _others(config, remarks)
    version = (archive.xml("metadata.xml", "metadata").findtext("version") or "?").strip()
    share = _number(archive, config.findtext("relativeMaxOutliers") or "0", "relativeMaxOutliers")
    return ArxProject(
        archive.path, version, separator, table, population, tuple(columns), limits, loss,
        min(share, UNLIMITED), tuple(f"{_shorten(remark)}." for remark in remarks),
    )  # fmt: skip


def _shorten(text: str) -> str:
    """A remark that a person still reads, whatever was in the project."""
    return text if len(text) <= 600 else f"{text[:400]} … {text[-150:]}"


def _number(archive: Archive, text: str, what: str) -> float:
    with suppress(ValueError):
        if 0 <= (number := float(text)) < math.inf:
            return number
    raise archive.bad(f"has {what} = {text!r:.60}, and a number belongs there")


def _rows(archive: Archive, config: Element, remarks: list[str]) -> tuple[str, bool]:
    """The part that has the rows to release, and whether the table is the population around them."""
    models = [(each.text or "").strip() for each in config.iterfind("criteria/criterion")]
    if archive.has(SUBSET) and archive.size(SUBSET) < archive.size(TABLE):
        lines = (piece.count(b"\n") for piece in archive.pieces(SUBSET, MOST_TABLE))
        if sum(lines) > 1:  # the line of names, and a row
            remarks.append("The rows are those of the research subset; the whole table is the population")
            return SUBSET, True
    if any(model.startswith(("Inclusion", "Enclosure")) or "presence" in model for model in models):
        remarks.append("Which rows are in the research subset is in no readable part, so all rows are taken")
    return TABLE, False


def _header(archive: Archive, table: str, separator: str) -> list[str]:
    """The names of the columns of the table."""
    with closing(archive.pieces(table, MOST_TABLE)) as pieces:
        start = next(pieces, b"")
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(start)  # whose last letter may be cut
    except UnicodeDecodeError:
        text = start.decode("cp1252", errors="replace")
    try:
        names = next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), [])
    except csv.Error as error:
        raise archive.bad(f"has a table {table!r} that cannot be read: {error}") from error
    names = [name.strip() for name in names]
    if not names or len(set(names)) < len(names):
        raise archive.bad(f"has a table {table!r} whose columns have no names, or two of one name")
    return names


def _columns(archive: Archive, names: Sequence[str], separator: str, remarks: list[str]) -> list[ArxColumn]:
    columns: dict[str, ArxColumn] = {}
    for each in archive.xml("input/definition.xml", "definition"):
        name = (each.findtext("name") or "").strip()
        if name not in names:
            raise archive.bad(f"defines a column {name!r:.60} that its table does not have")
        if name in columns:
            raise archive.bad(f"defines the column {name!r} twice")
        columns[name] = _column(archive, name, each, separator, remarks)
    if not any(each.role == "quasi-identifier" for each in columns.values()):
        raise archive.bad("has no quasi-identifying attribute, so there is nothing to recode. Set one in ARX")
    for name in names:
        if name not in columns:
            columns[name] = ArxColumn(name, "identifier")
            remarks.append(f"ARX says nothing about the column {name!r}; it is left out as an identifier")
    return [columns[name] for name in names]


def _column(archive: Archive, name: str, entry: Element, separator: str, remarks: list[str]) -> ArxColumn:
    texts = {each.tag: (each.text or "").strip() for each in entry}
    kind = texts.get("type", "").removesuffix("_ATTRIBUTE")
    if kind not in ROLES:
        raise archive.bad(f"has the column {name!r} of type {texts.get('type')!r}, which is not known")
    column = ArxColumn(name, ROLES[kind])
    if texts.get("ref"):
        column = _with_hierarchy(archive, column, texts["ref"], separator, remarks)
        column = _with_levels(archive, column, texts.get("min", "All"), texts.get("max", "All"))
    elif column.role == "quasi-identifier":
        remarks.append(f"{name!r} has no hierarchy, so it is shown or starred as a whole; ARX only shows it")
    if texts.get("response") == "true":
        if column.role == "plain":
            column = replace(column, role="target")
        remarks.append(f"{name!r} is a response variable of ARX; here its role is {column.role!r}")
    if "format" in texts:
        column = _with_format(column, texts, remarks)
    known = ("name", "type", "datatype", "format", "locale", "ref", "min", "max", "response")
    others = [f"{tag} = {text!r:.60}" for tag, text in texts.items() if tag not in known]
    if others:
        remarks.append(f"The settings of the column {name!r} have no counterpart: {', '.join(others)}")
    return column


def _with_format(column: ArxColumn, texts: Mapping[str, str], remarks: list[str]) -> ArxColumn:
    """The column with the form of its dates; one with a hierarchy keeps the texts that stand there."""
    form = re.sub(r"([A-Za-z])\1*", lambda match: DATES.get(match[0], "?"), texts["format"])
    dated = texts.get("datatype", "").startswith("Date")  # ARX writes Date/Time
    if dated and column.hierarchy is None and column.role != "quasi-identifier":
        with suppress(BadJob):
            check_date_form(column.name, form)
            return replace(column, date="" if form == "%Y-%m-%d" else form)
    sentence = f"The format {texts['format']!r:.60} ({texts.get('datatype')}) of {column.name!r} is not used"
    remarks.append(f"{sentence}: its values stay as they are written")
    return column


def _with_hierarchy(archive: Archive, column: ArxColumn, ref: str, separator: str, remarks: list[str]) -> ArxColumn:
    """The column with its hierarchy, which gets a last level with one group where it has none."""
    name = column.name
    if not is_inside(ref):
        raise archive.bad(f"has the hierarchy of {name!r} in {ref!r:.60}, which leads out of its folder")
    if column.role not in ("quasi-identifier", "sensitive"):
        remarks.append(f"The hierarchy of {name!r} is not used, because the column is {column.role}")
        return column
    text = archive.text(f"input/{ref}", MOST_LINES)
    try:
        lines = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True) if row]
        lines = [[label.strip() for label in row] for row in lines]
        if len({tuple(row[-1:]) for row in lines}) > 1 or len(lines[0]) == 1:
            lines = [[*row, STAR] for row in lines]
            remarks.append(f"The hierarchy of {name!r} got a last level {STAR!r}, which ARX does not have")
        hierarchy = from_levels(name, lines)
    except (csv.Error, IndexError, BadHierarchy) as error:
        why = str(error).rstrip(".") or "it is empty"
        so = ", so the column is shown or starred as a whole" if column.role == "quasi-identifier" else ""
        remarks.append(f"The hierarchy of {name!r} cannot be used{so}: {why}")
        return column
    return replace(column, hierarchy=hierarchy)


def _without_trees(columns: Sequence[ArxColumn], limits: Mapping[str, float], remarks: list[str]) -> list[ArxColumn]:
    """The columns without hierarchies of sensitive ones, unless a limit measures distances by them."""
    measured = [about for name, about in map(read_spec, limits) if about.get("distance") == "hierarchical"]
    kept = []
    for each in columns:
        used = any(about.get("column", each.name) == each.name for about in measured)
        if each.role == "sensitive" and each.hierarchy is not None and not used:
            remarks.append(f"The hierarchy of {each.name!r} is not used, because the column is sensitive")
            each = replace(each, hierarchy=None)
        kept.append(each)
    return kept


def _with_levels(archive: Archive, column: ArxColumn, least: str, most: str) -> ArxColumn:
    """The column with the levels that ARX allows for it, where it does not allow all."""
    if column.role != "quasi-identifier" or column.hierarchy is None or (least, most) == ("All", "All"):
        return column
    height = column.hierarchy.height
    ends = ("0" if least == "All" else least, str(height) if most == "All" else most)
    if not all(re.fullmatch(r"[0-9]{1,6}", end) for end in ends) or not int(ends[0]) <= int(ends[1]) <= height:
        raise archive.bad(
            f"allows the levels {least!r:.20} to {most!r:.20} for {column.name!r}, whose hierarchy has 0 to {height}"
        )
    return replace(column, levels=(int(ends[0]), int(ends[1])))


def _weights(archive: Archive, config: Element) -> dict[str, float]:
    """The weights that ARX gives to columns."""
    entries = config.iterfind("attributeWeights/attributeWeight")
    texts = {(each.findtext("attribute") or "").strip(): each.findtext("weight") or "" for each in entries}
    return {name: _number(archive, text, f"the weight of {name!r}") for name, text in texts.items()}


def _limits(config: Element, settings: ModelContext, remarks: list[str]) -> dict[str, float]:
    """The limits that the privacy models are; of two on the same measure the stricter one."""
    limits: dict[str, float] = {}
    for each in config.iterfind("criteria/criterion"):
        text = (each.text or "").strip()
        if text.startswith(("Inclusion", "Enclosure")):  # a research subset and no protection
            continue
        reading = read_model(text, settings)
        remarks += [reading.remark] if reading.remark else []
        limits = stricter(reading.limits, limits)
    return limits


def _others(config: Element, remarks: list[str]) -> None:
    """A remark for every further setting that has no counterpart here."""
    for each in config:
        text = (each.text or "").strip()
        if each.tag == "suppressedAttributeTypes":
            types = {(kind.text or "").strip() for kind in each} - {"QUASI_IDENTIFYING_ATTRIBUTE"}
            if types:
                remarks.append(f"ARX also stars {', '.join(sorted(types))} of suppressed rows; here they are left out")
        elif each.tag == "practicalMonotonicity":
            if text == "true":
                remarks.append("ARX assumes practical monotonicity, which may miss the best; nothing is assumed here")
        elif each.tag not in OWN and not (each.tag == "suppressionString" and text == STAR):
            remarks.append(f"The setting {each.tag} = {text!r:.60} has no counterpart")
    remarks.append('Suppressed rows are left out of the release; ARX shows them as stars (rows = "mask" here)')


# -- writing -------------------------------------------------------------------------------------------------------


def write_project(archive: Archive, project: ArxProject, target: Path) -> ArxProject:
    """Unpack the table and the hierarchies of a project beside a job, and write the job."""
    if target.exists():
        raise BadJob(f"{str(target)!r} is there already, and may hold your own changes. Give another name.")
    files = hierarchy_files([each.name for each in project.columns if each.hierarchy is not None])
    with whole_folder(target.parent / project.folder) as folder:
        with (folder / "table.csv").open("wb") as file:
            encoding, rows = archive.copy(project.table, file)
        if project.population:
            with (folder / "population.csv").open("wb") as file:
                archive.copy(TABLE, file)
        for each in project.columns:
            if each.hierarchy is not None:
                (folder / files[each.name]).write_bytes(to_text(each.hierarchy).encode())
    write_whole(target, job_text(project, encoding, rows, files))
    return replace(project, written=target)


def hierarchy_files(columns: Sequence[str]) -> dict[str, str]:
    """A name for the file of each column's hierarchy that every file system takes, none of them twice."""
    names: dict[str, str] = {}
    for column in columns:
        stem = "".join(sign if sign.isalnum() or sign in "-_" else "_" for sign in column)[:60]
        taken = {name.lower() for name in names.values()}
        ways = chain([f"hierarchy-{stem}.csv"], (f"hierarchy-{stem}-{number}.csv" for number in range(2, 10**6)))
        names[column] = next(name for name in ways if name.lower() not in taken)
    return names


def job_text(project: ArxProject, encoding: str, rows: int, files: Mapping[str, str]) -> str:
    """The job file of a project, with a comment for every remark."""
    form = toml_lines({"separator": project.separator, "encoding": encoding, "header": True})
    dates = {each.name: each.date for each in project.columns if each.date}
    lines = [
        *(f"# {re.sub(_CONTROL, ' ', sentence)}" for sentence in project.sentences()),
        "",
        "[data]",
        f"source = {toml_value(f'{project.folder}/table.csv')}",
        *form,
        *toml_lines({"dates": dates} if dates else {}),
        'missing = "category"',
        "missing_values = []  # as in ARX every text is a value, '?' and none at all among them",
    ]
    if project.population:
        lines += ["", "[population]", f"source = {toml_value(f'{project.folder}/population.csv')}", *form]
    for each in project.columns:
        lines += ["", f"[columns.{toml_key(each.name)}]", f"role = {toml_value(each.role)}"]
        if each.hierarchy is not None:
            lines.append(f"hierarchy = {toml_value(f'{project.folder}/{files[each.name]}')}")
        elif each.role == "quasi-identifier":
            lines.append("hierarchy = {flat = true}")
        if each.levels is not None:
            lines.append(f"levels = {list(each.levels)!r}")
        if project.loss == "nwp" and each.role == "quasi-identifier":
            lines.append(f"weight = {each.weight / EVEN!r}")
    share = "  # no limit in ARX" if project.suppression == UNLIMITED else ""
    lines += ["", "[suppression]", f"limit = {project.suppression!r}{share}", "", *_search_lines(project, rows)]
    lines += ["", "[limits]", *(f"{toml_key(name)} = {limit!r}" for name, limit in project.limits.items())]
    lines += ["", "[release]", f"choose = {toml_value(project.choice)}  # what ARX's settings ask for"]
    lines += [f"target = {toml_value(f'{project.folder}-anon.csv')}", ""]
    return "\n".join(lines)


def _search_lines(project: ArxProject, rows: int) -> list[str]:
    quasi = [column for column in project.columns if column.role == "quasi-identifier"]
    ends = [each.levels or (0, 1 if each.hierarchy is None else each.hierarchy.height) for each in quasi]
    leaves = tuple(rows if each.hierarchy is None else len(each.hierarchy.leaves) for each in quasi)
    sensitive = any(each.role == "sensitive" for each in project.columns)
    size = math.prod(most - least + 1 for least, most in ends)
    proposal = propose_search(SearchTask(size, rows, rows, leaves, sensitive=sensitive))
    settings = {"method": proposal.method, **proposal.settings, "objectives": ["k", project.loss], "seed": 1}
    return ["[search]", f"# {size:,} nodes in the lattice: {proposal.why}", *toml_lines(settings)]


# -- the zip of a project ----------------------------------------------------------------------------------------------
#
# It may come from anybody: only texts are read, each within bounds checked first. Serialized Java objects (*.dat) are
# never looked at. No name of a member becomes the name of a file.

MOST_MEMBERS = 10_000
MOST_XML = 4 << 20  # bytes of one of the small texts; a definition of a thousand columns has a quarter of that
MOST_LINES = 64 << 20  # of all hierarchies together
MOST_TABLE = 16 << 30
MOST_RATIO = 200  # bytes of all texts for each of the zip; tables of a few words in each column come to fifty
SMALL = 1 << 20  # bytes up to which no ratio can hurt
PIECE = 1 << 20
DEEPEST = 20  # elements inside each other; ARX has three
VOCABULARY = "2.0"
# What Python raises for a zip that is damaged, wherever that is.
DAMAGES = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, ValueError, OSError)


@dataclass(frozen=True)
class Archive:
    """The members of a project that may be read, by their names."""

    path: Path
    zip: zipfile.ZipFile

    def bad(self, why: str) -> BadInput:
        """A sentence about this file."""
        return BadInput(f"The ARX project {str(self.path)!r} {why}.")

    def has(self, name: str) -> bool:
        """Whether there is a member of this name."""
        return name in self.zip.NameToInfo

    def size(self, name: str) -> int:
        """How many bytes a member says that it has; one that is missing is a sentence."""
        if not self.has(name):
            raise self.bad(f"has no part {name!r}, so it cannot be opened. Save it again with ARX")
        return self.zip.getinfo(name).file_size

    def pieces(self, name: str, most: int) -> Generator[bytes, None, None]:
        """The bytes of a member, after its size and ratio were looked at; it may not be larger than it says."""
        self.size(name)
        info = self.zip.getinfo(name)
        if info.file_size > most:
            raise self.bad(f"has a part {name!r} of {info.file_size:,} bytes, and {most:,} is the most that is read")
        if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise self.bad(f"has a part {name!r} with a password or packed in another way than ARX does")
        size = 0
        try:
            with self.zip.open(info) as member:
                while piece := member.read(PIECE):
                    size += len(piece)
                    if size > info.file_size:
                        raise self.bad(f"has a part {name!r} that is larger than it says")
                    yield piece
        except DAMAGES as error:
            raise self.bad(f"has a damaged part {name!r}: {error}") from error

    def text(self, name: str, most: int) -> str:
        """The text of a member: UTF-8, or what Java took for it on an older Windows."""
        data = b"".join(self.pieces(name, most))
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError:
            return data.decode("cp1252", errors="replace")

    def xml(self, name: str, root: str) -> Element:
        """The tree of a small XML text; document types and entities are refused."""
        builder, depth = TreeBuilder(), [0]

        def start(tag: str, attributes: dict[str, str]) -> None:
            depth[0] += 1
            if depth[0] > DEEPEST:
                raise self.bad(f"has a part {name!r} with more than {DEEPEST} elements inside each other")
            builder.start(tag, attributes)

        def end(tag: str) -> None:
            depth[0] -= 1
            builder.end(tag)

        def refuse(*_: object) -> None:
            raise self.bad(f"declares a document type or entities in {name!r}, which ARX never does; it is not read")

        parser = expat.ParserCreate("utf-8")
        parser.StartElementHandler, parser.EndElementHandler = start, end
        parser.CharacterDataHandler = builder.data
        parser.StartDoctypeDeclHandler = refuse
        parser.EntityDeclHandler = refuse
        try:
            parser.Parse(self.text(name, MOST_XML).encode(), True)
        except expat.ExpatError as error:
            raise self.bad(f"has a part {name!r} that is no valid XML: {error}") from error
        tree = builder.close()
        if tree.tag != root:
            raise self.bad(f"has a part {name!r} that begins with <{tree.tag}> instead of <{root}>")
        return tree

    def copy(self, name: str, target: BinaryIO) -> tuple[str, int]:
        """Write a table to a file as it is; its encoding and about how many rows it has."""
        decoder, encoding, lines = codecs.getincrementaldecoder("utf-8")(), "utf-8", 0
        for piece in chain(self.pieces(name, MOST_TABLE), [b""]):  # the empty one ends the last letter
            target.write(piece)
            lines += piece.count(b"\n")
            if encoding == "utf-8":
                try:
                    decoder.decode(piece, final=not piece)
                except UnicodeDecodeError:
                    encoding = "cp1252"
        return encoding, max(lines - 1, 1)


@contextmanager
def open_archive(path: str | Path) -> Iterator[Archive]:
    """The zip of a project, whose names are looked at before any of its bytes are."""
    place = Path(path)
    try:
        opened = zipfile.ZipFile(place)
    except DAMAGES as error:
        why = getattr(error, "strerror", None) or "it is no zip, as projects of ARX are"
        raise BadInput(f"The ARX project {str(place)!r} cannot be read: {why}.") from error
    with opened:
        archive = Archive(place, opened)
        names = opened.namelist()
        if len(names) > MOST_MEMBERS:
            raise archive.bad(f"has {len(names):,} parts, and {MOST_MEMBERS:,} is the most that is read")
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise archive.bad(f"has two parts that are both called {twice[0]!r}")
        outside = [name for name in names if not is_inside(name)]
        if outside:
            raise archive.bad(f"has a part {outside[0]!r}, whose name leads out of its folder")
        check_sizes(archive)
        check_version(archive)
        yield archive


def check_sizes(archive: Archive) -> None:
    """Raise where the texts say that they are far larger than the zip, whose parts may even share their bytes."""
    sizes = {each.filename: each.file_size for each in archive.zip.infolist() if not each.filename.endswith(".dat")}
    if sum(sizes.values()) > max(SMALL, MOST_RATIO * archive.path.stat().st_size):
        raise archive.bad(f"is packed more than {MOST_RATIO} times, as no table is")
    if sum(size for name, size in sizes.items() if name.startswith("input/hierarchies/")) > MOST_LINES:
        raise archive.bad(f"has hierarchies of more than {MOST_LINES:,} bytes together, which are not read")


def is_inside(name: str) -> bool:
    """Whether a name stays inside the folder that it is unpacked into."""
    path = PurePosixPath(name)
    return not (path.is_absolute() or ".." in path.parts or "\\" in name or re.match(r"[A-Za-z]:", name))


def check_version(archive: Archive) -> None:
    """Raise where a project is written in words that we do not know."""
    tree = archive.xml("metadata.xml", "metadata")
    words = (tree.findtext("vocabulary") or "1.0").strip()
    if words != VOCABULARY:
        version = (tree.findtext("version") or "?").strip()
        raise archive.bad(
            f"is written in vocabulary {words!r} (ARX {version}), and only {VOCABULARY} is read. Open it in ARX 3 or "
            "later, and save it again"
        )
