"""Test that a file of six bugs is reported as six causes, each with its name or region, and each printed once."""

import re

import pytest

from ..support.paths import BACKENDS
from ..support.pytest_process import suite

NAMES = {
    "rope": "the call raised ZeroDivisionError",
    "softmax": "the maximum is not subtracted",
    "rms_norm": "epsilon stands outside the square root",
    "gelu": "the answers are those of `",
    "linear": "the result is 0, in the output features from 48 on",
    "swiglu": "w3 gates and w1 goes straight through",
}


MAX_LINES = 64  # of the whole output with -q


@pytest.mark.rotating
@pytest.mark.slow
def test_six_bugs_are_six_causes() -> None:
    run = suite(BACKENDS / "student", "--backend=six_bugs.py", "--effort=default", "--hypothesis-seed=1", "-q")
    assert run.code == 1
    said = dict(re.findall(r"^cause \d+: (\w+): (.*)$", run.text, re.MULTILINE))
    assert said.keys() == NAMES.keys(), run.text
    assert all(said[name].startswith(what) for name, what in NAMES.items()), said
    assert len(re.findall(r"^cause \d+: ", run.text, re.MULTILINE)) == len(NAMES)
    assert len(run.text.splitlines()) <= MAX_LINES, run.text
    assert "has no argument" not in run.text  # what lacks an argument is said once, among the refused variants
    assert re.search(r"refuses these optional variants: .*linear: bias; rope: attention_factor", run.text)
    verdict = run.text.rpartition("= verdict =")[2]
    assert "six_bugs: 6 causes of failures in 7 operations" in verdict  # the attention uses the wrong softmax
    assert re.search(r"3\. softmax \(.*also of scaled_dot_product_attention", verdict)
