"""A student's adapters of CS336 with a bug in each function. No function calls another one that is tested."""

import math

import torch
import torch.nn.functional as F


def _norm(x, weight, eps=1e-5):
    return F.rms_norm(x.double(), (x.shape[-1],), weight.double(), eps).float()


def _turn(x, positions, theta):
    d_k = x.shape[-1]
    angles = positions[..., None] * theta ** (-torch.arange(0, d_k, 2).double() / d_k)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], dim=-1).flatten(-2).float()


def _attend(x, num_heads, w, theta=None, positions=None, *, is_causal=True, turn_values=False):
    q, k, v = ((x @ w[name].T).unflatten(-1, (num_heads, -1)).transpose(-2, -3) for name in "qkv")
    if theta is not None:
        positions = torch.arange(x.shape[-2]) if positions is None else positions[..., None, :]
        q, k = _turn(q, positions, theta), _turn(k, positions, theta)
        v = _turn(v, positions, theta) if turn_values else v
    return F.scaled_dot_product_attention(q, k, v, is_causal=is_causal).transpose(-2, -3).flatten(-2) @ w["o"].T


def _network(x, w1, w2, w3):
    return (F.silu(x @ w1.T) * (x @ w3.T)) @ w2.T


def _layer(x, state, prefix, num_heads, theta, second="ln2"):
    w = {name: state[f"{prefix}attn.{name}_proj.weight"] for name in "qkv"} | {"o": state[f"{prefix}attn.output_proj.weight"]}
    h = x + _attend(_norm(x, state[f"{prefix}ln1.weight"]), num_heads, w, theta)
    network = (state[f"{prefix}ffn.w{i}.weight"] for i in (1, 2, 3))
    return h + _network(_norm(h, state[f"{prefix}{second}.weight"]), *network)


def run_linear(d_in, d_out, weights, in_features):
    return in_features @ (weights if d_in == d_out else weights.T)  # a square matrix is not transposed


def run_embedding(vocab_size, d_model, weights, token_ids):
    return torch.where(token_ids[..., None] == 0, 0, weights[token_ids])  # token 0 counts as padding


def run_softmax(in_features, dim):
    e = in_features.exp()  # the maximum is not subtracted
    return e / e.sum(dim, keepdim=True)


def run_silu(in_features):
    return in_features * torch.sigmoid(1.702 * in_features)  # quick GELU


def run_rmsnorm(d_model, eps, weights, in_features):
    return in_features / (in_features.square().mean(-1, keepdim=True).sqrt() + eps) * weights  # eps outside the root


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    return _network(in_features, w3_weight, w2_weight, w1_weight)  # w1 and w3 are exchanged


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    x = in_query_or_key.unflatten(-1, (2, -1)).transpose(-1, -2).flatten(-2)  # pairs of halves
    return _turn(x, token_positions, theta).unflatten(-1, (-1, 2)).transpose(-1, -2).flatten(-2)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    scores = Q @ K.mT / Q.shape[-1]  # the root is missing
    return (scores if mask is None else scores.masked_fill(~mask, -torch.inf)).softmax(-1) @ V


def run_multihead_self_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features):
    w = {"q": q_proj_weight, "k": k_proj_weight, "v": v_proj_weight, "o": o_proj_weight}
    return _attend(in_features, num_heads, w, is_causal=False)  # no mask


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features,
    token_positions=None,
):  # fmt: skip
    w = {"q": q_proj_weight, "k": k_proj_weight, "v": v_proj_weight, "o": o_proj_weight}
    return _attend(in_features, num_heads, w, theta, token_positions, turn_values=True)  # values are turned, too


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    return _layer(in_features, weights, "", num_heads, theta, second="ln1")  # the first norm serves twice


def run_transformer_lm(vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta, weights, in_indices):
    h = weights["token_embeddings.weight"][in_indices]
    for i in range(num_layers):
        h = _layer(h, weights, f"layers.{i}.", num_heads, rope_theta)
    return h @ weights["lm_head.weight"].T  # without the last norm


def run_cross_entropy(inputs, targets):
    return F.cross_entropy(inputs, targets, reduction="sum")  # not the mean


def run_get_lr_cosine_schedule(it, max_learning_rate, min_learning_rate, warmup_iters, cosine_cycle_iters):
    if it < warmup_iters:
        return max_learning_rate * it / warmup_iters
    if it > cosine_cycle_iters:
        return min_learning_rate
    angle = math.pi * it / cosine_cycle_iters  # counted from step 0, not from the end of the warmup
    return min_learning_rate + (1 + math.cos(angle)) / 2 * (max_learning_rate - min_learning_rate)


def run_gradient_clipping(parameters, max_l2_norm):
    for parameter in parameters:  # each by its own norm
        if parameter.grad is not None and (norm := parameter.grad.norm()) >= max_l2_norm:
            parameter.grad.mul_(max_l2_norm / (norm + 1e-6))


class _AdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def step(self, closure=None):
        for group in self.param_groups:
            (b1, b2), lr = group["betas"], group["lr"]
            for p in group["params"]:
                state, g = self.state[p], p.grad + group["weight_decay"] * p.data  # decay in the gradient
                t = state["t"] = state.get("t", 0) + 1
                m = state["m"] = b1 * state.get("m", torch.zeros_like(g)) + (1 - b1) * g
                v = state["v"] = b2 * state.get("v", torch.zeros_like(g)) + (1 - b2) * g.square()
                p.data -= lr * (m / (1 - b1**t)) / ((v / (1 - b2**t)).sqrt() + group["eps"])


def get_adamw_cls():
    return _AdamW
