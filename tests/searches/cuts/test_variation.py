"""Crossover, mutation and first genomes: what the papers' operators do, and that they never leave the space."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.kernels.cuts.genomes import cross_reduced
from kpareto.kernels.hashing import seed_stream
from kpareto.searches.cuts.variation import (
    cross,
    first_genomes,
    immigrate,
    imply,
    mutate,
    safe_cuts,
    toss,
)
from kpareto.tables.adult import adult_hierarchies
from kpareto.tables.cuts import Cuts, genome_text, make_cuts, read_genome
from tests.tables.test_lattice import NINE, WORK, bound
from tests.twins.strategies import Case, cases

ALL_157 = tuple(adult_hierarchies("iyengar_157").values())


def crossed(space: Cuts, one: str, two: str, crossover: str, tries: int = 200) -> set[str]:
    """The children of one pair of parents over many tries."""
    rng = np.random.default_rng(1)
    ones, twos = (np.repeat(read_genome(text)[None, :], tries, axis=0) for text in (one, two))
    children, made = cross(space, ones, twos, rng, crossover)  # type: ignore[arg-type]
    return {genome_text(child) for child in children[made]}


def test_new_cuts_at_shared_borders() -> None:
    """O8: 0111110 and 0100111 may be cut at bit 5 only; the children are 0111111 and 0100110."""
    space = bound(WORK)
    one, two = read_genome("0111110"), read_genome("0100111")
    assert safe_cuts(space, one, two) == [4]
    assert crossed(space, "0111110", "0100111", "new") == {"0111111"}
    assert crossed(space, "0100111", "0111110", "new") == {"0100110"}


def test_new_is_closed_on_all_pairs_of_the_work_class_tree() -> None:
    """All 81 pairs of valid parents: every child by NEW is valid without repair."""
    space = bound(WORK)
    for one, two in itertools.product(NINE, NINE):
        assert crossed(space, one, two, "new", 20) <= set(NINE)


def test_trad_can_break_a_tree_and_is_repaired() -> None:
    """O7: cut after bit 3 the same parents give 0110111, which is invalid; cut after bit 4 they give 0111111."""
    space = bound(WORK)
    one, two = "0111110", "0100111"
    assert one[:3] + two[3:] == "0110111"
    assert not space.valid(read_genome("0110111")[None, :])[0]
    assert one[:4] + two[4:] == "0111111"
    assert crossed(space, one, two, "trad") <= set(NINE)


def test_implied_borders_are_the_fewest_that_make_a_cut() -> None:
    """O5: of all cuts that draw at least the borders of a string, the implied one draws the fewest, and is unique."""
    space = bound(WORK)
    every = np.array(list(itertools.product((0, 1), repeat=7)))
    valid = every[space.valid(every)]
    for bits, drawn in zip(every, imply(space, every), strict=True):
        above = valid[(valid >= bits).all(axis=1)]
        fewest = above[above.sum(axis=1) == above.sum(axis=1).min()]
        assert fewest.tolist() == [drawn.tolist()]
    assert genome_text(imply(space, read_genome("0010000")[None, :])[0]) == "0111110"


@given(case=cases(persons=False, most_columns=3, most_leaves=5), seed=st.integers(0, 1000))
def test_tossed_genomes_are_valid_and_keep_their_coins(case: Case, seed: int) -> None:
    """Fair coins with implied borders are cuts, and so is everything that is bred from them with that repair."""
    space = make_cuts(case.table.hierarchies)
    rng = np.random.default_rng(seed)
    genomes = toss(space, 20, rng)
    assert space.valid(genomes).all()
    assert np.array_equal(imply(space, genomes), genomes)
    for crossover in ("trad", "one-point"):
        children, _ = cross(space, genomes[:10], genomes[10:], rng, crossover, repair="implied")
        assert space.valid(children).all()
    assert space.valid(mutate(space, genomes, rng, 0.3, "implied")).all()
    assert space.valid(immigrate(space, genomes, rng, 1.0, "implied")).all()
    assert space.valid(first_genomes(space, 10, rng, "implied")).all()


def test_a_fair_coin_is_fair() -> None:
    """In free columns half of the tossed borders are drawn; in trees more, since some are implied."""
    space = make_cuts(ALL_157)
    genomes = toss(space, 2000, np.random.default_rng(3))
    free = space.free_genes
    assert abs(genomes[:, free].mean() - 0.5) < 0.01
    assert genomes[:, ~free].mean() > 0.55


def test_reduced_surrogate() -> None:
    """O9: parents that disagree at bits 3 to 6; with bits 4 and 5 of the second the child is 1010110111."""
    one, two = read_genome("1011010111").astype(np.uint8), read_genome("1000100111").astype(np.uint8)
    places = np.flatnonzero(one != two).tolist()
    assert places == [2, 3, 4, 5]
    state, room = seed_stream(1), np.zeros(11, dtype=np.int64)
    found = set()
    for _ in range(300):
        child = np.zeros(10, dtype=np.uint8)
        cross_reduced(one, two, child, room, state)
        found.add(genome_text(child))
    wanted = set()
    for start, end in itertools.combinations(range(1, 4), 2):
        child = one.copy()
        child[places[start:end]] = two[places[start:end]]
        wanted.add(genome_text(child))
    assert found == wanted
    assert "1010110111" in found
    assert not {genome_text(one), genome_text(two)} & found


def safe_twin(space: Cuts, one: list[int], two: list[int], hybrid: bool) -> list[list[int]]:
    """Slow twin: per pair of neighbouring disagreements, every safe place between them."""
    column, free = space.gene_places.column.tolist(), space.free_genes.tolist()
    differ = [g for g in range(len(one)) if one[g] != two[g]]
    runs = []
    for left, right in itertools.pairwise(differ):
        places = [g for g in range(left + 1, right) if one[g] == two[g] == 1]
        if hybrid:
            places += [g for g in range(left + 1, right + 1) if free[g] or column[g] != column[g - 1]]
        if places:
            runs.append(sorted(set(places)))
    return runs


@settings(max_examples=80)
@given(case=cases(most_columns=3), seed=st.integers(0, 2**32), hybrid=st.booleans())
def test_safe_crossovers_never_leave_the_space(case: Case, seed: int, hybrid: bool) -> None:
    """NEW and hybrid on random mixed spaces: one cut per run of agreement as the twin says, all children valid."""
    space = make_cuts(case.table.hierarchies)
    rng = np.random.default_rng(seed)
    ones, twos = space.sample(20, rng), space.sample(20, rng)
    children, made = cross(space, ones, twos, rng, "hybrid" if hybrid else "new")
    assert space.valid(children).all()
    for one, two, child, has in zip(ones.tolist(), twos.tolist(), children.tolist(), made.tolist(), strict=True):
        runs = safe_twin(space, one, two, hybrid)
        found = safe_cuts(space, np.array(one), np.array(two), hybrid)
        assert [place in run for place, run in zip(found, runs, strict=True)] == [True] * len(runs)
        assert has == bool(runs)
        if has:
            assert child not in (one, two)


@settings(max_examples=40)
@given(case=cases(most_columns=3), seed=st.integers(0, 2**32))
def test_repaired_operators_stay_in_the_space(case: Case, seed: int) -> None:
    """TRAD, one-point, mutation and immigrants give valid genomes only."""
    space = make_cuts(case.table.hierarchies)
    rng = np.random.default_rng(seed)
    genomes = space.sample(16, rng)
    for crossover in ("trad", "one-point"):
        children, made = cross(space, genomes, genomes[::-1], rng, crossover)
        assert made.all()
        assert space.valid(children).all()
    assert space.valid(mutate(space, genomes, rng, 0.3)).all()
    assert space.valid(immigrate(space, genomes, rng, 1.0)).all()


def test_mutation_keeps_to_its_rate() -> None:
    """A free genome of 1,000 genes in all loses about one in ten, and none at rate 0."""
    space = make_cuts(tuple(adult_hierarchies("dewri_gecco09_105").values()))
    rng = np.random.default_rng(2)
    genomes = space.sample(100, rng)
    assert abs((mutate(space, genomes, rng, 0.1) != genomes).mean() - 0.1) < 0.01
    assert np.array_equal(mutate(space, genomes, rng, 0.0), genomes)


def test_first_genomes_are_distinct_and_valid() -> None:
    """Seeds come first, nothing comes twice, and spread genomes are of every coarseness."""
    space = make_cuts(ALL_157)
    rng = np.random.default_rng(3)
    top = np.zeros((1, 157), dtype=np.int64)
    for start in ("uniform", "random", "spread"):
        genomes = first_genomes(space, 300, rng, start, top)
        assert len(np.unique(genomes, axis=0)) == 300
        assert space.valid(genomes).all()
        assert not genomes[0].any()
    assert genomes.mean(axis=1).min() < 0.05 < 0.5 < genomes.mean(axis=1).max()
    assert len(first_genomes(bound(WORK), 50, rng)) == 9
