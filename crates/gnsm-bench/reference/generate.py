"""Made rows and filled cells beside what people use: `gnsm sample` beside CTGAN and TVAE (PyPI: ctgan), `gnsm impute`
beside the most frequent value, scikit-learn's IterativeImputer with trees and its KNNImputer.

    python generate.py sample DATA --gnsm PATH --out FOLDER [--sets adult,bank] [--rows 10000] [--only cells,tvae]
    python generate.py impute DATA --gnsm PATH --out FOLDER [--sets adult,bank] [--rows 4000]

DATA is the folder of tabular sets. Each table is shuffled and cut into two halves, of `--rows` rows at the most. The
first half, A, trains; the second, B, is a second real sample. What a method made, and its seconds, are kept in
FOLDER and not made again. Needs pandas, pyarrow, scikit-learn and ctgan. Prints Markdown."""

import argparse
import json
import subprocess
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

FILES = {"adult": "extra/adult.parquet", "bank": "bank.parquet", "mushrooms": "extra/mushrooms.parquet"}
SEED = 0


def load(data, name, rows):
    table = pd.read_parquet(Path(data) / FILES[name])
    for column in table.columns:
        if column == "label" or not pd.api.types.is_numeric_dtype(table[column].dtype):
            table[column] = table[column].astype(str).astype(object)
        elif (table[column] == table[column].round()).all():
            # Else the others write whole numbers with decimals, and anybody can tell.
            table[column] = table[column].astype("int64")
    table = table.sample(frac=1, random_state=SEED).reset_index(drop=True)
    half = min(len(table) // 2, rows)
    return table.iloc[:half].reset_index(drop=True), table.iloc[half : 2 * half].reset_index(drop=True)


def is_number(column):
    return pd.api.types.is_numeric_dtype(column.dtype)


def categories_of(table):
    return [name for name in table.columns if not is_number(table[name])]


def typed(table, like):
    """The columns of `like`, with its types; what a csv file left open."""
    table = table[like.columns].copy()
    for name in like.columns:
        if is_number(like[name]):
            table[name] = pd.to_numeric(table[name], errors="coerce")
        else:
            table[name] = table[name].astype(str).astype(object)
    return table


# Making rows.


def run(*command):
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)


def make_gnsm(method):
    def make(a, folder, gnsm, n):
        csv, model, out = folder / "a.csv", folder / f"{method}.gnsm", folder / f"{method}-raw.csv"
        a.to_csv(csv, index=False)
        run(gnsm, "-q", "fit", csv, "-o", model, "--method", method, "--missing", "")
        run(gnsm, "-q", "sample", model, "-n", n, "-o", out, "--seed", SEED)
        return pd.read_csv(out, keep_default_na=False, dtype={name: str for name in categories_of(a)})

    return make


def make_ctgan(name):
    def make(a, folder, gnsm, n):
        import torch
        from ctgan import CTGAN, TVAE

        torch.manual_seed(SEED)
        np.random.seed(SEED)
        model = {"ctgan": CTGAN, "tvae": TVAE}[name](epochs=300)
        model.fit(a, categories_of(a))
        return model.sample(n)

    return make


MAKERS = {"cells": make_gnsm("cells"), "gnsm": make_gnsm("gnsm"), "ctgan": make_ctgan("ctgan"), "tvae": make_ctgan("tvae")}


def made_by(method, a, folder, gnsm):
    """The rows that a method made, and its seconds with the fit."""
    rows, seconds = folder / f"{method}.csv", folder / f"{method}.json"
    if not rows.exists():
        start = time.time()
        made = MAKERS[method](a, folder, gnsm, len(a))
        seconds.write_text(json.dumps(time.time() - start))
        made.to_csv(rows, index=False)
    made = pd.read_csv(rows, keep_default_na=False, dtype={name: str for name in categories_of(a)})
    return typed(made, a), json.loads(seconds.read_text())


# Measuring them.


def binned(tables, bins):
    """The tables as codes; numbers in bins of equal share of the first."""
    out = [pd.DataFrame(index=table.index) for table in tables]
    for name in tables[0].columns:
        if is_number(tables[0][name]):
            cuts = np.unique(np.quantile(tables[0][name], np.arange(1, bins) / bins))
            codes = [np.searchsorted(cuts, table[name], side="right") for table in tables]
        else:
            all_names = sorted(set().union(*[set(table[name]) for table in tables]))
            place = {value: at for at, value in enumerate(all_names)}
            codes = [table[name].map(place).to_numpy() for table in tables]
        for frame, code in zip(out, codes):
            frame[name] = code
    return out


def apart(x, y):
    """Total variation between two samples of codes."""
    size = int(max(x.max(), y.max())) + 1
    return 0.5 * np.abs(np.bincount(x, minlength=size) / len(x) - np.bincount(y, minlength=size) / len(y)).sum()


