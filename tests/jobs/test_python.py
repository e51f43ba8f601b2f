"""What a person at a Python prompt meets: hierarchies where none was given, short answers, warnings, own sentences."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kpareto
from kpareto.atomic import check_target
from kpareto.errors import BadHierarchy, BadInput, BadJob, BadSchema
from kpareto.jobs.anonymize import finest_levels
from kpareto.jobs.proposals import complete_hierarchies
from kpareto.releases.warnings import Remark, count_remarks, rank_remarks
from kpareto.tables.hierarchies import load
from kpareto.tables.recoding import level_words
from kpareto.verifier.certificate import tell_broken

kp: Any = kpareto  # people at a prompt write lists where types say tuples, and worse
SECRET = "Q7-secret"


def people(rows: int = 400) -> pd.DataFrame:
    """People with numbers, dates, codes and words, and an id that nobody may see."""
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "name": [f"{SECRET}-{row}" for row in range(rows)],
            "age": rng.integers(18, 90, rows),
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, rows), unit="D"),
            "sex": rng.choice(["f", "m"], rows),
            "illness": rng.choice(["flu", "cold", f"{SECRET}-pox"], rows),
        }
    )


QUASI = ["age", "seen", "sex"]


def test_numbers_and_dates_get_hierarchies_of_their_own() -> None:
    """Ages are shown in steps, not starred as a whole, and the result says which hierarchies were made."""
    done = kp.anonymize(people(), QUASI, "illness", "name", k=5, suppression_limit=0.02)
    assert done.data["age"].nunique() > 1
    told = next(each for each in done.release.remarks if each.startswith("No hierarchy was given"))
    assert re.search(r"age \{intervals = \[.*\], from = 0\}", told)
    assert 'seen {dates = ["month", "quarter", ' in told
    flat = kp.anonymize(people(), ["age"], identifiers="name", hierarchies={"age": {"flat": True}}, k=5)
    assert set(flat.data["age"]) == {"*"}
    assert not [each for each in flat.release.remarks if "No hierarchy" in each]


def test_a_file_with_national_dates_is_released_by_its_path(tmp_path: Path) -> None:
    """From inspect to the release, no word about the form of the file is needed; nor about texts for no value."""
    lines = [f"n{i};{10 + i % 9}.0{1 + i % 4}.19{60 + i % 20};{'wm'[i % 2]};{(i % 3) / 2}" for i in range(240)]
    lines[7] = "n7;NA;w;flu"
    text = "name;birth date;sex;diagnosis\n" + "\n".join(lines).replace("0.5", "0,5") + "\n"
    (tmp_path / "people.csv").write_text(text, encoding="utf-8")
    profile = kp.inspect(tmp_path / "people.csv")
    assert profile.form.dates == {"birth date": "%d.%m.%Y"}
    point = kp.front(profile.job).choose(k=5)
    done = kp.release(point, str(tmp_path / "people.csv"), tmp_path / "out.csv", limits={"k": 5}, warnings=())
    assert done.rows + done.suppressed == 239
    assert (tmp_path / "out.csv").read_text(encoding="utf-8").startswith("birth date;sex;diagnosis\n")
    assert repr(profile.job) == f"Job({tmp_path / 'people.csv'}, 4 columns, exact for k, glm, k 5, l 2)"
    assert re.fullmatch(r"Verified\([\d,]+ rows in \d+ classes, k = \d+.*\)", repr(done.verified))
    assert SECRET not in repr(done.verified)
    recoding = kp.store(done.choice, {"k": 5}, done.origin)
    applied = kp.apply(recoding, tmp_path / "people.csv")
    assert re.fullmatch(r"Applied\(\d+ rows, k = \d+, \d+ suppressed\)", repr(applied))


def test_front_makes_them_too_and_leaves_what_was_given() -> None:
    """The front of a table that was only read has the same hierarchies; one that was given stays."""
    table = kp.read(people(), kp.Schema(QUASI))
    assert table.bare == tuple(QUASI)
    front = kp.front(table, objectives=["k", "lm"])
    assert [h.height > 1 for h in front.problem.table.hierarchies] == [True, True, False]
    assert front.problem.table.remarks[-1] in front.summary()
    own = kp.read(people(), kp.Schema(QUASI), hierarchies={"age": {"intervals": [30]}})
    assert own.bare == ("seen", "sex")
    assert kp.front(own).problem.table.hierarchies[0].height == 2
    assert complete_hierarchies(front.problem.table) is front.problem.table


def test_many_columns_do_not_explode() -> None:
    """Where hierarchies for all would make too many recodings, columns stay as they are, and that is said."""
    wide = pd.DataFrame({f"q{place}": [str(value) for value in range(8)] for place in range(30)})
    table = complete_hierarchies(kp.read(wide, kp.Schema(list(wide))))
    assert {h.height for h in table.hierarchies} == {1}
    assert "30 columns have no hierarchy" in table.remarks[-1]
    middling = complete_hierarchies(kp.read(wide.iloc[:, :14], kp.Schema(list(wide)[:14])))
    assert {h.height for h in middling.hierarchies} == {2}


def test_inspect_leads_on() -> None:
    """The profile of a frame gives a schema, hierarchies and a job, which search and release that frame."""
    rows = people()
    profile = kp.inspect(rows)
    assert profile.schema.quasi == ("age", "seen", "sex")
    assert "name" in profile.schema.identifier
    table = kp.read(rows, profile.schema, hierarchies=profile.hierarchies)
    assert [h.height > 1 for h in table.hierarchies] == [True, True, False]
    front = kp.front(profile.job)
    done = kp.release(front.choose(k=5), rows, limits={"k": 5})
    assert done.data.groupby(QUASI).size().min() >= 5
    assert profile.job.inputs == []


def answers() -> list[Any]:
    """All that a notebook may print by itself."""
    rows = people()
    done = kp.anonymize(rows, QUASI, "illness", "name", k=5, suppression_limit=0.02)
    table = kp.read(rows, kp.Schema(QUASI, ["illness"]), hierarchies={"age": {"intervals": [10]}})
    front = kp.front(table, objectives=["k", "lm"])
    parts = [done.release, done.release.certificate, done.release.choice, done.release.partition]
    measured = kp.measure(rows, QUASI, ["illness"])
    return [done, *parts, table, front, front[0], front[0].recoding, table.hierarchies[0], kp.inspect(rows), measured]


def test_what_is_printed_is_short_and_tells_nothing_confidential() -> None:
    """The repr of every result is a line of reasonable length, without a value of a row."""
    for answer in answers():
        text = repr(answer)
        assert len(text) <= 300, type(answer)
        assert "\n" not in text
        assert SECRET not in text
        assert "confidential" not in text.lower()
        assert "sha256" not in text


def test_results_summarize_and_draw_themselves() -> None:
    """Fronts, results and comparisons have a summary in words and a figure."""
    pytest.importorskip("matplotlib")
    done = kp.anonymize(people(), QUASI, "illness", "name", k=5, suppression_limit=0.02)
    assert re.search(r"% of the detail is kept: age (as it is|in steps of \d+|hidden), seen", done.summary())
    assert "W3 (caution)" in done.summary()
    assert SECRET not in kp.inspect(people()).summary()
    front = kp.front(kp.read(people(), kp.Schema(QUASI)), objectives=["k", "lm", "dcn"])
    assert "% of the detail kept" in front.summary()
    curves = kp.compare_models(kp.problem(kp.read(people(), kp.Schema(["age"])), ["k", "lm"]), ["lattice"], ks=[2, 5])
    for drawn in (done.plot(), front.plot(), front.plot("k", "dcn"), curves.plot()):
        assert type(drawn).__name__ == "Figure"
    assert "keeps" in curves.summary()
    assert "lattice" in repr(curves)


def test_a_picture_says_what_it_leaves_out() -> None:
    """Of three objectives two are drawn: how many trade-offs are not on the picture stands in its title."""
    front = kp.front(kp.adult_table(sensitive="occupation"), objectives=["k", "lm", "l"], suppression=0.01)
    (title,) = [axes.get_title(loc="left") for axes in front.plot().axes]
    told = re.match(r"(\d+) trade-offs .*; (\d+) more trade-offs by l are not shown", title)
    assert told is not None
    assert int(told[1]) + int(told[2]) == front.vectors


def test_the_notebook_picture_has_ticks_and_marks() -> None:
    """Axes have numbers, and the points to look at first have their names."""
    page = kp.front(kp.adult_table(), objectives=["k", "lm"], suppression=0.01)._repr_html_()
    assert ">10,000</text>" in page
    assert ">0.25</text>" in page
    assert all(f">{mark}</text>" in page for mark in ("k ≥ 3", "recommended, k ≥ 5", "k ≥ 20"))


def test_warnings_are_told_once_and_kept() -> None:
    """Anonymize and release warn once, at the caller's line, and the result has every warning, the gravest first."""
    rows = people().drop(columns="name").assign(note=range(400))
    with pytest.warns(kp.ReleaseWarning) as caught:
        done = kp.anonymize(rows, QUASI, "illness", plain="note", k=5, suppression_limit=0.02)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert "W1 (danger)" in str(caught[0].message)
    assert [each.severity for each in done.warnings] == sorted(
        (each.severity for each in done.warnings), key=["danger", "caution", "note"].index
    )
    assert {"W1", "W2", "W3", "W6"} <= {each.id for each in done.warnings}
    point = kp.front(kp.read(rows, kp.Schema(QUASI, plain=["note"])), objectives=["k", "lm"]).choose(k=5)
    with pytest.warns(kp.ReleaseWarning) as caught:
        released = kp.release(point, rows)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert "W1" in [each.id for each in released.warnings]
    assert released.certificate.public["warnings"] == [each.id for each in released.warnings]


