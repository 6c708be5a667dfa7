"""MLX-LM's filters and penalties of logits. Its samplers see log-probabilities, and apply the temperature last.

All its penalties see the same tokens, and its bias comes before them: there is no prompt and no bias here.
"""

from importlib.metadata import version as version_of

import mlx.core as mx
from mlx_lm.sample_utils import apply_min_p, apply_top_k, apply_top_p, make_logits_processors

from .mlx_cpu import on_the_cpu

framework = "mlx"
version = f"mlx-lm {version_of('mlx-lm')}, mlx {version_of('mlx')}"
conventions = {"temperature_order": "last", "top_k_ties": "some", "top_p_mass": "whole", "top_p_ties": "all"}
dtypes = ("float32",)  # log-probabilities and penalized logits have the dtype of the logits, which each step rounds to
domain = {"sampling_probabilities": {"empty": False}, "penalize_logits": {"empty": False}}


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
    """A processor takes the tokens of one sequence, and a batch of its logits."""
    penalties = {"repetition_penalty": None if repetition_penalty == 1 else repetition_penalty}
    penalties |= {"frequency_penalty": frequency_penalty, "presence_penalty": presence_penalty}
    vocab, n, rows = logits.shape[-1], output_ids.shape[-1], []
    last = {name.replace("penalty", "context_size"): n for name in penalties}
    batch = logits.size // vocab
    for ids, row in zip(output_ids.reshape(batch, n), logits.reshape(batch, 1, vocab), strict=True):
        for process in make_logits_processors(**penalties, **last):
            row = process(ids, row)
        rows.append(row)
    return mx.concatenate(rows).reshape(logits.shape)
