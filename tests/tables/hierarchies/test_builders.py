"""Builders: every form in which people keep hierarchies becomes one, and goes back to the same bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpareto.errors import BadHierarchy
from kpareto.tables.adult import FOLDER
from kpareto.tables.hierarchies import (
    Values,
    bounds,
    cells,
    dates,
    from_mapping,
    from_rows,
    intervals,
    load,
    masks,
    numbers_of,
    order,
    parse_lines,
    prefixes,
    quantile_cells,
    quantiles,
    read_lines,
    to_rows,
    to_text,
    tree,
    write_lines,
)
from kpareto.tables.hierarchy import Hierarchy
from tests.tables.test_hierarchy import check_hierarchy, lines

HIERARCHIES = FOLDER / "hierarchies"
AGES = [str(age) for age in range(17, 91)]


def shown(hierarchy: Hierarchy, leaf: str) -> list[str]:
    """The labels of a leaf, level by level."""
    place = hierarchy.index[leaf]
    return [labels[groups[place]] for labels, groups in zip(hierarchy.labels, hierarchy.groups, strict=True)]


def check_numeric(hierarchy: Hierarchy) -> None:
    """A hierarchy of numbers stands in rising order, knows its numbers, and joins any neighbours."""
    check_hierarchy(hierarchy)
    assert hierarchy.ordered
    assert hierarchy.loss == "leaves"
    assert hierarchy.spans is not None
    assert hierarchy.spans.tolist() == [[float(leaf), float(leaf)] for leaf in hierarchy.leaves]
    assert (np.diff(hierarchy.spans[:, 0]) >= 0).all()


# --- numbers ---------------------------------------------------------------------------------------------------------


def test_intervals_count_from_the_origin() -> None:
    """Each width is a level of intervals that start at the origin; '*' is added on top."""
    ages = intervals("age", AGES, [5, 10, 20])
    check_numeric(ages)
    assert shown(ages, "39") == ["39", "35-39", "30-39", "20-39", "*"]
    assert shown(intervals("age", AGES, [5, 10], origin=3), "39") == ["39", "38-42", "33-42", "*"]
    assert shown(intervals("age", ["0.25", "0.3", "0.1"], [0.1]), "0.3") == ["0.3", "[0.3,0.4)", "*"]
    assert shown(intervals("age", ["-3", "4"], [5]), "-3") == ["-3", "[-5,0)", "*"]
    assert shown(intervals("age", AGES, [1, 100]), "39") == ["39", "39", "*"]


def test_the_doubling_file_is_a_rule() -> None:
    """The shipped hierarchy of ages by doubling intervals is what the rule makes, labels included."""
    shipped = read_lines("age", HIERARCHIES / "dgh/adult_dgh_age_doubling.csv")
    made = intervals("age", AGES, [5, 10, 20, 40, 80])
    assert made.labels == shipped.labels
    assert (made.groups == shipped.groups).all()


def test_top_codes_end_every_level() -> None:
    """From the top code on, all numbers share one interval, and the one before ends there."""
    ages = intervals("age", AGES, [5, 10], top_code=83)
    assert shown(ages, "82")[1:3] == ["80-82", "80-82"]
    assert shown(ages, "83")[1:3] == shown(ages, "90")[1:3] == ["83+", "83+"]


@given(
    values=st.lists(st.integers(-200, 200), min_size=1, max_size=30),
    width=st.integers(1, 9),
    factors=st.lists(st.integers(1, 4), max_size=3),
    origin=st.integers(-10, 10),
)
def test_multiples_always_nest(values: list[int], width: int, factors: list[int], origin: int) -> None:
    """Widths that are multiples of each other make a hierarchy, with each number inside its interval."""
    widths = [width]
    for factor in factors:
        widths.append(widths[-1] * factor)
    made = intervals("x", values, widths, origin)
    check_numeric(made)
    for level, size in enumerate(widths, 1):
        for first, second in pairwise(sorted(set(values))):
            together = made.groups[level, made.index[str(first)]] == made.groups[level, made.index[str(second)]]
            assert together == ((first - origin) // size == (second - origin) // size)


def test_widths_that_do_not_nest_are_refused() -> None:
    """Other widths are fine as long as no interval of the table's values is cut."""
    with pytest.raises(BadHierarchy, match=r"'20' and '21' are together at level 1 and apart at level 2\. Take widths"):
        intervals("age", AGES, [5, 7])
    assert shown(intervals("age", ["1", "4", "8"], [5, 7]), "4") == ["4", "0-4", "0-6", "*"]


def test_bounds_are_cut_points_or_pairs() -> None:
    """Cut points make open ends; pairs must cover every value."""
    ages = bounds("age", AGES, [[25, 45, 65], [65]])
    check_numeric(ages)
    assert ages.labels[1] == ("<25", "25-44", "45-64", "65+")
    assert ages.labels[2] == ("<65", "65+")
    paired = bounds("age", AGES, [[[0, 17], [18, 64], [65, 65], [66, 120]]])
    assert paired.labels[1] == ("0-17", "18-64", "65", "66-120")


