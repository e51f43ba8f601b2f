"""The embedded Adult table: every value is UCI's, and the presets have the papers' sizes."""

from __future__ import annotations

import hashlib
import json
import lzma
import math
from pathlib import Path

import numpy as np
import pytest

from kpareto.errors import BadHierarchy, BadJob, BadTable
from kpareto.tables.adult import COLUMNS, FOLDER, PRESETS, adult, adult_hierarchies, adult_schema, adult_table
from kpareto.tables.hierarchies import read_json, read_lines
from kpareto.tables.hierarchy import cut_bits
from tests.twins.pack_adult import COMMENT, pack, read_uci

HIERARCHIES = FOLDER / "hierarchies"
MANIFEST = json.loads((HIERARCHIES / "MANIFEST.json").read_text(encoding="utf-8"))
ENTRIES = [(kind, name, entry) for kind in ("dgh", "taxonomy") for name, entry in MANIFEST[kind].items()]

# SHA-256 of adult.data and adult.test as UCI gives them
UCI = {
    "train": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}


def as_uci(part: str) -> str:
    """The text of UCI's file, made from the embedded rows."""
    columns = [map(str, column) for column in adult(part).to_pydict().values()]  # type: ignore[arg-type]
    dot = "." if part == "test" else ""
    lines = [", ".join(row) + dot for row in zip(*columns, strict=True)]
    return "\n".join([COMMENT] * (part == "test") + lines) + "\n\n"


@pytest.mark.parametrize("part", ["train", "test"])
def test_every_value_is_that_of_uci(part: str) -> None:
    """Written in UCI's format, the embedded rows are UCI's file byte for byte."""
    assert hashlib.sha256(as_uci(part).encode("ascii")).hexdigest() == UCI[part]


def test_packing_the_rows_again_gives_the_embedded_files(tmp_path: Path) -> None:
    """The packed files come from UCI's two files and from nothing else."""
    for part in ("train", "test"):
        (tmp_path / part).write_text(as_uci(part), encoding="ascii")
    pack(tmp_path / "train", tmp_path / "test", tmp_path)
    assert (tmp_path / "dictionaries.json").read_bytes() == (FOLDER / "dictionaries.json").read_bytes()
    for name in ("codes.xz", "fnlwgt.xz"):  # other versions of xz may pack the same bytes otherwise
        assert lzma.decompress((tmp_path / name).read_bytes()) == lzma.decompress((FOLDER / name).read_bytes())


def test_packing_wants_the_test_file_as_it_is(tmp_path: Path) -> None:
    """A test file without its comment line would lose a row, so it is refused."""
    (tmp_path / "adult.test").write_text("25, Private\n", encoding="ascii")
    with pytest.raises(BadTable, match="does not start with"):
        read_uci(tmp_path / "adult.test", "test")


def test_the_parts_have_their_rows() -> None:
    """Train has 32,561 rows, test 16,281, all both; numbers are numbers and '?' is kept."""
    train, test, both = adult("train"), adult("test"), adult("all")
    assert (train.num_rows, test.num_rows, both.num_rows) == (32561, 16281, 48842)
    assert both.column_names == list(COLUMNS)
    assert str(both.schema.field("age").type) == "int64"
    assert set(test.column("salary-class").to_pylist()) == {"<=50K", ">50K"}
    assert train.column("workclass").to_pylist().count("?") == 1836


def test_the_package_stays_small() -> None:
    """All embedded files together are well under a megabyte."""
    assert sum(file.stat().st_size for file in FOLDER.rglob("*") if file.is_file()) < 500_000


def test_the_source_is_named() -> None:
    """Who made the table, under which license, and where it is, stands beside it."""
    text = (FOLDER / "ATTRIBUTION.md").read_text(encoding="utf-8")
    for word in ("Becker", "Kohavi", "1996", "CC BY 4.0", "10.24432/C5XW20"):
        assert word in text


