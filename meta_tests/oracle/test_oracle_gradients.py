"""Test the oracle's gradients against finite differences of the equation in 60 digits, to 1e-12 relative."""

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from reference_numpy._reverse_mode import vjp
from spec_tests.specification.formats import is_floating
from spec_tests.specification.pytree import join, leaves, tree_map
from spec_tests.specification.registry import operations

from ..support.mpmath_arrays import directional_derivative, to_precise
from ..support.sixty_digits import rng
from ..support.tiny_model import H_KV, D, H, block_weights, model_weights, optional_weights

R = rng(5)
LIMIT = 1e-12
CONSTANT = {"causal_mask", "sliding_window_mask", "alibi_slopes", "cosine_schedule", "parameter_count", "rope_frequencies"}
ROUNDING = {
    "quantize",
    "dynamic_quantize",
    "dequantize",
    "scaled_matmul",
    "unpack_int4",
    "swizzle_scales",
}  # whose arguments or results have few values
SAMPLING = {
    "penalize_logits",
    "sample",
    "sample_with_noise",
    "sampling_probabilities",
    "select_keys",
    "verify_draft",
}  # through tokens goes none
OPTIMIZING = {
    "adamw_step",
    "adamw_steps",
    "gradient_clipping",
    "group_advantages",
    "muon_step",
    "newton_schulz",
}  # of which nobody takes gradients
CONSTANT_ARGUMENTS = {  # floating ones without a gradient
    "divergence": ("[1]",),
    "dpo_loss": ("[2]", "[3]"),
    "policy_loss": ("[1]", "[3]", "[4]"),
    "rope": ("[2]",),
    "soft_target_cross_entropy": ("[1]",),
    "transformer_lm": ("[2]",),
}
SERVING = {"kv_cache_append", "attention_with_kv_cache", "paged_attention"}  # of which nobody takes gradients


def drawn(*shape: int) -> np.ndarray:
    return R.standard_normal(shape)


