"""Our detectors where PyOD puts several together: standardised scores, and pipelines."""

import gnsm.pyod
import numpy
from pyod.utils.data import evaluate_print, generate_data
from pyod.utils.utility import standardizer
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

TRAIN, TEST, _, TRUTH = generate_data(n_train=200, n_test=100, n_features=4, contamination=0.1, random_state=1)


def test_scores_are_combined():
    detectors = [getattr(gnsm.pyod, name)().fit(TRAIN) for name in ("KNN", "ECOD", "PCA", "GMM")]
    train = numpy.column_stack([detector.decision_scores_ for detector in detectors])
    test = numpy.column_stack([detector.decision_function(TEST) for detector in detectors])
    _, test = standardizer(train, test)
    for combined in (test.mean(axis=1), test.max(axis=1)):
        assert roc_auc_score(TRUTH, combined) >= 0.8


def test_detectors_stand_at_the_end_of_pipelines(capsys):
    pipeline = make_pipeline(StandardScaler(), gnsm.pyod.IsolationForest()).fit(TRAIN)
    scores = pipeline.decision_function(TEST)
    assert roc_auc_score(TRUTH, scores) >= 0.8
    evaluate_print("IsolationForest", TRUTH, scores)
    assert "ROC" in capsys.readouterr().out
