"""Walks between values, coupled and biased (Pang et al. 2016) and with homophily couplings (our reading of Pang et al. 2021), written out with numpy.

Without arguments: the examples that the tests quote, for the first walk the paper's. With the name of a folder of data sets: the papers' protocol, all rows
of a set without labels, every column nominal, and the AUROC on the same rows."""

import pathlib
import sys

import numpy as np

PEOPLE = np.array(  # gender, education, marriage, income
    [
        [0, 0, 0, 0],
        [1, 0, 1, 1],
        [0, 0, 2, 2],
        [0, 1, 1, 1],
        [1, 0, 0, 2],
        [0, 2, 1, 2],
        [0, 0, 2, 2],
        [1, 2, 2, 1],
        [0, 2, 1, 1],
        [0, 1, 2, 0],
        [1, 2, 1, 1],
        [0, 0, 2, 0],
    ]
)
# Twelve rows of common values, and two with rare ones that go together: with a common one, or with nothing else.
COMMON = [[r % 2, r // 2 % 2, r % 3] for r in range(12)]
COMPANY = np.array(COMMON + [[2, 2, 0], [2, 2, 1]])
ISLAND = np.array(COMMON + [[2, 2, 3]] * 2)


def densities(a):
    """For each value the largest density of the sets that contain it while the graph is peeled."""
    left, densest, result = list(range(len(a))), 0.0, np.zeros(len(a))
    while left:
        degrees = a[np.ix_(left, left)].sum(1)
        densest = max(densest, degrees.sum() / 2 / len(left))
        gone = degrees <= degrees.min() * (1 + 1e-9)
        result[np.array(left)[gone]] = densest
        left = [v for v, goes in zip(left, gone) if not goes]
    return result


def scores(rows, homophily, alpha=0.95):
    """The score of every row of codes."""
    n, places, column = len(rows), [], []
    for f in range(rows.shape[1]):
        names, codes = np.unique(rows[:, f], return_inverse=True)
        if len(names) > 1:
            places.append(len(column) + codes)
            column += [f] * len(names)
    places, column = np.stack(places, 1), np.array(column)
    together = np.zeros((len(column), len(column)))
    for f in places.T:
        for g in places.T:
            np.add.at(together, (f, g), 1.0)
    count = np.diag(together).copy()
    together[column[:, None] == column[None, :]] = 0
    mode = np.array([count[column == f].max() for f in column])
    bias = ((mode - count) / mode + 1 - mode / n) / 2
    if homophily:
        a = np.outer(bias, bias) * (together / n) / np.outer(count / n, count / n)
        walk = a * densities(a)[None, :]
    else:
        walk = bias[None, :] * together / count[None, :]
    walk /= walk.sum(1, keepdims=True)
    # The stationary point, solved instead of walked to.
    start = np.full(len(column), (1 - alpha) / len(column))
    pi = np.linalg.solve(np.eye(len(column)) - alpha * walk.T, start)
    weight = np.array([pi[column == f].sum() for f in column])
    return (weight * pi)[places].sum(1)


def nominal(table, name):
    """A column as codes."""
    return np.unique(np.asarray(table[name].to_pylist()).astype(str), return_inverse=True)[1]


if len(sys.argv) == 1:
    print("cbrw", scores(PEOPLE, False).tolist())
    print("homophily", scores(COMPANY, True).tolist())
    print("homophily, on an island", scores(ISLAND, True).tolist())
else:
    import pyarrow.parquet as parquet
    from sklearn.metrics import roc_auc_score

    print("| set | cbrw | homophily |\n|---|---|---|")
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.parquet")):
        table = parquet.read_table(path)
        rows = np.stack([nominal(table, name) for name in table.column_names if name != "label"], 1)
        areas = [roc_auc_score(table["label"].to_numpy(), scores(rows, homophily)) for homophily in (False, True)]
        print(f"| {path.stem} | {100 * areas[0]:.2f} | {100 * areas[1]:.2f} |", flush=True)
