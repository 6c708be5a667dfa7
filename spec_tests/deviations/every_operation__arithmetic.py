"""What goes wrong with arguments and results on their way in and out, whatever the operation computes between."""

from typing import Any

import numpy as np

from spec_tests.specification.formats import FORMATS, Format

from . import HALF, deviation
from ._faults import (
    FEED_FORWARD_OPERATIONS,
    MODEL_OPERATIONS,
    NORM_OPERATIONS,
    Flushing,
    Saturating,
    Truncating,
    change_numbers,
    change_rounding,
)
from ._steps import make_rounder

FLOAT32, FLOAT16, BFLOAT16 = FORMATS["float32"], FORMATS["float16"], FORMATS["bfloat16"]
TF32, LARGEST_PARAMETER = Format("tf32", 11, -126, 127), 1e300


@deviation(
    "reference",
    kind="arithmetic",
    dtypes=("float64",),
    operations=(
        "logsumexp",
        "sigmoid",
        "silu",
        "gelu",
        "rope",
        *FEED_FORWARD_OPERATIONS,
        "grouped_query_attention",
        "local_attention",
        *MODEL_OPERATIONS,
    ),
)
def float64_computed_in_float32(*arguments: Any, equation: Any, **keywords: Any) -> Any:
    """float64 arguments are computed in float32.

    Shows: float64. Hides: all other dtypes.
    """
    single = make_rounder(FLOAT32)
    arguments, keywords = change_numbers(single, arguments, keywords)
    return single(equation(*arguments, **keywords))


@deviation("reference", kind="arithmetic", dtypes=("float32",), operations=("glu", "swiglu", "feed_forward", "log_softmax"))
def operands_in_bfloat16(*arguments: Any, equation: Any, **keywords: Any) -> Any:
    """float32 arguments are rounded to bfloat16 first, as under automatic mixed precision.

    Shows: float32. Hides: values of few bits, 16-bit dtypes.
    """
    arguments, keywords = change_numbers(make_rounder(BFLOAT16), arguments, keywords)
    return equation(*arguments, **keywords)


@deviation(
    "reference", kind="arithmetic", dtypes=("float32",), operations=("glu", "swiglu", "feed_forward", "grouped_query_attention")
)
def operands_in_tf32(*arguments: Any, equation: Any, **keywords: Any) -> Any:
    """float32 arguments are rounded to the eleven bits of TF32 first, as tensor cores may.

    Shows: float32. Hides: values of few bits, 16-bit dtypes.
    """
    arguments, keywords = change_numbers(make_rounder(TF32), arguments, keywords)
    return equation(*arguments, **keywords)


@deviation("reference", kind="arithmetic", dtypes=("float32", "bfloat16"), operations=("log_softmax", "logsumexp", "silu"))
def operands_in_float16(*arguments: Any, equation: Any, **keywords: Any) -> Any:
    """arguments are converted to float16 first, which overflows at 65520 and vanishes below 6e-8.

    Shows: float32; large and small bfloat16 numbers. Hides: ordinary bfloat16 numbers.
    """
    arguments, keywords = change_numbers(make_rounder(FLOAT16), arguments, keywords)
    return equation(*arguments, **keywords)


@deviation(
    "reference", kind="arithmetic", dtypes=("float32", "float16"), operations=("rms_norm", "layer_norm", "rope", "feed_forward")
)
def result_through_bfloat16(*arguments: Any, equation: Any, **keywords: Any) -> Any:
    """the result is rounded to bfloat16 before it is stored in the dtype of the arguments.

    Shows: float32 and float16. Hides: bfloat16.
    """
    return make_rounder(BFLOAT16)(equation(*arguments, **keywords))


@deviation("reference", kind="arithmetic", dtypes=("float32",), operations=("softmax", "log_softmax", "logsumexp", "sigmoid"))
def result_through_float16(*arguments: Any, equation: Any, **keywords: Any) -> Any:
    """the result is rounded to float16 before it is stored in float32.

    Shows: float32. Hides: float16.
    """
    return make_rounder(FLOAT16)(equation(*arguments, **keywords))


@deviation("unbiased", "reference", kind="arithmetic", dtypes=HALF, operations=NORM_OPERATIONS)
@deviation("unbiased", kind="arithmetic", dtypes=HALF, operations=("linear", "alibi_bias"))
def result_cut_off(*arguments: Any, equation: Any, storage: Format, **keywords: Any) -> Any:
    """the upper half of a float32 is stored, which is not the nearest number of 16 bits.

    Shows: the mean error of many results. Hides: a single result, where a rounding more is allowed.
    """
    return make_rounder(change_rounding(Truncating, storage))(equation(*arguments, **keywords))


@deviation("reference", kind="arithmetic", dtypes=("float16",), operations=("silu", "gelu", "linear", "glu"))
def small_results_flushed(*arguments: Any, equation: Any, storage: Format, **keywords: Any) -> Any:
    """results below the normal range of float16 are flushed to zero.

    Shows: float16 results below 6e-5. Hides: ordinary results.
    """
    return make_rounder(change_rounding(Flushing, storage))(equation(*arguments, **keywords))


@deviation("reference", kind="arithmetic", dtypes=("float16",), operations=("layer_norm", "relu", "silu", "gelu"))
def small_arguments_flushed(*arguments: Any, equation: Any, storage: Format, **keywords: Any) -> Any:
    """arguments below the normal range of float16 are treated as zero.

    Shows: float16 arguments below 6e-5. Hides: ordinary arguments.
    """
    arguments, keywords = change_numbers(make_rounder(change_rounding(Flushing, storage)), arguments, keywords)
    return equation(*arguments, **keywords)


@deviation("infinities", kind="arithmetic", operations=("silu", "gelu"))
@deviation("nothing_but_minus_infinity", kind="arithmetic", operations=("logsumexp",))
def infinities_clamped(*arguments: Any, equation: Any, storage: Format, **keywords: Any) -> Any:
    """infinite arguments are clamped to the largest finite value.

    Shows: infinities. Hides: finite arguments.
    """
    arguments, keywords = change_numbers(make_rounder(change_rounding(Saturating, storage)), arguments, keywords)
    return equation(*arguments, **keywords)


@deviation("reference", kind="arithmetic", operations=("layer_norm", "rope", "transformer_lm"))
def parameters_in_float16(*arguments: Any, equation: Any, **keywords: Any) -> Any:
    """eps, theta and scale are kept in float16: an eps of 1e-8 is 0, a theta beyond 65519 infinite.

    Shows: a small eps, a large theta, a scale of many bits. Hides: powers of two.
    """
    return equation(*arguments, **_round_parameters(FLOAT16, keywords))


@deviation(
    "reference",
    kind="arithmetic",
    dtypes=("float64", "float32"),
    operations=("rms_norm", "layer_norm", "rope", "grouped_query_attention"),
)
def parameters_in_bfloat16(*arguments: Any, equation: Any, **keywords: Any) -> Any:
    """eps, theta and scale are kept in bfloat16.

    Shows: float32, small rows, a theta of 10000. Hides: powers of two.
    """
    return equation(*arguments, **_round_parameters(BFLOAT16, keywords))


def _round_parameters(f: Format, keywords: dict[str, Any]) -> dict[str, Any]:
    names = [name for name in ("eps", "theta", "scale") if keywords.get(name) is not None]
    given = {name: getattr(keywords[name], "value", keywords[name]) for name in names}
    kept = {name: float(f.round(np.asarray(x, dtype=float))) for name, x in given.items()}
    return keywords | {
        name: min(x, LARGEST_PARAMETER) for name, x in kept.items()
    }  # its powers are the infinite one's, but have a bound
