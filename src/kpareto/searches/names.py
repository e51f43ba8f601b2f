"""Searches by name: what a job's ``method`` and ``space`` stand for, and which settings each search takes.

``METHODS`` and ``OPTIONS`` are the one table of searches. Jobs from a file, from ``--set``, from Python and from the
page are checked against it, ``kpareto inspect`` proposes from it, and the searches are made from it, so that no setting
can be accepted and then left aside. What a search takes is said by its dataclass; here stand the names, the spaces and
what the driver takes for every search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kpareto.errors import BadJob, Remedy, did_you_mean
from kpareto.fronts.problem import Problem
from kpareto.searches import MOST_EVALUATIONS, Option, Search, above_zero, count, one_of, options_of, several
from kpareto.searches.cuts.ends import ENDS
from kpareto.searches.cuts.flip import Flip
from kpareto.searches.cuts.genitor import Genitor, Settings, iyengar, lunacek
from kpareto.searches.cuts.nsga2 import Nsga2, preference_for
from kpareto.searches.cuts.variation import STARTS
from kpareto.searches.exact_front import Exact
from kpareto.searches.lattice.boxes import grid_for
from kpareto.searches.lattice.climbing import lattice_starts
from kpareto.searches.lattice.greedy import Samarati, datafly_for
from kpareto.searches.lattice.pbg_ea import PbgEa
from kpareto.searches.lattice.poka import MOST_DEPTH, Poka, average_depth, check_problem, literal, repair_poka
from kpareto.searches.local import LocalSettings
from kpareto.strict import truth, whole
from kpareto.tables.cuts import Cuts
from kpareto.tables.lattice import Kind, Space

METHODS: dict[str, tuple[Kind, ...]] = {  # method -> the spaces it walks
    "exact": ("lattice", "cuts", "order"),  # of cuts small spaces alone
    "poka": ("lattice",),
    "poka-literal": ("lattice",),
    "pbg-ea": ("lattice",),
    "datafly": ("lattice",),
    "samarati": ("lattice",),
    "genitor": ("cuts", "order"),
    "genitor-iyengar": ("cuts", "order"),  # the same search with the settings of its paper
    "genitor-lunacek": ("cuts", "order"),
    "nsga2": ("cuts", "order"),
    "recut": ("cuts", "order"),
    "flip": ("cuts", "order"),
    "improve": ("cuts", "order"),  # recut where it can (one loss under a given k), else flip
    "local": ("local",),
}

# model -> the search that finds its front where nobody names one; what people call the kinds of recoding
MODELS: dict[str, str] = {"lattice": "exact", "cuts": "nsga2", "local": "local"}

# -- the settings of each search -------------------------------------------------------------------------------------

COMMON = ("method", "space", "objectives", "seed")  # may stand beside every search
MOST_SECONDS = 10_000_000  # some months
# Searches without chance give the same front for every seed, so that it may stand beside them too.
SEED = Option("seed", count(0, 2**63 - 1), 1, "decides every random choice of the search")


SECONDS = Option(
    "seconds",
    above_zero(f"a number of seconds above 0 and at most {MOST_SECONDS:,}, such as 60", MOST_SECONDS),
    None,
    "time it may take; then its best so far is its answer",
    "until it is done",
)
END_POINTS = Option("end_points", ENDS, None, "end points of intervals", "any two neighbouring values may be separated")
BRACKETS = Option("brackets", one_of("ceiling", "floor"), "ceiling", "how a quality over its width is rounded to a box")
COMPARE = Option("compare", truth, False, "count the exact front too and report what was missed or is wrong")
BASE = Option(
    "base",
    several(whole(0, MOST_DEPTH), "a list of whole numbers, one per column"),
    None,
    "levels of the node from which it goes down",
    "the top",
)
GAINS = "until nothing gains any more"


def _budget(unset: str, meaning: str = "recodings that may be evaluated", default: int | None = None) -> Option:
    return Option("budget", count(1, MOST_EVALUATIONS), default, meaning, unset)


def _nsga2_options() -> tuple[Option, ...]:
    """What NSGA-II takes; a job begins with the lattice's front, unless it says otherwise."""
    meaning = "the first recodings: half of them the lattice's front, or the coarsest and others drawn so"
    start = Option("start", one_of("lattice", *STARTS), "lattice", meaning)
    return tuple(start if option.name == "start" else option for option in options_of(Nsga2))


OPTIONS: dict[str, tuple[Option, ...]] = {  # method -> what may stand beside it, besides COMMON
    "exact": (
        *options_of(Exact),
        next(option for option in options_of(Nsga2) if option.name == "preference"),
        END_POINTS,
        SECONDS,
    ),
    "poka": (_budget("until it is done"), *options_of(Poka), BASE, COMPARE, SECONDS),
    "poka-literal": (
        _budget("until it is done"),
        *(replace(option, unset="the mean height") for option in options_of(Poka)),
        BASE,
        COMPARE,
        SECONDS,
    ),
    "pbg-ea": (_budget("until the iterations are done"), *options_of(PbgEa), BRACKETS, COMPARE, SECONDS),
    "datafly": (_budget("until it is done"), SECONDS),
    "samarati": (_budget("until it is done"), SECONDS),
    # GENITOR breeds until its budget is spent.
    "genitor": (_budget("", default=50_000), *options_of(Settings), END_POINTS, SECONDS),
    "genitor-iyengar": (_budget("", default=500_000), *options_of(iyengar()), END_POINTS, SECONDS),
    "genitor-lunacek": (_budget("", default=30_000), *options_of(lunacek()), END_POINTS, SECONDS),
    "nsga2": (_budget("until the generations are done"), *_nsga2_options(), END_POINTS, SECONDS),
    "recut": (_budget(GAINS, "columns that may be recut"), END_POINTS, SECONDS),
    "flip": (_budget(GAINS), END_POINTS, SECONDS),
    "improve": (_budget(GAINS, "columns that may be recut, or recodings evaluated"), END_POINTS, SECONDS),
    "local": options_of(LocalSettings),  # which shares its time out by itself
}


