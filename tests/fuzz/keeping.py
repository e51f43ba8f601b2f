"""What several cases in a row need is made once: a table that was read, a release with its papers, a checkpoint."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import kpareto as kp
from tests.fuzz.face import Refused
from tests.fuzz.kinds import Case

Made = TypeVar("Made")
_LAST: dict[str, tuple[str, Path, Any]] = {}  # what it is for -> the case as text, its folder, the answer or Refused


def keep(name: str, case: Case, make: Callable[[Case, Path], Made]) -> tuple[Made, Path]:
    """The answer of ``make`` for this case, and the folder it has worked in; made again only for another case."""
    text = json.dumps(case, sort_keys=True)
    if name not in _LAST or _LAST[name][0] != text:
        _drop(name)
        folder = Path(tempfile.mkdtemp(prefix="fuzz-kept-"))
        answer: Any
        try:
            answer = make(case, folder)
        except (Refused, kp.KparetoError) as refused:
            answer = Refused(str(refused))
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        _LAST[name] = (text, folder, answer)
    _, folder, answer = _LAST[name]
    if isinstance(answer, Refused):
        raise Refused(str(answer))
    return answer, folder


def copy_kept(kept: Path, folder: Path) -> None:
    """Everything that was made, in the folder of a case."""
    shutil.copytree(kept, folder, dirs_exist_ok=True)


def _drop(name: str) -> None:
    if name in _LAST:
        shutil.rmtree(_LAST.pop(name)[1], ignore_errors=True)


@atexit.register
def _drop_all() -> None:
    for name in list(_LAST):
        _drop(name)
