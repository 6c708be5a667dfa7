"""Test that the search for a cause takes infinities among the arguments and the answers, and warns of none of them."""

import warnings
from typing import Any

import numpy as np

from spec_tests.calls.call import Call
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.operator.reading import read_matrices
from spec_tests.diagnosis.precision.operands import find_narrow_operands
from spec_tests.specification.work import never, unlimited
from spec_tests.trials.asker import answer_instead

from ..support.answered import answers

LOGITS = np.array([1.0, -2.0, -np.inf, 0.5, 3.0, -0.25])
IDS = np.array([0, 1, 1, 2, 4, 5])


def half_of_the_frequency(logits: Any, output_ids: Any, logit_bias: Any, *, frequency_penalty: float) -> Any:
    """The frequency_penalty is added, and halved."""
    counts = np.bincount(output_ids, minlength=len(logits))
    return logits + 0.5 * frequency_penalty * counts + logit_bias


def call_with(bias: np.ndarray) -> Call:
    given = {"logit_bias": bias, "frequency_penalty": 0.5}
    (call,) = answers("penalize_logits", half_of_the_frequency, [((LOGITS, IDS), given)])
    return call


def test_arguments_in_a_narrow_format_may_be_infinite() -> None:
    call = call_with(np.zeros(6))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert find_narrow_operands(Evidence.gather([call], []), answer_instead, never) is None


def test_nothing_is_read_of_infinite_answers() -> None:
    call = call_with(np.full(6, 0.25))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(read_matrices(call, answer_instead, unlimited(call.operation.backend.meter))) == []
