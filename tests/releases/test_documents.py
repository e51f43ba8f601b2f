"""A release and its documents come into place together or not at all, and replace nothing that they should not."""

from __future__ import annotations

import errno
import json
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kpareto import atomic
from kpareto.atomic import Document, documents_first, whole, write_whole
from kpareto.errors import BadInput, BadJob
from kpareto.faces.cli import main
from kpareto.jobs.front import search_job
from kpareto.jobs.parse import load_job
from kpareto.jobs.release import release_job
from kpareto.releases.documents import document_files
from kpareto.verifier import verify
from tests.twins.releases import people

JOB = """
[data]
source = "people.csv"
[columns.name]
role = "identifier"
[columns.age]
role = "quasi-identifier"
hierarchy = {hierarchy}
[columns.sex]
role = "quasi-identifier"
[columns.illness]
role = "sensitive"
[search]
objectives = ["k", "lm"]
[release]
choose = "k=5"
target = "out.csv"
"""
DOCUMENTS = ["out.certificate.json", "out.certificate.public.json", "out.recoding.json"]


def write_job(folder: Path, hierarchy: str = '"ages.csv"') -> Path:
    """The people, the hierarchy of their ages and a job, each in a file."""
    people().to_pandas().to_csv(folder / "people.csv", index=False)
    (folder / "ages.csv").write_text("".join(f"{age};{age // 10 * 10}s;*\n" for age in range(20, 60)))
    (folder / "job.toml").write_text(JOB.replace("{hierarchy}", hierarchy))
    return folder / "job.toml"


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, hidden ones too, but for the front that is kept for the next command."""
    files = [file for file in folder.rglob("*") if file.is_file() and file.name != "job.front.json"]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def released(job: Path, *changes: str) -> None:
    """Run the job with changes, and see that it succeeds."""
    arguments = [word for change in changes for word in ("--set", change)]
    assert main(["release", str(job), "-q", "--overwrite", *arguments]) == 0


# -- together or not at all ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["out.csv", "out.parquet", "out/"])
@pytest.mark.parametrize("before", [False, True])
def test_a_disk_that_is_full_at_any_write_leaves_everything_as_it_was(
    target: str, before: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every fsync and every rename of a release fails once: status 2, and each file is the one that was there."""
    job = load_job(write_job(tmp_path), [f"release.target={target}"])
    front = search_job(job)
    if before and target != "out/":  # a folder that is there is never written over
        release_job(job, front)
        job = load_job(tmp_path / "job.toml", [f"release.target={target}", "release.choose='k=10'"])
    was = contents(tmp_path)
    calls: list[str] = []
    fails_at = -1

    def failing(name: str, honest: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            calls.append(name)
            if len(calls) - 1 == fails_at:
                raise OSError(errno.ENOSPC, "No space left on device")
            return honest(*arguments, **named)

        return call

    for owner, name in ((os, "fsync"), (Path, "replace"), (Path, "rename")):
        monkeypatch.setattr(owner, name, failing(name, getattr(owner, name)))
    stopped = 0
    while fails_at < len(calls):
        fails_at += 1
        calls.clear()
        sentence = ""
        try:
            release_job(job, front)
        except BadInput as error:
            sentence = str(error)
        if sentence:
            assert "no space is left" in sentence
            assert contents(tmp_path) == was, (fails_at, calls)
            stopped += 1
        else:  # a folder's own fsync is a wish
            assert set(contents(tmp_path)) >= {*DOCUMENTS, *was}
            restore(tmp_path, was)
    assert stopped >= 7  # three documents and the release, each made safe and moved


def restore(folder: Path, was: dict[str, bytes]) -> None:
    """Make a folder what it was."""
    for name in contents(folder):
        if name not in was:
            (folder / name).unlink()
    for name, content in was.items():
        (folder / name).write_bytes(content)
    for empty in (file for file in folder.iterdir() if file.is_dir()):
        empty.rmdir()


def test_a_paper_that_cannot_be_written_stops_the_release(tmp_path: Path) -> None:
    """Its name is a folder: nothing is released, and no other document either."""
    job = write_job(tmp_path)
    (tmp_path / "out.recoding.json").mkdir()
    was = contents(tmp_path)
    assert main(["release", str(job), "-q"]) == 2
    assert contents(tmp_path) == was


def test_what_the_papers_belong_to_comes_last(tmp_path: Path) -> None:
    """Whoever sees the release sees its documents; where the release fails, the old documents come back."""
    document, target = tmp_path / "x.json", tmp_path / "x.csv"
    write_whole(document, "old")
    with documents_first() as place, whole(target) as part:
        part.write_text("rows")
        place({document: Document("new")})
        assert (document.read_text(), target.exists()) == ("new", False)
    assert (document.read_text(), target.read_text()) == ("new", "rows")

    def fails() -> None:
        with documents_first() as place, whole(target):
            place({document: Document("newer"), tmp_path / "y.json": Document("first")})
            raise KeyError("planned")

    with pytest.raises(KeyError, match="planned"):
        fails()
    assert contents(tmp_path) == {"x.json": b"new", "x.csv": b"rows"}


def test_several_writers_never_mix_their_documents(tmp_path: Path) -> None:
    """Four at once, again and again: release, certificate and recoding are always of one of them."""
    path = write_job(tmp_path)
    jobs = [load_job(path, [f"release.seed={seed}"]) for seed in range(4)]
    front = search_job(jobs[0])
    for _ in range(3):
        writers = [threading.Thread(target=release_job, args=(job, front)) for job in jobs]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        verify(tmp_path / "out.csv", tmp_path / "out.certificate.json")
        whole_certificate = json.loads((tmp_path / "out.certificate.json").read_text())
        assert (
            json.loads((tmp_path / "out.certificate.public.json").read_text())["public"] == whole_certificate["public"]
        )
        assert not [name for name in contents(tmp_path) if name.startswith(".")]


def test_a_part_swept_before_its_lock_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another writer looks for left parts exactly between making one and locking it."""
    lock = atomic._lock
    swept: list[dict[str, bytes]] = []

    def sweep_then_lock(descriptor: int, wait: bool = True) -> None:
        if len(swept) < 2:
            swept.append(contents(tmp_path))
            for name in ("x.csv", "folder"):
                atomic._sweep(tmp_path / name)
        lock(descriptor, wait)

    monkeypatch.setattr(atomic, "_lock", sweep_then_lock)
    write_whole(tmp_path / "x.csv", "rows")
    assert len(swept) == 2
    swept.clear()
    with atomic.whole_folder(tmp_path / "folder") as part:
        (part / "part.csv").write_text("rows")
    assert len(swept) == 2
    assert (tmp_path / "x.csv").read_text() == (tmp_path / "folder" / "part.csv").read_text() == "rows"
    assert contents(tmp_path) == {"x.csv": b"rows", str(Path("folder", "part.csv")): b"rows"}


def test_several_writers_wait_for_each_other(tmp_path: Path) -> None:
    """From its first document on one writer is alone, until what the documents belong to is in its place."""
    document, target = tmp_path / "x.json", tmp_path / "x.csv"
    placed, seen = threading.Event(), []

    def second() -> None:
        with documents_first() as place, whole(target) as part:
            part.write_text("second")
            placed.wait()
            place({document: Document("second")})
            seen.append(target.read_text())

    other = threading.Thread(target=second)
    other.start()
    with documents_first() as place, whole(target) as part:
        part.write_text("first")
        place({document: Document("first")})
        placed.set()
        other.join(0.3)
        assert other.is_alive()
    other.join()
    assert seen == ["first"]
    assert (document.read_text(), target.read_text()) == ("second", "second")


# -- nothing is replaced that should not be ------------------------------------------------------------------------


@pytest.mark.parametrize("hierarchy", ['"ages.csv"', '{file = "ages.csv"}'])
@pytest.mark.parametrize(
    "words",
    [["front", "--json", "ages.csv"], ["release", "--target", "ages.csv"], ["release", "--json", "ages.csv"],
     ["release", "--json", "people.csv"], ["release", "--json", "out.csv"], ["release", "--json", "./out.recoding.json"],
     ["release", "--json", "out.certificate.json"], ["release", "--target", "people.csv"]],
)  # fmt: skip
def test_an_output_is_no_input_and_no_other_output(
    words: list[str], hierarchy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows, hierarchies, the release and its documents: a sentence, status 2, and every file is as it was."""
    job = write_job(tmp_path, hierarchy)
    monkeypatch.chdir(tmp_path)
    was = contents(tmp_path)
    assert main([words[0], str(job), "-q", *words[1:]]) == 2
    assert contents(tmp_path) == was


def test_a_paper_behind_a_link_does_not_replace_an_input(tmp_path: Path) -> None:
    """A link called like the recoding leads to the hierarchy."""
    job = write_job(tmp_path)
    (tmp_path / "out.recoding.json").symlink_to(tmp_path / "ages.csv")
    was = contents(tmp_path)
    with pytest.raises(BadJob, match=r"out\.recoding\.json' is read by this command"):
        release_job(load_job(job))
    assert contents(tmp_path) == was


@pytest.mark.parametrize("target", [".", "/"])
def test_a_target_without_a_name_has_no_documents(target: str) -> None:
    """A sentence for whoever asks where the documents of such a release would lie."""
    with pytest.raises(BadJob, match="is no name of a file"):
        document_files(target)


def test_folders_with_points_have_documents_of_their_own(tmp_path: Path) -> None:
    """v1.0/ and v1.1/ are two releases."""
    assert document_files("v1.0/")["certificate"].name == "v1.0.certificate.json"
    assert document_files("a/out.csv")["recoding"] == Path("a/out.recoding.json")
    job = write_job(tmp_path)
    for version in ("v1.0/", "v1.1/"):
        released(job, f"release.target={version}")
    for version in ("v1.0", "v1.1"):
        verify(tmp_path / version, tmp_path / f"{version}.certificate.json")


@pytest.mark.parametrize("other", ["out.parquet", "out.pq", "out/"])
def test_the_documents_of_another_release_are_not_replaced(other: str, tmp_path: Path) -> None:
    """out.csv and out.parquet would share their documents; once the first is gone, its documents are nobody's."""
    job = write_job(tmp_path)
    released(job)
    was = contents(tmp_path)
    with pytest.raises(BadInput, match=r"would replace those of 'out\.csv': both are called 'out\.certificate\.json'"):
        release_job(load_job(job, [f"release.target={other}"]))
    assert contents(tmp_path) == was
    released(job)  # the same release may be made again
    (tmp_path / "out.csv").unlink()
    released(job, f"release.target={other}")


def test_a_file_that_is_no_certificate_stays(tmp_path: Path) -> None:
    """Somebody else's file has the name of the certificate."""
    job = write_job(tmp_path)
    (tmp_path / "out.certificate.json").write_text("my notes")
    with pytest.raises(BadInput, match="it is no certificate of a release"):
        release_job(load_job(job))


# -- who may read --------------------------------------------------------------------------------------------------


def test_confidential_papers_are_for_their_owner_and_targets_keep_their_mode(tmp_path: Path) -> None:
    """New documents 0600 but for the public one; a private target stays private, and nobody else gets in by a new one."""
    job = write_job(tmp_path)
    (tmp_path / "out.csv").touch(0o600)
    (tmp_path / "out.csv").chmod(0o600)
    os.umask(before := os.umask(0o022))
    mask = os.umask(0o022)
    try:
        released(job)
        assert modes(tmp_path) == [0o600, 0o600, 0o644, 0o600]
        for file in ("out.csv", *DOCUMENTS):
            (tmp_path / file).chmod(0o646 if file == "out.recoding.json" else 0o640)
        released(job)
    finally:
        os.umask(mask)
    assert before == mask
    assert modes(tmp_path) == [0o640, 0o640, 0o640, 0o640]


def modes(folder: Path) -> list[int]:
    """Who may do what with the release and its three documents."""
    return [stat.S_IMODE((folder / file).stat().st_mode) for file in ("out.csv", *DOCUMENTS)]


# -- odd names -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["back\\slash.csv", 'it\'s "x".csv', "tab\there.csv", "ü 😀.csv", "a=b#c.csv"])
def test_odd_names_of_targets(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A target on the command line goes where it says, whatever is in its name."""
    job = write_job(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["release", str(job), "-q", "--target", name]) == 0
    verify(tmp_path / name, document_files(tmp_path / name)["certificate"])


def test_a_hierarchy_file_in_a_rule_starts_at_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """{file = …} means the same file as its bare name, wherever the command is run."""
    (tmp_path / "jobs").mkdir()
    (tmp_path / "elsewhere").mkdir()
    job = write_job(tmp_path / "jobs", '{file = "ages.csv"}')
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert load_job(job).problem().table.hierarchies[0].height == 2


def test_a_folder_that_fills_meanwhile_is_a_sentence(tmp_path: Path) -> None:
    """Whoever puts files into a target while it is written keeps them, and the sentence is for people."""
    target = tmp_path / "folder"

    def write() -> None:
        with atomic.whole_folder(target) as part:
            (part / "mine").write_text("mine")
            target.mkdir()
            (target / "theirs").write_text("theirs")

    with pytest.raises(BadInput, match="somebody has put files into that folder meanwhile"):
        write()
    assert [file.name for file in target.iterdir()] == ["theirs"]
