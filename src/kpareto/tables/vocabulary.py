"""The words by which columns are recognised: identifiers, quasi-identifiers and sensitive columns, in seven languages.

English, German, French, Spanish, Italian, Portuguese and Dutch, written without accents. A name is split into words
(``PatientBirth_date`` is patient birth date); a topic is recognised by one of its words, or by words written together.

What the values are by their form tells more, whatever the name: mail, telephone, accounts, hashes, names. A form is one
where nearly all of some values have it; check digits are reckoned where there are any. Names of persons have no form of
their own: they are two or more words with capitals, of which one is often a frequent given name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Literal, TypeVar

Topic = Literal[
    "person id",
    "contact",
    "name",
    "person",
    "number",
    "free text",
    "age",
    "birth",
    "date",
    "sex",
    "zip",
    "place",
    "race",
    "marital",
    "education",
    "occupation",
    "country",
    "household",
    "health",
    "money",
    "belief",
    "justice",
]
Leaning = Literal["identifier", "weak identifier", "quasi-identifier", "sensitive"]
Meaning = TypeVar("Meaning")

# What a topic says about a column; a weak identifier is one only where its values are nearly all different, or where it
# names persons who have several rows. Of several topics in a name the first one here counts.
LEANINGS: Mapping[Topic, Leaning] = {
    "person id": "identifier",
    "contact": "identifier",
    "free text": "weak identifier",
    "birth": "quasi-identifier",
    "age": "quasi-identifier",
    "sex": "quasi-identifier",
    "zip": "quasi-identifier",
    "race": "quasi-identifier",
    "marital": "quasi-identifier",
    "education": "quasi-identifier",
    "country": "quasi-identifier",
    "household": "quasi-identifier",
    "health": "sensitive",
    "money": "sensitive",
    "belief": "sensitive",
    "justice": "sensitive",
    "occupation": "quasi-identifier",
    "place": "quasi-identifier",
    "date": "quasi-identifier",
    "name": "identifier",
    "person": "weak identifier",
    "number": "weak identifier",
}


def read_sections(file: Traversable) -> dict[str, list[str]]:
    """A list that lies beside the code: the lines below each heading."""
    sections: dict[str, list[str]] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("@"):
            sections[line[1:]] = []
        elif not line.startswith("#"):
            sections[next(reversed(sections))].append(line)
    return sections


def _read_words(name: str) -> dict[str, list[str]]:
    sections = read_sections(files(__package__) / "words" / f"{name}.txt")
    return {heading: " ".join(lines).split() for heading, lines in sections.items()}


_WORDS = _read_words("topics")
# A long word may be part of a longer one: salaryclass, ageatdiagnosis.
_LONG = 6
_TOPIC_OF = {word: topic for topic in tuple(LEANINGS)[::-1] for word in _WORDS[topic]}
_LETTERS = str.maketrans(
    {"ß": "ss", "ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "æ": "ae", "ø": "o"}
)


def words_of(name: str) -> list[str]:
    """The words of a column's name, in lower case and without accents."""
    plain = unicodedata.normalize("NFKD", name.translate(_LETTERS))
    ascii_only = "".join(mark for mark in plain if not unicodedata.combining(mark))
    humps = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", ascii_only)
    return re.findall(r"[a-z]+[0-9]*|[0-9]+", humps.lower())


def topics_of(name: str) -> tuple[Topic, ...]:
    """All that a column is about, going by its name, the one that counts first; none where no word is known."""
    topics = _look_up(name, _TOPIC_OF)
    return tuple(topic for topic in LEANINGS if topic in topics)


def topic_of(name: str) -> Topic | None:
    """What a column is about, going by its name; None where no word is known."""
    return next(iter(topics_of(name)), None)


def _look_up(name: str, meanings: Mapping[str, Meaning]) -> set[Meaning]:
    """What the words of a name mean, one by one and written together; else what long words mean that are part of it."""
    words = words_of(name)
    joined = ["".join(words[i : i + n]) for n in (4, 3, 2) for i in range(len(words) - n + 1)]
    known = {meanings[word] for word in (*joined, *words) if word in meanings}
    long = () if known else (word for word in meanings if len(word) >= _LONG)
    return known or {meanings[part] for part in long for word in words if part in word}


