"""Every kind of file that is read back, damaged at random: a sentence or an answer, never a traceback."""

from __future__ import annotations

import copy
import io
import json
import pickle
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kpareto import strict
from kpareto.engines.read import read
from kpareto.errors import BadInput, KparetoError, Stopped
from kpareto.fronts.front import load_front
from kpareto.fronts.problem import Problem, problem
from kpareto.jobs.parse import load_job, parse_job
from kpareto.releases.apply import apply
from kpareto.releases.choice import Choice, canonical, read_stored, store
from kpareto.releases.release import release
from kpareto.searches.driver import Cancelled
from kpareto.searches.run import Plan, run_plan
from kpareto.strict import FileKind, anything, list_of, number, parse_json, record, text, whole
from kpareto.tables.hierarchies.loading import load
from kpareto.tables.recoding import node
from kpareto.tables.schema import Schema
from kpareto.verifier import digest_of, verify

PAPER = FileKind("The paper", "Write it again.")
DEEP = 100_000
ODD: list[Any] = [
    None, True, False, -1, 0, 1, 2**31, 2**63, 2**64, 10**400, -0.5, 1e308, "", "x", "nan", "inf", "*", "\ud800", [], {}, [[]],
    [None], {"": None}, [1, 2, 3], ["a", "a"], {"label": {}}, [[[[[[[[]]]]]]]], "9" * 5000,
]  # fmt: skip
LAZY = settings(
    max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every node below the root."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def damaged(data: Any, draw: st.DataObject) -> Any:
    """The data with one to three nodes deleted, replaced, nested, doubled or moved."""
    data = copy.deepcopy(data)
    for _ in range(draw.draw(st.integers(1, 3))):
        known = list(places(data))
        if not known:
            return data
        *path, last = known[draw.draw(st.integers(0, len(known) - 1))]
        home = data
        for key in path:
            home = home[key]
        how = draw.draw(st.sampled_from(["delete", "replace", "nest", "double", "move"]))
        if how == "delete":
            del home[last]
        elif how == "replace":
            home[last] = copy.deepcopy(draw.draw(st.sampled_from(ODD)))
        elif how == "nest":
            home[last] = {"x": home[last]} if draw.draw(st.booleans()) else [home[last]]
        elif how == "double" and isinstance(home, list):
            home.append(copy.deepcopy(home[last]))
        else:
            home[last] = copy.deepcopy(home[next(iter(home)) if isinstance(home, dict) else 0])
    return data


def torn(data: bytes, draw: st.DataObject) -> bytes:
    """The bytes cut short, with some of them changed, or with some put in."""
    at = draw.draw(st.integers(0, len(data)))
    how = draw.draw(st.sampled_from(["cut", "change", "insert"]))
    more = draw.draw(st.binary(min_size=1, max_size=4))
    if how == "cut":
        return data[:at]
    return data[:at] + more + data[at + (len(more) if how == "change" else 0) :]


def answers(attempt: Callable[[], object]) -> str:
    """What a reader says: nothing where it takes the file, else its sentence."""
    try:
        attempt()
    except KparetoError as error:
        sentence = str(error)
        assert sentence
        assert len(sentence) < 2_000
        return sentence
    return ""


class Papers:
    """One small release with all its papers, and the readers of each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows = pa.table({"age": ["1", "2", "11", "12"] * 4, "sex": list("FM") * 8, "ill": list("xyz") * 5 + ["x"]})
        schema = Schema(("age", "sex"), ("ill",))
        self.table = read(self.rows, schema, hierarchies={"age": {"intervals": [10], "from": 0}})
        self.problem: Problem = problem(self.table, ["k", "glm", "recursive-l"], 0.1)
        self.front = json.loads(json.dumps(run_plan(self.problem).to_dict()))
        choice = Choice(self.table, node(self.table.hierarchies, (1, 1)), limits={"k": 2, "t": 1.0})
        done = release(choice, self.rows, folder / "out.csv")
        self.certificate = json.loads(done.certificate.text())
        self.recoding = json.loads(store(done.choice, {"k": 2}, done.origin).text())

    def write(self, data: Any) -> Path:
        """The data as a file."""
        file = self.folder / "paper.json"
        file.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
        return file

    def read(self, kind: str, data: Any) -> object:
        """Let the reader of this kind read it."""
        file = self.write(data)
        if kind == "front":
            return load_front(file, self.problem)
        if kind == "certificate":
            return verify(self.folder / "out.csv", file)
        return read_stored(file).text()


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Papers:
    """The papers, made once."""
    return Papers(tmp_path_factory.mktemp("papers"))


KINDS = ("front", "certificate", "recoding")


@pytest.mark.parametrize("kind", KINDS)
def test_whole_papers_are_read(kind: str, papers: Papers) -> None:
    """Undamaged, each is taken."""
    assert answers(lambda: papers.read(kind, getattr(papers, kind))) == ""


@pytest.mark.parametrize("kind", KINDS)
@LAZY
@given(draw=st.data())
def test_damaged_papers_are_a_sentence(kind: str, papers: Papers, draw: st.DataObject) -> None:
    """Any node deleted, replaced, nested or moved."""
    answers(lambda: papers.read(kind, damaged(getattr(papers, kind), draw)))


@LAZY
@given(draw=st.data())
def test_forged_papers_are_a_sentence(papers: Papers, draw: st.DataObject) -> None:
    """The same where the forger has made every digest anew."""
    recoding = damaged(papers.recoding, draw)
    for column in (recoding.get("columns") or {}).values() if isinstance(recoding.get("columns"), dict) else ():
        if isinstance(column, dict) and "hierarchy" in column and "sha256" in column:
            try:
                column["sha256"] = __import__("hashlib").sha256(canonical(column["hierarchy"]).encode()).hexdigest()
            except (UnicodeEncodeError, ValueError):
                continue
    answers(lambda: papers.read("recoding", recoding))
    answers(lambda: apply(papers.write(recoding), papers.rows, papers.folder / "again.csv"))
    certificate = damaged(papers.certificate, draw)
    if isinstance(certificate.get("confidential"), dict) and isinstance(certificate.get("public"), dict):
        try:
            certificate["confidential"]["public_sha256"] = digest_of(certificate["public"])
        except UnicodeEncodeError:
            return
    answers(lambda: papers.read("certificate", certificate))


@pytest.mark.parametrize("kind", KINDS)
@LAZY
@given(draw=st.data())
def test_torn_papers_are_a_sentence(kind: str, papers: Papers, draw: st.DataObject) -> None:
    """Bytes cut off, changed or put in."""
    answers(lambda: papers.read(kind, torn(json.dumps(getattr(papers, kind)).encode(), draw)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("opens", ["[", '{"a":', '[{"a":'])
def test_deep_papers_are_a_sentence(kind: str, opens: str, papers: Papers) -> None:
    """Nested a hundred thousand times."""
    assert "nested too deep" in answers(lambda: papers.read(kind, (opens * DEEP).encode()))
    closed = json.dumps({**getattr(papers, kind), "more": 0}).replace('"more": 0', '"more": ' + "[" * 90 + "]" * 90)
    assert "nested deeper than 64 levels" in answers(lambda: papers.read(kind, closed.encode()))


# -- checkpoints ------------------------------------------------------------------------------------------------------


def stop_at_once(done: int, total: int) -> None:
    """Ctrl-C after the first step."""
    raise Stopped


@pytest.fixture(scope="module", params=["exact", "nsga2"])
def kept(request: pytest.FixtureRequest, papers: Papers) -> tuple[Plan, bytes, Problem]:
    """A plan, the checkpoint it leaves, and its problem."""
    plan = Plan() if request.param == "exact" else Plan("nsga2", "cuts", 40, 1, {"population": 8})
    file = papers.folder / f"{request.param}.npz"
    with pytest.raises(Cancelled):
        run_plan(papers.problem, plan, stop_at_once, file)
    return plan, file.read_bytes(), papers.problem


@settings(max_examples=60, deadline=None)
@given(draw=st.data())
def test_damaged_checkpoints_are_a_sentence(
    kept: tuple[Plan, bytes, Problem], papers: Papers, draw: st.DataObject
) -> None:
    """Bytes or arrays changed: never a traceback, and never another front than that of a search left alone."""
    plan, data, asked = kept
    file = papers.folder / "damaged.npz"
    if draw.draw(st.booleans()):
        file.write_bytes(torn(data, draw))
    else:
        arrays = dict(np.load(io.BytesIO(data)))
        name = draw.draw(st.sampled_from(sorted(arrays)))
        array = arrays.pop(name)
        odd = [array[:-1], array + 1, array.astype(np.float32), array[None], np.zeros(3), np.array("x"), None]
        other = draw.draw(st.sampled_from(odd)) if array.dtype != np.bool_ else None
        if other is not None:
            arrays[name] = other
        np.savez(file, **arrays)
    sentence = answers(lambda: file.write_bytes(run_plan(asked, plan, checkpoint=file).genomes.tobytes()))
    if not sentence:
        assert file.read_bytes() == run_plan(asked, plan).genomes.tobytes()
    file.unlink(missing_ok=True)


def test_nothing_is_unpickled(papers: Papers) -> None:
    """A checkpoint with an object in it is refused before the object comes to life, and so is a packed one."""
    file = papers.folder / "evil.npz"
    alive: list[int] = []

    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return (alive.append, (1,))

    pickle.dumps(Evil())
    np.savez(file, header=np.array([Evil()], dtype=object))
    assert "cannot be read" in answers(lambda: run_plan(papers.problem, checkpoint=file))
    assert alive == []
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("header.npy", b"\0" * 10_000_000)
    assert "is packed" in answers(lambda: run_plan(papers.problem, checkpoint=file))


def test_the_house_unpickles_and_executes_nothing() -> None:
    """No file of the package has pickle, eval or exec, or loads arrays that may hold objects.

    But for two that read no file of anybody else: code that came with the wheel, whose checksum stands beside the code,
    and what a process that we have started tells us.
    """
    house = Path(strict.__file__).parent
    own = {house / "kernels" / "ready.py", house / "engines" / "apart.py"}
    for file in {*house.rglob("*.py")} - own:
        source = file.read_text(encoding="utf-8")
        for word in ("import pickle", "pickle.load", " eval(", " exec(", "allow_pickle=True", "yaml.load", "marshal"):
            assert word not in source, file.name


# -- jobs and hierarchies -----------------------------------------------------------------------------------------------

JOB = """
[data]
source = "p.csv"
missing_values = ["?", ""]
[columns.age]
role = "quasi-identifier"
hierarchy = {intervals = [10], from = 0}
weight = 2.0
[columns.sex]
role = "quasi-identifier"
[columns.ill]
role = "sensitive"
[suppression]
rule = "cap-max-k"
limit = 0.1
[search]
objectives = ["k", "glm"]
seed = 3
threads = 1
[limits]
k = 2
[release]
choose = "k=2"
target = "o.csv"
seed = 5
"""
KEYS = [
    "data.source", "data.missing", "data.missing_values", "data.encoding", "data.separator", "data.header",
    "data.names", "data.skip", "data.decimal", "data.thousands", "data.dates", "data.sheet", "release.separator",
    "release.encoding", "release.decimal", "data.memory", "data.sample", "data.too_many",
    "data.person", "data.domain", "columns.age.role", "columns.age.hierarchy", "columns.age.weight", "columns.age.first",
    "columns.age", "columns", "suppression.rule", "suppression.limit", "suppression.rows", "search.method", "search.space",
    "search.objectives", "search.seed", "search.budget", "search.threads", "search.ties", "search.population", "limits.k",
    "limits.t", "limits", "release.choose", "release.target", "release.seed", "release.order", "release.identifiers",
    "release.representative", "release",
]  # fmt: skip
VALUES = [
    "nan", "inf", "-inf", "-1", "0", "1e30", "1e400", "9223372036854775808", "1" * 5000, "true", "''", "'x'", "[]", "{}",
    "[[]]", "[nan]", "['']", "['k', 'k']", "{a = 1}", "{intervals = []}", "{intervals = [nan]}", "{intervals = [-1]}",
    "{quantile_cells = []}", "{quantile_cells = nan}", "{quantiles = 1e9}", "{prefix = [0]}", "{prefix = 'x'}",
    "{intervals = [5], to = 1e9}", "{intervals = [5], from = nan}", "{order = []}", "{edges = [1]}", "{dates = [1]}",
    "{file = 3}", "{bounds = [[1, 2], [3]]}", "{mask = {}}", "{known = 3}", "{known = 'countries'}", "1979-05-27", "\x00", "\ud800",
    "[" * 3000, "['recursive-l(l=nan)', 'lm']", "['average-class-size(k=inf)', 'k']", "['risk-share(k=-1)']",
]  # fmt: skip


@pytest.fixture
def job_folder(tmp_path: Path) -> Path:
    """A folder with the rows of the job."""
    lines = [f"{i % 30},{'FM'[i % 2]},{'xyz'[i % 3]}" for i in range(40)]
    (tmp_path / "p.csv").write_text("\n".join(["age,sex,ill", *lines]) + "\n")
    return tmp_path


@pytest.mark.parametrize("key", KEYS)
def test_odd_values_of_a_job_are_a_sentence(key: str, job_folder: Path) -> None:
    """Each key with every odd value, up to the problem that is searched."""
    for value in VALUES:
        answers(lambda: parse_job(JOB, job_folder, "job.toml", [f"{key}={value}"]).problem())  # noqa: B023 (at once)


@LAZY
@given(draw=st.data())
def test_torn_jobs_are_a_sentence(job_folder: Path, draw: st.DataObject) -> None:
    """Bytes cut off, changed or put in."""
    file = job_folder / "job.toml"
    file.write_bytes(torn(JOB.encode(), draw))
    answers(lambda: load_job(file))


def test_deep_and_large_jobs_are_a_sentence(job_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nested a hundred thousand times, or larger than any job."""
    file = job_folder / "job.toml"
    file.write_text("a = " + "[" * DEEP)
    assert "nested too deep" in answers(lambda: load_job(file))
    file.write_text("a = " + "[" * 90 + "]" * 90)
    assert "nested deeper than 64 levels" in answers(lambda: load_job(file))
    monkeypatch.setattr("kpareto.jobs.parse.MOST_JOB", 10)
    assert "is larger than" in answers(lambda: load_job(file))


TREES: list[Any] = [
    {"kind": "tree", "tree": {"label": "*", "children": [{"label": "a", "children": [{"label": "1"}, {"label": "2"}]},
                                                       {"label": "3"}]}},
    {"kind": "ordered", "values": ["1", "2", "3"], "ranks": [1, 2, 5]},
    {"kind": "ordered", "values": ["[0,2)", "[2,4]"], "edges": [0, 2, 4]},
    {"kind": "interval-rules", "levels": [{"width": 2, "origin": 0, "top_code": 3}, {"bounds": [[1, 3]]}]},
]  # fmt: skip


@pytest.mark.parametrize("tree", TREES, ids=["tree", "ranks", "edges", "rules"])
@LAZY
@given(draw=st.data())
def test_damaged_hierarchies_are_a_sentence(tree: Any, draw: st.DataObject) -> None:
    """Any node of a JSON hierarchy deleted, replaced, nested or moved, or its bytes torn."""
    words = json.dumps(damaged(tree, draw))
    answers(lambda: load("x", words + "\n", ["1", "2", "3"]))
    answers(lambda: load("x", torn(json.dumps(tree).encode(), draw) + b"\n", ["1", "2", "3"]))
    answers(lambda: load("x", torn(b"1;a;*\n2;a;*\n3;b;*\n", draw), ["1", "2", "3"]))


def test_deep_hierarchies_are_a_sentence() -> None:
    """A tree may be deep, but not without end."""
    assert "nested too deep" in answers(lambda: load("x", '{"tree": ' + '{"label": "a", "children": [' * DEEP))
    deep: Any = {"label": "1"}
    for level in range(300):
        deep = {"label": f"L{level}", "children": [deep, {"label": f"leaf {level}"}]}
    assert "nested deeper than" in answers(lambda: load("x", json.dumps({"tree": deep}) + "\n"))


# -- the reader itself --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ('{"a": 1, "a": 2}', "the key 'a' stands twice"),
        ('{"a": NaN}', "NaN is no number"),
        ('{"a": -Infinity}', "-Infinity is no number"),
        ('{"a": 1e999}', "the number 1e999 is too large"),
        ('{"a": ' + "1" * 5000 + "}", "is not JSON"),
        ('{"a": true, "b": []}', "a is True, and a whole number from 0 to 5 belongs there"),
        ('{"a": 6, "b": []}', "a is 6, and a whole number from 0 to 5"),
        ('{"a": 1}', "'b', which is missing, belongs there"),
        ('{"a": 1, "b": [1, "2"]}', "b[1] is '2', and a number belongs there"),
        ('{"a": 1, "b": {}}', "b is an object with 0 keys, and a list belongs there"),
        ("[]", "the whole is a list of 0, and an object belongs there"),
        ('{"a": 1, "b": [], "c": 1}', "c is 1, and a text belongs there"),
    ],
)
def test_what_is_wrong_is_named(words: str, sentence: str) -> None:
    """The place, what stands there, and what belongs there."""
    shape = record({"a": whole(0, 5), "b": list_of(number())}, {"c": text})
    said = answers(lambda: parse_json(words, PAPER, shape, "p.json"))
    assert said.startswith("The paper 'p.json' is ")
    assert sentence in said
    assert said.endswith("Write it again.")


