"""The warnings W1 to W20: each is triggered by one context and not by another, and says its numbers."""

from __future__ import annotations

import doctest
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from kpareto.engines.read import read
from kpareto.engines.unique_rows import unique_rows
from kpareto.fronts.choose import find_safer
from kpareto.fronts.problem import problem
from kpareto.releases.recoded_rows import Handling
from kpareto.releases.risk.composition import composition
from kpareto.releases.warnings import Context, Remark, SearchFacts, remarks, warnings_for
from kpareto.searches.run import Plan, run_plan
from kpareto.tables.adult import adult, adult_table
from kpareto.tables.hierarchies import load
from kpareto.tables.hierarchy import flat
from kpareto.tables.partition import Partition, Suppression, classes, partition
from kpareto.tables.recoding import Recoding, bottom, node, top
from kpareto.tables.schema import Schema
from kpareto.tables.table import Population, UniqueRows, make_table
from tests.measures.test_measure import rows_in_classes
from tests.measures.test_sensitive import classes_of, table_of_values
from tests.releases.risk.test_attacks import FLAT, PAIRS, at, made_of
from tests.tables.test_partition import table_of_sizes
from tests.twins.made_fronts import made_front
from tests.twins.use import related_rows, related_table

EXACT = SearchFacts("exact", True, 17_920, 17_920)
POKA = SearchFacts("poka", False, 4_120, 17_920)


def remark(context: Context, name: str) -> Remark | None:
    """The remark of this name, if it applies."""
    return {each.id: each for each in remarks(context)}.get(name)


def text(context: Context, name: str) -> str:
    """What the remark of this name says."""
    found = remark(context, name)
    assert found is not None
    return found.text


def empty() -> Partition:
    """A release in which every row is suppressed."""
    table = table_of_values(["a", "b"])
    return partition(table, bottom(table.hierarchies), Suppression("below-k", k=5))


def test_w1_says_how_many_rows_are_unique_on_all_columns() -> None:
    """The declared quasi-identifiers and the rows unique on all columns are printed."""
    context = Context(rows_in_classes([2, 3]), unique=UniqueRows(("x", "y"), 5, 4, 4))
    assert "1 declared quasi-identifier only (x), here with k = 2" in text(context, "W1")
    assert "On all 2 released columns together 4 of 5 rows (80.0%) are unique" in text(context, "W1")
    assert "was not counted" in text(Context(rows_in_classes([2])), "W1")


def test_w1_names_the_columns_and_what_to_do() -> None:
    """The plain columns that leave as they are can be left out or made quasi-identifiers; sensitive ones are needed."""
    classes = rows_in_classes([2, 3])
    said = text(Context(classes, unique=UniqueRows(("x", "y", "z"), 5, 4, 4)), "W1")
    assert "knows the other columns, which leave as they are (y, z), can single them out" in said
    assert "Leave y, z out by role = 'identifier', or make quasi-identifiers of those" in said
    tied = text(Context(classes, unique=UniqueRows(("x", "y", "z"), 5, 4, 4), tied=("z",)), "W1")
    assert "Leave y out" in tied
    sensitive = classes_of(["ab", "abb"])
    quasi, secret = sensitive.table.schema.quasi, sensitive.table.schema.sensitive
    said = text(Context(sensitive, unique=UniqueRows((*quasi, *secret), 5, 4, 4)), "W1")
    assert f"leave as they are ({', '.join(secret)}), can single them out" in said
    assert said.endswith(f"If somebody outside may know {secret[0]}, make a quasi-identifier of it.")
    assert "Leave" not in said


def test_w1_says_nothing_senseless_where_nothing_is_unique() -> None:
    """Nobody is singled out where no row is unique, least of all by columns that are not there."""
    classes = rows_in_classes([2, 3])
    alone = text(Context(classes, unique=UniqueRows(("x",), 5, 0, 2)), "W1")
    assert alone.endswith("here with k = 2. No other column is released, and none of 5 rows is unique.")
    beside = text(Context(classes, unique=UniqueRows(("x", "y"), 5, 0, 2)), "W1")
    assert beside.endswith("On all 2 released columns together none of 5 rows is unique.")


