"""What must hold of transformer_lm with the options that published models have."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal
from .helpers.keywords import require_accepted
from .inputs.draw import THETA, Draw, within_domain
from .operations._serving import SOFTCAPS
from .operations.transformer_lm import draw_inputs
from .trials.invariant import invariant

SOURCE = "CS336 assignment 1, section 3.6"
GEMMA = "Gemma Team 2025, arXiv:2503.19786, section 2"


@invariant("B", source="Gemma Team 2024, arXiv:2408.00118, section 2", needs=("keyword:logit_softcap",))
def test_logit_softcap(transformer_lm: Operation, draw: Draw) -> None:
    """The capped scores are c tanh(y / c) of the scores y without a cap."""
    ids, weights, keywords = draw_inputs(draw)
    c = draw.one_of(SOFTCAPS)
    y = transformer_lm(ids, weights, **keywords)
    assert_equal(transformer_lm(ids, weights, **keywords, logit_softcap=c), np.tanh(y / c) * c)


@invariant("B", source="Peng et al. 2023, arXiv:2309.00071, eq. 13", needs=("keyword:inverse_frequencies",))
def test_inverse_frequencies(transformer_lm: Operation, draw: Draw) -> None:
    """The frequencies of a theta, given as such, are that theta in every layer."""
    ids, weights, keywords = draw_inputs(draw, layers=(1, 2, 3))
    k, base = np.arange(len(weights["layers"][0]["w_q"]) // keywords["num_heads"] // 2), draw.one_of((4.0, 16.0))
    theta, frequencies = base ** len(k), base ** -k.astype(float)  # which every dtype holds
    within_domain(draw, theta=theta)
    y = transformer_lm(ids, weights, frequencies, **{**keywords, "theta": None})
    assert_equal(y, transformer_lm(ids, weights, **{**keywords, "theta": theta}))


@invariant("B", source="Gemma Team 2024, arXiv:2403.08295, section 2", needs=("keyword:embedding_scale",))
def test_embedding_scale(transformer_lm: Operation, draw: Draw) -> None:
    """A scale of the embedding multiplies its rows, before the first layer. The head has its own matrix, which is not scaled."""
    ids, weights, keywords = draw_inputs(draw, layers=(1, 2, 0))
    table = draw.grid(weights["token_embedding"].shape)
    scale = draw.one_of((2.0, 4.0, 0.5))
    y = transformer_lm(ids, weights | {"token_embedding": scale * table}, **keywords)
    assert_equal(transformer_lm(ids, weights | {"token_embedding": table}, **keywords, embedding_scale=scale), y)


def draw_one_audible_layer(draw: Draw) -> tuple[np.ndarray, dict[str, Any], dict[str, Any], dict[str, Any], bool]:
    """Draw a model of which one layer alone adds something. Return it with that layer as a model of its own, and whether a
    global_every among the keywords makes it a global one."""
    ids, weights, keywords = draw_inputs(draw, layers=(2, 3, 1))
    within_domain(draw, num_layers=1)
    layers, i = weights["layers"], draw.integer(0, len(weights["layers"]) - 1)
    silent = [layer | {name: np.zeros_like(layer[name]) for name in ("w_o", "w2")} for layer in layers]
    alone = weights | {"layers": layers[i : i + 1]}
    keywords |= draw.keyword("global_every", (2, 1, 3, None))
    every = keywords.pop("global_every", None)
    keywords |= {} if every is None else {"global_every": every}
    is_global = every is not None and (i + 1) % every == 0
    return ids, weights | {"layers": [*silent[:i], layers[i], *silent[i + 1 :]]}, alone, keywords, is_global


@invariant("B", source=GEMMA, needs=("keyword:local_theta",))
def test_local_theta(transformer_lm: Operation, draw: Draw) -> None:
    """A local layer turns by local_theta, a global one by theta."""
    ids, weights, alone, keywords, is_global = draw_one_audible_layer(draw)
    local, plain = draw.one_of(THETA), {name: x for name, x in keywords.items() if name != "global_every"}
    within_domain(draw, theta=local)
    y = transformer_lm(ids, weights, **keywords, local_theta=local)
    assert_equal(y, transformer_lm(ids, alone, **(plain if is_global else plain | {"theta": local})))


@invariant("B", source=GEMMA, needs=("keyword:left_window",))
def test_local_window(transformer_lm: Operation, draw: Draw) -> None:
    """A local layer sees the left_window tokens before each token, and a global one sees all of them."""
    ids, weights, alone, keywords, is_global = draw_one_audible_layer(draw)
    n = ids.shape[-1]
    drawn, window = draw.near(n - 1, n // 2, low=0, high=n - 1), draw.near(0, n // 2, low=0, high=n)
    plain = {name: x for name, x in keywords.items() if name != "global_every"}
    for left in dict.fromkeys((window, 0)):
        y = transformer_lm(ids, weights, **keywords, left_window=left)
        for t in dict.fromkeys((drawn, n - 1)):  # the last token sees most
            first = 0 if is_global else max(t - left, 0)
            assert_equal(y[..., t : t + 1, :], transformer_lm(ids[..., first : t + 1], alone, **plain)[..., -1:, :])


@invariant("B", source=SOURCE, cost=2)
def test_composition(
    transformer_lm: Operation,
    embedding: Operation,
    transformer_block: Operation,
    rms_norm: Operation,
    linear: Operation,
    draw: Draw,
) -> None:
    """It is the backend's own parts in order: embedding, each layer once, the last norm, the head."""
    ids, weights, keywords = draw_inputs(draw, layers=(1, 2, 0, 2, 3))
    x: Any = embedding(ids, weights["token_embedding"])
    for layer in weights["layers"]:
        x = transformer_block(x, layer, **require_accepted(keywords, transformer_block))
    y = linear(rms_norm(x, weights["final_norm"], eps=keywords["eps"]), weights["lm_head"])
    assert_equal(transformer_lm(ids, weights, **keywords), y)
