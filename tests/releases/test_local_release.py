"""Releases of local recodings: any of them verifies, covers what it hides, and loses what the front says."""

from __future__ import annotations

import tempfile
from collections import Counter
from csv import DictReader
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pyarrow import csv

from kpareto.engines.read import read
from kpareto.errors import BadHierarchy, BadInput, BadJob, Unsafe
from kpareto.jobs.anonymize import anonymize
from kpareto.jobs.front import front
from kpareto.measures import make
from kpareto.measures.measure import exact
from kpareto.releases.apply import apply
from kpareto.releases.choice import Choice, read_stored, store
from kpareto.releases.recoded_rows import Handling, share_out
from kpareto.releases.release import Release, release
from kpareto.searches.local.problem import LocalProblem, LocalWish, make_problem
from kpareto.searches.local.recoding import LocalRecoding, read_classes, to_boxes
from kpareto.searches.local.search import Effort, search_classes
from kpareto.searches.local.strict import strict_recoding
from kpareto.tables.partition import Partition, Suppression
from kpareto.tables.recoding import Recoding, local
from kpareto.tables.schema import Schema
from kpareto.tables.table import Sample
from kpareto.verifier import verify
from tests.releases.test_release import LOOSE
from tests.searches.local import local_twins
from tests.searches.local.test_local_search import wishes
from tests.twins.releases import as_rows, chosen_locally, given_as, hierarchies, people, rows_of, uneven_people
from tests.twins.strategies import Case, cases

QUICK = Effort(turns=2)


@st.composite
def local_recodings(draw: st.DrawFn, case: Case, most_k: int = 4) -> tuple[Recoding, LocalWish]:
    """A local recoding of a small table, over items that it shares with another one, and the wish it keeps."""
    wish = replace(draw(wishes(most_k)), every_column=True)
    try:
        problem = make_problem(case.table, wish)
        other = make_problem(case.table, LocalWish(min(2, case.table.rows), every_column=True))
    except Unsafe:
        assume(False)
        raise
    if wish.suppression == 0 and draw(st.booleans()):
        grown = strict_recoding(problem)
        _, boxes = to_boxes([grown.recoding, _searched(other, 1)], [grown.root, None])
    else:
        _, boxes = to_boxes([_searched(problem, draw(st.integers(1, 3))), _searched(other, 1)])
    return local(boxes[0]), wish


def _searched(problem: LocalProblem, seed: int) -> LocalRecoding:
    return read_classes(problem, search_classes(problem, replace(QUICK, seed=seed)))


def choose_local(recoding: Recoding, wish: LocalWish, case: Case, rows: Literal["drop", "mask"] = "drop") -> Choice:
    """A choice of a local recoding, with a limit on everything that the verifier can count."""
    most = int(case.table.rows * wish.suppression + 1e-9)
    suppression = Suppression("below-k", most, k=wish.k, rows=rows) if most else Suppression("none")
    return Choice(case.table, recoding, suppression, {**LOOSE, "k": wish.k, **wish.limits})


