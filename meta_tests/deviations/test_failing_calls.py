"""Test the stored failing calls: they are what the command writes, and a judge that has gone soft no longer finds them wrong."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spec_tests.bounds.bounded import Bounded
from spec_tests.bounds.derivation import StagedExpectation
from spec_tests.calls.operation import Operation
from spec_tests.deviations import catalogue
from spec_tests.helpers import assertions
from spec_tests.inputs.choices import NoExample, ReplayedChoices
from spec_tests.inputs.draw import Draw
from spec_tests.inputs.values import ValueDraw
from spec_tests.specification.formats import FORMATS, Arithmetic
from spec_tests.specification.registry import gradients, operations
from spec_tests.trials.trial import Trial

from ..measure import failing_calls as command
from ..measure.failing_calls import refresh, search, sort_calls
from ..support import rotation
from ..support.drawn_values import LARGE, RecordingDraw, StoredDraw, StoredValues, decode, encode
from ..support.failing_calls import (
    FOLDER,
    OTHER_EXAMPLE,
    OTHER_VALUES,
    SAME,
    FailingCall,
    all_stored_calls,
    from_line,
    load_deviation,
    load_oracle,
    path_of,
    read_excess,
    read_file,
    stored_calls,
    to_line,
    try_example,
    write_file,
)
from ..support.paths import ROOT
from ..support.rotation import is_due
from ..support.sources import list_sources

MEGABYTES = 20


@pytest.fixture(scope="module")
def call() -> FailingCall:
    """A failing call that is searched for now: the stored one may be of an earlier draw."""
    found = search(catalogue()["rms_norm/eps-outside-sqrt"], "rms_norm.reference")
    assert found is not None
    return found


def test_they_are_few_files_in_the_order_of_the_catalogue() -> None:
    files = {path_of(operation) for operation in (*operations(), *gradients())}
    assert set(FOLDER.iterdir()) <= files
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < MEGABYTES * 1e6
    for operation in (*operations(), *gradients()):
        calls = read_file(path_of(operation))
        assert list(calls) == list(sort_calls(operation, calls)), f"{operation}: one belongs to no deviation, or to another place"


def test_each_is_written_as_it_was_read() -> None:
    for path in FOLDER.iterdir():
        for line in path.read_text(encoding="utf-8").splitlines():
            assert to_line(from_line(line)) == line


def test_every_dtype_and_many_laws_are_among_them() -> None:
    calls = list(all_stored_calls())
    assert {call.dtype for call in calls} >= {*FORMATS, "bool"}
    named = {law for one in catalogue().values() for law in one.caught_by}
    assert {call.law for call in calls} == named


# --- what is stored is given to the law again -------------------------------------------------------------------------------


VALUES = (
    None,
    True,
    3,
    -0.0,
    float("inf"),
    "half",
    (1, (2, "x"), None),
    [1.5, [True]],
    {"eps": 1e-5, "weights": {"w1": np.eye(2)}},
    {"mask", "scale"},
    np.float32(0.1),
    np.int64(7),
    np.bool_(True),
    np.str_("interleaved"),
    np.array(2.0),
    np.array([[True, False]]),
    np.zeros((0, 3)),
    np.array([np.nan, -np.inf, 5e-324, -0.0]),
    np.arange(4, dtype=np.int32),
    np.array(["b_q", "q_norm"]),
)


@pytest.mark.parametrize("value", VALUES, ids=[str(number) for number in range(len(VALUES))])
def test_a_value_is_the_same_after_writing_and_reading(value: Any) -> None:
    operation = Trial(load_oracle(), "float32").operation("rms_norm")
    again = decode(json.loads(json.dumps(encode(value))), operation)
    assert type(again) is type(value)
    assert getattr(again, "dtype", None) == getattr(value, "dtype", None)
    assert json.dumps(encode(again)) == json.dumps(encode(value))
    if isinstance(value, np.ndarray):
        np.testing.assert_array_equal(again, value)
        assert again.shape == value.shape


def test_a_rounded_argument_keeps_its_error() -> None:
    operation = Trial(load_oracle(), "float16").operation("rms_norm")
    value = Bounded(np.ones(2), np.array([0.5, 0.0]), Arithmetic.of("float16"))
    again = decode(encode(value), operation)
    np.testing.assert_array_equal(again.value, value.value)
    np.testing.assert_array_equal(again.error, value.error)


def test_of_a_choice_that_is_no_plain_value_the_place_is_stored() -> None:
    operation, kept = Trial(load_oracle(), "float32").operation("rms_norm"), list[list[Any]]()
    functions = (np.sin, np.cos, np.tan)
    draw = RecordingDraw(Draw(lambda low, high: high, operation), operation, kept)
    assert draw.one_of(functions) is np.tan
    assert draw.shape.one_of(functions) is np.tan
    assert StoredDraw(operation, iter(kept)).one_of(functions) is np.tan
    assert StoredDraw(operation, iter(kept[1:])).shape.one_of(iter(functions)) is np.tan
    with pytest.raises(NoExample, match="the law chooses from 2 values"):
        StoredDraw(operation, iter(kept)).one_of(functions[:2])


def test_of_a_large_array_the_digest_is_stored() -> None:
    operation, large = Trial(load_oracle(), "float32").operation("rms_norm"), np.zeros(LARGE + 1)
    assert len(json.dumps(encode(large))) < 80
    assert encode(large) != encode(np.zeros(LARGE + 2))
    with pytest.raises(NoExample):
        decode(encode(large), operation)


SAMPLE = random.Random(1).sample(list(catalogue().values()), 60)


@pytest.mark.rotating(one_in=4)
@pytest.mark.parametrize("deviation", SAMPLE, ids=lambda one: one.id)
def test_values_and_choices_make_the_same_example(deviation: Any) -> None:
    """The law finds the same of both, on the deviation and on the oracle."""
    for law in deviation.caught_by:
        call = stored_calls(deviation.operation)[deviation.id, law]
        if not call.is_whole or call.earlier or call.draw_again() != SAME:
            continue
        assert call.passes()
        violations = [
            try_example(law, call.dtype, load_deviation(deviation.id), source)
            for source in (StoredValues(call.drawn), ReplayedChoices(call.choices))
        ]
        assert all(violations), law
        assert len({str(violation) for violation in violations}) == 1
        assert len({read_excess(violation) for violation in violations if violation}) == 1


def test_a_law_that_asks_for_something_else_is_noticed(call: FailingCall) -> None:
    other = [["integer", 3], *call.drawn]
    with pytest.raises(NoExample, match="the law asks for call, where integer is stored"):
        try_example(call.law, call.dtype, load_oracle(), StoredValues(other))
    with pytest.raises(NoExample, match="where nothing is stored"):
        try_example(call.law, call.dtype, load_oracle(), StoredValues([]))


# --- what changes is noticed ------------------------------------------------------------------------------------------------


def test_another_draw_is_noticed_but_not_other_last_digits(call: FailingCall, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call.draw_again() == SAME
    held = ValueDraw.held
    changes: list[tuple[Callable[[np.ndarray], np.ndarray], str]] = [
        (lambda x: FORMATS[call.dtype].round(x * (1 + 2 * FORMATS[call.dtype].u)), SAME),
        (lambda x: x / 4, OTHER_VALUES),
        (lambda x: np.where(x == np.max(x), np.inf, x), OTHER_VALUES),
        (lambda x: np.where(x == np.max(x), 0.0, x), OTHER_VALUES),
        (lambda x: x[:1], OTHER_EXAMPLE),
    ]
    for change, expected in changes:
        monkeypatch.setattr(ValueDraw, "held", lambda self, x, change=change: change(held(self, x)))
        assert call.draw_again() == expected
        assert call.fails(), "the stored values are those of before"
        assert call.passes()


def test_choices_that_make_no_example_now_are_noticed(call: FailingCall, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Draw, "dims", lambda self, **ceilings: (self.integer(0, 0), *ceilings.values())[1:])
    assert call.draw_again() == OTHER_EXAMPLE


def test_a_comparison_that_accepts_everything_is_noticed(call: FailingCall, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StagedExpectation, "accepts", lambda self, values: np.ones(np.shape(values), dtype=bool))
    assert call.fails() is None


def test_a_comparison_that_accepts_nan_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """On one of the stored calls at least, all that is wrong is NaN."""
    accepts = StagedExpectation.accepts
    overflowing = [call for call in stored_calls("softmax").values() if ("got", "nan") in facts_of(call)]
    monkeypatch.setattr(StagedExpectation, "accepts", lambda self, values: accepts(self, values) | np.isnan(values))
    assert any(call.fails() is None for call in overflowing)


def facts_of(call: FailingCall) -> list[tuple[str, str]]:
    violation = call.fails()
    assert violation is not None
    return violation.facts


def test_a_law_that_asserts_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    call = next(call for call in all_stored_calls() if call.law == "softmax.shift")
    assert call.fails()
    monkeypatch.setattr("spec_tests.test_softmax.assert_equal", lambda *sides, **options: None)
    assert call.fails() is None


def test_an_oracle_that_fails_is_noticed(call: FailingCall, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spec_tests.test_every_operation.assert_conforms", lambda *_: assertions.assert_true(False, "it fails"))
    with pytest.raises(AssertionError, match="it fails"):
        call.draw_again()


@pytest.mark.parametrize("factor", [1.25, 2.0])
def test_a_wider_bound_is_noticed(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """On most calls in float32 that are compared with a bound. The rounding on storage may hide it on others."""
    calls = [call for call in stored_calls("rms_norm").values() if call.dtype == "float32" and call.excess and call.is_whole]
    assert not any(is_softer(call) for call in calls)
    derived = StagedExpectation._with_error
    monkeypatch.setattr(StagedExpectation, "_with_error", lambda self, error: derived(self, factor * error))
    assert sum(is_softer(call) for call in calls) > len(calls) / 2


def is_softer(call: FailingCall) -> bool:
    """Whether the judge finds the call less wrong than when it was stored."""
    violation = call.fails()
    return violation is None or call.exceeds_by_less(violation)


def test_a_dtype_rule_that_admits_every_dtype_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    call = stored_calls("rope")["rope/promoted", "rope.dtype_shape_device"]
    assert call.fails()
    monkeypatch.setattr(Operation, "expected_dtypes", lambda self, name, keywords=None: tuple(FORMATS))
    assert call.fails() is None


# --- the command --------------------------------------------------------------------------------------------------------------


def test_a_call_that_holds_stays(call: FailingCall) -> None:
    assert refresh(call) == call
    assert refresh(replace(call, choices=(0, 0))) is None, "they make no example"
    assert refresh(replace(call, deviation="rms_norm/gain-ignored", drawn=[])) is None, "they make another example"
    assert call.dtype != "float64"
    assert refresh(replace(call, excess="1")) == call


def test_a_check_lists_what_the_command_would_change(
    call: FailingCall, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A stale excess, a call that no deviation names, and one that is missing. Nothing is written."""
    kept, file = stored_calls("rms_norm")[call.key], tmp_path / "rms_norm.jsonl"
    monkeypatch.setattr(command, "path_of", lambda operation: tmp_path / f"{operation}.jsonl")
    monkeypatch.setattr(command, "ProcessPoolExecutor", InThisProcess)
    monkeypatch.setattr(command, "search", lambda deviation, law: None)
    monkeypatch.setattr("sys.argv", ["failing_calls", call.deviation, "--check"])
    laws = catalogue()[call.deviation].caught_by
    for stored, sentence, changed in (
        ((kept,), "", 0),
        ((replace(kept, excess="1"),), "times the bound, and was 1\n", 1),
        ((kept, replace(kept, law="rms_norm.gone")), "rms_norm.gone: it is stored, and no deviation names it\n", 0),
    ):
        write_file(file, stored)
        before = file.read_text()
        assert command.main() == 1, "the calls of the other laws are missing"
        text = capsys.readouterr().out
        assert sentence in text
        assert f"{changed} of {len(laws)} calls would change, {len(laws) - 1} missing, {len(stored) - 1} that" in text
        assert file.read_text() == before


