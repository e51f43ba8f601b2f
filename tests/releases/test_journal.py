"""A stop at every single step while a release and its documents come into place: never a mixed pair that nobody notices."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kpareto import atomic
from kpareto.atomic import JOURNAL, Document, Moving, documents_first, repair, whole, whole_folder
from kpareto.errors import Unsafe
from kpareto.faces.cli import main
from kpareto.releases.documents import document_files
from kpareto.verifier import verify
from tests.releases.test_documents import contents, write_job

DOCUMENTS = ("x.certificate.json", "x.recoding.json", "x.certificate.json.sig")
STEPS = [(Path, "replace"), (Path, "rename"), (Path, "unlink"), (Path, "chmod"), (Path, "write_text"), (Path, "rmdir"),
         (os, "fsync"), (os, "open"), (os, "link"), (os, "close")]  # fmt: skip


def kill() -> None:
    """The end, as nobody can catch it."""
    os.kill(os.getpid(), signal.SIGKILL)


def interrupt() -> None:
    """Ctrl-C."""
    raise KeyboardInterrupt


@contextmanager
def counting(stop_at: int | None, stop: Callable[[], None] = kill) -> Iterator[list[str]]:
    """Count every step that touches the disk; before the wanted one the process is stopped."""
    seen: list[str] = []
    with pytest.MonkeyPatch.context() as patch:

        def watched(step: Callable[..., Any], name: str) -> Callable[..., Any]:
            def take(*words: Any, **more: Any) -> Any:
                seen.append(name)
                if len(seen) - 1 == stop_at:
                    stop()
                return step(*words, **more)

            return take

        for owner, name in STEPS:
            patch.setattr(owner, name, watched(getattr(owner, name), name))
        yield seen


def put(folder: Path, word: str, form: str, signed: bool) -> None:
    """A release in a file or folder with its documents, all of which say the same word."""
    files = {folder / name: Document(word, private=name.endswith("json")) for name in DOCUMENTS[:2]}
    documents: dict[Path, Document | None] = {**files, folder / DOCUMENTS[2]: Document(word) if signed else None}
    target = folder / form
    if form == "x":
        with documents_first() as place, whole_folder(target) as part:
            (part / "0.parquet").write_text(word)
            place(documents, Moving(part, target))
    else:
        with documents_first() as place, whole(target) as part:
            part.write_text(word)
            place(documents, Moving(part, target))


def steps_of(folder: Path, form: str) -> int:
    """How many steps there are."""
    with counting(None) as seen:
        put(folder, "new", form, signed=False)
    return len(seen)


def killed(folder: Path, form: str, at: int) -> bool:
    """Put the new release in place in a process that is killed before a step; whether it was."""
    child = os.fork()
    if child == 0:
        try:
            with counting(at):
                put(folder, "new", form, signed=False)
        finally:
            os._exit(0)  # whatever happens: the child is no second run of the tests
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def words(folder: Path, form: str) -> dict[str, str]:
    """What the release and its documents say."""
    release = {"x": (folder / form / "0.parquet") if form == "x" else folder / form}
    files = {**release, **{name: folder / name for name in DOCUMENTS}}
    return {name: file.read_text() for name, file in files.items() if file.is_file()}


OLD = {"x": "old", **dict.fromkeys(DOCUMENTS, "old")}
NEW = {"x": "new", **dict.fromkeys(DOCUMENTS[:2], "new")}


@pytest.mark.parametrize("form", ["x.csv", "x"])
def test_a_stop_at_every_step_leaves_one_release_or_says_so(form: str, tmp_path: Path) -> None:
    """Old and new are never mixed without a journal beside them, and the next writer makes them whole again."""
    (tmp_path / "count").mkdir()
    old = {} if form == "x" else OLD
    if old:
        put(tmp_path / "count", "old", form, signed=True)
    states, count = [], steps_of(tmp_path / "count", form)
    for at in range(count + 1):
        folder = tmp_path / str(at)
        folder.mkdir()
        if old:
            put(folder, "old", form, signed=True)
        assert killed(folder, form, at) == (at < count)
        journal = (folder / f".{form}{JOURNAL}").exists()
        found = words(folder, form)
        states.append((found, journal))
        assert journal or found in (old, NEW), (at, found)
        # The next writer fails before it has anything to put into place: what lies there belongs together again.
        with pytest.raises(KeyError), whole(folder / "other.txt"):
            raise KeyError("planned")
        assert words(folder, form) in (old, NEW), at
        assert not list(folder.glob(f".*{JOURNAL}"))
        if form != "x" or not (folder / form).exists():
            put(folder, "newest", form, signed=True)
            assert set(words(folder, form).values()) == {"newest"}
            assert not [name for name in contents(folder) if name.startswith(".")]
    mixed = [found for found, _ in states if found not in (old, NEW)]
    assert len(mixed) >= 3  # there are such moments: the documents are moved one by one
    assert count > 30


@pytest.mark.parametrize("form", ["x.csv", "x"])
def test_ctrl_c_at_every_step_leaves_one_release(form: str, tmp_path: Path) -> None:
    """A release that has just got its name keeps its documents, and before that nothing is as if it had one."""
    (tmp_path / "count").mkdir()
    old = {} if form == "x" else OLD
    if old:
        put(tmp_path / "count", "old", form, signed=True)
    ends = []
    for at in range(steps_of(tmp_path / "count", form)):
        folder = tmp_path / str(at)
        folder.mkdir()
        if old:
            put(folder, "old", form, signed=True)
        with pytest.raises(KeyboardInterrupt), counting(at, interrupt):
            put(folder, "new", form, signed=False)
        assert words(folder, form) in (old, NEW), at
        ends.append(words(folder, form))
        with whole(folder / "other.txt") as part:  # the next writer finds nothing to mend
            part.write_text("")
        assert words(folder, form) == ends[-1], at
    assert {"x", *DOCUMENTS[:2]} == set(ends[-1])  # the last steps come when all is in place
    assert ends[0] == old


def test_a_journal_that_was_cut_short_moves_nothing(tmp_path: Path) -> None:
    """It is written before the first document is moved, so with half of it everything is as it was."""
    put(tmp_path, "old", "x.csv", signed=False)
    for text in ("", '{"release": ["x.csv', "[]", '{"release": 5, "papers": 7}', '{"release": null, "papers": []}'):
        (tmp_path / f".x.csv{JOURNAL}").write_text(text)
        repair(tmp_path)
        assert words(tmp_path, "x.csv") == dict.fromkeys(("x", *DOCUMENTS[:2]), "old")
        assert not list(tmp_path.glob(f".*{JOURNAL}"))


def test_a_journal_names_nothing_outside_its_folder(tmp_path: Path) -> None:
    """A planted one moves no file that a writer has not named so itself, and removes none of another number."""
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "secret").write_text("outside")
    (inner / "mine.json").write_text("mine")
    (inner / "plain").write_text("plain")
    (inner / f".x.csv{JOURNAL}").write_text(
        '{"release": ["/nowhere", 1], "papers": [["mine.json", 5, "../secret"], ["mine.json", 5, "plain"], '
        '["../secret", 5, null], ["plain", 5, null]]}'
    )
    repair(inner)
    assert contents(tmp_path) == {
        "secret": b"outside",
        str(Path("inner", "mine.json")): b"mine",
        str(Path("inner", "plain")): b"plain",
    }


def test_verify_says_that_a_program_was_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """New documents beside the old release: refused, with the reason and what to do; the next release mends it."""
    job = write_job(tmp_path)
    target = tmp_path / "out.csv"
    document = document_files(target)["certificate"]
    assert main(["release", str(job), "-q"]) == 0
    old = contents(tmp_path)
    child = os.fork()
    if child == 0:  # killed exactly between the documents and the release
        replace = Path.replace

        def stop(self: Path, place: Path) -> Path:
            if Path(place).name == "out.csv":
                os.kill(os.getpid(), signal.SIGKILL)
            return replace(self, place)

        monkeypatch.setattr(Path, "replace", stop)
        try:
            main(["release", str(job), "-q", "--overwrite", "--set", "release.seed=7"])
        finally:
            os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    assert target.read_bytes() == old["out.csv"]
    assert document.read_bytes() != old[document.name]
    with pytest.raises(Unsafe, match=r"A program was stopped while it put 'out\.csv' and its documents into place"):
        verify(target, document)
    with atomic.whole(tmp_path / "another.txt") as part:
        part.write_text("any writer in this folder does")
    seen = {name: raw for name, raw in contents(tmp_path).items() if not name.startswith(".")}
    assert seen == {**old, "another.txt": b"any writer in this folder does"}
    verify(target, document)


def test_an_unsigned_release_leaves_no_old_signature(tmp_path: Path) -> None:
    """A signature beside a document it was not made for would only frighten; it goes with the document it belonged to."""
    job, key = write_job(tmp_path), tmp_path / "release.key"
    assert main(["key", "new", str(key), "-q"]) == 0
    assert main(["release", str(job), "-q", "--sign", str(key)]) == 0
    assert len(list(tmp_path.glob("out.*.sig"))) == 3
    assert main(["release", str(job), "-q", "--overwrite", "--set", "release.seed=7"]) == 0
    assert not list(tmp_path.glob("out.*.sig"))
    assert main(["release", str(job), "-q", "--overwrite", "--sign", str(key)]) == 0
    was = contents(tmp_path)
    (tmp_path / "out.recoding.json").unlink()
    (tmp_path / "out.recoding.json").mkdir()
    assert main(["release", str(job), "-q", "--overwrite"]) == 2  # what fails leaves the signatures where they are
    del was["out.recoding.json"]
    assert contents(tmp_path) == was
