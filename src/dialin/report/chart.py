"""What every chart of the HTML report is made with: Plotly figures whose colours are the page's, and which are its data.

Traces name trials (`meta`) instead of holding their samples, so that each sample is embedded once however many charts show
it; the page's script fills them in. Colours are CSS variables, so that a chart follows the page from light to dark.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

NARROW_LABEL = 13
"""Characters of a label on a narrow screen."""

_CLEAR = "rgba(0,0,0,0)"


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart of the page.

    Attributes:
        id: of its element.
        title: what stands above it.
        text: what it shows, in words and figures, for those who cannot see it.
        height: in CSS pixels.
        figure: the Plotly figure, as JSON would hold it.
    """

    id: str
    title: str
    text: str
    height: int
    figure: Mapping[str, Any]


def blank(**layout: Any) -> Any:
    """Return a figure without a trace, in the page's own looks."""
    return go.Figure(
        layout={
            "template": go.layout.Template(),
            "paper_bgcolor": _CLEAR,
            "plot_bgcolor": _CLEAR,
            "font": {"family": "inherit", "size": 13, "color": "var(--ink-2)"},
            "hoverlabel": {"bgcolor": "var(--card)", "bordercolor": "var(--line)", "font": {"color": "var(--ink)", "size": 13}},
            "hovermode": "closest",
            "showlegend": False,
            "autosize": True,
            **layout,
        }
    )


def axis(title: str) -> dict[str, Any]:
    """Return an axis of this title."""
    return {
        "title": {"text": title, "font": {"size": 12, "color": "var(--ink-2)"}, "standoff": 8},
        "gridcolor": "var(--grid)",
        "zerolinecolor": "var(--grid)",
        "automargin": False,
        "ticks": "",
        "ticklabelstandoff": 4,
        "separatethousands": True,
        "exponentformat": "none",
    }


def plain(figure: Any) -> dict[str, Any]:
    """Return a figure as JSON would hold it."""
    described: dict[str, Any] = figure.to_plotly_json()
    described["layout"].pop("template", None)
    return described


def safe(text: str) -> str:
    """Return text for Plotly, which reads a little HTML in labels."""
    return html.escape(text, quote=False)


def room(labels: Sequence[str], most: int = 60) -> int:
    """Return the pixels to leave for labels; fixed, for a margin that fits itself can change for ever."""
    return round(18 + 7.9 * min(most, max(map(len, labels))))
