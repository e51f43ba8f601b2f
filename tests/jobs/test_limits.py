"""Limits that are slips, budgets beyond patience, and how near a table comes to limits that nothing meets."""

from __future__ import annotations

from pathlib import Path

import pytest

from kpareto.errors import BadJob
from kpareto.fronts.problem import problem
from kpareto.interrupts import Hearing, hearing
from kpareto.jobs.front import say_nearest
from kpareto.jobs.parse import parse_job
from kpareto.searches.exact_front import exact_front
from kpareto.tables.adult import adult_table
from kpareto.tables.partition import Suppression

JOB = '[data]\nsource = "x.csv"\n[columns.a]\nrole = "quasi-identifier"\n'


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ("[limits]\nk = -3\n", "no k is below 0"),
        ("[limits]\nk = 2.5\n", "give a whole number of at least 1"),
        ("[limits]\nk = 0\n", "give a whole number of at least 1"),
        ('[limits]\n"l(column=a)" = 1.5\n', "give a whole number of at least 1"),
        ("[limits]\nrisk-max = 20\n", "give a number from 0 to 1"),
        ('[search]\nmethod = "nsga2"\nbudget = 1000000000000\n', "would take years"),
    ],
)
def test_slips_are_refused(part: str, sentence: str) -> None:
    """What is wrong, what was given, what to do."""
    with pytest.raises(BadJob, match=sentence):
        parse_job(JOB + part, Path(), "job.toml")


def test_limits_that_can_be_met_are_taken() -> None:
    """Sizes, shares and other numbers alike."""
    job = parse_job(JOB + "[limits]\nk = 5\nrisk-max = 0.2\nentropy-l = 1.5\n", Path(), "job.toml")
    assert dict(job.limits) == {"k": 5, "risk-max": 0.2, "entropy-l": 1.5}


def test_the_nearest_is_told() -> None:
    """Adult has 14 occupations, so no class has 15 of them; the sentence says both numbers."""
    asked = problem(adult_table("default", sensitive="occupation"), ["k", "glm"], 0.0, {"l": 15})
    assert len(exact_front(asked)) == 0
    assert say_nearest(asked).startswith("No recoding meets the limits l = 15: by itself l comes to 14. ")
    both = problem(adult_table("default"), ["k", "glm"], Suppression("none"), {"k": 5.0, "lm": 0.05})
    shown: list[object] = []
    with hearing(Hearing(met=shown.append)):  # as on the page, which draws what a search meets
        told = say_nearest(both)
    assert not shown  # it is an answer to another question
    assert "where the others are met, k comes to 1; where the others are met, lm comes to 0." in told
    assert say_nearest(both, complete=False).startswith(
        "No recoding that was looked at meets the limits k = 5, lm = 0.05"
    )
