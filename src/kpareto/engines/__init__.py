"""The engines: where rows lie, how they come in, and how they go out. Here is the one door that knows them all.

``source`` is the contract, ``values`` how a value is written, ``sql`` how engines spell a query. ``duckdb``,
``postgres`` and ``spark`` hold one engine each (connect, read, write), ``frames`` what is in memory. ``read`` makes a
Table of any source, with ``distinct`` and ``admission`` to see that it fits; ``questions`` counts what no Table tells.

Nothing outside this file asks what a source is. A further engine is one more row of ``ENGINES``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kpareto.engines.form import SEPARATORS, USED, DataFile, Form, file_kind
from kpareto.engines.postgres.connect import SCHEMES, Postgres, hide_password
from kpareto.engines.spark.connect import REMOTE, SCHEME, SparkTable, is_frame
from kpareto.errors import BadJob, BadTable, Progress

if TYPE_CHECKING:
    from kpareto.engines.duckdb.connect import Engine
    from kpareto.engines.source import Opening, Source

Opener = Callable[[Any, "Opening"], AbstractContextManager["Source"]]


@dataclass(frozen=True)
class Entry:
    """What the door knows of an engine."""

    kind: str  # also the name of the verifier's counter for what it writes
    takes: Callable[[object], bool]  # whether a source is one of its own
    opener: Callable[[], Opener]  # loads what opens such a source
    schemes: tuple[str, ...] = ()  # how its addresses begin, where it has any
    table: Callable[[str, str], object] | None = None  # an address and the name of a table there -> a source
    called: str = ""  # what is at such an address, for sentences


def _in(room: str, name: str = "open_table") -> Callable[[], Opener]:
    """The opener of a room, which is loaded when it is needed."""
    return lambda: getattr(import_module(f"kpareto.engines.{room}"), name)


# The first that takes a source opens it.
ENGINES: tuple[Entry, ...] = (
    Entry("postgres", lambda source: isinstance(source, Postgres), _in("postgres.read"), SCHEMES, Postgres,
          "database"),
    Entry("spark table", lambda source: isinstance(source, SparkTable), _in("spark.read"), (SCHEME, REMOTE), SparkTable,
          "Spark cluster"),
    Entry("spark", is_frame, _in("spark.read", "open_frame")),
    Entry("file", lambda source: isinstance(source, str | PathLike | DataFile),
          _in("duckdb.read", "open_file")),
    Entry("frame", lambda _: True, _in("frames", "open_frame")),
)  # fmt: skip


def _entry(source: object) -> Entry:
    return next(entry for entry in ENGINES if entry.takes(source))


def _entry_at(address: str) -> Entry | None:
    return next((entry for entry in ENGINES if address.lower().startswith(entry.schemes)), None)


def kind_of(source: object) -> str:
    """Which engine holds a source: postgres, spark, spark table, file, or frame for all that is in memory."""
    return _entry(source).kind


@contextmanager
def open_source(
    source: object, encoding: str = "utf-8", memory: int | None = None, report: Progress | None = None
) -> Iterator[Source]:
    """Open whatever holds rows: a path, a table of a database or a cluster, a frame of any library.

    ``encoding`` is that of a text file. An engine of our own, where one is needed, may use so many bytes of ``memory``
    before it goes to the disk. ``report`` is told how far writing is, where the engine says so.
    """
    from kpareto.engines.duckdb.connect import engine
    from kpareto.engines.source import Opening

    if isinstance(source, str):
        _check_path(source)
    with ExitStack() as stack:
        started: list[Engine] = []

        def start() -> Engine:
            if not started:
                started.append(stack.enter_context(engine(memory, report)))
            return started[0]

        try:
            yield stack.enter_context(_entry(source).opener()(source, Opening(start, encoding, report)))
        except UnicodeEncodeError as error:  # a text of Python may hold what no file can
            half = error.object[error.start : error.end]
            raise BadTable(f"The table has {half!a} in a text, which is half a character. Replace it.") from error


def _check_path(source: str) -> None:
    """Raise where a text is an address, and so no path."""
    entry = _entry_at(source)
    if entry is not None:
        name = getattr(entry.table, "__name__", "a table")
        raise BadTable(
            f"{hide_password(source)!r} is a {entry.called}. Say which table: kpareto.{name}(address, 'people')."
        )
    if "://" in source:
        raise BadTable(
            f"{hide_password(source)!r} is an address, and only files, PostgreSQL and Spark are read here. "
            "Copy it to a file."
        )


def is_address(source: object) -> bool:
    """Whether a text is the address of a database or a cluster, so that a table must be named beside it."""
    return isinstance(source, str) and _entry_at(source) is not None


def table_at(address: str, name: str) -> object:
    """A table at such an address, as a source."""
    entry = _entry_at(address)
    if entry is None or entry.table is None:
        raise BadJob(f"There is a table {name!r} in databases alone. Give the address postgresql://… before it.")
    return entry.table(address, name)


def file_of(source: object) -> Path | None:
    """The file or folder of this machine that a source is; None where it is none."""
    if isinstance(source, DataFile):
        return Path(source.path)
    if isinstance(source, str | PathLike) and "://" not in str(source):
        return Path(fspath(source))
    return None


def address_of(source: object) -> str | None:
    """What a table of a database or a cluster is known by, whoever asks; None where a source is something else."""
    return source.home if isinstance(source, Postgres | SparkTable) else None


def form_of(source: object, encoding: str = "utf-8") -> Form:
    """How a file is read: as it says where it is a DataFile, else as plain text in this encoding; all else has none."""
    return source.form if isinstance(source, DataFile) else Form(encoding)


def in_form(source: object, form: Form) -> object:
    """A file in the form that was stored for another one of its kind; a DataFile has its own, and all else none."""
    file = None if isinstance(source, DataFile) else file_of(source)
    if file is None or file.is_dir():
        return source
    used = USED[file_kind(file.name)]
    keys = {key: value for key, value in form.to_dict().items() if key in used}
    if keys.get("separator") in SEPARATORS:  # recognised anew: another month's file may have another one
        keys.pop("separator")
    return DataFile(file, Form(**keys))
