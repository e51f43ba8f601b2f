"""Values in place of labels, from a release and its public part alone: as shares for models, or drawn for analysts.

A label stands for several values; evenly, or fitted to the one-way counts where the public part has them. A value that
the code book does not name cannot be drawn: there the label stays. What is drawn is no release, and never verified.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kpareto._version import __version__
from kpareto.atomic import check_target, whole, write_whole
from kpareto.engines import file_of
from kpareto.errors import BadInput, BadJob, BadTable, Unsafe, shorten
from kpareto.measures.use import Spread, fit
from kpareto.releases.choice import legible
from kpareto.releases.documents import document_files
from kpareto.releases.recoded_rows import QUASI
from kpareto.releases.release import Release
from kpareto.strict import read_whole
from kpareto.tables.hierarchies.values import text_of
from kpareto.tables.hierarchy import STAR, Hierarchy
from kpareto.verifier import parts
from kpareto.verifier.cells import read_rows, text
from kpareto.verifier.counting import file_digest

if TYPE_CHECKING:
    import pyarrow as pa

WIDEST = 1_000_000  # values of one label that are listed with their shares
NOTE = (
    "The values of these columns were drawn at random from what the labels of a release may stand for. They are "
    "nobody's values, no certificate speaks for them, and results must be pooled over the copies."
)
Shares = dict[str, dict[str, float]]  # label -> value -> share


@dataclass(frozen=True, eq=False)
class LabelPieces:
    """What a label stands for: runs of values, each with the share of the label's rows that it has."""

    first: np.ndarray  # (pieces,) int64, place among the values, or the whole number itself
    last: np.ndarray  # (pieces,) int64
    texts: list[str | None]  # (pieces,) where a piece is one text: a value that is no number, or the label itself
    shares: np.ndarray  # (pieces,) float64, together 1

    def draw(self, count: int, values: Sequence[str] | None, random: np.random.Generator) -> list[str]:
        """Values of so many rows, each drawn by itself."""
        chosen = random.choice(len(self.shares), size=count, p=self.shares)
        places = random.integers(self.first[chosen], self.last[chosen] + 1).tolist()
        return [
            known if (known := self.texts[piece]) is not None else str(place) if values is None else values[place]
            for piece, place in zip(chosen.tolist(), places, strict=True)
        ]

    def list_shares(self, values: Sequence[str] | None) -> dict[str, float]:
        """The share of every value."""
        sizes = self.last - self.first + 1
        if sizes.sum() > WIDEST:
            raise BadInput(f"A label stands for {int(sizes.sum()):,} values, too many to list. Draw copies instead.")
        shares: Counter[str] = Counter()
        for first, size, known, share in zip(self.first, sizes, self.texts, self.shares.tolist(), strict=True):
            for place in range(int(first), int(first + size)):
                value = known if known is not None else str(place) if values is None else values[place]
                shares[value] += share / int(size)
        return {value: share for value, share in shares.items() if share > 0}


