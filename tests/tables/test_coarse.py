"""Tables that come in coarser than their values: the same trade-offs from the first levels on, the same release."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.engines.read import read
from kpareto.errors import BadHierarchy, BadJob, BadTable
from kpareto.fronts.front import load_front, make_front
from kpareto.fronts.numbers import Provenance
from kpareto.fronts.problem import Problem
from kpareto.fronts.problem import problem as make_problem
from kpareto.jobs.front import front
from kpareto.releases.choice import as_choice, store
from kpareto.releases.release import release
from kpareto.searches.exact_front import exact_front
from kpareto.tables.coarse import declare, declared_recoding
from kpareto.tables.hierarchy import from_levels
from kpareto.tables.lattice import Lattice
from kpareto.tables.partition import Suppression
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table
from tests.twins.strategies import Case, cases

OBJECTIVES = ("k", "glm", "lm", "precision-loss", "entropy", "dcn", "classes")


def rows_of(case: Case) -> pa.Table:
    """The raw rows of a case as a pyarrow table."""
    trees = case.table.hierarchies
    columns = {tree.name: [tree.leaves[row.leaves[c]] for row in case.rows] for c, tree in enumerate(trees)}
    schema = case.table.schema
    for place, name in enumerate(schema.sensitive):
        columns[name] = [row.sensitive[place] for row in case.rows]
    for place, name in enumerate(schema.target):
        columns[name] = [row.target[place] for row in case.rows]
    for name in schema.persons:
        columns[name] = [str(row.person) for row in case.rows]
    return pa.table(columns)


def both(case: Case, data: st.DataObject) -> tuple[Table, Table, list[int]]:
    """The whole table, the one read from drawn first levels on, and these levels."""
    trees = case.table.hierarchies
    first = [data.draw(st.integers(0, tree.height), label=tree.name) for tree in trees]
    if not any(first):
        first[-1] = 1
    source, schema = rows_of(case), case.table.schema
    whole = read(source, schema, hierarchies=trees, domain=case.table.domain)
    given = {tree.name: level for tree, level in zip(trees, first, strict=True)}
    coarse = read(source, schema, hierarchies=trees, domain=case.table.domain, first=given, coarsen="always")
    return whole, coarse, first


def every_node(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Levels, values and suppressed rows of all nodes of the lattice."""
    lattice = Lattice(problem.table.hierarchies)
    levels = lattice.levels(np.arange(lattice.size))
    numbers = problem.evaluate(lattice, levels)
    return levels, numbers.values, numbers.suppressed


@settings(max_examples=30)
@given(case=cases(), data=st.data(), limit=st.sampled_from([0.0, 0.2]))
def test_every_node_above_the_first_levels_has_the_same_numbers(case: Case, data: st.DataObject, limit: float) -> None:
    """Sizes, losses with the declared denominators, and suppression are those of the whole table, bit for bit."""
    whole, coarse, first = both(case, data)
    assert coarse.rows == whole.rows
    assert coarse.distinct <= whole.distinct
    objectives = (*OBJECTIVES, "l") if whole.persons is None else OBJECTIVES
    levels, values, lost = every_node(make_problem(whole, objectives, Suppression("cap-max-k", limit)))
    above = (levels >= np.array(first)).all(axis=1)
    mine, own_values, own_lost = every_node(make_problem(coarse, objectives, Suppression("cap-max-k", limit)))
    assert np.array_equal(mine + np.array(first), levels[above])
    assert np.array_equal(own_values, values[above])
    assert np.array_equal(own_lost, lost[above])


@settings(max_examples=25)
@given(case=cases(persons=False), data=st.data())
def test_the_coarse_front_is_the_front_of_the_lattice_above(case: Case, data: st.DataObject) -> None:
    """Exactly the points that no node from the first levels on dominates, shown by their declared levels."""
    whole, coarse, first = both(case, data)
    problem = make_problem(whole, ("k", "glm"), 0.1)
    lattice = Lattice(whole.hierarchies)
    levels = lattice.levels(np.arange(lattice.size))
    above = levels[(levels >= np.array(first)).all(axis=1)]
    wanted = make_front(problem, lattice, above, problem.evaluate(lattice, above), Provenance("all", 0, True))
    found = exact_front(make_problem(coarse, ("k", "glm"), 0.1))
    assert [point["levels"] for point in found.to_dict()["points"]] == [
        point["levels"] for point in wanted.to_dict()["points"]
    ]
    assert np.array_equal(found.numbers.values, wanted.numbers.values)
    assert found.to_dict()["space"].get("first", {}) == {
        tree.name: level for tree, level in zip(whole.hierarchies, first, strict=True) if level
    }
    again = load_front(found.to_dict(), found.problem)
    assert np.array_equal(again.genomes, found.genomes)


