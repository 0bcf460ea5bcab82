"""Fit, score, explain, save and load; the same bits as the command line."""

import copy
import multiprocessing
import pickle
import subprocess
import sys

import gnsm
import numpy
import pandas
import polars
import pyarrow
import pytest


def command(*arguments, cwd):
    run = [sys.executable, "-m", "gnsm", *arguments]
    return subprocess.run(run, cwd=cwd, capture_output=True, text=True, check=False)


def texts(column):
    """The cells of a column of texts, whatever stands for none."""
    cells = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    return [cell if isinstance(cell, str) else None for cell in cells]


def test_scores_have_the_frame_s_index_and_find_the_odd_row(frame, model):
    scores = model.score(frame)
    assert list(scores.columns) == ["score", "p_value", "anomaly"]
    assert scores.index.equals(frame.index)
    assert scores["score"].idxmax() == "r250"
    assert scores["anomaly"].dtype == bool and scores.loc["r250", "p_value"] == scores["p_value"].min()
    assert not any(column.name == "key" for column in model.columns)


@pytest.mark.parametrize("method", ["cells", "knn", "isolation-forest"])
def test_python_and_the_command_line_agree_to_the_bit(frame, tmp_path, method):
    frame.to_parquet(tmp_path / "ledger.parquet", index=False)
    model = gnsm.fit(frame, method=method, seed=3)
    model.save(tmp_path / "python.gnsm")
    fit = command("fit", "ledger.parquet", "-o", "command.gnsm", "--method", method, "--seed", "3", cwd=tmp_path)
    assert fit.returncode == 0, fit.stderr
    assert (tmp_path / "python.gnsm").read_bytes() == (tmp_path / "command.gnsm").read_bytes()
    score = command(
        "score", "python.gnsm", "ledger.parquet", "--explain", "2", "-o", "scores.parquet", cwd=tmp_path
    )
    assert score.returncode == 0, score.stderr
    expected = pandas.read_parquet(tmp_path / "scores.parquet")
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    for given in (frame, tmp_path / "ledger.parquet", polars.from_pandas(frame), table):
        scores = gnsm.load(tmp_path / "command.gnsm").score(given, explain=2)
        for name in ("score", "p_value", "anomaly"):
            assert numpy.array_equal(numpy.asarray(scores[name]), expected[name].to_numpy()), name
        assert texts(scores["reason_1"]) == texts(expected["reason_1"])


def test_label_and_kinds_are_those_of_the_command_line(frame, tmp_path):
    frame["odd"] = (numpy.arange(len(frame)) == 250).astype(int)
    frame.to_parquet(tmp_path / "ledger.parquet", index=False)
    model = gnsm.fit(frame, label="odd", categorical=["count"], ignore=["day"], method="ecod")
    assert {column.name: column.kind for column in model.columns}["count"] == "categorical"
    arguments = ["--label", "odd", "--categorical", "count", "--ignore", "day", "--method", "ecod"]
    assert command("fit", "ledger.parquet", "-o", "command.gnsm", *arguments, cwd=tmp_path).returncode == 0
    assert model.to_bytes() == (tmp_path / "command.gnsm").read_bytes()
    assert model.label == "odd" and model.info["rows"]["labelled_anomalies"] == 1


def test_rows_are_chosen_as_by_the_command_line(frame, tmp_path):
    frame.to_parquet(tmp_path / "ledger.parquet", index=False)
    n_rows = f"{len(frame):,}"
    with pytest.warns(gnsm.GnsmWarning, match=f"learned from 200 of {n_rows} rows, chosen by a hash of their content"):
        model = gnsm.fit(frame, max_rows=200)
    run = command("fit", "ledger.parquet", "-o", "command.gnsm", "--max-rows", "200", cwd=tmp_path)
    assert run.returncode == 0 and f"learned from 200 of {n_rows} rows" in run.stderr
    assert model.to_bytes() == (tmp_path / "command.gnsm").read_bytes()
    assert model.info["rows"]["chosen_from"] == len(frame)
    assert gnsm.fit(frame[::-1], max_rows=200).to_bytes() == model.to_bytes(), "in any order"
    assert gnsm.fit(frame, max_memory="1G").to_bytes() == gnsm.fit(frame).to_bytes()
    with pytest.raises(gnsm.GnsmError, match="setting `max_memory`: give a size in bytes"):
        gnsm.fit(frame, max_memory="lots")
    with pytest.raises(gnsm.GnsmError, match="setting `max_rows`: is 0, must be a whole number from 1 on"):
        gnsm.fit(frame, max_rows=0)


