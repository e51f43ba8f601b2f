"""A job for people who trust ARX: its hierarchies in ARX's layout, and a Java program for its library.

What ARX has no word for is a comment in the program. No row of the table is written.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kpareto.atomic import whole_folder
from kpareto.engines.form import file_kind
from kpareto.fronts.choose import read_wish
from kpareto.jobs.arx.models import java_models
from kpareto.jobs.arx.project import hierarchy_files
from kpareto.jobs.job import Job
from kpareto.measures.measure import is_privacy, make, short_name
from kpareto.tables.hierarchies import to_rows, to_text
from kpareto.tables.hierarchy import MISSING, Hierarchy, Layout, from_levels
from kpareto.tables.partition import UNLIMITED
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table

PROGRAM = "CompareWithArx"
_QUALITY = {
    "dcn": "Metric.createDiscernabilityMetric()",
    "average-class-size": "Metric.createAECSMetric()",
    "precision-loss": "Metric.createPrecisionMetric()",
    "entropy": "Metric.createEntropyMetric()",
}
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
    files = hierarchy_files(table.schema.quasi)
    notes: list[str] = []
    settings = _settings(job, table, files, Path(target), notes)
    said = "\n".join(f"// Not in ARX: {_comment(note)}." for note in notes)
    with whole_folder(target) as folder:
        for hierarchy in table.hierarchies:
            marks = [mark for mark in dict.fromkeys((*map(str, job.missing_values), "")) if mark != MISSING]
            text = to_text(arx_layout(hierarchy, marks))
            (folder / files[hierarchy.name]).write_bytes(text.encode())
        program = (
            _START.format(program=PROGRAM, notes=said)
            + "".join(f"        {line}".rstrip() + "\n" for line in settings)
            + _END
        )
        (folder / f"{PROGRAM}.java").write_text(program, encoding="utf-8", newline="\n")
    return notes


def arx_layout(hierarchy: Hierarchy, marks: Sequence[str] = ("",)) -> Hierarchy:
    """The hierarchy as ARX lays it out, with a line for each text that stands for no value where it has a place."""
    rows = to_rows(hierarchy)
    if hierarchy.height == 0:
        rows = [(*row, "*") for row in rows]
    lines = [row for row in rows if row[0] != MISSING]
    lines += [(mark, *row[1:]) for row in rows if row[0] == MISSING for mark in marks]
    return replace(from_levels(hierarchy.name, lines), layout=Layout())


def _settings(job: Job, table: Table, files: dict[str, str], target: Path, notes: list[str]) -> list[str]:
    """The lines of Java between reading the table and running ARX."""
    lines = [*_data_lines(job, target, notes), "DataDefinition columns = data.getDefinition();"]
    lines += _column_lines(table.schema, files)
    lines += ["", "ARXConfiguration config = ARXConfiguration.create();"]
    limits = dict(job.limits)
    wish = read_wish(job.choose or "recommended")
    for name, value in wish.models().items():
        better = max if make(name).better == "higher" else min
        limits[name] = better(limits.get(name, value), value)
    if wish.kind != "limits":
        notes.append(f"the choice {job.choose or 'recommended'!r}: ARX takes the least loss that meets the limits")
    models, others = java_models(limits, table.schema.sensitive)
    notes += [f"the limit {other}" for other in others]
    notes += [] if models else ["no limit of the job is a privacy model of ARX, which asks for one"]
    lines += [f"config.addPrivacyModel({model});" for model in models]
    lines.append(f"config.setSuppressionLimit({_share(job, table.rows, notes)!r});")
    loss = next((name for name in job.objectives if not is_privacy(make(name))), "lm")
    if short_name(loss) not in ("lm", "glm", "nwp", *_QUALITY):
        notes.append(f"the objective {loss}: the loss is taken instead")
    lines.append(f"config.setQualityModel({_QUALITY.get(short_name(loss), _LOSS)});")
    weights = table.schema.weights if short_name(loss) == "nwp" else {}
    lines += [f"config.setAttributeWeight({json.dumps(name)}, {weight!r});" for name, weight in weights.items()]
    _note_others(job, table, notes)
    return lines


def _data_lines(job: Job, target: Path, notes: list[str]) -> list[str]:
    """How Java opens the table of the job, from the folder of the program."""
    form, source = job.form, "table.csv"
    plain = not (job.embedded or job.in_database or job.frame is not None) and file_kind(job.source) == "text"
    if plain and form.has_header and not form.skip and form.plain_numbers and not form.dates:
        source = Path(os.path.relpath(job.path(job.source).absolute(), target.absolute())).as_posix()
    else:
        notes.append(
            f"the form of the table: write it as {source}, with a line of names and values as kpareto reads them"
        )
        form = replace(form, encoding="utf-8", separator=",")
    if form.separator is None:
        notes.append("the job does not name the separator of its table; a comma is taken, change it where it is not")
    separator = json.dumps(form.separator or ",").replace("'", "\\'")[1:-1]
    charset = f"Charset.forName({json.dumps(form.encoding)})"
    return [f"Data data = Data.create({json.dumps(source)}, {charset}, '{separator}');"]


def _column_lines(schema: Schema, files: dict[str, str]) -> list[str]:
    kinds = {"sensitive": schema.sensitive, "insensitive": (*schema.plain, *schema.target)}
    person = () if schema.person is None else (schema.person,)
    kinds["identifying"] = tuple(dict.fromkeys((*schema.identifier, *person)))
    lines = []
    for name in schema.quasi:
        file, column = json.dumps(files[name]), json.dumps(name)
        lines.append(f"columns.setAttributeType({column}, Hierarchy.create({file}, StandardCharsets.UTF_8, ';'));")
    for kind, names in kinds.items():
        for name in names:
            constant = f"AttributeType.{kind.upper()}_ATTRIBUTE"
            lines.append(f"columns.setAttributeType({json.dumps(name)}, {constant});")
    return lines


def _share(job: Job, rows: int, notes: list[str]) -> float:
    """The suppression limit as ARX has it: a share of the rows."""
    if job.rule == "below-k":
        return 1.0
    if job.rule == "cap-max-k":
        notes.append("the rule cap-max-k: ARX suppresses what misses a limit, and no more")
    share = job.limit / rows if isinstance(job.limit, int) else job.limit
    return 0.0 if job.rule == "none" else 1.0 if share >= UNLIMITED else share


def _note_others(job: Job, table: Table, notes: list[str]) -> None:
    """What else of the job ARX has no word for."""
    if table.schema.person is not None:
        notes.append(f"the person column {table.schema.person!r}: ARX counts rows")
    if job.everybody is not None:
        notes.append("the population: ARX takes a research subset of its table instead")
    if job.space != "lattice":
        notes.append(f"the space {job.space}: ARX takes one level for a whole column")
    if (job.missing or "drop") == "drop":
        notes.append("rows without a value are left out by kpareto where it says so: take them out of the table first")
    for name, column in job.columns.items():
        if column.tie is not None:
            notes.append(f"the column {name!r} shows the groups of {column.tie!r}: ARX shows its own values")


def _comment(text: str) -> str:
    """A text that cannot end its comment; Java reads escapes of letters even there."""
    return re.sub(r"[^\x20-\x7e\xa1-\uffff]|[\u2028\u2029]", " ", text).replace("\\", "/")
