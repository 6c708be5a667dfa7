"""What a message tells people to write is written here into right code, which is green then.

Each case is code that is right but for what the message is about, the words that ask for a change, and the change.
"""

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from spec_tests.calls.signature import ask_for_keywords
from spec_tests.deviations import OracleBackend, catalogue
from spec_tests.implementation.backend import build_backend, load
from spec_tests.implementation.domain import find_complaints
from spec_tests.implementation.lookup import BackendError
from spec_tests.running.arguments import DOMAIN_EXAMPLE
from spec_tests.specification.registry import operations, specification

from ..support.in_process import caught_by
from ..support.pytest_process import NUMPY, RELU, RMS_NORM, ROPE, Run, complaints, suite, write

Change = Callable[[str, re.Match[str]], str]  # of the code, and what was found in the message


def add_line(code: str, found: re.Match[str]) -> str:
    """Return the code with the line that the message states at its end."""
    return f"{code}\n\n{found[1]}\n"


def replace(old: str, new: str = r"\1") -> Change:
    r"""Return the change of a text of the code, in which \1 is what the message says."""
    return lambda code, found: code.replace(old, found.expand(new))


@dataclass(frozen=True)
class Advice:
    code: str
    words: str  # a pattern, of the message or of the reason for which a law is not tried
    change: Change


NORM = RMS_NORM.replace(", *, eps):", "):").replace("+ eps", "+ 1e-5")
GATE = """
def gated_activation(x, *, activation="silu", layout="concatenated", gate="first", limit):
    if activation != "silu" or layout != "concatenated" or gate != "first":
        raise NotImplementedError("one form alone")
    a, b = np.split(x.astype(np.float64), 2, axis=-1)
    a, b = np.minimum(a, limit), np.clip(b, -limit, limit)
    return (a / (1 + np.exp(-a)) * b).astype(x.dtype)
"""
WEIGHTS = """
def attention_with_weights(q, k, v):
    s = q.astype(np.float64) @ np.swapaxes(k, -1, -2) * k.shape[-1] ** -0.5
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    out, weights = (p @ v).astype(q.dtype), p.astype(q.dtype)
    return weights, out
"""
IF_GIVEN = "if limit is not None:"
LINEAR = """
def linear(x, weight, bias):
    y = (x.astype(np.float64) @ weight.T)
    return (y {added}).astype(x.dtype)
"""
LOSS = """
def cross_entropy(logits, targets, *, ignore_index=-100):
    z = logits.astype(np.float64) - logits.max(-1, keepdims=True)
    log_p = z - np.log(np.exp(z).sum(-1, keepdims=True))
    kept = targets != ignore_index
    loss = -np.take_along_axis(log_p, np.where(kept, targets, 0)[..., None], -1)[..., 0]
    return np.asarray((loss * kept).sum() / kept.sum()).astype(logits.dtype)
"""
GELU = """
import math

def gelu(x):
    h = x.astype(np.float64)
    return (h / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * h**3)))).astype(x.dtype)
"""
ADVICE = {
    "a keyword": Advice(NORM, r"has no argument eps: .*, as in (domain = .*\})", add_line),
    "a keyword, added": Advice(
        NORM, r"has no argument (eps): add it", lambda code, found: code.replace("weight):", f"weight, *, {found[1]}):").replace(
            "1e-5", found[1])
    ),
    "an unknown argument": Advice(
        RMS_NORM.replace("eps):", "eps, fast):"), r"requires the argument (fast), .*; give it a default",
        replace("fast", r"\1=True"),
    ),
    "an array left out": Advice(
        LINEAR.format(added="+ (0 if bias is None else bias)"), r"requires the argument bias, .*: write (bias=None), and compute",
        replace("bias):", r"\1):"),
    ),
    "None": Advice(
        GATE, r"raises where limit is None, .*: write (limit=None), and compute without it",
        lambda code, found: code.replace("limit):", f"{found[1]}):", 1).replace("    a, b = np.m", f"    {IF_GIVEN} a, b = np.m"),
    ),
    "results": Advice(WEIGHTS, r"come in another order, as \(weights, out\): write (return out, weights)",
                      replace("return weights, out")),
    "a gain": Advice(RMS_NORM.replace("* weight", "* (1 + weight)"), r"if meant +add (conventions = .*)", add_line),
    "a form": Advice(GELU, r"if meant +add (domain = .*)", add_line),
    "a layout": Advice(
        ROPE.replace("turned", "rope").replace('theta=10000.0, layout="interleaved"', "theta=10000.0").replace(
            'if layout == "interleaved"', "if False"),
        r"if meant +add (domain = .*)", add_line,
    ),
    "a region": Advice(RELU.replace("return", "assert x.ndim == 0 or x.shape[-1] <= 8\n    return"),
                       r"if meant +add (domain = .*)", add_line),
    "a value of a convention": Advice(LOSS, r"add: (conventions = \{.*\})", add_line),
    "a text for a tuple": Advice(RELU + "\ndtypes = 'float32'\n", r"give a tuple, as in (dtypes = .*,\))", add_line),
    "a misspelt name": Advice(
        RMS_NORM.replace("rms_norm", "rms_nrom"), r"if (rms_norm) is meant, rename it", replace("rms_nrom")
    ),
    "other parameters": Advice(
        "\ndef rotary(x, angles):\n    pass\n" + ROPE.replace("def turned", "def turn") + RELU,
        r"if rope is meant, write (rope\(x, positions), …\), which calls it",
        lambda code, found: f"{code}\n\ndef {found[1]}, *, theta=10000.0):\n    return turn(x, positions, theta)\n",
    ),
    "names of parameters": Advice(
        "\ndef layer_norm(bias, weight, kernel):\n    return bias\n" + RELU,
        r"first parameters are not x, weight, bias; (rename) them, or the function",
        replace("def layer_norm", "def scaled_bias"),
    ),
}  # fmt: skip
OPERATIONS = ("rms_norm", "linear", "gated_activation", "gelu", "rope", "relu", "layer_norm")
SELECTED = (
    " or ".join(f"{name}.reference" for name in OPERATIONS)
    + " or (attention_with_weights and not vjp) or (cross_entropy and not vjp)"
)


