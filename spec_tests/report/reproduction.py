"""How to see a failure again: a script that needs no part of this suite, and the command that replays the example."""

from __future__ import annotations

import hashlib
import inspect
import re
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..bounds.bounded import Bounded
from ..calls.call import Call
from ..implementation.array_framework import ArrayFramework
from ..implementation.backend import Backend
from ..implementation.import_file import import_root, module_names
from ..implementation.lookup import DEVIATION_PREFIX, registered_backends
from ..inputs.choices import format_choices
from ..inputs.effort import current_effort
from ..specification.pytree import leaves, tree_map
from ..specification.run_settings import current_settings
from ..trials.invariant import Invariant
from ..trials.trial import Trial

MAX_SCRIPT_ELEMENTS = 160  # in all arrays of a call together; of a larger call no script is written


def format_replay_command(invariant: Invariant, trial: Trial, choices: Sequence[int]) -> str:
    """Return the command that replays the failing example alone."""
    example = format_choices(choices)
    if not trial.backend.text:  # an object that no command line can name
        argument = f", example={example!r}" if example else ""
        return f"spec_tests.check(…, {invariant.id_for(trial.operation_name)!r}, dtype={trial.dtype!r}{argument})"
    words = [f"--backend={trial.backend.text}"]
    words += [f"--dtype={trial.dtype}"] * (trial.dtype in trial.backend.dtypes)
    words += [f"--precision={trial.precision}"] * bool(trial.precision)
    words += ["--effort=thorough"] * (current_effort().name == "thorough")
    words += [f"--require-level={invariant.level}"] * bool(invariant.level)
    words += [f"--example={example}"] * bool(example)
    return shlex.join(["pytest", "--pyargs", "spec_tests", *words, "-k", invariant.id_for(trial.operation_name)])


def format_array(x: np.ndarray) -> str:
    """Return the array as Python source, with as few digits as its values allow."""
    if x.size == 0 and x.ndim > 1:
        return f"np.zeros({x.shape})"
    options: dict[str, Any] = {
        "separator": ", ",
        "threshold": MAX_SCRIPT_ELEMENTS + 1,
        "floatmode": "unique",
        "max_line_width": 10**6,
    }
    text = np.array2string(x, **options).replace("\n", "")
    if x.dtype.kind == "f" and "e" in text:  # NumPy then writes every number with an exponent, most with 16 zeros
        text = np.array2string(x, formatter={"float_kind": lambda v: repr(float(v))}, **options).replace("\n", "")
    return text


def build_script(trial: Trial, calls: Sequence[Call]) -> list[str]:
    """Return the lines of a script for the last call that is wrong by itself, or [] if there is none."""
    try:
        wrong_call = next((call for call in reversed(calls) if _is_wrong_alone(call)), None)
        if wrong_call and trial.backend.framework.passes_copies:
            return _write_request(trial, wrong_call)
        return _write_script(trial, wrong_call) if wrong_call else []
    except Exception:  # for example, if the framework cannot make arrays any more
        return []


def _write_request(trial: Trial, call: Call) -> list[str]:
    """Write the request of a call to a process into a file. Return the line of a shell that sends it, and the true value."""
    source, (arrays, keywords) = trial.backend.source, call.operation.native(call)
    request = source.pack_request(call.operation.name, arrays, keywords)
    folder = current_settings().request_folder or Path(tempfile.gettempdir()) / "spec_tests-requests"
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(request).hexdigest()[:8]
    path = (folder / f"{call.operation.name}-{trial.dtype}-{digest}.request.safetensors").absolute()
    path.write_bytes(request)
    truth = np.array2string(np.asarray(call.value), separator=", ", precision=7, threshold=12, max_line_width=10**6)
    return [f"{source.shell_text} < {shlex.quote(str(path))}", f"# the truth: {truth}".replace("\n", "")]


def _is_wrong_alone(call: Call) -> bool:
    """Whether the call is wrong without the calls before it and on contiguous arrays, which is all that a script has."""
    if call.observed is None:
        return True
    alone = Call(call.operation, call.arguments, call.keywords)
    try:
        observed = call.operation.result(alone).value
        return not np.all(alone.expectation(call.operation.precision).accepts(observed))
    except Exception:
        return True


