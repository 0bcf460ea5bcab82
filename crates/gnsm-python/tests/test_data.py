"""Every kind of table gives the same scores, and gets an answer of its own kind."""

import datetime
import decimal
import sys

import gnsm
import numpy
import pandas
import polars
import pyarrow
import pytest


def scores_of(model, data):
    return numpy.asarray(model.score(data)["score"])


def test_kinds_in_and_out(frame, model):
    expected = scores_of(model, frame)
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    kinds = {
        pandas.DataFrame: frame,
        polars.DataFrame: polars.from_arrow(table),
        pyarrow.Table: table,
        dict: {name: frame[name] for name in frame},
    }
    for kind, data in kinds.items():
        answer = model.score(data)
        assert isinstance(answer, kind), kind
        assert numpy.array_equal(numpy.asarray(answer["score"]), expected), kind
    reader = pyarrow.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=37))
    assert numpy.array_equal(scores_of(model, reader), expected)


class OnlyStream:
    """Anything with the Arrow PyCapsule interface."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_any_arrow_stream_is_a_table(frame, model):
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    assert numpy.array_equal(scores_of(model, OnlyStream(table)), scores_of(model, frame))


def test_arrays_have_names_and_rows(frame):
    draw = numpy.random.default_rng(1)
    array = draw.normal(size=(200, 3))
    array[50] = 9
    model = gnsm.fit(array)
    answer = model.score(array)
    assert isinstance(answer, numpy.ndarray) and answer.dtype.names == ("score", "p_value", "anomaly")
    assert answer["score"].argmax() == 50
    assert [column.name for column in model.columns] == ["column_1", "column_2", "column_3"]
    array.setflags(write=False)
    for same in (numpy.asfortranarray(array), array[::1], array.astype("f8").view(), array.tolist()):
        assert numpy.array_equal(scores_of(model, same), answer["score"])
    masked = numpy.ma.masked_array(array.copy(), mask=numpy.zeros(array.shape, dtype=bool))
    masked.mask[3, 0] = True
    missing = array.copy()
    missing[3, 0] = numpy.nan
    columns = {f"column_{place + 1}": masked[:, place] for place in range(3)}
    assert numpy.array_equal(scores_of(model, columns), scores_of(model, missing))


def everything(n_rows=120):
    """A column of every type that pandas has a use for."""
    draw = numpy.random.default_rng(3)
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=int(day)) for day in draw.integers(0, 90, n_rows)]
    some = draw.random(n_rows) < 0.1

    def holes(values):
        return [None if gone else value for value, gone in zip(values, some)]

    numbers = draw.integers(0, 50, n_rows)
    return pandas.DataFrame(
        {
            "category": pandas.Categorical(draw.choice(["a", "b", "c"], n_rows)),
            "number category": pandas.Categorical(draw.choice([1, 2, 3], n_rows)),
            "nullable": pandas.array(holes(numbers), dtype="Int32"),
            "nullable float": pandas.array(holes(draw.normal(size=n_rows)), dtype="Float64"),
            "nullable boolean": pandas.array(holes(draw.random(n_rows) < 0.5), dtype="boolean"),
            "string": pandas.array(holes(draw.choice(["x", "y"], n_rows)), dtype="string"),
            "object": pandas.Series(holes(draw.choice(["p", "q"], n_rows)), dtype=object),
            "object integers": pandas.Series([int(number) for number in numbers], dtype=object),
            "decimal": pandas.Series([decimal.Decimal(int(number)) / 4 for number in numbers], dtype=object),
            "date": pandas.Series(days, dtype=object),
            "moment": pandas.to_datetime(pandas.Series(days)) + pandas.to_timedelta(numbers, unit="h"),
            "zone": (pandas.to_datetime(pandas.Series(days)) + pandas.to_timedelta(numbers, unit="h")).dt.tz_localize(
                "Asia/Tokyo"
            ),
            "span": pandas.to_timedelta(numbers, unit="min"),
            "time": pandas.Series([datetime.time(int(number) % 24, 5) for number in numbers], dtype=object),
            "small": numbers.astype("int8"),
            "unsigned": numbers.astype("uint16"),
            "single": draw.normal(size=n_rows).astype("float32"),
            "boolean": draw.random(n_rows) < 0.5,
            "mixed": pandas.Series([1, "two", 3.0, None, True, 2.5] * (n_rows // 6), dtype=object),
            "large": pandas.Series([f"text {number % 9}" for number in numbers]).astype(
                pandas.ArrowDtype(pyarrow.large_string())
            ),
            "sparse": pandas.arrays.SparseArray(numpy.where(numbers > 40, 1.5, 0.0)),
        }
    )


def test_every_type_carries_over_as_from_parquet(tmp_path):
    frame = everything()
    model = gnsm.fit(frame)
    plain = frame.drop(columns=["mixed", "sparse"])
    plain.to_parquet(tmp_path / "all.parquet", index=False)
    file = gnsm.fit(tmp_path / "all.parquet")
    assert gnsm.fit(plain).to_bytes() == file.to_bytes()
    kinds = {column.name: column.kind for column in model.columns}
    assert kinds["date"] == kinds["moment"] == kinds["zone"] == "date"
    assert kinds["mixed"] == "categorical"


def test_without_pyarrow_everything_is_the_same(monkeypatch):
    frame = everything().drop(columns=["large"])
    with_it = gnsm.fit(frame)
    expected = scores_of(with_it, frame)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    without = gnsm.fit(frame)
    assert without.to_bytes() == with_it.to_bytes()
    assert numpy.array_equal(scores_of(with_it, frame), expected)


def test_long_columns_come_in_pieces(model, frame):
    long = pandas.concat([frame] * 500, ignore_index=True)
    columns = {name: long[name].to_numpy() if name == "amount" else list(long[name]) for name in long}
    assert numpy.array_equal(scores_of(model, columns), scores_of(model, long))


def test_names_that_are_no_texts_and_indexes_of_several_levels(frame):
    numbered = frame.set_axis(range(frame.shape[1]), axis=1)
    model = gnsm.fit(numbered, categorical=[0])
    assert [column.name for column in model.columns] == ["0", "1", "2", "3", "4", "5"]
    levels = pandas.MultiIndex.from_arrays([range(len(frame)), frame.index])
    answer = model.score(numbered.set_axis(levels, axis=0))
    assert answer.index.equals(levels)
    wide = frame.set_axis(pandas.MultiIndex.from_product([["a"], frame.columns]), axis=1)
    assert gnsm.fit(wide).columns[0].name == "('a', 'department')"


def test_a_frame_is_left_as_it_was(frame):
    before = frame.copy(deep=True)
    gnsm.fit(frame).score(frame)
    pandas.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_files_of_other_formats(frame, tmp_path, kind):
    path = tmp_path / f"ledger.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_json(path, orient="records", lines=True, date_format="iso")
    assert gnsm.fit(path).score(str(path))["score"].argmax() == 250
