"""How many examples of a law are planned in a default run, in all its dtypes together.

A law whose violations the comparison with the oracle would show as well has few: it is there for its inputs and for the reader.
Where the law alone catches a known bug, it has as many as it takes to miss that bug in fewer than one of a hundred runs.
`python -m meta_tests.measure.evidence` computes this from docs/measured/evidence.json and writes the table at the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

OF_ONE_OPERATION = 4  # at least one in each dtype

OF_EVERY_OPERATION = 8

OF_STATE = 16  # for laws about memory, layouts and what code keeps from one call to the next: no input is sure to show it


def plan_examples(law: str, *, is_general: bool, is_about_state: bool, table: Mapping[str, int] | None = None) -> int:
    """Return how many examples of the law are planned in a default run, in all its dtypes together, by this table if given."""
    least = OF_STATE if is_about_state else OF_EVERY_OPERATION if is_general else OF_ONE_OPERATION
    return max(least, (PLANNED if table is None else table).get(law, 0))


# --- written by python -m meta_tests.measure.evidence ---

PLANNED: Mapping[str, int] = MappingProxyType({
    "add_rms_norm.residual_rounding": 12,  # add_rms_norm/rounded-in-long-rows
    "cross_entropy.uniform": 32,  # cross_entropy/summed-in-half
    "embedding.large_table": 8,  # embedding/ids-of-16-bits
    "gelu.infinities": 8,  # gelu/infinities-clamped
    "gradient.dtype_shape_device": 16,  # linear_vjp/weights-gradient-in-float32
    "gradient_clipping.below_the_limit": 32,  # gradient_clipping/norms-not-upcast
    "grouped_query_attention.causal_alignment": 16,  # grouped_query_attention/sums-in-16-bits
    "grouped_query_attention.mask_of_heads": 12,  # grouped_query_attention/mask-of-the-first-head
    "grouped_query_attention.quarantine": 8,  # grouped_query_attention/hidden-values-multiplied
    "grouped_query_attention.range": 12,  # grouped_query_attention/scores-clipped-to-the-dtype
    "kv_cache_append.other_slots_keep_their_bits": 20,  # kv_cache_append/rubbish-made-finite
    "linear.exact_sums": 32,  # linear/result-cut-off
    "local_attention.quarantine": 8,  # local_attention/hidden-values-multiplied
    "logsumexp.nothing_but_minus_infinity": 8,  # logsumexp/infinities-clamped
    "mixture_of_experts.experts_have_biases_and_gates": 8,  # mixture_of_experts/alpha-dropped
    "multihead_self_attention.no_theta_no_positions": 16,  # multihead_self_attention/rope-without-theta
    "multihead_self_attention.scale_is_of_the_scores": 44,  # multihead_self_attention/scale-ignored
    "multihead_self_attention.scores_are_those_of_attention": 15,  # multihead_self_attention/softcap-ignored
    "multihead_self_attention.sinks_with_equal_scores": 44,  # multihead_self_attention/sinks-ignored and 1 more
    "multihead_self_attention.window_forgets": 44,  # multihead_self_attention/window-counts-the-own-key
    "operation.batch_independence": 20,  # layer_norm/batch-of-nan-given-up
    "operation.batch_invariant": 16,  # linear/wrong:weights_packed_once_without_gradients
    "operation.broadcasting": 20,  # local_attention/smaller-batches-taken-in-turn
    "operation.dtype_shape_device": 32,  # embedding/float32-returned and 1 more
    "operation.every_argument_counts": 20,  # logsumexp/cached-by-identity
    "operation.layout_blind": 32,  # gelu/transposed-read-in-storage-order and 1 more
    "operation.mixed_dtypes": 14,  # layer_norm/weights-cut-to-the-dtype-of-x
    "operation.nan_propagation": 12,  # log_softmax/nan-as-minus-infinity
    "rms_norm.permutation": 28,  # rms_norm/row-cut-at-6144
    "rope.inverse": 8,  # rope/negative-clamped
    "rope.no_overflow": 8,  # rope/length-apart
    "scaled_dot_product_attention.causal_alignment": 16,  # scaled_dot_product_attention/causal-top-left
    "scaled_dot_product_attention.constant_values": 8,  # scaled_dot_product_attention/sum-accumulated-in-half
    "scaled_dot_product_attention.fully_masked_rows": 20,  # scaled_dot_product_attention/blind-by-bias-gets-the-mean
    "scaled_dot_product_attention.masked_keys_might_be_absent": 40,  # scaled_dot_product_attention/wrong:first_tile_hidden
    "scaled_dot_product_attention.no_queries": 10,  # scaled_dot_product_attention/entries-beyond-the-grid-left-out
    "scaled_dot_product_attention.nothing_flows_where_capped": 8,  # scaled_dot_product_attention/cap-after-the-mask
    "scaled_dot_product_attention.quarantine": 8,  # scaled_dot_product_attention/hidden-values-multiplied
    "scaled_dot_product_attention.range": 5,  # scaled_dot_product_attention/scores-clipped-to-the-dtype
    "scaled_dot_product_attention.scale_zero": 20,  # scaled_dot_product_attention/sum-accumulated-in-half
    "scaled_dot_product_attention.sums_to_one": 20,  # scaled_dot_product_attention/wide-values-read-with-the-width-of-keys
    "scaled_dot_product_attention.two_keys": 8,  # scaled_dot_product_attention/only-64-features
    "sigmoid.relative_tail": 8,  # sigmoid/tail-lost-beside-one
    "silu.infinities": 32,  # silu/infinities-clamped and 1 more
    "sliding_window_mask.causal_mask": 14,  # sliding_window_mask/tail-of-128-left-zero
    "sliding_window_mask.wide_window": 17,  # sliding_window_mask/width-of-32-bits
    "transformer_block.attention_half_with_options": 15,  # transformer_block/sinks-dropped
    "transformer_block.equal_experts": 8,  # transformer_block/experts-not-renormalized
    "transformer_block.experts_half": 5,  # transformer_block/experts-not-renormalized
    "transformer_block.gated_half": 15,  # transformer_block/always-silu
    "transformer_block.norms_behind_the_sub_layers": 20,  # transformer_block/norm-before-the-network-for-that-behind-attention
    "transformer_lm.embedding_scale": 20,  # transformer_lm/scale-of-the-embedding-dropped
    "transformer_lm.local_theta": 20,  # transformer_lm/layers-counted-from-zero
    "transformer_lm.local_window": 20,  # transformer_lm/layers-counted-from-zero
})  # fmt: skip
