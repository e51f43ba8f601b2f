"""Spaces: genomes by cuts, which of them are valid, the nearest valid one, fair chance, and lattice nodes inside."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.errors import BadInput, BadJob
from kpareto.fronts.problem import problem
from kpareto.tables.adult import adult_hierarchies, adult_table
from kpareto.tables.cuts import Cuts, genome_text, make_cuts, make_order, read_genome
from kpareto.tables.hierarchy import Hierarchy, bits_cut, flat, runs_of
from kpareto.tables.lattice import Lattice
from kpareto.tables.partition import Suppression
from kpareto.tables.recoding import Recoding, node
from tests.twins.strategies import Case, cases, hierarchies

WORK = adult_hierarchies("iyengar_157")["workclass"]
NINE = ["0000000", "0100110", "0100111", "0111110", "0111111", "1100110", "1100111", "1111110", "1111111"]


def strings(count: int) -> np.ndarray:
    """All strings of 0 and 1 of a length."""
    return np.array(list(itertools.product((0, 1), repeat=count)), dtype=np.int64).reshape(2**count, count)


def valid_strings(hierarchy: Hierarchy) -> set[tuple[int, ...]]:
    """Slow twin: every string whose groups are all nodes of the tree."""
    runs = set(zip(hierarchy.tree.first.tolist(), hierarchy.tree.last.tolist(), strict=True))
    return {
        tuple(bits)
        for bits in strings(len(hierarchy.leaves) - 1).tolist()
        if set(runs_of(bits_cut(np.array(bits)))) <= runs
    }


def tree_strings(hierarchy: Hierarchy) -> set[tuple[int, ...]]:
    """Every cut of a tree as bits, by recursion: a node is shown whole, or its children are cut apart."""
    tree = hierarchy.tree

    def below(place: int) -> list[tuple[int, ...]]:
        width = int(tree.last[place] - tree.first[place])
        found = [(0,) * width]
        if tree.children[place]:
            parts = itertools.product(*(below(child) for child in tree.children[place]))
            found += [tuple(itertools.chain.from_iterable((*part, 1) for part in choice))[:-1] for choice in parts]
        return found

    return set(below(0))


def bound(hierarchy: Hierarchy) -> Cuts:
    """The space of one column bound to its tree."""
    return Cuts((hierarchy,), (False,))


def test_the_work_class_tree_has_nine_cuts() -> None:
    """O4 and O6: 9 of the 128 strings are valid, 93 % fewer; self-employed … unemployed is one of them."""
    space = bound(WORK)
    every = strings(7)
    assert [genome_text(bits) for bits in every[space.valid(every)]] == NINE
    assert space.size == 9
    assert pytest.approx(0.9297, abs=5e-5) == 1 - 9 / 128
    assert space.valid(read_genome("0111110")[None, :])[0]


def test_a_deep_border_needs_the_shallow_ones() -> None:
    """O5: bit 3 = 1 implies bits 2, 4, 5 and 6 in every valid string."""
    for text in NINE:
        assert text[2] == "0" or [text[i] for i in (1, 3, 4, 5)] == ["1"] * 4


def test_nearest_of_a_broken_child() -> None:
    """O7: 0110111 is one gene away from 0111111 and from 0100111, and repair takes each about half the time."""
    space, rng = bound(WORK), np.random.default_rng(1)
    broken = np.repeat(read_genome("0110111")[None, :], 400, axis=0)
    fixed = [genome_text(bits) for bits in space.repair(broken, rng)]
    assert set(fixed) == {"0111111", "0100111"}
    assert 140 < fixed.count("0111111") < 260
    assert set(space.distance(broken).tolist()) == {1}


def check_repair(hierarchy: Hierarchy, every: np.ndarray) -> None:
    """Each string is turned into one of the nearest valid ones, and every nearest one is met."""
    space, rng = bound(hierarchy), np.random.default_rng(3)
    known = sorted(tree_strings(hierarchy))
    if every.shape[1] <= 7:
        assert set(known) == valid_strings(hierarchy)
    valid = np.array(known, dtype=np.int64).reshape(len(known), every.shape[1])
    tries = 40 if len(every) <= 128 else 1
    fixed = space.repair(np.repeat(every, tries, axis=0), rng).reshape(len(every), tries, -1)
    far = np.abs(every[:, None, :] - valid[None, :, :]).sum(axis=2)
    assert space.distance(every).tolist() == far.min(axis=1).tolist()
    for place, bits in enumerate(every):
        nearest = {tuple(v) for v in valid[far[place] == far[place].min()].tolist()}
        got = {tuple(v) for v in fixed[place].tolist()}
        assert got <= nearest, (bits, got, nearest)
        if tries > 1 and len(nearest) <= 3:
            assert got == nearest


def test_repair_is_the_nearest_on_all_strings_of_the_work_class_tree() -> None:
    """All 128 strings: repair equals brute force, ties included."""
    check_repair(WORK, strings(7))


@settings(max_examples=40)
@given(hierarchy=hierarchies(most_leaves=7, distance=False))
def test_repair_is_the_nearest_on_random_trees(hierarchy: Hierarchy) -> None:
    """Random trees of up to 7 leaves, every string."""
    check_repair(hierarchy, strings(len(hierarchy.leaves) - 1))


@settings(max_examples=25)
@given(hierarchy=hierarchies(most_leaves=16, distance=False), seed=st.integers(0, 2**32))
def test_repair_is_the_nearest_on_larger_trees(hierarchy: Hierarchy, seed: int) -> None:
    """Random trees of up to 16 leaves, random strings."""
    count = len(hierarchy.leaves) - 1
    drawn = np.random.default_rng(seed).integers(0, 2, (30, count))
    check_repair(hierarchy, drawn.astype(np.int64))


def test_sampling_is_uniform() -> None:
    """Each of the nine cuts is drawn about as often as any other; so are the 2³ · 9 of a mixed space."""
    rng = np.random.default_rng(5)
    drawn = [genome_text(bits) for bits in bound(WORK).sample(9000, rng)]
    assert set(drawn) == set(NINE)
    assert all(850 < drawn.count(text) < 1150 for text in NINE)
    age = adult_hierarchies("lunacek_92")["age"]
    mixed = make_cuts((age, WORK))
    genomes = mixed.sample(2000, rng)
    assert mixed.valid(genomes).all()
    assert np.allclose(genomes[:, :6].mean(axis=0), 0.5, atol=0.05)


@pytest.mark.parametrize(("preset", "bits"), [("iyengar_157", 157), ("lunacek_92", 92), ("dewri_gecco09_105", 105)])
def test_the_papers_spaces(preset: str, bits: int) -> None:
    """IY-r1, LU-2, GE-2: the papers' numbers of bits; LU's space has about 2⁴² recodings."""
    space = make_cuts(tuple(adult_hierarchies(preset).values()))
    assert len(space.genes) == bits
    if preset == "lunacek_92":
        assert math.log2(space.size) == pytest.approx(42.58, abs=0.01)
    if preset == "dewri_gecco09_105":
        assert space.size == 2**105


@settings(max_examples=60)
@given(case=cases(most_columns=3))
def test_every_lattice_node_is_a_genome(case: Case) -> None:
    """Nodes embed into cuts and order (readings.md#spaces), decode to the same cuts, and encode back."""
    lattice = Lattice(case.table.hierarchies)
    levels = lattice.levels(np.arange(lattice.size))
    for space in (make_cuts(case.table.hierarchies), make_order(case.table.hierarchies)):
        genomes = space.embed(levels)
        assert space.valid(genomes).all()
        assert np.array_equal(space.cuts(genomes), lattice.cuts(levels))
        recoding = space.decode(genomes[-1])
        assert np.array_equal(space.encode(recoding), genomes[-1])


@settings(max_examples=15)
@given(case=cases(most_columns=2, most_leaves=5), k=st.integers(1, 3))
def test_the_best_flexible_loss_is_no_worse_than_the_lattice(case: Case, k: int) -> None:
    """Embedding: with equal k and rule, the best of all cuts is at most the best node."""
    table = case.table
    judged = problem(table, ["lm"], Suppression("below-k", k=k))
    lattice, space = Lattice(table.hierarchies), make_order(table.hierarchies)
    nodes = judged.evaluate(lattice, lattice.levels(np.arange(lattice.size)), 1)
    cuts = judged.evaluate(space, strings(len(space.genes)), 1)
    assert cuts.keys.min() <= nodes.keys.min()


def test_spaces_with_few_borders() -> None:
    """A free column limited to some borders has a gene for each of them, and cuts only there."""
    age = adult_hierarchies("lunacek_92")["age"]
    space = make_cuts((age,), {"age": np.array([1, 4])})
    assert space.size == 4
    assert space.cuts(np.array([[1, 1], [0, 1]])).tolist() == [[0, 0, 1, 1, 1, 2, 2], [0, 0, 0, 0, 0, 1, 1]]
    assert space.embed(np.array([[0]])).tolist() == [[1, 1]]
    with pytest.raises(BadInput, match="is not among the borders allowed there"):
        space.encode(node((age,), [0]))


def test_wrong_genomes_and_borders_are_named() -> None:
    """Messages say what was given and what to do."""
    age = adult_hierarchies("lunacek_92")["age"]
    space = make_cuts((WORK,))
    with pytest.raises(BadInput, match=r"which is no group of its tree\. Repair the genome first"):
        space.decode(read_genome("0110111"))
    with pytest.raises(BadInput, match="has 7 genes, each 0 or 1; 3 were given"):
        space.decode([0, 1, 1])
    with pytest.raises(BadInput, match="is not a cut of its tree"):
        space.encode(Recoding((WORK,), (bits_cut(np.array([0, 1, 1, 0, 1, 1, 1])),)))
    with pytest.raises(BadJob, match="follows its tree, so it takes no list of borders"):
        make_cuts((WORK,), {"workclass": np.array([0])})
    with pytest.raises(BadJob, match=r"given for 'agee', which is no column to recode\. Did you mean 'age'\?"):
        make_cuts((age,), {"agee": np.array([0])})
    with pytest.raises(BadJob, match="must rise and lie between 0 and 5"):
        make_cuts((age,), {"age": np.array([6])})
    with pytest.raises(BadInput, match="written with 0 and 1 only; 2 was given"):
        read_genome("012")
    with pytest.raises(BadInput, match="Say for each of the 1 columns whether it is free; 2 given"):
        Cuts((age,), (True, False))


def test_points_of_cuts_describe_their_groups() -> None:
    """A recoding by cuts names the first and last leaf of each group, as the front's JSON has it."""
    table = adult_table("lunacek_92")
    space = make_cuts(table.hierarchies)
    described = space.decode(np.zeros(92, dtype=np.int64)).describe()
    assert described["sex"] == [["Male", "Female"]] or described["sex"] == [["Female", "Male"]]
    assert len(described) == 8


def test_levels_of_nodes_in_a_lattice_beyond_64_bits() -> None:
    """Seventy columns of two levels: a number of 64 bits has the levels of the last sixty-three, before them all are 0."""
    space = Lattice((flat("x", ["a", "b"]),) * 70)
    bits = space.levels(np.array([5, 2**63 - 1], dtype=np.int64))
    assert bits[0].tolist() == [0] * 67 + [1, 0, 1]
    assert bits[1].tolist() == [0] * 7 + [1] * 63
    assert space.levels(np.zeros(0, dtype=np.int64)).shape == (0, 70)
