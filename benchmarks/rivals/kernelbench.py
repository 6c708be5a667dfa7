"""KernelBench's rule: five normally distributed inputs of one shape, and one tolerance.

The problems are small and written in the manner of KernelBench. Weights are those of a new module (norms: gain 1, bias 0).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from . import Judge, rules
from . import cases as fixed
from .cases import Case, call_oracle, compare_within

TITLE = "KernelBench's rule, 1e-4"
START = "import torch"
TOLERANCE = rules.KERNELBENCH
ROWS, D, HIDDEN, HEADS, TOKENS = 16, 64, 128, 4, 32
ONES, ZEROS = np.ones(D, np.float32), np.zeros(D, np.float32)


def build_judge() -> Judge:
    return fixed.build_judge(cases(TOLERANCE))


def cases(tolerance: dict[str, float]) -> Iterator[Case]:
    for trial in range(rules.KERNELBENCH_TRIALS):
        for operation, (arguments, keywords) in draw_problems(np.random.default_rng(trial)).items():
            expected = call_oracle(operation, *arguments, **keywords)
            yield Case(operation, arguments, keywords, compare_within(expected, equal_nan=False, **tolerance))


def draw_problems(rng: np.random.Generator) -> dict[str, tuple[tuple[Any, ...], dict[str, Any]]]:
    def normal(*shape: int) -> Any:
        return rng.standard_normal(shape).astype(np.float32)

    def weight(out: int, into: int) -> Any:
        return rng.uniform(-1, 1, (out, into)).astype(np.float32) / np.float32(np.sqrt(into))

    x, heads = normal(ROWS, D), {"num_heads": HEADS}
    sequence = normal(2, TOKENS, D)
    q, k, v = (normal(2, HEADS, TOKENS, D // HEADS) for _ in range(3))
    square = [weight(D, D) for _ in range(4)]
    up, down, gate = weight(HIDDEN, D), weight(D, HIDDEN), weight(HIDDEN, D)
    names = ("w_q", "w_k", "w_v", "w_o", "w1", "w2", "w3", "attn_norm", "ffn_norm")
    block = dict(zip(names, [*square, up, down, gate, ONES, ONES], strict=True))
    return {
        "linear": ((x, up), {}),
        "softmax": ((x,), {"axis": 1}),
        "log_softmax": ((x,), {"axis": 1}),
        "logsumexp": ((x,), {"axis": 1}),
        "rms_norm": ((x, ONES), {"eps": 1e-5}),
        "layer_norm": ((x, ONES, ZEROS), {"eps": 1e-5}),
        **{name: ((x,), {}) for name in ("relu", "sigmoid", "silu", "gelu")},
        "glu": ((x, up, gate), {}),
        "swiglu": ((x, up, down, gate), {}),
        "feed_forward": ((x, up, down), {"activation": "gelu"}),
        "rope": ((q, np.arange(TOKENS)), {}),
        "scaled_dot_product_attention": ((q, k, v), {}),
        "grouped_query_attention": ((q, k[:, :2], v[:, :2]), {}),
        "multihead_self_attention": ((sequence, *square), heads),
        "transformer_block": ((sequence, block), {**heads, "eps": 1e-5}),
    }
