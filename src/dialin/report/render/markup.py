"""The HTML report's templates: how text is made safe in them, and the files beside them."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape


def rendered(template: str, **given: Any) -> Markup:
    """Return a template filled in; all text in `given` is escaped, unless it is markup already."""
    return Markup(_environment().get_template(template).render(**given))  # noqa: S704


def embedded(data: Mapping[str, Any]) -> Markup:
    """Return JSON that can stand in a script element: no character of it can end the element or open a comment."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))  # noqa: S704


@cache
def asset(name: str) -> str:
    return files("dialin.report").joinpath("templates", name).read_text(encoding="utf-8")


def packed_library() -> bytes:
    """Return the charts' library, gzipped: the part of Plotly that draws on axes, which is a third of the whole."""
    return files("dialin.report").joinpath("templates", "plotly-cartesian.min.js.gz").read_bytes()


@cache
def library() -> str:
    return gzip.decompress(packed_library()).decode("utf-8")


def _tied(value: Any) -> Any:
    """Join a percent sign to its figure by a no-break space; text to be copied exactly comes as markup and is not changed."""
    return value.replace(" %", "\u00a0%") if type(value) is str else value


def _breakable(text: str) -> Markup:
    """Return text in which a line may break after the parts of a long name, and never within a figure or an option."""
    tied = _tied(text).replace(" = ", " =\u00a0")
    broken = re.sub(r"([_=/]|,(?!\d))(?=[^\s\u00a0])", r"\1<wbr>", str(escape(tied)))
    return Markup(re.sub(r"(?<!\S)--[a-z][a-z-]*", r'<span class="option">\g<0></span>', broken))  # noqa: S704


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("dialin.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_tied,
    )
    environment.filters["breakable"] = _breakable
    environment.globals["kind_of"] = lambda part: type(part).__name__
    return environment
