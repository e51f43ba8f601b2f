"""Projects of ARX: small ones made here become jobs that run, hostile ones a sentence; jobs become files for ARX."""

from __future__ import annotations

import json
import math
import re
import tomllib
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest

import kpareto as kp
from kpareto.errors import BadInput
from kpareto.faces.cli import main
from kpareto.jobs.arx import project as projects
from kpareto.jobs.arx.export import arx_layout, export_arx, java_models
from kpareto.jobs.arx.project import ModelContext, hierarchy_files, look_at, read_arx, read_model, read_quality
from kpareto.jobs.job import Job
from kpareto.jobs.parse import load_job, parse_job
from kpareto.jobs.release import release_job
from kpareto.measures.measure import make, meets
from kpareto.tables.hierarchies import read_lines, to_rows
from kpareto.tables.hierarchy import MISSING, flat, with_missing
from kpareto.verifier import verify

SEX = "sex"
PLACE = "Bürger's 'place'"  # with an apostrophe, blanks and a letter beyond ASCII
ILL = "illness"
ROWS = [
    (sex, place, ill, str(number))
    for number, (sex, place, ill) in enumerate(
        (sex, place, ill) for sex in ("m", "w") for place in ("Köln", "Bonn", "Ulm") for ill in ("flu", "flu", "cold")
    )
]
HIERARCHIES: dict[str, Sequence[Sequence[str]]] = {
    SEX: [("m", "*"), ("w", "*")],
    PLACE: [("Köln", "west", "*"), ("Bonn", "west", "*"), ("Ulm", "south", "*")],
}


@dataclass(frozen=True)
class Made:
    """A project of ARX that a test makes, part by part."""

    criteria: Sequence[str] = ("2-anonymity",)
    metric: str = "Loss (0.5/1.0/1.0)"
    outliers: str = "1.0"
    weights: Mapping[str, str] = field(default_factory=dict)
    settings: str = ""  # further elements of the configuration
    columns: Mapping[str, str] = field(default_factory=dict)  # further elements of a column
    kinds: Mapping[str, str] = field(default_factory=dict)
    hierarchies: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=lambda: HIERARCHIES)
    separator: str = ";"
    vocabulary: str = "<vocabulary>2.0</vocabulary>"
    rows: Sequence[Sequence[str]] = tuple(ROWS)
    subset: Sequence[Sequence[str]] | None = None
    encoding: str = "utf-8"
    parts: Mapping[str, str | bytes | None] = field(default_factory=dict)  # instead of what would stand there

    def lines(self, rows: Sequence[Sequence[str]]) -> str:
        """Rows as ARX writes them."""
        quoted = ([f'"{cell}"' if self.separator in cell else cell for cell in row] for row in rows)
        return "".join(self.separator.join(row) + "\n" for row in quoted)

    def definition(self) -> str:
        """What ARX knows of the columns."""
        kinds = {SEX: "QUASI_IDENTIFYING", PLACE: "QUASI_IDENTIFYING", ILL: "SENSITIVE", "id": "IDENTIFYING"}
        said = []
        for name, kind in (kinds | dict(self.kinds)).items():
            further = self.columns.get(name, "<min>All</min><max>All</max>")
            ref = f"<ref>hierarchies/{escape(name)}.csv</ref>" if name in self.hierarchies else ""
            kind = f"<type>{kind}_ATTRIBUTE</type><datatype>String</datatype>"
            said.append(f"<assigment><name>{escape(name)}</name>{kind}{ref}{further}</assigment>")
        return f"<definition>{''.join(said)}</definition>"

    def config(self) -> str:
        """The privacy models and further settings."""
        criteria = "".join(f"<criterion>{escape(each)}</criterion>" for each in self.criteria)
        weights = "".join(
            f"<attributeWeight><attribute>{escape(name)}</attribute><weight>{weight}</weight></attributeWeight>"
            for name, weight in self.weights.items()
        )
        return (
            f"<config><relativeMaxOutliers>{self.outliers}</relativeMaxOutliers><metric>{escape(self.metric)}</metric>"
            f"{self.settings}<attributeWeights>{weights}</attributeWeights><criteria>{criteria}</criteria></config>"
        )

    def write(self, folder: Path, name: str = "small.deid") -> Path:
        """The project as a file."""
        header = [(SEX, PLACE, ILL, "id")]
        parts: dict[str, str | bytes | None] = {
            "metadata.xml": f"<metadata><version>3.9.1</version>{self.vocabulary}</metadata>",
            "project.xml": f"<project><name>n</name><separator>{self.separator}</separator></project>",
            "project.dat": b"\xac\xed\x00\x05 a Java object",
            "data/input.csv": self.lines([*header, *self.rows]).encode(self.encoding),
            "input/config.xml": self.config(),
            "input/definition.xml": self.definition(),
            **{
                f"input/hierarchies/{each}.csv": self.lines(rows).encode(self.encoding)
                for each, rows in self.hierarchies.items()
            },
        }
        if self.subset is not None:
            parts["data/input_subset.csv"] = self.lines([*header, *self.subset])
        path = folder / name
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
            for each, content in (parts | dict(self.parts)).items():
                if content is not None:
                    packed.writestr(each, content)
        return path


