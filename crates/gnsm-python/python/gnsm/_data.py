"""Tables in and out: whatever a table is, it is handed over as an Arrow stream or as columns, piece by piece.

`given` looks at a table and remembers its kind and its index; `Given.frame` makes a frame of the same kind from results,
and `Given.changed` one of the table itself with other cells.
"""

from __future__ import annotations

import datetime
import decimal
import importlib.util
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ._gnsm import GnsmError, look_for_zones_in

# The zones that pip has, for systems without any.
_TZDATA = importlib.util.find_spec("tzdata")
for _folder in (_TZDATA and _TZDATA.submodule_search_locations) or ():
    look_for_zones_in(os.path.join(_folder, "zoneinfo"))

#: Rows of a piece that is handed over at a time.
PIECE = 65_536

Source = tuple[Any, ...]


class Given:
    """A table that somebody gave: what to read it from, and how to answer."""

    def __init__(self, kind: str, source: Source, index: Any = None) -> None:
        self.kind = kind
        self.source = source
        self.index = index

    @property
    def can_be_read_twice(self) -> bool:
        """Whether a second look finds the same rows. A stream that is used up as it is read says how to read on."""
        return self.source[0] != "stream" or not hasattr(self.source[-1], "read_next_batch")

    def index_of(self, rows: Sequence[int]) -> Any:
        """The index of these rows, if there is one."""
        return None if self.index is None else self.index.take(list(rows))

    def frame(self, columns: dict[str, Any], index: Any = None, pretty: str | None = None) -> Any:
        """A frame of the given kind, with this index where frames have one."""
        if self.kind == "pandas" or self.kind == "path" and optional("pandas"):
            import pandas

            frame = pandas.DataFrame(columns, index=index)
            return _dressed(frame, pretty) if pretty else frame
        if self.kind == "polars":
            import polars

            frame = polars.DataFrame(columns)
            return _dressed(frame, pretty) if pretty else frame
        pyarrow = optional("pyarrow") if self.kind in ("pyarrow", "arrow") else None
        if pyarrow is not None:
            return pyarrow.table(columns)
        if self.kind == "numpy":
            return _structured(columns)
        return columns


def _structured(columns: dict[str, Any]) -> Any:
    import numpy

    arrays = {name: values if isinstance(values, numpy.ndarray) else _objects(values) for name, values in columns.items()}
    length = max((len(values) for values in arrays.values()), default=0)
    table = numpy.empty(length, dtype=[(name, values.dtype) for name, values in arrays.items()])
    for name, values in arrays.items():
        table[name] = values
    return table


def _dressed(frame: Any, html: str) -> Any:
    """The frame with this page in notebooks. What is made from it, a copy in another process too, is a plain frame."""
    kind = type(frame)
    members = {
        "__module__": kind.__module__,
        "_repr_html_": lambda self: html,
        "__reduce__": lambda self: (kind, (frame,)),
        "_constructor": property(lambda self: kind),
    }
    dressed: Any = type("Explanations", (kind,), members)
    return dressed(frame)


def optional(name: str) -> Any:
    """A package that may be missing."""
    if name in sys.modules:
        return sys.modules[name]
    try:
        return __import__(name)
    except ImportError:
        return None


