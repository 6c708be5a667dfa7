"""Operators of torch.library: those that return, those that write into arguments, and wrong ones."""

from pathlib import Path

import pytest

from .importing import find_passed, flatten, try_import

pytest.importorskip("torch")

RIGHT = {
    "custom": (("rms_norm", "softmax"), "rms_norm is the operator spec_tests_custom::rmsnorm(hidden_states, gamma, epsilon)"),
    "destinations": (
        ("rms_norm", "add_rms_norm", "gated_activation"),
        "rms_norm is the operator spec_tests_destinations::rms_norm(out, input, weight, epsilon), which writes out",
    ),
}


@pytest.mark.rotating
@pytest.mark.parametrize("name", RIGHT)
def test_right_operators_conform(tmp_path: Path, name: str) -> None:
    operations, words = RIGHT[name]
    run = try_import(tmp_path, f"torch_operators/{name}.py", *operations)
    assert run.code == 0, run.text
    assert find_passed(run) == set(operations)
    assert words in flatten(run.text)


@pytest.mark.rotating
@pytest.mark.parametrize("more", [(), pytest.param(("--isolate",), marks=pytest.mark.nightly)])
def test_wrong_operators_fail(tmp_path: Path, more: tuple[str, ...]) -> None:
    run = try_import(tmp_path, "torch_operators/wrong.py", "layer_norm", "scaled_dot_product_attention", more=more)
    text = flatten(run.text)
    assert run.code == 1, run.text
    assert find_passed(run) == set()
    assert "epsilon stands outside the square root" in text
    assert "which is not taken for relu: its argument threshold is not known" in text