@pytest.mark.parametrize(("unique", "severity"), [(0, "note"), (3, "caution"), (997, "danger")])
def test_the_severity_of_w1_follows_its_numbers(unique: int, severity: str) -> None:
    """Nearly all rows unique is a danger, a few a caution, none a note (B1 of the first hour)."""
    context = Context(rows_in_classes([500, 500]), unique=UniqueRows(("x", "y"), 1000, unique, unique))
    warned = remark(context, "W1")
    assert warned is not None
    assert warned.severity == severity


def test_w1_needs_a_release() -> None:
    """Where nothing is released nothing is linked."""
    assert remark(Context(empty()), "W1") is None


def test_w2_counts_known_values() -> None:
    """Without an attribute model the classes and rows with a likely and a certain value are counted."""
    found = remark(Context(classes_of(["aaaab", "bbbb", "ab"]), limits={"k": 2}), "W2")
    assert found is not None
    assert found.severity == "danger"
    assert "2 classes with 9 rows have one value at 80% or more" in found.text
    assert "1 class with 4 rows has one value only" in found.text
    assert found.text.endswith("Add a limit such as l = 2 under [limits] in the job.")
    assert found.numbers["certain_rows"] == 4


def test_w2_has_words_for_one_class_and_for_none() -> None:
    """One class has, and where none has one value only, it says so instead of counting nothing."""
    said = text(Context(classes_of(["aaaab", "ab"]), limits={"k": 2}), "W2")
    assert "1 class with 5 rows has one value at 80% or more, and no class has one value only" in said


@pytest.mark.parametrize("limit", ["l", "t(column=s0)", "entropy-l"])
def test_w2_is_quiet_with_an_attribute_model_or_without_a_sensitive_column(limit: str) -> None:
    """A limit on sensitive values, or nothing sensitive, ends the matter."""
    assert remark(Context(classes_of(["aa"]), limits={"k": 2, limit: 1}), "W2") is None
    assert remark(Context(rows_in_classes([2])), "W2") is None


def test_w3_says_that_rows_are_counted() -> None:
    """Without a person id k counts rows; with repeated persons both numbers are given."""
    said = text(Context(rows_in_classes([2, 3])), "W3")
    assert "so k = 2 counts rows" in said
    assert 'person = "…" under [data] in the job, or Schema(person="…") in Python' in said
    table = table_of_sizes([4, 6], persons=[1, 3])
    said = text(Context(at(table, 0)), "W3")
    assert "10 rows belong to 4 persons" in said
    assert "smallest has 1 persons, where counting rows would claim 4" in said


def test_w3_is_quiet_where_each_person_has_one_row() -> None:
    """A person id without repetitions makes rows and persons the same."""
    assert remark(Context(at(table_of_sizes([2, 3], persons=[2, 3]), 0)), "W3") is None


def test_w4_warns_of_optimized_hierarchical_releases() -> None:
    """A minimal release says how many rows it gives more away about."""
    table = made_of({"q": ["1", "2", "3", "4"]}, {"q": PAIRS})
    said = text(Context(at(table, 1), limits={"k": 2}, search=EXACT), "W4")
    assert (
        "can rule out finer values (minimality, downcoding): for 4 of 4 rows. A recoding that was fixed before" in said
    )
    table = made_of({"q": [*"11223344"], "ill": [*"HHFCFCFC"]}, {"q": PAIRS})
    assert "q could be a step finer" in text(Context(at(table, 1), limits={"k": 2}, search=EXACT), "W4")
    limits = {"k": 2.0, "l": 2.0}
    assert "4 rows were generalized for" in text(Context(at(table, 1), limits=limits, search=EXACT), "W4")


def test_w4_is_quiet_about_fixed_recodings_and_free_cuts() -> None:
    """A recoding that nobody searched for, or whose groups no tree knows, is not minimal by a known rule."""
    table = made_of({"q": ["1", "2", "3", "4"]}, {"q": PAIRS})
    assert remark(Context(at(table, 1), limits={"k": 2}), "W4") is None
    free = Recoding(table.hierarchies, (np.array([0, 1, 1, 1], dtype=np.int32),))
    assert remark(Context(classes(table, free), limits={"k": 1}, search=EXACT), "W4") is None


