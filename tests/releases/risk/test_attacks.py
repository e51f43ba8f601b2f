"""Attack tests: a planted vulnerable table and a safe one for each, and slow twins where an answer can be counted."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.engines.read import read
from kpareto.errors import BadInput, BadJob
from kpareto.releases.risk.attacks import attack, downcoding, homogeneity, list_lowered, meets, minimality
from kpareto.releases.risk.composition import composition
from kpareto.releases.risk.definetti import de_finetti, pool_rare
from kpareto.tables.adult import adult_table
from kpareto.tables.hierarchies import load
from kpareto.tables.partition import Partition, Suppression, classes, partition
from kpareto.tables.recoding import Recoding, bottom, node, top
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table
from tests.measures.test_measure import rows_in_classes
from tests.measures.test_sensitive import classes_of, table_of_values
from tests.twins.strategies import Case, cases, recodings

PAIRS = [["1", "1-2", "*"], ["2", "1-2", "*"], ["3", "3-4", "*"], ["4", "3-4", "*"]]
FLAT = {"flat": True}


def made_of(columns: Mapping[str, Sequence[str]], rules: Mapping[str, object], person: str | None = None) -> Table:
    """A table of these columns: those with a hierarchy are quasi-identifiers, the others sensitive."""
    sensitive = [name for name in columns if name not in rules and name != person]
    schema = Schema(quasi=tuple(rules), sensitive=tuple(sensitive), person=person)
    trees = {name: load(name, rule, sorted(set(columns[name]))) for name, rule in rules.items()}
    return read(pa.table({name: list(values) for name, values in columns.items()}), schema, hierarchies=trees)


def at(table: Table, *levels: int) -> Partition:
    """The classes of a lattice node."""
    return classes(table, node(table.hierarchies, levels))


def test_homogeneity_finds_likely_and_certain_classes() -> None:
    """One class has a value at 80 percent, one at 100: nine rows are likely known, four for certain."""
    found = homogeneity(classes_of(["aaaab", "bbbb", "abab"]))
    assert (found.classes, found.rows, found.certain_classes, found.certain_rows, found.all_rows) == (2, 9, 1, 4, 13)
    assert [(each.labels, each.value, each.share) for each in found.examples] == [
        (("1",), "b", 1.0),
        (("0",), "a", 0.8),
    ]
    assert "2 classes (9 of 13 rows)" in found.meaning
    assert "certain" in found.meaning
    assert found.to_dict()["found"] is True


def test_homogeneity_has_words_for_one_class_and_for_none() -> None:
    """One class is no choice among classes, and where no class has one value only, no rows are counted."""
    assert homogeneity(classes_of(["aaaab", "abc"])).meaning == (
        "Whoever finds a person in one class (5 of 8 rows) knows 's0' with at least 80% certainty; "
        "in no class it is certain."
    )
    assert "; for 4 rows in 1 class it is certain." in homogeneity(classes_of(["aaaab", "bbbb", "ab"])).meaning


def test_homogeneity_is_quiet_on_mixed_classes() -> None:
    """Where no value reaches 80 percent nothing is found."""
    found = homogeneity(classes_of(["aaab", "abc"]))
    assert not found.found
    assert "No class gives 's0' away" in found.meaning


def test_suppressed_classes_give_nothing_away() -> None:
    """A homogeneous class that is dropped is not in the release."""
    table = table_of_values(["a", "abab"])
    made = partition(table, bottom(table.hierarchies), Suppression("below-k", k=2))
    assert not homogeneity(made).found


def test_homogeneity_needs_a_share() -> None:
    """A share above 1 makes no sense."""
    with pytest.raises(BadJob, match=r"The share is 1\.5"):
        homogeneity(classes_of(["ab"]), share=1.5)


@settings(max_examples=100)
@given(case=cases(), data=st.data())
def test_lowered_recodings_are_one_step_finer(case: Case, data: st.DataObject) -> None:
    """Each changes one column, splits groups and joins none; nothing is finer than the bottom."""
    recoding = data.draw(recodings(case.table))
    for name, finer in list_lowered(recoding):
        for hierarchy, old, new in zip(recoding.hierarchies, recoding.cuts, finer.cuts, strict=True):
            if hierarchy.name == name:
                assert new[-1] > old[-1]
                assert all(len(set(old[new == group].tolist())) == 1 for group in range(int(new[-1]) + 1))
            else:
                assert (old == new).all()
    assert list(list_lowered(bottom(case.table.hierarchies))) == []


def test_lowered_by_cuts_goes_down_the_tree() -> None:
    """The root becomes its two children; a group that is no node of the tree becomes its leaves."""
    tree = load("q", PAIRS)
    whole = Recoding((tree,), (np.zeros(4, dtype=np.int32),))
    assert next(list_lowered(whole))[1].cuts[0].tolist() == [0, 0, 1, 1]
    odd = Recoding((tree,), (np.array([0, 1, 1, 1], dtype=np.int32),))
    assert next(list_lowered(odd))[1].cuts[0].tolist() == [0, 1, 2, 3]


def test_minimality_finds_what_only_sensitive_values_joined() -> None:
    """Leaves 1 and 2 have two rows each, enough for k = 2, but leaf 1 has one value: that they are joined tells."""
    table = made_of({"q": ["1", "1", "2", "2", "3", "4"], "ill": ["H", "H", "F", "C", "F", "C"]}, {"q": PAIRS})
    found = minimality(at(table, 1), {"k": 2, "l": 2})
    assert (found.classes, found.rows, found.all_rows, found.applies) == (1, 4, 6, True)
    assert found.columns == ()  # leaf 3 has one row: k would fail there in the whole release
    assert "1 class (4 of 6 rows) is large enough" in found.meaning


def test_minimality_of_the_whole_release() -> None:
    """Where the whole column could be finer but for the values, the column is named."""
    table = made_of(
        {"q": ["1", "1", "2", "2", "3", "3", "4", "4"], "ill": ["H", "H", "F", "C", "F", "C", "F", "C"]}, {"q": PAIRS}
    )
    found = minimality(at(table, 1), {"k": 2, "l": 2})
    assert (found.classes, found.columns) == (1, ("q",))
    assert "In the whole release this holds for q" in found.meaning


def test_minimality_is_quiet_where_sizes_decide() -> None:
    """Classes joined because their parts are too small say nothing about the values, nor do those without a limit."""
    table = made_of({"q": ["1", "2", "3", "4"], "ill": ["H", "H", "F", "C"]}, {"q": PAIRS})
    assert not minimality(at(table, 1), {"k": 2, "l": 1}).found
    without = minimality(at(table, 1), {"k": 2})
    assert not without.applies
    assert "says nothing about them" in without.meaning
    assert "alone" in minimality(at(table, 1), {"k": 2, "l": 1}).meaning


def test_downcoding_of_a_minimal_release() -> None:
    """Every leaf has one row, k = 2 needs pairs: the pairs are minimal, and all four rows exclude an alternative."""
    table = made_of({"q": ["1", "2", "3", "4"], "ill": ["a", "b", "a", "b"]}, {"q": PAIRS})
    found = downcoding(at(table, 1), {"k": 2})
    assert (found.minimal, found.hierarchical, found.excluded_rows, found.small_rows) == (True, True, 4, 4)
    assert "exclude for 4 of 4 rows" in found.meaning


def test_downcoding_needs_minimality() -> None:
    """A release that could be finer excludes nothing, and says which column."""
    table = made_of({"q": ["1", "1", "2", "2", "3", "3", "4", "4"]}, {"q": PAIRS})
    found = downcoding(at(table, 1), {"k": 2})
    assert (found.minimal, found.finer, found.excluded_rows, found.found) == (False, ("q",), 0, False)
    assert "q could be a step finer" in found.meaning


def test_downcoding_has_nothing_to_recover_at_the_bottom() -> None:
    """A release that generalizes nothing is minimal and hides nothing."""
    found = downcoding(rows_in_classes([3, 4]), {"k": 3})
    assert (found.minimal, found.found) == (True, False)
    assert "nothing to recover" in found.meaning


def test_downcoding_needs_the_limits_to_be_kept() -> None:
    """A release that breaks its limits is no minimal one, whatever finer ones do."""
    found = downcoding(rows_in_classes([1, 4]), {"k": 3})
    assert (found.minimal, found.found) == (False, False)
    assert "does not keep its limits" in found.meaning


def test_downcoding_of_ordered_cuts_is_not_hierarchical() -> None:
    """Groups that are no nodes of a known tree cannot be downcoded by it."""
    table = made_of({"q": ["1", "2", "3", "4"]}, {"q": PAIRS})
    cuts = (np.array([0, 1, 1, 1], dtype=np.int32),)
    assert not downcoding(classes(table, Recoding(table.hierarchies, cuts)), {"k": 1}).hierarchical


def test_meets_compares_in_the_right_direction() -> None:
    """K must be at least, shares at most; an empty or infeasible release meets nothing."""
    made = classes_of(["aab", "abb"])
    assert meets(made, {"k": 3, "alpha": 2 / 3, "l": 2})
    assert not meets(made, {"k": 4})
    assert not meets(made, {"alpha": 0.5})
    table = table_of_values(["a", "b"])
    assert not meets(partition(table, bottom(table.hierarchies), Suppression("below-k", k=2)), {"k": 1})


def areas(dependent: bool, seed: int = 0) -> Table:
    """200 areas of ten people, from no smokers to all; smokers have cancer, or nobody knows who has."""
    rng = np.random.default_rng(seed)
    smokers = np.repeat(np.arange(200) % 11, 10) > np.tile(np.arange(10), 200)
    chance = np.where(smokers, 0.9, 0.1) if dependent else np.full(2000, 0.5)
    ill = np.where(rng.random(2000) < chance, "cancer", "flu")
    columns = {
        "area": np.repeat([f"a{i:03}" for i in range(200)], 10).tolist(),
        "smokes": np.where(smokers, "yes", "no").tolist(),
        "ill": ill.tolist(),
    }
    return made_of(columns, {"area": FLAT, "smokes": FLAT})


def test_de_finetti_learns_who_is_ill() -> None:
    """Smoking is hidden in the release, yet classes with more smokers have more cancer, and that gives smokers away."""
    found = de_finetti(at(areas(dependent=True), 0, 1))
    assert found.in_class < 0.8
    assert found.accuracy > 0.86
    assert found.found
    assert "more rows away" in found.meaning


def test_de_finetti_learns_nothing_where_there_is_nothing() -> None:
    """Where illness does not depend on smoking, the class is as good a guess."""
    found = de_finetti(at(areas(dependent=False), 0, 1))
    assert not found.found
    assert "as good a guess" in found.meaning


def test_de_finetti_of_an_ungeneralized_release_is_the_class() -> None:
    """Where every leaf is its own group, the classifier knows what the class says and no more."""
    found = de_finetti(at(areas(dependent=True), 0, 0))
    assert found.accuracy == found.in_class


def test_de_finetti_counts_persons() -> None:
    """A person with many rows counts once, for each of their rows in equal parts, and so does the class's guess."""
    rows = {"q": ["x"] * 6 + ["y"] * 2, "s": ["a", "a", "a", "a", "b", "b", "b", "a"], "id": [*"1111", *"2345"]}
    told = de_finetti(at(made_of(rows, {"q": FLAT}, "id"), 0))
    # In class x persons 2 and 3 have b and person 1 has a, though four rows of six have it; in y one has a, one b.
    assert (told.unit, told.rows) == ("person", 5)
    assert told.in_class == pytest.approx(3 / 5)
    assert "of 5 persons" in told.meaning
    again = {"q": ["x", "x", "y", "y"], "s": ["a", "a", "b", "b"], "id": [*"1212"]}
    told = de_finetti(at(made_of(again, {"q": FLAT}, "id"), 0))
    assert (told.rows, told.in_class, told.accuracy) == (2, 1.0, 1.0)


