"""What goes wrong when two attention states are merged."""

from typing import Any

import numpy as np

from reference_numpy._marks import above_minus_infinity, finite_or_zero, float64
from reference_numpy.merge_attention_states import merge_attention_states

from . import HALF, deviation
from .attention_with_lse import BASE_TWO

ONE_BIT = float(np.log(2.0))


@deviation(
    "reference",
    "weights",
    "parts_make_the_whole",
    kind="convention",
    seen=(*BASE_TWO, "https://github.com/sgl-project/sglang/pull/35045", "https://github.com/vllm-project/vllm/pull/28840"),
)
def lse_taken_for_bits(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any) -> Any:
    """lse is read as a logarithm to the base 2: the weights are 2^(lse − max), and the merged lse is to that base.

    Shows: two different lse. Hides: equal ones; one far above the other.
    """
    out, lse = merge_attention_states(out_a, float64(lse_a) * ONE_BIT, out_b, float64(lse_b) * ONE_BIT)
    return out, lse * (1 / ONE_BIT)


@deviation("reference", "weights", "parts_make_the_whole", seen=BASE_TWO)
def weights_to_the_base_two(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any) -> Any:
    """the weights are 2^(lse − max), but the merged lse is natural: two kernels disagree about the base.

    Shows: two different lse. Hides: equal ones; one far above the other; lse is right.
    """
    out, _ = merge_attention_states(out_a, float64(lse_a) * ONE_BIT, out_b, float64(lse_b) * ONE_BIT)
    return out, merge_attention_states(out_a, lse_a, out_b, lse_b)[1]


@deviation("reference", "weights", "parts_make_the_whole")
def outs_averaged(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any) -> Any:
    """out is the mean of the two parts, whatever their weights.

    Shows: different lse. Hides: equal ones; lse is right.
    """
    _, lse = merge_attention_states(out_a, lse_a, out_b, lse_b)
    return (float64(out_a) + float64(out_b)) / 2, lse


@deviation("reference", "weights", "parts_make_the_whole")
def weights_exchanged(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any) -> Any:
    """each part has the weight of the other.

    Shows: different lse. Hides: equal ones; lse is right.
    """
    return merge_attention_states(out_a, lse_b, out_b, lse_a)


@deviation("reference", "equal_parts", "one_part_after_the_other")
def lse_of_the_larger(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any) -> Any:
    """the merged lse is the larger of the two: right after one merge, wrong after the next.

    Shows: lse near each other. Hides: a single merge whose lse nobody reads.
    """
    out, _ = merge_attention_states(out_a, lse_a, out_b, lse_b)
    return out, np.maximum(lse_a, lse_b)


@deviation("reference", "one_part_after_the_other")
def lse_of_the_first(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any) -> Any:
    """the merged lse is that of the first part: the new one is not written back.

    Shows: a second merge. Hides: a single one whose lse nobody reads.
    """
    out, _ = merge_attention_states(out_a, lse_a, out_b, lse_b)
    return out, 1.0 * float64(lse_a)


@deviation("reference", "equal_parts", "between_the_parts")
def not_normalized(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any) -> Any:
    """the weights are exp(lse − max), without the division by their sum.

    Shows: lse near each other. Hides: one far above the other.
    """
    _, lse = merge_attention_states(out_a, lse_a, out_b, lse_b)
    top = finite_or_zero(np.maximum(lse_a, lse_b))
    w_a, w_b = (np.expand_dims(np.exp(x - top), axis=-1) for x in (lse_a, lse_b))
    a, b = (np.where(np.expand_dims(above_minus_infinity(x), axis=-1), y, 0.0) for x, y in ((lse_a, out_a), (lse_b, out_b)))
    return w_a * a + w_b * b, lse


@deviation("reference")
def maximum_not_subtracted(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any) -> Any:
    """the weights are exp(lse) themselves, which overflow and underflow.

    Shows: lse beyond the range of exp: ±88 in float32, ±709 in float64. Hides: ordinary lse.
    """
    e_a, e_b = np.exp(float64(lse_a)), np.exp(float64(lse_b))
    total = e_a + e_b
    a, b = (np.where(np.expand_dims(above_minus_infinity(x), axis=-1), y, 0.0) for x, y in ((lse_a, out_a), (lse_b, out_b)))
    w_a, w_b = (np.expand_dims(e / total, axis=-1) for e in (e_a, e_b))
    return w_a * a + w_b * b, np.log(total)


@deviation("reference", "a_part_without_keys")
def rubbish_of_an_empty_part(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any) -> Any:
    """the out of a part that saw no key is multiplied by its weight of 0: NaN and infinities in it reach the result.

    Shows: NaN or an infinity where a part saw no key, as memory holds that nobody wrote. Hides: zeros there.
    """
    top = finite_or_zero(np.maximum(lse_a, lse_b))
    e_a, e_b = np.exp(lse_a - top), np.exp(lse_b - top)
    w_a, w_b = (np.expand_dims(e / (e_a + e_b), axis=-1) for e in (e_a, e_b))
    return w_a * out_a + w_b * out_b, merge_attention_states(out_a, lse_a, out_b, lse_b)[1]


@deviation("neither_has_keys")
def nan_of_two_empty_parts(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any) -> Any:
    """lse − max is −∞ − (−∞) where neither part saw a key, so that the merged lse is NaN.

    Shows: two parts that saw no key. Hides: one of them that saw one.
    """
    out, lse = merge_attention_states(out_a, lse_a, out_b, lse_b)
    return out, np.where(above_minus_infinity(lse), lse, np.nan)


@deviation("a_part_without_keys", "reference")
def empty_if_the_first_is(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any) -> Any:
    """where the first part saw no key the result is that of an empty one, whatever the second saw.

    Shows: a first part without keys. Hides: a second one without.
    """
    out, lse = merge_attention_states(out_a, lse_a, out_b, lse_b)
    seen = above_minus_infinity(lse_a)
    return np.where(np.expand_dims(seen, axis=-1), out, 0.0), np.where(seen, lse, -np.inf)


@deviation("reference", kind="arithmetic", dtypes=HALF)
def lse_in_sixteen_bits(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any, *, held: Any) -> Any:
    """lse is rounded to the dtype of out before it is used.

    Shows: lse of 16 and more, whose rounding errors are no longer small. Hides: lse near 0.
    """
    return merge_attention_states(out_a, held(float64(lse_a)), out_b, held(float64(lse_b)))
