"""Whether what stands above the columns are names, or the first row of a file that has no line of names."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from kpareto.errors import BadTable

# Numbers, with a decimal comma too, and dates in any order of their parts; leading zeros make a code.
_NUMBER = r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
_COMMA = r"[+-]?[0-9]+,[0-9]+"
_DATE = r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?Z?)?"
_OTHER_DATE = r"[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{4}"
_VALUE = re.compile("|".join(f"(?:{pattern})" for pattern in (_NUMBER, _COMMA, _DATE, _OTHER_DATE)))


def values_among(names: Sequence[str], occurs: Callable[[int, str], bool], filled: Callable[[int], bool]) -> int:
    """How many of the names look like values, where they are so many that they are a row; else 0.

    Such a name is a number or a date above a column that is ``filled``, or it ``occurs`` in its own column.
    """
    plain = [name.strip() for name in names]
    numbers = [int(name) for name in plain if re.fullmatch(r"[+-]?(0|[1-9][0-9]{0,14})", name)]
    if len(numbers) > 1 and all(later - one == 1 for one, later in pairwise(numbers)):
        return 0  # 2019, 2020, 2021, or 0, 1, 2: numbered columns
    suspects = [
        name
        for place, name in enumerate(plain)
        if name and ((_VALUE.fullmatch(name) and filled(place)) or occurs(place, name))
    ]
    return len(suspects) if len(suspects) > 1 and 2 * len(suspects) >= len(plain) else 0


def refuse_row(count: int, width: int) -> BadTable:
    """The sentence for a table whose names are a row: one person would be the header of the release."""
    return BadTable(
        f"The first row of the table looks like data, not like names of columns: {count} of its {width} entries are "
        "numbers, dates or values of their own column. Put a row of names above it, or say header = false under [data] "
        "and give names; else one person's values would be the header of the release. If they are names, say "
        "header = true."
    )
