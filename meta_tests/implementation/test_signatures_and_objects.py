"""A backend gets the keywords that its signatures name. It may be a class instance, and may state conventions and dtypes."""

import inspect
import json
import random
from contextlib import suppress
from pathlib import Path

import pytest

from spec_tests.calls.operation import Operation
from spec_tests.calls.signature import find_left_out_argument
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.implementation.backend import load
from spec_tests.inputs.choices import NoExample
from spec_tests.inputs.draw import Draw
from spec_tests.specification.registry import operations, specification

from ..support.in_process import backend
from ..support.pytest_process import ATTENTION, NUMPY, RELU, RMS_NORM, ROPE, green, suite, write

WITH_OPTIONAL_ARRAYS = [
    name
    for name in operations()
    if any(p.kind is p.POSITIONAL_OR_KEYWORD and p.default is None for p in specification(name).parameters.values())
]
GENERIC = ("--hypothesis-seed=5", "-k", "test_reference or test_batch_independence or test_empty or test_repeatable")


# --- signatures -------------------------------------------------------------------------------------------------------


def test_every_keyword_that_is_accepted_is_passed(tmp_path: Path) -> None:
    """Only mask and bias have a default here, so that a call without any other keyword raises."""
    body = """
def scaled_dot_product_attention(q, k, v, mask=None, bias=None, *, is_causal, scale):
    return attention(q, k, v, mask, bias, is_causal, scale)

def rope(x, positions, *, theta, layout):
    return turned(x, positions, theta, layout)

def causal_mask(*, n, m, aligned):
    m = n if m is None else m
    return np.tri(n, m, m - n if aligned == "bottom-right" else 0, dtype=bool)
"""
    green(tmp_path, ATTENTION + ROPE + body, *GENERIC)


def test_the_author_s_own_defaults_do_not_matter(tmp_path: Path) -> None:
    body = """
def scaled_dot_product_attention(q, k, v, mask=None, bias=None, *, is_causal=True, scale=1.0):
    return attention(q, k, v, mask, bias, is_causal, scale)

def rope(x, positions, *, theta=500000.0, layout="half"):
    return turned(x, positions, theta, layout)
"""
    green(tmp_path, ATTENTION + ROPE + body, *GENERIC)


def test_a_keyword_that_is_not_accepted_is_never_varied(tmp_path: Path) -> None:
    body = """
def scaled_dot_product_attention(q, k, v):
    return attention(q, k, v)

def rope(x, positions):
    return turned(x, positions)

def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)

def linear(x, weight):
    return (x.astype(np.float64) @ weight.T).astype(x.dtype)
"""
    facts = green(tmp_path, ATTENTION + ROPE + body, *GENERIC)
    assert all(facts[f"{name}.reference"]["examples"] for name in ("scaled_dot_product_attention", "rope", "softmax", "linear"))


def test_a_function_of_any_keywords_is_given_all_of_them(tmp_path: Path) -> None:
    body = """
def scaled_dot_product_attention(q, k, v, **keywords):
    assert set(keywords) >= {"is_causal", "scale", "softcap"}, keywords
    return attention(q, k, v, **keywords)

def gelu(x, **keywords):
    assert set(keywords) == {"approximate"}
    raise NotImplementedError(keywords["approximate"])
"""
    green(tmp_path, ATTENTION + body + RELU, *GENERIC)


def test_arguments_that_are_positional_only_are_positional(tmp_path: Path) -> None:
    body = """
relu = np.frompyfunc(lambda a: max(a, np.float32(0)), 1, 1)  # a function without a signature
relu = type("Ufunc", (), {"__call__": lambda self, x, /: np.maximum(x, np.float32(0))})()

def rms_norm(x, weight, /, *, eps):
    return wide_rms_norm(x, weight, eps=eps)
"""
    green(tmp_path, RMS_NORM.replace("rms_norm", "wide_rms_norm") + body, *GENERIC)


