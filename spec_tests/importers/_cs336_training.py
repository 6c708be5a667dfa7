"""The functions of the CS336 assignments that are no functions of arrays: clipping, the optimizer and the attention class.

Each function of this module implements an operation through what an adapters file offers. It gets the module of the file first.
"""

from __future__ import annotations

import importlib
import math
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
    """Clip the gradients of parameters in place, as run_gradient_clipping does. The last parameter is frozen and has none.

    A single number becomes a vector of one: the models of the assignment have no parameter without a dimension.
    """
    torch = importlib.import_module("torch")
    parameters = [torch.nn.Parameter(torch.zeros_like(g.reshape(g.shape or (1,)))) for g in gradients]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient.reshape(parameter.shape).clone()
    frozen = torch.nn.Parameter(torch.zeros(2), requires_grad=False)
    module.run_gradient_clipping([*parameters, frozen], max_norm)
    return [parameter.grad.reshape(g.shape) for parameter, g in zip(parameters, gradients, strict=True)]


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
TOO_SMALL = 1e-5  # of a norm: an epsilon that rounding in float32 may hide
TILES = (16, 32, 64, 128)  # lengths that tiles of 16 divide, and widths that are powers of two, as the hand-out has them
DOMAIN: Mapping[str, Mapping[str, Any]] = MappingProxyType({
    "attention_with_lse": {
        "n": TILES, "m": "n", "d_k": TILES[:3], "d_v": "d_k", "h_kv": "h", "differentiable": ("out",),
    },
})  # fmt: skip
MAX_EPSILON = 1e-5  # of clipping: the hand-out asks for a small one, and has 1e-6 as an example
PROBED_NORMS = (1e-12, 1e-9, 1e-6, 1e-3)  # of one gradient, clipped to a tenth


def find_domain(module: Any) -> dict[str, dict[str, Any]]:
    """Return the domain of these operations: the causal flag of the class in PyTorch may be ignored, and epsilon is seen."""
    found = {name: dict(stated) for name, stated in DOMAIN.items()}
    runs_on_gpu = str(getattr(module, "device", "")).startswith("cuda")
    if not runs_on_gpu or not hasattr(module, "get_flashattention_autograd_function_triton"):
        found["attention_with_lse"]["is_causal"] = (False,)
    if hasattr(module, "run_gradient_clipping") and (epsilon := _find_epsilon(module)) is not None:
        found["gradient_clipping"] = {"eps": (epsilon,)}
    return found


def _find_epsilon(module: Any) -> float | None:
    """Return the epsilon that is added to the norm, as clipped gradients of small norms show it, None if none shows one.

    A gradient g becomes g/10 · |g| / (|g| + ε), which says most about ε where |g| is near it. Where it is added to the square
    of the norm, in the root, it is the same number there, and not beside the norm.
    """
    seen = {norm: _read_epsilon(module, norm) for norm in PROBED_NORMS}
    ratios = {norm: epsilon / norm for norm, epsilon in seen.items() if epsilon is not None}
    if len(ratios) < len(PROBED_NORMS):
        return None
    norm = min(ratios, key=lambda norm: abs(math.log(max(ratios[norm], TOO_SMALL))))
    beside = {at: ratio * at for at, ratio in ratios.items() if ratio > TOO_SMALL}
    inside = {at: (2 * at + epsilon) * epsilon for at, epsilon in beside.items()}
    shown = min((beside, inside), key=lambda found: max(found.values(), default=1.0) / min(found.values(), default=1.0))
    epsilon = float(f"{shown[norm]:.2e}") if norm in shown else 0.0
    return epsilon if epsilon <= MAX_EPSILON or shown is inside else None


def _read_epsilon(module: Any, norm: float) -> float | None:
    """Return the epsilon that the clipping of one number shows, None if the function raises or clips in another way."""
    torch = importlib.import_module("torch")
    try:
        (clipped,) = clip_gradients(module, [torch.tensor([norm])], max_norm=norm / 10)
    except (Exception, SystemExit, GeneratorExit):  # of the student's own code, which the run will show
        return None
    share = float(clipped) / norm
    return (0.1 / share - 1) * norm if 0 < share < float("inf") else None