def given(data: Any) -> Given:
    """Looks at a table, unless that was done before."""
    if isinstance(data, Given):
        return data
    if isinstance(data, (str, os.PathLike)):
        return Given("path", ("path", path_of(data)))
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    if pandas is not None and isinstance(data, pandas.DataFrame):
        return Given("pandas", _pandas(data), data.index)
    if pandas is not None and isinstance(data, pandas.Series):
        raise GnsmError("a series is no table; give a data frame, such as `series.to_frame()`")
    if polars is not None and isinstance(data, polars.DataFrame):
        return Given("polars", ("stream", "the data frame", _polars(data)))
    if polars is not None and isinstance(data, polars.LazyFrame):
        raise GnsmError("a lazy frame has no rows yet; give `frame.collect()`")
    if polars is not None and isinstance(data, polars.Series):
        raise GnsmError("a series is no table; give a data frame, such as `series.to_frame()`")
    if type(data).__module__.startswith("pyspark."):
        raise GnsmError("this is a Spark data frame; use `gnsm.spark`")
    if isinstance(data, Mapping):
        columns = {str(name): values for name, values in data.items()}
        if len(columns) < len(data):
            raise GnsmError(f"the table, column `{_twice([str(name) for name in data])}`: {TWICE}")
        return Given("dict", _columns("the table", columns))
    if hasattr(data, "__arrow_c_stream__"):
        kind = "pyarrow" if type(data).__module__.startswith("pyarrow") else "arrow"
        return Given(kind, ("stream", "the table", data))
    if hasattr(data, "__arrow_c_array__") and optional("pyarrow"):
        try:
            batch = optional("pyarrow").record_batch(data)
        except Exception as error:  # noqa: BLE001
            raise GnsmError(f"a {type(data).__name__} is no table ({error}); give a table with named columns") from None
        return Given("pyarrow", ("stream", "the table", optional("pyarrow").Table.from_batches([batch])))
    if isinstance(data, (list, tuple)):
        if any(isinstance(row, Mapping) for row in data):
            raise GnsmError("a list of dicts is no table; give a data frame of it, such as `pandas.DataFrame(rows)`")
        if len({len(row) if hasattr(row, "__len__") else -1 for row in data}) > 1:
            raise GnsmError("the rows have different lengths; give rows with a value for each column")
    if hasattr(data, "__array__") or isinstance(data, (list, tuple)):
        return Given("numpy", _array(data))
    raise GnsmError(
        f"a {type(data).__name__} is no table; give a pandas, polars or pyarrow frame, a numpy array, a dict of columns "
        "or the path of a file"
    )


def path_of(path: str | os.PathLike[str]) -> str:
    """A path that a file can have."""
    found = os.fspath(path)
    if not found:
        raise GnsmError("the path is empty; give the path of a file")
    try:
        os.fsencode(found)
    except UnicodeEncodeError as error:
        raise GnsmError(f"the path {ascii(found)} is none ({error}); give the path of a file") from None
    return found


def checked_name(name: str, what: str) -> str:
    """A name that is a text."""
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise GnsmError(f"{what} {ascii(name)} is no text ({error}); rename it") from None
    return name


TWICE = "two columns have this name; rename one of them"


