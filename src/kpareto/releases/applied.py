"""A recoding that was chosen on a sample, applied to all rows: every limit is checked there, and the cost is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from kpareto.engines.read import read_merged
from kpareto.engines.wishes import Missing, Wish
from kpareto.errors import BadJob
from kpareto.measures.cells import lm
from kpareto.measures.sensitive import distinct_l
from kpareto.releases.choice import Choice, SampleApplied
from kpareto.tables.partition import Partition
from kpareto.tables.recoding import Recoding


def on_all_rows(
    choice: Choice, source: object, encoding: str, missing_values: Sequence[object], memory: str | int | None = None
) -> tuple[Choice, SampleApplied | None]:
    """The chosen recoding of all rows of the source, and what that cost; a choice on all rows is left as it is.

    The rows are rolled up to the groups that were chosen, so only as many as there are classes come into memory.
    """
    table = choice.table
    if table.sample is None:
        return choice, choice.applied
    if choice.recoding.boxes is not None:
        raise BadJob(
            f"A local recoding is one of the rows it was found on, and these are {table.sample.words()}. "
            "Read all rows, or take a recoding by levels or cuts (--model cuts)."
        )
    wish = Wish(table.schema, cast(Missing, table.missing), missing_values, table.hierarchies, table.domain)
    whole = read_merged(source, wish, choice.recoding.cuts, encoding, memory)
    if table.population is not None:
        whole = whole.drawn_from(table.population)
    recoding = Recoding(whole.hierarchies, choice.recoding.cuts, choice.recoding.levels)
    applied = replace(choice, table=whole, recoding=recoding)
    cost = SampleApplied(table.sample, _compare(choice.partition(), applied.partition()))
    return replace(applied, applied=cost), cost


def _compare(here: Partition, there: Partition) -> dict[str, tuple[float, float]]:
    """The numbers of both."""

    def smallest(partition: Partition) -> float:
        return float(partition.sizes[partition.visible].min()) if partition.visible.any() else 0.0

    numbers = {"k": (smallest(here), smallest(there))}
    for counts in here.table.sensitive:
        model = distinct_l(counts.name)
        numbers[f"l({counts.name})"] = (model(here), model(there))
    numbers["suppressed"] = (here.suppressed_rows / here.table.rows, there.suppressed_rows / there.table.rows)
    loss = lm()
    numbers["lm"] = (loss(here), loss(there))
    return numbers
