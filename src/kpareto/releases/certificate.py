"""The certificate of a release: what is claimed of it, in a form that ``verify`` checks without our code.

Two parts (W13). The **public** part holds nothing that the released file does not show anyway: its hash, columns
and roles, the labels in it, what can be recomputed from it, and the rule of suppression; the number of suppressed rows
only where it is 0 or at least k. The **confidential** part stays with the data: the hashes of the input and of the
hierarchies, the whole recoding, exact counts, the distribution of sensitive values in the whole table with the claims
against it, and the warnings in full. It names the public part it belongs to by its hash. There is no time stamp:
equal input, job and version give equal bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from kpareto._version import __version__
from kpareto.atomic import write_whole
from kpareto.engines.source import Written
from kpareto.measures import MAKERS, make
from kpareto.measures.measure import Measure, aspect_of, parameters_of, short_name
from kpareto.measures.persons import count_units
from kpareto.measures.population import is_estimated
from kpareto.measures.sensitive import distinct_l
from kpareto.measures.sizes import is_smallest_class
from kpareto.measures.sizes import k as smallest_class
from kpareto.releases.choice import Choice, hierarchy_digest, legible
from kpareto.releases.labels import code_book
from kpareto.releases.recoded_rows import QUASI, Handling, Recoded, runs
from kpareto.tables.partition import UNLIMITED, Partition
from kpareto.tables.spelling import without_point
from kpareto.tables.table import Table
from kpareto.verifier import content_digest, digest_of
from kpareto.verifier.counting import Counted

FORMAT = 1
Warned = tuple[str, str]  # number of the warning (W1 …) and its sentence


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """What is claimed of a release, as plain data."""

    public: dict[str, Any]
    confidential: dict[str, Any]

    def __repr__(self) -> str:
        """What is claimed, and nothing of the confidential part: a notebook prints this."""
        claims = ", ".join(f"{each['measure']} = {each['value']}" for each in self.public["claims"])
        return f"Certificate({self.public['release']['rows']:,} rows, {claims})"

    def text(self) -> str:
        """Both parts as JSON; for those who may see the input."""
        return legible({"public": self.public, "confidential": self.confidential})

    def public_text(self) -> str:
        """The public part as JSON; may go with the release."""
        return legible({"public": self.public})

    def write(self, target: str | PathLike[str]) -> None:
        """Write both parts for their owner alone, whole or not at all."""
        write_whole(target, self.text(), private=True)

    def write_public(self, target: str | PathLike[str]) -> None:
        """Write the public part alone."""
        write_whole(target, self.public_text())


@dataclass(frozen=True, eq=False)
class Facts:
    """What a certificate is made of, beside the choice and its partition."""

    recoded: Recoded  # the rows as they are shown, and how they were handled
    written: Written
    input_digest: str
    warnings: Sequence[Warned] = ()
    remarks: Sequence[str] = ()
    accepted: Sequence[str] = ()  # the warnings that are dangers, each accepted by name
    counts: bool = False  # whether the public part has one-way counts


def certify(counted: Counted, choice: Choice, partition: Partition, facts: Facts) -> Certificate:
    """The certificate of what was written and counted again."""
    how, roles, form = facts.recoded.handling, facts.recoded.roles, facts.written.form
    layout = {"columns": list(roles), "roles": roles, **({"form": dict(form)} if form else {})}
    classes, rows = counted.classes, counted.rows
    table = partition.table
    # A frame or a table has no bytes of its own; its classes are what can be recognised.
    content = {} if counted.digest is not None else {"content_sha256": content_digest(classes)}
    masked = int(partition.rows[partition.suppressed & partition.visible].sum())
    lost = partition.suppressed_rows
    k = int(partition.sizes[partition.visible].min())
    open_claims, closed_claims = claims(choice, partition)
    quasi = [name for name, role in roles.items() if role == QUASI]
    seen = {name: sorted({labels[place] for labels in classes}) for place, name in enumerate(quasi)}
    written_labels = {name: [_spell(label, how) for label in labels] for name, labels in facts.recoded.labels.items()}
    public = {
        "kpareto certificate": FORMAT,
        "version": __version__,
        "release": {"format": facts.written.format, "sha256": counted.digest, **content, "rows": rows, **layout},
        "recoding": {name: {**_level(choice, name), "labels": seen[name]} for name in quasi},
        "suppression": {
            "rule": choice.suppression.rule,
            **({"thresholds": dict(choice.suppression.thresholds)} if choice.suppression.thresholds else {}),
            "limit": None if choice.suppression.limit == UNLIMITED else choice.suppression.limit,
            "rows": "mask" if masked else "drop",
            "masked": masked,
            "suppressed": lost if lost == 0 or lost >= k else None,
            "fewer_than": None if lost == 0 or lost >= k else k,
        },
        "codebook": code_book(choice, partition, written_labels, seen, facts.counts),
        **_model(choice),
        "claims": open_claims,
        **_trees(table, how, counted),
        "handling": {
            "shown": dict(how.shown),
            **{word: getattr(how, word) for word in ("order", "seed", "identifiers", "formulas")},
        },
        "engine": facts.recoded.rows.program,
        "counted_by": counted.by,
        "missing": table.missing,
        "spellings": table.schema.spellings,
        **({"population": _basis(table)} if table.population is not None else {}),
        "warnings": [number for number, _ in facts.warnings],
    }
    confidential = {
        "public_sha256": digest_of(public),
        "input": {
            "sha256": facts.input_digest,
            "rows": table.rows + table.dropped,
            "missing_rows": table.dropped,
            "missing_values": _missing_texts(how),
        },
        "hierarchies": {h.name: hierarchy_digest(h) for h in choice.recoding.hierarchies},
        "recoding": {
            "columns": choice.recoding.describe(),
            "labels": {n: list(v) for n, v in facts.recoded.labels.items()},
        },
        "suppression": {"suppressed": lost, "dropped": lost - masked, "k": choice.suppression.k},
        **({} if choice.bound is None else {"bound": choice.bound.to_dict()}),
        "claims": closed_claims,
        "distributions": {
            counts.name: _as_written(counts.values, counts.totals.tolist(), how) for counts in table.sensitive
        },
        **_trees(table, how),
        **({} if table.persons is None else {"persons": _of_persons(partition, how)}),
        "warnings": [list(warning) for warning in facts.warnings],
        "accepted": list(facts.accepted),
        "remarks": list(facts.remarks),
        **_population(choice, facts.recoded),
    }
    return Certificate(public, {**confidential, "sha256": digest_of(confidential)})


def _spell(value: str, how: Handling) -> str:
    """A value as the release spells it: behind an apostrophe where a spreadsheet would run it."""
    return f"'{value}" if how.formulas == "neutralise" and runs(value) else value


def _missing_texts(how: Handling) -> list[str]:
    return [str(value) for value in how.missing_values]


def _basis(table: Table) -> str:
    """What is known of the population, in a sentence that anybody may read."""
    known = table.population
    if known is not None and known.fraction == 1:
        return "The table is said to be the whole population."
    if known is None or known.fraction is not None:
        return (
            "Only the share of the population that was sampled is known, so what is said of it is estimated, not "
            "counted: upper ends, which hold with a chance of 95 % if the rows are a random sample."
        )
    return "The released classes were counted against a table of the population before anything was written."


def _has_people(partition: Partition) -> bool:
    population = partition.table.population
    return population is not None and population.table is not None


def _population(choice: Choice, recoded: Recoded) -> dict[str, Any]:
    """How each value of the population is shown, so that anybody who has its table can count it again."""
    known = choice.table.population
    if known is None:
        return {}
    if known.raw is None:
        return {"sampling": {"fraction": known.fraction, "estimator": known.estimator}}
    names = known.raw.schema.quasi
    labels = {}
    for hierarchy, cut in zip(choice.recoding.hierarchies, choice.recoding.cuts, strict=True):
        values = known.raw.hierarchies[names.index(hierarchy.name)].leaves
        shown = recoded.labels[hierarchy.name]
        places = cut[hierarchy.locate(values)].tolist()
        labels[hierarchy.name] = {value: shown[place] for value, place in zip(values, places, strict=True)}
    return {
        "population": {
            "rows": known.raw.rows,
            "content_sha256": _people_digest(known.raw),
            "missing": known.raw.missing,
            "missing_values": _missing_texts(recoded.handling),
            "labels": labels,
        }
    }


def population_cells(table: Table, names: Sequence[str]) -> Iterator[tuple[list[str | None], int]] | None:
    """The rows of the population as they were read, in this order of the quasi-identifiers; None without one."""
    raw = None if table.population is None else table.population.raw
    if raw is None:
        return None
    return (([*values], times) for *values, times in population_rows(raw, names))


def _people_digest(raw: Table) -> str:
    """SHA-256 of the distinct rows of a population in order, each as JSON: its values by name of column, its people."""
    digest = hashlib.sha256()
    for row in sorted(population_rows(raw, sorted(raw.schema.quasi))):
        digest.update(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    return digest.hexdigest()


def population_rows(raw: Table, names: Sequence[str]) -> Iterator[list[Any]]:
    """The values of these columns of each distinct row of a population, and last how many people have them."""
    places = [raw.schema.quasi.index(name) for name in names]
    leaves = [raw.hierarchies[place].leaves for place in places]
    for codes, times in zip(raw.codes[:, places].tolist(), raw.weights.tolist(), strict=True):
        yield [*(leaves[c][code] for c, code in enumerate(codes)), times]


def _of_persons(partition: Partition, how: Handling) -> dict[str, list[list[Any]]]:
    """Per sensitive column each value, the share of all persons who have it, and its share with everybody spread."""
    columns = {}
    for counts in partition.table.sensitive:
        (one, _), (even, _) = (count_units(partition, counts, even=each) for each in (False, True))
        shares, spreads = (units.totals / max(units.whole, 1) for units in (one, even))
        names = [name for name, _ in _as_written(counts.values, counts.totals.tolist(), how)]
        columns[counts.name] = [list(each) for each in zip(names, shares.tolist(), spreads.tolist(), strict=True)]
    return columns


def _as_written(values: Sequence[str], totals: Sequence[int], how: Handling) -> list[list[Any]]:
    """Each value as the release spells it, with its rows: [value, rows]; two that are written alike are one."""
    rows: Counter[str] = Counter()
    for value, count in zip(values, totals, strict=True):
        rows[_spell(value, how)] += count
    return [[value, count] for value, count in rows.items()]


def _trees(table: Table, how: Handling, counted: Counted | None = None) -> dict[str, Any]:
    """Per sensitive column with a hierarchy the labels of each value, the lowest level first; of those that occur."""
    trees: dict[str, dict[str, list[str]]] = {}
    for counts in table.sensitive:
        tree = table.trees.get(counts.name)
        if tree is None:
            continue
        classes = None if counted is None else counted.classes.values()
        there = None if classes is None else {value for each in classes for value in each.values[counts.name]}
        leaves = tree.locate(counts.values)
        names = (_spell(value, how) for value in counts.values)
        paths = ([labels[g] for labels, g in zip(tree.labels, tree.groups[:, leaf], strict=True)] for leaf in leaves)
        trees[counts.name] = {n: path for n, path in zip(names, paths, strict=True) if there is None or n in there}
    return {"trees": trees} if trees else {}


def _level(choice: Choice, name: str) -> dict[str, object]:
    if choice.recoding.levels is None:
        return {}
    index = choice.table.column(name)
    hierarchy = choice.recoding.hierarchies[index]  # its first level is another where the rows came in coarser
    return {"level": hierarchy.first + choice.recoding.levels[index], "of": hierarchy.first + hierarchy.height}


def _model(choice: Choice) -> dict[str, object]:
    """That labels differ from class to class, and how far from the best they are; the numbers are not for everybody."""
    if choice.recoding.boxes is None:
        return {}
    overlapping = choice.recoding.boxes.root is None
    proof = {} if choice.bound is None else {"loss": f"{choice.bound.loss}: {choice.bound.sentence()}"}
    return {"model": {"kind": "local", "labels": "may overlap" if overlapping else "do not overlap", **proof}}


def claims(choice: Choice, partition: Partition) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What is claimed in public and in confidence: k, l of each sensitive column, and every limit.

    Each value is that of our own measure; the verifier works it out again by definitions of its own.
    """
    wanted: list[tuple[Measure, float | None]] = [
        (make(spec), limit) for spec, limit in sorted(choice.limits.items(), key=_k_first)
    ]
    if "k" not in choice.limits:
        wanted.insert(0, (smallest_class(), None))
    names = {measure.name for measure, _ in wanted}
    diversities = [distinct_l(counts.name) for counts in partition.table.sensitive]
    wanted += [(measure, None) for measure in diversities if measure.name not in names]
    public: list[dict[str, Any]] = []
    confidential: list[dict[str, Any]] = []
    for measure, limit in wanted:
        aspect, claim = aspect_of(measure), _claim(measure, limit, partition)
        if aspect.population and _has_people(partition):
            confidential.append({**claim, "needs": "population"})
        elif not aspect.recounted:
            # What nobody can count again is no limit of the release; it was asked of the search, and met there.
            estimate = {"estimated": "estimated, not counted"} if is_estimated(measure, partition.table) else {}
            confidential.append({**claim, "limit": None, "asked": claim["limit"], "recomputed": False, **estimate})
        elif partition.table.persons is not None:
            counted = {**claim, "with": {"counts": "persons", **claim["with"]}}
            against_table = aspect.relative and claim["with"].get("reference") != "release"
            (confidential if against_table else public).append(counted)
            # Everybody can count the rows: no class has fewer of these than persons, nor fewer values than touch them.
            rows, same = partition.by_rows, limit if aspect.shown or is_smallest_class(measure) else None
            public.append(_claim_of_release(measure, None, rows) if aspect.relative else _claim(measure, same, rows))
        elif aspect.relative:
            confidential.append(claim)
            public.append(_claim_of_release(measure, limit, partition))
        else:
            public.append(claim)
    return public, confidential


