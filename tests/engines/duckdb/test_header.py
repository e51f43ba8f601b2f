"""Names of columns with line breaks in them, as spreadsheets write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kpareto.engines.read import read
from kpareto.tables.schema import Schema


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("inside", ["\n", "\r\n"])
def test_a_line_break_in_a_name_ends_no_line(tmp_path: Path, ends: str, inside: str) -> None:
    """Whichever way the lines of the file end, every row is read."""
    lines = [f'"a{inside}z",b', "1,x", "2,y", '"3",y']
    (tmp_path / "in.csv").write_bytes((ends.join(lines) + ends).encode())
    table = read(tmp_path / "in.csv", Schema(("b",)))
    assert (table.rows, table.hierarchies[0].leaves) == (3, ("x", "y"))
