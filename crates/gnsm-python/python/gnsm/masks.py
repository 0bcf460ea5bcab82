"""Segmentation masks: finds masks that do not fit their images, and measures masks against the truth.

    import gnsm.masks

    model = gnsm.masks.fit("masks", "images", names="train.txt")      # folders, or arrays
    scores = model.score("predicted", "images", names="val.txt")      # id, score, p_value, anomaly
    quality = gnsm.masks.metrics("masks", "predicted", names="val.txt")

A mask gives every pixel a class, from 0 to 255; class 0 is the background. Masks are a folder of `NAME.png`, an array
of masks by height by width, a list of arrays that may differ in size, or a dict of arrays by name. Images are given in
the same way: a folder of `NAME.jpg` or `NAME.png`, or arrays of grey or of red, green and blue, from 0 to 255.

Answers are pandas frames, or dicts of columns where pandas is not installed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from . import _gnsm, _html
from ._data import checked_name, optional, path_of
from ._gnsm import MASK_METHODS as METHODS
from ._gnsm import GnsmError, MaskCore
from ._model import named, rule_of, score_columns, seconds, settings_text, whole
from ._work import Teller, Wanted, warn

__all__ = ["METHODS", "MaskModel", "fit", "load", "metrics", "score", "settings"]

Source = tuple[Any, ...]
#: Height, width and all bytes of an array.
Packed = tuple[int, int, bytes]


def settings(method: str = METHODS[0], *, preset: str | None = None, head: str | None = None) -> dict[str, Any]:
    """The default settings of a method: what `fit(settings=...)` may change."""
    method = checked_name(str(method), "the name")
    found: dict[str, Any] | None = json.loads(_gnsm.mask_settings(method, named(preset), named(head)))
    return found or {}


def fit(
    masks: Any,
    images: Any = None,
    *,
    names: Any = None,
    method: str = METHODS[0],
    preset: str | None = None,
    head: str | None = None,
    settings: Mapping[str, Any] | None = None,
    classes: int | None = None,
    size: int | None = None,
    void: int | None = 255,
    seed: int = 0,
    max_seconds: float | None = None,
    progress: Wanted = None,
) -> MaskModel:
    """Learns from good masks, and from their images where the method looks at them.

    names: which masks of a folder: a list of names, or the path of a file with one name a line; all if it is not given.
        For arrays, what to call them in answers.
    method: one of `gnsm.masks.METHODS`.
    preset, head, settings: as on the command line; `gnsm.masks.settings(method)` shows the settings.
    classes: the number of classes, with the background; found in the masks if it is not given.
    size: masks are resized to so many pixels a side; the method's own if it is not given.
    void: the class of pixels that nobody can judge, or None. They are taken for background.
    seed: where all randomness comes from. The same masks, settings and seed give the same model.
    max_seconds: ends training after so many seconds with the best so far.
    progress: as for `gnsm.fit`.
    """
    source = _source(masks, images, names)[1]
    with Teller(progress) as teller:
        core, warnings = MaskCore.fit(
            source,
            method=checked_name(str(method), "the name"),
            preset=named(preset),
            head=named(head),
            settings=settings_text(settings),
            classes=None if classes is None else whole("classes", classes, 256),
            size=None if size is None else whole("size", size, 4096),
            void=None if void is None else whole("void", void, 255),
            seed=whole("seed", seed),
            max_seconds=seconds(max_seconds),
            tell=teller.function,
        )
    warn(warnings)
    return MaskModel(core)


def load(path: str | os.PathLike[str]) -> MaskModel:
    """Reads a model file, whether `MaskModel.save` or the command line wrote it."""
    return MaskModel(MaskCore.load(path_of(path)))


def score(model: MaskModel | str | os.PathLike[str], masks: Any, images: Any = None, **options: Any) -> Any:
    """`MaskModel.score`, of a model or of the path of its file."""
    if _is_path(model):
        model = load(model)  # type: ignore[arg-type]
    if not isinstance(model, MaskModel):
        raise GnsmError(f"a {type(model).__name__} is no model of masks; give what `gnsm.masks.fit` or `load` gave")
    return model.score(masks, images, **options)


def metrics(truth: Any, predicted: Any, *, names: Any = None, void: int | None = 255) -> Any:
    """How good masks are against the true ones: a line for each.

    dice: the overlap, 0 to 1: mean over the foreground classes; 1 if there are none.
    miou, pixacc: mean intersection over union; the share of right pixels.
    msd, hd95: mean surface distance and 95 % Hausdorff distance in pixels, over the classes that both masks have.
    msd_pen, hd95_pen: the same; a class that only one mask has costs the image's diagonal.
    dice_fg, msd_fg, hd95_fg: the same for all foreground against the background.
    n_classes, n_unmatched: how many classes there are; how many of them only one mask has.

    What is not defined is NaN, and so is all of a mask that cannot be used, which a warning names.
    """
    ids, true_source = _source(truth, None, names)
    has_names = _is_path(predicted) or isinstance(predicted, Mapping)
    others, source = _source(predicted, None, ids if has_names else names)
    if len(ids) != len(others):
        raise GnsmError(f"there are {len(ids)} true masks and {len(others)} predicted ones; give as many of both")
    columns, warnings = _gnsm.mask_metrics(true_source, source, None if void is None else whole("void", void, 255))
    warn(warnings)
    import numpy

    return _frame({"id": ids, **{name: numpy.frombuffer(values, dtype="<f8") for name, values in columns}})


class MaskModel:
    """A fitted model of masks. `gnsm.masks.fit` makes one, and `gnsm.masks.load` reads one from a file.

    It can be pickled and copied. What is pickled are the bytes of its file, in which nothing can run.
    """

    __slots__ = ("_core",)

    def __init__(self, core: MaskCore) -> None:
        self._core = core

    def score(
        self,
        masks: Any,
        images: Any = None,
        *,
        names: Any = None,
        contamination: float | None = None,
        fdr: float | None = None,
        threshold: float | None = None,
        progress: Wanted = False,
    ) -> Any:
        """A score, a p-value and a flag for each mask.

        score: higher is odder.
        p_value: the share of usual masks that are at least as odd.
        anomaly: whether the mask is flagged, by the rules of `gnsm.Model.score`.

        A mask that cannot be used has the score NaN, and a warning says why.
        """
        ids, source = _source(masks, images, names)
        with Teller(progress) as teller:
            scores, p_values, flags, warnings = self._core.score(
                source, rule_of(contamination, fdr, threshold), teller.function
            )
        warn(warnings)
        return _frame({"id": ids, **score_columns(scores, p_values, flags)})

    def maps(self, masks: Any, images: Any = None, *, names: Any = None, progress: Wanted = False) -> list[Any]:
        """Where each mask is odd: an array with each pixel's part of the score, at the size the model works with.

        None for a mask that cannot be used, and for all if the method cannot tell which pixels are odd.
        """
        import numpy

        source = _source(masks, images, names)[1]
        with Teller(progress) as teller:
            found, warnings = self._core.maps(source, teller.function)
        warn(warnings)
        return [
            None if one is None else numpy.frombuffer(one[2], dtype="<f4").reshape(one[0], one[1]) for one in found
        ]

    @property
    def info(self) -> dict[str, Any]:
        """All that `gnsm inspect` shows: method, settings, how masks are prepared, training curve, calibration."""
        found: dict[str, Any] = json.loads(self._core.describe())
        return found

    @property
    def method(self) -> str:
        """The name of the method."""
        return str(self.info["method"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a model file, which the command line reads too. It appears whole or not at all."""
        self._core.save(path_of(path))

    def to_bytes(self) -> bytes:
        """The bytes of the model's file."""
        return self._core.to_bytes()

    @staticmethod
    def from_bytes(data: bytes) -> MaskModel:
        """A model from the bytes of a file."""
        return MaskModel(MaskCore.from_bytes(data))

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return MaskModel.from_bytes, (self.to_bytes(),)

    def _repr_html_(self) -> str:
        return _html.mask_model(self.info)

    def __repr__(self) -> str:
        info = self.info
        classes, masks = info["preparation"]["classes"], sum(info["masks"].values())
        return f"<gnsm.masks.MaskModel {info['method']}, {classes} classes, {masks} masks>"


