"""Compile the loops that most tests use, once: in a fresh clone every process would compile them at the same time.

``python -m tests.warm_up lattice`` and ``python -m tests.warm_up others`` compile different loops, one on each core.
"""

from __future__ import annotations

import sys

import pyarrow as pa

import kpareto as kp


def people() -> kp.Table:
    """A few rows with a sensitive column."""
    rows = {
        "age": [20 + 7 * row % 40 for row in range(60)],
        "sex": ["FM"[row % 2] for row in range(60)],
        "ill": ["xyz"[row % 3] for row in range(60)],
    }
    return kp.read(pa.table(rows), kp.Schema(("age", "sex"), ("ill",)), hierarchies={"age": {"intervals": [5, 10]}})


def compile_lattice() -> None:
    """Exact fronts: of sizes and losses, of sets of values, of histograms."""
    kp.front(kp.load_job("adult"))
    for measure in ("l", "t", "recursive-l"):
        kp.front(people(), objectives=["k", measure, "glm"], suppression=0.1)


def compile_others() -> None:
    """Searches over cuts, local recoding, and GENITOR."""
    kp.front(kp.load_job("adult", ("search.method=nsga2", "search.space=cuts", "search.budget=200")))
    table = people()
    kp.front(table, method="local", options={"ks": [2]})
    kp.front(table, objectives=["lm"], suppression=kp.Suppression("below-k", k=2), limits={"k": 2}, method="genitor")


if __name__ == "__main__":
    {"lattice": compile_lattice, "others": compile_others}[sys.argv[1]]()
