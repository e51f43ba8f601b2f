"""Make hierarchies: intervals, quantiles, prefixes, dates, ARX-style lines, JSON trees; and write them back.

``load`` takes any of these forms; the other names are for building one form by hand.
"""

from __future__ import annotations

from kpareto.tables.hierarchies.codes import alphabet, dates, masks, prefixes
from kpareto.tables.hierarchies.files import (
    from_json,
    parse_lines,
    read_json,
    read_lines,
    to_rows,
    to_text,
    tree,
    write_lines,
)
from kpareto.tables.hierarchies.known import KNOWN, known_hierarchy
from kpareto.tables.hierarchies.loading import check_covers, from_columns, from_frame, from_mapping, from_rows, load
from kpareto.tables.hierarchies.numbers import bounds, cells, intervals, order, quantile_cells, quantiles, round_numbers
from kpareto.tables.hierarchies.values import Values, numbers_of, text_of

__all__ = [
    "KNOWN",
    "Values",
    "alphabet",
    "bounds",
    "cells",
    "check_covers",
    "dates",
    "from_columns",
    "from_frame",
    "from_json",
    "from_mapping",
    "from_rows",
    "intervals",
    "known_hierarchy",
    "load",
    "masks",
    "numbers_of",
    "order",
    "parse_lines",
    "prefixes",
    "quantile_cells",
    "quantiles",
    "read_json",
    "read_lines",
    "round_numbers",
    "text_of",
    "to_rows",
    "to_text",
    "tree",
    "write_lines",
]
