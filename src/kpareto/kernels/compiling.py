"""How every loop is compiled, who is told of it, and a disk cache that notices an edit of any of them.

numba's index of a compiled function is stamped with the function's own file alone: an edit of a function or a constant
in another file is not noticed, and the old answer comes back (numba's manual names this limit). Ours is stamped with a
hash of all kernel sources, so an edit anywhere in this folder compiles anew.
"""

from __future__ import annotations

import gc
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial, wraps
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any

from numba import njit, version_info
from numba.core import event

from kpareto.interrupts import tell_compiled
from kpareto.kernels.ready import load_ready

# Nobody calls the loops from C, and the entries for it would take time to compile.
OPTIONS: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True}
ENTRIES: list[Any] = []  # every loop that Python calls
# The numbas whose sources were read: what their registries bring into the process (decision 0043).
OLDEST_READ, NEWEST_READ = (0, 61), (0, 68)
SOURCES = sha256(b"\0".join(file.read_bytes() for file in sorted(Path(__file__).parent.rglob("*.py")))).hexdigest()


def make_ready(target: Any) -> None:
    """What loaded code needs of numba: every symbol that it may ask for, and no registry of what can be compiled.

    numba fills its registries before it loads anything, half a second of every start; who compiles fills them anyway.
    """
    if not OLDEST_READ <= version_info.short <= NEWEST_READ:
        target.refresh()
        return
    import_module("numba.cpython.hashing")
    import_module("numba.core.runtime").rtsys.initialize(target)


def spare_scipy() -> None:
    """Let numba look whether SciPy is there, where it would import its linear algebra, which no loop uses.

    A third of a second of the first compilation; whoever multiplies matrices in a loop of their own imports it then.
    """
    with suppress(ImportError, AttributeError):  # a numba that asks elsewhere
        linalg: Any = import_module("numba.np.linalg")
        if "numba.np.arraymath" in sys.modules or find_spec("scipy") is None:
            return
        ask = linalg.ensure_blas
        linalg.ensure_blas = lambda: None
        try:
            arrays: Any = import_module("numba.np.arraymath")  # asks while it is imported
            arrays.ensure_blas = ask
        finally:
            linalg.ensure_blas = ask


def spare_loaded() -> None:
    """Spare SciPy too where loaded code names numba's array functions, whose module is imported with it."""
    environment: Any = import_module("numba.core.environment")
    rebuild = getattr(environment, "_rebuild_env", None)
    if rebuild is None:  # a numba that loads otherwise
        return

    @wraps(rebuild)
    def rebuild_spared(module: str, *others: Any) -> Any:
        if module == "numba.np.arraymath":
            spare_scipy()
        return rebuild(module, *others)

    environment._rebuild_env = rebuild_spared


spare_loaded()


def compiled(function: Any = None, *, memory: bool = True, entry: bool = True) -> Any:
    """Compile a loop without signature, lock or entry for C, cached on disk under the stamp of all kernels.

    memory: whether it makes or hands back arrays; without, nothing counts references, which compiles a fifth quicker.
    A loop without memory may call one that has, as long as no array comes back. entry: whether Python calls it.
    """
    if function is None:
        return partial(compiled, memory=memory, entry=entry)
    options = {**OPTIONS, "_nrt": memory, "no_cpython_wrapper": not entry}
    dispatcher: Any = njit(**options)(function)
    if not hasattr(dispatcher, "enable_caching"):  # NUMBA_DISABLE_JIT: the plain function
        return dispatcher
    dispatcher.enable_caching()
    dispatcher.compile = whole_compilation(without_collecting(dispatcher.compile))
    index: Any = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if hasattr(index, "_source_stamp"):
        index._source_stamp = SOURCES
        index._load_index = or_nothing(index._load_index)
        if hasattr(dispatcher._cache, "_load_overload") and hasattr(dispatcher._cache, "_impl"):
            dispatcher._cache.load_overload = or_ready(dispatcher._cache)
    else:  # a numba that keeps its stamp elsewhere: slow is better than stale
        dispatcher._cache.disable()
    if entry:
        ENTRIES.append(dispatcher)
    return dispatcher


inner = compiled(memory=False, entry=False)  # a part of other loops


