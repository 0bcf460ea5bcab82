"""Tables larger than memory: makes one, and measures what a command takes.

    large.py make FILE ROWS            a made ledger of seven columns, as Parquet (needs numpy and pyarrow)
    large.py run COMMAND...            seconds, processor seconds and the peak of memory of a command
    large.py spark FILE MODEL ROWS     fits on Spark with two executors, writes MODEL, and scores (needs pyspark and gnsm)
"""

import os
import resource
import subprocess
import sys
import time

CHUNK = 1_000_000


def make(path, n_rows):
    import numpy
    import pyarrow
    import pyarrow.parquet

    rng = numpy.random.default_rng(7)
    countries = numpy.array([f"C{i:02}" for i in range(40)])
    products = numpy.array([f"P{i:04}" for i in range(2000)])
    channels = numpy.array(["web", "shop", "phone"], object)
    start = numpy.datetime64("2023-01-01T00:00:00", "us")
    writer = None
    for first in range(0, n_rows, CHUNK):
        n = min(CHUNK, n_rows - first)
        country = rng.zipf(1.3, n) % 40
        product = (country * 50 + rng.integers(0, 50, n)) % 2000
        quantity = rng.poisson(3, n) + 1
        amount = numpy.round((5.0 + product % 97) * quantity * rng.lognormal(0, 0.1, n), 2)
        at = start + (rng.integers(0, 2 * 365 * 24 * 3600, n) * 1_000_000).astype("timedelta64[us]")
        channel = numpy.where(rng.random(n) < 0.001, None, channels[rng.integers(0, 3, n)])
        table = pyarrow.table(
            {
                "order_id": numpy.arange(first, first + n),
                "at": at,
                "country": pyarrow.array(countries[country]).dictionary_encode(),
                "product": pyarrow.array(products[product]).dictionary_encode(),
                "quantity": quantity.astype("int32"),
                "amount": amount,
                "channel": pyarrow.array(channel, pyarrow.string()).dictionary_encode(),
            }
        )
        writer = writer or pyarrow.parquet.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
    writer.close()


def run(command):
    start = time.time()
    code = subprocess.call(command)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds, processor = time.time() - start, usage.ru_utime + usage.ru_stime
    print(f"{seconds:.1f} s, {processor:.1f} s of the processor, peak {usage.ru_maxrss / 1024:.0f} MB", file=sys.stderr)
    return code


def spark(path, model_path, n_rows):
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    import gnsm.spark
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    frame = session.read.parquet(path)
    total = frame.count()
    start = time.time()
    model = gnsm.spark.fit(frame, rows=n_rows)
    print(f"fit: {time.time() - start:.1f} s")
    model.save(model_path)
    start = time.time()
    gnsm.spark.score(frame, model).write.mode("overwrite").parquet(model_path + ".scores")
    seconds = time.time() - start
    print(f"score: {seconds:.1f} s, {total / seconds:,.0f} rows a second")
    session.stop()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["make", path, n_rows]:
            make(path, int(n_rows))
        case ["run", *command] if command:
            sys.exit(run(command))
        case ["spark", path, model, n_rows]:
            spark(path, model, int(n_rows))
        case _:
            sys.exit(__doc__)
