"""The functions of the CS336 assignments that are no functions of arrays: clipping, the optimizer and the attention class.

Each function of this module implements an operation through what an adapters file offers. It gets the module of the file first.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

UNCOVERED = (  # functions of assignment 1 that are about text, data or files
    "run_get_batch",
    "run_save_checkpoint",
    "run_load_checkpoint",
    "get_tokenizer",
    "run_train_bpe",
)


def clip_gradients(module: Any, gradients: Any, *, max_norm: float) -> Any:
    """Clip the gradients of parameters in place, as run_gradient_clipping does. The last parameter is frozen and has none."""
    torch = importlib.import_module("torch")
    parameters = [torch.nn.Parameter(torch.zeros_like(g)) for g in gradients]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient.clone()
    frozen = torch.nn.Parameter(torch.zeros(2), requires_grad=False)
    module.run_gradient_clipping([*parameters, frozen], max_norm)
    return [parameter.grad for parameter in parameters]


def take_adamw_steps(
    module: Any,
    parameter: Any,
    gradients: Any,
    *,
    learning_rate: float = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.01,
) -> Any:
    """Step the optimizer of get_adamw_cls once for each gradient, and return the parameter after each step."""
    torch = importlib.import_module("torch")
    weight, after = torch.nn.Parameter(parameter.clone()), []
    settings = {"lr": learning_rate, "betas": (beta1, beta2), "eps": eps, "weight_decay": weight_decay}
    optimizer = module.get_adamw_cls()([weight], **settings)
    for gradient in gradients.unbind(-1):
        optimizer.zero_grad()
        weight.grad = gradient.clone()
        optimizer.step()
        after.append(weight.detach().clone())
    return torch.stack(after, dim=-1)


def attend_with_class(module: Any, q: Any, k: Any, v: Any, *, is_causal: bool = False) -> Any:
    """Apply the attention class of assignment 2, and return its result and the lse that it saves for its gradient.

    On a GPU it is the class in Triton if there is one, else that in PyTorch. Heads are a batch dimension.
    """
    torch, on_gpu = importlib.import_module("torch"), q.device.type == "cuda"
    names = ("get_flashattention_autograd_function_triton", "get_flashattention_autograd_function_pytorch")
    name = next(name for name in (names if on_gpu else names[::-1]) if hasattr(module, name))
    flat = [x.reshape(-1, *x.shape[-2:]) for x in (q, k, v)]
    is_differentiated = any(x.requires_grad for x in flat) and torch.is_grad_enabled()
    with torch.inference_mode(False), torch.enable_grad():
        if not is_differentiated:
            flat = [x.detach().clone().requires_grad_() for x in flat]
        out = getattr(module, name)().apply(*flat, is_causal)
    saved = [x for x in out.grad_fn.saved_tensors if x.shape == out.shape[:-1]]
    if len(saved) != 1:
        raise ValueError(f"the class saves {len(saved)} tensors of the shape of lse, {tuple(out.shape[:-1])}; it should save one")
    out = (out if is_differentiated else out.detach()).reshape(*q.shape[:-1], v.shape[-1])
    return out, saved[0].detach().reshape(q.shape[:-1])


FUNCTIONS: Mapping[str, tuple[tuple[str, ...], Callable[..., Any]]] = MappingProxyType(
    {
        # our name of an operation, the functions of the assignment of which one must be there, and what calls it
        "gradient_clipping": (("run_gradient_clipping",), clip_gradients),
        "adamw_steps": (("get_adamw_cls",), take_adamw_steps),
        "attention_with_lse": (
            ("get_flashattention_autograd_function_pytorch", "get_flashattention_autograd_function_triton"),
            attend_with_class,
        ),
    }
)
TILES = (16, 32, 64, 128)  # lengths that tiles of 16 divide, and widths that are powers of two, as the hand-out has them
DOMAIN: Mapping[str, Mapping[str, Any]] = MappingProxyType({
    "attention_with_lse": {
        "n": TILES, "m": "n", "d_k": TILES[:3], "d_v": "d_k", "h_kv": "h", "differentiable": ("out",),
    },
})  # fmt: skip
