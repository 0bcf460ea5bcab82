"""What PyOD's repository tests of each of its detectors, on the same data and with the same bounds, for every class."""

import copy
import pickle

import gnsm
import gnsm.pyod
import numpy
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pyod.models.base import BaseDetector
from pyod.utils.data import generate_data
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from test_sklearn import SMALL

CLASSES = dict([("GNSM", "cells"), *zip(gnsm.pyod.__all__[1:], gnsm.METHODS)])
CONTAMINATION = 0.1
#: The AUROC that PyOD asks of its detectors.
LOWEST_AUROC = 0.8
#: How far the order of ranks may be from the order of scores, as in PyOD's tests of a detector by neighbours.
RANKS = 3

TRAIN, TEST, TRAIN_TRUTH, TEST_TRUTH = generate_data(
    n_train=200, n_test=100, n_features=2, contamination=CONTAMINATION, random_state=42
)

pytestmark = pytest.mark.filterwarnings("ignore:Function fit_predict:FutureWarning")


def new(name):
    return getattr(gnsm.pyod, name)(contamination=CONTAMINATION, settings=SMALL.get(CLASSES[name]))


@pytest.fixture(scope="module", params=CLASSES)
def detector(request):
    """A fitted detector. Tests that fit again take a clone."""
    return new(request.param).fit(TRAIN)


def are_shares(values):
    return values.min() >= 0 and values.max() <= 1


def test_it_is_a_detector_that_has_learned(detector):
    assert isinstance(detector, BaseDetector)
    for attribute in ("decision_scores_", "labels_", "threshold_", "_mu", "_sigma", "model_"):
        assert getattr(detector, attribute, None) is not None, attribute
    assert detector.fit(TRAIN) is detector


def test_training_scores_labels_and_threshold_belong_together(detector):
    assert detector.decision_scores_.shape == detector.labels_.shape == (len(TRAIN),)
    assert set(detector.labels_) <= {0, 1}
    assert_array_equal(detector.labels_, (detector.decision_scores_ > detector.threshold_).astype(int))
    # Equal scores are flagged together or not at all, so there may be fewer.
    ties = (detector.decision_scores_ == detector.threshold_).sum()
    assert CONTAMINATION * len(TRAIN) - ties <= detector.labels_.sum() <= CONTAMINATION * len(TRAIN)


def test_scores_of_new_rows_find_the_odd_ones(detector):
    scores = detector.decision_function(TEST)
    assert scores.shape == (len(TEST),) and scores.dtype == float and numpy.isfinite(scores).all()
    assert roc_auc_score(TEST_TRUTH, scores) >= LOWEST_AUROC
    assert roc_auc_score(TRAIN_TRUTH, detector.decision_scores_) >= LOWEST_AUROC
    assert_array_equal(detector.decision_function(TEST[::-1]), scores[::-1])
    assert_array_equal(detector.decision_function(TEST[:1]), scores[:1])


def test_labels_of_new_rows(detector):
    labels = detector.predict(TEST)
    assert labels.shape == TEST_TRUTH.shape
    assert_array_equal(labels, (detector.decision_function(TEST) > detector.threshold_).astype(int))


@pytest.mark.parametrize("method", [None, "linear", "unify"])
def test_probabilities(detector, method):
    chances = detector.predict_proba(TEST) if method is None else detector.predict_proba(TEST, method=method)
    assert chances.shape == (len(TEST), 2) and are_shares(chances)
    assert_allclose(chances.sum(axis=1), 1)


def test_another_way_to_probabilities_is_refused(detector):
    with pytest.raises(ValueError):
        detector.predict_proba(TEST, method="something")


def test_confidence(detector):
    labels, confidence = detector.predict(TEST, return_confidence=True)
    assert labels.shape == confidence.shape == TEST_TRUTH.shape and are_shares(confidence)
    assert_array_equal(confidence, detector.predict_confidence(TEST))
    chances, same = detector.predict_proba(TEST, method="linear", return_confidence=True)
    assert are_shares(chances)
    assert_array_equal(same, confidence)


def test_rejection(detector):
    assert detector.predict_with_rejection(TEST, return_stats=False).shape == TEST_TRUTH.shape
    _, (expected, upper, cost) = detector.predict_with_rejection(TEST, return_stats=True)
    assert 0 <= expected <= 1 and 0 <= upper <= 1 and cost >= 0


@pytest.mark.parametrize(("normalized", "most"), [(False, len(TRAIN)), (True, 1)])
def test_ranks_keep_the_order_of_scores(detector, normalized, most):
    ranks = detector._predict_rank(TEST, normalized=normalized)
    assert ranks.min() >= 0 and ranks.max() <= most
    assert_allclose(rankdata(ranks), rankdata(detector.decision_function(TEST)), atol=RANKS)


def test_fit_and_predict_at_once(detector):
    twin = clone(detector)
    assert_array_equal(twin.fit_predict(TRAIN), detector.labels_)
    for scoring in ("roc_auc_score", "prc_n_score"):
        assert 0 <= twin.fit_predict_score(TEST, TEST_TRUTH, scoring=scoring) <= 1
    with pytest.raises(NotImplementedError):
        twin.fit_predict_score(TEST, TEST_TRUTH, scoring="something")


def test_copies(detector):
    twin = clone(detector)
    assert type(twin) is type(detector) and not hasattr(twin, "decision_scores_")
    assert twin.get_params() == detector.get_params()
    assert twin.set_params(contamination=0.2).contamination == 0.2
    assert type(detector).__name__ in repr(detector)
    scores = detector.decision_function(TEST)
    for same in (copy.deepcopy(detector), pickle.loads(pickle.dumps(detector))):
        assert_array_equal(same.decision_function(TEST), scores)
        assert_array_equal(same.labels_, detector.labels_)


def test_the_same_rows_give_the_same_detector(detector):
    twin = clone(detector).fit(TRAIN)
    assert_array_equal(twin.decision_scores_, detector.decision_scores_)
    assert twin.model_.to_bytes() == detector.model_.to_bytes()


def test_lists_and_rows_of_another_width(detector):
    assert_array_equal(detector.decision_function(TEST.tolist()), detector.decision_function(TEST))
    with pytest.raises(gnsm.GnsmError, match="the rows have 1 columns, and the model was fitted on 2"):
        detector.predict(TEST[:, :1])
    with pytest.raises(ValueError):
        detector.predict(TEST[:0])


@pytest.mark.parametrize("name", CLASSES)
def test_what_is_wrong_before_a_fit(name):
    for share in (0, -0.1, 0.6, 10.0):
        with pytest.raises(ValueError):
            getattr(gnsm.pyod, name)(contamination=share)
    with pytest.raises(ValueError):
        new(name).predict(TEST)
    with pytest.raises(ValueError):
        new(name).fit([[]])


def test_frames(frame):
    detector = gnsm.pyod.GNSM(contamination=0.05).fit(frame)
    assert detector.decision_scores_.argmax() == 250 and detector.labels_[250] == 1
    assert detector.labels_.sum() == pytest.approx(0.05 * len(frame), abs=2)
    with pytest.raises(gnsm.GnsmError, match="the rows have 2 columns"):
        detector.predict(numpy.zeros((3, 2)))
