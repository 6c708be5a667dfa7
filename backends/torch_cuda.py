"""The plain PyTorch of torch_cpu on a CUDA device."""

from ._torch_cuda_settings import *
from .torch_cpu import *

device = "cuda"  # --device sets another
causal_mask = place(causal_mask, lambda: device)
sliding_window_mask = place(sliding_window_mask, lambda: device)
rope_frequencies = place(rope_frequencies, lambda: device)
alibi_slopes = place(alibi_slopes, lambda: device)
