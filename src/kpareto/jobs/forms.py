"""What a job says of the form of its files: the keys of a Form under [data] and [population], and of text in [release].

A key that a kind of file has no use for is refused, as everywhere in a job.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kpareto.engines import is_address
from kpareto.engines.form import FORM_KEYS, USED, Form, TextForm, file_kind
from kpareto.engines.source import is_text
from kpareto.errors import BadJob, did_you_mean
from kpareto.jobs.checks import Check
from kpareto.strict import read_value

TEXT_KEYS = ("separator", "encoding", "decimal")  # of [release]
_WHO = {
    "encoding": "a file of text",
    "separator": "a file of text",
    "sheet": "a workbook",
    "codes": "a file of Stata, SPSS or SAS",
    "header": "a file of text or a sheet",
    "names": "a file of text or a sheet",
    "skip": "a file of text or a sheet",
}


def read_form(check: Check, part: Mapping[str, Any], where: str, folder: Path) -> Form:
    """The form that a part of the job gives its source; what the source has no use for is refused."""
    source = str(part.get("source", ""))
    used = _used_keys(source, folder)
    for key in FORM_KEYS:
        if key in part and key not in used:
            who = _WHO.get(key, "a file")
            raise check.unused_key(f"{where}.{key}", f"only {who} has one, and the source is {source!r}. Take it out.")
    said = {key: part[key] for key in FORM_KEYS if key in part}
    for key in ("encoding", "separator", "decimal", "thousands", "sheet"):
        if key in said:
            check.text(said[key], f"{where}.{key}")
    for key in ("header", "codes"):
        if key in said:
            check.truth(said[key], f"{where}.{key}")
    if "skip" in said:
        check.whole(said["skip"], f"{where}.skip", 0, 1_000_000)
    if "names" in said:
        said["names"] = tuple(check.texts(said["names"], f"{where}.names"))
    if "dates" in said:
        said["dates"] = _dates(check, said["dates"], f"{where}.dates")
    try:
        return Form(**said)
    except BadJob as error:
        raise BadJob(f"{check.name}, [{where}]: {error}") from error


def read_form_words(words: Sequence[str], source: str) -> dict[str, Any]:
    """Keys of the form of a file as the command line has them: ``sheet=People``, ``header=true``, ``skip=2``."""
    said = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key.strip() not in FORM_KEYS:
            raise BadJob(
                f"--form {word!r} is not understood. {did_you_mean(key.strip(), FORM_KEYS)}Write KEY=VALUE, with one "
                f"of: {', '.join(FORM_KEYS)}."
            )
        said[key.strip()] = read_value(value)
    form = read_form(Check("--form"), {"source": source, **said}, "data", Path())
    return {key: getattr(form, key) for key in said}


def _dates(check: Check, said: object, where: str) -> dict[str, str]:
    if not isinstance(said, dict):
        raise BadJob(f'{check.name}: {where} is {said!r}. Write a table such as {{born = "%d.%m.%Y"}}.')
    return {name: check.text(form, f"{where}.{name}") for name, form in said.items()}


def _used_keys(source: str, folder: Path) -> tuple[str, ...]:
    if source == "adult" or is_address(source):
        return ()
    try:
        parts = source.endswith("/") or (folder / source).is_dir()
    except (OSError, ValueError):  # no file can have such a name; whoever opens it says so
        parts = False
    if parts:
        return USED["parquet"]
    return USED[file_kind(source)]


def read_text_form(check: Check, release: Mapping[str, Any]) -> TextForm:
    """How [release] wants text written; refused where the target is no text."""
    said = {key: check.text(release[key], f"release.{key}") for key in TEXT_KEYS if key in release}
    target = release.get("target")
    if said and isinstance(target, str) and not is_text(target):
        key = next(iter(said))
        raise check.unused_key(f"release.{key}", f"only text has one, and the target is {target!r}. Take it out.")
    try:
        return TextForm(**said)
    except BadJob as error:
        raise BadJob(f"{check.name}, [release]: {error}") from error
