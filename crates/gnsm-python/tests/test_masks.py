"""Masks from arrays and folders; the same bits as the command line."""

import copy
import pickle
import struct
import zlib

import gnsm
import gnsm.masks
import numpy
import pandas
import pytest
from test_model import command

#: A network so small that it is trained in seconds.
TINY = {
    "gnsm": {"training": {"steps": 3, "validate_every": 3, "batch": 4}},
    "dsvdd": {"training": {"steps": 3, "validate_every": 3, "batch": 4}},
}


def squares(n=40, side=24):
    """Images with a bright square, and masks that follow it; the last mask is somewhere else, and much larger."""
    draw = numpy.random.default_rng(4)
    images = draw.integers(0, 60, (n, side, side, 3)).astype("uint8")
    masks = numpy.zeros((n, side, side), dtype="uint8")
    for place in range(n):
        top, left = draw.integers(2, side - 10, 2)
        size = draw.integers(5, 8)
        images[place, top : top + size, left : left + size] += 120
        masks[place, top : top + size, left : left + size] = 1 + place % 2
    return masks, images


def spoilt(masks):
    odd = masks.copy()
    odd[-1] = 0
    odd[-1, :20, :] = 1
    return odd


def png(array):
    """The bytes of a PNG of grey or of red, green and blue."""
    height, width = array.shape[:2]

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0 if array.ndim == 2 else 2, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in array)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def names(n):
    return [f"m{place:02}" for place in range(n)]


@pytest.fixture
def folder(tmp_path):
    masks, images = squares()
    for part, arrays in (("masks", masks), ("images", images), ("pred", spoilt(masks))):
        (tmp_path / part).mkdir()
        for name, array in zip(names(len(arrays)), arrays):
            (tmp_path / part / f"{name}.png").write_bytes(png(array))
    (tmp_path / "list.txt").write_text("\n".join(names(len(masks))))
    return tmp_path


@pytest.mark.parametrize("method", gnsm.masks.METHODS)
def test_arrays_folders_and_the_command_line_agree_to_the_bit(folder, method):
    masks, images = squares()
    settings = TINY.get(method)
    options = {"method": method, "settings": settings, "seed": 3, "size": 16}
    model = gnsm.masks.fit(masks, images, **options)
    from_folder = gnsm.masks.fit(folder / "masks", folder / "images", names=folder / "list.txt", **options)
    assert model.to_bytes() == from_folder.to_bytes()
    if settings:
        lines = [f"training.{name} = {value}" for name, value in settings["training"].items()]
        (folder / "tiny.toml").write_text("\n".join(lines))
    config = ["--config", "tiny.toml"] if settings else []
    given = ["--images", "images", "--list", "list.txt"]
    fit = command(
        *["mask", "fit", "--masks", "masks", *given, "-o", "masks.gnsm", "--method", method, "--seed", "3"],
        *["--size", "16", *config],
        cwd=folder,
    )
    assert fit.returncode == 0, fit.stderr
    assert (folder / "masks.gnsm").read_bytes() == model.to_bytes()
    score = command("mask", "score", "masks.gnsm", "--masks", "pred", *given, "-o", "scores.csv", cwd=folder)
    assert score.returncode == 0, score.stderr
    expected = pandas.read_csv(folder / "scores.csv")
    for scores in (
        model.score(spoilt(masks), images, names=names(len(masks))),
        gnsm.masks.load(folder / "masks.gnsm").score(folder / "pred", folder / "images"),
    ):
        assert list(scores.columns) == ["id", "score", "p_value", "anomaly"]
        assert list(scores["id"]) == list(expected["id"])
        assert numpy.array_equal(scores["score"], expected["score"])
        assert numpy.array_equal(scores["p_value"], expected["p_value"])


def test_models_of_masks_find_the_odd_one_and_travel():
    masks, images = squares()
    model = gnsm.masks.fit(list(masks), method="foreground-share")
    scores = model.score({f"n{place}": mask for place, mask in enumerate(spoilt(masks))}, contamination=0.3)
    assert scores["score"].idxmax() == len(masks) - 1 and scores["id"].iloc[-1] == "n39"
    assert scores["anomaly"].iloc[-1] and not scores["anomaly"].all()
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert twin.score(masks).equals(model.score(masks))
    assert model.method == "foreground-share" and model.info["preparation"]["classes"] == 3
    assert repr(model) == "<gnsm.masks.MaskModel foreground-share, 3 classes, 40 masks>"
    assert model.maps(masks) == [None] * len(masks), "it cannot tell which pixels are odd"


