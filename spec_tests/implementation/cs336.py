"""The `tests/adapters.py` of the Stanford CS336 assignment, unchanged, as a backend: its functions under the operations' names.

Each method says which function an operation is, and with which arguments; it calls nothing. What the hand-out does not
promise (an empty batch, other dtypes than float32, heads that do not make up d_model) is stated as the backend's domain.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

Spoken = tuple[str, dict[str, Any]]  # a function's name, and its arguments by keyword

BLOCK = {
    "attn_norm": "ln1.weight",
    "w_q": "attn.q_proj.weight",
    "w_k": "attn.k_proj.weight",
    "w_v": "attn.v_proj.weight",
    "w_o": "attn.output_proj.weight",
    "ffn_norm": "ln2.weight",
    "w1": "ffn.w1.weight",
    "w2": "ffn.w2.weight",
    "w3": "ffn.w3.weight",
}
FUNCTIONS = {
    "linear": ("run_linear",),
    "embedding": ("run_embedding",),
    "softmax": ("run_softmax",),
    "silu": ("run_silu",),
    "gelu": ("run_gelu",),
    "rms_norm": ("run_rmsnorm",),
    "swiglu": ("run_swiglu",),
    "feed_forward": ("run_positionwise_feedforward",),
    "rope": ("run_rope",),
    "scaled_dot_product_attention": ("run_scaled_dot_product_attention",),
    "multihead_self_attention": ("run_multihead_self_attention", "run_multihead_self_attention_with_rope"),
    "transformer_block": ("run_transformer_block",),
    "transformer_lm": ("run_transformer_lm",),
}
EPS = (1e-5,)  # which nobody passes on
HEADS = {"d": "h d_k", "d_v": "d_k", "batch_dims": (1,)}
MODEL = HEADS | {"eps": EPS, "theta": (10_000.0, 500_000.0, 100.0, 2.5)}
DOMAIN: dict[str, dict[str, Any]] = {
    "feed_forward": {"activation": ("gelu",)},
    "embedding": {"batch_dims": (1, 2, 3)},
    "multihead_self_attention": HEADS,
    "transformer_block": MODEL,
    "transformer_lm": MODEL | {"num_layers": range(1, 5)},
}
LARGEST_TABLE = 2**20  # max_seq_len × d_k: angles that a function may compute anew in every call


def is_adapters_file(source: Any) -> bool:
    """A file that says nothing of a framework and has functions of the assignment."""
    known = (hasattr(source, name) for names in FUNCTIONS.values() for name in names)
    return not hasattr(source, "framework") and any(known)


def _capacity(positions: Any, n: int, d_k: int) -> int:
    """max_seq_len: more than the last position, and mostly more than n."""
    given = positions is not None and 0 not in positions.shape
    if given and int(positions.min()) < 0:
        raise NotImplementedError("positions count from 0")
    needed = max(n, int(positions.max()) + 1 if given else 1)
    capacity = 1 << (needed - 1).bit_length()
    if capacity * d_k > LARGEST_TABLE:
        raise NotImplementedError(f"a table of angles for {capacity} positions would be computed in every call")
    return capacity


def _takes(function: Callable[..., Any], given: dict[str, Any]) -> bool:
    try:
        inspect.signature(function).bind(**given)
    except TypeError:
        return False
    return True


class Edition2025:
    """Spring 2025 and later."""

    @staticmethod
    def linear(x: Any, weight: Any) -> Spoken:
        d_out, d_in = weight.shape
        return "run_linear", {"d_in": d_in, "d_out": d_out, "weights": weight, "in_features": x}

    @staticmethod
    def embedding(token_ids: Any, weight: Any) -> Spoken:
        vocab, d = weight.shape
        return "run_embedding", {"vocab_size": vocab, "d_model": d, "weights": weight, "token_ids": token_ids}

    @staticmethod
    def softmax(x: Any, *, axis: int) -> Spoken:
        return "run_softmax", {"in_features": x, "dim": axis}

    @staticmethod
    def silu(x: Any) -> Spoken:
        return "run_silu", {"in_features": x}

    @staticmethod
    def gelu(x: Any) -> Spoken:
        return "run_gelu", {"in_features": x}

    @staticmethod
    def rms_norm(x: Any, weight: Any, *, eps: float) -> Spoken:
        return "run_rmsnorm", {"d_model": x.shape[-1], "eps": eps, "weights": weight, "in_features": x}

    @staticmethod
    def swiglu(x: Any, w1: Any, w2: Any, w3: Any) -> Spoken:
        d_ff, d = w1.shape
        weights = {"w1_weight": w1, "w2_weight": w2, "w3_weight": w3}
        return "run_swiglu", {"d_model": d, "d_ff": d_ff, **weights, "in_features": x}

    @staticmethod
    def feed_forward(x: Any, w1: Any, w2: Any) -> Spoken:
        d_ff, d = w1.shape
        weights = {"w1.weight": w1, "w2.weight": w2}
        return "run_positionwise_feedforward", {"d_model": d, "d_ff": d_ff, "weights": weights, "in_features": x}

    @staticmethod
    def rope(x: Any, positions: Any, *, theta: float) -> Spoken:
        *_, n, d_k = x.shape
        table = {"d_k": d_k, "theta": theta, "max_seq_len": _capacity(positions, n, d_k)}
        return "run_rope", {**table, "in_query_or_key": x, "token_positions": positions}

    @staticmethod
    def scaled_dot_product_attention(q: Any, k: Any, v: Any, mask: Any = None) -> Spoken:
        batch = np.broadcast_shapes(*(x.shape[:-2] for x in (q, k, v)))
        q, k, v = (x.expand(*batch, *x.shape[-2:]) for x in (q, k, v))  # the assignment's Q, K and V do not broadcast
        mask = mask if mask is None else mask.expand(*mask.shape[:-2], q.shape[-2], k.shape[-2])
        return "run_scaled_dot_product_attention", {"Q": q, "K": k, "V": v, "mask": mask}

    @staticmethod
    def multihead_self_attention(
        x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, positions: Any = None, *, num_heads: int, theta: float | None = None
    ) -> Spoken:
        *_, n, d = x.shape
        if not len(w_q) == len(w_v) == d:
            raise NotImplementedError("num_heads × d_k, and × d_v, must be d_model")
        weights = {"q_proj_weight": w_q, "k_proj_weight": w_k, "v_proj_weight": w_v, "o_proj_weight": w_o}
        given = {"d_model": d, "num_heads": num_heads, **weights, "in_features": x}
        if theta is None:
            return "run_multihead_self_attention", given
        table = {"max_seq_len": _capacity(positions, n, d // num_heads), "theta": theta}
        return "run_multihead_self_attention_with_rope", {**given, **table, "token_positions": positions}

    @staticmethod
    def transformer_block(x: Any, weights: Any, *, num_heads: int, theta: float | None, eps: float) -> Spoken:
        *_, n, d = x.shape
        if theta is None:
            raise NotImplementedError("run_transformer_block has RoPE always")
        sizes = {"d_model": d, "num_heads": num_heads, "d_ff": len(weights["w1"])}
        table = {"max_seq_len": _capacity(None, n, d // num_heads), "theta": theta}
        state = {BLOCK[name]: weight for name, weight in weights.items()}
        return "run_transformer_block", {**sizes, **table, "weights": state, "in_features": x}

    @staticmethod
    def transformer_lm(token_ids: Any, weights: Any, *, num_heads: int, theta: float | None, eps: float) -> Spoken:
        (vocab, d), layers = weights["token_embedding"].shape, weights["layers"]
        if theta is None:
            raise NotImplementedError("run_transformer_lm has RoPE always")
        length = {"context_length": _capacity(None, token_ids.shape[-1], d // num_heads), "rope_theta": theta}
        sizes = {"d_model": d, "num_layers": len(layers), "num_heads": num_heads, "d_ff": len(layers[0]["w1"])}
        ends = {"token_embedding": "token_embeddings.weight", "final_norm": "ln_final.weight", "lm_head": "lm_head.weight"}
        state = {there: weights[here] for here, there in ends.items()}
        state |= {f"layers.{i}.{BLOCK[name]}": w for i, layer in enumerate(layers) for name, w in layer.items()}
        return "run_transformer_lm", {"vocab_size": vocab, **sizes, **length, "weights": state, "in_indices": token_ids}


class Edition2024(Edition2025):
    """Spring 2024: weights come as state dicts, True in a mask hides a key, and a block is another operation than ours."""

    transformer_block = transformer_lm = None  # type: ignore[assignment]

    @staticmethod
    def rms_norm(x: Any, weight: Any, *, eps: float) -> Spoken:
        return "run_rmsnorm", {"d_model": x.shape[-1], "eps": eps, "weights": {"weight": weight}, "in_features": x}

    @staticmethod
    def scaled_dot_product_attention(q: Any, k: Any, v: Any, mask: Any = None) -> Spoken:
        name, given = Edition2025.scaled_dot_product_attention(q, k, v, mask)
        return name, {**given, "mask": mask if mask is None else ~given["mask"], "pdrop": 0.0}

    @staticmethod
    def multihead_self_attention(  # type: ignore[override]
        x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, *, num_heads: int
    ) -> Spoken:
        name, given = Edition2025.multihead_self_attention(x, w_q, w_k, w_v, w_o, num_heads=num_heads)
        heads = {"q_heads": w_q, "k_heads": w_k, "v_heads": w_v}
        rows = len(w_q) // num_heads
        state = {f"{part}.{i}.weight": w[i * rows : (i + 1) * rows] for part, w in heads.items() for i in range(num_heads)}
        given = {name: given[name] for name in ("d_model", "num_heads", "in_features")}
        return name, {**given, "attn_pdrop": 0.0, "weights": {**state, "output_proj.weight": w_o}}


class Adapters:
    """The backend that such a file is. `device`, `dtypes` and the like may stand in it as in any other."""

    framework = "torch"

    def __init__(self, module: Any):
        self.module, self.edition = module, Edition2024 if hasattr(module, "run_positionwise_feedforward") else Edition2025
        self.__name__, self.__file__ = module.__name__, module.__file__
        self.dtypes = getattr(module, "dtypes", ("float32",))
        for name in ("device", "name", "version", "conventions", "precision", "synchronize"):
            if hasattr(module, name):
                setattr(self, name, getattr(module, name))
        for operation, names in FUNCTIONS.items():
            translation = getattr(self.edition, operation)
            if translation and any(hasattr(module, name) for name in names):
                setattr(self, operation, self._function(translation))
        self.domain = {operation: {"empty": False, **DOMAIN.get(operation, {})} for operation in FUNCTIONS}

    def spoken(self, operation: str, *arrays: Any, **keywords: Any) -> Spoken:
        """The call in the assignment's terms."""
        return getattr(self.edition, operation)(*arrays, **keywords)

    def _function(self, translation: Callable[..., Spoken]) -> Callable[..., Any]:
        @functools.wraps(translation)
        def function(*arrays: Any, **keywords: Any) -> Any:
            name, given = translation(*arrays, **keywords)
            written = getattr(self.module, name, None)
            if written is None or not _takes(written, given):
                raise NotImplementedError(f"it has no {name} that takes {', '.join(given)}")
            try:
                return written(**given)
            except NotImplementedError as unwritten:
                raise NotImplementedError(str(unwritten) or f"{name} is not written yet") from unwritten

        return function
