"""The verifier: it accepts every true release (see test_release) and rejects every lie with a sentence."""

from __future__ import annotations

import ast
import copy
import csv
import inspect
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kpareto.errors import BadInput, KparetoError, Unsafe
from kpareto.releases.release import release
from kpareto.verifier import counting, verify
from kpareto.verifier.counting import file_digest
from kpareto.verifier.definitions import VALUES, Look
from kpareto.verifier.judging import look_at_rows, shares
from tests.twins.releases import chosen, people, seal

LIMITS = {"k": 15, "l": 3, "t": 0.2, "t(distance=ordered)": 0.2, "alpha": 0.4, "entropy-l": 2, "beta": 1, "delta": 1}


@dataclass
class Lie:
    """A release and its certificate, to be changed before they are verified again."""

    folder: Path
    file: Path
    certificate: dict[str, Any]

    def rows(self) -> list[list[str]]:
        """The released rows, the names of the columns first."""
        with self.file.open(newline="") as lines:
            return list(csv.reader(lines))

    def rewrite(self, rows: list[list[str]]) -> None:
        """Write other rows, and let the certificate name their hash and number."""
        with self.file.open("w", newline="") as lines:
            csv.writer(lines).writerows(rows)
        self.certificate["public"]["release"]["sha256"] = file_digest(self.file)
        self.certificate["public"]["release"]["rows"] = len(rows) - 1

    def claim(self, measure: str) -> dict[str, Any]:
        """One public claim."""
        return next(claim for claim in self.certificate["public"]["claims"] if claim["measure"] == measure)

    def verify(self, sealed: bool = True) -> None:
        """Verify it; ``sealed``: the liar also mended the hashes that bind the two parts."""
        if sealed:
            seal(self.certificate)
        verify(self.file, self.certificate)


@pytest.fixture
def lie(tmp_path: Path) -> Lie:
    """A true release."""
    rows = people()
    found = release(chosen(rows, limits=LIMITS), rows, tmp_path / "out.csv")
    return Lie(tmp_path, tmp_path / "out.csv", json.loads(found.certificate.text()))


def cell_to_unknown_label(lie: Lie) -> None:
    """A label that no hierarchy has."""
    rows = lie.rows()
    rows[1][0] = "20-28"
    lie.rewrite(rows)


def cell_to_other_class(lie: Lie) -> None:
    """A row moved into another class."""
    rows = sorted(lie.rows()[1:])
    rows[0][0] = "30-39"
    lie.rewrite([["age", "sex", "illness", "note"], *rows])


def sensitive_cells_equal(lie: Lie) -> None:
    """A class whose sensitive values are all the same."""
    rows = lie.rows()
    lie.rewrite([rows[0], *([*row[:2], "flu", row[3]] if row[:2] == ["20-29", "F"] else row for row in rows[1:])])


def row_in_a_new_class(lie: Lie) -> None:
    """A row duplicated into a class of its own."""
    rows = lie.rows()
    lie.rewrite([*rows, ["*", "F", "flu", "x"]])


def row_added(lie: Lie) -> None:
    """A row more than certified."""
    rows = lie.rows()
    lie.rewrite([*rows, rows[1]])
    lie.certificate["public"]["release"]["rows"] -= 1


def rows_lost(lie: Lie) -> None:
    """All rows of one class gone."""
    rows = lie.rows()
    lie.rewrite([row for row in rows if row[:2] != ["20-29", "F"]])


def byte_changed(lie: Lie) -> None:
    """A plain cell changed, which no count notices."""
    lie.file.write_text(lie.file.read_text().replace("note 20", "note 99"))


def hash_altered(lie: Lie) -> None:
    """Another hash in the certificate."""
    lie.certificate["public"]["release"]["sha256"] = "0" * 64


def column_added(lie: Lie) -> None:
    """An index of the original rows in front."""
    lie.rewrite([["index", *row] if place == 0 else [str(place), *row] for place, row in enumerate(lie.rows())])


def columns_swapped(lie: Lie) -> None:
    """Two names in the other order."""
    rows = lie.rows()
    lie.rewrite([["sex", "age", *rows[0][2:]], *rows[1:]])


def k_raised(lie: Lie) -> None:
    """A claim raised."""
    lie.claim("k")["value"] = 16


