"""Tables for notebooks: what an object is, in rows of a name and a value; numbers below one another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

_LEFT = "style='text-align:left'"


def html_table(caption: str, rows: Mapping[str, str]) -> str:
    """Return a table of names and values; whatever they hold is text."""
    body = "".join(f"<tr><th {_LEFT}>{escape(k)}</th><td {_LEFT}>{escape(v)}</td></tr>" for k, v in rows.items())
    return f"<table><caption>{escape(caption)}</caption><tbody>{body}</tbody></table>"


def html_bars(caption: str, rows: Sequence[tuple[str, float]]) -> str:
    """Return a table of names and signed numbers, each with a bar as long as it is large."""
    largest = max((abs(value) for _, value in rows), default=0.0) or 1.0
    cells = []
    for (name, value), text in zip(rows, signed([value for _, value in rows]), strict=True):
        width, colour = 100 * abs(value) / largest, "#0072B2" if value >= 0 else "#D55E00"
        bar = f"<div style='background:{colour};height:0.8em;width:{width:.0f}px'></div>"
        cells.append(f"<tr><td {_LEFT}>{escape(name)}</td><td style='text-align:right'>{text}</td><td>{bar}</td></tr>")
    return f"<table><caption>{escape(caption)}</caption><tbody>{''.join(cells)}</tbody></table>"


def signed(values: Sequence[float]) -> list[str]:
    """Return numbers with their signs and as many decimals each: those that the largest needs for three digits.

    >>> signed([12.345, -0.5, 0.001])
    ['+12.3', '-0.5', '+0.0']
    """
    largest = max(map(abs, values), default=0.0)
    decimals = max(0, 2 - math.floor(math.log10(largest))) if 0 < largest < math.inf else 2
    return [f"{value:+,.{decimals}f}" for value in values]
