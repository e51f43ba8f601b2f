"""Local recodings: every set of equal labels keeps k and each limit, labels cover, nothing of what is gone is left."""

from __future__ import annotations

import random
from pathlib import Path

import kpareto as kp
from tests.fuzz import oracle
from tests.fuzz.face import Refused, demand, plain_words, steps_of
from tests.fuzz.kinds import Case, Kind
from tests.fuzz.kinds.fronts import table_of
from tests.fuzz.kinds.releases import TARGETS, check_counts, wants_counts
from tests.fuzz.oracle import Parted
from tests.fuzz.oracle.files import Row, file_texts, groups_of, only_lost, read_frame, read_rows, told
from tests.fuzz.oracle.steps import covers
from tests.fuzz.sources import FILES, FRAMES, source
from tests.fuzz.worlds import IDENTIFIER, PERSON, QUASI, SENSITIVE, kept_rows, make_world, of_role, place_of, sheet_of


def make_local(chance: random.Random) -> Case:
    """A world, seldom with persons, a k, perhaps an l, perhaps rows that may be suppressed."""
    case = make_world(chance, persons=0.05)
    case["door"], case["target"] = chance.choice(FILES + FRAMES), chance.choice(TARGETS)
    case["k"], case["share"] = chance.choice([2, 2, 3, 5]), chance.choice([0.0, 0.0, 0.1, 0.3])
    case["l"] = chance.choice([None, None, 2, 3])
    case["strict"], case["inner"] = chance.random() < 0.3, chance.getrandbits(32)
    case["counts"] = wants_counts(case, chance)
    return case


def check_local(case: Case, folder: Path) -> None:
    """What is written keeps its limits, counted by the oracle, and covers what was there; the verifier agrees."""
    rows = source(case, case["door"], folder)
    table = table_of(case, rows, folder)
    limits: dict[str, float] = {"k": case["k"]}
    if case["l"] is not None:
        limits |= {f"l(column={name})": case["l"] for name in of_role(case, SENSITIVE)}
    target = folder / case["target"] if case["target"] else None
    try:
        with plain_words("a local search"):
            front = kp.front(
                table, objectives=["k", "lm"], suppression=kp.constrained(limits, case["share"]), limits=limits,
                method="local", options={"ks": [case["k"], case["k"] + 2], "strict": case["strict"]},
            )  # fmt: skip
        point = front[random.Random(case["inner"]).randrange(len(front))]
        with plain_words("a local release"):
            place = None if target is None else f"{target}{'/' * case['target'].endswith('/')}"
            release = kp.release(point, rows, place, limits=limits, counts=bool(case.get("counts")))
    except kp.KparetoError as error:
        fine = table.rows < case["k"] + 2 or case["l"] is not None or not of_role(case, QUASI)
        fine = fine or bool(of_role(case, PERSON))
        demand(fine, "a local recoding is refused", str(error))
        raise Refused(str(error)) from error
    demand(not of_role(case, PERSON), "local recoding counts rows where persons are told apart", str(release.rows))
    released = read_frame(release.data) if target is None else read_rows(target)
    gone = _compare_rows(case, released)
    allowed = int(case["share"] * len(kept_rows(case)) + 1e-9)
    demand(len(gone) == release.suppressed, "rows suppressed", f"{release.suppressed} instead of {len(gone)}")
    demand(len(gone) <= allowed, "more rows suppressed than allowed", f"{len(gone)} where {allowed} may be")
    _check_limits(case, table, released, limits)
    check_counts(case, release, released)
    _check_papers(case, release, target, folder, gone)


def _compare_rows(case: Case, released: list[Row]) -> list[int]:
    """Every row stands there once, its labels cover its values; the numbers of those that are gone."""
    left = {row[place_of(case, "row")]: at for at, row in enumerate(kept_rows(case))}
    rows = kept_rows(case)
    for row in released:
        demand(row["row"] in left, "a row that is there twice, or should be gone", f"{row}")
        original = rows[left.pop(row["row"])]
        for column in case["columns"]:
            if column["name"] not in row:
                continue
            label, value = row[column["name"]], original[place_of(case, column["name"])]
            if column["role"] == QUASI:
                fine = covers(column.get("hierarchy"), label, value)
            else:
                fine = label == value or (value == "(missing)" and label == "")
            demand(fine, "a cell of a local release", f"{column['name']}: {label!r} was {value!r}")
    return list(left.values())


def _check_limits(case: Case, table: kp.Table, released: list[Row], limits: dict[str, float]) -> None:
    """Each limit, by sets of rows with equal labels: that is what a reader sees."""
    sheet, at = (
        sheet_of(case, steps_of(table)),
        {row[place_of(case, "row")]: n for n, row in enumerate(kept_rows(case))},
    )
    classes = []
    for labels, members in groups_of(released, of_role(case, QUASI)).items():
        numbers = tuple(at[row["row"]] for row in members)
        classes.append(oracle.Class(labels, numbers, oracle.size_of(sheet, numbers)))
    levels = tuple(0 for _ in sheet.steps)
    written = Parted(sheet, oracle.node(sheet, levels), tuple(classes))
    for spec, limit in limits.items():
        value = oracle.number(written, spec)
        demand(oracle.meets(spec, value, limit), "a limit is broken locally", f"{spec} is {float(value)}, not {limit}")


def _check_papers(case: Case, release: kp.Release, target: Path | None, folder: Path, gone: list[int]) -> None:
    """The verifier tells the k that is there; no word that only suppressed rows or identifiers have is in a byte."""
    rows = kept_rows(case)
    names = [*of_role(case, QUASI), *of_role(case, SENSITIVE)]
    words = only_lost({name: [row[place_of(case, name)] for row in rows] for name in names}, gone)
    hidden = [place_of(case, name) for name in of_role(case, IDENTIFIER)]
    secrets = {word for word in words if word.startswith("Rare")}
    secrets |= {row[place] for row in case["rows"] for place in hidden if row[place]}
    texts = [("the public certificate", release.certificate.public_text().encode())]
    if target is not None:
        with plain_words("verify"):
            release.certificate.write(folder / "certificate.json")
            verified = kp.verify(target, folder / "certificate.json")
        sets = groups_of(read_rows(target), of_role(case, QUASI)).values()
        k = min(len(members) for members in sets)
        demand(verified.numbers["k"] == k, "the verifier's k", f"{verified.numbers['k']} instead of {k}")
        texts += [(f"the release, {where}", raw) for where, raw in file_texts(target)]
    leaks = told(secrets, texts)
    demand(not leaks, "a leak of a local release", "; ".join(leaks)[:400])


KINDS = [
    Kind(
        "local", "local recodings: limits by sets of equal labels, cells, verifier, leaks", make_local, check_local, 4
    ),
]
