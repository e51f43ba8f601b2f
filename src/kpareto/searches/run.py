"""Run a search by its name (``run_plan``), or one of your own (``run``): what is driven by ``drive``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from pathlib import Path
from typing import Any

from kpareto.errors import BadJob, Interrupted, Progress, Stopped
from kpareto.fronts.choose import answer_wishes
from kpareto.fronts.front import Front
from kpareto.fronts.problem import Problem
from kpareto.interrupts import OutOfTime, TimeLimit, beating, pause
from kpareto.kernels.compiling import working
from kpareto.searches import Search, options_of
from kpareto.searches.cuts.ends import find_ends
from kpareto.searches.driver import Cancelled, Driven, Watch, drive
from kpareto.searches.exact_front import Exact, ExactCuts
from kpareto.searches.forecast import check_possible, warn_slow
from kpareto.searches.local import LocalSettings
from kpareto.searches.names import OPTIONS, SEED, check_method, make_search, read_options
from kpareto.searches.proposals import GENE_BYTES, MOST_POPULATION, Proposals
from kpareto.tables.cuts import Cuts, make_space
from kpareto.tables.lattice import Kind, Space
from kpareto.tables.table import Table

BEGINNING = 0.3  # of the time, at the most, for what a search begins with, such as nodes of the lattice


@dataclass(frozen=True)
class Plan:
    """Which search walks which space, and for how long: what a job says under [search], beside the objectives."""

    method: str = "exact"
    space: Kind | Space = "lattice"
    budget: int | None = None  # evaluations; None: as the search's own list of settings says
    seed: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        """Raise unless the method is known, walks this kind of space, and takes every setting that is given."""
        check_method(self.method, self.kind)
        SEED.check(self.seed, "seed")
        if read_options(self.method, self._choices).get("end_points") and self.kind not in ("cuts", "order"):
            raise BadJob(
                "is for the spaces cuts and order, where borders are set. Take it out.", where="search.end_points"
            )

    @property
    def kind(self) -> Kind:
        """Which kind of space is walked."""
        return self.space if isinstance(self.space, str) else self.space.kind

    def space_on(self, table: Table) -> Space:
        """The space of a table that is walked."""
        if not isinstance(self.space, str):
            return self.space
        return make_space(self.space, table, find_ends(table, self.settings.get("end_points") or {}))

    @property
    def way(self) -> str:
        """The method, by which a forecast goes; the exact search of cuts has none."""
        return self.kind if self.method == "exact" and self.kind != "lattice" else self.method

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting of the search, those that were not given by their defaults; the budget is one of them."""
        return read_options(self.method, self._choices)

    @property
    def told(self) -> dict[str, Any]:
        """Every setting for whoever reads the front, in words where it is left to the search."""
        unset = {option.name: option.unset for option in OPTIONS[self.method]}
        return {name: unset[name] if value is None else value for name, value in self.settings.items()}

    @property
    def evaluations(self) -> int | None:
        """The budget, or the search's own; None where it ends by itself."""
        budget: int | None = self.settings.get("budget")
        return budget

    @property
    def _choices(self) -> dict[str, Any]:
        return {**self.options, **({} if self.budget is None else {"budget": self.budget})}


def run_plan(
    problem: Problem,
    plan: Plan | None = None,
    report: Progress | None = None,
    checkpoint: Path | None = None,
    watch: Watch | None = None,
    since: float | None = None,
) -> Front:
    """The front that a search finds by name, the exact one over the lattice unless a plan says otherwise.

    Its time is counted from ``since`` on, by ``working``, or from now on. A limit that no recoding can meet is a
    sentence before anything is searched (``check_possible``).
    """
    chosen = plan or Plan()
    chosen.check()
    with beating(report) as beat:
        check_possible(problem)
        limit = TimeLimit(chosen.settings["seconds"], working, since)
        try:
            with limit.part(BEGINNING).watching():
                course = make_driven(problem, chosen, limit)
        except OutOfTime:
            raise
        except Stopped:
            raise Interrupted("Stopped before anything was counted.") from None
        # Local recodings share their time out among the class sizes themselves.
        until = None if chosen.method == "local" else limit
        try:
            return complete_front(drive(course, beat, checkpoint, watch, until), chosen, limit)
        except Cancelled as stopped:
            stopped.front = replace(stopped.front, provenance=replace(stopped.front.provenance, options=chosen.told))
            raise