@pytest.mark.parametrize(("kind", "name", "entry"), ENTRIES, ids=[f"{kind}-{name}" for kind, name, _ in ENTRIES])
def test_hierarchy_files_are_those_of_the_manifest(kind: str, name: str, entry: dict[str, object]) -> None:
    """Each shipped hierarchy file has the manifest's SHA-256."""
    data = (HIERARCHIES / str(entry["file"])).read_bytes()
    assert hashlib.sha256(data).hexdigest() == entry["sha256"]


@pytest.mark.parametrize(
    ("preset", "distinct", "bits"),
    [
        ("default", 12458, 146),
        ("replication", 12458, 146),
        ("iyengar_157", 18109, 157),
        ("lunacek_92", 9671, 92),
        ("dewri_gecco09_105", 13321, 105),
    ],
)
def test_presets_have_the_known_sizes(preset: str, distinct: int, bits: int) -> None:
    """30,162 complete rows, the known distinct combinations (readings.md#class-table) and the bits of the papers."""
    table = adult_table(preset)
    assert (table.rows, table.dropped, table.distinct) == (30162, 2399, distinct)
    assert sum(len(cut_bits(h.groups[0])) for h in table.hierarchies) == bits


@pytest.mark.parametrize("preset", ["default", "replication"])
def test_the_lattice_has_the_published_size(preset: str) -> None:
    """17,920 nodes with salary among the quasi-identifiers, 8,960 with salary as the target."""
    table = adult_table(preset)
    assert math.prod(h.height + 1 for h in table.hierarchies) == MANIFEST["checks"]["lattice_with_salary"] == 17920
    target = adult_table(preset, target="salary-class")
    assert math.prod(h.height + 1 for h in target.hierarchies) == MANIFEST["checks"]["lattice_without_salary"] == 8960
    assert (target.distinct, target.schema.target) == (11089, ("salary-class",))
    assert dict(zip(target.targets[0].values, target.targets[0].totals.tolist(), strict=True)) == {
        "<=50K": 22654,
        ">50K": 7508,
    }


@pytest.mark.parametrize("name", list(PRESETS)[2:])
def test_presets_follow_the_manifest(name: str) -> None:
    """The presets named after papers use the files that the manifest lists for them."""
    files = [entry["file"] for entry in (MANIFEST["taxonomy"][part] for part in MANIFEST["schemes"][name])]
    assert list(PRESETS[name].files.values()) == files


@pytest.mark.parametrize(
    ("file", "cuts"),
    [
        ("workclass_iyengar_fig1", 9),
        ("workclass_deep", 7),
        ("education_flat", 17),
        ("education_deep", 46),
        ("marital-status_flat", 5),
        ("marital-status_deep", 10),
        ("occupation_soc", 17),
        ("occupation_deep", 46),
        ("native-country_flat", 513),
        ("native-country_deep", 2191),
        ("race", 2),
        ("sex", 2),
        ("salary-class", 2),
    ],
)
def test_trees_have_the_known_cuts(file: str, cuts: int) -> None:
    """Each tree has the leaves of its manifest and the number of cuts it should have (readings.md#trees)."""
    tree = read_json("x", HIERARCHIES / f"taxonomy/adult_tax_{file}.json")
    assert tree.tree.cuts() == cuts == MANIFEST["taxonomy"][file]["valid_cuts"]
    assert len(tree.leaves) == MANIFEST["taxonomy"][file]["leaves"]


@pytest.mark.parametrize("file", sorted(MANIFEST["dgh"]))
def test_level_files_have_the_groups_of_the_manifest(file: str) -> None:
    """Each file of levels has the groups per level of its manifest (readings.md#levels)."""
    hierarchy = read_lines("x", HIERARCHIES / MANIFEST["dgh"][file]["file"])
    assert [len(labels) for labels in hierarchy.labels] == MANIFEST["dgh"][file]["groups_per_level"]
    assert hierarchy.ordered == file.startswith("age")


