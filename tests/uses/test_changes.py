"""Two releases of one table, row by row, against raw rows; releases of other tables are refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from kpareto.errors import BadInput, BadJob
from kpareto.faces.cli import main
from kpareto.uses.changes import compare_releases
from tests.faces.cli.test_utility import JOB
from tests.twins.use import related_rows


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """Two releases of one table, k4.csv and k11.csv."""
    monkeypatch.chdir(tmp_path)
    pyarrow.csv.write_csv(related_rows(), "people.csv")
    Path("job.toml").write_text(JOB)
    for k in (4, 11):
        assert main(["release", "job.toml", "-q", "--choose", f"k={k}", "--target", f"k{k}.csv"]) == 0
    capsys.readouterr()
    return tmp_path


def class_sizes(file: str, original: pa.Table) -> dict[int, int]:
    """Slow twin: the size of the class of every kept row of a release, from its file, by the labels that hold it."""
    rows = pyarrow.csv.read_csv(file).to_pylist()
    counts: dict[tuple[str, ...], int] = {}
    for row in rows:
        label = tuple(str(row[name]) for name in ("age", "town", "sex"))
        counts[label] = counts.get(label, 0) + 1

    def holds(label: str, value: object) -> bool:
        low, dash, high = label.strip("[]()").replace("–", "-").partition("-")
        if label == "*" or label == str(value):
            return True
        return bool(dash) and low.strip().isdigit() and int(low) <= int(str(value)) <= int(high)

    sizes = {}
    for place, row in enumerate(original.to_pylist()):
        fitting = [n for label, n in counts.items()
                   if all(holds(part, row[name]) for part, name in zip(label, ("age", "town", "sex"), strict=True))]  # fmt: skip
        sizes[place] = fitting[0] if fitting else 0
    return sizes


def test_class_sizes_are_those_of_the_files(folder: Path) -> None:
    """Who gains and loses, and the papers' binary indices, counted again from the two released files."""
    first, second = (class_sizes(name, related_rows()) for name in ("k4.csv", "k11.csv"))
    change = compare_releases("k4.csv", "k11.csv", "people.csv", properties=["class-size"]).changes[0]
    steps = np.array([second[row] - first[row] for row in first])
    assert (change.comparison.gain_rows, change.comparison.lose_rows) == (
        int((steps > 0).sum()),
        int((steps < 0).sum()),
    )
    assert change.comparison.spread_ba == steps[steps > 0].sum()
    assert change.comparison.spread_ab == -steps[steps < 0].sum()
    assert change.total == (sum(first.values()), sum(second.values()))


def test_the_command_prints_and_writes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line per release, a table over all rows, one per group; the same as JSON; turned round, gains are losses."""
    words = ["compare-releases", "k4.csv", "k11.csv", "--original", "people.csv", "-q"]
    assert main([*words, "--by", "sex", "--json", "one.json"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("The first release: k = 4, 0 of 400 rows left out.")
    one = json.loads(Path("one.json").read_text())
    sums, worst = one["properties"][0]["total"], one["properties"][0]["worst"]
    shown = next(line for line in out.splitlines() if line.startswith("class-size")).split()
    assert worst == [4, 0]  # a row that is left out counts 0
    assert " ".join(shown[-6:]) == f"4 → 0 {sums[0]:,.0f} → {sums[1]:,.0f}"
    assert [each["property"] for each in one["properties"]][:3] == ["class-size", "breach-probability", "row-loss"]
    for each in one["properties"]:
        assert sum(group["gain_rows"] for group in each["groups"]) == each["gain_rows"]
    assert main(["compare-releases", "k11.csv", "k4.csv", "--original", "people.csv", "-q", "--json", "two.json"]) == 0
    for each, other in zip(one["properties"], json.loads(Path("two.json").read_text())["properties"], strict=True):
        assert (each["gain_rows"], each["spread_ab"]) == (other["lose_rows"], other["spread_ba"])


def test_other_tables_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Fewer rows, a missing recoding file and an unknown property are sentences, and nothing is written."""
    pyarrow.csv.write_csv(related_rows().slice(0, 300), "some.csv")
    with pytest.raises(BadInput, match=r"The original is not what 'k4\.csv' was made from"):
        compare_releases("k4.csv", "k11.csv", "some.csv")
    with pytest.raises(BadInput, match=r"There is no recoding file 'k5\.recoding\.json'"):
        compare_releases("k5.csv", "k11.csv", "people.csv")
    with pytest.raises(BadJob, match=r"No property 'class size'\. Did you mean 'class-size'"):
        compare_releases("k4.csv", "k11.csv", "people.csv", properties=["class size"])
    assert main(["compare-releases", "k4.csv", "k11.csv", "--original", "some.csv", "--json", "no.json", "-q"]) == 2
    assert not Path("no.json").exists()
