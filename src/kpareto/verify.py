"""Check a released file against its certificate, sharing no code with what made either.

What the file holds is counted by the room next door, which shares no code with the rest either. Every claim is worked
out again from these counts, in the words of its definition. With the public part alone, the distances t, beta and
delta are to the distribution in the release itself; with the confidential part to that of the whole table as well.
Claims that need the input (persons, for example) stand there as ``"recomputed": false`` and are not checked here.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kpareto.counting import QUASI, Class, Counted, Labels, count
from kpareto.errors import BadInput, Unsafe
from kpareto.postgres import Postgres
from kpareto.postgres_count import count_table
from kpareto.spark_count import count_frame, is_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

STAR = "*"  # every quasi-identifier of a masked row


@dataclass(frozen=True)
class Verified:
    """What was found in a release that holds what its certificate claims."""

    rows: int
    classes: int
    numbers: dict[str, float]  # each claim that was recomputed
    unchecked: tuple[str, ...]  # each claim that cannot be


def verify(release: str | PathLike[str] | Postgres | DataFrame, certificate: object) -> Verified:
    """Raise Unsafe, naming the first bad class, unless the released file, table or frame holds what is claimed.

    ``certificate`` is the path of its JSON, the parsed JSON, or an object with ``public`` and ``confidential``.
    """
    public, _ = parts(certificate)
    if isinstance(release, Postgres):
        with _whole():
            return check(count_table(release, public["release"]), certificate, release.table)
    if not isinstance(release, str | PathLike):
        if not is_spark(release):
            raise BadInput(
                f"A {type(release).__name__} is no release. Give a file, a folder, a table or a frame of Spark."
            )
        with _whole():
            return check(count_frame(release, public["release"]), certificate, "the frame")
    if not Path(release).exists():
        raise BadInput(f"There is no release {str(release)!r}. Give the file that the certificate belongs to.")
    with _whole():
        return check(count(Path(release), public["release"]), certificate, str(release))


def check(found: Counted, certificate: object, shown: str) -> Verified:
    """Raise Unsafe, naming the first bad class, unless what was counted is what the certificate claims."""
    with _whole():
        return _checked(found, *parts(certificate), shown)


@contextmanager
def _whole() -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"The certificate is not whole: {error} is missing or of a wrong kind.") from error


def parts(certificate: object) -> tuple[dict[str, Any], dict[str, Any]]:
    """The public and the confidential part (empty where it is withheld) of a certificate in any form."""
    if isinstance(certificate, str | PathLike):
        try:
            certificate = json.loads(Path(certificate).read_text(encoding="utf-8"))
        except OSError as error:
            raise BadInput(f"The certificate {str(certificate)!r} cannot be read: {error.strerror}.") from error
        except ValueError as error:
            raise BadInput(f"The certificate {str(certificate)!r} is not JSON ({error}).") from error
    if not isinstance(certificate, Mapping):
        certificate = {name: getattr(certificate, name, {}) for name in ("public", "confidential")}
    whole: Mapping[str, Any] = certificate if "public" in certificate else {"public": certificate}
    public, confidential = whole["public"], whole.get("confidential") or {}
    if not isinstance(public, dict) or not isinstance(confidential, dict) or not public.get("claims"):
        raise BadInput("The certificate claims nothing: it has no public part with claims. Give that of the release.")
    return public, confidential


def _checked(found: Counted, public: dict[str, Any], confidential: dict[str, Any], shown: str) -> Verified:
    said = public["release"]
    if confidential and confidential["public_sha256"] != digest_of(public):
        raise Unsafe("The two parts of the certificate do not belong together: the public part was changed.")
    classes, rows = found.classes, found.rows
    if not rows:
        raise Unsafe("The release has no rows.")
    if rows != said["rows"]:
        raise Unsafe(f"The release has {rows:,} rows, and the certificate says {said['rows']:,}.")
    _check_labels(classes, [name for name in said["columns"] if said["roles"][name] == QUASI], public["recoding"])
    masked = public["suppression"]["masked"]
    hidden = classes.get((STAR,) * len(next(iter(classes))), Class()).rows
    if masked and hidden != masked:
        raise Unsafe(f"{hidden:,} rows are masked, and the certificate says {masked:,}.")
    numbers, unchecked = {}, []
    for part, tables in ((public, {}), (confidential, confidential.get("distributions", {}))):
        for claim in part.get("claims", ()):
            if claim.get("recomputed", True):
                numbers[spelled(claim)] = _check(claim, classes, said["roles"], tables)
            else:
                unchecked.append(spelled(claim))
    if confidential:
        lost, given = confidential["suppression"], confidential["input"]
        if given["rows"] - given["missing_rows"] - lost["dropped"] != rows:
            raise Unsafe(
                f"The certificate does not add up: {given['rows']:,} rows less {given['missing_rows']:,} with missing "
                f"values and {lost['dropped']:,} suppressed are not {rows:,}."
            )
    if said["sha256"] is not None and said["sha256"] != found.digest:
        raise Unsafe(f"The file {shown!r} is not the one that was certified: its SHA-256 is {found.digest}.")
    content = said.get("content_sha256")
    if content is not None and content != content_digest(classes):
        raise Unsafe(f"{shown!r} is not what was certified: its classes are others than those counted then.")
    if said["sha256"] is None and content is None:
        unchecked.append("sha256")
    return Verified(rows, len(classes), numbers, tuple(unchecked))


def content_digest(classes: dict[Labels, Class]) -> str:
    """SHA-256 of the classes and their sensitive values, whichever program holds them and in whatever order."""
    listed = [[list(k), each.rows, {n: dict(v) for n, v in each.values.items()}] for k, each in sorted(classes.items())]
    return digest_of({"classes": listed})


def digest_of(part: dict[str, Any]) -> str:
    """SHA-256 of one part of a certificate in its canonical spelling."""
    plain = json.dumps(part, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(plain.encode()).hexdigest()


def _check_labels(classes: dict[Labels, Class], quasi: list[str], recoding: dict[str, Any]) -> None:
    if set(quasi) != set(recoding):
        raise Unsafe(
            f"The certificate recodes {', '.join(recoding)}, and the quasi-identifiers are {', '.join(quasi)}."
        )
    known = [{STAR, *recoding[name]["labels"]} for name in quasi]
    if all(set(seen) <= allowed for seen, allowed in zip(zip(*classes, strict=True), known, strict=True)):
        return
    for labels in sorted(classes):
        for name, label, allowed in zip(quasi, labels, known, strict=True):
            if label not in allowed:
                raise Unsafe(f"{_name(labels)} has the label {label!r} in {name!r}, which the recoding does not have.")


def _name(labels: Labels) -> str:
    return f"The class ({', '.join(labels)})"


def spelled(claim: dict[str, Any]) -> str:
    """A claim's measure as the command line writes it, such as t(column=diagnosis)."""
    given = ", ".join(f"{key}={value}" for key, value in sorted(claim.get("with", {}).items()))
    return f"{claim['measure']}({given})" if given else str(claim["measure"])


