"""The table of names and its page in the documentation."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

from kpareto.measures import MAKERS, make
from tests.measures.test_measure import NEEDS

PAGE = Path(__file__).parents[2] / "docs" / "measures.md"


def sections() -> dict[str, str]:
    """Measure name -> its section of the page."""
    parts = re.split(r"^##+ ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {part.split("\n", 1)[0].strip().strip("`"): part for part in parts if part.startswith("`")}


def test_every_measure_is_documented_and_nothing_else() -> None:
    """Each name in the table has a section of its own, and each section a name."""
    assert sorted(sections()) == sorted(MAKERS)


def test_every_section_has_an_example_and_a_trend() -> None:
    """A section shows the measure at work and says how it moves when classes merge, truthfully for the rule none."""
    for name, text in sections().items():
        assert f'make("{name}"' in text or f'show("{name}' in text, name
        if name == "reg":  # a short name for two others
            continue
        trend = make(NEEDS.get(name, name)).trend
        promise = re.search(r"Trend(?: of all of them)?: (\"either\"|rises|falls)", text)
        if promise is None:  # the cell losses share one paragraph
            assert name in {"glm", "lm", "nwp", "precision-loss", "entropy"}
            assert trend["none"] == "rises"
            continue
        assert promise.group(1).strip('"') == trend["none"], name
        for rule in ("below-k", "cap-max-k"):
            said = re.search(r"Trend: (?:rises|falls) under ([^.:,;]*(?:, `[^.:;]*)?)", text)
            assert (f"`{rule}`" in (said.group(1) if said else "")) == (trend[rule] != "either"), (name, rule)


def test_the_examples_hold() -> None:
    """Every number on the page is what the code gives."""
    result = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert result.attempted > 50
    assert result.failed == 0
