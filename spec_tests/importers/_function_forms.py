"""What the name and the parameters of a function leave open, and a few small calls show.

Calls choose between the forms of one operation. Which operation is meant, its name and its parameters say.
"""

from __future__ import annotations

import dis
import importlib
import inspect
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from ..specification.aliases import KEYWORDS
from ._imported import RAISED, find_name, list_parameters
from ._module_probes import NEAR, PROBES
from ._promises import DEFAULT_DTYPES, NUMPY_DTYPES
from ._signatures import Match

NAMESPACES: Mapping[str, str] = MappingProxyType(
    {"torch": "torch", "numpy": "numpy", "jax": "jax.numpy", "mlx": "mlx.core", "cupy": "cupy"}
)
LENGTH_NAMES = (
    "n", "seq_len", "seq_length", "length", "max_len", "max_seq_len", "max_length", "context_length", "context_len", "block_size",
    "num_positions", "n_positions", "size", "T",
)  # fmt: skip
HEADS_NAMES = ("num_heads", *KEYWORDS["num_heads"], "heads", "h", "H", "nhead")
TOKENS, WIDTH = 3, 4
BATCHES = ((), (1,), (1, 2))  # with which a function is tried
PAIRS_OF_RESULTS: Mapping[tuple[int, ...], str] = MappingProxyType(
    {(TOKENS, TOKENS): "attention_with_weights", (TOKENS,): "attention_with_lse"}
)  # the shape of the second result of attention, and the operation that has it
OF_PLAIN_ATTENTION: Mapping[str, Any] = MappingProxyType({"attention_with_lse": {"h_kv": "h"}})  # it shares no heads
NORMS: Mapping[str, int] = MappingProxyType({"rms_norm": 2, "layer_norm": 3})  # and how many arrays they have
OF_EPSILON: Mapping[str, int] = MappingProxyType({**NORMS, "l2_norm": 1})  # operations with an epsilon, with as many arrays
TINY = 1e-20  # a magnitude that is far below every epsilon that people write, and its square below the smallest float32
DIGITS = 3  # of an epsilon
ROUNDING = 1e-4  # of an epsilon: a number that has more digits is not one that people write
ATTENTION = "scaled_dot_product_attention"


@dataclass(frozen=True)
class Form:
    """An operation, and the function that is taken for it."""

    operation: str
    name: str  # of the function
    function: Callable[..., Any]
    words: str
    domain: Mapping[str, Any] = field(default_factory=dict)
    match: Match | None = None  # None: the function's answer is made into that of the operation
    conventions: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_plain(self) -> bool:
        """Whether the function is the operation as it stands."""
        is_renamed = self.match is None or not self.match.is_plain or self.name != self.operation
        return not (is_renamed or self.domain or self.conventions)