def _check(claim: dict[str, Any], classes: dict[Labels, Class], roles: dict[str, str], tables: dict[str, Any]) -> float:
    """The claim's number, worked out again; raise unless it is the claimed one and within its limit."""
    found = by_class(claim, classes, roles, tables)
    higher = claim["measure"] in HIGHER
    worst = min(found, key=lambda labels: (found[labels] if higher else -found[labels], labels))
    number, name = found[worst], spelled(claim)
    limit = claim.get("limit")
    if limit is not None and (number < float(limit) - SLACK if higher else number > float(limit) + SLACK):
        raise Unsafe(f"{_name(worst)} has {name} = {number:.12g}, and the limit is {limit}.")
    if not math.isclose(number, float(claim["value"]), rel_tol=SLACK, abs_tol=SLACK):
        raise Unsafe(f"The certificate claims {name} = {claim['value']}. {_name(worst)} has {number:.12g}.")
    return number


def by_class(
    claim: dict[str, Any], classes: dict[Labels, Class], roles: dict[str, str], tables: dict[str, Any]
) -> dict[Labels, float]:
    """One number per class: the worst over the sensitive columns the claim is about."""
    given = dict(claim.get("with", {}))
    measure = claim["measure"]
    if measure in SIZES:
        return {labels: SIZES[measure](float(each.rows)) for labels, each in classes.items()}
    if measure not in VALUES:
        raise BadInput(f"The certificate claims {measure!r}, which this verifier does not know.")
    asked = given.pop("column", None)
    columns = [name for name, role in roles.items() if role == "sensitive" and asked in (None, name)]
    if not columns:
        raise Unsafe(f"The certificate claims {spelled(claim)}, and the release has no such sensitive column.")
    against = given.pop("reference", "table")
    worst = min if measure in HIGHER else max
    found: dict[Labels, float] = {}
    for column in columns:
        seen: Counter[str] = Counter()
        for each in classes.values():
            seen.update(each.values[column])
        order = [value for value, _ in tables[column]] if column in tables else _ordered(seen)
        whole = dict(tables[column]) if against == "table" and measure in RELATIVE else dict(seen)
        for labels, each in classes.items():
            number = VALUES[measure](Look(each.values[column], whole, order, given))
            found[labels] = worst(found.get(labels, number), number)
    return found


