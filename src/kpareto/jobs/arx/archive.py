"""The zip of an ARX project, which may come from anybody: only texts are read, each within bounds checked first.

Serialized Java objects (``*.dat``) are never looked at. No name of a member becomes the name of a file.
"""

from __future__ import annotations

import codecs
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import BinaryIO
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from kpareto.errors import BadInput

MOST_MEMBERS = 10_000
MOST_XML = 4 << 20  # bytes of one of the small texts; a definition of a thousand columns has a quarter of that
MOST_LINES = 64 << 20  # of all hierarchies together
MOST_TABLE = 16 << 30
MOST_RATIO = 200  # bytes of all texts for each of the zip; tables of a few words in each column come to fifty
SMALL = 1 << 20  # bytes up to which no ratio can hurt
PIECE = 1 << 20
DEEPEST = 20  # elements inside each other; ARX has three
VOCABULARY = "2.0"
# What Python raises for a zip that is damaged, wherever that is.
DAMAGES = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, ValueError, OSError)


@dataclass(frozen=True)
class Archive:
    """The members of a project that may be read, by their names."""

    path: Path
    zip: zipfile.ZipFile

    def bad(self, why: str) -> BadInput:
        """A sentence about this file."""
        return BadInput(f"The ARX project {str(self.path)!r} {why}.")

    def has(self, name: str) -> bool:
        """Whether there is a member of this name."""
        return name in self.zip.NameToInfo

    def size(self, name: str) -> int:
        """How many bytes a member says that it has; one that is missing is a sentence."""
        if not self.has(name):
            raise self.bad(f"has no part {name!r}, so it cannot be opened. Save it again with ARX")
        return self.zip.getinfo(name).file_size

    def pieces(self, name: str, most: int) -> Generator[bytes, None, None]:
        """The bytes of a member, after its size and ratio were looked at; it may not be larger than it says."""
        self.size(name)
        info = self.zip.getinfo(name)
        if info.file_size > most:
            raise self.bad(f"has a part {name!r} of {info.file_size:,} bytes, and {most:,} is the most that is read")
        if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise self.bad(f"has a part {name!r} with a password or packed in another way than ARX does")
        size = 0
        try:
            with self.zip.open(info) as member:
                while piece := member.read(PIECE):
                    size += len(piece)
                    if size > info.file_size:
                        raise self.bad(f"has a part {name!r} that is larger than it says")
                    yield piece
        except DAMAGES as error:
            raise self.bad(f"has a damaged part {name!r}: {error}") from error

    def text(self, name: str, most: int) -> str:
        """The text of a member: UTF-8, or what Java took for it on an older Windows."""
        data = b"".join(self.pieces(name, most))
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError:
            return data.decode("cp1252", errors="replace")

    def xml(self, name: str, root: str) -> Element:
        """The tree of a small XML text; document types and entities are refused."""
        builder, depth = TreeBuilder(), [0]

        def start(tag: str, attributes: dict[str, str]) -> None:
            depth[0] += 1
            if depth[0] > DEEPEST:
                raise self.bad(f"has a part {name!r} with more than {DEEPEST} elements inside each other")
            builder.start(tag, attributes)

        def end(tag: str) -> None:
            depth[0] -= 1
            builder.end(tag)

        def refuse(*_: object) -> None:
            raise self.bad(f"declares a document type or entities in {name!r}, which ARX never does; it is not read")

        parser = expat.ParserCreate("utf-8")
        parser.StartElementHandler, parser.EndElementHandler = start, end
        parser.CharacterDataHandler = builder.data
        parser.StartDoctypeDeclHandler = refuse
        parser.EntityDeclHandler = refuse
        try:
            parser.Parse(self.text(name, MOST_XML).encode(), True)
        except expat.ExpatError as error:
            raise self.bad(f"has a part {name!r} that is no valid XML: {error}") from error
        tree = builder.close()
        if tree.tag != root:
            raise self.bad(f"has a part {name!r} that begins with <{tree.tag}> instead of <{root}>")
        return tree

    def copy(self, name: str, target: BinaryIO) -> tuple[str, int]:
        """Write a table to a file as it is; its encoding and about how many rows it has."""
        decoder, encoding, lines = codecs.getincrementaldecoder("utf-8")(), "utf-8", 0
        for piece in chain(self.pieces(name, MOST_TABLE), [b""]):  # the empty one ends the last letter
            target.write(piece)
            lines += piece.count(b"\n")
            if encoding == "utf-8":
                try:
                    decoder.decode(piece, final=not piece)
                except UnicodeDecodeError:
                    encoding = "cp1252"
        return encoding, max(lines - 1, 1)


@contextmanager
def open_archive(path: str | Path) -> Iterator[Archive]:
    """The zip of a project, whose names are looked at before any of its bytes are."""
    place = Path(path)
    try:
        opened = zipfile.ZipFile(place)
    except DAMAGES as error:
        why = getattr(error, "strerror", None) or "it is no zip, as projects of ARX are"
        raise BadInput(f"The ARX project {str(place)!r} cannot be read: {why}.") from error
    with opened:
        archive = Archive(place, opened)
        names = opened.namelist()
        if len(names) > MOST_MEMBERS:
            raise archive.bad(f"has {len(names):,} parts, and {MOST_MEMBERS:,} is the most that is read")
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise archive.bad(f"has two parts that are both called {twice[0]!r}")
        outside = [name for name in names if not is_inside(name)]
        if outside:
            raise archive.bad(f"has a part {outside[0]!r}, whose name leads out of its folder")
        check_sizes(archive)
        check_version(archive)
        yield archive


def check_sizes(archive: Archive) -> None:
    """Raise where the texts say that they are far larger than the zip, whose parts may even share their bytes."""
    sizes = {each.filename: each.file_size for each in archive.zip.infolist() if not each.filename.endswith(".dat")}
    if sum(sizes.values()) > max(SMALL, MOST_RATIO * archive.path.stat().st_size):
        raise archive.bad(f"is packed more than {MOST_RATIO} times, as no table is")
    if sum(size for name, size in sizes.items() if name.startswith("input/hierarchies/")) > MOST_LINES:
        raise archive.bad(f"has hierarchies of more than {MOST_LINES:,} bytes together, which are not read")


def is_inside(name: str) -> bool:
    """Whether a name stays inside the folder that it is unpacked into."""
    path = PurePosixPath(name)
    return not (path.is_absolute() or ".." in path.parts or "\\" in name or re.match(r"[A-Za-z]:", name))


def check_version(archive: Archive) -> None:
    """Raise where a project is written in words that we do not know."""
    tree = archive.xml("metadata.xml", "metadata")
    words = (tree.findtext("vocabulary") or "1.0").strip()
    if words != VOCABULARY:
        version = (tree.findtext("version") or "?").strip()
        raise archive.bad(
            f"is written in vocabulary {words!r} (ARX {version}), and only {VOCABULARY} is read. Open it in ARX 3 or "
            "later, and save it again"
        )
