"""Tables as newcomers bring them: a messy export of a hospital, a survey with 42 columns, many rows with few distinct.

Every value is drawn by a seed; no row is about anybody.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

# The generator that docs/tutorial.md hands to its readers.
HOSPITAL = Path(__file__).parents[2] / "docs" / "hospital.py"


def write_hospital(target: Path, rows: int, seed: int = 1) -> Path:
    """A German export: a title, latin-1, semicolons, decimal commas, dates such as 31.12.1957, and missing values."""
    write = cast(Callable[..., Path], runpy.run_path(str(HOSPITAL))["write"])
    return write(target, rows=rows, first=date(2024, 1, 1), days=366, seed=seed)


def drawn(rng: np.random.Generator, rows: int, weights: dict[str, float]) -> pa.Array:
    """A column of texts by their weights."""
    shares = np.array(list(weights.values()))
    return pa.array(np.array(list(weights))[rng.choice(len(weights), rows, p=shares / shares.sum())])


def write_survey(target: Path, rows: int, seed: int = 1) -> Path:
    """42 columns: a number per respondent, eight that others may know, an income, two free texts, thirty questions."""
    rng = np.random.default_rng(seed)
    columns = {
        "respondent": pa.array(np.arange(1, rows + 1)),
        "age": pa.array(rng.integers(18, 80, rows)),
        "sex": drawn(rng, rows, {"female": 52, "male": 47, "other": 1}),
        "region": drawn(rng, rows, {"north": 30, "south": 40, "east": 18, "west": 12}),
        "education": drawn(rng, rows, {"none": 5, "school": 50, "college": 30, "university": 15}),
        "marital_status": drawn(rng, rows, {"single": 35, "married": 48, "divorced": 12, "widowed": 5}),
        "occupation": drawn(rng, rows, {"office": 40, "trade": 25, "care": 20, "farm": 10, "none": 5}),
        "nationality": drawn(rng, rows, {"here": 88, "elsewhere": 12}),
        "religion": drawn(rng, rows, {"a": 50, "b": 30, "none": 20}),
        "income": drawn(rng, rows, {"low": 30, "middle": 50, "high": 18, "NA": 2}),
        "comment": pa.array([f"remark {number} of its own" for number in rng.permutation(rows)]),
        "weight_factor": pa.array(np.round(rng.uniform(0.5, 2.0, rows), 4)),
    }
    for question in range(1, 31):
        columns[f"q{question:02d}"] = pa.array(rng.integers(1, 6, rows))
    pc.write_csv(pa.table(columns), target)
    return target


def write_service(target: Path, rows: int, seed: int = 1) -> Path:
    """Few distinct rows, very many rows: grade, branch, gender, race, with cells that hold a handful of people."""
    rng = np.random.default_rng(seed)
    columns = {
        "grade": drawn(rng, rows, {"enlisted": 82, "officer": 16.5, "warrant officer": 1.5}),
        "branch": drawn(rng, rows, {"army": 39, "navy": 23, "air force": 23, "marine corps": 15}),
        "gender": drawn(rng, rows, {"male": 85.5, "female": 14.5}),
        "race": drawn(rng, rows, {"white": 70, "black": 18, "asian": 4, "multi": 2, "p/i": 0.6, "ami/aln": 1.7}),
        "rank": pa.array(rng.choice(9, rows, p=np.array([5, 8, 17, 25, 22, 14, 7, 1.998, 0.002]) / 100) + 1),
    }
    pq.write_table(pa.table(columns), target)
    return target
