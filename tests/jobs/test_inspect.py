"""Profiles: what is counted, what is proposed for it, and a job file that runs as it is."""

from __future__ import annotations

import doctest
import tomllib
from collections import Counter
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pyreadstat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.engines.form import DataFile, Form
from kpareto.engines.read import read
from kpareto.errors import BadSchema, BadTable
from kpareto.faces.cli.releases import print_profile
from kpareto.fronts.markup import safe
from kpareto.jobs.inspect import SAME_WAY, Profile, inspect, job_text, may_ask_model
from kpareto.jobs.job import Job
from kpareto.jobs.parse import parse_job
from kpareto.jobs.release import release_job
from kpareto.searches.run import run_plan
from kpareto.strict import toml_key, toml_value
from kpareto.tables.adult import adult
from kpareto.tables.hierarchies import load
from kpareto.tables.partition import classes
from kpareto.tables.proposals import ColumnFacts, hierarchy_for, propose, round_width
from kpareto.tables.recoding import bottom, top
from kpareto.tables.schema import Schema
from kpareto.tables.vocabulary import FORMS, LEANINGS, identifier_kinds, topic_of, words_of
from tests.twins.use import related_rows


@pytest.fixture(scope="module")
def adult_profile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Profile]:
    """The raw CSV of Adult, and its profile."""
    file = tmp_path_factory.mktemp("adult") / "adult.csv"
    pyarrow.csv.write_csv(adult(), file)
    return file, inspect(file)


def column(profile: Profile, name: str) -> dict[str, object]:
    """What the profile says about one column."""
    return next(each.to_dict() for each in profile.columns if each.facts.name == name)


def job_of(profile: Profile, source: Path) -> Job:
    """The proposed job, read back."""
    return parse_job(job_text(profile, source.name), source.parent)


def test_adult_gets_a_sensible_proposal(adult_profile: tuple[Path, Profile]) -> None:
    """What everybody would propose for Adult is proposed."""
    profile = adult_profile[1]
    assert profile.names("quasi-identifier") == (
        *("age", "workclass", "education", "education-num", "marital-status", "occupation"),
        *("relationship", "race", "sex", "native-country"),
    )
    assert profile.names("sensitive") == ("salary-class",)
    assert profile.names("identifier") == ("fnlwgt",)  # nearly half of the rows have a value of their own
    assert profile.names("plain") == ()
    assert profile.names("decide") == ("capital-gain", "capital-loss", "hours-per-week")  # two are exact sums of money
    age = column(profile, "age")
    assert age["hierarchy"] == {"intervals": [5, 10, 20], "from": 0}
    assert (age["kind"], age["distinct"], age["missing"]) == ("whole number", 73, 0)
    assert column(profile, "workclass")["missing"] == 1836
    assert "Says the same as 'education-num'" in str(column(profile, "education")["note"])
    assert (profile.total, profile.complete, profile.missing) == (32_561, 30_162, "category")
    assert profile.pairs[0].columns == ("age", "native-country")
    assert (profile.pairs[0].unique, profile.pairs_left) == (566, 0)


def test_the_job_of_adult_runs(adult_profile: tuple[Path, Profile]) -> None:
    """The proposed job reads the file, binds its hierarchies, and its limits can be met."""
    file, profile = adult_profile
    job = job_of(profile, file)
    table = job.table()
    assert table.rows == 32_561
    assert [h.height + 1 for h in table.hierarchies] == [5, 2, 2, 5, 2, 2, 2, 2, 2, 2]
    assert profile.size == 5 * 5 * 2**8
    assert job.limits == {"k": 5, "l": 2}
    assert (job.method, job.choose, job.target) == ("exact", "k=5", "adult-anon.csv")
    problem = job.problem(table)
    assert int(classes(problem.table, top(table.hierarchies)).sizes.min()) == 32_561


