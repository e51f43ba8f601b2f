"""Every search by its name passes the checks that any search must pass; planted lies are caught."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kpareto.errors import BadJob
from kpareto.fronts.problem import Problem, problem
from kpareto.searches import Moves, Option
from kpareto.searches.cuts.genitor import Settings, iyengar, lunacek
from kpareto.searches.names import COMMON, METHODS, OPTIONS, SEED, check_method, make_search, read_options
from kpareto.tables.adult import adult_table
from kpareto.tables.cuts import make_space
from kpareto.tables.lattice import Lattice, Space
from kpareto.testing import check_search

HEURISTICS = [name for name in METHODS if name not in ("exact", "recut", "local")]  # driven in their own way


@pytest.fixture(scope="module")
def made() -> Problem:
    """The problem of k and LM on Adult with trees, k at least 5."""
    return problem(adult_table("lunacek_92"), ["k", "lm"], 0.02, {"k": 5})


@pytest.mark.parametrize("name", HEURISTICS)
def test_every_search_behaves(name: str, made: Problem) -> None:
    """Inside the box, reproducible, within the budget, honest about completeness."""
    if name.startswith("poka"):  # it looks at no limits
        made = problem(made.table, ["k", "lm"], 0.02)
    space = make_space(METHODS[name][0], made.table)
    options: dict[str, Any] = {"population": 20} if name.startswith("genitor") or name == "nsga2" else {}
    check_search(make_search(name, made, space, options), made, space, budget=150)


def test_unknown_and_misplaced_searches_are_sentences() -> None:
    """A misspelled name, and a method in a space it does not walk."""
    with pytest.raises(BadJob, match=r"No search 'nsga'\. Did you mean 'nsga2'"):
        check_method("nsga", "cuts")
    table = adult_table("lunacek_92")
    with pytest.raises(BadJob, match="looks for one node that meets limits"):
        make_search("datafly", problem(table, ["k", "lm"]), Lattice(table.hierarchies), {})
    with pytest.raises(BadJob, match="'exact' does not walk the space 'local'"):
        check_method("exact", "local")


@pytest.mark.parametrize(("method", "settings"), [("genitor-iyengar", iyengar()), ("genitor-lunacek", lunacek())])
def test_the_papers_values_are_the_defaults(method: str, settings: Settings) -> None:
    """A method that is called by its paper has the paper's settings where nothing is said (IY-9, LU-7)."""
    said = read_options(method, {})
    assert said["budget"] == {"genitor-iyengar": 500_000, "genitor-lunacek": 30_000}[method]
    assert Settings(**{field.name: said[field.name] for field in fields(Settings)}) == settings


def test_every_default_fits_and_every_method_has_its_list() -> None:
    """What is taken where nothing is said may also be said."""
    assert list(OPTIONS) == list(METHODS)
    for method, options in OPTIONS.items():
        assert len({option.name for option in options} | set(COMMON)) == len(options) + len(COMMON)
        assert read_options(method, {}) == {option.name: option.default for option in options}
        assert read_options(method, read_options(method, {})) == read_options(method, {})
        for option in options:
            assert (option.default is None) == bool(option.unset), (method, option.name)


