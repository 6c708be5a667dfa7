"""Hugging Face transformers' MPT: its ALiBi slopes."""

import torch
import transformers
from transformers.models.mpt import modeling_mpt as mpt

framework = "torch"
device = "cpu"
version = f"transformers {transformers.__version__}, torch {torch.__version__}"


def alibi_slopes(*, num_heads):
    """What is taken off a key for each step that it lies back."""
    return -mpt.build_mpt_alibi_tensor(num_heads, 2)[:, 0, 0]
