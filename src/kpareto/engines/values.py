"""How a value is written: one text per value, whichever program held it, and the order of a column's values.

Everything behind the door depends on these texts alone, so equal rows give equal tables through every engine:

* text is kept as it is, leading zeros included, but for blanks (space, tab, line end) around it;
* a whole number is written ``39`` whatever its type (39, 39.0, Decimal("39.00")), any other number by the fewest
  digits that give it back (``39.5``, ``0.1``, ``1e-07``); whole floats from 1e16 on keep the exponent;
* ``true`` and ``false``; dates ``2024-01-31``; times of day ``12:30:00``; moments ``2024-01-31T12:30:00``, at
  midnight without zone just the date, with a zone in UTC and ``Z`` at the end;
* no value at all (None, NaN, NaT, NA, NULL) has no text.
"""

from __future__ import annotations

import datetime as dt
import decimal
import numbers
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kpareto.errors import BadTable

if TYPE_CHECKING:
    import pyarrow as pa

BLANKS = " \t\r\n"
# A text with leading zeros (a zip code) is no number: its digits are a name.
NUMBER = r"^[+-]?(?:inf|(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)$"
DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?)?$"
MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?Z$"  # with a zone
WRITTEN_WHOLE = 1e16  # below it Python, too, writes a whole float with all its digits


@dataclass(frozen=True, eq=False)
class Dictionary:
    """The distinct texts of a column in order: numbers by size, dates by time, all else by code points."""

    values: tuple[str, ...]
    codes: np.ndarray  # (texts given,) int32, into values; -1 where there is no text
    kind: Literal["number", "date", "text"]  # what every value is
    sizes: np.ndarray | None  # (values,) float64, the numbers, or the days since 1970; None for text

    @property
    def numbers(self) -> np.ndarray | None:
        """The numbers of a column of finite numbers: (values,) float64."""
        return self.sizes if self.kind == "number" else None


@dataclass(frozen=True, eq=False)
class Coded:
    """One column of rolled-up rows: its values as texts, and which of them each row has."""

    texts: pa.Array  # (values,) large_string, may repeat; null where there is no value
    codes: np.ndarray  # (rows,) int64, into texts; -1 where there is no value
    spelled: Spelled | None = None  # the same values as the engine has them, for the way out


@dataclass(frozen=True, eq=False)
class Spelled:
    """The values of a column as the program that holds the rows has them, and the text of each."""

    raw: pa.Array  # (values,) of any type, none of them null
    texts: pa.Array  # (values,) large_string

    def with_none(self) -> Spelled:
        """One more entry, for no value."""
        import pyarrow as pa

        return Spelled(
            pa.concat_arrays([self.raw, pa.nulls(1, self.raw.type)]),
            pa.concat_arrays([self.texts, pa.nulls(1, self.texts.type)]),
        )


def spell(values: pa.ChunkedArray, column: str) -> Spelled:
    """The distinct values of a column, as an engine hands them over."""
    import pyarrow as pa

    raw = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    raw = raw.drop_null()
    return Spelled(raw, texts(raw, column))


@dataclass(frozen=True, eq=False)
class Rolled:
    """What one GROUP BY hands over: the distinct rows over some columns, and how many rows each stands for."""

    columns: tuple[Coded, ...]
    weights: np.ndarray  # (rows,) int64, none zero


def encode(values: pa.ChunkedArray, column: str) -> Coded:
    """A column as an engine hands it over, as texts and codes."""
    import pyarrow as pa
    import pyarrow.types as is_

    if isinstance(values.type, pa.BaseExtensionType):
        values = pa.chunked_array([chunk.storage for chunk in values.chunks], values.type.storage_type)
    if is_.is_dictionary(values.type):  # chunks may have dictionaries of their own
        values = values.cast(values.type.value_type)
    if is_.is_null(values.type):
        return Coded(pa.nulls(0, pa.large_string()), np.full(len(values), -1, dtype=np.int64))
    encoded = values.dictionary_encode().unify_dictionaries().combine_chunks()
    words = texts(encoded.dictionary, column)
    return Coded(words, _indices(encoded), Spelled(encoded.dictionary, words))


def roll(answer: pa.Table, wanted: Sequence[str], named: Mapping[int, pa.Array] | None = None) -> Rolled:
    """The answer to a GROUP BY, whose last column counts the rows; columns in ``named`` hold places in those texts."""
    places = {} if named is None else named

    def integers(index: int) -> np.ndarray:
        return numpy_of(answer.column(index).combine_chunks()).astype(np.int64)

    columns = (
        Coded(places[index], integers(index)) if index in places else encode(answer.column(index), name)
        for index, name in enumerate(wanted)
    )
    return Rolled(tuple(columns), integers(len(wanted)))


def take_texts(texts: pa.Array, codes: np.ndarray) -> pa.Array:
    """The text of each code, null for -1."""
    import pyarrow as pa

    with_null = pa.concat_arrays([texts, pa.nulls(1, texts.type)])
    return with_null.take(arrow_places(codes % len(with_null)))  # -1 is the last


