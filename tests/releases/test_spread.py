"""Values in place of labels: shares that fit the counts, copies that average to them, and what is refused."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import kpareto as kp
from kpareto.errors import BadInput, BadJob, KparetoError, Unsafe
from kpareto.measures.use import Spread, fit
from kpareto.releases.choice import Choice
from kpareto.releases.spread import note_of
from kpareto.tables.recoding import node

CITIES = "Bonn;Rhine;*\nKoeln;Rhine;*\nUlm;South;*\nAalen;South;*\n"
CHANCE = np.random.default_rng(5)
PEOPLE = pa.table(
    {
        "age": np.clip(CHANCE.normal(41, 9, 3_000), 20, 59).astype(int).astype(str).tolist(),
        "city": CHANCE.choice(["Bonn", "Koeln", "Ulm", "Aalen"], 3_000, p=[0.6, 0.1, 0.2, 0.1]).tolist(),
        "pet": CHANCE.choice(["cat", "dog", "emu"], 3_000, p=[0.6, 0.399, 0.001]).tolist(),
    }
)


def released(target: Path | None, levels: tuple[int, int, int] = (1, 1, 0), counts: bool = True) -> kp.Release:
    """The people by decade and part of the country."""
    hierarchies = {"age": {"intervals": [10, 20]}, "city": CITIES}
    table = kp.read(PEOPLE, kp.Schema(("age", "city", "pet")), hierarchies=hierarchies)
    rule = kp.Suppression("below-k", k=5, limit=200)
    choice = Choice(table, node(table.hierarchies, levels), rule)
    place = None if target is None else target / "out.csv"
    done = kp.release(choice, PEOPLE, place, warnings=(), counts=counts)
    if target is not None:
        done.certificate.write_public(target / "out.certificate.public.json")
    return done


def test_fitting_keeps_both_sums() -> None:
    """Rows of labels and wanted rows of values, where that can be."""
    matrix = np.array([[1.0, 1, 0], [0, 1, 1], [1, 1, 1]])
    truth = np.array([[4.0, 6, 0], [0, 1, 9], [2, 2, 6]])
    label, value = np.nonzero(matrix)
    even = Spread(label, value, (matrix / matrix.sum(axis=1, keepdims=True))[label, value], *matrix.shape)
    shares = fit(even, truth.sum(axis=1), truth.sum(axis=0)).shares(np.arange(even.values), even.values)
    fitted = shares * truth.sum(axis=1)[:, None]
    assert np.allclose(fitted.sum(axis=1), truth.sum(axis=1))
    assert np.allclose(fitted.sum(axis=0), truth.sum(axis=0))
    assert (fitted[matrix == 0] == 0).all()


@pytest.mark.parametrize("counts", [False, True])
def test_shares_are_even_or_fit_the_counts(counts: bool) -> None:
    """Shares of a label add up to 1; over all rows they give the counts of the code book."""
    done = released(None, counts=counts)
    shares = kp.spread(done)
    rows = {name: Counter(done.data.column(name).to_pylist()) for name in shares}
    for name, labels in shares.items():
        assert set(labels) == set(rows[name])
        assert all(abs(sum(each.values()) - 1) < 1e-9 for each in labels.values())
    assert shares["pet"]["cat"] == {"cat": 1.0}
    if not counts:
        assert shares["city"]["Rhine"] == {"Bonn": 0.5, "Koeln": 0.5}
        assert shares["age"]["30-39"] == {str(age): pytest.approx(0.1) for age in range(30, 40)}
        return
    for name, column in done.certificate.public["codebook"].items():
        for first, last, count in column["counts"]:
            expected = sum(n * shares[name][label].get(first, 0) for label, n in rows[name].items())
            assert first != last or expected == pytest.approx(count)


def test_copies_average_to_the_counts(tmp_path: Path) -> None:
    """Over five copies every count is within a point of all rows of what was fitted, whatever columns it is of."""
    done = released(tmp_path)
    drawn = kp.impute(tmp_path / "out.csv", tmp_path / "drawn.csv")
    assert drawn.column_names == ["copy", "age", "city", "pet"]
    assert Counter(drawn.column("copy").to_pylist()) == dict.fromkeys(range(1, 6), done.rows)
    shares = kp.spread(done)
    texts = pyarrow.csv.read_csv(tmp_path / "out.csv").to_pylist()
    pairs = Counter(zip(drawn.column("age").to_pylist(), drawn.column("city").to_pylist(), strict=True))
    for city in ("Bonn", "Koeln", "Ulm", "Aalen"):
        for low in range(20, 60, 4):
            ages = [str(age) for age in range(low, low + 4)]
            fitted = sum(
                shares["city"][row["city"]].get(city, 0) * sum(shares["age"][row["age"]].get(age, 0) for age in ages)
                for row in texts
            )
            assert abs(sum(pairs[age, city] for age in ages) / 5 - fitted) < 0.01 * done.rows
    assert kp.impute(tmp_path / "out.csv").equals(drawn)  # the same seed
    assert not kp.impute(tmp_path / "out.csv", seed=2).equals(drawn)


def workers(seed: int) -> pa.Table:
    """People whose weekly hours rise by 0.4 with every year of age."""
    chance = np.random.default_rng(seed)
    ages = chance.integers(20, 60, 1_500)
    hours = np.rint(20 + 0.4 * ages + chance.normal(0, 6, len(ages)))
    return pa.table({"age": [str(age) for age in ages], "hours": [f"{each:.0f}" for each in hours]})


def slope(rows: pa.Table) -> tuple[float, float]:
    """The hours that a year brings, by least squares, and the variance of that."""
    x, y = (np.array(rows[name].to_pylist(), dtype=np.float64) for name in ("age", "hours"))
    x -= x.mean()
    found = float(x @ y / (x @ x))
    left = y - y.mean() - found * x
    return found, float(left @ left / (len(x) - 2) / (x @ x))


@pytest.mark.parametrize("seed", range(5))
def test_an_interval_from_pooled_copies_covers(seed: int) -> None:
    """By Rubin's rules the slope of the original is within it; where labels are twenty years wide it is not."""
    rows = workers(seed)
    table = kp.read(
        rows, kp.Schema(("age",), target=("hours",)), hierarchies={"age": {"intervals": [5, 20], "from": 20}}
    )
    covered = []
    for level in (1, 2):
        choice = Choice(table, node(table.hierarchies, [level]), kp.Suppression("none"))
        drawn = kp.impute(kp.release(choice, rows, warnings=(), counts=True))
        copies = [drawn.slice(at * len(rows), len(rows)) for at in range(5)]
        found, variances = np.array([slope(copy) for copy in copies]).T
        spread = variances.mean() + 1.2 * found.var(ddof=1)
        covered.append(abs(found.mean() - slope(rows)[0]) < 1.96 * spread**0.5)
    assert covered == [True, False]