@pytest.mark.skipif("gnsm" not in gnsm.masks.METHODS, reason="this build has no networks for masks")
def test_maps_have_each_pixel_s_part():
    masks, images = squares()
    model = gnsm.masks.fit(masks, images, method="gnsm", settings=TINY["gnsm"], size=16, progress=lambda step: None)
    maps = model.maps(masks[:3], images[:3])
    assert [one.shape for one in maps] == [(16, 16)] * 3 and all(numpy.isfinite(one).all() for one in maps)
    with pytest.raises(gnsm.GnsmError, match="gnsm looks at the images"):
        model.score(masks)
    assert gnsm.masks.settings("gnsm")["training"]["steps"] > 3


def test_metrics_are_those_of_the_command_line(folder):
    masks, _ = squares()
    found = gnsm.masks.metrics(masks, spoilt(masks), names=names(len(masks)))
    assert (found["dice"].iloc[:-1] == 1).all() and found["dice"].iloc[-1] < 0.5
    run = command(
        *["mask", "metrics", "--truth", "masks", "--pred", "pred", "--list", "list.txt", "-o", "metrics.csv"],
        cwd=folder,
    )
    assert run.returncode == 0, run.stderr
    expected = pandas.read_csv(folder / "metrics.csv")
    assert list(expected.columns) == list(found.columns) and list(expected["id"]) == list(found["id"])
    for name in expected.columns[1:]:
        assert numpy.array_equal(expected[name], found[name], equal_nan=True), name
    assert gnsm.masks.metrics(folder / "masks", folder / "pred").equals(found)
    with pytest.warns(gnsm.GnsmWarning, match="no mask has any foreground"):
        gnsm.masks.metrics(masks[:2] * 0, masks[:2] * 0)


def test_one_bad_mask_does_not_stop_the_others(folder):
    model = gnsm.masks.fit(folder / "masks", method="largest-component")
    (folder / "pred" / "m03.png").write_bytes(b"no picture")
    (folder / "pred" / "m05.png").unlink()
    with pytest.warns(gnsm.GnsmWarning) as caught:
        scores = model.score(folder / "pred", names=names(40))
    texts = [str(warning.message) for warning in caught]
    assert any("m03.png: is not readable as a PNG" in text for text in texts)
    assert any("m05.png: No such file" in text for text in texts)
    assert list(numpy.flatnonzero(scores["score"].isna())) == [3, 5]
    assert not scores["anomaly"].iloc[[3, 5]].any()
    with pytest.raises(gnsm.GnsmError, match="2 of 40 masks cannot be used; the first: .*m03.png"):
        gnsm.masks.fit(folder / "pred", names=names(40), method="largest-component")
    good = squares()[0]
    bad = {
        "float64": good[0] / 2,
        "holds -3 to": good[0].astype(int) - 3,
        "has 3 dimensions": good,
        "is None": None,
        "has no pixels": good[0][:0],
        "is no array": [[1], [2, 3]],
    }
    with pytest.warns(gnsm.GnsmWarning) as caught:
        found = model.score([good[0], *bad.values(), good[1]])
    assert list(numpy.flatnonzero(found["score"].isna())) == [1, 2, 3, 4, 5, 6]
    texts = [str(warning.message) for warning in caught]
    for place, (words, _) in enumerate(bad.items()):
        assert any(text.startswith(f"mask {place + 1}: ") and words in text for text in texts), (words, texts)
    alone = model.score(good[:2])
    assert numpy.array_equal(found["score"].iloc[[0, 7]], alone["score"])
    with pytest.warns(gnsm.GnsmWarning, match="mask 1: is None"):
        assert model.maps([good[0], None])[1] is None
    with pytest.warns(gnsm.GnsmWarning, match="mask 1: is None"):
        quality = gnsm.masks.metrics([good[0], good[1]], [good[0], None])
    assert quality["dice"].iloc[0] == 1 and numpy.isnan(quality["dice"].iloc[1])
    high = squares()[0]
    high[2, 0, 0] = 9
    with pytest.warns(gnsm.GnsmWarning, match="mask 2: holds class 9, and classes are 0 to 2"):
        assert numpy.isnan(model.score(high)["score"].iloc[2])


