"""Bad input is told in one sentence, and never takes the interpreter down."""

import json
import threading
import time

import gnsm
import gnsm.masks
import numpy
import pandas
import polars
import pyarrow
import pytest


def problem(function, *arguments, **named):
    with pytest.raises(gnsm.GnsmError) as caught:
        function(*arguments, **named)
    assert isinstance(caught.value, ValueError)
    text = str(caught.value)
    assert "\n" not in text and "internal error" not in text
    return text


def test_what_is_no_table():
    assert "a int is no table; give a pandas" in problem(gnsm.fit, 3)
    assert "series.to_frame()" in problem(gnsm.fit, pandas.Series([1, 2]))
    assert "series.to_frame()" in problem(gnsm.fit, polars.Series([1, 2]))
    assert "frame.collect()" in problem(gnsm.fit, polars.DataFrame({"a": [1]}).lazy())
    assert "3 dimensions, not 2" in problem(gnsm.fit, numpy.zeros((2, 2, 2)))
    assert "1 dimensions, not 2" in problem(gnsm.fit, numpy.zeros(4))
    assert "column `b`: has 1 rows" in problem(gnsm.fit, {"a": [1, 2], "b": [1]})
    assert "column `a`: is one value" in problem(gnsm.fit, {"a": 1})
    assert "no-such-file.csv: No such file" in problem(gnsm.fit, "no-such-file.csv")
    assert "the path is empty" in problem(gnsm.fit, "")
    assert "a NoneType is no table" in problem(gnsm.fit, None)
    assert "a list of dicts is no table; give a data frame" in problem(gnsm.fit, [{"a": 1}] * 30)
    assert "the rows have different lengths" in problem(gnsm.fit, [[1, 2], [3]] * 20)
    assert "column `a`: is a generator, which is used up as it is read" in problem(
        gnsm.fit, {"a": (row for row in range(30))}
    )
    assert "the table, column `a`: a column of Python objects (an array of 2 dimensions)" in problem(
        gnsm.fit, {"a": numpy.zeros((30, 2)), "b": range(30)}
    )
    assert "is no table" in problem(gnsm.fit, pyarrow.array(range(300)))
    assert "is no stream of tables" in problem(gnsm.fit, pyarrow.chunked_array([range(300)]))