# -- the kinds of identifiers of HIPAA ---------------------------------------------------------------------------------

_KINDS = _read_words("safe-harbor")
SAFE_HARBOR: Mapping[str, str] = {heading[0]: heading[2:] for heading in _KINDS}  # letter -> what it is called
_KIND_OF = {word: heading[0] for heading, words in _KINDS.items() for word in words}
_KIND_OF_FORM = {  # by the words of FORMS; a fax has the number of a telephone
    "e-mail addresses": "F",
    "numbers that tell one thing from all others (UUID)": "R",
    "network addresses": "O",
    "addresses of pages": "N",
    "bank accounts (IBAN)": "J",
    "numbers of persons": "G",
    "numbers of cards": "J",
    "telephone numbers": "DE",
    "hashes": "R",
    "names of persons": "A",
}
_KIND_OF_TOPIC: Mapping[Topic, str] = {"zip": "B", "place": "B", "birth": "C", "age": "C", "date": "C"}
_KIND_OF_FIRST: Mapping[Topic, str] = {"name": "A", "person id": "R", "person": "R", "number": "R"}


def identifier_kinds(name: str, form: str = "") -> str:
    """The letters of the kinds of identifiers that a column looks like, by its name and by the form of its values."""
    topics, words = topics_of(name), words_of(name)
    kinds = {*_look_up(name, _KIND_OF), *_KIND_OF_FORM.get(form, "")}
    kinds |= {_KIND_OF_TOPIC[topic] for topic in topics if topic in _KIND_OF_TOPIC}
    if "state" in words and "B" not in identifier_kinds(" ".join(word for word in words if word != "state")):
        kinds.discard("B")  # a state itself may be told
    if topics and topics[0] in _KIND_OF_FIRST and (not kinds or topics[0] == "name"):
        kinds.add(_KIND_OF_FIRST[topics[0]])
    return "".join(sorted(kinds))


MOSTLY = 0.8  # share of the values that must have a form
NAMED = 0.3  # share of values of several words with a frequent given name, from which all are names of persons
ALONE = 0.5  # the same of single words
MOMENTS = "moments"  # of a column of dates
LEAST = 10  # single words that must be there: a few may be anything

_IBAN = {  # the letters of an account number by country
    **dict.fromkeys(("NO",), 15), **dict.fromkeys(("BE",), 16), **dict.fromkeys(("DK", "FI", "NL"), 18),
    **dict.fromkeys(("AT", "EE", "LT", "LU"), 20), **dict.fromkeys(("CH", "HR", "LI", "LV"), 21),
    **dict.fromkeys(("BG", "DE", "GB", "IE", "RS"), 22), **dict.fromkeys(("AE", "GI", "IL"), 23),
    **dict.fromkeys(("CZ", "ES", "RO", "SA", "SE", "SK"), 24), **dict.fromkeys(("PT",), 25),
    **dict.fromkeys(("IS", "TR"), 26), **dict.fromkeys(("FR", "GR", "IT", "SM"), 27),
    **dict.fromkeys(("CY", "HU", "PL"), 28), **dict.fromkeys(("BR",), 29), **dict.fromkeys(("MT",), 31),
}  # fmt: skip
_PHONE = re.compile(
    r"(\+|00)[1-9][\d ()./-]{6,20}"  # as it is dialled from abroad
    r"|\(?0\d{1,5}\)?[ /-][\d ()./-]{5,14}"  # with an area code
    r"|(1[-. ])?\(?[2-9]\d{2}\)?[-. ][2-9]\d{2}[-. ]\d{4}"  # as in North America
)
GIVEN = frozenset(_read_words("given-names")["given names"])
_WORD = r"[^\W\d_][^\W\d_.'’-]*[.'’-]?[^\W\d_]*"
_PERSON = re.compile(rf"{_WORD}(,? {_WORD}){{1,3}}")


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


def luhn(digits: str) -> bool:
    """Whether the last digit is the check digit of cards (Luhn)."""
    total = 0
    for place, digit in enumerate(map(int, reversed(digits))):
        total += digit if place % 2 == 0 else sum(divmod(2 * digit, 10))
    return total % 10 == 0


