"""One TOML file <-> the objects: what CONTRACT.md calls a job. Used by the command line and the web page.

Every mistake is one sentence that names the place in the file, what stands there and what may stand there.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast, get_args

from kpareto.admission import Admission
from kpareto.errors import BadJob, BadSchema, did_you_mean
from kpareto.files import Report
from kpareto.frames import Missing, loaded, read
from kpareto.hierarchy import Hierarchy
from kpareto.measure import MAKERS, read_spec
from kpareto.partition import RULES, Rule, Suppression
from kpareto.places import is_file
from kpareto.postgres import Postgres, is_address
from kpareto.problem import Problem, constrained, problem
from kpareto.schema import ROLES, Schema
from kpareto.searches import METHODS
from kpareto.space import Kind
from kpareto.spark import SCHEME, SparkTable
from kpareto.table import Domain, Table


@dataclass(frozen=True)
class Column:
    """What the job says about one column."""

    role: str = "plain"
    hierarchy: Any = None  # a path, an inline table, or None
    weight: float = 1.0
    first: int = 0  # the level to read from where rows must come in coarser


@dataclass(frozen=True)
class Job:
    """Everything a run needs to know, as the file says it."""

    folder: Path  # relative paths in the job start here
    source: str
    missing: Missing = "drop"
    missing_values: tuple[str, ...] = ("?", "")
    person: str | None = None
    domain: Domain | None = None
    preset: str | None = None
    encoding: str = "utf-8"
    table_name: str | None = None
    columns: Mapping[str, Column] = field(default_factory=dict)
    rule: Rule = "cap-max-k"
    limit: float = 0.0
    rows: str = "drop"
    method: str = "exact"
    space: Kind = "lattice"
    objectives: tuple[str, ...] = ("k", "glm")
    budget: int | None = None
    seed: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)  # further settings of the search
    limits: Mapping[str, float] = field(default_factory=dict)
    choose: str | None = None
    target: str | None = None
    release: Mapping[str, Any] = field(default_factory=dict)  # further settings of the release
    admission: Admission = field(default_factory=Admission)  # how much may come in

    def path(self, name: str) -> Path:
        """A path of the job, from the job's folder."""
        return self.folder / name

    def destination(self, target: str) -> str | Path:
        """Where a release goes: a path from the job's folder, or a table where the rows are in a database."""
        if self.in_database and not is_file(target):
            return target
        return f"{self.path(target)}/" if target.endswith("/") else self.path(target)

    @property
    def embedded(self) -> bool:
        """Whether the rows are the embedded Adult table."""
        return self.source == "adult"

    @property
    def in_database(self) -> bool:
        """Whether the rows are in a PostgreSQL database or read by a Spark cluster, not by ourselves from a file."""
        return is_address(self.source) or self.source.startswith(SCHEME)

    def schema(self) -> Schema:
        """The role of each column."""
        by_role: dict[str, list[str]] = {role: [] for role in ROLES}
        for name, column in self.columns.items():
            by_role[column.role].append(name)
        if self.embedded and not by_role["quasi-identifier"]:
            from kpareto.datasets import adult_schema

            preset = adult_schema(self.preset or "default", *self._adult_roles())
            return replace(preset, weights={n: c.weight for n, c in self.columns.items() if n in preset.quasi})
        weights = {n: c.weight for n, c in self.columns.items() if c.role == "quasi-identifier" and c.weight != 1.0}
        try:
            return Schema(
                tuple(by_role["quasi-identifier"]),
                tuple(by_role["sensitive"]),
                tuple(by_role["target"]),
                tuple(by_role["identifier"]),
                self.person,
                weights,
            )
        except BadSchema as error:
            raise BadJob(f"{error} Roles are given under [columns.NAME] in the job file.") from error

    def _adult_roles(self) -> tuple[str | None, str | None]:
        target = [name for name, column in self.columns.items() if column.role == "target"]
        sensitive = [name for name, column in self.columns.items() if column.role == "sensitive"]
        return (target[0] if target else None, sensitive[0] if sensitive else None)

    def rows_source(self) -> Any:
        """What kpareto.read takes: a path, a table in a database, or the embedded rows."""
        if self.embedded:
            from kpareto.datasets import adult

            return adult("train")
        if self.in_database:
            if self.table_name is None:
                raise BadJob('data.source is a database, and no table is named. Add table = "people" under [data].')
            if self.source.startswith(SCHEME):
                return SparkTable(self.source, self.table_name)
            return Postgres(self.source, self.table_name)
        return self.path(self.source)

    def table(self, progress: Report | None = None) -> Table:
        """The rolled-up table with its hierarchies."""
        schema = self.schema()
        own = any(column.hierarchy is not None for column in self.columns.values())
        if self.embedded and not own and self.admission.coarsen == "needed":
            from kpareto.datasets import adult_schema, adult_table

            target, sensitive = self._adult_roles()
            if schema.quasi == adult_schema(self.preset or "default", target, sensitive).quasi:
                found = adult_table(self.preset or "default", target=target, sensitive=sensitive, domain=self.domain)
                return replace(found, schema=schema)
        given = self.admission
        return read(
            self.rows_source(),
            schema,
            self.missing,
            self.missing_values,
            self.forms(schema),
            self.domain or "observed",
            self.encoding,
            memory=given.memory,
            too_many=given.too_many,
            first=given.first,
            coarsen=given.coarsen,
            sample=given.sample,
            seed=given.seed,
            progress=progress,
        )

    def forms(self, schema: Schema) -> dict[str, object]:
        """What the job gives as hierarchies: files, rules, and those of the embedded table."""
        found: dict[str, object] = {}
        if self.embedded:
            from kpareto.datasets import adult_hierarchies

            known = adult_hierarchies(self.preset or "default")
            found = {name: known[name] for name in schema.quasi if name in known}
        for name, column in self.columns.items():
            if column.hierarchy is not None and name in schema.quasi:
                source = column.hierarchy
                found[name] = self.path(source) if isinstance(source, str) else source
        return found

    def hierarchies(self, table: Table) -> dict[str, Hierarchy]:
        """The hierarchies named in the job; a column without one keeps its values or shows none of them."""
        return loaded(table, self.forms(table.schema))

    def suppression(self) -> Suppression:
        """The suppression rule."""
        if self.rule == "constraint":
            if not self.limits:
                raise BadJob("The rule constraint needs at least one limit. Add [limits] with k = 5, say.")
            return constrained(self.limits, self.limit, self.rows)
        k = None
        if self.rule == "below-k":
            if "k" not in self.limits:
                raise BadJob("The rule below-k needs a k. Add [limits] with k = 5, say.")
            k = int(self.limits["k"])
        return Suppression(self.rule, self.limit, k, "mask" if self.rows == "mask" else "drop")

    def problem(self, table: Table | None = None, progress: Report | None = None) -> Problem:
        """The table, objectives, limits and suppression rule."""
        return problem(table or self.table(progress), self.objectives, self.suppression(), self.limits)


