"""Benchmarks of whole fronts: from a loaded Table to every trade-off, and the command line from a cold process."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.clock import Line, best, peak_bytes
from benchmarks.lattice import low, with_target
from benchmarks.made_tables import make_seven
from benchmarks.start import child_line, new_process
from kpareto.engines.read import read
from kpareto.fronts.front import Front
from kpareto.fronts.problem import problem
from kpareto.searches.exact_front import exact_front
from kpareto.searches.lattice import exact
from kpareto.searches.lattice.mondrian import curve
from kpareto.tables.adult import FOLDER, adult, adult_hierarchies, adult_table
from kpareto.tables.hierarchies import read_lines
from kpareto.tables.lattice import Lattice
from kpareto.tables.partition import Suppression
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table

# Interval widths of the numbers that the presets of Adult leave aside.
WIDTHS = {"hours-per-week": (10, 20, 40), "capital-gain": (1000, 10000), "capital-loss": (500, 2000)}


def _front(table: Table, objectives: list[str], rule: Suppression, what: str, bar: str, repeats: int) -> Line:
    task = problem(table, objectives, rule)
    time = best(lambda: exact_front(task), repeats)
    front = exact_front(task)
    nodes = Lattice(table.hierarchies).size
    return Line(what, time, nodes, "nodes", False, 2, bar, f"{len(front)} points, complete", peak_bytes())


def fronts(quick: bool) -> list[Line]:
    """Complete fronts of the published lattice, for all k at once."""
    repeats = 1 if quick else 5
    cap = Suppression("cap-max-k", 0.01)
    whole, half = adult_table("replication"), adult_table("replication", target="salary-class")
    if quick:
        whole, half = low(whole), low(half)
    every = Suppression("as-needed", 0.01)
    return [
        _front(whole, ["k", "glm"], cap, "front of k, GLM", "" if quick else "front-k-glm", repeats),
        _front(whole, ["k", "l", "t", "glm"], cap, "front of k, l, t, GLM", "", repeats),
        _front(half, ["k", "l", "glm", "dcn", "cm"], cap, "front of k, l, GLM, DCN, CM (7 columns)", "", repeats),
        _front(whole, ["k", "glm"], every, "front of k, GLM, rows suppressed as needed", "", repeats),
        _front(whole, ["k", "l", "t", "glm"], every, "front of k, l, t, GLM, rows suppressed as needed", "", repeats),
    ]


def as_needed(quick: bool) -> list[Line]:
    """What the default rule costs beside the papers', which has one threshold per node: in turns, as ratios."""
    tables = {"Adult": low(adult_table()) if quick else adult_table()}
    tables |= {"10^6 distinct rows": make_seven(2_000 if quick else 1_000_000, 14)}
    lines = []
    for name, table in tables.items():
        papers, needed = (problem(table, ["k", "glm"], Suppression(rule, 0.01)) for rule in ("cap-max-k", "as-needed"))
        repeats = 1 if quick or name != "Adult" else 5
        turns = [
            (best(lambda: exact_front(papers), 1), best(lambda: exact_front(needed), 1))  # noqa: B023 (called at once)
            for _ in range(repeats)
        ]
        ratio = min(own.cpu for _, own in turns) / max(min(one.cpu for one, _ in turns), 1e-9)
        time = min((own for _, own in turns), key=lambda one: one.cpu)
        note = f"{ratio:.2f} x the processor time of cap-max-k, {len(exact_front(needed))} points"
        work = f"front of k, GLM, as needed: {name}"
        lines.append(Line(work, time, Lattice(table.hierarchies).size, "nodes", False, 2, "", note, peak_bytes()))
    return lines


def optimum(quick: bool) -> list[Line]:
    """The certified optimum for given limits, as other tools answer one k at a time."""
    table = low(adult_table()) if quick else adult_table()
    limits = {"k": 5.0, "l": 3.0}
    task = problem(table, ["lm"], 0.01, limits)
    time = best(lambda: exact_front(task, "one"), 1 if quick else 5)
    return [Line("optimum for k ≥ 5, l ≥ 3, 1 % suppressed", time, threads=2, peak=peak_bytes())]