def _is_account(text: str) -> bool:
    """An IBAN, by its country and length, or by its check digits (ISO 7064, remainder 1 of 97)."""
    plain = re.sub(r"[ -]", "", text).upper()
    if not re.fullmatch(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", plain):
        return False
    reckoned = int("".join(str(int(letter, 36)) for letter in plain[4:] + plain[:4])) % 97 == 1
    return reckoned or _IBAN.get(plain[:2]) == len(plain)


def _is_card(text: str) -> bool:
    return re.fullmatch(r"[\d -]{13,23}", text) is not None and 13 <= len(_digits(text)) <= 19 and luhn(_digits(text))


def _is_person_number(text: str) -> bool:
    """A number of a person with a check digit or parts that no other number has: of Sweden, of the United States."""
    nordic = re.fullmatch(r"(\d{2})?\d{6}[-+]\d{4}", text) is not None and luhn(_digits(text)[-10:])
    return nordic or re.fullmatch(r"\d{3}-\d{2}-\d{4}", text) is not None


def _is_hash(text: str) -> bool:
    hexadecimal = re.fullmatch(r"(0x)?([0-9a-f]{16,}|[0-9A-F]{16,})", text) is not None
    coded = re.fullmatch(r"[A-Za-z0-9+/_-]{22,}={0,2}", text) is not None
    mixed = all(re.search(kind, text) for kind in ("[0-9]", "[a-z]", "[A-Z]"))
    return (hexadecimal and not text.isdigit()) or text.startswith(("$2a$", "$2b$", "$argon2")) or (coded and mixed)


def _is_phone(text: str) -> bool:
    return _PHONE.fullmatch(text) is not None and 7 <= len(_digits(text)) <= 15


def _by_pattern(pattern: str) -> Callable[[str], bool]:
    matches = re.compile(pattern, re.IGNORECASE).fullmatch
    return lambda text: matches(text) is not None


FORMS: Mapping[str, Callable[[str], bool]] = {  # what a column holds -> whether a value does
    "e-mail addresses": _by_pattern(r"(mailto:)?[^@\s<>]+@[^@\s<>]+\.[a-z]{2,}"),
    "numbers that tell one thing from all others (UUID)": _by_pattern(
        r"(urn:uuid:)?\{?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\}?"
    ),
    "network addresses": _by_pattern(
        r"(\d{1,3}\.){3}\d{1,3}(:\d+)?|([0-9a-f]{2}[:-]){5}[0-9a-f]{2}|[0-9a-f:]*::[0-9a-f:]+"
    ),
    "addresses of pages": _by_pattern(r"(https?://|www\.)\S+"),
    "bank accounts (IBAN)": _is_account,
    "numbers of persons": _is_person_number,
    "numbers of cards": _is_card,
    "telephone numbers": _is_phone,
    "hashes": _is_hash,
}


def are_moments(values: Sequence[str]) -> bool:
    """Whether nearly all of some dates have a time of the day, other than midnight."""
    midnight = re.compile(r"[T ]00:00(:00(\.0+)?)?Z?$")
    timed = [re.search(r"[T ]\d{2}:\d{2}", value) and not midnight.search(value) for value in values]
    return bool(timed) and sum(map(bool, timed)) >= MOSTLY * len(timed)


def form_of(values: Sequence[str]) -> str:
    """What nearly all of some different values of a column are, in words; nothing where they have no such form."""
    texts = [value.strip() for value in values if value.strip()]
    if not texts:
        return ""
    for form, has_form in FORMS.items():
        if sum(map(has_form, texts)) >= MOSTLY * len(texts):
            return form
    return "names of persons" if _are_names(texts) else ""


def _are_names(texts: Sequence[str]) -> bool:
    """Whether the values are names of persons, by how many of them have a frequent given name in them."""
    full = [text for text in texts if _PERSON.fullmatch(text) and text[0].isupper() and text != text.lower()]
    named = sum(any(word in GIVEN for word in re.split(r"[ ,.-]+", text.lower())) for text in full)
    if len(full) >= MOSTLY * len(texts):
        return len(full) >= 3 and named >= NAMED * len(full)
    single = sum(text.lower() in GIVEN for text in texts)
    return len(texts) >= LEAST and single >= ALONE * len(texts)
