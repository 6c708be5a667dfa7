"""A script that does what a law did: its calls in their order, and what it wrote to their arguments and results.

A call that is right alone may be wrong after the others, and one that is wrong by now may be right in a fresh process.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..calls.call import Call
from ..calls.given import PLAIN
from ..calls.history import list_lost
from ..calls.operation import Operation
from ..calls.steps import CallMade, ResultWritten, Steps
from ..calls.violation import Violation
from ..helpers.native_arrays import list_arrays, overwrite_all
from ..implementation.states import DEFAULT_DTYPES
from ..specification.pytree import leaves
from ..trials.trial import Trial
from .reproduction import format_array
from .script_needs import accepts
from .script_state import AROUND, place_around
from .script_writer import NoScript, Script, write_truth

MAX_CALLS = 12  # in a script that does what a law did
Native = tuple[tuple[Any, ...], dict[str, Any]]


ANSWER, HELD, ARGUMENT = "answer", "held", "argument"  # the last answer; an earlier one, which was right when it came


@dataclass(frozen=True)
class Shown:
    """What is wrong once the steps are done."""

    kind: str  # ANSWER, HELD or ARGUMENT
    number: int  # of the call, counted from 0
    argument: str = ""  # the path of its argument that holds other values


def find_shown(steps: Steps) -> Shown | None:
    """Do the steps again. Return what is wrong then; None if nothing is, or if they are of a kind that no script does."""
    made = steps.made
    if not 1 < len(made) <= MAX_CALLS or not all(map(_can_be_written, made)):
        return None
    try:
        return _Replay(steps).find_shown()
    except Exception:  # such as arrays that cannot be made
        return None


def write_steps(trial: Trial, name: str, steps: Steps, shown: Shown) -> list[str]:
    """Return the lines of the script."""
    return ScriptOfSteps(trial, name).write_steps(steps, shown)


def _can_be_written(step: CallMade) -> bool:
    is_plain = (step.layout, step.given) == ("contiguous", PLAIN)
    knows_state = not step.state or step.state in AROUND or step.state in DEFAULT_DTYPES
    return is_plain and knows_state and step.call not in list_lost(step.call.operation.backend)


class _Replay:
    """The steps of a law, done again on new arrays."""

    def __init__(self, steps: Steps):
        self.steps, self.made = steps, steps.made
        self.results: list[Any] = []
        self.native: list[Native] = []

    def find_shown(self) -> Shown | None:
        """Do the steps, and return what is wrong then. The last answer comes first, then an earlier one, then an argument."""
        came, before, last = list[bool](), list[dict[str, np.ndarray]](), len(self.made) - 1
        for step in self.steps:
            if isinstance(step, ResultWritten):
                array = next(x for path, x in leaves(self.results[step.number]) if path == step.path)
                self.made[step.number].call.operation.backend.framework.overwrite(array, step.value)
                continue
            call = Call(step.call.operation, step.call.arguments, step.call.keywords)
            operation = _operation_of(call)
            self.native.append(self._make_arguments(step, operation.native(call)))
            before.append(self._read_arguments(len(before)))
            try:
                self.results.append(operation.run(call, self.native[-1], step.state))
                came.append(accepts(call, self.results[-1]))
            except Violation:
                return Shown(ANSWER, last) if len(came) == last else None
        written = {step.number for step in self.steps if isinstance(step, ResultWritten)}
        ends_with_call = isinstance(self.steps[-1], CallMade)
        if ends_with_call and not came[last]:
            return Shown(ANSWER, last)
        for number, result in enumerate(self.results):
            was_right = came[number] or not ends_with_call  # what was kept from earlier runs may have made it wrong here
            if was_right and number not in written and not accepts(_call_again(self.made[number]), result):
                return Shown(HELD, number)
        refilled = {step.refilled for step in self.made}
        for number in range(len(self.made)):
            after = self._read_arguments(number) if number not in refilled and self.made[number].refilled is None else {}
            if changed := [path for path, x in after.items() if not np.array_equal(x, before[number][path], equal_nan=True)]:
                return Shown(ARGUMENT, number, changed[0])
        return None

    def _make_arguments(self, step: CallMade, fresh: Native) -> Native:
        if step.refilled is None:
            return fresh
        framework, native = step.call.operation.backend.framework, self.native[step.refilled]
        overwrite_all(framework, native, fresh)
        return native[0], {**fresh[1], **{name: x for name, x in native[1].items() if framework.is_array(x)}}

    def _read_arguments(self, number: int) -> dict[str, np.ndarray]:
        operation = _operation_of(self.made[number].call)
        framework, updates = operation.backend.framework, operation.spec.declaration.updates
        arrays = list_arrays(framework, self.native[number], operation.spec.positional)
        return {path: np.array(framework.numpy(x)) for path, x in arrays.items() if path.partition("[")[0] not in updates}


class ScriptOfSteps(Script):
    """The lines that do what a law did."""

    def write_steps(self, steps: Steps, shown: Shown) -> list[str]:
        """Return the lines that do the steps, and print what is wrong then."""
        made, self.shown = steps.made, shown
        self.kept: list[Native] = []  # so that no identity of an array is taken again
        self.names: list[dict[str, str]] = []  # for each call, the variables of its arguments that have one, by their paths
        self.named = {step.refilled for step in made} | ({shown.number} if shown.kind == ARGUMENT else set())
        self.decide_on_saving([step.call for step in made])
        lines = [line for step in steps for line in self._write_step(step)]
        call = made[shown.number].call
        if shown.kind == ARGUMENT:
            variable = self.names[shown.number][shown.argument]
            native = dict(_list_native(call, self.kept[shown.number]))
            self.changed.append(self.backend.framework.numpy(native[shown.argument]))
            lines += [f"print({variable})", f"# before the calls: {format_array(self.changed[0])}"]
        elif shown.kind == HELD:
            lines += [f"print(answer{shown.number})", write_truth(call)]
        return self.complete(lines, [call])

    def _write_step(self, step: CallMade | ResultWritten) -> Iterator[str]:
        if isinstance(step, ResultWritten):
            yield f"answer{step.number}{step.path}[...] = {step.value}"
            return
        number, operation = len(self.kept), _operation_of(step.call)
        native = operation.native(_call_again(step))
        self.kept.append(native)
        self.names.append({})
        yield f"# call {number + 1}"
        if number in self.named or step.refilled is not None:
            yield from self._write_variables(step, number, native)
        lines, answer = self.write_answer(step.call, native)
        if lines and (step.state or self.names[number]):
            raise NoScript(f"its framework differentiates {operation.name}; the command below plays the calls")
        is_last = self.shown.kind == ANSWER and number == self.shown.number
        line = f"print({answer})" if is_last else f"answer{number} = {answer}"
        yield from [*lines, *place_around(line, step.state, self.device or "cpu")]
        if is_last:
            yield write_truth(step.call)

    def _write_variables(self, step: CallMade, number: int, native: Native) -> Iterator[str]:
        """Yield the lines that make the arrays of a call, or write to those of an earlier one."""
        for place, (path, x) in enumerate(_list_native(step.call, native)):
            variable = f"x{number}_{place}" if step.refilled is None else self.names[step.refilled][path]
            yield f"{variable}{'' if step.refilled is None else '[...]'} = {self.write_leaf(x)}"
            self.names[number][path] = self.variables[id(x)] = variable


def _list_native(call: Call, native: Native) -> Iterator[tuple[str, Any]]:
    return iter(list_arrays(call.operation.backend.framework, native, call.operation.spec.positional).items())


def _call_again(step: CallMade) -> Call:
    return Call(step.call.operation, step.call.arguments, step.call.keywords)


def _operation_of(call: Call) -> Operation:
    assert isinstance(call.operation, Operation)
    return call.operation
