"""The short message of a cause: the law that it breaks, the smallest example, the error, and the command that says everything."""

from __future__ import annotations

import textwrap
from typing import Any

MAX_WIDTH = 120
MAX_INPUT_CHARACTERS = 230  # of all arguments together; the command prints them whole


def format_short(parts: dict[str, Any]) -> str:
    """Return the message made of the parts that `describe_failure` returns, without the script and the statement."""
    arguments = textwrap.shorten(_join_arguments(parts["inputs"]), MAX_INPUT_CHARACTERS, placeholder=" …")
    facts = ", ".join(f"{label} {fact}" for label, fact in parts["facts"])
    lines = [f"{parts['broken']}: {parts['what']}", arguments, facts]
    wrapped = [line for text in lines if text for line in textwrap.wrap(text, MAX_WIDTH, subsequent_indent="    ")]
    head, *rest = wrapped
    return "\n".join([head, *(f"  {line}" for line in rest), f"  again: {parts['again']}"])


def _join_arguments(inputs: str) -> str:
    """Return calls that are printed with a line for each argument as `rms_norm(x = [1.], eps = 1e-05)`."""
    text = ""
    for line in inputs.splitlines():
        if line.startswith(" "):
            text += ("" if text.endswith("(") else ", ") + line.strip()
        else:
            text += line if line == ")" or not text else f"; {line}"
    return text
