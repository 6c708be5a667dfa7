"""The verification of a draft in parts, so that a deviation replaces one of them: the test of a token, and the residual."""

from collections.abc import Callable
from typing import Any

import numpy as np

from reference_numpy._acceptance import inverse, number


def drafted(draft_tokens: Any, draft_probabilities: Any, target_probabilities: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the tokens as one-hot rows, and the distributions of the draft and of the target."""
    p = number(target_probabilities)
    one_hot = np.where(np.asarray(draft_tokens)[..., None] == np.arange(p.shape[-1]), 1.0, 0.0)
    return one_hot, one_hot if draft_probabilities is None else number(draft_probabilities), p


def verify_by(
    arrays: tuple[Any, ...],
    weigh: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
    accepts: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray] | None = None,
    *,
    scales: bool = True,
) -> Any:
    """Return the results with another residual, made of p and q, or another test, made of p(x), q(x) and u."""
    tokens, draft, target, uniforms, final = arrays
    one_hot, q, p = drafted(tokens, draft, target)
    x, u, end = np.asarray(tokens), number(uniforms), number(final)
    b, n = x.shape
    weigh, accepts = weigh or residual_of, accepts or (lambda p, q, u: u * q < p)
    held = accepts(np.sum(p[:, :n] * one_hot, axis=-1), np.sum(q * one_hot, axis=-1), u)
    r = np.sum(np.cumprod(held, axis=-1), axis=-1)
    rows, places = np.arange(b), np.arange(n + 1)
    of_draft = np.concatenate([q, np.zeros((b, 1, p.shape[-1]))], axis=1)[rows, r]
    weights = np.where((r < n)[:, None], weigh(p[rows, r], of_draft), p[rows, r])
    total = np.where(r < n, np.sum(weights, axis=-1), 1.0)
    weights = np.where((total > 0)[:, None], weights, p[rows, r])
    token = inverse(weights, end * np.where(scales & (total > 0), total, 1.0))[0]
    padded = np.concatenate([x, np.zeros((b, 1), dtype=x.dtype)], axis=1)
    return np.where(places < r[:, None], padded, np.where(places == r[:, None], token[:, None], -1)), r


def residual_of(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    return np.maximum(p - q, 0.0)
