"""What kernels take: records with shapes in the margin, few arguments, short files."""

from __future__ import annotations

import ast
import re

from tests.twins.sources import files, listed, name_of, text_of

# (columns + 1,) int64, (losses, all leaves) float64, (…,) bool
SHAPE = re.compile(
    r"# \([^()]*,[^()]*\) (u?int(8|16|32|64)|float64|bool)\b|# \(4,\) int64|# \(2, distinct \+ 1\) int64"
)


def array_fields(source: str) -> list[tuple[int, str, bool]]:
    """The array fields of every record, the line of each, and whether shape and dtype stand in the margin."""
    lines = source.splitlines()
    return [
        (field.lineno, f"{record.name}.{field.target.id}", bool(SHAPE.search(lines[field.lineno - 1])))
        for record in ast.parse(source).body
        if isinstance(record, ast.ClassDef)
        for field in record.body
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and ast.unparse(field.annotation) == "np.ndarray"
    ]


def test_arrays_of_records_have_a_shape_in_the_margin() -> None:
    """Every array of a record says its shape and dtype."""
    offenders = [
        f"{name_of(file)}:{line}: {name} has no shape or dtype in the margin"
        for file in files()
        if name_of(file).startswith("kernels/")
        for line, name, told in array_fields(text_of(file))
        if not told
    ]
    assert not offenders, listed(offenders)


def test_a_missing_shape_is_seen() -> None:
    """A field without shape or dtype is caught."""
    source = "class A(NamedTuple):\n    a: np.ndarray  # (n,) int64, x\n    b: np.ndarray  # rows\n    c: int\n"
    assert array_fields(source) == [(2, "A.a", True), (3, "A.b", False)]
