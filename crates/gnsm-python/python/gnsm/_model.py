"""Models: fit, score, explain, save and load."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from . import _gnsm, _html, _upkeep
from ._data import Given, checked_name, given, path_of
from ._gnsm import Core, GnsmError
from ._work import Teller, Wanted, warn

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Column(NamedTuple):
    """What a column is taken for, and why."""

    name: str
    kind: str
    why: str


class Surveyed(NamedTuple):
    """Rows that were chosen from more, with the survey of all of them."""

    rows: Any
    survey: bytes


def settings(method: str = "cells", *, preset: str | None = None, head: str | None = None) -> dict[str, Any]:
    """The default settings of a method: what `fit(settings=...)` may change."""
    found: dict[str, Any] = json.loads(_gnsm.settings(checked_name(str(method), "the name"), named(preset), named(head)))
    return found


class Kinds(TypedDict, total=False):
    """Lists of columns that are to be taken for something; the kinds of the others are found."""

    categorical: Iterable[Any] | None
    numeric: Iterable[Any] | None
    date: Iterable[Any] | None
    day_first: Iterable[Any] | None
    month_first: Iterable[Any] | None
    identifier: Iterable[Any] | None
    text: Iterable[Any] | None
    ignore: Iterable[Any] | None


def _pairs(kinds: Kinds) -> list[tuple[str, str]]:
    """Each named column with its kind."""
    pairs = []
    for kind, columns in kinds.items():
        if kind not in Kinds.__annotations__:
            raise TypeError(f"there is no argument `{kind}`; kinds of columns are {', '.join(Kinds.__annotations__)}")
        if columns is None:
            continue
        if isinstance(columns, (str, bytes)) or not isinstance(columns, Iterable):
            raise GnsmError(f"`{kind}` is a list of columns; give [{columns!r}]")
        pairs += [(checked_name(str(column), f"`{kind}`: the name"), kind.replace("_", "-")) for column in columns]
    return pairs


def named(value: Any) -> str | None:
    """The name of a column, a preset or the like, if there is one."""
    if value is None:
        return None
    if getattr(value, "ndim", 0) > 0:
        raise GnsmError(f"a {type(value).__name__} is no name; give the name of the column or the setting")
    return checked_name(str(value), "the name")


def value_text(value: Any) -> str | None:
    """The text of a label, as the table has it."""
    if value is None or isinstance(value, str):
        return None if value is None else checked_name(value, "the value")
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def settings_text(settings: Mapping[str, Any] | None) -> str:
    """Settings as JSON."""
    if settings is not None and not isinstance(settings, Mapping):
        raise GnsmError(f"`settings` is {settings!r}; give a dict, such as {{'trees': 50}}")

    def of_numpy(value: Any) -> Any:
        if hasattr(value, "tolist"):
            return value.tolist()
        raise TypeError(f"{value!r} is a {type(value).__name__}")

    try:
        return json.dumps(dict(settings or {}), allow_nan=False, default=of_numpy)
    except (TypeError, ValueError) as error:
        raise GnsmError(f"the settings are not plain numbers, texts and dicts ({error})") from None


def whole(name: str, value: Any, most: int = 2**64 - 1) -> int:
    """A setting that is a whole number from 0 on."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or not 0 <= value.__index__() <= most:
        end = "on" if most >= 2**32 else f"to {most}"
        raise GnsmError(f"setting `{name}`: is {value!r}, must be a whole number from 0 {end}")
    return int(value.__index__())


def positive(name: str, value: Any) -> int:
    """A setting that is a whole number from 1 on."""
    if whole(name, value) == 0:
        raise GnsmError(f"setting `{name}`: is {value!r}, must be a whole number from 1 on")
    return int(value.__index__())


