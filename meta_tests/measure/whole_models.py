"""Compare whole models of transformers, with random weights, with transformer_lm: `python -m meta_tests.measure.whole_models`.

Each model is stated by its configuration. It is a backend whose transformer_lm is the library's own module.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch.func import functional_call

from spec_tests.calls.operation import Operation
from spec_tests.implementation.backend import build_backend
from spec_tests.specification.formats import FORMATS
from spec_tests.specification.registry import operations, specification

SEEDS, TOKENS, VOCAB = 12, 7, 23
LEAST_CLAIMED = 0.95  # the part of the scores about which the bound must claim something
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
SIZES = {"vocab_size": VOCAB, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4}
SIZES |= {"num_key_value_heads": 2, "head_dim": 8, "bos_token_id": None, "eos_token_id": None, "attn_implementation": "eager"}
LLAMA_3 = {"rope_type": "llama3", "rope_theta": 500_000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
YARN = {"rope_type": "yarn", "rope_theta": 1_000_000.0, "factor": 4.0, "original_max_position_embeddings": 64}

LAYER = {
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
    "w_q": "self_attn.q_proj", "w_k": "self_attn.k_proj", "w_v": "self_attn.v_proj", "w_o": "self_attn.o_proj",
    "w1": "mlp.gate_proj", "w2": "mlp.down_proj", "w3": "mlp.up_proj",
}  # fmt: skip
NORMED = LAYER | {"q_norm": "self_attn.q_norm", "k_norm": "self_attn.k_norm"}


def build_llama_3(transformers: Any) -> tuple[Any, dict[str, str]]:
    rope = LLAMA_3 | {"original_max_position_embeddings": 64}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES, rope_parameters=rope)), LAYER


def build_qwen_3(transformers: Any) -> tuple[Any, dict[str, str]]:
    """Return Qwen 3 with normed queries and keys, one matrix for embedding and head, and YaRN as for its long contexts."""
    config = transformers.Qwen3Config(**SIZES, tie_word_embeddings=True, rope_parameters=YARN)
    return transformers.Qwen3ForCausalLM(config), NORMED


MODELS: dict[str, Callable[[Any], tuple[Any, dict[str, str]]]] = {"Llama 3": build_llama_3, "Qwen 3": build_qwen_3}


def draw_weights(model: Any, names: dict[str, str], rng: Any, round_to: Callable[[Any], np.ndarray]) -> dict[str, Any]:
    """Return random weights of the model's shapes, which the dtype holds, as transformer_lm takes them."""
    shapes = {name: tuple(x.shape) for name, x in model.named_parameters()}

    def draw(name: str) -> np.ndarray:
        shape = shapes[f"{name}.weight"]
        return round_to(rng.standard_normal(shape) / np.sqrt(shape[-1]) if len(shape) > 1 else rng.uniform(0.5, 1.5, shape))

    layers = [
        {ours: draw(f"model.layers.{i}.{theirs}") for ours, theirs in names.items()} for i in range(len(model.model.layers))
    ]
    table = draw("model.embed_tokens")
    head = table if model.config.tie_word_embeddings else draw("lm_head")
    return {"token_embedding": table, "layers": layers, "final_norm": draw("model.norm"), "lm_head": head}


def name_parameters(weights: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """Return the weights by the names that they have in transformers."""
    ends = {"token_embedding": "model.embed_tokens", "final_norm": "model.norm", "lm_head": "lm_head"}
    found = {f"{theirs}.weight": weights[ours] for ours, theirs in ends.items()}
    for i, layer in enumerate(weights["layers"]):
        found |= {f"model.layers.{i}.{names[ours]}.weight": x for ours, x in layer.items()}
    return found


def compare(name: str, dtype: str, *, is_scaled: bool) -> tuple[float, float]:
    """Return the largest share of the error bound that the scores use, and the median of the bound relative to a score.

    Without scaling the equation is given the frequencies of theta alone, so that the scores must be wrong.
    """
    import transformers  # of the extra `libraries`, without which this module must still be importable

    model, names = MODELS[name](transformers)
    rotary = model.eval().model.rotary_emb

    def transformer_lm(token_ids: Any, weights: Any, inverse_frequencies: Any, **_: Any) -> Any:
        parameters = name_parameters(weights, names)
        return functional_call(model, parameters, (token_ids,), {"use_cache": False}, tie_weights=False).logits

    domain = {"transformer_lm": {"weights": ("q_norm", "k_norm")}}
    source = SimpleNamespace(framework="torch", dtypes=tuple(DTYPES), transformer_lm=transformer_lm, domain=domain)
    spec = specification("transformer_lm")
    operation = Operation(spec, build_backend(source, set(operations())), dtype, spec.precision)
    keywords = {"num_heads": 4, "num_kv_heads": 2, "theta": None, "layout": "half", "eps": model.config.rms_norm_eps}
    keywords["attention_factor"] = float(rotary.attention_scaling)
    theta = model.config.rope_parameters["rope_theta"]
    frequencies = rotary.inv_freq.numpy() if is_scaled else theta ** (-np.arange(0, 8, 2) / 8)
    worst, bounds = 0.0, []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        weights = draw_weights(model, names, rng, FORMATS[dtype].round)
        ids = rng.integers(0, VOCAB, (2, TOKENS))
        result = operation(ids, weights, np.float64(np.float32(frequencies)), **keywords)
        expectation = result.call.expectation(operation.classes()[-1])
        if np.mean(expectation.claimed) < LEAST_CLAIMED:
            raise RuntimeError(
                f"{name} in {dtype}: the bound claims something of {np.mean(expectation.claimed):.0%} of the scores"
            )
        worst = max(worst, float(np.max(expectation.share(result.value))))
        bounds.append(np.median(expectation.error / np.abs(expectation.value)))
    return worst, float(np.median(bounds))


def main() -> int:
    import transformers

    print(f"transformers {transformers.__version__}, torch {torch.__version__}; {SEEDS} models of random weights each")
    for name in MODELS:
        for dtype in DTYPES:
            worst, bound = compare(name, dtype, is_scaled=True)
            verdict = "right" if worst <= 1 else "WRONG"
            print(f"{name:8} {dtype:9} {verdict}: at most {worst:.2f} of the error bound, which is {bound:.1e} of a score")
        worst, _ = compare(name, "float32", is_scaled=False)
        print(f"{name:8} float32   compared with the frequencies of theta alone: {worst:.0f} times the error bound")
    return 0


if __name__ == "__main__":
    sys.exit(main())
