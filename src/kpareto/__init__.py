"""Every trade-off between privacy and information that a table allows.

The public names, nothing else. Each is fetched from its room on first use, so that ``import kpareto`` is quick.
"""

from importlib import import_module

from kpareto._version import __version__

# name -> the room it lives in, in the order of the rooms. To make a name public, add one row here.
_ROOM_OF: dict[str, str] = {
    "KparetoError": "errors",
    "BadInput": "errors",
    "Unsafe": "errors",
    "Interrupted": "errors",
}

__all__ = [  # noqa: PLE0604 (the table above holds nothing but strings)
    "__version__",
    *_ROOM_OF,
]


def __getattr__(name: str) -> object:
    """Fetch a public name from its room (PEP 562)."""
    if name not in _ROOM_OF:
        raise AttributeError(f"module 'kpareto' has no attribute {name!r}")
    value: object = getattr(import_module(f"kpareto.{_ROOM_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, for tab completion."""
    return sorted(__all__)
