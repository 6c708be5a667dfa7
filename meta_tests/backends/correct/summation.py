"""Sums in every order, NumPy: each adds the same numbers in float32 (float64 for float64), within (n - 1) u of their sizes."""

import itertools

import numpy as np

from ._numpy_parts import Parts


def _folded(add, terms):
    """The terms added one after the other, along their first axis."""
    total = terms[0]
    for term in terms[1:]:
        total = add(total, term)
    return total


def _terms(a, b):
    """The products that each element of a @ b is the sum of, along a first axis."""
    terms = a[..., :, :, None] * b[..., None, :, :]
    return np.moveaxis(terms, -2, 0)


class Sequential(Parts):
    """Strictly from left to right, one addition after the other, as a plain loop does."""

    def total(self, x):
        return np.add.accumulate(x, axis=-1)[..., -1:]

    def product(self, a, b):
        return np.add.accumulate(_terms(a, b), axis=0)[-1]


class Backwards(Parts):
    """Strictly from right to left."""

    def total(self, x):
        return np.add.accumulate(x[..., ::-1], axis=-1)[..., -1:]

    def product(self, a, b):
        return np.add.accumulate(_terms(a, b)[::-1], axis=0)[-1]


class Pairwise(Parts):
    """Halves added to halves, down to single terms: the most accurate of the plain orders."""

    def total(self, x):
        while x.shape[-1] > 1:
            half = x.shape[-1] // 2
            pairs = x[..., :half] + x[..., half : 2 * half]
            x = np.concatenate([pairs, x[..., 2 * half :]], axis=-1)
        return x

    def product(self, a, b):
        return self.total(np.moveaxis(_terms(a, b), 0, -1))[..., 0]


class Blocked(Parts):
    """In blocks of 32, each from left to right, then the blocks' own sums: the tiles of a kernel."""

    def total(self, x, block=32):
        parts = [np.add.accumulate(x[..., i : i + block], axis=-1)[..., -1] for i in range(0, x.shape[-1], block)]
        return _folded(np.add, parts)[..., None]

    def product(self, a, b):
        return self.total(np.moveaxis(_terms(a, b), 0, -1))[..., 0]


class SplitLanes(Blocked):
    """Every 128th term first, 128 partial sums beside each other, then those: the lanes of a thread block."""

    def total(self, x, lanes=128):
        x = np.concatenate([x, np.zeros((*x.shape[:-1], -x.shape[-1] % lanes), x.dtype)], axis=-1)
        lanes_first = np.moveaxis(x.reshape(*x.shape[:-1], x.shape[-1] // lanes, lanes), -2, 0)
        return np.add.accumulate(_folded(np.add, lanes_first), axis=-1)[..., -1:]


class Compensated(Parts):
    """Kahan's sum, which carries what each addition lost; nothing is carried once a sum is infinite."""

    def total(self, x):
        total, lost = x[..., 0], np.zeros_like(x[..., 0])
        for i in range(1, x.shape[-1]):
            term = x[..., i] - lost
            larger = total + term
            lost = np.where(np.isfinite(larger), (larger - total) - term, 0)
            total = larger
        return total[..., None]

    def product(self, a, b):
        return self.total(np.moveaxis(_terms(a, b), 0, -1))[..., 0]


class FusedMultiplyAdd(Parts):
    """Matrix products by fused multiply-add, one rounding for each term; squares are summed so too."""

    def product(self, a, b):
        wide = np.longdouble if a.dtype == np.float64 else np.float64
        total = np.zeros((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]), a.dtype)
        for i in range(a.shape[-1]):
            total = (total + a[..., :, i, None].astype(wide) * b[..., None, i, :]).astype(a.dtype)
        return total

    def mean(self, x):
        return x.dtype.type(1 / x.shape[-1]) * self.total(x)


class AnyOrder(Parts):
    """In another order at every call, as atomic additions come in on a GPU: two calls need not give the same bits."""

    calls = itertools.count()

    def total(self, x):
        order = np.random.default_rng(next(self.calls)).permutation(x.shape[-1])
        return np.add.accumulate(x[..., order], axis=-1)[..., -1:]

    def product(self, a, b):
        order = np.random.default_rng(next(self.calls)).permutation(a.shape[-1])
        return np.add.accumulate(_terms(a, b)[order], axis=0)[-1]
