"""Compile the loops that most tests use, once: in a fresh clone every process would compile them at the same time.

``python -m tests.warm_up lattice`` and ``python -m tests.warm_up others`` compile different loops, one on each core.
``python -m tests.warm_up wheel`` compiles both for the wheel (make wheel), ``first`` what the first front needs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from tempfile import TemporaryDirectory

import numba
import pyarrow as pa

import kpareto as kp
from kpareto.kernels.compiling import ENTRIES, SOURCES
from kpareto.kernels.ready import write_ready
from kpareto.uses.models_in_use import models_in_use


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


def write_for_wheel(*works: Callable[[], object]) -> None:
    """Compile in a process that has nothing yet, and write it beside the loops, as the wheel takes it."""
    with TemporaryDirectory() as folder:
        vars(numba.config)["CACHE_DIR"] = folder
        for work in works:
            work()
        sys.stdout.write(f"{write_ready(ENTRIES, SOURCES)} loops\n")


def compile_question() -> None:
    """What inspect measures beside its question, for a table like most."""
    models_in_use(kp.inspect(kp.adult()).job.problem())


def compile_first() -> None:
    """What kpareto front adult needs."""
    kp.front(kp.load_job("adult"))


if __name__ == "__main__":
    works: dict[str, Callable[[], None]] = {
        "lattice": compile_lattice,
        "others": compile_others,
        "wheel": partial(write_for_wheel, compile_lattice, compile_others, compile_question),
        "first": partial(write_for_wheel, compile_first),
    }
    works[sys.argv[1]]()
