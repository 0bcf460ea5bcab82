"""Measures gnsm's speed and memory beside its rivals', in one run, and says which bars are met.

    speed.py DATA [--only NAME,NAME] [--threads 1,2] [--clock wall|cpu] [--rounds N] [--rows N] [--build]

DATA is the folder of the public sets (`bank.parquet` and others). A ratio is taken in one run: both sides take turns in short blocks, and
medians are compared, so that what else the machine does falls on both. On a busy machine `--clock cpu` compares processor time instead,
which means something with one thread only. `make bench-speed` builds our side and runs this.

Names: step peak score reuse threads fit-memory score-memory read startup size, and build with `--build` (a clean build, minutes).
"""

import argparse
import glob
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

ARGUMENTS = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ARGUMENTS.add_argument("data", type=pathlib.Path)
ARGUMENTS.add_argument("--only", type=lambda names: names.split(","), default=[])
ARGUMENTS.add_argument("--threads", type=lambda counts: [int(n) for n in counts.split(",")], default=[1, 2])
ARGUMENTS.add_argument("--clock", choices=["wall", "cpu"], default="wall")
ARGUMENTS.add_argument("--rounds", type=int, default=9)
ARGUMENTS.add_argument("--rows", type=int, default=10_000_000, help="rows of the larger file of score-memory")
ARGUMENTS.add_argument("--build", action="store_true")
OPTIONS = ARGUMENTS.parse_args()
# PyTorch and OpenMP look at these when they are loaded.
os.environ["OMP_NUM_THREADS"] = str(max(OPTIONS.threads))

import numpy as np
import pyarrow as arrow
import pyarrow.csv
import pyarrow.parquet
import torch

from speed_torch import Scoring, Training

BINARY, EXAMPLE = "target/release/gnsm", "target/release/examples/speed"
EMBEDDING, INPUTS, LEVELS = 64, 53, 10  # of a network on a table like bank
SIZES = {(128, 4, 512): 0.5, (256, 6, 1024): 0.6, (1024, 20, 2048): 0.95}  # width, depth, batch: the bar


def report(figure, ours, rival, ratio, bar="–", met=None):
    """Prints a line of the table at once, so that an interrupted run loses nothing."""
    print("| " + " | ".join((figure, ours, rival, ratio, bar, {None: "–", True: "yes", False: "no"}[met])) + " |", flush=True)


def duration(seconds):
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"


def processor_seconds(process):
    """Time on a processor, of all threads."""
    files = glob.glob(f"/proc/{process}/task/*/schedstat")
    return sum(int(pathlib.Path(file).read_text().split()[0]) for file in files) / 1e9


def timed(process, n, work):
    """Seconds of one repetition by the chosen clock, and what the work gave."""
    before, start = processor_seconds(process), time.perf_counter()
    result = work()
    wall, cpu = time.perf_counter() - start, processor_seconds(process) - before
    return (cpu if OPTIONS.clock == "cpu" else wall) / n, result


