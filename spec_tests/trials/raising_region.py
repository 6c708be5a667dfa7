"""The region of inputs for which a backend raises, with the line of `domain` that excludes it, if a few more calls show one."""

from __future__ import annotations

import random
from typing import Any

from ..calls.call import Call
from ..calls.call_facts import describe_call
from ..calls.violation import Lost, NoAnswer
from ..diagnosis.refused_region import Region, find_region
from ..inputs.choices import shape_choices
from ..inputs.draw import Draw
from .trial import Trial

MAX_CALLS = 64
ENOUGH = 12  # calls that raised, and as many that did not


def find_raising_region(trial: Trial, failed: Call) -> Region | None:
    """Return the region in which the operation of a failed call raises, found by more calls like it.

    None if no single size or option tells it.
    """
    name, (own, _) = failed.operation.name, describe_call(failed)
    operation = Trial(trial.backend, trial.dtype, trial.precision, trial.operation_name).operation(name)
    examples: list[tuple[bool, dict[str, Any]]] = []
    for example in range(MAX_CALLS):
        source = random.Random(f"{name} {trial.dtype} raising {example}")
        try:
            call = Draw(source.randint, operation, shape_choices(name, source)).call(all_arguments=example % 4 == 3)
            facts, _ = describe_call(call)
        except Exception:  # inputs that cannot be drawn or made show nothing
            continue
        if not own.keys() <= facts.keys():  # a scalar, say, which has no size
            continue
        try:
            operation.run(call)
        except Lost:
            return None
        except NoAnswer:
            examples.append((True, facts))
        except Exception:  # a refusal, which is no error
            continue
        else:
            examples.append((False, facts))
        raised = sum(has_raised for has_raised, _ in examples)
        if min(raised, len(examples) - raised) >= ENOUGH:
            break
    return find_region(name.removesuffix("_vjp"), examples)
