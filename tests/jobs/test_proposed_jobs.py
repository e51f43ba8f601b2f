"""Whatever table ``inspect`` accepts, the job it writes passes ``front`` and ``release``."""

from __future__ import annotations

import csv
import io
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kpareto.errors import BadTable
from kpareto.faces.cli import main
from kpareto.faces.web.drafts import draft_job, propose_draft
from kpareto.jobs import proposals as search_proposals
from kpareto.jobs.inspect import Profile, inspect, job_text
from kpareto.jobs.job import Job
from kpareto.jobs.parse import parse_job
from kpareto.jobs.proposals import PATIENCE, SECONDS, SearchTask, propose_search
from kpareto.searches.names import check_method, read_options

# -- tables ----------------------------------------------------------------------------------------------------------

NAMES = st.one_of(
    st.sampled_from(
        ["age", "zip", "sex", "birth date", "PLZ", "patient_id", "id", "diagnosis", "income", "name", "e-mail", "notes"]
    ),
    st.sampled_from(
        ["a b", 'q"q', "ä.ö", "日本", "x=1", "l(x)", "a,b", "tab\tbed", "#", "'", "*", "^age$", "k", "[x]"]
    ),
    st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=6),
)
CELLS = {
    "few numbers": st.integers(0, 9).map(str),
    "numbers": st.integers(-500, 500).map(str),
    "wide numbers": st.integers(-(10**15), 10**15).map(str),
    "huge numbers": st.integers(2**60, 2**64).map(str),
    "decimals": st.floats(-1e4, 1e4, allow_nan=False).map(lambda number: f"{number:.3f}"),
    "powers": st.sampled_from(["1e5", "2E-3", "-4e10", ".5", "7."]),
    "odd numbers": st.sampled_from(["inf", "-inf", "nan", "1", "2"]),
    "dates": st.dates().map(str),
    "times": st.datetimes().map(lambda moment: moment.isoformat(sep=" ", timespec="seconds")),
    "other dates": st.dates().map(lambda day: day.strftime("%d.%m.%Y")),
    "codes": st.integers(0, 400).map(lambda code: f"{code:05d}"),
    "yes or no": st.sampled_from(["yes", "no"]),
    "words": st.sampled_from(["red", "green", " green", "blue ", "NA", "?", "-", ""]),
    "texts": st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), max_size=5),
    "free texts": st.text("abc \n\"';,=", min_size=30, max_size=60),
    "one value": st.just("same"),
    "nothing": st.just(""),
}


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list[str]]:
    """Columns of any kind under any names, a row to some dozens of rows, here and there without a value."""
    names = draw(st.lists(NAMES.filter(lambda name: name.strip() == name), min_size=1, max_size=7, unique=True))
    rows = draw(st.integers(1, 60))
    columns = {}
    for name in names:
        cells = CELLS[draw(st.sampled_from(sorted(CELLS)))]
        pool = draw(st.lists(cells, min_size=1, max_size=rows))
        gaps = draw(st.sampled_from([0, 0, 0.1, 0.6]))
        rng = np.random.default_rng(draw(st.integers(0, 2**32)))
        taken = [pool[place] for place in rng.integers(len(pool), size=rows)]
        columns[name] = ["" if gap < gaps else cell for cell, gap in zip(taken, rng.random(rows), strict=True)]
    return columns


def write_csv(columns: dict[str, list[str]], file: Path) -> None:
    """A CSV file as spreadsheets write it."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


# -- the property ----------------------------------------------------------------------------------------------------


def run_command(*arguments: str) -> tuple[int, str]:
    """The exit status of a command and what it says on standard error."""
    said = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(said):
        status = main(arguments)
    return status, said.getvalue()


def runs_as_it_is(source: Path) -> bool:
    """Write the job of a table, run front and release on it; False where inspect refuses the table in a sentence."""
    job = source.parent / "job.toml"
    job.unlink(missing_ok=True)
    status, said = run_command("inspect", str(source), "-o", str(job), "-q")
    if status:
        assert status == 2, said
        return False
    text = job.read_text(encoding="utf-8")
    for command in ("front", "release"):
        status, said = run_command(command, str(job), "-q")
        assert status == 0, f"{command}: {said}\n{text}"
    return True


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(columns=tables())
def test_whatever_inspect_accepts_runs(columns: dict[str, list[str]]) -> None:
    """Front and release of the proposed job end with status 0: the proposed limits can be met."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.csv"
        write_csv(columns, file)
        runs_as_it_is(file)


