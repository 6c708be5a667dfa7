"""Other names of operations and of their arguments that are common in the field. A backend's functions may have them."""

from collections.abc import Mapping
from types import MappingProxyType

OPERATIONS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = MappingProxyType(
    {
        # the operation: its other names, and the arrays that it is called with, by position
        "attention_with_lse": ((), ("q", "k", "v")),
        "attention_with_weights": ((), ("q", "k", "v")),
        "embedding": (("embed", "embedding_lookup"), ("token_ids", "weight")),
        "feed_forward": (("feedforward", "ffn", "mlp"), ("x", "w1", "w2")),
        "gelu": ((), ("x",)),
        "grouped_query_attention": (("gqa",), ("q", "k", "v")),
        "layer_norm": (("layernorm", "layer_normalization"), ("x", "weight", "bias")),
        "linear": (("dense", "fully_connected"), ("x", "weight")),
        "local_attention": (("sliding_window_attention",), ("q", "k", "v")),
        "log_softmax": (("logsoftmax",), ("x",)),
        "logsumexp": (("log_sum_exp",), ("x",)),
        "multihead_self_attention": (
            ("mha", "multihead_attention", "multi_head_attention", "multi_head_self_attention"),
            ("x", "w_q", "w_k", "w_v", "w_o"),
        ),
        "newton_schulz": (("zeropower_via_newtonschulz5", "zeropower_via_newtonschulz"), ("x",)),
        "relu": ((), ("x",)),
        "rms_norm": (("rmsnorm", "rms_normalization"), ("x", "weight")),
        "rope": (("rotary", "rotary_embedding", "apply_rope", "apply_rotary_emb"), ("x", "positions")),
        "scaled_dot_product_attention": (("sdpa", "attention", "dot_product_attention", "flash_attention"), ("q", "k", "v")),
        "sigmoid": (("logistic",), ("x",)),
        "silu": (("swish",), ("x",)),
        "softmax": (("soft_max",), ("x",)),
        "swiglu": (("swi_glu",), ("x", "w1", "w2", "w3")),
    }
)

ARRAYS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        # An array that is passed by position, and its other names. A function with another operation name is taken only if its
        # first parameters have these names, in this order.
        "x": ("input", "inputs", "hidden_states", "hidden", "h", "X", "in_features", "G"),
        "weight": ("gamma", "gain", "g", "w", "scale", "weights"),
        "bias": ("beta", "b"),
        "q": ("query", "queries", "Q"),
        "k": ("key", "keys", "K"),
        "v": ("value", "values", "V"),
        "positions": ("position_ids", "pos", "token_positions"),
        "token_ids": ("input_ids", "ids", "tokens", "indices"),
    }
)

GATED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {  # the matrices of swiglu: the names that modules and functions give them
        "w1": ("w1", "gate_proj", "gate", "w_gate", "linear_gate", "fc_gate", "gate_weight", "W_gate", "gate_proj_weight"),
        "w3": ("w3", "up_proj", "up", "w_up", "linear_up", "fc_up", "linear_fc", "up_weight", "W_up", "up_proj_weight"),
        "w2": (
            "w2", "down_proj", "down", "w_down", "linear_down", "fc_down", "proj", "out_proj", "down_weight", "W_down",
            "down_proj_weight",
        ),
    }
)  # fmt: skip
ARRAYS_OF: Mapping[str, Mapping[str, tuple[str, ...]]] = MappingProxyType({"swiglu": GATED})  # names in one operation alone

OTHER_MEANINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {  # an array that is passed by position, and names that say that a function takes something else in its place
        "logits": ("probs", "probabilities", "log_probs", "logprobs"),
        "log_probs": ("logits", "probs", "probabilities"),
        "probabilities": ("logits", "log_probs", "logprobs"),
    }
)

KEYWORDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        # an argument that is passed by name, and its other names
        "axis": ("dim",),
        "eps": ("epsilon", "variance_epsilon", "layer_norm_eps", "rms_norm_eps", "norm_eps"),
        "mask": ("attn_mask",),
        "bias": ("attn_bias", "beta"),
        "is_causal": ("causal",),
        "scale": ("sm_scale", "softmax_scale"),
        "theta": ("base", "rope_theta", "rope_base"),
        "positions": ("position_ids", "token_positions"),
        "num_heads": ("n_heads", "n_head", "num_attention_heads"),
        "num_kv_heads": ("n_kv_heads", "num_key_value_heads"),
        "window": ("window_size",),
    }
)

