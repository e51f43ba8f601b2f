"""Local recoding: labels that differ from class to class, with a proven gap to what any such recoding could reach.

=============  =======================================================================================================
driven         the front of a job: every k that is asked for, searched from the largest down
problem        a LocalWish (k, limits, loss, intervals, suppression) and a table made ready for the loops
recoding       Classes as the search sees them, LocalRecoding as everybody else does
search         ``search``: peel, then turns of recut, rebuild and shave, then drop where suppression is allowed
sweep          ``sweep``: all k at once, each warm from the next larger
bound          ``lower_bound``: prices that no class can undercut, over the covers of columns, and the proof
strict         ``strict``: a partition of the space by questions, without overlapping labels
=============  =======================================================================================================

Each idea has its loop in kernels/local: orders (tree orders, dynamic programming along an order), build (peel; mend:
merge until limits hold), improve (recut, rebuild, shave), suppress (drop, bring back), neighbours and prices (the
bound).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kpareto.moved import moved_names
from kpareto.searches import MOST_EVALUATIONS, MOST_THREADS, above_zero, count, setting, several
from kpareto.strict import truth

KS = several(count(1, MOST_EVALUATIONS), "a list of whole numbers of at least 1, such as [2, 5, 10]")
LEVELS = several(above_zero(), "a list of numbers above 0, such as [2, 3]")

__getattr__ = moved_names(
    __name__,
    {
        "Effort": "kpareto.searches.local.search",
        "LocalWish": "kpareto.searches.local.problem",
        "lower_bound": "kpareto.searches.local.bound",
        "make_problem": "kpareto.searches.local.problem",
        "read_classes": "kpareto.searches.local.recoding",
        "search_classes": "kpareto.searches.local.search",
    },
)


@dataclass(frozen=True)
class LocalSettings:
    """What a job may say of a local search."""

    ks: Sequence[int] | None = setting(
        None, KS, "the class sizes to search for", "those in common use that the table is large enough for"
    )
    levels: Sequence[float] | None = setting(
        None,
        LEVELS,
        "values of the second privacy objective to search for",
        "2, 3, 4 and 5 where higher is better, else 0.1 to 0.5",
    )
    turns: int | None = setting(
        None, count(1, 1_000_000), "turns of improvement for each k", "by the size of the table"
    )
    walks: int = setting(3, count(0, 1_000), "walks over all boxes for the proven bound of each k; 0: no bound")
    seconds: float | None = setting(
        None, above_zero(), "how long it may take, all k together", "until the turns are done"
    )
    threads: int | None = setting(
        None, count(1, MOST_THREADS), "how many threads work at once; the answer is the same", "one per core"
    )
    intervals: bool = setting(False, truth, "whether an ordered column may show any interval of its values")
    prove: bool = setting(False, truth, "whether the bounds may take long: ten walks, of large tables too")
    strict: bool = setting(False, truth, "whether no two labels may overlap, so that it can be applied again")
