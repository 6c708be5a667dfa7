"""--device takes a backend of PyTorch to any device that PyTorch names. Without such a device one sentence says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from spec_tests.implementation.lookup import BackendError, identify
from spec_tests.specification.run_settings import using_settings

from ..support.fake_device import NAME
from ..support.paths import ROOT
from ..support.pytest_process import Run, environment, suite

SOURCE = """
import meta_tests.support.fake_device
import torch
{more}
framework = "torch"
dtypes = ("float32",)


def relu(x):
    assert x.device.type == device.partition(":")[0]
    return torch.relu(x)


def causal_mask(n, m=None):
    m = n if m is None else m
    return torch.ones(n, m, dtype=torch.bool, device=device).tril(m - n)
"""
LAWS = ("-k", "(relu or causal_mask) and (reference or dtype_shape_device) and not vjp")


def run(folder: Path, *options: str, more: str = 'device = "fake:1"') -> Run:
    (folder / "mine.py").write_text(SOURCE.format(more=more))
    return suite(folder, "--backend=mine.py", "--hypothesis-seed=1", *options, *LAWS, env=environment(ROOT))


@pytest.mark.rotating
@pytest.mark.parametrize("isolation", [(), ("--isolate",)])
def test_a_backend_is_taken_to_another_device(tmp_path: Path, isolation: tuple[str, ...]) -> None:
    done = run(tmp_path, f"--device={NAME}:3", *isolation)
    assert done.code == 0, done.text
    assert {fact["status"] for fact in done.facts} == {"passed"}


@pytest.mark.rotating
def test_the_command_that_plays_an_example_again_names_the_device(tmp_path: Path) -> None:
    done = run(tmp_path, f"--device={NAME}:3", more='device = "fake:1"\ntorch.relu = torch.abs')
    assert done.code == 1, done.text
    assert f"--device={NAME}:3 --dtype=float32" in done.text


@pytest.mark.rotating
@pytest.mark.parametrize("isolation", [(), ("--isolate",)])
def test_a_device_that_is_not_there_is_one_sentence(tmp_path: Path, isolation: tuple[str, ...]) -> None:
    done = run(tmp_path, "--device=xpu", *isolation)
    assert done.code == 4, done.text
    assert "torch has no device 'xpu' here" in done.text
    assert not done.facts


def test_other_frameworks_have_no_such_option() -> None:
    source = {"framework": "numpy", "relu": abs}
    holder = type("Holder", (), source)
    with (
        using_settings(device="cuda:1"),
        pytest.raises(BackendError, match="and this one is of numpy"),
    ):
        identify(holder)


def test_what_takes_no_attributes_is_taken_to_the_device_too() -> None:
    holder = type("Holder", (), {"framework": "torch", "relu": abs, "__slots__": ()})()
    with using_settings(device=f"{NAME}:2"):
        assert identify(holder)[2].place == f"{NAME}:2"


@pytest.mark.rotating
def test_a_process_chooses_its_device_itself(tmp_path: Path) -> None:
    done = suite(tmp_path, "--backend=process:python server.py", "--device=cuda:1")
    assert done.code == 4, done.text
    assert "chooses its device itself" in done.text
