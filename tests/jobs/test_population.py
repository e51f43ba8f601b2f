"""The population of a job: what [population] may say, fronts and releases with it, and what the verifier counts."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kpareto.engines.read import read
from kpareto.errors import BadInput, BadJob, KparetoError, Unsafe
from kpareto.faces.cli import main
from kpareto.fronts.front import front_sentence
from kpareto.fronts.problem import problem
from kpareto.jobs.front import search_job
from kpareto.jobs.job import Everybody
from kpareto.jobs.parse import load_job
from kpareto.jobs.release import release_job
from kpareto.measures import make
from kpareto.releases.choice import Choice
from kpareto.releases.release import release
from kpareto.searches.exact_front import exact_front
from kpareto.tables.adult import adult, adult_hierarchies, adult_schema
from kpareto.tables.partition import Suppression
from kpareto.tables.table import Population
from kpareto.verifier import digest_of, verify

AGES, TOWNS = range(20, 40), ("Ash", "Birch", "Cedar")
JOB = """
[data]
source = "people.csv"
[columns.age]
role = "quasi-identifier"
hierarchy = {intervals = [5, 10], from = 20}
[columns.town]
role = "quasi-identifier"
[suppression]
rule = "as-needed"
limit = 0.2
[limits]
k-map = 12
presence-max = 0.6
[search]
objectives = ["k-map", "lm"]
[release]
target = "out.csv"
choose = "k-map=12"
"""


def write_rows(path: Path, rows: list[tuple[int, str]]) -> None:
    """A CSV of ages and towns."""
    path.write_text("age,town\n" + "".join(f"{age},{town}\n" for age, town in rows))


@pytest.fixture
def job_file(tmp_path: Path) -> Path:
    """A job with a population that has ages and a town which the table lacks."""
    rng = np.random.default_rng(1)
    everybody = [(int(rng.integers(20, 45)), (*TOWNS, "Dale")[int(rng.integers(0, 4))]) for _ in range(900)]
    sample = [row for row in everybody if row[0] < 40 and row[1] in TOWNS and rng.random() < 0.4]
    write_rows(tmp_path / "everybody.csv", everybody)
    write_rows(tmp_path / "people.csv", sample)
    place = tmp_path / "job.toml"
    place.write_text(JOB + '[population]\nsource = "everybody.csv"\n')
    return place


def test_a_job_knows_its_population(job_file: Path) -> None:
    """Rules and flat hierarchies get a place for values that only the population has; the table stays the same."""
    table = load_job(job_file).table()
    assert table.population is not None
    assert table.population.table is not None
    assert table.population.table.rows == 900
    assert "Dale" in table.hierarchies[1].leaves
    assert table.rows == len((job_file.with_name("people.csv")).read_text().splitlines()) - 1
    assert job_file.with_name("everybody.csv") in load_job(job_file).inputs


def test_a_release_is_counted_against_its_population(job_file: Path) -> None:
    """What is written meets k-map and presence by a plain count of both files, and the certificate says so."""
    released = release_job(load_job(job_file))
    certificate = json.loads(released.files["certificate"].read_text())
    assert "counted against a table of the population" in certificate["public"]["population"]
    claims = {claim["measure"]: claim for claim in certificate["confidential"]["claims"]}
    assert claims["k-map"]["needs"] == "population"
    labels = certificate["confidential"]["population"]["labels"]
    rows = [line.split(",") for line in job_file.with_name("everybody.csv").read_text().splitlines()[1:]]
    people: Counter[tuple[str, ...]] = Counter((labels["age"][age], labels["town"][town]) for age, town in rows)
    shown = Counter(tuple(line.split(",")) for line in Path(released.place).read_text().splitlines()[1:])
    assert claims["k-map"]["value"] == min(people[cells] for cells in shown) >= 12
    assert max(count / people[cells] for cells, count in shown.items()) <= 0.6
    everybody = job_file.with_name("everybody.csv")
    again = verify(Path(released.place), released.files["certificate"], population=everybody)
    assert again.numbers["k-map"] == claims["k-map"]["value"]
    assert {"k-map", "presence-max"} <= set(verify(Path(released.place), released.files["certificate"]).unchecked)


def test_the_command_counts_the_population_again(job_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``verify --population`` shows k-map among the checked numbers; another population is refused."""
    released = release_job(load_job(job_file))
    place, paper = str(released.place), str(released.files["certificate"])
    assert main(["verify", place, paper, "--population", str(job_file.with_name("everybody.csv"))]) == 0
    assert "k-map" in capsys.readouterr().out
    assert main(["verify", place, paper, "--population", str(job_file.with_name("people.csv"))]) == 3
    assert "people, and the certificate says 900" in capsys.readouterr().err


