"""Fill in the templates of pages. A page is one HTML file that needs no other file and no network.

Text from a report never becomes markup, and the only script that runs is page.js.
"""

from __future__ import annotations

import base64
import hashlib
import math
import shlex
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..implementation.printable import printable
from ..specification.installation import install_line
from . import ReportError, to_json_value
from .verdict import ArrayFacts

FOLDER = Path(__file__).parent
STYLE, SCRIPT = "page.css", "page.js"
SELECTION_OPTIONS = MappingProxyType({"keyword": "-k", "markexpr": "-m", "deselect": "--deselect", "lf": "--lf"})


class PageUnavailable(ReportError):
    """The template engine is not installed."""


def render(name: str, folder: Path = FOLDER, style: str = "", **values: Any) -> str:
    """Return a template of a folder, filled in. `style` names a file of that folder with rules beside those of all pages.

    The template may extend one of this folder.
    """
    environment = _build_environment(folder)
    script = _read_markup(FOLDER / SCRIPT)
    return str(
        environment.get_template(name).render(
            style=_read_markup(FOLDER / STYLE) + (_read_markup(folder / style) if style else ""),
            script=script,
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            **values,
        )
    )


@cache
def _build_environment(folder: Path) -> Any:
    """Return the environment of Jinja for the templates of a folder and of this one, with the filters that they use."""
    try:
        import jinja2
    except ImportError:
        raise PageUnavailable(f"the page needs Jinja2, which is not installed: {install_line('report')}") from None
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, FOLDER]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda x: printable(x) if type(x) is str else x,  # whatever is shown, except Markup, which is a subclass of str
    )
    environment.filters["share"] = _format_share
    environment.filters["percent"] = lambda x: f"{100 * min(x, 1.0):.1f}"
    environment.filters["summary"] = _summarize_argument
    environment.filters["digits"] = _format_digits
    environment.filters["option"] = lambda name: SELECTION_OPTIONS.get(name, name)
    environment.filters["shell"] = shlex.join
    environment.filters["duration"] = lambda seconds: f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
    return environment


def _read_markup(file: Path) -> Any:
    """Return a file of the suite as markup, which is not escaped."""
    from markupsafe import Markup

    return Markup(file.read_text(encoding="utf-8"))


def _format_share(x: float) -> str:
    if x >= 1000:
        return f"{x:.3g}"
    return f"{x:.2f}" if x >= 0.005 else "<0.01" if x else "0"


def _format_digits(x: float) -> str:
    return f"{x:.9g}" if math.isfinite(x) else str(to_json_value(x))


def _summarize_argument(argument: Any) -> str:
    """Describe one argument of the hardest example in a few words."""
    if not isinstance(argument, ArrayFacts):
        return _format_number(argument)
    shape = " × ".join(map(str, argument.shape)) or "a number"
    sizes = "" if argument.least is None else f", from {_format_number(argument.least)} to {_format_number(argument.largest)}"
    not_finite = f", {argument.not_finite} not finite" if argument.not_finite else ""
    return f"{shape}{sizes}{not_finite}"


def _format_number(x: Any) -> str:
    return f"{x:.3g}" if isinstance(x, float) else str(x)
