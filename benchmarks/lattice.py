"""Benchmarks of the roll-up: all 17,920 nodes of the Adult lattice, and what they cost in memory.

The published lattice has salary among its quasi-identifiers, so nothing is left to classify. The bar for CM does not
name its column; it kept one majority count per class, so we read it as two values and count salary as a target too.
Beside it stand CM of occupation, and CM of salary on the 8,960 nodes without it.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from benchmarks.clock import Line, best, peak_bytes
from benchmarks.made_tables import make_postcodes, make_rows
from kpareto.fronts.count_lattice import Walker, Wanted, count_lattice, lattice_of
from kpareto.fronts.packed_values import HistNumber
from kpareto.fronts.problem import Problem, problem
from kpareto.kernels.words import DISTINCT, MINORITY, OWN, T_EQUAL
from kpareto.measures.cells import glm
from kpareto.tables.adult import adult_table
from kpareto.tables.lattice import Lattice
from kpareto.tables.partition import Suppression, partitions
from kpareto.tables.table import Counts, Table

CAP = Suppression("cap-max-k", 0.01)


def with_target(table: Table, name: str) -> Table:
    """The table with a quasi-identifier counted as a target too, which a schema would rightly refuse."""
    column = table.column(name)
    values = table.hierarchies[column].leaves
    own = Counts(name, values, np.arange(table.distinct + 1), table.codes[:, column], table.weights)
    return replace(table, targets=(own,))


def low(table: Table) -> Table:
    """A table under hierarchies of two levels each, for a quick run."""
    two = [replace(h, groups=h.groups[[0, -1]], labels=(h.labels[0], h.labels[-1])) for h in table.hierarchies]
    return replace(table, hierarchies=tuple(two))


def _publish(quick: bool) -> Table:
    table = with_target(adult_table(), "salary-class")
    return low(table) if quick else table


def _seven(sensitive: Counts, target: Counts) -> Wanted:
    """k, GLM, DCN and S_k (from sizes and losses), distinct l and S_l of one column, CM of another."""
    kinds = ((DISTINCT, sensitive), (OWN, sensitive), (MINORITY, target))
    return Wanted(CAP, (glm(),), tuple(HistNumber(kind, counts) for kind, counts in kinds), sizes=True)


def _lines(table: Table, wanted: Wanted, what: str, bar: str, repeats: int) -> list[Line]:
    """One line for one thread and one for two."""
    nodes = lattice_of(table).size
    lines: list[Line] = []
    for threads in (1, 2):
        time = best(lambda threads=threads: count_lattice(table, wanted, threads), repeats)  # type: ignore[misc]
        note = f"{lines[0].time.wall / time.wall:.2f} x one thread" if lines else ""
        posts = f"{bar}-{threads}" if bar else ""
        lines.append(Line(f"{nodes:,} nodes: {what}", time, nodes, "nodes", False, threads, posts, note, peak_bytes()))
    return lines


def k_and_glm(quick: bool) -> list[Line]:
    """Class sizes and cell losses alone: k and GLM."""
    bar, repeats = ("", 1) if quick else ("lattice-k-glm", 9)
    return _lines(_publish(quick), Wanted(CAP, (glm(),)), "k, GLM", bar, repeats)


def seven(quick: bool) -> list[Line]:
    """k, GLM, DCN, S_k, S_l and distinct l of occupation, CM of salary (two values)."""
    bar, repeats = ("", 1) if quick else ("lattice-seven", 5)
    table = _publish(quick)
    wanted = _seven(table.sensitive[0], table.targets[0])
    return _lines(table, wanted, "k, GLM, DCN, S_k, S_l, CM, l", bar, repeats)


def seven_of_occupation(quick: bool) -> list[Line]:
    """Seven measures with CM of occupation: fourteen values instead of two."""
    table = _publish(quick)
    wanted = _seven(table.sensitive[0], table.sensitive[0])
    return _lines(table, wanted, "these seven, CM of 14 values", "", 1 if quick else 3)


def seven_of_half(quick: bool) -> list[Line]:
    """The papers' lattice for CM: salary is the target and no quasi-identifier, 8,960 nodes."""
    table = adult_table(target="salary-class")
    wanted = _seven(table.sensitive[0], table.targets[0])
    return _lines(low(table) if quick else table, wanted, "these seven, salary only a target", "", 1 if quick else 3)


def closeness(quick: bool) -> list[Line]:
    """k, GLM, and t-closeness of occupation with equal distances."""
    table = _publish(quick)
    wanted = Wanted(CAP, (glm(),), (HistNumber(T_EQUAL, table.sensitive[0]),))
    return _lines(table, wanted, "k, GLM, t", "", 1 if quick else 3)


