"""Faults: what becomes of files that were cut, changed, swapped or forged."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

HOSTILE: list[Any] = [None, True, -1, 0, 1, 2**70, -(2**70), 1.5, 1e308, "", "x", "nan", "inf", "*", [], [[]], {}, {"": None}, [None],
                      "../../etc/passwd", "\u0000", "9" * 400, [1, 2, 3], {"k": 1}]  # fmt: skip


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in JSON, the whole first."""
    yield path
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in inside:
        yield from places(value, (*path, key))


def changed(chance: random.Random, data: Any) -> tuple[Any, str]:
    """The data with one place removed, replaced or doubled, and what was done."""
    data = copy.deepcopy(data)
    path = chance.choice(list(places(data))[1:])
    parent = data
    for key in path[:-1]:
        parent = parent[key]
    before = parent[path[-1]]
    ways = ["replace", "replace", "remove", "nudge"]
    way = chance.choice(ways)
    where = "/".join(map(str, path))
    if way == "remove":
        del parent[path[-1]]
        return data, f"{where} removed"
    if way == "nudge" and isinstance(before, int | float) and not isinstance(before, bool):
        parent[path[-1]] = before + chance.choice([1, -1, 100])
        return data, f"{where} nudged"
    value = chance.choice([value for value in HOSTILE if value != before or type(value) is not type(before)])
    parent[path[-1]] = value
    return data, f"{where} = {json.dumps(value)[:40]}"


def damaged_bytes(chance: random.Random, raw: bytes) -> tuple[bytes, str]:
    """The bytes cut, with one byte changed, doubled or empty, and what was done."""
    at = chance.randrange(len(raw)) if raw else 0
    ways: list[tuple[str, Callable[[], bytes]]] = [
        ("cut", lambda: raw[:at]),
        ("one byte changed", lambda: raw[:at] + bytes([(raw[at] + 1 + chance.randrange(255)) % 256]) + raw[at + 1 :]),
        ("doubled", lambda: raw + raw),
        ("empty", lambda: b""),
        ("zeros", lambda: raw[:at] + b"\0" * (len(raw) - at)),
        ("deep", lambda: b"[" * 100_000),
        ("not text", lambda: b"\xff\xfe\x00" + raw),
    ]
    name, way = chance.choice(ways)
    return way(), name


def damage_json(chance: random.Random, place: Path) -> str:
    """Damage a JSON file on disk, in its structure or in its bytes, and say how."""
    raw = place.read_bytes()
    if chance.random() < 0.3:
        new, what = damaged_bytes(chance, raw)
        place.write_bytes(new)
        return what
    data, what = changed(chance, json.loads(raw))
    place.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    return what


def damage_certificate(chance: random.Random, place: Path) -> str:
    """Change what a certificate claims without making its hashes anew; a change of layout alone does not count."""
    before = json.loads(place.read_bytes())
    before = {"public": before["public"], "confidential": before["confidential"]}
    part = chance.choice(["public", "public", "confidential"])
    data, what = changed(chance, before[part])
    place.write_text(json.dumps({**before, part: data}, ensure_ascii=False), encoding="utf-8")
    return f"certificate, {what}".split(" = ")[0].replace(" nudged", "").replace(" removed", "")


def damage_release(chance: random.Random, place: Path) -> str:
    """Change a released file or folder in a way that a reader would see."""
    if place.is_dir():
        return _damage_folder(chance, place)
    if place.suffix == ".parquet":
        table = pq.read_table(place)
        pq.write_table(pa.concat_tables([table, table.slice(0, 1)]), place)
        return "one row twice"
    lines = place.read_text(encoding="utf-8").split("\n")
    ways = ["one row twice", "one row less", "one cell"]
    what = chance.choice(ways)
    at = chance.randrange(1, max(2, len(lines) - 1))
    if what == "one row twice":
        lines.insert(at, lines[at])
    elif what == "one row less":
        del lines[at]
    else:
        lines[at] = f"Zz{lines[at]}"
    place.write_text("\n".join(lines), encoding="utf-8")
    return what


def _damage_folder(chance: random.Random, place: Path) -> str:
    part = sorted(place.glob("*.parquet"))[0]
    what = chance.choice(["a part below", "a part ending in .PARQUET", "a part more", "a part less"])
    if what == "a part below":
        (place / "below").mkdir()
        (place / "below" / "x.parquet").write_bytes(part.read_bytes())
    elif what == "a part ending in .PARQUET":
        (place / "x.PARQUET").write_bytes(part.read_bytes())
    elif what == "a part more":
        (place / "x.parquet").write_bytes(part.read_bytes())
    else:
        part.unlink()
    return what
