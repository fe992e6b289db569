"""The picture of a study: each candidate's throughput against the baseline's with its interval, beside the published one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape

from dialin.model.record import StudyRecord
from dialin.text import change

_LEFT, _WIDTH, _ROW, _TOP = 190, 520, 26, 44
_LEAST = math.log(1.05)
"""The axis shows 5 % each way at least, so that noise does not look like a difference."""


def picture(record: StudyRecord, published: Mapping[str, float]) -> str:
    """Return an SVG; `published` has ratios to the baseline's speed by candidate."""
    names, baseline = record.spec.names, record.spec.baseline
    ratios = {one.name: one.ratio for one in record.verdict.candidates} if record.verdict is not None else {}
    known = {name: ratio for name, ratio in ratios.items() if ratio is not None and ratio.mean > 0}
    intervals = {name: (one.mean, one.low or one.mean, one.high or one.mean) for name, one in known.items()}
    ends = [math.log(value) for values in intervals.values() for value in values if value > 0]
    ends += [math.log(value) for name, value in published.items() if name in names]
    low, high = min([-_LEAST, *ends]), max([_LEAST, *ends])

    def x(ratio: float) -> str:
        return f"{_LEFT + _WIDTH * (math.log(ratio) - low) / (high - low):.1f}"

    confidence = 100 * (1 - record.spec.alpha)
    height = _TOP + _ROW * len(names) + 30
    text = 'font-family="sans-serif" font-size="12" fill="#57606a"'
    legend = f'<tspan fill="#0969da">● here, with {confidence:.0f} % interval</tspan>'
    legend += '<tspan fill="#bc4c00">   ◇ published</tspan>' if published else ""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 60} {height}" role="img">',
        f'<title>Throughput against {escape(baseline)}</title><rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="18" {text}>throughput against {escape(baseline)}: {legend}</text>',
        f'<line x1="{x(1)}" x2="{x(1)}" y1="{_TOP - 14}" y2="{height - 26}" stroke="#8c959f"/>',
    ]
    for place, name in enumerate(names):
        y = _TOP + _ROW * place
        lines.append(f'<text x="{_LEFT - 12}" y="{y + 4}" text-anchor="end" {text}>{escape(name)}</text>')
        if name in intervals and name != baseline:
            mean, from_, to = intervals[name]
            lines.append(f'<line x1="{x(from_)}" x2="{x(to)}" y1="{y}" y2="{y}" stroke="#0969da" stroke-width="3"/>')
            lines.append(f'<circle cx="{x(mean)}" cy="{y}" r="5" fill="#0969da"/>')
        if name in published and name != baseline:
            at = float(x(published[name]))
            corners = f"{at - 6:.1f},{y} {at:.1f},{y - 6} {at + 6:.1f},{y} {at:.1f},{y + 6}"
            lines.append(f'<polygon points="{corners}" fill="none" stroke="#bc4c00" stroke-width="2"/>')
    lines += [
        f'<text x="{x(ratio)}" y="{height - 10}" text-anchor="middle" {text}>{change(ratio)}</text>'
        for ratio in sorted({math.exp(low), 1.0, math.exp(high)})
    ]
    return "\n".join([*lines, "</svg>", ""])
