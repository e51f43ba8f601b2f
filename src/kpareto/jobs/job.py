"""One TOML file <-> the objects: a job (docs/job.md). Used by the command line and the web page.

Every mistake is one sentence that names the place in the file, what stands there and what may stand there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast, get_args

from kpareto.engines import is_address, table_at
from kpareto.engines.admission import Admission
from kpareto.engines.form import FORM_KEYS, DataFile, Form
from kpareto.engines.read import read_drawn
from kpareto.engines.source import is_file_name
from kpareto.engines.wishes import Missing, Wish, load_hierarchies
from kpareto.errors import BadJob, BadSchema, Progress, did_you_mean
from kpareto.fronts.problem import Problem, problem
from kpareto.jobs.checks import (
    Check,
    check_columns,
    check_data,
    check_release,
    check_suppression,
    preset_quasi,
    read_rule,
    say_undecided,
)
from kpareto.jobs.forms import TEXT_KEYS, read_form, read_text_form
from kpareto.jobs.limits import check_budget, check_limits
from kpareto.jobs.people import POPULATION_OPTIONS, Everybody, check_population, draw_table
from kpareto.searches.names import METHODS, MODELS, SEED, check_method, own_settings, read_options
from kpareto.strict import FileKind, is_missing, parse_toml, read_text, read_value
from kpareto.tables.hierarchy import Hierarchy
from kpareto.tables.lattice import Kind
from kpareto.tables.partition import STEP, Rule, Suppression, read_limit
from kpareto.tables.schema import DECIDE, ROLES, Schema
from kpareto.tables.spelling import NO_VALUE
from kpareto.tables.table import Domain, Table


@dataclass(frozen=True)
class Column:
    """What the job says about one column."""

    role: str = "plain"  # or decide: left out of the release until somebody who knows the data has given it a role
    hierarchy: Any = None  # a path, an inline table, or None
    weight: float = 1.0
    first: int = 0  # the level to read from where rows must come in coarser
    tie: str | None = None  # a plain column: the quasi-identifier whose groups it shows instead of its own values
    declared: bool = False  # a plain column that may tell what others hide: nobody outside knows it


@dataclass(frozen=True, repr=False)
class Job:
    """Everything a run needs to know, as the file says it."""

    folder: Path  # relative paths in the job start here
    source: str
    missing: Missing | None = None  # None: drop where that costs few rows, else category
    missing_values: tuple[str, ...] = NO_VALUE
    person: str | None = None
    domain: Domain | None = None
    preset: str | None = None
    form: Form = field(default_factory=Form)  # of its file
    table_name: str | None = None
    columns: Mapping[str, Column] = field(default_factory=dict)
    rule: Rule = "as-needed"
    step: float = STEP  # of the thresholds of numbers on a scale, such as t
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
    everybody: Everybody | None = None  # the population that the rows were drawn from
    frame: object = field(default=None, repr=False)  # rows at hand in Python, instead of those of the source

    def __repr__(self) -> str:
        """Short, and without a password of a database: a notebook prints this."""
        limits = "".join(f", {name} {limit:g}" for name, limit in self.limits.items())
        source = "a table in a database" if self.in_database else self.source
        return f"Job({source}, {len(self.columns)} columns, {self.method} for {', '.join(self.objectives)}{limits})"

    def path(self, name: str) -> Path:
        """A path of the job, from the job's folder."""
        return self.folder / name

    def destination(self, target: str) -> str | Path:
        """Where a release goes: a path from the job's folder, or a table where the rows are in a database."""
        if self.in_database and not is_file_name(target):
            return target
        return f"{self.path(target)}/" if target.endswith("/") else self.path(target)

    @property
    def encoding(self) -> str:
        """That of a file of text."""
        return self.form.encoding

    @property
    def embedded(self) -> bool:
        """Whether the rows are the embedded Adult table."""
        return self.source == "adult"

    @property
    def in_database(self) -> bool:
        """Whether the rows are in a database or read by a cluster, not by ourselves from a file."""
        return is_address(self.source)

    def schema(self) -> Schema:
        """The role of each column."""
        by_role: dict[str, list[str]] = {role: [] for role in ROLES}
        for name, column in self.columns.items():
            by_role["identifier" if column.role == DECIDE else column.role].append(name)
        identifier, quasi, sensitive, target, plain = (tuple(by_role[role]) for role in ROLES)
        if self.embedded and not quasi:
            from kpareto.tables.adult import adult_schema

            preset = adult_schema(self.preset or "default", *self._adult_roles())
            weights = {n: c.weight for n, c in self.columns.items() if n in preset.quasi}
            own = tuple(name for name in plain if name not in preset.named)  # a weight alone leaves the preset's role
            return replace(preset, identifier=identifier, person=self.person, weights=weights, plain=own)
        weights = {n: c.weight for n, c in self.columns.items() if c.role == "quasi-identifier" and c.weight != 1.0}
        try:
            return Schema(quasi, sensitive, target, identifier, self.person, weights, plain)
        except BadSchema as error:
            raise BadJob(f"{error} Roles are given under [columns.NAME] in the job file.") from error

    @property
    def undecided(self) -> tuple[str, ...]:
        """The columns that are left out because nobody has decided about them."""
        return tuple(name for name, column in self.columns.items() if column.role == DECIDE)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the job leaves open, in sentences."""
        return say_undecided(self.undecided)

    def _adult_roles(self) -> tuple[str | None, str | None]:
        target = [name for name, column in self.columns.items() if column.role == "target"]
        sensitive = [name for name, column in self.columns.items() if column.role == "sensitive"]
        return (target[0] if target else None, sensitive[0] if sensitive else None)

    def rows_source(self) -> Any:
        """What kpareto.read takes: a file with its form, a table in a database, the embedded rows, or those at hand."""
        if self.frame is not None:
            return self.frame
        if self.embedded:
            from kpareto.tables.adult import adult

            return adult("train")
        if self.in_database:
            if self.table_name is None:
                raise BadJob('data.source is a database, and no table is named. Add table = "people" under [data].')
            return table_at(self.source, self.table_name)
        return DataFile(self.path(self.source), self.form)

    def table(self, progress: Progress | None = None) -> Table:
        """The rolled-up table with its hierarchies."""
        schema = self.schema()
        domain: Domain = self.domain or "observed"
        if self.embedded:
            from kpareto.tables.adult import adult_table, preset_of

            domain = self.domain or preset_of(self.preset or "default").domain
            if self._is_preset(schema):
                target, sensitive = self._adult_roles()
                table = adult_table(self.preset or "default", target=target, sensitive=sensitive, domain=self.domain)
                whole = replace(table, schema=schema)
                plain = Wish(schema, "drop", self.missing_values, None, domain)
                return draw_table(self.everybody, self.folder, plain, self.admission, lambda _: whole)
        policy = self.missing or ("drop" if self.embedded else None)  # the papers drop rows of the embedded table
        wish = Wish(schema, policy, self.missing_values, self.forms(schema), domain)
        source = self.rows_source()
        return draw_table(
            self.everybody, self.folder, wish, self.admission,
            lambda known: read_drawn(source, wish, self.admission, known, progress=progress),
        )  # fmt: skip

    def _is_preset(self, schema: Schema) -> bool:
        """Whether the embedded table is wanted as its preset has it, so that it need not be read row by row."""
        from kpareto.tables.adult import adult_schema

        preset = adult_schema(self.preset or "default", *self._adult_roles())
        plain = Job(self.folder, self.source)
        return (
            all(column.hierarchy is None for column in self.columns.values())
            and (schema.quasi, schema.sensitive, schema.target) == (preset.quasi, preset.sensitive, preset.target)
            and self.person is None
            and (self.missing, self.missing_values) == (plain.missing, plain.missing_values)
            and self.admission == plain.admission
        )

    def forms(self, schema: Schema) -> dict[str, object]:
        """What the job gives as hierarchies: files, rules, and those of the embedded table."""
        forms: dict[str, object] = {}
        if self.embedded:
            from kpareto.tables.adult import adult_hierarchies

            known = adult_hierarchies(self.preset or "default")
            forms = {name: known[name] for name in schema.quasi if name in known}
        for name, column in self.columns.items():
            if column.hierarchy is not None and name in schema.quasi:
                source, file = column.hierarchy, _file_of(column.hierarchy)
                if file is not None:
                    source = self.path(file) if isinstance(source, str) else {**source, "file": str(self.path(file))}
                forms[name] = source
        return forms

    @property
    def inputs(self) -> list[Path]:
        """The files the job reads: its rows, where they are in a file, and its hierarchies."""
        files = [file for column in self.columns.values() if (file := _file_of(column.hierarchy)) is not None]
        rows = [] if self.embedded or self.in_database or self.frame is not None else [self.source]
        files += [] if self.everybody is None else self.everybody.files
        return [self.path(file) for file in (*rows, *files)]

    def hierarchies(self, table: Table) -> dict[str, Hierarchy]:
        """The hierarchies named in the job; a column without one keeps its values or shows none of them."""
        return load_hierarchies(table, self.forms(table.schema))

    def suppression(self) -> Suppression:
        """The suppression rule."""
        k = None
        if self.rule == "below-k":
            if "k" not in self.limits:
                raise BadJob("The rule below-k needs a k. Add [limits] with k = 5, say.")
            k = int(self.limits["k"])  # a whole number: jobs.limits refuses others
        return Suppression(self.rule, self.limit, k, "mask" if self.rows == "mask" else "drop", step=self.step)

    def problem(self, table: Table | None = None, progress: Progress | None = None) -> Problem:
        """The table, objectives, limits and suppression rule."""
        return problem(table or self.table(progress), self.objectives, self.suppression(), self.limits)


def _file_of(hierarchy: object) -> str | None:
    """The file that a hierarchy of a job is in; None where it is a rule."""
    source = hierarchy.get("file") if isinstance(hierarchy, Mapping) else hierarchy
    return source if isinstance(source, str) else None


JOB_FILE = FileKind(
    "The job",
    "Correct it; if it is a data file, make a job for it with: kpareto inspect DATA -o job.toml.",
    BadJob,
)
MOST_JOB = 16 * 2**20  # bytes of a job file

ADULT = """
[data]
source = "adult"
[suppression]
limit = 0.01
"""


def load_job(path: Path | str, changes: Sequence[str] = (), model: str | None = None) -> Job:
    """A job from its file, or from the word adult; ``changes`` such as ``search.seed=3`` override what it says.

    ``model`` (lattice, cuts, local) takes another search than the job has, for the same objectives and seed.
    """
    place = Path(path)
    if is_address(str(path)):
        raise BadJob(
            "This is the address of a database, and a job file is needed. "
            "Write one with: kpareto inspect ADDRESS --table NAME -o job.toml."
        )
    if str(path) == "adult":
        return parse_job(ADULT, Path(), "adult", changes, model)
    if is_missing(place):
        raise BadJob(
            f"There is no job file {str(path)!r}. Write one with: kpareto inspect DATA -o job.toml, or say adult."
        )
    text = read_text(place, JOB_FILE, MOST_JOB)
    return parse_job(text, place.parent, place.name, changes, model)


def _change(raw: dict[str, Any], change: str) -> None:
    """Put one ``part.key=value`` into the raw job; what is no TOML is taken as text, and no value takes the key out."""
    key, equals, value = change.partition("=")
    *parts, last = key.strip().split(".", 2)
    if not equals or not parts:
        raise BadJob(f"The change {change!r} is not understood. Write it as part.key=value, such as search.seed=3.")
    place = raw
    for part in parts:
        place = place.setdefault(part, {})
        if not isinstance(place, dict):
            raise BadJob(f"The change {change!r} goes into {part!r}, which is no part of a job.")
    if not value.strip():
        place.pop(last, None)
        return
    place[last] = read_value(value)


def _take_model(raw: dict[str, Any], model: str) -> None:
    """Put the search of another model into the raw job; what is meant for the job's own search alone goes with that."""
    if model not in MODELS:
        raise BadJob(f"No model {model!r}. {did_you_mean(model, MODELS)}There are: {', '.join(MODELS)}.")
    search = raw.get("search", {})
    if not isinstance(search, dict) or METHODS.get(str(search.get("method", "exact")), ("",))[0] == model:
        return  # the check of the part has the sentence, or its own search is of that model already
    kept = ("objectives", "seed", *own_settings(MODELS[model], search.get("method", "exact")))
    raw["search"] = {key: search[key] for key in kept if key in search} | {"method": MODELS[model]}


