"""All 17,920 nodes of the Adult lattices, against brute force on a sample and against the known fronts."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kpareto.fronts.count_lattice import CountedNodes, Wanted, count_lattice, lattice_of
from kpareto.fronts.packed_values import HistNumber
from kpareto.kernels.words import CLASSES, DISTINCT, INTS, MINORITY, OWN, SQUARES, SUPPRESSED, T_EQUAL, K
from kpareto.measures.cells import glm
from kpareto.tables.adult import FOLDER, adult, adult_table
from kpareto.tables.partition import Suppression
from kpareto.tables.table import Domain, Table

GOLDEN = Path(__file__).parents[1] / "golden"
ALLOWED = 301  # rows that may be suppressed: 1 % of 30,162
QUASI = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country", "salary-class")
SETS = {"default": ("fronts_default.json", "age"), "replication": ("fronts_age_doubling.json", "age_doubling")}
SAMPLE = 12  # nodes checked by brute force in each of the four lattices


# --- the slow twin: dicts, tuples and fractions, no code shared with the package but the embedded rows -------------


@cache
def plain_rows() -> tuple[dict[str, str], ...]:
    """The complete rows of the training part, as dicts of texts."""
    columns = adult("train").to_pydict()
    names = [*QUASI, "occupation"]
    rows = zip(*([str(value) for value in columns[name]] for name in names), strict=True)
    return tuple(dict(zip(names, row, strict=True)) for row in rows if "?" not in row)


@cache
def labels(age: str, name: str) -> dict[str, list[str]]:
    """Value -> its label on each level, from the hierarchy file line by line."""
    file = FOLDER / "hierarchies" / "dgh" / f"adult_dgh_{age if name == 'age' else name}.csv"
    lines = [line.split(";") for line in file.read_text(encoding="utf-8").splitlines()]
    return {line[0]: line for line in lines}


@dataclass(frozen=True)
class Twin:
    """What brute force finds at one node under cap-max-k."""

    k: int
    suppressed: int
    classes: int
    glm: Fraction
    dcn: int
    s_k: int
    s_l: int
    distinct: int
    t: Fraction
    cm: int


def largest_k(sizes: list[int]) -> int:
    """The largest k such that classes smaller than k hold at most ALLOWED rows (cap-max-k)."""
    k = 1
    while sum(size for size in sizes if size < k + 1) <= ALLOWED:
        k += 1
    return k


def cell_loss(age: str, name: str, level: int, label: str, counted: frozenset[str]) -> Fraction:
    """(values under the label − 1) / (values − 1), over the values that the domain counts."""
    under = sum(1 for value, line in labels(age, name).items() if line[level] == label and value in counted)
    return Fraction(under - 1, len(counted) - 1)


def distance(part: Counter[str], whole: Counter[str]) -> Fraction:
    """Half the sum of the differences between two distributions: t-closeness with equal distances."""
    shares = (Fraction(part[value], part.total()) - Fraction(whole[value], whole.total()) for value in whole)
    return sum(map(abs, shares), Fraction(0)) / 2


def brute_force(age: str, columns: tuple[str, ...], levels: list[int], observed: bool) -> Twin:
    """One node, row by row."""
    rows = plain_rows()
    classes: dict[tuple[str, ...], list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        classes[tuple(labels(age, n)[row[n]][level] for n, level in zip(columns, levels, strict=True))].append(row)
    k = largest_k([len(members) for members in classes.values()])
    kept = {key: members for key, members in classes.items() if len(members) >= k}
    lost = sum(len(members) for members in classes.values() if len(members) < k)
    loss = Fraction(lost * len(columns))
    for place, (name, level) in enumerate(zip(columns, levels, strict=True)):
        counted = frozenset(row[name] for row in rows) if observed else frozenset(labels(age, name))
        shown = Counter(dict.fromkeys({key[place] for key in kept}, 0))
        for key, members in kept.items():
            shown[key[place]] += len(members)
        loss += sum(n * cell_loss(age, name, level, label, counted) for label, n in shown.items())
    whole = Counter(row["occupation"] for row in rows)
    jobs = [Counter(row["occupation"] for row in members) for members in kept.values()]
    pay = [Counter(row["salary-class"] for row in members) for members in kept.values()]
    squares = sum(len(members) ** 2 for members in kept.values())
    return Twin(
        k=min(len(members) for members in kept.values()),
        suppressed=lost,
        classes=len(kept),
        glm=loss,
        dcn=squares + len(rows) * lost,
        s_k=squares,
        s_l=sum(n * n for job in jobs for n in job.values()),
        distinct=min(len(job) for job in jobs),
        t=max(distance(job, whole) for job in jobs),
        cm=lost + sum(group.total() - max(group.values()) for group in pay),
    )


# --- the package's own counts ---------------------------------------------------------------------------------------


@cache
def counted(preset: str, target: bool, domain: Domain | None = None) -> tuple[Table, CountedNodes]:
    """Every node of a preset's lattice; with a target, salary is no quasi-identifier."""
    table = adult_table(preset, target="salary-class" if target else None, domain=domain)
    sensitive = table.sensitive[0]
    numbers = [HistNumber(kind, sensitive) for kind in (DISTINCT, OWN, T_EQUAL)]
    if target:
        numbers.append(HistNumber(MINORITY, table.targets[0]))
    wanted = Wanted(Suppression("cap-max-k", 0.01), (glm(),), tuple(numbers), sizes=True)
    return table, count_lattice(table, wanted)


