"""The code book: what labels stand for, counts that are never below k, and that they help no strong attacker."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import kpareto as kp
from kpareto.errors import BadJob
from kpareto.releases.choice import Choice
from kpareto.releases.labels import merge_counts
from kpareto.tables.hierarchy import MISSING, runs_of
from kpareto.tables.recoding import node
from tests.twins.releases import SCHEMA, chosen, people

CITIES = "Bonn;Rhine;*\nKoeln;Rhine;*\nUlm;South;*\nAalen;South;*\nGmund;South;*\n"


def frame(ages: list[int], cities: list[str]) -> pa.Table:
    """People by age and city."""
    return pa.table({"age": [str(age) for age in ages], "city": cities})


def told(done: kp.Release) -> dict[str, Any]:
    """The code book of a release, its labels as a dict."""
    book = done.certificate.public["codebook"]
    return {n: {**column, "labels": {label: ends for label, *ends in column["labels"]}} for n, column in book.items()}


def booked(rows: pa.Table, levels: dict[str, int], hierarchies: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The code book of a release by these levels."""
    table = kp.read(rows, kp.Schema(tuple(levels)), hierarchies=hierarchies)
    suppression = more.pop("suppression", kp.Suppression("none"))
    done = kp.release(Choice(table, node(table.hierarchies, levels), suppression), rows, warnings=(), **more)
    return told(done)


@pytest.mark.parametrize("hierarchy", [CITIES, {"flat": True}])
def test_values_are_named_from_k_rows_on(hierarchy: object) -> None:
    """Whoever listed them: a value below k, of a suppressed row or of no row is not named."""
    rows = frame([30] * 13, ["Bonn"] * 13)
    rows = pa.concat_tables([rows, frame([40] * 13, ["Bonn"] * 9 + ["Ulm"] * 3 + ["Aalen"]), frame([50], ["Gmund"])])
    rule = kp.Suppression("below-k", k=5, limit=5)
    levels = {"age": 0, "city": 2 if hierarchy is CITIES else 1}
    book = booked(rows, levels, {"city": hierarchy}, suppression=rule, counts=True)["city"]
    # k is 13, so Ulm and Aalen are too few, and take Bonn along.
    assert book == {"labels": {"*": ["Bonn", "Bonn"]}, "values": ["Bonn"], "counts": [], "rest": 26}


def test_a_branch_has_its_own_values() -> None:
    """A label has the first and the last of its values, a value that is shown has itself."""
    rows = frame([30, 40] * 20, ["Bonn"] * 12 + ["Koeln"] * 8 + ["Ulm"] * 20)
    book = booked(rows, {"age": 0, "city": 1}, {"city": CITIES}, counts=True)
    assert book["city"] == {
        "labels": {"Rhine": ["Bonn", "Bonn"], "South": ["Ulm", "Ulm"]},
        "values": ["Bonn", "Ulm"],
        "counts": [["Ulm", "Ulm", 20]],
        "rest": 20,
    }
    assert book["age"] == {"labels": {"30": ["30"], "40": ["40"]}, "values": ["30", "40"],
                           "counts": [["30", "30", 20], ["40", "40", 20]]}  # fmt: skip


def test_intervals_have_the_ends_of_their_rule() -> None:
    """Not those of the rows: the youngest in 20-29 may be 23."""
    rows = frame([23] * 5 + [28] * 5 + [35] * 10, ["Bonn"] * 20)
    book = booked(rows, {"age": 2, "city": 0}, {"age": {"intervals": [5, 10, 40]}}, counts=True)["age"]
    assert book["labels"] == {"20-29": ["20", "29"], "30-39": ["30", "39"]}
    assert book["numbers"] == "whole"
    assert book["counts"] == [["20", "29", 10], ["35", "35", 10]]
    assert not {"23", "28"} & {each for entry in book["counts"] for each in entry[:2]}
    assert booked(rows, {"age": 3, "city": 0}, {"age": {"intervals": [5, 10, 40]}})["age"]["labels"] == {"*": []}
    rows = frame([23] * 5 + [28] * 5 + [35] * 10 + [77], ["Bonn", "Ulm"] * 10 + ["Ulm"])  # k is 10, and one is 77
    hidden = booked(rows, {"age": 3, "city": 0}, {"age": {"intervals": [5, 10]}})["age"]
    assert hidden["labels"] == {"*": ["20", "39"]}


def test_a_top_code_and_odd_numbers_name_no_ends() -> None:
    """Where a rule has no end, or values are no plain whole numbers, only values from k rows on are named."""
    rows = frame([25] * 5 + [95] * 5, ["Bonn"] * 10)
    book = booked(rows, {"age": 1, "city": 0}, {"age": {"intervals": [10], "top_code": 90}})["age"]
    assert book["labels"] == {"20-29": ["20", "29"], "90+": []}
    odd = pa.table({"age": ["2.5"] * 6 + ["2.25"] * 2 + ["7.5"] * 8})
    assert booked(odd, {"age": 1}, {"age": {"intervals": [5]}})["age"]["values"] == ["7.5"]


