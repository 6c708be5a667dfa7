"""What must hold of parameter_count."""

from typing import Any

from .calls.operation import Operation
from .helpers.assertions import assert_true
from .inputs.draw import Draw
from .operations.parameter_count import STYLES, arguments
from .trials.invariant import invariant

SOURCE = "the book's exercise 6"


def draw_keywords(draw: Draw) -> dict[str, Any]:
    """Draw the keywords of a call."""
    _, keywords = arguments(draw)
    return keywords


def count_parameters(parameter_count: Operation, keywords: dict[str, Any], **other: Any) -> int:
    """Return the count for these keywords, some replaced by others."""
    return int(parameter_count(**{**keywords, **other}).value)


def assert_count(found: int, expected: int) -> None:
    """The two counts are equal."""
    assert_true(found == expected, "the counts differ", found=found, expected=expected)


def layer_widths(keywords: dict[str, Any]) -> tuple[int, int, int, int]:
    """Return d_model and the widths of the queries, of the keys and values, and of the hidden layer."""
    d, h = keywords["d_model"], keywords.get("num_heads", 1)
    h_kv = keywords.get("num_kv_heads")
    return d, d // h * h, d // h * (h if h_kv is None else h_kv), keywords["d_ff"]


def leaves_free(parameter_count: Operation, *names: str) -> bool:
    """Whether the domain leaves these keywords free, so that other values may be tried."""
    return not set(names) & set(parameter_count.domain)


@invariant("E", source="CS336 assignment 1, section 3.5")
def test_arrays(parameter_count: Operation, draw: Draw) -> None:
    """The count is the sum of the sizes of the arrays: of transformer_lm, or of an encoder with biases; beyond 2³² too."""
    keywords = draw_keywords(draw)
    d, d_q, d_kv, d_ff = layer_widths(keywords)
    attention = {"w_q": d_q * d, "w_k": d_kv * d, "w_v": d_kv * d, "w_o": d * d_q}
    vocab, layers = keywords.get("vocab_size", 0), keywords["num_layers"]
    if keywords.get("style", "decoder") == "decoder":
        layer = attention | {"attn_norm": d, "ffn_norm": d, "w1": d_ff * d, "w2": d * d_ff, "w3": d_ff * d}
        rest = {"token_embedding": vocab * d, "final_norm": d, "lm_head": vocab * d}
    else:
        biases = {"b_q": d_q, "b_k": d_kv, "b_v": d_kv, "b_o": d, "b1": d_ff, "b2": d}
        norms = {"norm1": d, "norm1_bias": d, "norm2": d, "norm2_bias": d}
        layer = attention | biases | norms | {"w1": d_ff * d, "w2": d * d_ff}
        rest = {"embedding": vocab * d}
    assert_count(count_parameters(parameter_count, keywords), layers * sum(layer.values()) + sum(rest.values()))


@invariant("E", source=SOURCE)
def test_layers(parameter_count: Operation, draw: Draw) -> None:
    """Every layer counts the same: N(L) − N(0) = L (N(1) − N(0))."""
    keywords = draw_keywords(draw)
    if leaves_free(parameter_count, "num_layers"):
        layers = draw.one_of((2, 3, 12, 100))
        none, one, many = (count_parameters(parameter_count, keywords, num_layers=n) for n in (0, 1, layers))
        assert_count(many - none, layers * (one - none))


@invariant("E", source=SOURCE)
def test_hidden_width(parameter_count: Operation, draw: Draw) -> None:
    """One more hidden unit adds, in each layer, 3 d (decoder: three matrices) or 2 d + 1 (encoder: two, and a bias)."""
    keywords = draw_keywords(draw)
    if leaves_free(parameter_count, "d_ff"):
        d, *_, d_ff = layer_widths(keywords)
        unit = 3 * d if keywords.get("style", "decoder") == "decoder" else 2 * d + 1
        more = count_parameters(parameter_count, keywords, d_ff=d_ff + 5) - count_parameters(parameter_count, keywords)
        assert_count(more, 5 * unit * keywords["num_layers"])


@invariant("E", needs=("keyword:vocab_size",))
def test_vocabulary(parameter_count: Operation, draw: Draw) -> None:
    """One more word adds 2 d to a decoder, whose head is its own, and d to an encoder."""
    keywords = draw_keywords(draw)
    if leaves_free(parameter_count, "vocab_size"):
        word = keywords["d_model"] * (2 if keywords.get("style", "decoder") == "decoder" else 1)
        more = count_parameters(parameter_count, keywords, vocab_size=keywords["vocab_size"] + 3)
        assert_count(more - count_parameters(parameter_count, keywords), 3 * word)


@invariant("E", source=SOURCE, needs=("keyword:num_heads",))
def test_heads(parameter_count: Operation, draw: Draw) -> None:
    """The number of heads changes nothing while each has keys and values of its own, num_kv_heads left out or equal."""
    keywords = draw_keywords(draw)
    if leaves_free(parameter_count, "num_heads", "num_kv_heads"):
        h = keywords["num_heads"]
        one = count_parameters(parameter_count, keywords, num_heads=1, num_kv_heads=None)
        assert_count(count_parameters(parameter_count, keywords, num_kv_heads=draw.one_of((None, h))), one)


@invariant("E", source="the book's exercise 8", needs=("keyword:num_heads", "keyword:num_kv_heads"))
def test_shared_heads(parameter_count: Operation, draw: Draw) -> None:
    """Each key/value head fewer saves, in each layer, the 2 d d_k of two matrices, and two biases of d_k in an encoder."""
    keywords = draw_keywords(draw)
    if leaves_free(parameter_count, "num_kv_heads"):
        d, d_q, d_kv, _ = layer_widths(keywords)
        biased = keywords.get("style", "decoder") == "encoder"
        saved = count_parameters(parameter_count, keywords, num_kv_heads=None) - count_parameters(parameter_count, keywords)
        assert_count(saved, keywords["num_layers"] * 2 * (d_q - d_kv) * (d + biased))


@invariant("E", source=SOURCE, needs=("keyword:style", "keyword:num_heads"))
def test_deep_and_narrow(parameter_count: Operation, draw: Draw) -> None:
    """The exercise's two encoders: 24 layers of width 256 have 18 954 240 parameters, 6 layers of 1024 have 75 577 344."""
    if leaves_free(parameter_count, "d_model", "d_ff", "num_layers", "num_heads", "style"):
        assert "encoder" in STYLES
        d, layers, heads, expected = draw.one_of(((256, 24, 4, 18_954_240), (1024, 6, 16, 75_577_344)))
        encoder = {"d_model": d, "d_ff": 4 * d, "num_layers": layers, "num_heads": heads, "style": "encoder"}
        assert_count(count_parameters(parameter_count, encoder), expected)
