"""Plain columns that tell what generalized ones hide: found where they are planted, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from kpareto.jobs.parse import parse_job
from kpareto.jobs.release import release_job
from kpareto.releases.release import Release
from kpareto.releases.risk import disclosing_columns

ROWS = 3000
JOB = """
[data]
source = "people.csv"
[columns.school]
role = "quasi-identifier"
hierarchy = {flat = true}
[columns.sex]
role = "quasi-identifier"
[limits]
k = 200
[release]
choose = "k=200"
target = "out.csv"
"""


def released(folder: Path, more: str = "") -> Release:
    """School is hidden as a whole (12 schools have too few rows each), with the plain columns beside it."""
    chance = np.random.default_rng(1)
    school = chance.integers(0, 12, ROWS)
    frame = pl.DataFrame(
        {
            "school": [f"s{place:02d}" for place in school],
            "sex": [("f", "m")[one] for one in chance.integers(0, 2, ROWS)],
            "years": school + 5,  # the same, as a number
            "tens": school // 10 * 10 + chance.integers(0, 10, ROWS) // 5,  # half of a number
            "ones": school % 10,
            "shoe": chance.integers(36, 46, ROWS),  # has nothing to do with it
        }
    )
    frame.write_csv(folder / "people.csv")
    plain = [name for name in ("years", "tens", "ones") if f"[columns.{name}]" not in more]
    more += "".join(f'[columns.{name}]\nrole = "plain"\n' for name in plain)  # decided about, so none is tied
    return release_job(parse_job(JOB + more, folder))


LEFT_OUT = "".join(f'[columns.{name}]\nrole = "identifier"\n' for name in ("years", "tens", "ones"))


def test_an_earlier_name_still_works_and_warns(tmp_path: Path) -> None:
    """``Release.tellers`` are the disclosing columns, with a word for whoever wrote it."""
    done = released(tmp_path)
    with pytest.warns(DeprecationWarning, match="tellers is disclosing_columns now"):
        assert done.tellers == done.disclosing_columns != ()


def test_a_twin_in_clear_is_a_danger(tmp_path: Path) -> None:
    """It is named with the k that is left when it is joined, counted here by polars."""
    done = released(tmp_path)
    column = next(each for each in done.disclosing_columns if each.columns == ("years",))
    assert (column.tells, column.told.exact, column.declared) == ("school", True, False)
    rows = pl.read_csv(tmp_path / "out.csv")
    assert rows["school"].unique().to_list() == ["*"]
    sizes = rows.group_by("school", "sex", "years").len()["len"]
    assert column.k == sizes.min()
    assert done.point is not None
    assert column.below == sizes.filter(sizes < done.point.values["k"]).sum()
    warning = next(each for each in done.warnings if each.id == "W17")
    assert warning.severity == "danger"
    assert "'years' tells what 'school' hides in every row" in warning.text
    assert warning.text in [each.text for each in done.warnings if each.id == "W17"]


def test_persons_are_counted_where_k_counts_them(tmp_path: Path) -> None:
    """Everybody has two rows: the k that is left is one of persons, as the promised one; counted here by polars."""
    chance = np.random.default_rng(1)
    school, sex = chance.integers(0, 12, ROWS // 2).repeat(2), chance.integers(0, 2, ROWS // 2).repeat(2)
    cells = {"who": np.arange(ROWS) // 2, "school": [f"s{place:02d}" for place in school], "sex": sex, "years": school}
    pl.DataFrame(cells).write_csv(tmp_path / "people.csv")
    text = JOB.replace('"people.csv"', '"people.csv"\nperson = "who"').replace("200", "80")
    text += '[columns.years]\nrole = "plain"\n'
    done = release_job(parse_job(text, tmp_path))
    (column,) = done.disclosing_columns
    sizes = pl.DataFrame(cells).group_by("sex", "years").agg(pl.col("who").n_unique(), pl.len())
    assert (column.k, column.below) == (sizes["who"].min(), ROWS)


def test_two_columns_tell_together_what_neither_tells_alone(tmp_path: Path) -> None:
    """The tens and the ones of a number are the number."""
    done = released(tmp_path, '[columns.years]\nrole = "identifier"\n')
    assert ("tens", "ones") in [each.columns for each in done.disclosing_columns]
    assert all("shoe" not in each.columns for each in done.disclosing_columns)


def test_what_has_nothing_to_do_with_it_tells_nothing(tmp_path: Path) -> None:
    """An independent column beside a hidden one discloses nothing, however many rows there are."""
    done = released(tmp_path, LEFT_OUT)
    assert done.disclosing_columns == ()
    assert "W17" not in [each.id for each in done.warnings]


def test_a_tied_column_shows_the_groups_of_the_other(tmp_path: Path) -> None:
    """It says no more than the other does, so nothing is left to warn of."""
    done = released(tmp_path, LEFT_OUT.replace('years]\nrole = "identifier"', 'years]\ntie = "school"'))
    rows = pl.read_csv(tmp_path / "out.csv")
    assert rows["years"].to_list() == rows["school"].to_list()
    assert done.disclosing_columns == ()


def test_a_declared_column_is_no_danger(tmp_path: Path) -> None:
    """Whoever declares it knows: the warning stays, and says so."""
    done = released(tmp_path, LEFT_OUT.replace('years]\nrole = "identifier"', "years]\ndeclared = true"))
    warning = next(each for each in done.warnings if each.id == "W17")
    assert warning.severity == "caution"
    assert "declares" in warning.text


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (
            '[columns.years]\ntie = "scool"\n',
            "columns.years.tie is 'scool', which is no quasi-identifier. Did you mean",
        ),
        ('[columns.years]\nrole = "sensitive"\ntie = "school"\n', "columns.years.tie is not used"),
        ("[columns.years]\ndeclared = 1\n", "columns.years.declared is 1. Write true or false"),
    ],
)
def test_what_cannot_be_meant_is_a_sentence(tmp_path: Path, more: str, sentence: str) -> None:
    """A tie to no quasi-identifier, and keys without a use."""
    with pytest.raises(Exception, match=sentence.replace(".", r"\.")):
        parse_job(JOB + more, tmp_path)


def test_many_rows_are_asked_by_a_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Disclosing columns are suspected on part of the rows, drawn by a hash; what they do to k is counted in all of them."""
    whole = released(tmp_path).disclosing_columns
    (tmp_path / "part").mkdir()
    monkeypatch.setattr(disclosing_columns, "SAMPLE", ROWS // 3)
    part = released(tmp_path / "part").disclosing_columns
    found_by_all, found_by_some = (
        {(each.columns, each.tells, each.k, each.below) for each in those} for those in (whole, part)
    )
    assert found_by_all
    assert found_by_all <= found_by_some
    assert 0 < max(each.told.rows for each in part) < ROWS // 2


BORN = """
[data]
source = "people.csv"
dates = {born = "%d.%m.%Y"}
[columns.born]
role = "quasi-identifier"
hierarchy = {dates = ["year", "decade"]}
[columns.pay]
role = "quasi-identifier"
hierarchy = {flat = true}
[columns.ward]
role = "plain"
[limits]
k = 20
[release]
choose = "k=20"
target = "out.csv"
"""


def told_by(folder: Path, spell: Callable[[date, float], str]) -> list[tuple[str, str]]:
    """What a plain column tells of dates and sums that hardly repeat: the column, and which part."""
    chance = np.random.default_rng(3)
    days = [date(1930, 1, 1) + timedelta(days=int(day)) for day in chance.integers(0, 30_000, 600)]
    sums = [round(float(each), 2) for each in chance.uniform(1000, 9000, 600)]
    cells = [spell(day, pay) for day, pay in zip(days, sums, strict=True)]
    born = [day.strftime("%d.%m.%Y") for day in days]
    pl.DataFrame({"born": born, "pay": sums, "ward": cells}).write_csv(folder / "people.csv")
    done = release_job(parse_job(BORN, folder))
    return [(each.tells, each.told.part) for each in done.disclosing_columns]


@pytest.mark.parametrize(
    ("spell", "told"),
    [
        (lambda day, _: f"{day:%d.%m.%Y}", ("born", "")),
        (lambda day, _: f"W{day:%d.%m.%Y}", ("born", "")),
        (lambda day, _: f"{day:%Y-%m-%d} 12:30", ("born", "")),
        (lambda day, _: f"{day.day}/{day.month}/{day.year}", ("born", "")),
        (lambda day, _: f"65{day:%d%m%y}K{day.day % 7}", ("born", "")),
        (lambda day, _: f"{day:%m.%Y}", ("born", "month")),
        (lambda day, _: f"W{day.year}", ("born", "year")),
        (lambda day, pay: f"{pay:.3f}".replace(".", ",") if day.day % 9 else "", ("pay", "")),
        (lambda _, pay: f"pays {pay} a month", ("pay", "")),
    ],
)
def test_a_copy_is_told_however_seldom_values_repeat(
    tmp_path: Path, spell: Callable[[date, float], str], told: tuple[str, str]
) -> None:
    """The same date or number written otherwise, a code that holds it, its month, its year."""
    assert told_by(tmp_path, spell) == [told]


@pytest.mark.parametrize(
    "spell",
    [
        lambda day, pay: f"case {(day.toordinal() * 7919 + int(pay * 100)) % 999_983}",
        lambda day, pay: f"{date(2024, 1, 1) + timedelta(days=(day.toordinal() + int(pay)) % 366):%d.%m.%Y}",
        lambda day, pay: f"{day.year}" if day.day < 16 else f"{1930 + int(pay * 100) % 82}",
    ],
)
def test_other_values_that_hardly_repeat_tell_nothing(tmp_path: Path, spell: Callable[[date, float], str]) -> None:
    """A number of its own, another date, a year that is right in half of the rows."""
    assert told_by(tmp_path, spell) == []


def test_a_year_that_is_shown_anyway_is_not_told(tmp_path: Path) -> None:
    """Groups that are years hide no year; a twin of the year says what the release says."""
    days = [date(1990 + row % 4, 1, 1) + timedelta(days=row * 37 % 365) for row in range(800)]
    born = [day.strftime("%d.%m.%Y") for day in days]
    pl.DataFrame({"born": born, "pay": [1] * 800, "ward": [f"{day.year}" for day in days]}).write_csv(
        tmp_path / "people.csv"
    )
    assert release_job(parse_job(BORN, tmp_path)).disclosing_columns == ()
