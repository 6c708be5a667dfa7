"""The book's exercise 8 behind multihead_self_attention: its heads, the attention of exercise 1, and a last product."""

from torch.func import functional_call

from . import _book

framework = "torch"
dtypes = ("float32",)
domain = {"multihead_self_attention": {"d": "h d_k", "d_v": "d_k", "empty": False}}


def multihead_self_attention(
    x, w_q, w_k, w_v, w_o, b_q=None, b_k=None, b_v=None, *, num_heads, num_kv_heads=None, is_causal=True
):
    num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
    layers = {"q": (w_q, b_q), "k": (w_k, b_k), "v": (w_v, b_v)}
    state = {f"{name}.weight": w for name, (w, _) in layers.items()}
    state |= {f"{name}.bias": w.new_zeros(len(w)) if b is None else b for name, (w, b) in layers.items()}
    module = _book.SimpleGQA(x.shape[-1], num_heads, num_kv_heads)
    heads = functional_call(module, state, (x.reshape(-1, *x.shape[-2:]),), strict=True)
    mixed, _ = _book.scaled_dot_product_attention(*heads, causal=is_causal)
    return (mixed.transpose(1, 2).flatten(-2) @ w_o.mT).reshape(x.shape)
