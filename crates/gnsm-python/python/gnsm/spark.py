"""Scores on Spark, and fits from some rows of a Spark frame and a survey of all.

    import gnsm.spark

    model = gnsm.spark.fit(df)
    scored = gnsm.spark.score(df, model, explain=2)

Scores have the same bits as on one machine: a row's score depends on the model and the row alone. `score` works on
streams too.
"""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from . import _gnsm
from ._gnsm import GnsmError
from ._model import Model, Surveyed, named, positive, rule_of, value_text, whole
from ._model import fit as fit_table
from ._work import GnsmWarning

#: The column that surveys travel in, and how many of them reach the driver at the most.
_SURVEY = "survey"
_MERGERS = 8


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

    _check_frame(df)
    if not isinstance(model, Model):
        raise GnsmError(f"a {type(model).__name__} is no model; give what `gnsm.fit` or `gnsm.load` gave")
    explain = whole("explain", explain)
    _gnsm.check_rule(rule_of(contamination, threshold=threshold))

    added = [
        StructField("score", DoubleType(), False),
        StructField("p_value", DoubleType(), False),
        StructField("anomaly", BooleanType(), False),
        *[StructField(f"reason_{place + 1}", StringType(), True) for place in range(explain)],
    ]
    # Spark does not tell capital letters from small ones.
    taken = {name.lower(): name for name in df.columns}
    for field in added:
        if field.name in taken:
            raise GnsmError(f"the data frame has a column `{taken[field.name]}` already; rename it")
    lacking = [column.name for column in model.columns if column.kind != "ignored" and column.name not in df.columns]
    if lacking:
        names = ", ".join(f"`{name}`" for name in lacking)
        raise GnsmError(f"the data frame lacks the model's column {names}; its columns are {', '.join(df.columns)}")
    bytes_of = _shared(df, model.to_bytes())

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GnsmWarning)
            here = _model(bytes_of())
            yield from here.score_batches(batches, explain=explain, contamination=contamination, threshold=threshold)

    return df.mapInArrow(run, StructType([*df.schema.fields, *added]))


def fit(df: Any, *, rows: int = 100_000, **options: Any) -> Model:
    """Learns from `rows` rows at the most, and from a survey of all. `options` are those of `gnsm.fit`.

    What the columns are (kinds, categories, scales) is learned from all rows, where they are. The rows to learn from are those
    with the smallest hashes of their content. So the model does not depend on partitions and their order, and it is the same
    as that of `gnsm fit --max-rows` on a file with the same rows. A frame with at most `rows` rows is taken whole. The frame
    is read twice.
    """
    _check_frame(df)
    most = positive("rows", rows)
    label, anomaly = named(options.get("label")), value_text(options.get("anomaly"))
    if label is not None and label not in df.columns:
        raise GnsmError(f"the data frame has no column `{label}`; its columns are {', '.join(df.columns)}")

    def surveyed(batches: Iterator[Any]) -> Iterator[Any]:
        first = next(batches, None)
        if first is not None:
            yield _one(_gnsm.survey(_stream(first.schema, itertools.chain([first], batches)), most, label, anomaly))

    def merged(batches: Iterator[Any]) -> Iterator[Any]:
        parts = [part for batch in batches for part in batch.column(0).to_pylist()]
        if parts:
            yield _one(_gnsm.merged(parts)[0])

    surveys = df.mapInArrow(surveyed, f"{_SURVEY} binary")
    # Not all surveys at once on the driver: first some on each executor.
    surveys = surveys.repartition(_MERGERS).mapInArrow(merged, f"{_SURVEY} binary")
    survey, _, limit = _gnsm.merged([bytes(row[0]) for row in surveys.collect()])

    def chosen(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        for batch in batches:
            if batch.num_rows > 0:
                flags = _gnsm.chosen(_stream(batch.schema, [batch]), limit, label, anomaly)
                yield batch.filter(pyarrow.array([flag == 1 for flag in flags], pyarrow.bool_()))

    return fit_table(Surveyed(df.mapInArrow(chosen, df.schema).toArrow(), survey), **options)


def _check_frame(df: Any) -> None:
    """Refuses on the driver what would fail on the executors."""
    if not hasattr(df, "mapInArrow"):
        raise GnsmError(f"a {type(df).__name__} is no Spark data frame; give one, or use `gnsm.fit` and `Model.score`")
    if not df.columns:
        raise GnsmError("the data frame: has no columns; give a table with columns")
    seen: set[str] = set()
    for name in df.columns:
        if name in seen:
            raise GnsmError(f"the data frame, column `{name}`: two columns have this name; rename one of them")
        seen.add(name)


def _stream(schema: Any, batches: Iterable[Any]) -> tuple[str, str, Any]:
    """Record batches as the native part takes them."""
    import pyarrow

    return ("stream", "the data frame", pyarrow.RecordBatchReader.from_batches(schema, batches))


def _one(survey: bytes) -> Any:
    """A survey as a record batch."""
    import pyarrow

    return pyarrow.RecordBatch.from_arrays([pyarrow.array([survey], pyarrow.binary())], [_SURVEY])