@pytest.mark.parametrize(
    ("levels", "sentence"),
    [
        ([[25, 45], [30]], "'29' and '30' are together at level 1 and apart at level 2. Use every cut point"),
        ([[45, 25]], "cut points of level 1 of 'age' must rise"),
        ([[]], "Level 1 of 'age' has no bounds"),
        ([["a"]], "cut points of level 1 of 'age' must be a list of numbers"),
        ([[float("nan")]], "must be finite numbers"),
        ([[[0, 30], [32, 90]]], "has no interval for '31'. Add one"),
        ([[[20, 90]]], "has no interval for '17'. Add one"),
        ([[[0, 50], [50, 90]]], "overlap or fall"),
        ([[[0, 50, 90]]], r"not \[first, last\]"),
    ],
)
def test_bad_bounds_are_named(levels: list[list[float]], sentence: str) -> None:
    """Bounds that do not nest, rise or cover are refused with the value or the level."""
    with pytest.raises(BadHierarchy, match=sentence):
        bounds("age", AGES, levels)


def test_quantiles_share_the_rows() -> None:
    """Sixteen parts hold about a sixteenth of the rows each, and halve their number level by level."""
    counts = {str(number): 10 for number in range(160)}
    made = quantiles("x", counts, 16)
    check_numeric(made)
    assert made.data_dependent
    assert [len(labels) for labels in made.labels] == [160, 16, 8, 4, 2, 1]
    assert made.labels[1][:2] == ("0-9", "10-19")
    assert [len(labels) for labels in quantiles("x", counts, [8, 2]).labels] == [160, 8, 2, 1]
    heavy = quantiles("x", {"1": 1, "2": 1, "3": 98}, 4)
    assert heavy.labels == (("1", "2", "3"), ("1-2", "3"), ("*",))
    assert quantiles("x", ["7"], 4).labels == (("7",), ("*",))


@given(
    counts=st.dictionaries(st.integers(-99, 99).map(str), st.integers(1, 50), min_size=1, max_size=40),
    parts=st.integers(2, 20),
)
def test_quantiles_are_hierarchies(counts: dict[str, int], parts: int) -> None:
    """Whatever the counts, quantiles are nested, every level merges something, and no part is far too large."""
    made = quantiles("x", counts, parts)
    check_numeric(made)
    sizes = [len(labels) for labels in made.labels]
    assert all(fine > coarse for fine, coarse in pairwise(sizes)) or sizes == [1, 1]
    rows = np.array([counts[leaf] for leaf in made.leaves])
    if made.height > 1:
        largest = np.bincount(made.groups[1], weights=rows).max()
        assert sizes[1] <= parts
        assert sizes[1] < min(parts, len(rows)) or largest <= rows.sum() / parts + rows.max()


def test_bad_quantiles_are_named() -> None:
    """One part, parts that do not divide, and values without rows are refused."""
    with pytest.raises(BadHierarchy, match=r"are 1 parts\. Give at least 2"):
        quantiles("x", AGES, 1)
    with pytest.raises(BadHierarchy, match=r"are \[16, 6\]. Each must divide the one before"):
        quantiles("x", AGES, [16, 6])
    with pytest.raises(BadHierarchy, match="need rows, and every value has 0"):
        quantiles("x", {"1": 0}, 2)


def test_cells_take_numbers_by_their_edges() -> None:
    """Closed left or right, each number has one cell, and runs of cells are named by their ends."""
    left, right = cells("x", [0, 5, 10]), cells("x", [0, 5, 10], closed="right")
    assert left.leaves == ("[0,5)", "[5,10]")
    assert right.leaves == ("[0,5]", "(5,10]")
    assert left.locate(["0", "5", "10", "11", "[0,5)", "word"]).tolist() == [0, 1, 1, -1, 0, -1]
    assert right.locate(["0", "5", "5.5", "10"]).tolist() == [0, 0, 1, 1]
    wide = cells("x", [0, 5, 10, 15], closed="right")
    assert (wide.group_label(1, 2), wide.group_label(0, 1)) == ("(5,15]", "[0,10]")


