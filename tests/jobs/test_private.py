"""Differentially private releases of a job: the order of the steps, what is refused, what is told and what is not."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kpareto.errors import BadInput, KparetoError, ReleaseWarning, Unsafe
from kpareto.faces.cli import main
from kpareto.jobs import private
from kpareto.jobs.inspect import PROPOSED
from kpareto.jobs.parse import load_job
from kpareto.jobs.private import PrivateWish, privatize
from kpareto.releases.private.budget import read_ledger
from kpareto.releases.private.private_release import draws_for_tests, make_plan, release_private
from kpareto.verifier import verify

pytest.importorskip("opendp")

JOB = """
[data]
source = "data/people.csv"
[columns.age]
role = "quasi-identifier"
hierarchy = {intervals = [10, 20], from = 20, to = 60}
[columns.town]
role = "quasi-identifier"
hierarchy = "town.csv"
[release]
target = "out.csv"
"""
WISH = PrivateWish("1", "1e-6", ("2", "1e-5"))


@pytest.fixture
def job_file(tmp_path: Path) -> Path:
    """A job beside a folder with 4,000 rows, a plain column that nobody gave a role among them."""
    rng = np.random.default_rng(2)
    rows = [f"{rng.integers(20, 60)},{'ABC'[rng.integers(0, 3)]},note {i}\n" for i in range(4_000)]
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "people.csv").write_text("age,town,remark\n" + "".join(rows))
    (tmp_path / "town.csv").write_text("A;*\nB;*\nC;*\nD;*\n")
    place = tmp_path / "job.toml"
    place.write_text(JOB)
    return place


def ledger_beside(job_file: Path) -> Path:
    """The ledger of the job's table."""
    return job_file.parent / "data" / "budget.json"


def test_a_private_release_is_written_verified_and_entered(job_file: Path) -> None:
    """Only quasi-identifiers are shown, every class has k rows, the certificate states all, the ledger lies beside the
    table."""
    done = privatize(load_job(job_file), WISH)
    lines = done.place.read_text().splitlines()
    assert lines[0] == "age,town"
    assert min(Counter(lines[1:]).values()) >= done.plan.k
    assert len(lines) - 1 < 4_000
    verified = verify(done.place, done.files["certificate"])
    assert verified.numbers["k"] >= done.plan.k
    said = json.loads(done.files["public"].read_text())["public"]["differential_privacy"]
    assert {"epsilon", "delta", "beta", "k", "private", "assumed", "levels", "score"} <= set(said)
    assert (said["epsilon"], said["delta"], said["k"]) == (1.0, 1e-6, done.plan.k)
    assert done.ledger_file == ledger_beside(job_file)
    assert [float(amount) for amount in done.ledger.left] == [1.0, 9e-6]
    assert set(done.files) == {"certificate", "public"}
    assert json.loads(json.dumps(done.to_dict()))["left"]["epsilon"] == 1.0


def test_papers_tell_nothing_of_rows_that_were_not_drawn(job_file: Path) -> None:
    """No paper holds the number of rows of the table, its hash, or a value that is not shown."""
    from kpareto.engines.read import fingerprint

    done = privatize(load_job(job_file), WISH)
    text = "".join(file.read_text() for file in done.files.values())
    assert "4000" not in re.sub(r"[0-9a-f]{64}", "", text)  # a digest may have any digits
    assert fingerprint(job_file.parent / "data" / "people.csv") not in text
    assert "note" not in text
    rows = len(done.place.read_text().splitlines()) - 1
    assert json.loads(done.files["certificate"].read_text())["confidential"]["input"]["rows"] == rows


def test_its_papers_do_not_say_that_it_is_not_private(job_file: Path) -> None:
    """W15 is for other releases, and for one that was made with a seed."""
    done = privatize(load_job(job_file), WISH)
    text = "".join(file.read_text() for file in done.files.values())
    assert "W15" not in text
    assert "not differentially private" not in text
    assert "W13" in text  # other warnings stay
    seeded = privatize(load_job(job_file), WISH, job_file.with_name("other.csv"), draws_for_tests(1))
    assert "not differentially private" in seeded.files["certificate"].read_text()


