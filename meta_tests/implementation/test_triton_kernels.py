"""The Triton kernels compile for a GPU where there is none, and conform in Triton's interpreter."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from ..measure.kernels import FILE, list_interpreted, read_rows
from ..measure.on_a_gpu import list_steps, run_step
from ..support.kernels import FOLDER
from ..support.paths import ROOT
from ..support.pytest_process import environment, python, suite
from ..support.rotation import rotate

pytest.importorskip("triton")
pytestmark = pytest.mark.slow

COMPILE = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from backends import _triton_attention as kernels
from backends import _triton_formats as formats

GPU = GPUTarget("cuda", 80, 32)
SHARED_BYTES = 163 * 1024  # that one block of threads has on this GPU
NUMBERS = {"scale": "fp32", "cap": "fp32", "left": "i32", "right": "i32"}
INDICES = ("table", "first_query", "query_count", "first_key", "key_count")

def compile_kernel(kernel, arrays, **constants):
    types = {name: "i32" for name in kernel.arg_names} | NUMBERS | arrays | dict.fromkeys(constants, "constexpr")
    types = {name: types[name] for name in kernel.arg_names}
    compiled = triton.compile(ASTSource(kernel, types, constexprs=constants), target=GPU, options={"num_stages": kernels.STAGES})
    assert compiled.asm["cubin"]
    assert compiled.metadata.shared <= SHARED_BYTES, (kernel.__name__, constants, compiled.metadata.shared)

for dtype in ("*fp32", "*bf16"):
    arrays = dict.fromkeys(INDICES, "*i64") | dict.fromkeys("qkv", dtype) | dict.fromkeys(("outs", "lses"), "*fp32")
    blocks = {"queries": kernels.QUERIES, "keys": kernels.KEYS, "block_k": 256, "block_v": 256}
    for paged in (True, False):
        compile_kernel(kernels._attend_to_part, arrays, d_k=256, d_v=255, capped=not paged, paged=paged, **blocks)
    arrays = {"outs": "*fp32", "lses": "*fp32", "sinks": dtype, "out": dtype, "lse": "*fp32"}
    for parts in (1, 8):
        blocks = {"rows": kernels.MERGED, "block": parts, "block_d": kernels.FEATURES}
        compile_kernel(kernels._merge, arrays, sunk=parts == 1, **blocks)
for dtype in ("*fp32", "*bf16"):
    arrays = {"x": dtype, "q": "*u8", "scale": "*fp32", "eps": "fp32"}
    compile_kernel(formats._quantize_blocks, arrays, rows=formats.ROWS, size=128)
for signed in (True, False):
    arrays = {"words": "*i32", "scale": "*fp32", "zero_point": "*i8", "y": "*fp32"}
    compile_kernel(formats._dequantize_int4, arrays, signed=signed, rows=formats.ROWS, width=formats.WIDTH)
print("compiled")
"""


def test_the_kernels_compile_for_a_gpu(tmp_path: Path) -> None:
    done = python(tmp_path, "-W", "ignore", "-c", COMPILE, env=environment(ROOT, TRITON_CACHE_DIR=str(tmp_path)))
    assert (done.returncode, done.stdout) == (0, "compiled\n"), done.stderr


def test_the_kernels_conform_in_the_interpreter(tmp_path: Path) -> None:
    names = ("attention_with_lse", "merge_attention_states", "attention_with_kv_cache", "paged_attention")
    names = (*names, "variable_length_attention", "grouped_query_attention", "dynamic_quantize", "dequantize")
    selection = " or ".join(f"{name}.reference" for name in names)
    run = suite(tmp_path, "--backend=triton-interpret", "--effort=smoke", "--dtype=float32", "-k", selection)
    assert run.code == 0, run.text
    assert {fact["operation"] for fact in run.facts if fact["status"] == "passed"} == set(names)


TRITON_KERNELS = [path for path in sorted(FOLDER.glob("[rf]*/*.py")) if not path.stem.startswith(("_", "cuda_"))]


@pytest.mark.parametrize("path", rotate(TRITON_KERNELS, 10, name=lambda path: path.stem), ids=lambda path: path.stem)
def test_a_kernel_of_the_table_compiles_for_a_gpu(path: Path, tmp_path: Path) -> None:
    words = ("-W", "ignore", "-m", "meta_tests.support.compile_kernels", str(path))
    done = python(tmp_path, *words, env=environment(ROOT, TRITON_CACHE_DIR=str(tmp_path)))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{path.stem}: ")


@pytest.mark.parametrize("name", rotate([name for name in list_interpreted() if name in read_rows()], 10))
def test_a_kernel_gets_in_the_interpreter_what_the_table_says(name: str, tmp_path: Path) -> None:
    """In a process of its own, in which Triton was not imported before."""
    done = python(tmp_path, "-W", "ignore", "-m", "meta_tests.measure.kernels", name, timeout=None)
    assert done.returncode == 0, done.stderr
    assert done.stdout.partition("\n")[0] == read_rows()[name].partition("\n")[0], done.stdout


def test_no_right_kernel_of_the_table_raises_an_alarm_and_no_fault_is_explained_wrongly() -> None:
    verdicts = {name: re.split(": |\n", row)[1] for name, row in read_rows().items()}
    kernels = list_interpreted()
    missing = FILE.read_text().partition("\n")[0].partition("; not run: ")[2]
    assert {*verdicts, *filter(None, missing.split(", "))} == kernels.keys()
    assert {verdict for name, verdict in verdicts.items() if kernels[name].fault is None} == {"no alarm"}
    faults = {verdict for name, verdict in verdicts.items() if kernels[name].fault is not None}
    assert faults <= {"right", "true but another", "unexplained", "NOT FOUND"}  # smoke does not meet every size


def test_the_command_for_a_gpu_runs_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """A right one and a faulty one, here in the interpreter."""
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    steps = {step.name: step for step in list_steps(workers=1)}
    for name, outcome in (("right/relu_flat", "green"), ("faulty/relu_grid_too_small", "right")):
        step = replace(steps[name], arguments=(*steps[name].arguments, "--effort=smoke", "-k", "relu.reference"))
        row = run_step(step, 300)
        assert row is not None
        assert row.outcome == outcome, row
    assert run_step(steps["right/relu_flat"], 0.01) is None
