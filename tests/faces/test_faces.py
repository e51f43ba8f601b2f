"""The faces stand beside each other: none leans on another, and the commands have their names for themselves."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from kpareto.faces import cli

FACES = Path(cli.__file__).parent.parent
# The command line opens every other face by a command, and the page shows the report of a point.
MAY = {"cli": {"report", "web"}, "web": {"report"}}


def faces_imported(source: str) -> set[str]:
    """The faces that a source imports, anywhere in it."""
    names = set[str]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    parts = [name.split(".") for name in names if name.startswith("kpareto.faces.")]
    return {part[2] for part in parts if (FACES / part[2]).is_dir()}


@pytest.mark.parametrize("face", sorted(folder.name for folder in FACES.iterdir() if (folder / "__init__.py").exists()))
def test_no_face_leans_on_another(face: str) -> None:
    """What two faces need lies in a folder below them."""
    for file in sorted((FACES / face).rglob("*.py")):
        others = faces_imported(file.read_text(encoding="utf-8")) - {face} - MAY.get(face, set())
        assert others == set(), file.name


def test_an_import_of_another_face_is_seen() -> None:
    """Every way of writing it is caught; the console belongs to all faces."""
    assert faces_imported("from kpareto.faces.cli.fronts import sentence") == {"cli"}
    assert faces_imported("def late():\n    from kpareto.faces import web") == {"web"}
    assert faces_imported("import kpareto.faces.report.html as h") == {"report"}
    assert faces_imported("from kpareto.faces.console import remark") == set()


def test_no_module_hides_a_command() -> None:
    """A module takes the place of a function of its name in the package as soon as it is imported."""
    modules = {file.stem for file in (FACES / "cli").glob("*.py")}
    commands = {command.callback.__name__ for command in cli.commands.commands.values() if command.callback}
    assert modules & (commands | set(cli.commands.commands)) == set()
