"""Test which dtypes, how many examples and which laws an effort tries."""

from collections import defaultdict

import pytest

from spec_tests.inputs.effort import using_effort
from spec_tests.trials.trial import Trial

from ..support.in_process import backend, trials

GRADIENTS = "deviation:softmax_vjp/last-axis"  # a backend with gradients of every operation; numpy-cpu has none


def trials_at(effort: str, law: str, name: str = "numpy-cpu") -> dict[str, list[Trial]]:
    """Return the trials of a law, by operation."""
    found = defaultdict(list)
    with using_effort(effort):
        for test, trial in trials(backend(name), about=lambda one: one.id.endswith(f".{law}")):
            found[test.invariant.id_for(trial.operation_name).partition(".")[0]].append(trial)
    return found


@pytest.mark.parametrize("law", ["reference", "dtype_shape_device", "inputs_unchanged"])
def test_laws_that_one_dtype_may_break_are_tried_in_every_dtype_at_smoke_effort(law: str) -> None:
    dtypes = backend("numpy-cpu").dtypes
    assert len(dtypes) > 1
    assert [trial.dtype for trial in trials_at("smoke", law)["rms_norm"]] == list(dtypes)


def test_another_law_is_tried_in_one_dtype_at_smoke_effort() -> None:
    found = trials_at("smoke", "layout_blind")
    assert [trial.max_examples for trial in found["rms_norm"]] == [4]
    assert [trial.max_examples for trial in found["transformer_block"]] == [1]


@pytest.mark.parametrize("effort", ["smoke", "default"])
def test_laws_about_16_bits_are_tried_in_no_other_dtype(effort: str) -> None:
    found = trials_at(effort, "mixed_dtypes")
    assert found.keys() == {"rms_norm", "layer_norm"}
    assert {trial.dtype for own in found.values() for trial in own} <= {"float16", "bfloat16"}


def test_the_costliest_laws_are_not_tried_at_smoke_effort() -> None:
    assert {"softmax_vjp", "transformer_lm_vjp"} <= trials_at("default", "linear_in_the_cotangent", GRADIENTS).keys()
    found = trials_at("smoke", "linear_in_the_cotangent", GRADIENTS)
    assert "softmax_vjp" in found
    assert "transformer_lm_vjp" not in found