NAN = float("nan")


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("exact", {"ties": "foo"}, r"^ties is 'foo'\. Give one of: all, one\.$"),
        ("exact", {"ties": "al"}, r"Did you mean 'all'\?"),
        ("exact", {"threads": -1}, r"^threads is -1\. Give a whole number of at least 1 and at most 1,024\.$"),
        ("exact", {"threads": NAN}, r"^threads is nan\. Give a whole"),
        ("exact", {"threads": True}, r"^threads is True\. Give a whole"),
        (
            "exact",
            {"budget": 10},
            r"^budget is not used by the search 'exact', only by poka, .*there may stand: method, ",
        ),
        (
            "exact",
            {"crossover": "banana"},
            r"^crossover is not used by the search 'exact', only by genitor, genitor-iy",
        ),
        ("exact", {"mutation": 7}, r"^mutation is not used by the search 'exact'"),
        ("exact", {"thread": 2}, r"^thread is not known\. Did you mean 'threads'\? With method = 'exact' there may"),
        ("nsga2", {"preference": {"k": 5}}, r"^preference is \{'k': 5\}\. Give a table of wishes, k and at least one"),
        ("nsga2", {"preference": {"nwp": 0.2, "necd": 1}}, r"^preference is .*Give a table of wishes, k and at least"),
        ("nsga2", {"preference": {"k": 5, "nwp": -1}}, r"^preference is "),
        ("nsga2", {"preference": "k=5, nwp=0.2"}, r"^preference is "),
        (
            "genitor",
            {"preference": {"k": 5, "lm": 0}},
            r"^preference is not used by the search 'genitor', only by exact, nsga2",
        ),
        ("genitor-lunacek", {"bias": 2.5}, r"^bias is 2\.5\. Give a number from 1 to 2\."),
        ("genitor", {"start": "coin"}, r"^start is 'coin'\. Give one of: uniform, random, spread, implied\."),
        ("pbg-ea", {"ends": "clip"}, r"^ends is 'clip'\. Give one of: inward, stay\."),
        ("poka", {"compare": "yes"}, r"^compare is 'yes'\. Give true or false\."),
        ("nsga2", {"population": 7}, r"^population is 7\. Give an even number of at least 4"),
        ("nsga2", {"population": 10**9}, r"at most 1,000,000\."),
        ("nsga2", {"crossover": "hybird"}, r"^crossover is 'hybird'\. Did you mean 'hybrid'\? Give one of: trad"),
        ("nsga2", {"mutation": 7}, r"^mutation is 7\. Give a share from 0 to 1\."),
        ("genitor", {"mutation": 1}, r"^mutation is 1\. Give a share from 0 to below 1\."),
        ("genitor", {"mutation": NAN}, r"^mutation is nan\."),
        ("genitor", {"duplicates": 1}, r"^duplicates is 1\. Give true or false\."),
        ("genitor", {"budget": 1e30}, r"^budget is 1e\+30\. Give a whole number of at least 1"),
        ("genitor", {"budget": 10**30}, r"at most 1,000,000,000,000\."),
        ("pbg-ea", {"grid": [5, -1]}, r"^grid is \[5, -1\]\. Give a list of numbers above 0, one per objective\."),
        ("pbg-ea", {"grid": 5}, r"^grid is 5\."),
        ("poka", {"base": [1, -1]}, r"^base is \[1, -1\]\. Give a list of whole numbers, one per column\."),
        ("poka", {"depth": 0}, r"^depth is 0\. Give a whole number of at least 1"),
        (
            "genitor",
            {"population": 1},
            r"^population is 1\. Give a whole number of at least 2 and at most 1,000,000\.$",
        ),
        ("genitor", {"points": 5}, r"^points is 5\. Give a whole number of at least 1 and at most 2\.$"),
        ("genitor", {"immigrants": -1}, r"^immigrants is -1\. Give a share from 0 to below 1\.$"),
        (
            "genitor",
            {"repair": "neares"},
            r"^repair is 'neares'\. Did you mean 'nearest'\? Give one of: nearest, implied",
        ),
        ("nsga2", {"crossover_rate": 2}, r"^crossover_rate is 2\. Give a share from 0 to 1\.$"),
        ("nsga2", {"start": "coin"}, r"^start is 'coin'\. Give one of: lattice, uniform, random, spread, implied\.$"),
        ("pbg-ea", {"population": 1}, r"^population is 1\. Give a whole number of at least 2"),
        ("pbg-ea", {"iterations": 0}, r"^iterations is 0\. Give a whole number of at least 1"),
        ("pbg-ea", {"crossover_rate": 1.5}, r"^crossover_rate is 1\.5\. Give a share from 0 to 1\.$"),
        ("flip", {"population": 20}, r"^population is not used by the search 'flip'"),
        ("nsga", {}, r"^No search 'nsga'\. Did you mean 'nsga2'"),
    ],
)
def test_settings_that_are_wrong_or_unused_are_sentences(method: str, options: dict[str, Any], message: str) -> None:
    """Each names the key, what stands there, and what may stand there."""
    with pytest.raises(BadJob, match=message):
        read_options(method, options)


