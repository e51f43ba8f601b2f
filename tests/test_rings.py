"""Every test is in one ring, the tables of rings name what exists, and the quick one takes few examples."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rings import PLACES, QUICK, REST, TEST, WALKS, ring_of

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("test", "fixtures", "ring"),
    [
        ("tests/tables/test_partition.py::test_x", ["tiny"], QUICK),
        ("tests/test_rooms.py::test_x", [], QUICK),
        ("tests/test_site.py::test_x", [], REST),
        ("tests/searches/test_run.py::test_x", [], TEST),
        ("tests/tables/test_partition.py::test_x", ["spark"], REST),
        ("tests/faces/web/test_api.py::test_x", ["page", "session"], TEST),
        ("tests/faces/web/test_browser.py::test_x", ["visit", "browser"], REST),
        (WALKS[0], ["browser"], TEST),
    ],
)
def test_a_test_has_its_ring(test: str, fixtures: list[str], ring: str) -> None:
    """The longest place decides, what starts programs is in the rest, and one walk through each is not."""
    assert ring_of(test, fixtures) == ring


def is_there(place: str) -> bool:
    """Whether a folder, a file, the beginning of files or a test of a file exists."""
    file, _, test = place.partition("::")
    files = [ROOT / file] if (ROOT / file).exists() else sorted(ROOT.glob(f"{file}*.py"))
    return bool(files) and (not test or f"def {test.partition('[')[0]}(" in files[0].read_text(encoding="utf-8"))


def test_places_exist() -> None:
    """A test that is moved or renamed does not leave its ring in silence."""
    assert [place for place in (*PLACES, *WALKS) if not is_there(place)] == []
    assert not is_there("tests/test_rings.py::test_that_is_gone")


EXAMPLES: list[int] = []


@settings(max_examples=100)
@given(st.integers())
def test_examples_are_taken(number: int) -> None:
    """A property with a hundred examples of its own; the next test counts them."""
    EXAMPLES.append(number)


def test_the_quick_ring_takes_few_examples() -> None:
    """Also where a test asks for more, and all of them otherwise."""
    EXAMPLES.clear()
    test_examples_are_taken()
    quick = settings.get_current_profile_name() == "quick"
    assert len(EXAMPLES) == (20 if quick else 100)