def parse_job(
    text: str, folder: Path, name: str = "the job", changes: Sequence[str] = (), model: str | None = None
) -> Job:
    """A job from its text."""
    raw = parse_toml(text, JOB_FILE, name)
    if model is not None:
        _take_model(raw, model)
    for change in changes:
        _change(raw, change)
    check = Check(name)
    check.keys(raw, "", PARTS)
    data = check.part(raw, "data", (*DATA, *ADMISSION_OPTIONS))
    if "source" not in data:
        raise BadJob(f'{name} has no data.source. Add [data] with source = "people.csv".')
    check_data(check, data)
    suppression = check.part(raw, "suppression", ("rule", "limit", "rows", "step"))
    check_suppression(check, suppression)
    search = _search(check, raw)
    limits = {key: check.number(value, f"limits.{key}") for key, value in check.table(raw, "limits").items()}
    check_limits(check, limits)
    release = check.part(raw, "release", ("choose", "target", *RELEASE_OPTIONS))
    check_release(check, release)
    read_text_form(check, release)
    columns = _columns(check, raw, data)
    return Job(
        folder=folder,
        source=check.text(data["source"], "data.source"),
        missing=cast(Missing, check.one_of(data["missing"], "data.missing", get_args(Missing)))
        if "missing" in data
        else None,
        missing_values=tuple(check.texts(data.get("missing_values", list(NO_VALUE)), "data.missing_values")),
        person=check.text(data["person"], "data.person") if "person" in data else None,
        domain=cast(Domain, check.one_of(data["domain"], "data.domain", get_args(Domain)))
        if "domain" in data
        else None,
        preset=check.text(data["preset"], "data.preset") if "preset" in data else None,
        form=read_form(check, data, "data", folder),
        table_name=check.text(data["table"], "data.table") if "table" in data else None,
        columns=columns,
        rule=read_rule(check, suppression, search["method"]),
        step=check.number(suppression.get("step", STEP), "suppression.step"),
        # 0 and 0.0 both mean none, and a page that has only one kind of number must end with the same front.
        limit=read_limit(suppression.get("limit", 0.0), f"{name}: suppression.limit") or 0.0,
        rows=check.one_of(suppression.get("rows", "drop"), "suppression.rows", ("drop", "mask")),
        method=search["method"],
        space=search["space"],
        objectives=search["objectives"],
        budget=search["budget"],
        seed=search["seed"],
        options=search["options"],
        limits=limits,
        choose=check.text(release["choose"], "release.choose")
        if "choose" in release
        else _choose_wished(search["options"]),
        target=check.text(release["target"], "release.target") if "target" in release else None,
        release={key: release[key] for key in RELEASE_OPTIONS if key in release},
        admission=_admission(check, data, columns),
        everybody=check_population(check, check.part(raw, "population", POPULATION_OPTIONS), folder)
        if "population" in raw
        else None,
    )