def compare_pruning(quick: bool) -> list[Line]:
    """Branch and bound against counting everything, on one lattice: the ratio of nodes and of times."""
    table = low(adult_table("replication")) if quick else adult_table("replication")
    task = problem(table, ["k", "glm"], 0.01)
    repeats = 1 if quick else 3
    whole = best(lambda: exact_front(task), repeats)
    before = exact.WHOLE
    exact.WHOLE = 0
    try:
        time = best(lambda: exact_front(task), repeats)
        counted = exact_front(task).provenance.evaluated
    finally:
        exact.WHOLE = before
    share = counted / Lattice(table.hierarchies).size
    note = f"{share:.0%} of the nodes counted, {time.cpu / max(whole.cpu, 1e-9):.1f} x the CPU of counting all"
    return [Line("branch and bound, k, GLM", time, threads=2, note=note, peak=peak_bytes())]


def wide_table() -> Table:
    """Adult with 13 quasi-identifiers: the default eight, occupation, relationship and three numbers; 11,468,800 nodes.

    Relationship has no hierarchy: it is shown or left out.
    """
    occupation = read_lines("occupation", FOLDER / "hierarchies" / "dgh" / "adult_dgh_occupation.csv")
    hierarchies: dict[str, object] = {**adult_hierarchies(), "occupation": occupation}
    hierarchies |= {name: {"intervals": list(widths)} for name, widths in WIDTHS.items()}
    quasi = (*adult_hierarchies(), "occupation", "relationship", *WIDTHS)
    return read(adult(), Schema(quasi), hierarchies=hierarchies, missing="drop")


def large(quick: bool) -> list[Line]:
    """The complete front of a lattice of more than ten million nodes, and how few of them had to be counted."""
    table = low(wide_table()) if quick else wide_table()
    exact_front(problem(table, ["k", "glm"], 0.0))  # loads compiled code in half a second
    task = problem(table, ["k", "glm"], 0.01)
    fronts: list[Front] = []
    time = best(lambda: fronts.append(exact_front(task)), 1, warm=False)
    nodes, proof = Lattice(table.hierarchies).size, fronts[0].provenance
    note = f"{proof.evaluated:,} counts settle {nodes:,} nodes: {len(fronts[0])} points, complete={proof.complete}"
    return [Line("front of k, GLM (13 columns)", time, nodes, "nodes", False, 2, "", note, peak_bytes())]


def large_with_values(quick: bool) -> list[Line]:
    """The same lattice with l, with t, with CM and with DCN beside k and GLM, values of occupation."""
    whole = with_target(wide_table(), "occupation")
    whole = replace(whole, sensitive=whole.targets)
    table = low(whole) if quick else whole
    lines = []
    for objectives in (["k", "l", "glm"], ["k", "t", "glm"], ["k", "cm", "glm"], ["k", "dcn"]):
        exact_front(problem(low(whole), objectives, 0.01))
        task = problem(table, objectives, 0.01)
        fronts: list[Front] = []
        time = best(lambda: fronts.append(exact_front(task)), 1, warm=False)  # noqa: B023 (called at once)
        nodes, proof = Lattice(table.hierarchies).size, fronts[0].provenance
        note = f"{proof.evaluated:,} counts settle {nodes:,} nodes: {len(fronts[0])} points, complete={proof.complete}"
        work = f"front of {', '.join(objectives)} (13 columns)"
        lines.append(Line(work, time, nodes, "nodes", False, 2, "", note, peak_bytes()))
    return lines


def mondrian(quick: bool) -> list[Line]:
    """Local recoding for nine k at once, to stand beside the front."""
    table = low(adult_table()) if quick else adult_table()
    time = best(lambda: curve(table), 1 if quick else 3)
    return [Line("Mondrian, nine k", time, peak=peak_bytes())]


def shell(quick: bool) -> list[Line]:
    """``kpareto front adult`` in a new process: read, complete front, print."""
    time, _ = new_process(["-m", "kpareto", "front", "adult", "-q"], 1 if quick else 3)
    return [child_line("kpareto front adult", time, "" if quick else "front-shell")]