def _frame(columns: dict[str, Any]) -> Any:
    pandas = optional("pandas")
    return columns if pandas is None else pandas.DataFrame(columns)


def _is_path(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike))


def _source(masks: Any, images: Any, names: Any) -> tuple[list[str], Source]:
    """What to call the masks, and where they are."""
    if images is not None and _is_path(masks) != _is_path(images):
        raise GnsmError("masks and images are both folders or both arrays; give two of one kind")
    if _is_path(masks):
        ids = [checked_name(name, "the name") for name in _names_in(masks, names)]
        return ids, ("folder", ids, path_of(masks), None if images is None else path_of(images))
    ids, arrays = _arrays(masks, names)
    pictures = None
    if images is not None:
        image_ids, pictures = _arrays(images, ids if isinstance(images, Mapping) else None)
        if len(image_ids) != len(ids):
            raise GnsmError(f"there are {len(ids)} masks and {len(image_ids)} images; give as many of both")
    called = [f"mask {checked_name(name, 'the name')}" for name in ids]
    packed = [_or_problem(_mask, name, array) for name, array in zip(called, arrays)]
    images_packed = None
    if pictures is not None:
        images_packed = [_or_problem(_image, name, array) for name, array in zip(called, pictures)]
    return ids, ("arrays", called, packed, images_packed)


