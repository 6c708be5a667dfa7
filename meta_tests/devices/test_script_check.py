"""At the end of a run on a device the printed scripts are run once. What they show is said, and which were not reached."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from spec_tests.report.script_runs import check_scripts
from spec_tests.trials.trial import Trial
from spec_tests.trials.written_script import WrittenScript

from ..support.in_process import backend
from ..support.paths import ROOT
from ..support.pytest_process import environment, suite

SOURCE = """
import meta_tests.support.fake_device
import torch

framework = "torch"
device = "fake:5"
dtypes = ("float32",)
calls = 0


def relu(x):
    global calls
    calls += 1
    y = torch.relu(x).clone()
    y.reshape(-1)[1::3] *= 1.7
    return y


def sigmoid(x):
    return torch.sigmoid(x) + (1.0 if calls > 5 else 0.0)  # calls of another operation, which no script makes


def silu(x):
    if x.ndim and x.shape[-1] > 8:
        raise ValueError("too wide")
    return torch.nn.functional.silu(x)
"""
NEEDS_MORE = "its answers are right in a fresh process: the failure needs what the run did before"


@pytest.mark.rotating
def test_each_script_of_a_run_on_a_device(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SOURCE)
    laws = "(relu or sigmoid or silu) and reference and not vjp"
    done = suite(tmp_path, "--backend=mine.py", "--hypothesis-seed=1", "-k", laws, env=environment(ROOT))
    assert "scripts, run once in a fresh process" in done.text, done.text
    for sentence in (
        "relu.reference-mine-float32: it shows the failure\n",
        f"sigmoid.reference-mine-float32: {NEEDS_MORE}\n",
        "silu.reference-mine-float32: it shows the failure: it raises ValueError: too wide\n",
    ):
        assert sentence in done.text, done.text


ANSWERING = "import numpy as np\nprint(np.array([{}]))"
ENDING = "import os\nos._exit(7)"
HANGING = "import time\ntime.sleep(600)"


@pytest.fixture
def written() -> dict[str, WrittenScript]:
    """Scripts of a call of relu whose truth is [0, 2]."""
    operation = Trial(backend("numpy-cpu"), "float64").operation("relu")
    call = operation.call(np.array([-1.0, 2.0]))
    operation.values(call, operation.run(call))
    texts = {
        "right": ANSWERING.format("0.0, 2.0"),
        "wrong": ANSWERING.format("0.0, 3.0"),
        "dtype": "import numpy as np\nprint(np.array([0.0, 2.0], np.float32))",
        "shape": ANSWERING.format("0.0"),
        "raises": "raise KeyError('x')",
        "ends": ENDING,
        "hangs": HANGING,
    }
    return {name: WrittenScript(name, text, (call,)) for name, text in texts.items()}


def test_what_a_script_shows(written: dict[str, WrittenScript]) -> None:
    names = ["right", "wrong", "dtype", "shape", "raises", "ends", "wrong"]
    sentences = list(check_scripts([written[name] for name in names], "numpy", ""))
    assert sentences[:5] == [
        f"right: {NEEDS_MORE}",
        "wrong: it shows the failure",
        "dtype: it shows the failure",
        "shape: it shows the failure",
        "raises: it does not show the failure: it raises KeyError: 'x'",
    ]
    assert sentences[5] == "ends: it has no result: the process of the scripts ended with status 7 (no message)"
    assert sentences[6] == "wrong: not reached, since the process of the scripts ended with status 7 (no message)"


def test_a_script_that_hangs_is_ended(written: dict[str, WrittenScript]) -> None:
    sentences = list(check_scripts([written["hangs"], written["wrong"]], "numpy", "", limit=3.0))
    assert sentences == [
        "hangs: it has no result: the process of the scripts was ended after 3 s",
        "wrong: not reached, since the process of the scripts was ended after 3 s",
    ]


def test_a_script_that_says_that_it_is_right(written: dict[str, WrittenScript]) -> None:
    call = written["right"].calls
    claims = [WrittenScript(name, written[name].text, call, shows=False) for name in ("right", "wrong")]
    expected = ["right: each answer is right, as it says", "wrong: an answer is wrong here, unlike in the run"]
    assert list(check_scripts(claims, "numpy", "")) == expected
