"""Privacy and quality models of ARX and what they are here, both ways: by ARX's texts, and as lines of Java.

The texts are what ARX writes into a project. Where two definitions differ the number is converted, or there is no
counterpart; both are said in a sentence.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from kpareto.errors import BadJob
from kpareto.jobs.parse import check_limits
from kpareto.measures.measure import read_spec, spell

HAIR = 1e-9  # of a number: what a limit that also admits equality needs to stand for one that does not
NUMBER = r"(\d[\d.]{0,30}(?:[eE]-?\d{1,3})?)"
FACTOR = r"(\d+(?:\.\d+)?(?:E-?\d+)?)"
WHOLE = r"(\d{1,9})"
OF = r" for attribute '(.*)'"
TREE = "HIERARCHY"  # where the hierarchy of a sensitive column stands in a line of Java
SPELLED = re.compile(r"[A-Za-z_][\w -]*")  # names of columns that a limit can hold


@dataclass(frozen=True)
class ModelContext:
    """What must be known of a project to read its privacy models."""

    sensitive: Sequence[str]
    trees: Sequence[str] = ()  # sensitive columns with a hierarchy
    population: bool = False  # whether the rows of the research subset are known, and those of the table around it


@dataclass(frozen=True)
class ModelLimits:
    """What a privacy model of ARX is here: limits, and what must be said about them."""

    limits: dict[str, float] = field(default_factory=dict)
    remark: str = ""  # where nothing has become of it, or something a little different


def read_model(text: str, context: ModelContext) -> ModelLimits:
    """A privacy model by ARX's text; without limits there is no counterpart, and the remark says why."""
    for pattern, read in _MODELS:
        match = re.fullmatch(pattern, text, re.DOTALL)
        if match is None:
            continue
        try:
            reading = read(context, *match.groups())
            check_limits(reading.limits)
        except (BadJob, ValueError, OverflowError, ZeroDivisionError):
            break
        if reading.limits or not reading.remark:
            return ModelLimits(reading.limits, reading.remark and f"{text!r}: {reading.remark}")
        return ModelLimits({}, f"{text!r} has no counterpart: {reading.remark}")
    return ModelLimits({}, f"{text!r} has no counterpart: kpareto knows no privacy model of that kind")


def _on(
    context: ModelContext, column: str, measure: str, limit: float, remark: str = "", **parameters: object
) -> ModelLimits:
    """A limit on one sensitive column, which needs to be named only where there are several."""
    if column not in context.sensitive:
        return ModelLimits({}, f"{column!r} is no sensitive column of the project")
    several = len(context.sensitive) > 1
    if several and (not SPELLED.fullmatch(column) or column.strip() != column):
        return ModelLimits({}, f"a limit cannot spell the column {column!r}; rename it")
    return ModelLimits({spell(measure, column=column if several else None, **parameters): limit}, remark)


def _same(measure: str, kind: type[float] = float) -> Callable[[ModelContext, str, str], ModelLimits]:
    """A model that has the same definition here, and the same number."""
    return lambda context, number, column: _on(context, column, measure, kind(number))


def _recursive(context: ModelContext, c: str, values: str, column: str) -> ModelLimits:
    remark = f"ARX asks for less than c = {c}, a limit here admits equality, so it is a hair below"
    return _on(context, column, "recursive-l", float(c) * (1 - HAIR), remark, l=int(values))


def _delta(context: ModelContext, delta: str, column: str) -> ModelLimits:
    remark = (
        f"ARX takes logarithms to base 2 and asks for less than {delta}; here they are natural and a limit admits "
        f"equality, so the number is {delta} · ln 2, less a hair"
    )
    return _on(context, column, "delta", float(delta) * math.log(2) * (1 - HAIR), remark)


def _ordered_t(context: ModelContext, t: str, column: str) -> ModelLimits:
    remark = "numbers are in order by size and other values by their text here, in ARX by the data type"
    return _on(context, column, "t", float(t), remark, distance="ordered")


def _hierarchical_t(context: ModelContext, t: str, column: str) -> ModelLimits:
    if column not in context.trees:
        return ModelLimits({}, f"the project has no hierarchy of {column!r}")
    return _on(context, column, "t", float(t), distance="hierarchical")


def _average_risk(_: ModelContext, mean: str, highest: str | None, share: str | None) -> ModelLimits:
    limits = {"risk-mean": float(mean)}
    if highest is not None and share is not None:
        # ARX counts classes of that risk among those at risk, so the border lies below it.
        border = 2 / (2 * math.floor(1 / float(highest) + HAIR) + 1)
        limits[spell("risk-share", threshold=f"{border:.12g}")] = float(share)
    return ModelLimits(limits, WHICH)


