"""The message of a failure: what broke, on which inputs, how far off it is, and how to see it again. It fits on one screen."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

from ..bounds.bounded import Bounded
from ..calls.call import Call
from ..calls.violation import NoAnswer, Violation
from ..diagnosis.evidence import Evidence
from ..diagnosis.fit import diagnose
from ..diagnosis.near_misses import near_miss
from ..specification.pytree import leaves
from ..trials.invariant import KINDS, Invariant
from ..trials.trial import Trial
from .reproduction import build_script, format_array, format_replay_command

MATCHES_PREFIX = "matches: "

MAX_PRINTED_ELEMENTS = 48  # of a larger array only a few are printed
MAX_PRINTED_CALLS = 4


def describe_failure(invariant: Invariant, trial: Trial, violation: Violation) -> dict[str, Any]:
    """Return the parts of the message of a failure, as plain data."""
    kind = f"{KINDS[invariant.kind]}{', ' + invariant.source if invariant.source else ''}"
    device = trial.backend.framework.device or "default device"
    diagnosis, near_miss_facts = ([], ()) if isinstance(violation, NoAnswer) else diagnose_trial(trial)
    return {
        "broken": f"{trial.backend.name} breaks {invariant.id_for(trial.operation_name)}",
        "statement": " ".join(invariant.statement.split()),
        "circumstances": f"{kind}; {trial.dtype}, {device}, {trial.backend.version}",
        "inputs": "\n".join(line for call in trial.tally.calls[:MAX_PRINTED_CALLS] for line in _format_inputs(call)),
        "what": violation.what,
        "facts": [[label, str(fact)] for label, fact in (*violation.facts, *near_miss_facts)],
        "diagnosis": diagnosis,
        "script": "\n".join(build_script(trial)),
        "again": format_replay_command(invariant, trial),
    }


def failure_message(invariant: Invariant, trial: Trial, violation: Violation) -> str:
    """Return the whole message of a failure."""
    return format_failure(describe_failure(invariant, trial, violation))


def format_failure(parts: dict[str, Any]) -> str:
    """Return the message made of the parts that `describe_failure` returns."""
    explanations = map(_format_explanation, parts["diagnosis"])
    lines = [
        parts["broken"],
        *textwrap.wrap(parts["statement"], 100, initial_indent="  ", subsequent_indent="  "),
        f"  ({parts['circumstances']})",
        "",
        *parts["inputs"].splitlines(),
        "",
        parts["what"],
        *(f"  {label:<9} {fact}" for label, fact in parts["facts"]),
        *(f"  {'or' if number else 'matches':<9} {text}" for number, text in enumerate(explanations)),
    ]
    if parts["script"]:
        lines += ["", "to see it without this suite:", *("  " + line for line in parts["script"].splitlines())]
    return "\n".join([*lines, "", f"again: {parts['again']}"])


def summarize_failure(parts: dict[str, Any]) -> str:
    """Return one line: the diagnosis, or what was seen if there is no diagnosis."""
    if not parts["diagnosis"]:
        return str(parts["what"])
    return f"{MATCHES_PREFIX}{' or '.join(map(_format_explanation, parts['diagnosis']))}"


def _format_explanation(explanation: dict[str, str]) -> str:
    return f"{explanation['what']} ({explanation['id']})"


def diagnose_trial(trial: Trial) -> tuple[list[dict[str, str]], tuple[tuple[str, str], ...]]:
    """Return what explains the failure: known deviations, or else a near miss of the right equation and the facts about it."""
    evidence = Evidence.gather(trial.tally.calls, trial.other_calls)
    if deviations := diagnose(evidence):
        return [{"id": deviation.id, "what": deviation.what} for deviation in deviations], ()
    if miss := near_miss(evidence):
        return [{"id": miss.id, "what": miss.what}], miss.facts
    return [], ()


def _format_inputs(call: Call) -> list[str]:
    lines = [f"{call.operation.name}("]
    for name, value in call.named.items():
        for path, leaf in leaves(", ".join(value) if name == "wrt" and not isinstance(value, str) else value):
            lines.append(f"    {name}{path} = {_format_value(leaf)}")
    return [*lines, ")"]


def _format_value(x: Any) -> str:
    x = x.value if isinstance(x, Bounded) else x
    if not isinstance(x, np.ndarray):
        return repr(x)
    if x.size <= MAX_PRINTED_ELEMENTS:
        return format_array(x)
    corner = ", ".join(f"{float(v):.6g}" for v in x.flat[:6])
    return f"{x.dtype.name} array of shape {x.shape}: {corner}, …"
