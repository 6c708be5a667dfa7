"""The scan of Mamba-2 by another formula than that of the oracle: all pairs of tokens at once."""

import math

import numpy as np

LIMITS = (0.0, math.inf)


def prepared(x, dt, b, c, dt_bias, dt_softplus, dt_limit):
    """Widen the arrays, and return the steps with them. Softplus is ln(1 + e^y) up to 20, as kernels print it."""
    wide = np.float64 if x.dtype == np.float64 else np.float32
    x, dt, b, c = (y.astype(wide) for y in (x, dt, b, c))
    y = dt if dt_bias is None else dt + dt_bias[:, None].astype(wide)
    if dt_softplus:
        y = np.where(y <= 20, np.log(1 + np.exp(np.minimum(y, wide(20)))), y)
    y = np.minimum(np.maximum(y, wide(dt_limit[0])), wide(dt_limit[1]))
    b, c = (np.repeat(t, x.shape[-3] // t.shape[-3], axis=-3) for t in (b, c))
    return x, y.astype(wide), b, c


def finished(y, x, d, z, dtype):
    """Add d x, and multiply by the gate."""
    y = y if d is None else y + d[:, None, None].astype(y.dtype) * x
    if z is not None:
        gate = z.astype(y.dtype)
        y = y * gate / (1 + np.exp(-gate))
    return y.astype(dtype)


class AllPairsOfTokens:
    """Every pair of tokens at once: the decays between them are exponentials of differences of running sums, to the base 2."""

    framework = "numpy"
    dtypes = ("float64", "float32", "float16")

    def mamba2_scan(self, x, dt, a, b, c, d=None, z=None, dt_bias=None, state=None, *, dt_softplus=False, dt_limit=LIMITS):
        dtype, n = x.dtype, x.shape[-2]
        x, steps, b, c = prepared(x, dt, b, c, dt_bias, dt_softplus, dt_limit)
        total = np.cumsum(steps * a[:, None].astype(x.dtype) * x.dtype.type(math.log2(math.e)), axis=-1, dtype=x.dtype)
        earlier = np.tril(np.ones((n, n), bool))
        between = np.exp2(np.where(earlier, total[..., :, None] - total[..., None, :], -np.inf))
        written = steps[..., None] * x
        y = (c @ np.swapaxes(b, -1, -2) * between) @ written
        kept = between[..., -1, :, None] if n else between[..., :0, :0]
        after = np.swapaxes(written * kept, -1, -2) @ b if n else np.zeros((*x.shape[:-2], x.shape[-1], b.shape[-1]), x.dtype)
        if state is not None:
            y = y + np.exp2(total)[..., None] * (c @ np.swapaxes(state, -1, -2).astype(x.dtype))
            after = after + np.exp2(total[..., -1, None, None] if n else x.dtype.type(0)) * state.astype(x.dtype)
        return finished(y, x, d, z, dtype), after


class ChunksOfNarrowOperands:
    """Chunks of 32 tokens, every operand of a product in the dtype of x, where small numbers keep few digits."""

    framework = "numpy"
    dtypes = ("float32", "float16")

    def mamba2_scan(self, x, dt, a, b, c, d=None, z=None, dt_bias=None, state=None, *, dt_softplus=False, dt_limit=LIMITS):
        dtype, n = x.dtype, x.shape[-2]
        x, steps, b, c = prepared(x, dt, b, c, dt_bias, dt_softplus, dt_limit)
        state = np.zeros((*x.shape[:-2], x.shape[-1], b.shape[-1]), x.dtype) if state is None else state.astype(x.dtype)
        decays, outs = steps * a[:, None].astype(x.dtype), np.zeros_like(x)
        for start in range(0, n, 32):
            own = slice(start, start + 32)
            outs[..., own, :], state = self.chunk(
                dtype, x[..., own, :], steps[..., own], decays[..., own], b[..., own, :], c[..., own, :], state
            )
        return finished(outs, x, d, z, dtype), state

    def chunk(self, dtype, x, steps, decays, b, c, state):
        """Return the outs of a chunk and the state behind it."""
        total, earlier = np.cumsum(decays, axis=-1, dtype=x.dtype), np.tril(np.ones((x.shape[-2],) * 2, bool))
        between = np.exp(np.where(earlier, total[..., :, None] - total[..., None, :], -np.inf))
        stepped, written = self.stepped(steps, x)
        scores, written = cast((c @ np.swapaxes(b, -1, -2)) * between * stepped[..., None, :], dtype), cast(written, dtype)
        read = cast(c * np.exp(total)[..., None], dtype) @ np.swapaxes(cast(state, dtype), -1, -2)
        left = cast(b * (stepped * np.exp(total[..., -1:] - total))[..., None], dtype)
        return scores @ written + read, np.exp(total[..., -1])[..., None, None] * state + np.swapaxes(written, -1, -2) @ left

    @staticmethod
    def stepped(steps, x):
        """Return what scores and keys are multiplied by, and what they multiply."""
        return np.ones_like(steps), steps[..., None] * x


class ChunksWithStepsInScores(ChunksOfNarrowOperands):
    """The same; the steps multiply the scores and the keys, as in mamba_ssm, and not the inputs."""

    @staticmethod
    def stepped(steps, x):
        return steps, x


def cast(x, dtype):
    """Store an operand, and read it as it was."""
    return x.astype(dtype).astype(x.dtype)