def or_nothing(load: Callable[[], dict[Any, Any]]) -> Callable[[], dict[Any, Any]]:
    """An index that cannot be read counts as empty: that of an earlier version may name records that are gone."""

    def load_or_nothing() -> dict[Any, Any]:
        try:
            return load()
        except Exception:  # noqa: BLE001 (whatever is wrong with a cache, compiling again is the answer)
            return {}

    return load_or_nothing


def or_ready(cache: Any) -> Callable[[Any, Any], Any]:
    """What a cache has of a loop; where it has none, what came with the wheel; None: it is to be compiled."""

    def load_or_ready(signature: Any, target: Any) -> Any:
        make_ready(target)
        with cache._guard_against_spurious_io_errors():
            data = cache._load_overload(signature, target)
            if data is not None:
                return data
            payload = load_ready(cache._py_func, signature, SOURCES)
            if payload is not None:
                return cache._impl.rebuild(target, payload)
        spare_scipy()
        return None

    return load_or_ready


def without_collecting(compile_one: Callable[..., Any]) -> Callable[..., Any]:
    """Look for no garbage while a function is compiled: nearly all that compiling makes lives until it is done."""

    @wraps(compile_one)
    def compile_straight(*arguments: Any, **settings: Any) -> Any:
        collects = gc.isenabled()
        gc.disable()
        try:
            return compile_one(*arguments, **settings)
        finally:
            if collects:
                gc.enable()

    return compile_straight


def whole_compilation(compile_one: Callable[..., Any]) -> Callable[..., Any]:
    """Let Ctrl-C wait until a function is compiled or loaded; a second one does not wait.

    LLVM hands the compiled code back through a callback, where an exception is dropped: the code would be missing, and
    with it the whole kernel for the rest of the process.
    """

    @wraps(compile_one)
    def compile_whole(*arguments: Any, **settings: Any) -> Any:
        before = signal.getsignal(signal.SIGINT)
        nested = getattr(before, "waits", False)
        if threading.current_thread() is not threading.main_thread() or not callable(before) or nested:
            return compile_one(*arguments, **settings)
        came: list[tuple[int, FrameType | None]] = []

        def wait(number: int, frame: FrameType | None) -> None:
            came.append((number, frame))
            if len(came) > 1:
                signal.signal(signal.SIGINT, before)
                before(number, frame)

        wait.waits = True  # type: ignore[attr-defined]
        signal.signal(signal.SIGINT, wait)
        try:
            answer = compile_one(*arguments, **settings)
        finally:
            signal.signal(signal.SIGINT, before)
        if came:
            before(*came[0])
        return answer

    return compile_whole


class Compilations:
    """What numba tells of its work, so that no forecast counts it; a loop that comes from the disk takes none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = 0  # loops being compiled, one inside the other
        self._began = 0.0
        self._seconds = 0.0
        self._loops = 0  # that are compiled

    def notify(self, message: Any) -> None:
        """A loop begins to be compiled, or is compiled; numba calls this, in whichever thread it is."""
        with self._lock:
            if message.is_start:
                if self._open == 0:
                    self._began = time.monotonic()
                self._open += 1
            elif message.is_end:
                self._open -= 1
                self._loops += 1
                if self._open == 0:
                    self._seconds += time.monotonic() - self._began
        tell_compiled(self._loops, self._open > 0)

    @property
    def under_way(self) -> bool:
        """Whether a loop is being compiled."""
        return self._open > 0

    @property
    def seconds(self) -> float:
        """Seconds that compiling has taken in this process, until now."""
        with self._lock:
            return self._seconds + (time.monotonic() - self._began if self._open else 0.0)


COMPILATIONS = Compilations()
event.Listener.register(Compilations)  # counts as one of numba's listeners, without being derived from them
event.register("numba:compile", COMPILATIONS)


class NotCompiled(Exception):
    """A loop would have to be compiled, and what it is wanted for is not worth the wait."""


class Refusal:
    """Raises where a loop begins to be compiled."""

    def notify(self, message: Any) -> None:
        """A loop begins to be compiled, or is compiled."""
        if message.is_start:
            raise NotCompiled


event.Listener.register(Refusal)


@contextmanager
def without_compiling() -> Iterator[None]:
    """Inside the block loops come from the disk or the wheel; one that would have to be compiled raises NotCompiled."""
    with event.install_listener("numba:compile", Refusal()):
        yield


def working() -> float:
    """Seconds of work, from any moment on; compiling, once for a machine, is none and shortens no search."""
    return time.monotonic() - COMPILATIONS.seconds
