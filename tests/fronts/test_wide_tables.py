"""Wide tables are counted by the same loops: hierarchies that declare more than occurs, and keys of several words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.made_tables import make_postcodes, make_rows
from kpareto.fronts import count_cuts as batch
from kpareto.fronts.count_cuts import count_cuts
from kpareto.fronts.count_lattice import CountedNodes, Walker, Wanted, fits, pack_keys
from kpareto.fronts.problem import problem
from kpareto.searches.exact_front import exact_front
from kpareto.searches.lattice import exact
from kpareto.tables.lattice import Lattice
from kpareto.tables.partition import Suppression, partitions
from kpareto.tables.table import Table
from tests.fronts.test_count_lattice import LOSSES, drawn_suppression, hist_numbers
from tests.twins.strategies import Case, cases, recodings


def same(one: CountedNodes, other: CountedNodes) -> bool:
    """Whether both have the same bits."""
    return all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ("nodes", "thresholds", "ints", "reals")
    )


@pytest.fixture(scope="module")
def postcodes() -> tuple[Table, Table]:
    """Rows under a hierarchy of 5,000 postcodes, and under that of the 60 that occur."""
    declared, few = (make_postcodes(5_000, 60, 150, cut_down=cut_down) for cut_down in (False, True))
    return declared, few


@pytest.mark.parametrize("objectives", [["k", "lm"], ["k", "l", "entropy"]])
def test_leaves_that_do_not_occur_change_nothing(postcodes: tuple[Table, Table], objectives: list[str]) -> None:
    """The same front comes from both hierarchies, bit for bit: node by node, and every number."""
    one, other = (exact_front(problem(table, objectives, 0.05)) for table in postcodes)
    assert len(one) > 5
    assert one.genomes.tolist() == other.genomes.tolist()
    for name in ("thresholds", "keys", "values", "suppressed"):
        assert np.array_equal(getattr(one.numbers, name), getattr(other.numbers, name))


@pytest.mark.parametrize("rule", ["none", "below-k", "cap-max-k", "as-needed"])
def test_the_batch_takes_them_too(postcodes: tuple[Table, Table], rule: str) -> None:
    """Single nodes are counted alike under both hierarchies, and none of them in plain Python."""
    suppression = Suppression(rule, 0.1, 3 if rule == "below-k" else None)  # type: ignore[arg-type]
    one, other = (problem(table, ["k", "lm", "l", "dcn"], suppression) for table in postcodes)
    assert one.is_compiled
    assert one.is_walked
    lattice = Lattice(one.table.hierarchies)
    levels = np.random.default_rng(1).integers(0, lattice.genes, size=(40, len(lattice.genes)))
    first, second = (asked.evaluate(Lattice(asked.table.hierarchies), levels) for asked in (one, other))
    for name in ("which", "thresholds", "keys", "values", "suppressed", "feasible"):
        assert np.array_equal(getattr(first, name), getattr(second, name))


@settings(max_examples=40)
@given(case=cases(most_columns=3), data=st.data())
def test_losses_cut_by_cut_equal_those_by_runs(case: Case, data: st.DataObject) -> None:
    """Columns taken as wide have the same numbers as by their table of runs, under every rule and domain."""
    table = case.table
    suppression, limits = drawn_suppression(data, table, ["none", "below-k", "cap-max-k", "as-needed"])
    wanted = Wanted(suppression, LOSSES, hist_numbers(table), limits, sizes=True, risky_below=3)
    chosen = data.draw(st.lists(recodings(table), min_size=1, max_size=20))
    cuts = np.stack([np.concatenate(recoding.cuts) for recoding in chosen])
    by_runs = count_cuts(table, wanted, cuts, threads=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "MOST_LEAVES", data.draw(st.integers(0, 4)))
        assert same(count_cuts(table, wanted, cuts, threads=1), by_runs)


@pytest.mark.parametrize(("columns", "words"), [(9, 2), (13, 2), (18, 3)])
@pytest.mark.parametrize("objectives", [["k", "lm"], ["k", "lm", "l", "t"]])
def test_keys_of_several_words(columns: int, words: int, objectives: list[str]) -> None:
    """Nine to eighteen columns of some 200 values: the roll-up takes them, and agrees with partitions."""
    table = make_rows(300, (256,) * columns, (2,) * columns, values=4)
    asked = problem(table, objectives, 0.1)
    assert asked.translation is not None
    assert fits(table, asked.translation.wanted)
    walker = Walker(table, asked.translation.wanted)
    task = walker.task_at(np.array([place % 2 for place in range(columns - 7)]))
    assert task.highs is not None
    assert 1 + len(task.highs) == words
    counted = walker.run(task, np.zeros(1, dtype=np.int64))
    assert counted is not None
    assert len(np.unique(counted.nodes)) == 2**7
    numbers, lattice = asked.read(asked.translation, counted), Lattice(table.hierarchies)
    for node in np.unique(counted.nodes)[::9].tolist():
        recoding = lattice.decode(lattice.levels(np.array([node]))[0])
        slow = asked.by_partitions([(node, p) for p in partitions(table, recoding, asked.suppression)])
        mine = numbers.take(np.flatnonzero(numbers.which == node))
        assert mine.suppressed.tolist() == slow.suppressed.tolist()
        assert mine.thresholds.tolist() == slow.thresholds.tolist()
        assert np.allclose(mine.values, slow.values, rtol=1e-9, atol=1e-12)


def test_a_bounded_walk_takes_them_too() -> None:
    """Branch and bound over keys of two words gives the front that counting all nodes gives."""
    table = make_rows(300, (256,) * 9, (3,) + (2,) * 8, values=4)
    asked = problem(table, ["k", "l", "lm"], 0.05)
    assert asked.translation is not None
    assert Walker(table, asked.translation.wanted).base().highs is not None
    whole = exact_front(asked)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "WHOLE", 1)
        assert exact.find_way(asked).kind == "roll-up"
        bounded = exact_front(asked)
    assert sorted(bounded.numbers.keys.tolist()) == sorted(whole.numbers.keys.tolist())


@given(data=st.data())
def test_fields_of_a_key_may_straddle_words(data: st.DataObject) -> None:
    """What is packed is found again, and keys sort as their fields do, the last one first."""
    bits = data.draw(st.lists(st.integers(1, 30), min_size=1, max_size=9))
    rows = [data.draw(st.tuples(*(st.integers(0, 2**width - 1) for width in bits))) for _ in range(5)]
    words = pack_keys([np.array(code) for code in zip(*rows, strict=True)], bits)
    for place, row in enumerate(rows):
        key = sum(int(word) << (62 * w) for w, word in enumerate(words[:, place]))
        assert key == sum(code << sum(bits[:a]) for a, code in enumerate(row))


def test_one_word_stays_one_word() -> None:
    """A table that fits into one word is packed into one, whatever its hierarchies declare."""
    table = make_postcodes(5_000, 60, 150, cut_down=False)
    assert Walker(table, Wanted(Suppression("none"))).base().highs is None