def test_warnings_that_are_given_are_not_told_again() -> None:
    """Who works warnings out, as a job does, hears none from Python; pairs of number and text are taken too."""
    rows = people()
    point = kp.front(kp.read(rows, kp.Schema(["sex"])), objectives=["k", "lm"]).choose(k=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = kp.release(point, rows[["sex"]], warnings=[("W9", "Mind the gap.")])
    assert [(each.id, each.severity) for each in done.warnings] == [("W9", "caution")]


def test_warnings_are_counted_and_ranked() -> None:
    """Grave ones come first, and counts speak English."""
    some = [Remark("W1", "note", "", {}), Remark("W2", "danger", "", {}), Remark("W3", "note", "", {})]
    assert [each.id for each in rank_remarks(some)] == ["W2", "W1", "W3"]
    assert count_remarks(some) == "1 danger, 2 notes"


def test_of_equal_recodings_the_finer_labels_are_shown() -> None:
    """Four dates, five rows each, stay dates: their quarters would hide as little, and say less."""
    days = pd.DataFrame({"day": ["1990-01-01", "1991-05-01", "1992-08-01", "1993-11-01"] * 5, "sex": ["f"] * 20})
    done = kp.anonymize(days, ["day", "sex"], k=5)
    assert done.levels == (0, 0)
    assert set(done.data["day"]) == {"1990-01-01", "1991-05-01", "1992-08-01", "1993-11-01"}
    tree = load("day", {"dates": ["month", "year"]}, {"1990-01-01": 1, "1990-02-01": 1})
    assert finest_levels([tree], [1]) == (0,)
    assert finest_levels([tree], [2]) == (2,)


def test_levels_in_words() -> None:
    """Intervals, prefixes, dates and files say what a level does."""
    ages = load("age", {"intervals": [5, 10]}, [str(age) for age in range(20, 60)])
    assert [level_words(ages, level) for level in range(4)] == ["as it is", "in steps of 5", "in steps of 10", "hidden"]
    codes = load("zip", {"prefix": [3, 1]}, ["10115", "10117", "20095", "22303"])
    assert [level_words(codes, level) for level in (1, 2)] == ["first 3 characters", "first character"]
    days = load("day", {"dates": ["month", "year"]}, ["1990-01-01", "1990-02-01", "1991-02-01"])
    assert level_words(days, 1) == "by month"
    groups = load(
        "town", [["Ulm", "south", "*"], ["Bonn", "west", "*"], ["Köln", "west", "*"]], ["Ulm", "Bonn", "Köln"]
    )
    assert level_words(groups, 1) == "in 2 groups"


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda d: kp.read(d, {"quasi": ["age"]}), BadSchema, "The schema is a dict. Give a kpareto.Schema"),
        (
            lambda d: kp.read(d, kp.Schema(["age"]), hierarchies="age"),
            BadHierarchy,
            "hierarchies is 'age'. Give a dict",
        ),
        (lambda d: kp.Schema(quasi=3), BadSchema, "3 are no names of columns."),
        (lambda d: kp.Schema(quasi=["age", None]), BadSchema, "None is no name of a column."),
        (kp.front, BadInput, "front takes a Table or a Job, not DataFrame."),
        (lambda d: kp.front(kp.read(d, kp.Schema(["age"])), objectives=5), BadJob, "objectives is 5. Give a list"),
        (lambda d: kp.front(kp.read(d, kp.Schema(["age"])), objectives=["k", 3]), BadJob, "objectives is"),
        (lambda d: kp.front(kp.read(d, kp.Schema(["age"])), limits=["k"]), BadJob, "limits is ['k']. Give a dict"),
        (lambda d: kp.front(kp.read(d, kp.Schema(["age"])), suppression="1%"), BadJob, "is '1%'. Give a number"),
        (lambda d: kp.anonymize(d, {"age": 1}), BadSchema, "are no names of columns"),
        (lambda d: kp.anonymize(d, ["age"], hierarchies=["age"]), BadHierarchy, "hierarchies is ['age']. Give a dict"),
        (lambda d: kp.anonymize(d, ["age"], suppression_limit="1%"), BadJob, "suppression_limit is '1%'."),
    ],
)
def test_wrong_types_are_sentences(call: Any, error: type[Exception], words: str) -> None:
    """A wrong type is one of our errors that says what to give, never one of Python's."""
    with pytest.raises(error, match=re.escape(words)):
        call(people())


