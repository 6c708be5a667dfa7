"""What operands lose whose numbers are subnormal in 16 bits: by the number of them, and not by their size.

A chunk stores products of decays with keys, queries and scores, so that nothing decays what is lost
(docs/proofs/linear_attention.md).
"""

from __future__ import annotations

import numpy as np

from .lengths import norm
from .recurrence_operands import Operands


class Stored:
    """What was lost up to a token: of the columns of the state, and of what is read."""

    def __init__(self, operands: Operands, quantum: float):
        state = operands.state
        self.quantum, self.operands = quantum, operands
        self.sizes = np.abs(state[0]) + state[1]  # of all that was written, without decays and signs
        self.rows = np.zeros(1)  # the sums of what is multiplied by a score
        self.lost = np.zeros(1)  # of the length of each column

    def of_read(self, key: np.ndarray) -> np.ndarray | float:
        """Return what a value less what the key reads loses: the state, the key and the difference are stored."""
        return self.quantum * (1 + _total(key) + np.sum(self.sizes, axis=-2)) if self.quantum else 0.0

    def of_product(self) -> np.ndarray | float:
        """Return what the row loses that is written: it, its key times beta and the inverse of the chunk are stored."""
        return self.quantum * (1 + np.sum(self.sizes, axis=-2) + self.rows) if self.quantum else 0.0

    def of_out(self, query: np.ndarray) -> np.ndarray | float:
        """Return what an out loses: its scores, its query and the state are stored, with the scale or without it."""
        if not self.quantum:
            return 0.0
        of_query = np.sum(self.sizes, axis=-2) + _total(query)
        return self.quantum * self.operands.unscaled * (self.rows + of_query + self.quantum * self.sizes.shape[-2])

    def write(self, key: np.ndarray, value: np.ndarray, row: np.ndarray, rate: np.ndarray | None, t: int) -> None:
        """Go on by a token: its key, the row and their products are stored."""
        if not self.quantum:
            return
        met, length = row, norm(key)
        if rate is not None:
            found = np.matmul(key[..., None, :], self.sizes)[..., 0, :]
            met = row + (1 + rate) * (value + found)
            length = length + length * (self.of_product() / self.quantum + rate * (self.of_read(key) / self.quantum))
        elif self.operands.steps is not None:
            met = np.maximum(row, self.before_steps(value, t))
        self.rows = self.rows + met
        self.lost = self.lost + self.quantum * (length + np.sqrt(key.shape[-1]) * (1 + met + self.quantum))
        self.sizes = self.sizes + key[..., :, None] * row[..., None, :]

    def before_steps(self, value: np.ndarray, t: int) -> np.ndarray:
        """Return an array of token t before it was multiplied by its step. Where this is 0, products with it are exact."""
        steps = self.operands.steps
        if steps is None:
            return value
        step = np.abs(steps[..., t, :])
        return np.where(step > 0, value / np.where(step > 0, step, 1.0), 0.0)


