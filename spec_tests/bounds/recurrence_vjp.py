"""The error of the gradients of linear attention, by the length of each column: see docs/proofs/linear_attention_vjp.md.

The way back is the recurrence of the transposed maps, which make no column longer either.
"""

from __future__ import annotations

import numpy as np

from ..specification.formats import Arithmetic
from .lengths import column_lengths, norm
from .recurrence import Forward, Token, read
from .recurrence_operands import Operands, Pair
from .stored_operands import StoredBack

Gradients = list[Pair | None]  # of q, k, v, g, beta and the state


class Backward:
    """The way back through the tokens: the cotangent of the state, and the errors of its columns."""

    def __init__(self, cotangent: Pair, operands: Operands, arithmetic: Arithmetic):
        self.forward = Forward(operands, arithmetic)
        self.operands, self.errors = operands, self.forward.errors
        n = operands.k[0].shape[-2]
        self.tokens = [self.forward.step(t) for t in range(n)]
        self.of_outs = [(cotangent[0][..., t, :], cotangent[1][..., t, :]) for t in range(n)]
        self.after, self.eta = cotangent[0][..., n:, :], column_lengths(cotangent[1][..., n:, :])
        self.stored = StoredBack(np.abs(self.after) + cotangent[1][..., n:, :], self.forward.stored)
        self.paths = np.abs(self.after)  # N: the sums of the sizes of all ways from later tokens
        self.reached = [np.abs(operands.state[0])]  # M: those from earlier ones
        for token in self.tokens:
            written = np.abs(token.k)[..., :, None] * np.abs(token.row)[..., None, :]
            self.reached.append(token.decays[..., None] * self.reached[-1] + written)
        self.passed = np.sum(self.reached[-1] * self.paths, axis=-1)  # A by channel, as far as it is summed
        self.passed_errors = np.zeros(self.passed.shape[:-1])  # and the terms that are no sums over channels

    def step(self, t: int) -> Gradients:
        """Go back through a token. Return its parts of the gradients of q, k, v, g and beta."""
        token, e, psi_v = self.tokens[t], self.errors, self.errors.psi(self.after.shape[-1])
        out, d_out = self.of_outs[t]
        size_out, q, dq = np.abs(out), token.q, token.dq
        lam = self.after + q[..., :, None] * out[..., None, :]
        eta = self.eta + 2 * e.u * column_lengths(lam) + (2 * e.u + 2 * e.w) * norm(q) * size_out
        eta = eta + norm(dq) * (size_out + d_out) + norm(q) * d_out - self.stored.lost
        self.stored.write(np.abs(q) + dq, size_out + d_out)
        eta = eta + self.stored.lost
        of_q = np.sum((size_out + d_out) * token.error, axis=-1, keepdims=True)
        stored_q = self.stored.of_query(size_out + d_out)
        of_q = of_q + _times(np.abs(token.after), psi_v * size_out + d_out) + stored_q
        self.paths = self.paths + np.abs(q)[..., :, None] * size_out[..., None, :]
        rho = read(token.k, lam)
        of_read = e.psi(token.k.shape[-1]) * read(np.abs(token.k), np.abs(lam)) + read(token.dk, np.abs(lam))
        key, stored = np.abs(token.k) + token.dk, self.stored.of_read(np.abs(token.k) + token.dk)
        stored = self.stored.before_steps(stored, key, np.abs(self.operands.v[0][..., t, :]), t)
        of_rho, size, size_rho = token.size * eta + of_read + stored, np.abs(token.row), np.abs(rho)
        through = np.abs(q) * _times(self.reached[t + 1], size_out) + np.abs(token.k) * _times(self.paths, size)
        of_k = np.sum(size * eta, axis=-1, keepdims=True) + psi_v * _times(np.abs(lam), size)
        of_k = of_k + np.sum((column_lengths(lam) + eta) * token.of_row, axis=-1, keepdims=True)
        of_written = None if token.b is None else (token.b + token.db) * (size_rho + of_rho)
        stored_k = self.stored.of_key(size + token.of_row, of_written)
        of_k, back, zeta = of_k + stored_k, lam, eta
        self.stored.passed = self.stored.passed + (np.abs(q) + dq) * stored_q + key * stored_k
        b: np.ndarray | float = 1.0
        db: np.ndarray | float = 0.0
        stored_row: np.ndarray | float = 0.0
        of_beta: Pair | None = None
        if token.b is not None and token.r is not None and token.of_r is not None:
            b, db, r = token.b, token.db, np.abs(token.r)
            back = lam - token.k[..., :, None] * (b * rho)[..., None, :]
            zeta = eta + 2 * e.u * column_lengths(back) + (b + db) * token.size * (of_read + e.chi * size_rho)
            zeta = zeta + (b * norm(token.dk) + db * norm(token.k)) * size_rho - self.stored.lost
            stored_row = self.stored.subtract(key, b + db, (b + db) * (size_rho + of_rho))
            zeta = zeta + self.stored.lost
            lengths = column_lengths(token.decayed)
            of_s = size_rho * token.before + (lengths + token.before) * of_rho
            of_k = of_k + (b + db) * (np.sum(of_s, axis=-1, keepdims=True) + psi_v * _times(np.abs(token.decayed), size_rho))
            of_k = of_k + db * np.sum(lengths * size_rho, axis=-1, keepdims=True)
            own = size_rho * token.of_r + r * of_rho + token.of_r * of_rho + psi_v * size_rho * r
            found = _times(np.swapaxes(token.decays[..., None] * self.reached[t], -1, -2), np.abs(token.k))
            met = _times(np.swapaxes(self.paths, -1, -2), np.abs(token.k))
            of_pairs = (16 * e.u + 2 * e.w) * np.sum(met * (r + found), axis=-1)
            of_beta = np.sum(rho * token.r, axis=-1), np.sum(own, axis=-1) + of_pairs
            of_beta = of_beta[0], of_beta[1] + self.stored.of_beta(key, t, stored + stored_row, stored_k, r + size_rho)
            through = through + np.abs(token.k) * b * _times(token.decays[..., None] * self.reached[t], size_rho)
            self.passed_errors = self.passed_errors + np.sum(b * size_rho * r, axis=-1)
            self.paths = self.paths + np.abs(token.k)[..., :, None] * (b * size_rho)[..., None, :]
        self.passed = self.passed + through
        of_g = self._of_decay(token, back, zeta)
        value_k = _times(lam, token.row) - (0.0 if token.r is None else b * _times(token.decayed, rho))
        self._decay(token, back, zeta)
        return [
            (_times(token.after, out), of_q),
            (value_k, of_k),
            (b * rho, (b + db) * of_rho + (b * e.chi + db) * size_rho + stored_row if of_beta else of_rho + e.chi * size_rho),
            of_g,
            of_beta,
        ]

    def _of_decay(self, token: Token, back: np.ndarray, zeta: np.ndarray) -> Pair | None:
        """Return the gradient of the decays of a token, by channel or by head."""
        if self.operands.g is None:
            return None
        e, products, psi_v = self.errors, back * token.decayed, self.errors.psi(back.shape[-1])
        by_token, stored = 16 * e.u + 2 * e.w, self.stored.of_decay()
        if self.operands.g[0].shape[-1] > 1 or back.shape[-2] == 1:
            error = _times(np.abs(back), token.before) + _times(np.abs(token.decayed), zeta)
            error = error + np.sum(token.before * zeta, axis=-1, keepdims=True) + psi_v * np.sum(np.abs(products), axis=-1)
            return np.sum(products, axis=-1), error + by_token * (self.passed + self.passed_errors[..., None]) + stored
        error = column_lengths(back) * token.before + column_lengths(token.decayed) * zeta + token.before * zeta
        total = np.sum(np.abs(products), axis=(-2, -1))[..., None]
        error = np.sum(error, axis=-1, keepdims=True) + (psi_v + back.shape[-2] * e.u) * total
        sums = np.sum(self.passed, axis=-1, keepdims=True) + self.passed_errors[..., None]
        return np.sum(products, axis=(-2, -1))[..., None], error + by_token * sums + np.sum(stored, axis=-1, keepdims=True)

    def _decay(self, token: Token, back: np.ndarray, zeta: np.ndarray) -> None:
        """Go on to the state before the token."""
        self.after = token.decays[..., None] * back
        self.eta = token.kept * (zeta - self.stored.lost) + column_lengths(token.of_decay[..., None] * self.after)
        self.eta = self.eta + self.errors.flushed * (1 + column_lengths(back)) + self.stored.lost
        self.paths = token.decays[..., None] * self.paths


def gradient_errors(cotangent: Pair, operands: Operands, arithmetic: Arithmetic) -> Gradients:
    """Return the gradients of q, k, v, g, beta and the state, each entry with its error."""
    backward = Backward(cotangent, operands, arithmetic)
    parts = [backward.step(t) for t in range(len(backward.tokens))[::-1]][::-1]
    flushed, e = backward.errors.flushed, backward.errors
    found: Gradients = []
    given = (operands.q, operands.k, operands.v, operands.g, operands.beta)
    for i, operand in enumerate(given):
        axis, pairs = (-1 if i == 4 else -2), [part[i] for part in parts]
        if operand is None:
            found.append(None)
        elif not pairs:
            found.append((np.zeros(operand[0].shape), np.zeros(operand[0].shape)))
        else:
            value, error = (np.stack([pair[j] for pair in pairs if pair], axis=axis) for j in range(2))
            found.append((value, error + flushed))
    last = backward.after
    found.append((last, backward.eta[..., None, :] + 2 * e.u * np.abs(last) + flushed))
    return found


def _times(state: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Return the sums of the columns of a state, weighted by a row."""
    return np.asarray(np.matmul(state, row[..., :, None])[..., 0])