def postcodes(quick: bool) -> list[Line]:
    """A hierarchy that declares 100,000 postcodes of which 13,294 occur, and the same one cut down to these."""
    sizes = (5_000, 300, 1_000) if quick else (100_000, 13_294, 63_441)
    lines = []
    for cut_down, what in ((False, "all declared"), (True, "those that occur")):
        table = make_postcodes(*sizes, cut_down=cut_down)
        wanted = Wanted(Suppression("as-needed", 0.01, by_size=True), (glm(),))
        time = best(lambda: count_lattice(table, wanted, 2), 1, warm=quick)  # noqa: B023 (used at once)
        nodes = lattice_of(table).size
        lines.append(Line(f"{nodes:,} nodes, postcodes: {what}", time, nodes, "nodes", False, 2, "", "", peak_bytes()))
    return lines


def widths(quick: bool) -> list[Line]:
    """Nodes a second with 8, 20 and 30 quasi-identifiers, whose keys take one word, one and two."""
    lines = []
    for columns, leaves in ((8, 30), (20, 7), (30, 7)):
        levels = (2,) * (columns - 4) + (8 if columns == 8 else 2,) * 4
        table = make_rows(300 if quick else 20_000, (leaves,) * columns, levels)
        walker = Walker(table, Wanted(CAP, (glm(),)))
        fixed = 0 if columns == 8 else columns - 13
        task = walker.task_at(np.zeros(fixed, dtype=np.int64))
        halt = np.zeros(1, dtype=np.int64)
        time = best(lambda: walker.run(task, halt), 1 if quick else 3)  # noqa: B023 (used at once)
        nodes = math.prod(levels[walker.order[a]] for a in range(fixed, columns))
        words = 1 if task.highs is None else 1 + len(task.highs)
        note = f"{int(walker.columns.bits.sum())} bits in {words} word{'s' if words > 1 else ''}"
        lines.append(Line(f"{columns} quasi-identifiers", time, nodes, "nodes", False, 1, "", note, peak_bytes()))
    return lines


def units(quick: bool) -> list[Line]:
    """Nodes a second with persons and with masked rows, of k, l and GLM: by the loops, and by partitions in Python."""
    lines = []
    for columns, leaves in ((8, 30),) if quick else ((8, 30), (20, 7), (30, 7)):
        for persons in (True, False):
            levels = (2,) * (columns - 4) + (8 if columns == 8 else 2,) * 4
            table = make_rows(300 if quick else 20_000, (leaves,) * columns, levels, persons=persons)
            rule = Suppression(limit=0.01, rows="drop" if persons else "mask")
            asked, lattice = problem(table, ["k", "l", "glm"], rule), lattice_of(table)
            nodes = lattice.levels(np.linspace(0, lattice.size - 1, 8 if quick else 64).astype(np.int64))
            loops = best(lambda: asked.evaluate(lattice, nodes, 1), 1 if quick else 3)  # noqa: B023 (used at once)
            slow = nodes[::8]
            python = best(lambda: _by_partitions(asked, lattice, slow), 1, warm=False)  # noqa: B023 (the same)
            what = f"{columns} quasi-identifiers, {'persons' if persons else 'masked rows'}"
            lines.append(Line(what, loops, len(nodes), "nodes", False, 1, "", "", peak_bytes()))
            lines.append(Line(f"{what}, in Python", python, len(slow), "nodes", False, 1, "", "", peak_bytes()))
    return lines


def _by_partitions(asked: Problem, lattice: Lattice, nodes: np.ndarray) -> None:
    """Count some nodes as it is done where a measure has no compiled form."""
    slowly = [
        (at, p) for at, n in enumerate(nodes) for p in partitions(asked.table, lattice.decode(n), asked.suppression)
    ]
    asked.by_partitions(slowly)


def memory(quick: bool) -> list[Line]:
    """The most memory a process holds that counts all nodes, seven numbers each, on two threads."""
    table = _publish(quick)
    wanted = _seven(table.sensitive[0], table.targets[0])
    count_lattice(low(table), wanted, 2)  # loads the compiled code
    before = peak_bytes()
    time = best(lambda: count_lattice(table, wanted, 2), 1, warm=False)
    nodes = lattice_of(table).size
    note = f"{before / 1e6:,.0f} MB after counting {lattice_of(low(table)).size} nodes"
    return [Line(f"{nodes:,} nodes: memory", time, nodes, "nodes", False, 2, "", note, peak_bytes())]
