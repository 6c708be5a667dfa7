"""Conventions of how an argument is passed. They change no equation, and no answer decides them: a backend states them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Passing:
    """A number that a function adds to an argument, so that the equation's argument is the sum."""

    name: str
    argument: str
    operations: tuple[str, ...]
    values: Mapping[str, float]  # what is added, by the value of the convention


PASSINGS: Mapping[str, Passing] = MappingProxyType(
    {
        "gain": Passing(
            "gain",
            "weight",
            ("rms_norm", "add_rms_norm", "layer_norm"),
            MappingProxyType({"weight": 0.0, "one plus weight": 1.0}),
        )
    }
)


def find_passings(operation: str) -> tuple[Passing, ...]:
    """Return the conventions of how the arguments of an operation, or of a gradient, are passed."""
    return tuple(passing for passing in PASSINGS.values() if operation.removesuffix("_vjp") in passing.operations)
