"""Checkpoints: what a search knows, in one file that is written whole, belongs to one job and goes when it is done."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from kpareto._version import __version__
from kpareto.cuts import Cuts
from kpareto.errors import BadInput, Interrupted
from kpareto.front import Front
from kpareto.problem import Problem
from kpareto.space import Space
from kpareto.whole import whole


class Cancelled(Interrupted):
    """Stopped by the user: holds the front so far, and where the work can go on."""

    def __init__(self, front: Front, checkpoint: Path) -> None:
        super().__init__(
            f"Stopped after {front.provenance.evaluated:,} recodings; {len(front)} points so far. "
            f"Go on with --resume (kept in {checkpoint.name})."
        )
        self.front = front
        self.checkpoint = checkpoint


def job_print(problem: Problem, space: Space, method: str, seed: int | None) -> str:
    """A fingerprint of everything that decides a search's course; a checkpoint of another job is refused."""
    table = problem.table
    beside = (*table.sensitive, *table.targets, *((table.persons,) if table.persons else ()))
    digest = hashlib.sha256()
    facts = [
        __version__,
        method,
        str(seed),
        space.kind,
        str([m.name for m in problem.objectives]),
        str([(m.name, t) for m, t in problem.limits]),
        str((problem.suppression.rule, problem.suppression.limit, problem.suppression.k, problem.suppression.rows)),
        str([(h.name, h.leaves, h.loss, h.ordered) for h in table.hierarchies]),
        table.domain,
        str([(counts.name, counts.values) for counts in beside]),
    ]
    for fact in facts:
        digest.update(fact.encode() + b"\0")
    arrays = [table.codes, table.weights, *(h.groups for h in table.hierarchies)]
    if isinstance(space, Cuts):
        arrays += [np.array(space.free), *space.gaps]
    for counts in beside:
        arrays += [counts.start, counts.code, counts.count]
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def write_checkpoint(path: Path, job: str, arrays: Mapping[str, np.ndarray]) -> None:
    """Keep arrays for the job with this fingerprint. A kill leaves the old checkpoint or the new one."""
    words = np.frombuffer(json.dumps({"job": job}).encode(), dtype=np.uint8)
    with whole(path) as part, part.open("wb") as file:
        np.savez(file, allow_pickle=False, header=words, **arrays)


def read_checkpoint(path: Path | None, job: str) -> dict[str, np.ndarray] | None:
    """The arrays kept for this job; None where there is no checkpoint, a sentence where it is another job's."""
    if path is None or not path.exists():
        return None
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            arrays = dict(kept)
        owner = json.loads(arrays.pop("header").tobytes())["job"]
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise BadInput(f"The checkpoint {path.name} cannot be read ({error}). Delete it and start again.") from error
    if owner != job:
        raise BadInput(
            f"The checkpoint {path.name} belongs to another job (other rows, columns, objectives, seed, settings or "
            "version). Delete it, or go back to the job it was made with."
        )
    return arrays
