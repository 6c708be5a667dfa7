"""How mamba2_scan is drawn: numbers of tokens about the sizes of chunks, steps of all sizes, and limits that cut some off."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from reference_numpy._steps import UNLIMITED, step_sizes
from reference_numpy.mamba2_scan import mamba2_scan
from spec_tests.inputs.draw import Draw
from spec_tests.specification.declaration import Declaration

from .linear_attention import BATCHES, GROUPS, LEAST_DECAY_IN_16_BITS, TOKENS, WIDTHS, draw_heads, held_state, is_narrow, wide

LIMITS = (UNLIMITED, UNLIMITED, (0.001, 0.1), (0.0, 0.5), (0.25, 2.0))
MOST_OF_DOMAIN = 200.0
MOST_DECAY = 199.0  # of one token, below the 200 of the domain, so that roundings stay inside
STRAIGHT = 20.0  # from where on torch's softplus is the argument itself, which shows in float64
NEAR = 0.02  # of a limit: how near to it no step has a gradient that is asked for
OPTIONAL = ("d", "z", "dt_bias", "state")
SOME = (3, 2, 5, 8, 17, 33, 65)  # tokens, where a law needs a few
FEW = (3, 1, 2, 5, 8, 17, 33, 64, 65, 66)  # tokens, where each may be a call of its own


class Scan(NamedTuple):
    """The arrays of a call, in the order of the arguments."""

    x: np.ndarray
    dt: np.ndarray
    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    d: np.ndarray | None = None
    z: np.ndarray | None = None
    dt_bias: np.ndarray | None = None
    state: np.ndarray | None = None

    def taken(self, tokens: slice) -> "Scan":
        """Return some of the tokens, with the state."""
        x, b, c = (x[..., tokens, :] for x in (self.x, self.b, self.c))
        z = None if self.z is None else self.z[..., tokens, :]
        return self._replace(x=x, b=b, c=c, dt=self.dt[..., tokens], z=z)

    def heads_of(self, x: np.ndarray) -> np.ndarray:
        """Return b or c once for each head."""
        return np.repeat(x, self.x.shape[-3] // x.shape[-3], axis=-3)


def steps_of(given: Scan, keywords: dict[str, Any]) -> np.ndarray:
    """Return the sizes of the steps of a call."""
    limit = keywords.get("dt_limit", UNLIMITED)
    return np.asarray(step_sizes(given.dt, given.dt_bias, keywords.get("dt_softplus", False), limit))


def draw_options(draw: Draw) -> dict[str, Any]:
    """Draw whether softplus is applied, and the limits of the steps."""
    return draw.keyword("dt_softplus", (True, False)) | draw.keyword("dt_limit", LIMITS)


def plain(draw: Draw) -> dict[str, Any]:
    """Return the keywords for steps that are given as they are, if that can be called."""
    return draw.only("dt_softplus", False) | draw.only("dt_limit", UNLIMITED)


def draw_steps(draw: Draw, shape: tuple[int, ...], bias: np.ndarray | None, keywords: dict[str, Any]) -> np.ndarray:
    """Draw dt: ordinary, short or long steps, mixed ones, or arguments at which softplus is straight, or nothing."""
    softplus, limit = keywords.get("dt_softplus", False), tuple(keywords.get("dt_limit", UNLIMITED))
    r, kind = draw.rng, draw.one_of(draw.planned("steps", ("ordinary", "long", "mixed", "short", "far")))
    if kind == "short" and is_narrow(draw) and draw.one_of((True, False)):
        kind = "long"
    is_cut, in_double = limit[1] < STRAIGHT, draw.operation.dtype == "float64"
    fills: dict[str, Callable[[], Any]] = {
        "ordinary": lambda: r.normal(-1, 2, shape) if softplus else r.exponential(0.5, shape),
        "long": lambda: r.uniform(0.5, 4, shape),
        "mixed": lambda: r.choice((8.0, 0.05, 1.0, -6.0 if softplus else 0.01), shape),
        "short": lambda: r.uniform(-8, -4, shape) if softplus else r.uniform(0, 0.02, shape),
        "far": lambda: r.choice((20.0, 100.0, -20.0, 1.0) if is_cut else (19.0, 15.0, -20.0, 1.0), shape),
    }
    y = fills[kind]()
    if not softplus:
        y = y if is_cut or limit[0] > 0 else np.abs(y)
    dt = draw.held(y if bias is None or not softplus else y - 0.5 * bias[:, None])
    if in_double and softplus and not is_cut:
        dt = np.minimum(dt, STRAIGHT - 2)
    return _off_the_limits(draw, dt, bias, softplus, limit) if draw.operation.spec.is_gradient else dt


def _off_the_limits(draw: Draw, dt: np.ndarray, bias: np.ndarray | None, softplus: bool, limit: Any) -> np.ndarray:
    """Return dt, larger where a step would be at a limit, where its gradient is not specified."""
    for _ in range(4):
        steps = step_sizes(dt, bias, softplus, (-np.inf, np.inf))
        near = np.zeros(dt.shape, bool)
        for bound in limit:
            if bound != np.inf and not (softplus and bound <= 0):
                near |= np.abs(steps - bound) <= NEAR * (bound or 1.0)
        dt = np.where(near, draw.held(dt + 0.5), dt)
    return dt


def draw_rates(draw: Draw, steps: np.ndarray, h: int) -> np.ndarray:
    """Draw a: below 0, and such that the longest step of a head decays as far as the domain goes, or less."""
    longest = np.max(np.reshape(np.moveaxis(steps, -2, 0), (h, -1)), axis=-1, initial=0.0)
    kind = draw.one_of(draw.planned("decay", ("mild", "strong", "erasing", "mild")))
    low = LEAST_DECAY_IN_16_BITS if is_narrow(draw) else 0.01
    a = {"mild": lambda: draw.rng.uniform(low, 2, h), "strong": lambda: draw.rng.uniform(1, 16, h)}
    rates = MOST_DECAY / np.maximum(longest, 1e-3) if kind == "erasing" else a[kind]()
    return wide(draw, -np.minimum(np.minimum(rates, MOST_DECAY / np.maximum(longest, 1e-3)), 1e4))


def draw_scan(draw: Draw, keywords: dict[str, Any], *used: str, tokens: tuple[int, ...] = TOKENS, grouped: bool = False) -> Scan:
    """Draw the arrays of a call, and those of the optional ones that are used.

    grouped: whether several groups are each read by several heads.
    """
    h, g = draw_heads(draw, GROUPS[grouped:], "g")
    n = draw.size("n", tokens if "state" in used else tuple(n for n in tokens if n))
    p, s = draw.size("p", WIDTHS), draw.size("s", WIDTHS)
    batch = draw.batch(BATCHES)
    x = draw.normal((*batch, h, n, p), draw.one_of((1.0, 1.0, 30.0, 0.01)))
    b, c = (draw.normal((*batch, g, n, s)) for _ in "bc")
    bias = None
    if "dt_bias" in used:
        low, high = (-4.0, 1.0) if keywords.get("dt_softplus") else (0.0, 1.0)
        bias = wide(draw, draw.rng.uniform(low, high, h))
    dt = draw_steps(draw, (*batch, h, n), bias, keywords)
    given = Scan(x, dt, np.zeros(h), b, c, dt_bias=bias)
    given = given._replace(a=draw_rates(draw, steps_of(given, keywords), h))
    if "d" in used:
        given = given._replace(d=wide(draw, draw.rng.standard_normal(h)))
    if "z" in used:
        given = given._replace(z=draw.normal(x.shape, draw.one_of((1.0, 10.0))))
    if "state" in used:
        state = held_state(draw, draw.rng.standard_normal((*batch, h, p, s)) * draw.one_of((1.0, 10.0, 0.01)))
        given = given._replace(state=state)
    return given


def draw_call(draw: Draw, *names: str, **how: Any) -> tuple[Scan, dict[str, Any]]:
    """Draw a call with some of the optional arguments, and its keywords."""
    keywords = draw_options(draw)
    used = draw.variants(*(name for name in OPTIONAL if name in names))
    return draw_scan(draw, keywords, *used, **how), keywords


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return draw_call(draw, *OPTIONAL)


def go_together(named: Mapping[str, Any]) -> bool:
    """Whether no step is negative and no head grows, nor decays by more than the domain has."""
    a, dt, bias = named["a"], named["dt"], named.get("dt_bias")
    is_soft, limit = bool(named.get("dt_softplus")), named.get("dt_limit", UNLIMITED)
    is_cut = is_soft or limit != UNLIMITED
    steps = step_sizes(dt, bias, is_soft, limit)
    are_positive = is_cut or np.all(dt + (0.0 if bias is None else bias[:, None]) >= 0)
    return bool(are_positive and np.all(a < 0) and np.all(steps * a[:, None] >= -MOST_OF_DOMAIN))


declaration = Declaration(
    equation=mamba2_scan,
    arguments=arguments,
    core={"x": 3, "dt": 2, "b": 3, "c": 3, "z": 3, "state": 3},
    precision="mixed",
    cost=2,
    results={"out": "", "state": "wider"},
    wide_arguments=("a", "d", "dt_bias", "state"),
    updates=("state",),
    short=True,
    go_together=go_together,
    linear=("x", "b", "c", "d", "state"),
)
