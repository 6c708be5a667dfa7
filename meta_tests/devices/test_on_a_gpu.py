"""The command that runs on a machine with a GPU: its order, its time limit, what it keeps, and what it says without a GPU."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ..measure import on_a_gpu
from ..measure.on_a_gpu import Record, Row, Step, list_steps, read_record, run_steps, write_record
from ..support.explained_faults import ExplainedFault
from ..support.kernels import FOLDER, list_kernels
from ..support.pytest_process import Run

LEAST = 30  # kernels of each kind
MACHINE = {"GPU": "a GPU", "driver": "1"}
GREEN = Row("green", 0, 1.0, {"passed": 3})


class FakeMachine:
    """A clock, and a runner whose every run takes ten seconds of it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.begun: list[str] = []

    def now(self) -> float:
        return self.seconds

    def run(self, step: Step, seconds: float) -> Row | None:
        self.begun.append(step.name)
        self.seconds += 10
        return GREEN if seconds >= 10 else None


def test_the_steps_are_in_the_order_of_their_use() -> None:
    names = [step.name for step in list_steps(workers=4)]
    kernels = [name for name in names if "/" in name]
    last = ["jax-cuda", "liger-kernel-cuda", "cupy-cuda", "torch-compile-cuda"]
    assert names == ["torch-cuda", "triton-cuda", *kernels, *last]
    assert [name.partition("/")[0] for name in kernels[:4]] == ["faulty", "right"] * 2
    assert len(set(names)) == len(names)
    assert all("--shapes=12" in step.arguments for step in list_steps(4) if step.name in kernels)
    assert all("--effort=smoke" in step.arguments for step in list_steps(4) if step.name in last)


@pytest.mark.parametrize("folder", ["right", "faulty"])
def test_there_are_kernels_of_both_kinds(folder: str) -> None:
    kernels = list_kernels(folder)
    assert len(kernels) >= LEAST
    assert all((kernel.fault is not None) == (folder == "faulty") == bool(kernel.says) for kernel in kernels)
    assert sum(kernel.name.startswith("cuda_") for kernel in kernels) >= 4
    assert all(kernel.needs_gpu for kernel in kernels if kernel.name.startswith("cuda_"))


def test_what_the_time_does_not_reach_is_named_and_the_next_call_goes_on(tmp_path: Path) -> None:
    steps, machine, today = list_steps(workers=1), FakeMachine(), Record("sources", MACHINE)
    run_steps(steps, today, 35, machine.run, keep=lambda: write_record(tmp_path, today, steps), now=machine.now)
    assert [*today.rows] == [step.name for step in steps[:3]]  # the fourth was cut after five seconds
    assert machine.begun == [step.name for step in steps[:4]]
    text = (tmp_path / "gpu.txt").read_text()
    assert text.startswith("GPU a GPU, driver 1\n")
    assert text.endswith(f"not run: {', '.join(step.name for step in steps[3:])}\n")
    record, machine = read_record(tmp_path / "gpu.json", Record("sources", MACHINE)), FakeMachine()
    assert record.rows == today.rows
    run_steps(steps, record, 1e6, machine.run, now=machine.now)
    assert machine.begun == [step.name for step in steps[3:]]
    write_record(tmp_path, record, steps)
    assert (tmp_path / "gpu.txt").read_text().endswith("not run: nothing\n")


def test_rows_of_other_sources_or_of_another_machine_are_not_taken_over(tmp_path: Path) -> None:
    write_record(tmp_path, Record("sources", MACHINE, {"torch-cuda": GREEN}), list_steps(1))
    for today in (Record("others", MACHINE), Record("sources", {**MACHINE, "driver": "2"})):
        assert read_record(tmp_path / "gpu.json", today).rows == {}


@pytest.mark.parametrize(
    ("kind", "code", "what", "outcome"),
    [
        ("right", 0, "", "green"),
        ("right", 1, "a sentence", "ALARM"),
        ("library", 1, "a sentence", "red"),
        ("library", 4, "", "ended with 4"),
        ("faulty", 0, "", "NOT FOUND"),
        ("faulty", 1, "the last row is never written", "right"),
        ("faulty", 1, "another sentence", "WRONG"),
    ],
)
def test_the_outcome_of_a_run(kind: str, code: int, what: str, outcome: str) -> None:
    causes = [{"key": what, "kind": "region", "what": what}] if what else []
    fault = ExplainedFault("name", "softmax", ("never written",)) if kind == "faulty" else None
    run = Run(code, "ERROR: no such backend", {}, [{"status": "failed" if code else "passed", "causes": causes}])
    assert on_a_gpu.judge(Step("name", (), kind=kind, fault=fault), run, 1.0).outcome == outcome


def test_without_a_device_it_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    monkeypatch.setattr(on_a_gpu, "has_cuda", lambda: False)
    assert on_a_gpu.main(["--write", str(tmp_path)]) == 4
    assert capsys.readouterr().err == "There is no CUDA device that PyTorch finds here; nothing was run.\n"
    assert list(tmp_path.iterdir()) == []


CUDA = """
#include <cmath>
#include <algorithm>
#define __global__
#define __shared__
struct Three { int x, y, z; } threadIdx, blockIdx, blockDim;
struct float4 { float x, y, z, w; };
void __syncthreads();
float __shfl_down_sync(unsigned, float, int);
"""  # as much of the language as the kernels use


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*/cuda_*.py")), ids=lambda path: path.stem)
def test_the_kernels_in_cuda_are_valid_c_plus_plus(path: Path, tmp_path: Path) -> None:
    """Here no compiler of CUDA is needed, and none of what it generates is seen."""
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    ((source, name),) = re.findall(r'r"""(.*?)""",\s+"(\w+)"', path.read_text(), re.DOTALL)
    assert f'extern "C" __global__ void {name}(' in source
    (tmp_path / "kernel.cpp").write_text(CUDA + source)
    done = subprocess.run(
        ["g++", "-std=c++17", "-fsyntax-only", "-Wall", "-Werror", "kernel.cpp"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
