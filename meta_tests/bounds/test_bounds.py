"""Try to falsify the error bounds: no simulated implementation in the promised arithmetic may exceed the derived bound."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from random import Random

import numpy as np
import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from spec_tests.bounds.bounded import Bounded
from spec_tests.bounds.derivation import StagedExpectation, expect
from spec_tests.calls.call import Call
from spec_tests.calls.gradient import Gradient
from spec_tests.calls.open_choices import expect_by_choice
from spec_tests.calls.operation import Operation
from spec_tests.inputs.draw import Draw
from spec_tests.specification.formats import DTYPES, FORMATS, INTEGER, PRECISIONS, Arithmetic, Format, JoinedFormat
from spec_tests.specification.pytree import leaves
from spec_tests.specification.registry import gradients, operations, specification

from ..support.in_process import backend
from ..support.seeds import draw_seed
from ..support.simulated_arithmetic import simulate

FLOATING = [
    name
    for name in (*operations(), *gradients())
    if specification(name).precision != "exact" and specification(name).dtype is None and not specification(name).is_whole
]
COARSE = {bits: Format(f"{bits} bits", bits, -126, 127) for bits in (8, 12)}  # so few bits that the roundings are large


@dataclass(frozen=True)
class Extent:
    """How many calls of an operation are tried, each in how many simulated roundings, and how large they are."""

    calls: int
    composed_calls: int  # of an operation that is composed of others, whose bound takes many evaluations
    roundings: int  # half as many of an operation that chooses, whose bound is derived anew for each answer
    max_elements: int | None = None  # of the arguments of a call
    seed: int | None = None  # another one for each test if there is none

    def draw(self, name: str, dtype: str) -> Iterator[Call]:
        """Yield calls with small arguments: many roundings of these reach as much of a bound as few of large ones."""
        tested, seed = operation(name, dtype), draw_seed(f"{name} {dtype}") if self.seed is None else self.seed
        print(f"seed {seed}")  # pytest shows it if the test fails
        random, left = Random(f"{name} {dtype} {seed}"), self.composed_calls if tested.spec.composed else self.calls
        while left:
            call = Draw(random.randint, tested).call()
            if self.max_elements is None or count_elements(call) <= self.max_elements:
                left -= 1
                yield call

    def seeds(self, call: Call) -> range:
        """Return the seeds of the simulated roundings of a call."""
        return range(self.roundings // 2 if call.operation.spec.declaration.chooses else self.roundings)


def count_elements(call: Call) -> int:
    return sum(x.size for _, x in leaves(call.arguments) if isinstance(x, np.ndarray))


EXTENTS = [
    pytest.param(Extent(calls=8, composed_calls=2, roundings=4, max_elements=1000, seed=0), id="daily"),
    pytest.param(Extent(calls=30, composed_calls=15, roundings=4), id="nightly", marks=pytest.mark.nightly),
]


def check(call: Call, arithmetic: Arithmetic, seeds: range) -> None:
    storage, spec = storage_of(call, arithmetic), call.operation.spec
    expectation = expect(call.evaluate, arithmetic, storage, sampled=spec.composed)
    derive = partial(StagedExpectation, storage=storage, sampled=spec.composed)
    assert not np.any(expectation.error < 0)
    for seed in seeds:
        result = simulate(call.evaluate, arithmetic, storage, seed)
        if spec.declaration.chooses:
            call.observed = result
            expectation = expect_by_choice(call, call.evaluate, arithmetic, derive)
        accepted = expectation.accepts(result)
        assert np.all(accepted), (result[~accepted], expectation.value[~accepted], expectation.error[~accepted], seed)


def storage_of(call: Call, arithmetic: Arithmetic) -> Format | JoinedFormat:
    """Return the format of the result, in which indices keep all their digits."""
    if not (call.operation.spec.declaration.chooses and call.parts) or call.operation.spec.is_gradient:
        return arithmetic.storage
    whole = [rule == INTEGER for rule in call.operation.spec.results.values()]
    formats = [FORMATS["float64"] if is_whole else arithmetic.storage for is_whole in whole]
    return JoinedFormat([math.prod(part.shape) for part in call.parts], formats)


@cache
def operation(name: str, dtype: str) -> Operation:
    spec = specification(name)
    return (Gradient if spec.is_gradient else Operation)(spec, backend("numpy-cpu"), dtype, spec.precision)


@pytest.mark.rotating(one_in=4)
@pytest.mark.parametrize("extent", EXTENTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FLOATING)
def test_no_simulated_implementation_leaves_its_bound(name: str, dtype: str, extent: Extent) -> None:
    if specification(name).declaration.dtypes and dtype not in specification(name).declaration.dtypes:
        pytest.skip(f"{name} is not defined in {dtype}")
    promised = [Arithmetic.of(dtype, precision) for precision in PRECISIONS]
    for call in extent.draw(name, dtype):
        for arithmetic in dict.fromkeys(promised):  # float32 and float64 know only fused
            check(Call(call.operation, call.arguments, call.keywords), arithmetic, extent.seeds(call))


@pytest.mark.rotating(one_in=4)
@pytest.mark.parametrize("extent", EXTENTS)
@pytest.mark.parametrize("name", [name for name in FLOATING if not specification(name).composed])
def test_nor_in_arithmetic_so_coarse_that_second_order_shows(name: str, extent: Extent) -> None:
    for call in extent.draw(name, "bfloat16"):
        for coarse in COARSE.values():
            fresh = Call(call.operation, call.arguments, call.keywords)
            check(fresh, Arithmetic(FORMATS["float64"], coarse), extent.seeds(call))


def test_a_given_scale_is_never_flushed_to_zero() -> None:
    """2^-127 is below float32's normal range, and the code 0 of float8_e8m0fnu. The simulated code flushes what it computes."""
    options = {"block": (1, None), "scale_dtype": "float8_e8m0fnu"}
    scale, numbers = np.full((1, 1), 2.0**-127), np.array([[8.0, -448.0]])
    up = operation("dequantize", "float32").call(numbers, scale, q_dtype="float8_e4m3fn", **options)
    down = operation("quantize", "float32").call(numbers * 2.0**-127, scale, dtype="float8_e4m3fn", **options)
    for call, exact in ((up, numbers * 2.0**-127), (down, numbers)):
        results = [simulate(call.evaluate, Arithmetic.of("float32"), FORMATS["float32"], seed) for seed in range(20)]
        assert {np.array_equal(result, exact) for result in results} == {True}
        assert np.all(call.expectation("fused").accepts(exact))


