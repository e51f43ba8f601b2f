"""Crossover, mutation and first genomes: what the papers' operators do, and that they never leave the space."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto import kernels
from kpareto.cuts import Cuts, genome_text, make_cuts, read_genome
from kpareto.datasets import adult_hierarchies
from kpareto.errors import BadJob
from kpareto.variation import cross, first_genomes, gene_columns, immigrate, mutate, operator_of, safe_cuts
from tests.strategies import Case, cases
from tests.test_space import NINE, WORK, bound

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


def test_reduced_surrogate() -> None:
    """O9: parents that disagree at bits 3 to 6; with bits 4 and 5 of the second the child is 1010110111."""
    one, two = read_genome("1011010111").astype(np.uint8), read_genome("1000100111").astype(np.uint8)
    places = np.flatnonzero(one != two).tolist()
    assert places == [2, 3, 4, 5]
    state, room = kernels.seeded(1), np.zeros(11, dtype=np.int64)
    found = set()
    for _ in range(300):
        child = np.zeros(10, dtype=np.uint8)
        kernels.cross_reduced(one, two, child, room, state)
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
    column, free = gene_columns(space).tolist(), space.free_genes.tolist()
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
    """TRAD, one-point, mutation and fresh blood give valid genomes only."""
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
    for start in ("uniform", "spread"):
        genomes = first_genomes(space, 300, rng, start, top)
        assert len(np.unique(genomes, axis=0)) == 300
        assert space.valid(genomes).all()
        assert not genomes[0].any()
    assert genomes.mean(axis=1).min() < 0.05 < 0.5 < genomes.mean(axis=1).max()
    assert len(first_genomes(bound(WORK), 50, rng)) == 9


def test_wrong_operators_are_named() -> None:
    """Messages say what was given and what to do."""
    space, rng = bound(WORK), np.random.default_rng(1)
    genomes = space.sample(2, rng)
    with pytest.raises(BadJob, match=r"No crossover 'neww'\. Did you mean 'new'\?"):
        operator_of("neww")
    with pytest.raises(BadJob, match=r"has 3 points\. Give 1 or 2"):
        cross(space, genomes, genomes, rng, points=3)
    with pytest.raises(BadJob, match="mutation rate is 2"):
        mutate(space, genomes, rng, 2)
    with pytest.raises(BadJob, match="crossed with a fresh one is -1"):
        immigrate(space, genomes, rng, -1)
    with pytest.raises(BadJob, match="No way to begin called 'random'"):
        first_genomes(space, 2, rng, "random")  # type: ignore[arg-type]