def complete_front(front: Front, plan: Plan, limit: TimeLimit) -> Front:
    """The front with its settings, and what the plan asks for besides: what it misses, and the answer to wishes.

    What it misses is counted in what is left of the time; where that is too little, the front says so.
    """
    settings, details, note = plan.settings, {}, front.provenance.note
    if settings.get("compare"):
        from kpareto.searches.defects import compare_front

        search = make_search(plan.method, front.problem, front.space, settings)
        try:
            with limit.watching():
                pause()
                details["exact"] = compare_front(front, search)
        except OutOfTime:
            note = "; ".join(filter(None, [note, "there was no time to compare it with the exact front"]))
    if settings.get("preference"):
        details["preference"] = answer_wishes(front, settings["preference"]).as_data()
    facts = {**front.provenance.details, **details}
    return replace(front, provenance=replace(front.provenance, note=note, details=facts, options=plan.told))


def make_driven(problem: Problem, plan: Plan, limit: TimeLimit | None = None) -> Driven[Any]:
    """The search of a plan: exact, compiled where the compiled searches know the problem, else behind the seam."""
    plan.check()
    settings = plan.settings
    if plan.method == "exact" and plan.kind == "lattice":
        return Exact(problem, settings["ties"], settings["threads"], limit or TimeLimit(), plan.seed)
    if plan.method == "local":
        from kpareto.searches.local.driven import LocalDriven

        return LocalDriven(problem, LocalSettings(**settings), plan.seed, limit)
    space = plan.space_on(problem.table)
    if plan.method == "exact" and isinstance(space, Cuts):
        return ExactCuts(problem, space, settings["ties"], settings["threads"], plan.seed)
    check_population(settings.get("population") or 0, len(space.genes))
    if isinstance(space, Cuts):
        from kpareto.searches.compiled import Compiled, can_compile  # with their loops

        if can_compile(plan.method, problem, space):
            return Compiled(plan.method, problem, space, plan.evaluations, plan.seed, settings, limit or TimeLimit())
    search = make_search(plan.method, problem, space, settings)
    return Proposals(problem, space, search, plan.evaluations, plan.seed, settings.get("preference"))


def check_population(genomes: int, genes: int) -> None:
    """Raise where a population would take more memory than a search may, before it is taken."""
    size = genomes * genes * GENE_BYTES
    if size > MOST_POPULATION:
        raise BadJob(
            f"search.population is {genomes:,}, and each recoding has {genes:,} genes here: about {size / 2**30:,.0f} "
            f"GiB of memory. Give at most {MOST_POPULATION // (genes * GENE_BYTES):,}."
        )


def run(
    problem: Problem,
    space: Space,
    search: Search,
    budget: int | None = None,
    seed: int = 1,
    report: Progress | None = None,
    checkpoint: Path | None = None,
) -> Front:
    """Let a search propose and count what it proposes, until it is done or the budget of evaluations is spent.

    Under the rule as-needed, where a recoding has several rows, the search is sent one of them (see ``leading_rows``),
    and the front is made of all.

    Parameters
    ----------
    problem : Problem
        What is counted, optimized and limited.
    space : Space
        The recodings that may be proposed, such as a lattice.
    search : Search
        A way through the space.
    budget : int, optional
        The most recodings that are evaluated; without it the search decides.
    seed : int, optional
        Decides every random choice.
    report : callable, optional
        Called with what is done of how much, 0 where nobody knows; once a second at the least, by another thread while
        a step takes longer. What it raises ends the search.
    checkpoint : Path, optional
        A file that keeps what is known, so that the next call goes on where this one was stopped.

    Returns
    -------
    Front
        The best recodings of all that were counted.

    Raises
    ------
    BadInput
        If a limit is one that no recoding can meet, or the search is not for this problem or space.
    Interrupted
        If the user stopped it and there is a checkpoint; without one the front so far comes back, marked as stopped.

    Examples
    --------
    >>> import kpareto as kp
    >>> from kpareto.searches.lattice.greedy import Samarati
    >>> from kpareto.tables.lattice import Lattice
    >>> table = kp.adult_table()
    >>> asked = kp.problem(table, ["k", "lm"], suppression=0.01, limits={"k": 5})
    >>> kp.run(asked, Lattice(table.hierarchies), Samarati())
    Front(2 points, objectives k, lm, samarati, not complete)
    """
    warn_slow(problem, search.name, budget, space.kind)
    with beating(report) as beat:
        check_possible(problem)
        front = drive(Proposals(problem, space, search, budget, seed), beat, checkpoint)
    return replace(front, provenance=replace(front.provenance, options=_settings_of(search)))


def _settings_of(search: object) -> dict[str, Any]:
    """Every setting that a search declares, as plain data; in words where it is left to the search."""
    parts = [part for part in (search, getattr(search, "settings", None)) if is_dataclass(part)]
    declared = [option for part in parts for option in options_of(part)]
    values = {each.name: each.unset if each.default is None else each.default for each in declared}
    return {n: asdict(v) if is_dataclass(v) and not isinstance(v, type) else v for n, v in values.items()}
