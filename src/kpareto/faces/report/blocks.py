"""What pages are made of: parts with a title, and in them sentences, lists, tables and pictures, in no language yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kpareto.faces.report.report import FormField
from kpareto.fronts.markup import Markup
from kpareto.releases.warnings import Remark


class Term(NamedTuple):
    """A cell with a name and, less loud, what it means."""

    name: str
    meaning: str


class Digest(str):
    """A cell with a hash, which may be broken anywhere."""

    __slots__ = ()


@dataclass(frozen=True)
class Heading:
    """A line above what follows, within a part."""

    text: str


@dataclass(frozen=True)
class Sentence:
    """A paragraph."""

    text: str
    kind: str | None = None  # lead, soft


@dataclass(frozen=True)
class ItemList:
    """Sentences one below the other."""

    items: Sequence[str]
    numbered: bool = False


@dataclass(frozen=True)
class TableBlock:
    """A table."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[object]]
    right: Iterable[int] = ()  # columns of numbers
    lines: Mapping[int, str] = field(default_factory=dict)  # line -> how it is set off: chosen, gone
    kind: str | None = None  # dense: with many columns; keep: cells are not broken


@dataclass(frozen=True)
class Illustration:
    """A picture with the words above and below it."""

    picture: Markup
    caption: str = ""
    title: str = ""


@dataclass(frozen=True)
class Illustrations:
    """Pictures and what they show, in a sentence; where there can be none, a table of the same."""

    figures: Sequence[Illustration]
    note: str = ""
    instead: TableBlock | None = None


@dataclass(frozen=True)
class Tiles:
    """Numbers in large letters, each with its words; where there are none, the sentences have them."""

    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Alerts:
    """Warnings, the gravest first."""

    alerts: Sequence[Remark]


@dataclass(frozen=True)
class Fields:
    """Lines of a form."""

    fields: Sequence[FormField]


@dataclass(frozen=True)
class Together:
    """Blocks that paper does not part."""

    blocks: Sequence[Block]
    whole: bool = True


Block = Heading | Sentence | ItemList | TableBlock | Illustrations | Tiles | Alerts | Fields | Together


@dataclass(frozen=True)
class PagePart:
    """A part of a page: its address, its title and its blocks."""

    name: str
    title: str
    blocks: Sequence[Block]
