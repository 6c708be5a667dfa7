"""Code that remembers, or that leaves something to chance: what is seen once is reported as clearly as what repeats."""

from ..support.paths import ROOT
from ..support.pytest_process import suite


def test_a_violation_that_does_not_repeat_is_reported() -> None:
    run = suite(ROOT, "--backend=deviation:causal_mask/cached-result-handed-out", "-k", "causal_mask.not_an_alias")
    assert run.code == 1
    assert "breaks causal_mask.not_an_alias" in run.text
    assert "Flaky" not in run.text


def test_a_level_lost_by_chance_fails_nothing() -> None:
    backend = "--backend=deviation:rms_norm/sums-in-random-order"
    chosen = ("--effort=default", "--dtype=float32", "-k", "rms_norm.bitwise_repeatable")
    assert suite(ROOT, backend, *chosen).code == 0
    required = suite(ROOT, backend, *chosen, "--require-level=bitwise-repeatable")
    assert required.code == 1
    assert "Flaky" not in required.text
