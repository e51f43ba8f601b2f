"""Count what a released frame of Spark holds: one GROUP BY there, sharing no code with what wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kpareto.engines.spark.connect import attend, explain_errors
from kpareto.errors import Unsafe
from kpareto.verifier.cells import text
from kpareto.verifier.counting import Counted, gather, wanted_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def count_frame(frame: DataFrame, said: dict[str, Any]) -> Counted:
    """What a released frame holds; ``said`` has the columns and their roles."""
    columns = list(said["columns"])
    if frame.columns != columns:
        raise Unsafe(
            f"The release has the columns {', '.join(frame.columns)}; the certificate says {', '.join(columns)}."
        )
    names = ["`" + name.replace("`", "``") + "`" for name in wanted_columns(said)]
    with explain_errors("The release cannot be counted by Spark"):
        answer = attend(frame.sparkSession, frame.groupBy(*names).count().toArrow)
    cells = zip(*(column.to_pylist() for column in answer.columns), strict=True)
    rows = (([text(cell) for cell in row[:-1]], int(row[-1])) for row in cells)
    return gather(rows, said, f"Spark {frame.sparkSession.version}")
