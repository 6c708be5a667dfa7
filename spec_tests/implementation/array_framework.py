"""The protocol of a framework: how the suite makes arrays, reads them, and runs a step of the backend.

`Framework` implements it in the suite's own process. `RemoteFramework` sends requests to the process of an isolated backend.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np


class ArrayFramework(Protocol):
    """What the suite needs of a framework, whichever process has it."""

    device_lost: bool  # whether the context of its device is lost: this process cannot use that device again
    passes_copies: bool  # whether the backend gets copies of the arrays in messages, so that no law about memory can be tried

    world_size: int  # on how many ranks the backend runs

    @property
    def name(self) -> str:
        """The module that a backend names in `framework`."""

    @property
    def device(self) -> str | None:
        """The device that a backend names, if it names one."""

    @property
    def place(self) -> str:
        """The device on which arrays are made, as the framework writes it."""

    @property
    def version(self) -> str:
        """The version of the framework, or "unknown"."""

    @property
    def device_facts(self) -> tuple[str, ...]:
        """What the device is, and which settings decide how precisely it computes; () on the processor."""

    @property
    def namespace(self) -> str:
        """The module that a script imports to make arrays."""

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The floating dtypes that the framework has on this device."""

    @property
    def narrow_dtypes(self) -> tuple[str, ...]:
        """The dtypes of eight bits or fewer that the framework has on this device. What is made of them, and read, are codes."""

    @property
    def integer(self) -> str:
        """The dtype of positions and token ids."""

    @property
    def differentiates(self) -> str:
        """How the framework differentiates: "autograd", "vjp" or "xp.vjp"; "" if it does not."""

    @property
    def accumulates(self) -> bool:
        """Whether arrays hold their gradients, to which every backward pass adds."""

    @property
    def has_states(self) -> bool:
        """Whether layers are called in the states of `implementation/states.py`."""

    @property
    def has_transforms(self) -> bool:
        """Whether functions can be called in all ways of `implementation/ways_of_calling.py`."""

    def call(self, function: Callable[..., Any], arrays: Any, keywords: dict[str, Any]) -> Any:
        """Call a function of the backend, in the way that the state asks for."""

    def in_state(self, state: str, step: Callable[[], Any]) -> Any:
        """Run a step while the framework, or the arguments that are differentiated, are in this state. Return its answer."""

    def run_guarded(self, step: Callable[[], Any], seconds: float) -> Any:
        """Run a step of the backend and return its answer. Raise Refused if it is not implemented, else Fault."""

    def lay_out(self, array: np.ndarray, dtype: str, layout: str) -> Any:
        """Make an array with these values and this memory layout."""

    def native(self, array: Any, dtype: str) -> Any:
        """Make a contiguous array with these values and memory of its own.

        If that fails, raise CannotMakeArray, or a Fault if the device is lost.
        """

    def tile(self, x: Any, copies: int) -> Any:
        """Repeat x along its first axis this many times, in the memory of the framework."""

    def force(self, x: Any) -> Any:
        """Compute x if it is lazy and return it, so that its errors are raised here."""

    def is_array(self, x: Any) -> bool:
        """Whether x is an array of this framework."""

    def describe_foreign(self, x: Any) -> Any:
        """Return x, with everything that is neither an array nor plain replaced by a description of it."""

    def describe_type(self, x: Any) -> str:
        """Return the type of x in words."""

    def numpy(self, x: Any) -> np.ndarray:
        """Return the values of an array. Floating ones are float64."""

    def dtype_of(self, x: Any) -> str:
        """Return the name of the dtype of an array."""

    def device_of(self, x: Any) -> str:
        """Return the device of an array, as the framework writes it."""

    def on_device(self, x: Any) -> bool:
        """Whether an array is on the device on which arrays are made."""

    def overwrite(self, x: Any, value: Any) -> bool:
        """Fill an array in place. Return False if it cannot be written to."""

    def of_rank(self, answer: Any, rank: int) -> Any:
        """Return the answer of the backend as this rank has it."""
