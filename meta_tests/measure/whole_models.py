"""Compare whole models of transformers, with random weights, with transformer_lm: `python -m meta_tests.measure.whole_models`.

Each model is stated by its configuration. It is a backend whose transformer_lm is the library's own module.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch.func import functional_call

from spec_tests.calls.operation import Operation
from spec_tests.implementation.backend import build_backend
from spec_tests.specification.formats import FORMATS
from spec_tests.specification.pytree import tree_map
from spec_tests.specification.registry import operations, specification

SEEDS, TOKENS, VOCAB = 12, 7, 23
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
SIZES = {"vocab_size": VOCAB, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4}
SIZES |= {"num_key_value_heads": 2, "head_dim": 8, "bos_token_id": None, "eos_token_id": None, "attn_implementation": "eager"}
LLAMA_3 = {"rope_type": "llama3", "rope_theta": 500_000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
YARN = {"rope_type": "yarn", "rope_theta": 1_000_000.0, "factor": 4.0, "original_max_position_embeddings": 64}

MANY = SIZES | {"num_hidden_layers": 3, "sliding_window": 3}  # layers of both kinds, and a window that is shorter than the text
ONE = SIZES | {"num_hidden_layers": 1}  # behind a layer of experts the worst-case bound is infinite, so that every choice is open
EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}

LAYER = {
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
    "w_q": "self_attn.q_proj", "w_k": "self_attn.k_proj", "w_v": "self_attn.v_proj", "w_o": "self_attn.o_proj",
    "w1": "mlp.gate_proj", "w2": "mlp.down_proj", "w3": "mlp.up_proj",
}  # fmt: skip
NORMED = LAYER | {"q_norm": "self_attn.q_norm", "k_norm": "self_attn.k_norm"}
BEHIND = NORMED | {
    "attn_post_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "ffn_post_norm": "post_feedforward_layernorm",
}
ROUTED = {ours: theirs for ours, theirs in LAYER.items() if not theirs.startswith("mlp")}
BIASED = ROUTED | {"sinks": "self_attn.sinks", "router": "mlp.router", "b_router": "mlp.router.bias"}
BIASED |= {f"b_{name}": f"self_attn.{name}_proj.bias" for name in "qkvo"}
Named = dict[str, np.ndarray]


@dataclass
class Model:
    """A model of transformers: its module, the names of its arrays, and the keywords with which transformer_lm states it."""

    module: Any
    names: dict[str, str]  # of the arrays of a layer that both sides have as they are
    keywords: dict[str, Any]
    control: dict[str, Any]  # of another model, whose scores must differ
    packed: Callable[[Named], Named] = lambda layer: {}  # the arrays that the module holds in another form
    gain_offset: float = 0.0  # what the module adds to the gains of its norms


def build_llama_3(transformers: Any) -> Model:
    rope = LLAMA_3 | {"original_max_position_embeddings": 64}
    module = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES, rope_parameters=rope))
    return Model(module, LAYER, _rotation(module), _of_theta(module))


def build_qwen_3(transformers: Any) -> Model:
    """Return Qwen 3 with normed queries and keys, one matrix for embedding and head, and YaRN as for its long contexts."""
    config = transformers.Qwen3Config(**SIZES, tie_word_embeddings=True, rope_parameters=YARN)
    module = transformers.Qwen3ForCausalLM(config)
    return Model(module, NORMED, _rotation(module), _of_theta(module))


def build_mixtral(transformers: Any) -> Model:
    """Return Mixtral, whose layers have experts: transformers keeps their first and third matrix as one."""
    module = transformers.MixtralForCausalLM(transformers.MixtralConfig(**ONE, **EXPERTS))

    def packed(layer: Named) -> Named:
        both = np.concatenate([layer["w1"], layer["w3"]], axis=-2)
        return {"mlp.experts.gate_up_proj": both, "mlp.experts.down_proj": layer["w2"]}

    keywords = _rotation(module) | {"k": 2}
    return Model(module, ROUTED | {"router": "mlp.gate"}, keywords, {"k": 1}, packed)


def build_gemma_3(transformers: Any) -> Model:
    """Return Gemma 3: norms behind both sub-layers, every second layer global, two thetas, a scaled embedding."""
    rope = {"full_attention": {"rope_type": "default", "rope_theta": 1e6}}
    rope |= {"sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}
    own = {"layer_types": ["sliding_attention", "full_attention", "sliding_attention"], "query_pre_attn_scalar": 16}
    config = transformers.Gemma3TextConfig(**MANY, **own, rope_parameters=rope, pad_token_id=None)
    keywords = {"theta": 1e6, "local_theta": 1e4, "left_window": 2, "global_every": 2, "scale": 0.25}
    keywords |= {"embedding_scale": 4.0, "activation": "gelu_tanh"}
    return Model(transformers.Gemma3ForCausalLM(config), BEHIND, keywords, {"global_every": 3}, gain_offset=1.0)


def build_gpt_oss(transformers: Any) -> Model:
    """Return a local layer of gpt-oss: sinks, biases, a window, YaRN, and experts whose gate is clipped."""
    own = {"layer_types": ["sliding_attention"], "sliding_window": 3, "rope_parameters": YARN | {"truncate": False}}
    module = transformers.GptOssForCausalLM(transformers.GptOssConfig(**ONE, **EXPERTS, **own))

    def packed(layer: Named) -> Named:
        w1, w2, w3 = (np.swapaxes(layer[name], -1, -2) for name in ("w1", "w2", "w3"))
        return {
            "mlp.experts.gate_up_proj": np.stack([w1, w3], axis=-1).reshape(*w1.shape[:-1], -1),
            "mlp.experts.gate_up_proj_bias": np.stack([layer["b1"], layer["b3"]], axis=-1).reshape(len(w1), -1),
            "mlp.experts.down_proj": w2,
            "mlp.experts.down_proj_bias": layer["b2"],
        }

    keywords = _rotation(module) | {"left_window": 2, "k": 2}
    keywords |= {"limit": 7.0, "alpha": 1.702, "offset": 1.0}
    return Model(module, BIASED, keywords, {"left_window": 3}, packed)


def _rotation(module: Any) -> dict[str, Any]:
    """Return the frequencies that the module has made of its configuration."""
    rotary = module.model.rotary_emb
    frequencies = np.float64(rotary.inv_freq.numpy())
    return {"theta": None, "inverse_frequencies": frequencies, "attention_factor": float(rotary.attention_scaling)}


def _of_theta(module: Any) -> dict[str, Any]:
    """Return the frequencies of theta alone."""
    theta = module.model.config.rope_parameters["rope_theta"]
    return {"inverse_frequencies": np.float64(np.float32(theta ** (-np.arange(0, 8, 2) / 8)))}


MODELS: dict[str, Callable[[Any], Model]] = {
    "Llama 3": build_llama_3, "Qwen 3": build_qwen_3, "Mixtral": build_mixtral,
    "Gemma 3": build_gemma_3, "gpt-oss": build_gpt_oss,
}  # fmt: skip


def draw_weights(model: Model, rng: Any, round_to: Callable[[Any], np.ndarray]) -> dict[str, Any]:
    """Return random weights of the model's shapes, which the dtype holds, as transformer_lm takes them."""
    shapes = {name: tuple(x.shape) for name, x in model.module.named_parameters()}
    d, f, experts = SIZES["hidden_size"], SIZES["intermediate_size"], EXPERTS["num_local_experts"]

    def draw(shape: tuple[int, ...], *, gain: bool = False) -> np.ndarray:
        if gain:
            return round_to(rng.uniform(0.5, 1.5, shape))
        return round_to(rng.standard_normal(shape) / np.sqrt(shape[-1] if len(shape) > 1 else 1))

    def draw_layer(i: int) -> Named:
        layer = {
            ours: draw(shapes[_parameter(f"model.layers.{i}.{theirs}", shapes)], gain="norm" in ours)
            for ours, theirs in model.names.items()
        }
        if "router" in model.names:
            layer |= {"w1": draw((experts, f, d)), "w2": draw((experts, d, f)), "w3": draw((experts, f, d))}
        if "b_router" in model.names:
            layer |= {"b1": draw((experts, f)), "b2": draw((experts, d)), "b3": draw((experts, f))}
        return layer

    table = draw(shapes["model.embed_tokens.weight"])
    head = table if model.module.config.tie_word_embeddings else draw(shapes["lm_head.weight"])
    layers = [draw_layer(i) for i in range(len(model.module.model.layers))]
    return {"token_embedding": table, "layers": layers, "final_norm": draw((d,), gain=True), "lm_head": head}


