"""What goes wrong with parameter_count: each deviation is said as its difference from the right count."""

import inspect
from collections.abc import Callable
from functools import wraps
from types import SimpleNamespace
from typing import Any

from reference_numpy.parameter_count import parameter_count

from . import deviation


def count_from_sizes(change: Callable[[Any], int]) -> Callable[..., int]:
    """Return a function of the keywords of parameter_count that gives `change` the sizes by short names, and the right count."""
    signature = inspect.signature(parameter_count)

    @wraps(change)
    def count(**keywords: Any) -> int:
        bound = signature.bind(**keywords)
        bound.apply_defaults()
        given = SimpleNamespace(**bound.arguments)
        h_kv = given.num_heads if given.num_kv_heads is None else given.num_kv_heads
        return change(
            SimpleNamespace(
                right=parameter_count(**keywords), keywords=keywords, decoder=given.style == "decoder", d=given.d_model,
                f=given.d_ff, layers=given.num_layers, h=given.num_heads, h_kv=h_kv, d_k=given.d_model // given.num_heads,
                vocab=given.vocab_size,
            )
        )  # fmt: skip

    count.__signature__ = signature  # type: ignore[attr-defined]
    return count


@deviation("reference", "arrays")
@count_from_sizes
def norms_left_out(s: Any) -> int:
    """the gains, and biases, of the norms are left out.

    Shows: every size. Hides: an encoder of no layers.
    """
    return int(s.right - s.layers * s.d * (2 if s.decoder else 4) - (s.d if s.decoder else 0))


@deviation("reference", "deep_and_narrow")
@count_from_sizes
def biases_left_out(s: Any) -> int:
    """an encoder's linear maps are counted without their biases.

    Shows: an encoder. Hides: a decoder, which has none.
    """
    biases = s.d_k * (s.h + 2 * s.h_kv) + 2 * s.d + s.f
    return int(s.right - (0 if s.decoder else s.layers * biases))


@deviation("reference", "hidden_width")
@count_from_sizes
def gate_left_out(s: Any) -> int:
    """a decoder's feed-forward layer is counted with two matrices, as if it had no gate.

    Shows: a decoder. Hides: an encoder, whose feed-forward layer has two.
    """
    return int(s.right - (s.layers * s.d * s.f if s.decoder else 0))


@deviation("reference", "shared_heads")
@count_from_sizes
def shared_heads_ignored(s: Any) -> int:
    """each head is counted with keys and values of its own: num_kv_heads is ignored.

    Shows: fewer key/value heads than heads. Hides: num_kv_heads left out or equal.
    """
    return parameter_count(**{**s.keywords, "num_kv_heads": None})


@deviation("reference", "heads")
@count_from_sizes
def heads_of_full_width(s: Any) -> int:
    """every head is counted with matrices of d × d, not d × d_k.

    Shows: two heads or more. Hides: one head.
    """
    return int(s.right + s.layers * 2 * s.d * (s.d - s.d_k) * (s.h + s.h_kv))


@deviation("reference", "vocabulary", kind="convention")
@count_from_sizes
def head_tied(s: Any) -> int:
    """a decoder's head shares the matrix of its embedding, which is counted once.

    Shows: a decoder with a vocabulary. Hides: no vocabulary, an encoder.
    """
    return int(s.right - (s.vocab * s.d if s.decoder else 0))


@deviation("reference", "arrays")
@count_from_sizes
def last_norm_left_out(s: Any) -> int:
    """the norm after a decoder's last layer is left out.

    Shows: a decoder. Hides: an encoder, which has none.
    """
    return int(s.right - (s.d if s.decoder else 0))


@deviation("reference", "deep_and_narrow", kind="convention")
@count_from_sizes
def last_norm_of_an_encoder(s: Any) -> int:
    """an encoder has a layer norm after its last layer too.

    Shows: an encoder. Hides: a decoder, which has one.
    """
    return int(s.right + (0 if s.decoder else 2 * s.d))


@deviation("reference", "layers")
@count_from_sizes
def no_layers_taken_for_one(s: Any) -> int:
    """num_layers = 0 counts one layer, as `num_layers or 1` does.

    Shows: no layers. Hides: one layer and more.
    """
    return parameter_count(**{**s.keywords, "num_layers": s.layers or 1})


@deviation("reference", "arrays")
@count_from_sizes
def embedding_in_every_layer(s: Any) -> int:
    """the embedding, the head and the last norm, which the model has once, are counted for every layer.

    Shows: two layers or more, or none. Hides: one layer.
    """
    once = 2 * s.vocab * s.d + s.d if s.decoder else s.vocab * s.d
    return int(s.right + (s.layers - 1) * once)


@deviation("reference", "arrays")
@count_from_sizes
def integer_of_32_bits(s: Any) -> int:
    """the count wraps beyond 31 bits.

    Shows: models of 2³¹ parameters and more. Hides: smaller ones.
    """
    return int((s.right + 2**31) % 2**32 - 2**31)


@deviation("reference", "dtype_shape_device", kind="fault")
def quotient_of_floats(right: Any, **keywords: Any) -> Any:
    """the count is a float, as d_model / num_heads makes it.

    Shows: the type of the result. Hides: its value, up to 2⁵³.
    """
    return float(right(**keywords))


@deviation("reference", "repeatable", kind="fault")
def counter_never_reset(right: Any, *, memory: dict[str, int], **keywords: Any) -> Any:
    """the count of one call is added to those of the calls before.

    Shows: the second call. Hides: the first.
    """
    memory["count"] = memory.get("count", 0) + right(**keywords)
    return memory["count"]
