"""Every trade-off between privacy and information that a table allows.

The public names, nothing else.
Each is fetched from its room on first use, so that ``import kpareto`` is quick.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from kpareto._version import __version__

if TYPE_CHECKING:  # for type checkers and editors; tests/test_public.py compares it with the table below
    from kpareto.anonymize import anonymize as anonymize
    from kpareto.apply import apply as apply
    from kpareto.attacks import attack as attack
    from kpareto.builders import load as load
    from kpareto.datasets import adult as adult
    from kpareto.datasets import adult_hierarchies as adult_hierarchies
    from kpareto.datasets import adult_table as adult_table
    from kpareto.delimited import Csv as Csv
    from kpareto.errors import BadInput as BadInput
    from kpareto.errors import Interrupted as Interrupted
    from kpareto.errors import KparetoError as KparetoError
    from kpareto.errors import Unsafe as Unsafe
    from kpareto.frames import fingerprint as fingerprint
    from kpareto.frames import read as read
    from kpareto.front import Front as Front
    from kpareto.front import Point as Point
    from kpareto.hierarchy import Hierarchy as Hierarchy
    from kpareto.inspect import inspect as inspect
    from kpareto.job import Job as Job
    from kpareto.job import load_job as load_job
    from kpareto.lint import lint as lint
    from kpareto.measure import Measure as Measure
    from kpareto.measure import make as make
    from kpareto.partition import Partition as Partition
    from kpareto.partition import Suppression as Suppression
    from kpareto.plots import save_picture as save_picture
    from kpareto.postgres import Postgres as Postgres
    from kpareto.problem import Problem as Problem
    from kpareto.problem import constrained as constrained
    from kpareto.problem import problem as problem
    from kpareto.recoded import Handling as Handling
    from kpareto.recoding import Recoding as Recoding
    from kpareto.release import Release as Release
    from kpareto.release import release as release
    from kpareto.remarks import remarks as remarks
    from kpareto.risk import risks as risks
    from kpareto.run import front as front
    from kpareto.run import run as run
    from kpareto.schema import Schema as Schema
    from kpareto.spark import SparkTable as SparkTable
    from kpareto.stored import store as store
    from kpareto.table import Table as Table
    from kpareto.verify import verify as verify

# name -> its room, in the order of the rooms. To make a name public, add one row here and one line above.
_ROOM_OF = {
    "KparetoError": "errors",
    "BadInput": "errors",
    "Unsafe": "errors",
    "Interrupted": "errors",
    "Schema": "schema",
    "Hierarchy": "hierarchy",
    "Table": "table",
    "Recoding": "recoding",
    "Csv": "delimited",
    "Postgres": "postgres",
    "SparkTable": "spark",
    "read": "frames",
    "fingerprint": "frames",
    "Suppression": "partition",
    "Partition": "partition",
    "load": "builders",
    "lint": "lint",
    "inspect": "inspect",
    "Measure": "measure",
    "make": "measure",
    "Problem": "problem",
    "problem": "problem",
    "constrained": "problem",
    "Front": "front",
    "Point": "front",
    "run": "run",
    "front": "run",
    "risks": "risk",
    "attack": "attacks",
    "remarks": "remarks",
    "verify": "verify",
    "release": "release",
    "Release": "release",
    "Handling": "recoded",
    "store": "stored",
    "apply": "apply",
    "anonymize": "anonymize",
    "save_picture": "plots",
    "load_job": "job",
    "Job": "job",
    "adult": "datasets",
    "adult_table": "datasets",
    "adult_hierarchies": "datasets",
}

__all__ = ["__version__", *_ROOM_OF]  # noqa: PLE0604 (the table holds nothing but strings)


if not TYPE_CHECKING:  # hidden, so that type checkers see a misspelled name

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


class _Package(ModuleType):
    """Keeps ``kpareto.front`` the function: importing the room ``front.py`` would otherwise overwrite it."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and name in _ROOM_OF):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
