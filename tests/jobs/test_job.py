"""Job files: what docs/job.md promises, and a sentence for every mistake."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from kpareto.errors import BadInput, BadJob
from kpareto.fronts.front import load_front
from kpareto.jobs.job import Job
from kpareto.jobs.parse import load_job, parse_job
from kpareto.jobs.release import release_job
from kpareto.searches.cuts.score import Score
from kpareto.searches.run import run_plan
from kpareto.tables.adult import adult_table
from kpareto.tables.cuts import make_cuts
from kpareto.tables.partition import Suppression
from kpareto.verifier import verify

PEOPLE = "id,age,zip,sex,illness\n" + "\n".join(
    f"{i},{20 + i % 40},{13000 + i % 7 * 37:05d},{'MF'[i % 2]},{['flu', 'cold', 'gout'][i % 3]}" for i in range(120)
)
JOB = """
[data]
source = "people.csv"
missing = "drop"
missing_values = ["?", ""]

[columns.id]
role = "identifier"
[columns.age]
role = "quasi-identifier"
hierarchy = {intervals = [5, 10, 20], from = 0}
weight = 2.0
[columns.zip]
role = "quasi-identifier"
hierarchy = {prefix = [4, 3]}
[columns.sex]
role = "quasi-identifier"
[columns.illness]
role = "sensitive"

[suppression]
rule = "cap-max-k"
limit = 0.05
rows = "drop"

[search]
method = "exact"
space = "lattice"
objectives = ["k", "l", "nwp"]
seed = 7

[limits]
k = 2

[release]
choose = "k=5"
target = "people-anon.csv"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with people.csv and a job for it."""
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path


def test_the_contracts_job_runs(folder: Path) -> None:
    """Every part of the job file reaches the objects."""
    job = load_job(folder / "job.toml")
    made = job.problem()
    assert made.table.schema.quasi == ("age", "zip", "sex")
    assert made.table.schema.weight("age") == 2.0
    assert made.table.schema.identifier == ("id",)
    assert [h.height for h in made.table.hierarchies] == [4, 3, 1]
    assert made.suppression.limit == 0.05
    assert [m.name for m in made.objectives] == ["k", "l", "nwp"]
    front = run_plan(made)
    assert front.provenance.complete
    assert all(point.values["k"] >= 2 for point in front)
    assert (job.choose, job.target, job.seed) == ("k=5", "people-anon.csv", 7)


def test_hierarchy_files_are_found_beside_the_job(folder: Path) -> None:
    """A relative path starts at the job's folder, not where the command was given."""
    (folder / "sex.csv").write_text("M;*\nF;*\n")
    text = JOB.replace(
        '[columns.sex]\nrole = "quasi-identifier"', '[columns.sex]\nrole = "quasi-identifier"\nhierarchy = "sex.csv"'
    )
    table = parse_job(text, folder).table()
    assert table.hierarchies[2].leaves == ("M", "F")


def test_a_quasi_identifier_without_a_hierarchy_gets_a_fitting_one(folder: Path) -> None:
    """Numbers come in steps and the table says so; whoever wants all or nothing writes flat."""
    job = load_job(folder / "job.toml", ["columns.age.hierarchy="])
    table = job.table()
    assert table.hierarchies[0].height == 4
    assert any("age {intervals = [5, 10, 20], from = 20}" in remark for remark in table.remarks)
    flat = load_job(folder / "job.toml", ["columns.age.hierarchy={flat = true}"]).table()
    assert flat.hierarchies[0].height == 1
    assert not flat.remarks


@pytest.mark.parametrize("preset", ["default", "replication", "iyengar_157", "lunacek_92", "dewri_gecco09_105"])
def test_adult_presets_fill_in_columns_and_hierarchies(preset: str) -> None:
    """With source = "adult" nothing else is needed."""
    job = parse_job(f'[data]\nsource = "adult"\npreset = "{preset}"\n', Path())
    assert job.table().rows == 30_162