def test_rows_for_a_terminal(adult_profile: tuple[Path, Profile]) -> None:
    """One row of texts per column, and the same as plain data."""
    rows = adult_profile[1].rows()
    assert len(rows) == 15
    assert list(rows[0]) == ["column", "kind", "distinct", "missing", "unique", "role", "hierarchy", "why"]
    assert rows[2]["unique"] == "47.1%"
    plain = adult_profile[1].to_dict()
    assert plain["lattice"] == 6400
    assert plain["person"] is None


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("Geburtsdatum", "birth"),
        ("fecha_nacimiento", "birth"),
        ("dateOfBirth", "birth"),
        ("PLZ", "zip"),
        ("code_postal", "zip"),
        ("Geschlecht", "sex"),
        ("Geschl.", "sex"),
        ("birthyr", "birth"),
        ("agea", "age"),  # of the European Social Survey, as the four below
        ("gndr", "sex"),
        ("eduyrs", "education"),
        ("hinctnta", "money"),
        ("lrscale", "belief"),
        ("canton", "place"),
        ("Tätigkeit", "occupation"),
        ("estado civil", "marital"),
        ("Staatsangehörigkeit", "country"),
        ("diagnóstico principal", "health"),
        ("Gehalt", "money"),
        ("religione", "belief"),
        ("patient_id", "person id"),
        ("E-Mail", "contact"),
        ("country_name", "country"),
        ("customer name", "name"),
        ("homesalaryband", "money"),
        ("stage", None),
        ("average", None),
        ("x1", None),
    ],
)
def test_names_are_understood_in_several_languages(name: str, topic: str | None) -> None:
    """Words are found whatever their case, accents and separators; parts of other words are not."""
    assert topic_of(name) == topic


@pytest.mark.parametrize(
    ("name", "form", "kinds"),
    [
        ("Last Name", "", "A"),
        ("hospital name", "", "B"),
        ("state", "", ""),
        ("state, city", "", "B"),
        ("time_in_hospital", "", "BC"),
        ("fax_number", "", "E"),
        ("patient_id", "", "H"),
        ("id", "", "R"),
        ("license plate", "", "KL"),
        ("education-num", "", ""),
        ("x", "telephone numbers", "DE"),
        ("x", "names of persons", "A"),
        ("x", "", ""),
    ],
)
def test_columns_look_like_kinds_of_identifiers(name: str, form: str, kinds: str) -> None:
    """The 18 kinds of HIPAA's Safe Harbor by their letters; a state alone is none of them."""
    assert identifier_kinds(name, form) == kinds


def test_every_form_has_a_kind_of_identifier() -> None:
    """A form that is added to the forms of values needs its place among the kinds."""
    assert all(identifier_kinds("x", form) for form in (*FORMS, "names of persons"))


def test_every_topic_has_a_leaning_and_words_are_plain() -> None:
    """A name is split at capitals and separators."""
    assert words_of("PatientBirth_date-2 Straße") == ["patient", "birth", "date", "2", "strasse"]
    assert set(LEANINGS.values()) == {"identifier", "weak identifier", "quasi-identifier", "sensitive"}


def people(rows: int = 200) -> pd.DataFrame:
    """A table with a column of every kind."""
    places = range(rows)
    return pd.DataFrame(
        {
            "patient_id": [f"p{i // 2}" for i in places],
            "surname": [f"Name{i}" for i in places],
            "age": [20 + i % 60 for i in places],
            "zip": [f"{2100 + i % 40:05}" for i in places],
            "birth_date": pd.to_datetime([f"19{50 + i % 40}-0{1 + i % 9}-15" for i in places]).date,
            "admission": [f"{1 + i % 28:02}.0{1 + i % 9}.2020" for i in places],
            "smoker": [i % 3 == 0 for i in places],
            "diagnosis": [f"D{i % 7}" for i in places],
            "site": [f"s{i % 4}" for i in places],
            "score": [i / 7 for i in places],
            "notes": [f"Patient number {i} was seen on a rainy day, and again later." for i in places],
            "nothing": [None for _ in places],
        }
    )


def test_kinds_and_roles_of_every_kind_of_column() -> None:
    """Identifiers, free text and empty columns are left out; the rest gets the role its name or kind suggests."""
    profile = inspect(people())
    roles = {each.facts.name: (each.facts.kind, each.proposal.role) for each in profile.columns}
    assert roles == {
        "patient_id": ("text", "identifier"),
        "surname": ("text", "identifier"),
        "age": ("whole number", "quasi-identifier"),
        "zip": ("text", "quasi-identifier"),
        "birth_date": ("date", "quasi-identifier"),
        "admission": ("other date", "quasi-identifier"),
        "smoker": ("yes/no", "sensitive"),
        "diagnosis": ("text", "sensitive"),
        "site": ("text", "decide"),
        "score": ("number", "identifier"),
        "notes": ("text", "identifier"),
        "nothing": ("empty", "identifier"),
    }
    assert profile.person == "patient_id"
    assert column(profile, "zip")["hierarchy"] == {"prefix": [3, 2, 1]}
    assert column(profile, "birth_date")["hierarchy"] == {"dates": ["quarter", "year", "decade"]}  # a date per month
    assert column(profile, "admission")["hierarchy"] == {"prefix": [4], "stars": "left"}
    assert "free text" in str(column(profile, "notes")["why"])


