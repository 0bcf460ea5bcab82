"""Dask, where it is installed: `pip install "dask[dataframe]"`."""

import gnsm
import numpy
import pandas
import pytest
from conftest import ledger

dask = pytest.importorskip("dask.dataframe", reason="Dask is not installed")


def scored(model, frame, **options):
    """The frame with its scores, partition by partition: the recipe of docs/python.md."""
    meta = next(model.score_batches([frame._meta], **options))
    return frame.map_partitions(lambda part: next(model.score_batches([part], **options)), meta=meta)


@pytest.mark.parametrize("scheduler", ["synchronous", "threads", "processes"])
def test_scores_have_the_same_bits_whatever_the_partitions(scheduler):
    table = ledger(3000)
    model = gnsm.fit(table)
    expected = model.score(table, explain=1, drift=False)
    for n in (1, 7):
        frame = dask.from_pandas(table, npartitions=n, sort=False)
        found = scored(model, frame, explain=1)
        assert list(found.columns) == [*table.columns, "score", "p_value", "anomaly", "reason_1"]
        found = found.compute(scheduler=scheduler)
        for name in ("score", "p_value", "anomaly"):
            assert numpy.array_equal(found[name], expected[name]), name
        assert found.index.equals(table.index)


def test_the_odd_rows_of_many_files(tmp_path):
    table = ledger(3000)
    for place in range(6):
        table.iloc[place * 500 : (place + 1) * 500].to_parquet(tmp_path / f"part-{place}.parquet")
    model = gnsm.fit(table)
    found = scored(model, dask.read_parquet(tmp_path), threshold=20)
    odd = found[found["anomaly"]].compute(scheduler="threads")
    assert list(odd.index) == list(table.index[model.score(table, threshold=20)["anomaly"]])
    assert isinstance(odd, pandas.DataFrame) and "r250" in odd.index