MASK = np.array([[True, False, True, False], [False, True, True, False], [True, True, True, False]])
ATTENTION = (drawn(2, 3, 2), drawn(2, 4, 2), drawn(2, 4, 5))
BLOCK = {"num_heads": H, "num_kv_heads": H_KV, "eps": 1e-3}
CALLS: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "linear": [((drawn(2, 3), drawn(4, 3), drawn(4)), {}), ((drawn(3), drawn(4, 3)), {}), ((drawn(0, 3), drawn(4, 3)), {})],
    "embedding": [((np.array([[4, 0], [4, 4]]), drawn(6, 3)), {}), ((np.array(1), drawn(2, 3)), {})],
    "softmax": [((drawn(3, 4),), {"axis": axis}) for axis in (-1, 0)],
    "log_softmax": [((drawn(3, 4),), {"axis": axis}) for axis in (-1, 0)],
    "logsumexp": [((drawn(3, 4),), {"axis": axis}) for axis in (-1, 0)],
    "rms_norm": [((drawn(2, 2, 5), drawn(5)), {"eps": eps}) for eps in (0.0, 0.3)] + [((drawn(5), drawn(5)), {"eps": 1e-5})],
    "layer_norm": [((drawn(2, 2, 5), drawn(5), drawn(5)), {"eps": eps}) for eps in (0.0, 0.3)],
    "relu": [((drawn(3, 4),), {})],
    "sigmoid": [((3 * drawn(3, 4),), {})],
    "silu": [((3 * drawn(3, 4),), {})],
    "gelu": [((3 * drawn(3, 4),), {"approximate": form}) for form in ("none", "tanh")],
    "glu": [((drawn(2, 3), drawn(4, 3), drawn(4, 3)), {})],
    "swiglu": [((drawn(2, 3), drawn(4, 3), drawn(3, 4), drawn(4, 3)), {})],
    "gated_activation": [
        ((2 * drawn(2, 6),), more)
        for more in (
            {},
            {"activation": "gelu", "layout": "interleaved", "gate": "second"},
            {"activation": "gelu_tanh", "offset": 1.0},
            {"activation": "sigmoid", "limit": 1.0},
            {"alpha": 1.702, "limit": 1.5, "offset": 1.0},
            {"activation": "relu", "gate": "second"},
        )
    ],
    "cross_entropy": [
        ((2 * drawn(3, 4), np.array([3, 0, 1])), more)
        for more in (
            {},
            {"reduction": "sum", "label_smoothing": 0.3},
            {"reduction": "none", "z_loss": 0.2, "ignore_index": 0},
            {"softcap": 1.5, "z_loss": 0.1, "label_smoothing": 0.1},
            {"weight": np.array([0.5, 2.0, 0.0, 1.25]), "softcap": 1.5, "label_smoothing": 0.1},
            {"weight": np.array([0.5, 2.0, 0.0, 1.25]), "reduction": "none", "ignore_index": 0},
        )
    ],
    "soft_target_cross_entropy": [
        ((2 * drawn(2, 4), np.array([[0.25, 0.0, 0.5, 0.25], [0.0, 1.0, 0.0, 0.0]])), more)
        for more in (
            {},
            {"reduction": "sum", "label_smoothing": 0.3},
            {"reduction": "none", "label_smoothing": 0.1, "weight": np.array([0.5, 2.0, 0.0, 1.25])},
        )
    ],
    "divergence": [
        ((2 * drawn(3, 4), 2 * drawn(3, 4)), more)
        for more in (
            {},
            {"beta": 1.0, "temperature": 0.6, "reduction": "sum"},
            {"beta": 0.3, "temperature": 2.0, "targets": np.array([1, 0, 2]), "ignore_index": 0},
            {"beta": 0.5, "reduction": "none"},
        )
    ],
    "dpo_loss": [
        ((-9 * drawn(3) ** 2, -9 * drawn(3) ** 2, -9 * drawn(3) ** 2, -9 * drawn(3) ** 2), more)
        for more in ({}, {"beta": 0.5, "label_smoothing": 0.3, "reduction": "none"})
    ],
    "token_log_probs": [((2 * drawn(3, 4), np.array([3, 0, 1])), more) for more in ({}, {"temperature": 0.6})],
    "causal_conv1d": [
        ((drawn(2, 3, 5), drawn(3, 4), drawn(3), drawn(2, 3, 3)), {"activation": "silu"}),
        ((drawn(3, 2), drawn(3, 4), None, drawn(3, 3)), {}),
        ((drawn(2, 3, 5), drawn(3, 1), drawn(3)), {"activation": "silu"}),
        ((drawn(3, 0), drawn(3, 3), None, drawn(3, 2)), {}),
        ((drawn(3, 6), drawn(3, 3), drawn(3), drawn(3, 3, 2), np.array([0, 4, 4, 6])), {"activation": "silu"}),
    ],
    "policy_loss": [
        ((-2 * drawn(2, 3) ** 2, drawn(2), np.array([[True, False, True], [True, True, True]]), *others), more)
        for others, more in (
            ((-2 * drawn(2, 3) ** 2,), {"reduction": "none"}),
            ((-2 * drawn(2, 3) ** 2,), {"level": "sequence", "ratio_limit": 3.0, "reduction": "seq-mean-token-mean"}),
            ((None, -(drawn(2, 3) ** 2)), {"objective": "reinforce", "kl_weight": 0.5, "reduction": "constant", "horizon": 7}),
            ((-2 * drawn(2, 3) ** 2, -(drawn(2, 3) ** 2)), {"kl_weight": 0.25, "kl_estimator": "k2"}),
        )
    ],
    "l2_norm": [((drawn(2, 3, 5),), {"eps": eps}) for eps in (0.0, 0.3)] + [((drawn(4),), {})],
    "gated_rms_norm": [
        (
            (drawn(2, 2, 6), drawn(2, 2, 6), drawn(6)),
            {"eps": 0.3, "norm_before_gate": before, "group_size": size, "activation": act},
        )
        for before, size, act in ((True, None, "silu"), (False, 3, "silu"), (True, 2, "sigmoid"), (False, None, "sigmoid"))
    ],
    "linear_attention_gate": [
        ((drawn(2, 3, 4, 5), drawn(3), bias), {"lower_bound": lowest}) for bias in (None, drawn(3, 5)) for lowest in (None, -5.0)
    ],
    "linear_attention": [
        ((0.5 * drawn(2, 4, 3), 0.5 * drawn(2, 4, 3), drawn(4, 4, 2), *more), options)
        for more, options in (
            ((), {}),
            ((-np.exp(drawn(4, 4, 1)), None, drawn(4, 3, 2)), {"scale": 0.7}),
            ((-np.exp(drawn(4, 4, 3)), np.abs(drawn(4, 4)) / 4, drawn(4, 3, 2)), {"qk_l2norm": True}),
            ((None, np.abs(drawn(4, 4)) / 4), {}),
        )
    ],
    "mamba2_scan": [
        (
            (drawn(2, 4, 3, 2), np.abs(drawn(2, 4, 3)), -np.exp(drawn(4)), drawn(2, 2, 3, 5), drawn(2, 2, 3, 5), *more),
            options,
        )
        for more, options in (
            ((), {}),
            ((drawn(4), drawn(2, 4, 3, 2), drawn(4), drawn(2, 4, 2, 5)), {"dt_softplus": True}),
            ((None, drawn(2, 4, 3, 2), drawn(4)), {"dt_softplus": True, "dt_limit": (0.5, 1.5)}),
            ((drawn(4), None, None, drawn(2, 4, 2, 5)), {"dt_limit": (0.25, 0.75)}),
        )
    ],
    "linear_cross_entropy": [
        ((drawn(2, 3), drawn(4, 3), np.array([3, 1])), {}),
        ((drawn(2, 3), drawn(4, 3), np.array([3, -100])), {"reduction": "sum", "softcap": 2.0, "label_smoothing": 0.2}),
        ((drawn(2, 1, 3), drawn(4, 3), np.array([[3], [0]])), {"reduction": "none", "z_loss": 0.2}),
    ],
    "add_rms_norm": [((drawn(2, 2, 5), drawn(2, 2, 5), drawn(5)), {"eps": eps}) for eps in (0.0, 0.3)],
    "moe_router": [
        ((2 * drawn(3, 6), *bias), {"k": 2, **more})
        for bias, more in (
            ((), {}),
            ((drawn(6),), {"scoring": "sigmoid", "scaling_factor": 2.5}),
            ((), {"renormalize": False, "groups": 3, "top_groups": 2}),
        )
    ],
    "mixture_of_experts": [
        ((drawn(2, 3), drawn(4, 3), drawn(4, 2, 3), drawn(4, 3, 2), drawn(4, 2, 3)), {"k": 2, "renormalize": renormalize})
        for renormalize in (True, False)
    ]
    + [
        (
            (drawn(2, 3), drawn(4, 3), drawn(4, 2, 3), drawn(4, 3, 2), drawn(4, 2, 3), *biases),
            {"k": 2, "limit": 1.5, "alpha": 1.702, "offset": 1.0},
        )
        for biases in ((drawn(4), drawn(4, 2), drawn(4, 3), drawn(4, 2)), (None, None, drawn(4, 3)))
    ],
    "feed_forward": [
        ((drawn(2, 3), drawn(4, 3), drawn(3, 4), drawn(4), drawn(3)), {"activation": "relu"}),
        ((drawn(2, 3), drawn(4, 3), drawn(3, 4)), {"activation": "gelu"}),
    ],
    "rope": [
        *(((drawn(2, 3, 4), np.array([7, 0, 2])), {"theta": 10.0, "layout": layout}) for layout in ("interleaved", "half")),
        ((drawn(2, 3, 6), np.array([7, 0, 2]), np.array([0.3, 1.7])), {"rotary_dim": 4, "attention_factor": 1.5}),
        ((drawn(2, 3, 8), np.array([[7, 0, 2], [1, 2, 3], [0, 5, 1]])), {"sections": (2, 1, 1), "section_layout": "interleaved"}),
    ],
    "alibi_bias": [((drawn(3),), {"n": 2, "m": 4})],
    "scaled_dot_product_attention": [
        (ATTENTION, {}),
        ((*ATTENTION, MASK), {"scale": 0.7}),
        ((drawn(3, 2), *ATTENTION[1:], MASK, drawn(2, 1, 4)), {}),
        ((drawn(2, 3, 2), drawn(3, 2), drawn(1, 3, 2), None, drawn(3)), {"is_causal": True}),
    ],
    "grouped_query_attention": [
        ((drawn(4, 3, 2), *ATTENTION[1:]), {}),
        ((drawn(4, 3, 2), drawn(2, 3, 2), drawn(2, 3, 2)), {"is_causal": True, "scale": 2.0}),
    ],
    "attention_with_weights": [(ATTENTION, {}), ((*ATTENTION, MASK), {"scale": 0.7})],
    "attention_with_lse": [
        ((drawn(4, 3, 2), *ATTENTION[1:]), {}),
        ((drawn(4, 3, 2), *ATTENTION[1:], MASK, drawn(4)), {"softcap": 1.5}),
        ((drawn(4, 3, 2), drawn(2, 3, 2), drawn(2, 3, 5), None, drawn(4)), {"left_window": 1, "right_window": 0, "scale": 2.0}),
        ((drawn(2, 3, 2), drawn(2, 3, 2), drawn(2, 3, 5)), {"is_causal": True, "softcap": 0.5}),
    ],
    "indexer_scores": [
        ((drawn(3, 2, 2), drawn(4, 2), drawn(3, 2)), more)
        for more in ({"is_causal": False}, {"is_causal": False, "activation": "none"})
    ],
    "latent_attention": [
        ((drawn(2, 3, 2), drawn(2, 3, 3), drawn(4, 5), drawn(4, 3), drawn(2, 2, 5), drawn(2, 3, 5)), more)
        for more in ({}, {"is_causal": False, "scale": 0.7})
    ],
    "latent_attention_absorbed": [
        ((drawn(2, 3, 5), drawn(4, 5)), {"rank": 3, "scale": 0.7}),
        (
            (drawn(2, 2, 2, 5), drawn(3, 2, 5), np.array([4, 3]), np.array([[2, 0, 1], [0, 0, -1]])),
            {"rank": 3, "scale": 0.7},
        ),
    ],
    "sparse_attention": [
        ((drawn(4, 3, 2), drawn(2, 4, 2), drawn(2, 4, 5), np.array([[1, -1], [2, 0], [-1, 3]])), {"scale": 0.7}),
        ((drawn(2, 3, 2), drawn(2, 4, 2), drawn(2, 4, 5), np.array([[0], [1], [1]]), drawn(2)), {"block_size": 2}),
    ],
    "variable_length_attention": [
        ((drawn(5, 4, 2), drawn(6, 2, 2), drawn(6, 2, 3), np.array([0, 2, 2, 5]), np.array([0, 3, 3, 6]), sinks), more)
        for sinks, more in ((None, {}), (drawn(4), {"softcap": 1.5}), (None, {"is_causal": True, "left_window": 1}))
    ],
    "merge_attention_states": [
        ((drawn(2, 5), drawn(2), drawn(2, 5), drawn(2)), {}),
        ((np.full((1, 3), np.inf), np.array([-np.inf]), drawn(1, 3), drawn(1)), {}),
    ],
    "local_attention": [(ATTENTION, {"window": 1}), (ATTENTION, {"window": 2, "is_causal": True, "scale": -0.5})],
    "multihead_self_attention": [
        ((drawn(2, 3, 4), drawn(8, 4), drawn(4, 4), drawn(6, 4), drawn(4, 12)), {"num_heads": 4, "num_kv_heads": 2, **more})
        for more in ({}, {"theta": 10.0, "positions": np.array([5, 0, 2])}, {"is_causal": False, "theta": 3.0, "layout": "half"})
    ]
    + [
        (
            (drawn(2, 3, 4), drawn(8, 4), drawn(4, 4), drawn(6, 4), drawn(4, 12), *[None] * 8, sinks),
            {"num_heads": 4, "num_kv_heads": 2, "theta": 10.0, "scale": 0.7, "softcap": 1.5, "left_window": 1},
        )
        for sinks in (drawn(4), None)
    ],
    "transformer_block": [
        ((drawn(3, D), block_weights(R)), {**BLOCK, **more})
        for more in ({}, {"theta": 10.0, "norm": "post", "positions": np.array([5, 0, 2])})
    ]
    + [
        ((drawn(3, D), block_weights(R) | optional_weights(R, experts)), {**BLOCK, "theta": 10.0, "left_window": 1, **more})
        for experts, more in ((0, {"activation": "gelu_tanh"}), (3, {"k": 2, "norm": "post"}), (3, {"k": 1, "offset": 1.0}))
    ],
    "transformer_lm": [
        *(((np.array([1, 7, 1]), model_weights(layers, R)), {**BLOCK, "theta": 10.0}) for layers in (0, 2)),
        (
            (np.array([1, 7, 1]), model_weights(1, R), np.array([0.3])),
            {**BLOCK, "theta": None, "attention_factor": 1.5, "logit_softcap": 2.0},
        ),
        (
            (np.array([1, 7, 1]), model_weights(2, R)),
            {**BLOCK, "theta": 10.0, "embedding_scale": 3.0, "left_window": 1, "global_every": 2, "local_theta": 3.0},
        ),
    ],
}


