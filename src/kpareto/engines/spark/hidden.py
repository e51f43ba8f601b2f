"""Folders and tables that Spark writes: hidden while they are written, renamed when whole, swept when left behind.

What a killed program leaves behind is a hidden folder ``.NAME.….part`` or a table ``NAME_kpareto_…``; the next one that
writes the same target sweeps it away.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from kpareto.atomic import PART, is_running
from kpareto.engines.spark.connect import is_remote
from kpareto.errors import BadInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PIECE = re.compile(r"`(?:[^`]|``)+`|\w+")  # a part of a table's name
NAME = re.compile(rf"(?:{PIECE.pattern})(?:\.(?:{PIECE.pattern}))*")
OLD = 7 * 86_400  # seconds after which what another machine wrote, and did not finish, is nobody's


def mark() -> str:
    """Who writes: this machine, this process, and a random end."""
    return f"{_machine()}_{os.getpid()}_{secrets.token_hex(4)}"


def writer_is_gone(writer_mark: str, age: float) -> bool:
    """Whether the writer of such a mark is gone; of other machines' writers only the age is known."""
    parts = re.fullmatch(r"([0-9a-f]{8})_(\d+)_[0-9a-f]{8}", writer_mark)
    if parts is None:
        return False
    return age > OLD if parts[1] != _machine() else not is_running(int(parts[2]))


def _machine() -> str:
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


@dataclass(frozen=True, eq=False)
class Folder:
    """A folder, on this machine or elsewhere."""

    session: SparkSession
    address: str  # with its scheme: file:/data/out, hdfs://host/out

    @property
    def local(self) -> Path | None:
        """The folder as this machine sees it; None where it is elsewhere."""
        parts = urlsplit(self.address)
        return Path(unquote(parts.path)) if parts.scheme == "file" else None

    @property
    def name(self) -> str:
        """Its last part."""
        return self.address.rstrip("/").rpartition("/")[2] if self.local is None else self.local.name

    @property
    def written(self) -> str:
        """The folder as Spark is told to write it."""
        return self.address if self.local is None else str(self.local)

    def beside(self, name: str) -> Folder:
        """A folder of another name in the same place."""
        if self.local is not None:
            return Folder(self.session, self.local.with_name(name).as_uri())
        return Folder(self.session, f"{self.address.rstrip('/').rpartition('/')[0]}/{name}")

    def hiding_place(self) -> Folder:
        """Where the folder is written before it gets its name."""
        return self.beside(f".{self.name}.{mark()}{PART}")

    def exists(self) -> bool:
        """Whether there is something under this name."""
        if self.local is not None:
            return self.local.exists()
        files, path = self._java()
        return bool(files.exists(path))

    def delete(self) -> None:
        """Remove it with all that is in it; a task that was just killed may still have put a file there."""
        for pause in (0.0, 0.2, 1.0, 3.0):
            time.sleep(pause)
            if not self.exists():
                return
            if self.local is not None:
                shutil.rmtree(self.local, ignore_errors=True)
            else:
                files, path = self._java()
                files.delete(path, True)

    def rename(self, target: Folder) -> None:
        """Give it its name."""
        if self.local is not None and target.local is not None:
            self.local.rename(target.local)
            return
        files, path = self._java()
        if not files.rename(path, target._java()[1]):
            raise BadInput(f"{target.address!r} could not be given its name. See that you may write there.")

    def check(self, shown: str) -> None:
        """Raise unless the folder can be made: what is there is never overwritten."""
        if self.local is not None and not self.local.parent.is_dir():
            raise BadInput(f"Cannot write {shown!r}: there is no folder {str(self.local.parent)!r}. Make it first.")
        if self.exists():
            raise BadInput(f"Cannot write {shown!r}: it is there already. Remove it, or give another name.")

    def sweep(self) -> None:
        """Remove what killed programs left of this folder."""
        for name, age in self._siblings():
            who = name.removeprefix(f".{self.name}.").removesuffix(PART)
            if name == f".{self.name}.{who}{PART}" and writer_is_gone(who, age):
                self.beside(name).delete()

    def _siblings(self) -> list[tuple[str, float]]:
        if self.local is not None:
            return [(path.name, time.time() - path.stat().st_mtime) for path in self.local.parent.glob(".*")]
        files, path = self._java()
        if not files.exists(path.getParent()):
            return []
        entries = files.listStatus(path.getParent())
        return [(str(one.getPath().getName()), time.time() - one.getModificationTime() / 1000) for one in entries]

    def _java(self) -> tuple[Any, Any]:
        """Hadoop's file system and path."""
        return _hadoop(self.session, self.address)


