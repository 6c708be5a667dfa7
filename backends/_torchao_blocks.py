"""What the backends of torchao share: arrays of whole blocks, and its names of formats. torchao refuses a block that is shorter
than the others, so such arrays are filled up with zeros.
"""

import torch
import torch.nn.functional as F

__all__ = ["BLOCKS", "FORMATS", "block_size", "cropped", "whole"]
BLOCKS = ((None, None), (1, None), (1, 32), (1, 128), (128, 128))
FORMATS = {
    "float8_e4m3fn": torch.float8_e4m3fn,
    "float8_e5m2": torch.float8_e5m2,
    "float6_e2m3fn": "fp6_e2m3",
    "float6_e3m2fn": "fp6_e3m2",
    "float4_e2m1fn": torch.float4_e2m1fn_x2,
}


def block_size(block, shape):
    """The length of a block along each axis. A row of one number gets a zero: torchao has no blocks of one."""
    rows, columns = (length if size is None else size for size, length in zip(block, shape[-2:], strict=True))
    return (1,) * (len(shape) - 2) + (rows, max(columns, 2) if block[1] is None else columns)


def whole(x, rows, columns):
    """An array with zeros behind its rows and columns, up to whole blocks. Zeros of 8 bits are bytes of zeros."""
    narrow = x.dtype.itemsize == 1
    filled = F.pad(x.view(torch.uint8) if narrow else x, (0, -x.shape[-1] % columns, 0, -x.shape[-2] % rows))
    return (filled.view(x.dtype) if narrow else filled).contiguous()


def cropped(x, rows, columns):
    return x[..., :rows, :columns]
