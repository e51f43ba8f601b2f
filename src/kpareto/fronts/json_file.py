"""A front's JSON, written and read back part by part, as docs/fronts.md describes it.

What is read is counted again on the table, and must have the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from kpareto._version import __version__
from kpareto.errors import BadInput, KparetoError
from kpareto.fronts.numbers import SETS, Numbers, Provenance
from kpareto.fronts.problem import Problem
from kpareto.measures.measure import aspect_of, short_name
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
from kpareto.tables.fingerprint import fingerprint
from kpareto.tables.lattice import Space
from kpareto.tables.local_space import LocalSpace, read_local_space
from kpareto.tables.recoding import Recoding
from kpareto.tables.spelling import EXACT, spell_infinite, without_point

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
                "end_points": map_of(list_of(whole())),
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
                "options": map_of(anything),
                "details": _details,
            },
        ),
    },
    {"job": text},
)


# -- writing -----------------------------------------------------------------------------------------------------------


def front_print(problem: Problem, space: Space) -> str:
    """What a front's file belongs to: the problem with all that decides its numbers, and the space that was walked."""
    return fingerprint(problem.fingerprint, space)


def write_front(problem: Problem, space: Space, provenance: Provenance) -> dict[str, Any]:
    """What a front is of and where it comes from: all but its points."""
    table, rule = problem.table, problem.suppression
    levels = table.schema.levels
    first = {hierarchy.name: hierarchy.first for hierarchy in table.hierarchies if hierarchy.first}
    ends = {name: np.asarray(gaps).tolist() for name, gaps in space.ends.items()} if isinstance(space, Cuts) else {}
    return {
        "kpareto": __version__,
        "job": front_print(problem, space),
        "rows": table.rows,
        "distinct": table.distinct,
        "space": {
            "kind": space.kind,
            "size": space.size,
            **({"first": first} if first else {}),
            **({"levels": {name: list(pair) for name, pair in levels.items()}} if levels else {}),
            **(space.to_dict() if isinstance(space, LocalSpace) else {}),
            **({"end_points": ends} if ends else {}),
        },
        "search": {
            "method": provenance.method,
            "evaluated": provenance.evaluated,
            "complete": provenance.complete,
            "set": provenance.points,
            "seed": provenance.seed,
            "options": dict(provenance.options),
            "seconds": round(provenance.seconds, 3),
            **({"sample": dict(vars(table.sample))} if table.sample is not None else {}),
            **({"note": provenance.note} if provenance.note else {}),
            **({"details": dict(provenance.details)} if provenance.details else {}),
        },
        "suppression": {
            "rule": rule.rule,
            "limit": rule.limit,
            "rows": rule.rows,
            **({"step": rule.step} if rule.graded else {}),
        },
        "limits": {measure.name: threshold for measure, threshold in problem.limits},
        "objectives": [{"name": m.name, "better": m.better, "unit": m.unit} for m in problem.objectives],
    }


def write_genome(recoding: Recoding, genome: np.ndarray) -> dict[str, Any]:
    """A point's recoding for people, and what it is read back from."""
    if recoding.levels is not None:
        return {"levels": recoding.describe()}
    if recoding.boxes is not None:
        return {"runs": recoding.describe(), "number": int(genome[0])}
    return {"cuts": recoding.describe(), "genome": "".join(map(str, genome.tolist()))}


def brief_genome(space: Space, genome: np.ndarray) -> dict[str, Any]:
    """What a point's recoding is read back from, and no more."""
    if isinstance(space, LocalSpace):
        return {"number": int(genome[0])}
    if isinstance(space, Cuts):
        return {"genome": "".join(map(str, genome.tolist()))}
    columns = zip(space.hierarchies, genome.tolist(), strict=True)
    return {"levels": {hierarchy.name: level + hierarchy.first for hierarchy, level in columns}}


def write_values(problem: Problem, values: Mapping[str, float]) -> object:
    """A point's values by name, whole ones without a point, and shares of the rows as numbers of rows too."""
    written = {name: without_point(value, EXACT) for name, value in values.items()}
    for measure in problem.objectives:
        if in_rows := aspect_of(measure).in_rows:
            rows = round(written[measure.name] * problem.table.rows)
            written[in_rows + measure.name.removeprefix(short_name(measure.name))] = rows
    return spell_infinite(written)


# -- reading -----------------------------------------------------------------------------------------------------------


def read_front(
    source: str | PathLike[str] | Mapping[str, Any], problem: Problem
) -> tuple[Space, np.ndarray, Numbers, Provenance]:
    """Space, genomes, numbers and provenance of a JSON file (or its data) on the problem it was found for.

    The file names the job it belongs to by a digest of all that decides the numbers, and another job is a sentence.
    Every recoding is counted again all the same; whether the front is complete is taken from the file.
    """
    data = front_data(source)
    names = [str(objective.get("name")) for objective in data["objectives"]]
    have = [measure.name for measure in problem.objectives]
    if names != have:
        raise BadInput(
            f"The front has the objectives {', '.join(names)}, and the job has {', '.join(have)}. Run it again."
        )
    try:
        kind, table = data["space"]["kind"], problem.table
        ends = {name: np.array(gaps, dtype=np.int64) for name, gaps in data["space"].get("end_points", {}).items()}
        space = read_local_space(data["space"], table) if kind == "local" else make_space(kind, table, ends)
        genomes = np.array([_genome(point, space) for point in data["points"]], dtype=np.int64)
        genomes = genomes.reshape(len(data["points"]), len(space.genes))
        provenance = _provenance(data["search"])
    except KparetoError:
        raise
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
    if kind == "local" and len(provenance.details.get("bounds", ())) not in (0, space.size):
        raise BadInput("The front has other bounds than recodings. Run it again for this job.")
    return space, genomes, _count_again(problem, space, genomes, data["points"]), provenance


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
        options=dict(search.get("options", {})),
    )


def _count_again(problem: Problem, space: Space, genomes: np.ndarray, points: list[Mapping[str, Any]]) -> Numbers:
    """The numbers of the points, which must be those of the file: one row per point, in its order."""
    counted = problem.evaluate(space, genomes)
    chosen = []
    for at, (point, rows) in enumerate(zip(points, counted.rows_of(len(points)), strict=True)):
        values = [float(point["values"].get(measure.name, "nan")) for measure in problem.objectives]
        threshold = int(point.get("threshold", counted.thresholds[rows[0]] if len(rows) else 0))
        row = counted.find(rows, threshold, values, CLOSE)
        if row is None or int(point.get("suppressed", counted.suppressed[row])) != int(counted.suppressed[row]):
            raise BadInput(
                f"Point {at} of the front has other numbers on this table. The front belongs to another table, "
                "job or version: run it again."
            )
        chosen.append(row)
    numbers = counted.take(np.array(chosen, dtype=np.int64))
    return replace(numbers, which=np.arange(len(points)))
