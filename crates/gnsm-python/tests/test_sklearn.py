"""scikit-learn's own checks, for every method."""

import gnsm
import gnsm.sklearn
import numpy
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

#: Small networks, so that the many fits of the checks take seconds.
SMALL = {
    "gnsm": {"training": {"steps": 30, "validate_every": 10}, "network": {"width": 8, "depth": 1}},
    "dsvdd": {"layers": [8, 4], "training": {"steps": 30}},
    "dagmm": {"layers": [8, 4], "training": {"steps": 30}},
}


def estimators():
    yield gnsm.sklearn.GNSM()
    for name, method in zip(gnsm.sklearn.__all__[1:], gnsm.METHODS):
        yield getattr(gnsm.sklearn, name)(settings=SMALL.get(method))


#: These look at categories only. The checks' clouds of numbers are all alike to them, so there is nothing to set apart.
BLIND = {
    check: "judges categories; numbers without a pattern are all alike to it"
    for check in ("check_outliers_fit_predict", "check_outliers_train")
}


def cannot_apply(estimator):
    return BLIND if type(estimator).__name__ in ("CompreX", "Homophily") else {}


@parametrize_with_checks(list(estimators()), expected_failed_checks=cannot_apply)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_there_is_a_class_for_each_method():
    assert len(gnsm.sklearn.__all__) == len(gnsm.METHODS) + 1
    for name, method in zip(gnsm.sklearn.__all__[1:], gnsm.METHODS):
        estimator = getattr(gnsm.sklearn, name)()
        assert estimator._method == method and "method" not in estimator.get_params()
        assert type(clone(estimator)) is type(estimator)
    assert {"Cells", "IsolationForest", "KNN", "GumbelScoreMatching"} <= set(gnsm.sklearn.__all__)


def test_frames_keep_their_types(frame):
    detector = gnsm.sklearn.GNSM(contamination=0.01).fit(frame)
    assert list(detector.feature_names_in_) == list(frame.columns)
    assert detector.score_samples(frame).argmin() == 250
    assert detector.predict(frame)[250] == -1
    assert detector.model_.to_bytes() == gnsm.fit(frame).to_bytes()
    with pytest.raises(ValueError, match="feature names"):
        detector.predict(frame.rename(columns={"amount": "sum"}))


def test_pipelines_and_searches(frame):
    numbers = frame[["amount"]].fillna(100).assign(other=numpy.arange(len(frame)) % 17)
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), gnsm.sklearn.KNN())
    assert pipeline.fit(numbers).predict(numbers).shape == (len(frame),)
    columns = ColumnTransformer([("keep", "passthrough", ["account", "amount"])]).set_output(transform="pandas")
    scores = make_pipeline(columns, gnsm.sklearn.Cells()).fit(frame).score_samples(frame)
    assert set(scores.argsort()[:2]) == {5, 250}  # the only missing amount, and the largest one

    def quality(detector, rows, truth):
        return -detector.score_samples(rows).mean()

    search = GridSearchCV(gnsm.sklearn.GNSM(), {"method": ["ecod", "marginals"]}, scoring=quality, cv=2)
    assert search.fit(numbers).best_params_["method"] in ("ecod", "marginals")
