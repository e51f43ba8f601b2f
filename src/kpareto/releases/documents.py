"""The documents beside a release: what they are called, whose they are, and that no output replaces what it should not.

A release in ``out.csv`` has ``out.certificate.json``, ``out.certificate.public.json`` and ``out.recoding.json``; one in
a folder ``v1.0/`` or in a table has its whole name before these endings.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from kpareto.atomic import Document
from kpareto.engines.source import FORMATS, ending_of
from kpareto.errors import BadInput, BadJob
from kpareto.releases.choice import store
from kpareto.releases.release import Release
from kpareto.strict import FileKind, anything, map_of, read_json
from kpareto.verifier.counting import file_digest

ENDINGS = {
    "certificate": ".certificate.json",
    "public": ".certificate.public.json",
    "recoding": ".recoding.json",
}


def document_files(target: str | PathLike[str]) -> dict[str, Path]:
    """Where the documents of a release lie: certificate, public, recoding."""
    path = Path(target)
    if not path.name:
        raise BadJob(f"The target {str(target)!r} is no name of a file. Give one such as release.csv.")
    return {word: path.with_name(f"{_stem(target)}{ending}") for word, ending in ENDINGS.items()}


def _stem(target: str | PathLike[str]) -> str:
    """The name without csv or parquet; a point in the name of a folder or a table is part of it."""
    path = Path(target)
    file = ending_of(path) in FORMATS and not str(target).endswith("/")
    return path.name[: -len(ending_of(path))] if file else path.name


def documents_of(done: Release, files: Mapping[str, Path], limits: Mapping[str, float]) -> dict[Path, Document]:
    """The certificate (whole and public) and the stored recoding; all but the public part for their owner alone."""
    texts = {
        "certificate": Document(done.certificate.text(), private=True),
        "public": Document(done.certificate.public_text()),
    }
    if "recoding" in files:
        texts["recoding"] = Document(store(done.choice, limits, done.origin).text(), private=True)
    return {files[word]: document for word, document in texts.items() if word in files}


def refuse_others_documents(target: str | PathLike[str]) -> None:
    """Raise where the documents of this target would replace those of another release that still lies there."""
    certificate = document_files(target)["certificate"]
    if not certificate.is_file():
        return
    try:
        content = read_json(certificate, FileKind("The certificate", "Remove it."), map_of(anything))
        form, digest = content["public"]["release"]["format"], content["public"]["release"]["sha256"]
    except (BadInput, KeyError, TypeError):
        raise BadInput(
            f"{str(certificate)!r} is there, and it is no certificate of a release. Remove it, or give another target."
        ) from None
    path, stem = Path(target).absolute(), _stem(target)
    names = {stem, *(f"{stem}{ending}" for ending in FORMATS)}
    for other in (path.with_name(name) for name in sorted(names)):
        kind = "parquet parts" if other.is_dir() else FORMATS.get(ending_of(other))
        if other != path and other.exists() and kind == form and _is(other, digest):
            raise BadInput(
                f"The documents of {str(target)!r} would replace those of {other.name!r}: both are called "
                f"{certificate.name!r}. Give another name."
            )


def _is(path: Path, digest: object) -> bool:
    try:
        return file_digest(path) == digest
    except (OSError, BadInput):
        return False
