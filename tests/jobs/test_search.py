"""Searching what a job says: progress, watching, stopping and going on, and what is refused before rows are read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kpareto.errors import BadJob, Interrupted, Stopped
from kpareto.fronts.dominance import achievement
from kpareto.fronts.numbers import Numbers
from kpareto.jobs.front import checkpoint_of, plan_of, search_job
from kpareto.jobs.parse import load_job, parse_job
from kpareto.searches.driver import Cancelled
from kpareto.searches.names import read_options
from kpareto.searches.run import Plan
from tests.jobs.test_job import JOB, PEOPLE

ONE = ['search.objectives=["lm"]', "search.space=cuts", "suppression.rule=below-k", "suppression.limit="]
METHODS = {
    "exact": [],
    "pbg-ea": ["search.method=pbg-ea"],
    "genitor": [*ONE, "search.method=genitor", "search.budget=2000", "search.population=30"],
    "improve": [*ONE, "search.method=improve"],
}


@pytest.fixture
def job_file(tmp_path: Path) -> Path:
    """A job beside its rows."""
    (tmp_path / "people.csv").write_text(PEOPLE)
    place = tmp_path / "job.toml"
    place.write_text(JOB)
    return place


@pytest.mark.parametrize("method", METHODS)
def test_every_search_is_told_watched_stopped_and_resumed_alike(method: str, job_file: Path) -> None:
    """Progress and numbers come in; stopped it keeps what it knows, and it ends as one that was left alone."""
    job, kept = load_job(job_file, METHODS[method]), job_file.with_name("kept.npz")
    steps: list[tuple[int, int]] = []
    met: list[Numbers] = []
    whole = search_job(job, None, lambda done, total: steps.append((done, total)), None, met.append)
    assert len(steps) == len(met) > 1
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    assert len({total for _, total in steps}) == 1
    best = whole.numbers.keys.min(axis=0)
    seen = min(numbers.keys[numbers.feasible].min(axis=0, initial=2**62).tolist() for numbers in met)
    assert seen[0] == best[0] or method == "genitor"  # the last children of GENITOR are told before they are asked for

    def stop(*_: int) -> None:
        raise Stopped

    with pytest.raises(Interrupted, match="nothing was written"):
        search_job(job, report=stop)
    with pytest.raises(Cancelled, match="Go on with --resume") as caught:
        search_job(job, report=stop, checkpoint=kept)
    assert caught.value.front.provenance.stopped
    assert kept.exists()
    resumed = search_job(job, checkpoint=kept)
    assert resumed.genomes.tobytes() == whole.genomes.tobytes()
    assert resumed.numbers.keys.tobytes() == whole.numbers.keys.tobytes()
    assert not kept.exists()


def test_a_search_that_cannot_walk_its_space_reads_no_rows(tmp_path: Path) -> None:
    """The sentence comes before the missing file is noticed."""
    (tmp_path / "job.toml").write_text(JOB)
    with pytest.raises(BadJob, match="does not walk the space 'cuts'"):
        load_job(tmp_path / "job.toml", ["search.space=cuts", "search.method=poka"])
    job = replace(load_job(tmp_path / "job.toml"), space="local")
    with pytest.raises(BadJob, match="does not walk the space 'local'"):
        search_job(job)
    with pytest.raises(BadJob, match=r"seed is nan\. Give a whole number"):
        search_job(replace(job, space="lattice", seed=float("nan")))  # type: ignore[arg-type]  # that is the mistake
    with pytest.raises(BadJob, match="budget is not used by the search 'exact'"):
        search_job(replace(job, space="lattice", budget=7))


def test_a_plan_is_what_the_job_says(job_file: Path) -> None:
    """Method, space, budget, seed and options, and the one default budget where the job names none."""
    plan = plan_of(load_job(job_file, METHODS["genitor"]))
    assert (plan.method, plan.space, plan.budget, plan.seed) == ("genitor", "cuts", 2_000, 7)
    assert dict(plan.options) == {
        name: value for name, value in read_options("genitor", {"population": 30}).items() if name != "budget"
    }
    assert plan.evaluations == 2_000
    assert plan_of(load_job(job_file, ["search.method=genitor", "search.space=cuts"])).evaluations == 50_000
    assert Plan("genitor", "cuts").evaluations == 50_000
    assert plan_of(load_job(job_file, ["search.method=nsga2", "search.space=cuts"])).evaluations is None


def test_a_checkpoint_lies_beside_its_job() -> None:
    """Under the job's name; that of the embedded table in the folder one stands in."""
    assert checkpoint_of("work/job.toml") == Path("work/job.checkpoint.npz")
    assert checkpoint_of("adult") == Path("adult.checkpoint.npz")


GECCO = """
[data]
source = "adult"
preset = "dewri_gecco09_105"
[suppression]
rule = "none"
[search]
method = "nsga2"
space = "order"
preference = {k = 5, nwp = 0.2, necd = 1.0}
population = 20
generations = 8
"""


def test_a_preference_in_a_job_is_answered(tmp_path: Path) -> None:
    """The answer has the k wished for, no point of the front is nearer to the wishes, and the job chooses it."""
    job = parse_job(GECCO, tmp_path)
    assert job.objectives == ("k", "nwp", "necd")
    assert job.choose == "prefer: k=5, nwp=0.2, necd=1.0"
    front = search_job(job)
    told = front.provenance.details["preference"]
    point = front[told["answer"]]
    assert told["wished"] == {"k": 5, "nwp": 0.2, "necd": 1.0}
    assert told["reached"] == point.values
    assert point.values["k"] >= 5
    assert told["short"]["nwp"] == pytest.approx(point.values["nwp"] - 0.2)
    fits = front.filter(k=5).numbers.values[:, 1:]
    assert achievement(np.array([point.values["nwp"], point.values["necd"]]), (0.2, 1.0)) == pytest.approx(
        achievement(fits, (0.2, 1.0)).min()
    )
    plain = search_job(
        parse_job(GECCO, tmp_path, changes=["search.preference=", 'search.objectives=["k","nwp","necd"]'])
    )
    assert "preference" not in plain.provenance.details
    assert plain.to_dict()["points"] != front.to_dict()["points"]  # it searches for something else


def test_weights_change_the_answer_to_a_preference(tmp_path: Path) -> None:
    """Weights per column are those of NWP: with all weight on one column another recoding is the answer."""
    weighted = GECCO + "".join(
        f"[columns.{name}]\nweight = {weight}\n" for name, weight in (("age", 8.0), ("education", 0.1), ("race", 0.1))
    )
    answers = []
    for text in (GECCO, weighted):
        front = search_job(parse_job(text, tmp_path))
        answers.append(front[front.provenance.details["preference"]["answer"]].to_dict()["genome"])
    assert answers[0] != answers[1]


def test_a_k_that_no_recoding_reaches_is_said(tmp_path: Path) -> None:
    """A k above the number of rows has no answer, and why is told."""
    front = search_job(parse_job(GECCO.replace("k = 5", "k = 40000"), tmp_path))
    told = front.provenance.details["preference"]
    assert told["answer"] is None
    assert "No point meets k = 40000" in told["why"]