def test_a_single_objective_may_stand_by_itself() -> None:
    """objectives="lm" is the list of one, not its letters."""
    table = kp.read(people(), kp.Schema(["sex"]))
    assert kp.front(table, objectives="lm", limits={"k": 5}).names == ["lm"]


def test_persons_are_counted_in_one_call() -> None:
    """Anonymize takes the column that tells persons apart."""
    visits = pd.concat([people(60)] * 3)
    done = kp.anonymize(visits, ["age", "sex"], identifiers="name", person="name", k=4)
    assert done.numbers["k"] >= 4
    sizes = visits.assign(age=visits["age"])
    assert len(done.data) == len(sizes)


def test_weights_that_change_nothing_are_said() -> None:
    """Lm counts every column alike, so a weight beside it is told; nwp goes by weights, and nothing is said."""
    table = kp.read(people(), kp.Schema(("age", "sex"), weights={"age": 3.0}))
    told = kp.front(table, objectives=["k", "lm"]).summary()
    assert "The weights of age change nothing: none of k, lm goes by weights. Take nwp instead." in told
    assert "weights" not in kp.front(table, objectives=["k", "nwp"]).summary()


def test_errors_are_value_errors_and_keep_their_sentence(tmp_path: Path) -> None:
    """Whoever writes ``except ValueError`` catches ours; what is wrong is still said by whoever noticed it."""
    with pytest.raises(ValueError, match=r"^No column 'x' in the table"):
        kp.read(people(), kp.Schema(quasi=("x",)))
    (tmp_path / "folder").mkdir()
    with pytest.raises(
        kp.KparetoError, match=r"^Cannot write '.*folder': it is a folder\. Give the name of a file in it\.$"
    ):
        check_target(tmp_path / "folder")
    with pytest.raises(BadInput, match=r"^said already$"), tell_broken():
        raise BadInput("said already")
