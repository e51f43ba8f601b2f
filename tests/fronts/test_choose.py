"""Choosing a point by words, and marking the points that a person looks at first."""

from __future__ import annotations

import pytest

from kpareto.errors import BadJob, Unsafe
from kpareto.fronts.choose import ChoiceWords, choose_point, default_words, marked_points, marks_of, read_wish
from kpareto.fronts.front import Front
from kpareto.fronts.problem import problem
from kpareto.searches.exact_front import exact_front
from kpareto.tables.adult import adult_table
from kpareto.tables.table import Table


@pytest.fixture(scope="module")
def front() -> Front:
    """The losses LM and DCN beside k on Adult, every point with k ≥ 2."""
    return exact_front(problem(adult_table("replication"), ["k", "lm", "dcn"], 0.01, {"k": 2, "uniques": 0.5}))


@pytest.mark.parametrize(
    ("words", "wish"),
    [
        ("knee", ChoiceWords("knee")),
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
    with pytest.raises(BadJob, match="Write k=5, knee, id=17"):
        read_wish(words)


def test_points_are_chosen_as_the_front_chooses(front: Front) -> None:
    """Words and methods of a front name the same points."""
    assert choose_point(front, "k=5").id == front.choose(k=5).id
    assert choose_point(front, "knee").id == front.knee().id
    assert choose_point(front, "prefer: lm=0.2").id == front.prefer(lm=0.2).id
    assert choose_point(front, "id=3").id == 3
    assert choose_point(front).id == choose_point(front, default_words(front)).id == front.choose(k=5).id
    assert default_words(front.slice("lm", "dcn")) == "knee"


def test_a_limit_that_every_point_meets_asks_for_nothing(front: Front) -> None:
    """A measure that is limited but no objective may stand in the words, up to its limit."""
    assert choose_point(front, "uniques=0.7").id == front.choose_least().id
    with pytest.raises(BadJob, match="'uniques' is not an objective"):
        choose_point(front, "uniques=0.1")


def test_models_in_the_words_bind_a_release() -> None:
    """Limits do, and under prefer those that are better higher; losses and numbers of points do not."""
    assert read_wish("k=5, lm=0.2, t(column=a)=0.3").models() == {"k": 5.0, "t(column=a)": 0.3}
    assert read_wish("prefer: k=5, t(column=a)=0.3, lm=0.2").models() == {"k": 5.0}
    assert read_wish("id=5").models() == read_wish("knee").models() == {}


def test_marks_are_the_knee_and_the_common_sizes(front: Front) -> None:
    """In their order, and together where one point has several; the knee only where the front is bent."""
    marks = marked_points(front)
    assert not front.bend.bent
    assert [(f"k ≥ {k}", point.id) for k, point in front.presets().items()] == [(w, p.id) for w, p in marks]
    assert sum(len(words) for words in marks_of(front).values()) == len(marks)


def test_an_empty_front_has_nothing_to_choose(tiny: Table) -> None:
    """No marks, and a sentence."""
    empty = exact_front(problem(tiny, ["k", "lm"], 0.0, {"k": 7}))
    assert marks_of(empty) == {}
    with pytest.raises(Unsafe, match="No recoding meets the limits"):
        choose_point(empty)
