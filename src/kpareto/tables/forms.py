"""What the values of a column are by their form, whatever its name: mail, telephone, accounts, hashes, names.

A form is one where nearly all of some values have it; check digits are reckoned where there are any. Names of persons
have no form of their own: they are two or more words with capitals, of which one is often a frequent given name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

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
_GIVEN = """
aaron adam adrian ahmed aisha alan albert alejandro alessandro alex alexander alexandra alexis ali alice alicia alina
allison amanda amelia amir amy ana andre andrea andreas andrew angela anita anja ann anna anne annika anthony antje
antoine anton antonia antonio arthur astrid barbara beate ben benjamin bernd betty bianca bill birgit bjorn bob
brandon brenda brian bruno camille carl carla carlos carmen carol caroline catherine cem charles charlotte chen chloe
chris christa christian christina christine christoph christopher claire clara claudia clemens cynthia daniel daniela
david deborah denise dennis diana diego dieter dirk dominik donald donna doris dorothy edith eduardo edward elena
eleni elias elif elisabeth elizabeth ella ellen emil emilia emily emma eric erik erika ernst esther eva evelyn fabian
fatima felix fernando finn florian frances francesca francesco francisco francois frank franz fred frederik friedrich
gabriel gabriela gary george gerd gerhard gertrud gianni gina giovanni giulia giuseppe gloria greta gudrun guillaume
gus gustav hana hanna hannah hans harald harry hassan heather heike heinrich heinz helen helena helga helmut henrik
henry herbert hermann hugo ian ibrahim ida inga ingo ingrid irene iris isabel isabella ivan ivo jack jacob jakob james
jan jana jane janet jason javier jean jeffrey jennifer jens jessica joachim joan joanna joao john jonas jonathan jorge
jose josef joseph joshua juan judith juergen julia julian julie jurgen justin kai karen karin karl katharina katherine
kathleen katja kevin kim klara klaus kristin kurt larissa lars laura lea lena leo leon leonard leonie linda lisa liz
lorenzo louis louise luca lucas lucia lucie luis luisa lukas maja manfred manuel marc marcel marco marcus margaret
maria marianne marie marina mario marion mark markus marta martha martin martina mary mathias matteo matthew matthias
max maximilian megan mehmet melanie melissa mia michael michaela michel michelle miguel mohamed mohammed monica monika
muhammad murat mustafa nadine nancy natalie nicholas nick nico nicolas nicole nina noah nora norbert olaf olga oliver
olivia oscar otto pablo pamela paolo patricia patrick paul paula paulo pedro peter petra philip philipp pia pierre
rachel rafael ralf ralph raymond rebecca regina reinhard renate ricardo richard rita robert roberto roland rolf ronald
rosa rose rudolf ruth ryan sabine sabrina samantha samuel sandra sara sarah scott sean sebastian sergio sharon silke
silvia simon simone sofia sonja sophia sophie stefan stefanie stephanie stephen steven sue susan susanne sven svenja
sylvia tanja tatjana teresa theo theresa thomas thorsten tim timo tina tobias tom tomas ulrich ulrike ursula ute uwe
valentina vanessa vera veronica victor victoria viktor vincent volker walter waltraud wei werner wilhelm william
wolfgang xavier yasmin yusuf yvonne zoe
"""
GIVEN = frozenset(_GIVEN.split())
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