def test_w5_tells_of_small_intersections() -> None:
    """With an earlier release the classes below k that both make together are counted."""
    table = made_of({"a": [*"1122"], "b": [*"1212"]}, {"a": FLAT, "b": FLAT})
    found = remark(Context(at(table, 0, 1), earlier=(composition(at(table, 0, 1), at(table, 1, 0), 2),)), "W5")
    assert found is not None
    assert found.severity == "danger"
    assert "1 earlier release of these people is registered" in found.text
    assert "4 of 4 rows are in classes of fewer than 2" in found.text
    assert found.text.endswith("Recode these rows as before: kpareto apply.")
    same = remark(Context(at(table, 0, 1), earlier=(composition(at(table, 0, 1), at(table, 0, 1), 2),) * 2), "W5")
    assert same is not None
    assert same.severity == "note"
    assert "2 earlier releases" in same.text


def test_w5_is_quiet_without_earlier_releases() -> None:
    """The first release of a table has nothing to intersect with."""
    assert remark(Context(rows_in_classes([2])), "W5") is None


def test_w6_asks_for_the_population() -> None:
    """Without a sampling fraction two risks are not estimable."""
    said = text(Context(rows_in_classes([3, 4])), "W6")
    assert "If everybody is in it and nobody has two rows, the highest risk is 1/3" in said
    persons = at(table_of_sizes([4, 6], persons=[3, 3]), 0)
    assert "If everybody is in it, the highest risk is 1/3" in text(Context(persons), "W6")


def test_w6_is_quiet_with_a_fraction_or_a_population() -> None:
    """A census, a sample or a population table are enough."""
    made = rows_in_classes([3, 4])
    assert remark(Context(made, population=Population(fraction=1.0)), "W6") is None
    assert remark(Context(made, population=Population(table=made.table)), "W6") is None
    assert remark(Context(made, population=Population()), "W6") is not None


def test_w7_profiles_who_disappears() -> None:
    """Number, share, groups, the masked class and a number below k are said."""
    table = table_of_values(["a", "bbbb", "cccc"])
    made = partition(table, bottom(table.hierarchies), Suppression("below-k", k=4))
    said = text(Context(made), "W7")
    assert "1 of 9 rows (11.1%) are suppressed, most of all" in said
    assert "s0 'a' (1 of 1)" in said
    assert "itself below k = 4: do not publish it" in said
    table = table_of_values(["a", "b", "cc"])
    masked = partition(table, bottom(table.hierarchies), Suppression("below-k", k=2, rows="mask"))
    assert "form a visible class of 2" in text(Context(masked), "W7")


def test_w7_is_quiet_without_suppression() -> None:
    """Nobody disappears, nothing is said."""
    assert remark(Context(rows_in_classes([2])), "W7") is None


def test_w8_warns_of_labels_made_of_rows() -> None:
    """Free intervals between observed numbers show values of actual rows; so do representatives."""
    table = made_of({"q": [*"1234"]}, {"q": {"intervals": [2], "from": 1}})
    free = Recoding(table.hierarchies, (np.array([0, 1, 1, 1], dtype=np.int32),))
    assert "The groups of 1 column (q) are named by values of actual rows" in text(Context(classes(table, free)), "W8")
    assert "2 columns (x, y)" in text(Context(rows_in_classes([2]), representatives=("x", "y")), "W8")


def test_w8_is_quiet_about_declared_borders() -> None:
    """Levels of a hierarchy, and cells with edges, have borders of their own."""
    table = made_of({"q": [*"1234"]}, {"q": {"intervals": [2], "from": 1}})
    assert remark(Context(at(table, 1)), "W8") is None
    cells = made_of({"q": [*"1234"]}, {"q": {"edges": [0, 2, 4, 6]}})
    free = Recoding(cells.hierarchies, (np.array([0, 1, 1], dtype=np.int32),))
    assert remark(Context(classes(cells, free)), "W8") is None


def gaps(domain: str) -> Context:
    """Twenty cells of which the last five hold nobody (readings.md#empty-cells)."""
    tree = flat("age", [str(cell) for cell in range(20)])
    codes = np.arange(15).reshape(-1, 1)
    table = make_table(Schema(quasi=("age",)), (tree,), codes, np.ones(15, dtype=np.int64), {})
    table = replace(table, domain="declared" if domain == "declared" else "observed")
    return Context(classes(table, node(table.hierarchies, [1])))


