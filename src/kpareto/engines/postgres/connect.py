"""A PostgreSQL database: where it is, one transaction in it, and what went wrong there in sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qs, unquote, urlsplit

from kpareto.errors import BadInput, BadTable, MissingExtra, did_you_mean, shorten

if TYPE_CHECKING:
    import psycopg
    import pyarrow as pa
    from psycopg import sql

SCHEMES = ("postgresql://", "postgres://")
PIECE = 16 << 20  # bytes of CSV that are parsed at a time
LOST = "The connection to the database was lost; nothing was written; run the same command again when it is back."
LAST = (
    "The connection to the database was lost while the work was made final. If a table was to be made, look whether "
    "it is there: if so it is whole, and without certificate; drop it. Then run the same command again."
)
# A line that went dead without a word is found out after two minutes. The address may say otherwise.
CONNECTION = {"application_name": "kpareto", "keepalives_idle": 60, "keepalives_interval": 10, "keepalives_count": 6}
# What values look like must not depend on how the server, the database or the role is set up.
SETTINGS = {
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "extra_float_digits": "1",
    "standard_conforming_strings": "on",  # a backslash in a text is a backslash
    "idle_in_transaction_session_timeout": "0",  # the transaction is idle while the counted rows are looked at
    "jit": "off",  # compiling takes longer than it saves
}
OLDEST = 110_000  # from PostgreSQL 11 on it has sha256 and the setting above
SPILLING = 130_000  # from 13 on it groups by hashing in little memory; sorting all rows first takes twice as long

READABLE = "rpvmf"  # tables, partitioned ones, views, materialised views, foreign tables

_TABLE = """
SELECT c.oid, c.relkind::text, n.nspname, c.relname
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = pg_catalog.to_regclass(%s)
"""
_TABLES = """
SELECT n.nspname, c.relname, pg_catalog.pg_table_is_visible(c.oid)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind::text = ANY(%s) AND n.nspname !~ '^(pg_|information_schema$)' ORDER BY 1, 2
"""


@dataclass(frozen=True)
class Postgres:
    """A table or view in a PostgreSQL database.

    Parameters
    ----------
    url : str
        The address of the database. The password may stand in it, but PGPASSWORD, ``~/.pgpass`` or a service file keep
        it out of jobs and histories.
    table : str
        ``people`` or ``schema.people``. Names are taken as they are, capitals included; one with a dot in it stands in
        double quotes.

    Raises
    ------
    BadInput
        If the address or the name cannot be read.

    Examples
    --------
    >>> import kpareto as kp
    >>> kp.Postgres("postgresql://reader:secret@localhost/clinic", "care.people").path
    ('care', 'people')
    """

    url: str = field(repr=False)
    table: str

    def __post_init__(self) -> None:
        if not self.url.lower().startswith(SCHEMES):
            raise BadTable(f"{hide_password(self.url)!r} is no address of a PostgreSQL database. {_EXAMPLE}")
        rest = self.url.partition("://")[2].partition("?")[0]
        if rest.count("@") > 1 or "@" in rest.partition("/")[2]:
            raise BadTable(
                f"The address of the database has an odd @, / or :. Write them as %40, %2F and %3A. {_EXAMPLE}"
            )
        self.path  # noqa: B018 (raises where the table has no legible name)

    def __repr__(self) -> str:
        return f"Postgres({hide_password(self.url)!r}, {self.table!r})"

    @property
    def home(self) -> str:
        """The table by host, port, database and name alone: other users and settings reach the same one."""
        parts = urlsplit(self.url)
        asked = {key: values[-1] for key, values in parse_qs(parts.query).items()}
        host = (parts.hostname or asked.get("host") or asked.get("hostaddr") or "localhost").lower()
        host = "localhost" if host in ("127.0.0.1", "::1") or host.startswith("/") else host
        user = unquote(parts.username or "") or asked.get("user", "")
        name = unquote(parts.path.strip("/")) or asked.get("dbname") or user
        table = ".".join(("public", *self.path)[-2:])
        return f"{SCHEMES[0]}{host}:{parts.port or asked.get('port') or 5432}/{name} {table}"

    @property
    def path(self) -> tuple[str, ...]:
        """The table's name, behind that of its schema where one is given."""
        parts = re.findall(r'"((?:[^"]|"")+)"|([^".]+)', self.table)
        names = tuple(quoted.replace('""', '"') or plain for quoted, plain in parts)
        if len(names) not in (1, 2) or not re.fullmatch(r'("([^"]|"")+"|[^".]+)(\.("([^"]|"")+"|[^".]+))?', self.table):
            raise BadTable(
                f'{self.table!r} is no name of a table. Write people, schema.people, or "odd.name" in its quotes.'
            )
        return names


