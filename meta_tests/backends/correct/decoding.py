"""Steps of decoding by other formulas than those of the oracle: a linear attention, drawn tokens, and drafts."""

import math

import numpy as np


class OneMatrixForEachToken:
    """The state is multiplied by (I - beta k k^T) e^g, as the papers print it, in float32 or wider."""

    framework = "numpy"
    dtypes = ("float64", "float32", "float16")

    def linear_attention(self, q, k, v, g=None, beta=None, state=None, *, scale=None, qk_l2norm=False):
        wide = np.float64 if v.dtype == np.float64 else np.float32
        dtype, (q, k, v) = v.dtype, (x.astype(wide) for x in (q, k, v))
        if qk_l2norm:
            q, k = (x / np.sqrt(np.sum(x * x, -1, keepdims=True) + wide(1e-6)) for x in (q, k))
        q, k = (np.repeat(x, v.shape[-3] // x.shape[-3], axis=-3) for x in (q, k))
        n, d_k = k.shape[-2:]
        s = np.zeros((*v.shape[:-2], d_k, v.shape[-1]), wide) if state is None else state.astype(wide)
        out = np.empty_like(v)
        for t in range(n):
            key, value = k[..., t, :, None], v[..., t, None, :]
            if g is not None:
                s = np.exp(g[..., t, :, None].astype(wide)) * s
            if beta is None:
                s = s + key * value
            else:
                rate = beta[..., t, None, None].astype(wide)
                s = (np.eye(d_k, dtype=wide) - rate * key * np.swapaxes(key, -1, -2)) @ s + rate * key * value
            out[..., t, :] = (q[..., t, None, :] @ s)[..., 0, :]
        return (out * wide(scale if scale is not None else 1 / math.sqrt(d_k))).astype(dtype), s


class ByRatios:
    """A loop over rows and tokens, the ratio of both probabilities, and a normalized residual that is searched."""

    framework = "numpy"
    dtypes = ("float64", "float32", "float16")

    def verify_draft(self, draft_tokens, draft_probabilities, target_probabilities, uniforms, final_uniforms):
        b, n = draft_tokens.shape
        tokens, accepted = np.full((b, n + 1), -1), np.zeros(b, dtype=int)
        for row in range(b):
            p = target_probabilities[row]
            q = np.eye(p.shape[-1], dtype=p.dtype)[draft_tokens[row]] if draft_probabilities is None else draft_probabilities[row]
            for i, token in enumerate(draft_tokens[row]):
                with np.errstate(all="ignore"):
                    if not (p[i, token] > 0 and uniforms[row, i] < p[i, token] / q[i, token]):
                        break
                tokens[row, i] = token
                accepted[row] += 1
            i = accepted[row]
            weights = np.maximum(p[i] - q[i], 0) if i < n else p[i]
            weights = weights if weights.sum() > 0 else p[i]
            place = np.searchsorted(np.cumsum(weights / weights.sum()), final_uniforms[row], side="right")
            tokens[row, i] = min(place, np.flatnonzero(weights)[-1])
        return tokens, accepted


class FromTheEnd:
    """The sums of what comes after a token, of a row that is divided by its sum, and races with reciprocals and to the base 2."""

    framework = "numpy"
    dtypes = ("float64", "float32")

    def sample(self, probabilities, *, seed=0, num_samples=1):
        """Bisection: the interval of tokens is halved by the sum at its middle, until one is left."""
        *batch, vocab = probabilities.shape
        rng, tokens = np.random.default_rng(seed), []
        for row in probabilities.reshape(math.prod(batch), vocab):
            allowed = np.flatnonzero(row)
            sums, u = np.cumsum(row[allowed]), rng.random(num_samples)
            low, high = np.zeros(num_samples, dtype=int), np.full(num_samples, len(allowed) - 1)
            while np.any(low < high):
                middle = (low + high) // 2
                above = sums[middle] > u
                low, high = np.where(above, low, middle + 1), np.where(above, middle, high)
            tokens.append(allowed[high])
        return np.reshape(np.asarray(tokens, dtype=np.int64), (*batch, num_samples))

    def sample_with_noise(self, probabilities, noise, *, method="inverse"):
        p = probabilities / np.sum(probabilities, axis=-1, keepdims=True)
        if method == "exponential":
            return np.argmax(p * (1 / noise), axis=-1)
        if method == "gumbel":
            with np.errstate(divide="ignore"):
                return np.argmax(np.log2(p) + noise * np.asarray(1 / math.log(2), noise.dtype), axis=-1)
        after = np.cumsum(p[..., ::-1], axis=-1)[..., ::-1] - p
        above = (1 - after > noise[..., None]) & (p > 0)
        last = p.shape[-1] - 1 - np.argmax(p[..., ::-1] > 0, axis=-1)
        return np.where(np.any(above, axis=-1), np.argmax(above, axis=-1), last)


class RowByRow:
    """A loop over rows: a search among sums in float64, and races that skip what is not larger."""

    framework = "numpy"
    dtypes = ("float64", "float32")

    def sample(self, probabilities, *, seed=0, num_samples=1):
        """Uniform tokens, each of which is taken with its probability over the largest: rejection."""
        rng, p = np.random.default_rng(seed), probabilities
        rows, vocab = math.prod(p.shape[:-1]), p.shape[-1]
        tokens = np.empty((rows, num_samples), dtype=np.int32)
        for row, found in zip(p.reshape(rows, vocab), tokens, strict=True):
            count = 0
            while count < num_samples:
                tried = rng.integers(0, vocab, 2 * num_samples + 8)
                taken = tried[rng.random(tried.size) * np.max(row) < row[tried]][: num_samples - count]
                found[count : count + taken.size] = taken
                count += taken.size
        return tokens.reshape(*p.shape[:-1], num_samples)

    def sample_with_noise(self, probabilities, noise, *, method="inverse"):
        vocab, batch = probabilities.shape[-1], probabilities.shape[:-1]
        tokens = np.zeros(batch, dtype=np.int32)
        for row in np.ndindex(batch):
            p, allowed = probabilities[row], np.flatnonzero(probabilities[row])
            if method == "inverse":
                place = np.searchsorted(np.cumsum(p.astype(np.float64))[allowed], noise[row], side="right")
                tokens[row] = allowed[min(place, len(allowed) - 1)]
                continue
            best = -np.inf
            for t in range(vocab):
                if p[t] > 0:
                    score = p[t] / noise[row][t] if method == "exponential" else np.log(p[t]) + noise[row][t]
                    if score > best:
                        best, tokens[row] = score, t
        return tokens