def test_what_is_drawn_is_never_verified(tmp_path: Path) -> None:
    """The note says what the file is, and no certificate fits it."""
    done = released(tmp_path)
    kp.impute(tmp_path / "out.csv", tmp_path / "drawn.parquet", copies=1)
    note = json.loads(note_of(tmp_path / "drawn.parquet").read_text())
    assert note["columns"] == dict.fromkeys(("age", "city", "pet"), "fitted to counts")
    assert "nobody's values" in note["note"]
    with pytest.raises(Unsafe, match="columns copy, age"):
        kp.verify(tmp_path / "drawn.parquet", done.certificate)
    with pytest.raises(BadInput, match="claims nothing"):
        kp.verify(tmp_path / "drawn.parquet", note_of(tmp_path / "drawn.parquet"))


def test_a_value_without_a_name_is_not_drawn() -> None:
    """The label stays for the rows that have one; nobody's value is made up."""
    table = kp.read(PEOPLE, kp.Schema(("age", "pet")))
    choice = Choice(table, node(table.hierarchies, {"age": 1, "pet": 1}), kp.Suppression("none"))
    done = kp.release(choice, PEOPLE.drop_columns(["city"]), warnings=(), counts=True)
    assert kp.spread(done) == {"age": {"*": {"*": 1.0}}, "pet": {"*": {"*": 1.0}}}  # k is 3,000


