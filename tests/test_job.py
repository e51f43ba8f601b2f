"""Job files: what CONTRACT.md promises, and a sentence for every mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from kpareto.errors import BadInput, BadJob
from kpareto.job import load_job, parse_job
from kpareto.run import run_exact

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
    front = run_exact(made)
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


def test_rules_take_their_limits(folder: Path) -> None:
    """The rules constraint and below-k are made from [limits]."""
    text = JOB.replace('rule = "cap-max-k"', 'rule = "constraint"').replace("k = 2", "k = 3\nl = 2")
    made = parse_job(text, folder).problem()
    assert made.class_wise
    assert made.translation is not None
    below = parse_job(JOB.replace('rule = "cap-max-k"', 'rule = "below-k"'), folder).suppression()
    assert below.k == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('source = "people.csv"', "", r"has no data\.source\. Add \[data\]"),
        ('source = "people.csv"', 'sauce = "people.csv"', r"data\.sauce is not known\. Did you mean 'source'"),
        ("[limits]", "[limitz]", r"\[limitz\] is not known\. Did you mean 'limits'"),
        ('role = "sensitive"', 'role = "secret"', r"columns\.illness\.role is 'secret'\."),
        ('missing = "drop"', 'missing = "dorp"', r"data\.missing is 'dorp'\. Did you mean 'drop'"),
        ("limit = 0.05", 'limit = "5%"', r"suppression\.limit is '5%'\. Give a number"),
        ("limit = 0.05", "limit = true", r"suppression\.limit is True\. Give a number"),
        ("limit = 0.05", "limit = 2.5", r"For 2\.5 percent write 0\.025"),
        ("seed = 7", "seed = -1", r"search\.seed is -1\. Give a whole number of at least 0"),
        ("seed = 7", "seed = 1.5", r"search\.seed is 1\.5"),
        ('objectives = ["k", "l", "nwp"]', "objectives = []", r"search\.objectives is \[\]"),
        ('objectives = ["k", "l", "nwp"]', 'objectives = ["k", "nwq"]', r"No measure 'nwq'\. Did you mean 'nwp'"),
        ('method = "exact"', 'method = "exakt"', r"search\.method is 'exakt'\. Did you mean 'exact'"),
        ("k = 2", "kk = 2", r"limits\.kk is 'kk'"),
        ("weight = 2.0", "weight = -2.0", r"The weight of 'age' is -2\.0"),
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
    with pytest.raises(BadJob, match=r"No column is a quasi-identifier.*\[columns\.NAME\]"):
        parse_job(JOB.replace('"quasi-identifier"', '"plain"').replace("weight = 2.0", ""), folder).problem()


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