def test_w9_prints_what_empty_cells_save() -> None:
    """Five of twenty cells are empty: everything hidden may cost 14/19."""
    assert "5 of the 20 values of 'age' are empty" in text(gaps("declared"), "W9")
    assert "as little as 0.737 instead of 1" in text(gaps("declared"), "W9")


def test_w9_is_quiet_about_observed_domains() -> None:
    """Where only values that occur are counted, or all occur, nothing can be saved."""
    assert remark(gaps("observed"), "W9") is None
    assert remark(Context(rows_in_classes([1, 1])), "W9") is None


def test_w10_names_hierarchies_made_of_the_rows() -> None:
    """Quantiles depend on the rows."""
    table = made_of({"q": [str(i) for i in range(16)]}, {"q": {"quantiles": 4}})
    assert "1 of 1 hierarchies were built from the rows themselves (q)" in text(Context(at(table, 1)), "W10")


def test_w10_is_quiet_about_fixed_hierarchies() -> None:
    """Intervals do not."""
    table = made_of({"q": [*"1234"]}, {"q": {"intervals": [2]}})
    assert remark(Context(at(table, 1)), "W10") is None


def test_w11_says_what_became_of_missing_values() -> None:
    """Adult loses 2,399 rows; kept as a category they are counted too."""
    table = adult_table()
    assert "2,399 of 32,561 rows (7.4%)" in text(Context(classes(table, bottom(table.hierarchies))), "W11")
    rows = pa.table({"q": ["a", "?", "?"]})
    kept = read(rows, Schema(quasi=("q",)), missing="category")
    assert "most in 'q' (2 of 3 rows)" in text(Context(at(kept, 0)), "W11")


def test_w11_is_quiet_about_complete_tables() -> None:
    """Nothing missing, nothing said."""
    assert remark(Context(rows_in_classes([2])), "W11") is None


def test_w12_warns_of_a_sensitive_target() -> None:
    """A column that is target and sensitive is the danger itself."""
    rows = pa.table({"q": [*"1122"], "ill": [*"FFFC"]})
    table = read(rows, Schema(quasi=("q",), sensitive=("ill",), target=("ill",)))
    assert "2 of 4 rows are in classes where one value has 80% or more" in text(Context(at(table, 0)), "W12")


def test_w12_is_quiet_about_other_targets() -> None:
    """A target that is not sensitive, or a sensitive column that is no target, is fine."""
    assert remark(Context(classes_of(["ab"])), "W12") is None


def test_w13_says_which_part_may_be_published() -> None:
    """With a certificate the reader is told which part is confidential, and of small counts in it."""
    assert "no count below k = 2" in text(Context(rows_in_classes([2]), certificate=True), "W13")
    table = table_of_sizes([1, 4])
    made = partition(table, bottom(table.hierarchies), Suppression("below-k", k=2))
    assert "(1 suppressed rows among them)" in text(Context(made, certificate=True), "W13")


def test_w13_is_quiet_without_a_certificate() -> None:
    """Nothing written, nothing to keep secret."""
    assert remark(Context(rows_in_classes([2])), "W13") is None


def test_w14_says_that_a_heuristic_may_be_wrong() -> None:
    """How many recodings were looked at, and the gap where it is known."""
    made = rows_in_classes([2])
    said = text(Context(made, search=POKA), "W14")
    assert "'poka' is a heuristic that looked at 4,120 of 17,920 recodings" in said
    assert "unknown" in said
    assert "at most 2.5% less" in text(Context(made, search=replace(POKA, gap=0.025)), "W14")
    assert "4,120 recodings" in text(Context(made, search=replace(POKA, size=None)), "W14")


