"""The header of a run says on which device a backend computes, and an error of a device is said without PyTorch's advice."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from spec_tests.implementation.device_facts import list_device_facts, read_driver_version
from spec_tests.implementation.guard import as_fault

from ..support.fake_device import NAME
from ..support.paths import ROOT
from ..support.pytest_process import environment, suite

CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\nGCC version: gcc 12\n"
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build  (builder)\n"
ERROR = """CUDA error: an illegal memory access was encountered
Search for `cudaErrorIllegalAddress' in https://docs.nvidia.com/cuda/cuda-runtime-api/types.html for more information.
CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.
For debugging consider passing CUDA_LAUNCH_BLOCKING=1
Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.
"""
SOURCE = """
import meta_tests.support.fake_device
import torch
framework, device, dtypes = "torch", "fake:1", ("float32",)
relu = torch.relu
"""


def make_torch(**products: bool) -> Any:
    """Return what these functions read of PyTorch on a machine with a GPU."""
    return SimpleNamespace(
        cuda=SimpleNamespace(get_device_name=lambda place: f"a card at {place}"),
        version=SimpleNamespace(cuda="12.8", hip=None),
        backends=SimpleNamespace(cuda=SimpleNamespace(matmul=SimpleNamespace(**products))),
        are_deterministic_algorithms_enabled=lambda: True,
    )


def test_the_facts_of_pytorch_on_a_gpu() -> None:
    module = make_torch(
        allow_tf32=True, allow_bf16_reduced_precision_reduction=False, allow_fp16_reduced_precision_reduction=True
    )
    facts = list_device_facts(SimpleNamespace(name="torch", place="cuda:1", module=module))
    wanted = ["a card at cuda:1", "CUDA 12.8", "TF32 on", "reduced sums of bfloat16 off"]
    wanted += ["reduced sums of float16 on", "deterministic algorithms on"]
    assert [fact for fact in facts if not fact.startswith(("driver", "triton"))] == wanted


@pytest.mark.parametrize("missing", ["allow_tf32", "allow_bf16_reduced_precision_reduction"])
def test_what_a_version_of_pytorch_lacks_is_left_out(missing: str) -> None:
    names = {"allow_tf32", "allow_bf16_reduced_precision_reduction", "allow_fp16_reduced_precision_reduction"}
    module = make_torch(**dict.fromkeys(names - {missing}, False))
    assert len(list_device_facts(SimpleNamespace(name="torch", place="cuda:0", module=module))) >= 4


def test_a_backend_on_the_processor_has_no_such_facts() -> None:
    assert list_device_facts(SimpleNamespace(name="torch", place="cpu", module=make_torch())) == ()
    assert list_device_facts(SimpleNamespace(name="of_nobody", place="npu:0", module=None)) == ()


def test_the_facts_of_jax_and_of_cupy() -> None:
    device = SimpleNamespace(device_kind="NVIDIA H100", client=SimpleNamespace(platform_version="PJRT\nCUDA 12080"))
    config = SimpleNamespace(jax_default_matmul_precision=None)
    jax = SimpleNamespace(devices=lambda kind: [None, device], config=config)
    facts = list_device_facts(SimpleNamespace(name="jax", place="gpu:1", module=jax))
    assert {"NVIDIA H100", "PJRT CUDA 12080", "products of precision default"} <= set(facts)
    runtime = SimpleNamespace(getDeviceProperties=lambda number: {"name": b"card %d" % number}, runtimeGetVersion=lambda: 12080)
    cupy = SimpleNamespace(cuda=SimpleNamespace(runtime=runtime))
    facts = list_device_facts(SimpleNamespace(name="cupy", place="<CUDA Device 2>", module=cupy))
    assert {"card 2", "CUDA 12.8"} <= set(facts)


def test_the_version_of_the_driver() -> None:
    assert [read_driver_version(CLOSED), read_driver_version(OPEN)] == ["550.54.15", "580.82.07"]
    with pytest.raises(ValueError, match="no version"):
        read_driver_version("a file of another kind")


@pytest.mark.parametrize("kind", ["CUDA", "HIP"])
def test_an_error_is_said_without_the_advice(kind: str) -> None:
    fault = as_fault(RuntimeError(ERROR.replace("CUDA", kind)))
    assert str(fault) == f"the call raised RuntimeError: {kind} error: an illegal memory access was encountered"


def test_words_of_an_author_are_left() -> None:
    text = "Compile with care\nFor debugging consider passing x=1 to f\n"
    assert str(as_fault(ValueError(text))) == f"the call raised ValueError: {text}"


@pytest.mark.rotating
@pytest.mark.parametrize("options", [(), ("--isolate",), ("-n", "2")])
def test_the_header_names_the_device(tmp_path: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "mine.py").write_text(SOURCE)
    laws = ("-k", "relu and reference and not vjp", f"--device={NAME}:1", "--effort=smoke", "--report=r", "-W", "error")
    done = suite(tmp_path, "--backend=mine.py", *laws, *options, env=environment(ROOT))
    assert done.code == 0, done.text
    assert done.text.count(f"spec_tests: mine is on {NAME}:1: deterministic algorithms off") == 1, done.text
    assert '"device_facts":["deterministic algorithms off"' in (tmp_path / "r" / "report.jsonl").read_text().replace(
        '": ', '":'
    ).replace(", ", ",")
