"""Random worlds: a table with roles and hierarchies, a suppression rule, objectives and limits, as plain data.

A world is JSON all through, so that a failing one can be printed, cut down and read back.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping, Sequence
from typing import Any

from tests.fuzz.oracle import Rule, Sheet, Step
from tests.fuzz.oracle.steps import MISSING, steps

World = dict[str, Any]
Column = dict[str, Any]  # name, role, type, hierarchy, weight
QUASI, SENSITIVE, TARGET, IDENTIFIER, PERSON, PLAIN = (
    "quasi-identifier",
    "sensitive",
    "target",
    "identifier",
    "person",
    "plain",
)
NODES = 160  # of a lattice that is searched by brute force

_NAMES = ["age", "zip", "town", "born", "a b", "größe", "x.y", "select", "a,b", "it's", "Ünï", "t", "k", "n;m", "日本"]
_WORDS = ["Ulm", "Bonn", "Kiel", "São Paulo", "Zürich", "京都", "a,b", 'say "x"', "it's", "x;y", "naïve", "Ω", "null", "None",
          "NaN", "true", "a|b", "é", "e\u0301", "<b>", "&amp;", "=1+1", "-x", "@y", "line\nbreak", "1e3", "0x10", "🙂", "*x"]  # fmt: skip
_ILLS = ["flu", "cold", "gout", "asthma", "none", "HIV"]


def make_world(chance: random.Random, most_rows: int = 48, persons: float = 0.35) -> World:
    """A random table with everything that a front or a release needs."""
    count = chance.choice([1, 2, 2, 2, 3, 3, 4])
    names = chance.sample(_NAMES, count + 3)
    columns = [_quasi(chance, names[place]) for place in range(count)]
    columns += [
        {"name": names[count + place], "role": SENSITIVE, "type": chance.choice(["ill", "ill", "int", "text"])}
        for place in range(chance.choice([0, 1, 1, 1, 2]))
    ]
    if chance.random() < 0.4:
        columns.append({"name": names[count + 2], "role": TARGET, "type": chance.choice(["ill", "int"])})
    if chance.random() < 0.4:
        columns.append({"name": "name", "role": IDENTIFIER, "type": "id"})
    if chance.random() < persons:
        columns.append({"name": "who", "role": PERSON, "type": "person"})
    chance.shuffle(columns)
    columns.append({"name": "row", "role": PLAIN, "type": "row"})
    pools = [_pool(chance, column) for column in columns]
    world: World = {"columns": columns, "rows": _rows(chance, columns, pools, chance.randint(1, most_rows)),
                    "missing": "drop", "domain": "observed", "inner": chance.getrandbits(32)}  # fmt: skip
    _hierarchies(chance, world, pools)
    _missing(chance, world)
    world["rule"] = make_rule(chance)
    return world


def _quasi(chance: random.Random, name: str) -> Column:
    kind = chance.choice(["int", "int", "text", "text", "code", "date", "float", "bool"])
    column: Column = {"name": name, "role": QUASI, "type": kind}
    if chance.random() < 0.25:
        column["weight"] = chance.choice([0.5, 2, 3, 9])
    return column


def _pool(chance: random.Random, column: Column) -> list[str]:
    """The values a column may have, as texts."""
    kind, size = column["type"], chance.choice([1, 2, 3, 4, 6, 9])
    if kind == "ill":
        return chance.sample(_ILLS, max(2, min(size, 6)))
    if kind == "bool":
        return ["true", "false"]
    if kind == "code":
        length = chance.choice([3, 5])
        return sorted({f"{chance.choice('012')}{chance.randrange(4):0{length - 1}d}" for _ in range(size)})
    if kind == "date":
        first = dt.date(chance.choice([1931, 1999, 2020]), 1, 1)
        return sorted({(first + dt.timedelta(chance.randrange(2000))).isoformat() for _ in range(size)})
    if kind == "int":
        low = chance.choice([0, 17, -20, 1000, 2**31])
        return [str(n) for n in sorted({low + chance.randrange(40) for _ in range(size)})]
    if kind == "float":
        return sorted({repr(chance.randrange(400) / 8 + 0.0625) for _ in range(size)}, key=float)
    return chance.sample(_WORDS, size)


def _rows(
    chance: random.Random, columns: Sequence[Column], pools: Sequence[list[str]], count: int
) -> list[list[str | None]]:
    """Rows in clumps, so that there are classes, and a few that are alone, with words that nobody else has."""
    clumps = [[chance.choice(pool) if pool else "" for pool in pools] for _ in range(max(1, count // 4))]
    rows: list[list[str | None]] = []
    for place in range(count):
        clump = chance.choice(clumps)
        row: list[str | None] = []
        alone = chance.random() < 0.08
        for column, pool, cell in zip(columns, pools, clump, strict=True):
            if column["type"] == "row":
                row.append(str(place))
            elif column["type"] == "id":
                row.append(f"Id-{chance.getrandbits(40):010x}")
            elif column["type"] == "person":
                row.append(f"Who{chance.randrange(max(1, count * 2 // 3)):03d}")
            elif alone and column["type"] in ("text", "ill"):
                row.append(f"Rare{chance.getrandbits(32):08x}")
            else:
                row.append(cell if column["role"] == QUASI and chance.random() < 0.8 else chance.choice(pool))
        rows.append(row)
    return rows


def _hierarchies(chance: random.Random, world: World, pools: Sequence[list[str]]) -> None:
    """A hierarchy for each quasi-identifier, until the lattice would be too large for brute force."""
    nodes = 1
    for place, column in enumerate(world["columns"]):
        if column["role"] != QUASI:
            continue
        declared = sorted({*pools[place], *(row[place] for row in world["rows"])})
        form = _form(chance, column["type"], declared)
        height = 2 + (0 if form is None else 4 if "dates" in form or "tree" in form or "lines" in form else 3)
        if nodes * height > NODES:
            form, height = None, 2
        nodes *= height
        if form is not None:
            column["hierarchy"] = form
    if chance.random() < 0.25:
        world["domain"] = "declared"


def _form(chance: random.Random, kind: str, leaves: list[str]) -> dict[str, Any] | None:
    if chance.random() < 0.15:
        return chance.choice([None, {"flat": True}])
    if kind in ("int", "float") and chance.random() < 0.8:
        start = chance.choice([0, 0, 1, -3])
        width = chance.choice([2, 5, 10])
        forms: list[dict[str, Any]] = [
            {"intervals": [width, width * chance.choice([2, 3])], "from": start},
            {"intervals": [width], "from": start, "top_code": start + width * chance.randrange(1, 6)},
            {"bounds": [[20, 25, 40], [25]]},
            {"quantiles": chance.choice([2, 4])},
        ]
        return chance.choice(forms)
    if kind == "code" and chance.random() < 0.8:
        return chance.choice([{"prefix": [2, 1]}, {"prefix": [1]}, {"mask": [1, 2]}])
    if kind == "date" and chance.random() < 0.8:
        return {"dates": chance.choice([True, ["month", "year"], ["year", "decade"]])}
    choice = chance.random()
    if choice < 0.4:
        return {"lines": lines(chance, leaves), "file": chance.random() < 0.5}
    if choice < 0.8:
        return {"tree": tree(chance, leaves)}
    return {"order": chance.sample(leaves, len(leaves))}


def lines(chance: random.Random, leaves: Sequence[str]) -> list[list[str]]:
    """One line per value with labels for one or two levels in between."""
    label = {leaf: f"G{chance.randrange(max(1, len(leaves) // 2))}" for leaf in leaves}
    above = {group: f"H{chance.randrange(2)}" for group in sorted(set(label.values()))}
    two = chance.random() < 0.5
    return [
        [leaf, label[leaf], *([above[label[leaf]]] if two else []), "*"] for leaf in chance.sample(leaves, len(leaves))
    ]


def tree(chance: random.Random, leaves: Sequence[str]) -> dict[str, Any]:
    """A tree of branches of different depth; some branches have one name."""
    parts: list[dict[str, Any]] = [{"label": leaf} for leaf in leaves]
    depth = 0
    while len(parts) > 2 and depth < 2 and chance.random() < 0.8:
        taken = [parts.pop(chance.randrange(len(parts))) for _ in range(chance.randint(2, max(2, len(parts) // 2)))]
        parts.append({"label": chance.choice(["other", f"N{depth}-{chance.randrange(9)}"]), "children": taken})
        depth += 1
    return {"label": "*", "children": parts}


def _missing(chance: random.Random, world: World) -> None:
    """Take some cells away; as a value of their own only where every hierarchy can hold them."""
    if chance.random() < 0.6:
        return
    quasi = [c for c in world["columns"] if c["role"] == QUASI]
    if all("hierarchy" not in c or "flat" in c["hierarchy"] for c in quasi) and chance.random() < 0.7:
        world["missing"] = "category"
    for row in world["rows"]:
        for place, column in enumerate(world["columns"]):
            if column["role"] in (QUASI, SENSITIVE, TARGET) and chance.random() < 0.04:
                row[place] = None


def make_rule(chance: random.Random) -> dict[str, Any]:
    """A suppression rule."""
    name = chance.choice(["none", "below-k", "cap-max-k", "as-needed", "as-needed", "as-needed"])
    return {
        "name": name,
        "limit": chance.choice([0, 0, 0.05, 0.1, 0.25, 0.5, 1, 3, 1000]),
        "mask": chance.random() < 0.25,
    }


# -- what the oracle sees of a world -------------------------------------------------------------------------------


def of_role(world: World, role: str) -> list[str]:
    """Names of the columns with a role, in the order of the table."""
    return [column["name"] for column in world["columns"] if column["role"] == role]


def place_of(world: World, name: str) -> int:
    """The place of a column."""
    return [column["name"] for column in world["columns"]].index(name)


def kept_rows(world: World) -> list[list[str]]:
    """The rows that are read, with missing cells named."""
    read = [place for place, column in enumerate(world["columns"]) if column["role"] not in (PLAIN, IDENTIFIER)]
    rows = world["rows"]
    if world["missing"] == "drop":
        rows = [row for row in rows if all(row[place] is not None for place in read)]
    return [[MISSING if cell is None else cell for cell in row] for row in rows]


def form_of(world: World, name: str) -> dict[str, Any] | None:
    """The hierarchy of a column as the world gives it."""
    found: dict[str, Any] | None = world["columns"][place_of(world, name)].get("hierarchy")
    return found


def sheet_of(world: World, steps_of: Mapping[str, Sequence[Step]] | None = None) -> Sheet:
    """The sheet of a world; ``steps_of`` has the steps of columns whose groups are made from the rows.

    Those without a hierarchy are among them: a job gives them one that fits.
    """
    rows = kept_rows(world)
    quasi = of_role(world, QUASI)
    columns = {
        name: [row[place_of(world, name)] for row in rows] for column in world["columns"] for name in [column["name"]]
    }
    ways = []
    for name in quasi:
        form = form_of(world, name)
        found = None if form is None and steps_of else steps(form, sorted(set(columns[name])))
        ways.append(tuple(found if found is not None else (steps_of or {})[name]))
    person, target = of_role(world, PERSON), of_role(world, TARGET)
    return Sheet(
        tuple(zip(*(columns[name] for name in quasi), strict=True)),
        tuple(ways),
        {name: tuple(columns[name]) for name in of_role(world, SENSITIVE)},
        tuple(columns[target[0]]) if target else None,
        tuple(columns[person[0]]) if person else None,
        tuple(world["columns"][place_of(world, name)].get("weight", 1) for name in quasi),
        world["domain"],
    )


def rule_of(world: World) -> Rule:
    """The suppression rule for the oracle."""
    given, limits = world["rule"], world.get("limits", {})
    aims = tuple(world.get("objectives", ()))
    return Rule(given["name"], given["limit"], int(limits.get("k", 2)), given["mask"], limits, aims)


def add_aims(chance: random.Random, world: World, objectives: int = 3) -> World:
    """Objectives and limits that the columns of the world allow."""
    measures = ["k", "risk-max", "risk-mean", "risk-share", "uniques", "suppressed", "classes", "glm", "lm", "lm", "nwp",
                "precision-loss", "entropy", "dcn", "average-class-size", "necd"]  # fmt: skip
    models = ["k", "k", "risk-max"]
    if of_role(world, SENSITIVE):
        values = [
            "l",
            "entropy-l",
            "recursive-l",
            "alpha",
            "t",
            "t(distance=ordered)",
            "beta",
            "enhanced-beta",
            "delta",
        ]
        measures += values
        models += values
    if of_role(world, TARGET):
        measures += ["cm", "cm-rows"]
    world["objectives"] = chance.sample(list(dict.fromkeys(measures)), chance.randint(1, objectives))
    if chance.random() < 0.5 and "k" not in world["objectives"]:
        world["objectives"][0] = "k"
    world["limits"] = {spec: _limit(chance, spec) for spec in chance.sample(models, chance.choice([0, 1, 1, 2]))}
    if world["rule"]["name"] == "below-k" or (world["rule"]["name"] == "as-needed" and chance.random() < 0.5):
        world["limits"].setdefault("k", chance.choice([1, 2, 3, 5]))
    return world


def _limit(chance: random.Random, spec: str) -> float:
    if spec in ("k", "l"):
        return chance.choice([1, 2, 2, 3, 5])
    if spec == "entropy-l":
        return chance.choice([1, 1.5, 2])
    if spec in ("alpha", "risk-max", "t", "t(distance=ordered)"):
        return chance.choice([0.2, 0.4, 0.5, 0.6, 0.9, 1])
    return chance.choice([0.5, 1, 2, 4])
