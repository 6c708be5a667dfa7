"""softmax, log_softmax and logsumexp by every usual formula."""

import math

import numpy as np
import torch

from ._torch_parts import Exponentials, widely

LOG2_E = math.log2(math.e)


class BaseTwo(Exponentials):
    """exp2 of log2 e times x, and log2, as GPU kernels compute them."""

    def weighed(self, x):
        top = x.amax(-1, keepdim=True)
        e = torch.exp2((x - top.masked_fill(top.isinf(), 0)) * LOG2_E)
        return e, e.sum(-1, keepdim=True), top

    @widely
    def logsumexp(self, x, *, axis):
        _, total, top = self.weighed(x.movedim(axis, -1))
        return (top + total.log2() * math.log(2)).squeeze(-1)


class Unguarded(Exponentials):
    """The maximum is subtracted whatever it is: a row of −∞ alone gives NaN, of which only a level speaks."""

    def weighed(self, x):
        top = x.amax(-1, keepdim=True)
        e = torch.exp(x - top)
        return e, e.sum(-1, keepdim=True), top


class TimesReciprocal(Exponentials):
    """One reciprocal for each row, and a product for each entry."""

    def probabilities(self, x):
        e, total, _ = self.weighed(x)
        return e * total.reciprocal()


class Online(Exponentials):
    """In one pass over blocks of 32: what was summed is rescaled wherever a larger maximum comes up."""

    block = 32

    def weighed(self, x):
        top, total = torch.full_like(x[..., :1], -math.inf), torch.zeros_like(x[..., :1])
        for part in x.split(self.block, dim=-1):
            larger = self.detached(torch.maximum(top, part.amax(-1, keepdim=True)))
            shift = larger.masked_fill(larger.isinf(), 0)
            total = total * torch.exp(top - shift) + torch.exp(part - shift).sum(-1, keepdim=True)
            top = larger
        return torch.exp(x - top.masked_fill(top.isinf(), 0)), total, top

    def detached(self, top):
        return top.detach()


class OnlineThroughMaxima(Online):
    """In blocks of 8, and the gradient passes through each maximum so far, where it leaves roundings."""

    block = 8

    def detached(self, top):
        return top


class OnlineByFour(Online):
    """In blocks of 4."""

    block = 4


class OnlineBy128(Online):
    """In blocks of 128."""

    block = 128


class ExponentialOfLogarithm(Exponentials):
    """softmax as the exponential of log_softmax, which is x - max - log(sum)."""

    def probabilities(self, x):
        _, total, top = self.weighed(x)
        return torch.exp(x - top - total.log())


class Own(Exponentials):
    """PyTorch's own functions, given float32, along the axis itself."""

    @widely
    def softmax(self, x, *, axis):
        return torch.softmax(x, axis)

    @widely
    def log_softmax(self, x, *, axis):
        return torch.log_softmax(x, axis)

    @widely
    def logsumexp(self, x, *, axis):
        return torch.logsumexp(x, axis)


class MaximumIfNeeded(Exponentials):
    """No maximum is subtracted as long as all entries are small: which way is taken depends on every row of the call. Not so for
    log_softmax, whose digits x - log(sum) would lose."""

    def weighed(self, x):
        if not (x.abs() < 20).all():
            return super().weighed(x)
        e = torch.exp(x)
        return e, e.sum(-1, keepdim=True), torch.zeros_like(x[..., :1])

    @widely
    def log_softmax(self, x, *, axis):
        x = x.movedim(axis, -1)
        _, total, top = super().weighed(x)
        return (x - top - total.log()).movedim(-1, axis)


class StaleMaximum(Exponentials):
    """The maximum rounded up to a multiple of 4: any number near it will do for the shift, but where the logarithm may be 0."""

    def weighed(self, x):
        top = x.amax(-1, keepdim=True)
        top = torch.where(top.abs() < 1e4, torch.ceil(top / 4) * 4, top)
        e = torch.exp(x - top.masked_fill(top.isinf(), 0))
        return e, e.sum(-1, keepdim=True), top

    def log_softmax(self, x, *, axis):
        raise NotImplementedError("near 0 it would lose its digits")


class Ascending(Exponentials):
    """The exponentials are summed in ascending order, the smallest first."""

    def weighed(self, x):
        e, _, top = super().weighed(x)
        return e, e.sort(-1).values.cumsum(-1)[..., -1:], top


class LogAddExp:
    """np.logaddexp.reduce of the rows less their maximum, in float64 (long double for float64)."""

    framework = "numpy"

    def _shifted(self, x, axis):
        """x less its maximum, the logarithm of the sum of its exponentials, and that maximum."""
        wide = x.astype(np.longdouble if x.dtype == np.float64 else np.float64)
        top = np.max(wide, axis=axis, keepdims=True)
        with np.errstate(all="ignore"):
            wide = wide - np.where(np.isfinite(top), top, 0)
            return wide, np.logaddexp.reduce(wide, axis=axis, keepdims=True), top

    def softmax(self, x, *, axis):
        shifted, logarithm, _ = self._shifted(x, axis)
        return np.exp(shifted - logarithm).astype(x.dtype)

    def log_softmax(self, x, *, axis):
        shifted, logarithm, _ = self._shifted(x, axis)
        return (shifted - logarithm).astype(x.dtype)

    def logsumexp(self, x, *, axis):
        _, logarithm, top = self._shifted(x, axis)
        return np.squeeze(top + logarithm, axis=axis).astype(x.dtype)
