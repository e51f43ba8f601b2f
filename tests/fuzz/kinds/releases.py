"""Releases: limits counted again in what was written, rows one by one, certificates, leaks, equal bytes, new rows."""

from __future__ import annotations

import pickle
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

import kpareto as kp
from tests.fuzz import oracle
from tests.fuzz.damage import damage_certificate, damage_release
from tests.fuzz.face import Refused, Wrong, demand, plain_words, steps_of
from tests.fuzz.keeping import copy_kept, keep
from tests.fuzz.kinds import Case, Kind
from tests.fuzz.kinds.fronts import find_front, make_aimed, same, table_of
from tests.fuzz.oracle import Parted, Sheet
from tests.fuzz.oracle.files import (
    Row,
    file_texts,
    groups_of,
    leak_name,
    only_lost,
    parquet_counts,
    read_frame,
    read_rows,
    told,
)
from tests.fuzz.oracle.steps import MISSING, STAR, covers
from tests.fuzz.sources import FILES, FRAMES, categorical, shuffled, source
from tests.fuzz.worlds import (
    IDENTIFIER,
    PERSON,
    PLAIN,
    QUASI,
    SENSITIVE,
    World,
    kept_rows,
    of_role,
    place_of,
    rule_of,
    sheet_of,
)

TARGETS = ("out.csv", "out.parquet", "out/", "")


@dataclass(frozen=True)
class Done:
    """A release and what it was made of."""

    release: kp.Release
    point: kp.Point
    mine: Parted
    rows: Any  # what was read
    table: kp.Table
    sheet: Sheet
    target: Path | None

    def released(self) -> list[Row]:
        """The rows as written or as they came back."""
        return read_frame(self.release.data) if self.target is None else read_rows(self.target)


def make_release(chance: random.Random) -> Case:
    """A world, where it lies and where it goes."""
    case = make_aimed(chance)
    case["door"], case["target"] = chance.choice(FILES + FRAMES), chance.choice(TARGETS)
    case["order"] = chance.choice(["shuffled", "kept"])
    case["counts"] = wants_counts(case, chance)
    return case


def wants_counts(case: Case, chance: random.Random) -> bool:
    """A tenth of the releases have one-way counts; where persons are told apart they are refused."""
    return chance.random() < 0.1 and not of_role(case, PERSON)


def check_counts(case: Case, release: kp.Release, released: Sequence[Row]) -> None:
    """No one-way count is below k, and those of a column add up to the rows that show something of it."""
    quasi, public = of_role(case, QUASI), release.certificate.public
    k = min(len(rows) for rows in groups_of(released, quasi).values())
    for name in quasi:
        column = public["codebook"][name]
        demand(("counts" in column) == bool(case.get("counts")), "counts that nobody asked for, or none", name)
        told_rows = [
            *(rows for _, _, rows in column.get("counts", ())),
            *([column["rest"]] if "rest" in column else []),
        ]
        demand(all(rows >= k for rows in told_rows), "a count below k", f"{name}: {told_rows} where k is {k}")
        shown = len(released) - public["suppression"]["masked"]
        demand("counts" not in column or sum(told_rows) == shown, "counts that do not add up", f"{name}: {told_rows}")


def do_release(case: Case, folder: Path) -> Done:
    """Search, choose a point by chance, and release it; Refused where nothing can be released."""
    rows = source(case, case["door"], folder)
    if case["door"] == "pandas" and case["inner"] % 3 == 0:
        rows = categorical(rows)
    table = table_of(case, rows, folder)
    sheet = sheet_of(case, steps_of(table))
    front = find_front(case, table)
    point = front[random.Random(case["inner"]).randrange(len(front))]
    levels = point.recoding.levels or ()
    ways = oracle.parted(sheet, oracle.node(sheet, levels), rule_of(case), levels)
    mine = next(
        p
        for p in ways
        if len(p.lost) == point.partition.suppressed_rows
        and (rule_of(case).name != "as-needed" or all(same(v, oracle.number(p, n)) for n, v in point.values.items()))
    )
    target = folder / case["target"] if case["target"] else None
    handling = kp.Handling(order=case["order"])
    try:
        with plain_words("release"):
            place = None if target is None else f"{target}{'/' * case['target'].endswith('/')}"
            counts = bool(case.get("counts"))
            release = kp.release(point, rows, place, limits=case["limits"], handling=handling, counts=counts)
    except kp.Unsafe as error:
        fine = all(oracle.meets(spec, oracle.number(mine, spec), limit) for spec, limit in case["limits"].items())
        demand(not fine, "a safe release is refused", str(error))
        raise Refused(str(error)) from error
    return Done(release, point, mine, rows, table, sheet, target)