def find_unlimited(public: Mapping[str, Any]) -> tuple[str, ...]:
    """The sensitive columns of a certificate that no limit protects, by the claims on them."""
    limited: set[str | None] = set()
    named: dict[str, None] = {}
    for claim in public["claims"]:
        about = claim.get("with", {})
        name = about.get("column")
        # Of a distance from the whole table the confidential part has the limit; it is claimed where one was set.
        asked = claim.get("limit") is not None or about.get("reference") == "release"
        if asked and aspect_of(make(claim["measure"])).column == "sensitive":
            limited.add(name)  # without a name it is about every sensitive column
        if name is not None:
            named[name] = None
    return () if None in limited else tuple(name for name in named if name not in limited)


def _k_first(limit: tuple[str, float]) -> tuple[bool, str]:
    """The verifier checks claims in their order, and a small class is what a person should hear of first."""
    return limit[0] != "k", limit[0]


def _claim(measure: Measure, limit: float | None, partition: Partition) -> dict[str, Any]:
    parameters = parameters_of(measure) or {}
    return {
        "measure": short_name(measure.name),
        "with": {name: _json_number(v) if isinstance(v, int | float) else v for name, v in parameters.items()},
        "limit": None if limit is None else _json_number(float(limit)),
        "value": _json_number(measure(partition)),
    }


def _claim_of_release(measure: Measure, limit: float | None, partition: Partition) -> dict[str, Any]:
    """The same measure against the rows that are released, which everybody can check who has them."""
    parameters = {**(parameters_of(measure) or {}), "reference": "release"}
    against_release = MAKERS[short_name(measure.name)](**parameters)
    # A limit was set for the distance to the table, unless it says otherwise.
    return _claim(against_release, limit if against_release.name == measure.name else None, partition)


def _json_number(value: float) -> float | str:
    """A number as JSON has it: whole ones as such, infinity as a text that Python's float reads."""
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    return without_point(value)
