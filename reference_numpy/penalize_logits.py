from typing import Any

import numpy as np

from ._marks import float64, is_one, quotient, tallied
from ._occurrences import occurrences
from ._targets import is_zero


def penalize_logits(
    logits: Any,
    output_ids: Any,
    prompt_ids: Any = None,
    logit_bias: Any = None,
    *,
    repetition_penalty: float = 1.0,
    frequency_penalty: float = 0.0,
    presence_penalty: float = 0.0,
) -> Any:
    """Penalties of tokens that have occurred, and a bias for each token.

        z' = logits / repetition_penalty if logits > 0, else logits * repetition_penalty   (a token of the prompt or the output)
        y = z' - frequency_penalty * count - presence_penalty [count > 0] + logit_bias

    count is how often a token occurs in the output.

    Shapes
        logits (..., vocab),  output_ids (..., n) integers,  prompt_ids (..., m) integers or None,
        logit_bias (..., vocab) or None  ->  (..., vocab)
    Dtypes
        as the arguments
    Domain
        logits finite or -inf; logit_bias finite or -inf, in float32 beside logits of 16 bits; repetition_penalty > 0;
        ids below vocab, and from 0 on, or -1 for no token where a backend states "padding".
    Edges
        n = 0 leaves the penalties of the output away. -inf stays -inf, and a logit_bias of -inf bans a token. A token that does
        not occur keeps its logit, bit for bit.
    Choices
        The repetition penalty sees the prompt, the other two do not, as in vLLM and transformers. It is applied once, however
        often a token occurs. logit_bias is added last, and is not penalized. In 16 bits all is computed in float32 and rounded
        once. The frequency penalty may be multiplied by the count, or subtracted once for each occurrence.
    Source
        Keskar et al. 2019, arXiv:1909.05858, section 4.1 (repetition_penalty; for negative logits as in transformers, issue
        2302). The API of OpenAI (frequency_penalty, presence_penalty, logit_bias).

    The first token was in the prompt, the second is twice in the output:

    >>> penalize_logits([[2.0, -1.0, 3.0]], [[1, 1]], [[0]], repetition_penalty=2.0, frequency_penalty=0.25)
    array([[ 1. , -2.5,  3. ]])
    """
    z = float64(logits)
    count = occurrences(output_ids, z.shape)
    seen = (count > 0) if prompt_ids is None else (count > 0) | (occurrences(prompt_ids, z.shape) > 0)
    if not is_one(repetition_penalty):
        above, below = np.maximum(z, 0.0), np.minimum(z, 0.0)
        z = np.where(seen, quotient(above, repetition_penalty, roundings=2) + below * repetition_penalty, z)
    terms, each, repeats = [z], -frequency_penalty, np.zeros_like(count) if is_zero(frequency_penalty) else count
    if not is_zero(presence_penalty):
        terms.append(np.where(count > 0, 1.0, 0.0) * -presence_penalty)
    y = np.where(count > 0, tallied(terms, each, counts=repeats), z)
    if logit_bias is None:
        return y
    b = float64(logit_bias)
    return np.where(getattr(b, "value", b) != 0, tallied([*terms, b], each, counts=repeats), y)
