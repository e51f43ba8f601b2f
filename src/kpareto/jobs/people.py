"""The population of a job: whom the rows were drawn from, as [population] says it.

Either a table of everybody, in any engine, or the share of everybody that is in the table, or how many everybody are;
the last two come with a model by which those who are alone in the population are estimated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast, get_args

from kpareto.engines import is_address, table_at
from kpareto.engines.admission import Admission
from kpareto.engines.form import FORM_KEYS, DataFile, Form
from kpareto.engines.read import read_population
from kpareto.engines.wishes import Wish
from kpareto.errors import BadJob
from kpareto.jobs.checks import Check
from kpareto.jobs.forms import read_form
from kpareto.tables.table import Estimator, Population, Table

POPULATION_OPTIONS = ("source", "table", "sampling", "size", "model", *FORM_KEYS)
KNOWLEDGE = ("source", "sampling", "size")  # one of them is told


@dataclass(frozen=True)
class Everybody:
    """What [population] says."""

    source: str | None = None  # a table of the population
    table_name: str | None = None  # where that is in a database
    form: Form = field(default_factory=Form)  # of its file
    sampling: float | None = None  # the share of the population that is in the table
    size: int | None = None  # how many people the population has
    model: Estimator = "auto"

    @property
    def files(self) -> list[str]:
        """The file of the population, which no output may replace."""
        return [] if self.source is None or is_address(self.source) else [self.source]

    def rows_source(self, folder: Path) -> object:
        """What read takes: a path, or a table in a database."""
        source = str(self.source)
        return table_at(source, str(self.table_name)) if is_address(source) else DataFile(folder / source, self.form)


def check_population(check: Check, people: Mapping[str, Any], folder: Path) -> Everybody:
    """What a raw [population] says; each mistake is a sentence, and no key is left unused."""
    told = [key for key in KNOWLEDGE if key in people]
    if len(told) != 1:
        what = " and ".join(f"population.{key}" for key in told) or "neither source, sampling nor size"
        raise BadJob(
            f"{check.name}: [population] has {what}. Give one of them: source (a table of everybody), sampling (the "
            "share of everybody that is in the table) or size (how many everybody are)."
        )
    if "source" in people:
        return _check_source(check, people, folder)
    for key in ("table", *FORM_KEYS):
        if key in people:
            raise check.unused_key(f"population.{key}", "only a source has one. Take it out.")
    model = check.one_of(people.get("model", "auto"), "population.model", get_args(Estimator))
    if "size" in people:
        return Everybody(size=check.whole(people["size"], "population.size", 1), model=cast(Estimator, model))
    share = check.number(people["sampling"], "population.sampling")
    if not 0 < share <= 1:
        raise BadJob(
            f"{check.name}: population.sampling is {share!r}. Give the share of the population that is in the table, "
            "above 0 and at most 1, such as 0.1."
        )
    return Everybody(sampling=float(share), model=cast(Estimator, model))


def _check_source(check: Check, people: Mapping[str, Any], folder: Path) -> Everybody:
    source = check.text(people["source"], "population.source")
    if "model" in people:
        raise check.unused_key("population.model", "the population is counted, so nothing is estimated. Take it out.")
    if "table" in people and not is_address(source):
        raise check.unused_key("population.table", f"only a database has tables, and the source is {source!r}.")
    if is_address(source) and "table" not in people:
        raise BadJob(
            f'{check.name}: population.source is a database, and no table is named. Add table = "everybody" there.'
        )
    name = check.text(people["table"], "population.table") if "table" in people else None
    return Everybody(source, name, read_form(check, people, "population", folder))


def draw_table(
    everybody: Everybody | None,
    folder: Path,
    wish: Wish,
    admission: Admission,
    read: Callable[[Population | None], Table],
) -> Table:
    """The table that ``read`` gives, with what the job knows of its population; a table of that is rolled up once."""
    if everybody is None:
        return read(None)
    if everybody.source is not None:
        population = read_population(everybody.rows_source(folder), wish, admission)
        table = read(population)
        return table if table.population is not None else table.drawn_from(population)
    table, fraction = read(None), everybody.sampling
    if everybody.size is not None:
        if everybody.size < table.rows:
            raise BadJob(
                f"population.size is {everybody.size:,}, and the table alone has {table.rows:,} rows. Give the number "
                "of people that the rows were drawn from."
            )
        fraction = table.rows / everybody.size
    return table.drawn_from(Population(fraction, estimator=everybody.model))