@dataclass(frozen=True, eq=False)
class BookColumn:
    """A column of a code book, its values by their places."""

    values: Sequence[str] | None  # None: whole numbers
    spans: dict[str, tuple[int, int] | None]  # of each label; None where no value is told
    alone: dict[str, str]  # label -> the one value that it is
    runs: list[tuple[int, int] | None]  # of each count; None: a text among numbers
    names: list[str]  # of each count its first value
    wanted: np.ndarray  # (counts + 1,) float64, rows of each count, then the rest
    counted: bool

    def pieces(self, rows: Mapping[str, int]) -> dict[str, LabelPieces]:
        """What each label stands for; rows are those of each label that the counts are of."""
        labels = list(self.spans)
        cuts = [self._cut(label) for label in labels]
        matrix = np.zeros((len(labels), len(self.wanted)))
        for line, (first, last, owner, _) in enumerate(cuts):
            np.add.at(matrix[line], owner, (last - first + 1).astype(np.float64))
        label, value = np.nonzero(matrix)
        even = Spread(label, value, (matrix / matrix.sum(axis=1)[:, None])[label, value], *matrix.shape)
        have = np.array([rows.get(label, 0) for label in labels], dtype=np.float64)
        shares = (fit(even, have, self.wanted) if self.counted else even).shares(np.arange(even.values), even.values)
        if self.counted:  # a label of masked rows alone, which no count is of, is like all rows together
            alone = self.wanted * (matrix > 0) * (have == 0)[:, None]
            shares = np.where(alone.any(axis=1)[:, None], alone, shares)
        answer = {}
        for line, (first, last, owner, texts) in enumerate(cuts):
            share = shares[line, owner] * (last - first + 1) / matrix[line, owner]
            answer[labels[line]] = LabelPieces(first, last, texts, share / share.sum())
        return answer

    def _cut(self, label: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str | None]]:
        """The runs of values that a label stands for, in which count each is, and its text where it is but one."""
        rest, span = len(self.wanted) - 1, self.spans[label]
        pieces: list[tuple[int, int, int, str | None]] = []
        if span is not None:
            borders, owners = self._painted
            inside = slice(*np.searchsorted(borders, (span[0] + 1, span[1] + 1)))
            begins = [span[0], *borders[inside].tolist()]
            ends = [begin - 1 for begin in begins[1:]] + [span[1]]
            before = int(owners[inside.start - 1]) if inside.start else rest
            there = zip(begins, ends, [before, *owners[inside].tolist()], strict=True)
            pieces = [(*piece, self.alone.get(label)) for piece in there]
        if label in self.alone:
            if not pieces:  # a text among numbers
                at = self.names.index(self.alone[label]) if self.alone[label] in self.names else rest
                pieces = [(0, 0, at, self.alone[label])]
        else:
            pieces += [(0, 0, at, self.names[at]) for at, run in enumerate(self.runs) if run is None]
            if not pieces or (self.wanted[rest] and all(at != rest for _, _, at, _ in pieces)):
                pieces.append((0, 0, rest, label))  # values without a name
        first, last, owner = (np.array([piece[part] for piece in pieces], dtype=np.int64) for part in range(3))
        return first, last, owner, [piece[3] for piece in pieces]

    @cached_property
    def _painted(self) -> tuple[np.ndarray, np.ndarray]:
        return paint(self.runs)


def paint(runs: Sequence[tuple[int, int] | None]) -> tuple[np.ndarray, np.ndarray]:
    """Where counts begin and end, and the narrowest count from each such place on; their number where there is none."""
    there = [(run, at) for at, run in enumerate(runs) if run is not None]
    borders = np.unique(np.array([end for run, _ in there for end in (run[0], run[1] + 1)], dtype=np.int64))
    owners = np.full(len(borders), len(runs), dtype=np.int64)
    for run, at in sorted(there, key=lambda each: each[0][0] - each[0][1]):  # the widest first
        owners[slice(*np.searchsorted(borders, (run[0], run[1] + 1)))] = at
    return borders, owners


def _read_column(name: str, entry: Mapping[str, Any]) -> BookColumn:
    values = entry.get("values")
    places = None if values is None else {value: at for at, value in enumerate(values)}

    def run(ends: Sequence[str]) -> tuple[int, int] | None:
        if not ends or (places is None and not ends[0].removeprefix("-").isdecimal()):
            return None
        try:
            first, last = (int(end) if places is None else places[end] for end in (ends[0], ends[-1]))
        except (KeyError, ValueError):
            raise BadInput(f"The code book of {name!r} names {ends[0]!r}, and has no such value.") from None
        return first, max(first, last)

    counts = entry.get("counts", [])
    return BookColumn(
        values,
        {label: run(ends) for label, *ends in entry["labels"]},
        {label: ends[0] for label, *ends in entry["labels"] if len(ends) == 1},
        [run(count[:2]) for count in counts],
        [count[0] for count in counts],
        np.array([*(count[2] for count in counts), entry.get("rest", 0)], dtype=np.float64),
        "counts" in entry,
    )


@dataclass(frozen=True, eq=False)
class Opened:
    """A release with what its public part says."""

    public: Mapping[str, Any]
    names: list[str]
    cells: list[list[str]]  # per column the text of each row
    pieces: dict[str, dict[str, LabelPieces]]  # per quasi-identifier what each label stands for
    columns: dict[str, BookColumn]


