"""A release as a file of Stata or SPSS: numbers and days in the types they have, all else as text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kpareto.errors import BadJob, MissingExtra
from kpareto.tables.spelling import EXACT

if TYPE_CHECKING:
    import pyarrow as pa

STATA, SPSS = ".dta", ".sav"
MOST_BYTES = {STATA: 2045, SPSS: 32767}  # of a text
# Equal rows give equal bytes, so a file says no time of its own: where its time stands, and what stands there instead.
STATA_TIME, SPSS_TIME = (b"<timestamp>\x11", b"01 Jan 1980 00:00"), (92, b"01 Jan 8000:00:00")


def write_statistics(rows: Path, target: Path, ending: str) -> None:
    """Write the rows of a Parquet file for Stata or SPSS, as the ending says."""
    import pyarrow.parquet as pq

    try:
        import pandas as pd
        import pyreadstat
    except ImportError as error:
        raise MissingExtra(
            "Files of Stata and SPSS are written by pyreadstat. Install it: pip install 'kpareto[files]'."
        ) from error
    table = pq.read_table(rows)
    frame = pd.DataFrame({name: _column(table.column(name), name, ending) for name in table.column_names})
    write = pyreadstat.write_dta if ending == STATA else pyreadstat.write_sav
    try:
        write(frame, str(target))
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ValueError) as error:
        program = "Stata" if ending == STATA else "SPSS"
        raise BadJob(
            f"The release does not fit into a file of {program} ({str(error).partition(chr(10))[0]}). Give a target "
            "that ends in .parquet or .csv. Nothing was released."
        ) from error
    _forget_time(target, ending)


def _column(values: pa.ChunkedArray, name: str, ending: str) -> Any:
    """A column as pyreadstat takes it; a text that is missing is an empty one there."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type
    if pa.types.is_dictionary(kind):
        values = values.cast(kind.value_type)
        kind = values.type
    if values.null_count == len(values):
        return pd.Series([float("nan")] * len(values), dtype="float64")
    if pa.types.is_integer(kind):
        largest = max(abs(int(end.as_py())) for end in pc.min_max(values).values())
        if largest < EXACT:  # both programs know reals alone
            return values.cast(pa.float64()).to_pandas()
    elif pa.types.is_floating(kind):
        return values.cast(pa.float64()).to_pandas()
    elif pa.types.is_date(kind) or pa.types.is_time(kind) or (pa.types.is_timestamp(kind) and kind.tz is None):
        return pd.Series(values.to_pylist(), dtype="object")
    elif pa.types.is_boolean(kind):
        values = pc.if_else(values, "true", "false")
    texts = values.cast(pa.large_string())
    longest = pc.max(pc.binary_length(texts)).as_py()
    if longest > MOST_BYTES[ending]:
        raise BadJob(
            f"Column {name!r} has a text of {longest:,} bytes, and a file that ends in {ending} takes "
            f"{MOST_BYTES[ending]:,}. Give a target that ends in .parquet or .csv. Nothing was released."
        )
    return pd.Series(pc.fill_null(texts, "").to_pylist(), dtype="object")


def _forget_time(target: Path, ending: str) -> None:
    with target.open("r+b") as file:
        if ending == STATA:
            mark, instead = STATA_TIME
            at = file.read(4096).index(mark) + len(mark)
        else:
            at, instead = SPSS_TIME
        file.seek(at)
        file.write(instead)