def test_a_lie_about_the_population_is_caught(job_file: Path) -> None:
    """A claim against the population that was changed by hand is refused as soon as the population is given."""
    released = release_job(load_job(job_file))
    paper = json.loads(released.files["certificate"].read_text())
    for claim in paper["confidential"]["claims"]:
        if claim["measure"] == "k-map":
            claim["value"] += 1
    bare = {key: value for key, value in paper["confidential"].items() if key != "sha256"}
    paper["confidential"]["sha256"] = digest_of(bare)  # by somebody who knows how certificates are made
    with pytest.raises(Unsafe, match="claims k-map = "):
        verify(Path(released.place), paper, population=job_file.with_name("everybody.csv"))
    with pytest.raises(BadInput, match="says nothing of one"):
        verify(Path(released.place), {"public": paper["public"]}, population=job_file.with_name("everybody.csv"))


def test_a_measure_that_lies_about_people_never_reaches_a_file(job_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If our count of the people behind a class is wrong, the verifier's own count stops the release."""
    from kpareto.measures import population

    honest = population.people_behind
    monkeypatch.setattr(population, "people_behind", lambda made: (honest(made)[0] + 1, honest(made)[1]))
    with pytest.raises(Unsafe, match="The certificate claims k-map"):
        release_job(load_job(job_file))
    assert not job_file.with_name("out.csv").exists()


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ("", r"\[population\] has neither source, sampling nor size"),
        ("sampling = 0.1\nsize = 900", r"has population.sampling and population.size. Give one of them"),
        ("sampling = 1.5", r"population.sampling is 1.5. Give the share"),
        ("size = 0", r"population.size is 0"),
        ("size = 10", r"population.size is 10, and the table alone has"),
        ('sampling = 0.1\nmodel = "pitmann"', r"population.model is 'pitmann'. Did you mean 'pitman'"),
        ('sampling = 0.1\ntable = "x"', r"population.table is not used"),
        ('source = "everybody.csv"\nmodel = "pitman"', r"population.model is not used"),
        ('source = "everybody.csv"\ntable = "x"', r"population.table is not used"),
        ('source = "postgresql://h/d"', r"no table is named"),
        ("share = 0.1", r"population.share is not known"),
    ],
)
def test_what_makes_no_sense_is_a_sentence(job_file: Path, lines: str, sentence: str) -> None:
    """Every mistake under [population] names its place and what may stand there."""
    job_file.write_text(JOB + "[population]\n" + lines + "\n")
    with pytest.raises(BadJob, match=sentence):
        load_job(job_file).table()


def test_a_hierarchy_that_does_not_cover_the_population_is_a_sentence(job_file: Path) -> None:
    """A file that lists values lists those of the population too, or the sentence names them with their rows."""
    job_file.with_name("town.csv").write_text("".join(f"{town};*\n" for town in TOWNS))
    job = load_job(job_file, ['columns.town.hierarchy="town.csv"'])
    with pytest.raises(KparetoError, match=r"'town' has no place for 1 value of the population: 'Dale' \(\d+ rows\)"):
        job.table()


def test_a_share_gives_estimates(job_file: Path) -> None:
    """With a share or a size the risks are estimated and say so; k-map needs a table and says that."""
    limits = "limits.journalist-risk=0.05"
    base = ["limits.k-map=", "limits.presence-max=", limits, "release.choose=knee", 'suppression.rule="cap-max-k"']
    for line in ("sampling = 0.4", "size = 900", 'size = 900\nmodel = "snb"'):
        job_file.write_text(JOB + "[population]\n" + line + "\n")
        job = load_job(job_file, [*base, 'search.objectives=["journalist-risk", "marketer-risk", "lm"]'])
        points = search_job(job)
        assert len(points) > 0
        released = release_job(job, points)
        paper = json.loads(released.files["certificate"].read_text())
        assert "estimated" in paper["public"]["population"]
    with pytest.raises(KparetoError, match="needs a table of the population"):
        search_job(load_job(job_file, [*base, 'search.objectives=["k-map", "lm"]']))


def test_a_local_recoding_counts_no_population(job_file: Path) -> None:
    """Labels that may overlap say of nobody in which class to look: refused before the search, and at a release."""
    plain = ["limits.k-map=", "limits.presence-max=", "limits.k=3", 'search.objectives=["k", "lm"]']
    changes = [*plain, "release.choose=k=3", 'search.method="local"', 'search.space="local"', "search.ks=[3]"]
    job = load_job(job_file, [*changes, "search.turns=1", "search.walks=0"])
    sentence = "In a local recoding labels of two classes may overlap, so the people of a population cannot be counted"
    with pytest.raises(BadJob, match=sentence):
        search_job(job)
    alone = replace(job, everybody=None)
    point = search_job(alone)[0]
    with pytest.raises(BadJob, match=sentence):
        Choice(job.table(), point.recoding, Suppression("none"), {"k": 3.0})
    drawn = replace(point.partition, table=replace(point.partition.table, population=job.table().population))
    with pytest.raises(BadJob, match=sentence):
        make("k-map")(drawn)
    shared = search_job(replace(job, everybody=Everybody(sampling=0.4)))
    released = release_job(replace(job, everybody=Everybody(sampling=0.4)), shared)
    assert "estimated" in json.loads(released.files["certificate"].read_text())["public"]["population"]