def test_cells_of_quantiles_are_few_leaves() -> None:
    """The leaves are cells, each with about as many rows; all values of the table have one."""
    values = {str(number): 1 for number in range(100)}
    made = quantile_cells("x", values, 4)
    assert made.leaves == ("[0,25)", "[25,50)", "[50,75)", "[75,99]")
    assert (np.bincount(made.locate(list(values))) == 25).all()
    assert made.data_dependent
    single = quantile_cells("x", {"1": 5, "2": 5}, 2)
    assert single.locate(["1", "2"]).tolist() == [0, 1]
    with pytest.raises(BadHierarchy, match="do not fall into 4 parts"):
        quantile_cells("x", ["1"], 4)


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: cells("x", [0, 5], closed="middle"), "closed 'middle'. Write 'left' or 'right'"),
        (lambda: cells("x", [5, 0]), "at least two rising numbers"),
        (lambda: cells("x", [0, 5, 10], ["a"]), "has 1 cells and 3 edges. Give one edge more than cells"),
        (lambda: order("x", []), "has no values"),
        (lambda: order("x", ["a", "b"], np.array([1.0])), "has 2 values and 1 numbers"),
        (lambda: order("x", ["a", "b", "c"], np.array([1.0, 3.0, 2.0])), r"do not from 'b' \(3\) to 'c' \(2\)"),
        (lambda: order("x", ["a", "a"]), "lists the value 'a' twice"),
        (lambda: intervals("x", ["1", "two"], [5]), "intervals of 'x' need numbers, and 'two' is not one"),
        (lambda: intervals("x", [], [5]), "has no values"),
        (lambda: intervals("x", None, [5]), "is a rule and needs the values of the column"),
        (lambda: intervals("x", "123", [5]), "are one text, '123'. Give a list"),
        (lambda: intervals("x", ["1"], []), "have no width"),
        (lambda: intervals("x", ["1"], [0]), "is 0 wide. Give a width above 0"),
        (lambda: intervals("x", ["-1e20", "-1.00000000000000016384e20"], [1]), "would both be called"),
    ],
)
def test_bad_numbers_are_named(build: Callable[[], Hierarchy], sentence: str) -> None:
    """Each wrong argument of a builder of numbers has its own sentence."""
    with pytest.raises(BadHierarchy, match=sentence):
        build()


@pytest.mark.parametrize(
    ("text", "number"),
    [("39", 39.0), ("-1.5", -1.5), ("0", 0.0), ("0.5", 0.5), (".5", 0.5), ("1e3", 1000.0), ("+7", 7.0)]
    + [(text, None) for text in ("02139", "", "-", ".", "nan", "inf", "1_000", "½", "٣", " 1", "1\n", "1e999", "x")],
)
def test_what_counts_as_a_number(text: str, number: float | None) -> None:
    """Codes with leading zeros, words for infinity and digits of other scripts are text."""
    found = numbers_of([text])
    assert (None if found is None else found.tolist()) == (None if number is None else [number])


# --- text and dates --------------------------------------------------------------------------------------------------


def test_masks_star_from_one_side() -> None:
    """Zip codes lose their last characters one by one; account numbers may lose their first."""
    codes = ["02139", "02138", "02215"]
    assert shown(masks("zip", codes), "02139") == ["02139", "0213*", "021**", "02***", "*"]
    assert shown(masks("zip", codes, [2]), "02139") == ["02139", "021**", "*"]
    assert shown(masks("zip", codes, [3], side="left"), "02139") == ["02139", "***39", "*"]
    assert shown(prefixes("zip", codes, [1, 3]), "02139") == ["02139", "021**", "*"]
    assert not masks("zip", codes).ordered


def test_codes_of_different_lengths_line_up() -> None:
    """Codes that agree in the kept characters fall together whatever their length."""
    made = prefixes("icd", ["I", "I10", "I101", "J4"], [2, 1])
    assert made.labels == (("I", "I10", "I101", "J4"), ("I", "I1**", "J4**"), ("I***", "J***"), ("*",))


@given(
    values=st.lists(st.text("ab*", max_size=5), min_size=1, max_size=12),
    keep=st.lists(st.integers(0, 6), min_size=1, max_size=4),
    side=st.sampled_from(["left", "right"]),
)
def test_prefixes_are_hierarchies(values: list[str], keep: list[int], side: str) -> None:
    """Codes fall together exactly when they agree in the kept characters."""
    made = prefixes("x", values, keep, side)  # type: ignore[arg-type]
    check_hierarchy(made)
    counts = [count for count in sorted(set(keep), reverse=True) if count < max(map(len, values))]
    for level, count in enumerate(counts, 1):
        ends = [leaf[-count or len(leaf) :] if side == "left" else leaf[:count] for leaf in made.leaves]
        for one, end in zip(made.groups[level].tolist(), ends, strict=True):
            for two, other in zip(made.groups[level].tolist(), ends, strict=True):
                assert (one == two) == (end == other)