def test_settings_change_what_they_name(frame):
    assert gnsm.settings("isolation-forest")["trees"] != 7
    model = gnsm.fit(frame, method="isolation-forest", settings={"trees": 7})
    assert model.settings["trees"] == 7
    with pytest.raises(gnsm.GnsmError, match="there is no setting `treez`"):
        gnsm.fit(frame, method="isolation-forest", settings={"treez": 7})


def test_explanations_are_tidy_and_sum_to_the_score(frame, model):
    scores = model.score(frame)
    lines = model.explain(frame, top=4)
    assert list(lines.columns[:6]) == ["row", "column", "saw", "expected", "probability", "part"]
    assert lines["row"].iloc[0] == 250 and lines.index[0] == "r250"
    assert lines["row"].nunique() == 4
    sums = lines.groupby("row")["part"].sum()
    for row, total in sums.items():
        assert total == pytest.approx(scores["score"].iloc[row], rel=1e-9)
    named = model.explain(frame, rows=[7, 250, 0], reasons=None)
    assert list(dict.fromkeys(named["row"])) == [7, 250, 0]
    assert type(lines.head(2)).__name__ == "DataFrame"


def test_the_oddest_rows_are_the_same_in_one_pass_over_batches(model):
    import conftest

    frame = pandas.concat([conftest.ledger(), *[conftest.ledger(3000)] * 4])
    scores = model.score(frame)["score"].to_numpy()
    lines = model.explain(frame, top=30)
    assert list(dict.fromkeys(lines["row"])) == list(numpy.argsort(-scores, kind="stable")[:30])


def test_detect_judges_each_row_as_if_it_had_not_been_there(frame, tmp_path):
    found = gnsm.detect(frame, explain=1)
    assert found["score"].idxmax() == "r250" and found.loc["r250", "anomaly"]
    frame.to_parquet(tmp_path / "ledger.parquet", index=False)
    detect = command("detect", "ledger.parquet", "-o", "scores.parquet", cwd=tmp_path)
    assert detect.returncode == 0, detect.stderr
    expected = pandas.read_parquet(tmp_path / "scores.parquet")
    assert numpy.array_equal(found["p_value"], expected["p_value"])
    assert numpy.array_equal(found["anomaly"], expected["anomaly"])
    assert found["reason_1"].notna().any()


def test_rules(frame, model):
    assert model.score(frame, threshold=-1e9)["anomaly"].all()
    assert model.score(frame, contamination=0.5)["anomaly"].sum() > model.score(frame)["anomaly"].sum()
    assert model.score(frame, fdr=0.5)["anomaly"].dtype == bool
    with pytest.raises(gnsm.GnsmError, match="two rules"):
        model.score(frame, fdr=0.1, threshold=3)
    with pytest.raises(gnsm.GnsmError, match="setting `fdr`: is 2, must lie between 0 and 1"):
        model.score(frame, fdr=2)
    with pytest.warns(gnsm.GnsmWarning, match="flags nothing"):
        model.score(frame, contamination=1e-6)


def _score(model, frame):
    return model.score(frame)["score"].to_numpy()


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_copies_and_processes_have_the_same_scores(frame, model, start):
    expected = _score(model, frame)
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), gnsm.Model.from_bytes(model.to_bytes())):
        assert numpy.array_equal(_score(twin, frame), expected)
        assert twin.to_bytes() == model.to_bytes()
    with multiprocessing.get_context(start).Pool(1) as pool:
        assert numpy.array_equal(pool.apply(_score, (model, frame)), expected)


