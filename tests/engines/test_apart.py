"""Readers in a process of their own: what they return and raise comes back, and their death is a sentence."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

import kpareto as kp
from kpareto.engines.apart import memory_apart, run_apart
from kpareto.engines.duckdb import csv
from kpareto.errors import BadTable, Remedy, Stopped, Unsafe
from kpareto.interrupts import Hearing, hearing
from kpareto.verifier import cells
from tests.twins.workbooks import far_workbook

MEMORY = 100_000_000


def whoami(word: str) -> tuple[str, int, int | None]:
    """Something that tells where it was done."""
    os.write(1, b"what a library prints is no answer")
    return word, os.getpid(), memory_apart()


def complain() -> None:
    """Raise a sentence with all of its parts."""
    raise BadTable("It is wrong.", where="data.source", remedy=Remedy("give-rows", "Give rows."))


def fill_memory(size: int) -> int:
    """Ask for so many bytes."""
    return len(bytearray(size))


def test_work_is_done_by_another_process() -> None:
    """Its answer comes back, and it knows its limit; inside of such a process nothing else is started."""
    word, process, memory = run_apart(whoami, "x", shown="a file", memory=MEMORY)
    assert (word, memory) == ("x", MEMORY)
    assert process != os.getpid()
    assert run_apart(run_there, shown="a file", memory=MEMORY)


def run_there() -> bool:
    """Whether work that is to be done apart is done here, as this is such a process already."""
    return run_apart(whoami, "x", shown="a file", memory=MEMORY)[1] == os.getpid()


def test_an_error_of_ours_comes_back_whole() -> None:
    """What, where and remedy of a sentence are those that were raised."""
    with pytest.raises(BadTable, match=r"^data.source It is wrong. Give rows.$") as caught:
        run_apart(complain, shown="a file", memory=MEMORY)
    assert (caught.value.what, caught.value.where) == ("It is wrong.", "data.source")
    assert caught.value.remedy == Remedy("give-rows", "Give rows.")


@pytest.mark.parametrize(("work", "argument"), [(os.abort, None), (os._exit, 0), (fill_memory, 4 << 30)])
def test_a_reader_that_dies_is_a_sentence(work: Any, argument: int | None) -> None:
    """Whether it aborts, ends without an answer, or asks for more memory than it may."""
    arguments = () if argument is None else (argument,)
    with pytest.raises(BadTable, match=r"'people\.xlsx' cannot be read: its reader ended before it was done"):
        run_apart(work, *arguments, shown="people.xlsx", memory=MEMORY)


def test_a_reader_that_takes_too_long_is_given_up() -> None:
    """Its time is limited where somebody waits for it, and who waits can stop it."""
    with pytest.raises(BadTable, match="took longer than 1 seconds"):
        run_apart(time.sleep, 600, shown="people.csv", memory=MEMORY, seconds=1)
    somebody = Hearing()
    somebody.stop()
    with hearing(somebody), pytest.raises(Stopped):
        run_apart(time.sleep, 600, shown="people.csv", memory=MEMORY)


@pytest.mark.parametrize("cell", ["XFD1048576", "B3"])
def test_a_workbook_with_one_cell_far_away(cell: str, tmp_path: Path) -> None:
    """In the last corner it is a sentence; in the next column it is a cell."""
    place = far_workbook(tmp_path / "far.xlsx", cell)
    schema = kp.Schema(("q",))
    if cell == "B3":
        assert kp.read(place, schema, missing="category").rows == 2
        return
    for look in (lambda: kp.read(place, schema), lambda: kp.inspect(place)):
        with pytest.raises(BadTable, match="one cell far away from its table"):
            look()


def test_a_release_with_one_cell_far_away_is_unsafe(tmp_path: Path) -> None:
    """Whoever verifies a workbook of somebody else hears a sentence, too, where its reader dies."""
    place = far_workbook(tmp_path / "far.xlsx", "XFD1048576")
    release = {"rows": 2, "columns": ["q"], "roles": {"q": "quasi-identifier"}, "sha256": None}
    public = {
        "claims": [{"measure": "k", "value": 1}], "release": release,
        "recoding": {"q": {"labels": ["x"]}}, "suppression": {"masked": 0},
    }  # fmt: skip
    with pytest.raises(Unsafe, match="one cell far away from its table"):
        kp.verify(place, {"public": public})


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zst"])
def test_a_packed_file_fills_no_disk(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than is free is a sentence, and what was written so far goes with the folder."""
    import pyarrow as pa

    text = b"q\n" + b"1\n" * (1 << 20)
    pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd(pa)}
    place = tmp_path / f"people.parquet{ending}"  # gzip of text is not unpacked to a file
    place.write_bytes(pack[ending](text))
    free = shutil.disk_usage(tmp_path)._replace(free=1 << 20)
    monkeypatch.setattr("kpareto.engines.duckdb.copies.shutil.disk_usage", lambda _: free)
    with pytest.raises(BadTable, match="more bytes than are free on the disk"):
        kp.read(place, kp.Schema(("q",)))


