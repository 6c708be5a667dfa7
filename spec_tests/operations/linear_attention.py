"""How linear_attention is drawn: numbers of tokens about the sizes of chunks, decays of all strengths, and keys that repeat."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from reference_numpy.linear_attention import linear_attention
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import Draw, within_domain
from spec_tests.specification.conventions import CONVENTIONS
from spec_tests.specification.declaration import Declaration
from spec_tests.specification.formats import at_least_float32

TOKENS = (3, 1, 2, 5, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 66, 100, 129, 0)
GROUPS = (1, 2, 3)  # heads of queries and keys, and value heads for each of them
WIDTHS = (4, 1, 2, 3, 8, 16)
SCALES = (None, 1.0, 0.25, -0.3)
BATCHES = ((), (2,), (1,), (3,), (2, 2))
LEAST_DECAY_IN_16_BITS = 0.3  # the bound of 16 bits is wide where little decays
LARGEST_RATE = 2.0  # beta times the square of a key's length, above which a token makes the state larger
OPTIONAL = ("g", "beta", "state")
MEMBERS = (3, 0, 1, 5, 2, 16, 17)  # tokens of one of several sequences
SOME = (3, 2, 5, 8, 17, 33, 65)  # tokens, where a law needs a few


class Attention(NamedTuple):
    """The arrays of a call, in the order of the arguments."""

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    g: np.ndarray | None = None
    beta: np.ndarray | None = None
    state: np.ndarray | None = None
    cu_seqlens: np.ndarray | None = None

    def taken(self, tokens: slice) -> "Attention":
        """Return some of the tokens, with the state."""
        q, k, v = (x[..., tokens, :] for x in (self.q, self.k, self.v))
        g = None if self.g is None else self.g[..., tokens, :]
        return Attention(q, k, v, g, None if self.beta is None else self.beta[..., tokens], self.state)


def is_narrow(draw: Draw) -> bool:
    """Whether the arguments have 16 bits."""
    return draw.format.precision < 24


def wide(draw: Draw, x: Any) -> np.ndarray:
    """Round to the format of decays."""
    return np.asarray(at_least_float32(draw.format).round(x))


def held_state(draw: Draw, x: Any) -> np.ndarray:
    """Round to the format of states; to that of the arguments in a half of the draws where the backend takes both."""
    stored = draw.operation.stored.get("state")
    is_narrow = stored is not None and (not stored.is_either or draw.one_of((True, False)))
    return np.asarray((draw.format if is_narrow else at_least_float32(draw.format)).round(x))


def stated_sizes(draw: Draw, name: str) -> tuple[int, ...]:
    """Return a few sizes of a dimension that the domain states, none if it states none."""
    stated = draw.operation.domain.get(name, ())
    return () if isinstance(stated, str) else tuple(sorted(stated))[:3]


def draw_heads(draw: Draw, groups: tuple[int, ...], shared: str = "h_k") -> tuple[int, int]:
    """Draw h, and an h_k that divides it. groups: how many heads of queries and keys there are, and value heads for each."""
    h = draw.size("h", tuple(sorted({h_k * group for h_k in stated_sizes(draw, shared) or groups for group in groups})))
    divisors = [size for size in range(min(groups), h + 1) if h % size == 0 and h // size >= min(groups)]
    h_k = draw.size(shared, tuple(divisors) or (h,))
    if h % h_k:
        raise NotImplementedVariant(f"its domain has no {shared} that divides h = {h}")
    return h, h_k


def draw_decays(draw: Draw, shape: tuple[int, ...]) -> np.ndarray:
    """Draw logarithms of decays: weak, strong, mixed, so strong that nothing is left of what came before, or none."""
    kind = draw.one_of(draw.planned("decay", ("mild", "strong", "mixed", "strong, then weak", "erasing", "weak", "none")))
    if kind in ("weak", "none", "mild") and is_narrow(draw) and draw.one_of((True, False)):
        kind = "strong"
    later = np.arange(shape[-2])[:, None] >= shape[-2] // 2
    fills: dict[str, Callable[[], Any]] = {
        "mild": lambda: draw.rng.exponential(0.1, shape),
        "weak": lambda: draw.rng.uniform(0, 0.01, shape),
        "strong": lambda: draw.rng.uniform(LEAST_DECAY_IN_16_BITS, 3, shape),
        "mixed": lambda: draw.rng.choice((20.0, 1.0, 0.05, 90.0), shape),
        "strong, then weak": lambda: np.where(later, 0.3, 190.0) * draw.rng.uniform(0.9, 1, shape),
        "erasing": lambda: draw.rng.choice((0.0, 200.0, 0.5, 0.3), shape),
        "none": lambda: np.zeros(shape),
    }
    return wide(draw, -fills[kind]())


def draw_keys(draw: Draw, shape: tuple[int, ...], *, unit: bool, zeros: bool = True) -> np.ndarray:
    """Draw keys: any, one that repeats, or nearly parallel ones, or some that are 0; of length about 1 where asked for."""
    kind = draw.one_of(draw.planned("keys", ("random", "one", "near", "random", "zero")))
    k = draw.rng.standard_normal(shape)
    if kind in ("one", "near"):
        k = k[..., :1, :] + (0.01 * k if kind == "near" else 0 * k)
    if unit:
        k = k / np.maximum(np.sqrt(np.sum(np.square(k), axis=-1, keepdims=True)), 1e-3)
    if kind == "zero" and zeros:
        k = k * (draw.rng.random((*shape[:-1], 1)) < 0.7)
    return draw.held(k)


def zeros_have_gradients(draw: Draw) -> bool:
    """Whether a gradient is not asked for, or a key of 0 has one: not where the eps of l2_epsilon stands beside the length."""
    operation = draw.operation
    return not operation.spec.is_gradient or operation.possible_values(CONVENTIONS["l2_epsilon"])[0] == "inside"


def draw_rates(draw: Draw, k: np.ndarray, *, unit: bool, h: int) -> np.ndarray:
    """Draw beta: below 1, or up to 2 where the dtype has 24 bits and more, and not above what the lengths of the keys admit."""
    top = 1.0 if is_narrow(draw) else draw.one_of((1.0, 2.0, 1.97))
    lengths = np.ones(k.shape[:-1]) if unit else np.sum(np.square(k), axis=-1)
    lengths = np.repeat(lengths, h // k.shape[-3], axis=-2)
    beta = top * draw.rng.random(lengths.shape) ** draw.one_of((1.0, 0.3, 0.01))
    beta = np.where(draw.rng.random(beta.shape) < draw.one_of((0.0, 0.2)), 0.0, beta)
    return draw.held(np.minimum(beta, (1 - draw.format.u) * top / np.maximum(lengths, 1e-9)))


def draw_attention(
    draw: Draw,
    *used: str,
    tokens: tuple[int, ...] = TOKENS,
    by_head: bool | None = None,
    grouped: bool = False,
    normalized: bool = False,
    batches: tuple[tuple[int, ...], ...] = BATCHES,
) -> Attention:
    """Draw the arrays of a call, and those of the optional ones that are used.

    by_head: whether g has one decay for each head; None: either. grouped: whether several heads of queries and keys are each read
    by several value heads. normalized: whether the call normalizes queries and keys.
    """
    h, h_k = draw_heads(draw, GROUPS[grouped:])
    widths = stated_sizes(draw, "d_g")
    n = draw.size("n", tokens if "state" in used else tuple(n for n in tokens if n))
    d_k = draw.size("d_k", widths if widths and 1 not in widths else WIDTHS)
    d_v = draw.size("d_v", (d_k,) if draw.one_of((False, False, False, True)) else WIDTHS)
    batch = draw.batch(batches)
    q = draw.normal((*batch, h_k, n, d_k))
    k = draw_keys(draw, q.shape, unit="beta" in used and not normalized, zeros=not normalized or zeros_have_gradients(draw))
    v = draw.normal((*batch, h, n, d_v), draw.one_of((1.0, 1.0, 30.0, 0.01)))
    g = beta = state = None
    if "g" in used:
        d_g = draw.size("d_g", (1, d_k) if by_head is None else (1,) if by_head else (d_k,))
        within_domain(draw, d_k=max(d_k, d_g))
        g = draw_decays(draw, (*batch, h, n, d_g))
    if "beta" in used:
        beta = draw_rates(draw, k, unit=normalized, h=h)
    if "state" in used:
        state = held_state(draw, draw.rng.standard_normal((*batch, h, d_k, d_v)) * draw.one_of((1.0, 10.0, 0.01)))
    return Attention(q, k, v, g, beta, state)


def draw_options(draw: Draw) -> dict[str, Any]:
    """Draw the scale, and whether queries and keys are normalized."""
    return draw.keyword("scale", SCALES) | draw.keyword("qk_l2norm", (False, True))


def draw_lengthy(draw: Draw, given: Attention) -> Attention:
    """Return the call with queries and keys beside whose squares 1e-6 is nothing."""
    size = 64.0 if is_narrow(draw) else 2.0 ** (20 if draw.format.precision == 24 else 40)  # also beside the lengths
    q, k = (draw.held(draw.rng.uniform(1, 2, x.shape) * draw.rng.choice((size, -size), x.shape)) for x in (given.q, given.k))
    return given._replace(q=q, k=k)


def plain(draw: Draw) -> dict[str, Any]:
    """Return the keyword for queries and keys as they are, if it can be given."""
    return draw.only("qk_l2norm", False)


def heads_of(x: np.ndarray, given: Attention) -> np.ndarray:
    """Return queries or keys once for each value head."""
    return np.repeat(x, given.v.shape[-3] // x.shape[-3], axis=-3)


def draw_call(draw: Draw, *names: str, **how: Any) -> tuple[Attention, dict[str, Any]]:
    """Draw a call with some of the optional arguments, and its keywords."""
    options = draw_options(draw)
    used = draw.variants(*(name for name in OPTIONAL if name in names))
    return draw_attention(draw, *used, normalized=options.get("qk_l2norm", False), **how), options


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return draw_call(draw, *OPTIONAL)


def draw_packed(draw: Draw) -> tuple[Attention, dict[str, Any]]:
    """Draw several sequences, some of no tokens, that lie one behind the other; a single one where they cannot be given."""
    if not draw.operation.accepts("cu_seqlens"):
        return draw_call(draw, *OPTIONAL)
    within_domain(draw, batch_dims=0)
    lengths = np.array([draw.one_of(MEMBERS) for _ in range(draw.one_of((3, 2, 1, 4)))])
    options, ends = draw_options(draw), np.concatenate([[0], np.cumsum(lengths)])
    used = draw.variants(*OPTIONAL)
    how: dict[str, Any] = {"normalized": options.get("qk_l2norm", False), "batches": ((),)}
    given = draw_attention(draw, *(used | {"state"}), tokens=(int(ends[-1]),), **how)
    n = given.q.shape[-2]  # may be another one, where the domain or a wish has no such sum of tokens
    ends = np.append(np.minimum(ends[:-1], n), n)
    shape = (len(lengths), *np.asarray(given.state).shape)
    state = held_state(draw, draw.rng.standard_normal(shape)) if "state" in used else None
    return given._replace(state=state, cu_seqlens=ends), options


def draw_short(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw queries and keys beside whose lengths 1e-6, or its root, is not small."""
    given, scale = draw_attention(draw, tokens=SOME, normalized=True), draw.keyword("scale", SCALES)
    size = 10.0 ** draw.rng.choice((-3.0, -4.5, -6.0, -6.5), given.q.shape[:-1])[..., None] / np.sqrt(given.q.shape[-1])
    q, k = (draw.held(draw.rng.choice((1.0, -1.0), x.shape) * draw.rng.uniform(1, 2, x.shape) * size) for x in (given.q, given.k))
    return given._replace(q=q, k=k), scale | draw.only("qk_l2norm", True)


