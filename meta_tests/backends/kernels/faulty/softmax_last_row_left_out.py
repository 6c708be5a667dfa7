"""Launch a program less than there are rows."""

from ..right.softmax_one_block import *

operation = "softmax"
says = ("the last row", "never written")


def softmax_rows(x):
    y = torch.empty_like(x)
    kernel[(max(len(x) - 1, 0),)](x, y, x.shape[1], BLOCK=block_for(x.shape[1]))
    return y


def softmax(x, *, axis):
    return over_axis(softmax_rows, x, axis)