def test_python_takes_a_population(job_file: Path) -> None:
    """``read(population=…)`` takes a source, a table or a Population, and gives the job's table."""
    folder = job_file.parent
    job = load_job(job_file)
    wanted = job.table()
    schema, forms = job.schema(), job.forms(job.schema())
    everybody = read(folder / "everybody.csv", schema)
    for told in (folder / "everybody.csv", everybody, Population(table=everybody)):
        table = read(folder / "people.csv", schema, hierarchies=forms, population=told)
        assert table.joined.people.count.tolist() == wanted.joined.people.count.tolist()
        assert table.joined.codes.tolist() == wanted.joined.codes.tolist()


def everybody_like_adult(rows: int) -> dict[str, list[str]]:
    """Adult and made people beside them: each takes half of the columns from one row and half from another."""
    import pyarrow as pa

    quasi = adult_schema("default").quasi
    table = pa.table(adult("train")).select(list(quasi))
    table = table.filter(pa.array([all(row.values()) and "?" not in row.values() for row in table.to_pylist()]))
    table = table.filter(pa.array([work != "Never-worked" for work in table.column("workclass").to_pylist()]))
    columns = {name: table.column(name).cast(pa.string()).to_pylist() for name in quasi}
    own = len(columns[quasi[0]])
    rng = np.random.default_rng(16)
    first, second = rng.integers(0, own, (2, rows - own))
    people = {}
    for place, name in enumerate(quasi):
        values = np.array(columns[name], dtype=object)
        people[name] = [*columns[name], *values[first if place % 2 else second].tolist()]
    return people


def test_adult_is_released_against_a_made_population_of_300_000(tmp_path: Path) -> None:
    """Every node of Adult's lattice counted with the population; a chosen one released and verified against it."""
    import pyarrow as pa
    import pyarrow.csv as pc

    people = pa.table(everybody_like_adult(300_000))
    pc.write_csv(people, tmp_path / "everybody.csv")
    schema, forms = adult_schema("default"), adult_hierarchies("default")
    table = read(adult("train"), schema, "drop", hierarchies=forms, population=tmp_path / "everybody.csv")
    assert table.population is not None
    wanted = problem(table, ["k-map", "k", "lm"], Suppression("cap-max-k", 0.01), {"k-map": 20.0, "presence-max": 0.5})
    assert wanted.translation is not None
    points = exact_front(wanted)
    point = min(points, key=lambda candidate: candidate.values["lm"])
    limits = {"k-map": 20.0, "presence-max": 0.5, "k": 2.0}
    done = release(
        Choice(table, point.recoding, Suppression("cap-max-k", 0.01), limits), adult("train"), tmp_path / "out.csv"
    )
    again = verify(tmp_path / "out.csv", done.certificate, population=tmp_path / "everybody.csv")
    assert again.numbers["k-map"] == point.values["k-map"] == make("k-map")(done.partition)
    assert again.numbers["presence-max"] <= 0.5
    assert not again.unchecked


def test_another_population_of_the_same_size_is_refused(job_file: Path) -> None:
    """The rows of the population are bound by the certificate, not their number alone."""
    released = release_job(load_job(job_file))
    lines = job_file.with_name("everybody.csv").read_text().splitlines()
    first, other = lines[1], next(line for line in lines[2:] if line != lines[1])
    job_file.with_name("others.csv").write_text("\n".join([lines[0], other, *lines[2:]]) + "\n")
    job_file.with_name("mixed.csv").write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    place, paper = Path(released.place), released.files["certificate"]
    assert first != other
    assert "k-map" in verify(place, paper, population=job_file.with_name("mixed.csv")).numbers
    with pytest.raises(Unsafe, match="its rows are others"):
        verify(place, paper, population=job_file.with_name("others.csv"))


def test_a_limit_on_an_estimate_is_kept_and_called_estimated(
    job_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a share a limit on the journalist's risk needs its upper end, under every rule, and is certified as such."""
    wanted = ["limits.k-map=", "limits.presence-max=", "limits.journalist-risk=0.1", "suppression.limit=0.2"]
    wanted += ['search.objectives=["k", "lm"]']
    job_file.write_text(JOB + "[population]\nsampling = 0.4\n")
    for rule in ("as-needed", "cap-max-k"):
        job = load_job(
            job_file, [*wanted, "release.choose=knee", f'suppression.rule="{rule}"', f"release.target={rule}.csv"]
        )
        front = search_job(job)
        assert "journalist-risk: estimated, not counted; each number is an upper end." in front_sentence(front)
        released = release_job(job, front)
        assert released.verified.numbers["k"] >= 10  # what is sure: as many people as rows
        assert any("journalist-risk = " in each and "estimated, not counted" in each for each in released.remarks)
        paper = json.loads(released.files["certificate"].read_text())
        claims = [claim for claim in paper["confidential"]["claims"] if claim["measure"] == "journalist-risk"]
        assert [(claim["limit"], claim["asked"], claim["estimated"]) for claim in claims] == [
            (None, 0.1, "estimated, not counted")
        ]
        assert main(["verify", str(released.place), str(released.files["certificate"])]) == 0
        assert "said, not checked: journalist-risk (estimated, not counted)" in capsys.readouterr().out
