"""Types that packages have and others have not: nulls, zones, periods, wide numbers, booleans."""

import csv
import datetime
import sys

import gnsm
import numpy
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest


def kinds(data, **options):
    return {column.name: column.kind for column in gnsm.columns(data, **options)}


def table(**columns):
    """Sixty rows with a column of their own and these."""
    draw = numpy.random.default_rng(5)
    return {"k": ["a", "b"] * 30, "v": draw.normal(size=60), **columns}


def test_a_polars_column_of_nulls_is_all_missing():
    frame = polars.DataFrame(table()).with_columns(
        x=None, y=polars.Series([[None]] * 60), z=polars.Series([{"a": None}] * 60)
    )
    assert frame.schema["x"] == polars.Null
    found = {column.name: column.why for column in gnsm.columns(frame, ignore=["y", "z"])}
    assert found["x"] == "every value is missing"
    model = gnsm.fit(frame, ignore=["y", "z"])
    assert model.to_bytes() == gnsm.fit(frame.to_arrow(), ignore=["y", "z"]).to_bytes()
    ignored = gnsm.fit(frame, ignore=["x", "y", "z"])
    for judge in (ignored.score, ignored.explain, ignored.drift, ignored.odd_cells, ignored.changes):
        judge(frame)
    assert ignored.repair(frame).schema == frame.schema
    assert next(ignored.score_batches([frame])).schema["x"] == polars.Null


def opening_hours(n_rows=400):
    """Local times from nine to six over a year, and one at night."""
    draw = numpy.random.default_rng(11)
    days = pandas.Timestamp("2024-01-02") + pandas.to_timedelta(draw.integers(0, 360, n_rows), unit="D")
    times = pandas.Series(days + pandas.to_timedelta(draw.integers(9 * 60, 18 * 60, n_rows), unit="min"))
    times[7] = pandas.Timestamp("2024-07-07 23:30")
    return times


def zoned(zone):
    local = opening_hours()
    amounts = numpy.random.default_rng(3).normal(size=len(local))
    return (pandas.DataFrame({"at": at, "v": amounts}) for at in (local, local.dt.tz_localize(zone)))


@pytest.mark.parametrize(
    "zone", ["Europe/Berlin", "America/New_York", "UTC", datetime.timezone(datetime.timedelta(hours=-5, minutes=-30))]
)
def test_times_are_those_of_their_own_zone(zone, tmp_path, monkeypatch):
    plain, frame = zoned(zone)
    frame.loc[3, "at"] = plain.loc[3, "at"] = pandas.NaT
    expected = gnsm.fit(plain).to_bytes()
    arrow = pyarrow.Table.from_pandas(frame, preserve_index=False)
    frame.to_parquet(tmp_path / "zoned.parquet", index=False)
    with pyarrow.OSFile(str(tmp_path / "zoned.arrow"), "wb") as sink, pyarrow.ipc.new_file(sink, arrow.schema) as file:
        file.write_table(arrow)
    same = {
        "pandas": frame,
        "objects": frame.assign(at=frame["at"].astype(object)),
        "pyarrow": arrow,
        "reader": arrow.to_reader(),
        "dict": dict(frame),
        "dict of pyarrow": {"at": arrow["at"], "v": frame["v"]},
        "parquet": tmp_path / "zoned.parquet",
        "arrow": tmp_path / "zoned.arrow",
    }
    if isinstance(zone, str):
        same["polars"] = polars.from_arrow(arrow)
        same["dict of polars"] = {"at": polars.from_arrow(arrow)["at"], "v": frame["v"]}
    for name, data in same.items():
        assert gnsm.fit(data).to_bytes() == expected, name
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert gnsm.fit(frame).to_bytes() == expected


def test_the_hour_that_is_shown_is_the_local_one_and_the_zone_comes_back(tmp_path):
    _, frame = zoned("Europe/Berlin")
    model = gnsm.fit(frame, method="marginals")
    night = model.explain(frame, rows=[7], reasons=1).iloc[0]
    assert night["column"] == "at" and "2024-07-07 23:30" in night["saw"]
    model = gnsm.fit(frame)
    assert model.repair(frame)["at"].dtype == frame["at"].dtype
    polar = polars.from_pandas(frame)
    assert model.repair(polar).schema == polar.schema
    batch = next(model.score_batches([polar]))
    assert batch.schema["at"] == polar.schema["at"] and batch["at"].equals(polar["at"])
    # A file with offsets is judged by the same clock.
    frame.to_csv(tmp_path / "zoned.csv", index=False)
    assert "23:30" in model.explain(tmp_path / "zoned.csv", rows=[7], reasons=1, drift=False)["saw"].iloc[0]


def test_an_unknown_zone_is_an_error_only_if_it_is_used():
    times = pyarrow.array(range(60), pyarrow.timestamp("s", "Mars/Base"))
    data = pyarrow.table(table(at=times))
    with pytest.raises(gnsm.GnsmError, match="column `at`: .*a time zone that this machine does not know"):
        gnsm.fit(data)
    gnsm.fit(data, ignore=["at"]).score(data)


def test_periods_are_dates_on_every_path(monkeypatch):
    periods = pandas.Series(pandas.period_range("2019-01", periods=60, freq="M"))
    periods[4] = pandas.NaT
    frame = pandas.DataFrame(table(p=periods))
    expected = gnsm.fit(frame.assign(p=frame["p"].dt.to_timestamp())).to_bytes()
    assert kinds(frame)["p"] == kinds(frame.assign(p=frame["p"].astype(object)))["p"] == "date"
    for again in range(2):
        assert gnsm.fit(frame).to_bytes() == gnsm.fit(dict(frame)).to_bytes() == expected, again
        monkeypatch.setitem(sys.modules, "pyarrow", None)