def test_iyengar_counts_age_and_education_by_distance() -> None:
    """Only the two columns the paper treats as numbers lose by distance; Never-worked is a leaf without rows."""
    table = adult_table("iyengar_157")
    assert [h.name for h in table.hierarchies if h.loss == "distance"] == ["age", "education"]
    workclass = table.column("workclass")
    absent = np.flatnonzero(~table.observed[workclass])
    assert [table.hierarchies[workclass].leaves[leaf] for leaf in absent] == ["Never-worked"]
    assert table.schema.target == ("salary-class",)
    assert table.domain == "declared"


def test_dewri_has_five_empty_age_cells() -> None:
    """Fifteen of the twenty cells hold rows, so all of them together lose 14/19 (readings.md#empty-cells)."""
    table = adult_table("dewri_gecco09_105")
    age = table.hierarchies[0]
    assert len(table.schema.quasi) == 9
    assert age.loss == "leaves"
    assert np.flatnonzero(~table.observed[0]).tolist() == [0, 1, 2, 18, 19]
    assert age.group_label(3, 17) == "(15,90]"
    assert (age.locate(["15", "16", "20", "90"]) == [2, 3, 3, 17]).all()


def test_lunacek_ages_are_decades() -> None:
    """A number finds its decade by the edges, each of which belongs to the cell on its right."""
    age = adult_hierarchies("lunacek_92")["age"]
    assert (age.locate(["17", "29", "30", "79", "80", "90", "16"]) == [0, 0, 1, 5, 6, 6, -1]).all()
    assert age.group_label(1, 2) == "[30,50)"


def test_the_table_is_that_of_the_rows() -> None:
    """The table made from codes has the same counts as one made from the words of each row."""
    table = adult_table("default")
    rows = [row for row in adult().to_pylist() if "?" not in row.values()]
    slow: dict[tuple[str, ...], dict[str, int]] = {}
    for row in rows:
        counts = slow.setdefault(tuple(str(row[name]) for name in table.schema.quasi), {})
        counts[row["occupation"]] = counts.get(row["occupation"], 0) + 1
    occupation = table.sensitive[0]
    fast = {}
    for position, codes in enumerate(table.codes.tolist()):
        key = tuple(h.leaves[code] for h, code in zip(table.hierarchies, codes, strict=True))
        span = slice(*occupation.start[position : position + 2])
        code, count = occupation.code[span].tolist(), occupation.count[span].tolist()
        fast[key] = {occupation.values[c]: n for c, n in zip(code, count, strict=True)}
    assert fast == slow


def test_all_parts_fit_the_default_hierarchies() -> None:
    """The test part, with ages the training part lacks, fits the default and the replication hierarchies."""
    assert adult_table("default", part="test").rows == 15060
    assert adult_table("replication", part="all").rows == 45222


def test_a_preset_says_which_value_it_lacks() -> None:
    """Iyengar's ages are those of the training part, and two of the test part are not among them."""
    with pytest.raises(BadHierarchy, match="'iyengar_157' has no place for age 87, 89 of the part 'test'"):
        adult_table("iyengar_157", part="test")


def test_unknown_words_are_named() -> None:
    """A misspelled preset, part or column is named, with the nearest one that exists."""
    with pytest.raises(BadJob, match=r"No preset 'iyengar_156' of Adult\. Did you mean 'iyengar_157'\?"):
        adult_table("iyengar_156")
    with pytest.raises(BadJob, match=r"no part 'trian'\. Did you mean 'train'\?"):
        adult("trian")  # type: ignore[arg-type]
    with pytest.raises(BadJob, match=r"no column 'salary' for this\. Did you mean 'salary-class'\?"):
        adult_schema("default", target="salary")


def test_roles_and_domain_can_be_changed() -> None:
    """A sensitive column leaves the quasi-identifiers, and the domain can be told."""
    schema = adult_schema("lunacek_92", sensitive="occupation")
    assert "occupation" not in schema.quasi
    assert schema.sensitive == ("occupation",)
    assert adult_table("replication", domain="observed").domain == "observed"
    numbers = adult_table(sensitive="hours-per-week").sensitive[0].numbers
    assert numbers is not None
    assert (np.diff(numbers) > 0).all()
