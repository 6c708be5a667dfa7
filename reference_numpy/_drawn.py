"""Which token a noise draws, and which others roundings may draw.

Each token has its reach: the least unit roundoff with which it may be the one that is drawn. It is infinite for what no rounding
draws, as a token of the probability 0. Only number types that carry an error act on it.
"""

from typing import Any

import numpy as np


def by_inverse(p: Any, noise: Any) -> tuple[Any, Any]:
    """Return the first token of each row up to which p sums to more than the noise, and the reach of each token."""
    vocab, sums, noise = p.shape[-1], np.cumsum(p, axis=-1), noise[..., None]
    last = np.argmax(np.cumsum(p > 0, axis=-1), axis=-1)[..., None]  # the last token of a positive probability
    above = np.where(np.arange(vocab) == last, np.inf, sums)
    below = np.concatenate([np.full((*p.shape[:-1], 1), -np.inf), sums[..., :-1]], axis=-1)
    distance = np.maximum(np.maximum(below - noise, noise - above), 0.0)
    return np.argmax(above > noise, axis=-1), np.where(p > 0, distance / (4 * vocab), np.inf)


def by_exponential(p: Any, noise: Any) -> tuple[Any, Any]:
    """Return the token of each row that has the largest p / noise, the first of equal ones, and the reach of each token."""
    ratio = np.where(p > 0, p, 0.0) / noise
    return np.argmax(ratio, axis=-1), np.where(p > 0, 1 - ratio / np.max(ratio, axis=-1, keepdims=True), np.inf) / 4


def by_gumbel(p: Any, noise: Any) -> tuple[Any, Any]:
    """Return the token of each row that has the largest ln p + noise, the first of equal ones, and the reach of each token."""
    log_p = np.log(np.where(p > 0, p, 1.0))
    score = np.where(p > 0, log_p + noise, -np.inf)
    largest = (np.max(np.abs(np.where(p > 0, x, 0.0)), axis=-1, keepdims=True) for x in (log_p, noise))
    return np.argmax(score, axis=-1), (np.max(score, axis=-1, keepdims=True) - score) / (8 * (1 + sum(largest)))


def by_drawn_uniforms(p: Any, uniforms: Any) -> tuple[Any, Any]:
    """Return the token that each uniform of a row draws, and the reach of each token: 0 where p > 0, since chance may draw it."""
    vocab, n = p.shape[-1], uniforms.shape[-1]
    rows = p.reshape(-1, vocab) if p.size else np.empty((0, vocab))
    sums, last = np.cumsum(rows, axis=-1), np.argmax(np.cumsum(rows > 0, axis=-1), axis=-1)
    tokens = np.empty((len(rows), n), dtype=int)
    for row, u in enumerate(uniforms.reshape(-1, n)[: len(rows)]):
        tokens[row] = np.minimum(np.searchsorted(sums[row], u, side="right"), last[row])
    reach = np.where(p > 0, 0.0, np.inf)[..., None, :]
    return tokens.reshape(uniforms.shape), np.broadcast_to(reach, (*uniforms.shape, vocab))
