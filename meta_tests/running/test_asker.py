"""What is asked after a failure is small: neither its arrays nor the scores of its attention fill the memory."""

import tracemalloc

import pytest

from spec_tests.diagnosis.wish import Wish
from spec_tests.specification.registry import specification
from spec_tests.trials.asker import ask_about
from spec_tests.trials.trial import Trial

from ..support.in_process import backend
from ..support.machine_made_faults import make_operation

ATTENDING = ("multihead_self_attention", "transformer_block", "transformer_lm", "scaled_dot_product_attention")
MAX_BYTES = 2**30
LENGTHS = (63, 255, 1023, 4095)


@pytest.mark.parametrize("name", ATTENDING)
def test_long_sequences_are_asked_for_as_far_as_their_scores_are_few(name: str) -> None:
    assert specification(name).composed
    ask = ask_about(make_operation(backend("numpy-cpu"), name), seed=1)
    tracemalloc.start()
    try:
        answers = {n: [ask(Wish(sizes={"n": n, "m": n} if "scaled" in name else {"n": n})) for _ in range(4)] for n in LENGTHS}
        assert tracemalloc.get_traced_memory()[1] < MAX_BYTES
    finally:
        tracemalloc.stop()
    assert any(answers[63])
    assert not any(answers[4095]), "its scores have 2^24 elements for each head"


@pytest.mark.parametrize("name", [f"{name}_vjp" for name in ATTENDING])
def test_the_results_of_a_long_forward_call_are_not_computed_for_its_gradients(name: str) -> None:
    """The cotangent is drawn like the results. For 2^26 scores they take seconds and gigabytes."""
    ask = ask_about(Trial(backend("deviation:softmax/axis-ignored"), "float64").operation(name), seed=1)
    tracemalloc.start()
    try:
        assert ask(Wish(sizes={"n": 8191, "m": 8191} if "scaled" in name else {"n": 8191})) is None
        assert tracemalloc.get_traced_memory()[1] < MAX_BYTES / 8
    finally:
        tracemalloc.stop()
