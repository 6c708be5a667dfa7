"""Functions and arguments under names of the field are taken, and what cannot be taken is answered with what to write."""

from pathlib import Path

import pytest

from spec_tests.specification.aliases import ARRAYS, CLASS_NAMES, KEYWORDS, OPERATIONS, OTHER_PARAMETERS, TAKEN_BY
from spec_tests.specification.registry import operations, specification

from ..support.pytest_process import EPS_OUTSIDE, NUMPY, RELU, RMS_NORM, python, suite, write

RMSNORM = """
def rmsnorm(hidden_states, gamma, epsilon=1e-6):
    h = hidden_states.astype(np.float64)
    return (h / np.sqrt(np.mean(np.square(h), -1, keepdims=True) + epsilon) * gamma).astype(hidden_states.dtype)
"""


def test_the_tables_agree_with_the_operations() -> None:
    assert {*OPERATIONS, *CLASS_NAMES} <= {*operations()}
    for name, (others, arrays) in OPERATIONS.items():
        assert specification(name).positional[: len(arrays)] == arrays
        assert not {*others} & {*operations()}
    parameters = {parameter for name in operations() for parameter in specification(name).parameters}
    assert {*ARRAYS, *KEYWORDS} <= parameters
    having = {ours: tuple(name for name in operations() if ours in specification(name).parameters) for ours in KEYWORDS}
    assert dict(TAKEN_BY) == having
    for name in operations():  # no alias of one argument is the name of another argument of the same operation
        own = specification(name).parameters.keys()
        assert [ours for ours in own & KEYWORDS.keys() if own & {*KEYWORDS[ours]}] == []


def test_the_other_parameters_of_an_operation_are_known() -> None:
    named = {*KEYWORDS, *ARRAYS}
    others = {name: [p for p in specification(name).parameters if p not in named | {*OPERATIONS[name][1]}] for name in OPERATIONS}
    assert {name: list(them) for name, them in OTHER_PARAMETERS.items()} == {name: them for name, them in others.items() if them}


@pytest.mark.parametrize("more", [(), ("--isolate",)])
def test_other_names_of_a_function_and_of_its_arguments_are_taken(tmp_path: Path, more: tuple[str, ...]) -> None:
    write(tmp_path, mine=NUMPY + RMSNORM)
    found = suite(tmp_path, "--backend=mine.py", "-k", "test_rms_norm or rms_norm.reference", *more)
    assert found.code == 0, found.text
    assert found.statuses["rms_norm.reference mine float32"] == "passed"
    assert "  rms_norm: rmsnorm for rms_norm, epsilon for eps" in found.text


@pytest.mark.rotating
@pytest.mark.parametrize("more", [(), ("--isolate",)])
def test_a_bug_in_a_function_with_other_names_is_shown_under_its_own(tmp_path: Path, more: tuple[str, ...]) -> None:
    renamed = EPS_OUTSIDE.replace("rms_norm", "rmsnorm").replace("eps", "epsilon")
    write(tmp_path, mine=NUMPY + renamed)
    found = suite(tmp_path, "--backend=mine.py", "-k", "rms_norm.reference", *more)
    assert "mine breaks rms_norm.reference" in found.text
    assert "epsilon stands outside the square root" in found.text
    script = found.text.partition("to see it without this suite:\n")[2].partition("\n\n")[0]
    assert "backend.rmsnorm(x=" in script
    assert "epsilon=" in script
    (tmp_path / "shown.py").write_text("\n".join(line.strip() for line in script.splitlines()))
    assert python(tmp_path, "shown.py").stdout.startswith("["), script


def test_the_operation_s_own_name_comes_first(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RMS_NORM + "\n\ndef rmsnorm(x, weight, eps):\n    raise AssertionError\n")
    found = suite(tmp_path, "--backend=mine.py", "-k", "rms_norm.reference")
    assert found.code == 0, found.text
    assert "taken under other names" not in found.text


