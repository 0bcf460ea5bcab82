"""Runs gnsm's classic detectors beside scikit-learn and PyOD on the same splits, with the same settings.

    rivals.py parity DATA    mean AUROC over the sets of isolation-forest on one-hots and of gmm, and AP, beside scikit-learn's
    rivals.py walks DATA     AUROC and AP of cbrw beside the package coupled-biased-random-walks
    rivals.py deep DATA      AP and AUROC of dsvdd beside PyOD's DeepSVDD, with its decoder or without, inputs standardised or not; needs PyTorch
    rivals.py components DATA  AUROC of pca beside scikit-learn's reconstruction error and PyOD's PCA
    rivals.py speed DATA     seconds to fit and score on bank and census, and how many times faster gnsm is

Both sides start from rows in memory as they like them best (codes; one-hot arrays of doubles) and end with scores in memory. Both have
two threads where the rival can use them. `cargo build --release -p gnsm-bench --example rivals` makes our side; it deals out the rows.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

os.environ.update(OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2", RAYON_NUM_THREADS="2")

import numpy as np
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors

BINARY = os.environ.get("GNSM_RIVALS", "target/release/examples/rivals")
ITERATIONS = 10  # of expectation-maximisation, for both: the same work, however soon one of them would stop


class Rows:
    """A split as `BINARY` dealt it out, and what each of our methods took and scored."""

    def __init__(self, path, seed, methods):
        with tempfile.TemporaryDirectory() as folder:
            command = [BINARY, str(path), str(seed), folder] + [json.dumps(method) for method in methods]
            lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
            folder = pathlib.Path(folder)
            shape = json.loads((folder / "shape.json").read_text())
            self.fit, self.test = (one_hot(folder, name, **shape) for name in ("fit", "test"))
            self.fit_codes, self.test_codes = (codes(folder, name, shape["sizes"]) for name in ("fit", "test"))
            self.sizes = shape["sizes"]
            self.labels = np.fromfile(folder / "labels", dtype=np.uint8)
            self.scores = [np.fromfile(folder / f"scores.{i}", dtype="<f8") for i in range(len(methods))]
            self.seconds = [sum(json.loads(line).values()) for line in lines]


def codes(folder, name, sizes):
    return np.fromfile(folder / f"{name}.codes", dtype="<u4").reshape(-1, len(sizes))


def one_hot(folder, name, sizes, numbers):
    """Numbers, 0 where missing, then one-hots, all 0 where unseen."""
    categories = codes(folder, name, sizes)
    values = np.fromfile(folder / f"{name}.numbers", dtype="<f4").reshape(len(categories), numbers)
    rows = np.zeros((len(categories), numbers + sum(sizes)))
    rows[:, :numbers] = np.nan_to_num(values)
    for group, size in enumerate(sizes):
        known = np.flatnonzero(categories[:, group] < size)
        rows[known, numbers + sum(sizes[:group]) + categories[known, group]] = 1
    return rows


def method(name, **settings):
    return {"method": name, "settings": settings}


def parity(data, seeds=5):
    ours = [method("isolation-forest", encoding="one-hot"), method("gmm", components=5)]
    print("| set | | isolation-forest | scikit-learn | gmm | scikit-learn |\n|---|---|---|---|---|---|")
    means = []
    for path in sorted(data.glob("*.parquet")):
        # Five full components on all rows of census take scikit-learn very long.
        with_gmm = path.stem != "census"
        areas, precisions = [], []
        for seed in range(seeds):
            rows = Rows(path, seed, ours[: 1 + with_gmm])
            forest = -IsolationForest(random_state=seed, n_jobs=2).fit(rows.fit).score_samples(rows.test)
            all_scores = [rows.scores[0], forest]
            if with_gmm:
                mixture = GaussianMixture(5, random_state=seed).fit(rows.fit)
                all_scores += [rows.scores[1], -mixture.score_samples(rows.test)]
            areas.append([100 * roc_auc_score(rows.labels, scores) for scores in all_scores])
            precisions.append([100 * average_precision_score(rows.labels, scores) for scores in all_scores])
        means.append(np.mean(areas, 0)[:2])
        for name, values in (("AUROC", areas), ("AP", precisions)):
            cells = [f"{m:.2f} ± {s:.2f}" for m, s in zip(np.mean(values, 0), np.std(values, 0))]
            print(f"| {path.stem} | {name} | " + " | ".join(cells + ["–"] * (4 - len(cells))) + " |", flush=True)
    cells = [f"{mean:.2f}" for mean in np.mean(means, 0)]
    print(f"| mean | AUROC | {cells[0]} | {cells[1]} | | |")


def walks(data, sets=("bank", "chess", "cmc", "probe", "solar", "u2r"), seeds=1):
    """On the test rows without unseen categories, of which the package makes nothing."""
    from coupled_biased_random_walks import CBRW

    def records(rows):
        return [{str(column): int(code) for column, code in enumerate(row)} for row in rows]

    print("| set | seed | correlation of the scores | AUROC | package | AP | package |\n|---|---|---|---|---|---|---|")
    for name in sets:
        for seed in range(seeds):
            rows = Rows(data / f"{name}.parquet", seed, [method("cbrw")])
            known = (rows.test_codes < np.array(rows.sizes)).all(1)
            rival = CBRW()
            rival.add_observations(records(rows.fit_codes))
            rival.fit()
            distinct, which = np.unique(rows.test_codes[known], axis=0, return_inverse=True)
            both = rows.scores[0][known], rival.score(records(distinct))[which.ravel()]
            figures = [f"{np.corrcoef(*both)[0, 1]:.6f}"]
            for metric in (roc_auc_score, average_precision_score):
                figures += [f"{100 * metric(rows.labels[known], scores):.2f}" for scores in both]
            print(f"| {name} | {seed} | " + " | ".join(figures) + " |", flush=True)


def deep(data, sets=("bank", "solar"), seeds=1, layers=(256, 128, 32), steps=600):
    """As many steps of as many rows for both. PyOD has no swish, and its autoencoder wants a code no wider than the row; hence small layers, and relu."""
    from pyod.models.deep_svdd import DeepSVDD

    training = {"batch": 256, "steps": steps, "epochs": 0, "learning_rate": 1e-3, "final_learning_rate": 1e-5}
    training |= {"weight_decay": 1e-6, "validate_every": 50, "patience": 0}
    print("| set | seed | | AP | AUROC |\n|---|---|---|---|---|")
    for name in sets:
        for seed in range(seeds):
            rows = Rows(data / f"{name}.parquet", seed, [method("dsvdd", layers=layers, training=training)])

            def show(title, scores):
                areas = average_precision_score(rows.labels, scores), roc_auc_score(rows.labels, scores)
                print(f"| {name} | {seed} | {title} | " + " | ".join(f"{100 * area:.2f}" for area in areas) + " |", flush=True)

            show("gnsm", rows.scores[0])
            for autoencoder, standardised in ((True, True), (True, False), (False, True), (False, False)):
                rival = DeepSVDD(
                    rows.fit.shape[1], use_ae=autoencoder, preprocessing=standardised, hidden_neurons=list(layers),
                    epochs=max(1, round(steps * 256 / len(rows.fit))), batch_size=256, learning_rate=1e-3,
                    dropout_rate=0.0, random_state=seed, verbose=0,
                )
                rival.fit(rows.fit)
                title = f"PyOD, {'autoencoder' if autoencoder else 'encoder'}, {'standardised' if standardised else 'as it is'}"
                show(title, rival.decision_function(rows.test))


def components(data, seeds=1, shares=(0.9, 0.95, 0.99)):
    """Both rivals are given standardised columns that vary; PyOD divides by variances, so it is told how many directions have one."""
    from pyod.models.pca import PCA as PyodPCA

    heads = ["set", "gnsm"] + [f"scikit-learn, {100 * share:g} %" for share in shares] + ["PyOD"]
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    everything = []
    for path in sorted(data.glob("*.parquet")):
        areas = []
        for seed in range(seeds):
            rows = Rows(path, seed, [method("pca")])
            mean, deviation = rows.fit.mean(0), rows.fit.std(0)
            fit, test = (((part - mean) / np.where(deviation > 0, deviation, 1))[:, deviation > 0] for part in (rows.fit, rows.test))
            scores = [rows.scores[0]]
            for share in shares:
                rival = PCA(share, svd_solver="full").fit(fit)
                scores.append(((test - rival.inverse_transform(rival.transform(test))) ** 2).sum(1))
            rank = int(np.linalg.matrix_rank(np.cov(fit.T), hermitian=True))
            scores.append(PyodPCA(n_components=rank, random_state=seed).fit(fit).decision_function(test))
            areas.append([100 * roc_auc_score(rows.labels, own) for own in scores])
        everything.append(np.mean(areas, 0))
        print(f"| {path.stem} | " + " | ".join(f"{area:.2f}" for area in everything[-1]) + " |", flush=True)
    print("| mean | " + " | ".join(f"{area:.2f}" for area in np.mean(everything, 0)) + " |")


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def speed(data, sets=("bank", "census"), names=("isolation-forest", "ecod", "gmm", "knn")):
    from pyod.models.ecod import ECOD

    ours = {
        "isolation-forest": method("isolation-forest", encoding="one-hot", trees=100, sample=256),
        "ecod": method("ecod"),
        "gmm": method("gmm", components=5, max_iterations=ITERATIONS, tolerance=0.0),
        "knn": method("knn", neighbour=5, most_rows=1_000_000),
    }

    def rival(name, fit, test):
        if name == "isolation-forest":
            IsolationForest(n_estimators=100, max_samples=256, random_state=0, n_jobs=2).fit(fit).score_samples(test)
        elif name == "ecod":
            ECOD().fit(fit).decision_function(test)  # its n_jobs starts processes
        elif name == "gmm":
            GaussianMixture(5, max_iter=ITERATIONS, tol=0.0, random_state=0).fit(fit).score_samples(test)
        else:
            NearestNeighbors(n_neighbors=5, algorithm="brute", n_jobs=2).fit(fit).kneighbors(test)

    print("| set | method | gnsm, s | rival, s | times faster |\n|---|---|---|---|---|")
    for name in sets:
        rows = Rows(data / f"{name}.parquet", 0, [ours[key] for key in names])
        for key, seconds in zip(names, rows.seconds):
            other = timed(lambda: rival(key, rows.fit, rows.test))
            print(f"| {name} | {key} | {seconds:.3f} | {other:.3f} | {other / seconds:.1f} |", flush=True)


if __name__ == "__main__":
    task, folder, *choices = sys.argv[1:]
    tasks = {"parity": parity, "walks": walks, "deep": deep, "components": components, "speed": speed}
    tasks[task](pathlib.Path(folder), *[choice.split(",") for choice in choices])
