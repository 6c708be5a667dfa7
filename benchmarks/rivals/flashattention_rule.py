"""FlashAttention's own rule: the error may be twice that of PyTorch's attention in the same dtype, both against float64.

The inputs are normal, in bfloat16, in the manner of its `test_flash_attn_output`: several lengths, causal and not.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from ml_dtypes import bfloat16

from . import Absent, Judge, rules
from . import cases as fixed
from .cases import Case, call_oracle

TITLE = "FlashAttention's rule"
START = "import torch"
LENGTHS = ((113, 203), (128, 217), (108, 256), (256, 512), (512, 256), (128, 128))  # of queries and keys, of its test, up to 512
BATCH, HEADS, KV_HEADS, WIDTH = 2, 4, 2, 64


def build_judge() -> Judge:
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        raise Absent("FlashAttention's rule needs torch: pip install -e '.[torch]'") from None
    return fixed.build_judge(cases(torch))


def cases(torch: Any) -> Iterator[Case]:
    for trial, (n, m) in enumerate(LENGTHS):
        rng = np.random.default_rng(trial)
        for operation, heads in (("scaled_dot_product_attention", HEADS), ("grouped_query_attention", KV_HEADS)):
            shapes = ((BATCH, HEADS, n, WIDTH), (BATCH, heads, m, WIDTH), (BATCH, heads, m, WIDTH))
            q, k, v = (rng.standard_normal(shape).astype(bfloat16) for shape in shapes)
            for is_causal in (False, True) if n == m else (False,):
                keywords = {"is_causal": True} if is_causal else {}
                expected = call_oracle(operation, *(x.astype(np.float64) for x in (q, k, v)), **keywords)
                allowed = rules.FLASHATTENTION_FACTOR * _error_of_pytorch(torch, (q, k, v), expected, is_causal)
                yield Case(operation, (q, k, v), keywords, _compare(expected, allowed))


def _error_of_pytorch(torch: Any, arrays: tuple[Any, ...], expected: Any, is_causal: bool) -> float:
    """Return the largest error of attention in which PyTorch stores each step in bfloat16."""
    q, k, v = (torch.tensor(x.astype(np.float32)).bfloat16() for x in arrays)
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
    scores = q @ k.mT * WIDTH**-0.5
    if is_causal:
        scores = scores.masked_fill(~torch.ones(scores.shape[-2:], dtype=torch.bool).tril(), float("-inf"))
    answer = torch.softmax(scores, dim=-1) @ v
    return float(np.max(np.abs(answer.double().numpy() - expected)))


def _compare(expected: Any, allowed: float) -> Callable[[Any], None]:
    def compare(answer: Any) -> None:
        error = np.abs(np.asarray(answer).astype(np.float64) - expected)
        assert np.max(error) <= allowed

    return compare
