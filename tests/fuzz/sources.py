"""The rows of a world through every door: files of text, Parquet, folders, frames."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import json
import random
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tests.fuzz.worlds import World

FILES = ("csv", "tsv", "csv.gz", "parquet", "folder")
FRAMES = ("pandas", "polars", "arrow")
DOORS = FILES + FRAMES
_ARROW = {"int": pa.int64(), "float": pa.float64(), "bool": pa.bool_(), "date": pa.date32(), "row": pa.int64()}


def source(world: World, door: str, folder: Path, stem: str = "people") -> Any:
    """The rows of the world as a door takes them: a path, or a frame."""
    if door == "arrow":
        return arrow(world)
    if door == "polars":
        return pl.from_arrow(arrow(world))
    if door == "pandas":
        return arrow(world).to_pandas()
    place = folder / f"{stem}{'' if door == 'folder' else f'.{door}'}"
    if door == "parquet":
        pq.write_table(arrow(world), place)
    elif door == "folder":
        place.mkdir(exist_ok=True)
        table, half = arrow(world), len(world["rows"]) // 2
        pq.write_table(table.slice(0, half), place / "part-0.parquet")
        pq.write_table(table.slice(half), place / "part-1.parquet")
    else:
        raw = text_of(world, "\t" if door == "tsv" else ",").encode()
        place.write_bytes(gzip.compress(raw, mtime=0) if door == "csv.gz" else raw)
    return place


def arrow(world: World) -> pa.Table:
    """The rows as a pyarrow table with types."""
    fields = {}
    for place, column in enumerate(world["columns"]):
        kind = _kind(world, place)
        cells = [None if row[place] is None else _typed(kind, row[place]) for row in world["rows"]]
        fields[column["name"]] = pa.array(cells, type=_ARROW.get(kind, pa.string()))
    return pa.table(fields)


def _kind(world: World, place: int) -> str:
    """The type of a column; words that nobody else has make a column of numbers one of text."""
    kind: str = world["columns"][place]["type"]
    return kind


def _typed(kind: str, cell: str) -> object:
    if kind in ("int", "row"):
        return int(cell)
    if kind == "float":
        return float(cell)
    if kind == "bool":
        return cell == "true"
    return dt.date.fromisoformat(cell) if kind == "date" else cell


def text_of(world: World, separator: str = ",", end: str = "\n") -> str:
    """The rows as separated text; a missing cell is empty, or a question mark in a table of one column."""
    out = io.StringIO()
    lonely = len(world["columns"]) == 1  # then a separator in its name must be quoted, or it divides the line
    writer = csv.writer(
        out, delimiter=separator, lineterminator=end, quoting=csv.QUOTE_ALL if lonely else csv.QUOTE_MINIMAL
    )
    writer.writerow([column["name"] for column in world["columns"]])
    writer.writerows([("?" if lonely else "") if cell is None else cell for cell in row] for row in world["rows"])
    return out.getvalue()


def hierarchy_input(form: dict[str, Any], folder: Path, name: str) -> object:
    """A hierarchy as the library takes it: lines, a file of them, a tree, or a rule."""
    if "lines" in form:
        if not form.get("file"):
            return form["lines"]
        place = folder / f"{name}.hierarchy.csv"
        with place.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, delimiter=";", lineterminator="\n").writerows(form["lines"])
        return place
    if "tree" in form:
        return {"kind": "tree", "tree": form["tree"]}
    return form


# -- jobs ----------------------------------------------------------------------------------------------------------


def toml(value: object) -> str:
    """A value as TOML writes it; its strings are those of JSON but for one character."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def write_job(world: World, folder: Path, door: str = "csv", **parts: dict[str, Any]) -> Path:
    """The world as a job file beside its rows and hierarchies; ``parts`` adds to search and release."""
    place: Path = source(world, door, folder)
    person = [column["name"] for column in world["columns"] if column["role"] == "person"]
    data = {"source": place.name, "missing": world["missing"], "domain": world["domain"]}
    data |= {"person": person[0]} if person else {}
    text = _part("data", data | parts.get("data", {}))
    for number, column in enumerate(world["columns"]):
        if column["role"] == "person":
            continue
        entry: dict[str, Any] = {"role": column["role"]}
        if column.get("weight"):
            entry["weight"] = column["weight"]
        form = column.get("hierarchy")
        if form is not None:
            entry["hierarchy"] = _job_form(form, folder, f"column{number}")
        text += _part(f"columns.{toml(column['name'])}", entry)
    rule = world["rule"]
    suppression: dict[str, Any] = {"rule": rule["name"]}  # settings that a rule or a search does not use are refused
    if rule["name"] not in ("none", "below-k"):
        suppression["limit"] = rule["limit"]
    if rule["name"] != "none":
        suppression["rows"] = "mask" if rule["mask"] else "drop"
    search = parts.get("search", {})
    if search.get("method", "exact") == "exact":
        search = {key: value for key, value in search.items() if key not in ("budget", "seed")}
    text += _part("suppression", suppression) + _part("search", {"objectives": world["objectives"]} | search)
    text += _part("limits", world["limits"]) + _part("release", parts.get("release", {}))
    job = folder / "job.toml"
    job.write_text(text, encoding="utf-8")
    return job


def _part(name: str, entries: dict[str, Any]) -> str:
    return f"[{name}]\n" + "".join(f"{toml(key)} = {toml(value)}\n" for key, value in entries.items()) + "\n"


def _job_form(form: dict[str, Any], folder: Path, name: str) -> object:
    """Lines and trees go into files beside the job, rules into the job itself."""
    if "lines" in form:
        hierarchy_input({**form, "file": True}, folder, name)
        return f"{name}.hierarchy.csv"
    if "tree" in form:
        place = folder / f"{name}.json"
        place.write_text(json.dumps({"kind": "tree", "tree": form["tree"]}), encoding="utf-8")
        return place.name
    return form


def shuffled(world: World, chance: random.Random) -> World:
    """The same rows in another order."""
    return {**world, "rows": chance.sample(world["rows"], len(world["rows"]))}


def categorical(frame: pd.DataFrame) -> pd.DataFrame:
    """A pandas frame whose texts are categories, as many programs make them."""
    texts = [name for name in frame.columns if frame[name].dtype == object]
    return frame.astype(dict.fromkeys(texts, "category"))
