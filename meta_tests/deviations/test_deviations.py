"""Test the suite with the catalogue of deviations: the invariants that each names catch it, and none catches the oracle.

Each deviation is called again with the stored calls on which it fails. For a tenth of them, failing calls are searched for.
"""

import inspect
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reference_numpy.multihead_self_attention import multihead_self_attention
from spec_tests.deviations import KINDS, Deviation, OracleBackend, catalogue, find
from spec_tests.deviations._catalogue import FOLDER
from spec_tests.implementation.backend import Backend
from spec_tests.implementation.framework import Framework
from spec_tests.inputs.choices import NoExample
from spec_tests.specification import run_settings
from spec_tests.specification.composition import parts_of
from spec_tests.specification.formats import DTYPES
from spec_tests.specification.registry import gradients, operations, specification
from spec_tests.specification.run_settings import RunSettings
from spec_tests.trials.trial import GENERAL

from ..support.failing_calls import OTHER_VALUES, SAME, FailingCall, read_excess, stored_calls
from ..support.in_process import attempt, backend, invariants, trials_of
from ..support.paths import ROOT
from ..support.pytest_process import suite
from ..support.rotation import is_due, rotate

ALL = list(catalogue().values())
ALWAYS_SEARCHED = Path(__file__).with_name("always_searched.txt")
COMMAND = "python -m meta_tests.measure.failing_calls"
RENEW = f"run {COMMAND}"
IDS = frozenset(test.invariant.id for test in invariants())


def exists(invariant: str, operation: str) -> bool:
    return any(invariant.replace(f"{operation}.", f"{general}.", 1) in IDS for general in (operation, *GENERAL))


def is_searched(deviation: Deviation) -> bool:
    """Whether a daily test searches for a call on which the deviation fails: for a tenth of them, and for those of the list."""
    return is_due(deviation.id, 10) or deviation.id in ALWAYS_SEARCHED.read_text().splitlines()


def laws_that_catch(deviation: Deviation, seed: int, laws: Iterable[str]) -> Iterator[str]:
    """Yield those of the laws that the deviation breaks, each with its whole share of examples, whatever a run plans."""
    left = set(laws)
    for test, trial in trials_of(deviation.operation, backend(f"deviation:{deviation.id}")):
        name, shows = test.invariant.id_for(trial.operation_name), deviation.shows_in(trial.dtype)
        trial.max_examples = min(trial.most_examples, test.invariant.max_examples or trial.most_examples)
        if name in left and shows and attempt(test, trial, seed):
            left.remove(name)
            yield name


def is_caught_in_a_run(deviation: Deviation, seed: int) -> bool:
    """Whether a default run catches the deviation, by a law that it requires, or by a level that the deviation names."""
    for test, trial in trials_of(deviation.operation, backend(f"deviation:{deviation.id}")):
        counts = test.invariant.level is None or test.invariant.id_for(trial.operation_name) in deviation.caught_by
        if counts and deviation.shows_in(trial.dtype) and attempt(test, trial, seed):
            return True
    return False


@pytest.mark.parametrize("deviation", ALL, ids=lambda one: one.id)
def test_the_stored_calls_show_the_deviation(deviation: Deviation) -> None:
    """On each call the deviation fails and the oracle passes. If the suite draws another example now, one is searched for."""
    stored, is_stale = stored_calls(deviation.operation), False
    for law in deviation.caught_by:
        call = stored.get((deviation.id, law))
        assert call is not None, f"no call is stored on which it breaks {law}: run {COMMAND} {deviation.id}"
        drawn = call.draw_again()
        assert drawn != OTHER_VALUES, f"{law} in {call.dtype}: the values are of another kind; if that is right, {RENEW}"
        is_stale |= drawn != SAME
        if drawn == SAME or (call.is_whole and call.passes()):
            try:
                assert_fails(call)
            except NoExample:  # an earlier example is another one
                is_stale = True
    if is_stale:
        assert next(laws_that_catch(deviation, 1, deviation.caught_by), None), "no call is found on which it fails"


def assert_fails(call: FailingCall) -> None:
    """The deviation breaks the law on the call, with no smaller an error than when the call was stored."""
    violation = call.fails()
    assert violation is not None, f"{call.law} no longer finds the stored call in {call.dtype} wrong"
    now = f"{excess} x the bound" if (excess := read_excess(violation)) else "not compared with a bound"
    less = f"{call.law} in {call.dtype}: the error is {now}, and was {call.excess} x the bound; if that is right, {RENEW}"
    assert not call.exceeds_by_less(violation), less


@pytest.mark.parametrize("deviation", [one for one in ALL if is_searched(one)], ids=lambda one: one.id)
def test_a_named_law_catches_the_deviation(deviation: Deviation) -> None:
    found = next(laws_that_catch(deviation, 1, deviation.caught_by), None)
    assert found, f"it survives: mend the suite, and add {deviation.id} to {ALWAYS_SEARCHED.name}"
    mended = f"mend the plan of examples, and add {deviation.id} to {ALWAYS_SEARCHED.name}"
    assert is_caught_in_a_run(deviation, 1), f"a run misses it: {mended}"


