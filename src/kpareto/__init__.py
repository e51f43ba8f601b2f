"""Every trade-off between privacy and information that a table allows.

The public names, nothing else.
Each is fetched from its room on first use, so that ``import kpareto`` is quick.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from kpareto._version import __version__
from kpareto.moved import MovedModules

if TYPE_CHECKING:  # for type checkers and editors; tests/test_public.py compares it with the table below
    from kpareto.attacks.evidence import AttackEvidence as AttackEvidence
    from kpareto.attacks.evidence import attack as attack
    from kpareto.engines.form import Csv as Csv
    from kpareto.engines.form import DataFile as DataFile
    from kpareto.engines.form import Form as Form
    from kpareto.engines.frames import number_duplicates as number_duplicates
    from kpareto.engines.postgres.connect import Postgres as Postgres
    from kpareto.engines.read import fingerprint as fingerprint
    from kpareto.engines.read import read as read
    from kpareto.engines.spark.connect import SparkTable as SparkTable
    from kpareto.errors import BadInput as BadInput
    from kpareto.errors import Interrupted as Interrupted
    from kpareto.errors import KparetoError as KparetoError
    from kpareto.errors import ReleaseWarning as ReleaseWarning
    from kpareto.errors import SearchWarning as SearchWarning
    from kpareto.errors import Unsafe as Unsafe
    from kpareto.fronts.front import Front as Front
    from kpareto.fronts.front import Point as Point
    from kpareto.fronts.front import save_picture as save_picture
    from kpareto.fronts.models import ModelCurves as ModelCurves
    from kpareto.fronts.models import save_models as save_models
    from kpareto.fronts.problem import Problem as Problem
    from kpareto.fronts.problem import constrained as constrained
    from kpareto.fronts.problem import problem as problem
    from kpareto.jobs.anonymize import Anonymized as Anonymized
    from kpareto.jobs.anonymize import anonymize as anonymize
    from kpareto.jobs.arx.project import read_arx as read_arx
    from kpareto.jobs.front import front as front
    from kpareto.jobs.inspect import Profile as Profile
    from kpareto.jobs.inspect import inspect as inspect
    from kpareto.jobs.job import Job as Job
    from kpareto.jobs.parse import load_job as load_job
    from kpareto.jobs.private import PrivateWish as PrivateWish
    from kpareto.jobs.private import privatize as privatize
    from kpareto.measures.measure import Measure as Measure
    from kpareto.measures.measure import make as make
    from kpareto.releases.apply import apply as apply
    from kpareto.releases.choice import store as store
    from kpareto.releases.recoded_rows import Handling as Handling
    from kpareto.releases.release import Release as Release
    from kpareto.releases.release import release as release
    from kpareto.releases.risk.anonymity import Anonymity as Anonymity
    from kpareto.releases.risk.anonymity import measure as measure
    from kpareto.releases.risk.risk import risks as risks
    from kpareto.releases.spread import align_levels as align_levels
    from kpareto.releases.spread import impute as impute
    from kpareto.releases.spread import spread as spread
    from kpareto.releases.warnings import remarks as remarks
    from kpareto.searches.compare import SearchTrials as SearchTrials
    from kpareto.searches.compare import compare_searches as compare_searches
    from kpareto.searches.local.driven import search_further as search_further
    from kpareto.searches.models import compare_models as compare_models
    from kpareto.searches.run import run as run
    from kpareto.tables.adult import adult as adult
    from kpareto.tables.adult import adult_hierarchies as adult_hierarchies
    from kpareto.tables.adult import adult_table as adult_table
    from kpareto.tables.hierarchies import load as load
    from kpareto.tables.hierarchies.lint import lint as lint
    from kpareto.tables.hierarchy import Hierarchy as Hierarchy
    from kpareto.tables.partition import Partition as Partition
    from kpareto.tables.partition import Suppression as Suppression
    from kpareto.tables.recoding import Recoding as Recoding
    from kpareto.tables.schema import Schema as Schema
    from kpareto.tables.table import Population as Population
    from kpareto.tables.table import Table as Table
    from kpareto.uses.changes import ReleaseChanges as ReleaseChanges
    from kpareto.uses.changes import compare_releases as compare_releases
    from kpareto.uses.utility import Utility as Utility
    from kpareto.uses.utility import utility as utility
    from kpareto.verifier import verify as verify

# room -> its public names, from the foundation up. To make a name public, add it here and in the imports above.
_NAMES = {
    "errors": "KparetoError BadInput Unsafe Interrupted ReleaseWarning SearchWarning",
    "tables.schema": "Schema",
    "tables.hierarchy": "Hierarchy",
    "tables.table": "Table Population",
    "tables.recoding": "Recoding",
    "engines.form": "DataFile Form Csv",
    "engines.frames": "number_duplicates",
    "engines.postgres.connect": "Postgres",
    "engines.spark.connect": "SparkTable",
    "engines.read": "read fingerprint",
    "tables.partition": "Suppression Partition",
    "tables.hierarchies": "load",
    "tables.hierarchies.lint": "lint",
    "jobs.inspect": "inspect Profile",
    "measures.measure": "Measure make",
    "fronts.problem": "Problem problem constrained",
    "fronts.front": "Front Point save_picture",
    "fronts.models": "ModelCurves save_models",
    "searches.run": "run",
    "searches.models": "compare_models",
    "searches.compare": "compare_searches SearchTrials",
    "searches.local.driven": "search_further",
    "releases.risk.risk": "risks",
    "releases.risk.anonymity": "measure Anonymity",
    "releases.warnings": "remarks",
    "verifier": "verify",
    "releases.release": "release Release",
    "releases.recoded_rows": "Handling",
    "releases.spread": "impute spread align_levels",
    "releases.choice": "store",
    "releases.apply": "apply",
    "uses.utility": "utility Utility",
    "uses.changes": "compare_releases ReleaseChanges",
    "attacks.evidence": "attack AttackEvidence",
    "jobs.anonymize": "anonymize Anonymized",
    "jobs.job": "Job",
    "jobs.parse": "load_job",
    "jobs.front": "front",
    "jobs.arx.project": "read_arx",
    "jobs.private": "privatize PrivateWish",
    "tables.adult": "adult adult_table adult_hierarchies",
}
_ROOM_OF = {name: room for room, names in _NAMES.items() for name in names.split()}

sys.meta_path.append(MovedModules)
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
