"""PyTorch on several ranks over gloo: ring attention, and layers that are cut along other axes than in torch_distributed."""

from ._distributed_other_axis import *
from ._distributed_ring import *

framework = "torch"
device = "cpu"
world_size = (2, 1, 3, 4)
conventions = {"causal_alignment": "bottom-right", "fully_masked_rows": "zero", "lse_base": "e"}
CONTIGUOUS, ZIGZAG = -2, (-2, "zigzag")
shards = {
    "linear": {"weight": 0, "bias": 0, "result": -1},
    "swiglu": {"x": -2, "result": -2},
    "rms_norm": {"x": -1, "weight": 0, "result": -1},
    "layer_norm": {"x": -1, "weight": 0, "bias": 0, "result": -1},
    "scaled_dot_product_attention": dict.fromkeys(("q", "k", "v", "result"), CONTIGUOUS),
    "attention_with_lse": dict.fromkeys(("q", "k", "v", "out"), CONTIGUOUS) | {"lse": -1},
    "grouped_query_attention": dict.fromkeys(("q", "k", "v", "result"), ZIGZAG),
}
domain = {"swiglu": {"batch_dims": (1, 2, 3)}}  # there are tokens to cut
