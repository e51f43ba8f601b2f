"""The strategies make what they promise, so that tests built on them test something."""

from __future__ import annotations

import numpy as np
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from kpareto.tables.partition import RULES, classes
from tests.twins.strategies import Case, cases, coarser, recodings, suppressions, tables


@given(case=cases(), data=st.data())
def test_coarser_recodings_only_merge(case: Case, data: st.DataObject) -> None:
    """Every class of a coarser recoding is a union of classes."""
    fine = data.draw(recodings(case.table))
    wide = data.draw(coarser(fine))
    before, after = classes(case.table, fine), classes(case.table, wide)
    pairs = set(zip(before.members.tolist(), after.members.tolist(), strict=True))
    assert len(pairs) == len(before.rows)
    assert case.table.rows == len(case.rows) == int(before.rows.sum())


def test_the_rare_kinds_occur() -> None:
    """Persons, both domains, every rule, numeric targets, repeated rows and one-leaf columns are all drawn."""
    seen = settings(phases=[Phase.generate], max_examples=400)
    find(tables(persons=True), lambda table: table.persons is not None and len(table.persons.values) > 1, settings=seen)
    find(tables(), lambda table: table.domain == "declared", settings=seen)
    find(tables(), lambda table: table.targets[0].numbers is not None, settings=seen)
    find(tables(), lambda table: int(table.weights.max()) > 2, settings=seen)
    find(tables(), lambda table: any(len(h.leaves) == 1 for h in table.hierarchies), settings=seen)
    find(
        tables(),
        lambda table: any(h.spans is not None and h.spans[0, 0] > h.spans[-1, 0] for h in table.hierarchies),
        settings=seen,
    )
    find(tables(), lambda table: any(not o.all() for o in table.observed), settings=seen)
    for rule in RULES:
        find(suppressions(), lambda suppression, rule=rule: suppression.rule == rule, settings=seen)  # type: ignore[misc]


@given(case=cases(), data=st.data())
def test_tree_recodings_are_tree_cuts(case: Case, data: st.DataObject) -> None:
    """The kind tree makes tree cuts, the kind node whole levels."""
    by_tree = data.draw(recodings(case.table, kinds=["tree"]))
    assert all(h.is_tree_cut(cut) for h, cut in zip(by_tree.hierarchies, by_tree.cuts, strict=True))
    by_level = data.draw(recodings(case.table, kinds=["node"]))
    assert by_level.levels is not None
    assert np.array_equal(by_level.cuts[0], by_level.hierarchies[0].groups[by_level.levels[0]])