def test_de_finetti_needs_rows_and_a_sensitive_column() -> None:
    """An empty release and a table without sensitive column are explained."""
    table = table_of_values(["a", "b"])
    with pytest.raises(BadInput, match="no release to attack"):
        de_finetti(partition(table, bottom(table.hierarchies), Suppression("below-k", k=5)))
    with pytest.raises(BadInput, match="needs a sensitive column"):
        de_finetti(rows_in_classes([2]))


def test_pooling_keeps_the_rows() -> None:
    """Of 100 values the 31 most frequent stay, the others become one, and no row is lost."""
    table = made_of({"q": ["x"] * 5050, "s": [f"v{i:03}" for i in range(101) for _ in range(i)]}, {"q": FLAT})
    few = pool_rare(table.sensitive[0])
    assert len(few.values) == 32
    assert few.values[0] == "v100"
    assert few.totals.sum() == 5050
    assert few.totals[:3].tolist() == [100, 99, 98]


def test_composition_finds_what_two_releases_tell_together() -> None:
    """One release shows a, the other b: each has classes of two, together every row is alone and its value known."""
    columns = {"a": ["1", "1", "2", "2"], "b": ["1", "2", "1", "2"], "ill": ["F", "C", "C", "F"]}
    table = made_of(columns, {"a": FLAT, "b": FLAT})
    found = composition(at(table, 0, 1), at(table, 1, 0), 2)
    assert (found.by, found.classes, found.small_classes, found.small, found.alone) == ("rows", 4, 4, 4, 4)
    assert found.revealed == 0  # both values are in every class
    assert "4 of 4 rows are in classes of fewer than 2" in found.meaning


