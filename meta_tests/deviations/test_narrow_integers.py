"""Whole numbers that are kept in 16 bits are named, and are not put down to another bug that agrees with them by chance."""

import re
from pathlib import Path

import pytest

from ..support.pytest_process import suite, write

torch = pytest.importorskip("torch")

ROPE = """
    import torch

    framework = "torch"
    dtypes = ("float32",)


    def rope(x, positions, *, theta):
        frequencies = theta ** (-torch.arange(0, x.shape[-1], 2, dtype=torch.float64) / x.shape[-1])
        angles = positions.to(torch.KEPT).double()[..., None] * frequencies
        a, b = x[..., 0::2].double(), x[..., 1::2].double()
        cos, sin = angles.cos(), angles.sin()
        return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2).float()


    domain = {"rope": {"max_position": 30000}}
"""


@pytest.mark.parametrize("kept", ["float16", "bfloat16"])
def test_positions_in_16_bits_are_named(tmp_path: Path, kept: str) -> None:
    write(tmp_path, mine=ROPE.replace("KEPT", kept))
    run = suite(tmp_path, "--backend=mine.py", "--effort=default", "-k", "rope.reference")
    named = f"the argument positions is rounded to {kept}, in which neighbours among large numbers collapse (positions in {kept})"
    assert {what for _, what in re.findall(r"^cause \d+: (\w+): (.*)$", run.text, re.MULTILINE)} == {named}, run.text
