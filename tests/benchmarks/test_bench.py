"""The benchmarks: every one runs, says what it measured beside the bars, and never fails for being slow."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import benchmarks
from benchmarks import BENCHMARKS, COLUMNS, as_json, call, choose, measure, scale, seconds, start
from benchmarks.__main__ import bench
from benchmarks.bars import BARS
from benchmarks.clock import Line, Time, apart, best, machine, peak_bytes
from benchmarks.cuts import populations, random_cut
from benchmarks.fronts import wide_table
from benchmarks.genetic import counting, replay
from benchmarks.lattice import with_target
from benchmarks.lookalikes import census_like, fars_like
from benchmarks.peers import ARX_EXAMPLE, publish_mondrian
from kpareto.errors import BadJob
from kpareto.faces.cli import main
from kpareto.fronts.count_cuts import CutCounter
from kpareto.fronts.count_lattice import Wanted
from kpareto.fronts.problem import problem
from kpareto.measures.cells import lm
from kpareto.searches.cuts.genitor import Settings, genitor
from kpareto.searches.cuts.score import Score
from kpareto.searches.exact_front import exact_front
from kpareto.searches.lattice.climbing import neighbours
from kpareto.searches.lattice.mondrian import relaxed
from kpareto.tables.adult import adult_hierarchies, adult_table
from kpareto.tables.cuts import make_cuts
from kpareto.tables.hierarchies import write_lines
from kpareto.tables.lattice import Lattice
from kpareto.tables.partition import Suppression
from kpareto.tables.table import Table, sample_rows
from tests.jobs.test_arx import Made
from tests.twins.postgres_server import Server
from tests.twins.sparks import java

SIZES = ("_000_000", "0_000_000", "00_000_000")
CASES = [case for benchmark in BENCHMARKS.values() for case in benchmark.cases]
# Compiling everything anew takes many seconds, in a quick run too; engines have tests of their own, and sizes of one
# benchmark are the same in a quick run.
LONG = {
    "start.cold",
    "limits.long",
    "private.million",
    "scale.spark",
    "scale.spark_10_000_000",
    "scale.postgres",
    "scale.postgres_10_000_000",
    "scale.local_spark",
    "scale.local_postgres",
    "local.arx_curve",
    "local.arx_projects",
    *(f"scale.rows_1{zeros}" for zeros in SIZES),
}
LONG_NAMES = (
    "start-cold",
    "lattice-wide",
    "seconds",
    "door-many",
    "improve",
    "private",
    "local",
    "local-arx",
    "projects",
    "local-large",
    "use",
    "utility",
    "front-needed",
    "front-large",
    "front-large-values",
    "growth",
    "growth-large",
    "scale",
    "scale-spark",
    "scale-postgres",
    "scale-spark-10m",
    "scale-postgres-10m",
    "scale-local",
    "scale-local-spark",
    "scale-local-postgres",
    "scale-100m",
    "page",
    "page-roles",
    "columns",
)


@pytest.mark.parametrize("case", [case for case in CASES if case not in LONG])
def test_every_benchmark_runs_in_a_quick_size(case: str) -> None:
    """Each case gives lines with a positive time, a piece count and a memory peak."""
    lines = call(case, quick=True)
    assert lines
    for line in lines:
        assert line.work
        assert line.time.wall > 0
        assert line.time.cpu >= 0
        assert line.pieces >= 1
        assert line.peak > 1_000_000
        assert line.bar == "" or line.bar in BARS
        assert line.reached in ("", "goal", "bar", "neither")


def test_example_hierarchies_come_from_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ARX's files are read from the folder that is named, and a folder that is not named is a sentence."""
    monkeypatch.delenv("KPARETO_BENCH_ARX", raising=False)
    with pytest.raises(BadJob, match="Say in KPARETO_BENCH_ARX"):
        call("local.arx_curve", quick=True)
    for name, hierarchy in adult_hierarchies().items():
        write_lines(hierarchy, tmp_path / f"adult_hierarchy_{name}.csv")
    monkeypatch.setenv("KPARETO_BENCH_ARX", str(tmp_path))
    (line,) = call("local.arx_curve", quick=True)
    assert f"ARX {ARX_EXAMPLE[100]:.4f}" in line.note


