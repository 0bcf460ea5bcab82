"""Drift, odd cells and repairs: what the command line has, in frames of the given kind."""

import decimal
import json

import gnsm
import numpy
import pandas
import polars
import pyarrow
import pytest
from conftest import ledger
from gnsm._data import given
from gnsm._upkeep import changed
from test_model import command, texts


def patients(n_rows=1200):
    """Cities with their counties; three are misspelt."""
    draw = numpy.random.default_rng(5)
    cities = numpy.array(["birmingham", "dothan", "gadsden", "opp"])
    counties = numpy.array(["jefferson", "houston", "etowah", "covington"])
    which = draw.integers(0, 4, n_rows)
    frame = pandas.DataFrame(
        {
            "city": cities[which],
            "county": pandas.Categorical(counties[which]),
            "ward": which + 1,
            "state": numpy.array(["AL", "AK", "AZ", "AR"])[which],
            "emergency": which < 2,
            "age": draw.integers(20, 80, n_rows),
        },
        index=pandas.Index([f"p{place}" for place in range(n_rows)]),
    )
    for place, letter in ((7, 0), (70, 1), (170, 2)):
        city = frame["city"].iloc[place]
        frame.loc[f"p{place}", "city"] = city[:letter] + "x" + city[letter + 1 :]
    return frame


@pytest.fixture(scope="module")
def wards():
    return patients(), gnsm.fit(patients(), categorical=["ward"])


def test_drift_is_that_of_the_command_line(frame, model, tmp_path):
    new = ledger(200).assign(account="rent")
    new.loc[new.index[:80], "amount"] = numpy.nan
    found = model.drift(new)
    assert type(found) is pandas.DataFrame and list(found["column"]) == [column.name for column in model.columns]
    by_name = found.set_index("column")
    assert by_name.loc["account", "moved"] and by_name.loc["account", "set_aside"]
    assert by_name.loc["account", "new_now"] == 1 and by_name.loc["account", "new_then"] == 0
    assert by_name.loc["amount", "missing_now"] == pytest.approx(0.4) and by_name.loc["amount", "moved"]
    assert "a new value in all of the rows" in by_name.loc["account", "notes"]
    assert not model.drift(frame)["moved"].any()

    new.to_parquet(tmp_path / "new.parquet", index=False)
    model.save(tmp_path / "model.gnsm")
    shown = command("drift", "model.gnsm", "new.parquet", "--json", cwd=tmp_path)
    columns = json.loads(shown.stdout)["drift"]["columns"]
    assert [column["moved"] for column in columns] == list(found["moved"])
    assert [column["missing"]["now"] for column in columns] == list(found["missing_now"])
    assert [column["shift"] for column in columns] == [None if value != value else value for value in found["shift"]]


