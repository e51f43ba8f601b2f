"""What the commands that hand out rows say, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import kpareto as kp
from kpareto.faces.cli import main
from kpareto.fronts.front import Front
from kpareto.fronts.problem import Problem
from kpareto.jobs import front as searching
from kpareto.jobs.parse import load_job
from kpareto.jobs.release import release_job
from kpareto.searches import models as comparing
from kpareto.searches.run import Plan, run_plan
from kpareto.tables.adult import adult_table
from kpareto.tables.spelling import several

PERSONS = """
[data]
source = "visits.csv"
person = "id"
[columns.age]
role = "quasi-identifier"
hierarchy = {intervals = [10]}
[columns.id]
role = "identifier"
[search]
method = "exact"
space = "lattice"
objectives = ["k", "glm"]
[limits]
k = 5
[release]
choose = "k=5"
target = "out.csv"
"""


def visits(folder: Path, encoding: str = "utf-8") -> None:
    """Fifteen persons in two decades of age, three visits each."""
    rows = [f"p{who},{20 + who},Köln" for who in range(10, 20) for _ in range(3)]
    rows += [f"q{who},{20 + who},Ulm" for who in range(20, 25) for _ in range(3)]
    (folder / "visits.csv").write_text("id,age,town\n" + "\n".join(rows) + "\n", encoding=encoding)


def test_k_of_persons_is_said_before_k_of_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The headline counts persons where they are told apart; verify says that it cannot recount them."""
    visits(tmp_path)
    (tmp_path / "job.toml").write_text(PERSONS)
    assert main(["release", str(tmp_path / "job.toml"), "-q"]) == 0
    said = capsys.readouterr().out
    assert "k = 5 persons (15 rows)" in said
    assert "out.recoding.json (confidential)" in said
    assert "Note: These columns leave as they are: town." in said
    assert main(["verify", str(tmp_path / "out.csv"), str(tmp_path / "out.certificate.json")]) == 0
    said = capsys.readouterr().out
    assert "45 rows in 2 classes" in said
    assert "  k = 15 rows (of 5 persons, it says)" in said
    assert "not checked: k(counts=persons): persons cannot be recounted from the file" in said
    assert main(["verify", str(tmp_path / "gone.csv"), str(tmp_path / "out.certificate.json")]) == 2
    assert "There is no release" in capsys.readouterr().err


def test_a_column_that_is_new_since_the_front_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same job, and one column more in the export: it needs a role, or the front is searched again."""
    visits(tmp_path)
    job = tmp_path / "job.toml"
    job.write_text(PERSONS)
    assert main(["front", str(job), "-q"]) == 0
    lines = (tmp_path / "visits.csv").read_text(encoding="utf-8").splitlines()
    more = "\n".join([lines[0] + ",ward", *(line + ",west" for line in lines[1:])]) + "\n"
    (tmp_path / "visits.csv").write_text(more, encoding="utf-8")
    capsys.readouterr()
    assert main(["release", str(job), "-q"]) == 2
    assert "The table has a column 'ward' that it had not when the front was searched" in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()
    job.write_text(PERSONS + '[columns.ward]\nrole = "plain"\n')
    assert main(["release", str(job), "-q"]) == 0
    assert (tmp_path / "out.csv").read_text(encoding="utf-8").startswith("age,town,ward\n")
    job.write_text(PERSONS)
    assert main(["front", str(job), "-q"]) == 0
    assert main(["release", str(job), "-q", "--overwrite"]) == 0


def test_apply_refuses_new_columns_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A column that the fitting table did not have stops the command, or is dropped as told."""
    visits(tmp_path)
    (tmp_path / "job.toml").write_text(PERSONS)
    assert main(["release", str(tmp_path / "job.toml"), "-q"]) == 0
    lines = (tmp_path / "visits.csv").read_text().splitlines()
    (tmp_path / "new.csv").write_text("\n".join([lines[0] + ",phone", *(line + ",0123" for line in lines[1:])]) + "\n")
    words = ["apply", str(tmp_path / "out.recoding.json"), str(tmp_path / "new.csv"), "--target"]
    capsys.readouterr()
    assert main([*words, str(tmp_path / "more.csv")]) == 2
    assert "have the column 'phone', which the fitting table did not have" in capsys.readouterr().err
    assert not (tmp_path / "more.csv").exists()
    assert main([*words, str(tmp_path / "more.csv"), "--new-columns", "drop"]) == 0
    assert "Note: New columns were left out: phone." in capsys.readouterr().out
    assert (tmp_path / "more.csv").read_text().startswith("age,town\n")


