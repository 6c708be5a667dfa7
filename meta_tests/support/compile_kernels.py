"""Compile Triton kernels for a GPU where there is none: python -m meta_tests.support.compile_kernels FILE …

Each function of a file is called once with small arrays, and each launch compiles the kernel and does not run it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget

from spec_tests.implementation.import_file import import_file

TARGET = GPUTarget("cuda", 80, 32)
X, WEIGHT, IDS = torch.ones(2, 6, 40), torch.ones(40), torch.ones(2, 6, dtype=torch.int64)
MATRIX, WIDE, ROWS = torch.ones(24, 40), torch.ones(40, 24), torch.ones(2, 6)
HEADS = torch.ones(2, 3, 6, 16)
CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    **dict.fromkeys(("softmax", "log_softmax", "logsumexp"), ((X,), {"axis": -1})),
    **dict.fromkeys(("relu", "silu", "sigmoid", "l2_norm"), ((X,), {})),
    "softmax_vjp": ((X, X), {"axis": -1}),
    "gelu": ((X,), {"approximate": "tanh"}),
    "rms_norm": ((X, WEIGHT), {"eps": 1e-6}),
    "rms_norm_vjp": ((X, X, WEIGHT), {"eps": 1e-6}),
    "add_rms_norm": ((X, X, WEIGHT), {"eps": 1e-6}),
    "layer_norm": ((X, WEIGHT, WEIGHT), {"eps": 1e-6}),
    "linear": ((X, MATRIX, torch.ones(24)), {}),
    "swiglu": ((X, MATRIX, WIDE, MATRIX), {}),
    "rope": ((X, torch.arange(6)), {}),
    "embedding": ((IDS, MATRIX), {}),
    "embedding_vjp": ((X, IDS, MATRIX), {}),
    "cross_entropy": ((X, IDS), {}),
    "scaled_dot_product_attention": ((HEADS, HEADS, HEADS), {"is_causal": True}),
    "linear_attention": ((HEADS, HEADS, HEADS), {}),
    "merge_attention_states": ((X, ROWS, X, ROWS), {}),
    "attention_with_kv_cache": ((HEADS, HEADS, HEADS, torch.tensor([6, 5])), {}),
}


def compile_at_launch(kernel: Any, grid: Any) -> Any:
    """Take the place of a launch."""
    return lambda *arguments, **options: kernel.run(*arguments, grid=grid, warmup=True, **options)


def main(paths: list[str]) -> None:
    current = {"get_current_target": lambda: TARGET, "get_current_device": lambda: 0, "get_current_stream": lambda device: 0}
    triton.runtime.driver.set_active(SimpleNamespace(**current))
    triton.runtime.jit.JITFunction.__getitem__ = compile_at_launch
    for path in map(Path, paths):
        module = import_file(path)
        names = [name for name in CALLS if hasattr(module, name)]
        assert names, path
        for name in names:
            arguments, options = CALLS[name]
            getattr(module, name)(*arguments, **options)
        print(f"{path.stem}: {', '.join(names)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
