"""Prints the values that the tests of gnsm's masks quote, computed by SciPy, NumPy and Pillow.

`python masks.py` prints the values and writes the file grey.jpg; `python masks.py DIR` compares the definitions with DIR/*/metrics_pred.csv, where DIR is the folder of the
segmentation data.
"""

import csv
import sys
from pathlib import Path

import numpy as np
from PIL import Image
from scipy import ndimage, stats

VOID = 255


def surface_distances(a, b):
    a, b = a & ~ndimage.binary_erosion(a), b & ~ndimage.binary_erosion(b)
    forth, back = ndimage.distance_transform_edt(~b)[a], ndimage.distance_transform_edt(~a)[b]
    both = np.concatenate([forth, back])
    return both.mean(), max(np.percentile(forth, 95), np.percentile(back, 95))


def dice(a, b):
    return 2 * (a & b).sum() / (a.sum() + b.sum())


def quality(truth, prediction):
    truth, prediction = truth.copy(), prediction.copy()
    void = (truth == VOID) | (prediction == VOID)
    t, p = truth[~void], prediction[~void]
    iou = [((t == c) & (p == c)).sum() / ((t == c) | (p == c)).sum() for c in np.union1d(t, p)]
    truth[void] = prediction[void] = 0
    classes = [c for c in np.union1d(truth, prediction) if c]
    common = [c for c in classes if (truth == c).any() and (prediction == c).any()]
    distances = [surface_distances(truth == c, prediction == c) for c in common]
    diagonal = np.hypot.reduce(truth.shape)
    penalised = distances + [(diagonal, diagonal)] * (len(classes) - len(common))
    mean = lambda pairs: np.mean(pairs, axis=0) if pairs else [None, None]
    t, p = truth > 0, prediction > 0
    foreground = surface_distances(t, p) if t.any() and p.any() else [None, None]
    return [
        np.mean([dice(truth == c, prediction == c) for c in classes]), dice(t, p), np.mean(iou), (truth == prediction)[~void].mean(),
        *mean(distances), *mean(penalised), *foreground, len(classes), len(classes) - len(common),
    ]


def compare_with_files(folder):
    for path in sorted(folder.glob("*/metrics_pred.csv")):
        worst = 0
        for row in csv.DictReader(path.open()):
            load = lambda kind: np.array(Image.open(path.parent / kind / f"{row['id']}.png"))
            values = quality(load("masks"), load("pred"))
            for value, text in zip(values, list(row.values())[1:]):
                assert (value is None) == (text == ""), row
                worst = max(worst, abs(value - float(text)) if text else 0)
        print(path, "largest difference", worst)


def blobs(shape, offset):
    """Classes 0 to 3 and some void, by whole-number arithmetic that the tests repeat."""
    place = np.indices(shape).reshape(len(shape), -1)
    wave = sum((axis + 2) * ((x + offset) // 4) ** 2 for axis, x in enumerate(place))
    labels = np.where(wave % 11 < 5, 0, wave % 4)
    number = np.arange(labels.size)
    labels[number * 31 % 97 == 5] = 3
    labels[number * 57 % 101 == offset] = VOID
    return labels.reshape(shape).astype(np.uint8)


if len(sys.argv) > 1:
    compare_with_files(Path(sys.argv[1]))
    sys.exit()

grid = Image.fromarray(np.arange(35, dtype=np.uint8).reshape(5, 7))
print("resize 4 × 3", np.array(grid.resize((4, 3), Image.NEAREST)).ravel().tolist())
larger = np.array(grid.resize((10, 6), Image.NEAREST))
print("resize 10 × 6", larger[0].tolist(), larger[:, 0].tolist())

Image.fromarray(np.full((2, 3, 3), 100, dtype=np.uint8)).save("grey.jpg", quality=90)

sites = (np.arange(40 * 31) * 7919 % 353 == 11).reshape(40, 31)
distances = ndimage.distance_transform_edt(~sites)
print("distances", repr(distances.sum()), round(distances.max() ** 2))

for shape in [(23, 37), (9, 11, 13)]:
    print("quality", shape, [float(value) for value in quality(blobs(shape, 0), blobs(shape, 1))])

labels = blobs((23, 37), 0)
largest = [np.bincount(ndimage.label(labels == c)[0].ravel())[1:].max(initial=0) for c in range(4)]
print("largest components", [int(size) for size in largest])

x = [0.3, 2.5, 2.5, 4.0, 1.0, 7.25, 6.0, 3.5]
y = [0.9, 0.5, 0.4, 0.45, 0.8, 0.1, 0.45, 0.6]
pearson = stats.pearsonr(x, y)
print("pearson", repr(float(pearson.statistic)), [float(v) for v in pearson.confidence_interval(0.95)])
print("spearman", repr(float(stats.spearmanr(x, y).statistic)))
