"""Every error kpareto raises on purpose.

KparetoError
├── BadInput            exit status 2: something given is wrong; nothing was written
│   ├── BadSchema       columns and roles
│   ├── BadHierarchy    a hierarchy that does not nest, cover or load
│   ├── BadTable        the rows themselves: empty, ragged, undecodable, unseen values
│   ├── BadJob          a job file or an argument that makes no sense
│   └── MissingExtra    an optional package is not installed
├── Unsafe              exit status 3: a limit is not met, or a danger not accepted; nothing was released
└── Interrupted         exit status 130: stopped by the user; what is known is kept
"""

from __future__ import annotations

import difflib
import errno
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

Progress = Callable[[int, int], None]  # told what is done and how much it is in all, 0 where nobody knows


LONGEST = 1_500  # letters of a sentence that a person still reads; what was given may be longer than that


@dataclass(frozen=True)
class Remedy:
    """What to do about an error or a warning: a word that a face may have a sentence of its own for, and the usual one.

    ``text`` is for the terminal and for Python, in the words of job files; it ends the sentence that it belongs to.
    """

    word: str  # what a person is asked to do; the page has its own sentence for each (faces/web/page_words.py)
    text: str


class KparetoError(ValueError):
    """The root of the tree; its text is one sentence for a person, with what was given shortened where it is long.

    Attributes
    ----------
    what : str
        The sentence alone.
    where : str
        The setting of a job that is wrong, such as ``limits.k``: it begins the text.
    remedy : Remedy or None
        What to do: it ends the text.
    """

    def __init__(self, sentence: str = "", *, where: str = "", remedy: Remedy | None = None) -> None:
        self.what = sentence
        self.where = where
        self.remedy = remedy
        super().__init__(_shorten(f"{where} {sentence} {remedy.text if remedy else ''}".strip()))

    def say_file(self, name: str) -> None:
        """Begin the sentence with the name of the file in which the setting stands."""
        joint = ", " if self.where.startswith("[") and self.where.endswith(":") else ": "
        self.args = (_shorten(f"{name}{joint}{self}"),)


def _shorten(sentence: str) -> str:
    if len(sentence) <= LONGEST:
        return sentence
    return f"{sentence[: LONGEST * 2 // 3]} … {sentence[-LONGEST // 3 :]}"


class BadInput(KparetoError):
    """What was given is wrong: the sentence says what, what was given, and what to do."""


class BadSchema(BadInput):
    """A column is missing, or has two roles, or none is a quasi-identifier."""


class BadHierarchy(BadInput):
    """A hierarchy does not nest, does not cover its column, or cannot be read."""


class BadTable(BadInput):
    """The rows cannot be used: empty, ragged, not decodable, unseen values."""


class BadJob(BadInput):
    """A job file or an argument makes no sense."""


class MissingExtra(BadInput):
    """An optional package is needed; the sentence says which one to install."""


class Unsafe(KparetoError):
    """A limit is not met or a danger not accepted, so nothing is released."""


class ReleaseWarning(UserWarning):
    """What must be known of a release that was made from Python: told once; ``result.warnings`` has it in full."""


class SearchWarning(UserWarning):
    """What must be known of a search that was begun from Python, before it has counted anything."""


class Interrupted(KparetoError):
    """The user stopped the work; what is known so far was kept."""


class Stopped(Exception):
    """Raised by a Progress to stop a search; like Ctrl-C it costs one step, and what is known is kept."""


EAR = "kpareto-ctrl-c"  # the thread that hears Ctrl-C for engines; it waits, and holds nothing


@contextmanager
def keep_interrupt() -> Iterator[None]:
    """Ctrl-C is Ctrl-C: coming while a compiled function hands its answer over, Python makes a SystemError of it.

    Coming just when ``shutil.rmtree`` has closed a folder, it lets Python close it again, which is an OSError.
    """
    try:
        yield
    except (SystemError, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.EBADF:
            raise
        came: BaseException | None = error
        while came is not None:  # numba may have made yet another error of it on the way
            came = came.__cause__ or came.__context__
            if isinstance(came, KeyboardInterrupt):
                raise KeyboardInterrupt from error
        raise


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A half sentence ``Did you mean 'zipcode'? `` for a word close to a known one, else nothing."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"Did you mean {near[0]!r}? " if near else ""


def shorten(words: Sequence[object], limit: int = 8) -> str:
    """A list for a sentence: the first few words, and how many more there are."""
    shown = ", ".join(str(word) for word in words[:limit])
    return f"{shown} and {len(words) - limit:,} more" if len(words) > limit else shown


def say_unusable(error: OSError) -> str:
    """The sentence for a file that the system does not give, where nobody closer had one."""
    return f"Cannot use {str(error.filename)!r}: {error.strerror}."
