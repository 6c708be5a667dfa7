"""What the adapters of recurrent states share: one axis of the batch, and heads that are shared by repetition."""

import math


def flat(x, core):
    """The array with one batch axis before its last `core` axes; None stays None."""
    return None if x is None else x.reshape(math.prod(x.shape[: x.ndim - core]), *x.shape[x.ndim - core :])


def shared(x, heads):
    """Each head of queries or keys, which stand behind the tokens, once for each value head that reads it."""
    return x.repeat_interleave(heads // x.shape[2], dim=2)
