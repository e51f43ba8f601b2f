"""How the embedded Adult table was packed from UCI's two files; run once, kept so that anybody can check it.

The thirteen short columns are one byte per cell into sorted dictionaries, column after column, training rows first.
fnlwgt is kept as four byte planes, and education-num is not kept: it is a function of education.
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import numpy as np

from kpareto.errors import BadTable
from kpareto.tables.adult import CODED, COLUMNS, NUMERIC

COMMENT = "|1x3 Cross validator"  # the first line of adult.test


def read_uci(path: Path, part: str) -> list[list[str]]:
    """The cells of adult.data or adult.test; the test file's comment line and the dots after its labels go."""
    lines = path.read_text(encoding="ascii").rstrip("\n").split("\n")
    if part == "test":
        if lines[0] != COMMENT:
            raise BadTable(f"{path.name} does not start with {COMMENT!r}. Give UCI's adult.test as it is.")
        lines = [line.removesuffix(".") for line in lines[1:]]
    return [line.split(", ") for line in lines]


def pack(train: Path, test: Path, folder: Path) -> None:
    """Write dictionaries.json, codes.xz and fnlwgt.xz of UCI's adult.data and adult.test into a folder."""
    parts = {"train": read_uci(train, "train"), "test": read_uci(test, "test")}
    columns = dict(zip(COLUMNS, zip(*parts["train"], *parts["test"], strict=True), strict=True))
    values = {name: sorted(set(columns[name]), key=int if name in NUMERIC else None) for name in CODED}
    codes = b"".join(
        bytes(map({value: code for code, value in enumerate(values[name])}.__getitem__, columns[name]))
        for name in CODED
    )
    weights = np.array([int(cell) for cell in columns["fnlwgt"]], dtype="<u4")
    planes = weights.view(np.uint8).reshape(-1, 4).T.tobytes()
    grades = dict(zip(columns["education"], columns["education-num"], strict=True))
    facts = {
        "rows": {part: len(rows) for part, rows in parts.items()},
        "values": values,
        "education-num": [int(grades[value]) for value in values["education"]],
    }
    (folder / "dictionaries.json").write_text(json.dumps(facts, indent=0) + "\n", encoding="utf-8")
    (folder / "codes.xz").write_bytes(lzma.compress(codes, preset=9 | lzma.PRESET_EXTREME))
    (folder / "fnlwgt.xz").write_bytes(lzma.compress(planes, preset=9 | lzma.PRESET_EXTREME))