def test_every_source_gives_the_same_profile(tmp_path: Path) -> None:
    """A frame, its copies in other libraries, and a Parquet file are profiled alike; a CSV but for its types.

    Dates that are not written year-month-day are told by the form of a file, which a frame has not.
    """
    frame = people().drop(columns=["nothing", "admission"])
    arrow = pa.Table.from_pandas(frame)
    pyarrow.parquet.write_table(arrow, tmp_path / "x.parquet")
    pyarrow.csv.write_csv(arrow, tmp_path / "x.csv")
    expected = inspect(arrow).to_dict()
    relation = duckdb.connect().from_arrow(arrow)
    for source in (frame, pl.DataFrame(arrow), pl.LazyFrame(arrow), relation, tmp_path / "x.parquet"):
        assert inspect(source).to_dict() == expected
    text = inspect(tmp_path / "x.csv")
    assert [each.proposal for each in text.columns] == [each.proposal for each in inspect(arrow).columns]
    assert text.pairs == inspect(arrow).pairs


def test_labels_of_columns_are_read_where_names_say_nothing(tmp_path: Path) -> None:
    """Stata has room for eight letters and a label: birthyr says nothing, "Year of birth" does."""
    frame = pd.DataFrame(
        {
            "v1": [1950 + i % 40 for i in range(200)],
            "v2": [i % 7 for i in range(200)],
            "age": [i % 60 for i in range(200)],
        }
    )
    labels: dict[str, str | None] = {"v1": "Year of birth", "v2": "Diagnosis", "age": "Diagnosis"}
    pyreadstat.write_dta(frame, tmp_path / "x.dta", column_labels=labels)
    profile = inspect(tmp_path / "x.dta")
    told = {each.facts.name: each for each in profile.columns}
    assert told["v1"].proposal.role == "quasi-identifier"
    assert told["v1"].proposal.why.startswith("labelled 'Year of birth', like")
    assert told["v2"].proposal.role == "sensitive"
    assert told["age"].proposal.why.startswith("named like")  # a name that says something goes first
    assert "labelled 'Diagnosis', like" in job_text(profile, "x.dta")


def test_a_notebook_shows_the_proposal() -> None:
    """A table of columns, with what a person must hear below; names cannot break it."""
    profile = inspect(people().rename(columns={"zip": "<b>zip"}))
    page = profile._repr_html_()
    assert page.count("<tr>") == 1 + len(profile.columns)
    assert "&lt;b&gt;zip" in page
    assert all(safe(sentence) in page for sentence in profile.sentences())
    assert repr(inspect(pa.table({"age": [1, 2, 3, 1, 2]}))).endswith("1 quasi-identifier, 0 sensitive)")


def test_the_job_of_people_runs_and_counts_persons(tmp_path: Path) -> None:
    """The proposed job has the person column, and every hierarchy takes every value."""
    file = tmp_path / "people.csv"
    people().to_csv(file, index=False)
    profile = inspect(file)
    job = job_of(profile, file)
    table = job.table()
    assert table.persons is not None
    assert job.person == "patient_id"
    whole = classes(table, top(table.hierarchies))
    assert int(whole.sizes.min()) == 100
    assert "# its values repeat" in job_text(profile, "people.csv")
    chosen = run_plan(job.problem(table)).choose(k=5)
    assert chosen.values["k"] >= 5


def test_the_job_holds_no_value_of_a_row(tmp_path: Path) -> None:
    """Only names and counts stand in the job, so that it can be shown to others."""
    text = job_text(inspect(people()), "people.csv")
    for secret in ("Name7", "p17", "02107", "rainy", "1957"):
        assert secret not in text


def test_marks_stand_for_missing_values(tmp_path: Path) -> None:
    """NA and the like are no values, and the job says so; in a column of short codes NA is Namibia."""
    file = tmp_path / "x.csv"
    lines = ["age,country", *(f"{'NA' if i == 3 else i % 50},{('NA', 'DE', 'FR')[i % 3]}" for i in range(90))]
    file.write_text("\n".join(lines))
    profile = inspect(file)
    age, country = (each.facts for each in profile.columns)
    assert (age.kind, age.missing, age.marks) == ("whole number", 1, ("NA",))
    assert (country.missing, country.distinct) == (0, 3)
    assert tomllib.loads(job_text(profile, "x.csv"))["data"]["missing_values"] == ["", "?", "NA"]


def test_columns_without_most_values_are_left_out() -> None:
    """A quasi-identifier that is mostly missing would cost most rows."""
    profile = inspect(pd.DataFrame({"age": [1, None, None, None], "sex": ["m", "f", "m", "f"]}))
    assert profile.names("quasi-identifier") == ("sex",)
    assert "75% of the rows have no value" in str(column(profile, "age")["why"])
    assert profile.complete == 4


