"""What the certificate of a differentially private release says: numbers, what was private, and what is assumed."""

from __future__ import annotations

from typing import Any

from kpareto.releases.certificate import Certificate
from kpareto.releases.private.release import PrivateRelease
from kpareto.verifier import digest_of

PRIVATE = (
    (
        "Which recoding was taken: chosen among all nodes of the lattice by OpenDP's noisy maximum of a score with a "
        "proven sensitivity, with epsilon_search."
    ),
    (
        "Which rows are shown: each row was drawn with chance beta by the operating system's generator, generalized, "
        "and classes of fewer than k drawn rows were dropped, with epsilon_anon and delta (Li, Qardaji and Su 2012)."
    ),
)
ASSUMED = (
    "Each person has at most one row: a neighbouring table has one row more or less.",
    "Hierarchies, roles, epsilon, delta and the score were set without looking at the rows.",
    "Nobody but the steward saw errors, times or memory of the run, which may depend on the rows.",
    "The random numbers of the operating system and of OpenDP cannot be known.",
    "Other releases of the same rows are in the ledger: their epsilons and deltas add up with these.",
)
TESTED = "Made with a seed, for tests: who knows it knows which rows were drawn. This is NOT private."


def describe_privacy(done: PrivateRelease) -> dict[str, Any]:
    """The statement as plain data; nothing in it depends on rows that were not released."""
    levels = zip(done.recoding.hierarchies, done.recoding.levels or (), strict=True)
    return {
        "model": "(epsilon, delta)-differential privacy of rows",
        **done.plan.to_dict(),
        "score": done.score,
        "levels": {hierarchy.name: {"level": level, "of": hierarchy.height} for hierarchy, level in levels},
        "private": list(PRIVATE) if done.secret else [TESTED],
        "assumed": list(ASSUMED),
    }


def state_privacy(certificate: Certificate, done: PrivateRelease) -> Certificate:
    """A certificate with the statement in its public part; the confidential part names both by their new hashes."""
    public = {**certificate.public, "differential_privacy": describe_privacy(done)}
    confidential = {key: value for key, value in certificate.confidential.items() if key != "sha256"}
    confidential["public_sha256"] = digest_of(public)
    return Certificate(public, {**confidential, "sha256": digest_of(confidential)})