@pytest.mark.nightly
@pytest.mark.parametrize("deviation", ALL, ids=lambda one: one.id)
def test_the_named_laws_catch_the_deviation(deviation: Deviation) -> None:
    """Some law catches it with each of three seeds. Every named law does so with two of them: one may miss by chance."""
    times = Counter[str]()
    for seed in (1, 2, 3):
        unproven = [name for name in deviation.caught_by if times[name] < 2]
        found = set(laws_that_catch(deviation, seed, unproven)) or set(
            islice(laws_that_catch(deviation, seed, deviation.caught_by), 1)
        )
        assert found, f"survives with seed {seed}"
        times.update(found)
    assert {name for name in deviation.caught_by if times[name] < 2} == set()


@pytest.mark.parametrize("operation", rotate([*operations(), *gradients()], 5))
def test_the_oracle_conforms(operation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_settings, "_current", RunSettings("smoke"))
    oracle = OracleBackend()
    under_test = Backend(oracle.name, oracle, Framework("numpy"))
    for test, trial in trials_of(operation, under_test):
        leading = trial.operation_name == operation or test.invariant.operations[0] == operation
        if leading and test.invariant.level is None:
            assert attempt(test, trial, seed=1) is None, (test.invariant.id_for(trial.operation_name), trial.dtype)


@pytest.mark.parametrize("deviation", ALL, ids=lambda one: one.id)
def test_a_deviation_is_well_described(deviation: Deviation) -> None:
    text = inspect.cleandoc(deviation.function.__doc__ or "")
    assert re.fullmatch(r"(NaN|[^A-Z\s]).+[^.]", deviation.what), "the first sentence, as it reads behind «matches»"
    assert re.search(r"^Shows: ", text, re.MULTILINE)
    assert re.search(r"\bHides: ", text)
    assert deviation.operation in (*operations(), *gradients())
    assert deviation.kind in KINDS
    assert deviation.dtypes
    assert set(deviation.dtypes) <= set(DTYPES)
    assert all(exists(name, deviation.operation) for name in deviation.caught_by), deviation.caught_by
    assert all(re.match(r"https://\S+$", thread) for thread in deviation.seen)


OWN_EQUATIONS = [one for one in ALL if one.kind != "fault" and not one.asks("equation")]


@pytest.mark.parametrize("deviation", OWN_EQUATIONS, ids=lambda one: one.id)
def test_an_equation_has_the_parameters_of_the_reference(deviation: Deviation) -> None:
    own = dict(inspect.signature(deviation.function).parameters)
    for filled_in in ("held", "storage"):  # by `prepare`
        own.pop(filled_in, None)
    right = specification(deviation.operation).parameters
    named = {name: p.default for name, p in own.items() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    assert named.items() <= {name: p.default for name, p in right.items()}.items()
    positional = [name for name in specification(deviation.operation).positional if name in own]  # or *arrays
    assert [p.name for p in own.values() if p.kind is p.POSITIONAL_OR_KEYWORD] == positional
    required = {name for name, p in right.items() if p.default is p.empty}
    assert required <= own.keys() or len(named) < len(own), "it names what is required, or takes the others as **options"


def test_the_catalogue_is_large_and_wide() -> None:
    assert len(ALL) >= 120
    assert {one.operation for one in ALL} == {*operations(), *gradients()}
    files = {path.stem.partition("__")[0] for path in FOLDER.glob("[!_]*.py")}
    assert files == {*operations(), *gradients(), "every_operation"}


def test_a_part_may_deviate_inside_another_operation() -> None:
    assert "rms_norm" in parts_of("transformer_lm")
    inner = find("transformer_lm/rms_norm/eps-outside-sqrt")
    assert inner is not None
    assert (inner.operation, inner.what) == ("transformer_lm", f"rms_norm: {catalogue()['rms_norm/eps-outside-sqrt'].what}")
    assert find("softmax/rms_norm/eps-outside-sqrt") is None


def test_a_part_takes_options_that_its_deviation_lacks() -> None:
    inner = find("multihead_self_attention/rope/clockwise")
    assert inner is not None
    x, weights = np.arange(12.0).reshape(3, 4) / 5, [np.arange(16.0).reshape(4, 4) / 9 - i for i in range(4)]
    options: dict[str, Any] = {"num_heads": 2, "attention_factor": 2.0}
    got = inner.function(x, *weights, inverse_frequencies=np.array([0.5]), **options)
    assert np.array_equal(got, multihead_self_attention(x, *weights, inverse_frequencies=np.array([-0.5]), **options))


def test_a_failure_names_the_bug() -> None:
    run = suite(ROOT, "--backend=deviation:rms_norm/eps-outside-sqrt", "--dtype=float32", "-k", "rms_norm.reference")
    assert run.code == 1
    assert "  matches   epsilon stands outside the square root" in run.text
    assert "(rms_norm/eps-outside-sqrt)" in run.text
