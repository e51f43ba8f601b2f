"""Who signed a document: signatures of OpenSSH (SSHSIG, Ed25519) beside a file, checked against keys that one trusts.

``ssh-keygen -Y verify`` reads the same files, so nobody needs our word for it (docs/release.md). This room only checks;
keys are made and documents signed in ``releases/signing.py``, which shares no code with it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

from kpareto.errors import BadInput, MissingExtra, Unsafe
from kpareto.strict import FileKind, anything, is_missing, parse_json, read_bytes, read_text

NAMESPACE = "kpareto"  # what a signature is for; one made for e-mail or git is none for a release
KIND = b"ssh-ed25519"
BEGIN, END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
HASHES = {b"sha512": hashlib.sha512, b"sha256": hashlib.sha256}
MOST_KEY = 1 << 20  # bytes of a file of keys or of a signature
TRUSTED = FileKind("The file of trusted keys", "Give the NAME.pub that kpareto key new has written.")
SIGNATURE = FileKind("The signature", "Take it as it was written with its document.", Unsafe)


@dataclass(frozen=True)
class Signer:
    """Whose key has signed."""

    name: str  # the comment beside the key in the file of trusted keys; may be empty
    fingerprint: str  # SHA256:…, as ssh-keygen -l prints it

    def __str__(self) -> str:
        return f"{self.name} ({self.fingerprint})" if self.name else self.fingerprint


def signature_of(document: str | PathLike[str]) -> str:
    """Where the signature of a document lies."""
    return f"{fspath(document)}.sig"


def trusted_bytes(document: str | PathLike[str], trust: str | PathLike[str], kind: FileKind) -> tuple[bytes, Signer]:
    """The bytes of a document, and which trusted key signed these very bytes; Unsafe where none did."""
    keys = read_keys(trust)
    data = read_bytes(document, kind)
    signature = signature_of(document)
    if is_missing(signature):
        raise Unsafe(
            f"{kind.name} {fspath(document)!r} is not signed: there is no {signature!r}. Ask for its signature."
        )
    public, proof = _parse(read_text(signature, SIGNATURE, MOST_KEY), signature)
    if public not in keys:
        raise Unsafe(
            f"{kind.name} {fspath(document)!r} was signed with the key {fingerprint(public)}, which is not among those "
            f"in {fspath(trust)!r}. Trust that key if it is right, or ask who made the document."
        )
    if not _holds(public, proof, data):
        raise Unsafe(f"{kind.name} {fspath(document)!r} is not what was signed: it was changed afterwards.")
    return data, Signer(keys[public], fingerprint(public))


def trusted_json(document: object, trust: str | PathLike[str], kind: FileKind) -> tuple[Any, Signer]:
    """The data of a signed JSON file, read from the very bytes whose signature was checked."""
    if not isinstance(document, str | PathLike):
        raise BadInput("Only a file can be signed. Give the path of the certificate beside its signature.")
    data, signer = trusted_bytes(document, trust, kind)
    return parse_json(data.decode("utf-8", "replace"), kind, anything, document), signer


def read_keys(source: str | PathLike[str]) -> dict[bytes, str]:
    """The Ed25519 keys of a file in the form of NAME.pub, authorized_keys or allowed_signers: key -> name."""
    keys: dict[bytes, str] = {}
    for line in read_text(source, TRUSTED, MOST_KEY).splitlines():
        words = line.split()
        if line.lstrip().startswith("#") or KIND.decode() not in words:
            continue
        at = words.index(KIND.decode())
        key, name = " ".join(words[at + 1 : at + 2]), " ".join(words[at + 2 :]) or (words[0] if at else "")
        try:
            kind, public = _strings(base64.b64decode(key, validate=True), 2)
        except (binascii.Error, struct.error, ValueError) as error:
            raise TRUSTED.bad(source, "has a key that is damaged") from error
        if kind != KIND or len(public) != 32:
            raise TRUSTED.bad(source, "has a key that is damaged")
        keys[public] = name
    if not keys:
        raise TRUSTED.bad(source, "has no line with an ssh-ed25519 key")
    return keys


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
        key, namespace, _, hashed, signed = _strings(blob[10:], 5)
        kind, public = _strings(key, 2)
        signed_kind, signature = _strings(signed, 2)
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


def _strings(blob: bytes, count: int) -> list[bytes]:
    """So many strings, each with its length before it, and nothing after them."""
    strings, at = [], 0
    for _ in range(count):
        (length,) = struct.unpack_from(">I", blob, at)
        if at + 4 + length > len(blob):
            raise ValueError("cut short")
        strings.append(blob[at + 4 : at + 4 + length])
        at += 4 + length
    if at != len(blob):
        raise ValueError("more than there should be")
    return strings
