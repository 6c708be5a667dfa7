"""A student's unchanged `tests/adapters.py`: right, with known bugs, not written yet, and of an earlier edition."""

import ast
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from spec_tests.implementation.backend import Backend, load
from spec_tests.implementation.lookup import BackendError
from spec_tests.specification.registry import operations

from ..support.in_process import caught_by
from ..support.paths import BACKENDS
from ..support.pytest_process import python, suite

pytest.importorskip("torch")
STUDENT = BACKENDS / "cs336_student"
ADAPTERS = "../repository/tests/adapters.py"  # from the folder of the run, which is outside the repository


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """Copy the student's repository, and return an empty folder beside it."""
    shutil.copytree(STUDENT, tmp_path / "repository", ignore=shutil.ignore_patterns("__pycache__"))
    (folder := tmp_path / "run_folder").mkdir()
    return folder


@pytest.fixture
def forget_imports() -> Iterator[None]:
    """Remove the modules of the student's files and their folders from sys.modules and sys.path after the test."""
    path = list(sys.path)
    yield
    sys.path[:] = path
    for name in [name for name in sys.modules if name.partition(".")[0] in ("cs336_basics", "tests")]:
        del sys.modules[name]


def load_adapters(folder: Path, text: str = ADAPTERS) -> Backend:
    return load(text, folder, set(operations()))


@pytest.mark.rotating
def test_a_right_one_conforms(run_folder: Path) -> None:
    run = suite(run_folder, f"--backend={ADAPTERS}", "--hypothesis-seed=1")
    assert run.code == 0, run.text
    conforming = {fact["operation"] for fact in run.facts if fact["id"].endswith(".reference") and fact["status"] == "passed"}
    assert {name for name in conforming if not name.endswith("_vjp")} == {
        "adamw_steps", "attention_with_lse", "cosine_schedule", "cross_entropy", "gradient_clipping",
        "embedding", "linear", "multihead_self_attention", "rms_norm", "rope", "scaled_dot_product_attention",
        "silu", "softmax", "swiglu", "transformer_block", "transformer_lm",
    }  # fmt: skip
    assert "not covered by this suite: run_get_batch" in run.text


MODEL, FUNCTIONS, TESTS = "cs336_basics/model.py", "cs336_basics/functions.py", "tests/adapters.py"
OPTIMIZER, FLASH = "cs336_basics/optimizer.py", "cs336_basics/flash.py"
WRONG = {
    "rms_norm.eps_is_inside_the_root": (
        MODEL,
        "torch.sqrt(h.square().mean(-1, keepdim=True) + self.eps)",
        "h.square().mean(-1, keepdim=True).sqrt() + self.eps",
    ),
    "rms_norm.eps_as_given": (MODEL, "nn.Parameter(torch.ones(d_model)), eps", "nn.Parameter(torch.ones(d_model)), 1e-5"),
    "softmax.axis": (TESTS, "return softmax(in_features, dim)", "return softmax(in_features, -1)"),
    "softmax.no_overflow": (FUNCTIONS, "x - x.amax(dim, keepdim=True)", "x"),
    "cross_entropy.reference": (FUNCTIONS, "logits - logits.amax(-1, keepdim=True)", "logits"),
    "cross_entropy.uniform": (FUNCTIONS, "- chosen).mean()", "- chosen).sum()"),
    "cosine_schedule.mirrored_steps": (FUNCTIONS, "(step - warmup) / (end - warmup)", "step / end"),
    "cosine_schedule.warmup_is_proportional": (FUNCTIONS, "largest * step / warmup", "largest * (step + 1) / warmup"),
    "gradient_clipping.length": (FUNCTIONS, "torch.sqrt(sum(g.square().sum() for g in gradients))", "gradients[-1].norm()"),
    "gradient_clipping.below_the_limit": (FUNCTIONS, "if norm >= limit", "if True"),
    "gradient_clipping.one_factor": (FUNCTIONS, "g.mul_(limit / (norm + eps))", "g.clamp_(-limit, limit)"),
    "adamw_steps.equal_gradients": (OPTIMIZER, 'state["t"], state["m"], state["v"] = t, m, v', 'state["m"], state["v"] = m, v'),
    "adamw_steps.no_gradients": (OPTIMIZER, 'p -= lr * group["weight_decay"] * p', 'p -= group["weight_decay"] * p'),
    "adamw_steps.adamw_epsilon": (OPTIMIZER, '(v.sqrt() + group["eps"])', '(v + group["eps"]).sqrt()'),
    "attention_with_lse.lse_of_scores": (FLASH, "top + total.log()", "total.log()"),
    "attention_with_lse.reference": (FLASH, "total = shrink * total", "total = total"),
    "attention_with_lse_vjp.reference": (FLASH, "ds = p * (grad @ v.mT - inner) * scale", "ds = p * (grad @ v.mT) * scale"),
    "silu.odd_part": (FUNCTIONS, "x * torch.sigmoid(x)", "torch.sigmoid(x)"),
    "swiglu.linear_in_w3": (MODEL, "silu(self.w1(x)) * self.w3(x)", "silu(self.w3(x)) * self.w1(x)"),
    "rope.pairs_are_independent": (MODEL, "x[..., 0::2], x[..., 1::2]", "x.chunk(2, -1)"),
    "rope.order_of_tokens": (MODEL, "self.cos[token_positions]", "self.cos[: x.shape[-2]]"),
    "rope.frequencies": (MODEL, "dtype=torch.float64) / d_k)", "dtype=torch.float64) / (2 * d_k))"),
    "scaled_dot_product_attention.masked_weight_is_zero": (FUNCTIONS, "~mask", "mask"),
    "scaled_dot_product_attention.scale_follows_the_width_of_queries": (FUNCTIONS, "q.shape[-1] ** 0.5", "q.shape[-1]"),
    "multihead_self_attention.causal_prefix": (MODEL, "torch.bool).tril()", "torch.bool)"),
    "multihead_self_attention.heads_are_attention": (
        MODEL,
        "y.unflatten(-1, (self.num_heads, -1)).transpose(-2, -3)",
        "y.unflatten(-1, (-1, self.num_heads)).movedim(-1, -3)",
    ),
    "multihead_self_attention.equal_positions": (
        MODEL,
        "q, k = self.rope(q, positions), self.rope(k, positions)",
        "q, k, v = self.rope(q, positions), self.rope(k, positions), self.rope(v, positions)",
    ),
    "multihead_self_attention.positions_of_each_sequence": (MODEL, "token_positions[..., None, :]", "token_positions.flatten()"),
    "transformer_block.residual_path": (MODEL, "h + self.ffn(self.ln2(h))", "self.ffn(self.ln2(h))"),
    "transformer_block.norms_are_their_own": (MODEL, "self.ffn(self.ln2(h))", "self.ffn(self.ln1(h))"),
    "transformer_block.composition": (MODEL, "h = x + self.attn(self.ln1(x))", "h = x + self.ln1(self.attn(x))"),
    "transformer_lm.reference": (MODEL, "self.lm_head(self.ln_final(h))", "self.lm_head(h)"),
}


