"""What a lost device costs with --isolate: a spare process takes over, and an operation that goes on losing it is left out."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest

from spec_tests.implementation.guard import Fault
from spec_tests.processes.isolated_backend import load_isolated
from spec_tests.specification.registry import gradients, operations

from ..support.paths import ROOT
from ..support.pytest_process import NUMPY, environment, suite, write

LOSING = """
import meta_tests.support.fake_device
import torch

framework = "torch"
device = "fake:5"
dtypes = ("float32",)


def relu(x):
    return torch.fake.launch_out_of_bounds(x)


def sigmoid(x):
    return torch.sigmoid(x)
"""


@pytest.mark.rotating
def test_an_operation_that_loses_the_device_three_times_is_left_out(tmp_path: Path) -> None:
    """Its other laws have that reason, and the run claims nothing of it. Other operations are tried to their end."""
    write(tmp_path, mine=LOSING)
    options = ("--isolate", "--effort=smoke", "--hypothesis-seed=1", "--report=out", "-k", "(relu. or sigmoid.) and not vjp")
    run = suite(tmp_path, "--backend=mine.py", *options, env=environment(ROOT))
    assert run.code == 1
    words = " ".join(run.text.split())
    of_relu = [fact for fact in run.facts if fact["operation"] == "relu"]
    left_out = [fact for fact in of_relu if "left out: 3 calls of relu have lost the device" in fact["reason"]]
    assert 1 <= sum(fact["status"] == "failed" for fact in of_relu) <= 3
    assert len(left_out) > 5
    assert all(fact["status"] != "failed" for fact in run.facts if fact["operation"] == "sigmoid")
    assert "mine: cut by 3 calls of relu that lost the device after" in words
    assert "cut before their last law: relu" in words
    records = map(json.loads, (tmp_path / "out" / "report.jsonl").read_text().splitlines())
    cut = {record["id"] for record in records if record["record"] == "verdict" and record.get("cut")}
    assert cut == {fact["id"] for fact in left_out}


REFUSING = LOSING.replace(
    "return torch.fake.launch_out_of_bounds(x)", "torch.fake.launch_out_of_bounds(x)\n    raise NotImplementedError"
)


@pytest.mark.rotating
@pytest.mark.parametrize("options", [(), ("--isolate",)], ids=["one process", "two"])
def test_a_refusal_after_a_launch_is_not_blamed_on_the_next_call(options: tuple[str, ...], tmp_path: Path) -> None:
    write(tmp_path, mine=REFUSING)
    run = suite(tmp_path, "--backend=mine.py", *options, "-k", "relu.reference or sigmoid.reference", env=environment(ROOT))
    failed = {fact["operation"]: fact["reason"] for fact in run.facts if fact["status"] == "failed"}
    assert failed.keys() == {"relu"}
    assert "the call was refused, and it has cost the device" in failed["relu"]


EXITING = """
import os
from pathlib import Path

with Path(__file__).with_suffix(".started").open("a") as file:
    file.write(f"{os.getpid()} ")


def relu(x):
    return np.full_like(x, os.getpid())


def sigmoid(x):
    os._exit(3)
"""


def test_a_spare_process_is_ready_once_one_was_lost(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + EXITING)
    backend = load_isolated("mine.py", tmp_path, operations(), gradients())

    def call(name: str) -> int:
        x = backend.framework.native(np.ones(1), "float64")
        return int(backend.framework.numpy(backend.run_guarded(lambda: backend.function(name)(x), name))[0])

    def started() -> list[int]:
        return [int(number) for number in (tmp_path / "mine.started").read_text().split()]

    assert [call("relu")] == started()  # none is kept before one is lost
    with pytest.raises(Fault, match="exit status 3"):
        call("sigmoid")
    second = call("relu")
    deadline = time.monotonic() + 300  # a safety net
    while len(started()) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    _, again, spare = started()
    assert again == second
    with pytest.raises(Fault, match="exit status 3"):
        call("sigmoid")
    assert call("relu") == spare
    backend.framework.connection.close()
    assert backend.framework.connection.spare is None
