"""What each command does with a job: read, search, print. The command line only names the options."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import click
import numpy as np

from kpareto.checkpoint import Cancelled
from kpareto.console import progress, remark, show_table
from kpareto.cuts import Cuts
from kpareto.errors import BadJob, Interrupted
from kpareto.front import Front, Point
from kpareto.front import counted as size_text
from kpareto.job import Job, load_job
from kpareto.plots import Curve
from kpareto.problem import Problem
from kpareto.run import run, run_exact
from kpareto.searches import check_method, make_search, make_space
from kpareto.single import can_run_single, run_single
from kpareto.space import Lattice, Space
from kpareto.whole import write_whole

MOST_LINES = 48  # points printed; the JSON has them all


def write_json(answer: object, target: str | None) -> None:
    """JSON to a file, or to standard output for '-'; nothing without a target."""
    if target is None:
        return
    text = json.dumps(answer, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    if target == "-":
        sys.stdout.write(text)
    else:
        write_whole(target, text)


def protect(job: Job, path: str, *outputs: str | None) -> None:
    """Raise where an output would overwrite the job or the rows it reads."""
    inputs = [] if path == "adult" else [Path(path)]
    inputs += [] if job.embedded or job.in_database else [job.path(job.source)]
    refuse_overwriting(inputs, *outputs)


def refuse_overwriting(inputs: Sequence[Path], *outputs: str | None) -> None:
    """Raise where an output is one of the inputs, also behind a link."""
    for output in outputs:
        if output is None or output == "-" or not Path(output).exists():
            continue
        for given in inputs:
            if given.exists() and Path(output).samefile(given):
                raise BadJob(f"{output!r} is read by this command and would be overwritten. Give another name.")


def checkpoint_of(job: Job, path: str) -> Path:
    """Where a search that is stopped keeps what it knows."""
    name = Path(path).stem if not job.embedded or path != "adult" else "adult"
    return Path(path).parent / f"{name}.checkpoint.npz" if path != "adult" else Path("adult.checkpoint.npz")


def read_problem(job: Job, quiet: bool) -> Problem:
    """Read the job's table with a progress bar, and say how it came in."""
    began = time.perf_counter()
    with progress("Reading", 100, quiet) as advance:
        found = job.problem(progress=steps(advance))
    seconds = time.perf_counter() - began
    remark(f"Read {found.table.rows:,} rows ({found.table.distinct:,} distinct) in {seconds:.1f} s.", quiet)
    for sentence in found.table.remarks:
        remark(sentence, quiet)
    return found


def search_front(job: Job, problem: Problem, quiet: bool, checkpoint: Path | None = None) -> Front:
    """Run the job's search with a progress bar."""
    check_method(job.method, job.space)
    found = _searched(job, problem, quiet, checkpoint)
    if found.provenance.stopped and checkpoint is None:
        raise Interrupted("Stopped before the search was done, so nothing was written.")
    return found


def _searched(job: Job, problem: Problem, quiet: bool, checkpoint: Path | None) -> Front:
    if job.method == "exact":
        size = Lattice(problem.table.hierarchies).size
        with progress("Counting nodes", size, quiet) as advance:
            report = steps(advance)
            threads = job.options.get("threads")
            return run_exact(problem, job.options.get("ties", "all"), threads, report, checkpoint)
    space: Space = make_space(job.space, problem.table)
    if isinstance(space, Cuts) and can_run_single(job.method, problem, space):
        with progress(f"Searching ({job.method})", job.budget, quiet) as advance:
            report = steps(advance)
            return run_single(job.method, problem, space, job.budget, job.seed, job.options, report, checkpoint)
    search = make_search(job.method, problem, space, job.options)
    with progress(f"Searching ({job.method})", job.budget, quiet) as advance:
        return run(problem, space, search, job.budget, job.seed, steps(advance), checkpoint)


def steps(advance: Callable[[int], None]) -> Callable[[int, int], None]:
    """A report of totals for a bar that wants steps."""
    before = 0

    def report(done: int, _: int) -> None:
        nonlocal before
        advance(done - before)
        before = done

    return report


def front(
    path: str,
    json_file: str | None = None,
    picture: str | None = None,
    resume: bool = False,
    quiet: bool = False,
    changes: Sequence[str] = (),
    local: bool = False,
) -> Front:
    """``kpareto front JOB``: search, print the trade-offs, write JSON and a picture; ``local`` adds Mondrian."""
    job = load_job(path, changes)
    protect(job, path, json_file, picture)
    checkpoint = checkpoint_of(job, path)
    if not resume:
        with suppress(OSError):
            checkpoint.unlink()
    elif checkpoint.exists():
        remark(f"Going on from {checkpoint.name}.", quiet)
    else:
        remark("There is no checkpoint to go on from; starting anew.", quiet)
    problem = read_problem(job, quiet)
    stopped: Cancelled | None = None
    try:
        found = search_front(job, problem, quiet, checkpoint)
    except Cancelled as error:
        found, stopped = error.front, error
    if json_file != "-":
        print_front(found)
    write_json(found.to_dict() if json_file else None, json_file)
    beside = local_curve(found, json_file != "-") if local else ()
    if picture is not None:
        from kpareto.plots import save_picture

        remark(f"Picture: {save_picture(found, picture, curves=beside)}", quiet)
    if stopped is not None:
        raise stopped
    return found