def test_composition_of_a_release_with_itself_is_safe() -> None:
    """The same classes twice are the same classes."""
    table = areas(dependent=False)
    made = at(table, 0, 1)
    found = composition(made, made, 10)
    assert not found.found
    assert "every class still has at least 10 rows" in found.meaning


def test_composition_by_person() -> None:
    """Persons 1 to 4 are in both tables; in the intersections each is alone, and their illness is certain."""
    first = made_of(
        {"q": ["1", "1", "2", "2"], "who": ["p1", "p2", "p3", "p4"], "ill": ["F", "C", "F", "C"]}, {"q": FLAT}, "who"
    )
    second = made_of(
        {"r": ["1", "2", "1", "2", "2"], "who": ["p1", "p2", "p3", "p4", "p5"], "ill": ["F", "C", "F", "C", "M"]},
        {"r": FLAT},
        "who",
    )
    found = composition(at(first, 0), at(second, 0), 2)
    assert (found.by, found.matched, found.small, found.alone) == ("persons", 4, 4, 4)
    assert found.revealed == 2  # p2 and p4: {F, C} and {C, M} have C in common
    assert "persons" in found.meaning


def test_composition_by_person_is_quiet_where_nobody_is_in_both() -> None:
    """Different people have nothing to intersect."""
    first = made_of({"q": ["1"], "who": ["p1"]}, {"q": FLAT}, "who")
    second = made_of({"q": ["1"], "who": ["p2"]}, {"q": FLAT}, "who")
    found = composition(at(first, 0), at(second, 0), 2)
    assert not found.found
    assert "no class in common" in found.meaning