def test_adult_with_a_target_leaves_it_out_of_the_quasi_identifiers() -> None:
    """The 8,960-node lattice of the papers."""
    job = parse_job('[data]\nsource = "adult"\n[columns.salary-class]\nrole = "target"\n', Path())
    table = job.table()
    assert "salary-class" not in table.schema.quasi
    assert table.targets[0].name == "salary-class"


def test_adult_with_own_columns() -> None:
    """Columns named in the job replace the preset's choice; its hierarchies still serve."""
    text = (
        '[data]\nsource = "adult"\n[columns.age]\nrole = "quasi-identifier"\n[columns.sex]\nrole = "quasi-identifier"\n'
    )
    table = parse_job(text, Path()).table()
    assert table.schema.quasi == ("age", "sex")
    assert table.hierarchies[0].height == 6


def test_a_limit_on_suppression_means_the_same_in_job_python_and_score() -> None:
    """1 is one row, 0.5 half of them, 0 and 0.0 none; 1.0 is refused everywhere."""
    table = adult_table("iyengar_157")
    space = make_cuts(table.hierarchies)
    for limit, allowed in (("1", 1), ("0.5", table.rows // 2), ("0", 0), ("0.0", 0), ("301", 301)):
        number = ast.literal_eval(limit)
        job = load_job("adult", [f"suppression.limit={limit}"])
        assert job.suppression().allowed(table.rows) == allowed
        assert Suppression("cap-max-k", number).allowed(table.rows) == allowed
        assert Score(table, space, {"lm": 1}, 5, number).allowed == allowed
    assert Score(table, space, {"lm": 1}, 5).allowed == table.rows
    for refused in (
        lambda: load_job("adult", ["suppression.limit=1.0"]),
        lambda: Suppression("cap-max-k", 1.0),
        lambda: Score(table, space, {"lm": 1}, 5, 1.0),
    ):
        with pytest.raises(BadJob, match=r"1\.0, which could mean one row or all rows\. For one row write 1"):
            refused()


def test_no_suppression_is_written_in_one_way() -> None:
    """A page's 0 and a job's 0.0 end with the same front."""
    written = {repr(load_job("adult", [f"suppression.limit={limit}"]).limit) for limit in ("0", "0.0")}
    assert written == {"0.0"}


def test_rules_take_their_limits(folder: Path) -> None:
    """The rules constraint and below-k are made from [limits]."""
    text = JOB.replace('rule = "cap-max-k"', 'rule = "as-needed"').replace("k = 2", "k = 3\nl = 2")
    made = parse_job(text, folder).problem()
    assert made.class_limits
    assert made.translation is not None
    text = JOB.replace('rule = "cap-max-k"\nlimit = 0.05', 'rule = "below-k"')
    below = parse_job(text, folder).suppression()
    assert below.k == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('source = "people.csv"', "", r"data\.source is missing\. Add \[data\]"),
        ('source = "people.csv"', 'sauce = "people.csv"', r"data\.sauce is not known\. Did you mean 'source'"),
        ("[limits]", "[limitz]", r"\[limitz\] is not known\. Did you mean 'limits'"),
        ('role = "sensitive"', 'role = "secret"', r"columns\.illness\.role is 'secret'\."),
        ('missing = "drop"', 'missing = "dorp"', r"data\.missing is 'dorp'\. Did you mean 'drop'"),
        ("limit = 0.05", 'limit = "5%"', r"suppression\.limit is '5%'\. Give a number"),
        ("limit = 0.05", "limit = true", r"suppression\.limit is True\. Give a number"),
        ("limit = 0.05", "limit = 2.5", r"for 2\.5 percent write 0\.025"),
        ("limit = 0.05", 'limit = "1"', r"suppression\.limit is '1'\. Give a number without quotes"),
        ("limit = 0.05", "limit = 1.0", r"suppression\.limit is 1\.0, which could mean one row or all rows"),
        ("seed = 7", "seed = -1", r"search\.seed is -1\. Give a whole number of at least 0"),
        ("seed = 7", "seed = 1.5", r"search\.seed is 1\.5"),
        ('objectives = ["k", "l", "nwp"]', "objectives = []", r"search\.objectives is \[\]"),
        ('objectives = ["k", "l", "nwp"]', 'objectives = ["k", "nwq"]', r"No measure 'nwq'\. Did you mean 'nwp'"),
        ('method = "exact"', 'method = "exakt"', r"search\.method is 'exakt'\. Did you mean 'exact'"),
        ("k = 2", "kk = 2", r"limits\.kk is 'kk'"),
        ("k = 2", "k = nan", r"limits\.k is nan\. Give a number"),
        ("k = 2", "k = inf", r"limits\.k is inf\. Give a number"),
        ("seed = 7", "seed = nan", r"job: search\.seed is nan\. Give a whole number"),
        ("seed = 7", "ties = 'foo'", r"search\.ties is 'foo'\. Give one of: all, one"),
        ("seed = 7", "threads = -1", r"search\.threads is -1\. Give a whole number of at least 1"),
        ("seed = 7", "budget = 100", r"search\.budget is not used by the search 'exact'"),
        ("seed = 7", "mutation = 7", r"search\.mutation is not used by the search 'exact'"),
        ("seed = 7", "crossover = 'banana'", r"search\.crossover is not used by the search 'exact', only by genitor"),
        (
            "seed = 7",
            "generations = 5",
            r"search\.generations is not used by the search 'exact', only by nsga2",
        ),
        ('method = "exact"', 'method = "nsga2"', r"The search 'nsga2' does not walk the space 'lattice'"),
        ('missing = "drop"', 'preset = "default"', r"data\.preset is not used: only source = \"adult\" has presets"),
        ('missing = "drop"', 'table = "people"', r"data\.table is not used: only a database has tables"),
        ('"people.csv"', '"people.parquet"\nencoding = "latin-1"', r"data\.encoding is not used: only a file of text"),
        ('missing = "drop"', "sample = 100", r"data\.sample is not used: .* Add that under \[data\]"),
        ('missing = "drop"', "seed = 100", r"data\.seed is not used: rows are sampled only with"),
        (
            'role = "sensitive"',
            'role = "sensitive"\nweight = 2',
            r"columns\.illness\.weight is not used: .*'sensitive'",
        ),
        (
            'role = "identifier"',
            'hierarchy = "x.csv"',
            r"columns\.id\.hierarchy is not used: the column's role is 'plain'",
        ),
        ("weight = 2.0", "first = 1", r"columns\.age\.first is not used: .* Add one under \[data\]"),
        ('rule = "cap-max-k"', 'rule = "none"', r"suppression\.limit is not used: the rule none suppresses no row"),
        (
            'rule = "cap-max-k"',
            'rule = "below-k"',
            r"suppression\.limit is not used: the rule below-k suppresses every",
        ),
        ("limit = 0.05", "limit = 1e30", r"suppression\.limit is 1e\+30"),
        ("limit = 0.05", "limit = nan", r"suppression\.limit is nan\. Give a number"),
        ('choose = "k=5"', 'certificate = "x.json"', r"release\.certificate is not known\. There are: choose, target"),
        ('choose = "k=5"', 'order = "sorted"', r"release\.order is 'sorted'\. Take one of: shuffled, kept"),
        ('choose = "k=5"', 'order = "kept"\nseed = 3', r"release\.seed is not used: it shuffles"),
        ('choose = "k=5"', "seed = nan", r"release\.seed is nan\. Give a whole number of at least 0"),
        ('choose = "k=5"', "representative = 7", r"release\.representative is 7\. Write a table"),
        (
            'choose = "k=5"',
            'representative = {age = "mean"}',
            r"representative\.age is 'mean'\. Did you mean 'median'",
        ),
        ("weight = 2.0", "weight = -2.0", r"The weight of 'age' is -2\.0"),
        ("weight = 2.0", "levels = 2", r"columns\.age\.levels is 2\. Give the least and the highest level"),
        ("weight = 2.0", "levels = [3, 1]", r"columns\.age\.levels is 1\. Give a whole number of at least 3"),
        ("weight = 2.0", "levels = [0.5, 1]", r"columns\.age\.levels is 0\.5\. Give a whole number"),
        (
            "weight = 2.0",
            "levels = [1, 9]",
            r"The levels of 'age' are \[1, 9\], and its hierarchy has the levels 0 to 4",
        ),
        ('role = "sensitive"', 'role = "sensitive"\nlevels = [0, 1]', r"columns\.illness\.levels is not used"),
        ("[columns.age]", "[columns.agee]", r"No column 'agee' in the table\. Did you mean 'age'"),
        ("hierarchy = {prefix = [4, 3]}", "hierarchy = 7", r"columns\.zip\.hierarchy is 7"),
        ("[data]", "[data", r"is not valid TOML"),
    ],
)
def test_mistakes_are_sentences(folder: Path, old: str, new: str, message: str) -> None:
    """Each names the place, what stands there, and what may stand there."""
    with pytest.raises(BadInput, match=message):
        parse_job(JOB.replace(old, new, 1), folder).problem()


