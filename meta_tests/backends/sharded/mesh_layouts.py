"""Four ranks in a mesh: data parallelism along one axis, and along the other tensor parallelism of six kinds."""

import os

import torch
import torch.distributed as dist
import torch.nn.functional as F

framework = "torch"
world_size = 4
mesh = {"dp": 2, "tp": 2}
shards = {
    "linear": {  # a fused projection to queries, keys and values, of which each rank has heads
        "weight": {"tp": {"axis": 0, "heads": (4, 2, 2)}},
        "bias": {"tp": {"axis": 0, "heads": (4, 2, 2)}},
        "result": {"tp": {"axis": -1, "heads": (4, 2, 2)}},
        "gradient.x": {"tp": "partial"},
    },
    "feed_forward": {
        "x": {"dp": -2},
        "w1": {"tp": 0},
        "b1": {"tp": 0},
        "w2": {"tp": 1},
        "result": {"dp": -2},
        "gradient.w1": {"dp": "partial", "tp": 0},
        "gradient.w2": {"dp": "partial", "tp": 1},
        "gradient.b1": {"dp": "partial", "tp": 0},
        "gradient.b2": {"dp": "partial"},
    },
    "swiglu": {"x": {"tp": -2}, "w1": {"tp": 0}, "w3": {"tp": 0}, "w2": {"tp": 1}, "result": {"tp": -2}},
    "multihead_self_attention": {
        "w_q": {"tp": {"axis": 0, "heads": "num_heads"}},
        "w_k": {"tp": {"axis": 0, "heads": "num_heads"}},
        "w_v": {"tp": {"axis": 0, "heads": "num_heads"}},
        "w_o": {"tp": {"axis": 1, "heads": "num_heads"}},
        "result": {"tp": "partial"},
        "gradient.x": {"tp": "partial"},
    },
    "embedding": {"weight": {"tp": 0, "dp": -1}, "result": {"dp": -1}},
    "gated_activation": {"x": {"tp": {"axis": -1, "fused": (1, 1)}, "dp": -2}, "result": {"tp": -1, "dp": -2}},
    "glu": {
        "w1": {"tp": (0, "striped")},
        "w2": {"tp": (0, "striped")},
        "x": {"dp": -2},
        "result": {"dp": -2, "tp": (-1, "striped")},
    },
    "grouped_query_attention": {"q": {"tp": -3}, "k": {"tp": -3}, "v": {"tp": -3}, "result": {"tp": -3}},
}
domain = {
    "linear": {"d_out": (8, 16, 24, 32)},
    "feed_forward": {"batch_dims": (1, 2)},
    "swiglu": {"batch_dims": (1, 2)},
    "multihead_self_attention": {"num_heads": (2, 3, 4)},
    "gated_activation": {"layout": ("concatenated",), "batch_dims": (1, 2)},
    "glu": {"batch_dims": (1, 2)},
    "grouped_query_attention": {"h": (4, 8), "h_kv": (2, 4)},
}

RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
DP, TP = divmod(RANK, mesh["tp"])
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"file://{os.environ['SPEC_TESTS_STORE']}", rank=RANK, world_size=RANKS)
ROWS = [dist.new_group([2 * i, 2 * i + 1]) for i in range(2)]
COLUMNS = [dist.new_group([i, 2 + i]) for i in range(2)]
TP_GROUP, DP_GROUP = ROWS[DP], COLUMNS[TP]


def summed(x, group):
    total = x.detach().clone(memory_format=torch.contiguous_format)
    dist.all_reduce(total, group=group)
    return total


class AllReduce(torch.autograd.Function):
    """The sum over a group, whose gradient each rank has whole."""

    @staticmethod
    def forward(ctx, x, group):
        return summed(x, group)

    @staticmethod
    def backward(ctx, g):
        return g, None