def slow_classes(partition: Partition) -> dict[tuple[tuple[int, int], ...], Counter[tuple[str, ...]]]:
    """Rows by the labels they show and their values, from nothing but labels and items."""
    found: dict[tuple[tuple[int, int], ...], Counter[tuple[str, ...]]] = {}
    table = partition.table
    for item, owner in enumerate(partition.members.tolist()):
        if partition.suppressed[owner]:
            continue
        runs = tuple(
            (int(first[group]), int(last[group]))
            for (first, last), group in zip(
                map(partition.recoding.runs, range(table.codes.shape[1])), partition.groups[owner].tolist(), strict=True
            )
        )
        inside = found.setdefault(runs, Counter())
        for counts in table.sensitive[:1]:
            for entry in range(int(counts.start[item]), int(counts.start[item + 1])):
                inside[(counts.values[int(counts.code[entry])],)] += int(counts.count[entry])
        if not table.sensitive:
            inside[()] += int(table.weights[item])
    return found


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(case=st.one_of(cases(persons=False, targets=0), cases(persons=False)), data=st.data())
def test_a_local_partition_is_what_slow_counting_of_labels_gives(case: Case, data: st.DataObject) -> None:
    """k, l, LM, GLM and DCN of the partition equal those counted row by row from the labels."""
    recoding, wish = data.draw(local_recodings(case))
    choice = choose_local(recoding, wish, case)
    partition = choice.partition()
    seen, table = slow_classes(partition), case.table
    lost = partition.suppressed_rows
    assert sum(sum(inside.values()) for inside in seen.values()) + lost == len(case.rows)
    cells = Fraction(lost * len(table.hierarchies))
    for runs, inside in seen.items():
        for column, (first, last) in enumerate(runs):
            cells += sum(inside.values()) * local_twins.cell_loss(table, column, first, last)
    assert exact(make("glm"), partition) == cells
    assert exact(make("lm"), partition) == cells / (len(case.rows) * len(table.hierarchies))
    sizes = [sum(inside.values()) for inside in seen.values()]
    assert make("k")(partition) == min(sizes) >= wish.k
    assert make("dcn")(partition) == sum(size * size for size in sizes) + lost * len(case.rows)
    if table.sensitive:
        assert make("l")(partition) == min(len(inside) for inside in seen.values())
        shares = [max(inside.values()) / sum(inside.values()) for inside in seen.values()]
        assert make("alpha")(partition) == pytest.approx(max(shares))
    assert len(seen) == partition.classes == len(np.unique(partition.groups[~partition.suppressed], axis=0))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(
    case=st.one_of(cases(most_columns=2, persons=False, targets=0), cases(most_columns=2, persons=False)),
    data=st.data(),
)
def test_any_local_release_verifies_and_covers_its_rows(case: Case, data: st.DataObject) -> None:
    """Any local recoding, written and read back, has the numbers of its partition, and no row lies outside its labels."""
    kind = data.draw(st.sampled_from(["csv", "parquet", "pandas", "polars", "pyarrow"]))
    out = data.draw(st.sampled_from(["out.csv", "out.parquet", None]))
    recoding, wish = data.draw(local_recodings(case))
    choice = choose_local(recoding, wish, case, "mask" if data.draw(st.booleans()) else "drop")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = given_as(rows_of(case), kind, folder)
        try:
            done = release(choice, source, None if out is None else folder / out)
        except Unsafe:
            assert choice.partition().empty
            return
        if out is not None:
            done.certificate.write(folder / "c.json")
            assert verify(folder / out, folder / "c.json").rows == done.rows
        written = as_rows(folder / out if out else done.data)
    partition = done.partition
    assert done.rows == len(case.rows) - int(partition.rows[~partition.visible].sum())
    for spec in LOOSE:
        ours = make(spec)(partition)
        assert done.verified.numbers[spec] == pytest.approx(ours, rel=1e-9, abs=1e-9), spec
    labels = {h.name: dict(zip(own, zip(*map(np.ndarray.tolist, recoding.runs(place)), strict=True), strict=True))
              for place, (h, own) in enumerate(zip(recoding.hierarchies, done_labels(done), strict=True))}  # fmt: skip
    for row in written.to_pylist():
        original = case.rows[int(str(row["plain"]).removeprefix("row "))]
        for place, hierarchy in enumerate(recoding.hierarchies):
            label = str(row[hierarchy.name])
            if label != "*":
                first, last = labels[hierarchy.name][label]
                assert first <= original.leaves[place] <= last


def done_labels(done: Release) -> list[tuple[str, ...]]:
    """The label of each group of each column as the release has it, from its confidential certificate."""
    told = done.certificate.confidential["recoding"]["labels"]
    return [tuple(words) for words in told.values()]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(case=st.one_of(cases(persons=False, targets=0), cases(persons=False)), data=st.data())
def test_shares_hold_every_row_once(case: Case, data: st.DataObject) -> None:
    """The shares of a key follow each other without a gap, and hold as many rows of each class as the items do."""
    recoding, wish = data.draw(local_recodings(case))
    choice = choose_local(recoding, wish, case)
    partition = choice.partition()
    shares = share_out(choice, partition)
    ahead: Counter[tuple[int, int]] = Counter()
    rows: Counter[int] = Counter()
    for key, value, low, high, owner in zip(
        *(each.tolist() for each in (shares.key, shares.value, shares.low, shares.high, shares.owner)), strict=True
    ):
        assert low == ahead[key, value] < high
        ahead[key, value] = high
        rows[owner] += high - low
    assert [rows[owner] for owner in range(len(partition.rows))] == partition.rows.tolist()
    assert sum(ahead.values()) == len(case.rows)


def test_a_strict_recoding_is_stored_and_applied_to_new_rows(tmp_path: Path) -> None:
    """New rows answer the questions, classes are judged anew, what lies outside its labels goes, drift is told."""
    rows = people()
    choice = chosen_locally(rows, 9, strict=True)
    stored = store(choice)
    stored.write(tmp_path / "r.json")
    again = read_stored(tmp_path / "r.json")
    assert again.text() == stored.text()
    same = apply(again, rows, tmp_path / "same.csv", new_columns="keep")
    assert (same.release.rows, same.k >= 9, same.alarms) == (120, True, ())
    assert same.batch["lm"] == pytest.approx(stored.fit["lm"])
    assert release(choice, rows).certificate.public["model"] == {"kind": "local", "labels": "do not overlap"}
    few = people(1)  # a third of each class, five rows
    with pytest.raises(Unsafe, match="Every one of the 40 rows would be suppressed"):
        apply(again, few, tmp_path / "few.csv", new_columns="keep")
    mixed = pa.concat_tables([rows, few.slice(0, 3)])
    more = apply(again, mixed, tmp_path / "more.csv", new_columns="keep")
    assert (more.release.rows, more.k >= 9, more.alarms) == (123, True, ())
    thin = rows.filter(pc.greater_equal(rows["age"], 28))  # of the twenties one age is left: five rows too few
    some = apply(again, thin, tmp_path / "thin.csv", new_columns="keep")
    assert (some.k, some.release.suppressed) == (15, 6)
    assert any("6 of 96 new rows are suppressed" in alarm for alarm in some.alarms)
    strange = rows.set_column(1, "age", [[99 if age == 20 else age for age in rows["age"].to_pylist()]])
    with pytest.raises(BadHierarchy, match="that the recoding does not know"):
        apply(again, strange, tmp_path / "strange.csv", new_columns="keep")
    with pytest.raises(BadJob, match="no single cell can be shown"):
        apply(again, rows, tmp_path / "star.csv", unseen="star")


