"""What is tried at an effort: in which dtypes, how often, and what is left out."""

from collections import defaultdict

import pytest

from spec_tests.inputs.effort import using_effort
from spec_tests.trials.trial import Trial

from ..support.in_process import backend, trials

GRADIENTS = "deviation:softmax_vjp/last-axis"  # of every operation; NumPy has none


def tried(effort: str, law: str, name: str = "numpy-cpu") -> dict[str, list[Trial]]:
    """Each operation's trials of a law."""
    found = defaultdict(list)
    with using_effort(effort):
        for test, trial in trials(backend(name), about=lambda one: one.id.endswith(f".{law}")):
            found[test.invariant.of(trial.operation_name).partition(".")[0]].append(trial)
    return found


@pytest.mark.parametrize("law", ["reference", "dtype_shape_device", "inputs_unchanged"])
def test_what_a_dtype_alone_may_break_is_tried_in_each_at_smoke_effort(law: str) -> None:
    dtypes = backend("numpy-cpu").dtypes
    assert len(dtypes) > 1
    assert [trial.dtype for trial in tried("smoke", law)["rms_norm"]] == list(dtypes)


def test_another_law_is_tried_in_one_of_them() -> None:
    found = tried("smoke", "layout_blind")
    assert [trial.share for trial in found["rms_norm"]] == [4]
    assert [trial.share for trial in found["transformer_block"]] == [1]


@pytest.mark.parametrize("effort", ["smoke", "default"])
def test_what_speaks_of_16_bits_is_tried_in_no_other_dtype(effort: str) -> None:
    found = tried(effort, "mixed_dtypes")
    assert found.keys() == {"rms_norm", "layer_norm"}
    assert {trial.dtype for own in found.values() for trial in own} <= {"float16", "bfloat16"}


def test_the_dearest_laws_are_left_to_longer_runs() -> None:
    assert {"softmax_vjp", "transformer_lm_vjp"} <= tried("default", "linear_in_the_cotangent", GRADIENTS).keys()
    found = tried("smoke", "linear_in_the_cotangent", GRADIENTS)
    assert "softmax_vjp" in found
    assert "transformer_lm_vjp" not in found