def file_of(case: str) -> str:
    return re.sub("[^a-z]+", "_", case.lower())


def run_all(folder: Path, codes: dict[str, str]) -> Run:
    """Run the suite once on all of them."""
    write(folder, **{file_of(case): NUMPY + code for case, code in codes.items()})
    backends = [f"--backend={file_of(case)}.py" for case in codes]
    return suite(folder, *backends, "--hypothesis-seed=1", "-k", SELECTED)


def find_advice(run: Run, case: str) -> re.Match[str] | None:
    """Return what a message or a reason says about the backend of a case."""
    own = file_of(case)
    reasons = [fact["reason"] for fact in run.facts if fact["backend"] == own]
    causes = re.findall(r"^cause \d+: .*?^ *again: [^\n]*", run.text, re.MULTILINE | re.DOTALL)
    messages = [cause for cause in causes if f"--backend={own}.py " in cause]
    remarks = run.text.partition(f"= {own}: precision class")[2].partition("\n=")[0]
    return re.search(ADVICE[case].words, "\n".join([*reasons, *messages, remarks]))


REFUSED = ("a text for a tuple", "a misspelt name")  # for which no run begins


@pytest.fixture(scope="module")
def advised(tmp_path_factory: pytest.TempPathFactory) -> dict[str, re.Match[str] | None]:
    """Return what is said about each case. One run makes all of them but those that are refused."""
    folder = tmp_path_factory.mktemp("advice")
    run = run_all(folder, {case: advice.code for case, advice in ADVICE.items() if case not in REFUSED})
    found = {case: find_advice(run, case) for case in ADVICE if case not in REFUSED}
    write(folder, **{file_of(case): NUMPY + ADVICE[case].code for case in REFUSED})
    said = dict(zip(REFUSED, complaints(folder, *(f"--backend={file_of(case)}.py" for case in REFUSED)), strict=True))
    return found | {case: re.search(ADVICE[case].words, text) for case, text in said.items()}