@pytest.mark.usefixtures("forget_imports")
@pytest.mark.parametrize("invariant", WRONG)
def test_a_bug_is_caught(invariant: str, run_folder: Path) -> None:
    file, right, wrong = WRONG[invariant]
    path = run_folder.parent / "repository" / file
    text = path.read_text()
    assert right in text
    path.write_text(text.replace(right, wrong))
    assert caught_by(load_adapters(run_folder), seed=1, only=invariant).keys() == {invariant}


def remove_bodies(text: str) -> str:
    """Return the file as it is handed out: every function raises NotImplementedError."""
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name.startswith("run_")]
    for function in functions:
        function.body = ast.parse("raise NotImplementedError").body
    return "\n\n".join(map(ast.unparse, functions))


@pytest.mark.rotating
def test_a_fresh_one_is_not_green(run_folder: Path) -> None:
    path = run_folder.parent / "repository/tests/adapters.py"
    path.write_text(remove_bodies(path.read_text()))
    run = suite(run_folder, f"--backend={ADAPTERS}", "-k", "reference or test_linear")
    assert run.code == 5, run.text
    assert run.count("skipped") == len(run.facts)
    assert "run_rmsnorm is not written yet" in " ".join(run.text.split())  # wherever lines are broken
    assert "nothing was tried: exit status 5" in run.text


@pytest.mark.rotating
def test_a_failure_speaks_the_assignment_s_language(run_folder: Path) -> None:
    path = run_folder.parent / "repository/cs336_basics/functions.py"
    path.write_text(path.read_text().replace("q.shape[-1] ** 0.5", "q.shape[-1]"))
    run = suite(run_folder, f"--backend={ADAPTERS}", "--effort=default", "-k", "scaled_dot_product_attention.reference")
    assert run.code == 1
    script = run.text.partition("to see it without this suite:\n")[2].partition("\n\n")[0]
    assert f"importlib.import_module('tests.adapters')  # in {run_folder.parent / 'repository'}\n" in script
    assert "backend.run_scaled_dot_product_attention(Q=torch.tensor(" in script
    (run_folder.parent / "repository" / "shown.py").write_text("\n".join(line[2:] for line in script.splitlines()))
    shown = python(run_folder.parent / "repository", "shown.py")
    assert shown.returncode == 0, shown.stderr
    assert "tensor(" in shown.stdout


# --- how it is loaded -------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("forget_imports")
@pytest.mark.parametrize(
    "line", ["import cs336_basics", "from .common import EXACT", "from tests.common import EXACT", "from . import common"]
)
def test_it_imports_its_project(line: str, run_folder: Path) -> None:
    path = run_folder.parent / "repository/tests/adapters.py"
    path.write_text(f"{line}\n\n\ndef run_silu(in_features):\n    import cs336_basics.functions\n\n    return in_features\n")
    backend = load_adapters(run_folder)
    assert backend.function("silu")(1.0) == 1.0
    assert backend.source.module.__name__ == "tests.adapters"


