"""A folder of parts is verified as a whole: nothing lies in it that somebody might read and nobody looked at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kpareto.errors import Unsafe
from kpareto.faces.cli import main
from kpareto.releases.release import release
from kpareto.verifier import UNSIGNED, cells, verify
from kpareto.verifier.cells import read_rows
from tests.twins.releases import chosen, people

SECRET = pa.table({"age": ["ORIGINAL"]})


def parted(folder: Path) -> Path:
    """A release in a folder, and its certificate beside it."""
    rows = people()
    release(chosen(rows), rows, f"{folder / 'parts'}/").certificate.write(folder / "c.json")
    return folder / "parts"


def _below(parts: Path) -> None:
    (parts / "sub").mkdir()
    pq.write_table(SECRET, parts / "sub" / "x.parquet")


def _hive(parts: Path) -> None:
    (parts / "age=ORIGINAL").mkdir()


def _named(name: str) -> Callable[[Path], None]:
    def add(parts: Path) -> None:
        pq.write_table(SECRET, parts / name)

    return add


def _check_sums(parts: Path) -> None:
    (parts / f".{next(parts.iterdir()).name}.crc").write_text("ORIGINAL rows where check sums should be")


@pytest.mark.parametrize(
    "add",
    [_below, _hive, _check_sums, *map(_named, ("y.PARQUET", ".z.parquet", "_z.parquet", "notes.csv", "data.orc"))],
)
def test_whatever_else_lies_in_the_folder_is_refused(add: Callable[[Path], None], tmp_path: Path) -> None:
    """Subfolders, endings in capitals, hidden files, other formats: some reader would read them."""
    parts = parted(tmp_path)
    verify(parts, tmp_path / "c.json")
    add(parts)
    with pytest.raises(Unsafe):
        verify(parts, tmp_path / "c.json")
    assert main(["verify", str(parts), str(tmp_path / "c.json")]) == 3


def test_empty_marks_and_check_sums_are_no_parts(tmp_path: Path) -> None:
    """What Spark leaves beside its parts holds no row."""
    parts = parted(tmp_path)
    part = next(parts.iterdir())
    (parts / "_SUCCESS").touch()
    (parts / f".{part.name}.crc").write_bytes(b"\0" * (8 + 4 * -(-part.stat().st_size // 512)))
    assert verify(parts, tmp_path / "c.json").files == (part.name,)


def test_it_says_what_it_looked_at_and_what_that_proves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every file by its name, and what a certificate without a signature does not prove."""
    parts = parted(tmp_path)
    part = next(parts.iterdir()).name
    assert main(["verify", str(parts), str(tmp_path / "c.json")]) == 0
    said = capsys.readouterr().out
    assert f"Looked at 1 file: {part}." in said
    assert UNSIGNED in said
    assert "neither who wrote it nor which table the rows come from" in UNSIGNED


def test_cells_that_nobody_wants_are_not_spelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A release of many columns is counted by those that classes are made of, and the others are not turned to text."""
    pq.write_table(pa.table({"age": [30, 40], "note": [1.5, 2.5], "town": ["x", "y"]}), tmp_path / "rows.parquet")
    record: dict[str, object] = {"columns": {}, "roles": {}}
    assert list(read_rows(tmp_path / "rows.parquet", True, record))[1:] == [["30", "1.5", "x"], ["40", "2.5", "y"]]
    spelled: list[object] = []

    def spell(value: object) -> str:
        """The text of a cell, which is remembered."""
        spelled.append(value)
        return str(value)

    monkeypatch.setattr(cells, "text", spell)
    names, *rows = read_rows(tmp_path / "rows.parquet", True, record, ("age", "town"))
    assert names == ["age", "note", "town"]
    assert [(row[0], row[2]) for row in rows] == [("30", "x"), ("40", "y")]
    assert spelled == [30, 40, "x", "y"]
