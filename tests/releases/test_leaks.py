"""Nothing of suppressed rows leaves: every value of theirs is unique, and every byte that leaves is searched for it."""

from __future__ import annotations

import io
import pickle
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from kpareto.engines.read import read
from kpareto.errors import BadTable
from kpareto.faces.report import write_report
from kpareto.jobs.anonymize import anonymize
from kpareto.jobs.parse import load_job
from kpareto.jobs.release import release_job
from kpareto.releases.choice import Choice
from kpareto.releases.recoded_rows import Handling
from kpareto.releases.release import Release, release
from kpareto.releases.warnings import Context, remarks
from kpareto.tables.partition import Suppression
from kpareto.tables.recoding import Recoding, node
from kpareto.tables.schema import Schema

# Three classes of eight rows, and three rows whose every value no other row has.
JOBS, CITIES = ("baker", "clerk", "tailor"), ("Bonn", "Kiel", "Ulm")
SECRETS = (
    "ZQjobA",
    "ZQcityA",
    "ZQillA",
    "ZQnoteA",
    "ZQjobB",
    "ZQcityB",
    "ZQillB",
    "ZQnoteB",
    "ZQattr",
    "AAjob",
    "AAcity",
)
NUMBERS = (7654321, 87654, 77777)
QUASI = ("age", "job", "city")


def rows() -> list[tuple[Any, ...]]:
    """The rows of the table: age, job, city, illness, a plain text, a plain number."""
    told = [
        (20 + 10 * part, JOBS[part], CITIES[part], ("flu", "cold")[at % 2], f"note {at % 4}", at * 0.5)
        for part in range(3)
        for at in range(8)
    ]
    return [
        *told,
        (NUMBERS[0], "ZQjobA", "ZQcityA", "ZQillA", "ZQnoteA", 7654321.5),
        (NUMBERS[1], "ZQjobB", "ZQcityB", "ZQillB", "ZQnoteB", 8765432.5),
        (NUMBERS[2], "AAjob", "AAcity", "ZQillB", "ZQnoteB", 8765433.5),
    ]


def frame() -> pd.DataFrame:
    """The rows as pandas has them."""
    return pd.DataFrame(rows(), columns=["age", "job", "city", "ill", "note", "number"])


def needles() -> list[bytes]:
    """Every secret as bytes: texts, and numbers as text and as the formats write them."""
    texts = [secret.encode() for secret in SECRETS] + [str(number).encode() for number in NUMBERS]
    whole = [struct.pack(form, number) for number in NUMBERS for form in ("<q", "<i", ">q", ">i")]
    return [*texts, *whole, *(struct.pack("<d", number) for number in (7654321.5, 8765432.5, 8765433.5))]


def leaks(content: bytes) -> list[bytes]:
    """The secrets in these bytes."""
    return [needle for needle in needles() if needle in content]


def frames() -> Iterator[tuple[str, Any]]:
    """The table in every kind of frame, texts as such, as categories, as dictionaries."""
    plain = frame()
    texts = ["job", "city", "ill", "note"]
    noted = plain.copy()
    noted.attrs["about"] = "ZQattr"
    yield "pandas", noted
    yield "pandas categories", noted.astype(dict.fromkeys(texts, "category"))
    dictionary = pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
    yield "pandas dictionaries", noted.astype(dict.fromkeys(texts, dictionary))
    yield "pyarrow", pa.Table.from_pandas(plain)
    yield "pyarrow dictionaries", pa.Table.from_pandas(plain.astype(dict.fromkeys(texts, "category")))
    polars = pl.DataFrame(rows(), schema=list(plain.columns), orient="row")
    yield "polars", polars
    yield "polars categories", polars.with_columns(pl.col(texts).cast(pl.Categorical))
    enums = [pl.col(name).cast(pl.Enum(sorted(set(plain[name])))) for name in texts]
    listed = polars.with_columns(*enums).with_columns(pl.concat_list("note").alias("list"))
    yield "polars enums", listed.with_columns(pl.struct("note").alias("struct"))


def kept_forms(data: Any) -> dict[str, bytes]:
    """A frame as people keep it: pickled, in Parquet, in Feather, none of them compressed."""
    parquet, arrow = io.BytesIO(), io.BytesIO()
    if isinstance(data, pd.DataFrame):
        data.to_parquet(parquet, compression=None)
        data.to_feather(arrow, compression="uncompressed")
    elif isinstance(data, pl.DataFrame):
        data.write_parquet(parquet, compression="uncompressed")
        data.write_ipc(arrow, compression="uncompressed")
    else:
        pq.write_table(data, parquet, compression="none")
        feather.write_feather(data, arrow, compression="uncompressed")
    return {"pickle": pickle.dumps(data), "parquet": parquet.getvalue(), "feather": arrow.getvalue()}


@pytest.mark.parametrize("kind", [kind for kind, _ in frames()])
def test_frames_hold_nothing_of_suppressed_rows(kind: str) -> None:
    """Whatever a released frame is kept as, no byte of it tells a value that only suppressed rows have."""
    given = dict(frames())[kind]
    done = anonymize(given, QUASI, "ill", k=5, suppression_limit=0.2)
    assert done.suppressed == 3
    for form, content in kept_forms(given).items():
        assert len(leaks(content)) > 9, f"the search is blind in {form}"
    for form, content in kept_forms(done.data).items():
        assert leaks(content) == [], (kind, form)


