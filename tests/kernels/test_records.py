"""What kernels take: records with shapes in the margin, few arguments, short files."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from kpareto import kernels

FILES = sorted(Path(str(kernels.__file__)).parent.glob("*.py"))
MOST_ARGUMENTS = 12
MOST_LINES = 420

# (columns + 1,) int64, (losses, all leaves) float64, (…,) bool
SHAPE = re.compile(
    r"# \([^()]*,[^()]*\) (u?int(8|16|32|64)|float64|bool)\b|# \(4,\) int64|# \(2, distinct \+ 1\) int64"
)


def array_fields(source: str) -> list[tuple[str, bool]]:
    """The array fields of every record, and whether shape and dtype stand in the margin."""
    lines = source.splitlines()
    return [
        (f"{record.name}.{field.target.id}", bool(SHAPE.search(lines[field.lineno - 1])))
        for record in ast.parse(source).body
        if isinstance(record, ast.ClassDef)
        for field in record.body
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and ast.unparse(field.annotation) == "np.ndarray"
    ]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_arrays_of_records_have_a_shape_in_the_margin(file: Path) -> None:
    """Every array of a record says its shape and dtype."""
    assert [name for name, told in array_fields(file.read_text(encoding="utf-8")) if not told] == []


def test_a_missing_shape_is_seen() -> None:
    """A field without shape or dtype is caught."""
    source = "class A(NamedTuple):\n    a: np.ndarray  # (n,) int64, x\n    b: np.ndarray  # rows\n    c: int\n"
    assert array_fields(source) == [("A.a", True), ("A.b", False)]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_kernels_take_few_arguments_and_fit_in_the_head(file: Path) -> None:
    """No kernel takes more than twelve arguments, and no file has more than 420 lines."""
    source = file.read_text(encoding="utf-8")
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    assert [node.name for node in functions if len(node.args.args) > MOST_ARGUMENTS] == []
    assert len(source.splitlines()) <= MOST_LINES
