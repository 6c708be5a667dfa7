"""The kernels of liger_kernel_cuda on a CPU, through Triton's interpreter: each program in NumPy, one after the other.

In the interpreter floats have no method `to`, and the functions of libdevice return None: Liger's kernels need both.
"""

import functools
import os
import sys

if "triton" in sys.modules and os.environ.get("TRITON_INTERPRET") != "1":
    raise ImportError("triton was imported before, to compile; run this backend alone, or with TRITON_INTERPRET=1 set")
os.environ["TRITON_INTERPRET"] = "1"  # read where triton is imported
os.environ["LIGER_FUSED_MOE_AUTOTUNE"] = "0"  # read where Liger is imported; there is nothing to measure

import numpy as np
import triton.language as tl
from triton.runtime.interpreter import InterpretedFunction, TensorHandle

from .liger_kernel_cuda import *

device = "cpu"
dtypes = ("float32", "float16")  # the interpreter truncates to bfloat16, and multiplies its bit patterns
domain = domain | {  # each row of softmax and each token of rope is a program, which takes milliseconds here
    "rope": domain["rope"] | {"n": range(1, 65), "d_k": range(2, 301, 2)},
    "softmax": {"n": range(1, 601)},
}


def _of_numpy(function):
    """A function of libdevice, which rounds once, in the dtype of its argument."""

    def elementwise(x):
        values = function(x.handle.data.astype(np.float64)).astype(x.handle.data.dtype)
        return tl.tensor(TensorHandle(values, x.handle.dtype), x.type)

    return elementwise


def _as_compiled(kernel):
    """The kernel with floats as the float32 scalars that they are where it is compiled, but for its constants."""
    run, constants = kernel.run, {name for name, kind in kernel.fn.__annotations__.items() if "constexpr" in str(kind)}

    def scalar(name, x):
        if not isinstance(x, float) or name in constants:
            return x
        return tl.tensor(TensorHandle(np.array([x], np.float32), tl.float32), tl.float32)

    @functools.wraps(run)
    def with_scalars(*arguments, **named):
        arguments = map(scalar, kernel.arg_names, arguments)
        return run(*arguments, **{name: scalar(name, x) for name, x in named.items()})

    return with_scalars


LIBDEVICE = {"tanh": np.tanh, "rsqrt": lambda x: 1 / np.sqrt(x)}


def _as_on_a_gpu(module):
    for entry, value in list(vars(module).items()):
        if entry in LIBDEVICE:
            setattr(module, entry, _of_numpy(LIBDEVICE[entry]))
        elif isinstance(value, InterpretedFunction) and value.fn.__module__ == module.__name__:
            value.run = _as_compiled(value)


for _module in [sys.modules[path] for path in sys.modules if path.startswith("liger_kernel.ops.")]:
    _as_on_a_gpu(_module)
