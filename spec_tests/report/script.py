"""A script that shows a failure and needs no part of this suite: NumPy, the framework and the backend are enough.

Arrays with many elements are saved, and the script loads them: beside the report of --report=DIR, or else in the system's
temporary folder. What no script can show is said in a comment in its place.
"""

from __future__ import annotations

import hashlib
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from ..calls.call import Call
from ..calls.steps import Steps
from ..specification.run_settings import current_settings
from ..trials.failure import Failure
from ..trials.trial import Trial
from .script_needs import Need, are_wrong_when_held, count_calls_before, find_earlier_call, find_need, find_wider_call
from .script_state import add_state
from .script_steps import ANSWER, ARGUMENT, HELD, find_shown, write_steps
from .script_writer import NoScript, Script, write_truth

STATE = "the backend keeps a result or a buffer"
OF_STEPS: Mapping[str, str] = MappingProxyType(
    {
        ANSWER: "what the law does, in its order: the last answer is wrong",
        HELD: "what the law does, in its order: an answer that was right is wrong after the later calls",
        ARGUMENT: "what the law does, in its order: then an argument holds other values",
    }
)
MAX_SEQUENCE = 4  # calls in a script of calls that are wrong only after each other


def build_script(trial: Trial, failure: Failure, name: str) -> str:
    """Return the script for a failing example, or a comment that says why there is none.

    `name` is that of the file for large arrays, without its suffix.
    """
    try:
        need = _find_need(trial, failure.calls)
        is_of_one_call = failure.surroundings or (need and need.words) or trial.backend.framework.passes_copies
        if not is_of_one_call and (of_steps := _write_steps(trial, failure.steps, name)):
            return "\n".join(of_steps)
        lines = _write_calls(trial, failure.calls, need, name)
    except NoScript as reason:
        return f"# no script: {reason}"
    except Exception as error:  # for example, if the framework cannot make arrays any more
        return f"# no script: writing it raised {type(error).__name__}"
    return add_state("\n".join(lines), failure.surroundings, trial.backend.framework.device or "cpu")


def _find_need(trial: Trial, calls: Sequence[Call]) -> Need | None:
    if not calls:
        raise NoScript("the backend was not called")
    if trial.backend.framework.device_lost:
        raise NoScript("nothing answers in this process any more; the command below makes the call in a new process")
    need = find_need(calls)
    if trial.backend.runs_on_ranks:
        raise NoScript(
            f"the backend runs on ranks ({trial.backend.framework.world_size} here); the command below plays the example on all"
        )
    return need


def _write_steps(trial: Trial, steps: Steps, name: str) -> list[str]:
    """Write the script that does what the law did, [] if nothing is wrong then, or if no script does it."""
    shown = find_shown(steps)
    if shown is None:
        return []
    try:
        return [f"# {OF_STEPS[shown.kind]}", *write_steps(trial, name, steps, shown)]
    except NoScript:
        return []


def _write_calls(trial: Trial, calls: Sequence[Call], need: Need | None, name: str) -> list[str]:
    """Write the script of the one call that fails, or of the few that are wrong after each other."""
    if trial.backend.framework.passes_copies:
        return _write_request(trial, need.call if need else calls[-1])
    if need is not None:
        earlier = find_earlier_call(trial, need.call) if not need.words else None
        if earlier is None:
            before = count_calls_before(need)
            if before and (wider := find_wider_call(trial, need.call)):
                words = f"it is wrong after a wider call, or after {before} calls: {STATE}"
                return [f"# {words}", *Script(trial, name, before=before).write([wider, need.call, need.call])]
            words = f"it is wrong after {before} earlier calls, perhaps of other sizes: {STATE}" if before else need.words
            return [*[f"# {words}"] * bool(words), *Script(trial, name, need, before=before).write([need.call])]
        comment = f"# the second call gets the answer of the first, which the run made before: {STATE}"
        return [comment, *Script(trial, name).write([earlier, need.call])]
    if len(calls) > MAX_SEQUENCE:
        raise NoScript(f"each of the {len(calls)} calls is right by itself; the command below plays all of them")
    if len(calls) > 1 and are_wrong_when_held(calls):
        comment = "# each answer is right when it is read at once; here all are read after the last call"
        return [comment, *Script(trial, name, is_held=True).write(calls)]
    alone = "# alone it is right, element by element; the command below plays all that the law does"
    comment = "# each call is right by itself: what is wrong shows between them" if len(calls) > 1 else alone
    return [comment, *Script(trial, name, shows=False).write(calls)]


def _write_request(trial: Trial, call: Call) -> list[str]:
    """Write the request of a call to a process into a file. Return the line of a shell that sends it, and the true value."""
    source, (arrays, keywords) = trial.backend.source, call.operation.native(call)
    request = source.pack_request(call.operation.name, arrays, keywords)
    folder = current_settings().request_folder or Path(tempfile.gettempdir()) / "spec_tests-requests"
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(request).hexdigest()[:8]
    path = (folder / f"{call.operation.name}-{trial.dtype}-{digest}.request.safetensors").absolute()
    path.write_bytes(request)
    return [f"{source.shell_text} < {shlex.quote(str(path))}", write_truth(call)]
