"""How scaled_dot_product_attention is drawn."""

from types import MappingProxyType
from typing import Any

import numpy as np

from reference_numpy.scaled_dot_product_attention import scaled_dot_product_attention
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs import regimes
from spec_tests.inputs.draw import BATCHES, HEAD_WIDTHS, SIZES, SMALL, Draw
from spec_tests.operations._serving import SCALES, SOFTCAPS
from spec_tests.specification.declaration import Declaration

BIASES = MappingProxyType(
    {"normal": regimes.normal, "integers": regimes.integers, "scaled": regimes.scaled(0.1, 4.0), "zeros": regimes.zeros}
)

BIASES_WITH_MINUS_INFINITY = MappingProxyType({**BIASES, "minus infinity": regimes.with_minus_infinity})

WIDE_SHARE = 8  # one example in so many has heads as wide as those of models

ALIGNED_WIDTHS = (8, 16, 32, 64)  # fused kernels take such heads; others may go to another kernel

MAX_SCORES = 4000  # in one example; each score is sampled many times to derive the error bound


def draw_dims(draw: Draw, *, square: bool = False, keys: int = 1, longest: int = 2049) -> tuple[int, int, int, int]:
    """Draw n, m, d_k and d_v, with m at least `keys`. square: n = m, as causality needs it, and shorter, since both grow."""
    if has_wide_heads(draw):
        return _draw_wide_heads(draw, square=square, keys=keys)
    if square:
        (n,), (d_k, d_v) = draw.dims(n=130), draw.dims(d_k=65, d_v=65)
        n = n if n >= keys else draw.size("n", (keys,))
        return n, draw.size("m", (n,)), d_k, d_v
    if draw.shape.one_of((False, False, True)):  # as in decoding
        n, (m,), (d_k, d_v) = draw.size("n", SMALL[:3]), draw.dims(m=longest), draw.dims(d_k=65, d_v=65)
    else:
        n, m, d_k, d_v = draw.dims(n=257, m=longest, d_k=160, d_v=160)
    return n, m if m >= keys else draw.size("m", (keys,)), d_k, d_v


def has_wide_heads(draw: Draw) -> bool:
    """Whether the heads of this example are as wide as those of models."""
    return draw.shape.integer(0, WIDE_SHARE - 1) == WIDE_SHARE - 1


def draw_widths(draw: Draw, *, wide: bool) -> tuple[int, ...]:
    """Draw d_k and d_v."""
    return (draw.size("d_k", HEAD_WIDTHS), draw.size("d_v", HEAD_WIDTHS)) if wide else draw.dims(d_k=33, d_v=33)


def draw_aligned_dims(draw: Draw, *, longest: int = 2049) -> tuple[int, int, int, int]:
    """Draw n, m, d_k and d_v, in every second example with equal widths that are multiples of 8."""
    n, m, d_k, d_v = draw_dims(draw, longest=longest)
    if draw.shape.one_of((False, True)):
        d_k = draw.size("d_k", ALIGNED_WIDTHS)
        d_v = draw.size("d_v", (d_k,))
    return n, m, d_k, d_v


def _draw_wide_heads(draw: Draw, *, square: bool, keys: int) -> tuple[int, int, int, int]:
    """Draw few queries and keys, as wide as the heads of models are. The values often have another width."""
    n = draw.size("n", tuple(s for s in SMALL if s >= keys) if square else SMALL)
    m = draw.size("m", (n,) if square else (*(s for s in SMALL if s >= keys), 33))
    d_k, d_v = draw_widths(draw, wide=True)
    return n, m, d_k, d_v


def draw_batch(draw: Draw, scores: int) -> tuple[int, ...]:
    """Draw batch dimensions of any rank, but few entries where each has many scores."""
    return draw.batch(tuple(b for b in BATCHES if np.prod(b) * scores <= MAX_SCORES) or ((), (1,)))


def draw_broadcast_batch(draw: Draw, batch: tuple[int, ...]) -> tuple[int, ...]:
    """Draw batch dimensions that broadcast to those given: mostly the same, else fewer, or some of size one."""
    if not batch or not draw.shape.one_of((False, False, False, True)):
        return batch
    shapes = ((*[1 for _ in batch],), (), batch[1:], (1, *batch[1:]), (*batch[:-1], 1))
    return tuple(draw.shape.one_of(s for s in shapes if len(s) in draw.operation.domain.get("batch_dims", (len(s),))))


def keep_a_key_in_each_row(draw: Draw, mask: np.ndarray) -> np.ndarray:
    """Return the mask with a key for each query under causality: one up to the query, or the first if all queries share a row."""
    n = mask.shape[-1]
    if mask.ndim == 1 or mask.shape[-2] != n:
        mask[..., 0] = True
    elif n:
        seen = np.floor(draw.rng.random(mask.shape[:-1]) * np.arange(1, n + 1)).astype(int)
        np.put_along_axis(mask, seen[..., None], True, axis=-1)
    return mask


def draw_part(draw: Draw, whole: int, *names: str, rest: bool = False) -> int:
    """Draw a length from 1 to the whole that the domain allows for each of these dimensions. rest: it allows the rest too."""
    domain = draw.operation.domain
    stated = [domain[name] for name in names if not isinstance(domain.get(name, ""), str)]
    if not stated:
        return draw.shape.integer(1, max(whole - rest, 1))
    fitting = [t for t in range(1, whole + 1) if all(t in allowed and (not rest or whole - t in allowed) for allowed in stated)]
    if not fitting:
        raise NotImplementedVariant(f"its domain has no part of {' = '.join(names)} = {whole}")
    return int(draw.shape.one_of(fitting))