class StoredBack:
    """What was lost on the way back to a token: of the columns of the cotangent of the state, and of each gradient."""

    def __init__(self, cotangent: np.ndarray, given: Stored):
        self.given, self.quantum, self.unscaled = given, given.quantum, given.operands.unscaled
        k, beta = given.operands.k, given.operands.beta
        rates = np.ones(1) if beta is None else 1 + (beta[0] + beta[1])[..., None]
        self.keys = np.sum(rates * (np.abs(k[0]) + k[1]), axis=-2)  # of all tokens, as rows of a chunk multiply them
        self.sizes = np.abs(cotangent)  # of all ways back, without decays and signs
        self.queries, self.outs, self.rows = np.zeros(1), np.zeros(1), np.zeros(1)
        self.lost, self.passed = np.zeros(1), np.zeros(1)

    def write(self, query: np.ndarray, out: np.ndarray) -> None:
        """Go back to a token: its query and the cotangent of its out are stored, with the scale or without it."""
        if self.quantum:
            both = norm(query) + np.sqrt(query.shape[-1]) * (1 + out + self.quantum)
            self.lost = self.lost + self.quantum * self.unscaled * both
            self.queries, self.outs = self.queries + self.unscaled * query, self.outs + self.unscaled * out
            self.sizes = self.sizes + query[..., :, None] * out[..., None, :]

    def of_query(self, out: np.ndarray) -> np.ndarray | float:
        """Return what the gradient of the query loses. Where the cotangent of the out is 0, all that is stored is 0."""
        if not self.quantum:
            return 0.0
        total = _total(out)
        lost = 1 + self.keys * (1 + total) + np.sum(self.given.sizes, axis=-1) + total
        return np.where(total > 0, self.quantum * self.unscaled * lost, 0.0)

    def of_read(self, key: np.ndarray) -> np.ndarray | float:
        """Return what the product of a key with the cotangent of the state loses, and with the cotangents of outs by scores."""
        return self.quantum * (1 + self.outs + _total(key) + np.sum(self.sizes, axis=-2)) if self.quantum else 0.0

    def of_key(self, row: np.ndarray, read: np.ndarray | None) -> np.ndarray | float:
        """Return what the gradient of the key loses. row: what was written; read: beta times what was read on the way back."""
        if not self.quantum:
            return 0.0
        lost = 1 + self.queries * (1 + _total(row)) + np.sum(self.sizes, axis=-1) + _total(row)
        if read is not None:
            lost = lost + (1 + _total(row) + _total(read)) * (1 + self.keys) + np.sum(self.given.sizes, axis=-1)
        return self.quantum * lost

    def subtract(self, key: np.ndarray, rate: np.ndarray, row: np.ndarray) -> np.ndarray | float:
        """Go on by what a token with beta takes away. Return what the row of it loses: it, its key and the inverse are stored."""
        if not self.quantum:
            return 0.0
        lost = self.quantum * (1 + np.sum(self.sizes, axis=-2) + self.rows)
        of_row = lost + rate * self.of_read(key)
        found = np.matmul(key[..., None, :], self.sizes)[..., 0, :]
        self.rows = self.rows + (1 + rate) * found + row
        self.lost = self.lost + norm(key) * of_row + self.quantum * np.sqrt(key.shape[-1]) * (1 + row)
        self.sizes = self.sizes + key[..., :, None] * row[..., None, :]
        return np.asarray(of_row)

    def before_steps(self, lost: np.ndarray | float, key: np.ndarray, value: np.ndarray, t: int) -> np.ndarray | float:
        """Return what the gradient of a value loses, where scores and keys may be stored with the steps in them."""
        steps = self.given.operands.steps
        if steps is None or not self.quantum:
            return lost
        step, largest = np.abs(steps[..., t, :]), np.max(self.given.before_steps(value, t), axis=-1, keepdims=True)
        pairs = self.quantum * _total(self.queries * key)
        lost = lost * np.maximum(1.0, np.where(step > 0, 1 / np.where(step > 0, step, 1.0), 0.0))
        return np.asarray(lost + np.where(largest > 0, pairs / np.where(largest > 0, largest, 1.0), 0.0))

    def of_beta(
        self, key: np.ndarray, t: int, of_row: np.ndarray | float, of_key: np.ndarray | float, rows: np.ndarray
    ) -> np.ndarray | float:
        """Return what the gradient of beta loses, which may be taken from those of beta times the value and the key."""
        if not self.quantum:
            return 0.0
        value = np.abs(self.given.operands.v[0][..., t, :]) + np.matmul(key[..., None, :], self.given.sizes)[..., 0, :]
        return np.sum(value * of_row + self.quantum * rows, axis=-1) + np.sum(key * of_key, axis=-1)

    def of_decay(self) -> np.ndarray:
        """Return what the gradient of a decay loses by channel: by both states, and by sums over later queries and keys."""
        if not self.quantum:
            return np.zeros(1)
        return np.asarray(self.passed + self.quantum * np.sum(self.sizes + self.given.sizes, axis=-1))


def _total(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.sum(x, axis=-1, keepdims=True))