def test_a_relaxed_recoding_says_nothing_of_new_rows(tmp_path: Path) -> None:
    """It is stored with its release and says so; apply refuses it with a sentence."""
    choice = chosen_locally(people())
    store(choice).write(tmp_path / "r.json")
    with pytest.raises(BadInput, match="nothing of new rows"):
        apply(tmp_path / "r.json", people(), tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_which_equal_rows_go_where_does_not_depend_on_their_order() -> None:
    """Equal tables in any order give equal releases, and another table another secret."""
    rows = uneven_people()
    choice = chosen_locally(rows)
    assert share_out(choice, choice.partition()).divided
    shuffled = rows.take(np.random.default_rng(3).permutation(rows.num_rows))
    assert release(chosen_locally(rows), rows).data == release(chosen_locally(shuffled), shuffled).data


def test_local_releases_show_labels_only_and_no_samples() -> None:
    """Midpoints of overlapping labels could look alike; a sample says nothing of the rows that were not drawn."""
    rows = people()
    with pytest.raises(BadJob, match="two of them could look alike"):
        release(chosen_locally(rows), rows, handling=Handling(shown={"age": "midpoint"}))
    choice = chosen_locally(rows)
    drawn = replace(choice, table=replace(choice.table, sample=Sample(120, 1000, 1)))
    with pytest.raises(BadJob, match="a sample of 120 of 1,000 rows"):
        release(drawn, rows)


def test_anonymize_by_model() -> None:
    """Local recoding loses no more than the lattice at the same k, and tells how far from the best it is."""
    older = people(2).filter(pc.greater_equal(people(2)["age"], 30))  # two more of these, so that they need no label
    rows, answers = pa.concat_tables([people(2), older]).to_pandas(), {}
    for model in ("lattice", "cuts", "local"):
        answers[model] = anonymize(rows, ["age", "sex"], "illness", ["name"], hierarchies(), k=4, l=1, model=model)
    losses = [answers[model].numbers["lm"] for model in ("lattice", "cuts", "local")]
    assert losses == sorted(losses, reverse=True)
    assert losses[2] < losses[0]
    assert all(answer.numbers["k"] >= 4 and answer.verified for answer in answers.values())
    gap = answers["local"].bound
    assert gap is not None
    assert 0 < gap.least <= gap.reached
    assert "could reach at k = 4" in str(answers["local"].release.certificate.public["model"])
    with pytest.raises(BadJob, match="No model 'loca'"):
        anonymize(rows, ["age", "sex"], k=2, model="loca")


@pytest.mark.parametrize("spellings", ["fold", "exact"])
@pytest.mark.parametrize("door", ["arrow", "csv"])
def test_rows_are_divided_whatever_the_spelling_of_their_values(
    tmp_path: Path, door: str, spellings: Literal["fold", "exact"]
) -> None:
    """Values that count as one are divided as one, and each row is released as it was written."""
    ill = ["flu", "Flu", "\u00e9", "e\u0301", "12", "12.0", "gout"] * 4
    rows = pa.table({"town": (["Ulm"] * 14 + ["Bonn"] * 14), "ill": ill, "row": [str(n) for n in range(28)]})
    given_rows: object = rows
    if door == "csv":
        given_rows = tmp_path / "people.csv"
        csv.write_csv(rows, given_rows)
    table = read(given_rows, Schema(("town",), ("ill",), spellings=spellings))
    limits = {"k": 2, "l": 2}
    point = front(table, objectives=["k", "lm"], limits=limits, method="local")[0]
    done = release(point, given_rows, tmp_path / "out.csv", limits=limits)
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        released = {row["row"]: row["ill"] for row in DictReader(file)}
    assert done.rows == 28
    assert released == dict(zip(rows["row"].to_pylist(), ill, strict=True))
    assert verify(tmp_path / "out.csv", done.certificate).numbers["k"] >= 2
