"""PyTorch on several ranks with torch.distributed over gloo: by features, experts, tokens, vocabulary, heads and context."""

from ._distributed_attention import *
from ._distributed_layers import *
from ._distributed_vocabulary import *

framework = "torch"
device = "cpu"
world_size = (2, 1, 3, 4)
conventions = {"causal_alignment": "bottom-right", "fully_masked_rows": "zero", "all_ignored": "nan"}
shards = {
    "linear": {"x": -1, "weight": 1},
    "swiglu": {"w1": 0, "b1": 0, "w3": 0, "b3": 0, "w2": 1},
    "feed_forward": {"w1": 0, "b1": 0, "w2": 1},
    "glu": {"w1": 0, "b1": 0, "w2": 0, "b2": 0, "result": -1},
    "rms_norm": {"x": -2, "result": -2},
    "layer_norm": {"x": -2, "result": -2},
    "mixture_of_experts": {"w1": 0, "w2": 0, "w3": 0},
    "embedding": {"weight": 0},
    "softmax": {"x": -1, "result": -1},
    "log_softmax": {"x": -1, "result": -1},
    "logsumexp": {"x": -1},
    "cross_entropy": {"logits": -1},
    "linear_cross_entropy": {"weight": 0},
    "grouped_query_attention": {"q": -3, "result": -3},
    "scaled_dot_product_attention": {"q": -2, "k": -2, "v": -2, "result": -2},
}
domain = {
    "rms_norm": {"batch_dims": (1, 2, 3)},  # there are tokens to cut
    "layer_norm": {"batch_dims": (1, 2, 3)},
    "softmax": {"axis": (-1,)},
    "log_softmax": {"axis": (-1,)},
    "logsumexp": {"axis": (-1,)},
}
