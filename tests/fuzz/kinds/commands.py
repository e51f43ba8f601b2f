"""The command line: the whole way from a job to new rows, hostile words, outputs that are inputs, damaged files, resuming."""

from __future__ import annotations

import json
import random
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.fuzz import oracle
from tests.fuzz.face import Refused, Wrong, command, demand, process
from tests.fuzz.kinds import Case, Kind
from tests.fuzz.kinds.fronts import make_aimed
from tests.fuzz.oracle.files import file_texts, groups_of, leak_name, only_lost, read_rows, told
from tests.fuzz.oracle.steps import STAR, covers
from tests.fuzz.sources import FILES, source, write_job
from tests.fuzz.worlds import IDENTIFIER, PERSON, PLAIN, QUASI, World, kept_rows, of_role, place_of, sheet_of

LONGEST = 240  # seconds for a job of a few rows that somebody mistyped
MEMORY = 6 << 30  # bytes that such a job may take


# -- the whole way -------------------------------------------------------------------------------------------------


def make_way(chance: random.Random) -> Case:
    """A job with a release, sometimes by cuts or runs of values."""
    case = make_aimed(chance)
    case["objectives"] = [
        "k",
        chance.choice(["lm", "glm", "nwp", *([] if not of_role(case, "sensitive") else ["alpha", "t"])]),
    ]
    case["rule"]["name"] = chance.choice(["cap-max-k", "cap-max-k", "as-needed", "none", "below-k"])
    case["limits"] = {"k": chance.choice([2, 3]), **{s: v for s, v in case["limits"].items() if s != "k"}}
    case["space"] = chance.choice(["lattice", "lattice", "cuts", "order"])
    case["choose"] = chance.choice(
        ["k=2", "k=3", "knee", "id=0", *(["alpha=1.0, k=2"] if "alpha" in case["objectives"] else [])]
    )
    case["door"], case["target"] = chance.choice(FILES[:4]), chance.choice(["out.csv", "out.parquet", "out/"])
    return case


def check_way(case: Case, folder: Path) -> None:
    """Front, release, verify, report and apply: right statuses, limits as written, labels true, nothing leaks."""
    method = "exact" if case["space"] == "lattice" else "nsga2"
    search = {"method": method, "space": case["space"], "budget": 300}
    job = write_job(
        case, folder, case["door"], search=search, release={"choose": case["choose"], "target": case["target"]}
    )
    said = command(folder, "release", job.name, "-q", "--json", "answer.json")
    target = folder / case["target"]
    if said.status != 0:
        demand(not target.exists(), "refused and written", said.err)
        raise Refused(said.err)
    check_written(case, target, folder)
    papers = {name: folder / f"out.{name}.json" for name in ("certificate", "certificate.public", "recoding")}
    for name, paper in papers.items():
        demand(paper.exists(), "papers", f"{name} is not there")
        mode = paper.stat().st_mode & 0o077
        demand(name == "certificate.public" or not mode, "a confidential paper is open to others", f"{name}: {mode:o}")
    check_claims(case, json.loads(papers["certificate"].read_text(encoding="utf-8")))
    for name in ("certificate", "certificate.public"):
        verified = command(folder, "verify", case["target"], papers[name].name)
        demand(verified.status == 0, "a good release is not verified", verified.err)
    report = command(folder, "report", job.name, "-q", "-o", "report.html")
    demand(report.status in (0, 3), "a report is refused", report.err)
    check_secrets(case, target, [papers["certificate.public"], *[p for p in [folder / "report.html"] if p.exists()]])
    applied = command(
        folder, "apply", papers["recoding"].name, source(case, case["door"], folder).name, "--target", "new.csv", "-q"
    )
    demand(applied.status in (0, 3), "the fitting rows are refused", applied.err)


def check_written(case: Case, target: Path, folder: Path) -> None:
    """The limits on classes in the written rows, and labels that cover the values of their rows."""
    rows, released, quasi = kept_rows(case), read_rows(target), of_role(case, QUASI)
    at = {row[place_of(case, "row")]: n for n, row in enumerate(rows)}
    sheet = plain_sheet(case)
    classes = []
    for labels, members in groups_of(released, quasi).items():
        places = tuple(at[row["row"]] for row in members)
        classes.append(oracle.Class(labels, places, oracle.size_of(sheet, places)))
        for name, label in zip(quasi, labels, strict=True):
            form = case["columns"][place_of(case, name)].get("hierarchy")
            for place in places:
                value = rows[place][place_of(case, name)]
                demand(covered(case, form, label, value), "label covers value", f"{name}: {label!r} was {value!r}")
    written = oracle.Parted(sheet, (), tuple(classes))
    for spec, limit in case["limits"].items():
        if oracle.spelled(spec)[0] in oracle.BY_CLASS:
            value_ = oracle.number(written, spec)
            demand(
                oracle.meets(spec, value_, limit),
                "a limit is broken",
                f"{spec} is {float(value_)} where {limit} is asked",
            )


