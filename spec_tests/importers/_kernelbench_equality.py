"""Which operation a KernelBench problem is: the one whose values its model has, on several small inputs.

Both are computed in float64. They are equal if they differ by less than half a step of float32 at the largest value: rounding in
float64 moves a value far less, and what differs by less is one function for every kernel in float32.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..specification.aliases import OPERATIONS
from ..specification.registry import operations
from ._imported import import_torch
from ._kernelbench_candidates import Candidate, list_candidates
from ._kernelbench_problem import SmallProblem

SCALES = (1.0, 0.01, 16.0)  # of the inputs: epsilon shows where they are small, limits and saturation where they are large
TINY_SCALES = (1e-7, 1e-14, 0.0)  # at which every epsilon shows, and which say nothing of how near two functions are
SHOWN_INPUTS = 4  # at most, beside the value that differs


@dataclass(frozen=True)
class Difference:
    """How far a model is from a candidate."""

    share: float  # the largest difference, in half steps of float32 at the largest value; equal functions have less than 1
    distance: float  # of all values together, by which the nearest candidate is found
    words: str


def recognize(small: SmallProblem, model: Any, file_name: str) -> Candidate | str:
    """Return the candidate that the model is, or the reason why it is none.

    file_name: the letters of the name of the problem's file, which may suggest an operation.
    """
    torch = import_torch()
    module = model(*small.init).double().eval()
    examples = []
    for scale in (*SCALES, *TINY_SCALES):
        inputs = tuple(x * scale if x.is_floating_point() else x for x in small.draw(torch.float64))
        with torch.no_grad():
            examples.append((inputs, module(*inputs)))
    if not hasattr(examples[0][1], "shape"):
        return f"returns {type(examples[0][1]).__name__}, where one array is needed"
    differences = {
        candidate: found for candidate in list_candidates(_find_numbers(module)) if (found := _compare(candidate, examples))
    }
    if not differences:
        return f"takes {small.describe()}, which is none of the problems that are recognized"
    equal = [candidate for candidate, found in differences.items() if found.share < 1]
    nearest = equal[0] if equal else min(differences, key=lambda candidate: differences[candidate].distance)
    if not equal:
        return _describe_stranger(differences, nearest, file_name)
    if small.is_square and nearest.operation == "linear":
        return "multiplies square matrices alone, which is no size that the suite can restrict itself to"
    return nearest


def _find_numbers(module: Any) -> tuple[float, ...]:
    """Return the numbers that the model keeps, of which one may be its epsilon."""
    kept = (value for part in module.modules() for value in vars(part).values())
    return tuple(dict.fromkeys(value for value in kept if isinstance(value, float)))


def _compare(candidate: Candidate, examples: list[tuple[tuple[Any, ...], Any]]) -> Difference | None:
    """Return where the values of the examples differ most from those of a candidate, None if it does not take these arrays."""
    found = []
    for inputs, values in examples:
        try:
            expected = candidate.evaluate(inputs)
        except (TypeError, IndexError, RuntimeError, ValueError):
            return None  # its arrays have other numbers of dimensions
        if expected is None or expected.shape != values.shape:
            return None
        found.append(_compare_values(inputs, values, expected))
    ordinary = found[: len(SCALES)]
    shown = ordinary if any(difference.share >= 1 for difference in ordinary) else found
    worst = max(shown, key=lambda difference: difference.share)
    return replace(worst, distance=sum(difference.distance for difference in ordinary))


def _compare_values(inputs: tuple[Any, ...], values: Any, expected: Any) -> Difference:
    torch = import_torch()
    difference = (values - expected).where(~(values.isnan() & expected.isnan()), 0.0)  # as 0 / 0 in both
    gaps = difference.abs().nan_to_num(nan=torch.inf).reshape(-1)
    half_step = float(expected.nan_to_num().abs().max()) * torch.finfo(torch.float32).eps / 2
    at = int(gaps.argmax())
    got, right = float(values.reshape(-1)[at]), float(expected.reshape(-1)[at])
    share = float(gaps[at]) / half_step if half_step else (0.0 if float(gaps[at]) == 0 else torch.inf)
    elementwise = len(inputs) == 1 and inputs[0].shape == values.shape
    where = f"at x = {float(inputs[0].reshape(-1)[at]):.4g}" if elementwise else f"at element {at} of {len(gaps)}"
    sizes = max(float(x.nan_to_num(posinf=0.0, neginf=0.0).norm()) for x in (values, expected))
    distance = float(difference.nan_to_num(posinf=0.0, neginf=0.0).norm()) / sizes if sizes else 0.0
    return Difference(share, distance, f"{where} it gives {got:.4g} instead of {right:.4g}")


def _describe_stranger(differences: dict[Candidate, Difference], nearest: Candidate, file_name: str) -> str:
    """Return the sentence on a model that computes none of the operations."""
    suggested = [candidate for candidate in differences if candidate.operation in _list_suggested(file_name)]
    named = min(suggested, key=lambda candidate: differences[candidate].distance) if suggested else nearest
    others = "" if named is nearest else f"; the nearest operation is {nearest.operation}, {nearest.words}"
    why = "its name suggests" if suggested else "the nearest is"
    return f"computes none of the operations: {why} {named.operation}, {named.words}, and {differences[named].words}{others}"


def _list_suggested(file_name: str) -> Iterator[str]:
    """Yield the operations whose names, or other names of theirs, the name of a file contains."""
    for operation in operations():
        names = (operation, *OPERATIONS.get(operation, ((), ()))[0])
        if any(re.sub(r"[^a-z]", "", name) in file_name for name in names):
            yield operation
