"""PyTorch's scaled_mm: products of float8 matrices, with one scale for each matrix or one for each row."""

import torch
import torch.nn.functional as F

__all__ = ["SCALED_MM", "scaled_matmul"]
FLOAT8, BLOCKS = ("float8_e4m3fn", "float8_e5m2"), ((None, None), (1, None))
SCALED_MM = {
    "a_dtype": FLOAT8, "b_dtype": FLOAT8, "block_a": BLOCKS, "block_b": BLOCKS, "scale_dtype_a": ("float32",),
    "scale_dtype_b": ("float32",), "batch_dims": (0,),
}  # fmt: skip


def scaled_matmul(a, b, scale_a=None, scale_b=None, bias=None, *, a_dtype, b_dtype, block_a, block_b, dtype):
    if block_a == block_b == (None, None):
        recipe, scales = F.ScalingType.TensorWise, (scale_a.reshape(()), scale_b.reshape(()))
    else:  # a scale of the whole matrix is that of each row; `repeat` copies, also strides that `contiguous` keeps
        recipe = F.ScalingType.RowWise
        scales = [s.reshape(-1).repeat(len(x) // s.numel())[:, None] for x, s in ((a, scale_a), (b, scale_b))]
        scales[1] = scales[1].mT
    arrays = a.contiguous(), b.contiguous().mT
    return F.scaled_mm(*arrays, scales[0], recipe, scales[1], recipe, bias=bias, output_dtype=getattr(torch, dtype))
