"""Six layouts over ranks: by features, vocabulary, experts with all-to-all, tokens with all-gather, in a ring, and by heads."""

import functools
import math
import os

import torch
import torch.distributed as dist
from torch.nn import functional as F

framework = "torch"
device = "cpu"
world_size = (2, 3)
conventions = {"lse_base": "e", "causal_alignment": "bottom-right", "fully_masked_rows": "zero", "all_ignored": "nan"}
shards = {
    "linear": {"x": -1, "weight": 1},
    "swiglu": {"w1": 0, "w3": 0, "w2": 1},
    "feed_forward": {"w1": 0, "b1": 0, "w2": 1},
    "rms_norm": {"x": -1, "weight": 0, "result": -1},
    "layer_norm": {"x": -1, "weight": 0, "bias": 0, "result": -1},
    "embedding": {"weight": 0},
    "cross_entropy": {"logits": -1},
    "log_softmax": {"x": -1, "result": -1},
    "logsumexp": {"x": -1},
    "mixture_of_experts": {"x": -2, "w1": 0, "w2": 0, "w3": 0, "result": -2},
    "rope": {"x": -2, "positions": -1, "result": -2},
    "scaled_dot_product_attention": {"q": -2, "k": -2, "v": -2, "result": -2},
    "attention_with_lse": {"q": -2, "k": -2, "v": -2, "out": -2, "lse": -1},
    "grouped_query_attention": {"q": -3, "result": -3},
    "multihead_self_attention": {"w_q": 0, "w_k": 0, "w_v": 0, "w_o": 1},
}
domain = {
    "mixture_of_experts": {"batch_dims": (1, 2)},
    "rope": {"batch_dims": (1, 2), "layout": ("half",)},
    "log_softmax": {"axis": (-1,)},
    "logsumexp": {"axis": (-1,)},
    "multihead_self_attention": {"num_heads": (6,)},
}

RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"file://{os.environ['SPEC_TESTS_STORE']}", rank=RANK, world_size=RANKS)


# --- collectives ----------------------------------------------------------------------------------------------------------


def reduced(x, op=dist.ReduceOp.SUM):
    x = x.detach().clone(memory_format=torch.contiguous_format)
    dist.all_reduce(x, op)
    return x


class AllReduce(torch.autograd.Function):
    """The sum over the ranks. Every rank has the gradient of the whole sum."""

    @staticmethod
    def forward(ctx, x):
        return reduced(x)

    @staticmethod
    def backward(ctx, g):
        return g


