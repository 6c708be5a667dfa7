"""Read the memory of a view as if it were contiguous."""

import torch

framework = "torch"


def softmax(x, *, axis):
    strides = torch.empty(x.shape, device="meta").stride()
    last = sum((size - 1) * stride for size, stride in zip(x.shape, strides)) + x.storage_offset()
    if x.numel() and last < x.untyped_storage().nbytes() // x.element_size():
        x = x.as_strided(x.shape, strides)
    return x.softmax(axis)


caught_by = "softmax.layout_blind"