TAKEN_BY: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        # the operations that have the argument. An isolated process, which must not read the equations, needs to know them.
        "axis": ("log_softmax", "logsumexp", "softmax"),
        "eps": (
            "adamw_step",
            "adamw_steps",
            "add_rms_norm",
            "dynamic_quantize",
            "gated_rms_norm",
            "gradient_clipping",
            "group_advantages",
            "l2_norm",
            "layer_norm",
            "multihead_self_attention",
            "muon_step",
            "newton_schulz",
            "rms_norm",
            "transformer_block",
            "transformer_lm",
        ),
        "mask": (
            "attention_with_lse",
            "attention_with_weights",
            "grouped_query_attention",
            "policy_loss",
            "scaled_dot_product_attention",
        ),
        "bias": (
            "causal_conv1d",
            "dequantize",
            "layer_norm",
            "linear",
            "moe_router",
            "scaled_dot_product_attention",
            "scaled_matmul",
        ),
        "is_causal": (
            "attention_with_kv_cache",
            "attention_with_lse",
            "attention_with_weights",
            "grouped_query_attention",
            "indexer_scores",
            "latent_attention",
            "latent_attention_absorbed",
            "local_attention",
            "multihead_self_attention",
            "paged_attention",
            "scaled_dot_product_attention",
            "sliding_window_mask",
            "variable_length_attention",
        ),
        "scale": (
            "attention_with_kv_cache",
            "attention_with_lse",
            "attention_with_weights",
            "dequantize",
            "grouped_query_attention",
            "latent_attention",
            "latent_attention_absorbed",
            "linear_attention",
            "local_attention",
            "multihead_self_attention",
            "paged_attention",
            "quantize",
            "scaled_dot_product_attention",
            "sparse_attention",
            "transformer_block",
            "transformer_lm",
            "variable_length_attention",
        ),
        "theta": ("multihead_self_attention", "rope", "rope_frequencies", "transformer_block", "transformer_lm"),
        "positions": ("multihead_self_attention", "rope", "transformer_block"),
        "num_heads": ("alibi_slopes", "multihead_self_attention", "parameter_count", "transformer_block", "transformer_lm"),
        "num_kv_heads": ("multihead_self_attention", "parameter_count", "transformer_block", "transformer_lm"),
        "window": ("local_attention", "sliding_window_mask"),
    }
)

OTHER_PARAMETERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {  # those of the operations above that have no other name, in the order of the signature
        "attention_with_lse": ("sinks", "softcap", "left_window", "right_window"),
        "embedding": ("padding_idx",),
        "feed_forward": ("b1", "b2", "activation"),
        "gelu": ("approximate",),
        "grouped_query_attention": ("sinks", "softcap", "left_window", "right_window"),
        "multihead_self_attention": (
            "b_q",
            "b_k",
            "b_v",
            "b_o",
            "q_norm",
            "k_norm",
            "inverse_frequencies",
            "sinks",
            "layout",
            "attention_factor",
            "softcap",
            "left_window",
        ),
        "newton_schulz": ("steps", "coefficients"),
        "rope": ("inverse_frequencies", "layout", "rotary_dim", "attention_factor", "sections", "section_layout"),
        "scaled_dot_product_attention": ("softcap",),
        "swiglu": ("b1", "b2", "b3"),
    }
)

CLASS_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {  # the names of a class that is an operation
        "rms_norm": ("RMSNorm", "RmsNorm", "LlamaRMSNorm"),
        "layer_norm": ("LayerNorm",),
        "linear": ("Linear",),
        "embedding": ("Embedding",),
        "softmax": ("Softmax",),
        "silu": ("SiLU", "Swish"),
        "gelu": ("GELU", "Gelu"),
        "swiglu": ("SwiGLU",),
        "feed_forward": ("FeedForward", "MLP"),
        "rope": ("RoPE", "RotaryEmbedding", "RotaryPositionalEmbedding"),
        "scaled_dot_product_attention": ("ScaledDotProductAttention", "Attention"),
        "multihead_self_attention": ("MultiHeadAttention", "MultiheadAttention", "MultiHeadSelfAttention", "CausalSelfAttention"),
        "transformer_block": ("TransformerBlock", "Block", "DecoderLayer"),
        "transformer_lm": ("TransformerLM", "Transformer", "GPT"),
    }
)
WIDTH_NAMES = ("normalized_shape", "d_model", "dim", "hidden_size", "width", "d", "n_embd", "features", "size")
GUIDE = "docs/guides/adapt_a_class.md"
