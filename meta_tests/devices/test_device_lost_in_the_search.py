"""A device, or a process, that is lost by a further call of the search for a cause: the failure that was seen stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..support.paths import ROOT
from ..support.pytest_process import Run, environment, suite

SCRAMBLED = """
import meta_tests.support.fake_device
import torch

framework = "torch"
device = "fake:5"
dtypes = ("float32",)
calls = 0


def relu(x):
    global calls
    calls += 1
    if x.numel() and calls > {limit}:
        return torch.fake.launch_out_of_bounds(x)
    y = torch.relu(x).clone()
    flat = y.reshape(-1)
    flat[1::3] *= 1.7
    return flat.reshape(x.shape)


def sigmoid(x):
    return torch.sigmoid(x)
"""

EXITING = """
import os
from pathlib import Path
import numpy as np

framework = "numpy"
dtypes = ("float32",)
calls = Path(__file__).with_suffix(".calls")  # of all processes


def relu(x):
    with calls.open("a") as file:
        file.write(".")
    if calls.stat().st_size == 12:
        os._exit(3)
    y = np.maximum(x, 0)
    y.reshape(-1)[1::3] *= 1.7
    return y
"""
SEEN = "of the search for the cause, with x of shape ("


def run(folder: Path, source: str, *options: str) -> tuple[Run, str]:
    """Run laws on a backend. Return the run, and its output in one line."""
    (folder / "mine.py").write_text(source)
    done = suite(folder, "--backend=mine.py", "--hypothesis-seed=1", *options, env=environment(ROOT))
    assert done.code == 1, done.text
    assert "outside of the backend" not in done.text, done.text
    assert "Traceback" not in done.text, done.text
    return done, " ".join(done.text.split())


@pytest.mark.rotating
def test_the_failure_stands_wherever_the_device_is_lost(tmp_path: Path) -> None:
    """The device is lost at a later call in each run: while shrinking, in the calls of a diagnosis, and in its questions."""
    for limit in (10, 60, 120):
        done, words = run(tmp_path, SCRAMBLED.format(limit=limit), "-k", "relu.reference or sigmoid.reference")
        fact = next(fact for fact in done.facts if fact["operation"] == "relu")
        (cause,) = fact["causes"]  # no call is blamed for what came after
        assert (fact["status"], cause["kind"]) == ("failed", "unexplained"), done.text
        assert SEEN in words, done.text
        assert "cost the device, so that nothing else can be asked: " in words
        begins, told = words.index("now its cause is searched for"), words.index("cause 1: relu")
        assert begins < told  # it is printed even if the process ends in the search
        assert "mine: cut by a lost device after 1 of 2 laws; until then 1 cause of failures in 1 operation" in words
        assert "cut before their last law: sigmoid" in words


@pytest.mark.rotating
def test_an_example_that_is_replayed(tmp_path: Path) -> None:
    done, words = run(tmp_path, SCRAMBLED.format(limit=10), "-k", "relu.reference", "--example=0.9.23.5.1.3.2195908194.15")
    assert [cause["kind"] for fact in done.facts for cause in fact["causes"]] == ["unexplained"]
    assert SEEN in words, done.text


@pytest.mark.rotating
def test_a_process_that_ends_in_the_search(tmp_path: Path) -> None:
    """The process is replaced, and the examples go on. What a further call did to it is said with the failure all the same."""
    done, words = run(tmp_path, EXITING, "-k", "relu.reference", "--isolate")
    (fact,) = done.facts
    assert fact["causes"][0]["what"].startswith("wrong answers that nothing known explains")
    assert SEEN in words, done.text
    assert ", had no answer: " in words
    assert "now its cause is searched for" not in words  # the run is not at risk
