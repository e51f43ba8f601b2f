"""The one strict reader of files that come back: fronts, recodings, certificates, checkpoints, jobs, hierarchies.

A file that was written by us may have been cut short, edited, or made by somebody who means harm. So bytes become plain
data here and nowhere else: with a limit on size and depth, without NaN, infinity and keys that stand twice, and with
every node of the kind that belongs there. What is wrong is one sentence that names the place. Nothing of a file is ever
executed or unpickled.
"""

from __future__ import annotations

import json
import math
import re
import stat
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from kpareto.errors import BadInput, BadJob, KparetoError, Remedy, did_you_mean

MOST_BYTES = 1 << 30  # of a text: a recoding with ten million values has about half of that
MOST_DEPTH = 64  # nested lists and objects; ours need eight
DEEPEST_TREE = 500  # of a hierarchy, whose tree may be as deep as its author likes, within reason
MOST_ITEMS = 50_000_000  # in one list

# What numpy and zipfile raise for a file that is damaged, wherever that is.
UNREADABLE: tuple[type[Exception], ...] = (
    *(OSError, ValueError, LookupError, TypeError, EOFError, MemoryError, SyntaxError, RuntimeError),
    *(zipfile.BadZipFile, ArithmeticError, AttributeError, TokenError),
)

Shape = Callable[[Any, str], None]  # a value and its place; raises Misfit where it is not as it should be


class Misfit(Exception):
    """A node of a file is not as it should be: its place, what stands there, and what belongs there."""

    def __init__(self, place: str, value: object, wanted: str) -> None:
        super().__init__(f"{place or 'the whole'} is {show_value(value)}, and {wanted} belongs there")


def show_value(value: object) -> str:
    """A value for a sentence, short whatever it is."""
    if isinstance(value, dict):
        return f"an object with {len(value):,} keys"
    if isinstance(value, list | tuple):
        return f"a list of {len(value):,}"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**18:
        return "a whole number of more than 18 digits"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:56]} …"


@dataclass(frozen=True)
class FileKind:
    """What a file is called in sentences, what to do about a bad one, and which error says so."""

    name: str  # begins a sentence: The certificate
    remedy: str  # ends it: Take it as it was written.
    error: type[KparetoError] = BadInput

    def bad(self, source: object, why: str) -> KparetoError:
        """The sentence."""
        return self.error(f"{self.name}{f' {str(source)!r}' if source else ''} {why}. {self.remedy}")


# -- bytes and texts -------------------------------------------------------------------------------------------------


def read_bytes(source: str | PathLike[str], kind: FileKind, most: int = MOST_BYTES) -> bytes:
    """The bytes of a plain file that is not larger than it may be."""
    place = Path(source)
    try:
        with place.open("rb") as file:
            status = place.stat()
            if stat.S_ISDIR(status.st_mode):
                raise IsADirectoryError(21, "Is a directory")
            data = file.read(most + 1)  # a pipe or a device has no size of its own
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise kind.bad(source, f"cannot be read: {why}") from error
    if len(data) > most:
        raise kind.bad(source, f"is larger than {most / 2**20:,.0f} MiB, and nothing that we write is")
    return data


def is_missing(source: str | PathLike[str]) -> bool:
    """Whether there is nothing of this name; a name that no file can have is another matter, for whoever reads it."""
    try:
        Path(source).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


def read_text(source: str | PathLike[str], kind: FileKind, most: int = MOST_BYTES) -> str:
    """The text of a file in UTF-8."""
    data = read_bytes(source, kind, most)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise kind.bad(source, f"is not UTF-8: byte 0x{data[error.start]:02x} in line {line}") from error


# -- JSON and TOML -----------------------------------------------------------------------------------------------------


def read_json(source: str | PathLike[str], kind: FileKind, shape: Shape) -> Any:
    """The data of a JSON file of a known shape."""
    return parse_json(read_text(source, kind), kind, shape, source)


def parse_json(text: str, kind: FileKind, shape: Shape, source: object = "", deepest: int = MOST_DEPTH) -> Any:
    """The data of a JSON text of a known shape."""
    with _readable(kind, source, "JSON"):
        data = json.loads(
            text.removeprefix("\ufeff"), object_pairs_hook=_object, parse_constant=_refuse, parse_float=_finite
        )
    return check_shape(data, kind, shape, source, deepest)


