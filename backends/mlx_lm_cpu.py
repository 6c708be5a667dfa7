"""MLX-LM's filters of logits. Its samplers see log-probabilities, and apply the temperature last.

Its penalties are left out: they subtract the frequency penalty once for each occurrence, and round each time.
"""

from importlib.metadata import version as version_of

import mlx.core as mx
from mlx_lm.sample_utils import apply_min_p, apply_top_k, apply_top_p

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