def raw_job(path: Path) -> dict[str, Any]:
    """A job file as plain data."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def count_released(job: Job) -> int:
    """Release what a job chooses; the rows of the file."""
    release_job(job)
    return len(job.path(str(job.target)).read_text(encoding="utf-8").splitlines()) - 1


def test_a_project_becomes_a_job_that_runs(tmp_path: Path) -> None:
    """Roles, hierarchies, separator, limits and the choice are ARX's, and the release meets them."""
    project = read_arx(Made().write(tmp_path))
    job = raw_job(tmp_path / "small.toml")
    assert job["data"]["separator"] == ";"
    assert {name: column["role"] for name, column in job["columns"].items()} == {
        SEX: "quasi-identifier",
        PLACE: "quasi-identifier",
        ILL: "sensitive",
        "id": "identifier",
    }
    assert (job["limits"], job["release"]["choose"]) == ({"k": 2}, "k=2")
    assert job["suppression"]["limit"] == pytest.approx(1)
    assert job["suppression"]["limit"] < 1
    front = kp.front(project.job)
    best = front.choose(k=2)
    assert best.values["arx-loss"] == min(point.values["arx-loss"] for point in front)
    assert count_released(project.job) == len(ROWS)


def test_hierarchies_are_unpacked_as_they_are(tmp_path: Path) -> None:
    """Each line of ARX's file is a line of ours, fine to coarse, apostrophes and letters beyond ASCII included."""
    read_arx(Made().write(tmp_path))
    job = raw_job(tmp_path / "small.toml")
    for name, rows in HIERARCHIES.items():
        assert to_rows(read_lines(name, tmp_path / job["columns"][name]["hierarchy"])) == rows


def test_the_public_name(tmp_path: Path) -> None:
    """kp.read_arx is the same door, and takes the place of the job."""
    (tmp_path / "jobs").mkdir()
    project = kp.read_arx(Made().write(tmp_path), tmp_path / "jobs" / "own.toml")
    assert project.job == load_job(tmp_path / "jobs" / "own.toml")
    assert repr(project) == "ArxProject('small.deid', 4 columns, k 2)"
    assert (tmp_path / "jobs" / "small" / "table.csv").exists()
    assert not (tmp_path / "small").exists()
    with pytest.raises(BadInput, match="only looked at"):
        _ = look_at(tmp_path / "small.deid").job


def test_nothing_is_replaced(tmp_path: Path) -> None:
    """A job or a folder that is there stays as it is."""
    path = Made().write(tmp_path)
    (tmp_path / "small.toml").write_text("own")
    with pytest.raises(BadInput, match="is there already"):
        read_arx(path)
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "own.txt").write_text("own")
    with pytest.raises(BadInput, match="is there already"):
        read_arx(path, tmp_path / "other.toml")
    assert not (tmp_path / "other.toml").exists()


@pytest.mark.parametrize("separator", [",", "|", "\t", "~"])
def test_any_separator(separator: str, tmp_path: Path) -> None:
    """Table and hierarchies have the separator of the project; labels that hold it are in quotes."""
    place = [("Köln", f"west{separator}north", "*"), ("Bonn", f"west{separator}north", "*"), ("Ulm", "south", "*")]
    made = Made(separator=separator, hierarchies=HIERARCHIES | {PLACE: place})
    project = read_arx(made.write(tmp_path))
    table = project.job.table()
    assert to_rows(table.hierarchies[1]) == place
    assert table.rows == len(ROWS)


def test_an_older_windows(tmp_path: Path) -> None:
    """Parts in Java's default encoding of a Windows are read too."""
    project = read_arx(Made(encoding="cp1252", criteria=["2-anonymity"]).write(tmp_path))
    assert (project.job.encoding, project.job.table().rows) == ("cp1252", len(ROWS))


# -- privacy models ----------------------------------------------------------------------------------------------------

ONE, TWO = ModelContext([ILL]), ModelContext([ILL, "pay day"])
HIERARCHICAL = f"0.2-closeness with hierarchical ground-distance for attribute '{ILL}'"
MAPPED = [
    ("5-anonymity", ONE, {"k": 5}),
    (f"distinct-3-diversity for attribute '{ILL}'", ONE, {"l": 3}),
    (f"distinct-3-diversity for attribute '{ILL}'", TWO, {f"l(column={ILL})": 3}),
    ("distinct-3-diversity for attribute 'pay day'", TWO, {"l(column=pay day)": 3}),
    (f"entropy-2.5-diversity for attribute '{ILL}'", ONE, {"entropy-l": 2.5}),
    (f"shannon-entropy-3.0-diversity for attribute '{ILL}'", ONE, {"entropy-l": 3.0}),
    (f"0.2-closeness with equal ground-distance for attribute '{ILL}'", ONE, {"t": 0.2}),
    (f"0.2-closeness with equal ground-distance for attribute '{ILL}'", TWO, {f"t(column={ILL})": 0.2}),
    (f"1.0E-1-closeness with ordered distance for attribute '{ILL}'", ONE, {"t(distance=ordered)": 0.1}),
    (HIERARCHICAL, replace(ONE, trees=[ILL]), {"t(distance=hierarchical)": 0.2}),
    (HIERARCHICAL, replace(TWO, trees=[ILL]), {f"t(column={ILL}, distance=hierarchical)": 0.2}),
    (f"2.0-basic likeness for attribute '{ILL}'", ONE, {"beta": 2.0}),
    (f"enhanced-2.0-likeness for attribute '{ILL}'", ONE, {"enhanced-beta": 2.0}),
    ("(0.1)-avg-reidentification-risk", ONE, {"risk-mean": 0.1}),
    ("(0.05)-sample-uniqueness", ONE, {"risk-share(threshold=0.5)": 0.05}),
    ("(11)-map estimated as (3)-anonymity (Poisson)", ONE, {"k": 3}),
    ("(11)-map", replace(ONE, population=True), {"k-map": 11}),
    ("(0.0,0.5)-presence", replace(ONE, population=True), {"presence-max": 0.5}),
    ("(0.1,0.5)-presence", replace(ONE, population=True), {"presence-max": 0.5}),
]