class Enter(torch.autograd.Function):
    """What each rank of a group has whole and uses in its own way."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return summed(g, ctx.group), None


def lengths_of(n, group):
    found = [torch.zeros(1, dtype=torch.int64) for _ in range(2)]
    dist.all_gather(found, torch.tensor([n]), group=group)
    return [int(x) for x in found]


def gathered(x, axis, group):
    """The parts of a group along an axis, and their lengths."""
    lengths = lengths_of(x.shape[axis], group)
    x = x.detach().movedim(axis, 0)
    padded = x.new_zeros((max(lengths), *x.shape[1:]))
    padded[: len(x)] = x
    parts = [torch.zeros_like(padded) for _ in lengths]
    dist.all_gather(parts, padded, group=group)
    return torch.cat([part[:n] for part, n in zip(parts, lengths)]).movedim(0, axis), lengths


class AllGather(torch.autograd.Function):
    """The tokens of all ranks of the tensor-parallel group, whose gradient is summed and scattered."""

    @staticmethod
    def forward(ctx, x):
        whole, ctx.lengths = gathered(x, -2, TP_GROUP)
        return whole

    @staticmethod
    def backward(ctx, g):
        return summed(g, TP_GROUP).split(ctx.lengths, -2)[TP]


class ReduceScatter(torch.autograd.Function):
    """The sum over the tensor-parallel group, of which each rank has its tokens."""

    @staticmethod
    def forward(ctx, x, length):
        return summed(x, TP_GROUP).split(lengths_of(length, TP_GROUP), -2)[TP].clone()

    @staticmethod
    def backward(ctx, g):
        return gathered(g, -2, TP_GROUP)[0], None


def linear(x, weight, bias=None):
    y = x.double() @ weight.double().mT
    return (y if bias is None else y + bias).to(x.dtype)


def feed_forward(x, w1, w2, b1=None, b2=None, *, activation="relu"):
    h = F.linear(Enter.apply(x, TP_GROUP).double(), w1.double(), None if b1 is None else b1.double())
    h = torch.relu(h) if activation == "relu" else F.gelu(h)
    y = AllReduce.apply(h @ w2.double().mT, TP_GROUP)
    return (y if b2 is None else y + b2).to(x.dtype)


def swiglu(x, w1, w2, w3):
    wide = AllGather.apply(x.double())
    hidden = F.silu(wide @ w1.double().mT) * (wide @ w3.double().mT)
    return ReduceScatter.apply(hidden @ w2.double().mT, x.shape[-2]).to(x.dtype)


def attend(q, k, v, is_causal):
    k, v = (x.repeat_interleave(q.shape[-3] // x.shape[-3], -3) for x in (k, v))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    n, m = scores.shape[-2:]
    hidden = torch.ones(n, m, dtype=torch.bool).triu(1 + m - n) & is_causal
    return scores.masked_fill(hidden, -torch.inf).softmax(-1).nan_to_num() @ v


def multihead_self_attention(x, w_q, w_k, w_v, w_o, *, num_heads, is_causal=True):
    own = len(torch.arange(num_heads).tensor_split(2)[TP])
    q, k, v = ((x.double() @ w.double().mT).unflatten(-1, (own, -1)).transpose(-2, -3) for w in (w_q, w_k, w_v))
    return (attend(q, k, v, is_causal).transpose(-2, -3).flatten(-2) @ w_o.double().mT).to(x.dtype)


def embedding(token_ids, weight):
    first = sum(lengths_of(len(weight), TP_GROUP)[:TP])
    own = token_ids - first
    outside = (own < 0) | (own >= len(weight))
    rows = F.embedding(own.masked_fill(outside, 0), F.pad(weight, (0, 0, 0, 1)))
    return AllReduce.apply(rows.masked_fill(outside[..., None], 0), TP_GROUP)


def gated_activation(x):
    gate, up = x.double().chunk(2, dim=-1)
    return (F.silu(gate) * up).to(x.dtype)


def glu(x, w1, w2):
    wide, (a, b) = Enter.apply(x, TP_GROUP).double(), (Enter.apply(w, DP_GROUP).double() for w in (w1, w2))
    return (torch.sigmoid(wide @ a.mT) * (wide @ b.mT)).to(x.dtype)


def grouped_query_attention(q, k, v, *, is_causal=False):
    return attend(q.double(), k.double(), v.double(), is_causal).to(q.dtype)
