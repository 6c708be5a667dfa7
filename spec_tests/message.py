"""The one wording of a failure: what broke, on which inputs, how far off, and how to see it again. One screen."""

from __future__ import annotations

import inspect
import re
import shlex
import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from .bounded import Bounded
from .call import Call
from .diagnosis import diagnose
from .effort import current
from .files import names_of, root_of
from .finding import DEVIATING, registered
from .frameworks import Framework
from .invariant import KINDS, Invariant
from .loading import Backend
from .near_misses import near_miss
from .row import spelt
from .tree import leaves, tree_map
from .trial import Trial
from .violation import Silence, Violation

NAMED = "matches: "
SHOWN = 48  # elements of an array that are printed; a script is printed for arrays of up to SCRIPTED
SCRIPTED = 160


def parted(invariant: Invariant, trial: Trial, violation: Violation) -> dict[str, Any]:
    """What is to be said of a failure, part by part, as plain data."""
    kind = f"{KINDS[invariant.kind]}{', ' + invariant.source if invariant.source else ''}"
    device = trial.backend.framework.device or "default device"
    diagnosis, shown = ([], ()) if isinstance(violation, Silence) else diagnosed(trial)
    return {
        "broken": f"{trial.backend.name} breaks {invariant.of(trial.subject)}",
        "statement": " ".join(invariant.statement.split()),
        "circumstances": f"{kind}; {trial.dtype}, {device}, {trial.backend.version}",
        "inputs": "\n".join(line for made in trial.progress.calls[:4] for line in _inputs(made)),
        "what": violation.what,
        "facts": [[label, str(fact)] for label, fact in (*violation.facts, *shown)],
        "diagnosis": diagnosis,
        "script": "\n".join(_scripted(trial)),
        "again": _again(invariant, trial),
    }


def explain(invariant: Invariant, trial: Trial, violation: Violation) -> str:
    return worded(parted(invariant, trial, violation))


def worded(said: dict[str, Any]) -> str:
    lines = [
        said["broken"],
        *textwrap.wrap(said["statement"], 100, initial_indent="  ", subsequent_indent="  "),
        f"  ({said['circumstances']})",
        "",
        *said["inputs"].splitlines(),
        "",
        said["what"],
        *(f"  {label:<9} {fact}" for label, fact in said["facts"]),
        *(f"  {'or' if i else 'matches':<9} {_called(one)}" for i, one in enumerate(said["diagnosis"])),
    ]
    if said["script"]:
        lines += ["", "to see it without this suite:", *("  " + line for line in said["script"].splitlines())]
    return "\n".join([*lines, "", f"again: {said['again']}"])


def in_one_line(said: dict[str, Any]) -> str:
    """The diagnosis; what was seen, if there is none."""
    return f"{NAMED}{' or '.join(map(_called, said['diagnosis']))}" if said["diagnosis"] else str(said["what"])


def _called(one: dict[str, str]) -> str:
    return f"{one['what']} ({one['id']})"


def diagnosed(trial: Trial) -> tuple[list[dict[str, str]], tuple[tuple[str, str], ...]]:
    """What explains the answers of this example and of others: a known deviation, or else a near miss of the right equation,
    with what it shows."""
    calls, others = trial.progress.calls, trial.evidence
    if known := diagnose(calls, others):
        return [{"id": one.id, "what": one.what} for one in known], ()
    if missed := near_miss(calls, others):
        return [{"id": missed.id, "what": missed.what}], missed.facts
    return [], ()


def _again(invariant: Invariant, trial: Trial) -> str:
    """The command that plays this example alone."""
    example = spelt(trial.progress.row)
    if not trial.backend.text:  # an object that no command line can name
        played = f", example={example!r}" if example else ""
        return f"spec_tests.check(…, {invariant.of(trial.subject)!r}, dtype={trial.dtype!r}{played})"
    words = [f"--backend={trial.backend.text}"]
    words += [f"--dtype={trial.dtype}"] * (trial.dtype in trial.backend.dtypes)
    words += [f"--precision={trial.precision}"] * bool(trial.precision)
    words += ["--effort=thorough"] * (current().name == "thorough")
    words += [f"--require-level={invariant.level}"] * bool(invariant.level)
    words += [f"--example={example}"] * bool(example)
    return shlex.join(["pytest", "--pyargs", "spec_tests", *words, "-k", invariant.of(trial.subject)])


def _inputs(call: Call) -> list[str]:
    lines = [f"{call.operation.name}("]
    for name, value in call.named.items():
        for path, leaf in leaves(", ".join(value) if name == "wrt" and not isinstance(value, str) else value):
            lines.append(f"    {name}{path} = {_shown(leaf)}")
    return [*lines, ")"]


def _shown(x: Any) -> str:
    x = x.value if isinstance(x, Bounded) else x
    if not isinstance(x, np.ndarray):
        return repr(x)
    if x.size <= SHOWN:
        return _literal(x)
    corner = ", ".join(f"{float(v):.6g}" for v in x.flat[:6])
    return f"{x.dtype.name} array of shape {x.shape}: {corner}, …"


def _literal(x: np.ndarray) -> str:
    if x.size == 0 and x.ndim > 1:
        return f"np.zeros({x.shape})"
    how: dict[str, Any] = {"separator": ", ", "threshold": SCRIPTED + 1, "floatmode": "unique", "max_line_width": 10**6}
    text = np.array2string(x, **how).replace("\n", "")
    if x.dtype.kind == "f" and "e" in text:  # which NumPy then writes of all, with 16 zeros in most
        text = np.array2string(x, formatter={"float_kind": lambda v: repr(float(v))}, **how).replace("\n", "")
    return text


