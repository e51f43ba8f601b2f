"""Searches by name: what a job's ``method`` and ``space`` stand for, and which settings each search takes.

``METHODS`` and ``OPTIONS`` are the one table of searches. Jobs from a file, from ``--set``, from Python and from the
page are checked against it, ``kpareto inspect`` proposes from it, and the searches are made from it, so that no setting
can be accepted and then left aside. A setting that a search learns to take is one more line here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kpareto.errors import BadJob, did_you_mean
from kpareto.fronts.problem import Problem
from kpareto.searches import Search
from kpareto.tables.cuts import Cuts
from kpareto.tables.lattice import Kind, Space

METHODS: dict[str, tuple[Kind, ...]] = {  # method -> the spaces it walks
    "exact": ("lattice",),
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

# -- what may stand in a setting -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Range:
    """What a setting may be: in words for a sentence, and as a test."""

    words: str  # goes on after "Give "
    fits: Callable[[Any], bool]
    known: tuple[str, ...] = ()  # the words that may stand there, where it takes words


def is_whole(value: object) -> bool:
    """Whether a value is a whole number; True and False are none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Whether a value is a finite number; True and False are none."""
    return is_whole(value) or (isinstance(value, float | np.floating) and math.isfinite(value))


def whole(least: int, most: int, even: bool = False) -> Range:
    """Whole numbers between two bounds."""
    words = f"{'an even' if even else 'a whole'} number of at least {least:,} and at most {most:,}"
    return Range(words, lambda value: is_whole(value) and least <= value <= most and not (even and value % 2))


def share(below_one: bool = False) -> Range:
    """A chance: from 0 to 1, or to below 1."""
    words = f"a share from 0 to {'below ' if below_one else ''}1"
    return Range(words, lambda value: is_number(value) and 0 <= value <= 1 and not (below_one and value == 1))


def between(least: float, most: float) -> Range:
    """Numbers between two bounds."""
    return Range(f"a number from {least:g} to {most:g}", lambda value: is_number(value) and least <= value <= most)


def one_of(*known: str) -> Range:
    """One of some words."""
    return Range(f"one of: {', '.join(known)}", lambda value: isinstance(value, str) and value in known, known)


def yes_or_no() -> Range:
    """True or false."""
    return Range("true or false", lambda value: isinstance(value, bool))


def above_zero() -> Range:
    """A number above 0."""
    return Range("a number above 0", lambda value: is_number(value) and value > 0)


def list_of(inner: Range, words: str) -> Range:
    """A list of what another range takes, at least one."""
    return Range(
        words, lambda value: isinstance(value, list | tuple) and len(value) > 0 and all(map(inner.fits, value))
    )


def widths() -> Range:
    """A list of widths, one per objective."""
    return list_of(above_zero(), "a list of numbers above 0, one per objective")


def wishes() -> Range:
    """What is wished for: a k and at least one loss, each by the name of an objective."""
    return Range(
        "a table of wishes, k and at least one loss, such as {k = 5, nwp = 0.2, necd = 1.0}",
        lambda value: (
            isinstance(value, Mapping)
            and len(value) > 1
            and is_number(value.get("k"))
            and value["k"] >= 1
            and all(isinstance(name, str) and is_number(wish) and wish >= 0 for name, wish in value.items())
        ),
    )


# -- the settings of each search -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Option:
    """A key of ``[search]`` that a search takes."""

    name: str
    takes: Range
    default: Any  # None: as ``unset`` says
    meaning: str
    unset: str = ""  # what happens where the default is None

    def check(self, value: object, where: str) -> None:
        """Raise unless the value may stand there; ``where`` is the key as the user wrote it."""
        if not (value is None and self.default is None) and not self.takes.fits(value):
            near = did_you_mean(value, self.takes.known) if isinstance(value, str) else ""
            raise BadJob(f"{where} is {value!r}. {near}Give {self.takes.words}.")


COMMON = ("method", "space", "objectives", "seed")  # may stand beside every search
MOST_EVALUATIONS = 10**12
MOST_GENOMES = 1_000_000  # of a population: each is an array
MOST_THREADS = 1_024
MOST_DEPTH = 10_000
MOST_SECONDS = 10_000_000  # some months
# Searches without chance give the same front for every seed, so that it may stand beside them too.
SEED = Option("seed", whole(0, 2**63 - 1), 1, "decides every random choice of the search")


def _budget(unset: str, meaning: str = "recodings that may be evaluated", default: int | None = None) -> Option:
    return Option("budget", whole(1, MOST_EVALUATIONS), default, meaning, unset)


def positive() -> Range:
    """A number above 0."""
    words = f"a number of seconds above 0 and at most {MOST_SECONDS:,}, such as 60"
    return Range(words, lambda value: is_number(value) and 0 < value <= MOST_SECONDS)


SECONDS = Option(
    "seconds", positive(), None, "time it may take; then its best so far is its answer", "until it is done"
)
_CROSSOVER = one_of("trad", "new", "hybrid", "one-point")
_COMPARE = Option("compare", yes_or_no(), False, "count the exact front too and report what was missed or is wrong")


def _genitor(settings: Mapping[str, Any]) -> tuple[Option, ...]:
    """What GENITOR takes, with the defaults of one paper or with ours; it breeds until its budget is spent."""
    own = {"bias": 1.5, "points": 2, "repair": "nearest", "count_refused": False, **settings}
    return (
        _budget("", default=own["budget"]),
        Option("population", whole(2, MOST_GENOMES), own["population"], "recodings in the population"),
        Option("crossover", _CROSSOVER, own["crossover"], "how two parents make a child"),
        Option("points", whole(1, 2), own["points"], "places where parents are cut, of new and hybrid"),
        Option("bias", between(1, 2), own["bias"], "the best is so many times as likely a parent as the median"),
        Option("mutation", share(below_one=True), own["mutation"], "chance of each border to flip"),
        Option(
            "immigrants", share(below_one=True), own["immigrants"], "chance of a child to be crossed with a fresh one"
        ),
        Option("duplicates", yes_or_no(), own["duplicates"], "whether the population may hold a recoding twice"),
        Option("count_refused", yes_or_no(), own["count_refused"], "whether a refused duplicate uses up an evaluation"),
        Option("start", one_of("uniform", "spread", "implied"), own["start"], "how the first recodings are drawn"),
        Option("repair", one_of("nearest", "implied"), own["repair"], "how a broken child becomes a recoding"),
    )  # fmt: skip


OPTIONS: dict[str, tuple[Option, ...]] = {  # method -> what may stand beside it, besides COMMON
    "exact": (
        Option("ties", one_of("all", "one"), "all", "recodings with equal numbers: all are points, or the first alone"),
        Option("threads", whole(1, MOST_THREADS), None, "how many count at once", "one per core"),
    ),
    "poka": (
        _budget("until it is done"),
        Option("depth", whole(1, MOST_DEPTH), None, "levels below the base from which it climbs", "from the bottom"),
        _COMPARE,
    ),
    "poka-literal": (
        _budget("until it is done"),
        Option(
            "depth",
            whole(1, MOST_DEPTH),
            None,
            "levels below the base from which it climbs",
            "the mean height",
        ),
        _COMPARE,
    ),
    "pbg-ea": (
        _budget("until the iterations are done"),
        Option("population", whole(2, MOST_GENOMES), 25, "recodings in a population"),
        Option("iterations", whole(1, MOST_EVALUATIONS), 100, "populations in all"),
        Option("crossover_rate", share(), 0.8, "chance of a pair to be crossed"),
        Option("mutation", share(), None, "chance of each level to go up or down by one", "1 / columns"),
        Option("ends", one_of("inward", "stay"), "inward", "what a step past the top or the bottom level becomes"),
        Option("grid", widths(), None, "width of the archive's boxes", "1, or 1 / rows for losses that never pass 1"),
        _COMPARE,
    ),
    "datafly": (_budget("until it is done"),),
    "samarati": (_budget("until it is done"),),
    "genitor": _genitor(
        {
            "budget": 50_000,
            "population": 1000,
            "crossover": "hybrid",
            "mutation": 0.002,
            "immigrants": 0.0,
            "duplicates": False,
            "start": "spread",
        }
    ),
    "genitor-iyengar": _genitor(
        {
            "budget": 500_000,
            "population": 5000,
            "crossover": "trad",
            "mutation": 0.002,
            "immigrants": 0.0,
            "duplicates": True,
            "start": "spread",
        }
    ),
    "genitor-lunacek": _genitor(
        {
            "budget": 30_000,
            "population": 200,
            "crossover": "new",
            "mutation": 0.0,
            "immigrants": 0.1,
            "duplicates": False,
            "start": "uniform",
        }
    ),
    "nsga2": (
        _budget("until the generations are done"),
        Option("population", whole(4, MOST_GENOMES, even=True), 100, "recodings in the population"),
        Option("crossover", _CROSSOVER, "one-point", "how two parents make two children"),
        Option("mutation", share(), 0.001, "chance of each border to flip"),
        Option("crossover_rate", share(), 0.8, "chance of a pair to be crossed"),
        Option("generations", whole(1, MOST_EVALUATIONS), 500, "populations of children"),
        Option(
            "start",
            one_of("lattice", "uniform", "spread", "implied"),
            "lattice",
            "the first recodings: half of them the lattice's front, or all drawn so",
        ),
        Option(
            "preference",
            wishes(),
            None,
            "wished values of k and of losses: one answer is looked for",
            "every trade-off of the objectives",
        ),
    ),
    "recut": (_budget("until nothing gains any more", "columns that may be recut"),),
    "flip": (_budget("until nothing gains any more"),),
    "improve": (_budget("until nothing gains any more", "columns that may be recut, or recodings evaluated"),),
    "local": (
        Option(
            "ks",
            list_of(whole(1, MOST_EVALUATIONS), "a list of whole numbers of at least 1, such as [2, 5, 10]"),
            None,
            "the class sizes to search for",
            "those in common use that the table is large enough for",
        ),
        Option(
            "levels",
            list_of(above_zero(), "a list of numbers above 0, such as [2, 3]"),
            None,
            "values of the second privacy objective to search for",
            "2, 3, 4 and 5 where higher is better, else 0.1 to 0.5",
        ),
        Option("turns", whole(1, 1_000_000), None, "turns of improvement for each k", "by the size of the table"),
        Option("walks", whole(0, 1_000), 3, "walks over all boxes for the proven bound of each k; 0: no bound"),
        Option("seconds", above_zero(), None, "how long it may take, all k together", "until the turns are done"),
        Option("threads", whole(1, MOST_THREADS), 1, "how many threads improve at once; the answer is the same"),
        Option("intervals", yes_or_no(), False, "whether an ordered column may show any interval of its values"),
        Option("strict", yes_or_no(), False, "whether no two labels may overlap, so that it can be applied again"),
    ),
}


for _method in METHODS:
    if SECONDS.name not in (option.name for option in OPTIONS[_method]):  # local shares its time out by itself
        OPTIONS[_method] = (*OPTIONS[_method], SECONDS)


def read_options(method: str, options: Mapping[str, object], where: str = "") -> dict[str, Any]:
    """The settings of a search, those that were not given by their defaults; a wrong or unused one is a sentence.

    ``where`` stands before the key in the sentence, such as ``job.toml: search.``.
    """
    check_known(method)
    known = {option.name: option for option in OPTIONS[method]}
    for key, value in options.items():
        if key not in known:
            raise BadJob(f"{where}{_unknown(method, str(key))}")
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
    return f"{key} {why}With method = {method!r} there may stand: {', '.join(mine)}."


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
        from kpareto.searches.lattice.poka import average_depth, check_problem, literal, repair_poka

        check_problem(problem)
        depth = chosen["depth"]
        return repair_poka(depth) if method == "poka" else literal(depth or average_depth(space))
    if method == "pbg-ea":
        from kpareto.searches.lattice.boxes import grid_for
        from kpareto.searches.lattice.pbg_ea import PbgEa

        return PbgEa(
            grid_for(problem, chosen["grid"]), chosen["population"], chosen["iterations"], chosen["crossover_rate"],
            chosen["mutation"], chosen["ends"],
        )  # fmt: skip
    if method in ("datafly", "samarati"):
        from kpareto.searches.lattice.greedy import Samarati, datafly_for

        if not problem.limits:
            raise BadJob(f"The search {method!r} looks for one node that meets limits. Add [limits] with k = 5, say.")
        return datafly_for(problem.table) if method == "datafly" else Samarati()
    if not isinstance(space, Cuts):
        raise TypeError("check_method lets only cuts through")
    return _cut_search(method, problem, space, chosen)


def _cut_search(method: str, problem: Problem, space: Cuts, chosen: Mapping[str, Any]) -> Search:
    bred = {name: value for name, value in chosen.items() if name not in ("budget", "seconds")}
    if method.startswith("genitor"):
        from kpareto.searches.cuts.genitor import Genitor, Settings

        return Genitor(Settings(**bred), name=method)
    if method == "recut":
        raise BadJob(
            "The search 'recut' minimizes one loss under limits.k = …, which may be the only limit, and the loss must "
            "add up over classes. Take 'flip' for other jobs, or 'improve' for whichever fits."
        )
    from kpareto.searches.cuts.starts import lattice_starts

    if method == "nsga2":
        from kpareto.searches.cuts.nsga2 import Nsga2, preference_for

        wish, start = bred.pop("preference"), bred.pop("start")
        preference = None if wish is None else preference_for(problem, wish)
        if start != "lattice":
            return Nsga2(**bred, start=start, preference=preference)
        # Random bits nearly always have k = 1 (readings.md#random-start): half of the first population are nodes.
        seeds = lattice_starts(problem, space, most=bred["population"] // 2)
        return Nsga2(**bred, preference=preference, seeds=seeds)
    from kpareto.searches.cuts.flip import Flip

    return Flip(starts=lattice_starts(problem, space))
