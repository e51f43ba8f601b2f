"""A front in words: what is recommended, and what the next class size in common use costs."""

from __future__ import annotations

import pytest

from kpareto.fronts.front import Front, kept_percent, load_front, mark_points
from kpareto.fronts.problem import problem
from kpareto.searches.exact_front import exact_front
from kpareto.searches.run import Plan, run_plan
from kpareto.tables.adult import adult_table
from kpareto.tables.partition import Suppression
from kpareto.tables.table import Table
from tests.twins.made_fronts import made_front


def words(front: Front) -> dict[str, str]:
    """The sentence of each mark."""
    return {mark.label: mark.words for mark in mark_points(front)}


def test_each_mark_says_what_the_next_one_costs() -> None:
    """In points of detail and in rows, more or fewer; the last one has no next."""
    front = made_front([(3, 80.04, 10), (5, 74.0, 130), (11, 73.98, 131), (20, 61.0, 131)])
    assert words(front) == {
        "recommended": "Recommended: point 1, the least loss with k ≥ 5, which is usual where nothing is said about k.",
        "k ≥ 3": "From k ≥ 3 to k ≥ 5: 6.0 points of detail less, and 120 more rows suppressed.",
        "k ≥ 5": "From k ≥ 5 to k ≥ 11: hardly any detail less, and 1 more row suppressed.",
        "k ≥ 11": "From k ≥ 11 to k ≥ 20: 13.0 points of detail less, and no more rows suppressed.",
        "k ≥ 20": "",
    }


def test_one_point_may_have_several_marks() -> None:
    """The next size costs nothing where the same point reaches it, and fewer rows are told too."""
    told = words(made_front([(5, 84.0, 2025), (24, 67.1, 0)], {"k": 5}))
    assert told["recommended"] == "Recommended: point 0, the least loss that meets the limits (k ≥ 5)."
    assert told["k ≥ 5"] == "From k ≥ 5 to k ≥ 11: 16.9 points of detail less, and 2,025 fewer rows suppressed."
    assert told["k ≥ 11"] == "From k ≥ 11 to k ≥ 20: no cost, the same recoding already gives it."
    assert list(told) == ["recommended", "k ≥ 5", "k ≥ 11", "k ≥ 20"]


def test_a_size_that_no_point_reaches_is_told() -> None:
    """The last mark says which size in common use is out of reach, unless the recommendation does."""
    assert words(made_front([(3, 80.0, 0), (12, 50.0, 0)]))["k ≥ 11"] == "No point reaches k ≥ 20."
    told = words(made_front([(3, 80.0, 0), (4, 50.0, 0)]))
    assert told == {
        "recommended": "Recommended: point 1, the largest k there is (4), as no point reaches k ≥ 5.",
        "k ≥ 3": "From k ≥ 3 to the recommended point: 30.0 points of detail less, and no more rows suppressed.",
    }


def test_a_recommended_point_below_all_sizes_has_a_cost_too() -> None:
    """Under a limit that allows a small k the next size is counted from there."""
    front = made_front([(1, 99.0, 0), (3, 80.0, 0), (25, 50.0, 0)], {"k": 1})
    assert words(front)["recommended"] == (
        "Recommended: point 0, the least loss that meets the limits (k ≥ 1). "
        "From the recommended point to k ≥ 3: 19.0 points of detail less, and no more rows suppressed."
    )


def test_detail_is_told_where_the_front_has_other_losses() -> None:
    """Discernibility alone decides the points; what they keep is counted, and may be more."""
    front = exact_front(problem(adult_table(), ["k", "dcn"], 0.01))
    marks = mark_points(front)
    for mark in marks:
        if mark.beyond is not None and mark.beyond.id != mark.point.id:
            less = round(kept_percent(mark.point), 1) - round(kept_percent(mark.beyond), 1)
            assert f"{abs(less):.1f} points of detail {'less' if less > 0 else 'more'}" in mark.words
    assert [mark.label for mark in marks] == ["recommended", "k ≥ 3", "k ≥ 5", "k ≥ 11", "k ≥ 20"]


def test_a_front_without_k_has_its_recommended_point_alone(tiny: Table) -> None:
    """Where k is no objective there are no sizes to mark; an empty front has no mark at all."""
    [mark] = mark_points(exact_front(problem(tiny, ["lm", "dcn"], 0.0, {"k": 2})))
    assert mark.words == "Recommended: point 0, the least loss that meets the limits (k ≥ 2)."
    assert mark_points(exact_front(problem(tiny, ["k", "lm"], 0.0, {"k": 7}))) == []


@pytest.mark.parametrize(
    "plan", [Plan("nsga2", "cuts", 300, 1), Plan("local", "local", options={"ks": [3, 5, 15]})], ids=["cuts", "local"]
)
def test_every_model_of_recoding_has_its_marks(plan: Plan) -> None:
    """Cuts and local recodings are marked and told by the same words."""
    told = words(run_plan(problem(adult_table("default"), ["k", "glm"], Suppression("none")), plan))
    assert told["recommended"].startswith("Recommended: point ")
    assert all(text.endswith(".") for text in told.values() if text)


def test_json_says_which_point_is_recommended(tiny: Table) -> None:
    """By its id, with the marks in order; a front without points has none, and both are read back."""
    wanted = problem(tiny, ["k", "lm"], 0.0)
    front = exact_front(wanted)
    data = front.to_dict()
    assert data["recommended"] == front.recommendation.point.id
    assert [mark["label"] for mark in data["marks"]] == list(words(front))
    assert data["marks"][0]["kept"] == round(kept_percent(front.recommendation.point), 2)
    assert load_front(data, wanted).recommendation.point.id == data["recommended"]
    empty = exact_front(problem(tiny, ["k", "lm"], 0.0, {"k": 7})).to_dict()
    assert (empty["recommended"], empty["marks"]) == (None, [])


def test_the_summary_tells_them_too() -> None:
    """Each sentence has a line of its own."""
    front = exact_front(problem(adult_table(), ["k", "lm"], 0.01))
    lines = front.summary().splitlines()
    assert [mark.words for mark in mark_points(front) if mark.words] == lines[5:9]
