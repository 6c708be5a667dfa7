"""A step that acts on a term that may be left out, and not on the whole, is said."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from spec_tests.diagnosis.equations.neighbours.edit import Edit
from spec_tests.diagnosis.equations.neighbours.listing import list_edits
from spec_tests.diagnosis.equations.neighbours.source import source_of
from spec_tests.diagnosis.equations.neighbours.trace import trace


def evaluate(equation: Any) -> Any:
    rng, block = np.random.default_rng(1), (None, None)
    a, b = rng.integers(-8, 8, (3, 6)), rng.integers(-8, 8, (4, 6))
    of_b = {"scale_b": np.ones((1, 1)) / 4, "zero_point_b": np.ones((1, 1), dtype=int)}
    return equation(a, b, **of_b, a_dtype="int8", b_dtype="int8", block_b=block, dtype="float32")


def test_a_scale_of_one_term_is_tried_where_the_term_is_optional() -> None:
    source = source_of("scaled_matmul")
    seen = trace(source, [evaluate])
    edits = [edit for edit in list_edits(source, seen, 1) if edit.rule == "function_of_another_part"]
    found = {write_new(edit) for edit in edits if edit.site.name == "to_numbers"}
    zero_point = "spread(float64(zero_point), block, q.shape)"
    scaled = "product({}, spread(float64(scale), block, q.shape), roundings=0)"
    absent = f"{scaled.format('q')} if zero_point is None else "
    assert f"{absent}{scaled.format('q')} - {zero_point}" in found
    assert f"{absent}q - {scaled.format(zero_point)}" in found


def write_new(edit: Edit) -> str:
    return ast.unparse(edit.changes[0].new)