def parse_toml(text: str, kind: FileKind, source: object = "") -> dict[str, Any]:
    """The data of a TOML text; keys that stand twice are refused by TOML itself."""
    with _readable(kind, source, "valid TOML"):
        data = tomllib.loads(text)
    try:
        _walk(data, MOST_DEPTH, finite=False)  # TOML has NaN and infinity; whoever asks for a number refuses them
    except Misfit as error:
        raise kind.bad(source, f"is damaged: {error}") from error
    return data


def read_value(words: str) -> Any:
    """One value as TOML has it, such as 5, true or [1, 2]; what is none is the text itself."""
    try:
        document = tomllib.loads(f"value = {words}")
    except (ValueError, RecursionError):
        return words.strip()
    return document["value"] if len(document) == 1 else words.strip()


def check_shape(data: Any, kind: FileKind, shape: Shape, source: object = "", deepest: int = MOST_DEPTH) -> Any:
    """The data, unless they are nested too deep, hold a number that is none, or are not of the shape."""
    try:
        _walk(data, deepest)
        shape(data, "")
    except Misfit as error:
        raise kind.bad(source, f"is damaged: {error}") from error
    return data


@contextmanager
def _readable(kind: FileKind, source: object, form: str) -> Iterator[None]:
    try:
        yield
    except RecursionError as error:
        raise kind.bad(source, "is nested too deep, as none of ours is") from error
    except KparetoError:
        raise
    except ValueError as error:  # json's and tomllib's own errors, and those of the hooks below
        raise kind.bad(source, f"is not {form} ({str(error).rstrip('.')})") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(
            f"the key {show_value(next(n for n in names if names.count(n) > 1))} stands twice in one object"
        )
    return entries


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is no number")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"the number {text[:40]} is too large")
    return number


def _walk(data: Any, deepest: int, finite: bool = True) -> None:
    """Raise where data are nested too deep, or hold a number that is none; without recursion."""
    layer, depth = [("", data)], 0
    while layer:
        if depth > deepest:
            raise Misfit(layer[0][0][:80], layer[0][1], f"nothing nested deeper than {deepest} levels")
        below: list[tuple[str, Any]] = []
        for place, node in layer:
            if isinstance(node, Mapping):
                below += [(f"{place}.{str(key)[:40]}" if place else str(key)[:40], node[key]) for key in node]
            elif isinstance(node, list | tuple):
                if any(isinstance(item, Mapping | list | tuple | float) for item in node):
                    below += [(f"{place}[{i}]", item) for i, item in enumerate(node)]
            elif finite and isinstance(node, float) and not math.isfinite(node):
                raise Misfit(place, node, "a finite number")
        layer, depth = below, depth + 1


# -- shapes ----------------------------------------------------------------------------------------------------------


def anything(value: Any, place: str) -> None:
    """Whatever stands there."""


@dataclass(frozen=True)
class Value:
    """The shape of a value that is no list and no object: what it may be, in words and as a test."""

    words: str  # ends a sentence after "Give"
    fits: Callable[[Any], bool]
    known: tuple[str, ...] = ()  # the words that may stand there, where it takes words

    def __call__(self, value: Any, place: str) -> None:
        """Raise Misfit where the value is another."""
        if not self.fits(value):
            raise Misfit(place, value, self.words)

    def read(self, value: Any, where: str, remedy: Remedy | str = "") -> Any:
        """A value that somebody wrote into a job, or the sentence that says what to write instead."""
        if self.fits(value):
            return value
        near = did_you_mean(value, self.known) if isinstance(value, str) else ""
        if isinstance(remedy, Remedy):
            raise BadJob(f"is {value!r}. {near}".rstrip(), where=where, remedy=remedy)
        raise BadJob(f"is {value!r}. {near}{remedy or f'Give {self.words}.'}", where=where)


def describe(words: str, shape: Shape) -> Value:
    """A shape in words of one's own; also what makes a single value of a list or an object."""

    def fits(value: Any) -> bool:
        try:
            shape(value, "")
        except Misfit:
            return False
        return True

    return Value(words, fits, getattr(shape, "known", ()))


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


text = Value("a text", lambda value: isinstance(value, str))
truth = Value("true or false", lambda value: isinstance(value, bool))


def word(*known: str) -> Value:
    """One of some words."""
    return Value(f"one of {', '.join(known)}", lambda value: isinstance(value, str) and value in known, known)


def whole(least: int = 0, most: float = 2**63 - 1) -> Value:
    """A whole number between two bounds."""
    words = f"a whole number from {least:,} to {most:,}"
    return Value(words, lambda value: _is_whole(value) and least <= value <= most)


