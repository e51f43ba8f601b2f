"""Keys, and signatures of documents: Ed25519 in OpenSSH's own forms, so that ssh-keygen can make and check them too.

A signature lies beside its document as ``DOCUMENT.sig`` and binds every byte of it. It has no time in it, and Ed25519
has no chance in it: equal documents and keys give equal signatures.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import stat
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kpareto.atomic import Document, write_whole
from kpareto.errors import BadInput, MissingExtra
from kpareto.strict import FileKind, read_bytes

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

NAMESPACE = "kpareto"
KIND = b"ssh-ed25519"
WIDTH = 70  # of a line of the armour, as ssh-keygen has it
KEY = FileKind("The key", "Give the file that kpareto key new has written (not the .pub).")


@dataclass(frozen=True)
class Key:
    """A private key that signs; it never shows itself."""

    name: str
    _private: Ed25519PrivateKey = field(repr=False)

    @property
    def public(self) -> bytes:
        """The public key: 32 bytes."""
        return self._private.public_key().public_bytes_raw()

    def public_line(self) -> str:
        """The public key as NAME.pub has it."""
        blob = base64.b64encode(_string(KIND) + _string(self.public)).decode()
        return f"{KIND.decode()} {blob} {self.name}".rstrip() + "\n"

    def sign(self, data: bytes) -> str:
        """The signature of these bytes as OpenSSH writes it."""
        digest = hashlib.sha512(data).digest()
        about = _string(NAMESPACE.encode()) + _string(b"") + _string(b"sha512")
        signature = self._private.sign(b"SSHSIG" + about + _string(digest))
        key = _string(KIND) + _string(self.public)
        blob = b"SSHSIG" + struct.pack(">I", 1) + _string(key) + about + _string(_string(KIND) + _string(signature))
        text = base64.b64encode(blob).decode()
        lines = [text[at : at + WIDTH] for at in range(0, len(text), WIDTH)]
        return "\n".join(["-----BEGIN SSH SIGNATURE-----", *lines, "-----END SSH SIGNATURE-----", ""])


def new_key(target: str | PathLike[str]) -> tuple[Path, Path]:
    """Make a key: the private one, readable by its owner alone, and NAME.pub beside it, for everybody."""
    place = Path(target)
    public = place.with_name(f"{place.name}.pub")
    for file in (place, public):
        if file.exists() or file.is_symlink():
            raise BadInput(f"{str(file)!r} is there already, and a key is never replaced. Give another name.")
    serialization, private_key = _cryptography()
    key = Key(re.sub(r"[^\w.@-]", "_", place.name), private_key.generate())
    secret = key._private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    try:
        # Made with its final mode: there is no moment at which somebody else could read it.
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as written:
            written.write(secret)
            written.flush()
            os.fsync(written.fileno())
    except OSError as error:
        raise BadInput(f"Cannot write the key {str(place)!r}: {error.strerror}.") from error
    write_whole(public, key.public_line())
    return place, public


def load_key(source: str | PathLike[str]) -> Key:
    """A private key of OpenSSH's form without a passphrase, which nobody but its owner may read."""
    data = read_bytes(source, KEY, 1 << 16)
    mode = Path(source).stat().st_mode
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise BadInput(
            f"The key {fspath(source)!r} can be read by others (mode {stat.S_IMODE(mode):04o}). "
            f"Make it yours alone: chmod 600 {fspath(source)}"
        )
    serialization, private_key = _cryptography()
    try:
        private = serialization.load_ssh_private_key(data, password=None)
    except (ValueError, TypeError) as error:
        why = "is protected by a passphrase" if "assword" in str(error) else "is no private key of OpenSSH"
        raise KEY.bad(source, why) from error
    except Exception as error:
        raise KEY.bad(source, f"cannot be used ({type(error).__name__})") from error
    if not isinstance(private, private_key):
        raise KEY.bad(source, "is not of the kind Ed25519")
    return Key(re.sub(r"[^\w.@-]", "_", Path(source).name), private)


def signature_files(documents: Mapping[str, Path]) -> dict[str, Path]:
    """Where the signatures of documents lie: word -> DOCUMENT.sig."""
    return {f"{word} signature": _beside(document) for word, document in documents.items()}


def with_signatures(documents: Mapping[Path, Document], key: Key | None) -> dict[Path, Document | None]:
    """The documents and the signature of each, to come into place together.

    Without a key a signature that lies there goes: it was made for another document.
    """
    signed: dict[Path, Document | None] = dict(documents)
    for place, document in documents.items():
        beside = _beside(place)
        if key is not None:
            signed[beside] = Document(key.sign(document.text.encode("utf-8")))
        elif beside.is_file():
            signed[beside] = None
    return signed


def _beside(document: Path) -> Path:
    return document.with_name(f"{document.name}.sig")


def key_named(value: str | None, folder: Path) -> Key | None:
    """The key that a job names under ``release.sign``, from the job's own folder; None where it names none."""
    return None if value is None else load_key(folder / value)


def _cryptography() -> tuple[Any, Any]:
    """The module of serialization and the class of private keys, where they are installed."""
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ImportError as error:
        raise MissingExtra("Signatures need cryptography. Install it: pip install 'kpareto[sign]'") from error
    return serialization, Ed25519PrivateKey


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data
