"""Compile the loops that most tests use, once: in a fresh clone every process would compile them at the same time."""

from __future__ import annotations

from kpareto.jobs.front import search_job
from kpareto.jobs.parse import load_job

if __name__ == "__main__":
    search_job(load_job("adult"))
    search_job(load_job("adult", ("search.method=nsga2", "search.space=cuts", "search.budget=200")))
