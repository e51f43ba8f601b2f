"""The public names: all there, quick to import, never shadowed by a room of the same name."""

import ast
import doctest
import inspect
import re
import subprocess
import sys
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import kpareto
from kpareto.moved import MODULES

pytestmark = pytest.mark.dangers  # what newcomers are shown releases nothing dangerous

INIT = Path(kpareto.__file__)
THINGS = {name: getattr(kpareto, name) for name in kpareto.__all__ if name != "__version__"}
FUNCTIONS = [name for name, thing in THINGS.items() if inspect.isfunction(thing)]
CLASSES = [name for name, thing in THINGS.items() if inspect.isclass(thing) and not issubclass(thing, Exception)]
HEADING = re.compile(r"^(\w+)\n-+$", re.MULTILINE)


@pytest.mark.parametrize("name", kpareto.__all__)
def test_every_public_name_resolves(name: str) -> None:
    """Each name in __all__ can be fetched and is a thing, not a room."""
    assert not isinstance(getattr(kpareto, name), ModuleType)


def test_type_checkers_see_the_same_names() -> None:
    """The imports under TYPE_CHECKING are the table of names, room for room."""
    table = {name: f"kpareto.{room}" for name, room in kpareto._ROOM_OF.items()}
    block = next(node for node in ast.parse(INIT.read_text()).body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    assert {alias.name: node.module for node in imports for alias in node.names} == table
    assert all(alias.asname == alias.name for node in imports for alias in node.names)


def test_unknown_name_is_an_attribute_error() -> None:
    """A misspelled name fails as in any module."""
    with pytest.raises(AttributeError, match="module 'kpareto' has no attribute 'frnt'"):
        _ = kpareto.frnt  # type: ignore[attr-defined]  # the point of the test


def test_dir_lists_the_public_names() -> None:
    """Tab completion shows the public names, fetched or not."""
    assert dir(kpareto) == sorted(kpareto.__all__)


# What the pages once showed, and where it is now.
ONCE = {
    "kpareto.engines.questions.unique_rows": "kpareto.engines.unique_rows.unique_rows",
    "kpareto.jobs.default_hierarchies.complete_hierarchies": "kpareto.jobs.proposals.complete_hierarchies",
    "kpareto.measures.bias.group_means": "kpareto.measures.properties.group_means",
    "kpareto.releases.private.release.make_plan": "kpareto.releases.private.private_release.make_plan",
    "kpareto.searches.local.Effort": "kpareto.searches.local.search.Effort",
    "kpareto.searches.local.LocalWish": "kpareto.searches.local.problem.LocalWish",
    "kpareto.searches.local.lower_bound": "kpareto.searches.local.bound.lower_bound",
    "kpareto.searches.local.make_problem": "kpareto.searches.local.problem.make_problem",
    "kpareto.searches.local.read_classes": "kpareto.searches.local.recoding.read_classes",
    "kpareto.searches.sampling.sample_rows": "kpareto.tables.table.sample_rows",
    "kpareto.searches.local.search_classes": "kpareto.searches.local.search.search_classes",
}


def test_what_moved_is_still_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Imports that the pages once showed give the same thing as today's, with a warning that names today's place."""
    for once, today in ONCE.items():
        module, _, name = once.rpartition(".")
        room, _, _ = today.rpartition(".")
        if module in MODULES:
            monkeypatch.delitem(sys.modules, module, raising=False)
        with pytest.warns(DeprecationWarning, match=f"has moved to {room}"):
            moved = getattr(import_module(module), name)
        assert moved is getattr(import_module(room), name)
    with pytest.warns(DeprecationWarning, match="form=True"):
        assert import_module("kpareto.faces.report").write_template.keywords == {"form": True}
    with pytest.raises(ImportError):
        import_module("kpareto.measures.never_there")


def test_no_room_has_the_name_of_a_public_name() -> None:
    """A folder or file beside the front door called like a public verb would replace it once it is imported."""
    rooms = {file.stem for file in INIT.parent.iterdir()}
    assert rooms & set(kpareto.__all__) == {"__version__"} & rooms


def test_import_is_light() -> None:
    """Importing the package loads neither numpy nor any other dependency."""
    code = "import sys, kpareto; print({'numpy', 'click', 'rich', 'numba'} & set(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "set()"


# -- what help() and docs/api.md say of each name ----------------------------------------------------------------------


def sections(name: str) -> dict[str, str]:
    """The sections of a docstring by their headings, in numpy's form."""
    _, *parts = HEADING.split(inspect.getdoc(THINGS[name]) or "")
    return dict(zip(parts[::2], parts[1::2], strict=True))


def entries(section: str) -> list[str]:
    """The names that a section explains, without their stars; ``x, y : str`` explains two."""
    heads = re.findall(r"^(\S.*?) : \S", section, re.MULTILINE)
    return [name.strip().lstrip("*") for head in heads for name in head.split(",")]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_explains_its_parameters(name: str) -> None:
    """All of them in their order, what comes back, and an example."""
    signature, known = inspect.signature(THINGS[name]), sections(name)
    assert entries(known.get("Parameters", "")) == list(signature.parameters)
    assert ("Returns" in known) == (signature.return_annotation not in ("None", None))
    assert "Examples" in known


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_explains_its_fields(name: str) -> None:
    """Those it is made of or those it has: all fields of a dataclass in their order, and nothing that is not there."""
    thing, known = THINGS[name], sections(name)
    names = entries(known.get("Parameters") or known.get("Attributes", ""))
    own = [each.name for each in fields(thing)] if is_dataclass(thing) else []
    assert names[: len(own)] == own
    assert names
    assert [each for each in names if each not in own and not hasattr(thing, each)] == []
    assert not ("Parameters" in known and "Attributes" in known)


def test_an_error_explains_what_it_holds() -> None:
    """The root has attributes, which every error then has; the others are a sentence each."""
    assert set(entries(sections("KparetoError")["Attributes"])) == set(vars(kpareto.KparetoError()))
    errors = {name for name, thing in THINGS.items() if inspect.isclass(thing) and issubclass(thing, Exception)}
    assert [name for name in errors - {"KparetoError"} if sections(name)] == []


def test_every_example_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every >>> example of a public name prints what its docstring says, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, verbose=False)
    for name, thing in THINGS.items():
        example = doctest.DocTestParser().get_doctest(inspect.getdoc(thing) or "", {}, name, None, None)
        runner.run(example)
    assert runner.summarize(verbose=False).failed == 0
