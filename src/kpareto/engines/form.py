"""The form of a file: what must be known to read it and what the file itself does not say.

A ``Form`` stands under ``[data]`` of a job, so that every face reads a file alike; ``inspect`` recognises it, shows it
and writes it there. A ``DataFile`` is a path with its form, and a source like any other. Nothing is loaded here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from itertools import count
from pathlib import Path, PurePath
from typing import Any, Literal

from kpareto.errors import BadJob

Kind = Literal["text", "sheet", "statistics", "json", "parquet"]
Missing = Literal["drop", "category", "error"]  # what becomes of rows without a value
PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")
_ENDINGS: Mapping[Kind, tuple[str, ...]] = {
    "parquet": (".parquet", ".parq", ".pq"),
    "sheet": (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
    "statistics": (".dta", ".sav", ".zsav", ".por", ".sas7bdat", ".xpt"),
    "json": (".json", ".jsonl", ".ndjson"),
}
SEPARATORS = (",", ";", "\t", "|")  # those that are recognised
THOUSANDS = (".", ",", "'", " ", "\u00a0", "\u202f")  # what may stand between groups of three digits
WHOLE = r"(?:0|[1-9][0-9]*)"
EVERY_FILE = ("decimal", "thousands", "dates")
# Which keys a kind of file has a use for.
USED: Mapping[Kind, tuple[str, ...]] = {
    "text": ("encoding", "separator", "header", "names", "number_duplicates", "skip", *EVERY_FILE),
    "sheet": ("sheet", "header", "names", "number_duplicates", "skip", *EVERY_FILE),
    "statistics": ("codes", *EVERY_FILE),
    "json": EVERY_FILE,
    "parquet": EVERY_FILE,
}


@dataclass(frozen=True)
class Form:
    """How a file is laid out, as far as it does not say so itself.

    Parameters
    ----------
    encoding : str, optional
        Any of Python's encodings.
    separator : str, optional
        One character; without it, it is recognised among comma, semicolon, tab and bar.
    header : bool, optional
        Whether the first line has names. Unless told it has, but where ``names`` are given, and it must not look like a
        row.
    names : sequence of str, optional
        The names of the columns, where the file has none or others.
    skip : int, optional
        Lines before the first that counts, such as titles.
    decimal : {'.', ','}, optional
        The decimal sign.
    thousands : str, optional
        What stands between thousands: a point, a comma, an apostrophe or a blank.
    dates : mapping of str to str, optional
        Columns whose dates are not written year-month-day, each with its form as Python's strptime has it.
    sheet : str, optional
        Of a workbook; the first one that holds cells unless given.
    codes : bool, optional
        Of Stata, SPSS and SAS: the codes themselves, and not the labels that the file has for them.
    number_duplicates : bool, optional
        Columns of the same name are told apart by numbers: name, name_2, name_3.

    Raises
    ------
    BadInput
        If the encoding is not known, or a sign or the form of a date makes no sense.

    Examples
    --------
    >>> import kpareto as kp
    >>> form = kp.Form(separator=";", decimal=",", dates={"born": "%d.%m.%Y"})
    >>> form.has_header, form.plain_numbers
    (True, False)
    """

    encoding: str = "utf-8"
    separator: str | None = None
    header: bool | None = None
    names: Sequence[str] | None = None
    skip: int = 0
    decimal: str = "."
    thousands: str | None = None
    dates: Mapping[str, str] = field(default_factory=dict)
    sheet: str | None = None
    codes: bool = False
    number_duplicates: bool = False

    def __post_init__(self) -> None:
        try:
            "".encode(self.encoding)
        except (LookupError, ValueError):  # no such name, or one that cannot be a name
            raise BadJob(
                f"No encoding {self.encoding!r} is known. Take utf-8, utf-16, latin-1, cp1252 or another of Python's."
            ) from None
        if self.separator is not None and (len(self.separator) != 1 or self.separator in '"\r\n'):
            raise BadJob(f"The separator is {self.separator!r}. Give one character, such as ',' or ';'.")
        if self.decimal not in (".", ","):
            raise BadJob(f"The decimal sign is {self.decimal!r}. Write '.' or ','.")
        if self.thousands is not None and (self.thousands not in THOUSANDS or self.thousands == self.decimal):
            raise BadJob(
                f"The sign between thousands is {self.thousands!r}, and the decimal sign is {self.decimal!r}. "
                "Give a point, a comma, an apostrophe or a blank, and not the same sign for both."
            )
        for column, form in self.dates.items():
            check_date_form(column, form)

    @property
    def has_header(self) -> bool:
        """Whether the first line that counts has names, and no row."""
        return self.names is None if self.header is None else self.header

    @property
    def plain_numbers(self) -> bool:
        """Whether numbers are written as everywhere else in here: a decimal point, and nothing between thousands."""
        return self.decimal == "." and self.thousands is None

    def number_pattern(self) -> str:
        """A regular expression for a number in this form, leading zeros left out: those make a code."""
        whole = WHOLE
        if self.thousands is not None:
            whole = rf"(?:[1-9][0-9]{{0,2}}(?:[{_inside(self.thousands)}][0-9]{{3}})+|{WHOLE})"
        return rf"[+-]?{whole}(?:[{_inside(self.decimal)}][0-9]+)?"

    def to_dict(self) -> dict[str, Any]:
        """What differs from a plain file, as a job or a recoding file has it."""
        plain = Form()
        entries = {item.name: getattr(self, item.name) for item in fields(self)}
        entries["names"] = None if self.names is None else list(self.names)
        entries["dates"] = dict(self.dates)
        return {key: value for key, value in entries.items() if value != getattr(plain, key)}

    def words(self) -> list[str]:
        """The form in short phrases, for people."""
        separators = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
        phrases = [] if self.encoding == "utf-8" else [f"encoding {self.encoding}"]
        if self.separator is not None:
            phrases.append(f"separated by {separators.get(self.separator, self.separator)}")
        if self.sheet is not None:
            phrases.append(f"sheet {self.sheet!r}")
        if self.codes:
            phrases.append("codes instead of their labels")
        if self.number_duplicates:
            phrases.append("columns of the same name numbered")
        if self.skip:
            phrases.append(f"{self.skip} line{'s' * (self.skip > 1)} before the table left out")
        if not self.has_header:
            phrases.append("no line of names")
        if self.decimal == ",":
            phrases.append("decimal comma")
        if self.thousands is not None:
            phrases.append(f"{self.thousands!r} between thousands")
        return phrases + [f"dates of {column!r} as {form}" for column, form in self.dates.items()]

    def sentences(self) -> list[str]:
        """The form in one sentence; none where the file is a plain one."""
        words = self.words()
        return [f"Read as: {', '.join(words)}."] if words else []


@dataclass(frozen=True)
class TextForm:
    """How a release is written as text; what is None is as the source has it."""

    separator: str | None = None
    encoding: str | None = None
    decimal: str | None = None

    def __post_init__(self) -> None:
        Form(self.encoding or "utf-8", self.separator, decimal=self.decimal or ".")

    def settled(self, source: Form, ending: str) -> TextForm:
        """The form of a file with this ending, whose source has a form of its own: as it came, unless told."""
        separator = self.separator or source.separator or ","
        if self.separator is None and (ending.startswith(".tsv") or separator == "\t"):
            separator = "\t" if ending.startswith(".tsv") else ","  # the ending says so
        return TextForm(separator, self.encoding or source.encoding, self.decimal or source.decimal)

    def to_dict(self) -> dict[str, str]:
        """What differs from a plain text file, for certificates."""
        plain = {"separator": ",", "encoding": "utf-8", "decimal": "."}
        entries = {"separator": self.separator, "encoding": self.encoding, "decimal": self.decimal}
        return {key: value for key, value in entries.items() if value is not None and value != plain[key]}


FORM_KEYS = tuple(each.name for each in fields(Form))


@dataclass(frozen=True)
class DataFile:
    """A file of rows, with what the file itself does not tell.

    Parameters
    ----------
    path : str or Path
        The file.
    form : Form, optional
        How it is laid out.

    Examples
    --------
    >>> import kpareto as kp
    >>> kp.DataFile("people.csv", kp.Form(separator=";", decimal=",")).form.separator
    ';'
    """

    path: str | Path
    form: Form = field(default_factory=Form)


def Csv(
    path: str | Path, encoding: str = "utf-8", separator: str | None = None, names: Sequence[str] | None = None
) -> DataFile:
    """A text file, as version 0.1.0 names it: a DataFile whose form has these words alone.

    Parameters
    ----------
    path : str or Path
        The file.
    encoding : str, optional
        Any of Python's encodings.
    separator : str, optional
        One character; recognised unless given.
    names : sequence of str, optional
        The names of the columns, where the first line has none.

    Returns
    -------
    DataFile
        What ``read`` and the others take.

    Raises
    ------
    BadInput
        If the encoding is not known or the separator is not one character.

    Examples
    --------
    >>> import kpareto as kp
    >>> kp.Csv("people.csv", separator=";").form == kp.Form(separator=";")
    True
    """
    return DataFile(path, Form(encoding, separator, names=names))


def form_from(data: Mapping[str, Any]) -> Form:
    """The form that ``to_dict`` gave; keys that a later version may add are left alone."""
    known = {key: value for key, value in data.items() if key in FORM_KEYS}
    try:
        return Form(**known)
    except (TypeError, AttributeError):
        raise BadJob(
            f"The form of a file cannot be {dict(data)!r}. Take the recoding file as it was written."
        ) from None


def number_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names, the second of a kind as name_2 and so on, unless that is a name itself."""
    numbered: list[str] = []
    for name in names:
        free = (other for other in (f"{name}_{number}" for number in count(2)) if other not in {*names, *numbered})
        numbered.append(next(free) if name in numbered else name)
    return tuple(numbered)


