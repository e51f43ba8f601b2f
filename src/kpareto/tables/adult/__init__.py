"""The Adult table of UCI, embedded, with the hierarchies and the papers' ways of generalizing it.

>>> table = adult_table()
>>> table.rows, table.distinct
(30162, 12458)
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kpareto.errors import BadHierarchy, BadJob, did_you_mean
from kpareto.tables.hierarchies import read_json, read_lines
from kpareto.tables.hierarchy import Hierarchy
from kpareto.tables.schema import Schema
from kpareto.tables.table import Domain, Table, make_table

if TYPE_CHECKING:
    import pyarrow as pa

Part = Literal["train", "test", "all"]
PARTS: tuple[Part, ...] = ("train", "test", "all")
FOLDER = Path(__file__).parent / "data"
MISSING = "?"
COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "salary-class",
)
NUMERIC = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
CODED = tuple(name for name in COLUMNS if name not in ("fnlwgt", "education-num"))


@dataclass(frozen=True)
class Preset:
    """One way to look at Adult: the quasi-identifiers with their hierarchy files, and the other roles."""

    files: Mapping[str, str]  # quasi-identifier -> file in data/hierarchies
    sensitive: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    domain: Domain = "declared"
    distance: tuple[str, ...] = ()  # columns whose cell loss is a distance (readings.md#losses)


def _read_preset(entry: Mapping[str, Any]) -> Preset:
    """A preset as it stands beside the data: files by quasi-identifier, and what differs from the usual."""
    fields: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in entry.items()}
    return Preset(**fields)


PRESETS: Mapping[str, Preset] = {
    name: _read_preset(entry)
    for name, entry in json.loads((FOLDER / "presets.json").read_text(encoding="utf-8")).items()
}


def preset_of(name: str) -> Preset:
    """A preset by its name."""
    if name not in PRESETS:
        raise BadJob(f"No preset {name!r} of Adult. {did_you_mean(name, PRESETS)}There are: {', '.join(PRESETS)}.")
    return PRESETS[name]


@cache
def _unpack() -> tuple[dict[str, int], dict[str, tuple[str, ...]], dict[str, np.ndarray]]:
    """Rows per part, and per coded column its dictionary and its codes (rows,) uint8, training rows first."""
    facts = json.loads((FOLDER / "dictionaries.json").read_text(encoding="utf-8"))
    cells = np.frombuffer(lzma.decompress((FOLDER / "codes.xz").read_bytes()), dtype=np.uint8)
    columns = cells.reshape(len(CODED), sum(facts["rows"].values()))
    values = {name: tuple(facts["values"][name]) for name in CODED}
    values["education-num"] = tuple(map(str, facts["education-num"]))  # one per education, in that column's order
    return facts["rows"], values, dict(zip(CODED, columns, strict=True))


def _rows(part: str) -> slice:
    if part not in PARTS:
        raise BadJob(f"Adult has no part {part!r}. {did_you_mean(part, PARTS)}The parts are: {', '.join(PARTS)}.")
    train = _unpack()[0]["train"]
    return {"train": slice(0, train), "test": slice(train, None), "all": slice(0, None)}[part]


def adult(part: Part = "train") -> pa.Table:
    """The rows of UCI's Adult, value by value.

    ``?`` stands where UCI has it. The dot after each label of adult.test is left out, so that both parts have the
    labels ``<=50K`` and ``>50K``; so is the comment line at its top. Numbers are int64, the rest is text.

    Parameters
    ----------
    part : {'train', 'test', 'all'}, optional
        Those of adult.data (32,561), of adult.test (16,281), or both.

    Returns
    -------
    pyarrow.Table
        15 columns.

    Raises
    ------
    BadInput
        If there is no such part.

    Examples
    --------
    >>> import kpareto as kp
    >>> kp.adult("test").num_rows
    16281
    """
    import pyarrow as pa

    rows = _rows(part)
    _, values, codes = _unpack()
    columns = {}
    for name in COLUMNS:
        if name == "fnlwgt":
            planes = np.frombuffer(lzma.decompress((FOLDER / "fnlwgt.xz").read_bytes()), dtype=np.uint8)
            columns[name] = pa.array(planes.reshape(4, -1).T.copy().view("<u4")[rows, 0].astype(np.int64))
            continue
        code = codes["education" if name == "education-num" else name][rows]
        if name in NUMERIC:
            columns[name] = pa.array(np.array(values[name], dtype=np.int64)[code])
        else:
            columns[name] = pa.array(values[name]).take(pa.array(code))
    return pa.table(columns)


def adult_hierarchies(preset: str = "default") -> dict[str, Hierarchy]:
    """The hierarchies of a preset of Adult.

    Parameters
    ----------
    preset : str, optional
        A set of columns and hierarchies, such as those of a paper.

    Returns
    -------
    dict of str to Hierarchy
        One per quasi-identifier.

    Raises
    ------
    BadInput
        If there is no such preset.

    Examples
    --------
    >>> import kpareto as kp
    >>> kp.adult_hierarchies()["sex"]
    Hierarchy(sex: 2, 1 groups from level 0 to 1)
    """
    chosen = preset_of(preset)
    return {name: _hierarchy(name, file, name in chosen.distance) for name, file in chosen.files.items()}


@cache
def _hierarchy(name: str, file: str, distance: bool) -> Hierarchy:
    path = FOLDER / "hierarchies" / file
    hierarchy = read_lines(name, path) if path.suffix == ".csv" else read_json(name, path)
    return replace(hierarchy, loss="distance") if distance else hierarchy


def adult_schema(preset: str = "default", target: str | None = None, sensitive: str | None = None) -> Schema:
    """The roles of a preset; a column named as target or sensitive is then no quasi-identifier."""
    chosen = preset_of(preset)
    for name in (target, sensitive):
        if name is not None and name not in CODED:
            raise BadJob(
                f"Adult has no column {name!r} for this. {did_you_mean(name, CODED)}It has: {', '.join(CODED)}."
            )
    targets = chosen.target if target is None else (target,)
    secrets = chosen.sensitive if sensitive is None else (sensitive,)
    quasi = tuple(name for name in chosen.files if name not in (*targets, *secrets))
    return Schema(quasi, sensitive=secrets, target=targets)


def adult_table(
    preset: str = "default",
    *,
    target: str | None = None,
    sensitive: str | None = None,
    part: Part = "train",
    domain: Domain | None = None,
) -> Table:
    """The complete rows of Adult (30,162 of the training part) as a Table with the preset's hierarchies.

    Parameters
    ----------
    preset : str, optional
        A set of columns and hierarchies, such as those of a paper.
    target : str, optional
        Takes that column out of the quasi-identifiers and counts it per class; with ``salary-class`` there are the
        8,960 nodes on which the papers minimize classification errors.
    sensitive : str, optional
        The sensitive column, instead of the preset's.
    part : {'train', 'test', 'all'}, optional
        Which rows.
    domain : {'observed', 'declared'}, optional
        Which leaves the loss counts, instead of the preset's.

    Returns
    -------
    Table
        What ``front`` and ``problem`` take.

    Raises
    ------
    BadInput
        If there is no such preset, part or column, or the preset has no place for a value of the part.

    Examples
    --------
    >>> import kpareto as kp
    >>> kp.adult_table()
    Table(30,162 rows, 12,458 distinct, by age, workclass, education, ...)
    """
    schema = adult_schema(preset, target, sensitive)
    by_name = adult_hierarchies(preset)
    _, values, codes = _unpack()
    rows = _rows(part)
    complete = np.ones(len(codes["age"][rows]), dtype=np.bool_)
    for name in CODED:
        if MISSING in values[name]:
            complete &= codes[name][rows] != values[name].index(MISSING)
    kept = np.empty((int(complete.sum()), len(schema.quasi)), dtype=np.int32)
    for column, name in enumerate(schema.quasi):
        code = codes[name][rows][complete]
        leaf = by_name[name].locate(values[name])
        lost = np.unique(code[leaf[code] < 0]).tolist()
        if lost:
            raise BadHierarchy(
                f"The preset {preset!r} has no place for {name} {', '.join(values[name][i] for i in lost)} of the "
                f"part {part!r}. Take another preset or part."
            )
        kept[:, column] = leaf[code]
    extras = {name: _count(name, codes[name][rows][complete]) for name in (*schema.sensitive, *schema.target)}
    ones = np.ones(len(kept), dtype=np.int64)
    table = make_table(schema, tuple(by_name[name] for name in schema.quasi), kept, ones, extras)
    chosen = preset_of(preset).domain if domain is None else domain
    return replace(table, dropped=int((~complete).sum()), missing="drop", domain=chosen)


def _count(name: str, code: np.ndarray) -> tuple[tuple[str, ...], np.ndarray, np.ndarray | None]:
    """Dictionary of the values that occur, code per row, numbers where numeric: an extra column of make_table."""
    values = _unpack()[1][name]
    present, compact = np.unique(code, return_inverse=True)
    shown = tuple(values[i] for i in present.tolist())
    return shown, compact.astype(np.int32), np.array(shown, dtype=np.float64) if name in NUMERIC else None
