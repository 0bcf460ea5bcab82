"""Compares gnsm's metrics of volumes with medpy, and its files with nibabel. Needs the packages medpy and nibabel.

`python volumes.py` prints the values that the tests of gnsm's masks quote. `python volumes.py GNSM`, with the path of the program, writes made volumes of many types,
measures them with `gnsm mask metrics`, compares each figure, fits a small network on volumes and reads its maps. It ends with an error where anything differs.

medpy's distances are taken as they are: from each surface voxel of one set to the nearest of the other, with the distances between voxels. The figures made of them follow
gnsm's definitions: MSD is the mean of both directions taken together, 95-HD the larger of both directions' percentiles. (medpy's own hd95 is the percentile of both taken together,
its assd the mean of the two directions' means.)
"""

import csv
import subprocess
import sys
import tempfile
from pathlib import Path

import nibabel
import numpy as np
from medpy.metric import binary

NAMES = ["dice", "dice_fg", "msd", "hd95", "msd_pen", "hd95_pen", "msd_fg", "hd95_fg", "n_classes", "n_unmatched"]
TINY = """size = 16
training.steps = 6
training.batch = 4
training.validate_every = 3
network = { channels = 4, multipliers = [1, 2], blocks = 1, fold = 1 }
"""


def distances(a, b, spacing):
    one_way = vars(binary)["__surface_distances"]
    forth, back = one_way(a, b, spacing, 1), one_way(b, a, spacing, 1)
    return np.concatenate([forth, back]).mean(), max(np.percentile(forth, 95), np.percentile(back, 95))


def quality(truth, prediction, spacing):
    classes = [c for c in np.union1d(truth, prediction) if c]
    common = [c for c in classes if (truth == c).any() and (prediction == c).any()]
    found = [distances(truth == c, prediction == c, spacing) for c in common]
    diagonal = np.sqrt(((np.array(truth.shape) * spacing) ** 2).sum())
    penalised = found + [(diagonal, diagonal)] * (len(classes) - len(common))
    mean = lambda pairs: np.mean(pairs, axis=0) if pairs else [None, None]
    t, p = truth > 0, prediction > 0
    values = [
        np.mean([binary.dc(prediction == c, truth == c) for c in classes]), binary.dc(p, t), *mean(found), *mean(penalised),
        *(distances(t, p, spacing) if t.any() and p.any() else [None, None]), len(classes), len(classes) - len(common),
    ]
    return dict(zip(NAMES, values))


def ball(shape, centre, radius):
    z, y, x = np.indices(shape)
    return sum(((axis - c) / r) ** 2 for axis, c, r in zip((z, y, x), centre, radius)) <= 1


def quoted():
    """The volumes of the test `volumes_agree_with_medpy`, axes z, y, x."""
    truth, prediction = np.zeros((9, 12, 11), np.uint8), np.zeros((9, 12, 11), np.uint8)
    truth[ball(truth.shape, (4, 5, 5), (3, 4, 4))] = 1
    prediction[ball(truth.shape, (5, 6, 4), (3, 3, 4))] = 1
    truth[7:, 9:, 8:], prediction[8:, 8:, 9:] = 2, 2
    prediction[0, 0, 0] = 3
    for name, value in quality(truth, prediction, (2.5, 0.8, 0.75)).items():
        print(name, repr(float(value)))


def made(seed):
    """A truth and a prediction with up to four classes, and the distances between their voxels; axes z, y, x."""
    random = np.random.default_rng(seed)
    shape = tuple(random.integers(3, 28, 3))
    spacing = random.uniform(0.3, 4, 3).astype(np.float32)
    pair = np.zeros((2, *shape), np.uint8)
    for label in range(1, random.integers(2, 5)):
        centre, radius = random.uniform(0, 1, 3) * shape, random.uniform(1, 9, 3)
        pair[0][ball(shape, centre, radius)] = label
        if random.random() < 0.8:
            pair[1][ball(shape, centre + random.normal(0, 2, 3), radius * random.uniform(0.7, 1.3, 3))] = label
    return pair[0], pair[1], spacing