def test_a_setting_reaches_its_search(made: Problem) -> None:
    """What stands in the table is what the search is made with."""
    space = make_space("cuts", made.table)
    nsga2: Any = make_search("nsga2", made, space, {"population": 20, "crossover": "new", "mutation": 0.5})
    assert (nsga2.population, nsga2.crossover, nsga2.mutation, len(nsga2.seeds)) == (20, "new", 0.5, 10)
    genitor: Any = make_search("genitor", made, space, {"duplicates": True, "mutation": 0.25})
    assert (genitor.settings.duplicates, genitor.settings.mutation, genitor.settings.population) == (True, 0.25, 1000)
    lattice = Lattice(made.table.hierarchies)
    boxes: Any = make_search("pbg-ea", made, lattice, {"population": 30, "grid": [5, 0.1]})
    assert (boxes.population, boxes.grid.epsilons) == (30, (5.0, 0.1))
    poka: Any = make_search("poka", problem(made.table, ["k", "lm"]), lattice, {"depth": 3})
    assert poka.depth == 3
    lower: Any = make_search(
        "poka-literal", problem(made.table, ["k", "lm"]), lattice, {"base": [0] * len(lattice.genes)}
    )
    assert lower.start == (0,) * len(lattice.genes)
    chosen = {
        "bias": 1.25,
        "immigrants": 0.5,
        "start": "implied",
        "repair": "implied",
        "count_refused": True,
        "points": 1,
    }
    bred: Any = make_search("genitor-lunacek", made, space, chosen)
    assert {name: getattr(bred.settings, name) for name in chosen} == chosen
    assert bred.name == "genitor-lunacek"
    steps: Any = make_search("pbg-ea", made, lattice, {"iterations": 7, "crossover_rate": 0.5, "ends": "stay"})
    assert (steps.iterations, steps.crossover_rate, steps.ends, steps.mutation) == (7, 0.5, "stay", None)
    wished: Any = make_search("nsga2", made, space, {"preference": {"lm": 0.3, "k": 9}, "start": "uniform"})
    assert (wished.preference.point, wished.preference.k, wished.preference.losses) == ((0.3,), 9, (1,))
    assert wished.seeds.tolist() == [[0] * len(space.genes)]  # the coarsest


@pytest.mark.parametrize("base", [[0], [99] * 8, [1] * 9])
def test_a_base_that_the_lattice_lacks_is_a_sentence(made: Problem, base: list[int]) -> None:
    """A level for every column, none of them above its hierarchy's."""
    asked = problem(made.table, ["k", "lm"])
    with pytest.raises(
        BadJob, match=r"search\.base is \[.*\]\. Give a level for each column, in this order: age 0 to "
    ):
        make_search("poka", asked, Lattice(made.table.hierarchies), {"base": base})


def test_wishes_for_what_is_no_objective_are_sentences(made: Problem) -> None:
    """A preference names objectives; of those that are better higher only k."""
    space = make_space("cuts", made.table)
    with pytest.raises(BadJob, match="wishes for 'nwp', which is no objective"):
        make_search("nsga2", made, space, {"preference": {"k": 5, "nwp": 0.3}})
    other = problem(adult_table("lunacek_92", sensitive="occupation"), ["k", "l", "lm"], 0.02)
    with pytest.raises(BadJob, match="wishes for 'l', which is better higher"):
        make_search("nsga2", other, make_space("cuts", other.table), {"preference": {"k": 5, "l": 2, "lm": 0.3}})


def test_settings_are_checked_where_a_search_is_made(made: Problem) -> None:
    """Python's own door: no setting is left aside there either."""
    with pytest.raises(BadJob, match="crossover is not used by the search 'pbg-ea'"):
        make_search("pbg-ea", made, Lattice(made.table.hierarchies), {"crossover": "new"})


def shown_default(option: Option) -> str:
    """A default as the pages write it."""
    if option.default is None:
        return option.unset
    return str(option.default).lower() if isinstance(option.default, bool) else f"{option.default}"


@pytest.mark.parametrize("method", METHODS)
def test_the_pages_list_every_setting(method: str) -> None:
    """The table of settings on the page of each search is the table the searches are made from."""
    page = {"lattice": "searches-lattice.md", "local": "local.md"}.get(METHODS[method][0], "searches-cuts.md")
    text = (Path(__file__).parents[2] / "docs" / page).read_text(encoding="utf-8")
    section = text[text.index("## Settings in a job") :].split("\n## ")[0]
    rows = [
        f"| `{method}` | `{option.name}` | {option.takes.words} | {shown_default(option)} | {option.meaning} |"
        for option in OPTIONS[method]
    ]
    assert [line for line in section.splitlines() if line.startswith(f"| `{method}` |")] == rows


def test_the_page_of_jobs_lists_what_stands_beside_every_search() -> None:
    """The common keys, with the range of the seed."""
    text = (Path(__file__).parents[2] / "docs" / "job.md").read_text(encoding="utf-8")
    for key in COMMON:
        assert f"`{key}`" in text
    assert f"{SEED.default}" in text


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
