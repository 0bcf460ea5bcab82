"""Estimators for scikit-learn: `GNSM`, whose `method` is a parameter, and one class for each method.

    from gnsm.sklearn import GNSM, IsolationForest

    detector = GNSM(contamination=0.02).fit(df)
    detector.predict(new)            # -1 is odd, 1 is usual
    detector.model_.explain(new)     # why

Frames keep their types: categories, texts and dates need no encoding. An array of numbers is taken as it is, but for
`RowCount`, `CBRW`, `Homophily` and `CompreX`, which judge categories: they get its columns in ten steps of equal width.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from . import _estimators
from ._gnsm import METHODS


class GNSM(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """Finds odd rows without labels.

    Parameters
    ----------
    contamination : float, default=0.01
        The share of the training rows that `predict` takes for odd.
    random_state : int, RandomState or None, default=None
        The seed. None is 0: the same rows always give the same model.
    settings : dict or None
        Settings of the method in place of its own; `gnsm.settings(method)` shows them.
    categorical, numeric, ignore : lists of columns or None
        What these columns are to be taken for; by name, or by place in an array. The kinds of the others are found.
    max_seconds : float or None
        Ends training after so many seconds with the best so far.

    Attributes
    ----------
    model_ : gnsm.Model
        The fitted model, which explains.
    offset_ : float
        `decision_function` is `score_samples` minus this.
    n_features_in_ : int
    feature_names_in_ : array of the columns' names, for frames
    """

    _parameter_constraints = {
        "method": [StrOptions(set(METHODS))],
        "contamination": [Interval(Real, 0, 0.5, closed="right")],
        "random_state": ["random_state"],
        "settings": [dict, None],
        "categorical": ["array-like", None],
        "numeric": ["array-like", None],
        "ignore": ["array-like", None],
        "max_seconds": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        *,
        method: str = "cells",
        contamination: float = 0.01,
        random_state: Any = None,
        settings: Mapping[str, Any] | None = None,
        categorical: Iterable[Any] | None = None,
        numeric: Iterable[Any] | None = None,
        ignore: Iterable[Any] | None = None,
        max_seconds: float | None = None,
    ) -> None:
        self.method = method
        self.contamination = contamination
        self.random_state = random_state
        self.settings = settings
        self.categorical = categorical
        self.numeric = numeric
        self.ignore = ignore
        self.max_seconds = max_seconds

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _table(self, X: Any, reset: bool) -> tuple[Any, int]:
        """The rows as `gnsm.fit` takes them, and how many there are."""
        if _estimators.is_frame(X) and (reset or _estimators.was_frame(self) is not False):
            validate_data(self, X, skip_check_array=True, reset=reset)
            n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
            if n_rows == 0:
                raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
            return _estimators.as_table(X), n_rows
        X = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        if X.dtype.kind == "c":
            raise ValueError("Complex data not supported")
        if X.dtype.kind == "O":
            # Numbers in an array of objects are numbers, and texts stay texts.
            try:
                X = check_array(X, dtype="float64", ensure_all_finite="allow-nan")
            except (TypeError, ValueError):
                pass
        return _estimators.as_table(X, None if reset else self), X.shape[0]

    def fit(self, X: Any, y: Any = None) -> GNSM:
        """Learns what is usual. `y` is not used."""
        self._validate_params()
        table, n_rows = self._table(X, reset=True)
        if n_rows < 2:
            raise ValueError(f"there is nothing to compare: n_samples = {n_rows}; give at least 2")
        seed = 0 if self.random_state is None else self.random_state
        if not isinstance(seed, Integral):
            seed = check_random_state(seed).randint(2**31)
        table = _estimators.fit(self, table, n_rows, int(seed))
        self.offset_ = _offset(self._score(table), self.contamination)
        return self

    def _score(self, table: Any) -> Any:
        return -numpy.asarray(_estimators.score(self, table)["score"])

    def score_samples(self, X: Any) -> Any:
        """How usual each row is: the score with its sign turned, so that lower is odder, as everywhere in scikit-learn."""
        check_is_fitted(self)
        return self._score(self._table(X, reset=False)[0])

    def decision_function(self, X: Any) -> Any:
        """`score_samples` minus `offset_`: below 0 is odd."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> Any:
        """-1 for odd rows, 1 for usual ones."""
        return numpy.where(self.decision_function(X) < 0, -1, 1)

    def p_values(self, X: Any) -> Any:
        """For each row, the share of usual rows that are at least as odd."""
        check_is_fitted(self)
        return numpy.asarray(_estimators.score(self, self._table(X, reset=False)[0])["p_value"])


def _offset(scores: Any, contamination: float) -> float:
    """The score below which rows are odd. Of many equally odd rows, all are, rather than none."""
    offset = float(numpy.percentile(scores, 100 * contamination))
    if not (scores < offset).any():
        usual = scores[scores > scores.min()]
        offset = float(usual.min()) if len(usual) else offset
    return offset


if TYPE_CHECKING:
    # What `make_classes` makes below, for type checkers, which do not run it. A test compares it with the one list.
    class _OneMethod(GNSM):
        def __init__(
            self,
            *,
            contamination: float = 0.01,
            random_state: Any = None,
            settings: Mapping[str, Any] | None = None,
            categorical: Iterable[Any] | None = None,
            numeric: Iterable[Any] | None = None,
            ignore: Iterable[Any] | None = None,
            max_seconds: float | None = None,
        ) -> None: ...

    class Cells(_OneMethod): ...
    class GumbelScoreMatching(_OneMethod): ...
    class Marginals(_OneMethod): ...
    class RowCount(_OneMethod): ...
    class PCA(_OneMethod): ...
    class GMM(_OneMethod): ...
    class ECOD(_OneMethod): ...
    class IsolationForest(_OneMethod): ...
    class KNN(_OneMethod): ...
    class CBRW(_OneMethod): ...
    class Homophily(_OneMethod): ...
    class OCSVM(_OneMethod): ...
    class CompreX(_OneMethod): ...
    class DSVDD(_OneMethod): ...
    class DAGMM(_OneMethod): ...

_classes = _estimators.make_classes(GNSM, __name__)
for _class in _classes.values():
    _class._parameter_constraints = {  # type: ignore[attr-defined]
        name: rule for name, rule in GNSM._parameter_constraints.items() if name != "method"
    }
globals().update(_classes)

__all__ = ["GNSM", *_classes]
