"""Check a released file against its certificate, sharing no code with what made either.

What the file holds is counted by the room next door, which shares no code with the rest either. Every claim is worked
out again from these counts, in the words of its definition. With the public part alone, the distances t, beta and
delta are to the distribution in the release itself; with the confidential part to that of the whole table as well.
A limit that is not recounted is no limit, so a claim that has one and asks not to be is refused. Persons are told apart
while a release is made, and nobody can count them later: then such a claim is listed as not checked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

from kpareto.engines import file_of, kind_of
from kpareto.errors import BadInput, Unsafe
from kpareto.verifier.certificate import (
    CERTIFICATE,
    check_claim,
    check_roles,
    refuse_others,
    refuse_uncounted,
    spell_claim,
    tell_broken,
    tell_stopped,
)
from kpareto.verifier.certificate import digest_of as digest_of
from kpareto.verifier.certificate import parts as parts
from kpareto.verifier.codebook import check_book
from kpareto.verifier.counters import COUNTERS, count
from kpareto.verifier.counting import QUASI, Class, Counted, Labels
from kpareto.verifier.definitions import HIGHER, judge_thresholds, of_persons
from kpareto.verifier.judging import by_class
from kpareto.verifier.population import PEOPLE, PEOPLE_HIGHER, Cells, by_people, count_people, pair_classes, read_cells
from kpareto.verifier.signatures import Signer, trusted_json
from kpareto.verifier.statements import check_labels, name_class, weigh

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from kpareto.engines.postgres.connect import Postgres

People = dict[Labels, tuple[int, int]]  # of each class its released rows, and the people who could be meant
SLACK = 1e-9
FORMAT = "kpareto certificate"
UNSIGNED = (
    "No signature was checked: the certificate proves that these rows hold what it claims, and neither who wrote it "
    "nor which table the rows come from. To have that checked, give the key of somebody you trust: --trust KEY.pub."
)
SIGNED = "The certificate was signed by {signer}: it proves that these rows hold what that signer claims of them."


@dataclass(frozen=True, repr=False)
class Verified:
    """What was found in a release that holds what its certificate claims."""

    rows: int
    classes: int
    numbers: dict[str, float]  # each claim that was recomputed
    unchecked: tuple[str, ...]  # each claim that cannot be
    files: tuple[str, ...] = ()  # every file that was looked at, by its name; none where it is a table
    proves: str = UNSIGNED  # what a certificate is worth, in a sentence
    signer: Signer | None = None  # whose signature of the certificate was checked
    thresholds: dict[str, float] = field(default_factory=dict)  # of suppression, met by every class
    # What a certificate says beside its claims, such as the program that wrote it, makes no other release of it.
    said: tuple[str, ...] = field(default=(), compare=False)  # each public statement that nothing speaks for or against
    recomputed: int = field(default=0, compare=False)  # public statements that were worked out again from the rows
    compared: int = field(default=0, compare=False)  # those that the confidential part makes as well

    def __repr__(self) -> str:
        """Short: a notebook prints this."""
        numbers = "".join(f", {name} = {value:g}" for name, value in self.numbers.items())
        open_ones = len(self.unchecked) + len(self.said)
        unchecked = f", {open_ones} not checked" if open_ones else ""
        return f"Verified({self.rows:,} rows in {self.classes:,} classes{numbers}{unchecked})"


def verify(
    release: str | PathLike[str] | Postgres | DataFrame,
    certificate: object,
    trust: str | PathLike[str] | None = None,
    population: object = None,
    signer: str | None = None,
) -> Verified:
    """Count a release again, and raise Unsafe unless it holds what its certificate claims.

    Parameters
    ----------
    release : str, path, Postgres or frame of Spark
        The released file, folder, table or frame.
    certificate : object
        The path of its JSON, the parsed JSON, or an object with ``public`` and ``confidential``.
    trust : str or path, optional
        NAME.pub, or allowed signers as ssh-keygen reads them: then the certificate's signature must be beside it, made
        by a key that this file lets sign.
    population : object, optional
        The table of the population that the release was made with, wherever it lies: then k-map, presence and risks are
        counted again too, for which the confidential part is needed.
    signer : str, optional
        Whose signature it must be: a name that the file of allowed signers has, as ssh-keygen takes it with -I.

    Returns
    -------
    Verified
        The numbers that were counted again, and the claims that cannot be.

    Raises
    ------
    Unsafe
        If a claim does not hold; the sentence names the first bad class.
    BadInput
        If the release or the certificate cannot be read.

    Examples
    --------
    Files are read::

        kp.verify("people-anon.csv", "people-anon.certificate.public.json")
    """
    known = None
    if trust is not None:
        certificate, known = trusted_json(certificate, trust, CERTIFICATE, signer)
    elif signer is not None:
        raise BadInput(f"The signature of {signer!r} is asked for without a file of keys. Give it with trust.")
    public, confidential = parts(certificate)
    kind, part = kind_of(release), file_of(release)
    if kind not in COUNTERS:
        raise BadInput(f"A {type(release).__name__} is no release. Give a file, a folder, a table or a frame of Spark.")
    if kind == "file" and (part is None or not part.exists()):
        raise BadInput(f"There is no release {str(release)!r}. Give the file that the certificate belongs to.")
    shown = str(part or (cast(Any, release).table if kind == "postgres" else "the frame"))
    with tell_broken(), tell_stopped(part):
        counted = count(kind, part or release, public["release"], part)
        cells = None if population is None else read_cells(population, _quasi(public), _encoding(confidential))
        verified = replace(check(counted, certificate, shown, cells), files=counted.files)
    return verified if known is None else replace(verified, signer=known, proves=SIGNED.format(signer=known))


def check(counted: Counted, certificate: object, shown: str, population: Cells | None = None) -> Verified:
    """Raise Unsafe, naming the first bad class, unless what was counted is what the certificate claims.

    ``population`` are the values of its quasi-identifiers, and how many people have them.
    """
    with tell_broken():
        public, confidential = parts(certificate)
        people = None if population is None else _people(counted, public, confidential, population)
        return _check_certificate(counted, public, confidential, shown, people)


def _quasi(public: dict[str, Any]) -> list[str]:
    return [name for name in public["release"]["columns"] if public["release"]["roles"][name] == QUASI]


def _encoding(confidential: dict[str, Any]) -> str:
    record = confidential.get("population")
    if not record:
        raise BadInput(
            "A population is given, and this certificate says nothing of one. Give the whole certificate of a release "
            "that was checked with its population, or leave the population out."
        )
    return str(record.get("encoding", "utf-8"))


def _people(
    counted: Counted, public: dict[str, Any], confidential: dict[str, Any], population: Cells
) -> dict[Labels, tuple[int, int]]:
    """Released rows and people of each class of the release and of the population."""
    _encoding(confidential)
    return pair_classes(counted.classes, count_people(population, confidential["population"], _quasi(public)))


def _check_certificate(
    counted: Counted, public: dict[str, Any], confidential: dict[str, Any], shown: str, people: People | None
) -> Verified:
    record = public["release"]
    if public.get(FORMAT, 1) != 1:
        raise Unsafe(f"The certificate is of format {public[FORMAT]}, which is not known to this verifier.")
    check_roles(record["columns"], record["roles"])
    if confidential and confidential["public_sha256"] != digest_of(public):
        raise Unsafe("The two parts of the certificate do not belong together: the public part was changed.")
    if confidential and confidential["sha256"] != digest_of({k: v for k, v in confidential.items() if k != "sha256"}):
        raise Unsafe("The confidential part of the certificate was changed: its SHA-256 does not fit.")
    classes, rows = counted.classes, counted.rows
    if not rows:
        raise Unsafe("The release has no rows.")
    if rows != record["rows"]:
        raise Unsafe(f"The release has {rows:,} rows, and the certificate says {record['rows']:,}.")
    check_labels(classes, _quasi(public), public["recoding"])
    numbers, unchecked = _recount(classes, public, confidential, people)
    refuse_uncounted(public, confidential)
    thresholds, untold, missed = judge_thresholds((public, confidential), numbers, {*HIGHER, *PEOPLE_HIGHER}, SLACK)
    if missed:
        raise Unsafe(f"Classes missing {missed[0]}.")
    if confidential:
        lost, source = confidential["suppression"], confidential["input"]
        if source["rows"] - source["missing_rows"] - lost["dropped"] != rows:
            raise Unsafe(
                f"The certificate does not add up: {source['rows']:,} rows less {source['missing_rows']:,} with "
                f"missing values and {lost['dropped']:,} suppressed are not {rows:,}."
            )
    if record["sha256"] is not None and record["sha256"] != counted.digest:
        raise Unsafe(f"The file {shown!r} is not the one that was certified: its SHA-256 is {counted.digest}.")
    content = record.get("content_sha256")
    if content is not None and content != content_digest(classes):
        raise Unsafe(f"{shown!r} is not what was certified: its classes are others than those counted then.")
    if record["sha256"] is None and content is None:
        unchecked.append("sha256")
    check_book(public, classes, _quasi(public))
    unchecked += untold
    each = weigh(public, confidential, classes, unchecked)
    return Verified(
        rows, len(classes), numbers, tuple(unchecked), thresholds=thresholds, said=each.said,
        recomputed=each.recomputed, compared=each.compared,
    )  # fmt: skip


def _recount(
    classes: dict[Labels, Class], public: dict[str, Any], confidential: dict[str, Any], people: People | None
) -> tuple[dict[str, float], list[str]]:
    """Every claim that can be worked out again, and the names of those that cannot."""
    roles, persons = public["release"]["roles"], all(class_.persons is not None for class_ in classes.values())
    numbers: dict[str, float] = {}
    unchecked = []
    fold = public.get("spellings", "fold") == "fold"
    for part in (public, confidential):
        for claim in part.get("claims", ()):
            refuse_others(claim) if claim.get("recomputed") is False else check_claim(claim)
            tables = part.get("persons" if of_persons(claim) else "distributions", {})
            trees = part.get("trees", {})
            if claim.get("needs") == "population" and claim["measure"] in PEOPLE:
                if people is None:
                    unchecked.append(spell_claim(claim))
                else:
                    higher = claim["measure"] in PEOPLE_HIGHER
                    numbers[spell_claim(claim)] = _judge(claim, by_people(claim["measure"], people), higher)
                continue
            open_to_all = claim.get("recomputed", True)
            if not open_to_all and claim.get("limit") is not None and not of_persons(claim):
                raise Unsafe(f"The certificate claims a limit on {spell_claim(claim)} that nobody may count again.")
            if persons if of_persons(claim) else open_to_all:
                by_labels = by_class(claim, classes, roles, tables, fold, trees)
                numbers[spell_claim(claim)] = _judge(claim, by_labels, claim["measure"] in HIGHER)
            else:
                unchecked.append(spell_claim(claim) + " (estimated, not counted)" * ("estimated" in claim))
    return numbers, unchecked


def content_digest(classes: dict[Labels, Class]) -> str:
    """SHA-256 of the classes and their sensitive values, whichever program holds them and in whatever order."""
    listed = [
        [list(k), class_.rows, {n: dict(v) for n, v in class_.values.items()}] for k, class_ in sorted(classes.items())
    ]
    return digest_of({"classes": listed})


def _judge(claim: dict[str, Any], numbers: dict[Labels, float], higher: bool) -> float:
    """The worst class's number; raise unless it is the claimed one and within its limit."""
    worst = min(numbers, key=lambda labels: (numbers[labels] if higher else -numbers[labels], labels))
    number, name = numbers[worst], spell_claim(claim)
    limit = claim.get("limit")
    if limit is not None and (number < float(limit) - SLACK if higher else number > float(limit) + SLACK):
        raise Unsafe(f"{name_class(worst)} has {name} = {number:.12g}, and the limit is {limit}.")
    if not math.isclose(number, float(claim["value"]), rel_tol=SLACK, abs_tol=SLACK):
        raise Unsafe(f"The certificate claims {name} = {claim['value']}. {name_class(worst)} has {number:.12g}.")
    return number