@pytest.mark.parametrize(
    ("text", "settings", "limits"), MAPPED, ids=lambda value: value if isinstance(value, str) else ""
)
def test_privacy_models_that_are_limits(text: str, settings: ModelContext, limits: dict[str, float]) -> None:
    """ARX's text of a model becomes a limit that a job takes."""
    assert read_model(text, settings).limits == limits


TREE = [("flu", "airways", "*"), ("cold", "airways", "*")]


def test_t_closeness_by_a_hierarchy_is_a_limit_both_ways(tmp_path: Path) -> None:
    """The hierarchy of the sensitive column comes along, the release is verified by it, and it goes back to ARX."""
    made = Made(criteria=["2-anonymity", HIERARCHICAL], hierarchies=HIERARCHIES | {ILL: TREE})
    project = read_arx(made.write(tmp_path))
    assert project.limits == {"k": 2, "t(distance=hierarchical)": 0.2}
    assert not any(ILL in remark for remark in project.remarks)
    done = release_job(project.job)
    assert done.verified.numbers["t(distance=hierarchical)"] <= 0.2
    public = {"public": done.certificate.public}
    assert "t(distance=hierarchical, reference=release)" in verify(done.place, public).numbers
    broken = json.loads(json.dumps(public))
    del broken["public"]["trees"][ILL]["flu"]
    with pytest.raises(BadInput, match="The certificate is not whole"):
        verify(done.place, broken)
    notes = export_arx(project.job, tmp_path / "arx")
    program = (tmp_path / "arx" / "CompareWithArx.java").read_text(encoding="utf-8")
    file = next(each.name for each in (tmp_path / "arx").iterdir() if ILL in each.name)
    opened = f"Hierarchy.create(\"{file}\", StandardCharsets.UTF_8, ';')"
    assert f'new HierarchicalDistanceTCloseness("{ILL}", 0.2, {opened})' in program
    assert not any("distance" in note for note in notes)


def test_persons_are_measured_by_a_hierarchy_too(tmp_path: Path) -> None:
    """Each person is spread evenly over their values; the verifier counts the same by the nodes of the tree."""
    rows = [f"{who},{who % 2},{'abc'[(who + visit) % 3]}" for who in range(12) for visit in range(2)]
    (tmp_path / "visits.csv").write_text("\n".join(["id,sex,ill", *rows]) + "\n")
    (tmp_path / "ill.csv").write_text("a;x;*\nb;x;*\nc;y;*\n")
    text = """
    data = {source = "visits.csv", person = "id"}
    columns = {sex = {role = "quasi-identifier"}, ill = {role = "sensitive", hierarchy = "ill.csv"}}
    search = {objectives = ["k", "lm"]}
    limits = {k = 2, "t(distance=hierarchical)" = 0.5}
    release = {choose = "k=2", target = "out.csv", accept = ["W1", "W2"]}
    """
    done = release_job(parse_job(text, tmp_path))
    name = "t(counts=persons, distance=hierarchical)"
    limits = {claim["measure"]: claim["value"] for claim in done.certificate.confidential["claims"]}
    assert done.verified.numbers[name] == pytest.approx(limits["t"])


def test_delta_is_converted_from_base_two() -> None:
    """ARX asks for |log2(p/q)| < 1; a class with p = 2q fails there, and it must fail here too."""
    reading = read_model(f"1.0-disclosure privacy for attribute '{ILL}'", ONE)
    limit = reading.limits["delta"]
    assert limit == pytest.approx(math.log(2))
    assert "base 2" in reading.remark
    assert not meets("lower", math.log(2), limit)
    assert meets("lower", math.log(1.999999), limit)


def test_recursive_diversity_is_strict_as_in_arx() -> None:
    """r1 < c · tail: a class with r1 = 3 · tail is no (3,2)-diverse one."""
    reading = read_model(f"recursive-(3.0,2)-diversity for attribute '{ILL}'", ONE)
    ((name, limit),) = reading.limits.items()
    assert make(name).name == make("recursive-l(l=2)").name
    assert "equality" in reading.remark
    assert not meets("lower", 3.0, limit)
    assert meets("lower", 299_999 / 100_000, limit)


def test_average_risk_with_its_further_numbers() -> None:
    """ARX counts rows of the very risk among those at risk: classes of five at a highest risk of 0.2."""
    reading = read_model("(0.1, 0.2, 0.05)-avg-reidentification-risk", ONE)
    border = next(name for name in reading.limits if name.startswith("risk-share"))
    threshold = float(re.search(r"=([\d.]+)", border)[1])  # type: ignore[index]
    assert 1 / 6 < threshold < 1 / 5
    assert reading.limits == {"risk-mean": 0.1, border: 0.05}


WITHOUT = [
    f"grassberger-entropy-3.0-diversity for attribute '{ILL}'",
    HIERARCHICAL,
    "distinct-3-diversity for attribute 'nobody'",
    "(11)-map",
    "(11)-map estimated as (unknown)-anonymity (Poisson)",
    "(0.1,0.9)-presence",
    "(1.0E-4)-population-uniqueness (dankar)",
    "(2.0,1.0E-5)-DP",
    "(3)-minimum-key-size",
    "profitability (prosecutor)",
    "something of a later version",
    "0-anonymity",
    "9" * 5000 + "-anonymity",
    f"1.2.3-basic likeness for attribute '{ILL}'",
    "(0.1, 0.0, 0.1)-avg-reidentification-risk",
]


