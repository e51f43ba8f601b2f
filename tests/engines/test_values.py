"""How a value is written: the same text from every type that can hold it, and the order of a column's texts."""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpareto.engines.values import arrange, arrow_texts, encode, object_text, texts
from kpareto.errors import BadTable

D = decimal.Decimal
NOON = dt.datetime(2024, 1, 31, 12, 30)  # noqa: DTZ001 (a moment without a zone)
MIDNIGHT = dt.datetime(2024, 1, 31)  # noqa: DTZ001
ZONED = dt.datetime(2024, 1, 31, 1, 0, tzinfo=dt.timezone(dt.timedelta(hours=2)))


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([39, -1, 0], pa.int64(), ["39", "-1", "0"]),
        ([2**64 - 1], pa.uint64(), ["18446744073709551615"]),
        ([39.0, 39.5, -0.0, None], pa.float64(), ["39", "39.5", "0", None]),
        ([float("nan"), float("inf"), float("-inf")], pa.float64(), [None, "inf", "-inf"]),
        ([9007199254740992.0, 1e16, 1e300, 1e-7], pa.float64(), ["9007199254740992", "1e+16", "1e+300", "1e-07"]),
        ([0.1, 16777216.0, 1e20], pa.float32(), ["0.1", "16777216", "1e+20"]),
        ([D("39.50"), D("39.00"), D("-0.00"), D("100.00")], pa.decimal128(8, 2), ["39.5", "39", "0", "100"]),
        ([D("1E+3")], pa.decimal128(8, 0), ["1000"]),
        ([True, False, None], pa.bool_(), ["true", "false", None]),
        ([" 02139\t", "a b", "", None], pa.string(), ["02139", "a b", "", None]),
        (["é", "e\u0301", "\u00a0x"], pa.large_string(), ["é", "e\u0301", "\u00a0x"]),
        (["x"], pa.string_view(), ["x"]),
        ([dt.date(2024, 1, 31), None], pa.date32(), ["2024-01-31", None]),
        ([dt.date(2024, 1, 31)], pa.date64(), ["2024-01-31"]),
        ([NOON, MIDNIGHT, None], pa.timestamp("us"), ["2024-01-31T12:30:00", "2024-01-31", None]),
        ([NOON], pa.timestamp("s"), ["2024-01-31T12:30:00"]),
        ([1], pa.timestamp("ns"), ["1970-01-01T00:00:00.000000001"]),
        ([NOON.replace(microsecond=500_000)], pa.timestamp("ms"), ["2024-01-31T12:30:00.5"]),
        ([ZONED], pa.timestamp("us", tz="Europe/Berlin"), ["2024-01-30T23:00:00Z"]),
        ([dt.time(1, 2, 3), dt.time(1, 2, 3, 500)], pa.time64("us"), ["01:02:03", "01:02:03.0005"]),
        ([dt.time(1, 2)], pa.time32("s"), ["01:02:00"]),
        ([None, None], pa.null(), [None, None]),
        (["b", None, "b"], pa.dictionary(pa.int8(), pa.string()), ["b", None, "b"]),
    ],
)
def test_one_text_per_value(values: list[object], kind: pa.DataType, expected: list[str | None]) -> None:
    """Each type of the engines is written by the rules at the top of the room."""
    assert texts(pa.array(values, type=kind), "x").to_pylist() == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (float("nan"), None),
        (pd.NA, None),
        (pd.NaT, None),
        (np.datetime64("NaT"), None),
        (D("NaN"), None),
        (" x ", "x"),
        (True, "true"),
        (np.bool_(False), "false"),
        (39, "39"),
        (np.int8(39), "39"),
        (2**200, str(2**200)),
        (39.0, "39"),
        (np.float32(0.1), "0.1"),
        (1e16, "1e+16"),
        (float("-inf"), "-inf"),
        (D("39.50"), "39.5"),
        (D("-Infinity"), "-inf"),
        (dt.date(2024, 1, 31), "2024-01-31"),
        (MIDNIGHT, "2024-01-31"),
        (NOON, "2024-01-31T12:30:00"),
        (ZONED, "2024-01-30T23:00:00Z"),
        (pd.Timestamp("2024-01-31T12:30:00.000000001"), "2024-01-31T12:30:00.000000001"),
        (pd.Timestamp("2024-01-31", tz="UTC"), "2024-01-31T00:00:00Z"),
        (np.datetime64("2024-01-31T12:30:00.500"), "2024-01-31T12:30:00.5"),
        (dt.time(1, 2), "01:02:00"),
        (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (pd.Interval(0, 5), "(0, 5]"),
        (pd.Period("2024-01", freq="M"), "2024-01"),
    ],
)
def test_one_text_per_object(value: object, expected: str | None) -> None:
    """A Python object is written as the same value in an engine."""
    assert object_text(value, "x") == expected