def frequencies(a, other, b):
    """Mean total variation from b over single columns, and over pairs."""
    _, singles, truth = binned([a, other, b], 20)
    single = np.mean([apart(singles[name].to_numpy(), truth[name].to_numpy()) for name in a.columns])
    _, pairs, truth = binned([a, other, b], 10)
    names, found = list(a.columns), []
    for i, one in enumerate(names):
        for two in names[i + 1 :]:
            size = int(max(pairs[two].max(), truth[two].max())) + 1
            found.append(apart((pairs[one] * size + pairs[two]).to_numpy(), (truth[one] * size + truth[two]).to_numpy()))
    return single, np.mean(found)


def matrix(tables):
    """Tables for trees: numbers as they are, categories as codes."""
    together = pd.concat(tables, ignore_index=True)
    columns = [together[n] if is_number(together[n]) else together[n].astype("category").cat.codes for n in together]
    whole = np.stack([np.asarray(column, dtype=float) for column in columns], axis=1)
    flags = [not is_number(together[name]) and together[name].nunique() <= 255 for name in together]
    ends = np.cumsum([len(table) for table in tables])
    return np.split(whole, ends[:-1]), flags


def told_apart(b, made):
    """AUROC of gradient boosting at telling made rows from real ones; the mean over three folds."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    (x, y), flags = matrix([b, made])
    truth = np.r_[np.zeros(len(x)), np.ones(len(y))]
    folds = StratifiedKFold(3, shuffle=True, random_state=SEED)
    judge = HistGradientBoostingClassifier(categorical_features=flags, random_state=SEED)
    return cross_val_score(judge, np.r_[x, y], truth, cv=folds, scoring="roc_auc").mean()


def trained_on(made, b):
    """AUROC on real rows of a classifier of the label that learned from made ones."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    (x, y), flags = matrix([made.drop(columns="label"), b.drop(columns="label")])
    if made["label"].nunique() < 2:
        return float("nan")
    judge = HistGradientBoostingClassifier(categorical_features=flags, random_state=SEED).fit(x, made["label"] == "1")
    return roc_auc_score(b["label"] == "1", judge.predict_proba(y)[:, 1])


def closest(a, other, n=2000):
    """The median distance to the closest row of a (numbers by their ranks, a category that differs as 1), and the share of rows
    that are one of them."""
    numbers = [name for name in a if is_number(a[name])]
    ranks = {name: np.sort(a[name].to_numpy()) for name in numbers}
    place = lambda table: np.stack([np.searchsorted(ranks[m], table[m]) / len(a) for m in numbers], 1) if numbers else None
    other = other.iloc[:n]
    distances = np.zeros((len(other), len(a)), dtype=np.float32)
    for x, y in zip(*(place(t).T if numbers else [] for t in (other, a))):
        distances += np.abs(x[:, None] - y[None, :]).astype(np.float32)
    for name in categories_of(a):
        distances += other[name].to_numpy()[:, None] != a[name].to_numpy()[None, :]
    known = set(map(tuple, a.itertuples(index=False)))
    copies = np.mean([tuple(row) in known for row in other.itertuples(index=False)])
    return float(np.median(distances.min(1))), copies


