"""The region of inputs for which a backend raises or is lost, with the line of `domain` that excludes it, if calls show one."""

from __future__ import annotations

import random
from typing import Any

from ..calls.call import Call
from ..calls.call_facts import describe_call, describe_positions
from ..calls.history import list_lost
from ..calls.operation import Operation
from ..calls.violation import Lost, NoAnswer
from ..diagnosis.regions.refused import Region, find_region
from ..inputs.choices import shape_choices
from ..inputs.draw import Draw

MAX_CALLS = 64
MAX_CALLS_OF_FEW = 256  # where fewer have raised than a region can be told by
FEW = 6
ENOUGH = 12  # calls that raised, and as many that did not
MAX_LOST = 4  # calls that end the process or time out, each of which costs as much again


def find_raising_region(operation: Operation, failed: Call) -> Region | None:
    """Return the region in which the operation of a failed call raises or is lost, found by more calls like it.

    None if no single size or option tells it. Nothing is asked of a device that is lost.
    """
    name, own, backend = operation.name, _describe(failed), operation.backend
    examples, lost = list[tuple[bool, dict[str, Any]]](), 0
    if failed in list_lost(backend):  # few calls like it can be made, so that those that were answered before count
        examples, lost = (
            [(True, own), *((False, facts) for facts in _describe_answered(operation) if own.keys() <= facts.keys())],
            1,
        )
    for example in range(0 if backend.framework.device_lost else MAX_CALLS_OF_FEW):
        if example >= MAX_CALLS and sum(has_raised for has_raised, _ in examples) >= FEW:
            break
        source = random.Random(f"{name} {operation.dtype} raising {example}")
        try:
            call = Draw(source.randint, operation, shape_choices(name, source)).call(all_arguments=example % 4 == 3)
            facts = _describe(call)
        except Exception:  # inputs that cannot be drawn or made show nothing
            continue
        if not own.keys() <= facts.keys():  # a scalar, say, which has no size
            continue
        try:
            operation.run(call)
        except Lost:
            if backend.framework.device_lost:
                break  # what was seen so far may tell it
            examples.append((True, facts))
            lost += 1
        except NoAnswer:
            examples.append((True, facts))
        except Exception:  # a refusal, which is no error
            continue
        else:
            examples.append((False, facts))
        raised = sum(has_raised for has_raised, _ in examples)
        if lost >= MAX_LOST or min(raised, len(examples) - raised) >= ENOUGH:
            break
    return find_region(name.removesuffix("_vjp"), examples)


def _describe(call: Call) -> dict[str, Any]:
    return describe_call(call)[0] | describe_positions(call)


def _describe_answered(operation: Operation) -> list[dict[str, Any]]:
    """Return the facts of the calls of an operation that were answered and kept."""
    backend, of = operation.backend, (operation.name, operation.dtype)
    kept = backend.recorded_calls.get(of, [])
    first = [call for (name, dtype, _), call in backend.first_calls.items() if (name, dtype) == of]
    return [_describe(call) for call in {id(call): call for call in (*kept, *first)}.values()]
