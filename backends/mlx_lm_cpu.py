"""MLX-LM's filters of logits and its penalties. Its samplers see log-probabilities, and apply the temperature last."""

import math
from importlib.metadata import version as version_of

import mlx.core as mx
from mlx_lm.sample_utils import apply_min_p, apply_top_k, apply_top_p, make_logits_processors

from .mlx_cpu import on_the_cpu

framework = "mlx"
version = f"mlx-lm {version_of('mlx-lm')}, mlx {version_of('mlx')}"
conventions = {"temperature_order": "last", "top_k_ties": "some", "top_p_mass": "whole", "top_p_ties": "all"}
domain = {"sampling_probabilities": {"empty": False, "dtype": ("float32",)}}  # log-probabilities have the dtype of the logits


@on_the_cpu
def sampling_probabilities(logits, *, temperature=1.0, top_k=None, top_p=None, min_p=None):
    """The order of make_sampler, and what its last step draws from. top_k has to be below the vocabulary."""
    z = logits - mx.logsumexp(logits, axis=-1, keepdims=True)
    if top_p is not None and top_p < 1:
        z = apply_top_p(z, top_p)
    if min_p:
        z = apply_min_p(z, min_p)
    if top_k is not None and top_k < z.shape[-1]:
        z = apply_top_k(z, top_k)
    return mx.softmax(z * (1.0 / temperature), axis=-1)


@on_the_cpu
def penalize_logits(logits, output_ids, *, repetition_penalty=1.0, frequency_penalty=0.0, presence_penalty=0.0):
    """Processors take the ids of one row, of which they look at the last ones."""
    *batch, n = output_ids.shape
    vocab = logits.shape[-1]
    processors = make_logits_processors(None, repetition_penalty, n, presence_penalty, n, frequency_penalty, n)
    rows = []
    for place in range(math.prod(batch)):
        row, ids = logits.reshape(-1, 1, vocab)[place], output_ids.reshape(-1, n)[place] if n else []
        for processor in processors:
            row = processor(ids, row)
        rows.append(row)
    return mx.concatenate(rows).reshape(logits.shape) if rows else logits
