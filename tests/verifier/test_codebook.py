"""Lies in a code book are refused: labels of another release, counts below k, sums that are off, counts that cannot be."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kpareto as kp
from kpareto.errors import BadInput, Unsafe
from kpareto.releases.choice import Choice
from kpareto.tables.recoding import node
from kpareto.verifier.codebook import _place_rows, _reach
from tests.twins.releases import seal

Book = dict[str, Any]
CITIES = "Bonn;Rhine;*\nKoeln;Rhine;*\nUlm;South;*\nAalen;South;*\n"


@pytest.fixture(scope="module")
def true(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A release with counts, and its whole certificate."""
    folder = tmp_path_factory.mktemp("book")
    cities = ["Bonn"] * 20 + ["Koeln"] * 12 + ["Ulm"] * 16 + ["Aalen"] * 16
    rows = pa.table({"city": cities, "pet": [*"abcd"] * 16})
    table = kp.read(rows, kp.Schema(("city", "pet")), hierarchies={"city": CITIES})
    choice = Choice(table, node(table.hierarchies, [1, 0]), kp.Suppression("none"))
    done = kp.release(choice, rows, folder / "out.csv", warnings=(), counts=True)
    return folder / "out.csv", done.certificate.text()


def change_entry(book: Book, value: str, rows: int) -> None:
    """Another number of rows for a value."""
    next(entry for entry in book["counts"] if entry[0] == entry[1] == value)[2] = rows


def both(*changes: tuple[str, int]) -> Callable[[Book, Book], None]:
    """Several such numbers."""

    def lie(book: Book, _: Book) -> None:
        for value, rows in changes:
            change_entry(book, value, rows)

    return lie


def set_public(**more: Any) -> Callable[[Book, Book], None]:
    """Further words of the public part."""
    return lambda _, public: public.update(more)


LIES: dict[str, tuple[Callable[[Book, Book], None], str]] = {
    "a sum that is off": (both(("Ulm", 30)), "add up to 78 rows, and 64 show a label"),
    "a count below k": (both(("Ulm", 1), ("Aalen", 31)), "a count of 1 rows by 'city', below k = 8"),
    "not possible": (both(("Ulm", 17), ("Bonn", 17)), "not possible: the rows with the label 'Rhine'"),
    "another label": (lambda book, _: book["labels"].append(["North", "Ulm"]), "The label 'North' of 'city'"),
    "a label less": (lambda book, _: book["labels"].pop(0), "The label 'Rhine' of 'city'"),
    "no such value": (lambda book, _: book["labels"][0].__setitem__(1, "Trier"), "names 'Trier'"),
    "the wrong way": (lambda book, _: book["labels"].__setitem__(0, ["Rhine", "Koeln", "Bonn"]), "the wrong way"),
    "a label twice": (lambda book, _: book["labels"].append(["Rhine", "Bonn"]), "The label 'Rhine' of 'city'"),
    "twice": (lambda book, _: book["counts"].append(["Bonn", "Koeln", 20]), "add up to"),
    "a rest below k": (lambda book, _: book.update(rest=1), "a count of 1 rows"),
    "a population": (set_public(population="Somebody."), "where persons or presence are protected"),
    "an epsilon": (set_public(differential_privacy={"epsilon": 1}), "where persons or presence are protected"),
    "another column": (
        lambda _, public: public["codebook"].update(sex=public["codebook"]["city"]),
        "is of city, pet, sex",
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_refused(name: str, true: tuple[Path, str]) -> None:
    """With a sentence that says what cannot be, however well the hashes were mended."""
    file, text = true
    certificate = json.loads(text)
    book = certificate["public"]["codebook"]["city"]
    counts = [["Bonn", "Bonn", 20], ["Koeln", "Koeln", 12], ["Ulm", "Ulm", 16], ["Aalen", "Aalen", 16]]
    assert book["counts"] == counts  # k is 8
    change_entry(book, "Bonn", 18)
    change_entry(book, "Koeln", 14)
    seal(certificate)
    assert kp.verify(file, certificate).rows == 64  # false, and possible: only said
    LIES[name][0](book, certificate["public"])
    seal(certificate)
    with pytest.raises(Unsafe, match=LIES[name][1]):
        kp.verify(file, certificate["public"])


def test_the_same_values_twice_are_refused(true: tuple[Path, str]) -> None:
    """Two counts of one run of values say nothing."""
    certificate = json.loads(true[1])
    certificate["public"]["codebook"]["city"]["counts"] = [["Bonn", "Aalen", 32], ["Bonn", "Aalen", 32]]
    with pytest.raises(Unsafe, match="the same values of 'city' twice"):
        kp.verify(true[0], certificate["public"])


def test_counts_are_said_and_a_book_may_lack(true: tuple[Path, str]) -> None:
    """What can be checked was, the rest is said; a certificate of an earlier version has no book."""
    file, text = true
    said = kp.verify(file, json.loads(text)["public"]).said
    assert [words for words in said if words.endswith("(possible, not counted)")]
    certificate = json.loads(text)
    del certificate["public"]["codebook"]
    seal(certificate)
    assert not [words for words in kp.verify(file, certificate).said if "codebook" in words]


@pytest.mark.parametrize(
    "wrong", [["a"], {"city": 3}, {"city": {"labels": {"Rhine": "Bonn"}}}, {"city": {"labels": [[]]}}]
)
def test_a_book_of_another_shape_is_a_sentence(wrong: Any, true: tuple[Path, str]) -> None:
    """Bad input rather than a traceback."""
    certificate = json.loads(true[1])
    certificate["public"]["codebook"] = wrong
    with pytest.raises(BadInput, match="codebook"):
        kp.verify(true[0], certificate["public"])


@pytest.mark.parametrize("seed", range(60))
def test_possible_is_what_brute_force_finds(seed: int) -> None:
    """Rows with labels over a line of values, and nested counts: a way is found exactly where there is one."""
    chance = random.Random(seed)
    values = 6
    spans: dict[str, tuple[int, int]] = {}
    for at in range(4):
        first, last = sorted((chance.randrange(values), chance.randrange(values)))
        spans[f"l{at}"] = (first, last)
    parts = [(0, 5), *chance.sample([(0, 2), (3, 5), (0, 0), (1, 1), (2, 2), (4, 4), (3, 4)], 3)]
    rows = Counter({label: chance.randrange(1, 4) for label in spans})
    narrowest = [
        min((at for at, p in enumerate(parts) if p[0] <= value <= p[1]), key=lambda at: parts[at][1] - parts[at][0])
        for value in range(values)
    ]
    ways = {(0,) * len(parts)}
    for label, count in rows.items():
        for _ in range(count):
            reach = {narrowest[value] for value in range(spans[label][0], spans[label][1] + 1)}
            ways = {tuple(n + (at == part) for at, n in enumerate(way)) for way in ways for part in reach}
    wanted = list(chance.choice(sorted(ways)))
    if seed % 2:
        wanted[max(range(len(parts)), key=wanted.__getitem__)] -= 1
        wanted[chance.randrange(len(parts))] += 1
    alone = set(spans)  # so that none of them reaches the rest
    possible = _place_rows(rows, _reach(spans, parts, alone), [*wanted, 0]) is None
    assert possible == (tuple(wanted) in ways)