def test_composition_by_labels() -> None:
    """Without ids the rows of the first are looked up in the second by their values, which it may not all know."""
    first = made_of({"q": ["1", "2", "3", "4", "5"], "ill": ["F", "C", "F", "M", "M"]}, {"q": FLAT})
    second = made_of({"q": ["1", "2", "3", "4", "4"], "ill": ["C", "F", "F", "M", "C"]}, {"q": PAIRS})
    found = composition(at(first, 1), at(second, 1), 3)
    assert (found.by, found.matched, found.classes, found.small) == ("labels", 4, 2, 4)
    assert "matched by labels only" in found.meaning
    assert not composition(at(first, 1), at(second, 2), 3).small


def test_composition_needs_common_columns() -> None:
    """A column that only the earlier release has leaves the class open, and the sentence says what to do."""
    first = made_of({"q": ["1"]}, {"q": FLAT})
    second = made_of({"q": ["1"], "r": ["1"]}, {"q": FLAT, "r": FLAT})
    with pytest.raises(BadInput, match=r"quasi-identifiers r, which the other lacks.*Give both tables a person id"):
        composition(at(first, 0), at(second, 0, 0), 2)
    with pytest.raises(BadInput, match="k is 0"):
        composition(at(first, 0), at(first, 0), 0)


