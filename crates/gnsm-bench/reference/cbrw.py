"""Coupled biased random walks (Pang et al. 2016) written out with numpy, on the example of the paper."""

import itertools

import numpy as np

GENDER, EDUCATION = ["male", "female"], ["master", "bachelor", "PhD"]
MARRIAGE, INCOME = ["divorced", "married", "single"], ["low", "medium", "high"]
rows = np.array(
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
values = sorted({(f, v) for row in rows for f, v in enumerate(row)})
has = np.array([[row[f] == v for f, v in values] for row in rows], dtype=float)  # [rows, values]
count = has.sum(0)
together = has.T @ has
bias = np.empty(len(values))
for i, (f, _) in enumerate(values):
    mode = max(count[j] for j, (g, _) in enumerate(values) if g == f)
    bias[i] = ((mode - count[i]) / mode + 1 - mode / len(rows)) / 2
walk = np.zeros((len(values), len(values)))
for i, j in itertools.permutations(range(len(values)), 2):
    if values[i][0] != values[j][0]:
        walk[i, j] = bias[j] * together[i, j] / count[j]
walk /= walk.sum(1, keepdims=True)
# The stationary point, solved instead of walked to.
alpha, n = 0.95, len(values)
pi = np.linalg.solve(np.eye(n) - alpha * walk.T, np.full(n, (1 - alpha) / n))
weight = {f: sum(pi[i] for i, (g, _) in enumerate(values) if g == f) for f in range(4)}
print([float(sum(weight[f] * pi[values.index((f, v))] for f, v in enumerate(row))) for row in rows])
