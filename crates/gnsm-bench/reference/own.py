"""Runs PyOD's detectors on the tables that `gnsm bench own --tables TABLES` wrote: the same rows, with their anomalies in them.

    own.py TABLES

Each detector has its defaults, is fitted on a table without labels, and says how odd the rows of that same table are
(`decision_scores_`). It gets categories once as codes (ordinal), once as one column for each (one-hot); a missing number is the
column's median. What is printed is a table of AUROC and AP in per cent, the mean over the seeds of each set, and the means over all sets.
A table of numbers alone is run once.
"""

import collections
import os
import pathlib
import sys
import warnings

os.environ.update(OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2")

import numpy as np
from pyod.models.ecod import ECOD
from pyod.models.hbos import HBOS
from pyod.models.iforest import IForest
from pyod.models.knn import KNN
from pyod.models.lof import LOF
from pyod.models.ocsvm import OCSVM
from sklearn.metrics import average_precision_score, roc_auc_score

SEEDED = {"IForest": lambda seed: IForest(random_state=seed)}
PLAIN = {"ECOD": ECOD, "KNN": KNN, "LOF": LOF, "HBOS": HBOS, "OCSVM": OCSVM}
NAMES = [*SEEDED, *PLAIN]


def read(path):
    """Numbers, codes and labels."""
    with path.open() as file:
        header = file.readline().strip().split(",")
    rows = np.genfromtxt(path, delimiter=",", skip_header=1, ndmin=2)
    numbers = rows[:, [i for i, name in enumerate(header) if name.startswith("n")]]
    codes = rows[:, [i for i, name in enumerate(header) if name.startswith("c")]]
    for column in numbers.T:
        column[np.isnan(column)] = np.nanmedian(column) if not np.isnan(column).all() else 0.0
    return numbers, codes, rows[:, -1].astype(int)


def one_hot(codes):
    columns = [(column[:, None] == np.unique(column)).astype(float) for column in codes.T]
    return np.hstack([np.zeros((len(codes), 0)), *columns])


def scaled(rows):
    """Deviations from the mean; detectors that measure distances need one scale."""
    deviations = rows.std(axis=0)
    return (rows - rows.mean(axis=0)) / np.where(deviations > 0, deviations, 1.0)


def judge(name, rows, seed):
    detector = SEEDED[name](seed) if name in SEEDED else PLAIN[name]()
    detector.fit(rows)
    return np.nan_to_num(detector.decision_scores_)


def main():
    warnings.filterwarnings("ignore")
    figures = collections.defaultdict(list)
    sets = []
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.csv")):
        name, seed = path.stem.rsplit(".", 1)
        sets += [name] if name not in sets else []
        numbers, codes, labels = read(path)
        ways = {"ordinal": scaled(np.hstack([numbers, codes])), "one-hot": np.hstack([scaled(numbers), one_hot(codes)])}
        for detector in NAMES:
            found = None
            for way, rows in ways.items():
                if found is None or codes.shape[1] > 0:
                    scores = judge(detector, rows, int(seed))
                    found = 100 * roc_auc_score(labels, scores), 100 * average_precision_score(labels, scores)
                figures[name, f"{detector} {way}"].append(found)
    columns = [f"{detector} {way}" for detector in NAMES for way in ("ordinal", "one-hot")]
    print("| AUROC / AP |", " | ".join(columns), "|")
    print("|---" * (len(columns) + 1) + "|")
    means = {key: np.mean(values, axis=0) for key, values in figures.items()}
    for name in sets:
        print(f"| {name} |", " | ".join("{:.1f} / {:.1f}".format(*means[name, column]) for column in columns), "|")
    overall = [np.mean([means[name, column] for name in sets], axis=0) for column in columns]
    print("| **mean** |", " | ".join("{:.1f} / {:.1f}".format(*mean) for mean in overall), "|", flush=True)


if __name__ == "__main__":
    main()