def covered(case: Case, form: dict[str, Any] | None, label: str, value: str) -> bool:
    """Whether a label is true; searches of runs name a group by all its values, or by the first and last."""
    if covers(form, label, value) or value in re.split(r"\||, ", label):
        return True
    if form is None and " to " in label:  # days, which a job joins by the calendar
        first, _, last = label.partition(" to ")
        return first <= value <= last
    if case.get("space") == "lattice":
        return False
    low, _, high = label.partition("-") if label.count("-") == 1 else label.partition(" - ")
    numbers = all(oracle.is_number(part) for part in (low, high, value))
    return (
        label == STAR or (numbers and float(low) <= float(value) <= float(high)) or (not numbers and form is not None)
    )


def plain_sheet(case: Case) -> oracle.Sheet:
    """The sheet for counting values and persons; no way to make columns coarser is needed for that."""
    flat: World = {**case, "columns": [{k: v for k, v in c.items() if k != "hierarchy"} for c in case["columns"]]}
    return sheet_of(flat)


def check_claims(case: Case, certificate: dict[str, Any]) -> None:
    """Each limit of the job stands in the certificate as it was asked, or stricter."""
    claims = [*certificate["public"]["claims"], *certificate["confidential"]["claims"]]
    for spec, limit in case["limits"].items():
        name, given = oracle.spelled(spec)
        stated = [c["limit"] for c in claims if c["measure"] == name and c["limit"] is not None
                  and {k: str(v) for k, v in c.get("with", {}).items() if k != "counts"} == given]  # fmt: skip
        weaker = [s for s in stated if not oracle.meets(spec, float(s), limit)]
        demand(stated and not weaker, "a limit is replaced by a weaker one", f"{spec} = {limit} is stated as {stated}")


def check_secrets(case: Case, target: Path, papers: list[Path]) -> None:
    """No word of rows that are gone alone, no identifier and no person in what may be handed out."""
    rows, released = kept_rows(case), read_rows(target)
    left = {row["row"] for row in released}
    gone = [n for n, row in enumerate(rows) if row[place_of(case, "row")] not in left]
    names = [c["name"] for c in case["columns"] if c["role"] not in (IDENTIFIER, PERSON, PLAIN)]
    words = {
        w for w in only_lost({n: [row[place_of(case, n)] for row in rows] for n in names}, gone) if w.startswith("Rare")
    }
    hidden = {row[place_of(case, n)] for role in (IDENTIFIER, PERSON) for n in of_role(case, role) for row in rows}
    texts = [(f"{p.name}, {where}", raw) for p in [target, *papers] for where, raw in file_texts(p)]
    found = told(words | hidden, texts)
    demand(not found, leak_name(words | hidden, released, of_role(case, QUASI)), "; ".join(found)[:400])


# -- hostile words -------------------------------------------------------------------------------------------------

SETTINGS = [
    "data.source={}", "data.missing={}", "data.person={}", "data.domain={}", "data.encoding={}",
    "data.separator={}", "data.header={}", "data.names={}", "data.skip={}", "data.decimal={}", "data.thousands={}",
    "data.dates={}", "data.sheet={}", "release.separator={}", "release.encoding={}", "release.decimal={}", "data.memory={}", "data.seed={}",
    "data.too_many={}", "data.sample={}", "data.missing_values={}", "suppression.rule={}", "suppression.limit={}", "suppression.rows={}",
    "search.method={}", "search.space={}", "search.objectives={}", "search.budget={}", "search.seed={}", "search.ties={}",
    "search.population={}", "search.depth={}", "search.grid={}", "limits.k={}", "limits.l={}", "limits.t={}", "limits.nope={}",
    "release.choose={}", "release.identifiers={}", "release.order={}", "release.seed={}", "release.formulas={}", "release.target={}",
    "columns.age={}", "columns.age.role={}", "columns.age.weight={}", "columns.age.hierarchy={}", "columns.age.first={}", "{}", "x.y={}",
]  # fmt: skip
VALUES = [
    "nan", "inf", "-inf", "-1", "0", "1", "1e30", "1e400", "0.5", "true", '""', '"x"', '"utf-16"', '"nope.csv"', "[]", "[[]]", "{}",
    '["k"]', '["k","k"]', '["recursive-l(l=nan)","lm"]', '["average-class-size(k=inf)","k"]', '["t(distance=nope)"]', '["lm","l"]',
    '"id=nan"', '"id=99"', '"id=-1"', '"k=-5"', '"k=nan"', '"prefer: k=3"', '"prefer: x=1"', '"k=2, lm=0"', '"knee"', '"k>3"',
    "{quantiles = 0}", "{quantile_cells = []}", "{intervals = []}", "{intervals = [0]}", "{intervals = [-1]}", "{intervals = [5], from = nan}",
    "{prefix = [0]}", "{mask = [99]}", "{dates = true}", "{bounds = [[]]}", "{edges = [1]}", "{order = []}", '{file = "nope"}', '"."',
    '"below-k"', '"as-needed"', '"as-needed"', '"order"', '"cuts"', '"genitor"', '"sample"', '"error"', '"mask"', '"token"', "'a\\b.csv'",
]  # fmt: skip
BASE = """[data]
source = "people.csv"
[columns.name]
role = "identifier"
[columns.age]
role = "quasi-identifier"
hierarchy = {intervals = [5, 10, 20], from = 0}
[columns.sex]
role = "quasi-identifier"
[columns.ill]
role = "sensitive"
[suppression]
limit = 0.1
[search]
objectives = ["k", "lm"]
[release]
choose = "k=2"
target = "out.csv"
"""


