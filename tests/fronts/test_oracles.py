"""The known answers (readings.md#known-answers) that concern hierarchies, suppression and measures.

Elsewhere: O1–O3 in test_cells, O7–O9 in test_variation, O11 and O23 in test_properties, O12 in test_boxes, O13 and O15
in test_preference, O14 in test_partition, O18 and O19 in test_targets, O20 and O27 in test_bias, O21 in test_sizes,
O22 in test_sensitive; what searches make of O17, O24 and O28 in test_poka and test_genitor.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from kpareto.measures import make
from kpareto.measures.measure import exact
from kpareto.tables.adult import adult_hierarchies, adult_table
from kpareto.tables.hierarchy import Hierarchy, bits_cut, flat, from_levels
from kpareto.tables.partition import Partition, Suppression, classes, partition
from kpareto.tables.recoding import Recoding, bottom, node
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table, make_table

GOLDEN = Path(__file__).parents[1] / "golden"


def table_of_codes(trees: Sequence[Hierarchy], rows: Sequence[tuple[int, ...]], labels: Sequence[str] = ()) -> Table:
    """A table of leaf codes, one row each, declared domain, with class labels where given."""
    schema = Schema(quasi=tuple(tree.name for tree in trees), target=("label",) if labels else ())
    values = tuple(sorted(set(labels)))
    extras: dict[str, tuple[tuple[str, ...], np.ndarray, np.ndarray | None]] = {}
    if labels:
        extras["label"] = (values, np.array([values.index(label) for label in labels]), None)
    codes = np.array(rows, dtype=np.int32)
    made = make_table(schema, tuple(trees), codes, np.ones(len(rows), dtype=np.int64), extras)
    return replace(made, domain="declared")


def numbers(table: Table, levels: Sequence[int], names: Sequence[str], limit: int = 0) -> tuple[object, ...]:
    """Exact values of measures at a node under cap-max-k."""
    made = partition(table, node(table.hierarchies, levels), Suppression("cap-max-k", limit))
    return tuple(exact(make(name), made) for name in names)


def front(table: Table, limit: int) -> list[tuple[object, ...]]:
    """The distinct undominated (k, GLM) of all nodes, by comparing all with all."""
    points = set()
    for levels in product(*(range(h.height + 1) for h in table.hierarchies)):
        k, glm = numbers(table, levels, ("k", "glm"), limit)
        assert isinstance(k, Fraction)
        assert isinstance(glm, Fraction)
        points.add((k, glm))
    return sorted(p for p in points if not any(q != p and q[0] >= p[0] and q[1] <= p[1] for q in points))


def test_o4_o5_o6_work_class_cuts() -> None:
    """O4–O6: 9 of the 128 bit strings of the work-class tree are cuts, and bit 3 implies bits 2, 4, 5 and 6."""
    tree = adult_hierarchies("iyengar_157")["workclass"]
    strings = ["".join(map(str, bits)) for bits in product((0, 1), repeat=7)]
    valid = {s for s in strings if tree.is_tree_cut(bits_cut(np.array([int(bit) for bit in s])))}
    listed = "0000000 0100110 0100111 0111110 0111111 1100110 1100111 1111110 1111111"
    assert valid == set(listed.split())
    assert len(valid) == tree.tree.cuts() == 9
    assert round(1 - len(valid) / 128, 4) == 0.9297
    assert all(s[i] == "1" for s in valid if s[2] == "1" for i in (1, 3, 4, 5))
    assert "0111110" in valid


def poka_table() -> Table:
    """Six rows with ZIP (3 levels), SEX and SALARY (2 levels) that give every number of O10."""
    codes = [(0, 0, 0), (0, 1, 0), (1, 0, 0), (2, 0, 1), (2, 1, 1), (3, 0, 1)]
    zips = from_levels(
        "zip", [("13053", "1305*", "*"), ("13058", "1305*", "*"), ("13063", "1306*", "*"), ("13067", "1306*", "*")]
    )
    return table_of_codes([zips, flat("sex", ["M", "F"]), flat("salary", ["<=50K", ">50K"])], codes)


def test_o10_node() -> None:
    """O10: node (1,1,0) has two classes of 3, k 3, GLM 8, DCN 18, NWP 4/9, NECD 0."""
    table = poka_table()
    made = classes(table, node(table.hierarchies, [1, 1, 0]))
    assert made.rows.tolist() == [3, 3]
    names = ("k", "glm", "dcn", "nwp", "necd")
    assert numbers(table, [1, 1, 0], names) == (3, 8, 18, Fraction(4, 9), 0)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (0, [(1, 0), (3, 8), (6, 18)]),
        (1, [(1, 0), (3, 8), (6, 18)]),
        (2, [(1, 0), (2, Fraction(22, 3)), (3, 8), (4, 14), (6, 18)]),
    ],
)
def test_o10_fronts(limit: int, expected: list[tuple[int, Fraction]]) -> None:
    """O10: the fronts of PO's first table for limits of 0, 1 and 2 rows; loss is not monotone under 2."""
    table = poka_table()
    assert front(table, limit) == expected
    if limit == 2:
        assert numbers(table, [0, 1, 0], ("k", "glm"), 2) == (2, 10)
        assert numbers(table, [1, 1, 0], ("k", "glm"), 2) == (3, 8)