def _k_map(context: ModelContext, k: str, estimated: str | None) -> ModelLimits:
    if estimated is not None and estimated != "unknown":
        remark = f"ARX estimates the population and asks for classes of {estimated} rows, which is k = {estimated} here"
        return ModelLimits({"k": int(estimated)}, remark)
    return ModelLimits({"k-map": int(k)}) if context.population and estimated is None else ModelLimits({}, WHO)


def _presence(context: ModelContext, least: str, most: str) -> ModelLimits:
    if not context.population:
        return ModelLimits({}, WHO)
    remark = (
        f"the lower bound {least} is left out, because presence-min here also counts classes of the population "
        "without a released row, which ARX passes over"
    )
    return ModelLimits({"presence-max": float(most)}, remark if float(least) > 0 else "")


def _none(why: str) -> Callable[..., ModelLimits]:
    return lambda *_: ModelLimits({}, why)


WHO = "the project does not say who the population is; give it under [population]"
WHICH = "here it says which recodings count; ARX also suppresses further rows to reach it"
_MODELS: tuple[tuple[str, Callable[..., ModelLimits]], ...] = (
    (rf"{WHOLE}-anonymity", lambda _, k: ModelLimits({"k": int(k)})),
    (rf"distinct-{WHOLE}-diversity{OF}", _same("l", int)),
    (rf"(?:shannon-)?entropy-{NUMBER}-diversity{OF}", _same("entropy-l")),
    (rf"\w+-entropy-.*-diversity{OF}", _none("entropy is counted by Shannon's formula here, not estimated")),
    (rf"recursive-\({NUMBER},{WHOLE}\)-diversity{OF}", _recursive),
    (rf"{NUMBER}-closeness with equal ground-distance{OF}", _same("t")),
    (rf"{NUMBER}-closeness with ordered distance{OF}", _ordered_t),
    (rf"{NUMBER}-closeness with hierarchical (?:ground-)?distance{OF}", _hierarchical_t),
    (rf"{NUMBER}-basic likeness{OF}", _same("beta")),
    (rf"enhanced-{NUMBER}-likeness{OF}", _same("enhanced-beta")),
    (rf"{NUMBER}-disclosure privacy{OF}", _delta),
    (rf"\({NUMBER}(?:, {NUMBER}, {NUMBER})?\)-avg-reidentification-risk", _average_risk),
    (  # a row is unique where its risk is above one half
        rf"\({NUMBER}\)-sample-uniqueness",
        lambda _, share: ModelLimits({"risk-share(threshold=0.5)": float(share)}, WHICH),
    ),
    (rf"\({WHOLE}\)-map(?: estimated as \((\d{{1,9}}|unknown)\)-anonymity \(.*\))?", _k_map),
    (rf"\({NUMBER}, ?{NUMBER}\)-presence", _presence),
    (r"\(.*\)-population-uniqueness \(.*\)", _none("the size of the population is not in a readable part")),
    (r"\(.*\)-DP", _none("kpareto private releases with differential privacy: give it epsilon and delta")),
    (r"\(.*\)-minimum-key-size", _none("keys that single out a row are counted by kpareto measure, no limit")),
    (r"profitability \(.*", _none("the costs and gains of an attacker are not weighed here")),
)

# A part of ARX's text -> our measure, and how the two differ.
_QUALITY = (
    ("loss", "arx-loss", "the geometric mean of the columns; whether ARX takes another is in no readable part"),
    ("discernab", "dcn", ""),
    ("equivalence class size", "aecs", ""),
    ("precision", "precision", ""),
    ("non-uniform entropy", "nonuniform-entropy", ""),
)
PASSING = ("precision", "nonuniform-entropy")  # whose monotonic variants pass over suppressed rows


def read_quality(text: str) -> tuple[str, str]:
    """Our loss for a quality model of ARX, and what differs."""
    for part, name, remark in _QUALITY:
        if part in text.lower():
            factors = re.search(rf"\({FACTOR}/{FACTOR}/{FACTOR}\)", text)
            if factors and (float(factors[2]), float(factors[3])) != (1.0, 1.0):
                remark += (
                    f"; the factors {factors[2]} and {factors[3]} of generalizing and suppressing have no counterpart"
                )
            if name in PASSING and "non-monotonic" not in text.lower():
                remark = "ARX's monotonic variant of it passes over suppressed rows, which count here"
            return name, f"The quality model {text!r} is {name} here{remark and f': {remark}'}"
    return "lm", f"The quality model {text!r} has no counterpart: lm is taken instead"


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