def column(table: Table, found: CountedNodes, name: str) -> np.ndarray:
    """One number of every node, in node order: exact whole numbers, GLM in cells, t a share."""
    ints, reals = found.ints, found.reals
    lost = ints[:, SUPPRESSED]
    if name == "glm":
        return ints[:, INTS] * float(glm().scale(table))
    if name == "dcn":
        return ints[:, SQUARES] + table.rows * lost
    if name == "cm":
        return (reals[:, 3] + lost).astype(np.int64)
    places = {"k": K, "suppressed": SUPPRESSED, "classes": CLASSES, "s_k": SQUARES}
    if name in places:
        return ints[:, places[name]]
    return reals[:, {"distinct": 0, "s_l": 1, "t": 2}[name]]


LATTICES = [(preset, target) for preset in SETS for target in (False, True)]
SAMPLED = [
    (preset, target, number)
    for preset, target in LATTICES
    for number in sorted(random.Random(f"{preset} {target}").sample(range(8960 if target else 17920), SAMPLE))
]


@pytest.mark.parametrize(("preset", "target"), LATTICES)
def test_every_node_is_counted_once(preset: str, target: bool) -> None:
    """17,920 nodes with salary as quasi-identifier, 8,960 without, each with one row of numbers."""
    table, found = counted(preset, target)
    size = 8960 if target else 17920
    assert lattice_of(table).size == size
    assert found.nodes.tolist() == list(range(size))


@pytest.mark.parametrize(("preset", "target", "number"), SAMPLED)
def test_a_node_has_the_numbers_of_brute_force(preset: str, target: bool, number: int) -> None:
    """Row by row with dicts and fractions, a sampled node has the same k, l, t, losses and spreads."""
    table, found = counted(preset, target)
    columns = QUASI[:7] if target else QUASI
    assert table.schema.quasi == columns
    levels = lattice_of(table).levels(np.array([number]))[0].tolist()
    twin = brute_force(SETS[preset][1], columns, levels, observed=table.domain == "observed")
    for name in ("k", "suppressed", "classes", "dcn", "s_k", "s_l", "distinct"):
        assert column(table, found, name)[number] == getattr(twin, name), name
    assert int(found.ints[number, INTS]) * glm().scale(table) == twin.glm
    assert column(table, found, "t")[number] == pytest.approx(float(twin.t), abs=1e-12)
    if target:
        assert column(table, found, "cm")[number] == twin.cm


