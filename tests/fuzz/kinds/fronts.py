"""Tables, hierarchies and fronts: read as anybody would, coarser as declared, nothing missing, every number right."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import kpareto as kp
from tests.fuzz import oracle
from tests.fuzz.face import Refused, Wrong, command, demand, plain_words, read, steps_of, suppression
from tests.fuzz.keeping import keep
from tests.fuzz.kinds import Case, Kind
from tests.fuzz.oracle import Candidate, Sheet
from tests.fuzz.oracle.steps import STAR, covers, steps
from tests.fuzz.sources import DOORS, shuffled, source, write_job
from tests.fuzz.worlds import (
    QUASI,
    World,
    add_aims,
    form_of,
    kept_rows,
    make_rule,
    make_world,
    of_role,
    place_of,
    rule_of,
    sheet_of,
)

CLOSE = 1e-9  # relative; numbers that go through logarithms are rounded differently
CUTS = 1500  # recodings by cuts that are tried one by one


def same(one: float, other: oracle.Number) -> bool:
    """Whether two numbers are equal but for rounding."""
    return one == other or math.isclose(float(one), float(other), rel_tol=CLOSE, abs_tol=CLOSE)


def table_of(world: World, rows: Any, folder: Path) -> kp.Table:
    """The table, or Refused where no row is left."""
    if not kept_rows(world):
        try:
            table = read(world, rows, folder)
        except kp.KparetoError as error:
            raise Refused(str(error)) from error
        raise Wrong("empty table", f"no row is left, and {table.rows} were read")
    try:  # a column without a hierarchy is shown or hidden as a whole, as the oracle has it
        return replace(read(world, rows, folder), bare=())
    except kp.KparetoError as error:
        raise Wrong("read refuses", str(error)) from error


# -- reading -------------------------------------------------------------------------------------------------------


def make_reading(chance: random.Random) -> Case:
    """A world and a door."""
    return {**make_world(chance), "door": chance.choice(DOORS)}


def check_reading(case: Case, folder: Path) -> None:
    """Rows, dropped rows, distinct rows and values are those of the world, in any order of rows."""
    rows = source(case, case["door"], folder)
    table = table_of(case, rows, folder)
    kept = kept_rows(case)
    quasi = of_role(case, QUASI)
    places = [place_of(case, name) for name in quasi]
    demand(table.rows == len(kept), "rows read", f"{table.rows} instead of {len(kept)}")
    demand(table.dropped == len(case["rows"]) - len(kept), "rows dropped", f"{table.dropped}")
    for name, place, hierarchy in zip(quasi, places, table.hierarchies, strict=True):
        observed = {row[place] for row in kept}
        demand(observed <= set(hierarchy.leaves), "values read", f"{name}: {hierarchy.leaves} lacks some of {observed}")
    mine = Counter(tuple(row[place] for place in places) for row in kept)
    theirs: Counter[tuple[str, ...]] = Counter()
    for codes, weight in zip(table.codes.tolist(), table.weights.tolist(), strict=True):
        theirs[tuple(h.leaves[code] for h, code in zip(table.hierarchies, codes, strict=True))] += weight
    demand(mine == theirs, "distinct rows", f"{theirs} instead of {mine}")
    other = source(shuffled(case, random.Random(case["inner"])), case["door"], folder, "again")
    if case["door"] in ("pandas", "polars", "arrow"):
        demand(kp.fingerprint(rows) == kp.fingerprint(other), "fingerprint", "it depends on the order of the rows")


# -- hierarchies ---------------------------------------------------------------------------------------------------


def check_hierarchies(case: Case, folder: Path) -> None:
    """Each level groups the values as declared, levels nest, and every label covers the values under it."""
    table = table_of(case, source(case, "arrow", folder), folder)
    for hierarchy in table.hierarchies:
        form = form_of(case, hierarchy.name)
        theirs = steps_of(table)[hierarchy.name]
        mine = steps(form, list(hierarchy.leaves))
        if mine is not None:
            demand(
                len(mine) == len(theirs),
                "height",
                f"{hierarchy.name}: {len(theirs)} levels instead of {len(mine)}: {hierarchy.labels}",
            )
            for level, (one, other) in enumerate(zip(mine, theirs, strict=True)):
                demand(grouped(one) == grouped(other), "groups", f"{hierarchy.name}, level {level}: {grouped(other)}")
        for lower, upper in itertools.pairwise(theirs):
            pairs = {(lower[leaf], upper[leaf]) for leaf in hierarchy.leaves}
            demand(len(pairs) == len({low for low, _ in pairs}), "nested", f"{hierarchy.name}: {hierarchy.labels}")
        demand(len(set(theirs[-1].values())) == 1, "one group on top", f"{hierarchy.name}")
        for level, groups in enumerate(hierarchy.groups):
            for leaf, group in zip(hierarchy.leaves, groups.tolist(), strict=True):
                label = hierarchy.labels[level][group]
                fine = covers(form, label, leaf) or (level == len(hierarchy.groups) - 1 and label == STAR)
                demand(fine, "label covers value", f"{hierarchy.name}: {label!r} stands for {leaf!r}")


def grouped(step: oracle.Step) -> set[frozenset[str]]:
    """The groups of a step as sets of leaves."""
    groups: dict[str, set[str]] = {}
    for leaf, group in step.items():
        groups.setdefault(group, set()).add(leaf)
    return {frozenset(group) for group in groups.values()}


# -- fronts of the lattice -----------------------------------------------------------------------------------------


def make_aimed(chance: random.Random) -> Case:
    """A world with objectives and limits."""
    return add_aims(chance, make_world(chance))


def vary_aims(chance: random.Random, world: World) -> Case:
    """The same table with a rule, objectives and limits of its own."""
    return add_aims(chance, {**world, "rule": make_rule(chance)})


def read_once(case: World) -> tuple[kp.Table, Sheet]:
    """The table and the sheet of a world; cases in a row that have one world read it once."""

    def read_world(world: World, folder: Path) -> tuple[kp.Table, Sheet]:
        table = table_of(world, source(world, "arrow", folder), folder)
        return table, sheet_of(world, steps_of(table))

    world = {name: case[name] for name in ("columns", "rows", "missing", "domain")}
    return keep("table", world, read_world)[0]


def find_front(case: World, table: kp.Table, **more: Any) -> kp.Front:
    """The front by the library; Refused where no recoding meets the limits."""
    try:
        return _search(case, table, **more)
    except kp.KparetoError as error:
        if says_none(str(error)):
            raise Refused(str(error)) from error
        raise


def _search(case: World, table: kp.Table, **more: Any) -> kp.Front:
    with plain_words("front"):
        return kp.front(
            table, objectives=case["objectives"], suppression=suppression(case), limits=case["limits"], **more
        )


def says_none(sentence: str) -> bool:
    """Whether a sentence says that no recoding of a space meets the limits, by a search or by the table alone."""
    return "No recoding meets the limits" in sentence or "cannot be met: " in sentence or "leaves any row" in sentence


def check_front(case: Case, folder: Path) -> None:
    """The exact front is that of brute force, ties too, and each number is our own."""
    table, sheet = read_once(case)
    try:
        front = _search(case, table)
    except kp.KparetoError as error:
        demand(says_none(str(error)), "front refuses", str(error))
        compare_points(case, sheet, [])  # nor may brute force find one
        raise Refused(str(error)) from error
    demand(front.provenance.complete, "complete", "the exact search of a small lattice is not complete")
    compare_points(case, sheet, [(p.recoding.levels or (), p.values, p.partition.suppressed_rows) for p in front])


Shown = tuple[tuple[int, ...], dict[str, float], int]  # levels, values, suppressed rows


def compare_points(case: World, sheet: Sheet, points: Sequence[Shown]) -> None:
    """Raise Wrong unless the points are the front of all nodes, each with our own numbers."""
    objectives = case["objectives"]
    every = oracle.candidates(sheet, objectives, rule_of(case), case["limits"])
    for levels, values, suppressed in points:
        mine = [c for c in every if c.parted.levels == tuple(levels) and len(c.parted.lost) == suppressed]
        demand(mine, "a point that is none", f"levels {levels}, {suppressed} suppressed, {values}")
        fits = [c for c in mine if all(same(values[n], v) for n, v in zip(values, c.values, strict=True))]
        demand(fits, "numbers of a point", f"levels {levels}: {values} instead of {[shown(c) for c in mine]}")
    best = oracle.best(every, objectives, rule_of(case))
    missing = Counter((c.parted.levels, len(c.parted.lost)) for c in best)
    missing.subtract((tuple(levels), suppressed) for levels, _, suppressed in points)
    odd = {key: n for key, n in missing.items() if n}
    if odd and not _only_rounding(odd, every, objectives):
        raise Wrong("front", f"{len(points)} points instead of {len(best)}; (levels, suppressed): {odd}")


def _only_rounding(odd: dict[Any, int], every: Sequence[Candidate], objectives: Sequence[str]) -> bool:
    """Whether each candidate in doubt equals another but for the last digits of a logarithm."""
    keys = [oracle.gains(c.values, objectives) for c in every]
    for candidate, key in zip(every, keys, strict=True):
        if (candidate.parted.levels, len(candidate.parted.lost)) not in odd:
            continue
        near = [k for k in keys if k != key and all(same(float(a), b) for a, b in zip(k, key, strict=True))]
        if not near:
            return False
    return True


def shown(candidate: Candidate) -> list[float]:
    """The numbers of a candidate for a sentence."""
    return [float(value) for value in candidate.values]


# -- other searches ------------------------------------------------------------------------------------------------


def make_search(chance: random.Random) -> Case:
    """A world for a search that is no plain exact one: POkA, cuts, or exact through the command line."""
    case = add_aims(chance, make_world(chance, most_rows=30, persons=0.1), objectives=2)
    method = chance.choice(["poka", "genitor", "improve", "nsga2", "datafly", "samarati", "pbg-ea", "exact"])
    case["method"], case["budget"], case["seed"] = method, chance.choice([50, 400]), chance.randrange(5)
    if method in ("genitor", "improve"):
        case["objectives"] = [chance.choice(["lm", "nwp", "glm"])]
        case["rule"] |= {"name": "below-k", "mask": False}
        case["limits"] = {"k": chance.choice([2, 3, 5])}
    if case["rule"]["name"] == "below-k":
        case["rule"]["limit"] = len(case["rows"])  # a job has no limit then
    if method == "poka":
        case["rule"]["name"] = "cap-max-k" if case["rule"]["name"] == "as-needed" else case["rule"]["name"]
        case["objectives"] = ["k", chance.choice(["lm", "glm", "dcn"])]
    return case


def check_search(case: Case, folder: Path) -> None:
    """Each point has our own numbers, none beats another, and what is called complete misses nothing."""
    if not kept_rows(case):
        raise Refused("no rows")
    space = "cuts" if case["method"] in ("genitor", "improve", "nsga2") else "lattice"
    search = {"method": case["method"], "budget": case["budget"], "seed": case["seed"], "space": space}
    job = write_job(case, folder, search=search)
    said = command(folder, "front", job.name, "-q", "--json", "front.json")
    if said.status != 0:
        table = kp.load_job(job).problem().table
        sheet = sheet_of(case, steps_of(table))
        if space == "lattice" and says_none(said.err):
            compare_points(case, sheet, [])
        elif "cannot be met: " in said.err:  # a proof; other searches over cuts may have missed one
            leaves = {hierarchy.name: list(hierarchy.leaves) for hierarchy in table.hierarchies}
            _check_complete(case, sheet, [], leaves, {h.name: h.ordered for h in table.hierarchies})
        raise Refused(said.err)
    data = json.loads((folder / "front.json").read_text(encoding="utf-8"))
    table = kp.load_job(job).problem().table  # a column without a hierarchy has the one that the job gives it
    sheet = sheet_of(case, steps_of(table))
    leaves = {hierarchy.name: list(hierarchy.leaves) for hierarchy in table.hierarchies}
    if space == "lattice" and data["search"]["complete"]:
        quasi = of_role(case, QUASI)
        compare_points(
            case,
            sheet,
            [
                (tuple(p["levels"][n] for n in quasi), objective_values(p, case), p["suppressed"])
                for p in data["points"]
            ],
        )
        return
    points = [cut_point(case, sheet, point, leaves) for point in data["points"]]
    grid = case["rule"]["name"] == "as-needed"
    keys = [oracle.gains(c.values, case["objectives"], grid) for c in points]
    for one in keys:
        demand(not any(_clearly_beats(other, one) for other in keys), "a beaten point", f"{one} among {keys}")
    if data["search"]["complete"]:
        ordered = {hierarchy.name: hierarchy.ordered for hierarchy in table.hierarchies}
        _check_complete(case, sheet, points, leaves, ordered)


def objective_values(point: dict[str, Any], case: Case) -> dict[str, float]:
    """The objectives of a point in JSON."""
    return {name: float(value) for name, value in zip(case["objectives"], list(point["values"].values()), strict=False)}


def _clearly_beats(one: Sequence[oracle.Number], other: Sequence[oracle.Number]) -> bool:
    never = all(float(a) >= float(b) - CLOSE for a, b in zip(one, other, strict=True))
    return never and any(float(a) > float(b) + CLOSE * max(1.0, abs(float(b))) for a, b in zip(one, other, strict=True))


def recoding_of(
    case: Case, sheet: Sheet, point: dict[str, Any], leaves: dict[str, list[str]]
) -> tuple[oracle.Step, ...]:
    """The recoding of a point in JSON: levels, or the first and last leaf of each group."""
    names = of_role(case, QUASI)
    if "levels" in point:
        return tuple(sheet.steps[column][point["levels"][name]] for column, name in enumerate(names))
    return tuple(_from_runs(point["cuts"][name], leaves[name]) for name in names)


def cut_point(case: Case, sheet: Sheet, point: dict[str, Any], leaves: dict[str, list[str]]) -> Candidate:
    """Our own candidate for a point of JSON, its numbers compared."""
    recoding = recoding_of(case, sheet, point, leaves)
    found = oracle.candidates(sheet, case["objectives"], rule_of(case), case["limits"], [(None, recoding)])
    values = objective_values(point, case)
    demand(found, "a point that is none", f"{point}")
    fits = [
        c
        for c in found
        if len(c.parted.lost) == point["suppressed"]
        and all(same(values[n], v) for n, v in zip(values, c.values, strict=True))
    ]
    demand(fits, "numbers of a point", f"{values} instead of {[shown(c) for c in found]}")
    return fits[0]


def _from_runs(runs: Sequence[Any], leaves: Sequence[str]) -> dict[str, str]:
    """Leaf -> group, from the first and last leaf of each group."""
    step: dict[str, str] = {}
    for first, last in runs:
        start, end = leaves.index(str(first)), leaves.index(str(last))
        step |= dict.fromkeys(leaves[start : end + 1], f"{first}..{last}")
    return step


def _check_complete(
    case: Case, sheet: Sheet, points: Sequence[Candidate], leaves: dict[str, list[str]], ordered: dict[str, bool]
) -> None:
    """What is called complete has the best of all cuts: runs of neighbours in ordered columns, else those of the tree."""
    if sum(2 ** (len(own) - 1) > CUTS for own in leaves.values() if own):
        return
    names = of_role(case, QUASI)
    ways = [
        oracle.runs(leaves[name]) if ordered[name] else oracle.cuts(steps_here)
        for name, steps_here in zip(names, sheet.steps, strict=True)
    ]
    if math.prod(map(len, ways)) > CUTS:
        return
    every: list[tuple[None, tuple[oracle.Step, ...]]] = [(None, ())]
    for column in ways:
        every = [(None, (*before, way)) for _, before in every for way in column]
    found = oracle.candidates(sheet, case["objectives"], rule_of(case), case["limits"], every)
    rule, grid = rule_of(case), case["rule"]["name"] == "as-needed"
    best = {oracle.gains(c.values, case["objectives"], grid) for c in oracle.best(found, case["objectives"], rule)}
    told = {oracle.gains(c.values, case["objectives"], grid) for c in points}
    demand(
        best == told,
        "a false proof" if points else "a false proof of an empty front",
        f"called complete with {sorted(map(str, told))}, and the best are {sorted(map(str, best))}",
    )


KINDS = [
    Kind("reading", "a table through every door has the rows it has", make_reading, check_reading),
    Kind(
        "hierarchies",
        "groups as declared, nested, labels cover their values",
        make_world,
        check_hierarchies,
    ),
    Kind(
        "front",
        "the exact front is that of brute force, with our own numbers",
        make_world,
        check_front,
        vary=vary_aims,
        together=30,
    ),
    Kind("search", "other searches: numbers, dominance, no false proof", make_search, check_search, 3),
]
