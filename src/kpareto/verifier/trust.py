"""Which keys a file of trusted keys lets sign: NAME.pub, or allowed_signers read as ``ssh-keygen -Y verify`` reads it.

A line of allowed_signers is ``NAMES [OPTIONS] KIND KEY [COMMENT]`` (ssh-keygen(1), ALLOWED SIGNERS). Names are patterns
with * and ?, one with a ! before it forbids. Options are cert-authority (such a key signs certificates of keys, no
documents), namespaces, valid-after and valid-before; a line with any other is none. In NAME.pub the key stands first.
"""

from __future__ import annotations

import base64
import binascii
import calendar
import re
import struct
import time
from dataclasses import dataclass, replace
from os import PathLike

from kpareto.strict import FileKind, read_text

KIND = "ssh-ed25519"
# Other kinds of keys that OpenSSH knows: a line with one of these is read, and trusts no key of ours.
KINDS = re.compile(r"(sk-)?(ssh|ecdsa)-[a-z0-9-]+(@openssh\.com)?", re.ASCII)
MOST_KEY = 1 << 20  # bytes of a file of keys or of a signature
TRUSTED = FileKind("The file of trusted keys", "Give the NAME.pub that kpareto key new has written.")
SPACE = " \t"
OPTION = re.compile(r'([A-Za-z-]+)(?:="((?:\\"|[^"\\]|\\(?!"))*)")?', re.ASCII)
TIME = re.compile(r"([0-9]{8})([0-9]{4}([0-9]{2})?)?(Z?)", re.ASCII)
# Words that begin a line of authorized_keys, where names stand in allowed_signers.
RESTRICTIONS = re.compile(r'.*[="].*|(?i:cert-authority|restrict|(no-)?[a-z0-9]+-(forwarding|pty|rc|required))|@.*')


@dataclass(frozen=True)
class TrustedLine:
    """One line of a file of trusted keys."""

    number: int
    names: str | None  # patterns, with commas between; None in NAME.pub
    key: bytes  # the 32 bytes of an Ed25519 key; of another kind nothing
    comment: str = ""
    namespaces: str | None = None
    after: float = 0
    before: float = 0
    authority: bool = False
    fault: str = ""  # why ssh-keygen does not read it


def read_lines(source: str | PathLike[str]) -> list[TrustedLine]:
    """Every line with a key; BadInput where there is none at all, or one of Ed25519 is damaged."""
    lines = []
    for number, text in enumerate(read_text(source, TRUSTED, MOST_KEY).split("\n"), 1):
        text = text.strip(" \t\r")
        if not text or text.startswith("#"):
            continue
        try:
            line = _read_line(number, text)
        except (binascii.Error, struct.error, ValueError) as error:
            raise TRUSTED.bad(source, f"has a key that is damaged in line {number}") from error
        if line is not None:
            lines.append(line)
    if not lines:
        raise TRUSTED.bad(source, f"has no line with an {KIND} key")
    return lines


def _read_line(number: int, text: str) -> TrustedLine | None:
    """A line; None where no key of ours stands in it, not even where ssh-keygen reads none."""
    kind, key, comment = _key_words(text)
    if kind == KIND and not KINDS.fullmatch(key):  # NAME.pub
        return TrustedLine(number, None, _key(key), comment)
    if KINDS.fullmatch(kind) and _is_key(kind, key):
        return TrustedLine(number, None, b"", comment)
    names, rest = _first_word(text)
    if names is None:
        return TrustedLine(number, "", b"", fault="has a quotation mark without its end")
    options, (kind, key, comment) = "", _key_words(rest)
    if not KINDS.fullmatch(kind):
        options, rest = _options(rest)
        kind, key, comment = _key_words(rest)
    if not KINDS.fullmatch(kind):
        return TrustedLine(number, "", b"", fault="has its key where none is read") if KIND in text.split() else None
    line = TrustedLine(number, names, _key(key) if kind == KIND else b"", comment)
    return _with_options(line, options)


def _key_words(text: str) -> tuple[str, str, str]:
    """The kind of a key, the key and its comment, if that is what stands there."""
    kind, key, comment = (*text.split(None, 2), "", "", "")[:3]
    return kind, key, comment


def _first_word(text: str) -> tuple[str | None, str]:
    """The first word and the rest; a part of it in quotation marks may hold spaces, and ends it."""
    at = next((place for place, letter in enumerate(text) if letter in ' \t"'), len(text))
    if text[at : at + 1] != '"':
        return text[:at], text[at:].lstrip(SPACE)
    end = text.find('"', at + 1)
    return (None, "") if end < 0 else (text[:at] + text[at + 1 : end], text[end + 1 :].lstrip(SPACE))


def _options(text: str) -> tuple[str, str]:
    """The options before a key, and the rest: up to the first space outside quotation marks."""
    end = re.match(r'(?:\\"|"(?:\\"|[^"])*"|[^ \t"])*', text)
    at = end.end() if end else 0
    return text[:at], text[at:].lstrip(SPACE)


