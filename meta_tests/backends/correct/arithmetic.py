"""Unusual arithmetic that is allowed: wider intermediate results, or no subnormal numbers."""

import functools

import numpy as np
import torch

from ._numpy_parts import Parts
from ._torch_models import Models


class Wider(Parts):
    """float64 inside, long double for float64: nothing is rounded but the result."""

    def enter(self, x):
        return x.astype(np.longdouble if x.dtype == np.float64 else np.float64)


class WithoutSubnormals(Parts):
    """Subnormal numbers of the compute dtype are read as zeros and never produced, as on many accelerators."""

    def flushed(self, x):
        return np.where(np.abs(x) < np.finfo(x.dtype).tiny, x.dtype.type(0), x)

    def enter(self, x):
        return self.flushed(super().enter(x))

    def leave(self, y, dtype):
        return super().leave(self.flushed(np.asarray(y)), dtype)

    def total(self, x):
        return self.flushed(super().total(self.flushed(x)))

    def product(self, a, b):
        return self.flushed(super().product(self.flushed(a), self.flushed(b)))

    def exp(self, x):
        return self.flushed(super().exp(x))

    def divided(self, x, y):
        return self.flushed(super().divided(self.flushed(x), y))


class FlushedByTheProcessor(Models):
    """torch.set_flush_denormal, while a call lasts: subnormal numbers are zeros to the processor."""

    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        if not callable(found) or name[0] == "_" or super().__getattribute__("inside"):
            return found

        @functools.wraps(found)
        def flushing(*arguments, **keywords):
            torch.set_flush_denormal(True)
            try:
                return found(*arguments, **keywords)
            finally:
                torch.set_flush_denormal(False)

        return flushing