def _open(release: object, public: object) -> Opened:
    """Both, read and held against each other; what does not belong together is a sentence."""
    data, certificate = release, public
    if isinstance(release, Release):
        data = release.data if release.path is None else release.path
        certificate = release.certificate if public is None else public
    path = file_of(data)
    if path is not None and not path.exists():
        raise BadInput(f"There is no release {str(path)!r}. Give the file that was released.")
    if certificate is None:
        if path is None:
            raise BadInput("Rows without a file say nothing of their labels. Give the public part of the certificate.")
        certificate = document_files(path)["public"]
        if not certificate.exists():
            raise BadInput(f"There is no public part {str(certificate)!r}. Give it (--certificate FILE).")
    public, _ = parts(certificate)
    if "codebook" not in public:
        raise BadInput("The public part has no code book: an earlier version wrote it. Ask for a newer one.")
    if path is not None and public["release"]["sha256"] not in (None, file_digest(path)):
        raise BadInput(f"The public part is that of another release than {str(path)!r}. Give the one beside it.")
    names = list(public["release"]["columns"])
    cells = _columns(names, _file_rows(path, public["release"]) if path is not None else _frame_rows(data))
    return _with_pieces(public, names, cells)


def _with_pieces(public: Mapping[str, Any], names: list[str], cells: list[list[str]]) -> Opened:
    masked = public["suppression"]["masked"]
    columns, pieces = {}, {}
    for place, name in enumerate(names):
        if public["release"]["roles"][name] != QUASI:
            continue
        if name not in public["codebook"]:
            raise BadInput(f"The code book has no column {name!r}. Give the public part of this release.")
        columns[name] = _read_column(name, public["codebook"][name])
        rows = Counter(cells[place])
        strange = sorted(set(rows) - set(columns[name].spans))
        if strange:
            raise BadInput(
                f"The code book of {name!r} does not know the label {strange[0]!r}. Give that of this release."
            )
        pieces[name] = columns[name].pieces(rows - Counter({STAR: masked}))
    return Opened(public, names, cells, pieces, columns)


def _file_rows(path: Path, record: dict[str, Any]) -> Iterator[list[str]]:
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    for at, file in enumerate(files):
        with file.open("rb") as stream:
            parquet = stream.read(4) == b"PAR1"
        try:
            rows = read_rows(file, parquet, record)
            header = next(rows)
            yield from [header, *rows] if at == 0 else rows
        except Unsafe as error:
            raise BadInput(str(error)) from error


def _frame_rows(frame: Any) -> Iterator[list[str]]:
    import narwhals as nw

    try:
        table = nw.from_native(frame, eager_only=True).to_arrow()
    except TypeError:
        raise BadInput(f"A {type(frame).__name__} is no release. Give a file, or what kp.release gave back.") from None
    yield list(table.column_names)
    yield from zip(*([text(cell) for cell in column.to_pylist()] for column in table.columns), strict=True)


def _columns(names: list[str], rows: Iterator[list[str]]) -> list[list[str]]:
    """The cells by column; a release with other columns is a sentence."""
    header = list(next(rows, []))
    if header != names:
        odd = sorted(set(header) ^ set(names)) or header
        raise BadInput(f"The release has other columns than its public part says: {odd[0]!r}. Give both as written.")
    whole_rows = list(rows)
    if any(len(row) != len(names) for row in whole_rows):
        raise BadInput("A row of the release has more or fewer cells than there are columns. Give it as written.")
    return [list(column) for column in zip(*whole_rows, strict=True)] if whole_rows else [[] for _ in names]


def spread(release: object, public: object = None) -> dict[str, Shares]:
    """What the labels of a release stand for: each value with its share, for models that take shares.

    Parameters
    ----------
    release : str, path, Release or frame
        The released rows.
    public : object, optional
        The public part of their certificate, or its path; the one beside the file unless given.

    Returns
    -------
    dict
        Per quasi-identifier, label -> value -> share; the shares of a label add up to 1. Fitted to the one-way counts
        where the public part has them, else even. Under its own name a label stands for values that are not named.

    Raises
    ------
    BadInput
        If the public part has no code book, or is that of another release.

    Examples
    --------
    >>> import kpareto as kp
    >>> people = kp.adult().select(["age", "sex"])
    >>> table = kp.read(people, kp.Schema(["age", "sex"]), hierarchies={"age": {"intervals": [10, 20]}})
    >>> done = kp.release(kp.front(table).choose(k=10), people)
    >>> list(kp.spread(done)["age"]["20-29"])[:3]
    ['20', '21', '22']
    """
    opened = _open(release, public)
    return {
        name: {label: each.list_shares(opened.columns[name].values) for label, each in pieces.items()}
        for name, pieces in opened.pieces.items()
    }


