"""The PyTorch operations of torch_fused on a CUDA device, where its conventions have not been verified."""

from functools import partial

from ._torch_cuda_settings import *
from .torch_fused import *

device = "cuda"
conventions = {}
causal_mask = partial(causal_mask, device=device)
sliding_window_mask = partial(sliding_window_mask, device=device)
