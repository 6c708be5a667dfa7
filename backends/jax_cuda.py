"""JAX's own operations of jax_cpu on a CUDA device, where most of its conventions have not been verified.

XLA multiplies float32 in TF32 there, unless JAX_DEFAULT_MATMUL_PRECISION=highest says otherwise.
"""

from functools import partial

from .jax_cpu import *

device = "cuda"
version = ", ".join([f"jax {jax.__version__}", *(gpu.device_kind for gpu in jax.devices()[:1] if gpu.platform == "gpu")])
conventions = {"cache_update": "returned"}
causal_mask = partial(causal_mask, device=device)