@settings(max_examples=10)
@given(case=cases(persons=False), data=st.data())
def test_a_coarse_release_is_the_release_of_the_same_levels(case: Case, data: st.DataObject) -> None:
    """Rows, certificate and stored recoding do not tell whether the rows came in coarse."""
    whole, coarse, first = both(case, data)
    found = front(coarse, objectives=("k", "glm"))
    point = found[data.draw(st.integers(0, len(found) - 1))]
    same = make_problem(whole, ("k", "glm"), found.problem.suppression)
    lattice = Lattice(whole.hierarchies)
    genome = found.genomes[point.id] + np.array(first)
    twin = make_front(same, lattice, genome[None, :], same.evaluate(lattice, genome[None, :]), found.provenance)[0]
    source = rows_of(case)
    # Some warnings speak of the front that a point is on, and these two are different ones.
    one, other = release(point, source, warnings=()), release(twin, source, warnings=())
    assert one.data.equals(other.data)
    assert one.certificate.text() == other.certificate.text()
    assert store(point).text() == store(twin).text()
    assert as_choice(point).recoding.describe() == point.recoding.describe()


def people() -> pa.Table:
    """Twelve rows of a zip code and an age."""
    return pa.table({"zip": [f"0{n % 4}1{n % 3}" for n in range(12)], "age": [str(20 + n % 6) for n in range(12)]})


SCHEMA = Schema(quasi=("zip", "age"))
RULES: dict[str, Any] = {"zip": {"prefix": [2, 1]}, "age": {"intervals": [2], "from": 20}}


def test_levels_are_those_of_the_declared_hierarchy() -> None:
    """The remark and the points name declared levels; labels are those of the groups."""
    table = read(people(), SCHEMA, hierarchies=RULES, first={"zip": 1}, coarsen="always")
    assert table.remarks[1].startswith("Read coarser: 12 distinct rows of 12; about ")
    assert table.remarks[1].endswith(" 'zip' begins at level 1 of 2.")
    assert table.hierarchies[0].leaves == ("00**", "01**", "02**", "03**")
    assert table.hierarchies[0].first == 1
    points = front(table).to_dict()["points"]
    assert min(point["levels"]["zip"] for point in points) >= 1
    assert max(point["levels"]["zip"] for point in points) == 2
    assert declare(table).hierarchies[0].leaves[0] == "0010"
    whole = read(people(), SCHEMA, hierarchies=RULES)
    assert declare(whole) is whole
    recoding = front(whole)[0].recoding
    assert declared_recoding(recoding) is recoding


def test_other_hierarchies_come_too_late() -> None:
    """Groups cannot be taken apart again."""
    table = read(people(), SCHEMA, hierarchies=RULES, first={"zip": 1}, coarsen="always")
    flat = read(people(), SCHEMA).hierarchies[0]
    with pytest.raises(BadHierarchy, match=r"came in coarser than their values \(zip\)"):
        front(table, [flat])


def test_groups_that_look_alike_stay_apart() -> None:
    """Two groups of a level with one label are two leaves."""
    plain = from_levels("q", [("a", "one", "*"), ("b", "one", "*"), ("c", "two", "*"), ("d", "two", "*")])
    alike = replace(plain, labels=(plain.labels[0], ("other", "other"), ("*",)))
    source = pa.table({"q": ["a", "b", "c", "d"]})
    table = read(source, Schema(quasi=("q",)), hierarchies=[alike], first={"q": 1}, coarsen="always")
    assert table.distinct == 2
    assert table.hierarchies[0].leaves == ("other (a …)", "other (c …)")


def test_wrong_first_levels_are_sentences() -> None:
    """Unknown columns, levels that are none, and a wish to coarsen without a level."""
    with pytest.raises(BadJob, match=r"first level of 'zip' is 9, and its hierarchy has the levels 0 to 2"):
        read(people(), SCHEMA, hierarchies=RULES, first={"zip": 9}, coarsen="always")
    with pytest.raises(BadJob, match=r"for 'zap', which is not a quasi-identifier. Did you mean 'zip'\?"):
        read(people(), SCHEMA, first={"zap": 1}, coarsen="always")
    with pytest.raises(BadJob, match=r"first level of 'zip' is -1. Give a whole number"):
        read(people(), SCHEMA, first={"zip": -1})
    with pytest.raises(BadJob, match="To read coarser, a first level is needed"):
        read(people(), SCHEMA, too_many="coarsen")
    short = {"age": from_levels("age", [(str(n), "*") for n in range(20, 25)])}
    with pytest.raises(BadHierarchy, match=r"has no place for 1 value of the table: '25' \(2 rows\)"):
        read(people(), SCHEMA, hierarchies=short, first={"zip": 1}, coarsen="always")
    holes = people().set_column(1, "age", pa.array([None, *["20"] * 11]))
    with pytest.raises(BadTable, match="Values are missing in 'age'"):
        read(holes, SCHEMA, "error", hierarchies=RULES, first={"zip": 1}, coarsen="always")


@pytest.mark.parametrize("missing", ["drop", "category"])
def test_missing_values_are_treated_as_in_the_whole_table(missing: Any) -> None:
    """Dropped and counted, or a leaf of their own."""
    holes = people().set_column(1, "age", pa.array([None, "?", *["20", "21"] * 5]))
    rules = {"zip": RULES["zip"]}
    whole = read(holes, SCHEMA, missing, hierarchies=rules)
    table = read(holes, SCHEMA, missing, hierarchies=rules, first={"zip": 1}, coarsen="always")
    assert (table.rows, table.dropped) == (whole.rows, whole.dropped)
    assert table.hierarchies[1].leaves == whole.hierarchies[1].leaves
    assert np.array_equal(table.leaf_rows[1], whole.leaf_rows[1])
