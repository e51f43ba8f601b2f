"""Which words a certificate may use: the roles, what a claim may say, and each measure's options with their values.

The lists are closed. A claim with any other word says something that this verifier does not understand, so it cannot
call it true: it is refused. They are written down here on their own, and a test holds them against the definitions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from kpareto.errors import Unsafe

ROLES = ("identifier", "quasi-identifier", "sensitive", "target", "plain")
# What may stand in a claim; the last ones where what it claims was estimated or could not be counted again.
KEYS = {"measure", "with", "limit", "value", "recomputed", "needs", "asked", "estimated"}
ESTIMATED = "estimated, not counted"
PEOPLE = ("k-map", "journalist-risk", "marketer-risk", "presence-max", "presence-min", "population-uniques")
Fits = Callable[[Any], bool]


def _one_of(*words: str) -> Fits:
    return lambda value: isinstance(value, str) and value in words


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_place(value: Any) -> bool:
    """The l of recursive (c,l)-diversity: a whole number, also where it is written as 3.0."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 1 and value == int(value)


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and 0 <= value <= 1


_SIZE: dict[str, Fits] = {"counts": _one_of("persons")}
_VALUES: dict[str, Fits] = {**_SIZE, "column": _is_text}
_RELATIVE: dict[str, Fits] = {**_VALUES, "reference": _one_of("table", "release")}
# measure -> its options -> which values they may have
OPTIONS: dict[str, dict[str, Fits]] = {
    "k": _SIZE,
    "risk-max": _SIZE,
    "risk-mean": _SIZE,
    "risk-share": {**_SIZE, "threshold": _is_share},
    "uniques": _SIZE,
    "l": _VALUES,
    "entropy-l": _VALUES,
    "recursive-l": {**_VALUES, "l": _is_place},
    "alpha": {**_VALUES, "value": _is_text},
    "t": {**_RELATIVE, "distance": _one_of("equal", "ordered", "hierarchical")},
    "beta": _RELATIVE,
    "enhanced-beta": _RELATIVE,
    "delta": {**_RELATIVE, "absent": _one_of("ignored", "infinite")},
    "k-map": {},
    "journalist-risk": {},
    "marketer-risk": {},
    "presence-max": {},
    "presence-min": {},
    "population-uniques": {},
}


def spell_claim(claim: Mapping[str, Any]) -> str:
    """A claim's measure as the command line writes it, such as t(column=diagnosis)."""
    options = ", ".join(f"{key}={value}" for key, value in sorted(claim.get("with", {}).items()))
    return f"{claim['measure']}({options})" if options else str(claim["measure"])


def check_claim(claim: Mapping[str, Any]) -> None:
    """Raise Unsafe where a claim has a word that is not in the lists."""
    name, options = claim["measure"], claim.get("with", {})
    if name not in OPTIONS:
        raise Unsafe(f"The certificate claims {name!r}, which this verifier does not know.")
    for option, value in options.items():
        fits = OPTIONS[name].get(option)
        if fits is None or not fits(value):
            raise Unsafe(
                f"The certificate claims {spell_claim(claim)}, and {option} = {value!r} is not known to this verifier "
                f"as an option of {name}. Whether that holds nobody has counted."
            )
    refuse_others(claim)


def refuse_others(claim: Mapping[str, Any]) -> None:
    """Raise Unsafe where a claim says more than a claim can say."""
    open_ones = claim.get("recomputed", True)
    fits = {
        "needs": claim["measure"] in PEOPLE,
        "asked": not open_ones,
        "estimated": not open_ones and claim.get("estimated") == ESTIMATED,
    }
    others = [key for key in claim if key not in KEYS or not fits.get(key, True)]
    if others:
        raise Unsafe(
            f"The claim {spell_claim(claim)} of the certificate says {others[0]!r} as well, which is not known to this "
            "verifier. Whether that holds nobody has counted."
        )


def refuse_uncounted(public: Mapping[str, Any], confidential: Mapping[str, Any]) -> None:
    """Raise Unsafe where a claim asks not to be counted again that anybody can count, or that everybody reads."""
    for part in (public, confidential):
        for claim in part.get("claims", ()):
            countable = part is public or (claim["measure"] in OPTIONS and claim["measure"] not in PEOPLE)
            if claim.get("recomputed") is False and countable:
                raise Unsafe(
                    f"The certificate claims {spell_claim(claim)} and asks that nobody counts it again. What is not "
                    "counted is no claim."
                )


def check_roles(columns: list[str], roles: Mapping[str, str]) -> None:
    """Raise Unsafe unless every column of the release has a role that there is, and nothing else has one."""
    for name, role in roles.items():
        if role not in ROLES:
            raise Unsafe(f"The certificate gives {name!r} the role {role!r}, which is not known to this verifier.")
    if set(columns) != set(roles):
        odd = sorted(set(columns) ^ set(roles))[0]
        raise Unsafe(f"The certificate gives a role to other columns than the release has: {odd!r}.")