# --- the rest of a backend --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WITH_OPTIONAL_ARRAYS)
def test_an_optional_array_is_passed_by_keyword(name: str) -> None:
    """A function may take it by keyword alone, as `def moe_router(logits, *, bias=None, k)` does."""
    spec, source = specification(name), random.Random(0)
    operation = Operation(spec, backend("numpy-cpu"), "float32", spec.precision)  # caches in few bits are not drawn in float64
    always = [p for p in spec.positional if spec.parameters[p].default is inspect.Parameter.empty]
    given = set[str]()
    for _ in range(40):
        with suppress(NotImplementedVariant, NoExample):
            call = Draw(source.randint, operation).call()
            assert len(call.arguments) <= len(always)
            given |= {array for array in spec.positional if call.keywords.get(array) is not None}
    assert given


@pytest.mark.rotating
def test_a_convention_may_be_refused_only_where_it_is_not_stated(tmp_path: Path) -> None:
    body = """
def scaled_dot_product_attention(q, k, v, mask=None, *, is_causal=False):
    if is_causal and q.shape[-2] != k.shape[-2]:
        raise ValueError("no one has said how")
    if mask is not None and not np.all(np.any(np.broadcast_to(mask, (*mask.shape[:-1], k.shape[-2])), axis=-1)):
        raise ValueError("a query without a key")
    return attention(q, k, v, mask, is_causal=is_causal)
"""
    facts = green(tmp_path, ATTENTION + body, "--hypothesis-seed=5", "-k", "test_scaled_dot_product_attention")
    untried = [fact["reason"] for fact in facts.values() if "it refuses the question" in fact["reason"]]
    assert any("causal_alignment is not stated, and it refuses the question" in reason for reason in untried)
    assert any("fully_masked_rows is not stated, and it refuses the question" in reason for reason in untried)
    write(
        tmp_path, mine=NUMPY + ATTENTION + body + "\n\nconventions = {'causal_alignment': 'top-left', 'fully_masked_rows': 'nan'}"
    )
    selection = "test_scaled_dot_product_attention and (causal or fully)"
    run = suite(tmp_path, "--backend=mine.py", "--effort=default", "-k", selection)
    assert run.code == 1
    assert "no one has said how" in run.text
    assert "a query without a key" in run.text


def test_a_class_instance_is_a_backend_and_is_waited_for(tmp_path: Path) -> None:
    body = """
import json, pathlib

class Device:
    framework, dtypes, name, version = "numpy", ("float32",), "the device", "9.9"
    calls = {"relu": 0, "synchronize": 0}

    def relu(self, x):
        self.count("relu")
        return np.maximum(x, 0)

    def synchronize(self):
        self.count("synchronize")

    def count(self, name):
        self.calls[name] += 1
        pathlib.Path("calls.json").write_text(json.dumps(self.calls))
"""
    write(tmp_path, mine=NUMPY + body)
    run = suite(tmp_path, "--backend=mine:Device", "-k", "relu.reference")
    assert run.statuses == {"relu.reference the device float32": "passed"}
    calls = json.loads((tmp_path / "calls.json").read_text())
    assert calls["relu"] == calls["synchronize"] > 1


def test_numpy_has_bfloat16_through_ml_dtypes(tmp_path: Path) -> None:
    pytest.importorskip("ml_dtypes")
    relu = RELU.replace("0)", "0).astype(x.dtype)")  # before NumPy 2.2 the maximum of bfloat16 and an int is float32
    body = RMS_NORM + relu + "\n\ndtypes = ('bfloat16',)"
    facts = green(tmp_path, body, "--hypothesis-seed=5", "-k", "rms_norm or relu")
    assert {fact["dtype"] for fact in facts.values() if fact["status"] == "passed"} == {"bfloat16"}
    assert facts["rms_norm.reference"]["class"] == "fused"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ('name = "my kernels"', "my kernels"),
        ('for name in ("gelu", "relu"): globals()[name] = globals()[name]', "mine"),
        ('for name in ("float64", "float32"): pass', "mine"),
        ('for name in ("weights.txt", "codes.txt"): pass', "mine"),
        ('if True:\n    for path in ("weights.txt",):\n        name = path', "mine"),
        ("name = 3", "mine"),
        ("name = None", "mine"),
        ('name = ""', "mine"),
        ('name = "two\\nlines"', "mine"),
        ('name = "x" * 200', "mine"),
    ],
)
def test_only_a_short_text_of_its_own_is_taken_for_the_name(line: str, name: str, tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU + "gelu = relu\n" + line + "\n")
    assert load("mine.py", tmp_path, {"relu"}).name == name