class FormProbe:
    """Calls functions on small arrays of a framework. A function that raises says nothing."""

    def __init__(self, framework: str, *, is_stated: bool = True) -> None:
        self.framework, self.is_stated = framework, is_stated  # whether the file states its framework
        self.dtypes = NUMPY_DTYPES if framework == "numpy" and not is_stated else DEFAULT_DTYPES

    def list_forms(self, operation: str, match: Match, has: Callable[[str], bool]) -> Iterator[Form]:
        """Yield what the function is, with what a call shows of it. `has` says which operations have functions of their own."""
        if operation == ATTENTION and not match.order and (other := self._find_second_result(match)) and not has(other):
            pairs = {other: match.name} | match.words
            yield Form(other, match.name, match.wrap(), _list_names(pairs), OF_PLAIN_ATTENTION.get(other, {}), match)
            return
        pairs = ({operation: match.name} if match.name != operation else {}) | match.words
        if not match.order:
            yield self._see_choices(operation, match, _list_names(pairs))
            return
        domain: dict[str, Any] = {**self._find_batches(match), "empty": False, "dtype": self.dtypes}
        shown: dict[str, Any] = {}
        if "positions" in match.missing:
            domain |= {"positions": "consecutive"}
            shown = {"layout": self._find_layout(match, domain)} if "layout" not in match.keywords else {}
        if match.is_shared:
            if self.framework not in ("torch", "numpy"):
                return
            domain |= {"one_array": True, "m": "n", "d_v": "d_k", "broadcast": False}
            shown = {"scale": self._find_scale(match, domain)} if "scale" not in match.keywords else {}
        whole = replace(match, hidden=shown)
        words = [
            _list_names(pairs),
            *(f"{name} = {value}, as a call shows" for name, value in shown.items()),
            "which is q, k and v" if "one_array" in domain else "",
            *(f"{theirs} is the shape of {ours}" for theirs, ours in match.shapes.items()),
            "of the positions 0, 1, 2, …" if "positions" in match.missing else "",
        ]
        domain |= {name: (value,) for name, value in shown.items()}
        yield Form(operation, match.name, whole.wrap(), ", ".join(filter(None, words)), domain, whole)

    def list_alibi_forms(self, name: str, function: Any) -> Iterator[Form]:
        """Yield the two operations that a bias of a length and a number of heads is: its slopes, and its distances."""
        names = [p.name for p in list_parameters(function) if p.default is p.empty]
        length, heads = find_name(names, LENGTH_NAMES), find_name(names, HEADS_NAMES)
        if {length, heads} != {*names} or not length or not heads:
            return

        def bias(n: int, count: int) -> Any:
            found = function(**{length: n, heads: count})
            return found.reshape(found.shape[-3:])

        def alibi_slopes(*, num_heads: int) -> Any:
            return -bias(2, num_heads)[:, 1, 0]

        def alibi_bias(slopes: Any, *, n: int) -> Any:
            one, unit = bias(n, 1), bias(2, 1)[:, 1:, :1]
            return slopes[:, None, None] * (one / unit) * -1

        with suppress(*RAISED):  # of the function itself
            if bool((np.asarray(bias(2, 1))[:, 1, 0] < 0).all()):
                words = f"{name}({length}, {heads})"
                yield Form("alibi_slopes", name, alibi_slopes, f"the slopes of {words}", {"dtype": self.dtypes})
                divided = f"{words} of one head, divided by its slope"
                yield Form("alibi_bias", name, alibi_bias, divided, {"dtype": self.dtypes, "empty": False})

    def _see_choices(self, operation: str, match: Match, names: str) -> Form:
        """Return the form of a function with the operation's arrays, with what its name and its parameters leave open.

        A file that states a framework is written for this suite, and has the choices of the equations.
        """
        shown, conventions = dict[str, Any](), dict[str, str]()
        if not self.is_stated and not _takes_any_keyword(match.function):
            parameters = [p.name for p in list_parameters(match.wrap())]
            if operation == "gelu" and "approximate" not in parameters and self._is_tanh(match):
                shown = {"approximate": "tanh"}
            if operation == "rope" and "layout" not in parameters and self._find_layout(match, {}) == "half":
                shown = {"layout": "half"}
            if operation in OF_EPSILON and "eps" not in parameters and (eps := self._find_epsilon(match, operation)):
                shown = {"eps": eps}
            if operation in NORMS and self._adds_one(match, operation):
                conventions = {"gain": "one plus weight"}
        seen = [f"{name} = {value}, as a call shows" for name, value in {**shown, **conventions}.items()]
        whole = replace(match, hidden=shown) if shown else match
        domain = {name: (value,) for name, value in shown.items()}
        return Form(operation, match.name, whole.wrap(), ", ".join(filter(None, (names, *seen))), domain, whole, conventions)

    # --- calls ------------------------------------------------------------------------------------------------------

    def call(self, match: Match, *arrays: np.ndarray, **options: Any) -> tuple[np.ndarray, ...] | None:
        """Return the results of the function, None if it raises or if the framework is not known."""
        if self.framework not in NAMESPACES:
            return None
        try:
            namespace = importlib.import_module(NAMESPACES[self.framework])
            answer = match.wrap()(*(namespace.asarray(x) for x in arrays), **options)
            results = answer if isinstance(answer, tuple | list) else (answer,)
            return tuple(np.asarray(x.detach() if hasattr(x, "detach") else x, dtype=np.float64) for x in results)
        except RAISED:  # of the function itself, which the run will show
            return None

    def _find_second_result(self, match: Match) -> str:
        """Return the operation that returns what the function returns beside the output, "" if it returns the output alone."""
        if not _returns_pairs(match.function):
            return ""
        x = _draw((1, TOKENS, WIDTH))
        results = self.call(match, x, x, x)
        if results is None or len(results) != 2 or results[0].shape != x.shape:
            return ""
        return PAIRS_OF_RESULTS.get(results[1].shape[1:], "")

    def _give(self, match: Match, x: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the arrays of a call: x itself, or x and positions."""
        positions = np.arange(x.shape[-2])
        return tuple(positions if name == "positions" else x for name in match.order or match.arrays)

    def _find_batches(self, match: Match) -> dict[str, Any]:
        """Return how many batch axes the function takes, {} if any number, or if it takes none of those that are tried."""
        ranks = []
        for batch in BATCHES:
            x = _draw((*batch, TOKENS, WIDTH))
            results = self.call(match, *self._give(match, x), **_needed(match))
            if results is not None and results[0].shape == x.shape:
                ranks.append(len(batch))
        return {"batch_dims": tuple(ranks)} if 0 < len(ranks) < len(BATCHES) else {}

    def _find_layout(self, match: Match, domain: dict[str, Any]) -> str:
        """Return whether the first feature is turned into its neighbour or into that of the other half."""
        x = np.zeros((*_batch_of(domain), TOKENS, WIDTH), np.float32)
        x[..., 0] = 1
        results = self.call(match, *self._give(match, x), **_needed(match))
        if results is None or results[0].shape != x.shape:
            return "interleaved"
        turned = np.abs(results[0][..., 1, :]).reshape(-1, WIDTH)[0]
        return "half" if turned[WIDTH // 2] > turned[1] else "interleaved"

    def _is_tanh(self, match: Match) -> bool:
        """Whether the function's answers are nearer to the tanh form of GELU than to the exact one."""
        x = np.array(PROBES, np.float32)
        results = self.call(match, x)
        if results is None or results[0].shape != x.shape:
            return False
        wide = x.astype(np.float64)
        exact = wide * np.array([1 + math.erf(value / math.sqrt(2)) for value in wide]) / 2
        tanh = wide * (1 + np.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3))) / 2
        return bool(np.abs(results[0] - tanh).max() < np.abs(results[0] - exact).max())

    def _adds_one(self, match: Match, operation: str) -> bool:
        """Whether a gain of 2 makes the row three times as large as a gain of 0 does."""
        x = np.tile(np.array([1, -1], np.float32), (1, WIDTH // 2))
        answers = []
        for gain in (0.0, 2.0):
            arrays = [x, np.full(WIDTH, gain, np.float32), np.zeros(WIDTH, np.float32)][: NORMS[operation]]
            results = self.call(match, *arrays, **_needed(match))
            if results is None or results[0].shape != x.shape or not np.all(np.isfinite(results[0]) & (results[0] != 0)):
                return False
            answers.append(results[0])
        return bool(np.all(np.abs(answers[1] / answers[0] - 3) < NEAR))

    def _find_epsilon(self, match: Match, operation: str) -> float:
        """Return the epsilon of a function that does not take one, 0 if its answers show none.

        A row that is nearly 0 is divided by epsilon, or by its root. What a row of that length is divided by shows which it is.
        """
        least = self._find_divisor(match, operation, TINY)
        if not 0 < least < math.inf:
            return 0.0
        ratio = self._find_divisor(match, operation, least) / least
        nearest = min((1, math.sqrt(2), 2), key=lambda shown: abs(ratio - shown))  # a floor, below the root, beside the length
        eps = least if nearest in (1, 2) else least**2
        rounded = float(f"{eps:.{DIGITS - 1}e}")
        return rounded if abs(rounded - eps) <= ROUNDING * eps else 0.0

    def _find_divisor(self, match: Match, operation: str, length: float) -> float:
        """Return what a row of this length, as the operation has it, is divided by, 0 if the answer shows none."""
        scale = length / (math.sqrt(WIDTH) if operation == "l2_norm" else 1)
        row = np.tile(np.array([scale, -scale], np.float32), (1, WIDTH // 2))
        arrays = [row, np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)][: OF_EPSILON[operation]]
        results = self.call(match, *arrays)
        size = float(np.abs(results[0]).max()) if results and results[0].shape == row.shape else 0.0
        return scale / size if 0 < size < math.inf else 0.0

    def _find_scale(self, match: Match, domain: dict[str, Any]) -> float | None:
        """Return 1 if the scores are those of the plain product, else None, the default."""
        x = _draw((*_batch_of(domain), TOKENS, WIDTH))
        results = self.call(match, *self._give(match, x), **_needed(match))
        if results is None or results[0].shape != x.shape:
            return None
        gaps = {scale: float(np.abs(_attend(x, scale or WIDTH**-0.5) - results[0]).max()) for scale in (1.0, None)}
        return min(gaps, key=lambda scale: gaps[scale])


def _takes_any_keyword(function: Callable[..., Any]) -> bool:
    return any(p.kind is p.VAR_KEYWORD for p in list_parameters(function))


def _returns_pairs(function: Callable[..., Any]) -> bool:
    """Whether the code of a function returns two values somewhere. A function that does not is not called."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    steps = list(dis.get_instructions(code)) if code is not None else []
    return any(
        (first.opname, first.arg, second.opname) == ("BUILD_TUPLE", 2, "RETURN_VALUE")
        for first, second in itertools.pairwise(steps)
    )


def _list_names(pairs: Mapping[str, str]) -> str:
    return ", ".join(f"{theirs} for {ours}" for ours, theirs in pairs.items())


def _draw(shape: tuple[int, ...]) -> np.ndarray:
    """Return random numbers, always the same."""
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def _batch_of(domain: dict[str, Any]) -> tuple[int, ...]:
    return BATCHES[domain.get("batch_dims", (1,))[0]]


def _needed(match: Match) -> dict[str, Any]:
    """Return values of the keywords that the function takes: a window that hides no token, say."""
    values = {"theta": 10_000.0, "window": TOKENS, "is_causal": False, "num_heads": 1, "eps": 1e-5, "axis": -1}
    return {p.name: values[p.name] for p in list_parameters(match.wrap()) if p.name in values}


def _attend(x: np.ndarray, scale: float) -> np.ndarray:
    """Return the attention of an array to itself."""
    scores = x.astype(np.float64) @ np.swapaxes(x, -1, -2).astype(np.float64) * scale
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ x
