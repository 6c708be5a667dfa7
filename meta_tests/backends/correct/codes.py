"""Numbers in few bits by other formulas than those of the oracle: casts of ml_dtypes, bits, tables, and sums by pieces."""

import itertools

import ml_dtypes
import numpy as np
import torch

from backends._narrow_formats import FLOATS, INTEGERS

CODES = dict.fromkeys(("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"), "codes")
NARROW_X = ("float32", "float16")


def index_of(length, size):
    """The block of each index of an axis."""
    return np.arange(length) // (size or max(length, 1))


def of_elements(scale, block, shape):
    return scale[..., index_of(shape[-2], block[0])[:, None], index_of(shape[-1], block[1])]


def table_of(dtype):
    """The number of each code of a floating format."""
    codes = np.arange(1 << (FLOATS[dtype][0] if dtype in FLOATS else 8), dtype=np.uint8)
    return codes.view(getattr(ml_dtypes, dtype)).astype(np.float32)


def widen(scale, scale_dtype):
    return scale.astype(np.float32) if scale_dtype == "float32" else table_of(scale_dtype)[scale]


class CastsOfMlDtypes:
    """A product with 1/scale, which is cast to the format by ml_dtypes after it was clamped. Numbers are looked up in a table."""

    framework = "numpy"
    dtypes = NARROW_X
    carriers = CODES
    conventions = {"fp4_ties": "even", "global_scale": "multiplier", "int8_range": "-128", "stored_zero_point": "value"}

    def quantize(self, x, scale, zero_point=None, global_scale=None, *, dtype, block, scale_dtype="float32"):
        wide = widen(scale, scale_dtype) * np.float32(1 if global_scale is None else global_scale)
        with np.errstate(all="ignore"):
            exact = np.frexp(wide)[0] == 0.5
            t = x.astype(np.float32) * of_elements(np.where(wide < 2.0**-126, 2.0**126, 1 / wide), block, x.shape)
            t = np.where(of_elements(exact & (wide < 2.0**-126), block, x.shape), t * np.float32(2), t)  # 2^127 has no float32
        if dtype in INTEGERS:
            least, largest = INTEGERS[dtype]
            z = 0 if zero_point is None else of_elements(zero_point.astype(int), block, x.shape)
            q = np.clip(np.rint(np.clip(t, -1000, 1000)).astype(int) + z, least, largest)
            return q.astype(np.int8 if least < 0 else np.uint8)
        largest = np.float32(FLOATS[dtype][3])
        return np.clip(t, -largest, largest).astype(np.float32).astype(getattr(ml_dtypes, dtype)).view(np.uint8)

    def dequantize(
        self, q, scale, zero_point=None, bias=None, global_scale=None, *, q_dtype, block, scale_dtype="float32", dtype="float32"
    ):
        y = table_of(q_dtype)[q] if q_dtype in FLOATS else q.astype(np.float32)
        if zero_point is not None:
            y -= of_elements(zero_point.astype(np.float32), block, y.shape)
        wide = of_elements(widen(scale, scale_dtype), block, y.shape)
        with np.errstate(over="ignore"):
            y = y * wide if global_scale is None else y * np.float32(global_scale) * wide
            y = y if bias is None else of_elements(bias, block, y.shape) + y
            return y.astype(dtype)


class BitsOfFloats:
    """Numbers are rounded by an integer sum with their bits, or by adding a large number and subtracting it again."""

    framework = "torch"
    carriers = CODES
    conventions = {"fp4_ties": "even", "int8_range": "-128"}

    def quantize(self, x, scale, zero_point=None, *, dtype, block, scale_dtype="float32"):
        index = [torch.from_numpy(index_of(n, size)) for n, size in zip(x.shape[-2:], block, strict=True)]
        if scale_dtype != "float32":
            scale = scale.view(getattr(torch, scale_dtype)).float()
        t = x.float() / scale[..., index[0][:, None], index[1]]
        if dtype in INTEGERS:
            least, largest = INTEGERS[dtype]
            magic = 1.5 * 2**23
            q = (t.clamp(-1000, 1000) + magic) - magic
            q = q if zero_point is None else q + zero_point[..., index[0][:, None], index[1]]
            return q.clamp(least, largest).to(torch.int8 if least < 0 else torch.uint8)
        width, bits_of_fraction, emin, largest = FLOATS[dtype]
        size, lost = t.abs().clamp(max=largest), 23 - bits_of_fraction
        magic = 2.0 ** (emin - bits_of_fraction + 23)
        small = ((size + magic) - magic) * 2.0 ** (bits_of_fraction - emin)
        bits = size.contiguous().view(torch.int32)
        bits = (bits + ((1 << (lost - 1)) - 1) + ((bits >> lost) & 1)) >> lost
        code = torch.where(size < 2.0**emin, small.int(), bits - ((emin + 126) << bits_of_fraction))
        minus = torch.signbit(t) & ~((code == 0) & dtype.endswith("uz"))
        return (code | minus.int() << (width - 1)).to(torch.uint8)


