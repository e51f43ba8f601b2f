"""Who signed a document: signatures of OpenSSH (SSHSIG, Ed25519) beside a file, checked against keys that one trusts.

``ssh-keygen -Y verify`` reads the same files, so nobody needs our word for it (docs/release.md). This room only checks;
keys are made and documents signed in ``releases/signing.py``, which shares no code with it.
"""

from __future__ import annotations

import base64
import hashlib
import struct
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

from kpareto.errors import BadInput, MissingExtra, Unsafe
from kpareto.strict import FileKind, anything, is_missing, parse_json, read_bytes, read_text
from kpareto.verifier.trust import MOST_KEY, find_signer, read_lines, strings

NAMESPACE = "kpareto"  # what a signature is for; one made for e-mail or git is none for a release
KIND = b"ssh-ed25519"
BEGIN, END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
HASHES = {b"sha512": hashlib.sha512, b"sha256": hashlib.sha256}
SIGNATURE = FileKind("The signature", "Take it as it was written with its document.", Unsafe)


@dataclass(frozen=True)
class Signer:
    """Whose key has signed."""

    name: str  # by which the file of trusted keys knows the key: NAMES, or the comment in NAME.pub; may be empty
    fingerprint: str  # SHA256:…, as ssh-keygen -l prints it

    def __str__(self) -> str:
        return f"{self.name} ({self.fingerprint})" if self.name else self.fingerprint


def signature_of(document: str | PathLike[str]) -> str:
    """Where the signature of a document lies."""
    return f"{fspath(document)}.sig"


def trusted_bytes(
    document: str | PathLike[str], trust: str | PathLike[str], kind: FileKind, signer: str | None = None
) -> tuple[bytes, Signer]:
    """The bytes of a document, and which trusted key signed these very bytes; Unsafe where none did.

    signer: by which name the file must know the key; any without.
    """
    lines = read_lines(trust)
    data = read_bytes(document, kind)
    signature = signature_of(document)
    if is_missing(signature):
        raise Unsafe(
            f"{kind.name} {fspath(document)!r} is not signed: there is no {signature!r}. Ask for its signature."
        )
    public, proof = _parse(read_text(signature, SIGNATURE, MOST_KEY), signature)
    name, why = find_signer(lines, public, NAMESPACE, signer)
    if name is None:
        reason = f"may not sign it by {fspath(trust)!r}: {why}" if why else f"is not among those in {fspath(trust)!r}"
        raise Unsafe(
            f"{kind.name} {fspath(document)!r} was signed with the key {fingerprint(public)}, which {reason}. "
            "Trust that key if it is right, or ask who made the document."
        )
    if not _holds(public, proof, data):
        raise Unsafe(f"{kind.name} {fspath(document)!r} is not what was signed: it was changed afterwards.")
    return data, Signer(name, fingerprint(public))


def trusted_json(
    document: object, trust: str | PathLike[str], kind: FileKind, signer: str | None = None
) -> tuple[Any, Signer]:
    """The data of a signed JSON file, read from the very bytes whose signature was checked."""
    if not isinstance(document, str | PathLike):
        raise BadInput("Only a file can be signed. Give the path of the certificate beside its signature.")
    data, known = trusted_bytes(document, trust, kind, signer)
    return parse_json(data.decode("utf-8", "replace"), kind, anything, document), known


def fingerprint(public: bytes) -> str:
    """A public key as ssh-keygen -l names it."""
    blob = _string(KIND) + _string(public)
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def _parse(text: str, path: str) -> tuple[bytes, tuple[bytes, bytes]]:
    """The public key (32 bytes) of an armoured SSHSIG, its hash and its signature (64 bytes)."""
    lines = [line.strip() for line in text.strip().splitlines()]
    try:
        if lines[:1] != [BEGIN] or lines[-1:] != [END]:
            raise ValueError("no armour")
        blob = base64.b64decode("".join(lines[1:-1]), validate=True)
        if blob[:10] != b"SSHSIG" + struct.pack(">I", 1):
            raise ValueError("not of version 1")
        key, namespace, _, hashed, signed = strings(blob[10:], 5)
        kind, public = strings(key, 2)
        signed_kind, signature = strings(signed, 2)
        if (kind, signed_kind) != (KIND, KIND) or hashed not in HASHES or (len(public), len(signature)) != (32, 64):
            raise ValueError("not of Ed25519")
    except (ValueError, struct.error) as error:
        raise Unsafe(f"The signature {path!r} is not one of OpenSSH with an Ed25519 key ({error}).") from error
    purpose = namespace.decode("utf-8", "replace")
    if purpose != NAMESPACE:
        raise Unsafe(f"The signature {path!r} was made for {purpose[:40]!r}, not for {NAMESPACE!r}.")
    return public, (hashed, signature)


def _holds(public: bytes, proof: tuple[bytes, bytes], data: bytes) -> bool:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError as error:
        raise MissingExtra("Signatures need cryptography. Install it: pip install 'kpareto[sign]'") from error
    hashed, signature = proof
    digest = HASHES[hashed](data).digest()
    message = b"SSHSIG" + _string(NAMESPACE.encode()) + _string(b"") + _string(hashed) + _string(digest)
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data
