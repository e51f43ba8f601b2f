"""The door: the same Table whichever way the rows come in, and one sentence for rows that cannot be used."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.errors import BadTable
from kpareto.frames import Missing, read
from kpareto.schema import Schema
from kpareto.table import Table
from tests.doors import DOORS, Sheet, bits, sheets, told, twin


def through(door: str, sheet: Sheet, schema: Schema, missing: Missing) -> Table | str:
    """The Table that comes through a door, or the sentence that comes instead."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return read(DOORS[door](sheet, Path(folder)), schema, missing)
        except BadTable as error:
            return str(error)


@settings(max_examples=60, deadline=None)
@given(given_sheet=sheets(), missing=st.sampled_from(["drop", "category"]))
def test_every_door_gives_the_same_table(given_sheet: tuple[Sheet, Schema], missing: Missing) -> None:
    """Pandas, polars, pyarrow, DuckDB, CSV and Parquet give one Table, bit for bit, and it is the slow twin's."""
    sheet, schema = given_sheet
    expected = twin(sheet, schema, missing)
    tables = {door: through(door, sheet, schema, missing) for door in DOORS}
    for door, table in tables.items():
        if isinstance(table, str):
            assert table.startswith("No row is left: each of the")
            assert not expected.rows, door
        else:
            assert told(table) == expected, door
            first = tables["pyarrow"]
            assert isinstance(first, Table)
            assert bits(table) == bits(first), door
            assert table.rows == len(sheet.rows) - table.dropped