@pytest.mark.usefixtures("forget_imports")
def test_two_projects_are_not_confused(run_folder: Path) -> None:
    """The second project would import the package of the first."""
    shutil.copytree(run_folder.parent / "repository", run_folder.parent / "another")
    load_adapters(run_folder)
    with pytest.raises(BackendError, match=r"cs336_basics would not be that of .*another: .* try this backend alone"):
        load_adapters(run_folder, "../another/tests/adapters.py")


# --- editions ---------------------------------------------------------------------------------------------------------

EARLIER = """
import torch


def run_positionwise_feedforward(d_model, d_ff, weights, in_features):
    return torch.nn.functional.gelu(in_features @ weights["w1.weight"].T) @ weights["w2.weight"].T


def run_scaled_dot_product_attention(K, Q, V, mask=None, pdrop=None):
    scores = Q @ K.mT / Q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
    return scores.softmax(-1) @ V


def run_multihead_self_attention(d_model, num_heads, attn_pdrop, weights, in_features):
    def heads(name):
        return torch.stack([in_features @ weights[f"{name}.{i}.weight"].T for i in range(num_heads)], dim=-3)

    n = in_features.shape[-2]
    later = torch.ones(n, n, dtype=torch.bool).triu(1)
    y = run_scaled_dot_product_attention(heads("k_heads"), heads("q_heads"), heads("v_heads"), later)
    return torch.cat(y.unbind(-3), dim=-1) @ weights["output_proj.weight"].T


def run_transformer_block(d_model, num_heads, d_ff, attn_pdrop, residual_pdrop, weights, in_features):
    return in_features


def run_rmsnorm(d_model, eps, weights, in_features):
    h = in_features.double()
    return (h * torch.rsqrt(h.square().mean(-1, keepdim=True) + eps) * weights["weight"]).float()
"""


@pytest.mark.rotating
@pytest.mark.usefixtures("forget_imports")
def test_the_edition_of_2024_is_understood(tmp_path: Path) -> None:
    (tmp_path / "adapters.py").write_text(EARLIER)
    backend = load_adapters(tmp_path, "adapters.py")
    assert {name for name in operations() if backend.function(name)} == {
        "feed_forward", "scaled_dot_product_attention", "multihead_self_attention", "rms_norm",
    }  # fmt: skip
    assert backend.dtypes == ("float32",)  # its hand-out does not ask for a norm in 16 bits
    assert caught_by(backend, seed=1, only=".reference") == {}
    assert caught_by(backend, seed=1, only="masked") == {}
    (tmp_path / "wrong.py").write_text(EARLIER.replace("masked_fill(mask", "masked_fill(~mask"))
    assert "scaled_dot_product_attention.reference" in caught_by(
        load_adapters(tmp_path, "wrong.py"), seed=1, only="attention.reference"
    )


@pytest.mark.usefixtures("forget_imports")
def test_other_arguments_than_the_assignment_s_are_not_implemented(run_folder: Path) -> None:
    path = run_folder.parent / "repository/tests/adapters.py"
    path.write_text("def run_rmsnorm(x, gain):\n    return x\n")
    with pytest.raises(NotImplementedError, match="it has no run_rmsnorm that takes d_model, eps, weights, in_features"):
        load_adapters(run_folder).function("rms_norm")(np.ones(2), np.ones(2), eps=1e-5)


COUNTING = """
import torch
ENTRIES = [0]
def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    ENTRIES[0] = max(ENTRIES[0], max_seq_len * d_k // 2)
    angles = token_positions[..., None] * theta ** (-torch.arange(0, d_k, 2, dtype=torch.float64) / d_k)
    x, y = in_query_or_key[..., ::2].double(), in_query_or_key[..., 1::2].double()
    turned = x * angles.cos() - y * angles.sin(), x * angles.sin() + y * angles.cos()
    return torch.stack(turned, dim=-1).flatten(-2).float()
"""


@pytest.mark.usefixtures("forget_imports")
def test_a_table_can_be_filled_entry_by_entry_in_python(tmp_path: Path) -> None:
    """At some ten microseconds an entry. A call that takes longer would be no answer within the time limit."""
    (tmp_path / "adapters.py").write_text(COUNTING)
    backend = load_adapters(tmp_path, "adapters.py")
    assert caught_by(backend, seed=1, only="rope") == {}
    assert 2**13 <= backend.source.module.ENTRIES[0] <= 2**17


@pytest.mark.rotating
def test_weights_that_only_the_function_with_rope_copies_are_not_missed_in_its_gradient(tmp_path: Path) -> None:
    laws = " or ".join(f"multihead_self_attention_vjp.{law}" for law in ("reference", "dtype_shape_device", "backward_twice"))
    run = suite(tmp_path, f"--backend={BACKENDS / 'cs336_copies/adapters.py'}", "--effort=smoke", "-k", laws)
    assert run.code == 0, run.text
