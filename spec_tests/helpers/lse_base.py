"""The lse of a backend in nats, in which the laws have their equations, whatever base it has there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..calls.operation import Operation
from ..specification.conventions import CONVENTIONS
from ..specification.conventions.lse_base import BITS_OF_A_NAT, NATS_OF_A_BIT
from .assertions import exactly

BASE = CONVENTIONS["lse_base"]


def is_in_bits(operation: Operation) -> bool:
    """Whether the operation's lse are logarithms to the base 2, as the backend states or as its answers show."""
    return operation.possible_values(BASE)[0] == "2"


def to_nats(operation: Operation, lse: Any) -> Any:
    """Return an lse that the operation returned, or one that it is given, in nats."""
    return exactly(lse) * NATS_OF_A_BIT if is_in_bits(operation) else lse


def from_nats(operation: Operation, lse: Any) -> Any:
    """Return an lse in nats as the operation has it."""
    return exactly(lse) * BITS_OF_A_NAT if is_in_bits(operation) else lse


def state_in_nats(operation: Operation, state: Iterable[Any]) -> tuple[Any, Any]:
    """Return out and lse, the latter in nats."""
    out, lse = state
    return out, to_nats(operation, lse)


def state_from_nats(operation: Operation, state: Iterable[Any]) -> tuple[Any, Any]:
    """Return out and an lse in nats as the operation has it."""
    out, lse = state
    return out, from_nats(operation, lse)