def test_a_release_of_semicolons_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    """One column left, and it is made of what looks like another separator."""
    write_csv({"notes": [f"{i} a, b" * 20 for i in range(9)], "*": [";" * 30] * 9}, tmp_path / "x.csv")
    assert runs_as_it_is(tmp_path / "x.csv")


def visits(persons: int) -> pd.DataFrame:
    """Three rows of each patient: columns of fewer values are not taken for persons."""
    rows = range(3 * persons)
    return pd.DataFrame({"patient_id": [f"p{i % persons}" for i in rows], "age": [20 + i % 30 for i in rows]})


@pytest.mark.parametrize("persons", [2, 3, 7])
def test_k_counts_persons_and_there_may_be_few(persons: int, tmp_path: Path) -> None:
    """Nine rows of three patients allow k = 3, not 5."""
    visits(persons).to_csv(tmp_path / "x.csv", index=False)
    assert inspect(tmp_path / "x.csv").k == min(persons, 5)
    assert runs_as_it_is(tmp_path / "x.csv")


def test_one_person_cannot_hide(tmp_path: Path) -> None:
    """Rows of a single person are refused when the job is written."""
    visits(1).to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(BadTable, match="Only 1 person of the table can be used"):
        job_text(inspect(tmp_path / "x.csv"), "x.csv")


def test_a_limit_is_proposed_for_values_that_are_left(tmp_path: Path) -> None:
    """All sick rows lack their age and are dropped: two diagnoses per class cannot be had, and are not asked for."""
    rows = range(100)
    frame = pd.DataFrame(
        {
            "age": [None if i % 25 == 0 else 20 + i % 40 for i in rows],
            "sex": ["mf"[i % 2] for i in rows],
            "diagnosis": ["flu" if i % 25 == 0 else "none" for i in rows],
        }
    )
    frame.to_csv(tmp_path / "x.csv", index=False)
    profile = inspect(tmp_path / "x.csv")
    assert (profile.complete, profile.values["diagnosis"]) == (96, 1)
    assert parse_job(job_text(profile, "x.csv"), tmp_path).limits == {"k": 5}
    assert runs_as_it_is(tmp_path / "x.csv")


