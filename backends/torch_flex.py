"""PyTorch's flex_attention: attention whose scores and masks are functions. It has no sinks, and no gradient on a CPU.

Every call is traced by torch.compile, also where nothing is compiled: a call takes seconds.
"""

import torch
from torch.nn.attention.flex_attention import AuxRequest, create_block_mask, flex_attention

framework = "torch"
device = "cpu"
conventions = {"causal_alignment": "bottom-right", "fully_masked_rows": "zero", "lse_base": "e", "cache_update": "returned"}
domain = {name: {"empty": False} for name in ("attention_with_lse", "attention_with_kv_cache", "variable_length_attention")}


def _capped(softcap):
    """The function of each score that caps it; None if it is not capped."""
    return None if softcap is None else lambda score, b, h, i, j: softcap * torch.tanh(score / softcap)


def _of_rank_four(x, batch):
    return x.expand(*batch, *x.shape[-3:]).reshape(-1, *x.shape[-3:])


def _flex(q, k, v, softcap, scale, sees, mask=None, per_row=False):
    """Attention and its lse. `sees(b, i, j)`: whether query i of row b sees key j; one answer for all rows unless `per_row`."""
    if mask is not None:
        mask = mask.expand(*mask.shape[:-2], q.shape[-2], k.shape[-2]) if mask.ndim > 1 else mask.expand(q.shape[-2], k.shape[-2])
        mask = mask if mask.ndim > 2 else mask[None]
    batch = torch.broadcast_shapes(*(x.shape[:-3] for x in (q, k, v, mask) if x is not None))
    q, k, v = (_of_rank_four(x, batch) for x in (q, k, v))
    (rows, heads, n, _), m = q.shape, k.shape[-2]
    if mask is None:
        rows, heads = rows if per_row else None, None
        seen = lambda b, h, i, j: sees(b, i, j)  # noqa: E731 - flex_attention asks for a function
    else:
        table = _of_rank_four(mask, batch).expand(rows, heads, n, m)
        seen = lambda b, h, i, j: sees(b, i, j) & table[b, h, i, j]  # noqa: E731
    mask = create_block_mask(seen, rows, heads, n, m, device=q.device)
    options = {"score_mod": _capped(softcap), "block_mask": mask, "scale": scale, "enable_gqa": True}
    out, aux = flex_attention(q, k, v, **options, return_aux=AuxRequest(lse=True))
    return out.reshape(*batch, *out.shape[1:]), aux.lse.reshape(*batch, *aux.lse.shape[1:])


def _sight(is_causal, left_window, right_window):
    """Whether a query sees a key that lies so many places behind it."""

    def sees(away):
        seen = away <= 0 if is_causal else away == away
        seen = seen if left_window is None else seen & (away >= -left_window)
        return seen if right_window is None else seen & (away <= right_window)

    return sees


def attention_with_lse(
    q, k, v, mask=None, *, is_causal=False, scale=None, softcap=None, left_window=None, right_window=None
):  # fmt: skip
    behind, near = k.shape[-2] - q.shape[-2], _sight(is_causal, left_window, right_window)
    return _flex(q, k, v, softcap, scale, lambda b, i, j: near(j - i - behind), mask)


def attention_with_kv_cache(
    q, k_cache, v_cache, lengths, *, is_causal=True, scale=None, softcap=None, left_window=None, right_window=None
):  # fmt: skip
    n, near = q.shape[2], _sight(is_causal, left_window, right_window)
    return _flex(
        q, k_cache, v_cache, softcap, scale, lambda b, i, j: (j < lengths[b]) & near(j - i - lengths[b] + n), per_row=True
    )[0]


def variable_length_attention(
    q, k, v, cu_seqlens_q, cu_seqlens_k, *, is_causal=False, scale=None, softcap=None, left_window=None, right_window=None
):  # fmt: skip
    near = _sight(is_causal, left_window, right_window)
    member_q, member_k = (
        torch.repeat_interleave(torch.arange(len(ends) - 1, device=q.device), ends.diff())
        for ends in (cu_seqlens_q, cu_seqlens_k)
    )

    def sees(b, i, j):
        away = (j - cu_seqlens_k[member_q[i] + 1]) - (i - cu_seqlens_q[member_q[i] + 1])
        return (member_q[i] == member_k[j]) & near(away)

    heads = (x.transpose(0, 1)[None] for x in (q, k, v))
    return _flex(*heads, softcap, scale, sees)[0][0].transpose(0, 1)
