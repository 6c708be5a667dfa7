"""Operations in PyTorch, by kind; each kind is made of a few parts that styles override.

16-bit tensors are computed in float32 throughout and rounded once at the end.
"""

import functools
import math

import torch

HALF = (torch.float16, torch.bfloat16)


def leaves(tree):
    if isinstance(tree, dict | list | tuple):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from leaves(part)
    elif isinstance(tree, torch.Tensor):
        yield tree


def mapped(f, tree):
    if isinstance(tree, dict):
        return {name: mapped(f, part) for name, part in tree.items()}
    if isinstance(tree, list | tuple):
        return [mapped(f, part) for part in tree]
    return f(tree) if isinstance(tree, torch.Tensor) and tree.is_floating_point() else tree


def widely(operation):
    """Tensors are entered into the compute dtype, and the result takes the dtype of the first floating one."""

    @functools.wraps(operation)
    def wrapper(self, *arrays, **keywords):
        if self.inside:
            return operation(self, *arrays, **keywords)
        dtype = next(t.dtype for t in leaves([arrays, keywords]) if t.is_floating_point())
        self.inside = True
        try:
            return operation(self, *mapped(self.enter, arrays), **mapped(self.enter, keywords)).to(dtype)
        finally:
            self.inside = False

    return wrapper


class Base:
    framework = "torch"
    device = "cpu"
    conventions = {"causal_alignment": "bottom-right", "fully_masked_rows": "zero"}
    inside = False

    def enter(self, x):
        return x.float() if x.dtype in HALF else x


class Norms(Base):
    def normalized(self, x, eps, weight):
        return x / torch.sqrt(x.square().mean(-1, keepdim=True) + eps) * weight

    @widely
    def rms_norm(self, x, weight, *, eps):
        return self.normalized(x, eps, weight)

    @widely
    def layer_norm(self, x, weight, bias, *, eps):
        return self.normalized(x - x.mean(-1, keepdim=True), eps, weight) + bias


class Exponentials(Base):
    def weighed(self, x):
        """The exponentials of rows, their sum, and the largest entry, which was subtracted from all."""
        top = x.amax(-1, keepdim=True)
        e = torch.exp(x - top.masked_fill(top.isinf(), 0))
        return e, e.sum(-1, keepdim=True), top

    def probabilities(self, x):
        e, total, _ = self.weighed(x)
        return e / total

    @widely
    def softmax(self, x, *, axis):
        return self.probabilities(x.movedim(axis, -1)).movedim(-1, axis)

    @widely
    def log_softmax(self, x, *, axis):
        x = x.movedim(axis, -1)
        _, total, top = self.weighed(x)
        return (x - top - total.log()).movedim(-1, axis)

    @widely
    def logsumexp(self, x, *, axis):
        _, total, top = self.weighed(x.movedim(axis, -1))
        return (top + total.log()).squeeze(-1)


class Activations(Base):
    def gate(self, x):
        return torch.sigmoid(x)

    def normal_cdf(self, x):
        return torch.erfc(-x / math.sqrt(2)) / 2

    def tanh_gate(self, x):
        return self.gate(math.sqrt(8 / math.pi) * (x + 0.044715 * x**3))

    def relu(self, x):
        return torch.relu(x)

    @widely
    def sigmoid(self, x):
        return self.gate(x)

    @widely
    def silu(self, x):
        return x * self.gate(x)

    @widely
    def gelu(self, x, *, approximate="none"):
        return x * (self.normal_cdf(x) if approximate == "none" else self.tanh_gate(x))


class Rotation(Base):
    def angles(self, positions, pairs, theta):
        return positions[..., None] * theta ** (-torch.arange(pairs, dtype=torch.float64) / pairs)

    def turned(self, a, b, angle):
        """The pairs (a, b), each by its angle."""
        cos, sin = angle.cos().to(a.dtype), angle.sin().to(a.dtype)
        return a * cos - b * sin, a * sin + b * cos

    @widely
    def rope(self, x, positions, *, theta=10000.0, layout="interleaved"):
        a, b = (x[..., 0::2], x[..., 1::2]) if layout == "interleaved" else x.chunk(2, dim=-1)
        y = self.turned(a, b, self.angles(positions, a.shape[-1], theta))
        return torch.stack(y, dim=-1).flatten(-2) if layout == "interleaved" else torch.cat(y, dim=-1)


class Attention(Base):
    def attention(self, q, k, v, seen, bias, scale):
        """seen and bias broadcast to the scores, or are None."""
        scores = q @ k.mT * scale
        scores = scores if bias is None else scores + bias
        scores = scores if seen is None else torch.where(seen, scores, -math.inf)
        blind = scores.amax(-1, keepdim=True) == -math.inf
        p = torch.softmax(scores.masked_fill(blind, 0), -1)
        return p.masked_fill(blind, 0) @ v

    @widely
    def scaled_dot_product_attention(self, q, k, v, mask=None, bias=None, *, is_causal=False, scale=None):
        seen = None if mask is None else torch.atleast_2d(mask)
        if is_causal:
            n, m = q.shape[-2], k.shape[-2]
            causal = torch.ones(n, m, dtype=torch.bool).tril(m - n)
            seen = causal if seen is None else seen & causal
        bias = None if bias is None else torch.atleast_2d(bias)
        return self.attention(q, k, v, seen, bias, 1 / math.sqrt(q.shape[-1]) if scale is None else scale)

    @widely
    def grouped_query_attention(self, q, k, v, mask=None, *, is_causal=False, scale=None):
        k, v = (y.repeat_interleave(q.shape[-3] // y.shape[-3], dim=-3) for y in (k, v))
        return self.scaled_dot_product_attention(q, k, v, mask, is_causal=is_causal, scale=scale)

    @widely
    def local_attention(self, q, k, v, *, window, is_causal=False, scale=None):
        every = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool)
        near = every.tril(0 if is_causal else window).triu(-window)
        return self.scaled_dot_product_attention(q, k, v, near, scale=scale)