# -- what was written ----------------------------------------------------------------------------------------------


def check_release(case: Case, folder: Path) -> None:
    """Limits, rows and cells as written, the verifier's numbers, and nothing that only suppressed rows had."""
    done = do_release(case, folder)
    check_rows(case, done)
    check_limits(case, done)
    check_counts(case, done.release, done.released())
    check_verifier(case, done, folder)
    check_leaks(case, done, folder)


def masked_or_dropped(case: Case, done: Done) -> Parted:
    """Our own parted sheet as it was released: masked rows may have been dropped because of a limit."""
    mine, stars = done.mine, [c for c in done.mine.classes if c.lost and c.seen]
    twin = any(set(labels) == {STAR} for labels in ([_label(done, c.key) for c in mine.kept]))
    if stars and (twin or oracle_fails(mine, stars[0], case["limits"])):
        rule = oracle.Rule(**{**vars(rule_of(case)), "mask": False})
        ways = oracle.parted(done.sheet, mine.recoding, rule, mine.levels)
        return next(p for p in ways if len(p.lost) == len(mine.lost))
    return mine


def _label(done: Done, key: Sequence[str]) -> list[str]:
    """The labels of a class, where they are all that is known: a star on the top level."""
    tops = [level == len(steps) - 1 for level, steps in zip(done.mine.levels or (), done.sheet.steps, strict=True)]
    return [STAR if top else f"={part}" for top, part in zip(tops, key, strict=True)]


def oracle_fails(mine: Parted, one: oracle.Class, limits: dict[str, float]) -> bool:
    """Whether a class misses one of the limits that are about classes."""
    models = {spec: limit for spec, limit in limits.items() if oracle.spelled(spec)[0] in oracle.BY_CLASS}
    return any(
        not oracle.meets(s, oracle.BY_CLASS[oracle.spelled(s)[0]](mine, one, oracle.spelled(s)[1]), x)
        for s, x in models.items()
    )


def check_rows(case: Case, done: Done) -> None:
    """Every row that is left stands there once, with labels that cover its values and its other cells as they were."""
    released, mine = done.released(), masked_or_dropped(case, done)
    names = [c["name"] for c in case["columns"] if c["role"] not in (IDENTIFIER, PERSON)]
    gone = {row for c in mine.classes if not c.seen for row in c.rows}
    masked = {row for c in mine.classes if c.lost and c.seen for row in c.rows}
    originals = {row[place_of(case, "row")]: (at, row) for at, row in enumerate(kept_rows(case)) if at not in gone}
    demand(len(released) == len(originals), "rows released", f"{len(released)} instead of {len(originals)}")
    demand(
        done.release.suppressed == len(mine.lost),
        "rows suppressed",
        f"{done.release.suppressed} instead of {len(mine.lost)}",
    )
    for row in released:
        demand(list(row) == names, "columns released", f"{list(row)} instead of {names}")
        demand(row["row"] in originals, "a row that should be gone", f"{row}")
        at, original = originals.pop(row["row"])
        for column in case["columns"]:
            if column["name"] not in row:
                continue
            label, value = row[column["name"]], original[place_of(case, column["name"])]
            if column["role"] != QUASI:
                fine = label == value or (value == "(missing)" and label == "")
                demand(fine, "a cell that was changed", f"{column['name']}: {label!r} was {value!r}")
            elif at in masked:
                demand(label == STAR, "a masked cell", f"{column['name']}: {label!r} instead of a star")
            else:
                demand(
                    covers(column.get("hierarchy"), label, value),
                    "label covers value",
                    f"{column['name']}: {label!r} was {value!r}",
                )


