"""The population of a job: whom the rows were drawn from, as [population] says it.

Either a table of everybody, in any engine, or the share of everybody that is in the table, or how many everybody are;
the last two come with a model by which those who are alone in the population are estimated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kpareto.engines import is_address, table_at
from kpareto.engines.admission import Admission
from kpareto.engines.form import DataFile, Form
from kpareto.engines.read import read_population
from kpareto.engines.wishes import Wish
from kpareto.errors import BadJob
from kpareto.tables.table import Estimator, Population, Table


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