def _write_script(trial: Trial, call: Call) -> list[str]:
    """Return the lines of a script that needs only NumPy, the framework and the backend."""
    plain = tree_map(lambda x: x.value if isinstance(x, Bounded) else x, call.named)
    arrays = [leaf for _, leaf in leaves(plain) if isinstance(leaf, np.ndarray)]
    if sum(a.size for a in arrays) > MAX_SCRIPT_ELEMENTS:
        return []
    framework, device = trial.backend.framework.name, trial.backend.framework.device

    def write_leaf(x: Any) -> str:
        dtype = trial.backend.framework.dtype_of(x) if trial.backend.framework.is_array(x) else ""
        x = trial.backend.framework.numpy(x) if dtype else x
        if not isinstance(x, np.ndarray):
            return repr(x)
        dtype = dtype or {"f": trial.dtype, "b": "bool"}.get(x.dtype.kind, "int64")
        values = format_array(x).replace("inf", "np.inf").replace("nan", "np.nan").replace("np.np.", "np.")
        if framework == "torch":
            placement = f", device={device!r}" if device and device != "cpu" else ""
            return f"torch.tensor(np.array({values}), dtype=torch.{dtype}{placement})"
        if framework == "numpy":
            return f"np.array({values}, dtype={'ml_dtypes.bfloat16' if dtype == 'bfloat16' else repr(dtype)})"
        return f"xp.asarray(np.array({values}), dtype=xp.{dtype})"

    def write_tree(x: Any) -> str:
        if isinstance(x, dict):
            return "{" + ", ".join(f"{k!r}: {write_tree(v)}" for k, v in x.items()) + "}"
        if isinstance(x, list | tuple):
            return "[" + ", ".join(write_tree(v) for v in x) + "]"
        return write_leaf(x)

    arguments, keywords = call.operation.native(call)
    function = call.operation.name
    translate_call = getattr(trial.backend.source, "translate_call", None)
    if translate_call and (translated := translate_call(function, *arguments, **keywords)):  # the backend has other names for it
        arguments, (function, keywords) = (), translated
    argument_texts = [*map(write_tree, arguments), *(f"{name}={write_tree(value)}" for name, value in keywords.items())]
    call_text = f"backend.{function}({', '.join(argument_texts)})"
    differentiates = call.operation.spec.is_gradient and not trial.backend.function(function)
    lines = _write_gradient(call, trial.backend.framework, argument_texts) if differentiates else [f"print({call_text})"]
    namespace = trial.backend.framework.namespace
    parts = call.parts.split(call.value) if call.parts and not call.operation.spec.is_gradient else {"": np.asarray(call.value)}
    truth = "; ".join(f"{name} = {_format_truth(x)}" if name else _format_truth(x) for name, x in parts.items())
    imports = {"torch": "import torch", "numpy": "import ml_dtypes" if "ml_dtypes" in call_text else ""}
    return [
        *filter(None, ["import importlib", "import numpy as np", imports.get(framework, f"import {namespace} as xp")]),
        f"backend = {_write_backend(trial.backend)}",
        *lines,
        f"# the truth: {truth}".replace("\n", ""),
    ]


def _format_truth(x: np.ndarray) -> str:
    return np.array2string(x, separator=", ", precision=7, threshold=12, max_line_width=10**6)


def _write_gradient(call: Call, framework: ArrayFramework, argument_texts: list[str]) -> list[str]:
    """Return the lines in which the framework differentiates the operation. x0, x1, … are the arguments that have a gradient."""
    cotangent, *arguments = argument_texts
    inputs: list[str] = []

    def name_input(match: re.Match[str]) -> str:
        inputs.append(match[0])
        return f"x{len(inputs) - 1}"

    floating = r"(torch\.tensor|xp\.asarray)\(np\.array\([^()]*\), dtype=(torch|xp)\.b?float[^()]*\)"
    answer = f"backend.{call.operation.spec.forward}({', '.join(re.sub(floating, name_input, text) for text in arguments)})"
    names = ", ".join(f"x{number}" for number in range(len(inputs)))
    lines = [f"x{number} = {text}" for number, text in enumerate(inputs)]
    return [*lines, *_write_pullback(framework, names, answer, cotangent)]


def _write_pullback(framework: ArrayFramework, names: str, answer: str, cotangent: str) -> list[str]:
    """Return the lines that print the gradients of the named arrays."""
    if framework.differentiates == "autograd":
        gradients = f"{framework.name}.autograd.grad(y, [{names}], {cotangent}, allow_unused=True)"
        lines = [f"for x in [{names}]: x.requires_grad_()", f"y = {answer}"]
        if cotangent.startswith("["):  # one for each result
            lines.append(f"pairs = [(a, c.to(a.dtype)) for a, c in zip(y, {cotangent}) if c is not None]")
            gradients = (
                f"{framework.name}.autograd.grad([a for a, _ in pairs], [{names}], [c for _, c in pairs], allow_unused=True)"
            )
        return [*lines, f"print({gradients})"]
    if framework.differentiates == "vjp":
        return [
            f"import {framework.name}",
            f"y, pull = {framework.name}.vjp(lambda {names}: {answer}, {names})",
            f"print(pull({cotangent}))",
        ]
    return [f"print(xp.vjp(lambda {names}: {answer}, [{names}], [{cotangent}])[1])"]


def _write_backend(backend: Backend) -> str:
    """Return the expression that imports the backend, with a comment that says in which folder it works if not everywhere."""
    if backend.text.startswith(DEVIATION_PREFIX):
        return f"importlib.import_module('spec_tests.deviations').backend({backend.text.removeprefix(DEVIATION_PREFIX)!r})"
    if not backend.text and not inspect.ismodule(backend.source):
        return f"...  # {backend.name}, as it was given"
    entry = registered_backends().get(backend.text)
    module, _, attribute = (entry.value if entry else backend.text).partition(":")
    if attribute:
        call = "()" if getattr(backend.source, "kind", type(backend.source).__name__) == attribute else ""
        return f"importlib.import_module({module!r}).{attribute}{call}"
    if backend.source.__name__ == module or not backend.text:
        return f"importlib.import_module({backend.source.__name__!r})"
    file = Path(backend.source.__file__)
    names, root = module_names(file), import_root(file)
    if len(names) == 1 and re.search(r"^from \.", file.read_text(), re.MULTILINE):  # it imports from its folder as from a package
        names, root = (root.name, *names), root.parent
    return f"importlib.import_module({'.'.join(names)!r})  # in {root}"