def test_untouched_columns_keep_their_types() -> None:
    """Categories, dictionaries and enumerations stay what they are, with the words of the released rows alone."""
    given = dict(frames())
    categories = anonymize(given["pandas categories"], QUASI, "ill", k=5, suppression_limit=0.2).data
    assert list(categories["note"].cat.categories) == ["note 0", "note 1", "note 2", "note 3"]
    assert categories["ill"].value_counts().to_dict() == {"flu": 12, "cold": 12}
    enums = anonymize(given["polars enums"], QUASI, "ill", k=5, suppression_limit=0.2).data
    assert enums.schema["note"] == pl.Enum(["note 0", "note 1", "note 2", "note 3"])
    plain = anonymize(given["pandas"], QUASI, "ill", k=5, suppression_limit=0.2).data
    assert plain["ill"].dtype == given["pandas"]["ill"].dtype
    assert plain.attrs == {}


@pytest.mark.parametrize(
    ("target", "ages"), [("out.csv", ""), ("out.parquet", ""), ("out/", ""), ("out.csv", "{quantile_cells = 5}")]
)
def test_files_papers_and_reports_hold_nothing_of_suppressed_rows(target: str, ages: str, tmp_path: Path) -> None:
    """Every byte of the release, of the public certificate and of the public reports."""
    job = _job(tmp_path, target, ages)
    released = release_job(job)
    assert released.suppressed == 3
    place = Path(released.place)
    written = sorted(place.iterdir()) if place.is_dir() else [place]
    for kind in ("html", "md", "json"):
        written.append(write_report(tmp_path / "job.toml", tmp_path / f"report.{kind}"))
    for file in (*written, released.files["public"]):
        assert leaks(_uncompressed(file)) == [], file.name
    secret = (*(released.files[name] for name in ("certificate", "recoding")), tmp_path / "people.csv")
    assert all(leaks(file.read_bytes()) for file in secret), "the search is blind"


def _job(folder: Path, target: str, ages: str = "") -> Any:
    frame().to_csv(folder / "people.csv", index=False)
    columns = "".join(f'[columns.{name}]\nrole = "quasi-identifier"\n' for name in QUASI)
    columns = columns.replace("[columns.job]", f"hierarchy = {ages}\n[columns.job]" if ages else "[columns.job]")
    (folder / "job.toml").write_text(
        f'[data]\nsource = "people.csv"\n{columns}[columns.ill]\nrole = "sensitive"\n[suppression]\nlimit = 0.2\n'
        f'[search]\nobjectives = ["k", "lm"]\n[release]\nchoose = "k=8"\ntarget = "{target}"\n'
    )
    return load_job(folder / "job.toml")


def _uncompressed(file: Path) -> bytes:
    """The bytes of a file; of Parquet also its dictionaries and pages as they are without compression."""
    content = file.read_bytes()
    if file.suffix != ".parquet":
        return content
    again = io.BytesIO()
    columns = pq.ParquetFile(file).schema_arrow.names
    pq.write_table(pq.ParquetFile(file, read_dictionary=columns).read(), again, compression="none")
    return content + again.getvalue()


def test_parquet_counts_nothing_of_suppressed_rows(tmp_path: Path) -> None:
    """The footer counts the values of the released rows, and no dictionary has an empty place for another."""
    given = frame()
    table = read(given, Schema(QUASI, sensitive=("ill",)))
    choice = Choice(table, node(table.hierarchies, (0, 0, 0)), Suppression("cap-max-k", 3), {"k": 8})
    release(choice, given, tmp_path / "out.parquet")
    names = ["job", "city", "ill", "note"]
    again = pq.ParquetFile(tmp_path / "out.parquet", read_dictionary=names).read()
    again.validate(full=True)
    group = pq.read_metadata(tmp_path / "out.parquet").row_group(0)
    for place in range(group.num_columns):
        column = group.column(place)
        if column.path_in_schema in names:
            there = set(again[column.path_in_schema].to_pylist())
            dictionary = again[column.path_in_schema].combine_chunks().dictionary.to_pylist()
            assert set(dictionary) == there
            assert column.statistics.distinct_count in (None, len(there))


def _cut(*groups: int) -> np.ndarray:
    return np.array(groups, dtype=np.int32)


def _released(given: pd.DataFrame, hierarchies: dict[str, object], recode: Any, folder: Path) -> Release:
    """The release of a recoding, three rows suppressed, and everything public of it searched."""
    table = read(given, Schema(QUASI, sensitive=("ill",)), hierarchies=hierarchies)
    choice = Choice(table, recode(table), Suppression("cap-max-k", 3), {"k": 8})
    done = release(choice, given, folder / "out.csv")
    assert done.suppressed == 3
    assert leaks((folder / "out.csv").read_bytes()) == []
    assert leaks(done.certificate.public_text().encode()) == []
    return done