def _hadoop(session: SparkSession, address: str) -> tuple[Any, Any]:
    jvm: Any = session._jvm
    path = jvm.org.apache.hadoop.fs.Path(address)
    return path.getFileSystem(session._jsc.hadoopConfiguration()), path


def _shared_folder(session: SparkSession, target: str) -> Folder:
    """A folder that a server of Spark Connect and this machine both see; only then can it be hidden and renamed."""
    other = "Give a table of its catalog, or nothing to get a frame."
    if "://" in target and urlsplit(target).scheme != "file":
        raise BadInput(
            f"Through Spark Connect only folders that this machine sees are written, not {target!r}. {other}"
        )
    folder = Path(unquote(urlsplit(target).path) if target.startswith("file:") else target).absolute()
    if folder.parent.is_dir():
        probe = folder.with_name(f"kpareto-probe-{secrets.token_hex(8)}.txt")
        try:
            probe.write_text(probe.name, encoding="utf-8")
            seen = session.read.text(probe.as_uri()).collect()
        except Exception:  # noqa: BLE001 (whatever the server says, it does not see the folder)
            seen = []
        finally:
            probe.unlink(missing_ok=True)
        if [row[0] for row in seen] != [probe.name]:
            raise BadInput(f"The server of Spark Connect does not see {str(folder.parent)!r}. {other}")
    return Folder(session, folder.as_uri())


def folder_of(session: SparkSession, target: str) -> Folder:
    """A target as a folder; without a scheme it is on the file system that Spark takes by default."""
    if is_remote(session):
        return _shared_folder(session, target)
    files, path = _hadoop(session, target)
    if "://" not in target and files.getScheme() == "file":
        return Folder(session, Path(target).absolute().as_uri())
    address = str(files.makeQualified(path).toString())
    if address.startswith("file:"):
        return Folder(session, Path(str(path.toUri().getPath())).absolute().as_uri())
    return Folder(session, address)


@dataclass(frozen=True, eq=False)
class Catalogued:
    """A table of Spark's catalog."""

    session: SparkSession
    name: str  # as the user writes it: people, schema.people, catalog.schema.people

    @property
    def parts(self) -> list[str]:
        """The name without its dots and quotes."""
        if not NAME.fullmatch(self.name):
            raise BadInput(
                f"{self.name!r} is no name of a table. Write people or schema.people, with `backquotes` around names "
                "that are not made of letters, digits and underscores."
            )
        return [part[1:-1].replace("``", "`") if part[0] == "`" else part for part in PIECE.findall(self.name)]

    @property
    def quoted(self) -> str:
        """The name with every part in quotes."""
        return _quote(self.parts)

    def hiding_place(self) -> Catalogued:
        """The table that is written before it gets its name."""
        *schema, name = self.parts
        return Catalogued(self.session, _quote([*schema, f"{name}_kpareto_{mark()}"]))

    def check(self) -> None:
        """Raise where there is such a table: what is there is never overwritten."""
        if self.session.catalog.tableExists(self.quoted):
            raise BadInput(f"Cannot write the table {self.name!r}: it is there already. Drop it, or give another name.")

    def rename(self, target: Catalogued) -> None:
        """Give it its name; the new one is said without the catalog, which cannot change."""
        self.session.sql(f"ALTER TABLE {self.quoted} RENAME TO {_quote(target.parts[-2:])}")

    def drop(self) -> None:
        """Remove it; a table that failed half-way may have left a folder that the catalog does not know."""
        with suppress(Exception):
            self.session.sql(f"DROP TABLE IF EXISTS {self.quoted}")
        with suppress(Exception):  # only Spark's own catalog keeps tables in folders that can be told by name
            state: Any = self.session._jsparkSession.sessionState()
            identifier = state.sqlParser().parseTableIdentifier(self.quoted)
            folder_of(self.session, str(state.catalog().defaultTablePath(identifier).toString())).delete()

    def sweep(self) -> None:
        """Drop what killed programs left of this table."""
        *schema, name = self.parts
        within = f" IN {_quote(schema)}" if schema else ""
        start = f"{name}_kpareto_".lower()
        for row in self.session.sql(f"SHOW TABLES{within}").collect():
            left = str(row["tableName"])
            if left.lower().startswith(start) and writer_is_gone(left[len(start) :], 0.0):
                Catalogued(self.session, _quote([*schema, left])).drop()


def _quote(parts: Sequence[str]) -> str:
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)
