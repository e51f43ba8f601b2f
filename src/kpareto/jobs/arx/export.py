"""A job for people who trust ARX: its hierarchies in ARX's layout, and a Java program for its library.

What ARX has no word for is a comment in the program. No row of the table is written.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from kpareto.atomic import whole_folder
from kpareto.engines.form import file_kind
from kpareto.fronts.choose import read_wish
from kpareto.fronts.problem import stricter
from kpareto.jobs.arx.project import HAIR, hierarchy_files
from kpareto.jobs.job import Job
from kpareto.measures.measure import is_privacy, make, read_spec, short_name
from kpareto.tables.hierarchies import to_rows, to_text
from kpareto.tables.hierarchy import MISSING, STAR, Hierarchy, Layout, from_levels
from kpareto.tables.partition import UNLIMITED
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table

PROGRAM = "CompareWithArx"
_QUALITY = {
    "arx-loss": "Metric.createLossMetric(AggregateFunction.GEOMETRIC_MEAN)",
    "aecs": "Metric.createAECSMetric()",
    "precision": "Metric.createPrecisionMetric()",
    "nonuniform-entropy": "Metric.createEntropyMetric()",
    "dcn": "Metric.createDiscernabilityMetric()",
    "average-class-size": "Metric.createAECSMetric()",
    "precision-loss": "Metric.createPrecisionMetric()",
    "entropy": "Metric.createEntropyMetric()",
}
TREE = "HIERARCHY"  # where the hierarchy of a sensitive column stands in a line of Java
_LOSS = "Metric.createLossMetric(AggregateFunction.ARITHMETIC_MEAN)"
_START = """\
// Made by kpareto export: the settings of a job, for ARX's library (3.9 or later), to compare the results.
// Beside libarx.jar:   javac -cp libarx.jar {program}.java
//                      java -cp libarx.jar:. {program}         (on Windows: libarx.jar;.)
{notes}
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import org.deidentifier.arx.*;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.criteria.*;
import org.deidentifier.arx.metric.Metric;
import org.deidentifier.arx.metric.Metric.AggregateFunction;

