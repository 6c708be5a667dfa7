"""Test that what a backend's code raises to end the program, while it is loaded or asked about itself, is one sentence."""

import signal
from pathlib import Path
from typing import Any

import pytest

import spec_tests
from spec_tests.implementation.backend import load
from spec_tests.implementation.guard import run_loading
from spec_tests.implementation.lookup import BackendError
from spec_tests.specification.registry import operations

from ..support.pytest_process import NUMPY, RELU

TORCH_CLASS = """
import torch

class RMSNorm(torch.nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        {init}
        self.weight = torch.nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        raise {error}
"""
KERNELBENCH = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)

class ModelNew(Model):
    pass

def get_inputs():
    raise {error}

def get_init_inputs():
    return []
"""
SIGNATURE = """
class Function:
    @property
    def __signature__(self):
        raise {error}

    def __call__(self, x):
        return x

relu = Function()
"""
CASES = {
    "the file": f"{NUMPY}{RELU}\n\nraise {{error}}\n",
    "a name": f"{NUMPY}{RELU}\n\ndef __getattr__(name):\n    raise {{error}}\n",
    "a signature": f"{NUMPY}{SIGNATURE}",
    "a constructor": TORCH_CLASS.replace("{init}", "raise {error}"),
    "a forward": TORCH_CLASS.replace("{init}", ""),
    "inputs": KERNELBENCH,
}
ERRORS = ("SystemExit(0)", "GeneratorExit()", "KeyboardInterrupt()")


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("case", CASES)
def test_it_is_refused_in_a_sentence(tmp_path: Path, case: str, error: str) -> None:
    if "torch" in CASES[case]:
        pytest.importorskip("torch")
    (tmp_path / "mine.py").write_text(CASES[case].replace("{error}", error))
    with pytest.raises(BackendError) as refusal:
        load("mine.py", tmp_path, operations())
    text = str(refusal.value)
    assert text.startswith("--backend=mine.py: ")
    assert error.partition("(")[0] in text
    assert ": ;" not in text


class Relu:
    """A backend whose own attribute ends the program."""

    framework = "numpy"

    @property
    def dtypes(self) -> Any:
        raise SystemExit(3)

    def relu(self, x: Any) -> Any:
        return x


def test_check_does_not_let_it_end_the_caller() -> None:
    with pytest.raises(BackendError, match=r"loading it raised SystemExit: 3 \(test_exits_while_loading\.py:\d+ in dtypes\)"):
        spec_tests.check(Relu(), "relu", effort="smoke")


def test_a_version_that_has_no_text_is_named_so(tmp_path: Path) -> None:
    version = "class Version:\n    def __str__(self):\n        raise SystemExit\n\n\nversion = Version()\n"
    (tmp_path / "mine.py").write_text(NUMPY + version + RELU)
    assert load("mine.py", tmp_path, operations()).version == "whose text cannot be had: SystemExit"


@pytest.mark.skipif(not hasattr(signal, "raise_signal"), reason="sends a signal")
def test_a_person_still_interrupts() -> None:
    with pytest.raises(KeyboardInterrupt, match="SIGINT"):
        run_loading(lambda: signal.raise_signal(signal.SIGINT))


def test_what_no_code_of_a_backend_has_raised_ends_the_program() -> None:
    with pytest.raises(SystemExit):
        run_loading(eval("lambda: (_ for _ in ()).throw(SystemExit)"))