def number(name: str, value: Any) -> float:
    """A setting that is a number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise GnsmError(f"setting `{name}`: is {value!r}, must be a number") from None


def seconds(value: Any) -> float | None:
    """A limit of time, if there is one."""
    return None if value is None else number("max_seconds", value)


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
    max_seconds: float | None = None,
    max_memory: int | str | None = None,
    max_rows: int | None = None,
    progress: Wanted = None,
    **kinds: Unpack[Kinds],
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
    max_seconds: ends training after so many seconds with the best so far.
    max_memory: about how much memory a fit may take, in bytes or as `"2G"`; half of the machine's by default. Where a table
        needs more, some of its rows are learned from, chosen by a hash of their content, and a warning says so. What the
        columns are is learned from all rows.
    max_rows: learns from at most so many rows, chosen in the same way.
    progress: `False` for none, `True` for a bar, a function that is called with a `gnsm.Progress`. By default there is a
        bar in a terminal and in a notebook, if `tqdm` is installed.
    kinds: `categorical`, `numeric`, `date`, `day_first`, `month_first`, `identifier`, `text` and `ignore` are lists of
        columns that are to be taken for this. The kinds of the others are found.
    """
    pairs = _pairs(kinds)
    survey = None
    if isinstance(data, Surveyed):
        data, survey = data.rows, data.survey
    table = given(data)
    with Teller(progress) as teller:
        core, warnings = Core.fit(
            table.source,
            method=checked_name(str(method), "the name"),
            preset=named(preset),
            head=named(head),
            settings=settings_text(settings),
            seed=whole("seed", seed),
            label=named(label),
            anomaly=value_text(anomaly),
            kinds=pairs,
            max_seconds=seconds(max_seconds),
            max_memory=named(max_memory),
            max_rows=None if max_rows is None else positive("max_rows", max_rows),
            survey=survey,
            tell=teller.function,
        )
    warn(warnings)
    return Model(core)


def detect(data: Any, *, explain: int = 0, progress: Wanted = None, **options: Any) -> Any:
    """Learns from a table and scores its own rows, each as if it had not been there.

    Returns what `Model.score` returns. `contamination`, `fdr` or `threshold` is the rule. Without one, rows are flagged
    with a false discovery rate of 0.1: of ten flags, one is expected to be a false alarm. The other options are those of
    `gnsm.fit`.
    """
    rules = {name: options.pop(name) for name in RULES if options.get(name) is not None} or {"fdr": 0.1}
    table = _kept(data)
    model = fit(table, progress=progress, **options)
    return model.score(table, own=True, explain=explain, progress=progress, **rules)


def _kept(data: Any) -> Any:
    """The rows of a stream that can be read only once; everything else as it is."""
    return data.read_all() if hasattr(data, "read_all") and hasattr(data, "__arrow_c_stream__") else data


def columns(data: Any, label: Any = None, **kinds: Unpack[Kinds]) -> list[Column]:
    """What each column of a table is taken for, without a fit. `kinds` are those of `gnsm.fit`."""
    pairs = _pairs(kinds)
    return [Column(*column) for column in _gnsm.columns(given(data).source, named(label), pairs)]


def load(path: str | os.PathLike[str]) -> Model:
    """Reads a model file, whether `Model.save` or the command line wrote it."""
    return Model(Core.load(path_of(path)))


def _from_bytes(data: bytes) -> Model:
    return Model(Core.from_bytes(data))


#: The rules that say what is flagged.
RULES = ("contamination", "fdr", "threshold")


