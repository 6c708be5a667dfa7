"""Test that equations that are found are written in the notation of the operations' pages, with the changed part marked."""

import re
from functools import cache

import pytest

from spec_tests.calls.call import Call
from spec_tests.diagnosis.equations.neighbours.candidate import Candidate
from spec_tests.diagnosis.equations.neighbours.changed_parts import write_change
from spec_tests.diagnosis.equations.neighbours.edit import Edit, changed_lines
from spec_tests.diagnosis.equations.neighbours.listing import list_edits
from spec_tests.diagnosis.equations.neighbours.notation import CLOSE, MAX_LENGTH, OPEN, list_helpers
from spec_tests.diagnosis.equations.neighbours.notation_table import NOTATIONS, PLAIN
from spec_tests.diagnosis.equations.neighbours.source import source_of
from spec_tests.diagnosis.equations.neighbours.trace import trace
from spec_tests.diagnosis.equations.words import describe_equation
from spec_tests.specification.registry import gradients, operations, specification

from ..measure.leave_one_out import answered_calls
from ..support.in_process import backend
from ..support.rotation import rotate

WRITTEN = 80  # edits of each operation
MAX_STEPS = 100  # of an equation with its parts; the lines of larger ones are those of their parts
SMALL = [name for name in (*operations(), *gradients()) if specification(name).steps <= MAX_STEPS]
OF_THE_BOUND = ("either", "interpolated", "through_maximum", "recomputed")  # marks with arguments that change no value
WORDS = {
    "along",
    "held",
    "largest",
    "members",
    "positive",
    "recomputed",
    "rows",
    "scattered",
    "taken",
    "weigh",
    "double",
    "exact",
}
WORDS |= {"rounded", "exchanged", "padded", "rolled", "delayed", "compounded", "quotient", "smallest", "wide", "gating", "below"}


@cache
def helpers() -> set[str]:
    for name in (*operations(), *gradients()):
        assert specification(name).reference  # imports its equation
    return {function.__name__ for function in list_helpers()}


def list_all_edits(operation: str) -> list[Edit]:
    calls: list[Call] = list(answered_calls(backend("deviation:softmax/axis-ignored"), operation, "float64", "lines", 4))
    source = source_of(operation)
    seen = trace(source, [lambda equation, call=call: call.evaluate(lambda x: x, equation) for call in calls])  # type: ignore[misc]
    depths = range(max(site.depth for site in source.sites) + 1)
    return [edit for depth in depths for edit in list_edits(source, seen, depth)]


def test_every_function_that_a_line_may_call_has_a_notation() -> None:
    assert helpers() == NOTATIONS.keys() | PLAIN
    assert NOTATIONS.keys() & PLAIN == set()


def test_a_function_of_changed_lines_has_a_name_of_its_own() -> None:
    """Equations and changed lines call functions by name, and a notation names the parameters of one of them."""
    of_lines = [f.__name__ for f in list_helpers() if f.__module__.startswith("spec_tests.")]
    of_equations = {f.__name__ for f in list_helpers() if f.__module__.startswith("reference_numpy.")}
    assert len(set(of_lines)) == len(of_lines)
    assert of_equations.isdisjoint(of_lines)


@pytest.mark.parametrize("operation", rotate([name for name in SMALL if not specification(name).declaration.random], one_in=16))
def test_what_the_rules_change_is_written_for_a_reader(operation: str) -> None:
    shown = {name for name in helpers() if name not in WORDS}
    every = list_all_edits(operation)
    edits = every[:: max(1, len(every) // WRITTEN)]
    alike = 0
    for edit in edits:
        if edit.has_unknown:
            edit = edit.with_constant("0.5")
        candidate = Candidate(source_of(operation), (edit,))
        explanation = describe_equation(candidate)
        texts = [*candidate.written, *candidate.callers]
        for text in filter(None, texts):
            assert len(text) <= MAX_LENGTH, text
            assert text.count(OPEN) == text.count(CLOSE) >= 1, text
        for text in (explanation.what, *(text for _, text in explanation.facts)):
            assert not re.search(r"\bnp\.|(?<!\w)_\w", text), text
            called = set(re.findall(r"\b(\w+)\(", text)) | {word for word in re.findall(r"\w+", text) if "_" in word}
            assert called & (shown - names_of_variables(edit)) == set(), text
        is_seen = candidate.written[0] != candidate.written[1]
        changes_no_value = any(f"{mark}(" in line for line in candidate.lines[0] for mark in OF_THE_BOUND)
        alike += not is_seen and not changes_no_value and candidate.lines != ([], [])
    assert alike <= len(edits) // 20, "what is changed is mostly seen"


def names_of_variables(edit: Edit) -> set[str]:
    """Return the names of the arguments and variables of the function that is changed: these are no helpers."""
    code = edit.site.compile().__code__
    return set(code.co_varnames) | set(code.co_cellvars)


def find_edit(operation: str, after: str) -> Edit:
    found = [edit for edit in list_all_edits(operation) if after in changed_lines((edit,))[1]]
    assert found, f"no rule writes {after}"
    return found[0]


@pytest.mark.parametrize(
    ("operation", "after", "written"),
    [
        (
            "rms_norm",
            "return x / (np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True)) + eps) * weight",
            "y = x / «(sqrt(mean(x^2)) + eps)» * weight",
        ),
        (
            "rms_norm",
            "return x / np.sqrt(np.mean(np.abs(x), axis=-1, keepdims=True) + eps) * weight",
            "y = x / sqrt(mean(«abs(x)») + eps) * weight",
        ),
        ("softmax", "return e / np.sum(e, axis=axis - 1, keepdims=True)", "y = e / sum(e, axis=«axis - 1»)"),
        ("softmax", "e = np.exp(x)", "e = exp(«x»)"),
    ],
)
def test_a_changed_line_is_written_as_on_the_page(operation: str, after: str, written: str) -> None:
    assert write_change((find_edit(operation, after),))[1] == written


def test_padding_is_said_in_words() -> None:
    texts = [write_change((edit,))[1] for edit in list_all_edits("cross_entropy") if edit.rule == "padded_with_zeros"]
    assert "«logits = logits padded with 0 along axis -1 to (logits.shape[-1] rounded up to a multiple of 64)»" in texts
