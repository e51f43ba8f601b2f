"""Hierarchies that are built in, each with its source: countries, states, occupations, regions, diagnoses, postcodes.

``{known = "countries"}`` in a job takes the values of the column as they are written (names or codes) and groups them.
Lists lie beside this file as text, written down from the published standards; code systems are told by their digits.

Of code systems (ISCO, SOC, ICD-10, NUTS, postcodes) the digits tell the groups; labels go from fine to coarse.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from kpareto.errors import BadHierarchy, did_you_mean, shorten
from kpareto.tables.hierarchies.codes import dates
from kpareto.tables.hierarchies.numbers import intervals
from kpareto.tables.hierarchies.values import Values, texts_of
from kpareto.tables.hierarchy import STAR, Hierarchy, from_levels
from kpareto.tables.vocabulary import read_sections


@cache
def _read_titles(system: str) -> dict[str, str]:
    """The beginning of a code -> the title of its group."""
    lines = read_sections(files(__package__) / "systems.txt")[system]
    return {begin: title for begin, _, title in (line.partition(" ") for line in lines)}


def isco_labels(value: str) -> tuple[str, ...] | None:
    """2512 -> 251, 25, 2 Professionals; shorter codes stand for themselves until their level."""
    if not re.fullmatch(r"[0-9]{1,4}", value):
        return None
    return value[:3], value[:2], _read_titles("isco-08")[value[0]]


def soc_labels(value: str) -> tuple[str, ...] | None:
    """15-1252 -> 15-1250, 15-0000 Computer and Mathematical; the dash may be missing."""
    code = re.fullmatch(r"([0-9]{2})-?([0-9]{4})(?:\.[0-9]{2})?", value)
    titles = _read_titles("soc-2018")
    if code is None or code[1] not in titles:
        return None
    return f"{code[1]}-{code[2][:3]}0", f"{code[1]}-0000 {titles[code[1]]}"


def icd_labels(value: str) -> tuple[str, ...] | None:
    """J45.9 -> J45, X Diseases of the respiratory system; with or without the point."""
    code = re.fullmatch(r"([A-Z][0-9][0-9A-Z])(?:\.?[0-9A-Z]{1,4})?[-+*!†]?", value.upper())
    if code is None:
        return None
    category = code[1]
    chapter = [title for first, title in _read_titles("icd-10").items() if first <= category]
    return category, chapter[-1]


def nuts_labels(value: str, country: Callable[[str], str | None]) -> tuple[str, ...] | None:
    """DE212 -> DE21, DE2, Germany; Greece is EL and the United Kingdom UK."""
    code = re.fullmatch(r"([A-Z]{2})[0-9A-Z]{0,3}", value.upper())
    if code is None:
        return None
    name = country({"EL": "GR", "UK": "GB"}.get(code[1], code[1]))
    return None if name is None else (value.upper()[:4], value.upper()[:3], name)


# -- postcodes -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Postcodes:
    """How the postcodes of a country are written, and how many of their first characters each level keeps."""

    called: str
    pattern: str
    keep: tuple[int, ...]
    levels: tuple[str, ...]


_DIGITS = {3: "first three digits", 2: "first two digits", 1: "first digit"}


def _digits(called: str, length: int, keep: tuple[int, ...], first: str | None = None) -> Postcodes:
    levels = [_DIGITS[count] for count in keep]
    return Postcodes(called, rf"[0-9]{{{length}}}", keep, tuple([first, *levels[1:]] if first else levels))


def postcode_systems() -> Mapping[str, Postcodes]:
    """The countries whose postcodes are known."""
    return {
        "at": _digits("Austria", 4, (2, 1)),
        "au": _digits("Australia", 4, (2, 1)),
        "be": _digits("Belgium", 4, (2, 1)),
        "ca": Postcodes("Canada", r"[A-Z][0-9][A-Z] ?[0-9][A-Z][0-9]", (3, 1), ("forward sortation area", "district")),
        "ch": _digits("Switzerland", 4, (2, 1)),
        "de": _digits("Germany", 5, (3, 2, 1)),
        "dk": _digits("Denmark", 4, (2, 1)),
        "es": _digits("Spain", 5, (3, 2, 1)),
        "fr": _digits("France", 5, (2, 1), "department"),
        "gb": Postcodes("the United Kingdom", r"[A-Z]{1,2}[0-9][0-9A-Z]? ?[0-9][A-Z]{2}", (), ("district", "area")),
        "it": _digits("Italy", 5, (3, 2, 1)),
        "nl": Postcodes("the Netherlands", r"[0-9]{4} ?(?:[A-Z]{2})?", (4, 2, 1), ("four digits", "two", "one")),
        "no": _digits("Norway", 4, (2, 1)),
        "pl": Postcodes("Poland", r"[0-9]{2}-?[0-9]{3}", (2, 1), ("first two digits", "first digit")),
        "se": Postcodes("Sweden", r"[0-9]{3} ?[0-9]{2}", (3, 2, 1), tuple(_DIGITS.values())),
        "us": Postcodes("the United States", r"[0-9]{5}(?:-[0-9]{4})?", (3, 1), ("first three digits", "first digit")),
    }


def postcode_labels(country: str, value: str) -> tuple[str, ...] | None:
    """50667 -> 506**, 50***, 5****; of Britain SW1A 1AA -> SW1A, SW."""
    code = value.upper()
    system = postcode_systems()[country]
    if not re.fullmatch(system.pattern, code):
        return None
    if country == "gb":
        district = code.replace(" ", "")[:-3]
        return district, re.sub(r"[0-9].*", "", district)
    bare = re.sub(r"[ -]", "", code)
    longest = {"us": 5, "nl": 4}.get(country, len(bare))
    return tuple(bare[:count] + STAR * (longest - count) for count in system.keep)


Labels = Callable[[str], tuple[str, ...] | None]  # a value -> its labels from fine to coarse, None where it has none


@dataclass(frozen=True)
class Known:
    """A hierarchy that is built in."""

    name: str
    title: str
    source: str  # where the groups come from
    levels: tuple[str, ...]  # what the levels above the values are, from fine to coarse
    labels: Labels | None = None  # of lists and codes
    build: Callable[[str, Values | None], Hierarchy] | None = None  # of numbers and dates
    listed: Callable[[], tuple[str, ...]] | None = None  # every value, where there is a list of them


@dataclass(frozen=True)
class Listing:
    """One line of a list: its name and the two groups that it belongs to."""

    name: str
    part: str
    whole: str


def plain_key(text: str) -> str:
    """A name as it is looked up: without accents, case, blanks and signs."""
    decomposed = unicodedata.normalize("NFKD", text)
    bare = "".join(sign for sign in decomposed if not unicodedata.combining(sign)).casefold().replace("&", "and")
    return re.sub(r"[^a-z0-9]", "", bare)


@cache
def read_list(file: str) -> tuple[Mapping[str, Listing], tuple[str, ...]]:
    """A list by every name and code of its entries, and their names in order."""
    by_name: dict[str, Listing] = {}
    names = []
    whole = part = ""
    for line in (files(__package__) / f"{file}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("@"):
            whole, part = line[1:].split("/")
        elif line and not line.startswith("#"):
            *codes, listed = line.split(" ", 3)
            spellings = listed.split("|")
            entry = Listing(spellings[0], part, whole)
            names.append(entry.name)
            numbers = [code.lstrip("0") for code in codes if code.isdigit()]
            for spelling in (*spellings, *codes, *numbers):
                by_name.setdefault(plain_key(spelling), entry)
    by_name.pop("", None)
    return by_name, tuple(names)


def _read_labels(file: str) -> Labels:
    """What tells the groups of a value by a list."""

    def labels(value: str) -> tuple[str, ...] | None:
        entry = read_list(file)[0].get(plain_key(value))
        return None if entry is None else (entry.part, entry.whole)

    return labels


def country_name(code: str) -> str | None:
    """The name of a country by its code of two letters."""
    entry = read_list("countries")[0].get(plain_key(code))
    return None if entry is None else entry.name


M49 = "United Nations Statistics Division, Standard country or area codes for statistical use (M49); codes: ISO 3166-1"
_LISTS = (
    Known(
        "countries",
        "countries by region, by name or by code (DE, DEU, 276)",
        M49,
        ("subregion", "region"),
        _read_labels("countries"),
        listed=lambda: read_list("countries")[1],
    ),
    Known(
        "us-states",
        "states of the United States, by name, postal code or FIPS code",
        "U.S. Census Bureau, Census regions and divisions of the United States",
        ("division", "region"),
        _read_labels("us-states"),
        listed=lambda: read_list("us-states")[1],
    ),
    Known(
        "isco-08",
        "occupations by code (2512), up to the ten major groups",
        "International Labour Organization, International Standard Classification of Occupations 2008",
        ("minor group", "sub-major group", "major group"),
        isco_labels,
    ),
    Known(
        "soc-2018",
        "occupations by code (15-1252), up to the 23 major groups",
        "U.S. Bureau of Labor Statistics, Standard Occupational Classification 2018",
        ("broad occupation", "major group"),
        soc_labels,
    ),
    Known(
        "icd-10",
        "diagnoses by code (J45.9, J459), up to the 22 chapters",
        "World Health Organization, International Classification of Diseases, tenth revision",
        ("category", "chapter"),
        icd_labels,
    ),
    Known(
        "nuts",
        "regions of Europe by code (DE212), up to the country",
        "Eurostat, Nomenclature of territorial units for statistics",
        ("NUTS 2", "NUTS 1", "country"),
        lambda value: nuts_labels(value, country_name),
    ),
    Known(
        "ages",
        "ages in years, in groups of 5, 10 and 20; from 90 on in one, as HIPAA asks",
        "45 CFR 164.514(b)(2)(i)(C): ages over 89 in one category",
        ("5 years", "10 years", "20 years"),
        build=lambda name, values: intervals(name, values, [5, 10, 20], 0.0, 90),
    ),
    Known(
        "dates",
        "dates by month, quarter, year and decade",
        "the calendar",
        ("month", "quarter", "year", "decade"),
        build=dates,
    ),
)


def _postcodes() -> dict[str, Known]:
    return {
        f"postcodes-{country}": Known(
            f"postcodes-{country}",
            f"postcodes of {system.called}, by their first characters",
            "how the post numbers its areas",
            system.levels,
            lambda value, country=country: postcode_labels(country, value),  # type: ignore[misc]  # bound here
        )
        for country, system in postcode_systems().items()
    }


KNOWN: Mapping[str, Known] = {**{each.name: each for each in _LISTS}, **_postcodes()}


def known_hierarchy(name: str, word: str, values: Values | None) -> Hierarchy:
    """The built-in hierarchy called ``word`` for a column; of a list, all of it where no values are given."""
    known = find_known(word)
    if known.build is not None:
        return known.build(name, values)
    texts = known.listed() if values is None and known.listed is not None else texts_of(name, values)
    labels = {text: _labels_of(known, text) for text in texts}
    strange = [text for text, above in labels.items() if above is None]
    if strange:
        raise BadHierarchy(
            f"The built-in hierarchy {word!r} has no place for {len(strange):,} of the values of {name!r}: "
            f"{shorten([repr(text) for text in strange], 5)}. Correct them, or write a file with: kpareto hierarchy "
            f"new COLUMN DATA --known {word}"
        )
    rows = sorted([STAR, *above[::-1], text] for text, above in labels.items() if above is not None)
    return replace(from_levels(name, [row[::-1] for row in rows]), rule={"known": word})


def _labels_of(known: Known, text: str) -> tuple[str, ...] | None:
    return None if known.labels is None else known.labels(text.strip())


def find_known(word: str) -> Known:
    """A built-in hierarchy by its name."""
    if word not in KNOWN:
        raise BadHierarchy(
            f"No hierarchy {word!r} is built in. {did_you_mean(word, KNOWN)}There are: {', '.join(KNOWN)}."
        )
    return KNOWN[word]


def fits(word: str, values: Values) -> tuple[int, int]:
    """How many values a built-in list has a place for, and of how many."""
    known = find_known(word)
    texts = texts_of(word, values)
    return sum(_labels_of(known, text) is not None for text in texts), len(texts)
