"""Assertions about implementations that run on several ranks."""

from __future__ import annotations

from ..calls.call import Call
from ..calls.operation import Operation
from ..calls.result import Result
from ..calls.violation import add_fact
from .assertions import assert_conforms, assert_identical

SIDES = ("the answer of this rank", "the answer of rank 0")


def assert_each_rank_conforms(operation: Operation, call: Call) -> None:
    """The answer of each rank conforms. Each is the call's own while it is judged, so that a diagnosis sees it."""
    answer, framework = operation.run(call), operation.backend.framework
    for rank in range(framework.world_size):
        with add_fact("rank", f"{rank} of {framework.world_size}"):
            assert_conforms(Result(operation.values(call, framework.of_rank(answer, rank)), call))


def assert_ranks_identical(operation: Operation, call: Call) -> None:
    """The answers of all ranks have the same bits."""
    answer, framework = operation.run(call), operation.backend.framework
    first = operation.values(call, framework.of_rank(answer, 0))
    for rank in range(1, framework.world_size):
        with add_fact("rank", str(rank)):
            assert_identical(operation.values(call, framework.of_rank(answer, rank)), first, sides=SIDES)
