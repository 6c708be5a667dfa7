"""Test how the lines of a changed equation are listed."""

import ast

from spec_tests.diagnosis.equations.neighbours.candidate import Candidate
from spec_tests.diagnosis.equations.neighbours.edit import applied, changed_lines
from spec_tests.diagnosis.equations.neighbours.listing import list_edits
from spec_tests.diagnosis.equations.neighbours.source import source_of
from spec_tests.diagnosis.equations.neighbours.trace import trace
from spec_tests.diagnosis.equations.words import describe_equation

from ..measure.leave_one_out import answered_calls
from ..support.in_process import backend


def test_a_line_that_is_left_out_has_no_line_in_its_place() -> None:
    """The `pass` in its place would be no equation to a reader."""
    calls = list(answered_calls(backend("deviation:softmax/axis-ignored"), "cross_entropy_vjp", "float64", "lines", 12))
    source = source_of("cross_entropy_vjp")
    seen = trace(source, [lambda equation, call=call: call.evaluate(lambda x: x, equation) for call in calls])
    left_out = [edit for edit in list_edits(source, seen, 0) if edit.rule == "assignment_left_out"]
    assert left_out
    for edit in left_out:
        before, after = changed_lines((edit,))
        assert before
        assert after == []


def test_a_change_of_a_helper_is_said_with_the_line_that_calls_it() -> None:
    """A reader of the operation does not know the helper, and cannot mend it."""
    calls = list(answered_calls(backend("deviation:softmax/axis-ignored"), "rms_norm_vjp", "float64", "lines", 4))
    source = source_of("rms_norm_vjp")
    seen = trace(source, [lambda equation, call=call: call.evaluate(lambda x: x, equation) for call in calls])
    edits = [edit for edit in list_edits(source, seen, 1) if edit.site.name == "summed_to"]
    assert edits
    candidate = Candidate(source, (edits[0],))
    assert candidate.part == "rms_norm_vjp"
    caller = "y = (dx, «sum of (c * n) to the shape weight.shape»)"
    assert candidate.callers == [caller]
    assert describe_equation(candidate).what.endswith(f", in the step marked in `{caller}`")


def test_no_expression_is_put_into_itself() -> None:
    """In t = stored(t, lambda t: f(t)) the t of the lambda is not what the line computes: its tree would have no end."""

    def depth(node: ast.AST, above: frozenset[int] = frozenset()) -> None:
        assert id(node) not in above
        for child in ast.iter_child_nodes(node):
            depth(child, above | {id(node)})

    source = source_of("dynamic_quantize")
    calls = list(answered_calls(backend("deviation:dynamic_quantize/eps-added"), "dynamic_quantize", "float32", "lines", 6))
    seen = trace(source, [lambda equation, call=call: call.evaluate(lambda x: x, equation) for call in calls])
    edits = [edit for edit in list_edits(source, seen, 0) if edit.rule == "functions_exchanged"]
    assert edits
    for edit in edits:
        with applied((edit,)):
            depth(edit.site.tree)
