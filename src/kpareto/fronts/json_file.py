"""A front read back from its JSON: its recodings are counted again on the table, and must have the same numbers."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np

from kpareto.errors import BadInput
from kpareto.fronts.front import Front, front_print
from kpareto.fronts.numbers import Numbers
from kpareto.fronts.problem import Problem
from kpareto.fronts.provenance import SETS, Provenance
from kpareto.strict import (
    FileKind,
    Misfit,
    anything,
    check_shape,
    either,
    list_of,
    map_of,
    maybe,
    number,
    read_json,
    record,
    text,
    truth,
    whole,
    word,
)
from kpareto.tables.cuts import Cuts, make_space
from kpareto.tables.lattice import Space
from kpareto.tables.local_space import LocalSpace, read_local_space
from kpareto.tables.table import Table

CLOSE = 1e-9  # relative; JSON keeps numbers as they are, so more is another table
FRONT = FileKind("The front", "Write it again with: kpareto front JOB --json FILE.")


def _point(value: Any, place: str) -> None:
    """A point: its numbers, and its levels, its genome, or the number of its local recoding."""
    record({"values": map_of(either(word("inf", "-inf"), number()))}, {"suppressed": whole(), "threshold": whole()})(
        value, place
    )
    if "number" in value:
        record({"number": whole(0, 10**6)})(value, place)
    elif "genome" in value:
        text(value["genome"], f"{place}.genome")
        if not set(value["genome"]) <= {"0", "1"}:
            raise Misfit(f"{place}.genome", value["genome"], "a row of 0 and 1")
    else:
        record({"levels": map_of(whole(0, 10**6))})(value, place)


_GAP = record(
    {"loss": text, "at": map_of(number()), "least": number(0), "reached": number(0)},
    {"gap": maybe(number())},
)


def _details(value: Any, place: str) -> None:
    """What a search tells beside; what local recodings were searched for is read again, the rest is for people."""
    map_of(anything)(value, place)
    read_again = {"bounds": list_of(maybe(_GAP)), "searched": list_of(map_of(number())), "settings": map_of(anything)}
    for name, check in read_again.items():
        if name in value:
            check(value[name], f"{place}.{name}")


_SHAPE = record(
    {
        "objectives": list_of(record({"name": text}), 1),
        "points": list_of(_point),
        "space": record(
            {"kind": word("lattice", "cuts", "order", "local")},
            {
                "items": record({"row": text, "value": text, "weight": text}),
                "boxes": list_of(record({"member": text, "first": text, "last": text}, {"questions": anything})),
            },
        ),
        "search": record(
            {"method": text, "evaluated": whole(), "complete": truth},
            {
                "seed": maybe(whole()),
                "seconds": number(0),
                "note": text,
                "set": word(*SETS),
                "details": _details,
            },
        ),
    },
    {"job": text},
)


def load_front(source: str | PathLike[str] | Mapping[str, Any], problem: Problem) -> Front:
    """The front of a JSON file (or its data) on the problem it was found for; its points keep their ids.

    The file names the job it belongs to by a digest of all that decides the numbers, and another job is a sentence.
    Every recoding is counted again all the same; whether the front is complete is taken from the file.
    """
    data = front_data(source)
    names = [str(each.get("name")) for each in data["objectives"]]
    have = [measure.name for measure in problem.objectives]
    if names != have:
        raise BadInput(
            f"The front has the objectives {', '.join(names)}, and the job has {', '.join(have)}. Run it again."
        )
    try:
        local = data["space"]["kind"] == "local"
        space: Space = (read_local_space if local else _space)(data["space"], problem.table)
        genomes = np.array([_genome(point, space) for point in data["points"]], dtype=np.int64)
        genomes = genomes.reshape(len(data["points"]), len(space.genes))
        provenance = _provenance(data["search"])
    except (KeyError, ValueError) as error:
        raise BadInput(
            "The front has other columns or another space than the job. Run it again for this job."
        ) from error
    if data.get("job") != front_print(problem, space):
        raise BadInput(
            "The front belongs to another job (other rows, columns, weights, hierarchies, objectives, limits, "
            "suppression, space or version). Run it again for this job."
        )
    if len(genomes) and ((genomes < 0) | (genomes >= space.genes)).any():
        raise BadInput("The front has levels that the hierarchies of the job do not have. Run it again for this job.")
    if local and len(provenance.details.get("bounds", ())) not in (0, space.size):
        raise BadInput("The front has other bounds than recodings. Run it again for this job.")
    numbers = _numbers(problem, space, genomes, data["points"])
    return Front(problem, space, genomes, numbers, provenance)


def brief_front(front: Front) -> dict[str, Any]:
    """The data that ``load_front`` needs, and no more: no class is counted, so a large front is quick to keep."""
    numbers, cuts, local = front.numbers, isinstance(front.space, Cuts), isinstance(front.space, LocalSpace)
    points = []
    for place, genome in enumerate(front.genomes.tolist()):
        point: dict[str, Any] = {
            "values": dict(zip(front.names, numbers.values[place].tolist(), strict=True)),
            "suppressed": int(numbers.suppressed[place]),
            "threshold": int(numbers.thresholds[place]),
        }
        if local:
            point["number"] = int(genome[0])
        elif cuts:
            point["genome"] = "".join(str(gene) for gene in genome)
        else:
            columns = zip(front.space.hierarchies, genome, strict=True)
            point["levels"] = {hierarchy.name: level + hierarchy.first for hierarchy, level in columns}
        points.append(point)
    return {**front.take([]).to_dict(), "vectors": front.vectors, "points": points}


def front_data(source: str | PathLike[str] | Mapping[str, Any]) -> Mapping[str, Any]:
    """The plain data of a front's JSON file, or a sentence why it is none."""
    if isinstance(source, Mapping):
        data: Any = source
        shown = "what was given"
    else:
        shown = repr(str(source))
        data = read_json(source, FRONT, anything)
    parts = ("objectives", "points", "space", "search")
    if not isinstance(data, Mapping) or any(part not in data for part in parts):
        raise BadInput(f"{shown} is not a front of kpareto. Write one with: kpareto front JOB --json FILE.")
    whole_front: Mapping[str, Any] = check_shape(data, FRONT, _SHAPE, "" if isinstance(source, Mapping) else source)
    return whole_front


def _space(data: Mapping[str, Any], table: Table) -> Space:
    return make_space(data["kind"], table)


def _genome(point: Mapping[str, Any], space: Space) -> list[int]:
    if "number" in point:
        return [int(point["number"])]
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
        points=str(search.get("set", "counted")),
    )


def _numbers(problem: Problem, space: Space, genomes: np.ndarray, points: list[Mapping[str, Any]]) -> Numbers:
    """One row of numbers per point, in the order of the file."""
    counted = problem.evaluate(space, genomes)
    chosen = []
    for place, (point, rows) in enumerate(zip(points, counted.rows_of(len(points)), strict=True)):
        told = [float(point["values"].get(measure.name, "nan")) for measure in problem.objectives]
        threshold = int(point.get("threshold", counted.thresholds[rows[0]] if len(rows) else 0))
        row = counted.find(rows, threshold, told, CLOSE)
        if row is None or int(point.get("suppressed", counted.suppressed[row])) != int(counted.suppressed[row]):
            raise BadInput(
                f"Point {place} of the front has other numbers on this table. The front belongs to another table, "
                "job or version: run it again."
            )
        chosen.append(row)
    numbers = counted.take(np.array(chosen, dtype=np.int64))
    return Numbers(
        np.arange(len(points)), numbers.thresholds, numbers.values, numbers.keys, numbers.feasible, numbers.suppressed
    )