def test_files_that_are_none_are_a_sentence(tmp_path: Path) -> None:
    """Missing, a folder, a ring of links, not UTF-8, too large, a name that no file can have."""
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "latin").write_bytes(b'{"a": "\xe4"}')
    for place, sentence in (
        (tmp_path / "none", "No such file"),
        (tmp_path, "Is a directory"),
        (tmp_path / "loop", "cannot be read: "),
        (tmp_path / "latin", "is not UTF-8: byte 0xe4 in line 1"),
        ("a\0b", "cannot be read: "),
    ):
        assert sentence in answers(lambda: strict.read_json(place, PAPER, anything))  # noqa: B023 (at once)
    with pytest.raises(BadInput, match="is larger than 0 MiB"):
        strict.read_text(tmp_path / "latin", PAPER, 5)


@pytest.mark.parametrize(
    "header", ["{'descr': '<i8'", "(", "[(", "{'descr': '<i8', 'shape': (3,), 'fortran_order': False"]
)
def test_headers_of_arrays_that_never_end_are_a_sentence(header: str, tmp_path: Path) -> None:
    """Numpy takes what is no literal apart word by word, and stumbles over one that is cut off."""
    text = header.encode().ljust(117) + b"\n"
    array = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(24)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as packed:
        packed.writestr("a.npy", array)
    with pytest.raises(BadInput, match="cannot be read"):
        strict.read_arrays(tmp_path / "x.npz", PAPER)