def test_masked_rows_are_not_counted() -> None:
    """Their star stands for any value; what they have is in no count."""
    rows = frame([30] * 22, ["Bonn"] * 10 + ["Ulm"] * 9 + ["Aalen"] * 3)
    rows = pa.concat_tables([rows, frame([40] * 3, ["Gmund"] * 3)])
    masked = kp.Suppression("below-k", limit=6, k=6, rows="mask")
    book = booked(rows, {"age": 0, "city": 0}, {"city": CITIES}, suppression=masked, counts=True)
    assert book["city"]["labels"]["*"] == ["Bonn", "Ulm"]
    assert sum(entry[2] for entry in book["city"]["counts"]) + book["city"].get("rest", 0) == 19
    assert all(entry[2] >= 6 for entry in book["city"]["counts"])


def test_a_missing_value_is_named_from_k_rows_on() -> None:
    """That somebody has no value is told like any other value."""
    rows = pa.table({"city": ["Bonn"] * 9 + [None] * 3 + ["Ulm"] * 9, "age": ["30"] * 21})
    table = kp.read(rows, kp.Schema(("city", "age")), "category", hierarchies={"city": CITIES})
    choice = Choice(table, node(table.hierarchies, {"city": 2, "age": 0}), kp.Suppression("none"))
    book = kp.release(choice, rows, warnings=(), counts=True).certificate.public["codebook"]["city"]
    assert MISSING not in str(book)


@pytest.mark.parametrize("shown", ["midpoint", "label"])
def test_whatever_stands_in_a_cell_has_its_meaning(shown: Any, tmp_path: Path) -> None:
    """Midpoints are labels too, in every format."""
    rows = people()
    table = kp.read(rows, SCHEMA, hierarchies={"age": {"intervals": [10], "from": 20, "to": 59}})
    choice = Choice(table, node(table.hierarchies, (1, 0)), kp.Suppression("none"))
    handling = kp.Handling(shown={"age": shown})
    for ending in ("csv", "parquet"):
        done = kp.release(choice, rows, tmp_path / f"{shown}.{ending}", handling=handling, warnings=())
        labels = told(done)["age"]["labels"]
        assert next(iter(labels.values())) == ["20", "29"]
        assert set(labels) == set(done.certificate.public["recoding"]["age"]["labels"])


def test_counts_are_refused_where_presence_or_persons_are_protected(tmp_path: Path) -> None:
    """One sentence, and nothing is written."""
    rows = people()
    choice = chosen(rows)
    census = Choice(choice.table.drawn_from(kp.Population(fraction=0.5)), choice.recoding, choice.suppression)
    with pytest.raises(BadJob, match=r"^release.counts is set, and who is in the table is to be protected"):
        kp.release(census, rows, tmp_path / "out.csv", warnings=(), counts=True)
    people_of = kp.read(rows, kp.Schema(("age", "sex"), identifier=("name",), person="name", plain=("note", "illness")))
    persons = Choice(people_of, node(people_of.hierarchies, {"age": 1, "sex": 0}), kp.Suppression("none"))
    with pytest.raises(BadJob, match=r"^release.counts is set, and persons are told apart"):
        kp.release(persons, rows, tmp_path / "out.csv", warnings=(), counts=True)
    with pytest.raises(BadJob, match=r"^release.counts is 'yes'. Write true or false."):
        kp.release(choice, rows, tmp_path / "out.csv", warnings=(), counts="yes")  # type: ignore[arg-type]
    assert not [*tmp_path.iterdir()]


def test_a_population_names_no_value_of_the_rows() -> None:
    """Where who is in the table is protected, only what the release shows is named."""
    rows = frame([30] * 12, ["Bonn"] * 12)
    table = kp.read(rows, kp.Schema(("age", "city"))).drawn_from(kp.Population(fraction=0.5))
    choice = Choice(table, node(table.hierarchies, {"age": 0, "city": 1}), kp.Suppression("none"))
    book = told(kp.release(choice, rows, warnings=()))
    assert book["city"] == {"labels": {"*": []}, "values": []}
    assert book["age"]["values"] == ["30"]


@pytest.mark.parametrize("seed", range(40))
def test_merged_counts_are_whole_and_large_enough(seed: int) -> None:
    """They add up, none is below k, and neither is any label less the counts inside it."""
    chance = random.Random(seed)
    leaves = chance.randrange(1, 14)
    cuts = [list(range(leaves))]
    while cuts[-1][-1]:
        below = cuts[-1]
        joins = sorted(chance.sample(range(1, below[-1] + 1), chance.randrange(0, below[-1])))
        cuts.append([sum(group >= join for join in joins) for group in below])
    lines = [[f"{level}-{cut[leaf]}" for level, cut in enumerate(cuts)] for leaf in range(leaves)]
    hierarchy = kp.load("x", lines)
    k = chance.randrange(1, 9)
    rows = np.array([chance.choice([0, 1, 2, k, 3 * k]) for _ in range(leaves)])
    rows[0] += k
    labels = hierarchy.groups[chance.randrange(hierarchy.height + 1)]  # each has no rows, or k of them
    rows = np.where(np.bincount(labels, rows)[labels] >= k, rows, 0)
    counts = merge_counts(hierarchy.tree, rows, k)
    assert sum(counts.values()) == rows.sum()
    assert min(counts.values()) >= k
    tree = hierarchy.tree
    for first, last in runs_of(labels):
        inside = {part for part in counts if tree.first[part] >= first and tree.last[part] <= last}
        assert sum(counts[part] for part in inside) == rows[first : last + 1].sum()
        # Nobody learns by subtraction that a value has few rows.
        left = sum(counts[part] for part in inside if tree.first[part] < tree.last[part])
        assert left >= k or not left