def test_no_quasi_identifier(folder: Path) -> None:
    """A job without one says where roles are given."""
    lines = JOB.replace('"quasi-identifier"', '"plain"').splitlines()
    text = "\n".join(line for line in lines if not line.startswith(("hierarchy", "weight")))
    with pytest.raises(BadJob, match=r"No column is a quasi-identifier.*\[columns\.NAME\]"):
        parse_job(text, folder).problem()


def test_missing_and_wrong_files(tmp_path: Path) -> None:
    """No such job, and a data file given as a job."""
    with pytest.raises(BadJob, match="There is no job file"):
        load_job(tmp_path / "nothing.toml")
    (tmp_path / "people.csv").write_text(PEOPLE)
    with pytest.raises(BadJob, match="is not valid TOML"):
        load_job(tmp_path / "people.csv")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadJob, match="kpareto inspect"):
        load_job(tmp_path / "bytes")


def test_a_change_without_a_value_takes_the_key_out(folder: Path) -> None:
    """So a job for one search can be run by another that does not take its settings."""
    file = folder / "job.toml"
    changes = ["search.method=nsga2", "search.space=", "search.population=20", "search.budget=500"]
    assert load_job(file, changes).space == "cuts"
    with pytest.raises(BadJob, match=r"search\.budget is not used by the search 'exact'"):
        load_job(file, [*changes, "search.method=exact", "search.population="])
    job = load_job(file, [*changes, "search.method=exact", "search.population=", "search.budget=", "search.depth="])
    assert (job.method, job.budget) == ("exact", None)
    assert job.options == {"ties": "all", "threads": None, "preference": None, "end_points": None, "seconds": None}
    assert load_job(file, ["columns.age.role=plain", "columns.age.hierarchy=", "columns.age.weight="]).schema().quasi