def limit_raised(lie: Lie) -> None:
    """A limit that the release never met."""
    lie.claim("k")["limit"] = 20


def l_raised(lie: Lie) -> None:
    """Another claim raised."""
    lie.claim("l")["value"] = 4


def t_lowered(lie: Lie) -> None:
    """A distance made smaller."""
    lie.claim("t")["value"] = 0.01


def table_t_lowered(lie: Lie) -> None:
    """The distance to the whole table made smaller."""
    next(claim for claim in lie.certificate["confidential"]["claims"] if claim["measure"] == "t")["value"] = 0.01


def distribution_altered(lie: Lie) -> None:
    """The distribution in the whole table made up."""
    lie.certificate["confidential"]["distributions"]["illness"][0][1] += 50


def suppressed_altered(lie: Lie) -> None:
    """Suppressed rows that never were."""
    lie.certificate["confidential"]["suppression"]["dropped"] = 7


def masked_invented(lie: Lie) -> None:
    """Masked rows that are not there."""
    lie.certificate["public"]["suppression"]["masked"] = 9


def role_taken_away(lie: Lie) -> None:
    """A quasi-identifier declared plain, so that classes look larger."""
    lie.certificate["public"]["release"]["roles"]["sex"] = "plain"


def sensitive_denied(lie: Lie) -> None:
    """The sensitive column declared plain."""
    lie.certificate["public"]["release"]["roles"]["illness"] = "plain"


def labels_removed(lie: Lie) -> None:
    """A label missing in the recoding."""
    lie.certificate["public"]["recoding"]["age"]["labels"].remove("20-29")


def claims_missing(lie: Lie) -> None:
    """No claims at all."""
    del lie.certificate["public"]["claims"]


def roles_missing(lie: Lie) -> None:
    """No roles at all."""
    del lie.certificate["public"]["release"]["roles"]


def unknown_claim(lie: Lie) -> None:
    """A claim about something the verifier does not know."""
    lie.claim("k")["measure"] = "magic"


def broken_row(lie: Lie) -> None:
    """A row that lost a cell."""
    rows = lie.rows()
    rows[3] = rows[3][:-1]
    lie.rewrite(rows)


def emptied(lie: Lie) -> None:
    """No rows left."""
    lie.rewrite(lie.rows()[:1])


def garbled(lie: Lie) -> None:
    """Bytes that are no text."""
    lie.file.write_bytes(b"age,sex\n\xff\xfe\xff")


def claims_emptied(lie: Lie) -> None:
    """A list of claims without any."""
    lie.certificate["public"]["claims"] = []


def removed(lie: Lie) -> None:
    """No file at all."""
    lie.file.unlink()


LIES: dict[Callable[[Lie], None], str] = {
    cell_to_unknown_label: r"The class \(20-28, [FM]\) has the label '20-28' in 'age', which the recoding does not have",
    cell_to_other_class: r"The class \(20-29, F\) has k = 14, and the limit is 15",
    sensitive_cells_equal: r"The class \(20-29, F\) has \w+ = [\d.]+, and the limit is",
    row_in_a_new_class: r"The class \(\*, F\) has k = 1, and the limit is 15",
    row_added: "The release has 121 rows, and the certificate says 120",
    rows_lost: "The certificate claims .*|does not add up: 120 rows less 0 with missing values and 0 suppressed are not 105",
    byte_changed: "is not the one that was certified: its SHA-256 is",
    hash_altered: "is not the one that was certified: its SHA-256 is",
    column_added: "The release has the columns index, age, .*; the certificate says age, sex, illness, note",
    columns_swapped: "The release has the columns sex, age, .*; the certificate says age, sex",
    k_raised: r"The certificate claims k = 16. The class \(20-29, F\) has 15",
    limit_raised: r"The class \(20-29, F\) has k = 15, and the limit is 20",
    l_raised: r"The certificate claims l = 4. The class \(20-29, F\) has 3",
    t_lowered: r"The certificate claims t\(.*reference=release.*\) = 0.01. The class \(.*\) has 0\.\d+",
    table_t_lowered: r"The certificate claims t = 0.01. The class \(.*\) has 0\.\d+",
    distribution_altered: r"The certificate claims|has \S+ = .*, and the limit is",
    suppressed_altered: "120 rows less 0 with missing values and 7 suppressed are not 120",
    masked_invented: "0 rows are masked, and the certificate says 9",
    role_taken_away: "The certificate recodes age, sex, and the quasi-identifiers are age",
    sensitive_denied: "claims .*, and the release has no such sensitive column",
    labels_removed: "has the label '20-29' in 'age', which the recoding does not have",
    claims_missing: "The certificate claims nothing: it has no public part with claims",
    claims_emptied: "The certificate claims nothing: it has no public part with claims",
    roles_missing: "The certificate is damaged: release is an object with .* keys, and 'release.roles', which is missing, belongs",
    unknown_claim: "The certificate claims 'magic', which this verifier does not know",
    broken_row: "Row 3 of the release has 3 cells where there are 4 columns",
    emptied: "The release has no rows",
    garbled: "The release '.*out.csv' (cannot be read|has the columns)|The release has the columns",
    removed: "There is no release '.*out.csv'. Give the file that the certificate belongs to",
}