def test_w14_tells_the_proven_gap_of_a_local_recoding() -> None:
    """Where the front has a bound, the warning has the same one, and does not call it unknown."""
    table = table_of_sizes([2, 2, 3])
    asked = problem(table, ["k", "lm"])
    front = run_plan(asked, Plan("local", "local", None, 1, {"ks": [3]}))
    point = front[0]
    assert point.bound is not None
    said = next(each for each in warnings_for(point, Handling(), {"k": 3.0}, None) if each.id == "W14")
    begun = f"'local' is a heuristic that looked at 1 recoding: {point.bound.sentence()}."
    assert said.text == f"{begun} Give it more time: seconds under [search] in the job."  # no exact search of that kind
    unbound = run_plan(asked, Plan("local", "local", None, 1, {"ks": [3], "walks": 0}))[0]
    said = next(each for each in warnings_for(unbound, Handling(), {"k": 3.0}, None) if each.id == "W14")
    assert "'local' is a heuristic that looked at 1 recoding: how much better" in said.text


@pytest.mark.parametrize("method", ["improve", "recut", "genitor"])
def test_w14_tells_the_bound_of_a_search_for_one_loss(method: str) -> None:
    """What the front proves of the least loss is not called unknown; a bound of nothing is."""
    limits = {"k": 50.0}
    budget = 2_000 if method == "genitor" else None
    asked = problem(adult_table(), ["lm"], Suppression("as-needed", 0.0), limits)
    point = run_plan(asked, Plan(method, "cuts", budget, 1)).choose_least()
    told = point.front.provenance.details
    assert 0 < told["gap"] < 1
    said = next(each for each in warnings_for(point, Handling(), limits, None) if each.id == "W14")
    assert said.numbers["gap"] == pytest.approx(told["gap"], abs=0.001)
    assert float(str(said.numbers["gap"])) >= told["gap"]  # never rounded down
    proven = f"the best possible one of its kind loses at most {said.numbers['gap']:.1%} less."
    assert said.text.endswith(f"{proven} {said.remedy.text if said.remedy else ''}")
    nothing = replace(point.front, provenance=replace(point.front.provenance, details={**told, "lower_bound": 0.0}))
    said = next(each for each in warnings_for(nothing[0], Handling(), limits, None) if each.id == "W14")
    assert said.text.endswith(f"is unknown. {said.remedy.text if said.remedy else ''}")


def test_w14_tells_the_floor_of_an_exact_search_without_time() -> None:
    """It is no heuristic, and what is proven of the point is not called unknown; 110 above 100 are 10 %."""
    front = run_plan(problem(table_of_sizes([2, 2, 3]), ["k", "lm"], 2))
    point = max(front, key=lambda each: each.values["lm"])
    least = np.full_like(front.numbers.values, np.nan)
    least[point.id, 1] = point.values["lm"] / 1.1
    early = replace(front, floors=least, provenance=replace(front.provenance, complete=False))
    said = next(e for e in warnings_for(early[point.id], Handling(), {"k": 2.0}, None) if e.id == "W14")
    assert said.text.startswith("'exact' ended before it was done and looked at")
    proven = "its lm is at most 10 % above the least that any recoding by whole levels with its k could have."
    assert said.text.endswith(f"{proven} Give it more time: seconds under [search] in the job.")
    assert said.numbers["gap"] == 0.1


def test_w14_is_quiet_about_complete_searches() -> None:
    """An exact front misses nothing; a fixed recoding was not searched."""
    assert remark(Context(rows_in_classes([2]), search=EXACT), "W14") is None
    assert remark(Context(rows_in_classes([2])), "W14") is None


def test_w15_states_no_epsilon() -> None:
    """A chosen recoding is not differentially private, whatever its k."""
    assert "chosen by looking at the rows, whatever its k (2 here)" in text(
        Context(rows_in_classes([2]), search=EXACT), "W15"
    )
    assert "not randomized" in text(Context(rows_in_classes([2])), "W15")


def test_w15_is_quiet_about_private_mechanisms() -> None:
    """A release made by a differentially private mechanism is one."""
    assert remark(Context(rows_in_classes([2]), differentially_private=True), "W15") is None


def test_w16_names_the_safer_of_two_points_that_keep_nearly_the_same() -> None:
    """K = 5 and k = 10 are not as good as equal: the risk halves, and the remark says what to choose."""
    safer = find_safer(made_front([(5, 84.0, 25), (10, 83.5, 55), (1000, 10.0, 0)])[0])
    said = remark(Context(rows_in_classes([5]), safer=safer), "W16")
    assert said is not None
    assert "10.0 % (k = 10) instead of 20.0 % (k = 5)" in said.text
    assert said.text.endswith("Choose k=10 to take it.")
    assert "equal" not in said.text
    numbers = {"point": 1, "k": 5, "other_k": 10, "suppressed": 25, "other_suppressed": 55}
    assert numbers.items() <= said.numbers.items()
    assert (said.numbers["kept"], said.numbers["other_kept"]) == pytest.approx((84.0, 83.5))