def test_missing_values_become_a_category_where_dropping_costs_most_rows() -> None:
    """Three columns that miss a third each leave no row complete."""
    frame = pd.DataFrame(
        {
            name: [None if i % 3 == j else "ab"[i % 2] for i in range(9)]
            for j, name in enumerate(("sex", "race", "country"))
        }
    )
    profile = inspect(frame)
    assert (profile.complete, profile.missing) == (0, "category")
    assert 'missing = "category"' in job_text(profile, "x.csv")


def test_something_is_always_proposed() -> None:
    """Where no column looks like a quasi-identifier, those with most values are taken, and the reason is given."""
    profile = inspect(pd.DataFrame({"a": [1, 1, 2, 2], "b": ["x", "x", "x", "x"]}))
    assert profile.names("quasi-identifier") == ("a", "b")
    assert "for want of a better one" in str(column(profile, "a")["why"])
    assert inspect(pd.DataFrame({"id": ["a1", "b2", "c3"]})).names("quasi-identifier") == ("id",)


def test_weak_names_need_values_of_their_own() -> None:
    """A column called id with few values is no identifier; a contact column with few values neither."""
    frame = pd.DataFrame({"region id": [i % 5 for i in range(100)], "account": ["abc"[i % 3] for i in range(100)]})
    assert inspect(frame.assign(age=7)).names("identifier") == ()
    assert inspect(pd.DataFrame({"id": range(100), "age": [i % 9 for i in range(100)]})).names("identifier") == ("id",)


def test_names_are_identifiers_however_often_they_repeat() -> None:
    """What is said of them is how many there are, and that a person may have several rows where no column says who."""
    for count in (6, 150, 300):
        frame = pl.DataFrame({"Name": [f"N{i % count}" for i in range(300)], "age": [i % 40 for i in range(300)]})
        told = column(inspect(frame), "Name")
        assert (told["role"], told["why"]) == ("identifier", "named like a name")
        asks = f"It repeats: {count} values in 300 rows. If a person has several rows, say which column tells persons"
        assert (asks in str(told["note"])) == (count < 300)
    frame = pl.DataFrame(
        {"name": [f"N{i % 150}" for i in range(300)], "patient_id": [f"p{i % 160}" for i in range(300)]}
    )
    assert column(inspect(frame.with_columns(age=pl.lit(3))), "name")["note"] == ""
    numbers = pl.DataFrame({"ref": [f"r{i % 200}" for i in range(300)], "age": [i % 40 for i in range(300)]})
    assert column(inspect(numbers), "ref")["why"] == "named like a number, with 200 values in 300 rows"


def test_free_text_is_never_offered_unread() -> None:
    """Remarks and long texts that repeat may hold anything; the advice how to show them says so first."""
    texts = {
        "remark": ["well", "call 0221 123456", "ill"],
        "x": ["a text that somebody has written by hand, at length", "b", "c"],
        "y": ["low", "mid", "high"],
    }
    frame = pl.DataFrame(
        {name: [each[i % 3] for i in range(300)] for name, each in texts.items()} | {"age": range(300)}
    )
    notes = {name: str(column(inspect(frame), name)["note"]) for name in texts}
    assert [note.startswith("Read its texts first: free text may hold names") for note in notes.values()] == [
        True,
        True,
        False,
    ]
    rare = pl.DataFrame({"remark": [f"t{i % 280}" for i in range(300)] * 2, "age": range(600)})
    rare = rare.with_columns(remark=pl.col("remark") + pl.when(pl.col("age") < 60).then(pl.col("age").cast(str)))
    rare = rare.with_columns(remark=pl.col("remark").fill_null("none"))
    told = column(inspect(rare), "remark")
    assert "or plain" in str(told["note"])
    assert str(told["note"]).startswith("Read its texts first")


def test_texts_that_all_are_numbers_are_not_told_as_exceptions() -> None:
    """Months such as 01.2024 are no numbers for their zeros; none of them is a top code."""
    frame = pl.DataFrame({"month": [f"{1 + i % 12:02}.2024" for i in range(300)], "age": [i % 40 for i in range(300)]})
    assert "no number" not in str(column(inspect(frame), "month")["note"])


def test_rare_text_is_a_quasi_identifier() -> None:
    """Text whose values sometimes occur once singles people out, whatever its name."""
    profile = inspect(pd.DataFrame({"team": ["a"] * 60 + ["b"] * 39 + ["c"]}))
    assert "1 value occurs once" in str(column(profile, "team")["why"])


