"""The one wording of a failure: what broke, on which inputs, how far off, and how to see it again. One screen."""

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
from .reproduction import build_script, format_array, replay_command

MATCHES_PREFIX = "matches: "

MAX_PRINTED_ELEMENTS = 48  # elements of an array that are printed; a script is printed for arrays of up to SCRIPTED


def describe_failure(invariant: Invariant, trial: Trial, violation: Violation) -> dict[str, Any]:
    """What is to be said of a failure, part by part, as plain data."""
    kind = f"{KINDS[invariant.kind]}{', ' + invariant.source if invariant.source else ''}"
    device = trial.backend.framework.device or "default device"
    diagnosis, shown = ([], ()) if isinstance(violation, NoAnswer) else diagnose_trial(trial)
    return {
        "broken": f"{trial.backend.name} breaks {invariant.of(trial.operation_name)}",
        "statement": " ".join(invariant.statement.split()),
        "circumstances": f"{kind}; {trial.dtype}, {device}, {trial.backend.version}",
        "inputs": "\n".join(line for made in trial.tally.calls[:4] for line in _format_inputs(made)),
        "what": violation.what,
        "facts": [[label, str(fact)] for label, fact in (*violation.facts, *shown)],
        "diagnosis": diagnosis,
        "script": "\n".join(build_script(trial)),
        "again": replay_command(invariant, trial),
    }


def failure_message(invariant: Invariant, trial: Trial, violation: Violation) -> str:
    return format_failure(describe_failure(invariant, trial, violation))


def format_failure(said: dict[str, Any]) -> str:
    lines = [
        said["broken"],
        *textwrap.wrap(said["statement"], 100, initial_indent="  ", subsequent_indent="  "),
        f"  ({said['circumstances']})",
        "",
        *said["inputs"].splitlines(),
        "",
        said["what"],
        *(f"  {label:<9} {fact}" for label, fact in said["facts"]),
        *(f"  {'or' if i else 'matches':<9} {_format_diagnosis(one)}" for i, one in enumerate(said["diagnosis"])),
    ]
    if said["script"]:
        lines += ["", "to see it without this suite:", *("  " + line for line in said["script"].splitlines())]
    return "\n".join([*lines, "", f"again: {said['again']}"])


def summarize_failure(said: dict[str, Any]) -> str:
    """The diagnosis; what was seen, if there is none."""
    return f"{MATCHES_PREFIX}{' or '.join(map(_format_diagnosis, said['diagnosis']))}" if said["diagnosis"] else str(said["what"])


def _format_diagnosis(one: dict[str, str]) -> str:
    return f"{one['what']} ({one['id']})"


def diagnose_trial(trial: Trial) -> tuple[list[dict[str, str]], tuple[tuple[str, str], ...]]:
    """Return what explains the failure: known deviations, or else a near miss of the right equation and the facts about it."""
    evidence = Evidence.gather(trial.tally.calls, trial.other_calls)
    if known := diagnose(evidence):
        return [{"id": one.id, "what": one.what} for one in known], ()
    if missed := near_miss(evidence):
        return [{"id": missed.id, "what": missed.what}], missed.facts
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
