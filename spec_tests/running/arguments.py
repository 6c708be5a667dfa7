"""Parse and check the options of the command line. What is wrong with an option is a UsageError of one sentence."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from ..implementation.facilities import can_limit_memory, find_obstacles_to_processes
from ..inputs.choices import parse_choices
from ..processes.command import names_process
from ..processes.description import domain_as_python, find_domain_complaints
from ..sharding.statements import MAX_WORLD_SIZE
from ..specification.registry import gradients, operations
from ..specification.run_settings import Limits
from .known_failures import FAILING, FLAKY, KnownFailures, MalformedKnownFile, read_known_file
from .options import STRICT

DOMAIN_EXAMPLE = """--domain='{"rms_norm": {"d": [64, 128]}}'"""
UNIT_BYTES = MappingProxyType({"MIB": 1 << 20, "GIB": 1 << 30})


def parse_device(option: Callable[[str], Any]) -> str | None:
    """Parse --device. Whether PyTorch has it is known when the backend is loaded."""
    device = option("device")
    if device is not None and (processes := list(filter(names_process, option("backend")))):
        raise pytest.UsageError(f"--device={device}: {processes[0]} chooses its device itself; name it in the command")
    return str(device) if device is not None else None


def parse_limits(option: Callable[[str], Any]) -> Limits:
    """Parse --time-limit and --memory-limit."""
    seconds, size, isolated = option("time_limit"), option("memory_limit"), option("isolate")
    isolated, confined = isolated or option("python") or any(map(names_process, option("backend"))), isolated == STRICT
    try:
        limit = float(seconds or Limits.seconds)
        if not 0 < limit < math.inf:
            raise ValueError
    except ValueError:
        raise pytest.UsageError(f"--time-limit={seconds}: give a number of seconds, as in --time-limit=60") from None
    if isolated and (obstacles := find_obstacles_to_processes()):
        name = "--isolate" if option("isolate") else "--python" if option("python") else "--backend=process:…"
        raise pytest.UsageError(
            f"{name}: this system lacks {', '.join(obstacles)}; test a backend in the suite's own process here"
        )
    if size is None:
        memory = read_machine_memory() if isolated and can_limit_memory() else None
        return Limits(limit, memory // 2 if memory else None, confined)
    found = re.fullmatch(rf"(\d+)({'|'.join(UNIT_BYTES)})", size.upper())
    if not found or not int(found[1]):
        raise pytest.UsageError(f"--memory-limit={size}: give a number and one of MiB, GiB, as in --memory-limit=4GiB")
    if not isolated:
        raise pytest.UsageError(f"--memory-limit={size}: the suite itself has no limit; add --isolate")
    if not can_limit_memory():
        raise pytest.UsageError(
            f"--memory-limit={size}: this system has no resource module to set a limit with; leave the option out"
        )
    return Limits(limit, int(found[1]) * UNIT_BYTES[found[2]], confined)


def parse_seeds(option: Callable[[str], Any]) -> range | None:
    """Parse --seeds, such as 0-9 or 3. None if the option is not given."""
    text = option("seeds")
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,18})(?:-(\d{1,18}))?", text)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
    if first > last:
        raise pytest.UsageError(f"--seeds={text}: give the first and the last seed, as in --seeds=0-9")
    return range(first, last + 1)


def parse_domain(option: Callable[[str], Any], folder: Path) -> dict[str, dict[str, Any]] | None:
    """Parse --domain: JSON, or a file that holds it. None if the option is not given."""
    text = option("domain")
    if text is None:
        return None
    try:
        found = json.loads(text if text.lstrip().startswith("{") else (folder / text).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise pytest.UsageError(f"--domain={text}: {reason}; give JSON or a file of it, as in {DOMAIN_EXAMPLE}") from None
    complaints = [
        *find_domain_complaints(found),
        *(f"names {name!r}, which is no operation" for name in found if name not in (*operations(), *gradients())),
    ]
    if complaints:
        raise pytest.UsageError(f"--domain={text} {complaints[0]}, as in {DOMAIN_EXAMPLE}")
    return domain_as_python(found)


def parse_memory_budget(option: Callable[[str], Any]) -> float:
    """Parse --memory-budget, in gigabytes."""
    text = option("memory_budget")
    with suppress(ValueError):
        if 0 < float(text) < math.inf:
            return float(text)
    raise pytest.UsageError(f"--memory-budget={text}: give a number of gigabytes greater than 0, as in --memory-budget=16.")


def parse_shapes(shapes: int | str | None) -> int | None:
    """Parse --shapes, or the `shapes` of `check`: the number of shapes of each operation. None means no limit."""
    if shapes is None:
        return None
    if str(shapes).isascii() and str(shapes).isdecimal() and int(shapes) > 0:
        return int(shapes)
    raise pytest.UsageError(f"--shapes={shapes}: give a whole number greater than 0, of shapes for each operation")


def parse_max_calls(option: Callable[[str], Any], workers: int) -> int | None:
    """Parse --max-calls, and return the share of one of the workers. None if the option is not given."""
    text = option("max_calls")
    if text is None:
        return None
    if text.isascii() and text.isdecimal() and int(text) > 0:
        return -(-int(text) // workers)
    raise pytest.UsageError(f"--max-calls={text}: give a whole number greater than 0, of calls of each backend")


def parse_python(option: Callable[[str], Any], folder: Path) -> tuple[str, ...]:
    """Parse --python: the words that start another Python, () if the option is not given."""
    text = option("python")
    if text is None:
        return ()
    words = shlex.split(text)
    program = words and shutil.which(os.path.normpath(folder / words[0]) if os.sep in words[0] else words[0])
    if not program:
        raise pytest.UsageError(
            f"--python={text}: there is no such program in {folder}; give the path of a Python, as in --python=.venv/bin/python"
        )
    return (program, *words[1:], *["python"] * (Path(program).stem == "uv" and "python" not in words))


def parse_world_size(option: Callable[[str], Any]) -> int | None:
    """Parse --world-size. None if the option is not given."""
    text = option("world_size")
    if text is None:
        return None
    if text.isascii() and text.isdecimal() and 1 <= int(text) <= MAX_WORLD_SIZE:
        return int(text)
    raise pytest.UsageError(f"--world-size={text}: give the number of ranks, from 1 to {MAX_WORLD_SIZE}")


def read_machine_memory() -> int | None:
    """Return the memory of the machine, or of the container, in bytes. None if the system does not say it."""
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
    with suppress(OSError, ValueError):
        return min(physical, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return physical


def parse_example(option: Callable[[str], Any]) -> tuple[int, ...]:
    """Parse --example: the choices that make the example, or ()."""
    text = option("example")
    try:
        return parse_choices(text) if text else ()
    except ValueError as error:
        raise pytest.UsageError(f"--example={text}: {error}") from None


def read_known_failures(option: Callable[[str], Any], folder: Path) -> KnownFailures:
    """Read the files of --known-failing and --known-flaky. With --update-known they may be missing."""
    update = option("update_known")
    paths = {kind: option(f"known_{kind}") for kind in (FAILING, FLAKY)}
    if update and not any(paths.values()):
        raise pytest.UsageError("--update-known: name the file to write, with --known-failing=FILE or --known-flaky=FILE")
    try:
        files = [read_known_file(kind, folder / path, may_be_missing=update) for kind, path in paths.items() if path]
    except MalformedKnownFile as error:
        raise pytest.UsageError(str(error)) from None
    return KnownFailures(tuple(files), update)


def require_one_item(items: list[pytest.Item]) -> None:
    """Raise UsageError if more than one test is selected for --example."""
    if len(items) > 1:
        raise pytest.UsageError(
            f"--example is of one invariant in one dtype, and {len(items)} are selected: add the -k, --dtype and --backend "
            "of the line that printed it"
        )