def test_an_identifier_is_the_last_to_become_a_quasi_identifier() -> None:
    """Where no column looks like one, another column is taken before one that names people."""
    frame = pd.DataFrame({"patient_id": [f"p{i}" for i in range(100)], "diagnosis": [f"D{i % 7}" for i in range(100)]})
    told = {each.facts.name: each.proposal.role for each in inspect(frame).columns}
    assert told == {"patient_id": "identifier", "diagnosis": "quasi-identifier"}
    assert inspect(frame[["patient_id"]]).columns[0].proposal.role == "quasi-identifier"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (pa.table({"a": pa.array([], type=pa.int64())}), "The table has no rows"),
        (pa.table({}), "The table has no columns"),
        (pd.DataFrame(), "The table has no columns"),
        (pl.DataFrame(), "The table has no columns"),
        (pd.DataFrame({"a": ["b", "\ud800"], "c": [b"d", b"e"]}, dtype=object), r"The table has '\\ud800' in a text"),
        (pa.table({"a": [[1], [2]]}), "No column of the table can be generalized"),
        (
            pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]),
            r"two columns named 'a'.*number_duplicates\(frame\)",
        ),
    ],
)
def test_tables_without_use_are_explained(source: object, message: str) -> None:
    """No rows, no columns, half a character, nothing but lists, or a name twice."""
    with pytest.raises((BadTable, BadSchema), match=message):
        inspect(source)


def test_nested_columns_are_left_out() -> None:
    """Lists cannot be generalized."""
    profile = inspect(pa.table({"age": [1, 2], "tags": [[1], [2]]}))
    assert profile.names("identifier") == ("tags",)


def test_a_budget_of_pairs_is_kept_and_stated() -> None:
    """With three pairs allowed the columns with most values are counted, and the rest is stated."""
    frame = pd.DataFrame({"age": range(9), "zip": [i % 8 for i in range(9)], "sex": [i % 2 for i in range(9)]})
    profile = inspect(frame.assign(race="a"), pairs=3)
    assert {each.columns for each in profile.pairs} == {("age", "zip"), ("age", "sex"), ("zip", "sex")}
    assert profile.pairs_left == 3
    assert inspect(frame, pairs=0).pairs == ()


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(["20", "30", "40", "?"]), st.sampled_from(["m", " m", "f", None]), st.sampled_from("abc")
        ),
        min_size=2,
        max_size=12,
    )
)
def test_counts_agree_with_a_slow_twin(rows: list[tuple[str, str | None, str]]) -> None:
    """Distinct, missing and unique values of columns and pairs are those of Counters; blanks do not matter."""
    names = ("age", "sex", "race")
    profile = inspect(pa.table({name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate(names)}))
    cells = [tuple(None if cell is None else cell.strip() for cell in row) for row in rows]
    for place, each in enumerate(profile.columns):
        values = Counter(row[place] for row in cells if row[place] not in (None, "?"))
        assert each.facts.distinct == len(values)
        assert each.facts.missing == len(rows) - values.total()
        assert each.facts.unique == sum(1 for count in values.values() if count == 1)
    for pair in profile.pairs:
        one, two = (names.index(name) for name in pair.columns)
        groups = Counter((row[one], row[two]) for row in cells)
        assert (pair.unique, pair.groups) == (sum(1 for count in groups.values() if count == 1), len(groups))


@settings(max_examples=60, deadline=None)
@given(
    numbers=st.lists(
        st.one_of(st.integers(-(10**9), 10**9), st.floats(-1e6, 1e6).map(lambda x: round(x, 3))),
        min_size=4,
        max_size=30,
        unique=True,
    )
)
def test_proposed_intervals_take_every_number(numbers: list[int | float]) -> None:
    """Whatever the numbers, the proposed rule builds a hierarchy of the promised levels, with round widths."""
    values = ["0" if number == 0 else f"{number:.12g}" for number in numbers]
    profile = inspect(pa.table({"age": values}))
    proposal = profile.columns[0].proposal
    made = load("age", proposal.hierarchy, values)
    assert made.height + 1 <= proposal.levels
    assert len(made.leaves) == len(set(values))


def test_widths_are_round() -> None:
    """1, 2 or 5 times a power of ten."""
    assert [round_width(width) for width in (0, 0.03, 0.9, 1, 1.5, 4.6, 7, 110)] == [1, 0.05, 1, 1, 2, 5, 10, 200]


def test_hierarchies_of_text() -> None:
    """Few values stay flat, codes go by their first characters, many names want a file."""

    def facts(distinct: int, coded: bool = False, longest: int = 5) -> ColumnFacts:
        return ColumnFacts("x", "text", 1000, 0, distinct, distinct, 0, longest, longest, coded)

    assert hierarchy_for(facts(3)) == ({"flat": True}, 2, "")
    assert "in a file" in hierarchy_for(facts(9))[2]
    assert hierarchy_for(facts(400, coded=True))[0] == {"prefix": [3, 2, 1]}
    assert hierarchy_for(facts(400, coded=True, longest=2))[0] == {"prefix": [1]}
    assert "400 values: write a file" in hierarchy_for(facts(400))[2]


