"""An unchanged `tests/adapters.py` of the Stanford CS336 assignment as a backend: `Adapters` gives its functions our names.

Each method of an edition translates a call of an operation into a call of one of the assignment's functions, and does not
call it. What the hand-out does not promise (an empty batch, other dtypes than float32, heads whose widths do not add up to
d_model) is excluded by the backend's domain.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from . import _cs336_alignment as alignment
from . import _cs336_training as training
from ._cs336_calls import accepts
from ._promises import DEFAULT_DTYPES, MAX_POSITION, PROMISED_TIERS, TURNED_WIDTHS

KIND = "an adapters file of CS336"
ORDER = 0
AdapterCall = tuple[str, dict[str, Any]]  # the name of a function, and its arguments by keyword

BLOCK_STATE_NAMES: Mapping[str, str] = MappingProxyType(
    {  # our name of a weight, and its name in the state dict of a block
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
)
ADAPTER_FUNCTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {  # our name of an operation, and the functions that implement it
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
        "cross_entropy": ("run_cross_entropy",),
        "cosine_schedule": ("run_get_lr_cosine_schedule",),
    }
)
OF_MODULES = MappingProxyType({**training.FUNCTIONS, **alignment.FUNCTIONS})
ADAPTERS = frozenset(
    name for names in (*ADAPTER_FUNCTIONS.values(), *(names for names, _ in OF_MODULES.values())) for name in names
)
UPCASTS = "rms_norm"  # which the hand-out of 2025 wants to compute in float32 and to return in the dtype of its input
FREE = (UPCASTS, "cosine_schedule")  # operations in other dtypes than float32: the latter has no arrays
UPCAST_DTYPES = ("bfloat16", "float16")
SEPARATE_FUNCTIONS = MappingProxyType({"multihead_self_attention": "theta"})  # the option with which another one is called
THETAS = (10_000.0, 500_000.0, 100.0, 2.5)
EPS_VALUES = (1e-5,)  # of the hand-out: run_transformer_block and run_transformer_lm take no eps
HEADS_DOMAIN: Mapping[str, Any] = MappingProxyType({"d": "h d_k", "d_v": "d_k", "batch_dims": (1,)})
MODEL_DOMAIN: Mapping[str, Any] = MappingProxyType({**HEADS_DOMAIN, "eps": EPS_VALUES, "theta": THETAS})
DOMAIN: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "feed_forward": {"activation": ("gelu",)},
        "embedding": {"batch_dims": (1, 2, 3)},
        "cross_entropy": {"batch_dims": (1,)},
        "multihead_self_attention": {**HEADS_DOMAIN, "max_position": MAX_POSITION},
        "rope": {"max_position": MAX_POSITION, "d_k": TURNED_WIDTHS},
        "transformer_block": MODEL_DOMAIN,
        "transformer_lm": {**MODEL_DOMAIN, "num_layers": range(1, 5)},
    }
)


def take(source: Any) -> Adapters | None:
    """Return the backend of an adapters file: it names no framework and has a function of the assignment. None for others."""
    present = any(hasattr(source, name) for name in ADAPTERS)
    return Adapters(source) if not hasattr(source, "framework") and present else None


def _choose_max_seq_len(positions: Any, n: int) -> int:
    """Return a power of two that is more than every position and not less than n."""
    has_positions = positions is not None and 0 not in positions.shape
    if has_positions and int(positions.min()) < 0:
        raise NotImplementedError("positions count from 0")
    needed = max(n, int(positions.max()) + 1 if has_positions else 1)
    return 1 << (needed - 1).bit_length()


def _broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """Return the shape to which shapes broadcast that fit together, as NumPy does. The file runs where NumPy may not be."""
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    return tuple(next((size for size in sizes if size != 1), 1) for sizes in zip(*padded, strict=True))


class Edition2025:
    """The functions of spring 2025 and later."""

    @staticmethod
    def linear(x: Any, weight: Any) -> AdapterCall:
        d_out, d_in = weight.shape
        return "run_linear", {"d_in": d_in, "d_out": d_out, "weights": weight, "in_features": x}

    @staticmethod
    def embedding(token_ids: Any, weight: Any) -> AdapterCall:
        vocab, d = weight.shape
        return "run_embedding", {"vocab_size": vocab, "d_model": d, "weights": weight, "token_ids": token_ids}

    @staticmethod
    def softmax(x: Any, *, axis: int) -> AdapterCall:
        return "run_softmax", {"in_features": x, "dim": axis}

    @staticmethod
    def silu(x: Any) -> AdapterCall:
        return "run_silu", {"in_features": x}

    @staticmethod
    def gelu(x: Any) -> AdapterCall:
        return "run_gelu", {"in_features": x}

    @staticmethod
    def rms_norm(x: Any, weight: Any, *, eps: float) -> AdapterCall:
        return "run_rmsnorm", {"d_model": x.shape[-1], "eps": eps, "weights": weight, "in_features": x}

    @staticmethod
    def swiglu(x: Any, w1: Any, w2: Any, w3: Any) -> AdapterCall:
        d_ff, d = w1.shape
        weights = {"w1_weight": w1, "w2_weight": w2, "w3_weight": w3}
        return "run_swiglu", {"d_model": d, "d_ff": d_ff, **weights, "in_features": x}

    @staticmethod
    def feed_forward(x: Any, w1: Any, w2: Any) -> AdapterCall:
        d_ff, d = w1.shape
        weights = {"w1.weight": w1, "w2.weight": w2}
        return "run_positionwise_feedforward", {"d_model": d, "d_ff": d_ff, "weights": weights, "in_features": x}

    @staticmethod
    def rope(x: Any, positions: Any, *, theta: float) -> AdapterCall:
        *_, n, d_k = x.shape
        table = {"d_k": d_k, "theta": theta, "max_seq_len": _choose_max_seq_len(positions, n)}
        return "run_rope", {**table, "in_query_or_key": x, "token_positions": positions}

    @staticmethod
    def scaled_dot_product_attention(q: Any, k: Any, v: Any, mask: Any = None) -> AdapterCall:
        batch = _broadcast_shapes(*(x.shape[:-2] for x in (q, k, v)))
        q, k, v = (x.expand(*batch, *x.shape[-2:]) for x in (q, k, v))  # the assignment's Q, K and V do not broadcast
        mask = mask if mask is None else mask.expand(*mask.shape[:-2], q.shape[-2], k.shape[-2])
        return "run_scaled_dot_product_attention", {"Q": q, "K": k, "V": v, "mask": mask}

    @staticmethod
    def multihead_self_attention(
        x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, positions: Any = None, *, num_heads: int, theta: float | None = None
    ) -> AdapterCall:
        *_, n, d = x.shape
        if not len(w_q) == len(w_v) == d:
            raise NotImplementedError("num_heads × d_k, and × d_v, must be d_model")
        weights = {"q_proj_weight": w_q, "k_proj_weight": w_k, "v_proj_weight": w_v, "o_proj_weight": w_o}
        arguments = {"d_model": d, "num_heads": num_heads, **weights, "in_features": x}
        if theta is None:
            return "run_multihead_self_attention", arguments
        table = {"max_seq_len": _choose_max_seq_len(positions, n), "theta": theta}
        return "run_multihead_self_attention_with_rope", {**arguments, **table, "token_positions": positions}

    @staticmethod
    def transformer_block(x: Any, weights: Any, *, num_heads: int, theta: float | None, eps: float) -> AdapterCall:
        *_, n, d = x.shape
        if theta is None:
            raise NotImplementedError("run_transformer_block has RoPE always")
        sizes = {"d_model": d, "num_heads": num_heads, "d_ff": len(weights["w1"])}
        table = {"max_seq_len": _choose_max_seq_len(None, n), "theta": theta}
        state = {BLOCK_STATE_NAMES[name]: weight for name, weight in weights.items()}
        return "run_transformer_block", {**sizes, **table, "weights": state, "in_features": x}

    @staticmethod
    def transformer_lm(token_ids: Any, weights: Any, *, num_heads: int, theta: float | None, eps: float) -> AdapterCall:
        (vocab, d), layers = weights["token_embedding"].shape, weights["layers"]
        if theta is None:
            raise NotImplementedError("run_transformer_lm has RoPE always")
        length = {"context_length": _choose_max_seq_len(None, token_ids.shape[-1]), "rope_theta": theta}
        sizes = {"d_model": d, "num_layers": len(layers), "num_heads": num_heads, "d_ff": len(layers[0]["w1"])}
        ends = {"token_embedding": "token_embeddings.weight", "final_norm": "ln_final.weight", "lm_head": "lm_head.weight"}
        state = {state_name: weights[name] for name, state_name in ends.items()}
        state |= {f"layers.{i}.{BLOCK_STATE_NAMES[name]}": w for i, layer in enumerate(layers) for name, w in layer.items()}
        return "run_transformer_lm", {"vocab_size": vocab, **sizes, **length, "weights": state, "in_indices": token_ids}

    @staticmethod
    def cross_entropy(logits: Any, targets: Any) -> AdapterCall:
        return "run_cross_entropy", {"inputs": logits, "targets": targets}

    @staticmethod
    def cosine_schedule(
        *, step: int, max_learning_rate: float, min_learning_rate: float, warmup_steps: int, cosine_steps: int
    ) -> AdapterCall:
        rates = {"max_learning_rate": max_learning_rate, "min_learning_rate": min_learning_rate}
        return "run_get_lr_cosine_schedule", {
            "it": step,
            **rates,
            "warmup_iters": warmup_steps,
            "cosine_cycle_iters": cosine_steps,
        }


class Edition2024(Edition2025):
    """The functions of spring 2024: weights come in state dicts, and True in a mask hides a key.

    Its transformer block is not our operation, so that the block and the model are left out.
    """

    transformer_block = transformer_lm = None  # type: ignore[assignment]

    @staticmethod
    def rms_norm(x: Any, weight: Any, *, eps: float) -> AdapterCall:
        return "run_rmsnorm", {"d_model": x.shape[-1], "eps": eps, "weights": {"weight": weight}, "in_features": x}

    @staticmethod
    def scaled_dot_product_attention(q: Any, k: Any, v: Any, mask: Any = None) -> AdapterCall:
        name, arguments = Edition2025.scaled_dot_product_attention(q, k, v, mask)
        return name, {**arguments, "mask": mask if mask is None else ~arguments["mask"], "pdrop": 0.0}

    @staticmethod
    def multihead_self_attention(  # type: ignore[override]
        x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, *, num_heads: int
    ) -> AdapterCall:
        name, arguments = Edition2025.multihead_self_attention(x, w_q, w_k, w_v, w_o, num_heads=num_heads)
        heads = {"q_heads": w_q, "k_heads": w_k, "v_heads": w_v}
        rows = len(w_q) // num_heads
        state = {f"{part}.{i}.weight": w[i * rows : (i + 1) * rows] for part, w in heads.items() for i in range(num_heads)}
        arguments = {name: arguments[name] for name in ("d_model", "num_heads", "in_features")}
        return name, {**arguments, "attn_pdrop": 0.0, "weights": {**state, "output_proj.weight": w_o}}


class Adapters:
    """The backend that an adapters file is. The file may state `device`, `dtypes` and the like, as any backend may."""

    framework = "torch"
    promised_tiers = PROMISED_TIERS

    def __init__(self, module: Any):
        self.module, self.edition = module, Edition2024 if hasattr(module, "run_positionwise_feedforward") else Edition2025
        self.__name__, self.__file__ = module.__name__, module.__file__
        self.separate_functions = dict(SEPARATE_FUNCTIONS)
        upcasts = self.edition is Edition2025 and hasattr(module, "run_rmsnorm")  # the hand-out of 2024 says nothing of 16 bits
        self.dtypes = getattr(module, "dtypes", (*DEFAULT_DTYPES, *UPCAST_DTYPES) if upcasts else DEFAULT_DTYPES)
        for name in ("device", "name", "version", "conventions", "precision", "synchronize"):
            if hasattr(module, name):
                setattr(self, name, getattr(module, name))
        for operation, names in ADAPTER_FUNCTIONS.items():
            translate = getattr(self.edition, operation)
            if translate and any(hasattr(module, name) for name in names):
                setattr(self, operation, self._build_function(translate))
        for operation, (names, call) in OF_MODULES.items():
            if any(hasattr(module, name) for name in names):
                setattr(self, operation, self._bind(call, names[0]))
        self.domain = self._find_domain()
        self.beyond = tuple(name for name in (*training.UNCOVERED, *alignment.UNCOVERED) if hasattr(module, name))

    def _find_domain(self) -> dict[str, dict[str, Any]]:
        """Return what the hand-outs promise of each operation, as far as the file has the functions for it."""
        domain: dict[str, Any] = {name: {"empty": False} for name in (*ADAPTER_FUNCTIONS, *OF_MODULES)}
        if not hasattr(self.module, "dtypes"):
            domain |= {name: {**stated, "dtype": DEFAULT_DTYPES} for name, stated in domain.items() if name not in FREE}
        for name, stated in (
            *DOMAIN.items(),
            *training.find_domain(self.module).items(),
            *alignment.find_domain(self.module).items(),
        ):
            domain[name] = {**domain[name], **stated}
        plain, rotated = (hasattr(self.module, name) for name in ADAPTER_FUNCTIONS["multihead_self_attention"])
        if self.edition is Edition2025 and plain != rotated:
            domain["multihead_self_attention"]["theta"] = THETAS if rotated else (None,)
        return domain

    def translate_call(self, operation: str, *arrays: Any, **keywords: Any) -> AdapterCall:
        """Return the function of the assignment that the operation calls, and its arguments.

        The name is "" if the assignment has no function of these arrays.
        """
        if operation in OF_MODULES:
            return "", {}
        return getattr(self.edition, operation)(*arrays, **keywords)

    def _bind(self, call: Callable[..., Any], adapter: str) -> Callable[..., Any]:
        """Return the operation: a function of arrays, which uses what the file offers."""
        parameters = list(inspect.signature(call).parameters.values())[1:]

        def function(*arrays: Any, **keywords: Any) -> Any:
            try:
                return call(self.module, *arrays, **keywords)
            except NotImplementedError as error:
                raise NotImplementedError(str(error) or f"{adapter} is not written yet") from error

        function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return function

    def _build_function(self, translate: Callable[..., AdapterCall]) -> Callable[..., Any]:
        """Return the operation: a function that translates its arguments and calls the file's function."""

        @functools.wraps(translate)
        def function(*arrays: Any, **keywords: Any) -> Any:
            name, arguments = translate(*arrays, **keywords)
            adapter = getattr(self.module, name, None)
            if adapter is None or not accepts(adapter, arguments):
                raise NotImplementedError(f"it has no {name} that takes {', '.join(arguments)}")
            try:
                return adapter(**arguments)
            except NotImplementedError as error:
                raise NotImplementedError(str(error) or f"{name} is not written yet") from error

        return function
