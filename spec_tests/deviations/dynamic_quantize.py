"""What goes wrong with the scales of dynamic_quantize."""

from typing import Any

import numpy as np

from reference_numpy._marks import float64, number, quotient, stored
from reference_numpy._narrow import FLOATS, INTEGERS, nearest, spread
from reference_numpy._scales import divisor, power_of_two, reduce_blocks, scale_in_float32
from reference_numpy.dynamic_quantize import dynamic_quantize
from spec_tests.specification.formats import FORMATS

from . import deviation
from ._blocks import from_the_end
from ._quantized import away_from_zero, saturate, step_at
from ._steps import make_rounder
from ._with_parts import change_numbers, is_zero, with_parts

FLYDSL = ("https://github.com/ROCm/FlyDSL/pull/590",)
AITER_TIES = ("https://github.com/ROCm/aiter/pull/3992", "https://github.com/ROCm/aiter/pull/4030")
AITER_SCALES = ("https://github.com/ROCm/aiter/pull/1258",)
ZERO_OVER_ZERO = ("https://github.com/InternLM/lmdeploy/pull/3652", "https://github.com/ROCm/TransformerEngine/pull/737")
ZERO_GROUPS = ("https://github.com/vllm-project/vllm/pull/58032",)
MLX = ("https://github.com/ml-explore/mlx/pull/4353",)


# --- scales that are powers of two ----------------------------------------------------------------------------------


@deviation("reference", "power_of_two_of_each_size", seen=FLYDSL)
def power_of_two_rounded_down(*arrays: Any, **options: Any) -> Any:
    """a scale in float8_e8m0fnu is the power of two below A / qmax.

    Shows: rceil, sizes that are not qmax times a power of two. Hides: those; other scales.
    """

    def down(size: Any, dtype: str, rule: str) -> Any:
        s = power_of_two(size, dtype, rule)
        return np.where((rule == "rceil") & (s * divisor(dtype) > size) & (s > 2.0**-127), s / 2, s)

    return with_parts(arrays, options, power_of_two=down)


@deviation("reference", "power_of_two_of_each_size", seen=MLX)
def nearest_power_of_two(*arrays: Any, **options: Any) -> Any:
    """a scale in float8_e8m0fnu is the power of two that is nearest to A / qmax.

    Shows: rceil and floor, about a half of all sizes. Hides: qmax times a power of two; other scales.
    """

    def nearest_power(size: Any, dtype: str, rule: str) -> Any:
        with np.errstate(all="ignore"):
            s = np.rint(np.log2(size / divisor(dtype)))
        return np.ldexp(1.0, np.clip(np.where(size == 0, -127, np.nan_to_num(s)), -127, 127).astype(int))

    return with_parts(arrays, options, power_of_two=nearest_power)


@deviation("reference", "power_of_two_of_each_size")
def floor_for_every_rule(*arrays: Any, **options: Any) -> Any:
    """scale_rounding is not used: the exponent of qmax is subtracted from that of A.

    Shows: rceil, sizes above qmax times a power of two; even, sizes just below a power of two. Hides: floor.
    """
    return with_parts(arrays, options, power_of_two=lambda size, dtype, rule: power_of_two(size, dtype, "floor"))


@deviation("power_of_two_of_each_size", kind="arithmetic", dtypes=("float32",))
def logarithm_in_float32(*arrays: Any, **options: Any) -> Any:
    """the exponent of a scale in float8_e8m0fnu comes from a logarithm in float32.

    Shows: rceil, sizes within some roundings of qmax times a power of two; floor, sizes just below a power of two. Hides: even,
    and other sizes.
    """

    def by_logarithm(size: Any, dtype: str, rule: str) -> Any:
        if rule == "even":
            return power_of_two(size, dtype, rule)
        with np.errstate(all="ignore"):
            if rule == "floor":
                s = np.floor(np.log2(np.asarray(size, dtype=np.float32))) - np.floor(np.log2(divisor(dtype)))
            else:
                s = np.ceil(np.log2((size / divisor(dtype)).astype(np.float32)))
        return np.ldexp(1.0, np.clip(np.where(size == 0, -127, np.nan_to_num(s)), -127, 127).astype(int))

    return with_parts(arrays, options, power_of_two=by_logarithm)


# --- the size of a block --------------------------------------------------------------------------------------------


@deviation("reference", "blocks_are_independent", "block_by_block", seen=AITER_SCALES)
def one_scale_for_each_matrix(*arrays: Any, **options: Any) -> Any:
    """the largest number of each matrix gives the scales of all of its blocks.

    Shows: several blocks. Hides: a single one.
    """

    def of_matrix(reduce: Any, x: Any, block: Any) -> Any:
        of_blocks = reduce_blocks(reduce, x, block)
        return 0 * of_blocks + reduce_blocks(reduce, x, (None, None))

    return with_parts(arrays, options, reduce_blocks=of_matrix)