def test_projects_come_from_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project of ARX is released by either model, each with a line of its own."""
    Made().write(tmp_path)
    monkeypatch.setenv("KPARETO_BENCH_ARX", str(tmp_path))
    lines = call("local.arx_projects", quick=True)
    assert [line.work for line in lines] == [
        f"small.deid to a first release, {model}" for model in ("lattice", "local")
    ]


def test_lookalikes_are_the_same_every_time() -> None:
    """A made table has the rows and columns of the real one, a skew, and the same digest when it is drawn again."""
    for draw, columns in ((fars_like, 6), (census_like, 20)):
        table, again = draw(3_000), draw(3_000)
        assert (table.rows, len(table.hierarchies)) == (3_000, columns)
        assert np.array_equal(table.codes, again.codes)
        assert np.array_equal(table.weights, again.weights)
        assert max(rows.max() for rows in table.leaf_rows) > 2_000


@pytest.mark.parametrize("k", [2, 7])
def test_published_mondrian_loses_more(k: int) -> None:
    """Cutting the widest column at its median, whatever it saves, loses more than our relaxed Mondrian."""
    table = sample_rows(adult_table(), 200, 1)
    assert relaxed(table, k).lm < publish_mondrian(table, k) < 1


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("case", ["scale.postgres", "scale.local_postgres"])
def test_a_database_is_measured_beside_itself(server: Server, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bare database and ours, in the database that is named; nothing is left there."""
    monkeypatch.delenv("KPARETO_BENCH_DATABASE", raising=False)
    with pytest.raises(BadJob, match="Say it as KPARETO_BENCH_DATABASE"):
        call(case, quick=True)
    with server.database() as base:
        monkeypatch.setenv("KPARETO_BENCH_DATABASE", base)
        lines = call(case, quick=True)
        assert server.ask(base, "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'kpareto%'") == [(0,)]
    assert [line.work.rpartition(": ")[2] for line in lines] == ["bare GROUP BY", "bare write", *scale.STEPS]
    assert "x the bare engine" in lines[-1].note


@pytest.mark.xdist_group("spark")
def test_spark_is_measured_beside_itself() -> None:
    """The bare cluster and ours, by levels and class by class, on a local Spark in a process of its own."""
    java()
    for lines in apart(_both_sparks):
        assert [line.work.rpartition(": ")[2] for line in lines] == ["bare GROUP BY", "bare write", *scale.STEPS]


def _both_sparks() -> list[list[Line]]:
    """One after the other: what Java has compiled for the first serves the second too."""
    return [call(case, True) for case in ("scale.spark", "scale.local_spark")]


def test_a_cold_start_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cold start gets an empty cache of its own, and one that nothing was compiled into is not reported."""
    caches: list[Path] = []

    def child(words: list[str], repeats: int, cache: str, _package: Path | None) -> tuple[Time, str]:
        folder = Path(cache)
        assert list(folder.iterdir()) == []
        if words == ["compiles"]:
            (folder / "walk.1.nbc").touch()
        caches.append(folder)
        return Time(1.0, 1.0, repeats), "1 1"

    monkeypatch.setattr(start, "new_process", child)
    assert start._compiling(["compiles"])[0].wall == 1.0
    with pytest.raises(RuntimeError, match="Nothing was compiled"):
        start._compiling(["nothing"])
    assert not any(folder.exists() for folder in caches)
    assert len(set(caches)) == 2


def test_every_case_names_a_function() -> None:
    """The table of benchmarks names nothing that is not there, and nothing twice."""
    assert len(set(CASES)) == len(CASES)
    for case in CASES:
        room, function = case.split(".")
        module = __import__(f"benchmarks.{room}", fromlist=[function])
        assert callable(getattr(module, function))


def test_goals_are_harder_than_bars() -> None:
    """A goal is harder than its bar, and a prototype's range rises."""
    for bar in BARS.values():
        assert bar.prototype is None or bar.prototype[0] <= bar.prototype[1]
        assert (bar.bar is None) == (bar.goal is None)
        assert bar.bar is None or bar.goal is None or bar.goal < bar.bar