def impute(
    release: object,
    target: str | PathLike[str] | None = None,
    *,
    public: object = None,
    copies: int = 5,
    seed: int = 1,
) -> pa.Table:
    """Copies of a release with values drawn in place of its labels, below each other.

    Each row is drawn by itself, in every copy anew. Results must be pooled over the copies (docs/recipients.md).

    Parameters
    ----------
    release : str, path, Release or frame
        The released rows.
    target : str or path, optional
        A .csv or .parquet file that is not there yet; a note beside it says that its values are drawn.
    public : object, optional
        The public part of their certificate, or its path; the one beside the file unless given.
    copies : int, optional
        How many.
    seed : int, optional
        The same seed gives the same copies.

    Returns
    -------
    pyarrow.Table
        All cells as text, with a first column ``copy``: 1, 2, …

    Raises
    ------
    BadInput
        If the public part has no code book or is that of another release, or the target is there.

    Examples
    --------
    >>> import kpareto as kp
    >>> people = kp.adult().select(["age", "sex"])
    >>> table = kp.read(people, kp.Schema(["age", "sex"]), hierarchies={"age": {"intervals": [5, 10]}})
    >>> done = kp.release(kp.front(table).choose(k=100), people, counts=True)
    >>> drawn = kp.impute(done, copies=2)
    >>> drawn.num_rows, drawn.column_names
    (65122, ['copy', 'age', 'sex'])
    """
    read_whole(copies, "copies", 1)
    read_whole(seed, "seed", 0)
    place = None if target is None else _free_place(target)
    opened = _open(release, public)
    if "copy" in opened.names:
        raise BadInput("The release has a column 'copy' of its own, which numbers the copies. Rename it first.")
    drawn = _draw(opened, copies, seed)
    if place is not None:
        _write(drawn, place, opened, copies, seed)
    return drawn


def _free_place(target: str | PathLike[str]) -> Path:
    place = check_target(target)
    if place.suffix.lower() not in (".csv", ".parquet"):
        raise BadJob(f"Drawn copies go to a .csv or .parquet file, not to {str(target)!r}. Give another name.")
    for each in (place, note_of(place)):
        if each.exists():
            raise BadJob(f"{str(each)!r} is there already. Give another name, or remove it.")
    return place


def note_of(place: Path) -> Path:
    """Where the note of drawn copies lies."""
    return place.with_name(f"{place.stem}.drawn.json")


def _draw(opened: Opened, copies: int, seed: int) -> pa.Table:
    import pyarrow as pa

    rows = len(opened.cells[0])
    columns = {"copy": pa.array(np.repeat(np.arange(1, copies + 1), rows))}
    random = np.random.default_rng(seed)
    for name, cells in zip(opened.names, opened.cells, strict=True):
        if name not in opened.pieces:
            columns[name] = pa.array(cells * copies, pa.string())
            continue
        where: dict[str, list[int]] = {}
        for row, label in enumerate(cells):
            where.setdefault(label, []).append(row)
        texts = np.empty((copies, rows), dtype=object)
        for label in sorted(where):  # the same whatever the order of the rows
            drawn = opened.pieces[name][label].draw(copies * len(where[label]), opened.columns[name].values, random)
            texts[:, where[label]] = np.array(drawn, dtype=object).reshape(copies, -1)
        columns[name] = pa.array(texts.reshape(-1), pa.string())
    return pa.table(columns)


