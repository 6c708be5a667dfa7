"""Hugging Face transformers' BLOOM: its ALiBi slopes and its GELU, in the tanh form."""

import torch
import transformers
from transformers.models.bloom import modeling_bloom as bloom

framework = "torch"
device = "cpu"
version = f"transformers {transformers.__version__}, torch {torch.__version__}"
domain = {"gelu": {"approximate": ("tanh",)}}


def alibi_slopes(*, num_heads):
    """What the second of two keys is given: the slope itself."""
    return bloom.build_alibi_tensor(torch.ones(1, 2), num_heads, torch.float32)[:, 0, 1].clone()


def gelu(x, *, approximate="tanh"):
    return bloom.BloomGelu()(x)
