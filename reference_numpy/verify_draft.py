from typing import Any

import numpy as np

from ._acceptance import acceptance, inverse, number, undecided


def verify_draft(
    draft_tokens: Any, draft_probabilities: Any, target_probabilities: Any, uniforms: Any, final_uniforms: Any
) -> Any:
    """Speculative sampling: how many drafted tokens are accepted, and the token that comes after them.

        r = the first i with not u_i q_i(x_i) < p_i(x_i), or n     (x = draft_tokens, u = uniforms)
        tokens = x_0 .. x_(r-1), one more, then -1;   accepted = r

    The one more is drawn from p_n if r = n, else from max(p_r - q_r, 0) over its sum: it is the first t up to which the
    probabilities sum to more than final_uniforms.

    Shapes
        draft_tokens (b, n) integers,  draft_probabilities (b, n, vocab) or None,  target_probabilities (b, m, vocab),
        uniforms (b, n),  final_uniforms (b)  ->  tokens (b, m),  accepted (b)
    Dtypes
        tokens and accepted integers
    Units
        m = n + 1 distributions of the target: p_i is that of the token after i drafted ones.
    Domain
        Rows of probabilities >= 0 sum to 1; 0 <= uniforms, final_uniforms <= 1 - 2^-24; 0 <= draft_tokens < vocab; a drafted
        token has q_i(x_i) > 0, or p_i(x_i) = 0.
    Edges
        Without draft_probabilities q_i is 1 at x_i and 0 elsewhere. n = 0 draws from p_0. What the target forbids is rejected,
        also where u = 0 or q = 0. Where |u q - p| or the distance of final_uniforms from a sum lies within the roundings, both
        outcomes are right. A residual of 0, which leaves nothing to draw from, gives any token with p_r > 0.

    Choices
        accepted is how many of the first tokens are accepted, and not how many would be by themselves. What was not drawn is -1.
    Source
        Leviathan et al. 2023, arXiv:2211.17192, algorithm 1. Chen et al. 2023, arXiv:2302.01318, algorithm 2.

    The second token is rejected, and replaced by one of which the target has more than the draft:

    >>> target = [[[0.5, 0.5], [0.25, 0.75], [1.0, 0.0]]]
    >>> verify_draft([[0, 0]], [[[0.5, 0.5], [0.5, 0.5]]], target, [[0.75, 0.75]], [0.0])
    (array([[ 0,  1, -1]]), array([1]))
    """
    x, p, u, final = np.asarray(draft_tokens), number(target_probabilities), number(uniforms), number(final_uniforms)
    b, n = x.shape
    one_hot = np.where(x[..., None] == np.arange(p.shape[-1]), 1.0, 0.0)
    q = one_hot if draft_probabilities is None else number(draft_probabilities)
    accepts, near = acceptance(np.sum(p[:, :n] * one_hot, axis=-1), np.sum(q * one_hot, axis=-1), u)
    r = np.sum(np.cumprod(accepts, axis=-1), axis=-1)
    decided = np.arange(n) <= r[:, None]  # what comes after the first rejection decides nothing
    closeness = np.min(np.where(decided, near, np.inf), axis=-1, initial=np.inf)
    rows = np.arange(b)
    target = p[rows, r]
    draft = np.concatenate([q, np.zeros((b, 1, p.shape[-1]))], axis=1)[rows, r]
    residual = np.maximum(target - draft, 0.0)
    total = np.where(r < n, np.sum(residual, axis=-1), 1.0)
    weights = np.where((total > 0)[:, None], residual, target)
    token, near_a_sum = inverse(weights, final * np.where(total > 0, total, 1.0))
    left = np.where(total > 0, np.inf, 0.0)
    places = np.arange(n + 1)
    padded = np.concatenate([x, np.zeros((b, 1), dtype=x.dtype)], axis=1)
    tokens = np.where(places < r[:, None], padded, np.where(places == r[:, None], token[:, None], -1))
    of_token = np.minimum(closeness, np.minimum(near_a_sum, left))
    by_place = np.where(places == r[:, None], of_token[:, None], closeness[:, None])
    return undecided(tokens, by_place, target_probabilities), undecided(r, closeness, target_probabilities)
