"""Models: fit, score, explain, save and load."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from . import _gnsm, _html
from ._data import Given, given
from ._gnsm import Core, GnsmError
from ._work import Teller, Wanted, warn


class Column(NamedTuple):
    """What a column is taken for, and why."""

    name: str
    kind: str
    why: str


def settings(method: str = "cells", *, preset: str | None = None, head: str | None = None) -> dict[str, Any]:
    """The default settings of a method: what `fit(settings=...)` may change."""
    found: dict[str, Any] = json.loads(_gnsm.settings(method, preset, head))
    return found


def _kinds(**named: Any) -> list[tuple[str, str]]:
    pairs = []
    for kind, columns in named.items():
        if columns is None:
            continue
        if isinstance(columns, (str, bytes)) or not isinstance(columns, Iterable):
            raise GnsmError(f"`{kind}` is a list of columns; give [{columns!r}]")
        pairs += [(str(column), kind.replace("_", "-")) for column in columns]
    return pairs


def _named(column: Any) -> str | None:
    return None if column is None else str(column)


def _value(value: Any) -> str | None:
    """The text of a label, as the table has it."""
    if value is None or isinstance(value, str):
        return value
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _seed(seed: Any) -> int:
    if isinstance(seed, bool) or not hasattr(seed, "__index__") or not 0 <= seed.__index__() < 2**64:
        raise GnsmError(f"setting `seed`: is {seed!r}, must be a whole number from 0 on")
    return int(seed.__index__())


def fit(
    data: Any,
    label: Any = None,
    seed: int = 0,
    method: str = "cells",
    *,
    anomaly: Any = None,
    settings: Mapping[str, Any] | None = None,
    preset: str | None = None,
    head: str | None = None,
    categorical: Iterable[Any] | None = None,
    numeric: Iterable[Any] | None = None,
    date: Iterable[Any] | None = None,
    day_first: Iterable[Any] | None = None,
    month_first: Iterable[Any] | None = None,
    identifier: Iterable[Any] | None = None,
    text: Iterable[Any] | None = None,
    ignore: Iterable[Any] | None = None,
    max_seconds: float | None = None,
    progress: Wanted = None,
) -> Model:
    """Learns what is usual in a table.

    data: a pandas, polars or pyarrow frame, anything with the Arrow PyCapsule interface, a numpy array, a dict of
        columns, or the path of a file. The index of a frame is not learned.
    label: the column that marks known anomalies. Neither the column nor the rows it marks are learned from.
    seed: where all randomness comes from. The same rows, settings and seed give the same model.
    method: one of `gnsm.METHODS`.
    anomaly: the value of the label column that means anomaly; 1 if it is not given.
    settings: settings of the method in place of its own; `gnsm.settings(method)` shows them.
    preset, head: ready-made settings, as on the command line.
    categorical, numeric, date, day_first, month_first, identifier, text, ignore: lists of columns that are to be taken
        for this. The kinds of the others are found.
    max_seconds: ends training after so many seconds with the best so far.
    progress: `False` for none, `True` for a bar, a function that is called with a `gnsm.Progress`. By default there is a
        bar in a terminal and in a notebook, if `tqdm` is installed.
    """
    table = given(data)
    kinds = _kinds(
        categorical=categorical,
        numeric=numeric,
        date=date,
        day_first=day_first,
        month_first=month_first,
        identifier=identifier,
        text=text,
        ignore=ignore,
    )
    try:
        changes = json.dumps(dict(settings or {}))
    except (TypeError, ValueError) as error:
        raise GnsmError(f"the settings are not plain numbers, texts and dicts ({error})") from None
    with Teller(progress) as teller:
        core, warnings = Core.fit(
            table.source,
            method=str(method),
            preset=preset,
            head=head,
            settings=changes,
            seed=_seed(seed),
            label=_named(label),
            anomaly=_value(anomaly),
            kinds=kinds,
            max_seconds=max_seconds,
            tell=teller.function,
        )
    warn(warnings)
    return Model(core)


def detect(
    data: Any,
    *,
    explain: int = 0,
    contamination: float | None = None,
    fdr: float | None = None,
    threshold: float | None = None,
    progress: Wanted = None,
    **options: Any,
) -> Any:
    """Learns from a table and scores its own rows, each as if it had not been there.

    Returns what `Model.score` returns. Without another rule, rows are flagged with a false discovery rate of 0.1: of ten
    flags, one is expected to be a false alarm. `options` are those of `gnsm.fit`.
    """
    if contamination is None and fdr is None and threshold is None:
        fdr = 0.1
    # A stream that can be read only once is kept, since it is read twice.
    table = data.read_all() if hasattr(data, "read_all") and hasattr(data, "__arrow_c_stream__") else data
    model = fit(table, progress=progress, **options)
    return model.score(
        table,
        own=True,
        explain=explain,
        contamination=contamination,
        fdr=fdr,
        threshold=threshold,
        progress=progress,
    )


def columns(
    data: Any,
    label: Any = None,
    *,
    categorical: Iterable[Any] | None = None,
    numeric: Iterable[Any] | None = None,
    date: Iterable[Any] | None = None,
    day_first: Iterable[Any] | None = None,
    month_first: Iterable[Any] | None = None,
    identifier: Iterable[Any] | None = None,
    text: Iterable[Any] | None = None,
    ignore: Iterable[Any] | None = None,
) -> list[Column]:
    """What each column of a table is taken for, without a fit."""
    kinds = _kinds(
        categorical=categorical,
        numeric=numeric,
        date=date,
        day_first=day_first,
        month_first=month_first,
        identifier=identifier,
        text=text,
        ignore=ignore,
    )
    return [Column(*column) for column in _gnsm.columns(given(data).source, _named(label), kinds)]


def load(path: str | os.PathLike[str]) -> Model:
    """Reads a model file, whether `Model.save` or the command line wrote it."""
    return Model(Core.load(os.fspath(path)))


def _from_bytes(data: bytes) -> Model:
    return Model(Core.from_bytes(data))


def _rule(contamination: float | None, fdr: float | None, threshold: float | None) -> tuple[str, float]:
    named = {"contamination": contamination, "fdr": fdr, "threshold": threshold}
    rules = {name: value for name, value in named.items() if value is not None}
    if len(rules) > 1:
        raise GnsmError(f"{' and '.join(f'`{name}`' for name in rules)} are two rules; give one")
    for name, value in rules.items():
        try:
            return name, float(value)
        except (TypeError, ValueError):
            raise GnsmError(f"setting `{name}`: is {value!r}, must be a number") from None
    return "contamination", 0.01


class Model:
    """A fitted model. `gnsm.fit` makes one, and `gnsm.load` reads one from a file.

    It can be pickled and copied. What is pickled are the bytes of its file, in which nothing can run.
    """

    __slots__ = ("_core", "_info")

    def __init__(self, core: Core) -> None:
        self._core = core
        self._info: dict[str, Any] | None = None

    def score(
        self,
        data: Any,
        *,
        explain: int = 0,
        contamination: float | None = None,
        fdr: float | None = None,
        threshold: float | None = None,
        own: bool = False,
        progress: Wanted = False,
    ) -> Any:
        """A score, a p-value and a flag for each row, in a frame of the given kind with the given index.

        score: higher is odder.
        p_value: the share of usual rows that are at least as odd.
        anomaly: whether the row is flagged. `contamination` is the largest p-value to flag (0.01 if nothing is given),
            `fdr` the largest share of false alarms among the flagged rows, `threshold` the lowest score.
        explain: adds columns `reason_1`, `reason_2` and so on with the strongest reasons in words.
        own: says that these are the rows that the model was fitted on: each is judged as if it had not been there.
        """
        table = given(data)
        return table.frame(self._scores(table, explain, _rule(contamination, fdr, threshold), own, progress))

    def _scores(
        self, table: Given, explain: int, rule: tuple[str, float], own: bool, progress: Wanted
    ) -> dict[str, Any]:
        import numpy

        if explain < 0:
            raise GnsmError(f"`explain` is {explain}; give the number of reasons, from 0 on")
        with Teller(progress) as teller:
            scores, p_values, flags, reasons, warnings = self._core.score(
                table.source, rule, explain, own, teller.function
            )
        warn(warnings)
        columns: dict[str, Any] = {
            "score": numpy.frombuffer(scores, dtype="<f8"),
            "p_value": numpy.frombuffer(p_values, dtype="<f8"),
            "anomaly": numpy.frombuffer(flags, dtype=bool),
        }
        for place, words in enumerate(reasons):
            columns[f"reason_{place + 1}"] = words
        return columns

    def score_batches(
        self,
        batches: Iterable[Any],
        *,
        explain: int = 0,
        contamination: float | None = None,
        threshold: float | None = None,
    ) -> Iterator[Any]:
        """Scores batches one after another: each comes back with the columns of `score` added.

        A batch is a frame of any kind. A row's score does not depend on its batch, so this is all that Spark, Ray, Dask
        and others need. Memory does not grow with the number of batches. A false discovery rate needs all rows at once,
        and so is not offered here.
        """
        rule = _rule(contamination, None, threshold)
        for batch in batches:
            yield _widened(batch, self, explain, rule)

    def explain(
        self,
        data: Any,
        top: int = 10,
        *,
        rows: Sequence[int] | None = None,
        reasons: int | None = 3,
        own: bool = False,
        progress: Wanted = False,
    ) -> Any:
        """Why the oddest rows are odd: a line for each of their strongest reasons, in a frame of the given kind.

        row: the row's number, from 0. A pandas frame also has the row's index.
        column, saw, expected: the odd cell, what it holds, and what was expected there.
        probability: of what was expected.
        part: its part of the score. The last line of a row, without a column, has the rest: all parts of a row add up to
            its score.
        share, words: the part as a share of all parts, and the reason as a sentence.

        top: how many rows. `rows` names them by their numbers instead.
        reasons: how many reasons a row, at the most; `None` for all.
        own: says that these are the rows that the model was fitted on.
        """
        if top < 0 or (reasons is not None and reasons < 0):
            raise GnsmError("`top` and `reasons` are numbers from 0 on")
        wanted = None if rows is None else [int(row) for row in rows]
        if wanted is not None and any(row < 0 for row in wanted):
            raise GnsmError("`rows` are the numbers of rows, counted from 0")
        table = given(data)
        with Teller(progress) as teller:
            explained, warnings = self._core.explain(
                table.source, top, wanted, 2**32 if reasons is None else reasons, own, teller.function
            )
        warn(warnings)
        lines: dict[str, list[Any]] = {
            name: [] for name in ("row", "column", "saw", "expected", "probability", "part", "share", "words")
        }
        for row, _score, _p_value, rest, found in explained:
            for reason in [*found, {"part": rest}]:
                lines["row"].append(row)
                for name in list(lines)[1:]:
                    lines[name].append(reason.get(name))
        html = _html.explanations(explained)
        return table.frame(_typed(lines), lines["row"], html)

    @property
    def columns(self) -> list[Column]:
        """The columns that the model learned from, what they were taken for, and why."""
        found = self._description["schema"]["columns"]
        return [Column(column["name"], column["kind"]["kind"], column["reason"]) for column in found]

    @property
    def method(self) -> str:
        """The name of the method."""
        return str(self._description["method"])

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the method."""
        return dict(self._description["settings"])

    @property
    def seed(self) -> int:
        """The seed."""
        return int(self._description["seed"])

    @property
    def label(self) -> str | None:
        """The label column, if there was one."""
        found: str | None = self._description["label"]
        return found

    @property
    def info(self) -> dict[str, Any]:
        """All that `gnsm inspect` shows: columns, settings, rows, training curve, calibration."""
        return dict(self._description)

    @property
    def _description(self) -> dict[str, Any]:
        if self._info is None:
            self._info = json.loads(self._core.describe())
        return self._info

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a model file, which the command line reads too. It appears whole or not at all."""
        self._core.save(os.fspath(path))

    def to_bytes(self) -> bytes:
        """The bytes of the model's file."""
        return self._core.to_bytes()

    @staticmethod
    def from_bytes(data: bytes) -> Model:
        """A model from the bytes of a file."""
        return _from_bytes(data)

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return _from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        used = sum(column.kind != "ignored" for column in self.columns)
        rows = sum(self._description["rows"][part] for part in ("training", "validation", "calibration"))
        return f"<gnsm.Model {self.method}, {used} columns, {rows} rows>"

    def _repr_html_(self) -> str:
        return _html.model(self._description)


