"""The parts of GENITOR's steady state, against lists and dicts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpareto.kernels.cuts.genitor import (
    GenomePopulation,
    copy_genes,
    insert_child,
    last_covering,
    memo_place,
    memo_rebuild,
    pack_genome,
    ranked_parent,
)
from kpareto.kernels.cuts.score import frequent_genes
from kpareto.kernels.hashing import random_unit, seed_stream

genomes_drawn = st.integers(1, 80).flatmap(
    lambda genes: st.lists(st.lists(st.integers(0, 1), min_size=genes, max_size=genes), min_size=1, max_size=12)
)


@given(genomes=genomes_drawn)
def test_the_memo_finds_each_genome_again(genomes: list[list[int]]) -> None:
    """Packed into words, every distinct genome has its own entry, and an unknown one a free place."""
    bits = np.unique(np.array(genomes, dtype=np.uint8), axis=0)
    words = -(-bits.shape[1] // 64)
    packed, table = np.zeros((len(bits), words), dtype=np.uint64), np.full(64, -1, dtype=np.int32)
    mixed = [int(pack_genome(row, packed[i])) for i, row in enumerate(bits)]
    for row, word in zip(bits, packed, strict=True):
        assert sum(int(w) << 64 * i for i, w in enumerate(word)) == sum(int(b) << g for g, b in enumerate(row))
    memo_rebuild(packed, len(bits) - 1, table)  # all but the last
    for i in range(len(bits)):
        entry = table[memo_place(packed[i], np.uint64(mixed[i]), packed, table)]
        assert entry == (i if i < len(bits) - 1 else -1)


@pytest.mark.parametrize("bias", [1.0, 1.5, 2.0])
def test_parents_are_drawn_with_linear_bias(bias: float) -> None:
    """The share of each tenth of the ranks falls in a straight line from bias to 2 - bias (Whitley 1989)."""
    state = seed_stream(3)
    drawn = np.array([ranked_parent(1000, bias, state) for _ in range(40_000)])
    shares = np.bincount(drawn // 100, minlength=10) / len(drawn)
    middle = np.arange(0.05, 1.0, 0.1)
    assert shares == pytest.approx((bias - 2 * (bias - 1) * middle) / 10, abs=0.006)
    one, two = seed_stream(5), seed_stream(5)
    assert ranked_parent(7, 1.0, one) == int(random_unit(two) * 7)


@given(scores=st.lists(st.integers(0, 5), min_size=2, max_size=9), child=st.integers(0, 4))
def test_a_child_takes_the_place_of_the_worst(scores: list[int], child: int) -> None:
    """It is ranked behind all that are as good, and the memo knows who is inside."""
    size = len(scores)
    genomes = np.arange(size, dtype=np.uint8)[:, None].copy()
    values = np.array(scores, dtype=np.float64)
    ranks = np.argsort(values, kind="stable").astype(np.int64)
    population = GenomePopulation(genomes, values, ranks, np.arange(size, dtype=np.int64))
    inside = np.array([1] * size + [0], dtype=np.int32)
    worst = int(ranks[-1])
    order = [(scores[i], i) for i in ranks[:-1].tolist()]
    place = sum(score <= child for score, _ in order)
    order.insert(place, (child, worst))
    insert_child(population, inside, np.array([99], dtype=np.uint8), float(child), size)
    assert ranks.tolist() == [i for _, i in order]
    assert values[ranks].tolist() == [score for score, _ in order]
    assert genomes[worst, 0] == 99
    assert inside.tolist() == [int(i != worst) for i in range(size)] + [1]
    assert population.entries[worst] == size


@given(genomes=genomes_drawn, slack=st.sampled_from([0.0, 0.1, 0.5, 2.0]))
def test_rare_genes_are_left_out(genomes: list[list[int]], slack: float) -> None:
    """As many of the rarest genes go as together occur at most ``slack`` times per genome."""
    population = np.array(genomes, dtype=np.uint8)
    kept = np.zeros(population.shape[1], dtype=np.uint8)
    frequent_genes(population, slack, kept)
    counts = population.sum(axis=0, dtype=np.int64)
    gone = counts[kept == 0]
    allowed = int(slack * len(population))
    assert gone.sum() <= allowed
    if kept.any():
        rarest = counts[kept == 1].min()
        assert gone.max(initial=0) <= rarest
        assert gone.sum() + rarest > allowed


@given(kept=st.lists(st.lists(st.integers(0, 1), min_size=4, max_size=4), min_size=1, max_size=3), data=st.data())
def test_the_last_covering_that_still_tell_a_child_apart(kept: list[list[int]], data: st.DataObject) -> None:
    """The last set of genes that has all genes of the child."""
    child = data.draw(st.lists(st.integers(0, 1), min_size=4, max_size=4))
    covers = [i for i, genes in enumerate(kept) if all(c <= g for c, g in zip(child, genes, strict=True))]
    bits = np.array(child, dtype=np.uint8)
    assert last_covering(bits, np.array(kept, dtype=np.uint8)) == (covers[-1] if covers else len(kept))
    out = np.full(4, 7, dtype=np.uint8)
    copy_genes(bits, out)
    assert out.tolist() == child
