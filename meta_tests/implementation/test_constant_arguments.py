"""A floating argument without a gradient, such as given frequencies, is counted where a state freezes some arguments."""

from pathlib import Path

import pytest

from ..support.pytest_process import suite


@pytest.mark.rotating
@pytest.mark.parametrize("seed", [4, 6])  # with which the gradient of sinks was once reported as missing
def test_the_gradients_of_the_arguments_behind_it_are_asked_for(seed: int, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    drawn = ("--effort=default", f"--hypothesis-seed={seed}", "--seeds=0-7")
    run = suite(tmp_path, "--backend=torch-cpu", *drawn, "-k", "multihead_self_attention_vjp.states")
    assert run.code == 0, run.text
    assert run.count("passed") == 1
