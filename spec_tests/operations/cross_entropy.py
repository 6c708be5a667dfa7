"""How cross_entropy is drawn."""

from types import MappingProxyType
from typing import Any

import numpy as np

from reference_numpy.cross_entropy import cross_entropy
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs import regimes
from spec_tests.inputs.draw import MANY_ROWS, MAX_SHORT_ROW, TALL_BATCHES, Draw, single
from spec_tests.specification.declaration import Declaration
from spec_tests.specification.formats import WIDER

REDUCTIONS = ("mean", "sum", "none")

IGNORED_IDS = (-100, -1, 0)  # 0 is an entry of the vocabulary, too
SMOOTHINGS = single(0.1, 0.5, 1.0, 0.0)
Z_LOSSES = single(1e-4, 0.1, 1.0, 0.0)
SOFTCAPS = (30.0, 15.0, 1.0)
OPTIONAL = ("ignore_index", "label_smoothing", "z_loss", "softcap", "reduction")
LARGEST_WEIGHT = 4.0
SCORES = MappingProxyType({name: fill for name, fill in regimes.LOGITS.items() if name not in ("minus infinity", "extreme")})


def ignores_rows(draw: Draw) -> bool:
    """Whether rows can be ignored: a function that takes no ignore_index is given no such rows."""
    return draw.operation.accepts("ignore_index") or "ignore_index" in draw.operation.domain


def draw_targets(draw: Draw, batch: tuple[int, ...], vocab: int, ignore_index: int) -> np.ndarray:
    """Draw target ids: any, the first and the last of the vocabulary, or a single one. Some rows are ignored, but not all."""
    kind = draw.one_of(("any", "any", "ends", "one"))
    targets = np.asarray(draw.rng.choice((0, vocab - 1), batch) if kind == "ends" else draw.rng.integers(0, vocab, batch))
    if kind == "one" and targets.size:
        targets = np.full(batch, targets.flat[0])
    if not ignores_rows(draw):
        return targets
    targets = np.where(draw.rng.random(batch) < draw.one_of((0.0, 0.0, 0.3, 0.9)), ignore_index, targets)
    if targets.size and np.all(targets == ignore_index):
        targets.flat[draw.integer(0, 99) * targets.size // 100] = vocab - 1 if vocab - 1 != ignore_index else 0
    return targets


def draw_options(draw: Draw, *names: str) -> dict[str, Any]:
    """Draw some of the optional keywords."""
    used = draw.variants(*names)
    pools: dict[str, tuple[Any, ...]] = {
        "ignore_index": IGNORED_IDS,
        "label_smoothing": SMOOTHINGS,
        "z_loss": Z_LOSSES,
        "softcap": SOFTCAPS,
        "reduction": REDUCTIONS,
    }
    return {
        name: value
        for used_name in names
        if used_name in used
        for name, value in draw.keyword(used_name, pools[used_name]).items()
    }


def draw_weight(draw: Draw, targets: np.ndarray, vocab: int, ignore_index: int) -> np.ndarray:
    """Draw the weight of each entry of the vocabulary: unequal ones, some of them 0. The target of some kept row has another."""
    weight = LARGEST_WEIGHT ** draw.rng.uniform(-1.0, 1.0, vocab)
    weight = np.where(draw.rng.random(vocab) < draw.one_of((0.0, 0.0, 0.3)), 0.0, weight)
    kept = targets[targets != ignore_index]
    if kept.size and not weight[kept].any():
        weight[kept[0]] = 1.0
    return draw.held(weight)


def draw_weighted(draw: Draw, *options: str) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Draw logits, targets, the weight among the keywords, and some of these optional ones."""
    if not draw.operation.accepts("weight"):
        raise NotImplementedVariant("the function takes no weight", "signature")
    logits, targets, keywords = draw_inputs(draw, *options, longest=257)
    weight = draw_weight(draw, targets, logits.shape[-1], keywords.get("ignore_index", -100))
    return logits, targets, keywords | {"weight": weight}


def draw_inputs(
    draw: Draw, *options: str, longest: int = 5000, batches: tuple[tuple[int, ...], ...] = MANY_ROWS
) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Draw logits, targets, and some of these optional keywords."""
    (vocab,) = draw.dims(vocab=longest)
    keywords = draw_options(draw, *options)
    ignored = keywords.get("ignore_index", -100)
    batch = draw.batch(batches)
    if vocab == 1 and ignored == 0:
        keywords["ignore_index"] = ignored = -100  # else no row could be kept
    return draw.array((*batch, vocab), SCORES), draw_targets(draw, batch, vocab, ignored), keywords


def draw_many_rows(draw: Draw, *options: str) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Draw as `draw_inputs` does; but half the examples have many short rows, whose sum needs a wide accumulator."""
    if draw.shape.one_of((False, True)):
        return draw_inputs(draw, *options)
    return draw_inputs(draw, *options, longest=MAX_SHORT_ROW, batches=TALL_BATCHES)


def draw_ignored(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw logits of which no row counts: every target is ignored, or there is none."""
    if not ignores_rows(draw):
        raise NotImplementedVariant("the function takes no ignore_index", "signature")
    logits, targets, keywords = draw_inputs(draw, "ignore_index", "label_smoothing", "z_loss", "softcap", longest=257)
    if targets.ndim and draw.one_of((False, False, True)):
        logits, targets = logits[..., :0, :], targets[..., :0]
    return (logits, np.full(targets.shape, keywords.get("ignore_index", -100))), keywords


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    logits, targets, keywords = draw_inputs(draw, *OPTIONAL)
    if "z_loss" not in keywords and "weight" in draw.variants("weight"):
        keywords["weight"] = draw_weight(draw, targets, logits.shape[-1], keywords.get("ignore_index", -100))
    return (logits, targets), keywords


declaration = Declaration(
    equation=cross_entropy,
    arguments=arguments,
    core={"logits": 1, "targets": 0},
    results={"": WIDER},
    choices={"reduction": REDUCTIONS},
    changeable=("softcap",),
    constant_arguments=("weight",),
    open_questions={"all_ignored": draw_ignored},
    unbatched=True,  # two of its reductions
    joins_rows=True,  # two of its reductions
)