@pytest.mark.parametrize("columns", [30, 70])
def test_tables_with_many_columns_run(columns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty texts make a milliard nodes, seventy more than a number of 64 bits can tell apart."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({f"country {i}": rng.choice(list("aaaaabbc"), 40) for i in range(columns)})
    frame.to_csv(tmp_path / "x.csv", index=False)
    job = proposed(tmp_path / "x.csv")[1]
    assert (job.method, job.options["seconds"]) == ("exact", None if columns == 30 else SECONDS)
    monkeypatch.setattr(search_proposals, "SECONDS", 2)
    assert runs_as_it_is(tmp_path / "x.csv")


def test_typed_columns_run(tmp_path: Path) -> None:
    """Dates, moments, decimals, yes and no, lists, nothing and one value, as Parquet keeps them."""
    rows = range(60)
    moments = pd.date_range("1950-01-31", periods=60, freq="97D")
    table = pa.table(
        {
            "birth date": pa.array(moments.date, pa.date32()),
            "admitted": pa.array(moments.tz_localize("UTC")),
            "height": pa.array([150 + i % 40 / 4 for i in rows], pa.float32()),
            "wage": pa.array([i % 9 * 100 for i in rows], pa.int16()),
            "married": pa.array([i % 2 == 0 for i in rows]),
            "tags": pa.array([[i] for i in rows]),
            "nothing": pa.nulls(60),
            "one": pa.array(["x"] * 60).dictionary_encode(),
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet")
    assert runs_as_it_is(tmp_path / "x.parquet")


def test_an_encoding_is_written_for_text_alone(tmp_path: Path) -> None:
    """A file of Latin letters runs, and the job of a Parquet file has no encoding whatever was said."""
    frame = pd.DataFrame({"größe": [str(i % 7) for i in range(40)], "sex": ["ä", "ö"] * 20})
    frame.to_csv(tmp_path / "x.csv", index=False, encoding="latin-1")
    frame.to_parquet(tmp_path / "y.parquet")
    for name in ("x.csv", "y.parquet"):
        job = tmp_path / f"{name}.toml"
        assert run_command("inspect", str(tmp_path / name), "-o", str(job), "--encoding", "latin-1", "-q")[0] == 0
        assert ("latin-1" in job.read_text(encoding="utf-8")) == (name == "x.csv")
        assert run_command("release", str(job), "-q", "--overwrite") == (0, "")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("age,age\n1,2\n3,4\n", "'age'"), ("age\n7\n", "Only 1 row"), ("age\n", "no rows")],
)
def test_what_is_refused_is_refused_by_inspect(text: str, sentence: str, tmp_path: Path) -> None:
    """A name twice, one row, none: a sentence and no job."""
    (tmp_path / "x.csv").write_text(text)
    status, said = run_command("inspect", str(tmp_path / "x.csv"), "-o", str(tmp_path / "x.toml"), "-q")
    assert status == 2
    assert sentence in said
    assert not (tmp_path / "x.toml").exists()


# -- the proposed search ---------------------------------------------------------------------------------------------


def proposed(source: Path) -> tuple[Profile, Job]:
    """The profile of a table and its job, as the command line reads it and as the page has it."""
    profile = inspect(source)
    job = parse_job(job_text(profile, source.name), source.parent)
    draft = propose_draft(profile, source.name)
    page = draft_job(draft, source.parent, source.parent)
    assert (page.method, page.space, page.budget, page.options) == (job.method, job.space, job.budget, job.options)
    return profile, job


def census(rows: int) -> pd.DataFrame:
    """A table with the columns of Census-Income that matter here: 20 quasi-identifiers, 32,768,000 nodes."""
    rng = np.random.default_rng(1)

    def drawn(values: int) -> np.ndarray:
        weights = 1 / np.arange(1, values + 1) ** 3
        return rng.choice(values, size=rows, p=weights / weights.sum())

    numbers = {name: np.append(rng.integers(0, 91, rows - 91), np.arange(91)) for name in ("age", "age at birth")}
    numbers["age in weeks"] = np.append(drawn(53)[53:], np.arange(53))
    texts = {f"country {chr(97 + i)}": [f"v{value}" for value in drawn(2 + i % 6)] for i in range(16)}
    return pd.DataFrame(numbers | {"zip": [f"{value:04d}" for value in drawn(9)]} | texts)


def test_the_lattice_of_census_income_is_searched_to_the_end(tmp_path: Path) -> None:
    """20 quasi-identifiers and 32.8 million nodes are no reason for a heuristic: bounds rule out nearly all."""
    census(400).to_csv(tmp_path / "census.csv", index=False)
    profile, job = proposed(tmp_path / "census.csv")
    assert (len(profile.names("quasi-identifier")), profile.size) == (20, 32_768_000)
    assert (job.method, job.space, job.budget) == ("exact", "lattice", None)
    as_long = SearchTask(profile.size, 199_523, 150_000, profile.task.leaves)
    assert as_long.prunes
    assert 10 < as_long.seconds < 600
    assert propose_search(as_long).method == "exact"


@settings(max_examples=200, deadline=None)
@given(
    task=st.builds(
        SearchTask,
        st.one_of(st.integers(1, 10**9), st.integers(1, 2**80)),
        st.integers(1, 10**9),
        st.integers(1, 10**9),
        st.lists(st.integers(0, 10**6), min_size=1, max_size=40).map(tuple),
        st.booleans(),
        st.booleans(),
    )
)
def test_every_proposed_search_is_one_that_runs(task: SearchTask) -> None:
    """Its method walks its space and takes its settings; where it may take long it has a time."""
    proposal = propose_search(task)
    check_method(proposal.method, proposal.space)
    read_options(proposal.method, proposal.settings)
    assert proposal.method == "exact"
    assert proposal.settings == ({} if task.seconds <= PATIENCE else {"seconds": SECONDS})


def test_persons_keep_bounds_from_working_well() -> None:
    """Then it is as if every node were counted, and large lattices get a time; odd denominators do no such thing."""
    even = SearchTask(10**9, 10_000, 9_000, (2, 3, 5, 9))
    persons = SearchTask(10**9, 10_000, 9_000, (2, 3, 5, 9), persons=True)
    primes = SearchTask(10**9, 10_000, 9_000, (48, 54, 60, 62, 68, 72, 74, 80, 84, 90, 98))
    assert (even.prunes, persons.prunes, primes.prunes) == (True, False, True)
    assert even.seconds == primes.seconds < persons.seconds / 100
    assert propose_search(persons).settings == {"seconds": SECONDS}
    assert not propose_search(SearchTask(10**4, 10_000, 9_000, (48, 54), persons=True)).settings