def test_batches_are_widened_whatever_their_kind(frame, model):
    expected = _score(model, frame)
    parts = [frame.iloc[:100], frame.iloc[100:100], frame.iloc[100:]]
    wide = pandas.concat(model.score_batches(parts, explain=1))
    assert numpy.array_equal(wide["score"], expected) and wide.index.equals(frame.index)
    assert list(wide.columns) == [*frame.columns, "score", "p_value", "anomaly", "reason_1"]
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    batches = list(model.score_batches(table.to_batches(max_chunksize=64)))
    assert numpy.array_equal(pyarrow.Table.from_batches(batches)["score"].to_numpy(), expected)
    frames = list(model.score_batches([polars.from_pandas(frame)]))
    assert numpy.array_equal(frames[0]["score"].to_numpy(), expected)


def test_columns_that_are_called_as_scores_are_kept_under_another_name(frame):
    table = frame.rename(columns={"count": "score"}).assign(input_score=1.0, reason_1="mine")
    model = gnsm.fit(table)
    scores = model.score(table, drift=False)["score"].to_numpy()
    kept = ["input_score", "approved", "input_input_score", "input_reason_1", "score", "p_value", "anomaly", "reason_1"]
    polar = polars.from_pandas(table)
    for batch in (table, polar, polar.to_arrow(), {name: list(table[name]) for name in table}):
        wide = next(model.score_batches([batch], explain=1))
        names = list(wide) if isinstance(wide, dict) else list(getattr(wide, "column_names", wide.columns))
        assert [name for name in names if name not in ("department", "account", "amount", "day")] == kept
        assert numpy.array_equal(numpy.asarray(wide["score"]), scores)
        assert str(list(wide["input_reason_1"])[0]) == "mine"
    assert list(next(model.score_batches([table.iloc[:0]])).columns)[3] == "input_score"
    whole = {0: list(frame["amount"]), "score": list(frame["department"])}
    wide = next(gnsm.fit(whole).score_batches([whole]))
    assert list(wide) == [0, "input_score", "score", "p_value", "anomaly"]


def test_pages_are_escaped(frame):
    frame["account"] = frame["account"].astype(object)
    frame.loc["r250", "account"] = "<script>alert(1)</script>"
    model = gnsm.fit(frame.rename(columns={"amount": "<b>amount</b>"}))
    page = model._repr_html_() + model.explain(frame.rename(columns={"amount": "<b>amount</b>"}))._repr_html_()
    assert "<script>" not in page and "<b>amount" not in page
    assert "&lt;script&gt;" in page and "gnsm model" in page


def test_a_training_curve_is_drawn(frame):
    settings = {"training": {"steps": 40, "validate_every": 10}, "network": {"width": 8, "depth": 1}}
    seen = []
    model = gnsm.fit(frame, method="gnsm", settings=settings, progress=seen.append)
    assert "<polyline" in model._repr_html_()
    assert seen and seen[-1].total >= seen[-1].done > 0
    assert isinstance(seen[-1], gnsm.Progress)


def test_columns_tell_why(frame):
    found = {column.name: column for column in gnsm.columns(frame)}
    assert found["account"].kind == "categorical" and found["amount"].kind == "numeric"
    assert found["day"].kind == "date" and found["account"].why


def test_the_import_is_quick_and_light():
    code = "import sys, gnsm; print(any(name in sys.modules for name in ('numpy', 'pandas', 'pyarrow', 'sklearn')))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "False"


def test_the_command_is_there(tmp_path):
    shown = command("--help", cwd=tmp_path)
    assert shown.returncode == 0 and "detect" in shown.stdout
    assert command("no-such-command", cwd=tmp_path).returncode == 2