_EXAMPLE = "Write postgresql://user@host:5432/database."


def hide_password(url: str) -> str:
    """An address without its password."""
    bare = re.sub(r"^(\w+://[^:/?#@]*):.*@", r"\1:***@", url)
    return re.sub(r"(password=)[^&\s]*", r"\1***", bare, flags=re.IGNORECASE)


def bare(url: str) -> str:
    """An address that has no password, for files that others may read."""
    without = re.sub(r"^(\w+://[^:/?#@]*):.*@", r"\1@", url)
    return re.sub(r"[?&]$", "", re.sub(r"(?<=[?&])password=[^&\s]*&?", "", without, flags=re.IGNORECASE))


@contextmanager
def connect(database: Postgres) -> Iterator[psycopg.Connection[Any]]:
    """One transaction that sees the database as it is now, committed when the block ends, undone when it fails."""
    pg = _driver()
    with _explain_errors(database):
        try:
            options = pg.conninfo.conninfo_to_dict(database.url)
        except pg.ProgrammingError:  # its own words may hold a piece of the password
            raise BadTable(f"The address of the database cannot be understood. {_EXAMPLE}") from None
        options = {**CONNECTION, **options, "client_encoding": "utf8"}
        try:
            link = pg.connect(**options, prepare_threshold=None)
        except pg.OperationalError as error:
            raise _explain_unreached(database, error) from error
        try:
            link.isolation_level = pg.IsolationLevel.REPEATABLE_READ
            if link.info.server_version < OLDEST:
                raise BadTable("The database is older than PostgreSQL 11. Copy the table to a newer one, or to a file.")
            settle(link, SETTINGS)
            if link.info.server_version >= SPILLING:
                settle(link, {"enable_sort": "off"})
            yield link
            link.execute("SELECT 1")  # a connection that was lost a while ago is found out before the commit
            try:
                link.commit()
            except pg.OperationalError as error:
                raise BadInput(LAST) from error
        finally:
            with suppress(pg.Error):
                link.rollback()  # does nothing after a commit
            link.close()


def settle(link: psycopg.Connection[Any], settings: Mapping[str, str]) -> None:
    """Change settings for this transaction alone."""
    for name, value in settings.items():
        link.execute("SELECT pg_catalog.set_config(%s, %s, true)", (name, value))


def _driver() -> Any:
    """psycopg, which only those need who have a database."""
    try:
        import psycopg
        import psycopg.conninfo
    except ImportError as error:
        raise MissingExtra(
            "Reading from PostgreSQL needs psycopg. Install it with: pip install 'kpareto[postgres]'."
        ) from error
    return psycopg


@contextmanager
def _explain_errors(database: Postgres) -> Iterator[None]:
    """Turn what psycopg raises into sentences."""
    pg = _driver()
    try:
        yield
    except pg.errors.InsufficientPrivilege as error:
        raise BadInput(
            f"The database does not allow it: {_quote_server(error)}. "
            "Ask its owner for the right, or give another user."
        ) from error
    except (pg.errors.CharacterNotInRepertoire, pg.errors.UntranslatableCharacter) as error:
        raise BadTable(
            f"Table {database.table!r} holds text that is not Unicode ({_quote_server(error)}). "
            "Correct it in the database."
        ) from error
    except pg.errors.QueryCanceled as error:
        raise BadInput(f"The database stopped the query: {_quote_server(error)}. Nothing was written.") from error
    except (pg.errors.DiskFull, pg.errors.OutOfMemory) as error:
        raise BadInput(f"The database has no room left: {_quote_server(error)}. Nothing was written.") from error
    except pg.OperationalError as error:
        lost = error.sqlstate is None or error.sqlstate.startswith(("08", "57P"))
        raise BadInput(LOST if lost else f"PostgreSQL says: {_quote_server(error)}. Nothing was written.") from error
    except pg.Error as error:
        raise BadInput(
            f"PostgreSQL says of {database.table!r}: {_quote_server(error)}. Nothing was written."
        ) from error