def local_curve(found: Front, shown: bool) -> tuple[Curve, ...]:
    """Mondrian's local recodings for the common k, printed, and as a curve where the front has a loss to share."""
    from kpareto.search.mondrian import PRESETS, WARNING, curve

    made = curve(found.problem.table, PRESETS)
    if shown:
        show_table(
            ["k asked", "k", "lm", "glm", "classes"],
            [[each.asked, each.k, each.lm, float(each.glm), each.classes] for each in made],
            "Local recoding (Mondrian, relaxed), to stand beside; kpareto does not release it",
        )
        click.echo(WARNING)
    loss = next((name for name in ("glm", "lm") if name in found.names), None)
    if loss is None or "k" not in found.names:
        return ()
    height = [float(each.glm) if loss == "glm" else each.lm for each in made]
    return (Curve("Mondrian (local recoding)", np.array([float(each.k) for each in made]), np.array(height)),)


def print_front(found: Front) -> None:
    """The points as a table, and in words what the front proves."""
    names = [*found.names, "suppressed", "classes", *(h.name for h in found.problem.table.hierarchies)]
    places = _shown(found)
    rows: list[Sequence[object]] = []
    marks = _marks(found)
    for place in places:
        point = found[place]
        shown = point.recoding.describe()
        groups = [
            shown[h.name] if point.recoding.levels is not None else len(_list(shown[h.name]))
            for h in point.recoding.hierarchies
        ]
        values = [_whole_if(value) for value in point.values.values()]
        rows.append(
            [point.id, *values, point.partition.suppressed_rows, point.partition.classes, *groups, marks.get(place, "")]
        )
    show_table(["id", *names, ""], rows)
    if len(places) < len(found):
        click.echo(f"… {len(found) - len(places)} more points; --json FILE has all {len(found)}.")
    click.echo(sentence(found))


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _shown(found: Front) -> list[int]:
    """All points, or an even choice of them with the marked ones."""
    if len(found) <= MOST_LINES:
        return list(range(len(found)))
    even = {round(i * (len(found) - 1) / (MOST_LINES - 1)) for i in range(MOST_LINES)}
    return sorted(even | set(_marks(found)))


def _marks(found: Front) -> dict[int, str]:
    """What is special about a point: the knee, and the class sizes in common use."""
    marks: dict[int, list[str]] = {}
    if len(found):
        marks.setdefault(found.knee().id, []).append("knee")
        for k, point in found.presets().items():
            marks.setdefault(point.id, []).append(f"k ≥ {k}")
    return {place: ", ".join(words) for place, words in marks.items()}


def _whole_if(value: float) -> object:
    return int(value) if float(value).is_integer() and abs(value) < 2**53 else value


def sentence(found: Front) -> str:
    """What the front proves, in a sentence or two."""
    made = found.provenance
    shape = "column levels" if found.space.kind == "lattice" else "groups per column"
    words = f"{len(found):,} points" + (f" ({found.vectors:,} different)" if found.vectors != len(found) else "")
    counted = f"{made.evaluated:,} counted in {made.seconds:.2f} s"
    text = f"{words} of {size_text(found.space.size)} recodings; {counted}; the last columns are {shape}."
    if len(found) == 0:
        which = "No recoding" if made.complete else "No recoding that was counted"
        text = f"{which} of {size_text(found.space.size)} meets the limits; {counted}."
    sample = found.problem.table.sample
    if sample is not None:
        text += f" Found on {sample.words()}: the numbers are those of the sample."
    if made.complete:
        return f"{text} Complete{' of the sample' if sample else ''}: no trade-off is missing."
    return f"{text} Not complete: {made.note or 'a heuristic search may have missed points'}."


def chosen(job: Job, found: Front) -> Point:
    """The point the job's ``choose`` names: k=5 | knee | prefer: nwp=0.2, necd=0.1 | id=17."""
    return choose_point(found, job.choose or ("k=5" if "k" in found.names else "knee"))


def choose_point(found: Front, words: str) -> Point:
    """A point by words: ``k=5``, ``knee``, ``prefer: nwp=0.2, necd=0.1``, ``id=17``."""
    said = words.strip()
    if said == "knee":
        return found.knee()
    wishes = said.removeprefix("prefer:").strip()
    pairs: dict[str, float] = {}
    for part in wishes.split(","):
        name, equals, value = part.rpartition("=")
        try:
            pairs[name.strip()] = float(value)
        except ValueError:
            equals = ""
        if not equals or not name.strip():
            raise BadJob(
                f"The choice {words!r} is not understood. Write k=5, knee, id=17, or prefer: nwp=0.2, necd=0.1."
            )
    for measure, limit in found.problem.limits:  # met by every point already
        if measure.name in pairs and measure.name not in found.names:
            asked = pairs[measure.name]
            if asked <= limit if measure.better == "higher" else asked >= limit:
                del pairs[measure.name]
    if not pairs:
        return found.choose_least()
    if said.startswith("prefer:"):
        return found.prefer(**pairs)
    if set(pairs) == {"id"}:
        return found[int(pairs["id"])]
    return found.choose(pairs)