def zstd(pa: Any) -> Any:
    """What packs bytes by zstd, as a file has them."""

    def pack(text: bytes) -> bytes:
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, "zstd") as stream:
            stream.write(text)
        return sink.getvalue().to_pybytes()

    return pack


def test_a_line_without_an_end_is_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A packed line of any length is named before it is in memory."""
    monkeypatch.setattr(csv, "MOST_SIGNS", 1 << 22)
    place = tmp_path / "line.csv.gz"
    place.write_bytes(gzip.compress(b"q,x\n1,2\n" + b"a" * (1 << 23)))
    with pytest.raises(BadTable, match=r"Line 3 of .* has more than 4,194,304 characters"):
        kp.read(place, kp.Schema(("q",)))
    monkeypatch.setattr(cells, "MOST_SIGNS", 1 << 22)
    record = {"columns": ["q", "x"], "roles": {"q": "quasi-identifier", "x": "plain"}}
    with pytest.raises(Unsafe, match="has a line of 4,194,304 characters or more"):
        list(cells.read_rows(place, False, record))


def test_a_file_of_statistics_that_lies_about_its_rows(tmp_path: Path) -> None:
    """A Stata file of three rows that says it has 2^40, and an SPSS file that says 2^31 - 1."""
    pandas, pyreadstat = pytest.importorskip("pandas"), pytest.importorskip("pyreadstat")
    frame = pandas.DataFrame({"q": [1, 2, 3]})
    pyreadstat.write_dta(frame, tmp_path / "lie.dta")
    data = bytearray((tmp_path / "lie.dta").read_bytes())
    start = data.index(b"<N>") + 3
    data[start : start + 8] = (2**40).to_bytes(8, "little")
    (tmp_path / "lie.dta").write_bytes(data)
    with pytest.raises(BadTable, match=r"lie\.dta' cannot be read"):
        kp.read(tmp_path / "lie.dta", kp.Schema(("q",)))
    pyreadstat.write_sav(frame, tmp_path / "lie.sav")
    data = bytearray((tmp_path / "lie.sav").read_bytes())
    data[80:84] = (2**31 - 1).to_bytes(4, "little")
    (tmp_path / "lie.sav").write_bytes(data)
    assert kp.read(tmp_path / "lie.sav", kp.Schema(("q",))).rows == 3


def test_an_archive_that_lies_about_its_file(tmp_path: Path) -> None:
    """The bytes that a zip archive promises are those that are taken from it, or there is room for none."""
    place = tmp_path / "people.zip"
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("people.csv", "q\n1\n2\n")
        archive.infolist()[0].file_size = 1 << 50
    with pytest.raises(BadTable, match="no room for it"):
        kp.read(place, kp.Schema(("q",)))


def test_without_an_interpreter_to_start_work_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that has Python inside may have none to start."""
    monkeypatch.setattr("kpareto.engines.apart.sys.executable", "")
    assert run_apart(whoami, "x", shown="a file", memory=MEMORY)[1] == os.getpid()
