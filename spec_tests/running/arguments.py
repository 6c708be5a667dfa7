"""What the command line asks for, or one sentence on what is wrong with it."""

from __future__ import annotations

import difflib
import math
import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ..implementation.guard import Limits
from ..inputs.choices import parse_choices as read_row
from .known_failures import FAILING, FLAKY, KnownFile, MalformedKnownFile, read

LEVELS = (
    "bitwise-repeatable", "batch-invariant", "quarantine", "nan-propagation",
    "limits", "mixed-dtypes", "relative-tails", "unbiased",
)  # fmt: skip
UNITS = {"MIB": 1 << 20, "GIB": 1 << 30}


def validate_choices(option: str, given: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    names = tuple(name for value in given for name in value.split(",") if name)
    for name in names:
        if name not in (known := tuple(known)):
            near = difflib.get_close_matches(name, known, n=2)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            raise pytest.UsageError(f"--{option}={name}: there is no such {option}.{hint} There are {', '.join(known)}.")
    return names


def parse_limits(option: Callable[[str], Any]) -> Limits:
    seconds, size, isolated = option("time_limit"), option("memory_limit"), option("isolate")
    try:
        limit = float(seconds or Limits.seconds)
        if not 0 < limit < math.inf:
            raise ValueError
    except ValueError:
        raise pytest.UsageError(f"--time-limit={seconds}: give a number of seconds, as in --time-limit=60") from None
    if size is None:
        return Limits(limit, machine_memory() // 2 if isolated else None)
    found = re.fullmatch(rf"(\d+)({'|'.join(UNITS)})", size.upper())
    if not found or not int(found[1]):
        raise pytest.UsageError(f"--memory-limit={size}: give a number and one of MiB, GiB, as in --memory-limit=4GiB")
    if not isolated:
        raise pytest.UsageError(f"--memory-limit={size}: the suite itself has no limit; add --isolate")
    return Limits(limit, int(found[1]) * UNITS[found[2]])


def parse_memory_budget(option: Callable[[str], Any]) -> float:
    given = option("memory_budget")
    with suppress(ValueError):
        if 0 < float(given) < math.inf:
            return float(given)
    raise pytest.UsageError(f"--memory-budget={given}: give a number of gigabytes greater than 0, as in --memory-budget=16.")


def parse_shapes(shapes: int | str | None) -> int | None:
    """Of each operation; as many as come, if None."""
    if shapes is None:
        return None
    if str(shapes).isascii() and str(shapes).isdecimal() and int(shapes) > 0:
        return int(shapes)
    raise pytest.UsageError(f"--shapes={shapes}: give a whole number greater than 0, of shapes for each operation")


def machine_memory() -> int:
    """Bytes that the machine, or the container, has."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):
        return min(physical, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return physical


def parse_example(option: Callable[[str], Any]) -> tuple[int, ...]:
    text = option("example")
    try:
        return read_row(text) if text else ()
    except ValueError as error:
        raise pytest.UsageError(f"--example={text}: {error}") from None


def read_known_files(option: Callable[[str], Any], folder: Path) -> tuple[KnownFile, ...]:
    given = {kind: option(f"known_{kind}") for kind in (FAILING, FLAKY)}
    if option("update_known") and not any(given.values()):
        raise pytest.UsageError("--update-known: name the file to write, with --known-failing=FILE or --known-flaky=FILE")
    try:
        return tuple(read(kind, folder / path, new=option("update_known")) for kind, path in given.items() if path)
    except MalformedKnownFile as error:
        raise pytest.UsageError(str(error)) from None
