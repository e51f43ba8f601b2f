"""Count what a released table in PostgreSQL holds: one GROUP BY there, sharing no code with what wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kpareto.counting import Counted, gather, text, wanted
from kpareto.errors import Unsafe
from kpareto.postgres import Postgres, connected, located

if TYPE_CHECKING:
    import psycopg


def count_table(database: Postgres, said: dict[str, Any]) -> Counted:
    """What a released table holds; ``said`` has the columns and their roles."""
    with connected(database) as link:
        return counted(link, database, said)


def counted(link: psycopg.Connection[Any], database: Postgres, said: dict[str, Any]) -> Counted:
    """The same inside a transaction, which may not be over yet."""
    from psycopg import sql

    _, *path = located(link, database)
    table, columns = sql.Identifier(*path), list(said["columns"])
    looked = link.execute(sql.SQL("SELECT * FROM {} LIMIT 0").format(table))
    names = [column.name for column in looked.description or ()]
    if names != columns:
        raise Unsafe(f"The release has the columns {', '.join(names)}; the certificate says {', '.join(columns)}.")
    listed = sql.SQL(", ").join(map(sql.Identifier, wanted(said)))
    query = sql.SQL("SELECT {}, count(*) FROM {} GROUP BY {}").format(listed, table, listed)
    found = (([text(cell) for cell in cells], int(times)) for *cells, times in link.execute(query))
    return gather(found, said, program(link))


def program(link: psycopg.Connection[Any]) -> str:
    """The server's name and version, for certificates: PostgreSQL 15.4."""
    return f"PostgreSQL {link.execute('SHOW server_version').fetchall()[0][0].split()[0]}"
