"""Borders of free columns: by step, width, count, list, and where a target changes."""

from __future__ import annotations

import numpy as np
import pytest

from kpareto.errors import BadJob
from kpareto.tables.adult import adult_hierarchies, adult_table
from kpareto.tables.borders import (
    count_ends,
    empty_cells,
    entropy_ends,
    given_ends,
    observed_ends,
    step_ends,
    width_ends,
)
from kpareto.tables.cuts import make_cuts

AGE = adult_hierarchies("iyengar_157")["age"]


def ages(gaps: np.ndarray) -> list[int]:
    """The first age above each border."""
    return [int(AGE.leaves[gap + 1]) for gap in gaps]


def test_borders_by_number() -> None:
    """Every ten years, five cells of equal width, and borders by hand."""
    assert ages(step_ends(AGE, 10)) == [20, 30, 40, 50, 60, 70, 80, 90]
    assert ages(width_ends(AGE, 5)) == [32, 47, 61, 76]
    assert ages(given_ends(AGE, [40, 65])) == [40, 65]
    education = adult_hierarchies("iyengar_157")["education"]
    assert given_ends(education, [13]).tolist() == [11]


def test_borders_by_rows() -> None:
    """Cells of about equally many rows; borders only between cells that hold someone."""
    table = adult_table("iyengar_157")
    quarters = count_ends(table, "age", 4)
    sizes = [int(part.sum()) for part in np.split(table.leaf_rows[0], quarters + 1)]
    assert len(sizes) == 4
    assert max(sizes) - min(sizes) < 0.1 * table.rows
    cells = adult_table("dewri_gecco09_105")
    assert len(observed_ends(cells, "age")) == 14  # 15 of the 20 cells hold someone
    space = make_cuts(cells.hierarchies, {"age": observed_ends(cells, "age")})
    assert len(space.genes) == 105 - 5


def test_borders_by_entropy() -> None:
    """MDLP finds the age at which salaries rise, in far fewer cells than ages, and none where nothing changes."""
    table = adult_table("iyengar_157")
    found = ages(entropy_ends(table, "age"))
    assert 2 <= len(found) <= 20
    assert any(25 <= age <= 30 for age in found)
    assert entropy_ends(table, "sex").tolist() == [0]
    flat = adult_table("iyengar_157", target="race")
    assert len(entropy_ends(flat, "age")) < len(found)


def test_empty_cells_are_told() -> None:
    """Five age cells hold nobody (readings.md#empty-cells); with observed domains nothing is said."""
    (sentence,) = [s for s in empty_cells(adult_table("dewri_gecco09_105")) if "'age'" in s]
    assert sentence.startswith("5 of the 20 cells of 'age' hold nobody")
    assert empty_cells(adult_table("dewri_gecco09_105", domain="observed")) == []


def test_wrong_borders_are_named() -> None:
    """Messages say what was given and what to do."""
    work = adult_hierarchies("iyengar_157")["workclass"]
    with pytest.raises(BadJob, match=r"step between borders of 'age' is 0"):
        step_ends(AGE, 0)
    with pytest.raises(BadJob, match=r"'workclass' has no numbers"):
        step_ends(work, 5)
    with pytest.raises(BadJob, match=r"is to have 0 cells"):
        width_ends(AGE, 0)
    with pytest.raises(BadJob, match=r"No border of 'age' lies at 200: its values go from 17 to 90"):
        given_ends(AGE, [200])
