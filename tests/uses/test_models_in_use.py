"""Two models beside each other in use: the numbers of a release, on a sample, and silence where nothing can be said."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

import kpareto as kp
from kpareto.errors import Interrupted, Stopped
from kpareto.fronts.problem import Problem, problem
from kpareto.kernels.compiling import COMPILATIONS, NotCompiled, Refusal, without_compiling
from kpareto.measures.use import yardstick
from kpareto.tables.table import Population, sample_rows
from kpareto.uses import models_in_use as room
from kpareto.uses.models_in_use import ModelsInUse, models_in_use
from tests.twins.use import related_rows, related_table

LIMITS = {"k": 4.0, "l": 2.0}


@pytest.fixture(autouse=True)
def _time(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as it takes, on any machine."""
    monkeypatch.setattr(room, "SECONDS", 600.0)


@pytest.fixture(scope="module")
def asked() -> Problem:
    """People of four hundred rows, a tenth of whom may be suppressed."""
    return problem(related_table(), ["k", "glm"], 0.1, LIMITS)


def test_the_numbers_are_those_of_both_searches(asked: Problem) -> None:
    """Whole columns by the exact front, class by class by the same short search, each by count-error; so the control."""
    use = models_in_use(asked)
    assert use is not None
    assert (use.k, use.rows, use.of) == (4, 400, 400)
    assert use.sentence().startswith("Measured on all 400 rows at k = 4: counts over two and three columns are off by ")
    error = kp.make("count-error")
    exact = kp.front(asked.table, objectives=["k", "glm"], suppression=0.1, limits=LIMITS)
    assert use.whole == error(min(exact, key=lambda point: point.values["glm"]).partition)
    options = {"ks": [4], "turns": room.TURNS, "walks": 0}
    local = kp.front(
        asked.table, objectives=["k", "glm"], suppression=0.1, limits=LIMITS, method="local", options=options
    )
    assert use.local == error(local[0].partition)
    assert use.control == yardstick(asked.table).control.mean()


def test_a_sample_is_said_to_be_one(asked: Problem) -> None:
    """Fewer rows than there are are drawn by seed, the same each time, and limits and suppression stay."""
    use = models_in_use(asked, rows=200)
    assert use is not None
    assert "Measured on a random sample of 200 of 400 rows at k = 4: " in use.sentence()
    drawn = sample_rows(asked.table, 200, 1)
    exact = kp.front(drawn, objectives=["k", "glm"], suppression=0.1, limits=LIMITS)
    assert use.whole == kp.make("count-error")(min(exact, key=lambda point: point.values["glm"]).partition)
    assert models_in_use(asked, rows=200) == use


def test_the_sentence_says_which_is_better_only_where_it_is() -> None:
    """By more than chance, class by class is; else that they do not differ, or that whole columns are better."""
    use = ModelsInUse(5, 300, 9000, 100, 0.3, 0.1, 0.4, "local")
    told = "off by 30.0% on average from whole columns, by 10.0% class by class, and by 40.0% with the column totals alone."
    assert use.sentence().endswith(told)
    assert replace(use, better=None).sentence().endswith("The two models differ by no more than chance there.")
    assert replace(use, better="whole").sentence().endswith("Whole columns give the better counts there.")


def test_nothing_is_said_where_nothing_can_be(asked: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    """Persons, a population, few rows, limits that nothing meets or class by class does not know, and no time."""
    rows = related_rows()
    table = asked.table
    someone = rows.append_column("id", [[str(row // 2) for row in range(rows.num_rows)]])
    persons = related_table(someone, kp.Schema(("age", "town", "sex"), sensitive=("ill",), person="id"))
    assert models_in_use(problem(persons, ["k", "glm"], 0.1)) is None
    assert models_in_use(problem(replace(table, population=Population(table=table)), ["k", "glm"], 0.1)) is None
    assert models_in_use(problem(related_table(rows.slice(0, 20)), ["k", "glm"], 0.1)) is None
    assert models_in_use(problem(related_table(rows.slice(0, 3)), ["k", "glm"])) is None
    assert models_in_use(problem(table, ["k", "glm"], 0.1, {"k": 4, "l": 9})) is None
    assert models_in_use(problem(table, ["k", "glm"], 0.1, {"k": 4, "risk-mean": 0.2})) is None
    alike = kp.read(pa.table({"a": ["x"] * 40}), kp.Schema(("a",)))
    assert models_in_use(problem(alike, ["k", "glm"])) is None
    monkeypatch.setattr(room, "SECONDS", 1e-9)
    assert models_in_use(asked) is None


def test_who_listens_can_stop_it(asked: Problem) -> None:
    """That is raised, and no answer comes."""

    def stop(_: int, __: int) -> None:
        raise Stopped

    with pytest.raises(Interrupted, match="Stopped before the models were measured"):
        models_in_use(asked, stop)


def test_without_compiling_nothing_is_compiled() -> None:
    """A loop that is not at hand raises, in any thread, and is compiled when it is called later."""
    from numba import njit

    @njit(cache=False)
    def twice(number: int) -> int:
        """A loop of its own, of which nothing lies on the disk."""
        return 2 * number

    with without_compiling(), pytest.raises(NotCompiled):
        twice(3)
    assert not COMPILATIONS.under_way
    assert twice(3) == 6
    with without_compiling():
        assert twice(4) == 8
    assert not any(isinstance(each, Refusal) for each in listeners())


def listeners() -> list[object]:
    """Whoever numba tells that a loop is compiled."""
    from numba.core import event

    return list(event._registered["numba:compile"])
