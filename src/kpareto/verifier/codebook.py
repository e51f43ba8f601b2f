"""What can be checked of a code book: its labels are those of the release, and its one-way counts are possible.

Which values a label stands for is only said, and so is how many rows have a value: nobody who has the release alone can
count them. But counts must add up to the rows, none may be below k, and there must be a way to give every row a value
that its label stands for so that the counts come out.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any

from kpareto.errors import Unsafe
from kpareto.verifier.counting import STAR, Class, Labels

Ends = tuple[int, int]  # first and last place among the values, or among whole numbers


def check_book(public: Mapping[str, Any], classes: Mapping[Labels, Class], quasi: Sequence[str]) -> None:
    """Raise Unsafe where a code book is of other labels, or has counts that cannot be; one is not asked for."""
    book = public.get("codebook")
    if book is None:
        return
    if set(book) != set(quasi):
        raise Unsafe(f"The code book is of {', '.join(book)}, and the quasi-identifiers are {', '.join(quasi)}.")
    for place, name in enumerate(quasi):
        rows = Counter[str]()
        for labels, class_ in classes.items():
            rows[labels[place]] += class_.rows
        times = Counter(label for label, *_ in book[name]["labels"])
        odd = [label for label in sorted({*rows, *times}) if label not in rows or times[label] != 1]
        if odd:
            raise Unsafe(f"The label {odd[0]!r} of {name!r} is in the release or in its code book, and not in both.")
        _check_column(public, name, rows)


def _ends(ends: Sequence[str], places: Mapping[str, int] | None, name: str) -> Ends | None:
    """Where values begin and end; None where nothing is told of them. Without places they are whole numbers."""
    if not ends:
        return None
    try:
        if places is not None:
            first, last = places[ends[0]], places[ends[-1]]
        elif ends[0] == ends[-1] and not ends[0].removeprefix("-").isdecimal():
            return None  # no number, such as a missing value
        else:
            first, last = int(ends[0]), int(ends[-1])
    except (KeyError, ValueError):
        raise Unsafe(f"The code book of {name!r} names {ends[0]!r} to {ends[-1]!r}, and has no such values.") from None
    if first > last:
        raise Unsafe(f"The code book of {name!r} has values from {ends[0]!r} to {ends[-1]!r}, which is the wrong way.")
    return first, last


def _check_column(public: Mapping[str, Any], name: str, rows: Counter[str]) -> None:
    """Raise Unsafe unless labels stand for values that there are, and counts are possible where they are given."""
    column = public["codebook"][name]
    places = {value: at for at, value in enumerate(column["values"])} if "values" in column else None
    spans = {label: _ends(ends, places, name) for label, *ends in column["labels"]}
    if "counts" not in column:
        return
    _check_numbers(public, name, rows)
    parts = [_ends(entry[:2], places, name) for entry in column["counts"]]
    if len(set(parts)) < len(parts):
        raise Unsafe(f"The code book counts the same values of {name!r} twice.")
    alone = {label for label, *ends in column["labels"] if len(ends) == 1}
    room = [*(count for _, _, count in column["counts"]), column.get("rest", 0)]
    shown = rows - Counter({STAR: public["suppression"]["masked"]})
    short = _place_rows(shown, _reach(spans, parts, alone), room)
    if short is not None:
        raise Unsafe(
            f"The counts of {name!r} are not possible: the rows with the label {short!r} and those like it are more "
            "than have the values that it stands for."
        )


def _check_numbers(public: Mapping[str, Any], name: str, rows: Counter[str]) -> None:
    """Raise Unsafe unless counts may be told at all, none is below k, and they add up."""
    column = public["codebook"][name]
    sizes = [claim for claim in public["claims"] if claim["measure"] == "k"]
    protected = "population" in public or "differential_privacy" in public
    if protected or any(claim.get("with", {}).get("counts") == "persons" for claim in sizes):
        raise Unsafe(
            f"The code book counts rows by {name!r}, which is not done where persons or presence are protected."
        )
    rest = column.get("rest", 0)
    numbers = [*(count for _, _, count in column["counts"]), *([rest] if rest else [])]
    least = max(float(claim["value"]) for claim in sizes) if sizes else 1.0
    if min(numbers, default=0) < least:
        raise Unsafe(f"The code book has a count of {min(numbers, default=0):,} rows by {name!r}, below k = {least:g}.")
    shown = rows.total() - public["suppression"]["masked"]
    if sum(numbers) != shown:
        raise Unsafe(f"The counts of {name!r} add up to {sum(numbers):,} rows, and {shown:,} show a label.")


def _reach(
    spans: Mapping[str, Ends | None], parts: Sequence[Ends | None], alone: set[str]
) -> dict[str, frozenset[int]]:
    """The counts that a row with each label may be in: those of which some value, in no narrower one, is its own.

    The last, after all others, is the rest: values that are counted nowhere else, with a name or without.
    """
    borders = sorted({border for part in parts if part is not None for border in (part[0], part[1] + 1)})
    rest = len(parts)
    owner = [rest] * (len(borders) + 1)  # of what ends before each border, and at last of what comes after all
    widest_first = sorted((part[0] - part[1], at) for at, part in enumerate(parts) if part is not None)
    for _, at in widest_first:
        first, last = parts[at] or (0, -1)
        for place in range(bisect_right(borders, first), bisect_right(borders, last) + 1):
            owner[place] = at
    unnumbered = {at for at, part in enumerate(parts) if part is None}
    reach = {}
    for label, span in spans.items():
        if span is None:
            reach[label] = frozenset((unnumbered or {rest}) if label in alone else range(rest + 1))
            continue
        places = range(bisect_right(borders, span[0]), bisect_right(borders, span[1]) + 1)
        others = set() if label in alone else {*unnumbered, rest}
        reach[label] = frozenset(others.union(owner[place] for place in places))
    return reach


def _place_rows(rows: Counter[str], owners: Mapping[str, frozenset[int]], room: list[int]) -> str | None:
    """A label whose rows find no room in the counts that they may be in; None where all do.

    Labels that reach the same counts are one. Rows are placed where there is room, and where there is none others make
    it by a shortest way (augmenting paths), so that none is left over unless there is no way at all.
    """
    kinds: dict[frozenset[int], int] = {}
    for label, count in rows.items():
        kinds[owners[label]] = kinds.get(owners[label], 0) + count
    placed: dict[frozenset[int], Counter[int]] = {kind: Counter() for kind in kinds}
    for kind in sorted(kinds, key=lambda each: (len(each), sorted(each))):
        while kinds[kind]:
            way = _way(kind, placed, room)
            if way is None:
                return min(label for label in rows if rows[label] and owners[label] == kind)
            most = min(kinds[kind], room[way[-1][1]], *(placed[k][way[at][1]] for at, (k, _) in enumerate(way[1:])))
            for at, (other, count) in enumerate(way):
                placed[other][count] += most
                if at:
                    placed[other][way[at - 1][1]] -= most
            room[way[-1][1]] -= most
            kinds[kind] -= most
    return None


def _way(
    kind: frozenset[int], placed: Mapping[frozenset[int], Counter[int]], room: Sequence[int]
) -> list[tuple[frozenset[int], int]] | None:
    """From rows of a kind into a count, whose rows of another kind go on into another, and so on to one with room."""
    before: dict[int, tuple[frozenset[int], int | None]] = {}
    waiting: deque[tuple[frozenset[int], int | None]] = deque([(kind, None)])
    while waiting:
        mover, source = waiting.popleft()
        for count in sorted(mover - before.keys()):
            before[count] = (mover, source)
            if room[count]:
                way, at = [], count
                while True:
                    owner, previous = before[at]
                    way.append((owner, at))
                    if previous is None:
                        return way[::-1]
                    at = previous
            waiting += [(other, count) for other, there in placed.items() if there[count]]
    return None