def _twice(names: Sequence[str]) -> str | None:
    """The first name that occurs twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _polars(frame: Any) -> Any:
    """The frame with types that others can read: polars hands on nulls in a form of its own, and whole numbers of 128 bits,
    which no other package has."""
    import polars

    wide = [getattr(polars, name) for name in ("Int128", "UInt128") if hasattr(polars, name)]
    new = []
    for name, dtype in frame.schema.items():
        if dtype == polars.Object:
            raise GnsmError(
                f"the data frame, column `{name}`: holds Python objects, which polars does not hand on; "
                "drop the column or cast it"
            )
        column = frame.get_column(name)
        if dtype in wide:
            whole = column.cast(polars.Int64, strict=False)
            new.append(whole if whole.null_count() == column.null_count() else column.cast(polars.Float64))
        elif (known := _without_null(dtype)) != dtype:
            new.append(column.cast(known))
    return frame.with_columns(new) if new else frame


def _without_null(dtype: Any) -> Any:
    """A type of polars in which nulls are missing texts."""
    import polars

    if dtype == polars.Null:
        return polars.String()
    if isinstance(dtype, polars.List):
        return polars.List(_without_null(dtype.inner))
    if isinstance(dtype, polars.Array):
        return polars.Array(_without_null(dtype.inner), dtype.size)
    if isinstance(dtype, polars.Struct):
        return polars.Struct({field.name: _without_null(field.dtype) for field in dtype.fields})
    return dtype


def _pandas(frame: Any) -> Source:
    names = [checked_name(str(name), "the data frame: the column's name") for name in frame.columns]
    twice = _twice(names)
    if twice is not None:
        raise GnsmError(f"the data frame, column `{twice}`: {TWICE}")
    if not names:
        raise GnsmError("the data frame: has no columns; give a table with columns")
    series = [column for _, column in frame.items()]
    pyarrow = optional("pyarrow")
    if pyarrow is None:
        return _columns("the data frame", dict(zip(names, series)))
    arrays = [_arrow(pyarrow, name, column) for name, column in zip(names, series)]
    return "stream", "the data frame", pyarrow.table(arrays, names=names)


def _plain(column: Any) -> Any:
    """A pandas column without what only pandas has: times are those that a clock on the wall shows in the column's zone, and
    a period is its first moment."""
    import pandas

    dtype = column.dtype
    if str(dtype).startswith("Sparse"):
        column = column.sparse.to_dense()
    elif isinstance(dtype, pandas.PeriodDtype):
        column = column.dt.to_timestamp()
    elif isinstance(dtype, pandas.DatetimeTZDtype):
        column = column.dt.tz_localize(None)
    elif getattr(dtype, "kind", "") == "f" and getattr(dtype, "itemsize", 8) > 8:
        column = column.astype("float64")
    return column


#: What pandas says of columns of objects that Arrow takes as they are.
_AS_ARROW_HAS_IT = frozenset(("string", "empty", "boolean", "integer", "floating", "decimal", "date", "time", "bytes"))


def _arrow(pyarrow: Any, name: str, column: Any) -> Any:
    """A pandas column as Arrow has it; objects by their content, as they are without Arrow."""
    import pandas

    column = _plain(column)
    if column.dtype != object or pandas.api.types.infer_dtype(column, skipna=True) in _AS_ARROW_HAS_IT:
        try:
            return pyarrow.array(column, from_pandas=True)
        except UnicodeEncodeError as error:
            raise GnsmError(f"the data frame, column `{name}`: holds what is no text ({error}); replace it") from None
        except (pyarrow.ArrowException, OverflowError, TypeError, ValueError):
            pass
    spec = _pandas_spec(column)
    if spec.kind == "useless":
        try:
            return pyarrow.array(column, from_pandas=True)
        except (pyarrow.ArrowException, OverflowError, TypeError, ValueError):
            return pyarrow.nulls(len(column), pyarrow.list_(pyarrow.field(spec.categories[0], pyarrow.null())))
    return _arrow_of(pyarrow, name, spec, len(column))


def _arrow_of(pyarrow: Any, name: str, spec: Spec, n_rows: int) -> Any:
    """A column that is none of Arrow's, as Arrow has it."""
    import numpy

    cells, missing = spec.take(0, n_rows)
    if spec.kind == "text":
        try:
            return pyarrow.array(cells, pyarrow.string())
        except UnicodeEncodeError as error:
            raise GnsmError(f"the data frame, column `{name}`: holds what is no text ({error}); replace it") from None
    mask = None if missing is None else _flags(missing)
    width = {"float": "<f8", "unsigned": "<u8", "boolean": "?"}.get(spec.kind, "<i8")
    numbers = numpy.frombuffer(cells, dtype=width)
    if spec.kind == "date":
        return pyarrow.array(numbers.astype("int32"), mask=mask).view(pyarrow.date32())
    array = pyarrow.array(numbers, mask=mask)
    kind, _, unit = spec.kind.partition("-")
    times = {"moment": pyarrow.timestamp, "span": pyarrow.duration}
    if kind in times:
        return array.view(times[kind](unit))
    return array.view(pyarrow.time64("us")) if kind == "time" else array


def _array(data: Any) -> Source:
    import numpy

    array = data if isinstance(data, numpy.ndarray) else numpy.asarray(data)
    if array.dtype.names:
        return _columns("the array", {name: array[name] for name in array.dtype.names})
    if array.ndim != 2:
        raise GnsmError(f"the array has {array.ndim} dimensions, not 2; give rows by columns")
    if array.shape[1] == 0:
        raise GnsmError("the array: has no columns; give a table with columns")
    return _columns("the array", {f"column_{place + 1}": array[:, place] for place in range(array.shape[1])})


# Columns without Arrow.

Cells = tuple[Any, "bytes | None"]


class Spec(NamedTuple):
    """A column: its type as `source.rs` names it, its categories, and how to get some of its rows."""

    kind: str
    categories: list[str]
    take: Callable[[int, int], Cells]


def _columns(name: str, columns: Mapping[str, Any]) -> Source:
    if not columns:
        raise GnsmError(f"{name}: has no columns; give a table with columns")
    lengths = {}
    for column, values in columns.items():
        checked_name(column, f"{name}: the column's name")
        if isinstance(values, Iterator):
            raise GnsmError(
                f"{name}, column `{column}`: is a {type(values).__name__}, which is used up as it is read; give `list(...)` "
                "of it"
            )
        if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
            raise GnsmError(f"{name}, column `{column}`: is one value; give a list or an array with a value for each row")
        lengths[column] = len(values)
    n_rows = next(iter(lengths.values()))
    for column, length in lengths.items():
        if length != n_rows:
            raise GnsmError(f"{name}, column `{column}`: has {length} rows, and the first column has {n_rows}")
    specs = {column: _spec(values) for column, values in columns.items()}

    declared = [(column, spec.kind, spec.categories) for column, spec in specs.items()]
    return "columns", name, declared, Pieces(n_rows, list(specs.values()))