def blank(texts: pa.Array, marks: Iterable[object]) -> pa.Array:
    """The texts, null where they are one of the marks that stand for no value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    known = arrow_texts(object_text(mark, "missing_values") for mark in marks)
    return pc.if_else(pc.is_in(texts, value_set=known), pa.nulls(len(texts), texts.type), texts)


# pyarrow loads all of pandas before it turns numpy's arrays or Python's lists into its own, or back; a table read from
# a file need not wait for that. These four go by the memory itself.
def numpy_of(values: pa.Array) -> np.ndarray:
    """Numbers without gaps as numpy has them; booleans as 0 and 1."""
    import pyarrow as pa
    import pyarrow.types as is_

    if is_.is_boolean(values.type):
        values = values.cast(pa.uint8())
    plain = np.frombuffer(values.buffers()[1] or b"", dtype=values.type.to_pandas_dtype())
    return plain[values.offset : values.offset + len(values)]


def _indices(encoded: pa.DictionaryArray) -> np.ndarray:
    """Where each value stands in the dictionary, -1 for no value: (values,) int64."""
    codes = numpy_of(encoded.indices).astype(np.int64)
    return np.where(numpy_of(encoded.is_valid()), codes, -1) if encoded.null_count else codes


def arrow_places(places: np.ndarray) -> pa.Array:
    """Places in an array, for its take."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.int64(), len(places), [None, pa.py_buffer(places.astype(np.int64))])


def arrow_texts(words: Iterable[str | None]) -> pa.Array:
    """Python's texts as a large_string array, null for None."""
    import pyarrow as pa

    listed = [None if text is None else text.encode() for text in words]
    offsets = np.cumsum([0, *(0 if text is None else len(text) for text in listed)], dtype=np.int64)
    valid = np.packbits(np.array([text is not None for text in listed], dtype=np.bool_), bitorder="little")
    data = b"".join(text for text in listed if text is not None)
    return pa.Array.from_buffers(pa.large_string(), len(listed), list(map(pa.py_buffer, (valid, offsets, data))))


def arrange(texts: pa.Array) -> Dictionary:
    """Put texts, which may repeat, in order."""
    import pyarrow.compute as pc

    encoded = texts.dictionary_encode()
    distinct = encoded.dictionary
    kind, sizes = _recognise_kind(distinct)
    order = numpy_of(pc.array_sort_indices(distinct)).astype(np.int64)
    if sizes is not None:
        # Stable, so equal sizes (39 and 39.0 in a text file) stay in text order.
        order = order[np.argsort(sizes[order], kind="stable")]
        sizes = sizes[order] if np.isfinite(sizes).all() else None
    rank = np.empty(len(order) + 1, dtype=np.int32)
    rank[order] = np.arange(len(order))
    rank[-1] = -1
    codes = rank[_indices(encoded)]
    values = tuple(distinct.take(arrow_places(order)).to_pylist())
    return Dictionary(values, codes, kind, sizes)


def _recognise_kind(distinct: pa.Array) -> tuple[Literal["number", "date", "text"], np.ndarray | None]:
    import pyarrow as pa
    import pyarrow.compute as pc

    def every(pattern: str) -> bool:
        return bool(pc.all(pc.match_substring_regex(distinct, pattern)).as_py())

    if not len(distinct):
        return "text", None
    if every(NUMBER):
        return "number", numpy_of(pc.cast(distinct, pa.float64()))
    if every(DATE) or every(MOMENT):
        bare = pc.utf8_slice_codeunits(pc.utf8_rtrim(distinct, characters="Z"), 0, len("2024-01-31T12:30:00.123456"))
        try:
            moments = np.array(bare.to_pylist(), dtype="datetime64[us]")
        except ValueError:  # there is no 31st of February
            return "text", None
        return "date", moments.astype(np.int64) / 86_400e6
    return "text", None


