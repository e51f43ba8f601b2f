"""The program that kpareto export writes for ARX is Java that compiles, against the signatures of ARX's library."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kpareto.jobs.arx.export import PROGRAM, export_arx
from kpareto.jobs.parse import parse_job

INSTALL = "There is no javac to compile the program with. Install one: apt-get install -y openjdk-17-jdk-headless"
# Signatures alone, of what the program uses: class -> what stands in its braces. The package is that of the name.
LIBRARY = {
    "Data": """
        public static Data create(String path, java.nio.charset.Charset charset, char separator)
            throws java.io.IOException { return null; }
        public DataDefinition getDefinition() { return null; }""",
    "DataDefinition": """
        public void setAttributeType(String attribute, AttributeType type) {}
        public void setMinimumGeneralization(String attribute, int level) {}
        public void setMaximumGeneralization(String attribute, int level) {}""",
    "DataHandle": "public void save(String path, char separator) throws java.io.IOException {}",
    "AttributeType": """
        public static final AttributeType SENSITIVE_ATTRIBUTE = null, INSENSITIVE_ATTRIBUTE = null;
        public static final AttributeType IDENTIFYING_ATTRIBUTE = null;
        public static abstract class Hierarchy extends AttributeType {
            public static Hierarchy create(String path, java.nio.charset.Charset charset, char separator)
                throws java.io.IOException { return null; }
        }""",
    "ARXConfiguration": """
        public static ARXConfiguration create() { return null; }
        public ARXConfiguration addPrivacyModel(org.deidentifier.arx.criteria.PrivacyCriterion model) { return this; }
        public void setSuppressionLimit(double limit) {}
        public void setQualityModel(org.deidentifier.arx.metric.Metric<?> model) {}
        public void setAttributeWeight(String attribute, double weight) {}""",
    "ARXAnonymizer": """
        public ARXResult anonymize(Data data, ARXConfiguration config) throws java.io.IOException { return null; }""",
    "ARXResult": """
        public ARXLattice.ARXNode getGlobalOptimum() { return null; }
        public DataHandle getOutput(boolean fork) { return null; }""",
    "ARXLattice": """
        public class ARXNode {
            public String[] getQuasiIdentifyingAttributes() { return null; }
            public int getGeneralization(String attribute) { return 0; }
            public org.deidentifier.arx.metric.InformationLoss<?> getLowestScore() { return null; }
        }""",
    "metric.InformationLoss<T>": "",
    "metric.Metric<T extends InformationLoss<?>>": """
        public enum AggregateFunction { ARITHMETIC_MEAN, GEOMETRIC_MEAN }
        public static Metric<InformationLoss<?>> createLossMetric(AggregateFunction function) { return null; }
        public static Metric<InformationLoss<?>> createAECSMetric() { return null; }
        public static Metric<InformationLoss<?>> createPrecisionMetric() { return null; }
        public static Metric<InformationLoss<?>> createEntropyMetric() { return null; }
        public static Metric<InformationLoss<?>> createDiscernabilityMetric() { return null; }""",
    "criteria.PrivacyCriterion": "",
}
MODELS = {  # what makes each privacy model
    "KAnonymity": "int k",
    "DistinctLDiversity": "String attribute, int l",
    "EntropyLDiversity": "String attribute, double l",
    "RecursiveCLDiversity": "String attribute, double c, int l",
    "EqualDistanceTCloseness": "String attribute, double t",
    "OrderedDistanceTCloseness": "String attribute, double t",
    "HierarchicalDistanceTCloseness": "String attribute, double t, org.deidentifier.arx.AttributeType.Hierarchy tree",
    "BasicBLikeness": "String attribute, double beta",
    "EnhancedBLikeness": "String attribute, double beta",
    "DDisclosurePrivacy": "String attribute, double delta",
    "AverageReidentificationRisk": "double risk",
    "SampleUniqueness": "double share",
}
COLUMNS = """
[data]
source = "people.csv"
missing = "category"
{data}
[columns.age]
role = "quasi-identifier"
hierarchy = {{intervals = [10], from = 20, to = 60}}
levels = [0, 1]
weight = 3.0
[columns."the \\"town\\""]
role = "quasi-identifier"
hierarchy = "town.csv"
[columns.ill]
role = "sensitive"
hierarchy = "ill.csv"
[columns.pay]
role = "sensitive"
[columns.id]
role = "identifier"
[search]
objectives = ["k", "{loss}"]
[suppression]
limit = 0.02
"""
# Name -> what is further said of the data, the loss, the limits.
JOBS: dict[str, tuple[str, str, dict[str, float]]] = {
    "diversity": ("", "nwp", {"k": 2, "l(column=ill)": 2, "entropy-l(column=pay)": 1.5, "recursive-l(column=ill)": 2}),
    "closeness": (
        'separator = "\\t"',
        "arx-loss",
        {
            "k": 3,
            "t(column=ill)": 0.4,
            "t(column=pay, distance=ordered)": 0.4,
            "t(column=ill, distance=hierarchical)": 0.2,
        },
    ),
    "likeness": ("", "aecs", {"risk-max": 0.2, "beta(column=ill)": 2, "enhanced-beta(column=pay)": 2, "delta": 1.0}),
    "risk": ("", "precision", {"risk-mean": 0.3, "risk-share(threshold=0.5)": 0.1, "alpha": 0.9, "k": 2}),
    "entropy": ("", "nonuniform-entropy", {"k": 2}),
    "discernability": ("[population]\nsampling = 0.5", "dcn", {"k": 2, "l": 2}),
}


def compile_java(*sources: Path, classes: Path) -> None:
    """Compile, with every warning; what javac says is the failure."""
    command = ["javac", "-Xlint:all", "-Werror", "-proc:none", "-cp", str(classes), "-d", str(classes)]
    done = subprocess.run([*command, *map(str, sources)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the compiled signatures; without a javac the tests are skipped, and fail where all must be run."""
    if shutil.which("javac") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(INSTALL)
    folder = tmp_path_factory.mktemp("arx")
    models = {f"criteria.{name}": f"public {name}({given}) {{}}" for name, given in MODELS.items()}
    sources, classes = [], folder / "classes"
    classes.mkdir()
    for name, inside in (LIBRARY | models).items():
        package, _, kind = f"org.deidentifier.arx.{name}".partition("<")[0].rpartition(".")
        declared = name.rpartition(".")[2] if "<" not in name else name.removeprefix("metric.")
        above = " extends PrivacyCriterion" if kind in MODELS else ""
        sources.append(folder / f"{kind}.java")
        sources[-1].write_text(f"package {package};\npublic class {declared}{above} {{ {inside} }}\n", encoding="utf-8")
    compile_java(*sources, classes=classes)
    return classes


