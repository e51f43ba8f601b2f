"""What values are by their form, under any name; and what only looks so."""

from __future__ import annotations

import hashlib
import random
import uuid
from collections.abc import Callable

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
LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"


def drawn(signs: str, count: int) -> str:
    """So many of some letters, by chance."""
    return "".join(CHANCE.choice(signs) for _ in range(count))


def digits(count: int) -> str:
    """So many digits, by chance."""
    return drawn("0123456789", count)


def with_check_digit(count: int) -> str:
    """Digits of which the last is the check digit of numbers of the health service of Britain."""
    while True:
        first = digits(count - 1)
        last = -sum(weight * int(digit) for weight, digit in zip(range(10, 1, -1), first, strict=True)) % 11
        if last < 10:
            return f"{first}{last}"


def with_letter() -> str:
    """Digits and the check letter of numbers of persons in Spain."""
    number = int(digits(8))
    return f"{number:08d}{'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23]}"


OTHER_WAYS: dict[str, tuple[str, Callable[[], str]]] = {  # how else people and programs write what HELD has
    "ULID": ("hashes", lambda: "01H" + drawn("0123456789ABCDEFGHJKMNPQRSTVWXYZ", 23)),
    "short tokens": ("hashes", lambda: drawn("abcdefgABCDEFG0123456789", 21)),
    "small letters and digits": ("hashes", lambda: "c" + drawn("abcdefghij0123456789", 24)),
    "a named digest": ("hashes", lambda: f"sha256:{CHANCE.getrandbits(256):064x}"),
    "no blanks": ("telephone numbers", lambda: "0170" + digits(7)),
    "points": ("telephone numbers", lambda: "06." + ".".join(digits(2) for _ in range(4))),
    "a link": ("telephone numbers", lambda: "tel:+49-170-" + digits(7)),
    "no-break spaces": ("telephone numbers", lambda: "+49\u00a0170\u00a0" + digits(7)),
    "no-break hyphens": ("telephone numbers", lambda: "+1\u2011202\u2011555\u20110" + digits(3)),
    "an extension": ("telephone numbers", lambda: f"(202) 555-0{digits(3)} x{digits(3)}"),
    "digits of Arabic": (
        "telephone numbers", lambda: "+49 170 " + "".join(chr(0x660 + int(digit)) for digit in digits(7))
    ),
    "an account between thin spaces": (
        "bank accounts (IBAN)", lambda: f"DE{digits(2)}\u2009" + "\u2009".join(digits(6) for _ in range(3))
    ),
    "an account that is called so": ("bank accounts (IBAN)", lambda: "IBAN: DE" + digits(20)),
    "a page without a scheme": ("addresses of pages", lambda: "example.org/in/" + drawn(LETTERS, 6).lower()),
    "mail with a name": ("e-mail addresses", lambda: f"Somebody <{drawn(LETTERS, 5)}@example.org>"),
    "mail with a word": ("e-mail addresses", lambda: drawn(LETTERS, 5).lower() + "(at)example.org"),
    "mail in other letters": ("e-mail addresses", lambda: drawn(LETTERS, 5) + "@\u043f\u0440\u0438.\u0440\u0444"),
    "users": ("names of users", lambda: "@" + drawn(LETTERS, 7).lower()),
    "IPv6 in full": ("network addresses", lambda: ":".join(f"{CHANCE.getrandbits(16):x}" for _ in range(8))),
    "IPv6 with a port": ("network addresses", lambda: f"[fe80::{CHANCE.getrandbits(16):x}%eth0]:80"),
    "a network": ("network addresses", lambda: f"10.0.{CHANCE.randint(0, 255)}.0/24"),
    "a card of a computer": ("network addresses", lambda: "-".join(f"{CHANCE.getrandbits(8):02X}" for _ in range(6))),
    "coordinates": ("places by their coordinates", lambda: f"{CHANCE.uniform(0, 9):.5f}, {CHANCE.uniform(0, 9):.5f}"),
    "degrees": ("places by their coordinates", lambda: f"52\u00b0{digits(2)}\u2032N 13\u00b0{digits(2)}\u2032E"),
    "plus codes": ("places by their coordinates", lambda: f"9F4M{drawn('23456789CFGH', 4)}+{drawn('CFGH', 2)}"),
    "streets": ("addresses of houses", lambda: f"{CHANCE.choice(('Hauptstr.', 'Rue Haute', 'High Street'))} {digits(2)}"),
    "plates of Germany": ("numbers of vehicles", lambda: f"{drawn(LETTERS, 2)}-{drawn(LETTERS, 1)} {digits(3)}"),
    "plates of Britain": ("numbers of vehicles", lambda: f"{drawn(LETTERS, 2)}{digits(2)} {drawn(LETTERS, 3)}"),
    "frames": ("numbers of vehicles", lambda: f"W{drawn('ABC', 8)}{digits(8)}"),
    "Spain": ("numbers of persons", with_letter),
    "Finland": ("numbers of persons", lambda: f"13105{digits(1)}-{digits(3)}T"),
    "Italy": ("numbers of persons", lambda: f"{drawn(LETTERS, 6)}85T10A{digits(3)}S"),
    "Britain": ("numbers of persons", lambda: f"AB {digits(2)} {digits(2)} {digits(2)} C"),
    "a check digit": ("numbers of persons", lambda: with_check_digit(10)),
}  # fmt: skip
NAMES: dict[str, Callable[[str, str], str]] = {
    "small letters": lambda one, two: f"{one} {two}".lower(),
    "the family first": lambda one, two: f"{two},{one}",
    "a point": lambda one, two: f"{one}.{two}".lower(),
    "an underscore": lambda one, two: f"{one}_{two}",
    "titles": lambda one, two: f"Prof. Dr. {one} {two} Jr.",
    "two names": lambda one, two: f"{one}-Maria O\u2019{two}",
}
OTHERS = {
    "phrases in small letters": [
        f"{one} {two}" for one in ("lung", "skin", "liver") for two in ("cancer", "cyst", "pain")
    ],
    "versions": [f"1.{row}.2" for row in range(20)],
    "hours": [f"{row}:30" for row in range(20)],
    "prices": [f"{row}.50 EUR" for row in range(20)],
    "nine digits": [str(123_456_789 + 7919 * row) for row in range(40)],
    "genes": [f"BRCA{row}" for row in range(30)],
    "ratios": [f"{row}/{row + 1}" for row in range(30)],
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


@pytest.mark.parametrize("way", OTHER_WAYS)
def test_a_form_is_recognised_however_it_is_written(way: str) -> None:
    """Blanks that do not break, prefixes, digits of other scripts, newer kinds of codes: the form is the same."""
    form, make = OTHER_WAYS[way]
    assert form_of([make() for _ in range(40)]) == form


@pytest.mark.parametrize("way", NAMES)
def test_names_are_names_however_they_are_written(way: str) -> None:
    """In small letters, the family first, with titles, or with a point as in accounts of users."""
    assert (
        form_of([NAMES[way](one, two) for one in (*GIVEN, "Jos\u00e9", "J\u00fcrgen") for two in FAMILY])
        == "names of persons"
    )


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