def test_few_masks_a_page_and_scores_by_a_function(tmp_path):
    masks = squares()[0]
    with pytest.warns(gnsm.GnsmWarning, match="these are too few masks to calibrate well: with 4 held out"):
        model = gnsm.masks.fit(masks, method="largest-component")
    page = model._repr_html_()
    assert "largest-component" in page and "by quantile" in page and "training masks" in page
    expected = model.score(masks, threshold=3)
    model.save(tmp_path / "masks.gnsm")
    for one in (model, tmp_path / "masks.gnsm", str(tmp_path / "masks.gnsm")):
        assert gnsm.masks.score(one, masks, threshold=3).equals(expected)
    with pytest.raises(gnsm.GnsmError, match="a int is no model of masks"):
        gnsm.masks.score(3, masks)


def test_what_are_no_masks(tmp_path):
    masks, images = squares()
    method = "foreground-share"

    def problem(*arguments, **named):
        with pytest.raises(gnsm.GnsmError) as caught:
            gnsm.masks.fit(*arguments, **{"method": method, **named})
        return str(caught.value)

    assert "whole numbers from 0 to 255, not float64" in problem(masks / 2)
    assert "mask 0: holds 0 to 1000" in problem(masks.astype(int) * 1000)
    assert "mask 0: has 1 dimensions, not 2" in problem(masks[0])
    assert "there are no masks" in problem([])
    assert "a int is no masks" in problem(3)
    assert "40 masks and 39 images" in problem(masks, images[:-1])
    assert "mask 0: has 24 × 24 pixels, its image 24 × 12" in problem(masks, images[:, ::2])
    assert "mask 0: its image is 24 by 24 by 2" in problem(masks, images[..., :2])
    assert "both folders or both arrays" in problem(tmp_path, images)
    assert "holds no .png file" in problem(tmp_path)
    assert "No such file" in problem(tmp_path, names=tmp_path / "list.txt")
    assert "40 arrays and 1 names" in problem(masks, names=["a"])
    assert "there is no mask or image `b`" in problem({"a": masks[0]}, names=["a", "b"])
    assert "give at least 20" in problem(masks[:5])
    assert "no mask has any foreground" in problem(masks * 0)
    assert "`magic` is not one of" in problem(masks, method="magic")
    assert "setting `classes`: is 1, must lie between 2 and 256" in problem(masks, classes=1)
    assert "setting `void`: is 300" in problem(masks, void=300)
    assert "has no settings" in problem(masks, settings={"steps": 3})
    assert "--preset and --head are for the method gnsm" in problem(masks, preset="fast")
    assert "give a positive number of seconds" in problem(masks, max_seconds=0)
    assert "setting `seed`: is -1" in problem(masks, seed=-1)
    with pytest.warns(gnsm.GnsmWarning, match="max_seconds limits training"):
        gnsm.masks.fit(masks, method=method, max_seconds=5)
    with pytest.raises(gnsm.GnsmError, match="2 true masks and 3 predicted ones"):
        gnsm.masks.metrics(masks[:2], masks[:3])


def test_damaged_models_of_masks(tmp_path):
    data = gnsm.masks.fit(squares()[0], method="largest-component").to_bytes()
    for place in range(0, len(data), max(1, len(data) // 40)):
        damaged = bytearray(data)
        damaged[place] ^= 0x41
        with pytest.raises(gnsm.GnsmError):
            gnsm.masks.MaskModel.from_bytes(bytes(damaged))
    (tmp_path / "masks.gnsm").write_bytes(data[:50])
    with pytest.raises(gnsm.GnsmError, match="masks.gnsm"):
        gnsm.masks.load(tmp_path / "masks.gnsm")
    (tmp_path / "masks.gnsm").write_bytes(data)
    with pytest.raises(gnsm.GnsmError, match="gnsm-mask-model file, not a gnsm-model file"):
        gnsm.load(tmp_path / "masks.gnsm")
    with pytest.raises(gnsm.GnsmError, match="is a folder"):
        gnsm.masks.load(tmp_path / "masks.gnsm").save(tmp_path)