def _admission(check: Check, data: Mapping[str, Any], columns: Mapping[str, Column]) -> Admission:
    first = {name: column.first for name, column in columns.items() if column.first}
    try:
        return Admission(first=first, **{key: data[key] for key in ADMISSION_OPTIONS if key in data})
    except BadJob as error:
        raise BadJob(f"{check.name}, [data]: {error}") from error


def _search(check: Check, raw: Mapping[str, Any]) -> dict[str, Any]:
    """What ``[search]`` says, every key checked against the list of its method."""
    search = dict(check.table(raw, "search"))
    method = check.one_of(search.pop("method", "exact"), "search.method", tuple(METHODS))
    space = check.one_of(search.pop("space", METHODS[method][0]), "search.space", get_args(Kind))
    wished = search.get("preference")
    wishes = ["k", *(name for name in wished if name != "k")] if isinstance(wished, dict) else None
    objectives = search.pop("objectives", wishes or ["k", "glm"])
    if not isinstance(objectives, list) or not objectives:
        raise BadJob(f'{check.name}: search.objectives is {objectives!r}. Give a list such as ["k", "glm"].')
    seed = search.pop("seed", SEED.default)
    SEED.check(seed, f"{check.name}: search.seed")
    options = read_options(method, search, f"{check.name}: search.")
    check_budget(check, options.get("budget"))
    check_method(method, cast(Kind, space))
    return {
        "method": method,
        "space": space,
        "objectives": tuple(check.texts(objectives, "search.objectives")),
        "budget": options.pop("budget", None),
        "seed": seed,
        "options": options,
    }


