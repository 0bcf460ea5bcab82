"""Models and explanations as pages for notebooks. All values are escaped."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

#: Columns that are listed, at the most.
LISTED = 40

_STYLE = (
    "<style>.gnsm td,.gnsm th{text-align:left;padding:2px 10px 2px 0}.gnsm .odd{background:#c0392b22;color:#c0392b;"
    "font-weight:bold}.gnsm .bar{display:inline-block;background:#c0392b;height:8px}.gnsm .faint{opacity:.6}</style>"
)


def _text(value: Any) -> str:
    return html.escape(str(value))


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{_text(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _curve(points: Sequence[dict[str, Any]]) -> str:
    """The training curve as a picture: training thin, validation thick."""
    if len(points) < 2:
        return ""
    values = [point[name] for point in points for name in ("training", "validation")]
    low, high = min(values), max(values)
    last = points[-1]["step"] or 1

    def line(name: str, width: int) -> str:
        places = (
            f"{300 * point['step'] / last:.1f},{80 - 78 * (point[name] - low) / ((high - low) or 1):.1f}"
            for point in points
        )
        return f'<polyline points="{" ".join(places)}" fill="none" stroke="#c0392b" stroke-width="{width}"/>'

    picture = f'<svg width="300" height="82" role="img">{line("training", 1)}{line("validation", 2)}</svg>'
    return f"<p>Loss in training (thin) and validation (thick), {last} steps</p>{picture}"


def model(info: dict[str, Any]) -> str:
    """A model: columns, training curve, calibration."""
    columns = info["schema"]["columns"]
    rows = info["rows"]
    lines = [[_text(c["name"]), _text(c["kind"]["kind"]), _text(c["reason"])] for c in columns[:LISTED]]
    more = f"<p>and {len(columns) - LISTED} more columns</p>" if len(columns) > LISTED else ""
    return (
        f'<div class="gnsm">{_STYLE}<b>gnsm model</b>, method {_text(info["method"])}, seed {info["seed"]}, '
        f"{rows['training']} rows to learn from"
        f"{_table(['column', 'kind', 'why'], lines)}{more}"
        f"{_learned(info, 'rows')}</div>"
    )


def mask_model(info: dict[str, Any]) -> str:
    """A model of masks: how they are prepared, training curve, calibration."""
    preparation = info["preparation"]
    size = "as they are" if preparation["size"] is None else f"{preparation['size']} pixels a side"
    void = "none" if preparation["void"] is None else f"class {preparation['void']}"
    masks = info["masks"]
    line = [str(preparation["classes"]), size, void, *(str(masks[part]) for part in masks)]
    header = ["classes", "size", "void", *(f"{part} masks" for part in masks)]
    return (
        f'<div class="gnsm">{_STYLE}<b>gnsm model of masks</b>, method {_text(info["method"])}, seed {info["seed"]}'
        f"{_table(header, [[_text(cell) for cell in line]])}{_learned(info, 'masks')}</div>"
    )


def _learned(info: dict[str, Any], unit: str) -> str:
    """The training curve, if there was one, and the scores of usual rows or masks."""
    training = info.get("training")
    quantiles = info["calibration"]["quantiles"]
    calibration = _table(
        [f"{100 * quantile['part']:g} %" for quantile in quantiles],
        [[f"{quantile['score']:.4g}" for quantile in quantiles]],
    )
    curve = _curve(training["curve"]) if training else ""
    return f"{curve}<p>Scores of {info['calibration']['rows']} usual {unit}, by quantile</p>{calibration}"


def explanations(rows: Sequence[tuple[int, float, float, float, Sequence[dict[str, Any]]]]) -> str:
    """Explained rows: the odd cells coloured, the strongest first."""
    lines = []
    for row, score, p_value, rest, reasons in rows:
        head = [f"<b>{row}</b>", f"{score:.4g}", f"{p_value:.3g}"]
        for reason in reasons:
            bar = f'<span class="bar" style="width:{max(0.0, min(1.0, reason["share"])) * 80:.0f}px"></span>'
            expected = "" if reason["expected"] is None else _text(reason["expected"])
            lines.append(
                [
                    *head,
                    _text(reason["column"]),
                    f'<span class="odd">{_text(reason["saw"])}</span>',
                    expected,
                    f"{reason['part']:.4g} {bar}",
                ]
            )
            head = ["", "", ""]
        lines.append([*head, '<span class="faint">(rest)</span>', "", "", f"{rest:.4g}"])
    header = ["row", "score", "p-value", "column", "saw", "expected", "part"]
    return f'<div class="gnsm">{_STYLE}{_table(header, lines)}</div>'