def test_dates_go_up_the_calendar() -> None:
    """A date shows its month, quarter, year and decade; a time shows its day first."""
    days = dates("born", ["2021-03-14", "2019-12-31", "1970-01-01"])
    assert shown(days, "2021-03-14") == ["2021-03-14", "2021-03", "2021-Q1", "2021", "2020s", "*"]
    assert shown(days, "1970-01-01") == ["1970-01-01", "1970-01", "1970-Q1", "1970", "1970s", "*"]
    assert days.ordered
    assert days.leaves == ("1970-01-01", "2019-12-31", "2021-03-14")
    assert days.group_label(0, 1) == "1970-01-01 to 2019-12-31"
    times = dates("seen", ["2021-03-14T23:59:59.1234567+02:00", "2021-03-14 01:00", "0099-01-01T00:00Z"])
    assert shown(times, "2021-03-14 01:00")[1:3] == ["2021-03-14", "2021-03"]
    assert shown(times, "0099-01-01T00:00Z")[1:6] == ["0099-01-01", "0099-01", "0099-Q1", "0099", "0090s"]
    assert shown(dates("born", ["2021-03-14"], ["year"]), "2021-03-14") == ["2021-03-14", "*"]


def slow_units(day: date) -> list[str]:
    """Month, quarter, year and decade of a date, by words."""
    text = day.isoformat()
    return [text[:7], f"{text[:4]}-Q{(day.month + 2) // 3}", text[:4], f"{text[:3]}0s"]


@given(values=st.lists(st.dates(min_value=date(1, 1, 1)), min_size=1, max_size=20))
def test_dates_are_hierarchies(values: list[date]) -> None:
    """Dates stand in calendar order, at their distance in days, and show their own unit on every level."""
    made = dates("x", values)
    check_hierarchy(made)
    assert list(made.leaves) == sorted({day.isoformat() for day in values})
    assert made.spans is not None
    first = date.fromisoformat(made.leaves[0])
    for leaf, (day, _) in zip(made.leaves, made.spans.tolist(), strict=True):
        assert date.fromisoformat(leaf) - first == timedelta(days=day - made.spans[0, 0])
        units = slow_units(date.fromisoformat(leaf))
        assert shown(made, leaf)[1:-1] == units[: made.height - 1]
        assert shown(made, leaf)[-1] == "*"


@pytest.mark.parametrize("wrong", ["31.12.2020", "2020-13-01", "2021-02-30", "12/31/2020", "2020", "now", ""])
def test_other_dates_are_refused(wrong: str) -> None:
    """What is not an ISO date is named, with what to do."""
    with pytest.raises(BadHierarchy, match=f"{re.escape(repr(wrong))} in column 'born' is not an ISO date such as"):
        dates("born", ["2020-12-31", wrong])


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: dates("x", ["2020-01-01"], ["yaer"]), "no unit 'yaer'. Did you mean 'year'?"),
        (
            lambda: dates("x", ["2020-01-01", "2020-05-01", "2021-01-01"], ["year", "month"]),
            "Give the units from fine to coarse: day, month",
        ),
        (lambda: masks("x", ["a"], [0]), "star [0] characters"),
        (lambda: prefixes("x", ["a"], []), "keep [] characters"),
        (lambda: prefixes("x", ["a"], [1], "up"), "stand on the 'up'"),  # type: ignore[arg-type]
    ],
)
def test_bad_rules_for_text_are_named(build: Callable[[], Hierarchy], sentence: str) -> None:
    """Each wrong argument of a builder of text has its own sentence."""
    with pytest.raises(BadHierarchy, match=re.escape(sentence)):
        build()