def test_what_is_new_in_most_rows_is_set_aside_as_on_the_command_line(model, tmp_path):
    new = ledger(200).assign(account="rent")
    new.to_parquet(tmp_path / "new.parquet", index=False)
    model.save(tmp_path / "model.gnsm")
    run = command("score", "model.gnsm", "new.parquet", "-o", "scores.parquet", "--explain", "1", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    expected = pandas.read_parquet(tmp_path / "scores.parquet")
    table = pyarrow.Table.from_pandas(new, preserve_index=False)
    for same in (new, tmp_path / "new.parquet", table, {name: new[name].to_numpy() for name in new}):
        with pytest.warns(gnsm.GnsmWarning, match="set aside: .* in `account` is no part"):
            scores = model.score(same, explain=1)
        assert numpy.array_equal(numpy.asarray(scores["score"]), expected["score"])
        assert texts(scores["reason_1"]) == texts(expected["reason_1"])
    with pytest.warns(gnsm.GnsmWarning, match="set aside"):
        assert "account" not in list(model.explain(new, rows=[3], reasons=None)["column"])
    counted = model.score(new, drift=False)["score"].to_numpy()
    assert (counted > expected["score"]).all()
    # A stream can be read once, and batches do not know of each other.
    reader = pyarrow.RecordBatchReader.from_batches(table.schema, table.to_batches())
    assert numpy.array_equal(numpy.asarray(model.score(reader)["score"]), counted)
    assert numpy.array_equal(next(model.score_batches([new]))["score"], counted)


def test_odd_cells_are_those_of_the_command_line(wards, tmp_path):
    frame, model = wards
    cells = model.odd_cells(frame)
    assert {7, 70, 170} <= set(cells.loc[cells["column"] == "city", "row"])
    assert list(cells.index) == [f"p{row}" for row in cells["row"]]
    assert cells["wrong"].is_monotonic_decreasing and cells["expected"].notna().any()
    assert "expected" in cells["words"].iloc[0]
    assert len(model.odd_cells(frame, fdr=0.01)) <= len(cells)

    frame.to_parquet(tmp_path / "patients.parquet", index=False)
    model.save(tmp_path / "model.gnsm")
    run = command("score", "model.gnsm", "patients.parquet", "--cells", "-o", "cells.csv", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    expected = pandas.read_csv(tmp_path / "cells.csv")
    assert list(expected["row"]) == list(cells["row"]) and list(expected["column"]) == list(cells["column"])
    for name in ("probability", "seen_probability", "part", "p_value", "wrong"):
        assert expected[name].to_numpy() == pytest.approx(cells[name].to_numpy(), nan_ok=True), name
    assert isinstance(model.odd_cells(polars.from_pandas(frame)), polars.DataFrame)
    nothing = model.odd_cells(frame.iloc[:30].drop(index="p7"))
    assert len(nothing) == 0 and list(nothing.columns) == list(cells.columns)


def test_repairs_are_those_of_the_command_line(wards, tmp_path):
    frame, model = wards
    changes = model.changes(frame)
    assert list(changes.columns) == ["row", "column", "from", "to", "probability"]
    assert set(changes.loc[changes["column"] == "city", "row"]) == {7, 70, 170}
    assert (changes["probability"] >= 0.9).all() and list(changes.index) == [f"p{row}" for row in changes["row"]]
    before = frame.copy(deep=True)
    fixed = model.repair(frame)
    pandas.testing.assert_frame_equal(frame, before)
    assert fixed.index.equals(frame.index) and list(fixed.dtypes) == list(frame.dtypes)
    assert fixed["city"].isin(["birmingham", "dothan", "gadsden", "opp"]).all()
    assert (fixed != frame).to_numpy().sum() == len(changes)

    frame.to_parquet(tmp_path / "patients.parquet", index=False)
    model.save(tmp_path / "model.gnsm")
    run = command("repair", "model.gnsm", "patients.parquet", "-o", "out.csv", "--changes", "list.csv", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    expected = pandas.read_csv(tmp_path / "list.csv")
    assert list(expected["to"]) == list(changes["to"]) and list(expected["row"]) == list(changes["row"])
    assert list(pandas.read_csv(tmp_path / "out.csv")["city"]) == list(fixed["city"])


def test_repairs_keep_the_kind_and_the_types(wards):
    frame, model = wards
    expected = list(model.repair(frame)["city"])
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    for same in (table, table.to_batches()[0], polars.from_arrow(table)):
        fixed = model.repair(same)
        assert type(fixed) is type(same) and fixed.schema == same.schema
        assert texts(fixed["city"]) == expected
    columns = {name: frame[name].to_numpy() if name != "county" else frame[name] for name in frame}
    columns["city"] = columns["city"].astype("U10")
    fixed = model.repair(columns)
    assert list(fixed["city"]) == expected and fixed["ward"] is columns["ward"]
    structured = model.repair(frame.drop(columns="county").assign(county="x").to_records(index=False))
    assert structured.dtype.names == ("city", "ward", "state", "emergency", "age", "county")
    reader = pyarrow.RecordBatchReader.from_batches(table.schema, table.to_batches())
    assert texts(model.repair(reader)["city"]) == expected


KINDS = ["int64", "Int64", "float32", "boolean", "bool", "category", "string", "object", "decimal", "enum"]


@pytest.mark.parametrize("kind", [*KINDS, "dictionary"])
def test_a_replaced_cell_has_the_type_of_its_column(kind):
    codes = numpy.array([0, 1, 1, 0])
    if kind == "decimal":
        frame = pandas.DataFrame({"code": [decimal.Decimal(int(code)) for code in codes]})
    elif kind == "enum":
        frame = polars.DataFrame({"code": codes.astype(str)}, schema={"code": polars.Enum(["0", "1"])})
    elif kind == "dictionary":
        frame = pyarrow.table({"code": pyarrow.array(codes.astype(str)).dictionary_encode()})
    else:
        values = codes.astype(str) if kind in ("string", "object") else codes
        frame = pandas.DataFrame({"code": pandas.Series(values, dtype=kind)})
    before = list(frame["code"])
    new = {"boolean": "true", "bool": "true"}.get(kind, "2" if kind in ("category", "enum", "dictionary") else "1")
    fixed = changed(frame, given(frame), [(3, "code", "0", new, 0.99)])
    assert list(frame["code"]) == before, "what was given stays as it is"
    cells = fixed["code"].to_pylist() if kind == "dictionary" else list(fixed["code"])
    kinds = {"float32": 1.0, "boolean": True, "bool": True, "string": "1", "object": "1", "category": 2}
    assert cells[3] == kinds.get(kind, "2" if kind in ("enum", "dictionary") else 1)
    assert [str(cell) for cell in cells[:3]] == [str(cell) for cell in before[:3]]
    if kind not in ("category", "enum"):
        assert fixed["code"].type == frame["code"].type if kind == "dictionary" else fixed.dtypes.equals(frame.dtypes)


def test_texts_of_arrays_are_not_cut():
    array = numpy.array([["a", "x"], ["bb", "y"]])
    fixed = changed(array, given(array), [(0, "column_1", "a", "a long name", 0.99)])
    assert fixed.tolist() == [["a long name", "x"], ["bb", "y"]] and array[0, 0] == "a"
    named = {"a": ["u", "v"], "b": ("w", "z"), "c": pandas.Series(["p", "q"], name="c")}
    cells = [(1, name, "", "other", 0.99) for name in named]
    fixed = changed(named, given(named), cells)
    assert [list(values) for values in fixed.values()] == [["u", "other"], ["w", "other"], ["p", "other"]]


def test_what_cannot_be_repaired(wards, model, tmp_path):
    frame, known = wards
    for at_least in (0, 1.5, float("nan")):
        with pytest.raises(gnsm.GnsmError, match="setting `at_least`"):
            known.repair(frame, at_least=at_least)
    frame.to_parquet(tmp_path / "patients.parquet", index=False)
    with pytest.raises(gnsm.GnsmError, match="the command `gnsm repair`"):
        known.repair(tmp_path / "patients.parquet")
    assert len(known.changes(tmp_path / "patients.parquet")) == len(known.changes(frame)) > 0
    with pytest.raises(gnsm.GnsmError, match="between 0 and 1"):
        known.odd_cells(frame, fdr=2)
    with pytest.raises(gnsm.GnsmError, match="does not tell which cells are wrong"):
        gnsm.fit(frame, method="ecod").odd_cells(frame)
    with pytest.raises(gnsm.GnsmError, match="no rows"):
        known.drift(frame.iloc[:0])
    with pytest.raises(gnsm.GnsmError, match="`city`"):
        known.drift(frame.drop(columns="city"))
