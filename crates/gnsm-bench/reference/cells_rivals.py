"""Which cells of a dirty table are wrong: gnsm beside Raha and the baselines that its package ships.

    cells_rivals.py DATA GNSM [SEEDS]

DATA has NAME.dirty.csv and NAME.clean.csv, GNSM is the program. Prints precision, recall and F1 over cells, in per cent, the mean of
SEEDS runs (five if not given). Columns whose values are all different, such as row numbers, are not counted, as in `gnsm bench cells`.

What each is told: gnsm nothing. KATARA has a knowledge base. NADEEF has rules that the package's authors wrote for hospital and flights;
without such rules it and the metadata-driven method are left out. Raha, ActiveClean and the metadata-driven method know which cells of 20
rows are wrong. dBoost's settings are the best by one row in a hundred. Min-k and maximum entropy choose by the truth for all cells.
"""

import contextlib
import csv
import io
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import raha

LABELLED = 20
warnings.filterwarnings("ignore")


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))[1:]


def figures(found, wrong, counted):
    """Precision, recall and F1 of the cells in columns that count."""
    found = {(row, column) for row, column in found if column in counted}
    hits = len(found & wrong)
    precision, recall = (100 * hits / max(1, len(cells)) for cells in (found, wrong))
    return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)


def rivals(dataset):
    """Each rival with what makes it name cells. The baselines read what Raha's strategies have found, so Raha comes first."""
    detection, baselines = raha.Detection(), raha.Baselines()
    detection.LABELING_BUDGET = LABELLED
    yield f"Raha, {LABELLED} labelled rows", lambda: detection.run(dataset)
    yield f"metadata-driven, {LABELLED} labelled rows", lambda: baselines.run_metadata_driven(dataset, LABELLED)
    yield f"ActiveClean, {LABELLED} labelled rows", lambda: baselines.run_activeclean(dataset, LABELLED)
    yield "dBoost, settings by 1 % of the rows", lambda: baselines.run_dboost(dataset)
    yield "min-k, share by the truth", lambda: baselines.run_min_k(dataset)
    yield "maximum entropy, by the truth", lambda: baselines.run_maximum_entropy(dataset, LABELLED)
    yield "NADEEF, rules by hand", lambda: baselines.run_nadeef(dataset)
    yield "KATARA, knowledge base", lambda: baselines.run_katara(dataset)


def ours(data, program):
    """The figures of the listed cells, by table, from what `gnsm bench cells` writes."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "bench", "cells", "--quiet", "--data", str(data), "--out", folder]
        subprocess.run(command, check=True, capture_output=True)
        lines = (pathlib.Path(folder) / "cells.md").read_text().splitlines()[2:]
    cells = [[cell.strip() for cell in line.split("|")] for line in lines]
    return {line[1]: tuple(float(figure) for figure in re.findall(r"[\d.]+", line[7])) for line in cells}


def main(data, program, seeds=5):
    data = pathlib.Path(data)
    print("| table | method | precision | recall | F1 | F1, least to most |\n|---|---|---|---|---|---|")
    listed = ours(data, program)
    for name, own in sorted(listed.items()):
        print(f"| {name} | gnsm | " + " | ".join(f"{figure:.1f}" for figure in own) + " | |", flush=True)
        dirty, clean = (read(data / f"{name}.{kind}.csv") for kind in ("dirty", "clean"))
        columns = range(len(dirty[0]))
        counted = {column for column in columns if len({row[column] for row in dirty}) < len(dirty)}
        wrong = {(i, j) for i, row in enumerate(dirty) for j in counted if row[j] != clean[i][j]}
        with tempfile.TemporaryDirectory() as folder:
            paths = {"path": f"{folder}/dirty.csv", "clean_path": f"{folder}/clean.csv"}
            for kind, path in zip(("dirty", "clean"), paths.values()):
                shutil.copyfile(data / f"{name}.{kind}.csv", path)
            for method, run in rivals({"name": name, **paths}):
                if method.split()[0] in ("metadata-driven,", "NADEEF,") and name not in raha.Baselines().DATASET_CONSTRAINTS:
                    continue
                results = []
                for seed in range(int(seeds)):
                    random.seed(seed)
                    np.random.seed(seed)
                    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                        found = run()
                    results.append(figures(found, wrong, counted))
                cells = " | ".join(f"{figure:.1f}" for figure in np.mean(results, 0))
                least, most = (pick(f1 for *_, f1 in results) for pick in (min, max))
                print(f"| {name} | {method} | {cells} | {least:.1f} to {most:.1f} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