@settings(max_examples=150)
@given(case=cases(), data=st.data(), k=st.integers(1, 4))
def test_composition_agrees_with_a_slow_twin(case: Case, data: st.DataObject, k: int) -> None:
    """Intersections by rows and by persons are those of sets of rows and of persons."""
    pair = [data.draw(recodings(case.table)) for _ in range(2)]
    found = composition(classes(case.table, pair[0]), classes(case.table, pair[1]), k)
    cells: dict[tuple[object, ...], set[object]] = defaultdict(set)
    groups = [
        [tuple(int(cut[leaf]) for cut, leaf in zip(r.cuts, row.leaves, strict=True)) for row in case.rows] for r in pair
    ]
    for place, row in enumerate(case.rows):
        for other, row2 in enumerate(case.rows):
            same = place == other if row.person is None else row.person == row2.person
            if same:
                cells[groups[0][place], groups[1][other]].add(place if row.person is None else row.person)
    small = [people for people in cells.values() if len(people) < k]
    assert found.classes == len(cells)
    assert found.small_classes == len(small)
    assert found.small == len(set().union(*small))
    assert found.alone == len(set().union(*(people for people in cells.values() if len(people) == 1)))
    assert found.matched == len(set().union(*cells.values()))


@settings(max_examples=80)
@given(case=cases(persons=False), data=st.data(), k=st.integers(1, 3))
def test_minimality_and_downcoding_agree_with_slow_twins(case: Case, data: st.DataObject, k: int) -> None:
    """Class by class: parts large enough but one-valued; parts too small."""
    recoding = data.draw(recodings(case.table))
    made = classes(case.table, recoding)

    def key(cuts: Sequence[np.ndarray], leaves: Sequence[int]) -> tuple[int, ...]:
        return tuple(int(cut[leaf]) for cut, leaf in zip(cuts, leaves, strict=True))

    exposed: set[tuple[int, ...]] = set()
    stuck: set[tuple[int, ...]] = set()
    for _, finer in list_lowered(recoding):
        parts: dict[tuple[int, ...], dict[tuple[int, ...], list[str]]] = defaultdict(lambda: defaultdict(list))
        for row in case.rows:
            parts[key(recoding.cuts, row.leaves)][key(finer.cuts, row.leaves)].append(row.sensitive[0])
        for owner, pieces in parts.items():
            if any(len(piece) < k for piece in pieces.values()):
                stuck.add(owner)
            elif any(len(set(piece)) < 2 for piece in pieces.values()):
                exposed.add(owner)
    sizes = Counter(key(recoding.cuts, row.leaves) for row in case.rows)
    assert minimality(made, {"k": k, "l": 2}).rows == sum(sizes[owner] for owner in exposed)
    assert downcoding(made, {"k": k}).rows == sum(sizes[owner] for owner in stuck)


def test_all_tests_on_adult() -> None:
    """A release of Adult goes through every test, with a sentence each and plain data."""
    table = adult_table()
    rule = Suppression("cap-max-k", 0.01)
    made = partition(table, node(table.hierarchies, [3, 1, 2, 1, 1, 0, 2, 1]), rule)
    found = attack(made, {"k": 2, "l": 2}, rule, [partition(table, top(table.hierarchies))])
    assert len(found.sentences()) == 5
    assert set(found.to_dict()) == {"homogeneity", "minimality", "downcoding", "de_finetti", "composition"}
    assert found.homogeneity[0].column == "occupation"
    assert not found.composition[0].small


def test_all_tests_on_an_empty_release() -> None:
    """Where nothing is released, nothing is found."""
    table = table_of_values(["a", "b"])
    rule = Suppression("below-k", k=5)
    found = attack(partition(table, bottom(table.hierarchies), rule), {"k": 5}, rule)
    assert found.homogeneity == ()
    assert not found.downcoding.found


def test_de_finetti_never_guesses_one_of_the_others() -> None:
    """With many values the share guessed right by the class is that of its most frequent value, however rare that is."""
    rows = 2000
    frame = pl.DataFrame({"q": [i % 4 for i in range(rows)], "s": [f"{i * 7 % 997}" for i in range(rows)]})
    table = read(frame, Schema(quasi=("q",), sensitive=("s",)))
    release = partition(table, bottom(table.hierarchies))
    told = de_finetti(release)
    most = sum(frame.group_by("q", "s").len().group_by("q").agg(pl.col("len").max())["len"].to_list())
    assert told.in_class == most / rows
    assert told.in_class < 0.01
    assert told.accuracy < 0.1


@pytest.mark.parametrize("k", [math.inf, -math.inf, 10.0**300])
def test_a_k_that_no_table_has_is_no_traceback(k: float) -> None:
    """What is asked for cannot be met, or says nothing: the test of downcoding answers all the same."""
    release = rows_in_classes([4, 6])
    assert downcoding(release, {"k": k}).all_rows == 10
