"""What must hold of multihead_self_attention with biases, and with normed queries and keys."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, exactly
from .helpers.keywords import accepted, accepted_keywords
from .inputs.draw import Draw, within_domain
from .operations.multihead_self_attention import NORMS, draw_inputs
from .operations.rope import LAYOUTS
from .trials.invariant import invariant

BIASES = "the book's exercise 2; Lab 2, section 2.3"
NORM = "Henry et al. 2020; Qwen3"


@invariant("B", source=BIASES)
def test_biases_are_a_constant_feature(multihead_self_attention: Operation, draw: Draw) -> None:
    """b_q, b_k and b_v are the weights of one more feature of x, which is 1."""
    names = accepted_keywords(draw, "b_q", "b_k", "b_v")
    x, (w_q, w_k, w_v, w_o), keywords = draw_inputs(draw, "theta")
    d = x.shape[-1]
    within_domain(draw, d=d + 1)
    weights = dict(zip(("b_q", "b_k", "b_v"), (w_q, w_k, w_v), strict=True))
    kept = [name for name in names if draw.one_of((True, True, False))] or names[-1:]
    biases = {name: draw.gain(len(weights[name])) for name in kept}
    longer = [
        np.concatenate([w, np.reshape(biases.get(name, np.zeros(len(w))), (-1, 1))], axis=-1) for name, w in weights.items()
    ]
    last = np.concatenate([w_o, np.zeros((1, w_o.shape[-1]))])
    constant = np.concatenate([x, np.ones((*x.shape[:-1], 1))], axis=-1)
    y = multihead_self_attention(constant, *longer, last, **keywords)
    assert_equal(multihead_self_attention(x, w_q, w_k, w_v, w_o, **biases, **keywords), y[..., :d])


@invariant("B", source=BIASES, needs=("keyword:b_o",))
def test_output_bias_is_added(multihead_self_attention: Operation, draw: Draw) -> None:
    """b_o is added to the result, once."""
    x, weights, keywords = draw_inputs(draw, "theta", *accepted(multihead_self_attention, "b_q", "b_k", "b_v"))
    b_o = draw.gain(x.shape[-1])
    y = multihead_self_attention(x, *weights, **keywords)
    assert_equal(multihead_self_attention(x, *weights, b_o=b_o, **keywords), y + exactly(b_o))


@invariant("B", source=BIASES, needs=("keyword:b_k",))
def test_bias_of_keys_does_not_show(multihead_self_attention: Operation, draw: Draw) -> None:
    """Without theta and k_norm, b_k shifts all scores of a query alike, and does not change the result."""
    x, weights, keywords = draw_inputs(draw, *accepted(multihead_self_attention, "b_q", "b_v", "q_norm", "is_causal"))
    y = multihead_self_attention(x, *weights, **keywords)
    assert_equal(multihead_self_attention(x, *weights, b_k=draw.gain(len(weights[1])), **keywords), y)


@invariant("B", source=NORM, needs=("keyword:eps",))
def test_norms_forget_the_scale(multihead_self_attention: Operation, draw: Draw) -> None:
    """Where queries are normed, four times w_q with 16 times eps does not change the result; the same of keys, and of both."""
    names = accepted_keywords(draw, *NORMS)
    name = draw.one_of((*names, ""))
    x, (w_q, w_k, w_v, w_o), keywords = draw_inputs(draw, "theta")
    d_k, eps = len(w_q) // keywords["num_heads"], draw.one_of((1e-6, 2.0**-6, 2.0**-4, 0.5))
    within_domain(draw, eps=eps)
    within_domain(draw, eps=16 * eps)
    gains = {own: draw.gain(d_k) for own in names if name in (own, "")}
    larger = (4 * w_q if "q_norm" in gains else w_q, 4 * w_k if "k_norm" in gains else w_k, w_v, w_o)
    y = multihead_self_attention(x, w_q, w_k, w_v, w_o, eps=eps, **gains, **keywords)
    assert_equal(multihead_self_attention(x, *larger, eps=16 * eps, **gains, **keywords), y)


@invariant("B", source=NORM, needs=("keyword:q_norm", "keyword:k_norm"))
def test_gains_meet_in_the_product(multihead_self_attention: Operation, draw: Draw) -> None:
    """Without theta a score has the product of both gains: what one of them gains in a feature the other may lose."""
    x, weights, keywords = draw_inputs(draw, "is_causal")
    d_k = len(weights[0]) // keywords["num_heads"]
    q_norm, k_norm, factor = draw.gain(d_k), draw.gain(d_k), draw.rng.choice((0.5, 2.0, -1.0, 4.0), d_k)
    y = multihead_self_attention(x, *weights, q_norm=q_norm, k_norm=k_norm, **keywords)
    assert_equal(multihead_self_attention(x, *weights, q_norm=q_norm * factor, k_norm=k_norm / factor, **keywords), y)


@invariant("B", source="Peng et al. 2023, arXiv:2309.00071, eqs. 13 and 22", needs=("keyword:inverse_frequencies",), cost=2)
def test_inverse_frequencies(multihead_self_attention: Operation, draw: Draw) -> None:
    """The frequencies of a theta, given as such, are that theta; a factor of 2 multiplies scores by 4."""
    x, (w_q, *others), keywords = draw_inputs(draw, even=True)
    k, base, given = np.arange(len(w_q) // keywords["num_heads"] // 2), draw.one_of((4.0, 16.0)), draw.keyword("layout", LAYOUTS)
    theta, frequencies = base ** len(k), base ** -k.astype(float)  # which every dtype holds
    within_domain(draw, theta=theta)
    y = multihead_self_attention(x, w_q, *others, **keywords, **given, inverse_frequencies=frequencies)
    assert_equal(y, multihead_self_attention(x, w_q, *others, **keywords, **given, theta=theta))
    if multihead_self_attention.accepts("attention_factor"):
        small, given = draw.grid(w_q.shape) / 4, given | {"inverse_frequencies": frequencies}
        y = multihead_self_attention(x, small, *others, **keywords, **given, attention_factor=2.0)
        assert_equal(y, multihead_self_attention(x, 4 * small, *others, **keywords, **given))
