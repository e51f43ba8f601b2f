"""A release as a workbook: one sheet, its cells in the types they have, written row by row."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

from kpareto.errors import BadJob, MissingExtra
from kpareto.tables.spelling import EXACT

MOST_ROWS = 2**20 - 1  # of a sheet, beside the line of names
MOST_COLUMNS = 2**14
MOST_SIGNS = 2**15 - 1  # of a cell
SHEET = "release"
NO_TIME = dt.datetime(1980, 1, 1)  # noqa: DTZ001 (equal rows give equal bytes, so a workbook says no time of its own)


def write_workbook(rows: Path, target: Path) -> None:
    """Write the rows of a Parquet file as the only sheet of a workbook; text is text, whatever it begins with."""
    import pyarrow.parquet as pq

    try:
        import xlsxwriter
    except ImportError as error:
        raise MissingExtra("Workbooks are written by xlsxwriter. Install it: pip install 'kpareto[files]'.") from error
    with pq.ParquetFile(rows) as file:
        names = list(file.schema_arrow.names)
        if file.metadata.num_rows > MOST_ROWS or len(names) > MOST_COLUMNS:
            raise BadJob(
                f"A sheet holds {MOST_ROWS:,} rows and {MOST_COLUMNS:,} columns, and the release has "
                f"{file.metadata.num_rows:,} and {len(names):,}. Give a target that ends in .csv or .parquet."
            )
        forms = {"default_date_format": "yyyy-mm-dd", "constant_memory": True, "in_memory": False}
        book = xlsxwriter.Workbook(str(target), forms)
        try:
            book.set_properties({"created": NO_TIME})
            sheet = book.add_worksheet(SHEET)
            moment = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
            for index, name in enumerate(names):
                sheet.write_string(0, index, name)
            line = 0
            for batch in file.iter_batches():
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    line += 1
                    for index, cell in enumerate(row):
                        _write_cell(sheet, line, index, cell, moment)
        finally:
            book.close()


def _write_cell(sheet: Any, line: int, column: int, cell: object, moment: object) -> None:
    if cell is None:
        return
    if isinstance(cell, bool):
        sheet.write_boolean(line, column, cell)
    elif isinstance(cell, int | float) and abs(cell) < EXACT:
        sheet.write_number(line, column, cell)
    elif isinstance(cell, dt.datetime) and cell.year >= 1900 and cell.tzinfo is None:
        sheet.write_datetime(line, column, cell, moment)
    elif isinstance(cell, dt.date) and not isinstance(cell, dt.datetime) and cell.year >= 1900:
        sheet.write_datetime(line, column, cell)
    else:
        text = str(cell)
        if len(text) > MOST_SIGNS:
            raise BadJob(
                f"A cell of the release has {len(text):,} characters, and one of a sheet at most {MOST_SIGNS:,}. "
                "Give a target that ends in .csv or .parquet."
            )
        sheet.write_string(line, column, text)
