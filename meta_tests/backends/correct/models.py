"""Multi-head attention, blocks and models put together in other ways, PyTorch."""

import torch
import torch.nn.functional as F

from ._torch_models import Models
from ._torch_parts import Base, leaves, widely


class FusedProjections(Models):
    """One product for queries, keys and values, one for gate and signal, all with weights transposed and contiguous first."""

    def linear(self, x, weight, bias=None):
        weight = weight.mT.contiguous()
        y = torch.addmm(bias, x.reshape(-1, len(weight)), weight) if bias is not None else x.reshape(-1, len(weight)) @ weight
        return y.reshape(*x.shape[:-1], weight.shape[-1])

    @widely
    def glu(self, x, w1, w2):
        return F.glu(self.linear(x, torch.cat([w2, w1])))

    @widely
    def swiglu(self, x, w1, w2, w3):
        gate, signal = self.linear(x, torch.cat([w1, w3])).chunk(2, -1)
        return self.linear(F.silu(gate).mul_(signal), w2)

    def projected(self, x, weights, counts):
        parts = self.linear(x, torch.cat(weights)).split([len(w) for w in weights], -1)
        return (self.heads(y, count) for y, count in zip(parts, counts, strict=True))

    @widely
    def multihead_self_attention(
        self, x, w_q, w_k, w_v, w_o, positions=None,
        *, num_heads, num_kv_heads=None, is_causal=True, theta=None, layout="interleaved",
    ):  # fmt: skip
        shared = num_heads if num_kv_heads is None else num_kv_heads
        q, k, v = self.projected(x, (w_q, w_k, w_v), (num_heads, shared, shared))
        if theta is not None:
            positions = torch.arange(x.shape[-2]) if positions is None else positions[..., None, :]
            q, k = self.rope(torch.cat([q, k], -3), positions, theta=theta, layout=layout).split([num_heads, shared], -3)
        y = self.grouped_query_attention(q, k, v, is_causal=is_causal)
        return self.linear(y.transpose(-2, -3).flatten(-2), w_o)


class TokenByToken(Models):
    """Decoding: each token's query meets the keys and values kept so far; heads are joined in the sum with w_o, head by head."""

    @widely
    def multihead_self_attention(
        self, x, w_q, w_k, w_v, w_o, positions=None,
        *, num_heads, num_kv_heads=None, is_causal=True, theta=None, layout="interleaved",
    ):  # fmt: skip
        n, shared = x.shape[-2], num_heads if num_kv_heads is None else num_kv_heads
        positions = torch.arange(n) if positions is None else positions
        kept_k, kept_v, queries = [], [], []
        for t in range(n):
            token, place = x[..., t : t + 1, :], positions[..., None, t : t + 1]
            q, k, v = (self.heads(self.linear(token, w), h) for w, h in ((w_q, num_heads), (w_k, shared), (w_v, shared)))
            if theta is not None:
                q, k = (self.rope(y, place, theta=theta, layout=layout) for y in (q, k))
            queries.append(q), kept_k.append(k), kept_v.append(v)
        rows = []
        for t, q in enumerate(queries):
            seen = slice(t + 1) if is_causal else slice(n)
            y = self.grouped_query_attention(q, torch.cat(kept_k[seen], -2), torch.cat(kept_v[seen], -2))
            parts = w_o.unflatten(-1, (num_heads, -1)).unbind(-2)
            rows.append(sum(self.linear(y[..., i, :, :], part) for i, part in enumerate(parts)))
        return torch.cat(rows, -2) if rows else torch.zeros_like(x)


class Modules(Models):
    """torch.nn.Linear and torch.nn.Embedding made for the call; the results require gradients."""

    @widely
    def linear(self, x, weight, bias=None):
        module = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None, dtype=weight.dtype)
        module.load_state_dict({"weight": weight} | ({} if bias is None else {"bias": bias}))
        return module(x)

    def embedding(self, token_ids, weight):
        return torch.nn.Embedding.from_pretrained(weight, freeze=False)(token_ids)

    @widely
    def feed_forward(self, x, w1, w2, b1=None, b2=None, *, activation="relu"):
        function = torch.nn.ReLU() if activation == "relu" else torch.nn.GELU()
        return self.linear(function(self.linear(x, w1, b1)), w2, b2)


class ForwardFunction(Base):
    """F.multi_head_attention_forward, where the weights have the shapes that it takes."""

    @widely
    def multihead_self_attention(self, x, w_q, w_k, w_v, w_o, *, num_heads, is_causal=True):
        if any(w.shape != (x.shape[-1], x.shape[-1]) for w in (w_q, w_k, w_v, w_o)):
            raise NotImplementedError("F.multi_head_attention_forward wants heads as wide together as the model")
        n, d = x.shape[-2:]
        tokens = x.reshape(-1, n, d).transpose(0, 1)
        hidden = torch.ones(n, n, dtype=torch.bool).triu(1) if is_causal else None
        y, _ = F.multi_head_attention_forward(
            tokens, tokens, tokens, d, num_heads, torch.cat([w_q, w_k, w_v]), None, None, None, False, 0.0, w_o, None,
            attn_mask=hidden, need_weights=False,
        )  # fmt: skip
        return y.transpose(0, 1).reshape(x.shape)


class OneHotTokens(Models):
    """A model on accelerators that multiply better than they gather: one-hot vectors times the table. (Not so for embedding
    itself, whose table may hold infinities: 0 times infinity is no number.)"""

    def embedding(self, token_ids, weight):
        if not self.inside:
            return super().embedding(token_ids, weight)
        return F.one_hot(token_ids, len(weight)).to(weight.dtype) @ weight


class FoldedGains(Models):
    """The gain of each norm multiplied into the matrices behind it, as inference engines do with weights that stay."""

    @widely
    def transformer_block(
        self, x, weights, positions=None,
        *, num_heads, num_kv_heads=None, theta=None, layout="interleaved", eps, norm="pre",
    ):  # fmt: skip
        if norm == "pre":
            behind = {"w_q": "attn_norm", "w_k": "attn_norm", "w_v": "attn_norm", "w1": "ffn_norm", "w3": "ffn_norm"}
            weights = weights | {name: weights[name] * weights[gain] for name, gain in behind.items()}
            weights |= {name: torch.ones_like(weights[name]) for name in ("attn_norm", "ffn_norm")}
        sizes = {"num_heads": num_heads, "num_kv_heads": num_kv_heads}
        return super().transformer_block(x, weights, positions, **sizes, theta=theta, layout=layout, eps=eps, norm=norm)


class FlattenedBatch(Models):
    """All batch dimensions flattened to one, a vector made a matrix, and the result given its shape afterwards; the loss of
    gradients is recorded nowhere (inference mode)."""

    forward_only = True

    @torch.inference_mode()
    @widely
    def linear(self, x, weight, bias=None):
        flat = x.reshape(-1, 1, x.shape[-1])
        y = torch.bmm(flat, weight.mT.expand(len(flat), -1, -1))
        return (y if bias is None else y + bias).reshape(*x.shape[:-1], len(weight))

    @torch.inference_mode()
    @widely
    def transformer_lm(self, token_ids, weights, *, num_heads, num_kv_heads=None, theta, layout="interleaved", eps):
        assert not any(t.requires_grad for t in leaves(weights))
        sizes = {"num_heads": num_heads, "num_kv_heads": num_kv_heads}
        flat = token_ids.reshape(-1, token_ids.shape[-1])
        y = super().transformer_lm(flat, weights, **sizes, theta=theta, layout=layout, eps=eps)
        return y.reshape(*token_ids.shape, y.shape[-1])
