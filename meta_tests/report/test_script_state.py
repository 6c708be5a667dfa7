"""A printed script makes the call in the state of PyTorch in which alone it is wrong."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from spec_tests.implementation.states import CALL_STATES
from spec_tests.report.script_state import add_state

from ..support.pytest_process import suite

torch = pytest.importorskip("torch")

SCRIPT = """# each call is right by itself: what is wrong shows between them
import types
import torch
backend = types.SimpleNamespace(look=look)
# call 1
print(backend.look(torch.ones(1)))
"""
SEEN = {
    "no_grad": (torch.float32, False, False, False),
    "inference mode": (torch.float32, False, True, False),
    "the default dtype float64": (torch.float64, True, False, False),
    "the default dtype bfloat16": (torch.bfloat16, True, False, False),
    "autocast to bfloat16": (torch.float32, True, False, True),
}


@pytest.mark.parametrize("state", CALL_STATES)
def test_a_call_is_made_in_its_state_and_its_arguments_are_not(state: str, capsys: pytest.CaptureFixture[str]) -> None:
    def look(x: torch.Tensor) -> tuple[object, ...]:
        assert not x.is_inference()
        inside = torch.get_default_dtype(), torch.is_grad_enabled(), torch.is_inference_mode_enabled()
        return (*inside, torch.is_autocast_enabled("cpu"))

    text = add_state(SCRIPT, state, "cpu")
    assert text.startswith(f"# what is wrong shows with {state} alone\n")
    before = torch.get_default_dtype()
    try:
        exec(text, {"look": look})
    finally:
        torch.set_default_dtype(before)
    assert capsys.readouterr().out.strip() == str(SEEN[state])


def test_a_script_of_another_form_is_left_as_it_is() -> None:
    assert add_state(SCRIPT, "", "cpu") == SCRIPT
    assert add_state("# no script: it has none", "no_grad", "cpu") == "# no script: it has none"


LAYER = """
import torch
from torch import nn


def run_linear(d_in, d_out, weights, in_features):
    layer = nn.Linear(d_in, d_out, bias=False)
    layer.weight.data.copy_(weights)
    return layer(in_features)
"""


@pytest.mark.rotating
def test_a_script_of_another_default_dtype_shows_the_failure_in_a_fresh_process(tmp_path: Path) -> None:
    (tmp_path / "adapters.py").write_text(LAYER)
    run = suite(tmp_path, "--backend=adapters.py", "--require-tier=surroundings", "-k", "linear.states", "--hypothesis-seed=1")
    script = re.search(r"to see it without this suite:\n(.*?)\n\s*\nagain: ", run.text, re.DOTALL)
    assert script, run.text
    (tmp_path / "shown.py").write_text("\n".join(line.removeprefix("  ") for line in script[1].splitlines()))
    done = subprocess.run([sys.executable, "shown.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "must have the same dtype" in done.stderr or "to have the same dtype" in done.stderr, done.stdout + done.stderr
