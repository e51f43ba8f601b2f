"""Genomes crossed in pairs, against lists of genes."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.kernels.cuts.genomes import one_point_pairs
from kpareto.kernels.hashing import random_unit, seed_stream


@settings(max_examples=30)
@given(seed=st.integers(0, 999), pairs=st.integers(1, 4), genes=st.integers(1, 7))
def test_both_children_of_a_pair(seed: int, pairs: int, genes: int) -> None:
    """One point per pair: the second child has what the first one lacks; then single genes flip."""
    rng = np.random.default_rng(seed)
    genomes = rng.integers(0, 2, size=(5, genes)).astype(np.uint8)
    chosen = rng.integers(0, 5, size=2 * pairs)
    crossed, flips = rng.random(pairs) < 0.5, rng.random((2 * pairs, genes)) < 0.2
    state = seed_stream(seed)
    children = one_point_pairs(genomes, chosen, crossed, flips, state.copy())
    for i in range(pairs):
        point = 1 + int(random_unit(state) * max(genes - 1, 1))
        one, two = genomes[chosen[i]].tolist(), genomes[chosen[pairs + i]].tolist()
        cut = point if crossed[i] else genes
        for place, child in ((i, one[:cut] + two[cut:]), (pairs + i, two[:cut] + one[cut:])):
            assert children[place].tolist() == [
                gene ^ int(flip) for gene, flip in zip(child, flips[place], strict=True)
            ]
