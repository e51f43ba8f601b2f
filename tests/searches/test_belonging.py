"""What a checkpoint and a stored front belong to: everything that decides the numbers, whoever adds a field to it."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kpareto as kp
from kpareto.errors import BadInput, Stopped
from kpareto.faces.cli import main
from kpareto.fronts.front import Front, load_front
from kpareto.fronts.problem import Problem, constrained, problem
from kpareto.jobs.parse import load_job
from kpareto.searches.cuts.genitor import Settings
from kpareto.searches.cuts.nsga2 import Nsga2
from kpareto.searches.driver import Cancelled, job_print, read_checkpoint, write_checkpoint
from kpareto.searches.run import Plan, make_driven, run_plan
from kpareto.tables.cuts import make_cuts
from kpareto.tables.fingerprint import fingerprint
from kpareto.tables.hierarchy import Coarse
from kpareto.tables.table import Sample

# Not part of what decides a number; each is declared with compare=False.
ASIDE = {"Table.spelled", "Table.digest", "Table.remarks", "Table.bare", "CellLoss.known", "Model.reach"}
ASIDE |= {"Table.columns", "Table.form", "Table.missing_values"}  # how the rows were read, which the codes tell already


def other_than(value: Any) -> Any:
    """A value of the same kind that differs."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float | Fraction):
        return value + 1
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, np.ndarray):
        changed = value.copy()
        changed.flat[-1] = not changed.flat[-1] if changed.dtype == np.bool_ else changed.flat[-1] + 1
        return changed
    if isinstance(value, tuple):
        return (*value, "one more")
    if isinstance(value, Mapping):
        return {**value, "one more": 1}
    if callable(value):
        return lambda *given: (value(*given), 1)
    return "something"  # where nothing was


