"""What goes wrong with scaled_matmul: its numbers, zero points, bias and sums."""

from typing import Any

import numpy as np

from reference_numpy._narrow import INTEGERS, spread
from reference_numpy.scaled_matmul import scaled_matmul
from spec_tests.specification.formats import FORMATS, Format
from spec_tests.specification.narrow_formats import NARROW_FORMATS

from . import deviation
from ._dequantized import plain
from ._scaled import multiply, rescale
from ._steps import accumulate, make_rounder

CODE_VALUES = ("https://github.com/microsoft/onnxruntime/pull/29350",)
HOPPER = Format("the sums of FP8 products on Hopper", 14, -126, 127)
MIDDLE = 8  # of uint4


# --- numbers and zero points ----------------------------------------------------------------------------------------


@deviation("reference", seen=CODE_VALUES)
def code_for_the_number(*arrays: Any, **options: Any) -> Any:
    """the code of a four-bit float is taken for its number: 0 to 7, and a sign.

    Shows: float4_e2m1fn. Hides: other formats.
    """

    def read(q: Any, dtype: str) -> Any:
        f = NARROW_FORMATS["float4_e2m1fn"]
        return np.copysign(f.encode(np.abs(q)).astype(float), q) if dtype == f.name else q

    return rescale(*arrays, **options, read=read)


@deviation("reference", "rows_are_independent")
def wide_operand_quantized(*arrays: Any, **options: Any) -> Any:
    """a wide a is quantized to eight bits on the way, at the scale of the largest of all its numbers.

    Shows: a in float32 or in 16 bits. Hides: a in few bits.
    """

    def read(q: Any, dtype: str) -> Any:
        if dtype not in FORMATS or q.size == 0:
            return q
        step = np.max(np.abs(q)) / INTEGERS["int8"][1]
        return np.rint(q / np.where(step == 0, 1.0, step)) * step

    return rescale(*arrays, **options, read=read)


@deviation("reference", "shifted_together", "zero_point_is_zero")
def zero_points_ignored(*arrays: Any, **options: Any) -> Any:
    """zero points are not used.

    Shows: any zero point but 0. Hides: none, or 0.
    """
    return rescale(*arrays, **options, difference=lambda q, z, dtype: q)


@deviation("reference", "stored_zero_point", "zero_point_is_zero")
def zero_point_of_eight(*arrays: Any, **options: Any) -> Any:
    """zero points of four bits are taken to be 8, the middle of the range, whatever they are.

    Shows: other zero points of uint4. Hides: 8; other formats.
    """

    def middle(q: Any, z: Any, dtype: str) -> Any:
        return q - MIDDLE if dtype == "uint4" else q - z

    return rescale(*arrays, **options, difference=middle)


@deviation("reference")
def zero_point_a_not_in_the_cross_term(*arrays: Any, **options: Any) -> Any:
    """where products and zero points are added up apart, the term of both zero points is left out.

    Shows: zero points of both operands. Hides: those of one alone.
    """
    zero_points = [arrays[i] if len(arrays) > i else options.get(f"zero_point_{'ab'[i - 4]}") for i in (4, 5)]
    y = scaled_matmul(*arrays, **options)
    if any(z is None for z in zero_points):
        return y
    shapes = [arrays[i].shape for i in (0, 1)]
    scales = [arrays[i + 2] if len(arrays) > i + 2 else options[f"scale_{'ab'[i]}"] for i in (0, 1)]
    blocks = options["block_a"], options["block_b"]
    cross = [
        spread(plain(s) * np.asarray(z, dtype=float), block, shape)
        for s, z, block, shape in zip(scales, zero_points, blocks, shapes, strict=True)
    ]
    return y - multiply(*cross)