def _typed(lines: dict[str, list[Any]]) -> dict[str, Any]:
    """Numbers as arrays; a number that is not there is NaN."""
    import numpy

    typed: dict[str, Any] = dict(lines)
    typed["row"] = numpy.array(lines["row"], dtype="int64")
    for name in ("probability", "part", "share"):
        typed[name] = numpy.array([numpy.nan if value is None else value for value in lines[name]], dtype="float64")
    return typed


def _widened(batch: Any, model: Model, explain: int, rule: tuple[str, float]) -> Any:
    """The batch with the columns of its scores; one without rows keeps its kind."""
    table = given(batch)
    n_rows = getattr(batch, "num_rows", None)
    if (len(batch) if n_rows is None else n_rows) == 0:
        import numpy

        columns: dict[str, Any] = {
            "score": numpy.empty(0),
            "p_value": numpy.empty(0),
            "anomaly": numpy.empty(0, dtype=bool),
        }
        columns.update({f"reason_{place + 1}": [] for place in range(explain)})
    else:
        columns = model._scores(table, explain, rule, False, False)
        for place in range(explain):
            columns.setdefault(f"reason_{place + 1}", [None] * len(columns["score"]))
    if table.kind == "pandas":
        return batch.assign(**columns)
    if table.kind == "polars":
        import polars

        return batch.with_columns(**{name: polars.Series(name, values) for name, values in columns.items()})
    if table.kind == "pyarrow":
        import pyarrow

        for name, values in columns.items():
            kind = pyarrow.string() if name.startswith("reason_") else None
            batch = batch.append_column(name, pyarrow.array(values, kind))
        return batch
    return {**dict(batch), **columns} if table.kind == "dict" else table.frame(columns)
