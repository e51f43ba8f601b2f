"""Make hierarchies: intervals, quantiles, prefixes, dates, ARX-style lines, JSON trees; and write them back."""

from __future__ import annotations

from kpareto.builders.files import parse_lines, read_lines, to_rows, to_text, write_lines
from kpareto.builders.numbers import cells, order
from kpareto.builders.trees import from_json, read_json, tree

__all__ = [
    "cells",
    "from_json",
    "order",
    "parse_lines",
    "read_json",
    "read_lines",
    "to_rows",
    "to_text",
    "tree",
    "write_lines",
]
