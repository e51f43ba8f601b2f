"""The local recodings that a search found, as a space: one gene, the number of the recoding.

Nobody can list all local recodings, so the space holds those that were found, over common items. A front is stored with
them, as packed arrays: who has the table gets the recodings back, and nobody else can read a value out of them.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kpareto.errors import BadInput
from kpareto.tables.boxes import UNFIT, Division, LabelBoxes, questions_data, questions_from
from kpareto.tables.hierarchy import Hierarchy
from kpareto.tables.lattice import Kind
from kpareto.tables.recoding import Recoding, local
from kpareto.tables.table import Table

EFFORT = 3  # of squeezing: beyond, a fifth is saved at most, for more than twenty times as long


@dataclass(frozen=True, eq=False)
class LocalSpace:
    """Local recodings of one table over common items; what was found is no part of what the space is."""

    hierarchies: tuple[Hierarchy, ...]
    items: Division | None = field(default=None, compare=False)
    recodings: tuple[Recoding, ...] = field(default=(), compare=False)
    kind: Kind = "local"

    @property
    def genes(self) -> np.ndarray:
        """The number of a recoding: (1,) int64."""
        return np.array([max(len(self.recodings), 1)], dtype=np.int64)

    @property
    def size(self) -> int:
        """The recodings that were found."""
        return len(self.recodings)

    def cuts(self, genomes: np.ndarray) -> np.ndarray:
        """The finest cuts that hold all labels of each recoding: (n, all leaves) int32."""
        return np.stack([np.concatenate(self.decode(genome).cuts) for genome in genomes])

    def decode(self, genome: Sequence[int] | np.ndarray) -> Recoding:
        """The recoding with this number."""
        return self.recodings[int(genome[0])]

    def to_dict(self) -> dict[str, Any]:
        """The items and the boxes of each recoding as plain data."""
        if self.items is None:
            return {}
        items = {name: _pack(getattr(self.items, name)) for name in ("row", "value", "weight")}
        return {"items": items, "boxes": [_boxes_data(r.boxes) for r in self.recodings if r.boxes is not None]}


def make_local_space(table: Table, items: Division, boxes: Sequence[LabelBoxes]) -> LocalSpace:
    """The space of boxes that were found on a table."""
    return LocalSpace(table.hierarchies, items, tuple(local(classes) for classes in boxes))


def join_spaces(table: Table, space: LocalSpace, other: LocalSpace) -> LocalSpace:
    """The recodings of two spaces of one table as one space, those of the second after those of the first.

    In both the rows stand in a line by distinct row and value, so the borders of both together make the common items.
    """
    if space.items is None or other.items is None:
        return other if space.items is None else space
    lines = [(one, np.cumsum(one.items.weight)) for one in (space, other) if one.items is not None]
    borders = np.unique(np.concatenate([ends for _, ends in lines]))
    item = np.searchsorted(lines[0][1], borders)
    items = Division(space.items.row[item], space.items.value[item], np.diff(borders, prepend=0))
    rows, boxes = items.table(table), []
    for one, ends in lines:
        item = np.searchsorted(ends, borders)
        known = [recoding.boxes for recoding in one.recodings if recoding.boxes is not None]
        boxes += [LabelBoxes(rows, old.members[item], old.first, old.last, old.root) for old in known]
    return make_local_space(table, items, boxes)


def read_local_space(data: Mapping[str, Any], table: Table) -> LocalSpace:
    """The space of plain data on the table it was found on; what does not fit it is a sentence."""
    if "items" not in data:
        return LocalSpace(table.hierarchies)
    items = Division(*(_unpack(data["items"][name], table.rows) for name in ("row", "value", "weight")))
    if len({len(items.row), len(items.value), len(items.weight)}) > 1:
        raise BadInput(f"{UNFIT}: it has other rows.")
    rows = items.table(table)
    return make_local_space(table, items, [_boxes_from(classes, rows) for classes in data["boxes"]])


def _boxes_data(boxes: LabelBoxes) -> dict[str, Any]:
    arrays = {"member": boxes.members, "first": boxes.first, "last": boxes.last}
    packed: dict[str, Any] = {name: _pack(array) for name, array in arrays.items()}
    return packed if boxes.root is None else {**packed, "questions": questions_data(boxes.root)}


def _boxes_from(data: Mapping[str, Any], items: Table) -> LabelBoxes:
    columns = items.codes.shape[1]
    members = _unpack(data["member"], items.distinct)
    first, last = (_unpack(data[name], items.distinct * columns) for name in ("first", "last"))
    if len(first) != len(last) or len(first) % columns:
        raise BadInput(f"{UNFIT}: it has other columns.")
    first, last = (ends.reshape(-1, columns).astype(np.int32) for ends in (first, last))
    root = None
    if "questions" in data:
        try:
            root = questions_from(data["questions"], columns, len(first))
        except ValueError as error:
            raise BadInput(f"{UNFIT}: {error}.") from None
    return LabelBoxes(items, members, first, last, root)


def _pack(array: np.ndarray) -> str:
    """Whole numbers as text: eight bytes each, squeezed."""
    return base64.b64encode(zlib.compress(array.astype("<i8").tobytes(), EFFORT)).decode()


def _unpack(text: str, most: int) -> np.ndarray:
    """The whole numbers of a text, at most so many: (n,) int64."""
    try:
        squeezed = zlib.decompressobj()
        plain = squeezed.decompress(base64.b64decode(text.encode(), validate=True), 8 * most + 1)
    except (binascii.Error, zlib.error, ValueError):
        raise BadInput(f"{UNFIT}: they cannot be unpacked.") from None
    if len(plain) > 8 * most or len(plain) % 8 or not squeezed.eof:
        raise BadInput(f"{UNFIT}: it has other rows.")
    return np.frombuffer(plain, dtype="<i8").astype(np.int64)