def _scripted(trial: Trial) -> list[str]:
    """Of the last call that is wrong by itself."""
    try:
        wrong = next((call for call in reversed(trial.progress.calls) if _shows_alone(call)), None)
        return _script(trial, wrong) if wrong else []
    except Exception:  # where the framework makes no arrays any more
        return []


def _shows_alone(call: Call) -> bool:
    """Whether it is wrong without the others, and on contiguous arrays: a script has nothing else."""
    if call.observed is None:
        return True
    alone = Call(call.operation, call.arguments, call.keywords)
    try:
        observed = call.operation.result(alone).value
        return not np.all(alone.expectation(call.operation.precision).accepts(observed))
    except Exception:
        return True


def _script(trial: Trial, call: Call) -> list[str]:
    """NumPy, the framework and the backend alone."""
    plain = tree_map(lambda x: x.value if isinstance(x, Bounded) else x, call.named)
    arrays = [leaf for _, leaf in leaves(plain) if isinstance(leaf, np.ndarray)]
    if sum(a.size for a in arrays) > SCRIPTED:
        return []
    framework, device = trial.backend.framework.name, trial.backend.framework.device

    def native(x: Any) -> str:
        x = trial.backend.framework.numpy(x) if trial.backend.framework.is_array(x) else x
        if not isinstance(x, np.ndarray):
            return repr(x)
        dtype = {"f": trial.dtype, "b": "bool"}.get(x.dtype.kind, "int64")
        values = _literal(x).replace("inf", "np.inf").replace("nan", "np.nan").replace("np.np.", "np.")
        if framework == "torch":
            where = f", device={device!r}" if device and device != "cpu" else ""
            return f"torch.tensor(np.array({values}), dtype=torch.{dtype}{where})"
        if framework == "numpy":
            return f"np.array({values}, dtype={'ml_dtypes.bfloat16' if dtype == 'bfloat16' else repr(dtype)})"
        return f"xp.asarray(np.array({values}), dtype=xp.{dtype})"

    def tree(x: Any) -> str:
        if isinstance(x, dict):
            return "{" + ", ".join(f"{k!r}: {tree(v)}" for k, v in x.items()) + "}"
        if isinstance(x, list | tuple):
            return "[" + ", ".join(tree(v) for v in x) + "]"
        return native(x)

    arguments, keywords = call.operation.native(call)
    function = call.operation.name
    if spoken := getattr(trial.backend.source, "spoken", None):  # the file calls it otherwise
        function, keywords = spoken(function, *arguments, **keywords)
        arguments = ()
    given = [*map(tree, arguments), *(f"{name}={tree(value)}" for name, value in keywords.items())]
    called = f"backend.{function}({', '.join(given)})"
    derived = call.operation.spec.is_gradient and not trial.backend.function(function)
    lines = _differentiated(call, trial.backend.framework, given) if derived else [f"print({called})"]
    namespace = trial.backend.framework.namespace
    truth = np.array2string(np.asarray(call.value), separator=", ", precision=7, threshold=12, max_line_width=10**6)
    imports = {"torch": "import torch", "numpy": "import ml_dtypes" if "ml_dtypes" in called else ""}
    return [
        *filter(None, ["import importlib", "import numpy as np", imports.get(framework, f"import {namespace} as xp")]),
        f"backend = {_imported(trial.backend)}",
        *lines,
        f"# the truth: {truth}".replace("\n", ""),
    ]


def _differentiated(call: Call, framework: Framework, given: list[str]) -> list[str]:
    """The lines that have the framework differentiate the operation, and print its gradients: x0 and on are all that have one."""
    cotangent, *arguments = given
    inputs: list[str] = []

    def named(match: re.Match[str]) -> str:
        inputs.append(match[0])
        return f"x{len(inputs) - 1}"

    floating = rf"(torch\.tensor|xp\.asarray)\(np\.array\([^()]*\), dtype=(torch|xp)\.{call.operation.dtype}[^()]*\)"
    answer = f"backend.{call.operation.spec.forward}({', '.join(re.sub(floating, named, one) for one in arguments)})"
    names = ", ".join(f"x{place}" for place in range(len(inputs)))
    lines = [f"x{place} = {one}" for place, one in enumerate(inputs)]
    return [*lines, *framework.differentiating(names, answer, cotangent)]


def _imported(backend: Backend) -> str:
    """The expression that is the backend, and the folder in which it works."""
    if backend.text.startswith(DEVIATING):
        return f"importlib.import_module('spec_tests.finding').deviating({backend.text.removeprefix(DEVIATING)!r})"
    if not backend.text and not inspect.ismodule(backend.source):
        return f"...  # {backend.name}, as it was given"
    entry = registered().get(backend.text)
    module, _, attribute = (entry.value if entry else backend.text).partition(":")
    if attribute:
        made = "()" if getattr(backend.source, "kind", type(backend.source).__name__) == attribute else ""
        return f"importlib.import_module({module!r}).{attribute}{made}"
    if backend.source.__name__ == module or not backend.text:
        return f"importlib.import_module({backend.source.__name__!r})"
    file = Path(backend.source.__file__)
    names, root = names_of(file), root_of(file)
    if len(names) == 1 and re.search(r"^from \.", file.read_text(), re.MULTILINE):  # a part of its folder, as of a package
        names, root = (root.name, *names), root.parent
    return f"importlib.import_module({'.'.join(names)!r})  # in {root}"
