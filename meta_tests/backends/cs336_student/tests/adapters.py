"""The adapters through which the assignment's tests call a student's code."""

from cs336_basics.functions import clip_gradients, cross_entropy, learning_rate, scaled_dot_product_attention, silu, softmax
from cs336_basics.optimizer import AdamW

from .common import EXACT


def _loaded(module, **weights):
    module.load_state_dict({name.replace("__", "."): weight for name, weight in weights.items()}, **EXACT)
    return module


def run_linear(d_in, d_out, weights, in_features):
    from cs336_basics.model import Linear

    return _loaded(Linear(d_in, d_out), weight=weights)(in_features)


def run_embedding(vocab_size, d_model, weights, token_ids):
    from cs336_basics.model import Embedding

    return _loaded(Embedding(vocab_size, d_model), weight=weights)(token_ids)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    from cs336_basics.model import SwiGLU

    weights = {"w1__weight": w1_weight, "w2__weight": w2_weight, "w3__weight": w3_weight}
    return _loaded(SwiGLU(d_model, d_ff), **weights)(in_features)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return scaled_dot_product_attention(Q, K, V, mask)


def _attention(module, q, k, v, o):
    return _loaded(module, q_proj__weight=q, k_proj__weight=k, v_proj__weight=v, output_proj__weight=o)


def run_multihead_self_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features):
    from cs336_basics.model import CausalMultiHeadSelfAttention

    module = CausalMultiHeadSelfAttention(d_model, num_heads)
    return _attention(module, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)(in_features)


def run_multihead_self_attention_with_rope(
    d_model,
    num_heads,
    max_seq_len,
    theta,
    q_proj_weight,
    k_proj_weight,
    v_proj_weight,
    o_proj_weight,
    in_features,
    token_positions=None,
):
    from cs336_basics.model import CausalMultiHeadSelfAttention, RotaryPositionalEmbedding

    rope = RotaryPositionalEmbedding(theta, d_model // num_heads, max_seq_len)
    module = CausalMultiHeadSelfAttention(d_model, num_heads, rope)
    return _attention(module, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)(in_features, token_positions)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    from cs336_basics.model import RotaryPositionalEmbedding

    return RotaryPositionalEmbedding(theta, d_k, max_seq_len)(in_query_or_key, token_positions)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    from cs336_basics.model import RotaryPositionalEmbedding, TransformerBlock

    rope = RotaryPositionalEmbedding(theta, d_model // num_heads, max_seq_len)
    return _loaded(TransformerBlock(d_model, num_heads, d_ff, rope), **weights)(in_features)


def run_transformer_lm(vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta, weights, in_indices):
    from cs336_basics.model import TransformerLM

    model = TransformerLM(vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta)
    return _loaded(model, **weights)(in_indices)


def run_rmsnorm(d_model, eps, weights, in_features):
    from cs336_basics.model import RMSNorm

    return _loaded(RMSNorm(d_model, eps), weight=weights)(in_features)


def run_silu(in_features):
    return silu(in_features)


def run_get_batch(dataset, batch_size, context_length, device):
    raise NotImplementedError


def run_softmax(in_features, dim):
    return softmax(in_features, dim)


def run_cross_entropy(inputs, targets):
    return cross_entropy(inputs, targets)


def run_get_lr_cosine_schedule(it, max_learning_rate, min_learning_rate, warmup_iters, cosine_cycle_iters):
    return learning_rate(it, max_learning_rate, min_learning_rate, warmup_iters, cosine_cycle_iters)


def run_gradient_clipping(parameters, max_l2_norm):
    clip_gradients(parameters, max_l2_norm)


def get_adamw_cls():
    return AdamW


def get_flashattention_autograd_function_pytorch():
    from cs336_basics.flash import FlashAttention

    return FlashAttention