class InThisProcess:
    """Stands for a pool of processes."""

    def __init__(self, workers: int):
        pass

    def __enter__(self) -> "InThisProcess":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    map = staticmethod(map)


@pytest.mark.nightly
def test_each_call_is_drawn_again() -> None:
    """Otherwise the daily tests search for other calls each time, which takes long."""
    changed = [" ".join(call.key) for call in all_stored_calls() if call.draw_again() != SAME]
    assert changed == [], "run python -m meta_tests.measure.failing_calls"


def test_a_fault_that_needs_earlier_calls_has_them() -> None:
    found = search(catalogue()["softmax/right-for-twenty-calls"], "softmax.reference")
    assert found is not None
    assert len(found.earlier) >= 19
    assert found.fails()
    assert replace(found, earlier=()).fails() is None
    with pytest.raises(NoExample, match="an earlier example is another one"):
        replace(found, earlier=(replace(found.earlier[0], digest=""), *found.earlier[1:])).fails()


def test_an_example_without_a_call_is_none(tmp_path: Path) -> None:
    assert read_file(tmp_path / "absent.jsonl") == {}
    with pytest.raises(NoExample, match="there is no law"):
        try_example("rms_norm.no_such_law", "float32", load_oracle(), StoredValues([]))


# --- the rotation -------------------------------------------------------------------------------------------------------------


def test_a_tenth_is_due_and_another_one_after_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    def due() -> set[str]:
        return {name for name in catalogue() if is_due(name, 10)}

    first = due()
    assert len(catalogue()) / 20 < len(first) < len(catalogue()) / 5
    assert due() == first
    monkeypatch.setattr(rotation, "hash_judging_sources", lambda: "another")
    assert len(due() & first) < len(first) / 2


def test_a_case_that_is_not_due_is_left_to_the_night(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotation, "is_due", lambda case, one_in: case == "rope")
    due, other = rotation.rotate(["rope", "relu"], 5)
    assert due == "rope"
    assert other.values == ("relu",)
    assert [mark.name for mark in other.marks] == ["nightly"]


def test_what_judges_is_hashed() -> None:
    names = {path.relative_to(ROOT).as_posix() for path in list_sources()}
    assert {
        "spec_tests/bounds/bounded.py",
        "spec_tests/helpers/assertions.py",
        "spec_tests/inputs/regimes.py",
        "spec_tests/specification/formats.py",
        "spec_tests/test_rms_norm.py",
        "reference_numpy/rms_norm.py",
    } <= names
    assert not any("__pycache__" in name for name in names)
