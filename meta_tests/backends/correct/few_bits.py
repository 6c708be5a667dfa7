"""Numbers in few bits by other formulas than those of the oracle: reciprocals, tables, bits, and PyTorch's own casts."""

import numpy as np
import torch

from backends._narrow_formats import FLOATS, INTEGERS

LEAST_NORMAL = np.float32(2.0**-126)


def numbers_of(dtype):
    """The numbers of a floating format that are not negative, in the order of their codes."""
    bits, fraction_bits, emin, largest = FLOATS[dtype]
    codes = np.arange(1 << (bits - 1))
    exponent, fraction = codes >> fraction_bits, codes % (1 << fraction_bits)
    sizes = np.where(exponent == 0, fraction, fraction + (1 << fraction_bits)) * 2.0 ** (np.maximum(exponent, 1) - 1 + emin)
    return (sizes / (1 << fraction_bits))[sizes / (1 << fraction_bits) <= largest]


def blocks_of(shape, block):
    """The slices of each block, row by row."""
    sizes = [n if size is None else size for n, size in zip(shape[-2:], block, strict=True)]
    for i in range(0, shape[-2], sizes[0]):
        for j in range(0, shape[-1], sizes[1]):
            yield (i // sizes[0], j // sizes[1]), (..., slice(i, i + sizes[0]), slice(j, j + sizes[1]))


class ReciprocalsAndTables:
    """A loop over blocks: the scale is the size times a rounded 1/qmax, and numbers are multiplied by a rounded qmax/size, or by
    1/scale, and found in a table. A block of zeros has the scale 1. Codes are bytes.
    """

    framework = "numpy"
    dtypes = ("float32", "float16")
    carriers = dict.fromkeys(("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"), "codes")
    conventions = {"integer_divisor": "127", "floored": "amax", "small_fp8_scale": "rounded"}

    def dynamic_quantize(
        self, x, global_scale=None, *, dtype, block, scale_dtype="float32", scale_rounding="rceil", eps=0.0, symmetric=True
    ):
        x = x.astype(np.float32)
        places = list(blocks_of(x.shape, block))
        shape = (*x.shape[:-2], *(1 + n for n in places[-1][0]))
        signed = dtype not in INTEGERS or dtype.startswith("int")
        q, scale = np.empty(x.shape, np.int8 if dtype in ("int8", "int4") else np.uint8), np.empty(shape, np.float32)
        zero = np.empty(shape, np.int8 if signed else np.uint8)
        with np.errstate(all="ignore"):
            for place, part in places:
                s, z, codes = self.one_block(x[part], global_scale, dtype, scale_dtype, scale_rounding, eps, symmetric)
                q[part], scale[(..., *place)], zero[(..., *place)] = codes, s, z
            return (q, self.stored(scale, scale_dtype)) if symmetric else (q, scale, zero)

    def one_block(self, x, g, dtype, scale_dtype, rule, eps, symmetric):
        one = np.float32(1)
        if not symmetric:
            least, largest = INTEGERS[dtype]
            low, high = np.minimum(x.min((-1, -2)), 0), np.maximum(x.max((-1, -2)), 0)
            scale = (high - low) * (one / np.float32(largest - least))
            inverse = np.where(scale >= LEAST_NORMAL, one / scale, one)
            zero = np.clip(least - np.rint(np.maximum(low * inverse, -1000)), least, largest)
            t = np.rint(np.clip(x * inverse[..., None, None], -1000, 1000))
            return scale, zero, np.clip(t + zero[..., None, None], least, largest)
        size = np.maximum(np.abs(x).max((-1, -2)), np.float32(eps))
        largest = np.float32(FLOATS[dtype][3] if dtype in FLOATS else INTEGERS[dtype][1])
        if scale_dtype == "float32":
            scale = np.where(size > 0, size * (one / largest), one)
            exact = np.frexp(scale)[0] == 0.5
            inverse = np.where(size >= LEAST_NORMAL * largest, np.where(exact, one / scale, largest / size), 0)
        elif scale_dtype == "float8_e8m0fnu":
            scale = self.power_of_two(size, dtype, rule).astype(np.float32)
            inverse = (1 / scale.astype(np.float64)).astype(np.float32)
        else:
            sizes = numbers_of("float8_e4m3fn")
            wide = size * (one / (largest if g is None else largest * np.float32(g)))
            scale = sizes[self.nearest(wide.astype(np.float64), sizes)].astype(np.float32)
            inverse = np.where(scale > 0, one / np.where(scale > 0, scale, one), 0)
        t = x * inverse[..., None, None].astype(np.float32)
        t = t if g is None else t * (one / np.float32(g))
        if dtype in INTEGERS:
            return scale, 0, np.clip(np.rint(t), -largest, largest)
        code = self.nearest(np.abs(t).astype(np.float64), numbers_of(dtype))
        minus = np.signbit(x) & ~((code == 0) & dtype.endswith("uz"))
        return scale, 0, code | minus << (FLOATS[dtype][0] - 1)

    def nearest(self, sizes, numbers):
        code = np.clip(np.searchsorted(numbers, sizes), 1, len(numbers) - 1)
        up = numbers[code] - sizes
        down = sizes - numbers[code - 1]
        return np.where((down < up) | ((down == up) & (code % 2 == 1)), code - 1, code)

    def power_of_two(self, size, dtype, rule):
        wide, (_, fraction_bits, _, largest) = size.astype(np.float64), FLOATS[dtype]
        if rule == "rceil":
            s = np.ceil(np.log2(wide / largest))
            s = np.where(np.exp2(s - 1) * largest >= wide, s - 1, np.where(np.exp2(s) * largest < wide, s + 1, s))
        else:
            e = np.floor(np.log2(wide))
            e = np.where(np.exp2(e) > wide, e - 1, np.where(np.exp2(e + 1) <= wide, e + 1, e))
            up = (rule == "even") & (wide * np.exp2(-e) >= 2 - 2.0 ** -(fraction_bits + 1))
            s = e + up - np.floor(np.log2(largest))
        return np.exp2(np.clip(np.where(wide > 0, s, -127), -127, 127))

    def stored(self, scale, scale_dtype):
        if scale_dtype == "float8_e8m0fnu":
            return (np.log2(scale.astype(np.float64)) + 127).astype(np.uint8)
        return (
            self.nearest(scale.astype(np.float64), numbers_of("float8_e4m3fn")).astype(np.uint8) if "8" in scale_dtype else scale
        )


class CastsOfTorch:
    """PyTorch's cast of a float32 quotient to float8_e4m3fn, and the exponent of the size as `torch.frexp` gives it."""

    framework = "torch"
    domain = {
        "dynamic_quantize": {
            "dtype": ("float8_e4m3fn", "float8_e5m2"),
            "scale_dtype": ("float32", "float8_e8m0fnu"),
            "scale_rounding": ("rceil",),
            "symmetric": (True,),
            "block": ((1, 32), (1, 128), (1, None), (None, None)),
        }
    }

    def dynamic_quantize(self, x, *, dtype, block, scale_dtype="float32", eps=0.0):
        size = block[1] or x.shape[-1]
        k = x.shape[-1]
        padded = torch.nn.functional.pad(x.float(), (0, -k % size)).unflatten(-1, (-1, size))
        amax = padded.abs().amax(-1)
        amax = amax.amax(-2, keepdim=True) if block[0] is None else amax
        amax = torch.clamp(amax, min=eps)
        largest = torch.finfo(getattr(torch, dtype)).max
        scale = amax / largest
        scale = torch.where(scale > 0, scale, 1.0)
        if scale_dtype == "float8_e8m0fnu":
            fraction, exponent = torch.frexp(scale)
            scale = torch.ldexp(torch.ones(()), (exponent - (fraction == 0.5).int()).clamp(-127, 127))
        t = (padded / scale.double().unsqueeze(-1)).float().flatten(-2)[..., :k].clamp(-largest, largest)
        return t.to(getattr(torch, dtype)), scale.to(getattr(torch, scale_dtype))
