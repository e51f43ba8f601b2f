"""Every number the code, the tests and the pages refer to is explained in this repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.twins.sources import PROGRAMS

ROOT = Path(__file__).parents[1]
READINGS = ROOT / "docs" / "papers" / "readings.md"
RISK = ROOT / "docs" / "risk.md"
ANCHOR = re.compile(r'<a id="([^"]+)"></a>')
NUMBER = re.compile(r"\b(?:(?:IY|LU|GE|PO|PB)-[re]?\d+|[OW]\d{1,2})\b")
PLACE = re.compile(r"readings\.md#([\w-]+)")
# Documents the project was planned with; a reader does not have them.
ABSENT = re.compile(r"\b(?:SPEC|CONTRACT)\b|\b(?:HOUSE|DESIGN)\.md\b")
KINDS = {".py", ".md", ".js", ".html", ".css", ".json", ".toml"}
# Everything but this file, which has wrong references on purpose.
FILES = sorted(
    file
    for folder in ("src", "tests", "docs", *PROGRAMS)
    for file in (ROOT / folder).rglob("*")
    if file.suffix in KINDS and "__pycache__" not in file.parts and file != Path(__file__)
)


def anchors(page: Path) -> list[str]:
    """The places on a page that can be referred to."""
    return ANCHOR.findall(page.read_text(encoding="utf-8"))


KNOWN = {*anchors(READINGS), *anchors(RISK)}


def unresolved(text: str) -> list[str]:
    """The references of a text that lead nowhere."""
    numbers = [number for number in NUMBER.findall(text) if number.lower() not in KNOWN]
    return numbers + [f"readings.md#{place}" for place in PLACE.findall(text) if place not in anchors(READINGS)]


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        ("IY-9, GE-r1 … GE-r7, PO-e1, O16, W8 and readings.md#suppression are known", []),
        ("as IY-99 says", ["IY-99"]),
        ("PO-e1 and PO-e12", ["PO-e12"]),
        ("(O29, warning W99)", ["O29", "W99"]),
        ("see readings.md#nowhere", ["readings.md#nowhere"]),
    ],
)
def test_wrong_references_are_seen(text: str, lost: list[str]) -> None:
    """References that lead nowhere are told apart from those that lead somewhere."""
    assert unresolved(text) == lost


def test_every_reference_is_explained() -> None:
    """A number such as IY-9, O16 or W8 has an entry among the readings, or among the warnings of docs/risk.md."""
    lost = {file.relative_to(ROOT).as_posix(): unresolved(file.read_text(encoding="utf-8")) for file in FILES}
    assert {name: places for name, places in lost.items() if places} == {}


def test_no_document_is_named_that_a_reader_does_not_have() -> None:
    """Comments and pages refer to what is in the repository."""
    named = {file.relative_to(ROOT).as_posix(): ABSENT.findall(file.read_text(encoding="utf-8")) for file in FILES}
    assert {name: words for name, words in named.items() if words} == {}


@pytest.mark.parametrize("page", [READINGS, RISK], ids=lambda page: page.name)
def test_anchors_stand_once_and_before_what_they_name(page: Path) -> None:
    """No anchor stands twice, and the anchor of a number is followed by that number."""
    text = page.read_text(encoding="utf-8")
    assert len(set(anchors(page))) == len(anchors(page))
    for name, after in re.findall(r'<a id="([^"]+)"></a>\**([^ |*]*)', text):
        if NUMBER.fullmatch(name.upper().replace("-R", "-r").replace("-E", "-e")):
            assert after.lower() == name, (page.name, name)


def test_links_among_the_readings_lead_somewhere() -> None:
    """Every link of the page names one of its own anchors, or a file that exists."""
    for target in re.findall(r"\]\(([^)]+)\)", READINGS.read_text(encoding="utf-8")):
        file, _, place = target.partition("#")
        assert (READINGS.parent / file).exists(), target
        if not file:
            assert place in anchors(READINGS), target