def check_limits(case: Case, done: Done) -> None:
    """Each limit, counted by classes of labels in what was written."""
    released, quasi = done.released(), of_role(case, QUASI)
    at = {row[place_of(case, "row")]: n for n, row in enumerate(kept_rows(case))}
    classes = []
    for labels, members in groups_of(released, quasi).items():
        rows = tuple(at[row["row"]] for row in members)
        classes.append(oracle.Class(labels, rows, oracle.size_of(done.sheet, rows)))
    written = Parted(done.sheet, done.mine.recoding, tuple(classes))
    for spec, limit in case["limits"].items():
        value = oracle.number(written, spec)
        demand(
            oracle.meets(spec, value, limit), "a limit is broken", f"{spec} is {float(value)} where {limit} is asked"
        )


def check_verifier(case: Case, done: Done, folder: Path) -> None:
    """The verifier agrees, with the whole certificate and the public part alone, and tells our own numbers."""
    if done.target is None:
        return
    for part in ("whole", "public"):
        place = folder / f"{part}.json"
        with plain_words("certificate"):
            (done.release.certificate.write if part == "whole" else done.release.certificate.write_public)(place)
        try:
            with plain_words("verify"):
                found = kp.verify(done.target, place)
        except kp.KparetoError as error:
            raise Wrong("a good release is not verified", f"{part}: {error}") from error
        k = min(len(rows) for rows in groups_of(done.released(), of_role(case, QUASI)).values())
        demand(found.numbers["k"] == k, "the verifier's k", f"{found.numbers['k']} instead of {k}")
        for name in of_role(case, SENSITIVE):
            told_l = found.numbers.get(f"l(column={name})")
            mine = min(
                len({oracle.spell(row[name]) for row in rows} - {"", MISSING})
                for rows in groups_of(done.released(), of_role(case, QUASI)).values()
            )
            demand(told_l is None or told_l == mine, "the verifier's l", f"{told_l} instead of {mine}")


def secrets_of(case: Case, done: Done) -> set[str]:
    """Words that nobody may find: of rows that are gone alone, identifiers, persons."""
    rows, mine = kept_rows(case), masked_or_dropped(case, done)
    gone = [row for c in mine.classes if not c.seen for row in c.rows]
    names = [c["name"] for c in case["columns"] if c["role"] not in (IDENTIFIER, PERSON, PLAIN)]
    words = {
        w for w in only_lost({n: [row[place_of(case, n)] for row in rows] for n in names}, gone) if w.startswith("Rare")
    }
    hidden = [place_of(case, n) for role in (IDENTIFIER, PERSON) for n in of_role(case, role)]
    return words | {row[place] for row in case["rows"] for place in hidden if row[place]}


def check_leaks(case: Case, done: Done, folder: Path) -> None:
    """No secret in any byte of what leaves: the file, the frame in any form, the public certificate."""
    secrets = secrets_of(case, done)
    texts = [("the public certificate", done.release.certificate.public_text().encode())]
    if done.target is not None:
        texts += [(f"the release, {where}", raw) for where, raw in file_texts(done.target)]
        counted = parquet_counts(done.target) if case["target"] in ("out.parquet", "out/") else []
        demand(not counted, "counts in Parquet", "; ".join(counted)[:300])
    found = told(secrets, texts)
    demand(not found, leak_name(secrets, done.released(), of_role(case, QUASI)), "; ".join(found)[:400])
    if done.target is None:
        framed = told(secrets, frame_texts(done.release.data, folder))
        demand(not framed, "a leak in a frame", "; ".join(framed)[:400])


def frame_texts(frame: Any, folder: Path) -> list[tuple[str, bytes]]:
    """A frame as its owner may write it down."""
    found = [("the frame's pickle", pickle.dumps(frame))]
    table = (
        frame
        if isinstance(frame, pa.Table)
        else frame.to_arrow()
        if hasattr(frame, "to_arrow")
        else pa.Table.from_pandas(frame)
    )
    pq.write_table(table, folder / "frame.parquet", compression="none")
    feather.write_feather(table, folder / "frame.feather", compression="uncompressed")
    for name in ("frame.parquet", "frame.feather"):
        found += [(f"{name}, {where}", raw) for where, raw in file_texts(folder / name)]
    return [*found, ("attrs", repr(getattr(frame, "attrs", "")).encode())]


# -- mutated -------------------------------------------------------------------------------------------------------


