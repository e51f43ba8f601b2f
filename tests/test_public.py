"""The public names: all there, quick to import, never shadowed by a room of the same name."""

import ast
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import kpareto

INIT = Path(kpareto.__file__)


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


def test_no_room_has_the_name_of_a_public_name() -> None:
    """A folder or file beside the front door called like a public verb would replace it once it is imported."""
    rooms = {file.stem for file in INIT.parent.iterdir()}
    assert rooms & set(kpareto.__all__) == {"__version__"} & rooms


def test_import_is_light() -> None:
    """Importing the package loads neither numpy nor any other dependency."""
    code = "import sys, kpareto; print({'numpy', 'click', 'rich', 'numba'} & set(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "set()"
