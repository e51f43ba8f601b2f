"""What the page says is said in its own words, from what errors and warnings hold, not from how they read."""

from __future__ import annotations

import ast
import pickle
from pathlib import Path

import pyarrow as pa
import pytest

from kpareto.engines.read import read
from kpareto.errors import BadJob, BadTable, KparetoError, Remedy
from kpareto.faces.web.page_words import ADVICE, STEP_OF, STEPS, page_sentence, page_warnings
from kpareto.jobs.front import front
from kpareto.jobs.parse import parse_job
from kpareto.releases.release import release
from kpareto.tables.schema import Schema
from tests.twins.sources import files, tree_of

JOB = '[data]\nsource = "x.csv"\n[columns.a]\nrole = "quasi-identifier"\n'


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ("[search]\nobjectives = []\n", "The list of objectives is []. Choose at least one."),
        ("[limits]\nk = -3\n", "The limit on k is -3, and no k is below 0. Give a positive number."),
        ("[limits]\nk = 2.5\n", "The limit on k is 2.5"),
        (
            '[search]\nmethod = "nsga2"\nspace = "cuts"\nbudget = 1000000000000\n',
            "The budget is 1,000,000,000,000 recodings, which would take years.",
        ),
        ("[search]\nseconds = -5\n", "The time that the search may take is -5"),
        (
            "[suppression]\nlimit = '1.0'\n",
            "The limit on suppressed rows is '1.0'. Give a share of the rows such as 0.01 (below 1), or a whole number",
        ),
        (
            '[suppression]\nrule = "as-needed"\nlimit = -1\n',
            "The limit on suppressed rows is -1. Give a share of the rows such as 0.01 (below 1), or a whole number of rows",
        ),
    ],
)
def test_no_word_of_a_job_file(part: str, sentence: str) -> None:
    """The sentences of the library, as a page says them (B11, C8)."""
    with pytest.raises(KparetoError) as caught:
        parse_job(JOB + part, Path(), "the job").suppression()
    assert page_sentence(caught.value).startswith(sentence)


def test_other_sentences_stay() -> None:
    """What has nothing of a job file in it is said as it is, and names keep their first letter."""
    for sentence in ("The table has no rows. Give at least one row.", "", "people.csv has no column 'age'."):
        assert page_sentence(BadTable(sentence)) == str(BadTable(sentence)) == sentence


def test_every_remedy_has_its_words_on_the_page() -> None:
    """And no other: a word that nothing raises, or that the page does not know, is seen."""
    raised = {
        node.args[0].value
        for file in files()
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "Remedy"
        and isinstance(node.args[0], ast.Constant)
    }
    assert raised == set(ADVICE)


@pytest.mark.parametrize("word", ADVICE)
def test_advice_and_its_link_name_one_step(word: str) -> None:
    """A warning leads to the step that its words name, and nowhere where they name none."""
    assert [step for step in STEPS if f"{step} step" in ADVICE[word]] == ([STEP_OF[word]] if word in STEP_OF else [])


def test_an_error_is_one_sentence_with_its_parts() -> None:
    """The setting begins it, what to do ends it, and the file stands before it."""
    error = BadJob("is 0.", where="limits.k", remedy=Remedy("give-number", "Give a number without quotes."))
    assert str(error) == "limits.k is 0. Give a number without quotes."
    error.say_file("job.toml")
    assert str(error) == "job.toml: limits.k is 0. Give a number without quotes."
    assert page_sentence(error) == "The limit on k is 0. Give a number."
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.where, again.remedy) == (str(error), error.where, error.remedy)


def test_warnings_and_refusals_of_columns_speak_of_the_data_step() -> None:
    """Persons (W3), columns that tell each other (W17), and identifiers that nobody declared."""
    rows = [(str(20 + place % 4), f"town {place % 4}", f"Mr {place}") for place in range(40)]
    cells = {name: [row[at] for row in rows] for at, name in enumerate(("age", "town", "name"))}
    known = {"age": {"intervals": [2, 4], "from": 20}}
    table = read(pa.table(cells), Schema(("age",), plain=("town", "name")), hierarchies=known)
    done = release(front(table, limits={"k": 20}).choose(k=20), pa.table(cells), limits={"k": 20})
    told = {each["id"]: each["text"] for each in page_warnings(done.warnings)}
    assert told["W3"].endswith("choose the column that tells persons apart on the Data step.")
    steps = {each["id"]: each["step"] for each in page_warnings(done.warnings)}
    assert (steps["W3"], steps["W17"], steps["W15"]) == ("Data", "Data", None)
    assert told["W17"].endswith("make the column an identifier to leave it out, or a quasi-identifier.")
    bare = read(pa.table(cells), Schema(("age",)), hierarchies=known)
    with pytest.raises(KparetoError) as caught:
        release(front(bare, limits={"k": 20}).choose(k=20), pa.table(cells), limits={"k": 20})
    said = page_sentence(caught.value)
    assert said.endswith(
        "role identifier on the Data step, which keeps a column out, or plain, which lets it leave as it is."
    )
    assert "[columns" not in "".join([*told.values(), said])
