"""What goes wrong inside the equations where they are computed in fewer bits, whatever the operation."""

from typing import Any

from spec_tests.deviations._low_precision import compute_in
from spec_tests.specification.formats import FORMATS, Format

from . import HALF, deviation
from ._faults import NORM_OPERATIONS


@deviation("window_counts_both_sides", kind="arithmetic", dtypes=HALF, operations=("local_attention",))
@deviation("reference", kind="arithmetic", dtypes=HALF, operations=("glu", "grouped_query_attention"))
def sums_in_16_bits(*arguments: Any, equation: Any, storage: Format, **keywords: Any) -> Any:
    """every sum is accumulated in the 16 bits of the arguments, term by term.

    Shows: long sums. Hides: short ones.
    """
    return compute_in(equation, arguments, keywords, sums=storage, block=1)


@deviation("reference", kind="arithmetic", dtypes=HALF, operations=("linear", "glu", *NORM_OPERATIONS))
def sums_of_16_in_16_bits(*arguments: Any, equation: Any, storage: Format, **keywords: Any) -> Any:
    """every sum is accumulated in the 16 bits of the arguments, after each block of 16 terms.

    Shows: sums of hundreds of terms. Hides: short ones.
    """
    return compute_in(equation, arguments, keywords, sums=storage, block=16)


@deviation("reference", kind="arithmetic", dtypes=("float32",), operations=("linear", "glu", "swiglu", "feed_forward"))
def every_step_in_bfloat16(*arguments: Any, equation: Any, **keywords: Any) -> Any:
    """every intermediate result of float32 arguments is bfloat16, as where a library's global setting is left on.

    Shows: float32. Hides: 16-bit dtypes.
    """
    return compute_in(equation, arguments, keywords, steps=FORMATS["bfloat16"])


@deviation("reference", kind="arithmetic", dtypes=("float32",), operations=("swiglu", "feed_forward", "multihead_self_attention"))
def products_in_tf32(*arguments: Any, equation: Any, **keywords: Any) -> Any:
    """the operands of every matrix product, intermediate results too, are rounded to the eleven bits of TF32.

    Shows: float32. Hides: 16-bit dtypes.
    """
    return compute_in(equation, arguments, keywords, operands=Format("tf32", 11, -126, 127))
