"""What a job is: everything a run needs to know, and the table and the problem that come of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kpareto.engines import is_address, table_at
from kpareto.engines.admission import Admission
from kpareto.engines.form import DataFile, Form, Missing
from kpareto.engines.source import is_file_name
from kpareto.errors import BadJob, BadSchema, Progress, Remedy, shorten
from kpareto.fronts.problem import Problem, problem
from kpareto.tables.hierarchies import load
from kpareto.tables.hierarchies.loading import place_missing
from kpareto.tables.hierarchy import Hierarchy
from kpareto.tables.lattice import Kind
from kpareto.tables.partition import STEP, Rule, Suppression
from kpareto.tables.schema import DECIDE, ROLES, Schema, Spellings
from kpareto.tables.spelling import NO_VALUE
from kpareto.tables.table import Domain, Estimator, Population, Table

if TYPE_CHECKING:
    from kpareto.engines.read import Wish


@dataclass(frozen=True)
class Column:
    """What the job says about one column."""

    role: str = "plain"  # or decide: left out of the release until somebody who knows the data has given it a role
    hierarchy: Any = None  # a path, an inline table, or None
    weight: float = 1.0
    first: int = 0  # the level to read from where rows must come in coarser
    tie: str | None = None  # a plain column: the quasi-identifier whose groups it shows instead of its own values
    declared: bool = False  # a plain column that may tell what others hide: nobody outside knows it
    levels: tuple[int, int] | None = None  # the least and the highest level that may be released; None: all


@dataclass(frozen=True, repr=False)
class Job:
    """Everything a run needs to know, as the file says it; ``load_job`` and ``Profile.job`` make one.

    Attributes
    ----------
    folder : Path
        Relative paths in the job start here.
    source : str
        The table: a file, the address of a database, or the word adult.
    missing : {'drop', 'category', 'error'} or None
        What becomes of rows without a value; None: drop where that costs few rows, else category.
    missing_values : tuple of str
        What stands for no value.
    person : str, tuple of str or None
        The column, or the columns together, that tell persons apart.
    domain : {'observed', 'declared'} or None
        Which leaves the loss counts.
    preset : str or None
        Of the embedded table.
    form : Form
        Of its file.
    table_name : str or None
        Of a table in a database.
    columns : mapping of str to Column
        The role, hierarchy, weight and levels of each.
    rule : {'as-needed', 'none', 'below-k', 'cap-max-k'}
        Which classes are suppressed.
    step : float
        Of the thresholds of numbers on a scale, such as t.
    limit : float
        The most rows that may be suppressed.
    rows : str
        What becomes of suppressed rows: drop or mask.
    method : str
        The search.
    space : str
        What it walks.
    objectives : tuple of str
        Measures by name.
    budget : int or None
        The most recodings that are evaluated.
    seed : int
        Decides every random choice.
    options : mapping
        Further settings of the search.
    limits : mapping of str to float
        Thresholds on measures.
    choose : str or None
        Which point is released.
    target : str or None
        Where it is written.
    release : mapping
        Further settings of the release.
    admission : Admission
        How much may come in.
    everybody : Everybody or None
        The population that the rows were drawn from.
    frame : object
        Rows at hand in Python, instead of those of the source.
    spellings : {'fold', 'exact'}
        Whether spellings of one sensitive value, and of one id, are one.
    use : mapping
        The tables and means that an analyst of the release will ask for, as ``utility`` takes them.

    Examples
    --------
    >>> import kpareto as kp
    >>> kp.load_job("adult").objectives
    ('k', 'glm')
    """

    folder: Path
    source: str
    missing: Missing | None = None
    missing_values: tuple[str, ...] = NO_VALUE
    person: str | tuple[str, ...] | None = None
    domain: Domain | None = None
    preset: str | None = None
    form: Form = field(default_factory=Form)
    table_name: str | None = None
    columns: Mapping[str, Column] = field(default_factory=dict)
    rule: Rule = "as-needed"
    step: float = STEP
    limit: float = 0.0
    rows: str = "drop"
    method: str = "exact"
    space: Kind = "lattice"
    objectives: tuple[str, ...] = ("k", "glm")
    budget: int | None = None
    seed: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)
    limits: Mapping[str, float] = field(default_factory=dict)
    choose: str | None = None
    target: str | None = None
    release: Mapping[str, Any] = field(default_factory=dict)
    admission: Admission = field(default_factory=Admission)
    everybody: Everybody | None = None
    frame: object = field(default=None, repr=False)
    spellings: Spellings = "fold"
    use: Mapping[str, Any] = field(default_factory=dict)

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
        levels = {name: column.levels for name, column in self.columns.items() if column.levels is not None}
        if self.embedded and not quasi:
            from kpareto.tables.adult import adult_schema

            preset = adult_schema(self.preset or "default", *self._adult_roles())
            weights = {n: c.weight for n, c in self.columns.items() if n in preset.quasi}
            others = tuple(
                name for name in plain if name not in preset.named
            )  # a weight alone leaves the preset's role
            named = replace(preset, identifier=identifier, person=self.person, spellings=self.spellings)
            return replace(named, weights=weights, plain=others, levels=levels)
        weights = {n: c.weight for n, c in self.columns.items() if c.role == "quasi-identifier" and c.weight != 1.0}
        try:
            return Schema(quasi, sensitive, target, identifier, self.person, weights, plain, self.spellings, levels)
        except BadSchema as error:
            remedy = Remedy("give-role", "Roles are given under [columns.NAME] in the job file.")
            raise BadJob(str(error), remedy=remedy) from error

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
                if self.everybody is None:
                    return whole
                from kpareto.engines.read import Wish

                plain = Wish(schema, "drop", self.missing_values, None, domain)
                return draw_table(self.everybody, self.folder, plain, self.admission, lambda _: whole)
        from kpareto.engines.read import Wish, read_drawn  # which loads what reads tables
        from kpareto.jobs.proposals import complete_hierarchies  # and what looks at them

        policy = self.missing or ("drop" if self.embedded else None)  # the papers drop rows of the embedded table
        wish = Wish(schema, policy, self.missing_values, self.forms(schema), domain)
        source = self.rows_source()
        table = draw_table(
            self.everybody, self.folder, wish, self.admission,
            lambda known: read_drawn(source, wish, self.admission, known, progress=progress),
        )  # fmt: skip
        return complete_hierarchies(replace(table, bare=self.bare(schema), trees=self._trees(table)))

    def _trees(self, table: Table) -> dict[str, Hierarchy]:
        """The hierarchies of sensitive columns, by which distances between their values go."""
        forms = self.forms(table.schema, table.schema.sensitive)
        rows = {c.name: dict(zip(c.values, c.totals.tolist(), strict=True)) for c in table.sensitive}
        return {name: place_missing(load(name, form, rows[name]), list(rows[name])) for name, form in forms.items()}

    def _is_preset(self, schema: Schema) -> bool:
        """Whether the embedded table is wanted as its preset has it, so that it need not be read row by row."""
        from kpareto.tables.adult import adult_schema

        preset = adult_schema(self.preset or "default", *self._adult_roles())
        plain = Job(self.folder, self.source)
        return (
            all(column.hierarchy is None for column in self.columns.values())
            and (schema.quasi, schema.sensitive, schema.target) == (preset.quasi, preset.sensitive, preset.target)
            and (self.person, self.spellings) == (plain.person, plain.spellings)
            and (self.missing, self.missing_values) == (plain.missing, plain.missing_values)
            and self.admission == plain.admission
        )

    def forms(self, schema: Schema, names: Sequence[str] | None = None) -> dict[str, object]:
        """What the job gives as hierarchies: files, rules, and those of the embedded table; of quasi-identifiers."""
        forms: dict[str, object] = {}
        if self.embedded and names is None:
            from kpareto.tables.adult import adult_hierarchies

            known = adult_hierarchies(self.preset or "default")
            forms = {name: known[name] for name in schema.quasi if name in known}
        for name, column in self.columns.items():
            if column.hierarchy is not None and name in (schema.quasi if names is None else names):
                source, file = column.hierarchy, _file_of(column.hierarchy)
                if file is not None:
                    source = self.path(file) if isinstance(source, str) else {**source, "file": str(self.path(file))}
                forms[name] = source
        return forms

    def bare(self, schema: Schema) -> tuple[str, ...]:
        """The quasi-identifiers for which the job names no hierarchy: they get one by their values."""
        forms = self.forms(schema)
        return tuple(name for name in schema.quasi if name not in forms)

    @property
    def inputs(self) -> list[Path]:
        """The files the job reads: its rows, where they are in a file, and its hierarchies."""
        files = [file for column in self.columns.values() if (file := _file_of(column.hierarchy)) is not None]
        rows = [] if self.embedded or self.in_database or self.frame is not None else [self.source]
        files += [] if self.everybody is None else self.everybody.files
        return [self.path(file) for file in (*rows, *files)]

    def hierarchies(self, table: Table) -> dict[str, Hierarchy]:
        """The hierarchies named in the job."""
        from kpareto.engines.read import load_hierarchies

        return load_hierarchies(table, self.forms(table.schema))

    def suppression(self) -> Suppression:
        """The suppression rule."""
        k = None
        if self.rule == "below-k":
            if "k" not in self.limits:
                raise BadJob("The rule below-k needs a k.", remedy=Remedy("set-limit", "Add [limits] with k = 5, say."))
            k = int(self.limits["k"])  # a whole number: jobs.parse refuses others
        return Suppression(self.rule, self.limit, k, "mask" if self.rows == "mask" else "drop", step=self.step)

    def problem(self, table: Table | None = None, progress: Progress | None = None) -> Problem:
        """The table, objectives, limits and suppression rule."""
        return problem(table or self.table(progress), self.objectives, self.suppression(), self.limits)


def _file_of(hierarchy: object) -> str | None:
    """The file that a hierarchy of a job is in; None where it is a rule."""
    source = hierarchy.get("file") if isinstance(hierarchy, Mapping) else hierarchy
    return source if isinstance(source, str) else None


def say_undecided(names: Sequence[str]) -> tuple[str, ...]:
    """A sentence about columns that nobody has decided about, where there are any."""
    sentence = (
        f"Left out of the release until you decide: {shorten(names, 20)}. Give each of them a role: "
        "quasi-identifier, sensitive, identifier, or plain if nobody outside can know it."
    )
    return (sentence,) if names else ()


# The population of a job: whom the rows were drawn from, as [population] says it.
#
# Either a table of everybody, in any engine, or the share of everybody that is in the table, or how many everybody are;
# the last two come with a model by which those who are alone in the population are estimated.


@dataclass(frozen=True)
class Everybody:
    """What [population] says."""

    source: str | None = None  # a table of the population
    table_name: str | None = None  # where that is in a database
    form: Form = field(default_factory=Form)  # of its file
    sampling: float | None = None  # the share of the population that is in the table
    size: int | None = None  # how many people the population has
    model: Estimator = "auto"

    @property
    def files(self) -> list[str]:
        """The file of the population, which no output may replace."""
        return [] if self.source is None or is_address(self.source) else [self.source]

    def rows_source(self, folder: Path) -> object:
        """What read takes: a path, or a table in a database."""
        source = str(self.source)
        return table_at(source, str(self.table_name)) if is_address(source) else DataFile(folder / source, self.form)


def draw_table(
    everybody: Everybody | None,
    folder: Path,
    wish: Wish,
    admission: Admission,
    read: Callable[[Population | None], Table],
) -> Table:
    """The table that ``read`` gives, with what the job knows of its population; a table of that is rolled up once."""
    if everybody is None:
        return read(None)
    if everybody.source is not None:
        from kpareto.engines.read import read_population

        population = read_population(everybody.rows_source(folder), wish, admission)
        table = read(population)
        return table if table.population is not None else table.drawn_from(population)
    table, fraction = read(None), everybody.sampling
    if everybody.size is not None:
        if everybody.size < table.rows:
            raise BadJob(
                f"population.size is {everybody.size:,}, and the table alone has {table.rows:,} rows. Give the number "
                "of people that the rows were drawn from."
            )
        fraction = table.rows / everybody.size
    return table.drawn_from(Population(fraction, estimator=everybody.model))
