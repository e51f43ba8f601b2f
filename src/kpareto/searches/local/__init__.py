"""Local recoding: labels that differ from class to class, with a proven gap to what any such recoding could reach.

=============  =======================================================================================================
problem        a LocalWish (k, limits, loss, intervals, suppression) and a table made ready for the loops
recoding       Classes as the search sees them, LocalRecoding as everybody else does
search         ``search``: peel, then turns of recut, rebuild and shave, then drop where suppression is allowed
sweep          ``sweep``: all k at once, each warm from the next larger
bound          ``lower_bound``: prices that no class can undercut, and the proof
covers         which boxes the bound walks over
strict         ``strict``: a partition of the space by questions, without overlapping labels
workers        threads, the clock, and who wants it to end
=============  =======================================================================================================

Each idea has its loop in kernels/local: orders (tree orders, dynamic programming along an order), build (peel; mend:
merge until limits hold), improve (recut, rebuild, shave), suppress (drop, bring back), neighbours and prices (the
bound).
"""

from kpareto.searches.local.bound import LocalBound, lower_bound
from kpareto.searches.local.problem import LocalProblem, LocalWish, make_problem
from kpareto.searches.local.recoding import LocalClasses, LocalRecoding, read_classes
from kpareto.searches.local.search import Effort, search, search_classes
from kpareto.searches.local.strict import StrictRecoding, strict
from kpareto.searches.local.sweep import PRESETS, CurvePoint, preset_ks, sweep
from kpareto.tables.boxes import Question

__all__ = [
    "LocalWish",
    "LocalProblem",
    "make_problem",
    "Effort",
    "search",
    "search_classes",
    "LocalClasses",
    "LocalRecoding",
    "read_classes",
    "sweep",
    "CurvePoint",
    "PRESETS",
    "preset_ks",
    "lower_bound",
    "LocalBound",
    "strict",
    "StrictRecoding",
    "Question",
]
