"""What may stand in a recoding file, node by node."""

from __future__ import annotations

from kpareto.strict import (
    FileKind,
    Misfit,
    Shape,
    anything,
    either,
    entry,
    list_of,
    map_of,
    maybe,
    number,
    record,
    text,
    truth,
    whole,
    word,
)
from kpareto.tables.partition import EARLIER, RULES

RECODING = FileKind("The recoding", "Take the file as it was written with its release, or write it again.")
_LEAF = whole(0, 2**31 - 2)


def _spelled_number(value: object, place: str) -> None:
    """A number as a text that gives it back, infinite ones too."""
    text(value, place)
    try:
        same = float(str(value)) == float(str(value))  # only what is no number differs from itself
    except ValueError:
        same = False
    if not same:
        raise Misfit(place, value, "a number as a text")


_LABELS = list_of(list_of(_LEAF, 1), 1)
_HIERARCHY: Shape = record(
    {
        "leaves": list_of(text, 1),
        "levels": list_of(list_of(_LEAF, 1), 1),
        "labels": list_of(list_of(text, 1), 1),
        "tree": list_of(entry(_LEAF, _LEAF, text), 1),
        "ordered": truth,
        "spans": maybe(list_of(list_of(_spelled_number, 2, 2))),
        "edges": maybe(list_of(_spelled_number)),
        "closed": word("left", "right"),
        "loss": word("leaves", "distance"),
        "data_dependent": truth,
        "dates": truth,
    },
    {"rule": map_of(anything)},
)

STORED: Shape = record(
    {
        "kpareto recoding": whole(),
        "schema": record(
            {"quasi": list_of(text, 1)},
            {
                "sensitive": list_of(text),
                "target": list_of(text),
                "identifier": list_of(text),
                "person": maybe(text),
                "weights": map_of(number(0)),
            },
        ),
        "columns": map_of(
            record(
                {
                    "hierarchy": _HIERARCHY,
                    "sha256": text,
                    "cut": list_of(_LEAF, 1),
                    "level": maybe(whole(0, 10**6)),
                    "observed": list_of(_LEAF, 1),
                }
            )
        ),
        "suppression": record(
            {"rule": word(*RULES, *EARLIER), "limit": number(0), "k": maybe(whole()), "rows": word("drop", "mask")},
            {"thresholds": map_of(number())},
        ),
        "limits": map_of(number()),
        "domain": word("observed", "declared"),
        "missing": text,
        "fit": map_of(number()),
    },
    {
        "sha256": text,
        "source": maybe(
            record(
                {"columns": map_of(text)},
                {
                    "encoding": text,
                    "sha256": maybe(text),
                    "form": map_of(anything),
                    "missing_values": maybe(list_of(text)),
                },
            ),
        ),
        "local": record({}, {"first": _LABELS, "last": _LABELS, "questions": either(_LEAF, list_of(anything, 3, 3))}),
    },
)
