"""Count what a released table in PostgreSQL holds: one GROUP BY there, sharing no code with what wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kpareto.engines.postgres.connect import Postgres, connect, locate, program
from kpareto.errors import Unsafe
from kpareto.verifier.cells import text
from kpareto.verifier.counting import Counted, gather, wanted_columns

if TYPE_CHECKING:
    import psycopg


def count_table(database: Postgres, said: dict[str, Any], link: psycopg.Connection[Any] | None = None) -> Counted:
    """What a released table holds; inside a transaction that is not over yet where its ``link`` is given."""
    if link is not None:
        return _count(link, database, said)
    with connect(database) as own:
        return _count(own, database, said)


def _count(link: psycopg.Connection[Any], database: Postgres, said: dict[str, Any]) -> Counted:
    from psycopg import sql

    _, *path = locate(link, database)
    table, columns = sql.Identifier(*path), list(said["columns"])
    looked = link.execute(sql.SQL("SELECT * FROM {} LIMIT 0").format(table))
    names = [column.name for column in looked.description or ()]
    if names != columns:
        raise Unsafe(f"The release has the columns {', '.join(names)}; the certificate says {', '.join(columns)}.")
    listed = sql.SQL(", ").join(map(sql.Identifier, wanted_columns(said)))
    query = sql.SQL("SELECT {}, count(*) FROM {} GROUP BY {}").format(listed, table, listed)
    rows = (([text(cell) for cell in cells], int(times)) for *cells, times in link.execute(query))
    return gather(rows, said, program(link))
