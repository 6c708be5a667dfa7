"""The command that replays the example of a failure, and how arrays are written as Python source."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..inputs.choices import format_choices
from ..inputs.effort import current_effort
from ..specification.run_settings import current_settings
from ..trials.invariant import Invariant
from ..trials.trial import Trial

MAX_SCRIPT_ELEMENTS = 160  # in all arrays of a script together; larger ones are saved in a file


def format_replay_command(invariant: Invariant, trial: Trial, choices: Sequence[int]) -> str:
    """Return the command that replays the failing example alone."""
    example = format_choices(choices)
    if not trial.backend.text:  # an object that no command line can name
        argument = f", example={example!r}" if example else ""
        return f"spec_tests.check(…, {invariant.id_for(trial.operation_name)!r}, dtype={trial.dtype!r}{argument})"
    words = [f"--backend={trial.backend.text}"]
    words += [f"--python={shlex.join(current_settings().python)}"] * bool(current_settings().python)
    words += [f"--device={device}" for device in [current_settings().device] if device]
    words += [f"--dtype={trial.dtype}"] * (trial.dtype in trial.backend.dtypes)
    words += [f"--precision={trial.precision}"] * bool(trial.precision)
    words += [f"--world-size={trial.backend.framework.world_size}"] * (trial.backend.framework.world_size > 1)
    words += ["--effort=thorough"] * (current_effort().name == "thorough")
    words += [f"--require-level={invariant.level}"] * bool(invariant.level)
    words += [f"--example={example}"] * bool(example)
    return shlex.join(["pytest", "--pyargs", "spec_tests", *words, "-k", invariant.id_for(trial.operation_name)])


def format_array(x: np.ndarray) -> str:
    """Return the array as Python source, with as few digits as its values allow."""
    if x.size == 0 and x.ndim > 1:
        return f"np.zeros({x.shape})"
    options: dict[str, Any] = {
        "separator": ", ",
        "threshold": MAX_SCRIPT_ELEMENTS + 1,
        "floatmode": "unique",
        "max_line_width": 10**6,
    }
    text = np.array2string(x, **options).replace("\n", "")
    if x.dtype.kind == "f" and "e" in text:  # NumPy then writes every number with an exponent, most with 16 zeros
        text = np.array2string(x, formatter={"float_kind": lambda v: repr(float(v))}, **options).replace("\n", "")
    return text
