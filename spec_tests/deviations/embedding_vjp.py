"""What goes wrong with the gradient of embedding: tokens that occur more than once."""

from typing import Any

import numpy as np

from reference_numpy._sums import rows
from reference_numpy.embedding_vjp import embedding_vjp

from . import deviation


def count_tokens(token_ids: Any, weight: Any) -> Any:
    return np.bincount(np.ravel(token_ids), minlength=weight.shape[0])


@deviation("reference", "repeated_tokens_add_up")
def last_token_wins(cotangent: Any, token_ids: Any, weight: Any) -> Any:
    """a token that occurs again overwrites the row that it had: the last cotangent alone counts.

    Shows: repeated tokens. Hides: distinct ones.
    """
    ids, c = np.ravel(token_ids), rows(cotangent)
    _, from_the_end = np.unique(ids[::-1], return_index=True)
    last = np.sort(len(ids) - 1 - from_the_end)
    return None, embedding_vjp(c[last], ids[last], weight)[1]


@deviation("reference", "repeated_tokens_add_up")
def divided_by_frequency(cotangent: Any, token_ids: Any, weight: Any) -> Any:
    """each row is divided by how often its token occurs.

    Shows: repeated tokens. Hides: distinct ones.
    """
    return None, embedding_vjp(cotangent, token_ids, weight)[1] / np.maximum(count_tokens(token_ids, weight), 1)[:, None]


@deviation("reference", "absent_and_single_tokens", kind="convention")
def first_row_is_padding(cotangent: Any, token_ids: Any, weight: Any) -> Any:
    """token 0 is padding, whose row has no gradient.

    Shows: token 0. Hides: all others.
    """
    _, dweight = embedding_vjp(cotangent, token_ids, weight)
    return None, dweight * (np.arange(weight.shape[0]) != 0)[:, None].astype(float)
