"""The activations by every usual formula, PyTorch."""

import math

import torch
import torch.nn.functional as F

from ._torch_parts import Activations, widely


class HyperbolicTangent(Activations):
    """σ(x) = (1 + tanh(x/2))/2 and Φ(x) = (1 + erf(x/√2))/2: accurate to ulps of 1, and no further in the lower tail."""

    def relu(self, x):
        return torch.clamp(x, min=0)

    def gate(self, x):
        return 0.5 * (1 + torch.tanh(0.5 * x))

    def normal_cdf(self, x):
        return 0.5 * (1 + torch.erf(x * math.sqrt(0.5)))

    def tanh_gate(self, x):
        return 0.5 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


class HalfAndHalf(HyperbolicTangent):
    """silu(x) = h + h tanh h, h = x/2: half of x and half of the rest, so that large numbers come out exactly."""

    @widely
    def silu(self, x):
        h = x / 2
        return torch.addcmul(h, h, torch.tanh(h))

    @widely
    def gelu(self, x, *, approximate="none"):
        z = x * math.sqrt(2 / math.pi) * (1 + 0.044715 * x * x)
        h = x / 2
        return h + h * (torch.erf(x / math.sqrt(2)) if approximate == "none" else torch.tanh(z))


class Quotient(Activations):
    """silu(x) = x / (1 + exp(-x)), whose exponential may overflow to a quotient of 0; gelu likewise."""

    forward_only = True  # an exponential overflows, or a maximum ties

    def gate(self, x):
        return 1 / (1 + torch.exp(-x))

    @widely
    def silu(self, x):
        return x / (1 + torch.exp(-x))

    @widely
    def gelu(self, x, *, approximate="none"):
        if approximate == "none":
            return x * torch.special.ndtr(x)
        return x / (1 + torch.exp(-2 * math.sqrt(2 / math.pi) * x * (1 + 0.044715 * x * x)))


class TwoBranches(Activations):
    """The exponential of -|x| alone, and where to choose the branch; Φ by erfc of |x| likewise."""

    forward_only = True

    def relu(self, x):
        return torch.where(x > 0, x, torch.zeros_like(x))

    def gate(self, x):
        e = torch.exp(-x.abs())
        return torch.where(x < 0, e / (1 + e), 1 / (1 + e))

    def normal_cdf(self, x):
        tail = torch.erfc(x.abs() * math.sqrt(0.5)) / 2
        return torch.where(x < 0, tail, 1 - tail)


class Exponential(Activations):
    """σ(x) as exp2 of log2 e times x."""

    forward_only = True  # an exponential overflows, or a maximum ties

    def gate(self, x):
        return torch.reciprocal(1 + torch.exp2(x * -math.log2(math.e)))

    def normal_cdf(self, x):
        return torch.special.ndtr(x)


class LogSigmoid(Activations):
    """σ(x) = exp(log σ(x)): the exponential of a rounded logarithm, so that σ(0) need not be exactly ½. The slope of
    `log_ndtr` is NaN at some numbers below −46547, where its exponential has long been 0."""

    def gate(self, x):
        return F.logsigmoid(x).exp()

    def normal_cdf(self, x):
        return torch.special.log_ndtr(x.clamp(min=-1e3)).exp()


class SoftmaxOfTwo(Activations):
    """σ(x) is the first entry of softmax([x, 0]), which is 1 or 0 at 1000 already."""

    def relu(self, x):
        return torch.stack([x, torch.zeros_like(x)]).amax(0)

    def gate(self, x):
        x = x.clamp(-1000, 1000)
        return torch.softmax(torch.stack([x, torch.zeros_like(x)]), 0)[0]


class Own(Activations):
    """PyTorch's own functions, given float32; F.gelu of halves, since it overflows in the upper half of the numbers."""

    @widely
    def silu(self, x):
        return F.silu(x)

    @widely
    def gelu(self, x, *, approximate="none"):
        return torch.where(x.abs() < 1e3, F.gelu(x.clamp(-1e3, 1e3), approximate=approximate), torch.relu(x))


class Lanes(Activations):
    """Vectors of eight lanes: all take the careful way (here in float64) where one of them needs it, as vector libraries do. What
    a neighbour is may so change the last bit."""

    forward_only = True  # an exponential overflows, or a maximum ties

    def gate(self, x):
        flat = torch.cat([x.flatten(), x.new_zeros(-x.numel() % 8)]).reshape(-1, 8)
        careful = torch.sigmoid(flat.double()).to(x.dtype)
        quick = 1 / (1 + torch.exp(-flat))
        needed = ~(flat.abs() < 10).all(-1, keepdim=True)
        return torch.where(needed, careful, quick).flatten()[: x.numel()].reshape(x.shape)

    def normal_cdf(self, x):
        flat = torch.cat([x.flatten(), x.new_zeros(-x.numel() % 8)]).reshape(-1, 8)
        needed = ~(flat.abs() < 2.5).all(-1, keepdim=True)
        careful = torch.erfc(-flat.double() / math.sqrt(2)).to(x.dtype) / 2
        return torch.where(needed, careful, 0.5 + 0.5 * torch.erf(flat / math.sqrt(2))).flatten()[: x.numel()].reshape(x.shape)
