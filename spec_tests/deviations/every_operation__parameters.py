"""What goes wrong with numbers that count though they are falsy, whatever the operation."""

from typing import Any

from . import deviation
from ._faults import ATTENTION_OPERATIONS, MASK_OPERATIONS, NORM_OPERATIONS


def _replace_zeros(keywords: dict[str, Any], **instead: Any) -> dict[str, Any]:
    """Return the keywords, with other values instead of zeros."""
    return keywords | {name: x for name, x in instead.items() if keywords.get(name) == 0}


@deviation("reference", kind="fault", operations=NORM_OPERATIONS)
def eps_of_zero_taken_for_none(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """`eps or 1e-5`: an eps of 0 is replaced by 1e-5.

    Shows: eps = 0 and small rows. Hides: any other eps.
    """
    return right(*arguments, **_replace_zeros(keywords, eps=1e-5))


@deviation("reference", kind="fault", like=("scale-zero-is-unset",), operations=ATTENTION_OPERATIONS)
def scale_of_zero_taken_for_none(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """`scale or 1 / sqrt(d_k)`: a scale of 0 is replaced by the default.

    Shows: scale = 0. Hides: any other scale.
    """
    return right(*arguments, **_replace_zeros(keywords, scale=None))


@deviation("reference", kind="fault", operations=(*MASK_OPERATIONS, "alibi_bias"))
def m_of_zero_taken_for_none(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """`m or n`: zero keys are treated as n keys.

    Shows: m = 0. Hides: any other m.
    """
    return right(*arguments, **_replace_zeros(keywords, m=None))


@deviation("reference", kind="fault", like=("zero-as-none",), operations=("sliding_window_mask", "local_attention"))
def window_of_zero_taken_for_none(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """`if window:`: a window of 0 is treated as no window.

    Shows: window = 0. Hides: any other window.
    """
    return right(*arguments, **_replace_zeros(keywords, window=10**6))