def _parameter(name: str, shapes: Any) -> str:
    """Return the name of an array: of a module's weight, or of the array itself."""
    return name if name in shapes else f"{name}.weight"


def name_parameters(model: Model, weights: dict[str, Any]) -> dict[str, Any]:
    """Return the weights by the names that they have in transformers."""
    shapes = dict(model.module.named_parameters())
    ends = {"token_embedding": "model.embed_tokens", "final_norm": "model.norm", "lm_head": "lm_head"}
    found = {_parameter(theirs, {}): _less(weights[ours], ours, model) for ours, theirs in ends.items()}
    for i, layer in enumerate(weights["layers"]):
        here = f"model.layers.{i}"
        found |= {
            _parameter(f"{here}.{model.names[n]}", shapes): _less(x, n, model) for n, x in layer.items() if n in model.names
        }
        found |= {f"{here}.{name}": x for name, x in model.packed(layer).items()}
    return found


def _less(x: Any, name: str, model: Model) -> Any:
    """Return a gain without what the module adds to it, and other arrays as they are."""
    return x - model.gain_offset if model.gain_offset and "norm" in name else x


def compare(name: str, dtype: str, *, is_control: bool) -> tuple[float, float, float]:
    """Return the largest share of the error bound that the scores use, and the median of the bound relative to a score,
    and the part of the scores of which the bound claims something: not of those that depend on an open choice of experts.

    The control is the equation of another model, so that the scores must be wrong.
    """
    import transformers  # of the extra `libraries`, without which this module must still be importable

    model = MODELS[name](transformers)
    module = model.module.eval()
    spec = specification("transformer_lm")

    def transformer_lm(token_ids: Any, weights: Any, inverse_frequencies: Any = None, **_: Any) -> Any:
        parameters = {key: torch.as_tensor(x) for key, x in name_parameters(model, to_numpy(weights)).items()}
        dtype = weights["final_norm"].dtype
        parameters = {key: x.to(dtype) for key, x in parameters.items()}
        return functional_call(module, parameters, (token_ids,), {"use_cache": False}, tie_weights=False).logits

    domain = {"transformer_lm": {"weights": spec.declaration.optional_weights}}
    source = SimpleNamespace(framework="torch", dtypes=tuple(DTYPES), transformer_lm=transformer_lm, domain=domain)
    operation = Operation(spec, build_backend(source, set(operations())), dtype, spec.precision)
    keywords = {"num_heads": 4, "num_kv_heads": 2, "layout": "half", "eps": module.config.rms_norm_eps}
    keywords |= model.keywords | (model.control if is_control else {})
    worst, bounds, claimed = 0.0, [], []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        weights = draw_weights(model, rng, FORMATS[dtype].round)
        ids = rng.integers(0, VOCAB, (2, TOKENS))
        result = operation(ids, weights, **keywords)
        expectation = result.call.expectation(operation.classes()[-1])
        claimed.append(np.mean(expectation.claimed))
        worst = max(worst, float(np.max(expectation.share(result.value))))
        bounds.append(np.median(expectation.error / np.abs(expectation.value)))
    return worst, float(np.median(bounds)), float(np.mean(claimed))


def to_numpy(tree: Any) -> Any:
    """Return the tensors of the tree as float64 arrays."""
    return tree_map(lambda x: x.double().numpy(), tree)


def main() -> int:
    import transformers

    print(f"transformers {transformers.__version__}, torch {torch.__version__}; {SEEDS} models of random weights each")
    for name in MODELS:
        for dtype in DTYPES:
            worst, bound, claimed = compare(name, dtype, is_control=False)
            verdict = "right" if worst <= 1 else "WRONG"
            shares = f"{worst:.2f} of the error bound, which is {bound:.1e} of a score; {claimed:.0%} of the scores are compared"
            print(
                f"{name:8} {dtype:9} {verdict}: at most {shares}"
                if claimed
                else f"{name:8} {dtype:9} every choice of experts is open"
            )
        worst, *_ = compare(name, "float32", is_control=True)
        print(f"{name:8} float32   compared with another model: {worst:.0f} times the error bound")
    return 0


if __name__ == "__main__":
    sys.exit(main())