def _with_options(line: TrustedLine, options: str) -> TrustedLine:
    """The line with what its options say; where one is wrong, with that fault."""
    words: dict[str, str | None] = {}
    at = 0
    while at < len(options):
        part = OPTION.match(options, at)
        name = part[1].lower() if part else ""
        known = name in ("namespaces", "valid-after", "valid-before", "cert-authority")
        if part is None or not known or (part[2] is None) != (name == "cert-authority"):
            return replace(line, fault=f"has the option {options[at : at + 40]!r}, which is none")
        if name in words and name != "cert-authority":
            return replace(line, fault=f"has {name} twice")
        words[name] = None if part[2] is None else part[2].replace('\\"', '"')
        at = part.end()
        if options[at : at + 1] not in ("", ",") or options[at:] == ",":
            return replace(line, fault="has options that do not end")
        at += 1
    after, before = (
        0.0 if word is None else _seconds(word) for word in map(words.get, ("valid-after", "valid-before"))
    )
    if after is None or before is None or (after and before and before <= after):
        return replace(line, fault="has a time that is none")
    authority = "cert-authority" in words
    return replace(line, namespaces=words.get("namespaces"), after=after, before=before, authority=authority)


def _seconds(words: str) -> float | None:
    """A moment written YYYYMMDD, with HHMM or HHMMSS, of this place or with a Z; None where it is none."""
    parts = TIME.fullmatch(words)
    if parts is None:
        return None
    try:
        moment = time.strptime(f"{parts[1]}{parts[2] or '0000':0<6}", "%Y%m%d%H%M%S")
        return float(calendar.timegm(moment) if parts[4] else time.mktime((*moment[:8], -1))) or None
    except (ValueError, OverflowError):
        return None


def matches(word: str, patterns: str) -> bool:
    """Whether a list of patterns, with commas between, has a word: * and ? stand for any letters, ! forbids."""
    admitted = False
    for pattern in patterns.split(","):
        plain = pattern.removeprefix("!")
        parts = (".*" if letter == "*" else "." if letter == "?" else re.escape(letter) for letter in plain)
        if re.fullmatch("".join(parts), word, re.DOTALL):
            if plain != pattern:
                return False
            admitted = True
    return admitted


def find_signer(lines: list[TrustedLine], key: bytes, namespace: str, signer: str | None) -> tuple[str | None, str]:
    """Whose key it is, if a line lets it sign here and now; else None, and why the lines that have it do not.

    signer: who it must be, as ssh-keygen takes it with -I; without one, any name that a line has itself will do.
    """
    why = ""
    for line in lines:
        if line.key != key:
            continue
        name, reason = _name_of(line, signer)
        reason = line.fault or reason or _forbids(line, namespace)
        if not reason:
            return name, ""
        why = why or f"line {line.number} {reason}"
    return None, why


def _name_of(line: TrustedLine, signer: str | None) -> tuple[str, str]:
    """By which name the line knows its key, or why by none."""
    if signer is not None:
        known = line.names is not None and matches(signer, line.names)
        return signer, "" if known else f"is not about {signer!r}"
    if line.names is None:
        return line.comment, ""
    if RESTRICTIONS.fullmatch(line.names):
        return "", f"begins with {line.names!r}, where names belong"
    if any(pattern.startswith("!") for pattern in line.names.split(",")):
        return "", "says whose key it is not; say whose signature it must be (--signer NAME)"
    return line.names, ""


def _forbids(line: TrustedLine, namespace: str) -> str:
    """Why the options of a line do not let its key sign a document here and now."""
    if line.authority:
        return "has a key that signs certificates of keys alone (cert-authority)"
    if line.namespaces is not None and not matches(namespace, line.namespaces):
        return f"is for the namespaces {line.namespaces!r}, not for {namespace!r}"
    now = int(time.time())
    if line.after and now < line.after:
        return "is not valid yet (valid-after)"
    return "is no longer valid (valid-before)" if line.before and now > line.before else ""


def _key(word: str) -> bytes:
    """The 32 bytes of an Ed25519 key."""
    kind, public = strings(base64.b64decode(word, validate=True), 2)
    if kind != KIND.encode() or len(public) != 32:
        raise ValueError("no key of Ed25519")
    return public


def _is_key(kind: str, word: str) -> bool:
    """Whether a word begins as a key of this kind does: with its name."""
    try:
        return base64.b64decode(word[:64], validate=True)[4:].startswith(kind.encode()[:8])
    except binascii.Error:
        return False


def strings(blob: bytes, count: int) -> list[bytes]:
    """So many strings, each with its length before it, and nothing after them."""
    parts, at = [], 0
    for _ in range(count):
        (length,) = struct.unpack_from(">I", blob, at)
        if at + 4 + length > len(blob):
            raise ValueError("cut short")
        parts.append(blob[at + 4 : at + 4 + length])
        at += 4 + length
    if at != len(blob):
        raise ValueError("more than there should be")
    return parts