class Enter(torch.autograd.Function):
    """What every rank has whole and uses in its own way: the ranks' gradients are added."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return reduced(g)


def lengths_of(n):
    """The number n of every rank."""
    found = [torch.zeros(1, dtype=torch.int64) for _ in range(RANKS)]
    dist.all_gather(found, torch.tensor([n]))
    return [int(x) for x in found]


class AllGather(torch.autograd.Function):
    """The parts of all ranks along an axis, in the order of the ranks."""

    @staticmethod
    def forward(ctx, x, axis):
        ctx.axis, ctx.lengths = axis, lengths_of(x.shape[axis])
        x = x.movedim(axis, 0)
        padded = x.new_zeros((max(ctx.lengths), *x.shape[1:]))
        padded[: len(x)] = x
        parts = [torch.zeros_like(padded) for _ in range(RANKS)]
        dist.all_gather(parts, padded)
        return torch.cat([part[:n] for part, n in zip(parts, ctx.lengths)]).movedim(0, axis)

    @staticmethod
    def backward(ctx, g):
        return reduced(g).narrow(ctx.axis, sum(ctx.lengths[:RANK]), ctx.lengths[RANK]), None


class Exchange(torch.autograd.Function):
    """All-to-all of rows: `sent` rows go to each rank, and `received` rows come from each."""

    @staticmethod
    def forward(ctx, x, sent, received):
        ctx.sent, ctx.received = sent, received
        y = x.new_zeros((sum(received), *x.shape[1:]))
        dist.all_to_all_single(y, x.contiguous(), received, sent)
        return y

    @staticmethod
    def backward(ctx, g):
        y = g.new_zeros((sum(ctx.sent), *g.shape[1:]))
        dist.all_to_all_single(y, g.contiguous(), ctx.sent, ctx.received)
        return y, None, None


def all_sum(x):
    return AllReduce.apply(x)


def enter(x):
    return Enter.apply(x)


def all_sum_both(x):
    """The sum over the ranks, which every rank uses in its own way."""
    return Enter.apply(AllReduce.apply(x))


def wide(function):
    """The function computed in float32 or wider, its result in the dtype of its first floating argument."""

    @functools.wraps(function)
    def compute(*arrays, **options):
        def up(x):
            return x.to(torch.promote_types(x.dtype, torch.float32)) if torch.is_tensor(x) and x.is_floating_point() else x

        dtype = next(x.dtype for x in arrays if x.is_floating_point())
        return function(*map(up, arrays), **{name: up(x) for name, x in options.items()}).to(dtype)

    return compute


# --- by features ----------------------------------------------------------------------------------------------------------


@wide
def linear(x, weight, bias=None):
    y = all_sum(x @ weight.mT)
    return y if bias is None else y + bias


@wide
def swiglu(x, w1, w2, w3):
    x = enter(x)
    hidden = F.silu(x @ w1.mT) * (x @ w3.mT)
    return all_sum(hidden @ w2.mT)


@wide
def feed_forward(x, w1, w2, b1=None, b2=None, *, activation="relu"):
    h = F.linear(enter(x), w1, b1)
    h = torch.relu(h) if activation == "relu" else F.gelu(h)
    y = all_sum(h @ w2.mT)
    return y if b2 is None else y + b2


@wide
def rms_norm(x, weight, *, eps):
    size = sum(lengths_of(x.shape[-1]))
    top = reduced(F.pad(x.abs(), (0, 1)).amax(-1, keepdim=True), dist.ReduceOp.MAX).clamp(min=1e-18)
    z = x / top
    square = all_sum_both(z.square().sum(-1, keepdim=True)) / size
    return z / torch.sqrt(square + eps / top / top) * weight


@wide
def layer_norm(x, weight, bias, *, eps):
    size = sum(lengths_of(x.shape[-1]))
    mean = all_sum_both(x.double().sum(-1, keepdim=True)) / size
    centred = x.double() - mean
    variance = all_sum_both(centred.square().sum(-1, keepdim=True)) / size
    return (centred / torch.sqrt(variance + eps) * weight + bias).to(x.dtype)


# --- by vocabulary --------------------------------------------------------------------------------------------------------


def embedding(token_ids, weight):
    first = sum(lengths_of(len(weight))[:RANK])
    own = token_ids - first
    outside = (own < 0) | (own >= len(weight))
    rows = F.embedding(own.masked_fill(outside, 0), F.pad(weight, (0, 0, 0, 1)))
    return all_sum(rows.masked_fill(outside[..., None], 0))


def sum_of_exponentials(x):
    """The maximum of all ranks, and the sum of the exponentials over it."""
    top = reduced(F.pad(x, (0, 1), value=-math.inf).amax(-1, keepdim=True), dist.ReduceOp.MAX)
    top = torch.where(top.isinf(), torch.zeros_like(top), top)
    return top, all_sum(torch.exp(x - top).sum(-1, keepdim=True))


@wide
def logsumexp(x, *, axis):
    top, total = sum_of_exponentials(x)
    return (top + total.log()).squeeze(-1)


@wide
def log_softmax(x, *, axis):
    top, total = sum_of_exponentials(x)
    return x - top - enter(total).log()


@wide
def cross_entropy(logits, targets, *, ignore_index=-100, reduction="mean"):
    first = sum(lengths_of(logits.shape[-1])[:RANK])
    top, total = sum_of_exponentials(logits)
    own = targets - first
    outside = (own < 0) | (own >= logits.shape[-1])
    target_logit = F.pad(logits, (0, 1)).gather(-1, own.masked_fill(outside, 0)[..., None])[..., 0]
    target_logit = all_sum(target_logit.masked_fill(outside, 0))
    counted = targets != ignore_index
    loss = torch.where(counted, (top + total.log())[..., 0] - target_logit, 0)
    if reduction == "none":
        return loss
    return loss.sum() / counted.sum() if reduction == "mean" else loss.sum()


# --- by experts, with all-to-all ------------------------------------------------------------------------------------------


@wide
def mixture_of_experts(x, router, w1, w2, w3, *, k, renormalize=True):
    tokens = x.reshape(-1, x.shape[-1])
    owned = lengths_of(len(w1))
    scores = torch.softmax(tokens @ enter(router).mT, -1)
    order = scores.argsort(dim=-1, descending=True, stable=True)[:, :k]
    weights = scores.gather(-1, order)
    if renormalize:
        weights = weights / weights.sum(-1, keepdim=True)
    pairs = order.flatten().argsort(stable=True)  # of a token and an expert, in the order of the experts
    experts = order.flatten()[pairs]
    ends = torch.tensor(owned).cumsum(0)
    to = torch.bucketize(experts, ends, right=True)
    sent = torch.bincount(to, minlength=RANKS).tolist()
    table = [lengths_of(n) for n in sent]
    received = [table[RANK][rank] for rank in range(RANKS)]
    visitors = Exchange.apply(tokens[pairs // k], sent, received)
    asked = torch.zeros(sum(received), dtype=torch.int64)
    dist.all_to_all_single(asked, experts.contiguous(), received, sent)
    local = asked - sum(owned[:RANK])
    answers = torch.zeros_like(visitors) + sum(part[:0].sum() for part in (visitors, w1, w2, w3))
    for expert in range(len(w1)):
        rows = torch.nonzero(local == expert)[:, 0]
        z = visitors[rows]
        answers = answers.index_add(0, rows, (F.silu(z @ w1[expert].mT) * (z @ w3[expert].mT)) @ w2[expert].mT)
    back = Exchange.apply(answers, received, sent)
    y = torch.zeros_like(tokens).index_add(0, pairs // k, back * weights.flatten()[pairs, None])
    return y.reshape(x.shape)


# --- by tokens ------------------------------------------------------------------------------------------------------------


@wide
def rope(x, positions, *, theta=10000.0):
    half = x.shape[-1] // 2
    frequencies = theta ** (-torch.arange(half, dtype=torch.float64) / half)
    angle = positions[..., None].double() * frequencies
    cos, sin = angle.cos(), angle.sin()
    a, b = x[..., :half].double(), x[..., half:].double()
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


def attend(q, k, v, seen, scale):
    scores = (q @ k.mT) * (q.shape[-1] ** -0.5 if scale is None else scale)
    scores = scores.masked_fill(~seen, -math.inf)
    blind = ~seen.any(-1, keepdim=True)
    return torch.softmax(scores.masked_fill(blind, 0), -1).masked_fill(blind, 0) @ v


def visible(n, m, rows, columns, is_causal):
    """Which keys these queries see, by the places of both."""
    seen = torch.ones(len(rows), len(columns), dtype=torch.bool)
    return seen & (columns <= rows[:, None] + (m - n)) if is_causal else seen


@wide
def scaled_dot_product_attention(q, k, v, mask=None, *, is_causal=False, scale=None):
    lengths = lengths_of(q.shape[-2])
    k, v = AllGather.apply(k, -2), AllGather.apply(v, -2)
    n, m, first = sum(lengths), k.shape[-2], sum(lengths[:RANK])
    rows = torch.arange(first, first + q.shape[-2])
    seen = visible(n, m, rows, torch.arange(m), is_causal)
    if mask is not None:
        seen = seen & mask.expand(*mask.shape[:-2], n, m).index_select(-2, rows)
    return attend(q, k, v, seen, scale)


# --- in a ring ------------------------------------------------------------------------------------------------------------


def passed_on(x, length):
    """Send to the next rank, and receive so many rows from the rank before."""
    y = x.new_zeros((*x.shape[:-2], length, x.shape[-1]))
    to, source = (RANK + 1) % RANKS, (RANK - 1) % RANKS
    work = dist.isend(x.contiguous(), to) if x.numel() else None
    if y.numel():
        dist.recv(y, source)
    if work:
        work.wait()
    return y


def attention_with_lse(q, k, v, *, is_causal=False, scale=None):
    dtype = q.dtype
    q, k, v = (x.to(torch.promote_types(dtype, torch.float32)) for x in (q, k, v))
    if q.shape[:-3] != k.shape[:-3]:
        raise NotImplementedError("the batches of q and k differ")
    if q.shape[-3] != k.shape[-3]:
        k, v = (x.repeat_interleave(q.shape[-3] // k.shape[-3], -3) for x in (k, v))
    queries, keys = lengths_of(q.shape[-2]), lengths_of(k.shape[-2])
    n, m, first = sum(queries), sum(keys), sum(queries[:RANK])
    rows = torch.arange(first, first + q.shape[-2])
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    top = q.new_full((*q.shape[:-1], 1), -math.inf)
    total, out = torch.zeros_like(top), q.new_zeros((*q.shape[:-1], v.shape[-1]))
    for step in range(RANKS):
        origin = (RANK - step) % RANKS
        start = sum(keys[:origin])
        columns = torch.arange(start, start + keys[origin])
        if len(columns):
            seen = visible(n, m, rows, columns, is_causal)
            scores = (q @ k.mT * scale).masked_fill(~seen, -math.inf)
            new = torch.maximum(top, scores.amax(-1, keepdim=True))
            safe = new.masked_fill(new.isinf(), 0)
            e, old = torch.exp(scores - safe), torch.exp(top - safe)
            total = total * old + e.sum(-1, keepdim=True)
            out = out * old + e @ v
            top = new
        if step < RANKS - 1:
            k, v = (passed_on(x, keys[(origin - 1) % RANKS]) for x in (k, v))
    blind = total == 0
    lse = (top + total.masked_fill(blind, 1).log())[..., 0]
    return (out / total.masked_fill(blind, 1)).to(dtype), lse


def attention_with_lse_vjp(cotangent, q, k, v, **options):
    raise NotImplementedError("the ring has no backward pass")


# --- by heads -------------------------------------------------------------------------------------------------------------


@wide
def grouped_query_attention(q, k, v, mask=None, *, is_causal=False, scale=None):
    heads = lengths_of(q.shape[-3])
    group = sum(heads) // k.shape[-3]
    mine = torch.arange(sum(heads[:RANK]), sum(heads[: RANK + 1]))
    k, v = (enter(x).index_select(-3, mine // group) for x in (k, v))
    n, m = q.shape[-2], k.shape[-2]
    seen = visible(n, m, torch.arange(n), torch.arange(m), is_causal)
    if mask is not None:
        mask = mask.index_select(-3, mine) if mask.dim() > 2 and mask.shape[-3] > 1 else mask
        seen = seen & mask
    return attend(q, k, v, seen, scale)


@wide
def multihead_self_attention(x, w_q, w_k, w_v, w_o, *, num_heads, is_causal=True):
    n, own = x.shape[-2], num_heads // RANKS
    x = enter(x)
    q, k, v = ((x @ w.mT).unflatten(-1, (own, -1)).transpose(-2, -3) for w in (w_q, w_k, w_v))
    seen = visible(n, n, torch.arange(n), torch.arange(n), is_causal)
    heads = attend(q, k, v, seen, None).transpose(-2, -3).flatten(-2)
    return all_sum(heads @ w_o.mT)
