"""The sources of the package and of the programs beside it, each read and parsed once for all tests that look at them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import kpareto

HOUSE = Path(kpareto.__file__).parent
ROOT = Path(__file__).parents[2]
PROGRAMS = ("benchmarks", "replication")  # folders of the repository that use the package and are no part of it


@cache
def files() -> tuple[Path, ...]:
    """Every Python file of the package."""
    return tuple(sorted(HOUSE.rglob("*.py")))


@cache
def all_files() -> tuple[Path, ...]:
    """Every Python file of the package and of the programs beside it."""
    return (*files(), *sorted(file for folder in PROGRAMS for file in (ROOT / folder).rglob("*.py")))


def name_of(file: Path) -> str:
    """The file's path inside the package, or inside the repository where it is of a program."""
    return file.relative_to(HOUSE if file.is_relative_to(HOUSE) else ROOT).as_posix()


@cache
def text_of(file: Path) -> str:
    """What stands in a file."""
    return file.read_text(encoding="utf-8")


@cache
def tree_of(file: Path) -> ast.Module:
    """The syntax tree of a file; nobody changes it."""
    return ast.parse(text_of(file))


def listed(offenders: list[str]) -> str:
    """What a test says that looks at many files: one offender a line, each with its file and line."""
    return "\n".join([f"{len(offenders)} to mend:", *offenders])