@pytest.mark.parametrize("text", WITHOUT, ids=lambda text: text[:40])
def test_every_model_without_a_counterpart_is_named(text: str) -> None:
    """One sentence each, which begins with ARX's own text."""
    reading = read_model(text, ONE)
    assert reading.limits == {}
    assert reading.remark.startswith(f"{text!r} has no counterpart: ")


def test_a_column_that_no_limit_can_spell_is_named() -> None:
    """Commas and brackets part a limit's parameters, so such a name is told where it is needed."""
    settings = ModelContext(["a, (b)", ILL])
    assert "rename it" in read_model("distinct-3-diversity for attribute 'a, (b)'", settings).remark
    assert read_model("distinct-3-diversity for attribute 'a, (b)'", ModelContext(["a, (b)"])).limits == {"l": 3}


@pytest.mark.parametrize(
    ("text", "loss", "said"),
    [
        ("Loss (0.5/1.0/1.0)", "arx-loss", "geometric"),
        ("Loss (0.007/1.0/0.014)", "arx-loss", "0.014"),
        ("Loss (0.5/1.0/1.0E-4)", "arx-loss", "1.0E-4"),
        ("Loss (0.5/1..0/1.0)", "arx-loss", "geometric"),  # no number, and no traceback
        ("Non-monotonic discernability", "dcn", "is dcn here"),
        ("Average equivalence class size", "aecs", "is aecs here"),
        ("Non-monotonic precision", "precision", "is precision here"),
        ("Monotonic precision", "precision", "passes over suppressed rows"),
        ("Non-monotonic non-uniform entropy", "nonuniform-entropy", "is nonuniform-entropy here"),
        ("Non-uniform entropy", "nonuniform-entropy", "passes over suppressed rows"),
        ("Classification accuracy", "lm", "no counterpart"),
    ],
)
def test_quality_models(text: str, loss: str, said: str) -> None:
    """Each has a loss here, and what differs is said."""
    assert read_quality(text)[0] == loss
    assert said in read_quality(text)[1]


# -- nothing is dropped in silence -------------------------------------------------------------------------------------