def test_masked_rows_are_drawn_from_all() -> None:
    """A star that no count is of is like all rows together."""
    rows = pa.table({"city": ["Bonn"] * 12 + ["Ulm"] * 6 + ["Koeln"] * 2 + ["Aalen"] * 2})
    table = kp.read(rows, kp.Schema(("city",)), hierarchies={"city": CITIES})
    rule = kp.Suppression("below-k", k=4, limit=4, rows="mask")
    done = kp.release(Choice(table, node(table.hierarchies, [0]), rule), rows, warnings=(), counts=True)
    star = kp.spread(done)["city"]["*"]
    assert star["Bonn"] == pytest.approx(12 / 18)


def change(public: dict[str, Any], what: str) -> None:
    """Something of the public part that is not as it was."""
    if what == "labels nobody knows":
        public["codebook"]["city"]["labels"] = [["North", "Bonn", "Koeln"]]
    elif what == "another release":
        public["release"]["sha256"] = "0" * 64
    elif what == "no code book":
        del public["codebook"]
    elif what == "a missing column":
        del public["codebook"]["city"]
    else:
        public["codebook"]["city"]["labels"][0][1] = "Trier"


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("labels nobody knows", "does not know the label 'Rhine'"),
        ("another release", "that of another release"),
        ("no code book", "has no code book"),
        ("a missing column", "has no column 'city'"),
        ("a value nobody knows", "names 'Trier'"),
    ],
)
def test_what_does_not_belong_together_is_a_sentence(what: str, sentence: str, tmp_path: Path) -> None:
    """Bad input, and nothing written."""
    released(tmp_path)
    papers = json.loads((tmp_path / "out.certificate.public.json").read_text())
    change(papers["public"], what)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(BadInput, match=sentence):
        kp.impute(tmp_path / "out.csv", tmp_path / "drawn.csv", public=papers)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"copies": 0}, "copies is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"target": "out.csv"}, "is there already"),
        ({"target": "drawn.xlsx"}, "go to a .csv or .parquet file"),
        ({"public": "gone.json"}, "gone.json"),
    ],
)
def test_bad_options_are_a_sentence(options: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    """Nothing is read twice, nothing is written."""
    released(tmp_path)
    before = sorted(tmp_path.iterdir())
    target = tmp_path / options.pop("target", "drawn.csv")
    with pytest.raises(KparetoError, match=sentence):
        kp.impute(tmp_path / "out.csv", target, **options)
    assert sorted(tmp_path.iterdir()) == before


def test_a_release_without_its_public_part_is_a_sentence(tmp_path: Path) -> None:
    """Also rows without a file, a file that is gone, and a column that is called copy."""
    done = released(tmp_path)
    (tmp_path / "out.certificate.public.json").unlink()
    with pytest.raises(BadInput, match="There is no public part"):
        kp.impute(tmp_path / "out.csv")
    with pytest.raises(BadInput, match="There is no release"):
        kp.impute(tmp_path / "gone.csv")
    with pytest.raises(BadInput, match="Rows without a file"):
        kp.impute(PEOPLE)
    with pytest.raises(BadInput, match="other columns than its public part says: 'x'"):
        kp.impute(PEOPLE.append_column("x", pa.array(["1"] * 3_000)), public=done.certificate)
    rows = PEOPLE.rename_columns(["age", "city", "copy"])
    table = kp.read(rows, kp.Schema(("copy",)))
    own = kp.release(Choice(table, node(table.hierarchies, [1]), kp.Suppression("none")), rows, warnings=())
    with pytest.raises(BadInput, match="a column 'copy' of its own"):
        kp.impute(own)


def test_the_same_rows_by_every_way(tmp_path: Path) -> None:
    """A frame, a CSV, Parquet and a folder of parts draw the same values."""
    answers = []
    table = kp.read(PEOPLE, kp.Schema(("age", "city", "pet")), hierarchies={"age": {"intervals": [10]}, "city": CITIES})
    choice = Choice(table, node(table.hierarchies, (1, 2, 1)), kp.Suppression("none"))
    for target in (None, tmp_path / "a.csv", tmp_path / "b.parquet", f"{tmp_path}/parts/"):
        done = kp.release(choice, PEOPLE, target, warnings=(), counts=True)
        answers.append(kp.impute(done, copies=2))
    assert all(answer.equals(answers[0]) for answer in answers)


def test_a_bad_word_for_a_number_is_no_number() -> None:
    """True is no number of copies."""
    with pytest.raises(BadJob, match="copies is True"):
        kp.impute(PEOPLE, copies=True)
