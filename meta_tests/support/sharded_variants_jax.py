"""Faults of sharded implementations in JAX."""

from __future__ import annotations

from .sharded_variant import JAX_ATTENTION, JAX_LAYERS, JAX_VOCABULARY, Variant

VARIANTS = (
    Variant(
        "the bias is added before the sum over the devices",
        "linear",
        JAX_LAYERS,
        "_plus(summed(h @ weight.T), bias)",
        "summed(_plus(h @ weight.T, bias))",
        r"bias is (added once for each rank|doubled)",
    ),
    Variant(
        "the first row of the next rank is taken for the rank's own last one",
        "embedding",
        JAX_VOCABULARY,
        "places < len(weight)",
        "places <= len(weight)",
        r"next rank",
    ),
    Variant(
        "rows are added to zeros in floating point, which makes subnormal numbers zero",
        "embedding",
        JAX_VOCABULARY,
        "return only(jnp.where(",
        "return summed(jnp.where(",
        r"subnormal",
    ),
    Variant(
        "the sum of exponentials is the rank's own",
        "log_softmax",
        JAX_VOCABULARY,
        "jnp.log(summed(jnp.exp(shifted).sum(axis, keepdims=True)))\n\n    return",
        "jnp.log(jnp.exp(shifted).sum(axis, keepdims=True))\n\n    return",
        r"sum of the exponentials of its own",
    ),
    Variant(
        "what fills up the vocabulary takes part in the softmax",
        "log_softmax",
        JAX_VOCABULARY,
        "result=cut(x.ndim, axis), filling=-jnp.inf",
        "result=cut(x.ndim, axis), filling=0",
        r"fills up",
    ),
    Variant(
        "label smoothing divides by the length of the vocabulary that is filled up",
        "cross_entropy",
        JAX_VOCABULARY,
        "z, 0).sum(-1)) / vocabulary",
        "z, 0).sum(-1)) / summed(z.shape[-1])",
        r"fills up|filled up",
    ),
    Variant(
        "a rank takes the heads of keys and values that the first rank uses",
        "grouped_query_attention",
        JAX_ATTENTION,
        "mine // group",
        "(mine - mine[0]) // group",
        r"counted from the first of a rank's own",
    ),
    Variant(
        "the keys are taken for those of the rank after",
        "scaled_dot_product_attention",
        JAX_ATTENTION,
        "(rank() - step)",
        "(rank() + step)",
        r"next rank|rank after",
    ),
    Variant(
        "the mask is that of the rank's own keys in every step of the ring",
        "scaled_dot_product_attention",
        JAX_ATTENTION,
        "of_keys(seen, origin)",
        "of_keys(seen, rank())",
        r"mask .* own",
    ),
    Variant(
        "the output is not rescaled when the maximum grows",
        "attention_with_lse",
        JAX_ATTENTION,
        "out * old + e @ v",
        "out + e @ v",
        r"not rescaled",
    ),
    Variant(
        "the last step of the ring is left out",
        "attention_with_lse",
        JAX_ATTENTION,
        "for step in range(WORLD_SIZE):",
        "for step in range(max(1, WORLD_SIZE - 1)):",
        r"last step of the ring is left out|own rank alone",
    ),
)