def test_o16_more_general_more_private_and_cheaper() -> None:
    """O16: ten values in pairs; suppressing two rows at level 0 costs more than generalizing everything."""
    tree = from_levels("x", [(str(i), f"pair {i // 2}", "*") for i in range(10)])
    table = table_of_codes([tree], [(0,)] * 5 + [(1,)] + [(2,)] * 5 + [(3,)])
    names = ("k", "suppressed", "glm")
    assert numbers(table, [0], names, 2) == (5, 2, 2)
    assert numbers(table, [1], names, 2) == (6, 0, Fraction(4, 3))


def test_o17_xor_and_tie() -> None:
    """O17: the (k, CM) of the xor table and the (k, GLM) of the table of ties."""
    trees = [flat("a", ["0", "1"]), flat("b", ["0", "1"])]
    rows = [(a, b) for a in (0, 1) for b in (0, 1) for _ in range(3)]
    xor = table_of_codes(trees, rows, [str(a ^ b) for a, b in rows])
    found = {levels: numbers(xor, levels, ("k", "cm-rows")) for levels in product((0, 1), repeat=2)}
    assert found == {(0, 0): (3, 0), (0, 1): (6, 6), (1, 0): (6, 6), (1, 1): (12, 6)}
    tie = table_of_codes(trees, [(0, 0)] * 3 + [(1, 1)] * 3)
    found = {levels: numbers(tie, levels, ("k", "glm")) for levels in product((0, 1), repeat=2)}
    assert found == {(0, 0): (3, 0), (0, 1): (3, 6), (1, 0): (3, 6), (1, 1): (6, 12)}


def test_o28_a_cheap_node_above_a_dear_one() -> None:
    """O28: eight rows on which PO's height boundary stops too early; k, GLM and suppressed rows of all nodes."""
    lines = [(str(i), f"{i // 2}/4", f"{i // 4}/2", "*") for i in range(8)]
    trees = [from_levels("a", lines), flat("b", ["0", "1"])]
    rows = [(5, 0)] * 3 + [(5, 1)] * 2 + [(3, 1), (0, 1), (3, 0)]
    table = table_of_codes(trees, rows)
    expected = {
        (0, 0): (3, 10, 5),
        (1, 0): (3, Fraction(73, 7), 5),
        (2, 0): (3, Fraction(79, 7), 5),
        (3, 0): (4, 8, 0),
        (0, 1): (5, 11, 3),
        (1, 1): (5, Fraction(82, 7), 3),
        (2, 1): (5, Fraction(92, 7), 3),
        (3, 1): (8, 16, 0),
    }
    assert {levels: numbers(table, levels, ("k", "glm", "suppressed"), 5) for levels in expected} == expected
    assert front(table, 5) == [(4, 8), (5, 11), (8, 16)]


@cache
def iyengar() -> Table:
    """Adult as Iyengar saw it."""
    return adult_table("iyengar_157")


