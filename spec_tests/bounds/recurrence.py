"""The error of the recurrence of linear attention, by the length of each column of the state (docs/proofs/linear_attention.md).

In the domain of the operation the map from one state to the next makes no column longer, so that an error of that length grows
by sums alone. Taken element by element, it would grow exponentially with the number of tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..specification.formats import Arithmetic
from .lengths import column_lengths, norm
from .recurrence_operands import Operands, Pair
from .stored_operands import Stored


@dataclass(frozen=True)
class Errors:
    """The units of the errors: of the computation, of operands stored in 16 bits, and of flushed and subnormal numbers."""

    u: float
    w: float
    flushed: float
    quantum: float = 0.0  # of the storing of an operand, twice

    @staticmethod
    def of(arithmetic: Arithmetic) -> Errors:
        """Where the result of every step may be stored in 16 bits, that is the rounding of every step."""
        narrow, of_steps = arithmetic.rounded_storage, arithmetic.step_storage
        w, quantum = (0.0, 0.0) if narrow is None else (narrow.u, 2 * narrow.flush)
        u, lost = arithmetic.compute.u, 64 * arithmetic.compute.tiny
        if of_steps is not None:
            u, lost = of_steps.u, 64 * of_steps.quantum + lost
        return Errors(u, w, lost, quantum)

    def psi(self, d: int) -> float:
        """Return the error of a sum of d products, in units of the sum of their sizes."""
        return (d + 16) * self.u + 2 * self.w

    @property
    def chi(self) -> float:
        """The error of a product that is written, in units of its size."""
        return 4 * self.u + 4 * self.w


@dataclass(frozen=True)
class Token:
    """What a token finds, and what it leaves. Errors of states are those of the lengths of their columns."""

    q: np.ndarray
    dq: np.ndarray
    k: np.ndarray
    dk: np.ndarray
    size: np.ndarray  # the length of the key, and of its error
    decays: np.ndarray  # of each channel
    kept: np.ndarray  # the largest decay
    of_decay: np.ndarray  # the errors of the decays, in units of the decays
    decayed: np.ndarray  # S'
    before: np.ndarray  # the error of S'
    row: np.ndarray  # what is written with the key
    of_row: np.ndarray  # its error
    after: np.ndarray  # S
    error: np.ndarray  # the error of S
    b: np.ndarray | None = None  # with beta: it, its error, and what the value differs by from what was read, with its error
    db: np.ndarray | float = 0.0
    r: np.ndarray | None = None
    of_r: np.ndarray | None = None


class Forward:
    """The way forward through the tokens: the state, and the errors of its columns."""

    def __init__(self, operands: Operands, arithmetic: Arithmetic):
        self.operands, self.errors = operands, Errors.of(arithmetic)
        self.state, self.error = operands.state[0], column_lengths(operands.state[1])
        self.stored = Stored(operands, self.errors.quantum)
        self.total = np.zeros(1)  # the sums of the sizes of the logarithms of decays over the call
        if operands.g is not None:
            g = operands.g[0]
            self.total = np.sum(np.abs(np.where(np.isinf(g), 0.0, g)), axis=-2)

    def step(self, t: int) -> Token:
        """Go on by a token."""
        operands, e = self.operands, self.errors
        (q, dq), (k, dk), (v, dv) = ((x[..., t, :], dx[..., t, :]) for x, dx in (operands.q, operands.k, operands.v))
        decays, of_decay, decayed, before = np.ones(1), np.zeros(1), self.state, self.error
        if operands.g is not None:
            decays = np.exp(operands.g[0][..., t, :])
            of_decay = e.u * (2 + 5 * self.total) + np.expm1(operands.g[1][..., t, :])
            decayed = decays[..., None] * self.state
        kept = np.max(decays, axis=-1, keepdims=True)
        before = kept * (before - self.stored.lost) + column_lengths(of_decay[..., None] * decayed)
        before = before + e.flushed * (1 + column_lengths(self.state)) + self.stored.lost
        size = norm(k) + norm(dk)
        b, r, of_r = None, None, None
        db: np.ndarray | float = 0.0
        if operands.beta is None:
            row, of_row = v, dv + 0 * v
            own = size * ((2 * e.u + 2 * e.w) * np.abs(v) + dv) + norm(dk) * np.abs(v)
        else:
            b, db = (x[..., t, None] for x in operands.beta)
            r = v - read(k, decayed)
            of_read = e.psi(k.shape[-1]) * read(np.abs(k), np.abs(decayed)) + read(dk, np.abs(decayed))
            of_r = size * before + of_read + (2 * e.u + 2 * e.w) * (np.abs(v) + np.abs(r)) + dv
            of_r = of_r + self.stored.of_read(np.abs(k) + dk)
            row, of_row = b * r, (b + db) * of_r + db * np.abs(r) + self.stored.of_product()
            inside = of_read + 4 * e.u * np.abs(r) + 2 * e.w * (np.abs(v) + 2 * np.abs(r)) + dv
            own = (b + db) * size * inside + (b * norm(dk) + db * size) * np.abs(r)
        self.state = decayed + k[..., :, None] * row[..., None, :]
        self.error = before - self.stored.lost + 2 * e.u * column_lengths(self.state) + own
        self.stored.write(np.abs(k) + dk, np.abs(v) + dv, np.abs(row) + of_row, None if b is None else b + db, t)
        self.error = self.error + self.stored.lost
        return Token(
            q, dq, k, dk, size, decays, kept, of_decay, decayed, before, row, of_row, self.state, self.error, b, db, r, of_r
        )


def recurrence_errors(operands: Operands, arithmetic: Arithmetic) -> Pair:
    """Return the outs and the last state, each entry with its error: in the state, that of the length of its column."""
    forward, outs, errors = Forward(operands, arithmetic), list[np.ndarray](), list[np.ndarray]()
    e, d_k = forward.errors, operands.k[0].shape[-1]
    for t in range(operands.k[0].shape[-2]):
        token = forward.step(t)
        outs.append(read(token.q, token.after))
        of_out = (norm(token.q) + norm(token.dq)) * token.error
        of_out = of_out + read(e.psi(d_k) * np.abs(token.q) + token.dq, np.abs(token.after))
        errors.append(of_out + forward.stored.of_out(np.abs(token.q) + token.dq) + e.flushed)
    of_state = np.broadcast_to(forward.error[..., None, :], forward.state.shape)
    rows, of_rows = ([*(x[..., None, :] for x in part), last] for part, last in ((outs, forward.state), (errors, of_state)))
    return np.concatenate(rows, axis=-2), np.concatenate(of_rows, axis=-2)


def read(x: np.ndarray, state: np.ndarray) -> np.ndarray:
    """Return the rows of a state, weighted by the entries of x and added up."""
    return np.asarray(np.matmul(x[..., None, :], state)[..., 0, :])
