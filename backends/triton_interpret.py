"""The kernels of triton_cuda on a CPU, through Triton's interpreter: each program in NumPy, one after the other.

The blocks are narrower, so that short rows have several, and taller, so that there are few programs.
"""

import os
import sys

if "triton" in sys.modules and os.environ.get("TRITON_INTERPRET") != "1":
    raise ImportError("triton was imported before, to compile; run this backend alone, or with TRITON_INTERPRET=1 set")
os.environ["TRITON_INTERPRET"] = "1"  # read where triton is imported

from . import _triton_attention, triton_cuda
from .triton_cuda import *

device = "cpu"
dtypes = ("float64", "float32", "float16")  # the interpreter truncates to bfloat16, and multiplies its bit patterns
triton_cuda.ROWS, triton_cuda.COLUMNS = 64, 128
_triton_attention.QUERIES, _triton_attention.KEYS, _triton_attention.PART, _triton_attention.MERGED = 32, 16, 48, 64
domain = domain | {  # long rows take seconds here, and show nothing that several blocks do not
    "softmax": {"n": range(1, 601)},
    "rms_norm": {"d": range(1, 601)},
    "layer_norm": {"d": range(1, 601)},
    "rope": {"n": range(1, 301), "d_k": range(2, 301, 2)},
    "swiglu": {"h": range(1, 301)},
}
