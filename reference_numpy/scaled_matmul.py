from typing import Any

import numpy as np

from ._marks import contracted, float64, joined, narrowed
from ._narrow import FLOATS, INTEGERS, ROUNDED_TO, check_blocks, count_pieces, subtracted, to_numbers, to_sizes, two_levels

WIDE = ("float32", "bfloat16", "float16")


def scaled_matmul(
    a: Any,
    b: Any,
    scale_a: Any = None,
    scale_b: Any = None,
    zero_point_a: Any = None,
    zero_point_b: Any = None,
    bias: Any = None,
    global_scale_a: Any = None,
    global_scale_b: Any = None,
    *,
    a_dtype: str,
    b_dtype: str,
    block_a: Any = None,
    block_b: Any,
    scale_dtype_a: str = "float32",
    scale_dtype_b: str = "float32",
    dtype: str = "bfloat16",
) -> Any:
    """A product of matrices of numbers in few bits, each times the scale of its block.

        y = global_scale_a * global_scale_b * sum_k((a - zero_point_a) * scale_a * (b - zero_point_b) * scale_b) + bias

    Shapes
        a (..., M, K),  b (N, K),  scale_a and zero_point_a (..., R, C),  scale_b and zero_point_b (S, D),  bias (N),
        global_scale_a (),  global_scale_b ()  ->  (..., M, N)
    Dtypes
        of the format that dtype names
    Domain
        a and b are both of floating formats, or both integers; or a is float32, bfloat16 or float16, without a scale, and b of
        any format. Scales are of the formats that scale_dtype_a and scale_dtype_b name, and positive. Zero points go with
        integers, int8 for signed formats and uint8 for unsigned ones, and global scales with scales in float8_e4m3fn.
        Products of scales lie between 2^-60 and 2^60. The bias has the dtype of the result.
    Edges
        A NaN in a row of a makes that row NaN, one in a row of b that column. The last block of an axis may be shorter.

    Raises
        ValueError where a_dtype or b_dtype is no format, dtype is not float32, bfloat16 or float16, or a scale has other blocks.
    Choices
        A block is (rows, columns), None for a whole axis, as in quantize. b is stored (N, K), as the weight of linear.
        Sums are kept in float32 or in integers, in any order and split. Beside an a of 16 bits, code may round
        (b - zero_point_b) * scale_b to the dtype of a. Some global scales divide, and some code stores zero points less one:
        the conventions global_scale and stored_zero_point.
    Source
        PyTorch, torch.nn.functional.scaled_mm; Rouhani et al. 2023, arXiv:2310.10537; Frantar et al. 2022, arXiv:2210.17323.

    >>> scaled_matmul([[1.0, 2.0]], [[4.0, -1.0], [0.5, 8.0]], [[0.5]], [[2.0], [1.0]],
    ...               a_dtype="float8_e4m3fn", b_dtype="float8_e4m3fn", block_a=(None, None), block_b=(1, None))
    array([[2.  , 8.25]])
    >>> scaled_matmul([[0.5, 0.25]], [[9, 4]], None, [[2.0]], None, [[8]], a_dtype="bfloat16", b_dtype="uint4",
    ...               block_b=(1, None))
    array([[-1.]])

    """
    for name, given, known in (("a_dtype", a_dtype, WIDE), ("b_dtype", b_dtype, ()), ("dtype", dtype, WIDE)):
        formats = known if name == "dtype" else (*FLOATS, *INTEGERS, *known)
        if given not in formats:
            raise ValueError(f"scaled_matmul: {name}={given!r} is unknown; there are {', '.join(formats)}.")
    a, b, scale_a, scale_b = (x if x is None else float64(x) for x in (a, b, scale_a, scale_b))
    for name, x, scale, block in (("a", a, scale_a, block_a), ("b", b, scale_b, block_b)):
        if scale is not None:
            check_blocks("scaled_matmul", name, x.shape, scale, block)
    z_a, z_b = (
        None if z is None else subtracted(np.asarray(z), d) for z, d in ((zero_point_a, a_dtype), (zero_point_b, b_dtype))
    )
    of_a, of_b = (a, scale_a, z_a, block_a), (b, scale_b, z_b, block_b)
    factors = two_levels(global_scale_a, global_scale_b)
    pieces = count_pieces(a.shape[-1], block_b, *([] if scale_a is None else [block_a]))
    roundings = a.shape[-1] + pieces + 3 + len(factors) + 2 * (z_a is not None)
    y = contracted(
        to_numbers(*of_a),
        narrowed(to_numbers(*of_b), *ROUNDED_TO.get(a_dtype, (0.0, 0.0))),
        factors=factors,
        sizes=(to_sizes(*of_a), to_sizes(*of_b)),
        roundings=roundings - (bias is not None),
    )
    return y if bias is None else joined(y, float64(bias), n=roundings)