def test_inspect_writes_the_encoding_into_the_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Western text is recognised, shown and written into the job; the option says otherwise."""
    visits(tmp_path, "latin-1")
    words = ["inspect", str(tmp_path / "visits.csv"), "-o"]
    assert main([*words, str(tmp_path / "job.toml")]) == 0
    assert "Read as: encoding cp1252" in capsys.readouterr().out
    assert 'encoding = "cp1252"' in (tmp_path / "job.toml").read_text()
    assert main([*words, str(tmp_path / "other.toml"), "--encoding", "latin-1"]) == 0
    assert 'encoding = "latin-1"' in (tmp_path / "other.toml").read_text()


def test_inspect_is_told_the_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Keys after --form stand in the job; unknown ones, and those of no use, are a sentence."""
    (tmp_path / "x.csv").write_text("1;2\n" + "3;4\n5;2\n" * 9)
    words = ["inspect", str(tmp_path / "x.csv"), "-q", "--form"]
    assert main([*words, "names=['age', 'zip']", "-o", str(tmp_path / "job.toml")]) == 0
    assert 'names = ["age", "zip"]' in (tmp_path / "job.toml").read_text()
    capsys.readouterr()
    for word, sentence in (
        ("heder=true", "Did you mean 'header'? Write KEY=VALUE"),
        ("sheet=People", "only a workbook has one"),
        ("skip=x", "skip is 'x'. Give a whole number"),
    ):
        assert main([*words, word]) == 2
        assert sentence in capsys.readouterr().err


def test_counts_have_their_noun() -> None:
    """One row, two rows; one class, two classes."""
    assert (several(1, "row"), several(2, "row")) == ("1 row", "2 rows")
    assert (several(1, "class", "classes"), several(2000, "class", "classes")) == ("1 class", "2,000 classes")


def _job(folder: Path) -> Path:
    lines = [f"{20 + row % 30},{row % 4},{'abc'[row % 3]}" for row in range(300)]
    (folder / "people.csv").write_text("age,zip,ill\n" + "\n".join(lines) + "\n")
    quasi = '[columns.age]\nrole = "quasi-identifier"\nhierarchy = {intervals = [5, 10], from = 0}\n'
    quasi += '[columns.zip]\nrole = "quasi-identifier"\n[columns.ill]\nrole = "sensitive"\n'
    text = f'[data]\nsource = "people.csv"\n{quasi}[release]\nchoose = "k=5"\ntarget = "out.csv"\n'
    (folder / "job.toml").write_text(text)
    return folder / "job.toml"


def test_what_a_front_tells_is_for_its_owner_alone(tmp_path: Path) -> None:
    """JSON, pictures and Parquet of a front have the numbers of the table before its release, as the kept front has."""
    job, folder = str(_job(tmp_path)), tmp_path / "told"
    folder.mkdir()
    assert main(["front", job, "-q", "--json", str(folder / "a.json"), "--picture", str(folder / "a.svg")]) == 0
    kp.front(kp.read(kp.adult(), kp.Schema(quasi=("sex",))), objectives=["k", "glm"]).write_parquet(
        folder / "a.parquet"
    )
    assert {file.name: oct(file.stat().st_mode & 0o777) for file in folder.iterdir()} == dict.fromkeys(
        ("a.json", "a.svg", "a.parquet"), "0o600"
    )


def test_what_local_recodings_tell_is_for_its_owner_alone(tmp_path: Path) -> None:
    """The front of local recodings lists the values of the table, and a file of anybody's that it replaces is closed."""
    job, told = str(_job(tmp_path)), tmp_path / "told.json"
    words = ["front", job, "-q", "--model", "local", "--json", str(told)]
    assert main(words) == 0
    assert ["20", "20"] in json.loads(told.read_text(encoding="utf-8"))["points"][0]["runs"]["age"]
    assert told.stat().st_mode & 0o777 == 0o600
    told.chmod(0o644)
    assert main(words) == 0
    assert told.stat().st_mode & 0o007 == 0