def test_a_function_of_fewer_arrays_is_another_function(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU + "\n\ndef swiglu(gate, up):\n    return gate / (1 + np.exp(-gate)) * up\n")
    found = suite(tmp_path, "--backend=mine.py", "-k", "swiglu.reference or relu.reference")
    assert found.code == 0, found.text
    text = " ".join(found.text.split())
    assert "it has swiglu, but its first parameters are not x, w1, w2, w3; rename them, or the function" in text


def test_a_function_of_fewer_arrays_than_a_newer_operation_is_another_function(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU + "\n\ndef policy_loss(log_probs, returns):\n    return -(log_probs * returns).mean()\n")
    found = suite(tmp_path, "--backend=mine.py", "-k", "policy_loss.reference or relu.reference")
    assert found.code == 0, found.text
    words = "mine's policy_loss takes (log_probs, returns), but the operation is called with (log_probs, advantages, mask)"
    assert words in " ".join(found.text.split())


def test_a_parameter_with_the_name_of_another_array_is_said(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU + "\n\ndef sample(logits, temperature=1.0):\n    return np.argmax(logits, -1)\n")
    found = suite(tmp_path, "--backend=mine.py", "-k", "sample.reference or relu.reference")
    assert found.code == 0, found.text
    words = (
        "mine's sample takes logits, but the operation is called with probabilities; rename the parameter if it is probabilities"
    )
    assert words in " ".join(found.text.split())


def test_a_slip_is_said_before_the_dtypes_that_an_operation_lacks(tmp_path: Path) -> None:
    """NumPy's first dtype is float64, in which nobody quantizes."""
    body = "def scaled_matmul(a, b, scale_a, scale_b, *, a_dtype, b_dtype, block_a, block_b, dtype):\n    return a @ b.T\n"
    write(tmp_path, slip=NUMPY + RELU + body + 'dtypes = ("float64", "float32")\n')
    text = " ".join(suite(tmp_path, "--backend=slip.py", "-k", "scaled_matmul.reference or relu.reference").text.split())
    assert "requires the argument scale_a, which most calls leave out: write scale_a=None" in text


def test_a_domain_of_result_dtypes_is_no_refusal(tmp_path: Path) -> None:
    """Of dequantize the dtype is that of the result. Those that the domain leaves out are not tried, and conform or not."""
    body = """

def dequantize(q, scale, *, q_dtype, block, dtype="float32"):
    return q.astype("float32") * scale

domain = {"dequantize": {"q_dtype": ("int8",), "dtype": ("float32",), "block": ((None, None),)}}
dtypes = ("float32", "float16")
"""
    write(tmp_path, mine=NUMPY + RELU + body)
    found = suite(tmp_path, "--backend=mine.py", "-k", "dequantize.reference or relu.reference")
    assert "answered too little" not in found.text


def test_an_optional_array_without_a_default_is_answered_before_anything_is_judged(tmp_path: Path) -> None:
    body = "\n\ndef linear(x, weight, bias):\n    return x @ weight.T + bias\n"
    write(
        tmp_path,
        slip=NUMPY + RELU + body,
        mended=NUMPY + body.replace("bias):", "bias=None):").replace("+ bias", "+ (0 if bias is None else bias)"),
    )
    slip = suite(tmp_path, "--backend=slip.py", "-k", "linear.reference or relu.reference")
    assert slip.code == 0, slip.text
    assert "linear requires the argument bias, which most calls leave out: write bias=None" in " ".join(slip.text.split())
    mended = suite(tmp_path, "--backend=mended.py", "--require=linear", "-k", "linear.reference")
    assert mended.code == 0, mended.text


def test_an_optional_array_that_every_call_has_needs_no_default() -> None:
    """The second operand of scaled_matmul has a scale in every call, and the first one has none where it is wide."""
    spec = specification("scaled_matmul")
    assert find_left_out_argument(spec, lambda a, b, scale_b, *, block_b: None) == ""
    assert find_left_out_argument(spec, lambda a, b, scale_a, scale_b, *, block_b: None) == "scale_a"