def printed_solution(marital: Sequence[int]) -> Partition:
    """The solution printed for k = 250 under CM: age at 39, education 1–4, 5–7 and 8–16 (ranks), marital as given."""
    table = iyengar()
    cuts = []
    for hierarchy in table.hierarchies:
        cut = np.zeros(len(hierarchy.leaves), dtype=np.int32)
        if hierarchy.name == "age":
            cut[[int(leaf) > 39 for leaf in hierarchy.leaves]] = 1
        elif hierarchy.name == "education":  # drawn from Doctorate (1) to Preschool (16)
            cut = np.array([0] * 4 + [1] * 3 + [2] * 9, dtype=np.int32)
        elif hierarchy.name == "marital-status":
            cut = np.array(marital, dtype=np.int32)
        cuts.append(cut)
    return classes(table, Recoding(table.hierarchies, tuple(cuts)))


@pytest.mark.parametrize(
    ("marital", "smallest", "wrong", "lm"),
    [
        ([0, 0, 0, 1, 1, 1, 2], 284, 5510, Fraction(198985744, 1095)),
        ([0, 0, 1, 1, 1, 1, 2], 288, 5443, Fraction(197573924, 1095)),
    ],
    ids=["flat tree", "spouse absent was married"],
)
def test_o24_iyengars_printed_solution(marital: list[int], smallest: int, wrong: int, lm: Fraction) -> None:
    """O24: 18 classes; smallest class, CM and LM for both readings of the marital tree.

    The two LM differ by the marital column alone, by (20,436 · 2/6 − 14,086 · 1/6 − 6,350 · 3/6) / (8 · 30,162) =
    .005343. The independent count of the second, .747767, was therefore off by .000002.
    """
    made = printed_solution(marital)
    assert made.classes == 18
    assert exact(make("k"), made) == smallest
    assert exact(make("cm-rows"), made) == wrong
    assert exact(make("cm"), made) == Fraction(wrong, 30162)
    assert exact(make("lm"), made) == lm / (8 * 30162)
    assert make("lm")(made) == pytest.approx(0.753109 if smallest == 284 else 0.747767, abs=2e-6)


def test_o25_raw_adult() -> None:
    """O25: 18,109 distinct rows, CM .072807, and how many rows stand in small classes."""
    table = iyengar()
    made = classes(table, bottom(table.hierarchies))
    assert made.classes == table.distinct == 18109
    assert make("cm")(made) == pytest.approx(0.072807, abs=5e-7)
    assert [int(made.rows[made.sizes < k].sum()) for k in (2, 5, 10)] == [14021, 21977, 25769]
    assert make("uniques")(made) == 14021


@cache
def lattice_table(preset: str, with_target: bool) -> Table:
    """Adult with the hierarchies of the lattice, all values declared as in the papers."""
    return adult_table(preset, target="salary-class" if with_target else None, domain="declared")


@pytest.mark.parametrize("preset", ["default", "age_doubling"])
@pytest.mark.parametrize("objectives", ["k_ell_GLM", "k_DCN", "k_GLM_CM"])
def test_o26_front_nodes(preset: str, objectives: str) -> None:
    """O26: k, l, GLM, DCN, CM and suppressed rows of golden front nodes come out of the slow path too."""
    golden = json.loads((GOLDEN / f"fronts_{preset}.json").read_text())
    table = lattice_table("replication" if preset == "age_doubling" else preset, "CM" in objectives)
    wanted = {"k": "k", "ell": "l", "GLM": "glm", "DCN": "dcn", "CM": "cm-rows", "suppressed": "suppressed"}
    points = golden[objectives]["front"]
    for point in points[:: max(len(points) // 6, 1)]:
        levels = dict(zip(golden[objectives]["attributes"], point["node"], strict=True))
        made = partition(table, node(table.hierarchies, levels), Suppression("cap-max-k", int(golden["eta"])))
        for name, measure in wanted.items():
            if name in point:
                assert make(measure)(made) == pytest.approx(point[name], rel=1e-9), (levels, name)
        if "Sk_nosupp" in point:
            whole = classes(table, made.recoding)
            assert make("s-k")(whole) == make("dcn")(whole) == point["Sk_nosupp"]