def test_lost_zeros_of_codes_are_noticed() -> None:
    """Zip codes of different lengths probably lost zeros on the way."""
    facts = ColumnFacts("zip", "whole number", 1000, 0, 90, 90, 0, 5, 4)
    assert "lost zeros" in propose(facts).note


def test_a_lattice_that_cannot_be_finished_gets_a_time() -> None:
    """Where trying all nodes would take days the exact search is proposed with a time, and it says what comes then."""
    frame = pd.DataFrame({f"age{i}": [(j * (i + 3)) % 97 for j in range(300)] for i in range(12)})
    frame.columns = pd.Index([f"age {'abcdefghijkl'[i]}" for i in range(12)])
    exact = tomllib.loads(job_text(inspect(frame), "x.csv"))
    assert exact["search"]["method"] == "exact"
    assert exact["search"].get("seconds", 60) == 60
    frame["patient id"] = [f"p{i % 290}" for i in range(300)]  # classes count persons: no bounds
    text = job_text(inspect(frame), "x.csv")
    search = tomllib.loads(text)["search"]
    assert (search["method"], search["space"], search["seconds"]) == ("exact", "lattice", 60)
    assert "ends after 60 s: the best so far, with a bound for every point" in text


@pytest.mark.parametrize("name", ["a b", 'a"b', "a\nb", "ä", "a.b", "\x7f", "a#b", "日本", "l(x)=1"])
def test_odd_names_survive_the_job_file(name: str, tmp_path: Path) -> None:
    """Quotes, line breaks and other scripts in a column's name are written so that the job reads them back."""
    frame = pa.table({name: ["x", "y", "y", "x"], "age": [1, 2, 3, 4], "diagnosis": ["a", "b", "a", "b"]})
    job = parse_job(job_text(inspect(frame), 'od"d.csv'), tmp_path)
    assert list(job.columns) == [name, "age", "diagnosis"]
    assert job.source == 'od"d.csv'


def test_sensitive_columns_with_odd_names_get_no_limit_that_cannot_be_read() -> None:
    """A limit names its column only where the name can be spelled there."""
    frame = pd.DataFrame({"age": range(10), "income=1": ["a", "b"] * 5, "salary": ["x"] * 9 + ["y"]})
    limits = tomllib.loads(job_text(inspect(frame), "x.csv"))["limits"]
    assert limits == {"k": 5}


def test_small_tables_get_a_small_k() -> None:
    """With three rows k = 5 is out of reach."""
    assert tomllib.loads(job_text(inspect(pd.DataFrame({"age": [1, 2, 3]})), "x.csv"))["limits"]["k"] == 3


def test_no_job_is_proposed_for_fewer_than_two_rows() -> None:
    """A limit of k = 1 protects nobody, so none is proposed."""
    with pytest.raises(BadTable, match="Only 1 row of the table can be used, so nothing can be released"):
        job_text(inspect(pd.DataFrame({"age": [1]})), "x.csv")


def test_toml_is_written_as_toml_reads_it() -> None:
    """Every inline value is read back as it was."""
    value = {"intervals": [5, 0.5], "from": -3, "loss": "a\\b", "flat": True, "odd key": [["x"]]}
    assert tomllib.loads(f"{toml_key('x y')} = {toml_value(value)}") == {"x y": value}


def test_the_engine_is_asked_not_the_rows() -> None:
    """A hundred thousand rows and twenty columns are a matter of seconds, here only that it works."""
    rows = 100_000
    frame = pl.DataFrame({f"g{i}": pl.int_range(rows, eager=True) % (i + 2) for i in range(19)}).with_columns(
        age=pl.int_range(rows, eager=True) % 100
    )
    profile = inspect(frame)
    assert profile.total == rows
    assert profile.names("quasi-identifier") == ("age",)


def test_the_bottom_of_a_proposed_job_is_the_raw_table(tmp_path: Path) -> None:
    """The unique rows the profile counts are the classes of one at the bottom of the lattice."""
    file = tmp_path / "x.csv"
    people().to_csv(file, index=False)
    profile = inspect(file)
    table = job_of(profile, file).table()
    made = classes(table, bottom(table.hierarchies))
    assert int((made.rows == 1).sum()) == profile.quasi.unique


def test_the_page_is_true() -> None:
    """Every example on the page gives what it says."""
    page = Path(__file__).parents[2] / "docs" / "inspect.md"
    found = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert found.attempted > 5
    assert found.failed == 0


