"""Matrix products and the operations made of them, in PyTorch, from parts that styles override."""

import functools

import torch
import torch.nn.functional as F

from ._torch_parts import Activations, Attention, Exponentials, Norms, Rotation, widely


class Models(Norms, Exponentials, Activations, Rotation, Attention):
    @widely
    def linear(self, x, weight, bias=None):
        return F.linear(x, weight, bias)

    def embedding(self, token_ids, weight):
        return F.embedding(token_ids, weight)

    @widely
    def glu(self, x, w1, w2):
        return self.sigmoid(self.linear(x, w1)) * self.linear(x, w2)

    @widely
    def swiglu(self, x, w1, w2, w3):
        return self.linear(self.silu(self.linear(x, w1)) * self.linear(x, w3), w2)

    @widely
    def feed_forward(self, x, w1, w2, b1=None, b2=None, *, activation="relu"):
        hidden = self.linear(x, w1, b1)
        return self.linear(self.relu(hidden) if activation == "relu" else self.gelu(hidden), w2, b2)

    def heads(self, y, count):
        return y.unflatten(-1, (count, y.shape[-1] // count)).transpose(-2, -3)

    @widely
    def multihead_self_attention(
        self, x, w_q, w_k, w_v, w_o, positions=None,
        *, num_heads, num_kv_heads=None, is_causal=True, theta=None, layout="interleaved",
    ):  # fmt: skip
        q = self.heads(self.linear(x, w_q), num_heads)
        k, v = (self.heads(self.linear(x, w), num_kv_heads or num_heads) for w in (w_k, w_v))
        if theta is not None:
            positions = torch.arange(x.shape[-2]) if positions is None else positions[..., None, :]
            q, k = (self.rope(y, positions, theta=theta, layout=layout) for y in (q, k))
        y = self.grouped_query_attention(q, k, v, is_causal=is_causal)
        return self.linear(y.transpose(-2, -3).flatten(-2), w_o)

    @widely
    def transformer_block(
        self, x, weights, positions=None,
        *, num_heads, num_kv_heads=None, theta=None, layout="interleaved", eps, norm="pre",
    ):  # fmt: skip
        def attention(h):
            w = (weights[name] for name in ("w_q", "w_k", "w_v", "w_o"))
            sizes = {"num_heads": num_heads, "num_kv_heads": num_kv_heads}
            return self.multihead_self_attention(h, *w, positions, **sizes, theta=theta, layout=layout)

        def ffn(h):
            return self.swiglu(h, weights["w1"], weights["w2"], weights["w3"])

        first, second = (functools.partial(self.rms_norm, weight=weights[name], eps=eps) for name in ("attn_norm", "ffn_norm"))
        if norm == "pre":
            h = x + attention(first(x))
            return h + ffn(second(h))
        h = first(x + attention(x))
        return second(h + ffn(h))

    @widely
    def transformer_lm(self, token_ids, weights, *, num_heads, num_kv_heads=None, theta, layout="interleaved", eps):
        h = self.embedding(token_ids, weights["token_embedding"])
        for layer in weights["layers"]:
            sizes = {"num_heads": num_heads, "num_kv_heads": num_kv_heads}
            h = self.transformer_block(h, layer, **sizes, theta=theta, layout=layout, eps=eps)
        return self.linear(self.rms_norm(h, weights["final_norm"], eps=eps), weights["lm_head"])
