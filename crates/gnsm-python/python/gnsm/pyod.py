"""Detectors for PyOD: `GNSM`, whose `method` is a parameter, and one class for each method.

    from gnsm.pyod import GNSM, KNN

    detector = GNSM(contamination=0.05)
    detector.fit(X)
    detector.labels_, detector.decision_scores_, detector.predict_proba(new)

`decision_scores_` judges each training row as if it had not been there, where the method can do that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy
from pyod.models.base import BaseDetector
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from . import _estimators
from ._gnsm import GnsmError


class GNSM(BaseDetector):  # type: ignore[misc]
    """Finds odd rows without labels.

    contamination: the share of the training rows that is taken for odd.
    random_state: the seed, a whole number. The same rows and seed give the same model.
    settings: settings of the method in place of its own; `gnsm.settings(method)` shows them.
    categorical, numeric, ignore: lists of columns that are to be taken for this; by name, or by place in an array.
    max_seconds: ends training after so many seconds with the best so far.

    `model_` is the fitted `gnsm.Model`, which explains.
    """

    def __init__(
        self,
        contamination: float = 0.1,
        method: str = "cells",
        random_state: int | None = None,
        settings: Mapping[str, Any] | None = None,
        categorical: Iterable[Any] | None = None,
        numeric: Iterable[Any] | None = None,
        ignore: Iterable[Any] | None = None,
        max_seconds: float | None = None,
    ) -> None:
        super().__init__(contamination=contamination)
        self.method = method
        self.random_state = random_state
        self.settings = settings
        self.categorical = categorical
        self.numeric = numeric
        self.ignore = ignore
        self.max_seconds = max_seconds

    def _table(self, X: Any) -> tuple[Any, int]:
        if _estimators.is_frame(X) and _estimators.was_frame(self) is not False:
            n_columns, n_rows = X.shape[1], X.shape[0]
        else:
            X = check_array(X, dtype=None, ensure_all_finite="allow-nan")
            n_columns, n_rows = X.shape[1], X.shape[0]
        fitted = vars(self).get("n_features_in_", n_columns)
        if n_columns != fitted:
            raise GnsmError(f"the rows have {n_columns} columns, and the model was fitted on {fitted}")
        return _estimators.as_table(X, self), n_rows

    def fit(self, X: Any, y: Any = None) -> GNSM:
        """Learns what is usual. `y` is not used."""
        for learned in ("n_features_in_", "from_frame_"):
            self.__dict__.pop(learned, None)
        table, n_rows = self._table(X)
        self._set_n_classes(y)
        self.n_features_in_: int = X.shape[1] if hasattr(X, "shape") else len(table)
        table = _estimators.fit(self, table, n_rows, self.random_state or 0)
        own = n_rows >= _estimators.FEWEST
        self.decision_scores_ = numpy.array(_estimators.score(self, table, own)["score"])
        self._process_decision_scores()
        return self

    def decision_function(self, X: Any) -> Any:
        """The score of each row; higher is odder."""
        check_is_fitted(self, ["decision_scores_", "threshold_", "labels_"])
        return numpy.array(_estimators.score(self, self._table(X)[0])["score"])


if TYPE_CHECKING:
    # What `make_classes` makes below, for type checkers, which do not run it. A test compares it with the one list.
    class _OneMethod(GNSM):
        def __init__(
            self,
            contamination: float = 0.1,
            random_state: int | None = None,
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
globals().update(_classes)

__all__ = ["GNSM", *_classes]
