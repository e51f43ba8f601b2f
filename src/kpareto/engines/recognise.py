"""Recognise the form of a file: encoding, separator, title lines, line of names, decimal comma, dates of a country.

Only ``inspect`` does this. It shows what it recognised and writes it into the job, so that every face reads the file
alike; whoever reads a file without a job says its form himself, and nothing is guessed there.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kpareto.engines import file_of, open_source
from kpareto.engines.admission import allowed_bytes
from kpareto.engines.apart import run_apart
from kpareto.engines.duckdb.connect import engine
from kpareto.engines.duckdb.copies import first_bytes, is_statistics, is_workbook, read_labels, sheet_head
from kpareto.engines.duckdb.csv import (
    HEAD,
    SAMPLE,
    file_bytes,
    find_separator,
    marked_encoding,
    refuse_row,
    values_among,
    wide_encoding,
)
from kpareto.engines.duckdb.files import is_json, unpack_all
from kpareto.engines.form import SEPARATORS, WHOLE, DataFile, Form, file_kind
from kpareto.engines.source import View
from kpareto.engines.sql import literal
from kpareto.errors import shorten

MOST_TITLES = 20  # lines above the names
WESTERN = 0.3  # share of bytes beyond ASCII up to which a text can be in a Western encoding
FEW = 200  # values that are looked at first
FEWEST = 3  # different values from which digits alone are dates
YEARS = (1800, 2199)
CLOCKS = ("", " %H:%M", " %H:%M:%S")
# Orders of day, month and year; those with a point have one order only.
DAY_FIRST = {"%d/%m/%Y": "%m/%d/%Y", "%d-%m-%Y": "%m-%d-%Y"}
OTHERS = ("%d.%m.%Y", "%Y/%m/%d", "%Y.%m.%d", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y")
DIGITS = "%Y%m%d"
_COMMA = rf"[+-]?{WHOLE},[0-9]+"
_POINT = rf"[+-]?{WHOLE}\.[0-9]+"
_POINTS = r"[+-]?[1-9][0-9]{0,2}(\.[0-9]{3})+"
_POINTS_COMMA = rf"{_POINTS},[0-9]+"
_COMMAS = r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+"
_COMMAS_POINT = rf"{_COMMAS}\.[0-9]+"
_NUMBERS = (rf"[+-]?{WHOLE}", _COMMA, _POINT, _POINTS, _COMMAS, _POINTS_COMMA, _COMMAS_POINT)
_IS_NUMBER = re.compile("|".join(f"(?:{pattern})" for pattern in _NUMBERS))
_HAS_YEAR = re.compile("(?:1[89]|2[01])[0-9]{2}")  # YEARS


@dataclass(frozen=True)
class Recognised:
    """A source as it is to be read, and what is to be said of it."""

    source: object  # a DataFile where it is a file whose form was not told
    remarks: tuple[str, ...] = ()
    named: bool = False  # whether its names are a line of a file, and were seen to be no row of it
    labels: Mapping[str, str] = field(default_factory=dict)  # what a file of statistics says of its columns

    @property
    def form(self) -> Form:
        """The form of a file; a plain one where it is none."""
        return self.source.form if isinstance(self.source, DataFile) else Form()


def recognise(source: object, encoding: str, marks: Sequence[str], keys: Mapping[str, Any] | None = None) -> Recognised:
    """A file with its form; all else, and a DataFile, is as it is.

    ``marks`` are texts that stand for no value; ``keys`` are keys of the form that need not be recognised.
    """
    if _unknown_file(source) is None:
        return Recognised(source)
    with open_recognised(source, encoding, marks, keys) as (recognised, _):
        return recognised


@contextmanager
def open_recognised(
    source: object, encoding: str, marks: Sequence[str], keys: Mapping[str, Any] | None = None
) -> Iterator[tuple[Recognised, View]]:
    """The same with its rows: a file is read once for both, unless its cells are read otherwise than they stand."""
    file = _unknown_file(source)
    if file is None:
        with open_source(source, encoding) as rows:
            yield Recognised(source), rows.view()
        return
    known = dict(keys or {})
    form, named = _lay_out(file, str(known.get("encoding", encoding)), known.get("sheet"))
    form = replace(form, **known)
    seen = form if form.header is False or form.names is not None else replace(form, header=True)
    # Signs and dates are looked for in the cells as they stand there.
    seen = replace(seen, decimal=".", thousands=None, dates={})
    with open_source(DataFile(file, seen)) as rows:
        view = rows.view()
        form, remarks = _look_at_cells(view, form, marks, named)
        sentences, labels = _find_labels(file, form)
        recognised = Recognised(DataFile(file, replace(form, **known)), (*sentences, *remarks), named, labels)
        if replace(recognised.form, header=recognised.form.has_header) == replace(seen, header=seen.has_header):
            yield recognised, view
            return
    with open_source(recognised.source) as rows:
        yield recognised, rows.view()


def _unknown_file(source: object) -> Path | None:
    """The file that a source is, where nobody told its form."""
    file = None if isinstance(source, DataFile) else file_of(source)
    with suppress(OSError):  # a name that is too long is no file
        if file is not None and file.is_file():
            return file
    return None


def _find_labels(file: Path, form: Form) -> tuple[list[str], dict[str, str]]:
    """What is to be known where labels stand for codes, as other programs may show the codes; and labels of columns."""
    if file_kind(file.name) != "statistics":
        return [], {}
    with engine() as scratch:
        path, memory = unpack_all(file, scratch.folder), allowed_bytes(None)
        coded, labels = run_apart(read_labels, path, str(file), shown=str(file), memory=memory)
    if not coded or form.codes:
        return [], labels
    return [f"Labels stand for the codes of {shorten(coded)}; codes = true under [data] keeps the codes."], labels


def _lay_out(file: Path, encoding: str, sheet: str | None) -> tuple[Form, bool]:
    """What can be seen before any cell is read, and whether the names of the columns are a line of the file.

    Of text that is its encoding, its separator and titles above it, of a workbook its sheet and titles.
    """
    with engine() as scratch:
        path = unpack_all(file, scratch.folder)
        if is_workbook(path):
            shown, memory = str(file), allowed_bytes(None)
            name, rows = run_apart(sheet_head, path, sheet, shown, SAMPLE, shown=shown, memory=memory)
            return Form(sheet=name, skip=count_titles(list(enumerate(rows, 1)))), True
        start = first_bytes(path, 4)
        if start == b"PAR1" or is_statistics(path, path.name) or is_json(path):
            return Form(), False
        packed = start.startswith(b"\x1f\x8b")
        known = find_encoding(path, packed, str(file)) if codecs.lookup(encoding).name == "utf-8" else encoding
        with file_bytes(path, packed, str(file)) as stream:
            beginning = stream.read(HEAD)
    text = beginning.decode(marked_encoding(beginning) or known, errors="ignore").removeprefix("\ufeff")
    sep = re.match(r"sep=(.)[\r\n]", text)
    separator, skip = lay_out_text(text, sep[1] if sep else None)
    return Form(known, None if separator == "," else separator, skip=skip), True


def find_encoding(path: Path, packed: bool, shown: str) -> str:
    """The encoding that all bytes of a text are right in; utf-8, which then complains, where nobody can tell."""
    with file_bytes(path, packed, shown) as stream:
        beginning = stream.read(HEAD)
    if marked_encoding(beginning):
        return "utf-8"  # the mark says what it is
    if wide := wide_encoding(beginning):
        return wide
    high = sum(byte > 127 for byte in beginning)
    for name in ("utf-8", "cp1252"):
        if name == "cp1252" and high > WESTERN * max(len(beginning), 1):
            break
        decoder = codecs.getincrementaldecoder(name)()
        try:
            with file_bytes(path, packed, shown) as stream:
                while piece := stream.read(HEAD):
                    decoder.decode(piece)
                decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            continue
        return name
    return "utf-8"


# -- titles --------------------------------------------------------------------------------------------------------

Records = list[tuple[int, list[str]]]  # the cells of each record, with the line that it ends on


def lay_out_text(text: str, fixed: str | None = None) -> tuple[str, int]:
    """The separator of a text and the lines of titles above its names; both as they are where nothing is above."""
    best: tuple[tuple[bool, bool, int], str, int] = ((False, False, 0), fixed or find_separator(text), 0)
    for separator in SEPARATORS if fixed is None else (fixed,):
        records = _records(text, separator)
        skip = count_titles(records)
        widths = {len(cells) for line, cells in records if line > skip and any(cells)}
        score = (len(widths) == 1 and max(widths, default=0) > 1, skip == 0, max(widths, default=0))
        best = max(best, (score, separator, skip), key=lambda rated: rated[0])
    (regular, *_), separator, skip = best
    return (separator, skip) if regular else (fixed or find_separator(text), 0)


def _records(text: str, separator: str) -> Records:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True)
    records: Records = []
    try:
        for record in reader:
            records.append((reader.line_num, [cell.strip() for cell in record]))
            if len(records) > SAMPLE + MOST_TITLES:
                break
    except csv.Error:
        pass  # the reader of the file says which line it is
    return records[:-1] if len(text) >= HEAD // 4 and len(records) <= SAMPLE + MOST_TITLES else records


def count_titles(records: Records) -> int:
    """Lines above the names: shorter than nearly all others, or with nothing but their first cell filled."""
    widths = Counter(len(cells) for _, cells in records if any(cells))
    if not widths:
        return 0
    width = max(widths, key=lambda many: (widths[many], many))

    def is_title(cells: Sequence[str]) -> bool:
        filled = [cell for cell in cells if cell]
        return len(cells) < width or not filled or (width > 2 and len(filled) == 1 and bool(cells[0]))

    line = 0
    for ends, cells in records[: MOST_TITLES + 1]:
        if not is_title(cells):
            return line
        line = ends
    return 0


# -- names, numbers, dates --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Texts:
    """What the texts of one column are, each true where all of them are so."""

    column: str
    comma: bool = False  # numbers, some with a comma before other than three digits
    commas: bool = False  # numbers, some with a comma before three digits
    point: bool = False  # numbers, some with a point before other than three digits
    points: bool = False  # numbers, some with a point before three digits
    both: bool = False  # some with points between thousands and a decimal comma
    dates: tuple[str, ...] = ()  # the forms that fit every text


def _look_at_cells(rows: View, form: Form, marks: Sequence[str], named: bool) -> tuple[Form, tuple[str, ...]]:
    """The form with what the cells tell: a line of names that is a row, decimal signs, dates."""
    remarks: list[str] = []
    if named and form.header is None and form.names is None and _values_among_names(rows):
        names = [f"column{index}" for index in range(1, len(rows.columns) + 1)]
        form = replace(form, header=False, names=names)
        remarks.append(
            "The first line looks like a row, so the table is read without a line of names: give them under [data] as "
            "names; if it has names, say header = true."
        )
    columns = list(form.names or rows.columns)
    texts = _ask_texts(rows, columns, marks)
    form = _with_signs(form, texts)
    dates, doubtful = choose_dates({column.column: column.dates for column in texts if column.dates})
    if doubtful:
        remarks.append(
            f"The dates of {shorten(doubtful)} may be day/month or month/day: say which under [data], such as "
            f'dates = {{{doubtful[0]} = "%d/%m/%Y"}}.'
        )
    return replace(form, dates=dates), tuple(remarks)


def _values_among_names(rows: View) -> int:
    """How many names of the columns are values, where they are so many that they are a row; one scan of the rows."""
    texts = [index for index, kind in enumerate(rows.kinds) if kind == "VARCHAR"]
    same = [_occurs(rows, index) for index in texts]
    answers = rows.one(f"SELECT {', '.join(same)} FROM {rows.table}") if same else ()
    occurring = {index for index, answer in zip(texts, answers, strict=True) if answer}

    def filled(index: int) -> bool:
        return bool(rows.one(f"SELECT count(nullif(({rows.cell(index)})::VARCHAR, '')) FROM {rows.table}")[0])

    return values_among(rows.columns, lambda index, _: index in occurring, filled)


def _occurs(rows: View, index: int) -> str:
    """Whether the name of a column is one of its texts."""
    name = literal(rows.columns[index].strip())
    # Looking for the name inside is quick, and few cells have it.
    return f"bool_or(CASE WHEN contains(c{index}, {name}) THEN {rows.cell(index)} = {name} ELSE false END)"


def _ask_texts(rows: View, columns: Sequence[str], marks: Sequence[str]) -> list[_Texts]:
    """What the texts of each column are.

    The first values rule out what they do not fit, for all columns at once; only what is left is asked of every value,
    so that no answer rests on a sample. Signs in numbers matter only where some number has a comma.
    """
    texts = [index for index, kind in enumerate(rows.kinds) if kind == "VARCHAR"]
    first = dict(zip(texts, _first_values(rows, texts, marks), strict=True))
    forms = {index: _fitting_few(rows, values) for index, values in first.items()}
    numbers = [index for index in texts if all(map(_IS_NUMBER.fullmatch, first[index]))]
    signed = _find_signed(rows, numbers)
    asked = [index for index in texts if forms[index] or index in signed]
    return [_ask(rows, index, columns[index], marks, forms[index]) for index in asked]


def _find_signed(rows: View, numbers: Sequence[int]) -> list[int]:
    """The columns of numbers with signs in them, where some have a comma; none where a point is the only sign."""
    signs = [f"coalesce(bool_or(contains(c{index}, '{sign}')), false)" for sign in ",." for index in numbers]
    answers = rows.one(f"SELECT {', '.join(signs)} FROM {rows.table}") if signs else ()
    commas, points = answers[: len(numbers)], answers[len(numbers) :]
    if not any(commas):
        return []
    return [index for index, comma, point in zip(numbers, commas, points, strict=True) if comma or point]


def _first_values(rows: View, places: Sequence[int], marks: Sequence[str]) -> list[list[str]]:
    """The first few values of each column, those that stand for no value left out; one query for all."""
    listed = ", ".join(map(literal, marks))
    lists = [
        f"(SELECT list(v) FROM (SELECT v FROM (SELECT {rows.cell(index)} AS v FROM {rows.table}) "
        f"WHERE v IS NOT NULL AND v NOT IN ({listed}) LIMIT {FEW}))"
        for index in places
    ]
    return [list(values or ()) for values in rows.one(f"SELECT {', '.join(lists)}")] if lists else []


def _fitting_few(rows: View, values: Sequence[str]) -> list[str]:
    """The forms of dates that a few values have; none where some value has no year in it, which most columns tell."""
    if not values or not all(map(_HAS_YEAR.search, values)):
        return []
    fits = ", ".join(f"bool_and({_fits(form)})" for form in _date_forms())
    answers = rows.one(f"SELECT {fits} FROM (SELECT unnest([{', '.join(map(literal, values))}]) AS v)")
    return [form for form, all_fit in zip(_date_forms(), answers, strict=True) if all_fit]


def _ask(rows: View, index: int, column: str, marks: Sequence[str], forms: Sequence[str]) -> _Texts:
    """One question about the different texts of a column, of which a few have one of these forms of dates."""

    def matching(pattern: str) -> str:
        return f"regexp_full_match(v, {literal(pattern)})"

    listed = ", ".join(map(literal, marks))
    present = f"SELECT v FROM ({rows.values(index)}) WHERE v IS NOT NULL AND v NOT IN ({listed})"
    three = {sign: rf".*[0-9]\{sign}[0-9]{{3}}([,.].*)?" for sign in ",."}
    asked = [
        f"bool_and({' OR '.join(map(matching, _NUMBERS))})",
        f"bool_or({matching(_COMMA)} AND NOT {matching(three[','])})",
        f"bool_or({matching(_COMMAS)} OR {matching(_COMMAS_POINT)})",
        f"bool_or(({matching(_POINT)} AND NOT {matching(three['.'])}) OR {matching(_COMMAS_POINT)})",
        f"bool_or({matching(_POINTS)})",
        f"bool_or({matching(_POINTS_COMMA)})",
        "count(*)",
        *(f"bool_and({_fits(form)})" for form in forms),
    ]
    answer = rows.one(f"SELECT {', '.join(asked)} FROM ({present})")
    all_numbers, (*signs, count), every = bool(answer[0]), answer[1:7], answer[7:]
    dates = tuple(form for form, all_fit in zip(forms, every, strict=True) if all_fit)
    if all_numbers and not (int(count) >= FEWEST and DIGITS in dates):
        dates = ()
    comma, commas, point, points, both = (bool(all_numbers and sign) for sign in signs)
    return _Texts(column, comma, commas, point, points, both, dates)


def _date_forms() -> list[str]:
    days = (*DAY_FIRST, *DAY_FIRST.values(), *OTHERS)
    return [f"{day}{clock}" for day in days for clock in CLOCKS] + [DIGITS]


def _fits(form: str) -> str:
    year = f"year(try_strptime(v, {literal(form)}))"
    digits = " AND regexp_full_match(v, '[0-9]{8}')" if form == DIGITS else ""
    return f"coalesce({year} BETWEEN {YEARS[0]} AND {YEARS[1]}{digits}, false)"


def _with_signs(form: Form, texts: Sequence[_Texts]) -> Form:
    """The decimal sign and the sign between thousands that the columns of numbers agree on; else a point."""

    def some(test: Callable[[_Texts], bool]) -> bool:
        return any(test(column) for column in texts if not column.dates)

    if some(lambda column: column.both) or (
        some(lambda column: column.comma) and not some(lambda column: column.point)
    ):
        return replace(form, decimal=",", thousands="." if some(lambda column: column.both or column.points) else None)
    if some(lambda column: column.commas) and not some(lambda column: column.comma):
        if form.separator is None or some(lambda column: column.point):  # cells between commas, so these are quoted
            return replace(form, thousands=",")
        return replace(form, decimal=",")
    return form


def choose_dates(fitting: dict[str, tuple[str, ...]]) -> tuple[dict[str, str], list[str]]:
    """The form of each column of dates, and the columns of which nobody can tell day from month.

    Where both orders fit one column, those of which only one fits decide.
    """
    months = set(DAY_FIRST.values())

    def is_month_first(form: str) -> bool:
        return any(form.startswith(start) for start in months)

    sure: dict[str, str] = {}
    doubtful: dict[str, tuple[str, ...]] = {}
    for column, forms in fitting.items():
        orders = {is_month_first(form) for form in forms}
        if len(orders) == 1:
            sure[column] = forms[0]
        else:
            doubtful[column] = forms
    seen = {is_month_first(form) for form in sure.values() if "/" in form or "-%m-" in form or form.startswith("%m-")}
    if len(seen) == 1:
        first = seen.pop()
        for column, forms in list(doubtful.items()):
            sure[column] = next(form for form in forms if is_month_first(form) == first)
            doubtful.pop(column)
    return {column: sure[column] for column in fitting if column in sure}, list(doubtful)


def check_names(rows: View) -> None:
    """Raise where the names of a table are a row of data: one person would be the header of the release."""
    count = _values_among_names(rows)
    if count:
        raise refuse_row(count, len(rows.columns))
