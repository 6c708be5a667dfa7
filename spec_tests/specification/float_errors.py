"""Ignore NumPy's floating-point errors: a number that overflows or is NaN is judged by its value, and needs no warning."""

from __future__ import annotations

from contextvars import ContextVar
from types import TracebackType

import numpy as np

_ignored: ContextVar[bool] = ContextVar("float errors are ignored", default=False)


class ignored_float_errors:  # noqa: N801  # it is used as `np.errstate` is
    """A context in which no floating-point operation of NumPy warns or raises.

    Inside of another such context it does nothing. `np.errstate` takes longer than a step of an equation on a small array, and an
    evaluation has hundreds of steps.
    """

    __slots__ = ("state",)

    def __enter__(self) -> None:
        self.state: np.errstate | None = None
        if not _ignored.get():
            self.state = np.errstate(all="ignore")
            self.state.__enter__()
            _ignored.set(True)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.state is not None:
            _ignored.set(False)
            self.state.__exit__(kind, error, trace)