def test_every_setting_without_a_counterpart_stands_in_the_job_and_is_told(tmp_path: Path) -> None:
    """Each becomes a remark, and every remark is a comment of the job."""
    made = Made(
        criteria=["2-anonymity", "Inclusion", "(1.0E-4)-population-uniqueness (dankar)", "(3)-minimum-key-size"],
        metric="Classification accuracy",
        settings=(
            "<practicalMonotonicity>true</practicalMonotonicity><suppressionString>x</suppressionString>"
            "<suppressTuplesInNonAnonymousOutput>true</suppressTuplesInNonAnonymousOutput><later>7</later>"
            "<suppressedAttributeTypes><type>SENSITIVE_ATTRIBUTE</type></suppressedAttributeTypes>"
        ),
        columns={
            PLACE: "<min>1</min><max>All</max><microaggregationFunction>Geometric mean</microaggregationFunction>",
            SEX: "<min>All</min><max>All</max><format>#,##0</format>",
            ILL: "<response>true</response>",
        },
        hierarchies=HIERARCHIES | {ILL: [("flu", "*"), ("cold", "*")]},
    )
    project = read_arx(made.write(tmp_path))
    text = (tmp_path / "small.toml").read_text(encoding="utf-8")
    for part in (
        "research subset",
        "population-uniqueness",
        "minimum-key-size",
        "Classification accuracy",
        "practical monotonicity",
        "suppressionString",
        "later = '7'",
        "SENSITIVE_ATTRIBUTE",
        "microaggregationFunction = 'Geometric mean'",
        "The format '#,##0'",
        f"{ILL!r} is a response variable of ARX; here its role is 'sensitive'",
        f"The hierarchy of {ILL!r} is not used",
        "ARX shows them as stars",
    ):
        assert sum(part in remark for remark in project.remarks) == 1, part
    comments = [line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ")]
    assert set(project.remarks) < set(comments)
    assert project.job.limits == {"k": 2}
    assert project.job.columns[PLACE].levels == (1, 2)


@pytest.mark.parametrize(("least", "most", "levels"), [("1", "1", (1, 1)), ("All", "1", (0, 1)), ("0", "2", (0, 2))])
def test_levels_that_arx_allows_are_those_of_the_job(
    tmp_path: Path, least: str, most: str, levels: tuple[int, int]
) -> None:
    """The front has no point outside of them, and the program for ARX names them again."""
    ends = f"<min>{least}</min><max>{most}</max>"
    project = read_arx(Made(columns={PLACE: ends}).write(tmp_path))
    assert project.job.columns[PLACE].levels == levels
    shown = {point.recoding.describe()[PLACE] for point in kp.front(project.job)}
    assert shown <= set(range(levels[0], levels[1] + 1))
    export_arx(project.job, tmp_path / "arx")
    program = (tmp_path / "arx" / "CompareWithArx.java").read_text(encoding="utf-8")
    for end, level in zip(("Minimum", "Maximum"), levels, strict=True):
        assert re.search(rf"columns\.set{end}Generalization\(\"B.*place'\", {level}\);", program)


@pytest.mark.parametrize("ends", ["<min>2</min><max>1</max>", "<min>0</min><max>7</max>", "<min>x</min><max>1</max>"])
def test_levels_that_the_hierarchy_lacks_are_a_sentence(tmp_path: Path, ends: str) -> None:
    """Reversed, beyond the hierarchy or no numbers: nothing is written."""
    with pytest.raises(BadInput, match="whose hierarchy has 0 to 2"):
        read_arx(Made(columns={PLACE: ends}).write(tmp_path))
    assert not (tmp_path / "small.toml").exists()


def test_without_a_limit_the_recommended_point_is_chosen(tmp_path: Path) -> None:
    """Where no model of ARX is a limit, nothing unprotected is chosen in its name."""
    project = read_arx(Made(criteria=["(2.0,1.0E-5)-DP"]).write(tmp_path))
    assert raw_job(tmp_path / "small.toml")["release"]["choose"] == "recommended"
    assert any("Give limits yourself" in sentence for sentence in project.sentences())
    assert len(kp.front(project.job))


def test_a_limit_on_something_else_than_k(tmp_path: Path) -> None:
    """The choice names every limit, so that the least loss is taken although k is open."""
    project = read_arx(Made(criteria=[f"distinct-2-diversity for attribute '{ILL}'"]).write(tmp_path))
    assert project.choice == "l=2"
    assert count_released(project.job) == len(ROWS)


def test_many_limits_together_are_released(tmp_path: Path) -> None:
    """The choice of a job can spell every limit that a project gives it."""
    models = ("distinct-2-diversity", "0.9-closeness with ordered distance", "9.0-disclosure privacy")
    criteria = ["2-anonymity", "(0.5)-avg-reidentification-risk", *(f"{each} for attribute '{ILL}'" for each in models)]
    project = read_arx(Made(criteria=criteria).write(tmp_path))
    assert set(project.limits) == {"k", "risk-mean", "l", "t(distance=ordered)", "delta"}
    assert count_released(project.job) == len(ROWS)


def test_a_long_text_is_a_short_remark(tmp_path: Path) -> None:
    """Nobody has to read megabytes because somebody wrote them."""
    project = look_at(Made(criteria=["2-anonymity", "x" * 100_000]).write(tmp_path))
    assert max(map(len, project.remarks)) < 700


def test_of_two_models_the_stricter_one_counts(tmp_path: Path) -> None:
    """k-anonymity beside an estimated k-map is one k."""
    criteria = ["2-anonymity", "(11)-map estimated as (3)-anonymity (Poisson)"]
    assert look_at(Made(criteria=criteria).write(tmp_path)).limits == {"k": 3}


def test_weights_make_the_loss_a_weighted_one(tmp_path: Path) -> None:
    """Equal weights say nothing; others stand in the job, 1 where ARX has its usual 0.5."""
    project = read_arx(Made(weights={SEX: "0.5", PLACE: "1.0"}).write(tmp_path))
    job = raw_job(tmp_path / "small.toml")
    assert job["search"]["objectives"] == ["k", "nwp"]
    assert (job["columns"][SEX]["weight"], job["columns"][PLACE]["weight"]) == (1.0, 2.0)
    assert any("nwp" in remark for remark in project.remarks)
    assert look_at(Made(weights={SEX: "0.9", PLACE: "0.9"}).write(tmp_path, "even.deid")).loss == "arx-loss"
    other = look_at(Made(weights={SEX: "0.9"}, metric="Discernability").write(tmp_path, "dcn.deid"))
    assert other.loss == "dcn"
    assert any("weights" in remark for remark in other.remarks)


def test_a_research_subset_is_the_table_and_the_rest_its_population(tmp_path: Path) -> None:
    """k-map and presence are counted against the whole table."""
    made = Made(criteria=["(4)-map", "(0.0,0.9)-presence"], subset=ROWS[::2], outliers="0.2")
    project = read_arx(made.write(tmp_path))
    assert project.limits == {"k-map": 4, "presence-max": 0.9}
    assert project.job.table().rows == len(ROWS[::2])
    assert len(kp.front(project.job))


@pytest.mark.parametrize("kind", ["Date", "Date/Time"])
def test_dates_and_columns_without_a_hierarchy(kind: str, tmp_path: Path) -> None:
    """A column of dates says its form where nothing else holds its texts; one without a hierarchy is named."""
    rows = [(sex, place, f"0{1 + int(number) % 5}.02.1990", number) for sex, place, _, number in ROWS]
    date = f"<datatype>{kind}</datatype><format>dd.MM.yyyy</format>"
    made = Made(rows=rows, columns={ILL: date}, hierarchies={SEX: HIERARCHIES[SEX]})
    project = read_arx(made.write(tmp_path))
    assert raw_job(tmp_path / "small.toml")["data"]["dates"] == {ILL: "%d.%m.%Y"}
    assert any("has no hierarchy" in remark for remark in project.remarks)
    assert {"flat": True} in [each.get("hierarchy") for each in raw_job(tmp_path / "small.toml")["columns"].values()]
    assert len(kp.front(project.job))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([("Köln", "west"), ("Bonn", "west"), ("Ulm", "south")], "got a last level"),
        ([("Köln",), ("Bonn",), ("Ulm",)], "got a last level"),
        ([("Köln", "a", "x", "*"), ("Bonn", "a", "y", "*"), ("Ulm", "b", "y", "*")], "cannot be used"),
        ([("Köln", "*"), ("Bonn",), ("Ulm", "*")], "cannot be used"),
        ([], "cannot be used"),
    ],
)
def test_hierarchies_of_other_shapes_are_told_and_the_job_runs(
    lines: list[tuple[str, ...]], said: str, tmp_path: Path
) -> None:
    """A last level with one group is added; groups that do not nest leave the column shown or starred."""
    project = read_arx(Made(hierarchies=HIERARCHIES | {PLACE: lines}).write(tmp_path))
    assert any(said in remark for remark in project.remarks)
    assert len(kp.front(project.job))


