"""A limit is never replaced by a weaker one, never no number, never ignored; persons are counted in what is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from kpareto.engines.read import read
from kpareto.errors import BadJob, BadTable, Unsafe
from kpareto.jobs.anonymize import anonymize
from kpareto.releases.choice import Choice, as_choice
from kpareto.releases.release import release
from kpareto.tables.partition import Suppression
from kpareto.tables.recoding import node
from kpareto.tables.schema import Schema
from kpareto.verifier import verify

ROWS = pa.table({"q": list("aaaabbbb"), "s": list("xyxyxxxy")})


def chosen(limits: dict[str, float] | None = None) -> Choice:
    """The table as it is: two classes of four, one of them with three equal values."""
    table = read(ROWS, Schema(("q",), sensitive=("s",)))
    return Choice(table, node(table.hierarchies, (0,)), limits=limits or {})


@pytest.mark.parametrize("spec", ["k", "t", "alpha", "risk-mean", "lm"])
@pytest.mark.parametrize("limit", [float("nan"), np.float64("nan"), None, True, "5"])
def test_a_limit_is_a_number(spec: str, limit: Any, tmp_path: Path) -> None:
    """What is no number is no limit: a sentence, and nothing is written."""
    with pytest.raises(BadJob, match=rf"The limit on '{spec}' is .*\. Give a number"):
        release(chosen(), ROWS, tmp_path / "out.csv", limits={spec: limit})
    with pytest.raises(BadJob, match="Give a number"):
        chosen({spec: limit})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("spec", "strict", "weak"), [("k", 5, 2), ("alpha", 0.6, 0.9), ("risk-max", 0.2, 0.9)])
def test_a_limit_is_never_replaced_by_a_weaker_one(spec: str, strict: float, weak: float) -> None:
    """A choice or a point keeps its limit, whatever else is asked, whichever way its measure is better."""
    assert as_choice(chosen({spec: strict}), {spec: weak}).limits == {spec: strict}
    assert as_choice(chosen({spec: weak}), {spec: strict}).limits == {spec: strict}
    with pytest.raises(Unsafe, match="is asked"):
        release(chosen({spec: strict}), ROWS, limits={spec: weak})


@pytest.mark.parametrize(
    ("spec", "met", "missed"), [("risk-mean", 0.25, 0.2), ("risk-share", 1, 0.5), ("uniques", 0, -1)]
)
def test_every_limit_on_privacy_is_counted_again(spec: str, met: float, missed: float, tmp_path: Path) -> None:
    """Means and shares of risk, too, are worked out by the verifier from the written rows."""
    done = release(chosen({spec: met}), ROWS, tmp_path / "out.csv")
    assert verify(tmp_path / "out.csv", {"public": done.certificate.public}).numbers[spec] in (met, 0)
    with pytest.raises(Unsafe, match="is asked"):
        release(chosen({spec: missed}), ROWS)
    claims = [{**claim, "limit": missed} for claim in done.certificate.public["claims"] if claim["measure"] == spec]
    with pytest.raises(Unsafe, match=rf"{spec} = .*, and the limit is {missed}"):
        verify(tmp_path / "out.csv", {"public": {**done.certificate.public, "claims": claims}})


def test_a_limit_that_nobody_may_count_is_refused(tmp_path: Path) -> None:
    """There is no claim of a limit with recomputed = false: ours has none, and a forged one is not accepted."""
    done = release(chosen({"lm": 0.5, "k": 2}), ROWS, tmp_path / "out.csv")
    (loss,) = (claim for claim in done.certificate.confidential["claims"] if claim["measure"] == "lm")
    assert (loss["limit"], loss["asked"], loss["recomputed"]) == (None, 0.5, False)
    forged = {"measure": "k", "with": {}, "limit": 99, "value": 99, "recomputed": False}
    with pytest.raises(Unsafe, match="claims a limit on k that nobody may count again"):
        verify(tmp_path / "out.csv", {"public": {**done.certificate.public, "claims": [forged]}})


def persons(people: list[str]) -> str:
    """A CSV of twenty rows, ten of either sex, with these persons."""
    lines = [f"{person},{'FM'[at % 2]},{'ab'[at // 2 % 2]}" for at, person in enumerate(people)]
    return "pid,sex,ill\n" + "\n".join(lines) + "\n"


@pytest.mark.parametrize("masked", [False, True])
def test_persons_are_counted_in_what_is_written(tmp_path: Path, masked: bool) -> None:
    """A file whose persons change after it was read is not released with the number of persons it had."""
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text(persons([f"p{at}" for at in range(20)]))
    table = read(source, Schema(("sex",), sensitive=("ill",), person="pid"))
    rule = Suppression("below-k", k=2, rows="mask") if masked else Suppression("none")
    choice = Choice(table, node(table.hierarchies, (0,)), rule, {"k": 5})
    done = release(choice, source, target)
    assert done.verified.numbers["k(counts=persons)"] == 10
    assert all(claim.get("recomputed", True) for claim in done.certificate.public["claims"])
    target.unlink()
    source.write_text(persons(["p1"] * 20))
    with pytest.raises(Unsafe, match=r"has k\(counts=persons\) = 1, and the limit is 5"):
        release(choice, source, target)
    assert not target.exists()


def test_a_source_that_changes_meanwhile_is_not_released(tmp_path: Path) -> None:
    """Persons and rows are counted one after the other, so the file must be the same all the time."""
    source = tmp_path / "in.csv"
    source.write_text(persons([f"p{at}" for at in range(20)]))
    table = read(source, Schema(("sex",), sensitive=("ill",), person="pid"))
    choice = Choice(table, node(table.hierarchies, (0,)), limits={"k": 5})

    def meanwhile(_: object, __: object) -> list[tuple[str, str]]:
        source.write_text(persons([f"p{at}" for at in range(20)]))
        return []

    with pytest.raises(BadTable, match="was changed while it was released"):
        release(choice, source, tmp_path / "out.csv", warnings=meanwhile)
    assert not (tmp_path / "out.csv").exists()


def test_below_k_keeps_within_a_limit_that_is_given() -> None:
    """The rule suppresses every small class, but not more rows than somebody allows."""
    rows = pa.table({"q": list("aaaab")})
    table = read(rows, Schema(("q",)))
    choice = Choice(table, node(table.hierarchies, (0,)), Suppression("below-k", 0.1, k=2))
    with pytest.raises(Unsafe, match="1 of 5 rows would have to be suppressed, and at most 0 may be"):
        release(choice, rows)
    assert release(Choice(table, choice.recoding, Suppression("below-k", 0.2, k=2)), rows).suppressed == 1


def test_anonymize_says_that_rows_are_left_out() -> None:
    """Rows with a missing value are in no class; how many they were is said."""
    frame = pd.DataFrame({"q": ["a", None, "a", "b", "b"], "s": list("xyxyx")})
    done = anonymize(frame, ["q"], "s", k=2, missing="drop")
    assert (len(done.data), done.suppressed, done.left_out) == (4, 0, 1)
    assert done.release.remarks[0] == (
        "1 of 5 rows (20.0%) have a missing value and are left out; the setting missing can keep them as a category."
    )