# -- the proof of docs/release.md, by brute force ------------------------------------------------------------------


def posterior(
    rows: list[tuple[str, str]], persons: list[tuple[str, str]], stands: Any, told: Any = None
) -> tuple[dict[tuple[int, int], Fraction], int]:
    """The chance that a released row is a person's, all ways that fit what is known being alike; and how many fit.

    ``told`` are the counts of each column, which a way must give where they are known.
    """
    ways, pairs = 0, Counter[tuple[int, int]]()
    for way in itertools.permutations(range(len(persons)), len(rows)):
        if not all(stands(at, rows[row][at], persons[who][at]) for row, who in enumerate(way) for at in range(2)):
            continue
        if told is not None and any(not told(at, [persons[who][at] for who in way]) for at in range(2)):
            continue
        ways += 1
        pairs.update(enumerate(way))
    return {pair: Fraction(n, ways) for pair, n in pairs.items()}, ways


def small_world(seed: int, suppress: bool) -> tuple[kp.Release, list[tuple[str, str]]]:
    """Seven people, and a release of them by whole columns with k = 2, with counts."""
    chance = random.Random(seed)
    persons = [(str(chance.choice([21, 22, 23, 31, 32])), chance.choice(["Bonn", "Koeln", "Ulm"])) for _ in range(7)]
    rows = pa.table({"age": [p[0] for p in persons], "city": [p[1] for p in persons], "note": ["flu"] * 7})
    table = kp.read(rows, kp.Schema(("age", "city"), sensitive=("note",)),
                    hierarchies={"age": {"intervals": [10], "to": 39}, "city": CITIES})  # fmt: skip
    rule = kp.Suppression("below-k", k=2, limit=7) if suppress else kp.Suppression("none")
    for levels in itertools.product((0, 1, 2), (0, 1, 2)):
        choice = Choice(table, node(table.hierarchies, levels), rule)
        partition = choice.partition()
        if not partition.empty and partition.sizes[partition.visible].min() >= 2 and sum(levels) < 4:
            return kp.release(choice, rows, warnings=(), counts=True), persons
    pytest.skip("no two of them look alike")


@pytest.mark.parametrize("suppress", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_counts_tell_nothing_to_whoever_knows_everybody(seed: int, suppress: bool) -> None:
    """Which row is whose is exactly as likely with the counts as without, for an attacker who knows all values."""
    done, persons = small_world(seed, suppress)
    book = done.certificate.public["codebook"]
    released = [(row["age"], row["city"]) for row in done.data.to_pylist()]

    hierarchies = done.choice.recoding.hierarchies if done.choice is not None else ()

    def stands(at: int, label: str, value: str) -> bool:
        """The attacker knows the hierarchies too."""
        return label in {hierarchies[at].labels[level][group[hierarchies[at].index[value]]]
                         for level, group in enumerate(hierarchies[at].groups)}  # fmt: skip

    def fits(at: int, values: list[str]) -> bool:
        column = book[("age", "city")[at]]
        counted = {first: rows for first, last, rows in column["counts"] if first == last}
        ranges = [entry for entry in column["counts"] if entry[0] != entry[1]]
        left = Counter(value for value in values if value not in counted)
        for low, high, rows in ranges:  # of whole numbers, which do not overlap here
            inside = [value for value in left if int(low) <= int(value) <= int(high)]
            if sum(left.pop(value) for value in inside) != rows:
                return False
        return Counter(v for v in values if v in counted) == counted and left.total() == column.get("rest", 0)

    without, ways = posterior(released, persons, stands)
    with_counts, same_ways = posterior(released, persons, stands, fits)
    assert ways == same_ways > 0
    assert with_counts == without
    assert max(with_counts.values()) <= Fraction(1, 2)


def test_counts_may_tell_something_to_whoever_knows_less() -> None:
    """The test above can fail: who knows the classes of nobody is told by counts which of two values a row has."""
    labels = [("*", "Bonn"), ("*", "Bonn")]
    persons = [("21", "Bonn"), ("21", "Bonn"), ("31", "Bonn")]
    plain, _ = posterior(labels, persons, lambda at, label, value: label in ("*", value))
    fitted, _ = posterior(
        labels, persons, lambda at, label, value: label in ("*", value), lambda at, v: at or v == ["21", "21"]
    )
    assert plain != fitted
