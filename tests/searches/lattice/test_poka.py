"""POkA, literal and repaired, and the report of its defects."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.errors import BadJob
from kpareto.fronts.dominance import non_dominated
from kpareto.fronts.numbers import Numbers
from kpareto.fronts.problem import Problem, problem
from kpareto.searches.defects import defects, drive, replay, whole
from kpareto.searches.lattice.poka import REPAIRS, Poka, Reported, average_depth, check_problem, literal, repair_poka
from kpareto.tables.adult import adult_table
from kpareto.tables.hierarchy import from_levels
from kpareto.tables.lattice import Lattice
from kpareto.tables.partition import Suppression
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table, make_table
from tests.twins.strategies import Case, cases


def small(rows: list[tuple[str, str]], first: list[list[str]], target: list[str] | None = None) -> Table:
    """A table of two columns: the first with the given levels, the second 0 or 1 below *."""
    columns = (from_levels("a", first), from_levels("b", [["0", "*"], ["1", "*"]]))
    codes = np.array([[columns[c].index[row[c]] for c in (0, 1)] for row in rows], dtype=np.int32)
    schema = Schema(("a", "b"), target=() if target is None else ("label",))
    extras = {} if target is None else {"label": (("0", "1"), np.array([int(t) for t in target]), None)}
    table = make_table(schema, columns, codes, np.ones(len(rows), dtype=np.int64), extras)
    return replace(table, domain="declared")


FLAT = [["0", "*"], ["1", "*"]]
XOR_ROWS = [(a, b) for a in "01" for b in "01" for _ in range(3)]
XOR = problem(small(XOR_ROWS, FLAT, ["1" if a != b else "0" for a, b in XOR_ROWS]), ["k", "cm-rows"])
TIE = problem(small([("0", "0")] * 3 + [("1", "1")] * 3, FLAT), ["k", "glm"])
HALVING = [[str(i), f"{i // 2}/2", f"{i // 4}/4", "*"] for i in range(8)]
O28_ROWS = [("5", "0")] * 3 + [("5", "1")] * 2 + [("3", "1"), ("0", "1"), ("3", "0")]
O28 = problem(small(O28_ROWS, HALVING), ["k", "glm"], Suppression("cap-max-k", 5))


def levels(made: Problem, search: Poka) -> list[tuple[int, ...]]:
    """The levels of the nodes that a search reports."""
    lattice = Lattice(made.table.hierarchies)
    return [tuple(row) for row in lattice.levels(replay(search, lattice, whole(made)).nodes).tolist()]


def vectors(made: Problem, nodes: np.ndarray, numbers: Numbers) -> set[tuple[int, ...]]:
    """The keys of some nodes."""
    return {tuple(row) for row in numbers.keys[nodes].tolist()}


def test_xor_kills_the_literal_search() -> None:
    """O17 xor: at depth 2 only the top is reported, at depth 1 also a node that is not optimal."""
    assert levels(XOR, literal(2)) == [(1, 1)]
    assert levels(XOR, literal(1)) == [(1, 1), (0, 1), (0, 0)]
    assert levels(XOR, repair_poka()) == [(1, 1), (0, 0)]


def test_a_tie_hides_the_better_node() -> None:
    """O17 tie: at depth 2 a neighbour with the same k is reported instead of the node below it."""
    assert levels(TIE, literal(2)) == [(1, 1), (0, 1)]
    assert levels(TIE, repair_poka()) == [(1, 1), (0, 0)]


def test_the_numbers_of_the_eight_row_counterexample() -> None:
    """O28: k, loss and suppressed rows of all eight nodes."""
    numbers = whole(O28)
    assert numbers.values[:, 0].tolist() == [3, 5, 3, 5, 3, 5, 4, 8]
    assert numbers.values[:, 1].tolist() == pytest.approx([10, 11, 73 / 7, 82 / 7, 79 / 7, 92 / 7, 8, 16])
    assert numbers.suppressed.tolist() == [5, 3, 5, 3, 5, 3, 0, 0]


def test_the_loss_test_never_reaches_an_optimum() -> None:
    """O28: a dearer node below stops the climb to the optimum (3, 0), unless that step is repaired."""
    assert levels(O28, Poka(1, start=(0, 1))) == [(0, 1), (0, 0)]
    assert levels(O28, Poka(1, frozenset({"height"}), start=(0, 1)))[:2] == [(0, 1), (3, 0)]
    assert levels(O28, repair_poka()) == [(3, 1), (0, 1), (3, 0)]


def test_the_report_names_the_errors() -> None:
    """On the counterexamples each defect is laid to the error that made it."""
    assert [d.causes for d in defects(XOR, 2).missed] == [(("PO-e3",),)]
    tie = defects(TIE, 2)
    assert ("PO-e2",) in tie.missed[0].causes
    assert [(d.causes, d.dominated_by) for d in tie.false] == [((("PO-e2",),), {"a": 0, "b": 0})]
    first = defects(XOR, 1).false
    assert [(d.levels, d.causes) for d in first] == [({"a": 0, "b": 1}, (("PO-e6",),))]
    lost = {tuple(d.levels.values()): d.causes for d in defects(O28, Poka(1, start=(0, 1))).missed}
    assert lost == {(3, 0): (("PO-e1",),), (3, 1): ()}


def test_later_optima_are_found_from_a_sub_optimal_base() -> None:
    """PO-r11: started at random nodes of Adult, literal POkA still hits most optima with a smaller k than the start's."""
    made = problem(adult_table("replication"), ["k", "glm"], Suppression("cap-max-k", 301))
    numbers, lattice = whole(made), Lattice(made.table.hierarchies)
    best = vectors(made, non_dominated(numbers.keys), numbers)
    rng = np.random.default_rng(5)
    for start in rng.choice(np.flatnonzero(numbers.values[:, 0] >= 40), 4):
        told = replay(Poka(3, start=tuple(lattice.levels(np.array([start]))[0].tolist())), lattice, numbers)
        below = {vector for vector in best if numbers.keys[start, 0] < vector[0] < -1}
        assert len(below & vectors(made, told.nodes, numbers)) >= 0.8 * len(below)


