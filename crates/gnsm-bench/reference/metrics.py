"""Prints the values that the tests of gnsm's metrics quote, computed by scikit-learn."""

from sklearn.metrics import average_precision_score, roc_auc_score

CASES = {
    "no ties": ([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]),
    "ties across classes": ([1, 0, 1, 0, 0, 1, 0, 1], [3, 3, 2, 2, 2, 1, 1, 5]),
    "all tied": ([1, 0, 0, 1, 0], [7, 7, 7, 7, 7]),
    "signed zeros": ([1, 0, 0, 1], [0.0, -0.0, -1.0, 1.0]),
    "worst": ([1, 1, 0, 0, 0], [1, 2, 3, 4, 5]),
    "coarse": ([i * i % 7 == 1 for i in range(60)], [(i * 17 % 23) // 4 for i in range(60)]),
}

for name, (labels, scores) in CASES.items():
    print(name, average_precision_score(labels, scores), roc_auc_score(labels, scores))