public class {program} {{
    public static void main(String[] arguments) throws Exception {{
"""
_END = """\

        ARXResult result = new ARXAnonymizer().anonymize(data, config);
        if (result.getGlobalOptimum() == null) {
            System.out.println("ARX finds no recoding that meets the settings.");
            return;
        }
        for (String name : result.getGlobalOptimum().getQuasiIdentifyingAttributes()) {
            System.out.println(name + ": level " + result.getGlobalOptimum().getGeneralization(name));
        }
        System.out.println("loss: " + result.getGlobalOptimum().getLowestScore());
        result.getOutput(false).save("arx-output.csv", ';');
    }
}
"""


def export_arx(job: Job, target: str | Path) -> list[str]:
    """Write the hierarchies of a job and a program for ARX into a new folder; what ARX has no word for comes back."""
    table = job.table()
    hierarchies = (*table.hierarchies, *table.trees.values())
    files = hierarchy_files([hierarchy.name for hierarchy in hierarchies])
    notes: list[str] = []
    settings = _settings(job, table, files, Path(target), notes)
    comments = "\n".join(f"// Not in ARX: {_comment(note)}." for note in notes)
    with whole_folder(target) as folder:
        for hierarchy in hierarchies:
            text = to_text(arx_layout(hierarchy, list(dict.fromkeys((*job.missing_values, "")))))
            (folder / files[hierarchy.name]).write_bytes(text.encode())
        body = "".join(f"        {line}".rstrip() + "\n" for line in settings)
        program = _START.format(program=PROGRAM, notes=comments) + body + _END
        (folder / f"{PROGRAM}.java").write_text(program, encoding="utf-8", newline="\n")
    return notes


def arx_layout(hierarchy: Hierarchy, marks: Sequence[str] = ("",)) -> Hierarchy:
    """The hierarchy as ARX lays it out, with a line for each text that stands for no value where it has a place."""
    rows = to_rows(hierarchy)
    if hierarchy.height == 0:
        rows = [(*row, STAR) for row in rows]
    lines = [row for row in rows if row[0] != MISSING]
    lines += [(mark, *row[1:]) for row in rows if row[0] == MISSING for mark in marks]
    return replace(from_levels(hierarchy.name, lines), layout=Layout())


def _settings(job: Job, table: Table, files: dict[str, str], target: Path, notes: list[str]) -> list[str]:
    """The lines of Java between reading the table and running ARX; what has no line is a note."""
    schema, wish = table.schema, read_wish(job.choose or "recommended")
    limits = stricter(wish.models(), job.limits)
    models, others = java_models(limits, schema.sensitive, {name: _open_hierarchy(files[name]) for name in table.trees})
    free = [name for name in schema.sensitive if not any(f"({json.dumps(name)}, " in model for model in models)]
    loss = short_name(next((name for name in job.objectives if not is_privacy(make(name))), "lm"))
    share = job.limit / table.rows if isinstance(job.limit, int) else job.limit
    share = {"none": 0.0, "below-k": 1.0}.get(job.rule, 1.0 if share >= UNLIMITED else share)
    lines = [_data_line(job, target, notes), "DataDefinition columns = data.getDefinition();"]
    lines += _column_lines(schema, files, free)
    lines += ["", "ARXConfiguration config = ARXConfiguration.create();"]
    lines += [f"config.addPrivacyModel({model});" for model in models]
    lines += [f"config.setSuppressionLimit({share!r});", f"config.setQualityModel({_QUALITY.get(loss, _LOSS)});"]
    if loss == "nwp" and schema.weights:
        most = max(map(schema.weight, schema.quasi))
        weights = ((json.dumps(name), schema.weight(name) / most) for name in schema.quasi)
        lines += [f"config.setAttributeWeight({name}, {weight!r});" for name, weight in weights]
    doubts = (
        *((True, f"the limit {other}") for other in others),
        (not models, "no limit of the job is a privacy model of ARX, which asks for one"),
        (wish.kind != "limits", f"the choice {job.choose!r}: ARX takes the least loss that meets the limits"),
        (loss not in ("lm", "glm", "nwp", *_QUALITY), f"the objective {loss}: ARX's loss is taken instead"),
        (job.rule == "cap-max-k", "the rule cap-max-k: ARX suppresses what misses a limit, and no more"),
        (schema.person is not None, f"the person column {schema.person!r}: ARX counts rows"),
        (job.everybody is not None, "the population: ARX takes a research subset of its table instead"),
        (job.space != "lattice", f"the space {job.space}: ARX takes one level for a whole column"),
        (job.missing != "category", "rows without a value, where kpareto leaves them out: take them out first"),
        (bool(free), f"sensitive columns without a limit of their own, which are insensitive there: {', '.join(free)}"),
        *((each.tie is not None, f"the column {name!r} tied to {each.tie!r}") for name, each in job.columns.items()),
    )
    notes += [note for applies, note in doubts if applies]
    return lines


def _data_line(job: Job, target: Path, notes: list[str]) -> str:
    """How Java opens the table of the job, from the folder of the program."""
    form, source = job.form, "table.csv"
    plain = not (job.embedded or job.in_database or job.frame is not None) and file_kind(job.source) == "text"
    if plain and form.has_header and not form.skip and form.plain_numbers and not form.dates:
        source = Path(os.path.relpath(job.path(job.source).absolute(), target.absolute())).as_posix()
    else:
        notes.append(f"the form of the table: write it as {source}, with a line of names and with commas")
        form = replace(form, encoding="utf-8", separator=",")
    if form.separator is None:
        notes.append("the separator of the table, which the job does not name; a comma is taken")
    separator = json.dumps(form.separator or ",").replace("'", "\\'")[1:-1]
    return (
        f"Data data = Data.create({json.dumps(source)}, Charset.forName({json.dumps(form.encoding)}), '{separator}');"
    )


def _column_lines(schema: Schema, files: dict[str, str], free: Sequence[str]) -> list[str]:
    """The role of each column, quasi-identifiers with their hierarchies; ARX takes no sensitive one without a model."""
    person = tuple(name for name in schema.persons if name not in schema.identifier)
    kinds = {
        "SENSITIVE": [name for name in schema.sensitive if name not in free],
        "INSENSITIVE": (*schema.plain, *schema.target, *free),
        "IDENTIFYING": (*schema.identifier, *person),
    }
    types = {name: _open_hierarchy(files[name]) for name in schema.quasi}
    types |= {name: f"AttributeType.{kind}_ATTRIBUTE" for kind, names in kinds.items() for name in names}
    lines = [f"columns.setAttributeType({json.dumps(name)}, {java});" for name, java in types.items()]
    for name, pair in schema.levels.items():
        ends = zip(("Minimum", "Maximum"), pair, strict=True)
        lines += [f"columns.set{end}Generalization({json.dumps(name)}, {level});" for end, level in ends]
    return lines


def _open_hierarchy(file: str) -> str:
    """How Java opens a hierarchy."""
    return f"Hierarchy.create({json.dumps(file)}, StandardCharsets.UTF_8, ';')"


def _comment(text: str) -> str:
    """A text that cannot end its comment; Java reads escapes of letters even there."""
    return re.sub(r"[^\x20-\x7e\xa1-\uffff]|[\u2028\u2029]", " ", text).replace("\\", "/")


def java_models(
    limits: dict[str, float], sensitive: Sequence[str], hierarchies: Mapping[str, str] = MappingProxyType({})
) -> tuple[list[str], list[str]]:
    """The privacy models of ARX that limits of a job are, as Java makes them; and the limits that are none.

