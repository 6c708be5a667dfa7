"""The JAX operations of jax_cpu, each compiled as a whole by jax.jit, its keywords compiled in."""

import inspect

import jax

from . import jax_cpu
from .jax_cpu import *

for name, operation in inspect.getmembers(jax_cpu, inspect.isfunction):
    if not name.startswith("_"):
        keywords = inspect.signature(operation).parameters.values()
        globals()[name] = jax.jit(operation, static_argnames=[k.name for k in keywords if k.kind is k.KEYWORD_ONLY])