def test_a_front_is_searched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Release and report use the front that lies beside the job, with the same choice, until the job changes."""
    job = _job(tmp_path)
    assert main(["front", str(job), "-q"]) == 0
    kept = tmp_path / "job.front.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert main(["release", str(job), "-q", "--target", str(tmp_path / "first.csv")]) == 0

    def never(*_: object, **__: object) -> None:
        raise AssertionError("searched again")

    with monkeypatch.context() as patch:
        patch.setattr(searching, "run_plan", never)
        assert main(["release", str(job), "-q"]) == 0
        assert main(["report", str(job), "-q", "-o", str(tmp_path / "r.html")]) == 0
        with pytest.raises(AssertionError, match="searched again"):
            release_job(load_job(job, ["search.objectives=['k', 'lm']"]))
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "first.csv").read_bytes()
    before = kept.read_bytes()
    assert main(["release", str(job), "-q", "--overwrite", "--set", "limits.k=3", "--choose", "k=3"]) == 0
    assert kept.read_bytes() != before


def test_the_embedded_table_is_released_by_its_word_alone(tmp_path: Path) -> None:
    """No danger stands against it: what would single rows out, or tell what is hidden, is left out."""
    assert main(["release", "adult", "-q", "--choose", "k=5", "--target", str(tmp_path / "adult.csv")]) == 0
    names = (tmp_path / "adult.csv").read_text(encoding="utf-8").splitlines()[0].split(",")
    assert names == [*adult_table().schema.quasi[:4], "occupation", *adult_table().schema.quasi[4:]]


def test_a_release_class_by_class_searches_its_k_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One k is searched, with the rows that the whole curve gives; the curve itself stays what a front or report has."""
    job, searched = str(_job(tmp_path)), []

    def noted(problem: Problem, plan: Plan, *more: Any) -> Front:
        searched.append(plan.settings.get("ks"))
        return run_plan(problem, plan, *more)

    monkeypatch.setattr(searching, "run_plan", noted)
    assert main(["release", job, "-q", "--model", "local"]) == 0
    assert main(["release", job, "-q", "--model", "local", "--target", str(tmp_path / "again.csv")]) == 0
    assert searched == [[5]]
    release_job(load_job(job, ["release.target=python.csv"], "local"))
    assert searched == [[5], [5]]
    assert main(["front", job, "-q", "--model", "local"]) == 0
    assert main(["release", job, "-q", "--model", "local", "--target", str(tmp_path / "curve.csv")]) == 0
    assert (
        main(["release", job, "-q", "--model", "local", "--choose", "knee", "--target", str(tmp_path / "knee.csv")])
        == 0
    )
    assert searched == [[5], [5], None]
    rows = [(tmp_path / name).read_bytes() for name in ("out.csv", "again.csv", "python.csv", "curve.csv")]
    assert len(set(rows)) == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["release", "--choose", "best"], "The choice 'best' is not understood"),
        (["release", "--choose", "dcn=5"], "names 'dcn', which is neither an objective nor a limit"),
        (["release", "--target", "out.ods"], "not as 'out.ods'"),
        (["release", "--target", "nofolder/x.csv"], "there is no folder"),
        (["front", "--picture", "x.jpg"], "End it in .svg, .png or .pdf"),
        (["front", "--json", "nofolder/x.json"], "there is no folder"),
        (["front", "--models", "lattice", "--picture", "x.jpg"], "End it in .svg, .png or .pdf"),
        (["front", "--models", "lattice", "--json", "nofolder/x.json"], "there is no folder"),
    ],
)
def test_options_are_checked_before_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    """A slip costs no search, and nothing is written."""
    job = _job(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(searching, "run_plan", lambda *_: pytest.fail("searched"))
    monkeypatch.setattr(comparing, "compare_models", lambda *_: pytest.fail("searched"))
    assert main([words[0], str(job), *words[1:]]) == 2
    assert sentence in capsys.readouterr().err


def test_a_release_is_not_overwritten_unasked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A second release needs a word to replace the first one and its papers."""
    job = _job(tmp_path)
    assert main(["release", str(job), "-q"]) == 0
    before = (tmp_path / "out.csv").read_bytes()
    assert main(["release", str(job), "-q", "--choose", "k=20"]) == 2
    assert "Give --overwrite" in capsys.readouterr().err
    assert (tmp_path / "out.csv").read_bytes() == before
    assert main(["release", str(job), "-q", "--choose", "k=20", "--overwrite"]) == 0
    assert (tmp_path / "out.csv").read_bytes() != before


def _apply(folder: Path, *words: str) -> int:
    """New rows by the recoding that the job was released by, to be given a target."""
    return main(["apply", str(folder / "out.recoding.json"), str(folder / "next.csv"), *words])


@pytest.fixture
def released(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A folder with a release, its papers, and the rows of the next month."""
    assert main(["release", str(_job(tmp_path)), "-q"]) == 0
    lines = (tmp_path / "people.csv").read_text().splitlines()
    (tmp_path / "next.csv").write_text("\n".join([*lines, *lines[1:61]]) + "\n")
    capsys.readouterr()
    return tmp_path


def test_an_answer_that_cannot_be_written_is_told_before_new_rows_are(
    released: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder that is not there costs no release."""
    before = sorted(released.iterdir())
    assert _apply(released, "-q", "--target", str(released / "new.csv"), "--json", str(released / "no" / "a.json")) == 2
    assert "there is no folder" in capsys.readouterr().err
    assert sorted(released.iterdir()) == before


def test_new_rows_are_released_with_both_certificates_and_all_warnings(
    released: Path, capsys: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    """Which paper is confidential is said as by release; the public one holds nothing that is, and verifies."""
    target = released / "new.csv"
    assert _apply(released, "--target", str(target), "--json", str(released / "answer.json")) == 0
    out, err = capsys.readouterr()
    whole, public = released / "new.certificate.json", released / "new.certificate.public.json"
    assert f"  certificate: {whole} (confidential)\n  public: {public}\n" in out
    assert f"Hand out {target} and {public.name}; keep the other documents." in err
    assert not (released / "new.recoding.json").exists()
    assert whole.stat().st_mode & 0o777 == 0o600
    assert list(json.loads(public.read_text())) == ["public"]
    assert main(["verify", str(target), str(public)]) == 0
    answer = json.loads((released / "answer.json").read_text())
    assert answer["files"] == {"release": str(target), "certificate": str(whole), "public": str(public)}
    ids = [each["id"] for each in answer["warnings"]]
    assert "Warnings: " in out
    assert all(f"\n{each['id']} ({each['severity']}): {each['text']}\n" in out for each in answer["warnings"])
    assert "W1" in ids
    certificate = json.loads(whole.read_text())
    assert certificate["public"]["warnings"] == [number for number, _ in certificate["confidential"]["warnings"]] == ids
    assert not recwarn.list  # what is printed is not told by Python again


def test_earlier_releases_are_spoken_of_where_they_were_counted(
    released: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without --earlier nobody looked at any."""
    assert _apply(released, "-q", "--target", str(released / "alone.csv")) == 0
    assert f"Released 360 rows to {released / 'alone.csv'}; k = 6.\n" in capsys.readouterr().out
    assert _apply(released, "-q", "--target", str(released / "new.csv"), "--earlier", str(released / "out.csv")) == 0
    said = f"Released 360 rows to {released / 'new.csv'}; k = 6, with earlier releases 11.\n"
    assert said in capsys.readouterr().out


def test_new_rows_replace_no_release_unasked(released: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As release does: a word is needed, and then all papers are those of the new rows."""
    before = {file.name: file.read_bytes() for file in released.iterdir()}
    assert _apply(released, "-q", "--target", str(released / "out.csv")) == 2
    said = capsys.readouterr().err
    assert main(["release", str(released / "job.toml"), "-q"]) == 2
    assert said == capsys.readouterr().err  # one and the same sentence
    assert {file.name: file.read_bytes() for file in released.iterdir()} == before
    assert _apply(released, "-q", "--target", str(released / "out.csv"), "--overwrite") == 0
    for paper in ("out.certificate.json", "out.certificate.public.json"):
        assert (released / paper).read_bytes() != before[paper]
        assert main(["verify", str(released / "out.csv"), str(released / paper)]) == 0
    recoding = released / "out.recoding.json"
    assert recoding.read_bytes() == before[recoding.name]  # the new rows are recoded by it, so it stays


def test_the_recoding_of_a_replaced_release_goes_with_it(released: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside new rows lies no recoding that they were not recoded by, nor its signature; one alone needs a word, too."""
    other = str(released / "other.csv")
    assert main(["release", str(released / "job.toml"), "-q", "--choose", "k=20", "--target", other]) == 0
    recoding = released / "other.recoding.json"
    (released / "other.recoding.json.sig").write_text("a signature")
    (released / "other.csv").unlink()
    capsys.readouterr()
    assert _apply(released, "-q", "--target", other) == 2
    assert f"{str(recoding)!r} is there already. Give --overwrite" in capsys.readouterr().err
    assert recoding.is_file()
    assert _apply(released, "-q", "--target", other, "--overwrite") == 0
    assert sorted(file.name for file in released.glob("*other*")) == [
        "other.certificate.json",
        "other.certificate.public.json",
        "other.csv",
    ]


def test_new_rows_that_cannot_be_released_leave_the_old_papers(released: Path) -> None:
    """Where papers cannot come into place, every file is the one that was there."""
    (released / "out.certificate.public.json").unlink()
    (released / "out.certificate.public.json").mkdir()
    before = {file.name: file.read_bytes() for file in released.iterdir() if file.is_file()}
    assert _apply(released, "-q", "--target", str(released / "out.csv"), "--overwrite") == 2
    assert {file.name: file.read_bytes() for file in released.iterdir() if file.is_file()} == before


@pytest.mark.parametrize("words", [["report", "adult"], ["measure", "adult", "--quasi", "age,sex"]])
def test_a_page_is_not_replaced_unasked(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Somebody may have written into it; with --overwrite it is replaced."""
    page = tmp_path / "page.html"
    page.write_text("my notes")
    assert main([*words, "-q", "-o", str(page)]) == 2
    assert "is there already. Give --overwrite to replace it, or another -o." in capsys.readouterr().err
    assert page.read_text() == "my notes"
    assert main([*words, "-q", "-o", str(page), "--overwrite"]) == 0
    assert page.read_text().startswith("<!DOCTYPE html>")


COUNTED = """
[data]
source = "people.csv"
[columns.age]
role = "quasi-identifier"
hierarchy = {intervals = [5, 10]}
[columns.sex]
role = "quasi-identifier"
[limits]
k = 5
[release]
choose = "k=5"
target = "out.csv"
"""


def counted_people(folder: Path, more: str = "") -> str:
    """A job for 240 people, and where it lies."""
    rows = [f"{20 + who % 40},{'FM'[who // 40 % 2]}" for who in range(240)]
    (folder / "people.csv").write_text("age,sex\n" + "\n".join(rows) + "\n")
    (folder / "job.toml").write_text(COUNTED + more)
    return str(folder / "job.toml")


def test_counts_are_released_verified_and_drawn_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The way of a recipient: the public part with counts, checked as far as can be, and copies drawn from both."""
    job = counted_people(tmp_path)
    assert main(["release", job, "-q", "--counts"]) == 0
    release, public = str(tmp_path / "out.csv"), str(tmp_path / "out.certificate.public.json")
    book = json.loads(Path(public).read_text())["public"]["codebook"]
    assert [rows for _, _, rows in book["sex"]["counts"]] == [120, 120]
    assert sum(rows for _, _, rows in book["age"]["counts"]) + book["age"].get("rest", 0) == 240
    capsys.readouterr()
    assert main(["verify", release, public]) == 0
    assert "(possible, not counted)" in capsys.readouterr().out
    drawn = str(tmp_path / "drawn.csv")
    assert main(["impute", release, "-o", drawn, "--copies", "2", "--seed", "3"]) == 0
    assert "Wrote 2 copies of 240 rows" in capsys.readouterr().out
    assert Path(drawn).read_text().startswith("copy,age,sex\n1,")
    assert main(["verify", drawn, public]) == 3
    assert main(["verify", drawn, str(tmp_path / "drawn.drawn.json")]) == 2
    capsys.readouterr()
    for words, sentence in (
        (["-o", drawn], "is there already"),
        (["-o", str(tmp_path / "new.csv"), "--copies", "0"], "copies is 0"),
        (["-o", str(tmp_path / "new.csv"), "--certificate", str(tmp_path / "gone.json")], "gone.json"),
    ):
        assert main(["impute", release, *words]) == 2
        assert sentence in capsys.readouterr().err
    assert not (tmp_path / "new.csv").exists()


@pytest.mark.parametrize(
    ("more", "words", "sentence"),
    [
        ("[population]\nsampling = 0.5\n", ["release"], "release.counts is set, and who is in the table"),
        ("", ["release", "--set", "release.counts=3"], "release.counts is 3. Write true or false."),
        (
            "",
            ["private", "--epsilon", "1", "--delta", "1e-6", "--set", "release.counts=true"],
            "release.counts is set, and no epsilon covers counts of the rows.",
        ),
    ],
)
def test_counts_that_would_tell_too_much_are_refused(
    more: str, words: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence, status 2, nothing released."""
    job = counted_people(tmp_path, more)
    asked = [words[0], job, "-q", *words[1:], *(["--counts"] if words == ["release"] else [])]
    assert main(asked) == 2
    assert sentence in capsys.readouterr().err
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(("out", "spent"))]
