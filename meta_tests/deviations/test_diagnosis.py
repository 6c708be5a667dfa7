"""Test the diagnosis. Each case has a few calls written by hand, answered by a known deviation or by the oracle."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from reference_numpy.linear_attention import linear_attention
from reference_numpy.rope import rope
from spec_tests.calls.call import Call
from spec_tests.calls.operation import Operation
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.known_deviations import diagnose
from spec_tests.diagnosis.near_misses import another_option, find_near_miss, in_float32, looser_class
from spec_tests.diagnosis.wish import Wish
from spec_tests.implementation.backend import Backend
from spec_tests.implementation.framework import Framework
from spec_tests.specification.registry import specification
from spec_tests.trials import asker

from ..support.in_process import backend

ROW, GAIN = np.array([3.0, -1.0, 2.0, 5.0]), np.array([1.0, 2.0, -1.0, 0.5])
ORACLE = "numpy-cpu"


def answer(by: str, operation: str, *arguments: Any, dtype: str = "float32", precision: str = "eager", **keywords: Any) -> Call:
    name = by if by == ORACLE else f"deviation:{by}"
    called = Operation(specification(operation), backend(name), dtype, precision)
    called(*arguments, **keywords)
    return called.recorder.calls[0]


def names(failing: list[Call], *others: Call) -> list[str]:
    return [one.id for one in diagnose(Evidence.gather(failing, others))]


def normalize(by: str, x: np.ndarray = ROW, *, eps: float = 0.5, dtype: str = "float32") -> Call:
    return answer(by, "rms_norm", x, GAIN, eps=eps, dtype=dtype)


def test_a_deviation_is_named() -> None:
    assert names([normalize("rms_norm/eps-outside-sqrt")]) == ["rms_norm/eps-outside-sqrt"]


def test_right_answers_are_called_nothing() -> None:
    assert names([normalize(ORACLE)]) == []


def test_a_penalty_of_many_occurrences_may_overflow() -> None:
    """In float32 two to the power of 256 is infinite, and so is what is multiplied by it."""

    def penalize(logits: Any, output_ids: Any, *, repetition_penalty: float) -> Any:
        with np.errstate(over="ignore"):
            factor = np.float32(repetition_penalty) ** np.bincount(output_ids, minlength=len(logits)).astype(np.float32)
            return np.where(logits > 0, logits / factor, logits * factor)

    under_test = Backend("unseen", SimpleNamespace(penalize_logits=penalize), Framework("numpy"))
    called = Operation(specification("penalize_logits"), under_test, "float32", "eager")
    for count in (2, 256):
        called(np.array([-1.0, 2.0, 0.5]), np.repeat([0, 1], count), repetition_penalty=2.0)
    assert names(called.recorder.calls) == ["penalize_logits/once-per-occurrence"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_right_answer_speaks_against_it_in_other_dtypes_too(dtype: str) -> None:
    wrong, contradicted = normalize("rms_norm/eps-outside-sqrt"), normalize(ORACLE, 2 * ROW, dtype=dtype)
    assert names([wrong], contradicted) == []


@pytest.mark.parametrize(
    ("by", "named"),
    [
        ("rms_norm/eps-outside-sqrt", ["rms_norm/eps-outside-sqrt"]),
        ("rms_norm/no-root", ["rms_norm/eps-outside-sqrt"]),
        (ORACLE, []),
    ],
)
def test_right_answers_of_other_sizes_speak_against_what_explains_one_size(by: str, named: list[str]) -> None:
    """The answers to calls of other sizes are those of the deviation, wrong in another way, or right."""
    asked: list[int] = []

    def ask(wish: Wish) -> list[Call]:
        if wish.as_drawn:
            return []
        asked.append(d := wish.sizes["d"])
        return [answer(by, "rms_norm", np.resize(ROW, d), np.resize(GAIN, d), eps=0.5)]

    evidence = Evidence.gather([normalize("rms_norm/eps-outside-sqrt")], [])
    assert [one.id for one in diagnose(evidence, ask=ask)] == named
    assert asked == ([5] if by == ORACLE else [5, 6, 7])


def test_wrong_answers_of_two_sizes_are_tested_on_no_chosen_sizes() -> None:
    def ask(wish: Wish) -> list[Call]:
        assert wish.as_drawn
        return []

    wrong = [normalize("rms_norm/eps-outside-sqrt"), answer("rms_norm/eps-outside-sqrt", "rms_norm", ROW[:2], GAIN[:2], eps=0.5)]
    assert [one.id for one in diagnose(Evidence.gather(wrong, []), ask=ask)] == ["rms_norm/eps-outside-sqrt"]


@pytest.mark.parametrize(("by", "named"), [("rms_norm/eps-outside-sqrt", ["rms_norm/eps-outside-sqrt"]), (ORACLE, [])])
def test_right_answers_to_calls_as_laws_draw_them_speak_against_a_deviation(by: str, named: list[str]) -> None:
    """The wrong answers that are known may have an option in common for which two bugs give the same."""

    def ask(wish: Wish) -> list[Call]:
        return [answer(by, "rms_norm", 3 * ROW, GAIN, eps=0.5)] if wish.as_drawn else []

    wrong = [normalize("rms_norm/eps-outside-sqrt"), answer("rms_norm/eps-outside-sqrt", "rms_norm", ROW[:2], GAIN[:2], eps=0.5)]
    assert [one.id for one in diagnose(Evidence.gather(wrong, []), ask=ask)] == named


@pytest.mark.parametrize(("others", "own", "is_named"), [(2, 0, True), (3, 0, False), (3, 1, True), (4, 1, False)])
def test_more_wrong_answers_must_be_those_of_a_deviation_than_of_another_bug(others: int, own: int, is_named: bool) -> None:
    """Wrong answers of two sizes are known. Two bugs may give the same there, or one and a second one be at work."""

    def ask(wish: Wish) -> list[Call]:
        said_by = ["rms_norm/no-root"] * others + ["rms_norm/eps-outside-sqrt"] * own
        return [normalize(by, np.roll(3 * ROW, number)) for number, by in enumerate(said_by)] if wish.as_drawn else []

    wrong = [normalize("rms_norm/eps-outside-sqrt"), answer("rms_norm/eps-outside-sqrt", "rms_norm", ROW[:2], GAIN[:2], eps=0.5)]
    named = [one.id for one in diagnose(Evidence.gather(wrong, []), ask=ask)]
    assert named == (["rms_norm/eps-outside-sqrt"] if is_named else [])


def test_a_wrong_answer_in_another_dtype_may_be_another_bug() -> None:
    wrong, other = normalize("rms_norm/eps-outside-sqrt"), normalize("rms_norm/no-root", dtype="float64")
    assert names([wrong], other) == ["rms_norm/eps-outside-sqrt"]


def test_other_examples_decide_between_deviations_that_agree_on_one() -> None:
    """On a row of ones, several deviations give the same values."""
    alike, apart = (normalize("rms_norm/gain-ignored", x) for x in (np.ones(4), ROW))
    assert names([alike], apart) == ["rms_norm/gain-ignored"]


def test_an_arithmetic_that_loses_all_digits_is_named() -> None:
    """The variance of a row far from zero is lost. The bound of the deviation is then so wide that it contains the truth."""
    weight, bias = np.ones(4), np.zeros(4)
    far, near = (answer("layer_norm/one-pass-variance", "layer_norm", x, weight, bias, eps=1e-5) for x in (ROW + 9000, ROW))
    farther = answer("layer_norm/one-pass-variance", "layer_norm", ROW + 30000, weight, bias, eps=1e-5)
    assert names([far], farther, near) == ["layer_norm/one-pass-variance"]


class Unshifted:
    """A softmax without shift, in float32: the exponentials of a whole row may underflow or overflow."""

    @staticmethod
    def softmax(x: Any, *, axis: int) -> Any:
        with np.errstate(all="ignore"):
            return np.exp(x) / np.exp(x).sum(axis, keepdims=True)


def test_nan_that_only_the_dtype_produces_does_not_contradict_a_deviation() -> None:
    kernel = Operation(specification("softmax"), Backend("unshifted", Unshifted, Framework("numpy")), "float32", "eager")
    kernel(np.array([[-189.0, -125.0], [1.0, 2.0], [500.0, 0.0]]), axis=-1)
    assert np.isnan(kernel.recorder.calls[0].observed).tolist() == [[True, True], [False, False], [True, False]]
    assert names(kernel.recorder.calls) == ["softmax/no-maximum-subtracted"]


class Rounded:
    """A product that is rounded to the dtype of the arguments before the bias is added: the class mixed."""

    @staticmethod
    def linear(x: Any, weight: Any, bias: Any) -> Any:
        return (x.astype(np.float32) @ weight.T.astype(np.float32)).astype(x.dtype) + bias


def test_the_looser_class_that_explains_it() -> None:
    row, column, bias = np.array([1.0, 2**-7]), np.array([[1.0, 0.5]]), np.array([-1.0])
    kernel = Operation(specification("linear"), Backend("rounded", Rounded, Framework("numpy")), "bfloat16", "fused")
    kernel(row, column, bias)
    assert looser_class(Evidence.gather(kernel.recorder.calls)) == "mixed"
    ignored = answer("linear/bias-ignored", "linear", row, column, bias, dtype="bfloat16", precision="fused")
    assert looser_class(Evidence.gather([ignored])) == ""


class Single:
    """Functions that round float64 arguments, or intermediate results, to float32."""

    @staticmethod
    def rms_norm(x: Any, weight: Any, *, eps: float) -> Any:
        x, weight = np.asarray(x, dtype=np.float32), np.asarray(weight, dtype=np.float32)
        return (x / np.sqrt(np.square(x).mean(-1, keepdims=True) + np.float32(eps)) * weight).astype(np.float64)

    @staticmethod
    def rope(x: Any, positions: Any, *, theta: float) -> Any:
        angle = np.float32(positions)[:, None] * np.float32(theta) ** (
            -np.arange(0, x.shape[-1], 2, dtype=np.float32) / x.shape[-1]
        )
        a, b = x[..., 0::2], x[..., 1::2]
        return np.stack([a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)], -1).reshape(x.shape)


def answer_in_float32(operation: str, *arguments: Any, **keywords: Any) -> Call:
    backend = Backend("single", Single, Framework("numpy"))
    kernel = Operation(specification(operation), backend, "float64", "fused")
    kernel(*arguments, **keywords)
    return kernel.recorder.calls[0]


def test_float64_computed_in_float32_is_recognized() -> None:
    assert in_float32(Evidence.gather([answer_in_float32("rms_norm", ROW / 3, GAIN, eps=1e-5)]))
    assert in_float32(
        Evidence.gather(
            [answer_in_float32("rms_norm", 1e200 * ROW, GAIN, eps=1e-5)], [answer_in_float32("rms_norm", ROW / 3, GAIN, eps=1e-5)]
        )
    )


def test_one_step_in_float32_is_enough() -> None:
    assert in_float32(Evidence.gather([answer_in_float32("rope", np.tile(ROW / 3, (3, 1)), np.array([1, 2, 1000]), theta=1e4)]))


@pytest.mark.parametrize("eps", [1e-4, 1e-12])
def test_larger_and_smaller_errors_than_those_of_float32_are_not_taken_for_float32(eps: float) -> None:
    assert not in_float32(Evidence.gather([answer("rms_norm/eps-ignored", "rms_norm", ROW / 3, GAIN, eps=eps, dtype="float64")]))


def test_overflow_alone_does_not_say_float32() -> None:
    assert not in_float32(Evidence.gather([answer_in_float32("rms_norm", 1e200 * ROW, GAIN, eps=1e-5)]))


def test_right_answers_and_other_dtypes_are_not_taken_for_float32() -> None:
    assert not in_float32(Evidence.gather([normalize(ORACLE, dtype="float64")]))
    assert not in_float32(Evidence.gather([normalize("rms_norm/eps-ignored", eps=1e-6)]))


class Remembering:
    """A rotation that caches the angles of each width, with the first theta that it saw."""

    def __init__(self) -> None:
        self.kept: dict[int, float] = {}

    def rope(self, x: Any, positions: Any, *, theta: float) -> Any:
        return rope(x, positions, theta=self.kept.setdefault(x.shape[-1], theta))


def rotate(*given: tuple[int, float]) -> list[Call]:
    """Rotate rows of each width with its theta, one call after another."""
    kernel = Operation(specification("rope"), Backend("remembering", Remembering(), Framework("numpy")), "float64", "fused")
    for width, theta in given:
        kernel(np.ones((3, width)), np.array([7, 8, 9]), theta=theta)
    return kernel.recorder.calls


def test_the_option_of_an_earlier_call_is_found() -> None:
    *others, failing = rotate((4, 100.0), (8, 1e4), (4, 1e4), (4, 500.0), (8, 100.0), (8, 500.0))
    assert names([failing], *others) == []
    assert another_option(Evidence.gather([failing], others)) == ("theta", [100.0, 1e4])


def test_a_value_that_the_equation_does_not_take_is_no_other_option() -> None:
    """The default of axis is none, so that None is tried too. The equation is evaluated only when its value is asked for."""
    calls = [answer(ORACLE, "log_softmax", scale * ROW, axis=axis) for scale, axis in ((1.0, -1), (2.0, 0), (3.0, -1))]
    for call in calls:
        assert call.observed is not None
        call.observed[0] += 1
    assert another_option(Evidence.gather(calls)) is None


def test_nan_alone_names_no_option() -> None:
    """An epsilon of 0 gives NaN for a row of equal numbers, and so does the unbiased deviation of a row of one number."""
    one = np.ones(1)
    calls = [answer(ORACLE, "layer_norm", np.array([x]), one, one, eps=eps) for x, eps in ((0.0, 1e-5), (2.0, 1e-3), (3.0, 0.0))]
    for call in calls:
        assert call.observed is not None
        call.observed[...] = np.nan
    assert another_option(Evidence.gather(calls[:2], calls[2:])) is None


def test_one_answer_for_another_option_may_be_by_chance() -> None:
    earlier, failing = rotate((4, 100.0), (4, 1e4))
    assert another_option(Evidence.gather([failing], [earlier])) is None


def test_another_option_has_to_explain_every_wrong_answer() -> None:
    *others, failing = rotate((4, 100.0), (4, 1e4), (4, 500.0))
    assert another_option(Evidence.gather([failing], others)) is not None
    assert others[1].observed is not None
    others[1].observed[-1, -1] += 1
    assert another_option(Evidence.gather([failing], others)) is None


class SlowDecay:
    """Linear attention whose given state decays a little less than it must: another equation, within the bound of eager code."""

    dtypes = ("float16", "float32")

    @staticmethod
    def linear_attention(
        q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, *, scale: Any = None, qk_l2norm: bool = False
    ) -> Any:
        out, after = linear_attention(
            *(x.astype(np.float64) for x in (q, k, v)), g, beta, state, scale=scale, qk_l2norm=qk_l2norm
        )
        kept = 0.0 if state is None or g is None else 0.3 * np.exp(np.sum(g, axis=-2))[..., None] * state
        return out.astype(q.dtype), (after + kept).astype(np.float32)


def test_no_looser_class_where_float32_is_wrong_too() -> None:
    """In 16 bits the bound of eager code is wide enough for another recurrence, which the same call in float32 shows."""
    draw, backend = np.random.default_rng(0), Backend("slow", SlowDecay, Framework("numpy"))
    kernel = Operation(specification("linear_attention"), backend, "float16", "mixed")
    q, k, v = (draw.integers(-4, 5, (1, 32, 4)) / 4 for _ in range(3))
    kernel(q, k, v, np.full((1, 32, 1), -0.0625), state=draw.integers(-4, 5, (1, 4, 4)) / 4)
    evidence = Evidence.gather(kernel.recorder.calls)
    assert looser_class(evidence) == "eager"
    assert find_near_miss(evidence, in_float32_instead=asker.answer_in_float32) is None


def test_no_other_option_is_named_where_it_changes_nothing() -> None:
    """A scale in float32 has one rounding. Zeros are judged at the zero point that was returned, under another option as well."""
    given = {"dtype": "uint8", "block": (1, 2), "symmetric": False}
    called = Operation(specification("dynamic_quantize"), backend(ORACLE), "float32", "fused")
    for rounding in ("rceil", "floor", "even"):
        called(np.array([[0.0, -(2.0**-120), 3.0, -1.0]]), **given, scale_rounding=rounding)  # so small a scale leaves much open
    for call in called.recorder.calls:
        assert call.observed is not None
        call.observed[0] = 255 - call.observed[0]
    evidence = Evidence.gather(called.recorder.calls)
    assert len(evidence.wrong) == 3
    assert another_option(evidence) is None
