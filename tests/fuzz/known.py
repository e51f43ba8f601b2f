"""Failures that are known and not yet mended: the short name of a failure -> the finding it belongs to.

A known failure does not end its case, so that it hides no other. When it is mended, its line goes.
"""

KNOWN: dict[str, str] = {}
