"""How policy_loss is drawn: answers whose tokens became more or less probable by factors on both sides of the clips."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from reference_numpy._policies import OBJECTIVES, REDUCTIONS
from reference_numpy.policy_loss import policy_loss
from spec_tests.bounds.bounded import Bounded
from spec_tests.calls.result import WIDE
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import Draw, single
from spec_tests.specification.declaration import Declaration

CLIPS = single(0.2, 0.1, 0.4, 0.28)
KL_WEIGHTS = single(0.04, 1.0, 0.1)
ESTIMATORS, LEVELS = ("k3", "k1", "k2"), ("token", "sequence")
BY_SEQUENCE = ("seq-mean-token-mean", "seq-mean-token-sum", "constant")
POOLS = MappingProxyType(
    {
        "clip_high": CLIPS,
        "ratio_limit": (3.0, 1.5, 10.0),  # all above 1 + clip_high
        "reduction": REDUCTIONS,
        "horizon": (64, 7, 1000),
    }
)
OPTIONAL = ("clip_low", "clip_high", "ratio_limit", "level", "kl_weight", "reduction", "horizon")
MOVES = (0.3, 0.05, 0.3, 2.0, 18.0)  # sizes of the differences of log-probabilities
LONG_MOVES = (2.0, 18.0)  # those with ratios beyond a ratio_limit
LARGEST_MOVE = MappingProxyType({"token": 20.0, "sequence": 9.9, "k3": 2.5, "k1": 20.0, "k2": 20.0})
LENGTHS = (1.0, 0.1, 8.0)  # sizes of log-probabilities

Policy = tuple[tuple[np.ndarray, np.ndarray, np.ndarray], dict[str, Any]]  # log_probs, advantages and mask; the rest


def draw_options(draw: Draw, *names: str, objectives: tuple[str, ...] = OBJECTIVES) -> dict[str, Any]:
    """Draw the objective, and some of the optional keywords that go with it. A divergence is weighed only together with one."""
    domain = draw.operation.domain
    keywords = draw.only("objective", *(o for o in objectives if o != "cispo" or "token" in domain.get("level", LEVELS)))
    objective, used = keywords.get("objective", "clip"), {*draw.variants(*names), *(domain.keys() & {*names})}
    if "level" in used and (objective == "clip" or (objective == "reinforce" and "level" in domain)):
        keywords |= draw.keyword("level", LEVELS[::-1])
    if objective == "cispo":
        keywords |= draw.only("level", "token") if "level" in domain else {}
    if objective != "reinforce" or {"clip_low", "clip_high"} & domain.keys():  # which reinforce takes, and ignores
        keywords |= draw_clips(draw, used, objective)
    if "ratio_limit" in used and objective == "clip":
        keywords |= draw.keyword("ratio_limit", POOLS["ratio_limit"])
    if "kl_weight" in used and draw.operation.accepts("reference_log_probs"):
        keywords |= draw.keyword("kl_weight", KL_WEIGHTS) | draw.keyword("kl_estimator", ESTIMATORS)
    elif "kl_estimator" in domain:
        keywords |= draw.keyword("kl_estimator", ESTIMATORS)
    if "reduction" in used:
        keywords |= draw.keyword("reduction", POOLS["reduction"])
    if "horizon" in used and keywords.get("reduction") == "constant":
        keywords |= draw.keyword("horizon", POOLS["horizon"])
    return keywords


def draw_clips(draw: Draw, used: set[str], objective: str) -> dict[str, Any]:
    """Draw the clips: often both are one number, which some functions have alone."""
    if "clip_low" not in used and "clip_high" not in used:
        return {}
    domain, lower = draw.operation.domain, (None, *CLIPS) if objective == "cispo" else CLIPS
    high = draw.keyword("clip_high", CLIPS)
    if domain.get("equal_clips"):
        return high | {"clip_low": high.get("clip_high", 0.2)}
    if high and "clip_low" not in domain and draw.operation.accepts("clip_low") and draw.one_of((True, False)):
        return high | {"clip_low": high["clip_high"]}
    allowed = domain.get("clip_low", lower if draw.operation.accepts("clip_low") else (0.2,))
    return high | draw.only("clip_low", *(value for value in allowed if value is not None or None in lower))


def draw_mask(draw: Draw, b: int, n: int, *, empty: bool = True) -> np.ndarray:
    """Draw which tokens count: all, the first of each sequence, or any; sometimes none of a sequence, but one of the batch."""
    kind, mask = draw.one_of(("padded", "padded", "all", "any", "any", "one each")), np.ones((b, n), dtype=bool)
    if draw.operation.domain.get("equal_lengths"):
        count = {"all": n, "one each": 1}.get(kind, 1 + draw.integer(0, 99) * n // 100)
        order = np.argsort(draw.rng.random((b, n)), axis=-1) if kind == "any" else np.arange(n) + np.zeros((b, 1))
        return np.asarray(order < count)
    if kind == "padded":
        mask = np.arange(n) < draw.rng.integers(1, n + 1, (b, 1))
    elif kind == "any":
        mask = draw.rng.random((b, n)) < draw.one_of((0.5, 0.9, 0.2))
    elif kind == "one each":
        mask = np.arange(n) == draw.rng.integers(0, n, (b, 1))
    if not empty:
        mask[~mask.any(axis=-1), draw.integer(0, 99) * n // 100] = True
    elif draw.one_of((False, False, True)):
        mask = mask & (draw.rng.random((b, 1)) < 0.7)
    if mask.size and not mask.any():
        mask.flat[draw.integer(0, 99) * mask.size // 100] = True
    return mask


def draw_advantages(draw: Draw, b: int, n: int, *, of_tokens: bool | None = None) -> np.ndarray:
    """Draw advantages of both signs, some of them 0, of sequences or of tokens."""
    allowed = draw.operation.domain.get("advantage_dims", (1, 2))
    both = (False, False, True) if allowed == (1, 2) else (2 in allowed,)
    per_token = draw.one_of(both) if of_tokens is None else of_tokens
    if (2 if per_token else 1) not in allowed:
        raise NotImplementedVariant(f"its domain has no advantages of {'tokens' if per_token else 'sequences'}")
    shape = (b, n) if per_token else (b,)
    x = draw.rng.standard_normal(shape) * draw.one_of((1.0, 1.0, 0.25, 4.0))
    return draw.held(np.where(draw.rng.random(shape) < draw.one_of((0.0, 0.0, 0.2)), 0.0, x))


def draw_moves(draw: Draw, shape: tuple[int, ...], largest: float, of: tuple[float, ...] = MOVES) -> np.ndarray:
    """Draw differences of log-probabilities: of one size or of all sizes, some of them 0."""
    size = draw.one_of((None, *of))
    sizes = draw.rng.choice(of, shape) if size is None else np.full(shape, size)
    moves = np.minimum(sizes, largest / 1.1) * draw.rng.uniform(-1.0, 1.0, shape)
    return np.where(draw.rng.random(shape) < draw.one_of((0.0, 0.0, 0.2)), 0.0, moves)


def draw_log_probs(
    draw: Draw, b: int, n: int, level: str = "token", of: tuple[float, ...] = MOVES
) -> tuple[np.ndarray, np.ndarray]:
    """Draw log-probabilities under the policy and under the old one, none above 0, and none too far apart for the level."""
    largest = LARGEST_MOVE[level]
    moves = draw_moves(draw, (b, n), largest, of)
    length = -draw.one_of(LENGTHS) * draw.rng.uniform(0.0, 1.0, (b, n))
    x, old = draw.held(length + np.minimum(moves, 0.0)), draw.held(length - np.maximum(moves, 0.0))
    return x, np.where(np.abs(x - old) > largest, x, old)


def draw_reference(draw: Draw, log_probs: np.ndarray, estimator: str) -> np.ndarray:
    """Draw log-probabilities under the reference, none above 0, and none too far from these for the estimator."""
    largest = LARGEST_MOVE[estimator]
    x = draw.held(np.minimum(log_probs + draw_moves(draw, log_probs.shape, largest), 0.0))
    return np.where(np.abs(x - log_probs) > largest, log_probs, x)


def draw_sizes(draw: Draw, level: str, longest: int) -> tuple[int, int]:
    """Draw how many sequences and tokens there are. Ratios of sequences are a column: a row of them fits a square batch alone."""
    if level == "sequence" and not draw.long and draw.one_of((False, False, True)):
        b = draw.size("b", (3, 2, 5))
        return b, draw.size("n", (b,))
    b, n = draw.dims(b=longest, n=longest)
    return b, n


def draw_arrays(
    draw: Draw, keywords: dict[str, Any], *, longest: int = 257, empty: bool = True, old: bool | None = None
) -> Policy:
    """Draw the arrays of a call with these keywords, in most examples with an old policy if the function takes one."""
    level = keywords.get("level", "token")
    b, n = draw_sizes(draw, level, longest)
    x, before = draw_log_probs(draw, b, n, level, LONG_MOVES if "ratio_limit" in keywords else MOVES)
    advantages = draw_advantages(draw, b, n, of_tokens=False if level == "sequence" else None)
    arrays = {}
    if draw.operation.accepts("old_log_probs") and keywords.get("objective") != "reinforce":
        with_old = draw.one_of((True,) * 5 + (False,)) if old is None else old
        arrays = {"old_log_probs": before} if with_old else {}
    if "kl_weight" in keywords:
        arrays["reference_log_probs"] = draw_reference(draw, x, keywords.get("kl_estimator", "k3"))
    return (x, advantages, draw_mask(draw, b, n, empty=empty)), arrays | keywords


def of_tokens(advantages: Any) -> Any:
    """Return the advantages as numbers without an error, in columns if they are those of sequences."""
    return Bounded(advantages[:, None] if advantages.ndim == 1 else advantages, 0.0, WIDE)


def draw_nothing(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw a batch in which no token counts, and whose mean is over tokens."""
    keywords = draw_options(draw, "clip_low", "clip_high", "kl_weight") | draw.only("reduction", "token-mean")
    (x, advantages, mask), given = draw_arrays(draw, keywords)
    return (x, advantages, np.zeros_like(mask)), given


