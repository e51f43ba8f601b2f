"""Compiled code that comes with the wheel, so that the first minute is not spent compiling (decision 0030).

``make wheel`` compiles the loops that most jobs use for a common processor (x86-64-v3, ten years old and more) and
writes them into the folder ``ready``, for each Python into one of its own. A loop is taken from there only if
everything fits: the sources of all loops, Python, numba, llvmlite, the platform, the features of this processor, and
the checksum of the file. Else, and where anything is odd, it is compiled as it would be without the folder.
"""

from __future__ import annotations

import json
import pickle
import sys
import zlib
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba

PYTHON = str(sys.implementation.cache_tag)  # cpython-311
FOLDER = Path(__file__).parent / "ready" / PYTHON
CPU = "x86-64-v3"
FEATURES = ("avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sahf", "sse4.2", "xsave")


def circumstances(sources: str) -> dict[str, str]:
    """All that compiled code depends on, but for the processor."""
    versions = {"python": PYTHON, "numba": numba.__version__, "llvmlite": llvmlite.__version__}
    return {"sources": sources, "platform": llvm.get_default_triple(), "cpu": CPU, **versions}


@cache
def ready_files(sources: str) -> dict[str, str]:
    """The loops that can be taken here: name and signature, hashed, to the checksum of the file."""
    try:
        index = json.loads((FOLDER / "index.json").read_text(encoding="utf-8"))
        host = llvm.get_host_cpu_features()
        fits = index["for"] == circumstances(sources) and all(host.get(feature) for feature in FEATURES)
        return dict(index["files"]) if fits else {}
    except Exception:  # noqa: BLE001 (whatever is wrong with the folder, compiling is the answer)
        return {}


def name_of(function: Any, signature: object) -> str:
    """The name of a file: of a loop and the types it takes."""
    return sha256(f"{function.__module__}.{function.__qualname__}{signature}".encode()).hexdigest()[:32]


def load_ready(function: Any, signature: object, sources: str) -> Any:
    """What numba makes a loop of without compiling it, or None where there is nothing that fits."""
    name = name_of(function, signature)
    wanted = ready_files(sources).get(name)
    if wanted is None:
        return None
    try:
        packed = (FOLDER / f"{name}.bin").read_bytes()
        return pickle.loads(zlib.decompress(packed)) if sha256(packed).hexdigest() == wanted else None
    except Exception:  # noqa: BLE001 (the same)
        return None


def write_ready(dispatchers: Iterable[Any], sources: str, folder: Path = FOLDER) -> int:
    """Write every loop that this process has compiled; returns how many. Its processor must be that of the wheel."""
    if vars(numba.config)["CPU_NAME"] != CPU:
        raise ValueError(f"Set NUMBA_CPU_NAME={CPU} and NUMBA_CPU_FEATURES= before anything is compiled.")
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    files = {}
    for dispatcher in dispatchers:
        for signature, result in dispatcher.overloads.items():
            name = name_of(dispatcher.py_func, signature)
            packed = zlib.compress(pickle.dumps(dispatcher._cache._impl.reduce(result)), 9)
            (folder / f"{name}.bin").write_bytes(packed)
            files[name] = sha256(packed).hexdigest()
    index = {"for": circumstances(sources), "files": files}
    (folder / "index.json").write_text(json.dumps(index, indent=1), encoding="utf-8")
    return len(files)