def _quote_server(error: Any) -> str:
    return str(error.diag.message_primary or error).partition("\n")[0].rstrip(".")


def _explain_unreached(database: Postgres, error: Any) -> BadTable:
    """Why there is no connection; libpq tells it in words only."""
    words = str(error)
    where = hide_password(database.url)
    last = words.strip().partition("\n")[0].rpartition("FATAL:")[2].rpartition("failed: ")[2].strip().rstrip(".")
    if "password" in words:
        return BadTable(
            f"{where} does not let this user in ({last}). "
            "Check user and password; PGPASSWORD or ~/.pgpass keep the password out of jobs."
        )
    if "FATAL" in words:
        return BadTable(f"{where} does not let us in ({last}). Check the address and the rights of the user.")
    return BadTable(
        f"No database answers at {where} ({last}). Check that the server runs and that the address is right."
    )


def locate(link: psycopg.Connection[Any], database: Postgres) -> tuple[int, str, str]:
    """The number, schema and name of the table; a name that is none is a sentence with the nearest one."""
    from psycopg import sql

    entry = link.execute(_TABLE, (sql.Identifier(*database.path).as_string(link),)).fetchone()
    if entry is None:
        rows = link.execute(_TABLES, (list(READABLE),)).fetchall()
        known = [name for _, name, visible in rows if visible] + [f"{schema}.{name}" for schema, name, _ in rows]
        near = did_you_mean(database.table, known)
        raise BadTable(
            f"The database has no table {database.table!r}. "
            f"{near or (f'It has: {shorten(known)}. ' if known else 'It has no tables. ')}".strip()
        )
    number, form, schema, name = entry
    if form not in READABLE:
        raise BadTable(f"{database.table!r} is no table or view of the database. Give one that holds rows.")
    return int(number), str(schema), str(name)


def program(link: psycopg.Connection[Any]) -> str:
    """The server's name and version, for certificates: PostgreSQL 15.4."""
    return f"PostgreSQL {link.execute('SHOW server_version').fetchall()[0][0].split()[0]}"


def as_sql(query: str) -> sql.SQL:
    """A query of ours; every name and text in it was quoted when it was put together."""
    from psycopg import sql

    return sql.SQL(cast(Any, query))


def fetch(link: psycopg.Connection[Any], query: sql.Composable, columns: int) -> pa.Table:
    """The answer to a query, every value as text; an empty text and no value differ."""
    import pyarrow as pa

    nothing = pa.table({f"v{index}": pa.array([], pa.string()) for index in range(columns)})
    return pa.concat_tables([nothing, *pieces(link, query, columns)])


def pieces(link: psycopg.Connection[Any], query: sql.Composable, columns: int) -> Iterator[pa.Table]:
    """The answer to a query in pieces of some thousands of rows, every value as text."""
    import pyarrow as pa
    from psycopg import sql
    from pyarrow import csv

    names = [f"v{index}" for index in range(columns)]
    convert = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    parse = csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)

    def parse_rows(rows: list[bytes]) -> pa.Table:
        data = b"".join(rows)
        read = csv.ReadOptions(column_names=names, block_size=len(data) + 1)
        return csv.read_csv(pa.BufferReader(data), read, parse, convert)

    waiting: list[bytes] = []
    size = 0
    with link.cursor() as cursor, cursor.copy(sql.SQL("COPY ({}) TO STDOUT (FORMAT csv)").format(query)) as answer:
        for row in answer:  # libpq hands over whole rows, never a part of one
            waiting.append(bytes(row))
            size += len(row)
            if size > PIECE:
                yield parse_rows(waiting)
                waiting, size = [], 0
    if waiting:
        yield parse_rows(waiting)