def draw_empty_sequences(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw a batch in which a sequence has no token that counts, and another one has some, with a loss other than 0."""
    keywords = draw_options(draw, "clip_low", "clip_high") | draw.only("reduction", *BY_SEQUENCE)
    (x, advantages, mask), given = draw_arrays(draw, keywords, empty=False)
    if len(x) < 2:
        x, mask, advantages = (np.repeat(part, 2, axis=0) for part in (x, mask, advantages))
        given = {name: np.repeat(part, 2, axis=0) if isinstance(part, np.ndarray) else part for name, part in given.items()}
    mask[draw.integer(0, 99) * len(x) // 100] = False
    return (np.minimum(x, -0.25), np.abs(advantages) + 0.5, mask), given


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return draw_arrays(draw, draw_options(draw, *OPTIONAL))


def go_together(named: Mapping[str, Any]) -> bool:
    """Whether a loss has these arguments: "cispo" takes ratios of tokens alone, and it alone has no lower clip."""
    objective, level = named.get("objective", "clip"), named.get("level", "token")
    if level == "sequence" and (objective == "cispo" or named["advantages"].ndim > 1):
        return False
    if objective == "cispo":
        return named.get("ratio_limit") is None
    return objective != "clip" or named.get("clip_low", 0.2) is not None


declaration = Declaration(
    equation=policy_loss,
    arguments=arguments,
    core=dict.fromkeys(("log_probs", "mask", "old_log_probs", "reference_log_probs"), 1),
    precision="fused",
    dtypes=("float32", "float64"),
    go_together=go_together,
    choices={"objective": OBJECTIVES, "level": LEVELS, "kl_estimator": ESTIMATORS, "reduction": REDUCTIONS},
    constant_arguments=("advantages", "old_log_probs", "reference_log_probs"),
    open_questions={"all_ignored": draw_nothing, "empty_sequences": draw_empty_sequences},
    unbatched=True,  # the reductions, and the level "sequence"
    joins_rows=True,
)
