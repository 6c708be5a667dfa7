"""The plain PyTorch of torch_cpu, each operation compiled as a whole by torch.compile, for any shape.

Every rank, every dimension of one, every pair of equal dimensions is compiled anew: a run takes hours, not minutes.
"""

import inspect

import torch
import torch._dynamo

from . import torch_cpu
from .torch_cpu import *

dtypes = ("float32", "bfloat16")
torch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = 1 << 20  # no eager code in silence
torch._dynamo.config.fake_tensor_cache_enabled = False  # with symbols for dimensions it costs more than it saves

LEFT_OUT = (
    "quantize",
    "dynamic_quantize",
    "dequantize",
    "scaled_matmul",
    "unpack_int4",
    "swizzle_scales",  # of all these, each format and each block would be compiled anew
    "sample",  # a generator is no argument of a graph
)
FUNCTIONS = {name: f for name, f in inspect.getmembers(torch_cpu, inspect.isfunction) if not name.startswith("_")}
OPERATIONS = {name: f for name, f in FUNCTIONS.items() if name not in LEFT_OUT}
globals().update({name: torch.compile(f, dynamic=True, fullgraph=True) for name, f in OPERATIONS.items()})
globals().update(dict.fromkeys(LEFT_OUT))
