"""What the adapters of recurrent states share: one axis of the batch, and tokens before heads."""

import math


def flat(x, core):
    """The array with one batch axis before its last `core` axes; None stays None."""
    return None if x is None else x.reshape(math.prod(x.shape[: x.ndim - core]), *x.shape[x.ndim - core :])


def tokens_first(x):
    """(batch, heads, tokens, …) with the axes of heads and tokens exchanged, or back."""
    return None if x is None else x.transpose(1, 2)


def shared(x, heads):
    """Each head of queries or keys once for each value head that reads it."""
    return x.repeat_interleave(heads // x.shape[1], dim=1)
