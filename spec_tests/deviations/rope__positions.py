"""What goes wrong with the positions of rope."""

from typing import Any

import numpy as np

from reference_numpy._marks import wide
from reference_numpy.rope import rope

from . import HALF, deviation
from .rope import with_frequencies


@deviation("reference", "position_zero", "composition", seen=("https://github.com/fla-org/flash-linear-attention/issues/766",))
@with_frequencies
def counted_from_one(x: Any, positions: Any, frequencies: Any, *, layout: str = "interleaved") -> Any:
    """positions are counted from 1: each is one too large.

    Shows: position 0, each element. Hides: attention, where queries and keys share the shift.
    """
    return rope(x, wide(positions) + 1, frequencies, layout=layout)


@deviation("reference", "order_of_tokens")
@with_frequencies
def places_for_positions(x: Any, positions: Any, frequencies: Any, *, layout: str = "interleaved") -> Any:
    """the positions given are ignored: the tokens stand at 0 … n − 1.

    Shows: an offset, any other order. Hides: a whole sequence from its beginning.
    """
    return rope(x, 0 * wide(positions) + np.arange(x.shape[-2]), frequencies, layout=layout)


@deviation(
    "reference", "positions_of_each_batch_entry",
    seen=("https://github.com/unslothai/unsloth/issues/3699", "https://github.com/unslothai/unsloth/pull/4078"),
)  # fmt: skip
@with_frequencies
def of_the_first_entry(x: Any, positions: Any, frequencies: Any, *, layout: str = "interleaved") -> Any:
    """the positions of the first entry of the batch serve for all.

    Shows: positions that differ within the batch. Hides: shared ones.
    """
    return rope(x, positions[(0,) * (positions.ndim - 1)], frequencies, layout=layout)


@deviation("reference", "frequencies", seen=("https://github.com/fla-org/flash-linear-attention/pull/1177",))
@with_frequencies
def beyond_the_table(x: Any, positions: Any, frequencies: Any, *, layout: str = "interleaved") -> Any:
    """positions beyond 4095 take the last row of a table of 4096.

    Shows: positions of 4096 and more. Hides: all smaller ones.
    """
    return rope(x, -np.maximum(-wide(positions), -4095.0), frequencies, layout=layout)


@deviation("inverse")
@with_frequencies
def negative_clamped(x: Any, positions: Any, frequencies: Any, *, layout: str = "interleaved") -> Any:
    """negative positions count as 0.

    Shows: negative positions. Hides: all others.
    """
    return rope(x, np.maximum(wide(positions), 0.0), frequencies, layout=layout)


@deviation("reference", "frequencies", kind="convention")
@with_frequencies
def interpolated(x: Any, positions: Any, frequencies: Any, *, layout: str = "interleaved") -> Any:
    """positions are halved, as linear scaling to twice the context does.

    Shows: any position but 0. Hides: position 0.
    """
    return rope(x, wide(positions) / 2, frequencies, layout=layout)


@deviation("reference", "heads", kind="equation")
@with_frequencies
def along_the_heads(x: Any, positions: Any, frequencies: Any, *, layout: str = "interleaved") -> Any:
    """the axis before the tokens is taken for that of the tokens wherever it is as long, as for arrays (…, n, h, d_k).

    Shows: as many heads as tokens. Hides: any other number of them.
    """
    n = x.shape[-2]
    if positions.ndim == 1 and x.ndim > 2 and x.shape[-3] == n > 1:
        return np.swapaxes(rope(np.swapaxes(x, -3, -2), positions, frequencies, layout=layout), -3, -2)
    return rope(x, positions, frequencies, layout=layout)


@deviation(
    "reference", "frequencies", kind="arithmetic", dtypes=HALF,
    seen=("https://github.com/huggingface/transformers/pull/29285", "https://github.com/nkalyanv99/UNI-D2/pull/6"),
)  # fmt: skip
@with_frequencies
def in_half(x: Any, positions: Any, frequencies: Any, *, layout: str = "interleaved", held: Any) -> Any:
    """positions are rounded to the dtype of x, so that neighbours collapse.

    Shows: odd positions beyond 256 in bfloat16, 2048 in float16. Hides: the first ones.
    """
    return rope(x, wide(held(positions)), frequencies, layout=layout)


@deviation(
    "calls_are_independent", "every_argument_counts", kind="fault",
    seen=("https://github.com/lucidrains/rotary-embedding-torch/issues/11",),
)  # fmt: skip
def remembered_by_length(function: Any, x: Any, positions: Any, *, memory: dict[Any, Any], **keywords: Any) -> Any:
    """the table is remembered by its length, and not made anew for other positions of that length.

    Shows: two calls with different positions. Hides: a single call.
    """
    known = memory.setdefault((positions.shape, x.shape, *keywords.values()), positions.copy())
    return function(x, known, **keywords)
