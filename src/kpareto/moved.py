"""Imports that the documentation once showed work as they did, with a warning that names today's place."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

MODULES = {
    "kpareto.engines.questions": "kpareto.engines.unique_rows",
    "kpareto.jobs.default_hierarchies": "kpareto.jobs.proposals",
    "kpareto.measures.bias": "kpareto.measures.properties",
    "kpareto.releases.mixed_levels": "kpareto.releases.spread",
    "kpareto.releases.private.release": "kpareto.releases.private.private_release",
    "kpareto.releases.risk.overlaps": "kpareto.releases.risk.attacks",
    "kpareto.searches.checkpoint": "kpareto.searches.driver",
    "kpareto.searches.sampling": "kpareto.tables.table",
}


class MovedModules:
    """Finds a module under the name that it had; Python asks here when nobody else knows the name."""

    @staticmethod
    def find_spec(name: str, *_: object) -> ModuleSpec | None:
        """What Python asks every finder."""
        if name not in MODULES:
            return None
        _warn(name, MODULES[name])
        return ModuleSpec(name, MovedModules)  # type: ignore[arg-type]  # a loader in all that Python asks for

    @staticmethod
    def create_module(_: ModuleSpec) -> None:
        """The usual kind of module."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """All that today's module has."""
        vars(module).update(vars(import_module(MODULES[module.__name__])))


def moved_names(package: str, today: Mapping[str, str]) -> Callable[[str], object]:
    """A package's ``__getattr__`` for names that it once had, each with the module that has it now."""

    def fetch(name: str) -> object:
        if name not in today:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        _warn(f"{package}.{name}", f"{today[name]}.{name}")
        return getattr(import_module(today[name]), name)

    return fetch


def _warn(once: str, today: str) -> None:
    warnings.warn(f"{once} has moved to {today}", DeprecationWarning, stacklevel=3)  # the line that imports