def test_labels_of_runs_name_released_values_alone(tmp_path: Path) -> None:
    """A group of neighbours without a name is named by the values of released rows, and warning W8 says so."""

    def runs(table: Any) -> Recoding:
        """Every secret shares a group with values that are released; jobs AAjob|baker|clerk, tailor|ZQ… and so on."""
        cuts = []
        for hierarchy in table.hierarchies:
            half = hierarchy.leaves.index({"age": "40", "job": "tailor", "city": "Ulm"}[hierarchy.name])
            cuts.append((np.arange(len(hierarchy.leaves)) >= half).astype(np.int32))
        return Recoding(table.hierarchies, tuple(cuts))

    done = _released(_neighbours(), {}, runs, tmp_path)
    public = done.certificate.public["recoding"]
    assert public["job"]["labels"] == ["baker|clerk", "tailor"]
    assert public["city"]["labels"] == ["Bonn|Kiel", "Ulm"]
    assert "W8" in [warning.id for warning in remarks(Context(done.partition, {"k": 8}))]


def _neighbours() -> pd.DataFrame:
    """Rows whose secrets fall into no class that is kept, though they share a group in every column."""
    given = frame()
    given["age"] = given["age"].astype(str)
    first, second, third = len(given) - 3, len(given) - 2, len(given) - 1
    given.loc[first, "city"], given.loc[second, "city"], given.loc[third, "city"] = "AAcity", "AAcity", "ZQcityA"
    return given


def test_groups_of_one_name_are_numbered(tmp_path: Path) -> None:
    """Two groups that a hierarchy calls alike are told apart by numbers, not by a value that may be suppressed."""

    def group(label: str, *leaves: str) -> dict[str, Any]:
        return {"label": label, "children": [{"label": leaf} for leaf in leaves]}

    groups = [
        group("other", "ZQjobA", "baker"),
        group("trade", "ZQjobB", "AAjob", "clerk"),
        group("other", "tailor", "smith"),
    ]
    tree = {"kind": "tree", "tree": {"label": "*", "children": groups}}
    done = _released(frame(), {"job": tree}, lambda table: node(table.hierarchies, (0, 1, 0)), tmp_path)
    assert done.certificate.public["recoding"]["job"]["labels"] == ["other (1)", "other (2)", "trade"]


def test_quantiles_are_named_by_released_values(tmp_path: Path) -> None:
    """The borders of groups that were made from the rows are those of released rows."""
    rule: dict[str, object] = {"age": {"quantiles": 2}}
    done = _released(frame(), rule, lambda table: node(table.hierarchies, (1, 0, 0)), tmp_path)
    assert done.certificate.public["recoding"]["age"]["labels"] == ["20-30", "40"]


def test_cells_cut_at_values_of_rows_are_numbered(tmp_path: Path) -> None:
    """The borders of quantile cells may be values of suppressed rows: then groups have numbers, and no midpoints."""
    given = frame()
    table = read(given, Schema(QUASI, sensitive=("ill",)), hierarchies={"age": {"quantile_cells": 5}})
    assert any(str(NUMBERS[0]) in label for label in table.hierarchies[0].leaves), "no border tells of a secret"
    cut = (0, 0, 0)
    choice = Choice(table, node(table.hierarchies, cut), Suppression("cap-max-k", 3), {"k": 8})
    done = release(choice, given, tmp_path / "out.csv")
    assert done.suppressed == 3
    labels = done.certificate.public["recoding"]["age"]["labels"]
    assert all(label.startswith("group ") for label in labels)
    assert leaks((tmp_path / "out.csv").read_bytes()) == leaks(done.certificate.public_text().encode()) == []
    for shown in ("midpoint", "median"):
        with pytest.raises(BadTable, match="some of which are suppressed"):
            release(choice, given, tmp_path / "no.csv", handling=Handling(shown={"age": shown}))
    told = given[given["age"] < 100]
    table = read(told, Schema(QUASI, sensitive=("ill",)), hierarchies={"age": {"quantile_cells": 5}})
    choice = Choice(table, node(table.hierarchies, cut), Suppression("cap-max-k", 3), {"k": 8})
    done = release(choice, told, tmp_path / "all.csv")
    assert "group" not in "".join(done.certificate.public["recoding"]["age"]["labels"])
    assert "W8" in {warned.id for warned in remarks(Context(done.partition, {"k": 8}))}


@pytest.mark.parametrize("shown", ["midpoint", "median"])
def test_numbers_for_groups_come_from_released_rows(shown: Any, tmp_path: Path) -> None:
    """A midpoint or a median does not move with the values of rows that are suppressed."""
    given = frame()
    table = read(given, Schema(QUASI, sensitive=("ill",)), hierarchies={"age": {"quantiles": 2}})
    choice = Choice(table, node(table.hierarchies, (1, 0, 0)), Suppression("cap-max-k", 3), {"k": 8})
    release(choice, given, tmp_path / "out.csv", handling=Handling(shown={"age": shown}))
    ages = set(pd.read_csv(tmp_path / "out.csv")["age"])
    assert ages == ({25.0, 40.0} if shown == "midpoint" else {20.0, 40.0})