def write_people(folder: Path, chance: random.Random, rows: int = 40, name: str = "people.csv") -> None:
    """A small table with the job above."""
    lines = [
        f"N{n},{20 + chance.randrange(30)},{chance.choice('MF')},{chance.choice(['flu', 'cold', 'gout'])}"
        for n in range(rows)
    ]
    (folder / name).write_text("name,age,sex,ill\n" + "\n".join(lines) + "\n", encoding="utf-8")
    (folder / "job.toml").write_text(BASE, encoding="utf-8")


def make_hostile(chance: random.Random) -> Case:
    """A command with one or two settings that nobody should give."""
    changes = [chance.choice(SETTINGS).replace("{}", chance.choice(VALUES)) for _ in range(chance.choice([1, 1, 2]))]
    return {
        "command": chance.choice(["front", "release", "release", "report"]),
        "changes": changes,
        "inner": chance.getrandbits(32),
    }


def check_hostile(case: Case, folder: Path) -> None:
    """A sentence and status 2 or 3, or a right release; never a traceback, and nothing written when refused."""
    write_people(folder, random.Random(case["inner"]))
    before = {place.name for place in folder.iterdir()}
    more = ["-o", "report.html"] if case["command"] == "report" else []
    with timed(LONGEST, f"a hang in {case['command']}"):
        said = command(
            folder, case["command"], "job.toml", "-q", *more, *(w for c in case["changes"] for w in ("--set", c))
        )
    new = {place.name for place in folder.iterdir()} - before
    new -= {"job.front.json"}  # what was searched is kept for the next command; it is no release
    demand(said.status == 0 or not new, "refused and written", f"{case['changes']}: {sorted(new)}, {said.err}")
    if said.status == 0 and case["command"] == "release" and (folder / "out.csv").exists():
        rows = read_rows(folder / "out.csv")
        k = (
            min(len(members) for members in groups_of(rows, ["age", "sex"]).values())
            if rows and {"age", "sex"} <= set(rows[0])
            else 2
        )
        fine = k >= 2 or any(
            change.startswith(("limits.k", "columns", "release.choose", "data", "{}")) for change in case["changes"]
        )
        demand(fine, "a limit is broken", f"{case['changes']}: k is {k} where 2 is asked")


@contextmanager
def timed(seconds: int, name: str) -> Iterator[None]:
    """Raise Wrong when the block takes longer."""

    def stop(*_: object) -> None:
        raise Wrong(name, f"more than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


HUGE = ["search.threads=nan", "search.threads=-1", "search.threads=100000", "columns.age.hierarchy={intervals = [5], to = 1e9}",
        "columns.age.hierarchy={intervals = [1e-9], from = 0}", "search.population=1000000000", "search.budget=1000000000000",
        'data.source="/"', "data.sample=1e18", "columns.age.hierarchy={quantiles = 1000000000}", "search.depth=1000000000"]  # fmt: skip


def check_resources(case: Case, folder: Path) -> None:
    """A job of forty rows that asks for the moon is answered soon and within a few gigabytes."""
    write_people(folder, random.Random(case["inner"]))
    limits = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))"
    running = process(folder, "front", "job.toml", "-q", "--set", case["change"], before=limits)
    try:
        _out, err = running.communicate(timeout=LONGEST)
    except Exception as error:
        running.kill()
        running.communicate()
        raise Wrong(f"a hang: {case['change']}", f"more than {LONGEST} seconds") from error
    demand(
        running.returncode in (0, 2, 3), f"resources: {case['change']}", f"status {running.returncode}: {err[-200:]}"
    )