# --- the known fronts -----------------------------------------------------------------------------------------------


def non_dominated(costs: np.ndarray) -> set[tuple[float, ...]]:
    """The vectors that no other vector is at least as good as everywhere and better somewhere; lower is better."""
    distinct = np.unique(costs, axis=0)  # (vectors, objectives), in lexicographic order
    kept: list[np.ndarray] = []
    for vector in distinct:  # what dominates a vector stands before it
        if not any((other <= vector).all() for other in kept):
            kept.append(vector)
    return {tuple(vector.tolist()) for vector in kept}


OBJECTIVES = {
    "k_GLM": ("k", "glm"),
    "k_ell_GLM": ("k", "distinct", "glm"),
    "k_DCN": ("k", "dcn"),
    "k_CM": ("k", "cm"),
    "k_GLM_CM": ("k", "glm", "cm"),
}
GOLDEN_NAMES = {"k": "k", "distinct": "ell", "glm": "GLM", "dcn": "DCN", "cm": "CM"}
HIGHER = {"k", "distinct"}


@pytest.mark.parametrize("front", list(OBJECTIVES))
@pytest.mark.parametrize("preset", list(SETS))
def test_fronts_are_the_known_ones(preset: str, front: str) -> None:
    """The non-dominated vectors over all nodes are those of the golden file, one for one."""
    golden: dict[str, Any] = json.loads((GOLDEN / SETS[preset][0]).read_text(encoding="utf-8"))
    assert (golden["eta"], golden["rows"]) == (ALLOWED, 30162)
    names = OBJECTIVES[front]
    target = "cm" in names
    assert tuple(golden[front]["attributes"]) == (QUASI[:7] if target else QUASI)
    signs = [-1 if name in HIGHER else 1 for name in names]
    table, found = counted(preset, target, "declared")  # as the papers count, and the golden files
    columns = [sign * column(table, found, name) for name, sign in zip(names, signs, strict=True)]
    mine = non_dominated(np.stack(columns, axis=1).astype(np.float64).round(4))
    theirs = {
        tuple(round(sign * float(point[GOLDEN_NAMES[name]]), 4) for name, sign in zip(names, signs, strict=True))
        for point in golden[front]["front"]
    }
    assert mine == theirs
    assert len(theirs) <= golden[front]["count"]


@pytest.mark.parametrize("front", list(OBJECTIVES))
@pytest.mark.parametrize("preset", list(SETS))
def test_nodes_of_the_known_fronts_have_their_numbers(preset: str, front: str) -> None:
    """Every golden node, looked up by its levels, has the golden numbers."""
    golden: dict[str, Any] = json.loads((GOLDEN / SETS[preset][0]).read_text(encoding="utf-8"))
    target = "CM" in front
    table, found = counted(preset, target, "declared")
    for point in golden[front]["front"]:
        at = int(lattice_of(table).numbers(np.array([point["node"]]))[0])
        assert found.nodes[at] == at
        for mine, theirs in (("k", "k"), ("suppressed", "suppressed"), ("dcn", "DCN")):
            assert column(table, found, mine)[at] == point[theirs]
        assert column(table, found, "glm")[at] == pytest.approx(point["GLM"], abs=5e-5)
        if target:
            assert column(table, found, "cm")[at] == point["CM"]
        else:
            assert column(table, found, "distinct")[at] == point["ell"]


def test_a_planted_lie_is_caught() -> None:
    """The filter sees one vector that is better by a hair, and drops one that is worse by a hair."""
    costs = np.array([[-5.0, 10.0], [-5.0, 10.0], [-7.0, 12.0], [-4.0, 10.0001], [-7.0, 12.0001]])
    assert non_dominated(costs) == {(-5.0, 10.0), (-7.0, 12.0)}
    assert non_dominated(np.vstack((costs, [[-5.0, 9.9999]]))) == {(-5.0, 9.9999), (-7.0, 12.0)}