class Pieces:
    """The rows of some columns, piece by piece, as often as they are wanted."""

    def __init__(self, n_rows: int, specs: list[Spec]) -> None:
        self.n_rows = n_rows
        self.specs = specs

    def __iter__(self) -> Iterator[list[Cells]]:
        for start in range(0, self.n_rows, PIECE):
            end = min(start + PIECE, self.n_rows)
            yield [spec.take(start, end) for spec in self.specs]


def _spec(values: Any) -> Spec:
    import numpy

    package = type(values).__module__.split(".")[0]
    if package == "pandas":
        return _pandas_spec(values)
    if package == "polars" and getattr(values.dtype, "time_zone", None):
        values = values.dt.replace_time_zone(None)
    if package == "pyarrow" and getattr(values.type, "tz", None):
        import pyarrow.compute

        values = pyarrow.compute.local_timestamp(values)
    if isinstance(values, numpy.ma.MaskedArray):
        mask = numpy.ma.getmaskarray(values)
        return _with_mask(_spec(numpy.asarray(values.data)), mask)
    if not isinstance(values, numpy.ndarray):
        if hasattr(values, "to_numpy"):
            values = values.to_numpy()
        elif hasattr(values, "__array__") and not isinstance(values, (list, tuple)):
            values = numpy.asarray(values)
        else:
            values = _objects(values)
    if values.ndim != 1:
        return _useless(f"an array of {values.ndim} dimensions")
    kind = values.dtype.kind
    if kind == "f":
        return Spec("float", [], lambda a, b: (values[a:b].astype("<f8").tobytes(), None))
    if kind == "i":
        return Spec("integer", [], lambda a, b: (values[a:b].astype("<i8").tobytes(), None))
    if kind == "u":
        return Spec("unsigned", [], lambda a, b: (values[a:b].astype("<u8").tobytes(), None))
    if kind == "b":
        return Spec("boolean", [], lambda a, b: (values[a:b].astype("u1").tobytes(), None))
    if kind in "Mm":
        return _times(values)
    if kind in "US":
        return Spec("text", [], lambda a, b: (values[a:b].astype(str).tolist(), None))
    if kind == "O":
        return _object_spec(values)
    return _useless(str(values.dtype))


def _useless(what: str) -> Spec:
    """A type that has no use here, and what it is; an error only if the column is used."""
    return Spec("useless", [what.replace("'", "")], lambda a, b: (b - a, None))


def _with_mask(spec: Spec, mask: Any) -> Spec:
    def take(start: int, end: int) -> Cells:
        cells, missing = spec.take(start, end)
        part = mask[start:end]
        if spec.kind == "text":
            return [None if gone else cell for cell, gone in zip(cells, part)], None
        if missing is not None:
            part = part | _flags(missing)
        return cells, part.astype("u1").tobytes()

    return Spec(spec.kind, spec.categories, take)


def _flags(mask: bytes) -> Any:
    import numpy

    return numpy.frombuffer(mask, dtype="u1").astype(bool)


def _times(values: Any) -> Spec:
    import numpy

    word = "moment" if values.dtype.kind == "M" else "span"
    unit = numpy.datetime_data(values.dtype)[0]
    if unit in ("Y", "M", "W", "D") and word == "moment":
        kind, unit = "date", "D"
    elif unit in ("s", "ms", "us", "ns"):
        kind = f"{word}-{unit}"
    else:
        kind, unit = f"{word}-s", "s"
    letter = values.dtype.kind

    def take(start: int, end: int) -> Cells:
        part = values[start:end].astype(f"{letter}8[{unit}]")
        missing = numpy.isnat(part).astype("u1").tobytes()
        return part.astype("<i8").tobytes(), missing

    return Spec(kind, [], take)


def _pandas_spec(column: Any) -> Spec:
    import numpy
    import pandas

    column = _plain(column if isinstance(column, pandas.Series) else pandas.Series(column))
    dtype = column.dtype
    if isinstance(dtype, pandas.CategoricalDtype):
        categories = list(dtype.categories)
        if not all(isinstance(name, str) for name in categories):
            return _spec(numpy.asarray(column))
        codes = column.cat.codes.to_numpy()
        return Spec("category", categories, lambda a, b: (codes[a:b].astype("<i8").tobytes(), None))
    if isinstance(dtype, numpy.dtype):
        return _spec(column.to_numpy())
    kind = getattr(dtype, "kind", "O")
    if kind in "iufb":
        width = {"i": "int64", "u": "uint64", "f": "float64", "b": "bool"}[kind]
        return _with_mask(_spec(column.to_numpy(dtype=width, na_value=0)), column.isna().to_numpy())
    return _spec(column.astype(object).to_numpy())


