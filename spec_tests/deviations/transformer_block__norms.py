"""What goes wrong with the two norms of transformer_block."""

from typing import Any

from . import deviation
from .transformer_block import Part, apply_pre_norm, instead_of


@deviation("reference", "norms_are_their_own")
@instead_of(apply_pre_norm)
def norms_swapped(x: Any, attention: Part, ffn: Part, norm_1: Part, norm_2: Part) -> Any:
    """the two gains are exchanged.

    Shows: gains that differ. Hides: gains of 1.
    """
    return apply_pre_norm(x, attention, ffn, norm_2, norm_1)


@deviation("reference", "norms_are_their_own")
@instead_of(apply_pre_norm)
def first_norm_twice(x: Any, attention: Part, ffn: Part, norm_1: Part, norm_2: Part) -> Any:
    """attn_norm stands before both sub-layers, and ffn_norm is not used.

    Shows: gains that differ. Hides: gains of 1.
    """
    return apply_pre_norm(x, attention, ffn, norm_1, norm_1)


@deviation("reference", "norms_are_their_own", "attention_half")
@instead_of(apply_pre_norm)
def first_norm_missing(x: Any, attention: Part, ffn: Part, norm_1: Part, norm_2: Part) -> Any:
    """attention takes x as it is.

    Shows: rows far from unit variance, a gain other than 1. Hides: normalized input.
    """
    return apply_pre_norm(x, attention, ffn, lambda h: h, norm_2)


@deviation("reference", "norms_are_their_own", "feed_forward_half")
@instead_of(apply_pre_norm)
def second_norm_missing(x: Any, attention: Part, ffn: Part, norm_1: Part, norm_2: Part) -> Any:
    """swiglu takes h as it is.

    Shows: rows far from unit variance, a gain other than 1. Hides: normalized input.
    """
    return apply_pre_norm(x, attention, ffn, norm_1, lambda h: h)


@deviation("reference", "feed_forward_half")
@instead_of(apply_pre_norm)
def second_eps_fixed(x: Any, attention: Part, ffn: Part, norm_1: Part, norm_2: Any) -> Any:
    """the second norm has eps = 1e-6 whatever is given.

    Shows: a large eps, small rows. Hides: eps = 1e-6, ordinary rows.
    """
    return apply_pre_norm(x, attention, ffn, norm_1, lambda h: norm_2(h, 1e-6))