    hierarchies: sensitive column -> the Java that opens the hierarchy of its values.
    """
    lines, others = [], []
    for spec, limit in limits.items():
        name, parameters = read_spec(spec)
        columns = [str(parameters.pop("column"))] if "column" in parameters else list(sensitive)
        models = _java_of(name, parameters, limit)
        if models is None:
            others.append(f"{spec} = {limit:g}")
        elif "%s" in models:
            lines += [(models % json.dumps(column)).replace(TREE, hierarchies.get(column, TREE)) for column in columns]
        else:
            lines.append(models)
    sizes = [int(line[len("new KAnonymity(") : -1]) for line in lines if line.startswith("new KAnonymity(")]
    if len(sizes) > 1:  # ARX takes one
        lines = [f"new KAnonymity({max(sizes)})", *(line for line in lines if not line.startswith("new KAnonymity("))]
    return lines, others


def _java_of(name: str, parameters: dict[str, object], limit: float) -> str | None:
    """The Java of one limit, ``%s`` where its column stands; None where ARX has no such model."""
    above = limit * (1 + HAIR)  # where ARX asks for less than a number
    least = parameters.pop("l", 2) if name == "recursive-l" else 0
    distance = parameters.pop("distance", "equal") if name == "t" else ""
    threshold = parameters.pop("threshold", 0.2) if name == "risk-share" else 0
    java = {
        "k": f"new KAnonymity({limit:.0f})",
        "risk-max": f"new KAnonymity({math.ceil(1 / limit - HAIR) if limit else 0})",
        "l": f"new DistinctLDiversity(%s, {limit:.0f})",
        "entropy-l": f"new EntropyLDiversity(%s, {limit!r})",
        "recursive-l": f"new RecursiveCLDiversity(%s, {above!r}, {least:.0f})",
        "t": {
            "equal": f"new EqualDistanceTCloseness(%s, {limit!r})",
            "ordered": f"new OrderedDistanceTCloseness(%s, {limit!r})",
            "hierarchical": f"new HierarchicalDistanceTCloseness(%s, {limit!r}, {TREE})",
        }.get(str(distance)),
        "beta": f"new BasicBLikeness(%s, {limit!r})",
        "enhanced-beta": f"new EnhancedBLikeness(%s, {limit!r})",
        "delta": f"new DDisclosurePrivacy(%s, {above / math.log(2)!r})",
        "risk-mean": f"new AverageReidentificationRisk({limit!r})",
        "risk-share": f"new SampleUniqueness({limit!r})" if threshold == 0.5 else None,
    }
    positive = limit > 0 or name not in ("k", "risk-max", "beta", "enhanced-beta", "delta")
    return java.get(name) if positive and not parameters else None
