"""Sentences that speak of job files, said for somebody who works on the page and has never seen one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

# What a sentence says of a job file -> what the page calls it.
_WORDS: tuple[tuple[str, str], ...] = (
    (r"search\.objectives is \[\]\. Give a list such as \[.*?\]\.", "No objective is chosen. Choose at least one."),
    (r"Add \[limits\] with k = 5, say\.", "Fill in a limit on the Search step, such as k at least 5."),
    (r"\blimits\.([\w-]+(?:\([^)]*\))?) is (\S+?)([,.]?) ", r"The limit on \1 is \2\3 "),
    (r"\bsearch\.budget is ", "The budget is "),
    (r"\bsearch\.seconds is ", "The time that the search may take is "),
    (r"Give the search a time \(search\.seconds = (\d+)\)", r"Fill in a time on the Search step, such as \1 seconds"),
    (r"\bsuppression\.limit is ", "The limit on suppressed rows is "),
    (r"\bpopulation\.sampling is ", "The share of the population is "),
    (r"\bpopulation\.size is ", "The size of the population is "),
    (r"Give a number without quotes: ", "Give "),
    (
        r"(The limit on suppressed rows is \S+) Give a number without quotes\.",
        r"\1 Give a share of the rows below 1, such as 0.01, or a whole number of rows, such as 10.",
    ),
    (r"Roles are given under \[columns\.NAME\] in the job file\.", "Roles are given on the Data step."),
    (
        r": give (it|each) a role under \[columns\] of the job, or search again with: kpareto front JOB\.",
        r". Give \1 a role on the Data step if it is not to leave as it is, and search again.",
    ),
    (
        r"Say so under \[population\] in the job, or by population= in Python",
        "Say so on the Data step, under Population",
    ),
    (
        r"say which column tells persons apart: person = .*? in Python\.",
        "choose the column that tells persons apart on the Data step.",
    ),
    (
        r"In the job, give the column tie = \".*?\" to show it .*? if nobody outside can know it\.",
        "On the Data step, make the column an identifier to leave it out, or a quasi-identifier.",
    ),
    (
        r"Declare (it|each), or leave it out of the table: in Python identifier=.*? under \[columns\..*?\]\.",
        r"Give \1 the role identifier on the Data step, which keeps it out, or plain, which lets it leave as it is.",
    ),
    (
        r"would be run by a spreadsheet; give formulas='neutralise' to write them behind an apostrophe",
        "would be run by a spreadsheet; choose above to write them behind an apostrophe, and release again",
    ),
    (r"missing = 'category' keeps them", "on the Data step you can keep them as a value of their own"),
    (
        r"Give its encoding, such as encoding=\"[\w-]+\"\. In a job it stands under \[data\]; .*?--encoding\.?",
        "Choose how its letters are written and open it again.",
    ),
)


def for_page(sentence: str) -> str:
    """The sentence without the words of a job file, where the page has words of its own."""
    said = sentence.removeprefix("the job: ")
    begins = said != sentence  # a sentence; a name such as k-anonymity or people.csv stays as it is written
    for pattern, words in _WORDS:
        said = re.sub(pattern, words, said)
    return said[:1].upper() + said[1:] if begins else said


def warnings_for_page(warnings: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Warnings as the page says them, before a release, after it and beside a point."""
    return [{**warning, "text": for_page(str(warning["text"]))} for warning in warnings]