def make_mutable(chance: random.Random) -> Case:
    """A release into a file."""
    case = make_release(chance)
    case["door"], case["target"] = "csv", chance.choice(TARGETS[:3])
    return case


def vary_damage(chance: random.Random, case: Case) -> Case:
    """What is done to a release or to its certificate."""
    return {
        **case,
        "part": chance.choice(["release", "certificate", "certificate"]),
        "damage": chance.getrandbits(32),
    }


def write_certified(case: Case, folder: Path) -> None:
    """A release with its certificate."""
    do_release(case, folder).release.certificate.write(folder / "certificate.json")


def check_mutated(case: Case, folder: Path) -> None:
    """A changed file or certificate is refused by a sentence."""
    base = {name: part for name, part in case.items() if name not in ("part", "damage")}
    _, kept = keep("mutated", base, write_certified)
    copy_kept(kept, folder)
    chance = random.Random(case["damage"])
    place, target = folder / "certificate.json", folder / case["target"]
    if case["part"] == "release":
        what = damage_release(chance, target)
    else:
        what = damage_certificate(chance, place)
    try:
        with plain_words("verify"):
            kp.verify(target, place)
    except kp.KparetoError:
        return
    demand(
        False,
        "a changed certificate is accepted"
        if case["part"] == "certificate"
        else f"a changed release is accepted: {what}",
        what,
    )


# -- equal bytes ---------------------------------------------------------------------------------------------------


def make_equal(chance: random.Random) -> Case:
    """A world without the column of row numbers, which would tell orders apart."""
    case = make_release(chance)
    case["door"], case["target"], case["order"] = "csv", chance.choice(TARGETS[:2]), "shuffled"
    case["columns"] = case["columns"][:-1]
    case["rows"] = [row[:-1] for row in case["rows"]]
    return case


def check_equal(case: Case, folder: Path) -> None:
    """Run twice, and once with the rows in another order: equal fronts, equal bytes."""
    found = []
    for name, world in (("one", case), ("two", case), ("three", shuffled(case, random.Random(case["inner"])))):
        (folder / name).mkdir()
        done = do_release(world, folder / name)
        points = [(p.recoding.levels, tuple(p.values.values())) for p in done.point.front]
        found.append((points, (folder / name / case["target"]).read_bytes(), done.release.certificate.public_text()))
    demand(found[0] == found[1], "equal runs", "two runs differ")
    demand(found[0][:2] == found[2][:2], "order of rows", "front or release depend on the order of the rows")


# -- new rows ------------------------------------------------------------------------------------------------------


def make_apply(chance: random.Random) -> Case:
    """A release, and new rows made of old ones, some with words that the recoding has not seen."""
    case = make_release(chance)
    case["door"], case["target"], case["rule"]["mask"] = "csv", "out.csv", False
    picks = [chance.choice(case["rows"]) for _ in range(chance.randint(1, 30))]
    case["new"] = [[f"{1000 + n}" if c["type"] == "row" else cell for c, cell in zip(case["columns"], row, strict=True)]
                   for n, row in enumerate(picks)]  # fmt: skip
    case["unseen"] = chance.choice(["error", "star"])
    if chance.random() < 0.4:
        case["new"][0] = ["Newword" if c["role"] == QUASI and c["type"] == "text" else cell
                          for c, cell in zip(case["columns"], case["new"][0], strict=True)]  # fmt: skip
    return case


def check_apply(case: Case, folder: Path) -> None:
    """New rows meet the stored limits, and k of them and of the union is our own count."""
    done = do_release(case, folder)
    limits = {"k": 2, **case["limits"]}
    with plain_words("store"):
        kp.store(done.release.choice, limits, done.release.origin).write(folder / "recoding.json")
    world: World = {**case, "rows": case["new"]}
    new = source(world, "csv", folder, "new")
    try:
        with plain_words("apply"):
            found = kp.apply(
                folder / "recoding.json",
                new,
                folder / "applied.csv",
                unseen=case["unseen"],
                earlier=[folder / "out.csv"],
            )
    except kp.KparetoError as error:
        demand(not (folder / "applied.csv").exists(), "refused and written", str(error))
        raise Refused(str(error)) from error
    quasi, person = of_role(case, QUASI), of_role(case, PERSON)
    who = {
        row[place_of(case, "row")]: row[place_of(case, person[0])] if person else n
        for n, row in enumerate(case["rows"] + case["new"])
    }
    sizes: list[int] = []
    for files in (["applied.csv"], ["applied.csv", "out.csv"]):
        rows = [row for name in files for row in read_rows(folder / name)]
        sizes.append(min(len({who[row["row"]] for row in members}) for members in groups_of(rows, quasi).values()))
    demand(found.k == sizes[0], "k of new rows", f"{found.k} instead of {sizes[0]}")
    demand(sizes[0] >= limits["k"], "a limit is broken by apply", f"k is {sizes[0]} where {limits['k']} is asked")
    name = "k of the union of persons" if person else "k of the union"
    demand(
        found.k_union is None or found.k_union <= sizes[1] if person else found.k_union == sizes[1],
        name,
        f"{found.k_union} instead of {sizes[1]}",
    )