def function(name: str) -> Any:
    return getattr(importlib.import_module(f"reference_numpy.{name}"), name)


def directions(x: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the unit directions if x has at most 16 elements, else three random directions."""
    if x.size <= 16:
        for i in range(x.size):
            yield np.eye(x.size)[i].reshape(x.shape)
    else:
        for _ in range(3):
            yield R.standard_normal(x.shape)


def test_every_operation_with_a_slope_has_gradients() -> None:
    assert set(CALLS) == set(operations()) - CONSTANT - ROUNDING - OPTIMIZING - SAMPLING - SERVING


def list_cases() -> Iterator[Any]:
    """Yield each operation with the number of a call. Further calls of the composed operations are slow."""
    for name, calls in CALLS.items():
        for call in range(len(calls)):
            is_slow = call > 0 and name in ("transformer_block", "transformer_lm")
            yield pytest.param(name, call, marks=pytest.mark.nightly if is_slow else ())


@pytest.mark.parametrize(("name", "call"), list(list_cases()))
def test_gradients_are_those_of_the_equation(name: str, call: int) -> None:
    arrays, keywords = CALLS[name][call]
    result = function(name)(*arrays, **keywords)
    cotangent: Any = tree_map(lambda y: R.standard_normal(np.shape(y)), result)
    gradients = function(f"{name}_vjp")(cotangent, *arrays, **keywords)
    named = dict(leaves(list(arrays)))
    largest = max(np.max(np.abs(x), initial=0.0) for _, x in leaves(list(gradients)) if x is not None)
    for path, gradient in leaves(list(gradients)):
        if not is_floating(named.get(path)) or path in CONSTANT_ARGUMENTS.get(name, ()):
            assert gradient is None
            continue
        assert gradient.shape == named[path].shape
        if not np.all(np.isfinite(named[path])):
            assert not np.any(gradient)  # a part that saw no key
            continue
        for direction in directions(named[path]):
            at_path = lambda x, path=path: evaluated(name, arrays, keywords, path, x)  # noqa: E731
            flat = join(cotangent) if isinstance(cotangent, tuple) else cotangent
            exact = directional_derivative(at_path, named[path], direction, flat)
            terms = gradient * direction
            reach = np.sum(np.abs(terms)) + (np.max(np.abs(gradient)) if exact else largest)
            assert abs(float(np.sum(terms) - exact)) <= LIMIT * reach, (path, direction)


@pytest.mark.parametrize(("name", "call"), [(name, call) for name, calls in CALLS.items() for call in range(len(calls))])
def test_reverse_differentiation_gives_the_gradients_that_are_written_by_hand(name: str, call: int) -> None:
    arrays, keywords = CALLS[name][call]
    own = rng(6)  # which leaves the draws of other tests as they are
    cotangent: Any = tree_map(lambda y: own.standard_normal(np.shape(y)), function(name)(*arrays, **keywords))
    derived = dict(leaves(list(vjp(function(name), cotangent, *arrays, **keywords))))
    named = dict(leaves(list(arrays)))
    by_hand = dict(leaves(list(function(f"{name}_vjp")(cotangent, *arrays, **keywords))))
    compared = [path for path, x in by_hand.items() if x is not None and np.all(np.isfinite(named[path]))]
    largest = max(np.max(np.abs(by_hand[path]), initial=0.0) for path in compared)  # some gradients are 0 but for roundings
    for path in compared:
        assert np.shape(derived[path]) == by_hand[path].shape, path
        assert np.all(np.abs(derived[path] - by_hand[path]) <= LIMIT * largest), path


def evaluated(name: str, arrays: Any, keywords: Any, path: str, x: Any) -> Any:
    """Evaluate the equation in 60 digits, with x in place of the array at `path`."""

    def placed(tree: Any, here: str = "") -> Any:
        if here == path:
            return x
        if isinstance(tree, dict):
            return {key: placed(item, f"{here}[{key!r}]") for key, item in tree.items()}
        return [placed(item, f"{here}[{i}]") for i, item in enumerate(tree)] if isinstance(tree, list) else to_precise(tree)

    result = function(name)(*placed(list(arrays)), **raised_parameters(keywords))
    return join(result) if isinstance(result, tuple) else result


def raised_parameters(keywords: dict[str, Any]) -> dict[str, Any]:
    return {
        key: to_precise(np.asarray(value)) if key in ("theta", "eps", "scale", "softcap") else value
        for key, value in keywords.items()
    }