NOT_TAKEN = {
    "arrays": (
        "def attention(x, w_qkv, w_o):\n    return x",
        "it has attention, which is not taken for scaled_dot_product_attention",
    ),
    "spelling": ("def sigmiod(x):\n    return x", "it has sigmiod, which is no operation; if sigmoid is meant, rename it"),
    "class": ("class softmax:\n    pass", "it has the class softmax, and softmax must be a function of arrays: docs/guides/"),
    "argument": ("def gelu(x, flavour):\n    return x", "gelu requires the argument flavour, which is not the operation's"),
    "eps": ("def rms_norm(x, weight):\n    return x", 'domain = {"rms_norm": {"eps": (1e-5,)}}'),
}


@pytest.mark.parametrize("how", NOT_TAKEN)
def test_what_is_not_taken_is_named_with_what_to_do(tmp_path: Path, how: str) -> None:
    body, sentence = NOT_TAKEN[how]
    write(tmp_path, mine=f"{NUMPY}{RELU}\n\n{body}\n")
    found = suite(tmp_path, "--backend=mine.py", "-k", "operation.reference or reference")
    assert found.code == 0, found.text
    assert sentence in " ".join(found.text.split()), found.text


def test_the_iteration_of_muon_is_taken_by_its_author_s_name(tmp_path: Path) -> None:
    body = """
        import torch


        def zeropower_via_newtonschulz5(G, steps: int):
            a, b, c = (3.4445, -4.7750, 2.0315)
            X = G.mT if G.size(-2) > G.size(-1) else G
            X = X / (X.norm(dim=(-2, -1), keepdim=True) + 1e-7)
            for _ in range(steps):
                A = X @ X.mT
                X = a * X + (b * A + c * A @ A) @ X
            return X.mT if G.size(-2) > G.size(-1) else X
    """
    pytest.importorskip("torch")
    write(tmp_path, muon=body)
    found = suite(tmp_path, "--backend=muon.py", "--effort=smoke", "-k", "newton_schulz.reference")
    assert found.code == 0, found.text
    assert "newton_schulz: zeropower_via_newtonschulz5 for newton_schulz" in found.text


def test_of_a_function_and_a_class_the_function_is_meant(tmp_path: Path) -> None:
    body = "class RMSNorm: ...\n\n\ndef rms_norm(x, mode, weight, eps=1e-5):\n    return x\n"
    write(tmp_path, mine=NUMPY + body)
    run = suite(tmp_path, "--backend=mine.py")
    assert "it has rms_norm, but its first parameters are not x, weight" in " ".join(run.text.split()), run.text


FUNCTION = """
    import torch


    class Norm(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, FIRST weight, bias, eps=1e-5):
            h = x - x.mean(-1, keepdim=True)
            return h / (h.square().mean(-1, keepdim=True) + eps).sqrt() * weight + bias


    layer_norm = Norm.apply
"""


def test_the_apply_of_a_function_of_autograd_has_the_parameters_of_its_forward(tmp_path: Path) -> None:
    """It is written as (*args, **kwargs), and takes arguments by position alone."""
    pytest.importorskip("torch")
    firsts = {"mine": "", "shaped": "normalized_shape, ", "other": "mode, "}
    write(tmp_path, **{name: FUNCTION.replace("FIRST ", first) for name, first in firsts.items()})
    for name in ("mine", "shaped"):
        right = suite(tmp_path, f"--backend={name}.py", "--effort=smoke", "-k", "layer_norm.reference")
        assert right.code == 0, right.text
        assert right.statuses[f"layer_norm.reference {name} float32"] == "passed"
    assert "layer_norm: normalized_shape is the shape of weight" in " ".join(right.text.split())
    refused = suite(tmp_path, "--backend=other.py", "--effort=smoke", "-k", "layer_norm.reference")
    assert refused.code == 4, refused.text
    assert "it has layer_norm, but its first parameters are not x, weight, bias" in " ".join(refused.text.split())