@deviation("reference")
def difference_in_eight_bits(*arrays: Any, **options: Any) -> Any:
    """the difference of a number and its zero point is computed in eight bits, and wraps around.

    Shows: differences beyond the range of the carrier. Hides: others.
    """

    def wrap(q: Any, z: Any, dtype: str) -> Any:
        low = -128 if INTEGERS[dtype][0] < 0 else 0
        return (q - z - low) % 256 + low

    return rescale(*arrays, **options, difference=wrap)


# --- the bias -------------------------------------------------------------------------------------------------------


def _split_bias(arrays: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, Any]:
    """Return the result without the bias, and the bias, None if there is none."""
    bias = arrays[6] if len(arrays) > 6 else options.get("bias")
    given = (*arrays[:6], None, *arrays[7:]) if len(arrays) > 6 else arrays
    return scaled_matmul(*given, **{name: x for name, x in options.items() if name != "bias"}), bias


@deviation("reference", "bias_is_added_once")
def bias_ignored(*arrays: Any, **options: Any) -> Any:
    """the bias is not added.

    Shows: a bias. Hides: none, or zeros.
    """
    return _split_bias(arrays, options)[0]


@deviation("reference", "bias_is_added_once")
def bias_for_each_block(*arrays: Any, **options: Any) -> Any:
    """the bias is added with the sum of each block of K.

    Shows: a bias, and several blocks of K. Hides: no bias, or a single block.
    """
    y, bias = _split_bias(arrays, options)
    size, length = options["block_b"][1], arrays[0].shape[-1]
    return y if bias is None else y + bias * float(1 if size is None else max(-(-length // size), 1))


@deviation("reference")
def bias_times_the_global_scale(*arrays: Any, **options: Any) -> Any:
    """the bias is added before the global scale of b multiplies.

    Shows: a bias beside a global scale. Hides: one alone.
    """
    y, bias = _split_bias(arrays, options)
    g = options.get("global_scale_b")
    return y if bias is None else y + (bias if g is None else bias * g)


# --- sums -----------------------------------------------------------------------------------------------------------


@deviation("reference", kind="arithmetic", dtypes=("float32",))
def summed_in_bfloat16(*arrays: Any, **options: Any) -> Any:
    """partial sums are kept in bfloat16.

    Shows: float32, more than a few terms. Hides: few terms; bfloat16 partly.
    """
    return rescale(*arrays, **options, contract=_sum_in(FORMATS["bfloat16"]))


@deviation("reference", kind="arithmetic", dtypes=("float32",))
def summed_in_fourteen_bits(*arrays: Any, **options: Any) -> Any:
    """partial sums keep fourteen bits, as those of FP8 products on Hopper do.

    Shows: float32. Hides: bfloat16.
    """
    return rescale(*arrays, **options, contract=_sum_in(HOPPER))


def _sum_in(f: Format) -> Any:
    """Return a product of matrices whose partial sums are rounded to this format."""
    hold = make_rounder(f)

    def contract(left: Any, right: Any) -> Any:
        terms = np.expand_dims(left, -2) * np.expand_dims(right, -3)
        total = accumulate(terms, hold)
        return np.reshape(total, total.shape[:-1])

    return contract


@deviation("reference", kind="arithmetic", dtypes=("float32",))
def weights_in_bfloat16(*arrays: Any, **options: Any) -> Any:
    """the weight and its scale are multiplied in bfloat16, whatever a is.

    Shows: float32, a in few bits or in float32. Hides: a in bfloat16; scales that are powers of two.
    """
    hold = make_rounder(FORMATS["bfloat16"])
    return rescale(*arrays, **options, contract=lambda left, right: multiply(left, hold(right)))


# --- levels ---------------------------------------------------------------------------------------------------------


@deviation("nan_codes")
def nan_is_zero(*arrays: Any, **options: Any) -> Any:
    """a NaN counts as 0.

    Shows: codes of NaN. Hides: finite ones.
    """
    return rescale(*arrays, **options, read=lambda q, dtype: np.where(np.isnan(q), 0.0, q))