# -- anonymize -----------------------------------------------------------------------------------------------------


def make_anonymize(chance: random.Random) -> Case:
    """A frame for the one call."""
    case = make_release(chance)
    case["door"], case["target"] = chance.choice(FRAMES), ""
    case["columns"] = [{**c, "role": PLAIN if c["role"] in (PERSON, "target") else c["role"]} for c in case["columns"]]
    case["domain"], case["missing"] = "observed", "drop"
    case["limits"] = {"k": chance.choice([1, 2, 3])} | (
        {"l": 2} if of_role(case, SENSITIVE) and chance.random() < 0.4 else {}
    )
    case["rule"] = {"name": "as-needed", "limit": chance.choice([0, 0.1, 0.3]), "mask": False}
    case["objectives"] = ["lm"]
    return case


def check_anonymize(case: Case, folder: Path) -> None:
    """The release has the least LM of all nodes, holds its limits, and keeps nothing of suppressed rows."""
    rows = source(case, case["door"], folder)
    table = table_of(case, rows, folder)
    sheet = sheet_of(case, steps_of(table))
    share = case["rule"]["limit"]
    forms = {c["name"]: _form_input(c) or {"flat": True} for c in case["columns"] if c["role"] == QUASI}
    every = oracle.candidates(sheet, ["lm"], rule_of(case), case["limits"])
    best = min((c.values[0] for c in every), default=None)
    try:
        with plain_words("anonymize"):
            found = kp.anonymize(rows, of_role(case, QUASI), of_role(case, SENSITIVE), of_role(case, IDENTIFIER), forms,
                                 k=case["limits"]["k"], l=case["limits"].get("l"), suppression_limit=share,
                                 missing=case["missing"], plain=of_role(case, PLAIN))  # fmt: skip
    except kp.Unsafe as error:
        demand(best is None, "a safe release is refused", str(error))
        raise Refused(str(error)) from error
    demand(
        best is not None and same(found.numbers["lm"], best),
        "the least loss",
        f"{found.numbers['lm']} instead of {best}",
    )
    mine = next(c.parted for c in every if c.parted.levels == found.levels)
    done = Done(found.release, None, mine, rows, table, sheet, None)  # type: ignore[arg-type]
    check_rows(case, done)
    check_limits(case, done)
    check_leaks(case, done, folder)
    lost = len(case["rows"]) - len(kept_rows(case))
    demand(
        not lost or (found.release.remarks and any("missing" in r for r in found.release.remarks)),
        "missing rows go without a word",
        f"{lost} rows",
    )


def _form_input(column: dict[str, Any]) -> Any:
    form = column.get("hierarchy") if column["role"] == QUASI else None
    if form is None:
        return None
    return form["lines"] if "lines" in form else {"kind": "tree", "tree": form["tree"]} if "tree" in form else form


KINDS = [
    Kind("release", "limits, rows and cells as written, certificate, leaks", make_release, check_release, 3),
    Kind(
        "mutated",
        "a changed release or certificate is refused",
        make_mutable,
        check_mutated,
        vary=vary_damage,
        together=20,
    ),
    Kind("equal", "equal runs give equal bytes, in any order of rows", make_equal, check_equal, 6),
    Kind("apply", "new rows meet the stored limits, k of the union is right", make_apply, check_apply, 4),
    Kind("anonymize", "one call: the least loss of all nodes, safe, nothing leaks", make_anonymize, check_anonymize, 3),
]
