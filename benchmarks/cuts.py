"""Benchmarks of recodings by cuts: what one evaluation costs inside a genetic search.

The cost depends on the recodings: coarse ones have few classes. So the populations are those of a real, small
evolution: random cuts of several densities at its start, their offspring in the middle and at the end.
"""

from __future__ import annotations

import numpy as np

from benchmarks.clock import Line, best, peak_bytes
from benchmarks.lattice import with_target
from kpareto.fronts.count_cuts import CutCounter
from kpareto.fronts.count_lattice import Wanted
from kpareto.fronts.packed_values import HistNumber
from kpareto.fronts.problem import problem
from kpareto.kernels.words import CLASSES, INTS, MINORITY
from kpareto.measures.cells import lm
from kpareto.searches.cuts.score import Score
from kpareto.searches.cuts.variation import first_genomes
from kpareto.tables.adult import adult_table
from kpareto.tables.cuts import make_cuts
from kpareto.tables.hierarchy import Hierarchy, bits_cut
from kpareto.tables.partition import Suppression
from kpareto.tables.table import Table

POPULATION, GENERATIONS = 256, 60
DENSITIES = (0.05, 0.15, 0.3, 0.5, 0.8)


def random_cut(hierarchy: Hierarchy, rng: np.random.Generator, density: float) -> np.ndarray:
    """A cut of one column: borders between neighbours, or tree nodes split, with this probability."""
    count = len(hierarchy.leaves)
    if hierarchy.ordered:
        return bits_cut(rng.random(count - 1) < density)
    tree, covered = hierarchy.tree, 0
    bits = np.zeros(count, dtype=np.uint8)
    for first, last in zip(tree.first.tolist(), tree.last.tolist(), strict=True):  # a node before its children
        if first == covered and (first == last or rng.random() >= density):
            bits[first] = 1
            covered = last + 1
    return bits_cut(bits[1:])


def populations(table: Table, counter: CutCounter, rng: np.random.Generator, size: int) -> list[np.ndarray]:
    """The first, the middle and the last population of an evolution towards low LM: (size, all leaves) int32 each."""
    columns = table.hierarchies
    borders = counter.leaf_at.tolist()
    genomes = np.stack(
        [np.concatenate([random_cut(h, rng, DENSITIES[i % len(DENSITIES)]) for h in columns]) for i in range(size)]
    ).astype(np.int32)
    kept = [genomes]
    costs = counter.count(genomes).ints[:, INTS]
    for generation in range(1, GENERATIONS + 1):
        rivals = rng.integers(size, size=(2, 2, size))
        mothers, fathers = np.where(costs[rivals[:, 0]] <= costs[rivals[:, 1]], rivals[:, 0], rivals[:, 1])
        young = genomes[mothers]
        for c, hierarchy in enumerate(columns):  # whole columns are exchanged, so every child is valid
            place = slice(borders[c], borders[c + 1])
            other = rng.random(size) < 0.5
            young[other, place] = genomes[fathers[other], place]
            for i in np.flatnonzero(rng.random(size) < 1 / len(columns)).tolist():
                young[i, place] = _mutate(young[i, place], hierarchy, rng)
        both = np.concatenate((genomes, young))
        costs = np.concatenate((costs, counter.count(young).ints[:, INTS]))
        order = np.argsort(costs, kind="stable")[:size]
        genomes, costs = both[order], costs[order]
        if generation in (GENERATIONS // 3, GENERATIONS):
            kept.append(genomes)
    return kept


def _mutate(cut: np.ndarray, hierarchy: Hierarchy, rng: np.random.Generator) -> np.ndarray:
    if not hierarchy.ordered or len(cut) == 1:
        return random_cut(hierarchy, rng, float(rng.choice(DENSITIES)))
    bits = np.diff(cut)
    bits[rng.integers(len(bits))] ^= 1
    return bits_cut(bits)


def _lines(table: Table, bits: int, quick: bool) -> list[Line]:
    wanted = Wanted(Suppression("below-k", k=10), (lm(),), (HistNumber(MINORITY, table.targets[0]),), sizes=True)
    counter = CutCounter(table, wanted)
    kept = populations(table, counter, np.random.default_rng(1), 32 if quick else POPULATION)
    repeats = 1 if quick else 5
    bar = "" if quick else f"cuts-{bits}"
    what = f"one recoding, {bits} bits: LM, CM, suppression, k, NECD"
    everyone = np.concatenate(kept)
    lines: list[Line] = []
    for threads in (1, 2):
        time = best(lambda threads=threads: counter.count(everyone, threads), repeats)  # type: ignore[misc]
        note = "" if threads == 1 else f"{lines[0].time.wall / time.wall:.2f} x one thread"
        posts = bar if threads == 1 else ""
        lines.append(Line(what, time, len(everyone), "recodings", True, threads, posts, note, peak_bytes()))
    for name, genomes in zip(("first", "middle", "last"), kept, strict=True):
        time = best(lambda genomes=genomes: counter.count(genomes, 1), repeats)  # type: ignore[misc]
        note = f"{int(np.median(counter.count(genomes, 1).ints[:, CLASSES]))} classes kept (median)"
        lines.append(Line(f"… {name} population", time, len(genomes), "recodings", True, 1, "", note, peak_bytes()))
    return lines


def bits_105(quick: bool) -> list[Line]:
    """The 105-bit scheme; salary is a quasi-identifier there, and CM counts it all the same."""
    return _lines(with_target(adult_table("dewri_gecco09_105"), "salary-class"), 105, quick)


def bits_157(quick: bool) -> list[Line]:
    """The 157-bit scheme."""
    return _lines(adult_table("iyengar_157"), 157, quick)


def uses(quick: bool) -> list[Line]:
    """Losses by use as GENITOR and as every other search counts them, one recoding each, beside a partition."""
    lines: list[Line] = []
    both = "multi-target(of=lm*1 + reg-variance*1 + reg-deviation*1)"
    for target, losses in (
        ("hours-per-week", ("lm", "reg-variance", "reg-deviation", both)),
        ("salary-class", ("cm", "cost-cm(costs=>50K/<=50K*5)")),
    ):
        table = adult_table("iyengar_157", target=target)
        space = make_cuts(table.hierarchies)
        genomes = first_genomes(space, 16 if quick else 256, np.random.default_rng(1), "spread")
        for loss in losses:
            score = Score(table, space, {loss: 1.0}, 100)
            asked = problem(table, [loss], score.suppression)
            slow = best(lambda score=score, few=genomes[:8]: [score.exact(genome) for genome in few], 1)  # type: ignore[misc]
            for who, work in (
                ("GENITOR", lambda score=score, genomes=genomes: score.raw(genomes)),
                ("others", lambda asked=asked, space=space, genomes=genomes: asked.evaluate(space, genomes, 1)),
            ):
                work()  # compiled
                time = best(work, 1 if quick else 5)
                ratio = slow.cpu / 8 / (time.cpu / len(genomes))
                note = f"{1e3 * slow.cpu / 8:.1f} ms by a partition, {ratio:.0f} x as long"
                what = f"one recoding, 157 bits, {who}: {loss}"
                lines.append(Line(what, time, len(genomes), "recodings", True, 1, "", note, peak_bytes()))
    return lines
