"""A recoding that was chosen on a sample, applied to all rows: every limit is checked there, and the cost is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from kpareto.diversity import distinct_l
from kpareto.frames import Missing, Wish, read_merged
from kpareto.loss import lm
from kpareto.partition import Partition
from kpareto.recoding import Recoding
from kpareto.stored import Applied, Choice


def on_all_rows(
    choice: Choice, source: object, encoding: str, missing_values: Sequence[object], memory: str | int | None = None
) -> tuple[Choice, Applied | None]:
    """The same recoding of all rows of the source, and what that cost; a choice on all rows is left as it is.

    The rows are rolled up to the groups that were chosen, so only as many as there are classes come into memory.
    """
    table = choice.table
    if table.sample is None:
        return choice, choice.applied
    wish = Wish(table.schema, cast(Missing, table.missing), missing_values, table.hierarchies, table.domain)
    whole = read_merged(source, wish, choice.recoding.cuts, encoding, memory)
    recoding = Recoding(whole.hierarchies, choice.recoding.cuts, choice.recoding.levels)
    applied = replace(choice, table=whole, recoding=recoding)
    cost = Applied(table.sample, _compared(choice.partition(), applied.partition()))
    return replace(applied, applied=cost), cost


def _compared(here: Partition, there: Partition) -> dict[str, tuple[float, float]]:
    """The numbers of both."""

    def smallest(found: Partition) -> float:
        return float(found.sizes[found.visible].min()) if found.visible.any() else 0.0

    found = {"k": (smallest(here), smallest(there))}
    for counts in here.table.sensitive:
        model = distinct_l(counts.name)
        found[f"l({counts.name})"] = (model(here), model(there))
    found["suppressed"] = (here.suppressed_rows / here.table.rows, there.suppressed_rows / there.table.rows)
    loss = lm()
    found["lm"] = (loss(here), loss(there))
    return found
