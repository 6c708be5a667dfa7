"""Tests of backends with a state or with chance: a violation is reported as clearly, even if it is seen only once."""

import pytest

from ..support.paths import ROOT
from ..support.pytest_process import suite


@pytest.mark.rotating
def test_a_violation_that_does_not_repeat_is_reported() -> None:
    run = suite(ROOT, "--backend=deviation:causal_mask/cached-result-handed-out", "-k", "causal_mask.not_an_alias")
    assert run.code == 1
    assert "breaks causal_mask.not_an_alias" in run.text
    assert "Flaky" not in run.text


@pytest.mark.nightly
def test_a_level_lost_by_chance_fails_nothing() -> None:
    backend = "--backend=deviation:rms_norm/sums-in-random-order"
    selection = ("--effort=default", "--dtype=float32", "-k", "rms_norm.bitwise_repeatable")
    assert suite(ROOT, backend, *selection).code == 0
    required = suite(ROOT, backend, *selection, "--require-level=bitwise-repeatable")
    assert required.code == 1
    assert "Flaky" not in required.text
