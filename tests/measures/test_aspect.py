"""What a measure speaks of is known by the measure: no other room lists names of measures."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from kpareto.measures import MAKERS, make
from kpareto.measures.measure import Aspect, aspect_of, parameters_of, short_name
from tests.measures.test_measure import NEEDS
from tests.twins.sources import files, listed, name_of, text_of, tree_of

# Measures themselves; the verifier, which has its own definitions; the words that another program has for them.
FREE = ("measures/", "verifier/", "jobs/arx/")
ASPECTS: dict[str, Callable[[Aspect], bool]] = {
    "privacy": lambda aspect: aspect.side == "privacy",
    "logarithmic": lambda aspect: aspect.logarithmic,
    "sensitive": lambda aspect: aspect.column == "sensitive",
    "target": lambda aspect: aspect.column == "target",
    "relative": lambda aspect: aspect.relative,
    "shown": lambda aspect: aspect.shown,
    "population": lambda aspect: aspect.population,
    "weighted": lambda aspect: aspect.weighted,
    "in rows": lambda aspect: bool(aspect.in_rows),
}
PEOPLE = {"k-map", "journalist-risk", "marketer-risk", "presence-max", "presence-min", "population-uniques"}
MODELS = {"l", "entropy-l", "recursive-l", "alpha", "t", "beta", "enhanced-beta", "delta"}


@pytest.mark.parametrize(
    ("aspect", "names"),
    [
        ("privacy", {"k", "risk-max", "risk-mean", "risk-share", "uniques", "s-k", "s-l", *MODELS, *PEOPLE}),
        ("population", PEOPLE),
        (
            "logarithmic",
            {"k", "k-map", "l", "dcn", "s-k", "s-l", "average-class-size", "aecs", "risk-max", "risk-mean"},
        ),
        ("sensitive", {"s-l", *MODELS}),
        ("target", {"cm", "cm-rows", "cost-cm", "reg", "reg-variance", "reg-deviation", "multi-target"}),
        ("relative", {"t", "beta", "enhanced-beta", "delta"}),
        ("shown", {"k", "l"}),
        ("weighted", {"nwp"}),
        ("in rows", {"cm"}),
    ],
)
def test_measures_say_what_they_speak_of(aspect: str, names: set[str]) -> None:
    """Pictures, choices, reports, warnings and certificates go by these."""
    assert {name for name in MAKERS if ASPECTS[aspect](aspect_of(make(NEEDS.get(name, name))))} == names


@pytest.mark.parametrize("name", sorted(set(MAKERS) - {"reg"}))
def test_measures_know_their_parameters(name: str) -> None:
    """What a maker was given beside defaults makes the same measure again, without reading its name."""
    measure = make(NEEDS.get(name, name))
    parameters = parameters_of(measure)
    assert parameters is not None
    assert MAKERS[short_name(measure.name)](**parameters).name == measure.name


def lists_of_names(tree: ast.Module) -> list[tuple[int, str]]:
    """Where two or more names of measures stand together as something to compare or look up by."""
    found = []
    compared = {id(right) for node in ast.walk(tree) if isinstance(node, ast.Compare) for right in node.comparators}
    constants = {id(node.value) for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            parts = node.elts
        elif isinstance(node, ast.Dict):
            parts = [key for key in node.keys if key is not None]
        else:
            continue
        names = [part.value for part in parts if isinstance(part, ast.Constant) and part.value in MAKERS]
        if len(names) > 1 and len(names) == len(parts) and (id(node) in compared or id(node) in constants):
            found.append((node.lineno, ", ".join(names)))
    return found


def test_no_other_room_lists_names_of_measures() -> None:
    """Neither a list of names nor a parser of their spelling stands outside the measures."""
    wrong = []
    for file in files():
        name = name_of(file)
        if name.startswith(FREE):
            continue
        wrong += [f"{name}:{line}: {names}" for line, names in lists_of_names(tree_of(file))]
        for line, words in enumerate(text_of(file).splitlines(), 1):
            wrong += [f"{name}:{line}: takes a name of a measure apart"] * words.count('.partition("(")')
            wrong += [f"{name}:{line}: asks for a module's name"] * words.count('.startswith("kpareto.")')
    assert not wrong, listed(wrong)


@pytest.mark.parametrize(
    "source", ['LOGGED = ("k", "dcn")', 'if name in ("l", "t"):\n    pass', 'X: dict[str, int] = {"cm": 1, "lm": 2}']
)
def test_a_planted_list_is_seen(source: str) -> None:
    """The search above finds what it looks for."""
    assert lists_of_names(ast.parse(source))
    assert not lists_of_names(ast.parse('front(table, objectives=["k", "glm"])'))
