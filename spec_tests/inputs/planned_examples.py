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
    "gradient_clipping.below_the_limit": 32,  # gradient_clipping/norms-not-upcast
    "grouped_query_attention.mask_of_heads": 12,  # grouped_query_attention/mask-of-the-first-head
    "grouped_query_attention.range": 8,  # grouped_query_attention/scores-clipped-to-the-dtype
    "kv_cache_append.other_slots_keep_their_bits": 24,  # kv_cache_append/rubbish-made-finite
    "linear.exact_sums": 32,  # linear/result-cut-off
    "multihead_self_attention.no_theta_no_positions": 16,  # multihead_self_attention/rope-without-theta
    "operation.batch_invariant": 16,  # linear/wrong:weights_packed_once_without_gradients
    "operation.broadcasting": 20,  # local_attention/smaller-batches-taken-in-turn
    "operation.layout_blind": 24,  # linear/contiguity-of-the-first-decides
    "scaled_dot_product_attention.bias_comes_after_the_scale": 8,  # wide-values-read-with-the-width-of-keys
    "scaled_dot_product_attention.fully_masked_rows": 20,  # scaled_dot_product_attention/blind-by-bias-gets-the-mean
    "scaled_dot_product_attention.masked_keys_might_be_absent": 48,  # scaled_dot_product_attention/wrong:first_tile_hidden
    "scaled_dot_product_attention.no_queries": 6,  # scaled_dot_product_attention/entries-beyond-the-grid-left-out
    "scaled_dot_product_attention.sums_to_one": 20,  # scaled_dot_product_attention/wide-values-read-with-the-width-of-keys
    "silu.infinities": 32,  # silu/wrong:constant_in_the_default_dtype
    "transformer_lm.local_theta": 16,  # transformer_lm/theta-of-local-layers-everywhere
    "transformer_lm.local_window": 16,  # transformer_lm/window-in-every-layer
})  # fmt: skip