@deviation("reference", "odd")
def size_without_the_sign(*arrays: Any, **options: Any) -> Any:
    """the size of a block is its largest number, and negative ones do not count.

    Shows: blocks whose largest number in size is negative. Hides: others; zero points.
    """
    x = np.maximum(float64(arrays[0]), 0.0)
    part = {"reduce_blocks": lambda reduce, _, block: reduce_blocks(reduce, x, block)} if options.get("symmetric", True) else {}
    return with_parts(arrays, options, **part)


@deviation("reference")
def last_number_left_out(*arrays: Any, **options: Any) -> Any:
    """the last column does not count for the size of its blocks.

    Shows: blocks whose largest number is in the last column. Hides: others, and a single column.
    """

    def shortened(reduce: Any, x: Any, block: Any) -> Any:
        columns = np.minimum(np.arange(x.shape[-1]), max(x.shape[-1] - 2, 0))
        return reduce_blocks(reduce, np.take(x, columns, axis=-1), block)

    return with_parts(arrays, options, reduce_blocks=shortened)


@deviation("reference")
def eps_added(*arrays: Any, **options: Any) -> Any:
    """eps is added to the size of the block.

    Shows: eps above 0, and sizes that are not much larger. Hides: eps of 0; zero points.
    """
    return with_parts(arrays, options, scale_in_float32=lambda size, largest, eps: scale_in_float32(size + eps, largest, 0.0))


@deviation("reference", "floored")
def eps_ignored(*arrays: Any, **options: Any) -> Any:
    """eps is not used.

    Shows: blocks of zeros, and of numbers below eps. Hides: larger ones.
    """
    return dynamic_quantize(*arrays, **{name: x for name, x in options.items() if name != "eps"})


# --- other scales ---------------------------------------------------------------------------------------------------


@deviation("reference")
def largest_of_another_format(*arrays: Any, **options: Any) -> Any:
    """scales of float8_e4m3fn are made of 240, the largest number of float8_e4m3fnuz.

    Shows: float8_e4m3fn. Hides: other formats.
    """
    other = {"float8_e4m3fn": 240.0}
    return with_parts(arrays, options, divisor=lambda dtype: other.get(dtype, divisor(dtype)))


@deviation("reference", "integer_divisor")
def divided_by_128(*arrays: Any, **options: Any) -> Any:
    """scales of signed integers are made of 128, of int4 of 8.

    Shows: symmetric integers. Hides: floating formats, zero points.
    """
    return with_parts(arrays, options, divisor=lambda dtype: divisor(dtype) + (dtype not in FLOATS))


@deviation("reference", "largest_of_a_block")
def reciprocal_returned(*arrays: Any, **options: Any) -> Any:
    """the reciprocal of the scale is returned: qmax / A.

    Shows: any block whose scale is not 1. Hides: scales of few bits.
    """

    def inverse(size: Any, largest: Any, eps: float) -> Any:
        size = np.maximum(size, eps)
        return quotient(np.where(number(size) > 0, largest, 0.0) + 0 * size, np.where(number(size) > 0, size, 1.0), roundings=2)

    return with_parts(arrays, options, scale_in_float32=inverse)


@deviation("reference", kind="arithmetic")
def scale_in_bfloat16(*arrays: Any, **options: Any) -> Any:
    """scales in float32 are rounded to bfloat16.

    Shows: sizes of more than eight bits. Hides: scales of few bits.
    """
    hold = make_rounder(FORMATS["bfloat16"])
    return with_parts(arrays, options, scale_in_float32=lambda *given: hold(scale_in_float32(*given)))


@deviation("reference")
def scale_with_the_sign_of_the_largest(*arrays: Any, **options: Any) -> Any:
    """the scale is the entry of the largest size, with its sign, divided by the least integer, as in GGML's Q4_0.

    Shows: signed integers with a symmetric scale. Hides: floats; blocks of zeros.
    """
    dtype, block = options["dtype"], options["block"]
    if dtype not in INTEGERS or INTEGERS[dtype][0] == 0 or not options.get("symmetric", True):
        return dynamic_quantize(*arrays, **options)
    x, (low, high) = float64(arrays[0]), INTEGERS[dtype]
    above, below = reduce_blocks(np.max, x, block), reduce_blocks(np.max, -x, block)
    largest = np.where(number(above) >= number(below), above, -below)
    scale = quotient(largest, np.asarray(float(low)), roundings=2)
    at = number(scale)
    t = quotient(x, spread(np.where(at == 0, 1.0, at), block, x.shape), roundings=4)
    return stored(t, lambda t: np.clip(np.rint(t), low, high)), scale


@deviation("reference", "half_a_step")
def numbers_of_the_unrounded_scale(*arrays: Any, **options: Any) -> Any:
    """numbers are divided by the scale as it was before it was rounded to few bits.

    Shows: scales of few bits that rounding has moved. Hides: scales in float32.
    """
    seen: list[Any] = []

    def keep(reduce: Any, x: Any, block: Any) -> Any:
        seen.append(reduce_blocks(reduce, x, block))
        return seen[-1]

    def unrounded(x: Any, name: str, **marks: Any) -> Any:
        g, is_narrow = options.get("global_scale"), options.get("scale_dtype", "float32") != "float32"
        if not is_narrow:
            return x
        size = number(seen[-1]) / divisor(options["dtype"]) / (1.0 if g is None else number(g))
        return np.where(size > 0, size, number(x))

    return with_parts(arrays, options, reduce_blocks=keep, answered=unrounded)


