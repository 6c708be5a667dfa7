"""Functions, signatures and results of unusual but legal form. Their values are computed in the usual way."""

import contextlib
import functools
import logging
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

from ._numpy_parts import Parts

OPERATIONS = [name for name, found in vars(Parts).items() if hasattr(found, "__wrapped__") or name == "embedding"]


class AnyKeywords(Parts):
    """Every function takes *arrays and **keywords, and so whatever the protocol has."""

    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        if name not in OPERATIONS or super().__getattribute__("inside"):
            return found
        return lambda *arrays, **keywords: found(*arrays, **keywords)


class ReadOnly(Parts):
    """Results are read-only, lie in memory with their first axis last, and are scalars where they have no axis."""

    def leave(self, y, dtype):
        y = np.array(super().leave(y, dtype), order="F")
        y.flags.writeable = False
        return y[()]


class Windows(Parts):
    """Results are views of something larger that is made anew for every call, and nowhere contiguous."""

    def leave(self, y, dtype):
        room = np.full(tuple(2 * size + 1 for size in y.shape), np.nan, dtype)
        inside = room[tuple(slice(1, None, 2) for _ in y.shape)] if y.ndim else room
        inside[...] = y
        return inside


class Subclass(Parts):
    """Results are of a subclass of np.ndarray."""

    class Tensor(np.ndarray):
        pass

    def leave(self, y, dtype):
        return super().leave(y, dtype).view(self.Tensor)


class Talkative(Parts):
    """Every call prints, warns and logs, and computes in another thread; nothing of it is an error."""

    workers = ThreadPoolExecutor(1)

    def total(self, x):
        print("total of", x.shape)
        warnings.warn("a sum is about to be computed", stacklevel=2)
        logging.getLogger(__name__).info("summing")
        return self.workers.submit(super().total, x).result()


class Cautious(Parts):
    """Overflow and underflow raise, and are answered by computing the same again in float64."""

    def exp(self, x):
        with contextlib.suppress(FloatingPointError), np.errstate(over="raise", under="raise"):
            return np.exp(x)
        with np.errstate(all="ignore"):
            return np.exp(x.astype(np.float64)).astype(x.dtype)


class PositionalOnly:
    """Arrays by place alone; configuration by keyword, by place, or both."""

    framework = "torch"

    def relu(self, x, /):
        return torch.relu(x)

    def softmax(self, x, axis):
        return torch.softmax(x.double(), axis).to(x.dtype)

    def logsumexp(self, x, /, *, axis):
        return torch.logsumexp(x.double(), axis).to(x.dtype)

    def linear(self, x, weight, /, bias=None):
        y = x.double() @ weight.double().mT
        return (y if bias is None else y + bias).to(x.dtype)

    def rms_norm(self, x, weight, /, eps):
        h = x.double()
        return (h / (h.square().mean(-1, keepdim=True) + eps).sqrt() * weight).to(x.dtype)


def _norm(x, weight, bias=None, *, eps):
    return torch.layer_norm(x.double(), weight.shape, weight.double(), bias.double(), eps).to(x.dtype)


class Namespace:
    """Attributes that are no functions of this class: built-ins, modules, partial functions and lambdas."""

    framework = "torch"
    name, version = "a namespace", "of today"
    relu = staticmethod(torch.relu)
    sigmoid = torch.nn.Sigmoid()
    silu = torch.nn.SiLU()
    softmax = staticmethod(lambda x, axis: torch.softmax(x, axis))
    log_softmax = staticmethod(lambda x, *, axis: torch.nn.LogSoftmax(axis)(x))
    layer_norm = staticmethod(functools.partial(_norm))
    embedding = staticmethod(torch.nn.functional.embedding)

    def __init__(self):
        self.rms_norm = functools.partial(self._rms_norm, scale=1.0)

    def _rms_norm(self, x, weight, *, eps, scale):
        h = x.double()
        return (scale * h * torch.rsqrt(h.square().mean(-1, keepdim=True) + eps) * weight).to(x.dtype)
