"""scikit-learn's own checks, for every method."""

import ast
import inspect
import pathlib
import subprocess
import sys

import gnsm
import gnsm.pyod
import gnsm.sklearn
import numpy
import polars
import pytest
from gnsm._estimators import class_name
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


@parametrize_with_checks(list(estimators()))
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_there_is_a_class_for_each_method():
    assert len(gnsm.sklearn.__all__) == len(gnsm.METHODS) + 1
    for name, method in zip(gnsm.sklearn.__all__[1:], gnsm.METHODS):
        estimator = getattr(gnsm.sklearn, name)()
        assert estimator._method == method and "method" not in estimator.get_params()
        assert type(clone(estimator)) is type(estimator)
    assert {"Cells", "IsolationForest", "KNN", "GumbelScoreMatching"} <= set(gnsm.sklearn.__all__)


@pytest.mark.parametrize("name", ["RowCount", "CBRW", "Homophily", "CompreX"])
def test_methods_for_categories_see_numbers_that_are_far_out(name):
    rows = numpy.random.default_rng(0).normal(size=(500, 4))
    rows[99] = [0, -7, 0, 7]
    rows[5, 2] = numpy.nan
    detector = getattr(gnsm.sklearn, name)().fit(rows)
    scores = detector.score_samples(rows)
    assert scores[99] == scores.min() and (scores > scores[99]).sum() > 250
    new = numpy.vstack([numpy.zeros(4), [0, -70, 0, 70]])
    assert detector.score_samples(new)[1] < detector.score_samples(new)[0]
    assert [len(edges) for edges in detector.steps_.edges.values()] == [11] * 4
    # A few distinct numbers are steps already, and what is said to be numeric stays so.
    few = getattr(gnsm.sklearn, name)(numeric=[0]).fit(numpy.column_stack([rows[:, 0], rows[:, 1].round()]))
    assert [column.kind for column in few.model_.columns] == ["numeric", "numeric"] and not few.steps_.edges


def test_frames_keep_their_types(frame):
    detector = gnsm.sklearn.GNSM(contamination=0.01).fit(frame)
    assert list(detector.feature_names_in_) == list(frame.columns)
    assert detector.score_samples(frame).argmin() == 250
    assert detector.predict(frame)[250] == -1
    assert detector.model_.to_bytes() == gnsm.fit(frame).to_bytes()
    with pytest.raises(ValueError, match="feature names"):
        detector.predict(frame.rename(columns={"amount": "sum"}))


@pytest.mark.parametrize("package", [gnsm.sklearn, gnsm.pyod])
def test_frames_and_arrays_of_one_width_go_by_their_places(frame, package, recwarn):
    numbers = frame[["amount", "count"]].astype("float64").fillna(7)
    score = "decision_function"
    of_frame = package.ECOD().fit(numbers)
    expected = getattr(of_frame, score)(numbers)
    assert numpy.array_equal(getattr(of_frame, score)(numbers.to_numpy()), expected)
    of_array = package.ECOD().fit(numbers.to_numpy())
    expected = getattr(of_array, score)(numbers.to_numpy())
    for same in (numbers, polars.from_pandas(numbers)):
        assert numpy.array_equal(getattr(of_array, score)(same), expected)
    assert not [warning for warning in recwarn if issubclass(warning.category, gnsm.GnsmWarning)]
    with pytest.raises(ValueError, match="features|columns"):
        getattr(of_frame, score)(numbers.to_numpy()[:, :1])
    # An array of objects has the types of its cells, and steps stay those of training.
    mixed = package.Cells().fit(frame[["department", "amount"]])
    places = frame[["department", "amount"]].to_numpy(dtype=object)
    assert numpy.array_equal(getattr(mixed, score)(places), getattr(mixed, score)(frame[["department", "amount"]]))
    steps = package.CBRW().fit(numbers.to_numpy())
    assert numpy.array_equal(getattr(steps, score)(numbers), getattr(steps, score)(numbers.to_numpy()))


@pytest.mark.parametrize("package", [gnsm.sklearn, gnsm.pyod])
def test_type_checkers_see_a_class_for_each_method(package):
    text = pathlib.Path(package.__file__).read_text()
    classes = [f"    class {class_name(method)}(_OneMethod): ...\n" for method in gnsm.METHODS]
    assert "".join(classes) in text and text.count("(_OneMethod): ...") == len(gnsm.METHODS)
    # The parameters are those that the classes have when they run.
    stub = next(
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef) and node.name == "_OneMethod"
    )
    arguments = stub.body[0].args
    names = [argument.arg for argument in [*arguments.args, *arguments.kwonlyargs]][1:]
    defaults = [ast.literal_eval(node) for node in [*arguments.defaults, *arguments.kw_defaults]]
    running = inspect.signature(package.KNN).parameters.values()
    assert (names, defaults) == ([one.name for one in running], [one.default for one in running])


def test_mypy_knows_the_classes(tmp_path):
    (tmp_path / "user.py").write_text(
        "from gnsm import pyod\n"
        "from gnsm.sklearn import GNSM, IsolationForest\n"
        "\n"
        "forest: GNSM = IsolationForest(contamination=0.02)\n"
        "neighbours = pyod.KNN(0.1)\n"
        "wrong = pyod.KNN(method='ecod')\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "user.py"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    lines = [line for line in run.stdout.splitlines() if line.startswith("user.py") and "error" in line]
    assert len(lines) == 1 and 'user.py:6: error: Unexpected keyword argument "method"' in lines[0], run.stdout


def test_pipelines_and_searches(frame):
    numbers = frame[["amount"]].fillna(100).assign(other=numpy.arange(len(frame)) % 17)
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), gnsm.sklearn.KNN())
    assert pipeline.fit(numbers).predict(numbers).shape == (len(frame),)
    columns = ColumnTransformer([("keep", "passthrough", ["account", "amount"])]).set_output(transform="pandas")
    scores = make_pipeline(columns, gnsm.sklearn.Cells()).fit(frame).score_samples(frame)
    assert set(scores.argsort()[:2]) == {5, 250}  # the only missing amount, and the largest one

    def quality(detector, rows, truth=None):
        return -detector.score_samples(rows).mean()

    search = GridSearchCV(gnsm.sklearn.GNSM(), {"method": ["ecod", "marginals"]}, scoring=quality, cv=2)
    assert search.fit(numbers).best_params_["method"] in ("ecod", "marginals")
