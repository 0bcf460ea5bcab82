"""Scores on Spark, and fits from a sample of a Spark frame.

    import gnsm.spark

    model = gnsm.spark.fit(df)
    scored = gnsm.spark.score(df, model, explain=2)

Scores have the same bits as on one machine: a row's score depends on the model and the row alone. `score` works on
streams too.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from ._gnsm import GnsmError
from ._model import Model
from ._model import fit as fit_table
from ._work import GnsmWarning, warn

#: What a hash is taken modulo to choose rows.
_SPACE = 1 << 31


@functools.lru_cache(maxsize=4)
def _model(data: bytes) -> Model:
    """The model, read once in each of Spark's Python processes."""
    return Model.from_bytes(data)


def _shared(frame: Any, data: bytes) -> Callable[[], bytes]:
    """The model's bytes, sent once to each executor. Spark Connect has no such way, and sends them with the function."""
    try:
        broadcast = frame.sparkSession.sparkContext.broadcast(data)
    except Exception:  # noqa: BLE001
        return lambda: data
    return lambda: bytes(broadcast.value)


def score(
    df: Any,
    model: Model,
    explain: int = 0,
    *,
    contamination: float | None = None,
    threshold: float | None = None,
) -> Any:
    """The frame with the columns `score`, `p_value` and `anomaly`, and `reason_1` to `reason_N` with `explain=N`.

    `contamination` is the largest p-value to flag (0.01 if nothing is given), `threshold` the lowest score. A false
    discovery rate needs the p-values of all rows first, so it is not offered here.
    """
    from pyspark.sql.types import BooleanType, DoubleType, StringType, StructField, StructType

    added = [
        StructField("score", DoubleType(), False),
        StructField("p_value", DoubleType(), False),
        StructField("anomaly", BooleanType(), False),
        *[StructField(f"reason_{place + 1}", StringType(), True) for place in range(explain)],
    ]
    for field in added:
        if field.name in df.columns:
            raise GnsmError(f"the data frame has a column `{field.name}` already; rename it")
    bytes_of = _shared(df, model.to_bytes())

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GnsmWarning)
            here = _model(bytes_of())
            yield from here.score_batches(batches, explain=explain, contamination=contamination, threshold=threshold)

    return df.mapInArrow(run, StructType([*df.schema.fields, *added]))


def fit(df: Any, *, rows: int = 100_000, **options: Any) -> Model:
    """Learns from a sample of about `rows` rows. `options` are those of `gnsm.fit`.

    A row is chosen by a hash of its content, so the same rows are chosen whatever the partitions and their order, and the
    model is the same. A frame with at most `rows` rows is taken whole.
    """
    from pyspark.sql import functions

    if rows < 1:
        raise GnsmError(f"`rows` is {rows}; give a positive number")
    names = df.columns
    if not names:
        raise GnsmError("the data frame: has no columns; give a table with columns")
    key = "__gnsm_hash"
    hashed = df.withColumn(key, functions.xxhash64(*[functions.col(f"`{name}`") for name in names]))
    total = df.count()
    if total > rows:
        limit = int(_SPACE * rows / total)
        hashed = hashed.where(functions.pmod(functions.col(key), functions.lit(_SPACE)) < limit)
    table = hashed.toArrow().sort_by(key).drop_columns([key])
    if table.num_rows < total:
        warn([f"learned from {table.num_rows:,} of {total:,} rows, chosen by a hash of their content"])
    return fit_table(table, **options)