ADULT = """
[data]
source = "adult"
[suppression]
limit = 0.01
"""


def load_job(path: Path | str, changes: Sequence[str] = ()) -> Job:
    """A job from its file, or from the word adult; ``changes`` such as ``search.seed=3`` override what it says."""
    place = Path(path)
    if is_address(str(path)):
        raise BadJob(
            "This is the address of a database, and a job file is needed. "
            "Write one with: kpareto inspect ADDRESS --table NAME -o job.toml."
        )
    if str(path) == "adult":
        return parse_job(ADULT, Path(), "adult", changes)
    try:
        text = place.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise BadJob(
            f"There is no job file {str(path)!r}. Write one with: kpareto inspect DATA -o job.toml, or say adult."
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise BadJob(
            f"{str(path)!r} cannot be read as a job file (UTF-8 text in TOML): {error}. "
            "If it is a data file, make a job for it with: kpareto inspect DATA -o job.toml."
        ) from error
    return parse_job(text, place.parent, place.name, changes)


def _changed(raw: dict[str, Any], change: str) -> None:
    """Put one ``part.key=value`` into the raw job; a value that is no TOML is taken as text."""
    key, equals, value = change.partition("=")
    *parts, last = key.strip().split(".", 2)
    if not equals or not parts:
        raise BadJob(f"The change {change!r} is not understood. Write it as part.key=value, such as search.seed=3.")
    place = raw
    for part in parts:
        place = place.setdefault(part, {})
        if not isinstance(place, dict):
            raise BadJob(f"The change {change!r} goes into {part!r}, which is no part of a job.")
    try:
        place[last] = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        place[last] = value.strip()


def parse_job(text: str, folder: Path, name: str = "the job", changes: Sequence[str] = ()) -> Job:
    """A job from its text."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadJob(
            f"{name} is not valid TOML: {error}. Correct that line; if it is a data file, make a job for it with: "
            "kpareto inspect DATA -o job.toml."
        ) from error
    for change in changes:
        _changed(raw, change)
    check = _Check(name)
    check.keys(raw, "", ("data", "columns", "suppression", "search", "limits", "release"))
    data = check.part(raw, "data", (*DATA, *ADMISSION_OPTIONS))
    if "source" not in data:
        raise BadJob(f'{name} has no data.source. Add [data] with source = "people.csv".')
    suppression = check.part(raw, "suppression", ("rule", "limit", "rows"))
    search = check.part(raw, "search", ("method", "space", "objectives", "budget", "seed", *SEARCH_OPTIONS))
    limits = {key: check.number(value, f"limits.{key}") for key, value in check.table(raw, "limits").items()}
    for spec in limits:
        check.one_of(read_spec(spec)[0], f"limits.{spec}", tuple(MAKERS))
    release = check.part(raw, "release", ("choose", "target", *RELEASE_OPTIONS))
    columns = _columns(check, raw)
    objectives = search.get("objectives", ["k", "glm"])
    if not isinstance(objectives, list) or not objectives:
        raise BadJob(f'{name}: search.objectives is {objectives!r}. Give a list such as ["k", "glm"].')
    return Job(
        folder=folder,
        source=check.text(data["source"], "data.source"),
        missing=cast(Missing, check.one_of(data.get("missing", "drop"), "data.missing", get_args(Missing))),
        missing_values=tuple(check.texts(data.get("missing_values", ["?", ""]), "data.missing_values")),
        person=check.text(data["person"], "data.person") if "person" in data else None,
        domain=cast(Domain, check.one_of(data["domain"], "data.domain", get_args(Domain)))
        if "domain" in data
        else None,
        preset=check.text(data["preset"], "data.preset") if "preset" in data else None,
        encoding=check.text(data.get("encoding", "utf-8"), "data.encoding"),
        table_name=check.text(data["table"], "data.table") if "table" in data else None,
        columns=columns,
        rule=cast(Rule, check.one_of(suppression.get("rule", "cap-max-k"), "suppression.rule", RULES)),
        limit=check.number(suppression.get("limit", 0.0), "suppression.limit"),
        rows=check.one_of(suppression.get("rows", "drop"), "suppression.rows", ("drop", "mask")),
        method=check.one_of(search.get("method", "exact"), "search.method", tuple(METHODS)),
        space=cast(Kind, check.one_of(search.get("space", "lattice"), "search.space", get_args(Kind))),
        objectives=tuple(check.texts(objectives, "search.objectives")),
        budget=check.whole(search["budget"], "search.budget", 1) if "budget" in search else None,
        seed=check.whole(search.get("seed", 1), "search.seed", 0),
        options={key: search[key] for key in SEARCH_OPTIONS if key in search},
        limits=limits,
        choose=check.text(release["choose"], "release.choose") if "choose" in release else None,
        target=check.text(release["target"], "release.target") if "target" in release else None,
        release={key: release[key] for key in RELEASE_OPTIONS if key in release},
        admission=_admission(check, data, columns),
    )


def _admission(check: _Check, data: Mapping[str, Any], columns: Mapping[str, Column]) -> Admission:
    first = {name: column.first for name, column in columns.items() if column.first}
    try:
        return Admission(first=first, **{key: data[key] for key in ADMISSION_OPTIONS if key in data})
    except BadJob as error:
        raise BadJob(f"{check.name}, [data]: {error}") from error


DATA = ("source", "missing", "missing_values", "person", "domain", "preset", "encoding", "table")
ADMISSION_OPTIONS = ("memory", "too_many", "coarsen", "sample", "seed")
SEARCH_OPTIONS = ("ties", "depth", "population", "grid", "crossover", "duplicates", "threads", "preference", "mutation")
RELEASE_OPTIONS = ("identifiers", "order", "seed", "formulas", "representative", "certificate", "report", "recoding")


def _columns(check: _Check, raw: Mapping[str, Any]) -> dict[str, Column]:
    found = {}
    for name, given in check.table(raw, "columns").items():
        where = f"columns.{name}"
        if not isinstance(given, dict):
            raise BadJob(f'{check.name}: {where} is {given!r}. Write [{where}] with role = "quasi-identifier", say.')
        check.keys(given, where, ("role", "hierarchy", "weight", "first"))
        hierarchy = given.get("hierarchy")
        if hierarchy is not None and not isinstance(hierarchy, str | dict):
            raise BadJob(
                f"{check.name}: {where}.hierarchy is {hierarchy!r}. Give a file name, or an inline table such as "
                "{intervals = [5, 10], from = 0}."
            )
        found[name] = Column(
            check.one_of(given.get("role", "plain"), f"{where}.role", ROLES),
            hierarchy,
            check.number(given.get("weight", 1.0), f"{where}.weight"),
            check.whole(given.get("first", 0), f"{where}.first", 0),
        )
    return found


@dataclass(frozen=True)
class _Check:
    """Checks of raw TOML values, each with a sentence that names the place."""

    name: str

    def keys(self, raw: Mapping[str, Any], where: str, known: Sequence[str]) -> None:
        for key in raw:
            if key not in known:
                place = f"{where}.{key}" if where else f"[{key}]"
                raise BadJob(
                    f"{self.name}: {place} is not known. {did_you_mean(key, known)}There are: {', '.join(known)}."
                )

    def table(self, raw: Mapping[str, Any], key: str) -> dict[str, Any]:
        found = raw.get(key, {})
        if not isinstance(found, dict):
            raise BadJob(f"{self.name}: {key} is {found!r}. Write it as a part of its own: [{key}].")
        return found

    def part(self, raw: Mapping[str, Any], key: str, known: Sequence[str]) -> dict[str, Any]:
        found = self.table(raw, key)
        self.keys(found, key, known)
        return found

    def text(self, value: Any, where: str) -> str:
        if not isinstance(value, str):
            raise BadJob(f"{self.name}: {where} is {value!r}. Give a text in quotes.")
        return value

    def texts(self, value: Any, where: str) -> list[str]:
        if not isinstance(value, list):
            raise BadJob(f"{self.name}: {where} is {value!r}. Give a list of texts in quotes.")
        return [self.text(entry, where) for entry in value]

    def one_of(self, value: Any, where: str, known: Sequence[str]) -> str:
        if value not in known:
            near = did_you_mean(value, known) if isinstance(value, str) else ""
            raise BadJob(f"{self.name}: {where} is {value!r}. {near}Take one of: {', '.join(known)}.")
        return str(value)

    def number(self, value: Any, where: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadJob(f"{self.name}: {where} is {value!r}. Give a number without quotes.")
        return value

    def whole(self, value: Any, where: str, least: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise BadJob(f"{self.name}: {where} is {value!r}. Give a whole number of at least {least}.")
        return value
