"""The lines of a script: how it makes a call and prints its answer, by NumPy, the framework and the backend alone."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..bounds.bounded import Bounded
from ..calls.call import Call
from ..calls.given import PLAIN, WHICH
from ..implementation.array_framework import ArrayFramework
from ..specification.carriers import NATIVE, NATIVE_DTYPES, Carrier
from ..specification.pytree import join, leaves, tree_map
from ..specification.run_settings import current_settings
from ..trials.trial import Trial
from ..trials.written_script import WrittenScript
from .reproduction import MAX_SCRIPT_ELEMENTS, format_array
from .script_arrays import write_form, write_freed_arrays
from .script_backend import write_backend
from .script_needs import Need, list_native, write_import_of_torch

MAX_TEMPORARY_BYTES = 2**26  # of the arrays of a script that are saved in the system's temporary folder


class NoScript(Exception):
    """No script can show the failure. The text says why."""


def write_truth(call: Call) -> str:
    """Return the comment that says what the reference gives, by the names of the results if there are several."""
    parts = call.operation.as_returned(call, call.value)
    parts = {"": join(parts.values())} if call.parts and call.operation.spec.is_gradient else parts
    parts = {name: _as_printed(call.operation.carrier(name, call.keywords), x) for name, x in parts.items()}
    texts = {
        name: np.array2string(x, separator=", ", precision=7, threshold=12, max_line_width=10**6) for name, x in parts.items()
    }
    truth = "; ".join(f"{name} = {text}" if name else text for name, text in texts.items())
    return f"# the truth: {truth}".replace("\n", "")


def _as_printed(carrier: Carrier | None, numbers: np.ndarray) -> np.ndarray:
    """Return a result as it is printed: codes, or words of codes, where these carry it."""
    return numbers if carrier is None or carrier.kind == NATIVE else carrier.store(numbers)


class Script:
    """The lines of one script, and the large arrays that it loads."""

    def __init__(
        self, trial: Trial, name: str, need: Need | None = None, *, before: int = 0, is_held: bool = False, shows: bool = True
    ):
        self.need, self.is_held = need, is_held  # is_held: answers are printed after the last call
        self.before = before  # how often the last call is made before its answer is printed
        self.written, self.shows = trial.tally.scripts, shows  # whether an answer that it prints is wrong
        self.changed: list[np.ndarray] = []  # arguments that are printed in place of answers, as they were before
        self.forms: dict[int, tuple[str, int]] = {}  # by the identity of an array: its layout, and how often it is repeated
        self.variables: dict[int, str] = {}  # the names of arrays that a line has made, by their identity
        self.used = set[int]()  # the identities of the arrays that are written
        self.backend, self.dtype, self.name = trial.backend, trial.dtype, name
        self.framework, self.device = trial.backend.framework.name, trial.backend.framework.device
        self.saved, self.saves = dict[str, np.ndarray](), False

    def write(self, calls: Sequence[Call]) -> list[str]:
        """Return the lines that make the calls one after the other and print their results."""
        self.decide_on_saving(calls)
        last = len(calls) - 1
        written = [
            self._write_call(call, number if last else None, self.before * (number == last)) for number, call in enumerate(calls)
        ]
        lines = [line for made, _ in written for line in made] + [line for _, shown in written for line in shown]
        return self.complete(lines, calls)

    def decide_on_saving(self, calls: Sequence[Call]) -> None:
        """Decide whether the arrays of the calls are saved. Raise NoScript if they are too large for that."""
        arrays = [x for call in calls for _, x in leaves(_drop_errors(call.named)) if isinstance(x, np.ndarray)]
        count = sum(x.size for x in arrays)
        self.saves = count > MAX_SCRIPT_ELEMENTS
        is_small = sum(x.nbytes for x in arrays) <= MAX_TEMPORARY_BYTES
        if self.saves and current_settings().failures_folder is None and not is_small:
            raise NoScript(f"its arrays have {count} elements; a run with --report=DIR saves them, and writes a script")

    def complete(self, lines: list[str], calls: Sequence[Call]) -> list[str]:
        """Return the whole script of these lines, which print the answers of the calls."""
        imports = {
            "torch": write_import_of_torch(self.need),
            "numpy": "",
        }
        namespace = self.backend.framework.namespace
        needed = "import ml_dtypes" if any("ml_dtypes" in line for line in lines) else ""
        start = ["import importlib", "import numpy as np", needed, imports.get(self.framework, f"import {namespace} as xp")]
        script = [*filter(None, start), f"backend = {write_backend(self.backend)}", *self._save_arrays(), *lines]
        self.written.append(WrittenScript(self.name, "\n".join(script), tuple(calls), tuple(self.changed), self.shows))
        return script

    def _write_call(self, call: Call, number: int | None, before: int) -> tuple[list[str], list[str]]:
        """Return the lines that make one call, and those that show its answer after all calls. With a number, they say which.

        before: how often the call is made first, without its answer.
        """
        native = call.operation.native(call)
        needs, changed = self._write_needs(call, native)
        lines, answer = self.write_answer(call, native)
        if before:
            lines.append(f"for _ in range({before}): {answer}")
        if not self.forms.keys() <= self.used:
            raise NoScript(f"{call.operation.name} takes other arrays than the law stores; the command below plays the call")
        lines, title = [*needs, *lines], [] if number is None else [f"# call {number + 1}"]
        if self.is_held:
            return [*title, *lines, f"answer{number} = {answer}"], [*title, f"print(answer{number})", write_truth(call)]
        if changed:
            shown = [line for name, x in changed.items() for line in (f"print({name})", f"# before the call: {format_array(x)}")]
            return [*title, *lines, answer, *shown], []
        rows = self.need.rows if self.need and self.need.given.copies > 1 and call.parts is None else None
        answer += f"[{rows.start}:{rows.stop}]" if rows else ""
        return [*title, *lines, f"print({answer})", write_truth(call)], []

    def write_answer(self, call: Call, native: Any) -> tuple[list[str], str]:
        """Return the lines before a call, and the expression of its answer."""
        arguments, keywords = native
        differentiates = self._differentiates(call)
        if differentiates:
            cotangent, *arguments_of_forward = arguments
            function, arguments, keywords = self._translate(call.operation.spec.forward, tuple(arguments_of_forward), keywords)
        else:
            function, arguments, keywords = self._translate(call.operation.name, arguments, keywords)
        texts = [*map(self._write_tree, arguments), *(f"{name}={self._write_tree(value)}" for name, value in keywords.items())]
        if differentiates:
            *lines, answer = self._write_gradient(call, function, self._write_tree(cotangent), texts)
            return lines, answer
        return [], f"backend.{function}({', '.join(texts)})"

    def _differentiates(self, call: Call) -> bool:
        """Whether the framework differentiates the backend's function."""
        return call.operation.spec.is_gradient and not self.backend.function(call.operation.name)

    def _write_needs(self, call: Call, native: Any) -> tuple[list[str], dict[str, np.ndarray]]:
        """Return the lines before a call that needs more than its values, and the arguments that it changes, by their names.

        Note the forms of its arrays.
        """
        need, lines, changed = self.need, list[str](), dict[str, np.ndarray]()
        if need is None or not need.words:
            return lines, changed
        if self._differentiates(call) and (need.changed or (need.layout, need.given) != ("contiguous", PLAIN)):
            raise NoScript(f"{need.words}, and its framework differentiates it; the command below plays the call")
        arrays = dict(list_native(call, native))
        self.forms = {id(x): self._find_form(call, path) for path, x in arrays.items()}
        for path in need.given.one_array[:1]:
            lines.append(f"{path} = {self.write_leaf(arrays[path])}")
            self.variables |= {id(arrays[other]): path for other in need.given.one_array}
        given = {**dict(zip(call.operation.spec.positional, native[0], strict=False)), **native[1]}
        for name in dict.fromkeys(path.partition("[")[0] for path in need.changed):
            lines.append(f"{name} = {self._write_tree(given[name])}")
            self.variables[id(given[name])] = name
        for path in need.changed:
            changed[path] = self.backend.framework.numpy(arrays[path])
            self.changed.append(changed[path])
        if need.dirty_memory:
            lines.append(write_freed_arrays(self.framework, call.value.shape, self.dtype, self.device))
        self.used = set[int]()
        return lines, changed

    def _find_form(self, call: Call, path: str) -> tuple[str, int]:
        """Return the layout of an argument, and how often its batch is repeated."""
        assert self.need is not None
        name, given = path.partition("[")[0], self.need.given
        has_layout = WHICH[given.which][name != call.operation.spec.positional[0]]
        is_contiguous = not has_layout or name in call.operation.spec.declaration.updates
        return "contiguous" if is_contiguous else self.need.layout, given.copies if name in given.stacked else 1

    def _translate(self, function: str, arguments: Any, keywords: Any) -> tuple[str, Any, Any]:
        """Return the function and the arguments under the names that the backend has for them."""
        translate_call = getattr(self.backend.source, "translate_call", None)
        step = None if translate_call is None else partial(translate_call, function, *arguments, **keywords)
        translated = self.backend.run_guarded(step, function) if step else None
        if translated and not translated[0]:
            raise NoScript(f"{function} stands for what an object of the file does; the command below plays the call")
        return (translated[0], (), translated[1]) if translated else (function, arguments, keywords)

    def _write_tree(self, x: Any) -> str:
        if isinstance(x, dict | list) and id(x) in self.variables:
            self.used |= {id(leaf) for _, leaf in leaves(x)}
            return self.variables[id(x)]
        if isinstance(x, dict):
            return "{" + ", ".join(f"{k!r}: {self._write_tree(v)}" for k, v in x.items()) + "}"
        if isinstance(x, tuple) and not any(self.backend.framework.is_array(v) for v in x):
            return repr(x)
        if isinstance(x, list | tuple):
            return "[" + ", ".join(self._write_tree(v) for v in x) + "]"
        return self.write_leaf(x)

    def write_leaf(self, x: Any) -> str:
        self.used.add(id(x))
        if name := self.variables.get(id(x)):
            return name
        layout, copies = self.forms.get(id(x), ("contiguous", 1))
        own = self.backend.framework.dtype_of(x) if self.backend.framework.is_array(x) else ""
        x = self.backend.framework.numpy(x) if own else x
        if not isinstance(x, np.ndarray):
            return repr(x)
        buffer, form = write_form(self.framework, x, layout, copies)
        return form.format(self._write_buffer(buffer, own))

    def _write_buffer(self, x: np.ndarray, own: str) -> str:
        """Return the expression of a contiguous array. `own` is its dtype in the framework, "" if it has none yet."""
        dtype = own or {"f": self.dtype, "b": "bool"}.get(x.dtype.kind, "int64")
        values = self._write_values(x)
        if dtype in NATIVE_DTYPES:
            return self._write_narrow(values, dtype)
        if self.framework == "torch":
            placement = f", device={self.device!r}" if self.device and self.device != "cpu" else ""
            return f"torch.tensor(np.array({values}), dtype=torch.{dtype}{placement})"
        if self.framework == "numpy":
            return f"np.array({values}, dtype={'ml_dtypes.bfloat16' if dtype == 'bfloat16' else repr(dtype)})"
        return f"xp.asarray(np.array({values}), dtype=xp.{dtype})"

    def _write_narrow(self, codes: str, dtype: str) -> str:
        """Return the expression of an array of few bits, given that of its codes."""
        if self.framework == "torch":
            placement = f", device={self.device!r}" if self.device and self.device != "cpu" else ""
            return f"torch.tensor(np.array({codes}), dtype=torch.uint8{placement}).view(torch.{dtype})"
        array = f"np.array({codes}, dtype='uint8').view(ml_dtypes.{dtype})"
        return array if self.framework == "numpy" else f"xp.asarray({array})"

    def _write_values(self, x: np.ndarray) -> str:
        """Return the values as Python source, or where they are loaded from."""
        if self.saves:
            self.saved[name := f"a{len(self.saved)}"] = x
            return f"saved['{name}']"
        return format_array(x).replace("inf", "np.inf").replace("nan", "np.nan").replace("np.np.", "np.")

    def _save_arrays(self) -> list[str]:
        """Save the large arrays, and return the line that loads them."""
        if not self.saved:
            return []
        name, folder = re.sub(r"[^A-Za-z0-9_.-]+", "-", self.name), current_settings().failures_folder
        if folder is None:
            folder, digest = Path(tempfile.gettempdir()) / "spec_tests-failures", hashlib.sha256()
            for x in self.saved.values():
                digest.update(x.tobytes())
            name = f"{name}-{digest.hexdigest()[:8]}"  # other runs save there, too
        path = Path(folder) / f"{name}.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, allow_pickle=False, **self.saved)
        return [f"saved = np.load({str(path)!r})"]

    def _write_gradient(self, call: Call, function: str, cotangent: str, texts: list[str]) -> list[str]:
        """Return the lines in which the framework differentiates, the expression of the gradients last.

        x0, x1, … are the arguments that have a gradient.
        """
        inputs: list[str] = []

        def name_input(match: re.Match[str]) -> str:
            inputs.append(match[0])
            return f"x{len(inputs) - 1}"

        floating = r"(torch\.tensor|xp\.asarray)\(np\.array\([^()]*\), dtype=(torch|xp)\.b?float[^()]*\)"
        answer = f"backend.{function}({', '.join(re.sub(floating, name_input, text) for text in texts)})"
        names = ", ".join(f"x{number}" for number in range(len(inputs)))
        lines = [f"x{number} = {text}" for number, text in enumerate(inputs)]
        return [*lines, *_write_pullback(self.backend.framework, names, answer, cotangent)]


def _drop_errors(tree: Any) -> Any:
    return tree_map(lambda x: x.value if isinstance(x, Bounded) else x, tree)


def _write_pullback(framework: ArrayFramework, names: str, answer: str, cotangent: str) -> list[str]:
    """Return the lines before the gradients of the named arrays, and the expression of these gradients, last."""
    if framework.differentiates == "autograd":
        gradients = f"{framework.name}.autograd.grad(y, [{names}], {cotangent}, allow_unused=True)"
        lines = [f"for x in [{names}]: x.requires_grad_()", f"y = {answer}"]
        if cotangent.startswith("["):  # one for each result
            lines.append(f"pairs = [(a, c.to(a.dtype)) for a, c in zip(y, {cotangent}) if c is not None]")
            gradients = (
                f"{framework.name}.autograd.grad([a for a, _ in pairs], [{names}], [c for _, c in pairs], allow_unused=True)"
            )
        return [*lines, gradients]
    if framework.differentiates == "vjp":
        return [
            f"import {framework.name}",
            f"y, pull = {framework.name}.vjp(lambda {names}: {answer}, {names})",
            f"pull({cotangent})",
        ]
    return [f"xp.vjp(lambda {names}: {answer}, [{names}], [{cotangent}])[1]"]
