"""The JAX operations of jax_cpu, each compiled as a whole by jax.jit, its keywords compiled in."""

import inspect

import jax

from . import jax_cpu
from .jax_cpu import *

ATTENTION = (
    "scaled_dot_product_attention", "grouped_query_attention", "local_attention", "attention_with_lse",
    "attention_with_kv_cache",
)  # fmt: skip
WIDER = ("float64", "float32", "bfloat16")  # compiled for a CPU, jax.nn.dot_product_attention refuses float16
domain = {**domain, **{name: {**domain[name], "dtype": WIDER} for name in ATTENTION}}


def compiled(operation):
    parameters = inspect.signature(operation).parameters.values()
    return jax.jit(operation, static_argnames=[p.name for p in parameters if p.kind is p.KEYWORD_ONLY])


globals().update({k: compiled(f) for k, f in inspect.getmembers(jax_cpu, inspect.isfunction) if not k.startswith("_")})
sample = None  # each seed would be compiled anew
