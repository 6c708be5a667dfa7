"""The PyTorch operations of torch_fused on a CUDA device, where its conventions have not been verified."""

from ._torch_cuda_settings import *
from .torch_fused import *

device = "cuda"  # --device sets another
conventions = {}
causal_mask = place(causal_mask, lambda: device)
sliding_window_mask = place(sliding_window_mask, lambda: device)
domain = {name: stated for name, stated in domain.items() if name != "scaled_matmul"}
scaled_matmul = None  # its kernels there take multiples of 16 alone
