"""Everything a run found, as plain data (JSON), as a page (HTML) and as Markdown; and the form regulators ask for."""

import warnings
from functools import partial

from kpareto.faces.report.make import context_of, make_report
from kpareto.faces.report.parts import html, markdown
from kpareto.faces.report.report import Report
from kpareto.faces.report.write import (
    FrontFound,
    find,
    gather,
    report_from,
    report_of,
    report_text,
    write_report,
)

__all__ = [
    "FrontFound",
    "Report",
    "context_of",
    "find",
    "gather",
    "html",
    "make_report",
    "markdown",
    "report_from",
    "report_of",
    "report_text",
    "write_report",
]


def __getattr__(name: str) -> object:
    """The form alone, under the name that it had."""
    if name != "write_template":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn("write_template(…) is write_report(…, form=True) now", DeprecationWarning, stacklevel=2)
    return partial(write_report, form=True)