def test_a_useless_level_makes_the_top_a_false_member() -> None:
    """PO-e7: where a column is constant the top costs no more privacy but is not the only optimum below it."""
    made = problem(small([("0", "0")] * 2 + [("0", "1")] * 2, [["0", "x", "*"], ["1", "x", "*"]]), ["k", "glm"])
    report = defects(made, 1)
    assert {"a": 2, "b": 1} in [d.levels for d in report.false]
    assert (("PO-e7",),) in [d.causes for d in report.false]
    assert report.as_data()["meaning"]["PO-e7"]


@given(case=cases(persons=False), limit=st.sampled_from([0.0, 0.25, 3]), loss=st.sampled_from(["glm", "dcn", "cm"]))
@settings(max_examples=100)
def test_repaired_poka_finds_every_point(case: Case, limit: float, loss: str) -> None:
    """With unlimited depth the repaired search reports the complete front and nothing else."""
    made = problem(case.table, ["k", loss], Suppression("cap-max-k", limit))
    numbers, lattice = whole(made), Lattice(case.table.hierarchies)
    if not numbers.feasible.all():
        return  # everything may be suppressed
    told = replay(repair_poka(), lattice, numbers)
    assert vectors(made, told.nodes, numbers) == vectors(made, non_dominated(numbers.keys), numbers)
    assert told.finished


@given(case=cases(persons=False), limit=st.sampled_from([0.0, 3]), depth=st.integers(1, 4), data=st.data())
@settings(max_examples=60)
def test_every_variant_ends_and_counts_what_it_asked(case: Case, limit: float, depth: int, data: st.DataObject) -> None:
    """Any depth with any repairs comes to an end, and the nodes it says it evaluated are those it asked for."""
    repairs = data.draw(st.sets(st.sampled_from(sorted(REPAIRS))))
    made = problem(case.table, ["k", "glm"], Suppression("cap-max-k", limit))
    lattice = Lattice(case.table.hierarchies)
    asked: list[int] = []

    def watched(steps: Generator[np.ndarray, Numbers, Reported]) -> Generator[np.ndarray, Numbers, Reported]:
        genomes = next(steps)
        try:
            while True:
                asked.extend(lattice.numbers(genomes).tolist())
                genomes = steps.send((yield genomes))
        except StopIteration as end:
            reported: Reported = end.value
            return reported

    told = drive(watched(Poka(depth, frozenset(repairs)).reports(lattice)), lattice, whole(made))
    assert told.evaluated == len(asked) == len(set(asked))
    assert set(told.nodes.tolist()) <= set(asked)


@cache
def counted(preset: str, loss: str) -> tuple[Problem, Numbers]:
    """Adult with every node counted; the known numbers count declared leaves in both sets of hierarchies."""
    table = adult_table(preset, target="salary-class" if loss == "cm" else None, domain="declared")
    made = problem(table, ["k", loss], Suppression("cap-max-k", 301))
    return made, whole(made)


