"""The laws of numbers in few bits try every code, every midpoint, and every number of sixteen bits, at every effort."""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pytest

from reference_numpy._narrow import spread
from spec_tests.calls.call import Call
from spec_tests.inputs.effort import using_effort
from spec_tests.operations._narrow import list_midpoints
from spec_tests.specification.formats import FORMATS
from spec_tests.specification.narrow_formats import ELEMENT_FORMATS, NARROW_FORMATS

from ..support.few_bits_grid import list_finite, list_sixteen_bits
from ..support.in_process import attempt, backend, trials_of

EFFORTS = ("smoke", "default")


def list_calls(law: str, effort: str) -> Iterator[tuple[str, str, Call]]:
    """Yield the dtype, the format and the call of each call that a law makes of a correct backend in a run."""
    operation = law.partition(".")[0]
    with using_effort(effort):
        for test, trial in trials_of(operation, backend("numpy-cpu")):
            if test.invariant.id_for(trial.operation_name) == law:
                made = list[Call]()
                trial.recorder.calls = made
                assert attempt(test, trial, 1) is None
                yield from ((trial.dtype, call.keywords.get("q_dtype", call.keywords["dtype"]), call) for call in made)


def divide(call: Call) -> np.ndarray:
    """Return the quotients of a call, of which all are exact."""
    x, scale = (np.asarray(getattr(a, "value", a)) for a in call.arguments[:2])
    assert np.all(np.frexp(scale)[0] == 0.5), "a scale is no power of two"
    return np.asarray(x / spread(scale, call.keywords["block"], x.shape))


@pytest.mark.parametrize("effort", EFFORTS)
def test_every_number_of_sixteen_bits_is_quantized_to_every_format(effort: str) -> None:
    tried = defaultdict(set)
    for dtype, name, call in list_calls("quantize.all_numbers", effort):
        divide(call)
        tried[dtype, name] |= set(np.asarray(call.arguments[0]).ravel().tolist())
    assert tried.keys() == {(dtype, name) for dtype in ("float32", "float16") for name in ELEMENT_FORMATS}
    for (dtype, name), numbers in tried.items():
        assert numbers >= set(list_sixteen_bits(dtype).tolist()), (dtype, name)


@pytest.mark.parametrize("effort", EFFORTS)
def test_every_midpoint_is_quantized(effort: str) -> None:
    tried = defaultdict(set)
    for dtype, name, call in list_calls("quantize.ties", effort):
        tried[dtype, name] |= set(divide(call).ravel().tolist())
    assert {name for _, name in tried} == set(ELEMENT_FORMATS)
    for (dtype, name), numbers in tried.items():
        points = list_midpoints(NARROW_FORMATS[name])
        assert numbers >= set(points[FORMATS[dtype].round(points) == points].tolist()), (dtype, name)


@pytest.mark.parametrize("effort", EFFORTS)
def test_every_code_is_dequantized(effort: str) -> None:
    tried = defaultdict(set)
    for _, name, call in list_calls("dequantize.all_codes", effort):
        tried[name] |= set(np.asarray(call.arguments[0]).ravel().tolist())
    assert {name: set(list_finite(NARROW_FORMATS[name]).tolist()) for name in ELEMENT_FORMATS} == tried


def test_every_number_of_a_format_is_quantized_to_itself() -> None:
    """In float32, which has each product of a number and a scale."""
    tried = defaultdict(set)
    for dtype, name, call in list_calls("quantize.round_trip", "default"):
        if dtype == "float32":
            tried[name] |= set(np.asarray(call.value).ravel().tolist())
    assert set(tried) == set(ELEMENT_FORMATS)
    for name, numbers in tried.items():
        f = NARROW_FORMATS[name]
        assert numbers >= set(list_finite(f).tolist()) - ({f.least} if f.is_integer and f.is_signed else set()), name
