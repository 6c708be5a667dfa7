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


@deviation("reference", "padding_row")
def padding_learns(cotangent: Any, token_ids: Any, weight: Any, *, padding_idx: Any = None) -> Any:
    """padding_idx is ignored: its row has a gradient.

    Shows: a token of padding. Hides: no padding_idx.
    """
    return embedding_vjp(cotangent, token_ids, weight)


@deviation("reference", "padding_row")
def negative_padding_learns(cotangent: Any, token_ids: Any, weight: Any, *, padding_idx: Any = None) -> Any:
    """a negative padding_idx is compared with the ids as it is, and so ignored.

    Shows: a token of a padding that is counted from the end. Hides: a padding_idx of 0 or more.
    """
    kept = padding_idx if padding_idx is None or padding_idx >= 0 else None
    return embedding_vjp(cotangent, token_ids, weight, padding_idx=kept)
