"""The recurrence of linear attention, token by token: decay, error, update, readout. Its way back gives the gradients."""

from typing import Any

import numpy as np

L2_EPS = 1e-6  # of the l2 norm of queries and keys


def recur(q: Any, k: Any, v: Any, g: Any, beta: Any, state: Any, steps: Any = None, scale: Any = 1.0) -> Any:
    """Return what all tokens read and, behind it along the tokens, the last state: (..., n + d_k, d_v).

        S' = e^(g_t) S,   r = v_t - S'^T k_t,   S = S' + beta_t k_t r^T,   read_t = S^T q_t

    g has one entry of each channel, or one for all. Without g nothing decays; without beta r is v_t, and beta is 1.
    Errors taken element by element would grow exponentially: it is called by `as_a_whole`. steps is what v was multiplied by,
    and scale what the reads will be multiplied by: code may do either at another place, which changes the error alone.
    """
    reads = []
    for t in range(k.shape[-2]):
        decayed, written = _written(k, v, g, beta, state, t)
        state = decayed + k[..., t, :, None] * written
        reads.append(np.matmul(q[..., t, None, :], state))
    return np.concatenate([*reads, state], axis=-2)


def recur_vjp(
    cotangent: Any, q: Any, k: Any, v: Any, g: Any, beta: Any, state: Any, steps: Any = None, scale: Any = 1.0
) -> list[Any]:
    """Return the gradients of q, k, v, g, beta and the state, for a cotangent of what recur returns.

        L = L' + q_t c_t,   p = L^T k_t,   D = L - beta_t k_t p^T,   L' = e^(g_t) D for the token before
        dq = S c_t,   dk = beta_t (L r - S' p),   dv = beta_t p,   dbeta = p . r,   dg = the sums of D S' over columns

    Without beta D is L, and dk is L v_t. The first L' is the cotangent of the last state; the last one is the state's gradient.
    """
    n, parts, decayed, written = k.shape[-2], [], [], []
    for t in range(n):
        found, row = _written(k, v, g, beta, state, t)
        decayed.append(found)
        written.append(row)
        state = found + k[..., t, :, None] * row
    back = cotangent[..., n:, :]
    for t in reversed(range(n)):
        key, c = k[..., t, :, None], cotangent[..., t, None, :]
        after = decayed[t] + key * written[t]
        back = back + q[..., t, :, None] * c
        seen = np.matmul(k[..., t, None, :], back)
        dk, dv, dbeta = np.sum(back * written[t], axis=-1), seen, None
        if beta is not None:
            rate = beta[..., t, None, None]
            read = v[..., t, None, :] - np.matmul(k[..., t, None, :], decayed[t])
            dv, dbeta = rate * seen, np.sum(seen * read, axis=-1)[..., 0]
            dk = dk - np.sum(decayed[t] * dv, axis=-1)
            back = back - key * dv
        dg = None
        if g is not None:
            dg = np.sum(back * decayed[t], axis=-1)
            dg = dg if g.shape[-1] == dg.shape[-1] else np.sum(dg, axis=-1, keepdims=True)
            back = np.exp(g[..., t, :, None]) * back
        parts.append((np.sum(after * c, axis=-1), dk, dv[..., 0, :], dg, dbeta))
    stacks = [
        None if x is None else np.stack([part[i] for part in reversed(parts)], axis=-1 if i == 4 else -2) if n else 0.0 * x
        for i, x in enumerate((q, k, v, g, beta))
    ]
    return [*stacks, back]


def _written(k: Any, v: Any, g: Any, beta: Any, state: Any, t: int) -> tuple[Any, Any]:
    """Return the decayed state, and the row that token t writes with its key."""
    decayed = state if g is None else np.exp(g[..., t, :, None]) * state
    row = v[..., t, None, :]
    if beta is not None:
        row = beta[..., t, None, None] * (row - np.matmul(k[..., t, None, :], decayed))
    return decayed, row


def of_unit_length(x: Any, eps: Any = L2_EPS) -> Any:
    """Return vectors divided by their lengths, as flash-linear-attention normalizes queries and keys."""
    return x / np.sqrt(np.sum(np.square(x), axis=-1, keepdims=True) + eps)