def _inside(sign: str) -> str:
    """A sign as it stands between the brackets of a regular expression."""
    return {".": r"\.", " ": r"\x20"}.get(sign, sign)


def check_date_form(column: str, form: str) -> None:
    """Raise unless dates written in a form can be read back by it."""
    moment = datetime(2023, 11, 25, 22, 45, 58)  # noqa: DTZ001 (dates in files have no zone)
    try:
        back = datetime.strptime(moment.strftime(form), form)  # noqa: DTZ007 (the same)
    except (ValueError, TypeError):
        back = None
    if back is None or back.date() != moment.date():
        raise BadJob(
            f"The dates of {column!r} are to be read as {form!r}, which does not say day, month and year. "
            "Write it as '%d.%m.%Y' or '%m/%d/%Y %H:%M', say."
        )


def file_kind(name: str) -> Kind:
    """What a file holds, going by its name; an ending that nobody knows is text."""
    ends = [end.lower() for end in PurePath(name).suffixes[-2:]]
    if ends and ends[-1] in PACKED:
        ends.pop()
    last = ends[-1] if ends else ""
    return next((kind for kind, endings in _ENDINGS.items() if last in endings), "text")


def release_ending(name: str) -> str:
    """How the release of a file ends, unless told: as it came, where that can be written, and Parquet has types."""
    if file_kind(name) == "sheet":
        return ".xlsx"
    ends = [end.lower() for end in PurePath(name).suffixes[-2:]]
    if file_kind(name) == "statistics" and {".dta", ".sav", ".zsav", ".por"} & set(ends):  # SAS: Parquet has its types
        return ".dta" if ".dta" in ends else ".sav"
    if file_kind(name) in ("parquet", "statistics"):
        return ".parquet"
    return ".tsv" if any(end.lower() == ".tsv" for end in PurePath(name).suffixes[-2:]) else ".csv"


def data_endings() -> tuple[str, ...]:
    """How files of rows end, packed or not, for whoever lists them."""
    plain = [".csv", ".tsv", ".txt", *(end for endings in _ENDINGS.values() for end in endings)]
    return (*plain, *(f"{end}{packed}" for end in plain for packed in PACKED))


def statistics_endings() -> tuple[str, ...]:
    """How files of Stata, SPSS and SAS end."""
    return _ENDINGS["statistics"]