def test_w16_stands_beside_a_point_that_is_released() -> None:
    """Of every point of a real front it is told where there is a safer one, and nowhere else."""
    front = run_plan(problem(adult_table(), ("k", "glm"), 0.01))
    told = {}
    for point in (each for each in front if each.values["k"] < 20):
        said = {each.id: each.text for each in warnings_for(point, Handling(), {"k": 1}, None)}
        told[point.id] = said.get("W16")
    expected = {place: find_safer(front[place]) for place in told}
    assert told == {place: safer.sentence() if safer else None for place, safer in expected.items()}
    assert any(told.values())


def test_w16_is_quiet_where_safety_has_its_price() -> None:
    """Points far apart in detail are a choice, and close ones that are hardly safer no reason for a word."""
    made = rows_in_classes([2])
    for points in ([(5, 84.0, 0), (10, 60.0, 0)], [(5, 84.0, 0), (6, 83.9, 0)], [(5, 84.0, 0)]):
        assert remark(Context(made, safer=find_safer(made_front(points)[0])), "W16") is None
    assert remark(Context(made), "W16") is None


def test_w20_says_that_column_totals_tell_as_much() -> None:
    """Where everything is hidden the release is the control; labels class by class have other advice."""
    table = related_table()
    said = remark(Context(classes(table, top(table.hierarchies)), {"k": 5}), "W20")
    assert said is not None
    assert said.severity == "caution"
    assert said.numbers["error"] == pytest.approx(said.numbers["control"])
    assert said.text.startswith("The release tells an analyst little more than the totals of its columns: counts over")
    assert said.text.endswith(
        "Recode class by class (--model local), or publish the totals of the columns (one-way counts) alone."
    )


def test_w20_is_quiet_where_the_release_tells_more_and_where_few_rows_could_judge() -> None:
    """The table as it is, thirty rows at least, nothing that a private mechanism made."""
    table, few = related_table(), related_table(related_rows(29))
    assert remark(Context(classes(table, bottom(table.hierarchies))), "W20") is None
    assert remark(Context(classes(few, top(few.hierarchies))), "W20") is None
    hidden = classes(table, top(table.hierarchies))
    assert remark(Context(hidden, differentially_private=True), "W20") is None


def test_remarks_are_in_order_and_plain_data() -> None:
    """A release of Adult gets its remarks by number, each with text and numbers that JSON can hold."""
    table = adult_table()
    rule = Suppression("cap-max-k", 0.01)
    made = partition(table, node(table.hierarchies, [3, 1, 2, 1, 1, 0, 2, 1]), rule)
    context = Context(made, {"k": 2}, rule, unique_rows(adult()), search=POKA, certificate=True)
    found = remarks(context)
    names = ["W1", "W2", "W3", "W4", "W6", "W7", "W11", "W13", "W14", "W15"]
    assert [each.id for each in found] == names
    for each in found:
        assert each.text.endswith("." if each.remedy is None else each.remedy.text)
        assert each.remedy is not None or each.severity == "note" or each.id == "W1"  # each caution says what to do
        assert set(each.to_dict()) == {"id", "severity", "text", "numbers"}


def test_an_empty_release_is_remarked_upon_without_numbers_of_classes() -> None:
    """Where everything is suppressed only that is said."""
    assert [each.id for each in remarks(Context(empty(), search=EXACT, certificate=True))] == ["W7"]


def test_declared_hierarchies_of_other_columns_are_no_trigger() -> None:
    """A hierarchy loaded from lines is not data-dependent."""
    assert not load("q", PAIRS).data_dependent


def test_the_page_is_true() -> None:
    """Every example on the page gives what it says."""
    page = Path(__file__).parents[2] / "docs" / "risk.md"
    found = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert found.attempted > 5
    assert found.failed == 0
