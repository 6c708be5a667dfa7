"""Count the copies that the suite's laws make to and from a device, on the fake device, which counts them.

`python -m meta_tests.measure.transfers > docs/measured/transfers.txt`

The backend is the shipped one for CUDA devices with another name for the device. One array that is copied is one copy.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from backends import torch_cpu
from spec_tests.implementation.backend import Backend, build_backend
from spec_tests.inputs.effort import using_effort
from spec_tests.specification.registry import operations

from ..support.in_process import attempt, trials_of

if TYPE_CHECKING:
    from ..support.fake_boards import Board

ORDINAL = 1
OPERATIONS = (
    "softmax",
    "rms_norm",
    "linear",
    "rope",
    "scaled_dot_product_attention",
    "cross_entropy",
    "softmax_vjp",
    "rms_norm_vjp",
)
MAKERS = ("causal_mask", "sliding_window_mask", "rope_frequencies", "alibi_slopes")  # functions without array arguments


@dataclass(frozen=True)
class Traffic:
    """What one law has moved: calls of the backend, copies in each direction, and bytes that it leaves on the device."""

    law: str
    calls: int
    to_device: int
    from_device: int
    left: int


def build_on_device() -> Backend:
    """Return PyTorch's functions as a backend on the fake device."""
    from ..support.fake_device import NAME  # registers the device with PyTorch, so it is imported where it is needed

    place = f"{NAME}:{ORDINAL}"
    functions = {name: getattr(torch_cpu, name) for name in operations() if hasattr(torch_cpu, name)}
    functions |= {name: partial(functions[name], device=place) for name in MAKERS}
    return build_backend(SimpleNamespace(**functions, name="torch-fake", framework="torch", device=place), set(operations()))


def measure(backend: Backend, operation: str, dtype: str = "float32") -> Iterator[Traffic]:
    """Yield what each law of the operation moves at smoke effort."""
    from ..support.fake_boards import BOARDS

    board, calls = BOARDS[ORDINAL], 0
    run_guarded = Backend.run_guarded

    def count(self: Backend, *arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        return run_guarded(self, *arguments)

    Backend.run_guarded = count  # type: ignore[method-assign]
    try:
        with using_effort("smoke"):
            for test, trial in trials_of(operation, backend):
                if trial.dtype == dtype:
                    board.copies.clear()
                    calls, before = 0, board.used
                    violation = attempt(test, trial, seed=1)
                    _wait_until_freed(board, before)
                    assert violation is None or test.invariant.level, violation
                    law = test.invariant.id_for(trial.operation_name)
                    yield Traffic(law, calls, board.copies["to device"], board.copies["from device"], board.used - before)
    finally:
        Backend.run_guarded = run_guarded  # type: ignore[method-assign]


def _wait_until_freed(board: Board, before: int) -> None:
    """Wait until the board holds no more than before, for one second at most.

    A backward pass leaves circles of references. It also has its own thread, which lets go of the last gradient a moment later.
    """
    gc.collect()
    end = time.monotonic() + 1
    while board.used > before and time.monotonic() < end:
        time.sleep(0.001)


def main() -> None:
    """Print the copies of each operation's laws, and the law that makes most copies for each call."""
    backend = build_on_device()
    print(f"{'':30}{'calls':>8}{'to':>8}{'from':>8}  copies in both directions for each call; most")
    for operation in OPERATIONS:
        laws = [traffic for traffic in measure(backend, operation) if traffic.calls]
        calls, to, back = (sum(getattr(x, name) for x in laws) for name in ("calls", "to_device", "from_device"))
        most = max(laws, key=lambda x: (x.to_device + x.from_device) / x.calls)
        worst = (most.to_device + most.from_device) / most.calls
        print(f"{operation:30}{calls:8}{to:8}{back:8}  {(to + back) / calls:.1f}; {worst:.1f} ({most.law})")


if __name__ == "__main__":
    main()