def rule_of(
    contamination: float | None = None, fdr: float | None = None, threshold: float | None = None
) -> tuple[str, float]:
    """The one rule that is given: a word and its number."""
    rules = {name: value for name, value in zip(RULES, (contamination, fdr, threshold)) if value is not None}
    if len(rules) > 1:
        raise GnsmError(f"{' and '.join(f'`{name}`' for name in rules)} are two rules; give one")
    for name, value in rules.items():
        return name, number(name, value)
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
        drift: bool = True,
        progress: Wanted = False,
    ) -> Any:
        """A score, a p-value and a flag for each row, in a frame of the given kind with the given index.

        score: higher is odder.
        p_value: the share of usual rows that are at least as odd.
        anomaly: whether the row is flagged. `contamination` is the largest p-value to flag (0.01 if nothing is given),
            `fdr` the largest share of false alarms among the flagged rows, `threshold` the lowest score.
        explain: adds columns `reason_1`, `reason_2` and so on with the strongest reasons in words.
        own: says that these are the rows that the model was fitted on: each is judged as if it had not been there.
        drift: what is new in most rows or moved as time went on is set aside, as the command line does it, and a warning names
            the columns that moved. For this the rows are looked at twice; those of a stream cannot be.
        """
        table = given(data)
        rule = rule_of(contamination, fdr, threshold)
        drift = drift and table.can_be_read_twice
        return table.frame(self._scores(table, explain, rule, own=own, drift=drift, progress=progress), table.index)

    def _scores(
        self,
        table: Given,
        explain: int,
        rule: tuple[str, float],
        own: bool = False,
        drift: bool = False,
        progress: Wanted = False,
    ) -> dict[str, Any]:
        explain = whole("explain", explain)
        with Teller(progress) as teller:
            scores, p_values, flags, reasons, warnings = self._core.score(
                table.source, rule, explain, own, drift, teller.function
            )
        warn(warnings)
        columns = score_columns(scores, p_values, flags)
        columns.update({f"reason_{place + 1}": words for place, words in enumerate(reasons)})
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

        A column of the batch that has one of their names is called `input_` and its name, as on the command line.
        A batch is a frame of any kind. A row's score does not depend on its batch, so this is all that Spark, Ray, Dask
        and others need. Memory does not grow with the number of batches. A false discovery rate needs all rows at once,
        and so is not offered here.
        """
        rule = rule_of(contamination, threshold=threshold)
        if isinstance(batches, (str, Mapping)) or hasattr(batches, "columns") or not hasattr(batches, "__iter__"):
            raise GnsmError("batches come one after another; give them in a list, or a generator of them")
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
        drift: bool = True,
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
        drift: as for `score`.
        """
        if rows is not None and not isinstance(rows, Iterable):
            raise GnsmError(f"`rows` is a list of the numbers of rows, counted from 0; give [{rows!r}]")
        wanted = None if rows is None else [_row(row) for row in rows]
        top, most = whole("top", top), 2**32 if reasons is None else whole("reasons", reasons)
        table = given(data)
        drift = drift and table.can_be_read_twice
        with Teller(progress) as teller:
            explained, warnings = self._core.explain(table.source, top, wanted, most, own, drift, teller.function)
        warn(warnings)
        lines: list[dict[str, Any]] = []
        for row, _, _, rest, found in explained:
            lines += [{"row": row, **reason} for reason in [*found, {"part": rest}]]
        names = ("row", "column", "saw", "expected", "probability", "part", "share", "words")
        index = table.index_of([line["row"] for line in lines])
        return table.frame(_upkeep.lines(lines, names), index, _html.explanations(explained))

    def drift(self, data: Any, *, progress: Wanted = False) -> Any:
        """How a table differs from what was learned: a line for each column, in a frame of the given kind.

        moved: whether the column is another than it was: more of it is missing, new or out of range, or its values
            shifted, by more than chance.
        set_aside: whether something of it is new in most rows or moved as time went on, so that `score` does not count it.
        missing_then, missing_now, new_then, new_now: the shares of missing and of new values, when learned and in this
            table.
        out_of_range: the share of numbers below or above all learned ones.
        shift: the population stability index.
        notes: what has moved, in words.
        """
        table = given(data)
        with Teller(progress) as teller:
            report = _gnsm.drift(self._core, table.source, teller.function)
        return table.frame(_upkeep.drift(report))

    def odd_cells(self, data: Any, *, fdr: float = 0.1) -> Any:
        """The cells that are likely wrong, the surest first: a line for each, in a frame of the given kind.

        row, column, saw, expected, probability, part, words: as for `explain`.
        seen_probability: of what stands there.
        p_value: the share of the column's cells that are as odd or odder.
        wrong: the probability that the cell is wrong.

        fdr: the share of the listed cells that may be right.
        """
        table = given(data)
        _gnsm.check_rule(("fdr", number("fdr", fdr)))
        cells, warnings = _gnsm.odd_cells(self._core, table.source, float(fdr))
        warn(warnings)
        index = table.index_of([cell["row"] for cell in cells])
        return table.frame(_upkeep.lines(cells, ODD_CELL), index)

    def changes(self, data: Any, at_least: float = 0.9) -> Any:
        """What `repair` would change, the surest first: a line for each cell, in a frame of the given kind.

        row, column, from, to: the cell, what stands there, and what belongs there.
        probability: that the cell is wrong and the other value right.
        """
        table = given(data)
        found: list[dict[str, Any]] = [dict(zip(CHANGE, change)) for change in self._changes(table, at_least)]
        return table.frame(_upkeep.lines(found, CHANGE), table.index_of([change["row"] for change in found]))

    def repair(self, data: Any, at_least: float = 0.9) -> Any:
        """The table with the cells replaced that are near certainly wrong; of the same kind, with the same index.

        A cell is changed if it is wrong and another value of its column belongs there, both together with the
        probability `at_least`. Numbers and dates are never changed. What was given stays as it is; `changes` lists what
        differs.
        """
        data = _kept(data)
        table = given(data)
        return _upkeep.changed(data, table, [] if table.kind == "path" else self._changes(table, at_least))

    def _changes(self, table: Given, at_least: float) -> list[_upkeep.Change]:
        if not 0 < number("at_least", at_least) <= 1:
            raise GnsmError(f"setting `at_least`: is {at_least}, must be a probability above 0 and up to 1")
        found, warnings = _gnsm.changes(self._core, table.source, float(at_least))
        warn(warnings)
        return found

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
        self._core.save(path_of(path))

    def to_bytes(self) -> bytes:
        """The bytes of the model's file."""
        return self._core.to_bytes()

    @staticmethod
    def from_bytes(data: bytes) -> Model:
        """A model from the bytes of a file."""
        return _from_bytes(bytes(data) if isinstance(data, (bytearray, memoryview)) else data)

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return _from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        used = sum(column.kind != "ignored" for column in self.columns)
        rows = sum(self._description["rows"][part] for part in ("training", "validation", "calibration"))
        return f"<gnsm.Model {self.method}, {used} columns, {rows} rows>"

    def _repr_html_(self) -> str:
        return _html.model(self._description)


