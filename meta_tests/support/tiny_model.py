"""Random weights of a small model, in the shapes that the operations take."""

from typing import Any

D, F, H, H_KV, D_K, VOCAB = 12, 20, 6, 2, 2, 11


def block_weights(rng: Any) -> dict[str, Any]:
    shapes = {
        "attn_norm": (D,), "w_q": (H * D_K, D), "w_k": (H_KV * D_K, D), "w_v": (H_KV * D_K, D), "w_o": (D, H * D_K),
        "ffn_norm": (D,), "w1": (F, D), "w2": (D, F), "w3": (F, D),
    }  # fmt: skip
    return {name: rng.standard_normal(shape) / 4 for name, shape in shapes.items()}


def optional_weights(rng: Any, experts: int) -> dict[str, Any]:
    """Return every optional weight of a block, with so many experts in place of the network, 0 for none."""
    shapes: dict[str, tuple[int, ...]] = {
        "b_q": (H * D_K,), "b_k": (H_KV * D_K,), "b_v": (H_KV * D_K,), "b_o": (D,), "q_norm": (D_K,), "k_norm": (D_K,),
        "sinks": (H,), "attn_post_norm": (D,), "ffn_post_norm": (D,),
    }  # fmt: skip
    if experts:
        shapes |= {"router": (experts, D), "b_router": (experts,)}
    network = {"w1": (F, D), "w2": (D, F), "w3": (F, D), "b1": (F,), "b2": (D,), "b3": (F,)}
    shapes |= {name: (experts, *shape) if experts else shape for name, shape in network.items()}
    return {name: rng.standard_normal(shape) for name, shape in shapes.items()}


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
