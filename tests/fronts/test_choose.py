"""Choosing a point by words, and marking the points that a person looks at first."""

from __future__ import annotations

import pytest

from kpareto.errors import BadJob, Unsafe
from kpareto.fronts.choose import ChoiceWords, choose_point, read_wish
from kpareto.fronts.front import DEFAULT_K, Front, least_k, marked_points, marks_of
from kpareto.fronts.problem import problem
from kpareto.measures.sizes import k
from kpareto.searches.exact_front import exact_front
from kpareto.tables.adult import adult_table
from kpareto.tables.table import Table
from tests.tables.test_partition import table_of_sizes


@pytest.fixture(scope="module")
def front() -> Front:
    """The losses LM and DCN beside k on Adult, every point with k ≥ 2."""
    return exact_front(problem(adult_table("replication"), ["k", "lm", "dcn"], 0.01, {"k": 2, "uniques": 0.5}))


@pytest.mark.parametrize(
    ("words", "wish"),
    [
        ("knee", ChoiceWords("knee")),
        ("recommended", ChoiceWords("recommended")),
        (" k=5 ", ChoiceWords("limits", {"k": 5.0})),
        ("k = 5, l=2", ChoiceWords("limits", {"k": 5.0, "l": 2.0})),
        ("id=17", ChoiceWords("id", {"id": 17.0})),
        ("prefer: nwp=0.2, necd=0.1", ChoiceWords("prefer", {"nwp": 0.2, "necd": 0.1})),
        ("t(column=a, distance=ordered)=0.3", ChoiceWords("limits", {"t(column=a, distance=ordered)": 0.3})),
    ],
)
def test_words_are_taken_apart(words: str, wish: ChoiceWords) -> None:
    """Every form that a job, the command line or the page may use."""
    assert read_wish(words) == wish


@pytest.mark.parametrize("words", ["", "k", "k=", "=5", "k=five", "prefer:", "k=5,", "best"])
def test_other_words_are_a_sentence(words: str) -> None:
    """What is not understood is told, with what may be said."""
    with pytest.raises(BadJob, match="Write k=5, recommended, id=17"):
        read_wish(words)


def test_points_are_chosen_as_the_front_chooses(front: Front) -> None:
    """Words and methods of a front name the same points."""
    assert choose_point(front, "k=5").id == front.choose(k=5).id
    assert choose_point(front, "knee").id == front.knee().id
    assert choose_point(front, "prefer: lm=0.2").id == front.prefer(lm=0.2).id
    assert choose_point(front, "id=3").id == 3
    assert choose_point(front).id == choose_point(front, "recommended").id == front.recommendation.point.id


def test_a_limit_that_every_point_meets_asks_for_nothing(front: Front) -> None:
    """A measure that is limited but no objective may stand in the words, up to its limit."""
    assert choose_point(front, "uniques=0.7").id == front.choose_least().id
    with pytest.raises(BadJob, match="'uniques' is not an objective"):
        choose_point(front, "uniques=0.1")


def test_models_in_the_words_bind_a_release() -> None:
    """Limits do, and under prefer those that are better higher; losses and numbers of points do not."""
    assert read_wish("k=5, lm=0.2, t(column=a)=0.3").models() == {"k": 5.0, "t(column=a)": 0.3}
    assert read_wish("prefer: k=5, t(column=a)=0.3, lm=0.2").models() == {"k": 5.0}
    assert read_wish("id=5").models() == read_wish("knee").models() == read_wish("recommended").models() == {}


def test_with_a_limit_on_k_the_least_loss_is_recommended(front: Front) -> None:
    """Every point meets the limits, so nothing else is asked, whether k = 2 or k = 11 is the limit."""
    assert front.recommendation.point.id == front.choose_least().id
    assert front.recommendation.why == "the least loss that meets the limits (k ≥ 2, uniques ≤ 0.5)"
    strict = exact_front(problem(adult_table("replication"), ["k", "lm"], 0.01, {"k": 11}))
    assert strict.recommendation.point.values["k"] >= 11
    assert strict.recommendation.point.id == strict.choose_least().id


@pytest.mark.parametrize("limits", [{}, {"l": 2}, {"lm": 0.9}])
def test_where_nothing_is_said_about_k_five_is_asked_for(limits: dict[str, float]) -> None:
    """A limit on something else leaves k open: the least loss with k ≥ 5 is recommended, as the mark of 5 has it."""
    found = exact_front(problem(adult_table(sensitive="occupation"), ["k", "lm"], 0.01, limits))
    assert found.recommendation.point.id == found.choose(k=DEFAULT_K).id
    assert found.recommendation.why.endswith("k ≥ 5, which is usual where nothing is said about k")
    assert ("meets the limits" in found.recommendation.why) == bool(limits)


def test_the_highest_risk_says_what_k_shall_be() -> None:
    """As a limit it is one on k; as an objective it is asked to be at most one in five."""
    table = adult_table()
    limited = exact_front(problem(table, ["k", "lm"], 0.01, {"risk-max": 0.1}))
    assert limited.recommendation.point.id == limited.choose_least().id
    assert least_k(limited) == 10
    wished = exact_front(problem(table, ["risk-max", "lm"], 0.01))
    assert wished.recommendation.point.values["risk-max"] <= 0.2
    assert wished.recommendation.point.id == wished.choose({"risk-max": 0.2}).id


def test_a_front_without_k_is_looked_through_for_it() -> None:
    """Of sensitive values and loss the first point by loss whose classes have five rows is recommended."""
    found = exact_front(problem(adult_table(sensitive="occupation"), ["l", "lm"], 0.01))
    best = found.recommendation.point
    sizes = {point.id: k()(point.partition) for point in found}
    assert sizes[best.id] >= DEFAULT_K
    assert all(sizes[p.id] < DEFAULT_K for p in found if p.values["lm"] < best.values["lm"])
    assert marked_points(found) == [("recommended", best)]


def test_out_of_reach_the_largest_k_is_recommended() -> None:
    """A table of four rows has no class of five."""
    table = table_of_sizes([1, 3])
    for objectives in (["k", "lm"], ["risk-max", "lm"], ["risk-mean", "lm"]):
        found = exact_front(problem(table, objectives, 0.0))
        assert k()(found.recommendation.point.partition) == 4
        assert found.recommendation.why == "the largest k there is (4), as no point reaches k ≥ 5"


def test_marks_are_the_recommended_point_and_the_common_sizes(front: Front) -> None:
    """In their order, together where one point has several, and none below what the limits ask for."""
    marks = marked_points(front)
    sizes = [(f"k ≥ {size}", point.id) for size, point in front.presets().items()]
    best = front.recommendation.point.id
    assert [(word, point.id) for word, point in marks] == [("recommended", best), ("k ≥ 2", best), *sizes]
    assert sum(len(words) for words in marks_of(front).values()) == len(marks)
    strict = exact_front(problem(adult_table("replication"), ["k", "lm"], 0.01, {"k": 7}))
    assert [word for word, _ in marked_points(strict)] == ["recommended", "k ≥ 7", "k ≥ 11", "k ≥ 20"]


def test_an_empty_front_has_nothing_to_choose(tiny: Table) -> None:
    """No marks, and a sentence."""
    empty = exact_front(problem(tiny, ["k", "lm"], 0.0, {"k": 7}))
    assert marks_of(empty) == {}
    with pytest.raises(Unsafe, match="No recoding meets the limits"):
        choose_point(empty)
