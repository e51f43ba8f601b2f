"""Local recoding: what it loses for each k, what any recoding must lose, and what others lose on the same table."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.clock import Line, best, peak_bytes
from benchmarks.limits import SIX
from benchmarks.lookalikes import census_like, fars_like
from benchmarks.made_tables import make_rows
from benchmarks.peers import (
    ARX_ADULT,
    ARX_EXAMPLE,
    ARX_FARS,
    KS,
    LIGHTHOUSE_EXAMPLE,
    MONDRIAN_FARS,
    Figures,
    publish_mondrian,
)
from kpareto.engines.read import read
from kpareto.errors import BadJob
from kpareto.faces.cli import main
from kpareto.kernels.compiling import COMPILATIONS
from kpareto.searches.lattice.mondrian import relaxed
from kpareto.searches.local.bound import lower_bound
from kpareto.searches.local.problem import LocalWish, make_problem
from kpareto.searches.local.recoding import LocalClasses, read_classes
from kpareto.searches.local.search import Effort, search_classes
from kpareto.searches.local.strict import strict
from kpareto.tables.adult import adult, adult_hierarchies, adult_table
from kpareto.tables.hierarchies import read_lines
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table

EXAMPLES = "KPARETO_BENCH_ARX"  # the folder of ARX's data/adult_hierarchy_*.csv
FEW_COLUMNS = 12  # beyond, the trees of questions take minutes
PROOF = 120.0  # seconds for the bound of a table with many columns


@dataclass(frozen=True, eq=False)
class _Case:
    """A table, and what others lose on it."""

    name: str
    table: Table
    quick: bool
    peers: Mapping[str, Figures] = field(default_factory=dict)


def adult_curve(quick: bool) -> list[Line]:
    """Adult with eight quasi-identifiers and our hierarchies."""
    return _curve(_Case("Adult", adult_table(), quick, {"ARX": ARX_ADULT}))


def adult_intervals(quick: bool) -> list[Line]:
    """The same with any interval of ages as a label."""
    return _curve(_Case("Adult, any interval", adult_table(), quick), intervals=True)


def arx_projects(quick: bool) -> list[Line]:
    """Projects of ARX, from the folder that the environment names, to a first release by either model."""
    folder = _examples("projects", "*.deid")
    models = ("lattice", "local")
    return [_release_project(path, model, quick) for path in sorted(folder.glob("*.deid")) for model in models]


def _release_project(path: Path, model: str, quick: bool) -> Line:
    """``kpareto inspect`` of a project and ``kpareto release`` of its job, as a person calls them."""
    with tempfile.TemporaryDirectory(prefix="kpareto-project-") as folder:
        job, quickly = str(Path(folder, "job.toml")), ["--seconds", "1"] if quick else []

        def both() -> None:
            main(["inspect", str(path), "-o", job, "-q"])
            main(["release", job, "--model", model, "--accept", "W1,W2", "-q", *quickly])

        with redirect_stdout(StringIO()):
            took = best(both, 1, warm=False)
        if not Path(folder, f"{path.stem}-anon.csv").exists():
            raise BadJob(f"The release of {path.name!r} was not written. Run it by itself to see why.")
    work = f"{path.name} to a first release, {model}"
    return Line(work, took, threads=os.cpu_count() or 1, note="inspect and release", peak=peak_bytes())


def _examples(what: str, files: str) -> Path:
    """The folder with files of ARX, which are not part of kpareto."""
    folder = os.environ.get(EXAMPLES)
    if folder is None:
        raise BadJob(f"ARX's {what} are not part of kpareto. Say in {EXAMPLES} which folder has them: {files}.")
    return Path(folder)


def arx_curve(quick: bool) -> list[Line]:
    """Adult with the example hierarchies of ARX, from the folder that the environment names."""
    folder = _examples("example hierarchies", "adult_hierarchy_age.csv and so on, in its source in the folder data")
    names = tuple(adult_hierarchies())
    loaded = {name: read_lines(name, folder / f"adult_hierarchy_{name}.csv") for name in names}
    rows = complete_rows(adult().select([*names, "occupation"]))  # as our own table has them
    table = read(rows, Schema(names), "drop", hierarchies=loaded, domain="observed")
    peers = {"ARX": ARX_EXAMPLE, "lighthouse": LIGHTHOUSE_EXAMPLE}
    return _curve(_Case("Adult, ARX's hierarchies", table, quick, peers))


def fars_curve(quick: bool) -> list[Line]:
    """A table like FARS: 100,968 rows, 6 columns."""
    table = fars_like(2_000) if quick else fars_like()
    return _curve(_Case("like FARS", table, quick), ratio={k: ARX_FARS[k] / MONDRIAN_FARS[k] for k in KS})


def census_curve(quick: bool) -> list[Line]:
    """A table like Census-Income: 190,561 rows, 20 columns."""
    return _curve(_Case("like Census-Income", census_like(2_000) if quick else census_like(), quick))


def release_10_000(quick: bool) -> list[Line]:
    """Class by class from a file to a verified release, hardly two rows alike."""
    return [_release(1_000 if quick else 10_000)]


def release_100_000(quick: bool) -> list[Line]:
    """The same of ten times as many rows."""
    return [_release(1_000 if quick else 100_000)]


def release_1_000_000(quick: bool) -> list[Line]:
    """The same of a hundred times as many rows."""
    return [_release(1_000 if quick else 1_000_000)]


def _release(rows: int) -> Line:
    """``kpareto release`` for k = 5 as a person calls it, in this process."""
    codes = make_rows(rows, *SIX).codes
    names = [f"c{place}" for place in range(codes.shape[1])]
    column = '{role = "quasi-identifier", hierarchy = {intervals = [5, 25]}}'
    columns = "\n".join(f"{name} = {column}" for name in names)
    with tempfile.TemporaryDirectory(prefix="kpareto-local-") as folder:
        base = Path(folder)
        np.savetxt(base / "rows.csv", codes, "%d", ",", header=",".join(names), comments="")
        (base / "job.toml").write_text(
            f'[data]\nsource = "rows.csv"\n[columns]\n{columns}\n[search]\nmethod = "local"\n'
            f'objectives = ["k", "lm"]\nks = [5]\n[release]\nchoose = "k=5"\ntarget = "out.csv"\n'
        )
        compiled = COMPILATIONS.seconds
        with redirect_stdout(StringIO()):
            took = best(lambda: main(["release", str(base / "job.toml"), "-q"]), 1, warm=False)
        compiled = COMPILATIONS.seconds - compiled
        note = f"{compiled:.1f} s of it compiling"
        work = f"class-by-class release of {rows:,} distinct rows, k = 5"
        if not (base / "out.csv").exists():
            raise BadJob("The release was not written. Run the job by itself to see why.")
    return Line(work, took, threads=os.cpu_count() or 1, note=note, peak=peak_bytes())


def complete_rows(rows: Any) -> Any:
    """The rows of Adult without a value that is not known."""
    import pyarrow.compute as pc

    for name in rows.column_names:
        rows = rows.filter(pc.not_equal(pc.cast(rows[name], "string"), "?"))
    return rows


def _curve(case: _Case, intervals: bool = False, ratio: Figures | None = None) -> list[Line]:
    """A line per k: the seconds of the search, and in its note all losses; ratio: of ARX to Mondrian elsewhere."""
    lines: list[Line] = []
    effort, few = Effort(turns=1) if case.quick else Effort(), len(case.table.hierarchies) <= FEW_COLUMNS
    for k in (100,) if case.quick else KS:
        problem = make_problem(case.table, LocalWish(k, intervals=intervals))
        search_classes(problem, Effort(turns=1))  # loads compiled code
        answers: list[LocalClasses] = []
        took = best(lambda: answers.append(search_classes(problem, effort)), 1, warm=False)  # noqa: B023 (run at once)
        loss = read_classes(problem, answers[-1]).loss
        bound = lower_bound(problem, answers[-1], 1 if case.quick else 10, None if few else PROOF)
        mondrian = relaxed(case.table, k).lm
        others = {name: figures[k] for name, figures in case.peers.items() if k in figures}
        others |= {"Mondrian": mondrian, "Mondrian as published": publish_mondrian(case.table, k)}
        if few:
            others["strict"] = strict(case.table, LocalWish(k, intervals=intervals), trees=1).recoding.loss
        note = f"LM {loss:.5f}, at least {bound.value:.5f} whatever the recoding, gap {bound.gap(loss):.1%}; "
        note += ", ".join(f"{name} {lost:.4f}" for name, lost in others.items())
        if ratio is not None:
            note += f"; {loss / mondrian:.3f} x Mondrian, where ARX has {ratio[k]:.3f} x on the real table"
        work = f"local recoding of {case.name}, k = {k}"
        lines.append(Line(work, took, 1, "search", False, 1, "", note, peak_bytes()))
    return lines
