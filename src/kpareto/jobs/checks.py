"""Checks of the raw values of a job: each mistake is a sentence that names the place, and no key is left unused.

A key that stands in a job and changes nothing is worse than a wrong one: its author believes in it. So a key that the
other settings of its part leave without use is refused too, with the setting that would give it one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from kpareto.engines import is_address
from kpareto.errors import BadJob, did_you_mean, shorten
from kpareto.releases.labels import SHOWN
from kpareto.releases.recoded_rows import WAYS
from kpareto.tables.partition import EARLIER, RULES, STEP, Rule

MOST_ROWS = 10**15  # a limit beyond this is a slip, and does not fit the counters


@dataclass(frozen=True)
class Check:
    """Checks of raw TOML values; ``name`` is that of the job in every sentence."""

    name: str

    def keys(self, raw: Mapping[str, Any], where: str, known: Sequence[str]) -> None:
        """Raise where a key is not among the known ones."""
        for key in raw:
            if key not in known:
                place = f"{where}.{key}" if where else f"[{key}]"
                raise BadJob(
                    f"{self.name}: {place} is not known. {did_you_mean(key, known)}There are: {', '.join(known)}."
                )

    def unused_key(self, place: str, why: str) -> BadJob:
        """The sentence for a key that changes nothing, with what would give it a use."""
        return BadJob(f"{self.name}: {place} is not used: {why}")

    def table(self, raw: Mapping[str, Any], key: str) -> dict[str, Any]:
        """A part of the job, by itself."""
        part = raw.get(key, {})
        if not isinstance(part, dict):
            raise BadJob(f"{self.name}: {key} is {part!r}. Write it as a part of its own: [{key}].")
        return part

    def part(self, raw: Mapping[str, Any], key: str, known: Sequence[str]) -> dict[str, Any]:
        """A part of the job with known keys alone."""
        part = self.table(raw, key)
        self.keys(part, key, known)
        return part

    def text(self, value: Any, where: str) -> str:
        """A text."""
        if not isinstance(value, str):
            raise BadJob(f"{self.name}: {where} is {value!r}. Give a text in quotes.")
        return value

    def texts(self, value: Any, where: str) -> list[str]:
        """A list of texts."""
        if not isinstance(value, list):
            raise BadJob(f"{self.name}: {where} is {value!r}. Give a list of texts in quotes.")
        return [self.text(entry, where) for entry in value]

    def one_of(self, value: Any, where: str, known: Collection[str]) -> str:
        """One of some words."""
        if not isinstance(value, str) or value not in known:
            near = did_you_mean(value, known) if isinstance(value, str) else ""
            raise BadJob(f"{self.name}: {where} is {value!r}. {near}Take one of: {', '.join(known)}.")
        return value

    def number(self, value: Any, where: str) -> float:
        """A finite number."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise BadJob(f"{self.name}: {where} is {value!r}. Give a number without quotes.")
        return value

    def truth(self, value: Any, where: str) -> bool:
        """True or false."""
        if not isinstance(value, bool):
            raise BadJob(f"{self.name}: {where} is {value!r}. Write true or false, without quotes.")
        return value

    def whole(self, value: Any, where: str, least: int, most: int = 2**63 - 1) -> int:
        """A whole number that a counter can hold."""
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise BadJob(f"{self.name}: {where} is {value!r}. Give a whole number of at least {least}.")
        return value


def check_data(check: Check, data: Mapping[str, Any]) -> None:
    """Raise where a key of ``[data]`` has no use for this source."""
    source = check.text(data["source"], "data.source")
    if "preset" in data and source != "adult":
        raise check.unused_key("data.preset", f'only source = "adult" has presets, and it is {source!r}. Take it out.')
    if "table" in data and not is_address(source):
        raise check.unused_key("data.table", f"only a database has tables, and the source is {source!r}. Take it out.")
    for key in ("sample", "seed"):
        if key in data and data.get("too_many", "error") != "sample":
            why = 'rows are sampled only with too_many = "sample". Add that under [data], or take it out.'
            raise check.unused_key(f"data.{key}", why)


def say_undecided(names: Sequence[str]) -> tuple[str, ...]:
    """A sentence about columns that nobody has decided about, where there are any."""
    said = (
        f"Left out of the release until you decide: {shorten(names, 20)}. In the job, give each of them a role: "
        "quasi-identifier, sensitive, identifier, or plain if nobody outside can know it."
    )
    return (said,) if names else ()


def default_rule(method: str = "exact") -> Rule:
    """The rule of a job that names none: rows as each threshold needs them; POkA and PBG-EA take their papers'."""
    return "cap-max-k" if method in ("poka", "poka-literal", "pbg-ea") else "as-needed"


def read_rule(check: Check, suppression: Mapping[str, Any], method: str) -> Rule:
    """The rule of a job; names of earlier versions stand for what they became."""
    told = suppression.get("rule", default_rule(method))
    if isinstance(told, str) and told in EARLIER:
        return EARLIER[told]
    return cast(Rule, check.one_of(told, "suppression.rule", RULES))


