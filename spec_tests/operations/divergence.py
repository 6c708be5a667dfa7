"""How divergence is drawn: scores of a student, and of a teacher that is near to it, equal, or another."""

from types import MappingProxyType
from typing import Any

import numpy as np

from reference_numpy.divergence import divergence
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import MANY_ROWS, Draw
from spec_tests.operations.cross_entropy import IGNORED_IDS, REDUCTIONS, SCORES
from spec_tests.operations.token_log_probs import TEMPERATURES
from spec_tests.specification.declaration import Declaration
from spec_tests.specification.formats import WIDER

BETAS = (0.0, 0.5, 1.0, 0.1, 0.9)
POOLS = MappingProxyType({"beta": BETAS, "temperature": TEMPERATURES, "reduction": REDUCTIONS})
OPTIONAL = ("beta", "temperature", "reduction")
TEACHERS = ("another", "another", "near", "near", "equal")


def draw_options(draw: Draw, *names: str) -> dict[str, Any]:
    """Draw some of the optional keywords. With "beta" among them it is always drawn."""
    used = draw.variants(*names) | {"beta"}
    return {name: value for one in names if one in used for name, value in draw.keyword(one, POOLS[one]).items()}


def draw_teacher(draw: Draw, student: np.ndarray) -> np.ndarray:
    """Draw the scores of a teacher, row by row: near to those of the student, the same, or others."""
    kinds = draw.rng.choice(TEACHERS, (*student.shape[:-1], 1))
    other = draw.rng.standard_normal(student.shape) * draw.one_of((1.0, 4.0, 12.0))
    near = student + other / 16
    return draw.held(np.where(kinds == "another", other, np.where(kinds == "near", near, student)))


def draw_logits(draw: Draw, *, longest: int = 5000) -> tuple[np.ndarray, np.ndarray]:
    """Draw the logits of a student and of a teacher, all finite."""
    (vocab,) = draw.dims(vocab=longest)
    student = draw.array((*draw.batch(MANY_ROWS), vocab), SCORES)
    return student, draw_teacher(draw, student)


def draw_removed(draw: Draw) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw logits of which some entries are −inf in both, and the entries that are left."""
    if draw.operation.domain.get("removed_entries") is False:
        raise NotImplementedVariant("its domain has no logits of −∞")
    student, teacher = draw_logits(draw, longest=300)
    vocab = student.shape[-1]
    left = draw.rng.random(vocab) < draw.one_of((0.5, 0.9, 0.1))
    left[draw.integer(0, 99) * vocab // 100] = True
    return np.where(left, student, -np.inf), np.where(left, teacher, -np.inf), left


def draw_targets(draw: Draw, shape: tuple[int, ...]) -> dict[str, Any]:
    """Draw targets, of which some are ignored, but not all."""
    if not draw.operation.accepts("targets"):
        raise NotImplementedVariant("the function takes no targets", "signature")
    given = draw.keyword("ignore_index", IGNORED_IDS)
    ignored = given.get("ignore_index", -100)
    targets = np.where(draw.rng.random(shape) < draw.one_of((0.3, 0.9, 0.0)), ignored, draw.rng.integers(1, 7, shape))
    if targets.size and np.all(targets == ignored):
        targets.flat[draw.integer(0, 99) * targets.size // 100] = 1
    return {"targets": targets} | given


def maybe_targets(draw: Draw, shape: tuple[int, ...]) -> dict[str, Any]:
    """Draw targets in some examples."""
    return draw_targets(draw, shape) if "targets" in draw.variants("targets") else leave_out_targets(draw)


def leave_out_targets(draw: Draw) -> dict[str, Any]:
    """Draw what is passed without targets: an ignore_index if the domain names some, since the default may be none of them."""
    return draw.keyword("ignore_index", IGNORED_IDS) if "ignore_index" in draw.operation.domain else {}


def draw_ignored(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw targets that are all ignored."""
    student, teacher = draw_logits(draw, longest=257)
    given = draw_targets(draw, student.shape[:-1])
    return (student, teacher), draw_options(draw, "beta", "temperature") | {
        **given,
        "targets": np.full(student.shape[:-1], given.get("ignore_index", -100)),
    }


def draw_with_removed_entries(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    student, teacher, _ = draw_removed(draw)
    return (student, teacher), draw_options(draw, *OPTIONAL) | leave_out_targets(draw)


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    student, teacher = draw_logits(draw)
    return (student, teacher), draw_options(draw, *OPTIONAL) | maybe_targets(draw, student.shape[:-1])


declaration = Declaration(
    equation=divergence,
    arguments=arguments,
    core={"student_logits": 1, "teacher_logits": 1, "targets": 0},
    precision="fused",
    results={"": WIDER},
    choices={"reduction": REDUCTIONS},
    constant_arguments=("teacher_logits",),
    changeable=("temperature",),
    open_questions={"all_ignored": draw_ignored},
    branches={"removed entries might be absent": draw_with_removed_entries},
    unbatched=True,  # two of its reductions
    joins_rows=True,  # two of its reductions
)
