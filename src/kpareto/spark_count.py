"""Count what a released frame of Spark holds: one GROUP BY there, sharing no code with what wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kpareto.counting import Counted, gather, text, wanted
from kpareto.errors import Unsafe
from kpareto.spark_work import attended, spelled_out

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def is_spark(release: object) -> bool:
    """Whether this is a frame of Spark, without loading Spark."""
    return type(release).__module__.startswith("pyspark.sql.") and type(release).__name__ == "DataFrame"


def count_frame(frame: DataFrame, said: dict[str, Any], digest: str | None = None) -> Counted:
    """What a released frame holds; ``said`` has the columns and their roles."""
    columns = list(said["columns"])
    if frame.columns != columns:
        raise Unsafe(
            f"The release has the columns {', '.join(frame.columns)}; the certificate says {', '.join(columns)}."
        )
    names = ["`" + name.replace("`", "``") + "`" for name in wanted(said)]
    with spelled_out("The release cannot be counted by Spark"):
        answer = attended(frame.sparkSession, frame.groupBy(*names).count().toArrow)
    cells = zip(*(column.to_pylist() for column in answer.columns), strict=True)
    found = (([text(cell) for cell in row[:-1]], int(row[-1])) for row in cells)
    return gather(found, said, f"Spark {frame.sparkSession.version}", digest)
