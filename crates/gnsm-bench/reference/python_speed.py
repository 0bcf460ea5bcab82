"""Seconds to fit and score bank and census from one pandas frame: gnsm's Python classes beside PyOD's and scikit-learn's.

    python_speed.py DATA [--sets bank,census] [--encodings ordinal,one-hot] [--methods ecod,...] [--limit SECONDS] [--clock cpu]

Every second row is fitted, and the rows between are scored. Both sides start from the frame as pandas reads it, and end with scores in
an array. So what the rival needs first is part of its time: codes in place of categories (`ordinal`) or columns of zeros and ones
(`one-hot`), and zeros for missing numbers. Both have two threads where the rival can use them. Each run is a process of its own, whose
imports do not count. Runs of less than ten seconds are repeated, and their median counts. One that takes longer than the limit is ended.
`--clock cpu` counts the seconds of the processor, all threads together, for a machine that has other work.
`encode` alone is the time of the encoding. Needs gnsm (a wheel of a release build), pandas, pyarrow, pyod and scikit-learn.
"""

import argparse
import multiprocessing
import os
import pathlib
import statistics
import time

os.environ.update(OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2", RAYON_NUM_THREADS="2")

import numpy as np
import pandas as pd

METHODS = ("isolation-forest", "ecod", "gmm", "knn")
COMPONENTS, ITERATIONS = 5, 10  # of the mixtures, for both: the same work, however soon one of them would stop
REPEATS, LONG = 3, 10.0
MIXTURE = {"components": COMPONENTS, "max_iterations": ITERATIONS, "tolerance": 0.0}


def encode(fit, test, encoding):
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

    categories = fit.select_dtypes(exclude="number").columns
    encoder = {
        "ordinal": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1),
        "one-hot": OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    }[encoding]
    transformer = make_column_transformer((encoder, categories), remainder="passthrough")
    return [np.nan_to_num(rows) for rows in (transformer.fit_transform(fit), transformer.transform(test))]


def rival(method):
    if method == "isolation-forest":
        from pyod.models.iforest import IForest

        return IForest(random_state=0, n_jobs=2)
    if method == "ecod":
        from pyod.models.ecod import ECOD

        return ECOD()  # its n_jobs starts processes
    if method == "knn":
        from pyod.models.knn import KNN

        return KNN(n_jobs=2)
    from sklearn.mixture import GaussianMixture

    return GaussianMixture(COMPONENTS, max_iter=ITERATIONS, tol=0.0, random_state=0)


def ours(method):
    import gnsm.pyod
    import gnsm.sklearn

    if method == "default":
        return gnsm.pyod.GNSM()
    if method == "gmm":
        return gnsm.sklearn.GMM(settings=MIXTURE)
    return getattr(gnsm.pyod, {"isolation-forest": "IsolationForest", "ecod": "ECOD", "knn": "KNN"}[method])()


def work(path, side, method, encoding, clock, answer):
    frame = pd.read_parquet(path).drop(columns=["label"])
    fit, test = (frame.iloc[first::2].reset_index(drop=True) for first in (0, 1))
    if side != "encode":
        detector = (ours if side == "ours" else rival)(method)
        judge = getattr(detector, "decision_function" if hasattr(detector, "decision_function") else "score_samples")
    encode(fit.iloc[:100], test.iloc[:100], "ordinal")  # what is imported on first use
    now = {"wall": time.perf_counter, "cpu": time.process_time}[clock]
    start = now()
    if side != "ours":
        fit, test = encode(fit, test, encoding)
    if side != "encode":
        detector.fit(fit)
        assert len(judge(test)) == len(test)
    answer.put(now() - start)


def seconds(limit, *task):
    context, taken = multiprocessing.get_context("spawn"), []
    while len(taken) < REPEATS:
        answer = context.SimpleQueue()
        process = context.Process(target=work, args=(*task, answer))
        process.start()
        process.join(limit)
        if process.is_alive():
            process.terminate()
            process.join()
            return None
        if process.exitcode != 0:
            raise SystemExit(f"{task} failed")
        taken.append(answer.get())
        if taken[0] >= LONG:
            break
    return statistics.median(taken)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--sets", default="bank,census")
    parser.add_argument("--encodings", default="ordinal,one-hot")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for one run")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    options = parser.parse_args()

    def taken(*task):
        return seconds(options.limit, *task, options.clock)

    print("| set | method | encoding | gnsm, s | gnsm's default, s | rival, s | times faster | default: times faster |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for name in options.sets.split(","):
        path = options.data / f"{name}.parquet"
        default = taken(path, "ours", "default", None)
        encodings = options.encodings.split(",")
        alone = ", ".join(f"{e} {taken(path, 'encode', None, e):.3f} s" for e in encodings)
        for method in options.methods.split(","):
            own = taken(path, "ours", method, None)
            for encoding in encodings:
                other = taken(path, "rival", method, encoding)
                least, sign = (other, "") if other is not None else (options.limit, "> ")
                figures = f"{own:.3f} | {default:.2f} | {sign}{least:.3f} | {sign}{least / own:.1f} | {sign}{least / default:.2f}"
                print(f"| {name} | {method} | {encoding} | {figures} |", flush=True)
        print(f"{name}: encoding alone: {alone}", flush=True)


if __name__ == "__main__":
    main()
