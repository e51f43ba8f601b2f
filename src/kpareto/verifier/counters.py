"""Which counter counts what: a release is counted where it lies, by the counter of its kind.

A table of PostgreSQL and a frame of Spark are counted by one GROUP BY there, sharing no code with what wrote them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kpareto.engines.postgres.connect import Postgres, connect, locate, program
from kpareto.engines.spark.connect import attend, explain_errors
from kpareto.errors import Unsafe
from kpareto.verifier.cells import text
from kpareto.verifier.counting import Counted, check_names, count_file, file_digest, gather, wanted_columns

if TYPE_CHECKING:
    import psycopg
    from pyspark.sql import DataFrame


def count_table(database: Postgres, record: dict[str, Any], link: psycopg.Connection[Any] | None = None) -> Counted:
    """What a released table holds; inside a transaction that is not over yet where its ``link`` is given."""
    if link is not None:
        return _count(link, database, record)
    with connect(database) as connection:
        return _count(connection, database, record)


def _count(link: psycopg.Connection[Any], database: Postgres, record: dict[str, Any]) -> Counted:
    from psycopg import sql

    _, *path = locate(link, database)
    table = sql.Identifier(*path)
    looked = link.execute(sql.SQL("SELECT * FROM {} LIMIT 0").format(table))
    check_names([column.name for column in looked.description or ()], list(record["columns"]))
    listed = sql.SQL(", ").join(map(sql.Identifier, wanted_columns(record)))
    query = sql.SQL("SELECT {}, count(*) FROM {} GROUP BY {}").format(listed, table, listed)
    rows = (([text(cell) for cell in cells], int(times)) for *cells, times in link.execute(query))
    return gather(rows, record, program(link))


def count_frame(frame: DataFrame, record: dict[str, Any]) -> Counted:
    """What a released frame holds; ``record`` has the columns and their roles."""
    check_names(frame.columns, list(record["columns"]))
    names = ["`" + name.replace("`", "``") + "`" for name in wanted_columns(record)]
    with explain_errors("The release cannot be counted by Spark"):
        answer = attend(frame.sparkSession, frame.groupBy(*names).count().toArrow)
    cells = zip(*(column.to_pylist() for column in answer.columns), strict=True)
    rows = (([text(cell) for cell in row[:-1]], int(row[-1])) for row in cells)
    return gather(rows, record, f"Spark {frame.sparkSession.version}")


# How each kind of release is counted; a kind is what the door of the engines calls it.
COUNTERS: dict[str, Callable[[Any, dict[str, Any], Any], Counted]] = {
    "file": lambda path, record, _: count_file(path, record),
    "postgres": count_table,
    "spark": lambda frame, record, _: count_frame(frame, record),
}


def count(kind: str, where: object, record: dict[str, Any], part: Path | None = None, link: object = None) -> Counted:
    """What lies where it was written, counted by the counter of its kind; ``record`` has the columns and their roles.

    ``part`` is the file or folder whose bytes are hashed, if there is one; ``link`` the open connection that alone sees
    a table before it is final.
    """
    counted = COUNTERS[kind](where, record, link)
    try:
        return replace(counted, digest=None if part is None else file_digest(part))
    except OSError as error:
        raise Unsafe(f"The release {str(part)!r} cannot be read ({error}).") from error
