"""The plain PyTorch of torch_cpu on a CUDA device."""

from functools import partial

from ._torch_cuda_settings import *
from .torch_cpu import *

device = "cuda"
causal_mask = partial(causal_mask, device=device)
sliding_window_mask = partial(sliding_window_mask, device=device)
rope_frequencies = partial(rope_frequencies, device=device)
alibi_slopes = partial(alibi_slopes, device=device)