@pytest.mark.parametrize("cap", [None, 30.0])
def test_an_overflow_that_is_divided_by_claims_nothing(cap: float | None) -> None:
    """The squares of a row overflow float16 where each step is stored. The quotient must not be taken for an exact 0."""
    weights = {"token_embedding": np.array([[300.0, 200.0]]), "layers": [], "final_norm": np.ones(2), "lm_head": np.eye(2)}
    call = operation("transformer_lm", "float16").call(
        np.array([0]), weights, num_heads=1, theta=None, eps=0.1, logit_softcap=cap
    )
    answer = np.nextafter(np.asarray(call.evaluate(np.asarray)).astype(np.float16), np.float16(2))
    assert np.all(np.abs(answer) > 0.5)
    assert np.all(call.expectation("eager").accepts(answer.astype(np.float64)))


def large_block(seed: int) -> Call:
    """Make a call with large gains: the values are a few thousand, but the worst case of the roundings overflows float16."""
    rng, hold = np.random.default_rng(seed), FORMATS["float16"].round
    shapes = {"w_q": (8, 8), "w_k": (8, 8), "w_v": (8, 8), "w_o": (8, 8), "w1": (16, 8), "w2": (8, 16), "w3": (16, 8)}
    weights = {name: hold(rng.standard_normal(shape) / np.sqrt(shape[-1])) for name, shape in shapes.items()}
    weights |= {"attn_norm": 4 * hold(rng.standard_normal(8)), "ffn_norm": 8 * hold(rng.standard_normal(8))}
    weights["w2"] *= 16
    return operation("transformer_block", "float16").call(hold(rng.standard_normal((3, 8))), weights, num_heads=2, eps=0.1)


def test_where_the_worst_case_alone_overflows_the_oracle_s_value_is_expected() -> None:
    overflowed = 0
    for call in map(large_block, range(20)):
        worst = call.evaluate(lambda a: Bounded.input(a, Arithmetic.of("float16", "eager")))
        expectation = call.expectation("eager")
        overflowed += int(np.sum(np.isinf(worst.value) & expectation.claimed))
        assert np.array_equal(expectation.value[expectation.claimed], call.value[expectation.claimed])
    assert overflowed


def test_a_bias_that_may_be_read_as_zero_has_a_bound() -> None:
    """A subnormal number is read as zero in some draws, so a subnormal bias is not the same in all of them."""
    rng, hold = np.random.default_rng(0), FORMATS["float32"].round
    x, w1, w2, b1 = (hold(rng.standard_normal(shape)) for shape in ((3, 4), (6, 4), (4, 6), (6,)))
    call = operation("feed_forward", "float32").call(x, w1, w2, b1=b1, b2=hold(np.array([1e-40, 1.0, -1e-44, 0.0])))
    check(call, Arithmetic.of("float32", "fused"), range(3))
    assert np.all(call.expectation("fused").claimed)


