"""Seeded fuzzing with one absolute tolerance for each operation and dtype, as arXiv 2606.20128 describes it.

Shapes are drawn as in this suite, and values from the normal distribution; the reference is the equation in float64. The paper
publishes no table of tolerances that could be read, so these are ours: the largest error of numpy-cpu over other seeds, doubled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from meta_tests.support.in_process import backend
from meta_tests.support.random_draw import RandomDraw
from spec_tests.calls.call import Call
from spec_tests.calls.operation import Operation
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.implementation.backend import Backend
from spec_tests.implementation.guard import Refused
from spec_tests.specification.pytree import tree_map
from spec_tests.specification.registry import operations, specification

from . import Judge, rules

TITLE = "seeded fuzzing, absolute tolerance"
START = "import torch"
DTYPE = "float32"


def build_judge() -> Judge:
    correct = backend("numpy-cpu")
    names = [name for name in operations() if specification(name).dtype is None and correct.has(name)]
    tolerances = {name: rules.FUZZING_FACTOR * _largest_error(correct, name) for name in names}

    def passes(under_test: Backend, name: str) -> bool:
        return _largest_error(under_test, name, seeds=rules.FUZZING_SEEDS, limit=tolerances[name]) <= tolerances[name]

    return Judge(passes, dict.fromkeys(names, frozenset([DTYPE])), len(rules.FUZZING_SEEDS) * len(names))


def _largest_error(
    under_test: Backend, name: str, seeds: range = rules.FUZZING_CALIBRATION_SEEDS, limit: float = np.inf
) -> float:
    """Return the largest absolute error over the seeds, or the first that is beyond the limit. An exception is infinite."""
    largest = 0.0
    for seed in seeds:
        try:
            largest = max(largest, _error(under_test, name, seed))
        except (NotImplementedError, Refused, NotImplementedVariant):
            continue
        except Exception:  # whatever wrong code raises
            return np.inf
        if largest > limit:
            break
    return largest


def _error(under_test: Backend, name: str, seed: int) -> float:
    spec = specification(name)
    operation = Operation(spec, under_test, DTYPE, spec.declaration.precision)
    rng = np.random.default_rng(seed)
    drawn: Call = RandomDraw(operation, seed).call()

    def redraw(x: Any) -> Any:
        floating = isinstance(x, np.ndarray) and x.dtype.kind == "f"
        return rng.standard_normal(x.shape).astype(np.float32).astype(np.float64) if floating else x

    call = operation.call(*tree_map(redraw, drawn.arguments), **tree_map(redraw, drawn.keywords))
    error = np.abs(np.asarray(operation.result(call).value, np.float64) - np.asarray(call.value, np.float64))
    return float(np.max(error, initial=0.0)) if np.all(np.isfinite(error)) else np.inf