# -- hostile files -----------------------------------------------------------------------------------------------------

BOMB = '<!DOCTYPE c [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><config>&b;</config>'
OUTSIDE = '<!DOCTYPE c [<!ENTITY x SYSTEM "file:///etc/passwd">]><config>&x;</config>'
BAD = [
    (Made(parts={"input/config.xml": BOMB}), "document type or entities"),
    (Made(parts={"input/config.xml": OUTSIDE}), "document type or entities"),
    (Made(parts={"input/config.xml": BOMB.encode("utf-16")}), "no valid XML"),
    (Made(parts={"input/config.xml": "<config>&nbsp;</config>"}), "no valid XML"),
    (Made(parts={"input/config.xml": "<config><criteria></config>"}), "no valid XML"),
    (Made(parts={"input/config.xml": ""}), "no valid XML"),
    (Made(parts={"input/config.xml": "<c>" * 5000}), "inside each other"),
    (Made(parts={"input/config.xml": "<other/>"}), "instead of <config>"),
    *((Made(parts={part: None}), f"no part '{part}'") for part in ("metadata.xml", "project.xml", "data/input.csv")),
    *((Made(parts={part: None}), f"no part '{part}'") for part in ("input/config.xml", "input/definition.xml")),
    (Made(parts={f"input/hierarchies/{SEX}.csv": None}), "no part"),
    (Made(subset=ROWS[:2], parts={"data/input.csv": None}), "no part 'data/input.csv'"),
    (Made(vocabulary=""), "vocabulary '1.0'"),
    (Made(vocabulary="<vocabulary>3.0</vocabulary>"), "vocabulary '3.0'"),
    (Made(parts={"../evil.csv": "x"}), "leads out of its folder"),
    (Made(parts={"/etc/evil.csv": "x"}), "leads out of its folder"),
    (Made(parts={"a\\..\\evil.csv": "x"}), "leads out of its folder"),
    (Made(parts={"C:evil.csv": "x"}), "leads out of its folder"),
    (Made(columns={SEX: "<ref>../../evil.csv</ref>"}), "leads out of its folder"),
    (Made(separator=";;"), "one character belongs there"),
    (Made(separator='"'), "one character belongs there"),
    (Made(outliers="many"), "a number belongs there"),
    (Made(outliers="NaN"), "a number belongs there"),
    (Made(weights={SEX: "heavy"}), "a number belongs there"),
    (Made(weights={SEX: "-1.0"}), "a number belongs there"),
    (Made(kinds={SEX: "SECRET"}), "not known"),
    (Made(kinds={"nobody": "SENSITIVE"}), "that its table does not have"),
    (Made(kinds={SEX: "INSENSITIVE", PLACE: "INSENSITIVE"}), "no quasi-identifying attribute"),
    (Made(parts={"data/input.csv": "a;a\n1;2\n"}), "two of one name"),
    (Made(parts={"data/input.csv": ""}), "have no names"),
    (Made(parts={"data/input.csv": "x" * 200_000 + ";y\n"}), "cannot be read"),
]


@pytest.mark.parametrize(("made", "said"), BAD, ids=[said + str(place) for place, (_, said) in enumerate(BAD)])
def test_what_is_wrong_is_one_sentence_and_nothing_is_written(made: Made, said: str, tmp_path: Path) -> None:
    """No part of a bad project is unpacked."""
    path = made.write(tmp_path)
    with pytest.raises(BadInput, match=re.escape(said)) as caught:
        read_arx(path)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")
    assert list(tmp_path.iterdir()) == [path]


def test_a_column_that_is_defined_twice_is_refused(tmp_path: Path) -> None:
    """Nobody knows which of the two is meant."""
    twice = Made().definition().replace("<definition>", "<definition><assigment><name>sex</name><type>"
                                        "SENSITIVE_ATTRIBUTE</type></assigment>")  # fmt: skip
    with pytest.raises(BadInput, match="twice"):
        read_arx(Made(parts={"input/definition.xml": twice}).write(tmp_path))


def test_two_parts_of_one_name_are_refused(tmp_path: Path) -> None:
    """A second part could be meant for another reader than the first."""
    path = Made().write(tmp_path)
    with zipfile.ZipFile(path, "a") as packed, pytest.warns(UserWarning, match="Duplicate"):
        packed.writestr("input/config.xml", "<config/>")
    with pytest.raises(BadInput, match="two parts that are both called"):
        read_arx(path)


@pytest.mark.parametrize("part", ["data/input.csv", "input/config.xml", f"input/hierarchies/{SEX}.csv"])
def test_a_bomb_is_refused_before_it_is_unpacked(part: str, tmp_path: Path) -> None:
    """What is packed more often than any table is not opened."""
    with pytest.raises(BadInput, match="packed more than 200 times"):
        read_arx(Made(parts={part: b"0;" * (8 << 20)}).write(tmp_path))


