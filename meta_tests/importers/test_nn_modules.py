"""Files of torch.nn modules: right ones conform, wrong ones fail with the cause, and what is not taken is named."""

from pathlib import Path

import pytest

from ..support.pytest_process import suite, write
from .importing import find_passed, flatten, try_import

pytest.importorskip("torch")

RIGHT = {
    "lab": ("rms_norm", "layer_norm", "rope", "multihead_self_attention"),
    "configured": ("rms_norm", "layer_norm", "swiglu", "feed_forward", "multihead_self_attention"),
    "rounded": ("swiglu", "feed_forward", "gated_activation"),
    "serving": ("rope",),
    "model": (
        "linear", "embedding", "silu", "gelu", "swiglu", "gated_activation", "softmax", "multihead_self_attention",
    ),
}  # fmt: skip


@pytest.mark.rotating
@pytest.mark.parametrize("name", RIGHT)
def test_right_modules_conform_with_their_gradients(tmp_path: Path, name: str) -> None:
    names = [f"{operation}{suffix}" for operation in RIGHT[name] for suffix in ("", "_vjp")]
    run = try_import(tmp_path, f"nn_modules/{name}.py", *names)
    assert run.code == 0, run.text
    assert find_passed(run) == set(names)
    assert f"{name}.py is read as torch.nn modules:" in run.text


@pytest.mark.rotating
def test_the_conventions_of_a_module_are_printed(tmp_path: Path) -> None:
    lab = flatten(try_import(tmp_path, "nn_modules/lab.py", "rms_norm").text)
    assert "rms_norm is the class RMSNorm(d_model, eps), whose gain is the weight" in lab
    assert "layout half" in lab
    assert "MultiHeadAttention(Config), causal: qkv.weight is w_q over w_k over w_v, out.weight is w_o" in lab
    model = flatten(try_import(tmp_path, "nn_modules/model.py", "silu").text)
    assert "whose kernel is the transpose of the weight" in model
    assert "SelfAttention(hidden_size, num_attention_heads), without a mask" in model
    assert "o_proj.bias are 0" in model
    configured = flatten(try_import(tmp_path, "nn_modules/configured.py", "layer_norm").text)
    assert "rms_norm is the class RMSNorm(ModelConfig), whose scale is the weight" in configured
    assert "LayerNorm(ndim), with eps = 1e-06 as a call shows" in configured
    assert "feed_forward is the class MLP(n_embd): net.0.weight is w1, net.2.weight is w2, gelu as a call shows" in configured
    assert "must be a function of arrays" not in configured


@pytest.mark.rotating
@pytest.mark.parametrize("more", [(), pytest.param(("--isolate",), marks=pytest.mark.nightly)])
def test_wrong_modules_fail_with_the_cause(tmp_path: Path, more: tuple[str, ...]) -> None:
    run = try_import(tmp_path, "nn_modules/wrong.py", "rms_norm", "layer_norm", "multihead_self_attention", "gelu", more=more)
    text = flatten(run.text)
    assert run.code == 1
    assert find_passed(run) == set()
    assert "rms_norm: epsilon stands outside the square root" in text
    assert "it has the class GELU, which is not taken for gelu: its constructor requires flavour" in text
    assert "no script: rms_norm stands for what an object of the file does" in text


def test_a_gain_that_begins_at_zero_is_added_to_one(tmp_path: Path) -> None:
    source = (Path(__file__).parents[1] / "backends/imported/nn_modules/wrong.py").read_text()
    write(tmp_path, gemma="import torch\nfrom torch import nn\n\n" + source[source.index("class GemmaRMSNorm") :])
    run = suite(tmp_path, "--backend=gemma.py", "-k", "rms_norm.reference")
    assert run.code == 0, run.text
    assert "whose weight plus 1, as a call shows, is the weight" in flatten(run.text)


@pytest.mark.rotating
def test_a_class_that_is_not_taken_is_answered_with_lines_to_complete(tmp_path: Path) -> None:
    norm = """
    import torch
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim, groups, eps=1e-6):
            super().__init__()
            self.scale, self.eps = nn.Parameter(torch.ones(dim)), eps

        def forward(self, x):
            h = x.double()
            return (h * torch.rsqrt(h.square().mean(-1, keepdim=True) + self.eps) * self.scale).to(x.dtype)
    """
    write(tmp_path, grouped=norm)
    refused = suite(tmp_path, "--backend=grouped.py")
    assert refused.code == 4
    assert "which is not taken for rms_norm: its constructor also requires groups; write" in flatten(refused.text)
    lines = refused.text.partition("groups; write\n")[2]
    completed = lines.replace("dim=..., groups=...", "x.shape[-1], 1, eps").replace('"..."', '"scale"')
    source = (tmp_path / "grouped.py").read_text()
    (tmp_path / "grouped.py").write_text(f'{source}\n\nframework, dtypes = "torch", ("float32",)\n\n\n{completed}')
    run = suite(tmp_path, "--backend=grouped.py", "--effort=smoke", "-k", "rms_norm.reference")
    assert run.code == 0, run.text


def test_a_function_of_the_file_comes_first(tmp_path: Path) -> None:
    text = """
    import torch
    from torch import nn

    class SiLU(nn.Module):
        def forward(self, x):
            raise AssertionError

    class ReLU(nn.Module):
        def forward(self, x):
            return x.clamp(min=0)

    def silu(x):
        return nn.functional.silu(x)
    """
    write(tmp_path, mixed=text)
    run = suite(tmp_path, "--backend=mixed.py", "--effort=smoke", "-k", "silu.reference or relu.reference")
    assert run.code == 0, run.text
    assert find_passed(run) == {"silu", "relu"}
    assert "silu is the class" not in run.text
