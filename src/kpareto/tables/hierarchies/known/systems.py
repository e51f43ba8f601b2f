"""Code systems whose digits tell the groups: ISCO, SOC, ICD-10, NUTS, postcodes; labels from fine to coarse."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kpareto.tables.hierarchy import STAR

# ISCO-08, the titles of the major groups.
_ISCO = {
    "0": "0 Armed forces occupations",
    "1": "1 Managers",
    "2": "2 Professionals",
    "3": "3 Technicians and associate professionals",
    "4": "4 Clerical support workers",
    "5": "5 Service and sales workers",
    "6": "6 Skilled agricultural, forestry and fishery workers",
    "7": "7 Craft and related trades workers",
    "8": "8 Plant and machine operators, and assemblers",
    "9": "9 Elementary occupations",
}
# SOC 2018, the titles of the major groups.
_SOC = {
    "11": "Management",
    "13": "Business and Financial Operations",
    "15": "Computer and Mathematical",
    "17": "Architecture and Engineering",
    "19": "Life, Physical, and Social Science",
    "21": "Community and Social Service",
    "23": "Legal",
    "25": "Educational Instruction and Library",
    "27": "Arts, Design, Entertainment, Sports, and Media",
    "29": "Healthcare Practitioners and Technical",
    "31": "Healthcare Support",
    "33": "Protective Service",
    "35": "Food Preparation and Serving Related",
    "37": "Building and Grounds Cleaning and Maintenance",
    "39": "Personal Care and Service",
    "41": "Sales and Related",
    "43": "Office and Administrative Support",
    "45": "Farming, Fishing, and Forestry",
    "47": "Construction and Extraction",
    "49": "Installation, Maintenance, and Repair",
    "51": "Production",
    "53": "Transportation and Material Moving",
    "55": "Military Specific",
}
# ICD-10: letter and number of the first category of each chapter, and its title; a chapter reaches to the next one.
_ICD = (
    ("A 00", "I Infectious and parasitic diseases"),
    ("C 00", "II Neoplasms"),
    ("D 50", "III Diseases of the blood and immune disorders"),
    ("E 00", "IV Endocrine, nutritional and metabolic diseases"),
    ("F 00", "V Mental and behavioural disorders"),
    ("G 00", "VI Diseases of the nervous system"),
    ("H 00", "VII Diseases of the eye and adnexa"),
    ("H 60", "VIII Diseases of the ear and mastoid process"),
    ("I 00", "IX Diseases of the circulatory system"),
    ("J 00", "X Diseases of the respiratory system"),
    ("K 00", "XI Diseases of the digestive system"),
    ("L 00", "XII Diseases of the skin and subcutaneous tissue"),
    ("M 00", "XIII Diseases of the musculoskeletal system and connective tissue"),
    ("N 00", "XIV Diseases of the genitourinary system"),
    ("O 00", "XV Pregnancy, childbirth and the puerperium"),
    ("P 00", "XVI Conditions originating in the perinatal period"),
    ("Q 00", "XVII Congenital malformations and chromosomal abnormalities"),
    ("R 00", "XVIII Symptoms, signs and abnormal findings"),
    ("S 00", "XIX Injury, poisoning and other consequences of external causes"),
    ("U 00", "XXII Codes for special purposes"),
    ("V 00", "XX External causes of morbidity and mortality"),
    ("Z 00", "XXI Factors influencing health status and contact with health services"),
)


def isco_labels(value: str) -> tuple[str, ...] | None:
    """2512 -> 251, 25, 2 Professionals; shorter codes stand for themselves until their level."""
    if not re.fullmatch(r"[0-9]{1,4}", value):
        return None
    return value[:3], value[:2], _ISCO[value[0]]


def soc_labels(value: str) -> tuple[str, ...] | None:
    """15-1252 -> 15-1250, 15-0000 Computer and Mathematical; the dash may be missing."""
    code = re.fullmatch(r"([0-9]{2})-?([0-9]{4})(?:\.[0-9]{2})?", value)
    if code is None or code[1] not in _SOC:
        return None
    return f"{code[1]}-{code[2][:3]}0", f"{code[1]}-0000 {_SOC[code[1]]}"


def icd_labels(value: str) -> tuple[str, ...] | None:
    """J45.9 -> J45, X Diseases of the respiratory system; with or without the point."""
    code = re.fullmatch(r"([A-Z][0-9][0-9A-Z])(?:\.?[0-9A-Z]{1,4})?[-+*!†]?", value.upper())
    if code is None:
        return None
    category = code[1]
    chapter = [title for first, title in _ICD if first.replace(" ", "") <= category]
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
