"""What values are by their form, under any name; and what only looks so."""

from __future__ import annotations

import hashlib
import random
import uuid

import pytest

from kpareto.tables.vocabulary import are_moments, form_of, luhn

CHANCE = random.Random(7)
GIVEN = ["Anna", "Bob", "Carla", "Dan", "Eva", "Finn", "Hana", "Ivo", "Jan", "Kim", "Lea", "Maria"]
FAMILY = ["Ash", "Bell", "Cox", "Dunn", "Eck", "Frost", "Gray", "Hill", "Ito", "Jung", "King", "Lund"]


def card() -> str:
    """Sixteen digits, the last of which is a check digit."""
    digits = "4" + "".join(str(CHANCE.randint(0, 9)) for _ in range(14))
    return next(f"{digits}{last}" for last in range(10) if luhn(f"{digits}{last}"))


HELD = {
    "e-mail addresses": [f"h{row}@x{row % 9}.org" for row in range(40)],
    "numbers that tell one thing from all others (UUID)": [str(uuid.UUID(int=row * 977)) for row in range(40)],
    "network addresses": [f"10.0.{row % 9}.{row}" for row in range(40)],
    "addresses of pages": [f"https://example.org/{row}" for row in range(40)],
    "bank accounts (IBAN)": [f"DE{10**19 + row * 977}" for row in range(40)],
    "numbers of persons": [f"{100 + row}-{10 + row}-{1000 + row}" for row in range(40)],
    "numbers of cards": [card() for _ in range(40)],
    "telephone numbers": [f"+49 170 {1_000_000 + row * 7919}" for row in range(40)],
    "hashes": [hashlib.sha256(str(row).encode()).hexdigest() for row in range(40)],
    "names of persons": [f"{one} {two}" for one in GIVEN for two in FAMILY],
}
OTHERS = {
    "towns": ["San Francisco", "New York", "Bad Homburg", "Los Angeles", "Baden Baden", "Salt Lake City"],
    "diagnoses": ["Diabetes mellitus", "Acute bronchitis", "Heart failure", "Asthma", "Flu"],
    "codes": [f"A{row:03d}" for row in range(50)],
    "postcodes": [f"{row * 977 % 100_000:05d}" for row in range(50)],
    "long numbers": [str(10**14 + row * 7) for row in range(50)],
    "months": [f"2024-{row % 12 + 1:02d}" for row in range(20)],
    "jobs": ["Exec-managerial", "Craft-repair", "Other-service", "Sales", "Tech-support"],
    "nothing": [],
}


@pytest.mark.parametrize("form", HELD)
def test_a_form_is_recognised(form: str) -> None:
    """By nearly all of its values, of which a few may be something else."""
    assert form_of(HELD[form]) == form
    assert form_of([*HELD[form], "unknown"]) == form


@pytest.mark.parametrize("kind", OTHERS)
def test_what_is_none_is_let_alone(kind: str) -> None:
    """Words with capitals, codes and numbers point at nobody by their form."""
    assert form_of(OTHERS[kind]) == ""


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("GB33 BUKB 2020 1555 5555 55", "bank accounts (IBAN)"),
        ("XX33BUKB20201555555555", ""),
        ("(030) 123456-78", "telephone numbers"),
        ("212-555-0199".replace("555", "955"), "telephone numbers"),
        ("4111 1111 1111 1111", "numbers of cards"),
        ("4111 1111 1111 1112", ""),
        ("811228-9874", "numbers of persons"),
        ("$2b$12$abcdefghijklmnopqrstuv", "hashes"),
    ],
)
def test_check_digits_are_reckoned(text: str, form: str) -> None:
    """A number with a wrong check digit is no account and no card."""
    assert form_of([text]) == form


def test_first_names_alone_are_names() -> None:
    """A column of given names, of which many are frequent."""
    assert form_of([*GIVEN, "Ybrandt", "Zuleika"]) == "names of persons"


def test_moments_have_a_time() -> None:
    """A date at midnight is a day."""
    assert are_moments([f"2024-01-01 12:{minute:02d}:09" for minute in range(60)])
    assert not are_moments(["2024-01-01 00:00:00", "2024-01-02"])
    assert not are_moments([])
