"""A front read back from its JSON: its recodings are counted again on the table, and must have the same numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from kpareto.errors import BadInput
from kpareto.front import Front, Provenance
from kpareto.problem import Numbers, Problem
from kpareto.searches import make_space
from kpareto.space import Space

CLOSE = 1e-9  # relative; JSON keeps numbers as they are, so more is another table


def load_front(source: str | PathLike[str] | Mapping[str, Any], problem: Problem) -> Front:
    """The front of a JSON file (or its data) on the problem it was found for; its points keep their ids.

    Every recoding is counted again; a number that differs means another table, another job or another version, and is
    a sentence. Whether the front is complete is taken from the file.
    """
    data = front_data(source)
    names = [str(each.get("name")) for each in data["objectives"]]
    have = [measure.name for measure in problem.objectives]
    if names != have:
        raise BadInput(
            f"The front has the objectives {', '.join(names)}, and the job has {', '.join(have)}. Run it again."
        )
    try:
        space = make_space(data["space"]["kind"], problem.table)
        genomes = np.array([_genome(point, space) for point in data["points"]], dtype=np.int64)
        genomes = genomes.reshape(len(data["points"]), len(space.genes))
        made = _provenance(data["search"])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise BadInput(
            f"The front's JSON is not whole: {error!r}. Write it again with: kpareto front JOB --json FILE."
        ) from error
    if len(genomes) and ((genomes < 0) | (genomes >= space.genes)).any():
        raise BadInput("The front has levels that the hierarchies of the job do not have. Run it again for this job.")
    numbers = _numbers(problem, space, genomes, data["points"])
    return Front(problem, space, genomes, numbers, made)


def front_data(source: str | PathLike[str] | Mapping[str, Any]) -> Mapping[str, Any]:
    """The plain data of a front's JSON file, or a sentence why it is none."""
    if isinstance(source, Mapping):
        data: Any = source
        shown = "what was given"
    else:
        shown = repr(str(source))
        try:
            data = json.loads(Path(source).read_text(encoding="utf-8"))
        except OSError as error:
            raise BadInput(f"The front {shown} cannot be read: {error.strerror}.") from error
        except ValueError as error:
            raise BadInput(f"The front {shown} is not JSON ({error}).") from error
    parts = ("objectives", "points", "space", "search")
    if not isinstance(data, Mapping) or any(part not in data for part in parts):
        raise BadInput(f"{shown} is not a front of kpareto. Write one with: kpareto front JOB --json FILE.")
    return data


def _genome(point: Mapping[str, Any], space: Space) -> list[int]:
    if "genome" in point:
        return [int(gene) for gene in point["genome"]]
    levels = point["levels"]
    return [int(levels[hierarchy.name]) - hierarchy.first for hierarchy in space.hierarchies]


def _provenance(search: Mapping[str, Any]) -> Provenance:
    return Provenance(
        str(search["method"]),
        int(search["evaluated"]),
        bool(search["complete"]),
        None if search.get("seed") is None else int(search["seed"]),
        float(search.get("seconds", 0.0)),
        str(search.get("note", "")),
        dict(search.get("details", {})),
    )


def _numbers(problem: Problem, space: Space, genomes: np.ndarray, points: list[Mapping[str, Any]]) -> Numbers:
    """One row of numbers per point, in the order of the file."""
    counted = problem.evaluate(space, genomes)
    rows: dict[int, list[int]] = {}
    for row, place in enumerate(counted.which.tolist()):
        rows.setdefault(int(place), []).append(row)
    chosen = []
    for place, point in enumerate(points):
        own = rows.get(place, [])
        if len(own) > 1:  # cap-threshold counts a recoding once per threshold
            own = [row for row in own if int(counted.thresholds[row]) == point.get("threshold")]
        if not own or not _same(problem, counted, own[0], point):
            raise BadInput(
                f"Point {place} of the front has other numbers on this table. The front belongs to another table, "
                "job or version: run it again."
            )
        chosen.append(own[0])
    found = counted.take(np.array(chosen, dtype=np.int64))
    return Numbers(np.arange(len(points)), found.thresholds, found.values, found.keys, found.feasible, found.suppressed)


def _same(problem: Problem, counted: Numbers, row: int, point: Mapping[str, Any]) -> bool:
    for measure, value in zip(problem.objectives, counted.values[row].tolist(), strict=True):
        told = point["values"].get(measure.name)
        if not isinstance(told, int | float) or abs(told - value) > CLOSE * max(1.0, abs(value)):
            return False
    return int(point.get("suppressed", counted.suppressed[row])) == int(counted.suppressed[row])