def variants(thing: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Copies of a thing, each with one field or one item changed somewhere inside it, and what was changed."""
    if is_dataclass(thing) and not isinstance(thing, type):
        for each in fields(thing):
            name = f"{type(thing).__name__}.{each.name}"
            value = getattr(thing, each.name)
            inner = variants(value, name) if each.compare else iter(())
            for where, changed in [(name, other_than(value)), *inner]:
                made = copy.copy(thing)
                for memo in set(vars(made)) - {f.name for f in fields(thing)}:
                    del made.__dict__[memo]  # what it had worked out for its old self
                object.__setattr__(made, each.name, changed)
                yield where, made
    elif isinstance(thing, tuple):
        for place, item in enumerate(thing):
            if is_dataclass(item) or isinstance(item, tuple):
                for where, changed in variants(item, path):
                    yield where, (*thing[:place], changed, *thing[place + 1 :])


@pytest.fixture(scope="module")
def asked() -> Problem:
    """A problem in which as many fields as possible have something to say."""
    rows = {
        "age": ["20", "21", "30", "31", "30"], "sex": list("FMFMF"), "ill": list("xyxyz"),
        "pay": list("12121"), "who": list("abcde"),
    }  # fmt: skip
    schema = kp.Schema(("age", "sex"), ("ill",), ("pay",), person="who", weights={"age": 2.0})
    table = kp.read(pd.DataFrame(rows), schema, hierarchies={"age": {"intervals": [5], "from": 0, "to": 100}})
    first = table.hierarchies[0]
    coarse = Coarse(replace(first), 1, np.arange(len(first.leaves), dtype=np.int64))
    hierarchies = (replace(first, coarse=coarse), *table.hierarchies[1:])
    full = replace(table, hierarchies=hierarchies, sample=Sample(3, 9, 1), leaf_counts=table.leaf_rows)
    return problem(full, ["lm", "k", "t", "recursive-l(l=3)"], constrained({"k": 2, "l": 1.5}), {"k": 2, "l": 1.5})


def test_every_field_of_a_problem_decides_whose_numbers_they_are(asked: Problem) -> None:
    """Of the problem, its table, schema, hierarchies, trees, counts, measures and suppression, none can be forgotten."""
    own = fingerprint(asked)
    same, walked = set(), set()
    for where, changed in variants(asked):
        walked.add(where)
        if fingerprint(changed) == own:
            same.add(where)
    assert same == ASIDE
    kinds = {where.partition(".")[0] for where in walked}
    assert kinds >= {
        "Problem", "Table", "Schema", "Hierarchy", "Tree", "Layout", "Coarse", "Counts", "Sample", "Suppression",
        "CellLoss", "Model", "Aspect",
    }  # fmt: skip


@pytest.mark.parametrize(
    "settings", [Settings(), Nsga2(seeds=np.zeros((1, 3), dtype=np.int64))], ids=["genitor", "nsga2"]
)
def test_every_setting_of_a_search_decides_whose_checkpoint_it_is(asked: Problem, settings: object) -> None:
    """A search with another setting goes another way."""
    space = make_cuts(asked.table.hierarchies)
    own = job_print(asked, space, settings)
    for where, changed in variants(settings):
        assert job_print(asked, space, changed) != own, where


def test_every_field_of_a_space_decides_whose_genomes_they_are(asked: Problem) -> None:
    """Free columns, borders and hierarchies: a genome means something else in another space."""
    space = make_cuts(asked.table.hierarchies)
    own = job_print(asked, space, "x")
    for where, changed in variants(space):
        assert job_print(asked, changed, "x") != own, where


def test_thresholds_inside_rules_are_seen(asked: Problem) -> None:
    """Two rules that differ by a number somebody closed over are two rules."""
    prints = {fingerprint(constrained({"l": limit}).fails) for limit in (2, 3, 3.5)}
    assert len(prints) == 3
    assert fingerprint(constrained({"l": 2}).fails) == fingerprint(constrained({"l": 2}).fails)


def test_a_measure_of_ones_own_is_known_by_what_it_does() -> None:
    """Another line, another default or another constant beside the function is another measure."""

    def measure(body: str) -> Callable[..., float]:
        room: dict[str, Any] = {"__name__": "elsewhere", "PART": 2 if "3" in body else 1}
        exec(body, room)  # two functions of one name, as two versions of somebody's file have them
        function: Callable[..., float] = room["loss"]
        return function

    bodies = [
        "def loss(p): return 1 * PART", "def loss(p): return 2 * PART", "def loss(p, q=1): return 1 * PART",
        "def loss(p): return 1 * PART  # 3",
    ]  # fmt: skip
    assert len({fingerprint(measure(body)) for body in bodies}) == len(bodies)
    assert fingerprint(measure(bodies[0])) == fingerprint(measure(bodies[0]))


def test_what_cannot_be_told_apart_is_a_sentence() -> None:
    """An object without fields and methods of its own may be anything next time."""
    with pytest.raises(BadInput, match="nobody can tell whether it is still the same"):
        fingerprint(object())


def test_a_ring_ends() -> None:
    """A list that holds itself has a fingerprint too."""
    ring: list[object] = [1]
    ring.append(ring)
    assert fingerprint(ring) != fingerprint([1, [1]])


def test_another_process_finds_the_same() -> None:
    """Nothing depends on addresses or on the order of sets."""
    code = (
        "from kpareto.tables.fingerprint import fingerprint; from kpareto.fronts.problem import constrained; "
        "print(fingerprint(constrained({'l': 2}), {'a', 'b', 'c'}, {'x': 1, 'y': 2.5}))"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(answers) == 1


# -- jobs ---------------------------------------------------------------------------------------------------------------

JOB = """
[data]
source = "people.csv"
[columns.age]
role = "quasi-identifier"
hierarchy = {intervals = [5, 10, 20], from = 0, to = 80}
[columns.zip]
role = "quasi-identifier"
hierarchy = {prefix = [4, 3]}
[columns.sex]
role = "quasi-identifier"
[columns.ill]
role = "sensitive"
[suppression]
limit = 0.05
[search]
objectives = ["k", "nwp"]
"""
CHANGES = [
    "columns.age.weight=9", "suppression.limit=0.06", "suppression.rows=mask", "data.domain=declared",
    "limits.k=2", 'search.objectives=["k", "lm"]', 'search.objectives=["k", "nwp", "l"]',
    "columns.age.hierarchy={intervals = [5, 10, 40], from = 0, to = 80}",
    "columns.age.hierarchy={intervals = [5, 10, 20], from = 0, to = 160}", "search.ties=one",
]  # fmt: skip


def stop_at_once(done: int, total: int) -> None:
    """Ctrl-C after the first part."""
    raise Stopped


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a job and its rows."""
    lines = [f"{20 + 7 * i % 40},0213{i % 9},{'FM'[i % 2]},{'xyz'[i % 3]}" for i in range(200)]
    (tmp_path / "people.csv").write_text("\n".join(["age,zip,sex,ill", *lines]) + "\n")
    (tmp_path / "job.toml").write_text(JOB)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("change", CHANGES)
def test_a_stopped_front_is_not_resumed_for_another_job(
    change: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """R08: whatever is changed in between, numbers of two jobs are never mixed."""
    with pytest.raises(Cancelled):
        run_plan(load_job("job.toml").problem(), report=stop_at_once, checkpoint=folder / "job.checkpoint.npz")
    assert main(["front", "job.toml", "-q", "--resume", "--set", change, "--json", "f.json"]) == 2
    assert "belongs to another job" in capsys.readouterr().err
    assert not (folder / "f.json").exists()
    assert main(["front", "job.toml", "-q", "--resume"]) == 0


def test_a_search_behind_the_seam_is_not_resumed_with_other_settings(folder: Path) -> None:
    """Another population breeds otherwise; a larger budget goes on."""
    asked, kept = load_job("job.toml").problem(), folder / "c.npz"
    plan = Plan("nsga2", "cuts", 60, 1, {"population": 8})
    with pytest.raises(Cancelled):
        run_plan(asked, plan, stop_at_once, kept)
    with pytest.raises(BadInput, match="belongs to another job"):
        run_plan(asked, replace(plan, options={"population": 10}), checkpoint=kept)
    more = replace(plan, budget=90)
    assert make_driven(asked, more).fingerprint() == make_driven(asked, plan).fingerprint()
    assert run_plan(asked, more, checkpoint=kept).genomes.tobytes() == run_plan(asked, more).genomes.tobytes()


@pytest.mark.parametrize("change", [c for c in CHANGES if not c.startswith(("search.objectives", "search.ties"))])
def test_a_stored_front_belongs_to_its_job(change: str, folder: Path) -> None:
    """Its claim to be complete holds for the job it was found for, and for no other."""
    front: Front = run_plan(load_job("job.toml").problem())
    stored = front.to_dict()
    assert len(load_front(stored, load_job("job.toml").problem())) == len(front)
    with pytest.raises(BadInput, match="belongs to another job"):
        load_front(stored, load_job("job.toml", [change]).problem())
    del stored["job"]
    with pytest.raises(BadInput, match="belongs to another job"):
        load_front(stored, load_job("job.toml").problem())


@pytest.mark.parametrize("plan", [Plan(), Plan("nsga2", "cuts", 400), Plan("pbg-ea", "lattice", 200)])
def test_a_forged_checkpoint_is_not_believed(plan: Plan, tmp_path: Path) -> None:
    """Numbers that were changed, with the digest made anew: the points of the resumed front are counted again."""
    chance = np.random.default_rng(3)
    columns = {name: chance.integers(0, 6, 80).astype(str) for name in ("a", "b", "c")}
    table = kp.read(pd.DataFrame(columns), kp.Schema(quasi=("a", "b", "c")))
    here = problem(table, ["k", "lm"], 0.1)

    def stop(_: int, __: int) -> None:
        raise Stopped  # after the first step

    place = tmp_path / "job.checkpoint.npz"
    with pytest.raises(Cancelled):
        run_plan(here, plan, stop, place)
    assert place.stat().st_mode & 0o077 == 0
    job = make_driven(here, plan).fingerprint()
    arrays = read_checkpoint(place, job)
    assert arrays is not None
    honest = {name: array.copy() for name, array in arrays.items()}
    arrays["n_values"][:, 1] -= 0.5  # every loss less than it is, and every key as if nothing could be better
    arrays["n_keys"][:, 1] -= 10**12
    write_checkpoint(place, job, arrays)
    with pytest.raises(BadInput, match="numbers that are not those of its recodings"):
        run_plan(here, plan, checkpoint=place)
    write_checkpoint(place, job, honest)
    resumed = run_plan(here, plan, checkpoint=place)
    alone = run_plan(here, plan)
    assert resumed.numbers.values.tolist() == alone.numbers.values.tolist()
