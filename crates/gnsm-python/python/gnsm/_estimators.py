"""What the estimators for scikit-learn and PyOD share: their classes' names, and tables from what they are given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from . import _model
from ._data import given
from ._gnsm import METHODS, GnsmError

#: Fewer rows than this cannot be fitted. Estimators repeat the rows they are given until there are as many.
FEWEST = 20

_NAMES = {"gnsm": "GumbelScoreMatching", "comprex": "CompreX"}

_TITLES = {
    "cells": "How likely each cell is: given the rest of the row, by itself, and beside the nearest rows.",
    "gnsm": "Gumbel Noise Score Matching: a network that learns to undo noise.",
    "marginals": "How surprising each cell is by itself.",
    "row-count": "How often the whole row was seen.",
    "pca": "The distance from the mean, by how much rows vary in each direction.",
    "gmm": "A Gaussian mixture.",
    "ecod": "Tail probabilities of each column by itself.",
    "isolation-forest": "How few random cuts set a row apart.",
    "knn": "The distance to the k-th nearest training row.",
    "cbrw": "Coupled biased random walks between values that occur together.",
    "homophily": "The same walk, drawn to where odd values keep company.",
    "ocsvm": "A one-class support vector machine.",
    "comprex": "The length of a row in patterns of the training rows.",
    "dsvdd": "The distance of a row's code from a centre.",
    "dagmm": "The energy of a row's code and reconstruction in a Gaussian mixture.",
}


def class_name(method: str) -> str:
    """`IsolationForest` of `isolation-forest`, `KNN` of `knn`."""
    if method in _NAMES:
        return _NAMES[method]
    is_short = len(method) <= 5 and "-" not in method and method != "cells"
    return method.upper() if is_short else "".join(word.capitalize() for word in method.split("-"))


def make_classes(general: type, module: str) -> dict[str, type]:
    """One class for each method of the one list, made from the general one."""
    classes = {}
    for method in METHODS:
        name = class_name(method)
        title = _TITLES.get(method, f"The method `{method}`.")
        members = {"__doc__": f"{title}\n\n{general.__doc__}", "__module__": module, "_method": method}
        members["__init__"] = _init(general)
        classes[name] = type(name, (general,), members)
    return classes


def _init(general: type) -> Any:
    """A constructor with the general one's parameters, but for the method."""
    import inspect

    signature = inspect.signature(general.__init__)  # type: ignore[misc]
    kept = [parameter for name, parameter in signature.parameters.items() if name != "method"]

    def __init__(self: Any, **parameters: Any) -> None:
        general.__init__(self, **parameters)  # type: ignore[misc]
        del self.method

    __init__.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
    return __init__


def is_frame(data: Any) -> bool:
    """Whether the kinds of columns are to be found in a frame's types, and not all numbers."""
    return hasattr(data, "__arrow_c_stream__") or (hasattr(data, "iloc") and hasattr(data, "columns"))


def was_frame(estimator: Any) -> bool | None:
    """Whether the estimator was fitted on a frame; `None` if it was not fitted."""
    found: bool | None = vars(estimator).get("from_frame_")
    return found


def as_table(data: Any, estimator: Any = None) -> Any:
    """What `gnsm.fit` takes: an array gets names, so that its columns can be spoken of. Where the estimator was fitted on a
    frame, these are the frame's, by their places."""
    if is_frame(data):
        return data
    if estimator is not None and was_frame(estimator):
        names = [column.name for column in estimator.model_.columns]
    else:
        names = [f"column_{place + 1}" for place in range(data.shape[1])]
    return {name: data[:, place] for place, name in enumerate(names)}


def repeated(table: Any, n_rows: int) -> Any:
    """The table's rows again and again, until they are enough for a fit."""
    import numpy

    times = -(-FEWEST // max(n_rows, 1))
    places = numpy.tile(numpy.arange(n_rows), times)
    if isinstance(table, dict):
        return {name: values[places] for name, values in table.items()}
    if hasattr(table, "iloc"):
        return table.iloc[places].reset_index(drop=True)
    if hasattr(table, "take"):
        return table.take(places)
    return table[places.tolist()]


class Steps:
    """Numbers of an array as categories: ten steps of equal width between the lowest and the highest training row.

    The methods that judge categories cut numbers at their deciles. Then one number is as likely as any other, and none by
    itself is odd. Of steps of equal width, those far out hold few rows, so what lies there is odd.
    """

    def __init__(self, columns: Mapping[str, Any]) -> None:
        import numpy

        self.edges: dict[str, Any] = {}
        for name, values in columns.items():
            if values.dtype.kind not in "iuf":
                continue
            known = numpy.unique(values[~numpy.isnan(values)] if values.dtype.kind == "f" else values)
            if len(known) > STEPS:
                self.edges[name] = numpy.linspace(known[0], known[-1], STEPS + 1)

    def cut(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """The columns, with the numbers of those that were cut in training as texts."""
        return {name: self._texts(name, values) for name, values in columns.items()}

    def _texts(self, name: str, values: Any) -> Any:
        import numpy

        edges = self.edges.get(name)
        if edges is None:
            return values
        numbers = values.astype("float64")
        steps = numpy.searchsorted(edges, numbers, side="right")
        steps[numbers == edges[-1]] = STEPS
        between = [f"step {step}: {edges[step - 1]:.6g} to {edges[step]:.6g}" for step in range(1, STEPS + 1)]
        texts = numpy.array([f"below {edges[0]:.6g}", *between, f"above {edges[-1]:.6g}"], dtype=object)[steps]
        texts[numpy.isnan(numbers)] = None
        return texts


#: How many steps.
STEPS = 10
#: The methods that judge categories only.
JUDGE_CATEGORIES = frozenset(("row-count", "cbrw", "homophily", "comprex"))


def fit(estimator: Any, table: Any, n_rows: int, seed: int) -> Any:
    """Fits an estimator's model. An array's columns may be named by their places, from 0.

    Returns the table for `score`; a frame is turned into what the library reads only once.
    """
    is_array = isinstance(table, dict)
    estimator.from_frame_ = not is_array
    if not is_array and n_rows >= FEWEST:
        table = given(table)
    rows = table

    def named(columns: Iterable[Any] | None) -> list[str] | None:
        if columns is None:
            return None
        if isinstance(columns, (str, bytes)):
            raise GnsmError(f"columns come in a list; give [{columns!r}]")
        return [f"column_{c + 1}" if is_array and not isinstance(c, str) else str(c) for c in columns]

    method = getattr(estimator, "method", None) or estimator._method
    numeric = named(estimator.numeric)
    estimator.steps_ = None
    if is_array and method in JUDGE_CATEGORIES:
        kept = numeric or []
        estimator.steps_ = Steps({name: values for name, values in table.items() if name not in kept})
        rows = estimator.steps_.cut(table)
    estimator.model_ = _model.fit(
        repeated(rows, n_rows) if n_rows < FEWEST else rows,
        seed=seed,
        method=method,
        settings=estimator.settings,
        categorical=named(estimator.categorical),
        numeric=numeric,
        ignore=named(estimator.ignore),
        max_seconds=estimator.max_seconds,
        progress=False,
    )
    return table


def score(estimator: Any, table: Any, own: bool = False) -> Any:
    """The scores of rows. Nothing is set aside, since a row's score must not depend on the rows beside it."""
    if estimator.steps_ is not None:
        table = estimator.steps_.cut(table)
    return estimator.model_.score(table, own=own, threshold=0, drift=False)
