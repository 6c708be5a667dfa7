"""The Triton kernels compile for a GPU where there is none, and conform in Triton's interpreter."""

from pathlib import Path

import pytest

from ..support.paths import ROOT
from ..support.pytest_process import environment, python, suite

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