def test_objects_are_named_by_their_row_and_their_type(frame, model):
    cells = ["a", "b", "c", {1, 2}] * (len(frame) // 4)
    for data in (frame.assign(tags=cells), {"tags": cells, "amount": list(frame["amount"])}):
        text = problem(gnsm.fit, data)
        assert "column `tags`: a column of Python objects (set in row 3, counted from 0) cannot be scored" in text
        assert "line 1" not in text
    text = problem(model.score, frame.assign(amount=[object()] * len(frame)))
    assert "column `amount`: type Python objects (object in row 0, counted from 0) cannot be scored" in text


def test_half_a_character_is_no_text(frame):
    half = "x\ud800"
    cells = ["a", half] * 150
    objects = pandas.DataFrame({"t": pandas.Series(cells, dtype=object)})
    for data in (objects, {"t": cells}, {"t": numpy.array(cells)}):
        assert "t" in (text := problem(gnsm.fit, data)) and "is no text (" in text, text
    mixed = pandas.DataFrame({"t": pandas.Series([1, half] * 150, dtype=object)})
    assert "column `t`: holds what is no text (" in problem(gnsm.fit, mixed)
    assert "is no text (" in problem(gnsm.fit, {half: range(30)})
    assert "is no text (" in problem(gnsm.fit, frame, label=half)
    assert "is no text (" in problem(gnsm.fit, frame, ignore=[half])
    assert "is no text (" in problem(gnsm.fit, frame, method=half)
    assert "is no text (" in problem(gnsm.fit, frame, label="account", anomaly=half)
    assert "is no text (" in problem(gnsm.settings, half)
    assert "is no text (" in problem(gnsm.masks.settings, half)
    assert "is no text (" in problem(gnsm.masks.fit, {half: numpy.zeros((9, 9), dtype="uint8")})
    for function in (gnsm.fit, gnsm.load, gnsm.fit(frame).save):
        assert "the path 'x\\ud800' is none" in problem(function, half)


def test_settings_of_wrong_types(frame):
    forest = {"method": "isolation-forest"}
    for wrong in ("a", 2.5, [1], True):
        text = problem(gnsm.fit, frame, settings={"trees": wrong}, **forest)
        assert f"setting `trees`: is {json.dumps(wrong)}, must be a whole number" in text
    assert "`settings` is [1]; give a dict" in problem(gnsm.fit, frame, settings=[1])
    assert "there is no setting `a`, nor any other" in problem(gnsm.fit, frame, settings={"a": 1})
    model = gnsm.fit(frame, settings={"trees": numpy.int64(7)}, **forest)
    assert model.settings["trees"] == 7
    text = problem(gnsm.fit, frame, method="gnsm", settings={"training": {"steps": "many"}})
    assert 'setting `training.steps`: is "many", must be a whole number' in text


class Stream:
    """Something with the Arrow PyCapsule interface that does not keep its promise."""

    def __arrow_c_stream__(self, requested_schema=None):
        return 3


def test_streams_that_break(frame):
    def batches():
        yield pyarrow.record_batch({"a": [1, 2]})
        raise RuntimeError("boom")

    reader = pyarrow.RecordBatchReader.from_batches(pyarrow.schema({"a": pyarrow.int64()}), batches())
    text = problem(gnsm.fit, reader)
    assert "its rows cannot be read" in text and "boom" in text and text.endswith("look at what makes them")
    assert "is no stream of tables" in problem(gnsm.fit, Stream())
    used = pyarrow.Table.from_pandas(frame, preserve_index=False).to_reader()
    gnsm.fit(used)
    assert "no rows" in problem(gnsm.fit, used)
    assert "no rows" in problem(gnsm.fit, pyarrow.RecordBatchReader.from_batches(reader.schema, []))


def test_empty_tables(frame, model):
    assert "no rows" in problem(gnsm.fit, frame.iloc[:0])
    for judge in (model.score, model.explain, model.drift, model.odd_cells, model.changes, model.repair):
        assert "no rows" in problem(judge, frame.iloc[:0])
    assert "no rows" in problem(gnsm.fit, polars.from_pandas(frame)[:0])
    assert "has no columns" in problem(gnsm.fit, polars.DataFrame())
    assert "has no columns" in problem(gnsm.fit, pyarrow.table({}))
    assert "all 30 rows of the data frame are the same" in problem(gnsm.fit, pandas.DataFrame({"a": [numpy.nan] * 30}))
    assert "has no columns" in problem(gnsm.fit, frame[[]])
    assert "has no columns" in problem(gnsm.fit, {})
    assert "has no columns" in problem(gnsm.fit, numpy.zeros((5, 0)))
    assert "give at least 20" in problem(gnsm.fit, frame.iloc[:3])


def test_wrong_columns(frame, model):
    for judge in (model.score, model.explain, model.drift, model.odd_cells, model.repair):
        assert "the data frame lacks the model's column `amount`" in problem(judge, frame.drop(columns="amount"))
    assert "lacks the model's column `amount`" in problem(list, model.score_batches([frame.drop(columns="amount")]))
    assert "batches come one after another" in problem(list, model.score_batches(frame))
    assert "batches come one after another" in problem(list, model.score_batches(3))
    assert "a int is no table" in problem(list, model.score_batches([3]))
    assert "`amount`" in problem(model.score, frame.assign(amount=[[1]] * len(frame)))
    stray = model.score(frame.assign(amount="much"), drift=False)["score"]
    assert (stray > model.score(frame)["score"]).mean() > 0.9, "a word among numbers is evidence, not an error"
    assert "has no column `nowhere`; its columns are `department`" in problem(gnsm.fit, frame, label="nowhere")
    assert "was given two kinds" in problem(gnsm.fit, frame, numeric=["count"], categorical=["count"])
    assert "give ['count']" in problem(gnsm.fit, frame, numeric="count")
    with pytest.warns(gnsm.GnsmWarning, match="does not know and does not use `more`"):
        model.score(frame.assign(more=1))


def test_names_and_indexes_of_all_kinds(frame, model):
    for names in ([None, "b"], [numpy.nan, "b"], ["", "b"], [("a", 1), "b"], [1.5, 2], [pandas.Timestamp("2024"), "b"]):
        cells = [[place % 7, place % 2] for place in range(60)]
        odd = pandas.DataFrame(cells, columns=pandas.Index(names, dtype=object))
        assert [column.name for column in gnsm.fit(odd).columns] == [str(name) for name in names]
    levels = frame.set_axis(pandas.MultiIndex.from_arrays([range(len(frame)), frame.index]), axis=0)
    assert model.explain(levels).index.nlevels == 2 and model.repair(levels).index.equals(levels.index)
    same = frame.set_axis(["x"] * len(frame))
    assert list(model.score(same).index) == ["x"] * len(frame) and model.repair(same).shape == frame.shape


def test_arrays_of_all_kinds():
    array = numpy.random.default_rng(0).normal(size=(60, 3))
    model = gnsm.fit(array)
    expected = model.score(array)["score"]
    array.setflags(write=False)
    before = array.copy()
    for same in (array, numpy.asfortranarray(array), array.astype(">f8"), array.astype("longdouble")):
        assert numpy.array_equal(model.score(same)["score"], expected)
    assert numpy.array_equal(model.score(array[::-1])["score"], expected[::-1])
    assert numpy.array_equal(model.repair(array), array) and numpy.array_equal(array, before)
    frame = pandas.DataFrame(array, columns=["column_1", "column_2", "column_3"])
    assert numpy.array_equal(model.score(frame)["score"], expected)


def test_names_that_occur_twice(frame):
    twice = pandas.concat([frame, frame[["amount"]]], axis=1)
    sentence = "column `amount`: two columns have this name; rename one of them"
    assert sentence in problem(gnsm.fit, twice)
    assert "column `1`: two columns have this name" in problem(gnsm.fit, pandas.DataFrame([[1, 2]], columns=[1, "1"]))
    assert "two columns have this name" in problem(gnsm.fit, {1: [1, 2], "1": [1, 2]})


def test_lists_in_cells(frame):
    lists = frame.assign(tags=[["a"], ["b", "c"]] * (len(frame) // 2))
    model = gnsm.fit(lists, ignore=["tags"])
    assert not numpy.isnan(model.score(lists)["score"]).any()
    assert "tags" in problem(gnsm.fit, lists, categorical=["tags"])
    cells = {"List(Int64)": [1, 2], "Struct": {"a": 1}, "Python objects": object(), "Binary": b"\xff"}
    for name, cell in cells.items():
        text = problem(gnsm.fit, frame.assign(tags=[cell] * len(frame)))
        assert "column `tags`: a column of" in text and name in text and "leave it out with `ignore=[\"tags\"]`" in text
    assert "a column of Python objects" in problem(gnsm.fit, numpy.ones((30, 2), dtype=complex))
    known = gnsm.fit(frame)
    assert "column `amount`: type List(Int64) cannot be scored" in problem(
        known.score, frame.assign(amount=[[1]] * len(frame))
    )
    assert "column `o`: holds Python objects" in problem(
        gnsm.fit, polars.DataFrame({"o": polars.Series([object()] * 30, dtype=polars.Object)})
    )


def test_numbers_that_are_none(frame, model):
    changed = frame.copy()
    changed.loc["r1", "amount"] = numpy.inf
    changed.loc["r2", "amount"] = -numpy.inf
    changed.loc["r3", "amount"] = numpy.nan
    changed.loc["r4", "amount"] = 1e308
    scores = model.score(changed)["score"]
    assert numpy.isfinite(scores).all()
    assert scores["r1"] > scores["r10"]
    assert numpy.isfinite(gnsm.fit(changed).score(changed)["score"]).all()
    assert model.explain(changed, rows=[4], reasons=1)["saw"].iloc[0] == "1e308"
    nothing = gnsm.fit(changed.assign(amount=numpy.nan)).score(changed.assign(amount=numpy.nan))
    assert numpy.isfinite(nothing["score"]).all()


def test_wrong_settings(frame, model):
    assert "`magic` is not one of cells, gnsm" in problem(gnsm.fit, frame, method="magic")
    assert "setting `seed`: is -1" in problem(gnsm.fit, frame, seed=-1)
    assert "setting `seed`: is 1.5" in problem(gnsm.fit, frame, seed=1.5)
    assert "needs a label column" in problem(gnsm.fit, frame, anomaly=1)
    assert "positive number of seconds" in problem(gnsm.fit, frame, max_seconds=-1)
    assert "not one of fast, paper" in problem(gnsm.fit, frame, method="gnsm", preset="slow")
    assert "counted from 0" in problem(model.explain, frame, rows=[10_000])
    assert "counted from 0" in problem(model.explain, frame, rows=[-1])
    assert "counted from 0, and nan is none" in problem(model.explain, frame, rows=[numpy.nan])
    assert "give [3]" in problem(model.explain, frame, rows=3)
    for name, wrong in (("explain", "2"), ("explain", -1), ("explain", 1.5)):
        assert f"setting `{name}`: is {wrong!r}" in problem(model.score, frame, **{name: wrong})
    for name, wrong in (("top", "a"), ("top", 1.5), ("reasons", -2)):
        assert f"setting `{name}`: is {wrong!r}" in problem(model.explain, frame, **{name: wrong})
    assert "setting `fdr`: is 'a', must be a number" in problem(model.odd_cells, frame, fdr="a")
    assert "setting `fdr`: is 2, must lie between 0 and 1" in problem(model.odd_cells, frame, fdr=2)
    assert "a Series is no name; give the name of the column" in problem(gnsm.fit, frame, label=frame["amount"])
    assert "setting `at_least`: is None, must be a number" in problem(model.repair, frame, at_least=None)
    assert "setting `threshold`: must be a number" in problem(model.score, frame, threshold=numpy.nan)
    assert "setting `max_seconds`: is 'a', must be a number" in problem(gnsm.fit, frame, max_seconds="a")
    assert "setting `preset`: `3` is not one of fast" in problem(gnsm.fit, frame, method="gnsm", preset=3)
    assert "setting `seed`: is True" in problem(gnsm.fit, frame, seed=True)
    assert "`progress` is 'bar'; give True" in problem(gnsm.fit, frame, progress="bar")
    assert "the settings are not plain numbers" in problem(gnsm.fit, frame, settings={"a": numpy.nan})
    assert "the settings are not plain numbers" in problem(gnsm.fit, frame, settings={"a": object()})
    assert "no column to learn from" in problem(gnsm.fit, frame, ignore=list(frame))
    assert "has no column `['a']`" in problem(gnsm.fit, frame, label=["a"])
    for function in (gnsm.fit, gnsm.columns, gnsm.detect):
        with pytest.raises(TypeError, match="there is no argument `catgorical`; kinds of columns are categorical"):
            function(frame, catgorical=["count"])
    with pytest.warns(gnsm.GnsmWarning, match="no row has the label"):
        gnsm.fit(frame.assign(odd=0), label="odd")
    with pytest.warns(gnsm.GnsmWarning, match="limits training"):
        gnsm.fit(frame, max_seconds=5)


def test_damaged_models(model, tmp_path):
    data = bytearray(model.to_bytes())
    path = tmp_path / "model.gnsm"
    for place in range(0, len(data), max(1, len(data) // 60)):
        damaged = bytearray(data)
        damaged[place] ^= 0x41
        problem(gnsm.Model.from_bytes, bytes(damaged))
    for length in (0, 1, 8, 100, len(data) - 1):
        path.write_bytes(data[:length])
        assert "model.gnsm" in problem(gnsm.load, path)
    path.write_text("a,b\n1,2\n")
    assert "not a model file" in problem(gnsm.load, path)
    assert gnsm.Model.from_bytes(bytearray(data)).to_bytes() == bytes(data)
    assert "is a folder" in problem(model.save, tmp_path)
    text = problem(model.save, tmp_path / "no" / "folder.gnsm")
    assert "folder.gnsm: No such file" in text and ".part" not in text
    assert sorted(file.name for file in tmp_path.iterdir()) == ["model.gnsm"]


def test_a_frame_that_another_thread_changes(frame, model):
    columns = {name: frame[name].to_numpy().copy() for name in ("amount",)}
    small = gnsm.fit(columns)
    long = {"amount": numpy.tile(columns["amount"], 2000)}
    ends = threading.Event()

    def change():
        while not ends.is_set():
            long["amount"][:] = numpy.random.default_rng().normal(size=len(long["amount"]))

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(3):
            assert len(small.score(long)["score"]) == len(long["amount"])
    finally:
        ends.set()
        thread.join()


def test_an_error_of_a_callback_ends_the_fit(frame):
    def fail(progress):
        raise RuntimeError("enough")

    settings = {"training": {"steps": 1_000_000, "patience": 0}, "network": {"width": 8, "depth": 1}}
    with pytest.raises(RuntimeError, match="enough"):
        gnsm.fit(frame, method="gnsm", settings=settings, progress=fail)


def test_other_threads_go_on_during_a_fit(frame):
    counted = 0
    settings = {"training": {"steps": 100_000, "patience": 0}, "network": {"width": 8, "depth": 1}}
    thread = threading.Thread(
        target=gnsm.fit, args=(frame,), kwargs={"method": "gnsm", "settings": settings, "max_seconds": 1}
    )
    thread.start()
    while thread.is_alive():
        counted += 1
        time.sleep(0.001)
    assert counted > 50