#: The columns of `Model.odd_cells`.
ODD_CELL = ("row", "column", "saw", "expected", "probability", "seen_probability", "part", "p_value", "wrong", "words")
#: The columns of `Model.changes`.
CHANGE = ("row", "column", "from", "to", "probability")


def _row(row: Any) -> int:
    if isinstance(row, bool) or not hasattr(row, "__index__") or row.__index__() < 0:
        raise GnsmError(f"`rows` are the numbers of rows, counted from 0, and {row!r} is none")
    return int(row.__index__())


def score_columns(scores: bytearray, p_values: bytearray, flags: bytearray) -> dict[str, Any]:
    """The columns of scores from what the native part gives."""
    import numpy

    return {
        "score": numpy.frombuffer(scores, dtype="<f8"),
        "p_value": numpy.frombuffer(p_values, dtype="<f8"),
        "anomaly": numpy.frombuffer(flags, dtype=bool),
    }


def _widened(batch: Any, model: Model, explain: int, rule: tuple[str, float]) -> Any:
    """The batch with the columns of its scores; one without rows keeps its kind."""
    table = given(batch)
    n_rows = getattr(batch, "num_rows", None)
    if (len(batch) if n_rows is None else n_rows) == 0:
        columns = score_columns(bytearray(), bytearray(), bytearray())
        columns.update({f"reason_{place + 1}": [] for place in range(explain)})
    else:
        columns = model._scores(table, explain, rule)
        for place in range(explain):
            columns.setdefault(f"reason_{place + 1}", [None] * len(columns["score"]))
    if table.kind == "pandas":
        names = _titles([str(name) for name in batch.columns], columns)
        if names != [str(name) for name in batch.columns]:
            pairs = zip(batch.columns, names)
            batch = batch.set_axis([old if str(old) == new else new for old, new in pairs], axis=1)
        return batch.assign(**columns)
    if table.kind == "polars":
        import polars

        batch = batch.rename(dict(zip(batch.columns, _titles(batch.columns, columns))))
        return batch.with_columns(**{name: polars.Series(name, values) for name, values in columns.items()})
    if table.kind == "pyarrow":
        import pyarrow

        batch = batch.rename_columns(_titles(batch.schema.names, columns))
        for name, values in columns.items():
            kind = pyarrow.string() if name.startswith("reason_") else None
            batch = batch.append_column(name, pyarrow.array(values, kind))
        return batch
    if table.kind == "dict":
        names = _titles([str(name) for name in batch], columns)
        kept = {old if str(old) == new else new: batch[old] for old, new in zip(batch, names)}
        return {**kept, **columns}
    return table.frame(columns, table.index)


def _titles(names: Sequence[str], added: Iterable[str]) -> list[str]:
    """What columns are called beside those that are added."""
    taken = set(added)
    titles = []
    for name in names:
        while name in taken:
            name = f"input_{name}"
        taken.add(name)
        titles.append(name)
    return titles
