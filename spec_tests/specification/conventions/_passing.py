"""Conventions of how arrays are passed and returned. They change no equation. No answer decides them: a backend states them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Added:
    """A function adds a number to an argument, so that the equation's argument is the sum."""

    argument: str
    number: float


@dataclass(frozen=True)
class Exchanged:
    """A function has this axis one place earlier than the equation. It is not moved where only the batch precedes it."""

    axis: str  # its name in the shapes of the equation
    arrays: tuple[str, ...] = ()  # the names of those in which it is; () for all


@dataclass(frozen=True)
class Stored:
    """A function takes and returns an array in the dtype of the other ones, where the equation has float32 or wider.

    is_either: it takes both, and returns what it was given, or the dtype of the other ones if none was given.
    """

    array: str
    is_either: bool = False


@dataclass(frozen=True)
class Passing:
    """How the arrays of some operations are passed to a function, and returned by it."""

    name: str
    operations: tuple[str, ...]
    values: Mapping[str, Added | Exchanged | Stored | None]  # None: as the equation has them


PASSINGS: Mapping[str, Passing] = MappingProxyType(
    {
        "gain": Passing(
            "gain",
            ("rms_norm", "add_rms_norm", "layer_norm"),
            MappingProxyType({"weight": None, "one plus weight": Added("weight", 1.0)}),
        ),
        "token_axis": Passing(
            "token_axis",
            ("linear_attention", "linear_attention_gate", "mamba2_scan"),
            MappingProxyType({"after heads": None, "before heads": Exchanged("n")}),
        ),
        "state_layout": Passing(
            "state_layout",
            ("linear_attention",),
            MappingProxyType({"kv": None, "vk": Exchanged("d_v", ("state",))}),
        ),
        "state_dtype": Passing(
            "state_dtype",
            ("linear_attention", "mamba2_scan"),
            MappingProxyType({"wide": None, "input": Stored("state"), "given": Stored("state", is_either=True)}),
        ),
    }
)


def find_passings(operation: str) -> tuple[Passing, ...]:
    """Return the conventions of how the arrays of an operation, or of a gradient, are passed."""
    return tuple(passing for passing in PASSINGS.values() if operation.removesuffix("_vjp") in passing.operations)
