"""From the words after --backend to functions that can be called."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from . import cs336
from .domain import complaints
from .files import module_from
from .formats import DTYPES, PRECISIONS
from .frameworks import Framework, Unavailable
from .guard import LEAST, Fault, current
from .specification import specification

HERE = Path(__file__).parent
BUILT_IN = HERE / "backends" if (HERE / "backends").is_dir() else HERE.parent / "backends"  # installed, or a checkout
DEVIATING = "deviation:"  # and the id of one of the catalogue
ENTRY_POINTS = "spec_tests.backends"


class BackendError(Exception):
    """What was given, what exists, what to do: one sentence for the person at the command line."""


@dataclass(frozen=True)
class Backend:
    """An implementation under test: any object whose attributes are functions named as the operations."""

    name: str
    source: Any
    framework: Framework = field(repr=False)
    text: str = ""  # what `--backend=` was given

    def function(self, operation: str) -> Any:
        found = getattr(self.source, operation, None)
        return found if callable(found) else None

    def has(self, operation: str) -> bool:
        """It implements it, or, if that is a gradient, its framework can differentiate what it implements."""
        forward = operation.removesuffix("_vjp")
        derived = forward != operation and self.framework.differentiates and self.function(forward)
        return bool(self.function(operation) or derived)

    @cached_property
    def recorded(self) -> dict[tuple[str, str], list[Any]]:
        """Some calls of each operation in each dtype."""
        return {}

    @cached_property
    def asked(self) -> dict[tuple[str, str], list[Any]]:
        """The same of calls that were made for a diagnosis."""
        return {}

    @cached_property
    def unreached(self) -> dict[str, set[str]]:
        """The arguments of each operation to which the framework pulls back no cotangent, as it turns out."""
        return {}

    @cached_property
    def dtypes(self) -> tuple[str, ...]:
        return tuple(getattr(self.source, "dtypes", None) or self.framework.dtypes)

    @cached_property
    def domain(self) -> dict[str, dict[str, Any]]:
        return dict(getattr(self.source, "domain", {}))

    @cached_property
    def conventions(self) -> dict[str, str]:
        return dict(getattr(self.source, "conventions", {}))

    def precision(self, operation: str) -> str | None:
        """What it states; of a gradient only by name, since its forward result may have been stored before."""
        stated = getattr(self.source, "precision", None)
        if isinstance(stated, dict):
            return stated.get(operation)
        return None if operation.endswith("_vjp") else stated

    def answered(self, step: Callable[[], Any], operation: str) -> Any:
        """What a step of the operation answers, once it is through; raises Refused or Fault."""

        def whole() -> Any:
            answer = step()
            getattr(self.source, "synchronize", lambda: None)()
            return answer

        seconds = max(LEAST, current().seconds / 2 ** self.late[operation])
        try:
            return self.framework.answered(whole, seconds)
        except Fault as fault:
            self.late[operation] += fault.late
            raise

    @cached_property
    def late(self) -> Counter[str]:
        """How often each operation had no answer in time: halves what its next calls may take."""
        return Counter()

    @property
    def version(self) -> str:
        return str(getattr(self.source, "version", f"{self.framework.name} {self.framework.version}"))


CONVENTIONS = {"causal_alignment": ("bottom-right", "top-left"), "fully_masked_rows": ("zero", "nan")}


def built_in() -> dict[str, Path]:
    return {path.stem.replace("_", "-"): path for path in sorted(BUILT_IN.glob("*.py")) if not path.stem.startswith("_")}


def registered() -> dict[str, Any]:
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}


def load(text: str, folder: Path, operations: set[str]) -> Backend:
    """The backend that `--backend=text` names; raises BackendError with one sentence."""
    return made(_find(text, folder), operations, text)


def made(source: Any, operations: set[str], text: str = "") -> Backend:
    """The backend that an object is, whether or not a text named it."""
    source = cs336.Adapters(source) if cs336.recognised(source) else source
    name = str(getattr(source, "name", _short(text) or getattr(source, "__name__", type(source).__name__)))
    given = f"--backend={text}" if text else name
    framework_name = getattr(source, "framework", None)
    if not isinstance(framework_name, str):
        raise BackendError(f'{given}: it does not say whose arrays it takes; add a line framework = "torch", or "numpy"')
    try:
        framework = Framework(framework_name, getattr(source, "device", None))
    except Unavailable as error:
        raise BackendError(f"{given}: {error}; {_others(text)}") from error
    backend = Backend(name, source, framework, text)
    for complaint in _complaints(backend, operations):
        raise BackendError(f"{given}: {complaint}")
    return backend


def _short(text: str) -> str:
    return Path(text).stem if text.endswith(".py") else text


def _others(text: str) -> str:
    return f"built in are {', '.join(name for name in built_in() if name != text)}"


def _find(text: str, folder: Path) -> Any:
    known = built_in()
    if text.startswith(DEVIATING):
        return deviating(text.removeprefix(DEVIATING))
    if text in known:
        return _attempt(text, lambda: module_from(known[text]))
    if text in registered():
        return _instance(_attempt(text, registered()[text].load))
    if text.endswith(".py"):
        path = folder / text
        if not path.is_file():
            near = ", ".join(sorted(p.name for p in path.parent.glob("*.py"))[:8]) if path.parent.is_dir() else ""
            raise BackendError(f"--backend={text}: there is no file {path}" + (f"; that folder has {near}" if near else ""))
        return _attempt(text, lambda: module_from(path))
    module, _, attribute = text.partition(":")
    if not all(part.isidentifier() for part in module.split(".")) or not _exists(module):
        names = [*known, *registered()]
        close = difflib.get_close_matches(text, names, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(close)}?" if close else "."
        raise BackendError(
            f"--backend={text}: unknown{hint} Built in: {', '.join(names)}. "
            "Or give a path to a .py file, a dotted module name, or module:attribute."
        )
    found = _attempt(text, lambda: importlib.import_module(module))
    for name in filter(None, attribute.split(".")):
        if not hasattr(found, name):
            raise BackendError(f"--backend={text}: {module} has no attribute {attribute!r}")
        found = getattr(found, name)
    return _attempt(text, lambda: _instance(found))


def deviating(name: str) -> Any:
    """The oracle with a deviation of the catalogue in it."""
    from .deviation import catalogue, find
    from .faithful import Faithful

    if (found := find(name)) is None:
        near = difflib.get_close_matches(name, catalogue(), n=3, cutoff=0.4)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise BackendError(
            f"--backend={DEVIATING}{name}: the catalogue has no such deviation.{hint} --list-deviations prints it."
        )
    return Faithful(found)


def _instance(found: Any) -> Any:
    return found() if inspect.isclass(found) else found


def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _attempt(text: str, load: Any) -> Any:
    try:
        return load()
    except (Exception, SystemExit) as error:
        where = ""
        for frame in inspect.getinnerframes(error.__traceback__) if error.__traceback__ else []:
            file = Path(frame.filename)
            if file.suffix == ".py" and HERE not in file.parents and file.parent.name != "importlib":
                where = f" (line {frame.lineno} of {frame.filename})"
        what = f"importing it raised {type(error).__name__}: {error}{where}"
        if isinstance(error, ModuleNotFoundError) and error.name:
            what = f"it imports {error.name!r}, which is not installed here{where}; install it first"
        raise BackendError(f"--backend={text}: {what}") from error


def _complaints(backend: Backend, operations: set[str]) -> Iterator[str]:
    if not any(backend.function(name) for name in operations):
        yield f"it defines none of the operations, which are {', '.join(sorted(operations))}"
    stated = getattr(backend.source, "dtypes", ())
    if isinstance(stated, str):
        yield f"its dtypes is the string {stated!r}; give a tuple, as in dtypes = ({stated!r},)"
    for dtype in backend.dtypes:
        if dtype not in DTYPES:
            yield f"its dtypes name {dtype!r}; there are {', '.join(DTYPES)}"
        elif dtype not in backend.framework.dtypes:
            yield f"its dtypes name {dtype!r}, which {backend.framework.name} lacks here"
    for name, restrictions in backend.domain.items():
        if name in operations:
            yield from complaints(specification(name), restrictions)
        else:
            near = "".join(f"; did you mean {match}?" for match in difflib.get_close_matches(name, operations, n=1))
            yield f"its domain names {name!r}, which is no operation{near}"
    for key, value in backend.conventions.items():
        if value not in CONVENTIONS.get(key, ()):
            known = "; ".join(f"{k}: {' or '.join(v)}" for k, v in CONVENTIONS.items())
            yield f"its conventions state {key} = {value!r}; there are {known}"
    for name in operations:
        if backend.precision(name) not in (None, *PRECISIONS):
            yield f"its precision is {backend.precision(name)!r}; there are {', '.join(PRECISIONS)}"
