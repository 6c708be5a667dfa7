"""JAX on several devices of one process with jax.shard_map: by features, hidden units, tokens, vocabulary, heads and context.

The devices are the CPU's, as many as XLA is told to make. Each function is given whole arrays and cuts them.
"""

from ._jax_ranks_attention import *
from ._jax_ranks_layers import *
from ._jax_ranks_vocabulary import *

framework = "jax"
world_size = (2, 1, 3, 4)
ranks = "devices"
environment = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu"}
conventions = {"causal_alignment": "bottom-right", "fully_masked_rows": "zero", "lse_base": "e", "all_ignored": "nan"}