def test_a_space_that_is_not_named_is_the_methods_own(folder: Path) -> None:
    """Only a space that is named and does not fit is a mistake."""
    text = JOB.replace('space = "lattice"', "").replace('method = "exact"', 'method = "improve"\nbudget = 50')
    job = parse_job(text, folder)
    assert (job.space, job.budget, job.options) == ("cuts", 50, {"end_points": None, "seconds": None})


def adult_job(text: str) -> Job:
    """A job on the embedded table."""
    return parse_job('[data]\nsource = "adult"\n' + text, Path())


def test_roles_beside_those_of_a_preset() -> None:
    """An identifier leaves the release; what a preset cannot take is a sentence instead of being left aside."""
    assert adult_job('[columns.fnlwgt]\nrole = "identifier"\n').table().schema.identifier == ("fnlwgt",)
    with pytest.raises(BadJob, match=r"columns\.age\.role is 'plain', and the preset makes it a quasi-identifier"):
        adult_job('[columns.age]\nrole = "plain"\n')
    with pytest.raises(BadJob, match="sex and race are sensitive, and a preset takes one"):
        adult_job('[columns.sex]\nrole = "sensitive"\n[columns.race]\nrole = "sensitive"\n')
    with pytest.raises(BadJob, match=r"columns\.agee\.weight is not used"):
        adult_job("[columns.agee]\nweight = 2\n")
    assert adult_job("[columns.age]\nweight = 2\n").table().schema.weight("age") == 2
    assert adult_job("[columns.age]\nlevels = [1, 3]\n").problem().table.hierarchies[0].first == 1