def test_long_doubles_are_numbers_on_every_path(monkeypatch):
    frame = pandas.DataFrame(table())
    expected = gnsm.fit(frame).to_bytes()
    wide = frame.assign(v=frame["v"].astype("longdouble"))
    for again in range(2):
        assert gnsm.fit(wide).to_bytes() == gnsm.fit(dict(wide)).to_bytes() == expected, again
        monkeypatch.setitem(sys.modules, "pyarrow", None)


@pytest.mark.parametrize("large", [2**63, 2**64, 10**30, -(2**63) - 1, 10**400])
def test_one_large_integer_leaves_a_column_of_numbers(large, monkeypatch, tmp_path):
    numbers = [int(number) for number in numpy.random.default_rng(2).integers(0, 10_000, 60)]
    numbers[9] = large
    frame = pandas.DataFrame(table()).assign(n=pandas.Series([None, *numbers[1:]], dtype=object))
    frame.to_csv(tmp_path / "large.csv", index=False)
    assert kinds(tmp_path / "large.csv")["n"] == "numeric"
    expected = gnsm.fit(frame)
    for again in range(2):
        assert kinds(frame)["n"] == kinds(table(n=numbers))["n"] == "numeric", again
        assert gnsm.fit(frame).to_bytes() == expected.to_bytes()
        assert expected.score(frame)["score"].argmax() == 9
        monkeypatch.setitem(sys.modules, "pyarrow", None)


def test_integers_of_128_bits_are_numbers():
    numbers = numpy.random.default_rng(2).integers(0, 10_000, 60)
    plain = polars.DataFrame(table(n=numbers))
    wide = plain.with_columns(polars.col("n").cast(polars.Int128))
    model = gnsm.fit(plain)
    assert gnsm.fit(wide).to_bytes() == model.to_bytes()
    assert gnsm.fit(wide, ignore=["n"]).score(wide)["score"].is_finite().all()
    larger = wide.with_columns(n=polars.col("n") * polars.lit(10**25, polars.Int128))
    assert kinds(larger)["n"] == "numeric"


def test_numpy_times_in_objects_are_times():
    days = numpy.datetime64("2024-01-01", "ns") + numpy.arange(60) * numpy.timedelta64(1, "D")
    objects = numpy.array([*days[:59], None], dtype=object)
    objects[3] = numpy.datetime64("NaT")
    assert kinds(table(d=objects))["d"] == "date"
    arrays = pandas.DataFrame(table(a=pandas.Series([numpy.zeros(2)] * 60)))
    with pytest.raises(gnsm.GnsmError, match=r"column `a`: a column of type List\(Float64\)"):
        gnsm.fit(arrays)


def test_a_frame_and_its_csv_have_one_model(tmp_path):
    draw = numpy.random.default_rng(9)
    frame = pandas.DataFrame(
        {"shop": draw.choice(["north", "south", "east"], 300), "amount": draw.normal(100, 9, 300).round(2)}
    )
    frame["category"] = pandas.Categorical(frame["shop"])
    frame.to_csv(tmp_path / "shops.csv", index=False)
    of_frame, of_file = gnsm.fit(frame), gnsm.fit(tmp_path / "shops.csv")
    assert of_frame.columns == of_file.columns and of_frame.info["weights"] == of_file.info["weights"]
    assert of_frame.score(frame).equals(of_file.score(frame))
    assert gnsm.fit(polars.from_pandas(frame)).columns == gnsm.fit(tmp_path / "shops.csv").columns


def test_booleans_of_a_frame_and_of_its_csv_are_the_same(tmp_path):
    draw = numpy.random.default_rng(9)
    frame = pandas.DataFrame({"paid": draw.random(300) < 0.8, "amount": draw.normal(100, 9, 300).round(2)})
    frame.to_csv(tmp_path / "paid.csv", index=False)
    with open(tmp_path / "paid.csv") as file:
        assert {row["paid"] for row in csv.DictReader(file)} == {"True", "False"}
    of_frame, of_file = gnsm.fit(frame), gnsm.fit(tmp_path / "paid.csv")
    expected = of_frame.score(frame)["score"].to_numpy()
    for model in (of_frame, of_file):
        for data in (frame, tmp_path / "paid.csv", polars.from_pandas(frame)):
            assert numpy.array_equal(numpy.asarray(model.score(data)["score"]), expected)
    assert gnsm.fit(frame).drift(tmp_path / "paid.csv")["new_now"].max() == 0


def test_true_is_the_label_of_an_anomaly(frame, tmp_path):
    odd = frame.assign(y=numpy.arange(len(frame)) == 250)
    odd.to_csv(tmp_path / "odd.csv", index=False)
    expected = gnsm.fit(frame.assign(y=(numpy.arange(len(frame)) == 250).astype(int)), label="y")
    assert gnsm.fit(odd, label="y").to_bytes() == expected.to_bytes()
    for data in (odd, polars.from_pandas(odd), tmp_path / "odd.csv"):
        for options in ({}, {"anomaly": True}):
            rows = gnsm.fit(data, label="y", **options).info["rows"]
            assert rows["training"] == len(frame) - 1, options