def _names_in(folder: str | os.PathLike[str], names: Any) -> list[str]:
    """The names that were asked for; those of all masks in the folder without that."""
    if _is_path(names):
        return _gnsm.mask_names(path_of(names))
    if names is not None:
        return [str(name) for name in _listed(names)]
    found = sorted(path.stem for path in Path(folder).glob("*.png"))
    if not found:
        raise GnsmError(f"{os.fspath(folder)}: holds no .png file; give a folder of masks")
    return found


def _listed(names: Any) -> Iterable[Any]:
    if not isinstance(names, Iterable):
        raise GnsmError(f"`names` is a list of names or the path of a file with one a line, not {names!r}")
    return names


def _arrays(given: Any, names: Any) -> tuple[list[str], list[Any]]:
    """Arrays and what to call them: by their keys, by the given names, or by their numbers."""
    if isinstance(given, Mapping):
        keys = list(given) if names is None else list(_listed(names))
        for key in keys:
            if key not in given:
                raise GnsmError(f"there is no mask or image `{key}`; give one for each name")
        return [str(key) for key in keys], [given[key] for key in keys]
    if not hasattr(given, "__len__"):
        raise GnsmError(f"a {type(given).__name__} is no masks; give a folder, an array, or a list or dict of arrays")
    arrays = list(given)
    ids = [str(place) for place in range(len(arrays))] if names is None else [str(name) for name in _listed(names)]
    if len(ids) != len(arrays):
        raise GnsmError(f"there are {len(arrays)} arrays and {len(ids)} names; give a name for each")
    if not arrays:
        raise GnsmError("there are no masks; give some")
    return ids, arrays


def _or_problem(packed: Callable[[str, Any], Packed], name: str, array: Any) -> Packed | str:
    """What the native part takes, or why this array is of no use: one must not spoil the others."""
    try:
        return packed(name, array)
    except GnsmError as error:
        return str(error)


def _bytes(name: str, array: Any, what: str) -> Any:
    """An array as whole numbers from 0 to 255."""
    import numpy

    if array is None:
        raise GnsmError(f"{name}: is None; {what} are arrays")
    try:
        array = numpy.asarray(array)
    except (TypeError, ValueError) as error:
        raise GnsmError(f"{name}: is no array ({error}); {what} are arrays") from None
    if array.dtype.kind not in "biu":
        wrong = f"{what} hold whole numbers from 0 to 255, not {array.dtype}"
        raise GnsmError(f"{name}: {wrong}; convert them with `.astype('uint8')`")
    if array.size and (array.min() < 0 or array.max() > 255):
        raise GnsmError(f"{name}: holds {array.min()} to {array.max()}; {what} hold whole numbers from 0 to 255")
    return array.astype("uint8")


def _mask(name: str, array: Any) -> Packed:
    found = _bytes(name, array, "masks")
    if found.ndim != 2:
        raise GnsmError(f"{name}: has {found.ndim} dimensions, not 2; give a class for each pixel, height by width")
    return found.shape[0], found.shape[1], found.tobytes()


def _image(name: str, array: Any) -> Packed:
    import numpy

    found = _bytes(name, array, "images")
    if found.ndim == 2:
        found = numpy.repeat(found[:, :, None], 3, axis=2)
    if found.ndim != 3 or found.shape[2] not in (3, 4):
        shape = " by ".join(str(length) for length in found.shape)
        raise GnsmError(f"{name}: its image is {shape}; give grey, or red, green and blue: height by width by 3")
    return found.shape[0], found.shape[1], found[:, :, :3].tobytes()
