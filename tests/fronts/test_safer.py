"""The safer point at nearly the same detail: when it is named, when not, and never a worse one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kpareto.fronts.choose import POINTS, ROWS, SAFER, choose_point, find_safer
from tests.twins.made_fronts import made_front

ROWS_OF_ADULT = 30_162


def test_half_the_risk_for_half_a_point_is_named() -> None:
    """K = 5 and k = 10 are not as good as equal: the risk halves, and the sentence says which to take and how."""
    front = made_front([(5, 84.0, 25), (10, 83.5, 55), (50, 40.0, 0)])
    found = find_safer(front[0])
    assert found is not None
    assert found.sentence() == (
        "Point 1 of the front is clearly safer at nearly the same detail: its highest risk is 10.0 % (k = 10) instead of "
        "20.0 % (k = 5), and it keeps 83.5 % of the detail instead of 84.0 %, with 30 more rows suppressed. Choose "
        "k=10 to take it."
    )
    assert choose_point(front, found.choose).id == 1


def test_the_safest_of_them_is_named() -> None:
    """Of several that cost hardly more it is the one with the largest k."""
    found = find_safer(made_front([(5, 84.0, 0), (8, 83.9, 0), (12, 82.5, 0), (400, 82.1, 0), (500, 81.9, 0)])[0])
    assert found is not None
    assert found.other.k == 400


def test_nothing_is_named_where_nothing_is_nearly_as_good() -> None:
    """Too dear, hardly safer, too many rows, safe enough, alone, or all that is left: no word."""
    for points in (
        [(5, 84.0, 0), (10, 81.9, 0)],
        [(5, 84.0, 0), (6, 83.9, 0)],
        [(5, 84.0, 0), (10, 83.9, 400)],
        [(20, 84.0, 0), (400, 83.9, 0)],
        [(5, 84.0, 0)],
        [(5, 1.5, 0), (30162, 0.0, 0)],
    ):
        assert find_safer(made_front(points)[0]) is None, points


def test_what_else_was_asked_for_must_not_suffer() -> None:
    """Neither fewer sensitive values per class nor a clearly larger other loss."""
    points = [(5, 84.0, 0), (10, 83.9, 0), (99, 10.0, 0)]
    assert find_safer(made_front(points, others={"l": [3, 2, 9]})[0]) is None
    assert find_safer(made_front(points, others={"l": [3, 3, 9]})[0]) is not None
    assert find_safer(made_front(points, others={"dcn": [100, 200, 1000]})[0]) is None
    assert find_safer(made_front(points, others={"dcn": [100, 110, 1000]})[0]) is not None


def test_a_point_that_k_does_not_choose_is_named_by_its_number() -> None:
    """Where another point has less loss at that k, words with k would take that one."""
    front = made_front([(5, 84.0, 0), (10, 83.0, 0), (10, 83.9, 900)])
    found = find_safer(front[0])
    assert found is not None
    assert (found.other.id, found.choose) == (1, "id=1")


POINT = st.tuples(st.integers(1, 40), st.floats(0, 100).map(lambda x: round(x, 2)), st.integers(0, 900))


@given(st.lists(POINT, min_size=1, max_size=12), st.data())
def test_no_point_is_named_that_is_worse_all_round(points: list[tuple[int, float, int]], data: st.DataObject) -> None:
    """What is named is much safer, keeps nearly as much and drops hardly more, whatever the front; so says a twin."""
    front = made_front(points)
    at = data.draw(st.integers(0, len(points) - 1))
    k, kept, lost = points[at]
    least = kept - min(POINTS, 0.05 * kept)
    good = [
        place
        for place, (other, detail, rows) in enumerate(points)
        if k < 20 and k / other <= SAFER and detail >= least - 1e-9 and rows <= lost + ROWS * ROWS_OF_ADULT
    ]
    found = find_safer(front[at])
    assert (found is None) == (not good)
    if found is not None:
        assert found.other.id in good
        assert found.other.k == max(points[place][0] for place in good)
        assert choose_point(front, found.choose).id == found.other.id
