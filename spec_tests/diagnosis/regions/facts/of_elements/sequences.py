"""The place of an element in its sequence, where an operation has a state: the token, and how many tokens the sequence has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .....calls.in_domain import dimension_sizes
from .....specification.registry import given_dimensions
from ._element_fact import ElementFact, Place
from .indices import FromTheEnd, Index

ORDER = 8

CHUNKS = (16, 32, 64, 128)  # tokens
TOKENS, STATE, MEMBERS = "n", "state", "cu_seqlens"


class Token(Index):
    """The index of a token in its sequence."""

    is_derived = True


class TokenFromTheEnd(FromTheEnd):
    """The same, counted from the last."""

    is_derived = True


class Length(ElementFact):
    """How many tokens the sequence of an element has."""

    is_derived = is_index = is_count = True

    def say(self, kind: str, values: tuple[Any, ...]) -> str:
        number = values[0]
        if kind == "above":
            return f"in sequences of {number + 1} tokens or more"
        if kind == "below":
            return f"in sequences of fewer than {number} tokens"
        if kind == "multiple":
            return f"in sequences of {number}, {2 * number}, … tokens"
        if kind == "remainder":
            step, rest = values
            return f"in sequences of {rest} token{'s' * (rest != 1)} more than a multiple of {step}"
        return f"in sequences of {number} token{'s' * (number != 1)}"


@dataclass(frozen=True, eq=False, repr=False)
class IsRagged(ElementFact):
    """Whether the last chunk of a sequence is shorter than the others."""

    chunk: int

    is_derived = is_flag = True

    def say(self, kind: str, values: tuple[Any, ...]) -> str:
        return f"in sequences whose tokens are {'no' if values[0] else 'a'} multiple of {self.chunk}"

    def list_sizes(self) -> list[int]:
        return [self.chunk]


@dataclass(frozen=True, eq=False, repr=False)
class InRaggedChunk(ElementFact):
    """Whether a token lies in the last chunk of its sequence, which is shorter than the others."""

    chunk: int

    is_derived = is_flag = True

    def say(self, kind: str, values: tuple[Any, ...]) -> str:
        return f"in the tokens {'after the last whole chunk' if values[0] else 'of the whole chunks'} of {self.chunk}"

    def list_sizes(self) -> list[int]:
        return [self.chunk]


TOKEN = Token.of("token of its sequence", "token", "tokens")
TOKEN_FROM_THE_END = TokenFromTheEnd.of("token of its sequence from the end", "token", "tokens")
LENGTH = Length.of("tokens of the sequence")


def is_ragged(chunk: int) -> IsRagged:
    """Return the fact whether a sequence ends with a chunk of fewer tokens."""
    return IsRagged.of(f"ragged by {chunk}", chunk)


def in_ragged_chunk(chunk: int) -> InRaggedChunk:
    """Return the fact whether a token lies in such a chunk."""
    return InRaggedChunk.of(f"in a ragged chunk of {chunk}", chunk)


def read(place: Place) -> Iterator[tuple[ElementFact, np.ndarray]]:
    """Yield the facts of tokens in arrays that have them, and those of sequences in these and in states."""
    spec, n = place.call.operation.spec, dimension_sizes(place.call).get(TOKENS)
    if not place.is_part or STATE not in spec.parameters or n is None:
        return
    ends = np.asarray(place.call.named.get(MEMBERS, (0, n)), dtype=int)
    lengths = np.diff(ends)
    axis = _find_axis(place)
    if axis is not None and place.shape[axis] == n:
        token, length = np.arange(n) - np.repeat(ends[:-1], lengths), np.repeat(lengths, lengths)
        behind = (-1, *[1] * (-axis - 1))
        token, length = token.reshape(behind), length.reshape(behind)
        yield TOKEN, token
        yield TOKEN_FROM_THE_END, length - 1 - token
        yield from ((in_ragged_chunk(chunk), token >= length // chunk * chunk) for chunk in CHUNKS)
    elif place.name != STATE:
        return
    elif MEMBERS in place.call.named:
        length = lengths.reshape(-1, *[1] * (len(place.shape) - 1))
    else:
        length = np.array(n)
    yield LENGTH, length
    yield from ((is_ragged(chunk), length % chunk != 0) for chunk in CHUNKS)


def _find_axis(place: Place) -> int | None:
    """Return the axis of the tokens, counted from the last; None if the array has none."""
    spec = place.call.operation.spec
    if spec.is_gradient:
        labels = given_dimensions(spec, {place.name: len(place.shape)}, place.call.named).get(place.name, ())
    else:
        labels = spec.shapes.results[place.name].labels
    return labels.index(TOKENS) - len(labels) if TOKENS in labels else None
