"""How local_attention is drawn."""

from typing import Any

from reference_numpy.local_attention import local_attention
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import SEQUENCES, SIZES, Draw
from spec_tests.operations._serving import SCALES
from spec_tests.operations.scaled_dot_product_attention import draw_batch
from spec_tests.specification.declaration import Declaration

WINDOWS = (1, 0, 2, 3, 5, 8, 16, 31, 64, 100)


def _key_counts_near(n: int, window: int) -> tuple[int, ...]:
    return n + 1, n + 9, n - 1, n - 4, max(n - window, 1)


def draw_inputs(draw: Draw, *optional: str) -> tuple[Any, ...]:
    """Draw q, k, v and keywords, the window among them. Each query has a key: n ≤ m + window."""
    used = draw.variants(*optional)
    n, d_k, d_v = draw.dims(n=130 if draw.operation.spec.is_gradient or draw.long else 257, d_k=129, d_v=65)
    n = n if n <= SIZES[-1] else draw.size("n", SIZES[-1:])  # there are about as many keys, so that a model's length is too much
    keywords = draw.keyword("window", (*WINDOWS, max(n - 1, 0), n + 3, *(SEQUENCES if draw.long else ())))
    m = draw.size("m", SEQUENCES if draw.long else (n, n, n, *(s for s in _key_counts_near(n, keywords["window"]) if s > 0)))
    m = max(m, n - keywords["window"])
    b = draw_batch(draw, n * m)
    if "is_causal" in used:
        keywords["is_causal"] = True
    if "scale" in used:
        keywords |= draw.keyword("scale", (*SCALES, None))
    return draw.vectors((*b, n, d_k)), draw.vectors((*b, m, d_k)), draw.vectors((*b, m, d_v)), keywords


def draw_fully_masked_rows(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw q, k, v and a window so small that the last queries see no key: m + window < n."""
    d_k, d_v = draw.dims(d_k=33, d_v=33)
    keywords = draw.keyword("window", (0, 1, 2, 5, 16))
    m = draw.size("m", (1, 2, 3, 5, 17))
    n = draw.size("n", tuple(m + keywords["window"] + more for more in (1, 2, 5, 16, 33)))
    if n <= m + keywords["window"]:
        raise NotImplementedVariant("its domain has no query beyond the last window")
    if draw.variants("is_causal"):
        keywords["is_causal"] = True
    b = draw_batch(draw, n * m)
    return tuple(draw.vectors((*b, rows, d)) for rows, d in ((n, d_k), (m, d_k), (m, d_v))), keywords


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    q, k, v, keywords = draw_inputs(draw, "is_causal", "scale")
    return (q, k, v), keywords


declaration = Declaration(
    equation=local_attention,
    arguments=arguments,
    core={"q": 2, "k": 2, "v": 2},
    composed=True,
    open_questions={"fully_masked_rows": draw_fully_masked_rows},
    broadcasts=True,
    linear=("v",),
)
