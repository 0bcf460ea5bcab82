"""The paper's recipe in several sizes: average precision against steps, for both objectives and both points.

    paper.py run DATA PROGRAM OUT [--only SET,...] [--at-once N]
    paper.py summary OUT
    paper.py show OUT

`run` starts PROGRAM, which is the example `paper_curve`, for every line of PLAN that OUT/raw.csv does not have in full
yet. `summary` writes OUT/summary.md from OUT/raw.csv. `show` prints the same tables. PLAN is what `runs/paper` has, no
more: with another line, only what is missing is run.
"""

import collections
import concurrent.futures
import csv
import math
import os
import pathlib
import subprocess
import sys

BATCH = 512
# Depth, width, steps, sets, objectives, seeds.
BOTH = ("kl", "mse")
PLAN = (
    (3, 128, 3000, ("u2r", "cmc", "solar", "probe", "bank", "chess", "census"), BOTH, 5),
    (6, 256, 1000, ("u2r", "cmc"), ("kl",), 1),
    (3, 128, 30000, ("cmc", "solar", "u2r", "chess", "bank", "census"), ("kl",), 1),
)
CHECKPOINTS = (300, 1000, 3000, 10000, 30000)
PAPER = {"bank": (65.58, 3.45), "census": (47.79, 2.29), "chess": (1.60, 0.68), "cmc": (25.87, 9.93), "probe": (97.48, 0.62), "solar": (63.34, 5.41), "u2r": (82.35, 5.45)}


def read(out):
    path = out / "raw.csv"
    if not path.exists():
        return []
    with path.open() as file:
        # A run that was stopped and started over has some lines twice.
        return list({tuple(list(line.values())[:10]): line for line in csv.DictReader(file)}.values())


def jobs(out, only):
    done = {(line["dataset"], line["seed"], line["objective"], line["depth"], line["width"], line["steps"])
            for line in read(out) if line["step"] == line["steps"]}
    for depth, width, steps, sets, objectives, seeds in PLAN:
        for seed in range(seeds):
            for name in sets:
                for objective in objectives:
                    key = tuple(map(str, (name, seed, objective, depth, width, steps)))
                    if key not in done and (not only or name in only):
                        done.add(key)
                        yield key


def start(data, program, out, key):
    name, seed, objective, depth, width, steps = key
    checkpoints = ",".join(str(step) for step in CHECKPOINTS if step <= int(steps))
    arguments = [seed, objective, depth, width, str(BATCH), steps, checkpoints, out / "raw.csv"]
    subprocess.run([program, data / f"{name}.parquet", *arguments], check=True, env={**os.environ, "RAYON_NUM_THREADS": "1"})
    print(*key, flush=True)


def run(data, program, out, only, at_once):
    out.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        list(pool.map(lambda key: start(data, program, out, key), jobs(out, only)))


def spread(values):
    mean = sum(values) / len(values)
    if len(values) == 1:
        return f"{mean:.1f}"
    return f"{mean:.1f} ± {math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1)):.1f}"


def tables(lines):
    """AP by set, size, objective, point and weights; a column for each checkpoint."""
    steps = sorted({int(line["step"]) for line in lines})
    for name in sorted({line["dataset"] for line in lines}):
        mean, deviation = PAPER[name]
        yield f"## {name}: paper {mean:.2f} ± {deviation:.2f}, within two deviations {mean - 2 * deviation:.1f} to {mean + 2 * deviation:.1f}\n"
        yield "| network | trained for | objective | point | weights | seeds | " + " | ".join(f"{step:,}" for step in steps) + " |"
        yield "|---" * (6 + len(steps)) + "|"
        rows = collections.defaultdict(lambda: collections.defaultdict(list))
        for line in lines:
            if line["dataset"] == name:
                key = (int(line["depth"]), int(line["width"]), int(line["steps"]), line["objective"], line["point"], line["weights"])
                rows[key][int(line["step"])].append(float(line["ap"]))
        for key, cells in sorted(rows.items()):
            depth, width, total, *labels = key
            if labels[-1] == "last" and cells == rows.get((*key[:-1], "best")):
                continue
            seeds = max(map(len, cells.values()))
            cells = " | ".join(spread(cells[step]) if step in cells else "" for step in steps)
            yield f"| {depth} × {width} | {total:,} | {' | '.join(labels)} | {seeds} | {cells} |"
        yield ""


def losses(lines):
    """Validation losses of networks that were trained by one objective, in the units of both; the weights as they are."""
    steps = sorted({int(line["step"]) for line in lines})
    yield "## Validation loss at the last weights\n"
    yield "| set | network | trained for | by | measured in | " + " | ".join(f"{step:,}" for step in steps) + " |"
    yield "|---" * (5 + len(steps)) + "|"
    rows = collections.defaultdict(lambda: collections.defaultdict(list))
    for line in lines:
        if line["point"] == "clean" and line["weights"] == "last":
            for unit in ("kl", "squared_error"):
                key = (line["dataset"], int(line["depth"]), int(line["width"]), int(line["steps"]), line["objective"], unit)
                rows[key][int(line["step"])].append(float(line[unit]))
    for (name, depth, width, total, objective, unit), cells in sorted(rows.items()):
        cells = " | ".join(f"{sum(cells[step]) / len(cells[step]):.3g}" if step in cells else "" for step in steps)
        yield f"| {name} | {depth} × {width} | {total:,} | {objective} | {unit.replace('_', ' ')} | {cells} |"
    yield ""


def main():
    command, *arguments = sys.argv[1:]
    options = {}
    while len(arguments) > 2 and arguments[-2].startswith("--"):
        *arguments, option, value = arguments
        options[option] = value
    if command == "run":
        data, program, out = map(pathlib.Path, arguments)
        run(data, program, out, options.get("--only", "").split(",") if "--only" in options else None, int(options.get("--at-once", "2")))
    out = pathlib.Path(arguments[-1])
    lines = read(out)
    text = "\n".join([
        "Average precision in per cent, batches of 512, after so many steps; mean ± deviation over seeds, each with its own split.",
        "`best` are the averaged weights with the lowest validation loss so far (the paper's rule), `last` those at that step; `last` is left",
        "out where they are the same.\n",
        *tables(lines), *losses(lines)])
    if command == "show":
        print(text)
    else:
        (out / "summary.md").write_text(text)


main()
