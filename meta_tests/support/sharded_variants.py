"""Wrong sharded implementations, in PyTorch and in JAX."""

from __future__ import annotations

from . import sharded_variants_jax, sharded_variants_torch

VARIANTS = (*sharded_variants_torch.VARIANTS, *sharded_variants_jax.VARIANTS)
