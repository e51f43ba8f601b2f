"""Errors and warnings in the words of the page: what it calls a setting, and where on it something is done.

An error or a warning says what is wrong, which setting of a job it is about and what to do, one by one; the sentences
of job files are left to the terminal and to Python.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kpareto.errors import KparetoError, Remedy
from kpareto.releases.warnings import Remark

# A setting of a job -> what it is on the page.
SETTINGS = {
    "population.sampling": "The share of the population",
    "population.size": "The size of the population",
    "search.budget": "The budget",
    "search.objectives": "The list of objectives",
    "search.seconds": "The time that the search may take",
    "suppression.limit": "The limit on suppressed rows",
}
# What to do -> where it is done on the page; it ends the sentence before it, or is one of its own.
ADVICE = {
    "accept-danger": "mend it, or tick its box on the Release step.",
    "avoid-overlaps": "take whole columns on the Search step if labels must not overlap; they keep less detail.",
    "choose-encoding": "choose how its letters are written and open it again.",
    "choose-objectives": "choose at least one.",
    "choose-point": "choose it on the Explore step.",
    "choose-search": "take mixed levels on the Search step, or another search under Research there, or fewer columns.",
    "declare-column": "give the role identifier on the Data step, which keeps a column out, or plain, which lets it "
    "leave as it is.",
    "fix-borders": "build intervals with round borders for the columns on the Data step.",
    "give-number": "give a number.",
    "give-new-role": "give it a role on the Data step if it is not to leave as it is, and search again.",
    "give-role": "give roles on the Data step.",
    "give-rows": "give a share of the rows such as 0.01 (below 1), or a whole number of rows such as 10.",
    "go-private": "where one is asked for, release rows with kpareto private in the terminal.",
    "group-values": "put the values in groups before the table is opened, or make identifiers of the columns on the "
    "Data step, which leaves them out.",
    "keep-rows": "if they must stay, allow fewer rows to be left out on the Search step, and search again.",
    "leave-out": "on the Data step, make identifiers of them to leave them out, or quasi-identifiers of those that "
    "somebody outside may know.",
    "limit-values": "fill in a limit on sensitive values on the Search step, such as l at least 2.",
    "name-person": "choose the column that tells persons apart on the Data step.",
    "observe-values": "write domain = 'observed' in the job file, unless you replicate a paper.",
    "recode-alike": "recode these rows as before: kpareto apply in the terminal.",
    "recode-beforehand": "a recoding that was fixed before anybody looked at these rows avoids this: kpareto apply in "
    "the terminal.",
    "recode-by-class": "take labels class by class on the Search step, or publish the totals of the columns alone.",
    "search-longer": "on the Search step, give it more time, or take whole columns, which are searched completely.",
    "set-limit": "fill in a limit on the Search step, such as k at least 5.",
    "set-time": "fill in a time on the Search step, such as 60 seconds, or take fewer columns or levels.",
    "shuffle-rows": "take order = 'kept' out of the job file.",
    "tell-population": "say so on the Data step, under Population: the share sampled (1 for a census), or a table of "
    "all.",
    "tie-column": "on the Data step, make the column an identifier to leave it out, or a quasi-identifier.",
    "treat-missing": "choose on the Data step, under Rows and persons, what becomes of rows without a value.",
}
# The step of the page where it is done, if a warning, which is shown on the last one, leads there.
STEPS = {
    "Data": "declare-column fix-borders give-new-role give-role group-values leave-out name-person tell-population "
    "tie-column treat-missing",
    "Search": "avoid-overlaps choose-search keep-rows limit-values recode-by-class search-longer set-limit set-time",
    "Explore": "choose-point",
}
STEP_OF = {word: step for step, words in STEPS.items() for word in words.split()}


def page_sentence(error: KparetoError) -> str:
    """What went wrong, as the page says it."""
    if not error.where and error.remedy is None:
        return str(error)
    group, _, name = error.where.partition(".")
    where = f"The limit on {name}" if group == "limits" and name else SETTINGS.get(error.where, error.where)
    return _advise(f"{where} {error.what}".strip(), error.remedy)


def page_warnings(warnings: Iterable[Remark]) -> list[dict[str, Any]]:
    """Warnings as the page says them, with the step on which something is done about them."""
    return [
        {
            "id": warning.id,
            "severity": warning.severity,
            "text": _advise(warning.text.removesuffix(warning.remedy.text if warning.remedy else ""), warning.remedy),
            "step": STEP_OF.get(warning.remedy.word) if warning.remedy else None,
        }
        for warning in warnings
    ]


def _advise(sentence: str, remedy: Remedy | None) -> str:
    """The sentence, and what to do about it on the page."""
    if remedy is None:
        return sentence
    advice, begun = ADVICE[remedy.word], sentence.rstrip()
    return f"{begun} {advice[0].upper() + advice[1:] if begun.endswith('.') else advice}"
