"""How values are written: numbers with a noun and a verb, what stands for no value, and spellings of one value."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

EXACT = 2**53  # from here on a float does not hold every whole number, and other programs (JSON in a browser) round
NO_VALUE = ("?", "")  # what stands in a cell without a value, unless somebody says otherwise
# Texts that are recognised as no value, as programs and people write them: R, spreadsheets, databases, German forms.
MARKS = (
    *NO_VALUE,
    *("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "-", ".", "#NV", "<NA>", "NaT", "N.A.", "n.a."),
    *("k.A.", "k. A.", "k.A", "kA", "keine Angabe", "unbekannt", "Unbekannt"),
)

# Characters that nobody sees beside those of category Cf: of control but blanks, fillers, selectors of variants.
_UNSEEN = re.compile(
    "[\\x00-\\x08\\x0e-\\x1b\\x7f-\\x84\\x86-\\x9f\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u2065\\u3164\\ufe00-\\ufe0f"
    "\\uffa0\\U000e0000-\\U000e0fff]"
)
_DRAWN_ALIKE = {  # dashes and the minus sign, apostrophes, and the pattern of Braille without a dot
    **dict.fromkeys((*range(0x2010, 0x2016), 0x2212), "-"), **dict.fromkeys((0x2018, 0x2019, 0x201B, 0x2BC), "'"),
    0x2800: " ",
}  # fmt: skip
# A number as people write it, after case folding: 01, 1, 1.0 and 1e0 are one. E10 is a code.
_NUMBER = re.compile(r"([+-]?)(?=\.?[0-9])0*([0-9]*)(?:\.([0-9]*))?(?:e([+-]?[0-9]{1,6}))?", re.ASCII)


def without_point(number: float, below: float = math.inf) -> float:
    """A whole number as an int, which is written without a point, if it is smaller in size; any other as a float."""
    return int(number) if float(number).is_integer() and abs(number) < below else float(number)


def number_text(number: float) -> str:
    """The shortest text that is read back as the same number, a whole one without a point."""
    return repr(without_point(number))


def spell_infinite(data: object) -> object:
    """Plain data with infinite numbers as the texts inf and -inf, which JSON has no numbers for; others as they are."""
    if isinstance(data, float) and math.isinf(data):
        return "inf" if data > 0 else "-inf"
    if isinstance(data, Mapping):
        return {key: spell_infinite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [spell_infinite(item) for item in data]
    return data


def several(amount: int, one: str, many: str = "") -> str:
    """A number with its noun."""
    return f"{amount:,} {one if amount == 1 else many or one + 's'}"


def percent(share: float) -> str:
    """A share for a sentence; a small one is never printed as nothing, nor a large one as all."""
    if 0 < share < 0.0005:
        return "less than 0.1%"
    return "more than 99.9%" if 0.9995 <= share < 1 else f"{share:.1%}"


def are(amount: int) -> str:
    """The verb of a number of things."""
    return "is" if amount == 1 else "are"


def plain_text(value: str) -> str:
    """A value as it is seen: one form of each character, digits of ASCII, and nothing that nobody sees."""
    if value.isascii() and value.isprintable():
        return value
    seen = _UNSEEN.sub("", value).translate(_DRAWN_ALIKE)
    seen = "".join(character for character in seen if unicodedata.category(character) != "Cf")
    text = unicodedata.normalize("NFKC", seen).translate(_DRAWN_ALIKE)
    return "".join(str(unicodedata.decimal(character, character)) for character in text)


def fold_spelling(value: str) -> str:
    """A value without what tells spellings of it apart: form of characters, case, blanks, how a number is written.

    Characters that nobody sees are left out, so that a value of nothing else is an empty text.
    """
    text = " ".join(unicodedata.normalize("NFKC", plain_text(value).casefold()).split())
    if not any(map(str.isdigit, text[:3])):
        return text
    number = _NUMBER.fullmatch(text)
    if number is None:
        return text
    sign, whole, part, power = number.groups(default="")
    digits = (whole + part).lstrip("0")
    kept = digits.rstrip("0")
    exponent = int(power or 0) - len(part) + len(digits) - len(kept)
    return f"{'-' * (sign == '-')}{kept}e{exponent}" if kept else "0e0"


def merge_spellings(values: Sequence[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    """The new code of each value, and the values that are left: the first of those that are spelled alike.

    codes: (values,) int64, rising for the values that are left.
    """
    places: dict[str, int] = {}
    codes = np.array([places.setdefault(fold_spelling(value), len(places)) for value in values], dtype=np.int64)
    if len(places) == len(values):
        return codes, tuple(values)
    _, first = np.unique(codes, return_index=True)
    return codes, tuple(values[place] for place in first.tolist())


def locate_spelled(values: Iterable[str], known: Sequence[str]) -> np.ndarray:
    """The place of each value among known ones, or of one that is spelled like it; -1 for others: (values,) int64."""
    places = {fold_spelling(value): place for place, value in enumerate(known)}
    places |= {value: place for place, value in enumerate(known)}
    return np.array([places.get(v, places.get(fold_spelling(v), -1)) for v in values], dtype=np.int64)


def say_spellings(name: str, values: Sequence[str], what: str) -> str:
    """That values of a column differ from others in spelling only, and ``what`` that means; nothing where none do."""
    alike = len(values) - len(merge_spellings(values)[1])
    if not alike:
        return ""
    verb = "differs" if alike == 1 else "differ"
    return (
        f"{several(alike, 'value')} of {name!r} {verb} from others in spelling only (case, blanks, 1 and 1.0): {what}"
    )