def sample(arguments):
    print("| set, rows | method | single columns | pairs | told apart (AUROC) | label (AUROC) | closest row | copies | seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in arguments.sets:
        a, b = load(arguments.data, name, arguments.rows)
        folder = Path(arguments.out) / name
        folder.mkdir(parents=True, exist_ok=True)
        tables = [("second real sample", a, float("nan"))]
        for method in arguments.only:
            tables.append((method, *made_by(method, a, folder, arguments.gnsm)))
        for method, made, seconds in tables:
            single, pairs = frequencies(a, made, b)
            near, copies = closest(a, b if made is a else made)
            shown = [f"{100 * single:.1f} %", f"{100 * pairs:.1f} %", f"{told_apart(b, made):.3f}", f"{trained_on(made, b):.3f}"]
            shown += [f"{near:.2f}", f"{100 * copies:.1f} %", f"{seconds:.0f}" if seconds == seconds else "–"]
            print(f"| {name}, {len(a):,} | {method} | " + " | ".join(shown) + " |", flush=True)


# Filling cells.


def spoilt(b, share):
    holes = np.random.default_rng(SEED + int(100 * share)).random(b.shape) < share
    return b.mask(holes), holes


def fill_gnsm(method):
    def fill(a, holed, folder, gnsm):
        csv, model, holes, out = (folder / name for name in ("a.csv", f"{method}.gnsm", "holes.csv", "filled.csv"))
        a.to_csv(csv, index=False)
        holed.to_csv(holes, index=False)
        run(gnsm, "-q", "fit", csv, "-o", model, "--method", method, "--missing", "")
        run(gnsm, "-q", "impute", model, holes, "-o", out)
        return pd.read_csv(out, keep_default_na=False, dtype={name: str for name in categories_of(a)})

    return fill


def fill_most_frequent(a, holed, folder, gnsm):
    values = {name: a[name].mean() if is_number(a[name]) else a[name].mode()[0] for name in a}
    return holed.fillna(values)


def encoded(a, holed, one_hot):
    """Both tables as numbers, and the way back."""
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

    names = categories_of(a)
    numbers = [name for name in a if name not in names]
    scale = a[numbers].std().replace(0, 1)
    coder = OneHotEncoder(sparse_output=False) if one_hot else OrdinalEncoder()
    coder.fit(a[names])
    # A category that the first half does not have is one more hole to them.
    known = holed[names].apply(lambda column: column.where(column.isin(set(a[column.name]))))
    unknown = known.isna().to_numpy()
    codes = coder.transform(known.fillna(a[names].mode().iloc[0]))
    width = [len(values) for values in coder.categories_] if one_hot else [1] * len(names)
    ends = np.cumsum([0, *width])
    for at in range(len(names)):
        codes[unknown[:, at], ends[at] : ends[at + 1]] = np.nan
    train = np.hstack([(a[numbers] / scale).to_numpy(), coder.transform(a[names])])
    holes = np.hstack([(holed[numbers] / scale).to_numpy(), codes])

    def back(filled):
        out = pd.DataFrame(filled[:, : len(numbers)] * scale.to_numpy(), columns=numbers)
        for at, name in enumerate(names):
            own = filled[:, len(numbers) + ends[at] : len(numbers) + ends[at + 1]]
            best = own.argmax(1) if one_hot else own[:, 0].round().clip(0, len(coder.categories_[at]) - 1).astype(int)
            out[name] = coder.categories_[at][best]
        return out[a.columns]

    return train, holes, back


def fill_trees(one_hot):
    def fill(a, holed, folder, gnsm):
        from sklearn.ensemble import ExtraTreesRegressor
        from sklearn.experimental import enable_iterative_imputer  # noqa: F401
        from sklearn.impute import IterativeImputer

        train, holes, back = encoded(a, holed, one_hot)
        trees = ExtraTreesRegressor(n_estimators=20, random_state=SEED, n_jobs=1)
        imputer = IterativeImputer(trees, max_iter=4, random_state=SEED)
        # Trees learn from what has holes and what has none together: without a hole there is nothing to iterate.
        return back(imputer.fit_transform(np.vstack([train, holes]))[len(train) :])

    return fill


def fill_neighbours(a, holed, folder, gnsm):
    from sklearn.impute import KNNImputer

    train, holes, back = encoded(a, holed, True)
    return back(KNNImputer(n_neighbors=10).fit(train).transform(holes))


FILLERS = {
    "cells": fill_gnsm("cells"),
    "gnsm": fill_gnsm("gnsm"),
    "most frequent": fill_most_frequent,
    "trees-ordinal": fill_trees(False),
    "trees-one-hot": fill_trees(True),
    "neighbours": fill_neighbours,
}


def impute(arguments):
    print("| set, rows | missing | method | accuracy | NRMSE | seconds |")
    print("|---|---|---|---|---|---|")
    for name in arguments.sets:
        a, b = load(arguments.data, name, arguments.rows)
        folder = Path(arguments.out) / name
        folder.mkdir(parents=True, exist_ok=True)
        for share in (0.05, 0.2, 0.5):
            holed, holes = spoilt(b, share)
            for method in arguments.only:
                kept = folder / f"fill-{method}-{share}.json"
                if not kept.exists():
                    start = time.time()
                    filled = typed(FILLERS[method](a, holed, folder, arguments.gnsm), b)
                    seconds = time.time() - start
                    kept.write_text(json.dumps([*errors(a, b, filled, holes), seconds]))
                accuracy, error, seconds = json.loads(kept.read_text())
                error = f"{error:.3f}" if error == error else "–"
                print(
                    f"| {name}, {len(a):,} | {100 * share:.0f} % | {method} | {100 * accuracy:.1f} % | {error} | {seconds:.1f} |",
                    flush=True,
                )


def errors(a, b, filled, holes):
    """The share of categories that are right, and the root mean square error of numbers in deviations; means over columns."""
    right, wrong = [], []
    for at, name in enumerate(b):
        hole = holes[:, at]
        if is_number(b[name]):
            spread = a[name].std()
            wrong.append(float(np.sqrt((((b[name] - filled[name])[hole] / spread) ** 2).mean())))
        else:
            right.append(float((b[name][hole] == filled[name][hole]).mean()))
    return np.mean(right), np.mean(wrong) if wrong else float("nan")


def main():
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["sample", "impute"])
    parser.add_argument("data")
    parser.add_argument("--gnsm", default="gnsm")
    parser.add_argument("--out", required=True)
    parser.add_argument("--sets", default=",".join(FILES), type=lambda text: text.split(","))
    parser.add_argument("--rows", type=int)
    parser.add_argument("--only", type=lambda text: text.split(","))
    arguments = parser.parse_args()
    methods, rows, run_all = {"sample": (MAKERS, 10_000, sample), "impute": (FILLERS, 4_000, impute)}[arguments.what]
    arguments.only = arguments.only or list(methods)
    arguments.rows = arguments.rows or rows
    run_all(arguments)


if __name__ == "__main__":
    main()