def texts(values: pa.Array, column: str) -> pa.Array:
    """The text of each value of one engine type: (values,) large_string, null where there is no value."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as is_

    kind = values.type
    if isinstance(kind, pa.BaseExtensionType):
        return texts(values.storage, column)
    if is_.is_dictionary(kind):
        return texts(values.dictionary_decode(), column)
    if is_.is_null(kind):
        return pa.nulls(len(values), pa.large_string())
    if is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind):
        return pc.ascii_trim(pc.cast(values, pa.large_string()), characters=BLANKS)
    if is_.is_boolean(kind) or is_.is_integer(kind):
        return pc.cast(values, pa.large_string())
    if is_.is_floating(kind):
        return _float_texts(values)
    if is_.is_decimal(kind):
        return arrow_texts(decimal_text(value) for value in values.to_pylist())
    if is_.is_date(kind):
        return _moment_texts(pc.cast(values, pa.date32()).cast(pa.int32()), "D", zone=False)
    if is_.is_timestamp(kind):
        return _moment_texts(values.cast(pa.int64()), kind.unit, zone=kind.tz is not None)
    if is_.is_time(kind):
        return _moment_texts(values.cast(pa.int32() if kind.bit_width == 32 else pa.int64()), kind.unit, clock=True)
    raise refuse(column, str(kind))


def refuse(column: str, kind: str) -> BadTable:
    """The error for a column whose values have no text."""
    return BadTable(
        f"Column {column!r} holds values of type {kind}, which cannot be generalized. "
        "Turn them into numbers, text or dates, or leave the column out of the schema."
    )


def _float_texts(values: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = np.where(numpy_of(values.is_valid()), numpy_of(values), np.nan).astype(values.type.to_pandas_dtype())
    whole = np.isfinite(plain) & (plain == np.trunc(plain)) & (np.abs(plain) < WRITTEN_WHOLE)
    digits = pc.cast(arrow_places(np.where(whole, plain, 0)), pa.large_string())
    rest = np.flatnonzero(~whole)
    if not rest.size:
        return digits
    # str of a numpy float is the shortest text of that very type: 0.1 stays 0.1 in single precision.
    others = arrow_texts(None if value != value else str(value) for value in plain[rest])
    position = np.arange(len(plain))
    position[rest] = len(plain) + np.arange(len(rest))
    return pa.concat_arrays([digits, others]).take(arrow_places(position))


def decimal_text(value: decimal.Decimal | None) -> str | None:
    """The text of a decimal number: plain digits, no zeros at the end of the fraction."""
    if value is None or value.is_nan():
        return None
    if value.is_infinite():
        return "inf" if value > 0 else "-inf"
    plain = format(value, "f")
    if "." in plain:
        plain = plain.rstrip("0").rstrip(".")
    return "0" if plain == "-0" else plain


def _moment_texts(ticks: pa.Array, unit: str, *, zone: bool = False, clock: bool = False) -> pa.Array:
    """Texts of whole ticks since 1970-01-01, or since midnight for times of day."""
    known = numpy_of(ticks.is_valid()).astype(np.bool_)
    moments = np.where(known, numpy_of(ticks), 0).astype(np.int64).view(f"datetime64[{unit}]")
    words = (_moment_text(text, zone=zone, clock=clock) for text in np.datetime_as_string(moments).tolist())
    return arrow_texts(text if have else None for text, have in zip(words, known.tolist(), strict=True))


def _moment_text(iso: str, *, zone: bool, clock: bool) -> str:
    day, _, time = iso.partition("T")
    if "." in time:
        time = time.rstrip("0").rstrip(".")
    if clock:
        return time
    if zone:
        return f"{day}T{time}Z"
    return day if time in ("", "00:00:00") else f"{day}T{time}"


def object_texts(values: Iterable[object], column: str) -> pa.Array:
    """The text of each Python object, as frames keep them in columns without a type of their own."""
    try:
        return arrow_texts(object_text(value, column) for value in values)
    except UnicodeEncodeError as error:
        raise BadTable(
            f"Column {column!r} holds text that is not Unicode ({error.object!r}). Decode it again with its encoding."
        ) from None


def object_text(value: object, column: str) -> str | None:
    """The text of one Python object by the rules of this room; None where it stands for no value."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # pandas' own; pandas need not be loaded
        return None
    for kinds, text in _TEXT_OF:
        if isinstance(value, kinds):
            return text(value)
    if type(value).__name__ in ("Interval", "Period"):  # pandas.cut makes the former
        return str(value)
    raise refuse(column, type(value).__name__)


def _float_text(value: float | np.floating[Any]) -> str | None:
    if value != value:
        return None
    return str(int(value)) if abs(float(value)) < WRITTEN_WHOLE and float(value).is_integer() else str(value)


def _datetime_text(value: dt.datetime) -> str:
    if value.tzinfo is None:
        return _moment_text(value.isoformat(), zone=False, clock=False)
    return _moment_text(value.astimezone(dt.UTC).replace(tzinfo=None).isoformat(), zone=True, clock=False)


def _clock_text(value: dt.time) -> str:
    bare = _moment_text(f"T{value.replace(tzinfo=None).isoformat()}", zone=False, clock=True)
    return bare + value.strftime("%z")


# The first kind that fits decides, so a bool stands before the integers and a datetime before the dates.
_TEXT_OF: tuple[tuple[type | tuple[type, ...], Callable[[Any], str | None]], ...] = (
    (str, lambda value: str(value).strip(BLANKS)),
    ((bool, np.bool_), lambda value: "true" if value else "false"),
    (numbers.Integral, lambda value: str(int(value))),
    ((float, np.floating), _float_text),
    (decimal.Decimal, decimal_text),
    (dt.datetime, _datetime_text),
    (np.datetime64, lambda value: None if np.isnat(value) else _moment_text(str(value), zone=False, clock=False)),
    (dt.time, _clock_text),
    ((dt.date, uuid.UUID), str),
)
