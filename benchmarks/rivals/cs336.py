"""CS336's tests (assignment 1, spring 2025: tests/test_model.py, test_nn_utils.py), written anew.

Shapes, calls and comparisons are the same. The oracle's values replace the stored numbers, and weights and constants are drawn at
random instead of trained.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from . import Judge, rules
from . import cases as fixed
from .cases import Case, call_oracle, compare_within

TITLE = "CS336 assignment tests, restated"
START = "import numpy, pytest, torch"
BATCH, QUERIES, KEYS, HEADS, D_HEAD, D_FF, VOCABULARY, LAYERS, THETA = 4, 12, 16, 4, 16, 128, 10_000, 3, 10_000.0
D_MODEL = HEADS * D_HEAD


def build_judge() -> Judge:
    return fixed.build_judge(cases())


def normal(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def weight(seed: int, *shape: int) -> Any:
    return normal(seed, *shape) / np.float32(np.sqrt(shape[-1]))


def block_weights(seed: int) -> dict[str, Any]:
    square = {name: weight(seed + i, D_MODEL, D_MODEL) for i, name in enumerate(("w_q", "w_k", "w_v", "w_o"))}
    ffn = {"w1": weight(seed + 4, D_FF, D_MODEL), "w2": weight(seed + 5, D_MODEL, D_FF), "w3": weight(seed + 6, D_FF, D_MODEL)}
    norms = {name: 1 + normal(seed + 7 + i, D_MODEL) / 4 for i, name in enumerate(("attn_norm", "ffn_norm"))}
    return {**square, **ffn, **norms}


def cases() -> Iterator[Case]:
    q, k, v = normal(1, BATCH, QUERIES, D_MODEL), normal(2, BATCH, KEYS, D_MODEL), normal(3, BATCH, KEYS, D_MODEL)
    x, mask = normal(4, BATCH, QUERIES, D_MODEL), normal(5, BATCH, QUERIES, KEYS) > 0.5
    ids = np.random.default_rng(6).integers(0, VOCABULARY, (BATCH, QUERIES))
    w, heads, eps = block_weights(10), {"num_heads": HEADS}, {"eps": 1e-5}
    projections = [w[name] for name in ("w_q", "w_k", "w_v", "w_o")]
    positions = np.arange(QUERIES)

    def case(tolerance: dict[str, float], operation: str, *arguments: Any, **keywords: Any) -> Case:
        expected = call_oracle(operation, *arguments, **keywords)
        return Case(operation, arguments, keywords, compare_within(expected, **tolerance))

    yield case(rules.CS336_SNAPSHOT, "linear", x, w["w1"])
    yield case(rules.CS336_SNAPSHOT, "embedding", ids, normal(7, VOCABULARY, D_MODEL))
    yield case(rules.CS336_SWIGLU, "swiglu", x, w["w1"], w["w2"], w["w3"])
    yield case(rules.CS336_STRICT, "scaled_dot_product_attention", q, k, v, mask)
    four = [np.reshape(a, (BATCH // 2, 2, *a.shape[1:])) for a in (q, k, v, mask)]
    yield case(rules.CS336_STRICT, "scaled_dot_product_attention", *four)
    yield case(rules.CS336_STRICT, "multihead_self_attention", x, *projections, **heads)
    yield case(rules.CS336_STRICT, "multihead_self_attention", x, *projections, positions[None], **heads, theta=THETA)
    model = {
        "token_embedding": normal(7, VOCABULARY, D_MODEL),
        "layers": [block_weights(10 * layer) for layer in range(1, LAYERS + 1)],
        "final_norm": 1 + normal(8, D_MODEL) / 4, "lm_head": weight(9, VOCABULARY, D_MODEL),
    }  # fmt: skip
    yield case(rules.CS336_MODEL, "transformer_lm", ids, model, **heads, **eps, theta=THETA)
    yield case(rules.CS336_TRUNCATED, "transformer_lm", ids, model, **heads, **eps, theta=THETA)
    yield case(rules.CS336_STRICT, "transformer_block", x, w, **heads, **eps, theta=THETA)
    yield case(rules.CS336_STRICT, "rms_norm", x, w["attn_norm"], **eps)
    yield case(rules.CS336_STRICT, "rope", x, positions, theta=THETA)
    small = np.random.default_rng(11).random((3, 5), dtype=np.float32)
    expected = compare_within(call_oracle("softmax", small, axis=-1), **rules.CS336_FORMULA)
    yield Case("softmax", (small,), {"axis": -1}, expected)
    yield Case("softmax", (small + np.float32(100),), {"axis": -1}, expected)
    yield case(rules.CS336_FORMULA, "silu", np.random.default_rng(12).random((2, 5), dtype=np.float32))