def _write(drawn: pa.Table, place: Path, opened: Opened, copies: int, seed: int) -> None:
    """The copies and their note, which says what they are."""
    import pyarrow.parquet as pq

    note = {
        "kpareto drawn values": 1,
        "version": __version__,
        "note": NOTE,
        "copies": copies,
        "seed": seed,
        "release": {"sha256": opened.public["release"]["sha256"], "rows": len(opened.cells[0])},
        "columns": {name: "fitted to counts" if each.counted else "even" for name, each in opened.columns.items()},
    }
    with whole(place) as part:
        if place.suffix.lower() == ".parquet":
            pq.write_table(drawn, part)
        else:
            with part.open("w", encoding="utf-8", newline="") as stream:
                writer = csv.writer(stream, lineterminator="\n")
                writer.writerow(drawn.column_names)
                writer.writerows(zip(*(column.to_pylist() for column in drawn.columns), strict=True))
        write_whole(note_of(place), legible(note))


# -- columns that show labels of several levels, as local recoding and cuts leave them ---------------------------------

NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
RANGE = re.compile(rf"({NUMBER})-({NUMBER})")
CELLS = re.compile(rf"[\[(]({NUMBER}),({NUMBER})[\])]")


@dataclass(frozen=True, eq=False)
class MixedColumn:
    """A column whose rows show labels of several levels, each label as the run of leaves it stands for.

    Three answers: all rows at the finest level that every label lies in (nothing is assumed), numbers for numeric
    labels (the middle of each), and rows spread over the values of their labels (an assumption, which is stated).

    Examples
    --------
    >>> import kpareto as kp
    >>> ages = kp.load("age", {"intervals": [5, 10]}, range(20, 40))
    >>> column = kp.align_levels({"age": ["20", "20-24", "35-39", "22-26"]}, "age", ages)
    >>> column.level, column.show()
    (2, ['20-29', '20-29', '30-39', '20-29'])
    >>> column.midpoints().tolist()
    [20.0, 22.0, 37.0, 24.0]
    >>> {label: round(rows, 2) for label, rows in column.spread(level=1).items()}
    {'20-24': 2.6, '25-29': 0.4, '30-34': 0.0, '35-39': 1.0}
    """

    hierarchy: Hierarchy
    labels: tuple[str, ...]  # that occur
    first: np.ndarray  # (labels,) int64, first leaf of each
    last: np.ndarray  # (labels,) int64
    codes: np.ndarray  # (rows,) int64, the label of each row

    @property
    def level(self) -> int:
        """The common level: the finest one at which every label lies within one group."""
        groups = self.hierarchy.groups
        return next(
            level for level in range(len(groups)) if (groups[level][self.first] == groups[level][self.last]).all()
        )

    def show(self, level: int | None = None) -> list[str]:
        """What each row shows at the common level, or at a coarser one."""
        chosen = self.level if level is None else level
        if not self.level <= chosen <= self.hierarchy.height:
            raise BadInput(
                f"Not every label of {self.hierarchy.name!r} lies within a group of level {chosen}. "
                f"Take a level from {self.level} to {self.hierarchy.height}."
            )
        names = [self.hierarchy.labels[chosen][self.hierarchy.groups[chosen][leaf]] for leaf in self.first.tolist()]
        return [names[code] for code in self.codes.tolist()]

    def count(self) -> dict[str, int]:
        """How many rows show each label."""
        rows = np.bincount(self.codes, minlength=len(self.labels))
        return dict(zip(self.labels, rows.tolist(), strict=True))

    def midpoints(self) -> np.ndarray:
        """The middle of what each row shows: (rows,) float64."""
        spans = self.hierarchy.spans
        if spans is None:
            raise BadTable(f"The values of {self.hierarchy.name!r} are not numbers, so its labels have no middle.")
        ends = [spans[a : b + 1] for a, b in zip(self.first.tolist(), self.last.tolist(), strict=True)]
        middle = np.array([(float(each.min()) + float(each.max())) / 2 for each in ends])
        return middle[self.codes]

    def spread(self, level: int = 0, values: Mapping[str, float] | None = None) -> dict[str, float]:
        """Expected rows in each group of a level, every row divided over the values of its label.

        Without ``values`` each value counts alike; else in proportion to how frequent it is, such as in a public
        table. Rows of a label none of whose values occur there are divided alike.
        """
        if not 0 <= level <= self.hierarchy.height:
            raise BadInput(f"{self.hierarchy.name!r} has levels 0 to {self.hierarchy.height}, not {level}.")
        share = np.ones(len(self.hierarchy.leaves))
        if values is not None:
            share = np.array([float(values.get(leaf, 0.0)) for leaf in self.hierarchy.leaves])
        rows, expected = np.bincount(self.codes, minlength=len(self.labels)), np.zeros(len(share))
        for a, b, count in zip(self.first.tolist(), self.last.tolist(), rows.tolist(), strict=True):
            part = share[a : b + 1]
            part = part if part.sum() > 0 else np.ones(len(part))
            expected[a : b + 1] += count * part / part.sum()
        groups = self.hierarchy.groups[level]
        totals = np.bincount(groups, weights=expected, minlength=len(self.hierarchy.labels[level]))
        return dict(zip(self.hierarchy.labels[level], totals.tolist(), strict=True))


