"""Spark, where it is installed: `pip install pyspark`, and Java."""

import os
import shutil
import sys
import warnings

import gnsm
import numpy
import pandas
import pytest

pyspark = pytest.importorskip("pyspark")
if shutil.which("java") is None:
    pytest.skip("there is no Java", allow_module_level=True)

import gnsm.spark  # noqa: E402


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    from conftest import ledger

    path = tmp_path_factory.mktemp("spark") / "ledger.parquet"
    frame = ledger(3000).assign(number=range(3000))
    frame.to_parquet(path, index=False, coerce_timestamps="us", allow_truncated_timestamps=True)
    return path


def test_scores_have_the_same_bits(spark, file):
    model = gnsm.fit(file, ignore=["number"])
    expected = model.score(file, explain=2)
    df = spark.read.parquet(str(file)).repartition(7)
    found = gnsm.spark.score(df, model, explain=2).toPandas().sort_values("number", ignore_index=True)
    for name in ("score", "p_value", "anomaly"):
        assert numpy.array_equal(found[name], expected[name]), name
    assert list(found["reason_1"]) == list(expected["reason_1"])
    with pytest.raises(gnsm.GnsmError, match="has a column `score` already"):
        gnsm.spark.score(df.withColumnRenamed("amount", "score"), model)


def test_a_fit_is_that_of_one_machine_whatever_the_partitions(spark, file):
    with pytest.warns(gnsm.GnsmWarning, match="learned from 800 of 3,000 rows, chosen by a hash of their content"):
        expected = gnsm.fit(file, max_rows=800)
    df = spark.read.parquet(str(file))
    for parts in (1, 5):
        with pytest.warns(gnsm.GnsmWarning, match="learned from 800 of 3,000 rows"):
            model = gnsm.spark.fit(df.repartition(parts), rows=800)
        assert model.to_bytes() == expected.to_bytes(), parts


def test_a_fit_on_all_rows_is_that_of_the_command_line(spark, file):
    expected = gnsm.fit(file, max_rows=100_000)
    for parts in (1, 3):
        model = gnsm.spark.fit(spark.read.parquet(str(file)).repartition(parts), rows=100_000)
        assert model.to_bytes() == expected.to_bytes(), parts


def test_what_is_wrong_is_told_on_the_driver(spark, file):
    df = spark.read.parquet(str(file)).limit(50)
    model = gnsm.fit(file, ignore=["number"])
    for words, arguments, options in (
        ("a DataFrame is no Spark data frame", (pandas.DataFrame({"a": [1]}), model), {}),
        ("a str is no Spark data frame", ("ledger.parquet", model), {}),
        ("a str is no model", (df, "model.gnsm"), {}),
        ("setting `contamination`: is 7, must lie between 0 and 1", (df, model), {"contamination": 7}),
        ("are two rules; give one", (df, model), {"contamination": 0.1, "threshold": 3}),
        ("setting `explain`: is -1", (df, model, -1), {}),
        ("lacks the model's column `amount`", (df.drop("amount"), model), {}),
        ("column `amount`: two columns have this name", (df.select("*", "amount"), model), {}),
        ("has a column `Score` already", (df.withColumn("Score", df["amount"]), model), {}),
    ):
        with pytest.raises(gnsm.GnsmError, match=words):
            gnsm.spark.score(*arguments, **options)
    with pytest.raises(gnsm.GnsmError, match="a DataFrame is no Spark data frame"):
        gnsm.spark.fit(pandas.DataFrame({"a": [1]}))
    with pytest.raises(gnsm.GnsmError, match="two columns have this name"):
        gnsm.spark.fit(df.select("*", "amount"))


def test_a_fit_knows_what_only_other_rows_have(spark, file):
    df = spark.read.parquet(str(file))
    with pytest.warns(gnsm.GnsmWarning, match="of 3,000 rows"):
        model = gnsm.spark.fit(df, rows=100, method="ecod")
    assert model.columns == gnsm.fit(file, method="ecod").columns
    # Without more rows than that, all are taken, and nothing has to be said.
    with warnings.catch_warnings():
        warnings.simplefilter("error", gnsm.GnsmWarning)
        assert gnsm.spark.fit(df, rows=3000, method="ecod").columns == model.columns
    with pytest.raises(gnsm.GnsmError, match="`rows`: is 0, must be a whole number from 1 on"):
        gnsm.spark.fit(df, rows=0)


def test_streams(spark, file, tmp_path):
    model = gnsm.fit(file, ignore=["number"])
    df = spark.read.parquet(str(file))
    stream = spark.readStream.schema(df.schema).parquet(str(file.parent))
    query = (
        gnsm.spark.score(stream, model)
        .writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "out"))
    )
    assert query.awaitTermination(120)
    found = pandas.read_parquet(tmp_path / "out").sort_values("number", ignore_index=True)
    assert numpy.array_equal(found["score"], model.score(file)["score"])
