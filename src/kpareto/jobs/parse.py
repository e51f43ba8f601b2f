"""From the text of a job to a Job: one TOML file, checked key by key (docs/job.md).

Every mistake is one sentence that names the place in the file, what stands there and what may stand there. A key that
stands in a job and changes nothing is worse than a wrong one: its author believes in it. So a key that the other
settings of its part leave without use is refused too, with the setting that would give it one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, cast, get_args

from kpareto import strict
from kpareto.engines import is_address
from kpareto.engines.admission import Admission
from kpareto.engines.form import FORM_KEYS, USED, Form, Missing, TextForm, file_kind
from kpareto.engines.source import is_text
from kpareto.errors import BadJob, Remedy, did_you_mean
from kpareto.jobs.job import Column, Everybody, Job
from kpareto.measures.measure import MAKERS, aspect_of, make, read_spec
from kpareto.measures.plain import plain_of
from kpareto.releases.settings import SHOWN, WAYS, read_accepted
from kpareto.searches.names import METHODS, MODELS, SEED, check_method, own_settings, read_options
from kpareto.strict import FileKind, is_missing, parse_toml, read_text, read_value, read_whole
from kpareto.tables.lattice import Kind
from kpareto.tables.partition import EARLIER, RULES, STEP, Rule, read_limit
from kpareto.tables.schema import DECIDE, ROLES, SPELLINGS, Spellings
from kpareto.tables.spelling import NO_VALUE
from kpareto.tables.table import Domain, Estimator

JOB_FILE = FileKind(
    "The job",
    "Correct it; if it is a data file, make a job for it with: kpareto inspect DATA -o job.toml.",
    BadJob,
)
MOST_JOB = 16 * 2**20  # bytes of a job file
MOST_ROWS = 10**15  # a limit beyond this is a slip, and does not fit the counters
MOST_RECODINGS = 10**10  # a budget beyond this would take years

PARTS = ("data", "columns", "population", "suppression", "search", "limits", "release", "use")
DATA = ("source", "missing", "missing_values", "person", "spellings", "domain", "preset", "table", *FORM_KEYS)
ADMISSION_OPTIONS = ("memory", "too_many", "coarsen", "sample", "seed")
TEXT_KEYS = ("separator", "encoding", "decimal")  # of [release]
RELEASE_OPTIONS = (
    *("identifiers", "order", "seed", "formulas", "representative", "sign", "accept", "counts", "rows_per_person"),
    *TEXT_KEYS,
)
POPULATION_OPTIONS = ("source", "table", "sampling", "size", "model", *FORM_KEYS)
KNOWLEDGE = ("source", "sampling", "size")  # one of them is in [population]

_WHO = {
    "encoding": "a file of text",
    "separator": "a file of text",
    "sheet": "a workbook",
    "codes": "a file of Stata, SPSS or SAS",
    "header": "a file of text or a sheet",
    "names": "a file of text or a sheet",
    "number_duplicates": "a file of text or a sheet",
    "skip": "a file of text or a sheet",
}

# With all that a release needs: the columns that it leaves out would single people out, or tell what it hides.
ADULT = """
[data]
source = "adult"
[columns]
fnlwgt = {role = "identifier"}
education-num = {role = "identifier"}
relationship = {role = "identifier"}
capital-gain = {role = "identifier"}
capital-loss = {role = "identifier"}
hours-per-week = {role = "identifier"}
[suppression]
limit = 0.01
"""


def load_job(path: Path | str, changes: Sequence[str] = (), model: str | None = None) -> Job:
    """A job from its file.

    Parameters
    ----------
    path : Path or str
        The file, or the word adult for a job on the embedded table.
    changes : sequence of str, optional
        What overrides the file, such as ``search.seed=3``.
    model : {'lattice', 'cuts', 'local'}, optional
        Takes another search than the job has, for the same objectives, seed and seconds.

    Returns
    -------
    Job
        What ``front`` takes.

    Raises
    ------
    BadInput
        If there is no such file, or a setting in it makes no sense.

    Examples
    --------
    >>> import kpareto as kp
    >>> kp.load_job("adult", ["search.seed=3"])
    Job(adult, 6 columns, exact for k, glm)
    """
    file = Path(path)
    if is_address(str(path)):
        raise BadJob(
            "This is the address of a database, and a job file is needed. "
            "Write one with: kpareto inspect ADDRESS --table NAME -o job.toml."
        )
    if str(path) == "adult":
        return parse_job(ADULT, Path(), "adult", changes, model)
    if is_missing(file):
        raise BadJob(
            f"There is no job file {str(path)!r}. Write one with: kpareto inspect DATA -o job.toml, or say adult."
        )
    text = read_text(file, JOB_FILE, MOST_JOB)
    return parse_job(text, file.parent, file.name, changes, model)


def _change(raw: dict[str, Any], change: str) -> None:
    """Put one ``part.key=value`` into the raw job; what is no TOML is taken as text, and no value takes the key out."""
    key, equals, value = change.partition("=")
    *parts, last = key.strip().split(".", 2)
    if not equals or not parts:
        raise BadJob(f"The change {change!r} is not understood. Write it as part.key=value, such as search.seed=3.")
    inside = raw
    for part in parts:
        inside = inside.setdefault(part, {})
        if not isinstance(inside, dict):
            raise BadJob(f"The change {change!r} goes into {part!r}, which is no part of a job.")
    if not value.strip():
        inside.pop(last, None)
        return
    inside[last] = read_value(value)


def _take_model(raw: dict[str, Any], model: str) -> None:
    """Put the search of another model into the raw job; what is meant for the job's own search alone goes with that."""
    if model not in MODELS:
        raise BadJob(f"No model {model!r}. {did_you_mean(model, MODELS)}There are: {', '.join(MODELS)}.")
    search = raw.get("search", {})
    if not isinstance(search, dict) or METHODS.get(str(search.get("method", "exact")), ("",))[0] == model:
        return  # the check of the part has the sentence, or its own search is of that model already
    kept = ("objectives", "seed", "seconds", *own_settings(MODELS[model], search.get("method", "exact")))
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
    try:
        return _read_job(raw, folder)
    except BadJob as error:
        if error.where:
            error.say_file(name)
        raise


