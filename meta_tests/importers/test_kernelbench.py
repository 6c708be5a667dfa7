"""Files of KernelBench: the operation is recognized from the problem's own Model, and the kernel is judged by the operation."""

from pathlib import Path

import pytest

from ..support.pytest_process import suite
from .importing import IMPORTED, find_passed, flatten, try_import

pytest.importorskip("torch")

RIGHT = {
    "softmax": ("softmax", "softmax is ModelNew, over the last axis of two"),
    "matmul": ("linear", "linear is ModelNew, the product of A and the transpose of B"),
    "apart/kernel": ("layer_norm", "layer_norm is ModelNew, over all dimensions but the first"),
}
WRONG = {
    "rms_norm": ("rms_norm", "epsilon is ignored"),
    "attention": (
        "scaled_dot_product_attention",
        "scaled_dot_product_attention is ModelNew, of (batch, heads, n, d), without a mask",
    ),
}


@pytest.mark.rotating
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_kernel_conforms(tmp_path: Path, name: str) -> None:
    operation, words = RIGHT[name]
    run = try_import(tmp_path, f"kernelbench/{name}.py", operation)
    assert run.code == 0, run.text
    assert find_passed(run) == {operation}
    assert words in flatten(run.text)


@pytest.mark.rotating
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_kernel_fails(tmp_path: Path, name: str) -> None:
    operation, words = WRONG[name]
    run = try_import(tmp_path, f"kernelbench/{name}.py", operation)
    assert run.code == 1, run.text
    assert words in flatten(run.text)


def test_what_is_no_operation_is_answered_with_the_lines_to_write(tmp_path: Path) -> None:
    run = suite(tmp_path, f"--backend={IMPORTED / 'kernelbench/cumsum.py'}")
    assert run.code == 4
    assert "it computes none of the operations: the nearest is" in flatten(run.text)
    assert "return Model(*get_init_inputs())(x)" in run.text
