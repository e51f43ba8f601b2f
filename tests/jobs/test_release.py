"""Releasing what a job says: what the rows must meet, what is refused, and what is told before anything is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kpareto.errors import BadJob, Unsafe
from kpareto.faces.cli.releases import print_release
from kpareto.fronts.choose import choose_point
from kpareto.jobs.front import search_job
from kpareto.jobs.parse import load_job
from kpareto.jobs.release import check_release, choosing, place_of, release_job, release_limits
from kpareto.releases.apply import apply
from kpareto.releases.choice import read_stored
from kpareto.verifier import verify
from tests.jobs.test_job import JOB, PEOPLE


@pytest.fixture
def job_file(tmp_path: Path) -> Path:
    """A job beside its rows."""
    (tmp_path / "people.csv").write_text(PEOPLE)
    place = tmp_path / "job.toml"
    place.write_text(JOB)
    return place


def test_a_job_is_released_from_python(job_file: Path) -> None:
    """Searched, chosen, written, verified and certified in one call, and all of it told as plain data."""
    released = release_job(load_job(job_file))
    assert released.place == job_file.with_name("people-anon.csv")
    assert set(released.files) == {"certificate", "public", "recoding"}
    assert all(file.is_file() for file in released.files.values())
    verified = verify(Path(released.place), released.files["certificate"])
    assert verified.numbers["k"] >= 5
    told = json.loads(json.dumps(released.to_dict()))
    assert told["files"]["release"] == str(released.place)
    assert {each["id"] for each in told["warnings"]} >= {"W1", "W15"}
    assert told["verified"] == verified.numbers


def test_limits_of_the_job_and_of_its_choice_are_met(job_file: Path) -> None:
    """The stricter of both counts, whichever way a measure is better; wishes for losses are no limits."""
    more = ['search.objectives=["k", "l", "t", "lm"]', "limits.t=0.9"]
    job = load_job(job_file, more)
    front = search_job(job)
    for words, expected in (
        ("k=5", {"k": 5.0, "t": 0.9}),
        ("k=1", {"k": 2, "t": 0.9}),
        ("k=3, t=0.5", {"k": 3.0, "t": 0.5}),
        ("k=3, t=1", {"k": 3.0, "t": 0.9}),
        ("t(column=illness)=0.8", {"k": 2, "t": 0.9, "t(column=illness)": 0.8}),
        ("prefer: k=4, t=0.01, lm=0.2", {"k": 4.0, "t": 0.9}),
        ("knee", {"k": 2, "t": 0.9}),
        ("id=0", {"k": 2, "t": 0.9}),
    ):
        chosen = load_job(job_file, [*more, f"release.choose={words!r}"])
        assert release_limits(chosen, front[0]) == expected, words


def test_without_a_limit_on_k_the_point_itself_gives_it(job_file: Path) -> None:
    """A job that names no k must still release with the k that was chosen, and never by accident with a k of 1."""
    text = JOB.replace("[limits]\nk = 2\n", "").replace('objectives = ["k", "l", "nwp"]', 'objectives = ["k", "lm"]')
    job_file.write_text(text)
    job = load_job(job_file, ["release.choose=knee"])
    front = search_job(job)
    assert release_limits(job, front.knee())["k"] == front.knee().values["k"]
    weakest = load_job(job_file, ["release.choose='id=0'"])
    for refused in (lambda: release_job(weakest, front), lambda: check_release(weakest, front[0])):
        with pytest.raises(Unsafe, match="rows would leave as they are"):
            refused()
    assert not job_file.with_name("people-anon.csv").exists()


def test_a_check_tells_what_a_release_would(job_file: Path) -> None:
    """Each limit beside its value and every warning, and nothing is written."""
    before = {file.name for file in job_file.parent.iterdir()}
    job = load_job(job_file)
    front = search_job(job)
    point = choose_point(front, job.choose)
    checked = check_release(job, point)
    assert checked.met
    assert [(limit.name, limit.limit, limit.met) for limit in checked.limits] == [("k", 5.0, True)]
    assert {file.name for file in job_file.parent.iterdir()} == before
    assert [warning.to_dict() for warning in checked.warnings] == release_job(job, front).to_dict()["warnings"]
    harder = load_job(job_file, ["limits.k=40"])
    beyond = check_release(harder, point)
    assert not beyond.met
    assert [(limit.limit, limit.met) for limit in beyond.limits] == [(40, False)]
    with pytest.raises(Unsafe, match="at least 40 is asked"):
        release_job(harder, front.take([point.id]))


def test_a_point_picked_by_hand_is_chosen_by_its_number(job_file: Path) -> None:
    """The job's own words stay where they mean the same point."""
    job = load_job(job_file)
    front = search_job(job)
    meant = choose_point(front, job.choose)
    assert choosing(job, meant).choose == "k=5"
    other = front[(meant.id + 1) % len(front)]
    assert choosing(job, other).choose == f"id={other.id}"
    assert choosing(load_job(job_file, ["release.choose='k=5000'"]), meant).choose == f"id={meant.id}"


def test_a_job_without_a_target_says_so(job_file: Path) -> None:
    """Before anything is read or searched."""
    job_file.write_text(JOB.replace('target = "people-anon.csv"', ""))
    job_file.with_name("people.csv").unlink()
    with pytest.raises(BadJob, match="There is no file to release to"):
        place_of(load_job(job_file))
    with pytest.raises(BadJob, match="There is no file to release to"):
        release_job(load_job(job_file))


