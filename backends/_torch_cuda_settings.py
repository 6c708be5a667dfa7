"""What PyTorch may do in products on a CUDA device. The version, which a report shows, says it and names the GPU.

TF32: PyTorch reads TORCH_ALLOW_TF32_CUBLAS_OVERRIDE; without it, products of float32 keep all their bits.
Sums of 16-bit products may be reduced in 16 bits, which PyTorch allows by default and has no variable for:
TORCH_CUDA_REDUCED_PRECISION_REDUCTION=0, read here, forbids it.
"""

import os
from functools import wraps

import torch

__all__ = ["place", "version"]
GPU = [torch.cuda.get_device_name()] if torch.cuda.is_available() else []
_MATMUL = torch.backends.cuda.matmul
_REDUCED = os.environ.get("TORCH_CUDA_REDUCED_PRECISION_REDUCTION", "1") != "0"
_MATMUL.allow_fp16_reduced_precision_reduction = _MATMUL.allow_bf16_reduced_precision_reduction = _REDUCED
_CHANGED = ["TF32"] * _MATMUL.allow_tf32 + ["no reduced-precision reductions"] * (not _REDUCED)
version = ", ".join([f"torch {torch.__version__}", *GPU, *_CHANGED])


def place(function, find_device):
    """Give a function that takes no arrays the device on which it makes its result, as it is when the function is called."""

    @wraps(function)
    def placed(*arguments, **keywords):
        return function(*arguments, **{"device": find_device(), **keywords})

    return placed
