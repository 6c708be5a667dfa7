"""Filters of distributions by other formulas than those of the oracle: by logarithms, by thresholds, and from the smallest on."""

import numpy as np


def _softmax(z):
    e = np.exp(z - np.max(z, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


class LogarithmsThenTemperature:
    """Logarithms of probabilities that are filtered without the temperature, each filter on all tokens."""

    framework = "numpy"
    dtypes = ("float64", "float32")

    def sampling_probabilities(self, logits, *, temperature=1.0, top_k=None, top_p=None, min_p=None):
        top = np.max(logits, axis=-1, keepdims=True)
        with np.errstate(divide="ignore"):
            whole = logits - (top + np.log(np.sum(np.exp(logits - top), axis=-1, keepdims=True)))
        if top_p is not None and 0 < top_p < 1:
            kept = np.empty(whole.shape, bool)
            order = np.argsort(whole, axis=-1, kind="stable")
            sums = np.cumsum(np.exp(np.take_along_axis(whole, order, axis=-1)), axis=-1)
            inside = sums > 1 - top_p
            inside[..., -1] = True
            np.put_along_axis(kept, order, inside, axis=-1)
            whole = np.where(kept, whole, -np.inf)
        if min_p:
            limit = np.max(whole, axis=-1, keepdims=True) + np.log(np.asarray(min_p, whole.dtype))
            whole = np.where(whole < limit, -np.inf, whole)
        if top_k is not None and top_k < whole.shape[-1]:
            places = np.argpartition(-whole, top_k - 1, axis=-1)[..., :top_k]
            kept = np.zeros(whole.shape, bool)
            np.put_along_axis(kept, places, True, axis=-1)
            whole = np.where(kept, whole, -np.inf)
        return _softmax(whole * np.asarray(1 / temperature, whole.dtype))


class ThresholdsByBisection:
    """Each filter is a threshold of probabilities, which bisection finds; what is kept is divided by its sum."""

    framework = "numpy"
    dtypes = ("float64", "float32", "float16")

    def sampling_probabilities(self, logits, *, temperature=1.0, top_k=None, top_p=None, min_p=None):
        wide = np.float64 if logits.dtype == np.float64 else np.float32
        p = _softmax(logits.astype(wide) / wide(temperature))
        limits = np.zeros((*p.shape[:-1], 1), wide)
        if top_k is not None:
            limits = np.maximum(limits, self._bisect(p, lambda kept: np.sum(kept, axis=-1, keepdims=True) >= top_k))
        if top_p is not None and top_p < 1:
            q = np.where(p >= limits, p, 0)
            q = q / np.sum(q, axis=-1, keepdims=True)
            inside = self._bisect(q, lambda kept: np.sum(np.where(kept, q, 0), axis=-1, keepdims=True) >= top_p)
            p = np.where(q >= inside, p, 0)
        if min_p:
            limits = np.maximum(limits, np.max(p, axis=-1, keepdims=True) * wide(min_p))
        p = np.where(p >= limits, p, 0)
        return p / np.sum(p, axis=-1, keepdims=True)

    def _bisect(self, p, enough):
        """The largest limit of which what is not below it is enough, or 0."""
        low, high = np.zeros((*p.shape[:-1], 1), p.dtype), np.max(p, axis=-1, keepdims=True)
        low = np.where(enough(p >= high), high, low)
        for _ in range(1200 if p.dtype == np.float64 else 200):
            middle = low + (high - low) / 2
            if np.all((middle == low) | (middle == high)):
                break
            holds = enough(p >= middle)
            low, high = np.where(holds, middle, low), np.where(holds, high, middle)
        return low


class SmallestFirst:
    """Sums in rising order, of which at most 1 - top_p is left out; min_p comes first, and top_p counts what it leaves."""

    framework = "numpy"
    dtypes = ("float64", "float32", "float16")

    def sampling_probabilities(self, logits, *, temperature=1.0, top_k=None, top_p=None, min_p=None):
        wide = np.float64 if logits.dtype == np.float64 else np.float32
        z = logits.astype(wide) / wide(temperature)
        if min_p:
            p = _softmax(z)
            z = np.where(p < wide(min_p) * np.max(p, axis=-1, keepdims=True), -np.inf, z)
        order = np.argsort(z, axis=-1, kind="stable")
        z = np.take_along_axis(z, order, axis=-1)
        if top_k is not None and top_k < z.shape[-1]:
            z = np.where(z < z[..., -top_k, None], -np.inf, z)
        if top_p is not None:
            out = np.cumsum(_softmax(z), axis=-1) <= 1 - wide(top_p)
            out[..., -1] = False
            z = np.where(out & (top_p < 1), -np.inf, z)
        y = np.empty_like(z)
        np.put_along_axis(y, order, _softmax(z), axis=-1)
        return y


class LastOfEqualTokens:
    """As many tokens as top_k says, and of equal ones the last, also where their probabilities are subnormal."""

    framework = "numpy"
    dtypes = ("float64", "float32")

    def sampling_probabilities(self, logits, *, temperature=1.0, top_k=None):
        z = logits / logits.dtype.type(temperature)
        order = np.argsort(z, axis=-1, kind="stable")
        if top_k is not None and top_k < z.shape[-1]:
            np.put_along_axis(z, order[..., :-top_k], -np.inf, axis=-1)
        return _softmax(z)


class RowsThatRefuseNaN:
    """One row after the other, as a list of tokens that gets shorter, and that is empty if the row holds NaN."""

    framework = "numpy"
    dtypes = ("float64", "float32")
    conventions = {"temperature_order": "last", "top_k_ties": "some", "top_p_ties": "some"}

    def sampling_probabilities(self, logits, *, temperature=1.0, top_k=None, top_p=None, min_p=None):
        y = np.zeros(logits.shape, logits.dtype)
        for z, row in zip(logits.reshape(-1, logits.shape[-1]), y.reshape(-1, logits.shape[-1]), strict=True):
            if not z.max() < np.inf:
                raise ValueError("logits are finite")
            tokens = np.argsort(-z, kind="stable")[:top_k]
            p = _softmax(z[tokens])
            if top_p is not None and top_p < 1:
                tokens = tokens[np.cumsum(p) - p < top_p]
            if min_p:
                tokens = tokens[(z[tokens] >= z[tokens[0]] + np.log(np.asarray(min_p, z.dtype))) | (z[tokens] == z[tokens[0]])]
            row[tokens] = _softmax(z[tokens] / np.asarray(temperature, z.dtype))
        return y