def draw_inputs(draw: Draw, *optional: str) -> tuple[Any, ...]:
    """Draw q, k, v and keywords, some of the optional ones among them. Each query has a key."""
    used = draw.variants(*optional)
    few = (False, False, True) if "mask" in used else (False, False, False, False, True)
    n, m, d_k, d_v = draw_dims(draw, square="is_causal" in used or draw.shape.one_of(few))
    b = draw_batch(draw, n * m)
    keywords: dict[str, Any] = {}
    if causal := "is_causal" in used and n == m:
        keywords["is_causal"] = True
    if "scale" in used:
        keywords |= draw.keyword("scale", (*SCALES, None))
    if "softcap" in used and "bias" not in used:
        keywords |= draw.keyword("softcap", SOFTCAPS)
    if "mask" in used:
        mask = draw.mask(b, n, m)
        keywords["mask"] = keep_a_key_in_each_row(draw, mask) if causal else mask
    if "bias" in used:
        shape = draw.shape.one_of(((n, m), (*b, n, m), (*b, 1, m), (n, 1), (m,), (*b[:-1], *[1 for _ in b[-1:]], n, m)))
        keywords["bias"] = draw.array(shape, BIASES if len(used) > 1 or shape == (n, 1) else BIASES_WITH_MINUS_INFINITY)
    return draw.vectors((*b, n, d_k)), draw.vectors((*b, m, d_k)), draw.vectors((*b, m, d_v)), keywords


def draw_unequal_lengths(draw: Draw) -> tuple[int, int, int, int]:
    """Draw n, m, d_k and d_v with n ≠ m. Mostly there are several of both: alignments then differ in some row.

    One of them is often much the larger, as in decoding and in cross-attention, or they are near one another.
    """
    n, m, d_k, d_v = draw_dims(draw, longest=257)
    if n < 2 and draw.shape.one_of((True, True, True, False)):
        n = draw.size("n", (2, 3, 5, 8))
    if m < 2 or n == m or draw.shape.one_of((False, True)):
        near = (n + 1, n - 1, n + 2, n - 2, 2 * n, n // 2, n + 16) if n <= SIZES[-1] else SMALL  # scores are as many as n * m
        m = draw.size("m", tuple(s for s in near if s > 1 and s != n) or (n + 1,))
    if n == m:
        raise NotImplementedVariant("its domain has as many keys as queries")
    return n, m, d_k, d_v


def draw_blind_rows(draw: Draw, mask: np.ndarray, n: int, m: int) -> np.ndarray:
    """Return the mask with an entry for each query and key, and with some queries, or all, that it hides every key from."""
    mask = np.broadcast_to(mask, (*mask.shape[:-2], n, m)).copy()
    blind = np.asarray(draw.rng.random(mask.shape[:-1]) < draw.one_of((0.3, 1.0, 0.7)))
    blind.flat[draw.integer(0, 99) * blind.size // 100] = True
    return mask & ~blind[..., None]


def draw_unequal_causality(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    n, m, d_k, d_v = draw_unequal_lengths(draw)
    b = draw_batch(draw, n * m)
    return tuple(draw.vectors((*b, rows, d)) for rows, d in ((n, d_k), (m, d_k), (m, d_v))), {"is_causal": True}


def draw_fully_masked_rows(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw rows that see no key: by the mask, by a bias of −∞, or by both together, each of which leaves some keys."""
    n, m, d_k, d_v = draw_aligned_dims(draw)
    b = draw_batch(draw, n * m)
    mask = draw_blind_rows(draw, draw.mask(b, n, m), n, m)
    arrays = tuple(draw.vectors((*b, rows, d)) for rows, d in ((n, d_k), (m, d_k), (m, d_v)))
    return arrays, _hide_by_mask_or_bias(draw, mask)


def _hide_by_mask_or_bias(draw: Draw, mask: np.ndarray) -> dict[str, Any]:
    """Return the keywords that hide what the mask hides: a mask, a bias, or one of each."""
    operation = draw.operation
    names = tuple(n for n in ("mask", "bias") if n in operation.spec.positional and operation.accepts(n))
    if not names:
        raise NotImplementedVariant(f"{operation.name} takes none of mask, bias", "signature")
    used = draw.one_of(tuple(dict.fromkeys(((names[0],), names, (names[-1],)))))
    if "bias" not in used:
        return {"mask": mask}
    by_mask = ~mask & (draw.rng.random(mask.shape) < 0.5) if "mask" in used else np.zeros(mask.shape, dtype=bool)
    bias = np.where(mask | by_mask, draw.array(mask.shape, BIASES), -np.inf)
    return {"bias": bias} | ({"mask": ~by_mask} if "mask" in used else {})


def draw_softcap_and_bias(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw a softcap together with a finite bias."""
    n, m, d_k, d_v = draw_dims(draw, longest=257)
    b = draw_batch(draw, n * m)
    keywords = draw.keyword("softcap", SOFTCAPS) | {"bias": draw.array(draw.shape.one_of(((n, m), (*b, n, m))), BIASES)}
    return tuple(draw.vectors((*b, rows, d)) for rows, d in ((n, d_k), (m, d_k), (m, d_v))), keywords


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    q, k, v, keywords = draw_inputs(draw, "mask", "bias", "is_causal", "scale", "softcap")
    return (q, k, v), keywords


declaration = Declaration(
    equation=scaled_dot_product_attention,
    arguments=arguments,
    core={"q": 2, "k": 2, "v": 2, "mask": 2, "bias": 2},
    composed=True,
    open_questions={
        "causal_alignment": draw_unequal_causality,
        "fully_masked_rows": draw_fully_masked_rows,
        "softcap_bias": draw_softcap_and_bias,
    },
    broadcasts=True,  # the batch axes of q, k and v, as an optional variant
    linear=("v",),
)
