"""The short message of a cause: the smallest example, the error, and the command that prints the whole message."""

from __future__ import annotations

import textwrap

from .verdict import Message

MAX_INPUT_CHARACTERS = 170  # of all arguments together; the command prints them whole
LEFT_OUT = ("bound", "line", "yours")  # facts that another one, or the sentence of the cause, implies


def format_short(parts: Message) -> str:
    """Return the message of a failure without the script and the statement."""
    arguments = textwrap.shorten(_join_arguments(parts.inputs), MAX_INPUT_CHARACTERS, placeholder=" …)")
    facts = ", ".join(f"{label} {_drop_ulps(fact)}" for label, fact in parts.facts if label not in LEFT_OUT)
    law = parts.broken.rpartition(" ")[2]
    seen = ": ".join(filter(None, [arguments, facts])) or parts.what
    return f"  {law}: {seen}\n  again: {parts.again}"


def _drop_ulps(fact: str) -> str:
    """Return a fact without the error in ulps, if the error is given as a multiple of the bound."""
    return fact.partition("the bound, ")[0] + "the bound" if "the bound, " in fact else fact


def _join_arguments(inputs: str) -> str:
    """Return calls that are printed with a line for each argument as `rms_norm(x = [1.], eps = 1e-05)`."""
    text = ""
    for line in inputs.splitlines():
        if line.startswith(" "):
            text += ("" if text.endswith("(") else ", ") + line.strip()
        else:
            text += line if line == ")" or not text else f"; {line}"
    return text