def read_whole(value: Any, where: str, least: int, most: float = math.inf) -> int:
    """A whole number that somebody gave, or the sentence that asks for one."""
    return int(whole(least, most).read(value, where, f"Give a whole number of at least {least}."))


def number(least: float = -math.inf, most: float = math.inf) -> Value:
    """A finite number between two bounds; ``inf`` and ``-inf`` as texts, as certificates have them, are none."""

    def fits(value: Any) -> bool:
        if not _is_whole(value) and not isinstance(value, float | np.floating):
            return False
        try:
            return math.isfinite(value) and bool(least <= value <= most)
        except OverflowError:  # a whole number beyond what a float can hold
            return False

    return Value("a number" if least == -math.inf else f"a number from {least:g} to {most:g}", fits)


def list_of(item: Shape, least: int = 0, most: int = MOST_ITEMS) -> Shape:
    """A list whose items are all of one shape."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, list | tuple) or not least <= len(value) <= most:
            raise Misfit(place, value, f"a list of {least:,} to {most:,} items" if least else "a list")
        for at, inner in enumerate(value):
            item(inner, f"{place}[{at}]")

    return check


def entry(*shapes: Shape) -> Shape:
    """A list of so many items, each of a shape of its own."""

    def check(value: Any, place: str) -> None:
        list_of(anything, len(shapes), len(shapes))(value, place)
        for at, shape in enumerate(shapes):
            shape(value[at], f"{place}[{at}]")

    return check


def map_of(item: Shape) -> Shape:
    """An object whose values are all of one shape, under any keys."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, Mapping):
            raise Misfit(place, value, "an object")
        for key in value:
            if not isinstance(key, str):
                raise Misfit(place, key, "a text as a key")
            item(value[key], f"{place}.{key[:40]}" if place else key[:40])

    return check


def record(fields: Mapping[str, Shape], optional: Mapping[str, Shape] | None = None) -> Shape:
    """An object with these keys, and perhaps the optional ones; what else stands there is left for later versions."""

    def check(value: Any, place: str) -> None:
        map_of(anything)(value, place)
        for key, shape in fields.items():
            inner = f"{place}.{key}" if place else key
            if key not in value:
                raise Misfit(place, value, f"{inner!r}, which is missing,")
            shape(value[key], inner)
        for key, shape in (optional or {}).items():
            if key in value:
                shape(value[key], f"{place}.{key}" if place else key)

    return check


def either(*shapes: Shape) -> Shape:
    """One of several shapes; the sentence is that of the last."""

    def check(value: Any, place: str) -> None:
        for shape in shapes[:-1]:
            try:
                return shape(value, place)
            except Misfit:
                continue
        return shapes[-1](value, place)

    return check


def maybe(shape: Shape) -> Shape:
    """The shape, or nothing (null)."""

    def check(value: Any, place: str) -> None:
        if value is not None:
            shape(value, place)

    return check


# -- arrays ----------------------------------------------------------------------------------------------------------


def read_arrays(source: str | PathLike[str], kind: FileKind) -> dict[str, np.ndarray]:
    """The arrays of a file of numpy's, none larger than the file itself; what would be unpickled is refused."""
    place = Path(source)
    try:
        with place.open("rb") as file, zipfile.ZipFile(file) as packed:
            size = place.stat().st_size
            for member in packed.infolist():  # we write them as they are, so nothing can grow while it is unpacked
                if member.compress_type != zipfile.ZIP_STORED or member.file_size > size:
                    raise ValueError(f"{member.filename[:40]!r} is packed")
            if len(set(packed.namelist())) < len(packed.namelist()):
                raise ValueError("an array stands in it twice")
            file.seek(0)
            with np.load(file, allow_pickle=False) as kept:
                return {name: kept[name] for name in kept.files}
    except UNREADABLE as error:
        raise kind.bad(source, f"cannot be read ({_first(error)})") from error


def _first(error: Exception) -> str:
    return (str(error).partition("\n")[0] or type(error).__name__).rstrip(".")


def toml_value(value: object) -> str:
    """A value as TOML writes it inline."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_key(str(key))} = {toml_value(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(each) for each in value) + "]"
    return str(value)


def toml_lines(settings: Mapping[str, Any]) -> list[str]:
    """Keys and their values as a part of a job has them, a line each."""
    return [f"{toml_key(key)} = {toml_value(value)}" for key, value in settings.items()]


def toml_key(name: str) -> str:
    """A key as TOML writes it."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_value(name)