# -- outputs and inputs --------------------------------------------------------------------------------------------


def make_overwriting(chance: random.Random) -> Case:
    """A command whose output has the name of something that is there."""
    return {"way": chance.choice(list(WAYS)), "inner": chance.getrandbits(32)}


WAYS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # words, and the files that must be as they were
    "front --json onto the data": (("front", "job.toml", "--json", "people.csv"), ("people.csv",)),
    "front --json onto the job": (("front", "job.toml", "--json", "job.toml"), ("job.toml",)),
    "front --json onto a hierarchy": (("front", "job.toml", "--json", "ages.csv"), ("ages.csv",)),
    "front --picture onto a hierarchy": (("front", "job.toml", "--picture", "ages.svg"), ("ages.svg",)),
    "release --target onto the data": (("release", "job.toml", "--target", "people.csv"), ("people.csv",)),
    "release --target onto a hierarchy": (("release", "job.toml", "--target", "ages.csv"), ("ages.csv",)),
    "release --json onto the release": (("release", "job.toml", "--json", "out.csv"), ("out.csv",)),
    "release --json onto the certificate": (("release", "job.toml", "--json", "out.certificate.json"), ("out.certificate.json",)),
    "release --target onto a link to the data": (("release", "job.toml", "--target", "link.csv"), ("people.csv",)),
    "apply --target onto an earlier release": (("apply", "out.recoding.json", "next.csv", "--target", "out.csv", "--earlier", "out.csv"), ("out.csv",)),
    "apply --target onto the recoding": (("apply", "out.recoding.json", "next.csv", "--target", "out.recoding.json"), ("out.recoding.json",)),
    "apply --target onto its data": (("apply", "out.recoding.json", "next.csv", "--target", "next.csv"), ("next.csv",)),
    "report onto the release": (("report", "job.toml", "-o", "people.csv"), ("people.csv",)),
    "another ending, the same papers": (("release", "job.toml", "--target", "out.parquet", "--choose", "k=4"), ("out.certificate.json",)),
    "apply --earlier that is not there": (("apply", "out.recoding.json", "next.csv", "--target", "x.csv", "--earlier", "nope.csv"), ("!x.csv",)),
}  # fmt: skip


def check_overwriting(case: Case, folder: Path) -> None:
    """What is read, and what another release needs, is never written over."""
    chance = random.Random(case["inner"])
    write_people(folder, chance, name="next.csv")
    write_people(folder, chance)
    (folder / "ages.csv").write_text("".join(f"{n};{n // 10 * 10};*\n" for n in range(20, 60)), encoding="utf-8")
    (folder / "ages.svg").write_text("".join(f"{n};{n // 10 * 10};*\n" for n in range(20, 60)), encoding="utf-8")
    words, kept = WAYS[case["way"]]
    form = "ages.svg" if "ages.svg" in kept else "ages.csv"
    (folder / "job.toml").write_text(BASE.replace("{intervals = [5, 10, 20], from = 0}", f'"{form}"'), encoding="utf-8")
    (folder / "link.csv").symlink_to("people.csv")
    demand(command(folder, "release", "job.toml", "-q").status == 0, "the base job", "it is refused")
    before = {name: (folder / name).read_bytes() for name in kept if not name.startswith("!")}
    command(folder, *words, *(["--overwrite"] if words[0] in ("release", "apply") else []), "-q")
    for name, raw in before.items():
        same_rows = name == "out.csv" and case["way"].startswith("release") and read_ok(folder / name)
        demand(
            (folder / name).read_bytes() == raw or same_rows, f"overwritten: {case['way']}", f"{name} was written over"
        )
    for name in [name.removeprefix("!") for name in kept if name.startswith("!")]:
        demand(not (folder / name).exists(), f"refused and written: {case['way']}", f"{name} is there")


def read_ok(place: Path) -> bool:
    """Whether a file is still a release of people."""
    return place.read_text(encoding="utf-8").startswith("age,sex,ill")


KINDS = [
    Kind("commands", "the whole way by the command line", make_way, check_way, 6),
    Kind("hostile", "words nobody should give: a sentence, never a traceback", make_hostile, check_hostile, 2),
    Kind(
        "resources",
        "jobs that ask for the moon are answered soon",
        lambda c: {"change": c.choice(HUGE), "inner": c.getrandbits(32)},
        check_resources,
        60,
    ),
    Kind("overwriting", "no output replaces an input or another's papers", make_overwriting, check_overwriting, 5),
]
