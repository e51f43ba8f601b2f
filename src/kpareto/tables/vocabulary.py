"""The words by which columns are recognised: identifiers, quasi-identifiers and sensitive columns, in seven languages.

English, German, French, Spanish, Italian, Portuguese and Dutch, written without accents. A name is split into words
(``PatientBirth_date`` is patient birth date); a topic is recognised by one of its words, or by words written together.

What the values are by their form tells more, whatever the name: mail, telephone, accounts, hashes, names. A form is one
where nearly all of some values have it, in whatever characters; check digits are reckoned where there are any. Names of
persons have no form of their own: they are two or more words, of which one is often a frequent given name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from ipaddress import ip_address
from typing import Literal, TypeVar

from kpareto.tables.spelling import plain_text

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
    "names of users": "R",
    "places by their coordinates": "B",
    "addresses of houses": "B",
    "numbers of vehicles": "L",
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
ALONE = 0.5  # the same of single words, and of several without a capital
MOMENTS = "moments"  # of a column of dates
LEAST = 10  # values that must be there where a few may be anything: single words, numbers, letters with digits
LONGEST = 200  # characters of a value that are looked at

_IBAN = {  # the letters of an account number by country
    **dict.fromkeys(("NO",), 15), **dict.fromkeys(("BE",), 16), **dict.fromkeys(("DK", "FI", "NL"), 18),
    **dict.fromkeys(("AT", "EE", "LT", "LU"), 20), **dict.fromkeys(("CH", "HR", "LI", "LV"), 21),
    **dict.fromkeys(("BG", "DE", "GB", "IE", "RS"), 22), **dict.fromkeys(("AE", "GI", "IL"), 23),
    **dict.fromkeys(("CZ", "ES", "RO", "SA", "SE", "SK"), 24), **dict.fromkeys(("PT",), 25),
    **dict.fromkeys(("IS", "TR"), 26), **dict.fromkeys(("FR", "GR", "IT", "SM"), 27),
    **dict.fromkeys(("CY", "HU", "PL"), 28), **dict.fromkeys(("BR",), 29), **dict.fromkeys(("MT",), 31),
}  # fmt: skip
_PHONE = re.compile(
    r"(?:tel:)?(?:(\+|00)[1-9][\d ()./-]{6,20}"  # as it is dialled from abroad
    r"|\(?0\d{1,5}\)?[ /-][\d ()./-]{5,14}|0[1-9]\d{8,9}|0\d(\.\d{2}){4}"  # with an area code
    r"|(\+?1[-. ])?(\([2-9]\d{2}\) ?|[2-9]\d{2}[-. ])[2-9]\d{2}[-. ]\d{4})"  # as in North America
    r"( ?(x|ext\.?) ?\d{1,5})?",
    re.IGNORECASE,
)
_PERSON_NUMBERS = re.compile(
    r"\d{3}-\d{2}-\d{4}"  # of the United States
    r"|[A-CEGHJ-PR-TW-Z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-D]"  # of Britain
    r"|[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]"  # of Italy
    r"|\d{2} ?(0[1-9]|[12]\d|3[01])(0[1-9]|1[0-2])\d{2} ?[A-Z] ?\d{3}"  # of German pensions
    r"|\d{3}\.\d{3}\.\d{3}-\d{2}|756\.\d{4}\.\d{4}\.\d{2}"  # of Brazil and of Switzerland
)
_BIRTH_FIRST = re.compile(r"(?:\d{2})?(\d{2})(\d{2})(\d{2})[-+A]\d{3}[\dA-Z]")  # as in the north of Europe
_DNI = re.compile(r"([XYZ]?)(\d{7,8})-?([A-Z])")
# Weights of the digits of numbers of persons, and what their sum is a multiple of: of Britain (health), the
# Netherlands, Poland, Brazil and Norway.
_WEIGHTS = (
    (range(10, 0, -1), 11), ((9, 8, 7, 6, 5, 4, 3, 2, -1), 11), ((1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1), 10),
    (range(11, 0, -1), 11), ((5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1), 11),
)  # fmt: skip
_PLATE = re.compile(r"[A-ZÄÖÜ]{1,3}[- ][A-Z]{1,2}[- ]?\d{1,4}[EH]?|[A-Z]{2}-\d{3}-[A-Z]{2}|[A-Z]{2}\d{2} ?[A-Z]{3}")
_FRAME_NUMBER = re.compile(r"(?=.*\d)(?=.*[A-Z])[A-HJ-NPR-Z0-9]{17}")
_DEGREES = r"\d{1,3} ?°[\d .,'\"′″]*[NSEWO]"
_PLACE = re.compile(
    r"(geo:|point ?)?\(?[+-]?\d{1,3}\.\d{3,}[ ,;]{1,2}[+-]?\d{1,3}\.\d{3,}\)?"
    rf"|{_DEGREES}[ ,;/]*{_DEGREES}"
    r"|[23456789CFGHJMPQRVWX]{4,8}\+[23456789CFGHJMPQRVWX]{2,3}",
    re.IGNORECASE,
)
_STREET = re.compile(
    r"(?=.*\d).*(str\.|stra(ss|ß)e|weg|platz|gasse|allee"
    r"|\b(street|st|road|rd|avenue|ave|lane|ln|drive|dr|boulevard|blvd|rue|via|calle|plaza|ulica))(?!\w).*",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"(?:([\d.]+)|\[([0-9a-f:.]+)(?:%\w+)?\]|([0-9a-f:.]+)(?:%\w+)?)(?::\d+|/\d+)?", re.IGNORECASE)
_MAC = re.compile(r"([0-9a-f]{2}[:-]){5}[0-9a-f]{2}|([0-9a-f]{4}\.){2}[0-9a-f]{4}", re.IGNORECASE)
GIVEN = frozenset(_read_words("given-names")["given names"])
_NAME = re.compile(r"[^\W\d_]+\.?(['’-][^\W\d_]+)*")
_BETWEEN = re.compile(r"[\s,;_]+|(?<=[^\W\d_])\.(?=[^\W\d_])")  # words of a name


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
    plain = re.sub(r"[ -]", "", text).upper().removeprefix("IBAN").removeprefix(":")
    if not re.fullmatch(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", plain):
        return False
    reckoned = int("".join(str(int(letter, 36)) for letter in plain[4:] + plain[:4])) % 97 == 1
    return reckoned or _IBAN.get(plain[:2]) == len(plain)


def _is_card(text: str) -> bool:
    return re.fullmatch(r"[\d .-]{13,23}", text) is not None and 13 <= len(_digits(text)) <= 19 and luhn(_digits(text))


def _is_person_number(text: str) -> bool:
    """A number of a person that has a check digit, a date of birth or parts that no other number has."""
    if _PERSON_NUMBERS.fullmatch(text):
        return True
    if born := _BIRTH_FIRST.fullmatch(text):
        first, month, last = map(int, born.groups())
        return 1 <= month <= 12 and (1 <= first <= 31 or 1 <= last <= 31)
    if not (spanish := _DNI.fullmatch(text)):
        return False
    number = int(f"{'XYZ'.find(spanish[1]) if spanish[1] else ''}{spanish[2]}")
    return "TRWAGMYFPDXBNJZSQVHLCKE"[number % 23] == spanish[3]


def _adds_up(weights: Sequence[int], of: int) -> Callable[[str], bool]:
    """Whether the digits of a number, with these weights, add up to a multiple."""
    return lambda digits: len(digits) == len(weights) and sum(map(int.__mul__, weights, map(int, digits))) % of == 0


def _have_check_digits(texts: Sequence[str]) -> bool:
    """Whether whole numbers end with the check digit of one and the same kind of numbers of persons."""
    numbers = [re.sub(r"[ .-]", "", text) for text in texts]
    whole = [number for number in numbers if re.fullmatch(r"\d{9,12}", number, re.ASCII)]
    checks = (luhn, *(_adds_up(tuple(weights), of) for weights, of in _WEIGHTS))
    enough = max(LEAST, MOSTLY * len(texts))
    return len(whole) >= enough and any(sum(map(check, whole)) >= enough for check in checks)


def _is_network(text: str) -> bool:
    """An address of a machine, of a port of it, or of a network."""
    inside = _ADDRESS.fullmatch(text)
    if inside is None or _MAC.fullmatch(text):
        return _MAC.fullmatch(text) is not None
    try:
        ip_address(inside[1] or inside[2] or inside[3])
    except ValueError:
        return False
    return True


def _is_hash(text: str) -> bool:
    text = re.sub(r"^(sha[\d-]+|md5)[:$]|^0x", "", text, flags=re.IGNORECASE)
    kinds = [re.search(kind, text) is not None for kind in ("[0-9]", "[a-z]", "[A-Z]")]
    hexadecimal = re.fullmatch(r"[0-9a-f]{12,}|[0-9A-F]{12,}", text) is not None
    coded = re.fullmatch(r"[A-Za-z0-9+/_-]{21,}={0,2}", text) is not None
    short = re.fullmatch(r"[0-9a-z]{24,}|[0-9A-Z]{24,}", text) is not None
    told = text.startswith(("$2a$", "$2b$", "$argon2")) or re.fullmatch(r"eyJ[\w-]+\.[\w-]+\.[\w-]*", text)
    return bool(told) or ((hexadecimal or short) and sum(kinds) == 2) or (coded and all(kinds))


def _is_phone(text: str) -> bool:
    return _PHONE.fullmatch(text) is not None and 7 <= len(_digits(re.sub("[xX].*", "", text))) <= 15


def _by_pattern(pattern: str) -> Callable[[str], bool]:
    matches = re.compile(pattern, re.IGNORECASE).fullmatch
    return lambda text: matches(text) is not None


FORMS: Mapping[str, Callable[[str], bool]] = {  # what a column holds -> whether a value does
    "e-mail addresses": _by_pattern(
        r"([^<>@]*<)?(mailto:)?[^@\s<>]+ ?(@|[(\[]at[)\]]) ?[^@\s<>]+\.[^\W\d_][^@\s<>.]+>?"
    ),
    "numbers that tell one thing from all others (UUID)": _by_pattern(
        r"(urn:uuid:)?\{?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\}?"
    ),
    "network addresses": _is_network,
    "addresses of pages": _by_pattern(r"[a-z][a-z0-9+.-]*://\S+|www\.\S+|([a-z0-9-]+\.)+[a-z]{2,}/\S+"),
    "names of users": _by_pattern(r"@\w{2,30}"),
    "bank accounts (IBAN)": _is_account,
    "numbers of persons": _is_person_number,
    "numbers of cards": _is_card,
    "telephone numbers": _is_phone,
    "hashes": _is_hash,
    "places by their coordinates": lambda text: _PLACE.fullmatch(text) is not None,
    "addresses of houses": lambda text: _STREET.fullmatch(text) is not None,
}
SEVERAL: Mapping[str, Callable[[str], bool]] = {  # the same where a few values may be anything
    "numbers of vehicles": lambda text: bool(_PLATE.fullmatch(text) or _FRAME_NUMBER.fullmatch(text)),
}


def are_moments(values: Sequence[str]) -> bool:
    """Whether nearly all of some dates have a time of the day, other than midnight."""
    midnight = re.compile(r"[T ]00:00(:00(\.0+)?)?Z?$")
    timed = [re.search(r"[T ]\d{2}:\d{2}", value) and not midnight.search(value) for value in values]
    return bool(timed) and sum(map(bool, timed)) >= MOSTLY * len(timed)


def form_of(values: Sequence[str]) -> str:
    """What nearly all of some different values of a column are, in words; nothing where they have no such form."""
    texts = [text for value in values if (text := plain_text(value[:LONGEST]).strip())]
    forms = {**FORMS, **SEVERAL} if len(texts) >= LEAST else FORMS
    for form, has_form in forms.items() if texts else ():
        if sum(map(has_form, texts)) >= MOSTLY * len(texts):
            return form
    if _have_check_digits(texts):
        return "numbers of persons"
    return "names of persons" if _are_names(texts) else ""


def _words(text: str) -> list[str]:
    """The words of a value where it may be a name: letters, with a point, a hyphen or an apostrophe in them."""
    words = [word for word in _BETWEEN.split(text) if word]
    return words if len(words) <= 5 and all(map(_NAME.fullmatch, words)) else []


def _is_given(word: str) -> bool:
    """Whether a word is a frequent given name, accents left aside, or one of two behind a hyphen."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", word.lower()) if not unicodedata.combining(c))
    return any(part in GIVEN for part in plain.rstrip(".").split("-"))


def _are_names(texts: Sequence[str]) -> bool:
    """Whether the values are names of persons, by how many of them have a frequent given name in them."""
    full = [words for words in map(_words, texts) if len(words) > 1]
    named = sum(any(map(_is_given, words)) for words in full)
    if len(full) >= MOSTLY * len(texts):
        capital = sum(words[0][0].isupper() for words in full) >= MOSTLY * len(full)
        return len(full) >= 3 and named >= (NAMED if capital else ALONE) * len(full)
    return len(texts) >= LEAST and sum(map(_is_given, texts)) >= ALONE * len(texts)