def check_suppression(check: Check, suppression: Mapping[str, Any]) -> None:
    """Raise where a limit is given to a rule that knows none."""
    rule, limit = suppression.get("rule"), suppression.get("limit", 0)
    number = check.number(limit, "suppression.limit")
    if not 0 <= check.number(suppression.get("step", STEP), "suppression.step") <= 1:
        raise BadJob(
            f"{check.name}: suppression.step is {suppression['step']!r}. Give a number from 0 (every value is a "
            f"threshold) to 1, such as {STEP}."
        )
    if "step" in suppression and (rule or "as-needed") not in ("as-needed", *EARLIER):
        raise check.unused_key("suppression.step", f"the rule {rule} has no thresholds. Take it out.")
    if number > MOST_ROWS:
        raise BadJob(f"{check.name}: suppression.limit is {limit!r}. Give a share from 0 to 1, or a number of rows.")
    if rule == "none" and number > 0:
        raise check.unused_key(
            "suppression.limit", "the rule none suppresses no row. Take it out, or take another rule."
        )
    if rule == "below-k" and "limit" in suppression:
        raise check.unused_key(
            "suppression.limit",
            "the rule below-k suppresses every class below k, however many rows that are. Take it out, or take the "
            "rule as-needed, which keeps within a limit.",
        )


def check_columns(check: Check, columns: Mapping[str, Any], quasi: Collection[str], data: Mapping[str, Any]) -> None:
    """Raise where a column that is no quasi-identifier has what only those use, or a first level nobody reads."""
    coarser = data.get("too_many") == "coarsen" or data.get("coarsen") == "always"
    for name, column in columns.items():
        for key in ("hierarchy", "weight", "first"):
            if key in column and name not in quasi:
                raise check.unused_key(
                    f"columns.{name}.{key}",
                    f"the column's role is {column.get('role', 'plain')!r}, and only quasi-identifiers have one. "
                    "Take it out, or change the role.",
                )
        for key in ("tie", "declared"):
            if key in column and column.get("role", "plain") != "plain":
                raise check.unused_key(
                    f"columns.{name}.{key}",
                    f"the column's role is {column['role']!r}, and only plain columns leave as they are. Take it out.",
                )
        if "tie" in column and column["tie"] not in quasi:
            near = did_you_mean(str(column["tie"]), quasi)
            raise BadJob(
                f"{check.name}: columns.{name}.tie is {column['tie']!r}, which is no quasi-identifier. "
                f"{near}Take one of: {', '.join(quasi)}."
            )
        if column.get("first") and not coarser:
            why = 'levels are left out only with too_many = "coarsen" or coarsen = "always". Add one under [data].'
            raise check.unused_key(f"columns.{name}.first", why)


def check_preset_roles(check: Check, columns: Mapping[str, Any], quasi: Collection[str]) -> None:
    """Raise where roles are given beside those of a preset of the embedded table that cannot stand there."""
    for role in ("target", "sensitive"):
        names = [name for name, column in columns.items() if column.get("role") == role]
        if len(names) > 1:
            raise BadJob(
                f"{check.name}: {' and '.join(names)} are {role}, and a preset takes one. Give every quasi-identifier "
                "its role to choose the columns yourself."
            )
    for name, column in columns.items():
        if column.get("role") in ("plain", "identifier") and name in quasi:
            raise BadJob(
                f"{check.name}: columns.{name}.role is {column['role']!r}, and the preset makes it a quasi-identifier. "
                "Give every quasi-identifier its role to choose the columns yourself."
            )


def preset_quasi(check: Check, columns: Mapping[str, Any], data: Mapping[str, Any]) -> tuple[str, ...]:
    """The quasi-identifiers of the embedded table where the job leaves them to the preset."""
    from kpareto.tables.adult import adult_schema

    roles = {column.get("role"): name for name, column in columns.items()}
    preset = check.text(data.get("preset", "default"), "data.preset")
    quasi = adult_schema(preset, roles.get("target"), roles.get("sensitive")).quasi
    check_preset_roles(check, columns, quasi)
    return quasi


def check_release(check: Check, release: Mapping[str, Any]) -> None:
    """Raise where a setting of the release makes no sense, before anything is searched."""
    for key, known in WAYS.items():
        if key in release:
            check.one_of(release[key], f"release.{key}", known)
    if "seed" in release:
        check.whole(release["seed"], "release.seed", 0)
        if release.get("order") == "kept":
            raise check.unused_key("release.seed", 'it shuffles the rows, and order = "kept". Take one of the two out.')
    if "sign" in release and not check.text(release["sign"], "release.sign").strip():
        raise BadJob(f'{check.name}: release.sign is empty. Give the file of a key, such as "release.key".')
    shown = release.get("representative", {})
    if not isinstance(shown, dict):
        raise BadJob(f'{check.name}: release.representative is {shown!r}. Write a table such as {{age = "midpoint"}}.')
    for name, form in shown.items():
        check.one_of(form, f"release.representative.{name}", SHOWN)