def _ordered(values: Mapping[str, int]) -> list[str]:
    """Numbers by size, everything else by its text."""
    try:
        return sorted(values, key=lambda value: (float(value), value))
    except ValueError:
        return sorted(values)


@dataclass(frozen=True)
class Look:
    """One class, one sensitive column: all that a definition below needs."""

    mine: Mapping[str, int]  # rows of the class by value
    whole: Mapping[str, int]  # rows of the reference by value
    order: list[str]  # the values in order
    given: Mapping[str, Any]  # parameters

    @property
    def rows(self) -> int:
        """Rows of the class."""
        return sum(self.mine.values())

    def shares(self) -> dict[str, tuple[float, float]]:
        """Per value p and q: its share in the class and in the reference."""
        rows, total = self.rows, sum(self.whole.values())
        return {value: (self.mine.get(value, 0) / rows, n / total) for value, n in self.whole.items() if n}


def _entropy(look: Look) -> float:
    return math.exp(-math.fsum(n / look.rows * math.log(n / look.rows) for n in look.mine.values()))


def _recursive(look: Look) -> float:
    falling = sorted(look.mine.values(), reverse=True)
    tail = sum(falling[int(look.given.get("l", 2)) - 1 :])
    return falling[0] / tail if tail else math.inf


def _alpha(look: Look) -> float:
    wanted = look.given.get("value")
    return (max(look.mine.values()) if wanted is None else look.mine.get(str(wanted), 0)) / look.rows


def _t(look: Look) -> float:
    shares = look.shares()
    if look.given.get("distance", "equal") == "equal":
        return math.fsum(abs(p - q) for p, q in shares.values()) / 2
    running, total = 0.0, 0.0
    for value in look.order:
        p, q = shares.get(value, (0.0, 0.0))
        running += p - q
        total += abs(running)
    return total / max(len(look.order) - 1, 1)


def _beta(look: Look) -> float:
    return max((p - q) / q for p, q in look.shares().values() if p)


def _enhanced(look: Look) -> float:
    gains = [((p - q) / q, -math.log(q)) for p, q in look.shares().values() if p]
    return max(gain if gain <= most + 1e-12 else math.inf for gain, most in gains)


def _delta(look: Look) -> float:
    shares = look.shares()
    if look.given.get("absent") == "infinite" and any(p == 0 for p, _ in shares.values()):
        return math.inf
    return max(abs(math.log(p / q)) for p, q in shares.values() if p)


SLACK = 1e-9
HIGHER = {"k", "l", "entropy-l"}  # where more is safer
RELATIVE = {"t", "beta", "enhanced-beta", "delta"}  # compared with a distribution
SIZES: dict[str, Callable[[float], float]] = {"k": lambda rows: rows, "risk-max": lambda rows: 1 / rows}
VALUES: dict[str, Callable[[Look], float]] = {
    "l": lambda look: float(len(look.mine)),
    "entropy-l": _entropy,
    "recursive-l": _recursive,
    "alpha": _alpha,
    "t": _t,
    "beta": _beta,
    "enhanced-beta": _enhanced,
    "delta": _delta,
}
