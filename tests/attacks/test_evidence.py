"""attack: what was planted is found, a release without it is at the level of the control, and twins agree."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import kpareto as kp
from kpareto.attacks.evidence import AttackEvidence, PersonAttack, attack
from kpareto.attacks.trials import count_matches, lines_of
from kpareto.errors import BadJob, BadTable, Unsafe
from kpareto.measures.use import view_original
from kpareto.releases.choice import Choice
from kpareto.releases.release import release
from kpareto.tables.partition import classes
from kpareto.tables.recoding import bottom, top
from kpareto.tables.table import Table
from kpareto.uses.utility import open_release
from tests.twins.use import SCHEMA, cuts_choice, levels_choice, local_choice, related_rows, related_table
from tests.uses.test_utility import write

CHOICES: dict[str, Callable[[Table], Choice]] = {
    "levels": lambda table: levels_choice(table, (1, 1, 0)),
    "dropped": lambda table: levels_choice(table, (2, 1, 0), 12),
    "masked": lambda table: levels_choice(table, (2, 0, 0), 8, "mask"),
    "mixed levels": cuts_choice,
    "local": local_choice,
}


def one(answer: AttackEvidence, risk: str, *known: str, secret: str | None = None) -> PersonAttack:
    """The attack of this kind by these columns."""
    [each] = [a for a in answer.attacks if a.risk == risk and a.known == known and (secret or a.secret) == a.secret]
    return each


def with_telling(rows: pa.Table) -> pa.Table:
    """The rows with a plain column that nobody shares, in no order."""
    numbers = np.random.default_rng(3).permutation(len(rows))
    return rows.append_column("shelf", [[f"c{number:04d}" for number in numbers]])


# -- what was planted --------------------------------------------------------------------------------------------------


def test_a_column_that_tells_is_found(tmp_path: Path) -> None:
    """A plain column without two alike singles everybody out in the release too; without it nobody is."""
    rows = with_telling(related_rows())
    table = related_table(rows, replace(SCHEMA, plain=("shelf",)))
    file = write(levels_choice(table, (2, 1, 1), 10), rows, tmp_path / "out.csv")
    answer = attack(file, original=rows)
    told = one(answer, "singling out", "age", "town", "sex", "shelf")
    assert told.release.attack.value == 1
    assert told.release.control.value == 0
    assert told.release.interval[0] > 0.95
    safe = one(answer, "singling out", "age", "town", "sex").release
    assert safe.attack.successes == 0
    assert safe.interval[1] < 0.02
    assert one(answer, "singling out", "age", "town", "sex").raw.risk > 0.05
    assert answer.sentences()[0].startswith("Singling out: by age, town, sex, shelf it succeeds in 100.0% of")


def test_a_row_that_tells_is_found_by_inference() -> None:
    """The secret of every person is drawn by itself: shown as it is, only the own row tells it; hidden, nothing does."""
    random = np.random.default_rng(5)
    people = {name: random.integers(0, 12, 900).astype(str).tolist() for name in ("a", "b", "c", "ill")}
    schema = kp.Schema(("a", "b", "c"), sensitive=("ill",))
    table = kp.read(pa.table(people), schema)
    shown = one(attack(classes(table, bottom(table.hierarchies))), "inference", "a", "b", "c").release
    hidden = one(attack(classes(table, top(table.hierarchies))), "inference", "a", "b", "c").release
    assert shown.attack.value > 0.75
    assert shown.control.value < 0.15
    assert shown.interval[0] > 0.7
    assert hidden.interval[0] == 0
    assert hidden.interval[1] < 0.06


def test_linking_is_found() -> None:
    """Two columns without two alike lead to the same row where they are shown, and to none where they are not."""
    random = np.random.default_rng(6)
    people = {name: [f"{number:03d}" for number in random.permutation(300)] for name in ("a", "b")}
    table = kp.read(pa.table(people), kp.Schema(("a", "b")))
    shown = one(attack(classes(table, bottom(table.hierarchies))), "linkability", "a", "b").release
    hidden = one(attack(classes(table, top(table.hierarchies))), "linkability", "a", "b")
    assert shown.attack.value == 1
    assert shown.control.value < 0.05
    assert hidden.release.risk < 0.03
    assert hidden.raw.attack.value == 1


@pytest.mark.parametrize("kind", CHOICES)
def test_a_correct_release_is_at_the_level_of_the_control(kind: str) -> None:
    """Against people of their own, from the same world: hardly anything of a small class is left beyond the control."""
    table = related_table(related_rows(400, 5))
    answer = attack(CHOICES[kind](table), control=related_rows(400, 99), known=[["age", "town", "sex"]])
    assert answer.control == 400
    single = one(answer, "singling out", "age", "town", "sex")
    link = one(answer, "linkability", "age", "town", "sex")
    inference = one(answer, "inference", "age", "town", "sex", secret="ill")
    assert single.release.attack.value <= single.raw.attack.value
    assert link.release.interval[0] < 0.02
    assert inference.release.risk < inference.raw.risk


def test_intervals_of_attacks_cover_the_truth() -> None:
    """Over 100 seeds, the interval of sixty attempts holds the rate among all people 95 times, but for chance."""
    choice = levels_choice(related_table(related_rows(600)), (1, 0, 0))
    rates = []
    for seed in range(100):
        answer = attack(choice, attempts=60, seed=seed, known=[["age", "town", "sex"]])
        rates.append([each.release.attack for each in answer.attacks if each.risk != "linkability"])
    for column in zip(*rates, strict=True):
        truth = float(np.mean([rate.value for rate in column]))  # of six thousand attempts
        assert sum(rate.interval[0] <= truth <= rate.interval[1] for rate in column) >= 90
    assert any(0.2 < rate.value < 0.8 for rate in rates[0])


# -- twins -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CHOICES)
def test_matches_are_those_of_a_slow_count(kind: str) -> None:
    """How many people fit what a row shows, label by label and value by value."""
    table = related_table(related_rows(120))
    view = open_release(CHOICES[kind](table), None, None)[1]
    lines, people = lines_of(view, "ill"), lines_of(view_original(table), "ill")
    stands = [
        [{int(v) for at, v in zip(s.label, s.value, strict=True) if at == label} for label in range(s.labels)]
        for s in lines.spreads
    ]
    for known in ((0, 1, 2), (0, 2), (1, 3)):
        slow = [
            sum(
                int(people.weights[person])
                for person in range(len(people.weights))
                if all(int(people.codes[c][person]) in stands[c][int(lines.codes[c][line])] for c in known)
            )
            for line in range(len(lines.weights))
        ]
        assert count_matches(lines, people, known).tolist() == slow


def test_a_file_is_attacked_as_its_choice(tmp_path: Path) -> None:
    """Singling out and inference by all rows: the numbers of the choice and of its file are the same."""
    rows = related_rows()
    choice = levels_choice(related_table(rows), (2, 1, 0), 12)
    before = attack(choice, attempts=400)
    after = attack(write(choice, rows, tmp_path / "out.csv"), original=rows, attempts=400)
    pairs = list(zip(before.attacks, after.attacks, strict=True))
    assert [(a.risk, a.known, a.secret) for a, _ in pairs] == [(b.risk, b.known, b.secret) for _, b in pairs]
    for mine, its in pairs:
        if mine.risk != "linkability":
            assert mine.release.attack == its.release.attack


def test_answers_are_by_seed_and_plain_data() -> None:
    """The same seed gives the same data, which goes into JSON; the text has the numbers and what was not tried."""
    choice = levels_choice(related_table(), (1, 1, 0))
    answer = attack(choice)
    data = json.loads(json.dumps(answer.to_dict()))
    assert data == json.loads(json.dumps(attack(choice).to_dict()))
    assert data["attacks"] != json.loads(json.dumps(attack(choice, seed=2).to_dict()))["attacks"]
    assert {"attack", "control", "naive", "risk", "interval"} == set(data["attacks"][0]["release"])
    assert [sentence.partition(":")[0] for sentence in answer.sentences()] == [
        "Singling out",
        "Linkability",
        "Inference",
    ]
    assert "No control table was given" in answer.summary()
    assert "Not tried: " in answer.summary()
    assert repr(answer).startswith("AttackEvidence(")


def test_without_further_columns_each_quasi_identifier_is_inferred() -> None:
    """Every one is guessed from the others."""
    rows = related_rows().select(["age", "town", "sex"])
    table = related_table(rows, kp.Schema(("age", "town", "sex")))
    answer = attack(levels_choice(table, (1, 1, 0)))
    assert [a.secret for a in answer.attacks if a.risk == "inference"] == ["age", "town", "sex"]


@pytest.mark.parametrize("sensitive", [(), ("ill",)])
def test_what_one_way_counts_add_is_measured_beside_a_control(sensitive: tuple[str, ...]) -> None:
    """Seven of eight are twenty: hidden in a label of twenty years, that is guessed with the counts alone.

    The counts tell as much about people who are not in it, and a release without them says nothing of them.
    """
    random = np.random.default_rng(4)
    people = []
    for _ in range(2):
        rows = related_rows(400, 6).select(["age", "town", "sex", "ill"])
        ages = np.where(random.random(400) < 0.9, 20, random.integers(20, 40, 400))
        people.append(rows.set_column(0, "age", [ages.astype(str).tolist()]))
    table = related_table(people[0], replace(SCHEMA, sensitive=sensitive, target=()))
    choice = levels_choice(table, (3, 0, 0), 5)
    counted = release(choice, people[0], counts=True)
    answer = attack(counted, control=people[1])
    assert [each.counts for each in answer.attacks if each.secret == "age"] == [False, True]
    without, told = (each.release for each in answer.attacks if each.secret == "age")
    assert without.attack.interval[1] < 0.2  # one age of twenty
    assert told.attack.interval[0] > 0.65
    assert told.risk < 0.1  # the control is told the same
    assert answer.sentences()[-1].startswith("One-way counts: who knows all other quasi-identifiers of a person")
    data = answer.to_dict()["attacks"]
    assert sum(each.get("counts", False) for each in data) == 3
    assert not any(each.counts for each in attack(choice).attacks)


# -- what does not fit -------------------------------------------------------------------------------------------------


def test_what_cannot_be_attacked_is_told(tmp_path: Path) -> None:
    """Ten rows, no rows, another original, the original as its own control, a small one, one without a column."""
    rows = related_rows()
    choice = levels_choice(related_table(rows), (2, 1, 0), 12)
    with pytest.raises(BadTable, match="The original has 10 rows"):
        attack(levels_choice(related_table(related_rows(10)), (0, 0, 0)))
    with pytest.raises(Unsafe, match="Every row is suppressed"):
        attack(levels_choice(related_table(), (0, 0, 0), 1000))
    with pytest.raises(BadTable, match="made from 400 rows, and the original has 399"):
        attack(write(choice, rows, tmp_path / "out.csv"), original=rows.slice(1))
    with pytest.raises(BadTable, match="The control has the rows of the original"):
        attack(choice, control=rows)
    with pytest.raises(BadTable, match="The control has 10 rows"):
        attack(choice, control=related_rows(10))
    with pytest.raises(kp.BadInput, match="No column 'town'"):
        attack(choice, control=rows.drop_columns(["town"]))


def test_words_that_make_no_sense_are_told(tmp_path: Path) -> None:
    """Columns that are unknown or twice or two of the others, and numbers that are none."""
    choice = levels_choice(related_table(), (0, 0, 0))
    with pytest.raises(BadJob, match=r"No column 'agee' to be known\. Did you mean 'age'"):
        attack(choice, known=[["agee"]])
    for known in (["age", "age"], [], ["age", "ill", "income"]):
        with pytest.raises(BadJob, match="cannot be known together"):
            attack(choice, known=[known])
    with pytest.raises(BadJob, match="attempts is 0"):
        attack(choice, attempts=0)
    with pytest.raises(BadJob, match="A released file is compared with its original"):
        attack(tmp_path / "out.csv")