class SumsByPieces:
    """A sum for each piece of K in which no scale changes, zero points as ∑ab − z∑a, and the scales last."""

    framework = "numpy"
    dtypes = NARROW_X
    carriers = CODES
    conventions = {"global_scale": "multiplier", "stored_zero_point": "value"}

    def scaled_matmul(
        self, a, b, scale_a=None, scale_b=None, zero_point_a=None, zero_point_b=None, bias=None, global_scale_a=None,
        global_scale_b=None, *, a_dtype, b_dtype, block_a=None, block_b, scale_dtype_a="float32", scale_dtype_b="float32",
        dtype="float32",
    ):  # fmt: skip
        left, right = (table_of(d)[x] if d in FLOATS else x.astype(np.float32) for x, d in ((a, a_dtype), (b, b_dtype)))
        k, sides = a.shape[-1], []
        for x, s, z, block, kind in (
            (left, scale_a, zero_point_a, block_a, scale_dtype_a), (right, scale_b, zero_point_b, block_b, scale_dtype_b),
        ):  # fmt: skip
            rows = index_of(x.shape[-2], block[0]) if block else None
            s = None if s is None else widen(s, kind)[..., rows, :]
            z = None if z is None else z.astype(np.float32)[..., rows, :]
            sides.append((s, z, index_of(k, block[1]) if block else np.zeros(k, int)))
        (s_a, z_a, at_a), (s_b, z_b, at_b) = sides
        cuts = [0, *(np.flatnonzero(np.diff(at_a) | np.diff(at_b)) + 1).tolist(), k]
        y = np.zeros((*a.shape[:-1], len(b)), np.float32)
        for start, stop in itertools.pairwise(cuts):
            i, j, p, q = at_a[start], at_b[start], left[..., start:stop], right[:, start:stop]
            part, n = p @ q.T, np.float32(stop - start)
            if z_b is not None:
                part = part - p.sum(-1, keepdims=True) * z_b[:, j]
            if z_a is not None:
                whole = q.sum(-1) - (0 if z_b is None else n * z_b[:, j])
                part = part - z_a[..., i, None] * whole
            part = part if s_a is None else part * s_a[..., i, None]
            y += part * s_b[:, j]
        for g in (global_scale_a, global_scale_b):
            y = y if g is None else y * np.float32(g)
        return (y if bias is None else y + bias.astype(np.float32)).astype(dtype)


class ScalesOnScores:
    """Caches in few bits: new numbers are cast by ml_dtypes; a key's scale multiplies the scores, and a value's the result."""

    framework = "numpy"
    dtypes = ("float32",)
    conventions = {
        "cache_update": "returned",
        "int8_range": "-128",
        "fully_masked_rows": "zero",
        "causal_alignment": "bottom-right",
    }

    def kv_cache_append(self, k_cache, v_cache, k, v, lengths, k_scale=None, v_scale=None, *, cache_dtype=None):
        caches = []
        for cache, x, scale in ((k_cache, k, k_scale), (v_cache, v, v_scale)):
            cache = cache.copy()
            t = x if scale is None else x / np.reshape(scale, (-1, 1, 1))
            if cache_dtype == "int8":
                t = np.rint(np.clip(t, -128, 127))
            elif cache_dtype is not None:
                t = np.clip(t, -FLOATS[cache_dtype][3], FLOATS[cache_dtype][3]).astype(np.float32)
            for row, start in enumerate(lengths):
                cache[row, :, start : start + x.shape[2]] = t[row].astype(cache.dtype)
            caches.append(cache)
        return tuple(caches)

    def attention_with_kv_cache(
        self, q, k_cache, v_cache, lengths, k_scale=None, v_scale=None, *, is_causal=True, scale=None, cache_dtype=None
    ):
        n, m = q.shape[2], k_cache.shape[2]
        seen = np.arange(m) < lengths[:, None, None]
        if is_causal:
            seen = seen & (np.arange(m) <= np.arange(n)[:, None] + lengths[:, None, None] - n)
        seen, held = seen[:, None], (np.arange(m) < lengths[:, None])[:, None, :, None]
        k, v = (np.where(held, x.astype(np.float32), 0).repeat(q.shape[1] // x.shape[1], 1) for x in (k_cache, v_cache))
        each = lambda s: np.float32(1) if s is None else np.repeat(s, q.shape[1] // s.size)[:, None, None]  # noqa: E731
        scores = q @ k.swapaxes(-1, -2) * np.float32(q.shape[-1] ** -0.5 if scale is None else scale) * each(k_scale)
        scores = np.where(seen, scores, -np.inf)
        e = np.where(seen, np.exp(scores - np.max(np.where(seen, scores, np.finfo(np.float32).min), -1, keepdims=True)), 0)
        total = e.sum(-1, keepdims=True)
        return (e @ v / np.where(total == 0, 1, total) * each(v_scale)).astype(q.dtype)
