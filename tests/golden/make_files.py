"""Write people.xls and people.sas7bdat, which no package of the tests can write: python tests/golden/make_files.py.

The workbook needs xlwt (pip install xlwt). SAS files are written by ReadStat, the C library inside pyreadstat, which
shows Python only how to read them.
"""

from __future__ import annotations

import ctypes
import datetime as dt
from pathlib import Path

BORN = [dt.date(1964, 1, 20), dt.date(1970, 2, 3), None, dt.date(1964, 1, 20)]
AGE = [39, 50, 61, None]
WEIGHT = [93.4, 60.0, 71.25, 93.4]
ZIP = ["02139", "10001", None, "02139"]
FLAG = ["yes", "no", "yes", "yes"]
NAMES = ("born", "age", "weight", "zip", "flag")
ROWS = list(zip(BORN, AGE, WEIGHT, ZIP, FLAG, strict=True))
FOLDER = Path(__file__).parent
TEXT, DOUBLE = 0, 5  # READSTAT_TYPE_STRING, READSTAT_TYPE_DOUBLE


def write_xls(target: Path) -> None:
    """The rows as Excel wrote them until 2003."""
    import xlwt  # type: ignore[import-not-found]  # needed here alone

    book = xlwt.Workbook()
    sheet = book.add_sheet("People")
    day = xlwt.easyxf(num_format_str="YYYY-MM-DD")
    for line, row in enumerate([NAMES, *ROWS]):
        for place, cell in enumerate(row):
            if cell is not None:
                sheet.write(line, place, cell, *([day] if isinstance(cell, dt.date) else []))
    book.save(str(target))


def write_sas(target: Path) -> None:
    """The rows as SAS keeps them: numbers are doubles, dates days since 1960, a missing text is empty."""
    from pyreadstat import _readstat_writer

    stat = ctypes.CDLL(_readstat_writer.__file__)
    for name in ("readstat_writer_init", "readstat_add_variable", "readstat_get_variable"):
        getattr(stat, name).restype = ctypes.c_void_p
    content = bytearray()

    def take(data: int, length: int, _: object) -> int:
        content.extend(ctypes.string_at(data, length))
        return length

    writer = ctypes.c_void_p(stat.readstat_writer_init())
    taken = ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)(take)
    stat.readstat_set_data_writer(writer, taken)
    variables = []
    for name in NAMES:
        kind, width = (TEXT, 8) if name in ("zip", "flag") else (DOUBLE, 0)
        variable = ctypes.c_void_p(stat.readstat_add_variable(writer, name.encode(), kind, ctypes.c_size_t(width)))
        if name == "born":
            stat.readstat_variable_set_format(variable, b"DATE9")
        variables.append(variable)
    stat.readstat_begin_writing_sas7bdat(writer, None, ctypes.c_long(len(ROWS)))
    for row in ROWS:
        stat.readstat_begin_row(writer)
        for variable, cell in zip(variables, row, strict=True):
            if isinstance(cell, str) or variable in variables[3:]:
                stat.readstat_insert_string_value(writer, variable, (str(cell or "")).encode())
            elif cell is None:
                stat.readstat_insert_missing_value(writer, variable)
            else:
                number = (cell - dt.date(1960, 1, 1)).days if isinstance(cell, dt.date) else cell
                stat.readstat_insert_double_value(writer, variable, ctypes.c_double(number))
        stat.readstat_end_row(writer)
    stat.readstat_end_writing(writer)
    target.write_bytes(content)


if __name__ == "__main__":
    write_xls(FOLDER / "people.xls")
    write_sas(FOLDER / "people.sas7bdat")
