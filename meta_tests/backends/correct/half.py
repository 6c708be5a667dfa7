"""16-bit code as people write it: only norms are upcast, or what autocast upcasts, or what Llama's code does. PyTorch."""

import math

import torch
import torch.nn.functional as F

from ._torch_models import Models
from ._torch_parts import HALF, Norms, widely
from .attention import attended


class Eager(Models):
    """Plain code in the dtype that it is given: the result of every step is rounded to it. The norms are computed in float32."""

    dtypes = ("bfloat16", "float16")
    # of a row of 1000, softmax's c e / (sum e)^2 is subnormal in float16, and log_softmax's sum of c is stored before it is used
    forward_only = ("softmax", "log_softmax")

    def enter(self, x):
        return x

    @widely
    def rms_norm(self, x, weight, *, eps):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps) * weight).to(x.dtype)

    @widely
    def layer_norm(self, x, weight, bias, *, eps):
        return F.layer_norm(x.float(), weight.shape, weight.float(), bias.float(), eps).to(x.dtype)

    def normal_cdf(self, x):
        return 0.5 * (1.0 + torch.erf(x / math.sqrt(2)))

    def tanh_gate(self, x):
        return 0.5 * (1.0 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))

    def turned(self, a, b, angle):
        cos, sin = angle.cos().to(a.dtype), angle.sin().to(a.dtype)
        return a * cos - b * sin, a * sin + b * cos


class EagerScaledQueries(Eager):
    """Unfused too, but the queries are scaled before the product, sigmoid is written out, and silu is a quotient."""

    forward_only = True  # an exponential overflows, or a maximum ties

    def gate(self, x):
        return 1 / (1 + torch.exp(-x))

    @widely
    def silu(self, x):
        return x / (1 + torch.exp(-x))

    def attention(self, q, k, v, seen, bias, scale):
        return super().attention(q * scale, k, v, seen, bias, 1.0)


class EagerScaledBothSides(Eager):
    """The root of the scale on queries and keys, each stored; the exponentials stored, and divided after the product with v."""

    def probabilities(self, x):
        e = torch.exp(x - x.amax(-1, keepdim=True))
        return e / e.sum(-1, keepdim=True)

    def attention(self, q, k, v, seen, bias, scale):
        root = math.sqrt(abs(scale))
        scores = q * math.copysign(root, scale) @ (k * root).mT
        scores = scores if bias is None else scores + bias
        scores = scores if seen is None else scores.masked_fill(~seen, -math.inf)
        blind = scores.amax(-1, keepdim=True) == -math.inf
        e = torch.exp(scores.masked_fill(blind, 0) - scores.amax(-1, keepdim=True).masked_fill(blind, 0))
        return ((e @ v) / e.sum(-1, keepdim=True)).masked_fill(blind, 0)


class Llama(Eager):
    """As Llama's code: softmax in float32 and its result cast, cosines and sines cast, rotation by the rotated half, and the
    lowest number of the dtype added to masked scores."""

    def attention(self, q, k, v, seen, bias, scale):
        scores, seen = torch.matmul(q, k.mT) * scale, attended(seen, bias)
        scores = scores if bias is None else scores + bias
        if seen is not None:
            scores = scores + torch.zeros(seen.shape, dtype=q.dtype).masked_fill(~seen, torch.finfo(q.dtype).min)
        p = F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
        return torch.matmul(p if seen is None else p.masked_fill(~seen.any(-1, keepdim=True), 0), v)

    @widely
    def rope(self, x, positions, *, theta=10000.0, layout="interleaved"):
        if layout != "half":
            raise NotImplementedError("Llama's code in Hugging Face transformers pairs the halves")
        angle = self.angles(positions, x.shape[-1] // 2, theta).float()
        cos, sin = (torch.cat([y, y], -1).to(x.dtype) for y in (angle.cos(), angle.sin()))
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin


class Autocast(Models):
    """Products of 16-bit operands, everything else in float32, as under autocast."""

    dtypes = ("bfloat16", "float16")

    def cast(self, *arrays):
        return (x.to(self.narrow) for x in arrays)

    def enter(self, x):
        if x.dtype in HALF:
            self.narrow = x.dtype
        return x

    def linear(self, x, weight, bias=None):
        x, weight = self.cast(x, weight) if self.inside else (x, weight)
        return F.linear(x, weight, bias)

    def weighed(self, x):
        return super().weighed(x.float())

    @widely
    def rms_norm(self, x, weight, *, eps):
        return super().normalized(x.float(), eps, weight.float())

    @widely
    def layer_norm(self, x, weight, bias, *, eps):
        h = x.float()
        return super().normalized(h - h.mean(-1, keepdim=True), eps, weight.float()) + bias

    def gate(self, x):
        return torch.sigmoid(x.float())

    def normal_cdf(self, x):
        return torch.special.ndtr(x.float())

    def tanh_gate(self, x):
        return super().tanh_gate(x.float())

    def attention(self, q, k, v, seen, bias, scale):
        q, k, v = self.cast(q, k, v)
        scores = (q @ k.mT).float() * scale
        scores = scores if bias is None else scores + bias
        scores = scores if seen is None else torch.where(seen, scores, -math.inf)
        (p,) = self.cast(torch.softmax(scores, -1).nan_to_num(0.0))
        return p @ v


class NormsOfHalves(Norms):
    """Only the norms, with the squares' mean by a product of matrices in float32 and the rest of the row in one expression."""

    dtypes = ("bfloat16", "float16")

    def enter(self, x):
        return x

    def normalized(self, x, eps, weight):
        h = x.float()
        mean = (h[..., None, :] @ h[..., :, None])[..., 0] / h.shape[-1]
        return h * (weight.float() * (mean + eps).rsqrt())

    @widely
    def layer_norm(self, x, weight, bias, *, eps):
        h = x.float()
        return self.normalized(h - h.mean(-1, keepdim=True), eps, weight) + bias.float()