@pytest.mark.parametrize(
    ("preset", "loss", "depth", "evaluated", "hits", "optima", "false"),
    [
        ("default", "glm", 1, 354, 16, 31, 2),
        ("default", "glm", 2, 1658, 24, 31, 3),
        ("default", "glm", 3, 3869, 30, 31, 0),
        ("default", "glm", 4, 6675, 30, 31, 0),
        ("default", "glm", 5, 9620, 30, 31, 0),
        ("default", "glm", 6, 12314, 30, 31, 0),
        ("replication", "glm", 1, 505, 22, 42, 7),
        ("replication", "glm", 2, 1908, 34, 42, 3),
        ("replication", "glm", 3, 4120, 40, 42, 1),
        ("replication", "glm", 4, 6888, 40, 42, 1),
        ("replication", "glm", 5, 9803, 40, 42, 1),
        ("replication", "glm", 6, 12453, 40, 42, 1),
        ("default", "dcn", 3, 2234, 22, 28, 2),
        ("replication", "dcn", 3, 2936, 30, 32, 6),
        ("default", "cm", 3, 8, 1, 9, 0),
        ("replication", "cm", 3, 8, 1, 12, 0),
        ("default", "cm", 1, 397, 3, 9, 21),
    ],
)
def test_adult_as_counted_before(
    preset: str, loss: str, depth: int, evaluated: int, hits: int, optima: int, false: int
) -> None:
    """Nodes evaluated, true optima hit and wrong nodes reported are the known ones (PO-r1 … PO-r9, PO-e6)."""
    made, numbers = counted(preset, loss)
    told = replay(literal(depth), Lattice(made.table.hierarchies), numbers)
    best = vectors(made, non_dominated(numbers.keys), numbers)
    wrong = [node for node in told.nodes.tolist() if tuple(numbers.keys[node].tolist()) not in best]
    hit = best & vectors(made, told.nodes, numbers)
    assert (told.evaluated, len(hit), len(best), len(wrong)) == (evaluated, hits, optima, false)


def test_causes_on_adult() -> None:
    """The tie of PO-e2, the depth limit of PO-e4 and the early end of PO-e3 are told apart."""
    glm = defects(counted("replication", "glm")[0], 3)
    assert (glm.evaluated, glm.hits, glm.optima, len(glm.false)) == (4120, 40, 42, 1)
    assert [(d.values["k"], d.causes) for d in glm.missed] == [(1.0, (("PO-7",),)), (2.0, (("PO-e2",),))]
    assert list(glm.missed[1].levels.values()) == [4, 1, 2, 2, 0, 0, 3, 0]
    dcn = defects(counted("default", "dcn")[0], 3)
    assert [d.causes for d in dcn.missed].count((("PO-e4",),)) == 5
    cm = [cause for d in defects(counted("replication", "cm")[0], 3).missed for cause in d.causes]
    assert cm.count(("PO-e3",)) == 3
    assert cm.count(("PO-e3", "PO-e4")) == 7


@pytest.mark.parametrize(("preset", "loss"), [("default", "cm"), ("replication", "glm"), ("replication", "dcn")])
def test_repaired_poka_on_adult(preset: str, loss: str) -> None:
    """With unlimited depth nothing is missed and nothing reported wrongly."""
    made, numbers = counted(preset, loss)
    lattice = Lattice(made.table.hierarchies)
    told = replay(repair_poka(), lattice, numbers)
    assert vectors(made, told.nodes, numbers) == vectors(made, non_dominated(numbers.keys), numbers)
    shallow = replay(repair_poka(3), lattice, numbers)
    assert shallow.evaluated < told.evaluated
    assert shallow.finished


def test_the_recommended_depth() -> None:
    """d_avg is 3 on both lattices of Adult."""
    assert average_depth(Lattice(adult_table().hierarchies)) == 3
    assert average_depth(Lattice(adult_table(target="salary-class").hierarchies)) == 3


def test_what_poka_refuses() -> None:
    """Wrong objectives and rules are named."""
    with pytest.raises(BadJob, match="objectives are k, l, glm"):
        check_problem(problem(adult_table(), ["k", "l", "glm"]))
    with pytest.raises(BadJob, match="the rule is 'below-k'"):
        check_problem(problem(adult_table(), ["k", "glm"], Suppression("below-k", k=2)))
