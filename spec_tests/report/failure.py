"""The message of a failure: what broke, on which inputs, how far off it is, and how to see it again. It fits on one screen."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

from ..bounds.bounded import Bounded
from ..calls.call import Call
from ..calls.history import list_lost
from ..calls.violation import Lost, NoAnswer
from ..diagnosis.explanation import IF_MEANT
from ..specification.pytree import leaves
from ..trials.cause import Cause
from ..trials.failure import Failure
from ..trials.invariant import KINDS, Invariant
from ..trials.lost_calls import note_lost_calls
from ..trials.tally import Finding
from ..trials.trial import Trial
from .causes import state_explanations
from .reproduction import format_array, format_replay_command
from .script import build_script
from .verdict import Message, join_explanations

RAISED = "the call raised "  # how `guard.as_fault` begins

MAX_PRINTED_ELEMENTS = 48  # of a larger array only a few are printed
MAX_PRINTED_CALLS = 4


def describe_failures(invariant: Invariant, trial: Trial) -> list[Message]:
    """Return the messages of a trial that failed, one for each cause: first that which it fails with."""
    if not trial.tally.findings:
        trial.find_cause()
    return [describe_failure(invariant, trial, finding) for finding in trial.tally.findings_in_order]


def describe_failure(invariant: Invariant, trial: Trial, finding: Finding) -> Message:
    """Return the message of a failure in parts. Of a cause that is told already no script is written."""
    kind = f"{KINDS[invariant.kind]}{', ' + invariant.source if invariant.source else ''}"
    device = trial.backend.framework.device or "default device"
    failure, cause = finding.failure, finding.cause
    name = f"{invariant.id_for(trial.operation_name)}-{trial.backend.name}-{trial.dtype}"  # of a file for large arrays
    about_cause = [fact for explanation in cause.explanations for fact in explanation.facts]
    lost_before = list_lost(trial.backend)
    about_cause += describe_raising(trial, failure, cause) if finding.is_new else []
    note_lost_calls(cause, trial.backend, lost_before)
    about_cause += [("then", cause.lost_call)] if cause.lost_call else []
    about_cause += [("search", cause.ended_early)] if cause.ended_early else []
    facts = (*failure.violation.facts, *(about_cause if finding.is_new else ()))
    return Message(
        broken=f"{trial.backend.name} breaks {invariant.id_for(trial.operation_name)}",
        statement=" ".join(invariant.statement.split()),
        circumstances=f"{kind}; {trial.dtype}, {device}, {trial.backend.version}",
        inputs="\n".join(line for call in failure.calls[:MAX_PRINTED_CALLS] for line in _format_inputs(call)),
        what=failure.violation.what,
        facts=tuple((label, str(fact)) for label, fact in facts),
        diagnosis=state_explanations(cause),
        explains=describe_confidence(cause),
        first="" if finding.is_new else f"{cause.example.law} in {cause.example.dtype}",
        script="" if cause.told else build_script(trial, failure, name),
        again=format_replay_command(invariant, trial, failure.choices),
    )


def describe_confidence(cause: Cause) -> str:
    """Return what the explanation of a cause was tested on, "" if nothing explains it."""
    return f"all {cause.wrong} wrong and {cause.right} right answers" if cause.explanations else ""


def failure_message(invariant: Invariant, trial: Trial) -> str:
    """Return the whole message of a trial that failed. If its cause is told already, return the short message."""
    parts, *_ = describe_failures(invariant, trial)
    return format_again(parts) if trial.tally.findings_in_order[0].cause.told else format_failure(parts)


def format_failure(parts: Message) -> str:
    """Return the message made of the parts that `describe_failure` returns."""
    lines = [
        parts.broken,
        *textwrap.wrap(parts.statement, 100, initial_indent="  ", subsequent_indent="  "),
        f"  ({parts.circumstances})",
        "",
        *parts.inputs.splitlines(),
        "",
        parts.what,
        *(f"  {label:<9} {fact}" for label, fact in parts.facts),
        *(
            f"  {'or' if number else 'matches':<9} {text}"
            for number, text in enumerate(found.sentence for found in parts.diagnosis)
        ),
        *([f"  {'explains':<9} {parts.explains}"] if parts.explains else []),
    ]
    if parts.script:
        lines += ["", "to see it without this suite:", *("  " + line for line in parts.script.splitlines())]
    return "\n".join([*lines, "", f"again: {parts.again}"])


def format_again(parts: Message) -> str:
    """Return the short message of a failure whose cause another message has told."""
    first = f"the cause is the one of {parts.first}" if parts.first else "the cause is told already"
    return "\n".join([parts.broken, f"  {first}: {summarize_failure(parts)}", f"again: {parts.again}"])


def describe_raising(trial: Trial, failure: Failure, cause: Cause) -> list[tuple[str, str]]:
    """Return where a call raises or is lost, and the line of `domain` that excludes such calls."""
    violation = failure.violation
    is_lost = isinstance(violation, Lost)
    if not failure.calls or not (is_lost or (isinstance(violation, NoAnswer) and violation.what.startswith(RAISED))):
        return []
    region = trial.find_raising_region(failure.calls[-1]) if is_lost else cause.raising
    if region is None:
        return []
    words = region.words.replace("refuses", "has no answer for" if is_lost else "raises for", 1)
    return [("where", words), *([(IF_MEANT, f"add {region.advice}")] if region.advice else [])]


def summarize_failure(parts: Message) -> str:
    """Return one line: the diagnosis, or what was seen if there is no diagnosis."""
    if not parts.diagnosis:
        advice = "".join(f"; if that is meant, {fact}" for label, fact in parts.facts if label == IF_MEANT)
        return f"{parts.what.partition(chr(10))[0]}{advice}"
    return f"matches: {join_explanations(parts.diagnosis)}"


def _format_inputs(call: Call) -> list[str]:
    lines = [f"{call.operation.name}("]
    for name, value in call.named.items():
        for path, leaf in leaves(", ".join(value) if name == "wrt" and not isinstance(value, str) else value):
            shown = call.operation.argument_order.exchange(f"{name}{path}", leaf.value if isinstance(leaf, Bounded) else leaf)
            lines.append(f"    {name}{path} = {_format_value(shown, call.operation.dtype)}")
    return [*lines, ")"]


def _format_value(x: Any, dtype: str) -> str:
    """Return a value as text. Floating arrays are float64 here; the backend has got them in `dtype`."""
    if not isinstance(x, np.ndarray):
        return repr(x)
    if x.size <= MAX_PRINTED_ELEMENTS:
        return format_array(x)
    corner = ", ".join(f"{float(v):.6g}" for v in x.flat[:6])
    return f"{dtype if x.dtype.kind == 'f' else x.dtype.name} array of shape {x.shape}: {corner}, …"