def go_together(named: Mapping[str, Any]) -> bool:
    """Whether no token grows: decay is at most 0, and beta times the square of a key's length lies between 0 and 2."""
    g, beta, k = (named.get(name) for name in ("g", "beta", "k"))
    if g is not None and np.any(g > 0):
        return False
    if beta is None:
        return True
    squares: Any = np.sum(np.square(np.float64(k)), axis=-1)
    if named.get("qk_l2norm"):
        squares = np.ones_like(squares)
    squares = np.repeat(squares, beta.shape[-2] // max(squares.shape[-2], 1), axis=-2)
    return bool(np.all(beta >= 0) and np.all(beta * squares <= LARGEST_RATE))


declaration = Declaration(
    equation=linear_attention,
    arguments=arguments,
    core={"q": 3, "k": 3, "v": 3, "g": 3, "beta": 2, "state": 3},
    precision="mixed",
    cost=2,
    results={"out": "", "state": "wider"},
    wide_arguments=("g", "state"),
    choices={"qk_l2norm": (False, True)},
    open_questions={"l2_epsilon": draw_short},
    changeable=("scale",),
    go_together=go_together,
    updates=("state",),
    structure=("cu_seqlens",),
    branches={"packed": draw_packed},
    short=True,
    linear=("v", "state"),
)