class Ours:
    """Our example in a process of its own, which works each time it is asked to."""

    def __init__(self, threads, *arguments):
        environment = os.environ | {"RAYON_NUM_THREADS": str(threads)}
        command = [EXAMPLE, *map(str, arguments)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def ask(self, n=1):
        self.process.stdin.write(f"{n}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def block(self, n):
        return timed(self.process.pid, n, lambda: self.ask(n))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


def repeat(n, work):
    return timed("self", n, lambda: [work() for _ in range(n)][-1])


def take_turns(*sides):
    """The median seconds of each side over rounds in which all of them work, after one that does not count."""
    rounds = [[side()[0] for side in sides] for _ in range(1 + OPTIONS.rounds)][1:]
    return [statistics.median(seconds) for seconds in zip(*rounds)]


def step(shapes=SIZES):
    """Forward, backward, clip, AdamW and weight average."""
    for (width, depth, batch), bar in shapes.items():
        repetitions = max(1, int(2e9 / (batch * width * width * depth)))
        for threads in OPTIONS.threads:
            torch.set_num_threads(threads)
            sizes = (width, depth, EMBEDDING, batch, INPUTS, LEVELS)
            with Ours(threads, "train", *sizes) as ours:
                plain, tuned = Training(*sizes, tuned=False), Training(*sizes, tuned=True)
                first = ours.ask()["loss"], plain.step(), tuned.step()
                assert max(first) - min(first) < 1e-3 * max(first), f"not the same network: {first}"
                sides = [lambda: ours.block(repetitions), lambda: repeat(repetitions, plain.step)]
                a, b, c = take_turns(*sides, lambda: repeat(repetitions, tuned.step))
            name = f"step {depth}×{width}, batch {batch}, {threads} thread{'s' * (threads > 1)}"
            report(name, duration(a), f"PyTorch {duration(b)}", f"{a / b:.2f}", f"≤ {bar}", a / b <= bar)
            report(f"{name}, tuned PyTorch", duration(a), duration(c), f"{a / c:.2f}")


def peak():
    """The products of a step at 20×1024, beside the fastest large product on the same threads."""
    (width, depth, batch), size = list(SIZES)[-1], 2048
    work = 2 * batch * 3 * (2 * depth * width * width + 2 * INPUTS * width) - 2 * batch * INPUTS * width
    for threads in OPTIONS.threads:
        torch.set_num_threads(threads)
        left, right = torch.randn(size, size), torch.randn(size, size)
        with (
            Ours(threads, "train", width, depth, EMBEDDING, batch, INPUTS, LEVELS) as ours,
            Ours(threads, "gemm", size) as gemm,
        ):
            sides = [lambda: gemm.block(3), lambda: repeat(3, lambda: torch.mm(left, right))]
            a, b, c = take_turns(lambda: ours.block(1), *sides)
        rate, best = work / a / 1e9, 2 * size**3 / min(b, c) / 1e9
        name = f"share of the gemm peak, 20×1024, {threads} thread{'s' * (threads > 1)}"
        report(name, f"{rate:.0f} GFLOP/s", f"{best:.0f} GFLOP/s", f"{rate / best:.0%}", "≥ 70 %", rate / best >= 0.7)


def fit(folder, path, *arguments):
    """A model of a set, and the memory of its fit."""
    model = folder / "model.gnsm"
    command = [BINARY, "fit", path, "-o", model, "--label", "label", *arguments]
    return model, run(command)[1]


def run(command, stdin=None):
    """Seconds and the largest memory, in MB, of a command."""
    start, memory = time.perf_counter(), 0
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(list(map(str, command)), stdin=stdin, stdout=subprocess.DEVNULL, stderr=errors)
        # What the kernel tells of a process that has ended counts the memory of its parent as well, from before it became another program.
        while process.poll() is None:
            memory = max(memory, high_water(process.pid))
            time.sleep(0.01)
        errors.seek(0)
        assert process.returncode == 0, errors.read().decode()
    return time.perf_counter() - start, memory


def high_water(process):
    """The largest memory of a running program so far, in MB; 0 if it has just ended."""
    try:
        status = pathlib.Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    lines = [line.split() for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(lines[0][1]) / 1024 if lines else 0


def score(folder):
    """Distinct rows of bank through the default network at all levels, to their mean surprise; the same scores on both sides."""
    config = folder / "surprise.toml"
    config.write_text('[head]\nkind = "surprise"\n[training]\nsteps = 100\n')
    path = like_bank(folder, 30_000, "parquet")
    model, _ = fit(folder, OPTIONS.data / "bank.parquet", "--config", config)
    for threads in OPTIONS.threads:
        torch.set_num_threads(threads)
        with Ours(threads, "score", model, path, folder) as ours:
            n = ours.ask()["rows"]
            sizes = json.loads((folder / "sizes.json").read_text())
            codes = np.fromfile(folder / "codes", dtype="<u4").reshape(n, len(sizes))
            rival = Scoring(model, codes, sizes)
            a, b = take_turns(lambda: ours.block(1), lambda: repeat(1, rival.score))
        difference = np.abs(np.fromfile(folder / "scores", dtype="<f8") - rival.score().numpy()).max()
        assert difference < 1e-3, f"not the same scores: they differ by {difference}"
        name = f"scoring {n:,} distinct rows, {threads} thread{'s' * (threads > 1)}"
        report(name, f"{n / a:,.0f} rows/s", f"PyTorch {n / b:,.0f} rows/s", f"{b / a:.2f}", "≥ 2", b / a >= 2)


def reuse(folder):
    """Rows that repeat, with and without the reuse of their scores."""
    for name in ("probe", "u2r"):
        path = OPTIONS.data / f"{name}.parquet"
        model, _ = fit(folder, path)
        with Ours(1, "reuse", model, path) as ours:
            times = [ours.ask() for _ in range(1 + OPTIONS.rounds)][1:]
        a, b = (statistics.median(t[key] for t in times) for key in ("with", "without"))
        figure = f"reuse of repeats, {name}: {times[0]['distinct']:,} of {times[0]['rows']:,} rows are distinct"
        report(figure, duration(a), f"without {duration(b)}", f"{b / a:.1f}", "≥ 20", b / a >= 20)


def threads():
    """Two threads against one."""
    width, depth, batch = list(SIZES)[1]
    arguments = "train", width, depth, EMBEDDING, batch, INPUTS, LEVELS
    with Ours(1, *arguments) as one, Ours(2, *arguments) as two:
        a, b = take_turns(lambda: one.block(5), lambda: two.block(5))
    report("2 threads against 1, step 6×256", duration(b), duration(a), f"{a / b:.2f}", "≥ 1.7", a / b >= 1.7)


def fit_memory(folder):
    memory = fit(folder, OPTIONS.data / "census.parquet")[1]
    report("memory of a fit on census", f"{memory:.0f} MB", "–", "–", "< 600 MB", memory < 600)


def like_bank(folder, n, ending):
    """A file of rows of bank with a tenth of the cells drawn anew from their column, written in pieces."""
    path = folder / f"bank-{n}.{ending}"
    if path.exists():
        return path
    bank = arrow.parquet.read_table(OPTIONS.data / "bank.parquet").drop_columns(["label"])
    random = np.random.default_rng(0)
    schema = arrow.schema([(name, arrow.string()) for name in bank.column_names])
    columns = [bank.column(name).cast(arrow.string()).combine_chunks() for name in bank.column_names]
    writer = arrow.parquet.ParquetWriter if ending == "parquet" else arrow.csv.CSVWriter
    with writer(path, schema) as file:
        for first in range(0, n, 100_000):
            size = min(100_000, n - first)
            rows = random.integers(len(bank), size=size)
            drawn = [
                column.take(np.where(random.random(size) < 0.1, random.integers(len(bank), size=size), rows))
                for column in columns
            ]
            file.write_table(arrow.table(drawn, schema=schema))
    return path


def score_memory(folder):
    """The largest memory of `gnsm score`, at a tenth of the rows and at all of them."""
    model, _ = fit(folder, OPTIONS.data / "bank.parquet")
    for ending, piped in (("parquet", False), ("csv", False), ("csv", True)):
        results = []
        for n in (OPTIONS.rows // 10, OPTIONS.rows):
            path = like_bank(folder, n, ending)
            with open(path, "rb") as file:
                source = ("-", file) if piped else (path, None)
                results.append(run([BINARY, "score", model, source[0], "-o", folder / "scores.csv"], source[1]))
        (_, small), (seconds, large) = results
        name = f"memory of scoring {OPTIONS.rows:,} rows from {'a pipe' if piped else ending} ({seconds:.0f} s)"
        met = large < 500 and large < 1.1 * small
        report(name, f"{large:.0f} MB", f"a tenth {small:.0f} MB", f"{large / small:.2f}", "< 500 MB, flat", met)


def read(folder):
    """CSV to codes, beside pyarrow reading to dictionary columns."""
    path = like_bank(folder, 1_000_000, "csv")
    megabytes = path.stat().st_size / 1e6
    model, _ = fit(folder, OPTIONS.data / "bank.parquet", "--method", "marginals")
    names = arrow.csv.open_csv(path).schema.names
    convert = arrow.csv.ConvertOptions(column_types={n: arrow.dictionary(arrow.int32(), arrow.string()) for n in names})
    for threads in OPTIONS.threads:
        arrow.set_cpu_count(threads)
        options = arrow.csv.ReadOptions(use_threads=threads > 1)
        with Ours(threads, "read", model, path) as ours:
            rival = lambda: arrow.csv.read_csv(path, options, convert_options=convert)
            a, b = take_turns(lambda: ours.block(1), lambda: repeat(1, rival))
        name = f"CSV to codes, {threads} thread{'s' * (threads > 1)}"
        rival = f"pyarrow {megabytes / b:.0f} MB/s"
        report(name, f"{megabytes / a:.0f} MB/s", rival, f"{b / a:.2f}", "≥ 0.7", b / a >= 0.7)


def startup(folder):
    model, _ = fit(folder, OPTIONS.data / "bank.parquet")
    path = like_bank(folder, 1000, "csv")
    command = [BINARY, "score", model, path, "-o", folder / "scores.csv", "--quiet"]
    times = []
    for _ in range(20):
        start = time.perf_counter()
        subprocess.run(command, check=True)
        times.append(time.perf_counter() - start)
    wall = statistics.median(times)
    report("starting and scoring 1,000 rows", duration(wall), "–", "–", "< 50 ms", wall < 0.05)


def size():
    megabytes = pathlib.Path(BINARY).stat().st_size / 1e6
    report("binary", f"{megabytes:.0f} MB", "–", "–", "< 40 MB", megabytes < 40)


def build(folder):
    target = folder / "clean-build"
    shutil.rmtree(target, ignore_errors=True)
    start = time.perf_counter()
    command = ["cargo", "build", "--release", "--workspace", "--quiet", "--target-dir", target]
    subprocess.run(command, check=True)
    minutes = (time.perf_counter() - start) / 60
    report("clean release build", f"{minutes:.1f} min", "–", "–", "< 6 min", minutes < 6)


def main():
    steps = {
        "step": lambda _: step(),
        "peak": lambda _: peak(),
        "score": score,
        "reuse": reuse,
        "threads": lambda _: threads(),
        "fit-memory": fit_memory,
        "score-memory": score_memory,
        "read": read,
        "startup": startup,
        "size": lambda _: size(),
    }
    if OPTIONS.build:
        steps["build"] = build
    unknown = set(OPTIONS.only) - set(steps)
    assert not unknown, f"no such figure: {', '.join(unknown)}"
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} processors, load {load:.1f} before the start, {OPTIONS.clock} clock\n")
    print("| figure | ours | rival | ratio | bar | met |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir="target") as folder:
        for name in OPTIONS.only or steps:
            steps[name](pathlib.Path(folder))


if __name__ == "__main__":
    main()