@pytest.mark.parametrize(
    "name",
    [
        "id",
        "ID",
        "patient",
        "subject",
        "participant",
        "respondent",
        "person",
        "user",
        "case_no",
        "case_id",
        "caseid",
        "record_id",
        "hhid",
        "pnr",
        "personal_number",
        "fnr",
        "patientid",
        "pid",
        "subject_id",
        "SSN",
        "mrn",
        "nhs_number",
    ],
)
def test_a_repeating_id_of_any_usual_name_tells_persons_apart(name: str) -> None:
    """Its values repeat and are many, so classes count persons by it and it is not released."""
    rows = 900
    frame = pl.DataFrame({name: [i // 3 for i in range(rows)], "age": [20 + i % 50 for i in range(rows)]})
    profile = inspect(frame)
    assert profile.person == name
    assert name in profile.names("identifier")


@pytest.mark.parametrize("name", ["patient_age", "region_id", "person_income", "code", "grade"])
def test_words_about_persons_name_no_person_beside_others(name: str) -> None:
    """The age of a patient is an age, and the number of a region is a place."""
    rows = 900
    frame = pl.DataFrame({name: [i // 3 for i in range(rows)], "sex": ["m", "f"] * (rows // 2)})
    assert inspect(frame).person is None


def test_a_column_nobody_understands_waits_for_a_decision(tmp_path: Path) -> None:
    """It is left out of the release, tokens or not, until the job gives it a role; every sentence names it."""
    rows = 400
    frame = pl.DataFrame({"age": [20 + i % 4 for i in range(rows)], "votetrump": [i % 2 for i in range(rows)]})
    frame.write_csv(tmp_path / "votes.csv")
    profile = inspect(tmp_path / "votes.csv")
    assert "votetrump" in profile.sentences()[0]
    text = job_text(profile, "votes.csv")
    for more in ("", 'identifiers = "token"\n'):
        job = parse_job(text + more, tmp_path)
        assert job.undecided == ("votetrump",)
        released = release_job(job)
        assert (tmp_path / "votes-anon.csv").read_text().splitlines()[0] == "age"
        assert any("votetrump" in remark for remark in released.remarks)
    decided = parse_job(text.replace('role = "decide"', 'role = "plain"'), tmp_path)
    release_job(decided)
    assert (tmp_path / "votes-anon.csv").read_text().splitlines()[0] == "age,votetrump"


def test_a_row_of_data_is_no_header(tmp_path: Path) -> None:
    """One person's values would be published as the names of the columns: the file is read without a line of names."""
    lines = [f"{1 + i % 28:02d}.01.19{60 + i % 30},{50667 + i % 3},{'wm'[i % 2]},{60 + i % 40},HIV" for i in range(300)]
    (tmp_path / "headerless.csv").write_text("\n".join(lines) + "\n")
    profile = inspect(tmp_path / "headerless.csv")
    assert profile.total == 300
    assert profile.form.header is False
    assert [each.facts.name for each in profile.columns] == [f"column{place}" for place in range(1, 6)]
    assert any("without a line of names" in sentence for sentence in profile.sentences())
    job = parse_job(job_text(profile, "headerless.csv"), tmp_path)
    released = release_job(job)
    assert "50667" not in (tmp_path / "headerless-anon.csv").read_text().splitlines()[0]
    assert released.rows == 300
    schema = Schema(quasi=("HIV",))
    with pytest.raises(BadTable, match="first row of the table looks like data"):
        read(tmp_path / "headerless.csv", schema)
    with pytest.raises(BadTable, match="first row of the table looks like data"):
        inspect(pd.read_csv(tmp_path / "headerless.csv"))
    assert read(DataFile(tmp_path / "headerless.csv", Form(header=True)), schema).rows == 299
    (tmp_path / "years.csv").write_text(
        "place,2019,2020,2021\n" + "\n".join(f"p{i % 9},{i},{i},{i}" for i in range(99))
    )
    assert inspect(tmp_path / "years.csv").total == 99


def test_hierarchies_that_suit_the_values(tmp_path: Path) -> None:
    """Codes have no order, levels of dates merge something, exceptions among numbers are told, countries are known."""
    file = tmp_path / "x.csv"
    lines = [
        f"{1 + i % 6},{100 + i % 60},2024-{1 + i % 9:02d}-0{1 + i % 8},{'>85' if i % 50 == 0 else 20 + i % 60},"
        f"{('France', 'Peru', 'Chad', 'Fiji')[i % 4]},{('TX', 'NY', 'Ohio', 'Utah', 'Bavaria')[i % 5]}"
        for i in range(400)
    ]
    file.write_text("marital,industry_code,visit_date,age,birth_country,state\n" + "\n".join(lines) + "\n")
    profile = inspect(file)
    assert column(profile, "marital")["hierarchy"] == {"flat": True}
    assert "codes" in str(column(profile, "industry_code")["note"])
    assert column(profile, "visit_date")["hierarchy"] == {"dates": ["month", "quarter"]}
    assert column(profile, "age")["hierarchy"] == {"flat": True}
    assert "1 of its 61 values is no number" in str(column(profile, "age")["note"])
    assert column(profile, "birth_country")["hierarchy"] == {"known": "countries"}
    assert column(profile, "state")["hierarchy"] == {"flat": True}
    assert "4 of 5 values have a place in the built-in hierarchy us-states" in str(column(profile, "state")["note"])
    assert release_job(parse_job(job_text(profile, "x.csv"), tmp_path)).rows > 0


def test_months_and_years_that_are_numbers_follow_the_calendar(tmp_path: Path) -> None:
    """Quarters and half years, five years and decades; visits per year are no years, and who died has no date."""
    columns = {
        "Month": [1 + row % 12 for row in range(400)],
        "year": [1974 + row % 30 for row in range(400)],
        "visits_per_year": [row % 30 for row in range(400)],
        "Died": ["yes" if row % 3 else "no" for row in range(400)],
    }
    pd.DataFrame(columns).to_csv(tmp_path / "x.csv", index=False)
    profile = inspect(tmp_path / "x.csv")
    assert column(profile, "Month")["hierarchy"] == {"intervals": [3, 6], "from": 1}
    assert column(profile, "year")["hierarchy"] == {"intervals": [5, 10, 20], "from": 1960}
    assert column(profile, "year")["why"] == "holds years"
    assert column(profile, "visits_per_year")["role"] == "decide"
    assert (column(profile, "Died")["role"], column(profile, "Died")["why"]) == (
        "quasi-identifier",
        "tells what happened",
    )
    assert release_job(parse_job(job_text(profile, "x.csv"), tmp_path)).rows > 0


def test_the_job_asks_the_one_question_that_chooses_a_model() -> None:
    """As a comment, which changes nothing, and not where classes count persons."""
    profile = inspect(related_rows())
    lines = [line for line in job_text(profile, "people.csv").splitlines() if SAME_WAY in line]
    assert may_ask_model(profile)
    assert lines == [f"# {SAME_WAY} If not, try: kpareto front JOB --model local"]
    assert profile.job.space == "lattice"


@pytest.mark.parametrize("grades", [3, 5])
def test_many_quasi_identifiers_are_said_to_be_many(grades: int) -> None:
    """A study with the same columns for every grade: what to do about that many is said, and not of a dozen."""
    cells = {
        f"{name}{grade}": ["a", "b", "c", "c"] * 10
        for name in ("school", "degree", "ethnicity")
        for grade in range(grades)
    }
    told = [each for each in inspect(pa.table(cells)).sentences() if "coarser each of them becomes" in each]
    assert [each.startswith("15 quasi-identifiers are proposed.") for each in told] == [True] * (grades == 5)


def test_gaps_in_a_column_change_neither_its_kind_nor_whom_a_share_is_of(tmp_path: Path) -> None:
    """Codes that a program wrote as 47.0 beside gaps stay codes, and what is said of rows is true of those with gaps."""
    lines = [
        f"{20 + row % 60},{f'{row % 40}.0' if row % 4 else ''},{row}.5,{row if row % 3 else ''}" for row in range(400)
    ]
    (tmp_path / "gaps.csv").write_text("\n".join(["age,birthplace,v1,v2", *lines]) + "\n", encoding="utf-8")
    profile = inspect(tmp_path / "gaps.csv")
    place = column(profile, "birthplace")
    assert (place["kind"], place["hierarchy"]) == ("whole number", {"flat": True})
    assert str(column(profile, "v1")["why"]).startswith("100% of the rows have a value of their own;")
    assert str(column(profile, "v2")["why"]).startswith("100% of the rows with a value have it alone;")


def test_columns_of_which_nothing_is_known_have_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Forty columns without a hint are not forty equal lines."""
    names = ["age", *(f"v{number}" for number in range(40))]
    rows = [[20 + row % 50, *(row % 2 for _ in range(40))] for row in range(200)]
    lines = [",".join(names), *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "wide.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print_profile(inspect(tmp_path / "wide.csv"))
    said = [line for line in capsys.readouterr().out.splitlines() if "say" in line]
    assert len(said) == 1
    assert said[0].startswith("v0, v1, v2")
    assert said[0].endswith("their names say nothing.")
