"""Every search by its name passes the checks that any search must pass; planted lies are caught."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kpareto.datasets import adult_table
from kpareto.errors import BadJob
from kpareto.problem import Problem, problem
from kpareto.search import Moves
from kpareto.search_checks import check_search
from kpareto.searches import METHODS, check_method, make_search, make_space
from kpareto.space import Lattice, Space

HEURISTICS = [name for name in METHODS if name != "exact"]


@pytest.fixture(scope="module")
def made() -> Problem:
    """The problem of k and LM on Adult with trees, k at least 5."""
    return problem(adult_table("lunacek_92"), ["k", "lm"], 0.02, {"k": 5})


@pytest.mark.parametrize("name", HEURISTICS)
def test_every_search_behaves(name: str, made: Problem) -> None:
    """Inside the box, reproducible, within the budget, honest about completeness."""
    space = make_space(METHODS[name][0], made.table)
    options: dict[str, Any] = {"population": 20} if name in ("genitor", "nsga2") else {}
    check_search(make_search(name, made, space, options), made, space, budget=150)


def test_unknown_and_misplaced_searches_are_sentences() -> None:
    """A misspelled name, and a method in a space it does not walk."""
    with pytest.raises(BadJob, match=r"No search 'nsga'\. Did you mean 'nsga2'"):
        check_method("nsga", "cuts")
    table = adult_table("lunacek_92")
    with pytest.raises(BadJob, match="looks for one node that meets limits"):
        make_search("datafly", problem(table, ["k", "lm"]), Lattice(table.hierarchies), {})
    with pytest.raises(BadJob, match="'exact' does not walk the space 'cuts'"):
        check_method("exact", "cuts")


class _Liar:
    """A search with one fault."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.name = "" if fault == "nameless" else "liar"

    def moves(self, space: Space, rng: np.random.Generator) -> Moves:
        """Random nodes, with the fault."""
        if self.fault == "own chance":
            rng = np.random.default_rng()
        for _ in range(10):
            genomes = rng.integers(0, space.genes, size=(5, len(space.genes)))
            if self.fault == "outside":
                genomes[0, 0] = space.genes[0]
            if self.fault == "shape":
                genomes = genomes[:, 1:]
            yield genomes


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("nameless", "give it a word"),
        ("own chance", "equal seeds gave different fronts"),
        ("outside", "outside the space"),
        ("shape", "proposed an array of shape"),
    ],
)
def test_planted_lies_are_caught(fault: str, message: str, made: Problem) -> None:
    """Each fault is named."""
    with pytest.raises(AssertionError, match=message):
        check_search(_Liar(fault), made, Lattice(made.table.hierarchies), budget=60)