@pytest.mark.parametrize(("wall", "reached"), [(0.05, "goal"), (0.1, "goal"), (0.2, "bar"), (0.31, "neither")])
def test_a_line_says_what_it_reached(wall: float, reached: str) -> None:
    """At most the goal is the goal, at most the bar is the bar."""
    assert Line("all nodes", Time(wall, wall, 1), bar="lattice-k-glm-2").reached == reached


def test_a_bar_for_one_piece_is_compared_with_one_piece() -> None:
    """A thousand recodings in 50 ms are 50 µs each."""
    line = Line("recodings", Time(0.05, 0.05, 1), 1000, "recodings", each=True, bar="cuts-105")
    assert line.seconds == pytest.approx(50e-6)
    assert line.reached == "bar"


def test_no_name_runs_all_but_the_long_ones() -> None:
    """Compiling anew and ten million rows happen only when asked for."""
    assert choose(()) == [name for name in BENCHMARKS if name not in LONG_NAMES]
    assert choose(("door-many", "cuts", "cuts")) == ["door-many", "cuts"]


def test_a_wrong_name_gets_a_suggestion() -> None:
    """The sentence names the nearest benchmark and all others."""
    message = "No benchmark 'latice'. Did you mean 'lattice'? There are: lattice, lattice-wide, front, front-needed, "
    with pytest.raises(BadJob, match=f"^{re.escape(message)}"):
        choose(("latice",))


def test_a_missing_folder_is_told_before_anything_runs(tmp_path: Path) -> None:
    """Nobody waits a minute to hear that the answer cannot be written."""
    with pytest.raises(BadJob, match=r"The folder of '.*none/b\.json' does not exist\. Make it first"):
        benchmarks.run(("memory",), json_file=str(tmp_path / "none" / "b.json"))


def test_the_best_of_several_repeats_counts() -> None:
    """One call warms up and is not counted."""
    calls: list[int] = []
    found = best(lambda: calls.append(1), 3)
    assert (len(calls), found.repeats) == (4, 3)


def test_a_case_runs_in_a_process_of_its_own() -> None:
    """Memory is measured where nothing else has used any."""
    alone = apart(peak_bytes)
    assert 1_000_000 < alone < peak_bytes()


def test_the_machine_is_described() -> None:
    """The JSON says on which machine and versions, and how busy it was."""
    facts = machine()
    for key in ("kpareto", "cores", "python", "numpy", "numba", "load_average"):
        assert facts[key]


@pytest.mark.parametrize(
    ("given", "text"), [(None, ""), (44e-6, "44 µs"), (0.085, "85 ms"), (0.106, "0.106 s"), (12.34, "12.3 s")]
)
def test_times_are_readable(given: float | None, text: str) -> None:
    """Three digits and a unit."""
    assert seconds(given) == text