def test_what_vanishes_in_float64_has_an_error_of_its_own_size() -> None:
    """Sampling draws larger roundings and scales the error back. What is lost below the normal range must not be scaled back."""
    q, k, v = np.array([[1.0]]), np.array([[0.0], [740.0]]), np.array([[1.0], [2.0]])
    call = operation("scaled_dot_product_attention_vjp", "float64").call(np.ones((1, 1)), q, k, v, scale=1.0)
    vanishing = (call.value != 0) & (np.abs(call.value) < FORMATS["float64"].tiny)
    assert np.any(vanishing)
    assert np.all(call.expectation("fused").error[vanishing] > 0)


def test_a_subnormal_argument_that_has_an_error_of_its_own_may_be_read_as_zero_as_well() -> None:
    rms_norm = Operation(specification("rms_norm"), backend("numpy-cpu"), "float32", "fused")
    subnormal = 2.0**-127
    for x in (np.array([subnormal]), Bounded([subnormal], [2.0**-200], Arithmetic.of("float64"))):
        allowed = rms_norm.call(x, np.ones(1), eps=1e-5).expectation("fused")
        assert allowed.accepts(np.zeros(1)).all()
        assert not allowed.accepts(np.full(1, 4 * subnormal / 1e-5**0.5)).all()


@pytest.mark.parametrize("seed", range(4))
def test_attention_may_recompute_its_weights_from_the_logsumexp(seed: int) -> None:
    """PyTorch's flash kernel does so. Where scores reach hundreds, the rounding of the logsumexp is most of its error."""
    rng, scale = np.random.default_rng(seed), float(np.float32(1.7))
    c, *given = (rng.integers(-9, 10, (1, 1, 16, 4)).astype(float) for _ in range(4))
    leaves = [torch.tensor(x, dtype=torch.float32, requires_grad=True) for x in given]
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        y = torch.nn.functional.scaled_dot_product_attention(*leaves, scale=scale)
    found = torch.autograd.grad(y, leaves, torch.tensor(c, dtype=torch.float32))
    allowed = operation("scaled_dot_product_attention_vjp", "float32").call(c, *given, scale=scale).expectation("fused")
    assert np.all(allowed.claimed)
    assert np.all(allowed.accepts(np.concatenate([x.double().numpy().ravel() for x in found])))


@pytest.mark.parametrize("seed", range(4))
def test_attention_may_compute_its_weights_from_the_lse_that_it_returns(seed: int) -> None:
    """Its equation is written so. Where scores reach hundreds, the weights of a row then do not sum to 1."""
    rng = np.random.default_rng(seed)
    q, k = (rng.integers(-16, 17, (1, 1, 32, 64)).astype(np.float32) for _ in range(2))
    v = np.ones((1, 1, 32, 4), np.float32)
    scores = q @ np.swapaxes(k, -1, -2) * np.float32(0.125)
    lse = torch.logsumexp(torch.tensor(scores), dim=-1, keepdim=True).numpy()
    out = np.exp(scores - lse) @ v
    expected = operation("attention_with_lse", "float32").call(q, k, v).expectation("fused")
    assert np.any(np.abs(out - 1) > 2.0**-21)
    for found, accepted in ((out, True), (out * (1 + 2.0**-10), False)):
        given = np.concatenate([found.astype(float).ravel(), lse.astype(float).ravel()])
        assert np.all(expected.accepts(given)) == accepted


@pytest.mark.parametrize("cotangent", [2.0**-24, 37 * 2.0**-24, 320 * 2.0**-24, 2.0**-14, 2.0**-10, 0.3, -17.0])
def test_the_tanh_form_may_be_differentiated_step_by_step_in_float16(cotangent: float) -> None:
    """The smaller the cotangent, the more of its products on the way back through the cube are subnormal."""
    x = np.arange(0, 2**15 - 2**10, 5, dtype=np.uint16).view(np.float16)
    x = np.concatenate((x, -x))[np.abs(np.concatenate((x, x))) < 147]  # from 148 on 3 x² overflows
    leaf, c = torch.tensor(x, requires_grad=True), torch.full(x.shape, cotangent, dtype=torch.float16)
    y = 0.5 * leaf * (1 + torch.tanh(math.sqrt(2 / math.pi) * (leaf + 0.044715 * leaf**3)))
    (slope,) = torch.autograd.grad(y, leaf, c)
    call = operation("gelu_vjp", "float16").call(c.double().numpy(), x.astype(float), approximate="tanh")
    allowed = call.expectation("eager")
    assert np.all(allowed.accepts(slope.double().numpy().reshape(allowed.value.shape)))
    assert np.mean(allowed.claimed) > 0.99