def test_a_front_without_points_releases_nothing(job_file: Path) -> None:
    """Limits that no recoding can meet are bad input, those that none does meet unsafe; and there is no file."""
    with pytest.raises(BadJob, match="The limit k = 5,000 cannot be met: the table has"):
        release_job(load_job(job_file, ["limits.k=5000"]))
    with pytest.raises(BadJob, match="The choice k = 5,000 cannot be met: the table has"):
        release_job(load_job(job_file, ["release.choose='k=5000'"]))
    with pytest.raises(
        Unsafe, match=r"No recoding meets the limits k = 5, lm = 0\.01: where the others are met, k comes"
    ):
        release_job(load_job(job_file, ["limits.k=5", "limits.lm=0.01", "suppression.rule=cap-max-k"]))
    assert not job_file.with_name("people-anon.csv").exists()


def test_sentences_of_a_release_are_true(job_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A k that is asked is told as asked, and rows are those of the table, not of the sample it was searched on."""
    job = load_job(job_file, ["release.choose='k=-5'"])
    front = search_job(job)
    text = JOB.replace("[limits]\nk = 2\n", "")
    job_file.write_text(text)
    with pytest.raises(Unsafe, match=r"^With k = -5 rows would leave as they are\."):
        release_job(load_job(job_file, ["release.choose='k=-5'"]), front)


def test_rows_are_counted_in_the_table_and_not_in_its_sample(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A release that was searched on a sample tells how many of all rows it suppressed, and keeps the job's limits."""
    lines = [f"{20 + row % 10},{row % 600:03d},{('flu', 'cold', 'gout', 'HIV')[row % 7 % 4]}" for row in range(6000)]
    (tmp_path / "big.csv").write_text("age,zip,ill\n" + "\n".join([*lines, *["95,000,HIV"] * 8]) + "\n")
    quasi = '[columns.age]\nrole = "quasi-identifier"\nhierarchy = {intervals = [10]}\n'
    quasi += '[columns.zip]\nrole = "quasi-identifier"\nhierarchy = {prefix = [1]}\n'
    (tmp_path / "job.toml").write_text(
        '[data]\nsource = "big.csv"\nmemory = "1.2 MB"\ntoo_many = "sample"\nsample = 300\n'
        f'{quasi}[columns.ill]\nrole = "sensitive"\n[search]\nobjectives = ["alpha", "lm"]\n'
        '[suppression]\nrule = "as-needed"\n'
        '[limits]\nk = 5\nalpha = 0.7\n[release]\ntarget = "out.csv"\nchoose = "alpha=1.0"\n'
    )
    job = load_job(tmp_path / "job.toml")
    front = search_job(job)
    assert front.problem.table.sample is not None
    assert release_limits(job, choose_point(front, job.choose))["alpha"] == 0.7
    with pytest.raises(Unsafe, match=r"^8 of 6,008 rows would have to be suppressed, and at most 0 may be"):
        release_job(job, front)
    assert not (tmp_path / "out.csv").exists()
    print_release(
        release_job(load_job(tmp_path / "job.toml", ["suppression.rule=constraint", "suppression.limit=0.2"]))
    )
    assert "of 6,008 rows" in capsys.readouterr().out


def test_a_point_above_the_limit_is_released_with_its_own_thresholds(tmp_path: Path) -> None:
    """A job for k = 5 releases its point for 11, and certificate, verifier, stored recoding and new rows say so."""
    rows = [f"{20 + row % 50},{row % 37:03d},{('flu', 'cold', 'gout')[row % 11 % 3]}" for row in range(1500)]
    (tmp_path / "people.csv").write_text("age,zip,ill\n" + "\n".join(rows) + "\n")
    (tmp_path / "job.toml").write_text(
        '[data]\nsource = "people.csv"\n[columns.age]\nrole = "quasi-identifier"\nhierarchy = {intervals = [5, 10]}\n'
        '[columns.zip]\nrole = "quasi-identifier"\nhierarchy = {prefix = [2, 1]}\n[columns.ill]\nrole = "sensitive"\n'
        '[suppression]\nlimit = 0.1\n[limits]\nk = 5\nl = 2\n[release]\ntarget = "out.csv"\nchoose = "k=11"\n'
    )
    job = load_job(tmp_path / "job.toml")
    front = search_job(job)
    alone = search_job(load_job(tmp_path / "job.toml", ["limits.k=11"]))
    point = choose_point(front, "k=11")
    assert point.values == choose_point(alone, "k=11").values
    done = release_job(job, front)
    part = point.partition
    public = json.loads((tmp_path / "out.certificate.json").read_text(encoding="utf-8"))["public"]
    assert public["suppression"]["rule"] == "as-needed"
    assert public["suppression"]["thresholds"] == {"k": 11, "l": 2}
    assert done.rows == 1500 - part.suppressed_rows
    verified = verify(tmp_path / "out.csv", tmp_path / "out.certificate.json")
    assert verified.thresholds == {"k": 11, "l": 2}
    assert verified.numbers["k"] == point.values["k"] >= 11
    stored = read_stored(tmp_path / "out.recoding.json")
    assert dict(stored.suppression.thresholds) == {"k": 11, "l": 2}
    (tmp_path / "few.csv").write_text("age,zip,ill\n" + "\n".join(rows[:1200]) + "\n")
    applied = apply(stored, tmp_path / "few.csv", tmp_path / "few-anon.csv")
    assert applied.release.partition.sizes[applied.release.partition.visible].min() >= 11
    public["suppression"]["thresholds"]["k"] = 10_000
    with pytest.raises(Unsafe, match="Classes missing k = 10000 are said to be suppressed, and one has"):
        verify(tmp_path / "out.csv", public)
