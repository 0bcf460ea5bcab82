"""Tables kept in order: the frames of drift, odd cells and changes, and tables with cells replaced."""

from __future__ import annotations

import decimal
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ._data import Given, is_missing, optional
from ._gnsm import GnsmError


def numbers(values: Sequence[Any]) -> Any:
    """Numbers as an array; one that is not there is NaN."""
    import numpy

    return numpy.array([numpy.nan if value is None else value for value in values], dtype="float64")


def drift(report: str) -> dict[str, Any]:
    """A line for each column of a drift report."""
    import numpy

    found = json.loads(report)["columns"]

    def part(name: str, when: str) -> Any:
        return numbers([None if column[name] is None else column[name][when] for column in found])

    return {
        "column": [column["column"] for column in found],
        "kind": [column["kind"] for column in found],
        "moved": numpy.array([column["moved"] for column in found], dtype=bool),
        "set_aside": numpy.array([column["set_aside"] for column in found], dtype=bool),
        "missing_then": part("missing", "then"),
        "missing_now": part("missing", "now"),
        "new_then": part("new", "then"),
        "new_now": part("new", "now"),
        "out_of_range": numbers([column["out_of_range"] for column in found]),
        "shift": numbers([column["shift"] for column in found]),
        "notes": ["; ".join(column["notes"]) for column in found],
    }


def lines(found: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    """A line for each dict, with these columns: texts stay lists, everything else becomes an array of numbers."""
    import numpy

    columns: dict[str, Any] = {}
    for name in names:
        values = [one.get(name) for one in found]
        if name == "row":
            columns[name] = numpy.array(values, dtype="int64")
        else:
            columns[name] = values if name in TEXTS else numbers(values)
    return columns


#: The columns of explanations, odd cells and changes that hold texts.
TEXTS = frozenset(("column", "saw", "expected", "words", "from", "to"))

#: A change as the native part has it: row, column, from, to, probability.
Change = tuple[int, str, str, str, float]


def changed(data: Any, table: Given, changes: Sequence[Change]) -> Any:
    """The table with cells replaced: of the same kind, with the same index and types. What was given stays as it is."""
    if table.kind == "path":
        raise GnsmError("a file is repaired by the command `gnsm repair`; give a frame, or ask for `changes`")
    by_column: dict[str, list[tuple[int, str]]] = {}
    for row, column, _, new, _ in changes:
        by_column.setdefault(column, []).append((row, new))
    if table.kind == "pandas":
        return _changed_pandas(data, by_column)
    if table.kind == "polars":
        return _changed_polars(data, by_column)
    if table.kind in ("pyarrow", "arrow"):
        return _changed_arrow(data, by_column)
    if table.kind == "dict":
        return {name: _changed_values(values, by_column.get(str(name), [])) for name, values in data.items()}
    return _changed_array(data, by_column)


def _as(text: str, values: Sequence[Any]) -> Any:
    """A category, which comes as a text, as a value of the type that its column has."""
    sample = next((value for value in values if not is_missing(value)), text)
    if hasattr(sample, "item"):
        sample = sample.item()
    if isinstance(sample, bool):
        return text.lower() == "true"
    if isinstance(sample, (int, float, decimal.Decimal)):
        return type(sample)(text)
    return text


def _changed_pandas(frame: Any, by_column: Mapping[str, list[tuple[int, str]]]) -> Any:
    import pandas

    frame = frame.copy()
    for place, name in enumerate(frame.columns):
        cells = by_column.get(str(name))
        if not cells:
            continue
        column = frame.iloc[:, place].copy()
        new = [_as(text, column.array) for _, text in cells]
        if isinstance(column.dtype, pandas.CategoricalDtype):
            known = column.cat.categories
            column = column.cat.add_categories([value for value in dict.fromkeys(new) if value not in known])
        for (row, _), value in zip(cells, new):
            column.iloc[row] = value
        frame.isetitem(place, column)
    return frame


def _replaced(values: Sequence[Any], cells: Sequence[tuple[int, str]]) -> list[Any]:
    found = list(values)
    for row, text in cells:
        found[row] = _as(text, values)
    return found


def _changed_polars(frame: Any, by_column: Mapping[str, list[tuple[int, str]]]) -> Any:
    import polars

    new = {}
    for name, cells in by_column.items():
        values, dtype = _replaced(frame[name].to_list(), cells), frame.schema[name]
        if isinstance(dtype, polars.Enum):
            dtype = polars.Enum([*dict.fromkeys([*dtype.categories, *(text for _, text in cells)])])
        new[name] = polars.Series(name, values, dtype=dtype)
    return frame.with_columns(**new)


def _changed_arrow(table: Any, by_column: Mapping[str, list[tuple[int, str]]]) -> Any:
    pyarrow = optional("pyarrow")
    if pyarrow is None:
        raise GnsmError("a repaired Arrow table needs pyarrow; install it, or ask for `changes`")
    for name, cells in by_column.items():
        place = table.schema.get_field_index(name)
        field = table.schema.field(place)
        values = pyarrow.array(_replaced(table.column(place).to_pylist(), cells), field.type)
        table = table.set_column(place, field, values)
    return table


def _changed_values(values: Any, cells: Sequence[tuple[int, str]]) -> Any:
    if not cells:
        return values
    if hasattr(values, "iloc"):
        return _changed_pandas(values.to_frame("column"), {"column": list(cells)})["column"].rename(values.name)
    if isinstance(values, (list, tuple)):
        return _replaced(values, cells)
    import numpy

    array = numpy.asarray(values)
    # Texts of a fixed length would be cut; numpy finds the length that is needed.
    dtype = None if array.dtype.kind in "US" else array.dtype
    return numpy.array(_replaced(array.tolist(), cells), dtype=dtype)


def _changed_array(data: Any, by_column: Mapping[str, list[tuple[int, str]]]) -> Any:
    import numpy

    array = numpy.asarray(data)
    if array.dtype.names:
        columns = {name: _changed_values(array[name], by_column.get(name, [])) for name in array.dtype.names}
        changed = numpy.empty(array.shape, dtype=[(name, values.dtype) for name, values in columns.items()])
        for name, values in columns.items():
            changed[name] = values
        return changed
    names = [f"column_{place + 1}" for place in range(array.shape[1])]
    columns = {name: _changed_values(array[:, place], by_column.get(name, [])) for place, name in enumerate(names)}
    return numpy.column_stack(list(columns.values())) if by_column else array.copy()
