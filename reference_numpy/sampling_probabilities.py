from typing import Any

import numpy as np

from ._acceptance import number
from ._kept import filters_of, kept_tokens, rules
from ._marks import double, float64, widened
from ._targets import is_zero
from ._tempered import tempered_softmax


def sampling_probabilities(
    logits: Any,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
) -> Any:
    """The distribution that a token is drawn from: a tempered softmax over the tokens that all filters keep.

        p = softmax(logits / temperature)
        y = p over its sum, on the tokens that all of these keep, and 0 elsewhere:
            top_k: the largest;   min_p: p >= min_p * max p;
            top_p: in falling order, those before which less than the share top_p of the mass lies

    Shapes
        logits (..., vocab)  ->  (..., vocab)
    Dtypes
        as the arguments, or float32 or wider
    Domain
        logits finite or -inf, one in each row finite; temperature >= 0.02, or 0 where a backend states it; top_k >= 1;
        0 < top_p <= 1; 0 <= min_p <= 1.
    Edges
        What is filtered is exactly 0, and so is -inf. The largest token is never filtered. top_k >= vocab, top_p = 1, min_p = 0
        and None filter nothing. temperature = 0 gives one of the largest tokens alone. Where a probability, or a sum of some,
        lies within its roundings at the limit of a filter, both sets are right, and the probabilities are those of the set that
        was taken.
    Choices
        The filters see the tempered logits ("first"), or those without the temperature ("last"): temperature_order. top_p
        counts the mass of what top_k keeps, of what min_p keeps as well, or of all tokens: top_p_mass. Of tokens that equal the
        last one that is kept, all are kept or only as many as counted: top_k_ties, top_p_ties.
    Source
        Fan et al. 2018, arXiv:1805.04833 (top_k). Holtzman et al. 2020, arXiv:1904.09751 (top_p). Nguyen et al. 2024,
        arXiv:2407.01082 (min_p). Filters and their order as in transformers.

    The probabilities are 1/2, 1/4, 1/8 and 1/8; of the two that top_k leaves, top_p needs the first alone:

    >>> logits = np.log([[0.5, 0.25, 0.125, 0.125]])
    >>> sampling_probabilities(logits, top_k=2).round(4)
    array([[0.6667, 0.3333, 0.    , 0.    ]])
    >>> sampling_probabilities(logits, top_k=2, top_p=0.6).round(4)
    array([[1., 0., 0., 0.]])
    """
    z = widened(float64(logits))
    share, least = (None if x is None else double(x) for x in (top_p, min_p))
    kept = kept_tokens(filters_of(number(z), double(temperature), top_k, share, least, rules()), z)
    p = np.where(kept, tempered_softmax(z, 1.0 if is_zero(temperature) else temperature), 0.0)
    return p / np.sum(p, axis=-1, keepdims=True)