def _read_job(raw: Mapping[str, Any], folder: Path) -> Job:
    """A job from the data of its text, every key of it checked."""
    _keys(raw, "", PARTS)
    data = _part(raw, "data", (*DATA, *ADMISSION_OPTIONS))
    if "source" not in data:
        raise BadJob('is missing. Add [data] with source = "people.csv".', where="data.source")
    check_data(data)
    suppression = _part(raw, "suppression", ("rule", "limit", "rows", "step"))
    check_suppression(suppression)
    search = _search(raw)
    limits = {key: _number(value, f"limits.{key}") for key, value in _table(raw, "limits").items()}
    check_limits(limits)
    release = _part(raw, "release", ("choose", "target", *RELEASE_OPTIONS))
    check_release(release)
    read_text_form(release)
    columns = _columns(raw, data)
    return Job(
        folder=folder,
        source=_text(data["source"], "data.source"),
        missing=cast(Missing | None, _word_of(data, "data", "missing", get_args(Missing))),
        missing_values=tuple(_texts(data.get("missing_values", list(NO_VALUE)), "data.missing_values")),
        person=tuple(_texts(data["person"], "data.person"))
        if isinstance(data.get("person"), list)
        else _text_of(data, "data", "person"),
        spellings=cast(Spellings, _word_of(data, "data", "spellings", SPELLINGS) or "fold"),
        domain=cast(Domain | None, _word_of(data, "data", "domain", get_args(Domain))),
        preset=_text_of(data, "data", "preset"),
        form=read_form(data, "data", folder),
        table_name=_text_of(data, "data", "table"),
        columns=columns,
        rule=read_rule(suppression, search["method"]),
        step=_number(suppression.get("step", STEP), "suppression.step"),
        # 0 and 0.0 both mean none, and a page that has only one kind of number must end with the same front.
        limit=read_limit(suppression.get("limit", 0.0), "suppression.limit") or 0.0,
        rows=_word_of(suppression, "suppression", "rows", ("drop", "mask")) or "drop",
        method=search["method"],
        space=search["space"],
        objectives=search["objectives"],
        budget=search["budget"],
        seed=search["seed"],
        options=search["options"],
        limits=limits,
        choose=_text_of(release, "release", "choose") if "choose" in release else _choose_wished(search["options"]),
        target=_text_of(release, "release", "target"),
        release={key: release[key] for key in RELEASE_OPTIONS if key in release},
        admission=_admission(data, columns),
        everybody=check_population(_part(raw, "population", POPULATION_OPTIONS), folder)
        if "population" in raw
        else None,
        use=_use(raw),
    )