@deviation("reference", "two_levels")
def global_scale_ignored(*arrays: Any, **options: Any) -> Any:
    """the global scale is not used.

    Shows: a global scale. Hides: none, or 1.
    """
    return dynamic_quantize(arrays[0], **{name: x for name, x in options.items() if name != "global_scale"})


# --- zeros, and what is nearly zero ---------------------------------------------------------------------------------


@deviation("reference", seen=ZERO_OVER_ZERO)
def zero_over_zero(*arrays: Any, **options: Any) -> Any:
    """a block of zeros is divided by its scale of 0, and becomes NaN where the format has it.

    Shows: blocks of zeros, formats of eight bits. Hides: others; scales in float8_e8m0fnu, which are never 0.
    """
    results = dynamic_quantize(*arrays, **options)
    is_lost = is_zero(results[1]) & options["dtype"].startswith("float8")
    return change_numbers(results, is_lost, np.nan, options["block"])


@deviation("zero_blocks", seen=ZERO_GROUPS)
def zero_blocks_by_place(*arrays: Any, **options: Any) -> Any:
    """blocks of zeros have the scale 2^-33 or 2^-42, by the place of the block.

    Shows: two blocks of zeros in different columns of blocks. Hides: other blocks; scales in few bits.
    """
    q, scale, *others = dynamic_quantize(*arrays, **options)
    if options.get("scale_dtype", "float32") != "float32":
        return q, scale, *others
    places = np.where(np.arange(scale.shape[-1]) % 2 == 0, 2.0**-33, 2.0**-42)
    return q, np.where(is_zero(scale), places, scale), *others


@deviation("small_fp8_scale", "reference")
def small_scales_become_zero(*arrays: Any, **options: Any) -> Any:
    """scales in float8_e4m3fn below 2^-6 become 0.

    Shows: small blocks with such scales. Hides: others.
    """

    def flushed(t: Any, dtype: str) -> Any:
        y = nearest(t, dtype)
        is_scale = dtype == "float8_e4m3fn" and options.get("scale_dtype") == dtype
        return np.where(np.abs(y) < 2.0**-6, 0.0, y) if is_scale else y

    return with_parts(arrays, options, nearest=flushed)


# --- numbers --------------------------------------------------------------------------------------------------------


@deviation("reference", seen=AITER_TIES)
def ties_away_from_zero(*arrays: Any, **options: Any) -> Any:
    """ties go away from zero.

    Shows: quotients midway between two numbers of a floating format. Hides: any other quotient; integers.
    """

    def away(t: Any, dtype: str) -> Any:
        return saturate(away_from_zero(t / step_at(t, dtype)) * step_at(t, dtype), dtype)

    return with_parts(arrays, options, nearest=away)


@deviation("reference", "fp4_ties")
def ties_upward(*arrays: Any, **options: Any) -> Any:
    """ties go up: floor(t + 1/2) steps.

    Shows: negative midpoints below an even number, positive ones above one. Hides: any other quotient; integers.
    """

    def up(t: Any, dtype: str) -> Any:
        return saturate(np.floor(t / step_at(t, dtype) + 0.5) * step_at(t, dtype), dtype)

    return with_parts(arrays, options, nearest=up)


@deviation("reference")
def short_block_first(*arrays: Any, **options: Any) -> Any:
    """the scale of a number is that of a block which is counted from the end of the axis.

    Shows: an axis that is no multiple of its block. Hides: any other.
    """
    return with_parts(arrays, options, spread=from_the_end)


@deviation("reference")
def overflow_to_nan(*arrays: Any, **options: Any) -> Any:
    """what rounds beyond the largest number becomes NaN in formats of eight bits that have it.

    Shows: rounding the scale down: floor, and even. Hides: other scales.
    """

    def overflow(t: Any, dtype: str) -> Any:
        beyond = np.abs(t) >= FLOATS[dtype][2] + step_at(FLOATS[dtype][2], dtype) / 2
        return np.where(beyond & dtype.startswith("float8"), np.nan, nearest(t, dtype))

    return with_parts(arrays, options, nearest=overflow)


@deviation("signed_zero")
def sign_of_zero_lost(*arrays: Any, **options: Any) -> Any:
    """−0, and what rounds to it, becomes 0.

    Shows: the sign of the result's zeros. Hides: its value.
    """
    return with_parts(arrays, options, nearest=lambda t, dtype: nearest(t, dtype) + 0.0)


@deviation("nan_stays_in_its_block")
def nan_skipped(*arrays: Any, **options: Any) -> Any:
    """a NaN does not count for the size of its block, and becomes 0.

    Shows: NaN. Hides: finite numbers.
    """
    x = arrays[0]
    values = number(x)
    return dynamic_quantize(np.where(np.isnan(values), 0.0, x), *arrays[1:], **options)