@pytest.fixture(scope="module")
def followed(advised: dict[str, re.Match[str] | None], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return the run on the codes in which the advice was followed."""
    codes = {case: ADVICE[case].change(ADVICE[case].code, found) for case, found in advised.items() if found}
    assert all(codes[case] != ADVICE[case].code for case in codes)
    return run_all(tmp_path_factory.mktemp("followed"), codes)


@pytest.mark.parametrize("case", ADVICE)
def test_what_a_message_tells_to_write_makes_right_code_green(
    case: str, advised: dict[str, re.Match[str] | None], followed: Run
) -> None:
    assert advised[case], f"nothing matches {ADVICE[case].words}"
    own = [fact for fact in followed.facts if fact["backend"] == file_of(case)]
    assert [fact["id"] for fact in own if fact["status"] == "failed"] == [], followed.text
    assert any(fact["status"] == "passed" for fact in own), followed.text
    assert not find_advice(followed, case)


def test_the_lines_of_required_keywords_are_domains() -> None:
    for operation in operations():
        keywords = [name for name in specification(operation).required if name != "axis"]
        for asked in filter(None, [keywords, *([name] for name in keywords)]):
            stated = state(ask_for_keywords(operation, asked).partition("as in ")[2])["domain"]
            assert [*stated[operation]] == asked
            assert [*find_complaints(specification(operation), stated[operation])] == []


def state(line: str) -> dict[str, Any]:
    """Return what a line states."""
    found: dict[str, Any] = {}
    exec(line, found)
    return found


@pytest.mark.parametrize("name", [name for name, found in catalogue().items() if found.meant])
def test_a_deviation_that_may_be_meant_conforms_with_the_line_that_states_it(name: str) -> None:
    deviation = catalogue()[name]
    source, law = OracleBackend(deviation), f"{deviation.operation}.reference"
    assert law in caught_by(build_backend(source, operations()), seed=1, only=law)
    for attribute in ("domain", "conventions"):
        setattr(source, attribute, {**getattr(source, attribute), **state(deviation.meant).get(attribute, {})})
    assert law not in caught_by(build_backend(source, operations()), seed=1, only=law)


OF_A_CLASS = """
import numpy as np


class Ops:
    framework = "numpy"

    def relu(self, x):
        return np.maximum(x, 0)
"""


def test_a_class_of_a_file_is_named_with_what_to_write(tmp_path: Path) -> None:
    made = f"{OF_A_CLASS}\n    def __init__(self, size):\n        pass\n"
    write(tmp_path, mine=OF_A_CLASS, made=made)
    asked = load_complaint("mine.py", tmp_path)
    assert asked.endswith("its class Ops has relu: write --backend=mine.py:Ops")
    assert load(asked.rpartition("=")[2], tmp_path, operations()).function("relu")
    asked = load_complaint("made.py", tmp_path)
    line, text = re.search(r"as in (made = Ops\(…\)), and write --backend=(\S+)", asked).groups()  # type: ignore[union-attr]
    write(tmp_path, again=f"{made}\n\n{line.replace('…', '8')}\n")  # a file that is imported already is not read again
    assert load(text.replace("made.py", "again.py"), tmp_path, operations()).function("relu")


def load_complaint(text: str, folder: Path) -> str:
    with pytest.raises(BackendError) as refusal:
        load(text, folder, operations())
    return str(refusal.value)


def test_the_line_that_names_a_framework(tmp_path: Path) -> None:
    code = "def relu(x):\n    return x * (x > 0)\n"
    write(tmp_path, mine=code)
    line = re.search('add a line (framework = ".*?")', load_complaint("mine.py", tmp_path))
    assert line
    write(tmp_path, stated=f"{line[1].replace('torch', 'numpy')}\n\n{code}")
    assert caught_by(load("stated.py", tmp_path, operations()), seed=1, only="relu.reference") == {}


def test_the_example_of_a_domain_runs(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RMS_NORM)
    run = suite(tmp_path, "--backend=mine.py", *shlex.split(DOMAIN_EXAMPLE), "-k", "rms_norm.reference")
    assert run.code == 0, run.text
    assert run.count("passed") == 1
