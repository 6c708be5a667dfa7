"""Assertions about implementations that run on several ranks."""

from __future__ import annotations

from ..calls.call import Call
from ..calls.operation import Operation
from ..calls.ranks import has_whole_results, keep_own
from ..calls.result import Result
from ..calls.violation import NotImplementedVariant, add_fact
from .assertions import assert_conforms, assert_identical

SIDES = ("the answer of this rank", "the answer of rank 0")


def assert_each_rank_conforms(operation: Operation, call: Call) -> None:
    """The answer of each rank conforms. The call keeps the answers of all, so that a diagnosis sees them."""
    answer, framework = operation.run(call), operation.backend.framework
    operation.values(call, answer)
    for rank in range(framework.world_size):
        with add_fact("rank", f"{rank} of {framework.world_size}"):
            values = operation.values(call, framework.of_rank(answer, rank))
            assert_conforms(Result(keep_own(call, values, rank) if framework.passes_copies else values, call))


def assert_ranks_identical(operation: Operation, call: Call) -> None:
    """The answers of all ranks have the same bits."""
    answer, framework = operation.run(call), operation.backend.framework
    if framework.passes_copies and not has_whole_results(answer):
        raise NotImplementedVariant("each rank has another part of the result, so that there is nothing to compare", "suite")
    first = operation.values(call, framework.of_rank(answer, 0))
    for rank in range(1, framework.world_size):
        with add_fact("rank", str(rank)):
            assert_identical(operation.values(call, framework.of_rank(answer, rank)), first, sides=SIDES)