def test_the_command_prints_a_table_and_writes_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each benchmark's lines stand in the table, and in the file with facts and bars."""
    file = tmp_path / "bench.json"
    assert main(["memory", "--quick", "--json", str(file)], bench) == 0
    out, err = capsys.readouterr()
    assert [name in out.splitlines()[0] for name in COLUMNS] == [True] * len(COLUMNS)
    assert out.splitlines()[1].startswith("memory     256 nodes: memory")
    assert "[1/1] lattice.memory …" in err
    answer = json.loads(file.read_text(encoding="utf-8"))
    assert set(answer) == {"machine", "load_after", "quick", "lines"}
    assert answer["quick"] is True
    assert [line["benchmark"] for line in answer["lines"]] == ["memory"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["bench.json"]


def test_json_on_standard_output_is_nothing_but_json(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``--json -`` can be piped into another program; -q keeps standard error empty."""
    line = Line("all nodes", Time(0.2, 0.3, 5), 17920, "nodes", threads=2, bar="lattice-k-glm-2")
    monkeypatch.setattr(benchmarks, "apart", lambda function, case, quick: [line])
    assert main(["memory", "--json", "-", "-q"], bench) == 0
    out, err = capsys.readouterr()
    (told,) = json.loads(out)["lines"]
    assert err == ""
    assert (told["seconds"], told["cpu_per_thread"], told["per_second"]) == (0.2, 0.15, 17920 / 0.2)
    assert (told["prototype"], told["bar"], told["goal"], told["reached"]) == ([0.106, 0.106], 0.3, 0.1, "bar")


def test_lines_come_in_the_order_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table follows the command line."""
    monkeypatch.setattr(benchmarks, "apart", lambda function, case, quick: [Line(case, Time(1.0, 1.0, 1))])
    found = measure(["memory", "start"], quiet=True)
    assert {name: [line.work for line in lines] for name, lines in found.items()} == {
        "memory": ["lattice.memory"],
        "start": ["start.bare", "start.first_count"],
    }
    assert [line["benchmark"] for line in as_json(found, {}, False)["lines"]] == ["memory", "start", "start"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("preset", ["dewri_gecco09_105", "iyengar_157"])
def test_random_cuts_are_valid(preset: str) -> None:
    """Every cut covers each leaf once, and trees are cut at their nodes only."""
    rng = np.random.default_rng(7)
    for hierarchy in adult_table(preset).hierarchies:
        for density in (0.0, 0.3, 1.0):
            cut = random_cut(hierarchy, rng, density)
            assert cut.shape == (len(hierarchy.leaves),)
            assert cut[0] == 0
            assert set(np.diff(cut).tolist()) <= {0, 1}
            assert hierarchy.ordered or hierarchy.is_tree_cut(cut)


def test_populations_get_better() -> None:
    """The last population of the small evolution loses less than the first."""
    table = with_target(adult_table("dewri_gecco09_105"), "salary-class")
    counter = CutCounter(table, Wanted(Suppression("below-k", k=10), (lm(),)))
    kept = populations(table, counter, np.random.default_rng(1), 24)
    losses = [counter.count(genomes).ints[:, -1].mean() for genomes in kept]
    assert losses[0] > losses[1] > losses[2]


def test_a_replayed_run_does_everything_but_scoring() -> None:
    """What is timed as everything else is the same run, child for child, without a single new score."""
    table = sample_rows(adult_table("lunacek_92"), 2_000, 1)
    score = Score(table, make_cuts(table.hierarchies), {"glm": 1}, 15)
    settings = Settings(60, "trad", immigrants=0.1)
    done = genitor(score, 3_000, 1, settings)
    again = replay(score, 3_000, settings, done)
    assert again.population.tobytes() == done.population.tobytes()
    assert again.state["stream"].tobytes() == done.state["stream"].tobytes()
    assert again.state["tallies"].tolist() == done.state["tallies"].tolist()
    assert again.evaluations == done.evaluations > again.distinct > 60


def test_counting_is_told_from_everything_else() -> None:
    """The first part is there where work counts recodings, and only there."""
    judged = problem(adult_table(), ["k", "glm"], 0.01)
    lattice = Lattice(judged.table.hierarchies)
    nodes = lattice.levels(np.arange(64))
    assert counting(lambda: [judged.evaluate(lattice, nodes) for _ in range(10)])[0] > 0.0
    assert counting(lambda: sum(range(100_000)))[0] == 0.0


def by_hand(table: Table, levels: np.ndarray, allowed: int) -> tuple[int, float]:
    """One node's k and GLM under cap-max-k, from the distinct rows by sorting: nothing that the search uses."""
    cuts = [h.groups[level] for h, level in zip(table.hierarchies, levels, strict=True)]
    key = np.zeros(table.distinct, dtype=np.int64)
    for cut, codes in zip(cuts, table.codes.T, strict=True):
        key = key * len(cut) + cut[codes]
    _, classes = np.unique(key, return_inverse=True)
    sizes = np.bincount(classes, weights=table.weights).astype(np.int64)
    k, lost = 0, 0
    for k in np.unique(sizes).tolist():
        if lost + int(sizes[sizes == k].sum()) > allowed:
            break
        lost += int(sizes[sizes == k].sum())
    kept = sizes[classes] >= k
    loss = float(lost * len(cuts))
    for cut, codes in zip(cuts, table.codes.T, strict=True):
        there = np.unique(codes)  # leaves that no row has do not count
        others = np.bincount(cut[there], minlength=len(cut)) - 1
        loss += float((others[cut[codes]] * table.weights)[kept].sum()) / max(len(there) - 1, 1)
    return k, loss


def test_more_than_ten_million_nodes_end_with_a_certificate() -> None:
    """Every node is settled though few are counted, and neither neighbours nor random nodes beat the front.

    Points below k = 20 are left out to save time; ``make bench ARGS=front-large`` finds all.
    """
    table = wide_table()
    lattice, least, allowed = Lattice(table.hierarchies), 20, table.rows // 100
    front = exact_front(problem(table, ["k", "glm"], Suppression("cap-max-k", 0.01), {"k": least}))
    assert lattice.size == 11_468_800
    assert front.provenance.complete
    assert front.provenance.details["settled"] == lattice.size
    assert front.provenance.evaluated < lattice.size // 100
    points = front.numbers.values
    for levels, values in zip(front.genomes, points, strict=True):
        assert by_hand(table, levels, allowed) == pytest.approx(values)
    rng = np.random.default_rng(1)
    near = neighbours(lattice, front.genomes)
    for node in (*rng.choice(near, 120, replace=False), *rng.integers(0, lattice.size, 40)):
        k, loss = by_hand(table, lattice.levels(np.array([node]))[0], allowed)
        assert k < least or ((points[:, 0] >= k) & (points[:, 1] <= loss + 1e-6)).any()


def test_a_wheel_is_measured_beside_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command from both, the wheel's from where it alone was installed; one that is not there is a sentence."""
    packages: list[Path | None] = []

    def child(words: list[str], _repeats: int, _cache: str, package: Path | None = None) -> tuple[Time, str]:
        packages.append(package)
        where = f"{package}/kpareto/__init__.py" if "import kpareto" in words[-1] and package else "1 1"
        return Time(1.0, 1.0, 1), where

    monkeypatch.setattr(start, "new_process", child)
    monkeypatch.setattr(start, "ready_files", lambda _: {"walk": "sum"})
    monkeypatch.setattr("benchmarks.start.subprocess.run", lambda *_, **__: None)
    monkeypatch.delenv("KPARETO_BENCH_WHEEL", raising=False)
    alone = [line.work for line in start.cold(quick=False)]
    assert [work.partition(",")[0] for work in alone] == [
        "new process", "kpareto front adult", "kpareto inspect adult", "kpareto release adult", "kpareto demo",
    ]  # fmt: skip
    assert packages == [None] * 5
    wheel = tmp_path / "kpareto.whl"
    monkeypatch.setenv("KPARETO_BENCH_WHEEL", str(wheel))
    with pytest.raises(BadJob, match="There is no wheel"):
        start.cold(quick=False)
    wheel.touch()
    both = [line.work for line in start.cold(quick=False)]
    assert both == [*alone, *(work.replace("from source", "from the wheel") for work in alone)]
    assert None not in packages[-5:]
    monkeypatch.setattr(start, "new_process", lambda *_: (Time(1.0, 1.0, 1), "/elsewhere/kpareto/__init__.py"))
    with pytest.raises(RuntimeError, match="Another kpareto"):
        start.install_wheel(wheel, tmp_path)