def _objects(values: Any) -> Any:
    import numpy

    array = numpy.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        array[place] = value
    return array


def is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, float):
        return math.isnan(value)
    # Numbers and times of numpy that are none differ from themselves.
    return type(value).__module__ == "numpy" and value.shape == () and bool(value != value)


def _python(value: Any) -> Any:
    """A number or a time of numpy as Python has it, and a period of pandas as its first moment."""
    import numpy

    if type(value).__name__ == "Period":
        return value.to_timestamp()
    # As numbers of nanoseconds, times would be times no more.
    if isinstance(value, (numpy.datetime64, numpy.timedelta64)):
        value = value.astype(f"{value.dtype.kind}8[us]")
    return value.item() if isinstance(value, numpy.generic) else value


def _texts(values: Any) -> list[str | None] | str:
    """Cells of several types as texts, or which one is of a type that has no text worth comparing."""
    texts: list[str | None] = []
    for row, value in enumerate(values):
        value = _python(value)
        if is_missing(value):
            texts.append(None)
        elif isinstance(value, str):
            texts.append(value)
        elif isinstance(value, bool):
            texts.append("true" if value else "false")
        elif isinstance(value, float) and value.is_integer():
            texts.append(str(int(value)))
        elif isinstance(value, (int, float, decimal.Decimal, datetime.date, datetime.time, datetime.timedelta)):
            texts.append(str(value))
        else:
            return f"{type(value).__name__} in row {row}, counted from 0"
    return texts


EPOCH = datetime.datetime(1970, 1, 1)


def _microseconds(span: datetime.timedelta) -> int:
    return (span.days * 86_400 + span.seconds) * 1_000_000 + span.microseconds


def _moment(value: datetime.datetime) -> int:
    """What a clock on the wall shows, whatever its zone."""
    return _microseconds(value.replace(tzinfo=None) - EPOCH)


def _time(value: datetime.time) -> int:
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _object_spec(values: Any) -> Spec:
    """A column of Python objects, by its content."""
    kinds = {type(_python(value)) for value in values if not is_missing(value)}

    def all_are(*types: type) -> bool:
        return bool(kinds) and all(issubclass(kind, types) for kind in kinds)

    if not kinds or all_are(str):
        return Spec("text", [], lambda a, b: ([None if is_missing(v) else str(v) for v in values[a:b]], None))
    if bool in kinds and not all_are(bool):
        return _text_spec(values)
    for types, kind, width, of in (
        ((bool,), "boolean", "u1", bool),
        ((int,), "integer", "<i8", int),
        ((int, float, decimal.Decimal), "float", "<f8", _float),
        ((datetime.datetime,), "moment-us", "<i8", _moment),
        ((datetime.time,), "time", "<i8", _time),
        ((datetime.timedelta,), "span-us", "<i8", _microseconds),
    ):
        if all_are(*types):
            return _object_numbers(values, kind, width, of)
    if all_are(datetime.date) and datetime.datetime not in kinds:
        return _object_numbers(values, "date", "<i8", lambda day: (day - EPOCH.date()).days)
    return _text_spec(values)


def _object_numbers(values: Any, kind: str, width: str, of: Callable[[Any], Any]) -> Spec:
    import numpy

    if kind == "integer":
        known = [int(value) for value in values if not is_missing(value)]
        if min(known) < -(2**63) or max(known) >= 2**64 or min(known) < 0 and max(known) >= 2**63:
            kind, width, of = "float", "<f8", _float
        elif max(known) >= 2**63:
            kind, width = "unsigned", "<u8"

    def take(start: int, end: int) -> Cells:
        part = values[start:end]
        missing = [is_missing(value) for value in part]
        numbers = [0 if gone else of(_python(value)) for value, gone in zip(part, missing)]
        mask = numpy.array(missing, dtype="u1").tobytes() if any(missing) else None
        return numpy.array(numbers, dtype=width).tobytes(), mask

    return Spec(kind, [], take)


def _text_spec(values: Any) -> Spec:
    texts = _texts(values)
    if isinstance(texts, str):
        return _useless(texts)
    return Spec("text", [], lambda a, b: (texts[a:b], None))