def test_levels_of_a_job_reach_the_release(folder: Path) -> None:
    """A column is released within its levels, the files say so, and the verifier counts the release by itself."""
    text = JOB.replace("weight = 2.0", "weight = 2.0\nlevels = [1, 2]").replace("cap-max-k", "as-needed")
    (folder / "job.toml").write_text(text)
    job = load_job(folder / "job.toml")
    front = run_plan(job.problem())
    assert all(1 <= point.recoding.describe()["age"] <= 2 for point in front)  # type: ignore[operator]  # whole levels
    written = front.to_dict()
    assert written["space"]["levels"] == {"age": [1, 2]}
    again = load_front(json.loads(json.dumps(written)), job.problem())
    assert [point.values for point in again] == [point.values for point in front]
    release_job(job)
    ages = {line.split(",")[0] for line in (folder / "people-anon.csv").read_text().splitlines()[1:]}
    assert all(high - low in (4, 9) for low, high in (map(int, age.split("-")) for age in ages))
    assert verify(folder / "people-anon.csv", folder / "people-anon.certificate.json").numbers["k"] >= 5


def test_how_the_embedded_table_is_read_is_not_left_aside() -> None:
    """The policy for missing values counts, and so does a limit on memory; presets have no place for a class of nobody."""
    with pytest.raises(BadInput, match="no place for 1 value of the table: 'Never-worked'"):
        adult_job('missing = "category"\n').table()
    with pytest.raises(BadInput, match="missing"):
        adult_job('missing = "error"\n').table()
    assert adult_job("").table().rows == 30_162
    assert adult_job('memory = "4 GB"\n').table().rows == 30_162
    with pytest.raises(BadInput, match="distinct rows"):
        adult_job('memory = "1 MB"\n').table()


def test_the_rule_below_k_takes_whole_numbers(folder: Path) -> None:
    """A k of 2.5 would be cut down to 2 without a word."""
    text = JOB.replace('rule = "cap-max-k"\nlimit = 0.05', 'rule = "below-k"').replace("k = 2", "k = 2.5")
    with pytest.raises(BadJob, match=r"limits\.k is 2\.5\. It counts rows"):
        parse_job(text, folder).suppression()


@pytest.mark.parametrize("name", ["constraint", "cap-threshold"])
def test_rules_of_earlier_versions_are_what_they_became(folder: Path, name: str) -> None:
    """A job that names a rule of an earlier version is the one without a rule, front and all."""
    old = parse_job(JOB.replace('rule = "cap-max-k"', f'rule = "{name}"'), folder)
    new = parse_job(JOB.replace('rule = "cap-max-k"\n', ""), folder)
    assert old == new
    assert old.suppression().rule == "as-needed"
    assert old.problem().fingerprint == new.problem().fingerprint


@pytest.mark.parametrize(("method", "rule"), [("exact", "as-needed"), ("poka", "cap-max-k"), ("pbg-ea", "cap-max-k")])
def test_searches_of_the_papers_have_their_papers_rule(folder: Path, method: str, rule: str) -> None:
    """Unless a job names another: POkA and PBG-EA suppress as much as they may."""
    text = JOB.replace('rule = "cap-max-k"\n', "")
    assert parse_job(text, folder, changes=[f"search.method={method}"]).rule == rule
    named = [f"search.method={method}", "suppression.rule=as-needed"]
    assert parse_job(text, folder, changes=named).rule == "as-needed"


def test_the_step_of_thresholds_is_checked(folder: Path) -> None:
    """A number from 0 to 1, and only beside the rule that has thresholds."""
    text = JOB.replace('rule = "cap-max-k"\n', "")
    assert parse_job(text, folder, changes=["suppression.step=0.05"]).suppression().step == 0.05
    with pytest.raises(BadJob, match=r"suppression\.step is 2\. Give a number from 0"):
        parse_job(text, folder, changes=["suppression.step=2"])
    with pytest.raises(BadJob, match="the rule cap-max-k has no thresholds"):
        parse_job(JOB, folder, changes=["suppression.step=0.05"])
