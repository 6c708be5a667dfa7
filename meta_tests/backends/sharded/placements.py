"""Four ranks, as a mesh of two by two where that is stated: summands, whole heads, fused arrays, stripes and chunks."""

import os

import torch
import torch.distributed as dist
import torch.nn.functional as F

framework = "torch"
world_size = 4
mesh = {"dp": 2, "tp": 2}
shards = {
    "linear": {
        "x": {"tp": -1},
        "weight": {"dp": 0, "tp": 1},
        "bias": {"dp": 0},
        "result": {"dp": -1, "tp": "partial"},
        "gradient.x": {"dp": "partial", "tp": -1},
        "gradient.bias": {"dp": 0, "tp": "partial"},
    },
    "embedding": {"weight": {"dp": (-1, "striped")}, "result": {"dp": (-1, "striped")}},
    "swiglu": {"w1": (0, "chunk"), "w2": (1, "chunk"), "w3": (0, "chunk"), "result": "partial", "gradient.x": "partial"},
    "gated_activation": {"x": {"axis": -1, "fused": (1, 1)}, "result": -1},
    "multihead_self_attention": {
        "w_q": {"axis": 0, "heads": "num_heads"},
        "w_k": {"axis": 0, "heads": "num_heads"},
        "w_v": {"axis": 0, "heads": "num_heads"},
        "w_o": {"axis": 1, "heads": "num_heads"},
        "result": "partial",
        "gradient.x": "partial",
    },
    "add_rms_norm": {"x": "partial", "result.residual": "partial"},
}
domain = {"gated_activation": {"layout": ("concatenated",)}}

RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
DP, TP = divmod(RANK, mesh["tp"])
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"file://{os.environ['SPEC_TESTS_STORE']}", rank=RANK, world_size=RANKS)


def linear(x, weight, bias=None):
    y = x.double() @ weight.double().mT
    return (y if bias is None else y + bias * (TP == 0)).to(x.dtype)


def embedding(token_ids, weight):
    return weight[token_ids]


def swiglu(x, w1, w2, w3):
    wide = x.double()
    return (F.silu(wide @ w1.double().mT) * (wide @ w3.double().mT) @ w2.double().mT).to(x.dtype)


def gated_activation(x):
    gate, up = x.double().chunk(2, dim=-1)
    return (F.silu(gate) * up).to(x.dtype)


def multihead_self_attention(x, w_q, w_k, w_v, w_o, *, num_heads, is_causal=True):
    own = len(torch.arange(num_heads).tensor_split(RANKS)[RANK])
    if not own:  # this rank has no head
        return 0 * x + 0 * (w_q.sum() + w_k.sum() + w_v.sum() + w_o.sum())
    q, k, v = ((x.double() @ w.double().mT).unflatten(-1, (own, -1)).transpose(-2, -3) for w in (w_q, w_k, w_v))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    hidden = torch.ones(x.shape[-2], x.shape[-2], dtype=torch.bool).triu(1) & is_causal
    heads = scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v
    return (heads.transpose(-2, -3).flatten(-2) @ w_o.double().mT).to(x.dtype)


class AllReduce(torch.autograd.Function):
    """The sum of the ranks' summands, each of which has the gradient of the whole sum."""

    @staticmethod
    def forward(ctx, x):
        total = x.detach().clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class OnFirst(torch.autograd.Function):
    """The array on the first rank, zeros on the others: summands of it."""

    @staticmethod
    def forward(ctx, x):
        return x.clone() if RANK == 0 else torch.zeros_like(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def add_rms_norm(x, residual, weight, *, eps):
    total = AllReduce.apply(x) + residual
    y = F.rms_norm(total.double(), total.shape[-1:], weight.double(), eps).to(x.dtype)
    return y, OnFirst.apply(total)
