"""Where a release goes, written where nobody looks yet: it comes into place when the block ends well, or not at all.

Files and folders of Parquet parts are written by DuckDB beside their target; frames are tried out in a file of the
engine's own folder. Tables of other engines have places of their own, with the attributes of ``Place``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from kpareto.counting import Counted, count
from kpareto.dialect import literal
from kpareto.errors import BadInput, BadJob
from kpareto.files import Engine, carried_out, globbed
from kpareto.queries import UniqueRows
from kpareto.whole import checked, reason, whole, whole_folder

if TYPE_CHECKING:
    import duckdb

Format = Literal["csv", "parquet"]
FORMATS: dict[str, Format] = {".csv": "csv", ".parquet": "parquet", ".parq": "parquet", ".pq": "parquet"}
PART_BYTES = "256MB"  # of one file in a folder of parts, about
EXACT = 2_000_000  # rows up to which unique rows are told apart by their cells; above by a hash of 64 bits


class Place(Protocol):
    """Where the released rows are while they are counted."""

    @property
    def format(self) -> str:
        """What the certificate calls it: csv, parquet, parquet parts, frame, table."""

    @property
    def plain(self) -> bool:
        """Whether every column with a role is written as text."""

    @property
    def shown(self) -> str:
        """Its name in sentences."""

    @property
    def path(self) -> Path | None:
        """The file or folder that it becomes, where it is one."""

    def write(self, recoded: Any) -> None:
        """Have the engine write the released rows (a ``Recoded``)."""

    def count(self, said: dict[str, Any]) -> Counted:
        """What was written, counted again by other code."""

    @property
    def written(self) -> str | None:
        """What stands after FROM and gives the written rows; None where that would be work done twice."""

    def unique(self, columns: list[str]) -> UniqueRows:
        """The written rows that no other equals in these columns."""

    def data(self, recoded: Any) -> Any:
        """The rows themselves, where there is no target."""


@dataclass(frozen=True, eq=False)
class FilePlace:
    """One CSV or Parquet file, or a folder of Parquet parts."""

    engine: Engine
    part: Path  # where it is written
    path: Path | None
    format: str

    @property
    def plain(self) -> bool:
        """CSV knows text alone."""
        return self.format == "csv"

    @property
    def shown(self) -> str:
        """The target's name."""
        return str(self.path or "the release")

    def write(self, recoded: Any) -> None:
        """One COPY of the engine; what goes wrong is a sentence."""
        import duckdb

        form = "FORMAT csv, HEADER true" if self.format == "csv" else "FORMAT parquet"
        parts = f", FILE_SIZE_BYTES '{PART_BYTES}', OVERWRITE_OR_IGNORE true"  # beside the lock of the folder
        form += parts if self.format == "parquet parts" else ", USE_TMP_FILE false"
        try:
            query = f"COPY ({recoded.query()}) TO {literal(str(self.part))} ({form})"
            carried_out(self.engine.connection, query, self.engine.report)
        except duckdb.OutOfMemoryException as error:
            raise BadInput(
                'The rows cannot be put in order within the memory allowed. Give more, such as memory = "2 GB"; '
                "nothing was released."
            ) from error
        except duckdb.Error as error:
            why = "no space is left" if "No space left" in str(error) else reason(error)
            raise BadInput(f"The release could not be written: {why}. Nothing was released.") from error

    def count(self, said: dict[str, Any]) -> Counted:
        """Read again what was written."""
        found = count(self.part, said)
        return found if self.path is not None else replace(found, digest=None)  # nobody keeps that file

    def unique(self, columns: list[str]) -> UniqueRows:
        """One GROUP BY over the written file."""
        return counted_unique(self.engine.connection, self.written, columns)

    @property
    def written(self) -> str:
        """What stands after FROM and gives the written rows."""
        where = literal(globbed(self.part) + ("/*.parquet" if self.format == "parquet parts" else ""))
        return f"read_csv({where}, header = true, all_varchar = true)" if self.plain else f"read_parquet({where})"

    def data(self, recoded: Any) -> Any:
        """Files hold their rows themselves; a frame is what the query gives."""
        return None if self.path is not None else _frame(recoded)


def counted_unique(connection: duckdb.DuckDBPyConnection, rows: str, columns: list[str]) -> UniqueRows:
    """Rows of a table that are alone with their cells."""
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
    total = int(connection.sql(f"SELECT count(*) FROM {rows}").fetchall()[0][0])
    query = f"SELECT count(*) AS n FROM {rows} GROUP BY {names if total <= EXACT else f'hash({names})'}"
    groups, unique = connection.sql(f"SELECT count(*), count(*) FILTER (n = 1) FROM ({query})").fetchall()[0]
    return UniqueRows(tuple(columns), total, int(unique), int(groups))


def duck_place(engine: Engine, target: str | PathLike[str] | None) -> AbstractContextManager[FilePlace]:
    """The place for a target of DuckDB's: a file by its ending, a folder of parts by its slash, none for a frame."""
    if target is None:
        return _frame_place(engine)
    if str(target).endswith("/"):
        return _folder_place(engine, Path(target))
    return _file_place(engine, checked(target))


@contextmanager
def _file_place(engine: Engine, target: Path) -> Iterator[FilePlace]:
    kind = format_of(target)
    with whole(target) as part:
        yield FilePlace(engine, part, target, kind)


@contextmanager
def _frame_place(engine: Engine) -> Iterator[FilePlace]:
    yield FilePlace(engine, engine.folder / "release.parquet", None, "frame")


@contextmanager
def _folder_place(engine: Engine, target: Path) -> Iterator[FilePlace]:
    with whole_folder(target) as part:
        yield FilePlace(engine, part, target.absolute(), "parquet parts")


def format_of(target: Path) -> Format:
    """CSV or Parquet, by the name of the file."""
    if target.suffix.lower() not in FORMATS:
        raise BadJob(
            f"A release is written as .csv or .parquet, not as {target.name!r}. Give such a name, or a folder for "
            "Parquet parts with a slash at the end."
        )
    return FORMATS[target.suffix.lower()]


def is_file(target: str | PathLike[str]) -> bool:
    """Whether a target is a file or folder of this machine; where an engine holds the rows, all else is its own."""
    here = "://" not in str(target)
    return here and (str(target).endswith("/") or Path(target).suffix.lower() in FORMATS)


def _frame(recoded: Any) -> Any:
    """The released rows in the kind of frame they came in; the untouched columns are the frame's own."""
    rows = recoded.rows
    if rows.frame is None:
        return rows.ask(recoded.query())
    answer = rows.ask(recoded.query(with_positions=True))
    positions = answer.column(answer.num_columns - 1).to_numpy()
    frame = rows.frame
    places = [rows.columns.index(out.name) for out in recoded.outs]
    if rows.program == "pandas":
        result = frame.iloc[positions, places].reset_index(drop=True)
        for at, out in enumerate(recoded.outs):
            if out.touched:
                result.isetitem(at, answer.column(at).to_pandas())
        return result
    import narwhals.stable.v2 as nw

    narrow = nw.from_native(frame, eager_only=True)
    taken = narrow.select([recoded.outs[at].name for at in range(len(places))])[positions.tolist()]
    fresh = nw.from_arrow(answer, backend=narrow.implementation)
    touched = [fresh[out.name] for out in recoded.outs if out.touched]
    return nw.to_native(taken.with_columns(*touched) if touched else taken)
