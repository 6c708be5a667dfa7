"""States, losses and experts in PyTorch, as kernels for serving and training compute them; autograd makes their gradients."""

import math

import torch
from torch.nn import functional

BLOCK, CHUNK = 16, 24  # keys and vocabulary entries at a time


def _attend(q, k, v, seen, sinks, scale, softcap):
    """Blocks of keys with a running maximum in float32, sinks before the first block, weights stored as v is."""
    h, n, d = q.shape[-3:]
    k, v = (x.repeat_interleave(h // x.shape[-3], -3) for x in (k, v))
    scale = 1 / math.sqrt(d) if scale is None else scale
    shape = (*torch.broadcast_shapes(*(x.shape[:-3] for x in (q, k, v, seen))), h, n, 1)
    wide = torch.promote_types(q.dtype, torch.float32)
    top = torch.full(shape, -math.inf, dtype=wide)
    if sinks is not None:
        top = sinks.to(wide).reshape(h, 1, 1).expand(shape)
    total = torch.where(torch.isinf(top), 0.0, 1.0).to(wide)
    out = torch.zeros((*shape[:-1], v.shape[-1]), dtype=wide)
    for start in range(0, k.shape[-2], BLOCK):
        keys, values = (x[..., start : start + BLOCK, :].to(wide) for x in (k, v))
        scores = (q.to(wide) @ keys.mT) * scale
        if softcap is not None:
            scores = softcap * torch.tanh(scores / softcap)
        scores = scores.masked_fill(~seen[..., start : start + BLOCK], -math.inf)
        higher = torch.maximum(top, scores.amax(-1, keepdim=True)).detach()  # the result does not depend on it
        shift = torch.where(torch.isinf(higher), 0.0, higher)
        weights, kept = torch.exp(scores - shift), torch.exp(top - shift)
        total = total * kept + weights.sum(-1, keepdim=True)
        out = out * kept + weights.to(v.dtype).to(wide) @ values
        top = higher
    return out / total, (torch.where(torch.isinf(top), 0.0, top) + torch.log(total))[..., 0]


def _near(query, key, is_causal, left_window, right_window):
    near = key <= query if is_causal else torch.ones((), dtype=torch.bool)
    near = near if left_window is None else near & (key >= query - left_window)
    near = near if right_window is None else near & (key <= query + right_window)
    return near.expand(torch.broadcast_shapes(query.shape, key.shape))


class BlocksOfKeys:
    """Flash attention with sinks before the first block, ring attention's merge by lerp, one mask for all packed sequences."""

    framework, dtypes = "torch", ("float32", "bfloat16", "float16")

    @staticmethod
    def attention_with_lse(
        q, k, v, mask=None, sinks=None,
        *, is_causal=False, scale=None, softcap=None, left_window=None, right_window=None,
    ):  # fmt: skip
        query, key = torch.arange(q.shape[-2])[:, None], torch.arange(k.shape[-2])
        seen = _near(query, key, is_causal, left_window, right_window)
        out, lse = _attend(q, k, v, seen if mask is None else seen & mask, sinks, scale, softcap)
        return out.to(q.dtype), lse

    @staticmethod
    def merge_attention_states(out_a, lse_a, out_b, lse_b):
        no_a, no_b = torch.isinf(lse_a), torch.isinf(lse_b)
        share = torch.sigmoid(torch.where(no_a | no_b, 0.0, lse_a.float() - lse_b.float()))
        share = torch.where(no_b, 1.0, torch.where(no_a, 0.0, share))[..., None]
        a, b = (torch.where(no[..., None], 0, x).float() for no, x in ((no_a, out_a), (no_b, out_b)))
        out = torch.where((no_a & no_b)[..., None], math.nan, torch.lerp(b, a, share))
        return out.to(out_a.dtype), torch.logaddexp(lse_a.float(), lse_b.float())

    @staticmethod
    def variable_length_attention(
        q, k, v, cu_seqlens_q, cu_seqlens_k, sinks=None,
        *, is_causal=False, scale=None, softcap=None, left_window=None, right_window=None,
    ):  # fmt: skip
        ends_q, ends_k = cu_seqlens_q.long(), cu_seqlens_k.long()
        of_q, of_k = (torch.searchsorted(e[1:], torch.arange(len(x)), right=True) for e, x in ((ends_q, q), (ends_k, k)))
        query = torch.arange(len(q)) - ends_q[of_q] + (ends_k.diff() - ends_q.diff())[of_q]
        key = torch.arange(len(k)) - ends_k[of_k]
        seen = _near(query[:, None], key, is_causal, left_window, right_window) & (of_q[:, None] == of_k)
        out, _ = _attend(*(x.transpose(0, 1) for x in (q, k, v)), seen, sinks, scale, softcap)
        return out.transpose(0, 1).to(q.dtype)


def _losses(logits, targets, ignore_index, label_smoothing, z_loss, softcap):
    """Return the loss of each row, and which rows count. The sums over the vocabulary run over chunks of it."""
    top, total = torch.full(targets.shape, -math.inf), torch.zeros(targets.shape)
    chunks = [c if softcap is None else softcap * torch.tanh(c / softcap) for c in logits.float().split(CHUNK, -1)]
    for chunk in chunks:
        higher = torch.maximum(top, chunk.amax(-1))
        total = total * torch.exp(top - higher) + torch.exp(chunk - higher[..., None]).sum(-1)
        top = higher
    lse, counted = top + torch.log(total), targets != ignore_index
    of_target = torch.cat(chunks, -1).gather(-1, torch.where(counted, targets, 0).long()[..., None])[..., 0]
    loss = (1 - label_smoothing) * (lse - of_target)
    if label_smoothing:
        loss = loss + label_smoothing * (lse - sum(chunk.sum(-1) for chunk in chunks) / logits.shape[-1])
    return torch.where(counted, loss + z_loss * lse * lse if z_loss else loss, 0.0), counted


def _reduced(loss, counted, reduction):
    if reduction == "none":
        return loss
    return loss.sum() if reduction == "sum" else loss.sum() / counted.sum()


class ChunksOfTheVocabulary:
    """A running logsumexp over the vocabulary; the fused loss by five rows at a time; gradients clipped by PyTorch's formula."""

    framework, dtypes = "torch", ("float32", "bfloat16", "float16")

    @staticmethod
    def cross_entropy(
        logits, targets, *, ignore_index=-100, label_smoothing=0.0, z_loss=0.0, softcap=None, reduction="mean"
    ):  # fmt: skip
        return _reduced(*_losses(logits, targets, ignore_index, label_smoothing, z_loss, softcap), reduction)

    @staticmethod
    def linear_cross_entropy(
        x, weight, targets, *, ignore_index=-100, label_smoothing=0.0, z_loss=0.0, softcap=None, reduction="mean"
    ):  # fmt: skip
        rows, ids = x.reshape(-1, x.shape[-1]), targets.reshape(-1)
        options = ignore_index, label_smoothing, z_loss, softcap
        parts = [_losses(part @ weight.T, of_part, *options) for part, of_part in zip(rows.split(5), ids.split(5), strict=True)]
        loss, counted = (torch.cat(part).reshape(targets.shape) for part in zip(*parts, strict=True))
        return _reduced(loss, counted, reduction)

    @staticmethod
    def gradient_clipping(gradients, *, max_norm, eps=1e-6):
        norms = [torch.linalg.vector_norm(g.float()) for g in gradients]
        factor = torch.clamp(max_norm / (torch.linalg.vector_norm(torch.stack(norms)) + eps), max=1.0)
        return [g * factor.to(g.dtype) for g in gradients]


class SortedTokens:
    """Tokens sorted by expert, each expert's rows in one product, added into a float32 buffer; the router by a stable sort."""

    framework, dtypes = "torch", ("float32", "bfloat16", "float16")

    @staticmethod
    def moe_router(
        logits, bias=None,
        *, k, scoring="softmax", renormalize=True, scaling_factor=1.0, groups=1, top_groups=1, group_score=None,
    ):  # fmt: skip
        scores = torch.softmax(logits.float(), -1) if scoring == "softmax" else torch.sigmoid(logits.float())
        choice = scores if bias is None else scores + bias.float()
        if groups > 1:
            grouped = choice.unflatten(-1, (groups, -1))
            best = grouped.topk(
                min(2 if (group_score or ("max" if bias is None else "two")) == "two" else 1, grouped.shape[-1]), -1
            )
            kept = best.values.sum(-1).topk(top_groups, -1).indices
            chosen = torch.zeros(grouped.shape[:-1], dtype=torch.bool).scatter_(-1, kept, True)
            choice = grouped.masked_fill(~chosen[..., None], -math.inf).flatten(-2)
        indices = torch.argsort(choice, dim=-1, descending=True, stable=True)[..., :k]
        weights = scores.gather(-1, indices)
        return (weights / weights.sum(-1, keepdim=True) if renormalize else weights) * scaling_factor, indices

    @staticmethod
    def mixture_of_experts(x, router, w1, w2, w3, *, k, renormalize=True):
        tokens = x.reshape(-1, x.shape[-1])
        weights, indices = torch.softmax(functional.linear(tokens, router).float(), -1).topk(k, -1)
        weights = weights / weights.sum(-1, keepdim=True) if renormalize else weights
        out, chosen = torch.zeros(tokens.shape, dtype=torch.float32), indices.reshape(-1)
        order = torch.argsort(chosen, dim=-1, stable=True)
        for e, places in enumerate(order.split(torch.bincount(chosen, minlength=len(router)).tolist())):
            of_expert = tokens[places // k]
            gated = functional.silu(functional.linear(of_expert, w1[e])) * functional.linear(of_expert, w3[e])
            y = functional.linear(gated, w2[e])
            out = out.index_add(0, places // k, y.float() * weights.reshape(-1)[places][:, None])
        return out.to(x.dtype).reshape(x.shape)
