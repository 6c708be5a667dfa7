"""Random weights of a small model, in the shapes that the operations take."""

from typing import Any

D, F, H, H_KV, D_K, VOCAB = 12, 20, 6, 2, 2, 11


def block_weights(rng: Any) -> dict[str, Any]:
    shapes = {
        "attn_norm": (D,), "w_q": (H * D_K, D), "w_k": (H_KV * D_K, D), "w_v": (H_KV * D_K, D), "w_o": (D, H * D_K),
        "ffn_norm": (D,), "w1": (F, D), "w2": (D, F), "w3": (F, D),
    }  # fmt: skip
    return {name: rng.standard_normal(shape) / 4 for name, shape in shapes.items()}


def model_weights(layers: int, rng: Any) -> dict[str, Any]:
    return {
        "token_embedding": rng.standard_normal((VOCAB, D)),
        "layers": [block_weights(rng) for _ in range(layers)],
        "final_norm": rng.standard_normal(D),
        "lm_head": rng.standard_normal((VOCAB, D)),
    }


def count_numbers(tree: Any) -> int:
    """Return how many numbers the arrays of the tree hold."""
    parts = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else None
    return tree.size if parts is None else sum(map(count_numbers, parts))