def write(path, volume, spacing, dtype, big_endian=False, slope=None):
    dtype = np.dtype(dtype).newbyteorder(">" if big_endian else "<")
    affine = np.diag([*spacing[::-1], 1.0])
    affine[:3, 3] = [12.5, -7, 3]
    image = nibabel.Nifti1Image(volume.transpose(2, 1, 0).astype(dtype), affine, nibabel.Nifti1Header(endianness=">" if big_endian else "<"))
    image.set_data_dtype(dtype)
    if slope:
        image.header.set_slope_inter(*slope)
    image.to_filename(path)


def run(program, *arguments):
    return subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, text=True)


def check_metrics(program, folder):
    types = ["uint8", "int16", "int32", "float32", "float64", "int8", "uint16", "uint32", "int64", "uint64"]
    for kind in ("truth", "pred"):
        (folder / kind).mkdir()
    names = [f"v{seed:02}" for seed in range(60)]
    (folder / "list.txt").write_text("\n".join(names))
    for seed, name in enumerate(names):
        truth, prediction, spacing = made(seed)
        ending = "nii.gz" if seed % 3 else "nii"
        write(folder / f"truth/{name}.{ending}", truth, spacing, types[seed % len(types)], big_endian=seed % 4 == 1)
        write(folder / f"pred/{name}.nii.gz", prediction, spacing, types[(seed + 3) % len(types)])
    table = run(program, "mask", "metrics", "--truth", folder / "truth", "--pred", folder / "pred", "--list", folder / "list.txt").stdout
    worst, count = 0.0, 0
    for row, (seed, name) in zip(csv.DictReader(table.splitlines()), enumerate(names), strict=True):
        truth, prediction, spacing = made(seed)
        assert row["id"] == name
        for metric, value in quality(truth, prediction, spacing.astype(float)).items():
            assert (value is None) == (row[metric] == ""), (name, metric, value, row[metric])
            if value is not None:
                worst, count = max(worst, abs(value - float(row[metric])) / max(1.0, abs(value))), count + 1
    print(f"{count} figures of {len(names)} volumes, largest relative difference {worst:.1e}")
    assert worst < 1e-5, "the voxels' distances are stored with seven digits"


def check_maps(program, folder):
    for kind in ("masks", "images"):
        (folder / kind).mkdir()
    random = np.random.default_rng(1)
    names = [f"m{i:02}" for i in range(24)]
    (folder / "list.txt").write_text("\n".join(names))
    (folder / "tiny.toml").write_text(TINY)
    for name in names:
        mask = ball((6, 20, 24), random.uniform((2, 8, 8), (4, 12, 16)), (3, 6, 6)).astype(np.uint8)
        write(folder / f"masks/{name}.nii.gz", mask, (3.0, 0.7, 0.7), "uint8")
        write(folder / f"images/{name}.nii", 400.0 * mask + random.normal(0, 30, mask.shape) - 500, (3.0, 0.7, 0.7), "int16")
    where = ["--masks", folder / "masks", "--images", folder / "images", "--list", folder / "list.txt"]
    run(program, "mask", "fit", *where, "--config", folder / "tiny.toml", "-o", folder / "m.gnsm")
    table = run(program, "mask", "score", folder / "m.gnsm", *where, "--maps", folder / "maps").stdout
    for row in csv.DictReader(table.splitlines()):
        mask, drawn = (nibabel.load(folder / f"{kind}/{row['id']}.nii.gz") for kind in ("masks", "maps"))
        assert drawn.shape == mask.shape and np.array_equal(drawn.affine, mask.affine), row
        assert drawn.get_data_dtype() == np.float32 and np.isfinite(drawn.get_fdata()).all() and drawn.get_fdata().any()
        assert 0 <= int(row["slice"]) < 6 and float(row["score"]) > 0
    print(f"{len(names)} maps have the place of their masks")


if __name__ == "__main__":
    if len(sys.argv) == 1:
        quoted()
    else:
        for check in (check_metrics, check_maps):
            with tempfile.TemporaryDirectory() as folder:
                check(sys.argv[1], Path(folder))
