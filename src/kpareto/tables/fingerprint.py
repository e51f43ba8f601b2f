"""Fingerprints: one digest of everything a thing is made of, for files that belong to one job and to no other.

Nobody lists fields here. A dataclass is walked field by field, a function by its code and by what it has closed over,
an array by its bytes, so that a field somebody adds tomorrow is part of the fingerprint tomorrow. A field that is not
part of what a thing is (a memo, a remark) says so where it is declared, with ``compare=False``.
"""

from __future__ import annotations

import functools
import hashlib
import struct
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePath
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from kpareto.errors import BadInput

_PLAIN = (str, int, bool, float, bytes, type(None))  # written the same by ``repr`` on every run
_SPELLED = (*_PLAIN, complex, range, Fraction, Decimal, PurePath, type(...), type(NotImplemented))
_BUILT_IN = (BuiltinFunctionType, type(str.join), type(str.__add__), type("".__add__))


def fingerprint(*things: object) -> str:
    """SHA-256 of things made of dataclasses, arrays, functions and plain values, as 64 hexadecimal digits.

    Equal things have equal fingerprints in every process; where a field, a number or a line of a function differs, so
    does the fingerprint.
    """
    return _Walk().of(tuple(things)).hex()


class _Walk:
    """One walk: a digest of each thing made of the digests of its parts, every object once."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[object, bytes]] = {}  # the object is held, so that nobody else gets its id
        self.open: dict[int, int] = {}  # what is being walked, by its depth: a ring is named by how far it goes back

    def of(self, thing: object) -> bytes:
        """The digest of one thing."""
        if type(thing) in _PLAIN:
            return _hash(type(thing).__name__, _spell(thing))
        key = id(thing)
        if key in self.known:
            return self.known[key][1]
        if key in self.open:
            return _hash("ring", str(len(self.open) - self.open[key]).encode())
        self.open[key] = len(self.open)
        digest = self._parts(thing)
        del self.open[key]
        self.known[key] = (thing, digest)
        return digest

    def _parts(self, thing: Any) -> bytes:
        if isinstance(thing, np.ndarray | np.generic):
            return self._array(np.asarray(thing))
        if is_dataclass(thing) and not isinstance(thing, type):
            values = [(item.name, getattr(thing, item.name)) for item in fields(thing) if item.compare]
            return self._hash_object(type(thing), values + _methods(type(thing)))
        if isinstance(thing, Mapping):
            return _hash("mapping", *sorted(self.of(key) + self.of(value) for key, value in thing.items()))
        if isinstance(thing, AbstractSet):
            return _hash("set", *sorted(self.of(item) for item in thing))
        if isinstance(thing, _SPELLED):
            return self._hash_object(type(thing), [("value", repr(thing))])
        if isinstance(thing, Sequence):
            if all(type(item) in _PLAIN for item in thing):  # a million leaves at once
                return _hash("values", _spell(tuple(thing)))
            return _hash("sequence", *(self.of(item) for item in thing))
        return self._code(thing)

    def _array(self, array: np.ndarray) -> bytes:
        if array.dtype.hasobject:
            return _hash("objects", self.of(array.shape), self.of(array.ravel().tolist()))
        whole = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        return _hash("array", whole.dtype.str.encode(), repr(array.shape).encode(), whole.tobytes())

    def _code(self, thing: Any) -> bytes:
        """Functions, classes and other objects."""
        if isinstance(thing, (type, ModuleType, *_BUILT_IN)):
            return _hash("name", _title(thing))
        if isinstance(thing, MethodType):
            return _hash("method", self.of(thing.__self__), self.of(thing.__func__))
        if isinstance(thing, functools.partial):
            return _hash("partial", self.of(thing.func), self.of(thing.args), self.of(thing.keywords))
        inner = getattr(thing, "__wrapped__", None) or getattr(thing, "py_func", None)  # a memo, a compiled function
        if inner is not None and callable(thing):
            return _hash("wrapped", self.of(inner))
        if isinstance(thing, FunctionType):
            return self._function(thing)
        if isinstance(thing, CodeType):
            parts = (thing.co_code, thing.co_consts, thing.co_names, thing.co_varnames, thing.co_freevars)
            return _hash("code", *(self.of(part) for part in parts))
        return self._object(thing)

    def _function(self, thing: FunctionType) -> bytes:
        closed = [_content(cell) for cell in thing.__closure__ or ()]
        parts = (thing.__code__, thing.__defaults__, thing.__kwdefaults__, closed)
        return _hash("function", _title(thing), *(self.of(part) for part in parts), *self._globals(thing))

    def _globals(self, thing: FunctionType) -> list[bytes]:
        """What a function of somebody else's takes from its module: plain values, arrays and other functions."""
        if _has_version(thing):
            return []
        named = {name: thing.__globals__[name] for name in thing.__code__.co_names if name in thing.__globals__}
        kinds = (*_SPELLED, np.ndarray, np.generic, FunctionType, tuple, list, dict, frozenset, set)
        return [self.of(name) + self.of(value) for name, value in sorted(named.items()) if isinstance(value, kinds)]

    def _object(self, thing: Any) -> bytes:
        """An object that is no dataclass: its class, what its class does, and what it holds."""
        state = dict(getattr(thing, "__dict__", {}))
        for kind in type(thing).__mro__:
            slots = kind.__dict__.get("__slots__", ())
            names = (slots,) if isinstance(slots, str) else slots
            state |= {name: getattr(thing, name) for name in names if hasattr(thing, name)}
        methods = _methods(type(thing))
        if not state and not methods:
            raise BadInput(
                f"The job holds a {type(thing).__name__} of {type(thing).__module__}, of which nobody can tell whether "
                "it is still the same next time. Run it without a checkpoint, or make it a dataclass."
            )
        return self._hash_object(type(thing), sorted(state.items()) + methods)

    def _hash_object(self, kind: type, parts: Sequence[tuple[str, object]]) -> bytes:
        return _hash("object", _title(kind), *(self.of(name) + self.of(value) for name, value in parts))


def _has_version(thing: Any) -> bool:
    """Whether code belongs to a package whose version is part of every fingerprint of a job."""
    return (getattr(thing, "__module__", None) or "").partition(".")[0] in ("kpareto", "numpy", "numba", "builtins")


def _methods(kind: type) -> list[tuple[str, object]]:
    """What a class of somebody else's does, its own methods and those it inherits."""
    methods = {
        name: value
        for owner in reversed(kind.__mro__)
        if not _has_version(owner)
        for name, value in vars(owner).items()
        if isinstance(value, FunctionType) and not (name.startswith("__") and name != "__call__")
    }
    return sorted(methods.items())


def _hash(tag: str, *parts: bytes) -> bytes:
    """Each part with its length before it, so that no two lists of parts read the same."""
    digest = hashlib.sha256(tag.encode())
    for part in parts:
        digest.update(struct.pack("<Q", len(part)))
        digest.update(part)
    return digest.digest()


def _spell(value: object) -> bytes:
    return repr(value).encode("utf-8", "surrogatepass")


def _title(thing: Any) -> bytes:
    module = getattr(thing, "__module__", None) or ""
    return f"{module}.{getattr(thing, '__qualname__', getattr(thing, '__name__', ''))}".encode()


def _content(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet: a function that is being made
        return "an empty cell"