def test_a_run_beyond_the_total_is_refused_before_the_rows_are_read(
    job_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The third run of epsilon 1 does not fit into 2; it neither reads nor writes anything."""
    job = load_job(job_file)
    for _ in range(2):
        privatize(job, WISH)
    before = job_file.with_name("out.csv").read_bytes()

    def read_nothing(*_: object) -> None:
        raise AssertionError("the rows were read")

    monkeypatch.setattr(private, "read_placed", read_nothing)
    with pytest.raises(Unsafe, match="epsilon 0 and delta"):
        privatize(job, WISH)
    assert job_file.with_name("out.csv").read_bytes() == before
    ledger = read_ledger(ledger_beside(job_file))
    assert ledger is not None
    assert len(ledger.runs) == 2


def test_a_run_is_entered_before_the_rows_are_read(job_file: Path) -> None:
    """When the run fails afterwards its budget is gone, and the sentence says no more than that."""
    people = job_file.parent / "data" / "people.csv"
    people.write_text(people.read_text() + "33,Elsewhere,x,one cell too many\n")
    with pytest.raises(Unsafe, match="Why depends on the rows") as caught:
        privatize(load_job(job_file), WISH)
    assert "Elsewhere" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    ledger = read_ledger(ledger_beside(job_file))
    assert ledger is not None
    assert float(ledger.left[0]) == 1.0


@pytest.mark.parametrize("row", ["33,Elsewhere,x\n", "333,A,x\n", "33,,x\n", "many,?,x\n", "age,town,remark\n"])
def test_a_row_without_a_place_is_left_out_and_that_is_stated(job_file: Path, row: str) -> None:
    """A value outside the domain stops no run, for a release would then tell that there is none."""
    people = job_file.parent / "data" / "people.csv"
    people.write_text(people.read_text() + row)
    done = privatize(load_job(job_file), WISH)
    assert "Elsewhere" not in done.place.read_text()
    assert done.statement["left_out"] == (
        "Rows with a value that has no place in its hierarchy, or without a value, were left out before anything was "
        "counted or drawn; how many is not told."
    )


@pytest.mark.parametrize("missing", [0, 400])
def test_missing_values_have_a_place_whether_or_not_there_are_any(job_file: Path, missing: int) -> None:
    """With missing = "category" the domain is the same for a table without a missing value and for one with many."""
    job = load_job(job_file, ["data.missing=category"])
    people = job_file.parent / "data" / "people.csv"
    people.write_text(people.read_text() + "33,,x\n" * missing)
    hierarchies = private.declared_hierarchies(job, job.schema())
    table = private._read(job, job.schema(), hierarchies)
    assert table.hierarchies[1].leaves == ("A", "B", "C", "D", "(missing)")
    assert table.rows == 4_000 + missing
    done = privatize(job, WISH)
    assert "or without a value" not in done.statement["left_out"]
    assert verify(done.place, done.files["certificate"]).numbers["k"] >= done.plan.k


def test_a_certificate_counts_levels_in_one_way(job_file: Path) -> None:
    """The level of a column is that of its declared hierarchy wherever the certificate names it."""
    done = privatize(load_job(job_file), WISH)
    public = json.loads(done.files["public"].read_text())["public"]
    levels = public["differential_privacy"]["levels"]
    assert {name: {"level": c["level"], "of": c["of"]} for name, c in public["recoding"].items()} == levels
    assert {name: level["of"] for name, level in levels.items()} == {"age": 3, "town": 1}
    assert public["missing"] == "drop"


def test_no_recoding_outside_the_allowed_levels_is_chosen(job_file: Path) -> None:
    """Whatever the noise is: by score the values themselves would be shown, and they lie outside the levels."""
    table = load_job(job_file, ["columns.age.levels=[1, 2]", "columns.town.levels=[1, 1]"]).table()
    drawn = [release_private(table, make_plan(1, "1e-6"), draws=draws_for_tests(seed)) for seed in range(5)]
    assert {done.recoding.levels for done in drawn} <= {(1, 1), (2, 1)}
    town = load_job(job_file, ["columns.town.role=", "columns.town.hierarchy=", "columns.age.levels=[2, 2]"])
    persons = replace(town, person="town").table()
    plan = make_plan(1, "1e-6", rows_per_person=1000)
    assert release_private(persons, plan, draws=draws_for_tests(1)).recoding.levels == (2,)
    done = privatize(load_job(job_file, ["columns.age.levels=[2, 2]"]), WISH)
    assert done.statement["levels"]["age"] == {"level": 2, "of": 3}
    assert {line.split(",")[0] for line in done.place.read_text().splitlines()[1:]} == {"20-39", "40-59"}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (["columns.town.hierarchy="], "town have no hierarchy, so their values would be taken from the rows"),
        (["columns.age.hierarchy={intervals = [10]}"], "'age' cannot be made without the rows"),
        (["columns.age.hierarchy={quantiles = 4}"], "'age' cannot be made without the rows"),
        (["columns.remark.role=sensitive"], "remark would be shown as they are"),
        (["data.person=remark"], "Persons are told apart by remark, and nothing says how many rows"),
        (["release.rows_per_person=2"], "At most 2 rows of each person are asked for, and no column tells persons"),
        (["release.rows_per_person=0"], "Give a whole number of at least 1"),
        (["data.missing=error"], "A private run tells nothing of the rows"),
        (["columns.age.levels=[0, 4]"], "its hierarchy has the levels 0 to 3"),
        (["release.seed=3"], "A seed is given"),
        (["release.target=out.txt"], "goes to a .csv or .parquet file"),
        (["columns.remark.role=quasi-identifier", "columns.remark.hierarchy=town.csv", "columns.tow.role=identifier"],
         "tow"),
    ],
)  # fmt: skip
def test_what_a_private_run_cannot_keep_is_refused_before_anything_is_spent(
    job_file: Path, changes: list[str], sentence: str
) -> None:
    """Data-dependent hierarchies, columns shown as they are, persons, seeds: each is a sentence, and no ledger is there."""
    with pytest.raises(KparetoError, match=sentence):
        privatize(load_job(job_file, changes), WISH)
    assert not ledger_beside(job_file).exists()


def test_persons_with_several_rows_contribute_so_many(
    job_file: Path, capsys: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    """Certificate, ledger, W3 and the command say that persons are protected, and that k counts rows."""
    people = job_file.parent / "data" / "people.csv"
    head, *rows = people.read_text().splitlines(keepends=True)
    people.write_text(head + "".join(f"{row.rpartition(',')[0]},{number // 4}\n" for number, row in enumerate(rows)))
    job_file.write_text(JOB.replace("[columns.age]", 'person = "remark"\n[columns.age]'))
    job_file.write_text(job_file.read_text() + "rows_per_person = 2\n")
    arguments = ["private", str(job_file), "--epsilon", "2", "--delta", "1e-6", "--total", "4", "1e-5"]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert "Epsilon and delta are those of a person, of whom 2 rows at most count." in said
    assert "counts rows, of which 2 rows at most are of one person" in said
    assert not [each for each in recwarn if issubclass(each.category, ReleaseWarning)]
    stated = json.loads(job_file.with_name("out.certificate.public.json").read_text())["public"]
    privacy = stated["differential_privacy"]
    assert privacy["model"] == "(epsilon, delta)-differential privacy of persons"
    assert privacy["rows_per_person"] == 2
    assert "at most 2 of each, chosen at random" in privacy["private"][0]
    assert privacy["left_out"].startswith(
        "Rows with a value that has no place in its hierarchy, or without a value, or"
    )
    assert "all rows of one person more or less" in privacy["assumed"][0]
    lines = job_file.with_name("out.csv").read_text().splitlines()
    assert lines[0] == "age,town"
    assert len(lines) - 1 < 2_000
    ledger = read_ledger(ledger_beside(job_file))
    assert ledger is not None
    assert (ledger.runs[0].unit, ledger.runs[0].purpose[-29:]) == (
        "persons by remark",
        ", 2 rows of each person at most"[-29:],
    )
    assert verify(job_file.with_name("out.csv"), job_file.with_name("out.certificate.json")).numbers["k"] >= 1
    assert main(arguments[:1] + arguments[1:6] + ["--set", "data.person=", "--set", "release.rows_per_person="]) == 2
    assert "does not add up" in capsys.readouterr().err


def test_the_first_run_declares_the_total(job_file: Path) -> None:
    """Without a ledger and without a total nothing begins; a later run need not repeat it."""
    job = load_job(job_file)
    with pytest.raises(BadInput, match="Declare the total"):
        privatize(job, PrivateWish(1, "1e-6"))
    privatize(job, WISH)
    assert float(privatize(job, PrivateWish("0.5", "1e-6")).ledger.left[0]) == 0.5


def elsewhere(job_file: Path, way: str) -> Path:
    """A job in another folder whose table is the same one, or says it is."""
    people, folder = job_file.parent / "data" / "people.csv", job_file.parent / "elsewhere"
    if way == "a linked folder":
        folder.symlink_to(job_file.parent)
        return folder / job_file.name
    (folder / "data").mkdir(parents=True)
    there = folder / "data" / "people.csv"
    if way == "a link":
        there.symlink_to(people)
    elif way == "a hard link":
        there.hardlink_to(people)
        people.write_text(people.read_text() + "33,A,another row\n")  # so that its bytes are others
    elif way == "a copy" or way == "a changed copy":
        there.write_text(people.read_text() + "33,A,another row\n" * (way == "a changed copy"))
    source = "../data/../data/people.csv" if way == "a way round" else "data/people.csv"
    (folder / "town.csv").write_text("A;*\nB;*\nC;*\nD;*\n")
    (folder / "job.toml").write_text(JOB.replace("data/people.csv", source))
    return folder / "job.toml"


@pytest.mark.parametrize("way", ["a link", "a linked folder", "a hard link", "a copy", "a way round", "a changed copy"])
def test_the_budget_is_that_of_the_table_wherever_it_is_met(job_file: Path, way: str) -> None:
    """Links, copies and other ways to a table spend from its ledger; a copy that was changed is another table."""
    total = ("1", "1e-6")
    privatize(load_job(job_file), PrivateWish("1", "1e-6", total))
    other = load_job(elsewhere(job_file, way))
    if way == "a changed copy":
        assert privatize(other, PrivateWish("1", "1e-6", total)).ledger_file == other.folder / "data" / "budget.json"
        return
    with pytest.raises(Unsafe, match="epsilon 0 and delta 0 are left"):
        privatize(other, PrivateWish("1", "1e-6", total))
    assert not (job_file.parent / "elsewhere" / "out.csv").exists() or way == "a linked folder"


def test_two_tables_of_one_folder_have_a_budget_each(job_file: Path) -> None:
    """What one table has spent is not spent of the other, and both stand in one file."""
    folder = job_file.parent / "data"
    (folder / "others.csv").write_text((folder / "people.csv").read_text() + "33,A,another row\n")
    first = privatize(load_job(job_file), WISH)
    other = load_job(job_file, ["data.source=data/others.csv"])
    second = privatize(other, PrivateWish("1", "1e-6", ("1", "1e-6")), job_file.with_name("others.csv"))
    assert first.ledger_file == second.ledger_file
    assert [float(done.ledger.left[0]) for done in (first, second)] == [1, 0]
    assert privatize(load_job(job_file), WISH).ledger.left[0] == 0
    with pytest.raises(Unsafe):
        privatize(other, PrivateWish("1", "1e-6"), job_file.with_name("others.csv"))


def test_an_ordinary_release_of_a_table_with_a_budget_is_told(job_file: Path) -> None:
    """W15 says then that epsilon covers private releases alone; of a table without a budget it does not."""
    import kpareto as kp

    people = job_file.parent / "data" / "people.csv"

    def warned() -> tuple[str, str]:
        done = kp.anonymize(people, ["town"], k=5, identifiers=["age", "remark"])
        return next((each.severity, each.text) for each in done.warnings if each.id == "W15")

    with pytest.warns(ReleaseWarning):
        severity, text = warned()
    assert (severity, "budget" in text) == ("note", False)
    privatize(load_job(job_file), WISH)
    with pytest.warns(ReleaseWarning):
        severity, text = warned()
    assert severity == "caution"
    assert "Its epsilon covers the private releases of the table alone" in text
    (people.parent / "budget.json").write_text('{"format": "of somebody else"}')
    with pytest.warns(ReleaseWarning):
        assert "budget" not in warned()[1]


def test_a_delta_above_one_over_the_rows_shown_is_refused(job_file: Path) -> None:
    """How many rows the table has is not told; that it has as many as the release shows is known from that."""
    people = job_file.parent / "data" / "people.csv"
    head, *rows = people.read_text().splitlines(keepends=True)
    people.write_text(head + "".join(rows * 5))
    with pytest.raises(Unsafe, match=r"so the table has at least as many, and delta 0.0001 is above 1/1\d,\d{3}"):
        privatize(load_job(job_file), PrivateWish("1", "1e-4", ("1", "1e-4")))
    assert not job_file.with_name("out.csv").exists()


def test_draws_for_tests_are_marked(job_file: Path) -> None:
    """With draws that can be repeated the certificate says that nothing is private."""
    done = privatize(load_job(job_file), WISH, draws=draws_for_tests(1))
    assert "NOT private" in done.statement["private"][0]


def test_an_empty_release_is_told_and_not_written(job_file: Path) -> None:
    """Ten rows can show no class of k, and no file comes of it."""
    people = job_file.parent / "data" / "people.csv"
    people.write_text("".join(people.read_text().splitlines(keepends=True)[:11]))
    with pytest.raises(Unsafe, match="the release is empty and nothing was written"):
        privatize(load_job(job_file), WISH)
    assert not job_file.with_name("out.csv").exists()


def test_the_command_shows_nothing_of_the_rows(
    job_file: Path, capsys: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    """It prints what was spent and left, and its warnings once; a seed is refused; a proposed job is warned about."""
    job_file.write_text(PROPOSED + "\n" + JOB)
    arguments = ["private", str(job_file), "--epsilon", "1", "--delta", "1e-6"]
    assert main([*arguments, "--total", "3", "1e-5", "--seed", "7"]) == 2
    assert "must not be repeatable" in capsys.readouterr().err
    assert main([*arguments, "--total", "3", "1e-5", "--json", "-"]) == 0
    captured = capsys.readouterr()
    assert "proposed by kpareto inspect" in captured.err
    assert json.loads(captured.out)["left"] == {"epsilon": 2.0, "delta": 9e-06}
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert "Left of the budget" in said
    assert said.count("W3 (caution): ") == 1
    assert "W15" not in said
    assert "person =" not in said  # advice that a private run refuses or has no use for
    assert "[population]" not in said
    assert not [each for each in recwarn if issubclass(each.category, ReleaseWarning)]
    assert "4,000" not in said
    assert "4000" not in said
    assert main(["private", str(job_file), "--epsilon", "9", "--delta", "1e-6"]) == 3


def test_the_embedded_table_can_be_released_privately(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Adult's hierarchies were made without its rows; its ledger lies where one stands."""
    monkeypatch.chdir(tmp_path)
    assert (
        main(["private", "adult", "--epsilon", "1", "--delta", "1e-6", "--total", "1", "1e-6", "--target", "a.csv"])
        == 0
    )
    assert (tmp_path / "budget.json").is_file()
    assert verify(tmp_path / "a.csv", tmp_path / "a.certificate.public.json").numbers["k"] >= 73