def test_the_truth_is_accepted(lie: Lie) -> None:
    """Unchanged, it verifies, with and without the confidential part, and from files."""
    lie.verify()
    public = verify(lie.file, {"public": lie.certificate["public"]})
    assert public.numbers["k"] == 15
    assert verify(lie.file, lie.certificate["public"]).numbers == public.numbers
    (lie.folder / "c.json").write_text(json.dumps(lie.certificate))
    whole = verify(lie.file, lie.folder / "c.json")
    assert set(whole.numbers) - set(public.numbers) == {"t", "t(distance=ordered)", "beta", "delta"}
    assert (whole.rows, whole.classes, whole.unchecked) == (120, 8, ())


@pytest.mark.parametrize("change", LIES, ids=lambda change: change.__name__)
def test_lies_are_rejected(lie: Lie, change: Callable[[Lie], None]) -> None:
    """Each changed release or certificate is rejected with a sentence that says what is wrong."""
    change(lie)
    with pytest.raises(KparetoError, match=LIES[change]):
        lie.verify()


def test_a_changed_public_part_no_longer_belongs_to_the_confidential_one(lie: Lie) -> None:
    """Without mending the seal, any change of the public part is seen at once."""
    lie.certificate["public"]["seed"] = 5
    with pytest.raises(Unsafe, match="The two parts of the certificate do not belong together"):
        lie.verify(sealed=False)


def test_the_hash_counts_even_with_the_public_part_alone(lie: Lie) -> None:
    """Who has only the public part still sees that the file is another."""
    byte_changed(lie)
    with pytest.raises(Unsafe, match="is not the one that was certified"):
        verify(lie.file, {"public": lie.certificate["public"]})


@pytest.mark.parametrize(
    ("text", "words"), [(None, "cannot be read: No such file"), ("{", "is not JSON"), ("[]", "has no public part")]
)
def test_certificates_that_are_none(lie: Lie, text: str | None, words: str) -> None:
    """A certificate that cannot be read is bad input."""
    if text is not None:
        (lie.folder / "c.json").write_text(text)
    with pytest.raises(BadInput, match=words):
        verify(lie.file, lie.folder / "c.json")


def test_changed_parquet_is_rejected_too(tmp_path: Path) -> None:
    """The same checks read Parquet."""
    rows = people()
    found = release(chosen(rows), rows, tmp_path / "out.parquet")
    verify(tmp_path / "out.parquet", found.certificate)
    table = pq.read_table(tmp_path / "out.parquet")
    pq.write_table(
        table.set_column(0, "age", pa.array(["30-39", *table["age"].to_pylist()[1:]])), tmp_path / "out.parquet"
    )
    with pytest.raises(Unsafe, match=r"The certificate claims k = 15. The class \(.*\) has 14|not the one"):
        verify(tmp_path / "out.parquet", found.certificate)
    (tmp_path / "out.parquet").write_bytes(b"PAR1 nothing more")
    with pytest.raises(Unsafe, match="cannot be read"):
        verify(tmp_path / "out.parquet", found.certificate)


def test_the_certificate_itself_is_not_touched(lie: Lie) -> None:
    """Verifying changes nothing in what it is given."""
    before = copy.deepcopy(lie.certificate)
    lie.verify()
    assert lie.certificate == before