@pytest.mark.parametrize("value", [b"x", [1], {"a": 1}, (1,), 1j, Fraction(1, 2), dt.timedelta(1), object()])
def test_objects_without_text_are_refused(value: object) -> None:
    """An object that is neither number, text nor time is an error that names the column and the type."""
    with pytest.raises(BadTable, match=f"Column 'zip' holds values of type {type(value).__name__}, which cannot be"):
        object_text(value, "zip")


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        (pa.list_(pa.int64()), "list<"),
        (pa.struct([("a", pa.int64())]), "struct<"),
        (pa.binary(), "binary"),
        (pa.duration("s"), "duration"),
    ],
)
def test_types_without_text_are_refused(kind: pa.DataType, shown: str) -> None:
    """A column of lists, structs, bytes or durations is an error that names the column and the type."""
    with pytest.raises(BadTable, match=f"Column 'zip' holds values of type {shown}"):
        texts(pa.nulls(2, kind), "zip")


@given(st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.booleans(), st.text(max_size=5)))
def test_objects_and_engines_agree(value: float | bool | str) -> None:
    """A value has one text, whether it comes as a Python object or in an engine's array."""
    assert texts(pa.array([value]), "x").to_pylist() == [object_text(value, "x")]


@given(st.floats(allow_nan=False))
def test_the_text_of_a_number_gives_it_back(value: float) -> None:
    """No two floats share a text, but for the two zeros."""
    text = object_text(value, "x")
    assert text is not None
    assert float(text) == value


@pytest.mark.parametrize(
    ("given_texts", "values", "kind", "sizes"),
    [
        (["10", "9", "-1", "9"], ("-1", "9", "10"), "number", [-1, 9, 10]),
        (["39.0", "39", "1e1", "+5", ".5"], (".5", "+5", "1e1", "39", "39.0"), "number", [0.5, 5, 10, 39, 39]),
        (["02139", "10001", "9"], ("02139", "10001", "9"), "text", None),
        (["inf", "2", "-inf", "10"], ("-inf", "2", "10", "inf"), "number", None),
        (["nan", "2", "10"], ("10", "2", "nan"), "text", None),
        (["1_000", "2"], ("1_000", "2"), "text", None),
        (["b", "B", "é", "a"], ("B", "a", "b", "é"), "text", None),
        (["2024-02-01", "2024-01-31T12:00:00"], ("2024-01-31T12:00:00", "2024-02-01"), "date", [19753.5, 19754]),
        (["2024-02-01T00:00:00Z", "2024-02-01T00:00:00.5Z"], None, "date", [19754, 19754 + 0.5 / 86400]),
        (["2024-02-31", "2024-01-01"], ("2024-01-01", "2024-02-31"), "text", None),
        (["2024-01-01", "2024-01-01T00:00:00Z"], None, "text", None),
        ([], (), "text", None),
        (["", "0"], ("", "0"), "text", None),
        (["-", "."], ("-", "."), "text", None),
    ],
)
def test_values_stand_in_order(
    given_texts: list[str], values: tuple[str, ...] | None, kind: str, sizes: list[float] | None
) -> None:
    """Numbers stand by size, dates by time, all else by code points; digits with leading zeros are no numbers."""
    found = arrange(arrow_texts(given_texts))
    assert found.values == (tuple(given_texts) if values is None else values)
    assert found.kind == kind
    assert (None if found.sizes is None else found.sizes.tolist()) == (None if sizes is None else pytest.approx(sizes))
    assert [found.values[code] for code in found.codes.tolist()] == given_texts


def test_no_text_has_code_minus_one() -> None:
    """Missing texts are not values."""
    found = arrange(arrow_texts(["b", None, "a", None]))
    assert found.values == ("a", "b")
    assert found.codes.tolist() == [1, -1, 0, -1]


def test_chunks_with_dictionaries_of_their_own() -> None:
    """Equal values in two chunks are one value, whatever their places in the chunks' dictionaries."""
    chunks = [pa.array(["x", "y", None]).dictionary_encode(), pa.array(["y"]).dictionary_encode()]
    found = encode(pa.chunked_array(chunks), "x")
    assert [None if code < 0 else found.texts[code].as_py() for code in found.codes.tolist()] == ["x", "y", None, "y"]


@given(st.lists(st.one_of(st.none(), st.text(max_size=4)), max_size=20))
def test_texts_go_into_arrow_and_back(given_texts: list[str | None]) -> None:
    """Texts laid into memory by hand are the texts that come out."""
    found = arrow_texts(given_texts)
    found.validate(full=True)
    assert found.to_pylist() == given_texts