def test_large_parts_are_refused_although_they_are_packed_as_usual(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each text has a limit of its own, and the hierarchies have one together."""
    monkeypatch.setattr(projects, "MOST_LINES", 20)
    with pytest.raises(BadInput, match="more than 20 bytes together"):
        read_arx(Made().write(tmp_path))
    monkeypatch.undo()
    monkeypatch.setattr(projects, "MOST_XML", 30)
    with pytest.raises(BadInput, match="30 is the most that is read"):
        read_arx(Made().write(tmp_path))


def test_a_part_that_is_larger_than_it_says(tmp_path: Path) -> None:
    """A size in the list of parts that lies is found out while it is read."""
    path = Made().write(tmp_path)
    data = path.read_bytes()
    size = len(Made().config().encode())
    place = data.rindex(b"input/config.xml") - 46 + 24  # the size in the central directory
    assert int.from_bytes(data[place : place + 4], "little") == size
    path.write_bytes(data[:place] + (size - 40).to_bytes(4, "little") + data[place + 4 :])
    with pytest.raises(BadInput, match=r"damaged part|larger than it says|no valid XML"):
        read_arx(path)


@pytest.mark.parametrize("content", [b"", b"no zip at all", b"PK\x03\x04 cut short"])
def test_what_is_no_zip(content: bytes, tmp_path: Path) -> None:
    """Any other file is told apart at once."""
    path = tmp_path / "other.deid"
    path.write_bytes(content)
    with pytest.raises(BadInput, match="no zip"):
        read_arx(path)
    with pytest.raises(BadInput, match="No such file"):
        read_arx(tmp_path / "nowhere.deid")


def test_too_many_parts_and_damaged_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list without an end is not walked, and a checksum that is wrong is told."""
    path = Made().write(tmp_path)
    monkeypatch.setattr(projects, "MOST_MEMBERS", 3)
    with pytest.raises(BadInput, match="parts, and 3 is the most"):
        read_arx(path)
    monkeypatch.undo()
    data = bytearray(path.read_bytes())
    place = data.index(b"input/config.xml") + len("input/config.xml") + 4
    data[place] ^= 0xFF
    path.write_bytes(bytes(data))
    with pytest.raises(BadInput, match=r"input/config\.xml"):
        read_arx(path)


def test_java_objects_are_never_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only texts are opened."""
    opened: list[str] = []
    pieces = projects.Archive.pieces

    def watch(self: projects.Archive, name: str, most: int) -> object:
        opened.append(name)
        return pieces(self, name, most)

    monkeypatch.setattr(projects.Archive, "pieces", watch)
    read_arx(Made(parts={"input/config.dat": b"x", "lattice.dat": b"x"}).write(tmp_path))
    assert opened
    assert not [name for name in opened if name.endswith(".dat")]


def test_names_of_columns_never_lead_anywhere(tmp_path: Path) -> None:
    """Slashes, dots and names that differ in their case alone become names of files that every system takes."""
    names = hierarchy_files(["a/b", "../../x", "A_b", "a_b", "x" * 300, "con", "ü"])
    assert len({name.lower() for name in names.values()}) == len(names)
    assert all(re.fullmatch(r"hierarchy-[\w-]{0,70}\.csv", name) for name in names.values())


def test_a_remark_cannot_leave_its_comment(tmp_path: Path) -> None:
    """A line break in a text of ARX does not become a line of the job."""
    made = Made(criteria=["2-anonymity", 'x\n[search]\nmethod = "flip"', "y\u2028\x85z"])
    read_arx(made.write(tmp_path))
    assert raw_job(tmp_path / "small.toml")["search"]["method"] == "exact"


# -- to ARX ------------------------------------------------------------------------------------------------------------


def test_hierarchies_come_back_from_arxs_layout(tmp_path: Path) -> None:
    """What is exported is read back as it was."""
    project = read_arx(Made().write(tmp_path))
    export_arx(project.job, tmp_path / "arx")
    files = hierarchy_files([SEX, PLACE])
    for name, rows in HIERARCHIES.items():
        assert to_rows(read_lines(name, tmp_path / "arx" / files[name])) == rows


def test_missing_values_have_lines_by_their_marks() -> None:
    """ARX knows no missing values, so each text that stands for one has a line."""
    rows = to_rows(arx_layout(with_missing(flat("a", ["x", "y"])), ["?", ""]))
    assert sorted(rows) == [("", "*"), ("?", "*"), ("x", "*"), ("y", "*")]
    assert MISSING not in [row[0] for row in rows]


def test_the_program_has_the_settings_of_the_job(tmp_path: Path) -> None:
    """Roles, limits, suppression and loss stand there; what ARX has no word for is a comment."""
    criteria = ["2-anonymity", f"distinct-2-diversity for attribute '{ILL}'"]
    project = read_arx(Made(criteria=criteria, outliers="0.25", weights={SEX: "1.0"}).write(tmp_path))
    limits = {**project.job.limits, "alpha": 0.9}
    notes = export_arx(replace(project.job, limits=limits, space="cuts"), tmp_path / "arx")
    program = (tmp_path / "arx" / "CompareWithArx.java").read_text(encoding="utf-8")
    for line in (
        'Data.create("../small/table.csv", Charset.forName("utf-8"), \';\');',
        'setAttributeType("illness", AttributeType.SENSITIVE_ATTRIBUTE);',
        'setAttributeType("id", AttributeType.IDENTIFYING_ATTRIBUTE);',
        "config.addPrivacyModel(new KAnonymity(2));",
        'config.addPrivacyModel(new DistinctLDiversity("illness", 2));',
        "config.setSuppressionLimit(0.25);",
        "config.setQualityModel(Metric.createLossMetric(AggregateFunction.ARITHMETIC_MEAN));",
        'config.setAttributeWeight("sex", 1.0);',
        "// Not in ARX: the limit alpha = 0.9.",
    ):
        assert line in program, line
    assert all(f"// Not in ARX: {note}." in program for note in notes)
    assert any("cuts" in note for note in notes)
    assert program.isascii()


def test_a_sensitive_column_without_a_limit_is_insensitive_in_arx(tmp_path: Path) -> None:
    """ARX stops where a sensitive attribute has no model of its own, so the program does not call it so, and says so."""
    notes = export_arx(read_arx(Made().write(tmp_path)).job, tmp_path / "arx")
    program = (tmp_path / "arx" / "CompareWithArx.java").read_text(encoding="utf-8")
    assert 'setAttributeType("illness", AttributeType.INSENSITIVE_ATTRIBUTE);' in program
    assert "AttributeType.SENSITIVE" not in program
    assert any("illness" in note for note in notes)


@pytest.mark.parametrize(("text", "settings", "limits"), [each for each in MAPPED if "presence" not in each[0]])
def test_models_go_to_arx_and_come_back(text: str, settings: ModelContext, limits: dict[str, float]) -> None:
    """A limit that came from ARX is a model of ARX again, with the same number."""
    lines, others = java_models(limits, settings.sensitive)
    assert bool(lines) != bool(others)
    if lines:
        assert f"{next(iter(limits.values()))!r}" in lines[0]


def test_numbers_that_were_converted_are_converted_back() -> None:
    """Delta goes back to base two, and what ARX compares strictly is a hair above."""
    for text, java in (
        (f"1.5-disclosure privacy for attribute '{ILL}'", r"new DDisclosurePrivacy\(\"illness\", ([\d.]+)\)"),
        (f"recursive-(1.5,3)-diversity for attribute '{ILL}'", r"new RecursiveCLDiversity\(\"illness\", ([\d.]+), 3\)"),
    ):
        lines, _ = java_models(read_model(text, ONE).limits, [ILL])
        match = re.fullmatch(java, lines[0])
        assert match is not None
        assert float(match[1]) == pytest.approx(1.5, rel=1e-8)
    assert java_models({"k": 3, "risk-max": 0.2}, [])[0] == ["new KAnonymity(5)"]
    assert java_models({"risk-max": 0.0, "t(reference=release)": 0.2}, [ILL])[0] == []


def test_names_cannot_end_a_comment_or_a_string(tmp_path: Path) -> None:
    """Java reads escapes of letters even in comments, so no backslash stands there."""
    name = 'x\\u000a System.exit(1); // "'
    (tmp_path / "t.csv").write_text(f'"{name.replace(chr(34), chr(34) * 2)}",p,q\n1,1,x\n1,2,y\n', encoding="utf-8")
    text = f"""
        [data]
        source = "t.csv"
        separator = ","
        person = "p"
        [columns.{json.dumps(name)}]
        role = "quasi-identifier"
        [columns.q]
        role = "plain"
        tie = {json.dumps(name)}
        [limits]
        k = 2
    """
    notes = export_arx(parse_job(text, tmp_path), tmp_path / "a")
    assert any("System.exit" in note for note in notes)
    program = (tmp_path / "a" / "CompareWithArx.java").read_text(encoding="utf-8")
    comments = [line for line in program.splitlines() if line.lstrip().startswith("//")]
    assert comments
    assert not any("\\" in line for line in comments)
    assert "System.exit" in program
    assert json.dumps(name) in program
    assert not re.search(r"(?<!\\)(\\\\)*\\u000a", program)


def test_tables_that_arx_cannot_open_are_named(tmp_path: Path) -> None:
    """The embedded table has no file; other forms are told in a comment."""
    notes = export_arx(load_job("adult", ["release.choose=knee"]), tmp_path / "adult")
    assert any("write it as table.csv" in note for note in notes)
    assert any("'knee'" in note for note in notes)
    assert any("asks for one" in note for note in notes)


# -- the command line --------------------------------------------------------------------------------------------------


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command: its status, and what it said."""

    def command(*arguments: object) -> tuple[int, str, str]:
        status = main([str(each) for each in arguments])
        return status, *capsys.readouterr()

    return command


def test_inspect_front_release_export(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a project to a release and back to ARX, by commands alone."""
    monkeypatch.chdir(tmp_path)
    Made(criteria=["2-anonymity", "(3)-minimum-key-size"]).write(tmp_path)
    status, out, err = run("inspect", "small.deid")
    assert status == 0
    assert "minimum-key-size" in out
    assert "-o job.toml" in err
    assert [each.name for each in tmp_path.iterdir()] == ["small.deid"]
    status, out, err = run("inspect", "small.deid", "-o", "job.toml")
    assert status == 0
    assert "ask for the point k=2" in out
    assert "Wrote job.toml" in err
    status, out, _ = run("front", "job.toml", "-q")
    assert status == 0
    assert "the least loss that meets the limits (k ≥ 2)" in out
    assert "The job chooses" not in out
    status, out, _ = run("release", "job.toml", "-q")
    assert status == 0
    assert "verified: k = " in out
    status, out, err = run("export", "job.toml", "--to", "arx", "-o", "arx")
    assert status == 0
    assert (tmp_path / "arx" / "CompareWithArx.java").exists()
    assert "CompareWithArx" in err


def test_inspect_as_json_and_bad_files(run: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    """The answer for machines has the remarks; a bad project has status 2 and one sentence."""
    path = Made().write(tmp_path)
    status, out, _ = run("inspect", path, "--json", "-")
    assert status == 0
    assert json.loads(out)["limits"] == {"k": 2}
    assert json.loads(out)["remarks"]
    path.write_bytes(b"PK")
    status, out, err = run("inspect", path, "-o", tmp_path / "job.toml")
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert run("inspect", path, "--form", "header=true")[0] == 2
    assert run("inspect", path, "--json", path)[0] == 2
    assert path.read_bytes() == b"PK"
    status, _, err = run("export", "adult", "--to", "arx", "-o", path)
    assert status == 2
    assert "is there already" in err