@pytest.mark.parametrize(
    ("measure", "given", "class_", "whole", "number"),
    [
        ("l", {}, {"a": 2, "b": 1}, {}, 2),
        ("entropy-l", {}, {"a": 1, "b": 1}, {}, 2),
        ("recursive-l", {"l": 2}, {"a": 3, "b": 1, "c": 1}, {}, 1.5),
        ("recursive-l", {"l": 3}, {"a": 3, "b": 1}, {}, math.inf),
        ("alpha", {}, {"a": 3, "b": 1}, {}, 0.75),
        ("alpha", {"value": "b"}, {"a": 3, "b": 1}, {}, 0.25),
        ("t", {}, {"a": 1, "b": 1}, {"a": 1, "b": 3}, 0.25),
        ("t", {"distance": "ordered"}, {"a": 1}, {"a": 1, "b": 1, "c": 2}, (0.75 - 0.25 * 0 + 0.5) / 2),
        ("beta", {}, {"a": 1, "b": 1}, {"a": 1, "b": 3}, 1),
        ("enhanced-beta", {}, {"a": 1}, {"a": 1, "b": 9}, math.inf),
        ("delta", {}, {"a": 1, "b": 1}, {"a": 1, "b": 3}, math.log(2)),
        ("delta", {"absent": "infinite"}, {"a": 1}, {"a": 1, "b": 3}, math.inf),
    ],
)
def test_definitions_by_hand(
    measure: str, given: dict[str, object], class_: dict[str, int], whole: dict[str, int], number: float
) -> None:
    """Each definition on a class small enough to work out on paper."""
    assert VALUES[measure](look_at_rows(class_, shares(whole), sorted(whole), given)) == pytest.approx(number)


@pytest.mark.parametrize(
    ("room", "allowed"),
    [
        (
            "__init__",
            {
                "errors",
                "engines",
                "engines.postgres.connect",
                "verifier.counting",
                "verifier.counters",
                "verifier.definitions",
                "verifier.certificate",
                "verifier.codebook",
                "verifier.judging",
                "verifier.population",
                "verifier.signatures",
                "verifier.statements",
            },
        ),
        ("certificate", {"errors", "strict"}),
        ("definitions", {"verifier.certificate"}),
        ("judging", {"errors", "verifier.cells", "verifier.certificate", "verifier.counting", "verifier.definitions"}),
        ("signatures", {"errors", "strict", "verifier.trust"}),
        ("statements", {"errors", "verifier.certificate", "verifier.counting"}),
        ("trust", {"strict"}),
        ("codebook", {"errors", "verifier.counting"}),
        (
            "counters",
            {"errors", "engines.postgres.connect", "engines.spark.connect", "verifier.cells", "verifier.counting"},
        ),
        ("counting", {"errors", "verifier.cells"}),
        ("cells", {"engines.admission", "engines.apart", "errors"}),
        ("population", {"engines", "errors", "verifier.cells", "verifier.counting"}),
    ],
)
def test_it_shares_no_code_and_is_short(room: str, allowed: set[str]) -> None:
    """The verifier imports nothing of ours but errors, the reader of files, connections, a process of its own and the kind of a source; each file is short."""
    source = Path(inspect.getfile(Look)).with_name(f"{room}.py").read_text()
    ours = {
        str(node.module).removeprefix("kpareto.")
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and "kpareto" in str(node.module)
    }
    assert ours == allowed
    assert len(source.splitlines()) < 300


@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "parts/"])
def test_a_large_release_is_counted_by_one_group_by(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the engine counts is what Python counts cell by cell, whatever stands in the cells."""
    odd = ['a "b"', "c,d", "=1+1", "ü\nx"] * 30
    rows = people().set_column(3, "illness", pa.array(odd))
    found = release(chosen(rows), rows, f"{tmp_path}/{name}")
    said = found.certificate.public["release"]
    slow = counting.count_file(tmp_path / name, said)
    monkeypatch.setattr(counting, "LARGE", 0)
    quick = counting.count_file(tmp_path / name, said)
    assert (quick.by, slow.by) == ("DuckDB", "Python")
    assert (quick.classes, quick.rows, quick.digest) == (slow.classes, slow.rows, slow.digest)
    assert verify(tmp_path / name, found.certificate).rows == 120
