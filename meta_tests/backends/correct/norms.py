"""The two norms by every usual formula, PyTorch: each divides by the same root, a few roundings apart."""

import math

import torch
import torch.nn.functional as F

from ._torch_parts import Norms, widely


class ReciprocalRoot(Norms):
    """x times rsqrt, as most kernels do."""

    def normalized(self, x, eps, weight):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight


class Power(Norms):
    """x times (mean of squares + eps) ** -0.5: a power, which need not scale exactly by powers of two."""

    def normalized(self, x, eps, weight):
        return x * (x.pow(2).mean(-1, keepdim=True) + eps) ** -0.5 * weight


class GainFirst(Norms):
    """x times (1 / root times gain), and the mean as a sum times 1/n."""

    def normalized(self, x, eps, weight):
        return x * (1 / torch.sqrt(x.square().sum(-1, keepdim=True) * (1 / x.shape[-1]) + eps) * weight)


class Hypotenuse(Norms):
    """The root as hypot(norm / √n, √eps), in which no square overflows."""

    def normalized(self, x, eps, weight):
        norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True) / math.sqrt(x.shape[-1])
        return weight * (x / torch.hypot(norm, torch.full_like(norm, math.sqrt(eps))))


class InnerProduct(Norms):
    """The sum of squares as a product of matrices, x by itself."""

    def normalized(self, x, eps, weight):
        mean = torch.einsum("...i,...i->...", x, x)[..., None] / x.shape[-1]
        return x.div(mean.add(eps).sqrt()).mul(weight)


class Own(Norms):
    """PyTorch's own two functions, given float32."""

    @widely
    def rms_norm(self, x, weight, *, eps):
        return F.rms_norm(x, weight.shape, weight, eps)

    @widely
    def layer_norm(self, x, weight, bias, *, eps):
        return F.layer_norm(x, weight.shape, weight, bias, eps)


class VarianceFunction(Norms):
    """torch.var_mean of the biased variance, and the norm without centring as that of [x, -x], whose mean is 0."""

    @widely
    def rms_norm(self, x, weight, *, eps):
        square = torch.var(torch.cat([x, -x], -1), dim=-1, keepdim=True, correction=0)
        return x / (square + eps).sqrt() * weight

    @widely
    def layer_norm(self, x, weight, bias, *, eps):
        variance, mean = torch.var_mean(x, dim=-1, keepdim=True, unbiased=False)
        return torch.addcmul(bias, (x - mean) * (variance + eps).rsqrt(), weight)


class Welford(Norms):
    """Welford's running mean and squared differences, one entry after the other."""

    def moments(self, x):
        mean, total = torch.zeros_like(x[..., 0]), torch.zeros_like(x[..., 0])
        for i, entry in enumerate(x.unbind(-1), start=1):
            before = entry - mean
            mean = mean + before / i
            total = total + before * (entry - mean)
        return mean[..., None], total[..., None] / x.shape[-1]

    @widely
    def layer_norm(self, x, weight, bias, *, eps):
        mean, variance = self.moments(x)
        return (x - mean) * torch.rsqrt(variance + eps) * weight + bias


class MergedMoments(Welford):
    """Mean and squared differences of halves, merged pairwise (Chan, Golub and LeVeque)."""

    def moments(self, x):
        if x.shape[-1] == 1:
            return x, torch.zeros_like(x)
        n = x.shape[-1] // 2
        (a, s), (b, t) = self.total_of(x[..., :n]), self.total_of(x[..., n:])
        return self.merged(a, s, n, b, t, x.shape[-1] - n, x.shape[-1])

    def total_of(self, x):
        mean, variance = self.moments(x)
        return mean, variance * x.shape[-1]

    def merged(self, a, s, n, b, t, m, every):
        gap = b - a
        return a + gap * (m / every), (s + t + gap.square() * (n * m / every)) / every


class CorrectedTwoPass(Norms):
    """The mean of the squared differences less the square of their mean, which is what rounding the mean left of it."""

    @widely
    def layer_norm(self, x, weight, bias, *, eps):
        centred = x - x.mean(-1, keepdim=True)
        left = centred.mean(-1, keepdim=True)
        variance = (centred.square().mean(-1, keepdim=True) - left.square()).clamp(min=0)
        return (centred - left) / (variance + eps).sqrt() * weight + bias


class ScaleAndShift(Norms):
    """x times (gain / root), plus (bias less mean times that): one multiply-add for each entry."""

    @widely
    def layer_norm(self, x, weight, bias, *, eps):
        mean = x.mean(-1, keepdim=True)
        scale = weight * torch.rsqrt((x - mean).square().mean(-1, keepdim=True) + eps)
        return x * scale + (bias - mean * scale)


class Modules(Norms):
    """torch.nn modules made anew for each call: the results require gradients."""

    def loaded(self, module, **parameters):
        with torch.no_grad():
            for name, value in parameters.items():
                getattr(module, name).copy_(value)
        return module

    @widely
    def rms_norm(self, x, weight, *, eps):
        return self.loaded(torch.nn.RMSNorm(len(weight), eps=eps, dtype=x.dtype), weight=weight)(x)

    @widely
    def layer_norm(self, x, weight, bias, *, eps):
        return self.loaded(torch.nn.LayerNorm(len(weight), eps=eps, dtype=x.dtype), weight=weight, bias=bias)(x)


class InFloat64(Norms):
    """float64 inside for every dtype; the rounding to the dtype is the only one that shows."""

    def enter(self, x):
        return x.double()
