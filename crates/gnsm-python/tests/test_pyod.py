"""What PyOD tests of each of its detectors, for every method."""

import copy

import gnsm
import gnsm.pyod
import numpy
import pytest
from numpy.testing import assert_allclose, assert_array_equal, assert_array_less, assert_equal
from pyod.utils.data import generate_data
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from test_sklearn import SMALL

CLASSES = [("GNSM", "cells"), *zip(gnsm.pyod.__all__[1:], gnsm.METHODS)]
#: Methods for categories, and networks that were hardly trained, need not find what is far out in numbers.
BLIND = {"row-count", "cbrw", "homophily", "gnsm", "dsvdd", "dagmm", "comprex", "marginals"}


@pytest.fixture(params=CLASSES, ids=lambda pair: pair[0])
def case(request):
    name, method = request.param
    train, test, truth_train, truth_test = generate_data(
        n_train=200, n_test=100, n_features=2, contamination=0.1, random_state=42
    )
    if method in ("comprex", "homophily"):
        # These look at categories: whole numbers of which there are few.
        train, test = train.round(), test.round()
    detector = getattr(gnsm.pyod, name)(contamination=0.1, settings=SMALL.get(method))
    return method, detector.fit(train), train, test, truth_train, truth_test


def test_a_detector(case):
    method, detector, train, test, truth_train, truth_test = case
    for attribute in ("decision_scores_", "labels_", "threshold_", "_mu", "_sigma"):
        assert getattr(detector, attribute, None) is not None
    assert_equal(len(detector.decision_scores_), train.shape[0])

    scores = detector.decision_function(test)
    assert_equal(scores.shape[0], test.shape[0])
    if method not in BLIND:
        assert roc_auc_score(truth_test, scores) >= 0.8

    assert_equal(detector.predict(test).shape, truth_test.shape)
    for how in ("linear", "unify"):
        chances = detector.predict_proba(test, method=how)
        assert chances.min() >= 0 and chances.max() <= 1
        assert_allclose(chances.sum(axis=1), 1)
    with pytest.raises(ValueError):
        detector.predict_proba(test, method="something")

    labels, confidence = detector.predict(test, return_confidence=True)
    assert_equal(labels.shape, truth_test.shape)
    assert confidence.min() >= 0 and confidence.max() <= 1
    assert_array_equal(confidence, detector.predict_confidence(test))

    ranks = detector._predict_rank(test)
    assert_allclose(rankdata(ranks), rankdata(scores), atol=3)
    assert_array_less(ranks, train.shape[0] + 1)
    assert_array_less(-0.1, ranks)
    normal = detector._predict_rank(test, normalized=True)
    assert_array_less(normal, 1.01)
    assert_array_less(-0.1, normal)

    assert_array_equal(detector.fit_predict(train), detector.labels_)
    detector.fit_predict_score(test, truth_test)
    detector.fit_predict_score(test, truth_test, scoring="prc_n_score")
    with pytest.raises(NotImplementedError):
        detector.fit_predict_score(test, truth_test, scoring="something")
    assert_equal(clone(detector).get_params()["contamination"], 0.1)
    assert_array_equal(copy.deepcopy(detector).decision_function(test), detector.decision_function(test))


def test_one_set_of_rows_and_wrong_ones(frame):
    detector = gnsm.pyod.GNSM(contamination=0.05).fit(frame)
    assert detector.decision_scores_.argmax() == 250 and detector.labels_[250] == 1
    assert detector.labels_.sum() == pytest.approx(0.05 * len(frame), abs=2)
    with pytest.raises(gnsm.GnsmError, match="has 2 columns|have 2 columns"):
        detector.predict(numpy.zeros((3, 2)))
    with pytest.raises(ValueError):
        gnsm.pyod.GNSM(contamination=10.0)