def align_levels(frame: object, column: str, hierarchy: Hierarchy) -> MixedColumn:
    """Read a released column whose rows show labels of several levels.

    Parameters
    ----------
    frame : object
        Any data frame, or a mapping of columns to lists.
    column : str
        The column.
    hierarchy : Hierarchy
        The one that the release was made with.

    Returns
    -------
    MixedColumn
        Each label as the run of leaves it stands for; its ``level`` is the common one.

    Raises
    ------
    BadInput
        If the column has no rows, or a label that the hierarchy does not know.

    Examples
    --------
    >>> import kpareto as kp
    >>> ages = kp.load("age", {"intervals": [10, 20]}, range(20, 60))
    >>> kp.align_levels({"age": ["20-29", "40-59", "31"]}, "age", ages).level
    2
    """
    texts = _texts(frame, column)
    places: dict[str, int] = {}
    codes = np.fromiter((places.setdefault(text, len(places)) for text in texts), np.int64, len(texts))
    if not places:
        raise BadTable(f"The column {column!r} has no rows, so there is nothing to align.")
    runs = {text: _find_run(hierarchy, text) for text in places}
    lost = [text for text, run in runs.items() if run is None]
    if lost:
        raise BadTable(
            f"The hierarchy of {hierarchy.name!r} does not know {len(lost)} of the labels in {column!r} "
            f"({shorten(lost, 4)}). Give the hierarchy that the release was made with."
        )
    ends = np.array([run for run in runs.values() if run is not None], dtype=np.int64)
    return MixedColumn(hierarchy, tuple(places), ends[:, 0], ends[:, 1], codes)


def _texts(frame: object, column: str) -> list[str]:
    """The cells of a column as text."""
    if isinstance(frame, Mapping):
        if column not in frame:
            raise BadTable(f"There is no column {column!r}. The columns are: {shorten(list(frame))}.")
        return [text_of(cell) for cell in frame[column]]
    import narwhals.stable.v2 as nw

    try:
        table = nw.from_native(frame, eager_only=True)  # type: ignore[call-overload]  # anything may be given
    except TypeError as error:
        raise BadTable(f"{type(frame).__name__} is no data frame. Give one, or a dict of columns.") from error
    if column not in table.columns:
        raise BadTable(f"There is no column {column!r}. The columns are: {shorten(list(table.columns))}.")
    return [text_of(cell) for cell in table[column].to_list()]


def _find_run(hierarchy: Hierarchy, label: str) -> tuple[int, int] | None:
    """The first and last leaf that a label stands for; None where the hierarchy does not know it."""
    tree = hierarchy.tree
    nodes = [place for place, name in enumerate(tree.labels) if name == label]
    if nodes:  # of nodes with one name the widest holds the others or is not told apart in a release either
        return min(int(tree.first[n]) for n in nodes), max(int(tree.last[n]) for n in nodes)
    ends: Sequence[str] = ()
    if hierarchy.dates and " to " in label:
        ends = label.split(" to ")
    elif "|" in label:
        ends = label.split("|")
    leaves = hierarchy.locate(list(ends) or [label])
    if (leaves >= 0).all():
        return int(leaves.min()), int(leaves.max())
    match = RANGE.fullmatch(label) or CELLS.fullmatch(label)
    if match is None or hierarchy.spans is None:
        return None
    low, high = float(match[1]), float(match[2])
    inside = np.flatnonzero((hierarchy.spans[:, 0] >= low) & (hierarchy.spans[:, 1] <= high))
    return (int(inside.min()), int(inside.max())) if len(inside) else None