def _use(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The questions under ``[use]``; whether the table has their columns is seen when they are asked."""
    use = _part(raw, "use", ("tables", "means"))
    if use:
        from kpareto.uses.questions import read_questions  # few jobs ask any

    for key, entries in use.items():
        if not isinstance(entries, list):
            example = '[["age", "sex"]]' if key == "tables" else '[{of = "income", by = ["region"]}]'
            raise BadJob(f"is {entries!r}. Give a list such as {example}.", where=f"use.{key}")
        try:
            read_questions(**{key: entries})
        except BadJob as error:
            raise BadJob(str(error), where=f"use.{key}:") from error
    return use


def _admission(data: Mapping[str, Any], columns: Mapping[str, Column]) -> Admission:
    first = {name: column.first for name, column in columns.items() if column.first}
    try:
        return Admission(first=first, **{key: data[key] for key in ADMISSION_OPTIONS if key in data})
    except BadJob as error:
        raise BadJob(str(error), where="[data]:") from error


def _search(raw: Mapping[str, Any]) -> dict[str, Any]:
    """What ``[search]`` says, every key checked against the list of its method."""
    search = dict(_table(raw, "search"))
    method = _one_of(search.pop("method", "exact"), "search.method", tuple(METHODS))
    space = _one_of(search.pop("space", METHODS[method][0]), "search.space", get_args(Kind))
    wished = search.get("preference")
    wishes = ["k", *(name for name in wished if name != "k")] if isinstance(wished, dict) else None
    objectives = search.pop("objectives", wishes or ["k", "glm"])
    if not isinstance(objectives, list) or not objectives:
        remedy = Remedy("choose-objectives", 'Give a list such as ["k", "glm"].')
        raise BadJob(f"is {objectives!r}.", where="search.objectives", remedy=remedy)
    seed = search.pop("seed", SEED.default)
    SEED.check(seed, "search.seed")
    options = read_options(method, search, "search.")
    check_budget(options.get("budget"))
    check_method(method, cast(Kind, space))
    return {
        "method": method,
        "space": space,
        "objectives": tuple(_texts(objectives, "search.objectives")),
        "budget": options.pop("budget", None),
        "seed": seed,
        "options": options,
    }


def _choose_wished(options: Mapping[str, Any]) -> str | None:
    """The choice of a job that has a preference and says nothing else: the answer to it."""
    wishes = options.get("preference") or {}
    return "prefer: " + ", ".join(f"{name}={value!r}" for name, value in wishes.items()) if wishes else None


# -- checks of single values -------------------------------------------------------------------------------------------


def _keys(raw: Mapping[str, Any], where: str, known: Sequence[str]) -> None:
    """Raise where a key is not among the known ones."""
    for key in raw:
        if key not in known:
            sentence = f"is not known. {did_you_mean(key, known)}There are: {', '.join(known)}."
            raise BadJob(sentence, where=f"{where}.{key}" if where else f"[{key}]")


def _unused_key(where: str, why: str) -> BadJob:
    """The sentence for a key that changes nothing, with what would give it a use."""
    return BadJob(f"is not used: {why}", where=where)


def _table(raw: Mapping[str, Any], key: str) -> dict[str, Any]:
    """A part of the job, by itself."""
    part = raw.get(key, {})
    if not isinstance(part, dict):
        raise BadJob(f"is {part!r}. Write it as a part of its own: [{key}].", where=key)
    return part


def _part(raw: Mapping[str, Any], key: str, known: Sequence[str]) -> dict[str, Any]:
    """A part of the job with known keys alone."""
    part = _table(raw, key)
    _keys(part, key, known)
    return part


def _text(value: Any, where: str) -> str:
    return strict.text.read(value, where, "Give a text in quotes.")


def _text_of(part: Mapping[str, Any], where: str, key: str) -> str | None:
    """A text that may be missing."""
    return _text(part[key], f"{where}.{key}") if key in part else None


def _texts(value: Any, where: str) -> list[str]:
    if not isinstance(value, list):
        raise BadJob(f"is {value!r}. Give a list of texts in quotes.", where=where)
    return [_text(entry, where) for entry in value]


def _one_of(value: Any, where: str, known: Collection[str]) -> str:
    return strict.word(*known).read(value, where, f"Take one of: {', '.join(known)}.")


def _word_of(part: Mapping[str, Any], where: str, key: str, known: Collection[str]) -> str | None:
    """One of some words that may be missing."""
    return _one_of(part[key], f"{where}.{key}", known) if key in part else None


def _number(value: Any, where: str) -> float:
    return strict.number().read(value, where, Remedy("give-number", "Give a number without quotes."))


def _truth(value: Any, where: str) -> bool:
    return strict.truth.read(value, where, "Write true or false, without quotes.")


# -- [data], and the form of its files ---------------------------------------------------------------------------------


def check_data(data: Mapping[str, Any]) -> None:
    """Raise where a key of ``[data]`` has no use for this source."""
    source = _text(data["source"], "data.source")
    if "preset" in data and source != "adult":
        raise _unused_key("data.preset", f'only source = "adult" has presets, and it is {source!r}. Take it out.')
    if "table" in data and not is_address(source):
        raise _unused_key("data.table", f"only a database has tables, and the source is {source!r}. Take it out.")
    for key in ("sample", "seed"):
        if key in data and data.get("too_many", "error") != "sample":
            why = 'rows are sampled only with too_many = "sample". Add that under [data], or take it out.'
            raise _unused_key(f"data.{key}", why)


def read_form(part: Mapping[str, Any], where: str, folder: Path) -> Form:
    """The form that a part of the job gives its source; what the source has no use for is refused."""
    source = str(part.get("source", ""))
    used = _used_keys(source, folder)
    for key in FORM_KEYS:
        if key in part and key not in used:
            who = _WHO.get(key, "a file")
            raise _unused_key(f"{where}.{key}", f"only {who} has one, and the source is {source!r}. Take it out.")
    keys = {key: _FORM[key](part[key], f"{where}.{key}") for key in FORM_KEYS if key in part}
    try:
        return Form(**keys)
    except BadJob as error:
        raise BadJob(str(error), where=f"[{where}]:") from error


def read_form_words(words: Sequence[str], source: str) -> dict[str, Any]:
    """Keys of the form of a file as the command line has them: ``sheet=People``, ``header=true``, ``skip=2``."""
    keys = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key.strip() not in FORM_KEYS:
            raise BadJob(
                f"--form {word!r} is not understood. {did_you_mean(key.strip(), FORM_KEYS)}Write KEY=VALUE, with one "
                f"of: {', '.join(FORM_KEYS)}."
            )
        keys[key.strip()] = read_value(value)
    try:
        form = read_form({"source": source, **keys}, "data", Path())
    except BadJob as error:
        error.say_file("--form")
        raise
    return {key: getattr(form, key) for key in keys}


def _dates(dates: object, where: str) -> dict[str, str]:
    if not isinstance(dates, dict):
        raise BadJob(f'is {dates!r}. Write a table such as {{born = "%d.%m.%Y"}}.', where=where)
    return {name: _text(form, f"{where}.{name}") for name, form in dates.items()}


# How each key of the form of a file is read: as a text, unless it says otherwise below.
_FORM: Mapping[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(FORM_KEYS, _text),
    **dict.fromkeys(("header", "codes", "number_duplicates"), _truth),
    "skip": lambda value, where: read_whole(value, where, 0, 1_000_000),
    "names": lambda value, where: tuple(_texts(value, where)),
    "dates": _dates,
}


def _used_keys(source: str, folder: Path) -> tuple[str, ...]:
    if source == "adult" or is_address(source):
        return ()
    try:
        parts = source.endswith("/") or (folder / source).is_dir()
    except (OSError, ValueError):  # no file can have such a name; whoever opens it says so
        parts = False
    return USED["parquet" if parts else file_kind(source)]


def read_text_form(release: Mapping[str, Any]) -> TextForm:
    """How [release] wants text written; refused where the target is no text."""
    keys = {key: _text(release[key], f"release.{key}") for key in TEXT_KEYS if key in release}
    target = release.get("target")
    if keys and isinstance(target, str) and not is_text(target):
        key = next(iter(keys))
        raise _unused_key(f"release.{key}", f"only text has one, and the target is {target!r}. Take it out.")
    try:
        return TextForm(**keys)
    except BadJob as error:
        raise BadJob(str(error), where="[release]:") from error


# -- [population] ------------------------------------------------------------------------------------------------------


def check_population(people: Mapping[str, Any], folder: Path) -> Everybody:
    """What a raw [population] says; each mistake is a sentence, and no key is left unused."""
    known = [key for key in KNOWLEDGE if key in people]
    if len(known) != 1:
        what = " and ".join(f"population.{key}" for key in known) or "neither source, sampling nor size"
        raise BadJob(
            f"has {what}. Give one of them: source (a table of everybody), sampling (the share of everybody that is in "
            "the table) or size (how many everybody are).",
            where="[population]",
        )
    if "source" in people:
        return _check_source(people, folder)
    for key in ("table", *FORM_KEYS):
        if key in people:
            raise _unused_key(f"population.{key}", "only a source has one. Take it out.")
    model = _one_of(people.get("model", "auto"), "population.model", get_args(Estimator))
    if "size" in people:
        return Everybody(size=read_whole(people["size"], "population.size", 1), model=cast(Estimator, model))
    share = _number(people["sampling"], "population.sampling")
    if not 0 < share <= 1:
        raise BadJob(
            f"is {share!r}. Give the share of the population that is in the table, above 0 and at most 1, such as 0.1.",
            where="population.sampling",
        )
    return Everybody(sampling=float(share), model=cast(Estimator, model))


def _check_source(people: Mapping[str, Any], folder: Path) -> Everybody:
    source = _text(people["source"], "population.source")
    if "model" in people:
        raise _unused_key("population.model", "the population is counted, so nothing is estimated. Take it out.")
    if "table" in people and not is_address(source):
        raise _unused_key("population.table", f"only a database has tables, and the source is {source!r}.")
    if is_address(source) and "table" not in people:
        raise BadJob('is a database, and no table is named. Add table = "everybody" there.', where="population.source")
    name = _text_of(people, "population", "table")
    return Everybody(source, name, read_form(people, "population", folder))


# -- [columns] ---------------------------------------------------------------------------------------------------------


def _columns(raw: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Column]:
    columns = {}
    for name, entry in _table(raw, "columns").items():
        where = f"columns.{name}"
        if not isinstance(entry, dict):
            raise BadJob(f'is {entry!r}. Write [{where}] with role = "quasi-identifier", say.', where=where)
        _keys(entry, where, ("role", "hierarchy", "weight", "levels", "first", "tie", "declared"))
        hierarchy = entry.get("hierarchy")
        if hierarchy is not None and not isinstance(hierarchy, str | dict):
            raise BadJob(
                f"is {hierarchy!r}. Give a file name, or an inline table such as {{intervals = [5, 10], from = 0}}.",
                where=f"{where}.hierarchy",
            )
        columns[name] = Column(
            _one_of(entry.get("role", "plain"), f"{where}.role", (*ROLES, DECIDE)),
            hierarchy,
            _number(entry.get("weight", 1.0), f"{where}.weight"),
            read_whole(entry.get("first", 0), f"{where}.first", 0),
            _text_of(entry, where, "tie"),
            _truth(entry.get("declared", False), f"{where}.declared"),
            _levels(entry["levels"], f"{where}.levels") if "levels" in entry else None,
        )
    quasi = [name for name, column in columns.items() if column.role == "quasi-identifier"]
    if not quasi and data["source"] == "adult":
        quasi = list(preset_quasi(raw["columns"], data)) if columns else []
    check_columns(_table(raw, "columns"), quasi, data)
    return columns


def _levels(value: Any, where: str) -> tuple[int, int]:
    """The least and the highest level of a column; whether its hierarchy has them is seen with the table."""
    if not isinstance(value, list) or len(value) != 2:
        raise BadJob(f"is {value!r:.60}. Give the least and the highest level, such as [1, 3].", where=where)
    least = read_whole(value[0], where, 0)
    return least, read_whole(value[1], where, least)


def check_columns(columns: Mapping[str, Any], quasi: Collection[str], data: Mapping[str, Any]) -> None:
    """Raise where a column that is no quasi-identifier has what only those use, or a first level nobody reads."""
    coarser = data.get("too_many") == "coarsen" or data.get("coarsen") == "always"
    for name, column in columns.items():
        for key in ("hierarchy", "weight", "levels", "first"):
            ordered = key == "hierarchy" and column.get("role") == "sensitive"  # by which t may measure distances
            if key in column and name not in quasi and not ordered:
                raise _unused_key(
                    f"columns.{name}.{key}",
                    f"the column's role is {column.get('role', 'plain')!r}, and only quasi-identifiers have one. "
                    "Take it out, or change the role.",
                )
        for key in ("tie", "declared"):
            if key in column and column.get("role", "plain") != "plain":
                raise _unused_key(
                    f"columns.{name}.{key}",
                    f"the column's role is {column['role']!r}, and only plain columns leave as they are. Take it out.",
                )
        if "tie" in column and column["tie"] not in quasi:
            near = did_you_mean(str(column["tie"]), quasi)
            raise BadJob(
                f"is {column['tie']!r}, which is no quasi-identifier. {near}Take one of: {', '.join(quasi)}.",
                where=f"columns.{name}.tie",
            )
        if column.get("first") and not coarser:
            why = 'levels are left out only with too_many = "coarsen" or coarsen = "always". Add one under [data].'
            raise _unused_key(f"columns.{name}.first", why)


def check_preset_roles(columns: Mapping[str, Any], quasi: Collection[str]) -> None:
    """Raise where roles are given beside those of a preset of the embedded table that cannot stand there."""
    for role in ("target", "sensitive"):
        names = [name for name, column in columns.items() if column.get("role") == role]
        if len(names) > 1:
            raise BadJob(
                f"are {role}, and a preset takes one. Give every quasi-identifier its role to choose the columns "
                "yourself.",
                where=" and ".join(names),
            )
    for name, column in columns.items():
        if column.get("role") in ("plain", "identifier") and name in quasi:
            raise BadJob(
                f"is {column['role']!r}, and the preset makes it a quasi-identifier. Give every quasi-identifier its "
                "role to choose the columns yourself.",
                where=f"columns.{name}.role",
            )


def preset_quasi(columns: Mapping[str, Any], data: Mapping[str, Any]) -> tuple[str, ...]:
    """The quasi-identifiers of the embedded table where the job leaves them to the preset."""
    from kpareto.tables.adult import adult_schema

    roles = {column.get("role"): name for name, column in columns.items()}
    preset = _text(data.get("preset", "default"), "data.preset")
    quasi = adult_schema(preset, roles.get("target"), roles.get("sensitive")).quasi
    check_preset_roles(columns, quasi)
    return quasi


# -- [suppression], [search], [limits], [release] ----------------------------------------------------------------------


def default_rule(method: str = "exact") -> Rule:
    """The rule of a job that names none: rows as each threshold needs them; POkA and PBG-EA take their papers'."""
    return "cap-max-k" if method in ("poka", "poka-literal", "pbg-ea") else "as-needed"


def read_rule(suppression: Mapping[str, Any], method: str) -> Rule:
    """The rule of a job; names of earlier versions stand for what they became."""
    rule = suppression.get("rule", default_rule(method))
    if isinstance(rule, str) and rule in EARLIER:
        return EARLIER[rule]
    return cast(Rule, _one_of(rule, "suppression.rule", RULES))


def check_suppression(suppression: Mapping[str, Any]) -> None:
    """Raise where a limit is given to a rule that knows none."""
    rule, limit = suppression.get("rule"), suppression.get("limit", 0)
    remedy = Remedy("give-rows", "Give a number without quotes.")
    number = strict.number().read(limit, "suppression.limit", remedy)
    if not 0 <= _number(suppression.get("step", STEP), "suppression.step") <= 1:
        raise BadJob(
            f"is {suppression['step']!r}. Give a number from 0 (every value is a threshold) to 1, such as {STEP}.",
            where="suppression.step",
        )
    if "step" in suppression and (rule or "as-needed") not in ("as-needed", *EARLIER):
        raise _unused_key("suppression.step", f"the rule {rule} has no thresholds. Take it out.")
    if number > MOST_ROWS:
        raise BadJob(f"is {limit!r}. Give a share from 0 to 1, or a number of rows.", where="suppression.limit")
    if rule == "none" and number > 0:
        raise _unused_key("suppression.limit", "the rule none suppresses no row. Take it out, or take another rule.")
    if rule == "below-k" and "limit" in suppression:
        raise _unused_key(
            "suppression.limit",
            "the rule below-k suppresses every class below k, however many rows that are. Take it out, or take the "
            "rule as-needed, which keeps within a limit.",
        )


def check_limits(limits: Mapping[str, float]) -> None:
    """Raise where a limit is negative, a part of a whole number, or beyond the share that there can be."""
    for spec, limit in limits.items():
        _one_of(read_spec(spec)[0], f"limits.{spec}", tuple(MAKERS))
        measure = make(spec)
        why = ""
        if limit < 0:
            why = f", and no {measure.name} is below 0. Give a positive number."
        elif aspect_of(measure).shown and (limit < 1 or limit != int(limit)):
            why = f". It counts {measure.unit}: give a whole number of at least 1."
        elif plain_of(measure).reading == "share" and limit > 1:
            why = ". It is a share: give a number from 0 to 1, such as 0.2 for 20 percent."
        if why:
            raise BadJob(f"is {limit!r}{why}", where=f"limits.{spec}")


def check_budget(budget: int | None) -> None:
    """Raise where more recodings are asked for than anybody can wait for."""
    if budget is not None and budget > MOST_RECODINGS:
        raise BadJob(
            f"is {budget:,} recodings, which would take years. Give at most {MOST_RECODINGS:,}; a search can be "
            "stopped and go on.",
            where="search.budget",
        )


def check_release(release: Mapping[str, Any]) -> None:
    """Raise where a setting of the release makes no sense, before anything is searched."""
    for key, known in WAYS.items():
        if key in release:
            _one_of(release[key], f"release.{key}", known)
    if "seed" in release:
        read_whole(release["seed"], "release.seed", 0)
        if release.get("order") == "kept":
            raise _unused_key("release.seed", 'it shuffles the rows, and order = "kept". Take one of the two out.')
    if "rows_per_person" in release:
        read_whole(release["rows_per_person"], "release.rows_per_person", 1)
    if "sign" in release and not _text(release["sign"], "release.sign").strip():
        raise BadJob('is empty. Give the file of a key, such as "release.key".', where="release.sign")
    read_accepted(release.get("accept", ()), "release.accept")
    shown = release.get("representative", {})
    if not isinstance(shown, dict):
        raise BadJob(f'is {shown!r}. Write a table such as {{age = "midpoint"}}.', where="release.representative")
    for name, form in shown.items():
        _one_of(form, f"release.representative.{name}", SHOWN)