# --- files of lines --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", sorted((HIERARCHIES / "dgh").glob("*.csv")), ids=lambda file: file.stem)
def test_shipped_files_go_back_to_the_same_bytes(file: Path, tmp_path: Path) -> None:
    """Every shipped file of lines is written back byte for byte."""
    write_lines(read_lines("x", file), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == file.read_bytes()


def test_files_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """What cannot be written leaves nothing behind, and an old file stays as it was."""
    hierarchy = from_rows("x", ROWS)
    with pytest.raises(BadHierarchy, match=r"cannot be written to '.*': No such file or directory"):
        write_lines(hierarchy, tmp_path / "nowhere" / "x.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(BadHierarchy, match="cannot be written to"):
        write_lines(hierarchy, tmp_path / "folder.csv")
    write_lines(hierarchy, tmp_path / "x.csv")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["folder.csv", "x.csv"]


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A hierarchy file written in some way: any order, separator, newline, quoting, mark and end."""
    rows = draw(lines(most_leaves=7))
    rows = draw(st.permutations(rows))
    if draw(st.booleans()):  # numbers, which are put in rising order
        rows = [[str(int(row[0][1:]) - 2), *row[1:]] for row in rows]
    odd = draw(st.sampled_from(["", ";", ",", "\t", '"', "é", " ", "\n"]))
    rows = [[entry.replace("L1", f"L{odd}1") for entry in row] for row in rows]
    separator, newline = draw(st.sampled_from(";,\t")), draw(st.sampled_from(["\n", "\r\n", "\r"]))
    quoting = draw(st.sampled_from(["minimal", "all", "mixed"]))

    def entry(text: str) -> str:
        must = any(mark in text for mark in (separator, '"', "\n"))
        want = quoting == "all" or (quoting == "mixed" and draw(st.booleans()))
        return '"' + text.replace('"', '""') + '"' if must or want else text

    body = newline.join(separator.join(map(entry, row)) for row in rows)
    end = draw(st.sampled_from(["", newline, newline * 2, "\n"]))
    return draw(st.sampled_from(["", "\ufeff"])) + body + end


@given(text=texts())
def test_any_file_goes_back_to_the_same_bytes(text: str) -> None:
    """However a file of lines was written, what is read from it is written back the same."""
    hierarchy = parse_lines("x", text)
    check_hierarchy(hierarchy)
    assert to_text(hierarchy) == text


@given(rows=lines(), random=st.randoms(use_true_random=False))
def test_lines_survive_a_round_trip(rows: list[list[str]], random: object) -> None:
    """Rows, hierarchy, text and hierarchy again say the same, in the same order."""
    random.shuffle(rows)  # type: ignore[attr-defined]
    hierarchy = from_rows("x", rows)
    again = parse_lines("x", to_text(hierarchy))
    assert [list(row) for row in to_rows(again)] == rows
    assert again.labels == hierarchy.labels
    assert (again.groups == hierarchy.groups).all()


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("end", [True, False])
@pytest.mark.parametrize("lines_", [["b,B,*", "a,A,*", "c,B,*"], ['"b";"B"";";"*"', '"a";"A";"*"'], ['a;"B;""";*']])
def test_ordinary_files_need_no_copy_of_their_text(mark: str, newline: str, end: bool, lines_: list[str]) -> None:
    """Separator, newline, quotes, mark, end and order of lines are enough to write an ordinary file again."""
    text = mark + newline.join(lines_) + newline * end
    hierarchy = parse_lines("x", text)
    assert hierarchy.layout.text is None
    assert to_text(hierarchy) == text


def test_a_changed_hierarchy_is_not_written_as_its_old_text() -> None:
    """The remembered text is used only while it says what the hierarchy says."""
    odd = parse_lines("x", '"a";A;*\nb;"A";*\n')
    assert odd.layout.text is not None
    renamed = replace(odd, labels=(odd.labels[0], ("B",), odd.labels[2]))
    assert to_text(renamed) == '"a";"B";"*"\n"b";"B";"*"\n'


def test_numbers_in_files_stand_in_rising_order() -> None:
    """A file with its numbers shuffled has rising leaves, and is still written back as it was."""
    text = "30;25-44;*\n7;0-24;*\n100;45+;*\n8;0-24;*\n44;25-44;*\n"
    made = parse_lines("age", text)
    check_numeric(made)
    assert made.leaves == ("7", "8", "30", "44", "100")
    assert made.labels[1] == ("0-24", "25-44", "45+")
    assert to_text(made) == text


def test_numbers_that_are_names_keep_their_groups() -> None:
    """Where groups of numbers are no intervals, the leaves stay in tree order and are not ordered."""
    made = parse_lines("code", "1;odd;*\n2;even;*\n3;odd;*\n")
    check_hierarchy(made)
    assert made.leaves == ("1", "3", "2")
    assert not made.ordered
    assert made.spans is None


@pytest.mark.parametrize("separator", [";", ",", "\t"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_separators_are_recognised(separator: str, newline: str) -> None:
    """Semicolons, commas and tabs are told apart, also where labels hold one of the others."""
    rows = [["a", "x y", "*"], ["b", "x y", "*"], ["c", "z", "*"]]
    for other in {";", ",", "\t"} - {separator}:
        rows[2][1] = f"z{other}z"
        assert to_rows(parse_lines("x", newline.join(separator.join(row) for row in rows))) == [*map(tuple, rows)]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "The hierarchy of 'x' is empty"),
        ("\n\n", "The hierarchy of 'x' is empty"),
        ("a;*\n\nb;*\n", "Line 2 of the hierarchy of 'x' is empty"),
        ("a;A;*\nb;*\n", "Line 2 of the hierarchy of 'x' has 2 entries where the first line has 3"),
        ("a;*\nb;*\na;*\n", r"lists the value 'a' twice \(lines 1 and 3\)"),
        ("a;A;P;*\nb;A;Q;*\n", "not nested: 'a' and 'b' are both 'A' at level 1, but 'P' and 'Q' at level 2"),
        ("a;A\nb;B\n", "Add a last level with one group"),
        ('a;"A;*\nb;A;*\n', "Line 2 of the hierarchy of 'x' cannot be read: .* Close every quote"),
    ],
)
def test_bad_files_are_named(text: str, sentence: str) -> None:
    """Empty, ragged, repeated, crossing, topless and unclosed lines are refused with their line."""
    with pytest.raises(BadHierarchy, match=sentence):
        parse_lines("x", text)


def test_wrong_encodings_are_named(tmp_path: Path) -> None:
    """A file that is not UTF-8 is refused with the byte, the line and a likely encoding."""
    file = tmp_path / "town.csv"
    file.write_bytes("Bonn;*\nKöln;*\n".encode("cp1252"))
    with pytest.raises(BadHierarchy, match=r"is not UTF-8: byte 0xf6 in line 2. Save the file as UTF-8; .* cp1252"):
        load("town", file)
    file.write_bytes("Bonn;*\n".encode("utf-16"))
    with pytest.raises(BadHierarchy, match=r"byte 0xff in line 1. .* utf-16"):
        load("town", file)
    with pytest.raises(BadHierarchy, match="in 'the given bytes' is not UTF-8"):
        load("town", b"\xff")


def test_missing_files_are_named(tmp_path: Path) -> None:
    """A path that leads nowhere, or to a folder, is named."""
    with pytest.raises(BadHierarchy, match=r"There is no file '.*nowhere\.csv' for the hierarchy of 'x'"):
        load("x", tmp_path / "nowhere.csv")
    with pytest.raises(BadHierarchy, match="cannot be read: Is a directory"):
        load("x", str(tmp_path))


def test_groups_with_one_name_cannot_be_lines() -> None:
    """A tree may call two groups the same, but lines of labels could not tell them apart."""
    twins = {"label": "*", "children": [_node("other", "a", "b"), _node("other", "c", "d")]}
    with pytest.raises(BadHierarchy, match="Two groups on level 1 of the hierarchy of 'x' are both called 'other'"):
        to_text(tree("x", twins))


# --- JSON ------------------------------------------------------------------------------------------------------------


def _node(label: str, *children: str) -> dict[str, object]:
    return {"label": label, "children": [{"label": child} for child in children]}


@pytest.mark.parametrize("file", sorted((HIERARCHIES / "taxonomy").glob("*.json")), ids=lambda file: file.stem)
def test_shipped_json_is_read(file: Path) -> None:
    """Every shipped JSON file has the bits and cuts it says it has."""
    said = json.loads(file.read_text(encoding="utf-8"))
    made = load(said["attribute"], file)
    check_hierarchy(made)
    assert len(made.leaves) - 1 == said["bits"]
    assert made.ordered == (said["kind"] == "ordered")
    assert (2 ** said["bits"] if made.ordered else made.tree.cuts()) == said["valid_cuts"]
    assert made.loss == "leaves"


def test_uneven_trees_have_levels_by_height() -> None:
    """Short branches stand still, and a node with one child is left out."""
    root = {"label": "all", "children": [_node("AB", "a", "b"), {"label": "lone", "children": [{"label": "c"}]}]}
    made = tree("x", root)
    check_hierarchy(made)
    assert made.labels == (("a", "b", "c"), ("AB", "c"), ("all",))
    assert tree("x", {"label": "only"}).labels == (("only",), ("*",))
    numbers = tree("x", _node("all", "10", "9"))
    assert numbers.leaves == ("9", "10")
    assert numbers.ordered


@st.composite
def json_trees(draw: st.DrawFn) -> dict[str, object]:
    """A tree of any shape with distinct labels."""
    names = iter(range(10_000))

    def grow(depth: int) -> dict[str, object]:
        width = draw(st.integers(0, 3)) if depth < 4 else 0
        node: dict[str, object] = {"label": f"n{next(names)}"}
        return {**node, "children": [grow(depth + 1) for _ in range(width)]} if width else node

    return grow(0)


@given(root=json_trees())
def test_any_tree_becomes_a_hierarchy(root: dict[str, object]) -> None:
    """Levels of any tree are nested cuts, and each node with two children or more is a node of the hierarchy."""
    made = tree("x", root)
    check_hierarchy(made)

    def leaves_of(node: dict[str, object]) -> list[str]:
        children = cast(list[dict[str, object]], node.get("children", []))
        return [leaf for child in children for leaf in leaves_of(child)] or [str(node["label"])]

    todo = [root]
    assert leaves_of(root) == list(made.leaves)
    while todo:
        node = todo.pop()
        inside = leaves_of(node)
        assert (made.index[inside[0]], made.index[inside[-1]]) in made.tree.runs
        todo.extend(cast(list[dict[str, object]], node.get("children", [])))


def test_rules_for_ages_are_the_file_for_ages() -> None:
    """The interval rules make the groups of the file of lines, also for ages the file does not list."""
    rules = HIERARCHIES / "dgh/adult_rules_age.json"
    listed = read_lines("age", HIERARCHIES / "dgh/adult_dgh_age.csv")
    made = load("age", rules, AGES)
    check_numeric(made)
    assert (made.groups == listed.groups).all()
    assert made.labels[1] == listed.labels[1]
    whole = load("age", rules)
    assert (whole.leaves[0], whole.leaves[-1]) == ("0", "120")
    assert shown(whole, "101")[1:] == ["90+", "85-120", "65-120", "65-120", "65-120", "*"]


@pytest.mark.parametrize(
    ("given_", "sentence"),
    [
        ({"kind": "tre"}, "of the kind 'tre'. Did you mean 'tree'?"),
        ({"kind": "tree", "tree": 3}, "has 3 where"),
        ({"tree": {"children": []}}, "has no label"),
        ({"tree": _node("*", "a", "a")}, "has the leaf 'a' twice"),
        ({"tree": _node("*", "a", "b"), "leaf_order": ["b", "a"]}, "is not the order of the leaves in its tree"),
        ({"kind": "ordered"}, "has no list of values"),
        ({"kind": "ordered", "values": ["a", "b"], "ranks": ["x", "y"]}, "ranks of 'x' must be a list of numbers"),
        ({"kind": "ordered", "values": [2, 1, 3]}, "must rise or fall throughout"),
        ({"kind": "interval-rules"}, "have no list of levels"),
        ({"kind": "interval-rules", "levels": [{"width": 5}]}, "say nothing about which values there are"),
        ({"kind": "interval-rules", "levels": [{"bounds": [[0, 5]]}, {}]}, "has neither width nor bounds"),
    ],
)
def test_bad_json_is_named(given_: dict[str, object], sentence: str) -> None:
    """Each wrong JSON object has its own sentence."""
    with pytest.raises(BadHierarchy, match=re.escape(sentence)):
        load("x", given_)


def test_text_that_is_no_json_is_named() -> None:
    """A slip in a JSON text is named with its line."""
    with pytest.raises(BadHierarchy, match=r"in 'the given text' is not JSON .*line 2"):
        load("x", '{"kind":\n tree}')


# --- load ------------------------------------------------------------------------------------------------------------

ROWS = [["a", "A", "*"], ["b", "A", "*"], ["c", "C", "*"]]
WAYS: dict[str, object] = {
    "rows": ROWS,
    "tuples": [tuple(row) for row in ROWS],
    "array": np.array(ROWS),
    "text": "a;A;*\nb;A;*\nc;C;*\n",
    "bytes": b"a,A,*\nb,A,*\nc,C,*",
    "json": json.dumps({"tree": {"label": "*", "children": [_node("A", "a", "b"), _node("C", "c")]}}),
    "levels": {0: np.array(["a", "b", "c"]), 1: ["A", "A", "C"], 2: pd.Series(["*"] * 3)},
    "levels of rows": {0: ["a", "b", "a", "c"], 1: ["A", "A", "A", "C"]},
    "pandas": pd.DataFrame(ROWS),
    "polars": pl.DataFrame(ROWS, orient="row"),
    "arrow": pa.table({"value": ["a", "b", "c"], "group": ["A", "A", "C"], "top": ["*"] * 3}),
    "hierarchy": from_rows("other", ROWS),
}


@pytest.mark.parametrize("way", list(WAYS))
def test_every_form_is_recognised(way: str) -> None:
    """Files, texts, rows, frames and other tools' dicts of the same hierarchy are the same."""
    made = load("x", WAYS[way], ["b", "a"])
    assert made.name == "x"
    assert made.leaves == ("a", "b", "c")
    assert made.groups.tolist() == [[0, 1, 2], [0, 0, 1], [0, 0, 0]]


def test_values_of_frames_are_matched_as_text() -> None:
    """Numbers of a frame are the same leaves as the numbers of a file, however they are stored."""
    frame = pd.DataFrame({"age": [30.0, 7.0], "group": ["old", "young"], "top": "*"})
    made = load("age", frame, [7, 30])
    check_numeric(made)
    assert made.leaves == ("7", "30")


@pytest.mark.parametrize(
    ("rule", "leaf", "labels"),
    [
        ({"intervals": [5, 10, 20], "from": 0}, "39", ["35-39", "30-39", "20-39", "*"]),
        ({"intervals": 5}, "39", ["35-39", "*"]),
        ({"intervals": [5], "top_code": 80}, "90", ["80+", "*"]),
        ({"intervals": [10], "to": 120}, "120", ["120-129", "*"]),
        ({"bounds": [[25, 45], [45]]}, "39", ["25-44", "<45", "*"]),
        ({"quantiles": [2]}, "39", ["17-53", "*"]),
        ({"prefix": [1]}, "39", ["3*", "*"]),
        ({"mask": [1]}, "39", ["3*", "*"]),
        ({"mask": True, "stars": "left"}, "39", ["*9", "*"]),
        ({"order": AGES}, "39", ["*"]),
        ({"flat": True}, "39", ["*"]),
        (
            {"file": str(HIERARCHIES / "dgh/adult_dgh_age.csv")},
            "39",
            ["35-39", "35-44", "25-44", "15-44", "15-64", "*"],
        ),
    ],
)
def test_inline_rules(rule: dict[str, object], leaf: str, labels: list[str]) -> None:
    """Each inline rule of a job file makes its hierarchy from the column's values."""
    made = load("age", rule, AGES)
    check_hierarchy(made)
    assert shown(made, leaf)[1:] == labels
    assert made.loss == "leaves"


def test_more_inline_rules() -> None:
    """Edges, quantile cells and dates have leaves or values of their own."""
    assert load("x", {"edges": [0, 50, 100], "closed": "right"}, AGES).leaves == ("[0,50]", "(50,100]")
    assert load("x", {"edges": [0, 50, 100], "labels": ["low", "high"]}, AGES).leaves == ("low", "high")
    assert len(load("x", {"quantile_cells": 4}, AGES).leaves) == 4
    assert shown(load("x", {"dates": True}, ["2020-05-01"]), "2020-05-01")[1:2] == ["2020-05"]
    assert load("x", {"dates": "year"}, ["2020-05-01", "2021-05-01"]).labels[1] == ("2020", "2021")


def test_loss_by_distance_is_only_taken_when_asked() -> None:
    """A rule beside which loss = 'distance' stands counts by distance; ranks give the numbers."""
    assert load("x", {"intervals": 5, "loss": "distance"}, AGES).loss == "distance"
    ranked = load("x", {"order": ["high", "low"], "ranks": [2, 1], "loss": "distance"})
    assert ranked.spans is not None
    assert ranked.spans[:, 0].tolist() == [2, 1]
    assert load("x", {"order": ["3", "1", "2"]}).spans is None
    with pytest.raises(BadHierarchy, match="counts loss by distance but has no numbers"):
        load("x", {"order": ["a", "b"], "loss": "distance"})
    with pytest.raises(BadHierarchy, match=r"is to count 'leafs'. Write 'leaves' or 'distance'"):
        from_mapping("x", {"order": ["a"], "loss": "leafs"})


@pytest.mark.parametrize(
    ("source", "values", "sentence"),
    [
        (ROWS, ["a", "z", "y"], "has no place for 2 values of the table: 'z', 'y'. Add them"),
        (ROWS, {"a": 3, "z": 1, "y": 1200}, "has no place for 2 values of the table: 'y' (1,200 rows), 'z' (1 row)"),
        (["a", "b"], None, "Line 1 of the hierarchy of 'x' is 'a', not a list of labels"),
        ([["a", None, "*"]], None, "Line 1 of the hierarchy of 'x' has a missing label"),
        (pd.DataFrame({"a": ["x"], "b": [float("nan")]}), None, "Line 1 of the hierarchy of 'x' has a missing label"),
        ({0: ["a", "b"], 1: ["*"]}, None, "Level 1 of the hierarchy of 'x' has 1 labels where level 0 has 2"),
        ({1: ["a"]}, None, "has the levels [1]. Number them 0, 1, 2"),
        ({0: ["a", "a"], 1: ["A", "B"]}, None, "lists the value 'a' twice"),
        ({}, None, "The hierarchy of 'x' is empty"),
        ({"interval": 5}, None, "given by interval. Did you mean 'intervals'?"),
        ({"intervals": 5, "form": 0}, AGES, "does not take 'form'. Did you mean 'from'?"),
        ({"intervals": "5"}, AGES, "intervals of 'x' must be a list of numbers"),
        ({"intervals": 5}, None, "is a rule and needs the values of the column"),
        ({"intervals": 5, "to": 0.5}, None, "go from 0 to 0.5. Give integers"),
        ({"prefix": "1"}, AGES, "rule prefix of 'x' takes whole numbers, not '1'"),
        ({"order": ["17"]}, AGES, "has no place for 73 values of the table"),
        (3, None, "is given as int, which cannot be read"),
        ([], None, "The hierarchy of 'x' is empty"),
    ],
)
def test_bad_sources_are_named(source: object, values: Values | None, sentence: str) -> None:
    """Whatever cannot become a hierarchy of the column's values is refused with a sentence."""
    with pytest.raises(BadHierarchy, match=re.escape(sentence)):
        load("x", source, values)


def test_a_million_values_are_no_trouble() -> None:
    """A column of a million different numbers gets its intervals in seconds."""
    made = load("x", {"intervals": [10, 1000]}, [str(number) for number in range(10**6 - 1, -1, -1)])
    assert [len(labels) for labels in made.labels] == [10**6, 10**5, 1000, 1]
    assert made.leaves[:2] == ("0", "1")