@pytest.mark.parametrize("name", JOBS)
def test_the_program_compiles(name: str, library: Path, tmp_path: Path) -> None:
    """Every privacy model, levels, weights, a quality model each, names with quotes: no error and no warning."""
    said, loss, limits = JOBS[name]
    separator = "\t" if "separator" in said else ","
    rows = [["age", '"the ""town"""', "ill", "pay", "id"]]
    rows += [[str(20 + row % 40), "AB"[row % 2], "xyz"[row % 3], str(row % 5), str(row)] for row in range(80)]
    (tmp_path / "people.csv").write_text("".join(separator.join(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "town.csv").write_text("A;*\nB;*\n", encoding="utf-8")
    (tmp_path / "ill.csv").write_text("x;xy;*\ny;xy;*\nz;z;*\n", encoding="utf-8")
    data, _, population = said.partition("[population]")
    text = COLUMNS.format(data=data, loss=loss) + (f"[population]{population}\n" if population else "")
    text += "[limits]\n" + "".join(f'"{limit}" = {value}\n' for limit, value in limits.items())
    export_arx(parse_job(text, tmp_path), tmp_path / "program")
    program = tmp_path / "program" / f"{PROGRAM}.java"
    made = set(re.findall(r"addPrivacyModel\(new (\w+)\(", program.read_text(encoding="utf-8")))
    assert len(made) == sum(spec != "alpha" for spec in limits)
    compile_java(program, classes=library)


def test_every_privacy_model_is_compiled() -> None:
    """The jobs above have one limit at least for each model that the program can ask for."""
    from kpareto.jobs.arx.export import java_models

    lines = [line for _, _, limits in JOBS.values() for line in java_models(dict(limits), ["ill", "pay"])[0]]
    assert {re.match(r"new (\w+)", line)[1] for line in lines} == set(MODELS)  # type: ignore[index]