def read_options(method: str, options: Mapping[str, object], where: str = "") -> dict[str, Any]:
    """The settings of a search, those that were not given by their defaults; a wrong or unused one is a sentence.

    ``where`` stands before the key in the sentence, such as ``search.``.
    """
    check_known(method)
    known = {option.name: option for option in OPTIONS[method]}
    for key, value in options.items():
        if key not in known:
            raise BadJob(_unknown(method, str(key)), where=f"{where}{key}")
        known[key].check(value, f"{where}{key}")
    return {name: options.get(name, option.default) for name, option in known.items()}


def own_settings(method: str, other: object) -> list[str]:
    """The settings that a search takes and another one does not: beside the other they can only be meant for it."""
    shared = {option.name for option in OPTIONS.get(str(other), ())}
    return [option.name for option in OPTIONS[method] if option.name not in shared]


def _unknown(method: str, key: str) -> str:
    """Why a key may not stand beside a method, and what may."""
    users = [name for name, options in OPTIONS.items() if key in (option.name for option in options)]
    mine = (*COMMON, *(option.name for option in OPTIONS[method]))
    if users:
        why = f"is not used by the search {method!r}, only by {', '.join(users)}. Take it out, or take another search. "
    else:
        why = f"is not known. {did_you_mean(key, mine)}"
    return f"{why}With method = {method!r} there may stand: {', '.join(mine)}."


def check_known(method: str) -> None:
    """Raise unless there is such a search."""
    if method not in METHODS:
        raise BadJob(f"No search {method!r}. {did_you_mean(method, METHODS)}There are: {', '.join(METHODS)}.")


def check_method(method: str, kind: Kind) -> None:
    """Raise unless the method is known and walks this kind of space."""
    check_known(method)
    if kind not in METHODS[method]:
        fitting = [name for name, kinds in METHODS.items() if kind in kinds]
        raise BadJob(
            f"The search {method!r} does not walk the space {kind!r}. Take space = {METHODS[method][0]!r}, "
            f"or one of the searches {', '.join(fitting)}."
        )


# -- making them -----------------------------------------------------------------------------------------------------


def make_search(method: str, problem: Problem, space: Space, options: Mapping[str, Any]) -> Search:
    """The search a job names, with its settings; the papers' settings where the job is silent."""
    check_method(method, space.kind)
    chosen = read_options(method, options)
    if method in ("poka", "poka-literal"):
        check_problem(problem)
        depth = chosen["depth"]
        search = repair_poka(depth) if method == "poka" else literal(depth or average_depth(space))
        return search if chosen["base"] is None else replace(search, start=_first_base(space, chosen["base"]))
    bred = {name: value for name, value in chosen.items() if name not in ("budget", "compare", "end_points", "seconds")}
    if method == "pbg-ea":
        return PbgEa(grid_for(problem, bred.pop("grid"), bred.pop("brackets")), **bred)
    if method in ("datafly", "samarati"):
        if not problem.limits:
            remedy = Remedy("set-limit", "Add [limits] with k = 5, say.")
            raise BadJob(f"The search {method!r} looks for one node that meets limits.", remedy=remedy)
        return datafly_for(problem.table) if method == "datafly" else Samarati()
    if not isinstance(space, Cuts):
        raise TypeError("check_method lets only cuts through")
    return _cut_search(method, problem, space, bred)


def _first_base(space: Space, levels: Sequence[int]) -> tuple[int, ...]:
    """The node of the lattice that has these levels of the columns, in their order (PO-r11)."""
    low = [hierarchy.first for hierarchy in space.hierarchies]
    high = [first + size - 1 for first, size in zip(low, space.genes.tolist(), strict=True)]
    if len(levels) != len(low) or any(not a <= it <= b for a, it, b in zip(low, levels, high, strict=False)):
        ranges = ", ".join(f"{h.name} {a} to {b}" for h, a, b in zip(space.hierarchies, low, high, strict=True))
        raise BadJob(f"is {list(levels)}. Give a level for each column, in this order: {ranges}.", where="search.base")
    return tuple(level - first for level, first in zip(levels, low, strict=True))


def _cut_search(method: str, problem: Problem, space: Cuts, bred: dict[str, Any]) -> Search:
    # Random bits nearly always have k = 1 (readings.md#random-start): the coarsest recoding is always among the first.
    coarsest = np.zeros((1, len(space.genes)), dtype=np.int64)
    if method.startswith("genitor"):
        return Genitor(Settings(**bred), coarsest, name=method)
    if method == "recut":
        raise BadJob(
            "The search 'recut' minimizes one loss under limits.k = …, which may be the only limit, and the loss must "
            "add up over classes. Take 'flip' for other jobs, or 'improve' for whichever fits."
        )
    if method == "nsga2":
        wish = bred.pop("preference")
        preference = None if wish is None else preference_for(problem, wish)
        if bred["start"] != "lattice":
            return Nsga2(**bred, preference=preference, seeds=coarsest)
        bred["start"] = "random"  # beside the nodes
        seeds = lattice_starts(problem, space, most=bred["population"] // 2)
        return Nsga2(**bred, preference=preference, seeds=seeds)
    return Flip(starts=lattice_starts(problem, space))