def _choose_wished(options: Mapping[str, Any]) -> str | None:
    """The choice of a job that has a preference and says nothing else: the answer to it."""
    wishes = options.get("preference") or {}
    return "prefer: " + ", ".join(f"{name}={value!r}" for name, value in wishes.items()) if wishes else None


PARTS = ("data", "columns", "population", "suppression", "search", "limits", "release")
DATA = ("source", "missing", "missing_values", "person", "domain", "preset", "table", *FORM_KEYS)
ADMISSION_OPTIONS = ("memory", "too_many", "coarsen", "sample", "seed")
RELEASE_OPTIONS = ("identifiers", "order", "seed", "formulas", "representative", "sign", *TEXT_KEYS)


def _columns(check: Check, raw: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Column]:
    columns = {}
    for name, entry in check.table(raw, "columns").items():
        where = f"columns.{name}"
        if not isinstance(entry, dict):
            raise BadJob(f'{check.name}: {where} is {entry!r}. Write [{where}] with role = "quasi-identifier", say.')
        check.keys(entry, where, ("role", "hierarchy", "weight", "first", "tie", "declared"))
        hierarchy = entry.get("hierarchy")
        if hierarchy is not None and not isinstance(hierarchy, str | dict):
            raise BadJob(
                f"{check.name}: {where}.hierarchy is {hierarchy!r}. Give a file name, or an inline table such as "
                "{intervals = [5, 10], from = 0}."
            )
        columns[name] = Column(
            check.one_of(entry.get("role", "plain"), f"{where}.role", (*ROLES, DECIDE)),
            hierarchy,
            check.number(entry.get("weight", 1.0), f"{where}.weight"),
            check.whole(entry.get("first", 0), f"{where}.first", 0),
            check.text(entry["tie"], f"{where}.tie") if "tie" in entry else None,
            check.truth(entry.get("declared", False), f"{where}.declared"),
        )
    quasi = [name for name, column in columns.items() if column.role == "quasi-identifier"]
    if not quasi and data["source"] == "adult":
        quasi = list(preset_quasi(check, raw["columns"], data)) if columns else []
    check_columns(check, check.table(raw, "columns"), quasi, data)
    return columns
