"""Bad input is told in one sentence, and never takes the interpreter down."""

import os
import signal
import subprocess
import sys
import threading
import time

import gnsm
import numpy
import pandas
import polars
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


def test_empty_tables(frame, model):
    assert "no rows" in problem(gnsm.fit, frame.iloc[:0])
    assert "no rows" in problem(model.score, frame.iloc[:0])
    assert "has no columns" in problem(gnsm.fit, frame[[]])
    assert "has no columns" in problem(gnsm.fit, {})
    assert "has no columns" in problem(gnsm.fit, numpy.zeros((5, 0)))
    assert "give at least 20" in problem(gnsm.fit, frame.iloc[:3])


def test_wrong_columns(frame, model):
    assert "`amount`" in problem(model.score, frame.drop(columns="amount"))
    assert "`amount`" in problem(model.score, frame.assign(amount=[[1]] * len(frame)))
    stray = model.score(frame.assign(amount="much"), drift=False)["score"]
    assert (stray > model.score(frame)["score"]).mean() > 0.9, "a word among numbers is evidence, not an error"
    assert "has no column `nowhere`; its columns are `department`" in problem(gnsm.fit, frame, label="nowhere")
    assert "was given two kinds" in problem(gnsm.fit, frame, numeric=["count"], categorical=["count"])
    assert "give ['count']" in problem(gnsm.fit, frame, numeric="count")
    with pytest.warns(gnsm.GnsmWarning, match="does not know and does not use `more`"):
        model.score(frame.assign(more=1))


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
    assert "is a folder" in problem(model.save, tmp_path)
    assert "No such file" in problem(model.save, tmp_path / "no" / "folder.gnsm")
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


INTERRUPTED = """
import sys, threading, time, gnsm, numpy
array = numpy.random.default_rng(0).normal(size=({rows}, 12))
settings = {settings}
print("ready", flush=True)
try:
    gnsm.fit(array, method={method!r}, settings=settings, progress=False)
except KeyboardInterrupt:
    import os
    print("interrupted", len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1)
    sys.exit(7)
print("finished")
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX has them")
@pytest.mark.parametrize(
    ("method", "settings", "rows"),
    [
        ("gnsm", {"training": {"steps": 1_000_000, "patience": 0}}, 2000),
        ("cells", {}, 200_000),
        ("knn", {}, 100_000),
    ],
)
def test_control_c_ends_a_fit_within_a_second(method, settings, rows):
    code = INTERRUPTED.format(rows=rows, settings=settings, method=method)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline().strip() == "ready"
    time.sleep(1.0)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    taken = time.monotonic() - start
    if out.strip() == "finished":
        pytest.skip("the fit was done before it could be interrupted")
    assert process.returncode == 7, out
    # A release build takes less than a second; one for tests, on a busy machine, takes longer.
    assert taken < 4, f"{taken:.1f} s"
